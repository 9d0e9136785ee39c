/*
 * cavity_carve.c
 *	  Fills a polyhedron with the part of the Delaunay tetrahedralization of its vertices that lies
 *	  inside its faces, if all these faces exist there.
 *
 * The vertices are renumbered in ascending order, so ties are broken as in the mesh.
 */
#include "mesh/half_cavity.h"

#include "core/base/sort.h"

static uint32_t
place_of(const rb_cavity_half *half, uint32_t v)
{
	uint32_t from = 0, to = half->npoints;

	while (to - from > 1)
	{
		uint32_t middle = from + (to - from) / 2;

		if (half->points[middle] <= v)
			from = middle;
		else
			to = middle;
	}
	return from;
}

/* Marks the polyhedron's faces as constrained in `all`; records those that are missing. */
static rb_status
build_walls(rb_recovery *r, rb_cavity_half *half, rb_mesh *all, bool *stuck)
{
	rb_status status = RB_OK;

	for (uint32_t i = 0; i < half->given && status == RB_OK; i++)
	{
		rb_base *b = &half->bases[i];
		uint32_t v[3];
		rb_tet_face f, other;

		for (int k = 0; k < 3; k++)
			v[k] = place_of(half, b->v[k]);
		if (!rb_mesh_find_face(all, v[0], v[1], v[2], &f))
		{
			*stuck = true;
			if (!b->constrained)
				status = rb_half_behind(r, half, i);
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
	return status;
}

/* Collects the tetrahedra inside the faces; *closed is false if the faces leak or are crossed. */
static rb_status
collect_inside(rb_recovery *r, rb_cavity_half *half, rb_mesh *all, uint32_t *number, bool *closed)
{
	uint32_t *reached = NULL;
	uint32_t n = 0;
	rb_status status = rb_array(r->ctx, (void **) &reached, all->ntets, sizeof(uint32_t));

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
	status = rb_array_grow(r->ctx, (void **) &half->tets, &half->tets_cap, n, sizeof(uint32_t[4]));
	for (uint32_t i = 0; i < n && status == RB_OK; i++)
		for (int k = 0; k < 4; k++)
			half->tets[i][k] = half->points[all->tets[reached[i]].v[k]];
	half->ntets = n;
out:
	rb_free(r->ctx->memory, (void **) &reached);
	return status;
}

/* Adds the faces between two tetrahedra as bases, as gift wrapping does. */
static rb_status
link_inside(rb_recovery *r, rb_cavity_half *half, const rb_mesh *all, const uint32_t *number)
{
	rb_status status = RB_OK;

	for (uint32_t i = 0; i < half->given; i++)
	{
		rb_tet_face f = half->bases[i].inside;

		half->bases[i].inside = number[rb_face_tet(f)] << 2 | rb_face_corner(f);
	}
	for (uint32_t t = 0; t < all->ntets && status == RB_OK; t++)
		for (uint32_t k = 0; k < 4 && status == RB_OK && number[t] != RB_NONE; k++)
		{
			rb_tet_face other = all->tets[t].n[k];

			if ((all->bits[t] & RB_FACE_BIT(k)) != 0 || rb_face_tet(other) > t)
				continue;
			status = rb_half_base(r, half, 0, 0, 0, RB_NONE, RB_NONE, false);
			if (status == RB_OK)
			{
				half->bases[half->nbases - 1].inside = number[t] << 2 | k;
				half->bases[half->nbases - 1].behind =
					number[rb_face_tet(other)] << 2 | rb_face_corner(other);
			}
		}
	return status;
}

rb_status
rb_half_carve(rb_recovery *r, rb_cavity_half *half, rb_filled *filled)
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
		rb_free(memory, (void **) &at);
		return status;
	}
	for (uint32_t i = 0; i < half->npoints; i++)
		memcpy(at + 3 * (size_t) i, rb_mesh_point(&r->mesh, half->points[i]), 3 * sizeof(double));
	status = rb_mesh_init(&all, r->ctx, at, half->npoints);
	if (status == RB_OK)
		status = rb_mesh_delaunay(&all, &flat);
	if (status == RB_OK && !flat)
		status = build_walls(r, half, &all, &stuck);
	if (status == RB_OK && !flat && !stuck)
		status = rb_array(r->ctx, (void **) &number, all.ntets, sizeof(uint32_t));
	if (status == RB_OK && !flat && !stuck)
		status = collect_inside(r, half, &all, number, &closed);
	if (status == RB_OK && closed)
		status = link_inside(r, half, &all, number);
	if (status == RB_OK && closed)
		*filled = RB_FILLED;
	else if (status == RB_OK && half->nbehind > 0)
		*filled = RB_FILLED_BEHIND;
	rb_mesh_free(&all);
	rb_free(memory, (void **) &at);
	rb_free(memory, (void **) &number);
	return status;
}
