/*
 * fill_holes.c
 *	  Closes the holes of a surface of triangles with triangles between their corners.
 *
 *		open edges -> loops without repeated corners -> triangulations that meet nothing
 *
 * An edge is open if an odd number of triangles have it. Each triangle has an even number of sides
 * at a corner, so an even number of open edges meet there, and the open edges are a union of loops.
 * A walk along them is cut where it returns to a corner. Where more than two open edges meet, it
 * prefers an edge of another fan of triangles, because a hole is what lies between fans. Holes that
 * cannot be closed are divided again with the opposite preference.
 *
 * A hole of n edges gets the best triangulation of its corners by dynamic programming, in O(n^3)
 * steps: the best of corners i to j has a triangle (i, m, j) and the best of i to m and of m to j.
 * The first criterion is the smallest angle between neighboring triangles, in steps, with the
 * lengths of the new edges to decide between equal ones. If that fails, it is the area.
 *
 * Triangles and edges that meet the surface or another filled hole, outside common corners and
 * edges, or that are collinear, are excluded by exact tests. They are made only for an edge between
 * two corners, and for its triangles in the order of their costs, until one is allowed. Triangles
 * of one hole that meet each other are excluded one by one, a limited number of times, because it is
 * NP-hard to find out whether a loop has a triangulation without crossings. An edge that the surface
 * has already is avoided, because four triangles would have it.
 *
 * Numbers that are rounded only choose between triangulations. They come from operations that IEEE
 * 754 defines, so the choice is the same everywhere.
 *
 * G. Barequet, M. Sharir: Filling gaps in the boundary of a polyhedron. CAGD 12 (1995).
 * P. Liepa: Filling holes in meshes. Symposium on Geometry Processing (2003).
 * G. Barequet, M. Dickerson, D. Eppstein: On triangulating three-dimensional polygons. Computational
 * Geometry 10 (1998).
 */
#include "core/base/sort.h"
#include "core/intersection/intersection.h"
#include "core/primitive/dispatch.h"
#include "mesh/hash_table.h"
#include "mesh/surface_repair.h"
#include "mesh/weld.h"

#include <math.h>

#define CHECK_INTERVAL 256 /* steps between two polls for a stop */
#define TRIES 24           /* triangulations per criterion whose triangles meet each other */
#define ANGLE_STEPS 64     /* steps of the cosine of an angle */

/* Criteria of the best triangulation, in the order in which they are tried */
enum
{
	BY_ANGLE,
	BY_AREA,
	CRITERIA
};

/* Results of tests of edges and triangles of a hole */
enum
{
	ALLOWED,
	EXCLUDED,
	MEETS_OTHERS /* It met others of its hole in a triangulation; number of the criterion added */
};

typedef struct hole
{
	uint32_t start; /* index of its first corner, and of the edge that starts there */
	uint32_t n;
	uint32_t triangles; /* index of the first of the n - 2 new triangles if it was filled */
	rb_hole_result result;
} hole;

/* The best triangulation of the corners i to j of a hole */
typedef struct patch
{
	double normal[3]; /* unit normal of its triangle at the edge from j to i */
	double sum;       /* sum of squared lengths of new edges, or of areas */
	uint32_t apex;    /* corner m of that triangle; RB_NONE if there is no triangulation */
	uint32_t shared;  /* new edges that the surface has already */
	int32_t angle;    /* minus the smallest cosine between neighboring normals, in steps */
} patch;

typedef struct cost
{
	double sum;
	uint32_t shared;
	int32_t angle;
	uint32_t apex; /* corner m of the triangle */
} cost;

typedef struct hole_filling
{
	rb_context *ctx;
	const rb_edged_surface *surface;
	uint32_t most; /* edges of a hole that is filled */
	rb_filled_holes *to;
	rb_exact_env env;
	/* Open edges and the walk along them */
	uint32_t *open; /* numbers of the open edges */
	uint32_t nopen;
	uint32_t *ends;   /* two points of each open edge */
	rb_buckets at;    /* ends at each point, 2 i + k */
	uint8_t *used;    /* true if an open edge is part of a hole, or of the walk */
	uint32_t *on_way; /* for each point, its position in the walk, or RB_NONE */
	RB_VEC(uint32_t) way_points;
	RB_VEC(uint32_t) way_edges; /* open edges, each of which starts at the point */
	bool opposite;              /* true if the walk prefers the fan that it comes from */
	/* Holes */
	RB_VEC(hole) holes;
	RB_VEC(uint32_t) corners;
	RB_VEC(uint32_t) edges; /* indices of open edges */
	rb_table known;         /* edges between corners of holes */
	rb_boxes tree;          /* boxes of the triangles of the surface, then of the holes */
	/* The hole that is being filled */
	const hole *hole;
	const uint32_t *corner;
	double *local; /* coordinates of its corners near 0, for rounded numbers */
	size_t local_cap;
	patch *patches; /* by corners i < j, at j (j - 1) / 2 + i */
	size_t patches_cap;
	cost *costs; /* costs of the triangles at one edge */
	size_t costs_cap;
	rb_table tested; /* results of tests, by corners of the hole */
	int criterion;
	uint64_t steps;
	uint32_t (*found)[3]; /* the triangles of a triangulation, as corners of the hole */
	size_t found_cap;
	uint32_t *stack;
	size_t stack_cap;
	uint32_t *met; /* for each of these, how many others it meets */
	size_t met_cap;
	rb_boxes found_tree;
	/* The edge or triangle that is being tested */
	double tested_corners[9];
	uint32_t tested_number; /* number of the triangle of a triangulation */
} hole_filling;

