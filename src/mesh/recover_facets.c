/*
 * recover_facets.c
 *	  Triangulates each facet, finds the faces that the mesh lacks, groups them into regions, and
 *	  recovers these.
 *
 * The triangulation of a facet splits its given triangles at the Steiner points and makes them
 * Delaunay by flips. A facet is only nearly flat, so "in its plane" has no exact meaning. Instead,
 * orientation is defined as seen from a point above the facet, at a distance that is the size of
 * the facet. A triangle is counterclockwise if it forms a positive tetrahedron with this point. An
 * edge must be flipped if the opposite vertex beyond it is inside the circumsphere of this
 * tetrahedron. If four corners are coplanar, this is the circumcircle test in their plane, and ties
 * are broken as in space, whatever the point above is. The triangulation of a flat facet is thus
 * the one that the constrained Delaunay tetrahedralization contains.
 *
 * Faces that were recovered are never lost again, because cavities stop at constrained faces. If a
 * region cannot be recovered, because rounding has bent it, a Steiner point is added inside it, and
 * the whole recovery is repeated with these points. This is rare, so a more selective repetition
 * would not pay off.
 *
 * Nearly all faces exist from the start. For a large mesh, threads therefore first triangulate all
 * facets and find those that are complete, and where their faces are. When a facet is processed
 * later, it remains only to check that these faces are unchanged. A repeated recovery reuses this
 * result for all facets that have received no Steiner points since then.
 */
#include "core/base/atomic.h"
#include "mesh/recover.h"

#define BLOCK RB_SIZE(256, 4) /* facets that a thread takes at once */

/* ---- triangulation of a facet ---- */

/* Frees the triangulation of a facet. */
static void
free_sheet(rb_memory *memory, rb_sheet *sheet)
{
	RB_FREE(memory, sheet->faces);
	RB_FREE(memory, sheet->queue);
	rb_table_free(memory, &sheet->edges);
}

rb_status
rb_recover_place_point_above(rb_recovery *r, uint32_t facet, uint32_t *above)
{
	const uint32_t from = r->facet_start[facet], to = r->facet_start[facet + 1];
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
		return rb_recover_flaw(r, RB_FLAW_FACET_AREA, facet, RB_NONE,
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
	*above = m->npoints;
	return RB_OK;
}

/* Returns true if three vertices of a facet are counterclockwise, seen from the point above it. */
static bool
is_ccw(rb_recovery *r, const rb_sheet *sheet, uint32_t a, uint32_t b, uint32_t c)
{
	return rb_mesh_orient(&r->mesh, a, b, c, sheet->above) > 0;
}

/* Links edge i of triangle f of a facet with the edge `other` of another one, or with none. */
static void
link_sheet_edges(rb_sheet *sheet, uint32_t f, uint32_t i, uint32_t other)
{
	sheet->faces[f].n[i] = other;
	if (other != RB_NONE)
		sheet->faces[other >> 2].n[other & 3] = f << 2 | i;
}

/*
 * Flips the edge opposite corner i of face f if its two faces form a convex quadrilateral; returns
 * true if it did.
 */
static bool
flip_sheet_edge(rb_recovery *r, rb_sheet *sheet, uint32_t f, uint32_t i)
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
	link_sheet_edges(sheet, f, 0, g << 2 | 1); /* edge dc */
	link_sheet_edges(sheet, f, 1, ca);
	link_sheet_edges(sheet, f, 2, ad);
	link_sheet_edges(sheet, g, 0, bc);
	link_sheet_edges(sheet, g, 2, db);
	return true;
}

/* Makes room for `more` triangles in the triangulation of a facet. */
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
	link_sheet_edges(sheet, f, 0, g << 2 | 1);
	link_sheet_edges(sheet, f, 1, ca);
	link_sheet_edges(sheet, f, 2, RB_NONE);
	link_sheet_edges(sheet, g, 0, bc);
	link_sheet_edges(sheet, g, 2, RB_NONE);
	return RB_OK;
}

