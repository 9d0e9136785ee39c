/*
 * import.c
 *	  Converts a tetrahedralization to cells and vertices (tets.h).
 *
 * If the mesh extends to the hull, parts of its boundary are on no facet. There, adjacent faces in
 * one plane form a facet of their own, and edges between two such facets become segments. They are
 * refined like those of the input but do not appear in the result. If some of these faces are
 * coplanar only up to rounding, hull.c groups them; tetrahedra there that have no height are
 * removed first.
 */
#include "refine/refining.h"

#include "core/base/bucket.h"
#include "core/base/sort.h"
#include "core/base/union_find.h"
#include "mesh/hash_table.h"

/* ---- allocation ---- */

rb_status
rb_refining_reserve(rb_refining *r, size_t cells, size_t sites)
{
	rb_cells *m = &r->mesh;

	RB_TRY(RB_GROW(r->ctx, m->cells, r->cells_cap, cells));
	RB_TRY(RB_GROW(r->ctx, m->sites, r->sites_cap, sites));
	RB_TRY(RB_GROW(r->ctx, m->kind, r->kind_cap, sites));
	return RB_GROW(r->ctx, m->parent, r->parent_cap, sites);
}

void
rb_refining_free(rb_refining *r)
{
	rb_memory *memory = r->ctx->memory;

	RB_FREE(memory, r->mesh.cells);
	RB_FREE(memory, r->mesh.sites);
	RB_FREE(memory, r->mesh.kind);
	RB_FREE(memory, r->mesh.parent);
	RB_FREE(memory, r->free);
	RB_FREE(memory, r->blocked);
	RB_FREE(memory, r->abandoned);
	RB_FREE(memory, r->segments);
	RB_FREE(memory, r->crease_facet);
	RB_FREE(memory, r->segment_order);
	RB_FREE(memory, r->facet_start);
	RB_FREE(memory, r->facet_corners);
	RB_FREE(memory, r->planes);
	RB_FREE(memory, r->regions);
	RB_FREE(memory, r->region_volume);
	RB_FREE(memory, r->facet_of);
	RB_FREE(memory, r->sizes_start);
	RB_FREE(memory, r->sizes_points);
}

/* ---- threads ---- */

#define BLOCK RB_SIZE(8192, 32) /* Tetrahedra, vertices or list items that a thread takes at once */
#define RINGS RB_SIZE(512, 8)  /* Ghosts that a thread takes at once to traverse three rings each */
#define KEYS RB_SIZE(4096, 16) /* Lists that a thread sorts at once */

/* Regions in ascending order */
typedef struct regions
{
	int64_t *of;
	uint32_t n;
	size_t cap;
} regions;

/* Many short lists in one array: list k is e[at[k]] to e[at[k + 1] - 1], ascending */
typedef struct lists
{
	uint64_t *e;
	uint32_t *at;
	uint32_t keys;
} lists;

/* Scratch data of the import */
typedef struct start
{
	rb_refining *r;
	const rb_tets *tets;
	rb_thread *team;
	regions *found; /* Regions that each thread found */
	/* For each block of tetrahedra, the number of its ghosts; later, the slot of the first one */
	uint32_t *ghost_at;
	/* Faces of facets, by smallest corner: the next corner, and the face number */
	lists faces;
	lists edges;     /* Edges of segments, by smaller end: the larger end, and the edge number */
	uint32_t *ends;  /* For each edge of a ghost, the other end of the fan of cells there */
	uint8_t *marks;  /* For each ghost: bit 0 if it is on no facet, then bits of its edges */
	uint32_t *group; /* Union-find parent of each ghost within its facet */
	uint32_t *facet; /* Hull facet of each ghost that is on no input facet */
} start;

/* Runs a step of the import over n elements, on its team. */
static rb_status
run_import_loop(start *s, uint64_t n, uint64_t grain, rb_work work)
{
	return rb_each(s->r->ctx, s->team, n, grain, work, s);
}

/* Runs a step of the import that fills fresh memory, on its team. */
static rb_status
run_import_fill(start *s, uint64_t n, uint64_t grain, rb_work work)
{
	return rb_each_fill(s->r->ctx, s->team, n, grain, work, s);
}

/*
 * Returns true if a stop was requested while the hull of the imported mesh is grouped; checks only
 * at every 16,384th element.
 */
static bool
should_stop_grouping_hull(const start *s, uint32_t i)
{
	return (i & 0x3fff) == 0x3fff && rb_should_stop(s->r->ctx);
}

/* ---- lists ---- */

typedef enum what
{
	FACES,    /* Faces of facets */
	EDGES,    /* Edges of segments */
	SEGMENTS, /* Segments, by smaller end: the larger end, and the segment number */
	/*
	 * Edges of ghosts, one for both ends of a fan of cells, by smaller end: the larger end, and the
	 * edge number
	 */
	CHAINS,
	CORNERS /* Corners, by facet */
} what;

typedef struct listing
{
	start *s;
	lists *l;
	what what;
	bool counting;
} listing;

/*
 * Writes an edge as a list entry (larger end, number). Returns the number of its list, which is
 * the smaller end.
 */
static inline uint32_t
entry_by_ends(uint32_t a, uint32_t b, uint64_t number, uint64_t *e)
{
	*e = (uint64_t) (a < b ? b : a) << 32 | number;
	return a < b ? a : b;
}

/*
 * Returns the list by key to which item i of the tetrahedralization belongs, or RB_NONE, and sets
 * *e to its list entry.
 */
