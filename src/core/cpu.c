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
 * The work is a tree of tasks (rb_parallel.h).  A task holds arrays of its own only
 * while its children run.
 */
#include "rb_atomic.h"
#include "rb_core.h"
#include "rb_parallel.h"
#include "rb_sieve.h"

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
	const rb_set *red;
	const rb_set *blue; /* = red in a self join */
	bool self;
	int threads;
	const rb_kernel *kernel;
	rb_worker **worker;   /* of each thread */
	pthread_mutex_t lock; /* of what pieces of a loop put together */
	int status;           /* the first that was not RB_OK; then the context is stopped */
	uint64_t cells;       /* of this file's grids, with the incidences in them */
	uint64_t incidences;
} rb_cpu;

static void
fail(rb_cpu *c, rb_status status)
{
	int ok = RB_OK;

	if (status == RB_OK)
		return;
	__atomic_compare_exchange_n(&c->status, &ok, (int) status, false, __ATOMIC_RELAXED,
								__ATOMIC_RELAXED);
	rb_or(&c->ctx->stop, RB_STOP_FAILED);
}

static bool
going(rb_cpu *c)
{
	if (!rb_should_stop(c->ctx))
		return true;
	fail(c, RB_STOPPED);
	return false;
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
batch_load(const rb_cpu *c, const rb_set *o, const uint32_t *entry, uint32_t first, uint32_t most,
		   rb_batch_boxes *box)
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

typedef struct rb_bounds
{
	rb_cpu *c;
	const rb_set *o;
	rb_list list;
	double *lo; /* what the pieces found so far */
	double *hi;
} rb_bounds;

static void
bounds_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_bounds *b = arg;
	double lo[3], hi[3];
	rb_batch_boxes box;

	(void) me;
	rb_box_empty(lo, hi);
	for (uint64_t i = from; i < to && going(b->c); i += box.n)
	{
		batch_load(b->c, b->o, b->list.entry + i, 0, (uint32_t) (to - i), &box);
		for (uint32_t k = 0; k < box.n; k++)
			rb_box_add(lo, hi, box.lo[k], box.hi[k]);
	}
	pthread_mutex_lock(&b->c->lock);
	rb_box_add(b->lo, b->hi, lo, hi);
	pthread_mutex_unlock(&b->c->lock);
}

/* box of the objects of a list */
static void
bounds(rb_thread *me, rb_cpu *c, const rb_set *o, rb_list list, double lo[3], double hi[3])
{
	rb_bounds b = {c, o, list, lo, hi};

	rb_box_empty(lo, hi);
	rb_loop(me, list.n, GRAIN, bounds_piece, &b);
}

static void
points_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_bounds *b = arg;
	const double *x = b->o->coords;
	const int dims = rb_kind_dims(b->o->kind);
	double lo[12], hi[12];
	uint64_t i = from;

	(void) me;
	for (int k = 0; k < 12; k++)
	{
		lo[k] = HUGE_VAL;
		hi[k] = -HUGE_VAL;
	}
	if (!going(b->c))
		return;
	for (; i + 12 <= to; i += 12)
		for (int k = 0; k < 12; k++)
		{
			lo[k] = x[i + k] < lo[k] ? x[i + k] : lo[k];
			hi[k] = x[i + k] > hi[k] ? x[i + k] : hi[k];
		}
	for (int k = 0; i < to; i++, k++)
	{
		lo[k] = x[i] < lo[k] ? x[i] : lo[k];
		hi[k] = x[i] > hi[k] ? x[i] : hi[k];
	}
	pthread_mutex_lock(&b->c->lock);
	for (int k = 0; k < 12; k++)
	{
		int a = k % dims;

		b->lo[a] = lo[k] < b->lo[a] ? lo[k] : b->lo[a];
		b->hi[a] = hi[k] > b->hi[a] ? hi[k] : b->hi[a];
	}
	pthread_mutex_unlock(&b->c->lock);
}

