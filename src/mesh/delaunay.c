/*
 * delaunay.c
 *	  Builds a Delaunay tetrahedralization by inserting points one at a time.
 *
 * A walk finds a tetrahedron whose circumsphere contains the new point. A search from there finds
 * all such tetrahedra, because they are connected. They are removed, and the faces around the
 * cavity are joined to the point (Bowyer; Watson, 1981). Ghosts cover the space outside the hull,
 * which therefore needs no special case. Ties are broken by index (mesh.c), so the set of
 * tetrahedra is unique, whatever the order of insertion.
 *
 * Points are copied and numbered in the order of delaunay_order.c. A large mesh is started by one
 * thread. Then several threads insert points concurrently, each along its own part of the curve, as
 * in parallel CGAL and Geogram. A thread locks every tetrahedron it reads, in the tetrahedron's
 * bits. A thread that meets a locked tetrahedron releases all its locks and defers its point.
 * Because the set of tetrahedra is unique, the order in which threads proceed does not matter, and
 * delaunay_order.c sorts the tetrahedra into an order that does not depend on it, either.
 *
 * Nearly all the time is spent on testing whether a point e is inside the circumsphere of a
 * tetrahedron. Each tetrahedron therefore stores its sphere in 16 bytes. With u = e - a for its
 * first corner a, and w twice the vector from the center to a,
 *
 *	  e is inside  <=>  u.u + u.w < 0,
 *
 * where w is stored in floats, with a bound on its error. Cases that this leaves undecided are
 * settled by the exact predicates of mesh.c. A ghost stores the plane of its hull face in the same
 * form, without u.u.
 */
#include "mesh/mesh.h"

#include "core/base/atomic.h"
#include "core/base/base.h"

#include <math.h>

/* Up to this many boundary vertices, edges are stored in a matrix; beyond it, in a hash table */
#define SQUARE RB_SIZE(64, 8)

#define ALWAYS_INLINE inline __attribute__((always_inline))

/*
 * Returns true if the insertion of points must stop. Polls only for some i, because the iterations
 * of its callers are short.
 */
static ALWAYS_INLINE bool
should_stop_delaunay_insertion(const rb_context *ctx, size_t i)
{
	return (i & 0xffff) == 0 && rb_should_stop(ctx);
}

/*
 * Returns the coordinates of a vertex. With `all`, vertices are indices of the copy of all points
 * in insertion order, otherwise of the mesh.
 */
static ALWAYS_INLINE const double *
point_of_vertex(const rb_mesh *m, uint32_t v, bool all)
{
	return all ? m->cavity.points + 4 * (size_t) v : m->points + 3 * (size_t) v;
}

/* ---- spheres ---- */

/*
 * Returns the circumsphere of 0, x, y and z. Its w is -n/d, where x between two vectors is the
 * cross product and
 *
 *	  n = |x|^2 (y x z) + |y|^2 (z x x) + |z|^2 (x x y),	d = (x x y) . z.
 *
 * Let h be the largest magnitude among the nine numbers, and e = 2^-53. Each component of n is a
 * sum of 18 products of magnitude at most h^4, each rounded at most 12 times. d is a sum of 6
 * products of magnitude at most h^3, each rounded at most 8 times. Their errors are therefore below
 * 2^-45 h^4 and 2^-47 h^3. If d is at least 2^-40 h^3, the error of the quotient is below (2^-45
 * h^4 + 2^-47 h^3 |w|) / d * 1.01 + e |w|, and rounding to float adds 2^-24 |w|. The remaining
 * slack, up to 2^-23, covers the other errors in side_of_delaunay_sphere. For h in [2^-100, 2^100]
 * nothing overflows, and underflow is far below the bound.
 */
static ALWAYS_INLINE rb_sphere
compute_circumsphere(const double *a, const double *b, const double *c, const double *d)
{
	double x[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]};
	double y[3] = {c[0] - a[0], c[1] - a[1], c[2] - a[2]};
	double z[3] = {d[0] - a[0], d[1] - a[1], d[2] - a[2]};
	double xx = x[0] * x[0] + x[1] * x[1] + x[2] * x[2];
	double yy = y[0] * y[0] + y[1] * y[1] + y[2] * y[2];
	double zz = z[0] * z[0] + z[1] * z[1] + z[2] * z[2];
	double h2 = xx > yy ? xx : yy;
	double h, h3, det, largest = 0, error;
	double n[3], xy[3];
	rb_sphere sphere;

	h2 = h2 > zz ? h2 : zz;
	h = sqrt(h2); /* An upper bound on the largest magnitude is sufficient. */
	h3 = h2 * h;
	for (int i = 0; i < 3; i++)
	{
		int j = i == 2 ? 0 : i + 1;
		int k = i == 0 ? 2 : i - 1;

		xy[i] = x[j] * y[k] - x[k] * y[j];
		n[i] = xx * (y[j] * z[k] - y[k] * z[j]) + yy * (z[j] * x[k] - z[k] * x[j]) + zz * xy[i];
	}
	det = xy[0] * z[0] + xy[1] * z[1] + xy[2] * z[2];
	if (!(h >= 0x1p-99 && h <= 0x1p99 && det >= 0x1p-40 * h3))
		return (rb_sphere){{0, 0, 0}, INFINITY};
	det = 1 / det;
	for (int i = 0; i < 3; i++)
	{
		double w = -n[i] * det;

		sphere.w[i] = (float) w;
		w = fabs(w);
		largest = w > largest ? w : largest;
	}
	error = 1.1 * (0x1p-45 * h2 * h2 + 0x1p-47 * h3 * largest) * det + 0x1p-23 * largest + 0x1p-120;
	sphere.error = (float) (1.001 * error);
	return sphere;
}

/*
 * Returns the plane through 0, x and y, for a ghost. The outside is in the direction of the cross
 * product of x and y. Let h be the largest magnitude among the coordinates of x and y. The
 * components of the product are below 2 h^2 and have errors below 2^-50 h^2. After division by h^2
 * and rounding to float, the error is below 2^-22.
 */