static inline uint32_t
list_of_imported_item(const listing *g, uint64_t i, uint64_t *e)
{
	const rb_tets *tets = g->s->tets;
	const rb_cell *ghosts = g->s->r->mesh.cells + tets->ntets;
	const uint32_t *v;
	uint32_t key[3], k;

	switch (g->what)
	{
		case FACES:
			rb_table_key(key, tets->faces[i][0], tets->faces[i][1], tets->faces[i][2]);
			*e = (uint64_t) key[1] << 32 | i;
			return key[0];
		case EDGES:
			return entry_by_ends(tets->edges[i][0], tets->edges[i][1], i, e);
		case SEGMENTS:
			return entry_by_ends(g->s->r->segments[i][0], g->s->r->segments[i][1], i, e);
		case CHAINS:
			k = 1 + (uint32_t) (i % 3);
			v = ghosts[i / 3].v;
			if (g->s->ends[i] < ((tets->ntets + (uint32_t) (i / 3)) << 2 | k))
				return RB_NONE; /* The ghost at the other end of the fan lists the edge */
			return entry_by_ends(v[k == 1 ? 2 : 1], v[k == 3 ? 2 : 3], i, e);
		default:
			break;
	}
	/* CORNERS: vertices of the input on faces of facets; for hull facets, all vertices */
	if (i < 3 * (uint64_t) tets->nfaces)
	{
		*e = (uint64_t) tets->faces[i / 3][i % 3] << 32;
		return tets->kind[*e >> 32] == RB_VERTEX_INPUT ? tets->face_facet[i / 3] : RB_NONE;
	}
	i -= 3 * (uint64_t) tets->nfaces;
	*e = (uint64_t) ghosts[i / 3].v[1 + i % 3] << 32;
	return ghosts[i / 3].facet[0] >= g->s->r->nfacets ? ghosts[i / 3].facet[0] : RB_NONE;
}

/*
 * Counts the entries of each list or, in the second pass, stores them. Consecutive items of the
 * same list take one atomic addition.
 */
static void
count_or_list_entries_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const listing *g = arg;
	uint64_t e[64];
	uint32_t key = RB_NONE, n = 0;

	(void) me;
	for (uint64_t i = from; i <= to; i++)
	{
		uint64_t next = 0;
		const uint32_t other = i < to ? list_of_imported_item(g, i, &next) : RB_NONE;

		if (n > 0 && (other != key || n == 64))
		{
			const uint32_t place = rb_add(&g->l->at[key + 1], n);

			if (!g->counting)
				memcpy(g->l->e + place, e, n * sizeof *e);
			n = 0;
		}
		key = other;
		if (key != RB_NONE)
			e[n++] = next;
	}
}

/* Sorts the lists, so that they do not depend on which thread stored what. */
static void
sort_lists_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const listing *g = arg;

	(void) me;
	for (uint64_t k = from; k < to; k++)
		if (rb_sort_words(g->s->r->ctx, g->l->e + g->l->at[k], g->l->at[k + 1] - g->l->at[k]) !=
			RB_OK)
			return; /* The loop reports the stop as well */
}

/* Builds the lists of items by key: counts the items, computes the starts, and sorts each list. */
static rb_status
build_lists_by_key(start *s, what what, uint32_t keys, uint64_t items, lists *l)
{
	rb_refining *r = s->r;
	listing g = {s, l, what, true};
	uint32_t sum = 0;

	if (items >= UINT32_MAX)
		return rb_fail(r->ctx, RB_TOO_MANY_OBJECTS, items, UINT32_MAX, NULL);
	RB_TRY(RB_ALLOCATE(r->ctx, l->at, (size_t) keys + 2));
	memset(l->at, 0, ((size_t) keys + 2) * sizeof *l->at);
	RB_TRY(rb_each(r->ctx, s->team, items, BLOCK, count_or_list_entries_piece, &g));
	/* at[k + 1] is the start of list k until the list is filled, and then its end. */
	for (uint32_t k = 1; k <= keys; k++)
	{
		const uint32_t n = l->at[k];

		l->at[k] = sum;
		sum += n;
	}
	l->keys = keys;
	g.counting = false;
	RB_TRY(RB_ALLOCATE(r->ctx, l->e, (size_t) sum + 1));
	RB_TRY(rb_each(r->ctx, s->team, items, BLOCK, count_or_list_entries_piece, &g));
	return rb_each(r->ctx, s->team, keys, KEYS, sort_lists_piece, &g);
}

/* Frees the lists of faces, edges or corners that the import has made. */
static void
free_lists(rb_memory *memory, lists *l)
{
	RB_FREE(memory, l->e);
	RB_FREE(memory, l->at);
}

/* Returns the position of the first entry in list k whose upper half is not less than b. */
static inline uint32_t
first_entry_in_import_list(const lists *l, uint32_t k, uint32_t b)
{
	return l->at[k] + (uint32_t) rb_words_lower_bound(l->e + l->at[k], l->at[k + 1] - l->at[k],
													  (uint64_t) b << 32);
}

/* Returns true if ab is an edge on a segment. */
static inline bool
is_import_edge_on_segment(const start *s, uint32_t a, uint32_t b)
{
	const lists *l = &s->edges;
	const uint32_t low = a < b ? a : b, high = a < b ? b : a;
	const uint32_t i = first_entry_in_import_list(l, low, high);

	return i < l->at[low + 1] && l->e[i] >> 32 == high;
}

/*
 * Returns the facet that a face of an imported cell is on, found by its corners, or RB_NOWHERE if
 * it is on none.
 */
static inline uint32_t
facet_of_imported_face(const start *s, const uint32_t *v)
{
	const lists *l = &s->faces;
	uint32_t key[3];

	rb_table_key(key, v[0], v[1], v[2]);
	for (uint32_t i = first_entry_in_import_list(l, key[0], key[1]);
		 i < l->at[key[0] + 1] && l->e[i] >> 32 == key[1]; i++)
	{
		const uint32_t *f = s->tets->faces[(uint32_t) l->e[i]];

		if (f[0] == key[2] || f[1] == key[2] || f[2] == key[2])
			return s->tets->face_facet[(uint32_t) l->e[i]];
	}
	return RB_NOWHERE;
}

/* ---- vertices and cells ---- */

/* Copies a range of points to vertices. */
static void
import_points_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const start *s = arg;
	const rb_tets *tets = s->tets;
	rb_cells *m = &s->r->mesh;

	(void) me;
	for (uint64_t i = from; i < to; i++)
	{
		memcpy(m->sites[i].at, tets->points + 3 * i, sizeof m->sites[i].at);
		m->sites[i].radius = 0;
		m->kind[i] = tets->kind[i] == RB_VERTEX_ON_HULL ? RB_VERTEX_INSIDE : tets->kind[i];
		m->parent[i] = tets->parent[i];
	}
}