/* Copies a point of the surface. */
static inline void
copy_point(const hole_filling *f, uint32_t point, double *to)
{
	memcpy(to, f->surface->points + 3 * (size_t) point, 3 * sizeof(double));
}

/* Returns the start and the end of a side of a triangle of the surface. */
static inline void
get_side_ends(const hole_filling *f, uint32_t side, uint32_t ends[2])
{
	ends[0] = f->surface->triangles[side / 3][side % 3];
	ends[1] = f->surface->triangles[side / 3][(side + 1) % 3];
}

/* Returns the number of triangles that have an edge. */
static inline uint32_t
count_triangles_at_edge(const hole_filling *f, uint32_t edge)
{
	return f->surface->sides->start[edge + 1] - f->surface->sides->start[edge];
}

/* ---- open edges ---- */

/* Lists the open edges, and their ends by point. */
static rb_status
list_open_edges(hole_filling *f)
{
	const rb_edged_surface *s = f->surface;
	uint32_t n = 0;

	for (uint32_t edge = 0; edge < s->nedges; edge++)
		f->nopen += count_triangles_at_edge(f, edge) % 2;
	RB_TRY(RB_ALLOCATE(f->ctx, f->open, (size_t) f->nopen + 1));
	RB_TRY(RB_ALLOCATE(f->ctx, f->ends, 2 * (size_t) f->nopen + 1));
	RB_TRY(RB_ALLOCATE(f->ctx, f->used, (size_t) f->nopen + 1));
	RB_TRY(RB_ALLOCATE(f->ctx, f->on_way, (size_t) s->npoints + 1));
	memset(f->used, 0, f->nopen);
	memset(f->on_way, 0xff, s->npoints * sizeof *f->on_way);
	for (uint32_t edge = 0; edge < s->nedges; edge++)
		if (count_triangles_at_edge(f, edge) % 2 == 1)
		{
			get_side_ends(f, s->sides->member[s->sides->start[edge]], f->ends + 2 * (size_t) n);
			f->open[n++] = edge;
		}
	return rb_buckets_build(f->ctx, &f->at, 2 * n, s->npoints, rb_bucket_in_array, f->ends);
}

/* Returns the end of an open edge that is not the given point. */
static inline uint32_t
get_other_end(const hole_filling *f, uint32_t i, uint32_t point)
{
	return f->ends[2 * (size_t) i] ^ f->ends[2 * (size_t) i + 1] ^ point;
}

/* ---- loops ---- */

/*
 * Returns the edge at the other end of a fan of triangles around a point, which starts at an edge of
 * one triangle; RB_NONE if it starts at an edge of several.
 */
static uint32_t
find_end_of_fan(const hole_filling *f, uint32_t edge, uint32_t point)
{
	const rb_edged_surface *s = f->surface;
	uint32_t triangle = s->sides->member[s->sides->start[edge]] / 3;

	if (count_triangles_at_edge(f, edge) != 1)
		return RB_NONE;
	for (;;)
	{
		const uint32_t *sides, *v = s->triangles[triangle];
		int k = 0;

		/* The two sides at the point are the one that starts there and the one before. */
		while (v[k] != point)
			k++;
		edge = s->edge_of[3 * triangle + k] == edge ? s->edge_of[3 * triangle + (k + 2) % 3]
													: s->edge_of[3 * triangle + k];
		if (count_triangles_at_edge(f, edge) != 2)
			return edge;
		sides = s->sides->member + s->sides->start[edge];
		triangle = sides[0] / 3 == triangle ? sides[1] / 3 : sides[0] / 3;
	}
}

