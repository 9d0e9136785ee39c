/*
 * rb_hull.h
 *	  The hull, where points lie in one plane up to rounding: what hull.c and peel.c share.
 */
#ifndef RB_HULL_H
#define RB_HULL_H

#include "mesh/rb_flat.h"
#include "refine/rb_refining.h"

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

#endif /* RB_HULL_H */
