/*
 * cpu.c
 *	  The CPU backend: a uniform grid whose crowded cells get grids of their own,
 *	  on all cores.
 *
 *	   objects --box meets the other set's box, its cells the other's cells?--> lists
 *	   lists --plan, count, scan, fill--> cells --small--> leaf.c
 *	                                       |
 *	                                       +--crowded--> the same again, inside that cell
 *
 * Menezes, Magalhaes, Aguilar, Franklin, Chichorro: Fast Parallel Evaluation of
 * Exact Geometric Predicates on GPUs, 2022, for the grid as ragged arrays in two
 * passes.  What is different: the grid covers only where both sets are; a cell
 * that has objects of one colour stores nothing; each pair is found in the one
 * cell that owns it (rb_grid.h), so nothing is sorted or made unique; and a cell
 * with too many objects is refined around what is really in it, so that two
 * dense clusters at the ends of the world cost two more passes, not a quadratic
 * one.
 *
 * Equal cells are no help to data that are crowded at every scale (a mesh refined
 * towards a crack, a giant that keeps the region of a dense cluster wide): level
 * after level most objects stay together.  A cell that kept too many is therefore
 * cut at quantiles of a sample instead, at which the objects are counted and not
 * measured.  The owner rule asks for a monotone map only, and this is one.  Where
 * that cannot help either, because everything covers everything, the lists are
 * cut into blocks and each block meets each: then the pairs are there.
 *
 * Before all that, where one set is sparse beside the other, what is nowhere near
 * the other is dropped (rb_sieve.h).
 *
 * The work is a tree of OpenMP tasks.  A task holds arrays of its own only while
 * its children run.
 */
#include "rb_core.h"
#include "rb_sieve.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define GRAIN RB_SIZE(16384, 24) /* objects in a task of a pass over a list */
#define TARGET RB_SIZE(512, 6)   /* objects that a cell should hold, both sides */
#define MAX_CELLS ((double) (1 << 24))
#define TASK_TESTS RB_SIZE(1 << 18, 1000) /* red x blue that make a task of leaves */
#define DEPTH 64
#define POLL 2048  /* cells between two polls: each may be on a fresh page */
#define KEPT 0.125 /* share of the pairs in one cell from which on quantiles are better */
#define SIEVE_CELLS RB_SIZE((double) (1 << 21), 4000.0)
#define SIEVE_COST 0.05     /* of a cell of an object in a sieve, in box tests */
#define CUTS 256            /* most cells along an axis that is cut at quantiles */
#define INCIDENCE_COST 16.0 /* of putting an object into one cell, in box tests */

typedef struct rb_cpu
{
	rb_context *ctx;
	const rb_job *job;
	const rb_objects *red;
	const rb_objects *blue; /* = red in a self join */
	bool self;
	int threads;
	const rb_kernel *kernel;
	rb_worker **worker;
	volatile int status; /* the first that was not RB_OK */
	uint64_t cells;      /* of this file's grids, with the incidences in them */
	uint64_t incidences;
	uint64_t leaf_done; /* for progress */
} rb_cpu;

static void
fail(rb_cpu *c, rb_status status)
{
	int ok = RB_OK;

	__atomic_compare_exchange_n(&c->status, &ok, (int) status, false, __ATOMIC_RELAXED,
								__ATOMIC_RELAXED);
}

static bool
going(rb_cpu *c)
{
	if (rb_should_stop(c->ctx))
		fail(c, RB_STOPPED);
	return c->status == RB_OK;
}

/* ---- boxes and lists ---- */

/* a few objects that pass by, and their boxes */
typedef struct rb_batch_boxes
{
	uint32_t n;
	double lo[RB_BATCH][4] __attribute__((aligned(32)));
	double hi[RB_BATCH][4] __attribute__((aligned(32)));
} rb_batch_boxes;

static inline void
batch_load(const rb_cpu *c, const rb_objects *o, const uint32_t *entry, uint32_t first,
		   uint32_t most, rb_batch_boxes *box)
{
	box->n = most < RB_BATCH ? most : RB_BATCH;
	c->kernel->load(o->kind, o->coords, entry, first, box->n, box->lo, box->hi);
}

static inline void
batch_cells(const rb_cpu *c, const rb_grid *grid, const rb_batch_boxes *box, rb_range *range)
{
	c->kernel->cells(grid, (const double(*)[4]) box->lo, (const double(*)[4]) box->hi, box->n,
					 range);
}

/* box of the objects of a list, in tasks */
static void
bounds(rb_cpu *c, const rb_objects *o, const uint32_t *entry, uint32_t n, double lo[3],
	   double hi[3])
{
	rb_box_empty(lo, hi);
#pragma omp taskloop default(shared) grainsize(1) if (n > GRAIN)
	for (uint32_t from = 0; from < n; from += GRAIN)
	{
		uint32_t to = n - from > GRAIN ? from + GRAIN : n;
		double mylo[3], myhi[3];
		rb_batch_boxes box;

		rb_box_empty(mylo, myhi);
		for (uint32_t i = from; i < to && going(c); i += box.n)
		{
			batch_load(c, o, entry + i, 0, to - i, &box);
			for (uint32_t k = 0; k < box.n; k++)
				rb_box_add(mylo, myhi, box.lo[k], box.hi[k]);
		}
#pragma omp critical(rb_cpu_bounds)
		rb_box_add(lo, hi, mylo, myhi);
	}
}

