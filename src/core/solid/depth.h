/*
 * depth.h
 *	  Declares what is shared by the files that compute rb_overlap_depth: planes and points,
 *	  polygons, cells.
 *
 *		planes, points, sides of planes				depth_points.c
 *		faces -> trees of planes -> convex cells	depth.c
 *		cells -> connected parts -> widths			depth_width.c
 */
#ifndef RB_SOLID_DEPTH_H
#define RB_SOLID_DEPTH_H

#include "core/exact/bounded.h"
#include "core/solid/overlap.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define RB_DEPTH_CHECKS 256 /* Small steps between checks for cancellation */
#define RB_ROOT_PLANES 6

typedef struct rb_depth_plane
{
	const double *t; /* Triangle in the plane */
	int axis;        /* Axis to which the plane is perpendicular, or -1 */
	int direction;   /* Sign of the normal along this axis */
	bool inward;     /* True if the normal points into the solid */
	rb_bounded n[3]; /* Normal */
} rb_depth_plane;

#define RB_NO_PLANE UINT32_MAX

/* A point: the corner b if c is NULL; where the edge bc meets a plane; or where three planes meet, if b is NULL */
typedef struct rb_depth_point
{
	const double *b;
	const double *c;
	uint32_t plane[3]; /* Planes that contain the point; the first one cuts an edge */
	rb_bounded at[3];  /* Relative to the origin */
} rb_depth_point;

/* A corner of a polygon, with the other plane that contains the edge from it to the next corner */
typedef struct rb_depth_corner
{
	uint32_t point;
	uint32_t edge; /* A plane, or EDGE_OF_FACE + the number of a triangle's edge */
} rb_depth_corner;

#define EDGE_OF_FACE (UINT32_MAX - 2)

typedef struct rb_depth_polygon
{
	uint32_t plane;
	int side; /* For a facet of a cell, the side of the plane on which the cell lies */
	size_t first;
	size_t n;
} rb_depth_polygon;

/* Convex polygons */
typedef struct rb_depth_polygons
{
	RB_VEC(rb_depth_polygon) at;
	RB_VEC(rb_depth_corner) corners;
} rb_depth_polygons;

typedef struct rb_depth_node
{
	uint32_t plane;
	int32_t child[2]; /* On the negative and the positive side */
	size_t first;     /* Faces in the plane: the first one, and their number */
	size_t n;
} rb_depth_node;

typedef struct rb_depth_tree
{
	RB_VEC(rb_depth_node) nodes;
	rb_depth_polygons on; /* Faces in the planes of the nodes */
	int32_t root;
} rb_depth_tree;

/* Faces from which a branch of a tree is to be built */
typedef struct rb_depth_branch
{
	rb_depth_polygons faces;
	int32_t parent;
	int side;
} rb_depth_branch;

/* A convex cell on its way down a tree */
typedef struct rb_depth_cell
{
	rb_depth_polygons facets;
	rb_depth_polygons on; /* Faces on the facets */
	int tree;
	int32_t node;
} rb_depth_cell;

/* A point of a cell's edge on the plane that divides the cell */
typedef struct rb_depth_cut
{
	uint32_t a;
	uint32_t b;
	uint32_t point;
} rb_depth_cut;

/*
 * An edge of the facet that lies on the plane dividing a cell, and the other plane through this
 * edge
 */
typedef struct rb_depth_rim
{
	uint32_t from;
	uint32_t to;
	uint32_t plane;
} rb_depth_rim;

typedef struct rb_depth_run
{
	rb_context *ctx;
	rb_exact_env env;
	double origin[3];
	double box[RB_ROOT_PLANES][9]; /* Triangles in the planes of the common box */
	RB_VEC(rb_depth_plane) planes;
	RB_VEC(rb_depth_point) points;
	rb_depth_tree tree[2];
	RB_VEC(rb_depth_branch) branches;
	RB_VEC(rb_depth_cell) cells;
	RB_VEC(rb_depth_cut) cuts;
	RB_VEC(rb_depth_rim) rim;
	RB_VEC(int) sides; /* Sides of a polygon's corners */
	uint64_t steps;
	/* Cells inside both solids */
	rb_depth_polygons facets;
	RB_VEC(uint32_t) cell_of; /* Cell of each facet */
	/* Cell of each face on a facet; face_plane has the plane of the face */
	RB_VEC(uint32_t) face_cell;
	RB_VEC(uint32_t) face_plane;
	uint32_t ncells;
} rb_depth_run;

/* ---- depth_points.c ---- */

/* Appends the plane of a triangle. `inward` is true if its normal points into the solid. */
extern rb_status rb_depth_add_plane(rb_depth_run *d, const double *t, bool inward);

/* Computes the coordinates of a point, appends it, and returns its number in *number. */
extern rb_status rb_depth_add_point(rb_depth_run *d, rb_depth_point p, uint32_t *number);

/*
 * Finds n . (p - corner of the triangle), where n is the normal of triangle t, as a fraction. For
 * three planes with normals n_k and heights h_k above that corner, it is the sum of h_k n . (n_k+1 x
 * n_k+2), divided by their determinant.
 */
extern void rb_depth_height(const rb_depth_run *d, const rb_depth_point *p, const double *t,
							rb_number *top, rb_number *below);

/*
 * Returns true and sets *x if a plane of the point, or its edge, determines its coordinate along an axis.
 */
extern bool rb_depth_coordinate(const rb_depth_run *d, const rb_depth_point *p, int axis,
								double *x);

/* Returns the side of a plane on which a point lies, 1 for that of the normal. */
extern int rb_depth_side(rb_depth_run *d, uint32_t point, uint32_t plane);

/* ---- depth_width.c ---- */

/* Raises *depth, which is at least 0 before, to the largest depth of all connected parts. */
extern rb_status rb_depth_largest(rb_depth_run *d, double *depth);

#ifdef __cplusplus
}
#endif

#endif /* RB_SOLID_DEPTH_H */
