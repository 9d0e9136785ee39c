/*
 * points.c
 *	  Checks that points are finite and distinct, that their kinds make sense, and that input points
 *	  are unchanged, bit for bit.
 */
#include "mesh/check/checking.h"

static uint32_t
hash_point(const double *p)
{
	uint32_t v[6];

	for (int i = 0; i < 3; i++)
	{
		double x = p[i] + 0.0; /* replaces -0 by 0 */

		memcpy(v + 2 * i, &x, sizeof(x));
	}
	return rb_hash_triple(v[0] ^ v[3] * 0x9e3779b1u, v[1] ^ v[4] * 0x85ebca6bu,
						  v[2] + v[5] * 0xc2b2ae35u);
}

static rb_status
measure_extent(rb_checking *k)
{
	double low[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL};
	double high[3] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
	double d[3] = {0, 0, 0};

	for (uint32_t i = 0; i < k->in->npoints; i++)
	{
		const double *p = rb_check_point(k, i);

		RB_CHECK_STOP(k, i);
		k->point[i] = 0;
		if (!rb_all_finite(p, 3))
		{
			k->point[i] = RB_POINT_BAD;
			RB_TRY(rb_check_fault(k, RB_FAULT_POINT_NOT_FINITE, i, RB_NONE, RB_NONE, 0));
			continue;
		}
		for (int j = 0; j < 3; j++)
		{
			low[j] = fmin(low[j], p[j]);
			high[j] = fmax(high[j], p[j]);
			k->largest = fmax(k->largest, fabs(p[j]));
		}
	}
	if (low[0] <= high[0])
		for (int j = 0; j < 3; j++)
			d[j] = high[j] - low[j];
	k->diagonal = hypot(hypot(d[0], d[1]), d[2]);
	k->scale = ldexp(
		1, k->diagonal > 0 && k->diagonal < HUGE_VAL ? -(int) fmax(ilogb(k->diagonal), -1000) : 0);
	/* Far from the origin, the spacing of doubles is the larger term. */
	k->near = 1e-9 * k->diagonal + 0x1p-50 * k->largest;
	return RB_OK;
}

static rb_status
equal_points(rb_checking *k)
{
	uint32_t n = k->in->npoints;
	size_t want = (size_t) n + n / 2 + 16;
	uint32_t cap = want > UINT32_MAX ? UINT32_MAX : (uint32_t) want;

	RB_TRY(rb_array(k->ctx, (void **) &k->table, cap, sizeof(uint32_t)));
	memset(k->table, 0xff, cap * sizeof(uint32_t));
	for (uint32_t i = 0; i < n; i++)
	{
		const double *p = rb_check_point(k, i);
		uint32_t at;

		RB_CHECK_STOP(k, i);
		if (rb_check_bad(k, i))
			continue;
		at = rb_hash_slot(hash_point(p), cap);
		while (k->table[at] != RB_NONE)
		{
			const double *q = rb_check_point(k, k->table[at]);

			if (p[0] == q[0] && p[1] == q[1] && p[2] == q[2])
				break;
			at = at + 1 < cap ? at + 1 : 0;
		}
		if (k->table[at] == RB_NONE)
			k->table[at] = i;
		else
			RB_TRY(rb_check_fault(k, RB_FAULT_POINTS_EQUAL, k->table[at], i, RB_NONE, 0));
	}
	rb_free(k->ctx->memory, (void **) &k->table);
	return RB_OK;
}

static rb_status
check_kinds(rb_checking *k)
{
	const rb_check_input *in = k->in;

	for (uint32_t i = 0; i < in->npoints; i++)
	{
		uint32_t kind = in->kind == NULL ? RB_VERTEX_INPUT : in->kind[i];
		uint32_t parent = rb_check_parent(k, i);
		bool input = in->plc == NULL ? kind == RB_VERTEX_INPUT : i < in->plc->npoints;

		RB_CHECK_STOP(k, i);
		if (kind >= RB_VERTEX_KINDS || input != (kind == RB_VERTEX_INPUT))
			RB_TRY(rb_check_fault(k, RB_FAULT_POINT_KIND, i, kind, RB_NONE, 0));
		else if (kind == RB_VERTEX_ON_SEGMENT ? parent >= in->nsegments
				 : kind == RB_VERTEX_ON_FACET ? parent >= k->nfacets
											  : parent != RB_NONE)
			RB_TRY(rb_check_fault(k, RB_FAULT_POINT_PARENT, i, parent, RB_NONE, 0));
		else
			continue;
		k->point[i] |= RB_POINT_REPORTED;
	}
	return RB_OK;
}

static rb_status
check_inputs(rb_checking *k)
{
	const rb_plc *plc = k->in->plc;

	for (uint32_t i = 0; plc != NULL && i < plc->npoints; i++)
	{
		const double *q = plc->points + 3 * (size_t) i;

		RB_CHECK_STOP(k, i);
		if (i >= k->in->npoints)
			RB_TRY(rb_check_fault(k, RB_FAULT_INPUT_MISSING, i, RB_NONE, RB_NONE, 0));
		else if (memcmp(rb_check_point(k, i), q, 3 * sizeof(double)) != 0 && !rb_check_bad(k, i))
		{
			const double *p = rb_check_point(k, i);

			RB_TRY(rb_check_fault(k, RB_FAULT_INPUT_MOVED, i, RB_NONE, RB_NONE,
								  hypot(hypot(p[0] - q[0], p[1] - q[1]), p[2] - q[2])));
		}
	}
	return RB_OK;
}

rb_status
rb_check_points(rb_checking *k)
{
	RB_TRY(rb_array(k->ctx, (void **) &k->point, (size_t) k->in->npoints + 1, 1));
	RB_TRY(measure_extent(k));
	RB_TRY(equal_points(k));
	RB_TRY(check_kinds(k));
	return check_inputs(k);
}

/*
 * Reports Steiner points that are not a corner of any tetrahedron. Unused input points are only
 * counted, because they may be outside the kept part.
 */
rb_status
rb_check_unused(rb_checking *k)
{
	for (uint32_t i = 0; i < k->in->npoints; i++)
	{
		RB_CHECK_STOP(k, i);
		if ((k->point[i] & RB_POINT_USED) != 0)
			continue;
		if (rb_check_kind(k, i) == RB_VERTEX_INPUT)
			k->report->unused_inputs++;
		else
			RB_TRY(rb_check_fault(k, RB_FAULT_POINT_UNUSED, i, RB_NONE, RB_NONE, 0));
	}
	return RB_OK;
}
