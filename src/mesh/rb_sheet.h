/*
 * rb_sheet.h
 *	  A facet's own triangulation, with the points that were added on it; and what the cavity around
 *	  a part of it shares with it.
 */
#ifndef RB_SHEET_H
#define RB_SHEET_H

#include "mesh/rb_recover.h"

/* which faces of the sheet the mesh has */
#define RB_SHEET_MISSING UINT32_MAX

typedef struct rb_sheet_face
{
	uint32_t v[3]; /* counterclockwise from above */
	uint32_t
		n[3]; /* across the edge opposite to corner i: face << 2 | its corner there; or RB_NONE */
	uint32_t
		region; /* 0: the mesh has it; RB_SHEET_MISSING: it has not; else in which region it is */
	rb_face there; /* where the mesh has it */
} rb_sheet_face;

typedef struct rb_sheet
{
	uint32_t facet;
	uint32_t n;
	uint32_t
		above; /* the number of a point above the facet; good until a point is added to the mesh */
	size_t cap;
	rb_sheet_face *faces;
	rb_table edges;
	uint32_t *queue; /* edges to look at */
	size_t queue_cap;
} rb_sheet;

/* of facet f: its triangles, the points added on its boundary and inside, Delaunay */
extern rb_status rb_sheet_make(rb_recovery *r, rb_sheet *sheet, uint32_t facet);
extern void rb_sheet_free(rb_memory *memory, rb_sheet *sheet);

/* turns the edge opposite to corner i of face f around, if the two faces there are convex; true: it did */
extern bool rb_sheet_flip(rb_recovery *r, rb_sheet *sheet, uint32_t f, uint32_t i);

/*
 * Makes the faces of the sheet of one region faces of the mesh (cavity.c).  RB_OK, *done false: it
 * cannot; then nothing has changed.
 */
typedef struct rb_cavity_work rb_cavity_work;
extern rb_status rb_cavity_open(rb_recovery *r, rb_cavity_work **work);
extern void rb_cavity_close(rb_recovery *r, rb_cavity_work **work);
extern rb_status rb_cavity_recover(rb_recovery *r, rb_cavity_work *work, const rb_sheet *sheet,
								   uint32_t region, bool *done);

#endif /* RB_SHEET_H */
