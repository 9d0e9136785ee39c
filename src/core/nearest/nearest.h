/*
 * nearest.h
 *	  Finds the k nearest rows: declares the steps between a red row and the candidates for its
 *	  nearest rows.
 *
 *		a tree of blue's boxes                                        box_tree.c
 *			-> from near to far, for each red row: pairs of parts     nearest.c
 *			-> their distances: bounds in doubles, then exact order   candidate.c
 *			-> the k best rows so far, whose worst one is the bound   nearest.c
 *
 * All of this runs on the CPU, whatever the backend: the traversal of a tree depends on what was
 * found before, whereas a device needs the same work for thousands of threads at once.
 */
#ifndef RB_NEAREST_NEAREST_H
#define RB_NEAREST_NEAREST_H

#include "core/base/base.h"
#include "core/nearest/box_tree.h"
#include "core/primitive/dispatch.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* ---- distances of parts and their order (candidate.c) ---- */

/* State shared by all candidates of one thread */
typedef struct rb_distance_state
{
	rb_context *ctx;
	const rb_set *red;
	const rb_set *blue;
	const uint32_t *rank; /* rank of blue's rows by id; NULL if ranks are row numbers */
	double scale;         /* a power of two, as in box_tree.h */
	rb_exact_env env;
	rb_feet last;      /* a recent near candidate, of which only g and square are used */
	uint32_t plane_of; /* red part whose plane is cached, or UINT32_MAX; planar if it has one */
	bool planar;
	double minor[3];
	double size[3];
	uint32_t labels;     /* last label assigned for this red row */
	uint32_t square_red; /* parts whose exact distance is cached, or UINT32_MAX if none */
	uint32_t square_blue;
	rb_square square; /* exact distance of these parts, cached because it is compared with many */
} rb_distance_state;

/*
 * A blue row, represented by the parts of both rows that are nearest so far. Bounds of the distance
 * exist in two forms: lo and hi from doubles, in scaled coordinates; and least and most, which
 * enclose the nearest double in unscaled coordinates and are computed on demand.
 */
typedef struct rb_candidate
{
	uint32_t red;
	uint32_t blue;
	uint32_t rank;
	uint32_t label; /* candidates with the same label are at the same distance; 0 if unlabeled */
	bool meets;     /* true if the parts meet; all bounds are 0 then */
	bool asked;     /* true if least, most, proved and guess are valid */
	bool proved;
	uint8_t guess[4]; /* probable nearest features: dim and at of red's, then of blue's */
	double lo;
	double hi;
	double least;
	double most;
} rb_candidate;

/* Returns true and initializes a candidate if the parts meet. */
extern bool rb_candidate_meets(rb_distance_state *a, uint32_t red, uint32_t blue, rb_candidate *c);

/*
 * Computes bounds lo and hi for two disjoint parts. Returns false if they are farther apart than
 * `most` (scaled).
 */
extern bool rb_candidate_apart(rb_distance_state *a, uint32_t red, uint32_t blue, double most,
							   rb_candidate *c);

/* Returns the sign of the distance of c minus that of d. */
extern int rb_candidate_compare(rb_distance_state *a, rb_candidate *c, rb_candidate *d);

/* Compares candidates in output order: by distance, then by rank. */
extern int rb_candidate_order(rb_distance_state *a, rb_candidate *c, rb_candidate *d);

/*
 * Returns true if every point of one box is at least as far from the other box as the parts of c
 * are from each other. Exact; the boxes are in scaled coordinates.
 */
extern bool rb_candidate_separates(rb_distance_state *a, const rb_candidate *c,
								   const double lo[2][3], const double hi[2][3]);

/* Returns true if a candidate is within the distance of the job. */
extern bool rb_candidate_within(rb_distance_state *a, const rb_candidate *c, double distance);

/* Returns the double nearest to the distance. */
extern double rb_candidate_distance(rb_distance_state *a, rb_candidate *c);

#ifdef __cplusplus
}
#endif

#endif /* RB_NEAREST_NEAREST_H */
