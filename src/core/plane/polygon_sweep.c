/*
 * polygon_sweep.c
 *	  Sweeps a line over the edges of a polygon, to find edges that cross, rings that touch, and rings in
 *	  a wrong place.
 *
 * The line passes the vertices in the order of x, then of y. It keeps the edges that it cuts in their
 * order from below, as nodes of a list and of a treap (R. Seidel, C. Aragon: Randomized search trees,
 * 1996). Edges that become neighbors are tested for a crossing. The first crossing ends the sweep, so that
 * the order is known at each vertex, and n edges take O(n log n) steps however they lie (M. Shamos,
 * D. Hoey: Geometric intersection problems, 1976).
 *
 * The edges through a vertex are consecutive in the order, since no two edges have crossed before. At a
 * vertex, faults are
 *
 *		two edges that pass it, or that go on in the same direction: they cross or overlap,
 *		a ring that comes to it twice: it touches itself,
 *		rings whose edges alternate around it: they cross.
 *
 * The edges around the vertex are known in the order of their directions. Rings do not alternate if
 * taking away consecutive edges of the same ring leaves none.
 *
 * Rings that do not cross are apart or nested, so one place of each ring suffices to see where it
 * is: its first vertex. After the vertex, the edge below the ring is known, and with it the side of
 * that edge on which the ring lies. A shell must be outside of all polygons, and a hole in its own
 * one.
 *
 * All decisions are signs of determinants of stored coordinates.
 */
#include "core/base/hash.h"
#include "core/base/sort.h"
#include "core/exact/bignum.h"
#include "core/plane/plane.h"

#define NONE UINT32_MAX
#define CHECK_INTERVAL 1024             /* Number of small steps between checks for cancellation */
#define MOST_COMPARED RB_SIZE(4096, 40) /* Largest number of vertices to sort by comparisons */

/* A vertex: the start of an edge */
typedef struct rb_sweep_vertex
{
	double at[2];
	uint32_t edge;
} sweep_vertex;

/* An edge that the line cuts */
typedef struct rb_sweep_node
{
	const double *left, *right; /* First and last point in the direction of the sweep */
	uint32_t edge;
	uint32_t weight;
	uint32_t parent;
	uint32_t child[2];
	uint32_t beside[2]; /* Nodes below and above */
} sweep_node;

/* An edge that starts at a vertex, or that passes it */
typedef struct rb_sweep_start
{
	const double *left, *right;
	uint32_t edge;
	uint32_t node; /* NONE if the edge starts at the vertex */
} sweep_start;

/* Returns true if two points are equal. */
static inline bool
are_points_equal(const double *a, const double *b)
{
	return a[0] == b[0] && a[1] == b[1];
}

/* ---- the edges that the line cuts ---- */

/* Exchanges a node with its parent. */
static void
rotate_node_up(rb_polygon_sweep *s, uint32_t node)
{
	sweep_node *t = s->nodes.at;
	const uint32_t parent = t[node].parent, above = t[parent].parent;
	const int side = t[parent].child[1] == node;
	const uint32_t moved = t[node].child[!side];

	t[parent].child[side] = moved;
	if (moved != NONE)
		t[moved].parent = parent;
	t[node].child[!side] = parent;
	t[parent].parent = node;
	t[node].parent = above;
	if (above == NONE)
		s->root = node;
	else
		t[above].child[t[above].child[1] == parent] = node;
}

/* Adds an edge above a node, or below all if it is NONE. */
static rb_status
insert_node(rb_polygon_sweep *s, rb_context *ctx, uint32_t below, const sweep_start *e,
			uint32_t *added)
{
	const uint32_t above = below == NONE ? s->lowest : s->nodes.at[below].beside[1];
	uint32_t node = s->free;
	sweep_node *t;

	if (node == NONE)
	{
		RB_TRY(rb_vec_append(ctx, &s->nodes, (sweep_node){.edge = NONE}));
		node = (uint32_t) s->nodes.n - 1;
	}
	else
		s->free = s->nodes.at[node].parent;
	t = s->nodes.at;
	t[node] = (sweep_node){.left = e->left,
						   .right = e->right,
						   .edge = e->edge,
						   .weight = (uint32_t) (rb_mix(++s->inserted) >> 32),
						   .parent = NONE,
						   .child = {NONE, NONE},
						   .beside = {below, above}};
	if (below == NONE)
		s->lowest = node;
	else
		t[below].beside[1] = node;
	if (above != NONE)
		t[above].beside[0] = node;
	if (below != NONE && t[below].child[1] == NONE)
	{
		t[below].child[1] = node;
		t[node].parent = below;
	}
	else if (above != NONE)
	{
		/* The next node above has no child below it if the one below has a child above. */
		t[above].child[0] = node;
		t[node].parent = above;
	}
	else
		s->root = node;
	while (t[node].parent != NONE && t[node].weight > t[t[node].parent].weight)
		rotate_node_up(s, node);
	*added = node;
	return RB_OK;
}

