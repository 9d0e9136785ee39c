/*
 * grid.c
 *	  Fills one grid: distributes the objects of two lists to its cells, as ragged arrays built in
 *	  two passes.
 *
 *        count   the number of objects of each list that reach into each cell
 *        scan    the start of each cell's slice
 *        fill    each object into the slices of its cells
 *
 * After Menezes, Magalhaes, Aguilar, Franklin, Chichorro: Fast Parallel Evaluation of Exact
 * Geometric Predicates on GPUs, 2022, with two differences: a cell with objects of only one color
 * stores nothing, and cells need not be of equal size (split.c).
 */
#include "core/join/cpu_join.h"

#include <string.h>

/* Cells written between two polls of the stop flag, since each write may be a page fault */
#define STOP_STEP 2048

/* Returns the number of the cell that contains x, between cuts. The map is monotone in x. */
static inline uint32_t
cut_cell(const rb_grid_cells *g, int axis, double x)
{
	uint32_t n = g->grid.n[axis] - 1;
	uint32_t c = 0;

	while (n > 0)
	{
		uint32_t half = n / 2;

		if (g->cut[axis][c + half] <= x)
		{
			c += half + 1;
			n -= half + 1;
		}
		else
			n = half;
	}
	return c;
}

static void
ranges_of(const rb_cpu *c, const rb_grid_cells *g, const rb_batch_boxes *box, rb_range *range)
{
	if (!g->quantiles)
		rb_batch_cells(c, &g->grid, box, range);
	else
		for (uint32_t i = 0; i < box->n; i++)
			for (int a = 0; a < 3; a++)
			{
				range[i].c0[a] = cut_cell(g, a, box->lo[i][a]);
				range[i].c1[a] = cut_cell(g, a, box->hi[i][a]);
			}
}

/*
 * The cells of an object. The first pass stores them for the second in one word: the first cell,
 * and the number of further cells the object reaches into along each axis. FAR marks an object that
 * reaches too far for these bits; the second pass computes its cells again.
 */
#define FAR UINT32_MAX

typedef struct rb_object_cells
{
	uint64_t first;
	uint32_t span[3];
} rb_object_cells;

static inline rb_object_cells
place_of(const rb_grid_cells *g, const rb_range *r)
{
	return (rb_object_cells){rb_grid_number(&g->grid, r->c0[0], r->c0[1], r->c0[2]),
							 {r->c1[0] - r->c0[0], r->c1[1] - r->c0[1], r->c1[2] - r->c0[2]}};
}

static inline uint32_t
place_pack(rb_object_cells p)
{
	if (p.span[0] > 6 || p.span[1] > 7 || p.span[2] > 3)
		return FAR;
	return (uint32_t) p.first | p.span[0] << RB_CELL_BITS | p.span[1] << (RB_CELL_BITS + 3) |
		   p.span[2] << (RB_CELL_BITS + 6);
}

static inline rb_object_cells
place_unpack(uint32_t word)
{
	return (rb_object_cells){
		word & ((1u << RB_CELL_BITS) - 1),
		{word >> RB_CELL_BITS & 7, word >> (RB_CELL_BITS + 3) & 7, word >> (RB_CELL_BITS + 6)}};
}

/*
 * Counts the objects of one partition of a list per cell, in the first pass. Both passes divide a
 * list into partitions, one per thread. Each partition has its own counts, so no two threads write
 * to the same location.
 */
static void
count_objects(rb_cpu *c, const rb_set *o, rb_list list, const rb_grid_cells *g, uint32_t *place,
			  uint32_t *count)
{
	const uint32_t nx = g->grid.n[0], ny = g->grid.n[1];
	uint64_t done = 0; /* cells and objects since the stop flag was last polled */
	rb_batch_boxes box;
	rb_range range[RB_BATCH] __attribute__((aligned(32)));

	for (uint32_t i = 0; i < list.n; i += box.n)
	{
		rb_batch_load(c, o, list.entry + i, 0, list.n - i, &box);
		ranges_of(c, g, &box, range);
		done += box.n;
		for (uint32_t j = 0; j < box.n; j++)
		{
			rb_object_cells p = place_of(g, &range[j]);

			place[i + j] = place_pack(p);
			if ((p.span[0] | p.span[1] | p.span[2]) == 0) /* one cell, the usual case */
			{
				count[p.first]++;
				continue;
			}
			for (uint32_t z = 0; z <= p.span[2]; z++)
				for (uint32_t y = 0; y <= p.span[1]; y++)
				{
					uint32_t *row = count + p.first + ((uint64_t) z * ny + y) * nx;

					done += 16 + p.span[0];
					if (done > STOP_STEP)
					{
						done = 0;
						if (!rb_cpu_going(c))
							return;
					}
					for (uint32_t x = 0; x <= p.span[0]; x++)
						row[x]++;
				}
		}
		if (done > STOP_STEP)
		{
			done = 0;
			if (!rb_cpu_going(c))
				return;
		}
	}
}

