/*
 * facet_patches.c
 *	  Divides facets into patches, matches the faces of a mesh with them, and compares areas.
 *
 * A facet is divided into patches of triangles connected by soft edges. A patch is bounded by
 * segments, so there is one region on each of its sides, and the mesh faces on the patch show
 * which. Patches of the mesh and of the surface are matched by the segments around them.
 *
 * A mesh can enclose the right volumes although a facet is covered twice or not wholly, for example
 * if it has the same region on both sides. The areas of each patch are therefore compared, too.
 */
#include "mesh/facet_patches.h"

#include "core/base/bucket.h"
#include "core/base/hash.h"
#include "core/base/union_find.h"
#include "core/exact/orient.h"
#include "mesh/flatness.h"

/* ---- patches ---- */

/*
 * Adds a segment to the key of a patch, once for each side on which the patch adjoins the segment.
 * Only the subsegment at the segment's first end counts.
 */
static void
add_key(const rb_volume_comparison *c, uint64_t *key, uint32_t segment, const uint32_t *piece)
{
	const uint32_t end = c->in->segments[segment][0];

	if (piece[0] != end && piece[1] != end)
		return;
	key[0] += rb_splitmix(2 * (uint64_t) segment + 1);
	key[1] += rb_splitmix(~(2 * (uint64_t) segment + 1));
}

/*
 * Records an edge of an item, a triangle or a face, and unites the two items at the edge. If the
 * edge runs in the same direction in both, they are oriented oppositely. Must not be called for
 * subsegments. A table entry is item << 1 | the edge ascends.
 */
static rb_status
record_patch_edge(rb_volume_comparison *c, uint32_t item, uint32_t a, uint32_t b, uint32_t facet)
{
	uint32_t *first;
	bool fresh;

	RB_TRY(rb_table_insert(c->ctx, &c->sides, a, b, RB_NONE - 1 - facet, item << 1 | (a < b),
						   &first, &fresh));
	if (!fresh)
		rb_unite_turned(c->root, *first >> 1, item, (*first & 1) == (a < b));
	return RB_OK;
}

/* Appends a patch that begins with a triangle. */
static rb_status
new_patch(rb_volume_comparison *c, uint32_t facet, uint32_t triangle)
{
	return rb_vec_append(c->ctx, &c->patches,
						 (rb_facet_patch){.facet = facet,
										  .first = triangle,
										  .above = RB_PATCH_UNSEEN,
										  .below = RB_PATCH_UNSEEN,
										  .far_point = RB_NONE});
}

/* Adds the area and normal of a triangle to its patch. */
static void
add_triangle_to_patch(rb_volume_comparison *c, uint32_t t)
{
	rb_facet_patch *to = &c->patches.at[c->triangle_patch[t]];
	double p[3][3], n[3];

	rb_patches_get_triangle(c, t, p);
	rb_face_normal(p[0], p[1], p[2], n);
	to->area += sqrt(rb_dot(n, n)) / 2;
	for (int k = 0; k < 3; k++)
		to->normal[k] += c->triangle_turned[t] ? -n[k] : n[k];
}

/* Returns the height of a point above the plane of a patch. */
static double
height_of(const rb_volume_comparison *c, const rb_facet_patch *of, const double *p)
{
	const double length = sqrt(rb_dot(of->normal, of->normal));
	double o[3], d[3];

	rb_patches_scale_point(c, c->in->surface_points, c->in->triangles[of->first][0], o);
	for (int k = 0; k < 3; k++)
		d[k] = p[k] - o[k];
	return length > 0 ? rb_dot(of->normal, d) / length : 0;
}

/* Adds the heights of a triangle's corners to the range of its patch. */
static void
add_heights(rb_volume_comparison *c, uint32_t t)
{
	rb_facet_patch *to = &c->patches.at[c->triangle_patch[t]];
	double p[3][3];

	rb_patches_get_triangle(c, t, p);
	for (int i = 0; i < 3; i++)
	{
		const double h = height_of(c, to, p[i]);

		to->low = fmin(to->low, h);
		to->high = fmax(to->high, h);
	}
}

