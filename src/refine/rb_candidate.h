/*
 * rb_candidate.h
 *	  Entries of the work lists, and the candidates that they become in a round.
 *
 * An entry names what is to be split: a bad tetrahedron, a wall, a piece of a segment; by a cell that
 * has it.  It lasts from round to round, and is dropped when its cell is no more: what is still to be
 * done then is an entry of new cells.
 *
 * A candidate is an entry with a point.  Of candidates that want the same cells the strongest gets them:
 * pieces before walls before tetrahedra, then the larger one, then by a hash, then the
 * earlier one; one word says all that, so that a maximum over words decides, whoever takes it.
 */
#ifndef RB_CANDIDATE_H
#define RB_CANDIDATE_H

#include "refine/rb_rules.h"

typedef enum rb_what
{
	RB_SPLIT_TET,
	RB_SPLIT_WALL,
	RB_SPLIT_PIECE
} rb_what;

/* ---- entries: 64 bits ---- */

typedef uint64_t rb_entry64;

#define RB_ENTRY_BLOCKED 6

/* a hash of a cell's corners: an entry whose cell has another one means a cell that is no more */
RB_HD uint32_t
rb_cell_hash(const rb_cell *c)
{
	uint64_t h = c->v[0] * UINT64_C(0x9e3779b97f4a7c15) ^ c->v[1] * UINT64_C(0xc2b2ae3d27d4eb4f) ^
				 c->v[2] * UINT64_C(0x165667b19e3779f9) ^ c->v[3] * UINT64_C(0xd6e8feb86659fd93);

	h ^= h >> 29;
	h *= UINT64_C(0xbf58476d1ce4e5b9);
	return (uint32_t) (h >> 32);
}

/*
 * 30 bits of cell; 3 of corner or edge; 2 of what; 1: it is wanted for a point that is not there; 3: how often its
 * point was askew; 5: how often something was in the way; 1: it is wanted whatever the radii are; 19 of hash
 */
RB_HD rb_entry64
rb_entry_make(const rb_cells *m, uint32_t cell, uint32_t part, rb_what what, bool absent)
{
	return (rb_entry64) cell | (rb_entry64) part << 30 | (rb_entry64) what << 33 |
		   (rb_entry64) absent << 35 | (rb_entry64) (rb_cell_hash(&m->cells[cell]) & 0x7ffff) << 45;
}
RB_HD uint32_t
rb_entry_cell(rb_entry64 e)
{
	return (uint32_t) (e & 0x3fffffff);
}
RB_HD uint32_t
rb_entry_part(rb_entry64 e)
{
	return (uint32_t) (e >> 30) & 7;
}
RB_HD rb_what
rb_entry_what(rb_entry64 e)
{
	return (rb_what) (e >> 33 & 3);
}
RB_HD bool
rb_entry_absent(rb_entry64 e)
{
	return (e >> 35 & 1) != 0;
}
/* because of a tetrahedron that is larger than it may be: small angles are no reason against that */
RB_HD bool
rb_entry_needed(rb_entry64 e)
{
	return (e >> 44 & 1) != 0;
}
RB_HD rb_entry64
rb_entry_need(rb_entry64 e, bool needed)
{
	return e | (rb_entry64) needed << 44;
}
RB_HD uint32_t
rb_entry_askew(rb_entry64 e)
{
	return (uint32_t) (e >> 36) & 7;
}
RB_HD uint32_t
rb_entry_blocked(rb_entry64 e)
{
	return (uint32_t) (e >> 39) & 31;
}
/* once more; only as long as it is below the most */
RB_HD rb_entry64
rb_entry_more_askew(rb_entry64 e)
{
	return rb_entry_askew(e) < 7 ? e + (UINT64_C(1) << 36) : e;
}
RB_HD rb_entry64
rb_entry_more_blocked(rb_entry64 e)
{
	return rb_entry_blocked(e) < RB_ENTRY_BLOCKED ? e + (UINT64_C(1) << 39) : e;
}
RB_HD bool
rb_entry_alive(const rb_cells *m, rb_entry64 e)
{
	const rb_cell *c = &m->cells[rb_entry_cell(e)];

	return c->v[0] != RB_DEAD && (rb_cell_hash(c) & 0x7ffff) == e >> 45;
}

