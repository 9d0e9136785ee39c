/*
 * rb_recover.h
 *	  What the recovery of segments and facets shares: which segments there are, what they were cut
 *	  into, and which faces the facets are made of by now.
 *
 *	  complex.c		a PLC's segments: those given, and the boundaries of facets
 *	  segments.c	segments that the Delaunay tetrahedralization lacks are cut until it has them
 *	  sheet.c		a facet's own triangulation
 *	  looks.c		what of segments and facets is there already, on threads
 *	  facets.c		faces that are missing, region by region
 *	  cavity.c		what lies in a region's way is taken out ...
 *	  fill.c		... and both sides of it are filled anew, by wrap.c or carve.c
 *	  mend.c		what is not Delaunay then is flipped
 *	  regions.c		which tetrahedra are inside, and in which region
 *
 * After H. Si, K. Gaertner: 3D boundary recovery by constrained Delaunay tetrahedralization, 2011,
 * and L. Diazzi, D. Panozzo, A. Vaxman, M. Attene: Constrained Delaunay Tetrahedrization: A Robust
 * and Practical Approach, 2023; but points that are added are doubles from the start, so a facet
 * is only nearly flat once its boundary was cut, and every promise is about these doubles.
 */
#ifndef RB_RECOVER_H
#define RB_RECOVER_H

#include "core/base/rb_base.h"
#include "mesh/rb_mesh.h"
#include "mesh/rb_table.h"
#include "mesh/rb_tetrahedralize.h"

/* a piece of a segment, between two points that are next to each other on it */
typedef struct rb_piece
{
	uint32_t u, v;    /* in the direction of the segment */
	uint32_t segment; /* piece number s is the first one of segment s */
	uint32_t next;    /* the piece behind, or RB_NONE */
} rb_piece;

/* a face that is on a facet */
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
	/* segments: those given, then boundaries of facets */
	uint32_t (*segments)[2];
	uint32_t *segment_facet;
	uint32_t nsegments;
	size_t segments_cap;
	rb_table boundary;    /* edge to segment */
	uint32_t (*edges)[3]; /* of each triangle whose facet has no other: its segments, 01 12 20 */
	/* triangles of facet f are those from facet_start[f] on, up to the next */
	uint32_t *facet_start;
	/* what segments were cut into */
	rb_piece *pieces;
	uint32_t npieces;
	size_t pieces_cap;
	rb_table piece_of;    /* edge to segment, as far as rb_recover_pieces has put them in */
	uint8_t *cuts;        /* how often each segment was cut, up to 255 */
	uint32_t points_then; /* when segments were recovered last; 0: all are to be looked at */
	bool *acute; /* of each point of the PLC: two of its segments enclose less than 90 degrees */
	/* points that were added, from plc->npoints on */
	uint8_t *kind;
	uint32_t *parent;
	size_t added_cap;
	rb_table halved;        /* soft edges that got a point in this round */
	uint32_t *facet_points; /* those that were added inside facets */
	uint32_t nfacet_points;
	size_t facet_points_cap;
	bool *pointed; /* of each facet: it had some when facets were begun with last */
	/* faces on facets, facet by facet */
	rb_subface *subfaces;
	uint32_t nsubfaces;
	size_t subfaces_cap;
	/* tetrahedra around a point (rb_recover_star) */
	uint32_t *star;
	size_t star_cap;
	bool looks;                 /* this is a copy of who only looks on, on some thread */
	bool carved;                /* some region was recovered: the mesh is not Delaunay any more */
	struct rb_facet_work *work; /* of facets.c */
	struct rb_facets_seen
		*seen; /* facets that were there from the start, of a large mesh; or NULL */
} rb_recovery;

static inline rb_status
rb_recover_flaw(rb_recovery *r, rb_flaw_kind kind, uint32_t a, uint32_t b, const double *at)
{
	r->flaw->kind = kind;
	r->flaw->a = a;
	r->flaw->b = b;
	memcpy(r->flaw->at, at, sizeof r->flaw->at);
	/* whoever does it will find it, too */
	if (r->looks)
		return RB_BAD_PLC;
	return rb_fail(r->ctx, RB_BAD_PLC, a, b, NULL);
}

/* asked in loops that do little: true every now and then, if the work is to stop */
static inline bool
rb_recover_stops(const rb_recovery *r, uint32_t i)
{
	return (i & 0x3fff) == 0x3fff && rb_should_stop(r->ctx);
}

/*
 * Numbers 0 to n - 1 in the order of their keys, equal ones as they are: only the high bits of keys
 * below `keys` are looked at, so what is near is near, no more.  To be freed.
 */
extern rb_status rb_recover_order(rb_context *ctx, const uint32_t *key, uint32_t n, uint32_t keys,
								  uint32_t **order);

/* a new point, marked as added to segment or facet `parent`; it is in no tetrahedron yet */
extern rb_status rb_recover_point(rb_recovery *r, const double *at, rb_vertex_kind kind,
								  uint32_t parent, uint32_t *v);

/* piece_of knows all pieces from here on, until one is cut */
extern rb_status rb_recover_pieces(rb_recovery *r);

/* all tetrahedra around v, ghosts too, into r->star */
extern rb_status rb_recover_star(rb_recovery *r, uint32_t v, uint32_t *n);

/* ---- complex.c ---- */
extern rb_status rb_recover_complex(rb_recovery *r);

/* ---- segments.c: after it every piece is an edge ---- */
extern rb_status rb_recover_segments(rb_recovery *r);

/*
 * Are segments that are on no facet's boundary still there, now that facets are?  *again: one was
 * not, and its piece is cut in the next round.
 */
extern rb_status rb_recover_look_again(rb_recovery *r, bool *again);

/*
 * ---- facets.c: after it every facet is a union of faces ----
 * *again: it could not be done, and points were added; all is to be done again with them.
 */
extern rb_status rb_recover_facets(rb_recovery *r, bool *again);

/* frees what of facets was seen from the start */
extern void rb_recover_forget(rb_recovery *r);

/* a point in the middle of a soft edge of a facet; it is put in with the next round */
extern rb_status rb_recover_halve(rb_recovery *r, uint32_t a, uint32_t b, uint32_t facet);

/*
 * ---- mend.c: faces that are not Delaunay are flipped away; *again: some could not be, and points
 * were added ----
 */
extern rb_status rb_recover_mend(rb_recovery *r, bool *again);

/* ---- regions.c: the result, out of the mesh ---- */
extern rb_status rb_recover_result(rb_recovery *r, rb_keep keep, rb_tets *tets);

#endif /* RB_RECOVER_H */
