/*
 * gift_wrap.c
 *	  Fills a polyhedron by gift wrapping: attaches to each open face the vertex whose circumsphere
 *	  is empty, until no face is open.
 *
 * The time is quadratic in the number of vertices, or cubic if hidden vertices must be excluded.
 */
#include "mesh/half_cavity.h"

/* Returns true if two faces with equal corners have the same orientation. */
static bool
turned_alike(const uint32_t *v, const uint32_t *w)
{
	for (int i = 0; i < 3; i++)
		if (w[i] == v[0])
			return w[(i + 1) % 3] == v[1];
	return false;
}

/*
 * Returns true if segment pq may meet the closed triangle t. Touching counts as meeting, but a
 * common corner or a coplanar segment does not.
 */
static bool
may_pierce(rb_recovery *r, uint32_t p, uint32_t q, const uint32_t *t)
{
	rb_mesh *m = &r->mesh;
	int s[2], o[3];
	int common = 0;

	for (int i = 0; i < 3; i++)
		common += t[i] == p || t[i] == q;
	if (common > 0)
		return false;
	s[0] = rb_mesh_orient(m, t[0], t[1], t[2], p);
	s[1] = rb_mesh_orient(m, t[0], t[1], t[2], q);
	if (s[0] == s[1] && s[0] != 0)
		return false;
	for (int i = 0; i < 3; i++)
		o[i] = rb_mesh_orient(m, p, q, t[i], t[(i + 1) % 3]);
	if (s[0] == 0 && s[1] == 0)
		/*
		 * the segment is coplanar: then edges of the tetrahedron and of the triangle cross
		 * elsewhere, too
		 */
		return false;
	return (o[0] >= 0 && o[1] >= 0 && o[2] >= 0) || (o[0] <= 0 && o[1] <= 0 && o[2] <= 0);
}

/* Returns true if the tetrahedron of face v and vertex d would intersect an open face. */
static bool
runs_into(rb_recovery *r, const rb_cavity_half *half, const uint32_t *v, uint32_t d)
{
	const uint32_t sides[3][3] = {{v[0], v[1], d}, {v[1], v[2], d}, {v[2], v[0], d}};

	for (uint32_t i = 0; i < half->nbases; i++)
	{
		const rb_base *b = &half->bases[i];

		if (b->inside != RB_NONE)
			continue;
		for (int k = 0; k < 3; k++)
		{
			if (may_pierce(r, v[k], d, b->v))
				return true;
			for (int j = 0; j < 3; j++)
				if (may_pierce(r, b->v[j], b->v[(j + 1) % 3], sides[k]))
					return true;
		}
	}
	return false;
}

/*
 * Returns the vertex for face v, or RB_NONE. *empty is set if no vertex is inside its circumsphere.
 */
static uint32_t
choose_vertex(rb_recovery *r, const rb_cavity_half *half, const uint32_t *v, bool only_seen,
			  bool *empty)
{
	rb_mesh *m = &r->mesh;
	uint32_t best = RB_NONE;

	*empty = true;
	for (uint32_t i = 0; i < half->npoints; i++)
	{
		uint32_t d = half->points[i];

		if (d == v[0] || d == v[1] || d == v[2])
			continue;
		if (best != RB_NONE && rb_mesh_insphere(m, v[0], v[1], v[2], best, d) <= 0)
			continue;
		if (rb_mesh_orient(m, v[0], v[1], v[2], d) <= 0)
			continue;
		if (only_seen && runs_into(r, half, v, d))
			continue;
		best = d;
	}
	if (best != RB_NONE && !only_seen)
		for (uint32_t i = 0; i < half->npoints && *empty; i++)
		{
			uint32_t d = half->points[i];

			if (d != v[0] && d != v[1] && d != v[2] && d != best &&
				rb_mesh_insphere(m, v[0], v[1], v[2], best, d) > 0)
				*empty = false;
		}
	return best;
}