/* ---- candidates ---- */

typedef enum rb_verdict
{
	RB_STALE,   /* the entry's cell is no more, or it needs nothing any more */
	RB_READY,   /* it has a point */
	RB_FITS,    /* and a cavity */
	RB_OWNS,    /* all cells of which are its own */
	RB_WINS,    /* and no stronger one is in the way: the point is inserted */
	RB_LOST,    /* to a stronger one: again in a later round */
	RB_BLOCKED, /* by something that is to be split first */
	RB_ASKEW, /* rounding put the point where a facet would get a flat tetrahedron: another place */
	RB_LARGE, /* the cavity is larger than there is room for: later, where there is more */
	RB_KEPT,  /* never: *reason says why */
	RB_OPEN   /* on a device: a sign that only GMP can tell */
} rb_verdict;

typedef struct rb_candidate
{
	double at[3];
	double raise; /* its radius will be at least this */
	uint64_t key; /* 0: it has no point */
	rb_entry64 entry;
	rb_entry64 first; /* RB_BLOCKED: what is to be split first */
	uint64_t cavity;  /* where its list of cells begins */
	uint32_t ncells;
	uint32_t nrim; /* faces around them: so many cells will be new */
	uint32_t verdict;
	uint32_t reason; /* rb_bad_reason */
	uint32_t vertex; /* the number that it gets */
	uint32_t slots;  /* its first new cell, in the list of those of the round */
} rb_candidate;

#define RB_KEY_INDEX UINT32_MAX /* the part of a key that is the candidate's number */

RB_HD uint64_t
rb_candidate_key(rb_what what, double measure, uint32_t hash, uint32_t index)
{
	union
	{
		double x;
		uint64_t bits;
	} u;

	/* 11 bits of exponent and 9 of mantissa; a measure is not negative */
	/* not all machines have the same NaN */
	u.x = measure == measure ? measure : INFINITY;
	return (uint64_t) (what + 1) << 62 | (u.bits >> 43 & 0xfffff) << 42 |
		   (uint64_t) (hash & 0x3ff) << 32 | (RB_KEY_INDEX - index);
}
RB_HD uint32_t
rb_key_index(uint64_t key)
{
	return RB_KEY_INDEX - (uint32_t) key;
}

/* ---- what a new cell needs ---- */

/*
 * Bits of a fresh cell: 1 << e: the piece that is its edge e is encroached upon by a corner of it, 1 << (6 + i):
 * the wall that is its face i; 1 << 10: it is bad.
 */
#define RB_NEED_WALL(i) (1u << (6 + (i)))
#define RB_NEED_TET (1u << 10)

/* the corner that lies deepest in the sphere around edge e; RB_NOWHERE: none does */
RB_HD uint32_t
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

/* the sphere of wall i that nothing should be in */
RB_HD rb_ball
rb_wall_ball(const rb_cells *m, const rb_cell *c, uint32_t i)
{
	rb_ball ball = rb_ball_of_triangle(rb_site_at(m, c->v[rb_cell_face_corner(i, 0)]),
									   rb_site_at(m, c->v[rb_cell_face_corner(i, 1)]),
									   rb_site_at(m, c->v[rb_cell_face_corner(i, 2)]));

	ball.radius2 *= RB_SPHERE_KEPT;
	return ball;
}

/* does corner i lie in that sphere of the face opposite?  Those of the same facet do not count */
RB_HD bool
rb_wall_encroached(const rb_cells *m, const rb_cell *c, uint32_t i, const rb_ball *ball)
{
	return rb_distance2(ball->at, rb_site_at(m, c->v[i])) < ball->radius2 &&
		   !rb_site_on_facet(m, c->v[i], c->facet[i]);
}