static ALWAYS_INLINE rb_sphere
compute_ghost_plane(const double *a, const double *b, const double *c)
{
	double x[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]};
	double y[3] = {c[0] - a[0], c[1] - a[1], c[2] - a[2]};
	double xx = x[0] * x[0] + x[1] * x[1] + x[2] * x[2];
	double yy = y[0] * y[0] + y[1] * y[1] + y[2] * y[2];
	double h2 = xx > yy ? xx : yy;
	rb_sphere sphere;

	if (!(h2 >= 0x1p-198 && h2 <= 0x1p198))
		return (rb_sphere){{0, 0, 0}, -INFINITY};
	h2 = -1 / h2;
	for (int i = 0; i < 3; i++)
	{
		int j = i == 2 ? 0 : i + 1;
		int k = i == 0 ? 2 : i - 1;

		sphere.w[i] = (float) ((x[j] * y[k] - x[k] * y[j]) * h2);
	}
	sphere.error = -0x1p-22f;
	return sphere;
}

/*
 * Returns 1 if e is inside the sphere, -1 if it is not, and 0 if this is undecided. The rounding
 * errors of u and of the sum are at most 2^-50 (u.u + |u| |w|) in total, and underflow adds less
 * than 2^-1000. Overflow leads to an infinite bound or a NaN, for which the comparison is false.
 */
static ALWAYS_INLINE int
side_of_delaunay_sphere(const rb_sphere *sphere, const double *a, const double *e)
{
	double x = e[0] - a[0], y = e[1] - a[1], z = e[2] - a[2];
	double s = x * sphere->w[0] + y * sphere->w[1] + z * sphere->w[2];
	double error = sphere->error;
	double uu = error < 0 ? 0 : x * x + y * y + z * z;

	s += uu;
	error = (fabs(x) + fabs(y) + fabs(z)) * fabs(error) + 0x1p-50 * uu + 0x1p-1000;
	return fabs(s) > error ? (s < 0 ? 1 : -1) : 0;
}

/* Returns the sphere of a new tetrahedron, whose first corner must not be RB_GHOST. */
static ALWAYS_INLINE rb_sphere
compute_tet_sphere(const rb_mesh *m, const uint32_t *v)
{
	const double *a = point_of_vertex(m, v[0], true);

	if ((m->env.filters & RB_FILTER_SIGNS) == 0)
		return (rb_sphere){{0, 0, 0}, INFINITY};
	/*
	 * A ghost's face is clockwise seen from the ghost (mesh.h) but counterclockwise from
	 * outside.
	 */
	if (v[1] == RB_GHOST)
		return compute_ghost_plane(a, point_of_vertex(m, v[2], true),
								   point_of_vertex(m, v[3], true));
	if (v[2] == RB_GHOST)
		return compute_ghost_plane(a, point_of_vertex(m, v[3], true),
								   point_of_vertex(m, v[1], true));
	if (v[3] == RB_GHOST)
		return compute_ghost_plane(a, point_of_vertex(m, v[1], true),
								   point_of_vertex(m, v[2], true));
	return compute_circumsphere(a, point_of_vertex(m, v[1], true), point_of_vertex(m, v[2], true),
								point_of_vertex(m, v[3], true));
}

/* Decides rb_mesh_conflict exactly, for corners that are indices of the cavity's points. */
static __attribute__((noinline)) bool
decide_delaunay_conflict_exactly(rb_mesh *m, uint32_t t, uint32_t e)
{
	const uint32_t *number = m->cavity.number;
	const rb_tet *tet = &m->tets[t];
	uint32_t ghost = rb_tet_corner(tet, RB_GHOST);

	if (ghost < 4)
	{
		const uint8_t *f = rb_face_corners[ghost];
		int side = rb_orient3d_at(
			&m->env, point_of_vertex(m, tet->v[f[0]], true), point_of_vertex(m, tet->v[f[2]], true),
			point_of_vertex(m, tet->v[f[1]], true), point_of_vertex(m, e, true));

		if (side != 0)
			return side > 0;
		tet = &m->tets[rb_face_tet(tet->n[ghost])];
	}
	return rb_mesh_insphere(m, number[tet->v[0]], number[tet->v[1]], number[tet->v[2]],
							number[tet->v[3]], number[e]) > 0;
}

/* Returns true if the point `at` is in the circumsphere of a tetrahedron. */
static ALWAYS_INLINE bool
is_in_conflict(rb_mesh *m, uint32_t t, uint32_t e, const double *at, bool all)
{
	int side;

	if (!all)
		return rb_mesh_conflict(m, t, e);
	side = side_of_delaunay_sphere(&m->cavity.spheres[t], point_of_vertex(m, m->tets[t].v[0], true),
								   at);
	return side != 0 ? side > 0 : decide_delaunay_conflict_exactly(m, t, e);
}

/* ---- one of several concurrent inserters ---- */

typedef struct rb_inserting rb_inserting;

typedef struct rb_inserter
{
	rb_inserting *all;
	/* shares the mesh's arrays; has its own scratch memory, walks, predicates and free slots */
	rb_mesh m;
	uint32_t own;   /* lock bits of the tetrahedra that this inserter holds */
	uint32_t *held; /* tetrahedra that this inserter holds */
	uint32_t nheld;
	size_t held_cap;
	uint32_t next, end; /* slots that were never used */
	uint32_t nfree;     /* number of slots on its free list */
	uint32_t *later;    /* deferred points */
	uint32_t nlater;
	size_t later_cap;
	uint32_t done, in_vain;
	char apart[128]; /* padding that keeps inserters on separate cache lines */
} rb_inserter;

#define HELD_BY(i) (((i) + 1) << 16)   /* lock bits of inserter i, higher than any mark */
#define SLOTS_AT_ONCE RB_SIZE(256, 16) /* slots reserved at once */

struct rb_inserting
{
	rb_mesh *m;
	rb_inserter *inserters;
	uint32_t ninserters;
	const uint32_t *points; /* points to insert, or NULL for those from `first` on */
	uint32_t first;
	const uint32_t *begun; /* the four points of the first tetrahedron */
	uint32_t ntets;        /* number of slots reserved so far */
	bool full;             /* true if the slots are exhausted */
	bool equal;            /* true if two points have equal coordinates */
};