/*
 * Writes each object into the slices of its cells, starting at start + count, in the second pass.
 * Cells without objects of the other color are skipped.
 */
static void
fill_objects(rb_cpu *c, const rb_set *o, rb_list list, const rb_grid_cells *g,
			 const uint32_t *place, uint32_t *count, const uint64_t *start, uint32_t *entry)
{
	const uint32_t nx = g->grid.n[0], ny = g->grid.n[1];
	uint64_t done = 0;

	for (uint32_t i = 0; i < list.n; i++)
	{
		const uint32_t index = list.entry[i] & RB_INDEX_MASK;
		const uint32_t starts = list.entry[i] >> RB_INDEX_BITS;
		rb_object_cells p = place_unpack(place[i]);

		if (place[i] == FAR)
		{
			rb_batch_boxes box;
			rb_range range;

			rb_batch_load(c, o, &list.entry[i], 0, 1, &box);
			ranges_of(c, g, &box, &range);
			p = place_of(g, &range);
		}
		for (uint32_t z = 0; z <= p.span[2]; z++)
			for (uint32_t y = 0; y <= p.span[1]; y++)
			{
				uint64_t row = p.first + ((uint64_t) z * ny + y) * nx;

				done += 16 + p.span[0];
				if (done > STOP_STEP)
				{
					done = 0;
					if (!rb_cpu_going(c))
						return;
				}
				for (uint32_t x = 0; x <= p.span[0]; x++)
					if (start[row + x + 1] > start[row + x])
					{
						uint32_t here = (x == 0) | (y == 0) << 1 | (z == 0) << 2;

						entry[start[row + x] + count[row + x]++] = index | (starts & here)
																			   << RB_INDEX_BITS;
					}
			}
	}
}

typedef struct rb_grid_scatter
{
	rb_cpu *c;
	const rb_set *o;
	rb_list list;
	const rb_grid_cells *g;
	uint32_t *place;
	uint32_t *count;
	const uint64_t *start;
	uint32_t *entry; /* output of the second pass; NULL in the first pass */
} rb_grid_scatter;

static void
scatter_share(rb_thread *me, void *arg, uint64_t share, uint64_t end)
{
	const rb_grid_scatter *s = arg;
	const uint64_t shares = s->g->shares;
	const uint64_t from = s->list.n * share / shares;
	const rb_list list = {s->list.entry + from, (uint32_t) (s->list.n * end / shares - from)};
	uint32_t *count = s->count + share * s->g->cells;

	(void) me;
	if (!rb_cpu_going(s->c))
		return;
	if (s->entry == NULL)
		count_objects(s->c, s->o, list, s->g, s->place + from, count);
	else
		fill_objects(s->c, s->o, list, s->g, s->place + from, count, s->start, s->entry);
}

void
rb_cells_free(rb_cpu *c, rb_grid_cells *g)
{
	rb_memory *m = c->ctx->memory;

	for (int side = 0; side < (g->same ? 1 : 2); side++) /* otherwise blue's arrays are red's */
	{
		RB_FREE(m, g->start[side]);
		RB_FREE(m, g->count[side]);
		RB_FREE(m, g->place[side]);
		RB_FREE(m, g->entry[side]);
	}
}

/*
 * Turns counts into starts. The count of a partition becomes the position, relative to the start of
 * the cell's slice, at which the partition begins to write.
 */
static void
cells_scan(rb_grid_cells *g, int sides)
{
	uint64_t sum[2] = {0, 0};

	for (uint64_t cell = 0; cell < g->cells; cell++)
	{
		uint32_t n[2] = {0, 0};

		for (int s = 0; s < sides; s++)
			for (uint32_t p = 0; p < g->shares; p++)
			{
				uint32_t mine = g->count[s][p * g->cells + cell];

				g->count[s][p * g->cells + cell] = n[s];
				n[s] += mine;
			}
		for (int s = 0; s < sides; s++)
		{
			g->start[s][cell] = sum[s];
			sum[s] += n[sides - 1 - s] > 0 ? n[s] : 0;
		}
	}
	for (int s = 0; s < sides; s++)
		g->start[s][g->cells] = sum[s];
}

