/*
 * simple_ring.c
 *	  Finds rings whose edges share no points except at common ends, without a sweep.
 *
 * A ring is divided into chains along which neither x nor y changes its direction. Along a chain, the sum of
 * the distances in x and in y grows with each edge, so the edges of one chain share only common ends. Edges
 * of two chains can share a point only where the boxes of both chains overlap. Most rings of maps have a few
 * chains, whose boxes overlap at common ends only, so this takes a fraction of the time of a sweep.
 *
 * A ring with many edges, chains or overlaps is left to the sweep (polygon_sweep.c), and so is a
 * ring whose edges share other points, since the sweep describes the fault. So the number of tests
 * is linear in the number of edges.
 */
#include "core/plane/plane.h"

#define MOST_EDGES RB_SIZE(16384, 64)
#define MOST_CHAINS RB_SIZE(128, 8)
#define MOST_NEAR RB_SIZE(64, 4) /* Limit on edges of a chain in the common box of two chains */
#define TESTS_PER_EDGE 32        /* Maximum number of tests of boxes, per edge of the ring */

/* Consecutive edges whose directions are in one quadrant, and their box */
typedef struct ring_chain
{
	uint32_t from, to; /* First edge, and the one after the last */
	double box[4];     /* Low and high corner */
} ring_chain;

/* Edges of a chain whose boxes meet a given box */
typedef struct near_edges
{
	uint32_t edge[MOST_NEAR];
	uint32_t n;
} near_edges;

/* The test of a ring */
typedef struct ring_test
{
	rb_exact_env *env;
	const rb_rings *r;
	const rb_ring *ring;
	uint64_t left; /* Number of tests of boxes that are left */
} ring_test;

/* Returns the directions of an edge: 1 and 2 for larger and smaller x, 4 and 8 for y. */
static inline unsigned
directions_of_edge(const double *e)
{
	return (unsigned) (e[2] > e[0]) | (unsigned) (e[2] < e[0]) << 1 |
		   (unsigned) (e[3] > e[1]) << 2 | (unsigned) (e[3] < e[1]) << 3;
}

/* Returns true if directions include two opposite ones. */
static inline bool
are_directions_opposite(unsigned directions)
{
	return (directions & 3) == 3 || (directions & 12) == 12;
}

/* Computes the box of two points. */
static inline void
find_box_of_points(const double *p, const double *q, double box[4])
{
	for (int a = 0; a < 2; a++)
	{
		box[a] = rb_min(p[a], q[a]);
		box[2 + a] = rb_max(p[a], q[a]);
	}
}

/* Returns true if two closed boxes share a point. */
static inline bool
do_boxes_meet(const double *a, const double *b)
{
	return (a[0] <= b[2]) & (a[2] >= b[0]) & (a[1] <= b[3]) & (a[3] >= b[1]);
}

/* Divides a ring into chains. Returns their number, or 0 if there are too many. */
static uint32_t
divide_ring_into_chains(const rb_rings *r, const rb_ring *ring, ring_chain *chain)
{
	uint32_t n = 0;

	for (uint32_t i = ring->start; i < ring->end;)
	{
		const uint32_t from = i;
		unsigned directions = 0;

		if (n == MOST_CHAINS)
			return 0;
		for (; i < ring->end; i++)
		{
			directions |= directions_of_edge(rb_edge(r, i));
			if (are_directions_opposite(directions))
				break;
		}
		chain[n] = (ring_chain){.from = from, .to = i};
		find_box_of_points(rb_edge(r, from), rb_edge(r, i - 1) + 2, chain[n++].box);
	}
	return n;
}

/* Uses up n tests. Returns false if fewer are left. */
static bool
use_tests(ring_test *t, uint64_t n)
{
	if (t->left < n)
		return false;
	t->left -= n;
	return true;
}

/* Lists the edges of a chain whose boxes meet a box. Returns false if there are too many. */
static bool
list_edges_near_box(ring_test *t, const ring_chain *c, const double *box, near_edges *list)
{
	list->n = 0;
	if (!use_tests(t, c->to - c->from))
		return false;
	for (uint32_t i = c->from; i < c->to; i++)
	{
		const double *e = rb_edge(t->r, i);
		double of_edge[4];

		find_box_of_points(e, e + 2, of_edge);
		if (!do_boxes_meet(of_edge, box))
			continue;
		if (list->n == MOST_NEAR)
			return false;
		list->edge[list->n++] = i;
	}
	return true;
}

/* Returns true if an edge and the next one of a ring share only their common end. */
static bool
is_turn_simple(rb_exact_env *env, const double *e, const double *next)
{
	return !are_directions_opposite(directions_of_edge(e) | directions_of_edge(next)) ||
		   rb_orient2d_points(env, e, e + 2, next + 2) != 0;
}

/* Returns true if two edges of a ring, of which i precedes k, share at most a common end. */
static bool
are_edges_simple(const ring_test *t, uint32_t i, uint32_t k)
{
	const double *e = rb_edge(t->r, i), *h = rb_edge(t->r, k);

	if (k == i + 1)
		return is_turn_simple(t->env, e, h);
	if (i == t->ring->start && k == t->ring->end - 1)
		return is_turn_simple(t->env, h, e);
	return rb_segments_meet2(t->env, e, e + 2, h, h + 2) == 0;
}

/* Returns true if edges of two chains are known to share at most common ends. */
static bool
are_chains_simple(ring_test *t, const ring_chain *a, const ring_chain *b)
{
	const double common[4] = {rb_max(a->box[0], b->box[0]), rb_max(a->box[1], b->box[1]),
							  rb_min(a->box[2], b->box[2]), rb_min(a->box[3], b->box[3])};
	near_edges of_a, of_b;

	if (!list_edges_near_box(t, a, common, &of_a) || !list_edges_near_box(t, b, common, &of_b) ||
		!use_tests(t, (uint64_t) of_a.n * of_b.n))
		return false;
	for (uint32_t i = 0; i < of_a.n; i++)
	{
		const double *e = rb_edge(t->r, of_a.edge[i]);
		double box[4];

		find_box_of_points(e, e + 2, box);
		for (uint32_t k = 0; k < of_b.n; k++)
		{
			const double *h = rb_edge(t->r, of_b.edge[k]);
			double other[4];

			find_box_of_points(h, h + 2, other);
			if (do_boxes_meet(box, other) && !are_edges_simple(t, of_a.edge[i], of_b.edge[k]))
				return false;
		}
	}
	return true;
}

bool
rb_is_ring_simple(rb_exact_env *env, const rb_rings *r, const rb_ring *ring)
{
	const uint32_t edges = ring->end - ring->start;
	ring_test t = {env, r, ring, TESTS_PER_EDGE * (uint64_t) edges};
	ring_chain chain[MOST_CHAINS];
	uint32_t n;

	if (edges > MOST_EDGES)
		return false;
	n = divide_ring_into_chains(r, ring, chain);
	if (n == 0 || !use_tests(&t, (uint64_t) n * (n - 1) / 2))
		return false;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = i + 1; k < n; k++)
			if (do_boxes_meet(chain[i].box, chain[k].box) &&
				!are_chains_simple(&t, &chain[i], &chain[k]))
				return false;
	return true;
}