/* Locks tetrahedron t if it is free, and returns true if it was; `held` must have room. */
static ALWAYS_INLINE bool
try_lock_tet(rb_inserter *w, uint32_t t)
{
	uint32_t none = 0;

	if (rb_load(&w->m.bits[t]) != 0 || !rb_claim(&w->m.bits[t], &none, w->own))
		return false;
	w->held[w->nheld++] = t;
	return true;
}

/* Reserves memory for `more` further tetrahedra that the thread locks. */
static ALWAYS_INLINE rb_status
reserve_held(rb_inserter *w, uint32_t more)
{
	return w->nheld + more <= w->held_cap
			   ? RB_OK
			   : RB_GROW(w->m.ctx, w->held, w->held_cap, (size_t) w->nheld + more);
}

/* Unlocks all tetrahedra that the thread has locked for its walk and cavity. */
static void
unlock_tets(rb_inserter *w)
{
	for (uint32_t i = 0; i < w->nheld; i++)
		rb_release(&w->m.bits[w->held[i]], 0);
	w->nheld = 0;
}

/*
 * Returns an unused slot and locks it. Another thread may briefly hold a slot of the free list,
 * until that thread finds that the slot is dead.
 */
static uint32_t
pop_slot(rb_inserter *w)
{
	rb_mesh *m = &w->m;
	uint32_t t = m->free;

	if (t != RB_NONE)
	{
		while (!try_lock_tet(w, t))
			;
		m->free = m->tets[t].v[1];
		w->nfree--;
		return t;
	}
	t = w->next++;
	rb_store(&m->bits[t], w->own);
	w->held[w->nheld++] = t;
	return t;
}

/* Marks a slot as dead and adds it to the thread's own list of free slots. */
static void
release_slot(rb_inserter *w, uint32_t t)
{
	w->m.tets[t].v[0] = RB_DEAD;
	w->m.tets[t].v[1] = w->m.free;
	w->m.free = t;
	w->nfree++;
}

/* Reserves at least `need` slots; returns false if there are not enough. */
static bool
reserve_slots(rb_inserter *w, uint32_t need)
{
	rb_inserting *s = w->all;
	uint32_t n = need > SLOTS_AT_ONCE ? need : SLOTS_AT_ONCE;
	uint32_t from = rb_load(&s->ntets);

	if (w->nfree + (w->end - w->next) >= need)
		return true;
	do
		if (from + (size_t) n > w->m.tets_cap || from + (size_t) n > w->m.cavity.spheres_cap)
		{
			rb_store(&s->full, true);
			return false;
		}
	while (!rb_store_if(&s->ntets, &from, from + n));
	for (; w->next < w->end; w->next++)
	{
		rb_store(&w->m.bits[w->next], 0);
		release_slot(w, w->next);
	}
	w->next = from;
	w->end = from + n;
	return true;
}

/* ---- the walk ---- */

/*
 * Walks from tetrahedron to tetrahedron, across a face that the point is strictly beyond, until
 * there is no such face or the next tetrahedron is a ghost. The order in which faces are tested is
 * random, so that the walk cannot cycle forever.
 */
static ALWAYS_INLINE uint32_t
walk_to(rb_mesh *m, const double *at, uint32_t t, bool all)
{
	uint32_t random = m->random;
	uint32_t from = 4; /* face through which the walk entered */
	uint32_t ghost = rb_tet_corner(&m->tets[t], RB_GHOST);

	if (ghost < 4)
		t = rb_face_tet(m->tets[t].n[ghost]);
	for (;;)
	{
		const rb_tet *tet = &m->tets[t];
		const double *p[4];
		uint32_t k;

		for (k = 0; k < 4; k++)
			p[k] = point_of_vertex(m, tet->v[k], all);
		random = random * 1664525u + 1013904223u;
		for (k = 0; k < 4; k++)
		{
			uint32_t i = (k + (random >> 30)) & 3;
			const double *own = p[i];
			int side;

			if (i == from)
				continue;
			p[i] = at;
			side = rb_orient3d_at(&m->env, p[0], p[1], p[2], p[3]);
			p[i] = own;
			if (side < 0)
			{
				from = rb_face_corner(tet->n[i]);
				t = rb_face_tet(tet->n[i]);
				break;
			}
		}
		if (k == 4 || rb_tet_ghost(&m->tets[t]))
			break;
	}
	m->random = random;
	return t;
}

uint32_t
rb_mesh_locate(rb_mesh *m, const double *at, uint32_t near)
{
	return walk_to(m, at, near, false);
}

/*
 * Walks to a point while other threads insert. Holding a tetrahedron also fixes the corners it
 * shares with its neighbors, because changing them requires holding it. At most two tetrahedra are
 * held at a time. *busy is set if another thread holds a tetrahedron on the way.
 */
static rb_status
walk_concurrently(rb_inserter *w, const double *at, uint32_t *where, bool *busy)
{
	rb_mesh *m = &w->m;
	uint32_t t = m->recent, from = 4;
	bool begun = false;

	RB_TRY(reserve_held(w, 2));
	/* The last tetrahedron of the previous walk may have been removed or replaced by now. */
	for (int tries = 0; !begun; tries++)
	{
		*busy = tries == 64;
		if (*busy)
			return RB_OK;
		begun = try_lock_tet(w, t) && !rb_tet_dead(m, t);
		if (begun)
			break;
		unlock_tets(w);
		m->random = m->random * 1664525u + 1013904223u;
		t = (uint32_t) ((uint64_t) m->random * m->ntets >> 32);
	}
	for (bool first = true;; first = false)
	{
		const rb_tet *tet = &m->tets[t];
		const uint32_t ghost = rb_tet_corner(tet, RB_GHOST);
		uint32_t k = 0, i = ghost;

		if (ghost < 4 && !first)
			break;
		m->random = m->random * 1664525u + 1013904223u;
		for (; k < 4 && ghost == 4; k++)
		{
			const double *p[4];

			i = (k + (m->random >> 30)) & 3;
			if (i == from)
				continue;
			for (int j = 0; j < 4; j++)
				p[j] = point_of_vertex(m, tet->v[j], true);
			p[i] = at;
			if (rb_orient3d_at(&m->env, p[0], p[1], p[2], p[3]) < 0)
				break;
		}
		if (k == 4)
			break;
		*busy = !try_lock_tet(w, rb_face_tet(tet->n[i]));
		if (*busy)
			return RB_OK;
		from = ghost < 4 ? 4 : rb_face_corner(tet->n[i]);
		rb_release(&m->bits[t], 0);
		t = w->held[0] = w->held[1];
		w->nheld = 1;
	}
	*where = t;
	return RB_OK;
}

