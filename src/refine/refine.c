/*
 * refine.c
 *	  Controls refinement: imports a tetrahedralization, runs rounds, and exports the refined mesh.
 *	  Measures the quality of a tetrahedron.
 *
 * The export writes tetrahedra in the order of their slots, faces ordered by facet, and edges
 * ordered by segment.
 *
 * All work runs on threads, and every cell is read only twice. In the first pass, each block of
 * slots records in a bitmap which slots hold tetrahedra, and lists the faces and edges it
 * contributes. In the second pass, tetrahedra are written, since the number of tetrahedra before
 * each slot is then known:
 *
 *		slots       |  64  |  64  |  64  | ...
 *		tetrahedra  0      60     121           number of a tetrahedron: that of its group,
 *		                                        plus the bits before its own in the group
 *
 * The faces and edges are ordered by facet or segment and, within one, by slot, whichever thread
 * listed them. Each thread reads all lists and writes the items of its own range of facets or
 * segments.
 */
#include "mesh/flatness.h"
#include "refine/angles.h"
#include "refine/refining.h"

#include <math.h>
#include <stdio.h>

/* ---- export ---- */

#define GROUP 64 /* Slots: bits of a word */
/* Slots that a thread takes at once, a multiple of GROUP */
#define BLOCK (GROUP * RB_SIZE(128, 1))
#define SITES RB_SIZE(8192, 64) /* Vertices that a thread takes at once */

typedef struct group
{
	uint64_t tets;   /* Bit of each slot that holds a tetrahedron */
	uint32_t before; /* Number of tetrahedra before the group */
} group;

/* A face of a facet, or an edge of a segment */
typedef struct found_item
{
	uint32_t of;
	uint32_t v[3];
} found_item;

typedef enum kind
{
	FACES,
	EDGES,
	KINDS
} kind;

typedef struct found_list
{
	found_item *e;
	size_t n;
	size_t cap;
} found_list;

/* State of one thread */
typedef struct export_worker
{
	found_list lists[KINDS];
	uint64_t added[RB_VERTEX_KINDS];
	uint64_t bad;
	uint64_t bad_because[RB_BAD_REASONS];
	double least;      /* Measure of the smallest dihedral angle (angles.h) */
	uint32_t flattest; /* First cell that has the smallest angle */
	char apart[128];   /* Padding against false sharing of cache lines */
} export_worker;

/* The items of one block, which are contiguous in the lists of the thread that processed it */
typedef struct block
{
	uint32_t worker;
	uint32_t n[KINDS];
	size_t from[KINDS];
} block;

typedef struct result
{
	rb_refining *r;
	rb_thread *team;
	export_worker *workers;
	uint32_t nworkers;
	group *groups;
	uint32_t ngroups;
	block *blocks;
	uint32_t nblocks;
	uint32_t points_before;
	double min_angle; /* Measure of min_dihedral, or 0 */
	rb_tets out;
} result;

/* Runs a step of the export over n elements, on its team. */
static rb_status
run_export_loop(result *s, uint64_t n, uint64_t grain, rb_work work)
{
	return rb_each(s->r->ctx, s->team, n, grain, work, s);
}

/* Runs a step of the export that fills fresh memory, on its team. */
static rb_status
run_export_fill(result *s, uint64_t n, uint64_t grain, rb_work work)
{
	return rb_each_fill(s->r->ctx, s->team, n, grain, work, s);
}

/* ---- points ---- */

/* Writes a range of points and counts those that refinement added. */
static void
export_points_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	result *s = arg;
	const rb_refining *r = s->r;
	const rb_cells *m = &r->mesh;
	rb_tets *out = &s->out;
	export_worker *w = &s->workers[rb_each_thread(me)];

	for (uint64_t i = from; i < to; i++)
	{
		uint32_t facet = m->parent[i];

		memcpy(out->points + 3 * i, m->sites[i].at, sizeof m->sites[i].at);
		out->kind[i] = m->kind[i];
		out->parent[i] = m->parent[i];
		if (m->kind[i] == RB_VERTEX_ON_SEGMENT && m->parent[i] >= r->nsegments)
		{
			out->kind[i] = RB_VERTEX_ON_FACET;
			facet = r->crease_facet[m->parent[i] - r->nsegments];
		}
		if (out->kind[i] == RB_VERTEX_ON_FACET && facet >= r->nfacets)
		{
			out->kind[i] = RB_VERTEX_ON_HULL;
			out->parent[i] = RB_NONE;
		}
		else if (out->kind[i] == RB_VERTEX_ON_FACET)
			out->parent[i] = rb_refining_facet(r, facet);
		if (i >= s->points_before)
			w->added[out->kind[i]]++;
	}
}

