/*
 * mesh.c
 *	  Stores points and tetrahedra in arrays that grow by half their size, and walks in the star of
 *	  a point.
 *
 * Unused slots form a list, and the slot released last is the next to be reused. The numbering
 * therefore depends only on the sequence of operations.
 *
 * Predicates are exact. Points are given by index, and ties are broken by the indices (insphere.h).
 */
#include "mesh/mesh.h"

#include "core/base/base.h"
#include "core/exact/insphere.h"

#define SLICE ((size_t) 1 << RB_SIZE(17, 5)) /* points copied between two polls for a stop */

/*
 * Returns the new capacity, in elements: at least `need`, and large enough to make repeated growth
 * cheap.
 */
static size_t
grown_mesh_capacity(size_t cap, size_t need)
{
	size_t more = cap + cap / 2 + 16;

	return more > need ? more : need;
}

/* Makes room for `more` points; the first allocation has exactly that size, later ones grow. */
static rb_status
reserve_mesh_points(rb_mesh *m, uint32_t more)
{
	size_t need = (size_t) m->npoints + more;

	/* The largest indices are reserved (RB_GHOST, RB_DEAD). */

	if (need >= RB_GHOST)
		return rb_fail(m->ctx, RB_TOO_MANY_OBJECTS, need, RB_GHOST - 1, NULL);
	if (need > m->points_cap)
	{
		size_t cap = m->npoints == 0 ? need : grown_mesh_capacity(m->points_cap, need);

		RB_TRY(rb_array(m->ctx, (void **) &m->points, cap, 3 * sizeof(double)));
		m->points_cap = cap;
	}
	if (need > m->tet_of_cap)
	{
		size_t cap = m->npoints == 0 ? need : grown_mesh_capacity(m->tet_of_cap, need);

		RB_TRY(RB_ALLOCATE(m->ctx, m->tet_of, cap));
		m->tet_of_cap = cap;
	}
	return RB_OK;
}

rb_status
rb_mesh_init(rb_mesh *m, rb_context *ctx, const double *points, uint32_t npoints)
{
	rb_status status;

	memset(m, 0, sizeof(*m));
	m->ctx = ctx;
	m->env = (rb_exact_env){.filters = ctx->filters, .exact = true};
	m->free = RB_NONE;
	m->recent = RB_NONE;
	m->random = 1;
	status = reserve_mesh_points(m, npoints);
	if (status != RB_OK)
	{
		rb_mesh_free(m);
		return status;
	}
	for (size_t i = 0; i < npoints; i += SLICE)
	{
		size_t n = npoints - i < SLICE ? npoints - i : SLICE;

		if (rb_should_stop(ctx))
		{
			rb_mesh_free(m);
			return RB_STOPPED;
		}
		memcpy(m->points + 3 * i, points + 3 * i, n * 3 * sizeof(double));
		memset(m->tet_of + i, 0xff, n * sizeof(uint32_t)); /* sets every entry to RB_NONE */
	}
	m->npoints = npoints;
	return RB_OK;
}

void
rb_mesh_free(rb_mesh *m)
{
	rb_cavity *c = &m->cavity;
	void **const scratch[] = {(void **) &c->inside,   (void **) &c->rim,    (void **) &c->corners,
							  (void **) &c->place_of, (void **) &c->square, (void **) &c->edges,
							  (void **) &c->points,   (void **) &c->number, (void **) &c->spheres};

	for (size_t i = 0; i < sizeof(scratch) / sizeof(scratch[0]); i++)
		rb_free(m->ctx->memory, scratch[i]);
	memset(c, 0, sizeof(*c));
	RB_FREE(m->ctx->memory, m->points);
	RB_FREE(m->ctx->memory, m->tet_of);
	RB_FREE(m->ctx->memory, m->tets);
	RB_FREE(m->ctx->memory, m->bits);
	RB_FREE(m->ctx->memory, m->was);
	m->npoints = m->ntets = m->nalive = 0;
	m->points_cap = m->tet_of_cap = m->tets_cap = 0;
	m->free = m->recent = RB_NONE;
}

/* Sets the capacity of the arrays of tetrahedra and of their bits. */
static rb_status
resize_mesh_tets(rb_mesh *m, size_t cap)
{
	RB_TRY(RB_ALLOCATE(m->ctx, m->tets, cap));
	RB_TRY(RB_ALLOCATE(m->ctx, m->bits, cap));
	m->tets_cap = cap;
	return RB_OK;
}

rb_status
rb_mesh_reserve(rb_mesh *m, uint32_t more)
{
	size_t need = (size_t) m->ntets + more;
	size_t cap;

	if (need <= m->tets_cap)
		return RB_OK;
	if (need > RB_MAX_TETS)
		return rb_fail(m->ctx, RB_TOO_MANY_OBJECTS, need, RB_MAX_TETS, NULL);
	cap = grown_mesh_capacity(m->tets_cap, need);
	return resize_mesh_tets(m, cap < RB_MAX_TETS ? cap : RB_MAX_TETS);
}

rb_status
rb_mesh_reserve_total(rb_mesh *m, double ntets)
{
	if (ntets <= (double) m->tets_cap || ntets >= RB_MAX_TETS)
		return RB_OK;
	return resize_mesh_tets(m, (size_t) ntets);
}

/* Records the contents of a slot in the journal before it changes. */
static void
record_slot(rb_mesh *m, uint32_t t)
{
	if (t >= m->journal || (m->bits[t] & RB_JOURNALED) != 0)
		return;
	m->was[m->nwas].tet = m->tets[t];
	m->was[m->nwas++].at = t;
	m->bits[t] |= RB_JOURNALED;
}