/* Chooses the unused open edge at a point by which the walk continues after the edge `last`. */
static uint32_t
choose_next_edge(const hole_filling *f, uint32_t point, uint32_t last)
{
	uint32_t best = RB_NONE, fan = RB_NONE;
	int best_score = -1;

	if (last != RB_NONE && f->at.start[point + 1] - f->at.start[point] > 2)
		fan = find_end_of_fan(f, f->open[last], point);
	for (uint32_t i = f->at.start[point]; i < f->at.start[point + 1]; i++)
	{
		const uint32_t end = f->at.member[i], edge = end / 2;
		int score = (f->open[edge] == fan) == f->opposite ? 2 : 0;

		if (f->used[edge])
			continue;
		/* A loop passes all of its triangles in one direction if they are oriented alike. */
		if (last != RB_NONE && (end % 2 == 0) == (f->ends[2 * (size_t) last] != point))
			score++;
		if (score <= best_score)
			continue;
		best = edge;
		best_score = score;
	}
	return best;
}

/* Turns a loop so that triangles in its order agree with most of those around it. */
static void
turn_hole(hole_filling *f, const hole *h)
{
	uint32_t *corner = f->corners.at + h->start, *edge = f->edges.at + h->start;
	int64_t votes = 0;

	for (uint32_t i = 0; i < h->n; i++)
	{
		const rb_buckets *sides = f->surface->sides;
		const uint32_t e = f->open[edge[i]];

		for (uint32_t k = sides->start[e]; k < sides->start[e + 1]; k++)
		{
			uint32_t ends[2];

			get_side_ends(f, sides->member[k], ends);
			votes += ends[0] == corner[i] ? 1 : -1;
		}
	}
	if (votes <= 0)
		return;
	/* The corners 0, 1, ..., n - 1 become n - 1, ..., 1, 0, and the last edge remains the last. */
	for (uint32_t i = 0, k = h->n - 1; i < k; i++, k--)
	{
		const uint32_t c = corner[i];

		corner[i] = corner[k];
		corner[k] = c;
	}
	for (uint32_t i = 0, k = h->n - 2; i < k; i++, k--)
	{
		const uint32_t e = edge[i];

		edge[i] = edge[k];
		edge[k] = e;
	}
}

/* Makes the walk from position `from` a hole, and removes it from the walk. */
static rb_status
cut_off_hole(hole_filling *f, uint32_t from)
{
	const hole h = {.start = (uint32_t) f->corners.n,
					.n = (uint32_t) f->way_points.n - from,
					.result = RB_HOLE_BLOCKED};

	RB_TRY(rb_vec_reserve(f->ctx, &f->corners, h.n));
	RB_TRY(rb_vec_reserve(f->ctx, &f->edges, h.n));
	for (size_t i = from; i < f->way_points.n; i++)
	{
		f->corners.at[f->corners.n++] = f->way_points.at[i];
		f->edges.at[f->edges.n++] = f->way_edges.at[i];
		f->on_way[f->way_points.at[i]] = RB_NONE;
	}
	f->way_points.n = f->way_edges.n = from;
	turn_hole(f, &h);
	return rb_vec_append(f->ctx, &f->holes, h);
}

/* Divides the unused open edges into holes. */
static rb_status
find_holes(hole_filling *f)
{
	for (uint32_t i = 0; i < f->nopen; i++)
	{
		uint32_t point = f->ends[2 * (size_t) i], edge = f->used[i] ? RB_NONE : i;

		while (edge != RB_NONE)
		{
			f->on_way[point] = (uint32_t) f->way_points.n;
			f->used[edge] = true;
			RB_TRY(rb_vec_append(f->ctx, &f->way_points, point));
			RB_TRY(rb_vec_append(f->ctx, &f->way_edges, edge));
			point = get_other_end(f, edge, point);
			if (f->on_way[point] != RB_NONE)
				RB_TRY(cut_off_hole(f, f->on_way[point]));
			edge = f->way_edges.n == 0 ? RB_NONE : f->way_edges.at[f->way_edges.n - 1];
			if (edge != RB_NONE)
				edge = choose_next_edge(f, point, edge);
			if (rb_stop_due(f->ctx, f->steps++, CHECK_INTERVAL))
				return RB_STOPPED;
		}
	}
	return RB_OK;
}

/* ---- what new triangles must not meet ---- */