/* Writes all points. */
static rb_status
export_points(result *s)
{
	rb_context *ctx = s->r->ctx;
	rb_tets *out = &s->out;
	size_t n = s->r->nsites;

	RB_TRY(RB_ALLOCATE(ctx, out->points, 3 * n + 1));
	RB_TRY(RB_ALLOCATE(ctx, out->kind, n + 1));
	RB_TRY(RB_ALLOCATE(ctx, out->parent, n + 1));
	out->npoints = (uint32_t) n;
	return run_export_fill(s, n, SITES, export_points_piece);
}

/* ---- scan of the cells ---- */

/* Appends a face or edge to the list of a thread. */
static void
push_exported_item(result *s, export_worker *w, kind what, const found_item *item)
{
	found_list *l = &w->lists[what];

	if (l->n < l->cap || RB_GROW(s->r->ctx, l->e, l->cap, l->n + 1) == RB_OK)
		l->e[l->n++] = *item;
	/* On failure the loop ends and returns the error. */
}

/*
 * Appends the faces of a cell that lie on facets of the input to the result. Of the two tetrahedra
 * at a face, the first one lists it.
 */
static void
export_constrained_faces_of_cell(result *s, export_worker *w, uint32_t i)
{
	const rb_cell *cells = s->r->mesh.cells;
	const rb_cell *c = &cells[i];

	for (uint32_t k = 0; k < 4; k++)
	{
		uint32_t beyond = c->n[k] >> 2;
		found_item face;

		if ((rb_load(&c->bits) & RB_CELL_WALL(k)) == 0 || c->facet[k] >= s->r->nfacets ||
			(beyond < i && !rb_cell_ghost(&cells[beyond])))
			continue;
		face.of = rb_refining_facet(s->r, c->facet[k]);
		for (uint32_t j = 0; j < 3; j++)
			face.v[j] = c->v[rb_cell_face_corner(k, j)];
		push_exported_item(s, w, FACES, &face);
	}
}

/*
 * Returns true if cell i is the first of the tetrahedra around the subsegment that is its edge e.
 * Clears the edge's bit in the later ones, so that in most cases only one of them traverses the
 * ring.
 */
static bool
does_cell_export_edge(const result *s, uint32_t i, uint32_t e)
{
	const rb_cells *m = &s->r->mesh;
	rb_edge_ring ring = rb_ring_begin(m, i, e);

	for (rb_ring_next(m, &ring); ring.cell != i; rb_ring_next(m, &ring))
	{
		rb_cell *c = &m->cells[ring.cell];

		if (rb_cell_ghost(c))
			continue;
		if (ring.cell < i)
			return false;
		rb_and(&c->bits, ~RB_CELL_SEGMENT(
							 rb_cell_edge(rb_cell_corner(c, ring.a), rb_cell_corner(c, ring.b))));
	}
	return true;
}

/* Lists the subsegments of a cell. Of all cells at an edge, one lists it. */
static void
list_subsegments(result *s, export_worker *w, uint32_t i)
{
	const rb_cells *m = &s->r->mesh;
	const rb_cell *c = &m->cells[i];

	for (uint32_t e = 0; e < 6; e++)
	{
		found_item edge;

		if ((rb_load(&c->bits) & RB_CELL_SEGMENT(e)) == 0 || !does_cell_export_edge(s, i, e))
			continue;
		edge.v[0] = c->v[rb_cell_edge_from(e)];
		edge.v[1] = c->v[rb_cell_edge_to(e)];
		edge.v[2] = RB_NONE;
		edge.of = rb_piece_segment(m, edge.v[0], edge.v[1]);
		if (edge.of < s->r->nsegments)
			push_exported_item(s, w, EDGES, &edge);
	}
}

/*
 * Returns true if edge e of a cell is where two different facets meet, with the cell in between;
 * if so, the input is the reason for a small angle.
 */
static bool
is_exported_edge_between_facets(const rb_cell *c, uint32_t e, uint32_t bits)
{
	uint32_t f[2], n = 0;

	for (uint32_t k = 0; k < 4; k++)
		if (k != rb_cell_edge_from(e) && k != rb_cell_edge_to(e))
			f[n++] = k;
	return (bits & RB_CELL_WALL(f[0])) != 0 && (bits & RB_CELL_WALL(f[1])) != 0 &&
		   c->facet[f[0]] != c->facet[f[1]];
}

/* Counts a tetrahedron that stayed bad, by reason. */
static void
count_bad_exported_tet(export_worker *w, rb_bad_reason reason)
{
	w->bad++;
	w->bad_because[reason]++;
}

