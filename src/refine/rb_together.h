/*
 * rb_together.h
 *	  What the files share that insert a few stuck points together.  Each makes what the next one needs:
 *
 *		together.c			which points, and which cells are around them
 *		together_plc.c		those cells with the points, as a PLC
 *		together_fits.c		which of its tetrahedra are to take the place of which cells, if any can
 *		together_replace.c	they do
 *
 * The PLC has numbers of its own: sites of the cells, ascending, then the new points.  That is the order they
 * have in the mesh, so of cospherical points the same ones are the farther out.
 */
#ifndef RB_TOGETHER_H
#define RB_TOGETHER_H

#include "refine/rb_refining.h"

#include "mesh/rb_table.h"

typedef struct rb_numbers
{
	uint32_t *e;
	size_t n;
	size_t cap;
} rb_numbers;

static inline rb_status
rb_numbers_add(rb_context *ctx, rb_numbers *l, uint32_t x)
{
	rb_status status = rb_array_grow(ctx, (void **) &l->e, &l->cap, l->n + 1, sizeof(*l->e));

	if (status == RB_OK)
		l->e[l->n++] = x;
	return status;
}

typedef struct rb_stuck_point
{
	double at[3];
	double raise;  /* its radius is that at least */
	uint32_t u, v; /* ends of the piece */
	uint32_t segment;
	rb_entry64 entry;
} rb_stuck_point;

/* of a cell: it is in the PLC; it holds the point that is looked at; it makes place */
#define RB_GROUP_NEAR 1u
#define RB_GROUP_HELD 2u
#define RB_GROUP_OLD 4u

/* of a tetrahedron, as long as it has no place: no new corner; a new corner; that, and seen; inside of the mesh */
#define RB_TET_UNKNOWN UINT32_MAX
#define RB_TET_NEW (UINT32_MAX - 1)
#define RB_TET_SEEN (UINT32_MAX - 2)
#define RB_TET_FRESH (UINT32_MAX - 3)

typedef struct rb_together
{
	rb_refining *r;
	/* the group (together.c) */
	rb_table stuck;    /* pieces that wait: to their places in r->stuck */
	rb_table hopeless; /* and those that have been tried in vain */
	uint8_t *marks;    /* of each cell: RB_GROUP_NEAR, ... */
	size_t marks_cap;
	rb_numbers near;        /* its cells */
	rb_numbers held;        /* scratch: cells whose spheres hold a point; marks of sites */
	rb_stuck_point *points; /* its points */
	size_t points_cap;
	uint32_t npoints;
	rb_table split; /* pieces to the points on them */
	/* its PLC (together_plc.c) */
	rb_plc plc;
	rb_numbers sites; /* its points but the new ones, ascending: which they are in the mesh */
	rb_table numbers; /* and back: sites, each a key with nothing behind it */
	double *at;       /* of all its points */
	size_t at_cap;
	uint64_t *walls; /* scratch: facet << 32 | face */
	size_t walls_cap;
	size_t nwalls;
	rb_numbers facets; /* of each facet of the PLC: its number in the mesh */
	uint32_t (*triangles)[3];
	uint32_t *facet_of;
	size_t triangles_cap, facet_of_cap;
	uint32_t (*segments)[2];
	rb_entry64 *entries; /* of each segment of the PLC: a cell that has it; of a half, its whole */
	size_t segments_cap, entries_cap;
	rb_table pieces; /* by their ends in the PLC: to the number there */
	/* its tetrahedralization, and what is new of it (together_fits.c) */
	rb_tets tets;
	rb_table faces; /* on facets: to the number of the facet in the mesh */
	rb_table rim;   /* faces of new tetrahedra that have no new corner: tetrahedron << 2 | corner */
	rb_table known; /* of these, those that are faces in the mesh: cell << 2 | corner */
	rb_table edges; /* of walls that go or come, with their facets */
	uint32_t *place; /* of each tetrahedron: RB_TET_UNKNOWN, ..., then its new cell */
	size_t place_cap;
	uint32_t *region; /* of each new one */
	size_t region_cap;
	rb_numbers fresh; /* those that come */
	rb_numbers old;   /* cells that make place */
	/* faces between what stays and what comes: cell << 2 | corner, tetrahedron << 2 | corner */
	uint64_t *pairs;
	size_t pairs_cap;
	size_t npairs;
	/* behind what came (together_replace.c) */
	rb_numbers ghosts;
} rb_together;

/* together_plc.c */
extern rb_status rb_together_put(rb_together *t);
/* the PLC's number of a site that is in it */
extern uint32_t rb_together_number(const rb_together *t, uint32_t site);
/* and back; of a new point: the site that it will be */
extern uint32_t rb_together_site(const rb_together *t, uint32_t number);
/* the PLC's number of the point on this piece; RB_NONE: there is none */
extern uint32_t rb_together_middle(const rb_together *t, uint32_t u, uint32_t v);

/* together_fits.c; *fits: what comes may take the place of what goes */
extern rb_status rb_together_look(rb_together *t, bool *fits);
/* has a tetrahedron one of the group's points?  Not one that was added */
extern bool rb_together_has_new(const rb_together *t, uint32_t tet);
/* the face of a tetrahedron from its other side; RB_NONE: there is nothing */
extern uint32_t rb_together_beyond(const rb_together *t, uint32_t face);
/* the facet that it is on; NULL: none */
extern const uint32_t *rb_together_wall(const rb_together *t, uint32_t face);

/* together_replace.c; what has been looked at, and fits */
extern rb_status rb_together_replace(rb_together *t);

#endif /* RB_TOGETHER_H */
