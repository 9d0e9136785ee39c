/*
 * cpu_backend.h
 *	  Declares what the files of the CPU backend share.
 *
 *        cpu_join.c     the recursion over grids, after an occupancy bitmap, if it pays
 *        grid_build.c   one grid: division into cells, count, scan, fill; bounds and samples of lists
 *
 * All threads work on each list (parallel.h).
 */
#ifndef RB_JOIN_CPU_BACKEND_H
#define RB_JOIN_CPU_BACKEND_H

#include "core/base/atomic.h"
#include "core/base/parallel.h"
#include "core/join/join.h"
#include "core/join/simd.h"

/* ---- occupancy bitmap ---- */

/*
 * Implements an occupancy bitmap: one bit for each cell of a fine grid that a set of boxes reaches
 * into, small enough to stay in the fastest cache.
 *
 * Two boxes that share a point share the cell of that point, because the map is monotone (grid.h).
 * A box therefore meets no object of the other set if that set reaches into none of its cells. If
 * one set is sparse compared to the other, most objects are dropped before they incur any cost.
 */

typedef struct rb_occupancy
{
	rb_grid grid;
	uint64_t *word; /* bit rb_grid_number of a cell, in words of 64 */
} rb_occupancy;

/* Returns the number of 64-bit words of a bitmap with one bit per cell. */
static inline size_t
rb_occupancy_words(const rb_grid *g)
{
	return (size_t) (((uint64_t) g->n[0] * g->n[1] * g->n[2] + 63) / 64);
}

/* Returns the bits of word w that are in [from, to]. */
static inline uint64_t
rb_occupancy_mask(uint64_t w, uint64_t from, uint64_t to)
{
	uint64_t mask = UINT64_MAX;

	if (w == from / 64)
		mask = mask << from % 64;
	if (w == to / 64)
		mask &= UINT64_MAX >> (63 - to % 64);
	return mask;
}

/* Marks the cells of a box. Callable from several threads at once. */
static inline void
rb_occupancy_mark(const rb_occupancy *b, const rb_range *r)
{
	for (uint32_t z = r->c0[2]; z <= r->c1[2]; z++)
		for (uint32_t y = r->c0[1]; y <= r->c1[1]; y++)
		{
			uint64_t from = rb_grid_number(&b->grid, r->c0[0], y, z);
			uint64_t to = from + (r->c1[0] - r->c0[0]);

			for (uint64_t w = from / 64; w <= to / 64; w++)
			{
				uint64_t mask = rb_occupancy_mask(w, from, to);

				/* Nearly all bits are set already. */
				if ((rb_load(&b->word[w]) & mask) != mask)
					rb_or(&b->word[w], mask);
			}
		}
}

/* Returns true if any cell of a box is marked. */
static inline bool
rb_occupancy_holds(const rb_occupancy *b, const rb_range *r)
{
	for (uint32_t z = r->c0[2]; z <= r->c1[2]; z++)
		for (uint32_t y = r->c0[1]; y <= r->c1[1]; y++)
		{
			uint64_t from = rb_grid_number(&b->grid, r->c0[0], y, z);
			uint64_t to = from + (r->c1[0] - r->c0[0]);

			for (uint64_t w = from / 64; w <= to / 64; w++)
				if ((b->word[w] & rb_occupancy_mask(w, from, to)) != 0)
					return true;
		}
	return false;
}

/* ---- the CPU backend ---- */

#define RB_GRAIN RB_SIZE(16384, 24) /* objects of a list that a thread processes at a time */

typedef struct rb_cpu
{
	rb_context *ctx;
	const rb_job *job;
	const rb_set *red;
	const rb_set *blue; /* equal to red in a self join */
	bool self;
	double pad; /* amount by which all boxes are enlarged (rb_pad_of) */
	int threads;
	const rb_kernel *kernel;
	rb_leaf **leaf;       /* leaf workspaces, one for each thread */
	pthread_mutex_t lock; /* held while a part of a loop adds its result */
	int status;           /* first status that is not RB_OK; the context is stopped then */
	uint64_t cells;       /* cells of all grids of grid_build.c */
	uint64_t incidences;  /* incidences of all grids of grid_build.c */
} rb_cpu;

/* Records the first failure, which becomes the status of the join, and stops all threads. */
static inline void
rb_cpu_fail(rb_cpu *c, rb_status status)
{
	if (status == RB_OK)
		return;
	rb_keep_failure(&c->status, status);
	rb_or(&c->ctx->stop, RB_STOP_FAILED);
}

/* Returns false if the join was stopped. */
static inline bool
rb_cpu_going(rb_cpu *c)
{
	if (!rb_should_stop(c->ctx))
		return true;
	rb_cpu_fail(c, RB_STOPPED);
	return false;
}

/* The boxes of a batch of objects */
typedef struct rb_batch_boxes
{
	uint32_t n;
	double lo[RB_BATCH][4] __attribute__((aligned(32)));
	double hi[RB_BATCH][4] __attribute__((aligned(32)));
} rb_batch_boxes;

