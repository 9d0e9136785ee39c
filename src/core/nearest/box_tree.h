/*
 * box_tree.h
 *	  Declares a tree of boxes and its traversal in order of distance.
 *
 * The parts of a set are sorted so that nearby parts are adjacent. Then every four parts form a
 * box, every four boxes another one, up to a single node: a packed R-tree (N. Roussopoulos, D.
 * Leifker: Direct spatial search on pictorial databases using packed R-trees, 1985). The positions
 * of a node's children follow from its number, so there are no pointers:
 *
 *		level 3				 0
 *		level 2		 0		 1 ..
 *		level 1		0 1 2 3  4 5 ..
 *		level 0		the parts, four below each node
 *
 * The order is computed by recursive bisection: all boxes are divided at the median along the axis
 * on which their centers extend farthest, then each half likewise, so that dense regions are
 * divided as finely as others. If all centers coincide, any order works.
 *
 * All coordinates are multiplied by one power of two that maps them to [-1, 1], because squares
 * must neither overflow nor underflow. The scaling is exact except for results below 2^-1022.
 */
#ifndef RB_NEAREST_BOX_TREE_H
#define RB_NEAREST_BOX_TREE_H

#include "core/base/parallel.h"
#include "core/join/join.h"
#include "core/primitive/box.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define RB_TREE_FAN 4
#define RB_TREE_LEVELS 16 /* 4^15 > RB_MAX_OBJECTS */

/* Compiler vectors with the alignment of two SSE2 registers */
typedef double rb_four __attribute__((vector_size(32), aligned(16)));
typedef int64_t rb_four_bits __attribute__((vector_size(32), aligned(16)));

typedef struct rb_tree_node
{
	rb_four lo[3];               /* low ends of the boxes of the children, by axis */
	rb_four hi[3];               /* high ends of the boxes of the children, by axis */
	uint32_t least[RB_TREE_FAN]; /* smallest rank of a row below each child */
} rb_tree_node;

typedef struct rb_tree
{
	rb_context *ctx;
	const rb_set *set;
	const uint32_t *list; /* parts of the tree; NULL if they are consecutive */
	uint32_t begin;       /* first part, where they are consecutive */
	double scale;
	const uint32_t *rank; /* rank of each row; NULL if ranks are row numbers */
	int top;
	uint32_t count[RB_TREE_LEVELS]; /* number of entries of each level */
	uint32_t first[RB_TREE_LEVELS]; /* first node of each level, from level 1 on */
	uint32_t *part;                 /* level 0 */
	rb_tree_node *node;
	struct rb_tree_center *centre; /* scratch memory of the construction */
	uint32_t cap;                  /* capacity of the arrays, in parts */
} rb_tree;

/*
 * Builds a tree of n > 0 parts of a set, starting with `first`, and replaces the previous tree.
 * Uses all threads if there are many parts. May be called within a piece of work or outside of any.
 * Of identical parts, the tree may omit all but the parts of the `same` rows with the lowest ranks.
 */
extern rb_status rb_tree_build(rb_thread *me, rb_context *ctx, rb_tree *tree, const rb_set *set,
							   uint32_t first, uint32_t n, double scale, const uint32_t *rank,
							   uint32_t same);
/* Sorts distinct parts into the order that they would have in a tree, without building one. */
extern rb_status rb_tree_order(rb_thread *me, rb_context *ctx, const rb_set *set, double scale,
							   uint32_t *parts, uint32_t n);

/*
 * Computes the rank of each row by id, equal ids by row number. Sets *rank to NULL if ids ascend.
 */
extern rb_status rb_ranks(rb_context *ctx, const rb_set *set, uint32_t **rank);

/* Frees the arrays of a box tree. */
extern void rb_tree_free(rb_context *ctx, rb_tree *tree);

/* Computes the box of all leaves of the tree. */
extern void rb_tree_bounds(const rb_tree *tree, double lo[3], double hi[3]);

/*
 * Returns the scale for coordinates of which this is the largest: the power of two that moves it
 * into [1/2, 1), as far as the exponent range allows.
 */
static inline double
rb_tree_scale(double largest)
{
	int exponent;

	(void) frexp(largest, &exponent);
	return largest > 0 ? ldexp(1, exponent < -1000 ? 1000 : -exponent) : 1;
}

/* Computes the scaled box of a part. */
static inline void
rb_tree_box(const rb_set *set, uint32_t part, double scale, double lo[3], double hi[3])
{
	rb_kind_box(set->kind, set->coords, part, lo, hi);
	for (int a = 0; a < 3; a++)
	{
		lo[a] *= scale;
		hi[a] *= scale;
	}
}

/* ---- traversal from near to far ---- */

/*
 * Returns a bound on squared gaps: boxes with a larger gap are farther apart than the distance. The
 * bound covers six roundings of the square, and an error of 2^-1075 in each coordinate.
 */
static inline double
rb_tree_reach(double distance)
{
	return distance * distance * (1 + 0x1p-46) + 0x1p-990;
}

typedef struct rb_step
{
	double square; /* squared gap */
	uint32_t least;
	uint32_t index;
	int level;
} rb_step;

/*
 * A distance that many parts may share. Parts at that distance are needed only if their rank is
 * lower. Testing whether a box is no nearer needs exact arithmetic, so it is done only above a
 * certain gap.
 */
