/*
 * cells_plc.h
 *	  Declares the PLC of some cells of a mesh, and of points that split their subsegments.
 *
 * The vertices of the PLC are numbered in the order of the mesh, and the new points follow them, as
 * they will in the mesh. Ties between cospherical points are thus broken in the same way.
 */
#ifndef RB_REFINE_CELLS_PLC_H
#define RB_REFINE_CELLS_PLC_H

#include "core/base/base.h"
#include "mesh/hash_table.h"
#include "refine/refining.h"

typedef RB_VEC(uint32_t) rb_numbers;

typedef struct rb_cells_plc
{
	rb_plc plc;        /* The caller sets its points and seeds */
	rb_table split;    /* Subsegments, mapped to the points that split them, from 0 */
	uint32_t nold;     /* Number of mesh vertices in the PLC, and of its first new point */
	rb_numbers sites;  /* These vertices, ascending; empty if they are all vertices of the mesh */
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

#endif /* RB_REFINE_CELLS_PLC_H */
