/*
 * polygon_flatness.c
 *	  Decides exactly whether each corner of a face lies within a tolerance of its plane.
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
 * is either the number that the caller gave or a share of the longest side of the bounding box of
 * the face, which is a difference of two coordinates. Both sides are polynomials of degree 6 in the
 * stored numbers.
 *
 * Interval arithmetic almost always decides. Exact numbers (bignum.h) decide the remaining cases
 * and find the farthest corner and its distance for the report.
 */
#include "core/exact/interval.h"
#include "core/exact/bignum.h"
#include "core/set/polygon.h"

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

static void
interval_offset(const rb_polygon_face *f, uint32_t corner, rb_interval *v)
{
	for (int k = 0; k < 3; k++)
		v[k] = rb_interval_difference(f->corner[corner].at[k], f->corner[0].at[k]);
}

/* Returns the interval of the larger of two numbers. */
static rb_interval
interval_max(rb_interval a, rb_interval b)
{
	return (rb_interval){fmax(a.lo, b.lo), fmax(a.hi, b.hi)};
}

/* Stores the smallest and the largest coordinate of the face along an axis. */
static void
find_range(const rb_polygon_face *f, int axis, double *low, double *high)
{
	*low = *high = f->corner[0].at[axis];
	for (uint32_t i = 1; i < f->ncorners; i++)
	{
		*low = fmin(*low, f->corner[i].at[axis]);
		*high = fmax(*high, f->corner[i].at[axis]);
	}
}

static rb_interval
interval_tolerance(const rb_polygon_face *f)
{
	rb_interval longest = rb_interval_of(0);

	if (f->b->face_tolerance >= 0)
		return rb_interval_of(f->b->face_tolerance);
	for (int k = 0; k < 3; k++)
	{
		double low, high;

		find_range(f, k, &low, &high);
		longest = interval_max(longest, rb_interval_difference(high, low));
	}
	return rb_interval_mul(longest, rb_interval_of(f->b->face_share));
}

static void
interval_prepare(rb_polygon_face *f, flatness_interval *s)
{
	rb_interval u[3], v[3], sum[3], product;
	uint32_t i = 0, n = 0;

	for (int k = 0; k < 3; k++)
		s->normal[k] = sum[k] = u[k] = rb_interval_of(0);
	do
	{
		i = f->corner[i].next;
		interval_offset(f, i, v);
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
	product = rb_interval_mul(s->n, interval_tolerance(f));
	s->limit =
		rb_interval_mul(rb_interval_mul(product, product), rb_interval_dot3(s->normal, s->normal));
}

/*
 * Returns 1 if the corner is too far from the plane, -1 if it is not, or 0 if intervals do not
 * decide.
 */
static int
interval_decide(const rb_polygon_face *f, const flatness_interval *s, uint32_t corner)
{
	rb_interval v[3], d, square;

	interval_offset(f, corner, v);
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

static void
exact_offset(const rb_polygon_face *f, uint32_t corner, rb_number *v)
{
	for (int k = 0; k < 3; k++)
		rb_number_difference(&v[k], f->corner[corner].at[k], f->corner[0].at[k]);
}

static void
exact_tolerance(const rb_polygon_face *f, rb_number *t)
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

		find_range(f, k, &low, &high);
		rb_number_difference(&length, high, low);
		if (rb_number_compare(&length, &longest) > 0)
			rb_number_copy(&longest, &length);
	}
	rb_number_of(&share, f->b->face_share);
	rb_number_mul(t, &longest, &share);
}

static void
exact_prepare(rb_polygon_face *f, flatness_exact *s)
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
		exact_offset(f, i, v);
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
	exact_tolerance(f, &product);
	rb_number_mul(&u[0], &product, &s->n);
	rb_number_mul(&product, &u[0], &u[0]);
	rb_number_mul(&s->limit, &product, &s->square);
}

/* Stores d(p)^2. */
static void
exact_distance(const rb_polygon_face *f, const flatness_exact *s, uint32_t corner,
			   rb_number *square)
{
	rb_number v[3], height, d;

	exact_offset(f, corner, v);
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
report_farthest(rb_polygon_face *f, const flatness_exact *s)
{
	rb_number square, farthest, bottom, quotient;
	uint32_t corner = 0;

	rb_number_of(&farthest, 0);
	for (uint32_t i = 0; i < f->ncorners && !rb_face_stops(f, 64); i++)
	{
		exact_distance(f, s, i, &square);
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

rb_geometry_fault
rb_face_check_flat(rb_polygon_face *f)
{
	flatness_interval quick;
	flatness_exact exact;
	bool prepared = false;

	interval_prepare(f, &quick);
	for (uint32_t i = 0; i < f->ncorners && !rb_face_stops(f, 1); i++)
	{
		int side = interval_decide(f, &quick, i);
		rb_number square;

		if (side < 0)
			continue;
		if (!prepared)
			exact_prepare(f, &exact);
		prepared = true;
		if (side == 0)
		{
			exact_distance(f, &exact, i, &square);
			side = rb_number_compare(&square, &exact.limit);
		}
		if (side > 0)
			return report_farthest(f, &exact);
	}
	return RB_GEOMETRY_OK;
}