/*
 * Returns the position of a region in the list of imported regions, or the position to insert it.
 */
static uint32_t
position_of_imported_region(const regions *in, int64_t region)
{
	return (uint32_t) rb_ids_lower_bound(in->of, in->n, region);
}

/* Inserts a region into an ordered list unless it is there. */
static rb_status
add_region(rb_context *ctx, regions *in, int64_t region)
{
	const uint32_t place = position_of_imported_region(in, region);

	if (place < in->n && in->of[place] == region)
		return RB_OK;
	RB_TRY(RB_GROW(ctx, in->of, in->cap, (size_t) in->n + 1));
	memmove(in->of + place + 1, in->of + place, (in->n - place) * sizeof *in->of);
	in->of[place] = region;
	in->n++;
	return RB_OK;
}

/* Collects the regions of a block of tetrahedra, and counts its ghosts. */
static void
count_cells_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	start *s = arg;
	const rb_tets *tets = s->tets;
	regions *found = &s->found[rb_each_thread(me)];
	rb_status status = RB_OK;
	uint32_t ghosts = 0;

	for (uint64_t i = 4 * from; i < 4 * to; i++)
		ghosts += tets->neighbours[i] == RB_NONE;
	s->ghost_at[from / BLOCK] = ghosts;
	for (uint64_t i = from; i < to && status == RB_OK; i++)
		if (i == from || tets->region[i] != tets->region[i - 1])
			status = add_region(s->r->ctx, found, tets->region[i]);
}

/* Merges the regions that the threads found, and looks up their volume bounds. */
static rb_status
merge_imported_regions(start *s)
{
	rb_refining *r = s->r;
	const rb_refine_options *o = r->options;
	regions all = {r->regions, r->nregions, r->nregions};
	rb_status status = RB_OK;

	for (uint32_t t = 0; t < rb_each_threads(s->team); t++)
		for (uint32_t i = 0; i < s->found[t].n && status == RB_OK; i++)
			status = add_region(r->ctx, &all, s->found[t].of[i]);
	r->regions = all.of;
	r->nregions = all.n;
	if (status != RB_OK || o->nregion_volumes == 0)
		return status;
	RB_TRY(RB_ALLOCATE(r->ctx, r->region_volume, r->nregions + 1));
	for (uint32_t i = 0, k = 0; i < r->nregions; i++)
	{
		while (k < o->nregion_volumes && o->region_volumes[k].region < r->regions[i])
			k++;
		r->region_volume[i] = k < o->nregion_volumes && o->region_volumes[k].region == r->regions[i]
								  ? o->region_volumes[k].volume
								  : INFINITY;
	}
	return RB_OK;
}

/* Counts cells and regions, and allocates room for them. */
static rb_status
count_cells_and_regions(start *s)
{
	rb_refining *r = s->r;
	const rb_tets *tets = s->tets;
	const uint32_t nblocks = tets->ntets / BLOCK + 1, threads = rb_each_threads(s->team);
	uint64_t cells = tets->ntets;

	RB_TRY(RB_ALLOCATE(r->ctx, s->found, threads));
	memset(s->found, 0, threads * sizeof *s->found);
	RB_TRY(RB_ALLOCATE(r->ctx, s->ghost_at, nblocks));
	s->ghost_at[nblocks - 1] = 0; /* The last block may be empty */
	RB_TRY(run_import_loop(s, tets->ntets, BLOCK, count_cells_piece));
	for (uint32_t b = 0; b < nblocks; b++)
	{
		const uint32_t ghosts = s->ghost_at[b];

		s->ghost_at[b] = (uint32_t) cells;
		cells += ghosts;
	}
	if (cells >= RB_MAX_CELLS)
		return rb_fail(r->ctx, RB_TOO_MANY_OBJECTS, cells, RB_MAX_CELLS, NULL);
	RB_TRY(merge_imported_regions(s));
	RB_TRY(rb_refining_reserve(r, cells, tets->npoints));
	r->ncells = (uint32_t) cells;
	r->nsites = tets->npoints;
	return RB_OK;
}

/* Returns the corner opposite to the face at which a neighbor is. */
static uint32_t
corner_towards_imported_neighbor(const rb_tets *tets, uint32_t tet, uint32_t from)
{
	uint32_t k = 0;

	while (k < 3 && tets->neighbours[4 * (size_t) tet + k] != from)
		k++;
	return k;
}

/*
 * Builds the tetrahedra, and a ghost behind each face of the boundary. Links between ghosts are set
 * later.
 */
static void
import_cells_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const start *s = arg;
	const rb_tets *tets = s->tets;
	const regions in = {s->r->regions, s->r->nregions, 0};
	rb_cell *cells = s->r->mesh.cells;
	uint32_t ghost = s->ghost_at[from / BLOCK];

	(void) me;
	for (uint32_t t = (uint32_t) from; t < to; t++)
	{
		rb_cell *c = &cells[t];

		memcpy(c->v, tets->tets[t], sizeof c->v);
		c->bits = 0;
		c->claim = 0;
		c->region = t > from && tets->region[t] == tets->region[t - 1]
						? cells[t - 1].region
						: position_of_imported_region(&in, tets->region[t]);
		for (uint32_t e = 0; e < 6; e++)
			if (is_import_edge_on_segment(s, c->v[rb_cell_edge_from(e)], c->v[rb_cell_edge_to(e)]))
				c->bits |= RB_CELL_SEGMENT(e);
		for (uint32_t i = 0; i < 4; i++)
		{
			uint32_t beyond = tets->neighbours[4 * (size_t) t + i];
			uint32_t v[3];

			for (uint32_t k = 0; k < 3; k++)
				v[k] = c->v[rb_cell_face_corner(i, k)];
			c->facet[i] = facet_of_imported_face(s, v);
			if (c->facet[i] != RB_NOWHERE || beyond == RB_NONE)
				c->bits |= RB_CELL_WALL(i);
			c->n[i] = beyond != RB_NONE
						  ? beyond << 2 | corner_towards_imported_neighbor(tets, beyond, t)
						  : ghost << 2;
			if (beyond == RB_NONE)
				rb_ghost_make(&cells[ghost++], c, t, i);
		}
	}
}

