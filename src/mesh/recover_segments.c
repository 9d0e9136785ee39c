/*
 * recover_segments.c
 *	  Splits segments that the Delaunay tetrahedralization lacks until all their subsegments are
 *	  edges.
 *
 * A subsegment is an edge if some sphere through its ends is empty, and short subsegments have
 * small spheres. However, a new point can destroy edges of other subsegments, and two segments that
 * meet at an acute angle could split each other forever. A point at which two segments form an
 * angle below 90 degrees is therefore protected. The segments at this point are split at the
 * distance of the encroaching point (Si, Gaertner). If that point is a split of an adjacent
 * segment, both splits are thus at the same distance. After a number of splits, the distance is a
 * power of two (Ruppert), which is the same for all segments of the point.
 *
 * Long segments that are nearly parallel and very close to each other are split at the same places:
 * beside the encroaching point, even if that is far from the middle. A split elsewhere would
 * encroach on all the others, and so on, until subsegments are as short as the segments are close.
 *
 * A subsegment is checked again only if both of its ends have new tetrahedra around them.
 */
#include "core/base/bucket.h"
#include "core/exact/orient.h"
#include "mesh/recover.h"

#define CUTS_FREE 12 /* splits of a segment before its distances become powers of two */
/* minimum distance of a split from the ends, as a fraction of the subsegment */
#define MARGIN 0.2
/* A split is beside an encroaching point if the ends are at least this many times farther away */
#define BESIDE 30

typedef struct rb_coarse_keys
{
	const uint32_t *key;
	int shift;
} rb_coarse_keys;

/* Returns the bucket of an element: its key without the lowest bits. */
static inline uint32_t
coarse_key(const void *arg, uint32_t i)
{
	const rb_coarse_keys *k = arg;

	return k->key[i] >> k->shift;
}

rb_status
rb_recover_sort_coarsely(rb_context *ctx, const uint32_t *key, uint32_t n, uint32_t keys,
						 uint32_t **order)
{
	rb_coarse_keys k = {key, 0};
	rb_buckets b = {NULL, NULL};
	rb_status status;

	while (keys >> k.shift > n)
		k.shift++;
	status = rb_buckets_build(ctx, &b, n, (keys >> k.shift) + 1, coarse_key, &k);
	RB_FREE(ctx->memory, b.start);
	*order = b.member;
	return status;
}

rb_status
rb_recover_add_point(rb_recovery *r, const double *at, rb_vertex_kind kind, uint32_t parent,
					 uint32_t *v)
{
	uint32_t added = r->mesh.npoints - r->plc->npoints;

	if (r->plc->max_points > 0 && r->mesh.npoints >= r->plc->max_points)
		return rb_recover_flaw(r, RB_FLAW_TOO_MANY_POINTS, RB_NONE, RB_NONE, at);
	if (added >= r->added_cap)
	{
		size_t cap = r->added_cap;

		RB_TRY(RB_GROW(r->ctx, r->kind, cap, added + 1));
		RB_TRY(RB_ALLOCATE(r->ctx, r->parent, cap));
		r->added_cap = cap;
	}
	RB_TRY(rb_mesh_add_point(&r->mesh, at, v));
	r->kind[added] = (uint8_t) kind;
	r->parent[added] = parent;
	return RB_OK;
}

/* Collects all tetrahedra around v, including ghosts, in r->star. */
static rb_status
collect_star_of_segment_point(rb_recovery *r, uint32_t v, uint32_t *n)
{
	rb_mesh *m = &r->mesh;
	uint32_t count = 0;

	RB_TRY(RB_GROW(r->ctx, r->star, r->star_cap, 1));
	r->star[count++] = m->tet_of[v];
	m->bits[m->tet_of[v]] |= RB_MARK;
	for (uint32_t i = 0; i < count; i++)
	{
		const rb_tet *t = &m->tets[r->star[i]];
		uint32_t corner = rb_tet_corner(t, v);

		RB_TRY(RB_GROW(r->ctx, r->star, r->star_cap, count + 3));
		for (uint32_t k = 0; k < 4; k++)
		{
			uint32_t other = rb_face_tet(t->n[k]);

			if (k == corner || (m->bits[other] & RB_MARK) != 0)
				continue;
			m->bits[other] |= RB_MARK;
			r->star[count++] = other;
		}
	}
	for (uint32_t i = 0; i < count; i++)
		m->bits[r->star[i]] &= ~RB_MARK;
	*n = count;
	return RB_OK;
}

