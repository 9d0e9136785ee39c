/*
 * plc.h
 *	  Defines a piecewise linear complex, the input of a mesh, and the defects it can have.
 *
 * A piecewise linear complex (PLC) consists of points, segments and facets. A facet is a planar
 * polygon, with or without holes, given as triangles that share corners. Edges of exactly one of
 * its triangles form its boundary and are segments. Edges of two triangles are soft: the mesh may
 * triangulate the facet differently. A polygon is planar to within the precision of doubles:
 * rounding may bend it along soft edges.
 *
 * All elements are identified by indices that start at 0.
 */
#ifndef RB_MESH_PLC_H
#define RB_MESH_PLC_H

#include "core/base/redblue.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define RB_NONE UINT32_MAX

/* A point that assigns properties to the region containing it */
typedef struct rb_seed
{
	double at[3];
	int64_t region; /* region number of its tetrahedra; ignored if hole is set */
	bool hole;      /* true if the region is a hole and gets no tetrahedra */
} rb_seed;

typedef struct rb_plc
{
	uint32_t npoints;
	uint32_t ntriangles;
	uint32_t nfacets;
	uint32_t nsegments;
	uint32_t nseeds;
	/* coordinates x, y, z of each point; finite and pairwise distinct */
	const double *points;
	const uint32_t (*triangles)[3]; /* corners; three different points */
	/* facet of each triangle, ascending; every facet has at least one */
	const uint32_t *facet_of;
	/*
	 * For each facet, 0 if it is flat to within rounding. Otherwise all its corners are within half
	 * of this distance from a plane, and its faces may be anywhere between the corners: all its
	 * edges of two triangles are soft. NULL if all facets are flat.
	 */
	const double *tolerance;
	/* segments given in addition to facet boundaries; ends differ */
	const uint32_t (*segments)[2];
	const rb_seed *seeds;
	/* Maximum number of points of the mesh, including Steiner points; 0 for no limit */
	uint32_t max_points;
	/* Maximum work in the recovery of facets, in tests of an edge against a face; 0 for no limit */
	uint64_t max_work;
} rb_plc;

/* Kind of a defect; a and b are the fields of rb_flaw */
typedef enum rb_flaw_kind
{
	RB_FLAW_NONE,
	RB_FLAW_NO_VOLUME,  /* all points are coplanar */
	RB_FLAW_FACET_AREA, /* facet a has a triangle of zero area */
	/* Facet a is not a simple polygon: its triangles overlap, or three share an edge */
	RB_FLAW_FACET_FOLDED,
	RB_FLAW_FACETS_EQUAL,   /* facets a and b have a triangle in common */
	RB_FLAW_FACETS_OVERLAP, /* facets a and b are coplanar and overlap */
	RB_FLAW_FACETS_CROSS,   /* facets a and b meet outside common corners and edges */
	RB_FLAW_SEGMENT_FACET,  /* segment a meets facet b outside a common corner */
	RB_FLAW_SEGMENTS_CROSS, /* segments a and b cross */
	/* point a lies inside facet b or on its edge and is not one of its corners */
	RB_FLAW_POINT_IN_FACET,
	RB_FLAW_POINT_ON_SEGMENT, /* point a lies on segment b and is not one of its ends */
	RB_FLAW_TOO_NEAR,         /* doubles are too coarse for a point that is needed near point a */
	RB_FLAW_NOT_RECOVERED,    /* facet a could not be recovered as a union of faces */
	RB_FLAW_TOO_MANY_POINTS,  /* more points are needed than the PLC allows (max_points) */
	RB_FLAW_OFF_FACET,        /* the mesh is wrong: its point b is off facet a by `amount` */
	/*
	 * The mesh is wrong: the volume of `region` differs from what its facets enclose. The largest
	 * difference is at facet a.
	 */
	RB_FLAW_VOLUME,
	/* The mesh is wrong: its hull is reflex at an edge through `at`, by `amount` */
	RB_FLAW_NOT_CONVEX,
	RB_FLAW_LOST_POINT, /* The mesh is wrong: its vertex at `at` belongs to no tetrahedron */
	/* A mesh that is not Delaunay could not be built again before its refinement */
	RB_FLAW_NOT_REBUILT
} rb_flaw_kind;

typedef struct rb_flaw
{
	rb_flaw_kind kind;
	uint32_t a;
	uint32_t b;
	double at[3]; /* a location where the defect is visible */
	/* Distance of RB_FLAW_OFF_FACET, difference of RB_FLAW_VOLUME, depth of RB_FLAW_NOT_CONVEX */
	double amount;
	double limit; /* largest amount that rounding explains */
	/* Details of RB_FLAW_VOLUME (volumes.h) */
	int64_t region;
	double volume; /* volume enclosed by the facets */
} rb_flaw;

/* Returns the name of a kind of flaw, such as "crossing facets" (plc_check.c). */
extern const char *rb_flaw_name(rb_flaw_kind kind);

#ifdef __cplusplus
}
#endif

#endif /* RB_MESH_PLC_H */
