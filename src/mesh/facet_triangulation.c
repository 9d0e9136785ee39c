/*
 * facet_triangulation.c
 *	  Triangulates one facet: splits its given triangles at the Steiner points and makes them
 *	  Delaunay by flips.
 *
 * A facet is only nearly flat, so "in its plane" has no exact meaning. Instead, orientation is
 * defined as seen from a point above the facet, at a distance that is the size of the facet. A
 * triangle is counterclockwise if it forms a positive tetrahedron with this point. An edge must be
 * flipped if the opposite vertex beyond it is inside the circumsphere of this tetrahedron. If four
 * corners are coplanar, this is the circumcircle test in their plane, and ties are broken as in
 * space, whatever the point above is. The triangulation of a flat facet is thus the one that the
 * constrained Delaunay tetrahedralization contains.
 */
#include "mesh/recover.h"

void
rb_sheet_free(rb_memory *memory, rb_sheet *sheet)
{
	RB_FREE(memory, sheet->faces);
	RB_FREE(memory, sheet->queue);
	rb_table_free(memory, &sheet->edges);
}

/* Places a point above the triangles from..to, at a distance that is their size. */
static rb_status
place_above(rb_recovery *r, rb_sheet *sheet, uint32_t from, uint32_t to)
{
	rb_mesh *m = &r->mesh;
	double low[3] = {DBL_MAX, DBL_MAX, DBL_MAX}, high[3] = {-DBL_MAX, -DBL_MAX, -DBL_MAX};
	double normal[3] = {0, 0, 0}, size = 0, length, at[3];

	for (uint32_t t = from; t < to; t++)
		for (int i = 0; i < 3; i++)
			for (int k = 0; k < 3; k++)
			{
				double x = rb_mesh_point(m, r->plc->triangles[t][i])[k];

				low[k] = fmin(low[k], x);
				high[k] = fmax(high[k], x);
			}
	for (int k = 0; k < 3; k++)
		size = fmax(size, high[k] / 2 - low[k] / 2);
	for (uint32_t t = from; t < to; t++)
	{
		const double *a = rb_mesh_point(m, r->plc->triangles[t][0]);
		const double *b = rb_mesh_point(m, r->plc->triangles[t][1]);
		const double *c = rb_mesh_point(m, r->plc->triangles[t][2]);
		double u[3], v[3], n[3], dot;

		for (int k = 0; k < 3; k++)
		{
			u[k] = (b[k] / 2 - a[k] / 2) / size;
			v[k] = (c[k] / 2 - a[k] / 2) / size;
		}
		n[0] = u[1] * v[2] - u[2] * v[1];
		n[1] = u[2] * v[0] - u[0] * v[2];
		n[2] = u[0] * v[1] - u[1] * v[0];
		/* Triangles may be oriented either way. */
		dot = n[0] * normal[0] + n[1] * normal[1] + n[2] * normal[2];
		for (int k = 0; k < 3; k++)
			normal[k] += dot < 0 ? -n[k] : n[k];
	}
	length = fmax(fabs(normal[0]), fmax(fabs(normal[1]), fabs(normal[2])));
	if (!(length > 0))
		return rb_recover_flaw(r, RB_FLAW_FACET_AREA, sheet->facet, RB_NONE,
							   rb_mesh_point(m, r->plc->triangles[from][0]));
	for (int k = 0; k < 3; k++)
		normal[k] /= length;
	length = sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
	for (int k = 0; k < 3; k++)
		at[k] = low[k] / 2 + high[k] / 2 + 2 * size * (normal[k] / length);
	if (!rb_all_finite(at, 3))
		for (int k = 0; k < 3; k++)
			at[k] = low[k] / 2 + high[k] / 2 - 2 * size * (normal[k] / length);
	if (!rb_all_finite(at, 3))
		return rb_recover_flaw(r, RB_FLAW_TOO_NEAR, r->plc->triangles[from][0], RB_NONE, low);
	RB_TRY(rb_array_grow(r->ctx, (void **) &m->points, &m->points_cap, (size_t) m->npoints + 1,
						 3 * sizeof(double)));
	memcpy(m->points + 3 * (size_t) m->npoints, at, sizeof at);
	sheet->above = m->npoints;
	return RB_OK;
}

static bool
is_ccw(rb_recovery *r, const rb_sheet *sheet, uint32_t a, uint32_t b, uint32_t c)
{
	return rb_mesh_orient(&r->mesh, a, b, c, sheet->above) > 0;
}

