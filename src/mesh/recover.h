/*
 * recover.h
 *	  Declares the data shared by the recovery of segments and facets: the segments, the subsegments
 *	  they were split into, and the faces that make up the facets so far.
 *
 *	  tetrahedralize.c        finds the segments of a PLC, and runs all steps
 *	  recover_segments.c      splits segments until all their subsegments are edges of the mesh
 *	  recover_facets.c        triangulates facets and finds their missing faces, region by region
 *	  cavity.c                removes the tetrahedra that cross a region ...
 *	  cavity_fill.c           ... and fills the cavity on both sides
 *	  flip_repair.c           flips faces that are not Delaunay afterward
 *	  result.c                finds the tetrahedra to keep and the region of each
 *
 * The method follows H. Si, K. Gaertner: 3D boundary recovery by constrained Delaunay
 * tetrahedralization, 2011, and L. Diazzi, D. Panozzo, A. Vaxman, M. Attene: Constrained Delaunay
 * Tetrahedrization: A Robust and Practical Approach, 2023. Unlike in these papers, Steiner points
 * are rounded to doubles from the start. A facet whose boundary was split is therefore only nearly
 * flat, and all guarantees refer to the rounded points.
 */
#ifndef RB_MESH_RECOVER_H
#define RB_MESH_RECOVER_H

#include "core/base/base.h"
#include "mesh/mesh.h"
#include "mesh/hash_table.h"
#include "mesh/tetrahedralize.h"

/* A subsegment: the part of a segment between two consecutive points on it */
typedef struct rb_subsegment
{
	uint32_t u, v;    /* ends, in the direction of the segment */
	uint32_t segment; /* subsegment s is the first one of segment s */
	uint32_t next;    /* the next subsegment of the segment, or RB_NONE */
} rb_subsegment;

/* A face of the mesh that lies on a facet */
typedef struct rb_subface
{
	uint32_t v[3];
	uint32_t facet;
} rb_subface;

typedef struct rb_recovery
{
	rb_context *ctx;
	const rb_plc *plc;
	rb_mesh mesh;
	rb_flaw *flaw;
	/* Segments: those given, then the boundaries of facets */
	uint32_t (*segments)[2];
	uint32_t *segment_facet;
	uint32_t nsegments;
	size_t segments_cap;
	rb_table boundary; /* maps an edge to its segment */
	/* For each triangle that is the only one of its facet: the segments of its edges 01, 12, 20 */
	uint32_t (*edges)[3];
	/* The triangles of facet f are facet_start[f] up to facet_start[f + 1] - 1 */
	uint32_t *facet_start;
	/* Subsegments */
	rb_subsegment *pieces;
	uint32_t npieces;
	size_t pieces_cap;
	rb_table piece_of; /* maps a subsegment to its segment; filled by rb_recover_list_subsegments */
	uint8_t *cuts;     /* number of times each segment was split, capped at 255 */
	/* Number of points when segments were last recovered; 0 if all subsegments must be checked */
	uint32_t points_then;
	/* for each PLC point, whether two of its segments form an angle below 90 degrees */
	bool *acute;
	/* Steiner points, from plc->npoints on */
	uint8_t *kind;
	uint32_t *parent;
	size_t added_cap;
	rb_table halved;        /* soft edges split in this round */
	uint32_t *facet_points; /* Steiner points inside facets */
	uint32_t nfacet_points;
	size_t facet_points_cap;
	/* for each facet, whether it had Steiner points inside when facet recovery last started */
	bool *pointed;
	/* Faces on facets, ordered by facet */
	rb_subface *subfaces;
	uint32_t nsubfaces;
	size_t subfaces_cap;
	/* Tetrahedra around a point, in recover_segments.c */
	uint32_t *star;
	size_t star_cap;
	uint64_t work_done; /* work of filling cavities so far, in units of plc.max_work */
	bool is_copy;       /* true in a thread's copy, which only reads the mesh */
	/* true if a cavity was filled, so that the mesh may no longer be Delaunay */
	bool carved;
	struct rb_facet_work *work; /* data of recover_facets.c */
	/* For a large mesh, facets found complete before recovery; else NULL */
	struct rb_facets_seen *seen;
} rb_recovery;

