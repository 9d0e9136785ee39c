/*
 * cavity_fill.c
 *	  Fills one side of a cavity, a polyhedron, with Delaunay tetrahedra: a small one by gift
 *	  wrapping, a large one by carving.
 *
 * The filling is correct for the following reason. Every tetrahedron is positively oriented, and
 * each of its faces is matched by another tetrahedron on its other side or by a face of the
 * polyhedron. The signed sum of the tetrahedra therefore has the polyhedron's boundary as its
 * boundary, and every point inside is covered exactly once. It remains to check that no vertex was
 * left out.
 *
 * All vertices of the polyhedron are candidates, visible or not. If the chosen vertex is hidden
 * behind a boundary face, that face is not Delaunay among these vertices. The caller then removes
 * the tetrahedron behind the face, as TetGen does. That is impossible if the face is on a facet. In
 * this case the visible vertices must be distinguished from the hidden ones, which is slow and done
 * only for small polyhedra.
 */
#include "mesh/half_cavity.h"

#define MAX_WRAP_POINTS 64 /* number of vertices up to which gift wrapping is faster than carving */
#define MAX_VISIBILITY_POINTS 256 /* maximum number of vertices for which visibility is tested */
#define NOT_USED ((uint32_t) 1 << 31) /* a bit that no tetrahedron index has (RB_MAX_TETS) */

static bool
all_used(rb_recovery *r, const rb_cavity_half *half)
{
	rb_mesh *m = &r->mesh;
	bool all = true;

	/* tet_of can hold the flags because it is recomputed later for all these vertices. */
	for (uint32_t i = 0; i < half->npoints; i++)
		m->tet_of[half->points[i]] |= NOT_USED;
	for (uint32_t i = 0; i < half->ntets; i++)
		for (int k = 0; k < 4; k++)
			m->tet_of[half->tets[i][k]] &= ~NOT_USED;
	for (uint32_t i = 0; i < half->npoints; i++)
	{
		all = all && (m->tet_of[half->points[i]] & NOT_USED) == 0;
		m->tet_of[half->points[i]] &= ~NOT_USED;
	}
	return all;
}

rb_status
rb_half_fill(rb_recovery *r, rb_cavity_half *half, rb_filled *filled)
{
	rb_status status;

	half->given = half->nbases;
	half->nbehind = 0;
	if (half->npoints > MAX_WRAP_POINTS)
		status = rb_half_carve(r, half, filled);
	else
		status = rb_half_wrap(r, half, false, filled);
	if (status == RB_OK && *filled == RB_FILLED_NOT && half->npoints <= MAX_VISIBILITY_POINTS)
		status = rb_half_wrap(r, half, true, filled);
	if (status == RB_OK && *filled == RB_FILLED && !all_used(r, half))
		*filled = RB_FILLED_NOT;
	return status;
}
