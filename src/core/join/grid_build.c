/*
 * grid_build.c
 *	  Builds one grid: divides a region into cells, and distributes the objects of two lists to
 *	  these, as ragged arrays built in two passes.
 *
 *        count   the number of objects of each list that reach into each cell
 *        scan    the start of each cell's slice
 *        fill    each object into the slices of its cells
 *
 * After Menezes, Magalhaes, Aguilar, Franklin, Chichorro: Fast Parallel Evaluation of Exact
 * Geometric Predicates on GPUs, 2022, with two differences: a cell with objects of only one color
 * stores nothing, and cells need not be of equal size.
 *
 * Cells are equal, with the resolution that a plan gives, or they end at quantiles of a sample.
 * Equal cells do not help if data are crowded at every scale (a mesh refined toward a crack, or a
 * giant object that keeps the region of a dense cluster wide): level after level most objects stay
 * together. Cuts at quantiles depend on the number of objects and not on their size. The owner rule
 * requires only a monotone map, and these cuts define one.
 *
 * Samples take up to 100 kB of stack. The functions that divide a region are therefore not in the
 * file of the recursion (cpu_join.c), and return to it before it goes deeper.
 */
#include "core/base/sort.h"
#include "core/join/cpu_backend.h"
#include "core/join/join.h"
#include "core/primitive/reference_point.h"

#include <string.h>

/* ---- resolution of a grid ---- */

/*
 * Chooses the resolution of a grid, following the planning phase of Lo, Lee, Chung, Chung:
 * Optimizing Pairwise Box Intersection Checking on GPUs for Large-Scale Simulations (PBIG), 2013,
 * eq. 6.
 *
 * An object of extent e reaches into prod(e_a / s_a + 1) cells of size s, and along each axis into
 * no more cells than exist. Let alpha be the mean of this number over a sample. Then N alpha
 * incidences lie in M cells, N alpha / M in each, and the number of pairs to be tested is
 *
 *        (Nred alpha_red) (Nblue alpha_blue) / M
 *
 * Smaller cells mean fewer pairs and more incidences. The paper minimizes N alpha / M over cubic
 * cells. Here an incidence has a cost of its own, and the axes are refined one at a time, always
 * the one with the steepest decrease in cost. Flat or long objects therefore get flat or long
 * cells.
 */

/* Minimum width of a region along an axis that is divided; avoids overflow of cells / width */
#define SMALLEST 0x1p-980

/*
 * Returns the mean number of cells that an object of the sample reaches into. Four objects are
 * processed at a time. The padding consists of points, each of which adds 1.
 */
static double
mean_cells_per_object(const rb_sample *sample, const double cells[3], const double per_width[3])
{
	double sum[4] = {0, 0, 0, 0};
	uint32_t more = (4 - sample->n % 4) % 4;

	if (sample->n == 0)
		return 1;
	for (uint32_t i = 0; i < sample->n; i += 4)
	{
		double product[4] = {1, 1, 1, 1};

		for (int a = 0; a < 3; a++)
			for (int k = 0; k < 4; k++)
			{
				double in = sample->extent[a][i + k] * (per_width[a] * cells[a]) + 1;

				product[k] *= in < cells[a] ? in : cells[a];
			}
		for (int k = 0; k < 4; k++)
			sum[k] += product[k];
	}
	return (sum[0] + sum[1] + sum[2] + sum[3] - more) / sample->n;
}

void
rb_plan_grid(const rb_plan *plan, const rb_sample *red, double nred, const rb_sample *blue,
			 double nblue, const double width[3], uint32_t cells[3])
{
	double n[3] = {1, 1, 1};
	double per_width[3];
	double incidences = nred + nblue;
	double cost = incidences * plan->incidence_cost + nred * nblue;

	for (int a = 0; a < 3; a++)
		per_width[a] = width[a] >= SMALLEST ? 1 / width[a] : 0;

	for (;;)
	{
		int best = -1;
		double best_slope = 0, best_cost = 0, best_incidences = 0, best_n = 0;

		if (plan->target > 0 && incidences <= plan->target * n[0] * n[1] * n[2])
			break;
		for (int a = 0; a < 3; a++)
		{
			double old = n[a];
			double in_red, in_blue, c, slope;

			if (per_width[a] == 0)
				continue;
			n[a] = floor(old * 1.3) + 1;
			if (n[0] * n[1] * n[2] <= plan->max_cells)
			{
				in_red = nred * mean_cells_per_object(red, n, per_width);
				in_blue = red == blue ? in_red : nblue * mean_cells_per_object(blue, n, per_width);
				c = (in_red + in_blue) * plan->incidence_cost +
					in_red * in_blue / (n[0] * n[1] * n[2]);
				slope = (c - cost) / (n[a] / old - 1); /* steps differ in size */
				if (best < 0 || slope < best_slope)
				{
					best = a;
					best_slope = slope;
					best_cost = c;
					best_incidences = in_red + in_blue;
					best_n = n[a];
				}
			}
			n[a] = old;
		}
		if (best < 0 || best_cost >= cost)
			break;
		n[best] = best_n;
		cost = best_cost;
		incidences = best_incidences;
	}
	for (int a = 0; a < 3; a++)
		cells[a] = (uint32_t) n[a];
}

