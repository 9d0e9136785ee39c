/*
 * edge_walk.c
 *	  Finds the edges of two rows that share a point, and edges of a ring that are near each other, by
 *	  walks over the trees of rings.
 *
 * Edges that follow each other on a ring are near each other, so the boxes of runs of edges are small. Two
 * trees (polygon_rings.c) are walked at the same time: from a pair of boxes that meet, the walk goes to
 * the pairs of their children that meet the common part of both boxes. Only the box that holds more edges
 * is divided, so a small ring on a large one reaches the edges around it in logarithmic time. Within a
 * pair of leaves, pairs of edges whose boxes meet are tested exactly.
 *
 * The boxes of the runs of a tangled ring, such as a spiral, overlap each other many times. Its edges are
 * found one by one, by a tree that orders them by location: each edge of the ring with fewer edges that is
 * near the other ring searches the edges of that ring.
 */
#include "core/plane/plane.h"
#include "core/primitive/contact.h"

#define CHECK_INTERVAL 256 /* Number of pairs of boxes between checks for cancellation */

/* Counts a pair of boxes that the walk visits. */
static rb_status
count_visit(rb_run_walk *w)
{
	if (w->visited++ < w->most)
		return rb_stop_due(w->ctx, w->visited, CHECK_INTERVAL) ? RB_STOPPED : RB_OK;
	w->ended = true;
	return RB_STOPPED;
}

/* ---- pairs of runs ---- */

/* An edge and its box */
typedef struct boxed_edge
{
	uint32_t edge;
	double box[4];
} boxed_edge;

/* Lists the edges of a leaf whose boxes meet a window, and returns their number. */
static int
list_edges_in_window(const rb_rings *r, const rb_edge_run *leaf, const double *window,
					 boxed_edge *list)
{
	const uint32_t end = rb_end_of_run(leaf);
	int n = 0;

	for (uint32_t i = leaf->from; i < end; i++)
	{
		list[n].edge = i;
		rb_box_of_edge(rb_edge(r, i), list[n].box);
		n += rb_do_plane_boxes_meet(list[n].box, window);
	}
	return n;
}

/* Appends the pairs of edges of two leaves that share a point. */
static rb_status
test_edges_of_leaves(rb_run_walk *w, const rb_edge_run *red, const rb_edge_run *blue,
					 const double *window)
{
	boxed_edge mine[RB_RUN_FAN], other[RB_RUN_FAN];
	const int nmine = list_edges_in_window(w->side[0], red, window, mine);
	const int nother = nmine > 0 ? list_edges_in_window(w->side[1], blue, window, other) : 0;

	for (int i = 0; i < nmine; i++)
		for (int k = 0; k < nother; k++)
			if (rb_do_plane_boxes_meet(mine[i].box, other[k].box))
				RB_TRY(w->take(w->user, mine[i].edge, other[k].edge));
	return RB_OK;
}

/*
 * Lists the children of a run whose boxes meet a window, or the run itself unless it is to be divided.
 * Returns their number.
 */
static int
list_runs_in_window(const rb_rings *r, const rb_edge_run *run, bool divide, const double *window,
					rb_edge_run *list)
{
	if (divide)
		return rb_run_children(r, run, window, list);
	list[0] = *run;
	return 1;
}

rb_status
rb_walk_pair_of_runs(rb_run_walk *w, const rb_edge_run *red, const rb_edge_run *blue)
{
	const double *a = red->box, *b = blue->box;
	const double window[4] = {rb_max(a[0], b[0]), rb_max(a[1], b[1]), rb_min(a[2], b[2]),
							  rb_min(a[3], b[3])};
	rb_edge_run mine[RB_RUN_FAN], other[RB_RUN_FAN];
	int nmine, nother;

	RB_TRY(count_visit(w));
	if (red->level == 0 && blue->level == 0)
		return test_edges_of_leaves(w, red, blue, window);
	nmine = list_runs_in_window(w->side[0], red, red->level >= blue->level, window, mine);
	nother = list_runs_in_window(w->side[1], blue, blue->level >= red->level, window, other);
	for (int i = 0; i < nmine; i++)
		for (int k = 0; k < nother; k++)
			if (rb_do_plane_boxes_meet(mine[i].box, other[k].box))
				RB_TRY(rb_walk_pair_of_runs(w, &mine[i], &other[k]));
	return RB_OK;
}

