/*
 * polygon_rings.c
 *	  Finds the rings of polygons and the side of their interiors; signs in the moved position; finds whether
 *	  a vertex is inside.
 *
 * Each ring has a tree of boxes of runs: eight edges that follow each other, eight such runs, and so
 * on. A ray in the direction of x from a point to the left of a box crosses the edges within it an odd
 * number of times if their first and last point are on different sides of its line. So only boxes around
 * the point are entered, and only rings whose box contains it.
 *
 * The boxes of the runs of a spiral cover its own box many times. The single edges of such a tangled ring
 * have another tree of boxes, along a Morton curve. The rings of a row have one, too, if there are many.
 *
 * The blue polygons are moved by (e, e^2) with an infinitesimal e, so that no vertex is on an edge, and no
 * edges overlap. A sign that is 0 becomes that of the first of e, e^2 whose coefficient is not 0:
 *
 *		blue edge h, red point		(h_y, -h_x)
 *		red edge e, blue point		(-e_y, e_x)
 *		x, y of points				blue ones are larger
 */
#include "core/base/sort.h"
#include "core/plane/plane.h"

#include <math.h>

#define ROW_GRAIN RB_SIZE(16, 2)  /* Number of rows a thread takes at a time */
#define RUN RB_SIZE(16, 2)        /* Number of segments of a line in a run */
#define MANY_RINGS RB_SIZE(16, 2) /* Number of rings that justify a tree */
#define TANGLED RB_SIZE(4, 0)     /* Least ratio of covered areas at which a ring is tangled */
#define CHECK_INTERVAL 1024       /* Number of small steps between checks for cancellation */

typedef struct ring_rows
{
	rb_context *ctx;
	rb_rings *r;
	uint32_t *row_node; /* First box of the trees of each row, with one more entry at the end */
	int status;
} ring_rows;

/* ---- signs in the moved position ---- */

/* Returns the sign of a difference. */
static int
sign_of_difference(double a, double b)
{
	return (a > b) - (a < b);
}

int
rb_side_of_moved_edge(rb_exact_env *env, const double *x, const double *y, const double *p,
					  int moved)
{
	const int side = rb_orient2d_points(env, x, y, p);

	if (side != 0)
		return side;
	return y[1] != x[1] ? moved * sign_of_difference(x[1], y[1])
						: moved * sign_of_difference(y[0], x[0]);
}

/* ---- trees of edges ---- */

/* Returns the number of boxes of the tree of a ring of n edges. */
static uint32_t
count_nodes_of_ring(uint32_t n)
{
	uint32_t all = 0;

	while (n > RB_RUN_FAN)
	{
		n = (n - 1) / RB_RUN_FAN + 1;
		all += n;
	}
	return all;
}

/* Extends a box of four numbers by another one. */
static void
extend_plane_box(double *box, const double *by)
{
	for (int a = 0; a < 2; a++)
	{
		box[a] = rb_min(box[a], by[a]);
		box[2 + a] = rb_max(box[2 + a], by[2 + a]);
	}
}

/* Computes the box of the edges from `from` to `to` - 1. */
static void
find_box_of_edges(const rb_rings *r, uint32_t from, uint32_t to, double *box)
{
	box[0] = box[1] = HUGE_VAL;
	box[2] = box[3] = -HUGE_VAL;
	for (uint32_t i = from; i < to; i++)
	{
		double of_edge[4];

		rb_box_of_edge(rb_edge(r, i), of_edge);
		extend_plane_box(box, of_edge);
	}
}

/* Returns the area of a box of four numbers. */
static double
area_of_plane_box(const double *box)
{
	return (box[2] - box[0]) * (box[3] - box[1]);
}

/*
 * Builds the tree of a ring, and stores the box of all its edges. Finds out whether the ring is tangled:
 * whether the boxes of its leaves cover its own box several times.
 */