/* ---- the cavity ---- */

/* Removes the marks of the cavity and its rim. */
static void
unmark_delaunay_cavity(rb_mesh *m)
{
	const rb_cavity *c = &m->cavity;

	for (uint32_t i = 0; i < c->ninside; i++)
		m->bits[c->inside[i]] &= ~RB_MARK;
	for (uint32_t i = 0; i < c->nrim; i++)
		m->bits[rb_face_tet(c->rim[i].out)] &= ~RB_MARK2;
}

/* Prefetches the neighbors, most of which will be tested later. */
static ALWAYS_INLINE void
prefetch_delaunay_neighbors(const rb_mesh *m, uint32_t t, bool all)
{
	for (int i = 0; i < 4; i++)
	{
		uint32_t next = rb_face_tet(m->tets[t].n[i]);

		__builtin_prefetch(&m->tets[next]);
		__builtin_prefetch(&m->bits[next]);
		if (all)
			__builtin_prefetch(&m->cavity.spheres[next]);
	}
}

/*
 * Finds all tetrahedra in conflict with v, breadth first from t, which must be in conflict. Marks
 * them with RB_MARK and their outer neighbors with RB_MARK2.
 */
static ALWAYS_INLINE rb_status
find_cavity(rb_mesh *m, uint32_t v, uint32_t t, bool all)
{
	rb_cavity *c = &m->cavity;
	const double *at = point_of_vertex(m, v, all);

	c->ninside = 0;
	c->nrim = 0;
	if (c->inside_cap == 0)
	{
		rb_status status = RB_GROW(m->ctx, c->inside, c->inside_cap, 1);

		if (status != RB_OK)
			return status;
	}
	c->inside[c->ninside++] = t;
	m->bits[t] |= RB_MARK;
	for (uint32_t done = 0; done < c->ninside; done++)
	{
		const rb_tet *tet = &m->tets[c->inside[done]];

		if (should_stop_delaunay_insertion(m->ctx, done))
			return RB_STOPPED;
		if (c->ninside + 4 > c->inside_cap || c->nrim + 4 > c->rim_cap)
		{
			rb_status status = RB_GROW(m->ctx, c->inside, c->inside_cap, c->ninside + 4);

			if (status == RB_OK)
				status = RB_GROW(m->ctx, c->rim, c->rim_cap, c->nrim + 4);
			if (status != RB_OK)
				return status;
		}
		for (uint32_t i = 0; i < 4; i++)
		{
			uint32_t next = rb_face_tet(tet->n[i]);
			uint32_t *bits = &m->bits[next];

			if ((*bits & RB_MARK) != 0)
				continue;
			if ((*bits & RB_MARK2) == 0 && is_in_conflict(m, next, v, at, all))
			{
				*bits |= RB_MARK;
				c->inside[c->ninside++] = next;
				prefetch_delaunay_neighbors(m, next, all);
			}
			else
			{
				const uint8_t *f = rb_face_corners[i];

				*bits |= RB_MARK2;
				c->rim[c->nrim++] = (rb_rim){tet->n[i], {tet->v[f[0]], tet->v[f[1]], tet->v[f[2]]}};
			}
		}
	}
	return RB_OK;
}

/*
 * Finds the cavity while other threads insert. The caller holds t, and in the end all marked
 * tetrahedra are held. *busy is set if another thread holds one of them.
 */
static rb_status
find_cavity_concurrently(rb_inserter *w, uint32_t v, uint32_t t, bool *busy)
{
	rb_mesh *m = &w->m;
	rb_cavity *c = &m->cavity;
	const double *at = point_of_vertex(m, v, true);
	rb_status status = RB_GROW(m->ctx, c->inside, c->inside_cap, 1);

	c->ninside = 0;
	c->nrim = 0;
	if (status == RB_OK)
	{
		c->inside[c->ninside++] = t;
		rb_store(&m->bits[t], w->own | RB_MARK);
	}
	for (uint32_t done = 0; done < c->ninside && status == RB_OK; done++)
	{
		const rb_tet *tet = &m->tets[c->inside[done]];

		if (should_stop_delaunay_insertion(m->ctx, done + 1))
			return RB_STOPPED;
		status = reserve_held(w, 4);
		if (status == RB_OK && c->ninside + 4 > c->inside_cap)
			status = RB_GROW(m->ctx, c->inside, c->inside_cap, c->ninside + 4);
		if (status == RB_OK && c->nrim + 4 > c->rim_cap)
			status = RB_GROW(m->ctx, c->rim, c->rim_cap, c->nrim + 4);
		for (uint32_t i = 0; i < 4 && status == RB_OK; i++)
		{
			const uint8_t *f = rb_face_corners[i];
			uint32_t next = rb_face_tet(tet->n[i]);
			uint32_t bits = rb_load(&m->bits[next]);

			if (bits == (w->own | RB_MARK))
				continue;
			if (bits != (w->own | RB_MARK2))
			{
				*busy = !try_lock_tet(w, next);
				if (*busy)
					return RB_OK;
				if (is_in_conflict(m, next, v, at, true))
				{
					rb_store(&m->bits[next], w->own | RB_MARK);
					c->inside[c->ninside++] = next;
					prefetch_delaunay_neighbors(m, next, true);
					continue;
				}
				rb_store(&m->bits[next], w->own | RB_MARK2);
			}
			c->rim[c->nrim++] = (rb_rim){tet->n[i], {tet->v[f[0]], tet->v[f[1]], tet->v[f[2]]}};
		}
	}
	return status;
}

/* ---- new tetrahedra ---- */

/*
 * Returns the index of a corner among the corners of the cavity of the inserted point; adds the
 * corner if it is new.
 */
static uint32_t
index_of_delaunay_cavity_corner(rb_cavity *c, uint32_t v)
{
	uint32_t *place = &c->place_of[v == RB_GHOST ? 0 : v + 1];

	if (*place >= c->ncorners || c->corners[*place] != v)
	{
		*place = c->ncorners;
		c->corners[c->ncorners++] = v;
	}
	return *place;
}