RB_HD uint32_t
rb_cell_needs(const rb_cells *m, rb_cell *c)
{
	uint32_t needs = 0, i;
	rb_shape shape;
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

/* ---- an entry becomes a candidate ---- */

/* +-1 and less, of a number and a hash: the way from a point that rounding made unfit to another one */
RB_HD double
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

/* above so many tries a point that is askew is taken, if the cavity around it can be filled */
#define RB_TRIES_ASKEW 5

RB_HD void
rb_candidate_kept(rb_candidate *cand, rb_bad_reason reason)
{
	cand->verdict = RB_KEPT;
	cand->reason = (uint32_t) reason;
}

RB_HD void
rb_candidate_make_tet(const rb_cells *m, rb_candidate *cand, const rb_cell *c, double *measure)
{
	rb_shape shape;
	int i;

	/* first of all: by chance a ghost has the hash of a cell that is no more */
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
 * A wall is split because of a corner that encroaches upon it, on either side, if there is one; even where
 * a point that is not there was the reason to ask.
 */
RB_HD void
rb_candidate_wall_reason(const rb_cells *m, rb_candidate *cand, const rb_cell *c, uint32_t i,
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

RB_HD double
rb_longest2(const rb_cells *m, const uint32_t *v)
{
	double a = rb_distance2(rb_site_at(m, v[0]), rb_site_at(m, v[1]));
	double b = rb_distance2(rb_site_at(m, v[1]), rb_site_at(m, v[2]));
	double c = rb_distance2(rb_site_at(m, v[2]), rb_site_at(m, v[0]));

	a = a > b ? a : b;
	return a > c ? a : c;
}

RB_HD void
rb_candidate_make_wall(const rb_cells *m, rb_candidate *cand, const rb_cell *c, uint32_t i,
					   double *measure)
{
	rb_ball ball;
	uint32_t tries = rb_entry_askew(cand->entry);
	uint32_t v[3];
	int k;

	/* first of all, as above */
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
	/* of a needle the centre is far away, and nowhere near its plane */
	if (!(ball.radius2 < 0x1p40 * rb_longest2(m, v)))
		rb_candidate_kept(cand, RB_BAD_TOO_FINE);
	else if (rb_entry_absent(cand->entry) && !rb_wall_splits(m, v, rb_entry_needed(cand->entry)))
		rb_candidate_kept(cand, m->keep_surface ? RB_BAD_SURFACE : RB_BAD_INPUT);
	else
		rb_candidate_wall_reason(m, cand, c, i, &ball);
}

/* of all cells around a piece, the corner deepest in its sphere; of equal ones that with the smaller number */
RB_HD uint32_t
rb_piece_deepest(const rb_cells *m, uint32_t cell, uint32_t e)
{
	rb_ring ring = rb_ring_begin(m, cell, e);
	const double *a = rb_site_at(m, ring.a), *b = rb_site_at(m, ring.b);
	uint32_t deepest = RB_NOWHERE;
	double depth = 0;

	do
	{
		/* each corner of the ring is once the one where it goes on */
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

RB_HD void
rb_candidate_make_piece(const rb_cells *m, rb_candidate *cand, const rb_cell *c, uint32_t e,
						double *measure)
{
	uint32_t u = c->v[rb_cell_edge_from(e)], v = c->v[rb_cell_edge_to(e)];
	uint32_t low = u < v ? u : v;
	uint32_t tries = rb_entry_askew(cand->entry);
	const double *a = rb_site_at(m, u), *b = rb_site_at(m, v);
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
	/* seen from either end it is the same place */
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
	if (rb_equal3(cand->at, a) || rb_equal3(cand->at, b))
		rb_candidate_kept(cand, RB_BAD_TOO_FINE);
}

/* candidate number `index`: its entry is there, the rest is made */
RB_HD void
rb_candidate_make(const rb_cells *m, rb_candidate *cand, uint32_t index)
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
		rb_candidate_make_tet(m, cand, c, &measure);
	else if (what == RB_SPLIT_WALL)
		rb_candidate_make_wall(m, cand, c, rb_entry_part(e), &measure);
	else
		rb_candidate_make_piece(m, cand, c, rb_entry_part(e), &measure);
	if (cand->verdict == RB_READY)
		cand->key = rb_candidate_key(what, measure, rb_cell_hash(c), index);
}

#endif /* RB_CANDIDATE_H */
