/*
 * cpu_join.c
 *	  Implements the CPU backend: a uniform grid whose crowded cells get grids of their own, on all
 *	  cores.
 *
 *       objects --box meets the other set's box and its occupied cells?--> lists
 *       lists --plan, count, scan, fill--> cells --small--> leaf.c
 *                                           |
 *                                           +--crowded--> another grid inside that cell
 *
 * The grid as ragged arrays built in two passes follows Menezes, Magalhaes, Aguilar, Franklin,
 * Chichorro: Fast Parallel Evaluation of Exact Geometric Predicates on GPUs, 2022. The differences
 * are: the grid covers only the region common to both sets; a cell with objects of only one color
 * stores nothing; each pair is found in the one cell that owns it (grid.h), so nothing is sorted
 * or deduplicated; and a cell with too many objects is refined around its actual contents, so that
 * two dense clusters far apart cost two more passes and not quadratic work.
 *
 * Equal cells do not help if data are crowded at every scale. A cell that still has too many
 * objects is therefore divided at quantiles (grid_build.c). If that does not help either, because
 * everything overlaps everything, the lists are divided into blocks and each block is joined with
 * each other block; the output has about as many pairs then. If a grid does not fit in memory, both
 * lists are halved and each half of one is joined with each half of the other, since a grid for
 * half as many objects needs half the memory.
 *
 * Before all that, if one set is sparse compared to the other, objects that are not near the other
 * set are dropped.
 *
 * The work is a tree of tasks (parallel.h). A task holds arrays of its own only while its
 * children run.
 */
#include "core/join/cpu_backend.h"
#include "core/primitive/reference_point.h"
#include "core/join/join.h"
#include "core/primitive/dispatch.h"
#include "core/base/parallel.h"

#include <string.h>

/* ---- occupancy bitmaps ---- */

/*
 * Marks the cells of the smaller set if it is sparse compared to the other one and that pays.
 */

#define BITMAP_CELLS RB_SIZE((double) (1 << 21), 4000.0)
#define BITMAP_COST 0.05 /* cost of marking a cell for an object, in box tests */

/* Returns the range of grid cells that the box of an object overlaps, on each axis. */
static inline rb_range
cell_range_of_box(const rb_grid *grid, const double lo[3], const double hi[3])
{
	rb_range r = {{0}, {0}};

	for (int a = 0; a < 3; a++)
	{
		r.c0[a] = rb_grid_cell(grid, a, lo[a]);
		r.c1[a] = rb_grid_cell(grid, a, hi[a]);
	}
	return r;
}

typedef struct rb_marking
{
	rb_cpu *c;
	const rb_set *o;
	const double *lo; /* the region */
	const double *hi;
	const rb_occupancy *bitmap;
	uint64_t step;
} rb_marking;

/* Marks the cells of the bitmap that objects of a range meet. */
static void
mark_occupied_cells_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const rb_marking *m = arg;

	(void) me;
	for (uint64_t i = from * m->step; i < to * m->step && i < m->o->nparts && rb_cpu_going(m->c);
		 i += m->step)
	{
		double lo[3], hi[3];

		rb_object_box(m->o, (uint32_t) i, m->c->pad, lo, hi);
		if (rb_boxes_overlap(lo, hi, m->lo, m->hi))
		{
			rb_range r = cell_range_of_box(&m->bitmap->grid, lo, hi);

			rb_occupancy_mark(m->bitmap, &r);
		}
	}
}

/* Marks the cells of every step-th object that reaches into the region. */
static void
fill_occupancy_bitmap(rb_thread *me, rb_cpu *c, const rb_set *o, const double lo[3],
					  const double hi[3], uint32_t step, const rb_occupancy *bitmap)
{
	rb_marking m = {c, o, lo, hi, bitmap, step};

	rb_loop(me, (uint64_t) o->nparts / step + 1, RB_GRAIN, mark_occupied_cells_piece, &m);
}