/*
 * Computes the number of cells along each axis from `resolution`, the number of cells along the
 * longest side.
 */
static void
rb_plan_fixed(uint32_t resolution, double max_cells, const double width[3], uint32_t cells[3])
{
	double longest = 0;

	for (int a = 0; a < 3; a++)
		longest = width[a] > longest ? width[a] : longest;
	for (;;)
	{
		for (int a = 0; a < 3; a++)
			cells[a] = longest > 0 ? (uint32_t) ceil(resolution * (width[a] / longest)) : 1;
		for (int a = 0; a < 3; a++)
			cells[a] = cells[a] < 1 ? 1 : cells[a];
		if (resolution <= 1 || (double) cells[0] * cells[1] * cells[2] <= max_cells)
			return;
		resolution = (uint32_t) (resolution * 0.9);
	}
}

/* ---- cuts ---- */

#define TARGET RB_SIZE(512, 6) /* target number of objects in a cell, both sides */
#define INCIDENCE_COST 16.0    /* cost of adding an object to a cell, in box tests */

/*
 * Returns the maximum number of cells of a grid with a given resolution. Beyond a few cells per
 * object, a finer grid only copies the same objects into more cells. The statistics show the
 * resolution that was used.
 */
static double
most_cells_of_resolution(uint32_t nred, uint32_t nblue)
{
	double most = 4096 + 8.0 * ((double) nred + nblue);

	return most < RB_MAX_GRID_CELLS ? most : RB_MAX_GRID_CELLS;
}

void
rb_cut_equally(rb_cpu *c, const rb_list list[2], const double lo[3], const double hi[3], bool fixed,
			   rb_grid_cells *g)
{
	const rb_plan plan = {INCIDENCE_COST, TARGET, RB_MAX_GRID_CELLS};
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
		sample[s].n = rb_sample_boxes(c, s == 0 ? c->red : c->blue, list[s], slo, shi);
		for (uint32_t i = 0; i < sample[s].n; i++)
			for (int a = 0; a < 3; a++)
				sample[s].extent[a][i] = 0.5 * shi[i][a] - 0.5 * slo[i][a];
		rb_sample_end(&sample[s]);
	}
	if (fixed)
		rb_plan_fixed(c->ctx->settings.grid_resolution,
					  most_cells_of_resolution(list[0].n, list[1].n), width, n);
	else
		rb_plan_grid(&plan, &sample[0], list[0].n, &sample[1], list[1].n, width, n);
	rb_grid_init(&g->grid, lo, hi, n);
}

/*
 * Places cell boundaries at quantiles of the object centers, clipped to the region. The plan is
 * computed for objects whose extent is the fraction of the centers that they cover: in that measure
 * the data are uniform over a region of width 1.
 */