/* Finds the slot of a directed edge in the hash table of the rim. */
static rb_rim_edge *
find_delaunay_rim_edge(rb_cavity *c, uint32_t mask, uint32_t a, uint32_t b)
{
	uint32_t i = ((a * 0x9e3779b1u) ^ (b * 0x85ebca6bu)) * 0xc2b2ae35u;

	for (i = (i >> 7) & mask; c->edges[i].a != RB_NONE; i = (i + 1) & mask)
		if (c->edges[i].a == a && c->edges[i].b == b)
			break;
	return &c->edges[i];
}

/*
 * Makes room for filling the cavity. While all points are inserted, the number of tetrahedra is
 * extrapolated from the first `done` points, which are spread over all of space.
 */
static rb_status
reserve_delaunay_tets(rb_mesh *m, uint32_t done, bool all)
{
	rb_cavity *c = &m->cavity;

	if (c->nrim > c->ninside && (size_t) m->ntets + c->nrim - c->ninside > m->tets_cap)
	{
		if (all && done > 1000)
			RB_TRY(rb_mesh_reserve_total(m, 1.02 * m->ntets / done * m->npoints));
		RB_TRY(rb_mesh_reserve(m, c->nrim - c->ninside));
	}
	if (all && m->tets_cap > c->spheres_cap)
	{
		RB_TRY(RB_ALLOCATE(m->ctx, c->spheres, m->tets_cap));
		c->spheres_cap = m->tets_cap;
	}
	/*
	 * A cavity boundary is a topological sphere, so it has half as many vertices as faces, plus
	 * two.
	 */
	if (c->nrim > c->corners_cap)
		RB_TRY(RB_GROW(m->ctx, c->corners, c->corners_cap, (size_t) c->nrim + 4));
	return RB_OK;
}

/* Allocates the hash table of boundary edges that links the new tetrahedra. */
static rb_status
reserve_delaunay_rim_edges(rb_mesh *m, uint32_t *mask)
{
	rb_cavity *c = &m->cavity;
	size_t size = 1024;

	while (size < 6 * (size_t) c->nrim)
		size *= 2;
	RB_TRY(RB_GROW(m->ctx, c->edges, c->edges_cap, size));
	memset(c->edges, 0xff, size * sizeof(*c->edges)); /* sets every entry to RB_NONE */
	*mask = (uint32_t) size - 1;
	return RB_OK;
}

/*
 * Fills the cavity. w is the inserter that holds all of it and has enough slots, or NULL if there
 * is only one thread.
 */
static ALWAYS_INLINE rb_status
fill_delaunay_cavity(rb_mesh *m, uint32_t v, bool all, rb_inserter *w)
{
	rb_cavity *c = &m->cavity;
	bool small = c->nrim / 2 + 2 <= SQUARE;
	uint32_t mask = 0;
	rb_status status = w == NULL
						   ? reserve_delaunay_tets(m, v, all)
						   : RB_GROW(m->ctx, c->corners, c->corners_cap, (size_t) c->nrim + 4);

	if (status == RB_OK && !small)
		status = reserve_delaunay_rim_edges(m, &mask);
	if (status != RB_OK)
		return status;

	c->ncorners = 0;
	for (uint32_t i = 0; i < c->nrim; i++)
	{
		rb_rim *rim = &c->rim[i];
		uint32_t a = rim->v[0], b = rim->v[1], d = rim->v[2];
		uint32_t t;
		uint32_t j, k, l;

		/*
		 * Stopping here leaves an inconsistent mesh, which is acceptable only if all of it is
		 * discarded.
		 */
		if (all && should_stop_delaunay_insertion(m->ctx, i))
			return RB_STOPPED;
		/* Reuse a slot of the cavity if one is left. */
		if (i < c->ninside || w != NULL)
		{
			rb_tet *tet;

			t = i < c->ninside ? c->inside[i] : pop_slot(w);
			tet = &m->tets[t];
			tet->v[0] = v;
			tet->v[1] = a;
			tet->v[2] = b;
			tet->v[3] = d;
			if (w == NULL)
				m->bits[t] = 0;
		}
		else
			t = rb_mesh_new_tet(m, v, a, b, d);
		if (w == NULL)
			m->bits[rb_face_tet(rim->out)] &= ~RB_MARK2;
		rb_mesh_link(m, rb_face_of(t, 0), rim->out);
		if (all)
			c->spheres[t] = compute_tet_sphere(m, m->tets[t].v);
		else
		{
			for (j = 0; j < 3; j++)
				if (rim->v[j] != RB_GHOST)
					m->tet_of[rim->v[j]] = t;
		}

		j = index_of_delaunay_cavity_corner(c, a);
		k = index_of_delaunay_cavity_corner(c, b);
		l = index_of_delaunay_cavity_corner(c, d);
		rim->out = t;
		rim->v[0] = j;
		rim->v[1] = k;
		rim->v[2] = l;
		if (small)
		{
			c->square[k * SQUARE + l] = rb_face_of(t, 1);
			c->square[l * SQUARE + j] = rb_face_of(t, 2);
			c->square[j * SQUARE + k] = rb_face_of(t, 3);
		}
		else
		{
			*find_delaunay_rim_edge(c, mask, k, l) = (rb_rim_edge){k, l, rb_face_of(t, 1)};
			*find_delaunay_rim_edge(c, mask, l, j) = (rb_rim_edge){l, j, rb_face_of(t, 2)};
			*find_delaunay_rim_edge(c, mask, j, k) = (rb_rim_edge){j, k, rb_face_of(t, 3)};
		}
	}
	for (uint32_t i = 0; i < c->nrim; i++)
	{
		const rb_rim *rim = &c->rim[i];
		rb_tet_face *n = m->tets[rim->out].n;
		uint32_t j = rim->v[0], k = rim->v[1], l = rim->v[2];

		if (small)
		{
			n[1] = c->square[l * SQUARE + k];
			n[2] = c->square[j * SQUARE + l];
			n[3] = c->square[k * SQUARE + j];
		}
		else
		{
			n[1] = find_delaunay_rim_edge(c, mask, l, k)->f;
			n[2] = find_delaunay_rim_edge(c, mask, j, l)->f;
			n[3] = find_delaunay_rim_edge(c, mask, k, j)->f;
		}
	}
	for (uint32_t i = c->nrim; i < c->ninside; i++)
	{
		if (w == NULL)
			rb_mesh_drop_tet(m, c->inside[i]);
		else
			release_slot(w, c->inside[i]);
	}
	if (!all)
		m->tet_of[v] = c->rim[0].out;
	m->recent = c->rim[0].out;
	return RB_OK;
}

