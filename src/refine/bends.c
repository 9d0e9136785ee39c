/*
 * bends.c
 *	  Splits each facet that bends along segments into several flat facets.
 *
 * Two rules hold in one plane only: constrained faces of a facet open for a point on this facet,
 * and a vertex on a facet does not encroach upon its faces. So if the faces on the two sides of a
 * segment inside a facet form an angle that rounding does not explain (flatness.h), they
 * belong to two facets while the mesh is refined.
 */
#include "refine/refining.h"

#include "core/base/union_find.h"
#include "mesh/hash_table.h"

typedef struct bending
{
	rb_refining *r;
	const rb_tets *tets;
	rb_table pieces; /* Edges on segments */
	/* Edge and facet number (offset by the number of points), mapped to the first face there */
	rb_table sides;
	uint8_t *bent;     /* For each facet, whether it bends */
	uint32_t *root;    /* Union-find parent of each face within its part of the facet */
	uint32_t *parts;   /* Number of the part, for each face that is a root */
	uint32_t *facet;   /* Facet of each face during refinement */
	uint32_t *parent;  /* Parent of each point during refinement */
	size_t facets_cap; /* Capacity of r->facet_of */
} bending;

/* Returns true if a stop was requested while bends are sought; checks only at some elements. */
static bool
should_stop_finding_bends(const bending *b, uint32_t i)
{
	return (i & 0x3fff) == 0x3fff && rb_should_stop(b->r->ctx);
}

/* Returns the coordinates of a vertex of the mesh to be refined. */
static const double *
get_point_at_bend(const bending *b, uint32_t v)
{
	return b->tets->points + 3 * (size_t) v;
}

/* Returns the corner of a face that is not on its edge ab. */
static uint32_t
apex_of_bent_face(const uint32_t *face, uint32_t a, uint32_t b)
{
	return face[0] != a && face[0] != b   ? face[0]
		   : face[1] != a && face[1] != b ? face[1]
										  : face[2];
}

/* Inserts all edges on segments into a table. */
static rb_status
list_segment_edges_for_bends(bending *b)
{
	const rb_tets *tets = b->tets;

	RB_TRY(rb_table_expect(b->r->ctx, &b->pieces, tets->nedges));
	for (uint32_t e = 0; e < tets->nedges; e++)
		RB_TRY(should_stop_finding_bends(b, e)
				   ? RB_STOPPED
				   : rb_table_insert(b->r->ctx, &b->pieces, tets->edges[e][0], tets->edges[e][1],
									 RB_NONE, 0, NULL, NULL));
	return RB_OK;
}

/*
 * Calls `work` for each edge that two faces of one facet share: with `of_bent`, for all edges of
 * bent facets, otherwise for the edges on segments.
 */
static rb_status
visit_face_pairs_at_bends(bending *b, bool of_bent,
						  void (*work)(bending *b, uint32_t a, uint32_t c, uint32_t face,
									   uint32_t other))
{
	const rb_tets *tets = b->tets;

	rb_table_empty(&b->sides);
	for (uint32_t f = 0; f < tets->nfaces; f++)
	{
		const uint32_t facet = tets->face_facet[f];

		if (should_stop_finding_bends(b, f))
			return RB_STOPPED;
		if (of_bent && !b->bent[facet])
			continue;
		for (uint32_t i = 0; i < 3; i++)
		{
			const uint32_t u = tets->faces[f][i], v = tets->faces[f][(i + 1) % 3];
			uint32_t *first;
			bool fresh;

			if (!of_bent && rb_table_get(&b->pieces, u, v, RB_NONE) == NULL)
				continue;
			RB_TRY(rb_table_insert(b->r->ctx, &b->sides, u, v, tets->npoints + facet, f, &first,
								   &fresh));
			if (!fresh)
				work(b, u, v, f, *first);
		}
	}
	return RB_OK;
}

/* Returns true if two faces of a facet are coplanar up to rounding at their common edge uv. */
static bool
is_edge_flat(const bending *b, uint32_t u, uint32_t v, uint32_t face, uint32_t other)
{
	return rb_hull_is_flat(b->r, get_point_at_bend(b, u), get_point_at_bend(b, v),
						   get_point_at_bend(b, apex_of_bent_face(b->tets->faces[face], u, v)),
						   get_point_at_bend(b, apex_of_bent_face(b->tets->faces[other], u, v)));
}

