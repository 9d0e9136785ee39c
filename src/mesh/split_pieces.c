/*
 * split_pieces.c
 *	  Cuts triangles and segments at the points and lines that they share with others.
 *
 * The polygon of a triangle is written as EWKB for the geometry reader: points on its edges are
 * vertices of its outer ring, lines are holes of two points, and isolated points are holes of one.
 */
#include "mesh/splitting.h"

/* ---- points along an edge ---- */

typedef struct triple_search
{
	const rb_split_triple *at;
	uint32_t a, b;
} triple_search;

/* Returns true if triple i is less than the sought pair (a, b), for a binary search. */
static inline bool
is_triple_before(size_t i, const void *arg)
{
	const triple_search *s = arg;

	return s->at[i].a < s->a || (s->at[i].a == s->a && s->at[i].b < s->b);
}

/* Returns the position of the first triple not below (a, b). */
static uint32_t
find_split_triple(const rb_split_triples *l, uint32_t a, uint32_t b)
{
	const triple_search wanted = {l->at, a, b};

	return (uint32_t) rb_lower_bound(0, l->n, is_triple_before, &wanted);
}

rb_status
rb_split_append_ring_point(rb_splitting *s, uint32_t point)
{
	RB_TRY(RB_SPLIT_RESERVE(s, &s->ring, 1));
	if (s->ring.n == 0 || s->ring.at[s->ring.n - 1] != point)
		s->ring.at[s->ring.n++] = point;
	return RB_OK;
}

rb_status
rb_split_append_edge_points(rb_splitting *s, uint32_t a, uint32_t b)
{
	const uint32_t low = a < b ? a : b, high = a < b ? b : a;
	const rb_split_triple *t = s->on_edge.at;
	const uint32_t from = find_split_triple(&s->on_edge, low, high);
	uint32_t to = from;

	RB_TRY(rb_split_append_ring_point(s, a));
	while (to < s->on_edge.n && t[to].a == low && t[to].b == high)
		to++;
	for (uint32_t i = 0; i < to - from; i++)
		RB_TRY(rb_split_append_ring_point(s, t[a == low ? from + i : to - 1 - i].point));
	return RB_OK;
}

/* ---- pieces of triangles ---- */

/* Appends bytes to the EWKB polygon from which the current triangle is triangulated again. */
static rb_status
append_split_polygon_bytes(rb_splitting *s, const void *bytes, size_t n)
{
	RB_TRY(RB_SPLIT_RESERVE(s, &s->bytes, n));
	memcpy(s->bytes.at + s->bytes.n, bytes, n);
	s->bytes.n += (uint32_t) n;
	return RB_OK;
}

/*
 * Appends a closed ring of n points, outer or hole, to the polygon of the triangle that is split.
 */
static rb_status
append_split_polygon_ring(rb_splitting *s, const uint32_t *point, uint32_t n, uint32_t *rings)
{
	const uint32_t count = n > 1 ? n + 1 : n;

	RB_TRY(append_split_polygon_bytes(s, &count, sizeof count));
	for (uint32_t i = 0; i < count; i++)
		RB_TRY(
			append_split_polygon_bytes(s, rb_split_get_point(s, point[i % n]), 3 * sizeof(double)));
	++*rings;
	return RB_OK;
}

/*
 * Adds a line between two points of a triangle that is split: as a segment, and as an edge of the
 * triangle's polygon.
 */
static rb_status
append_split_line(rb_splitting *s, uint32_t from, uint32_t to, uint32_t outer, uint32_t *rings)
{
	const uint32_t *ring = s->ring.at;
	const uint32_t piece[2] = {from, to};

	if (from == to)
		return RB_OK;
	RB_TRY(rb_split_append_triple(s, &s->hard, from, to, 0));
	for (uint32_t i = 0; i < outer; i++)
	{
		const uint32_t next = ring[i + 1 < outer ? i + 1 : 0];

		if ((ring[i] == from && next == to) || (ring[i] == to && next == from))
			return RB_OK;
	}
	RB_TRY(append_split_polygon_ring(s, piece, 2, rings));
	/* Append the ends after the outer ring, where the corners of new triangles are looked up. */
	for (int i = 0; i < 2; i++)
	{
		RB_TRY(RB_SPLIT_RESERVE(s, &s->ring, 1));
		s->ring.at[s->ring.n++] = piece[i];
	}
	return RB_OK;
}

