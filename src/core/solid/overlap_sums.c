/*
 * overlap_sums.c
 *	  Sums the terms of an overlap with increasing precision, until the rounding is decided.
 *
 * With V and M the sums of the terms, six times the volume and 24 times the moment, the centroid is
 * M / (4 V). The first sums, in double-double arithmetic, decide most results. For the others, terms
 * are computed to a number of words, with a bound on the error of their sum. If a result is still
 * undecided, it may be exactly in the middle of two doubles, as centroids of boxes often are, and then
 * no precision decides. If there are few terms, their exact sums decide all results. Otherwise one
 * residue tests whether a middle is likely, and if it is, an exact comparison follows
 * (overlap_exact.c). The comparison also ends the cases, with coordinates of extremely different
 * size, that the highest precision leaves undecided: it bisects the doubles.
 */
#include "core/solid/overlap.h"
#include "core/exact/nearest_double.h"

#include <math.h>

/* ---- sums in double-double arithmetic ---- */

/*
 * Let e = 2^-106. The bounds of double_double.h give, rounded up, with the largest coordinates A, P
 * and Q of the points a, p and q, E of the edge from b to c, and N_i as in measures.c:
 *
 *		determinant n . w					29 e times the sum of |w_i| N_i
 *		t = from / (from - to)				the errors of both determinants / |from - to|, and 24 e
 *		point b + t (c - b)					E (error of t + 8 e) + 4 e (P + E)
 *		det(a, p, q)						29 e 6 A P Q, and 6 A (P error of q + Q error of p + both)
 *		its product with a + p + q			error of det (A + P + Q), and |det| times the errors of
 *											p and q and 25 e (A + P + Q)
 *
 * Each addition to a sum adds 4 e times a partial sum. Sums of doubles here are accurate to a factor
 * of 1.01, which every bound is multiplied by at the end. With coordinates below MOST_EXTENT and
 * denominators above LEAST_DENOMINATOR, underflows of 2^-1070 each grow by less than 2^620.
 */
#define EPS RB_EPS_DOUBLE_DOUBLE
#define MOST_EXTENT 0x1p75
#define LEAST_DENOMINATOR 0x1p-300
#define UNDERFLOW 0x1p-440

/* A point relative to the origin */
typedef struct rough_point
{
	rb_double_double at[3];
	double size;  /* Bound on the coordinates */
	double error; /* Bound on the errors of the coordinates */
} rough_point;

typedef struct rough_overlap
{
	rb_double_double volume;
	rb_double_double moment[3];
	double volume_error;
	double moment_error;
	double volume_size; /* Sum of the sizes of the terms */
	double moment_size;
	double terms;
} rough_overlap;

/* Returns the largest absolute value of the coordinates. */
static double
largest_of(const rb_double_double v[3])
{
	return rb_max(fabs(v[0].high), rb_max(fabs(v[1].high), fabs(v[2].high)));
}

/* Computes p - q. */
static void
subtract_corners(rb_double_double r[3], const double *p, const double *q)
{
	for (int a = 0; a < 3; a++)
		r[a] = rb_double_double_difference(p[a], q[a]);
}

/* Computes a point relative to the origin. Returns false if the errors are too large. */
static bool
find_rough_point(rough_point *r, const rb_overlap_point *p, const double *origin)
{
	rb_double_double u[3], v[3], n[3], w[3], edge[3], t, below;
	double bound = 0, error, length;

	subtract_corners(r->at, p->b, origin);
	r->size = largest_of(r->at);
	r->error = 0;
	if (p->plane == NULL)
		return true;
	subtract_corners(u, p->plane + 3, p->plane);
	subtract_corners(v, p->plane + 6, p->plane);
	rb_double_double_cross(u, v, n);
	subtract_corners(w, p->b, p->plane);
	subtract_corners(edge, p->c, p->b);
	for (int a = 0; a < 3; a++)
	{
		const int j = (a + 1) % 3, k = (a + 2) % 3;

		bound += (fabs(w[a].high) + fabs(edge[a].high)) *
				 (fabs(u[j].high * v[k].high) + fabs(u[k].high * v[j].high));
	}
	below = rb_double_double_dot(n, edge);
	error = 29 * EPS * bound;
	if (!(fabs(below.high) >= LEAST_DENOMINATOR && fabs(below.high) >= 0x1p20 * error))
		return false;
	t = rb_double_double_minus(rb_double_double_div(rb_double_double_dot(n, w), below));
	length = largest_of(edge);
	for (int a = 0; a < 3; a++)
		r->at[a] = rb_double_double_add(r->at[a], rb_double_double_mul(t, edge[a]));
	r->size += length;
	r->error = length * (error / fabs(below.high) + 32 * EPS) + 4 * EPS * r->size;
	return true;
}

