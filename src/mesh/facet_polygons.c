/*
 * facet_polygons.c
 *	  Finds, for each face of a mesh, the polygon of its facet in which the face lies.
 *
 * A facet of several polygons is planar, so all tests are made in the projection along the axis
 * nearest to its normal, in which the triangles of its polygons do not overlap. The centroid of a
 * face, multiplied by three to stay exact, is on the inner side of all edges of one triangle, or on
 * an edge of two. A box tree finds the candidate triangles. Steiner points are rounded, so a
 * centroid may lie outside all triangles; then the nearest one is taken.
 */
#include "core/base/base.h"
#include "core/base/bucket.h"
#include "core/base/sort.h"
#include "core/intersection/intersection.h"
#include "core/exact/bignum.h"
#include "core/exact/orient.h"
#include "mesh/hash_table.h"
#include "mesh/weld.h"

/* Iterations between two polls for a stop */
#define RB_CHECK_INTERVAL 1024

/*
 * Error of a sum of three differences times a difference, minus another such product. Each term is
 * rounded at most 7 times: a difference, two sums of these, another difference, the product, the
 * last difference, and the addition to the bound. Hence 8 roundings times the sum of the terms'
 * magnitudes bound the error.
 */
#define ERROR_BOUND (8 * 0x1p-53)

typedef struct naming
{
	rb_context *ctx;
	const rb_polygons *in;
	rb_exact_env env;
	rb_buckets triangles; /* triangles of each facet */
	uint8_t *several;     /* for each facet, whether it has more than one polygon */
	/* The current facet */
	rb_boxes boxes;
	uint32_t facet; /* the current facet, or RB_NONE before the first one */
	int axis;       /* axis of projection */
	/* The point to locate */
	const double *point[3];
	int npoints; /* number of entries of `point`: 1, or 3 to locate their centroid */
	uint32_t best;
} naming;

/* Returns the coordinates of corner k of a triangle of the PLC's facets. */
static inline const double *
get_facet_triangle_corner(const naming *w, uint32_t triangle, int k)
{
	return w->in->points + 3 * (size_t) w->in->triangles[triangle][k];
}

/* ---- facets ---- */

/* Lists the triangles of each facet, and marks facets with several polygons. */
static rb_status
list_triangles(naming *w)
{
	const rb_polygons *in = w->in;

	RB_TRY(rb_buckets_build(w->ctx, &w->triangles, in->ntriangles, in->nfacets, rb_bucket_in_array,
							in->facet_of));
	RB_TRY(RB_ALLOCATE(w->ctx, w->several, (size_t) in->nfacets + 1));
	for (uint32_t f = 0; f < in->nfacets; f++)
	{
		w->several[f] = 0;
		for (uint32_t i = w->triangles.start[f] + 1;
			 i < w->triangles.start[f + 1] && !w->several[f]; i++)
			w->several[f] = in->polygon_of[w->triangles.member[i]] !=
							in->polygon_of[w->triangles.member[i - 1]];
	}
	return RB_OK;
}

/* Returns the orientation of a triangle seen along the given axis. */
static int
orient_triangle(naming *w, uint32_t triangle, int axis)
{
	const int x = (axis + 1) % 3, y = (axis + 2) % 3;
	const double *a = get_facet_triangle_corner(w, triangle, 0),
				 *b = get_facet_triangle_corner(w, triangle, 1),
				 *c = get_facet_triangle_corner(w, triangle, 2);

	return rb_orient2d_at(&w->env, a[x], a[y], b[x], b[y], c[x], c[y]);
}

/*
 * Chooses, among the axes along which a triangle is not degenerate, the one nearest to its normal.
 */
static void
choose_triangle_axis(naming *w, uint32_t triangle)
{
	const double *a = get_facet_triangle_corner(w, triangle, 0),
				 *b = get_facet_triangle_corner(w, triangle, 1),
				 *c = get_facet_triangle_corner(w, triangle, 2);
	double longest = -1;

	w->axis = 0;
	for (int k = 0; k < 3; k++)
	{
		const int x = (k + 1) % 3, y = (k + 2) % 3;
		const double normal = fabs((b[x] - a[x]) * (c[y] - a[y]) - (b[y] - a[y]) * (c[x] - a[x]));

		if (orient_triangle(w, triangle, k) != 0 && !(normal <= longest))
		{
			longest = normal;
			w->axis = k;
		}
	}
}

