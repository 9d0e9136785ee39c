/*
 * check.h
 *	  Checks whether a mesh is a constrained Delaunay tetrahedralization of a given PLC.
 *
 * The checker works on the arrays as they would be read back from tables, and decides by exact
 * predicates. It trusts nothing in the mesh: indices may be out of range, and rows may come in any
 * order, be duplicated or missing. An element that one fault makes unusable is excluded from later
 * tests, so that one mistake is not reported many times. The PLC itself must be valid (plc.h).
 *
 * The time is linear in the size of the mesh.
 */
#ifndef RB_MESH_CHECK_CHECK_H
#define RB_MESH_CHECK_CHECK_H

#include "mesh/tetrahedralize.h"

#ifdef __cplusplus
extern "C"
{
#endif

/*
 * X(name, text); the comment of each entry lists the meaning of a, b and c, and after a semicolon
 * that of the amount
 */
#define RB_FAULT_LIST(X)                                                                           \
	X(POINT_NOT_FINITE, "a vertex has a coordinate that is not finite")    /* point */             \
	X(POINTS_EQUAL, "two vertices have the same position")                 /* points */            \
	X(POINT_KIND, "a vertex has an impossible kind")                       /* point, kind */       \
	X(POINT_PARENT, "a vertex lies on a nonexistent segment or facet")     /* point, parent */     \
	X(POINT_UNUSED, "an added vertex belongs to no tetrahedron")           /* point */             \
	X(INPUT_MISSING, "an input point is missing")                          /* point */             \
	X(INPUT_MOVED, "an input point has moved")                             /* point; distance */   \
	X(TET_NUMBER, "a corner of a tetrahedron is not a vertex of the mesh") /* tet, point */        \
	X(TET_CORNERS, "two corners of a tetrahedron are the same vertex")     /* tet, point */        \
	X(TET_FLAT, "a tetrahedron has no volume")                             /* tet */               \
	X(TET_INVERTED, "a tetrahedron is inverted")                           /* tet */               \
	X(TET_TWICE, "a tetrahedron occurs twice")                             /* tets */              \
	X(SHARED, "more than two tetrahedra share a face") /* tets, opposite point */                  \
	X(SAME_SIDE,                                                                                   \
	  "two tetrahedra lie on the same side of their common face") /* tets, opposite point */       \
	X(NOT_DELAUNAY,                                                                                \
	  "a vertex lies inside the circumsphere of an adjacent tetrahedron") /* tets, point */        \
	X(REGIONS, "the region changes where there is no facet")              /* tets */               \
	X(BOUNDARY, "a boundary face lies on no facet")        /* tet, opposite point */               \
	X(NOT_CONVEX, "the boundary is not convex at an edge") /* points, tet */                       \
	X(CAVITY, "the mesh has an unexpected cavity")         /* adjacent tet; volume */              \
	X(EULER,                                                                                       \
	  "the Euler characteristic does not match the boundary") /* none; 2 * mesh's - boundary's */  \
	X(FACE_NUMBER, "a corner of a face is not a vertex of the mesh") /* face, point */             \
	X(FACE_CORNERS, "two corners of a face are the same vertex")     /* face, point */             \
	X(FACE_FACET, "a face belongs to a facet that does not exist")   /* face, facet */             \
	X(FACE_TWICE, "a face occurs twice")                             /* faces */                   \
	X(FACE_NOT_IN_MESH, "a face belongs to no tetrahedron")          /* face, facet */             \
	X(FACET_MISSING, "a facet has no faces")                         /* facet */                   \
	X(FACET_CORNER, "a corner of a face is not on its facet")        /* face, facet, point */      \
	X(FACET_TILING, "the faces of a facet leave a gap or overlap at an edge") /* facet, points */  \
	X(FACE_FLAT,                                                                                   \
	  "a face has no area when projected along the normal of its facet") /* face, facet */         \
	X(FACET_FOLDED,                                                                                \
	  "two faces of a facet lie on the same side of their common edge") /* facet, points */        \
	X(FACET_EULER,                                                                                 \
	  "the faces of a facet have a wrong Euler characteristic") /* facet; difference */            \
	X(FACET_AREA,                                                                                  \
	  "the faces of a facet and its triangles differ in area") /* facet; error ratio */            \
	X(FACET_FAR, "a vertex on a facet is too far from it") /* point, facet; distance / diagonal */ \
	X(VOLUME,                                                                                      \
	  "a region and its facets enclose different volumes") /* tet in it, facet; error ratio */     \
	X(FACET_POINT, "a vertex on a facet belongs to none of its faces")   /* point, facet */        \
	X(EDGE_NUMBER, "an endpoint of an edge is not a vertex of the mesh") /* edge, point */         \
	X(EDGE_CORNERS, "both endpoints of an edge are the same vertex")     /* edge, point */         \
	X(EDGE_SEGMENT, "an edge belongs to a segment that does not exist")  /* edge, segment */       \
	X(EDGE_TWICE, "an edge occurs twice")                                /* edges */               \
	X(EDGE_NOT_IN_MESH, "an edge belongs to no tetrahedron")             /* edge, segment */       \
	X(SEGMENT_LIST,                                                                                \
	  "the list of segments differs from the input") /* points; segment or RB_NONE */              \
	X(SEGMENT_MISSING, "a segment has no edges")     /* segment */                                 \
	X(SEGMENT_PATH,                                                                                \
	  "the edges of a segment do not form a path between its endpoints")    /* segment, point */   \
	X(SEGMENT_POINT, "a segment passes through a vertex that is not on it") /* segment, point */   \
	X(SEGMENT_ORDER, "the edges of a segment double back")                  /* segment, points */  \
	X(SEGMENT_FAR,                                                                                 \
	  "a vertex on a segment is too far from it") /* point, segment; distance / diagonal */        \
	X(SEGMENT_LOOSE, "a vertex on a segment belongs to none of its edges") /* point, segment */

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
	uint32_t a, b, c; /* as listed above; RB_NONE if unused */
	double amount;
} rb_fault;