/* Builds the patches of the facet with the triangles from..to. */
static rb_status
make_patches(rb_volume_comparison *c, uint32_t facet, uint32_t from, uint32_t to)
{
	const rb_volumes_input *in = c->in;
	const uint32_t before = (uint32_t) c->patches.n;

	rb_table_empty(&c->sides);
	for (uint32_t t = from; t < to; t++)
		c->root[t] = t << 1;
	for (uint32_t t = from; t < to && to - from > 1; t++)
		for (uint32_t i = 0; i < 3; i++)
		{
			const uint32_t a = in->triangles[t][i], b = in->triangles[t][(i + 1) % 3];

			if (rb_table_get(&c->pieces, a, b, RB_NONE) == NULL)
				RB_TRY(record_patch_edge(c, t, a, b, facet));
		}
	for (uint32_t t = from; t < to; t++)
	{
		bool turned;
		const uint32_t root = rb_find_turned_root(c->root, t, &turned);

		if (root == t)
		{
			c->triangle_patch[t] = (uint32_t) c->patches.n;
			RB_TRY(new_patch(c, facet, t));
		}
		c->triangle_patch[t] = c->triangle_patch[root];
		c->triangle_turned[t] = turned;
		add_triangle_to_patch(c, t);
	}
	for (uint32_t t = from; t < to; t++)
		add_heights(c, t);
	/* The patches of a facet need keys only if there are several. */
	for (uint32_t t = from; t < to && c->patches.n - before > 1; t++)
		for (int i = 0; i < 3; i++)
		{
			const uint32_t edge[2] = {in->triangles[t][i], in->triangles[t][(i + 1) % 3]};
			const uint32_t *piece = rb_table_get(&c->pieces, edge[0], edge[1], RB_NONE);

			if (piece != NULL)
				add_key(c, c->patches.at[c->triangle_patch[t]].key,
						in->piece_segment != NULL ? in->piece_segment[*piece] : *piece, edge);
		}
	return RB_OK;
}

/* Inserts n edges of segments into an empty table. */
static rb_status
insert_segment_edges(rb_volume_comparison *c, const uint32_t (*edges)[2], uint32_t n)
{
	rb_table_empty(&c->pieces);
	RB_TRY(rb_table_expect(c->ctx, &c->pieces, n));
	for (uint32_t i = 0; i < n; i++)
		RB_TRY(rb_patches_should_stop(c, i) ? RB_STOPPED
											: rb_table_insert(c->ctx, &c->pieces, edges[i][0],
															  edges[i][1], RB_NONE, i, NULL, NULL));
	return RB_OK;
}

rb_status
rb_patches_list_mesh_edges(rb_volume_comparison *c)
{
	c->edges_listed = true;
	return insert_segment_edges(c, c->in->edges, c->in->nedges);
}

/* Divides the facets of the surface into patches. */
static rb_status
patches_of_surface(rb_volume_comparison *c)
{
	const rb_volumes_input *in = c->in;
	bool simple = in->ntriangles == in->nfacets;
	uint32_t t = 0;

	RB_TRY(simple ? RB_OK : insert_segment_edges(c, in->pieces, in->npieces));
	for (uint32_t f = 0; f < in->nfacets; f++)
	{
		const uint32_t from = t;

		while (t < in->ntriangles && in->facet_of[t] == f)
			t++;
		c->first_patch[f] = (uint32_t) c->patches.n;
		RB_TRY(rb_patches_should_stop(c, f) ? RB_STOPPED : make_patches(c, f, from, t));
	}
	c->first_patch[in->nfacets] = (uint32_t) c->patches.n;
	return RB_OK;
}

/* ---- patches of the mesh ---- */

/*
 * Returns true if the facet has several patches, which must be matched by the segments around them.
 */
static bool
has_several_patches(const rb_volume_comparison *c, uint32_t facet)
{
	return c->first_patch[facet + 1] - c->first_patch[facet] > 1;
}

