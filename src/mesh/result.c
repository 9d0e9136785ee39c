/*
 * result.c
 *	  Builds the result: selects the tetrahedra to keep, determines their regions, and orders all
 *	  elements like the input. Finds the connectivity of a result that was loaded from rows.
 *
 * Facets separate regions from each other and from the outside, where the ghosts are. A seed
 * numbers the region that contains it, or makes it a hole.
 *
 * Threads process blocks of slots. Tetrahedra on both sides of an unconstrained face are united in
 * a union-find structure. The root of each set is its smallest slot, whatever the order in which
 * threads unite them, so regions are numbered by their first slots. Elements are first counted per
 * block; prefix sums then give their positions in the result.
 *
 * To find neighbors, faces are listed by their smallest corner. Each list is sorted by the other
 * two corners, so that equal faces are adjacent. A segment is on the boundary of a facet if the
 * facet has exactly one face at an edge of the segment; if it has two, the edge is inside.
 */
#include "core/base/bucket.h"
#include "core/base/union_find.h"
#include "mesh/recover.h"

#include "core/base/sort.h"

#define OUTSIDE 0               /* index of the part not enclosed by facets; regions start at 1 */
#define BLOCK RB_SIZE(8192, 32) /* slots, points or faces that a thread takes at once */

typedef struct rb_regions
{
	rb_recovery *r;
	rb_tets *tets;
	uint32_t *of;   /* region of each tetrahedron, or RB_NONE if it is dead or a ghost */
	uint32_t count; /* number of regions, including the outside */
	uint32_t real;  /* number of tetrahedra that are not ghosts */
	bool all;       /* true if all tetrahedra but the ghosts are kept */
	int64_t *name;  /* number of each region in the result */
	bool *named;
	bool *dropped;
	uint32_t *number; /* index of each kept tetrahedron in the result */
	uint32_t *before; /* for each block, the number of counted elements in earlier blocks */
	uint8_t *used;    /* for each face, whether it belongs to a kept tetrahedron */
	rb_table face_of; /* maps corners to the face */
} rb_regions;

/* Runs a step of the result over n tetrahedra, points or faces, in blocks, on the mesh's team. */
static rb_status
run_result_blocks(rb_regions *g, uint64_t n, rb_work work)
{
	return rb_each(g->r->ctx, g->r->mesh.team, n, BLOCK, work, g);
}

/*
 * Runs a step that fills fresh memory of the result, like run_result_blocks, but in longer ranges
 * per thread.
 */
static rb_status
fill_result_blocks(rb_regions *g, uint64_t n, rb_work work)
{
	return rb_each_fill(g->r->ctx, g->r->mesh.team, n, BLOCK, work, g);
}

/* Replaces the counts of blocks by their prefix sums; returns the total. */
static uint32_t
sum_result_blocks(rb_regions *g)
{
	return rb_counts_to_starts(g->before, (g->r->mesh.ntets - 1) / BLOCK + 1);
}

/* ---- separation by facets ---- */

/* Makes each tetrahedron of a block a region of its own, and counts them. */
static void
separate_tets_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_regions *g = arg;
	const rb_mesh *m = &g->r->mesh;
	uint32_t n = 0;

	(void) me;
	for (uint32_t t = (uint32_t) from; t < to; t++)
	{
		const bool real = !rb_tet_dead(m, t) && !rb_tet_ghost(&m->tets[t]);

		g->of[t] = real ? t : RB_NONE;
		g->number[t] = RB_NONE;
		n += real;
	}
	g->before[from / BLOCK] = n;
}

/* Unites the tetrahedra of a block with neighbors across unconstrained faces. */
static void
unite_tets_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_regions *g = arg;
	const rb_mesh *m = &g->r->mesh;

	(void) me;
	for (uint32_t t = (uint32_t) from; t < to; t++)
		for (uint32_t k = 0; k < 4 && rb_load(&g->of[t]) != RB_NONE; k++)
		{
			const uint32_t other = rb_face_tet(m->tets[t].n[k]);

			if (other < t && (m->bits[t] & RB_FACE_BIT(k)) == 0 &&
				rb_load(&g->of[other]) != RB_NONE)
				rb_unite_shared(g->of, t, other);
		}
}

