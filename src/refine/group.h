/*
 * group.h
 *	  Declares what the files of joint insertion share. Joint insertion adds a small group of
 *	  blocked points at once, or all of them. Each file prepares the input of the next:
 *
 *	group_insert.c    chooses the points and the cells around them, or all cells
 *	cells_plc.c       builds a PLC of these cells and points
 *	group_fit.c       finds which of its tetrahedra can replace which cells, and replaces them
 */
#ifndef RB_REFINE_GROUP_H
#define RB_REFINE_GROUP_H

#include "mesh/hash_table.h"
#include "refine/refining.h"

typedef RB_VEC(uint32_t) rb_numbers;

/*
 * A PLC of some cells of a mesh, and of points that split their subsegments. The vertices of the
 * PLC are numbered in the order of the mesh, and the new points follow them, as they will in the
 * mesh. Ties between cospherical points are thus broken in the same way.
 */
typedef struct rb_cells_plc
{
	rb_plc plc;        /* The caller sets its points and seeds */
	rb_table split;    /* Subsegments, mapped to the points that split them, from 0 */
	uint32_t nold;     /* Number of mesh vertices in the PLC, and of its first new point */
	rb_numbers sites;  /* Mesh vertices in the PLC, ascending; empty if the PLC has all of them */
	rb_table numbers;  /* Vertices, mapped to their numbers in the PLC, if there are `sites` */
	rb_numbers facets; /* Mesh facet of each facet */
	uint32_t (*triangles)[3];
	uint32_t *facet_of;
	size_t triangles_cap, facet_of_cap;
	uint32_t (*segments)[2];
	/* For each segment, an entry of the mesh subsegment that contains it */
	rb_entry64 *entries;
	size_t segments_cap, entries_cap;
	rb_table pieces; /* Pairs of points, mapped to the segment between them */
	/* Scratch: facet << 32 | face */
	uint64_t *walls, *spare;
	size_t walls_cap, spare_cap;
} rb_cells_plc;

/*
 * Builds the PLC of n cells, of all tetrahedra if `cells` is NULL (cells_plc.c). A cell of the list
 * has bit `listed` in `marks`.
 */
extern rb_status rb_cells_plc_build(rb_refining *r, rb_cells_plc *p, const uint32_t *cells,
									size_t n, const uint8_t *marks, uint8_t listed);

/* Frees the arrays of a PLC that was built from cells. */
extern void rb_cells_plc_free(rb_memory *memory, rb_cells_plc *p);

/* Returns the PLC number of a vertex that is in the PLC. */
static inline uint32_t
rb_cells_plc_number(const rb_cells_plc *p, uint32_t site)
{
	return p->sites.n == 0 ? site : *rb_table_get(&p->numbers, site, RB_NONE, RB_NONE);
}

/* Returns the mesh vertex of a PLC number; for a new point, the number it will get. */
static inline uint32_t
rb_cells_plc_site(const rb_refining *r, const rb_cells_plc *p, uint32_t number)
{
	if (number >= p->nold)
		return r->nsites + (number - p->nold);
	return p->sites.n == 0 ? number : p->sites.at[number];
}

/* Returns the PLC number of the point that splits a subsegment, or RB_NONE if none does. */
static inline uint32_t
rb_cells_plc_middle(const rb_cells_plc *p, uint32_t u, uint32_t v)
{
	const uint32_t *at = rb_table_get(&p->split, u, v, RB_NONE);

	return at != NULL ? p->nold + *at : RB_NONE;
}

typedef struct rb_blocked_point
{
	double at[3];
	double raise;  /* Minimum insertion radius of the point */
	uint32_t u, v; /* Ends of the subsegment */
	uint32_t segment;
	rb_entry64 entry;
} rb_blocked_point;

/*
 * Marks of a cell: it is in the PLC; its circumsphere contains the current point; it will be
 * replaced
 */
#define RB_GROUP_NEAR 1u
#define RB_GROUP_HELD 2u
#define RB_GROUP_OLD 4u

/*
 * States of a tetrahedron that has no cell yet: it has no new corner; it has one; it has one and
 * was visited; it has one and lies inside the mesh
 */
#define RB_TET_UNKNOWN UINT32_MAX
#define RB_TET_NEW (UINT32_MAX - 1)
#define RB_TET_SEEN (UINT32_MAX - 2)
#define RB_TET_FRESH (UINT32_MAX - 3)

typedef struct rb_joint
{
	rb_refining *r;
	/* The group (group_insert.c) */
	rb_table blocked;   /* Blocked subsegments, mapped to their indices in r->blocked */
	rb_table abandoned; /* Subsegments abandoned after failed attempts */
	uint8_t *marks;     /* RB_GROUP_ marks of each cell */
	size_t marks_cap;
	rb_numbers near; /* Cells of the group */
	/* Scratch: cells whose circumspheres contain a point, or marks of vertices */
	rb_numbers held;
	rb_blocked_point *points; /* Points of the group */
	size_t points_cap;
	uint32_t npoints;
	rb_cells_plc cells; /* The PLC of the group, and the points that split its subsegments */
	double *at;         /* Coordinates of all points of the PLC */
	size_t at_cap;
	/* Tetrahedralization of the PLC and its new part (group_fit.c) */
	rb_tets tets;
	rb_table faces; /* Faces on facets, mapped to the facet of the mesh */
	/*
	 * Cavity boundary: faces of new tetrahedra without a new corner, mapped to tetrahedron << 2 |
	 * corner
	 */
	rb_table rim;
	rb_table known;  /* Faces in rim that exist in the mesh, mapped to cell << 2 | corner */
	rb_table edges;  /* Edges of removed and of new constrained faces, with their facets */
	uint32_t *place; /* State of each tetrahedron (RB_TET_UNKNOWN, ...), later its new cell */
	size_t place_cap;
	uint32_t *region; /* Region of each new tetrahedron */
	size_t region_cap;
	rb_numbers fresh; /* New tetrahedra inside the mesh */
	rb_numbers old;   /* Cells to be replaced */
	/*
	 * Faces between remaining cells and new tetrahedra: cell << 2 | corner in the upper half,
	 * tetrahedron << 2 | corner in the lower
	 */
	RB_VEC(uint64_t) pairs;
	/* New ghosts behind new cells */
	rb_numbers ghosts;
} rb_joint;

/*
 * Replaces cells by tetrahedra of the PLC that contain the points of the group, if they fit
 * (group_fit.c). Sets *done if they did.
 */
extern rb_status rb_joint_exchange(rb_joint *t, bool *done);

/*
 * Returns true if a PLC number is a point of the group. Points that rb_tetrahedralize added do not
 * count.
 */
static inline bool
rb_joint_is_new(const rb_joint *t, uint32_t number)
{
	return number >= t->cells.nold && number < t->cells.plc.npoints;
}

/* Returns true if a corner of a tetrahedron is a point of the group. */
static inline bool
rb_joint_has_new(const rb_joint *t, uint32_t tet)
{
	const uint32_t *v = t->tets.tets[tet];

	return rb_joint_is_new(t, v[0]) || rb_joint_is_new(t, v[1]) || rb_joint_is_new(t, v[2]) ||
		   rb_joint_is_new(t, v[3]);
}

#endif /* RB_REFINE_GROUP_H */
