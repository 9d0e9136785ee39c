/*
 * recover_facets.c
 *	  Finds the faces of each facet that the mesh lacks, groups them into regions, and recovers
 *	  these.
 *
 * Faces that were recovered are never lost again, because cavities stop at constrained faces. If a
 * region cannot be recovered, because rounding has bent it, a Steiner point is added inside it, and
 * the whole recovery is repeated with these points. This is rare, so a more selective repetition
 * would not pay off.
 *
 * Nearly all faces exist from the start. For a large mesh, threads therefore first triangulate all
 * facets and find those that are complete, and where their faces are. When a facet is processed
 * later, it remains only to check that these faces are unchanged. A repeated recovery reuses this
 * result for all facets that have got no Steiner points since.
 */
#include "core/base/atomic.h"
#include "mesh/recover.h"

#define BLOCK RB_SIZE(256, 4) /* facets that a thread takes at once */

/* A face of a facet that existed when a thread checked it */
typedef struct rb_seen_face
{
	uint32_t v[3];
	rb_tet_face there;
} rb_seen_face;

/* Data of one thread that checks facets */
typedef struct rb_looker
{
	rb_sheet sheet;
	rb_seen_face *faces;
	uint32_t nfaces;
	size_t cap;
	char apart[64]; /* padding that keeps the threads' data on separate cache lines */
} rb_looker;

/* The list of a facet's faces, if the facet was complete */
typedef struct rb_complete_facet
{
	uint32_t looker;
	uint32_t from, n; /* n is 0 if the facet was not complete */
} rb_complete_facet;

struct rb_facets_seen
{
	rb_looker *lookers;
	uint32_t nlookers;
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

static rb_status
add_subface(rb_recovery *r, const uint32_t *v, uint32_t facet)
{
	RB_TRY(RB_GROW(r->ctx, r->subfaces, r->subfaces_cap, (size_t) r->nsubfaces + 1));
	r->subfaces[r->nsubfaces++] = (rb_subface){{v[0], v[1], v[2]}, facet};
	return RB_OK;
}

/* Marks face f of the mesh as constrained, from both sides; returns false if it was already. */
static bool
constrain_face(rb_recovery *r, rb_tet_face f)
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

static bool
has_edge(rb_recovery *r, uint32_t a, uint32_t b)
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
				rb_table_get(&r->piece_of, a, b, RB_NONE) != NULL || has_edge(r, a, b) ||
				!has_edge(r, x->v[i], sheet->faces[g >> 2].v[g & 3]))
				continue;
			any = rb_sheet_flip(r, sheet, f, i) || any;
		}
	return any;
}

/*
 * Groups missing faces into regions, numbered from 1. Faces are in one region if edges that are
 * missing, too, connect them.
 */
static rb_status
find_regions(rb_recovery *r, struct rb_facet_work *w, uint32_t *regions)
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
					has_edge(r, face->v[(i + 1) % 3], face->v[(i + 2) % 3]))
					continue;
				sheet->faces[g >> 2].region = count;
				w->stack[n++] = g >> 2;
			}
		}
	}
	*regions = count;
	return RB_OK;
}

static rb_status
add_point(rb_recovery *r, const double *at, uint32_t facet)
{
	uint32_t v;

	RB_TRY(rb_recover_point(r, at, RB_VERTEX_ON_FACET, facet, &v));
	RB_TRY(RB_GROW(r->ctx, r->facet_points, r->facet_points_cap, (size_t) r->nfacet_points + 1));
	r->facet_points[r->nfacet_points++] = v;
	return RB_OK;
}

rb_status
rb_recover_halve(rb_recovery *r, uint32_t a, uint32_t b, uint32_t facet)
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
	return add_point(r, at, facet);
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
		return rb_recover_halve(r, a, b, sheet->facet);
	for (int k = 0; k < 3; k++)
	{
		double x = rb_mesh_point(&r->mesh, v[0])[k];
		double y = rb_mesh_point(&r->mesh, v[1])[k];
		double z = rb_mesh_point(&r->mesh, v[2])[k];

		at[k] = x == y && y == z ? x : x / 3 + y / 3 + z / 3;
	}
	return add_point(r, at, sheet->facet);
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