static void
link_pair(rb_sheet *sheet, uint32_t f, uint32_t i, uint32_t other)
{
	sheet->faces[f].n[i] = other;
	if (other != RB_NONE)
		sheet->faces[other >> 2].n[other & 3] = f << 2 | i;
}

bool
rb_sheet_flip(rb_recovery *r, rb_sheet *sheet, uint32_t f, uint32_t i)
{
	uint32_t g = sheet->faces[f].n[i] >> 2, j = sheet->faces[f].n[i] & 3;
	rb_sheet_face *x = &sheet->faces[f], *y = &sheet->faces[g];
	uint32_t c = x->v[i], a = x->v[(i + 1) % 3], b = x->v[(i + 2) % 3], d = y->v[j];
	uint32_t bc = x->n[(i + 1) % 3], ca = x->n[(i + 2) % 3];
	uint32_t ad, db;

	if (!is_ccw(r, sheet, a, d, c) || !is_ccw(r, sheet, d, b, c))
		return false;
	/* y is (d, b, a), starting at its corner j; ad is opposite b, and db is opposite a. */
	ad = y->n[(j + 1) % 3];
	db = y->n[(j + 2) % 3];
	*x = (rb_sheet_face){{a, d, c}, {0, 0, 0}, 0, 0};
	*y = (rb_sheet_face){{d, b, c}, {0, 0, 0}, 0, 0};
	link_pair(sheet, f, 0, g << 2 | 1); /* edge dc */
	link_pair(sheet, f, 1, ca);
	link_pair(sheet, f, 2, ad);
	link_pair(sheet, g, 0, bc);
	link_pair(sheet, g, 2, db);
	return true;
}

static rb_status
sheet_room(rb_recovery *r, rb_sheet *sheet, uint32_t more)
{
	return RB_GROW(r->ctx, sheet->faces, sheet->cap, (size_t) sheet->n + more);
}

/* Splits face f at point p on the boundary edge opposite its corner i. */
static rb_status
cut_boundary(rb_recovery *r, rb_sheet *sheet, uint32_t f, uint32_t i, uint32_t p)
{
	uint32_t g = sheet->n;
	uint32_t c = sheet->faces[f].v[i], a = sheet->faces[f].v[(i + 1) % 3],
			 b = sheet->faces[f].v[(i + 2) % 3];
	uint32_t bc = sheet->faces[f].n[(i + 1) % 3], ca = sheet->faces[f].n[(i + 2) % 3];

	RB_TRY(sheet_room(r, sheet, 1));
	if (!is_ccw(r, sheet, a, p, c) || !is_ccw(r, sheet, p, b, c))
		return rb_recover_flaw(r, RB_FLAW_TOO_NEAR, c, sheet->facet, rb_mesh_point(&r->mesh, p));
	sheet->n++;
	sheet->faces[f] = (rb_sheet_face){{a, p, c}, {0, 0, 0}, 0, 0};
	sheet->faces[g] = (rb_sheet_face){{p, b, c}, {0, 0, 0}, 0, 0};
	link_pair(sheet, f, 0, g << 2 | 1);
	link_pair(sheet, f, 1, ca);
	link_pair(sheet, f, 2, RB_NONE);
	link_pair(sheet, g, 0, bc);
	link_pair(sheet, g, 2, RB_NONE);
	return RB_OK;
}

static rb_status
link_faces(rb_recovery *r, rb_sheet *sheet)
{
	rb_table_empty(&sheet->edges);
	for (uint32_t f = 0; f < sheet->n; f++)
		for (uint32_t i = 0; i < 3; i++)
		{
			uint32_t a = sheet->faces[f].v[(i + 1) % 3], b = sheet->faces[f].v[(i + 2) % 3];
			uint32_t *other;
			bool fresh;

			RB_TRY(
				rb_table_insert(r->ctx, &sheet->edges, a, b, RB_NONE, f << 2 | i, &other, &fresh));
			if (fresh)
				continue;
			/* Neighbors are oriented alike, so the other face has the edge from b to a. */
			if (sheet->faces[*other >> 2].n[*other & 3] != RB_NONE ||
				sheet->faces[*other >> 2].v[((*other & 3) + 1) % 3] != b)
				return rb_recover_flaw(r, RB_FLAW_FACET_FOLDED, sheet->facet, RB_NONE,
									   rb_mesh_point(&r->mesh, a));
			link_pair(sheet, f, i, *other);
		}
	return RB_OK;
}

/*
 * Splits the two faces at the edge opposite corner i of face f into four, at point p on the edge.
 */
