/*
 * length_sum.c
 *	  Sums shares of the lengths of segments, and rounds the sum to the nearest double.
 *
 * A share is a rational number, and a length the root of one. If all lengths are rational, the sum is
 * one of fractions. Otherwise it is irrational: roots of different square-free numbers are independent
 * over the rationals, and no share is negative. So it is never in the middle of two doubles, and growing
 * precision decides its rounding.
 */
#include "core/exact/double_double.h"
#include "core/exact/fractions.h"
#include "core/plane/plane.h"

#include <math.h>

#define CHECK_INTERVAL 256 /* Number of segments between checks for cancellation */

/* ---- double-double arithmetic ---- */

/*
 * With e = 2^-106, and as in area_sum.c, t has an error of (error of N + error of D) / |D| + 25 e,
 * where the cross products have errors of 13 e times the sum of the sizes of their products. The
 * sum of n terms and the whole number adds 4 e (n + 1)^2. A length has a relative error of 11 e, to
 * which its product with the share adds 8 e, and each addition to the sum adds 4 e times a partial
 * sum.
 */
#define EPS RB_EPS_DOUBLE_DOUBLE
#define MOST_EXTENT 0x1p100
#define LEAST_EXTENT 0x1p-100

/* Computes q - p. */
static void
subtract_line_points(rb_double_double r[2], const double *q, const double *p)
{
	r[0] = rb_double_double_difference(q[0], p[0]);
	r[1] = rb_double_double_difference(q[1], p[1]);
}

/* Computes a x b, and adds the sizes of its products. */
static rb_double_double
multiply_line_vectors(const rb_double_double *a, const rb_double_double *b, double *size)
{
	const rb_double_double p = rb_double_double_mul(a[0], b[1]);
	const rb_double_double q = rb_double_double_mul(a[1], b[0]);

	*size += fabs(p.high) + fabs(q.high);
	return rb_double_double_sub(p, q);
}

/* Adds a term to a share. Returns false if its error is too large. */
static bool
add_rough_share(rb_double_double *share, double *error, const rb_length_segment *s,
				const rb_double_double e[2], const rb_share_term *t)
{
	rb_double_double from, below, x;
	double size = 0;

	if (t->y == NULL)
	{
		const int a = s->u[0] == s->v[0];

		from = rb_double_double_difference(t->x[a], s->u[a]);
		below = e[a];
	}
	else
	{
		rb_double_double h[2], w[2];

		subtract_line_points(h, t->y, t->x);
		subtract_line_points(w, t->x, s->u);
		if (!(fabs(h[0].high) <= MOST_EXTENT && fabs(h[1].high) <= MOST_EXTENT &&
			  fabs(w[0].high) <= MOST_EXTENT && fabs(w[1].high) <= MOST_EXTENT))
			return false;
		from = multiply_line_vectors(w, h, &size);
		below = multiply_line_vectors(e, h, &size);
	}
	size *= 13 * EPS;
	if (!(fabs(below.high) >= LEAST_EXTENT * LEAST_EXTENT && fabs(below.high) >= 0x1p20 * size))
		return false;
	x = rb_double_double_div(from, below);
	*share = rb_double_double_add(*share, t->sign > 0 ? x : rb_double_double_minus(x));
	*error += 1.01 * size / fabs(below.high) + 25 * EPS;
	return true;
}