/* Replaces the link of each tetrahedron in a block by the root of its region. */
static void
find_region_roots_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_regions *g = arg;

	(void) me;
	for (uint32_t t = (uint32_t) from; t < to; t++)
	{
		uint32_t root = rb_load(&g->of[t]), up;

		if (root == RB_NONE)
			continue;
		/* Other threads read these links; replacing a link by the root keeps their paths valid. */
		while ((up = rb_load(&g->of[root])) != root)
			root = up;
		rb_store(&g->of[t], root);
	}
}

/* Marks the regions that a ghost adjoins through an unconstrained face as outside. */
static void
mark_outside_regions_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_regions *g = arg;
	const rb_mesh *m = &g->r->mesh;

	(void) me;
	for (uint32_t t = (uint32_t) from; t < to; t++)
	{
		const uint32_t ghost = rb_tet_dead(m, t) ? 4 : rb_tet_corner(&m->tets[t], RB_GHOST);

		if (ghost < 4 && (m->bits[t] & RB_FACE_BIT(ghost)) == 0)
			rb_store(&g->number[g->of[rb_face_tet(m->tets[t].n[ghost])]], OUTSIDE);
	}
}

/*
 * Returns true if tetrahedron t is the first one of a region inside, by which the result counts and
 * numbers the region.
 */
static bool
is_first_tet_of_result_region(const rb_regions *g, uint32_t t)
{
	return g->of[t] == t && g->number[t] != OUTSIDE;
}

/* Counts the regions whose first tetrahedron is in a block. */
static void
count_regions_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_regions *g = arg;
	uint32_t n = 0;

	(void) me;
	for (uint32_t t = (uint32_t) from; t < to; t++)
		n += is_first_tet_of_result_region(g, t);
	g->before[from / BLOCK] = n;
}

/* Numbers the regions whose first tetrahedron is in a block. */
static void
number_regions_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_regions *g = arg;
	uint32_t region = OUTSIDE + 1 + g->before[from / BLOCK];

	(void) me;
	for (uint32_t t = (uint32_t) from; t < to; t++)
		if (is_first_tet_of_result_region(g, t))
			g->number[t] = region++;
}

/* Assigns the number of its region to each tetrahedron of a block. */
static void
assign_regions_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_regions *g = arg;

	(void) me;
	for (uint64_t t = from; t < to; t++)
		if (g->of[t] != RB_NONE)
			g->of[t] = g->number[g->of[t]];
}

/* Finds and numbers the regions that facets separate. */
static rb_status
find_regions(rb_regions *g, rb_keep keep)
{
	rb_context *ctx = g->r->ctx;
	const uint32_t n = g->r->mesh.ntets;

	RB_TRY(RB_ALLOCATE(ctx, g->of, n));
	RB_TRY(RB_ALLOCATE(ctx, g->number, n));
	RB_TRY(RB_ALLOCATE(ctx, g->before, n / BLOCK + 1));
	RB_TRY(fill_result_blocks(g, n, separate_tets_piece));
	g->real = sum_result_blocks(g);
	RB_TRY(run_result_blocks(g, n, unite_tets_piece));
	RB_TRY(run_result_blocks(g, n, find_region_roots_piece));
	if (keep == RB_KEEP_INSIDE)
		RB_TRY(run_result_blocks(g, n, mark_outside_regions_piece));
	RB_TRY(run_result_blocks(g, n, count_regions_piece));
	g->count = OUTSIDE + 1 + sum_result_blocks(g);
	RB_TRY(run_result_blocks(g, n, number_regions_piece));
	return run_result_blocks(g, n, assign_regions_piece);
}

/* Numbers regions without a seed from 1 up, skipping numbers used by seeds. */
static rb_status
number_unseeded_regions(rb_recovery *r, rb_regions *g, rb_tets *tets)
{
	const rb_plc *plc = r->plc;
	int64_t *taken = NULL;
	int64_t next = 1;
	uint32_t n = 0, at = 0;
	rb_status status;

	RB_TRY(RB_ALLOCATE(r->ctx, taken, (size_t) plc->nseeds + 1));
	for (uint32_t i = 0; i < plc->nseeds; i++)
		if (!plc->seeds[i].hole)
			taken[n++] = plc->seeds[i].region;
	status = rb_sort_ids(r->ctx, taken, n);
	for (uint32_t i = OUTSIDE + 1; i < g->count && status == RB_OK; i++)
	{
		if (g->dropped[i])
			continue;
		tets->nregions++;
		if (g->named[i])
			continue;
		for (; at < n && taken[at] <= next; at++)
			next += taken[at] == next;
		g->name[i] = next++;
	}
	RB_FREE(r->ctx->memory, taken);
	return status;
}

