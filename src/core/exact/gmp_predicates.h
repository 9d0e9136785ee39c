/*
 * gmp_predicates.h
 *	  Computes signs by GMP's integers, for all finite doubles: the last step of each predicate.
 *
 * Host only. Each function returns -1, 0 or 1, uses no memory except some tens of KB of stack, and
 * may run in any number of threads at once.
 */
#ifndef RB_EXACT_GMP_PREDICATES_H
#define RB_EXACT_GMP_PREDICATES_H

#ifdef __cplusplus
extern "C"
{
#endif

extern int rb_gmp_orient2d(double ax, double ay, double bx, double by, double cx, double cy);
extern int rb_gmp_orient3d(const double *a, const double *b, const double *c, const double *d);
extern int rb_gmp_incircle(const double *a, const double *b, const double *c, const double *d);
extern int rb_gmp_insphere(const double *a, const double *b, const double *c, const double *d,
						   const double *e);

#ifdef __cplusplus
}
#endif

#endif /* RB_EXACT_GMP_PREDICATES_H */