/* Links the faces of a sheet at their common edges. */
static rb_status
link_sheet_faces(rb_recovery *r, rb_sheet *sheet)
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
			link_sheet_edges(sheet, f, i, *other);
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
	link_sheet_edges(sheet, f, (i + 1) % 3, g << 2 | 2); /* edge wp */
	link_sheet_edges(sheet, g, 1, vw);
	link_sheet_edges(sheet, g, 0, h << 2 | j); /* edge pv */
	link_sheet_edges(sheet, k, 1, uz);
	link_sheet_edges(sheet, h, (j + 1) % 3, k << 2 | 2); /* edge zp */
	link_sheet_edges(sheet, k, 0, f << 2 | i);           /* edge up */
	return RB_OK;
}

/* Inserts the Steiner points of segments, on the boundary and along soft edges. */
static rb_status
insert_sheet_points(rb_recovery *r, rb_sheet *sheet)
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
		link_sheet_edges(sheet, f, 0, ab);
		link_sheet_edges(sheet, g, 0, bc);
		link_sheet_edges(sheet, g + 1, 0, ca);
		link_sheet_edges(sheet, f, 1, g << 2 | 2);
		link_sheet_edges(sheet, g, 1, (g + 1) << 2 | 2);
		link_sheet_edges(sheet, g + 1, 1, f << 2 | 2);
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
		if (!flip_sheet_edge(r, sheet, f, i))
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

/*
 * Builds the constrained Delaunay triangulation of a facet from its triangles and its Steiner
 * points.
 */
static rb_status
build_sheet(rb_recovery *r, rb_sheet *sheet, uint32_t facet)
{
	uint32_t from = r->facet_start[facet], to = r->facet_start[facet + 1];

	sheet->facet = facet;
	sheet->n = 0;
	RB_TRY(rb_recover_list_subsegments(r));
	RB_TRY(sheet_room(r, sheet, to - from));
	RB_TRY(rb_recover_place_point_above(r, facet, &sheet->above));
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
		RB_TRY(link_sheet_faces(r, sheet));
	RB_TRY(insert_sheet_points(r, sheet));
	for (uint32_t i = 0; i < r->nfacet_points && r->pointed[facet]; i++)
		if (r->parent[r->facet_points[i] - r->plc->npoints] == facet)
			RB_TRY(insert_inside(r, sheet, r->facet_points[i]));
	if (sheet->n > 1)
		RB_TRY(make_delaunay(r, sheet));
	return RB_OK;
}

/* ---- recovery ---- */

/* A face of a facet that the mesh had when a thread checked the facet */
typedef struct rb_seen_face
{
	uint32_t v[3];
	rb_tet_face there;
} rb_seen_face;

/* Data of one thread that checks facets */
typedef struct rb_scanner
{
	rb_sheet sheet;
	rb_seen_face *faces;
	uint32_t nfaces;
	size_t cap;
	char apart[64]; /* padding that keeps the threads' data on separate cache lines */
} rb_scanner;

/* The list of a facet's faces, if the facet was complete */
typedef struct rb_complete_facet
{
	uint32_t scanner;
	uint32_t from, n; /* n is 0 if the facet was not complete */
} rb_complete_facet;

struct rb_facets_seen
{
	rb_scanner *scanners;
	uint32_t nscanners;
	rb_complete_facet *facets;
	const uint32_t *order; /* order in which facets are processed */
	bool sheets;           /* whether this pass checks the facets that need a triangulation */
	uint32_t others;       /* number of facets not found complete so far */
	uint32_t npieces;      /* number of subsegments at the time of the check */
};

struct rb_facet_work
{
	rb_sheet sheet;
	rb_cavity_work *cavity;
	uint32_t *stack;
	size_t stack_cap;
	uint32_t *order; /* order in which facets are processed */
};

/* Records a face of the mesh that lies on a facet, in the list of the result. */
static rb_status
add_subface(rb_recovery *r, const uint32_t *v, uint32_t facet)
{
	RB_TRY(RB_GROW(r->ctx, r->subfaces, r->subfaces_cap, (size_t) r->nsubfaces + 1));
	r->subfaces[r->nsubfaces++] = (rb_subface){{v[0], v[1], v[2]}, facet};
	return RB_OK;
}

/*
 * Marks face f of the mesh as constrained, from both sides; returns false if it was marked already.
 */
static bool
constrain_recovered_face(rb_recovery *r, rb_tet_face f)
{
	rb_mesh *m = &r->mesh;
	rb_tet_face other = m->tets[rb_face_tet(f)].n[rb_face_corner(f)];

	if ((m->bits[rb_face_tet(f)] & RB_FACE_BIT(rb_face_corner(f))) != 0)
		return false;
	m->bits[rb_face_tet(f)] |= RB_FACE_BIT(rb_face_corner(f));
	m->bits[rb_face_tet(other)] |= RB_FACE_BIT(rb_face_corner(other));
	return true;
}

