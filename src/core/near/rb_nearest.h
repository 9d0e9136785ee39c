/*
 * rb_nearest.h
 *	  The k nearest rows: what lies between a red row and those that could be its nearest.
 *
 *		a tree of blue's boxes										tree.c
 *			-> from near to far, for each red row: pairs of parts		nearest.c
 *			-> their distances: bounds in doubles, then exact order		candidate.c
 *			-> the k best rows so far, whose worst one is the bound		best.c
 *
 * All this is done by the processor, whatever backend was chosen: the way through a tree
 * depends on what was found before, where a device wants the same work for thousands at once.
 */
#ifndef RB_NEAREST_H
#define RB_NEAREST_H

#include "core/base/rb_base.h"
#include "core/near/rb_tree.h"
#include "core/shape/rb_pair.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* ---- two parts, and the order of such pairs (candidate.c) ---- */

/* where and of what: for all candidates of one thread */
typedef struct rb_asker
{
	rb_context *ctx;
	const rb_set *red;
	const rb_set *blue;
	const uint32_t *rank; /* blue's rows in order of their ids; NULL: it is that of their numbers */
	double scale;         /* a power of two, as in rb_tree.h */
	rb_exact_env env;
	rb_feet last;      /* of a candidate that was near; only its g, and the square of that, count */
	uint32_t plane_of; /* a red part, UINT32_MAX at first, and its plane, if it has one */
	bool planar;
	double minor[3];
	double size[3];
	uint32_t labels;     /* the last one of this red row */
	uint32_t square_red; /* the exact distance of these parts is known, ... */
	uint32_t square_blue;
	rb_square square; /* ... for it is compared with many; UINT32_MAX: of none */
} rb_asker;

/*
 * A blue row, by those parts of both rows that are nearest so far.  Bounds of the distance come in two
 * forms: lo and hi from doubles, multiplied by the scale; the nearest double between least and most, of
 * coordinates as they are, when somebody needed that.
 */
typedef struct rb_candidate
{
	uint32_t red;
	uint32_t blue;
	uint32_t rank;
	uint32_t label; /* candidates with the same one are at one distance; 0: none is known */
	bool meets;     /* then all bounds are 0 */
	bool asked;     /* least, most, proved, and guess are there */
	bool proved;
	uint8_t guess[4]; /* dim and at of red's feature and of blue's */
	double lo;
	double hi;
	double least;
	double most;
} rb_candidate;

/* do they meet?  Then they are a candidate */
extern bool rb_candidate_meets(rb_asker *a, uint32_t red, uint32_t blue, rb_candidate *c);

/* of two that do not meet, bounds lo and hi; false: they are more than `most` (multiplied) apart */
extern bool rb_candidate_apart(rb_asker *a, uint32_t red, uint32_t blue, double most,
							   rb_candidate *c);

/* sign of the distance of c minus that of d */
extern int rb_candidate_compare(rb_asker *a, rb_candidate *c, rb_candidate *d);

/* which is to be told first: the nearer one; of two the one whose rank is less */
extern int rb_candidate_order(rb_asker *a, rb_candidate *c, rb_candidate *d);

/*
 * Returns true if no point of one box is nearer to the other one than the parts of c are to each
 * other.  Exactly, and the boxes are multiplied by the asker's scale.
 */
extern bool rb_candidate_parts(rb_asker *a, const rb_candidate *c, const double lo[2][3],
							   const double hi[2][3]);

/* is it within the distance of the job? */
extern bool rb_candidate_within(rb_asker *a, const rb_candidate *c, double distance);

/* the double nearest to the distance */
extern double rb_candidate_distance(rb_asker *a, rb_candidate *c);

/* ---- the best k rows (best.c) ---- */

/* a heap: none comes after the one above it, so the worst is on top */
typedef struct rb_best
{
	rb_asker *asker;
	rb_candidate *heap;
	uint32_t n;
	uint32_t cap;
	uint32_t k;
	uint32_t *place; /* of each blue row, from 1 on; 0: it is not there */
} rb_best;

extern rb_status rb_best_init(rb_best *b, rb_asker *asker, uint32_t k);
extern void rb_best_free(rb_best *b);

static inline bool
rb_best_full(const rb_best *b)
{
	return b->n == b->k;
}

/* the one of that blue row, or NULL */
static inline const rb_candidate *
rb_best_of(const rb_best *b, uint32_t row)
{
	return b->place[row] == 0 ? NULL : &b->heap[b->place[row] - 1];
}

/*
 * One more, if it is better than the worst, or than what is there of its row; of these, the distance
 * of the job asks again.  Not after a stop.
 */
extern rb_status rb_best_offer(rb_best *b, rb_candidate *c, double distance);

/* the heap in order, the best first; it has to be cleared then */
extern void rb_best_sort(rb_best *b);
extern void rb_best_clear(rb_best *b);

/* ---- rows in order of their ids (ranks.c) ---- */

/* NULL where ids ascend; rows of one id by their numbers */
extern rb_status rb_ranks(rb_context *ctx, const rb_set *set, uint32_t **rank);

#ifdef __cplusplus
}
#endif

#endif /* RB_NEAREST_H */
