/*
 * flip_repair.c
 *	  Flips faces that are not Delaunay after the recovery of facets.
 *
 * Flat facets leave no such faces. A facet that rounding has bent has faces in its cavities on
 * which the two adjacent tetrahedra disagree, although each is correct among its own vertices: the
 * four corners around a soft edge are nearly cocircular, and the Delaunay diagonal above the facet
 * can differ from the one below it. Flips of two tetrahedra to three, three to two and four to
 * four, the last together with the facet's own edge, resolve nearly all cases. A flip is done only
 * if every new tetrahedron is positive. Each remaining case gets a Steiner point on the facet, and
 * the recovery is repeated.
 *
 * C. Lawson: Properties of n-dimensional triangulations, 1986.
 */
#include "core/exact/insphere.h"
#include "mesh/recover.h"

typedef struct rb_outer
{
	uint32_t key[3];
	rb_tet_face outside;
	bool fixed;
} rb_outer;

typedef struct rb_repair
{
	rb_tet_face *queue; /* faces to check */
	size_t n, cap;
	/* maps corners to the subface index; built at the first flip of a facet's edge */
	rb_table subface_of;
	bool known;
	uint32_t viewed; /* facet above which the point `above` was placed last, or RB_NONE */
	uint32_t above;
	uint64_t flips;
} rb_repair;

/* Appends a face of the mesh to the queue of faces that may not be Delaunay. */
static rb_status
push_face(rb_recovery *r, rb_repair *q, rb_tet_face f)
{
	RB_TRY(RB_GROW(r->ctx, q->queue, q->cap, q->n + 1));
	q->queue[q->n++] = f;
	return RB_OK;
}

/* Returns true if the face should be flipped. */
static bool
needs_flip(rb_mesh *m, uint32_t t, uint32_t k)
{
	const rb_tet *tet = &m->tets[t];
	rb_tet_face beyond = tet->n[k];
	uint32_t e = m->tets[rb_face_tet(beyond)].v[rb_face_corner(beyond)];

	if ((m->bits[t] & RB_FACE_BIT(k)) != 0 || e == RB_GHOST || rb_tet_ghost(tet))
		return false;
	return rb_insphere_at(&m->env, rb_mesh_point(m, tet->v[0]), rb_mesh_point(m, tet->v[1]),
						  rb_mesh_point(m, tet->v[2]), rb_mesh_point(m, tet->v[3]),
						  rb_mesh_point(m, e)) > 0;
}

/* Replaces old tetrahedra by new ones that fill the same space; all new ones must be positive. */
static rb_status
replace_flipped_tets(rb_recovery *r, rb_repair *q, const uint32_t *old, int nold, uint32_t (*v)[4],
					 int nnew, uint32_t *made)
{
	rb_mesh *m = &r->mesh;
	rb_outer outer[8];
	int nouter = 0;

	RB_TRY(rb_mesh_reserve(m, (uint32_t) nnew));
	RB_TRY(rb_mesh_reserve_journal(m, (uint32_t) (nold + nnew)));
	for (int i = 0; i < nold; i++)
		for (uint32_t k = 0; k < 4; k++)
		{
			const rb_tet *t = &m->tets[old[i]];
			const uint8_t *f = rb_face_corners[k];
			bool inner = false;

			for (int j = 0; j < nold; j++)
				inner = inner || rb_face_tet(t->n[k]) == old[j];
			if (inner)
				continue;
			rb_table_key(outer[nouter].key, t->v[f[0]], t->v[f[1]], t->v[f[2]]);
			outer[nouter].outside = t->n[k];
			outer[nouter++].fixed = (m->bits[old[i]] & RB_FACE_BIT(k)) != 0;
		}
	for (int i = 0; i < nold; i++)
		rb_mesh_drop_tet(m, old[i]);
	for (int i = 0; i < nnew; i++)
	{
		made[i] = rb_mesh_new_tet(m, v[i][0], v[i][1], v[i][2], v[i][3]);
		for (int k = 0; k < 4; k++)
			m->tet_of[v[i][k]] = made[i];
	}
	m->recent = made[0];
	for (int i = 0; i < nnew; i++)
		for (uint32_t k = 0; k < 4; k++)
		{
			const uint8_t *f = rb_face_corners[k];
			uint32_t key[3];
			int o = 0;

			rb_table_key(key, v[i][f[0]], v[i][f[1]], v[i][f[2]]);
			while (o < nouter && memcmp(outer[o].key, key, sizeof key) != 0)
				o++;
			if (o < nouter)
			{
				rb_mesh_link(m, rb_face_of(made[i], k), outer[o].outside);
				if (outer[o].fixed)
					m->bits[made[i]] |= RB_FACE_BIT(k);
				else
					RB_TRY(push_face(r, q, rb_face_of(made[i], k)));
				continue;
			}
			for (int j = 0; j < i; j++)
				for (uint32_t l = 0; l < 4; l++)
				{
					const uint8_t *g = rb_face_corners[l];
					uint32_t other[3];

					rb_table_key(other, v[j][g[0]], v[j][g[1]], v[j][g[2]]);
					if (memcmp(other, key, sizeof key) == 0)
					{
						rb_mesh_link(m, rb_face_of(made[i], k), rb_face_of(made[j], l));
						RB_TRY(push_face(r, q, rb_face_of(made[i], k)));
					}
				}
		}
	q->flips++;
	return RB_OK;
}