/*
 * The box of all objects: of all their points, whatever belongs together.  Twelve
 * numbers are four points of space or six of the plane.
 */
static void
bounds_of_all(rb_thread *me, rb_cpu *c, const rb_set *o, double lo[3], double hi[3])
{
	rb_bounds b = {c, o, {NULL, 0}, lo, hi};

	rb_box_empty(lo, hi);
	rb_loop(me, (uint64_t) o->nparts * (uint64_t) rb_kind_width(o->kind), (uint64_t) GRAIN * 12,
			points_piece, &b);
	if (rb_kind_dims(o->kind) == 2)
		lo[2] = hi[2] = 0;
}

/*
 * Boxes of objects from all over the list (or of all, without one), one from each
 * stretch of equal length and there at random: tables repeat themselves, and a fixed
 * step might see one phase of it only.
 */
static uint32_t
sample_boxes(const rb_set *o, rb_list list, double lo[RB_SAMPLE][3], double hi[RB_SAMPLE][3])
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

typedef struct rb_selection
{
	rb_cpu *c;
	const rb_set *o;
	const double *lo; /* the region */
	const double *hi;
	const rb_sieve *sieve;
	const rb_sieve *mark;
	uint32_t *entry;
	uint32_t *kept; /* of each chunk of GRAIN objects */
} rb_selection;

static void
select_chunk(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const rb_selection *s = arg;
	rb_cpu *c = s->c;
	uint32_t k = (uint32_t) from;
	rb_batch_boxes box;
	rb_range range[RB_BATCH] __attribute__((aligned(32)));

	(void) me;
	for (uint64_t i = from; i < to && c->self; i++) /* all there are */
		s->entry[k++] = (uint32_t) i | RB_STARTS_ALL << RB_INDEX_BITS;
	for (uint64_t i = from; i < to && !c->self && going(c); i += box.n)
	{
		batch_load(c, s->o, NULL, (uint32_t) i, (uint32_t) (to - i), &box);
		if (s->sieve != NULL)
			batch_cells(c, &s->sieve->grid, &box, range);
		for (uint32_t j = 0; j < box.n; j++)
		{
			bool in = rb_boxes_overlap(box.lo[j], box.hi[j], s->lo, s->hi);

			if (in && s->sieve != NULL)
				in = rb_sieve_holds(s->sieve, &range[j]);
			if (in && s->mark != NULL)
				rb_sieve_mark(s->mark, &range[j]);
			s->entry[k] = (uint32_t) (i + j) | RB_STARTS_ALL << RB_INDEX_BITS;
			k += in;
		}
	}
	s->kept[from / GRAIN] = k - (uint32_t) from;
}

/*
 * Entries of the objects that reach into the region and, where there is a sieve,
 * into a cell that the other set is in; those cells are marked in mark, where there
 * is one.  Each chunk of GRAIN objects makes its part of the list.
 */
