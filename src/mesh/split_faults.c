/*
 * split_faults.c
 *	  Doubles the vertices of a mesh along faults: faces of facets with the same region on both
 *	  sides.
 *
 * The corners of the tetrahedra around a vertex are united across all faces that they share, except
 * across those on faults. Each of the sets that remain gets a vertex of its own; the set with the
 * smallest corner keeps the vertex. Around a vertex on the rim of a fault, tetrahedra on both sides
 * are connected past the rim, so it stays single, and so does a vertex where a fault ends at
 * another region. Where a fault reaches the boundary of the mesh, or crosses another fault,
 * vertices are doubled or more.
 *
 * Tetrahedra that share a vertex, but are connected neither across faces of faults nor across
 * others, such as those of two solids that touch, keep it in common.
 */
#include "core/base/union_find.h"
#include "mesh/formats.h"
#include "mesh/hash_table.h"
#include "mesh/tet.h"

#define CHECK_INTERVAL 4096 /* elements between two polls for a stop */

/* The corners of tetrahedra, numbered 4 t + k, while they are united */
typedef struct corner_sets
{
	const rb_mesh_rows *rows;
	rb_table faults;  /* faces on faults */
	rb_table faces;   /* first corner of each face of a tetrahedron, opposite to it */
	bool *on_fault;   /* true for each vertex on a fault */
	uint32_t *cut;    /* sets united across faces that are on no fault */
	uint32_t *all;    /* sets united across all faces */
	uint32_t *vertex; /* new vertex of each set of `cut`, at its root */
	uint32_t (*sides)[2];
} corner_sets;

/* Frees all that splitting along faults has allocated, but not the rows of the mesh. */
static void
free_corner_sets(rb_memory *memory, corner_sets *c)
{
	rb_table_free(memory, &c->faults);
	rb_table_free(memory, &c->faces);
	RB_FREE(memory, c->on_fault);
	RB_FREE(memory, c->cut);
	RB_FREE(memory, c->all);
	RB_FREE(memory, c->vertex);
	RB_FREE(memory, c->sides);
}

/* Returns the region of a tetrahedron; all have region 1 if the mesh has no regions. */
static int64_t
region_of_tet_at_fault(const rb_mesh_rows *rows, uint32_t tet)
{
	return rows->region != NULL ? rows->region[tet] : 1;
}

/* Returns true if a face has the same region on both sides. */
static bool
is_face_on_fault(const corner_sets *c, uint32_t face)
{
	const uint32_t *side = c->sides[face];

	return side[0] != RB_NONE && side[1] != RB_NONE &&
		   region_of_tet_at_fault(c->rows, side[0] / 4) ==
			   region_of_tet_at_fault(c->rows, side[1] / 4);
}

/* Finds the faces and vertices on faults. */
static rb_status
find_faults(rb_context *ctx, corner_sets *c)
{
	const rb_mesh_rows *rows = c->rows;

	RB_TRY(RB_ALLOCATE(ctx, c->sides, (size_t) rows->nfaces + 1));
	RB_TRY(rb_mesh_face_sides(ctx, rows, c->sides));
	RB_TRY(RB_ALLOCATE(ctx, c->on_fault, (size_t) rows->npoints + 1));
	memset(c->on_fault, 0, rows->npoints * sizeof *c->on_fault);
	for (uint32_t i = 0; i < rows->nfaces; i++)
	{
		const uint32_t *v = rows->faces[i];

		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		if (!is_face_on_fault(c, i))
			continue;
		RB_TRY(rb_table_insert(ctx, &c->faults, v[0], v[1], v[2], i, NULL, NULL));
		for (int k = 0; k < 3; k++)
			c->on_fault[v[k]] = true;
	}
	return RB_OK;
}

/* Returns the number of the corner of a tetrahedron at a vertex that it has. */
static uint32_t
corner_at(const rb_mesh_rows *rows, uint32_t tet, uint32_t v)
{
	uint32_t k = 0;

	while (k < 3 && rows->tets[tet][k] != v)
		k++;
	return 4 * tet + k;
}

/*
 * Unites the corners of two tetrahedra at those vertices of their common face that are on faults.
 */
