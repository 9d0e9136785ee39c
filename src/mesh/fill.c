/*
 * fill.c
 *	  A polyhedron, one side of a cavity, is filled with Delaunay tetrahedra: small ones by wrapping,
 *	  large ones by carving.
 *
 * Is it filled rightly?  Every tetrahedron is positively oriented, and each face of one is met by
 * another from its other side, or by the polyhedron's own: so the tetrahedra, counted with their
 * signs, have the polyhedron's boundary for theirs, and every place inside is covered once.  What
 * is left to ask is whether a corner was left out.
 *
 * All corners of the polyhedron are candidates, seen or not.  Where one that is hidden behind the
 * boundary is the nearest, the boundary face is not Delaunay among these corners: then the caller
 * takes away what is behind that face, as TetGen does, if it may.  If it may not, for the face is
 * on a facet, hidden corners have to be told from those that are seen, which is slow, and is done
 * for few of them only.
 */
#include "mesh/rb_half.h"

#define WRAP_MOST 64  /* corners that are wrapped; with more of them carving is faster */
#define SEEN_MOST 256 /* corners of which hidden ones are told from those that are seen */
#define USED_NOT ((uint32_t) 1 << 31) /* no tetrahedron has this bit (RB_MAX_TETS) */

static bool
all_used(rb_recovery *r, const rb_half *half)
{
	rb_mesh *m = &r->mesh;
	bool all = true;

	/* tet_of is made anew for all of them anyhow */
	for (uint32_t i = 0; i < half->npoints; i++)
		m->tet_of[half->points[i]] |= USED_NOT;
	for (uint32_t i = 0; i < half->ntets; i++)
		for (int k = 0; k < 4; k++)
			m->tet_of[half->tets[i][k]] &= ~USED_NOT;
	for (uint32_t i = 0; i < half->npoints; i++)
	{
		all = all && (m->tet_of[half->points[i]] & USED_NOT) == 0;
		m->tet_of[half->points[i]] &= ~USED_NOT;
	}
	return all;
}

rb_status
rb_half_fill(rb_recovery *r, rb_half *half, rb_filled *filled)
{
	rb_status status;

	half->given = half->nbases;
	half->nbehind = 0;
	if (half->npoints > WRAP_MOST)
		status = rb_half_carve(r, half, filled);
	else
		status = rb_half_wrap(r, half, false, filled);
	if (status == RB_OK && *filled == RB_FILLED_NOT && half->npoints <= SEEN_MOST)
		status = rb_half_wrap(r, half, true, filled);
	if (status == RB_OK && *filled == RB_FILLED && !all_used(r, half))
		*filled = RB_FILLED_NOT;
	return status;
}