/* Returns true if all n tetrahedra that a flip would create are oriented positively. */
static bool
are_positive(rb_mesh *m, uint32_t (*v)[4], int n)
{
	for (int i = 0; i < n; i++)
		if (rb_mesh_orient(m, v[i][0], v[i][1], v[i][2], v[i][3]) <= 0)
			return false;
	return true;
}

/* Finds the subface with corners a, b, c; *number is its index, or RB_NONE. */
static rb_status
find_subface_to_flip(rb_recovery *r, rb_repair *q, uint32_t a, uint32_t b, uint32_t c,
					 uint32_t *number)
{
	uint32_t *there;

	if (!q->known)
		RB_TRY(rb_table_expect(r->ctx, &q->subface_of, r->nsubfaces));
	for (uint32_t i = 0; i < r->nsubfaces && !q->known; i++)
		RB_TRY(rb_table_insert(r->ctx, &q->subface_of, r->subfaces[i].v[0], r->subfaces[i].v[1],
							   r->subfaces[i].v[2], i, NULL, NULL));
	q->known = true;
	there = rb_table_get(&q->subface_of, a, b, c);
	*number = there != NULL ? *there : RB_NONE;
	return RB_OK;
}

/*
 * Returns true if d and e are on opposite sides of ab, and a and b on opposite sides of de, seen
 * from the point above the facet.
 */
static bool
is_convex_from_above(rb_recovery *r, const rb_repair *q, uint32_t a, uint32_t b, uint32_t d,
					 uint32_t e)
{
	rb_mesh *m = &r->mesh;
	const int side = rb_mesh_orient(m, a, b, d, q->above);

	return side != 0 && rb_mesh_orient(m, b, a, e, q->above) == side &&
		   rb_mesh_orient(m, a, e, d, q->above) == side &&
		   rb_mesh_orient(m, b, d, e, q->above) == side;
}

/*
 * Finds the subfaces abd and abe. *i is RB_NONE if they are not of one facet, or do not form a
 * convex quadrilateral: with edge de, the faces of the facet would then overlap. The new tetrahedra
 * can be positive nevertheless, because they are as flat as the facet, which rounding has bent.
 */
static rb_status
find_soft_faces(rb_recovery *r, rb_repair *q, uint32_t a, uint32_t b, uint32_t d, uint32_t e,
				uint32_t *i, uint32_t *j)
{
	uint32_t facet;

	RB_TRY(find_subface_to_flip(r, q, a, b, d, i));
	RB_TRY(find_subface_to_flip(r, q, a, b, e, j));
	if (*i == RB_NONE)
		return RB_OK;
	facet = r->subfaces[*i].facet;
	if (*j == RB_NONE || r->subfaces[*j].facet != facet)
	{
		*i = RB_NONE;
		return RB_OK;
	}
	if (facet != q->viewed)
	{
		RB_TRY(rb_recover_place_point_above(r, facet, &q->above));
		q->viewed = facet;
	}
	if (!is_convex_from_above(r, q, a, b, d, e))
		*i = RB_NONE;
	return RB_OK;
}

