/*
 * solids.c
 *	  Prepares solids for queries, and locates other objects relative to them.
 *
 * The part of a surface triangle T that is not on the boundary consists of connected pieces, each
 * entirely inside or entirely outside. If T and the boundary share only isolated points, there is
 * one piece, and one ray locates it. Otherwise each piece has a section of the shared curve or area
 * on its border, on some pair of triangles:
 *
 * - The section is in the interior of both triangles: they pass through each other, so T has points
 *   inside and outside.
 * - The section is on an edge of the solid, or on an edge of T inside a triangle of the solid: the
 *   half-planes of T at that edge are inside, outside or on the boundary (relate.c).
 *
 * A triangle without area is treated as a segment.
 */
#include "core/base/sort.h"
#include "core/solid/solid.h"
#include "core/solid/relate.h"
#include "core/join/join.h"
#include "core/set/set.h"
#include "core/primitive/contact.h"
#include "core/primitive/ray.h"

#include <string.h>

#define BOTH_SIDES (RB_SOME_INSIDE | RB_SOME_OUTSIDE)
#define CHECK_INTERVAL 64 /* Number of parts tested between checks for cancellation */

struct rb_solids
{
	const rb_set *set;
	uint32_t *start; /* First part of each row, with one extra entry at the end */
	uint32_t *bad;   /* Bitmap of rows that were left out */
	double *box;     /* Bounding box of each row: low, high */
	double scale;    /* Scale of all trees, a power of two, as in box_tree.h */
	rb_tree *tree;   /* Box tree of each row */
	bool sided;      /* true if `fans` is valid */
	rb_fans fans;
};

/* ---- preparation ---- */

typedef struct trees_build
{
	rb_context *ctx;
	rb_solids *solids;
	int status;
} trees_build;

static void
make_trees(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	trees_build *m = arg;
	rb_solids *s = m->solids;

	for (uint64_t row = from; row < to && !rb_should_stop(m->ctx); row++)
	{
		const uint32_t first = s->start[row], n = s->start[row + 1] - first;
		int ok = RB_OK;
		rb_status status;

		if (n == 0 || rb_is_marked(s->bad, (uint32_t) row))
			continue;
		status =
			rb_tree_build(me, m->ctx, &s->tree[row], s->set, first, n, s->scale, NULL, UINT32_MAX);
		RB_FREE(m->ctx->memory, s->tree[row].centre);
		if (status != RB_OK)
			rb_store_if(&m->status, &ok, (int) status);
	}
}

static rb_status
make_all_trees(rb_context *ctx, rb_solids *s)
{
	trees_build m = {.ctx = ctx, .solids = s};
	rb_thread *me;
	rb_status status;

	RB_TRY(rb_team_open(ctx, ctx->threads, &me));
	status = rb_loop(me, s->set->nrows, 1, make_trees, &m);
	rb_team_close(&me);
	return m.status != RB_OK ? (rb_status) m.status : status;
}

static rb_status
find_boxes(rb_context *ctx, rb_solids *s)
{
	double largest = 0;
	int exponent;

	for (uint32_t row = 0; row < s->set->nrows; row++)
	{
		double *low = s->box + 6 * (size_t) row, *high = low + 3;

		rb_box_empty(low, high);
		for (uint32_t i = s->start[row]; i < s->start[row + 1]; i++)
		{
			double lo[3], hi[3];

			if (i % 65536 == 0 && rb_should_stop(ctx))
				return RB_STOPPED;
			rb_kind_box(RB_TRIANGLE3, s->set->coords, i, lo, hi);
			rb_box_add(low, high, lo, hi);
		}
		for (int k = 0; k < 6; k++)
			largest = fabs(low[k]) > largest && fabs(low[k]) < HUGE_VAL ? fabs(low[k]) : largest;
	}
	(void) frexp(largest, &exponent);
	s->scale = largest > 0 ? ldexp(1, exponent < -1000 ? 1000 : -exponent) : 1;
	return RB_OK;
}

rb_status
rb_solids_build(rb_context *ctx, const rb_backend *backend, const rb_set *solid_set, bool skip,
				rb_solids **solids)
{
	const size_t rows = (size_t) solid_set->nrows + 1;
	rb_solids *s = NULL;
	rb_status status;

	RB_TRY(RB_ALLOCATE(ctx, s, 1));
	memset(s, 0, sizeof *s);
	s->set = solid_set;
	status = rb_solids_check(ctx, backend, solid_set, skip, RB_SOLID_OF_BLUE, &s->bad);
	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, s->start, rows);
	if (status == RB_OK)
		status = rb_array(ctx, (void **) &s->box, rows, 6 * sizeof *s->box);
	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, s->tree, rows);
	if (status == RB_OK)
	{
		memset(s->tree, 0, rows * sizeof *s->tree);
		rb_row_starts(solid_set, s->start);
		status = find_boxes(ctx, s);
	}
	if (status == RB_OK)
		status = make_all_trees(ctx, s);
	if (status != RB_OK)
		rb_solids_free(ctx->memory, &s);
	*solids = s;
	return status;
}