/* Inserts point v, starting the walk at t. */
static ALWAYS_INLINE rb_status
insert_point(rb_mesh *m, uint32_t v, uint32_t t, uint32_t *same, bool all)
{
	const double *at = point_of_vertex(m, v, all);
	rb_status status;

	*same = RB_NONE;
	t = walk_to(m, at, t, all);
	for (int i = 0; i < 4; i++)
	{
		uint32_t corner = m->tets[t].v[i];

		if (corner != RB_GHOST && rb_equal3(point_of_vertex(m, corner, all), at))
		{
			*same = corner;
			return RB_OK;
		}
	}
	status = find_cavity(m, v, t, all);
	if (status == RB_OK)
		status = fill_delaunay_cavity(m, v, all, NULL);
	if (status != RB_OK && !all)
		unmark_delaunay_cavity(m);
	return status;
}

/* Allocates the scratch memory whose size is known in advance. */
static rb_status
allocate_delaunay_scratch(rb_mesh *m)
{
	rb_cavity *c = &m->cavity;
	size_t had = c->place_of_cap;

	RB_TRY(RB_GROW(m->ctx, c->place_of, c->place_of_cap, (size_t) m->npoints + 1));
	if (c->place_of_cap > had)
		memset(c->place_of + had, 0, (c->place_of_cap - had) * sizeof(uint32_t));
	return RB_GROW(m->ctx, c->square, c->square_cap, (size_t) SQUARE * SQUARE);
}

rb_status
rb_mesh_insert(rb_mesh *m, uint32_t v, uint32_t near, uint32_t *same)
{
	RB_TRY(allocate_delaunay_scratch(m));
	return insert_point(m, v, near, same, false);
}

/* ---- all points ---- */

/*
 * Returns true if three points are collinear, exactly: they are in the projection along each axis.
 */
static bool
on_a_line(rb_mesh *m, const double *a, const double *b, const double *c)
{
	return rb_orient2d_at(&m->env, a[0], a[1], b[0], b[1], c[0], c[1]) == 0 &&
		   rb_orient2d_at(&m->env, a[1], a[2], b[1], b[2], c[1], c[2]) == 0 &&
		   rb_orient2d_at(&m->env, a[2], a[0], b[2], b[0], c[2], c[0]) == 0;
}

/*
 * Finds the corners of the first Delaunay tetrahedron: the first four points of the insertion order
 * that are not coplanar, oriented positively. Sets *flat if there are none.
 */
static rb_status
find_first_delaunay_corners(rb_mesh *m, uint32_t *v, bool *flat)
{
	uint32_t n = m->npoints;
	uint32_t i = 1;

	*flat = true;
	v[0] = 0;
	for (; i < n && rb_equal3(point_of_vertex(m, 0, true), point_of_vertex(m, i, true)); i++)
		;
	v[1] = i;
	for (i++; i < n; i++)
	{
		if (rb_should_stop(m->ctx))
			return RB_STOPPED;
		if (!on_a_line(m, point_of_vertex(m, v[0], true), point_of_vertex(m, v[1], true),
					   point_of_vertex(m, i, true)))
			break;
	}
	v[2] = i;
	for (i++; i < n; i++)
	{
		int side;

		if (rb_should_stop(m->ctx))
			return RB_STOPPED;
		side =
			rb_orient3d_at(&m->env, point_of_vertex(m, v[0], true), point_of_vertex(m, v[1], true),
						   point_of_vertex(m, v[2], true), point_of_vertex(m, i, true));
		if (side == 0)
			continue;
		v[3] = i;
		if (side < 0)
		{
			v[0] = v[1];
			v[1] = 0;
		}
		*flat = false;
		break;
	}
	return RB_OK;
}

/*
 * Creates the tetrahedron with the given corners, from which the insertion of points starts, and
 * its four ghosts.
 */
static rb_status
make_first_delaunay_tets(rb_mesh *m, const uint32_t *v)
{
	rb_cavity *c = &m->cavity;
	uint32_t t[5];

	c->nrim = 5;
	c->ninside = 0;
	RB_TRY(reserve_delaunay_tets(m, 0, true));
	t[4] = rb_mesh_new_tet(m, v[0], v[1], v[2], v[3]);
	c->spheres[t[4]] = compute_tet_sphere(m, v);
	for (int i = 0; i < 4; i++)
	{
		/* The ghost has the face's corners with two of them swapped. */
		const uint8_t *f = rb_face_corners[i];

		t[i] = rb_mesh_new_tet(m, v[f[0]], RB_GHOST, v[f[1]], v[f[2]]);
		c->spheres[t[i]] = compute_tet_sphere(m, m->tets[t[i]].v);
		rb_mesh_link(m, rb_face_of(t[4], (uint32_t) i), rb_face_of(t[i], 1));
	}
	/* Ghosts i and j share the edge of the other two corners. */
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < i; j++)
			rb_mesh_link(m, rb_face_of(t[i], rb_tet_corner(&m->tets[t[i]], v[j])),
						 rb_face_of(t[j], rb_tet_corner(&m->tets[t[j]], v[i])));
	m->recent = t[4];
	return RB_OK;
}

/* ---- concurrent insertion ---- */

#define FIRST_POINTS RB_SIZE(8192, 64) /* points inserted by one thread first */
#define BATCH RB_SIZE(512, 4) /* consecutive points on the curve that a thread takes at once */
#define MAX_LEFT_OVER \
	RB_SIZE(4096, 8) /* maximum number of deferred points that one thread inserts */
#define TRIES 4      /* attempts per point before it is deferred */
/* number of failures after which a thread stops trying, if it had fewer successes */
#define MAX_FAILURES 256