/* Returns the text of a fault kind, never NULL */
extern const char *rb_fault_text(rb_fault_kind kind);

typedef struct rb_check_input
{
	uint32_t npoints;
	uint32_t ntets;
	uint32_t nfaces;
	uint32_t nedges;
	uint32_t nsegments;
	uint32_t nfacets;       /* ignored if there is a PLC */
	const double *points;   /* x, y, z of each */
	const uint8_t *kind;    /* rb_vertex_kind of each, or NULL if all are input points */
	const uint32_t *parent; /* per point; NULL if kind is NULL */
	const uint32_t (*tets)[4];
	const int64_t *region; /* per tetrahedron, or NULL to skip this test */
	const uint32_t (*faces)[3];
	const uint32_t *face_facet;
	const uint32_t (*edges)[2];
	const uint32_t *edge_segment;
	/* All segments, as in rb_tets. NULL if their ends are to be derived from their edges. */
	const uint32_t (*segments)[2];
	const rb_plc *plc; /* NULL to check only the internal consistency of the mesh */
	rb_keep keep;
	uint32_t most; /* maximum number of faults reported per kind; all are counted */
} rb_check_input;

/* Result of a check; its list belongs to ctx->memory and is freed by rb_check_report_free */
typedef struct rb_check_report
{
	uint64_t faults; /* total of all kinds */
	uint64_t count[RB_FAULT_KINDS];
	rb_fault *list; /* ordered by kind */
	uint32_t nlist;
	/* Statistics that are not faults */
	double volume;
	int64_t euler;          /* Euler characteristic of the mesh */
	int64_t euler_boundary; /* Euler characteristic of its boundary */
	bool manifold;          /* the boundary is a manifold, so the two are comparable */
	uint32_t boundary_faces;
	/* input points that are no corners because they are outside the kept part */
	uint32_t unused_inputs;
	/* Faces, edges, and facets without faces that are outside the kept part */
	uint32_t outside_faces;
	uint32_t outside_edges;
	uint32_t outside_facets;
	uint32_t turned_faces; /* faces oriented opposite to their facet's triangles */
} rb_check_report;

/*
 * Returns RB_OK whether or not there are faults. Otherwise returns RB_STOPPED, RB_TOO_MANY_OBJECTS
 * or a memory error, and the report is empty.
 */
extern rb_status rb_check_mesh(rb_context *ctx, const rb_check_input *in, rb_check_report *report);
extern void rb_check_report_free(rb_memory *memory, rb_check_report *report);

#ifdef __cplusplus
}
#endif

#endif /* RB_MESH_CHECK_CHECK_H */
