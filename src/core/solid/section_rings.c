/*
 * section_rings.c
 *	  Connects the cuts of a section to rings and polygons, or to lines.
 *
 * Cuts in opposite directions between the same two nodes cancel: there the section has no interior,
 * or continues on both sides. At a node with several cuts, the directions of all cuts are sorted
 * around the node by exact signs. Where a cut arrives, the next direction clockwise bounds the same
 * part of the interior, and the walk continues with that cut. Each walk bounds one connected area.
 * A walk that passes a node twice is divided there, so that all rings are simple. One of the rings
 * of an outer walk is counterclockwise and bounds a polygon; the others are its holes.
 *
 * The rings of a walk without such a ring are holes of the polygon around them. It is found by a
 * ray from the lowest node of the walk, displaced downward by an infinitesimal distance, so that
 * the ray passes beside all nodes. Of the outer rings around this point, the innermost one has the
 * highest lowest node. If two of them share it, they touch there and nowhere else, and the
 * innermost one has the lower highest node.
 *
 * "Lowest" refers to the coordinates that remain after a projection along an axis: b, then a.
 */
#include "core/solid/sections.h"
#include "core/base/sort.h"
#include "core/base/union_find.h"

#define INTERVAL 256 /* Steps between checks for cancellation */

/* ---- nodes and cuts ---- */

/* Returns true if corner k of a triangle is not below the plane. */
static bool
is_above(const rb_section *s, uint32_t triangle, int k)
{
	return s->sign[3 * (size_t) triangle + (size_t) k] >= 0;
}

/* Returns the identity of the node on the edge from corner k of a triangle to the next one. */
static uint64_t
key_of_node(const rb_section *s, uint32_t triangle, int k)
{
	const int other = (k + 1) % 3, up = is_above(s, triangle, k) ? k : other;
	const size_t below = 3 * (size_t) triangle + (size_t) (k + other - up);
	const size_t above = 3 * (size_t) triangle + (size_t) up;
	const uint64_t high = s->corners.first[above];

	return s->sign[above] == 0 ? high << 32 | high
							   : (uint64_t) s->corners.first[below] << 32 | high;
}

/* Returns the edge of a triangle that leads upward through the plane, or downward. */
static int
edge_through_plane(const rb_section *s, uint32_t triangle, bool upward)
{
	int k = 0;

	while (is_above(s, triangle, k) == upward || is_above(s, triangle, (k + 1) % 3) != upward)
		k++;
	return k;
}

/* Returns the number of the node on an edge of a triangle. */
static uint32_t
node_of_edge(const rb_section *s, uint32_t triangle, int k)
{
	return (uint32_t) rb_words_lower_bound(s->key, s->nnodes, key_of_node(s, triangle, k));
}

/* Unites the nodes on each triangle without area that the plane cuts, which are one point. */
static rb_status
unite_nodes_of_flat_triangles(rb_section *s)
{
	for (uint32_t i = 0; i < s->n; i++)
	{
		if (rb_stop_due(s->ctx, i, INTERVAL))
			return RB_STOPPED;
		if (s->inward[i] == RB_SECTION_FLAT)
			(void) rb_unite(s->parent, node_of_edge(s, i, edge_through_plane(s, i, false)),
							node_of_edge(s, i, edge_through_plane(s, i, true)));
	}
	for (uint32_t i = 0; i < s->nnodes; i++)
	{
		rb_section_node *root = &s->node[rb_find_root(s->parent, i)];

		/* A corner in the plane is the simplest form of a node. */
		if (s->node[i].below == s->node[i].above)
			*root = s->node[i];
	}
	return RB_OK;
}