/* Sums all lengths. Sets *decided to false if the rounding is not decided. */
static rb_status
sum_lengths_roughly(rb_context *ctx, const rb_length_terms *t, double *length, bool *decided)
{
	rb_double_double sum = {0, 0};
	double error = 0;

	*decided = false;
	for (size_t i = 0; i < t->segments.n; i++)
	{
		const rb_length_segment *s = &t->segments.at[i];
		rb_double_double share = rb_double_double_of(s->whole), e[2], l, term;
		double wrong = 4 * EPS * ((double) s->n + 1) * ((double) s->n + 1);

		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		subtract_line_points(e, s->v, s->u);
		l.high = rb_max(fabs(e[0].high), fabs(e[1].high));
		if (!(l.high <= MOST_EXTENT && l.high >= LEAST_EXTENT))
			return RB_OK;
		for (size_t k = 0; k < s->n; k++)
		{
			if (rb_stop_due(ctx, k, CHECK_INTERVAL))
				return RB_STOPPED;
			if (!add_rough_share(&share, &wrong, s, e, &t->terms.at[s->first + k]))
				return RB_OK;
		}
		l = rb_double_double_sqrt(rb_double_double_add(rb_double_double_mul(e[0], e[0]),
													   rb_double_double_mul(e[1], e[1])));
		term = rb_double_double_mul(share, l);
		sum = rb_double_double_add(sum, term);
		error += l.high * wrong + 20 * EPS * fabs(term.high) + 5 * EPS * fabs(sum.high);
	}
	*decided = sum.high > 0 && rb_round_within(sum, 1.01 * error + 4 * EPS * sum.high, length);
	return RB_OK;
}

/* ---- exact numbers ---- */

/* Computes a term of a share as a fraction; the number of whole lengths is term n. */
static void
find_exact_share(const rb_length_terms *t, const rb_length_segment *s, size_t k,
				 rb_number *numerator, rb_number *denominator)
{
	const rb_share_term *term = &t->terms.at[s->first + (k < s->n ? k : 0)];
	rb_number e[2], h[2], w[2];

	if (k == s->n)
	{
		rb_number_of(numerator, s->whole);
		rb_number_of(denominator, 1);
		return;
	}
	if (term->y == NULL)
	{
		const int a = s->u[0] == s->v[0];

		rb_number_difference(numerator, term->x[a], s->u[a]);
		rb_number_difference(denominator, s->v[a], s->u[a]);
	}
	else
	{
		for (int a = 0; a < 2; a++)
		{
			rb_number_difference(&e[a], s->v[a], s->u[a]);
			rb_number_difference(&h[a], term->y[a], term->x[a]);
			rb_number_difference(&w[a], term->x[a], s->u[a]);
		}
		rb_number_det2(numerator, &w[0], &w[1], &h[0], &h[1]);
		rb_number_det2(denominator, &e[0], &e[1], &h[0], &h[1]);
	}
	numerator->sign *= term->sign;
}

/* Computes the square of the length of a segment. */
static void
find_square_of_length(rb_number *square, const rb_length_segment *s)
{
	rb_number d, p;

	rb_number_difference(&d, s->v[0], s->u[0]);
	rb_number_mul(square, &d, &d);
	rb_number_difference(&d, s->v[1], s->u[1]);
	rb_number_mul(&p, &d, &d);
	rb_number_add(square, square, &p);
}

/* Terms as a list of fractions */
typedef struct listed_shares
{
	const rb_length_terms *t;
	size_t *of;   /* Segment of each fraction */
	size_t *term; /* Its number in the segment */
} listed_shares;

/* The share of one segment */
typedef struct single_share
{
	const rb_length_terms *t;
	const rb_length_segment *s;
} single_share;

/* Computes a fraction of the share of a segment. */
static void
get_single_share(const void *arg, size_t i, rb_number *numerator, rb_number *denominator)
{
	const single_share *l = arg;

	find_exact_share(l->t, l->s, i, numerator, denominator);
}

/* Computes a fraction of the sum if all lengths are rational. */
static void
get_rational_share(const void *arg, size_t i, rb_number *numerator, rb_number *denominator)
{
	const listed_shares *l = arg;
	const size_t segment = l->of[i];
	const rb_length_segment *s = &l->t->segments.at[segment];
	rb_number square, root, x;

	find_exact_share(l->t, s, l->term[i], &x, denominator);
	find_square_of_length(&square, s);
	(void) rb_number_is_square(&root, &square);
	rb_number_mul(numerator, &x, &root);
}