static void
unite_across(corner_sets *c, uint32_t a, uint32_t b, const uint32_t *v)
{
	const bool fault = rb_table_get(&c->faults, v[0], v[1], v[2]) != NULL;

	for (int k = 0; k < 3; k++)
		if (c->on_fault[v[k]])
		{
			const uint32_t x = corner_at(c->rows, a, v[k]), y = corner_at(c->rows, b, v[k]);

			rb_unite(c->all, x, y);
			if (!fault)
				rb_unite(c->cut, x, y);
		}
}

/* Unites the corners at vertices on faults. */
static rb_status
unite_corners(rb_context *ctx, corner_sets *c)
{
	const rb_mesh_rows *rows = c->rows;
	const uint32_t corners = 4 * rows->ntets;

	RB_TRY(RB_ALLOCATE(ctx, c->cut, (size_t) corners + 1));
	RB_TRY(RB_ALLOCATE(ctx, c->all, (size_t) corners + 1));
	RB_TRY(RB_ALLOCATE(ctx, c->vertex, (size_t) corners + 1));
	rb_union_find_init(c->cut, corners);
	rb_union_find_init(c->all, corners);
	for (uint32_t i = 0; i < rows->ntets; i++)
	{
		const uint32_t *tet = rows->tets[i];

		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		for (int f = 0; f < 4; f++)
		{
			const uint8_t *n = rb_face_corners[f];
			const uint32_t v[3] = {tet[n[0]], tet[n[1]], tet[n[2]]};
			uint32_t *there;
			bool fresh;

			if (!c->on_fault[v[0]] && !c->on_fault[v[1]] && !c->on_fault[v[2]])
				continue;
			RB_TRY(rb_table_insert(ctx, &c->faces, v[0], v[1], v[2], i, &there, &fresh));
			if (!fresh)
				unite_across(c, *there, i, v);
		}
	}
	return RB_OK;
}

/* Copies the tetrahedra with new vertices. Sets s->doubled, and s->origin of the new vertices. */
static rb_status
number_vertices(rb_context *ctx, corner_sets *c, rb_mesh_split *s)
{
	const rb_mesh_rows *rows = c->rows;
	size_t cap = 0;

	RB_TRY(RB_ALLOCATE(ctx, s->tets, (size_t) rows->ntets + 1));
	for (uint32_t i = 0; i < 4 * rows->ntets; i++)
	{
		const uint32_t v = rows->tets[i / 4][i % 4];
		const uint32_t root = rb_find_root(c->cut, i);

		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		/* Roots are the smallest corners of their sets. */
		if (root == i && rb_find_root(c->all, i) == i)
			c->vertex[i] = v;
		else if (root == i)
		{
			if (rows->npoints + (uint64_t) s->doubled >= RB_NONE)
				return rb_fail(ctx, RB_TOO_MANY_OBJECTS, RB_NONE, RB_NONE - 1, NULL);
			RB_TRY(RB_GROW(ctx, s->origin, cap, (size_t) s->doubled + 1));
			s->origin[s->doubled] = v;
			c->vertex[i] = rows->npoints + s->doubled++;
		}
		s->tets[i / 4][i % 4] = c->vertex[root];
	}
	return RB_OK;
}

/* Copies the vertices, and appends the new ones. */
static rb_status
copy_vertices(rb_context *ctx, const rb_mesh_rows *rows, rb_mesh_split *s)
{
	const size_t n = (size_t) rows->npoints + s->doubled;

	RB_TRY(RB_ALLOCATE(ctx, s->points, 3 * n + 1));
	memcpy(s->points, rows->points, 3 * (size_t) rows->npoints * sizeof *s->points);
	RB_TRY(RB_ALLOCATE(ctx, s->kind, n + 1));
	RB_TRY(RB_ALLOCATE(ctx, s->parent, n + 1));
	for (size_t i = 0; i < n; i++)
	{
		const uint32_t v = i < rows->npoints ? (uint32_t) i : s->origin[i - rows->npoints];

		memcpy(s->points + 3 * i, rows->points + 3 * (size_t) v, 3 * sizeof *s->points);
		s->kind[i] = rows->kind != NULL ? rows->kind[v] : 0;
		s->parent[i] = rows->parent != NULL ? rows->parent[v] : 0;
	}
	return RB_OK;
}

