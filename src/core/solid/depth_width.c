/*
 * depth_width.c
 *	  Computes the widths of the connected parts of what two solids share, rounded to nearest.
 *
 * Cells belong to the same part if they share an area of a plane. The width of a part across a
 * plane is the distance of its highest and its lowest point, seen from the plane. Rounding
 * preserves the order of widths. So bounds on each width are rounded, and if the rounded bounds
 * agree on the least width, it is the double nearest to the exact depth. Otherwise longer numbers
 * follow, and an exact comparison with the middle of two doubles.
 */
#include "core/solid/depth.h"
#include "core/base/bucket.h"
#include "core/base/union_find.h"
#include "core/intersection/intersection.h"
#include "core/primitive/box.h"

#include <math.h>

/* ---- connected parts ---- */

/* Returns true if an edge of facet f has facet g, in the same plane, on its outer side. */
static bool
is_facet_beside(rb_depth_run *d, const rb_depth_polygon *f, const rb_depth_polygon *g)
{
	for (size_t k = 0; k < f->n; k++)
	{
		const uint32_t edge = d->facets.corners.at[f->first + k].edge;
		bool beside = true;
		int inner = 0;

		for (size_t i = 0; i < f->n && inner == 0; i++)
			inner = rb_depth_side(d, d->facets.corners.at[f->first + i].point, edge);
		for (size_t i = 0; i < g->n && beside; i++)
			beside = inner * rb_depth_side(d, d->facets.corners.at[g->first + i].point, edge) <= 0;
		if (beside)
			return true;
	}
	return false;
}

/* The facets of all cells, grouped by plane, and their box tree */
typedef struct facet_search
{
	rb_depth_run *d;
	rb_buckets planes;
	rb_boxes tree;
	uint32_t *part;
	uint32_t facet; /* Facet whose neighbors are searched */
} facet_search;

/* Returns the plane of facet i. */
static uint32_t
plane_of_facet(const void *arg, uint32_t i)
{
	return ((const rb_depth_run *) arg)->facets.at.at[i].plane;
}

/* Bounds the coordinates of a facet, relative to the origin. */
static void
bound_facet(const rb_depth_run *d, const rb_depth_polygon *f, double *box)
{
	rb_box_empty(box, box + 3);
	for (size_t k = 0; k < f->n; k++)
	{
		const rb_depth_point *p = &d->points.at[d->facets.corners.at[f->first + k].point];

		for (int a = 0; a < 3; a++)
		{
			const double at = p->at[a].x.high, error = 1.01 * p->at[a].error + 0x1p-50 * fabs(at);
			const bool known = fabs(at) + error <= DBL_MAX;

			box[a] = rb_min(box[a], known ? at - error : -DBL_MAX);
			box[3 + a] = rb_max(box[3 + a], known ? at + error : DBL_MAX);
		}
	}
}

/* Makes the box tree of all facets. */
static rb_status
make_tree_of_facets(facet_search *s)
{
	const rb_depth_run *d = s->d;
	const uint32_t n = (uint32_t) d->facets.at.n, planes = (uint32_t) d->planes.n;

	RB_TRY(rb_buckets_build(d->ctx, &s->planes, n, planes, plane_of_facet, d));
	RB_TRY(rb_boxes_room(d->ctx, &s->tree, n));
	for (uint32_t i = 0; i < n; i++)
	{
		if (rb_stop_due(d->ctx, i, RB_DEPTH_CHECKS))
			return RB_STOPPED;
		bound_facet(d, &d->facets.at.at[s->planes.member[i]], s->tree.box + 6 * (size_t) i);
	}
	return rb_boxes_order_rows(d->ctx, &s->tree, s->planes.start, planes);
}

/*
 * Receives a facet in the plane of the searched one, and unites their cells if the two share an
 * area.
 */