/* Rounds the sum if all lengths are rational; sets *rational to false if they are not. */
static rb_status
round_rational_lengths(rb_context *ctx, const rb_length_terms *t, double *length, bool *rational)
{
	listed_shares l = {t, NULL, NULL};
	size_t n = 0;
	RB_FREE_AT_END(ctx->memory, &l.of, &l.term);

	*rational = true;
	RB_TRY(RB_ALLOCATE(ctx, l.of, t->terms.n + t->segments.n));
	RB_TRY(RB_ALLOCATE(ctx, l.term, t->terms.n + t->segments.n));
	for (size_t i = 0; i < t->segments.n; i++)
	{
		const rb_length_segment *s = &t->segments.at[i];
		const single_share single = {t, s};
		rb_number square, root;
		int sign;

		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		find_square_of_length(&square, s);
		if (!rb_number_is_square(&root, &square))
		{
			/* The terms of a segment that touches the polygon may sum to 0. */
			RB_TRY(rb_fractions_sign(ctx, &(rb_fractions){s->n + 1, get_single_share, &single},
									 &sign));
			*rational = sign == 0;
			if (!*rational)
				return RB_OK;
			continue;
		}
		for (size_t k = 0; k <= s->n; k++)
		{
			if (rb_stop_due(ctx, k, CHECK_INTERVAL))
				return RB_STOPPED;
			l.of[n] = i;
			l.term[n++] = k;
		}
	}
	return rb_fractions_round(ctx, &(rb_fractions){n, get_rational_share, &l}, length);
}

/* Maximum number of words of a share and of a length */
#define MOST_WORDS 128
_Static_assert(2 * (MOST_WORDS + 1) + RB_NUMBER_DEGREE(1, 64) + 2 <= RB_NUMBER_WORDS,
			   "room for a sum of truncated lengths");

/* Sums all lengths to a number of words, and bounds the error. */
static rb_status
sum_long_lengths(rb_context *ctx, const rb_length_terms *t, int words, rb_number *sum,
				 rb_number *error)
{
	sum->sign = sum->n = sum->low = 0;
	error->sign = error->n = error->low = 0;
	for (size_t i = 0; i < t->segments.n; i++)
	{
		const rb_length_segment *s = &t->segments.at[i];
		rb_number share, a, b, q;

		if (rb_stop_due(ctx, i, 16))
			return RB_STOPPED;
		share.sign = share.n = share.low = 0;
		for (size_t k = 0; k <= s->n; k++)
		{
			if (rb_stop_due(ctx, k, 16))
				return RB_STOPPED;
			find_exact_share(t, s, k, &a, &b);
			if (a.sign == 0)
				continue;
			/* A share is at most 1, and the number of whole lengths below 2^63. */
			rb_number_div(&q, &a, &b, words + 3);
			rb_number_truncate_at(&q, -words);
			rb_number_add(&share, &share, &q);
		}
		find_square_of_length(&a, s);
		rb_number_root(&b, &a, words + 1);
		rb_number_truncate(&b, words + 1);
		rb_number_mul(&q, &share, &b);
		rb_number_add(sum, sum, &q);
		/* n + 1 shares, each wrong by 2^(-64 words), and the length, by that factor */
		rb_number_of_parts(&a, 2 * ((uint64_t) s->n + 4), -64 * words);
		rb_number_mul(&q, &a, &b);
		rb_number_add(error, error, &q);
	}
	return RB_OK;
}

rb_status
rb_length_sum(rb_context *ctx, const rb_length_terms *t, double *length)
{
	bool decided;

	RB_TRY(sum_lengths_roughly(ctx, t, length, &decided));
	if (decided)
		return RB_OK;
	RB_TRY(round_rational_lengths(ctx, t, length, &decided));
	for (int words = 4; !decided && words <= MOST_WORDS; words *= 2)
	{
		rb_number sum, error, end;
		double up;

		RB_TRY(sum_long_lengths(ctx, t, words, &sum, &error));
		rb_number_sub(&end, &sum, &error);
		*length = rb_number_round(&end);
		rb_number_add(&end, &sum, &error);
		up = rb_number_round(&end);
		decided = *length == up;
	}
	*length = rb_max(*length, 0x1p-1074);
	return RB_OK;
}
