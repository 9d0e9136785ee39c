/*
 * cavity_fill.c
 *	  Fills one side of a cavity, a polyhedron, with Delaunay tetrahedra: a small one by gift
 *	  wrapping, a large one by carving.
 *
 * The filling is correct for the following reason. Every tetrahedron is positively oriented, and
 * each of its faces is matched by another tetrahedron on its other side or by a face of the
 * polyhedron. The signed sum of the tetrahedra therefore has the polyhedron's boundary as its
 * boundary, and every point inside is covered exactly once. It remains to check that no vertex was
 * left out.
 *
 * All vertices of the polyhedron are candidates, visible or not. If the chosen vertex is hidden
 * behind a boundary face, that face is not Delaunay among these vertices. The caller then removes
 * the tetrahedron behind the face, as TetGen does. That is impossible if the face is on a facet. In
 * this case the visible vertices must be distinguished from the hidden ones, which is slow and done
 * only for small polyhedra.
 *
 * Gift wrapping attaches to each open face the vertex whose circumsphere is empty, until no face is
 * open. The time is quadratic in the number of vertices, or cubic if hidden vertices must be
 * excluded. Carving takes the part of the Delaunay tetrahedralization of the vertices that lies
 * inside the polyhedron's faces, if all these faces exist there. The vertices are renumbered in
 * ascending order for it, so ties are broken as in the mesh.
 */
#include "mesh/recover.h"

#include "core/base/sort.h"

#define MAX_WRAP_POINTS 64 /* number of vertices up to which gift wrapping is faster than carving */
#define MAX_VISIBILITY_POINTS 256 /* maximum number of vertices for which visibility is tested */
/*
 * Number of tests of an edge against a face after which a filling by visible vertices is abandoned
 * if the PLC limits the work, because cut facets can then be moved to a coarser grid. Without a
 * limit there is no alternative.
 */
#define MAX_VISIBILITY_TESTS 100000
/* work for a vertex of a polyhedron, in tests of an edge against a face */
#define WORK_PER_POINT 100
#define NOT_USED ((uint32_t) 1 << 31) /* a bit that no tetrahedron index has (RB_MAX_TETS) */

/* ---- gift wrapping ---- */

/* Returns true if two faces with equal corners have the same orientation. */
static bool
are_half_faces_turned_alike(const uint32_t *v, const uint32_t *w)
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
may_segment_pierce_half_face(rb_recovery *r, uint32_t p, uint32_t q, const uint32_t *t)
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
does_wrapping_tet_hit_open_face(rb_recovery *r, rb_cavity_half *half, const uint32_t *v, uint32_t d)
{
	const uint32_t sides[3][3] = {{v[0], v[1], d}, {v[1], v[2], d}, {v[2], v[0], d}};

	for (uint32_t i = 0; i < half->nbases; i++)
	{
		const rb_base *b = &half->bases[i];

		if (b->inside != RB_NONE)
			continue;
		half->tests += 12;
		for (int k = 0; k < 3; k++)
		{
			if (may_segment_pierce_half_face(r, v[k], d, b->v))
				return true;
			for (int j = 0; j < 3; j++)
				if (may_segment_pierce_half_face(r, b->v[j], b->v[(j + 1) % 3], sides[k]))
					return true;
		}
	}
	return false;
}

/*
 * Returns the vertex that forms a tetrahedron with face v, or RB_NONE. *empty is set if no vertex
 * is inside the tetrahedron's circumsphere.
 */
static uint32_t
choose_wrapping_vertex(rb_recovery *r, rb_cavity_half *half, const uint32_t *v, bool only_seen,
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
		if (only_seen && does_wrapping_tet_hit_open_face(r, half, v, d))
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
connect_tet_faces(rb_recovery *r, rb_cavity_half *half, uint32_t tet, bool *fits)
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

		RB_TRY(rb_table_insert(r->ctx, &half->open, face[i][0], face[i][1], face[i][2],
							   half->nbases, &there, &fresh));
		if (fresh)
		{
			RB_TRY(
				rb_half_base(r, half, face[i][0], face[i][1], face[i][2], RB_NONE, RB_NONE, false));
			half->bases[half->nbases - 1].behind = tet << 2 | i;
			continue;
		}
		base = &half->bases[*there];
		if (base->inside != RB_NONE || are_half_faces_turned_alike(base->v, face[i]))
		{
			*fits = false;
			return RB_OK;
		}
		base->inside = tet << 2 | i;
	}
	return RB_OK;
}

