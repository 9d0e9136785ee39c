/*
 * delaunay.c
 *	  Checks, for every unconstrained face, that the opposite vertex is outside the circumsphere and
 *	  that the region does not change.
 *
 * For two positive tetrahedra with a common face, the vertex of one is inside the circumsphere of
 * the other if and only if the converse holds. One of the two tests is therefore enough.
 */
#include "mesh/check/checking.h"

static rb_status
check_pair(rb_checking *k, uint32_t face, uint32_t other)
{
	const rb_check_input *in = k->in;
	uint32_t t = face >> 2, u = other >> 2, x;

	if (in->region != NULL && in->region[t] != in->region[u])
		RB_TRY(rb_check_fault(k, RB_FAULT_REGIONS, t, u, RB_NONE, 0));
	if (k->sign[t] <= 0)
	{
		x = face, face = other, other = x;
		x = t, t = u, u = x;
	}
	x = in->tets[u][other & 3];
	if (k->sign[t] <= 0 || rb_check_bad(k, x))
		return RB_OK;
	if (rb_insphere(rb_check_point(k, in->tets[t][0]), rb_check_point(k, in->tets[t][1]),
					rb_check_point(k, in->tets[t][2]), rb_check_point(k, in->tets[t][3]),
					rb_check_point(k, x)) > 0)
		return rb_check_fault(k, RB_FAULT_NOT_DELAUNAY, t, u, x, 0);
	return RB_OK;
}

rb_status
rb_check_delaunay(rb_checking *k)
{
	for (uint32_t t = 0; t < k->in->ntets; t++)
	{
		RB_CHECK_STOP(k, t);
		if (k->sign[t] == RB_EXCLUDED)
			continue;
		for (uint32_t i = 0; i < 4; i++)
		{
			uint32_t face = t << 2 | i;
			uint32_t other = k->mate[face];

			if (other < RB_NO_TEST && face < other && (k->on_facet[t] >> i & 1) == 0)
				RB_TRY(check_pair(k, face, other));
		}
	}
	return RB_OK;
}