void
rb_mesh_open_journal(rb_mesh *m)
{
	m->journal = m->ntets;
	m->nwas = 0;
}

rb_status
rb_mesh_reserve_journal(rb_mesh *m, uint32_t changes)
{
	return RB_GROW(m->ctx, m->was, m->was_cap, (size_t) m->nwas + changes);
}

/*
 * Restores the slots in reverse order. A tetrahedron may have lost a neighbor before it was dropped
 * itself; its record then has a link to the replacement of that neighbor. The neighbor was recorded
 * earlier, so it is restored later and corrects the link.
 */
void
rb_mesh_undo(rb_mesh *m)
{
	m->ntets = m->journal;
	while (m->nwas > 0)
	{
		const rb_journal_entry *was = &m->was[--m->nwas];

		m->tets[was->at] = was->tet;
		if (was->tet.v[0] == RB_DEAD)
			continue;
		for (uint32_t k = 0; k < 4; k++)
			if (rb_face_tet(was->tet.n[k]) < m->ntets)
				m->tets[rb_face_tet(was->tet.n[k])].n[rb_face_corner(was->tet.n[k])] =
					rb_face_of(was->at, k);
	}
	memset(m->bits, 0, (size_t) m->ntets * sizeof(*m->bits));
	m->journal = 0;
}

uint32_t
rb_mesh_new_tet(rb_mesh *m, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	uint32_t t = m->free;
	rb_tet *tet;

	if (t != RB_NONE)
	{
		record_slot(m, t);
		m->free = m->tets[t].v[1];
	}
	else
		t = m->ntets++;
	tet = &m->tets[t];
	tet->v[0] = a;
	tet->v[1] = b;
	tet->v[2] = c;
	tet->v[3] = d;
	m->bits[t] &= t < m->journal ? RB_JOURNALED : 0;
	m->nalive++;
	return t;
}

void
rb_mesh_drop_tet(rb_mesh *m, uint32_t t)
{
	record_slot(m, t);
	m->tets[t].v[0] = RB_DEAD;
	m->tets[t].v[1] = m->free;
	m->bits[t] &= t < m->journal ? RB_JOURNALED : 0;
	m->free = t;
	m->nalive--;
}

rb_status
rb_mesh_add_point(rb_mesh *m, const double *at, uint32_t *v)
{
	RB_TRY(reserve_mesh_points(m, 1));
	memcpy(m->points + 3 * (size_t) m->npoints, at, 3 * sizeof(double));
	m->tet_of[m->npoints] = RB_NONE;
	*v = m->npoints++;
	return RB_OK;
}

/*
 * Walks through the tetrahedra around a, always across a face that b is strictly beyond. If there
 * is no such face, b lies in the cone that the tetrahedron spans at a. The order in which faces are
 * tested is random, so that the walk cannot cycle forever. The walk never enters a ghost: no vertex
 * of the mesh is strictly beyond its hull.
 */
bool
rb_mesh_find_edge(rb_mesh *m, uint32_t a, uint32_t b, uint32_t *t, uint32_t *hit)
{
	uint32_t at = m->tet_of[a];
	uint32_t from = 4; /* face through which the walk entered */
	uint32_t ghost;

	*hit = RB_NONE;
	ghost = rb_tet_corner(&m->tets[at], RB_GHOST);
	if (ghost < 4)
		at = rb_face_tet(m->tets[at].n[ghost]);
	for (;;)
	{
		const rb_tet *tet = &m->tets[at];
		uint32_t corner = rb_tet_corner(tet, a);
		uint32_t flat[3]; /* faces at a whose plane contains b */
		int nflat = 0;
		uint32_t first;
		uint32_t k;

		*t = at;
		if (rb_tet_corner(tet, b) < 4)
			return true;
		m->random = m->random * 1664525u + 1013904223u;
		first = m->random >> 30;
		for (k = 0; k < 4; k++)
		{
			uint32_t i = (first + k) & 3;
			uint32_t v[4];
			int side;

			if (i == corner || i == from)
				continue;
			memcpy(v, tet->v, sizeof(v));
			v[i] = b;
			side = rb_mesh_orient(m, v[0], v[1], v[2], v[3]);
			if (side == 0)
				flat[nflat++] = i;
			else if (side < 0 && !rb_tet_ghost(&m->tets[rb_face_tet(tet->n[i])]))
			{
				from = rb_face_corner(tet->n[i]);
				at = rb_face_tet(tet->n[i]);
				break;
			}
		}
		if (k < 4)
			continue;
		if (nflat == 2) /* b is on the line from a to the corner common to both faces */
			*hit = tet->v[6 - corner - flat[0] - flat[1]];
		return false;
	}
}

bool
rb_mesh_find_face(rb_mesh *m, uint32_t a, uint32_t b, uint32_t c, rb_tet_face *f)
{
	uint32_t t, start, hit;
	uint32_t out; /* corner opposite the face to leave by; the fourth corner stays */

	if (!rb_mesh_find_edge(m, a, b, &t, &hit))
		return false;
	start = t;
	out = 0;
	while (m->tets[t].v[out] == a || m->tets[t].v[out] == b)
		out++;
	do
	{
		const rb_tet *tet = &m->tets[t];
		uint32_t other = 6 - out - rb_tet_corner(tet, a) - rb_tet_corner(tet, b);
		rb_tet_face g;

		if (tet->v[other] == c)
		{
			*f = rb_face_of(t, out);
			return true;
		}
		g = tet->n[out];
		t = rb_face_tet(g);
		/* The corner that stayed is the next to be left behind. */
		out = rb_tet_corner(&m->tets[t], tet->v[other]);
	} while (t != start);
	return false;
}

/* ---- predicates ---- */

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
