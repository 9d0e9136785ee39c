/*
 * solid_union.c
 *	  Combines two solids, and computes the union of many by unions of two in a balanced tree.
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
#include "core/set/face.h"
#include "core/set/set.h"
#include "mesh/solid_union.h"

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