/* Appends a triangle that is part of the given one. */
static rb_status
add_split_triangle(rb_splitting *s, uint32_t of, const uint32_t *corner)
{
	RB_TRY(RB_SPLIT_RESERVE(s, &s->triangles, 1));
	RB_TRY(RB_SPLIT_RESERVE(s, &s->facet_of, 1));
	RB_TRY(RB_SPLIT_RESERVE(s, &s->triangle_of, 1));
	memcpy(s->triangles.at[s->triangles.n++], corner, 3 * sizeof *corner);
	s->facet_of.at[s->facet_of.n++] = s->plc->facet_of[of];
	s->triangle_of.at[s->triangle_of.n++] = s->pieces->triangle_of[of];
	if (s->welded->surfaces != NULL)
	{
		RB_TRY(RB_SPLIT_RESERVE(s, &s->surfaces, 1));
		s->surfaces.at[s->surfaces.n++] = s->welded->surfaces[of];
	}
	return RB_OK;
}

/*
 * Triangulates the polygon in `bytes`. If that fails, the triangle is kept unsplit and recorded. It
 * still crosses others, so another round follows, in which nearby points are unified.
 */
static rb_status
triangulate_split_polygon(rb_splitting *s, uint32_t of)
{
	const uint32_t *known = s->ring.at;
	rb_builder b;
	rb_geometry_info info;
	rb_error error = {.status = RB_OK};
	rb_geometry_fault fault;
	rb_status status = RB_OK;

	rb_builder_init(&b, s->ctx->memory, RB_TRIANGLE3);
	fault = rb_geometry_read_ewkb(&b, s->bytes.at, s->bytes.n, &info, &error);
	if (fault == RB_GEOMETRY_NO_MEMORY)
		status = rb_fail(s->ctx, error.status, error.need, error.limit, NULL);
	else if (fault != RB_GEOMETRY_OK || b.nparts == 0)
	{
		status = add_split_triangle(s, of, s->plc->triangles[of]);
	}
	else
		s->changed = true;
	for (uint32_t i = 0; i < b.nparts && fault == RB_GEOMETRY_OK && status == RB_OK; i++)
	{
		uint32_t corner[3];

		for (int k = 0; k < 3; k++)
		{
			uint32_t j = 0;

			while (j + 1 < s->ring.n &&
				   !rb_equal3(rb_split_get_point(s, known[j]), b.coords + 9 * (size_t) i + 3 * k))
				j++;
			corner[k] = known[j];
		}
		if (corner[0] != corner[1] && corner[1] != corner[2] && corner[2] != corner[0])
			status = add_split_triangle(s, of, corner);
		if (rb_stop_due(s->ctx, i, RB_SPLIT_CHECK_INTERVAL))
			status = RB_STOPPED;
	}
	rb_builder_free(&b);
	return status;
}

/*
 * Splits a triangle at its lines line_from up to line_to - 1. *cut is the position of the first cut
 * of these lines and is advanced past the last one.
 */