/* Computes the boxes of the triangles of the surface and of all holes. */
static rb_status
build_tree(hole_filling *f)
{
	const rb_edged_surface *s = f->surface;
	const uint32_t n = s->ntriangles;

	RB_TRY(rb_boxes_room(f->ctx, &f->tree, n + (uint32_t) f->holes.n));
	for (uint32_t t = 0; t < n; t++)
	{
		double corners[9], *box = f->tree.box + 6 * (size_t) t;

		for (int k = 0; k < 3; k++)
			copy_point(f, s->triangles[t][k], corners + 3 * k);
		rb_points_box(corners, 3, 3, box, box + 3);
		if (rb_stop_due(f->ctx, t, CHECK_INTERVAL))
			return RB_STOPPED;
	}
	for (uint32_t i = 0; i < f->holes.n; i++)
	{
		const hole *h = &f->holes.at[i];
		double *box = f->tree.box + 6 * (size_t) (n + i);

		copy_point(f, f->corners.at[h->start], box);
		copy_point(f, f->corners.at[h->start], box + 3);
		for (uint32_t k = 1; k < h->n; k++)
			for (int a = 0; a < 3; a++)
			{
				const double x =
					f->surface->points[3 * (size_t) f->corners.at[h->start + k] + (size_t) a];

				box[a] = x < box[a] ? x : box[a];
				box[3 + a] = x > box[3 + a] ? x : box[3 + a];
			}
	}
	return rb_boxes_order(f->ctx, &f->tree);
}

/* Returns RB_END if the tested triangle meets a triangle of these points, otherwise RB_OK. */
static rb_status
test_against_triangle(hole_filling *f, const uint32_t *points)
{
	double corners[9];

	for (int k = 0; k < 3; k++)
		copy_point(f, points[k], corners + 3 * k);
	return rb_leaf_self_intersect(&f->env, f->tested_corners, corners) != 0 ? RB_END : RB_OK;
}

/* Tests the tested triangle against an item of the tree. */
static rb_status
test_against_item(void *user, uint32_t item)
{
	hole_filling *f = user;
	const hole *h;

	if (item < f->surface->ntriangles)
		return test_against_triangle(f, f->surface->triangles[item]);
	h = &f->holes.at[item - f->surface->ntriangles];
	for (uint32_t i = 0; h->result == RB_HOLE_FILLED && i < h->n - 2; i++)
		RB_TRY(test_against_triangle(f, f->to->triangles.at[h->triangles + i].point));
	return RB_OK;
}

/* Returns ALLOWED if an edge (k is RB_NONE) or triangle of the hole meets nothing, by exact tests. */
static uint32_t
test_exactly(hole_filling *f, uint32_t i, uint32_t j, uint32_t k)
{
	static const uint32_t corners[3] = {0, 1, 2};
	double box[6];

	copy_point(f, f->corner[i], f->tested_corners);
	copy_point(f, f->corner[j], f->tested_corners + 3);
	copy_point(f, f->corner[k == RB_NONE ? j : k], f->tested_corners + 6);
	if (k != RB_NONE && rb_weld_is_collinear(&f->env, f->tested_corners, corners))
		return EXCLUDED;
	rb_points_box(f->tested_corners, 3, 3, box, box + 3);
	return rb_boxes_find(&f->tree, box, test_against_item, f) == RB_OK ? ALLOWED : EXCLUDED;
}

/* Sets *allowed if an edge (k is RB_NONE) or triangle may be part of a triangulation. */
static rb_status
test_once(hole_filling *f, uint32_t i, uint32_t j, uint32_t k, bool *allowed)
{
	uint32_t *result = rb_table_get(&f->tested, i, j, k);

	if (rb_stop_due(f->ctx, f->steps++, CHECK_INTERVAL))
		return RB_STOPPED;
	if (result == NULL)
		RB_TRY(
			rb_table_insert(f->ctx, &f->tested, i, j, k, test_exactly(f, i, j, k), &result, NULL));
	*allowed = *result != EXCLUDED && *result != MEETS_OTHERS + (uint32_t) f->criterion;
	return RB_OK;
}

/* ---- rounded numbers ---- */

/* Computes coordinates of the corners of the hole that neither overflow nor lose much. */
static rb_status
compute_local_corners(hole_filling *f)
{
	double largest = 0;
	int exponent = 0;

	RB_TRY(RB_RENEW(f->ctx, f->local, f->local_cap, 3 * (size_t) f->hole->n));
	for (int pass = 0; pass < 2; pass++)
	{
		/* First divide all by a power of two, then their differences from the first. */
		for (uint32_t i = f->hole->n; i-- > 0;)
			for (int a = 0; a < 3; a++)
			{
				double *x = &f->local[3 * (size_t) i + (size_t) a];

				if (pass == 0)
					largest =
						fmax(largest, fabs(f->surface->points[3 * (size_t) f->corner[i] + a]));
				else
					*x = ldexp(f->surface->points[3 * (size_t) f->corner[i] + a], -exponent) -
						 ldexp(f->surface->points[3 * (size_t) f->corner[0] + a], -exponent);
			}
		(void) frexp(largest, &exponent);
	}
	return RB_OK;
}