/* Returns true if a tetrahedron exceeds the bounds on its shape and volume. */
static bool
is_exported_tet_bad(const result *s, const rb_cell *c)
{
	const rb_cells *m = &s->r->mesh;
	rb_tet_shape shape;
	bool kept;

	if (!(m->ratio < INFINITY) && !m->has_volumes)
		return false;
	shape = rb_cell_shape(m, c);
	return rb_cell_bad(m, c, &shape, &kept);
}

/* Measures the smallest angle of a tetrahedron, and counts the tetrahedron if it stayed bad. */
static void
judge_exported_tet(const result *s, export_worker *w, uint32_t i, uint32_t bits)
{
	const rb_cells *m = &s->r->mesh;
	const rb_cell *c = &m->cells[i];
	uint32_t e = 0;
	double p[4][3], angle;

	(void) rb_tet_scale(rb_site_at(m, c->v[0]), rb_site_at(m, c->v[1]), rb_site_at(m, c->v[2]),
						rb_site_at(m, c->v[3]), p);
	angle = rb_tet_angle(p[0], p[1], p[2], p[3], &e);

	if (angle < w->least || (angle == w->least && i < w->flattest))
	{
		w->least = angle;
		w->flattest = i;
	}
	if ((bits & RB_CELL_FINE) == 0 && is_exported_tet_bad(s, c))
		count_bad_exported_tet(
			w, (bits & RB_CELL_LEFT) != 0
				   ? (rb_bad_reason) ((bits & RB_CELL_REASON) >> RB_CELL_REASON_SHIFT)
			   : s->r->full ? RB_BAD_FULL
							: RB_BAD_INPUT);
	else if (angle < s->min_angle)
		count_bad_exported_tet(w, is_exported_edge_between_facets(c, e, bits) ? RB_BAD_INPUT
																			  : RB_BAD_ANGLE);
}

/* Scans one block, in whole groups. */
static void
scan_exported_cells_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	result *s = arg;
	const rb_cells *m = &s->r->mesh;
	const uint32_t number = rb_each_thread(me);
	export_worker *w = &s->workers[number];
	block *b = &s->blocks[from / BLOCK];

	b->worker = number;
	for (int k = 0; k < KINDS; k++)
		b->from[k] = w->lists[k].n;
	for (uint64_t first = from; first < to; first += GROUP)
	{
		uint64_t tets = 0;

		for (uint64_t i = first; i < to && i < first + GROUP; i++)
		{
			const rb_cell *c = &m->cells[i];
			uint32_t bits;

			if (c->v[0] == RB_DEAD || rb_cell_ghost(c))
				continue;
			tets |= UINT64_C(1) << (i - first);
			bits = rb_load(&c->bits);
			if ((bits & RB_CELL_WALLS) != 0)
				export_constrained_faces_of_cell(s, w, (uint32_t) i);
			if ((bits & RB_CELL_SEGMENTS) != 0)
				list_subsegments(s, w, (uint32_t) i);
			judge_exported_tet(s, w, (uint32_t) i, bits);
		}
		s->groups[first / GROUP].tets = tets;
	}
	for (int k = 0; k < KINDS; k++)
		b->n[k] = (uint32_t) (w->lists[k].n - b->from[k]);
}

/* ---- tetrahedra ---- */

/*
 * Counts the bits set in a word, one for each tetrahedron of a group of cells, without the
 * instruction for this, which not all machines have.
 */
static inline uint32_t
count_set_bits(uint64_t x)
{
	x -= x >> 1 & UINT64_C(0x5555555555555555);
	x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
	x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (uint32_t) (x * UINT64_C(0x0101010101010101) >> 56);
}

/* Returns the number of the tetrahedron in a slot, or RB_NONE. */
static inline uint32_t
number_of_exported_tet(const result *s, uint32_t place)
{
	const group *g = &s->groups[place / GROUP];
	const uint64_t bit = UINT64_C(1) << place % GROUP;

	return (g->tets & bit) != 0 ? g->before + count_set_bits(g->tets & (bit - 1)) : RB_NONE;
}

/* Writes the tetrahedra of a range of slots with regions and neighbors. */
static void
export_tets_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	result *s = arg;
	const rb_refining *r = s->r;
	rb_tets *out = &s->out;
	size_t t = s->groups[from / GROUP].before;

	(void) me;
	for (uint64_t i = from; i < to; i++)
	{
		const rb_cell *c = &r->mesh.cells[i];

		if ((s->groups[i / GROUP].tets >> i % GROUP & 1) == 0)
			continue;
		memcpy(out->tets[t], c->v, sizeof c->v);
		for (uint32_t k = 0; k < 4; k++)
			out->neighbours[4 * t + k] = number_of_exported_tet(s, c->n[k] >> 2);
		if (out->not_delaunay != NULL)
			out->not_delaunay[t] = (rb_load(&c->bits) & RB_CELL_NOT_DELAUNAY) != 0;
		out->region[t++] = r->regions[c->region];
	}
}