/*
 * Connects the faces of a new tetrahedron to the existing ones or leaves them open; *fits is false
 * if that fails.
 */
static rb_status
close_faces(rb_recovery *r, rb_cavity_half *half, uint32_t tet, bool *fits)
{
	const uint32_t a = half->tets[tet][0], b = half->tets[tet][1], c = half->tets[tet][2],
				   d = half->tets[tet][3];
	const uint32_t face[3][3] = {{b, c, d}, {c, a, d}, {a, b, d}}; /* opposite a, b, c */

	*fits = true;
	for (uint32_t i = 0; i < 3; i++)
	{
		uint32_t *there;
		bool fresh;
		rb_base *base;
		rb_status status = rb_table_insert(r->ctx, &half->open, face[i][0], face[i][1], face[i][2],
										   half->nbases, &there, &fresh);

		if (status != RB_OK)
			return status;
		if (fresh)
		{
			status =
				rb_half_base(r, half, face[i][0], face[i][1], face[i][2], RB_NONE, RB_NONE, false);
			if (status != RB_OK)
				return status;
			half->bases[half->nbases - 1].behind = tet << 2 | i;
			continue;
		}
		base = &half->bases[*there];
		if (base->inside != RB_NONE || turned_alike(base->v, face[i]))
		{
			*fits = false;
			return RB_OK;
		}
		base->inside = tet << 2 | i;
	}
	return RB_OK;
}

rb_status
rb_half_wrap(rb_recovery *r, rb_cavity_half *half, bool only_seen, rb_filled *filled)
{
	uint64_t most = 64 + 16 * (uint64_t) half->npoints + (uint64_t) half->npoints * half->npoints;
	bool stuck = false, whole = true;
	rb_status status = RB_OK;

	*filled = RB_FILLED_NOT;
	half->ntets = 0;
	half->nbases = half->given;
	rb_table_clear(&half->open);
	for (uint32_t i = 0; i < half->given && status == RB_OK; i++)
	{
		bool fresh;

		half->bases[i].inside = RB_NONE;
		status = rb_table_insert(r->ctx, &half->open, half->bases[i].v[0], half->bases[i].v[1],
								 half->bases[i].v[2], i, NULL, &fresh);
		if (status == RB_OK && !fresh)
			return RB_OK;
	}
	for (uint32_t i = 0; i < half->nbases && status == RB_OK; i++)
	{
		uint32_t v[3], d;
		bool empty, fits;

		if (half->bases[i].inside != RB_NONE)
			continue;
		if ((only_seen || (i & 63) == 0) && rb_should_stop(r->ctx))
			return RB_STOPPED;
		if (half->ntets > most)
			return RB_OK;
		memcpy(v, half->bases[i].v, sizeof v);
		d = choose_vertex(r, half, v, only_seen, &empty);
		if (!only_seen && i < half->given && (d == RB_NONE || !empty))
		{
			stuck = true;
			if (!half->bases[i].constrained)
				status = rb_half_behind(r, half, i);
			continue;
		}
		if (stuck && i < half->given)
			continue; /* the filling has failed, but find the other faces that block it */
		if (stuck || d == RB_NONE)
		{
			whole = false;
			break;
		}
		status = rb_array_grow(r->ctx, (void **) &half->tets, &half->tets_cap,
							   (size_t) half->ntets + 1, sizeof(uint32_t[4]));
		if (status != RB_OK)
			return status;
		half->tets[half->ntets][0] = v[0];
		half->tets[half->ntets][1] = v[1];
		half->tets[half->ntets][2] = v[2];
		half->tets[half->ntets][3] = d;
		half->bases[i].inside = half->ntets << 2 | 3;
		status = close_faces(r, half, half->ntets++, &fits);
		if (status == RB_OK && !fits)
			return RB_OK;
	}
	if (status == RB_OK && half->nbehind > 0)
		*filled = RB_FILLED_BEHIND;
	else if (status == RB_OK && !stuck && whole)
		*filled = RB_FILLED;
	return status;
}