/* Fills a half by gift wrapping, face by face. */
static rb_status
fill_by_wrapping(rb_recovery *r, rb_cavity_half *half, bool only_seen, rb_filled *filled)
{
	uint64_t most = 64 + 16 * (uint64_t) half->npoints + (uint64_t) half->npoints * half->npoints;
	bool stuck = false, whole = true;
	rb_status status = RB_OK;

	*filled = RB_FILLED_NOT;
	half->ntets = 0;
	half->nbases = half->given;
	rb_table_empty(&half->open);
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
		if (half->ntets > most || (r->plc->max_work > 0 && half->tests > MAX_VISIBILITY_TESTS))
			return RB_OK;
		memcpy(v, half->bases[i].v, sizeof v);
		d = choose_wrapping_vertex(r, half, v, only_seen, &empty);
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
		RB_TRY(RB_GROW(r->ctx, half->tets, half->tets_cap, (size_t) half->ntets + 1));
		half->tets[half->ntets][0] = v[0];
		half->tets[half->ntets][1] = v[1];
		half->tets[half->ntets][2] = v[2];
		half->tets[half->ntets][3] = d;
		half->bases[i].inside = half->ntets << 2 | 3;
		status = connect_tet_faces(r, half, half->ntets++, &fits);
		if (status == RB_OK && !fits)
			return RB_OK;
	}
	if (status == RB_OK && half->nbehind > 0)
		*filled = RB_FILLED_BEHIND;
	else if (status == RB_OK && !stuck && whole)
		*filled = RB_FILLED;
	return status;
}

/* ---- carving ---- */

/* Returns the number of a vertex in `all`: its position among the vertices. */
static uint32_t
number_of_carving_vertex(const rb_cavity_half *half, uint32_t v)
{
	return (uint32_t) rb_numbers_lower_bound(half->points, half->npoints, v);
}

/* Marks the polyhedron's faces as constrained in `all`; records those that are missing. */
static rb_status
constrain_carving_faces(rb_recovery *r, rb_cavity_half *half, rb_mesh *all, bool *stuck)
{
	for (uint32_t i = 0; i < half->given; i++)
	{
		rb_base *b = &half->bases[i];
		uint32_t v[3];
		rb_tet_face f, other;

		for (int k = 0; k < 3; k++)
			v[k] = number_of_carving_vertex(half, b->v[k]);
		if (!rb_mesh_find_face(all, v[0], v[1], v[2], &f))
		{
			*stuck = true;
			if (!b->constrained)
				RB_TRY(rb_half_behind(r, half, i));
			continue;
		}
		other = all->tets[rb_face_tet(f)].n[rb_face_corner(f)];
		all->bits[rb_face_tet(f)] |= RB_FACE_BIT(rb_face_corner(f));
		all->bits[rb_face_tet(other)] |= RB_FACE_BIT(rb_face_corner(other));
		/* Make f the face seen from inside. */
		if (rb_tet_ghost(&all->tets[rb_face_tet(f)]) ||
			rb_mesh_orient(all, v[0], v[1], v[2], all->tets[rb_face_tet(f)].v[rb_face_corner(f)]) <
				0)
			f = other;
		if (rb_tet_ghost(&all->tets[rb_face_tet(f)]))
			*stuck = true;
		b->inside = f;
	}
	return RB_OK;
}

/* Collects the tetrahedra inside the faces; *closed is false if the faces leak or are crossed. */
static rb_status
collect_inside(rb_recovery *r, rb_cavity_half *half, rb_mesh *all, uint32_t *number, bool *closed)
{
	uint32_t *reached = NULL;
	uint32_t n = 0;
	rb_status status = RB_ALLOCATE(r->ctx, reached, all->ntets);

	*closed = false;
	if (status != RB_OK)
		return status;
	memset(number, 0xff, (size_t) all->ntets * sizeof(uint32_t));
	/* A polyhedron may have several components, which touch along edges. */
	for (uint32_t i = 0; i < half->given; i++)
	{
		uint32_t t = rb_face_tet(half->bases[i].inside);

		if (number[t] != RB_NONE)
			continue;
		number[t] = n;
		reached[n++] = t;
		for (uint32_t k = n - 1; k < n; k++)
			for (uint32_t j = 0; j < 4; j++)
			{
				uint32_t from = reached[k], to = rb_face_tet(all->tets[from].n[j]);

				if ((all->bits[from] & RB_FACE_BIT(j)) != 0 || number[to] != RB_NONE)
					continue;
				if (rb_tet_ghost(&all->tets[to]))
					goto out;
				number[to] = n;
				reached[n++] = to;
			}
	}
	/* A tetrahedron behind a face must not be inside. */
	for (uint32_t i = 0; i < half->given; i++)
	{
		rb_tet_face f = half->bases[i].inside;

		if (number[rb_face_tet(all->tets[rb_face_tet(f)].n[rb_face_corner(f)])] != RB_NONE)
			goto out;
	}
	*closed = true;
	status = RB_GROW(r->ctx, half->tets, half->tets_cap, n);
	for (uint32_t i = 0; i < n && status == RB_OK; i++)
		for (int k = 0; k < 4; k++)
			half->tets[i][k] = half->points[all->tets[reached[i]].v[k]];
	half->ntets = n;
out:
	RB_FREE(r->ctx->memory, reached);
	return status;
}

