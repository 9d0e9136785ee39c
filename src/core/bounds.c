/*
 * bounds.c
 *	  The box of an object: all that the grid ever asks about a kind.
 */
#include "rb_core.h"

void
rb_object_box(const rb_objects *o, uint32_t i, double lo[3], double hi[3])
{
	static const struct
	{
		int			points;
		int			dims;
	}			shape[RB_KINDS] = {{3, 3}, {2, 3}, {2, 2}, {2, 3}, {2, 2}};
	int			dims = shape[o->kind].dims;
	const double *p = o->coords + (size_t) i * (shape[o->kind].points * dims);

	if (o->kind == RB_TRIANGLE3)
	{
		for (int a = 0; a < 3; a++)
		{
			double		least = p[a] < p[3 + a] ? p[a] : p[3 + a];
			double		most = p[a] < p[3 + a] ? p[3 + a] : p[a];

			lo[a] = least < p[6 + a] ? least : p[6 + a];
			hi[a] = most > p[6 + a] ? most : p[6 + a];
		}
		return;
	}
	lo[2] = hi[2] = 0;
	for (int a = 0; a < dims; a++)
	{
		lo[a] = p[a] < p[dims + a] ? p[a] : p[dims + a];
		hi[a] = p[a] < p[dims + a] ? p[dims + a] : p[a];
	}
}