/* Walks over the pairs of different edges of a leaf. */
static rb_status
walk_edges_of_leaf(rb_run_walk *w, const rb_edge_run *leaf)
{
	boxed_edge edge[RB_RUN_FAN];
	const int n = list_edges_in_window(w->side[0], leaf, leaf->box, edge);

	for (int i = 0; i < n; i++)
		for (int k = i + 1; k < n; k++)
			if (rb_do_plane_boxes_meet(edge[i].box, edge[k].box))
				RB_TRY(w->take(w->user, edge[i].edge, edge[k].edge));
	return RB_OK;
}

rb_status
rb_walk_run(rb_run_walk *w, const rb_edge_run *run)
{
	rb_edge_run child[RB_RUN_FAN];
	int n;

	RB_TRY(count_visit(w));
	if (run->level == 0)
		return walk_edges_of_leaf(w, run);
	n = rb_run_children(w->side[0], run, run->box, child);
	for (int i = 0; i < n; i++)
	{
		RB_TRY(rb_walk_run(w, &child[i]));
		for (int k = i + 1; k < n; k++)
			if (rb_do_plane_boxes_meet(child[i].box, child[k].box))
				RB_TRY(rb_walk_pair_of_runs(w, &child[i], &child[k]));
	}
	return RB_OK;
}

/* ---- tangled rings ---- */

/* Two rings, and the edge of one that searches the edges of the other */
typedef struct ring_search
{
	rb_run_walk *w;
	const rb_ring *ring[2];
	int side; /* Side of the edge */
	uint32_t edge;
} ring_search;

/* Receives an edge of a ring, as its number in the ring. */
typedef rb_status (*take_edge)(void *user, uint32_t nth);

/* Finds the edges of a run whose boxes meet a box of four numbers. */
static rb_status
find_edges_of_run(rb_run_walk *w, const rb_rings *r, const rb_edge_run *run, const double *box,
				  take_edge take, void *user)
{
	rb_edge_run child[RB_RUN_FAN];
	boxed_edge edge[RB_RUN_FAN];
	int n;

	RB_TRY(count_visit(w));
	if (run->level == 0)
	{
		n = list_edges_in_window(r, run, box, edge);
		for (int i = 0; i < n; i++)
			RB_TRY(take(user, edge[i].edge - run->ring->start));
		return RB_OK;
	}
	n = rb_run_children(r, run, box, child);
	for (int i = 0; i < n; i++)
		RB_TRY(find_edges_of_run(w, r, &child[i], box, take, user));
	return RB_OK;
}

/* Finds the edges of a ring whose boxes meet a box of four numbers. */
static rb_status
find_edges_of_ring(rb_run_walk *w, const rb_rings *r, const rb_ring *ring, const double *box,
				   take_edge take, void *user)
{
	const double flat[6] = {box[0], box[1], 0, box[2], box[3], 0};
	const rb_edge_run run = rb_run_of_ring(ring);

	if (ring->tangle != UINT32_MAX)
		return rb_boxes_find(&r->tangle[ring->tangle], flat, take, user);
	return find_edges_of_run(w, r, &run, box, take, user);
}

/* Tests an edge that a search found. */
static rb_status
test_found_edge(void *user, uint32_t nth)
{
	const ring_search *s = user;
	const uint32_t found = s->ring[!s->side]->start + nth;

	RB_TRY(count_visit(s->w));
	return s->side == 0 ? s->w->take(s->w->user, s->edge, found)
						: s->w->take(s->w->user, found, s->edge);
}

