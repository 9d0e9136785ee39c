/*
 * naive.h
 *	  Declares slow reference versions of the core's predicates on GMP's rationals, for tests only.
 *
 * Every double is a rational, and a determinant is expanded along its first row.
 */
#ifndef NAIVE_H
#define NAIVE_H

#include <gmp.h>
#include <stdbool.h>

/* Returns the sign of the determinant of the n x n matrix m, stored by rows; n <= 4. */
extern int naive_det_sign(int n, mpq_t *m);

/* Conventions are those of orient.h and predicates.c. */
extern int naive_orient2d(const double *a, const double *b, const double *c);
extern int naive_orient3d(const double *a, const double *b, const double *c, const double *d);
extern int naive_incircle(const double *a, const double *b, const double *c, const double *d);
extern int naive_insphere(const double *a, const double *b, const double *c, const double *d,
						  const double *e);

/*
 * Returns true if the convex hulls of np and nq points with dims (2 or 3) coordinates meet; np * nq
 * <= 9.
 */
extern bool naive_hulls_meet_by_subsets(const double *p, int np, const double *q, int nq, int dims);

typedef struct naive_contact
{
	bool meets;
	int dimension; /* Dimension of the intersection */
	bool crosses;  /* True if the relative interiors share a point */
} naive_contact;

/* Returns how the two hulls meet. */
extern naive_contact naive_hulls_contact_by_subsets(const double *p, int np, const double *q,
													int nq, int dims);

/* hulls.c: computes the same by another method, a hundred times faster, on one thread only. */
extern bool naive_hulls_meet(const double *p, int np, const double *q, int nq, int dims);

extern naive_contact naive_hulls_contact(const double *p, int np, const double *q, int nq,
										 int dims);

/*
 * Returns how two triangles in space meet. *self is true if they share more than common vertices
 * and the edges between these, also for two triangles with the same vertices.
 */
extern naive_contact naive_triangles_contact(const double *p, const double *q, bool *self);
/* naive_distance.c: computes the squared distance of two hulls; np, nq <= 3. */
extern void naive_distance_square(mpq_t square, const double *p, int np, const double *q, int nq,
								  int dims);

/* Returns true if d is the double nearest to x; of two that are equally near, the even one. */
extern bool naive_is_nearest(double d, const mpf_t x);

#endif /* NAIVE_H */