/*
 * Replaces subfaces i and j, which share edge ab, by those that share de, with the same
 * orientation.
 */
static rb_status
flip_subfaces(rb_recovery *r, rb_repair *q, uint32_t i, uint32_t j, uint32_t a, uint32_t b,
			  uint32_t d, uint32_t e)
{
	const uint32_t *v = r->subfaces[i].v; /* v contains a, b and d in some order */
	bool forward = false;

	for (int k = 0; k < 3; k++)
		forward = forward || (v[k] == a && v[(k + 1) % 3] == b);
	/* The faces are abd and bae, or both reversed. */
	r->subfaces[i] = (rb_subface){{a, forward ? e : d, forward ? d : e}, r->subfaces[i].facet};
	r->subfaces[j] = (rb_subface){{b, forward ? d : e, forward ? e : d}, r->subfaces[j].facet};
	RB_TRY(rb_table_insert(r->ctx, &q->subface_of, a, d, e, i, NULL, NULL));
	RB_TRY(rb_table_insert(r->ctx, &q->subface_of, b, d, e, j, NULL, NULL));
	*rb_table_get(&q->subface_of, a, d, e) = i;
	*rb_table_get(&q->subface_of, b, d, e) = j;
	*rb_table_get(&q->subface_of, a, b, d) = RB_NONE;
	*rb_table_get(&q->subface_of, a, b, e) = RB_NONE;
	return RB_OK;
}

/*
 * Removes edge ab, which blocks a flip of face abc to edge de, if three or four tetrahedra surround
 * it.
 */
