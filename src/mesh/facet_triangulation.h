/*
 * facet_triangulation.h
 *	  Declares a facet's own triangulation, including its Steiner points, and the cavity that
 *	  recovers a part of it.
 */
#ifndef RB_MESH_FACET_TRIANGULATION_H
#define RB_MESH_FACET_TRIANGULATION_H

#include "mesh/recover.h"

/* Value of rb_sheet_face.region for a face that the mesh lacks */
#define RB_SHEET_MISSING UINT32_MAX

typedef struct rb_sheet_face
{
	uint32_t v[3]; /* corners, counterclockwise from above */
	/* neighbor across the edge opposite corner i as face << 2 | its corner, or RB_NONE */
	uint32_t n[3];
	/* 0 if the mesh has the face, RB_SHEET_MISSING if not; later the index of its missing region */
	uint32_t region;
	rb_tet_face there; /* the corresponding face of the mesh, if it exists */
} rb_sheet_face;

typedef struct rb_sheet
{
	uint32_t facet;
	uint32_t n;
	uint32_t above; /* index of a point above the facet; valid until a point is added to the mesh */
	size_t cap;
	rb_sheet_face *faces;
	rb_table edges;
	uint32_t *queue; /* edges to be checked */
	size_t queue_cap;
} rb_sheet;

/*
 * Builds the constrained Delaunay triangulation of a facet from its triangles and its Steiner
 * points.
 */
extern rb_status rb_sheet_build(rb_recovery *r, rb_sheet *sheet, uint32_t facet);
extern void rb_sheet_free(rb_memory *memory, rb_sheet *sheet);

/*
 * Flips the edge opposite corner i of face f if its two faces form a convex quadrilateral; returns
 * true if it did.
 */
extern bool rb_sheet_flip(rb_recovery *r, rb_sheet *sheet, uint32_t f, uint32_t i);

/*
 * Recovers the sheet's faces of one region as faces of the mesh (cavity.c). Returns RB_OK with
 * *done false if that is impossible; the mesh is then unchanged.
 */
typedef struct rb_cavity_work rb_cavity_work;
extern rb_status rb_cavity_open(rb_recovery *r, rb_cavity_work **work);
extern void rb_cavity_close(rb_recovery *r, rb_cavity_work **work);
extern rb_status rb_cavity_recover(rb_recovery *r, rb_cavity_work *work, const rb_sheet *sheet,
								   uint32_t region, bool *done);

#endif /* RB_MESH_FACET_TRIANGULATION_H */