/* Makes the cells and marks their constrained faces and subsegments. */
static rb_status
make_imported_cells(start *s)
{
	const rb_tets *tets = s->tets;
	rb_status status = build_lists_by_key(s, FACES, tets->npoints, tets->nfaces, &s->faces);

	if (status == RB_OK)
		status = build_lists_by_key(s, EDGES, tets->npoints, tets->nedges, &s->edges);
	if (status == RB_OK)
		status = run_import_fill(s, tets->ntets, BLOCK, import_cells_piece);
	free_lists(s->r->ctx->memory, &s->faces);
	free_lists(s->r->ctx->memory, &s->edges);
	return status;
}

/* ---- rings around edges of the boundary ---- */

/* Returns the number of ghosts, whose cells follow those of the tetrahedra. */
static uint32_t
count_imported_ghosts(const start *s)
{
	return s->r->ncells - s->tets->ntets;
}

/*
 * Finds the other end of the fan of cells around the edge of ghost g opposite to `corner`. Returns
 * the ghost there << 2 | its corner opposite to the face through which the ring continues.
 */
static uint32_t
other_end_of_imported_ring(const rb_cells *m, uint32_t g, uint32_t corner)
{
	const rb_cell *c = &m->cells[g];
	uint32_t a = c->v[corner == 1 ? 2 : 1], b = c->v[corner == 3 ? 2 : 3];
	rb_edge_ring ring = rb_ring_at(g, 0, a, b);

	do
		rb_ring_next(m, &ring);
	while (!rb_cell_ghost(&m->cells[ring.cell]));
	c = &m->cells[ring.cell];
	return ring.cell << 2 | (6 - rb_cell_corner(c, a) - rb_cell_corner(c, b));
}

/* Finds the other end of the cell ring at each edge of a range of ghosts. */
static void
find_ring_ends_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const start *s = arg;

	(void) me;
	for (uint64_t i = from; i < to; i++)
		for (uint32_t k = 0; k < 3; k++)
			s->ends[3 * i + k] =
				other_end_of_imported_ring(&s->r->mesh, s->tets->ntets + (uint32_t) i, k + 1);
}

/* Links two faces of cells (cell << 2 | corner) as neighbors of each other. */
static void
link_two_faces(rb_cells *m, uint32_t f, uint32_t g)
{
	m->cells[f >> 2].n[f & 3] = g;
	m->cells[g >> 2].n[g & 3] = f;
}

/*
 * Links ghosts where two boundary faces meet at an edge. If more than two do, all cells around the
 * edge form one ring.
 */
static void
link_ghosts_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const listing *g = arg;
	const start *s = g->s;
	const lists *l = g->l;
	rb_cells *m = &s->r->mesh;

	(void) me;
	for (uint64_t key = from; key < to; key++)
	{
		uint32_t first = 0, last = 0;

		for (uint32_t i = l->at[key]; i < l->at[key + 1]; i++)
		{
			const uint32_t at = (uint32_t) l->e[i];
			const uint32_t begins = (s->tets->ntets + at / 3) << 2 | (1 + at % 3);
			const uint32_t ends = s->ends[at];

			/* Start a new edge, or extend the ring of the current one. */
			if (i == l->at[key] || l->e[i] >> 32 != l->e[i - 1] >> 32)
				first = begins;
			else
				link_two_faces(m, last, begins);
			last = ends;
			link_two_faces(m, first, last);
		}
	}
}

/* Links ghosts with each other. */
static rb_status
link_ghosts(start *s)
{
	rb_refining *r = s->r;
	const uint32_t n = count_imported_ghosts(s);
	lists chains = {NULL, NULL, 0};
	listing g = {s, &chains, CHAINS, false};
	rb_status status = RB_ALLOCATE(r->ctx, s->ends, 3 * (size_t) n + 1);

	if (status == RB_OK)
		status = run_import_loop(s, n, RINGS, find_ring_ends_piece);
	if (status == RB_OK)
		status = build_lists_by_key(s, CHAINS, s->tets->npoints, 3 * (uint64_t) n, &chains);
	if (status == RB_OK)
		status = rb_each(r->ctx, s->team, s->tets->npoints, KEYS, link_ghosts_piece, &g);
	free_lists(r->ctx->memory, &chains);
	RB_FREE(r->ctx->memory, s->ends);
	return status;
}

/* ---- facets and segments that represent the hull ---- */

/*
 * Returns true if the face of ghost g and the adjacent face across the edge opposite to corner k
 * are exactly coplanar.
 */
static bool
is_imported_ghost_coplanar(const start *s, uint32_t g, uint32_t k)
{
	rb_cells *m = &s->r->mesh;
	const rb_cell *c = &m->cells[g];
	const rb_cell *o = &m->cells[c->n[k] >> 2];
	rb_exact_env env = {.filters = s->r->ctx->filters, .exact = true};

	return rb_orient3d_at(&env, rb_site_at(m, c->v[1]), rb_site_at(m, c->v[2]),
						  rb_site_at(m, c->v[3]), rb_site_at(m, o->v[c->n[k] & 3])) == 0;
}

/* Returns the segment bit of the edge opposite to corner k on the face of a ghost. */
static uint32_t
edge_opposite(uint32_t k)
{
	return RB_CELL_SEGMENT(rb_cell_edge(k == 1 ? 2 : 1, k == 3 ? 2 : 3));
}

/*
 * Returns true if the face of an imported ghost g and the adjacent face across the edge opposite
 * to corner k may be coplanar up to rounding.
 */
static bool
is_imported_ghost_nearly_coplanar(const start *s, uint32_t g, uint32_t k)
{
	const rb_cells *m = &s->r->mesh;
	const rb_cell *c = &m->cells[g];
	const rb_cell *o = &m->cells[c->n[k] >> 2];

	return rb_hull_is_flat(s->r, rb_site_at(m, c->v[1]), rb_site_at(m, c->v[2]),
						   rb_site_at(m, c->v[3]), rb_site_at(m, o->v[c->n[k] & 3]));
}