/*
 * Allocates an array. Exceeding the memory budget is not recorded as a failure of the join
 * (cpu_join.c).
 */
static rb_status
take_room(rb_context *ctx, void *block, size_t n, size_t element)
{
	rb_error error;
	rb_status status = rb_resize(ctx->memory, (void **) block, n * element, &error);

	if (status != RB_OK && status != RB_OVER_BUDGET)
		return rb_fail(ctx, status, error.need, error.limit, NULL);
	return status;
}

rb_status
rb_cells_build(rb_thread *me, rb_cpu *c, rb_grid_cells *g, const rb_list list[2])
{
	const rb_set *o[2] = {c->red, c->blue};
	int sides;
	uint64_t most = 1 + ((uint64_t) list[0].n + list[1].n) / RB_GRAIN;
	uint64_t room = 1 + 2 * ((uint64_t) list[0].n + list[1].n) / g->cells;
	rb_context *ctx = c->ctx;
	rb_status status = RB_OK;

	g->same = c->self && list[0].entry == list[1].entry;
	sides = g->same ? 1 : 2;
	/*
	 * Each partition must have enough work, and the counts must not take much more memory than the
	 * lists.
	 */
	most = most < room ? most : room;
	g->shares = most < (uint64_t) c->threads ? (uint32_t) most : (uint32_t) c->threads;
	for (int s = 0; s < sides; s++)
	{
		rb_grid_scatter count = {c, o[s], list[s], g, NULL, NULL, NULL, NULL};

		status = take_room(ctx, &g->count[s], g->shares * g->cells, sizeof(uint32_t));
		if (status == RB_OK)
			status = take_room(ctx, &g->start[s], g->cells + 1, sizeof(uint64_t));
		if (status == RB_OK)
			status = take_room(ctx, &g->place[s], list[s].n, sizeof(uint32_t));
		if (status != RB_OK)
			return status;
		memset(g->count[s], 0, g->shares * g->cells * sizeof(uint32_t));
		count.place = g->place[s];
		count.count = g->count[s];
		status = rb_loop(me, g->shares, 1, scatter_share, &count);
		if (status != RB_OK)
			return status;
	}
	cells_scan(g, sides);
	for (int s = 0; s < sides; s++)
	{
		rb_grid_scatter fill = {c, o[s], list[s], g, g->place[s], g->count[s], g->start[s], NULL};

		rb_add(&c->incidences, g->start[s][g->cells]);
		status = take_room(ctx, &g->entry[s], g->start[s][g->cells], sizeof(uint32_t));
		if (status != RB_OK)
			return status;
		fill.entry = g->entry[s];
		status = rb_loop(me, g->shares, 1, scatter_share, &fill);
		if (status != RB_OK)
			return status;
		RB_FREE(ctx->memory, g->count[s]);
		RB_FREE(ctx->memory, g->place[s]);
	}
	if (g->same)
	{
		g->start[1] = g->start[0];
		g->entry[1] = g->entry[0];
	}
	return RB_OK;
}

void
rb_cell_box(const double lo[3], const double hi[3], const rb_grid_cells *cells, uint64_t cell,
			double clo[3], double chi[3])
{
	const rb_grid *g = &cells->grid;
	uint32_t at[3];

	at[0] = (uint32_t) (cell % g->n[0]);
	at[1] = (uint32_t) (cell / g->n[0] % g->n[1]);
	at[2] = (uint32_t) (cell / g->n[0] / g->n[1]);
	for (int a = 0; a < 3; a++)
	{
		double f = (double) at[a] / g->n[a], t = (double) (at[a] + 1) / g->n[a];

		if (cells->quantiles)
		{
			clo[a] = at[a] > 0 ? cells->cut[a][at[a] - 1] : lo[a];
			chi[a] = cells->cut[a][at[a]];
		}
		else
		{
			clo[a] = lo[a] * (1 - f) + hi[a] * f;
			chi[a] = lo[a] * (1 - t) + hi[a] * t;
		}
		if (at[a] == 0)
			clo[a] = lo[a];
		if (at[a] == g->n[a] - 1)
			chi[a] = hi[a];
	}
}
