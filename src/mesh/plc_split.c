/*
 * plc_split.c
 *	  Splits facets and segments where they cross, so that the parts meet only in common corners and
 *	  edges.
 *
 * Each triangle is split separately:
 *
 *		what it shares with each other part that it meets (rb_meet_points):
 *			points on its edges		-> vertices of its polygon
 *			points inside			-> isolated points of the polygon
 *			a line					-> an edge of the polygon, split where two lines cross
 *
 * The polygon, with lines as holes of two points and isolated points as holes of one, is passed to
 * the geometry reader, which triangulates it. A point has the same doubles whatever it is computed
 * from (intersect.c). The two triangles at an edge, and two triangles that cross in a line, are
 * therefore split at the same points. Points on an edge are recorded by edge, for all triangles
 * that have it.
 *
 * Points are rounded, so the parts are slightly displaced and may cross something that was very
 * near. They are then split again, in rounds that snap new points over increasing distances. Parts
 * that are thinner than such a distance are dropped, and their neighbors meet in their place.
 */
#include "mesh/splitting.h"

#define RB_ROUNDS 8
#define RB_ROUNDS_FREE 3 /* rounds in which meetings need not become fewer */
#define RB_FLAT_ROUNDS 3 /* rounds in which flat triangles are dropped */

/* ---- assembly of the result ---- */

/*
 * Removes all but the first of the triangles with equal corners, which belongs to each surface that
 * an odd number of them belong to.
 */
static rb_status
drop_equal_split_triangles(rb_splitting *s)
{
	uint32_t *t = (uint32_t *) s->triangles.at, *facet_of = s->facet_of.at,
			 *triangle_of = s->triangle_of.at;
	uint8_t *surfaces = s->surfaces.at;
	uint32_t n = 0;

	rb_table_empty(&s->found);
	RB_TRY(rb_table_expect(s->ctx, &s->found, s->triangles.n));
	for (uint32_t i = 0; i < s->triangles.n; i++)
	{
		const uint32_t *v = t + 3 * (size_t) i;
		uint32_t *first;
		bool fresh;

		RB_TRY(rb_table_insert(s->ctx, &s->found, v[0], v[1], v[2], n, &first, &fresh));
		if (surfaces != NULL)
			surfaces[*first] = fresh ? surfaces[i] : surfaces[*first] ^ surfaces[i];
		if (fresh)
		{
			memmove(t + 3 * (size_t) n, v, 3 * sizeof *t);
			facet_of[n] = facet_of[i];
			triangle_of[n++] = triangle_of[i];
		}
		if (rb_stop_due(s->ctx, i, RB_SPLIT_CHECK_INTERVAL))
			return RB_STOPPED;
	}
	s->changed |= n < s->triangles.n;
	s->split->dropped += s->triangles.n - n;
	s->triangles.n = s->facet_of.n = s->triangle_of.n = n;
	return RB_OK;
}

/*
 * Removes duplicate segments, and those created here on the boundary of a facet. Given segments are
 * kept, because polygons are not merged across them.
 */