static rb_status
remove_edge(rb_recovery *r, rb_repair *q, uint32_t t, uint32_t a, uint32_t b, uint32_t c,
			uint32_t d, uint32_t e, bool *done)
{
	rb_mesh *m = &r->mesh;
	/* tetrahedra around ab, and the corner that each shares with the next one */
	uint32_t ring[5], at[5];
	/* whether the face of ab and that corner is on a facet */
	bool fixed[5];
	int n = 0, of_c, of_d;
	uint32_t first = t, made[4], f;
	rb_status status;

	*done = false;
	if (rb_table_get(&r->piece_of, a, b, RB_NONE) != NULL)
		return RB_OK;
	do
	{
		const rb_tet *tet = &m->tets[t];
		uint32_t x = 0, y;

		if (n == 5 || rb_tet_ghost(tet))
			return RB_OK;
		/* x is the corner shared with the previous tetrahedron, y the one shared with the next. */
		if (n == 0)
			while (tet->v[x] == a || tet->v[x] == b)
				x++;
		else
			x = rb_tet_corner(tet, at[n - 1]);
		y = 6 - x - rb_tet_corner(tet, a) - rb_tet_corner(tet, b);
		ring[n] = t;
		at[n] = tet->v[y];
		fixed[n] = (m->bits[t] & RB_FACE_BIT(x)) != 0;
		n++;
		t = rb_face_tet(tet->n[x]);
	} while (t != first);
	if (n < 3 || n > 4)
		return RB_OK;
	of_c = of_d = -1;
	for (int i = 0; i < n; i++)
	{
		of_c = at[i] == c ? i : of_c;
		of_d = at[i] == d ? i : of_d;
	}
	if (n == 3)
	{
		uint32_t v[2][4] = {{c, d, e, a}, {c, e, d, b}};
		uint32_t i = RB_NONE, j = RB_NONE;
		bool soft = fixed[of_d];

		/* The facet's faces abd and abe are on a flat tetrahedron; they move to its other side. */
		if (fixed[of_c] || fixed[of_d] != fixed[3 - of_c - of_d])
			return RB_OK;
		if (rb_mesh_orient(m, c, d, e, a) < 0)
		{
			v[0][1] = v[1][2] = e;
			v[0][2] = v[1][1] = d;
		}
		if (!are_positive(m, v, 2))
			return RB_OK;
		if (soft)
		{
			status = find_soft_faces(r, q, a, b, d, e, &i, &j);
			if (status != RB_OK || i == RB_NONE)
				return status;
		}
		*done = true;
		status = replace_flipped_tets(r, q, ring, 3, v, 2, made);
		if (status == RB_OK && soft)
		{
			for (int k = 0; k < 2; k++)
			{
				uint32_t l = rb_tet_corner(&m->tets[made[k]], c);
				rb_tet_face beyond = m->tets[made[k]].n[l];

				m->bits[made[k]] |= RB_FACE_BIT(l);
				m->bits[rb_face_tet(beyond)] |= RB_FACE_BIT(rb_face_corner(beyond));
			}
			status = flip_subfaces(r, q, i, j, a, b, d, e);
		}
		return status;
	}
	f = at[(of_c + 2) % 4];
	if (fixed[of_c] || fixed[(of_c + 2) % 4] || fixed[of_d] != fixed[(of_d + 2) % 4] || f == c ||
		rb_mesh_orient(m, a, b, c, d) == 0)
		return RB_OK;
	{
		/* vertices around de: a, c, b, f */
		uint32_t v[4][4] = {{d, e, a, c}, {d, e, c, b}, {d, e, b, f}, {d, e, f, a}};
		uint32_t i = RB_NONE, j = RB_NONE;
		bool soft = fixed[of_d];

		if (rb_mesh_orient(m, d, e, a, c) < 0)
			for (int k = 0; k < 4; k++)
			{
				uint32_t swap = v[k][0];

				v[k][0] = v[k][1];
				v[k][1] = swap;
			}
		if (!are_positive(m, v, 4))
			return RB_OK;
		if (soft)
		{
			status = find_soft_faces(r, q, a, b, d, e, &i, &j);
			if (status != RB_OK || i == RB_NONE)
				return status;
		}
		*done = true;
		status = replace_flipped_tets(r, q, ring, 4, v, 4, made);
		if (status == RB_OK && soft)
		{
			for (int k = 0; k < 4; k++)
				for (uint32_t l = 0; l < 4; l++)
				{
					const uint32_t *w = m->tets[made[k]].v;
					uint32_t out = w[l];

					/* Faces dea and deb are opposite c or f. */
					if ((out == c || out == f))
						m->bits[made[k]] |= RB_FACE_BIT(l);
				}
			status = flip_subfaces(r, q, i, j, a, b, d, e);
		}
	}
	return status;
}

/* Flips face k of t, which is not Delaunay. */
static rb_status
flip_face(rb_recovery *r, rb_repair *q, uint32_t t, uint32_t k, bool *done)
{
	rb_mesh *m = &r->mesh;
	const uint8_t *f = rb_face_corners[k];
	rb_tet_face beyond = m->tets[t].n[k];
	uint32_t d = m->tets[t].v[k], e = m->tets[rb_face_tet(beyond)].v[rb_face_corner(beyond)];
	/*
	 * The face's corners a, b, c are in reverse order, so that a, b, c, d is a positive
	 * tetrahedron.
	 */
	uint32_t a = m->tets[t].v[f[0]], b = m->tets[t].v[f[2]], c = m->tets[t].v[f[1]];
	uint32_t v[3][4] = {{a, b, e, d}, {b, c, e, d}, {c, a, e, d}};
	uint32_t made[3];
	const uint32_t old[2] = {t, rb_face_tet(beyond)};

	*done = false;
	if (are_positive(m, v, 3))
	{
		*done = true;
		return replace_flipped_tets(r, q, old, 2, v, 3, made);
	}
	for (int i = 0; i < 3 && !*done; i++)
		if (rb_mesh_orient(m, v[i][0], v[i][1], e, d) <= 0)
			RB_TRY(remove_edge(r, q, t, v[i][0], v[i][1], v[(i + 1) % 3][1], d, e, done));
	return RB_OK;
}

/*
 * Splits a soft edge of a face that cannot be flipped, because above and below the facet different
 * diagonals are Delaunay. A point in the middle of the edge resolves this. *added is false if no
 * edge of the face is soft.
 */