/* Returns true if the facet is in the comparison: it is not skipped and has a patch. */
static bool
is_facet_compared(const rb_volume_comparison *c, uint32_t facet)
{
	return facet < c->in->nfacets && (c->in->skipped == NULL || c->in->skipped[facet] == 0) &&
		   c->first_patch[facet + 1] > c->first_patch[facet];
}

/* Computes the key of each component of mesh faces, and finds the patch with the same key. */
static rb_status
match_several(rb_volume_comparison *c)
{
	const rb_volumes_input *in = c->in;
	uint64_t(*keys)[2] = NULL;
	rb_status status = rb_patches_list_mesh_edges(c);

	if (status == RB_OK)
		status = RB_ALLOCATE(c->ctx, keys, (size_t) in->nfaces + 1);
	rb_table_empty(&c->sides);
	for (uint32_t f = 0; f < in->nfaces && status == RB_OK; f++)
	{
		c->root[f] = f << 1;
		memset(keys[f], 0, sizeof *keys);
		if (!is_facet_compared(c, in->face_facet[f]) || !has_several_patches(c, in->face_facet[f]))
			continue;
		if (rb_patches_should_stop(c, f))
			status = RB_STOPPED;
		for (int i = 0; i < 3 && status == RB_OK; i++)
		{
			const uint32_t a = in->faces[f][i], b = in->faces[f][(i + 1) % 3];

			if (rb_table_get(&c->pieces, a, b, RB_NONE) == NULL)
				status = record_patch_edge(c, f, a, b, in->face_facet[f]);
		}
	}
	for (uint32_t f = 0; f < in->nfaces && status == RB_OK; f++)
		for (int i = 0; i < 3 && is_facet_compared(c, in->face_facet[f]) &&
						has_several_patches(c, in->face_facet[f]);
			 i++)
		{
			const uint32_t edge[2] = {in->faces[f][i], in->faces[f][(i + 1) % 3]};
			const uint32_t *piece = rb_table_get(&c->pieces, edge[0], edge[1], RB_NONE);
			bool turned;

			if (piece != NULL)
				add_key(c, keys[rb_find_turned_root(c->root, f, &turned)], in->edge_segment[*piece],
						edge);
		}
	for (uint32_t f = 0; f < in->nfaces && status == RB_OK; f++)
	{
		const uint32_t facet = in->face_facet[f];
		bool turned;
		uint32_t root, p;

		if (!is_facet_compared(c, facet) || !has_several_patches(c, facet))
			continue;
		root = rb_find_turned_root(c->root, f, &turned);
		if (root != f)
		{
			c->face_patch[f] = c->face_patch[root];
			continue;
		}
		for (p = c->first_patch[facet]; p < c->first_patch[facet + 1]; p++)
			if (memcmp(c->patches.at[p].key, keys[f], sizeof keys[f]) == 0)
				break;
		if (p < c->first_patch[facet + 1])
			c->face_patch[f] = p;
		else
			c->unknown[facet] = 1;
	}
	RB_FREE(c->ctx->memory, keys);
	return status;
}

/* Finds the patch of each face of the mesh. */
static rb_status
patches_of_mesh(rb_volume_comparison *c)
{
	const rb_volumes_input *in = c->in;
	bool several = false;
	rb_status status = rb_table_expect(c->ctx, &c->faces, in->nfaces);

	for (uint32_t f = 0; f < in->nfaces && status == RB_OK; f++)
	{
		const uint32_t facet = in->face_facet[f];

		if (rb_patches_should_stop(c, f))
			return RB_STOPPED;
		c->face_patch[f] = RB_NONE;
		status = rb_table_insert(c->ctx, &c->faces, in->faces[f][0], in->faces[f][1],
								 in->faces[f][2], f, NULL, NULL);
		if (!is_facet_compared(c, facet))
			continue;
		if (has_several_patches(c, facet))
			several = true;
		else
			c->face_patch[f] = c->first_patch[facet];
	}
	return status == RB_OK && several ? match_several(c) : status;
}

/* ---- points ---- */