/* Adds the faces between two tetrahedra as bases, as gift wrapping does. */
static rb_status
link_inside(rb_recovery *r, rb_cavity_half *half, const rb_mesh *all, const uint32_t *number)
{
	for (uint32_t i = 0; i < half->given; i++)
	{
		rb_tet_face f = half->bases[i].inside;

		half->bases[i].inside = number[rb_face_tet(f)] << 2 | rb_face_corner(f);
	}
	for (uint32_t t = 0; t < all->ntets; t++)
		for (uint32_t k = 0; k < 4 && number[t] != RB_NONE; k++)
		{
			rb_tet_face other = all->tets[t].n[k];

			if ((all->bits[t] & RB_FACE_BIT(k)) != 0 || rb_face_tet(other) > t)
				continue;
			RB_TRY(rb_half_base(r, half, 0, 0, 0, RB_NONE, RB_NONE, false));
			half->bases[half->nbases - 1].inside = number[t] << 2 | k;
			half->bases[half->nbases - 1].behind =
				number[rb_face_tet(other)] << 2 | rb_face_corner(other);
		}
	return RB_OK;
}

/* Fills a half with the Delaunay tetrahedra of its points, without those outside the polyhedron. */
static rb_status
fill_by_carving(rb_recovery *r, rb_cavity_half *half, rb_filled *filled)
{
	rb_memory *memory = r->ctx->memory;
	rb_mesh all;
	double *at = NULL;
	uint32_t *number = NULL;
	bool flat = false, stuck = false, closed = false;
	rb_status status = rb_array(r->ctx, (void **) &at, half->npoints, 3 * sizeof(double));

	*filled = RB_FILLED_NOT;
	if (status != RB_OK)
		return status;
	status = rb_sort_numbers(r->ctx, half->points, half->npoints);
	if (status != RB_OK)
	{
		RB_FREE(memory, at);
		return status;
	}
	for (uint32_t i = 0; i < half->npoints; i++)
		memcpy(at + 3 * (size_t) i, rb_mesh_point(&r->mesh, half->points[i]), 3 * sizeof(double));
	status = rb_mesh_init(&all, r->ctx, at, half->npoints);
	if (status == RB_OK)
		status = rb_mesh_delaunay(&all, &flat);
	if (status == RB_OK && !flat)
		status = constrain_carving_faces(r, half, &all, &stuck);
	if (status == RB_OK && !flat && !stuck)
		status = RB_ALLOCATE(r->ctx, number, all.ntets);
	if (status == RB_OK && !flat && !stuck)
		status = collect_inside(r, half, &all, number, &closed);
	if (status == RB_OK && closed)
		status = link_inside(r, half, &all, number);
	if (status == RB_OK && closed)
		*filled = RB_FILLED;
	else if (status == RB_OK && half->nbehind > 0)
		*filled = RB_FILLED_BEHIND;
	rb_mesh_free(&all);
	RB_FREE(memory, at);
	RB_FREE(memory, number);
	return status;
}

/* ---- choice of the method ---- */

/* Returns true if each point of the half is a corner of a new tetrahedron. */
static bool
are_all_half_points_used(rb_recovery *r, const rb_cavity_half *half)
{
	rb_mesh *m = &r->mesh;
	bool all = true;

	/* tet_of can hold the flags because it is recomputed later for all these vertices. */
	for (uint32_t i = 0; i < half->npoints; i++)
		m->tet_of[half->points[i]] |= NOT_USED;
	for (uint32_t i = 0; i < half->ntets; i++)
		for (int k = 0; k < 4; k++)
			m->tet_of[half->tets[i][k]] &= ~NOT_USED;
	for (uint32_t i = 0; i < half->npoints; i++)
	{
		all = all && (m->tet_of[half->points[i]] & NOT_USED) == 0;
		m->tet_of[half->points[i]] &= ~NOT_USED;
	}
	return all;
}

rb_status
rb_half_fill(rb_recovery *r, rb_cavity_half *half, rb_filled *filled)
{
	half->given = half->nbases;
	half->nbehind = half->tests = 0;
	if (half->npoints > MAX_WRAP_POINTS)
		RB_TRY(fill_by_carving(r, half, filled));
	else
		RB_TRY(fill_by_wrapping(r, half, false, filled));
	if (*filled == RB_FILLED_NOT && half->npoints <= MAX_VISIBILITY_POINTS)
		RB_TRY(fill_by_wrapping(r, half, true, filled));
	if (*filled == RB_FILLED && !are_all_half_points_used(r, half))
		*filled = RB_FILLED_NOT;
	r->work_done += WORK_PER_POINT * (uint64_t) half->npoints + half->tests;
	return RB_OK;
}