/* Applies the seeds: numbers regions and makes holes. */
static rb_status
apply_seeds(rb_recovery *r, rb_regions *g, rb_tets *tets)
{
	const rb_plc *plc = r->plc;

	RB_TRY(RB_ALLOCATE(r->ctx, g->name, g->count));
	RB_TRY(RB_ALLOCATE(r->ctx, g->named, g->count));
	RB_TRY(RB_ALLOCATE(r->ctx, g->dropped, g->count));
	memset(g->named, 0, g->count * sizeof(bool));
	memset(g->dropped, 0, g->count * sizeof(bool));
	for (uint32_t i = 0; i < plc->nseeds; i++)
	{
		uint32_t t = rb_mesh_locate(&r->mesh, plc->seeds[i].at, r->mesh.recent);
		uint32_t region = rb_tet_ghost(&r->mesh.tets[t]) ? OUTSIDE : g->of[t];

		if (i % 64 == 63 && rb_should_stop(r->ctx))
			return RB_STOPPED;
		if (region == OUTSIDE)
			tets->outside_seeds++;
		else if (plc->seeds[i].hole)
			g->dropped[region] = true;
		else if (!g->named[region])
		{
			g->named[region] = true;
			g->name[region] = plc->seeds[i].region;
		}
	}
	g->dropped[OUTSIDE] = true;
	return number_unseeded_regions(r, g, tets);
}

/* ---- the result ---- */

/* Returns true if a slot has a tetrahedron whose region is part of the result. */
static bool
is_tet_kept(const rb_regions *g, uint64_t t)
{
	return g->of[t] != RB_NONE && !g->dropped[g->of[t]];
}

/* Counts the kept tetrahedra of a block. */
static void
count_kept_tets_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_regions *g = arg;
	uint32_t n = 0;

	(void) me;
	for (uint64_t t = from; t < to; t++)
		n += is_tet_kept(g, t);
	g->before[from / BLOCK] = n;
}

/* Numbers the kept tetrahedra of a block. */
static void
number_kept_tets_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_regions *g = arg;
	uint32_t n = g->before[from / BLOCK];

	(void) me;
	for (uint64_t t = from; t < to; t++)
		g->number[t] = is_tet_kept(g, t) ? n++ : RB_NONE;
}

/* Writes the kept tetrahedra of a block with regions and neighbors. */
static void
write_result_tets_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_regions *g = arg;
	const rb_mesh *m = &g->r->mesh;
	rb_tets *tets = g->tets;

	(void) me;
	for (uint64_t t = from; t < to; t++)
	{
		const uint32_t i = g->number[t];

		if (i == RB_NONE)
			continue;
		memcpy(tets->tets[i], m->tets[t].v, sizeof m->tets[t].v);
		tets->region[i] = g->name[g->of[t]];
		for (int k = 0; k < 4; k++)
			tets->neighbours[4 * (size_t) i + k] = g->number[rb_face_tet(m->tets[t].n[k])];
	}
}

/* Numbers and writes the kept tetrahedra. */
static rb_status
write_result_tets(rb_regions *g)
{
	rb_context *ctx = g->r->ctx;
	rb_tets *tets = g->tets;
	size_t n;

	RB_TRY(run_result_blocks(g, g->r->mesh.ntets, count_kept_tets_piece));
	tets->ntets = sum_result_blocks(g);
	g->all = tets->ntets == g->real;
	n = (size_t) tets->ntets + 1;
	RB_TRY(run_result_blocks(g, g->r->mesh.ntets, number_kept_tets_piece));
	RB_TRY(RB_ALLOCATE(ctx, tets->tets, n));
	RB_TRY(RB_ALLOCATE(ctx, tets->neighbours, 4 * n));
	RB_TRY(RB_ALLOCATE(ctx, tets->region, n));
	return fill_result_blocks(g, g->r->mesh.ntets, write_result_tets_piece);
}