typedef struct rb_tie
{
	double from;    /* squared gap from which boxes are tested */
	uint32_t after; /* lowest rank that is not needed at the shared distance */
	/* returns true if no parts in the two boxes are nearer to each other than the shared distance */
	bool (*parts)(void *user, const double lo[2][3], const double hi[2][3]);
	void *user;
} rb_tie;

/*
 * State of a traversal. Pending nodes and parts are in `step`, nearest last: three for each level,
 * and one more
 */
typedef struct rb_walk
{
	const rb_tree *tree;
	const rb_tie *tie;   /* optional tie; may change during the traversal */
	const rb_tree *from; /* tree to start from; NULL to start from the box */
	double lo[3];
	double hi[3];
	uint64_t boxes; /* box comparisons in both trees */
	int n;
	rb_step step[3 * RB_TREE_LEVELS + 2];
} rb_walk;

/* Starts a traversal from a box, or from the tree `from`, whose box it is. */
static inline void
rb_walk_begin(rb_walk *w, const rb_tree *tree, const rb_tree *from, const double lo[3],
			  const double hi[3])
{
	w->tree = tree;
	w->tie = NULL;
	w->from = from;
	for (int a = 0; a < 3; a++)
	{
		w->lo[a] = lo[a];
		w->hi[a] = hi[a];
	}
	w->boxes = 0;
	w->n = 1;
	w->step[0] = (rb_step){0, 0, 0, tree->top};
}

/*
 * Returns the smallest squared gap between a box and the parts of a tree, or any value above
 * `reach` if the gap exceeds `reach`.
 */
extern double rb_tree_gap(const rb_tree *tree, const double lo[3], const double hi[3], double reach,
						  uint64_t *boxes);

/* Adds the children of a node that are within reach to the steps of a walk, nearest last. */
static inline void
rb_walk_open(rb_walk *w, rb_step s, double reach, uint32_t below)
{
	const rb_tree *tree = w->tree;
	const rb_tree_node *node = &tree->node[tree->first[s.level] + s.index];
	const uint32_t child = s.index * RB_TREE_FAN;
	const uint32_t n = tree->count[s.level - 1] - child;
	const int begin = w->n;
	rb_four square = {0, 0, 0, 0};

	for (int a = 0; a < 3; a++)
	{
		/* at most one of these is positive */
		const rb_four before = node->lo[a] - w->hi[a];
		const rb_four behind = w->lo[a] - node->hi[a];
		const rb_four gap = (rb_four) ((rb_four_bits) before & (before > 0)) +
							(rb_four) ((rb_four_bits) behind & (behind > 0));

		square += gap * gap;
	}
	w->boxes += RB_TREE_FAN;
	for (uint32_t c = 0; c < RB_TREE_FAN && c < n; c++)
	{
		rb_step step = {square[c], node->least[c], child + c, s.level - 1};
		int at;

		if (step.square > reach || step.least >= below)
			continue;
		if (w->from != NULL)
		{
			const double lo[3] = {node->lo[0][c], node->lo[1][c], node->lo[2][c]};
			const double hi[3] = {node->hi[0][c], node->hi[1][c], node->hi[2][c]};

			step.square = rb_tree_gap(w->from, lo, hi, reach, &w->boxes);
			if (step.square > reach)
				continue;
		}
		for (at = w->n++; at > begin; at--)
		{
			const rb_step *other = &w->step[at - 1];

			if (other->square > step.square ||
				(other->square == step.square && other->least >= step.least))
				break;
			w->step[at] = *other;
		}
		w->step[at] = step;
	}
}

/*
 * Returns true if all parts below a step are at least as far away as the tie and have no rank below
 * tie->after.
 */
static inline bool
rb_walk_is_tied(const rb_walk *w, const rb_step *s)
{
	const rb_tree *tree = w->tree;
	const rb_tree_node *node;
	double lo[2][3], hi[2][3];
	const uint32_t c = s->index % RB_TREE_FAN;

	if (w->tie == NULL || s->square < w->tie->from || s->least < w->tie->after ||
		s->level == tree->top)
		return false;
	node = &tree->node[tree->first[s->level + 1] + s->index / RB_TREE_FAN];
	for (int a = 0; a < 3; a++)
	{
		lo[0][a] = w->lo[a];
		hi[0][a] = w->hi[a];
		lo[1][a] = node->lo[a][c];
		hi[1][a] = node->hi[a][c];
	}
	return w->tie->parts(w->tie->user, lo, hi);
}

/*
 * Returns the next part whose squared gap is at most `reach` and whose row has a rank below
 * `below`. Returns false if there is none or the context was stopped.
 */
static inline bool
rb_walk_next(rb_walk *w, double reach, uint32_t below, uint32_t *part, double *square)
{
	while (w->n > 0 && !rb_should_stop(w->tree->ctx))
	{
		const rb_step s = w->step[--w->n];

		if (s.square > reach || s.least >= below || rb_walk_is_tied(w, &s))
			continue;
		if (s.level == 0)
		{
			*part = w->tree->part[s.index];
			*square = s.square;
			return true;
		}
		rb_walk_open(w, s, reach, below);
	}
	return false;
}

#ifdef __cplusplus
}
#endif

#endif /* RB_NEAREST_BOX_TREE_H */