/* Scans all cells to find the tetrahedra, their faces and their edges. */
static rb_status
scan_exported_cells(result *s)
{
	rb_refining *r = s->r;

	s->ngroups = r->ncells / GROUP + 1;
	s->nblocks = r->ncells / BLOCK + 1;
	RB_TRY(RB_ALLOCATE(r->ctx, s->groups, s->ngroups));
	RB_TRY(RB_ALLOCATE(r->ctx, s->blocks, s->nblocks));
	/* Clear the last group and block, which may contain no slot. */
	s->groups[s->ngroups - 1].tets = 0;
	memset(&s->blocks[s->nblocks - 1], 0, sizeof(block));
	return run_export_loop(s, r->ncells, BLOCK, scan_exported_cells_piece);
}

/* Numbers and writes all tetrahedra. */
static rb_status
export_tets(result *s)
{
	rb_context *ctx = s->r->ctx;
	rb_tets *out = &s->out;
	uint32_t n = 0;

	for (uint32_t g = 0; g < s->ngroups; g++)
	{
		s->groups[g].before = n;
		n += count_set_bits(s->groups[g].tets);
	}
	out->ntets = n;
	RB_TRY(RB_ALLOCATE(ctx, out->tets, (size_t) n + 1));
	RB_TRY(RB_ALLOCATE(ctx, out->neighbours, 4 * (size_t) n + 1));
	RB_TRY(RB_ALLOCATE(ctx, out->region, (size_t) n + 1));
	if (s->r->report->slivers.not_delaunay > 0)
		RB_TRY(RB_ALLOCATE(ctx, out->not_delaunay, (size_t) n + 1));
	return run_export_fill(s, s->r->ncells, BLOCK, export_tets_piece);
}

/* ---- faces and edges ---- */

/* Counting sort of the items of one kind by facet or segment */
typedef struct order
{
	result *s;
	kind what;
	uint32_t n; /* Number of facets or segments */
	/* Start of the items of each facet or segment; later, the next free position of each */
	uint32_t *at;
	uint32_t *share; /* First facet or segment of each thread */
} order;

/*
 * Counts the items of each facet or segment; each thread counts an equal range of facets or
 * segments.
 */
static void
count_faces_and_edges_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	order *o = arg;
	const result *s = o->s;

	(void) me;
	for (uint64_t k = from; k < to; k++)
	{
		const uint32_t low = (uint32_t) (k * o->n / s->nworkers);
		const uint32_t n = (uint32_t) ((k + 1) * o->n / s->nworkers) - low;

		memset(o->at + low, 0, (size_t) n * sizeof(*o->at));
		for (uint32_t i = 0; i < s->nblocks && n > 0 && !rb_should_stop(s->r->ctx); i++)
		{
			const block *b = &s->blocks[i];
			const found_item *e = s->workers[b->worker].lists[o->what].e + b->from[o->what];

			for (uint32_t j = 0; j < b->n[o->what]; j++)
				if (e[j].of - low < n)
					o->at[e[j].of]++;
		}
	}
}

/* Writes a face or edge to the next position of its facet or segment. */
static inline void
write_exported_item(const order *o, const found_item *e, rb_tets *out)
{
	uint32_t to = o->at[e->of]++;

	if (o->what == FACES)
	{
		memcpy(out->faces[to], e->v, sizeof out->faces[to]);
		out->face_facet[to] = e->of;
	}
	else
	{
		memcpy(out->edges[to], e->v, sizeof out->edges[to]);
		out->edge_segment[to] = e->of;
	}
}

/* Writes the faces or edges of a range of threads' shares. */
static void
export_faces_and_edges_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	order *o = arg;
	result *s = o->s;

	(void) me;
	for (uint64_t k = from; k < to; k++)
	{
		const uint32_t low = o->share[k];
		const uint32_t n = o->share[k + 1] - low;

		for (uint32_t i = 0; i < s->nblocks && n > 0 && !rb_should_stop(s->r->ctx); i++)
		{
			const block *b = &s->blocks[i];
			const found_item *e = s->workers[b->worker].lists[o->what].e + b->from[o->what];

			for (uint32_t j = 0; j < b->n[o->what]; j++)
				if (e[j].of - low < n)
					write_exported_item(o, &e[j], &s->out);
		}
	}
}

/*
 * Turns the counts into start positions, and gives each thread about as many items to write.
 * Returns the number of items.
 */
static uint32_t
divide_exported_items(order *o)
{
	const uint32_t threads = o->s->nworkers;
	uint64_t all = 0;
	uint32_t sum = 0, k = 0;

	for (uint32_t i = 0; i < o->n; i++)
		all += o->at[i];
	for (uint32_t i = 0; i < o->n; i++)
	{
		uint32_t more = o->at[i];

		while (k < threads && (uint64_t) sum * threads >= k * all)
			o->share[k++] = i;
		o->at[i] = sum;
		sum += more;
	}
	while (k <= threads)
		o->share[k++] = o->n;
	return sum;
}