/* Reports that two facets share this face; the other facet is in the list already. */
static rb_status
face_twice(rb_recovery *r, const uint32_t *v, uint32_t facet)
{
	uint32_t key[3];

	rb_table_key(key, v[0], v[1], v[2]);
	for (uint32_t i = 0; i < r->nsubfaces; i++)
	{
		uint32_t other[3];

		rb_table_key(other, r->subfaces[i].v[0], r->subfaces[i].v[1], r->subfaces[i].v[2]);
		if (memcmp(other, key, sizeof key) == 0)
			return rb_recover_flaw(
				r, r->subfaces[i].facet == facet ? RB_FLAW_FACET_FOLDED : RB_FLAW_FACETS_OVERLAP,
				r->subfaces[i].facet, facet, rb_mesh_point(&r->mesh, v[0]));
	}
	return rb_recover_flaw(r, RB_FLAW_NOT_RECOVERED, facet, RB_NONE, rb_mesh_point(&r->mesh, v[0]));
}

/*
 * Sets the region of each sheet face to 0 if the mesh has it, else to missing; returns the number
 * of missing faces.
 */
static uint32_t
find_missing_faces(rb_recovery *r, rb_sheet *sheet)
{
	uint32_t missing = 0;

	for (uint32_t f = 0; f < sheet->n; f++)
	{
		rb_sheet_face *face = &sheet->faces[f];
		rb_tet_face there = 0;

		face->region = rb_mesh_find_face(&r->mesh, face->v[0], face->v[1], face->v[2], &there)
						   ? 0
						   : RB_SHEET_MISSING;
		face->there = there;
		missing += face->region != 0;
	}
	return missing;
}

/* Returns true if the mesh has an edge between two vertices. */
static bool
does_mesh_have_sheet_edge(rb_recovery *r, uint32_t a, uint32_t b)
{
	uint32_t t, hit;

	return rb_mesh_find_edge(&r->mesh, a, b, &t, &hit);
}

/*
 * Adapts the sheet to the mesh and returns true if anything changed. If four corners are nearly
 * coplanar and cocircular, the mesh may have the other diagonal, and the sheet edge is flipped to
 * it.
 */
static bool
follow_mesh(rb_recovery *r, rb_sheet *sheet)
{
	bool any = false;

	for (uint32_t f = 0; f < sheet->n; f++)
		for (uint32_t i = 0; i < 3; i++)
		{
			const rb_sheet_face *x = &sheet->faces[f];
			uint32_t g = x->n[i];
			uint32_t a = x->v[(i + 1) % 3], b = x->v[(i + 2) % 3];

			if (g == RB_NONE || x->region == 0 ||
				rb_table_get(&r->piece_of, a, b, RB_NONE) != NULL ||
				does_mesh_have_sheet_edge(r, a, b) ||
				!does_mesh_have_sheet_edge(r, x->v[i], sheet->faces[g >> 2].v[g & 3]))
				continue;
			any = flip_sheet_edge(r, sheet, f, i) || any;
		}
	return any;
}

/*
 * Groups missing faces into regions, numbered from 1. Two missing faces are in one region if they
 * share an edge that the mesh lacks, too.
 */
static rb_status
group_missing_faces(rb_recovery *r, struct rb_facet_work *w, uint32_t *regions)
{
	rb_sheet *sheet = &w->sheet;
	uint32_t count = 0;

	for (uint32_t first = 0; first < sheet->n; first++)
	{
		uint32_t n = 0;

		if (sheet->faces[first].region != RB_SHEET_MISSING)
			continue;
		RB_TRY(RB_GROW(r->ctx, w->stack, w->stack_cap, (size_t) sheet->n + 1));
		count++;
		w->stack[n++] = first;
		sheet->faces[first].region = count;
		while (n > 0)
		{
			const rb_sheet_face *face = &sheet->faces[w->stack[--n]];

			for (int i = 0; i < 3; i++)
			{
				uint32_t g = face->n[i];

				if (g == RB_NONE || sheet->faces[g >> 2].region != RB_SHEET_MISSING ||
					does_mesh_have_sheet_edge(r, face->v[(i + 1) % 3], face->v[(i + 2) % 3]))
					continue;
				sheet->faces[g >> 2].region = count;
				w->stack[n++] = g >> 2;
			}
		}
	}
	*regions = count;
	return RB_OK;
}

