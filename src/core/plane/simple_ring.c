/*
 * simple_ring.c
 *	  Finds rows whose rings are simple, share no points, and lie in the right places, without a sweep.
 *
 * Walks over the trees of the rings (edge_walk.c) find edges whose boxes meet. On most rings of maps,
 * these are little more than edges that follow each other, so this takes a fraction of the time of a
 * sweep.
 *
 * If no rings share points, each ring is on one side of any other one, and the rings that contain a
 * vertex of it show whether it is in the right place: a hole must be in its shell and in no other hole
 * of that, and no ring may be in the interior of another polygon. Once this holds for the holes of a
 * polygon, the number of its shell and holes that contain a vertex of another polygon, with holes
 * counted as -1, is 1 if the vertex is in its interior, and 0 if not.
 *
 * A row whose edges have many boxes that overlap is left to the sweep (polygon_sweep.c), so the numbers
 * of pairs of boxes and of rays are linear in the number of edges. A ray costs as much as it meets
 * edges. A row whose rings share points is left to the sweep, too, which describes the fault.
 */
#include "core/plane/plane.h"

#define VISITS_PER_EDGE \
	8 /* Maximum number of pairs of boxes that walks visit, per edge of the row */
#define RINGS_PER_EDGE \
	4 /* Maximum number of pairs of rings whose boxes meet, per edge of the row */

/* The test of a row */
typedef struct simple_rings
{
	rb_run_walk walk;
	rb_exact_env *env;
	const rb_rings *r;
	const rb_ring *ring; /* The ring whose edges are compared, or NULL if those of two rings are */
	uint64_t left;       /* Number of pairs of rings that are left */
} simple_rings;

/* Returns the directions of an edge: 1 and 2 for larger and smaller x, 4 and 8 for y. */
static inline unsigned
directions_of_edge(const double *e)
{
	return (unsigned) (e[2] > e[0]) | (unsigned) (e[2] < e[0]) << 1 |
		   (unsigned) (e[3] > e[1]) << 2 | (unsigned) (e[3] < e[1]) << 3;
}

/* Returns true if an edge and the next one of a ring share only their common end. */
static bool
is_turn_simple(rb_exact_env *env, const double *e, const double *next)
{
	const unsigned directions = directions_of_edge(e) | directions_of_edge(next);

	return ((directions & 3) != 3 && (directions & 12) != 12) ||
		   rb_orient2d_points(env, e, e + 2, next + 2) != 0;
}

/* Ends the walk if a condition holds. */
static rb_status
end_walk_if(simple_rings *t, bool condition)
{
	t->walk.ended = condition;
	return condition ? RB_STOPPED : RB_OK;
}

/* Ends the walk if two edges share more than a common end. */
static rb_status
test_pair_of_edges(void *user, uint32_t i, uint32_t k)
{
	simple_rings *t = user;
	const double *e = rb_edge(t->r, i), *h = rb_edge(t->r, k);
	bool simple;

	if (t->ring != NULL && k == i + 1)
		simple = is_turn_simple(t->env, e, h);
	else if (t->ring != NULL && i == t->ring->start && k == t->ring->end - 1)
		simple = is_turn_simple(t->env, h, e);
	else
		simple = rb_segments_meet2(t->env, e, e + 2, h, h + 2) == 0;
	return end_walk_if(t, !simple);
}

/* Walks over a ring, or over two rings if the other one follows it. */
static rb_status
walk_rings(simple_rings *t, const rb_ring *g, const rb_ring *h)
{
	const rb_edge_run run = rb_run_of_ring(g), other = rb_run_of_ring(h);

	RB_TRY(end_walk_if(t, h->tangle != UINT32_MAX));
	t->ring = h == g ? g : NULL;
	if (h == g)
		return rb_walk_run(&t->walk, &run);
	return h > g ? rb_walk_pair_of_runs(&t->walk, &run, &other) : RB_OK;
}

/* Compares a ring with those near it. Ends the walk if the ring may be invalid. */
static rb_status
test_ring(simple_rings *t, uint32_t row, uint32_t ring, rb_ring_list *near)
{
	const rb_ring *g = &t->r->ring[ring];
	const double box[6] = {g->box[0], g->box[1], 0, g->box[2], g->box[3], 0};
	int own = 0, others = 0; /* Rings of each around its first vertex; holes are -1 */

	RB_TRY(rb_rings_find(t->walk.ctx, t->r, row, box, near));
	RB_TRY(end_walk_if(t, near->n > t->left));
	t->left -= near->n;
	for (size_t i = 0; i < near->n; i++)
	{
		const rb_ring *h = &t->r->ring[near->at[i]];

		RB_TRY(walk_rings(t, g, h));
		if (h != g && rb_is_point_in_ring(t->env, t->r, h, rb_edge(t->r, g->start)))
			*(h->shell == g->shell ? &own : &others) += h->shell == near->at[i] ? 1 : -1;
	}
	return end_walk_if(t, own != (g->shell == ring ? 0 : 1) || others != 0);
}

rb_status
rb_find_simple_rings(rb_context *ctx, rb_exact_env *env, const rb_rings *r, uint32_t row,
					 rb_ring_list *near, bool *valid)
{
	const uint64_t edges = r->row_start[row + 1] - r->row_start[row];
	simple_rings t = {.walk = {.ctx = ctx,
							   .side = {r, r},
							   .take = test_pair_of_edges,
							   .most = VISITS_PER_EDGE * edges},
					  .env = env,
					  .r = r,
					  .left = RINGS_PER_EDGE * edges};

	t.walk.user = &t;
	*valid = false;
	for (uint32_t k = r->row_ring[row]; k < r->row_ring[row + 1]; k++)
	{
		const rb_status status = test_ring(&t, row, k, near);

		if (status != RB_OK)
			return t.walk.ended ? RB_OK : status;
	}
	*valid = true;
	return RB_OK;
}