/* Finds all nodes, and computes their nearest doubles. */
static rb_status
find_nodes(rb_section *s)
{
	size_t n = 0;

	RB_TRY(rb_point_hash_find(s->ctx, s->points, 3 * s->n, &s->corners));
	RB_TRY(RB_GROW(s->ctx, s->key, s->key_cap, 2 * (size_t) s->n));
	for (uint32_t i = 0; i < s->n; i++)
		for (int k = 0; k < 3; k++)
			if (is_above(s, i, k) != is_above(s, i, (k + 1) % 3))
				s->key[n++] = key_of_node(s, i, k);
	RB_TRY(rb_sort_words(s->ctx, s->key, n));
	s->nnodes = 0;
	for (size_t i = 0; i < n; i++)
		if (i == 0 || s->key[i] != s->key[i - 1])
			s->key[s->nnodes++] = s->key[i];
	RB_TRY(RB_GROW(s->ctx, s->node, s->node_cap, s->nnodes));
	RB_TRY(RB_GROW(s->ctx, s->parent, s->parent_cap, s->nnodes));
	rb_union_find_init(s->parent, s->nnodes);
	for (uint32_t i = 0; i < s->nnodes; i++)
		s->node[i] = (rb_section_node){.below = s->points + 3 * (size_t) (s->key[i] >> 32),
									   .above = s->points + 3 * (size_t) (uint32_t) s->key[i]};
	RB_TRY(unite_nodes_of_flat_triangles(s));
	for (uint32_t i = 0; i < s->nnodes; i++)
	{
		if (rb_stop_due(s->ctx, i, INTERVAL))
			return RB_STOPPED;
		if (rb_find_root(s->parent, i) == i)
			rb_section_round(s->plane, &s->node[i]);
	}
	return RB_OK;
}

/* Orders cuts by their nodes in any direction, then by direction and triangle. */
static int
by_both_nodes(const void *a, const void *b, const void *arg)
{
	const rb_section_cut *x = a, *y = b;
	const uint32_t p[4] = {x->from < x->to ? x->from : x->to, x->from < x->to ? x->to : x->from,
						   x->from, x->triangle};
	const uint32_t q[4] = {y->from < y->to ? y->from : y->to, y->from < y->to ? y->to : y->from,
						   y->from, y->triangle};

	(void) arg;
	for (int i = 0; i < 4; i++)
		if (p[i] != q[i])
			return p[i] < q[i] ? -1 : 1;
	return 0;
}

/* Orders cuts by their first node, then by the second one and by triangle. */
static int
by_first_node(const void *a, const void *b, const void *arg)
{
	const rb_section_cut *x = a, *y = b;

	(void) arg;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return (x->triangle > y->triangle) - (x->triangle < y->triangle);
}

/* Returns true if two cuts have the same nodes, in any direction. */
static bool
have_cuts_same_nodes(const rb_section_cut *a, const rb_section_cut *b)
{
	return (a->from == b->from && a->to == b->to) || (a->from == b->to && a->to == b->from);
}

/* Finds the cuts of all triangles; cuts of no length are left out. */
static rb_status
collect_cuts(rb_section *s)
{
	s->ncuts = 0;
	RB_TRY(RB_GROW(s->ctx, s->cut, s->cut_cap, s->n));
	for (uint32_t i = 0; i < s->n; i++)
	{
		const bool inward = s->inward[i] == RB_SECTION_INWARD;
		uint32_t end[2];

		if (rb_stop_due(s->ctx, i, INTERVAL))
			return RB_STOPPED;
		if (s->inward[i] == RB_SECTION_FLAT)
			continue;
		for (int k = 0; k < 2; k++)
			end[k] = rb_find_root(s->parent,
								  node_of_edge(s, i, edge_through_plane(s, i, (k == 1) != inward)));
		if (end[0] != end[1])
			s->cut[s->ncuts++] = (rb_section_cut){end[0], end[1], i, UINT32_MAX, inward};
	}
	return rb_sort(s->ctx, s->cut, s->ncuts, sizeof *s->cut, by_both_nodes, NULL);
}

/*
 * Cancels opposite cuts of a closed surface, or keeps one of several cuts between the same nodes of
 * another surface.
 */
static rb_status
cancel_cuts(rb_section *s, bool closed)
{
	uint32_t kept = 0;

	for (uint32_t i = 0, k; i < s->ncuts; i = k)
	{
		uint32_t forward = 0, first, n;

		for (k = i; k < s->ncuts && have_cuts_same_nodes(&s->cut[i], &s->cut[k]); k++)
			forward += s->cut[k].from == s->cut[i].from;
		/* Cuts in the direction of the first one precede the others. */
		n = 2 * forward >= k - i ? 2 * forward - (k - i) : (k - i) - 2 * forward;
		first = 2 * forward >= k - i ? i : i + forward;
		if (!closed)
		{
			first = i;
			n = 1;
		}
		for (uint32_t m = 0; m < n; m++)
			s->cut[kept++] = s->cut[first + m];
		if (rb_stop_due(s->ctx, i, INTERVAL))
			return RB_STOPPED;
	}
	s->ncuts = kept;
	return rb_sort(s->ctx, s->cut, s->ncuts, sizeof *s->cut, by_first_node, NULL);
}

