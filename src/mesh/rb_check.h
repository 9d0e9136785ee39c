/*
 * rb_check.h
 *	  Is this a constrained Delaunay tetrahedralization of that PLC?  Every answer is taken from
 *	  the arrays as they are, as they would be read back from tables, and by exact signs.
 *
 * Nothing is believed of the mesh: its numbers may be out of range, its rows in any order, twice or
 * missing.  What cannot be looked at because of one fault is left out of what is asked later, so
 * that one mistake is not told in ten ways.  The PLC itself must be one (rb_plc.h).
 *
 * Takes time linear in the size of the mesh.
 */
#ifndef RB_CHECK_H
#define RB_CHECK_H

#include "mesh/rb_tetrahedralize.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* X(name, text): what the numbers a, b, c of a fault are stands behind each */
#define RB_FAULT_LIST(X)                                                                           \
	X(POINT_NOT_FINITE, "a point is not finite")                            /* point */            \
	X(POINTS_EQUAL, "two points are in one place")                          /* points */           \
	X(POINT_KIND, "a point is of a kind that it cannot be of")              /* point, kind */      \
	X(POINT_PARENT, "a point lies on a segment or facet that there is not") /* point, parent */    \
	X(POINT_UNUSED, "an added point is no corner of a tetrahedron")         /* point */            \
	X(INPUT_MISSING, "a point of the input is missing")                     /* point */            \
	X(INPUT_MOVED, "a point of the input is elsewhere")                     /* point; how far */   \
	X(TET_NUMBER, "a corner of a tetrahedron is no point")                  /* tet, point */       \
	X(TET_CORNERS, "two corners of a tetrahedron are one point")            /* tet, point */       \
	X(TET_FLAT, "a tetrahedron has no volume")                              /* tet */              \
	X(TET_INVERTED, "a tetrahedron is inverted")                            /* tet */              \
	X(TET_TWICE, "a tetrahedron is there twice")                            /* tets */             \
	X(SHARED, "more than two tetrahedra share a face")                  /* tets, opposite point */ \
	X(SAME_SIDE, "two tetrahedra lie on one side of their common face") /* tets, opposite point */ \
	X(NOT_DELAUNAY, "a point lies in the sphere of a tetrahedron beside it") /* tets, point */     \
	X(REGIONS, "the region changes where there is no facet")                 /* tets */            \
	X(BOUNDARY, "a face without a neighbour is on no facet")  /* tet, opposite point */            \
	X(NOT_CONVEX, "the boundary is not convex at an edge")    /* points, tet */                    \
	X(CAVITY, "there is a cavity that nobody asked for")      /* tet beside; volume */             \
	X(EULER, "Euler's number is not half of the boundary's")  /* ; twice it less that */           \
	X(FACE_NUMBER, "a corner of a face is no point")          /* face, point */                    \
	X(FACE_CORNERS, "two corners of a face are one point")    /* face, point */                    \
	X(FACE_FACET, "a face is of a facet that there is not")   /* face, facet */                    \
	X(FACE_TWICE, "a face is there twice")                    /* faces */                          \
	X(FACE_NOT_IN_MESH, "a face is one of no tetrahedron")    /* face, facet */                    \
	X(FACET_MISSING, "a facet has no faces")                  /* facet */                          \
	X(FACET_CORNER, "a corner of a face is not on its facet") /* face, facet, point */             \
	X(FACET_TILING, "faces of a facet leave gaps or overlap at an edge")  /* facet, points */      \
	X(FACE_FLAT, "a face has no area, seen along its facet's normal")     /* face, facet */        \
	X(FACET_FOLDED, "two faces of a facet lie on one side of their edge") /* facet, points */      \
	X(FACET_EULER,                                                                                 \
	  "Euler's number of a facet's faces is not that of its triangles")   /* facet; difference */  \
	X(FACET_AREA, "a facet's faces have another area than its triangles") /* facet; share of it */ \
	X(FACET_FAR, "a point on a facet is far from it") /* point, facet; distance / diagonal */      \
	X(VOLUME,                                                                                      \
	  "a region has another volume than its facets enclose") /* tet in it, facet; share of it */   \
	X(FACET_POINT, "a point on a facet is a corner of none of its faces") /* point, facet */       \
	X(EDGE_NUMBER, "an end of an edge is no point")                       /* edge, point */        \
	X(EDGE_CORNERS, "an edge has one point for both ends")                /* edge, point */        \
	X(EDGE_SEGMENT, "an edge is of a segment that there is not")          /* edge, segment */      \
	X(EDGE_TWICE, "an edge is there twice")                               /* edges */              \
	X(EDGE_NOT_IN_MESH, "an edge is one of no tetrahedron")               /* edge, segment */      \
	X(SEGMENT_LIST,                                                                                \
	  "the list of segments is not that of the input") /* points; segment or RB_NONE */            \
	X(SEGMENT_MISSING, "a segment has no edges")       /* segment */                               \
	X(SEGMENT_PATH, "the edges of a segment are no path between its ends") /* segment, point */    \
	X(SEGMENT_POINT, "a segment leads through a point that is not on it")  /* segment, point */    \
	X(SEGMENT_ORDER, "the edges of a segment go back")                     /* segment, points */   \
	X(SEGMENT_FAR,                                                                                 \
	  "a point on a segment is far from it") /* point, segment; distance / diagonal */             \
	X(SEGMENT_LOOSE, "a point on a segment is on none of its edges") /* point, segment */