/* Adds a tetrahedron, multiplied by `sign`. */
static void
add_rough_tetrahedron(rough_overlap *s, const double *apex, const double *origin,
					  const rough_point *p, const rough_point *q, int sign)
{
	rb_double_double a[3], n[3], det;
	double size, error, sum;

	subtract_corners(a, apex, origin);
	rb_double_double_cross(p->at, q->at, n);
	det = rb_double_double_dot(a, n);
	if (sign < 0)
		det = rb_double_double_minus(det);
	size = largest_of(a);
	sum = size + p->size + q->size;
	error = 6 * size *
			(29 * EPS * p->size * q->size + p->size * q->error + q->size * p->error +
			 p->error * q->error);
	s->volume = rb_double_double_add(s->volume, det);
	s->volume_error += error;
	s->volume_size += fabs(det.high);
	s->moment_error +=
		error * sum + (fabs(det.high) + error) * (p->error + q->error + 25 * EPS * sum);
	s->moment_size += fabs(det.high) * sum;
	s->terms++;
	for (int i = 0; i < 3; i++)
		s->moment[i] = rb_double_double_add(
			s->moment[i],
			rb_double_double_mul(
				det, rb_double_double_add(rb_double_double_add(a[i], p->at[i]), q->at[i])));
}

/* Computes the results from rough sums. Returns false if the rounding of one is not decided. */
static bool
round_rough_sums(const rough_overlap *s, const double *origin, rb_overlap *o)
{
	const double n = s->terms;
	const double volume_error =
		1.01 * (s->volume_error + 4 * EPS * n * s->volume_size) + UNDERFLOW * n;
	const double moment_error =
		1.01 * (s->moment_error + 4 * EPS * n * s->moment_size) + UNDERFLOW * n;
	const double volume = s->volume.high;
	rb_double_double q, c;

	if (!(volume > 0x1p20 * volume_error))
		return false;
	q = rb_double_double_div(s->volume, rb_double_double_of(6));
	if (!rb_round_within(q, volume_error / 4 + 32 * EPS * q.high, &o->volume))
		return false;
	for (int a = 0; a < 3; a++)
	{
		double error;

		q = rb_double_double_div(s->moment[a],
								 rb_double_double_mul(s->volume, rb_double_double_of(4)));
		c = rb_double_double_add(rb_double_double_of(origin[a]), q);
		error = 1.01 * (moment_error / (4 * volume) + fabs(q.high) * (volume_error / volume));
		error += 40 * EPS * fabs(q.high) + 8 * EPS * fabs(c.high) + UNDERFLOW;
		if (!rb_round_within(c, error, &o->centroid[a]))
			return false;
	}
	return true;
}

/* Sums all terms. Sets *decided to false if more precision is needed. */
static rb_status
sum_roughly(rb_context *ctx, const rb_overlap_terms *t, rb_overlap *o, bool *decided)
{
	rough_overlap s = {.terms = 0};
	rough_point p, q;

	*decided = false;
	if (rb_number_round(&t->extent) > MOST_EXTENT)
		return RB_OK;
	for (size_t i = 0; i < t->terms.n; i++)
	{
		const rb_overlap_term *term = &t->terms.at[i];

		if (rb_stop_due(ctx, i, 4096))
			return RB_STOPPED;
		if (!find_rough_point(&p, &term->p, t->origin) ||
			!find_rough_point(&q, &term->q, t->origin))
			return RB_OK;
		add_rough_tetrahedron(&s, term->plus, t->origin, &p, &q, 1);
		if (term->minus != NULL)
			add_rough_tetrahedron(&s, term->minus, t->origin, &p, &q, -1);
	}
	*decided = round_rough_sums(&s, t->origin, o);
	return RB_OK;
}

/* ---- sums of exact numbers ---- */

/* Sums of terms, each computed to `words` words */
typedef struct overlap_sums
{
	const double *origin;
	int words;
	int top; /* Words of the extent above the point: the extent is at least 2^(64 (top - 1)) */
	uint64_t terms;
	rb_number volume;
	rb_number moment[3];
} overlap_sums;

