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
