/*
 * steiner.h
 *	  Defines the entries of the work lists, and the candidates that they become in a round.
 *
 * An entry describes what to split (a bad tetrahedron, a constrained face or a subsegment) by a
 * cell that contains it. It stays in its list from round to round and is dropped once the cell no
 * longer exists; work that remains then has entries of the new cells.
 *
 * A candidate is an entry with a point. Of several candidates that need the same cell, the
 * strongest gets it: subsegments precede constrained faces, which precede tetrahedra; then the
 * larger one, then a hash, then the earlier one decides. All of this is encoded in one word, the
 * key, so that a maximum over keys decides, in any order of evaluation.
 */
#ifndef RB_REFINE_STEINER_H
#define RB_REFINE_STEINER_H

#include "refine/criteria.h"

typedef enum rb_what
{
	RB_SPLIT_TET,
	RB_SPLIT_WALL,
	RB_SPLIT_PIECE
} rb_what;

/* ---- entries of 64 bits ---- */

typedef uint64_t rb_entry64;

#define RB_ENTRY_BLOCKED 6

/*
 * Returns a hash of a cell's corners. An entry whose hash differs from that of its cell refers to a
 * cell that no longer exists.
 */
RB_HOST_DEVICE uint32_t
rb_cell_hash(const rb_cell *c)
{
	uint64_t h = c->v[0] * UINT64_C(0x9e3779b97f4a7c15) ^ c->v[1] * UINT64_C(0xc2b2ae3d27d4eb4f) ^
				 c->v[2] * UINT64_C(0x165667b19e3779f9) ^ c->v[3] * UINT64_C(0xd6e8feb86659fd93);

	h ^= h >> 29;
	h *= UINT64_C(0xbf58476d1ce4e5b9);
	return (uint32_t) (h >> 32);
}

/*
 * Packs an entry. From the lowest bit on it has 30 bits of cell, 3 of corner or edge, 2 of what to
 * split, 1 that is set if a rejected point requires the split, 3 that count misplaced points, 5
 * that count blocked attempts, 1 that is set if insertion radii do not matter, and 19 of hash.
 */
RB_HOST_DEVICE rb_entry64
rb_entry_make(const rb_cells *m, uint32_t cell, uint32_t part, rb_what what, bool absent)
{
	return (rb_entry64) cell | (rb_entry64) part << 30 | (rb_entry64) what << 33 |
		   (rb_entry64) absent << 35 | (rb_entry64) (rb_cell_hash(&m->cells[cell]) & 0x7ffff) << 45;
}
/* Returns the cell of an entry. */
RB_HOST_DEVICE uint32_t
rb_entry_cell(rb_entry64 e)
{
	return (uint32_t) (e & 0x3fffffff);
}
/*
 * Returns the corner opposite to the constrained face that is to be split, or the edge on the
 * subsegment, or 0 for a tetrahedron.
 */
RB_HOST_DEVICE uint32_t
rb_entry_part(rb_entry64 e)
{
	return (uint32_t) (e >> 30) & 7;
}
/* Returns what is to be split: the tetrahedron, a constrained face or a subsegment. */
RB_HOST_DEVICE rb_what
rb_entry_what(rb_entry64 e)
{
	return (rb_what) (e >> 33 & 3);
}
/* Returns true if the reason for the split is a rejected point. */
RB_HOST_DEVICE bool
rb_entry_absent(rb_entry64 e)
{
	return (e >> 35 & 1) != 0;
}
/*
 * Returns true if an oversized tetrahedron requires the split. Small input angles are no reason to
 * refuse it.
 */
RB_HOST_DEVICE bool
rb_entry_needed(rb_entry64 e)
{
	return (e >> 44 & 1) != 0;
}
/* Returns the entry, with its bit `needed` set if the argument is true. */
RB_HOST_DEVICE rb_entry64
rb_entry_need(rb_entry64 e, bool needed)
{
	return e | (rb_entry64) needed << 44;
}
/* Returns how many points of the entry were misplaced. */
RB_HOST_DEVICE uint32_t
rb_entry_askew(rb_entry64 e)
{
	return (uint32_t) (e >> 36) & 7;
}
/* Returns how often the entry was blocked. */
RB_HOST_DEVICE uint32_t
rb_entry_blocked(rb_entry64 e)
{
	return (uint32_t) (e >> 39) & 31;
}
/* Increments the number of misplaced points, up to its maximum. */
RB_HOST_DEVICE rb_entry64
rb_entry_more_askew(rb_entry64 e)
{
	return rb_entry_askew(e) < 7 ? e + (UINT64_C(1) << 36) : e;
}
/* Increments the number of blocked attempts, up to its maximum. */
RB_HOST_DEVICE rb_entry64
rb_entry_more_blocked(rb_entry64 e)
{
	return rb_entry_blocked(e) < RB_ENTRY_BLOCKED ? e + (UINT64_C(1) << 39) : e;
}
/* Returns true if the cell still exists and was not replaced by another one in its slot. */
RB_HOST_DEVICE bool
rb_entry_alive(const rb_cells *m, rb_entry64 e)
{
	const rb_cell *c = &m->cells[rb_entry_cell(e)];

	return c->v[0] != RB_DEAD && (rb_cell_hash(c) & 0x7ffff) == e >> 45;
}

