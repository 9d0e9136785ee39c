/*
 * refining.h
 *	  Declares what the files of refinement share: a mesh under refinement, on the host.
 *
 *	import.c         converts a tetrahedralization to cells and vertices
 *	bends.c          splits facets that bend into several
 *	convexity.c      tests whether the boundary stayed convex
 *	hull.c           removes slivers from the hull and builds facets for it
 *	rounds.c         runs the rounds on host threads
 *	group_insert.c   inserts blocked points jointly: small groups, or all, into a rebuilt mesh
 *	slivers.c        removes tetrahedra with small angles at the end
 *	scale.c          divides extreme coordinates by a power of two, and multiplies them again
 */
#ifndef RB_REFINE_REFINING_H
#define RB_REFINE_REFINING_H

#include "core/base/base.h"
#include "core/base/parallel.h"
#include "refine/refine.h"
#include "refine/round.h"

/* Where the boundary is convex up to rounding (convexity.c) */
typedef enum rb_convexity
{
	RB_CONVEX_NOWHERE,
	RB_CONVEX_OFF_FACETS, /* At edges with a face that is on no facet of the input */
	RB_CONVEX
} rb_convexity;

typedef struct rb_refining
{
	rb_context *ctx;
	const rb_refine_options *options;
	rb_refine_report *report;
	rb_cells mesh;
	uint32_t ncells; /* Number of cell slots, including free ones */
	size_t cells_cap;
	uint32_t nsites;
	size_t sites_cap, kind_cap, parent_cap;
	uint32_t *free; /* Free cell slots */
	uint32_t nfree;
	size_t free_cap;
	/*
	 * Facets and segments: those of the input, followed by those that represent the hull where no
	 * facet is
	 */
	uint32_t nfacets, nsegments; /* Counts of the input, after splitting facets that bend */
	uint32_t given_facets;       /* Number of facets before splitting; higher numbers are parts */
	uint32_t *facet_of;          /* Original facet of each part */
	uint32_t all_facets;
	double hull_rounds;  /* Distance within which points count as on a plane (hull.c) */
	double hull_height;  /* Depth of a reflex edge that rounding explains */
	rb_convexity convex; /* Where the initial mesh is convex */
	size_t segments_cap;
	uint32_t (*segments)[2];
	/* Facet of the input that each segment of the hull is inside of, or RB_NOWHERE */
	uint32_t *crease_facet;
	size_t crease_facet_cap;
	uint32_t *segment_order;
	uint32_t *facet_start;
	uint32_t *facet_corners;
	rb_facet_plane *planes; /* From the corners of each facet before refinement */
	uint32_t nplanes;
	size_t planes_cap;
	int64_t *regions; /* Region ids, indexed by rb_cell.region */
	double *region_volume;
	uint32_t nregions;
	rb_sizes sizes;
	uint32_t *sizes_start;
	double *sizes_points;
	/* Blocked subsegments, which could not be split alone (group_insert.c) */
	rb_entry64 *blocked;
	uint32_t nblocked;
	uint32_t (*abandoned)[2]; /* Subsegments that joint insertion abandoned (group_insert.c) */
	uint32_t nabandoned;
	size_t abandoned_cap;
	uint32_t most_rounds; /* Maximum rounds per call (tests), or 0 for no limit */
	bool timed;           /* True to wait for the device after each step to time it (tests) */
	bool protect;         /* True to split subsegments before anything else */
	bool done;            /* True if no work is left except blocked subsegments */
	bool full;            /* True if max_points was reached */
	size_t blocked_cap;
} rb_refining;

/* Minimum number of cells for which threads are started */
#define RB_TEAM_FROM RB_SIZE(1 << 15, 300)

/*
 * Opens a team of threads for work on `cells` cells, or sets *team to NULL if they are too few. The
 * work on an item depends neither on the thread nor on the time of its execution, so the result is
 * bitwise identical for any number of threads.
 */