/* Writes all faces, ordered by facet, or all edges, ordered by segment. */
static rb_status
export_faces_or_edges(result *s, kind what)
{
	rb_context *ctx = s->r->ctx;
	rb_tets *out = &s->out;
	order o = {s, what, what == FACES ? s->r->given_facets : s->r->nsegments, NULL, NULL};
	uint32_t n = 0;
	rb_status status = RB_ALLOCATE(ctx, o.at, (size_t) o.n + 1);

	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, o.share, s->nworkers + 1);
	if (status == RB_OK)
		status = rb_each(s->r->ctx, s->team, s->nworkers, 1, count_faces_and_edges_piece, &o);
	if (status == RB_OK)
	{
		n = divide_exported_items(&o);
		status = rb_array(ctx, what == FACES ? (void **) &out->faces : (void **) &out->edges,
						  (size_t) n + 1, what == FACES ? sizeof *out->faces : sizeof *out->edges);
	}
	if (status == RB_OK)
		status =
			rb_array(ctx, what == FACES ? (void **) &out->face_facet : (void **) &out->edge_segment,
					 (size_t) n + 1, sizeof(uint32_t));
	if (status == RB_OK)
		status = rb_each(s->r->ctx, s->team, s->nworkers, 1, export_faces_and_edges_piece, &o);
	if (what == FACES)
		out->nfaces = n;
	else
		out->nedges = n;
	RB_FREE(ctx->memory, o.at);
	RB_FREE(ctx->memory, o.share);
	return status;
}

/* ---- entry point ---- */

/* Adds the counts of all threads to the report. */
static void
add_export_counts_to_report(const result *s)
{
	rb_refine_report *to = s->r->report;
	double least = INFINITY;
	uint32_t flattest = RB_NOWHERE;

	for (uint32_t i = 0; i < s->nworkers; i++)
	{
		const export_worker *w = &s->workers[i];

		for (int k = 0; k < RB_VERTEX_KINDS; k++)
			to->added[k] += w->added[k];
		to->bad += w->bad;
		for (int k = 0; k < RB_BAD_REASONS; k++)
			to->bad_because[k] += w->bad_because[k];
		if (w->least < least || (w->least == least && w->flattest < flattest))
		{
			least = w->least;
			flattest = w->flattest;
		}
	}
	to->min_dihedral = 180;
	if (flattest != RB_NOWHERE)
	{
		const uint32_t *v = s->r->mesh.cells[flattest].v;
		rb_tet_quality q;

		rb_tet_measure(rb_site_at(&s->r->mesh, v[0]), rb_site_at(&s->r->mesh, v[1]),
					   rb_site_at(&s->r->mesh, v[2]), rb_site_at(&s->r->mesh, v[3]), &q);
		to->min_dihedral = q.min_dihedral;
	}
}

/* Moves the arrays that do not change from the old tetrahedralization to the new one. */
static void
move_unchanged_to_export(rb_tets *old, rb_tets *out)
{
	out->nsegments = old->nsegments;
	out->segments = old->segments;
	out->segment_facet = old->segment_facet;
	out->nregions = old->nregions;
	out->outside_seeds = old->outside_seeds;
	out->ms_points = old->ms_points;
	out->ms_segments = old->ms_segments;
	out->ms_facets = old->ms_facets;
	out->ms_regions = old->ms_regions;
	old->segments = NULL;
	old->segment_facet = NULL;
}

/* Opens the team and the lists of its threads. */
static rb_status
open_export_workers(result *s)
{
	rb_refining *r = s->r;

	RB_TRY(rb_refining_team(r, r->ncells, &s->team));
	RB_TRY(RB_ALLOCATE(r->ctx, s->workers, rb_each_threads(s->team)));
	s->nworkers = rb_each_threads(s->team);
	memset(s->workers, 0, s->nworkers * sizeof(export_worker));
	for (uint32_t i = 0; i < s->nworkers; i++)
	{
		s->workers[i].least = INFINITY;
		s->workers[i].flattest = RB_NOWHERE;
	}
	return RB_OK;
}

/* Frees the team, lists and blocks. */
static void
close_export(result *s)
{
	rb_memory *memory = s->r->ctx->memory;

	rb_team_close(&s->team);
	for (uint32_t i = 0; i < s->nworkers; i++)
		for (int k = 0; k < KINDS; k++)
			RB_FREE(memory, s->workers[i].lists[k].e);
	RB_FREE(memory, s->workers);
	RB_FREE(memory, s->groups);
	RB_FREE(memory, s->blocks);
}