/* Marks the constrained faces of kept tetrahedra in a block. */
static void
mark_used_faces_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_regions *g = arg;
	const rb_mesh *m = &g->r->mesh;

	(void) me;
	for (uint64_t t = from; t < to; t++)
		for (uint32_t k = 0; k < 4 && g->number[t] != RB_NONE; k++)
		{
			const uint32_t *v = m->tets[t].v;
			const uint8_t *c = rb_face_corners[k];

			if ((m->bits[t] & RB_FACE_BIT(k)) != 0)
				rb_store(&g->used[*rb_table_get(&g->face_of, v[c[0]], v[c[1]], v[c[2]])], 1);
		}
}

/* Finds the faces of kept tetrahedra. */
static rb_status
find_used(rb_regions *g)
{
	rb_recovery *r = g->r;

	RB_TRY(RB_ALLOCATE(r->ctx, g->used, (size_t) r->nsubfaces + 1));
	RB_TRY(rb_table_expect(r->ctx, &g->face_of, r->nsubfaces));
	for (uint32_t i = 0; i < r->nsubfaces; i++)
	{
		const uint32_t *v = r->subfaces[i].v;

		g->used[i] = 0;
		RB_TRY(rb_recover_stops(r, i)
				   ? RB_STOPPED
				   : rb_table_insert(r->ctx, &g->face_of, v[0], v[1], v[2], i, NULL, NULL));
	}
	return run_result_blocks(g, r->mesh.ntets, mark_used_faces_piece);
}

/* Writes the facet faces of kept tetrahedra, ordered by facet. */
static rb_status
write_result_faces(rb_regions *g)
{
	rb_recovery *r = g->r;
	rb_tets *tets = g->tets;
	uint32_t n = g->all ? r->nsubfaces : 0;
	rb_status status = g->all ? RB_OK : find_used(g);

	for (uint32_t i = 0; i < r->nsubfaces && status == RB_OK && !g->all; i++)
		n += g->used[i];
	if (status == RB_OK)
		status = RB_ALLOCATE(r->ctx, tets->faces, (size_t) n + 1);
	if (status == RB_OK)
		status = RB_ALLOCATE(r->ctx, tets->face_facet, (size_t) n + 1);
	for (uint32_t i = 0; i < r->nsubfaces && status == RB_OK; i++)
	{
		if (rb_recover_stops(r, i))
			return RB_STOPPED;
		if (!g->all && !g->used[i])
			continue;
		memcpy(tets->faces[tets->nfaces], r->subfaces[i].v, sizeof r->subfaces[i].v);
		tets->face_facet[tets->nfaces++] = r->subfaces[i].facet;
	}
	rb_table_free(r->ctx->memory, &g->face_of);
	RB_FREE(r->ctx->memory, g->used);
	return status;
}

/* Finds edges of kept tetrahedra that are subsegments of segments on no facet boundary. */
static rb_status
find_loose_edges(const rb_regions *g, rb_table *used)
{
	rb_recovery *r = g->r;
	const rb_mesh *m = &r->mesh;
	bool *ends = NULL;
	bool any = false;
	rb_status status = RB_ALLOCATE(r->ctx, ends, (size_t) m->npoints + 1);

	if (status == RB_OK)
		memset(ends, 0, m->npoints);
	for (uint32_t i = 0; i < r->npieces && status == RB_OK; i++)
		if (r->segment_facet[r->pieces[i].segment] == RB_NONE)
			any = ends[r->pieces[i].u] = ends[r->pieces[i].v] = true;
	if (any)
		status = rb_recover_list_subsegments(r);
	for (uint32_t t = 0; t < m->ntets && any && status == RB_OK; t++)
	{
		const uint32_t *v = m->tets[t].v;

		if (rb_recover_stops(r, t))
			status = RB_STOPPED;
		if (g->number[t] == RB_NONE)
			continue;
		for (int i = 0; i < 4; i++)
			for (int k = i + 1; k < 4 && status == RB_OK; k++)
				if (ends[v[i]] && ends[v[k]] && rb_table_get(&r->piece_of, v[i], v[k], RB_NONE))
					status = rb_table_insert(r->ctx, used, v[i], v[k], RB_NONE, 0, NULL, NULL);
	}
	RB_FREE(r->ctx->memory, ends);
	return status;
}

/*
 * Writes the subsegments that are edges of kept tetrahedra, in order along each segment. A
 * subsegment on a facet boundary is kept together with an adjacent face; if all faces are kept, all
 * these subsegments are.
 */
