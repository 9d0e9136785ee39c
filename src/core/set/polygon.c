/*
 * polygon.c
 *	  Collects the rings of a face, chooses its projection plane, and triangulates small convex
 *	  faces directly.
 *
 * The plane is spanned by two coordinate axes. The component of a ring's Newell normal along an
 * axis is twice the area of the ring seen along that axis (I. Sutherland, R. Sproull and R.
 * Schumacker: A Characterization of Ten Hidden-Surface Algorithms, 1974). The axis with the largest
 * component is dropped. The components are compared in doubles with an error bound and, if that
 * does not decide, by exact sums, so the choice depends neither on the first corner nor on the
 * direction of the ring.
 *
 * Most faces are convex and have few corners. In a convex polygon, the third corner of the Delaunay
 * triangle on an edge is found by a tournament: the circles through the edge and each other corner
 * are nested, and the corner with the empty circle wins. A quadrangle takes four orientation tests
 * and one in-circle test.
 */
#include "core/base/sort.h"
#include "core/set/face.h"
#include "core/exact/expansion.h"
#include "core/exact/orient.h"
#include "core/exact/interval.h"
#include "core/exact/bignum.h"

/* ---- flatness within a tolerance ---- */

/*
 * Decides exactly whether each corner of a face lies within a tolerance of its plane.
 *
 * The plane of a face contains the mean m of the n corners of its outer ring and has the ring's
 * Newell normal N. A corner p is too far from it if
 *
 *        |N . (p - m)| / |N|  >  t
 *
 * Multiplied by n |N| and squared, this inequality has no root and no quotient:
 *
 *        d(p)^2  >  n^2 t^2 N^2      with d(p) = n N . (p - o) - sum over the ring of N . (q - o)
 *
 * for any point o. The first corner is used, so that differences stay small at UTM coordinates. t
 * is either the number that the caller gave or a fraction of the longest side of the bounding box
 * of the face, which is a difference of two coordinates. Both sides are polynomials of degree 6 in
 * the stored numbers.
 *
 * Interval arithmetic almost always decides. Exact numbers (bignum.h) decide the remaining cases
 * and find the farthest corner and its distance for the report.
 */

/* Bits that sums of RB_MAX_OBJECTS terms and products with n may add to a number of degree 6 */
#define COUNT_BITS 256
_Static_assert(RB_NUMBER_DEGREE(6, COUNT_BITS) + 2 <= RB_NUMBER_WORDS, "room for degree 6");

/* ---- interval arithmetic ---- */

typedef struct flatness_interval
{
	rb_interval normal[3];
	rb_interval sum;   /* N . (q - o), summed over the outer ring */
	rb_interval n;     /* number of corners of the outer ring */
	rb_interval limit; /* n^2 t^2 N^2 */
} flatness_interval;

/* Computes intervals of the offset of a corner from corner 0 of the face. */
static void
interval_offset_of_corner(const rb_polygon_face *f, uint32_t corner, rb_interval *v)
{
	for (int k = 0; k < 3; k++)
		v[k] = rb_interval_difference(f->corner[corner].at[k], f->corner[0].at[k]);
}

/* Returns the interval of the larger of two numbers. */
static rb_interval
interval_of_maximum(rb_interval a, rb_interval b)
{
	return (rb_interval){fmax(a.lo, b.lo), fmax(a.hi, b.hi)};
}

/* Stores the smallest and the largest coordinate of the face along an axis. */
static void
find_face_range(const rb_polygon_face *f, int axis, double *low, double *high)
{
	*low = *high = f->corner[0].at[axis];
	for (uint32_t i = 1; i < f->ncorners; i++)
	{
		*low = fmin(*low, f->corner[i].at[axis]);
		*high = fmax(*high, f->corner[i].at[axis]);
	}
}