/* Adds a Steiner point on a facet. */
static rb_status
add_facet_point(rb_recovery *r, const double *at, uint32_t facet)
{
	uint32_t v;

	RB_TRY(rb_recover_add_point(r, at, RB_VERTEX_ON_FACET, facet, &v));
	RB_TRY(RB_GROW(r->ctx, r->facet_points, r->facet_points_cap, (size_t) r->nfacet_points + 1));
	r->facet_points[r->nfacet_points++] = v;
	return RB_OK;
}

rb_status
rb_recover_split_soft_edge(rb_recovery *r, uint32_t a, uint32_t b, uint32_t facet)
{
	const double *p = rb_mesh_point(&r->mesh, a), *q = rb_mesh_point(&r->mesh, b);
	double at[3];
	bool fresh;
	/* Several bad faces may share the edge. */

	RB_TRY(rb_table_insert(r->ctx, &r->halved, a, b, RB_NONE, 0, NULL, &fresh));
	if (!fresh)
		return RB_OK;
	for (int k = 0; k < 3; k++)
		at[k] = p[k] == q[k] ? p[k] : p[k] / 2 + q[k] / 2;
	return add_facet_point(r, at, facet);
}

/*
 * Adds a point inside a region: at the midpoint of its longest soft edge, or at the center of its
 * only face.
 */
static rb_status
add_inside(rb_recovery *r, const rb_sheet *sheet, uint32_t region)
{
	double longest = -1;
	uint32_t a = RB_NONE, b = RB_NONE;
	const uint32_t *v = NULL;
	double at[3];

	for (uint32_t f = 0; f < sheet->n; f++)
	{
		const rb_sheet_face *face = &sheet->faces[f];

		if (face->region != region)
			continue;
		v = face->v;
		for (int i = 0; i < 3; i++)
		{
			const double *p = rb_mesh_point(&r->mesh, v[(i + 1) % 3]);
			const double *q = rb_mesh_point(&r->mesh, v[(i + 2) % 3]);
			double length = 0;

			if (face->n[i] == RB_NONE ||
				rb_table_get(&r->piece_of, v[(i + 1) % 3], v[(i + 2) % 3], RB_NONE) != NULL)
				continue;
			for (int k = 0; k < 3; k++)
				length = fmax(length, fabs(q[k] / 2 - p[k] / 2));
			if (length > longest)
			{
				longest = length;
				a = v[(i + 1) % 3];
				b = v[(i + 2) % 3];
			}
		}
	}
	if (a != RB_NONE)
		return rb_recover_split_soft_edge(r, a, b, sheet->facet);
	for (int k = 0; k < 3; k++)
	{
		double x = rb_mesh_point(&r->mesh, v[0])[k];
		double y = rb_mesh_point(&r->mesh, v[1])[k];
		double z = rb_mesh_point(&r->mesh, v[2])[k];

		at[k] = x == y && y == z ? x : x / 3 + y / 3 + z / 3;
	}
	return add_facet_point(r, at, sheet->facet);
}

/* Returns true if the facet is one triangle with unsplit edges and the mesh has it. */
static bool
there_as_given(rb_recovery *r, uint32_t facet, rb_tet_face *f)
{
	const uint32_t *v = r->plc->triangles[r->facet_start[facet]];

	if (r->facet_start[facet + 1] - r->facet_start[facet] != 1)
		return false;
	for (int i = 0; i < 3; i++)
		if (r->pieces[r->edges[r->facet_start[facet]][i]].next != RB_NONE)
			return false;
	return rb_mesh_find_face(&r->mesh, v[0], v[1], v[2], f);
}

/* ---- complete facets ---- */

/* Records a face of a facet that a thread has found in the mesh, with its location there. */
static rb_status
add_seen(rb_recovery *r, rb_scanner *l, const uint32_t *v, rb_tet_face there)
{
	RB_TRY(RB_GROW(r->ctx, l->faces, l->cap, (size_t) l->nfaces + 1));
	l->faces[l->nfaces++] = (rb_seen_face){{v[0], v[1], v[2]}, there};
	return RB_OK;
}

