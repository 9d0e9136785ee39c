/*
 * facet_patches.h
 *	  Declares the patches of facets, and the state of a comparison of volumes and areas.
 *
 * Patches are divided, matched and compared in facet_patches.c, volumes of regions in volumes.c.
 */
#ifndef RB_MESH_FACET_PATCHES_H
#define RB_MESH_FACET_PATCHES_H

#include <math.h>

#include "core/exact/expansion.h"
#include "mesh/hash_table.h"
#include "mesh/volumes.h"

/* Values for a side of a patch that is not a region */
#define RB_PATCH_NO_REGION UINT32_MAX    /* outside: the mesh ends there */
#define RB_PATCH_UNSEEN (UINT32_MAX - 1) /* no face of the mesh on the patch ends a region */
/*
 * Several regions. On the hull, where facets are flat only to within rounding, tetrahedra of zero
 * height can lie beyond some faces of a patch. The regions involved are not compared.
 */
#define RB_PATCH_MIXED (UINT32_MAX - 2)

/* Triangles of a facet connected by soft edges */
typedef struct rb_facet_patch
{
	uint64_t key[2]; /* hash of the segments around it */
	uint32_t facet;
	uint32_t first; /* the patch's triangle with the smallest index */
	/* sum of its triangles' normals, scaled; its length is twice the area if flat */
	double normal[3];
	/* range of its corners along the normal, relative to the triangle `first` */
	double low, high;
	double area;        /* sum of its triangles' areas, scaled */
	uint32_t above;     /* the region on the side of the normal, or one of the values above */
	uint32_t below;     /* the region on the opposite side, or one of the values above */
	uint32_t nfaces;    /* number of mesh faces on it */
	uint32_t nends;     /* number of mesh faces on it at which a region ends */
	double won;         /* approximate volume gained by the region below */
	uint32_t far_point; /* the point farthest from it, or RB_NONE */
	double far;
	/* twice the excess of its faces' area over its triangles' area, on an axis, scaled */
	double more;
	double most; /* largest value of `more` that rounding explains */
} rb_facet_patch;

typedef struct rb_compared_region
{
	rb_accumulator sum; /* Six times the mesh's volume minus the surface's, scaled */
	double volume;      /* six times the surface's volume, scaled */
	double limit;       /* six times the largest difference that rounding explains, scaled */
	uint32_t worst;     /* the patch at which most volume is gained or lost */
	bool unknown;       /* true if parts of its surface could not be compared */
} rb_compared_region;

/* A segment along which the patches around a region end at the hull */
typedef struct rb_region_rim
{
	uint32_t segment, region;
	bool along; /* true if the face of the hull runs along the segment, false if against it */
} rb_region_rim;

typedef struct rb_volume_comparison
{
	rb_context *ctx;
	const rb_volumes_input *in;
	double scale;  /* power of two that scales coordinates below 2 */
	int exponent;  /* exponent of scale */
	double rounds; /* maximum distance of a point from its facet, scaled */
	double flat;   /* maximum height of a bend that counts as flat (flatness.h), scaled */
	/* Patches */
	RB_VEC(rb_facet_patch) patches;
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
	rb_compared_region *regions;
	uint32_t nregions;
	size_t ids_cap;
	uint32_t (*thin)[2]; /* Patch and region of each face whose normal is unreliable */
	uint32_t nthin;
	size_t thin_cap;
	RB_VEC(rb_region_rim) rims;
} rb_volume_comparison;

/* Returns true if a stop was requested while volumes are compared; checks only at some elements. */
static inline bool
rb_patches_should_stop(const rb_volume_comparison *c, uint32_t i)
{
	return (i & 0x3fff) == 0x3fff && rb_should_stop(c->ctx);
}

/*
 * Scales a point of the surface or of the mesh by a power of two, so that volumes do not overflow.
 */
static inline void
rb_patches_scale_point(const rb_volume_comparison *c, const double *points, uint32_t v, double *p)
{
	for (int k = 0; k < 3; k++)
		p[k] = points[3 * (size_t) v + (size_t) k] * c->scale;
}

/* Rounds a sum to a double. */
static inline double
rb_patches_round_sum(const rb_accumulator *sum)
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

/* Gets the scaled corners of a triangle of the surface. */
static inline void
rb_patches_get_triangle(const rb_volume_comparison *c, uint32_t t, double p[3][3])
{
	for (int i = 0; i < 3; i++)
		rb_patches_scale_point(c, c->in->surface_points, c->in->triangles[t][i], p[i]);
}

/* Returns the distance by which the faces of a facet may be off its triangles, scaled; or 0. */
static inline double
rb_patches_get_tolerance(const rb_volume_comparison *c, uint32_t facet)
{
	return c->in->tolerance != NULL ? c->in->tolerance[facet] * c->scale : 0;
}

/*
 * Divides the facets of the surface into patches, finds the patch of each face of the mesh, and
 * compares the points and areas of both.
 */
extern rb_status rb_patches_compare(rb_volume_comparison *c);

/* Puts the subsegments of the mesh into the table, in place of those of the surface. */
extern rb_status rb_patches_list_mesh_edges(rb_volume_comparison *c);

#endif /* RB_MESH_FACET_PATCHES_H */
