/*
 * volumes.c
 *	  Compares the volume of each region of a mesh with the volume enclosed by the triangles around
 *	  it.
 *
 * A facet is divided into patches of triangles connected by soft edges. A patch is bounded by
 * segments, so there is one region on each of its sides, and the mesh faces on the patch show
 * which. Patches of the mesh and of the surface are matched by the segments around them.
 *
 * A mesh can enclose the right volumes although a facet is covered twice or not wholly, for example
 * if it has the same region on both sides. The areas of each patch are therefore compared, too.
 *
 * Volumes are sums of determinants of three corners. For each region, those of the mesh are added
 * and those of the surface subtracted, in exact accumulators (expansion.h). The result is the
 * exact difference.
 *
 * A region can end at the convex hull, on no facet. The patches around it are then bounded by rims:
 * segments of the surface, and subsegments of the mesh, whose vertices are rounded. The mesh's sum
 * includes the triangles between each rim's subsegments and the rim's first end, and so does the
 * surface's sum. Otherwise the difference would depend on the distance from the origin.
 */
#include "mesh/volumes.h"

#include "core/base/bucket.h"
#include "core/base/hash.h"
#include "core/base/union_find.h"
#include "core/base/sort.h"
#include "core/exact/expansion.h"
#include "core/exact/orient.h"
#include "mesh/flatness.h"
#include "mesh/hash_table.h"
#include "mesh/tet.h"

/* Maximum distance of a point from its facet, in rounding errors of the largest coordinate */
#define FAR_ROUNDINGS 64.0

/* Values for a side of a patch that is not a region */
#define NO_REGION UINT32_MAX    /* outside: the mesh ends there */
#define UNSEEN (UINT32_MAX - 1) /* no face of the mesh on the patch ends a region */
/*
 * Several regions. On the hull, where facets are flat only to within rounding, tetrahedra of zero
 * height can lie beyond some faces of a patch. The regions involved are not compared.
 */
#define MIXED (UINT32_MAX - 2)
/*
 * Minimum area, as a fraction of the squared longest side, of a triangle whose normal is reliable
 */
#define MIN_AREA 0x1p-40

/* Triangles of a facet connected by soft edges */
typedef struct patch
{
	uint64_t key[2]; /* hash of the segments around it */
	uint32_t facet;
	uint32_t first; /* the patch's triangle with the smallest index */
	/* sum of its triangles' normals, scaled; its length is twice the area if flat */
	double normal[3];
	/* range of its corners along the normal, relative to the triangle `first` */
	double low, high;
	double area;        /* sum of its triangles' areas, scaled */
	uint32_t above;     /* the region on the side of the normal, or NO_REGION, UNSEEN or MIXED */
	uint32_t below;     /* the region on the opposite side, or one of these values */
	uint32_t nfaces;    /* number of mesh faces on it */
	uint32_t nends;     /* number of mesh faces on it at which a region ends */
	double won;         /* approximate volume gained by the region below */
	uint32_t far_point; /* the point farthest from it, or RB_NONE */
	double far;
	double
		more; /* twice the excess of its faces' area over its triangles' area, on an axis, scaled */
	double most; /* largest value of `more` that rounding explains */
} patch;

typedef struct region
{
	rb_accumulator sum; /* Six times the mesh's volume minus the surface's, scaled */
	double volume;      /* six times the surface's volume, scaled */
	double limit;       /* six times the largest difference that rounding explains, scaled */
	uint32_t worst;     /* the patch at which most volume is gained or lost */
	bool unknown;       /* true if parts of its surface could not be compared */
} region;

/* A segment along which the patches around a region end at the hull */
typedef struct rim
{
	uint32_t segment, region;
	bool along; /* true if the face of the hull runs along the segment, false if against it */
} rim;

typedef struct comparing
{
	rb_context *ctx;
	const rb_volumes_input *in;
	double scale;  /* power of two that scales coordinates below 2 */
	int exponent;  /* exponent of scale */
	double rounds; /* maximum distance of a point from its facet, scaled */
	double flat;   /* maximum height of a bend that counts as flat (flatness.h), scaled */
	/* Patches */
	RB_VEC(patch) patches;
	uint32_t *first_patch; /* first patch of each facet, with one more entry at the end */
	uint32_t *triangle_patch;
	/* for each triangle, whether it is oriented opposite to its patch's first triangle */
	uint8_t *triangle_turned;
	uint32_t *face_patch; /* patch of each mesh face, or RB_NONE if unknown */
	uint8_t *unknown;     /* for each facet, whether it could not be matched */
	/* Union-find structure of triangles or faces: parent << 1 | oriented opposite to the parent */
	uint32_t *root;
	rb_table sides;
	rb_table pieces;   /* maps an edge to its subsegment, of the surface or of the mesh */
	bool edges_listed; /* true if `pieces` holds the subsegments of the mesh, not of the surface */
	rb_table faces;    /* maps corners to the face of the mesh */
	/* Regions */
	int64_t *region_id;
	region *regions;
	uint32_t nregions;
	size_t ids_cap;
	uint32_t (*thin)[2]; /* Patch and region of each face whose normal is unreliable */
	uint32_t nthin;
	size_t thin_cap;
	RB_VEC(rim) rims;
} comparing;

