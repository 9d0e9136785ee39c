/*
 * gmp_exact.h
 *	  Computes signs, and compares and computes distances, with GMP's integers for all finite
 *	  doubles: the last step of each predicate.
 *
 * Host only. The functions use about 100 kB of stack, no other memory, and may run in any number of
 * threads at once.
 */
#ifndef RB_EXACT_GMP_EXACT_H
#define RB_EXACT_GMP_EXACT_H

#include "core/exact/bignum.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* ---- signs (gmp_predicates.c): -1, 0 or 1 ---- */

/* Returns the exact sign of orient2d (orient.h). */
extern int rb_gmp_orient2d(double ax, double ay, double bx, double by, double cx, double cy);
/* Returns the exact sign of orient3d (orient.h). */
extern int rb_gmp_orient3d(const double *a, const double *b, const double *c, const double *d);
/* Returns the exact sign of incircle (predicates.c). */
extern int rb_gmp_incircle(const double *a, const double *b, const double *c, const double *d);
/* Returns the exact sign of insphere (insphere.h), without ties broken. */
extern int rb_gmp_insphere(const double *a, const double *b, const double *c, const double *d,
						   const double *e);

/* ---- distances (gmp_distance.c) ---- */

/*
 * Feature on which a nearest point lies: vertex `at` if dim is 0, the edge from there to the next
 * vertex if dim is 1, the face if dim is 2
 */
typedef struct rb_feature
{
	int dim;
	int at;
} rb_feature;

/* Two convex hulls in space: n[0] red vertices, then n[1] blue ones, 1 to 3 each */
typedef struct rb_hulls
{
	double corner[6][3];
	int n[2];
	rb_feature guess[2]; /* likely features of the nearest points */
} rb_hulls;

/* Returns the sign of the distance of the hulls minus `distance`, which is not negative. */
extern int rb_gmp_distance_sign(const rb_hulls *hulls, double distance);

/*
 * Returns the distance of the hulls, known to be in [lo, hi], rounded to the nearest double, ties
 * to even. Returns 0 only if the hulls meet. Returns infinity where IEEE rounding does.
 */
extern double rb_gmp_distance(const rb_hulls *hulls, double lo, double hi);

/* A squared distance as the exact quotient p / q, to be compared with many others */
typedef struct rb_square
{
	rb_number p;
	rb_number q;
} rb_square;

/* Stores the exact squared distance of the hulls as a fraction. */
extern void rb_gmp_square_of(rb_square *s, const rb_hulls *hulls);

/* Returns the sign of the stored distance minus that of the hulls. */
extern int rb_gmp_square_order(const rb_square *s, const rb_hulls *hulls);

/* Returns true if each point of one box is at least the stored distance from the other box. */
extern bool rb_gmp_square_separates(const rb_square *s, const double lo[2][3],
									const double hi[2][3]);

#ifdef __cplusplus
}
#endif

#endif /* RB_EXACT_GMP_EXACT_H */