/* ---- candidates ---- */

typedef enum rb_verdict
{
	RB_STALE,   /* The cell is gone, or a split is no longer needed */
	RB_READY,   /* A point was chosen */
	RB_FITS,    /* The cavity is valid */
	RB_OWNS,    /* The candidate holds the claims on all cells of its cavity */
	RB_WINS,    /* No stronger adjacent owner conflicts: insert the point */
	RB_LOST,    /* A stronger candidate won: retry in a later round */
	RB_BLOCKED, /* Something else must be split first */
	/* Rounding misplaced the point: try another one */
	RB_ASKEW,
	RB_LARGE, /* The cavity outgrew the workspace: retry in a larger one */
	RB_KEPT,  /* Never to be split; `reason` says why */
	RB_OPEN   /* On a device: only GMP can decide a sign */
} rb_verdict;

typedef struct rb_refine_candidate
{
	double at[3];
	double raise; /* Minimum insertion radius of the new vertex */
	uint64_t key; /* Priority, or 0 if there is no point */
	rb_entry64 entry;
	rb_entry64 first; /* Entry to be split first (RB_BLOCKED) */
	uint64_t cavity;  /* Position of its list of cells */
	uint32_t ncells;
	uint32_t nrim; /* Boundary faces of the cavity, one for each new cell */
	uint32_t verdict;
	uint32_t reason; /* rb_bad_reason */
	uint32_t vertex; /* Number of the new vertex */
	uint32_t slots;  /* Index of its first new cell among those of the round */
} rb_refine_candidate;

#define RB_KEY_INDEX UINT32_MAX /* Part of a key that holds the candidate's index */

/*
 * Returns the priority of a candidate: subsegments before faces before tetrahedra by `what`, then
 * the larger measure, then the hash; the index makes keys unique.
 */
RB_HOST_DEVICE uint64_t
rb_candidate_key(rb_what what, double measure, uint32_t hash, uint32_t index)
{
	union
	{
		double x;
		uint64_t bits;
	} u;

	/* Replace a NaN, whose bits differ between machines. */
	u.x = measure == measure ? measure : INFINITY;
	/* Take 11 bits of exponent and 9 of mantissa; a measure is never negative. */
	return (uint64_t) (what + 1) << 62 | (u.bits >> 43 & 0xfffff) << 42 |
		   (uint64_t) (hash & 0x3ff) << 32 | (RB_KEY_INDEX - index);
}
/* Returns the index of the candidate with this key. */
RB_HOST_DEVICE uint32_t
rb_key_index(uint64_t key)
{
	return RB_KEY_INDEX - (uint32_t) key;
}

/* ---- what a new cell needs ---- */

/*
 * Needs of a new cell, as bits: 1 << e if a corner of the cell encroaches upon the subsegment that
 * is its edge e, 1 << (6 + i) if one encroaches upon the constrained face i, and 1 << 10 if the
 * cell is bad
 */
#define RB_NEED_WALL(i) (1u << (6 + (i)))
#define RB_NEED_TET (1u << 10)

/*
 * Returns the corner that lies deepest in the protecting sphere of edge e, or RB_NOWHERE if none
 * lies in it.
 */
RB_HOST_DEVICE uint32_t
rb_piece_encroached(const rb_cells *m, const rb_cell *c, uint32_t e)
{
	uint32_t i = rb_cell_edge_from(e), j = rb_cell_edge_to(e), k;
	uint32_t deepest = RB_NOWHERE;
	double depth = 0;

	for (k = 0; k < 4; k++)
		if (k != i && k != j && c->v[k] != RB_GHOST)
		{
			double dot = rb_diameter_dot(rb_site_at(m, c->v[i]), rb_site_at(m, c->v[j]),
										 rb_site_at(m, c->v[k]));

			if (dot < depth)
			{
				depth = dot;
				deepest = c->v[k];
			}
		}
	return deepest;
}