/* Records for each patch the farthest Steiner point on its facet among the corners of its faces. */
static rb_status
check_patch_points(rb_volume_comparison *c)
{
	const rb_volumes_input *in = c->in;

	for (uint32_t f = 0; f < in->nfaces; f++)
	{
		rb_facet_patch *of;

		if (rb_patches_should_stop(c, f))
			return RB_STOPPED;
		if (c->face_patch[f] == RB_NONE)
			continue;
		of = &c->patches.at[c->face_patch[f]];
		for (int i = 0; i < 3; i++)
		{
			const uint32_t v = in->faces[f][i];
			double p[3], h, thick;

			if (in->kind[v] != RB_VERTEX_ON_FACET || in->parent[v] != of->facet)
				continue;
			rb_patches_scale_point(c, in->points, v, p);
			h = height_of(c, of, p);
			thick = fmax(of->high - of->low, rb_patches_get_tolerance(c, of->facet));
			h = fmax(of->high - thick - h, h - of->low - thick);
			if (h > of->far)
			{
				of->far = h;
				of->far_point = v;
			}
		}
	}
	return RB_OK;
}

/* ---- areas ---- */

/*
 * Adds sign times twice the area of a triangle, seen along an axis, to the sum. Areas are positive:
 * a triangle that is folded back counts as well.
 */
static void
add_area(const rb_volume_comparison *c, rb_accumulator *sum, double sign, const double *points,
		 const uint32_t *v, int axis)
{
	const int x = (axis + 1) % 3, y = (axis + 2) % 3;
	double p[3][2];

	for (int i = 0; i < 3; i++)
	{
		double at[3];

		rb_patches_scale_point(c, points, v[i], at);
		p[i][0] = at[x];
		p[i][1] = at[y];
	}
	sign *= rb_orient2d(p[0], p[1], p[2]);
	for (int i = 0; i < 3; i++)
	{
		const double *q = p[i], *r = p[(i + 1) % 3];

		rb_accumulator_add(sum, sign * q[0], r[1]);
		rb_accumulator_add(sum, -sign * q[1], r[0]);
	}
}

/* Returns the sum of the lengths of the sides of a triangle, scaled. */
static double
scaled_perimeter(const rb_volume_comparison *c, const double *points, const uint32_t *v)
{
	double p[3][3];

	for (int i = 0; i < 3; i++)
		rb_patches_scale_point(c, points, v[i], p[i]);
	return sqrt(rb_length2(p[0], p[1])) + sqrt(rb_length2(p[1], p[2])) +
		   sqrt(rb_length2(p[2], p[0]));
}

/*
 * Returns true if all corners of a patch are exactly in one plane, and all corners of its faces are
 * input points.
 */
static bool
is_patch_exact(const rb_volume_comparison *c, const rb_buckets *faces, const rb_buckets *triangles,
			   uint32_t p)
{
	const rb_volumes_input *in = c->in;
	double o[3][3], q[3];

	rb_patches_get_triangle(c, c->patches.at[p].first, o);
	for (uint32_t i = faces->start[p]; i < faces->start[p + 1]; i++)
		for (int k = 0; k < 3; k++)
			if (in->kind[in->faces[faces->member[i]][k]] != RB_VERTEX_INPUT)
				return false;
	for (uint32_t i = triangles->start[p]; i < triangles->start[p + 1]; i++)
		for (int k = 0; k < 3; k++)
		{
			rb_patches_scale_point(c, in->surface_points, in->triangles[triangles->member[i]][k],
								   q);
			if (rb_orient3d(o[0], o[1], o[2], q) != 0)
				return false;
		}
	return true;
}

/*
 * Compares the area of the faces on a patch with that of its triangles, seen along the axis nearest
 * to its normal. The areas are equal if the faces tile the patch. They may differ by what the
 * rounding of added points and a bend of the patch explain, along all sides of the faces.
 */
