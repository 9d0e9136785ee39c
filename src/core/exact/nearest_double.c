/*
 * nearest_double.c
 *	  Finds the double nearest to a number by bisection, from comparisons with doubles.
 */
#include "core/exact/nearest_double.h"

#include "core/base/base.h"

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
