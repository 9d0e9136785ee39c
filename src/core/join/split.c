/*
 * split.c
 *	  Divides a region into cells, either equally, with the resolution that a plan gives, or
 *	  at quantiles of a sample.
 *
 * Equal cells do not help if data are crowded at every scale (a mesh refined toward a crack, or a
 * giant object that keeps the region of a dense cluster wide): level after level most objects stay
 * together. Cuts at quantiles depend on the number of objects and not on their size. The owner rule
 * requires only a monotone map, and these cuts define one.
 *
 * Samples take up to 100 kB of stack. These functions are therefore in a file of their own, and
 * return to the recursion before it goes deeper.
 */
#include "core/base/sort.h"
#include "core/join/cpu_backend.h"
#include "core/join/join.h"

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
fixed_cells(uint32_t nred, uint32_t nblue)
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
		rb_plan_fixed(c->ctx->settings.grid_resolution, fixed_cells(list[0].n, list[1].n), width,
					  n);
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

/* Returns the cost of a cell that is not refined, in box tests. */
static double
cost_of(double nred, double nblue)
{
	return nred * nblue + INCIDENCE_COST * (nred + nblue);
}

bool
rb_cut_helps(const rb_grid_cells *g, rb_list red, rb_list blue)
{
	double cost = 0;

	for (uint64_t cell = 0; cell < g->cells; cell++)
		cost += cost_of((double) (g->start[0][cell + 1] - g->start[0][cell]),
						(double) (g->start[1][cell + 1] - g->start[1][cell]));
	return cost < 0.9 * cost_of(red.n, blue.n);
}
