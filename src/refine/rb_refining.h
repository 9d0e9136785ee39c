/*
 * rb_refining.h
 *	  What the files of refinement share: a mesh under refinement, on the host.
 *
 *		start.c		a tetrahedralization becomes cells and sites
 *		bends.c		facets that bend become several
 *		hull.c		facets for the hull, where points are in one plane up to rounding
 *		peel.c		tetrahedra that lie there without a height are left out
 *		rounds.c	rounds, on threads
 *		together.c	points that could not be inserted alone, a few at once
 *		rebuild.c	all is made anew, with points that could not be inserted alone
 *		result.c	cells and sites become a tetrahedralization
 */
#ifndef RB_REFINING_H
#define RB_REFINING_H

#include "core/base/rb_base.h"
#include "core/base/rb_parallel.h"
#include "refine/rb_refine.h"
#include "refine/rb_round.h"

typedef struct rb_refining
{
	rb_context *ctx;
	const rb_refine_options *options;
	rb_refine_report *report;
	rb_cells mesh;
	uint32_t ncells; /* places, the dead ones included */
	size_t cells_cap;
	uint32_t nsites;
	size_t sites_cap, kind_cap, parent_cap;
	uint32_t *free; /* dead places */
	uint32_t nfree;
	size_t free_cap;
	/* the input, and what stands for the hull where no facet is: facets and segments behind the others */
	uint32_t nfacets, nsegments; /* of the input; facets that bend are several, ... */
	uint32_t given_facets;       /* ... whose numbers are from this one on, ... */
	uint32_t *facet_of;          /* ... and this is the facet of each of those */
	uint32_t all_facets;
	double
		hull_rounds; /* points so near a plane are meant to be on it; 0: only those that are (hull.c) */
	size_t segments_cap;
	uint32_t (*segments)[2];
	uint32_t *segment_order;
	uint32_t *facet_start;
	uint32_t *facet_corners;
	int64_t *regions; /* the number of each */
	double *region_volume;
	uint32_t nregions;
	rb_sizes sizes;
	uint32_t *sizes_start;
	double *sizes_points;
	/* pieces that could not be split alone (rebuild.c) */
	rb_entry64 *stuck;
	uint32_t nstuck;
	uint32_t (*hopeless)[2]; /* those that were tried together with others, in vain (together.c) */
	uint32_t nhopeless;
	size_t hopeless_cap;
	uint32_t most_rounds; /* tests: no more at a time; 0: all */
	bool timed;           /* tests: a device waits after each step, so that each has its own time */
	bool protect;         /* pieces first, as long as that is of use */
	bool done;            /* nothing is left but what is stuck */
	bool full;            /* max_points */
	size_t stuck_cap;
} rb_refining;

/*
 * threads.c: a team for work on so many cells; NULL: they are too few for one.  And a loop on it (rb_loop), on this
 * thread alone where there is none: then there is no `me` either.  RB_STOPPED, or what has failed on a thread.
 */
extern rb_status rb_refining_team(rb_refining *r, uint64_t cells, rb_thread **team);
extern rb_status rb_refining_each(rb_refining *r, rb_thread *team, uint64_t n, uint64_t grain,
								  rb_work work, void *arg);

/*
 * The same, for work that fills new memory: each thread takes much at a time, though the work is still called for no more
 * than a grain.  Where several begin on one huge page each of them clears all of it, and all but one in vain.
 */
extern rb_status rb_refining_fill(rb_refining *r, rb_thread *team, uint64_t n, uint64_t grain,
								  rb_work work, void *arg);

/* how many threads there are, and which of them this one is */
static inline uint32_t
rb_refining_threads(const rb_thread *team)
{
	return team != NULL ? (uint32_t) rb_team_threads(team) : 1;
}

static inline uint32_t
rb_refining_thread(const rb_thread *me)
{
	return me != NULL ? (uint32_t) rb_thread_number(me) : 0;
}

/* start.c */
extern rb_status rb_refining_start(rb_refining *r, const rb_tets *tets);
/*
 * The same, in place of what there is: tets have its points, then others, of which the first, on segments, have these
 * radii at least; and facets and segments by the numbers they have there.  Those that were added for the sake of walls
 * are points like all that are put in: as corners of the input they would have all around them made as fine as they are
 * near to something.
 */
extern rb_status rb_refining_again(rb_refining *r, const rb_tets *tets, const double *raise,
								   uint32_t nraise);
/*
 * n sites, from this one on, get their radii, as if they had come one after the other.  Before, each has in its place
 * what it is at least.  All that is around them are cells from `cell` on.
 */
extern rb_status rb_refining_radii(rb_refining *r, uint32_t cell, uint32_t site, uint32_t n);
extern void rb_refining_free(rb_refining *r);

/*
 * bends.c: facets that bend along segments become several: then tets has other arrays of what faces and points are on, which
 * are to be freed before the others
 */
extern rb_status rb_refining_bends(rb_refining *r, rb_tets *tets);
extern void rb_refining_bends_free(rb_refining *r, const rb_tets *tets, rb_tets *rest);

/* what the input calls a facet */
static inline uint32_t
rb_refining_facet(const rb_refining *r, uint32_t facet)
{
	return facet < r->given_facets ? facet : r->facet_of[facet - r->given_facets];
}

/* hull.c: hull_rounds is made */
extern rb_status rb_hull_rounds(rb_refining *r, const rb_tets *tets);
/* may two triangles be in one plane up to rounding? These are their corners, those of the edge between them once */
extern bool rb_hull_near(const rb_refining *r, const double *a, const double *b, const double *c,
						 const double *d);
/* faces of the boundary that are on no facet get facets, from ghost `first` on: one for those in one plane, up to rounding */
extern rb_status rb_hull_group(rb_refining *r, uint32_t first);

/* peel.c: *rest is tets without tetrahedra that lie flat on the hull, up to rounding; what is the same is shared */
extern rb_status rb_hull_peel(rb_refining *r, const rb_tets *tets, rb_tets *rest);
extern void rb_hull_peel_free(rb_refining *r, const rb_tets *tets, rb_tets *rest);

/* rounds.c: until nothing is left to do, or only what is stuck */
extern rb_status rb_refining_rounds(rb_refining *r);

/* together.c: what is stuck is inserted, where that is the matter of few cells; what is left is still stuck.  *any: some was */
extern rb_status rb_refining_together(rb_refining *r, bool *any);
/* the point on what is stuck, and its ends; false: there is none, or none is wanted any more */
extern bool rb_refining_stuck_point(rb_refining *r, rb_entry64 entry, rb_candidate *cand,
									uint32_t *u, uint32_t *v);

/* rebuild.c; *done: false: nothing has changed */
extern rb_status rb_refining_rebuild(rb_refining *r, bool *done);

/*
 * result.c: what is new of *tets takes the place of what there is, which is freed.  The cells are good for nothing but
 * to be freed then.
 */
extern rb_status rb_refining_result(rb_refining *r, rb_tets *tets);

/* room for so many places and sites */
extern rb_status rb_refining_reserve(rb_refining *r, size_t cells, size_t sites);

#endif /* RB_REFINING_H */