void
rb_cut_at_quantiles(rb_cpu *c, const rb_list list[2], const double lo[3], const double hi[3],
					rb_grid_cells *g)
{
	const rb_plan plan = {INCIDENCE_COST, TARGET, RB_MAX_GRID_CELLS};
	const double width[3] = {1, 1, 1};
	rb_sample sample[2];
	double slo[2][RB_SAMPLE][3], shi[2][RB_SAMPLE][3], centre[3][2 * RB_SAMPLE];
	uint32_t total;

	for (int s = 0; s < 2; s++)
		sample[s].n = rb_sample_boxes(c, s == 0 ? c->red : c->blue, list[s], slo[s], shi[s]);
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
		(void) rb_sort_doubles(NULL, centre[a], total); /* Too few numbers to be stopped */
		for (int s = 0; s < 2; s++)
			for (uint32_t i = 0; i < sample[s].n; i++)
				sample[s].extent[a][i] =
					(double) (rb_doubles_lower_bound(centre[a], total, shi[s][i][a]) -
							  rb_doubles_lower_bound(centre[a], total, slo[s][i][a])) /
					total;
	}
	for (int s = 0; s < 2; s++)
		rb_sample_end(&sample[s]);
	rb_plan_grid(&plan, &sample[0], list[0].n, &sample[1], list[1].n, width, g->grid.n);
	for (int a = 0; a < 3; a++)
	{
		uint32_t n = g->grid.n[a] < RB_CUTS ? g->grid.n[a] : RB_CUTS;
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

/*
 * Returns the cost of joining a cell that gets no grid of its own, in box tests, by which the
 * resolution is chosen.
 */
static double
cost_of_unrefined_cell(double nred, double nblue)
{
	return nred * nblue + INCIDENCE_COST * (nred + nblue);
}

bool
rb_cut_helps(const rb_grid_cells *g, rb_list red, rb_list blue)
{
	double cost = 0;

	for (uint64_t cell = 0; cell < g->cells; cell++)
		cost += cost_of_unrefined_cell((double) (g->start[0][cell + 1] - g->start[0][cell]),
									   (double) (g->start[1][cell + 1] - g->start[1][cell]));
	return cost < 0.9 * cost_of_unrefined_cell(red.n, blue.n);
}

/* ---- lists of objects ---- */

/*
 * Computes the bounding box and a sample of a list of objects, and selects the objects of a set
 * that reach into a region.
 */

typedef struct rb_bounds
{
	rb_cpu *c;
	const rb_set *o;
	rb_list list;
	double *lo; /* low ends of the boxes in all pieces of the loop so far */
	double *hi; /* high ends of the boxes in all pieces of the loop so far */
} rb_bounds;

/* Extends the bounds by the boxes of a range of the list. */
static void
extend_list_bounds_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_bounds *b = arg;
	double lo[3], hi[3];
	rb_batch_boxes box;

	(void) me;
	rb_box_empty(lo, hi);
	for (uint64_t i = from; i < to && rb_cpu_going(b->c); i += box.n)
	{
		rb_batch_load(b->c, b->o, b->list.entry + i, 0, (uint32_t) (to - i), &box);
		for (uint32_t k = 0; k < box.n; k++)
			rb_box_add(lo, hi, box.lo[k], box.hi[k]);
	}
	pthread_mutex_lock(&b->c->lock);
	rb_box_add(b->lo, b->hi, lo, hi);
	pthread_mutex_unlock(&b->c->lock);
}

void
rb_list_bounds(rb_thread *me, rb_cpu *c, const rb_set *o, rb_list list, double lo[3], double hi[3])
{
	rb_bounds b = {c, o, list, lo, hi};

	rb_box_empty(lo, hi);
	rb_loop(me, list.n, RB_GRAIN, extend_list_bounds_piece, &b);
}

/* Extends the bounds by a range of points, in vectors of coordinates. */
static void
extend_set_bounds_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
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
	if (!rb_cpu_going(b->c))
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
 * Computes the box of all points, which is that of all objects, so the points of an object need not
 * be known. Twelve numbers at a time are four points in space or six in the plane.
 */
void
rb_set_bounds(rb_thread *me, rb_cpu *c, const rb_set *o, double lo[3], double hi[3])
{
	rb_bounds b = {c, o, {NULL, 0}, lo, hi};

	rb_box_empty(lo, hi);
	rb_loop(me, (uint64_t) o->nparts * (uint64_t) rb_kind_width(o->kind), (uint64_t) RB_GRAIN * 12,
			extend_set_bounds_piece, &b);
	if (rb_kind_dims(o->kind) == 2)
		lo[2] = hi[2] = 0;
	rb_kind_pad(o->kind, c->pad, lo, hi);
}

/*
 * Divides the list, or the whole set if it has no entries, into intervals of equal length, and
 * chooses an object from each at random. Tables are often periodic, and with a fixed step the
 * sample might contain only one phase.
 */
uint32_t
rb_sample_boxes(const rb_cpu *c, const rb_set *o, rb_list list, double lo[RB_SAMPLE][3],
				double hi[RB_SAMPLE][3])
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
						  c->pad, lo[n], hi[n]);
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
	const rb_occupancy *other;
	const rb_occupancy *own;
	uint32_t *entry;
	uint32_t *kept; /* number of selected objects of each chunk of RB_GRAIN objects */
} rb_selection;