/*
 * Builds the bitmaps if they pay: if a sample of the larger set shows that two thirds of it would
 * be dropped. Then bitmap[0] is built for the smaller set, `few`, and bitmap[1] is left empty, to
 * be marked with the remaining objects of the larger set. A first test, with every 16th object,
 * ends this early if both sets are dense.
 */
static rb_status
rb_occupancy_build(rb_thread *me, rb_cpu *c, const rb_set *few, const rb_set *many,
				   const double lo[3], const double hi[3], rb_occupancy bitmap[2])
{
	const rb_plan plan = {BITMAP_COST, 0, BITMAP_CELLS};
	const rb_list all[2] = {{NULL, few->nparts}, {NULL, many->nparts}};
	rb_sample sample[2];
	double slo[RB_SAMPLE][3], shi[RB_SAMPLE][3], width[3];
	uint32_t n[3];
	size_t words;
	rb_status status = RB_OK;

	for (int a = 0; a < 3; a++)
	{
		width[a] = 0.5 * hi[a] - 0.5 * lo[a];
		width[a] = width[a] > 0 ? width[a] : 0;
	}
	for (int s = 0; s < 2; s++)
	{
		sample[s].n = rb_sample_boxes(c, s == 0 ? few : many, all[s], slo, shi);
		for (uint32_t i = 0; i < sample[s].n; i++)
			for (int a = 0; a < 3; a++)
				sample[s].extent[a][i] = 0.5 * shi[i][a] - 0.5 * slo[i][a];
		rb_sample_end(&sample[s]);
	}
	rb_plan_grid(&plan, &sample[0], few->nparts, &sample[1], many->nparts, width, n);
	for (int k = 0; k < 2; k++)
		rb_grid_init(&bitmap[k].grid, lo, hi, n);
	words = rb_occupancy_words(&bitmap[0].grid);
	for (int k = 0; k < 2 && status == RB_OK; k++)
		status = RB_ALLOCATE(c->ctx, bitmap[k].word, words);
	if (status != RB_OK)
		return status;
	for (int k = 0; k < 2; k++)
		memset(bitmap[k].word, 0, words * sizeof(uint64_t));

	for (int look = 0; look < 2; look++)
	{
		uint32_t tested = 0, held = 0;

		fill_occupancy_bitmap(me, c, few, lo, hi, look == 0 ? 16 : 1, &bitmap[0]);
		for (uint32_t i = 0; i < sample[1].n; i++)
			if (rb_boxes_overlap(slo[i], shi[i], lo, hi))
			{
				rb_range r = cell_range_of_box(&bitmap[0].grid, slo[i], shi[i]);

				tested++;
				held += rb_occupancy_holds(&bitmap[0], &r);
			}
		if (held * (look == 0 ? 4 : 3) > tested)
		{
			for (int k = 0; k < 2; k++)
				RB_FREE(c->ctx->memory, bitmap[k].word);
			break;
		}
	}
	return RB_OK;
}

/* ---- recursion ---- */

#define TASK_TESTS RB_SIZE(1 << 18, 1000) /* box tests that are enough work for a task of leaves */
#define DEPTH 64 /* maximum depth of nested grids; the stacks of parallel.c suffice for it */
#define CROWDED_FRACTION \
	0.125 /* fraction of all red x blue above which a cell is divided at quantiles */

/* Returns true if both lists are the same one, so that each unordered pair counts once. */
static inline bool
are_lists_equal(const rb_cpu *c, rb_list red, rb_list blue)
{
	return c->self && red.entry == blue.entry;
}

static void join_lists_in_cell(rb_thread *me, rb_cpu *c, rb_list red, rb_list blue,
							   const double lo[3], const double hi[3], int depth, bool quantiles);

/*
 * Joins two lists that fit in a leaf, with the leaf state of this thread, unless the join has
 * stopped.
 */
