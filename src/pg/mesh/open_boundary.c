/*
 * open_boundary.c
 *	  Finds open ends of a mesh that a user may have changed.
 *
 * A mesh may end on facets or at the convex hull. Refinement relies on that: at any other boundary
 * it might never terminate. Behind a face that is on no facet there must be nothing, so the mesh
 * must be convex at each edge of such a face, along the fan of tetrahedra around the edge. Points
 * that were added on the hull are rounded and split its faces, so the hull has dents; these are
 * accepted if they are no deeper than rounding explains.
 */
#include "pg/mesh/meshing.h"

#include "core/base/base.h"
#include "mesh/hash_table.h"

#include <math.h>

/* Tolerances, relative to the extent and to the largest coordinate */
#define NEAR 1e-6
#define NEAR_OF_LARGEST 0x1p-40

typedef struct boundary_search
{
	const rb_tets *tets;
	rb_table faces; /* Faces on facets */
	double scale;   /* Scales differences of coordinates to at most about 1 */
	double near;    /* Tolerance after scaling */
} boundary_search;

static const double *
point_at(const boundary_search *e, uint32 v)
{
	return e->tets->points + 3 * (size_t) v;
}

static uint32
neighbor_of(const boundary_search *e, uint32 tet, int i)
{
	return e->tets->neighbours[4 * (size_t) tet + i];
}

static int
corner_of(const boundary_search *e, uint32 tet, uint32 v)
{
	int i = 0;

	while (i < 3 && e->tets->tets[tet][i] != v)
		i++;
	return i;
}

static void
measure_extent(boundary_search *e)
{
	double low[3] = {INFINITY, INFINITY, INFINITY};
	double high[3] = {-INFINITY, -INFINITY, -INFINITY};
	double largest = 0;
	double extent = DBL_MIN;

	for (uint32 t = 0; t < e->tets->ntets; t++)
		for (int i = 0; i < 4; i++)
			for (int k = 0; k < 3; k++)
			{
				const double x = point_at(e, e->tets->tets[t][i])[k];

				low[k] = fmin(low[k], x);
				high[k] = fmax(high[k], x);
				largest = fmax(largest, fabs(x));
			}
	for (int k = 0; k < 3; k++)
		extent = fmax(extent, fmin(high[k] - low[k], DBL_MAX));
	e->scale = 1 / extent;
	e->near = NEAR + NEAR_OF_LARGEST * (largest / extent);
}

/* Returns the squared norm of u x v, which is the square of twice the area of their triangle. */
static double
cross_norm2(const double *u, const double *v)
{
	const double x = u[1] * v[2] - u[2] * v[1];
	const double y = u[2] * v[0] - u[0] * v[2];
	const double z = u[0] * v[1] - u[1] * v[0];

	return x * x + y * y + z * z;
}

/* Returns true if one of four points is within the tolerance of the plane of the others. */
static bool
nearly_flat(const boundary_search *e, const uint32 *v)
{
	double u[3][3];
	double w[2][3];
	double det;
	double largest;

	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++)
			u[i][k] = (point_at(e, v[i + 1])[k] - point_at(e, v[0])[k]) * e->scale;
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 3; k++)
			w[i][k] = u[i + 1][k] - u[0][k];
	det = u[0][0] * (u[1][1] * u[2][2] - u[1][2] * u[2][1]) -
		  u[0][1] * (u[1][0] * u[2][2] - u[1][2] * u[2][0]) +
		  u[0][2] * (u[1][0] * u[2][1] - u[1][1] * u[2][0]);
	largest = fmax(fmax(cross_norm2(u[0], u[1]), cross_norm2(u[1], u[2])),
				   fmax(cross_norm2(u[2], u[0]), cross_norm2(w[0], w[1])));
	return fabs(det) <= e->near * sqrt(largest);
}

/*
 * Returns true if the boundary is convex at the edge opposite to v of a boundary face, which is the
 * face of tet opposite to corner i.
 */
static bool
convex_at(const boundary_search *e, uint32 tet, int i, uint32 v)
{
	const uint32_t *first = e->tets->tets[tet];
	uint32 face[4];
	uint32 pivot = first[i]; /* Corner that the traversal around the edge has reached */
	uint32 behind = v;       /* Corner before it */
	uint32 t = tet;
	int sides[2];

	for (;;)
	{
		const uint32 next = neighbor_of(e, t, corner_of(e, t, behind));
		const uint32_t *w;
		uint32 beyond = RB_NONE;

		if (next == RB_NONE)
			break;
		/* Find the corner of the next tetrahedron that this one lacks. */
		w = e->tets->tets[next];
		for (int k = 0; k < 4; k++)
			if (e->tets->tets[t][0] != w[k] && e->tets->tets[t][1] != w[k] &&
				e->tets->tets[t][2] != w[k] && e->tets->tets[t][3] != w[k])
				beyond = w[k];
		t = next;
		behind = pivot;
		pivot = beyond;
	}
	if (t == tet)
		return true;
	for (int k = 0, n = 0; k < 4; k++)
		if (k != i)
			face[n++] = first[k];
	sides[0] = rb_orient3d(point_at(e, face[0]), point_at(e, face[1]), point_at(e, face[2]),
						   point_at(e, first[i]));
	sides[1] = rb_orient3d(point_at(e, face[0]), point_at(e, face[1]), point_at(e, face[2]),
						   point_at(e, pivot));
	face[3] = pivot;
	return sides[0] * sides[1] >= 0 || nearly_flat(e, face);
}

rb_status
rb_meshing_find_open_end(rb_context *ctx, const rb_tets *tets, uint32 *tet)
{
	boundary_search e = {.tets = tets};
	rb_status status = rb_table_expect(ctx, &e.faces, tets->nfaces);

	*tet = RB_NONE;
	for (uint32 i = 0; i < tets->nfaces && status == RB_OK; i++)
		status = rb_table_insert(ctx, &e.faces, tets->faces[i][0], tets->faces[i][1],
								 tets->faces[i][2], 0, NULL, NULL);
	if (status == RB_OK)
		measure_extent(&e);
	for (uint32 t = 0; t < tets->ntets && status == RB_OK && *tet == RB_NONE; t++)
	{
		const uint32_t *v = tets->tets[t];

		if (t % 4096 == 0 && rb_should_stop(ctx))
			status = RB_STOPPED;
		for (int i = 0; i < 4; i++)
		{
			if (neighbor_of(&e, t, i) != RB_NONE ||
				rb_table_get(&e.faces, v[(i + 1) % 4], v[(i + 2) % 4], v[(i + 3) % 4]) != NULL)
				continue;
			for (int k = 0; k < 4; k++)
				if (k != i && !convex_at(&e, t, i, v[k]))
					*tet = t;
		}
	}
	rb_table_free(ctx->memory, &e.faces);
	return status;
}