static inline rb_status
rb_refining_team(rb_refining *r, uint64_t cells, rb_thread **team)
{
	*team = NULL;
	if (cells < RB_TEAM_FROM || r->options->threads < 2)
		return RB_OK;
	return rb_team_open(r->ctx, r->options->threads, team);
}

/*
 * Builds the ghost g behind face i of cell c, with the corners of the face and the segment
 * bits of its edges.
 */
static inline void
rb_ghost_make(rb_cell *g, const rb_cell *c, uint32_t cell, uint32_t i)
{
	uint32_t from[4];

	from[1] = rb_cell_face_corner(i, 0);
	from[2] = rb_cell_face_corner(i, 2);
	from[3] = rb_cell_face_corner(i, 1);
	g->v[0] = RB_GHOST;
	g->n[0] = cell << 2 | i;
	g->facet[0] = c->facet[i];
	g->bits = RB_CELL_WALL(0);
	g->claim = 0;
	g->region = 0;
	for (uint32_t k = 1; k < 4; k++)
	{
		g->v[k] = c->v[from[k]];
		g->n[k] = RB_NOWHERE;
		g->facet[k] = RB_NOWHERE;
	}
	for (uint32_t e = 3; e < 6; e++)
		if ((c->bits & RB_CELL_SEGMENT(rb_cell_edge(from[rb_cell_edge_from(e)],
													from[rb_cell_edge_to(e)]))) != 0)
			g->bits |= RB_CELL_SEGMENT(e);
}

/* Builds the cells and vertices from a tetrahedralization (import.c). */
extern rb_status rb_refining_import(rb_refining *r, const rb_tets *tets);
/*
 * Replaces the whole mesh by tets, in which the present vertices come first, then new ones. The
 * first nraise of the new ones are on segments and have the given minimum insertion radii. Facets
 * and segments keep the numbers of the present mesh. Steiner points that rb_tetrahedralize added to
 * recover facets become ordinary added vertices. If they counted as input vertices, everything
 * around them would be refined until it is as fine as their distance to nearby features.
 */
extern rb_status rb_refining_replace(rb_refining *r, const rb_tets *tets, const double *raise,
									 uint32_t nraise);
/*
 * Computes the insertion radii of n vertices from `site` on, as if they had been inserted one after
 * the other (import.c). Each radius must hold its minimum before the call. All cells around these
 * vertices must have numbers from `cell` on.
 */
extern rb_status rb_refining_radii(rb_refining *r, uint32_t cell, uint32_t site, uint32_t n);
/* Frees all arrays of a refinement. */
extern void rb_refining_free(rb_refining *r);

/*
 * Splits each facet that bends along segments into several facets (bends.c). tets may get new
 * face_facet and parent arrays, which the caller frees.
 */
extern rb_status rb_refining_bends(rb_refining *r, rb_tets *tets);

/* Returns the original facet of a facet that may be a part of one that bends. */
static inline uint32_t
rb_refining_facet(const rb_refining *r, uint32_t facet)
{
	return facet < r->given_facets ? facet : r->facet_of[facet - r->given_facets];
}

/* Sets r->convex from the imported mesh (convexity.c). */
extern rb_status rb_refining_find_convexity(rb_refining *r);
/*
 * Fails with RB_BAD_PLC if the boundary is reflex at an edge where r->convex says otherwise, and
 * describes the edge in the report (convexity.c).
 */
extern rb_status rb_refining_check_convexity(rb_refining *r);

/*
 * Fails with RB_BAD_PLC if a vertex that was added to `before`, or was a corner of one of its
 * tetrahedra, is a corner of none now, and describes the vertex in the report (refine.c).
 */
extern rb_status rb_refining_check_vertices(rb_refining *r, const rb_tets *before);

/* Sets hull_rounds and hull_height (hull.c). */
extern rb_status rb_hull_measure_rounding(rb_refining *r, const rb_tets *tets);
/*
 * Returns true if the four corners of two adjacent triangles may lie in one plane up to rounding
 * (hull.c).
 */