rb_status
rb_solids_add_sides(rb_context *ctx, const rb_backend *backend, rb_solids *s)
{
	rb_status status;

	if (s->sided)
		return RB_OK;
	status = rb_fans_find(ctx, s->set, s->bad, &s->fans);
	if (status == RB_OK)
		status = rb_fans_find_inner(ctx, backend, &s->fans, NULL);
	if (status == RB_OK)
		s->sided = true;
	else
		rb_fans_free(ctx->memory, &s->fans);
	return status;
}

void
rb_solids_free(rb_memory *memory, rb_solids **solids)
{
	rb_solids *s = *solids;

	if (s == NULL)
		return;
	for (uint32_t row = 0; s->tree != NULL && row < s->set->nrows; row++)
	{
		RB_FREE(memory, s->tree[row].part);
		RB_FREE(memory, s->tree[row].node);
	}
	RB_FREE(memory, s->tree);
	RB_FREE(memory, s->start);
	RB_FREE(memory, s->bad);
	RB_FREE(memory, s->box);
	rb_fans_free(memory, &s->fans);
	RB_FREE(memory, *solids);
}

void
rb_solids_use(rb_solids *s, rb_context *ctx)
{
	for (uint32_t row = 0; row < s->set->nrows; row++)
		s->tree[row].ctx = ctx;
}

bool
rb_solids_is_bad(const rb_solids *s, uint32_t row)
{
	return rb_is_marked(s->bad, row);
}

void
rb_solids_room_free(rb_memory *memory, rb_solids_room *room)
{
	rb_line_intervals_free(memory, &room->stretches);
	RB_FREE(memory, room->meet);
	RB_FREE(memory, room->inside);
	room->meet_cap = room->inside_cap = 0;
}

/* ---- queries ---- */

typedef struct solid_query
{
	rb_context *ctx;
	rb_solids_room *room;
	const rb_solids *solids;
	uint32_t row;
	const rb_tree *tree;
	rb_exact_env env;
} solid_query;

static const double *
triangle_of(const solid_query *a, uint32_t part)
{
	return a->solids->set->coords + (size_t) part * 9;
}

static void
walk_from(const solid_query *a, rb_walk *w, const double low[3], const double high[3])
{
	double lo[3], hi[3];

	for (int k = 0; k < 3; k++)
	{
		lo[k] = low[k] * a->tree->scale;
		hi[k] = high[k] * a->tree->scale;
	}
	rb_walk_begin(w, a->tree, NULL, lo, hi);
}

/*
 * Returns true if the perturbed point is inside the solid. Sets *on if the unperturbed point is on
 * the boundary.
 */
static bool
is_point_inside(solid_query *a, const double *p, bool *on)
{
	const double *box = a->solids->box + 6 * (size_t) a->row;
	const double high[3] = {p[0], p[1], box[5]};
	bool inside = false;
	double square;
	uint32_t part;
	rb_walk w;

	*on = false;
	if (!rb_boxes_overlap(p, p, box, box + 3))
		return false;
	walk_from(a, &w, p, high);
	while (rb_walk_next(&w, 0, UINT32_MAX, &part, &square))
	{
		const double *t = triangle_of(a, part);
		double lo[3], hi[3];
		unsigned payload;

		/* The boxes of the tree have scaled coordinates, so check the exact box. */
		rb_points_box(t, 3, 3, lo, hi);
		if (!rb_boxes_overlap(p, high, lo, hi))
			continue;
		payload = RB_PAYLOAD(rb_ray_crossing(&a->env, p, t));
		inside ^= (payload & RB_PAYLOAD(RB_RAY_PARITY_OF(1, 0))) != 0;
		*on |= (payload & RB_PAYLOAD(RB_RAY_PARITY_OF(0, 1))) != 0;
	}
	return inside;
}

static unsigned
test_point(solid_query *a, const double *p)
{
	bool on, inside = is_point_inside(a, p, &on);

	return on ? RB_SOME_ON : inside ? RB_SOME_INSIDE : RB_SOME_OUTSIDE;
}

static int
by_triangle(const void *p, const void *q, const void *arg)
{
	const rb_pair *a = p, *b = q;

	(void) arg;
	return (a->blue > b->blue) - (a->blue < b->blue);
}

/* Appends the triangles that a segment meets to those of the previous segments. */
static rb_status
add_meets(solid_query *a, const double *segment, uint32_t i, size_t *nmeet)
{
	rb_solids_room *room = a->room;
	const size_t first = *nmeet;
	double low[3], high[3], square;
	uint32_t part;
	rb_walk w;

	rb_points_box(segment, 2, 3, low, high);
	walk_from(a, &w, low, high);
	while (rb_walk_next(&w, 0, UINT32_MAX, &part, &square))
	{
		const double *t = triangle_of(a, part);
		double lo[3], hi[3];

		rb_points_box(t, 3, 3, lo, hi);
		if (!rb_boxes_overlap(low, high, lo, hi) || rb_segment_triangle(&a->env, segment, t) != 1)
			continue;
		RB_TRY(RB_GROW(a->ctx, room->meet, room->meet_cap, *nmeet + 1));
		room->meet[(*nmeet)++] = (rb_pair){i, part};
	}
	RB_TRY(
		rb_sort(a->ctx, room->meet + first, *nmeet - first, sizeof *room->meet, by_triangle, NULL));
	return rb_should_stop(a->ctx) ? RB_STOPPED : RB_OK;
}

