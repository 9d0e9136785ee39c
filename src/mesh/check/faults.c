/*
 * faults.c
 *	  Counts and lists the faults of a mesh, and decides at the end of the check whether edges and
 *	  faces that are in no tetrahedron are inside the kept part of the mesh.
 *
 * Nothing crosses the boundary of the kept part, so it suffices to test one end. An edge from u to
 * v begins inside if v lies in the cone of some tetrahedron at its corner u. A face uvw, where uv
 * is an edge of tetrahedra, begins inside if w lies in the wedge of one of these at uv. Both tests
 * are signs: for a positive tetrahedron (u, x, y, z), v = u + A (x - u) + B (y - u) + C (z - u),
 * where A, B and C have the signs of (u, v, y, z), (u, x, v, z) and (u, x, y, v).
 *
 * All these tests are done in one pass over the tetrahedra.
 */
#include "mesh/check/checking.h"

/* ---- faults ---- */

static const char *const texts[RB_FAULT_KINDS] = {
#define RB_FAULT_TEXT(name, text) text,
	RB_FAULT_LIST(RB_FAULT_TEXT)
#undef RB_FAULT_TEXT
};

const char *
rb_fault_text(rb_fault_kind kind)
{
	return (unsigned) kind < RB_FAULT_KINDS ? texts[kind] : "unknown fault";
}

/* Makes room for one more element, doubling a full array. */
static rb_status
one_more(rb_context *ctx, void **block, size_t *cap, size_t n, size_t element)
{
	size_t more = *cap == 0 ? 64 : 2 * *cap;

	if (n < *cap)
		return RB_OK;
	RB_TRY(rb_array(ctx, block, more, element));
	*cap = more;
	return RB_OK;
}

rb_status
rb_check_fault(rb_checking *k, rb_fault_kind kind, uint32_t a, uint32_t b, uint32_t c,
			   double amount)
{
	rb_check_report *r = k->report;

	r->faults++;
	if (r->count[kind]++ >= k->in->most || r->nlist == UINT32_MAX)
		return RB_OK;
	RB_TRY(one_more(k->ctx, (void **) &r->list, &k->list_cap, r->nlist, sizeof(rb_fault)));
	r->list[r->nlist++] = (rb_fault){.kind = kind, .a = a, .b = b, .c = c, .amount = amount};
	return RB_OK;
}

rb_status
rb_check_defer(rb_checking *k, const rb_deferred_test *w)
{
	RB_TRY(one_more(k->ctx, (void **) &k->wanted, &k->wanted_cap, k->nwanted,
					sizeof(rb_deferred_test)));
	k->wanted[k->nwanted++] = *w;
	return RB_OK;
}

/* ---- deferred tests ---- */

static int
orient_sign(const rb_checking *k, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	return rb_orient3d(rb_check_point(k, a), rb_check_point(k, b), rb_check_point(k, c),
					   rb_check_point(k, d));
}

/*
 * Returns true if tetrahedron (u, x[0], x[1], x[2]) contains the start of the edge or face to test.
 */
static bool
contains_start(const rb_checking *k, const rb_deferred_test *w, uint32_t u, const uint32_t x[3])
{
	if (w->side == RB_NONE)
		return orient_sign(k, u, w->to, x[1], x[2]) >= 0 &&
			   orient_sign(k, u, x[0], w->to, x[2]) >= 0 &&
			   orient_sign(k, u, x[0], x[1], w->to) >= 0;
	for (int i = 0; i < 3; i++)
		if (x[i] == w->to)
			return orient_sign(k, u, w->to, x[(i + 1) % 3], w->side) >= 0 &&
				   orient_sign(k, u, w->to, w->side, x[(i + 2) % 3]) >= 0;
	return false;
}

static rb_status
find_starts(rb_checking *k, uint32_t *next, uint32_t *first)
{
	uint32_t steps = 0;

	for (uint32_t t = 0; t < k->in->ntets; t++)
	{
		RB_CHECK_STOP(k, t);
		if (k->sign[t] != 1)
			continue;
		for (uint32_t i = 0; i < 4; i++)
		{
			uint32_t u = k->in->tets[t][i], x[3];
			uint32_t *at = &first[u];

			rb_check_corners(k, t << 2 | i, x);
			while (*at != RB_NONE)
			{
				rb_deferred_test *w = &k->wanted[*at];

				RB_CHECK_STOP(k, steps);
				steps++;
				if (contains_start(k, w, u, x))
				{
					w->inside = true;
					*at = next[*at];
				}
				else
					at = &next[*at];
			}
		}
	}
	return RB_OK;
}

rb_status
rb_check_deferred(rb_checking *k)
{
	if (k->nwanted == 0)
		return RB_OK;
	RB_TRY(rb_check_scratch(k, 0, k->nwanted));
	RB_TRY(rb_check_scratch(k, 1, k->in->npoints));
	memset(k->scratch[1], 0xff, k->in->npoints * sizeof(uint32_t));
	for (uint32_t i = 0; i < k->nwanted; i++)
	{
		const rb_deferred_test *w = &k->wanted[i];

		if (rb_check_bad(k, w->from) || rb_check_bad(k, w->to) ||
			(w->side != RB_NONE && rb_check_bad(k, w->side)))
			continue;
		k->scratch[0][i] = k->scratch[1][w->from];
		k->scratch[1][w->from] = i;
	}
	RB_TRY(find_starts(k, k->scratch[0], k->scratch[1]));
	for (uint32_t i = 0; i < k->nwanted; i++)
	{
		const rb_deferred_test *w = &k->wanted[i];

		if (w->inside)
			RB_TRY(rb_check_fault(k, w->kind, w->a, w->b, RB_NONE, 0));
		else if (w->kind == RB_FAULT_FACE_NOT_IN_MESH)
			k->report->outside_faces++;
		else if (w->kind == RB_FAULT_EDGE_NOT_IN_MESH)
			k->report->outside_edges++;
		else if (w->kind == RB_FAULT_FACET_MISSING)
			k->report->outside_facets++;
	}
	return RB_OK;
}
