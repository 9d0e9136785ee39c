/*
 * cuboid_signs.h
 *	  Declares a cuboid, the triangles of solids near it, and the signs that relate them.
 *
 *		cuboids, exact coordinates, signs					cuboid_signs.c
 *		triangle, cuboid -> polygon -> sums -> results		cuboid_clip.h
 *		results too close to the middle of two doubles		cuboid_exact.h
 *		columns, triangles that meet a cuboid, all results	cuboid.c
 *
 * Each of these files depends only on those listed above it. A cuboid is a block of a block model:
 * a box in the axes of that model (rb_model_frame), which are called local.
 */
#ifndef RB_SOLID_CUBOID_SIGNS_H
#define RB_SOLID_CUBOID_SIGNS_H

#include "core/base/base.h"
#include "core/exact/bounded.h"
#include "core/exact/orient.h"
#include "core/solid/solid.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* The triangles of solids in local coordinates */
typedef struct rb_cuboid_space
{
	const rb_model_frame *frame;
	const double *coords;    /* Nine of each triangle, not rotated */
	rb_double_double *local; /* Nine of each triangle, or NULL if the frame is not rotated */
	double *error;           /* Bound on the errors of each triangle's local coordinates */
} rb_cuboid_space;

/*
 * Planes of a cuboid have the number 2 axis + side, where the side is 0 for the low and 1 for the
 * high one.
 */
#define RB_CUBOID_PLANE(axis, side) (2 * (axis) + (side))

typedef struct rb_cuboid
{
	const rb_cuboid_space *space;
	const double *box;   /* Low and high corner, or center and size */
	bool centered;       /* True if `box` is a center and a size */
	rb_bounded bound[6]; /* Coordinate of each plane */
	rb_bounded size[3];
	bool exact; /* True if corners of the cuboid and of triangles are doubles */
} rb_cuboid;

/* Returns local coordinate a of a corner of a triangle. */
static inline rb_bounded
rb_cuboid_corner(const rb_cuboid_space *s, uint32_t triangle, int corner, int a)
{
	const size_t i = 9 * (size_t) triangle + 3 * (size_t) corner + (size_t) a;

	return s->local == NULL ? rb_bounded_of(s->coords[i])
							: (rb_bounded){s->local[i], s->error[triangle]};
}

/*
 * Prepares a cuboid. Returns false if it has no volume.
 */
extern bool rb_cuboid_open(rb_cuboid *b, const rb_cuboid_space *space, const double *box,
						   bool centered);

/* Compute exact local coordinates: of a corner of a triangle, and of a plane of a cuboid. */
extern void rb_cuboid_number_of_corner(rb_number *r, const rb_cuboid_space *s, uint32_t triangle,
									   int corner, int a);
extern void rb_cuboid_number_of_plane(rb_number *r, const rb_cuboid *b, int plane);

/* Sets r to the difference of coordinate a of two corners of a triangle. */
extern void rb_cuboid_number_of_edge(rb_number *r, const rb_cuboid *b, uint32_t triangle, int from,
									 int to, int a);

/* Sets r to component a of the normal of a triangle. */
extern void rb_cuboid_number_of_normal(rb_number *r, const rb_cuboid *b, uint32_t triangle, int a);

/*
 * Return exact signs of the difference of a coordinate and that of a plane: of a corner of a
 * triangle; of the point where the edge from that corner meets plane `fixed`; of the point where the
 * plane of the triangle meets a line of the cuboid. The line has the axis of `plane` and runs through
 * the cuboid's corner on three planes, of which `plane` is one.
 */
extern int rb_cuboid_side_of_corner(const rb_cuboid *b, uint32_t triangle, int corner, int plane);
extern int rb_cuboid_side_on_edge(rb_exact_env *env, const rb_cuboid *b, uint32_t triangle,
								  int corner, int fixed, int plane);
extern int rb_cuboid_side_on_line(rb_exact_env *env, const rb_cuboid *b, uint32_t triangle,
								  const int planes[3], int plane);

/*
 * Return exact signs for a triangle: orientation of a side and the low corner of the cuboid, seen from
 * above; side of the triangle's plane on which the low corner lies; component of the normal; order
 * of the coordinates of two corners of the triangle.
 */
extern int rb_cuboid_turn(rb_exact_env *env, const rb_cuboid *b, uint32_t triangle, int corner);
extern int rb_cuboid_side(rb_exact_env *env, const rb_cuboid *b, uint32_t triangle);
extern int rb_cuboid_normal(rb_exact_env *env, const rb_cuboid *b, uint32_t triangle, int a);
extern int rb_cuboid_order(const rb_cuboid *b, uint32_t triangle, int corner, int other, int a);

#ifdef __cplusplus
}
#endif

#endif /* RB_SOLID_CUBOID_SIGNS_H */
