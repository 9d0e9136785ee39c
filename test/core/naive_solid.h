/*
 * naive_solid.h
 *	  Declares a straightforward reference for solids on GMP's rationals, for tests only.
 *
 * A point consists of three rationals. Its side is found by a ray in a random direction, which is
 * replaced by another one as long as it meets an edge or a vertex, or lies in a plane.
 */
#ifndef NAIVE_SOLID_H
#define NAIVE_SOLID_H

#include <gmp.h>
#include <stdbool.h>

typedef struct naive_point
{
	mpq_t at[3];
} naive_point;

extern void naive_point_init(naive_point *p);
extern void naive_point_clear(naive_point *p);
extern void naive_point_set(naive_point *p, const double *from);

/* Adds (e, e^2, e^3) to p, with e = 2^-bits. */
extern void naive_point_nudge(naive_point *p, unsigned bits);

/* Computes (1 - t) a + t b. */
extern void naive_point_between(naive_point *p, const double *a, const double *b, const mpq_t t);

/* Returns true if p lies on the closed triangle, whatever its shape. */
extern bool naive_on(const naive_point *p, const double *t);

/* Returns 1 if inside, 0 if on some triangle, -1 if outside. */
extern int naive_side(const naive_point *p, const double *triangles, int n);

/*
 * Returns true if the vertical ray from p upward crosses the triangle. p must be in general
 * position.
 */
extern bool naive_below(const naive_point *p, const double *t);

/*
 * Finds the parameters, 0 <= t <= 1, at which the segment ab meets the border of the closed
 * triangle or pierces it. Whatever can change along the segment changes at one of them. There are
 * at most 16; this function initializes them.
 */
extern int naive_events(const double *a, const double *b, const double *t, mpq_t *events);

#endif /* NAIVE_SOLID_H */
