/*
 * fractions.c
 *	  Sums fractions with increasing precision, until the rounding of the sum is decided.
 *
 * The fractions are computed to multiples of a power of two, with a bound on the error of their
 * sum. If both ends of that interval round to the same double, this is the result. A sum in the
 * middle of two doubles is never decided in this way. So, once the ends round to adjacent doubles,
 * the residue modulo one prime tests whether the sum is likely to be in the middle, and if it is,
 * the sum is compared with the middle exactly. The product of their difference and D, the product
 * of all denominators, is an integer. Its residues modulo about as many primes as D has words
 * determine it (residue.h).
 */
#include "core/exact/fractions.h"
#include "core/exact/interval.h"
#include "core/exact/residue.h"
#include "core/base/base.h"

#include <math.h>

/* ---- bisection of doubles ---- */

/* Returns the number of a double in the order of all doubles. */
static int64_t
number_of_double(double x)
{
	int64_t bits;

	memcpy(&bits, &x, sizeof bits);
	return bits >= 0 ? bits : INT64_MIN - bits;
}

/* Returns the double with a given number in the order of all doubles. */
static double
double_of_number(int64_t number)
{
	const int64_t bits = number >= 0 ? number : INT64_MIN - number;
	double x;

	memcpy(&x, &bits, sizeof x);
	return x;
}

/* Returns the number of steps from one double to a larger one, in the order of all doubles. */
static uint64_t
doubles_between(int64_t low, int64_t high)
{
	return (uint64_t) high - (uint64_t) low;
}

rb_status
rb_nearest_double(rb_context *ctx, rb_compare_with_middle compare, const void *arg, double low,
				  double high, double *nearest)
{
	int64_t from = number_of_double(low), to = number_of_double(high);
	int sign;

	while (doubles_between(from, to) > 1)
	{
		const int64_t middle = from + (int64_t) (doubles_between(from, to) / 2);
		const double x = double_of_number(middle);

		RB_TRY(compare(ctx, arg, x, x, &sign));
		if (sign == 0)
		{
			*nearest = x;
			return RB_OK;
		}
		*(sign > 0 ? &from : &to) = middle;
	}
	RB_TRY(compare(ctx, arg, double_of_number(from), double_of_number(to), &sign));
	if (sign == 0)
		sign = from % 2 == 0 ? -1 : 1;
	*nearest = double_of_number(sign > 0 ? to : from);
	return RB_OK;
}

/* ---- sums of fractions ---- */

#define LEAST_WORDS 3
#define TEST_WORDS 6 /* Words from which a sum may be in the middle of two doubles */
/*
 * Position of the lowest word that is ever needed. The spacing of doubles is at least 2^-1074, and
 * fewer than 2^64 fractions, with an error of 2^(-64 20) each, sum to an error far below it.
 */
#define LOWEST (-20)

_Static_assert(RB_FRACTION_WORDS * 2 + 24 < RB_NUMBER_WORDS, "room for a quotient");

/* Returns the position above the highest word of a number that is not 0. */
static int
top_of_number(const rb_number *x)
{
	return x->low + x->n;
}

/* Finds a position above the highest words of all fractions. */
static rb_status
find_top_of_fractions(rb_context *ctx, const rb_fractions *f, int *top)
{
	rb_number a, b;

	*top = LOWEST + 1;
	for (size_t i = 0; i < f->n; i++)
	{
		if (rb_stop_due(ctx, i, 256))
			return RB_STOPPED;
		f->get(f->arg, i, &a, &b);
		if (a.sign != 0 && top_of_number(&a) - top_of_number(&b) + 1 > *top)
			*top = top_of_number(&a) - top_of_number(&b) + 1;
	}
	return RB_OK;
}

/* Sums all fractions, each truncated to its words from position low. */
static rb_status
sum_fractions(rb_context *ctx, const rb_fractions *f, int low, rb_number *sum)
{
	rb_number a, b, q;

	sum->sign = sum->n = sum->low = 0;
	for (size_t i = 0; i < f->n; i++)
	{
		int words;

		if (rb_stop_due(ctx, i, 256))
			return RB_STOPPED;
		f->get(f->arg, i, &a, &b);
		words = top_of_number(&a) - top_of_number(&b) + 1 - low;
		/* The quotient is below 2^(64 low). */
		if (a.sign == 0 || words <= 0)
			continue;
		rb_number_div(&q, &a, &b, words);
		rb_number_truncate_at(&q, low);
		rb_number_add(sum, sum, &q);
	}
	return RB_OK;
}

/* ---- exact comparison ---- */

/* A comparison of the sum with the middle of two doubles */
typedef struct fraction_comparison
{
	const rb_fractions *f;
	rb_number middle;
	int upper;     /* Numerators times 2^upper are integers */
	int lower;     /* Denominators times 2^lower are integers */
	bool negative; /* True if the product of all denominators is negative */
	uint64_t bits; /* Bound on the bits of the integer whose sign is wanted */
} fraction_comparison;

/* Sets the middle of two doubles; 2^1024 takes the place of an infinite one. */
static void
set_middle_of_doubles(rb_number *middle, double low, double high)
{
	rb_number x, half;

	rb_number_of(middle, low);
	if (isinf(high))
		rb_number_of_parts(&x, 1, 1024);
	else
		rb_number_of(&x, high);
	rb_number_add(&x, &x, middle);
	rb_number_of(&half, 0.5);
	rb_number_mul(middle, &x, &half);
}

