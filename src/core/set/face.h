/*
 * face.h
 *	  Triangulates a polygon face of any shape, with holes: rings in, triangles out.
 *
 * A face is triangulated in a coordinate plane. The axis along which the Newell normal of its outer
 * ring has the largest component is dropped. The vertices of the triangles keep their stored 3D
 * coordinates.
 *
 *        rings -> corners -> choose the axis to drop                 polygon.c
 *                         -> small convex polygon: done              polygon.c
 *                         -> check flatness                          polygon.c
 *                         -> Delaunay triangulation of all corners   polygon_delaunay.c
 *                         -> insert the edges of the rings           polygon_delaunay.c
 *                         -> emit the triangles inside               polygon_delaunay.c
 *
 * Every decision is the exact sign of a determinant of stored coordinates. Cocircular corners are
 * distinguished by a rule that depends only on their coordinates (rb_face_incircle). The triangles
 * therefore do not depend on the starting point or the direction of a ring, nor on the order of the
 * holes.
 *
 * A triangulation consists of half-edges. Half-edge h starts at vertex half[h].from and has a
 * region on its left, `next` and `prev` traverse the boundary of that region, and h ^ 1 is the same
 * edge in the opposite direction. (L. Guibas and J. Stolfi: Primitives for the Manipulation of
 * General Subdivisions and the Computation of Voronoi Diagrams, 1985, without the dual.)
 */
#ifndef RB_SET_FACE_H
#define RB_SET_FACE_H

#include "core/base/base.h"
#include "core/set/set.h"

typedef struct rb_corner
{
	double at[3];
	uint32_t ring;   /* number of the ring; 0 for the outer ring */
	uint32_t next;   /* next corner of the same ring */
	uint32_t vertex; /* corners with equal coordinates share a vertex */
} rb_corner;

/* A vertex of the triangulation. Vertices are numbered in the order of x, then y. */
typedef struct rb_vertex
{
	double at[2]; /* coordinates on the two axes that are not dropped */
	uint32_t corner;
	uint32_t half; /* a half-edge that starts here */
} rb_vertex;

typedef struct rb_half_edge
{
	uint32_t from;
	uint32_t next;
	uint32_t prev;
	uint32_t mark; /* nonzero on the border of a cavity; later the region's location */
} rb_half_edge;

#define RB_NONE UINT32_MAX

/* Use of an edge of the triangulation by a ring, some of whose edges lie on it */
typedef struct rb_use
{
	uint32_t ring;
	bool odd;      /* true if an odd number of the ring's edges lie on it */
	uint32_t next; /* next use of the same edge, by another ring */
} rb_use;

typedef struct rb_polygon_face
{
	rb_builder *b;
	rb_geometry_info *info;
	rb_error *error;
	uint32_t ncorners;
	uint32_t nrings;
	rb_corner *corner;

	int axis[2]; /* the two axes that are not dropped */
	int turn;    /* orientation of the outer ring on these axes: 1 left, -1 right, 0 neither */

	uint32_t nvertices;
	rb_vertex *vertex;
	rb_half_edge *half;
	uint32_t nhalves;
	uint32_t spare;   /* head of the list of free half-edges, linked by `next` */
	uint32_t outside; /* a half-edge with the exterior of the convex hull on its left */
	uint32_t *used;   /* first use of each edge (h / 2), or RB_NONE if it is on no ring */
	rb_use *use;
	uint32_t nuses;
	uint32_t uses_cap;
	uint32_t *order; /* corners in the random order in which their edges are inserted */
	uint32_t *work;  /* scratch: 6 arrays of `span` numbers */
	uint32_t span;

	uint64_t random;
	uint32_t quiet; /* work since should_stop was last polled */
	bool stopped;
} rb_polygon_face;

/* Starts a face. Its outer ring is added first, then the holes. */
extern void rb_face_begin(rb_polygon_face *f, rb_builder *b, rb_geometry_info *info,
						  rb_error *error);
/* Reserves space for `more` corners. */
extern rb_geometry_fault rb_face_reserve(rb_polygon_face *f, uint32_t more);
/* Triangulates the face and appends its triangles to the builder. */
extern rb_geometry_fault rb_face_finish(rb_polygon_face *f);

/*
 * Appends a corner to the current ring unless it repeats the previous one. Room must have been
 * reserved.
 */
static inline void
rb_face_add(rb_polygon_face *f, const double *at, bool first)
{
	rb_corner *c = f->corner + f->ncorners;

	if (!first && c[-1].at[0] == at[0] && c[-1].at[1] == at[1] && c[-1].at[2] == at[2])
		return;
	memcpy(c->at, at, sizeof c->at);
	c->ring = f->nrings;
	c->next = ++f->ncorners;
}

/*
 * Closes the ring that began with corner `first`. The last corner, which repeats the first one, is
 * removed.
 */
static inline void
rb_face_end_ring(rb_polygon_face *f, uint32_t first)
{
	if (f->ncorners > first + 1)
		f->ncorners--;
	f->corner[f->ncorners - 1].next = first;
	f->nrings++;
}

/*
 * Adds `work` to the work done, polls should_stop at intervals, and returns true if the caller must
 * stop.
 */
static inline bool
rb_face_stops(rb_polygon_face *f, uint32_t work)
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

/* Returns `fault` after recording the corners where it occurs. */
static inline rb_geometry_fault
rb_face_fault(const rb_polygon_face *f, rb_geometry_fault fault, uint32_t n,
			  const uint32_t *corners)
{
	f->info->axis = 3 - f->axis[0] - f->axis[1];
	for (uint32_t i = 0; i < n; i++)
		memcpy(f->info->at[i], f->corner[corners[i]].at, sizeof f->info->at[i]);
	return fault;
}

/* Returns true if a precedes b in the order of x, then y. */
static inline bool
rb_face_is_below(const double *a, const double *b)
{
	return a[0] < b[0] || (a[0] == b[0] && a[1] < b[1]);
}

/* ---- half-edges (polygon_delaunay.c) ---- */

/* Returns the vertex at which half-edge h ends. */
static inline uint32_t
rb_half_to(const rb_polygon_face *f, uint32_t h)
{
	return f->half[h ^ 1].from;
}

/* Returns the next half-edge from the same vertex, counterclockwise. */
static inline uint32_t
rb_half_left(const rb_polygon_face *f, uint32_t h)
{
	return f->half[h].prev ^ 1;
}

/* Returns the next half-edge from the same vertex, clockwise. */
static inline uint32_t
rb_half_right(const rb_polygon_face *f, uint32_t h)
{
	return f->half[h ^ 1].next;
}

/*
 * Returns 1 if d is inside the circle through a, b and c, which turn left, else -1. Ties are
 * broken, so the result is never 0 for four distinct points.
 */
extern int rb_face_incircle(const double *a, const double *b, const double *c, const double *d);

/* Triangulates the vertices of the face. */
extern rb_geometry_fault rb_face_points(rb_polygon_face *f);

/* Inserts the edges of the rings into the triangulation. */
extern rb_geometry_fault rb_face_edges(rb_polygon_face *f);
/* Marks the triangles inside the face and appends them to the builder. */
extern rb_geometry_fault rb_face_inside(rb_polygon_face *f);

#endif /* RB_SET_FACE_H */