/* Copies face i to face `to`, with the vertices of the tetrahedron on the given side. */
static void
copy_face_of_fault_side(const corner_sets *c, rb_mesh_split *s, uint32_t i, int side, uint32_t to)
{
	const rb_mesh_rows *rows = c->rows;

	for (int k = 0; k < 3; k++)
	{
		const uint32_t v = rows->faces[i][k];
		const uint32_t at = c->sides[i][side];

		s->faces[to][side == 1 ? 2 - k : k] =
			at == RB_NONE ? v : s->tets[at / 4][corner_at(rows, at / 4, v) % 4];
	}
	s->facet[to] = rows->facet != NULL ? rows->facet[i] : 1;
	s->label[to] = rows->facet_labels != NULL ? rows->facet_labels->of[i] : 0;
}

/* Copies the faces, and appends the other sides of those on faults if they have other vertices. */
static rb_status
copy_faces(rb_context *ctx, const corner_sets *c, rb_mesh_split *s)
{
	const rb_mesh_rows *rows = c->rows;
	const size_t most = 2 * (size_t) rows->nfaces;

	if (most > RB_NONE)
		return rb_fail(ctx, RB_TOO_MANY_OBJECTS, most, RB_NONE, NULL);
	RB_TRY(RB_ALLOCATE(ctx, s->faces, most + 1));
	RB_TRY(RB_ALLOCATE(ctx, s->facet, most + 1));
	RB_TRY(RB_ALLOCATE(ctx, s->label, most + 1));
	s->nfaces = rows->nfaces;
	for (uint32_t i = 0; i < rows->nfaces; i++)
	{
		copy_face_of_fault_side(c, s, i, 0, i);
		if (is_face_on_fault(c, i))
		{
			copy_face_of_fault_side(c, s, i, 1, s->nfaces);
			for (int k = 0; k < 3; k++)
				if (s->faces[s->nfaces][2 - k] != s->faces[i][k])
				{
					s->nfaces++;
					break;
				}
		}
		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* Runs all steps. */
static rb_status
split_mesh(rb_context *ctx, corner_sets *c, rb_mesh_split *s)
{
	if (rb_should_stop(ctx))
		return RB_STOPPED;
	RB_TRY(find_faults(ctx, c));
	RB_TRY(unite_corners(ctx, c));
	RB_TRY(number_vertices(ctx, c, s));
	RB_TRY(copy_vertices(ctx, c->rows, s));
	return copy_faces(ctx, c, s);
}

rb_status
rb_mesh_split_faults(rb_context *ctx, const rb_mesh_rows *rows, rb_mesh_split *s, rb_mesh_rows *to)
{
	corner_sets c = {.rows = rows};
	rb_status status;

	memset(s, 0, sizeof *s);
	status = split_mesh(ctx, &c, s);
	free_corner_sets(ctx->memory, &c);
	*to = *rows;
	if (status != RB_OK)
		return status;
	to->npoints = rows->npoints + s->doubled;
	to->nfaces = s->nfaces;
	to->points = s->points;
	to->kind = rows->kind != NULL ? s->kind : NULL;
	to->parent = rows->parent != NULL ? s->parent : NULL;
	to->tets = (const uint32_t(*)[4]) s->tets;
	to->faces = (const uint32_t(*)[3]) s->faces;
	to->facet = rows->facet != NULL ? s->facet : NULL;
	if (rows->facet_labels != NULL)
	{
		s->labels = *rows->facet_labels;
		s->labels.of = s->label;
		to->facet_labels = &s->labels;
	}
	return RB_OK;
}

void
rb_mesh_split_free(rb_memory *memory, rb_mesh_split *s)
{
	RB_FREE(memory, s->origin);
	RB_FREE(memory, s->points);
	RB_FREE(memory, s->kind);
	RB_FREE(memory, s->parent);
	RB_FREE(memory, s->tets);
	RB_FREE(memory, s->faces);
	RB_FREE(memory, s->facet);
	RB_FREE(memory, s->label);
}