static rb_status
split_triangle_at_lines(rb_splitting *s, uint32_t of, uint32_t line_from, uint32_t line_to,
						uint32_t *cut)
{
	const uint32_t *corner = s->plc->triangles[of];
	const uint16_t one = 1;
	const uint8_t order =
		*(const uint8_t *) &one; /* byte order of the machine: 1 if little endian */
	const uint32_t type = UINT32_C(0x80000003);
	uint32_t outer, rings = 0, inside = find_split_triple(&s->inside, of, 0);

	s->ring.n = s->bytes.n = 0;
	for (int e = 0; e < 3; e++)
		RB_TRY(rb_split_append_edge_points(s, corner[e], corner[(e + 1) % 3]));
	outer = s->ring.n;
	if (outer == 3 && line_from == line_to &&
		(inside == s->inside.n || s->inside.at[inside].a != of))
		return add_split_triangle(s, of, corner);
	RB_TRY(append_split_polygon_bytes(s, &order, 1));
	RB_TRY(append_split_polygon_bytes(s, &type, sizeof type));
	RB_TRY(append_split_polygon_bytes(s, &rings, sizeof rings));
	RB_TRY(append_split_polygon_ring(s, s->ring.at, outer, &rings));
	for (uint32_t i = line_from; i < line_to; i++)
	{
		const rb_split_line *l = s->lines.at + i;
		uint32_t from = l->from;

		for (; *cut < s->cuts.n && s->cuts.at[*cut].a == i; ++*cut)
		{
			RB_TRY(append_split_line(s, from, s->cuts.at[*cut].point, outer, &rings));
			from = s->cuts.at[*cut].point;
		}
		RB_TRY(append_split_line(s, from, l->to, outer, &rings));
	}
	for (; inside < s->inside.n && s->inside.at[inside].a == of; inside++)
	{
		const uint32_t point = s->inside.at[inside].point;
		uint32_t i = 0;

		while (i < s->ring.n && s->ring.at[i] != point)
			i++;
		if (i < s->ring.n)
			continue;
		RB_TRY(append_split_polygon_ring(s, &point, 1, &rings));
		RB_TRY(RB_SPLIT_RESERVE(s, &s->ring, 1));
		s->ring.at[s->ring.n++] = point;
	}
	memcpy(s->bytes.at + 5, &rings, sizeof rings);
	return triangulate_split_polygon(s, of);
}

rb_status
rb_split_cut_triangles(rb_splitting *s)
{
	uint32_t from = 0, cut = 0;

	for (uint32_t i = 0; i < s->plc->ntriangles; i++)
	{
		uint32_t to = from;

		while (to < s->lines.n && s->lines.at[to].of == i)
			to++;
		if (s->flat != NULL && s->flat[i])
			while (cut < s->cuts.n && s->cuts.at[cut].a < to)
				cut++;
		else
			RB_TRY(split_triangle_at_lines(s, i, from, to, &cut));
		s->changed |= s->nflat > 0;
		from = to;
		if (i % 64 == 63 && rb_should_stop(s->ctx))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* ---- pieces of segments ---- */

/* Adds the parts of an overlap of two edges between the points on the edge as segments. */
static rb_status
cut_overlap(rb_splitting *s, const rb_split_overlap *o)
{
	uint32_t last = RB_NONE;
	bool inside = false;

	s->ring.n = 0;
	RB_TRY(rb_split_append_edge_points(s, o->low, o->high));
	RB_TRY(rb_split_append_ring_point(s, o->high));
	for (uint32_t i = 0; i < s->ring.n && o->from != o->to; i++)
	{
		const uint32_t point = s->ring.at[i];

		if (inside)
			RB_TRY(rb_split_append_triple(s, &s->segments, last, point, RB_NONE));
		if (point == o->from || point == o->to)
		{
			if (inside)
				return RB_OK;
			inside = true;
		}
		last = point;
	}
	return RB_OK;
}

rb_status
rb_split_cut_segments(rb_splitting *s)
{
	for (uint32_t i = 0; i < s->plc->nsegments; i++)
	{
		const uint32_t *end = s->plc->segments[i];

		s->ring.n = 0;
		RB_TRY(rb_split_append_edge_points(s, end[0], end[1]));
		RB_TRY(rb_split_append_ring_point(s, end[1]));
		s->changed |= s->ring.n > 2;
		for (uint32_t k = 0; k + 1 < s->ring.n; k++)
			RB_TRY(rb_split_append_triple(s, &s->segments, s->ring.at[k], s->ring.at[k + 1],
										  s->pieces->segment_of[i]));
	}
	for (uint32_t i = 0; i < s->hard.n; i++)
	{
		const rb_split_triple *t = s->hard.at + i;

		if (t->a != t->b)
			RB_TRY(rb_split_append_triple(s, &s->segments, t->a, t->b, RB_NONE));
	}
	for (uint32_t i = 0; i < s->overlaps.n; i++)
		RB_TRY(cut_overlap(s, s->overlaps.at + i));
	return RB_OK;
}
