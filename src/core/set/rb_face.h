/*
 * rb_face.h
 *	  A face of any shape: rings in, triangles out.
 *
 * A face is the triangulation of its rings, made in the plane of the two axes that
 * its Newell normal is steepest against; its corners are where they are stored.
 *
 *		rings -> corners -> which axis is dropped		face.c
 *						 -> convex and small: at once	face.c
 *						 -> near enough to one plane?	polygon_flatness.c
 *						 -> the Delaunay triangulation of all corners		face_points.c
 *						 -> edge by edge, that of the rings					face_edges.c
 *						 -> what is inside becomes triangles				face_inside.c
 *
 * Every decision is the sign of a determinant of stored numbers, taken exactly, and
 * corners on one circle are told apart by a rule that knows their coordinates only
 * (rb_face_incircle).  So the triangles do not depend on where a ring starts, which
 * way it runs, or which hole comes first.
 *
 * A triangulation is half-edges: h runs from vertex half[h].from with a region on
 * its left, `next` and `prev` run around that region, and h ^ 1 is the same edge the
 * other way.  (L. Guibas and J. Stolfi: Primitives for the Manipulation of General
 * Subdivisions and the Computation of Voronoi Diagrams, 1985, without the dual.)
 */
#ifndef RB_FACE_H
#define RB_FACE_H

#include "core/base/rb_base.h"
#include "core/set/rb_set.h"

typedef struct rb_corner
{
	double at[3];
	uint32_t ring;   /* 0: the outer one */
	uint32_t next;   /* corner of the ring */
	uint32_t vertex; /* corners in one place are one vertex */
} rb_corner;

/* sorted by x, then y: of two vertices the smaller number is the smaller one */
typedef struct rb_vertex
{
	double at[2]; /* on the axes that are kept */
	uint32_t corner;
	uint32_t half; /* one that starts here */
} rb_vertex;

typedef struct rb_half
{
	uint32_t from;
	uint32_t next;
	uint32_t prev;
	uint32_t
		mark; /* face_edges.c: the border of a hole in the making; face_inside.c: where its region is */
} rb_half;

#define RB_NONE UINT32_MAX

/* an edge of a ring lies on an edge of the triangulation */
typedef struct rb_use
{
	uint32_t ring;
	bool odd;      /* so many times */
	uint32_t next; /* use of the same edge by another ring */
} rb_use;

typedef struct rb_face
{
	rb_builder *b;
	rb_geometry_info *info;
	rb_error *error;
	uint32_t ncorners;
	uint32_t nrings;
	rb_corner *corner;

	int axis[2]; /* that are kept */
	int turn;    /* of the outer ring on them: 1 left, -1 right, 0 neither */

	uint32_t nvertices;
	rb_vertex *vertex;
	rb_half *half;
	uint32_t nhalves;
	uint32_t spare;   /* first of the half-edges to be used again, by `next` */
	uint32_t outside; /* a half-edge with all that is outside of the convex hull on its left */
	uint32_t *used;   /* edge, which is h / 2, to its first use; RB_NONE: no ring's edge */
	rb_use *use;
	uint32_t nuses;
	uint32_t uses_cap;
	uint32_t *order; /* of corners, whose edges are put in */
	uint32_t *work;  /* 6 arrays of `span` */
	uint32_t span;

	uint64_t random;
	uint32_t quiet; /* work since should_stop was asked */
	bool stopped;
} rb_face;

/* ---- face.c ---- */

/* a ring begins: the outer one, then the holes */
extern void rb_face_begin(rb_face *f, rb_builder *b, rb_geometry_info *info, rb_error *error);
extern rb_geometry_fault rb_face_reserve(rb_face *f, uint32_t more);
extern rb_geometry_fault rb_face_finish(rb_face *f);

/* ---- polygon_flatness.c ---- */

/*
 * Returns RB_GEOMETRY_NOT_FLAT if a corner lies farther from the plane of the face than the builder's
 * tolerance allows; exact.  The Newell normal of the outer ring must not be zero.
 */
extern rb_geometry_fault rb_face_check_flat(rb_face *f);

/* a corner more of the ring at hand; there is room.  One that repeats the last is none. */
static inline void
rb_face_add(rb_face *f, const double *at, bool first)
{
	rb_corner *c = f->corner + f->ncorners;

	if (!first && c[-1].at[0] == at[0] && c[-1].at[1] == at[1] && c[-1].at[2] == at[2])
		return;
	memcpy(c->at, at, sizeof c->at);
	c->ring = f->nrings;
	c->next = ++f->ncorners;
}

/* the ring, which started with that corner, is closed: its last corner is its first again */
static inline void
rb_face_end_ring(rb_face *f, uint32_t first)
{
	if (f->ncorners > first + 1)
		f->ncorners--;
	f->corner[f->ncorners - 1].next = first;
	f->nrings++;
}

/* so much work was done: is it to stop? */
static inline bool
rb_face_stops(rb_face *f, uint32_t work)
{
	f->quiet += work;
	if (f->quiet >= 1u << 12)
	{
		f->quiet = 0;
		if (f->b->should_stop != NULL && f->b->should_stop())
			f->stopped = true;
	}
	return f->stopped;
}

/* a fault, and the corners where it is */
static inline rb_geometry_fault
rb_face_fault(const rb_face *f, rb_geometry_fault fault, uint32_t n, const uint32_t *corners)
{
	f->info->axis = 3 - f->axis[0] - f->axis[1];
	for (uint32_t i = 0; i < n; i++)
		memcpy(f->info->at[i], f->corner[corners[i]].at, sizeof f->info->at[i]);
	return fault;
}

/* the order of points in the plane */
static inline bool
rb_face_is_below(const double *a, const double *b)
{
	return a[0] < b[0] || (a[0] == b[0] && a[1] < b[1]);
}

/* ---- half-edges (face_points.c) ---- */

static inline uint32_t
rb_half_to(const rb_face *f, uint32_t h)
{
	return f->half[h ^ 1].from;
}

/* the next and the last one from the same vertex, counterclockwise */
static inline uint32_t
rb_half_left(const rb_face *f, uint32_t h)
{
	return f->half[h].prev ^ 1;
}

static inline uint32_t
rb_half_right(const rb_face *f, uint32_t h)
{
	return f->half[h ^ 1].next;
}

extern uint32_t rb_half_make(rb_face *f, uint32_t from, uint32_t to);
extern uint32_t rb_half_connect(rb_face *f, uint32_t a, uint32_t b);
extern void rb_half_drop(rb_face *f, uint32_t h);

/* on which side of a to b is c? */
extern int rb_face_side(const rb_face *f, uint32_t a, uint32_t b, uint32_t c);

/* is d inside the circle through a, b, c, which turn left?  1 or -1, never 0 for four points */
extern int rb_face_incircle(const double *a, const double *b, const double *c, const double *d);

extern rb_geometry_fault rb_face_points(rb_face *f);

/* ---- face_edges.c, face_inside.c ---- */

extern rb_geometry_fault rb_face_edges(rb_face *f);
extern rb_geometry_fault rb_face_inside(rb_face *f);

#endif /* RB_FACE_H */
