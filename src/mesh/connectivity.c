/*
 * connectivity.c
 *	  Finds the neighbors of tetrahedra and the facets of segments, for a mesh that was loaded from
 *	  rows.
 *
 * Faces are distributed to buckets by their smallest corner. Each bucket is sorted by the other two
 * corners, so that equal faces are adjacent. A segment is on the boundary of a facet if the facet
 * has exactly one face at an edge of the segment; if it has two, the edge is inside.
 */
#include "mesh/tetrahedralize.h"

#include "core/base/base.h"
#include "core/base/sort.h"
#include "mesh/hash_table.h"

#define STOP_EVERY 0x3fff

typedef struct face
{
	uint32_t middle, largest; /* Other two corners of the face */
	uint32_t at;              /* the face as 4 * tetrahedron + corner */
} face;

static int
compare_faces(const void *a, const void *b, const void *arg)
{
	const face *x = (const face *) a, *y = (const face *) b;

	(void) arg;
	if (x->middle != y->middle)
		return x->middle < y->middle ? -1 : 1;
	if (x->largest != y->largest)
		return x->largest < y->largest ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* Gets the three corners of a face in ascending order, as the key of a table. */
static void
face_key(const rb_tets *tets, uint32_t at, uint32_t *key)
{
	const uint32_t *v = tets->tets[at >> 2];
	uint32_t k = at & 3;

	rb_table_key(key, v[(k + 1) & 3], v[(k + 2) & 3], v[(k + 3) & 3]);
}

static rb_status
match_faces(rb_context *ctx, rb_tets *tets, const uint32_t *start, face *faces)
{
	for (uint32_t p = 0; p < tets->npoints; p++)
	{
		face *f = faces + start[p];
		uint32_t n = start[p + 1] - start[p];

		if ((p & STOP_EVERY) == 0 && rb_should_stop(ctx))
			return RB_STOPPED;
		/* A vertex typically has about twenty faces. */
		if (rb_sort(ctx, f, n, sizeof *f, compare_faces, NULL) != RB_OK)
			return RB_STOPPED;
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
	}
	return RB_OK;
}

static rb_status
find_neighbors(rb_context *ctx, rb_tets *tets)
{
	uint32_t n = 4 * tets->ntets, sum = 0;
	uint32_t *start = NULL;
	face *faces = NULL;
	rb_status status = RB_ALLOCATE(ctx, tets->neighbours, (size_t) n + 4);

	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, start, (size_t) tets->npoints + 2);
	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, faces, (size_t) n + 1);
	if (status == RB_OK)
	{
		memset(tets->neighbours, 0xff, (size_t) n * sizeof(uint32_t));
		memset(start, 0, ((size_t) tets->npoints + 2) * sizeof(*start));
	}
	/*
	 * Counting sort: counts are stored two positions later and entries are written one position
	 * later, so that start[p] ends up as the first face of p.
	 */
	for (int pass = 0; pass < 2 && status == RB_OK; pass++)
	{
		for (uint32_t at = 0; at < n && status == RB_OK; at++)
		{
			uint32_t key[3];

			if ((at & STOP_EVERY) == 0 && rb_should_stop(ctx))
				status = RB_STOPPED;
			face_key(tets, at, key);
			if (pass == 0)
				start[key[0] + 2]++;
			else
				faces[start[key[0] + 1]++] = (face){key[1], key[2], at};
		}
		for (uint32_t p = 0; pass == 0 && p < tets->npoints + 2; p++)
			start[p] = sum += start[p];
	}
	if (status == RB_OK)
		status = match_faces(ctx, tets, start, faces);
	RB_FREE(ctx->memory, start);
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

				if ((f & STOP_EVERY) == 0 && rb_should_stop(ctx))
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
		status = find_neighbors(ctx, tets);
	if (status == RB_OK)
		status = find_segment_facets(ctx, nfacets, tets);
	if (status != RB_OK)
	{
		RB_FREE(ctx->memory, tets->neighbours);
		RB_FREE(ctx->memory, tets->segment_facet);
	}
	return status;
}
