/*
 * split.c
 *	  Divides a region into cells, either equally, with the resolution that a plan gives (plan.c),
 *	  or at quantiles of a sample.
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
#include "core/join/cpu_join.h"

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
		(void) rb_sort_doubles(c->ctx, centre[a], total); /* If stopped, so is the caller */
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