/* Inserts v; *busy is set if it must be deferred. */
static rb_status
insert_concurrently(rb_inserter *w, uint32_t v, bool *busy)
{
	rb_mesh *m = &w->m;
	rb_cavity *c = &m->cavity;
	const double *at = point_of_vertex(m, v, true);
	uint32_t t = 0;

	RB_TRY(walk_concurrently(w, at, &t, busy));
	for (int i = 0; i < 4 && !*busy; i++)
	{
		uint32_t corner = m->tets[t].v[i];

		if (corner != RB_GHOST && rb_equal3(point_of_vertex(m, corner, true), at))
		{
			rb_store(&w->all->equal, true);
			unlock_tets(w);
			return RB_OK;
		}
	}
	if (!*busy)
		RB_TRY(find_cavity_concurrently(w, v, t, busy));
	if (!*busy && c->nrim > c->ninside)
	{
		*busy = !reserve_slots(w, c->nrim - c->ninside);
		RB_TRY(reserve_held(w, c->nrim));
	}
	if (!*busy)
		RB_TRY(fill_delaunay_cavity(m, v, true, w));
	/* Keep the locks after an error, so that other threads never see a partially updated cavity. */
	unlock_tets(w);
	return RB_OK;
}

/* Inserts a range of points as one of several inserters. */
static void
insert_points_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_inserting *s = arg;
	rb_inserter *w = &s->inserters[rb_each_thread(me)];
	rb_status status =
		w->m.cavity.place_of_cap > s->m->npoints ? RB_OK : allocate_delaunay_scratch(&w->m);

	if (s->m->reports_progress)
		rb_progress(s->m->ctx, RB_STAGE_MESH_POINTS, s->first + from, s->m->npoints);
	for (uint64_t i = from; i < to && status == RB_OK; i++)
	{
		const uint32_t v = s->points != NULL ? s->points[i] : s->first + (uint32_t) i;
		const bool crowded = w->in_vain > MAX_FAILURES && w->in_vain > w->done;
		bool busy = true;

		if ((i & 31) == 0 && rb_should_stop(s->m->ctx))
			return;
		if (v == s->begun[0] || v == s->begun[1] || v == s->begun[2] || v == s->begun[3])
			continue;
		/* Retry, because another thread holds its cavity only briefly. */
		for (int tries = crowded ? TRIES : 0; tries < TRIES && busy && status == RB_OK; tries++)
		{
			if (rb_load(&s->full))
				break;
			busy = false;
			status = insert_concurrently(w, v, &busy);
		}
		w->done += !busy;
		if (!busy || status != RB_OK)
			continue;
		w->in_vain += !rb_load(&s->full);
		status = RB_GROW(s->m->ctx, w->later, w->later_cap, (size_t) w->nlater + 1);
		if (status == RB_OK)
			w->later[w->nlater++] = v;
	}
}

/* Gives each inserter the current arrays of the mesh. */
static void
begin_batch(rb_inserting *s)
{
	rb_mesh *m = s->m;

	s->ntets = m->ntets;
	s->full = false;
	for (uint32_t i = 0; i < s->ninserters; i++)
	{
		rb_inserter *w = &s->inserters[i];
		rb_cavity own = w->m.cavity;

		w->m = *m;
		own.points = m->cavity.points;
		own.number = m->cavity.number;
		own.spheres = m->cavity.spheres;
		own.spheres_cap = m->cavity.spheres_cap;
		w->m.cavity = own;
		w->m.free = RB_NONE;
		w->m.random += i;
		w->all = s;
		w->own = HELD_BY(i);
		w->next = w->end = w->nfree = 0;
		w->nlater = w->done = w->in_vain = w->nheld = 0;
	}
}

/*
 * Returns the unused slots of all inserters to the mesh and collects the deferred points in `left`.
 */
static rb_status
end_batch(rb_inserting *s, uint32_t **left, uint32_t *n)
{
	rb_mesh *m = s->m;
	uint64_t sum = 0;

	m->ntets = s->ntets;
	for (uint32_t i = 0; i < s->ninserters; i++)
	{
		rb_inserter *w = &s->inserters[i];

		for (; w->next < w->end; w->next++)
		{
			m->bits[w->next] = 0;
			release_slot(w, w->next);
		}
		while (w->m.free != RB_NONE)
		{
			const uint32_t t = w->m.free;

			w->m.free = m->tets[t].v[1];
			m->tets[t].v[1] = m->free;
			m->free = t;
		}
		sum += w->nlater;
	}
	RB_TRY(rb_array(m->ctx, (void **) left, sum + 1, sizeof(uint32_t)));
	*n = 0;
	for (uint32_t i = 0; i < s->ninserters; i++)
	{
		const rb_inserter *w = &s->inserters[i];

		for (uint32_t k = 0; k < w->nlater; k++)
			(*left)[(*n)++] = w->later[k];
	}
	return RB_OK;
}

/* Frees what the inserters own. */
static void
close_inserters(rb_inserting *s)
{
	rb_memory *memory = s->m->ctx->memory;

	for (uint32_t i = 0; i < s->ninserters && s->inserters != NULL; i++)
	{
		rb_inserter *w = &s->inserters[i];

		if (w->all == NULL)
			continue;
		/* Do not free the arrays shared with the mesh. */
		w->m.points = NULL;
		w->m.tet_of = NULL;
		w->m.tets = NULL;
		w->m.bits = NULL;
		w->m.was = NULL;
		w->m.cavity.points = NULL;
		w->m.cavity.number = NULL;
		w->m.cavity.spheres = NULL;
		rb_mesh_free(&w->m);
		RB_FREE(memory, w->held);
		RB_FREE(memory, w->later);
	}
	RB_FREE(memory, s->inserters);
}

/*
 * Makes room for all tetrahedra, whose number is extrapolated from those of the first `done`
 * points.
 */
static rb_status
room_for(rb_mesh *m, uint32_t done, uint32_t points, double share)
{
	const double more = (double) SLOTS_AT_ONCE * rb_each_threads(m->team);
	rb_cavity *c = &m->cavity;

	RB_TRY(rb_mesh_reserve_total(m, share * m->ntets / done * points + more + 64));
	if (m->tets_cap > c->spheres_cap)
	{
		RB_TRY(RB_ALLOCATE(m->ctx, c->spheres, m->tets_cap));
		c->spheres_cap = m->tets_cap;
	}
	return RB_OK;
}