extern bool rb_hull_is_flat(const rb_refining *r, const double *a, const double *b, const double *c,
							const double *d);
/*
 * Groups the boundary faces that are on no facet into new facets, one for each plane up to rounding
 * (hull.c). The ghosts of the boundary are the cells from `first` on.
 */
extern rb_status rb_hull_group(rb_refining *r, uint32_t first);

/*
 * Sets *rest to tets without the tetrahedra that lie flat on the hull up to rounding (hull.c).
 * Arrays that do not change are shared with tets; the caller frees the others.
 */
extern rb_status rb_hull_remove_slivers(rb_refining *r, const rb_tets *tets, rb_tets *rest);

/* Runs rounds until nothing is left to do except blocked subsegments (rounds.c). */
extern rb_status rb_refining_rounds(rb_refining *r);

/*
 * Inserts blocked points jointly where that affects few cells (group_insert.c). The others stay in
 * r->blocked. Sets *any if a point was inserted.
 */
extern rb_status rb_refining_insert_jointly(rb_refining *r, bool *any);
/*
 * Rebuilds the whole mesh with the blocked points (group_insert.c). Sets *done to false if nothing
 * changed.
 */
extern rb_status rb_refining_rebuild(rb_refining *r, bool *done);
/*
 * Marks the cells at faces on no facet that are not Delaunay, and counts these faces
 * (delaunay_flips.c).
 */
extern rb_status rb_refining_mark_not_delaunay(rb_refining *r, uint64_t *faces);
/*
 * Flips faces that are not Delaunay (delaunay_flips.c). Sets *all to false if some of them remain.
 */
extern rb_status rb_refining_flip_to_delaunay(rb_refining *r, bool *all);
/*
 * Builds the whole mesh again from its vertices, subsegments and constrained faces, so that it is
 * constrained Delaunay (group_insert.c). Vertices may be added, but none on the surface if that must
 * be kept. Fails with RB_BAD_PLC, and notes this in the report, if there is no such mesh.
 */
extern rb_status rb_refining_restore_delaunay(rb_refining *r);

/*
 * Removes tetrahedra with a dihedral angle below options->min_dihedral, as far as possible, after
 * all rounds (slivers.c). The first nkept vertices do not move. The cells can be exported
 * afterwards, but not refined further.
 */
extern rb_status rb_refining_remove_slivers(rb_refining *r, uint32_t nkept,
											rb_slivers_report *report);

/* Options of refinement whose limits are divided by a power of two (scale.c) */
typedef struct rb_scaled_limits
{
	rb_refine_options options;
	rb_region_volume *region_volumes; /* Scaled copies, or NULL */
	rb_size *sizes;
} rb_scaled_limits;

/*
 * Returns the exponent of the power of two by which a mesh is divided so that its measures neither
 * overflow nor underflow; 0 if that is not necessary, or if the quotients would not be exact.
 */
extern int rb_refining_exponent(const rb_refine_options *options, const rb_tets *tets);
/*
 * Divides the points of a mesh by 2^exponent, and copies the options with their limits divided
 * accordingly. rb_refining_unscale must follow, also after a failure.
 */
extern rb_status rb_refining_scale(rb_context *ctx, const rb_refine_options *options, int exponent,
								   rb_scaled_limits *limits, rb_tets *tets);
/* Multiplies the points of a mesh by 2^exponent again, and frees the scaled limits. */
extern void rb_refining_unscale(rb_context *ctx, int exponent, rb_scaled_limits *limits,
								rb_tets *tets);
/* Returns true if all vertices of a mesh, multiplied by 2^exponent, are exact in doubles. */
extern bool rb_refining_is_scale_exact(const rb_refining *r, int exponent);

/* Allocates room for `cells` cells and `sites` vertices (import.c). */
extern rb_status rb_refining_reserve(rb_refining *r, size_t cells, size_t sites);

#endif /* RB_REFINE_REFINING_H */