static rb_status
write_result_edges(const rb_regions *g)
{
	rb_recovery *r = g->r;
	rb_tets *tets = g->tets;
	bool all = tets->nfaces == r->nsubfaces;
	rb_table used = {0};
	uint32_t n = 0;
	rb_status status = RB_ALLOCATE(r->ctx, tets->edges, (size_t) r->npieces + 1);

	if (status == RB_OK)
		status = RB_ALLOCATE(r->ctx, tets->edge_segment, (size_t) r->npieces + 1);
	for (uint32_t i = 0; i < tets->nfaces && !all && status == RB_OK; i++)
		for (int k = 0; k < 3 && status == RB_OK; k++)
			status = rb_table_insert(r->ctx, &used, tets->faces[i][k], tets->faces[i][(k + 1) % 3],
									 RB_NONE, 0, NULL, NULL);
	if (status == RB_OK && !g->all)
		status = find_loose_edges(g, &used);
	for (uint32_t s = 0; s < r->nsegments && status == RB_OK; s++)
	{
		if (rb_recover_stops(r, s))
			status = RB_STOPPED;
		for (uint32_t p = s; p != RB_NONE; p = r->pieces[p].next)
			if (g->all || (all && r->segment_facet[s] != RB_NONE) ||
				rb_table_get(&used, r->pieces[p].u, r->pieces[p].v, RB_NONE) != NULL)
			{
				tets->edges[n][0] = r->pieces[p].u;
				tets->edges[n][1] = r->pieces[p].v;
				tets->edge_segment[n++] = s;
			}
	}
	tets->nedges = n;
	rb_table_free(r->ctx->memory, &used);
	return status;
}

/* Marks the points of kept tetrahedra. */
static void
mark_kept_points_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_regions *g = arg;

	(void) me;
	for (uint64_t t = from; t < to; t++)
		for (int k = 0; k < 4; k++)
			rb_store(&g->of[g->tets->tets[t][k]], 0);
}

/* Replaces the corners of a block of tetrahedra by their new numbers. */
static void
renumber_corners_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_regions *g = arg;

	(void) me;
	for (uint64_t t = from; t < to; t++)
		for (int k = 0; k < 4; k++)
			g->tets->tets[t][k] = g->of[g->tets->tets[t][k]];
}

/*
 * Moves points and segments from the recovery to the result. Drops Steiner points outside the kept
 * part.
 */
static rb_status
move_points_to_result(rb_regions *g)
{
	rb_recovery *r = g->r;
	rb_tets *tets = g->tets;
	rb_mesh *m = &r->mesh;
	uint32_t given = r->plc->npoints, n = given;
	uint32_t *number;

	RB_TRY(RB_ALLOCATE(r->ctx, tets->kind, (size_t) m->npoints + 1));
	RB_TRY(RB_ALLOCATE(r->ctx, tets->parent, (size_t) m->npoints + 1));
	/* The regions are no longer needed, so their array is reused. */
	RB_TRY(RB_ALLOCATE(r->ctx, g->of, (size_t) m->npoints + 1));
	number = g->of;
	for (uint32_t v = 0; v < m->npoints; v++)
		number[v] = v < given || g->all ? v : RB_NONE;
	if (!g->all && m->npoints > given)
		RB_TRY(run_result_blocks(g, tets->ntets, mark_kept_points_piece));
	for (uint32_t v = 0; v < m->npoints; v++)
	{
		if (rb_recover_stops(r, v))
			return RB_STOPPED;
		if (v >= given && number[v] == RB_NONE)
			continue;
		number[v] = v < given ? v : n++;
		tets->kind[number[v]] = v < given ? RB_VERTEX_INPUT : r->kind[v - given];
		tets->parent[number[v]] = v < given ? RB_NONE : r->parent[v - given];
		if (number[v] != v)
			memcpy(m->points + 3 * (size_t) number[v], m->points + 3 * (size_t) v,
				   sizeof(double[3]));
	}
	if (n < m->npoints)
		RB_TRY(run_result_blocks(g, tets->ntets, renumber_corners_piece));
	for (uint32_t f = 0; f < tets->nfaces && n < m->npoints; f++)
		for (int k = 0; k < 3; k++)
			tets->faces[f][k] = number[tets->faces[f][k]];
	for (uint32_t e = 0; e < tets->nedges && n < m->npoints; e++)
		for (int k = 0; k < 2; k++)
			tets->edges[e][k] = number[tets->edges[e][k]];
	tets->npoints = n;
	tets->points = m->points;
	m->points = NULL;
	tets->nsegments = r->nsegments;
	tets->segments = r->segments;
	tets->segment_facet = r->segment_facet;
	r->segments = NULL;
	r->segment_facet = NULL;
	return RB_OK;
}