/* Finds nodes and cuts. */
static rb_status
find_cuts(rb_section *s, bool closed)
{
	RB_TRY(find_nodes(s));
	RB_TRY(collect_cuts(s));
	RB_TRY(cancel_cuts(s, closed));
	RB_TRY(RB_GROW(s->ctx, s->start, s->start_cap, (size_t) s->nnodes + 1));
	RB_TRY(RB_GROW(s->ctx, s->next, s->next_cap, s->ncuts));
	RB_TRY(RB_GROW(s->ctx, s->path, s->path_cap, (size_t) s->ncuts + 1));
	RB_TRY(RB_GROW(s->ctx, s->order, s->order_cap, (size_t) s->ncuts + 1));
	RB_TRY(RB_GROW(s->ctx, s->place, s->place_cap, s->nnodes));
	RB_TRY(RB_GROW(s->ctx, s->ends, s->ends_cap, 2 * (size_t) s->ncuts));
	return RB_GROW(s->ctx, s->ring, s->ring_cap, s->ncuts);
}

/* ---- positions ---- */

/* Returns 1 if a node is to the left of a cut, -1 if it is to the right, 0 if it is on its line. */
static int
side_of_cut(rb_section *s, const rb_section_cut *cut, uint32_t node)
{
	const int side =
		rb_section_side(&s->env, s->plane, s->points + 9 * (size_t) cut->triangle, &s->node[node]);

	return cut->turned ? side : -side;
}

/* Compares two nodes by coordinate b, then by a. */
static int
compare_nodes(const rb_section *s, uint32_t x, uint32_t y)
{
	const int drop = s->plane->drop;
	int order = 0;

	for (int k = 2; k > 0 && order == 0 && x != y; k--)
		order = rb_section_compare(s->plane, &s->node[x], &s->node[y], (drop + k) % 3);
	return order;
}

/* ---- walks ---- */

/* A cut seen from one of its nodes */
typedef struct ray
{
	uint32_t cut;
	uint32_t to; /* Other node */
	bool out;    /* True if the cut starts at the node */
	bool used;   /* True if the cut follows another one */
} ray;

typedef struct ray_order
{
	rb_section *s;
	ray first; /* The order is counterclockwise from this ray */
} ray_order;

/* Returns the side of a ray on which a node lies, as side_of_cut does. */
static int
side_of_ray(rb_section *s, const ray *r, uint32_t node)
{
	const int side = side_of_cut(s, &s->cut[r->cut], node);

	return r->out ? side : -side;
}

/* Returns the quarter of directions of a ray: 0 for the first ray, 1 left, 2 opposite, 3 right. */
static int
quarter_of_ray(const ray_order *o, const ray *r)
{
	const int side = r->cut == o->first.cut ? 1 : side_of_ray(o->s, &o->first, r->to);

	return r->cut == o->first.cut ? 0 : side > 0 ? 1 : side == 0 ? 2 : 3;
}

/* Orders rays counterclockwise around their node. */
static int
by_direction(const void *a, const void *b, const void *arg)
{
	const ray_order *o = arg;
	const ray *x = a, *y = b;
	const int p = quarter_of_ray(o, x), q = quarter_of_ray(o, y);
	const int side = p != q || p % 2 == 0 ? 0 : side_of_ray(o->s, x, y->to);

	if (p != q)
		return p < q ? -1 : 1;
	return side != 0 ? -side : (x->cut > y->cut) - (x->cut < y->cut);
}

