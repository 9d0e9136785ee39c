/*
 * join.h
 *	  Declares what the files of the join share, grouped by the file that defines it. The files of
 *	  the CPU backend share more: cpu_backend.h.
 */
#ifndef RB_JOIN_JOIN_H
#define RB_JOIN_JOIN_H

#include "core/base/base.h"
#include "core/base/parallel.h"
#include "core/primitive/box.h"
#include "core/join/simd.h"
#include "core/base/redblue.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* ---- grid_build.c: the resolution of a grid ---- */

/*
 * Capacity of a sample of extents of objects, in the unit of the width that rb_plan_grid receives.
 * It reads four at a time (rb_sample_end).
 */
#define RB_SAMPLE RB_SIZE(512, 20)

typedef struct rb_sample
{
	uint32_t n;
	double extent[3][RB_SAMPLE];
} rb_sample;

typedef struct rb_plan
{
	double incidence_cost; /* cost of adding an object to a cell, in box tests */
	/* mean number of objects in a cell at which to stop; 0 to use only the cost */
	double target;
	double max_cells;
} rb_plan;

/* Pads the sample to a multiple of four. Must be called after n is set. */
static inline void
rb_sample_end(rb_sample *sample)
{
	for (uint32_t i = sample->n; i % 4 != 0; i++)
		for (int a = 0; a < 3; a++)
			sample->extent[a][i] = 0;
}

/*
 * Chooses the number of cells along each axis for a region of the given width, for nred and nblue
 * objects of which the samples are representative.
 */
extern void rb_plan_grid(const rb_plan *plan, const rb_sample *red, double nred,
						 const rb_sample *blue, double nblue, const double width[3],
						 uint32_t cells[3]);

/* ---- matched rows (RB_HITS): a bit for each row, set by any thread ---- */

/* Returns the row of a part. */
static inline uint32_t
rb_row_of(const rb_set *set, uint32_t part)
{
	return set->row_of != NULL ? set->row_of[part] : part;
}

/* Returns the blue side of a job, or the only side of a self join. */
static inline const rb_set *
rb_job_blue(const rb_job *job)
{
	return job->blue != NULL ? job->blue : job->red;
}

/* Sets the bit of a matched row. Several threads may call it at once. */
static inline void
rb_mark(uint32_t *marks, uint32_t row)
{
	uint32_t *word = &marks[row / 32];
	uint32_t bit = 1u << row % 32;

	/* Most rows are matched more than once, and a load is cheaper than an atomic operation. */
	if (!(rb_load(word) & bit))
		rb_or(word, bit);
}

/* Returns true if the bit of the row is set. */
static inline bool
rb_is_marked(const uint32_t *marks, uint32_t row)
{
	return rb_load(&marks[row / 32]) >> row % 32 & 1;
}

/* Marks the rows of a pair of parts that satisfies the predicate. */
static inline void
rb_mark_pair(const rb_job *job, uint32_t *marks, uint32_t red, uint32_t blue)
{
	if (job->of != RB_OF_BLUE)
		rb_mark(marks, rb_row_of(job->red, red));
	if (job->of != RB_OF_RED)
		rb_mark(marks, rb_row_of(rb_job_blue(job), blue));
}

/* ---- leaf.c: joins a small red list with a small blue list, in one thread ---- */

/* Maximum number of objects on each side of a leaf */
#define RB_TILE RB_SIZE(2048, 12)

typedef struct rb_list
{
	const uint32_t *entry;
	uint32_t n;
} rb_list;

typedef struct rb_leaf rb_leaf;

/* Creates the workspace of one thread. */
extern rb_status rb_leaf_create(rb_context *ctx, const rb_job *job, const rb_sink *sink,
								rb_leaf **leaf);

/* Frees the workspace of one thread. */
extern void rb_leaf_destroy(rb_context *ctx, rb_leaf *leaf);

/* Passes the pairs that the workspace still holds to the sink. */
extern rb_status rb_leaf_flush(rb_leaf *leaf);

/* Adds the counts of a workspace to the statistics. */
extern void rb_leaf_report(const rb_leaf *leaf, rb_stats *stats);

/*
 * Writes all pairs of red x blue that this cell owns to the sink. Each list has at most RB_TILE
 * objects. If `same`, the two lists are one, and each unordered pair is written once. The cell is
 * (lo, hi), and its fine grid covers no more.
 */
extern rb_status rb_leaf_join(rb_leaf *leaf, rb_list red, rb_list blue, bool same,
							  const double lo[3], const double hi[3]);

/* ---- cpu_join.c: pairs that a device left undecided ---- */