/* Makes a facet the current one and builds the box tree of its triangles. */
static rb_status
enter_facet(naming *w, uint32_t facet)
{
	const uint32_t n = w->triangles.start[facet + 1] - w->triangles.start[facet];

	if (facet == w->facet)
		return RB_OK;
	w->facet = RB_NONE;
	RB_TRY(rb_boxes_room(w->ctx, &w->boxes, n));
	choose_triangle_axis(w, w->triangles.member[w->triangles.start[facet]]);
	for (uint32_t i = 0; i < n; i++)
	{
		const uint32_t t = w->triangles.member[w->triangles.start[facet] + i];
		double *box = w->boxes.box + 6 * (size_t) i;

		for (int k = 0; k < 3; k++)
		{
			const double a = get_facet_triangle_corner(w, t, 0)[k],
						 b = get_facet_triangle_corner(w, t, 1)[k],
						 c = get_facet_triangle_corner(w, t, 2)[k];

			box[k] = k == w->axis ? 0 : fmin(a, fmin(b, c));
			box[3 + k] = k == w->axis ? 0 : fmax(a, fmax(b, c));
		}
	}
	RB_TRY(rb_boxes_order(w->ctx, &w->boxes));
	w->facet = facet;
	return RB_OK;
}

/* ---- point location ---- */

/*
 * Returns exactly on which side of the line from p to q the point or centroid lies, on axes x and
 * y.
 */
static int
side_of_line(const naming *w, const double *p, const double *q, int x, int y)
{
	const double ux = q[x] - p[x], uy = q[y] - p[y];
	double wx = 0, wy = 0, size_x = 0, size_y = 0, det, bound;
	rb_number u, v, s, t, d;

	for (int i = 0; i < w->npoints; i++)
	{
		const double dx = w->point[i][x] - p[x], dy = w->point[i][y] - p[y];

		wx += dx;
		wy += dy;
		size_x += fabs(dx);
		size_y += fabs(dy);
	}
	det = ux * wy - uy * wx;
	bound = ERROR_BOUND * (fabs(ux) * size_y + fabs(uy) * size_x + RB_BOUND_FLOOR);
	if (det > bound)
		return 1;
	if (-det > bound)
		return -1;
	rb_number_difference(&u, q[x], p[x]);
	rb_number_difference(&v, q[y], p[y]);
	rb_number_of(&s, 0);
	rb_number_of(&t, 0);
	for (int i = 0; i < w->npoints; i++)
	{
		rb_number_difference(&d, w->point[i][x], p[x]);
		rb_number_add(&s, &s, &d);
		rb_number_difference(&d, w->point[i][y], p[y]);
		rb_number_add(&t, &t, &d);
	}
	rb_number_det2(&d, &u, &v, &s, &t);
	return d.sign;
}

/* Returns true if the current point lies in a triangle. */
static bool
lies_in(naming *w, uint32_t triangle)
{
	const int x = (w->axis + 1) % 3, y = (w->axis + 2) % 3;
	const int turn = orient_triangle(w, triangle, w->axis);

	for (int k = 0; k < 3 && turn != 0; k++)
		if (turn * side_of_line(w, get_facet_triangle_corner(w, triangle, k),
								get_facet_triangle_corner(w, triangle, (k + 1) % 3), x, y) <
			0)
			return false;
	return turn != 0;
}

/*
 * Takes the polygon of a triangle if it has the lowest number among those that contain the point.
 */
static rb_status
try_triangle(void *user, uint32_t item)
{
	naming *w = user;
	const uint32_t t = w->triangles.member[w->triangles.start[w->facet] + item];
	const uint32_t polygon = w->in->polygon_of[t];

	if (polygon < w->best && lies_in(w, t))
		w->best = polygon;
	return RB_OK;
}