/*
 * Replaces *tets by the refined mesh and frees the old arrays. Afterwards the cells are unusable
 * and must be freed.
 */
static rb_status
export_mesh(rb_refining *r, rb_tets *tets)
{
	result s;
	rb_status status;

	memset(&s, 0, sizeof s);
	s.r = r;
	s.points_before = tets->npoints;
	s.min_angle = rb_angle_measure(r->options->min_dihedral);
	status = open_export_workers(&s);
	if (status == RB_OK)
		status = export_points(&s);
	if (status == RB_OK)
		status = scan_exported_cells(&s);
	if (status == RB_OK)
		status = export_tets(&s);
	for (int k = 0; k < KINDS && status == RB_OK; k++)
		status = export_faces_or_edges(&s, (kind) k);
	if (status == RB_OK)
		add_export_counts_to_report(&s);
	close_export(&s);
	if (status != RB_OK)
	{
		rb_tets_free(r->ctx->memory, &s.out);
		return status;
	}
	move_unchanged_to_export(tets, &s.out);
	rb_tets_free(r->ctx->memory, tets);
	*tets = s.out;
	return RB_OK;
}

/* ---- control ---- */

/* Maximum number of passes of joint insertion */
#define REBUILDS 20
/* Maximum number of passes of joint insertion after all other work is done */
#define REBUILDS_LATE 12
/*
 * Thresholds on the number of blocked points relative to the number of vertices. They are inserted
 * group by group if they are fewer than one in JOINT. The whole mesh is rebuilt for the
 * remaining ones only if they are more than one in REBUILT.
 */
#define JOINT 32
#define REBUILT 200

/*
 * A device is used only if more than one cell in DEVICE_SHARE may have to be split, because the
 * whole mesh is copied there and back.
 */
#define DEVICE_SHARE 32
/* Cells that a thread counts at a time */
#define CELLS 16384

/* Returns the time since *start in milliseconds, and restarts it. */
static double
lap_ms_of_refinement(double *start)
{
	double now = rb_now_ms();
	double ms = now - *start;

	*start = now;
	return ms;
}

typedef struct coarse
{
	const rb_cell *cells;
	uint64_t n;
} coarse;

/*
 * Counts the cells of a range that may have to be split, to decide whether the rounds run on a
 * device.
 */
static void
count_coarse_cells_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	coarse *s = arg;
	uint64_t n = 0;

	(void) me;
	for (uint64_t i = from; i < to; i++)
	{
		const rb_cell *c = &s->cells[i];

		n += c->v[0] != RB_DEAD && !rb_cell_ghost(c) && (c->bits & RB_CELL_FINE) == 0;
	}
	rb_add(&s->n, n);
}

/*
 * Stores in *worth whether enough cells may have to be split that running the rounds on the device
 * pays for copying the mesh there and back.
 */
static rb_status
decide_where_rounds_run(rb_refining *r, bool *worth)
{
	coarse s = {r->mesh.cells, 0};
	rb_thread *team;
	rb_status status = rb_refining_team(r, r->ncells, &team);

	if (status == RB_OK)
		status = rb_each(r->ctx, team, r->ncells, CELLS, count_coarse_cells_piece, &s);
	rb_team_close(&team);
	*worth = s.n * DEVICE_SHARE > r->ncells || r->options->backend_always;
	return status;
}

/*
 * Runs rounds on the device if the backend supports that and the work is worth it. If the device
 * fails, host threads produce the same bits; then *backend becomes NULL, so that the device is not
 * tried again.
 */
static rb_status
run_rounds_where_faster(rb_refining *r, const rb_backend **backend)
{
	rb_context *ctx = r->ctx;
	bool worth = false;
	rb_status status = RB_OK;

	if (*backend != NULL && (*backend)->refine != NULL)
		status = decide_where_rounds_run(r, &worth);
	if (status == RB_OK && worth)
	{
		const uint32_t before = r->report->rounds;

		status = (*backend)->refine(ctx, r, sizeof(*r));
		if (r->options->backend_only || !rb_is_device_failure(status))
		{
			r->report->device_rounds += r->report->rounds - before;
			return status;
		}
		snprintf(ctx->stats.note, sizeof(ctx->stats.note), "%s",
				 ctx->error.text[0] != '\0' ? ctx->error.text : rb_status_text(status));
		rb_forget_failure(ctx);
		*backend = NULL;
		status = RB_OK;
	}
	return status == RB_OK ? rb_refining_rounds(r) : status;
}

/*
 * Inserts the points that rounds left blocked: in small groups where that is enough, otherwise by
 * rebuilding the whole mesh. Sets *again if the mesh changed.
 */