static rb_status
compare_patch_area(rb_volume_comparison *c, const rb_buckets *faces, const rb_buckets *triangles,
				   uint32_t p)
{
	const rb_volumes_input *in = c->in;
	rb_facet_patch *of = &c->patches.at[p];
	rb_accumulator sum;
	double sides = 0, thick;
	int axis = 0;

	memset(&sum, 0, sizeof sum);
	for (int k = 1; k < 3; k++)
		if (fabs(of->normal[k]) > fabs(of->normal[axis]))
			axis = k;
	for (uint32_t i = faces->start[p]; i < faces->start[p + 1]; i++)
		add_area(c, &sum, 1, in->points, in->faces[faces->member[i]], axis);
	for (uint32_t i = triangles->start[p]; i < triangles->start[p + 1]; i++)
		add_area(c, &sum, -1, in->surface_points, in->triangles[triangles->member[i]], axis);
	if (rb_accumulator_sign(&sum) == 0)
		return RB_OK;
	of->more = rb_patches_round_sum(&sum);
	if (is_patch_exact(c, faces, triangles, p))
		return RB_OK;
	for (uint32_t i = faces->start[p]; i < faces->start[p + 1]; i++)
		sides += scaled_perimeter(c, in->points, in->faces[faces->member[i]]);
	thick = fmax(fmin(of->high - of->low, c->flat), rb_patches_get_tolerance(c, of->facet));
	of->most = 2 * sides * (thick + 2 * c->rounds);
	return RB_OK;
}

/* Compares the areas of all patches on which the mesh has faces. */
static rb_status
compare_areas(rb_volume_comparison *c)
{
	const uint32_t npatches = (uint32_t) c->patches.n;
	rb_buckets faces = {0}, triangles = {0};
	rb_status status = rb_buckets_build(c->ctx, &faces, c->in->nfaces, npatches, rb_bucket_in_array,
										c->face_patch);

	if (status == RB_OK)
		status = rb_buckets_build(c->ctx, &triangles, c->in->ntriangles, npatches,
								  rb_bucket_in_array, c->triangle_patch);
	for (uint32_t p = 0; p < npatches && status == RB_OK; p++)
	{
		if (rb_patches_should_stop(c, p))
			status = RB_STOPPED;
		else if (faces.start[p] < faces.start[p + 1] && !c->unknown[c->patches.at[p].facet])
			status = compare_patch_area(c, &faces, &triangles, p);
	}
	rb_buckets_free(c->ctx->memory, &faces);
	rb_buckets_free(c->ctx->memory, &triangles);
	return status;
}

/* ---- comparison ---- */

/* Allocates the arrays of patches. */
static rb_status
allocate_patches(rb_volume_comparison *c)
{
	const rb_volumes_input *in = c->in;
	const size_t items = in->ntriangles > in->nfaces ? in->ntriangles : in->nfaces;

	if (items >= (uint32_t) 1 << 31 || in->nfacets >= RB_NONE - 1 - in->npoints)
		return rb_fail(c->ctx, RB_TOO_MANY_OBJECTS, items, (uint32_t) 1 << 31, NULL);
	RB_TRY(RB_ALLOCATE(c->ctx, c->root, items + 1));
	RB_TRY(RB_ALLOCATE(c->ctx, c->first_patch, (size_t) in->nfacets + 1));
	RB_TRY(RB_ALLOCATE(c->ctx, c->triangle_patch, (size_t) in->ntriangles + 1));
	RB_TRY(RB_ALLOCATE(c->ctx, c->triangle_turned, (size_t) in->ntriangles + 1));
	RB_TRY(RB_ALLOCATE(c->ctx, c->face_patch, (size_t) in->nfaces + 1));
	RB_TRY(RB_ALLOCATE(c->ctx, c->unknown, (size_t) in->nfacets + 1));
	memset(c->unknown, 0, (size_t) in->nfacets + 1);
	return RB_OK;
}

rb_status
rb_patches_compare(rb_volume_comparison *c)
{
	RB_TRY(allocate_patches(c));
	RB_TRY(patches_of_surface(c));
	RB_TRY(patches_of_mesh(c));
	RB_TRY(check_patch_points(c));
	return compare_areas(c);
}