/* Mark: across an edge, the hull continues in the plane of the face up to rounding */
#define NEAR 0x10

/*
 * Marks imported ghosts that are on no facet, and their edges across which the hull continues in
 * the same plane. Each such edge is marked only at the first of its two ghosts.
 */
static void
mark_imported_flat_edges_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const start *s = arg;
	const rb_cells *m = &s->r->mesh;

	(void) me;
	for (uint64_t i = from; i < to; i++)
	{
		const uint32_t g = s->tets->ntets + (uint32_t) i;
		const rb_cell *c = &m->cells[g];

		s->marks[i] = c->facet[0] == RB_NOWHERE;
		for (uint32_t k = 1; k < 4 && s->marks[i] != 0; k++)
		{
			const uint32_t o = c->n[k] >> 2;

			if (g >= o || m->cells[o].facet[0] != RB_NOWHERE || (c->bits & edge_opposite(k)) != 0)
				continue;
			if (is_imported_ghost_coplanar(s, g, k))
				s->marks[i] |= (uint8_t) (1u << k);
			else if (is_imported_ghost_nearly_coplanar(s, g, k))
				s->marks[i] |= NEAR;
		}
	}
}

/* Assigns the facets of the grouped hull to a range of ghosts and to the cells behind them. */
static void
import_hull_facets_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const start *s = arg;
	rb_cells *m = &s->r->mesh;

	(void) me;
	for (uint64_t i = from; i < to; i++)
		if (s->marks[i] != 0)
		{
			rb_cell *c = &m->cells[s->tets->ntets + i];

			c->facet[0] = s->facet[i];
			m->cells[c->n[0] >> 2].facet[c->n[0] & 3] = s->facet[i];
		}
}

/* Groups the coplanar faces of the hull into facets. */
static rb_status
group_imported_hull(start *s)
{
	rb_refining *r = s->r;
	const rb_cell *ghosts = r->mesh.cells + s->tets->ntets;
	const uint32_t base = s->tets->ntets, n = count_imported_ghosts(s);
	uint8_t found = 0;

	RB_TRY(RB_ALLOCATE(r->ctx, s->marks, (size_t) n + 1));
	RB_TRY(RB_ALLOCATE(r->ctx, s->group, (size_t) n + 1));
	RB_TRY(RB_ALLOCATE(r->ctx, s->facet, (size_t) n + 1));
	RB_TRY(run_import_loop(s, n, RINGS, mark_imported_flat_edges_piece));
	for (uint32_t g = 0; g < n; g++)
		found |= s->marks[g];
	if ((found & NEAR) != 0)
		return rb_hull_group(r, base);
	rb_union_find_init(s->group, n);
	for (uint32_t g = 0; g < n; g++)
	{
		for (uint32_t k = 1; k < 4 && s->marks[g] > 1; k++)
			if ((s->marks[g] >> k & 1) != 0)
				rb_unite(s->group, g, (ghosts[g].n[k] >> 2) - base);
		if (should_stop_grouping_hull(s, g))
			return RB_STOPPED;
	}
	/* The root of a group precedes its other members. */
	for (uint32_t g = 0; g < n; g++)
		if (s->marks[g] != 0)
		{
			const uint32_t root = rb_find_root(s->group, g);

			s->facet[g] = root == g ? r->all_facets++ : s->facet[root];
		}
	return run_import_loop(s, n, BLOCK, import_hull_facets_piece);
}

/* Marks edges between two facets that are not on a segment. */
static void
mark_creases_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const start *s = arg;
	const rb_cells *m = &s->r->mesh;

	(void) me;
	for (uint64_t i = from; i < to; i++)
	{
		const rb_cell *c = &m->cells[s->tets->ntets + i];

		s->marks[i] = 0;
		for (uint32_t k = 1; k < 4; k++)
			if ((c->bits & edge_opposite(k)) == 0 && m->cells[c->n[k] >> 2].facet[0] != c->facet[0])
				s->marks[i] |= (uint8_t) (1u << k);
	}
}

/*
 * Turns edge ab, which is opposite to corner k of ghost g, into a segment of the hull. Returns the
 * facet of the input that has faces at this edge, or RB_NOWHERE if there is none.
 */
static uint32_t
mark_crease_ring(rb_refining *r, uint32_t g, uint32_t k, uint32_t a, uint32_t b)
{
	rb_cells *m = &r->mesh;
	rb_edge_ring ring = rb_ring_at(g, k, a, b);
	uint32_t facet = RB_NOWHERE;

	do
	{
		rb_cell *c = &m->cells[ring.cell];

		c->bits |= RB_CELL_SEGMENT(rb_cell_edge(rb_cell_corner(c, a), rb_cell_corner(c, b)));
		if ((c->bits & RB_CELL_WALL(ring.to)) != 0 && c->facet[ring.to] < r->nfacets)
			facet = c->facet[ring.to];
		rb_ring_next(m, &ring);
	} while (ring.cell != g);
	return facet;
}

/*
 * Turns the edges between two hull facets, or between a hull facet and one of the input, into
 * segments. Such an edge may be inside of a facet of the input: where a facet lies on the hull up to
 * rounding, some of its faces are on the hull, and others are behind it. As the edge is on no
 * segment of the input, all faces of the input at the edge are on this facet.
 */
