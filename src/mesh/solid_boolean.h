/*
 * solid_boolean.h
 *	  Computes the boundary of the intersection, union or difference of two solids.
 */
#ifndef RB_MESH_SOLID_BOOLEAN_H
#define RB_MESH_SOLID_BOOLEAN_H

#include "mesh/weld.h"

#ifdef __cplusplus
extern "C"
{
#endif

typedef enum rb_solid_operation
{
	RB_SOLID_INTERSECTION,
	RB_SOLID_UNION,
	RB_SOLID_DIFFERENCE, /* the first solid without the second */
	RB_SOLID_SYMDIFFERENCE
} rb_solid_operation;

/* The boundary of a solid: polygons with holes, oriented counterclockwise seen from outside */
typedef struct rb_solid_boundary
{
	uint32_t npoints;
	uint32_t npolygons;
	double *points; /* coordinates x, y, z of each point */
	/* first ring of each polygon, with one more entry at the end; it is the outer ring */
	uint32_t *ring_of;
	/* first corner of each ring, with one more entry at the end */
	uint32_t *corner_of;
	uint32_t *corners;   /* points; a ring does not repeat its first corner */
	double largest_move; /* largest distance by which a corner of the input moved; usually 0 */
} rb_solid_boundary;

/*
 * Computes the boundary of a regularized boolean combination of two solids. `faces` has two rows,
 * the faces of the first and of the second solid; both must be solids (validity.h). The result is
 * closed and does not cross itself; it has no polygons if nothing is left. Returns RB_OK,
 * RB_STOPPED, a memory error, or RB_BAD_PLC with *flaw set if the faces could not be cut.
 */
extern rb_status rb_solid_combine(rb_context *ctx, const rb_backend *backend, const rb_set *faces,
								  rb_solid_operation operation, rb_solid_boundary *to,
								  rb_flaw *flaw);
/*
 * Merges the triangles of a closed surface, oriented outward, that are exactly coplanar and share an
 * edge into polygons (boundary_polygons.c). Fills all of *to but largest_move. On failure the caller
 * must free *to.
 */
extern rb_status rb_boundary_polygons(rb_context *ctx, const rb_plc *surface,
									  rb_solid_boundary *to);
/* Frees the arrays of a boundary; accepts one that was zeroed. */
extern void rb_solid_boundary_free(rb_memory *memory, rb_solid_boundary *boundary);

/* Triangles of a solid: nine coordinates each */
typedef struct rb_solid_triangles
{
	const double *coords;
	uint32_t n;
} rb_solid_triangles;

/* Combines two solids as rb_solid_combine does. */
extern rb_status rb_solid_combine_two(rb_context *ctx, const rb_backend *backend,
									  const rb_solid_triangles solid[2],
									  rb_solid_operation operation, rb_solid_boundary *to,
									  rb_flaw *flaw);

/*
 * Computes the boundary of the union of all rows of a set of triangles, which must be solids
 * (validity.h). Neighbors in the order of rows are united first, so rounded corners depend on this
 * order. Returns what rb_solid_combine returns.
 */
extern rb_status rb_solid_unite(rb_context *ctx, const rb_backend *backend, const rb_set *solids,
								rb_solid_boundary *to, rb_flaw *flaw);

/*
 * Divides all polygons of a boundary into triangles of an empty builder, each polygon as a face of a
 * geometry would be. Returns RB_BAD_PLC with *flaw set if a polygon cannot be divided.
 */
extern rb_status rb_solid_boundary_divide(rb_context *ctx, const rb_solid_boundary *boundary,
										  rb_builder *b, rb_flaw *flaw);

/* ---- operations on rows of two sets (solid_batch.c) ---- */

/* An operation on a red solid and the union of some blue ones, and its result */
typedef struct rb_solid_task
{
	uint32_t red;         /* row of the red set */
	uint32_t nblue;       /* 0 if the result is the red solid */
	const uint32_t *blue; /* rows of the blue set, in the order in which they are united */
	rb_solid_boundary boundary;
	double volume; /* the double nearest to the volume within the boundary; 0 if it is empty */
	bool uncut;    /* true if the faces could not be cut: then only `flaw` is set */
	rb_flaw flaw;
} rb_solid_task;

/* Operations of one kind on rows of two sets, several at a time */
typedef struct rb_solid_batch
{
	rb_context *ctx;
	const rb_set *side[2]; /* red and blue */
	rb_solid_operation operation;
	uint32_t *start[2];   /* first triangle of each row */
	rb_context *each;     /* contexts of the threads */
	int threads;          /* number of these contexts */
	rb_solid_task *tasks; /* the current tasks */
	int status;           /* first status of a task other than RB_OK */
	uint64_t done;        /* completed tasks */
} rb_solid_batch;

/*
 * Prepares operations on rows of two materialized sets of triangles, all of which must be solids
 * (validity.h) if they occur in a task, for as many threads as the context has. Both sets must live
 * as long as the batch. On failure the caller must close the batch.
 */
extern rb_status rb_solid_batch_open(rb_context *ctx, const rb_set *red, const rb_set *blue,
									 rb_solid_operation operation, rb_solid_batch *batch);
/* Returns the number of triangles of a task. */
extern uint64_t rb_solid_task_size(const rb_solid_batch *batch, const rb_solid_task *task);
/*
 * Computes the results of n tasks, each by one thread if there are enough tasks. The caller frees
 * the boundaries, also after a failure.
 */
extern rb_status rb_solid_batch_run(rb_solid_batch *batch, rb_solid_task *tasks, uint32_t n);
/*
 * Stops a run, which ends within 50 ms if its context is stopped as well (rb_context_stop).
 * Callable from any thread while the batch is open.
 */
extern void rb_solid_batch_stop(rb_solid_batch *batch);
/* Frees a batch; accepts one that was zeroed. */
extern void rb_solid_batch_close(rb_solid_batch *batch);

#ifdef __cplusplus
}
#endif

#endif /* RB_MESH_SOLID_BOOLEAN_H */
