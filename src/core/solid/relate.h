/*
 * relate.h
 *	  Declares what the files behind rb_compose_relations share to relate pairs of solids.
 *
 *		triangles at each edge, and sheets of triangles;
 *		side of a solid on which a sheet lies; side of a sheet on
 *		which its own solid lies									sheets.c
 *		surroundings of an edge that lies on another solid;
 *		the relation of two solids									relate.c
 */
#ifndef RB_SOLID_RELATE_H
#define RB_SOLID_RELATE_H

#include "core/solid/solid.h"
#include "core/base/parallel.h"
#include "core/nearest/box_tree.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define RB_NO_SHEET UINT32_MAX

/* ---- list of pairs filled by several threads (sheets.c) ---- */

typedef struct rb_notes
{
	rb_context *ctx;
	pthread_mutex_t lock;
	rb_pair *at;
	size_t n;
	size_t cap;
} rb_notes;

extern void rb_notes_open(rb_notes *notes, rb_context *ctx);
extern void rb_notes_close(rb_notes *notes);

/* Appends pairs; callable from any thread. */
extern rb_status rb_notes_add(rb_notes *notes, const rb_pair *pairs, size_t n);

/*
 * Sorts pairs by red_of of their red part, then by blue_of of their blue part. If an array is NULL,
 * the part number itself is the key. Payload bits in the red word are ignored.
 */
extern rb_status rb_notes_sort(rb_notes *notes, const uint32_t *red_of, const uint32_t *blue_of);

/* ---- edge fans and sheets (sheets.c) ---- */

/*
 * The edge fans and sheets of a set of solids.
 *
 * The fan of an edge is the set of all triangles of the solid that have this edge. A sheet is a
 * maximal set of triangles connected across edges whose fan has exactly two triangles; its first
 * triangle identifies it. Triangles without area and triangles of invalid rows belong to no fan or
 * sheet. Side k of a triangle runs from its vertex k to the next vertex and has the number 3 *
 * triangle + k.
 */
typedef struct rb_fans
{
	const rb_set *set;
	uint32_t *next;  /* For each side, the next side of its fan, as a circular list */
	uint32_t *sheet; /* Sheet of each triangle, or RB_NO_SHEET */
	/* For each triangle, 1 if its normal is opposite to that of its sheet's first triangle */
	uint8_t *turned;
	uint32_t *sheets; /* All sheets, in row order */
	uint32_t *tops;   /* For each sheet, the triangle from which its rays start */
	uint32_t nsheets;
	uint32_t *start; /* Start of each row in `sheets`, with one extra entry at the end */
	/* For each triangle that identifies a sheet, 1 if its normal points into the solid */
	uint8_t *inner;
} rb_fans;

/* Finds fans and sheets of all rows of a set except the bad ones; `inner` is not yet computed. */
extern rb_status rb_fans_find(rb_context *ctx, const rb_set *set, const uint32_t *bad,
							  rb_fans *fans);
extern void rb_fans_free(rb_memory *memory, rb_fans *fans);

/*
 * Computes `inner` for the rows with a nonzero byte in `rows`, or for all rows if NULL
 * (sheets.c).
 */
extern rb_status rb_fans_find_inner(rb_context *ctx, const rb_backend *backend, rb_fans *fans,
									const uint8_t *rows);

/* Returns true if the side has the lowest number in its fan, and so represents the fan. */
static inline bool
rb_fan_is_first(const rb_fans *fans, uint32_t side)
{
	uint32_t i = fans->next[side];

	while (i != side && i > side)
		i = fans->next[i];
	return i == side;
}

/* Returns true if the normal of a triangle points into its solid. */
static inline bool
rb_points_inward(const rb_fans *fans, uint32_t triangle)
{
	return (fans->inner[fans->sheet[triangle]] != 0) != (fans->turned[triangle] != 0);
}

/* ---- location of points on or near sheets (sheets.c) ---- */

/*
 * Locates one point of each of n triangles relative to solids. For each solid that contains the
 * point it appends a pair of the triangle's index in the list and a triangle of the solid.
 *
 * If `own` is set, both sets are the same. The point is then off the triangle, on the side of its
 * normal, and is tested only against the triangle's own solid. Otherwise the point lies on the
 * triangle, and on no other triangle that shares only isolated points with it. The result is
 * undefined for a solid that shares more than isolated points with the triangle.
 */
extern rb_status rb_sheet_points_locate(rb_context *ctx, const rb_backend *backend,
										const rb_fans *from, const uint32_t *triangle, uint32_t n,
										const rb_fans *solids, bool own, rb_notes *inside);

/*
 * Returns true if a point of triangle t of a surface is inside the solid whose triangles are in the
 * tree. Triangle t has an area and shares only isolated points with the boundary of the solid.
 */
extern bool rb_sheet_point_is_inside(const double *t, const rb_fans *solid, const rb_tree *tree);

/* Bits for the kinds of points that exist: in red only, in blue only, in both */
#define RB_RED_ALONE 1
#define RB_BLUE_ALONE 2
#define RB_IN_BOTH 4
#define RB_ALL_THREE 7

/* Bits: part of a surface is inside a solid, or outside it */
#define RB_SURFACE_IN 1
#define RB_SURFACE_OUT 2

/*
 * Classifies the parts of surface triangle t next to the curve or area that it shares with triangle
 * i of a solid. The two triangles do not pass through each other. Parts of t on the boundary of the
 * solid are not reported.
 */
extern unsigned rb_around_surface(rb_exact_env *env, const double *t, const rb_fans *solid,
								  uint32_t i);

#ifdef __cplusplus
}
#endif

#endif /* RB_SOLID_RELATE_H */
