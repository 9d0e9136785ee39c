/*
 * grid.h
 *	  Maps coordinates to cells of a uniform grid and determines which cell owns a pair.
 *
 * A grid divides a region into n[0] x n[1] x n[2] equal cells. The map of each axis is monotone in
 * the coordinate, because each of its steps is monotone, including rounding: a difference, a
 * product with a positive number, a truncation, and a clamp. The proofs below depend only on that,
 * not on the exact location of a boundary. Coordinates outside the region are clamped to the outer
 * cells.
 *
 * The owner rule: a pair of boxes is reported by the one cell that owns the lower corner of their
 * intersection. On an axis that cell is max(cell(red.lo), cell(blue.lo)), since max commutes with a
 * monotone map. Both boxes reach into the cell c in which their pair is examined, so cell(lo) <= c
 * for both, and c is the maximum exactly if at least one of the two starts in c. Each incidence
 * therefore carries three bits, "starts here" on x, y and z, and the rule is
 *
 *        (starts(red) | starts(blue)) == 7
 *
 * This is the reference point method of J.-P. Dittrich, B. Seeger: Data Redundancy and Duplicate
 * Detection in Spatial Join Processing, ICDE 2000: the cell that contains a chosen point of the
 * intersection reports the pair. They compute that point for each pair. Here the bits identify its
 * cell without another access to the coordinates.
 *
 * The bits are the classes of D. Tsitsigkos, P. Bouros, K. Lampropoulos, N. Mamoulis, M.
 * Terrovitis: Two-layer Space-oriented Partitioning for Non-point Data, arXiv:2307.09256: on each
 * axis an object starts in the cell or before it. They keep the four classes of the plane in
 * separate lists and join only lists that can own a pair. Here there are three axes, the class is
 * stored in the entry, and a refined cell passes it on to its children.
 *
 * If a cell is refined by a grid of its own, the bit of a child is the AND of the parent's bit and
 * "starts in this child". A pair that the parent does not own is therefore owned by none of its
 * children.
 */
#ifndef RB_JOIN_GRID_H
#define RB_JOIN_GRID_H

#include "core/base/host_device.h"

#define RB_STARTS_ALL 7u

typedef struct rb_grid
{
	double half_lo[3]; /* lower corner of the region, halved */
	double scale[3];   /* cells per halved unit */
	uint32_t n[3];     /* cells per axis, >= 1 */
} rb_grid;

/*
 * Initializes a grid. Coordinates are halved first, because the width of a region may exceed the
 * largest float8, but half the width does not. A width that is zero or too small to divide by gives
 * one cell.
 */
RB_HOST_DEVICE void
rb_grid_init(rb_grid *g, const double lo[3], const double hi[3], const uint32_t n[3])
{
	for (int a = 0; a < 3; a++)
	{
		double width = 0.5 * hi[a] - 0.5 * lo[a];
		double scale = width > 0 ? n[a] / width : 0;

		g->half_lo[a] = 0.5 * lo[a];
		g->n[a] = scale > 0 && scale <= DBL_MAX ? n[a] : 1;
		g->scale[a] = g->n[a] > 1 ? scale : 0;
	}
}

/* Returns the cell of coordinate x on an axis. It is branch-free because it is called often. */
RB_HOST_DEVICE uint32_t
rb_grid_cell(const rb_grid *g, int axis, double x)
{
	double t = (0.5 * x - g->half_lo[axis]) * g->scale[axis];
	double last = g->n[axis] - 1;

	t = t > 0 ? t : 0;
	return (uint32_t) (int32_t) (t < last ? t : last);
}

/* Returns the number of cell (x, y, z). */
RB_HOST_DEVICE uint64_t
rb_grid_number(const rb_grid *g, uint32_t x, uint32_t y, uint32_t z)
{
	return ((uint64_t) z * g->n[1] + y) * g->n[0] + x;
}

#endif /* RB_JOIN_GRID_H */