/*
 * Truncates a number that is to be compared with a power of the extent R, with an error of at most
 * u R^power (see below). Its words are at fixed positions, whatever its size is: products and sums of
 * such numbers therefore stay short.
 */
static void
truncate_to_power(const overlap_sums *s, rb_number *r, int power)
{
	rb_number_truncate_at(r, power * (s->top - 1) + 1 - s->words);
}

/* Sets r = a b, truncated as by truncate_to_power. */
static void
multiply_truncated(const overlap_sums *s, rb_number *r, const rb_number *a, const rb_number *b,
				   int power)
{
	rb_number_mul(r, a, b);
	truncate_to_power(s, r, power);
}

/* Computes a corner relative to the origin. */
static void
find_relative_corner(rb_number r[3], const double *p, const double *origin)
{
	for (int a = 0; a < 3; a++)
		rb_number_difference(&r[a], p[a], origin[a]);
}

/* Computes a point relative to the origin. */
static void
find_relative_point(rb_number r[3], const overlap_sums *s, const rb_overlap_point *p)
{
	rb_number t, to, e;

	find_relative_corner(r, p->b, s->origin);
	if (p->plane == NULL)
		return;
	rb_number_orient3d(&t, p->plane, p->plane + 3, p->plane + 6, p->b);
	rb_number_orient3d(&to, p->plane, p->plane + 3, p->plane + 6, p->c);
	rb_number_sub(&to, &t, &to);
	rb_number_div(&e, &t, &to, s->words);
	rb_number_copy(&t, &e);
	rb_number_truncate(&t, s->words);
	for (int a = 0; a < 3; a++)
	{
		rb_number_difference(&e, p->c[a], p->b[a]);
		multiply_truncated(s, &to, &e, &t, 1);
		rb_number_add(&r[a], &r[a], &to);
		truncate_to_power(s, &r[a], 1);
	}
}

/* Computes det(a, b, c), truncated. */
static void
find_determinant(const overlap_sums *s, rb_number *det, const rb_number *a, const rb_number *b,
				 const rb_number *c)
{
	rb_number minor, x;

	det->sign = det->n = det->low = 0;
	for (int i = 0; i < 3; i++)
	{
		const int j = (i + 1) % 3, k = (i + 2) % 3;

		rb_number_det2(&minor, &b[j], &b[k], &c[j], &c[k]);
		truncate_to_power(s, &minor, 2);
		multiply_truncated(s, &x, &a[i], &minor, 3);
		rb_number_add(det, det, &x);
	}
	truncate_to_power(s, det, 3);
}

/* Adds det(a, p, q) and det(a, p, q) (a + p + q), both multiplied by `sign`. */
static void
add_tetrahedron(overlap_sums *s, const double *apex, const rb_number *p, const rb_number *q,
				int sign)
{
	rb_number a[3], det, sum, term;

	find_relative_corner(a, apex, s->origin);
	find_determinant(s, &det, a, p, q);
	det.sign *= sign;
	rb_number_add(&s->volume, &s->volume, &det);
	for (int i = 0; i < 3; i++)
	{
		rb_number_add(&sum, &a[i], &p[i]);
		rb_number_add(&sum, &sum, &q[i]);
		multiply_truncated(s, &term, &det, &sum, 4);
		rb_number_add(&s->moment[i], &s->moment[i], &term);
	}
	s->terms++;
}

/* Computes all sums. */
static rb_status
add_all_terms(rb_context *ctx, const rb_overlap_terms *t, overlap_sums *s)
{
	for (size_t i = 0; i < t->terms.n; i++)
	{
		const rb_overlap_term *term = &t->terms.at[i];
		rb_number p[3], q[3];

		if (rb_stop_due(ctx, i, 256))
			return RB_STOPPED;
		find_relative_point(p, s, &term->p);
		find_relative_point(q, s, &term->q);
		add_tetrahedron(s, term->plus, p, q, 1);
		if (term->minus != NULL)
			add_tetrahedron(s, term->minus, p, q, -1);
	}
	return RB_OK;
}

/* ---- bounds ---- */

