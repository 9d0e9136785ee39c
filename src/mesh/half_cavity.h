/*
 * half_cavity.h
 *	  Declares one side of a cavity, a polyhedron without tetrahedra, and the ways to fill it.
 */
#ifndef RB_MESH_HALF_CAVITY_H
#define RB_MESH_HALF_CAVITY_H

#include "mesh/recover.h"

/*
 * A face of the polyhedron with its inside on the positive side, or a face of a new tetrahedron
 * without a neighbor so far
 */
typedef struct rb_base
{
	uint32_t v[3];
	rb_tet_face outside; /* the mesh tetrahedron behind it, or RB_NONE */
	/* if outside is RB_NONE: the face of the sheet, or RB_NONE for a face of a new tetrahedron */
	uint32_t sheet;
	uint32_t inside;  /* the new tetrahedron in front of it << 2 | its corner, or RB_NONE */
	uint32_t behind;  /* the new tetrahedron behind it, if it exists */
	bool constrained; /* true if it is on a facet: nothing beyond it may be changed */
} rb_base;

typedef struct rb_cavity_half
{
	rb_base *bases;
	uint32_t nbases;
	uint32_t given; /* number of leading bases that are faces of the polyhedron */
	size_t bases_cap;
	uint32_t *points; /* vertices of the polyhedron */
	uint32_t npoints;
	size_t points_cap;
	uint32_t (*tets)[4]; /* tetrahedra that fill it */
	uint32_t ntets;
	size_t tets_cap;
	rb_table open;    /* maps a face's corners to its base */
	uint32_t *behind; /* polyhedron faces behind which tetrahedra must be removed, too */
	uint32_t nbehind;
	size_t behind_cap;
} rb_cavity_half;

typedef enum rb_filled
{
	RB_FILLED,
	/*
	 * some polyhedron faces (behind) are not Delaunay; tetrahedra behind them must be removed, too
	 */
	RB_FILLED_BEHIND,
	RB_FILLED_NOT /* cannot be filled, or no filling was found */
} rb_filled;

extern rb_status rb_half_base(rb_recovery *r, rb_cavity_half *half, uint32_t a, uint32_t b,
							  uint32_t c, rb_tet_face outside, uint32_t sheet, bool constrained);
extern rb_status rb_half_behind(rb_recovery *r, rb_cavity_half *half, uint32_t base);
/* Fills the polyhedron with tetrahedra (cavity_fill.c). */
extern rb_status rb_half_fill(rb_recovery *r, rb_cavity_half *half, rb_filled *filled);
extern void rb_half_free(rb_memory *memory, rb_cavity_half *half);

#endif /* RB_MESH_HALF_CAVITY_H */
