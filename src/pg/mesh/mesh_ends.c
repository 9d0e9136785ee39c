/*
 * mesh_ends.c
 *	  Where does a mesh end that somebody may have changed?
 *
 * On facets, or at the convex hull: what refinement does there it can do for no other place, where
 * it might never end.  Behind a face that is on no facet there must be nothing: the mesh is convex at
 * each of its edges, on the way around it through the tetrahedra there.  Points that were added on the hull were
 * rounded, and split what was; so it has dents, which are let be where they are no deeper than that.
 */
#include "pg/mesh/rb_meshing.h"

#include "core/base/rb_base.h"
#include "mesh/rb_table.h"

#include <math.h>

/* of the extent; and of the largest coordinate */
#define NEAR 1e-6
#define NEAR_OF_LARGEST 0x1p-40

typedef struct ends
{
	const rb_tets *tets;
	rb_table faces; /* those on facets */
	double scale;   /* differences times it are at most about 1 */
	double near;    /* after that */
} ends;

static const double *
at(const ends *e, uint32 v)
{
	return e->tets->points + 3 * (size_t) v;
}

static uint32
neighbour(const ends *e, uint32 tet, int i)
{
	return e->tets->neighbours[4 * (size_t) tet + i];
}

static int
corner(const ends *e, uint32 tet, uint32 v)
{
	int i = 0;

	while (i < 3 && e->tets->tets[tet][i] != v)
		i++;
	return i;
}

static void
measure(ends *e)
{
	double low[3] = {INFINITY, INFINITY, INFINITY};
	double high[3] = {-INFINITY, -INFINITY, -INFINITY};
	double largest = 0;
	double extent = DBL_MIN;

	for (uint32 t = 0; t < e->tets->ntets; t++)
		for (int i = 0; i < 4; i++)
			for (int k = 0; k < 3; k++)
			{
				const double x = at(e, e->tets->tets[t][i])[k];

				low[k] = fmin(low[k], x);
				high[k] = fmax(high[k], x);
				largest = fmax(largest, fabs(x));
			}
	for (int k = 0; k < 3; k++)
		extent = fmax(extent, fmin(high[k] - low[k], DBL_MAX));
	e->scale = 1 / extent;
	e->near = NEAR + NEAR_OF_LARGEST * (largest / extent);
}

/* twice the area of a triangle, squared */
static double
area2(const double *u, const double *v)
{
	const double x = u[1] * v[2] - u[2] * v[1];
	const double y = u[2] * v[0] - u[0] * v[2];
	const double z = u[0] * v[1] - u[1] * v[0];

	return x * x + y * y + z * z;
}

/* is one of four points so near to the plane of the others? */
static bool
nearly_flat(const ends *e, const uint32 *v)
{
	double u[3][3];
	double w[2][3];
	double det;
	double largest;

	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++)
			u[i][k] = (at(e, v[i + 1])[k] - at(e, v[0])[k]) * e->scale;
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 3; k++)
			w[i][k] = u[i + 1][k] - u[0][k];
	det = u[0][0] * (u[1][1] * u[2][2] - u[1][2] * u[2][1]) -
		  u[0][1] * (u[1][0] * u[2][2] - u[1][2] * u[2][0]) +
		  u[0][2] * (u[1][0] * u[2][1] - u[1][1] * u[2][0]);
	largest = fmax(fmax(area2(u[0], u[1]), area2(u[1], u[2])),
				   fmax(area2(u[2], u[0]), area2(w[0], w[1])));
	return fabs(det) <= e->near * sqrt(largest);
}

/* beside the face of tet opposite to corner i, which is the boundary, across its edge opposite to v: is it convex? */
static bool
convex_at(const ends *e, uint32 tet, int i, uint32 v)
{
	const uint32_t *first = e->tets->tets[tet];
	uint32 face[4];
	uint32 pivot = first[i]; /* the corner to which the way around the edge has come, ... */
	uint32 behind = v;       /* ... and the one behind it */
	uint32 t = tet;
	int sides[2];

	for (;;)
	{
		const uint32 next = neighbour(e, t, corner(e, t, behind));
		const uint32_t *w;
		uint32 beyond = RB_NONE;

		if (next == RB_NONE)
			break;
		/* of the next one the corner that this one has not */
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
	sides[0] = rb_orient3d(at(e, face[0]), at(e, face[1]), at(e, face[2]), at(e, first[i]));
	sides[1] = rb_orient3d(at(e, face[0]), at(e, face[1]), at(e, face[2]), at(e, pivot));
	face[3] = pivot;
	return sides[0] * sides[1] >= 0 || nearly_flat(e, face);
}

rb_status
rb_meshing_find_end(rb_context *ctx, const rb_tets *tets, uint32 *tet)
{
	ends e = {.tets = tets};
	rb_status status = rb_table_reserve(ctx, &e.faces, tets->nfaces);

	*tet = RB_NONE;
	for (uint32 i = 0; i < tets->nfaces && status == RB_OK; i++)
		status = rb_table_put(ctx, &e.faces, tets->faces[i][0], tets->faces[i][1],
							  tets->faces[i][2], 0, NULL, NULL);
	if (status == RB_OK)
		measure(&e);
	for (uint32 t = 0; t < tets->ntets && status == RB_OK && *tet == RB_NONE; t++)
	{
		const uint32_t *v = tets->tets[t];

		if (t % 4096 == 0 && rb_should_stop(ctx))
			status = RB_STOPPED;
		for (int i = 0; i < 4; i++)
		{
			if (neighbour(&e, t, i) != RB_NONE ||
				rb_table_find(&e.faces, v[(i + 1) % 4], v[(i + 2) % 4], v[(i + 3) % 4]) != NULL)
				continue;
			for (int k = 0; k < 4; k++)
				if (k != i && !convex_at(&e, t, i, v[k]))
					*tet = t;
		}
	}
	rb_table_free(ctx->memory, &e.faces);
	return status;
}