static void
join_leaf_cell(rb_thread *me, rb_cpu *c, rb_list red, rb_list blue, bool same, const double lo[3],
			   const double hi[3])
{
	if (rb_cpu_going(c))
		rb_cpu_fail(c, rb_leaf_join(c->leaf[rb_thread_number(me)], red, blue, same, lo, hi));
}

typedef struct rb_blocks_join
{
	rb_cpu *c;
	rb_list list[2];
	bool same;
	const double *lo;
	const double *hi;
} rb_blocks_join;

/* Returns the number of blocks of at most RB_TILE entries in a list too long for a leaf. */
static inline uint64_t
count_blocks_of_list(rb_list list)
{
	return ((uint64_t) list.n + RB_TILE - 1) / RB_TILE;
}

/* Returns block i of a list, up to RB_TILE entries. */
static inline rb_list
block_of_list(rb_list list, uint64_t i)
{
	uint32_t from = (uint32_t) i * RB_TILE;

	return (rb_list){list.entry + from, list.n - from < RB_TILE ? list.n - from : RB_TILE};
}

/* Joins pairs of blocks from a range of their numbers. */
static void
join_blocks_of_lists_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const rb_blocks_join *b = arg;
	const uint64_t across = count_blocks_of_list(b->list[1]);

	for (uint64_t k = from; k < to; k++)
	{
		uint64_t i = k / across, j = k % across;

		if (!b->same || i <= j)
			join_leaf_cell(me, b->c, block_of_list(b->list[0], i), block_of_list(b->list[1], j),
						   b->same && i == j, b->lo, b->hi);
	}
}

/*
 * Joins every block of red with every block of blue. If both lists are one, each unordered pair of
 * blocks is joined once.
 */
static void
join_blocks_of_lists(rb_thread *me, rb_cpu *c, rb_list red, rb_list blue, const double lo[3],
					 const double hi[3])
{
	rb_blocks_join b = {c, {red, blue}, are_lists_equal(c, red, blue), lo, hi};

	rb_loop(me, count_blocks_of_list(red) * count_blocks_of_list(blue), 1,
			join_blocks_of_lists_piece, &b);
}

/*
 * Joins each half of red with each half of blue. If both lists are one, each half is joined with
 * itself, and the two halves with each other.
 */
static void
join_halves_of_lists(rb_thread *me, rb_cpu *c, rb_list red, rb_list blue, const double lo[3],
					 const double hi[3], int depth)
{
	const bool same = are_lists_equal(c, red, blue);
	rb_list half[2][2];

	if (depth >= DEPTH || (red.n <= RB_TILE && blue.n <= RB_TILE))
	{
		join_blocks_of_lists(me, c, red, blue, lo, hi);
		return;
	}
	for (int s = 0; s < 2; s++)
	{
		const rb_list list = s == 0 ? red : blue;
		const uint32_t n = list.n > RB_TILE ? list.n / 2 : list.n;

		half[s][0] = (rb_list){list.entry, n};
		half[s][1] = (rb_list){list.entry + n, list.n - n};
	}
	for (int i = 0; i < 2; i++)
		for (int j = same ? i : 0; j < 2; j++)
			join_lists_in_cell(me, c, half[0][i], half[1][j], lo, hi, depth + 1, false);
}

/* A join of red with blue in each cell of a grid */
typedef struct rb_cells_join
{
	rb_cpu *c;
	const rb_grid_cells *g;
	const double *lo;
	const double *hi;
	int depth;
	double crowd; /* a cell with more pairs (red x blue) than this is divided at quantiles */
} rb_cells_join;

/*
 * Adds to the reported progress. Only entries of the first grid's cells are counted, since those of
 * deeper grids are among them.
 */
static void
advance_join_progress(const rb_cells_join *j, uint64_t entries)
{
	if (j->depth == 0)
		rb_add(&j->c->ctx->done, entries);
}