/*
 * Returns the distance of two points. Differences are scaled, because the points may be anywhere in
 * the range of doubles.
 */
static double
point_distance(const double *a, const double *b)
{
	double d[3], largest = 0;

	for (int k = 0; k < 3; k++)
	{
		d[k] = b[k] / 2 - a[k] / 2;
		largest = fmax(largest, fabs(d[k]));
	}
	if (largest == 0)
		return 0;
	for (int k = 0; k < 3; k++)
		d[k] /= largest;
	return 2 * largest * sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

/* Returns the cosine of the angle at p between a and b. */
static double
cosine_of_encroaching_angle(const double *p, const double *a, const double *b)
{
	double u[3], v[3], lu = 0, lv = 0, uu = 0, vv = 0, uv = 0;

	for (int k = 0; k < 3; k++)
	{
		u[k] = a[k] / 2 - p[k] / 2;
		v[k] = b[k] / 2 - p[k] / 2;
		lu = fmax(lu, fabs(u[k]));
		lv = fmax(lv, fabs(v[k]));
	}
	for (int k = 0; k < 3; k++)
	{
		double x = u[k] / lu, y = v[k] / lv;

		uu += x * x;
		vv += y * y;
		uv += x * y;
	}
	return uv / sqrt(uu * vv);
}

/*
 * Returns the encroaching point of subsegment uv: of the corners of tetrahedron t, through which uv
 * leaves u, the one that sees uv at the widest angle. Returns RB_NONE if no such angle exceeds 90
 * degrees.
 */
static uint32_t
encroaching_point(rb_recovery *r, uint32_t u, uint32_t v, uint32_t t)
{
	const rb_mesh *m = &r->mesh;
	uint32_t best = RB_NONE;
	double least = 0;

	for (uint32_t i = 0; i < 4; i++)
	{
		uint32_t w = m->tets[t].v[i];
		double c;

		if (w == u || w == v || w == RB_GHOST)
			continue;
		c = cosine_of_encroaching_angle(rb_mesh_point(m, w), rb_mesh_point(m, u),
										rb_mesh_point(m, v));
		if (c < least)
		{
			least = c;
			best = w;
		}
	}
	return best;
}

/*
 * Returns the power of two in (from, to) that is nearest to the middle, or the middle if there is
 * none.
 */
static double
nearest_power_for_split(double from, double to)
{
	double middle = from + (to - from) / 2;
	int e;
	/* the largest power of two that is at most `middle` */
	double power = (frexp(middle, &e), ldexp(1, e - 1));

	if (power <= from || (2 * power < to && 2 * power - middle < middle - power))
		power *= 2;
	return power > from && power < to ? power : middle;
}

/* Computes the point of segment ab at a fraction of its length. */
static void
place_on_segment(const double *a, const double *b, double share, double *at)
{
	for (int k = 0; k < 3; k++)
	{
		const double far = b[k] - a[k];

		if (a[k] == b[k])
			/* Keep a segment that is parallel to an axis exactly parallel. */
			at[k] = a[k];
		else if (fabs(far) <= DBL_MAX)
			at[k] = a[k] + far * share;
		else
			at[k] = a[k] * (1 - share) + b[k] * share;
	}
}

/*
 * Returns true if a split of segment ab at a distance from a would be beside point w: much nearer
 * to it than to the ends of the subsegment, which are at the distances `from` and `to`.
 */
static bool
is_beside(const double *a, const double *b, double distance, double from, double to,
		  const double *w)
{
	double at[3];

	if (!(distance > from && distance < to))
		return false;
	place_on_segment(a, b, distance / point_distance(a, b), at);
	return BESIDE * point_distance(at, w) < fmin(distance - from, to - distance);
}

/* Computes where to split subsegment p: *at is the distance from end *end of its segment. */
static void
split_distance(rb_recovery *r, const rb_subsegment *p, uint32_t in_the_way, uint32_t *end,
			   double *at)
{
	const uint32_t *ends = r->segments[p->segment];
	const double *u = rb_mesh_point(&r->mesh, p->u), *v = rb_mesh_point(&r->mesh, p->v);
	const double *a = rb_mesh_point(&r->mesh, ends[0]), *b = rb_mesh_point(&r->mesh, ends[1]);
	double near_a = fmin(point_distance(a, u), point_distance(a, v)),
		   near_b = fmin(point_distance(b, u), point_distance(b, v));
	const bool acute = r->acute[ends[0]] || r->acute[ends[1]];
	const bool by_b = r->acute[ends[1]] && (!r->acute[ends[0]] || near_b < near_a);
	const double *centre = by_b ? b : a, *other = by_b ? a : b;
	const double from = by_b ? near_b : near_a;
	const double length = point_distance(u, v);
	const double to = from + length;
	const bool free = r->cuts[p->segment] <= CUTS_FREE;
	double wish = from + length / 2;

	*end = by_b ? 1 : 0;
	if (in_the_way != RB_NONE)
	{
		const double *w = rb_mesh_point(&r->mesh, in_the_way);
		double beside = point_distance(centre, w);

		if (!acute)
			beside *= cosine_of_encroaching_angle(centre, w, other);
		if (is_beside(centre, other, beside, from, to, w))
		{
			*at = beside;
			return;
		}
		if (free)
			wish = beside;
	}
	if (acute && !free)
		wish = nearest_power_for_split(from + MARGIN * length, to - MARGIN * length);
	if (!(wish >= from + MARGIN * length && wish <= to - MARGIN * length))
		wish = free ? from + length / 2
					: nearest_power_for_split(from + MARGIN * length, to - MARGIN * length);
	*at = wish;
}

/* Marks the points around v as having new tetrahedra in this pass. */
static rb_status
touch_star(rb_recovery *r, uint32_t v, uint32_t pass, uint32_t *touched)
{
	uint32_t n = 0;

	RB_TRY(collect_star_of_segment_point(r, v, &n));
	for (uint32_t i = 0; i < n; i++)
		for (int k = 0; k < 4; k++)
			if (r->mesh.tets[r->star[i]].v[k] != RB_GHOST)
				touched[r->mesh.tets[r->star[i]].v[k]] = pass;
	return RB_OK;
}

/* Returns true if the three points are exactly collinear. */
static bool
are_segment_points_in_line(rb_recovery *r, uint32_t a, uint32_t b, uint32_t c)
{
	const double *p = rb_mesh_point(&r->mesh, a), *q = rb_mesh_point(&r->mesh, b),
				 *x = rb_mesh_point(&r->mesh, c);

	for (int i = 0; i < 3; i++)
	{
		int k = (i + 1) % 3;

		if (rb_orient2d_at(&r->mesh.env, p[i], p[k], q[i], q[k], x[i], x[k]) != 0)
			return false;
	}
	return true;
}

/*
 * Returns true if two segments are exactly coplanar (exactly collinear if they share an end). Then
 * the flaw at their rounded common point is a crossing; otherwise doubles have no room between the
 * segments.
 */
static bool
can_segments_cross(rb_recovery *r, const uint32_t *s, const uint32_t *t)
{
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 2; k++)
			if (s[i] == t[k])
				return are_segment_points_in_line(r, s[0], s[1], t[1 - k]);
	return rb_mesh_orient(&r->mesh, s[0], s[1], t[0], t[1]) == 0;
}