/* Removes a node. */
static void
remove_node(rb_polygon_sweep *s, uint32_t node)
{
	sweep_node *t = s->nodes.at;
	const uint32_t below = t[node].beside[0], above = t[node].beside[1];

	while (t[node].child[0] != NONE || t[node].child[1] != NONE)
	{
		const uint32_t a = t[node].child[0], b = t[node].child[1];

		rotate_node_up(s, a == NONE || (b != NONE && t[b].weight > t[a].weight) ? b : a);
	}
	if (t[node].parent == NONE)
		s->root = NONE;
	else
		t[t[node].parent].child[t[t[node].parent].child[1] == node] = NONE;
	if (below == NONE)
		s->lowest = above;
	else
		t[below].beside[1] = above;
	if (above != NONE)
		t[above].beside[0] = below;
	t[node].parent = s->free;
	s->free = node;
}

/* Returns the side of a cut edge on which a point between its ends by x lies, 1 for above. */
static int
side_of_node(rb_polygon_sweep *s, const sweep_node *n, const double *p)
{
	if (p[1] > rb_max(n->left[1], n->right[1]))
		return 1;
	if (p[1] < rb_min(n->left[1], n->right[1]))
		return -1;
	return rb_orient2d_points(&s->env, n->left, n->right, p);
}

/* Returns a node through p, or NONE, in which case *below is the node below p, or NONE. */
static uint32_t
find_node_at_point(rb_polygon_sweep *s, const double *p, uint32_t *below)
{
	uint32_t node = s->root;

	*below = NONE;
	while (node != NONE)
	{
		const sweep_node *n = &s->nodes.at[node];
		const int side = side_of_node(s, n, p);

		if (side == 0)
			return node;
		if (side > 0)
			*below = node;
		node = n->child[side > 0];
	}
	return NONE;
}

/* ---- faults ---- */

/* Sets the fault of a row. */
static void
set_sweep_fault(rb_polygon_place *f, rb_polygon_fault fault, const double *at)
{
	*f = (rb_polygon_place){fault, {at[0] + 0.0, at[1] + 0.0}};
}

/* Computes the point where two edges cross, rounded. */
static void
find_crossing_of_edges(const double *a, const double *b, double at[2])
{
	rb_number w[2], h[2], from, below, t, d, x, y;

	for (int k = 0; k < 2; k++)
	{
		rb_number_difference(&w[k], b[k], a[k]);
		rb_number_difference(&h[k], b[2 + k], b[k]);
	}
	rb_number_det2(&from, &w[0], &w[1], &h[0], &h[1]);
	rb_number_difference(&x, a[2], a[0]);
	rb_number_difference(&y, a[3], a[1]);
	rb_number_det2(&below, &x, &y, &h[0], &h[1]);
	for (int k = 0; k < 2; k++)
	{
		rb_number_difference(&d, a[2 + k], a[k]);
		rb_number_mul(&t, &from, &d);
		rb_number_of(&x, a[k]);
		rb_number_mul(&y, &x, &below);
		rb_number_add(&t, &t, &y);
		rb_number_div(&x, &t, &below, 3);
		at[k] = rb_number_round(&x);
	}
}

/* Sets the fault if two neighbors cross. They do not touch on the sweep line. */
static void
test_neighbors(rb_polygon_sweep *s, const rb_rings *r, uint32_t low, uint32_t high,
			   rb_polygon_place *f)
{
	const sweep_node *a, *b;
	double at[2];
	bool cross;

	if (low == NONE || high == NONE)
		return;
	a = &s->nodes.at[low];
	b = &s->nodes.at[high];
	if (rb_is_point_before(a->right, b->right))
		cross = side_of_node(s, b, a->right) > 0;
	else
		cross = rb_is_point_before(b->right, a->right) && side_of_node(s, a, b->right) < 0;
	if (!cross)
		return;
	find_crossing_of_edges(rb_edge(r, a->edge), rb_edge(r, b->edge), at);
	set_sweep_fault(f, RB_POLYGON_CROSSED, at);
}