static rb_status
crease_imported_hull(start *s)
{
	rb_refining *r = s->r;
	rb_cells *m = &r->mesh;
	const uint32_t base = s->tets->ntets, n = count_imported_ghosts(s);

	RB_TRY(run_import_loop(s, n, BLOCK, mark_creases_piece));
	for (uint32_t i = 0; i < n; i++)
	{
		const uint32_t g = base + i;

		for (uint32_t k = 1; k < 4 && s->marks[i] != 0; k++)
		{
			const rb_cell *c = &m->cells[g];
			const uint32_t a = c->v[k == 1 ? 2 : 1], b = c->v[k == 3 ? 2 : 3];
			const uint32_t number = m->nsegments - r->nsegments;

			/* The edge may have become a segment already. */

			if ((s->marks[i] >> k & 1) == 0 || (c->bits & edge_opposite(k)) != 0)
				continue;
			RB_TRY(RB_GROW(r->ctx, r->segments, r->segments_cap, (size_t) m->nsegments + 1));
			RB_TRY(RB_GROW(r->ctx, r->crease_facet, r->crease_facet_cap, (size_t) number + 1));
			r->segments[m->nsegments][0] = a;
			r->segments[m->nsegments++][1] = b;
			r->crease_facet[number] = mark_crease_ring(r, g, k, a, b);
		}
		if ((i & 0xff) == 0xff && rb_should_stop(r->ctx))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* ---- segments and corners of facets ---- */

/* Writes a range of the order of imported segments by their ends. */
static void
order_imported_segments_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const listing *g = arg;

	(void) me;
	for (uint64_t i = from; i < to; i++)
		g->s->r->segment_order[i] = (uint32_t) g->l->e[i];
}

/* Orders the segments by their ends. */
static rb_status
sort_segments_by_ends(start *s)
{
	rb_refining *r = s->r;
	const uint32_t n = r->mesh.nsegments;
	lists l = {NULL, NULL, 0};
	listing g = {s, &l, SEGMENTS, false};
	rb_status status = RB_ALLOCATE(r->ctx, r->segment_order, (size_t) n + 1);

	if (status == RB_OK)
		status = build_lists_by_key(s, SEGMENTS, r->nsites, n, &l);
	if (status == RB_OK)
		status = rb_each(r->ctx, s->team, n, BLOCK, order_imported_segments_piece, &g);
	free_lists(r->ctx->memory, &l);
	return status;
}

/*
 * Writes the corners of a facet to `to` unless it is NULL, each corner once, and returns their
 * number.
 */
static uint32_t
write_facet_corners(const listing *g, uint64_t facet, uint32_t *to)
{
	const uint32_t end = g->l->at[facet + 1];
	uint32_t n = 0;

	for (uint32_t i = g->l->at[facet]; i < end; i++)
	{
		if (i + 1 < end && g->l->e[i] == g->l->e[i + 1])
			continue;
		if (to != NULL)
			to[n] = (uint32_t) (g->l->e[i] >> 32);
		n++;
	}
	return n;
}

/* Stores the number of vertices on the faces of each imported facet f in facet_start[f + 1]. */
static void
count_imported_corners_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const listing *g = arg;

	(void) me;
	for (uint64_t f = from; f < to; f++)
		g->s->r->facet_start[f + 1] = write_facet_corners(g, f, NULL);
}

/* Writes the corners of a range of facets. */
static void
list_facet_corners_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const listing *g = arg;
	const rb_refining *r = g->s->r;

	(void) me;
	for (uint64_t f = from; f < to; f++)
		write_facet_corners(g, f, r->facet_corners + r->facet_start[f]);
}

/*
 * Lists the corners of each facet. These are the input vertices on its faces; for a hull facet,
 * all vertices on its faces.
 */
static rb_status
list_imported_facet_corners(start *s)
{
	rb_refining *r = s->r;
	const uint32_t nfacets = r->all_facets;
	lists l = {NULL, NULL, 0};
	listing g = {s, &l, CORNERS, false};
	rb_status status = build_lists_by_key(
		s, CORNERS, nfacets, 3 * ((uint64_t) s->tets->nfaces + count_imported_ghosts(s)), &l);

	if (status == RB_OK)
		status = RB_ALLOCATE(r->ctx, r->facet_start, (size_t) nfacets + 2);
	if (status == RB_OK)
		status = rb_each(r->ctx, s->team, nfacets, KEYS, count_imported_corners_piece, &g);
	if (status == RB_OK)
	{
		r->facet_start[0] = 0;
		for (uint32_t f = 0; f < nfacets; f++)
			r->facet_start[f + 1] += r->facet_start[f];
		status = RB_ALLOCATE(r->ctx, r->facet_corners, (size_t) r->facet_start[nfacets] + 1);
	}
	if (status == RB_OK)
		status = rb_each(r->ctx, s->team, nfacets, KEYS, list_facet_corners_piece, &g);
	free_lists(r->ctx->memory, &l);
	return status;
}

/* ---- planes of facets ---- */

/* Returns the coordinates of corner i of a facet. */
static const double *
get_facet_corner(const rb_refining *r, uint32_t facet, uint32_t i)
{
	return rb_site_at(&r->mesh, r->facet_corners[r->facet_start[facet] + i]);
}

/*
 * Computes the cross product of the vectors from a to b and to c, rounded to the nearest doubles
 * from twice as many digits.
 */
static void
compute_normal_of_corners(const double *a, const double *b, const double *c, double *n)
{
	rb_double_double u[3], v[3], w[3];

	for (int i = 0; i < 3; i++)
	{
		u[i] = rb_double_double_difference(b[i], a[i]);
		v[i] = rb_double_double_difference(c[i], a[i]);
	}
	rb_double_double_cross(u, v, w);
	for (int i = 0; i < 3; i++)
		n[i] = w[i].high;
}

/* Returns the distance of a point from a plane, times the length of the plane's normal. */
static double
compute_distance_times_normal(const rb_facet_plane *p, const double *at)
{
	rb_double_double from[3], n[3];

	for (int i = 0; i < 3; i++)
	{
		from[i] = rb_double_double_difference(at[i], p->at[i]);
		n[i] = rb_double_double_of(p->normal[i]);
	}
	return fabs(rb_double_double_dot(from, n).high);
}

/*
 * Computes the plane of a facet: that of its first corner, of the corner farthest from it, and of
 * the one that makes the largest triangle with these two. A facet is flat if no corner is farther
 * from this plane than rounding explains (flatness.h). Otherwise it gets no plane: within a
 * tolerance, the surface may be anywhere between the corners, and a point on a plane may be far from
 * the faces that it splits.
 */
