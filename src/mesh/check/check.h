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

#include "core/base/base.h"
#include "mesh/tetrahedralize.h"

#ifdef __cplusplus
extern "C"
{
#endif

/*
 * X(name, text); the comment of each entry states the meaning of a, b, c (tet: a tetrahedron) and
 * of the amount. A distance ratio is relative to the diagonal of the model, and an error to the
 * correct value.
 */
#define RB_FAULT_LIST(X)                                                                             \
	X(POINT_NOT_FINITE, "a vertex has a coordinate that is not finite") /* a: point */               \
	X(POINTS_EQUAL, "two vertices have the same position")              /* a, b: points */           \
	X(POINT_KIND, "a vertex has an impossible kind")                    /* a: point; b: kind */      \
	X(POINT_PARENT, "a vertex lies on a nonexistent segment or facet")  /* a: point; b: parent */    \
	X(POINT_UNUSED, "an added vertex belongs to no tetrahedron")        /* a: point */               \
	X(INPUT_MISSING, "an input point is missing")                       /* a: point */               \
	X(INPUT_MOVED, "an input point has moved") /* a: point; amount: distance */                      \
	X(TET_NUMBER, "a corner of a tetrahedron is not a vertex of the mesh") /* a: tet; b: point */    \
	X(TET_CORNERS, "two corners of a tetrahedron are the same vertex")     /* a: tet; b: point */    \
	X(TET_FLAT, "a tetrahedron has no volume")                             /* a: tet */              \
	X(TET_INVERTED, "a tetrahedron is inverted")                           /* a: tet */              \
	X(TET_TWICE, "a tetrahedron occurs twice")                             /* a, b: tets */          \
	X(SHARED, "more than two tetrahedra share a face") /* a, b: tets; c: other point */              \
	X(SAME_SIDE,                                                                                     \
	  "two tetrahedra lie on the same side of their common face") /* a, b: tets; c: other point */   \
	X(NOT_DELAUNAY,                                                                                  \
	  "a vertex lies inside the circumsphere of an adjacent tetrahedron") /* a, b: tets; c: point */ \
	X(REGIONS, "the region changes where there is no facet")              /* a, b: tets */           \
	X(BOUNDARY, "a boundary face lies on no facet")        /* a: tet; b: opposite point */           \
	X(NOT_CONVEX, "the boundary is not convex at an edge") /* a, b: points; c: tet */                \
	X(CAVITY, "the mesh has an unexpected cavity")         /* a: adjacent tet; amount: volume */     \
	X(EULER,                                                                                         \
	  "the Euler characteristic does not match the boundary") /* amount: 2 * mesh's - boundary's */  \
	X(FACE_NUMBER, "a corner of a face is not a vertex of the mesh") /* a: face; b: point */         \
	X(FACE_CORNERS, "two corners of a face are the same vertex")     /* a: face; b: point */         \
	X(FACE_FACET, "a face belongs to a facet that does not exist")   /* a: face; b: facet */         \
	X(FACE_TWICE, "a face occurs twice")                             /* a, b: faces */               \
	X(FACE_NOT_IN_MESH, "a face belongs to no tetrahedron")          /* a: face; b: facet */         \
	X(FACET_MISSING, "a facet has no faces")                         /* a: facet */                  \
	X(FACET_CORNER, "a corner of a face is not on its facet") /* a: face; b: facet; c: point */      \
	X(FACET_TILING,                                                                                  \
	  "the faces of a facet leave a gap or overlap at an edge") /* a: facet; b, c: points */         \
	X(FACE_FLAT,                                                                                     \
	  "a face has no area when projected along the normal of its facet") /* a: face; b: facet */     \
	X(FACET_FOLDED,                                                                                  \
	  "two faces of a facet lie on the same side of their common edge") /* a: facet; b, c: points */ \
	X(FACET_EULER,                                                                                   \
	  "the faces of a facet have a wrong Euler characteristic") /* a: facet; amount: difference */   \
	X(FACET_AREA,                                                                                    \
	  "the faces of a facet and its triangles differ in area") /* a: facet; amount: error */         \
	X(FACET_FAR,                                                                                     \
	  "a vertex on a facet is too far from it") /* a: point; b: facet; amount: distance ratio */     \
	X(VOLUME,                                                                                        \
	  "a region and its facets enclose different volumes") /* a: tet; b: facet; amount: error */     \
	X(FACET_POINT, "a vertex on a facet belongs to none of its faces")   /* a: point; b: facet */    \
	X(EDGE_NUMBER, "an endpoint of an edge is not a vertex of the mesh") /* a: edge; b: point */     \
	X(EDGE_CORNERS, "both endpoints of an edge are the same vertex")     /* a: edge; b: point */     \
	X(EDGE_SEGMENT, "an edge belongs to a segment that does not exist")  /* a: edge; b: segment */   \
	X(EDGE_TWICE, "an edge occurs twice")                                /* a, b: edges */           \
	X(EDGE_NOT_IN_MESH, "an edge belongs to no tetrahedron")             /* a: edge; b: segment */   \
	X(SEGMENT_LIST,                                                                                  \
	  "the list of segments differs from the input") /* a, b: points; c: segment or RB_NONE */       \
	X(SEGMENT_MISSING, "a segment has no edges")     /* a: segment */                                \
	X(SEGMENT_PATH,                                                                                  \
	  "the edges of a segment do not form a path between its endpoints") /* a: segment; b: point */  \
	X(SEGMENT_POINT,                                                                                 \
	  "a segment passes through a vertex that is not on it") /* a: segment; b: point */              \
	X(SEGMENT_ORDER, "the edges of a segment double back")   /* a: segment; b, c: points */          \
	X(SEGMENT_FAR,                                                                                   \
	  "a vertex on a segment is too far from it") /* a: point; b: segment; amount: distance ratio */ \
	X(SEGMENT_LOOSE,                                                                                 \
	  "a vertex on a segment belongs to none of its edges") /* a: point; b: segment */

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
	uint32_t a, b, c; /* meaning listed above; RB_NONE if unused */
	double amount;
} rb_fault;

