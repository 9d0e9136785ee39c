/*
 * scalar.h
 *	  Computes for one pair what the core computes for many pairs at once, or compares in another
 *	  form: distances and overlaps of k-DOPs.
 */
#ifndef SCALAR_H
#define SCALAR_H

#include "core/primitive/dispatch.h"
#include "core/primitive/kdop.h"

/* Returns the double nearest to the distance of two objects. */
static inline double
distance_of(rb_kind red_kind, rb_kind blue_kind, const double *red, const double *blue)
{
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
	double distance;

	rb_pair_distance(&env, red_kind, blue_kind, red, blue, &distance);
	return distance;
}

/* Returns the sign of the exact distance of the first pair minus that of the second pair. */
static inline int
compare_distances(rb_kind red_kind, rb_kind blue_kind, const double *first_red,
				  const double *first_blue, const double *second_red, const double *second_blue)
{
	rb_hulls first, second;
	rb_square square;

	rb_pair_hulls(&first, red_kind, blue_kind, first_red, first_blue);
	rb_pair_hulls(&second, red_kind, blue_kind, second_red, second_blue);
	rb_gmp_square_of(&square, &first);
	return rb_gmp_square_order(&square, &second);
}

/* Returns true if the extents of two k-DOPs overlap along all directions. */
static inline bool
kdops_overlap(uint32_t red_lo0, uint32_t red_hi0, uint32_t red_lo1, uint32_t red_hi1,
			  uint32_t blue_lo0, uint32_t blue_hi0, uint32_t blue_lo1, uint32_t blue_hi1)
{
	const uint32_t apart0 = ~((blue_hi0 - red_lo0) & (red_hi0 - blue_lo0)) & RB_KDOP_GUARDS_0;
	const uint32_t apart1 = ~((blue_hi1 - red_lo1) & (red_hi1 - blue_lo1)) & RB_KDOP_GUARDS_1;

	return (apart0 | apart1) == 0;
}

#endif /* SCALAR_H */