static rb_status
select_objects(rb_thread *me, rb_cpu *c, const rb_set *o, const double lo[3], const double hi[3],
			   const rb_sieve *sieve, const rb_sieve *mark, uint32_t **entry, uint32_t *n)
{
	uint32_t chunks = o->nparts / GRAIN + 1;
	rb_selection s = {c, o, lo, hi, sieve, mark, NULL, NULL};
	uint32_t total = 0;
	rb_status status;

	status = rb_array(c->ctx, (void **) entry, o->nparts, sizeof(uint32_t));
	s.entry = *entry;
	if (status == RB_OK)
		status = rb_array(c->ctx, (void **) &s.kept, chunks, sizeof(uint32_t));
	if (status == RB_OK)
	{
		memset(s.kept, 0, chunks * sizeof(uint32_t));
		status = rb_loop(me, o->nparts, GRAIN, select_chunk, &s);
	}
	for (uint32_t chunk = 0; chunk < chunks && status == RB_OK; chunk++)
	{
		memmove(s.entry + total, s.entry + (size_t) chunk * GRAIN,
				s.kept[chunk] * sizeof(uint32_t));
		total += s.kept[chunk];
	}
	rb_free(c->ctx->memory, (void **) &s.kept);
	*n = total;
	return status;
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

typedef struct rb_marking
{
	rb_cpu *c;
	const rb_set *o;
	const double *lo; /* the region */
	const double *hi;
	const rb_sieve *sieve;
	uint64_t step;
} rb_marking;

static void
mark_objects(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const rb_marking *m = arg;

	(void) me;
	for (uint64_t i = from * m->step; i < to * m->step && i < m->o->nparts && going(m->c);
		 i += m->step)
	{
		double lo[3], hi[3];

		rb_object_box(m->o, (uint32_t) i, lo, hi);
		if (rb_boxes_overlap(lo, hi, m->lo, m->hi))
		{
			rb_range r = range_of(&m->sieve->grid, lo, hi);

			rb_sieve_mark(m->sieve, &r);
		}
	}
}

/* mark the cells of every step-th object that reaches into the region */
static void
sieve_fill(rb_thread *me, rb_cpu *c, const rb_set *o, const double lo[3], const double hi[3],
		   uint32_t step, const rb_sieve *sieve)
{
	rb_marking m = {c, o, lo, hi, sieve, step};

	rb_loop(me, (uint64_t) o->nparts / step + 1, GRAIN, mark_objects, &m);
}

/*
 * Is a sieve worth its while?  Makes one of the smaller set, `few`, where a sample
 * of the other says that two thirds of it would be dropped, and an empty one to be
 * marked by what is left of the other.  A first look, at every 16th object, stops
 * where both sets are dense before it costs anything.
 */
static rb_status
sieve_make(rb_thread *me, rb_cpu *c, const rb_set *few, const rb_set *many, const double lo[3],
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

		sieve_fill(me, c, few, lo, hi, look == 0 ? 16 : 1, &sieve[0]);
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
count_objects(rb_cpu *c, const rb_set *o, rb_list list, const rb_cells *g, uint32_t *place,
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
fill_objects(rb_cpu *c, const rb_set *o, rb_list list, const rb_cells *g, const uint32_t *place,
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

typedef struct rb_scatter
{
	rb_cpu *c;
	const rb_set *o;
	rb_list list;
	const rb_cells *g;
	uint32_t *place;
	uint32_t *count;
	const uint64_t *start;
	uint32_t *entry; /* NULL: the first pass */
} rb_scatter;

static void
scatter_part(rb_thread *me, void *arg, uint64_t part, uint64_t end)
{
	const rb_scatter *s = arg;
	const uint64_t parts = s->g->parts;
	const uint64_t from = s->list.n * part / parts;
	const rb_list list = {s->list.entry + from, (uint32_t) (s->list.n * end / parts - from)};
	uint32_t *count = s->count + part * s->g->cells;

	(void) me;
	if (!going(s->c))
		return;
	if (s->entry == NULL)
		count_objects(s->c, s->o, list, s->g, s->place + from, count);
	else
		fill_objects(s->c, s->o, list, s->g, s->place + from, count, s->start, s->entry);
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
cells_make(rb_thread *me, rb_cpu *c, rb_cells *g, const rb_set *o[2], const rb_list list[2],
		   bool same)
{
	int sides = same ? 1 : 2;
	uint64_t most = 1 + ((uint64_t) list[0].n + list[1].n) / GRAIN;
	uint64_t room = 1 + 2 * ((uint64_t) list[0].n + list[1].n) / g->cells;
	rb_context *ctx = c->ctx;
	rb_status status = RB_OK;

	/* not more parts than there is work for, nor than make the counts larger than the lists */
	most = most < room ? most : room;
	g->parts = most < (uint64_t) c->threads ? (uint32_t) most : (uint32_t) c->threads;
	for (int s = 0; s < sides; s++)
	{
		rb_scatter count = {c, o[s], list[s], g, NULL, NULL, NULL, NULL};

		status = rb_array(ctx, (void **) &g->count[s], g->parts * g->cells, sizeof(uint32_t));
		if (status == RB_OK)
			status = rb_array(ctx, (void **) &g->start[s], g->cells + 1, sizeof(uint64_t));
		if (status == RB_OK)
			status = rb_array(ctx, (void **) &g->place[s], list[s].n, sizeof(uint32_t));
		if (status != RB_OK)
			return status;
		memset(g->count[s], 0, g->parts * g->cells * sizeof(uint32_t));
		count.place = g->place[s];
		count.count = g->count[s];
		status = rb_loop(me, g->parts, 1, scatter_part, &count);
		if (status != RB_OK)
			return status;
	}
	cells_scan(g, sides);
	for (int s = 0; s < sides; s++)
	{
		rb_scatter fill = {c, o[s], list[s], g, g->place[s], g->count[s], g->start[s], NULL};

		rb_add(&c->incidences, g->start[s][g->cells]);
		status = rb_array(ctx, (void **) &g->entry[s], g->start[s][g->cells], sizeof(uint32_t));
		if (status != RB_OK)
			return status;
		fill.entry = g->entry[s];
		status = rb_loop(me, g->parts, 1, scatter_part, &fill);
		if (status != RB_OK)
			return status;
		rb_free(ctx->memory, (void **) &g->count[s]);
		rb_free(ctx->memory, (void **) &g->place[s]);
	}
	if (same)
	{
		g->start[1] = g->start[0];
		g->entry[1] = g->entry[0];
	}
	return RB_OK;
}

/* ---- the recursion ---- */

static void join_lists(rb_thread *me, rb_cpu *c, rb_list red, rb_list blue, bool same,
					   const double lo[3], const double hi[3], int depth, bool quantiles);

static void
leaf(rb_thread *me, rb_cpu *c, rb_list red, rb_list blue, bool same, const double lo[3],
	 const double hi[3])
{
	if (going(c))
		fail(c, rb_leaf_join(c->worker[rb_thread_number(me)], red, blue, same, lo, hi));
}

typedef struct rb_blocks
{
	rb_cpu *c;
	rb_list list[2];
	bool same;
	const double *lo;
	const double *hi;
} rb_blocks;

static inline uint64_t
blocks_of(rb_list list)
{
	return ((uint64_t) list.n + RB_TILE - 1) / RB_TILE;
}

static inline rb_list
block_of(rb_list list, uint64_t i)
{
	uint32_t from = (uint32_t) i * RB_TILE;

	return (rb_list){list.entry + from, list.n - from < RB_TILE ? list.n - from : RB_TILE};
}

static void
join_block(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const rb_blocks *b = arg;
	const uint64_t across = blocks_of(b->list[1]);

	for (uint64_t k = from; k < to; k++)
	{
		uint64_t i = k / across, j = k % across;

		if (!b->same || i <= j)
			leaf(me, b->c, block_of(b->list[0], i), block_of(b->list[1], j), b->same && i == j,
				 b->lo, b->hi);
	}
}

/* every block of red with every block of blue; each unordered pair of blocks when same */
static void
join_blocks(rb_thread *me, rb_cpu *c, rb_list red, rb_list blue, bool same, const double lo[3],
			const double hi[3])
{
	rb_blocks b = {c, {red, blue}, same, lo, hi};

	rb_loop(me, blocks_of(red) * blocks_of(blue), 1, join_block, &b);
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

/* the cells of a grid, to be joined each with itself */
typedef struct rb_cells_join
{
	rb_cpu *c;
	const rb_cells *g;
	bool same;
	const double *lo;
	const double *hi;
	int depth;
	double crowd; /* red x blue in a cell from which on it is cut at quantiles */
} rb_cells_join;

static inline rb_list
list_of(const rb_cells *g, int side, uint64_t cell)
{
	return (rb_list){g->entry[side] + g->start[side][cell],
					 (uint32_t) (g->start[side][cell + 1] - g->start[side][cell])};
}

/* the cells [from, to) that are small enough for a leaf */
static void
join_leaves(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const rb_cells_join *j = arg;

	for (uint64_t cell = from; cell < to && going(j->c); cell++)
	{
		rb_list r = list_of(j->g, 0, cell), b = list_of(j->g, 1, cell);
		double lo[3], hi[3];

		if (r.n == 0 || b.n == 0 || r.n > RB_TILE || b.n > RB_TILE)
			continue;
		cell_box(j->lo, j->hi, j->g, cell, lo, hi);
		leaf(me, j->c, r, b, j->same, lo, hi);
	}
}

/* one that is too crowded */
static void
join_crowded(rb_thread *me, void *arg, uint64_t cell, uint64_t end)
{
	const rb_cells_join *j = arg;
	rb_list r = list_of(j->g, 0, cell), b = list_of(j->g, 1, cell);
	double lo[3], hi[3];

	(void) end;
	cell_box(j->lo, j->hi, j->g, cell, lo, hi);
	join_lists(me, j->c, r, b, j->same, lo, hi, j->depth + 1, (double) r.n * b.n > j->crowd);
}

static void
join_cells(rb_thread *me, rb_cells_join *j)
{
	const rb_cells *g = j->g;
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
			rb_group_spawn(me, join_crowded, j, cell, cell + 1);
			continue;
		}
		/* small cells in a row make one task */
		tests += nr * nb + 64 * (nr + nb);
		if (tests >= TASK_TESTS)
		{
			rb_group_spawn(me, join_leaves, j, from, cell + 1);
			from = cell + 1;
			tests = 0;
		}
	}
	if (tests > 0)
		join_leaves(me, j, from, g->cells);
	rb_group_wait(me);
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
join_lists(rb_thread *me, rb_cpu *c, rb_list red, rb_list blue, bool same, const double lo[3],
		   const double hi[3], int depth, bool quantiles)
{
	const rb_set *o[2] = {c->red, c->blue};
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
		leaf(me, c, red, blue, same, lo, hi);
		return;
	}

	/* where both are, inside the cell; of all objects it is known */
	memcpy(rlo, lo, sizeof(rlo));
	memcpy(rhi, hi, sizeof(rhi));
	if (depth > 0)
		bounds(me, c, c->red, red, rlo, rhi);
	memcpy(blo, rlo, sizeof(blo));
	memcpy(bhi, rhi, sizeof(bhi));
	if (depth > 0 && !same)
		bounds(me, c, c->blue, blue, blo, bhi);
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

		status = cells_make(me, c, &g, o, list, same);
		if (depth == 0) /* further down it is a part of what the leaves are timed with */
			c->ctx->stats.stage[RB_STAGE_GRID].ms += (rb_now_ms() - began) * c->threads;
		if (status == RB_OK)
		{
			rb_cells_join cells = {c, &g, same, rlo, rhi, depth, KEPT * red.n * blue.n};

			rb_add(&c->cells, g.cells);
			helps = depth == 0 || worth_it(&g, red, blue);
			if (helps)
				join_cells(me, &cells);
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
		join_lists(me, c, red, blue, same, rlo, rhi, depth + 1, true);
	else
		join_blocks(me, c, red, blue, same, rlo, rhi);
}

static void
join_all(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_cpu *c = arg;
	double lo[2][3], hi[2][3];
	rb_list list[2];
	uint32_t *entry[2] = {NULL, NULL};
	const rb_set *o[2] = {c->red, c->blue};
	int sides = c->self ? 1 : 2;
	int few = c->red->nparts <= c->blue->nparts ? 0 : 1;
	rb_sieve sieve[2] = {0};
	double began = rb_now_ms();
	rb_status status = RB_OK;

	(void) from, (void) to;
	rb_progress(c->ctx, RB_STAGE_GRID, 0, 0);
	for (int s = 0; s < sides; s++)
		bounds_of_all(me, c, o[s], lo[s], hi[s]);
	for (int a = 0; a < 3 && !c->self; a++)
	{
		lo[0][a] = lo[0][a] > lo[1][a] ? lo[0][a] : lo[1][a];
		hi[0][a] = hi[0][a] < hi[1][a] ? hi[0][a] : hi[1][a];
	}
	if (!c->self)
		status = sieve_make(me, c, o[few], o[1 - few], lo[0], hi[0], sieve);
	/* the larger set through the sieve of the smaller, then that through what is left */
	for (int k = 0; k < sides && status == RB_OK; k++)
	{
		int s = c->self ? 0 : k == 0 ? 1 - few : few;
		bool sieved = sieve[0].word != NULL;

		status = select_objects(me, c, o[s], lo[0], hi[0], sieved ? &sieve[k] : NULL,
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
		join_lists(me, c, list[0], list[1], c->self, lo[0], hi[0], 0, false);
	}
	for (int s = 0; s < sides; s++)
		rb_free(c->ctx->memory, (void **) &entry[s]);
}

static rb_status
join(rb_context *ctx, const rb_job *job, const rb_sink *sink)
{
	rb_cpu c = {0};
	rb_thread *me;
	rb_status status;

	c.ctx = ctx;
	c.job = job;
	c.red = job->red;
	c.blue = job->blue != NULL ? job->blue : job->red;
	c.self = job->blue == NULL;
	c.kernel = rb_kernel_best();
	if (c.red->nparts == 0 || c.blue->nparts == 0)
		return RB_OK;
	status = rb_team_open(ctx, ctx->threads, &me);
	if (status != RB_OK)
		return status;
	c.threads = rb_team_threads(me);
	ctx->stats.threads = c.threads;

	status = rb_array(ctx, (void **) &c.worker, c.threads, sizeof(rb_worker *));
	if (status == RB_OK)
		memset(c.worker, 0, c.threads * sizeof(rb_worker *));
	for (int t = 0; t < c.threads && status == RB_OK; t++)
		status = rb_worker_create(ctx, job, sink, &c.worker[t]);

	if (status == RB_OK)
	{
		pthread_mutex_init(&c.lock, NULL);
		status = rb_loop(me, 1, 1, join_all, &c);
		for (int t = 0; t < c.threads && status == RB_OK; t++)
			status = rb_worker_flush(c.worker[t]);
		if (c.status != RB_OK)
			status = c.status;
		pthread_mutex_destroy(&c.lock);
		for (int t = 0; t < c.threads; t++)
			rb_worker_report(c.worker[t], &ctx->stats);
		/* what the caller has timed, and one thread took, stays as it is */
		for (int s = RB_STAGE_GRID; s <= RB_STAGE_EXACT; s++)
			ctx->stats.stage[s].ms /= c.threads;
		ctx->stats.cells += c.cells;
		ctx->stats.stage[RB_STAGE_GRID].count += c.incidences;
	}
	for (int t = 0; t < c.threads && c.worker != NULL; t++)
		rb_worker_destroy(ctx, c.worker[t]);
	rb_free(ctx->memory, (void **) &c.worker);
	rb_team_close(&me);
	return ctx->error.status != RB_OK ? ctx->error.status : status;
}

static rb_status
probe(int device, char *text, size_t size)
{
	(void) device;
	if (size > 0)
		text[0] = '\0';
	return RB_OK;
}

static bool
warm(int device)
{
	(void) device;
	return true;
}

const rb_backend rb_backend_cpu = {.name = "cpu", .probe = probe, .join = join, .warm = warm};