/* Returns true if the interior of the polygon is above an edge. */
static bool
is_interior_above(const rb_rings *r, uint32_t edge)
{
	const double *u, *v;

	rb_directed_edge(r, edge, &u, &v);
	return rb_is_point_before(u, v);
}

/*
 * Records the ring of a new node in s->misplaced if it is the first ring found in a wrong place.
 * The ring is tested only at the lower edge of its first vertex.
 */
static void
test_place_of_ring(rb_polygon_sweep *s, const rb_rings *r, uint32_t node)
{
	const sweep_node *n = &s->nodes.at[node];
	const uint32_t number = r->ring_of[n->edge], below = n->beside[0];
	const rb_ring *ring = &r->ring[number];
	const bool shell = ring->shell == number;
	uint32_t within = NONE; /* Shell of the polygon in which the ring lies */

	if (s->misplaced != NONE || !are_points_equal(rb_edge(r, ring->least), n->left) ||
		is_interior_above(r, n->edge) != shell)
		return;
	if (below != NONE && is_interior_above(r, s->nodes.at[below].edge))
		within = r->ring[r->ring_of[s->nodes.at[below].edge]].shell;
	if (within != (shell ? NONE : ring->shell))
		s->misplaced = number;
}

/* ---- vertices ---- */

/* Finds the edges before and after a vertex on its ring, and the other end of each. */
static void
find_edges_of_vertex(const rb_rings *r, uint32_t edge, uint32_t at[2], const double *end[2])
{
	at[0] = rb_previous_edge(r, edge);
	at[1] = edge;
	end[0] = rb_edge(r, at[0]);
	end[1] = rb_edge(r, at[1]) + 2;
}

/*
 * Passes a vertex where one edge ends and another one starts, if no other edge contains it. Sets
 * *passed to true in that case.
 */
static void
pass_simple_vertex(rb_polygon_sweep *s, const rb_rings *r, uint32_t first, const sweep_vertex *v,
				   bool *passed, rb_polygon_place *f)
{
	const double *end[2];
	uint32_t edge[2], low, high, node;
	sweep_node *n;
	int ending;

	find_edges_of_vertex(r, v->edge, edge, end);
	*passed = false;
	ending = rb_is_point_before(end[0], v->at) ? 0 : 1;
	if (rb_is_point_before(end[!ending], v->at) || !rb_is_point_before(end[ending], v->at))
		return;
	node = s->node_of[edge[ending] - first];
	n = &s->nodes.at[node];
	low = n->beside[0];
	high = n->beside[1];
	if ((low != NONE && side_of_node(s, &s->nodes.at[low], v->at) <= 0) ||
		(high != NONE && side_of_node(s, &s->nodes.at[high], v->at) >= 0))
		return;
	*passed = true;
	n->edge = edge[!ending];
	n->left = ending == 1 ? rb_edge(r, edge[0]) + 2 : rb_edge(r, edge[1]);
	n->right = end[!ending];
	s->node_of[n->edge - first] = node;
	test_neighbors(s, r, low, node, f);
	if (f->fault != RB_POLYGON_CROSSED)
		test_neighbors(s, r, node, high, f);
}

/* The place of the line at a vertex */
typedef struct line_place
{
	const double *at;
	uint32_t low, high;   /* Nodes below and above all nodes through the vertex */
	uint32_t from, to;    /* First and last node through it, or NONE */
	uint32_t passing;     /* Node that does not end at the vertex, or NONE */
	uint32_t ends, start; /* Number of edges of the vertex that end and start there */
} line_place;

/* A point where edges start */
typedef struct start_point
{
	rb_exact_env *env;
	const double *at;
} start_point;

/* Orders edges that start at a point from below. */
static int
by_direction(const void *a, const void *b, const void *arg)
{
	const sweep_start *x = a, *y = b;
	const start_point *p = arg;

	return -rb_orient2d_points(p->env, p->at, x->right, y->right);
}