static rb_status
build_tree_of_ring(const rb_context *ctx, rb_rings *r, rb_ring *g)
{
	const uint32_t edges = g->end - g->start;
	double *below = r->node + 4 * (size_t) g->node;
	uint32_t n = (edges - 1) / RB_RUN_FAN + 1;
	double covered = 0;

	g->tangle = UINT32_MAX;
	if (edges <= RB_RUN_FAN)
	{
		find_box_of_edges(r, g->start, g->end, g->box);
		return RB_OK;
	}
	for (uint32_t i = 0; i < n; i++)
	{
		const uint32_t from = g->start + RB_RUN_FAN * i;

		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		find_box_of_edges(r, from, g->end - from < RB_RUN_FAN ? g->end : from + RB_RUN_FAN,
						  below + 4 * i);
		covered += area_of_plane_box(below + 4 * i);
	}
	while (n > RB_RUN_FAN)
	{
		double *above = below + 4 * (size_t) n;

		for (uint32_t i = 0; i < n; i++)
		{
			if (rb_stop_due(ctx, i, CHECK_INTERVAL))
				return RB_STOPPED;
			if (i % RB_RUN_FAN == 0)
				memcpy(above + 4 * (size_t) (i / RB_RUN_FAN), below + 4 * (size_t) i,
					   4 * sizeof *above);
			else
				extend_plane_box(above + 4 * (size_t) (i / RB_RUN_FAN), below + 4 * (size_t) i);
		}
		below = above;
		n = (n - 1) / RB_RUN_FAN + 1;
	}
	memcpy(g->box, below, sizeof g->box);
	for (uint32_t i = 1; i < n; i++)
		extend_plane_box(g->box, below + 4 * (size_t) i);
	if (covered > TANGLED * area_of_plane_box(g->box))
		g->tangle = 0;
	return RB_OK;
}

int
rb_run_children(const rb_rings *r, const rb_edge_run *run, const double *window, rb_edge_run *child)
{
	const rb_ring *g = run->ring;
	const uint32_t last = g->end - g->start - 1;
	const uint32_t first = (run->from - g->start) >> (RB_RUN_BITS * run->level);
	const uint32_t all = (last >> (RB_RUN_BITS * run->level)) + 1;
	const uint32_t n = rb_min(all - first, (uint32_t) RB_RUN_FAN);
	const double *box = r->node + 4 * ((size_t) g->node + first);
	int found = 0;

	/* The boxes of lower levels precede those of the children. */
	for (uint32_t level = 1; level < run->level; level++)
		box += 4 * (size_t) ((last >> (RB_RUN_BITS * level)) + 1);
	for (uint32_t i = 0; i < n; i++, box += 4)
	{
		child[found] =
			(rb_edge_run){g, box, run->from + (i << (RB_RUN_BITS * run->level)), run->level - 1};
		found += rb_do_plane_boxes_meet(box, window);
	}
	return found;
}

/* A ray in the direction of x from a point */
typedef struct plane_ray
{
	rb_exact_env *env;
	const rb_rings *r;
	const double *p;
	int moved;
} plane_ray;

/* Returns true if a point of an edge is below the ray in the moved position. */
static inline bool
is_below_ray(const plane_ray *ray, const double *x)
{
	return x[1] < ray->p[1] || (x[1] == ray->p[1] && ray->moved > 0);
}

/* Returns true if the ray crosses the edges from `from` to `to` - 1 an odd number of times. */
static bool
does_ray_cross_edges(const plane_ray *ray, uint32_t from, uint32_t to)
{
	bool odd = false;

	for (uint32_t i = from; i < to; i++)
	{
		const double *e = rb_edge(ray->r, i);
		const bool low = is_below_ray(ray, e), high = is_below_ray(ray, e + 2);

		if (low == high || rb_max(e[0], e[2]) < ray->p[0])
			continue;
		if (rb_min(e[0], e[2]) > ray->p[0])
			odd = !odd;
		else
			odd ^= rb_side_of_moved_edge(ray->env, low ? e : e + 2, low ? e + 2 : e, ray->p,
										 ray->moved) > 0;
	}
	return odd;
}

/*
 * Returns true if the ray, which starts to the left of the end of the box of a run, crosses its edges an
 * odd number of times.
 */
static bool
does_ray_cross_run(const plane_ray *ray, const rb_edge_run *run)
{
	const double ahead[4] = {ray->p[0], ray->p[1], HUGE_VAL, ray->p[1]};
	rb_edge_run child[RB_RUN_FAN];
	bool odd = false;
	int n;

	if (run->level == 0)
		return does_ray_cross_edges(ray, run->from, rb_end_of_run(run));
	n = rb_run_children(ray->r, run, ahead, child);
	for (int i = 0; i < n; i++)
		if (child[i].box[0] > ray->p[0])
			odd ^= is_below_ray(ray, rb_edge(ray->r, child[i].from)) !=
				   is_below_ray(ray, rb_edge(ray->r, rb_end_of_run(&child[i]) - 1) + 2);
		else
			odd ^= does_ray_cross_run(ray, &child[i]);
	return odd;
}