/* Returns the number of red and blue entries in a range of grid cells, the unit of progress. */
static uint64_t
count_cell_entries(const rb_grid_cells *g, uint64_t from, uint64_t to)
{
	return g->start[0][to] - g->start[0][from] + g->start[1][to] - g->start[1][from];
}

/* Joins the lists of a range of cells, except those too long for a leaf. */
static void
join_leaf_cells_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const rb_cells_join *j = arg;
	uint64_t crowded = 0;

	for (uint64_t cell = from; cell < to && rb_cpu_going(j->c); cell++)
	{
		rb_list r = rb_cell_list(j->g, 0, cell), b = rb_cell_list(j->g, 1, cell);
		double lo[3], hi[3];

		if (r.n > 0 && b.n > 0 && (r.n > RB_TILE || b.n > RB_TILE))
			crowded += r.n + b.n;
		if (r.n == 0 || b.n == 0 || r.n > RB_TILE || b.n > RB_TILE)
			continue;
		rb_cell_box(j->lo, j->hi, j->g, cell, lo, hi);
		join_leaf_cell(me, j->c, r, b, are_lists_equal(j->c, r, b), lo, hi);
	}
	advance_join_progress(j, count_cell_entries(j->g, from, to) - crowded);
}

/* Builds a grid for a cell that is too crowded for a leaf, and joins its contents. */
static void
join_crowded_cell(rb_thread *me, void *arg, uint64_t cell, uint64_t end)
{
	const rb_cells_join *j = arg;
	rb_list r = rb_cell_list(j->g, 0, cell), b = rb_cell_list(j->g, 1, cell);
	double lo[3], hi[3];

	(void) end;
	rb_cell_box(j->lo, j->hi, j->g, cell, lo, hi);
	join_lists_in_cell(me, j->c, r, b, lo, hi, j->depth + 1, (double) r.n * b.n > j->crowd);
	advance_join_progress(j, r.n + b.n);
}

/* Joins the lists of all cells; cells too crowded for a leaf get a grid of their own. */
static void
join_cells_of_grid(rb_thread *me, rb_cells_join *j)
{
	const rb_grid_cells *g = j->g;
	uint64_t from = 0;
	uint64_t tests = 0;
	rb_group group;

	rb_group_open(me, &group);
	for (uint64_t cell = 0; cell < g->cells && !rb_should_stop(j->c->ctx); cell++)
	{
		uint64_t nr = g->start[0][cell + 1] - g->start[0][cell];
		uint64_t nb = g->start[1][cell + 1] - g->start[1][cell];

		if (nr == 0 || nb == 0)
			continue;
		if (nr > RB_TILE || nb > RB_TILE)
		{
			rb_group_spawn(me, join_crowded_cell, j, cell, cell + 1);
			continue;
		}
		/* Combine consecutive small cells into one task. */
		tests += nr * nb + 64 * (nr + nb);
		if (tests >= TASK_TESTS)
		{
			rb_group_spawn(me, join_leaf_cells_piece, j, from, cell + 1);
			from = cell + 1;
			tests = 0;
		}
	}
	if (tests > 0)
		join_leaf_cells_piece(me, j, from, g->cells);
	rb_group_wait(me);
}