/* Computes the product (b - a) x (c - a) and returns its length. */
static double
cross_corners(const double *a, const double *b, const double *c, double to[3])
{
	double u[3], v[3];

	for (int k = 0; k < 3; k++)
	{
		u[k] = b[k] - a[k];
		v[k] = c[k] - a[k];
	}
	to[0] = u[1] * v[2] - u[2] * v[1];
	to[1] = u[2] * v[0] - u[0] * v[2];
	to[2] = u[0] * v[1] - u[1] * v[0];
	return sqrt(to[0] * to[0] + to[1] * to[1] + to[2] * to[2]);
}

/* Computes the unit normal of a triangle, or 0 if rounding leaves none; returns twice its area. */
static double
compute_normal(const double *a, const double *b, const double *c, double to[3])
{
	const double length = cross_corners(a, b, c, to);

	for (int k = 0; k < 3; k++)
		to[k] = length > 0 ? to[k] / length : 0;
	return length;
}

/* Returns the rank of the angle between neighboring triangles: larger if they bend more. */
static int32_t
rank_angle(const double *a, const double *b)
{
	return -(int32_t) floor(ANGLE_STEPS * (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) + 0.5);
}

/* Returns the squared distance of two corners of the hole. */
static double
square_distance(const hole_filling *f, uint32_t i, uint32_t j)
{
	const double *p = f->local + 3 * (size_t) i, *q = f->local + 3 * (size_t) j;
	const double d[3] = {p[0] - q[0], p[1] - q[1], p[2] - q[2]};

	return d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
}

/* ---- the best triangulation ---- */

/* Returns the best triangulation of the corners i to j. */
static inline patch *
get_patch(const hole_filling *f, uint32_t i, uint32_t j)
{
	return &f->patches[(size_t) j * (j - 1) / 2 + i];
}

/* Describes the triangle of the surface at edge i of the hole like a patch without new triangles. */
static void
describe_edge_of_hole(const hole_filling *f, uint32_t i, patch *to)
{
	const rb_edged_surface *s = f->surface;
	const uint32_t a = f->corner[i], b = f->corner[(i + 1) % f->hole->n];
	const uint32_t side =
		s->sides->member[s->sides->start[f->open[f->edges.at[f->hole->start + i]]]];
	double p[3], q[3], c[3];
	int exponent = 0;

	*to = (patch){.apex = i, .angle = -ANGLE_STEPS};
	/* The new triangle has the edge from a to b, so its neighbor has it from b to a. */
	copy_point(f, b, p);
	copy_point(f, a, q);
	copy_point(f, s->triangles[side / 3][(side + 2) % 3], c);
	for (int k = 0; k < 3; k++)
	{
		int e;

		(void) frexp(fmax(fabs(p[k]), fmax(fabs(q[k]), fabs(c[k]))), &e);
		exponent = k == 0 || e > exponent ? e : exponent;
	}
	for (int k = 0; k < 3; k++)
	{
		p[k] = ldexp(p[k], -exponent);
		q[k] = ldexp(q[k], -exponent);
		c[k] = ldexp(c[k], -exponent);
	}
	(void) compute_normal(p, q, c, to->normal);
}

/* Computes the cost of the triangle (i, m, j) with the best triangulations beside it. */
static cost
compute_cost(const hole_filling *f, uint32_t i, uint32_t m, uint32_t j, const patch *closing)
{
	const patch *a = get_patch(f, i, m), *b = get_patch(f, m, j);
	const double *p = f->local + 3 * (size_t) i, *q = f->local + 3 * (size_t) m,
				 *r = f->local + 3 * (size_t) j;
	cost c = {
		.sum = a->sum + b->sum, .shared = a->shared + b->shared, .angle = -ANGLE_STEPS, .apex = m};
	double normal[3];
	const double area = compute_normal(p, q, r, normal);

	if (f->criterion == BY_AREA)
	{
		c.sum += area;
		return c;
	}
	c.angle = a->angle > b->angle ? a->angle : b->angle;
	for (int k = 0; k < (closing != NULL ? 3 : 2); k++)
	{
		const int32_t rank = rank_angle(normal, k == 0   ? a->normal
												: k == 1 ? b->normal
														 : closing->normal);

		c.angle = rank > c.angle ? rank : c.angle;
	}
	return c;
}

/* Orders costs, and equal ones by corner. */
static int
compare_costs(const void *a, const void *b, const void *arg)
{
	const cost *x = a, *y = b;

	(void) arg;
	if (x->shared != y->shared)
		return x->shared < y->shared ? -1 : 1;
	if (x->angle != y->angle)
		return x->angle < y->angle ? -1 : 1;
	if (x->sum != y->sum)
		return x->sum < y->sum ? -1 : 1;
	return x->apex < y->apex ? -1 : x->apex > y->apex;
}