/* Returns true if a stop was requested while volumes are compared; checks only at some elements. */
static bool
should_stop_comparing_volumes(const comparing *c, uint32_t i)
{
	return (i & 0x3fff) == 0x3fff && rb_should_stop(c->ctx);
}

/* ---- arithmetic ---- */

/*
 * Scales a point of the surface or of the mesh by a power of two, so that volumes do not overflow.
 */
static void
scaled_point(const comparing *c, const double *points, uint32_t v, double *p)
{
	for (int k = 0; k < 3; k++)
		p[k] = points[3 * (size_t) v + (size_t) k] * c->scale;
}

/* Adds the product a b c to the sum. */
static void
add_product(rb_accumulator *sum, double a, double b, double c)
{
	double high, low;

	rb_two_product(a, b, &high, &low);
	rb_accumulator_add(sum, high, c);
	if (low != 0)
		rb_accumulator_add(sum, low, c);
}

/* Adds sign times the determinant of three points to the sum. */
static void
add_determinant(rb_accumulator *sum, double sign, const double *a, const double *b, const double *c)
{
	for (int i = 0; i < 3; i++)
	{
		const int j = (i + 1) % 3, k = (i + 2) % 3;

		add_product(sum, sign * a[i], b[j], c[k]);
		add_product(sum, -sign * a[i], b[k], c[j]);
	}
}

/* Returns the determinant of three points relative to a fourth, rounded. */
static double
determinant_about(const double *o, const double *a, const double *b, const double *c)
{
	double n[3], d[3];

	rb_face_normal(a, b, c, n);
	for (int k = 0; k < 3; k++)
		d[k] = a[k] - o[k];
	return rb_dot(n, d);
}

/* Rounds a sum to a double. */
static double
round_sum(const rb_accumulator *sum)
{
	uint64_t words[RB_ACCUMULATOR_WORDS];
	double x = 0;
	int i = RB_ACCUMULATOR_WORDS - 1, last;

	rb_accumulator_magnitude(sum, words);
	while (i > 0 && words[i] == 0)
		i--;
	last = i > 2 ? i - 2 : 0;
	for (; i >= last; i--)
		x += ldexp((double) words[i], 64 * i - 2148);
	return rb_accumulator_sign(sum) < 0 ? -x : x;
}

/* Computes the scale of coordinates and the limit of rounding. */
static rb_status
measure_points(comparing *c)
{
	double largest, extent;

	RB_TRY(rb_flat_measure(c->ctx, c->in->points, c->in->npoints, &largest, &extent));
	c->exponent = largest > 0 && largest < INFINITY ? -ilogb(largest) : 0;
	/* A larger power of two is not a double. */
	c->exponent = c->exponent > 1023 ? 1023 : c->exponent;
	c->scale = ldexp(1, c->exponent);
	c->rounds = FAR_ROUNDINGS * 0x1p-53 * (largest * c->scale);
	c->flat = RB_FLAT_HEIGHT * RB_FLAT_ROUNDINGS * 0x1p-53 * (largest * c->scale);
	return RB_OK;
}

/* ---- patches ---- */

/*
 * Adds a segment to the key of a patch, once for each side on which the patch adjoins the segment.
 * Only the subsegment at the segment's first end counts.
 */
static void
add_key(const comparing *c, uint64_t *key, uint32_t segment, const uint32_t *piece)
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
record_patch_edge(comparing *c, uint32_t item, uint32_t a, uint32_t b, uint32_t facet)
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
new_patch(comparing *c, uint32_t facet, uint32_t triangle)
{
	return rb_vec_append(c->ctx, &c->patches,
						 (patch){.facet = facet,
								 .first = triangle,
								 .above = UNSEEN,
								 .below = UNSEEN,
								 .far_point = RB_NONE});
}

/* Gets the scaled corners of a triangle of the surface. */
static void
get_patch_triangle_points(const comparing *c, uint32_t t, double p[3][3])
{
	for (int i = 0; i < 3; i++)
		scaled_point(c, c->in->surface_points, c->in->triangles[t][i], p[i]);
}

/* Adds the area and normal of a triangle to its patch. */
static void
add_triangle_to_patch(comparing *c, uint32_t t)
{
	patch *to = &c->patches.at[c->triangle_patch[t]];
	double p[3][3], n[3];

	get_patch_triangle_points(c, t, p);
	rb_face_normal(p[0], p[1], p[2], n);
	to->area += sqrt(rb_dot(n, n)) / 2;
	for (int k = 0; k < 3; k++)
		to->normal[k] += c->triangle_turned[t] ? -n[k] : n[k];
}

