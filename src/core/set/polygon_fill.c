/*
 * polygon_fill.c
 *	  Finds the regions of the triangulation that are inside the face and writes them as triangles.
 *
 * The plane is flooded from outside. Crossing an edge that the outer ring uses an odd number of
 * times enters or leaves that ring, and likewise for each hole: this is the even-odd rule. A region
 * is inside the face if it is inside the outer ring and in no hole. A hole must lie inside the
 * outer ring and in no other hole.
 *
 * A ring edge that borders no inside region (a spike) is written as a degenerate triangle, so that
 * no stored point is lost.
 */
#include "core/set/polygon.h"

/*
 * Location of a region: 0 if not known yet, else 1 + (1 if inside the outer ring) + 2 * (number of
 * the hole's ring, or 0 if in no hole)
 */
#define WHERE(outer, hole) (1 + (uint32_t) (outer) + 2 * (hole))
#define IN_OUTER(where) (((where) -1) & 1)
#define HOLE_OF(where) (((where) -1) / 2)
#define INSIDE WHERE(1, 0)

/* Returns true if the vertex is inside the ring, by the even-odd rule, or on it. */
static bool
is_in_ring(const rb_polygon_face *f, uint32_t ring, uint32_t v)
{
	bool inside = false;

	for (uint32_t i = 0; i < f->ncorners; i++)
	{
		uint32_t p = f->corner[i].vertex, q = f->corner[f->corner[i].next].vertex;
		int side;

		if (f->corner[i].ring != ring)
			continue;
		if (p == v || q == v)
			return true;
		/* Vertex numbers follow the order of x, then y. */
		if ((p < v) == (q < v))
			continue;
		side = p < q ? rb_face_side(f, p, q, v) : rb_face_side(f, q, p, v);
		if (side == 0)
			return true;
		inside ^= side > 0;
	}
	return inside;
}

/* Returns true if all corners of ring `inner` are inside ring `outer` or on it. */
static bool
is_ring_in_ring(const rb_polygon_face *f, uint32_t inner, uint32_t outer)
{
	for (uint32_t i = 0; i < f->ncorners; i++)
		if (f->corner[i].ring == inner && !is_in_ring(f, outer, f->corner[i].vertex))
			return false;
	return true;
}

static rb_hole_overlap
overlap_of(const rb_polygon_face *f, uint32_t hole, uint32_t other)
{
	const bool in = is_ring_in_ring(f, hole, other), around = is_ring_in_ring(f, other, hole);

	return in && around ? RB_HOLES_EQUAL : in || around ? RB_HOLES_NESTED : RB_HOLES_CROSS;
}

static rb_geometry_fault
hole_fault(rb_polygon_face *f, rb_geometry_fault fault, uint32_t vertex, uint32_t hole,
		   uint32_t other)
{
	f->info->hole = hole;
	f->info->other = other;
	if (fault == RB_GEOMETRY_HOLES)
		f->info->overlap = (uint8_t) overlap_of(f, hole, other);
	return rb_face_fault(f, fault, 1, &f->vertex[vertex].corner);
}

/* Computes the location of the region on the other side of h. */
static rb_geometry_fault
location_across(rb_polygon_face *f, uint32_t h, uint32_t *to)
{
	uint32_t where = f->half[h].mark;
	bool outer = IN_OUTER(where);
	uint32_t hole = HOLE_OF(where);
	uint32_t entered = 0;

	for (uint32_t i = f->used[h / 2]; i != RB_NONE; i = f->use[i].next)
	{
		const rb_use *u = f->use + i;

		if (!u->odd)
			continue;
		if (u->ring == 0)
			outer = !outer;
		else if (u->ring == hole)
			hole = 0;
		else if (entered == 0)
			entered = u->ring;
		else
			return hole_fault(f, RB_GEOMETRY_HOLES, f->half[h].from, entered, u->ring);
	}
	if (entered != 0 && hole != 0)
		return hole_fault(f, RB_GEOMETRY_HOLES, f->half[h].from, hole, entered);
	if (entered != 0)
		hole = entered;
	if (hole != 0 && !outer)
		return hole_fault(f, RB_GEOMETRY_HOLE_OUTSIDE, f->half[h].from, hole, 0);
	*to = WHERE(outer, hole);
	return RB_GEOMETRY_OK;
}

static rb_geometry_fault
flood_regions(rb_polygon_face *f)
{
	rb_half_edge *half = f->half;
	uint32_t *stack = f->work;
	size_t n = 0;
	uint32_t h = f->outside;

	for (uint32_t i = 0; i < f->nhalves && !rb_face_stops(f, 1); i++)
		half[i].mark = 0;
	if (f->stopped)
		return RB_GEOMETRY_STOPPED;
	do
	{
		half[h].mark = WHERE(0, 0);
		stack[n++] = h;
		h = half[h].next;
	} while (h != f->outside);
	while (n > 0)
	{
		uint32_t t, where = 0;
		rb_geometry_fault fault;

		h = stack[--n];
		t = h ^ 1;
		if (half[t].mark != 0)
			continue;
		if (rb_face_stops(f, 1))
			return RB_GEOMETRY_STOPPED;
		fault = location_across(f, h, &where);
		if (fault != RB_GEOMETRY_OK)
			return fault;
		half[t].mark = half[half[t].next].mark = half[half[t].prev].mark = where;
		stack[n++] = half[t].next;
		stack[n++] = half[t].prev;
	}
	return RB_GEOMETRY_OK;
}

/*
 * Checks that each hole that uses the edge h lies inside the outer ring and in no other hole there.
 * This includes holes that enclose no area along the edge.
 */