/* Lists the costs of triangles at the edge from j to i, the lowest first; the others are not sorted. */
static rb_status
list_costs(hole_filling *f, uint32_t i, uint32_t j, const patch *closing, uint32_t *n)
{
	*n = 0;
	for (uint32_t m = i + 1; m < j; m++)
	{
		cost c;

		if (rb_stop_due(f->ctx, f->steps++, CHECK_INTERVAL))
			return RB_STOPPED;
		if (get_patch(f, i, m)->apex == RB_NONE || get_patch(f, m, j)->apex == RB_NONE)
			continue;
		c = compute_cost(f, i, m, j, closing);
		f->costs[*n] = c;
		if (*n > 0 && compare_costs(&c, &f->costs[0], NULL) < 0)
		{
			f->costs[*n] = f->costs[0];
			f->costs[0] = c;
		}
		++*n;
	}
	return RB_OK;
}

/*
 * Finds the best triangulation of the corners i to j; `closing` describes the triangle beyond the edge
 * from j to i if that is an edge of the hole.
 */
static rb_status
find_best_patch(hole_filling *f, uint32_t i, uint32_t j, const patch *closing)
{
	patch *to = get_patch(f, i, j);
	bool allowed = true;
	uint32_t n;

	*to = (patch){.apex = RB_NONE};
	if (closing == NULL)
		RB_TRY(test_once(f, i, j, RB_NONE, &allowed));
	if (!allowed)
		return RB_OK;
	RB_TRY(list_costs(f, i, j, closing, &n));
	for (uint32_t k = 0; k < n; k++)
	{
		const cost *c = &f->costs[k];

		if (k == 1)
			RB_TRY(rb_sort(f->ctx, f->costs, n, sizeof *f->costs, compare_costs, NULL));
		RB_TRY(test_once(f, i, c->apex, j, &allowed));
		if (!allowed)
			continue;
		to->apex = c->apex;
		to->shared = c->shared;
		to->angle = c->angle;
		to->sum = c->sum;
		if (closing == NULL && f->criterion == BY_ANGLE)
			to->sum += square_distance(f, i, j);
		if (closing == NULL && rb_table_get(&f->known, f->corner[i], f->corner[j], RB_NONE) != NULL)
			to->shared++;
		(void) compute_normal(f->local + 3 * (size_t) i, f->local + 3 * (size_t) c->apex,
							  f->local + 3 * (size_t) j, to->normal);
		break;
	}
	return RB_OK;
}

/* Finds the best triangulation of the hole, and writes it to f->found; *any is false if there is none. */
static rb_status
triangulate_hole(hole_filling *f, bool *any)
{
	const uint32_t n = f->hole->n;
	uint32_t depth = 0, count = 0;
	patch closing;

	for (uint32_t i = 0; i + 1 < n; i++)
		describe_edge_of_hole(f, i, get_patch(f, i, i + 1));
	describe_edge_of_hole(f, n - 1, &closing);
	for (uint32_t width = 2; width < n; width++)
		for (uint32_t i = 0; i + width < n; i++)
			RB_TRY(find_best_patch(f, i, i + width, width == n - 1 ? &closing : NULL));
	*any = get_patch(f, 0, n - 1)->apex != RB_NONE;
	if (!*any)
		return RB_OK;
	f->stack[depth++] = 0;
	f->stack[depth++] = n - 1;
	while (depth > 0)
	{
		const uint32_t j = f->stack[--depth], i = f->stack[--depth];
		const uint32_t m = get_patch(f, i, j)->apex;

		if (j == i + 1)
			continue;
		f->found[count][0] = i;
		f->found[count][1] = m;
		f->found[count++][2] = j;
		f->stack[depth++] = i;
		f->stack[depth++] = m;
		f->stack[depth++] = m;
		f->stack[depth++] = j;
	}
	return RB_OK;
}

/* ---- triangles of one hole that meet ---- */

/* Copies the corners of a triangle of a triangulation. */
static void
copy_found_corners(const hole_filling *f, uint32_t number, double *to)
{
	for (int k = 0; k < 3; k++)
		copy_point(f, f->corner[f->found[number][k]], to + 3 * k);
}