/* Finds all pairs of two lists that the cell (lo, hi) owns. */
static void
join_lists_in_cell(rb_thread *me, rb_cpu *c, rb_list red, rb_list blue, const double lo[3],
				   const double hi[3], int depth, bool quantiles)
{
	const rb_list list[2] = {red, blue};
	rb_grid_cells g;
	double rlo[3], rhi[3], blo[3], bhi[3];
	bool fixed = depth == 0 && c->ctx->settings.grid_resolution > 0;
	bool helps = depth == 0;
	rb_status status = RB_OK;

	if (!rb_cpu_going(c) || red.n == 0 || blue.n == 0)
		return;
	if (red.n <= RB_TILE && blue.n <= RB_TILE && !fixed)
	{
		join_leaf_cell(me, c, red, blue, are_lists_equal(c, red, blue), lo, hi);
		return;
	}

	/*
	 * The grid covers the region common to both lists within the cell. At depth 0 that region is
	 * (lo, hi).
	 */
	memcpy(rlo, lo, sizeof(rlo));
	memcpy(rhi, hi, sizeof(rhi));
	if (depth > 0)
		rb_list_bounds(me, c, c->red, red, rlo, rhi);
	memcpy(blo, rlo, sizeof(blo));
	memcpy(bhi, rhi, sizeof(bhi));
	if (depth > 0 && !are_lists_equal(c, red, blue))
		rb_list_bounds(me, c, c->blue, blue, blo, bhi);
	if (!rb_cpu_going(c))
		return;
	for (int a = 0; a < 3; a++)
	{
		rlo[a] = rlo[a] > blo[a] ? rlo[a] : blo[a];
		rlo[a] = rlo[a] > lo[a] ? rlo[a] : lo[a];
		rhi[a] = rhi[a] < bhi[a] ? rhi[a] : bhi[a];
		rhi[a] = rhi[a] < hi[a] ? rhi[a] : hi[a];
	}

	memset(&g, 0, offsetof(rb_grid_cells, cut));
	if (quantiles)
		rb_cut_at_quantiles(c, list, rlo, rhi, &g);
	else
		rb_cut_equally(c, list, rlo, rhi, fixed, &g);
	g.cells = (uint64_t) g.grid.n[0] * g.grid.n[1] * g.grid.n[2];
	if (depth == 0)
		memcpy(c->ctx->stats.resolution, g.grid.n, sizeof(g.grid.n));
	if (depth == 0 || (g.cells > 1 && depth < DEPTH))
	{
		double began = rb_now_ms();

		status = rb_grid_cells_build(me, c, &g, list);
		if (depth == 0) /* at greater depth, this time counts as time of the leaves */
			c->ctx->stats.stage[RB_STAGE_GRID].ms += (rb_now_ms() - began) * c->threads;
		if (status == RB_OK)
		{
			rb_cells_join cells = {c, &g, rlo, rhi, depth, CROWDED_FRACTION * red.n * blue.n};

			rb_add(&c->cells, g.cells);
			helps = depth == 0 || rb_cut_helps(&g, red, blue);
			if (depth == 0)
				rb_progress(c->ctx, RB_STAGE_CANDIDATES, 0, count_cell_entries(&g, 0, g.cells));
			if (helps)
				join_cells_of_grid(me, &cells);
		}
		else if (status != RB_OVER_BUDGET)
			rb_cpu_fail(c, status);
		rb_grid_cells_free(c, &g);
	}
	if (status == RB_OVER_BUDGET)
		join_halves_of_lists(me, c, red, blue, rlo, rhi, depth);
	if (status != RB_OK || helps)
		return;
	if (!quantiles && depth < DEPTH)
		join_lists_in_cell(me, c, red, blue, rlo, rhi, depth + 1, true);
	else
		join_blocks_of_lists(me, c, red, blue, rlo, rhi);
}

