/*
 * rb_gmp_distance.h
 *	  The last resort for distances: GMP's integers, for all finite doubles.
 *
 * Host only.  Some 100 KB of stack, no other memory, any number of threads at once.
 */
#ifndef RB_GMP_DISTANCE_H
#define RB_GMP_DISTANCE_H

#include "core/exact/rb_number.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* where a nearest point lies; dim 0: corner `at`, 1: the edge from there to the next, 2: the face */
typedef struct rb_feature
{
	int dim;
	int at;
} rb_feature;

/* the convex hulls of n[0] red corners, then n[1] blue ones, 1 to 3 each, in space */
typedef struct rb_hulls
{
	double corner[6][3];
	int n[2];
	rb_feature guess[2]; /* of those that they have: where their nearest points are likely to lie */
} rb_hulls;

/* sign of the distance of the two minus that number, which is not negative */
extern int rb_gmp_distance_sign(const rb_hulls *hulls, double distance);

/*
 * The double nearest to their distance, of two the even one; 0 only where they meet.  It is
 * known to be in [lo, hi].  Infinite where IEEE rounds to that.
 */
extern double rb_gmp_distance(const rb_hulls *hulls, double lo, double hi);

/* sign of the distance of the first two minus that of the second two */
extern int rb_gmp_distance_order(const rb_hulls *first, const rb_hulls *second);

/* a squared distance, p / q exactly: for what is compared with many others */
typedef struct rb_square
{
	rb_number p;
	rb_number q;
} rb_square;

extern void rb_gmp_square_of(rb_square *s, const rb_hulls *hulls);

/* Returns the sign of that distance minus the one of the hulls. */
extern int rb_gmp_square_order(const rb_square *s, const rb_hulls *hulls);

/* Returns true if no point of one box is nearer to the other box than that distance. */
extern bool rb_gmp_square_parts(const rb_square *s, const double lo[2][3], const double hi[2][3]);

#ifdef __cplusplus
}
#endif

#endif /* RB_GMP_DISTANCE_H */
