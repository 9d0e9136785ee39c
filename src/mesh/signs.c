/*
 * signs.c
 *	  Exact signs of points by number, with ties broken by these numbers.
 *
 * Insphere asks whether e, lifted to the paraboloid, lies below the hyperplane through a, b, c and d.
 * Five points on one sphere would have no answer, so point i is lifted by e(i) more, where e(i) is
 * infinitely small and e(j) infinitely small against e(i) for j < i.  The height of the hyperplane
 * above e is the sum of the four heights weighed by e's barycentric coordinates: so what the
 * largest number among the five does to the difference is the sign of such a coordinate, an
 * orient3d, and if that is zero the next one decides.
 *
 * H. Edelsbrunner, E. P. Muecke: Simulation of Simplicity, 1990; here only the lifted coordinate
 * is perturbed, so that orient3d stays what it is: 0 for four points of one plane.
 */
#include "mesh/rb_mesh.h"

int
rb_mesh_orient(rb_mesh *m, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	return rb_orient3d_at(&m->env, rb_mesh_point(m, a), rb_mesh_point(m, b), rb_mesh_point(m, c),
						  rb_mesh_point(m, d));
}

static int
broken_tie(rb_mesh *m, const uint32_t *v)
{
	uint32_t below = UINT32_MAX; /* those from here on have been asked */

	for (;;)
	{
		uint32_t w[4];
		int next = -1;
		int sign;

		for (int i = 0; i < 5; i++)
			if (v[i] < below && (next < 0 || v[i] > v[next]))
				next = i;
		if (next < 0)
			return 0;
		if (next == 4)
			return -1;
		for (int i = 0; i < 4; i++)
			w[i] = i == next ? v[4] : v[i];
		sign = rb_mesh_orient(m, w[0], w[1], w[2], w[3]);
		if (sign != 0)
			return sign;
		below = v[next];
	}
}

int
rb_mesh_insphere(rb_mesh *m, uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t e)
{
	int sign = rb_insphere(rb_mesh_point(m, a), rb_mesh_point(m, b), rb_mesh_point(m, c),
						   rb_mesh_point(m, d), rb_mesh_point(m, e));

	if (sign == 0)
	{
		const uint32_t v[5] = {a, b, c, d, e};

		sign = broken_tie(m, v);
	}
	return sign;
}

bool
rb_mesh_conflict(rb_mesh *m, uint32_t t, uint32_t e)
{
	const rb_tet *tet = &m->tets[t];
	uint32_t ghost = rb_tet_corner(tet, RB_GHOST);

	if (ghost < 4)
	{
		const uint8_t *f = rb_face_corners[ghost];
		/* from the ghost the face is clockwise (rb_mesh.h), so seen by what is beyond it, too */
		int side = rb_mesh_orient(m, tet->v[f[0]], tet->v[f[2]], tet->v[f[1]], e);

		if (side != 0)
			return side > 0;
		/* in the plane of the face the sphere of the tetrahedron below it is its circle */
		tet = &m->tets[rb_face_tet(tet->n[ghost])];
	}
	return rb_mesh_insphere(m, tet->v[0], tet->v[1], tet->v[2], tet->v[3], e) > 0;
}