static rb_status
receive_near_facet(void *user, uint32_t item)
{
	facet_search *s = user;
	rb_depth_run *d = s->d;
	const uint32_t near = s->planes.member[item];
	const rb_depth_polygon *f = &d->facets.at.at[s->facet], *g = &d->facets.at.at[near];
	const uint32_t a = d->cell_of.at[s->facet], b = d->cell_of.at[near];

	if (rb_stop_due(d->ctx, d->steps++, RB_DEPTH_CHECKS))
		return RB_STOPPED;
	if (f->side != g->side && rb_find_root(s->part, a) != rb_find_root(s->part, b) &&
		!is_facet_beside(d, f, g) && !is_facet_beside(d, g, f))
		(void) rb_unite(s->part, a, b);
	return RB_OK;
}

/* Unites the cells that share an area of a plane. */
static rb_status
unite_cells(facet_search *s)
{
	RB_TRY(make_tree_of_facets(s));
	for (uint32_t i = 0; i < s->d->facets.at.n; i++)
	{
		const uint32_t plane = plane_of_facet(s->d, s->planes.member[i]);

		/* Each pair has a facet on the negative side. */
		s->facet = s->planes.member[i];
		if (s->d->facets.at.at[s->facet].side < 0)
			RB_TRY(rb_boxes_find_in_row(&s->tree, s->planes.start[plane],
										s->planes.start[plane + 1], s->tree.box + 6 * (size_t) i,
										receive_near_facet, s));
	}
	return RB_OK;
}

/* Finds the connected parts of the cells. part[cell] becomes the number of one of their cells. */
static rb_status
find_depth_parts(rb_depth_run *d, uint32_t *part)
{
	facet_search s = {.d = d, .part = part};
	RB_FREE_AT_END(d->ctx->memory, &s.planes.start, &s.planes.member, &s.tree.box, &s.tree.order);

	rb_union_find_init(part, d->ncells);
	RB_TRY(unite_cells(&s));
	for (uint32_t i = 0; i < d->ncells; i++)
		part[i] = rb_find_root(part, i);
	return RB_OK;
}

/* ---- widths ---- */

#define LEAST_WORDS 3
#define MOST_WORDS RB_SIZE(96, 12)
#define EXACT_WORDS 6 /* Words from which widths are compared exactly */

_Static_assert(RB_NUMBER_DEGREE(3, 8) + 2 * MOST_WORDS + 4 <= RB_NUMBER_WORDS,
			   "room for heights truncated to words");

/* The width of a part across the plane of one of its faces, as bounds on the nearest double */
typedef struct depth_width
{
	uint32_t plane;
	double low;
	double high;
} depth_width;

/* A connected part: its points, and its widths */
typedef struct depth_part
{
	RB_VEC(uint32_t) points;
	RB_VEC(depth_width) widths;
} depth_part;

/*
 * Finds the width across a plane perpendicular to an axis as the difference of two doubles. Returns
 * false if other points might be extreme.
 */
static bool
find_width_along_axis(const rb_depth_run *d, const depth_part *part, int axis, depth_width *w)
{
	double low = HUGE_VAL, high = -HUGE_VAL, least = HUGE_VAL, most = -HUGE_VAL, x;

	for (size_t i = 0; i < part->points.n; i++)
	{
		const rb_depth_point *p = &d->points.at[part->points.at[i]];
		const double at = p->at[axis].x.high, size = fabs(at) + fabs(d->origin[axis]);
		const double error = 1.01 * p->at[axis].error + 0x1p-50 * size;

		if (rb_depth_coordinate(d, p, axis, &x))
		{
			low = rb_min(low, x);
			high = rb_max(high, x);
			continue;
		}
		if (!(error < HUGE_VAL))
			return false;
		least = rb_min(least, d->origin[axis] + at - error);
		most = rb_max(most, d->origin[axis] + at + error);
	}
	w->low = w->high = high - low;
	return least >= low && most <= high && high > low;
}

/* Moves a point to the front of the points of a part. */
static void
move_point_to_front(depth_part *part, size_t front, size_t i)
{
	const uint32_t point = part->points.at[i];

	part->points.at[i] = part->points.at[front];
	part->points.at[front] = point;
}