/* Runs the whole join on the team: selects objects by occupancy bitmaps, then joins the lists. */
static void
join_all_objects(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_cpu *c = arg;
	double lo[2][3], hi[2][3];
	rb_list list[2];
	uint32_t *entry[2] = {NULL, NULL};
	const rb_set *o[2] = {c->red, c->blue};
	int sides = c->self ? 1 : 2;
	int few = c->red->nparts <= c->blue->nparts ? 0 : 1;
	rb_occupancy bitmap[2] = {0};
	double began = rb_now_ms();
	rb_status status = RB_OK;

	(void) from, (void) to;
	rb_progress(c->ctx, RB_STAGE_GRID, 0, 0);
	for (int s = 0; s < sides; s++)
		rb_set_bounds(me, c, o[s], lo[s], hi[s]);
	for (int a = 0; a < 3 && !c->self; a++)
	{
		lo[0][a] = lo[0][a] > lo[1][a] ? lo[0][a] : lo[1][a];
		hi[0][a] = hi[0][a] < hi[1][a] ? hi[0][a] : hi[1][a];
	}
	rb_tile_clip(c->job, lo[0], hi[0]);
	if (!c->self)
		status = rb_occupancy_build(me, c, o[few], o[1 - few], lo[0], hi[0], bitmap);
	/*
	 * Test the larger set against the bitmap of the smaller one, then the smaller against the rest
	 * of the larger.
	 */
	for (int k = 0; k < sides && status == RB_OK; k++)
	{
		int s = c->self ? 0 : k == 0 ? 1 - few : few;
		bool sparse = bitmap[0].word != NULL;

		status = rb_select_objects(me, c, o[s], lo[0], hi[0], sparse ? &bitmap[k] : NULL,
								   sparse && k == 0 ? &bitmap[1] : NULL, &entry[s], &list[s].n);
		list[s].entry = entry[s];
	}
	for (int k = 0; k < 2; k++)
		RB_FREE(c->ctx->memory, bitmap[k].word);
	if (status != RB_OK)
		rb_cpu_fail(c, status);
	else if (rb_cpu_going(c))
	{
		if (c->self)
			list[1] = list[0];
		c->ctx->stats.stage[RB_STAGE_GRID].ms += (rb_now_ms() - began) * c->threads;
		rb_progress(c->ctx, RB_STAGE_CANDIDATES, 0, 0);
		join_lists_in_cell(me, c, list[0], list[1], lo[0], hi[0], 0, false);
	}
	for (int s = 0; s < sides; s++)
		RB_FREE(c->ctx->memory, entry[s]);
}

/* Joins the sets of a job on the CPU. */
static rb_status
join_on_cpu(rb_context *ctx, const rb_job *job, const rb_sink *sink)
{
	rb_cpu c = {0};
	rb_thread *me;
	rb_status status;

	c.ctx = ctx;
	c.job = job;
	c.red = job->red;
	c.blue = job->blue != NULL ? job->blue : job->red;
	c.self = job->blue == NULL;
	c.pad = rb_pad_of(job->predicate, job->distance);
	c.kernel = rb_kernel_best();
	if (c.red->nparts == 0 || c.blue->nparts == 0)
		return RB_OK;
	RB_TRY(rb_set_materialize(ctx, c.red));
	RB_TRY(rb_set_materialize(ctx, c.blue));
	RB_TRY(rb_team_open(ctx, ctx->threads, &me));
	c.threads = rb_team_threads(me);
	ctx->stats.threads = c.threads;

	status = RB_ALLOCATE(ctx, c.leaf, c.threads);
	if (status == RB_OK)
		memset(c.leaf, 0, c.threads * sizeof(rb_leaf *));
	for (int t = 0; t < c.threads && status == RB_OK; t++)
		status = rb_leaf_create(ctx, job, sink, &c.leaf[t]);

	if (status == RB_OK)
	{
		pthread_mutex_init(&c.lock, NULL);
		status = rb_loop(me, 1, 1, join_all_objects, &c);
		for (int t = 0; t < c.threads && status == RB_OK; t++)
			status = rb_leaf_flush(c.leaf[t]);
		if (c.status != RB_OK)
			status = c.status;
		pthread_mutex_destroy(&c.lock);
		for (int t = 0; t < c.threads; t++)
			rb_leaf_report(c.leaf[t], &ctx->stats);
		/* Stages on which all threads worked. The times of other stages belong to the caller. */
		for (int s = RB_STAGE_GRID; s <= RB_STAGE_EXACT; s++)
			ctx->stats.stage[s].ms /= c.threads;
		ctx->stats.cells += c.cells;
		ctx->stats.stage[RB_STAGE_GRID].count += c.incidences;
	}
	for (int t = 0; t < c.threads && c.leaf != NULL; t++)
		rb_leaf_destroy(ctx, c.leaf[t]);
	RB_FREE(ctx->memory, c.leaf);
	rb_team_close(&me);
	return ctx->error.status != RB_OK ? ctx->error.status : status;
}