/* Finds the nodes through a vertex, and counts those that end there. */
static rb_status
find_nodes_at_vertex(rb_polygon_sweep *s, rb_context *ctx, line_place *l, rb_polygon_place *f)
{
	uint32_t ends = 0, below;
	const uint32_t found = find_node_at_point(s, l->at, &below);

	l->from = l->to = found;
	l->passing = NONE;
	if (found == NONE)
	{
		l->low = below;
		l->high = below == NONE ? s->lowest : s->nodes.at[below].beside[1];
	}
	else
	{
		for (uint32_t i = 0; (l->low = s->nodes.at[l->from].beside[0]) != NONE &&
							 side_of_node(s, &s->nodes.at[l->low], l->at) == 0;
			 l->from = l->low)
			if (rb_stop_due(ctx, i++, CHECK_INTERVAL))
				return RB_STOPPED;
		for (uint32_t i = 0; (l->high = s->nodes.at[l->to].beside[1]) != NONE &&
							 side_of_node(s, &s->nodes.at[l->high], l->at) == 0;
			 l->to = l->high)
			if (rb_stop_due(ctx, i++, CHECK_INTERVAL))
				return RB_STOPPED;
		for (uint32_t node = l->from, i = 0; node != l->high; node = s->nodes.at[node].beside[1])
		{
			if (are_points_equal(s->nodes.at[node].right, l->at))
				ends++;
			else if (l->passing == NONE)
				l->passing = node;
			else
				set_sweep_fault(f, RB_POLYGON_CROSSED, l->at);
			if (rb_stop_due(ctx, i++, CHECK_INTERVAL))
				return RB_STOPPED;
		}
	}
	if (f->fault != RB_POLYGON_CROSSED && ends != l->ends)
		return rb_fail(ctx, RB_BAD_GEOMETRY, 0, 0, "The order of the edges of a polygon is lost.");
	return RB_OK;
}

/* Lists the edges that start at n vertices with equal coordinates, and counts those that end there. */
static rb_status
list_starts_at_vertex(rb_polygon_sweep *s, rb_context *ctx, const rb_rings *r,
					  const sweep_vertex *v, size_t n, line_place *l)
{
	rb_vec_clear(&s->starts);
	l->ends = 0;
	for (size_t i = 0; i < n; i++)
	{
		const double *end[2];
		uint32_t edge[2];

		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		find_edges_of_vertex(r, v[i].edge, edge, end);
		for (int k = 0; k < 2; k++)
			if (rb_is_point_before(end[k], v->at))
				l->ends++;
			else
				RB_TRY(rb_vec_append(
					ctx, &s->starts,
					(sweep_start){rb_edge(r, edge[k]) + (k == 0 ? 2 : 0), end[k], edge[k], NONE}));
	}
	return RB_OK;
}

/* Sorts the edges that start at a vertex or pass it, the lowest first, and finds those that overlap. */
static rb_status
order_starts_at_vertex(rb_polygon_sweep *s, rb_context *ctx, const line_place *l,
					   rb_polygon_place *f)
{
	const start_point p = {&s->env, l->at};

	if (l->passing != NONE)
	{
		const sweep_node *n = &s->nodes.at[l->passing];

		RB_TRY(
			rb_vec_append(ctx, &s->starts, (sweep_start){n->left, n->right, n->edge, l->passing}));
	}
	RB_TRY(rb_sort(ctx, s->starts.at, s->starts.n, sizeof(sweep_start), by_direction, &p));
	for (size_t i = 1; i < s->starts.n; i++)
	{
		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		if (by_direction(&s->starts.at[i - 1], &s->starts.at[i], &p) == 0)
		{
			set_sweep_fault(f, RB_POLYGON_CROSSED, l->at);
			break;
		}
	}
	return RB_OK;
}

/* Adds the ring of an edge around a vertex, or removes it together with the edge before. */
static rb_status
match_edge_of_ring(rb_polygon_sweep *s, rb_context *ctx, uint32_t ring)
{
	if (s->rings.n > 0 && s->rings.at[s->rings.n - 1] == ring)
	{
		s->rings.n--;
		return RB_OK;
	}
	return rb_vec_append(ctx, &s->rings, ring);
}