/*
 * Reports that a point lies on a segment, or that two segments cross, or, if neither is exactly
 * true, that doubles are too coarse.
 */
static rb_status
point_on_segment(rb_recovery *r, uint32_t point, uint32_t segment)
{
	const double *at = rb_mesh_point(&r->mesh, point);
	const uint32_t *ends = r->segments[segment];

	if (point < r->plc->npoints)
		return rb_recover_flaw(r,
							   are_segment_points_in_line(r, ends[0], ends[1], point)
								   ? RB_FLAW_POINT_ON_SEGMENT
								   : RB_FLAW_TOO_NEAR,
							   point, segment, at);
	if (r->kind[point - r->plc->npoints] == RB_VERTEX_ON_SEGMENT)
	{
		uint32_t other = r->parent[point - r->plc->npoints];

		if (other != segment && can_segments_cross(r, ends, r->segments[other]))
			return rb_recover_flaw(r, RB_FLAW_SEGMENTS_CROSS, other < segment ? other : segment,
								   other < segment ? segment : other, at);
	}
	return rb_recover_flaw(r, RB_FLAW_TOO_NEAR, point, segment, at);
}

/*
 * Returns true if a point is strictly between the ends of a subsegment along the longest axis of
 * its segment, so that the segment never turns back.
 */