static rb_status
cut_soft(rb_recovery *r, rb_sheet *sheet, uint32_t f, uint32_t i, uint32_t p)
{
	/* f is (w, u, v), h is (z, v, u). */
	uint32_t w = sheet->faces[f].v[i], u = sheet->faces[f].v[(i + 1) % 3],
			 v = sheet->faces[f].v[(i + 2) % 3];
	uint32_t h = sheet->faces[f].n[i] >> 2, j = sheet->faces[f].n[i] & 3;
	uint32_t z = sheet->faces[h].v[j];
	uint32_t vw = sheet->faces[f].n[(i + 1) % 3], uz = sheet->faces[h].n[(j + 1) % 3];
	uint32_t g = sheet->n, k = g + 1;

	RB_TRY(sheet_room(r, sheet, 2));
	if (!is_ccw(r, sheet, w, u, p) || !is_ccw(r, sheet, w, p, v) || !is_ccw(r, sheet, z, v, p) ||
		!is_ccw(r, sheet, z, p, u))
		return rb_recover_flaw(r, RB_FLAW_TOO_NEAR, w, sheet->facet, rb_mesh_point(&r->mesh, p));
	sheet->n += 2;
	sheet->faces[g] = (rb_sheet_face){{w, p, v}, {0, 0, 0}, 0, 0};
	sheet->faces[k] = (rb_sheet_face){{z, p, u}, {0, 0, 0}, 0, 0};
	sheet->faces[f].v[(i + 2) % 3] = p;
	sheet->faces[h].v[(j + 2) % 3] = p;
	link_pair(sheet, f, (i + 1) % 3, g << 2 | 2); /* edge wp */
	link_pair(sheet, g, 1, vw);
	link_pair(sheet, g, 0, h << 2 | j); /* edge pv */
	link_pair(sheet, k, 1, uz);
	link_pair(sheet, h, (j + 1) % 3, k << 2 | 2); /* edge zp */
	link_pair(sheet, k, 0, f << 2 | i);           /* edge up */
	return RB_OK;
}

/* Inserts the Steiner points of segments, on the boundary and along soft edges. */
static rb_status
cut_all(rb_recovery *r, rb_sheet *sheet)
{
	for (uint32_t f = 0; f < sheet->n; f++)
		for (uint32_t i = 0; i < 3; i++)
		{
			uint32_t at = f, corner = i;
			uint32_t a = sheet->faces[f].v[(i + 1) % 3], b = sheet->faces[f].v[(i + 2) % 3];
			bool soft = sheet->faces[f].n[i] != RB_NONE;
			const uint32_t *segment = rb_table_get(&r->boundary, a, b, RB_NONE);
			bool forward;

			if (segment == NULL || r->pieces[*segment].next == RB_NONE)
				continue;
			forward = r->segments[*segment][0] == a;
			/*
			 * From a to b, the remaining part of the edge belongs to the new face. From b to a, it
			 * stays with the old face.
			 */
			for (uint32_t p = *segment; r->pieces[p].next != RB_NONE; p = r->pieces[p].next)
			{
				uint32_t latest = sheet->n;

				RB_TRY(soft ? cut_soft(r, sheet, at, corner, r->pieces[p].v)
							: cut_boundary(r, sheet, at, corner, r->pieces[p].v));
				if (forward)
				{
					at = latest;
					corner = soft ? 0 : 2;
				}
				else if (!soft)
					corner = 2;
			}
			/* The corners of f have changed; check all its edges again. */
			i = UINT32_MAX;
		}
	return RB_OK;
}

/* Inserts a point inside the facet into the face that contains it, as seen from above. */
static rb_status
insert_inside(rb_recovery *r, rb_sheet *sheet, uint32_t p)
{
	for (uint32_t f = 0; f < sheet->n; f++)
	{
		const rb_sheet_face *x = &sheet->faces[f];
		uint32_t a = x->v[0], b = x->v[1], c = x->v[2];
		uint32_t bc = x->n[0], ca = x->n[1], ab = x->n[2];
		uint32_t g = sheet->n;
		int sign[3];

		for (int i = 0; i < 3; i++)
			sign[i] =
				rb_mesh_orient(&r->mesh, x->v[(i + 1) % 3], x->v[(i + 2) % 3], p, sheet->above);
		if (sign[0] < 0 || sign[1] < 0 || sign[2] < 0)
			continue;
		for (uint32_t i = 0; i < 3; i++)
			if (sign[i] == 0 && sheet->faces[f].n[i] != RB_NONE)
				return cut_soft(r, sheet, f, i, p);
		if (sign[0] == 0 || sign[1] == 0 || sign[2] == 0)
			continue;
		RB_TRY(sheet_room(r, sheet, 2));
		sheet->n += 2;
		sheet->faces[f] = (rb_sheet_face){{p, a, b}, {0, 0, 0}, 0, 0};
		sheet->faces[g] = (rb_sheet_face){{p, b, c}, {0, 0, 0}, 0, 0};
		sheet->faces[g + 1] = (rb_sheet_face){{p, c, a}, {0, 0, 0}, 0, 0};
		link_pair(sheet, f, 0, ab);
		link_pair(sheet, g, 0, bc);
		link_pair(sheet, g + 1, 0, ca);
		link_pair(sheet, f, 1, g << 2 | 2);
		link_pair(sheet, g, 1, (g + 1) << 2 | 2);
		link_pair(sheet, g + 1, 1, f << 2 | 2);
		return RB_OK;
	}
	return rb_recover_flaw(r, RB_FLAW_NOT_RECOVERED, sheet->facet, RB_NONE,
						   rb_mesh_point(&r->mesh, p));
}