/* Returns a height above a plane beyond which a width is larger than `least`, or infinity. */
static double
limit_of_height(const rb_depth_plane *plane, double least)
{
	double square = 0;

	for (int a = 0; a < 3; a++)
		square += (fabs(plane->n[a].x.high) + plane->n[a].error) *
				  (fabs(plane->n[a].x.high) + plane->n[a].error);
	if (!(least > 0x1p-400 && square > 0x1p-400 && square <= DBL_MAX))
		return HUGE_VAL;
	return least * sqrt(square) * (1 + 0x1p-30);
}

/*
 * Bounds the width across a plane, in double-double arithmetic. If the width is certainly larger
 * than `least`, which is an upper bound on another width, bounds it only from below. A few points
 * usually suffice for this: each call moves the two extreme points to the front, because they are
 * likely to be extreme along the next normal, too.
 */
static void
bound_width(const rb_depth_run *d, depth_part *part, double least, depth_width *w)
{
	const rb_depth_plane *plane = &d->planes.at[w->plane];
	const double limit = limit_of_height(plane, least);
	rb_bounded low = {{HUGE_VAL, 0}, 0}, high = {{-HUGE_VAL, 0}, 0}, to[3], v;
	size_t lowest = 0, highest = 0;
	double error = 0, most;

	w->low = 0;
	w->high = HUGE_VAL;
	if (plane->axis >= 0 && find_width_along_axis(d, part, plane->axis, w))
		return;
	w->low = 0;
	w->high = HUGE_VAL;
	rb_bounded_vector(to, plane->t, d->origin);
	for (size_t i = 0; i < part->points.n; i++)
	{
		const rb_depth_point *p = &d->points.at[part->points.at[i]];
		rb_bounded from[3];

		for (int a = 0; a < 3; a++)
			from[a] = rb_bounded_sub(p->at[a], to[a]);
		v = rb_bounded_dot(plane->n, from);
		if (!(v.error < HUGE_VAL && fabs(v.x.high) <= DBL_MAX))
			return;
		error = rb_max(error, v.error);
		if (v.x.high > high.x.high || (v.x.high == high.x.high && v.x.low > high.x.low))
		{
			high.x = v.x;
			highest = i;
		}
		if (v.x.high < low.x.high || (v.x.high == low.x.high && v.x.low < low.x.low))
		{
			low.x = v.x;
			lowest = i;
		}
		if (high.x.high - low.x.high - 4 * error > limit)
		{
			w->low = nextafter(least, HUGE_VAL);
			break;
		}
	}
	if (part->points.n > 1)
	{
		move_point_to_front(part, 0, highest);
		move_point_to_front(part, 1, lowest == 0 ? highest : lowest);
	}
	if (w->low > least)
		return;
	low.error = high.error = error;
	v = rb_bounded_div(rb_bounded_sub(high, low),
					   rb_bounded_root(rb_bounded_dot(plane->n, plane->n)));
	most = 1.01 * v.error + 16 * RB_EPS_DOUBLE_DOUBLE * fabs(v.x.high);
	if (!(most < 0x1p-20 * v.x.high && v.x.high > 0x1p-900 && v.x.high < 0x1p900))
		return;
	w->low = rb_double_double_add(v.x, rb_double_double_of(-most)).high;
	w->high = rb_double_double_add(v.x, rb_double_double_of(most)).high;
}

/* Bounds a quotient of exact numbers, truncated to `words` words. */
static void
bound_quotient(const rb_number *top, const rb_number *below, int words, rb_number *low,
			   rb_number *high)
{
	rb_number q, unit;

	low->sign = low->n = low->low = 0;
	high->sign = high->n = high->low = 0;
	if (top->sign == 0)
		return;
	rb_number_div(&q, top, below, words);
	rb_number_truncate(&q, words);
	rb_number_of_parts(&unit, 1, 64 * (q.low + q.n - words) + 1);
	rb_number_sub(low, &q, &unit);
	rb_number_add(high, &q, &unit);
}