/*
 * Let u = 2^(64 (1 - words)), the relative error of a quotient, and R a bound on the coordinates
 * relative to the origin, so 2 R bounds an edge. A number is truncated with an error of at most u R^k,
 * where k is its degree. A parameter has an error of 2 u, a point on an edge
 * 2 R (2 u + u) + u R < 8 u R. In det(a, p, q), a is exact; the error of a minor is at most 4 R 8 u R
 * + 2 u R^2, of its product with a coordinate 36 u R^3, and of the determinant 114 u R^3. It is at
 * most 6 R^3, and its product with a + p + q has an error of 3 R 114 u R^3 + 6 R^3 17 u R + 18 u R^4
 * < 512 u R^4. Additions are exact.
 */
#define VOLUME_ERROR 128
#define MOMENT_ERROR 512
#define LEAST_WORDS 3
#define MOST_WORDS RB_SIZE(96, 12)
/*
 * A coordinate of a point has as many words as an input coordinate, or those from a fixed position
 * on. A determinant of two points has up to twice as many. The error has as many bits as the fourth
 * power of the extent, up to four times as many as a difference of doubles.
 */
_Static_assert(2 * (RB_NUMBER_DEGREE(1, 2) + MOST_WORDS + 2) + 1 <= RB_NUMBER_WORDS,
			   "room for a determinant of truncated points");
_Static_assert(RB_NUMBER_DEGREE(4, 80) + MOST_WORDS + 4 <= RB_NUMBER_WORDS,
			   "room for a sum of truncated moments");
#define TEST_WORDS 12 /* Words from which a result may be in the middle of two doubles */

/* Sets r = factor R^power u. */
static void
bound_error(rb_number *r, uint64_t factor, const rb_number *extent, int power, int words)
{
	rb_number x, product;

	rb_number_of_parts(r, 1, -64 * (words - 1));
	rb_number_of(&x, (double) factor);
	for (int i = -1; i < power; i++)
	{
		rb_number_mul(&product, r, i < 0 ? &x : extent);
		rb_number_copy(r, &product);
	}
}

/* Rounds low + m / (4 v), a coordinate of the centroid. */
static double
round_centroid(double low, const rb_number *m, const rb_number *v)
{
	rb_number four, divisor, x, term;

	rb_number_of(&four, 4);
	rb_number_mul(&divisor, v, &four);
	rb_number_of(&x, low);
	rb_number_mul(&term, &divisor, &x);
	rb_number_add(&term, &term, m);
	return rb_number_round_quotient(&term, &divisor) + 0.0;
}

/* Rounds v / 6. */
static double
round_sixth(const rb_number *v)
{
	rb_number six;

	rb_number_of(&six, 6);
	return rb_number_round_quotient(v, &six);
}

/* Bounds on a result: doubles to which its lower and upper bound round */
typedef struct bounds
{
	double low;
	double high;
} bounds;

/* Bounds the results: coordinates of the centroid, then the volume, which is positive. */
static void
bound_results(const overlap_sums *s, const rb_number *extent, bounds b[4])
{
	rb_number error, least, most, m;

	bound_error(&error, VOLUME_ERROR * s->terms, extent, 3, s->words);
	rb_number_sub(&least, &s->volume, &error);
	rb_number_add(&most, &s->volume, &error);
	b[RB_OVERLAP_VOLUME].low = least.sign > 0 ? round_sixth(&least) : 0;
	b[RB_OVERLAP_VOLUME].high = round_sixth(&most);
	bound_error(&error, MOMENT_ERROR * s->terms, extent, 4, s->words);
	for (int a = 0; a < 3; a++)
	{
		b[a] = (bounds){-HUGE_VAL, HUGE_VAL};
		if (least.sign <= 0)
			continue;
		rb_number_sub(&m, &s->moment[a], &error);
		b[a].low = round_centroid(s->origin[a], &m, m.sign < 0 ? &least : &most);
		rb_number_add(&m, &s->moment[a], &error);
		b[a].high = round_centroid(s->origin[a], &m, m.sign < 0 ? &most : &least);
	}
}

/* ---- exact decisions ---- */

/* A result of an overlap */
typedef struct result_of_overlap
{
	const rb_overlap_terms *terms;
	int value;
} result_of_overlap;

/* Compares a result with the middle of two doubles. */
static rb_status
compare_result(rb_context *ctx, const void *arg, double low, double high, int *sign)
{
	const result_of_overlap *r = arg;

	return rb_overlap_compare(ctx, r->terms, r->value, low, high, sign);
}