/* Finds the cut that follows each cut that ends at a node with several cuts. */
static rb_status
pair_cuts_at_node(rb_section *s, uint32_t node, const uint64_t *in, uint32_t n)
{
	ray *rays = NULL;
	ray_order o = {.s = s};
	RB_FREE_AT_END(s->ctx->memory, &rays);

	RB_TRY(RB_ALLOCATE(s->ctx, rays, 2 * (size_t) n));
	for (uint32_t i = 0; i < n; i++)
	{
		const uint32_t from = (uint32_t) in[i], to = s->start[node] + i;

		rays[2 * i] = (ray){from, s->cut[from].from, false, false};
		rays[2 * i + 1] = (ray){to, s->cut[to].to, true, false};
	}
	o.first = rays[0];
	RB_TRY(rb_sort(s->ctx, rays, 2 * (size_t) n, sizeof *rays, by_direction, &o));
	for (uint32_t i = 0; i < 2 * n; i++)
	{
		uint32_t k = i;

		if (rays[i].out)
			continue;
		/* Directions alternate around a node of a valid solid. */
		do
			k = k > 0 ? k - 1 : 2 * n - 1;
		while (!rays[k].out || rays[k].used);
		s->next[rays[i].cut] = rays[k].cut;
		rays[k].used = true;
	}
	return RB_OK;
}

/* Finds the cut that follows each cut. */
static rb_status
pair_cuts(rb_section *s)
{
	for (uint32_t i = 0; i < s->ncuts; i++)
		s->ends[i] = (uint64_t) s->cut[i].to << 32 | i;
	RB_TRY(rb_sort_words(s->ctx, s->ends, s->ncuts));
	for (uint32_t node = 0, i = 0; node <= s->nnodes; node++)
	{
		while (i < s->ncuts && s->cut[i].from < node)
			i++;
		s->start[node] = i;
	}
	/* As many cuts end at a node as start there, so both lists have the same order. */
	for (uint32_t node = 0; node < s->nnodes; node++)
	{
		const uint32_t first = s->start[node], n = s->start[node + 1] - first;

		if (rb_stop_due(s->ctx, node, INTERVAL))
			return RB_STOPPED;
		if (n > 0 && (s->ends[first] >> 32 != node || s->ends[first + n - 1] >> 32 != node))
			return rb_fail(s->ctx, RB_BAD_GEOMETRY, 0, 0, "The section of a solid is not closed.");
		if (n == 1)
			s->next[(uint32_t) s->ends[first]] = first;
		else if (n > 1)
			RB_TRY(pair_cuts_at_node(s, node, s->ends + first, n));
	}
	return RB_OK;
}

/* Appends a ring of n cuts. */
static void
append_ring(rb_section *s, const uint32_t *path, uint32_t n, uint32_t at, uint32_t walk)
{
	rb_section_ring r = {.from = at, .n = n, .polygon = UINT32_MAX, .walk = walk};
	uint32_t first = 0;

	for (uint32_t i = 1; i < n; i++)
		if (compare_nodes(s, s->cut[path[i]].from, s->cut[path[first]].from) < 0)
			first = i;
	r.least = r.most = s->cut[path[first]].from;
	for (uint32_t i = 0; i < n; i++)
	{
		const uint32_t cut = path[(first + i) % n];

		s->order[at + i] = cut;
		s->cut[cut].ring = s->nrings;
		if (compare_nodes(s, s->cut[cut].from, r.most) > 0)
			r.most = s->cut[cut].from;
	}
	r.outer = side_of_cut(s, &s->cut[s->order[at + n - 1]], s->cut[s->order[at]].to) > 0;
	s->ring[s->nrings++] = r;
}

/* Follows the walk from a cut, and divides it into simple rings. */
static rb_status
follow_walk(rb_section *s, uint32_t first, uint32_t walk, uint32_t *done)
{
	uint32_t cut = first, n = 0;

	do
	{
		const uint32_t to = s->cut[cut].to;

		s->path[n++] = cut;
		s->place[s->cut[cut].from] = n;
		if (s->place[to] != 0)
		{
			const uint32_t from = s->place[to] - 1;

			append_ring(s, s->path + from, n - from, *done, walk);
			*done += n - from;
			for (uint32_t i = from; i < n; i++)
				s->place[s->cut[s->path[i]].from] = 0;
			n = from;
		}
		cut = s->next[cut];
		if (rb_stop_due(s->ctx, *done + n, INTERVAL))
			return RB_STOPPED;
	} while (cut != first);
	return RB_OK;
}

