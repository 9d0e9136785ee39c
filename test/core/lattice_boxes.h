/*
 * lattice_boxes.h
 *	  Makes solids for tests of operations: boxes with corners on a lattice, whose cells are counted.
 */
#ifndef RB_TEST_LATTICE_BOXES_H
#define RB_TEST_LATTICE_BOXES_H

#include "mesh/solid_boolean.h"

#include "fixtures.h"

#include <string.h>

#define MOST_BOXES 24
#define LATTICE 7

/* Boxes as a set of rows, and the cells of the lattice that they cover */
typedef struct boxes
{
	double coords[MOST_BOXES * 12 * 9];
	uint32_t row_of[MOST_BOXES * 12];
	bool covered[LATTICE][LATTICE][LATTICE];
	int low[MOST_BOXES][3]; /* Corners of each box */
	int high[MOST_BOXES][3];
	rb_set set;
} boxes;

/* Appends a box as twelve triangles, and marks its cells. */
static inline void
append_box(boxes *b, const int *low, const int *high)
{
	static const int corner[12][3] = {{0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6},
									  {0, 1, 5}, {0, 5, 4}, {2, 6, 7}, {2, 7, 3},
									  {0, 4, 6}, {0, 6, 2}, {1, 3, 7}, {1, 7, 5}};
	rb_set *set = &b->set;

	for (int i = 0; i < 12; i++)
	{
		for (int k = 0; k < 3; k++)
			for (int a = 0; a < 3; a++)
				b->coords[9 * (size_t) set->nparts + 3 * k + a] =
					corner[i][k] >> a & 1 ? high[a] : low[a];
		b->row_of[set->nparts++] = set->nrows;
	}
	memcpy(b->low[set->nrows], low, sizeof b->low[0]);
	memcpy(b->high[set->nrows], high, sizeof b->high[0]);
	set->nrows++;
	for (int x = low[0]; x < high[0]; x++)
		for (int y = low[1]; y < high[1]; y++)
			for (int z = low[2]; z < high[2]; z++)
				b->covered[x][y][z] = true;
}

/* Makes a set without boxes. */
static inline void
clear_boxes(boxes *b)
{
	memset(b, 0, sizeof *b);
	b->set = (rb_set){.kind = RB_TRIANGLE3, .coords = b->coords, .row_of = b->row_of};
}

/* Makes n random boxes. */
static inline void
make_boxes(boxes *b, int n)
{
	clear_boxes(b);
	for (int i = 0; i < n; i++)
	{
		int low[3], high[3];

		for (int a = 0; a < 3; a++)
		{
			low[a] = check_below(LATTICE);
			high[a] = low[a] + 1 + check_below(LATTICE - low[a]);
		}
		append_box(b, low, high);
	}
}

/* Returns the volume within a boundary on the lattice, by determinants that are exact. */
static inline double
volume_of_boundary(const rb_solid_boundary *b)
{
	double six = 0;

	for (uint32_t r = 0; b->npolygons > 0 && r < b->ring_of[b->npolygons]; r++)
	{
		const double *p = b->points + 3 * (size_t) b->corners[b->corner_of[r]];

		for (uint32_t i = b->corner_of[r] + 1; i + 1 < b->corner_of[r + 1]; i++)
		{
			const double *q = b->points + 3 * (size_t) b->corners[i];
			const double *s = b->points + 3 * (size_t) b->corners[i + 1];

			six += p[0] * (q[1] * s[2] - q[2] * s[1]) - p[1] * (q[0] * s[2] - q[2] * s[0]) +
				   p[2] * (q[0] * s[1] - q[1] * s[0]);
		}
	}
	return six / 6;
}

/* Returns true if two boundaries are equal, bit for bit. */
static inline bool
same_boundaries(const rb_solid_boundary *a, const rb_solid_boundary *b)
{
	if (a->npoints != b->npoints || a->npolygons != b->npolygons ||
		memcmp(a->points, b->points, 3 * sizeof(double) * a->npoints) != 0 ||
		memcmp(a->ring_of, b->ring_of, (a->npolygons + 1) * sizeof *a->ring_of) != 0)
		return false;
	for (uint32_t r = 0; r <= a->ring_of[a->npolygons]; r++)
		if (a->corner_of[r] != b->corner_of[r])
			return false;
	return memcmp(a->corners, b->corners,
				  a->corner_of[a->ring_of[a->npolygons]] * sizeof *a->corners) == 0;
}

#endif /* RB_TEST_LATTICE_BOXES_H */