static bool
is_inside_subsegment(rb_recovery *r, const rb_subsegment *p, const double *at)
{
	const double *a = rb_mesh_point(&r->mesh, r->segments[p->segment][0]),
				 *b = rb_mesh_point(&r->mesh, r->segments[p->segment][1]);
	const double *u = rb_mesh_point(&r->mesh, p->u), *v = rb_mesh_point(&r->mesh, p->v);
	int axis = 0;

	for (int k = 1; k < 3; k++)
		if (fabs(b[k] / 2 - a[k] / 2) > fabs(b[axis] / 2 - a[axis] / 2))
			axis = k;
	return (at[axis] - u[axis] > 0 && v[axis] - at[axis] > 0) ||
		   (at[axis] - u[axis] < 0 && v[axis] - at[axis] < 0);
}

/* Splits subsegment i at point w. */
static rb_status
cut_piece(rb_recovery *r, uint32_t i, uint32_t w)
{
	rb_status status = RB_GROW(r->ctx, r->pieces, r->pieces_cap, (size_t) r->npieces + 1);
	rb_subsegment *p = &r->pieces[i];

	if (status != RB_OK)
		return status;
	r->pieces[r->npieces] = (rb_subsegment){w, p->v, p->segment, p->next};
	p->v = w;
	p->next = r->npieces++;
	if (r->cuts[p->segment] < UINT8_MAX)
		r->cuts[p->segment]++;
	return RB_OK;
}

/* Splits subsegment i, which is not an edge; it leaves its first end through tetrahedron t. */
static rb_status
split_piece(rb_recovery *r, uint32_t i, uint32_t t)
{
	rb_subsegment *p = &r->pieces[i];
	const uint32_t s = p->segment;
	uint32_t way = encroaching_point(r, p->u, p->v, t);
	uint32_t end, w, same;
	double at[3], distance_from;
	const double *a, *b;

	split_distance(r, p, way, &end, &distance_from);
	a = rb_mesh_point(&r->mesh, r->segments[s][end]);
	b = rb_mesh_point(&r->mesh, r->segments[s][1 - end]);
	place_on_segment(a, b, distance_from / point_distance(a, b), at);
	if (!is_inside_subsegment(r, p, at))
		return rb_recover_flaw(r, RB_FLAW_TOO_NEAR, p->u, s, at);
	RB_TRY(rb_recover_add_point(r, at, RB_VERTEX_ON_SEGMENT, s, &w));
	RB_TRY(rb_mesh_insert(&r->mesh, w, t, &same));
	if (same != RB_NONE)
		return point_on_segment(r, same, s);
	RB_TRY(RB_GROW(r->ctx, r->pieces, r->pieces_cap, r->npieces + 1));
	p = &r->pieces[i];
	r->pieces[r->npieces] = (rb_subsegment){w, p->v, s, p->next};
	p->v = w;
	p->next = r->npieces++;
	if (r->cuts[s] < UINT8_MAX)
		r->cuts[s]++;
	return RB_OK;
}