/*
 * The box of all objects: of all their points, whatever belongs together.  Twelve
 * numbers are four points of space or six of the plane.
 */
static void
bounds_of_all(rb_cpu *c, const rb_objects *o, double lo[3], double hi[3])
{
	const int dims = rb_kind_dims(o->kind);
	const size_t total = (size_t) o->nparts * rb_kind_width(o->kind);
	const size_t stretch = (size_t) GRAIN * 12;

	rb_box_empty(lo, hi);
#pragma omp taskloop default(shared) grainsize(1) if (total > stretch)
	for (size_t from = 0; from < total; from += stretch)
	{
		size_t to = total - from > stretch ? from + stretch : total;
		double mylo[12], myhi[12];
		size_t i = from;

		for (int k = 0; k < 12; k++)
		{
			mylo[k] = HUGE_VAL;
			myhi[k] = -HUGE_VAL;
		}
		if (!going(c))
			i = to;
		for (; i + 12 <= to; i += 12)
			for (int k = 0; k < 12; k++)
			{
				double x = o->coords[i + k];

				mylo[k] = x < mylo[k] ? x : mylo[k];
				myhi[k] = x > myhi[k] ? x : myhi[k];
			}
		for (int k = 0; i < to; i++, k++)
		{
			double x = o->coords[i];

			mylo[k] = x < mylo[k] ? x : mylo[k];
			myhi[k] = x > myhi[k] ? x : myhi[k];
		}
#pragma omp critical(rb_cpu_bounds)
		for (int k = 0; k < 12; k++)
		{
			int a = k % dims;

			lo[a] = mylo[k] < lo[a] ? mylo[k] : lo[a];
			hi[a] = myhi[k] > hi[a] ? myhi[k] : hi[a];
		}
	}
	if (dims == 2)
		lo[2] = hi[2] = 0;
}

/*
 * Boxes of objects from all over the list (or of all, without one), one from each
 * stretch of equal length and there at random: tables repeat themselves, and a fixed
 * step might see one phase of it only.
 */
static uint32_t
sample_boxes(const rb_objects *o, rb_list list, double lo[RB_SAMPLE][3], double hi[RB_SAMPLE][3])
{
	uint32_t step = list.n / RB_SAMPLE + 1;
	uint32_t random = 1;
	uint32_t n = 0;

	for (uint64_t from = 0; from < list.n; from += step)
	{
		uint64_t i;

		random = random * 1664525 + 1013904223;
		i = from + ((uint64_t) random * step >> 32);
		if (i < list.n)
		{
			rb_object_box(o, list.entry != NULL ? list.entry[i] & RB_INDEX_MASK : (uint32_t) i,
						  lo[n], hi[n]);
			n++;
		}
	}
	return n;
}

/*
 * Entries of the objects that reach into the region and, where there is a sieve,
 * into a cell that the other set is in; those cells are marked in mark, where there
 * is one.  Each chunk of GRAIN objects makes its part of the list.
 */
static rb_status
select_objects(rb_cpu *c, const rb_objects *o, const double lo[3], const double hi[3],
			   const rb_sieve *sieve, const rb_sieve *mark, uint32_t **entry, uint32_t *n)
{
	uint32_t chunks = o->nparts / GRAIN + 1;
	uint32_t *kept = NULL;
	uint32_t total = 0;
	rb_status status;

	status = rb_array(c->ctx, (void **) entry, o->nparts, sizeof(uint32_t));
	if (status == RB_OK)
		status = rb_array(c->ctx, (void **) &kept, chunks, sizeof(uint32_t));
	if (status != RB_OK)
		return status;
#pragma omp taskloop default(shared) grainsize(1)
	for (uint32_t chunk = 0; chunk < chunks; chunk++)
	{
		uint32_t from = chunk * GRAIN;
		uint32_t to = o->nparts - from > GRAIN ? from + GRAIN : o->nparts;
		uint32_t k = from;

		rb_batch_boxes box;
		rb_range range[RB_BATCH] __attribute__((aligned(32)));

		for (uint32_t i = from; i < to && c->self; i++) /* all there are */
			(*entry)[k++] = i | RB_STARTS_ALL << RB_INDEX_BITS;
		for (uint32_t i = from; i < to && !c->self && going(c); i += box.n)
		{
			batch_load(c, o, NULL, i, to - i, &box);
			if (sieve != NULL)
				batch_cells(c, &sieve->grid, &box, range);
			for (uint32_t j = 0; j < box.n; j++)
			{
				bool in = rb_boxes_overlap(box.lo[j], box.hi[j], lo, hi);

				if (in && sieve != NULL)
					in = rb_sieve_holds(sieve, &range[j]);
				if (in && mark != NULL)
					rb_sieve_mark(mark, &range[j]);
				(*entry)[k] = (i + j) | RB_STARTS_ALL << RB_INDEX_BITS;
				k += in;
			}
		}
		kept[chunk] = k - from;
	}
	for (uint32_t chunk = 0; chunk < chunks; chunk++)
	{
		memmove(*entry + total, *entry + (size_t) chunk * GRAIN, kept[chunk] * sizeof(uint32_t));
		total += kept[chunk];
	}
	rb_free(c->ctx->memory, (void **) &kept);
	*n = total;
	return RB_OK;
}