/* Marks the facet of two faces as bent if they are not coplanar; called for each pair of faces. */
static void
mark_bent_facet(bending *b, uint32_t u, uint32_t v, uint32_t face, uint32_t other)
{
	if (!is_edge_flat(b, u, v, face, other))
		b->bent[b->tets->face_facet[face]] = 1;
}

/*
 * Unites two faces of a bent facet into one part, unless the facet bends at a segment between them.
 */
static void
unite_faces(bending *b, uint32_t u, uint32_t v, uint32_t face, uint32_t other)
{
	if (rb_table_get(&b->pieces, u, v, RB_NONE) != NULL && !is_edge_flat(b, u, v, face, other))
		return;
	rb_unite(b->root, face, other);
}

/*
 * Numbers the parts of facets. The first part keeps the number of its facet; others get numbers
 * after those of all facets.
 */
static rb_status
number_facet_parts(bending *b)
{
	rb_refining *r = b->r;
	const rb_tets *tets = b->tets;

	for (uint32_t f = 0; f < tets->nfaces; f++)
	{
		const uint32_t facet = tets->face_facet[f], root = rb_find_root(b->root, f);

		if (should_stop_finding_bends(b, f))
			return RB_STOPPED;
		b->facet[f] = facet;
		if (!b->bent[facet])
			continue;
		if (root == f && b->bent[facet] == 1)
		{
			b->bent[facet] = 2;
			b->parts[f] = facet;
		}
		else if (root == f)
		{
			const uint32_t n = r->nfacets - r->given_facets;

			RB_TRY(RB_GROW(r->ctx, r->facet_of, b->facets_cap, (size_t) n + 1));
			r->facet_of[n] = facet;
			b->parts[f] = r->nfacets++;
		}
		b->facet[f] = b->parts[root];
		for (int i = 0; i < 3; i++)
		{
			const uint32_t v = tets->faces[f][i];

			if (tets->kind[v] == RB_VERTEX_ON_FACET && tets->parent[v] == facet)
				b->parent[v] = b->facet[f];
		}
	}
	return RB_OK;
}

/* Allocates the arrays and makes each face a set of its own. */
static rb_status
allocate_bends(bending *b)
{
	const rb_tets *tets = b->tets;
	rb_context *ctx = b->r->ctx;

	RB_TRY(RB_ALLOCATE(ctx, b->root, (size_t) tets->nfaces + 1));
	RB_TRY(RB_ALLOCATE(ctx, b->parts, (size_t) tets->nfaces + 1));
	RB_TRY(RB_ALLOCATE(ctx, b->facet, (size_t) tets->nfaces + 1));
	RB_TRY(RB_ALLOCATE(ctx, b->parent, (size_t) tets->npoints + 1));
	rb_union_find_init(b->root, tets->nfaces);
	memcpy(b->parent, tets->parent, tets->npoints * sizeof(uint32_t));
	return RB_OK;
}

rb_status
rb_refining_bends(rb_refining *r, rb_tets *tets)
{
	bending b = {.r = r, .tets = tets};
	rb_memory *memory = r->ctx->memory;
	rb_status status;

	r->given_facets = r->nfacets;
	if (tets->nfaces == 0)
		return RB_OK;
	if (tets->npoints > RB_NONE - r->nfacets)
		return rb_fail(r->ctx, RB_TOO_MANY_OBJECTS, (uint64_t) tets->npoints + r->nfacets, RB_NONE,
					   NULL);
	status = RB_ALLOCATE(r->ctx, b.bent, (size_t) r->nfacets + 1);
	if (status == RB_OK)
	{
		memset(b.bent, 0, (size_t) r->nfacets + 1);
		status = list_segment_edges_for_bends(&b);
	}
	if (status == RB_OK)
		status = visit_face_pairs_at_bends(&b, false, mark_bent_facet);
	if (status == RB_OK && memchr(b.bent, 1, r->nfacets) != NULL)
	{
		status = allocate_bends(&b);
		if (status == RB_OK)
			status = visit_face_pairs_at_bends(&b, true, unite_faces);
		if (status == RB_OK)
			status = number_facet_parts(&b);
		if (status == RB_OK)
		{
			tets->face_facet = b.facet;
			tets->parent = b.parent;
			b.facet = b.parent = NULL;
		}
	}
	rb_table_free(memory, &b.pieces);
	rb_table_free(memory, &b.sides);
	RB_FREE(memory, b.bent);
	RB_FREE(memory, b.root);
	RB_FREE(memory, b.parts);
	RB_FREE(memory, b.facet);
	RB_FREE(memory, b.parent);
	return status;
}