/* Inserts a range of points on this thread. */
static rb_status
insert_some(rb_mesh *m, const uint32_t *begun, const uint32_t *points, uint32_t from, uint32_t to)
{
	for (uint32_t k = from; k < to; k++)
	{
		const uint32_t i = points != NULL ? points[k] : k;
		uint32_t same;

		if (m->reports_progress && (k & 0xfff) == 0 && points == NULL)
			rb_progress(m->ctx, RB_STAGE_MESH_POINTS, i, m->npoints);
		if (i != begun[0] && i != begun[1] && i != begun[2] && i != begun[3])
			RB_TRY(insert_point(m, i, m->recent, &same, true));
	}
	return RB_OK;
}

/*
 * Inserts the points `from` to `to` - 1, then repeatedly the deferred ones, as long as their number
 * drops fast enough; one thread inserts the rest. s->equal is set if two points have equal
 * coordinates; which of them was inserted is then undefined.
 */
static rb_status
insert_batch(rb_inserting *s, uint32_t from, uint32_t to)
{
	rb_mesh *m = s->m;
	uint32_t *todo = NULL;
	uint32_t n = to - from, left = 0, grain;
	double share = 1.02;
	bool again = true;
	rb_status status = RB_OK;

	s->points = NULL;
	s->first = from;
	while (again && status == RB_OK)
	{
		uint32_t *next = NULL;

		status = room_for(m, to - n > 0 ? to - n : 1, to, share);
		grain = n / (8 * s->ninserters) + 1;
		begin_batch(s);
		if (status == RB_OK)
			status =
				rb_each(m->ctx, m->team, n, grain < BATCH ? grain : BATCH, insert_points_piece, s);
		if (status == RB_OK)
			status = end_batch(s, &next, &left);
		RB_FREE(m->ctx->memory, todo);
		todo = next;
		s->points = next;
		again = left > MAX_LEFT_OVER && (s->full ? left < n : left < n / 2);
		share = s->full ? 1.1 * share : share;
		n = left;
	}
	if (status == RB_OK)
		status = insert_some(m, s->begun, todo, 0, left);
	RB_FREE(m->ctx->memory, todo);
	return status;
}

/*
 * Inserts the first points by one thread, then by all threads in batches that each multiply the
 * total by eight.
 */
static rb_status
insert_by_many(rb_mesh *m, const uint32_t *begun, bool *equal)
{
	rb_inserting s = {.m = m, .begun = begun, .ninserters = rb_each_threads(m->team)};
	uint32_t done = FIRST_POINTS < m->npoints ? FIRST_POINTS : m->npoints;
	rb_status status;

	RB_TRY(RB_ALLOCATE(m->ctx, s.inserters, s.ninserters));
	memset(s.inserters, 0, s.ninserters * sizeof(rb_inserter));
	status = insert_some(m, begun, NULL, 0, done);
	while (done < m->npoints && status == RB_OK)
	{
		const uint32_t to = m->npoints / 8 > done ? 8 * done : m->npoints;

		status = insert_batch(&s, done, to);
		done = to;
	}
	*equal = s.equal;
	close_inserters(&s);
	return status;
}

/* Inserts all points; starts over with one thread if points are equal. */
static rb_status
insert_all(rb_mesh *m, bool *flat)
{
	uint32_t v[4];
	bool equal = false;

	RB_TRY(rb_mesh_order_points(m));
	RB_TRY(allocate_delaunay_scratch(m));
	RB_TRY(find_first_delaunay_corners(m, v, flat));
	if (*flat)
		return RB_OK;
	RB_TRY(make_first_delaunay_tets(m, v));
	if (m->team != NULL)
	{
		RB_TRY(insert_by_many(m, v, &equal));
		if (!equal)
			return RB_OK;
		/* Start over with one thread, so that of equal points the first one is inserted. */
		m->ntets = m->nalive = 0;
		m->free = RB_NONE;
		RB_TRY(make_first_delaunay_tets(m, v));
	}
	return insert_some(m, v, NULL, 0, m->npoints);
}

/* Translates corners back to mesh indices and sets tet_of. */
static rb_status
restore_corner_indices(rb_mesh *m)
{
	const uint32_t *number = m->cavity.number;
	uint32_t *tet_of = m->cavity.place_of;

	memset(tet_of, 0xff, (size_t) m->npoints * sizeof(*tet_of)); /* sets every entry to RB_NONE */
	for (uint32_t t = 0; t < m->ntets; t++)
	{
		uint32_t *v = m->tets[t].v;

		if (should_stop_delaunay_insertion(m->ctx, t))
			return RB_STOPPED;
		if (v[0] == RB_DEAD)
			continue;
		for (int i = 0; i < 4; i++)
			if (v[i] != RB_GHOST)
			{
				tet_of[v[i]] = t;
				v[i] = number[v[i]];
			}
	}
	for (uint32_t i = 0; i < m->npoints; i++)
	{
		if (should_stop_delaunay_insertion(m->ctx, i))
			return RB_STOPPED;
		m->tet_of[number[i]] = tet_of[i];
	}
	return RB_OK;
}

rb_status
rb_mesh_delaunay(rb_mesh *m, bool *flat)
{
	rb_cavity *c = &m->cavity;
	rb_memory *memory = m->ctx->memory;
	rb_status status = RB_OK;

	*flat = true;
	if (m->npoints >= 4)
		status = insert_all(m, flat);
	if (status == RB_OK && !*flat)
		status = m->large ? rb_mesh_sort(m) : restore_corner_indices(m);
	RB_FREE(memory, c->spheres);
	c->spheres_cap = 0;
	if (status != RB_OK)
	{
		if (m->npoints > 0)
			memset(m->tet_of, 0xff,
				   (size_t) m->npoints * sizeof(*m->tet_of)); /* sets every entry to RB_NONE */
		m->ntets = m->nalive = 0;
		m->free = m->recent = RB_NONE;
	}
	RB_FREE(memory, c->points);
	RB_FREE(memory, c->number);
	return status;
}
