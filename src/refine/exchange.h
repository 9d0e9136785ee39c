/*
 * exchange.h
 *	  Declares what the removal of slivers and Delaunay flips share: an exchange of cells for others, and the search
 *	  for the best location of a vertex.
 *
 *	exchange.c       exchanges a set of cells for other cells of the same space
 *	edge_flips.c     prepares exchanges that remove an edge, also a diagonal of a facet
 *	slivers.c        removes slivers: flips, moved vertices, added vertices
 *	delaunay_flips.c flips faces that are not Delaunay; counts them
 */
#ifndef RB_REFINE_EXCHANGE_H
#define RB_REFINE_EXCHANGE_H

#include "refine/refining.h"

/* Maximum numbers of cells that are exchanged at once, before and after */
#define RB_EXCHANGE_CELLS 128
#define RB_EXCHANGE_TETS 256

/* The vertex whose location is being searched, as a corner of new cells */
#define RB_SOUGHT (UINT32_MAX - 2)

/* A face between the exchanged cells and the others */
typedef struct rb_exchange_face
{
	uint32_t v[3];   /* As in rb_cell_face_corner, seen from the old cell */
	uint32_t beyond; /* Link to the cell on the other side */
	uint32_t facet;
	bool wall;
	bool matched; /* True if a new cell has this face */
} rb_exchange_face;

/* An exchange of cells */
typedef struct rb_exchange
{
	rb_refining *r;
	rb_exact_env env;
	double at[3]; /* Location of RB_SOUGHT */
	uint32_t old[RB_EXCHANGE_CELLS];
	uint32_t nold;
	uint32_t tets[RB_EXCHANGE_TETS][4]; /* Corners of the new cells */
	uint32_t ntets;
	uint32_t slots[RB_EXCHANGE_TETS]; /* Cells that the new tetrahedra became */
	/*
	 * Facet of which two faces are exchanged for two others, or RB_NOWHERE. Then the old cells and
	 * the new ones lie on both sides of the facet: those on the side of the first old cell, which is
	 * not a ghost, come first.
	 */
	uint32_t facet;
	uint32_t walls[2][3]; /* Corners of the two new faces on the facet */
	uint32_t nfirst;      /* Number of new cells on the side of the first old cell */
	rb_exchange_face rim[2 * RB_EXCHANGE_TETS];
	uint32_t nrim;
	/* For each face of a new cell, the new cell's face or rim face that matches it */
	uint32_t mates[RB_EXCHANGE_TETS][4];
	uint32_t segments[6 * RB_EXCHANGE_CELLS][2];
	uint32_t nsegments;
	RB_VEC(uint32_t) spare; /* Cell slots that became free */
} rb_exchange;

/* Returns the location of a vertex, which may be RB_SOUGHT. */
static inline const double *
rb_exchange_at(const rb_exchange *x, uint32_t v)
{
	return v == RB_SOUGHT ? x->at : rb_site_at(&x->r->mesh, v);
}

/*
 * Returns the measure of the smallest dihedral angle (angles.h) of a tetrahedron, or -1 if it is
 * not positively oriented.
 */
extern double rb_exchange_angle(rb_exchange *x, const uint32_t *v);

/* Returns the smallest measure of a dihedral angle of the old cells, without ghosts. */
extern double rb_exchange_old_angle(rb_exchange *x);

/*
 * Returns the smallest measure of a dihedral angle of the new cells or, as soon as it is not
 * greater than `least`, any value that is not greater. *first is the new cell that is measured
 * first; it becomes the one that decided.
 */
extern double rb_exchange_new_angle(rb_exchange *x, double least, uint32_t *first);

/* Returns true if `cell` is one of the old cells. */
extern bool rb_exchange_has(const rb_exchange *x, uint32_t cell);

/*
 * Returns true if there are no more bad tetrahedra (criteria.h) among the new cells than among the
 * old ones.
 */
extern bool rb_exchange_keeps_bounds(const rb_exchange *x);

/*
 * Sets the new cells to those that connect a vertex, which may be RB_SOUGHT, with the faces around
 * the old cells that do not contain the vertex. Returns false if they are too many.
 */
extern bool rb_exchange_star(rb_exchange *x, uint32_t vertex);

/*
 * Makes the cells around an edge of a cell the old cells. Returns false if the edge is on a segment or
 * a facet, or if they are too many.
 */
extern bool rb_exchange_collect_ring(rb_exchange *x, uint32_t cell, uint32_t e);

/*
 * Prepares an exchange that removes an edge of a cell, which may be a diagonal in a flat facet.
 * Returns the smallest measure of a dihedral angle of the new cells, or 2 if there are none; or -1 if
 * it is not greater than that of the old ones, or if the edge cannot be removed.
 */
extern double rb_exchange_flip_edge(rb_exchange *x, uint32_t cell, uint32_t e);

/*
 * Replaces the old cells by the new ones. The new cells must be positively oriented. Sets *done to
 * false, and changes nothing, if they do not have the same boundary, or lack a vertex, a
 * constrained face or a subsegment of the old cells. Two faces of x->facet may be missing; then
 * x->walls become faces of this facet.
 *
 * This is sufficient for a valid mesh: the new tetrahedra, taken with their orientations, have the
 * same boundary as the old ones, so they cover each point as many times as these, which is once
 * inside of the boundary and never outside. As each of them counts positively, none overlap. If
 * x->facet is on the boundary of the mesh, there are ghosts among both, and the caller must make
 * sure that the space of the other new cells is that of the other old cells or a part of it.
 */
extern rb_status rb_exchange_cells(rb_exchange *x, bool *done);

#endif /* RB_REFINE_EXCHANGE_H */