/* Searches the edges of the other ring near an edge. */
static rb_status
search_near_edge(void *user, uint32_t nth)
{
	ring_search *s = user;
	double box[4];

	RB_TRY(count_visit(s->w));
	s->edge = s->ring[s->side]->start + nth;
	rb_box_of_edge(rb_edge(s->w->side[s->side], s->edge), box);
	return find_edges_of_ring(s->w, s->w->side[!s->side], s->ring[!s->side], box, test_found_edge,
							  s);
}

/* Finds the pairs of edges of two rings edge by edge. */
static rb_status
search_edges_of_rings(rb_run_walk *w, const rb_ring *red, const rb_ring *blue)
{
	ring_search s = {.w = w, .ring = {red, blue}};

	s.side = red->end - red->start <= blue->end - blue->start ? 0 : 1;
	return find_edges_of_ring(w, w->side[s.side], s.ring[s.side], s.ring[!s.side]->box,
							  search_near_edge, &s);
}

/* ---- rows ---- */

/* A walk over the trees of two rows, and the pairs of edges that it finds */
typedef struct row_walk
{
	rb_run_walk walk;
	rb_contact_room *room;
} row_walk;

/* Appends a pair of edges if they share a point. */
static rb_status
test_pair_of_edges(void *user, uint32_t red, uint32_t blue)
{
	const row_walk *w = user;
	const double *e = rb_edge(w->walk.side[0], red), *h = rb_edge(w->walk.side[1], blue);
	const int contact = rb_segments_contact2(&w->room->env, e, e + 2, h, h + 2);

	if (!RB_IS_YES(contact))
		return RB_OK;
	return rb_vec_append(w->walk.ctx, &w->room->contacts,
						 (rb_pair){red | RB_PAYLOAD(contact) << RB_PAYLOAD_SHIFT, blue});
}

/* Walks over the pairs of a red ring and the rings of the blue row near it. */
static rb_status
walk_rings_near_ring(row_walk *w, const rb_ring *red, uint32_t row)
{
	const rb_rings *r = w->walk.side[1];
	const double box[6] = {red->box[0], red->box[1], 0, red->box[2], red->box[3], 0};
	const rb_edge_run run = rb_run_of_ring(red);

	RB_TRY(rb_rings_find(w->walk.ctx, r, row, box, &w->room->others));
	for (size_t k = 0; k < w->room->others.n; k++)
	{
		const rb_ring *blue = &r->ring[w->room->others.at[k]];
		const rb_edge_run other = rb_run_of_ring(blue);

		if (red->tangle != UINT32_MAX || blue->tangle != UINT32_MAX)
			RB_TRY(search_edges_of_rings(&w->walk, red, blue));
		else
			RB_TRY(rb_walk_pair_of_runs(&w->walk, &run, &other));
	}
	return RB_OK;
}

/* Walks over the pairs of rings that are near each other. */
static rb_status
walk_rings_of_rows(row_walk *w, rb_pair rows)
{
	const rb_rings *const *side = w->walk.side;

	rb_vec_clear(&w->room->contacts);
	RB_TRY(rb_rings_find(w->walk.ctx, side[0], rows.red, side[1]->row_box + 6 * (size_t) rows.blue,
						 &w->room->rings));
	for (size_t k = 0; k < w->room->rings.n; k++)
	{
		RB_TRY(count_visit(&w->walk));
		RB_TRY(walk_rings_near_ring(w, &side[0]->ring[w->room->rings.at[k]], rows.blue));
	}
	return RB_OK;
}

rb_status
rb_edges_walk(rb_context *ctx, const rb_rings *const side[2], rb_pair rows, rb_contact_room *room)
{
	row_walk w = {.walk = {.ctx = ctx,
						   .side = {side[0], side[1]},
						   .take = test_pair_of_edges,
						   .visited = room->visited,
						   .most = UINT64_MAX},
				  .room = room};
	rb_status status;

	w.walk.user = &w;
	status = walk_rings_of_rows(&w, rows);
	room->visited = w.walk.visited;
	return status;
}