/* Looks for rings that cross at a vertex, each of which comes to it once. */
static rb_status
find_alternating_rings(rb_polygon_sweep *s, rb_context *ctx, const rb_rings *r, const line_place *l,
					   rb_polygon_place *f)
{
	rb_vec_clear(&s->rings);
	for (size_t i = 0; i < s->starts.n; i++)
	{
		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		RB_TRY(match_edge_of_ring(s, ctx, r->ring_of[s->starts.at[i].edge]));
	}
	for (uint32_t node = l->to, i = 0; node != NONE && node != l->low;
		 node = s->nodes.at[node].beside[0])
	{
		if (rb_stop_due(ctx, i++, CHECK_INTERVAL))
			return RB_STOPPED;
		RB_TRY(match_edge_of_ring(s, ctx, r->ring_of[s->nodes.at[node].edge]));
	}
	if (s->rings.n > 0)
		set_sweep_fault(f, RB_POLYGON_CROSSED, l->at);
	return RB_OK;
}

/* Collects the rings that share a vertex, and looks for one that comes twice, and for crossing ones. */
static rb_status
find_rings_at_vertex(rb_polygon_sweep *s, rb_context *ctx, const rb_rings *r, const sweep_vertex *v,
					 size_t n, const line_place *l, rb_polygon_place *f)
{
	rb_vec_clear(&s->rings);
	for (size_t i = 0; i < n; i++)
	{
		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		RB_TRY(rb_vec_append(ctx, &s->rings, r->ring_of[v[i].edge]));
	}
	if (l->passing != NONE)
		RB_TRY(rb_vec_append(ctx, &s->rings, r->ring_of[s->nodes.at[l->passing].edge]));
	if (s->rings.n < 2)
		return RB_OK;
	RB_TRY(rb_sort_numbers(ctx, s->rings.at, s->rings.n));
	for (size_t i = 0; i < s->rings.n; i++)
	{
		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		if (i > 0 && s->rings.at[i] == s->rings.at[i - 1])
		{
			if (f->fault == RB_POLYGON_GOOD)
				set_sweep_fault(f, RB_POLYGON_TOUCHED, l->at);
			return RB_OK;
		}
		RB_TRY(rb_vec_append(ctx, &s->touches,
							 (rb_ring_touch){{l->at[0] + 0.0, l->at[1] + 0.0},
											 r->ring[s->rings.at[i]].shell,
											 s->rings.at[i]}));
	}
	return find_alternating_rings(s, ctx, r, l, f);
}

/* Replaces the nodes that end at a vertex by the edges that start there. */
static rb_status
replace_nodes_at_vertex(rb_polygon_sweep *s, rb_context *ctx, const rb_rings *r, uint32_t first,
						const line_place *l)
{
	uint32_t below = l->low;

	for (uint32_t node = l->from, next, i = 0; node != NONE && node != l->high; node = next)
	{
		if (rb_stop_due(ctx, i++, CHECK_INTERVAL))
			return RB_STOPPED;
		next = s->nodes.at[node].beside[1];
		if (node != l->passing)
			remove_node(s, node);
	}
	for (size_t i = 0; i < s->starts.n; i++)
	{
		const sweep_start *e = &s->starts.at[i];

		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		if (e->node != NONE)
		{
			below = e->node;
			continue;
		}
		RB_TRY(insert_node(s, ctx, below, e, &below));
		s->node_of[e->edge - first] = below;
		test_place_of_ring(s, r, below);
	}
	return RB_OK;
}

/* Passes n vertices at the same point. */
static rb_status
pass_vertices(rb_polygon_sweep *s, rb_context *ctx, const rb_rings *r, uint32_t first,
			  const sweep_vertex *v, size_t n, rb_polygon_place *f)
{
	line_place l = {.at = v->at};
	uint32_t from;

	RB_TRY(list_starts_at_vertex(s, ctx, r, v, n, &l));
	RB_TRY(find_nodes_at_vertex(s, ctx, &l, f));
	if (f->fault != RB_POLYGON_CROSSED)
		RB_TRY(order_starts_at_vertex(s, ctx, &l, f));
	if (f->fault != RB_POLYGON_CROSSED)
		RB_TRY(find_rings_at_vertex(s, ctx, r, v, n, &l, f));
	if (f->fault == RB_POLYGON_CROSSED)
		return RB_OK;
	RB_TRY(replace_nodes_at_vertex(s, ctx, r, first, &l));
	from = l.low == NONE ? s->lowest : s->nodes.at[l.low].beside[1];
	test_neighbors(s, r, l.low, from, f);
	if (from != l.high && f->fault != RB_POLYGON_CROSSED && l.high != NONE)
		test_neighbors(s, r, s->nodes.at[l.high].beside[0], l.high, f);
	return RB_OK;
}