/*
 * Lists a facet if it is complete; r is a thread's copy. A facet with a defect is not listed, and
 * the main thread finds the defect again.
 */
static rb_status
list_complete_facet(rb_recovery *r, bool sheets, rb_scanner *l, uint32_t facet)
{
	rb_sheet *sheet = &l->sheet;
	rb_tet_face there;

	if (!sheets)
		return there_as_given(r, facet, &there)
				   ? add_seen(r, l, r->plc->triangles[r->facet_start[facet]], there)
				   : RB_OK;
	RB_TRY(build_sheet(r, sheet, facet));
	if (find_missing_faces(r, sheet) > 0 &&
		(!follow_mesh(r, sheet) || find_missing_faces(r, sheet) > 0))
		return RB_OK;
	for (uint32_t i = 0; i < sheet->n; i++)
		RB_TRY(add_seen(r, l, sheet->faces[i].v, sheet->faces[i].there));
	return RB_OK;
}

/*
 * Finds the facets of a range that are complete. No status is lost: a failure is recorded in the
 * context and ends the loop, which returns it (rb_each). A defect of the PLC leaves its facet
 * incomplete, and the main thread finds it again.
 */
static void
find_complete_facets_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const rb_recovery *r = arg;
	struct rb_facets_seen *all = r->seen;
	const uint32_t number = rb_each_thread(me);
	rb_scanner *l = &all->scanners[number];
	/* The copy has its own walks, predicates, flaws, and slot for the point above the facet. */
	rb_recovery copy = *r;
	rb_flaw flaw;
	uint32_t others = 0;

	copy.is_copy = true;
	copy.flaw = &flaw;
	copy.mesh.npoints += number;
	for (uint64_t i = from; i < to; i++)
	{
		rb_complete_facet *s = &all->facets[all->order[i]];

		if (all->sheets && s->n > 0)
			continue;
		*s = (rb_complete_facet){number, l->nfaces, 0};
		if (rb_should_stop(r->ctx))
			return;
		if (list_complete_facet(&copy, all->sheets, l, all->order[i]) == RB_OK)
			s->n = l->nfaces - s->from;
		others += s->n == 0;
	}
	rb_add(&all->others, others);
}

/* Finds, on several threads, the facets that are complete before recovery. */
static rb_status
find_complete_facets(rb_recovery *r, const uint32_t *order)
{
	const uint32_t n = r->plc->nfacets, threads = rb_each_threads(r->mesh.team);
	struct rb_facets_seen *s;

	RB_TRY(RB_ALLOCATE(r->ctx, r->seen, 1));
	s = r->seen;
	memset(s, 0, sizeof *s);
	s->order = order;
	RB_TRY(RB_ALLOCATE(r->ctx, s->facets, (size_t) n + 1));
	RB_TRY(RB_ALLOCATE(r->ctx, s->scanners, threads));
	memset(s->scanners, 0, threads * sizeof(rb_scanner));
	s->nscanners = threads;
	s->npieces = r->npieces;
	RB_TRY(rb_array_grow(r->ctx, (void **) &r->mesh.points, &r->mesh.points_cap,
						 (size_t) r->mesh.npoints + threads, 3 * sizeof(double)));
	RB_TRY(rb_each(r->ctx, r->mesh.team, n, BLOCK, find_complete_facets_piece, r));
	if (s->others == 0)
		return RB_OK;
	s->sheets = true;
	RB_TRY(rb_recover_list_subsegments(r));
	return rb_each(r->ctx, r->mesh.team, n, BLOCK, find_complete_facets_piece, r);
}

/*
 * Invalidates the facets that have Steiner points inside, or a corner at an end of a segment that
 * was split since the facets were checked.
 */