/* Returns an interval that contains the tolerance of flatness. */
static rb_interval
interval_flatness_tolerance(const rb_polygon_face *f)
{
	rb_interval longest = rb_interval_of(0);

	if (f->b->face_tolerance >= 0)
		return rb_interval_of(f->b->face_tolerance);
	for (int k = 0; k < 3; k++)
	{
		double low, high;

		find_face_range(f, k, &low, &high);
		longest = interval_of_maximum(longest, rb_interval_difference(high, low));
	}
	return rb_interval_mul(longest, rb_interval_of(f->b->face_share));
}

/* Computes normal and mean of the outer ring as intervals. */
static void
prepare_interval_plane(rb_polygon_face *f, flatness_interval *s)
{
	rb_interval u[3], v[3], sum[3], product;
	uint32_t i = 0, n = 0;

	for (int k = 0; k < 3; k++)
		s->normal[k] = sum[k] = u[k] = rb_interval_of(0);
	do
	{
		i = f->corner[i].next;
		interval_offset_of_corner(f, i, v);
		for (int k = 0; k < 3; k++)
		{
			const int x = (k + 1) % 3, y = (k + 2) % 3;

			s->normal[k] = rb_interval_add(s->normal[k], rb_interval_det2(u[x], u[y], v[x], v[y]));
			sum[k] = rb_interval_add(sum[k], v[k]);
		}
		memcpy(u, v, sizeof u);
		n++;
	} while (i != 0 && !rb_face_stops(f, 1));
	s->n = rb_interval_of(n);
	s->sum = rb_interval_dot3(s->normal, sum);
	product = rb_interval_mul(s->n, interval_flatness_tolerance(f));
	s->limit =
		rb_interval_mul(rb_interval_mul(product, product), rb_interval_dot3(s->normal, s->normal));
}

/*
 * Returns 1 if the corner is too far from the plane, -1 if it is not, or 0 if intervals do not
 * decide.
 */
static int
decide_flatness_by_intervals(const rb_polygon_face *f, const flatness_interval *s, uint32_t corner)
{
	rb_interval v[3], d, square;

	interval_offset_of_corner(f, corner, v);
	d = rb_interval_sub(rb_interval_mul(s->n, rb_interval_dot3(s->normal, v)), s->sum);
	square = rb_interval_mul(d, d);
	return square.lo > s->limit.hi ? 1 : square.hi <= s->limit.lo ? -1 : 0;
}

/* ---- exact arithmetic ---- */

typedef struct flatness_exact
{
	rb_number normal[3];
	rb_number square; /* N^2 */
	rb_number sum;
	rb_number n;
	rb_number limit;
} flatness_exact;

/* Computes the exact offset of a corner from corner 0 of the face. */
static void
exact_offset_of_corner(const rb_polygon_face *f, uint32_t corner, rb_number *v)
{
	for (int k = 0; k < 3; k++)
		rb_number_difference(&v[k], f->corner[corner].at[k], f->corner[0].at[k]);
}

/* Computes the tolerance of flatness exactly. */
static void
exact_flatness_tolerance(const rb_polygon_face *f, rb_number *t)
{
	rb_number longest, length, share;

	if (f->b->face_tolerance >= 0)
	{
		rb_number_of(t, f->b->face_tolerance);
		return;
	}
	rb_number_of(&longest, 0);
	for (int k = 0; k < 3; k++)
	{
		double low, high;

		find_face_range(f, k, &low, &high);
		rb_number_difference(&length, high, low);
		if (rb_number_compare(&length, &longest) > 0)
			rb_number_copy(&longest, &length);
	}
	rb_number_of(&share, f->b->face_share);
	rb_number_mul(t, &longest, &share);
}