/* Selects the objects of a range that are in the region and meet occupied cells. */
static void
select_objects_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const rb_selection *s = arg;
	rb_cpu *c = s->c;
	const rb_box *share = &c->job->share;
	/* a self join without a partition takes all objects */
	const bool all = c->self && share->dims == 0;
	uint32_t k = (uint32_t) from;
	rb_batch_boxes box;
	rb_range range[RB_BATCH] __attribute__((aligned(32)));

	(void) me;
	for (uint64_t i = from; i < to && all; i++)
		s->entry[k++] = (uint32_t) i | RB_STARTS_ALL << RB_INDEX_BITS;
	for (uint64_t i = from; i < to && !all && rb_cpu_going(c); i += box.n)
	{
		rb_batch_load(c, s->o, NULL, (uint32_t) i, (uint32_t) (to - i), &box);
		if (s->other != NULL)
			rb_batch_cells(c, &s->other->grid, &box, range);
		for (uint32_t j = 0; j < box.n; j++)
		{
			bool in = rb_boxes_overlap(box.lo[j], box.hi[j], s->lo, s->hi);
			uint32_t starts = RB_STARTS_ALL;

			if (in && share->dims != 0)
				in = rb_partition_meets(share, box.lo[j], box.hi[j], &starts);
			if (in && s->other != NULL)
				in = rb_occupancy_holds(s->other, &range[j]);
			if (in && s->own != NULL)
				rb_occupancy_mark(s->own, &range[j]);
			s->entry[k] = (uint32_t) (i + j) | starts << RB_INDEX_BITS;
			k += in;
		}
	}
	s->kept[from / RB_GRAIN] = k - (uint32_t) from;
}

/* Fills a range of the list for each chunk of RB_GRAIN objects, then compacts the ranges. */
rb_status
rb_select_objects(rb_thread *me, rb_cpu *c, const rb_set *o, const double lo[3], const double hi[3],
				  const rb_occupancy *other, const rb_occupancy *own, uint32_t **entry, uint32_t *n)
{
	uint32_t chunks = o->nparts / RB_GRAIN + 1;
	rb_selection s = {c, o, lo, hi, other, own, NULL, NULL};
	uint32_t total = 0;
	RB_FREE_AT_END(c->ctx->memory, &s.kept);

	RB_TRY(RB_ALLOCATE(c->ctx, *entry, o->nparts));
	s.entry = *entry;
	RB_TRY(RB_ALLOCATE(c->ctx, s.kept, chunks));
	memset(s.kept, 0, chunks * sizeof(uint32_t));
	RB_TRY(rb_loop(me, o->nparts, RB_GRAIN, select_objects_piece, &s));
	for (uint32_t chunk = 0; chunk < chunks; chunk++)
	{
		memmove(s.entry + total, s.entry + (size_t) chunk * RB_GRAIN,
				s.kept[chunk] * sizeof(uint32_t));
		total += s.kept[chunk];
	}
	*n = total;
	return RB_OK;
}

/* ---- cells ---- */

/* Cells written between two polls of the stop flag, since each write may be a page fault */
#define STOP_STEP 2048

/* Returns the number of the cell that contains x, between cuts. The map is monotone in x. */
static inline uint32_t
cell_between_cuts(const rb_grid_cells *g, int axis, double x)
{
	return (uint32_t) rb_doubles_upper_bound(g->cut[axis], g->grid.n[axis] - 1, x);
}