/* Loads the padded boxes of up to RB_BATCH objects. */
static inline void
rb_batch_load(const rb_cpu *c, const rb_set *o, const uint32_t *entry, uint32_t first,
			  uint32_t most, rb_batch_boxes *box)
{
	box->n = most < RB_BATCH ? most : RB_BATCH;
	c->kernel->load(o->kind, o->coords, entry, first, box->n, box->lo, box->hi);
	for (uint32_t i = 0; c->pad > 0 && i < box->n; i++)
		rb_kind_pad(o->kind, c->pad, box->lo[i], box->hi[i]);
}

/* Computes the range of grid cells that each box of a batch overlaps. */
static inline void
rb_batch_cells(const rb_cpu *c, const rb_grid *grid, const rb_batch_boxes *box, rb_range *range)
{
	c->kernel->cells(grid, (const double(*)[4]) box->lo, (const double(*)[4]) box->hi, box->n,
					 range);
}

/* ---- grid_build.c ---- */

/* Stores the bounding box of the objects of a list. */
extern void rb_list_bounds(rb_thread *me, rb_cpu *c, const rb_set *o, rb_list list, double lo[3],
						   double hi[3]);

/*
 * Computes the box of all objects of a set, padded, as the region of the first grid; it is the box
 * of all points, so the points of an object need not be known.
 */
extern void rb_set_bounds(rb_thread *me, rb_cpu *c, const rb_set *o, double lo[3], double hi[3]);

/*
 * Stores the boxes of a sample of a list, or of the whole set if list.entry is NULL, and returns
 * their number.
 */
extern uint32_t rb_sample_boxes(const rb_cpu *c, const rb_set *o, rb_list list,
								double lo[RB_SAMPLE][3], double hi[RB_SAMPLE][3]);

/*
 * Collects the entries of the objects that reach into the region and, if `other` is not NULL, into
 * a cell that it marks. The cells of these objects are marked in `own`, unless it is NULL. The
 * caller frees *entry, also after an error.
 */
extern rb_status rb_select_objects(rb_thread *me, rb_cpu *c, const rb_set *o, const double lo[3],
								   const double hi[3], const rb_occupancy *other,
								   const rb_occupancy *own, uint32_t **entry, uint32_t *n);

/* ---- a grid and its contents ---- */

#define RB_CUTS 256 /* maximum number of cells on an axis that is divided at quantiles */
#define RB_CELL_BITS 24
#define RB_MAX_GRID_CELLS ((double) (1 << RB_CELL_BITS)) /* maximum number of cells of a grid */

typedef struct rb_grid_cells
{
	rb_grid grid; /* grid of equal cells; only n is valid if `quantiles` is set */
	bool quantiles;
	bool same; /* true if red and blue are one list and share their arrays */
	uint64_t cells;
	/* first entry of each cell for red and blue: cells + 1 numbers; one array if `same` */
	uint64_t *start[2];
	uint32_t shares;        /* number of partitions of a list in a pass, at most one per thread */
	uint32_t *count[2];     /* for each partition, objects per cell; later, write positions */
	uint32_t *place[2];     /* cells of each object of a list, packed (grid_build.c) */
	uint32_t *entry[2];     /* entries of the objects, cell by cell */
	double cut[3][RB_CUTS]; /* upper bounds if `quantiles` is set: cell i ends before cut[i] */
} rb_grid_cells;

/* Returns the objects in a cell. */
static inline rb_list
rb_cell_list(const rb_grid_cells *g, int side, uint64_t cell)
{
	return (rb_list){g->entry[side] + g->start[side][cell],
					 (uint32_t) (g->start[side][cell + 1] - g->start[side][cell])};
}

/* ---- division of a region: the first two functions fill in the grid, or the cuts, of g ---- */

/* Divides the region into equal cells. If `fixed`, their number is given by the settings. */
extern void rb_cut_equally(rb_cpu *c, const rb_list list[2], const double lo[3], const double hi[3],
						   bool fixed, rb_grid_cells *g);

/* Divides the region at quantiles of the positions of the objects. */
extern void rb_cut_at_quantiles(rb_cpu *c, const rb_list list[2], const double lo[3],
								const double hi[3], rb_grid_cells *g);

/*
 * Returns true if the pairs within the cells are sufficiently fewer than all pairs of the two
 * lists.
 */
extern bool rb_cut_helps(const rb_grid_cells *g, rb_list red, rb_list blue);

/* ---- contents of the cells ---- */

/*
 * Fills a grid that has been divided. The caller frees it, also after an error. RB_OVER_BUDGET is
 * returned but not recorded as a failure of the join.
 */
extern rb_status rb_grid_cells_build(rb_thread *me, rb_cpu *c, rb_grid_cells *g,
									 const rb_list list[2]);

/* Frees the cells of a grid, also after a failure. */
extern void rb_grid_cells_free(rb_cpu *c, rb_grid_cells *g);

/*
 * Stores the box of a cell of the region (lo, hi), up to rounding. The box is used only to choose
 * the next grid.
 */
extern void rb_cell_box(const double lo[3], const double hi[3], const rb_grid_cells *cells,
						uint64_t cell, double clo[3], double chi[3]);

#endif /* RB_JOIN_CPU_BACKEND_H */