/* Returns the scaled squared distance of p from a segment, on axes x and y. */
static double
distance2_to_segment(const double *p, const double *a, const double *b, int x, int y, double scale)
{
	const double ux = (b[x] - a[x]) * scale, uy = (b[y] - a[y]) * scale;
	const double wx = (p[x] - a[x]) * scale, wy = (p[y] - a[y]) * scale;
	const double length = ux * ux + uy * uy;
	const double t = length > 0 ? fmin(fmax((ux * wx + uy * wy) / length, 0), 1) : 0;

	return (wx - t * ux) * (wx - t * ux) + (wy - t * uy) * (wy - t * uy);
}

/* Returns the polygon of the facet's triangle nearest to p. */
static uint32_t
nearest_polygon(const naming *w, const double *p)
{
	const int x = (w->axis + 1) % 3, y = (w->axis + 2) % 3;
	const double *all = w->boxes.box + 6 * (size_t) w->boxes.first[w->boxes.levels - 1];
	const double scale =
		1 / fmax(fmax(all[3 + x] / 2 - all[x] / 2, all[3 + y] / 2 - all[y] / 2), DBL_MIN);
	double nearest = INFINITY;
	uint32_t best = RB_NONE;

	for (uint32_t i = w->triangles.start[w->facet]; i < w->triangles.start[w->facet + 1]; i++)
	{
		const uint32_t t = w->triangles.member[i], polygon = w->in->polygon_of[t];

		for (int k = 0; k < 3; k++)
		{
			const double far =
				distance2_to_segment(p, get_facet_triangle_corner(w, t, k),
									 get_facet_triangle_corner(w, t, (k + 1) % 3), x, y, scale);

			if (best == RB_NONE || far < nearest || (far == nearest && polygon < best))
			{
				nearest = far;
				best = polygon;
			}
		}
	}
	return best;
}

/* Finds the polygon of a facet that contains the point, or the centroid of three points. */
static rb_status
find_polygon(naming *w, uint32_t facet, uint32_t *polygon)
{
	double middle[3], box[6];
	rb_status status;

	if (!w->several[facet])
	{
		*polygon = w->in->polygon_of[w->triangles.member[w->triangles.start[facet]]];
		return RB_OK;
	}
	RB_TRY(enter_facet(w, facet));
	for (int k = 0; k < 3; k++)
	{
		double size = 0;

		middle[k] = 0;
		for (int i = 0; i < w->npoints; i++)
		{
			middle[k] += w->point[i][k] / w->npoints;
			size = fmax(size, fabs(w->point[i][k]));
		}
		/*
		 * The sum of three thirds is rounded five times, each time by less than 2^-53 of the
		 * largest coordinate.
		 */
		box[k] = k == w->axis ? 0 : middle[k] - size * 0x1p-49 - DBL_MIN;
		box[3 + k] = k == w->axis ? 0 : middle[k] + size * 0x1p-49 + DBL_MIN;
	}
	w->best = RB_NONE;
	status = rb_boxes_find(&w->boxes, box, try_triangle, w);
	*polygon = w->best != RB_NONE || status != RB_OK ? w->best : nearest_polygon(w, middle);
	return status;
}

/* ---- mesh ---- */

/* Lists the points on facets, ordered by facet. */
static rb_status
list_points(const naming *w, const rb_tets *tets, uint64_t **list, uint32_t *n)
{
	*n = 0;
	for (uint32_t v = 0; v < tets->npoints; v++)
		*n += tets->kind[v] == RB_VERTEX_ON_FACET && tets->parent[v] < w->in->nfacets;
	if (*n > 0)
		RB_TRY(rb_array(w->ctx, (void **) list, *n, sizeof **list));
	*n = 0;
	for (uint32_t v = 0; v < tets->npoints; v++)
		if (tets->kind[v] == RB_VERTEX_ON_FACET && tets->parent[v] < w->in->nfacets)
			(*list)[(*n)++] = (uint64_t) tets->parent[v] << 32 | v;
	return rb_sort_words(w->ctx, *list, *n);
}