/* Computes normal and mean of the outer ring exactly. */
static void
prepare_exact_plane(rb_polygon_face *f, flatness_exact *s)
{
	rb_number u[3], v[3], sum[3], product;
	uint32_t i = 0, n = 0;

	for (int k = 0; k < 3; k++)
	{
		rb_number_of(&s->normal[k], 0);
		rb_number_of(&sum[k], 0);
		rb_number_of(&u[k], 0);
	}
	do
	{
		i = f->corner[i].next;
		exact_offset_of_corner(f, i, v);
		for (int k = 0; k < 3; k++)
		{
			const int x = (k + 1) % 3, y = (k + 2) % 3;

			rb_number_det2(&product, &u[x], &u[y], &v[x], &v[y]);
			rb_number_add(&s->normal[k], &s->normal[k], &product);
			rb_number_add(&sum[k], &sum[k], &v[k]);
		}
		for (int k = 0; k < 3; k++)
			rb_number_copy(&u[k], &v[k]);
		n++;
	} while (i != 0 && !rb_face_stops(f, 64));
	rb_number_of(&s->n, n);
	rb_number_dot3(&s->sum, s->normal, sum);
	rb_number_dot3(&s->square, s->normal, s->normal);
	exact_flatness_tolerance(f, &product);
	rb_number_mul(&u[0], &product, &s->n);
	rb_number_mul(&product, &u[0], &u[0]);
	rb_number_mul(&s->limit, &product, &s->square);
}

/*
 * Stores the exact square of the distance of a corner from the plane of its face, which must be
 * flat within a tolerance.
 */
static void
exact_distance_from_face_plane(const rb_polygon_face *f, const flatness_exact *s, uint32_t corner,
							   rb_number *square)
{
	rb_number v[3], height, d;

	exact_offset_of_corner(f, corner, v);
	rb_number_dot3(&height, s->normal, v);
	rb_number_mul(&d, &height, &s->n);
	rb_number_sub(&d, &d, &s->sum);
	rb_number_mul(square, &d, &d);
}

/*
 * Reports a face that is not flat: stores its farthest corner and the double nearest to its
 * distance.
 */
static rb_geometry_fault
report_farthest_corner(rb_polygon_face *f, const flatness_exact *s)
{
	rb_number square, farthest, bottom, quotient;
	uint32_t corner = 0;

	rb_number_of(&farthest, 0);
	for (uint32_t i = 0; i < f->ncorners && !rb_face_stops(f, 64); i++)
	{
		exact_distance_from_face_plane(f, s, i, &square);
		if (rb_number_compare(&square, &farthest) <= 0)
			continue;
		rb_number_copy(&farthest, &square);
		corner = i;
	}
	rb_number_mul(&square, &s->n, &s->n);
	rb_number_mul(&bottom, &square, &s->square);
	rb_number_div(&quotient, &farthest, &bottom, 8);
	rb_number_root(&square, &quotient, 4);
	f->info->distance = rb_number_round(&square);
	return rb_face_fault(f, RB_GEOMETRY_NOT_FLAT, 1, &corner);
}

/*
 * Returns RB_GEOMETRY_NOT_FLAT if a corner lies farther from the plane of the face than the
 * builder's tolerance allows. The decision is exact. The Newell normal of the outer ring must not
 * be zero.
 */
static rb_geometry_fault
rb_face_check_flat(rb_polygon_face *f)
{
	flatness_interval quick;
	flatness_exact exact;
	bool prepared = false;

	prepare_interval_plane(f, &quick);
	for (uint32_t i = 0; i < f->ncorners && !rb_face_stops(f, 1); i++)
	{
		int side = decide_flatness_by_intervals(f, &quick, i);
		rb_number square;

		if (side < 0)
			continue;
		if (!prepared)
			prepare_exact_plane(f, &exact);
		prepared = true;
		if (side == 0)
		{
			exact_distance_from_face_plane(f, &exact, i, &square);
			side = rb_number_compare(&square, &exact.limit);
		}
		if (side > 0)
			return report_farthest_corner(f, &exact);
	}
	return RB_GEOMETRY_OK;
}

/* ---- faces ---- */