/* Selects and writes tetrahedra, faces, edges and points. */
static rb_status
write_result(rb_regions *g, rb_keep keep)
{
	RB_TRY(find_regions(g, keep));
	RB_TRY(apply_seeds(g->r, g, g->tets));
	RB_TRY(write_result_tets(g));
	RB_TRY(write_result_faces(g));
	RB_TRY(write_result_edges(g));
	return move_points_to_result(g);
}

rb_status
rb_recover_result(rb_recovery *r, rb_keep keep, rb_tets *tets)
{
	rb_memory *memory = r->ctx->memory;
	rb_regions g;
	rb_status status;

	memset(&g, 0, sizeof g);
	g.r = r;
	g.tets = tets;
	/* Free the large tables of the recovery, except for the one that is still needed (piece_of). */
	rb_recover_free_complete(r);
	rb_table_free(memory, &r->boundary);
	rb_table_free(memory, &r->halved);
	RB_FREE(memory, r->facet_start);
	RB_FREE(memory, r->acute);
	RB_FREE(memory, r->cuts);
	RB_FREE(memory, r->edges);
	rb_progress(r->ctx, RB_STAGE_MESH_REGIONS, 0, r->mesh.nalive);
	status = write_result(&g, keep);
	RB_FREE(memory, g.of);
	RB_FREE(memory, g.name);
	RB_FREE(memory, g.named);
	RB_FREE(memory, g.dropped);
	RB_FREE(memory, g.number);
	RB_FREE(memory, g.before);
	return status;
}

/* ---- connectivity of a mesh that was loaded from rows ---- */

#define STOP_EVERY 16384 /* points or faces between two polls for a stop */

/* A face among those with the same smallest corner */
typedef struct corner_face
{
	uint32_t middle, largest; /* the other two corners */
	uint32_t at;              /* the face as 4 * tetrahedron + corner */
} corner_face;

/* Orders faces by their middle and largest corners, then by number. */
static int
compare_faces_to_connect(const void *a, const void *b, const void *arg)
{
	const corner_face *x = a, *y = b;

	(void) arg;
	if (x->middle != y->middle)
		return x->middle < y->middle ? -1 : 1;
	if (x->largest != y->largest)
		return x->largest < y->largest ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* Gets the three corners of a face in ascending order, as the key of a table. */
static void
key_of_face_to_connect(const rb_tets *tets, uint32_t at, uint32_t *key)
{
	const uint32_t *v = tets->tets[at >> 2];
	uint32_t k = at & 3;

	rb_table_key(key, v[(k + 1) & 3], v[(k + 2) & 3], v[(k + 3) & 3]);
}

/* Returns the smallest corner of a face, by which faces of loaded tetrahedra are listed. */
static uint32_t
smallest_corner_to_connect(const void *tets, uint32_t at)
{
	uint32_t key[3];

	key_of_face_to_connect(tets, at, key);
	return key[0];
}

/* Links the faces of one bucket that have equal corners. */
static rb_status
connect_equal_faces(rb_context *ctx, rb_tets *tets, const uint32_t *at, corner_face *f, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t key[3];

		key_of_face_to_connect(tets, at[i], key);
		f[i] = (corner_face){key[1], key[2], at[i]};
	}
	RB_TRY(rb_sort(ctx, f, n, sizeof *f, compare_faces_to_connect, NULL));
	for (uint32_t i = 0; i < n; i++)
	{
		if (i + 1 == n || f[i].middle != f[i + 1].middle || f[i].largest != f[i + 1].largest)
			continue;
		if (i + 2 < n && f[i].middle == f[i + 2].middle && f[i].largest == f[i + 2].largest)
			return RB_BAD_PLC;
		tets->neighbours[f[i].at] = f[i + 1].at >> 2;
		tets->neighbours[f[i + 1].at] = f[i].at >> 2;
		i++;
	}
	return RB_OK;
}

