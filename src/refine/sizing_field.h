/*
 * sizing_field.h
 *	  Looks up the volume bound at a location: that of the nearest of the given points.
 *
 * The points are stored in a uniform grid. The search visits rings of grid cells around the cell of
 * the query point until no nearer point can lie in the next ring. Among equally near points the
 * smallest volume counts, so the order of the points does not matter.
 */
#ifndef RB_REFINE_SIZING_FIELD_H
#define RB_REFINE_SIZING_FIELD_H

#include "core/base/host_device.h"

typedef struct rb_sizes
{
	double low[3];
	double cell; /* Side length of a grid cell */
	int32_t n[3];
	const uint32_t *start; /* First point of each grid cell, plus one entry at the end */
	const double *points;  /* x, y, z and volume of each point, ordered by grid cell */
} rb_sizes;

RB_HOST_DEVICE int32_t
rb_sizes_cell(const rb_sizes *s, int axis, double x)
{
	double i = (x - s->low[axis]) / s->cell;

	return !(i > 0) ? 0 : i >= s->n[axis] ? s->n[axis] - 1 : (int32_t) i;
}

RB_HOST_DEVICE double
rb_sizes_at(const rb_sizes *s, const double *at)
{
	int32_t c[3], from[3], to[3], x, y, z;
	int32_t ring, last = 0;
	double best2 = INFINITY, volume = INFINITY;
	int i;

	for (i = 0; i < 3; i++)
	{
		c[i] = rb_sizes_cell(s, i, at[i]);
		last = c[i] > last ? c[i] : last;
		last = s->n[i] - 1 - c[i] > last ? s->n[i] - 1 - c[i] : last;
	}
	for (ring = 0; ring <= last; ring++)
	{
		/*
		 * Lower bound on the distance of points in this ring. It is one cell less than the ring
		 * number, because the query point lies anywhere in its own cell.
		 */
		double far = (ring - 1) * s->cell;

		if (far > 0 && far * far > best2)
			break;
		for (i = 0; i < 3; i++)
		{
			from[i] = c[i] - ring < 0 ? 0 : c[i] - ring;
			to[i] = c[i] + ring >= s->n[i] ? s->n[i] - 1 : c[i] + ring;
		}
		for (z = from[2]; z <= to[2]; z++)
			for (y = from[1]; y <= to[1]; y++)
			{
				bool rim =
					z - c[2] == ring || c[2] - z == ring || y - c[1] == ring || c[1] - y == ring;

				for (x = from[0]; x <= to[0]; x++)
				{
					uint32_t k, cell;

					if (!rim && x - c[0] != ring && c[0] - x != ring)
						continue;
					cell = ((uint32_t) z * (uint32_t) s->n[1] + (uint32_t) y) * (uint32_t) s->n[0] +
						   (uint32_t) x;
					for (k = s->start[cell]; k < s->start[cell + 1]; k++)
					{
						const double *p = s->points + 4 * (size_t) k;
						double dx = p[0] - at[0], dy = p[1] - at[1], dz = p[2] - at[2];
						double d2 = dx * dx + dy * dy + dz * dz;

						if (d2 < best2 || (d2 == best2 && p[3] < volume))
						{
							best2 = d2;
							volume = p[3];
						}
					}
				}
			}
	}
	return volume;
}

#endif /* RB_REFINE_SIZING_FIELD_H */