/* Divides all cuts into rings. */
static rb_status
find_rings(rb_section *s)
{
	uint32_t done = 0, walks = 0;

	s->nrings = 0;
	memset(s->place, 0, s->nnodes * sizeof *s->place);
	for (uint32_t i = 0; i < s->ncuts; i++)
		if (s->cut[i].ring == UINT32_MAX)
			RB_TRY(follow_walk(s, i, walks++, &done));
	return RB_OK;
}

/* ---- polygons ---- */

/* A search of the rings around a point just below a node */
typedef struct hole_search
{
	rb_section *s;
	uint32_t node;
	uint32_t touched;
} hole_search;

/* Changes the parity of a cut's ring if the ray from the point crosses the cut. */
static rb_status
cross_cut(void *user, uint32_t number)
{
	hole_search *f = user;
	rb_section *s = f->s;
	const rb_section_cut *cut = &s->cut[number];
	const rb_section_node *point = &s->node[f->node];
	const int b = (s->plane->drop + 2) % 3;
	const bool from = rb_section_compare(s->plane, &s->node[cut->from], point, b) >= 0;
	const bool to = rb_section_compare(s->plane, &s->node[cut->to], point, b) >= 0;

	if (from != to && side_of_cut(s, cut, f->node) * s->plane->turn == (to ? 1 : -1))
	{
		s->odd[cut->ring] ^= 1;
		s->touched[f->touched++] = cut->ring;
	}
	return rb_should_stop(s->ctx) ? RB_STOPPED : RB_OK;
}

/* Returns true if outer ring x is inside outer ring y, both of which are around one point. */
static bool
is_ring_inside(const rb_section *s, const rb_section_ring *x, const rb_section_ring *y)
{
	const int order = compare_nodes(s, x->least, y->least);

	return order != 0 ? order > 0 : compare_nodes(s, x->most, y->most) < 0;
}

/* Finds the innermost outer ring around a point just below a node, or UINT32_MAX. */
static rb_status
find_ring_around(rb_section *s, uint32_t node, uint32_t *ring)
{
	const int a = (s->plane->drop + 1) % 3, b = (s->plane->drop + 2) % 3;
	const double *at = s->node[node].at;
	const double box[6] = {at[a], at[b], 0, HUGE_VAL, at[b], 0};
	hole_search f = {s, node, 0};

	*ring = UINT32_MAX;
	RB_TRY(rb_boxes_find(&s->boxes, box, cross_cut, &f));
	for (uint32_t i = 0; i < f.touched; i++)
	{
		const uint32_t k = s->touched[i];

		if (s->odd[k] && s->ring[k].outer &&
			(*ring == UINT32_MAX || is_ring_inside(s, &s->ring[k], &s->ring[*ring])))
			*ring = k;
		s->odd[k] = 0;
	}
	return RB_OK;
}

/* Builds the tree of the boxes of all cuts, in the projection. */
static rb_status
build_boxes_of_cuts(rb_section *s)
{
	RB_TRY(RB_GROW(s->ctx, s->odd, s->odd_cap, s->nrings));
	RB_TRY(RB_GROW(s->ctx, s->touched, s->touched_cap, s->ncuts));
	memset(s->odd, 0, s->nrings);
	RB_TRY(rb_boxes_room(s->ctx, &s->boxes, s->ncuts));
	for (uint32_t i = 0; i < s->ncuts; i++)
	{
		const double *p = s->node[s->cut[i].from].at, *q = s->node[s->cut[i].to].at;
		double *box = s->boxes.box + 6 * (size_t) i;

		box[2] = box[5] = 0;
		for (int k = 0; k < 2; k++)
		{
			const int axis = (s->plane->drop + 1 + k) % 3;

			box[k] = rb_min(p[axis], q[axis]);
			box[3 + k] = rb_max(p[axis], q[axis]);
		}
	}
	return rb_boxes_order(s->ctx, &s->boxes);
}

