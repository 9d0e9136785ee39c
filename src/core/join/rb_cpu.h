/*
 * rb_cpu.h
 *	  What the files of the CPU backend share: cpu.c, which recurses, and below it
 *
 *		lists.c		lists of objects: bounds, samples, what reaches into a region
 *		occupancy.c	an occupancy bitmap, where it pays
 *		cuts.c		where a region is cut
 *		cells.c		one grid: count, scan, fill
 *
 * None of these knows cpu.c.  Each list is worked on by all threads (rb_parallel.h).
 */
#ifndef RB_CPU_H
#define RB_CPU_H

#include "core/base/rb_atomic.h"
#include "core/base/rb_parallel.h"
#include "core/join/rb_join.h"
#include "core/join/rb_occupancy.h"

#define RB_GRAIN RB_SIZE(16384, 24) /* objects of a list that a thread takes at once */

typedef struct rb_cpu
{
	rb_context *ctx;
	const rb_job *job;
	const rb_set *red;
	const rb_set *blue; /* = red in a self join */
	bool self;
	double pad; /* of all boxes (rb_pad_of) */
	int threads;
	const rb_kernel *kernel;
	rb_leaf **leaf;       /* of each thread */
	pthread_mutex_t lock; /* held while a piece of a loop adds what it found */
	int status;           /* the first that was not RB_OK; then the context is stopped */
	uint64_t cells;       /* of all grids of cells.c, with the incidences in them */
	uint64_t incidences;
} rb_cpu;

/* the first failure is what the join says; it stops all threads */
static inline void
rb_cpu_fail(rb_cpu *c, rb_status status)
{
	int ok = RB_OK;

	if (status == RB_OK)
		return;
	rb_store_if(&c->status, &ok, (int) status);
	rb_or(&c->ctx->stop, RB_STOP_FAILED);
}

/* false: the join was stopped */
static inline bool
rb_cpu_going(rb_cpu *c)
{
	if (!rb_should_stop(c->ctx))
		return true;
	rb_cpu_fail(c, RB_STOPPED);
	return false;
}

/* the boxes of a few objects */
typedef struct rb_batch_boxes
{
	uint32_t n;
	double lo[RB_BATCH][4] __attribute__((aligned(32)));
	double hi[RB_BATCH][4] __attribute__((aligned(32)));
} rb_batch_boxes;

static inline void
rb_batch_load(const rb_cpu *c, const rb_set *o, const uint32_t *entry, uint32_t first,
			  uint32_t most, rb_batch_boxes *box)
{
	box->n = most < RB_BATCH ? most : RB_BATCH;
	c->kernel->load(o->kind, o->coords, entry, first, box->n, box->lo, box->hi);
	for (uint32_t i = 0; c->pad > 0 && i < box->n; i++)
		rb_kind_pad(o->kind, c->pad, box->lo[i], box->hi[i]);
}

static inline void
rb_batch_cells(const rb_cpu *c, const rb_grid *grid, const rb_batch_boxes *box, rb_range *range)
{
	c->kernel->cells(grid, (const double(*)[4]) box->lo, (const double(*)[4]) box->hi, box->n,
					 range);
}

/* ---- lists.c ---- */

/* box of the objects of a list */
extern void rb_list_bounds(rb_thread *me, rb_cpu *c, const rb_set *o, rb_list list, double lo[3],
						   double hi[3]);

/* box of all objects of a set */
extern void rb_set_bounds(rb_thread *me, rb_cpu *c, const rb_set *o, double lo[3], double hi[3]);

/* boxes of some objects of the list, or of the whole set where entries are NULL; how many */
extern uint32_t rb_sample_boxes(const rb_cpu *c, const rb_set *o, rb_list list,
								double lo[RB_SAMPLE][3], double hi[RB_SAMPLE][3]);

/*
 * Entries of the objects that reach into the region and, where `other` says in which
 * cells the other set is, into one of those.  What is left is marked in `own`, unless
 * that is NULL.  The caller frees *entry, also after an error.
 */
extern rb_status rb_select_objects(rb_thread *me, rb_cpu *c, const rb_set *o, const double lo[3],
								   const double hi[3], const rb_occupancy *other,
								   const rb_occupancy *own, uint32_t **entry, uint32_t *n);

/* ---- occupancy.c ---- */

/*
 * Where it pays, bitmap[0] with the cells of `few` marked, and bitmap[1] to be
 * marked by what is left of `many`; elsewhere both without words.  The caller frees the words, also
 * after an error.
 */
extern rb_status rb_occupancy_make(rb_thread *me, rb_cpu *c, const rb_set *few, const rb_set *many,
								   const double lo[3], const double hi[3], rb_occupancy bitmap[2]);

/* ---- a grid and what is in it: cut by cuts.c, filled by cells.c ---- */

#define RB_CUTS 256 /* most cells along an axis that is cut at quantiles */
#define RB_CELL_BITS 24
#define RB_CELLS_MOST ((double) (1 << RB_CELL_BITS)) /* of a grid */

typedef struct rb_cells
{
	rb_grid grid; /* of equal cells; only n where they are not */
	bool quantiles;
	bool same; /* red and blue are one list, and so are their arrays */
	uint64_t cells;
	uint64_t *start[2];     /* of red and blue, cells + 1; one array for both of one list */
	uint32_t shares;        /* into which a pass cuts a list, one for a thread */
	uint32_t *count[2];     /* of each share, cells; then write cursors */
	uint32_t *place[2];     /* where each object of a list goes, packed */
	uint32_t *entry[2];     /* of the objects, cell after cell */
	double cut[3][RB_CUTS]; /* with quantiles: cell i ends before cut[i] */
} rb_cells;

/* the objects in a cell */
static inline rb_list
rb_cell_list(const rb_cells *g, int side, uint64_t cell)
{
	return (rb_list){g->entry[side] + g->start[side][cell],
					 (uint32_t) (g->start[side][cell + 1] - g->start[side][cell])};
}

/* ---- cuts.c: both fill in the grid, or the cuts, of g ---- */

/* equal cells, or (fixed) those that the settings ask for */
extern void rb_cut_equally(rb_cpu *c, const rb_list list[2], const double lo[3], const double hi[3],
						   bool fixed, rb_cells *g);

/* cells between quantiles of where the objects are */
extern void rb_cut_at_quantiles(rb_cpu *c, const rb_list list[2], const double lo[3],
								const double hi[3], rb_cells *g);

/* are the pairs within its cells enough fewer than those of the lists? */
extern bool rb_cut_helps(const rb_cells *g, rb_list red, rb_list blue);

/* ---- cells.c ---- */

/* fills a grid that was cut; the caller frees it, also after an error.  RB_OVER_BUDGET is not noted as one. */
extern rb_status rb_cells_make(rb_thread *me, rb_cpu *c, rb_cells *g, const rb_list list[2]);
extern void rb_cells_free(rb_cpu *c, rb_cells *g);

/* the box of a cell of the region (lo, hi), up to roundings: it only says where to look next */
extern void rb_cell_box(const double lo[3], const double hi[3], const rb_cells *cells,
						uint64_t cell, double clo[3], double chi[3]);

#endif /* RB_CPU_H */