typedef enum rb_fault_kind
{
#define RB_FAULT_NAME(name, text) RB_FAULT_##name,
	RB_FAULT_LIST(RB_FAULT_NAME)
#undef RB_FAULT_NAME
		RB_FAULT_KINDS
} rb_fault_kind;

typedef struct rb_fault
{
	rb_fault_kind kind;
	uint32_t a, b, c; /* what the list above says; RB_NONE where it says nothing */
	double amount;
} rb_fault;

/* a sentence for each, never NULL */
extern const char *rb_fault_text(rb_fault_kind kind);

typedef struct rb_check_input
{
	uint32_t npoints;
	uint32_t ntets;
	uint32_t nfaces;
	uint32_t nedges;
	uint32_t nsegments;
	uint32_t nfacets;       /* not looked at where there is a PLC */
	const double *points;   /* x y z of each */
	const uint8_t *kind;    /* rb_vertex_kind of each; NULL: all are of the input */
	const uint32_t *parent; /* of each; NULL with kind */
	const uint32_t (*tets)[4];
	const int64_t *region; /* of each; NULL: it is not asked for */
	const uint32_t (*faces)[3];
	const uint32_t *face_facet;
	const uint32_t (*edges)[2];
	const uint32_t *edge_segment;
	/* all segments, as in rb_tets; NULL: then their ends are where their edges end */
	const uint32_t (*segments)[2];
	const rb_plc *plc; /* NULL: only what the mesh says of itself is looked at */
	rb_keep keep;
	uint32_t most; /* faults of one kind that are told; all are counted */
} rb_check_input;

/* its list is of ctx->memory and goes with rb_check_report_free */
typedef struct rb_check_report
{
	uint64_t faults; /* of all kinds */
	uint64_t count[RB_FAULT_KINDS];
	rb_fault *list; /* in order of kinds */
	uint32_t nlist;
	/* no faults, but of interest */
	double volume;
	int64_t euler;          /* of the mesh */
	int64_t euler_boundary; /* of its boundary */
	bool manifold;          /* the boundary is one, so that these two can be compared */
	uint32_t boundary_faces;
	uint32_t unused_inputs; /* points of the input that are no corners: outside of what is kept */
	uint32_t
		outside_faces; /* faces, edges, and facets without faces that are not in what is kept */
	uint32_t outside_edges;
	uint32_t outside_facets;
	uint32_t turned_faces; /* whose corners run the other way around than their facet's triangles */
} rb_check_report;

/* RB_OK, whatever was found; RB_STOPPED; RB_TOO_MANY_OBJECTS; or a memory error, then the report is empty */
extern rb_status rb_check_mesh(rb_context *ctx, const rb_check_input *in, rb_check_report *report);
extern void rb_check_report_free(rb_memory *memory, rb_check_report *report);

#ifdef __cplusplus
}
#endif

#endif /* RB_CHECK_H */
