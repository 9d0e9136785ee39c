/*
 * solid_boolean.c
 *	  Computes the boundary of the intersection, union or difference of two solids.
 *
 *		faces of both solids
 *			-> pieces that meet only in corners and edges			weld.c, plc_split.c
 *			-> patches of pieces that no piece of the other solid bounds
 *			-> for each patch, whether it is inside the other solid	core/solid/sheets.c
 *			-> for each side of each piece, the solids there; the pieces between a side that the
 *			   operation keeps and one that it drops, turned outward
 *			-> polygons												boundary_polygons.c
 *
 * The pieces are cut exactly and then rounded, and all tests that follow use the rounded pieces,
 * which do not cross. Each solid's pieces are still closed modulo 2, so each of them divides space
 * into an inside and an outside. A piece that is between two kinds of places bounds the result, and
 * any other does not; hence the result is closed and does not cross itself, whatever rounding did
 * to the pieces, and nothing dangles.
 */
#include "core/base/union_find.h"
#include "core/solid/solid.h"
#include "mesh/hash_table.h"
#include "mesh/solid_boolean.h"
#include "core/set/face.h"
#include "core/set/set.h"

#define CHECK_INTERVAL 4096 /* pieces between two polls for a stop */

#define FIRST 1u  /* bit of the first solid, in rb_welded.surfaces and in the sides of a piece */
#define SECOND 2u /* bit of the second solid */
#define BOTH (FIRST | SECOND)

/* One of the solids as a set of one row, and what is known about its pieces */
typedef struct operand
{
	rb_set set;
	rb_fans fans;
	double *coords;
	uint32_t *row_of;
	uint32_t *piece; /* the piece of each triangle of the set */
} operand;

typedef struct combination
{
	rb_context *ctx;
	const rb_backend *backend;
	rb_solid_operation operation;
	rb_welded pieces;
	rb_split_done split;
	operand solid[2];
	uint32_t *patch; /* union-find structure of the pieces */
	/* for each piece, the bits of the solids on the side of its normal, and on the other one */
	uint8_t *front;
	uint8_t *back;
} combination;

/* ---- pieces ---- */

/* Welds the faces, assigns them to the two solids, and cuts them. */
static rb_status
cut_faces_into_pieces(combination *c, const rb_set *faces, rb_flaw *flaw)
{
	const rb_weld_input in = {.facets = faces, .skip_flat = true};
	rb_welded *w = &c->pieces;
	rb_resplit *split = NULL;
	rb_status status;

	RB_TRY(rb_weld(c->ctx, &in, w, flaw));
	RB_TRY(RB_ALLOCATE(c->ctx, w->surfaces, (size_t) w->plc.ntriangles + 1));
	for (uint32_t i = 0; i < w->plc.ntriangles; i++)
		w->surfaces[i] = w->facet_row[w->plc.facet_of[i]] == 0 ? FIRST : SECOND;
	status = rb_resplit_run(c->ctx, c->backend, &split, w, &c->split, flaw);
	rb_resplit_free(c->ctx->memory, &split);
	return status;
}

/*
 * Collects the pieces of a solid as a set of one row, and finds which of their sides is inside.
 */
static rb_status
collect_pieces_of_solid(combination *c, int which)
{
	static const uint32_t no_bad_rows[1] = {0};
	operand *o = &c->solid[which];
	const rb_plc *plc = &c->pieces.plc;
	const size_t n = (size_t) plc->ntriangles + 1;
	uint32_t m = 0;

	RB_TRY(rb_array(c->ctx, (void **) &o->coords, n, 9 * sizeof(double)));
	RB_TRY(RB_ALLOCATE(c->ctx, o->row_of, n));
	RB_TRY(RB_ALLOCATE(c->ctx, o->piece, n));
	for (uint32_t i = 0; i < plc->ntriangles; i++)
	{
		if ((c->pieces.surfaces[i] >> which & 1) == 0)
			continue;
		for (int k = 0; k < 3; k++)
			memcpy(o->coords + 9 * (size_t) m + 3 * k,
				   plc->points + 3 * (size_t) plc->triangles[i][k], 3 * sizeof(double));
		o->row_of[m] = 0;
		o->piece[m++] = i;
	}
	o->set = (rb_set){
		.kind = RB_TRIANGLE3, .nparts = m, .nrows = 1, .coords = o->coords, .row_of = o->row_of};
	RB_TRY(rb_fans_find(c->ctx, &o->set, no_bad_rows, &o->fans));
	return rb_fans_find_inner(c->ctx, c->backend, &o->fans, NULL);
}

