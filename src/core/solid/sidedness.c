/*
 * sidedness.c
 *	  Determines which side of a solid a sheet lies on, and which side of a sheet its own solid lies
 *	  on.
 *
 * Both questions are answered for one point of each sheet, near the centroid c of one of its
 * triangles abc:
 *
 *		q = c + d v,		with an infinitesimal d > 0.
 *
 * To find the side of the triangle on which its own solid lies, v is the normal, so q is off the
 * triangle. To find the side of another solid on which the sheet lies, v is b - a, so q is on the
 * triangle. The other solid may touch the triangle at isolated points, even at c, but not along a
 * segment from c to q. In either case q is on no triangle of the solid being tested. Therefore q
 * can be perturbed further by (e, e^2), with e infinitesimal relative to d, without changing the
 * result. After that, the upward ray from q meets no edge.
 *
 * The position of q relative to an edge pq in the xy projection, and relative to the plane through
 * p with the normal m, is given by the first nonzero value in the respective column:
 *
 *		(q - p) x (3 c - 3 p)		m . (3 c - 3 p)
 *		(q - p) x v					m . v
 *		as in ray.h
 *
 * The second column needs no third row, because a point in the plane of a triangle and above or
 * below that triangle would be on the triangle. The first row is evaluated with interval arithmetic
 * before it is evaluated exactly. The candidate triangles above q are found by a box join: each ray
 * contributes a box that extends from an interval around c upward, and each triangle contributes
 * its bounding box.
 */
#include "core/base/thread_count.h"
#include "core/solid/relate.h"
#include "core/primitive/ray.h"
#include "core/join/join.h"

#define BATCH RB_SIZE(256, 3) /* Number of pairs appended at a time */

typedef struct ray_start
{
	const double *t;
	bool own;
	double low[3]; /* Bounds on the centroid */
	double high[3];
	bool exact;          /* The fields below are valid */
	rb_number centre[3]; /* Centroid times three */
	rb_number move[3];
} ray_start;

/* State of a join of rays with triangles */
typedef struct cast
{
	rb_context *ctx;
	const rb_fans *from;
	const uint32_t *triangle;
	const rb_fans *solids;
	bool own;
	rb_notes above; /* Pairs of a ray and a triangle above its start */
} cast;

static void
begin_ray_start(ray_start *b, const double *t, bool own)
{
	b->t = t;
	b->own = own;
	b->exact = false;
	rb_triangle_centre(t, b->low, b->high);
}

static void
compute_exact_start(ray_start *b)
{
	rb_number x;

	b->exact = true;
	for (int a = 0; a < 3; a++)
	{
		rb_number_of(&b->centre[a], b->t[a]);
		for (int k = 3; k < 9; k += 3)
		{
			rb_number_of(&x, b->t[k + a]);
			rb_number_add(&b->centre[a], &b->centre[a], &x);
		}
	}
	if (b->own)
		rb_triangle_normal(b->move, b->t);
	else
		for (int a = 0; a < 3; a++)
			rb_number_difference(&b->move[a], b->t[3 + a], b->t[a]);
}

/* Computes one coordinate of 3 c - 3 p, where c is the centroid. */
static void
from_point(rb_number *r, const ray_start *b, const double *p, int axis)
{
	rb_number x;

	rb_number_of(&x, p[axis]);
	rb_number_copy(r, &b->centre[axis]);
	for (int i = 0; i < 3; i++)
		rb_number_sub(r, r, &x);
}

static rb_interval
roughly_from(const ray_start *b, const double *p, int axis)
{
	const rb_interval c = {.lo = b->low[axis], .hi = b->high[axis]};

	return rb_interval_sub(c, rb_interval_of(p[axis]));
}

/*
 * Returns the side of the edge pq on which the point lies in the xy projection: 1 for left, -1 for
 * right.
 */
static int
edge_side(ray_start *b, const double *p, const double *q)
{
	rb_number u, v, x, y, det;
	int sign = rb_interval_sign(rb_interval_det2(rb_interval_difference(q[0], p[0]),
												 rb_interval_difference(q[1], p[1]),
												 roughly_from(b, p, 0), roughly_from(b, p, 1)));

	if (sign != RB_UNSURE && sign != 0)
		return sign;
	if (!b->exact)
		compute_exact_start(b);
	rb_number_difference(&u, q[0], p[0]);
	rb_number_difference(&v, q[1], p[1]);
	from_point(&x, b, p, 0);
	from_point(&y, b, p, 1);
	rb_number_det2(&det, &u, &v, &x, &y);
	if (det.sign == 0)
		rb_number_det2(&det, &u, &v, &b->move[0], &b->move[1]);
	return det.sign != 0 ? det.sign : rb_edge_tie(p, q);
}