/* Decides a result if it is decided by its bounds, or likely to be in the middle of two doubles. */
static rb_status
decide_result(rb_context *ctx, const rb_overlap_terms *t, const overlap_sums *s, int value,
			  bounds b, double *result, bool *decided)
{
	const result_of_overlap of = {t, value};
	bool likely;

	*result = b.low;
	*decided = b.low == b.high;
	if (*decided || s->words < TEST_WORDS)
		return RB_OK;
	if (b.low >= -DBL_MAX && nextafter(b.low, HUGE_VAL) == b.high)
	{
		RB_TRY(rb_overlap_may_equal(ctx, t, value, b.low, b.high, &likely));
		*decided = likely;
		if (likely)
			return rb_nearest_double(ctx, compare_result, &of, b.low, b.high, result);
	}
	*decided = s->words == MOST_WORDS;
	if (!*decided)
		return RB_OK;
	/* The bounds may have been rounded beyond the result. */
	return rb_nearest_double(ctx, compare_result, &of,
							 b.low > -DBL_MAX ? nextafter(b.low, -HUGE_VAL) : -DBL_MAX,
							 nextafter(b.high, HUGE_VAL), result);
}

/* Sets r to a b if it has room. Returns false otherwise. */
static bool
multiply_with_room(rb_number *r, const rb_number *a, const rb_number *b)
{
	if (a->n + b->n + 4 > RB_NUMBER_WORDS)
		return false;
	rb_number_mul(r, a, b);
	return true;
}

/* Rounds the results from the exact sums. Returns false if they are too long. */
static bool
round_exact_sums(const rb_overlap_terms *t, const rb_overlap_fractions *f, double result[4])
{
	rb_number six, below, x, y, four;

	rb_number_of(&six, 6);
	rb_number_of(&four, 4);
	if (!multiply_with_room(&below, &f->denominator, &six))
		return false;
	result[RB_OVERLAP_VOLUME] = rb_number_round_quotient(&f->volume, &below);
	/* The centroid is o + moment / (4 volume denominator). */
	if (!multiply_with_room(&x, &f->volume, &f->denominator) ||
		!multiply_with_room(&below, &x, &four))
		return false;
	for (int a = 0; a < 3; a++)
	{
		rb_number_of(&x, t->origin[a]);
		if (!multiply_with_room(&y, &below, &x) || !rb_number_has_room_for_sum(&y, &f->moment[a]))
			return false;
		rb_number_add(&y, &y, &f->moment[a]);
		result[a] = rb_number_round_quotient(&y, &below) + 0.0;
	}
	return true;
}

/* Computes the results from the exact sums, if these are short enough. */
static rb_status
decide_exactly(rb_context *ctx, const rb_overlap_terms *t, double result[4], bool *decided)
{
	rb_overlap_fractions f;

	RB_TRY(rb_overlap_add_exactly(ctx, t, &f, decided));
	*decided = *decided && round_exact_sums(t, &f, result);
	return RB_OK;
}

rb_status
rb_overlap_sum(rb_context *ctx, const rb_overlap_terms *t, rb_overlap *overlap)
{
	bool decided[4] = {false};
	double result[4];
	bool rough;

	RB_TRY(sum_roughly(ctx, t, overlap, &rough));
	if (rough)
		return RB_OK;
	for (int words = LEAST_WORDS; words <= MOST_WORDS; words *= 2)
	{
		overlap_sums s = {.origin = t->origin, .words = words, .top = t->extent.low + t->extent.n};
		bounds b[4];
		bool all = true;

		RB_TRY(add_all_terms(ctx, t, &s));
		bound_results(&s, &t->extent, b);
		for (int value = 0; value < 4; value++)
		{
			if (!decided[value])
				RB_TRY(decide_result(ctx, t, &s, value, b[value], &result[value], &decided[value]));
			all = all && decided[value];
		}
		if (!all && words == LEAST_WORDS)
			RB_TRY(decide_exactly(ctx, t, result, &all));
		if (all)
			break;
	}
	overlap->volume = rb_max(result[RB_OVERLAP_VOLUME], 0x1p-1074);
	memcpy(overlap->centroid, result, sizeof overlap->centroid);
	return RB_OK;
}

rb_status
rb_overlap_reaches(rb_context *ctx, const rb_overlap_terms *t, double volume, double least,
				   bool *reaches)
{
	int sign;

	*reaches = volume > least;
	if (volume != least)
		return RB_OK;
	RB_TRY(rb_overlap_compare(ctx, t, RB_OVERLAP_VOLUME, least, least, &sign));
	*reaches = sign >= 0;
	return RB_OK;
}