static rb_status
add_seen(rb_recovery *r, rb_looker *l, const uint32_t *v, rb_tet_face there)
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
list_complete_facet(rb_recovery *r, bool sheets, rb_looker *l, uint32_t facet)
{
	rb_sheet *sheet = &l->sheet;
	rb_tet_face there;

	if (!sheets)
		return there_as_given(r, facet, &there)
				   ? add_seen(r, l, r->plc->triangles[r->facet_start[facet]], there)
				   : RB_OK;
	RB_TRY(rb_sheet_build(r, sheet, facet));
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
do_find_complete(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const rb_recovery *r = arg;
	struct rb_facets_seen *all = r->seen;
	const uint32_t number = rb_each_thread(me);
	rb_looker *l = &all->lookers[number];
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
	RB_TRY(RB_ALLOCATE(r->ctx, s->lookers, threads));
	memset(s->lookers, 0, threads * sizeof(rb_looker));
	s->nlookers = threads;
	s->npieces = r->npieces;
	RB_TRY(rb_array_grow(r->ctx, (void **) &r->mesh.points, &r->mesh.points_cap,
						 (size_t) r->mesh.npoints + threads, 3 * sizeof(double)));
	RB_TRY(rb_each(r->ctx, r->mesh.team, n, BLOCK, do_find_complete, r));
	if (s->others == 0)
		return RB_OK;
	s->sheets = true;
	RB_TRY(rb_recover_pieces(r));
	return rb_each(r->ctx, r->mesh.team, n, BLOCK, do_find_complete, r);
}

/* Invalidates the facets at which a segment was split since, or that have Steiner points inside. */
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
rb_recover_forget(rb_recovery *r)
{
	rb_memory *memory = r->ctx->memory;
	struct rb_facets_seen *s = r->seen;

	for (uint32_t i = 0; s != NULL && i < s->nlookers; i++)
	{
		rb_sheet_free(memory, &s->lookers[i].sheet);
		RB_FREE(memory, s->lookers[i].faces);
	}
	if (s != NULL)
	{
		RB_FREE(memory, s->lookers);
		RB_FREE(memory, s->facets);
	}
	RB_FREE(memory, r->seen);
}

static bool
still_there(const rb_mesh *m, const rb_seen_face *face)
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
	const rb_seen_face *faces = r->seen->lookers[seen->looker].faces + seen->from;

	*done = true;
	for (uint32_t i = 0; i < seen->n && *done; i++)
		*done = still_there(&r->mesh, &faces[i]);
	for (uint32_t i = 0; i < seen->n && *done; i++)
	{
		if (!constrain_face(r, faces[i].there))
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

		if (!constrain_face(r, f))
			return face_twice(r, v, facet);
		return add_subface(r, v, facet);
	}
	RB_TRY(rb_sheet_build(r, sheet, facet));
	missing = find_missing_faces(r, sheet);
	if (missing > 0 && follow_mesh(r, sheet))
		missing = find_missing_faces(r, sheet);
	/* Constrain the existing faces before creating cavities around the others. */
	for (uint32_t i = 0; i < sheet->n; i++)
	{
		const uint32_t *v = sheet->faces[i].v;

		if (sheet->faces[i].region == 0)
		{
			if (rb_mesh_find_face(&r->mesh, v[0], v[1], v[2], &f) && !constrain_face(r, f))
				return face_twice(r, v, facet);
		}
		RB_TRY(add_subface(r, v, facet));
	}
	if (missing > 0)
		RB_TRY(find_regions(r, w, &regions));
	for (uint32_t i = 1; i <= regions; i++)
	{
		bool done;

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
		status = rb_recover_order(r->ctx, key, n, r->mesh.ntets, order);
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
		status = rb_recover_order(r->ctx, key, r->nsubfaces, r->plc->nfacets, &order);
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
	rb_sheet_free(r->ctx->memory, &work.sheet);
	RB_FREE(r->ctx->memory, work.stack);
	r->work = NULL;
	return status;
}