static int
plane_side_roughly(const ray_start *b, const double *t)
{
	rb_interval u[3], v[3], w[3], det = {.lo = 0, .hi = 0};

	for (int a = 0; a < 3; a++)
	{
		u[a] = rb_interval_difference(t[3 + a], t[a]);
		v[a] = rb_interval_difference(t[6 + a], t[a]);
		w[a] = roughly_from(b, t, a);
	}
	for (int a = 0; a < 3; a++)
	{
		const int i = (a + 1) % 3, j = (a + 2) % 3;

		det = rb_interval_add(det, rb_interval_mul(rb_interval_det2(u[i], u[j], v[i], v[j]), w[a]));
	}
	return rb_interval_sign(det);
}

static void
dot_product(rb_number *sum, const rb_number a[3], const rb_number b[3])
{
	rb_number x;

	rb_number_mul(sum, &a[0], &b[0]);
	for (int axis = 1; axis < 3; axis++)
	{
		rb_number_mul(&x, &a[axis], &b[axis]);
		rb_number_add(sum, sum, &x);
	}
}

static int
plane_side(ray_start *b, const double *t)
{
	rb_number normal[3], w[3], det;
	int sign = plane_side_roughly(b, t);

	if (sign != RB_UNSURE && sign != 0)
		return sign;
	if (!b->exact)
		compute_exact_start(b);
	rb_triangle_normal(normal, t);
	for (int axis = 0; axis < 3; axis++)
		from_point(&w[axis], b, t, axis);
	dot_product(&det, normal, w);
	if (det.sign == 0)
		dot_product(&det, normal, b->move);
	return det.sign;
}

/* Returns true if the triangle is above the point. */
static bool
is_above(ray_start *b, const double *t)
{
	const int turn = edge_side(b, t, t + 3);

	return turn != 0 && edge_side(b, t + 3, t + 6) == turn && edge_side(b, t + 6, t) == turn &&
		   plane_side(b, t) == -turn;
}

/* ---- ray join ---- */

static rb_status
note_triangles_above(void *user, const rb_pair *pairs, size_t n)
{
	cast *c = user;
	const rb_set *from = c->from->set, *solids = c->solids->set;
	rb_pair found[BATCH];
	size_t nfound = 0;
	rb_status status = RB_OK;
	ray_start b = {.t = NULL};

	for (size_t i = 0; i < n && status == RB_OK; i++)
	{
		const uint32_t ray = rb_pair_red(pairs[i]), t = c->triangle[ray], other = pairs[i].blue;
		const double *at = from->coords + 9 * (size_t) t;

		if (i % BATCH == 0 && rb_should_stop(c->ctx))
			return RB_STOPPED;
		if (c->solids->sheet[other] == RB_NO_SHEET ||
			(c->own && rb_row_of(from, t) != rb_row_of(solids, other)))
			continue;
		if (b.t != at)
			begin_ray_start(&b, at, c->own);
		if (!is_above(&b, solids->coords + 9 * (size_t) other))
			continue;
		found[nfound++] = (rb_pair){ray, other};
		if (nfound == BATCH)
		{
			status = rb_notes_add(&c->above, found, nfound);
			nfound = 0;
		}
	}
	return status == RB_OK ? rb_notes_add(&c->above, found, nfound) : status;
}

/* Computes the boxes of all triangles and their maximum z. */
static rb_status
box_triangles(rb_context *ctx, const rb_set *set, double **boxes, double *top)
{
	rb_status status = rb_array(ctx, (void **) boxes, set->nparts, 6 * sizeof(double));

	*top = -HUGE_VAL;
	for (uint32_t i = 0; i < set->nparts && status == RB_OK; i++)
	{
		const double *t = set->coords + 9 * (size_t) i;
		double *box = *boxes + 6 * (size_t) i;

		for (int a = 0; a < 3; a++)
		{
			box[a] = rb_min(t[a], rb_min(t[3 + a], t[6 + a]));
			box[3 + a] = rb_max(t[a], rb_max(t[3 + a], t[6 + a]));
		}
		*top = rb_max(*top, box[5]);
		if (i % 65536 == 0 && rb_should_stop(ctx))
			status = RB_STOPPED;
	}
	return status;
}