static inline rb_range
range_of(const rb_grid *grid, const double lo[3], const double hi[3])
{
	rb_range r = {{0}, {0}};

	for (int a = 0; a < 3; a++)
	{
		r.c0[a] = rb_grid_cell(grid, a, lo[a]);
		r.c1[a] = rb_grid_cell(grid, a, hi[a]);
	}
	return r;
}

/* mark the cells of every step-th object that reaches into the region */
static void
sieve_fill(rb_cpu *c, const rb_objects *o, const double lo[3], const double hi[3], uint32_t step,
		   const rb_sieve *sieve)
{
	const uint32_t stretch = GRAIN * step;

#pragma omp taskloop default(shared) grainsize(1) if (o->nparts > stretch)
	for (uint64_t from = 0; from < o->nparts; from += stretch)
	{
		uint64_t to = o->nparts - from > stretch ? from + stretch : o->nparts;

		for (uint64_t i = from; i < to && going(c); i += step)
		{
			double blo[3], bhi[3];

			rb_object_box(o, (uint32_t) i, blo, bhi);
			if (rb_boxes_overlap(blo, bhi, lo, hi))
			{
				rb_range r = range_of(&sieve->grid, blo, bhi);

				rb_sieve_mark(sieve, &r);
			}
		}
	}
}

/*
 * Is a sieve worth its while?  Makes one of the smaller set, `few`, where a sample
 * of the other says that two thirds of it would be dropped, and an empty one to be
 * marked by what is left of the other.  A first look, at every 16th object, stops
 * where both sets are dense before it costs anything.
 */
static rb_status
sieve_make(rb_cpu *c, const rb_objects *few, const rb_objects *many, const double lo[3],
		   const double hi[3], rb_sieve sieve[2])
{
	const rb_plan plan = {SIEVE_COST, 0, SIEVE_CELLS};
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
		sample[s].n = sample_boxes(s == 0 ? few : many, all[s], slo, shi);
		for (uint32_t i = 0; i < sample[s].n; i++)
			for (int a = 0; a < 3; a++)
				sample[s].extent[a][i] = 0.5 * shi[i][a] - 0.5 * slo[i][a];
		rb_sample_end(&sample[s]);
	}
	rb_plan_grid(&plan, &sample[0], few->nparts, &sample[1], many->nparts, width, n);
	for (int k = 0; k < 2; k++)
		rb_grid_init(&sieve[k].grid, lo, hi, n);
	words = rb_sieve_words(&sieve[0].grid);
	for (int k = 0; k < 2 && status == RB_OK; k++)
		status = rb_array(c->ctx, (void **) &sieve[k].word, words, sizeof(uint64_t));
	if (status != RB_OK)
		return status;
	for (int k = 0; k < 2; k++)
		memset(sieve[k].word, 0, words * sizeof(uint64_t));

	for (int look = 0; look < 2; look++)
	{
		uint32_t tested = 0, held = 0;

		sieve_fill(c, few, lo, hi, look == 0 ? 16 : 1, &sieve[0]);
		for (uint32_t i = 0; i < sample[1].n; i++)
			if (rb_boxes_overlap(slo[i], shi[i], lo, hi))
			{
				rb_range r = range_of(&sieve[0].grid, slo[i], shi[i]);

				tested++;
				held += rb_sieve_holds(&sieve[0], &r);
			}
		if (held * (look == 0 ? 4 : 3) > tested)
		{
			for (int k = 0; k < 2; k++)
				rb_free(c->ctx->memory, (void **) &sieve[k].word);
			break;
		}
	}
	return RB_OK;
}

/* ---- one grid ---- */

typedef struct rb_cells
{
	rb_grid grid; /* of equal cells; only n where they are not */
	bool quantiles;
	uint64_t cells;
	uint64_t *start[2]; /* of red and blue, cells + 1; the same array in a self join */
	uint32_t parts;     /* of a list, in a pass over it */
	uint32_t *count[2]; /* of each part, cells; then write cursors */
	uint32_t *place[2]; /* of each object of a list */
	uint32_t *entry[2];
	double cut[3][CUTS]; /* with quantiles: cell i ends before cut[i] */
} rb_cells;

/* number of the cell between cuts; monotone in x */
static inline uint32_t
cut_cell(const rb_cells *g, int axis, double x)
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
ranges_of(const rb_cpu *c, const rb_cells *g, const rb_batch_boxes *box, rb_range *range)
{
	if (!g->quantiles)
		batch_cells(c, &g->grid, box, range);
	else
		for (uint32_t i = 0; i < box->n; i++)
			for (int a = 0; a < 3; a++)
			{
				range[i].c0[a] = cut_cell(g, a, box->lo[i][a]);
				range[i].c1[a] = cut_cell(g, a, box->hi[i][a]);
			}
}

