/*
 * rb_core.h
 *	  What the files of the core share with each other and with nobody else.
 *	  Grouped under the file that defines it.
 */
#ifndef RB_CORE_H
#define RB_CORE_H

#include "rb_box.h"
#include "rb_kernel.h"
#include "redblue.h"

#include <float.h>
#include <math.h>
#include <time.h>

/*
 * Sizes of tiles, batches and slots.  With RB_SMALL they are so small that some
 * hundred objects cross every boundary that otherwise takes millions: a test build.
 */
#ifdef RB_SMALL
#define RB_SIZE(usual, small) (small)
#else
#define RB_SIZE(usual, small) (usual)
#endif

#ifdef __cplusplus
extern "C"
{
#endif

/* a clock for stage times, in milliseconds */
static inline double
rb_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec * 1e3 + (double) t.tv_nsec * 1e-6;
}

/* rb_resize and rb_fail in one, for the common case of an array of n elements */
static inline rb_status
rb_array(rb_context *ctx, void **block, size_t n, size_t element)
{
	rb_error error;
	rb_status status;

	if (n > SIZE_MAX / element)
		return rb_fail(ctx, RB_OVER_BUDGET, UINT64_MAX, rb_memory_limit(ctx->memory), NULL);
	status = rb_resize(ctx->memory, block, n * element, &error);
	if (status != RB_OK)
		return rb_fail(ctx, error.status, error.need, error.limit, NULL);
	return RB_OK;
}

/* ---- set.c ---- */

/* a set with one holder, of arrays that are blocks of that memory; on a failure they stay the caller's */
extern rb_status rb_set_own(rb_memory *memory, const rb_set *arrays, const rb_set **set,
							rb_error *error);

/* ---- unique.c ---- */

typedef struct rb_unique
{
	rb_context *ctx;
	const rb_job *job;
	bool needed;    /* some row has more than one part */
	uint64_t *slot; /* open addressing; 0 is free, else key + 1 */
	size_t mask;    /* slots - 1 */
	size_t used;
} rb_unique;

extern void rb_unique_init(rb_unique *u, rb_context *ctx, const rb_job *job);
extern void rb_unique_free(rb_unique *u);

/*
 * Turns n pairs of parts into pairs of rows that were not seen before, in out
 * (room for n).  The caller serialises.
 */
extern rb_status rb_unique_rows(rb_unique *u, const rb_pair *parts, size_t n, rb_pair *out,
								size_t *nout);

/* ---- plan.c ---- */

/* the extents (hi - lo) of a sample of objects; plan.c reads four at a time (rb_sample_end) */
#define RB_SAMPLE RB_SIZE(512, 20)

typedef struct rb_sample
{
	uint32_t n;
	double extent[3][RB_SAMPLE];
} rb_sample;

typedef struct rb_plan
{
	double incidence_cost; /* of putting an object into one cell, in box tests */
	double target;         /* stop when a cell holds so many objects; 0: go by cost alone */
	double max_cells;
} rb_plan;

/* to be called when n is known: fills up to a multiple of four */
static inline void
rb_sample_end(rb_sample *sample)
{
	for (uint32_t i = sample->n; i % 4 != 0; i++)
		for (int a = 0; a < 3; a++)
			sample->extent[a][i] = 0;
}

/*
 * Choose how many cells a region of that width gets along each axis, for
 * nred and nblue objects of which the samples are typical.
 */
extern void rb_plan_grid(const rb_plan *plan, const rb_sample *red, double nred,
						 const rb_sample *blue, double nblue, const double width[3],
						 uint32_t cells[3]);

/* the same for a given `resolution`, the number of cells along the longest side */
extern void rb_plan_fixed(uint32_t resolution, double max_cells, const double width[3],
						  uint32_t cells[3]);

/* ---- leaf.c: a small red list against a small blue list, on one thread ---- */

/* most objects a side that a leaf takes at once */
#define RB_TILE RB_SIZE(2048, 12)

typedef struct rb_list
{
	const uint32_t *entry;
	uint32_t n;
} rb_list;

typedef struct rb_leaf rb_leaf;

/* the workspace of one thread; rb_leaf_report adds its counts to the statistics */
extern rb_status rb_leaf_create(rb_context *ctx, const rb_job *job, const rb_sink *sink,
								rb_leaf **leaf);
extern void rb_leaf_destroy(rb_context *ctx, rb_leaf *leaf);
extern rb_status rb_leaf_flush(rb_leaf *leaf);
extern void rb_leaf_report(const rb_leaf *leaf, rb_stats *stats);

/*
 * All pairs of red x blue (each at most RB_TILE long) that this cell owns, into
 * the sink.  same: the two lists are one, and each unordered pair is
 * wanted once.  lo, hi: the cell; its fine grid covers no more.
 */
extern rb_status rb_leaf_join(rb_leaf *leaf, rb_list red, rb_list blue, bool same,
							  const double lo[3], const double hi[3]);

/* ---- boxes: all that the grid ever asks about a kind ---- */

/* closed box of object i */
static inline void
rb_object_box(const rb_set *o, uint32_t i, double lo[3], double hi[3])
{
	rb_kind_box(o->kind, o->coords, i, lo, hi);
}

static inline void
rb_box_empty(double lo[3], double hi[3])
{
	for (int a = 0; a < 3; a++)
	{
		lo[a] = HUGE_VAL;
		hi[a] = -HUGE_VAL;
	}
}

static inline void
rb_box_add(double lo[3], double hi[3], const double plo[3], const double phi[3])
{
	for (int a = 0; a < 3; a++)
	{
		lo[a] = plo[a] < lo[a] ? plo[a] : lo[a];
		hi[a] = phi[a] > hi[a] ? phi[a] : hi[a];
	}
}

/* ---- decide.c: pairs that a device had to leave ---- */

/*
 * Keeps, of n pairs of parts of the job's sets, those for which its predicate holds;
 * their number goes to *kept.  Exactly, on ctx->threads threads.
 */
extern rb_status rb_decide_pairs(rb_context *ctx, const rb_job *job, rb_pair *pairs, size_t n,
								 size_t *kept);

#ifdef __cplusplus
}
#endif

#endif /* RB_CORE_H */