/* Records the flaw that ends the recovery. Returns RB_BAD_PLC. */
static inline rb_status
rb_recover_flaw(rb_recovery *r, rb_flaw_kind kind, uint32_t a, uint32_t b, const double *at)
{
	r->flaw->kind = kind;
	r->flaw->a = a;
	r->flaw->b = b;
	memcpy(r->flaw->at, at, sizeof r->flaw->at);
	/* A thread's copy does not report: the main thread finds the same defect later. */
	if (r->is_copy)
		return RB_BAD_PLC;
	return rb_fail(r->ctx, RB_BAD_PLC, a, b, NULL);
}

/*
 * Returns true if the work must stop. Polls only for some i, so that short loops can call it every
 * time.
 */
static inline bool
rb_recover_stops(const rb_recovery *r, uint32_t i)
{
	return (i & 0x3fff) == 0x3fff && rb_should_stop(r->ctx);
}

/*
 * Orders the indices 0 to n - 1 roughly by key, keeping the order of equal keys. The keys are below
 * `keys`, and only their high bits are compared, so nearby keys end up near each other. The caller
 * frees the result.
 */
extern rb_status rb_recover_sort_coarsely(rb_context *ctx, const uint32_t *key, uint32_t n,
										  uint32_t keys, uint32_t **order);

/* Adds a Steiner point on segment or facet `parent`; it is in no tetrahedron yet. */
extern rb_status rb_recover_add_point(rb_recovery *r, const double *at, rb_vertex_kind kind,
									  uint32_t parent, uint32_t *v);

/* Fills piece_of with all subsegments; valid until one is split. */
extern rb_status rb_recover_list_subsegments(rb_recovery *r);

/* ---- recover_segments.c: makes every subsegment an edge of the mesh ---- */
extern rb_status rb_recover_segments(rb_recovery *r);

/*
 * Checks that segments on no facet boundary still exist after the recovery of facets. If one is
 * missing, splits its subsegment and sets *again to request another round.
 */
extern rb_status rb_recover_check_segments(rb_recovery *r, bool *again);

/*
 * ---- recover_facets.c: makes every facet a union of faces ----
 *
 * If that fails, Steiner points are added and *again is set: the whole recovery must be repeated
 * with them.
 */
extern rb_status rb_recover_facets(rb_recovery *r, bool *again);

/* Frees the list of facets that were complete from the start. */
extern void rb_recover_free_complete(rb_recovery *r);

/*
 * Places a point above a facet, at a distance that is the size of the facet. *above is its index,
 * valid until a point is added to the mesh or placed above another facet.
 */
extern rb_status rb_recover_place_point_above(rb_recovery *r, uint32_t facet, uint32_t *above);

/* Adds a point at the midpoint of a soft edge of a facet; the next round inserts it. */
extern rb_status rb_recover_split_soft_edge(rb_recovery *r, uint32_t a, uint32_t b, uint32_t facet);

/*
 * ---- flip_repair.c: flips faces that are not Delaunay ----
 *
 * If some cannot be flipped, Steiner points are added and *again is set.
 */
extern rb_status rb_recover_repair(rb_recovery *r, bool *again);

/* ---- result.c: extracts the result from the mesh ---- */
extern rb_status rb_recover_result(rb_recovery *r, rb_keep keep, rb_tets *tets);

/* ---- the triangulation of one facet, including its Steiner points ---- */

/* Value of rb_sheet_face.region for a face that the mesh lacks */
#define RB_SHEET_MISSING UINT32_MAX

typedef struct rb_sheet_face
{
	uint32_t v[3]; /* corners, counterclockwise from above */
	/* neighbor across the edge opposite corner i as face << 2 | its corner, or RB_NONE */
	uint32_t n[3];
	/* 0 if the mesh has the face, RB_SHEET_MISSING if not; later the index of its missing region */
	uint32_t region;
	rb_tet_face there; /* the corresponding face of the mesh, if it exists */
} rb_sheet_face;

typedef struct rb_sheet
{
	uint32_t facet;
	uint32_t n;
	uint32_t above; /* index of a point above the facet; valid until a point is added to the mesh */
	size_t cap;
	rb_sheet_face *faces;
	rb_table edges;
	uint32_t *queue; /* edges to be checked */
	size_t queue_cap;
} rb_sheet;

