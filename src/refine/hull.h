/*
 * hull.h
 *	  Declares what hull_planes.c and hull_slivers.c share to treat hull points that lie in one
 *	  plane up to rounding.
 */
#ifndef RB_REFINE_HULL_H
#define RB_REFINE_HULL_H

#include "mesh/flatness.h"
#include "refine/refining.h"

typedef struct rb_plane
{
	double normal[3]; /* Sum of the normals of its faces; its length is twice the area */
	double middle[3]; /* A point of the plane */
} rb_plane;

/* A surface and the planes it consists of */
typedef struct rb_surface
{
	rb_context *ctx;
	const double *points;
	size_t stride; /* Doubles from one point to the next */
	double rounds; /* Maximum distance at which a point counts as on a plane; above 0 */
	uint32_t (*faces)[3];
	/* For each corner of a face, the face beyond the opposite edge, or RB_NONE */
	uint32_t (*beside)[3];
	size_t faces_cap, beside_cap;
	uint32_t n;
	uint32_t *of; /* Plane of each face */
	rb_plane *planes;
	size_t planes_cap;
	uint32_t nplanes;
	/* State while a plane grows */
	uint32_t *order;
	uint32_t *members;
	uint32_t nmembers;
	const double *origin;
	double middle[3]; /* Weighted sum of the centroids of the members, relative to origin */
	double weight;
} rb_surface;

/*
 * Implemented in hull_planes.c. rb_surface_reserve allocates room for n faces; rb_surface_planes
 * finds the planes once `faces` and `beside` are filled.
 */
extern rb_status rb_surface_reserve(rb_surface *s, size_t n);
extern rb_status rb_surface_planes(rb_surface *s);
extern void rb_surface_free(rb_surface *s);

/*
 * Returns true if a point lies on a plane up to rounding; no point lies on a plane whose faces have
 * no area.
 */
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

#endif /* RB_REFINE_HULL_H */
