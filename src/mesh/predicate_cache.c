/*
 * predicate_cache.c
 *	  Evaluates exact predicates on points given by index, with ties broken by the indices
 *	  (insphere.h).
 */
#include "core/exact/insphere.h"
#include "mesh/mesh.h"

int
rb_mesh_orient(rb_mesh *m, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	return rb_orient3d_at(&m->env, rb_mesh_point(m, a), rb_mesh_point(m, b), rb_mesh_point(m, c),
						  rb_mesh_point(m, d));
}

/*
 * Decides cases that the filter leaves open; out of line, so that the filter keeps all registers.
 */
static int __attribute__((noinline)) insphere_hard(rb_mesh *m, const uint32_t *v)
{
	const double *p[5];
	int sign;

	for (int i = 0; i < 5; i++)
		p[i] = rb_mesh_point(m, v[i]);
	sign = rb_insphere_hard(&m->env, p[0], p[1], p[2], p[3], p[4]);
	return sign != 0 ? sign : rb_insphere_ties(&m->env, p, v);
}

int
rb_mesh_insphere(rb_mesh *m, uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t e)
{
	if ((m->env.filters & RB_FILTER_SIGNS) != 0)
	{
		int sign = rb_insphere_filter(rb_mesh_point(m, a), rb_mesh_point(m, b), rb_mesh_point(m, c),
									  rb_mesh_point(m, d), rb_mesh_point(m, e));

		if (sign != RB_UNSURE)
			return sign;
	}
	return insphere_hard(m, (const uint32_t[5]){a, b, c, d, e});
}

bool
rb_mesh_conflict(rb_mesh *m, uint32_t t, uint32_t e)
{
	const rb_tet *tet = &m->tets[t];
	uint32_t ghost = rb_tet_corner(tet, RB_GHOST);

	if (ghost < 4)
	{
		const uint8_t *f = rb_face_corners[ghost];
		/*
		 * The face is clockwise seen from the ghost (mesh.h), and thus from any point beyond it.
		 */
		int side = rb_mesh_orient(m, tet->v[f[0]], tet->v[f[2]], tet->v[f[1]], e);

		if (side != 0)
			return side > 0;
		/*
		 * In the face's plane, the sphere of the tetrahedron below it cuts out the face's
		 * circumcircle.
		 */
		tet = &m->tets[rb_face_tet(tet->n[ghost])];
	}
	return rb_mesh_insphere(m, tet->v[0], tet->v[1], tet->v[2], tet->v[3], e) > 0;
}