/* Finds the polygon of each ring. The rings of a walk are consecutive. */
static rb_status
find_polygons(rb_section *s)
{
	bool built = false;

	for (uint32_t i = 0, k; i < s->nrings; i = k)
	{
		uint32_t outer = UINT32_MAX, least = s->ring[i].least;

		for (k = i; k < s->nrings && s->ring[k].walk == s->ring[i].walk; k++)
		{
			if (s->ring[k].outer)
				outer = k;
			if (compare_nodes(s, s->ring[k].least, least) < 0)
				least = s->ring[k].least;
		}
		if (outer == UINT32_MAX)
		{
			if (!built)
				RB_TRY(build_boxes_of_cuts(s));
			built = true;
			RB_TRY(find_ring_around(s, least, &outer));
		}
		for (uint32_t m = i; m < k; m++)
			s->ring[m].polygon = outer;
		if (rb_should_stop(s->ctx))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* ---- output ---- */

/* Appends a node to the path, unless its nearest doubles are those of the last one. */
static void
append_to_path(rb_section *s, uint32_t *n, uint32_t node)
{
	if (*n == 0 || !rb_points_equal(s->node[s->path[*n - 1]].at, s->node[node].at))
		s->path[(*n)++] = node;
}

/* Writes the first n nodes of the path. */
static rb_status
write_path(rb_section *s, const rb_section_writer *to, rb_section_mark mark, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
	{
		RB_TRY(to->put(to->user, i == 0 ? mark : RB_SECTION_CONTINUES, &s->node[s->path[i]]));
		if (rb_stop_due(s->ctx, i, INTERVAL))
			return RB_STOPPED;
	}
	return RB_OK;
}

/*
 * Writes a ring without the nodes at which it continues straight, unless other rings pass them.
 * Writes nothing if fewer than three points remain.
 */
static rb_status
write_ring(rb_section *s, const rb_section_ring *r, const rb_section_writer *to, bool *written)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->n; i++)
	{
		const rb_section_cut *before = &s->cut[s->order[r->from + (i > 0 ? i : r->n) - 1]];
		const rb_section_cut *cut = &s->cut[s->order[r->from + i]];

		if (s->start[cut->from + 1] - s->start[cut->from] > 1 ||
			side_of_cut(s, before, cut->to) != 0)
			append_to_path(s, &n, cut->from);
		if (rb_stop_due(s->ctx, i, INTERVAL))
			return RB_STOPPED;
	}
	while (n > 1 && rb_points_equal(s->node[s->path[n - 1]].at, s->node[s->path[0]].at))
		n--;
	*written = n > 2;
	if (!*written)
		return RB_OK;
	s->path[n++] = s->path[0];
	return write_path(s, to, r->outer ? RB_SECTION_POLYGON : RB_SECTION_RING, n);
}

/* Writes all polygons, each with its outer ring first. */
static rb_status
write_polygons(rb_section *s, const rb_section_writer *to)
{
	uint32_t n = 0;
	bool written = false, outer = false;

	for (uint32_t i = 0; i < s->nrings; i++)
		if (s->ring[i].polygon != UINT32_MAX)
			s->ends[n++] =
				(uint64_t) s->ring[i].polygon << 32 | (s->ring[i].outer ? 0 : i + (uint64_t) 1);
	RB_TRY(rb_sort_words(s->ctx, s->ends, n));
	for (uint32_t i = 0; i < n; i++)
	{
		const uint32_t hole = (uint32_t) s->ends[i];
		const rb_section_ring *r = &s->ring[hole == 0 ? (uint32_t) (s->ends[i] >> 32) : hole - 1];

		if (r->outer)
		{
			RB_TRY(write_ring(s, r, to, &written));
			outer = written;
		}
		else if (outer)
			RB_TRY(write_ring(s, r, to, &written));
	}
	return RB_OK;
}

rb_status
rb_section_polygons(rb_section *s, const rb_section_writer *to)
{
	RB_TRY(find_cuts(s, true));
	if (s->ncuts == 0)
		return RB_OK;
	RB_TRY(pair_cuts(s));
	RB_TRY(find_rings(s));
	RB_TRY(find_polygons(s));
	return write_polygons(s, to);
}

/* ---- lines ---- */

/* Returns the node of a cut that is not this one. */
static uint32_t
other_node(const rb_section_cut *cut, uint32_t node)
{
	return cut->from == node ? cut->to : cut->from;
}

/* Returns true if a line continues straight from a cut that ends at a node to another one. */
static bool
is_line_straight(rb_section *s, const rb_section_cut *before, uint32_t node,
				 const rb_section_cut *cut)
{
	const uint32_t from = other_node(before, node), to = other_node(cut, node);

	return side_of_cut(s, before, to) == 0 &&
		   compare_nodes(s, from, node) == compare_nodes(s, node, to);
}