/* Creates one subsegment per segment, unless subsegments exist already. */
static rb_status
begin_pieces(rb_recovery *r)
{
	if (r->pieces != NULL)
		return RB_OK;
	r->pieces_cap = (size_t) r->nsegments + 1;
	RB_TRY(RB_ALLOCATE(r->ctx, r->pieces, r->pieces_cap));
	RB_TRY(RB_ALLOCATE(r->ctx, r->cuts, (size_t) r->nsegments + 1));
	memset(r->cuts, 0, (size_t) r->nsegments + 1);
	for (uint32_t s = 0; s < r->nsegments; s++)
		r->pieces[s] = (rb_subsegment){r->segments[s][0], r->segments[s][1], s, RB_NONE};
	r->npieces = r->nsegments;
	return RB_OK;
}

/* ---- the first pass ---- */

#define BLOCK RB_SIZE(1024, 4) /* subsegments that a thread takes at once */

/* The order of the first pass and, for a large mesh, which subsegments were edges before it */
typedef struct rb_first_pass
{
	const rb_recovery *r;
	uint32_t *order;
	bool *there;
	uint32_t n; /* number of subsegments, or 0 after the first pass */
} rb_first_pass;

/* Determines which subsegments of a range are edges of the mesh. */
static void
find_present_subsegments_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const rb_first_pass *first = arg;
	const rb_recovery *r = first->r;
	rb_mesh m = r->mesh; /* a copy with its own state for walks and predicates */
	uint32_t t, hit;

	(void) me;
	for (uint64_t k = from; k < to; k++)
	{
		const rb_subsegment *p = &r->pieces[first->order[k]];

		first->there[k] = rb_mesh_find_edge(&m, p->u, p->v, &t, &hit);
	}
}

/*
 * Checks all subsegments once, in the order of the first pass if this is one, and the new ones
 * after them. *more is set if points were added.
 */
static rb_status
one_pass(rb_recovery *r, uint32_t pass, const rb_first_pass *first, uint32_t **touched,
		 size_t *touched_cap, bool *more)
{
	*more = false;
	for (uint32_t k = 0; k < r->npieces; k++)
	{
		const uint32_t i = k < first->n ? first->order[k] : k;
		uint32_t t, hit, w;

		if ((k & 1023) == 0)
		{
			if (rb_should_stop(r->ctx))
				return RB_STOPPED;
			rb_progress(r->ctx, RB_STAGE_MESH_SEGMENTS, k, r->npieces);
		}
		for (;;)
		{
			const rb_subsegment *p = &r->pieces[i];
			/*
			 * A subsegment that was an edge can have been destroyed only by a point inserted near
			 * both its ends.
			 */
			const uint32_t since = k < first->n && first->there[k] ? pass : pass - 1;

			if ((*touched)[p->u] < since || (*touched)[p->v] < since)
				break;
			if (rb_mesh_find_edge(&r->mesh, p->u, p->v, &t, &hit))
				break;
			if (hit != RB_NONE)
				return point_on_segment(r, hit, p->segment);
			RB_TRY(split_piece(r, i, t));
			w = r->pieces[i].v;
			if (w >= *touched_cap)
				RB_TRY(rb_array_grow(r->ctx, (void **) touched, touched_cap, (size_t) w + 1,
									 sizeof(uint32_t)));
			RB_TRY(touch_star(r, w, pass, *touched));
			*more = true;
			if (rb_should_stop(r->ctx))
				return RB_STOPPED;
		}
	}
	return RB_OK;
}