/* Returns the protecting sphere of constrained face i, which should contain no vertex. */
RB_HOST_DEVICE rb_ball
rb_wall_ball(const rb_cells *m, const rb_cell *c, uint32_t i)
{
	rb_ball ball = rb_ball_of_triangle(rb_site_at(m, c->v[rb_cell_face_corner(i, 0)]),
									   rb_site_at(m, c->v[rb_cell_face_corner(i, 1)]),
									   rb_site_at(m, c->v[rb_cell_face_corner(i, 2)]));

	ball.radius2 *= RB_SPHERE_KEPT;
	return ball;
}

/*
 * Returns true if corner i lies in the protecting sphere of the opposite face. A vertex on the same
 * facet does not count.
 */
RB_HOST_DEVICE bool
rb_wall_encroached(const rb_cells *m, const rb_cell *c, uint32_t i, const rb_ball *ball)
{
	return rb_distance2(ball->at, rb_site_at(m, c->v[i])) < ball->radius2 &&
		   !rb_site_on_facet(m, c->v[i], c->facet[i]);
}

/*
 * Returns the bits of what a new cell requires to be split: edges, constrained faces, the cell
 * itself.
 */
RB_HOST_DEVICE uint32_t
rb_cell_needs(const rb_cells *m, rb_cell *c)
{
	uint32_t needs = 0, i;
	rb_tet_shape shape;
	bool kept;

	if ((c->bits & RB_CELL_FINE) != 0 || rb_cell_ghost(c))
		return 0;
	if ((c->bits & RB_CELL_SEGMENTS) != 0 && !m->keep_surface)
		for (i = 0; i < 6; i++)
			if ((c->bits & RB_CELL_SEGMENT(i)) != 0 && rb_piece_encroached(m, c, i) != RB_NOWHERE)
				needs |= 1u << i;
	if ((c->bits & RB_CELL_WALLS) != 0 && !m->keep_surface)
		for (i = 0; i < 4; i++)
			if ((c->bits & RB_CELL_WALL(i)) != 0)
			{
				rb_ball ball = rb_wall_ball(m, c, i);

				if (rb_wall_encroached(m, c, i, &ball))
					needs |= RB_NEED_WALL(i);
			}
	shape = rb_cell_shape(m, c);
	if (rb_cell_bad(m, c, &shape, &kept))
	{
		if (kept)
			c->bits |= RB_CELL_LEFT | (uint32_t) RB_BAD_INPUT << RB_CELL_REASON_SHIFT;
		else
		{
			c->bits |= RB_CELL_LISTED;
			needs |= RB_NEED_TET;
		}
	}
	else if (needs == 0)
		c->bits |= RB_CELL_FINE;
	return needs;
}

/* ---- building candidates ---- */

/*
 * Returns a signed offset that moves a point which rounding made unusable. It depends on a hash and
 * on the number of tries: its magnitude is about 2^-28 at first and grows 16-fold with each try.
 */
RB_HOST_DEVICE double
rb_jitter(uint32_t tries, uint32_t hash, int which)
{
	double size = 0x1p-28;
	uint32_t i;

	for (i = 1; i < tries; i++)
		size *= 16;
	hash = hash * 0x9e3779b1u + (uint32_t) which * 0x85ebca6bu;
	hash ^= hash >> 15;
	hash *= 0xc2b2ae35u;
	hash ^= hash >> 13;
	return size * ((hash & 0xffff) / 65536.0 * 0.5 + 0.5) * ((hash >> 16 & 1) != 0 ? 1 : -1);
}

/* Number of tries after which a misplaced point is accepted if its cavity can be filled */
#define RB_TRIES_ASKEW 5

/* Marks the candidate as never to be split, for this reason. */
RB_HOST_DEVICE void
rb_candidate_kept(rb_refine_candidate *cand, rb_bad_reason reason)
{
	cand->verdict = RB_KEPT;
	cand->reason = (uint32_t) reason;
}

/* Chooses the circumcenter of a tetrahedron as the point. *measure is six times the volume. */
RB_HOST_DEVICE void
rb_candidate_build_tet(const rb_cells *m, rb_refine_candidate *cand, const rb_cell *c,
					   double *measure)
{
	rb_tet_shape shape;
	int i;

	/* Check this first: a ghost may happen to have the hash of a deleted cell. */
	if ((c->bits & RB_CELL_LISTED) == 0)
	{
		cand->verdict = RB_STALE;
		return;
	}
	shape = rb_cell_shape(m, c);
	for (i = 0; i < 3; i++)
		cand->at[i] = shape.ball.at[i];
	*measure = rb_volume6(rb_site_at(m, c->v[0]), rb_site_at(m, c->v[1]), rb_site_at(m, c->v[2]),
						  rb_site_at(m, c->v[3]));
	if (!(shape.ball.radius2 < INFINITY))
		rb_candidate_kept(cand, RB_BAD_TOO_FINE);
}