/* Writes a line of n cuts from a node, without the nodes at which it continues straight. */
static rb_status
write_line(rb_section *s, const rb_section_writer *to, uint32_t node, uint32_t n)
{
	uint32_t m = 0, first = node;
	bool closed;

	for (uint32_t i = 0; i < n; i++)
		first = other_node(&s->cut[s->order[i]], first);
	closed = first == node;
	append_to_path(s, &m, node);
	for (uint32_t i = 0; i < n; i++)
	{
		const rb_section_cut *cut = &s->cut[s->order[i]];

		node = other_node(cut, node);
		if (i + 1 == n || !is_line_straight(s, cut, node, &s->cut[s->order[i + 1]]))
			append_to_path(s, &m, node);
		if (rb_stop_due(s->ctx, i, INTERVAL))
			return RB_STOPPED;
	}
	/* A closed line starts at its first corner. */
	if (closed && m > 2 && n > 1 && s->start[node + 1] - s->start[node] == 2 &&
		is_line_straight(s, &s->cut[s->order[n - 1]], node, &s->cut[s->order[0]]))
	{
		memmove(s->path, s->path + 1, (m - 2) * sizeof *s->path);
		m -= 2;
		s->path[m++] = s->path[0];
	}
	return m > 1 ? write_path(s, to, RB_SECTION_LINE, m) : RB_OK;
}

/* Follows a line from a node, as long as two cuts meet at its nodes, and writes it. */
static rb_status
follow_line(rb_section *s, const rb_section_writer *to, uint32_t node, uint32_t cut)
{
	const uint32_t begin = node;
	uint32_t n = 0;

	for (;;)
	{
		const uint64_t *ends;

		s->order[n++] = cut;
		s->cut[cut].ring = 0;
		node = other_node(&s->cut[cut], node);
		ends = s->ends + s->start[node];
		if (node == begin || s->start[node + 1] - s->start[node] != 2)
			return write_line(s, to, begin, n);
		cut = (uint32_t) ends[0] == cut ? (uint32_t) ends[1] : (uint32_t) ends[0];
		if (rb_stop_due(s->ctx, n, INTERVAL))
			return RB_STOPPED;
	}
}

rb_status
rb_section_lines(rb_section *s, const rb_section_writer *to)
{
	RB_TRY(find_cuts(s, false));
	for (uint32_t i = 0; i < s->ncuts; i++)
	{
		s->ends[2 * (size_t) i] = (uint64_t) s->cut[i].from << 32 | i;
		s->ends[2 * (size_t) i + 1] = (uint64_t) s->cut[i].to << 32 | i;
	}
	RB_TRY(rb_sort_words(s->ctx, s->ends, 2 * (size_t) s->ncuts));
	for (uint32_t node = 0, i = 0; node <= s->nnodes; node++)
	{
		while (i < 2 * s->ncuts && s->ends[i] >> 32 < node)
			i++;
		s->start[node] = i;
	}
	for (int closed = 0; closed < 2; closed++)
		for (uint32_t i = 0; i < 2 * s->ncuts; i++)
		{
			const uint32_t node = (uint32_t) (s->ends[i] >> 32), cut = (uint32_t) s->ends[i];

			if (s->cut[cut].ring == UINT32_MAX &&
				(closed || s->start[node + 1] - s->start[node] != 2))
				RB_TRY(follow_line(s, to, node, cut));
		}
	return RB_OK;
}

void
rb_section_free(rb_memory *memory, rb_section *s)
{
	RB_FREE(memory, s->points);
	RB_FREE(memory, s->sign);
	RB_FREE(memory, s->inward);
	rb_point_hash_free(memory, &s->corners);
	RB_FREE(memory, s->key);
	RB_FREE(memory, s->parent);
	RB_FREE(memory, s->node);
	RB_FREE(memory, s->cut);
	RB_FREE(memory, s->start);
	RB_FREE(memory, s->next);
	RB_FREE(memory, s->path);
	RB_FREE(memory, s->order);
	RB_FREE(memory, s->place);
	RB_FREE(memory, s->ends);
	RB_FREE(memory, s->ring);
	rb_boxes_free(memory, &s->boxes);
	RB_FREE(memory, s->odd);
	RB_FREE(memory, s->touched);
}
