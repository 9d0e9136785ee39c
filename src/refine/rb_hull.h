/*
 * rb_hull.h
 *	  The hull, where points lie in one plane up to rounding: what hull.c and peel.c share.
 */
#ifndef RB_HULL_H
#define RB_HULL_H

#include "refine/rb_refining.h"

/* by so much of the cube of the longest edge a volume may be wrong */
#define RB_VOLUME_ROUNDS 0x1p-49

typedef struct rb_plane
{
	double normal[3]; /* those of its faces together: as long as their area is large, twice */
	double middle[3]; /* a point of it */
} rb_plane;

/* a surface, and the planes it consists of */
typedef struct rb_surface
{
	rb_context *ctx;
	const double *points;
	size_t stride; /* from one point to the next */
	double
		rounds; /* what is between a point and a plane that it is meant to be on, at most; above 0 */
	uint32_t (*faces)[3];
	uint32_t (*beside)
		[3]; /* the face across the edge opposite to that corner; RB_NONE: not to be looked at */
	size_t faces_cap, beside_cap;
	uint32_t n;
	uint32_t *of; /* the plane of each face */
	rb_plane *planes;
	size_t planes_cap;
	uint32_t nplanes;
	/* while one grows */
	uint32_t *order;
	uint32_t *members;
	uint32_t nmembers;
	const double *origin;
	double middle[3]; /* from the origin, times weight */
	double weight;
} rb_surface;

/* hull.c: room for so many faces; and their planes, when they are there and what is beside them */
extern rb_status rb_surface_reserve(rb_surface *s, size_t n);
extern rb_status rb_surface_planes(rb_surface *s);
extern void rb_surface_free(rb_surface *s);

/* a normal of the triangle, twice as long as its area is large */
static inline void
rb_face_normal(const double *a, const double *b, const double *c, double *n)
{
	double u[3], v[3];

	for (int k = 0; k < 3; k++)
	{
		u[k] = b[k] - a[k];
		v[k] = c[k] - a[k];
	}
	n[0] = u[1] * v[2] - u[2] * v[1];
	n[1] = u[2] * v[0] - u[0] * v[2];
	n[2] = u[0] * v[1] - u[1] * v[0];
}

static inline double
rb_dot(const double *u, const double *v)
{
	return u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
}

/* the square of the longest side */
static inline double
rb_face_long2(const double *a, const double *b, const double *c)
{
	const double x = rb_distance2(a, b), y = rb_distance2(b, c), z = rb_distance2(c, a);

	return x > y ? (x > z ? x : z) : y > z ? y : z;
}

/* up to rounding; nothing is on one whose faces have no area */
static inline bool
rb_on_plane(const rb_plane *p, double rounds, const double *at)
{
	const double normal2 = rb_dot(p->normal, p->normal);
	double from[3], away;

	for (int k = 0; k < 3; k++)
		from[k] = at[k] - p->middle[k];
	away = rb_dot(from, p->normal);
	return normal2 > 0 && away * away <= rounds * rounds * normal2;
}

static inline double
rb_four_long2(const double *const *at)
{
	const double x = rb_face_long2(at[0], at[1], at[2]), y = rb_distance2(at[0], at[3]),
				 z = rb_distance2(at[1], at[3]), w = rb_distance2(at[2], at[3]);
	const double far = y > z ? (y > w ? y : w) : z > w ? z : w;

	return x > far ? x : far;
}

/* may they be no higher than that above the largest of their triangles, as far as rounding lets that be told? */
static inline bool
rb_four_flat(const double *const *at, double height)
{
	const double long2 = rb_four_long2(at);
	double largest2 = 0;

	for (int i = 0; i < 4; i++)
	{
		double n[3], area2;

		rb_face_normal(at[(i + 1) & 3], at[(i + 2) & 3], at[(i + 3) & 3], n);
		area2 = rb_dot(n, n);
		largest2 = area2 > largest2 ? area2 : largest2;
	}
	return rb_volume6(at[0], at[1], at[2], at[3]) <=
		   height * sqrt(largest2) + RB_VOLUME_ROUNDS * long2 * sqrt(long2);
}

#endif /* RB_HULL_H */