/* Returns the text of a fault kind, never NULL. */
extern const char *rb_fault_text(rb_fault_kind kind);

typedef struct rb_check_input
{
	uint32_t npoints;
	uint32_t ntets;
	uint32_t nfaces;
	uint32_t nedges;
	uint32_t nsegments;
	uint32_t nfacets;       /* ignored if there is a PLC */
	const double *points;   /* coordinates x, y, z of each point */
	const uint8_t *kind;    /* rb_vertex_kind of each point, or NULL if all are input points */
	const uint32_t *parent; /* parent of each point; NULL if kind is NULL */
	const uint32_t (*tets)[4];
	const int64_t *region; /* region of each tetrahedron, or NULL to skip this test */
	const uint32_t (*faces)[3];
	const uint32_t *face_facet;
	const uint32_t (*edges)[2];
	const uint32_t *edge_segment;
	/* All segments, as in rb_tets. NULL if their ends must be derived from their edges. */
	const uint32_t (*segments)[2];
	/* the input of the mesh, or NULL to check only the mesh's internal consistency */
	const rb_plc *plc;
	rb_keep keep;
	bool not_delaunay; /* true if faces need not be Delaunay */
	/* 1 for each tetrahedron; a face between two with a 1 need not be Delaunay. May be NULL */
	const uint8_t *tet_not_delaunay;
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
	int64_t euler_boundary; /* Euler characteristic of the mesh's boundary */
	/* true if the boundary is a manifold, so that the two Euler characteristics can be compared */
	bool manifold;
	uint32_t boundary_faces;
	/* number of input points that are not corners, because they are outside the kept part */
	uint32_t unused_inputs;
	/* Number of faces, edges, and facets without faces that are outside the kept part */
	uint32_t outside_faces;
	uint32_t outside_edges;
	uint32_t outside_facets;
	uint32_t turned_faces; /* number of faces oriented opposite to their facet's triangles */
} rb_check_report;

/*
 * Checks a mesh. Returns RB_OK, whether or not there are faults. On failure, returns RB_STOPPED,
 * RB_TOO_MANY_OBJECTS or a memory error, and the report is empty.
 */
extern rb_status rb_check_mesh(rb_context *ctx, const rb_check_input *in, rb_check_report *report);

/* Frees the list of faults. */
static inline void
rb_check_report_free(rb_memory *memory, rb_check_report *report)
{
	RB_FREE(memory, report->list);
	memset(report, 0, sizeof(*report));
}

#ifdef __cplusplus
}
#endif

#endif /* RB_MESH_CHECK_CHECK_H */