/* Bounds the heights of the highest and the lowest point of a part above a plane. */
static rb_status
bound_heights(rb_depth_run *d, const depth_part *part, const double *t, int words,
			  rb_number most[2], rb_number least[2])
{
	rb_number top, below, low, high;

	for (size_t i = 0; i < part->points.n; i++)
	{
		if (rb_stop_due(d->ctx, i, 64))
			return RB_STOPPED;
		rb_depth_height(d, &d->points.at[part->points.at[i]], t, &top, &below);
		bound_quotient(&top, &below, words, &low, &high);
		if (i == 0 || rb_number_compare(&low, &most[0]) > 0)
			rb_number_copy(&most[0], &low);
		if (i == 0 || rb_number_compare(&high, &most[1]) > 0)
			rb_number_copy(&most[1], &high);
		if (i == 0 || rb_number_compare(&low, &least[0]) < 0)
			rb_number_copy(&least[0], &low);
		if (i == 0 || rb_number_compare(&high, &least[1]) < 0)
			rb_number_copy(&least[1], &high);
	}
	return RB_OK;
}

/* Finds the square of the length of a triangle's normal. */
static void
find_square_of_plane(rb_number *square, const double *t)
{
	rb_number normal[3];

	rb_triangle_normal(normal, t);
	rb_number_dot3(square, normal, normal);
}

/* Bounds the width across a plane, with numbers of `words` words. */
static rb_status
bound_width_in_words(rb_depth_run *d, const depth_part *part, int words, depth_width *w)
{
	const double *t = d->planes.at[w->plane].t;
	rb_number most[2], least[2], square, root, unit;

	RB_TRY(bound_heights(d, part, t, words, most, least));
	find_square_of_plane(&square, t);
	rb_number_root(&root, &square, words);
	rb_number_truncate(&root, words);
	rb_number_sub(&most[1], &most[1], &least[0]);
	w->high = rb_max(rb_number_round_quotient(&most[1], &root), 0);
	rb_number_of_parts(&unit, 1, 64 * (root.low + root.n - words) + 1);
	rb_number_add(&root, &root, &unit);
	rb_number_sub(&most[0], &most[0], &least[1]);
	w->low = rb_max(rb_number_round_quotient(&most[0], &root), 0);
	return RB_OK;
}

/* An exact fraction */
typedef struct fraction
{
	rb_number top;
	rb_number below; /* Positive */
} fraction;

/* Sets r to a b and returns true if there is room for it. */
static bool
multiply_numbers_that_fit(rb_number *r, const rb_number *a, const rb_number *b)
{
	if (a->n + b->n + 2 > RB_NUMBER_WORDS)
		return false;
	rb_number_mul(r, a, b);
	return true;
}

/* Sets *order to the sign of a - b and *difference to a - b. Returns false if there is no room. */
static bool
subtract_fractions(const fraction *a, const fraction *b, fraction *difference)
{
	rb_number x, y;

	if (!multiply_numbers_that_fit(&x, &a->top, &b->below) ||
		!multiply_numbers_that_fit(&y, &b->top, &a->below) ||
		!multiply_numbers_that_fit(&difference->below, &a->below, &b->below) ||
		!rb_number_has_room_for_sum(&x, &y))
		return false;
	rb_number_sub(&difference->top, &x, &y);
	return true;
}

/* Sets *sign to that of (height / root of square - middle). Returns false if there is no room. */
static bool
compare_width(const fraction *height, const rb_number *square, const rb_number *middle, int *sign)
{
	rb_number x, y, z;

	if (!multiply_numbers_that_fit(&x, &height->top, &height->top) ||
		!multiply_numbers_that_fit(&y, &height->below, middle) ||
		!multiply_numbers_that_fit(&z, &y, &y) || !multiply_numbers_that_fit(&y, &z, square))
		return false;
	*sign = rb_number_compare(&x, &y);
	return true;
}

/*
 * Rounds a width whose bounds are adjacent doubles. Leaves it unchanged if exact numbers have no
 * room for the comparison.
 */