/* Returns true if the ray crosses a ring an odd number of times. */
static bool
does_ray_cross_ring(const plane_ray *ray, const rb_ring *g)
{
	const rb_edge_run run = rb_run_of_ring(g);

	if (ray->p[0] < g->box[0] || ray->p[0] > g->box[2] || ray->p[1] < g->box[1] ||
		ray->p[1] > g->box[3])
		return false;
	return does_ray_cross_run(ray, &run);
}

/* ---- rings of a row ---- */

/* Rings that a tree finds */
typedef struct rings_found
{
	rb_context *ctx;
	rb_ring_list *list; /* NULL to count the crossings of a ray instead */
	uint32_t first;     /* First ring of the row */
	plane_ray ray;
	bool odd;
} rings_found;

/* Receives a ring of a row. */
static rb_status
take_ring(void *user, uint32_t item)
{
	rings_found *f = user;

	if (f->list != NULL)
		return rb_vec_append(f->ctx, f->list, f->first + item);
	f->odd ^= does_ray_cross_ring(&f->ray, &f->ray.r->ring[f->first + item]);
	return RB_OK;
}

rb_status
rb_rings_find(rb_context *ctx, const rb_rings *r, uint32_t row, const double *box,
			  rb_ring_list *found)
{
	rings_found f = {.ctx = ctx, .list = found, .first = r->row_ring[row]};
	const double flat[6] = {box[0], box[1], 0, box[3], box[4], 0};

	rb_vec_clear(found);
	if (r->tree_of[row] != UINT32_MAX)
	{
		RB_TRY(rb_boxes_find(&r->tree[r->tree_of[row]], flat, take_ring, &f));
		return rb_sort_numbers(ctx, found->at, found->n);
	}
	for (uint32_t k = r->row_ring[row]; k < r->row_ring[row + 1]; k++)
	{
		const double *g = r->ring[k].box;

		if (g[0] <= box[3] && g[2] >= box[0] && g[1] <= box[4] && g[3] >= box[1])
			RB_TRY(rb_vec_append(ctx, found, k));
	}
	return RB_OK;
}

bool
rb_is_vertex_inside(rb_exact_env *env, const rb_rings *r, uint32_t row, const double *p, int moved)
{
	const double *box = r->row_box + 6 * (size_t) row, at[6] = {p[0], p[1], 0, p[0], p[1], 0};
	rings_found f = {.first = r->row_ring[row], .ray = {env, r, p, moved}};

	if (p[0] < box[0] || p[0] > box[3] || p[1] < box[1] || p[1] > box[4])
		return false;
	if (r->tree_of[row] != UINT32_MAX)
		(void) rb_boxes_find(&r->tree[r->tree_of[row]], at, take_ring, &f);
	else
		for (uint32_t k = r->row_ring[row]; k < r->row_ring[row + 1]; k++)
			f.odd ^= does_ray_cross_ring(&f.ray, &r->ring[k]);
	return f.odd;
}

bool
rb_is_point_in_ring(rb_exact_env *env, const rb_rings *r, const rb_ring *ring, const double *p)
{
	const plane_ray ray = {env, r, p, 1};

	return does_ray_cross_ring(&ray, ring);
}

/* Computes the box of an item of a tree, as four numbers. */
typedef void (*box_of_item)(const rb_rings *r, uint32_t item, double *box);

/* Builds the tree of n items from the first one on. */
static rb_status
build_tree_of_items(rb_context *ctx, const rb_rings *r, uint32_t first, uint32_t n,
					box_of_item box_of, rb_boxes *tree)
{
	RB_TRY(rb_boxes_room(ctx, tree, n));
	for (uint32_t i = 0; i < n; i++)
	{
		double g[4];

		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		box_of(r, first + i, g);
		memcpy(tree->box + 6 * (size_t) i, (const double[6]){g[0], g[1], 0, g[2], g[3], 0},
			   6 * sizeof *g);
	}
	return rb_boxes_order(ctx, tree);
}

/* Copies the box of a ring. */
static void
copy_box_of_ring(const rb_rings *r, uint32_t ring, double *box)
{
	memcpy(box, r->ring[ring].box, 4 * sizeof *box);
}