/* Counts a pair of triangles of a triangulation if they meet. */
static rb_status
count_pair_that_meets(void *user, uint32_t number)
{
	hole_filling *f = user;
	double corners[9];

	if (number <= f->tested_number)
		return RB_OK;
	copy_found_corners(f, number, corners);
	if (rb_leaf_self_intersect(&f->env, f->tested_corners, corners) != 0)
	{
		f->met[number]++;
		f->met[f->tested_number]++;
	}
	return rb_stop_due(f->ctx, f->steps++, CHECK_INTERVAL) ? RB_STOPPED : RB_OK;
}

/* Finds the triangle of the triangulation that meets most others, or RB_NONE. */
static rb_status
find_worst_triangle(hole_filling *f, uint32_t *worst)
{
	const uint32_t n = f->hole->n - 2;

	*worst = RB_NONE;
	if (n < 2)
		return RB_OK;
	memset(f->met, 0, n * sizeof *f->met);
	RB_TRY(rb_boxes_room(f->ctx, &f->found_tree, n));
	for (uint32_t i = 0; i < n; i++)
	{
		double corners[9], *box = f->found_tree.box + 6 * (size_t) i;

		copy_found_corners(f, i, corners);
		rb_points_box(corners, 3, 3, box, box + 3);
	}
	RB_TRY(rb_boxes_order(f->ctx, &f->found_tree));
	for (uint32_t i = 0; i < n; i++)
	{
		double box[6];

		f->tested_number = i;
		copy_found_corners(f, i, f->tested_corners);
		rb_points_box(f->tested_corners, 3, 3, box, box + 3);
		RB_TRY(rb_boxes_find(&f->found_tree, box, count_pair_that_meets, f));
	}
	for (uint32_t i = 0; i < n; i++)
		if (f->met[i] > (*worst == RB_NONE ? 0 : f->met[*worst]))
			*worst = i;
	return RB_OK;
}

/* ---- holes ---- */

/* Adds the triangulation to the result. */
static rb_status
add_found_triangles(hole_filling *f, hole *h)
{
	h->triangles = (uint32_t) f->to->triangles.n;
	h->result = RB_HOLE_FILLED;
	RB_TRY(rb_vec_reserve(f->ctx, &f->to->triangles, h->n - 2));
	for (uint32_t i = 0; i < h->n - 2; i++)
	{
		rb_new_triangle t;

		for (int k = 0; k < 3; k++)
			t.point[k] = f->corner[f->found[i][k]];
		for (int k = 0; k < 3; k++)
			RB_TRY(rb_table_insert(f->ctx, &f->known, t.point[k], t.point[(k + 1) % 3], RB_NONE, 0,
								   NULL, NULL));
		f->to->triangles.at[f->to->triangles.n++] = t;
	}
	return RB_OK;
}

/* Returns true if all corners of the hole are on one line. */
static bool
is_flat_hole(hole_filling *f)
{
	for (uint32_t i = 2; i < f->hole->n; i++)
	{
		const uint32_t t[3] = {f->corner[0], f->corner[1], f->corner[i]};

		if (!rb_weld_is_collinear(&f->env, f->surface->points, t))
			return false;
	}
	return true;
}

/* Fills a hole if it has a triangulation without meetings. */
static rb_status
fill_hole(hole_filling *f, hole *h)
{
	const size_t n = h->n;

	f->hole = h;
	f->corner = f->corners.at + h->start;
	h->result = h->n > f->most ? RB_HOLE_LARGE : is_flat_hole(f) ? RB_HOLE_FLAT : RB_HOLE_BLOCKED;
	if (h->result != RB_HOLE_BLOCKED)
		return RB_OK;
	rb_table_empty(&f->tested);
	RB_TRY(compute_local_corners(f));
	RB_TRY(RB_RENEW(f->ctx, f->patches, f->patches_cap, n * (n - 1) / 2));
	RB_TRY(RB_RENEW(f->ctx, f->costs, f->costs_cap, n));
	RB_TRY(RB_RENEW(f->ctx, f->found, f->found_cap, n));
	RB_TRY(RB_RENEW(f->ctx, f->stack, f->stack_cap, 2 * n));
	RB_TRY(RB_RENEW(f->ctx, f->met, f->met_cap, n));
	for (f->criterion = 0; f->criterion < CRITERIA; f->criterion++)
		for (int i = 0; i < TRIES; i++)
		{
			uint32_t worst;
			const uint32_t *t;
			bool any;

			RB_TRY(triangulate_hole(f, &any));
			if (!any)
				break;
			RB_TRY(find_worst_triangle(f, &worst));
			if (worst == RB_NONE)
				return add_found_triangles(f, h);
			t = f->found[worst];
			*rb_table_get(&f->tested, t[0], t[1], t[2]) = MEETS_OTHERS + (uint32_t) f->criterion;
		}
	return RB_OK;
}