static rb_status
test_line(solid_query *a, const double *segments, uint32_t n, unsigned *some)
{
	rb_solids_room *room = a->room;
	rb_line_intervals *s = &room->stretches;
	rb_line line = {
		.segments = segments, .nsegments = n, .triangles = a->solids->set->coords, .nmeet = 0};
	rb_status status = RB_GROW(a->ctx, room->inside, room->inside_cap, n);

	if (status == RB_OK)
		status = rb_line_measure(a->ctx, segments, n, s);
	for (uint32_t i = 0; i < n && status == RB_OK; i++)
	{
		const double *segment = segments + (size_t) i * 6;
		bool on;

		/* A segment connected to its predecessor starts where that one ends. */
		room->inside[i] =
			(i == 0 || !rb_equal3(segment - 3, segment)) && is_point_inside(a, segment, &on);
		/* Zero-length segments yield no interval. */
		if (rb_equal3(segment, segment + 3))
			*some |= test_point(a, segment);
		status = add_meets(a, segment, i, &line.nmeet);
	}
	if (status == RB_OK && s->measured == 0)
		return RB_OK;
	line.inside = room->inside;
	line.meet = room->meet;
	if (status == RB_OK)
		status = rb_solid_intervals(a->ctx, &line, s);
	if (status != RB_OK)
		return status;
	if (s->leaves || s->n == 0)
		*some |= RB_SOME_OUTSIDE;
	for (size_t i = 0; i < s->n; i++)
		*some |= s->at[i].on_boundary ? RB_SOME_ON : RB_SOME_INSIDE;
	return RB_OK;
}

static rb_status
test_triangle(solid_query *a, const double *t, unsigned *some)
{
	const rb_fans *fans = &a->solids->fans;
	double low[3], high[3], square;
	bool curve = false;
	uint32_t part;
	rb_walk w;

	if (rb_projection_axis(&a->env, t, t + 3, t + 6) == -1)
	{
		double ends[6];

		rb_collinear_ends(t, ends);
		return test_line(a, ends, 1, some);
	}
	rb_points_box(t, 3, 3, low, high);
	walk_from(a, &w, low, high);
	while ((*some & BOTH_SIDES) != BOTH_SIDES && rb_walk_next(&w, 0, UINT32_MAX, &part, &square))
	{
		int mine[3] = {RB_UNSURE, RB_UNSURE, RB_UNSURE};
		int others[3] = {RB_UNSURE, RB_UNSURE, RB_UNSURE};
		unsigned payload, sides;
		int contact;

		if (fans->sheet[part] == RB_NO_SHEET)
			continue;
		contact = rb_triangle_contact(&a->env, t, triangle_of(a, part), mine, others);
		if (!RB_IS_YES(contact))
			continue;
		*some |= RB_SOME_ON;
		payload = RB_PAYLOAD(contact);
		if (RB_PAYLOAD_DIMENSION(payload) == 0)
			continue;
		curve = true;
		if (payload == RB_PAYLOAD(RB_CONTACT_OF(1, 1)))
		{
			*some |= BOTH_SIDES;
			continue;
		}
		sides = rb_around_surface(&a->env, t, fans, part);
		*some |= ((sides & RB_SURFACE_IN) != 0 ? RB_SOME_INSIDE : 0) |
				 ((sides & RB_SURFACE_OUT) != 0 ? RB_SOME_OUTSIDE : 0);
	}
	if (!curve)
		*some |= rb_sheet_point_is_inside(t, fans, a->tree) ? RB_SOME_INSIDE : RB_SOME_OUTSIDE;
	return rb_should_stop(a->ctx) ? RB_STOPPED : RB_OK;
}

rb_status
rb_solids_test(rb_context *ctx, rb_solids_room *room, const rb_solids *solids, uint32_t row,
			   rb_kind kind, const double *parts, uint32_t nparts, unsigned *some)
{
	solid_query a = {.ctx = ctx,
					 .room = room,
					 .solids = solids,
					 .row = row,
					 .tree = &solids->tree[row],
					 .env = {.filters = ctx->filters, .exact = true}};
	const size_t width = (size_t) rb_kind_width(kind);
	rb_status status = RB_OK;

	*some = 0;
	if (kind == RB_SEGMENT3)
		return test_line(&a, parts, nparts, some);
	for (uint32_t i = 0; i < nparts && status == RB_OK && (*some & BOTH_SIDES) != BOTH_SIDES; i++)
	{
		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		if (kind == RB_POINT3)
			*some |= test_point(&a, parts + i * width);
		else
			status = test_triangle(&a, parts + i * width, some);
	}
	/* A tree walk that was stopped may be incomplete. */
	return status == RB_OK && rb_should_stop(ctx) ? RB_STOPPED : status;
}