/* Maximum number of corners of a polygon triangulated by tournament, which takes n^2 steps */
#define RB_MAX_CONVEX_CORNERS 16

/* The two axes that remain when each axis is dropped */
static const int kept[3][2] = {{1, 2}, {0, 2}, {0, 1}};

void
rb_face_begin(rb_polygon_face *f, rb_builder *b, rb_geometry_info *info, rb_error *error)
{
	f->b = b;
	f->info = info;
	f->error = error;
	f->corner = b->face_corners;
	f->ncorners = f->nrings = 0;
	f->quiet = 0;
	f->stopped = false;
}

rb_geometry_fault
rb_face_reserve(rb_polygon_face *f, uint32_t more)
{
	size_t need = (size_t) f->ncorners + more;

	/* A corner needs six half-edges, and half-edges are numbered in 32 bits. */
	if (need > RB_MAX_OBJECTS)
	{
		f->error->status = RB_TOO_MANY_OBJECTS;
		f->error->need = need;
		f->error->limit = RB_MAX_OBJECTS;
		f->error->text[0] = '\0';
		return RB_GEOMETRY_NO_MEMORY;
	}
	if (rb_resize(f->b->memory, &f->b->face_corners, need * sizeof *f->corner, f->error) != RB_OK)
		return RB_GEOMETRY_NO_MEMORY;
	f->corner = f->b->face_corners;
	return RB_GEOMETRY_OK;
}

/* ---- the plane ---- */

/* Twice the area of the outer ring, seen along each axis */
typedef struct rb_areas
{
	double value[3];
	double bound[3]; /* bound on the absolute error of the value */
	bool known[3];
	rb_accumulator exact[3];
} rb_areas;

/*
 * Computes the areas in doubles, with error bounds. A term is a difference of two products of
 * differences, which takes 4 roundings; the sum of n terms takes n more. The 8 instead of 4 covers
 * the roundings of the bound itself, and the constant covers underflow. If something overflows, no
 * comparison with the bound is true.
 */
static void
estimate_face_areas(rb_polygon_face *f, rb_areas *areas)
{
	const double *o = f->corner[0].at;
	double size[3] = {0, 0, 0};
	double u[3] = {0, 0, 0};
	uint32_t i = 0;

	for (int k = 0; k < 3; k++)
	{
		areas->value[k] = 0;
		areas->known[k] = false;
	}
	do
	{
		const double *p = f->corner[i = f->corner[i].next].at;
		double v[3] = {p[0] - o[0], p[1] - o[1], p[2] - o[2]};
		double yz = u[1] * v[2], zy = u[2] * v[1], xz = u[0] * v[2], zx = u[2] * v[0],
			   xy = u[0] * v[1], yx = u[1] * v[0];

		areas->value[0] += yz - zy;
		areas->value[1] += xz - zx;
		areas->value[2] += xy - yx;
		size[0] += fabs(yz) + fabs(zy);
		size[1] += fabs(xz) + fabs(zx);
		size[2] += fabs(xy) + fabs(yx);
		memcpy(u, v, sizeof u);
	} while (i != 0 && !rb_face_stops(f, 1));
	for (int k = 0; k < 3; k++)
		areas->bound[k] = (f->ncorners + 8.0) * 0x1p-53 * size[k] + 0x1p-1000;
}

/* Returns the exact area of the outer ring, doubled, seen along an axis; computes it only once. */
static const rb_accumulator *
exact_area_of_ring(rb_polygon_face *f, rb_areas *areas, int dropped)
{
	rb_accumulator *sum = &areas->exact[dropped];
	const int x = kept[dropped][0], y = kept[dropped][1];
	uint32_t i = 0;

	if (areas->known[dropped])
		return sum;
	memset(sum, 0, sizeof *sum);
	do
	{
		const double *p = f->corner[i].at;
		const double *q = f->corner[i = f->corner[i].next].at;

		rb_accumulator_add(sum, p[x], q[y]);
		rb_accumulator_add(sum, -p[y], q[x]);
	} while (i != 0 && !rb_face_stops(f, 1));
	areas->known[dropped] = true;
	return sum;
}