/* Computes the order of the first pass and, for a large mesh, which subsegments are edges. */
static rb_status
begin_first(rb_recovery *r, rb_first_pass *first)
{
	const uint32_t n = r->npieces;
	uint32_t *key = NULL;
	rb_status status = RB_ALLOCATE(r->ctx, key, (size_t) n + 1);

	for (uint32_t i = 0; i < n && status == RB_OK; i++)
		key[i] = r->mesh.tet_of[r->pieces[i].u];
	if (status == RB_OK)
		status = rb_recover_sort_coarsely(r->ctx, key, n, r->mesh.ntets, &first->order);
	RB_FREE(r->ctx->memory, key);
	if (status == RB_OK)
		status = RB_ALLOCATE(r->ctx, first->there, (size_t) n + 1);
	if (status == RB_OK)
		memset(first->there, 0, n);
	first->n = n;
	return status == RB_OK && r->mesh.large
			   ? rb_each(r->ctx, r->mesh.team, n, BLOCK, find_present_subsegments_piece, first)
			   : status;
}

rb_status
rb_recover_segments(rb_recovery *r)
{
	uint32_t *touched = NULL;
	size_t cap = r->mesh.npoints;
	rb_first_pass first = {r, NULL, NULL, 0};
	bool more = true;
	rb_status status = begin_pieces(r);

	if (status == RB_OK)
		status = RB_ALLOCATE(r->ctx, touched, cap + 1);
	if (status == RB_OK)
		memset(touched, 0, (cap + 1) * sizeof(uint32_t));
	/* Check nearby subsegments one after the other: points close in space are close in the mesh. */
	if (status == RB_OK && r->points_then == 0)
		status = begin_first(r, &first);
	/* After a previous recovery, only the surroundings of the points added since have changed. */
	for (uint32_t v = r->points_then; v < r->mesh.npoints && status == RB_OK && r->points_then > 0;
		 v++)
		status = touch_star(r, v, 1, touched);
	/* Pass 1 checks all subsegments, later passes those touched in this pass or the one before. */
	for (uint32_t pass = r->points_then > 0 ? 2 : 1; more && status == RB_OK; pass++)
	{
		status = one_pass(r, pass, &first, &touched, &cap, &more);
		first.n = 0;
	}
	RB_FREE(r->ctx->memory, first.order);
	RB_FREE(r->ctx->memory, first.there);
	RB_FREE(r->ctx->memory, touched);
	r->points_then = r->mesh.npoints;
	return status;
}

rb_status
rb_recover_list_subsegments(rb_recovery *r)
{
	if (r->piece_of.n == r->npieces)
		return RB_OK;
	rb_table_empty(&r->piece_of);
	RB_TRY(rb_table_expect(r->ctx, &r->piece_of, r->npieces));
	for (uint32_t i = 0; i < r->npieces; i++)
		RB_TRY(rb_recover_stops(r, i)
				   ? RB_STOPPED
				   : rb_table_insert(r->ctx, &r->piece_of, r->pieces[i].u, r->pieces[i].v, RB_NONE,
									 r->pieces[i].segment, NULL, NULL));
	return RB_OK;
}

rb_status
rb_recover_check_segments(rb_recovery *r, bool *again)
{
	uint32_t n = r->npieces;

	*again = false;
	for (uint32_t i = 0; i < n; i++)
	{
		const rb_subsegment p = r->pieces[i];
		const double *a = rb_mesh_point(&r->mesh, p.u), *b = rb_mesh_point(&r->mesh, p.v);
		uint32_t t, hit, w;
		double at[3];

		if (rb_recover_stops(r, i))
			return RB_STOPPED;
		if (r->segment_facet[p.segment] != RB_NONE ||
			rb_mesh_find_edge(&r->mesh, p.u, p.v, &t, &hit))
			continue;
		for (int k = 0; k < 3; k++)
			at[k] = a[k] == b[k] ? a[k] : a[k] / 2 + b[k] / 2;
		if (!is_inside_subsegment(r, &p, at))
			return rb_recover_flaw(r, RB_FLAW_TOO_NEAR, p.u, p.segment, at);
		RB_TRY(rb_recover_add_point(r, at, RB_VERTEX_ON_SEGMENT, p.segment, &w));
		RB_TRY(cut_piece(r, i, w));
		*again = true;
		r->points_then = 0; /* both halves must be checked next time */
	}
	return RB_OK;
}