/*
 * Where an object goes, in a word that the first pass leaves to the second: its
 * first cell, and how many further cells it reaches into along each axis.  What
 * reaches too far is asked again.
 */
#define CELL_BITS 24 /* MAX_CELLS */
#define FAR UINT32_MAX

typedef struct rb_place
{
	uint64_t first;
	uint32_t span[3];
} rb_place;

static inline rb_place
place_of(const rb_cells *g, const rb_range *r)
{
	return (rb_place){rb_grid_number(&g->grid, r->c0[0], r->c0[1], r->c0[2]),
					  {r->c1[0] - r->c0[0], r->c1[1] - r->c0[1], r->c1[2] - r->c0[2]}};
}

static inline uint32_t
place_pack(rb_place p)
{
	if (p.span[0] > 6 || p.span[1] > 7 || p.span[2] > 3)
		return FAR;
	return (uint32_t) p.first | p.span[0] << CELL_BITS | p.span[1] << (CELL_BITS + 3) |
		   p.span[2] << (CELL_BITS + 6);
}

static inline rb_place
place_unpack(uint32_t word)
{
	return (rb_place){
		word & ((1u << CELL_BITS) - 1),
		{word >> CELL_BITS & 7, word >> (CELL_BITS + 3) & 7, word >> (CELL_BITS + 6)}};
}

/*
 * Both passes over a part of a list, of which each has counts of its own, so that
 * no two threads write to one place.  The first counts.
 */
static void
count_objects(rb_cpu *c, const rb_objects *o, rb_list list, const rb_cells *g, uint32_t *place,
			  uint32_t *count)
{
	const uint32_t nx = g->grid.n[0], ny = g->grid.n[1];
	uint64_t done = 0; /* since the last question whether to stop */
	rb_batch_boxes box;
	rb_range range[RB_BATCH] __attribute__((aligned(32)));

	for (uint32_t i = 0; i < list.n; i += box.n)
	{
		batch_load(c, o, list.entry + i, 0, list.n - i, &box);
		ranges_of(c, g, &box, range);
		done += box.n;
		for (uint32_t j = 0; j < box.n; j++)
		{
			rb_place p = place_of(g, &range[j]);

			place[i + j] = place_pack(p);
			if ((p.span[0] | p.span[1] | p.span[2]) == 0) /* as most */
			{
				count[p.first]++;
				continue;
			}
			for (uint32_t z = 0; z <= p.span[2]; z++)
				for (uint32_t y = 0; y <= p.span[1]; y++)
				{
					uint32_t *row = count + p.first + ((uint64_t) z * ny + y) * nx;

					done += 16 + p.span[0];
					if (done > POLL)
					{
						done = 0;
						if (!going(c))
							return;
					}
					for (uint32_t x = 0; x <= p.span[0]; x++)
						row[x]++;
				}
		}
		if (done > POLL)
		{
			done = 0;
			if (!going(c))
				return;
		}
	}
}

/*
 * The second writes each object into its cells' slices, at start + count and on, but
 * only where the other colour is present too.
 */
