/*
 * rb_relations.h
 *	  How bodies lie to each other: what the files behind rb_compose_relations share.
 *
 *		which triangles share an edge, and which are one sheet			fans.c
 *		on which side of a body is a sheet, on which side of a sheet its body	beside.c
 *		what is around an edge that lies on another body				around.c
 *		pairs that several threads note down, and their order			notes.c
 *		all of it put together											relations.c
 */
#ifndef RB_RELATIONS_H
#define RB_RELATIONS_H

#include "core/body/rb_body.h"
#include "core/base/rb_parallel.h"
#include "core/near/rb_tree.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define RB_NO_SHEET UINT32_MAX

/* ---- pairs that several threads note down (notes.c) ---- */

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

/* from any thread */
extern rb_status rb_notes_add(rb_notes *notes, const rb_pair *pairs, size_t n);

/*
 * In the order of what red is of, then of what blue is of, each below its number; NULL: a part is
 * of itself.  Red without what is told.
 */
extern rb_status rb_notes_sort(rb_notes *notes, const uint32_t *red_of, uint32_t nred,
							   const uint32_t *blue_of, uint32_t nblue);

/* ---- triangles at their edges, and sheets (fans.c) ---- */

/*
 * The fan of an edge: all triangles of the body that have it.  A sheet: triangles that hang
 * together over edges whose fan has two; it is called by its first triangle.  Triangles without area
 * and those of rows that are no bodies are in neither.  A triangle's side k goes from its
 * corner k to the next one, and has the number 3 * triangle + k.
 */
typedef struct rb_fans
{
	const rb_set *set;
	uint32_t *next;  /* of each side: the next one of its fan, in a ring */
	uint32_t *sheet; /* of each triangle, or RB_NO_SHEET */
	uint8_t
		*turned; /* of each triangle: does its normal point to the other side than its sheet's? */
	uint32_t *sheets; /* all of them, by row */
	uint32_t *tops;   /* of each of these, the triangle from which its rays go */
	uint32_t nsheets;
	uint32_t *start; /* in sheets, of each row, and one more */
	uint8_t *inner;  /* of each triangle that is a sheet: does its normal point into the body? */
} rb_fans;

/* of all rows of a set but the bad ones; inner is not known yet */
extern rb_status rb_fans_find(rb_context *ctx, const rb_set *set, const uint32_t *bad,
							  rb_fans *fans);
extern void rb_fans_free(rb_memory *memory, rb_fans *fans);

/* fills inner, of these rows (a byte each) or, NULL, of all (beside.c) */
extern rb_status rb_fans_find_inner(rb_context *ctx, const rb_backend *backend, rb_fans *fans,
									const uint8_t *rows);

/* the first side of a fan stands for all of it */
static inline bool
rb_fan_is_first(const rb_fans *fans, uint32_t side)
{
	uint32_t i = fans->next[side];

	while (i != side && i > side)
		i = fans->next[i];
	return i == side;
}

/* does the normal of a triangle point into its body? */
static inline bool
rb_points_inward(const rb_fans *fans, uint32_t triangle)
{
	return (fans->inner[fans->sheet[triangle]] != 0) != (fans->turned[triangle] != 0);
}

/* ---- points on sheets, or beside them, in bodies (beside.c) ---- */

/*
 * From n triangles, one point of each: in which bodies is it?  Noted as the number in this list, and a
 * triangle of the body.
 *
 * own: the point is off the triangle, on the side of its normal, and is asked for the triangle's own body
 * only (the two sets are one).  Else it is on the triangle, but on no other one that shares
 * only points with it; and of a body that shares more than points with it nothing right is said.
 */
extern rb_status rb_beside_cast(rb_context *ctx, const rb_backend *backend, const rb_fans *from,
								const uint32_t *triangle, uint32_t n, const rb_fans *bodies,
								bool own, rb_notes *inside);

/*
 * Is such a point of the triangle t, of a surface, in the body whose triangles the tree has?  t has an area, and shares
 * only points with the body's boundary.
 */
extern bool rb_beside_is_inside(const double *t, const rb_fans *body, const rb_tree *tree);

/* ---- around edges (around.c) ---- */

/* what there is: points of red only, of blue only, of both */
#define RB_RED_ALONE 1
#define RB_BLUE_ALONE 2
#define RB_IN_BOTH 4
#define RB_ALL_THREE 7

/* what there is around the edges of two triangles where they lie on the other's body */
extern unsigned rb_around_edges(rb_exact_env *env, const rb_fans *red, uint32_t r,
								const rb_fans *blue, uint32_t b, int dimension);

/* a part of a surface is inside of a body, or outside */
#define RB_SURFACE_IN 1
#define RB_SURFACE_OUT 2

/*
 * A triangle t of a surface and triangle i of a body share a curve or an area, and do not pass through each other: what
 * of t lies beside that.  A triangle on the boundary all around adds nothing.
 */
extern unsigned rb_around_surface(rb_exact_env *env, const double *t, const rb_fans *body,
								  uint32_t i);

#ifdef __cplusplus
}
#endif

#endif /* RB_RELATIONS_H */