/*
 * Returns true if the area seen along axis i exceeds the area seen along axis j; decides exactly.
 */
static bool
is_face_area_larger(rb_polygon_face *f, rb_areas *areas, int i, int j)
{
	double a = fabs(areas->value[i]), b = fabs(areas->value[j]);

	if (a - areas->bound[i] > b + areas->bound[j])
		return true;
	if (a + areas->bound[i] < b - areas->bound[j])
		return false;
	return rb_accumulator_compare(exact_area_of_ring(f, areas, i),
								  exact_area_of_ring(f, areas, j)) > 0;
}

/* Returns true if all corners, seen along the axis `dropped`, lie on one line. */
static bool
are_face_corners_on_line(rb_polygon_face *f, int dropped)
{
	const int x = kept[dropped][0], y = kept[dropped][1];
	const double a[2] = {f->corner[0].at[x], f->corner[0].at[y]};
	double b[2] = {a[0], a[1]};

	for (uint32_t i = 1; i < f->ncorners && !rb_face_stops(f, 1); i++)
	{
		const double c[2] = {f->corner[i].at[x], f->corner[i].at[y]};

		if (a[0] == b[0] && a[1] == b[1])
			memcpy(b, c, sizeof b);
		else if (rb_orient2d(a, b, c) != 0)
			return false;
	}
	return true;
}

/*
 * Sets axis and turn, or returns false if all corners lie on one line. A ring whose normal is zero
 * (a figure eight, for example) has no largest component. The first axis, from z to x, along which
 * the corners are not on one line is dropped then.
 */
static bool
choose_projection_plane(rb_polygon_face *f, rb_areas *areas)
{
	int dropped = 2;

	estimate_face_areas(f, areas);
	for (int k = 1; k >= 0; k--)
		if (is_face_area_larger(f, areas, k, dropped))
			dropped = k;
	if (fabs(areas->value[dropped]) > areas->bound[dropped])
		f->turn = areas->value[dropped] > 0 ? 1 : -1;
	else
		f->turn = rb_accumulator_sign(exact_area_of_ring(f, areas, dropped));
	if (f->turn == 0)
	{
		dropped = 2;
		while (dropped >= 0 && are_face_corners_on_line(f, dropped))
			dropped--;
		if (dropped < 0)
			return false;
	}
	f->axis[0] = kept[dropped][0];
	f->axis[1] = kept[dropped][1];
	return true;
}

/* ---- faces that need no triangulation ---- */

/* Appends the coordinates of a corner to a triangle of the builder, and returns the end. */
static double *
append_face_corner(const rb_polygon_face *f, double *to, uint32_t i)
{
	memcpy(to, f->corner[i].at, sizeof f->corner[i].at);
	return to + 3;
}

/* ---- faces whose corners lie on one line ---- */

/*
 * Compares two corners of a polygon face without area, given by number, in the order along its
 * line.
 */
static int
by_face_corner_along_line(const void *a, const void *b, const void *arg)
{
	const rb_corner *corner = arg;
	const double *p = corner[*(const uint32_t *) a].at, *q = corner[*(const uint32_t *) b].at;

	for (int k = 0; k < 3; k++)
		if (p[k] != q[k])
			return p[k] < q[k] ? -1 : 1;
	return 0;
}

/*
 * Writes a face whose corners all lie on one line as degenerate triangles: a, b, b for adjacent
 * corners a and b if a ring covers the segment between them, and a, a, a for a single-point ring
 * that no other ring covers. A segment that rings cover several times is written once, since a
 * surface of zero width does not cross itself.
 */