static rb_status
insert_blocked_after_rounds(rb_refining *r, bool *again)
{
	bool made;

	*again = false;
	/* The mesh around abandoned subsegments may have changed. */
	if (r->done)
		r->nabandoned = 0;
	if ((uint64_t) r->nblocked * JOINT < r->nsites)
		RB_TRY(rb_refining_insert_jointly(r, again));
	if ((uint64_t) r->nblocked * REBUILT > r->nsites)
	{
		RB_TRY(rb_refining_rebuild(r, &made));
		*again = *again || made;
		r->nabandoned = 0;
	}
	return RB_OK;
}

typedef struct corners
{
	const rb_cell *cells;
	uint8_t *used; /* 1 for each vertex that is a corner of a tetrahedron */
} corners;

/* Marks the corners of the tetrahedra in a range of slots. */
static void
mark_corners_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	corners *s = arg;

	(void) me;
	for (uint64_t i = from; i < to; i++)
	{
		const rb_cell *c = &s->cells[i];

		if (c->v[0] == RB_DEAD || rb_cell_ghost(c))
			continue;
		for (int k = 0; k < 4; k++)
			if (rb_load(&s->used[c->v[k]]) == 0)
				rb_store(&s->used[c->v[k]], 1);
	}
}

/* Returns the first vertex that has to be used and is not, or RB_NOWHERE. */
static uint32_t
find_lost_vertex(const rb_refining *r, const rb_tets *before, const uint8_t *used)
{
	uint32_t lost = RB_NOWHERE;

	for (uint32_t v = before->npoints; v < r->nsites && lost == RB_NOWHERE; v++)
		if (used[v] == 0)
			lost = v;
	for (uint32_t t = 0; t < before->ntets && !rb_should_stop(r->ctx); t++)
		for (int k = 0; k < 4; k++)
			if (used[before->tets[t][k]] == 0 && before->tets[t][k] < lost)
				lost = before->tets[t][k];
	return lost;
}

rb_status
rb_refining_check_vertices(rb_refining *r, const rb_tets *before)
{
	corners s = {r->mesh.cells, NULL};
	rb_lost_vertex *lost = &r->report->lost;
	rb_thread *team = NULL;
	rb_status status = RB_ALLOCATE(r->ctx, s.used, (size_t) r->nsites + 1);

	if (status == RB_OK)
	{
		memset(s.used, 0, r->nsites);
		status = rb_refining_team(r, r->ncells, &team);
	}
	if (status == RB_OK)
		status = rb_each(r->ctx, team, r->ncells, CELLS, mark_corners_piece, &s);
	if (status == RB_OK)
	{
		const uint32_t v = find_lost_vertex(r, before, s.used);

		if (rb_should_stop(r->ctx))
			status = RB_STOPPED;
		else if (v != RB_NOWHERE)
		{
			lost->any = true;
			memcpy(lost->at, rb_site_at(&r->mesh, v), sizeof lost->at);
			status = rb_fail(r->ctx, RB_BAD_PLC, 0, 0, NULL);
		}
	}
	rb_team_close(&team);
	RB_FREE(r->ctx->memory, s.used);
	return status;
}

/*
 * Refines a mesh whose points were divided by 2^exponent (scale.c). Sets *exact to false, and leaves
 * *tets unchanged, if doubles cannot hold an added point multiplied by that power.
 */
static rb_status
refine_scaled(rb_context *ctx, const rb_refine_options *options, int exponent, rb_tets *tets,
			  rb_refine_report *report, bool *exact)
{
	const rb_backend *backend = options->backend;
	rb_refining r;
	bool delaunay = true;
	int late = 0;
	double start = rb_now_ms();
	rb_status status;

	memset(report, 0, sizeof(*report));
	memset(&r, 0, sizeof r);
	r.ctx = ctx;
	r.options = options;
	r.report = report;
	r.protect = true;
	status = rb_refining_import(&r, tets);
	if (status == RB_OK)
		status = rb_refining_find_convexity(&r);
	if (status == RB_OK && options->not_delaunay)
		status = rb_refining_flip_to_delaunay(&r, &delaunay);
	if (status == RB_OK && !delaunay)
		status = rb_refining_restore_delaunay(&r);
	report->ms_start = lap_ms_of_refinement(&start);
	for (int i = 0; status == RB_OK; i++)
	{
		bool again;

		status = run_rounds_where_faster(&r, &backend);
		late += r.done;
		if (status != RB_OK || r.nblocked == 0 || i >= REBUILDS || late > REBUILDS_LATE)
			break;
		status = insert_blocked_after_rounds(&r, &again);
		r.nblocked = 0;
		if (status != RB_OK || (!again && r.done))
			break;
		/*
		 * If nothing was inserted now, trying again will not help; do the remaining work around the
		 * blocked points.
		 */
		r.protect = again;
	}
	report->ms_rounds = lap_ms_of_refinement(&start);
	if (status == RB_OK && options->min_dihedral > 0)
		status = rb_refining_remove_slivers(&r, tets->npoints, &report->slivers);
	report->ms_slivers = lap_ms_of_refinement(&start);
	if (status == RB_OK)
		status = rb_refining_check_vertices(&r, tets);
	if (status == RB_OK)
		status = rb_refining_check_convexity(&r);
	for (int k = 0; k < 3; k++)
	{
		report->lost.at[k] = ldexp(report->lost.at[k], exponent);
		report->reflex.at[k] = ldexp(report->reflex.at[k], exponent);
	}
	report->reflex.depth = ldexp(report->reflex.depth, exponent);
	report->reflex.limit = ldexp(report->reflex.limit, exponent);
	*exact = status != RB_OK || rb_refining_is_scale_exact(&r, exponent);
	if (status == RB_OK && *exact)
		status = export_mesh(&r, tets);
	report->ms_result = lap_ms_of_refinement(&start);
	rb_refining_free(&r);
	return status;
}