/* ---- patches ---- */

/*
 * Inserts the edges of all pieces that belong to a solid into a table. The value of an edge is its first piece, shifted by two
 * bits, and the bits of all solids that have a piece there.
 */
static rb_status
list_edges_of_pieces(const combination *c, rb_table *edges)
{
	const rb_plc *plc = &c->pieces.plc;

	RB_TRY(rb_table_expect(c->ctx, edges, 3 * (uint64_t) plc->ntriangles / 2));
	for (uint32_t i = 0; i < plc->ntriangles; i++)
	{
		const uint32_t *v = plc->triangles[i];

		for (int k = 0; k < 3 && c->pieces.surfaces[i] != 0; k++)
		{
			uint32_t *value;

			RB_TRY(rb_table_insert(c->ctx, edges, v[k], v[(k + 1) % 3], RB_NONE, i << 2, &value,
								   NULL));
			*value |= c->pieces.surfaces[i];
		}
		if (rb_stop_due(c->ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
	}
	return RB_OK;
}

/*
 * Unites pieces of one solid that share an edge at which the other solid has no piece. All pieces of
 * such a patch are on the same side of the other solid.
 */
static rb_status
unite_pieces_to_patches(combination *c)
{
	const rb_plc *plc = &c->pieces.plc;
	rb_table edges = {0};
	rb_status status = RB_OK;

	RB_TRY(RB_ALLOCATE(c->ctx, c->patch, (size_t) plc->ntriangles + 1));
	rb_union_find_init(c->patch, plc->ntriangles);
	status = list_edges_of_pieces(c, &edges);
	for (uint32_t i = 0; i < plc->ntriangles && status == RB_OK; i++)
	{
		const uint32_t *v = plc->triangles[i];

		for (int k = 0; k < 3 && c->pieces.surfaces[i] != 0; k++)
		{
			const uint32_t value = *rb_table_get(&edges, v[k], v[(k + 1) % 3], RB_NONE);

			if ((value & BOTH) == c->pieces.surfaces[i] && (value & BOTH) != BOTH)
				rb_unite(c->patch, i, value >> 2);
		}
		if (rb_stop_due(c->ctx, i, CHECK_INTERVAL))
			status = RB_STOPPED;
	}
	rb_table_free(c->ctx->memory, &edges);
	return status;
}

/*
 * Tests one piece of each patch of a solid against the other solid, and sets the other solid's bits
 * on both sides of all pieces of the patches that are inside.
 */
static rb_status
locate_patches_of_solid(combination *c, int which)
{
	const operand *o = &c->solid[which];
	const uint8_t mine = which == 0 ? FIRST : SECOND, other = BOTH ^ mine;
	uint32_t *some = NULL, n = 0;
	rb_notes inside;
	rb_status status;

	RB_TRY(RB_ALLOCATE(c->ctx, some, (size_t) o->set.nparts + 1));
	for (uint32_t i = 0; i < o->set.nparts; i++)
		if (c->pieces.surfaces[o->piece[i]] == mine && c->patch[o->piece[i]] == o->piece[i])
			some[n++] = i;
	rb_notes_open(&inside, c->ctx);
	status = rb_sheet_points_locate(c->ctx, c->backend, &o->fans, some, n,
									&c->solid[1 - which].fans, false, &inside);
	for (size_t i = 0; i < inside.n && status == RB_OK; i++)
		c->front[o->piece[some[inside.at[i].red]]] = other;
	rb_notes_close(&inside);
	RB_FREE(c->ctx->memory, some);
	for (uint32_t i = 0; i < o->set.nparts && status == RB_OK; i++)
	{
		const uint32_t piece = o->piece[i];

		if (c->pieces.surfaces[piece] == mine)
		{
			c->front[piece] = c->front[rb_find_root(c->patch, piece)] & other;
			c->back[piece] = c->front[piece];
		}
		if (rb_stop_due(c->ctx, i, CHECK_INTERVAL))
			status = RB_STOPPED;
	}
	return status;
}

/* Sets the bit of a solid on the inner side of each of its pieces. */
static void
mark_inner_sides(combination *c, int which)
{
	const operand *o = &c->solid[which];

	for (uint32_t i = 0; i < o->set.nparts; i++)
		*(rb_points_inward(&o->fans, i) ? &c->front[o->piece[i]] : &c->back[o->piece[i]]) |=
			(uint8_t) (1u << which);
}

/* ---- the result ---- */

/* Returns true if the result contains the places that are in the given solids. */
static bool
does_operation_keep(rb_solid_operation operation, uint8_t in)
{
	switch (operation)
	{
		case RB_SOLID_INTERSECTION:
			return in == BOTH;
		case RB_SOLID_UNION:
			return in != 0;
		case RB_SOLID_DIFFERENCE:
			return in == FIRST;
		case RB_SOLID_SYMDIFFERENCE:
			break;
	}
	return in == FIRST || in == SECOND;
}

/* Replaces the pieces by those that bound the result, turned outward, each a facet of its own. */
static void
keep_pieces_of_result(combination *c)
{
	rb_plc *plc = &c->pieces.plc;
	uint32_t(*triangles)[3] = (uint32_t(*)[3]) plc->triangles;
	uint32_t *facet_of = (uint32_t *) plc->facet_of;
	uint32_t n = 0;

	for (uint32_t i = 0; i < plc->ntriangles; i++)
	{
		const bool front = does_operation_keep(c->operation, c->front[i]),
				   back = does_operation_keep(c->operation, c->back[i]);
		const uint32_t v[3] = {triangles[i][0], triangles[i][1], triangles[i][2]};

		if (front == back)
			continue;
		triangles[n][0] = v[0];
		triangles[n][1] = front ? v[2] : v[1];
		triangles[n][2] = front ? v[1] : v[2];
		facet_of[n] = n;
		n++;
	}
	plc->ntriangles = plc->nfacets = n;
	plc->nsegments = 0;
}

/* Finds the solids on both sides of each piece. */
static rb_status
find_sides_of_pieces(combination *c)
{
	const size_t n = (size_t) c->pieces.plc.ntriangles + 1;

	RB_TRY(RB_ALLOCATE(c->ctx, c->front, n));
	RB_TRY(RB_ALLOCATE(c->ctx, c->back, n));
	memset(c->front, 0, n);
	memset(c->back, 0, n);
	for (int which = 0; which < 2; which++)
		RB_TRY(collect_pieces_of_solid(c, which));
	RB_TRY(unite_pieces_to_patches(c));
	for (int which = 0; which < 2; which++)
		RB_TRY(locate_patches_of_solid(c, which));
	for (int which = 0; which < 2; which++)
		mark_inner_sides(c, which);
	return RB_OK;
}

/* Frees everything but the result. */
static void
free_combination(combination *c)
{
	rb_memory *memory = c->ctx->memory;

	for (int which = 0; which < 2; which++)
	{
		rb_fans_free(memory, &c->solid[which].fans);
		RB_FREE(memory, c->solid[which].coords);
		RB_FREE(memory, c->solid[which].row_of);
		RB_FREE(memory, c->solid[which].piece);
	}
	RB_FREE(memory, c->patch);
	RB_FREE(memory, c->front);
	RB_FREE(memory, c->back);
	rb_welded_free(memory, &c->pieces);
}

rb_status
rb_solid_combine(rb_context *ctx, const rb_backend *backend, const rb_set *faces,
				 rb_solid_operation operation, rb_solid_boundary *to, rb_flaw *flaw)
{
	combination c = {.ctx = ctx, .backend = backend, .operation = operation};
	rb_status status;

	memset(to, 0, sizeof *to);
	status = cut_faces_into_pieces(&c, faces, flaw);
	if (status == RB_OK)
		status = find_sides_of_pieces(&c);
	if (status == RB_OK)
	{
		keep_pieces_of_result(&c);
		status = rb_boundary_polygons(ctx, &c.pieces.plc, to);
		to->largest_move = c.split.largest_move;
	}
	free_combination(&c);
	if (status != RB_OK)
		rb_solid_boundary_free(ctx->memory, to);
	return status;
}

/*
 * ---- operations on lists of triangles, unions of many solids ----
 *
 *		solids    0   1   2   3   4
 *				   \ /     \ /    |
 *		round 1    0,1     2,3    4
 *				     \     /      |
 *		round 2       0,...,3     4
 *				             \   /
 *		boundary            0,...,4
 *
 * The boundary of a union is divided into triangles again for the next round, each of its polygons
 * as a face of a geometry would be. So a face takes part in as many unions as the tree is deep.
 */

/* Solids of one round: builders of one row each, which are triangles of a boundary */
typedef struct union_tree
{
	rb_context *ctx;
	const rb_backend *backend;
	const rb_set *solids;
	uint32_t *start; /* first triangle of each row of `solids` */
	rb_builder *united;
	uint32_t n; /* number of solids of the round */
	bool first; /* true in the first round, which unites rows */
	rb_flaw *flaw;
} union_tree;

rb_status
rb_solid_combine_two(rb_context *ctx, const rb_backend *backend, const rb_solid_triangles solid[2],
					 rb_solid_operation operation, rb_solid_boundary *to, rb_flaw *flaw)
{
	const size_t n = (size_t) solid[0].n + solid[1].n;
	rb_set faces = {.kind = RB_TRIANGLE3, .nparts = (uint32_t) n, .nrows = 2};
	double *coords = NULL;
	uint32_t *row_of = NULL;
	RB_FREE_AT_END(ctx->memory, &coords, &row_of);

	RB_TRY(RB_ALLOCATE(ctx, coords, 9 * n));
	RB_TRY(RB_ALLOCATE(ctx, row_of, n));
	memcpy(coords, solid[0].coords, 9 * sizeof(double) * solid[0].n);
	memcpy(coords + 9 * (size_t) solid[0].n, solid[1].coords, 9 * sizeof(double) * solid[1].n);
	for (size_t i = 0; i < n; i++)
		row_of[i] = i >= solid[0].n;
	faces.coords = coords;
	faces.row_of = row_of;
	return rb_solid_combine(ctx, backend, &faces, operation, to, flaw);
}

/* Returns the triangles of solid i of the current round. */
static rb_solid_triangles
triangles_of_solid(const union_tree *t, uint32_t i)
{
	if (!t->first)
		return (rb_solid_triangles){t->united[i].coords, t->united[i].nparts};
	return (rb_solid_triangles){t->solids->coords + 9 * (size_t) t->start[i],
								t->start[i + 1] - t->start[i]};
}

/* Computes the union of solids a and b of the current round, which may be the same. */
static rb_status
unite_two_solids(const union_tree *t, uint32_t a, uint32_t b, rb_solid_boundary *to)
{
	const rb_solid_triangles solid[2] = {triangles_of_solid(t, a), triangles_of_solid(t, b)};

	return rb_solid_combine_two(t->ctx, t->backend, solid, RB_SOLID_UNION, to, t->flaw);
}

/* Divides a polygon of a boundary into triangles of a builder. */
static rb_geometry_fault
divide_polygon(rb_builder *b, const rb_solid_boundary *s, uint32_t polygon, rb_error *error)
{
	rb_geometry_info info = {0};
	rb_polygon_face face;

	rb_face_begin(&face, b, &info, error);
	for (uint32_t r = s->ring_of[polygon]; r < s->ring_of[polygon + 1]; r++)
	{
		const uint32_t *corner = s->corners + s->corner_of[r];
		const uint32_t n = s->corner_of[r + 1] - s->corner_of[r], first = face.ncorners;
		rb_geometry_fault fault = rb_face_reserve(&face, n + 1);

		if (fault != RB_GEOMETRY_OK)
			return fault;
		for (uint32_t i = 0; i <= n; i++)
			rb_face_add(&face, s->points + 3 * (size_t) corner[i % n], i == 0);
		rb_face_end_ring(&face, first);
	}
	return rb_face_finish(&face);
}

rb_status
rb_solid_boundary_divide(rb_context *ctx, const rb_solid_boundary *s, rb_builder *b, rb_flaw *flaw)
{
	for (uint32_t i = 0; i < s->npolygons; i++)
	{
		rb_error error = {0};
		const rb_geometry_fault fault = divide_polygon(b, s, i, &error);

		if (fault == RB_GEOMETRY_NO_MEMORY)
			return rb_fail(ctx, error.status, error.need, error.limit, NULL);
		if (fault != RB_GEOMETRY_OK)
		{
			*flaw = (rb_flaw){.kind = RB_FLAW_FACET_FOLDED, .a = i, .b = RB_NONE};
			memcpy(flaw->at, s->points + 3 * (size_t) s->corners[s->corner_of[s->ring_of[i]]],
				   sizeof flaw->at);
			return RB_BAD_PLC;
		}
		if (rb_should_stop(ctx))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* Copies the triangles of solid i of the current round to an empty builder. */
static rb_status
copy_solid(const union_tree *t, uint32_t i, rb_builder *b)
{
	const rb_solid_triangles solid = triangles_of_solid(t, i);
	rb_error error;

	if (rb_builder_reserve(b, solid.n, &error) != RB_OK)
		return rb_fail(t->ctx, error.status, error.need, error.limit, NULL);
	memcpy(b->coords, solid.coords, 9 * sizeof(double) * solid.n);
	b->nparts = solid.n;
	return RB_OK;
}

/* Computes the union of solids i and i + 1 of the current round into an empty builder. */
static rb_status
unite_to_builder(const union_tree *t, uint32_t i, rb_builder *b)
{
	rb_solid_boundary boundary = {0};
	rb_status status = unite_two_solids(t, i, i + 1, &boundary);

	if (status == RB_OK)
		status = rb_solid_boundary_divide(t->ctx, &boundary, b, t->flaw);
	rb_solid_boundary_free(t->ctx->memory, &boundary);
	return status;
}

/* Makes solid i / 2 of the next round from solid i and the one after it, if there is one. */
static rb_status
unite_neighbors(union_tree *t, uint32_t i)
{
	rb_builder b;
	rb_status status;

	rb_builder_init(&b, t->ctx->memory, RB_TRIANGLE3);
	status = i + 1 < t->n ? unite_to_builder(t, i, &b) : copy_solid(t, i, &b);
	if (status != RB_OK)
	{
		rb_builder_free(&b);
		return status;
	}
	for (uint32_t k = i; k < i + 2 && k < t->n && !t->first; k++)
		rb_builder_free(&t->united[k]);
	t->united[i / 2] = b;
	return RB_OK;
}

/* Unites solids round by round, until the last two are left. */
static rb_status
unite_in_rounds(union_tree *t, rb_solid_boundary *to)
{
	for (; t->n > 2; t->n = t->n / 2 + t->n % 2, t->first = false)
		for (uint32_t i = 0; i < t->n; i += 2)
			RB_TRY(unite_neighbors(t, i));
	return unite_two_solids(t, 0, t->n - 1, to);
}

rb_status
rb_solid_unite(rb_context *ctx, const rb_backend *backend, const rb_set *solids,
			   rb_solid_boundary *to, rb_flaw *flaw)
{
	union_tree t = {.ctx = ctx,
					.backend = backend,
					.solids = solids,
					.n = solids->nrows,
					.first = true,
					.flaw = flaw};
	rb_status status;
	RB_FREE_AT_END(ctx->memory, &t.start, &t.united);

	memset(to, 0, sizeof *to);
	if (solids->nrows == 0)
		return RB_OK;
	RB_TRY(RB_ALLOCATE(ctx, t.start, (size_t) solids->nrows + 1));
	RB_TRY(rb_row_starts(ctx, solids, t.start));
	RB_TRY(RB_ALLOCATE(ctx, t.united, solids->nrows));
	for (uint32_t i = 0; i < solids->nrows; i++)
		rb_builder_init(&t.united[i], ctx->memory, RB_TRIANGLE3);
	status = unite_in_rounds(&t, to);
	for (uint32_t i = 0; i < solids->nrows; i++)
		rb_builder_free(&t.united[i]);
	return status;
}