static void
fill_objects(rb_cpu *c, const rb_objects *o, rb_list list, const rb_cells *g, const uint32_t *place,
			 uint32_t *count, const uint64_t *start, uint32_t *entry)
{
	const uint32_t nx = g->grid.n[0], ny = g->grid.n[1];
	uint64_t done = 0;

	for (uint32_t i = 0; i < list.n; i++)
	{
		const uint32_t index = list.entry[i] & RB_INDEX_MASK;
		const uint32_t starts = list.entry[i] >> RB_INDEX_BITS;
		rb_place p = place_unpack(place[i]);

		if (place[i] == FAR)
		{
			rb_batch_boxes box;
			rb_range range;

			batch_load(c, o, &list.entry[i], 0, 1, &box);
			ranges_of(c, g, &box, &range);
			p = place_of(g, &range);
		}
		for (uint32_t z = 0; z <= p.span[2]; z++)
			for (uint32_t y = 0; y <= p.span[1]; y++)
			{
				uint64_t row = p.first + ((uint64_t) z * ny + y) * nx;

				done += 16 + p.span[0];
				if (done > POLL)
				{
					done = 0;
					if (!going(c))
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

static void
scatter_parts(rb_cpu *c, const rb_objects *o, rb_list list, const rb_cells *g, uint32_t *place,
			  uint32_t *count, const uint64_t *start, uint32_t *entry)
{
	const uint32_t parts = g->parts;

#pragma omp taskloop default(shared) grainsize(1) if (parts > 1)
	for (uint32_t p = 0; p < parts; p++)
	{
		uint32_t from = (uint32_t) ((uint64_t) list.n * p / parts);
		uint32_t to = (uint32_t) ((uint64_t) list.n * (p + 1) / parts);
		rb_list part = {list.entry + from, to - from};

		if (!going(c))
			continue;
		if (entry == NULL)
			count_objects(c, o, part, g, place + from, count + p * g->cells);
		else
			fill_objects(c, o, part, g, place + from, count + p * g->cells, start, entry);
	}
}

static void
cells_free(rb_cpu *c, rb_cells *g)
{
	rb_memory *m = c->ctx->memory;

	for (int side = 0; side < (c->self ? 1 : 2); side++)
	{
		rb_free(m, (void **) &g->start[side]);
		rb_free(m, (void **) &g->count[side]);
		rb_free(m, (void **) &g->place[side]);
		rb_free(m, (void **) &g->entry[side]);
	}
}

/* sums up counts to starts; what a part has counted becomes where in a cell it begins to write */
static void
cells_scan(rb_cells *g, int sides)
{
	uint64_t sum[2] = {0, 0};

	for (uint64_t cell = 0; cell < g->cells; cell++)
	{
		uint32_t n[2] = {0, 0};

		for (int s = 0; s < sides; s++)
			for (uint32_t p = 0; p < g->parts; p++)
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

/* count, scan, fill; `same` when both lists are one */
static rb_status
cells_make(rb_cpu *c, rb_cells *g, const rb_objects *o[2], const rb_list list[2], bool same)
{
	int sides = same ? 1 : 2;
	uint64_t most = 1 + ((uint64_t) list[0].n + list[1].n) / GRAIN;
	uint64_t room = 1 + 2 * ((uint64_t) list[0].n + list[1].n) / g->cells;
	rb_context *ctx = c->ctx;
	rb_status status = RB_OK;

	/* not more parts than there is work for, nor than make the counts larger than the lists */
	most = most < room ? most : room;
	g->parts = most < (uint64_t) c->threads ? (uint32_t) most : (uint32_t) c->threads;
	for (int s = 0; s < sides && status == RB_OK; s++)
	{
		status = rb_array(ctx, (void **) &g->count[s], g->parts * g->cells, sizeof(uint32_t));
		if (status == RB_OK)
			status = rb_array(ctx, (void **) &g->start[s], g->cells + 1, sizeof(uint64_t));
		if (status == RB_OK)
			status = rb_array(ctx, (void **) &g->place[s], list[s].n, sizeof(uint32_t));
		if (status != RB_OK)
			return status;
		memset(g->count[s], 0, g->parts * g->cells * sizeof(uint32_t));
		scatter_parts(c, o[s], list[s], g, g->place[s], g->count[s], NULL, NULL);
	}
	if (!going(c))
		return RB_STOPPED;
	cells_scan(g, sides);
	for (int s = 0; s < sides; s++)
	{
		__atomic_add_fetch(&c->incidences, g->start[s][g->cells], __ATOMIC_RELAXED);
		status = rb_array(ctx, (void **) &g->entry[s], g->start[s][g->cells], sizeof(uint32_t));
		if (status != RB_OK)
			return status;
		scatter_parts(c, o[s], list[s], g, g->place[s], g->count[s], g->start[s], g->entry[s]);
		rb_free(ctx->memory, (void **) &g->count[s]);
		rb_free(ctx->memory, (void **) &g->place[s]);
	}
	if (same)
	{
		g->start[1] = g->start[0];
		g->entry[1] = g->entry[0];
	}
	return going(c) ? RB_OK : RB_STOPPED;
}

/* ---- the recursion ---- */

static void join_lists(rb_cpu *c, rb_list red, rb_list blue, bool same, const double lo[3],
					   const double hi[3], int depth, bool quantiles);

static void
leaf(rb_cpu *c, rb_list red, rb_list blue, bool same, const double lo[3], const double hi[3])
{
	rb_status status;

	if (!going(c))
		return;
	status = rb_leaf_join(c->worker[omp_get_thread_num()], red, blue, same, lo, hi);
	if (status != RB_OK)
		fail(c, status);
}

/* every block of red with every block of blue; each unordered pair of blocks when same */
static void
join_blocks(rb_cpu *c, rb_list red, rb_list blue, bool same, const double lo[3], const double hi[3])
{
#pragma omp taskgroup
	for (uint32_t i = 0; i < red.n; i += RB_TILE)
		for (uint32_t j = same ? i : 0; j < blue.n; j += RB_TILE)
		{
			rb_list r = {red.entry + i, red.n - i < RB_TILE ? red.n - i : RB_TILE};
			rb_list b = {blue.entry + j, blue.n - j < RB_TILE ? blue.n - j : RB_TILE};

			if (c->status != RB_OK)
				break;
#pragma omp task default(shared) firstprivate(r, b, i, j)
			leaf(c, r, b, same && i == j, lo, hi);
		}
}

/* the box of a cell, about as the rounded map gives it; it only guides */
static void
cell_box(const double lo[3], const double hi[3], const rb_cells *cells, uint64_t cell,
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

/* the cells [from, to) that are small enough for a leaf */
static void
join_leaves(rb_cpu *c, const rb_cells *g, uint64_t from, uint64_t to, bool same, const double lo[3],
			const double hi[3])
{
	for (uint64_t cell = from; cell < to && c->status == RB_OK; cell++)
	{
		rb_list r = {g->entry[0] + g->start[0][cell],
					 (uint32_t) (g->start[0][cell + 1] - g->start[0][cell])};
		rb_list b = {g->entry[1] + g->start[1][cell],
					 (uint32_t) (g->start[1][cell + 1] - g->start[1][cell])};
		double clo[3], chi[3];

		if (r.n == 0 || b.n == 0 || r.n > RB_TILE || b.n > RB_TILE)
			continue;
		cell_box(lo, hi, g, cell, clo, chi);
		leaf(c, r, b, same, clo, chi);
		__atomic_add_fetch(&c->leaf_done, 1, __ATOMIC_RELAXED);
	}
}

/* the tasks outlive this function: they copy its arguments, and the caller waits for them */
static void
join_cells(rb_cpu *c, const rb_cells *g, bool same, const double lo[3], const double hi[3],
		   int depth, double crowd)
{
	uint64_t from = 0;
	uint64_t tests = 0;

	for (uint64_t cell = 0; cell < g->cells && c->status == RB_OK; cell++)
	{
		uint64_t nr = g->start[0][cell + 1] - g->start[0][cell];
		uint64_t nb = g->start[1][cell + 1] - g->start[1][cell];

		if (nr == 0 || nb == 0)
			continue;
		if (nr > RB_TILE || nb > RB_TILE)
		{
#pragma omp task default(none) firstprivate(c, g, same, lo, hi, depth, crowd, cell, nr, nb)
			{
				rb_list r = {g->entry[0] + g->start[0][cell], (uint32_t) nr};
				rb_list b = {g->entry[1] + g->start[1][cell], (uint32_t) nb};
				double clo[3], chi[3];

				cell_box(lo, hi, g, cell, clo, chi);
				join_lists(c, r, b, same, clo, chi, depth + 1, (double) nr * nb > crowd);
			}
			continue;
		}
		/* small cells in a row make one task */
		tests += nr * nb + 64 * (nr + nb);
		if (tests >= TASK_TESTS)
		{
			uint64_t to = cell + 1;

#pragma omp task default(none) firstprivate(c, g, from, to, same, lo, hi)
			join_leaves(c, g, from, to, same, lo, hi);
			from = to;
			tests = 0;
		}
	}
	if (tests > 0)
		join_leaves(c, g, from, g->cells, same, lo, hi);
}

/*
 * The most cells that a resolution asked for may give.  Beyond a few cells an object
 * a finer grid only copies the same objects into more of them; statistics show the
 * resolution that was used.
 */
static double
fixed_cells(uint32_t nred, uint32_t nblue)
{
	double most = 4096 + 8.0 * ((double) nred + nblue);

	return most < MAX_CELLS ? most : MAX_CELLS;
}

/* equal cells, or those that the settings ask for */
static void __attribute__((noinline))
cut_equally(rb_cpu *c, const rb_list list[2], const double lo[3], const double hi[3], bool fixed,
			rb_cells *g)
{
	const rb_plan plan = {INCIDENCE_COST, TARGET, MAX_CELLS};
	rb_sample sample[2];
	double slo[RB_SAMPLE][3], shi[RB_SAMPLE][3], width[3];
	uint32_t n[3];

	for (int a = 0; a < 3; a++)
	{
		width[a] = 0.5 * hi[a] - 0.5 * lo[a];
		width[a] = width[a] > 0 ? width[a] : 0;
	}
	for (int s = 0; s < 2; s++)
	{
		sample[s].n = sample_boxes(s == 0 ? c->red : c->blue, list[s], slo, shi);
		for (uint32_t i = 0; i < sample[s].n; i++)
			for (int a = 0; a < 3; a++)
				sample[s].extent[a][i] = 0.5 * shi[i][a] - 0.5 * slo[i][a];
		rb_sample_end(&sample[s]);
	}
	if (fixed)
		rb_plan_fixed(c->ctx->grid_resolution, fixed_cells(list[0].n, list[1].n), width, n);
	else
		rb_plan_grid(&plan, &sample[0], list[0].n, &sample[1], list[1].n, width, n);
	rb_grid_init(&g->grid, lo, hi, n);
}

static int
by_value(const void *x, const void *y)
{
	double p = *(const double *) x, q = *(const double *) y;

	return p < q ? -1 : p > q;
}

/* how many of n ascending numbers are below x */
static uint32_t
rank_of(const double *sorted, uint32_t n, double x)
{
	uint32_t from = 0;

	while (n > 0)
	{
		uint32_t half = n / 2;

		if (sorted[from + half] < x)
		{
			from += half + 1;
			n -= half + 1;
		}
		else
			n = half;
	}
	return from;
}

/*
 * Cells between quantiles of where the objects are, their centres in the region.
 * The plan is the same, for objects whose extent is the share of the centres that
 * they cover: in that measure the data are spread evenly over a region of width 1.
 */
static void __attribute__((noinline))
cut_at_quantiles(rb_cpu *c, const rb_list list[2], const double lo[3], const double hi[3],
				 rb_cells *g)
{
	const rb_plan plan = {INCIDENCE_COST, TARGET, MAX_CELLS};
	const double width[3] = {1, 1, 1};
	rb_sample sample[2];
	double slo[2][RB_SAMPLE][3], shi[2][RB_SAMPLE][3], centre[3][2 * RB_SAMPLE];
	uint32_t total;

	for (int s = 0; s < 2; s++)
		sample[s].n = sample_boxes(s == 0 ? c->red : c->blue, list[s], slo[s], shi[s]);
	total = sample[0].n + sample[1].n;
	for (int a = 0; a < 3; a++)
	{
		for (int s = 0; s < 2; s++)
			for (uint32_t i = 0; i < sample[s].n; i++)
			{
				double from = slo[s][i][a] > lo[a] ? slo[s][i][a] : lo[a];
				double to = shi[s][i][a] < hi[a] ? shi[s][i][a] : hi[a];

				centre[a][s * sample[0].n + i] = 0.5 * from + 0.5 * to;
			}
		qsort(centre[a], total, sizeof(double), by_value);
		for (int s = 0; s < 2; s++)
			for (uint32_t i = 0; i < sample[s].n; i++)
				sample[s].extent[a][i] = (double) (rank_of(centre[a], total, shi[s][i][a]) -
												   rank_of(centre[a], total, slo[s][i][a])) /
										 total;
	}
	for (int s = 0; s < 2; s++)
		rb_sample_end(&sample[s]);
	rb_plan_grid(&plan, &sample[0], list[0].n, &sample[1], list[1].n, width, g->grid.n);
	for (int a = 0; a < 3; a++)
	{
		uint32_t n = g->grid.n[a] < CUTS ? g->grid.n[a] : CUTS;
		uint32_t k = 0;

		for (uint32_t i = 1; i < n; i++)
		{
			double cut = centre[a][(uint64_t) i * total / n];

			if (cut > lo[a] && (k == 0 || cut > g->cut[a][k - 1]))
				g->cut[a][k++] = cut;
		}
		g->grid.n[a] = k + 1;
	}
	g->quantiles = true;
}

/* box tests and incidences in box tests, if nothing is cut further */
static double
cost_of(double nred, double nblue)
{
	return nred * nblue + INCIDENCE_COST * (nred + nblue);
}

static bool
worth_it(const rb_cells *g, rb_list red, rb_list blue)
{
	double cost = 0;

	for (uint64_t cell = 0; cell < g->cells; cell++)
		cost += cost_of((double) (g->start[0][cell + 1] - g->start[0][cell]),
						(double) (g->start[1][cell + 1] - g->start[1][cell]));
	return cost < 0.9 * cost_of(red.n, blue.n);
}

/*
 * All pairs of two lists that this cell (lo, hi) owns.
 */
static void
join_lists(rb_cpu *c, rb_list red, rb_list blue, bool same, const double lo[3], const double hi[3],
		   int depth, bool quantiles)
{
	const rb_objects *o[2] = {c->red, c->blue};
	const rb_list list[2] = {red, blue};
	rb_cells g;
	double rlo[3], rhi[3], blo[3], bhi[3];
	bool fixed = depth == 0 && c->ctx->grid_resolution > 0;
	bool helps = depth == 0;
	rb_status status = RB_OK;

	if (!going(c) || red.n == 0 || blue.n == 0)
		return;
	if (red.n <= RB_TILE && blue.n <= RB_TILE && !fixed)
	{
		leaf(c, red, blue, same, lo, hi);
		return;
	}

	/* where both are, inside the cell; of all objects it is known */
	memcpy(rlo, lo, sizeof(rlo));
	memcpy(rhi, hi, sizeof(rhi));
	if (depth > 0)
		bounds(c, c->red, red.entry, red.n, rlo, rhi);
	memcpy(blo, rlo, sizeof(blo));
	memcpy(bhi, rhi, sizeof(bhi));
	if (depth > 0 && !same)
		bounds(c, c->blue, blue.entry, blue.n, blo, bhi);
	if (!going(c))
		return;
	for (int a = 0; a < 3; a++)
	{
		rlo[a] = rlo[a] > blo[a] ? rlo[a] : blo[a];
		rlo[a] = rlo[a] > lo[a] ? rlo[a] : lo[a];
		rhi[a] = rhi[a] < bhi[a] ? rhi[a] : bhi[a];
		rhi[a] = rhi[a] < hi[a] ? rhi[a] : hi[a];
	}

	memset(&g, 0, offsetof(rb_cells, cut));
	if (quantiles)
		cut_at_quantiles(c, list, rlo, rhi, &g);
	else
		cut_equally(c, list, rlo, rhi, fixed, &g);
	g.cells = (uint64_t) g.grid.n[0] * g.grid.n[1] * g.grid.n[2];
	if (depth == 0)
		memcpy(c->ctx->stats.resolution, g.grid.n, sizeof(g.grid.n));
	if (depth == 0 || (g.cells > 1 && depth < DEPTH))
	{
		double began = rb_now_ms();

		status = cells_make(c, &g, o, list, same);
		if (depth == 0) /* further down it is a part of what the leaves are timed with */
			c->ctx->stats.stage[RB_STAGE_GRID].ms += (rb_now_ms() - began) * c->threads;
		if (status == RB_OK)
		{
			__atomic_add_fetch(&c->cells, g.cells, __ATOMIC_RELAXED);
			helps = depth == 0 || worth_it(&g, red, blue);
#pragma omp taskgroup
			if (helps)
				join_cells(c, &g, same, rlo, rhi, depth, KEPT * red.n * blue.n);
		}
		else
			fail(c, status);
		if (same)
			g.start[1] = NULL, g.entry[1] = NULL;
		cells_free(c, &g);
	}
	if (status != RB_OK || helps)
		return;
	if (!quantiles && depth < DEPTH)
		join_lists(c, red, blue, same, rlo, rhi, depth + 1, true);
	else
		join_blocks(c, red, blue, same, rlo, rhi);
}

static void
join_all(rb_cpu *c)
{
	double lo[2][3], hi[2][3];
	rb_list list[2];
	uint32_t *entry[2] = {NULL, NULL};
	const rb_objects *o[2] = {c->red, c->blue};
	int sides = c->self ? 1 : 2;
	int few = c->red->nparts <= c->blue->nparts ? 0 : 1;
	rb_sieve sieve[2] = {0};
	double began = rb_now_ms();
	rb_status status = RB_OK;

	rb_progress(c->ctx, RB_STAGE_GRID, 0, 0);
	for (int s = 0; s < sides; s++)
		bounds_of_all(c, o[s], lo[s], hi[s]);
	for (int a = 0; a < 3 && !c->self; a++)
	{
		lo[0][a] = lo[0][a] > lo[1][a] ? lo[0][a] : lo[1][a];
		hi[0][a] = hi[0][a] < hi[1][a] ? hi[0][a] : hi[1][a];
	}
	if (!c->self)
		status = sieve_make(c, o[few], o[1 - few], lo[0], hi[0], sieve);
	/* the larger set through the sieve of the smaller, then that through what is left */
	for (int k = 0; k < sides && status == RB_OK; k++)
	{
		int s = c->self ? 0 : k == 0 ? 1 - few : few;
		bool sieved = sieve[0].word != NULL;

		status = select_objects(c, o[s], lo[0], hi[0], sieved ? &sieve[k] : NULL,
								sieved && k == 0 ? &sieve[1] : NULL, &entry[s], &list[s].n);
		list[s].entry = entry[s];
	}
	for (int k = 0; k < 2; k++)
		rb_free(c->ctx->memory, (void **) &sieve[k].word);
	if (status != RB_OK)
		fail(c, status);
	else if (going(c))
	{
		if (c->self)
			list[1] = list[0];
		c->ctx->stats.stage[RB_STAGE_GRID].ms += (rb_now_ms() - began) * c->threads;
		rb_progress(c->ctx, RB_STAGE_CANDIDATES, 0, 0);
		join_lists(c, list[0], list[1], c->self, lo[0], hi[0], 0, false);
	}
	for (int s = 0; s < sides; s++)
		rb_free(c->ctx->memory, (void **) &entry[s]);
}

static rb_status
join(rb_context *ctx, const rb_job *job, const rb_sink *sink)
{
	rb_cpu c = {0};
	rb_status status;

	c.ctx = ctx;
	c.job = job;
	c.red = job->red;
	c.blue = job->blue != NULL ? job->blue : job->red;
	c.self = job->blue == NULL;
	c.kernel = rb_kernel_best();
	if (c.red->nparts == 0 || c.blue->nparts == 0)
		return RB_OK;
	status = rb_count_threads(ctx, &c.threads);
	if (status != RB_OK)
		return status;
	ctx->stats.threads = c.threads;

	status = rb_array(ctx, (void **) &c.worker, c.threads, sizeof(rb_worker *));
	if (status != RB_OK)
		return status;
	memset(c.worker, 0, c.threads * sizeof(rb_worker *));
	for (int t = 0; t < c.threads && status == RB_OK; t++)
		status = rb_worker_create(ctx, job, sink, &c.worker[t]);

	if (status == RB_OK)
	{
#pragma omp parallel num_threads(c.threads)
#pragma omp single
		join_all(&c);

		for (int t = 0; t < c.threads && c.status == RB_OK; t++)
			fail(&c, rb_worker_flush(c.worker[t]));
		status = c.status;
		for (int t = 0; t < c.threads; t++)
			rb_worker_report(c.worker[t], &ctx->stats);
		/* what the caller has timed, and one thread took, stays as it is */
		for (int s = RB_STAGE_GRID; s <= RB_STAGE_EXACT; s++)
			ctx->stats.stage[s].ms /= c.threads;
		ctx->stats.cells += c.cells;
		ctx->stats.stage[RB_STAGE_GRID].count += c.incidences;
	}
	for (int t = 0; t < c.threads; t++)
		rb_worker_destroy(ctx, c.worker[t]);
	rb_free(ctx->memory, (void **) &c.worker);
	return ctx->error.status != RB_OK ? ctx->error.status : status;
}

static rb_status
probe(char *text, size_t size)
{
	if (size > 0)
		text[0] = '\0';
	return RB_OK;
}

static bool
warm(void)
{
	return true;
}

static void
release(void)
{
}

const rb_backend rb_backend_cpu = {RB_BACKEND_ABI, "cpu", probe, join, warm, release};