/*
 * Refines a mesh, divided by a power of two if its coordinates are extreme. If doubles cannot hold
 * the points that are added, the mesh is refined as it is: then no point is added where measures
 * overflow or underflow.
 */
rb_status
rb_refine(rb_context *ctx, const rb_refine_options *options, rb_tets *tets,
		  rb_refine_report *report)
{
	int exponent = rb_refining_exponent(options, tets);
	rb_status status;
	bool exact;

	do
	{
		rb_scaled_limits limits;

		status = rb_refining_scale(ctx, options, exponent, &limits, tets);
		exact = true;
		if (status == RB_OK)
			status = refine_scaled(ctx, &limits.options, exponent, tets, report, &exact);
		rb_refining_unscale(ctx, exponent, &limits, tets);
		exponent = 0;
	} while (status == RB_OK && !exact);
	return status;
}

/* ---- quality of a tetrahedron, for reports; criteria.h decides which ones are bad ---- */

/* Subtracts two corners of a tetrahedron whose quality is measured: d = a - b. */
static void
subtract_for_quality(const double *a, const double *b, double *d)
{
	for (int i = 0; i < 3; i++)
		d[i] = a[i] - b[i];
}

/* Computes the cross product of two vectors of a tetrahedron whose quality is measured. */
static void
cross_for_quality(const double *a, const double *b, double *n)
{
	n[0] = a[1] * b[2] - a[2] * b[1];
	n[1] = a[2] * b[0] - a[0] * b[2];
	n[2] = a[0] * b[1] - a[1] * b[0];
}

/*
 * Computes the quality of a tetrahedron. With volume6 = 6 V and m of measure.h, the circumradius
 * is R = |m| / 12 V. The dihedral angle at the edge of two faces is 180 degrees minus the angle
 * between their outward normals. It is computed by atan2, which is accurate for flat angles, too.
 */
void
rb_tet_measure(const double *a, const double *b, const double *c, const double *d,
			   rb_tet_quality *quality)
{
	double p[4][3], u[3], v[3], w[3], n[4][3], shortest = INFINITY;
	const int exponent = rb_tet_scale(a, b, c, d, p);
	const rb_spans spans = rb_spans_of(p[0], p[1], p[2], p[3]);

	subtract_for_quality(p[0], p[3], u);
	subtract_for_quality(p[1], p[3], v);
	subtract_for_quality(p[2], p[3], w);
	cross_for_quality(v, w, n[0]);
	cross_for_quality(w, u, n[1]);
	cross_for_quality(u, v, n[2]);
	for (int i = 0; i < 3; i++)
		n[3][i] = -(n[0][i] + n[1][i] + n[2][i]);
	quality->volume = ldexp(fabs(spans.volume6) / 6, 3 * exponent);
	quality->min_dihedral = 180;
	quality->max_dihedral = 0;
	for (int i = 0; i < 4; i++)
		for (int j = i + 1; j < 4; j++)
		{
			double edge[3], angle;

			subtract_for_quality(p[i], p[j], edge);
			shortest = fmin(shortest, rb_dot(edge, edge));
			cross_for_quality(n[i], n[j], edge);
			angle = 180 - atan2(sqrt(rb_dot(edge, edge)), rb_dot(n[i], n[j])) * (180 / M_PI);
			quality->min_dihedral = fmin(quality->min_dihedral, angle);
			quality->max_dihedral = fmax(quality->max_dihedral, angle);
		}
	quality->radius_edge =
		sqrt(rb_dot(spans.m, spans.m)) / (2 * fabs(spans.volume6)) / sqrt(shortest);
}