static rb_status
box_rays(const cast *c, uint32_t n, double top, double **boxes)
{
	rb_status status = rb_array(c->ctx, (void **) boxes, n, 6 * sizeof(double));
	ray_start b;

	for (uint32_t i = 0; i < n && status == RB_OK; i++)
	{
		double *box = *boxes + 6 * (size_t) i;

		begin_ray_start(&b, c->from->set->coords + 9 * (size_t) c->triangle[i], c->own);
		for (int a = 0; a < 3; a++)
		{
			box[a] = b.low[a];
			box[3 + a] = b.high[a];
		}
		box[5] = rb_max(box[5], top);
		if (i % 65536 == 0 && rb_should_stop(c->ctx))
			status = RB_STOPPED;
	}
	return status;
}

/*
 * Appends a pair for each ray and row with an odd number of triangles above the start of the ray.
 */
static rb_status
note_odd(cast *c, rb_notes *inside)
{
	const rb_set *solids = c->solids->set;
	const rb_pair *p;
	rb_status status = rb_notes_sort(&c->above, NULL, solids->row_of);

	p = c->above.at;
	for (size_t i = 0, j; i < c->above.n && status == RB_OK; i = j)
	{
		j = i + 1;
		while (j < c->above.n && p[j].red == p[i].red &&
			   rb_row_of(solids, p[j].blue) == rb_row_of(solids, p[i].blue))
			j++;
		if ((j - i) % 2 == 1)
			status = rb_notes_add(inside, &p[i], 1);
	}
	return status;
}

rb_status
rb_sheet_points_locate(rb_context *ctx, const rb_backend *backend, const rb_fans *from,
					   const uint32_t *triangle, uint32_t n, const rb_fans *solids, bool own,
					   rb_notes *inside)
{
	cast c = {.ctx = ctx, .from = from, .triangle = triangle, .solids = solids, .own = own};
	double *rays = NULL, *boxes = NULL, top;
	rb_status status;

	if (n == 0 || solids->set->nparts == 0)
		return RB_OK;
	rb_notes_open(&c.above, ctx);
	status = box_triangles(ctx, solids->set, &boxes, &top);
	if (status == RB_OK)
		status = box_rays(&c, n, top, &rays);
	if (status == RB_OK)
	{
		const rb_set red = {.kind = RB_BOX3, .nparts = n, .nrows = n, .coords = rays};
		const rb_set blue = {.kind = RB_BOX3,
							 .nparts = solids->set->nparts,
							 .nrows = solids->set->nparts,
							 .coords = boxes};
		const rb_job job = {.red = &red, .blue = &blue, .predicate = RB_MEET};
		const rb_sink sink = {.put = note_triangles_above, .user = &c};

		status = rb_join_step(ctx, backend, &job, &sink, RB_TILE);
	}
	RB_FREE(ctx->memory, rays);
	RB_FREE(ctx->memory, boxes);
	if (status == RB_OK)
		status = note_odd(&c, inside);
	rb_notes_close(&c.above);
	return status;
}

rb_status
rb_fans_find_inner(rb_context *ctx, const rb_backend *backend, rb_fans *fans, const uint8_t *rows)
{
	uint32_t *some = NULL, n = 0;
	rb_notes inside;
	rb_status status;

	RB_TRY(RB_ALLOCATE(ctx, some, (size_t) fans->nsheets + 1));
	for (uint32_t i = 0; i < fans->nsheets; i++)
		if (rows == NULL || rows[rb_row_of(fans->set, fans->sheets[i])])
		{
			some[n++] = fans->tops[i];
			fans->inner[fans->sheets[i]] = fans->turned[fans->tops[i]];
		}
	rb_notes_open(&inside, ctx);
	status = rb_sheet_points_locate(ctx, backend, fans, some, n, fans, true, &inside);
	for (size_t i = 0; i < inside.n; i++)
		fans->inner[fans->sheet[some[inside.at[i].red]]] ^= 1;
	rb_notes_close(&inside);
	RB_FREE(ctx->memory, some);
	return status;
}

/* ---- a single point ---- */

bool
rb_sheet_point_is_inside(const double *t, const rb_fans *solid, const rb_tree *tree)
{
	double lo[3], hi[3], top[3], square;
	bool inside = false;
	uint32_t part;
	ray_start b;
	rb_walk w;

	begin_ray_start(&b, t, false);
	rb_tree_bounds(tree, lo, top);
	for (int a = 0; a < 3; a++)
	{
		lo[a] = b.low[a] * tree->scale;
		hi[a] = b.high[a] * tree->scale;
	}
	hi[2] = rb_max(hi[2], top[2]);
	rb_walk_begin(&w, tree, NULL, lo, hi);
	while (rb_walk_next(&w, 0, UINT32_MAX, &part, &square))
		if (solid->sheet[part] != RB_NO_SHEET)
			inside ^= is_above(&b, solid->set->coords + 9 * (size_t) part);
	return inside;
}