static rb_status
find_plane_of_facet(rb_refining *r, uint32_t facet, rb_facet_plane *plane)
{
	const uint32_t n = r->facet_start[facet + 1] - r->facet_start[facet];
	double largest = 0, normal[3];
	uint32_t far = 0;

	memset(plane, 0, sizeof *plane);
	if (n < 3 || !(r->hull_rounds > 0))
		return RB_OK;
	memcpy(plane->at, get_facet_corner(r, facet, 0), sizeof plane->at);
	for (uint32_t i = 1; i < n; i++)
	{
		const double length2 = rb_distance2(plane->at, get_facet_corner(r, facet, i));

		if (length2 > largest)
		{
			largest = length2;
			far = i;
		}
		if (rb_stop_due(r->ctx, i, 65536))
			return RB_STOPPED;
	}
	largest = 0;
	for (uint32_t i = 1; i < n; i++)
	{
		double area2;

		compute_normal_of_corners(plane->at, get_facet_corner(r, facet, far),
								  get_facet_corner(r, facet, i), normal);
		area2 = normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2];
		if (area2 > largest)
		{
			largest = area2;
			memcpy(plane->normal, normal, sizeof normal);
		}
		if (rb_stop_due(r->ctx, i, 65536))
			return RB_STOPPED;
	}
	for (uint32_t i = 1; i < n; i++)
	{
		if (compute_distance_times_normal(plane, get_facet_corner(r, facet, i)) >
			r->hull_rounds * sqrt(largest))
		{
			memset(plane->normal, 0, sizeof plane->normal);
			return RB_OK;
		}
		if (rb_stop_due(r->ctx, i, 65536))
			return RB_STOPPED;
	}
	return RB_OK;
}

/*
 * Computes the planes of all facets of the mesh that is given. They stay when the mesh is replaced,
 * because the corners of a hull facet then include points that refinement added.
 */