static rb_geometry_fault
append_face_on_line(rb_polygon_face *f)
{
	rb_builder *b = f->b;
	const uint32_t n = f->ncorners;
	rb_context ctx;
	uint32_t *order, *last;
	uint32_t end = 0; /* position of the last corner of all rings so far */
	double *to;

	if (rb_builder_reserve(b, n, f->error) != RB_OK ||
		rb_resize(b->memory, &b->face_mesh, 2 * (size_t) n * sizeof *order, f->error) != RB_OK)
		return RB_GEOMETRY_NO_MEMORY;
	order = b->face_mesh;
	last = order + n; /* position of each ring's last corner in the order */
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	rb_context_init(&ctx, b->memory);
	(void) rb_sort(&ctx, order, n, sizeof *order, by_face_corner_along_line, f->corner);
	for (uint32_t i = 0; i < n; i++)
		last[f->corner[order[i]].ring] = i;
	to = b->coords + (size_t) b->nparts * 9;
	/* Corners i to next - 1 have equal coordinates. */
	for (uint32_t i = 0, next; i < n && !rb_face_stops(f, 1); i = next)
	{
		const bool covered = i > 0 && end >= i;
		uint32_t other = order[i];

		for (next = i;
			 next < n && by_face_corner_along_line(order + i, order + next, f->corner) == 0; next++)
			if (last[f->corner[order[next]].ring] > end)
				end = last[f->corner[order[next]].ring];
		if (end >= next)
			other = order[next];
		else if (covered)
			continue;
		to = append_face_corner(f, to, order[i]);
		to = append_face_corner(f, to, other);
		to = append_face_corner(f, to, other);
		b->nparts++;
	}
	return RB_GEOMETRY_OK;
}

/*
 * Returns true if the ring is convex, turns at every corner and winds once, in which case exactly
 * one corner precedes both of its neighbors in the order of x, then y. Stores the projected corners
 * in `to`.
 */
static bool
is_ring_convex(const rb_polygon_face *f, double (*to)[2])
{
	const uint32_t n = f->ncorners;
	int lows = 0;

	for (uint32_t i = 0; i < n; i++)
		for (int k = 0; k < 2; k++)
			to[i][k] = f->corner[i].at[f->axis[k]];
	for (uint32_t i = 0; i < n; i++)
	{
		const double *a = to[i], *b = to[i + 1 < n ? i + 1 : 0],
					 *c = to[i + 2 < n ? i + 2 : i + 2 - n];
		int turn = rb_orient2d_filter(a[0], a[1], b[0], b[1], c[0], c[1]);

		if (turn == RB_UNSURE)
			turn = rb_orient2d(a, b, c);
		if (turn != f->turn)
			return false;
		lows += rb_face_is_below(b, a) && rb_face_is_below(b, c);
	}
	return lows == 1;
}

/*
 * Appends the Delaunay triangles of a convex polygon. A range of corners i to j is split at the
 * corner k of the triangle on its edge from i to j.
 */
static rb_geometry_fault
triangulate_convex_ring(rb_polygon_face *f, double (*at)[2])
{
	rb_builder *b = f->b;
	uint32_t first[RB_MAX_CONVEX_CORNERS] = {0}, last[RB_MAX_CONVEX_CORNERS] = {f->ncorners - 1};
	int n = 1;
	double *to;

	if (b->nparts + f->ncorners - 2 > b->coords_cap &&
		rb_builder_reserve(b, f->ncorners - 2, f->error) != RB_OK)
		return RB_GEOMETRY_NO_MEMORY;
	to = b->coords + (size_t) b->nparts * 9;
	while (n > 0)
	{
		uint32_t i = first[--n], j = last[n], k = i + 1;

		for (uint32_t m = k + 1; m < j; m++)
			if ((f->turn > 0 ? rb_face_incircle(at[i], at[k], at[j], at[m])
							 : rb_face_incircle(at[j], at[k], at[i], at[m])) > 0)
				k = m;
		to = append_face_corner(f, to, i);
		to = append_face_corner(f, to, k);
		to = append_face_corner(f, to, j);
		if (k - i > 1)
		{
			first[n] = i;
			last[n++] = k;
		}
		if (j - k > 1)
		{
			first[n] = k;
			last[n++] = j;
		}
	}
	b->nparts += f->ncorners - 2;
	return RB_GEOMETRY_OK;
}