static rb_status
halve_soft_edge(rb_recovery *r, rb_repair *q, rb_tet_face f, bool *added)
{
	rb_mesh *m = &r->mesh;
	uint32_t t = rb_face_tet(f), k = rb_face_corner(f);

	*added = false;
	for (int i = 0; i < 3 && !*added; i++)
	{
		const uint8_t *c = rb_face_corners[k];
		uint32_t a = m->tets[t].v[c[i]], b = m->tets[t].v[c[(i + 1) % 3]];
		uint32_t at = t, out = k, facet = RB_NONE;

		if (rb_table_get(&r->piece_of, a, b, RB_NONE) != NULL)
			continue;
		do
		{
			const rb_tet *tet = &m->tets[at];
			uint32_t other = 6 - out - rb_tet_corner(tet, a) - rb_tet_corner(tet, b);

			if ((m->bits[at] & RB_FACE_BIT(out)) != 0)
			{
				uint32_t number;

				RB_TRY(find_subface_to_flip(r, q, a, b, tet->v[other], &number));
				if (number != RB_NONE)
					facet = r->subfaces[number].facet;
			}
			at = rb_face_tet(tet->n[out]);
			out = rb_tet_corner(&m->tets[at], tet->v[other]);
		} while (at != t);
		if (facet != RB_NONE)
		{
			RB_TRY(rb_recover_split_soft_edge(r, a, b, facet));
			*added = true;
		}
	}
	return RB_OK;
}

rb_status
rb_recover_repair(rb_recovery *r, bool *again)
{
	rb_mesh *m = &r->mesh;
	rb_repair q;
	rb_tet_face *left = NULL;
	rb_tet_face hopeless = RB_NONE;
	uint64_t most;
	size_t kept = 0, cap = 0;
	rb_status status = RB_OK;

	memset(&q, 0, sizeof q);
	q.viewed = RB_NONE;
	*again = false;
	if (!r->carved)
		return RB_OK;
	status = rb_recover_list_subsegments(r);
	for (uint32_t t = 0; t < m->ntets && status == RB_OK; t++)
	{
		if ((t & 0xffff) == 0 && rb_should_stop(r->ctx))
			status = RB_STOPPED;
		/* Tetrahedra older than the facet cavities are Delaunay. */
		if ((m->bits[t] & RB_MADE) == 0)
			continue;
		m->bits[t] &= ~RB_MADE;
		for (uint32_t k = 0; k < 4 && status == RB_OK && !rb_tet_dead(m, t); k++)
			if (needs_flip(m, t, k))
				status = push_face(r, &q, rb_face_of(t, k));
	}
	most = 8 * (uint64_t) q.n + 64;
	while (q.n > 0 && status == RB_OK)
	{
		rb_tet_face f = q.queue[--q.n];
		uint32_t t = rb_face_tet(f), k = rb_face_corner(f);
		bool done = false;

		if (rb_tet_dead(m, t) || !needs_flip(m, t, k))
			continue;
		if (q.flips < most)
			status = flip_face(r, &q, t, k, &done);
		if (status != RB_OK || done)
			continue;
		status = RB_GROW(r->ctx, left, cap, kept + 1);
		if (status == RB_OK)
			left[kept++] = f;
	}
	/* A later flip may have resolved the case. */
	for (size_t i = 0; i < kept && status == RB_OK; i++)
		if (!rb_tet_dead(m, rb_face_tet(left[i])) &&
			needs_flip(m, rb_face_tet(left[i]), rb_face_corner(left[i])))
		{
			bool added;

			status = halve_soft_edge(r, &q, left[i], &added);
			*again = *again || added;
			hopeless = added ? hopeless : left[i];
		}
	if (status == RB_OK && !*again && hopeless != RB_NONE)
	{
		uint32_t v = m->tets[rb_face_tet(hopeless)].v[rb_face_corner(hopeless)];

		status = rb_recover_flaw(r, RB_FLAW_TOO_NEAR, v, RB_NONE, rb_mesh_point(m, v));
	}
	RB_FREE(r->ctx->memory, left);
	RB_FREE(r->ctx->memory, q.queue);
	rb_table_free(r->ctx->memory, &q.subface_of);
	return status;
}