static rb_status
find_planes_of_facets(start *s)
{
	rb_refining *r = s->r;

	RB_TRY(RB_GROW(r->ctx, r->planes, r->planes_cap, (size_t) r->all_facets + 1));
	for (; r->nplanes < r->all_facets; r->nplanes++)
	{
		RB_TRY(find_plane_of_facet(r, r->nplanes, &r->planes[r->nplanes]));
		if (rb_stop_due(r->ctx, r->nplanes, 4096))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* ---- sizes ---- */

/* Returns the grid cell of a size point. */
static inline uint32_t
cell_of_size(const void *arg, uint32_t k)
{
	const rb_refining *r = arg;
	const rb_sizes *z = &r->sizes;
	const double *p = r->options->sizes[k].at;

	return (uint32_t) ((rb_sizes_cell(z, 2, p[2]) * (int64_t) z->n[1] + rb_sizes_cell(z, 1, p[1])) *
						   z->n[0] +
					   rb_sizes_cell(z, 0, p[0]));
}

/* Builds the grid of size points, with about one point per grid cell. */
static rb_status
build_grid_of_size_points(rb_refining *r)
{
	const rb_refine_options *o = r->options;
	rb_sizes *z = &r->sizes;
	double high[3], largest = 0;
	uint64_t cells = 1;
	rb_buckets b = {NULL, NULL};
	rb_status status;

	if (o->nsizes == 0)
		return RB_OK;
	for (int i = 0; i < 3; i++)
	{
		z->low[i] = high[i] = o->sizes[0].at[i];
		for (uint32_t k = 1; k < o->nsizes; k++)
		{
			z->low[i] = fmin(z->low[i], o->sizes[k].at[i]);
			high[i] = fmax(high[i], o->sizes[k].at[i]);
		}
		largest = fmax(largest, high[i] - z->low[i]);
	}
	z->cell = largest / ceil(cbrt((double) o->nsizes) + 1);
	if (!(z->cell > 0))
		z->cell = 1;
	for (int i = 0; i < 3; i++)
	{
		z->n[i] = (int32_t) ((high[i] - z->low[i]) / z->cell) + 1;
		cells *= (uint64_t) z->n[i];
	}
	status = rb_buckets_build(r->ctx, &b, o->nsizes, (uint32_t) cells, cell_of_size, r);
	r->sizes_start = b.start;
	if (status == RB_OK)
		status = RB_ALLOCATE(r->ctx, r->sizes_points, 4 * (size_t) o->nsizes);
	for (uint32_t i = 0; i < o->nsizes && status == RB_OK; i++)
	{
		const rb_size *size = &o->sizes[b.member[i]];

		memcpy(r->sizes_points + 4 * (size_t) i, size->at, sizeof size->at);
		r->sizes_points[4 * (size_t) i + 3] = size->volume;
	}
	RB_FREE(r->ctx->memory, b.member);
	z->start = r->sizes_start;
	z->points = r->sizes_points;
	return status;
}

/* ---- entry points ---- */

/*
 * Builds the cells of a tetrahedralization, and the facets and segments that represent the hull
 * where it is on no facet.
 */
static rb_status
build_imported_cells(start *s)
{
	RB_TRY(rb_refining_team(s->r, s->tets->ntets, &s->team));
	RB_TRY(count_cells_and_regions(s));
	RB_TRY(run_import_fill(s, s->tets->npoints, BLOCK, import_points_piece));
	RB_TRY(make_imported_cells(s));
	RB_TRY(link_ghosts(s));
	RB_TRY(group_imported_hull(s));
	RB_TRY(crease_imported_hull(s));
	RB_TRY(sort_segments_by_ends(s));
	RB_TRY(list_imported_facet_corners(s));
	return find_planes_of_facets(s);
}

/* Converts a tetrahedralization to the mesh under refinement. */
static rb_status
import_mesh(rb_refining *r, const rb_tets *tets)
{
	rb_cells *m = &r->mesh;
	rb_memory *memory = r->ctx->memory;
	start s;
	rb_status status;

	memset(&s, 0, sizeof s);
	s.r = r;
	s.tets = tets;
	status = build_imported_cells(&s);
	m->segments = (const uint32_t(*)[2]) r->segments;
	m->segment_order = r->segment_order;
	m->facet_start = r->facet_start;
	m->facet_corners = r->facet_corners;
	m->planes = r->planes;
	m->region_volume = r->region_volume;
	for (uint32_t t = 0; s.found != NULL && t < rb_each_threads(s.team); t++)
		RB_FREE(memory, s.found[t].of);
	RB_FREE(memory, s.found);
	RB_FREE(memory, s.ghost_at);
	RB_FREE(memory, s.marks);
	RB_FREE(memory, s.group);
	RB_FREE(memory, s.facet);
	rb_team_close(&s.team);
	return status;
}

/* Frees the arrays of *rest that are not those of tets. */
static void
free_rest_of_import(rb_memory *memory, const rb_tets *tets, rb_tets *rest)
{
	if (rest->face_facet != tets->face_facet)
		RB_FREE(memory, rest->face_facet);
	if (rest->parent != tets->parent)
		RB_FREE(memory, rest->parent);
	if (rest->tets == tets->tets)
		return;
	RB_FREE(memory, rest->tets);
	RB_FREE(memory, rest->neighbours);
	RB_FREE(memory, rest->region);
}

rb_status
rb_refining_import(rb_refining *r, const rb_tets *tets)
{
	const rb_refine_options *o = r->options;
	rb_cells *m = &r->mesh;
	uint32_t nfacets = 0;
	rb_tets rest = *tets;
	rb_status status;

	for (uint32_t i = 0; i < tets->nfaces; i++)
		if (tets->face_facet[i] >= nfacets)
			nfacets = tets->face_facet[i] + 1;
	for (uint32_t i = 0; i < tets->npoints; i++)
		if (tets->kind[i] == RB_VERTEX_ON_FACET && tets->parent[i] >= nfacets)
			nfacets = tets->parent[i] + 1;
	r->nfacets = nfacets;
	r->nsegments = m->nsegments = tets->nsegments;
	status = RB_GROW(r->ctx, r->segments, r->segments_cap, tets->nsegments);
	if (status == RB_OK)
	{
		if (tets->nsegments > 0)
			memcpy(r->segments, tets->segments, tets->nsegments * sizeof(uint32_t[2]));
		status = rb_hull_measure_rounding(r, tets);
		if (status == RB_OK)
			status = rb_hull_remove_slivers(r, tets, &rest);
		if (status == RB_OK)
			status = rb_refining_bends(r, &rest);
		r->all_facets = r->nfacets;
		if (status == RB_OK)
			status = import_mesh(r, &rest);
		free_rest_of_import(r->ctx->memory, tets, &rest);
	}
	if (status == RB_OK)
		status = build_grid_of_size_points(r);
	m->ratio = o->radius_edge * o->radius_edge;
	m->volume = o->max_volume;
	m->sizes = o->nsizes > 0 ? &r->sizes : NULL;
	m->has_volumes = o->max_volume < INFINITY || r->region_volume != NULL || o->nsizes > 0;
	m->keep_surface = o->keep_surface;
	return status;
}

/*
 * Updates the nearest earlier neighbor of vertex `last` by vertex v, with which it shares an edge.
 */
static void
update_nearest_imported_vertex(const rb_cells *m, uint32_t last, uint32_t v, uint32_t *nearest)
{
	const double *at = rb_site_at(m, last);
	double far = INFINITY, d = rb_distance2(at, rb_site_at(m, v));

	if (*nearest != RB_NOWHERE)
		far = rb_distance2(at, rb_site_at(m, *nearest));
	if (d < far || (d == far && v < *nearest))
		*nearest = v;
}

rb_status
rb_refining_radii(rb_refining *r, uint32_t cell, uint32_t site, uint32_t n)
{
	const rb_cells *m = &r->mesh;
	uint32_t *nearest = NULL;
	rb_status status = RB_ALLOCATE(r->ctx, nearest, (size_t) n + 1);

	for (uint32_t i = 0; i < n && status == RB_OK; i++)
		nearest[i] = RB_NOWHERE;
	for (uint32_t i = cell; i < r->ncells && status == RB_OK; i++)
	{
		const rb_cell *c = &m->cells[i];

		if (rb_should_stop(r->ctx))
			status = RB_STOPPED;
		for (uint32_t e = 0; e < 6 && c->v[0] != RB_DEAD && !rb_cell_ghost(c); e++)
		{
			uint32_t u = c->v[rb_cell_edge_from(e)], v = c->v[rb_cell_edge_to(e)];
			uint32_t last = u > v ? u : v;

			if (last >= site && last - site < n)
				update_nearest_imported_vertex(m, last, u + v - last, &nearest[last - site]);
		}
	}
	for (uint32_t i = 0; i < n && status == RB_OK; i++)
	{
		const uint32_t v = nearest[i];
		const double *at = rb_site_at(m, site + i);
		double *radius = &m->sites[site + i].radius;

		if (v == RB_NOWHERE)
			continue;
		*radius = fmax(*radius, sqrt(rb_distance2(at, rb_site_at(m, v))));
		if (m->kind[site + i] == RB_VERTEX_ON_SEGMENT)
			*radius = fmax(*radius, rb_segment_raise(m, m->parent[site + i], at, v));
	}
	RB_FREE(r->ctx->memory, nearest);
	return status;
}

rb_status
rb_refining_replace(rb_refining *r, const rb_tets *tets, const double *raise, uint32_t nraise)
{
	uint32_t before = r->nsites;
	double *kept = NULL;
	rb_status status;

	RB_TRY(RB_ALLOCATE(r->ctx, kept, (size_t) before + 1));
	for (uint32_t i = 0; i < before; i++)
		kept[i] = r->mesh.sites[i].radius;
	r->nfree = 0;
	status = import_mesh(r, tets);
	for (uint32_t i = 0; i < r->nsites && status == RB_OK; i++)
		r->mesh.sites[i].radius = i < before            ? kept[i]
								  : i - before < nraise ? raise[i - before]
														: 0;
	RB_FREE(r->ctx->memory, kept);
	if (status == RB_OK)
		status = rb_refining_radii(r, 0, before, r->nsites - before);
	return status;
}