/* ---- any face ---- */

/* Reserves scratch memory for the triangulation, which is reused from face to face. */
static rb_geometry_fault
reserve_face_scratch(rb_polygon_face *f)
{
	size_t n = f->ncorners;
	size_t span = 3 * n + 8;
	size_t bytes =
		n * sizeof *f->vertex + 6 * n * sizeof *f->half + (3 * n + n + 6 * span) * sizeof(uint32_t);

	if (rb_resize(f->b->memory, &f->b->face_mesh, bytes, f->error) != RB_OK)
		return RB_GEOMETRY_NO_MEMORY;
	f->half = f->b->face_mesh;
	f->vertex = (rb_vertex *) (f->half + 6 * n);
	f->used = (uint32_t *) (f->vertex + n);
	f->order = f->used + 3 * n;
	f->work = f->order + n;
	f->span = (uint32_t) span;
	if (rb_resize(f->b->memory, &f->b->face_uses, n * sizeof *f->use, f->error) != RB_OK)
		return RB_GEOMETRY_NO_MEMORY;
	f->use = f->b->face_uses;
	f->uses_cap = (uint32_t) n;
	return RB_GEOMETRY_OK;
}

/* Writes the triangles of a face; convex ones need no Delaunay triangulation. */
static rb_geometry_fault
triangulate_face(rb_polygon_face *f)
{
	rb_areas areas;
	double plane[RB_MAX_CONVEX_CORNERS][2];
	rb_geometry_fault fault;

	/* A triangle is written unchanged, even if it is degenerate. */
	if (f->nrings == 1 && f->ncorners == 3)
	{
		if (rb_builder_reserve(f->b, 1, f->error) != RB_OK)
			return RB_GEOMETRY_NO_MEMORY;
		for (uint32_t i = 0; i < 3; i++)
			append_face_corner(f, f->b->coords + (size_t) f->b->nparts * 9 + 3 * i, i);
		f->b->nparts++;
		return RB_GEOMETRY_OK;
	}
	if (!choose_projection_plane(f, &areas))
		return append_face_on_line(f);
	if ((f->b->face_tolerance >= 0 || f->b->face_share > 0) && f->turn != 0)
	{
		fault = rb_face_check_flat(f);
		if (fault != RB_GEOMETRY_OK)
			return fault;
	}
	if (f->nrings == 1 && f->ncorners <= RB_MAX_CONVEX_CORNERS && f->turn != 0 &&
		is_ring_convex(f, plane))
		return triangulate_convex_ring(f, plane);
	fault = reserve_face_scratch(f);
	if (fault == RB_GEOMETRY_OK)
		fault = rb_face_points(f);
	if (fault == RB_GEOMETRY_OK)
		fault = rb_face_edges(f);
	if (fault == RB_GEOMETRY_OK)
		fault = rb_face_inside(f);
	return fault;
}

rb_geometry_fault
rb_face_finish(rb_polygon_face *f)
{
	const uint32_t before = f->b->nparts;
	rb_geometry_fault fault = triangulate_face(f);

	if (f->b->nparts > before)
		f->b->more_parts += f->b->nparts - before - 1;
	if (f->b->nparts > before + 1 && f->b->want_face_of && fault == RB_GEOMETRY_OK &&
		rb_builder_one_face(f->b, before, f->error) != RB_OK)
		fault = RB_GEOMETRY_NO_MEMORY;
	return f->stopped ? RB_GEOMETRY_STOPPED : fault;
}