/* Computes the ranges of cells that a batch of boxes meets. */
static void
cell_ranges_of_batch(const rb_cpu *c, const rb_grid_cells *g, const rb_batch_boxes *box,
					 rb_range *range)
{
	if (!g->quantiles)
		rb_batch_cells(c, &g->grid, box, range);
	else
		for (uint32_t i = 0; i < box->n; i++)
			for (int a = 0; a < 3; a++)
			{
				range[i].c0[a] = cell_between_cuts(g, a, box->lo[i][a]);
				range[i].c1[a] = cell_between_cuts(g, a, box->hi[i][a]);
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

/* Returns the first cell and the extent of an object's range of cells. */
static inline rb_object_cells
cells_of_object_range(const rb_grid_cells *g, const rb_range *r)
{
	return (rb_object_cells){rb_grid_number(&g->grid, r->c0[0], r->c0[1], r->c0[2]),
							 {r->c1[0] - r->c0[0], r->c1[1] - r->c0[1], r->c1[2] - r->c0[2]}};
}

/*
 * Packs an object's first cell and extent into a word for the second pass, or returns FAR if it has
 * too many.
 */
static inline uint32_t
pack_object_cells(rb_object_cells p)
{
	if (p.span[0] > 6 || p.span[1] > 7 || p.span[2] > 3)
		return FAR;
	return (uint32_t) p.first | p.span[0] << RB_CELL_BITS | p.span[1] << (RB_CELL_BITS + 3) |
		   p.span[2] << (RB_CELL_BITS + 6);
}

/* Unpacks the first cell and extent of an object; the word must not be FAR. */
static inline rb_object_cells
unpack_object_cells(uint32_t word)
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
count_objects_of_cells(rb_cpu *c, const rb_set *o, rb_list list, const rb_grid_cells *g,
					   uint32_t *place, uint32_t *count)
{
	const uint32_t nx = g->grid.n[0], ny = g->grid.n[1];
	uint64_t done = 0; /* cells and objects since the stop flag was last polled */
	rb_batch_boxes box;
	rb_range range[RB_BATCH] __attribute__((aligned(32)));

	for (uint32_t i = 0; i < list.n; i += box.n)
	{
		rb_batch_load(c, o, list.entry + i, 0, list.n - i, &box);
		cell_ranges_of_batch(c, g, &box, range);
		done += box.n;
		for (uint32_t j = 0; j < box.n; j++)
		{
			rb_object_cells p = cells_of_object_range(g, &range[j]);

			place[i + j] = pack_object_cells(p);
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
fill_cells_with_objects(rb_cpu *c, const rb_set *o, rb_list list, const rb_grid_cells *g,
						const uint32_t *place, uint32_t *count, const uint64_t *start,
						uint32_t *entry)
{
	const uint32_t nx = g->grid.n[0], ny = g->grid.n[1];
	uint64_t done = 0;

	for (uint32_t i = 0; i < list.n; i++)
	{
		const uint32_t index = list.entry[i] & RB_INDEX_MASK;
		const uint32_t starts = list.entry[i] >> RB_INDEX_BITS;
		rb_object_cells p = unpack_object_cells(place[i]);

		if (place[i] == FAR)
		{
			rb_batch_boxes box;
			rb_range range;

			rb_batch_load(c, o, &list.entry[i], 0, 1, &box);
			cell_ranges_of_batch(c, g, &box, &range);
			p = cells_of_object_range(g, &range);
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

/*
 * Counts the objects of one partition of a list by cell or, in the second pass, writes them to
 * their cells.
 */
static void
scatter_objects_to_cells_piece(rb_thread *me, void *arg, uint64_t share, uint64_t end)
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
		count_objects_of_cells(s->c, s->o, list, s->g, s->place + from, count);
	else
		fill_cells_with_objects(s->c, s->o, list, s->g, s->place + from, count, s->start, s->entry);
}

void
rb_grid_cells_free(rb_cpu *c, rb_grid_cells *g)
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
scan_counts_of_cells(rb_grid_cells *g, int sides)
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
allocate_grid_array(rb_context *ctx, void *block, size_t n, size_t element)
{
	rb_error error;
	rb_status status = rb_resize(ctx->memory, (void **) block, n * element, &error);

	if (status != RB_OK && status != RB_OVER_BUDGET)
		return rb_fail(ctx, status, error.need, error.limit, NULL);
	return status;
}

rb_status
rb_grid_cells_build(rb_thread *me, rb_cpu *c, rb_grid_cells *g, const rb_list list[2])
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

		status = allocate_grid_array(ctx, &g->count[s], g->shares * g->cells, sizeof(uint32_t));
		if (status == RB_OK)
			status = allocate_grid_array(ctx, &g->start[s], g->cells + 1, sizeof(uint64_t));
		if (status == RB_OK)
			status = allocate_grid_array(ctx, &g->place[s], list[s].n, sizeof(uint32_t));
		if (status != RB_OK)
			return status;
		memset(g->count[s], 0, g->shares * g->cells * sizeof(uint32_t));
		count.place = g->place[s];
		count.count = g->count[s];
		RB_TRY(rb_loop(me, g->shares, 1, scatter_objects_to_cells_piece, &count));
	}
	scan_counts_of_cells(g, sides);
	for (int s = 0; s < sides; s++)
	{
		rb_grid_scatter fill = {c, o[s], list[s], g, g->place[s], g->count[s], g->start[s], NULL};

		rb_add(&c->incidences, g->start[s][g->cells]);
		RB_TRY(allocate_grid_array(ctx, &g->entry[s], g->start[s][g->cells], sizeof(uint32_t)));
		fill.entry = g->entry[s];
		RB_TRY(rb_loop(me, g->shares, 1, scatter_objects_to_cells_piece, &fill));
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