/* Builds the trees of a range of rows. */
static void
build_trees_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	ring_rows *w = arg;
	rb_status status = RB_OK;

	(void) me;
	for (uint32_t row = (uint32_t) from; row < to && status == RB_OK; row++)
	{
		status = rb_should_stop(w->ctx) ? RB_STOPPED : RB_OK;
		if (status == RB_OK && w->r->tree_of[row] != UINT32_MAX)
			status = build_tree_of_items(w->ctx, w->r, w->r->row_ring[row],
										 w->r->row_ring[row + 1] - w->r->row_ring[row],
										 copy_box_of_ring, &w->r->tree[w->r->tree_of[row]]);
	}
	rb_keep_failure(&w->status, status);
}

/* Builds the trees of the rings of all rows that have many. */
static rb_status
build_trees_of_rows(rb_context *ctx, rb_thread *team, rb_rings *r)
{
	const uint32_t rows = r->set->nrows;
	ring_rows w = {.ctx = ctx, .r = r};
	rb_status status;

	RB_TRY(RB_ALLOCATE(ctx, r->tree_of, (size_t) rows + 1));
	for (uint32_t row = 0; row < rows; row++)
	{
		if (rb_stop_due(ctx, row, CHECK_INTERVAL))
			return RB_STOPPED;
		r->tree_of[row] =
			r->row_ring[row + 1] - r->row_ring[row] < MANY_RINGS ? UINT32_MAX : r->ntrees++;
	}
	if (r->ntrees == 0)
		return RB_OK;
	RB_TRY(RB_ALLOCATE(ctx, r->tree, r->ntrees));
	memset(r->tree, 0, r->ntrees * sizeof *r->tree);
	status = rb_each(ctx, team, rows, ROW_GRAIN, build_trees_piece, &w);
	return rb_loop_failure(w.status, status);
}

/* ---- tangled rings ---- */

/* Computes the box of an edge. */
static void
compute_box_of_edge(const rb_rings *r, uint32_t edge, double *box)
{
	rb_box_of_edge(rb_edge(r, edge), box);
}

/* Builds the trees of the edges of a range of rings. */
static void
build_trees_of_edges_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	ring_rows *w = arg;
	rb_status status = RB_OK;

	(void) me;
	for (uint32_t ring = (uint32_t) from; ring < to && status == RB_OK; ring++)
	{
		const rb_ring *g = &w->r->ring[ring];

		if (g->tangle == UINT32_MAX)
			continue;
		status = rb_should_stop(w->ctx) ? RB_STOPPED : RB_OK;
		if (status == RB_OK)
			status = build_tree_of_items(w->ctx, w->r, g->start, g->end - g->start,
										 compute_box_of_edge, &w->r->tangle[g->tangle]);
	}
	rb_keep_failure(&w->status, status);
}

/* Builds the trees of the edges of all tangled rings. */
static rb_status
build_trees_of_tangles(rb_context *ctx, rb_thread *team, rb_rings *r)
{
	ring_rows w = {.ctx = ctx, .r = r};
	rb_status status;

	for (uint32_t ring = 0; ring < r->nrings; ring++)
	{
		if (rb_stop_due(ctx, ring, CHECK_INTERVAL))
			return RB_STOPPED;
		if (r->ring[ring].tangle != UINT32_MAX)
			r->ring[ring].tangle = r->ntangles++;
	}
	if (r->ntangles == 0)
		return RB_OK;
	RB_TRY(RB_ALLOCATE(ctx, r->tangle, r->ntangles));
	memset(r->tangle, 0, r->ntangles * sizeof *r->tangle);
	status = rb_each(ctx, team, r->nrings, ROW_GRAIN, build_trees_of_edges_piece, &w);
	return rb_loop_failure(w.status, status);
}

/* ---- rings ---- */

/*
 * Builds the tree of a ring, and finds the side of the interior by the turn at its first point in
 * the order of x, then y.
 */
static rb_status
measure_ring(const rb_context *ctx, rb_rings *r, uint32_t ring, bool shell)
{
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
	rb_ring *g = &r->ring[ring];
	uint32_t least = g->start;
	int turn;

	RB_TRY(build_tree_of_ring(ctx, r, g));
	if (r->set->kind != RB_EDGE2)
		return RB_OK;
	for (uint32_t i = g->start; i < g->end; i++)
	{
		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		if (rb_is_point_before(rb_edge(r, i), rb_edge(r, least)))
			least = i;
	}
	g->least = least;
	turn = rb_orient2d_points(&env, rb_edge(r, rb_previous_edge(r, least)), rb_edge(r, least),
							  rb_edge(r, least) + 2);
	g->reversed = shell ? turn < 0 : turn > 0;
	return RB_OK;
}