static rb_status
round_width_exactly(rb_depth_run *d, const depth_part *part, int words, depth_width *w)
{
	const double *t = d->planes.at[w->plane].t;
	rb_number most[2], least[2], low, high, square, middle;
	fraction best[2], f, difference;
	bool any[2] = {false, false};
	uint64_t bits;
	int sign;

	RB_TRY(bound_heights(d, part, t, words, most, least));
	for (size_t i = 0; i < part->points.n; i++)
	{
		if (rb_stop_due(d->ctx, i, 64))
			return RB_STOPPED;
		rb_depth_height(d, &d->points.at[part->points.at[i]], t, &f.top, &f.below);
		f.top.sign *= f.below.sign;
		f.below.sign = 1;
		bound_quotient(&f.top, &f.below, words, &low, &high);
		for (int k = 0; k < 2; k++)
		{
			if (k == 0 ? rb_number_compare(&high, &most[0]) < 0
					   : rb_number_compare(&low, &least[1]) > 0)
				continue;
			if (any[k])
			{
				if (!subtract_fractions(&f, &best[k], &difference))
					return RB_OK;
				if (difference.top.sign != (k == 0 ? 1 : -1))
					continue;
			}
			any[k] = true;
			rb_number_copy(&best[k].top, &f.top);
			rb_number_copy(&best[k].below, &f.below);
		}
	}
	if (!any[0] || !any[1] || !subtract_fractions(&best[0], &best[1], &difference))
		return RB_OK;
	find_square_of_plane(&square, t);
	rb_number_of(&low, w->low);
	if (w->high <= DBL_MAX)
		rb_number_of(&high, w->high);
	else
		rb_number_of_parts(&high, 1, 1024);
	rb_number_add(&low, &low, &high);
	rb_number_of(&high, 0.5);
	rb_number_mul(&middle, &low, &high);
	if (!compare_width(&difference, &square, &middle, &sign))
		return RB_OK;
	memcpy(&bits, &w->low, sizeof bits);
	if (sign < 0 || (sign == 0 && bits % 2 == 0))
		w->high = w->low;
	else
		w->low = w->high;
	return RB_OK;
}

/* Bounds a width more closely. */
static rb_status
refine_width(rb_depth_run *d, const depth_part *part, int words, depth_width *w)
{
	RB_TRY(bound_width_in_words(d, part, words, w));
	if (words >= EXACT_WORDS && w->low < w->high && nextafter(w->low, HUGE_VAL) == w->high)
		return round_width_exactly(d, part, words, w);
	return RB_OK;
}

/* Finds the least width of a part. Returns in *decided whether its rounding is decided. */
static rb_status
find_depth_of_part(rb_depth_run *d, depth_part *part, double *depth)
{
	double least = HUGE_VAL;

	for (size_t i = 0; i < part->widths.n; i++)
	{
		/* Computing a width visits all points of the part. */
		if (rb_should_stop(d->ctx))
			return RB_STOPPED;
		bound_width(d, part, least, &part->widths.at[i]);
		least = rb_min(least, part->widths.at[i].high);
	}
	for (int words = LEAST_WORDS;; words = rb_min(2 * words, MOST_WORDS))
	{
		double low = HUGE_VAL, high = HUGE_VAL;

		for (size_t i = 0; i < part->widths.n; i++)
		{
			low = rb_min(low, part->widths.at[i].low);
			high = rb_min(high, part->widths.at[i].high);
		}
		*depth = low;
		if (low == high)
			return RB_OK;
		if (words == MOST_WORDS)
			return rb_fail(d->ctx, RB_BAD_GEOMETRY, 0, 0,
						   "A depth is so close to the midpoint of two doubles that 6,000 bits "
						   "cannot decide which one is nearer.");
		for (size_t i = 0; i < part->widths.n; i++)
		{
			depth_width *w = &part->widths.at[i];

			if (w->low < w->high && w->low <= high)
				RB_TRY(refine_width(d, part, words, w));
		}
	}
}

/* The parts that facets or faces belong to */
typedef struct parts_of_cells
{
	const uint32_t *part;
	const uint32_t *cell;
} parts_of_cells;

