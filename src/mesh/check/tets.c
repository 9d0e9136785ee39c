/*
 * tets.c
 *	  Checks that tetrahedra are positive, and matches them face by face.
 *
 * The side of a common face on which a tetrahedron lies follows from the parity of sorting the
 * face's corners and from the tetrahedron's own sign. An inverted tetrahedron is therefore reported
 * only as that.
 */
#include "mesh/check/checking.h"

static rb_status
check_tet(rb_checking *k, uint32_t t, double *sum, double *rest)
{
	const uint32_t *v = k->in->tets[t];
	const double *p[4];
	double u[3][3], d, s;
	int sign = 0;

	k->sign[t] = RB_EXCLUDED;
	for (int i = 0; i < 4; i++)
		if (v[i] >= k->in->npoints)
			return rb_check_fault(k, RB_FAULT_TET_NUMBER, t, v[i], RB_NONE, 0);
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < i; j++)
			if (v[i] == v[j])
				return rb_check_fault(k, RB_FAULT_TET_CORNERS, t, v[i], RB_NONE, 0);
	k->sign[t] = 0;
	for (int i = 0; i < 4; i++)
	{
		p[i] = rb_check_point(k, v[i]);
		if (rb_check_bad(k, v[i]))
			return RB_OK;
	}
	sign = rb_orient3d(p[0], p[1], p[2], p[3]);
	k->sign[t] = (int8_t) sign;
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++)
			u[i][j] = p[i + 1][j] - p[0][j];
	d = u[0][0] * (u[1][1] * u[2][2] - u[1][2] * u[2][1]) +
		u[0][1] * (u[1][2] * u[2][0] - u[1][0] * u[2][2]) +
		u[0][2] * (u[1][0] * u[2][1] - u[1][1] * u[2][0]);
	/* Sum up the rounding error of each addition separately (compensated summation). */
	s = *sum + d;
	*rest += fabs(*sum) >= fabs(d) ? (*sum - s) + d : (d - s) + *sum;
	*sum = s;
	if (sign == 0)
		return rb_check_fault(k, RB_FAULT_TET_FLAT, t, RB_NONE, RB_NONE, 0);
	if (sign < 0)
		return rb_check_fault(k, RB_FAULT_TET_INVERTED, t, RB_NONE, RB_NONE, d / 6);
	return RB_OK;
}

/* Returns the slot of a face, used or not; its corners are ascending. */
static uint32_t
slot_of(const rb_checking *k, const uint32_t v[3])
{
	uint32_t at = rb_hash_slot(rb_hash_triple(v[0], v[1], v[2]), k->faces_cap);

	while (k->faces[at] != RB_NONE)
	{
		uint32_t w[3];

		rb_check_corners(k, k->faces[at], w);
		rb_sort3(w);
		if (w[0] == v[0] && w[1] == v[1] && w[2] == v[2])
			break;
		at = at + 1 < k->faces_cap ? at + 1 : 0;
	}
	return at;
}

uint32_t
rb_check_find_face(const rb_checking *k, const uint32_t v[3])
{
	return k->faces[slot_of(k, v)];
}

/* Returns the side of a face on which its tetrahedron lies, 1 or -1, or 0 if unknown. */
static int
side_of(const rb_checking *k, uint32_t face)
{
	uint32_t v[3];

	rb_check_corners(k, face, v);
	return rb_sort3(v) ? -k->sign[face >> 2] : k->sign[face >> 2];
}

static uint32_t
opposite_corner(const rb_checking *k, uint32_t face)
{
	return k->in->tets[face >> 2][face & 3];
}

static rb_status
put_face(rb_checking *k, uint32_t face)
{
	uint32_t v[3], at, other;

	rb_check_corners(k, face, v);
	rb_sort3(v);
	at = slot_of(k, v);
	other = k->faces[at];
	k->mate[face] = RB_NONE;
	if (other == RB_NONE)
	{
		k->faces[at] = face;
		k->nfaces++;
		return RB_OK;
	}
	if (k->mate[other] != RB_NONE)
	{
		k->mate[face] = RB_NO_TEST;
		return rb_check_fault(k, RB_FAULT_SHARED, other >> 2, face >> 2, opposite_corner(k, face),
							  0);
	}
	k->mate[face] = other;
	k->mate[other] = face;
	if (side_of(k, face) * side_of(k, other) > 0)
	{
		k->mate[face] = k->mate[other] = RB_NO_TEST;
		return rb_check_fault(k, RB_FAULT_SAME_SIDE, other >> 2, face >> 2,
							  opposite_corner(k, face), 0);
	}
	return RB_OK;
}

/* Returns another tetrahedron with the same corners, or RB_NONE. */
static uint32_t
twin_of(const rb_checking *k, uint32_t t)
{
	uint32_t v[3], other;

	rb_check_corners(k, t << 2, v);
	rb_sort3(v);
	other = k->faces[slot_of(k, v)];
	if (other == RB_NONE)
		return RB_NONE;
	if (opposite_corner(k, other) == k->in->tets[t][0])
		return other >> 2;
	other = k->mate[other];
	return other < RB_NO_TEST && opposite_corner(k, other) == k->in->tets[t][0] ? other >> 2
																				: RB_NONE;
}

rb_status
rb_check_tets(rb_checking *k)
{
	uint32_t n = k->in->ntets;
	double sum = 0, rest = 0;

	k->faces_cap =
		(uint32_t) (((uint64_t) n * 4 + 16) * 5 / 4 > UINT32_MAX ? UINT32_MAX
																 : ((uint64_t) n * 4 + 16) * 5 / 4);
	RB_TRY(rb_array(k->ctx, (void **) &k->sign, (size_t) n + 1, 1));
	RB_TRY(rb_array(k->ctx, (void **) &k->on_facet, (size_t) n + 1, 1));
	RB_TRY(rb_array(k->ctx, (void **) &k->mate, 4 * (size_t) n + 1, sizeof(uint32_t)));
	RB_TRY(rb_array(k->ctx, (void **) &k->faces, k->faces_cap, sizeof(uint32_t)));
	memset(k->on_facet, 0, (size_t) n + 1);
	memset(k->faces, 0xff, (size_t) k->faces_cap * sizeof(uint32_t));
	RB_TRY(rb_pairs_init(k->ctx, &k->edges, (size_t) n + n / 4, true));
	for (uint32_t t = 0; t < n; t++)
	{
		const uint32_t *v = k->in->tets[t];
		uint32_t twin;

		RB_CHECK_STOP(k, t);
		RB_TRY(check_tet(k, t, &sum, &rest));
		if (k->sign[t] == RB_EXCLUDED)
			continue;
		twin = twin_of(k, t);
		if (twin != RB_NONE)
		{
			k->sign[t] = RB_EXCLUDED;
			RB_TRY(rb_check_fault(k, RB_FAULT_TET_TWICE, twin, t, RB_NONE, 0));
			continue;
		}
		k->ntets++;
		for (uint32_t i = 0; i < 4; i++)
		{
			k->point[v[i]] |= RB_POINT_USED;
			RB_TRY(put_face(k, t << 2 | i));
			for (uint32_t j = 0; j < i; j++)
			{
				uint32_t was;

				RB_TRY(rb_pairs_insert(k->ctx, &k->edges, v[i], v[j], 0, &was));
			}
		}
	}
	k->report->volume = isfinite(sum + rest) ? (sum + rest) / 6 : HUGE_VAL;
	return RB_OK;
}