/* ---- cavity.c: recovers a part of a facet ---- */

/* Scratch memory for the recovery of one region after another */
typedef struct rb_cavity_work rb_cavity_work;
/* Allocates the scratch memory. */
extern rb_status rb_cavity_open(rb_recovery *r, rb_cavity_work **work);
/* Frees the scratch memory; accepts a pointer to NULL. */
extern void rb_cavity_close(rb_recovery *r, rb_cavity_work **work);
/*
 * Recovers the sheet's faces of one region as faces of the mesh. Returns RB_OK with *done false if
 * that is impossible; the mesh is then unchanged.
 */
extern rb_status rb_cavity_recover(rb_recovery *r, rb_cavity_work *work, const rb_sheet *sheet,
								   uint32_t region, bool *done);

/* ---- cavity_fill.c: fills one side of a cavity, a polyhedron without tetrahedra ---- */

/*
 * A face of the polyhedron with its inside on the positive side, or a face of a new tetrahedron
 * without a neighbor so far
 */
typedef struct rb_base
{
	uint32_t v[3];
	rb_tet_face outside; /* the mesh tetrahedron behind it, or RB_NONE */
	/* if outside is RB_NONE: the face of the sheet, or RB_NONE for a face of a new tetrahedron */
	uint32_t sheet;
	uint32_t inside;  /* the new tetrahedron in front of it << 2 | its corner, or RB_NONE */
	uint32_t behind;  /* the new tetrahedron behind it, if it exists */
	bool constrained; /* true if it is on a facet: nothing beyond it may be changed */
} rb_base;

typedef struct rb_cavity_half
{
	rb_base *bases;
	uint32_t nbases;
	uint32_t given; /* number of leading bases that are faces of the polyhedron */
	size_t bases_cap;
	uint32_t *points; /* vertices of the polyhedron */
	uint32_t npoints;
	size_t points_cap;
	uint32_t (*tets)[4]; /* tetrahedra that fill it */
	uint32_t ntets;
	size_t tets_cap;
	rb_table open;    /* maps a face's corners to its base */
	uint64_t tests;   /* number of tests of an edge against a face */
	uint32_t *behind; /* polyhedron faces behind which tetrahedra must be removed, too */
	uint32_t nbehind;
	size_t behind_cap;
} rb_cavity_half;

typedef enum rb_filled
{
	RB_FILLED,
	/*
	 * some polyhedron faces (behind) are not Delaunay; tetrahedra behind them must be removed, too
	 */
	RB_FILLED_BEHIND,
	RB_FILLED_NOT /* cannot be filled, or no filling was found */
} rb_filled;

/* Frees the polyhedron and its tetrahedra. */
static inline void
rb_half_free(rb_memory *memory, rb_cavity_half *half)
{
	RB_FREE(memory, half->bases);
	RB_FREE(memory, half->points);
	RB_FREE(memory, half->tets);
	RB_FREE(memory, half->behind);
	rb_table_free(memory, &half->open);
}

/* Adds a face abc of the polyhedron, behind which is the face `outside` of the mesh. */
static inline rb_status
rb_half_base(rb_recovery *r, rb_cavity_half *half, uint32_t a, uint32_t b, uint32_t c,
			 rb_tet_face outside, uint32_t sheet, bool constrained)
{
	RB_TRY(RB_GROW(r->ctx, half->bases, half->bases_cap, (size_t) half->nbases + 1));
	half->bases[half->nbases++] =
		(rb_base){{a, b, c}, outside, sheet, RB_NONE, RB_NONE, constrained};
	return RB_OK;
}

/* Records a face of the polyhedron behind which tetrahedra must be removed. */
static inline rb_status
rb_half_behind(rb_recovery *r, rb_cavity_half *half, uint32_t base)
{
	RB_TRY(RB_GROW(r->ctx, half->behind, half->behind_cap, (size_t) half->nbehind + 1));
	half->behind[half->nbehind++] = base;
	return RB_OK;
}

/* Fills the polyhedron with tetrahedra. */
extern rb_status rb_half_fill(rb_recovery *r, rb_cavity_half *half, rb_filled *filled);

#endif /* RB_MESH_RECOVER_H */
