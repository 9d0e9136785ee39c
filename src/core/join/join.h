/*
 * join.h
 *	  Declares what the files of the join share, grouped by the file that defines it. The files of
 *	  the CPU backend share more: cpu_join.h.
 */
#ifndef RB_JOIN_JOIN_H
#define RB_JOIN_JOIN_H

#include "core/base/base.h"
#include "core/primitive/box.h"
#include "core/join/simd.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* ---- plan.c ---- */

/*
 * Capacity of a sample of extents (hi - lo) of objects. plan.c reads four at a time
 * (rb_sample_end).
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

/*
 * Computes the number of cells along each axis from `resolution`, the number of cells along the
 * longest side.
 */
extern void rb_plan_fixed(uint32_t resolution, double max_cells, const double width[3],
						  uint32_t cells[3]);

/* ---- matched rows (RB_HITS): a bit for each row, set by any thread ---- */

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

static inline void
rb_mark(uint32_t *marks, uint32_t row)
{
	uint32_t *word = &marks[row / 32];
	uint32_t bit = 1u << row % 32;

	/* Most rows are matched more than once, and a load is cheaper than an atomic operation. */
	if (!(rb_load(word) & bit))
		rb_or(word, bit);
}

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

/*
 * rb_leaf_create creates the workspace of one thread, and rb_leaf_report adds its counts to the
 * statistics.
 */
extern rb_status rb_leaf_create(rb_context *ctx, const rb_job *job, const rb_sink *sink,
								rb_leaf **leaf);
extern void rb_leaf_destroy(rb_context *ctx, rb_leaf *leaf);
extern rb_status rb_leaf_flush(rb_leaf *leaf);
extern void rb_leaf_report(const rb_leaf *leaf, rb_stats *stats);

/*
 * Writes all pairs of red x blue that this cell owns to the sink. Each list has at most RB_TILE
 * objects. If `same`, the two lists are one, and each unordered pair is written once. The cell is
 * (lo, hi), and its fine grid covers no more.
 */
extern rb_status rb_leaf_join(rb_leaf *leaf, rb_list red, rb_list blue, bool same,
							  const double lo[3], const double hi[3]);

/* ---- gmp_fallback.c: pairs that a device left undecided ---- */

/*
 * Keeps those of n pairs of parts for which the predicate of the job holds, and stores their number
 * in *kept. The decision is exact and runs on ctx->threads threads.
 */
extern rb_status rb_decide_pairs(rb_context *ctx, const rb_job *job, rb_pair *pairs, size_t n,
								 size_t *kept);

#ifdef __cplusplus
}
#endif

#endif /* RB_JOIN_JOIN_H */