static rb_geometry_fault
judge_edge(rb_polygon_face *f, uint32_t h)
{
	uint32_t left = f->half[h].mark, right = f->half[h ^ 1].mark;
	uint32_t within = HOLE_OF(left) == HOLE_OF(right) ? HOLE_OF(left) : 0;

	for (uint32_t i = f->used[h / 2]; i != RB_NONE; i = f->use[i].next)
	{
		uint32_t ring = f->use[i].ring;

		if (ring != 0 && !IN_OUTER(left) && !IN_OUTER(right))
			return hole_fault(f, RB_GEOMETRY_HOLE_OUTSIDE, f->half[h].from, ring, 0);
		if (ring != 0 && within != 0 && within != ring)
			return hole_fault(f, RB_GEOMETRY_HOLES, f->half[h].from, ring, within);
	}
	return RB_GEOMETRY_OK;
}

static rb_geometry_fault
judge_point(rb_polygon_face *f, uint32_t corner)
{
	uint32_t v = f->corner[corner].vertex;
	uint32_t h = f->vertex[v].half;
	uint32_t hole = 0;

	do
	{
		if (f->half[h].mark == INSIDE)
			return RB_GEOMETRY_OK;
		if (HOLE_OF(f->half[h].mark) != 0)
			hole = HOLE_OF(f->half[h].mark);
		h = rb_half_left(f, h);
	} while (h != f->vertex[v].half && !rb_face_stops(f, 1));
	if (f->stopped)
		return RB_GEOMETRY_STOPPED;
	return hole_fault(f, hole != 0 ? RB_GEOMETRY_HOLES : RB_GEOMETRY_HOLE_OUTSIDE, v,
					  f->corner[corner].ring, hole);
}

/*
 * Checks each vertex of a single-point ring only once, since judge_point examines all regions
 * around it.
 */
static rb_geometry_fault
judge_points(rb_polygon_face *f)
{
	uint32_t *judged = f->order;
	rb_geometry_fault fault = RB_GEOMETRY_OK;

	memset(judged, 0, f->nvertices * sizeof *judged);
	for (uint32_t i = 0; i < f->ncorners && fault == RB_GEOMETRY_OK; i++)
	{
		uint32_t v = f->corner[i].vertex;

		if (f->corner[i].next != i || judged[v])
			continue;
		judged[v] = 1;
		fault = judge_point(f, i);
	}
	return fault;
}

static inline const double *
corner_of(const rb_polygon_face *f, uint32_t h)
{
	return f->corner[f->vertex[f->half[h].from].corner].at;
}

/* Writes the triangle on the left of h, in the orientation of its ring. */
static inline void
put_triangle(const rb_polygon_face *f, uint32_t h, double *to)
{
	uint32_t next = f->half[h].next, prev = f->half[h].prev;

	memcpy(to, corner_of(f, h), 3 * sizeof(double));
	memcpy(to + 3, corner_of(f, f->turn < 0 ? prev : next), 3 * sizeof(double));
	memcpy(to + 6, corner_of(f, f->turn < 0 ? next : prev), 3 * sizeof(double));
}

/*
 * Returns true if h represents its triangle: the triangle is inside the face, and h starts at its
 * smallest vertex.
 */
static inline bool
is_triangle(const rb_polygon_face *f, uint32_t h)
{
	uint32_t from = f->half[h].from;

	return f->half[h].mark == INSIDE && from < f->half[f->half[h].next].from &&
		   from < f->half[f->half[h].prev].from;
}

static inline bool
is_spike(const rb_polygon_face *f, uint32_t h)
{
	return (h & 1) == 0 && f->used[h / 2] != RB_NONE && f->half[h].mark != INSIDE &&
		   f->half[h ^ 1].mark != INSIDE;
}

rb_geometry_fault
rb_face_inside(rb_polygon_face *f)
{
	rb_geometry_fault fault = flood_regions(f);
	rb_builder *b = f->b;
	size_t parts = 0;
	double *to;

	/* Check the edges, and count the triangles and spikes. */
	for (uint32_t h = 0; h < f->nhalves && fault == RB_GEOMETRY_OK; h++)
	{
		if (f->half[h].from == RB_NONE)
			continue;
		if ((h & 1) == 0)
			fault = judge_edge(f, h);
		parts += (size_t) is_triangle(f, h) + is_spike(f, h);
		if (rb_face_stops(f, 1))
			return RB_GEOMETRY_STOPPED;
	}
	if (fault == RB_GEOMETRY_OK)
		fault = judge_points(f);
	if (fault != RB_GEOMETRY_OK)
		return fault;
	if (rb_builder_reserve(b, parts, f->error) != RB_OK)
		return RB_GEOMETRY_NO_MEMORY;
	to = b->coords + (size_t) b->nparts * 9;
	for (uint32_t h = 0; h < f->nhalves; h++)
	{
		if (f->half[h].from == RB_NONE)
			continue;
		if (rb_face_stops(f, 1))
			return RB_GEOMETRY_STOPPED;
		if (is_triangle(f, h))
			put_triangle(f, h, to);
		else if (!is_spike(f, h))
			continue;
		else
		{
			memcpy(to, corner_of(f, h), 3 * sizeof(double));
			memcpy(to + 3, corner_of(f, h ^ 1), 3 * sizeof(double));
			memcpy(to + 6, corner_of(f, h ^ 1), 3 * sizeof(double));
		}
		to += 9;
	}
	b->nparts += (uint32_t) parts;
	return RB_GEOMETRY_OK;
}