/*
 * Finds the rings of a row, and stores them unless `count` is set. *ring and *node are the numbers of its
 * first ring and of the first box of its trees, and then those after the last.
 */
static rb_status
find_rings_of_row(const rb_context *ctx, rb_rings *r, uint32_t row, bool count, uint32_t *ring,
				  uint32_t *node)
{
	const uint32_t most = r->set->kind == RB_EDGE2 ? UINT32_MAX : RUN;
	const uint32_t first = *ring, end = r->row_start[row + 1];
	uint32_t shell = first;

	for (uint32_t i = r->row_start[row]; i < end;)
	{
		const uint32_t from = i;
		uint32_t start;

		while (i < end && rb_is_mark(rb_edge(r, i)))
			i++;
		if (i == end)
			break;
		start = i;
		if (i - from > RB_MARKS_OF_HOLE || *ring == first)
			shell = *ring;
		for (; i < end && i - start < most && !rb_is_mark(rb_edge(r, i)); i++)
		{
			if (rb_stop_due(ctx, i, CHECK_INTERVAL))
				return RB_STOPPED;
			if (!count)
				r->ring_of[i] = *ring;
		}
		if (!count)
			r->ring[*ring] = (rb_ring){.start = start, .end = i, .shell = shell, .node = *node};
		*node += count_nodes_of_ring(i - start);
		++*ring;
	}
	return RB_OK;
}

/* Counts the rings of a range of rows, and the boxes of their trees. */
static void
count_rings_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	ring_rows *w = arg;
	rb_status status = RB_OK;

	(void) me;
	for (uint32_t row = (uint32_t) from; row < to && status == RB_OK; row++)
	{
		w->r->row_ring[row] = w->row_node[row] = 0;
		status = rb_should_stop(w->ctx)
					 ? RB_STOPPED
					 : find_rings_of_row(w->ctx, w->r, row, true, &w->r->row_ring[row],
										 &w->row_node[row]);
	}
	rb_keep_failure(&w->status, status);
}

/* Stores the rings of a range of rows. */
static void
store_rings_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	ring_rows *w = arg;
	rb_status status = RB_OK;

	(void) me;
	for (uint32_t row = (uint32_t) from; row < to && status == RB_OK; row++)
	{
		uint32_t ring = w->r->row_ring[row], node = w->row_node[row];

		status = rb_should_stop(w->ctx) ? RB_STOPPED
										: find_rings_of_row(w->ctx, w->r, row, false, &ring, &node);
	}
	rb_keep_failure(&w->status, status);
}

/* Finds the rings of all rows: counts those of each row, allocates memory, and stores them. */
static rb_status
find_rings(rb_context *ctx, rb_thread *team, rb_rings *r)
{
	const uint32_t rows = r->set->nrows;
	ring_rows w = {.ctx = ctx, .r = r};
	rb_status status;
	RB_FREE_AT_END(ctx->memory, &w.row_node);

	RB_TRY(RB_ALLOCATE(ctx, w.row_node, (size_t) rows + 1));
	status = rb_each(ctx, team, rows, ROW_GRAIN, count_rings_piece, &w);
	RB_TRY(rb_loop_failure(w.status, status));
	r->nrings = r->row_ring[rows] = rb_counts_to_starts(r->row_ring, rows);
	w.row_node[rows] = rb_counts_to_starts(w.row_node, rows);
	RB_TRY(RB_ALLOCATE(ctx, r->ring, (size_t) r->nrings + 1));
	RB_TRY(RB_ALLOCATE(ctx, r->node, 4 * (size_t) w.row_node[rows] + 1));
	status = rb_each(ctx, team, rows, ROW_GRAIN, store_rings_piece, &w);
	return rb_loop_failure(w.status, status);
}

/* Measures a range of rings. */
static void
measure_rings_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	ring_rows *w = arg;
	rb_status status = RB_OK;

	(void) me;
	for (uint32_t ring = (uint32_t) from; ring < to && status == RB_OK; ring++)
		status = rb_should_stop(w->ctx)
					 ? RB_STOPPED
					 : measure_ring(w->ctx, w->r, ring, w->r->ring[ring].shell == ring);
	rb_keep_failure(&w->status, status);
}