static rb_status
drop_segments(rb_splitting *s)
{
	rb_split_triple *segment = s->segments.at;
	uint32_t n = 0;

	rb_table_empty(&s->found);
	RB_TRY(rb_table_expect(s->ctx, &s->found, s->segments.n));
	for (uint32_t i = 0; i < s->segments.n; i++)
	{
		bool fresh;

		RB_TRY(rb_table_insert(s->ctx, &s->found, segment[i].a, segment[i].b, RB_NONE, n, NULL,
							   &fresh));
		if (fresh)
			segment[n++] = segment[i];
	}
	s->segments.n = n;
	/*
	 * Collect triangle edges that are segments created here. An edge that occurs once in a facet is
	 * on the facet's boundary.
	 */
	for (uint32_t i = 0; i < s->triangles.n && n > 0; i++)
	{
		const uint32_t *t = s->triangles.at[i];

		for (int k = 0; k < 3; k++)
		{
			const uint32_t *place = rb_table_get(&s->found, t[k], t[(k + 1) % 3], RB_NONE);

			if (place != NULL && segment[*place].point == RB_NONE)
				RB_TRY(rb_split_append_triple(s, &s->borders, *place, s->facet_of.at[i], 0));
		}
		if (rb_stop_due(s->ctx, i, RB_SPLIT_CHECK_INTERVAL))
			return RB_STOPPED;
	}
	RB_TRY(rb_split_sort_triples(s, &s->borders, rb_split_by_three_numbers));
	for (uint32_t i = 0; i < s->borders.n; i++)
	{
		const rb_split_triple *t = s->borders.at + i;
		const bool first = i == 0 || t[-1].a != t->a || t[-1].b != t->b;
		const bool last = i + 1 == s->borders.n || t[1].a != t->a || t[1].b != t->b;

		if (first && last)
			segment[t->a].a = segment[t->a].b = RB_NONE;
	}
	n = 0;
	for (uint32_t i = 0; i < s->segments.n; i++)
		if (segment[i].a != RB_NONE)
			segment[n++] = segment[i];
	s->segments.n = n;
	return RB_OK;
}

/* Allocates everything that can fail before the PLC is changed. */
static rb_status
reserve_result(rb_splitting *s)
{
	rb_welded *w = s->welded;
	const size_t n = s->npoints, m = (size_t) s->segments.n + 1;

	RB_TRY(RB_ALLOCATE(s->ctx, w->point_row, n));
	RB_TRY(RB_ALLOCATE(s->ctx, w->point_side, n));
	RB_TRY(rb_array(s->ctx, (void **) &s->ends, m, 2 * sizeof *s->ends));
	RB_TRY(RB_ALLOCATE(s->ctx, s->segment_of, m));
	return RB_ALLOCATE(s->ctx, s->rows, m);
}

/* Replaces an array of the PLC by the one of the split PLC, and frees the old one. */
static void
swap_blocks(rb_memory *memory, void **old, void **made)
{
	rb_free(memory, old);
	*old = *made;
	*made = NULL;
}

/* Removes facets without triangles and renumbers the others. */
static void
number_split_facets(rb_splitting *s)
{
	uint32_t *facet_of = s->facet_of.at;
	rb_welded *w = s->welded;
	uint32_t last = RB_NONE, n = 0;

	for (uint32_t i = 0; i < s->facet_of.n; i++)
	{
		if (facet_of[i] != last)
		{
			last = facet_of[i];
			w->facet_row[n] = w->facet_row[last];
			w->facet_face[n] = w->facet_face[last];
			memmove(w->plane[n], w->plane[last], sizeof *w->plane);
			if (w->group != NULL)
				w->group[n] = w->group[last];
			n++;
		}
		facet_of[i] = n - 1;
	}
	w->plc.nfacets = w->npolygons = n;
}

/* Moves points, segments and triangles to the PLC. */
static rb_status
move_result(rb_splitting *s)
{
	rb_memory *memory = s->ctx->memory;
	rb_welded *w = s->welded;
	rb_plc *plc = &w->plc;

	RB_TRY(reserve_result(s));
	for (uint32_t i = plc->npoints; i < s->npoints; i++)
	{
		w->point_row[i] = RB_NONE;
		w->point_side[i] = RB_WELD_SPLIT;
	}
	for (uint32_t i = 0; i < s->segments.n; i++)
	{
		const rb_split_triple *t = s->segments.at + i;

		s->ends[2 * (size_t) i] = t->a;
		s->ends[2 * (size_t) i + 1] = t->b;
		s->segment_of[i] = t->point;
		s->rows[i] = t->point == RB_NONE ? RB_NONE : s->pieces->rows[t->point];
	}
	number_split_facets(s);
	plc->npoints = s->npoints;
	plc->ntriangles = s->triangles.n;
	plc->nsegments = s->segments.n;
	swap_blocks(memory, (void **) &plc->points, (void **) &s->points.at);
	swap_blocks(memory, (void **) &plc->triangles, (void **) &s->triangles.at);
	swap_blocks(memory, (void **) &plc->facet_of, (void **) &s->facet_of.at);
	if (w->surfaces != NULL)
		swap_blocks(memory, (void **) &w->surfaces, (void **) &s->surfaces.at);
	swap_blocks(memory, (void **) &plc->segments, (void **) &s->ends);
	swap_blocks(memory, (void **) &w->segment_row, (void **) &s->rows);
	swap_blocks(memory, (void **) &s->pieces->triangle_of, (void **) &s->triangle_of.at);
	swap_blocks(memory, (void **) &s->pieces->segment_of, (void **) &s->segment_of);
	return RB_OK;
}