/* Returns the height of a point above the plane of a patch. */
static double
height_of(const comparing *c, const patch *of, const double *p)
{
	const double length = sqrt(rb_dot(of->normal, of->normal));
	double o[3], d[3];

	scaled_point(c, c->in->surface_points, c->in->triangles[of->first][0], o);
	for (int k = 0; k < 3; k++)
		d[k] = p[k] - o[k];
	return length > 0 ? rb_dot(of->normal, d) / length : 0;
}

/* Adds the heights of a triangle's corners to the range of its patch. */
static void
add_heights(comparing *c, uint32_t t)
{
	patch *to = &c->patches.at[c->triangle_patch[t]];
	double p[3][3];

	get_patch_triangle_points(c, t, p);
	for (int i = 0; i < 3; i++)
	{
		const double h = height_of(c, to, p[i]);

		to->low = fmin(to->low, h);
		to->high = fmax(to->high, h);
	}
}

/* Builds the patches of the facet with the triangles from..to. */
static rb_status
make_patches(comparing *c, uint32_t facet, uint32_t from, uint32_t to)
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
insert_segment_edges(comparing *c, const uint32_t (*edges)[2], uint32_t n)
{
	rb_table_empty(&c->pieces);
	RB_TRY(rb_table_expect(c->ctx, &c->pieces, n));
	for (uint32_t i = 0; i < n; i++)
		RB_TRY(should_stop_comparing_volumes(c, i)
				   ? RB_STOPPED
				   : rb_table_insert(c->ctx, &c->pieces, edges[i][0], edges[i][1], RB_NONE, i, NULL,
									 NULL));
	return RB_OK;
}

/* Puts the subsegments of the mesh into the table, in place of those of the surface. */
static rb_status
list_mesh_edges(comparing *c)
{
	c->edges_listed = true;
	return insert_segment_edges(c, c->in->edges, c->in->nedges);
}

/* Divides the facets of the surface into patches. */
static rb_status
patches_of_surface(comparing *c)
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
		RB_TRY(should_stop_comparing_volumes(c, f) ? RB_STOPPED : make_patches(c, f, from, t));
	}
	c->first_patch[in->nfacets] = (uint32_t) c->patches.n;
	return RB_OK;
}

/* ---- patches of the mesh ---- */

/*
 * Returns true if the facet has several patches, which must be matched by the segments around them.
 */
static bool
has_several_patches(const comparing *c, uint32_t facet)
{
	return c->first_patch[facet + 1] - c->first_patch[facet] > 1;
}

/* Returns true if the facet is in the comparison: it is not skipped and has a patch. */
static bool
is_facet_compared(const comparing *c, uint32_t facet)
{
	return facet < c->in->nfacets && (c->in->skipped == NULL || c->in->skipped[facet] == 0) &&
		   c->first_patch[facet + 1] > c->first_patch[facet];
}