/* Reports the CPU backend as usable, with no description; implements the backend's probe. */
static rb_status
probe_cpu(int device, char *text, size_t size)
{
	(void) device;
	if (size > 0)
		text[0] = '\0';
	return RB_OK;
}

/* Returns true, because the CPU need not be opened; implements the backend's warm. */
static bool
is_cpu_warm(int device)
{
	(void) device;
	return true;
}

const rb_backend rb_backend_cpu = {
	.name = "cpu", .probe = probe_cpu, .join = join_on_cpu, .warm = is_cpu_warm};

/* ---- pairs that a device left undecided ---- */

/*
 * Decides pairs that a device left undecided because their exponents exceed its exact arithmetic,
 * with GMP on all cores.
 */

#define BLOCK 1024 /* pairs that a thread processes at a time */

typedef struct rb_decision
{
	rb_context *ctx;
	const rb_job *job;
	rb_pair *pairs;
	uint64_t integer;
	uint64_t expansion;
	uint64_t gmp;
} rb_decision;

/*
 * Decides a block of pairs. If the predicate does not hold, the red number of a pair is set to a
 * value with all bits set, which no pair with a payload has, and rb_decide_pairs removes the pair.
 */
static void
decide_undecided_pairs_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_decision *d = arg;
	const rb_set *red = d->job->red, *blue = d->job->blue != NULL ? d->job->blue : red;
	const size_t red_width = rb_kind_width(red->kind), blue_width = rb_kind_width(blue->kind);
	rb_exact_env env = {.filters = d->ctx->filters, .exact = true, .distance = d->job->distance};

	(void) me;
	for (uint64_t i = from; i < to && !rb_should_stop(d->ctx); i++)
	{
		rb_pair *p = &d->pairs[i];
		const int answer =
			rb_pair_decide(&env, d->job->predicate, red->kind, blue->kind,
						   red->coords + p->red * red_width, blue->coords + p->blue * blue_width);

		if (RB_IS_YES(answer))
			p->red |= (uint32_t) RB_PAYLOAD(answer) << RB_PAYLOAD_SHIFT;
		else
			p->red = UINT32_MAX;
	}
	rb_add(&d->integer, env.integer);
	rb_add(&d->expansion, env.expansion);
	rb_add(&d->gmp, env.gmp);
}

rb_status
rb_decide_pairs(rb_context *ctx, const rb_job *job, rb_pair *pairs, size_t n, size_t *kept)
{
	rb_decision d = {ctx, job, pairs, 0, 0, 0};
	size_t blocks = (n + BLOCK - 1) / BLOCK;
	size_t k = 0;
	rb_status status;

	/* The host's coordinates may not have been materialized yet. */
	status = rb_set_materialize(ctx, job->red);
	if (status == RB_OK && job->blue != NULL)
		status = rb_set_materialize(ctx, job->blue);
	if (status != RB_OK)
		return status;
	/* Use at most one thread per block. */
	RB_TRY(rb_team_loop(ctx, blocks < (size_t) ctx->threads ? (int) blocks : ctx->threads, n, BLOCK,
						decide_undecided_pairs_piece, &d));
	/* Compact the remaining pairs, in order. */
	for (size_t i = 0; i < n; i++)
		if (pairs[i].red != UINT32_MAX)
			pairs[k++] = pairs[i];
	ctx->stats.exact_integer += d.integer;
	ctx->stats.exact_expansion += d.expansion;
	ctx->stats.exact_gmp += d.gmp;
	*kept = k;
	return RB_OK;
}
