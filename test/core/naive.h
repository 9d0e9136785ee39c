/*
 * naive.h
 *	  Slow twins of the core's predicates, on GMP's rationals: every double is a
 *	  rational, a determinant is expanded by its first row.  For tests only.
 */
#ifndef NAIVE_H
#define NAIVE_H

#include <gmp.h>
#include <stdbool.h>

/* sign of the determinant of the n x n matrix m, row after row; n <= 4 */
extern int naive_det_sign(int n, mpq_t *m);

/* conventions as in rb_orient.h and predicates.c */
extern int naive_orient2d(const double *a, const double *b, const double *c);
extern int naive_orient3d(const double *a, const double *b, const double *c, const double *d);
extern int naive_incircle(const double *a, const double *b, const double *c, const double *d);
extern int naive_insphere(const double *a, const double *b, const double *c, const double *d,
						  const double *e);

/* do the convex hulls of np and nq points of dims (2, 3) coordinates meet?  np * nq <= 9 */
extern bool naive_hulls_meet_by_subsets(const double *p, int np, const double *q, int nq, int dims);

typedef struct naive_contact
{
	bool meets;
	int dimension; /* of what they share */
	bool crosses;  /* their relative interiors share a point */
} naive_contact;

/* how do they meet? */
extern naive_contact naive_hulls_contact_by_subsets(const double *p, int np, const double *q,
													int nq, int dims);

/* hulls.c: the same in another way, a hundred times as fast, on one thread */
extern bool naive_hulls_meet(const double *p, int np, const double *q, int nq, int dims);

extern naive_contact naive_hulls_contact(const double *p, int np, const double *q, int nq,
										 int dims);

/*
 * Two triangles of space; *self: is there more to what they share than common corners and
 * the edges between them?  Yes for two of the same corners.
 */
extern naive_contact naive_triangles_contact(const double *p, const double *q, bool *self);
/* naive_distance.c: their squared distance; np, nq <= 3 */
extern void naive_distance_square(mpq_t square, const double *p, int np, const double *q, int nq,
								  int dims);

#endif /* NAIVE_H */
