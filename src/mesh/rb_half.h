/*
 * rb_half.h
 *	  One side of a cavity: a polyhedron without tetrahedra, and how it is filled.
 */
#ifndef RB_HALF_H
#define RB_HALF_H

#include "mesh/rb_recover.h"

/* a face of the polyhedron, its inside on the positive side; or one of a new tetrahedron that has no neighbour yet */
typedef struct rb_base
{
	uint32_t v[3];
	rb_face outside; /* the tetrahedron behind it, where it is one of the mesh; or RB_NONE ... */
	uint32_t
		sheet; /* ... and then the face of the sheet that it is; or RB_NONE: it is of a new one */
	uint32_t inside;  /* the new tetrahedron in front of it << 2 | its corner; RB_NONE: none yet */
	uint32_t behind;  /* the new one behind it, if there is one */
	bool constrained; /* it is on a facet: nothing beyond it may be touched */
} rb_base;

typedef struct rb_half
{
	rb_base *bases;
	uint32_t nbases;
	uint32_t given; /* the first of them are the polyhedron's own */
	size_t bases_cap;
	uint32_t *points; /* its corners */
	uint32_t npoints;
	size_t points_cap;
	uint32_t (*tets)[4]; /* what fills it */
	uint32_t ntets;
	size_t tets_cap;
	rb_table open;    /* faces by their corners to bases */
	uint32_t *behind; /* given faces that what is behind them has to go for */
	uint32_t nbehind;
	size_t behind_cap;
} rb_half;

typedef enum rb_filled
{
	RB_FILLED,
	RB_FILLED_BEHIND, /* some given faces (behind) are not Delaunay: what is behind them has to go, too */
	RB_FILLED_NOT /* there is no way, or none was found */
} rb_filled;

extern rb_status rb_half_base(rb_recovery *r, rb_half *half, uint32_t a, uint32_t b, uint32_t c,
							  rb_face outside, uint32_t sheet, bool constrained);
extern rb_status rb_half_behind(rb_recovery *r, rb_half *half, uint32_t base);
/* fill.c */
extern rb_status rb_half_fill(rb_recovery *r, rb_half *half, rb_filled *filled);
extern void rb_half_free(rb_memory *memory, rb_half *half);

/* wrap.c, carve.c: the two ways to fill it */
extern rb_status rb_half_wrap(rb_recovery *r, rb_half *half, bool only_seen, rb_filled *filled);
extern rb_status rb_half_carve(rb_recovery *r, rb_half *half, rb_filled *filled);

#endif /* RB_HALF_H */