/* Labels the points on facets with the polygons that contain them. */
static rb_status
label_points(naming *w, rb_tets *tets)
{
	uint64_t *list = NULL;
	uint32_t n;
	rb_status status = list_points(w, tets, &list, &n);

	for (uint32_t i = 0; i < n && status == RB_OK; i++)
	{
		const uint32_t v = (uint32_t) list[i];

		w->npoints = 1;
		w->point[0] = tets->points + 3 * (size_t) v;
		status = find_polygon(w, (uint32_t) (list[i] >> 32), &tets->parent[v]);
		if (rb_stop_due(w->ctx, i, RB_CHECK_INTERVAL))
			status = RB_STOPPED;
	}
	RB_FREE(w->ctx->memory, list);
	return status;
}

/* Sets the polygon of each face; faces are ordered by facet. */
static rb_status
label_faces(naming *w, rb_tets *tets)
{
	for (uint32_t i = 0; i < tets->nfaces; i++)
	{
		w->npoints = 3;
		for (int k = 0; k < 3; k++)
			w->point[k] = tets->points + 3 * (size_t) tets->faces[i][k];
		RB_TRY(find_polygon(w, tets->face_facet[i], &tets->face_facet[i]));
		if (rb_stop_due(w->ctx, i, RB_CHECK_INTERVAL))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* Sets the polygon of each segment, which is an edge of a triangle of its facet. */
static rb_status
label_segments(naming *w, rb_tets *tets)
{
	const rb_polygons *in = w->in;
	rb_table edges = {0};
	rb_status status = RB_OK;

	if (in->npoints > RB_NONE - 1 - in->nfacets)
		return rb_fail(w->ctx, RB_TOO_MANY_OBJECTS, (uint64_t) in->npoints + in->nfacets, RB_NONE,
					   NULL);
	for (uint32_t i = 0; i < in->ntriangles && status == RB_OK; i++)
	{
		const uint32_t t = w->triangles.member[i], *v = in->triangles[t], facet = in->facet_of[t];

		for (int k = 0; k < 3 && status == RB_OK && w->several[facet]; k++)
			status = rb_table_insert(w->ctx, &edges, v[k], v[(k + 1) % 3], in->npoints + facet,
									 in->polygon_of[t], NULL, NULL);
		if (rb_stop_due(w->ctx, i, RB_CHECK_INTERVAL))
			status = RB_STOPPED;
	}
	for (uint32_t s = 0; s < tets->nsegments && status == RB_OK; s++)
	{
		uint32_t *facet = &tets->segment_facet[s];
		const uint32_t *polygon;

		if (*facet >= in->nfacets)
			continue;
		polygon = w->several[*facet] ? rb_table_get(&edges, tets->segments[s][0],
													tets->segments[s][1], in->npoints + *facet)
									 : NULL;
		*facet = polygon != NULL ? *polygon
								 : in->polygon_of[w->triangles.member[w->triangles.start[*facet]]];
	}
	rb_table_free(w->ctx->memory, &edges);
	return status;
}

rb_status
rb_label_polygons(rb_context *ctx, const rb_polygons *polygons, rb_tets *tets)
{
	naming w = {.ctx = ctx,
				.in = polygons,
				.env = {.filters = ctx->filters, .exact = true},
				.facet = RB_NONE};
	rb_status status;

	if (polygons->polygon_of == NULL)
		return RB_OK;
	status = list_triangles(&w);
	if (status == RB_OK)
		status = label_points(&w, tets);
	if (status == RB_OK)
		status = label_faces(&w, tets);
	if (status == RB_OK)
		status = label_segments(&w, tets);
	rb_boxes_free(ctx->memory, &w.boxes);
	rb_buckets_free(ctx->memory, &w.triangles);
	RB_FREE(ctx->memory, w.several);
	return status;
}

rb_polygons
rb_weld_polygons(const rb_welded *welded)
{
	return (rb_polygons){.npoints = welded->plc.npoints,
						 .ntriangles = welded->plc.ntriangles,
						 .nfacets = welded->plc.nfacets,
						 .points = welded->plc.points,
						 .triangles = welded->plc.triangles,
						 .facet_of = welded->plc.facet_of,
						 .polygon_of = welded->polygon_of};
}