/* ---- rounds ---- */

/* Records two parts of the PLC that meet, as the self join finds them. */
static rb_status
note_meeting(void *user, rb_meeting meeting)
{
	rb_splitting *s = user;

	return rb_split_append_triple(s, &s->meetings, meeting.red, meeting.blue, meeting.payload);
}

/* Frees the arrays of the splitting. */
static void
free_splitting(rb_splitting *s)
{
	rb_memory *memory = s->ctx->memory;

	rb_vec_free(memory, &s->meetings);
	rb_vec_free(memory, &s->points);
	rb_vec_free(memory, &s->lines);
	rb_vec_free(memory, &s->on_edge);
	rb_vec_free(memory, &s->near_edge);
	rb_vec_free(memory, &s->inside);
	rb_vec_free(memory, &s->cuts);
	rb_vec_free(memory, &s->hard);
	rb_vec_free(memory, &s->overlaps);
	rb_vec_free(memory, &s->ring);
	rb_vec_free(memory, &s->bytes);
	rb_vec_free(memory, &s->triangles);
	rb_vec_free(memory, &s->facet_of);
	rb_vec_free(memory, &s->triangle_of);
	rb_vec_free(memory, &s->surfaces);
	rb_vec_free(memory, &s->segments);
	rb_vec_free(memory, &s->next);
	rb_vec_free(memory, &s->borders);
	RB_FREE(memory, s->ends);
	RB_FREE(memory, s->rows);
	RB_FREE(memory, s->segment_of);
	RB_FREE(memory, s->flat);
	rb_table_free(memory, &s->found);
	RB_FREE(memory, s->cells.first);
	rb_point_hash_free(memory, &s->corners);
	rb_parts_free(memory, &s->parts);
}

/* Splits all parts that meet other parts. */
static rb_status
split_parts(rb_splitting *s)
{
	RB_TRY(rb_split_record_meetings(s));
	RB_TRY(rb_split_at_flat_corners(s));
	RB_TRY(rb_split_cross_lines(s));
	RB_TRY(rb_split_number_points(s));
	RB_TRY(rb_split_at_near_points(s));
	RB_TRY(rb_split_cut_triangles(s));
	RB_TRY(rb_split_cut_segments(s));
	RB_TRY(drop_equal_split_triangles(s));
	RB_TRY(drop_segments(s));
	return move_result(s);
}

/* Marks the inputs of the pieces that meet others. */
static void
mark_meeting_inputs(const rb_splitting *s, uint8_t mark, rb_meeting_inputs *meets)
{
	const rb_parts *parts = &s->parts;

	for (uint32_t i = 0; i < s->meetings.n; i++)
	{
		const uint32_t part[2] = {s->meetings.at[i].a, s->meetings.at[i].b};

		for (int side = 0; side < 2; side++)
			if (part[side] < parts->first_segment)
				meets->triangle[s->pieces->triangle_of[part[side]]] |= mark;
			else if (part[side] < parts->first_point)
			{
				const uint32_t of = s->pieces->segment_of[part[side] - parts->first_segment];

				if (of != RB_NONE)
					meets->segment[of] |= mark;
			}
			else if (parts->point[part[side] - parts->first_point] < meets->npoints)
				meets->point[parts->point[part[side] - parts->first_point]] |= mark;
	}
}