/*
 * Computes the boxes of a range of rows from those of their rings. The first part, a mark or a segment, gives
 * a row without rings a box.
 */
static void
find_boxes_of_rows_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const ring_rows *w = arg;
	const rb_rings *r = w->r;

	(void) me;
	for (uint64_t row = from; row < to && !rb_should_stop(w->ctx); row++)
	{
		double *low = r->row_box + 6 * row, *high = low + 3;

		rb_box_empty(low, high);
		if (r->row_start[row] < r->row_start[row + 1])
			rb_kind_box(r->set->kind, r->set->coords, r->row_start[row], low, high);
		for (uint32_t k = r->row_ring[row]; k < r->row_ring[row + 1]; k++)
		{
			if (rb_stop_due(w->ctx, k, CHECK_INTERVAL))
				return;
			for (int a = 0; a < 2; a++)
			{
				low[a] = rb_min(low[a], r->ring[k].box[a]);
				high[a] = rb_max(high[a], r->ring[k].box[2 + a]);
			}
		}
	}
}

rb_status
rb_rings_open(rb_context *ctx, rb_thread *team, const rb_set *set, rb_rings *r)
{
	const size_t rows = (size_t) set->nrows + 1;
	ring_rows w = {.ctx = ctx, .r = r};
	rb_status status;

	*r = (rb_rings){.set = set};
	RB_TRY(RB_ALLOCATE(ctx, r->row_start, rows));
	RB_TRY(RB_ALLOCATE(ctx, r->row_box, 6 * rows));
	RB_TRY(RB_ALLOCATE(ctx, r->row_ring, rows));
	RB_TRY(RB_ALLOCATE(ctx, r->ring_of, (size_t) set->nparts + 1));
	RB_TRY(rb_row_starts(ctx, set, r->row_start));
	RB_TRY(find_rings(ctx, team, r));
	status = rb_each(ctx, team, r->nrings, ROW_GRAIN, measure_rings_piece, &w);
	RB_TRY(rb_loop_failure(w.status, status));
	RB_TRY(rb_each(ctx, team, set->nrows, ROW_GRAIN, find_boxes_of_rows_piece, &w));
	RB_TRY(build_trees_of_tangles(ctx, team, r));
	return build_trees_of_rows(ctx, team, r);
}

void
rb_rings_close(rb_memory *memory, rb_rings *r)
{
	for (uint32_t i = 0; i < r->ntrees && r->tree != NULL; i++)
		rb_boxes_free(memory, &r->tree[i]);
	for (uint32_t i = 0; i < r->ntangles && r->tangle != NULL; i++)
		rb_boxes_free(memory, &r->tangle[i]);
	RB_FREE(memory, r->row_start);
	RB_FREE(memory, r->row_box);
	RB_FREE(memory, r->row_ring);
	RB_FREE(memory, r->ring_of);
	RB_FREE(memory, r->ring);
	RB_FREE(memory, r->node);
	RB_FREE(memory, r->tree_of);
	RB_FREE(memory, r->tree);
	RB_FREE(memory, r->tangle);
}

int
rb_cross_sign(rb_exact_env *env, const double *a, const double *b, const double *c, const double *d)
{
	/*
	 * Each difference has a relative error of at most e = 2^-53, and so has each product and their
	 * difference: together less than 4 e of the sum of both products, plus underflow.
	 */
	const double p = (b[0] - a[0]) * (d[1] - c[1]), q = (b[1] - a[1]) * (d[0] - c[0]);
	const double bound = 0x1p-50 * (fabs(p) + fabs(q)) + 0x1p-1000;
	rb_number x[4], det;

	if (a == c || (a[0] == c[0] && a[1] == c[1]))
		return rb_orient2d_points(env, a, b, d);
	if (fabs(p - q) > bound && fabs(p - q) <= DBL_MAX)
		return p > q ? 1 : -1;
	rb_number_difference(&x[0], b[0], a[0]);
	rb_number_difference(&x[1], b[1], a[1]);
	rb_number_difference(&x[2], d[0], c[0]);
	rb_number_difference(&x[3], d[1], c[1]);
	rb_number_det2(&det, &x[0], &x[1], &x[2], &x[3]);
	return det.sign;
}