/*
 * Checks that a constrained face still has a reason to be split: a corner on either side that
 * encroaches upon it, or a rejected point. Even in the latter case, encroaching corners determine
 * the minimum insertion radius and whether the split is allowed.
 */
RB_HOST_DEVICE void
rb_candidate_wall_reason(const rb_cells *m, rb_refine_candidate *cand, const rb_cell *c, uint32_t i,
						 const rb_ball *ball)
{
	bool absent = rb_entry_absent(cand->entry);
	bool any = absent;
	uint32_t side, other;

	for (side = 0; side < 2; side++)
	{
		if (!rb_cell_ghost(c) && rb_wall_encroached(m, c, i, ball))
		{
			double raise;

			any = true;
			if (rb_wall_kept(m, c->facet[i], cand->at, c->v[i], absent, &raise) &&
				!rb_entry_needed(cand->entry))
			{
				if (absent)
					rb_candidate_kept(cand, RB_BAD_INPUT);
				else
					cand->verdict = RB_STALE;
				return;
			}
			cand->raise = raise > cand->raise ? raise : cand->raise;
		}
		other = c->n[i];
		c = &m->cells[other >> 2];
		i = other & 3;
	}
	if (!any)
		cand->verdict = RB_STALE;
}

/* Returns the squared length of the longest edge of a triangle. */
RB_HOST_DEVICE double
rb_longest2(const rb_cells *m, const uint32_t *v)
{
	double a = rb_distance2(rb_site_at(m, v[0]), rb_site_at(m, v[1]));
	double b = rb_distance2(rb_site_at(m, v[1]), rb_site_at(m, v[2]));
	double c = rb_distance2(rb_site_at(m, v[2]), rb_site_at(m, v[0]));

	a = a > b ? a : b;
	return a > c ? a : c;
}

/* Moves a point that splits a face of a facet to the plane of the facet, if it has one. */
RB_HOST_DEVICE void
rb_place_on_facet(const rb_cells *m, uint32_t facet, double *at)
{
	const double *n = m->planes[facet].normal;

	if (n[0] != 0 || n[1] != 0 || n[2] != 0)
		rb_project_on_plane(m->planes[facet].at, n, at);
}

/*
 * Chooses the point that splits face i of the cell. *measure is the squared radius of its
 * protecting sphere.
 */
RB_HOST_DEVICE void
rb_candidate_build_wall(const rb_cells *m, rb_refine_candidate *cand, const rb_cell *c, uint32_t i,
						double *measure)
{
	rb_ball ball;
	uint32_t tries = rb_entry_askew(cand->entry);
	uint32_t v[3];
	int k;

	/* Check this first: a ghost may happen to have the hash of a deleted cell. */
	if ((c->bits & RB_CELL_WALL(i)) == 0 ||
		(rb_entry_absent(cand->entry) && rb_entry_blocked(cand->entry) == 0 &&
		 (c->bits & RB_CELL_KEPT_WALL(i)) != 0))
	{
		cand->verdict = RB_STALE;
		return;
	}
	ball = rb_wall_ball(m, c, i);
	for (k = 0; k < 3; k++)
		v[k] = c->v[rb_cell_face_corner(i, (uint32_t) k)];
	for (k = 0; k < 3; k++)
	{
		cand->at[k] = ball.at[k];
		if (tries > 0)
		{
			uint32_t hash = rb_cell_hash(c);
			double a = rb_site_at(m, v[0])[k], b = rb_site_at(m, v[1])[k],
				   o = rb_site_at(m, v[2])[k];

			cand->at[k] +=
				(a - o) * rb_jitter(tries, hash, 0) + (b - o) * rb_jitter(tries, hash, 1);
		}
	}
	*measure = ball.radius2;
	/* The circumcenter of a needle is far away, and not near its plane. */
	if (!(ball.radius2 < 0x1p40 * rb_longest2(m, v)))
	{
		rb_candidate_kept(cand, RB_BAD_TOO_FINE);
		return;
	}
	rb_place_on_facet(m, c->facet[i], cand->at);
	if (rb_entry_absent(cand->entry) && !rb_wall_splits(m, v, rb_entry_needed(cand->entry)))
		rb_candidate_kept(cand, m->keep_surface ? RB_BAD_SURFACE : RB_BAD_INPUT);
	else
		rb_candidate_wall_reason(m, cand, c, i, &ball);
}