static rb_status
invalidate_changed(rb_recovery *r)
{
	struct rb_facets_seen *s = r->seen;
	const rb_plc *plc = r->plc;
	bool *cut = NULL;
	rb_status status = RB_ALLOCATE(r->ctx, cut, (size_t) plc->npoints + 1);

	if (status == RB_OK)
		memset(cut, 0, plc->npoints);
	for (uint32_t i = s->npieces; i < r->npieces && status == RB_OK; i++)
		for (int k = 0; k < 2; k++)
			cut[r->segments[r->pieces[i].segment][k]] = true;
	for (uint32_t t = 0; t < plc->ntriangles && status == RB_OK; t++)
	{
		const uint32_t *v = plc->triangles[t], f = plc->facet_of[t];

		if (rb_recover_stops(r, t))
			status = RB_STOPPED;
		if (cut[v[0]] || cut[v[1]] || cut[v[2]] || r->pointed[f])
			s->facets[f].n = 0;
	}
	s->npieces = r->npieces;
	RB_FREE(r->ctx->memory, cut);
	return status;
}

void
rb_recover_free_complete(rb_recovery *r)
{
	rb_memory *memory = r->ctx->memory;
	struct rb_facets_seen *s = r->seen;

	for (uint32_t i = 0; s != NULL && i < s->nscanners; i++)
	{
		free_sheet(memory, &s->scanners[i].sheet);
		RB_FREE(memory, s->scanners[i].faces);
	}
	if (s != NULL)
	{
		RB_FREE(memory, s->scanners);
		RB_FREE(memory, s->facets);
	}
	RB_FREE(memory, r->seen);
}

/* Returns true if a face is still one of the mesh. */
static bool
is_complete_facet_face_in_mesh(const rb_mesh *m, const rb_seen_face *face)
{
	const uint32_t t = rb_face_tet(face->there);
	bool there = !rb_tet_dead(m, t);

	for (int k = 0; k < 3 && there; k++)
	{
		const uint32_t corner = rb_tet_corner(&m->tets[t], face->v[k]);

		there = corner < 4 && corner != rb_face_corner(face->there);
	}
	return there;
}

/*
 * Constrains the faces of a facet that was complete; *done is false if one of them no longer
 * exists.
 */
static rb_status
constrain_complete(rb_recovery *r, const rb_complete_facet *seen, uint32_t facet, bool *done)
{
	const rb_seen_face *faces = r->seen->scanners[seen->scanner].faces + seen->from;

	*done = true;
	for (uint32_t i = 0; i < seen->n && *done; i++)
		*done = is_complete_facet_face_in_mesh(&r->mesh, &faces[i]);
	for (uint32_t i = 0; i < seen->n && *done; i++)
	{
		if (!constrain_recovered_face(r, faces[i].there))
			return face_twice(r, faces[i].v, facet);
		RB_TRY(add_subface(r, faces[i].v, facet));
	}
	return RB_OK;
}

/* ---- facet by facet ---- */

/*
 * Recovers one facet. *lacking counts the regions that could not be recovered; a point was added
 * for each.
 */
static rb_status
recover_facet(rb_recovery *r, uint32_t facet, uint32_t *lacking)
{
	struct rb_facet_work *w = r->work;
	rb_sheet *sheet = &w->sheet;
	uint32_t regions = 0, missing;
	rb_tet_face f;

	if (r->seen != NULL && r->seen->facets[facet].n > 0)
	{
		bool done;

		RB_TRY(constrain_complete(r, &r->seen->facets[facet], facet, &done));
		if (done)
			return RB_OK;
	}
	if (there_as_given(r, facet, &f))
	{
		const uint32_t *v = r->plc->triangles[r->facet_start[facet]];

		if (!constrain_recovered_face(r, f))
			return face_twice(r, v, facet);
		return add_subface(r, v, facet);
	}
	RB_TRY(build_sheet(r, sheet, facet));
	missing = find_missing_faces(r, sheet);
	if (missing > 0 && follow_mesh(r, sheet))
		missing = find_missing_faces(r, sheet);
	/* Constrain the existing faces before creating cavities around the others. */
	for (uint32_t i = 0; i < sheet->n; i++)
	{
		const uint32_t *v = sheet->faces[i].v;

		if (sheet->faces[i].region == 0)
		{
			if (rb_mesh_find_face(&r->mesh, v[0], v[1], v[2], &f) &&
				!constrain_recovered_face(r, f))
				return face_twice(r, v, facet);
		}
		RB_TRY(add_subface(r, v, facet));
	}
	if (missing > 0)
		RB_TRY(group_missing_faces(r, w, &regions));
	for (uint32_t i = 1; i <= regions; i++)
	{
		bool done;

		if (r->plc->max_work > 0 && r->work_done > r->plc->max_work)
			return rb_recover_flaw(r, RB_FLAW_NOT_RECOVERED, facet, RB_NONE,
								   rb_mesh_point(&r->mesh, sheet->faces[0].v[0]));
		RB_TRY(rb_cavity_recover(r, w->cavity, sheet, i, &done));
		if (!done)
		{
			RB_TRY(add_inside(r, sheet, i));
			sheet->above = r->mesh.npoints; /* invalid from now on, since points are added */
			++*lacking;
		}
	}
	return RB_OK;
}