/* Prepares the comparison of the sum with the middle of two doubles. */
static rb_status
open_fraction_comparison(rb_context *ctx, fraction_comparison *c, const rb_fractions *f, double low,
						 double high)
{
	int64_t places = 0, most = 0;
	rb_number a, b;

	*c = (fraction_comparison){.f = f, .upper = INT16_MIN, .lower = INT16_MIN};
	set_middle_of_doubles(&c->middle, low, high);
	if (c->middle.sign != 0)
		most = rb_number_bits(&c->middle);
	for (size_t i = 0; i < f->n; i++)
	{
		if (rb_stop_due(ctx, i, 256))
			return RB_STOPPED;
		f->get(f->arg, i, &a, &b);
		c->lower = rb_max(c->lower, rb_number_places(&b));
		if (b.sign < 0)
			c->negative = !c->negative;
		places += rb_number_bits(&b);
		if (a.sign == 0)
			continue;
		c->upper = rb_max(c->upper, rb_number_places(&a));
		most = rb_max(most, rb_number_bits(&a) - rb_number_bits(&b) + 1);
	}
	/* The middle times 2^(upper - lower) is an integer, too. */
	c->upper = rb_max(c->upper, c->lower + rb_number_places(&c->middle));
	/* n fractions and the middle */
	most += c->upper - c->lower + 64 - __builtin_clzll((uint64_t) f->n + 1);
	places += (int64_t) f->n * c->lower;
	c->bits = (uint64_t) (rb_max(most, 0) + places + 1);
	return RB_OK;
}

/*
 * Finds the residue of an integer: the product of all denominators and the difference of the sum
 * and the middle.
 */
static rb_status
find_residue_of_sum(rb_context *ctx, const void *arg, const rb_prime *m, uint64_t *residue,
					bool *usable)
{
	const fraction_comparison *c = arg;
	uint64_t sum = 0, product = m->one;
	rb_number a, b;

	*usable = true;
	for (size_t i = 0; i < c->f->n; i++)
	{
		uint64_t d;

		if (rb_stop_due(ctx, i, 256))
			return RB_STOPPED;
		c->f->get(c->f->arg, i, &a, &b);
		d = rb_residue_of_number(m, &b, c->lower);
		if (d == 0)
		{
			*usable = false;
			return RB_OK;
		}
		product = rb_residue_mul(m, product, d);
		if (a.sign != 0)
			sum = rb_residue_add(
				m, sum,
				rb_residue_mul(m, rb_residue_of_number(m, &a, c->upper), rb_residue_inverse(m, d)));
	}
	if (c->middle.sign != 0)
		sum = rb_residue_sub(m, sum, rb_residue_of_number(m, &c->middle, c->upper - c->lower));
	*residue = rb_residue_mul(m, sum, product);
	return RB_OK;
}

/* Finds the sign of the sum minus the middle of two doubles. */
static rb_status
compare_fractions_with_middle(rb_context *ctx, const void *arg, double low, double high, int *sign)
{
	fraction_comparison c;

	RB_TRY(open_fraction_comparison(ctx, &c, arg, low, high));
	RB_TRY(rb_integer_sign(ctx, c.bits, find_residue_of_sum, &c, sign));
	if (c.negative)
		*sign = -*sign;
	return RB_OK;
}

/* Sets *likely to false if the sum is known not to be in the middle of two doubles. */
static rb_status
may_be_in_middle(rb_context *ctx, const rb_fractions *f, double low, double high, bool *likely)
{
	fraction_comparison c;

	RB_TRY(open_fraction_comparison(ctx, &c, f, low, high));
	return rb_integer_may_be_zero(ctx, find_residue_of_sum, &c, likely);
}

rb_status
rb_fractions_round(rb_context *ctx, const rb_fractions *f, double *nearest)
{
	int top;

	RB_TRY(find_top_of_fractions(ctx, f, &top));
	for (int words = LEAST_WORDS;; words *= 2)
	{
		const int low = rb_max(top - words, LOWEST);
		rb_number sum, error, end;
		double down, up;
		bool likely = true;

		RB_TRY(sum_fractions(ctx, f, low, &sum));
		rb_number_of_parts(&error, (uint64_t) f->n, 64 * low);
		rb_number_sub(&end, &sum, &error);
		down = rb_number_round(&end) + 0.0;
		rb_number_add(&end, &sum, &error);
		up = rb_number_round(&end) + 0.0;
		*nearest = down;
		if (down == up)
			return RB_OK;
		if (low > LOWEST && (words < TEST_WORDS || nextafter(down, HUGE_VAL) != up))
			continue;
		if (low > LOWEST)
			RB_TRY(may_be_in_middle(ctx, f, down, up, &likely));
		if (likely)
			return rb_nearest_double(ctx, compare_fractions_with_middle, f, down, up, nearest);
	}
}

rb_status
rb_fractions_sign(rb_context *ctx, const rb_fractions *f, int *sign)
{
	return compare_fractions_with_middle(ctx, f, 0, 0, sign);
}