/* ---- a polygon ---- */

/* Orders vertices by x, then by y. */
static int
by_sweep(const void *a, const void *b, const void *arg)
{
	const sweep_vertex *x = a, *y = b;

	(void) arg;
	return rb_is_point_before(x->at, y->at) ? -1 : rb_is_point_before(y->at, x->at);
}

/* Returns a coordinate of a vertex as a key that has the order of doubles. */
static uint64_t
key_of_vertex(const void *element, const void *arg)
{
	const double x = ((const sweep_vertex *) element)->at[*(const int *) arg] + 0.0;
	uint64_t bits;

	memcpy(&bits, &x, sizeof bits);
	return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

/* Lists the vertices of a row in the order of the sweep. */
static rb_status
list_vertices(rb_polygon_sweep *s, rb_context *ctx, const rb_rings *r, uint32_t row)
{
	const size_t n = r->row_start[row + 1] - r->row_start[row];

	rb_vec_clear(&s->vertices);
	RB_TRY(rb_vec_reserve(ctx, &s->vertices, n));
	for (uint32_t k = r->row_ring[row]; k < r->row_ring[row + 1]; k++)
		for (uint32_t i = r->ring[k].start; i < r->ring[k].end; i++)
		{
			const double *e = rb_edge(r, i);

			if (rb_stop_due(ctx, i, CHECK_INTERVAL))
				return RB_STOPPED;
			s->vertices.at[s->vertices.n++] = (sweep_vertex){{e[0], e[1]}, i};
		}
	if (n <= MOST_COMPARED)
		return rb_sort(ctx, s->vertices.at, s->vertices.n, sizeof(sweep_vertex), by_sweep, NULL);
	RB_TRY(RB_RENEW(ctx, s->spare, s->spares, s->vertices.cap));
	for (int axis = 1; axis >= 0; axis--)
		RB_TRY(rb_radix_sort(ctx, (void **) &s->vertices.at, (void **) &s->spare, s->vertices.n,
							 sizeof(sweep_vertex), 8, key_of_vertex, &axis));
	/* The arrays may have been exchanged. */
	s->spares = s->vertices.cap = s->spares < s->vertices.cap ? s->spares : s->vertices.cap;
	return RB_OK;
}

rb_status
rb_sweep_polygon(rb_polygon_sweep *s, rb_context *ctx, const rb_rings *r, uint32_t row,
				 rb_polygon_place *f)
{
	const uint32_t first = r->row_start[row];
	const sweep_vertex *v;
	size_t n;

	s->env = (rb_exact_env){.filters = RB_FILTER_ALL, .exact = true};
	s->root = s->lowest = s->free = s->misplaced = NONE;
	rb_vec_clear(&s->nodes);
	rb_vec_clear(&s->touches);
	RB_TRY(RB_RENEW(ctx, s->node_of, s->nodes_of, r->row_start[row + 1] - first));
	RB_TRY(list_vertices(s, ctx, r, row));
	v = s->vertices.at;
	n = s->vertices.n;
	for (size_t i = 0; i < n && f->fault != RB_POLYGON_CROSSED;)
	{
		const size_t from = i++;
		bool passed = false;

		if (rb_stop_due(ctx, from, CHECK_INTERVAL))
			return RB_STOPPED;
		while (i < n && are_points_equal(v[i].at, v[from].at))
			i++;
		if (i - from == 1)
			pass_simple_vertex(s, r, first, &v[from], &passed, f);
		if (!passed)
			RB_TRY(pass_vertices(s, ctx, r, first, v + from, i - from, f));
	}
	return RB_OK;
}

void
rb_sweep_close(rb_memory *memory, rb_polygon_sweep *s)
{
	rb_vec_free(memory, &s->vertices);
	RB_FREE(memory, s->spare);
	rb_vec_free(memory, &s->nodes);
	RB_FREE(memory, s->node_of);
	rb_vec_free(memory, &s->starts);
	rb_vec_free(memory, &s->rings);
	rb_vec_free(memory, &s->touches);
}
