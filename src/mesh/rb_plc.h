/*
 * rb_plc.h
 *	  A piecewise linear complex: points, segments and facets, of which a mesh is made; and what
 *	  can be wrong with one.
 *
 * A facet is a planar polygon, with or without holes, given as triangles that share corners: the
 * edges that are in one of its triangles only are its boundary, and are segments; those in two of
 * them are soft, and the mesh may have others in their place.  A polygon is planar as far as
 * doubles can be: its triangles may bend by rounding along soft edges.
 *
 * Everything is named by its number, from 0.
 */
#ifndef RB_PLC_H
#define RB_PLC_H

#include "core/base/redblue.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define RB_NONE UINT32_MAX

/* what a seed says of the region that it lies in */
typedef struct rb_seed
{
	double at[3];
	int64_t region; /* the number that its tetrahedra get; not looked at where hole is set */
	bool hole;      /* no tetrahedra are wanted here */
} rb_seed;

typedef struct rb_plc
{
	uint32_t npoints;
	uint32_t ntriangles;
	uint32_t nfacets;
	uint32_t nsegments;
	uint32_t nseeds;
	const double *points;           /* x y z of each; finite, no two of them equal */
	const uint32_t (*triangles)[3]; /* corners, three different points */
	const uint32_t *facet_of;       /* of each triangle, ascending; every facet has one */
	const uint32_t (*segments)[2];  /* given besides those on the boundary of facets; ends differ */
	const rb_seed *seeds;
} rb_plc;

/* what is wrong, with the numbers of what it is wrong with */
typedef enum rb_flaw_kind
{
	RB_FLAW_NONE,
	RB_FLAW_NO_VOLUME,  /* all points lie in one plane */
	RB_FLAW_FACET_AREA, /* facet a: a triangle of it has no area */
	RB_FLAW_FACET_FOLDED, /* facet a is no simple polygon: its triangles overlap, or an edge is in three */
	RB_FLAW_FACETS_EQUAL,   /* facets a and b have a triangle in common */
	RB_FLAW_FACETS_OVERLAP, /* facets a and b lie in one plane, and on each other */
	RB_FLAW_FACETS_CROSS,   /* facets a and b share points that are no common corner or edge */
	RB_FLAW_SEGMENT_FACET,  /* segment a meets facet b elsewhere than in a corner of both */
	RB_FLAW_SEGMENTS_CROSS, /* segments a and b */
	RB_FLAW_POINT_IN_FACET, /* point a lies inside facet b, or on its edge, and is no corner of it */
	RB_FLAW_POINT_ON_SEGMENT, /* point a lies on segment b, and is no end of it */
	RB_FLAW_TOO_NEAR,      /* at point a, doubles are too coarse for a point that is needed there */
	RB_FLAW_NOT_RECOVERED, /* facet a could not be made a union of faces */
	RB_FLAW_NOT_CUT, /* facet a could not be cut where it crosses others: of the b points on a triangle
					 * of it, two are so near to each other that rounding made their edges cross */
	RB_FLAW_OFF_FACET, /* the mesh is wrong: its point b lies off facet a, by `amount` */
	RB_FLAW_VOLUME /* the mesh is wrong: `region` has another volume than its facets enclose, most by facet a */
} rb_flaw_kind;

typedef struct rb_flaw
{
	rb_flaw_kind kind;
	uint32_t a;
	uint32_t b;
	double at[3]; /* a place where it is seen */
	/* RB_FLAW_NOT_CUT: the distance of the two nearest points; RB_FLAW_OFF_FACET, RB_FLAW_VOLUME: how far, or how much */
	double amount;
	/* of a mesh that is wrong (rb_volumes.h) */
	int64_t region;
	double limit;  /* what rounding explains of the amount */
	double volume; /* what facets enclose */
} rb_flaw;

#ifdef __cplusplus
}
#endif

#endif /* RB_PLC_H */
