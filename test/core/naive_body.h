/*
 * naive_body.h
 *	  Bodies on GMP's rationals, in the most obvious way.  For tests only.
 *
 * A point is three rationals.  Its side is found by a ray in a random direction, and by
 * another one as long as a ray meets an edge, a corner, or a plane lengthwise.
 */
#ifndef NAIVE_BODY_H
#define NAIVE_BODY_H

#include <gmp.h>
#include <stdbool.h>

typedef struct naive_point
{
	mpq_t at[3];
} naive_point;

extern void naive_point_init(naive_point *p);
extern void naive_point_clear(naive_point *p);
extern void naive_point_set(naive_point *p, const double *from);

/* p + (e, e^2, e^3), e = 2^-bits */
extern void naive_point_nudge(naive_point *p, unsigned bits);

/* (1 - t) a + t b */
extern void naive_point_between(naive_point *p, const double *a, const double *b, const mpq_t t);

/* is p on the closed triangle, whatever its shape? */
extern bool naive_on(const naive_point *p, const double *t);

/* 1 inside, 0 on some triangle, -1 outside */
extern int naive_side(const naive_point *p, const double *triangles, int n);

/* does the ray from p straight up cross the triangle?  p must be in general position. */
extern bool naive_below(const naive_point *p, const double *t);

/*
 * The parameters, 0 <= t <= 1, at which the segment ab meets the border of the closed triangle
 * or pierces it: whatever can change along the segment changes at one of these.  At most 16;
 * they are initialized here.
 */
extern int naive_events(const double *a, const double *b, const double *t, mpq_t *events);

#endif /* NAIVE_BODY_H */