/*
 * Flips edges until the sheet is Delaunay (Lawson); the number of flips is limited because it may
 * not converge if the points are not coplanar.
 */
static rb_status
make_delaunay(rb_recovery *r, rb_sheet *sheet)
{
	uint64_t flips = 0, most = 64 + 32 * (uint64_t) sheet->n + (uint64_t) sheet->n * sheet->n;
	size_t n = 0;

	RB_TRY(RB_GROW(r->ctx, sheet->queue, sheet->queue_cap, 3 * (size_t) sheet->n));
	for (uint32_t f = 0; f < sheet->n; f++)
		for (uint32_t i = 0; i < 3; i++)
			if (sheet->faces[f].n[i] != RB_NONE && sheet->faces[f].n[i] > (f << 2 | i))
				sheet->queue[n++] = f << 2 | i;
	while (n > 0 && flips < most)
	{
		uint32_t e = sheet->queue[--n];
		uint32_t f = e >> 2, i = e & 3;
		uint32_t g = sheet->faces[f].n[i];
		const uint32_t *v = sheet->faces[f].v;
		uint32_t h;

		if (g == RB_NONE ||
			rb_table_get(&r->piece_of, v[(i + 1) % 3], v[(i + 2) % 3], RB_NONE) != NULL ||
			rb_mesh_insphere(&r->mesh, v[0], v[1], v[2], sheet->above,
							 sheet->faces[g >> 2].v[g & 3]) <= 0)
			continue;
		h = g >> 2;
		if (!rb_sheet_flip(r, sheet, f, i))
			continue;
		flips++;
		if ((flips & 1023) == 0 && rb_should_stop(r->ctx))
			return RB_STOPPED;
		RB_TRY(RB_GROW(r->ctx, sheet->queue, sheet->queue_cap, n + 4));
		sheet->queue[n++] = f << 2 | 1;
		sheet->queue[n++] = f << 2 | 2;
		sheet->queue[n++] = h << 2 | 0;
		sheet->queue[n++] = h << 2 | 2;
	}
	return RB_OK;
}

rb_status
rb_sheet_build(rb_recovery *r, rb_sheet *sheet, uint32_t facet)
{
	uint32_t from = r->facet_start[facet], to = r->facet_start[facet + 1];

	sheet->facet = facet;
	sheet->n = 0;
	RB_TRY(rb_recover_pieces(r));
	RB_TRY(sheet_room(r, sheet, to - from));
	RB_TRY(place_above(r, sheet, from, to));
	for (uint32_t t = from; t < to; t++)
	{
		const uint32_t *v = r->plc->triangles[t];
		int sign = rb_mesh_orient(&r->mesh, v[0], v[1], v[2], sheet->above);

		if (sign == 0)
			return rb_recover_flaw(r, RB_FLAW_FACET_AREA, facet, RB_NONE,
								   rb_mesh_point(&r->mesh, v[0]));
		sheet->faces[sheet->n++] = (rb_sheet_face){
			{v[0], v[sign > 0 ? 1 : 2], v[sign > 0 ? 2 : 1]}, {RB_NONE, RB_NONE, RB_NONE}, 0, 0};
	}
	if (sheet->n > 1)
		RB_TRY(link_faces(r, sheet));
	RB_TRY(cut_all(r, sheet));
	for (uint32_t i = 0; i < r->nfacet_points && r->pointed[facet]; i++)
		if (r->parent[r->facet_points[i] - r->plc->npoints] == facet)
			RB_TRY(insert_inside(r, sheet, r->facet_points[i]));
	if (sheet->n > 1)
		RB_TRY(make_delaunay(r, sheet));
	return RB_OK;
}