/* Marks the points of holes, and lists the edges of the surface between them. */
static rb_status
list_known_edges(hole_filling *f)
{
	const rb_edged_surface *s = f->surface;

	for (uint32_t edge = 0; edge < s->nedges; edge++)
	{
		uint32_t ends[2];

		get_side_ends(f, s->sides->member[s->sides->start[edge]], ends);
		if (f->at.start[ends[0] + 1] > f->at.start[ends[0]] &&
			f->at.start[ends[1] + 1] > f->at.start[ends[1]])
			RB_TRY(rb_table_insert(f->ctx, &f->known, ends[0], ends[1], RB_NONE, 0, NULL, NULL));
		if (rb_stop_due(f->ctx, edge, CHECK_INTERVAL))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* Returns true if more than two open edges meet at a corner of a hole. */
static bool
can_be_divided_otherwise(const hole_filling *f, const hole *h)
{
	for (uint32_t i = 0; i < h->n; i++)
	{
		const uint32_t point = f->corners.at[h->start + i];

		if (f->at.start[point + 1] - f->at.start[point] > 2)
			return true;
	}
	return false;
}

/* Fills the holes that the unused open edges form. */
static rb_status
fill_unused_edges(hole_filling *f)
{
	const size_t first = f->holes.n;

	RB_TRY(find_holes(f));
	if (f->holes.n == first)
		return RB_OK;
	RB_TRY(build_tree(f));
	for (size_t i = first; i < f->holes.n; i++)
		RB_TRY(fill_hole(f, &f->holes.at[i]));
	return RB_OK;
}

/* Fills all holes. */
static rb_status
fill_all_holes(hole_filling *f)
{
	size_t n;

	RB_TRY(list_open_edges(f));
	RB_TRY(list_known_edges(f));
	RB_TRY(fill_unused_edges(f));
	f->opposite = true;
	n = f->holes.n;
	for (size_t i = 0; i < n; i++)
	{
		hole *h = &f->holes.at[i];

		if (h->result != RB_HOLE_BLOCKED || !can_be_divided_otherwise(f, h))
			continue;
		h->result = RB_HOLE_DIVIDED;
		for (uint32_t k = 0; k < h->n; k++)
			f->used[f->edges.at[h->start + k]] = false;
	}
	return fill_unused_edges(f);
}

/* Copies the results of the holes to their edges. */
static rb_status
report_holes(hole_filling *f)
{
	RB_TRY(RB_ALLOCATE(f->ctx, f->to->result, (size_t) f->surface->nedges + 1));
	memset(f->to->result, RB_HOLE_FILLED, f->surface->nedges);
	for (size_t i = 0; i < f->holes.n; i++)
	{
		const hole *h = &f->holes.at[i];

		f->to->holes[h->result]++;
		for (uint32_t k = 0; k < h->n && h->result != RB_HOLE_DIVIDED; k++)
			f->to->result[f->open[f->edges.at[h->start + k]]] = (uint8_t) h->result;
	}
	return RB_OK;
}

rb_status
rb_holes_fill(rb_context *ctx, const rb_edged_surface *surface, uint32_t most, rb_filled_holes *to)
{
	hole_filling f = {.ctx = ctx,
					  .surface = surface,
					  .most = most,
					  .to = to,
					  .env = {.filters = ctx->filters, .exact = true}};
	rb_memory *memory = ctx->memory;
	rb_status status;

	memset(to, 0, sizeof *to);
	status = fill_all_holes(&f);
	if (status == RB_OK)
		status = report_holes(&f);
	RB_FREE(memory, f.open);
	RB_FREE(memory, f.ends);
	RB_FREE(memory, f.used);
	RB_FREE(memory, f.on_way);
	RB_FREE(memory, f.local);
	RB_FREE(memory, f.patches);
	RB_FREE(memory, f.costs);
	RB_FREE(memory, f.found);
	RB_FREE(memory, f.stack);
	RB_FREE(memory, f.met);
	rb_buckets_free(memory, &f.at);
	rb_vec_free(memory, &f.way_points);
	rb_vec_free(memory, &f.way_edges);
	rb_vec_free(memory, &f.holes);
	rb_vec_free(memory, &f.corners);
	rb_vec_free(memory, &f.edges);
	rb_table_free(memory, &f.known);
	rb_table_free(memory, &f.tested);
	rb_boxes_free(memory, &f.tree);
	rb_boxes_free(memory, &f.found_tree);
	if (status != RB_OK)
		rb_filled_holes_free(memory, to);
	return status;
}

void
rb_filled_holes_free(rb_memory *memory, rb_filled_holes *to)
{
	rb_vec_free(memory, &to->triangles);
	RB_FREE(memory, to->result);
	memset(to, 0, sizeof *to);
}