/* Returns the part of facet or face i. */
static uint32_t
part_of_item(const void *arg, uint32_t i)
{
	const parts_of_cells *p = arg;

	return p->part[p->cell[i]];
}

/* Facets and faces by part */
typedef struct part_lists
{
	rb_buckets facets;
	rb_buckets faces;
	/* For each point, then for each plane: 1 + the last part that has collected it */
	uint32_t *seen;
} part_lists;

/* Lists the facets and the faces of each part. */
static rb_status
list_parts(rb_depth_run *d, const uint32_t *part, part_lists *l)
{
	const parts_of_cells facets = {part, d->cell_of.at}, faces = {part, d->face_cell.at};
	const size_t n = d->points.n + d->planes.n + 1;

	RB_TRY(rb_buckets_build(d->ctx, &l->facets, (uint32_t) d->facets.at.n, d->ncells, part_of_item,
							&facets));
	RB_TRY(rb_buckets_build(d->ctx, &l->faces, (uint32_t) d->face_cell.n, d->ncells, part_of_item,
							&faces));
	RB_TRY(RB_ALLOCATE(d->ctx, l->seen, n));
	memset(l->seen, 0, n * sizeof *l->seen);
	return RB_OK;
}

/*
 * Collects the points of a part, and the planes of its faces, but only one plane perpendicular to
 * each axis.
 */
static rb_status
collect_depth_part(rb_depth_run *d, const part_lists *l, uint32_t part, depth_part *p)
{
	bool axes[3] = {false, false, false};

	rb_vec_clear(&p->points);
	rb_vec_clear(&p->widths);
	for (uint32_t i = l->facets.start[part]; i < l->facets.start[part + 1]; i++)
	{
		const rb_depth_polygon *f = &d->facets.at.at[l->facets.member[i]];

		if (rb_stop_due(d->ctx, d->steps++, RB_DEPTH_CHECKS))
			return RB_STOPPED;
		for (size_t k = 0; k < f->n; k++)
		{
			const uint32_t point = d->facets.corners.at[f->first + k].point;

			if (l->seen[point] != part + 1)
				RB_TRY(rb_vec_append(d->ctx, &p->points, point));
			l->seen[point] = part + 1;
		}
	}
	for (uint32_t i = l->faces.start[part]; i < l->faces.start[part + 1]; i++)
	{
		const uint32_t plane = d->face_plane.at[l->faces.member[i]];
		const int axis = d->planes.at[plane].axis;

		if (rb_stop_due(d->ctx, d->steps++, RB_DEPTH_CHECKS))
			return RB_STOPPED;
		/* The widths across parallel planes are equal. */
		if (l->seen[d->points.n + plane] == part + 1 || (axis >= 0 && axes[axis]))
			continue;
		RB_TRY(rb_vec_append(d->ctx, &p->widths, ((depth_width){plane, 0, 0})));
		l->seen[d->points.n + plane] = part + 1;
		if (axis >= 0)
			axes[axis] = true;
	}
	return RB_OK;
}

rb_status
rb_depth_largest(rb_depth_run *d, double *depth)
{
	depth_part p = {.points = {.n = 0}};
	part_lists l = {.seen = NULL};
	rb_status status = RB_OK;
	uint32_t *part = NULL;
	RB_FREE_AT_END(d->ctx->memory, &part, &l.facets.start, &l.facets.member, &l.faces.start,
				   &l.faces.member, &l.seen);

	RB_TRY(RB_ALLOCATE(d->ctx, part, (size_t) d->ncells + 1));
	RB_TRY(find_depth_parts(d, part));
	RB_TRY(list_parts(d, part, &l));
	for (uint32_t i = 0; i < d->ncells && status == RB_OK; i++)
	{
		double of = 0;

		if (part[i] != i)
			continue;
		status = collect_depth_part(d, &l, i, &p);
		if (status == RB_OK && p.widths.n > 0)
			status = find_depth_of_part(d, &p, &of);
		*depth = rb_max(*depth, of);
	}
	rb_vec_free(d->ctx->memory, &p.points);
	rb_vec_free(d->ctx->memory, &p.widths);
	return status;
}
