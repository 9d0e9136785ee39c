/*
 * placement.h
 *	  Declares where a join or a mesh refinement runs, and how it is run there (placement.c).
 */
#ifndef RB_PG_EXEC_PLACEMENT_H
#define RB_PG_EXEC_PLACEMENT_H

#include "pg/read/read.h"
#include "pg/worker/worker.h"

/*
 * Raises an error if redblue.backend is known to be impossible to satisfy, and starts the worker if
 * it is likely to be needed. Called before the sides are read.
 */
extern void rb_placement_prepare(const char *function, const rb_source *source, int sides);

/* Returns true if a device is usable for joins. `text` describes it, or says why not. */
extern bool rb_placement_describe_device(char *text, size_t size);

/* A join or refinement, in the worker or in this process */
typedef struct rb_placement
{
	const char *function;
	MemoryContext context; /* Context of requests to the worker */
	rb_context *ctx;
	rb_progress_entry *progress;
	const rb_job *job;
	const rb_backend *backend;
	rb_remote *remote; /* Request to the worker, NULL if it was not asked */
	rb_stream *stream; /* Local stream, NULL if the worker runs the join */
	bool demanded;     /* True if work without a device is an error */
	bool handed_out;   /* True if pairs of the join have been returned */
	char note[200];    /* Why this place was chosen, or "" */
} rb_placement;

/* The context and the progress entry must exist as long as the place is used. */
extern void rb_placement_init(rb_placement *placement, const char *function, MemoryContext context,
							  rb_context *ctx, rb_progress_entry *progress);

/*
 * Return true if the worker should run a join of `parts` parts, or refine a mesh that will have
 * about `tets` tetrahedra. Otherwise placement->note says why not, or is "" if the CPU was requested.
 */
extern bool rb_placement_wants_join(rb_placement *placement, uint64 parts);
extern bool rb_placement_wants_refinement(rb_placement *placement, uint64 tets, int threads);

/* Ends the current join, and prepares for the next one. The job must exist until its end. */
extern void rb_placement_begin(rb_placement *placement, const rb_job *job);

/*
 * Submits the work to the worker. Returns false if this process must do it, with the reason in
 * placement->note.
 */
extern bool rb_placement_submit(rb_placement *placement, rb_submission *order);

/*
 * Chooses the backend of this process. Raises an error if redblue.backend requires a device and
 * this process cannot open it either.
 */
extern void rb_placement_choose_here(rb_placement *placement);

/* Starts the join in threads of this process. Callable from any thread. */
extern rb_status rb_placement_run_here(rb_placement *placement);

/* Behaves as rb_stream_next. Callable from any thread, but from one at a time. */
extern rb_status rb_placement_next(rb_placement *placement, int wait_ms, rb_block *block);

/* Returns true if the status is that of a worker whose join this process may run instead. */
extern bool rb_placement_can_take_over(const rb_placement *placement, rb_status status);

/* Runs the join on the CPU of this process after the worker could not. The sets must be local. */
extern rb_status rb_placement_take_over(rb_placement *placement);

/* Return what rb_stream_words and rb_stream_groups return. */
extern const uint32_t *rb_placement_words(const rb_placement *placement);
extern bool rb_placement_groups(const rb_placement *placement, rb_groups *groups);

/* Ends the current join; its result is freed with it. */
extern void rb_placement_stop(rb_placement *placement);

#endif /* RB_PG_EXEC_PLACEMENT_H */
