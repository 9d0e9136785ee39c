/*
 * plan.c
 *	  Chooses the resolution of a grid, following the planning phase of Lo, Lee, Chung, Chung:
 *	  Optimizing Pairwise Box Intersection Checking on GPUs for Large-Scale Simulations (PBIG),
 *	  2013, eq. 6.
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
#include "core/join/join.h"

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

void
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