/* Computes the key of each component of mesh faces, and finds the patch with the same key. */
static rb_status
match_several(comparing *c)
{
	const rb_volumes_input *in = c->in;
	uint64_t(*keys)[2] = NULL;
	rb_status status = list_mesh_edges(c);

	if (status == RB_OK)
		status = RB_ALLOCATE(c->ctx, keys, (size_t) in->nfaces + 1);
	rb_table_empty(&c->sides);
	for (uint32_t f = 0; f < in->nfaces && status == RB_OK; f++)
	{
		c->root[f] = f << 1;
		memset(keys[f], 0, sizeof *keys);
		if (!is_facet_compared(c, in->face_facet[f]) || !has_several_patches(c, in->face_facet[f]))
			continue;
		if (should_stop_comparing_volumes(c, f))
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
patches_of_mesh(comparing *c)
{
	const rb_volumes_input *in = c->in;
	bool several = false;
	rb_status status = rb_table_expect(c->ctx, &c->faces, in->nfaces);

	for (uint32_t f = 0; f < in->nfaces && status == RB_OK; f++)
	{
		const uint32_t facet = in->face_facet[f];

		if (should_stop_comparing_volumes(c, f))
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

/* Returns the distance by which the faces of a facet may be off its triangles, scaled; or 0. */
static inline double
tolerance_of_compared_facet(const comparing *c, uint32_t facet)
{
	return c->in->tolerance != NULL ? c->in->tolerance[facet] * c->scale : 0;
}

/* ---- points ---- */

/* Records for each patch the farthest Steiner point on its facet among the corners of its faces. */
static rb_status
check_patch_points(comparing *c)
{
	const rb_volumes_input *in = c->in;

	for (uint32_t f = 0; f < in->nfaces; f++)
	{
		patch *of;

		if (should_stop_comparing_volumes(c, f))
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
			scaled_point(c, in->points, v, p);
			h = height_of(c, of, p);
			thick = fmax(of->high - of->low, tolerance_of_compared_facet(c, of->facet));
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
add_area(const comparing *c, rb_accumulator *sum, double sign, const double *points,
		 const uint32_t *v, int axis)
{
	const int x = (axis + 1) % 3, y = (axis + 2) % 3;
	double p[3][2];

	for (int i = 0; i < 3; i++)
	{
		double at[3];

		scaled_point(c, points, v[i], at);
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
scaled_perimeter(const comparing *c, const double *points, const uint32_t *v)
{
	double p[3][3];

	for (int i = 0; i < 3; i++)
		scaled_point(c, points, v[i], p[i]);
	return sqrt(rb_length2(p[0], p[1])) + sqrt(rb_length2(p[1], p[2])) +
		   sqrt(rb_length2(p[2], p[0]));
}

/*
 * Returns true if all corners of a patch are exactly in one plane, and all corners of its faces are
 * input points.
 */
static bool
is_patch_exact(const comparing *c, const rb_buckets *faces, const rb_buckets *triangles, uint32_t p)
{
	const rb_volumes_input *in = c->in;
	double o[3][3], q[3];

	get_patch_triangle_points(c, c->patches.at[p].first, o);
	for (uint32_t i = faces->start[p]; i < faces->start[p + 1]; i++)
		for (int k = 0; k < 3; k++)
			if (in->kind[in->faces[faces->member[i]][k]] != RB_VERTEX_INPUT)
				return false;
	for (uint32_t i = triangles->start[p]; i < triangles->start[p + 1]; i++)
		for (int k = 0; k < 3; k++)
		{
			scaled_point(c, in->surface_points, in->triangles[triangles->member[i]][k], q);
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
compare_patch_area(comparing *c, const rb_buckets *faces, const rb_buckets *triangles, uint32_t p)
{
	const rb_volumes_input *in = c->in;
	patch *of = &c->patches.at[p];
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
	of->more = round_sum(&sum);
	if (is_patch_exact(c, faces, triangles, p))
		return RB_OK;
	for (uint32_t i = faces->start[p]; i < faces->start[p + 1]; i++)
		sides += scaled_perimeter(c, in->points, in->faces[faces->member[i]]);
	thick = fmax(fmin(of->high - of->low, c->flat), tolerance_of_compared_facet(c, of->facet));
	of->most = 2 * sides * (thick + 2 * c->rounds);
	return RB_OK;
}

/* Compares the areas of all patches on which the mesh has faces. */
static rb_status
compare_areas(comparing *c)
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
		if (should_stop_comparing_volumes(c, p))
			status = RB_STOPPED;
		else if (faces.start[p] < faces.start[p + 1] && !c->unknown[c->patches.at[p].facet])
			status = compare_patch_area(c, &faces, &triangles, p);
	}
	rb_buckets_free(c->ctx->memory, &faces);
	rb_buckets_free(c->ctx->memory, &triangles);
	return status;
}

/* ---- regions ---- */

/* Returns the index of a region, given its id. */
static uint32_t
region_number(const comparing *c, int64_t id)
{
	return (uint32_t) rb_ids_lower_bound(c->region_id, c->nregions, id);
}

/* Lists the regions of the mesh in ascending order. */
static rb_status
list_regions(comparing *c)
{
	const rb_volumes_input *in = c->in;

	for (uint32_t t = 0; t < in->ntets; t++)
	{
		uint32_t at;

		if (should_stop_comparing_volumes(c, t))
			return RB_STOPPED;
		if (t > 0 && in->region[t] == in->region[t - 1])
			continue;
		at = region_number(c, in->region[t]);
		if (at < c->nregions && c->region_id[at] == in->region[t])
			continue;
		RB_TRY(RB_GROW(c->ctx, c->region_id, c->ids_cap, (size_t) c->nregions + 1));
		memmove(c->region_id + at + 1, c->region_id + at,
				(c->nregions - at) * sizeof *c->region_id);
		c->region_id[at] = in->region[t];
		c->nregions++;
	}
	RB_TRY(RB_ALLOCATE(c->ctx, c->regions, (size_t) c->nregions + 1));
	memset(c->regions, 0, ((size_t) c->nregions + 1) * sizeof(region));
	return RB_OK;
}

/*
 * Records the region on one side of a patch, which is valid only if it is the same all over the
 * patch.
 */
static void
record_side(comparing *c, uint32_t *side, uint32_t number)
{
	if (*side == UNSEEN)
		*side = number;
	if (*side == number)
		return;
	if (number < c->nregions)
		c->regions[number].unknown = true;
	if (*side < c->nregions)
		c->regions[*side].unknown = true;
	*side = MIXED;
}

/*
 * Records a face whose normal is unreliable, as its patch and region, to find regions whose surface
 * is only partly known.
 */
static rb_status
record_thin(comparing *c, uint32_t p, uint32_t number)
{
	RB_TRY(RB_GROW(c->ctx, c->thin, c->thin_cap, (size_t) c->nthin + 1));
	c->thin[c->nthin][0] = p;
	c->thin[c->nthin++][1] = number;
	return RB_OK;
}

/*
 * Marks the regions whose surface is only partly known. There are two cases. A region may end at
 * some faces of a patch and lie on both sides of its other faces. Or all faces of a patch at which
 * the region ends may be thin, so that the region was recorded on neither side of the patch.
 */
static void
mark_unknown_regions(comparing *c)
{
	for (uint32_t f = 0; f < c->in->nfaces; f++)
		if (c->face_patch[f] != RB_NONE)
			c->patches.at[c->face_patch[f]].nfaces++;
	for (uint32_t i = 0; i < c->patches.n; i++)
	{
		patch *of = &c->patches.at[i];

		if (of->nends > 0 && of->nends != of->nfaces)
		{
			record_side(c, &of->above, MIXED);
			record_side(c, &of->below, MIXED);
		}
	}
	for (uint32_t i = 0; i < c->nthin; i++)
	{
		const patch *of = &c->patches.at[c->thin[i][0]];

		if (of->above != c->thin[i][1] && of->below != c->thin[i][1])
			c->regions[c->thin[i][1]].unknown = true;
	}
}

/* Records a segment along which the patches around a region end at the hull. */
static rb_status
record_rim(comparing *c, uint32_t segment, uint32_t number, bool along)
{
	return rb_vec_append(c->ctx, &c->rims,
						 (rim){.segment = segment, .region = number, .along = along});
}

/*
 * Closes the patches around a region along a face of the hull that is on no facet. For each edge of
 * the face that is a subsegment, adds the triangle between the edge and the first end of its
 * segment. If the edge begins or ends there, records a rim instead.
 */
static rb_status
add_hull_face(comparing *c, const uint32_t *w, uint32_t inside)
{
	const rb_volumes_input *in = c->in;
	region *r = &c->regions[inside];
	double o[3], p[3][3];

	RB_TRY(c->edges_listed ? RB_OK : list_mesh_edges(c));
	scaled_point(c, in->surface_points, 0, o);
	for (int k = 0; k < 3; k++)
		scaled_point(c, in->points, w[k], p[k]);
	r->volume += determinant_about(o, p[0], p[1], p[2]);
	for (uint32_t i = 0; i < 3; i++)
	{
		const uint32_t j = (i + 1) % 3, *piece = rb_table_get(&c->pieces, w[i], w[j], RB_NONE);
		uint32_t segment, end;
		double e[3];

		if (piece == NULL)
			continue;
		segment = in->edge_segment[*piece];
		end = in->segments[segment][0];
		if (end >= in->npoints) /* a fault that the list of segments has reported */
		{
			r->unknown = true;
			continue;
		}
		if (w[i] == end || w[j] == end)
		{
			RB_TRY(record_rim(c, segment, inside, w[i] == end));
			continue;
		}
		scaled_point(c, in->points, end, e);
		add_determinant(&r->sum, 1, p[i], p[j], e);
	}
	return RB_OK;
}

/*
 * Adds face i of tetrahedron t, at which the region ends, to its sums; the corners run
 * counterclockwise from outside.
 */
static rb_status
add_face_to_sums(comparing *c, uint32_t t, uint32_t i, uint32_t inside, uint32_t outside)
{
	const rb_volumes_input *in = c->in;
	const uint32_t *v = in->tets[t];
	const uint32_t w[3] = {v[rb_face_corners[i][0]], v[rb_face_corners[i][1]],
						   v[rb_face_corners[i][2]]};
	const uint32_t *face = rb_table_get(&c->faces, w[0], w[1], w[2]);
	double p[3][3], o[3], n[3], long2;
	patch *of;
	bool up;

	if (face == NULL)
		return add_hull_face(c, w, inside);
	if (c->face_patch[*face] == RB_NONE)
	{
		c->regions[inside].unknown = true;
		return RB_OK;
	}
	of = &c->patches.at[c->face_patch[*face]];
	for (int k = 0; k < 3; k++)
		scaled_point(c, in->points, w[k], p[k]);
	add_determinant(&c->regions[inside].sum, 1, p[0], p[1], p[2]);
	/* A face between two regions is visited from both sides. */
	of->nends += outside == NO_REGION || inside < outside;
	rb_face_normal(p[0], p[1], p[2], n);
	long2 = rb_face_long2(p[0], p[1], p[2]);
	if (rb_dot(n, n) <= MIN_AREA * MIN_AREA * long2 * long2)
		return record_thin(c, c->face_patch[*face], inside);
	scaled_point(c, in->surface_points, in->triangles[of->first][0], o);
	/* A face between two regions is visited from both sides. */
	up = rb_dot(n, of->normal) > 0;
	if (outside == NO_REGION || inside < outside)
		of->won += (up ? 1 : -1) * determinant_about(o, p[0], p[1], p[2]);
	record_side(c, up ? &of->below : &of->above, inside);
	record_side(c, up ? &of->above : &of->below, outside);
	return RB_OK;
}

/* Adds each face at which a region of the mesh ends to the volume of that region. */
static rb_status
add_mesh_volumes(comparing *c)
{
	const rb_volumes_input *in = c->in;
	uint32_t inside = 0;

	for (uint32_t t = 0; t < in->ntets; t++)
	{
		if (should_stop_comparing_volumes(c, t))
			return RB_STOPPED;
		if (t == 0 || in->region[t] != in->region[t - 1])
			inside = region_number(c, in->region[t]);
		for (uint32_t i = 0; i < 4; i++)
		{
			const uint32_t beyond = in->neighbours[4 * (size_t) t + i];

			if (beyond == RB_NONE)
				RB_TRY(add_face_to_sums(c, t, i, inside, NO_REGION));
			else if (in->region[beyond] != in->region[t])
				RB_TRY(add_face_to_sums(c, t, i, inside, region_number(c, in->region[beyond])));
		}
	}
	return RB_OK;
}

/* Subtracts a triangle from a region; sign is 1 if the normal points out of the region. */
static void
subtract_triangle(comparing *c, uint32_t number, uint32_t t, double sign)
{
	double p[3][3], o[3];
	region *r;

	if (number >= c->nregions)
		return;
	r = &c->regions[number];
	if (c->triangle_turned[t])
		sign = -sign;
	get_patch_triangle_points(c, t, p);
	add_determinant(&r->sum, -sign, p[0], p[1], p[2]);
	scaled_point(c, c->in->surface_points, 0, o);
	r->volume += sign * determinant_about(o, p[0], p[1], p[2]);
}

/* Orders rims by segment. */
static int
order_of_rims(const void *a, const void *b, const void *arg)
{
	const uint32_t x = ((const rim *) a)->segment, y = ((const rim *) b)->segment;

	(void) arg;
	return (x > y) - (x < y);
}

typedef struct rim_search
{
	const rim *rims;
	uint32_t segment;
} rim_search;

/* Returns true if rim i is on a segment before the sought one, for a binary search. */
static inline bool
is_rim_before(size_t i, const void *arg)
{
	const rim_search *s = arg;

	return s->rims[i].segment < s->segment;
}

/* Returns the first rim that is not on an earlier segment. */
static uint32_t
first_rim(const comparing *c, uint32_t segment)
{
	const rim_search wanted = {c->rims.at, segment};

	return (uint32_t) rb_lower_bound(0, c->rims.n, is_rim_before, &wanted);
}

/* Closes the patches of the surface along the rims. */
static rb_status
subtract_rims(comparing *c)
{
	const rb_volumes_input *in = c->in;

	if (c->rims.n == 0 || in->piece_segment == NULL)
		return RB_OK; /* The segments of the surface are not divided. */
	RB_TRY(rb_sort(c->ctx, c->rims.at, c->rims.n, sizeof *c->rims.at, order_of_rims, NULL));
	for (uint32_t i = 0; i < in->npieces; i++)
	{
		const uint32_t segment = in->piece_segment[i], *ends = in->segments[segment];
		double p[2][3], e[2][3], d[3], n[3];
		uint32_t from;
		bool along;

		if (should_stop_comparing_volumes(c, i))
			return RB_STOPPED;
		from = first_rim(c, segment);
		if (from == c->rims.n || c->rims.at[from].segment != segment)
			continue;
		for (int k = 0; k < 2; k++)
		{
			scaled_point(c, in->surface_points, in->pieces[i][k], p[k]);
			scaled_point(c, in->surface_points, ends[k], e[k]);
		}
		for (int k = 0; k < 3; k++)
		{
			d[k] = p[1][k] - p[0][k];
			n[k] = e[1][k] - e[0][k];
		}
		along = rb_dot(d, n) > 0;
		for (; from < c->rims.n && c->rims.at[from].segment == segment; from++)
			add_determinant(&c->regions[c->rims.at[from].region].sum,
							c->rims.at[from].along == along ? -1 : 1, p[0], p[1], e[0]);
	}
	return RB_OK;
}

/* Subtracts the volumes inside the surface from those of the mesh. */
static rb_status
subtract_surface(comparing *c)
{
	for (uint32_t t = 0; t < c->in->ntriangles; t++)
	{
		const patch *of = &c->patches.at[c->triangle_patch[t]];

		if (should_stop_comparing_volumes(c, t))
			return RB_STOPPED;
		if (of->below == of->above)
			continue;
		subtract_triangle(c, of->below, t, 1);
		subtract_triangle(c, of->above, t, -1);
	}
	return subtract_rims(c);
}

/* Adds the volume by which a patch may differ to the limit of a region. */
static void
add_limit(comparing *c, uint32_t number, uint32_t p)
{
	const patch *of = &c->patches.at[p];
	double thick;
	region *r;

	if (number >= c->nregions)
		return;
	r = &c->regions[number];
	/*
	 * Six times the area times a thickness: the height of bends that rounding explains or the
	 * tolerance of the facet, plus the distance of points on both sides.
	 */
	thick = fmax(fmin(of->high - of->low, c->flat), tolerance_of_compared_facet(c, of->facet));
	r->limit += 6 * of->area * (thick + 2 * c->rounds);
	if (r->worst == RB_NONE || fabs(of->won) > fabs(c->patches.at[r->worst].won))
		r->worst = p;
	r->unknown |= c->unknown[of->facet] != 0;
}

/* Computes the limits of all regions. */
static void
make_limits(comparing *c)
{
	for (uint32_t r = 0; r < c->nregions; r++)
		c->regions[r].worst = RB_NONE;
	for (uint32_t p = 0; p < c->patches.n; p++)
		if (c->patches.at[p].below != c->patches.at[p].above)
		{
			add_limit(c, c->patches.at[p].below, p);
			add_limit(c, c->patches.at[p].above, p);
		}
}

/* ---- faults ---- */

/* Reports a patch if its faces do not tile it. */
static rb_status
report_area(comparing *c, const patch *of, rb_volumes_report report, void *arg)
{
	const double unit = ldexp(1, -c->exponent);
	rb_volumes_fault fault = {.kind = RB_VOLUMES_AREA,
							  .point = RB_NONE,
							  .facet = of->facet,
							  .amount = of->more / 2 * unit * unit,
							  .limit = of->most / 2 * unit * unit,
							  .volume = of->area * unit * unit};

	if (fabs(of->more) <= of->most)
		return RB_OK;
	memcpy(fault.at, c->in->surface_points + 3 * (size_t) c->in->triangles[of->first][0],
		   sizeof fault.at);
	return report(arg, &fault);
}

/*
 * Reports points far from their facets, facets that their faces do not tile, and regions whose
 * volumes differ.
 */
static rb_status
report_faults(comparing *c, rb_volumes_report report, void *arg)
{
	const double unit = ldexp(1, -c->exponent);

	for (uint32_t p = 0; p < c->patches.n; p++)
	{
		const patch *of = &c->patches.at[p];
		rb_volumes_fault fault = {.kind = RB_VOLUMES_FAR,
								  .point = of->far_point,
								  .facet = of->facet,
								  .amount = of->far * unit,
								  .limit = c->rounds * unit};

		if (of->far_point == RB_NONE || of->far <= c->rounds)
			continue;
		memcpy(fault.at, c->in->points + 3 * (size_t) of->far_point, sizeof fault.at);
		RB_TRY(report(arg, &fault));
	}
	for (uint32_t p = 0; p < c->patches.n; p++)
		RB_TRY(report_area(c, &c->patches.at[p], report, arg));
	for (uint32_t i = 0; i < c->nregions; i++)
	{
		const region *r = &c->regions[i];
		const double off = round_sum(&r->sum);
		rb_volumes_fault fault = {.kind = RB_VOLUMES_REGION,
								  .region = c->region_id[i],
								  .point = RB_NONE,
								  .amount = off / 6 * unit * unit * unit,
								  .limit = r->limit / 6 * unit * unit * unit,
								  .volume = r->volume / 6 * unit * unit * unit};

		if (r->unknown || r->worst == RB_NONE || fabs(off) <= r->limit)
			continue;
		fault.facet = c->patches.at[r->worst].facet;
		RB_TRY(report(arg, &fault));
	}
	return RB_OK;
}

/* ---- comparison ---- */

/* Allocates the arrays of patches. */
static rb_status
allocate_patches(comparing *c)
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

/* Frees the arrays of the comparison. */
static void
free_volume_comparison(comparing *c)
{
	rb_memory *memory = c->ctx->memory;

	rb_vec_free(memory, &c->patches);
	RB_FREE(memory, c->first_patch);
	RB_FREE(memory, c->triangle_patch);
	RB_FREE(memory, c->triangle_turned);
	RB_FREE(memory, c->face_patch);
	RB_FREE(memory, c->unknown);
	RB_FREE(memory, c->root);
	rb_table_free(memory, &c->sides);
	rb_table_free(memory, &c->pieces);
	rb_table_free(memory, &c->faces);
	RB_FREE(memory, c->region_id);
	RB_FREE(memory, c->regions);
	RB_FREE(memory, c->thin);
	rb_vec_free(memory, &c->rims);
}

/* Compares the volumes of mesh and surface by region. */
static rb_status
compare_volumes(comparing *c, rb_volumes_report report, void *arg)
{
	RB_TRY(measure_points(c));
	RB_TRY(allocate_patches(c));
	RB_TRY(patches_of_surface(c));
	RB_TRY(patches_of_mesh(c));
	RB_TRY(check_patch_points(c));
	RB_TRY(compare_areas(c));
	RB_TRY(list_regions(c));
	RB_TRY(add_mesh_volumes(c));
	mark_unknown_regions(c);
	make_limits(c);
	RB_TRY(subtract_surface(c));
	return report_faults(c, report, arg);
}

rb_status
rb_volumes_compare(rb_context *ctx, const rb_volumes_input *in, rb_volumes_report report, void *arg)
{
	comparing c = {.ctx = ctx, .in = in};
	rb_status status;

	if (in->ntets == 0 || in->ntriangles == 0)
		return RB_OK;
	status = compare_volumes(&c, report, arg);
	free_volume_comparison(&c);
	return status;
}

void
rb_volumes_of_plc(const rb_plc *plc, const rb_tets *tets, rb_volumes_input *in)
{
	*in = (rb_volumes_input){.npoints = tets->npoints,
							 .ntets = tets->ntets,
							 .nfaces = tets->nfaces,
							 .nedges = tets->nedges,
							 .nsegments = tets->nsegments,
							 .points = tets->points,
							 .kind = tets->kind,
							 .parent = tets->parent,
							 .tets = (const uint32_t(*)[4]) tets->tets,
							 .neighbours = tets->neighbours,
							 .region = tets->region,
							 .faces = (const uint32_t(*)[3]) tets->faces,
							 .face_facet = tets->face_facet,
							 .edges = (const uint32_t(*)[2]) tets->edges,
							 .edge_segment = tets->edge_segment,
							 .segments = (const uint32_t(*)[2]) tets->segments,
							 .surface_npoints = plc->npoints,
							 .ntriangles = plc->ntriangles,
							 .nfacets = plc->nfacets,
							 .npieces = tets->nsegments,
							 .surface_points = plc->points,
							 .triangles = plc->triangles,
							 .facet_of = plc->facet_of,
							 .tolerance = plc->tolerance,
							 .pieces = (const uint32_t(*)[2]) tets->segments};
}

rb_status
rb_volumes_copy_surface(rb_context *ctx, const rb_tets *tets, rb_volumes_surface *before)
{
	rb_buckets faces = {0};
	uint32_t nfacets = 0;
	rb_status status;

	*before = (rb_volumes_surface){
		.npoints = tets->npoints, .ntriangles = tets->nfaces, .npieces = tets->nedges};
	for (uint32_t f = 0; f < tets->nfaces; f++)
		nfacets = tets->face_facet[f] >= nfacets ? tets->face_facet[f] + 1 : nfacets;
	before->nfacets = nfacets;
	status =
		rb_buckets_build(ctx, &faces, tets->nfaces, nfacets, rb_bucket_in_array, tets->face_facet);
	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, before->triangles, (size_t) tets->nfaces + 1);
	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, before->facet_of, (size_t) tets->nfaces + 1);
	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, before->pieces, (size_t) tets->nedges + 1);
	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, before->piece_segment, (size_t) tets->nedges + 1);
	if (status == RB_OK)
	{
		for (uint32_t i = 0; i < tets->nfaces; i++)
		{
			memcpy(before->triangles[i], tets->faces[faces.member[i]], sizeof before->triangles[i]);
			before->facet_of[i] = tets->face_facet[faces.member[i]];
		}
		memcpy(before->pieces, tets->edges, tets->nedges * sizeof *before->pieces);
		memcpy(before->piece_segment, tets->edge_segment,
			   tets->nedges * sizeof *before->piece_segment);
	}
	else
		rb_volumes_surface_free(ctx->memory, before);
	rb_buckets_free(ctx->memory, &faces);
	return status;
}

void
rb_volumes_of_surface(const rb_volumes_surface *before, const rb_tets *tets, rb_volumes_input *in)
{
	const rb_plc surface = {.npoints = before->npoints,
							.ntriangles = before->ntriangles,
							.nfacets = before->nfacets,
							.points = tets->points,
							.triangles = (const uint32_t(*)[3]) before->triangles,
							.facet_of = before->facet_of};

	rb_volumes_of_plc(&surface, tets, in);
	in->npieces = before->npieces;
	in->pieces = (const uint32_t(*)[2]) before->pieces;
	in->piece_segment = before->piece_segment;
}

/* Writes the first fault to the flaw and ends the comparison. */
static rb_status
write_first_volume_fault(void *arg, const rb_volumes_fault *fault)
{
	rb_flaw *flaw = arg;
	static const rb_flaw_kind kinds[] = {[RB_VOLUMES_FAR] = RB_FLAW_OFF_FACET,
										 [RB_VOLUMES_AREA] = RB_FLAW_NOT_RECOVERED,
										 [RB_VOLUMES_REGION] = RB_FLAW_VOLUME};

	flaw->kind = kinds[fault->kind];
	flaw->a = fault->facet;
	flaw->b = fault->point;
	flaw->region = fault->region;
	flaw->amount = fault->amount;
	flaw->limit = fault->limit;
	flaw->volume = fault->volume;
	memcpy(flaw->at, fault->at, sizeof flaw->at);
	return RB_BAD_PLC;
}

rb_status
rb_volumes_check(rb_context *ctx, const rb_volumes_input *in, rb_flaw *flaw)
{
	rb_status status = rb_volumes_compare(ctx, in, write_first_volume_fault, flaw);

	return status == RB_BAD_PLC ? rb_fail(ctx, RB_BAD_PLC, flaw->a, flaw->b, NULL) : status;
}