/*
 * Sets *closed to true if an even number of triangles of each surface, except RB_SURFACE_OPEN, have
 * each edge. Marks the
 * inputs of other triangles, and of their neighbors at the edge, as those of pieces that meet. A
 * triangle that could not be split leaves a gap if its neighbors were split at points that rounding
 * moved off their common edge.
 */
static rb_status
find_open_surfaces(rb_context *ctx, const rb_plc_pieces *pieces, rb_meeting_inputs *meets,
				   bool *closed)
{
	const rb_plc *plc = &pieces->welded->plc;
	const uint8_t *surfaces = pieces->welded->surfaces;
	rb_table odd = {0}; /* for each edge, the surfaces of which it has an odd number of triangles */
	rb_status status = rb_table_expect(ctx, &odd, 3 * (uint64_t) plc->ntriangles / 2);

	*closed = true;
	for (uint32_t pass = 0; pass < 2 && status == RB_OK; pass++)
		for (uint32_t side = 0; side < 3 * plc->ntriangles && status == RB_OK; side++)
		{
			const uint32_t t = side / 3, *v = plc->triangles[t];
			uint32_t *value;

			status = rb_table_insert(ctx, &odd, v[side % 3], v[(side + 1) % 3], RB_NONE, 0, &value,
									 NULL);
			if (status == RB_OK && pass == 0)
				*value ^= surfaces[t] & ~RB_SURFACE_OPEN;
			else if (status == RB_OK && *value != 0)
			{
				*closed = false;
				meets->triangle[pieces->triangle_of[t]] |= RB_INPUT_MEETS | RB_INPUT_MET;
			}
			if (status == RB_OK && rb_stop_due(ctx, side, RB_SPLIT_CHECK_INTERVAL))
				status = RB_STOPPED;
		}
	rb_table_free(ctx->memory, &odd);
	return status;
}

/*
 * Returns true if further rounds are not likely to help. The first rounds may increase the number
 * of meetings a little: two triangles that overlap are cut into pieces that overlap with other
 * diagonals.
 */
static bool
is_hopeless(uint32_t round, uint32_t before, uint32_t meetings)
{
	return round < RB_ROUNDS_FREE ? meetings / 2 > before + 32 : meetings > before / 2;
}

rb_status
rb_pieces_split(rb_context *ctx, const rb_backend *backend, rb_plc_pieces *pieces,
				rb_meeting_inputs *meets, rb_split_done *split, bool *sound)
{
	bool done = false, changed = true;
	uint32_t before = 0; /* number of meetings in the previous round */
	rb_status status = RB_OK;

	*sound = false;
	for (uint32_t round = 0; !done && status == RB_OK; round++)
	{
		rb_splitting s = {.ctx = ctx,
						  .pieces = pieces,
						  .welded = pieces->welded,
						  .plc = &pieces->welded->plc,
						  .env = {.filters = ctx->filters, .exact = true},
						  .split = split,
						  .round = round};

		status = rb_parts_build(ctx, s.plc, &s.parts);
		if (status == RB_OK)
			status = rb_parts_join(ctx, backend, &s.parts, note_meeting, &s);
		if (status == RB_OK && round < RB_FLAT_ROUNDS)
			status = rb_split_find_flat_triangles(&s, meets);
		*sound = status == RB_OK && s.meetings.n == 0;
		done = s.meetings.n + s.nflat == 0 || !changed || round == RB_ROUNDS ||
			   (round > 0 && is_hopeless(round, before, s.meetings.n + s.nflat));
		before = s.meetings.n + s.nflat;
		if (status == RB_OK)
			mark_meeting_inputs(&s, done ? RB_INPUT_MEETS | RB_INPUT_MET : RB_INPUT_MET, meets);
		if (status == RB_OK && !done)
		{
			status = split_parts(&s);
			split->rounds++;
		}
		changed = s.changed;
		free_splitting(&s);
	}
	if (status == RB_OK && *sound && pieces->welded->surfaces != NULL)
		status = find_open_surfaces(ctx, pieces, meets, sound);
	return status;
}