/*
 * Drops the pairs of parts for which the predicate of the job does not hold, and stores the number
 * of the others in *kept. The decision is exact and runs on ctx->threads threads.
 */
extern rb_status rb_decide_pairs(rb_context *ctx, const rb_job *job, rb_pair *pairs, size_t n,
								 size_t *kept);

/* ---- joins as steps of a larger operation ---- */

/*
 * Runs a join that is a step of a larger operation, with no more threads than it can use. `part` is
 * the number of parts that justify one thread.
 */
static inline rb_status
rb_join_step(rb_context *ctx, const rb_backend *backend, const rb_job *job, const rb_sink *sink,
			 uint32_t part)
{
	const uint64_t parts =
		(uint64_t) job->red->nparts + (job->blue != NULL ? job->blue->nparts : 0);
	const int threads = ctx->threads;
	rb_status status;

	ctx->threads = rb_threads_for(ctx, parts, part);
	status = backend->join(ctx, job, sink);
	ctx->threads = threads;
	return status;
}

/*
 * A backend evaluates predicates on two parts. A predicate on whole rows, such as the nearest rows
 * or the position relative to a solid, has a function of its own. It runs the joins it needs on the
 * backend and writes pairs of rows to a sink. stream.c calls it in place of the backend's join.
 */

/*
 * Receiver of pairs of rows with rb_payload_words(predicate) payload words each. put may be called
 * from several threads at once and copies its input. Any status except RB_OK ends the join with
 * that status.
 */
typedef struct rb_row_sink
{
	rb_status (*put)(void *user, const rb_pair *rows, const uint64_t *payload, size_t n);
	void *user;
} rb_row_sink;

/*
 * Declares the functions that evaluate predicates on rows. The coordinates of both sets are
 * materialized. The functions return RB_STOPPED soon after rb_should_stop returns true.
 */
#define RB_COMPOSED_FUNCTION(predicate, red, blue, function)                                 \
	extern rb_status function(rb_context *ctx, const rb_backend *backend, const rb_job *job, \
							  const rb_row_sink *sink);
RB_COMPOSED_LIST(RB_COMPOSED_FUNCTION)
#undef RB_COMPOSED_FUNCTION

/* ---- partitions.c ---- */

/*
 * Divides space into partitions of a join with about the same amount of work (partitions.c).
 */

/*
 * Computes n disjoint partitions, at most RB_MAX_DEVICES, that cover all of space (rb_job.share).
 * The result is the same for equal jobs. The function samples several thousand parts of each side
 * and takes about a millisecond.
 */
extern rb_status rb_partitions_cut(rb_context *ctx, const rb_job *job, int n, rb_box *share);

/* ---- kd_tiles.c ---- */

/*
 * Partitions space into tiles of about equal cost, based on a sample of the rows of a join.
 *
 * The cost of a tile is the work to join it: reading each row that may be in one of its pairs, and
 * testing each pair of overlapping boxes whose reference point lies in the tile. The reference
 * point is, along each axis, the larger of the two low ends.
 */

/* Cost of a pair, relative to the cost of reading a row. Measured on one core, see doc/scale.md. */
#define RB_TILE_PAIR_COST 0.1

#define RB_MAX_TILES ((uint32_t) 1 << 20)

typedef struct rb_kd_job
{
	/*
	 * Boxes of rows, both RB_BOX3 or both RB_BOX2, with one part per row. [1] is NULL if a table is
	 * joined with itself and its sample is in [0]. If that sample does not have all rows, two
	 * samples of the table (self) are more accurate: rows that are adjacent in a table are together
	 * in one sample, or in none.
	 */
	const rb_set *sample[2];
	double rows[2]; /* total rows of the sampled tables; equal if both are the same table */
	bool self;      /* true if both samples are of one table, each of whose pairs counts once */
	double
		distance; /* maximum distance of a pair, in units of the coordinates; 0 if boxes must overlap */
	uint32_t n; /* number of tiles, 1 to RB_MAX_TILES */
} rb_kd_job;

typedef struct rb_kd_tile
{
	double low
		[3]; /* half open, low <= x < high; may be infinite; in the plane only the first two are used */
	double high[3];
	double cost; /* approximate cost for all rows, relative to reading one row */
} rb_kd_tile;

/* Computes job->n tiles that fill space without overlapping. Equal samples give equal tiles. */
extern rb_status rb_kd_tiles(rb_context *ctx, const rb_kd_job *job, rb_kd_tile *tiles);

#ifdef __cplusplus
}
#endif

#endif /* RB_JOIN_JOIN_H */