/*
 * Returns the vertex that lies deepest in the protecting sphere of a subsegment, among the corners
 * of all cells around it; ties go to the smaller number. Returns RB_NOWHERE if none lies in it.
 */
RB_HOST_DEVICE uint32_t
rb_piece_deepest(const rb_cells *m, uint32_t cell, uint32_t e)
{
	rb_edge_ring ring = rb_ring_begin(m, cell, e);
	const double *a = rb_site_at(m, ring.a), *b = rb_site_at(m, ring.b);
	uint32_t deepest = RB_NOWHERE;
	double depth = 0;

	do
	{
		/* Each vertex of the ring is opposite to the exit face exactly once. */
		uint32_t v = m->cells[ring.cell].v[ring.to];

		if (v != RB_GHOST)
		{
			double dot = rb_diameter_dot(a, b, rb_site_at(m, v));

			if (dot < depth || (dot == depth && dot < 0 && v < deepest))
			{
				depth = dot;
				deepest = v;
			}
		}
		rb_ring_next(m, &ring);
	} while (ring.cell != cell);
	return deepest;
}

/* Chooses the point that splits edge e of the cell. *measure is its squared length. */
RB_HOST_DEVICE void
rb_candidate_build_piece(const rb_cells *m, rb_refine_candidate *cand, const rb_cell *c, uint32_t e,
						 double *measure)
{
	uint32_t u = c->v[rb_cell_edge_from(e)], v = c->v[rb_cell_edge_to(e)];
	uint32_t low = u < v ? u : v;
	uint32_t tries = rb_entry_askew(cand->entry);
	const double *a = rb_site_at(m, u), *b = rb_site_at(m, v);
	const uint32_t *s;
	double t = 0.5;
	uint32_t w;

	if ((c->bits & RB_CELL_SEGMENT(e)) == 0 ||
		(rb_entry_absent(cand->entry) && rb_entry_blocked(cand->entry) == 0 &&
		 (c->bits & RB_CELL_KEPT_SEGMENT(e)) != 0))
	{
		cand->verdict = RB_STALE;
		return;
	}
	*measure = rb_distance2(a, b);
	if (rb_entry_absent(cand->entry) && !rb_piece_splits(m, u, v, rb_entry_needed(cand->entry)))
	{
		rb_candidate_kept(cand, m->keep_surface ? RB_BAD_SURFACE : RB_BAD_INPUT);
		return;
	}
	w = rb_piece_deepest(m, rb_entry_cell(cand->entry), e);
	if (w != RB_NOWHERE)
		t = rb_piece_place(m, u, v, w, &cand->raise);
	else if (!rb_entry_absent(cand->entry))
	{
		cand->verdict = RB_STALE;
		return;
	}
	/*
	 * Measure from the end with the smaller number, so that the point does not depend on the
	 * direction.
	 */
	if (u > v)
	{
		const double *o = a;

		a = b;
		b = o;
		t = t == 0.5 ? t : 1 - t;
	}
	if (tries > 0)
		t += rb_jitter(tries, low ^ (u + v) << 10, 2);
	rb_point_along(a, b, t, cand->at);
	s = m->segments[rb_piece_segment(m, u, v)];
	rb_project_on_line(rb_site_at(m, s[0]), rb_site_at(m, s[1]), cand->at);
	if (rb_equal3(cand->at, a) || rb_equal3(cand->at, b))
		rb_candidate_kept(cand, RB_BAD_TOO_FINE);
}

/* Completes candidate number `index`, whose entry is set. */
RB_HOST_DEVICE void
rb_candidate_build(const rb_cells *m, rb_refine_candidate *cand, uint32_t index)
{
	rb_entry64 e = cand->entry;
	const rb_cell *c = &m->cells[rb_entry_cell(e)];
	rb_what what = rb_entry_what(e);
	double measure = 0;

	cand->key = 0;
	cand->raise = 0;
	cand->first = 0;
	cand->ncells = 0;
	cand->nrim = 0;
	cand->reason = 0;
	cand->verdict = RB_STALE;
	if (!rb_entry_alive(m, e))
		return;
	cand->verdict = RB_READY;
	if (what == RB_SPLIT_TET)
		rb_candidate_build_tet(m, cand, c, &measure);
	else if (what == RB_SPLIT_WALL)
		rb_candidate_build_wall(m, cand, c, rb_entry_part(e), &measure);
	else
		rb_candidate_build_piece(m, cand, c, rb_entry_part(e), &measure);
	if (cand->verdict == RB_READY)
		cand->key = rb_candidate_key(what, measure, rb_cell_hash(c), index);
}

#endif /* RB_REFINE_STEINER_H */