/* Connects loaded tetrahedra: finds their neighbors across faces with equal corners. */
static rb_status
connect_loaded_neighbors(rb_context *ctx, rb_tets *tets)
{
	const uint32_t n = 4 * tets->ntets;
	rb_buckets b = {0};
	corner_face *faces = NULL;
	size_t cap = 0;
	rb_status status = RB_ALLOCATE(ctx, tets->neighbours, (size_t) n + 4);

	if (status == RB_OK)
	{
		memset(tets->neighbours, 0xff, (size_t) n * sizeof(uint32_t));
		status = rb_buckets_build(ctx, &b, n, tets->npoints, smallest_corner_to_connect, tets);
	}
	for (uint32_t p = 0; p < tets->npoints && status == RB_OK; p++)
	{
		const uint32_t count = b.start[p + 1] - b.start[p];

		status = rb_stop_due(ctx, p, STOP_EVERY) ? RB_STOPPED : RB_GROW(ctx, faces, cap, count);
		if (status == RB_OK)
			status = connect_equal_faces(ctx, tets, b.member + b.start[p], faces, count);
	}
	rb_buckets_free(ctx->memory, &b);
	RB_FREE(ctx->memory, faces);
	return status;
}

/*
 * Counts the faces of each facet at each edge, then finds the smallest facet with a single face
 * there. The tables use facet numbers offset by the number of points.
 */
static rb_status
count_facet_edges(rb_context *ctx, const rb_tets *tets, rb_table *uses, rb_table *first)
{
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t f = 0; f < tets->nfaces; f++)
			for (int k = 0; k < 3; k++)
			{
				uint32_t u = tets->faces[f][k], v = tets->faces[f][(k + 1) % 3];
				uint32_t facet = tets->face_facet[f], *there;

				if (rb_stop_due(ctx, f, STOP_EVERY))
					return RB_STOPPED;
				if (pass == 0)
				{
					RB_TRY(
						rb_table_insert(ctx, uses, u, v, tets->npoints + facet, 0, &there, NULL));
					++*there;
				}
				else if (*rb_table_get(uses, u, v, tets->npoints + facet) == 1)
				{
					RB_TRY(rb_table_insert(ctx, first, u, v, RB_NONE, facet, &there, NULL));
					if (facet < *there)
						*there = facet;
				}
			}
	return RB_OK;
}

/* Finds a facet at each segment of a loaded mesh. */
static rb_status
find_segment_facets(rb_context *ctx, uint32_t nfacets, rb_tets *tets)
{
	rb_table uses = {0}, first = {0};
	rb_status status = RB_ALLOCATE(ctx, tets->segment_facet, (size_t) tets->nsegments + 1);

	if (status == RB_OK && tets->npoints > RB_NONE - nfacets)
		status =
			rb_fail(ctx, RB_TOO_MANY_OBJECTS, (uint64_t) tets->npoints + nfacets, RB_NONE, NULL);
	if (status == RB_OK)
	{
		memset(tets->segment_facet, 0xff, (size_t) tets->nsegments * sizeof(uint32_t));
		status = count_facet_edges(ctx, tets, &uses, &first);
	}
	for (uint32_t e = 0; e < tets->nedges && status == RB_OK; e++)
	{
		const uint32_t *facet = rb_table_get(&first, tets->edges[e][0], tets->edges[e][1], RB_NONE);
		uint32_t *of = &tets->segment_facet[tets->edge_segment[e]];

		if (facet != NULL && *facet < *of)
			*of = *facet;
	}
	rb_table_free(ctx->memory, &uses);
	rb_table_free(ctx->memory, &first);
	return status;
}

rb_status
rb_tets_connect(rb_context *ctx, uint32_t nfacets, rb_tets *tets)
{
	rb_status status = RB_OK;

	tets->neighbours = NULL;
	tets->segment_facet = NULL;
	if (tets->ntets >= UINT32_MAX / 4)
		status = rb_fail(ctx, RB_TOO_MANY_OBJECTS, tets->ntets, UINT32_MAX / 4, NULL);
	if (status == RB_OK)
		status = connect_loaded_neighbors(ctx, tets);
	if (status == RB_OK)
		status = find_segment_facets(ctx, nfacets, tets);
	if (status != RB_OK)
	{
		RB_FREE(ctx->memory, tets->neighbours);
		RB_FREE(ctx->memory, tets->segment_facet);
	}
	return status;
}
