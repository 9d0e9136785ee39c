/*
 * sections.h
 *	  Declares sections of solids and surfaces by planes: planes, nodes, cuts, rings.
 *
 * A plane cuts a triangle if one of its corners is below the plane and another one is not: a corner
 * in the plane counts as above it. The section is therefore the limit of the sections by parallel
 * planes that approach the plane from below. The triangle then has two edges with an end below and
 * an end above the plane, and the cut runs from one edge to the other.
 *
 * A node is the point where such an edge meets the plane. It is identified by the edge, which is a
 * pair of corners, or by the upper corner if that corner is in the plane. No node is identified by
 * coordinates, so the cuts of a closed surface always form closed rings.
 *
 * Whether a node is to the left of a cut is decided by the plane of the cut's triangle, because a
 * cut is the intersection of that plane and the plane of the section. This is the sign of a
 * determinant of input points or of a combination of two such determinants.
 */
#ifndef RB_SOLID_SECTIONS_H
#define RB_SOLID_SECTIONS_H

#include "core/exact/bounded.h"
#include "core/intersection/intersection.h"
#include "core/join/join.h"
#include "core/solid/solid.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* ---- planes and nodes (section_points.c) ---- */

typedef struct rb_section_plane
{
	const double *point;  /* A point of the plane, the origin of its coordinates u and v */
	rb_number normal[3];  /* Exact normal */
	rb_bounded rough[3];  /* Normal with bounds */
	rb_interval range[3]; /* Normal as intervals */
	int axis;             /* Axis of a normal with one component other than 0, or -1 */
	int sign;             /* Sign of that component */
	int drop;             /* Axis of the largest component of the normal */
	int turn;             /* Sign of that component */
	/* Directions of u and v, which are at right angles, and squares of their lengths */
	rb_number direction[2][3];
	rb_number square[2];
	rb_bounded rough_direction[2][3];
	rb_bounded rough_length[2];
} rb_section_plane;

/*
 * Sets the plane of an object of kind RB_TRIANGLE3 (three points) or RB_PLANE3 (a point and a
 * normal). Returns false if the normal is 0.
 */
extern bool rb_section_plane_set(rb_section_plane *plane, rb_kind kind, const double *coords);

/* Returns the sign of the height of a point above a plane. */
extern int rb_section_sign(const rb_section_plane *plane, const double *p);

/* Returns false if no point of a box is below the plane, or all are. */
extern bool rb_section_may_cut_box(const rb_section_plane *plane, const double lo[3],
								   const double hi[3]);

/* The point where an edge meets the plane, or a corner in the plane, which is then both ends */
typedef struct rb_section_node
{
	const double *below;
	const double *above;
	double at[3]; /* Nearest doubles */
} rb_section_node;

/* Computes the nearest doubles of a node. */
extern void rb_section_round(const rb_section_plane *plane, rb_section_node *node);

/* Computes the nearest doubles of the coordinates u and v of a node. */
extern void rb_section_flatten(const rb_section_plane *plane, const rb_section_node *node,
							   double uv[2]);

/* Compares two nodes by the coordinate of an axis. */
extern int rb_section_compare(const rb_section_plane *plane, const rb_section_node *a,
							  const rb_section_node *b, int axis);

/* Returns the side of a triangle's plane on which a node lies, as orient3d does. */
extern int rb_section_side(rb_exact_env *env, const rb_section_plane *plane, const double *triangle,
						   const rb_section_node *node);

/* ---- one section (section_rings.c) ---- */

/* A cut, from one node to another one. If the surface is closed, its interior is to the left. */
typedef struct rb_section_cut
{
	uint32_t from;
	uint32_t to;
	uint32_t triangle; /* Triangle of the section */
	uint32_t ring;     /* Ring that contains the cut */
	bool turned;       /* True if the triangle's normal points to the left of the cut */
} rb_section_cut;

/* The normal of a triangle that the plane cuts */
typedef enum rb_section_normal
{
	RB_SECTION_OUTWARD, /* Points out of the solid, or the surface is not closed */
	RB_SECTION_INWARD,
	RB_SECTION_FLAT /* The triangle has no area */
} rb_section_normal;

/* A simple ring: cuts from..from + n - 1 of `order`, from the cut that starts at its lowest node */
typedef struct rb_section_ring
{
	uint32_t from;
	uint32_t n;
	uint32_t least; /* Lowest and highest node */
	uint32_t most;
	uint32_t polygon; /* Ring that is the outer ring of the polygon */
	uint32_t walk;    /* Number of the walk around an area to which the ring belongs */
	bool outer;
} rb_section_ring;

/* The section of one surface by one plane, with buffers that are reused; zeros at first */
typedef struct rb_section
{
	rb_context *ctx;
	rb_exact_env env;
	const rb_section_plane *plane;
	/* Triangles that the plane cuts, and the signs of the heights of their corners */
	uint32_t n;
	double *points;
	size_t points_cap;
	int8_t *sign;
	size_t sign_cap;
	uint8_t *inward; /* An rb_section_normal for each triangle */
	size_t inward_cap;
	rb_point_hash corners;
	uint64_t *key; /* Identities of the nodes, sorted */
	size_t key_cap;
	uint32_t *parent; /* Nodes that are the same point */
	size_t parent_cap;
	rb_section_node *node;
	size_t node_cap;
	uint32_t nnodes;
	rb_section_cut *cut;
	size_t cut_cap;
	uint32_t ncuts;
	uint32_t *start; /* First cut from each node, and the end */
	size_t start_cap;
	uint32_t *next; /* Cut that follows each cut */
	size_t next_cap;
	uint32_t *path; /* Cuts on the way; then the cuts of all rings or lines, in order */
	size_t path_cap;
	uint32_t *order;
	size_t order_cap;
	uint32_t *place; /* Position of each node on the way, plus 1 */
	size_t place_cap;
	uint64_t *ends; /* Ends of cuts at each node */
	size_t ends_cap;
	rb_section_ring *ring;
	size_t ring_cap;
	uint32_t nrings;
	rb_boxes boxes;
	uint8_t *odd;
	size_t odd_cap;
	uint32_t *touched; /* Rings whose parity is not even, for a search */
	size_t touched_cap;
} rb_section;

/* Receives the points of a section: mark is an rb_section_mark */
typedef struct rb_section_writer
{
	rb_status (*put)(void *user, rb_section_mark mark, const rb_section_node *node);
	void *user;
} rb_section_writer;

/*
 * Computes the section of a closed surface, or of any surface, and writes its rings or lines. The
 * caller has set the triangles with their signs and `inward`.
 */
extern rb_status rb_section_polygons(rb_section *s, const rb_section_writer *to);
extern rb_status rb_section_lines(rb_section *s, const rb_section_writer *to);

/* Frees the buffers of a section. */
extern void rb_section_free(rb_memory *memory, rb_section *s);

#ifdef __cplusplus
}
#endif

#endif /* RB_SOLID_SECTIONS_H */