/* Orders facets by their position in the mesh, so that consecutive ones are close in space. */
static rb_status
order_in_space(rb_recovery *r, uint32_t **order)
{
	const uint32_t n = r->plc->nfacets;
	uint32_t *key = NULL;
	rb_status status = RB_ALLOCATE(r->ctx, key, (size_t) n + 1);

	for (uint32_t f = 0; f < n && status == RB_OK; f++)
		key[f] = r->mesh.tet_of[r->plc->triangles[r->facet_start[f]][0]];
	if (status == RB_OK)
		status = rb_recover_sort_coarsely(r->ctx, key, n, r->mesh.ntets, order);
	RB_FREE(r->ctx->memory, key);
	return status;
}

/* Sorts the subfaces by facet; each facet has at least one, so the order is exact. */
static rb_status
sort_subfaces(rb_recovery *r)
{
	uint32_t *key = NULL, *order = NULL;
	rb_subface *sorted = NULL;
	rb_status status = RB_ALLOCATE(r->ctx, key, (size_t) r->nsubfaces + 1);

	for (uint32_t i = 0; i < r->nsubfaces && status == RB_OK; i++)
		key[i] = r->subfaces[i].facet;
	if (status == RB_OK)
		status = rb_recover_sort_coarsely(r->ctx, key, r->nsubfaces, r->plc->nfacets, &order);
	RB_FREE(r->ctx->memory, key);
	if (status == RB_OK)
		status = RB_ALLOCATE(r->ctx, sorted, (size_t) r->nsubfaces + 1);
	if (status == RB_OK)
	{
		for (uint32_t i = 0; i < r->nsubfaces; i++)
			sorted[i] = r->subfaces[order[i]];
		RB_FREE(r->ctx->memory, r->subfaces);
		r->subfaces = sorted;
		r->subfaces_cap = (size_t) r->nsubfaces + 1;
	}
	RB_FREE(r->ctx->memory, order);
	return status;
}

/* Finds the facets that have Steiner points inside. */
static rb_status
find_pointed(rb_recovery *r)
{
	RB_TRY(RB_ALLOCATE(r->ctx, r->pointed, (size_t) r->plc->nfacets + 1));
	memset(r->pointed, 0, r->plc->nfacets);
	for (uint32_t i = 0; i < r->nfacet_points; i++)
		r->pointed[r->parent[r->facet_points[i] - r->plc->npoints]] = true;
	return RB_OK;
}

rb_status
rb_recover_facets(rb_recovery *r, bool *again)
{
	const uint32_t n = r->plc->nfacets;
	struct rb_facet_work work;
	uint32_t lacking = 0;
	rb_status status;

	memset(&work, 0, sizeof work);
	r->work = &work;
	r->nsubfaces = 0;
	status = rb_cavity_open(r, &work.cavity);
	if (status == RB_OK)
		status = find_pointed(r);
	if (status == RB_OK)
		status = order_in_space(r, &work.order);
	if (status == RB_OK && r->mesh.large)
		status = r->seen == NULL ? find_complete_facets(r, work.order) : invalidate_changed(r);
	for (uint32_t f = 0; f < n && status == RB_OK; f++)
	{
		if ((f & 63) == 0)
		{
			rb_progress(r->ctx, RB_STAGE_MESH_FACETS, f, n);
			if (rb_should_stop(r->ctx))
				status = RB_STOPPED;
		}
		if (status == RB_OK)
			status = recover_facet(r, work.order[f], &lacking);
	}
	*again = lacking > 0;
	if (status == RB_OK && !*again)
		status = sort_subfaces(r);
	RB_FREE(r->ctx->memory, work.order);
	rb_cavity_close(r, &work.cavity);
	free_sheet(r->ctx->memory, &work.sheet);
	RB_FREE(r->ctx->memory, work.stack);
	r->work = NULL;
	return status;
}
