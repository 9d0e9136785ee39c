/*
 * position.c
 *	  Computes RB_POSITION: the position of points, lines, surfaces and solids relative to solids,
 *	  for all rows of two sets or for one row of each.
 *
 *		boxes of red's rows x box tree of blue's rows		find the rows to be tested
 *			-> prepare those of blue: validated, with a box tree of the triangles of each
 *			-> test each red row against each solid whose box overlaps its own
 *				point: an upward ray through the tree
 *				line: triangles it meets, then its intervals (line_intervals.c)
 *				triangle of a surface: surroundings of the curves that it shares
 *					with the boundary (relate.c), or a ray if there are none (sheets.c)
 *		closed rows of triangles are solids and are handled by relate.c
 *
 * A row whose box overlaps no other is not examined, so it need not be a valid solid.
 */
#include "core/base/sort.h"
#include "core/solid/solid.h"
#include "core/join/join.h"
#include "core/set/set.h"
#include "core/primitive/contact.h"
#include "core/primitive/ray.h"

#include <string.h>

#define GRAIN RB_SIZE(64, 2) /* Number of red rows a thread takes at a time */
#define PUT RB_SIZE(256, 3)  /* Number of pairs passed to the sink at a time */
#define CHECK_INTERVAL 64    /* Number of parts tested between checks for cancellation */
#define NONE UINT32_MAX

/* Bits for the parts of an object that exist: inside, outside, on the boundary */
#define SOME_INSIDE 1u
#define SOME_OUTSIDE 2u
#define SOME_ON 4u
#define BOTH_SIDES (SOME_INSIDE | SOME_OUTSIDE)

/* ---- boxes of rows ---- */

/* Bounding box of each row of a set: low, high */
typedef struct boxes
{
	const rb_set *set;
	uint32_t *start; /* First part of each row, with one extra entry at the end */
	double *box;
} boxes;

/* Returns the box of a row: three low coordinates, then three high ones. */
static const double *
box_of_position_row(const boxes *b, uint32_t row)
{
	return b->box + 6 * (size_t) row;
}

/*
 * Computes the boxes and first parts of all rows or solids whose positions are computed, on the
 * threads of the team.
 */
static rb_status
make_boxes_for_positions(rb_context *ctx, rb_thread *me, const rb_set *set, boxes *b)
{
	b->set = set;
	RB_TRY(RB_ALLOCATE(ctx, b->start, (size_t) set->nrows + 1));
	RB_TRY(rb_array(ctx, (void **) &b->box, (size_t) set->nrows + 1, 6 * sizeof *b->box));
	return rb_row_boxes(ctx, me, set, b->start, b->box);
}

/* Frees the boxes and first parts of the rows of one side, but not their set. */
static void
free_row_boxes(rb_memory *memory, boxes *b)
{
	RB_FREE(memory, b->start);
	RB_FREE(memory, b->box);
}

/* Returns the scale of box trees for objects in these boxes. */
static double
scale_of_solid_trees(const boxes *b)
{
	double largest = 0;

	for (size_t i = 0; i < 6 * (size_t) b->set->nrows; i++)
		if (fabs(b->box[i]) > largest && fabs(b->box[i]) < HUGE_VAL) /* Not a row without parts */
			largest = fabs(b->box[i]);
	return rb_tree_scale(largest);
}

/* ---- solids prepared for queries ---- */

/*
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


typedef struct rb_solids
{
	boxes rows;
	uint32_t *bad; /* Bitmap of rows that were left out */
	double scale;  /* Scale of all trees, a power of two, as in box_tree.h */
	rb_tree *tree; /* Box tree of each row */
	bool sided;    /* true if `fans` is valid */
	rb_fans fans;
} rb_solids;

/* ---- preparation ---- */

typedef struct trees_build
{
	rb_context *ctx;
	rb_solids *solids;
	int status;
} trees_build;

/* Builds the box trees of a range of solids. */
static void
build_solid_trees_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	trees_build *m = arg;
	rb_solids *s = m->solids;

	for (uint64_t row = from; row < to && !rb_should_stop(m->ctx); row++)
	{
		const uint32_t first = s->rows.start[row], n = s->rows.start[row + 1] - first;
		rb_status status;

		if (n == 0 || rb_is_marked(s->bad, (uint32_t) row))
			continue;
		status = rb_tree_build(me, m->ctx, &s->tree[row], s->rows.set, first, n, s->scale, NULL,
							   UINT32_MAX);
		RB_FREE(m->ctx->memory, s->tree[row].centre);
		rb_keep_failure(&m->status, status);
	}
}

/* Builds the box trees of all solids on several threads. */
static rb_status
build_solid_trees(rb_context *ctx, rb_solids *s)
{
	trees_build m = {.ctx = ctx, .solids = s};
	rb_thread *me;
	rb_status status;

	RB_TRY(rb_team_open(ctx, ctx->threads, &me));
	status = make_boxes_for_positions(ctx, me, s->rows.set, &s->rows);
	if (status == RB_OK)
	{
		s->scale = scale_of_solid_trees(&s->rows);
		status = rb_loop(me, s->rows.set->nrows, 1, build_solid_trees_piece, &m);
	}
	rb_team_close(&me);
	return rb_loop_failure(m.status, status);
}

/* Frees the prepared solids of a side and sets *solids to NULL. Accepts NULL. */
static void
free_position_solids(rb_memory *memory, rb_solids **solids)
{
	rb_solids *s = *solids;

	if (s == NULL)
		return;
	for (uint32_t row = 0; s->tree != NULL && row < s->rows.set->nrows; row++)
	{
		RB_FREE(memory, s->tree[row].part);
		RB_FREE(memory, s->tree[row].node);
	}
	RB_FREE(memory, s->tree);
	RB_FREE(memory, s->bad);
	free_row_boxes(memory, &s->rows);
	rb_fans_free(memory, &s->fans);
	RB_FREE(memory, *solids);
}

/*
 * Validates all rows as solids (RB_BAD_SOLID, or omitted if `skip` is set) and builds their trees.
 * Takes no reference to the set, which must outlive the result.
 */
static rb_status
prepare_position_solids(rb_context *ctx, const rb_backend *backend, const rb_set *solid_set,
						bool skip, rb_solids **solids)
{
	const size_t rows = (size_t) solid_set->nrows + 1;
	rb_solids *s = NULL;
	rb_status status;

	RB_TRY(RB_ALLOCATE(ctx, s, 1));
	memset(s, 0, sizeof *s);
	s->rows.set = solid_set;
	status = rb_solids_check(ctx, backend, solid_set, skip, RB_SOLID_OF_BLUE, &s->bad);
	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, s->tree, rows);
	if (status == RB_OK)
	{
		memset(s->tree, 0, rows * sizeof *s->tree);
		status = build_solid_trees(ctx, s);
	}
	if (status != RB_OK)
		free_position_solids(ctx->memory, &s);
	*solids = s;
	return status;
}

/* Prepares the data for surface queries; does nothing if it is already present. */
static rb_status
prepare_surface_queries(rb_context *ctx, const rb_backend *backend, rb_solids *s)
{
	rb_status status;

	if (s->sided)
		return RB_OK;
	status = rb_fans_find(ctx, s->rows.set, s->bad, &s->fans);
	if (status == RB_OK)
		status = rb_fans_find_inner(ctx, backend, &s->fans, NULL);
	if (status == RB_OK)
		s->sided = true;
	else
		rb_fans_free(ctx->memory, &s->fans);
	return status;
}

/* Sets the context that later queries on these solids poll for cancellation. */
static void
set_solids_context(rb_solids *s, rb_context *ctx)
{
	for (uint32_t row = 0; row < s->rows.set->nrows; row++)
		s->tree[row].ctx = ctx;
}

/* Scratch memory of one thread for queries; zero-initialize before the first call */
typedef struct query_room
{
	rb_line_intervals stretches;
	rb_pair *meet;
	size_t meet_cap;
	uint8_t *inside;
	size_t inside_cap;
} query_room;

/* Frees the scratch memory in which one thread tests the positions of its rows. */
static void
free_query_room(rb_memory *memory, query_room *room)
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
	query_room *room;
	const rb_solids *solids;
	uint32_t row;
	const rb_tree *tree;
	rb_exact_env env;
} solid_query;

/* Returns the coordinates of a triangle of the solids against which rows are tested. */
static const double *
triangle_of_solid(const solid_query *a, uint32_t part)
{
	return a->solids->rows.set->coords + (size_t) part * 9;
}

/* Begins a walk through the tree of a solid from a box. */
static void
begin_walk_of_solid_tree(const solid_query *a, rb_walk *w, const double low[3],
						 const double high[3])
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
is_point_inside_solid(solid_query *a, const double *p, bool *on)
{
	const double *box = box_of_position_row(&a->solids->rows, a->row);
	const double high[3] = {p[0], p[1], box[5]};
	bool inside = false;
	double square;
	uint32_t part;
	rb_walk w;

	*on = false;
	if (!rb_boxes_overlap(p, p, box, box + 3))
		return false;
	begin_walk_of_solid_tree(a, &w, p, high);
	while (rb_walk_next(&w, 0, UINT32_MAX, &part, &square))
	{
		const double *t = triangle_of_solid(a, part);
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

/*
 * Classifies a point against the solid; returns one of the bits SOME_INSIDE, SOME_OUTSIDE and
 * SOME_ON.
 */
static unsigned
test_position_of_point(solid_query *a, const double *p)
{
	bool on, inside = is_point_inside_solid(a, p, &on);

	return on ? SOME_ON : inside ? SOME_INSIDE : SOME_OUTSIDE;
}

/* Orders the triangles of the solid that one segment of the row meets by their numbers. */
static int
by_solid_triangle(const void *p, const void *q, const void *arg)
{
	const rb_pair *a = p, *b = q;

	(void) arg;
	return (a->blue > b->blue) - (a->blue < b->blue);
}

/*
 * Appends the triangles of the solid that a segment of the row meets to those of its previous
 * segments; finds them by the solid's box tree.
 */
static rb_status
append_triangles_on_row_segment(solid_query *a, const double *segment, uint32_t i, size_t *nmeet)
{
	query_room *room = a->room;
	const size_t first = *nmeet;
	double low[3], high[3], square;
	uint32_t part;
	rb_walk w;

	rb_points_box(segment, 2, 3, low, high);
	begin_walk_of_solid_tree(a, &w, low, high);
	while (rb_walk_next(&w, 0, UINT32_MAX, &part, &square))
	{
		const double *t = triangle_of_solid(a, part);
		double lo[3], hi[3];

		rb_points_box(t, 3, 3, lo, hi);
		if (!rb_boxes_overlap(low, high, lo, hi) || rb_segment_triangle(&a->env, segment, t) != 1)
			continue;
		RB_TRY(RB_GROW(a->ctx, room->meet, room->meet_cap, *nmeet + 1));
		room->meet[(*nmeet)++] = (rb_pair){i, part};
	}
	RB_TRY(rb_sort(a->ctx, room->meet + first, *nmeet - first, sizeof *room->meet,
				   by_solid_triangle, NULL));
	return rb_should_stop(a->ctx) ? RB_STOPPED : RB_OK;
}

/* Adds the SOME_* bits of the points of a line's segments to *some. */
static rb_status
test_position_of_line(solid_query *a, const double *segments, uint32_t n, unsigned *some)
{
	query_room *room = a->room;
	rb_line_intervals *s = &room->stretches;
	rb_line line = {
		.segments = segments, .nsegments = n, .triangles = a->solids->rows.set->coords, .nmeet = 0};
	rb_status status = RB_GROW(a->ctx, room->inside, room->inside_cap, n);

	if (status == RB_OK)
		status = rb_line_measure(a->ctx, segments, n, s);
	for (uint32_t i = 0; i < n && status == RB_OK; i++)
	{
		const double *segment = segments + (size_t) i * 6;
		bool on;

		/* A segment connected to its predecessor starts where that one ends. */
		room->inside[i] =
			(i == 0 || !rb_equal3(segment - 3, segment)) && is_point_inside_solid(a, segment, &on);
		/* Zero-length segments yield no interval. */
		if (rb_equal3(segment, segment + 3))
			*some |= test_position_of_point(a, segment);
		status = append_triangles_on_row_segment(a, segment, i, &line.nmeet);
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
		*some |= SOME_OUTSIDE;
	for (size_t i = 0; i < s->n; i++)
		*some |= s->at[i].on_boundary ? SOME_ON : SOME_INSIDE;
	return RB_OK;
}

/* Adds the SOME_* bits of the points of a triangle to *some. */
static rb_status
test_position_of_triangle(solid_query *a, const double *t, unsigned *some)
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
		return test_position_of_line(a, ends, 1, some);
	}
	rb_points_box(t, 3, 3, low, high);
	begin_walk_of_solid_tree(a, &w, low, high);
	while ((*some & BOTH_SIDES) != BOTH_SIDES && rb_walk_next(&w, 0, UINT32_MAX, &part, &square))
	{
		int mine[3] = {RB_UNSURE, RB_UNSURE, RB_UNSURE};
		int others[3] = {RB_UNSURE, RB_UNSURE, RB_UNSURE};
		unsigned payload, sides;
		int contact;

		if (fans->sheet[part] == RB_NO_SHEET)
			continue;
		contact = rb_triangle_contact(&a->env, t, triangle_of_solid(a, part), mine, others);
		if (!RB_IS_YES(contact))
			continue;
		*some |= SOME_ON;
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
		*some |= ((sides & RB_SURFACE_IN) != 0 ? SOME_INSIDE : 0) |
				 ((sides & RB_SURFACE_OUT) != 0 ? SOME_OUTSIDE : 0);
	}
	if (!curve)
		*some |= rb_sheet_point_is_inside(t, fans, a->tree) ? SOME_INSIDE : SOME_OUTSIDE;
	return rb_should_stop(a->ctx) ? RB_STOPPED : RB_OK;
}

/*
 * Computes the SOME_* bits of an object, given its parts (points, segments or triangles),
 * relative to one solid. Their bounding boxes must overlap. Once some part is inside and some part
 * outside, further bits may be missing.
 */
static rb_status
test_position_of_object(rb_context *ctx, query_room *room, const rb_solids *solids, uint32_t row,
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
		return test_position_of_line(&a, parts, nparts, some);
	for (uint32_t i = 0; i < nparts && status == RB_OK && (*some & BOTH_SIDES) != BOTH_SIDES; i++)
	{
		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		if (kind == RB_POINT3)
			*some |= test_position_of_point(&a, parts + i * width);
		else
			status = test_position_of_triangle(&a, parts + i * width, some);
	}
	/* A tree walk that was stopped may be incomplete. */
	return status == RB_OK && rb_should_stop(ctx) ? RB_STOPPED : status;
}

/* ---- subsets of rows ---- */

typedef struct some_rows
{
	const rb_set *set; /* Set of the selected rows only */
	uint32_t *row;     /* Number of each selected row in the whole set */
	uint32_t *at;      /* Index of each row of the whole set among the selected ones, or NONE */
} some_rows;

/* Makes a set of some rows of another set. */
static rb_status
copy_rows_for_positions(rb_context *ctx, const boxes *of, const uint32_t *row, uint32_t nrows,
						const rb_set **set)
{
	const size_t width = (size_t) rb_kind_width(of->set->kind);
	rb_set arrays = {.kind = of->set->kind, .nrows = nrows};
	double *coords = NULL;
	uint32_t *row_of = NULL;
	RB_FREE_AT_END(ctx->memory, &coords, &row_of);

	for (uint32_t i = 0; i < nrows; i++)
		arrays.nparts += of->start[row[i] + 1] - of->start[row[i]];
	RB_TRY(rb_array(ctx, (void **) &coords, (size_t) arrays.nparts + 1, width * sizeof *coords));
	RB_TRY(RB_ALLOCATE(ctx, row_of, (size_t) arrays.nparts + 1));
	arrays.nparts = 0;
	for (uint32_t i = 0; i < nrows; i++)
	{
		const uint32_t first = of->start[row[i]], n = of->start[row[i] + 1] - first;

		memcpy(coords + arrays.nparts * width, of->set->coords + first * width,
			   n * width * sizeof *coords);
		for (uint32_t k = 0; k < n; k++)
			row_of[arrays.nparts + k] = i;
		arrays.nparts += n;
		if (rb_should_stop(ctx))
			return RB_STOPPED;
	}
	arrays.coords = coords;
	arrays.row_of = row_of;
	RB_TRY(rb_set_own(ctx->memory, &arrays, set, &ctx->error));
	coords = NULL; /* The set owns the array from here on. */
	row_of = NULL;
	return RB_OK;
}

/*
 * Selects the marked rows of one side: those whose boxes meet the other side, or closed surfaces.
 * Reuses the set itself if all rows are marked.
 */
static rb_status
select_rows_for_position(rb_context *ctx, const boxes *of, const uint32_t *marks, some_rows *some)
{
	const uint32_t rows = of->set->nrows;
	uint32_t n = 0;

	RB_TRY(RB_ALLOCATE(ctx, some->row, (size_t) rows + 1));
	RB_TRY(RB_ALLOCATE(ctx, some->at, (size_t) rows + 1));
	for (uint32_t i = 0; i < rows; i++)
	{
		some->at[i] = rb_is_marked(marks, i) ? n : NONE;
		if (some->at[i] != NONE)
			some->row[n++] = i;
	}
	if (n < rows || of->set->owner == NULL)
		return copy_rows_for_positions(ctx, of, some->row, n, &some->set);
	some->set = rb_set_hold(of->set);
	return RB_OK;
}

/*
 * Frees a selection of rows or solids of one side: the set of their parts, and both maps between
 * its rows and the original ones.
 */
static void
free_rows_for_position(rb_context *ctx, some_rows *some)
{
	rb_set_release(&some->set);
	RB_FREE(ctx->memory, some->row);
	RB_FREE(ctx->memory, some->at);
}

/* ---- all rows ---- */

typedef struct positions
{
	rb_context *ctx;
	const rb_backend *backend;
	const rb_job *job;
	const rb_row_sink *sink;
	boxes red;
	boxes blue;
	double scale;        /* Scale of the tree, as in box_tree.h */
	rb_tree tree;        /* Tree of the boxes of blue's rows */
	uint32_t *met[2];    /* Bitmaps of the red and blue rows that are tested */
	some_rows solid_set; /* Selected rows of blue */
	rb_solids *solids;
	some_rows surfaces; /* Selected rows of red, if red consists of triangles */
	uint32_t *bad;      /* Surfaces that are closed but not valid solids */
	uint32_t *open;     /* Surfaces that are not closed */
	int status;         /* First status other than RB_OK */
} positions;

/* Begins a walk through the boxes of solids from the box of a red row. */
static void
begin_walk_of_solid_boxes(const positions *p, uint32_t red, rb_walk *w)
{
	const double *box = box_of_position_row(&p->red, red);
	double lo[3], hi[3];

	for (int a = 0; a < 3; a++)
	{
		lo[a] = box[a] * p->scale;
		hi[a] = box[3 + a] * p->scale;
	}
	rb_walk_begin(w, &p->tree, NULL, lo, hi);
}

/* Finds the next solid whose box overlaps that of the red row. */
static bool
next_solid_of_walk(const positions *p, uint32_t red, rb_walk *w, uint32_t *solid)
{
	const double *a = box_of_position_row(&p->red, red);
	double square;

	while (rb_walk_next(w, 0, NONE, solid, &square))
	{
		const double *b = box_of_position_row(&p->blue, *solid);

		if (rb_boxes_overlap(a, a + 3, b, b + 3))
			return true;
	}
	return false;
}

/*
 * Marks the rows of a range whose boxes meet those of solids, and these solids; all other rows are
 * outside.
 */
static void
mark_rows_near_solids_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	positions *p = arg;

	(void) me;
	for (uint64_t row = from; row < to; row++)
	{
		uint32_t solid;
		rb_walk w;

		begin_walk_of_solid_boxes(p, (uint32_t) row, &w);
		while (next_solid_of_walk(p, (uint32_t) row, &w, &solid))
		{
			rb_mark(p->met[0], (uint32_t) row);
			rb_mark(p->met[1], solid);
		}
	}
}

/* Output buffer of a thread */
typedef struct position_batch
{
	rb_pair pair[PUT];
	uint64_t payload[PUT];
	size_t n;
} position_batch;

/* Sends the batch of positions of one thread to the sink, and empties it. */
static rb_status
send_positions(const positions *p, position_batch *b)
{
	const size_t n = b->n;

	b->n = 0;
	return n > 0 ? p->sink->put(p->sink->user, b->pair, b->payload, n) : RB_OK;
}

/*
 * Adds the position of a red row relative to a blue solid to the batch, and sends the batch if it
 * is full.
 */
static rb_status
write_position(const positions *p, position_batch *b, uint32_t red, uint32_t blue, uint64_t payload)
{
	b->pair[b->n] = (rb_pair){red, blue};
	b->payload[b->n++] = payload;
	return b->n == PUT ? send_positions(p, b) : RB_OK;
}

/*
 * Combines the SOME_* bits of all parts of a row into its position: inside, outside, on the
 * boundary or crossing.
 */
static uint64_t
combine_positions(unsigned some)
{
	if ((some & SOME_INSIDE) == 0)
		return (some & SOME_OUTSIDE) != 0 ? RB_LIES_OUTSIDE : RB_LIES_ON;
	return (some & SOME_OUTSIDE) != 0 ? RB_LIES_CROSSING : RB_LIES_INSIDE;
}

/* Converts the relation of two solids that share a point. */
static uint64_t
position_of_relation(uint64_t relation)
{
	switch (relation)
	{
		case RB_RED_INSIDE:
			return RB_LIES_INSIDE;
		case RB_SOLIDS_EQUAL:
			return RB_LIES_EQUAL;
		case RB_SOLIDS_TOUCH:
			return RB_LIES_OUTSIDE;
		default:
			return RB_LIES_CROSSING;
	}
}

/* Tests the position of one row relative to all solids that its box meets. */
static rb_status
test_position_of_row(positions *p, query_room *room, position_batch *b, uint32_t row)
{
	const rb_set *red = p->job->red;
	const uint32_t first = p->red.start[row], n = p->red.start[row + 1] - first;
	const double *parts = red->coords + (size_t) first * (size_t) rb_kind_width(red->kind);
	rb_status status = RB_OK;
	uint32_t solid;
	rb_walk w;

	if (p->open != NULL &&
		(p->surfaces.at[row] == NONE || !rb_is_marked(p->open, p->surfaces.at[row])))
		return RB_OK;
	begin_walk_of_solid_boxes(p, row, &w);
	while (status == RB_OK && next_solid_of_walk(p, row, &w, &solid))
	{
		const uint32_t at = p->solid_set.at[solid];
		unsigned some;

		if (rb_is_marked(p->solids->bad, at))
			continue;
		status = test_position_of_object(p->ctx, room, p->solids, at, red->kind, parts, n, &some);
		if (status == RB_OK)
			status = write_position(p, b, row, solid, combine_positions(some));
	}
	return status;
}

/* Tests the positions of a range of rows. */
static void
test_positions_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	positions *p = arg;
	query_room room = {.meet = NULL};
	rb_status status = RB_OK;
	position_batch b = {.n = 0};

	(void) me;
	for (uint64_t row = from; row < to && status == RB_OK && rb_load(&p->status) == RB_OK; row++)
		status = test_position_of_row(p, &room, &b, (uint32_t) row);
	if (status == RB_OK)
		status = send_positions(p, &b);
	rb_keep_failure(&p->status, status);
	free_query_room(p->ctx->memory, &room);
}

/* ---- rows that are solids themselves ---- */

typedef struct related
{
	positions *p;
	const uint32_t *row; /* For each related solid, its index among the selected red rows */
} related;

/* Writes positions from relations of closed surfaces with solids. */
static rb_status
write_positions_of_relations(void *user, const rb_pair *rows, const uint64_t *payload, size_t n)
{
	const related *r = user;
	position_batch b = {.n = 0};

	for (size_t i = 0; i < n; i++)
		RB_TRY(write_position(r->p, &b, r->p->surfaces.row[r->row[rows[i].red]],
							  r->p->solid_set.row[rows[i].blue], position_of_relation(payload[i])));
	return send_positions(r->p, &b);
}

/*
 * Finds the positions of rows that are closed surfaces by a join that relates them to the solids.
 */
static rb_status
find_positions_of_closed_rows(positions *p)
{
	const rb_set *set = p->surfaces.set;
	const size_t words = set->nrows / 32 + 1;
	boxes of = {.set = set};
	some_rows closed = {.set = NULL};
	uint32_t *marks = NULL;
	related r = {.p = p};
	const rb_row_sink sink = {.put = write_positions_of_relations, .user = &r};
	rb_status status;
	RB_FREE_AT_END(p->ctx->memory, &marks, &of.start);

	RB_TRY(RB_ALLOCATE(p->ctx, marks, words));
	RB_TRY(RB_ALLOCATE(p->ctx, of.start, (size_t) set->nrows + 1));
	RB_TRY(rb_row_starts(p->ctx, set, of.start));
	memset(marks, 0, words * sizeof *marks);
	for (uint32_t i = 0; i < set->nrows; i++)
		if (!rb_is_marked(p->open, i) && !rb_is_marked(p->bad, i))
			rb_mark(marks, i);
	status = select_rows_for_position(p->ctx, &of, marks, &closed);
	if (status == RB_OK && closed.set->nrows > 0)
	{
		const rb_job job = {.red = closed.set,
							.blue = p->solid_set.set,
							.predicate = RB_RELATION,
							.skip_bad = p->job->skip_bad};

		r.row = closed.row;
		status = rb_compose_relations(p->ctx, p->backend, &job, &sink);
	}
	free_rows_for_position(p->ctx, &closed);
	return status;
}

/* ---- entry point ---- */

/* Marks the rows and solids whose boxes meet. */
static rb_status
mark_met_rows(positions *p, rb_thread *me)
{
	const rb_set boxes_of_blue = {.kind = RB_BOX3,
								  .nparts = p->job->blue->nrows,
								  .nrows = p->job->blue->nrows,
								  .coords = p->blue.box};

	for (int side = 0; side < 2; side++)
	{
		const size_t words = (side == 0 ? p->job->red : p->job->blue)->nrows / 32 + 1;

		RB_TRY(RB_ALLOCATE(p->ctx, p->met[side], words));
		memset(p->met[side], 0, words * sizeof(uint32_t));
	}
	p->scale = scale_of_solid_trees(&p->blue);
	RB_TRY(rb_tree_build(me, p->ctx, &p->tree, &boxes_of_blue, 0, boxes_of_blue.nparts, p->scale,
						 NULL, UINT32_MAX));
	return rb_loop(me, p->job->red->nrows, GRAIN, mark_rows_near_solids_piece, p);
}

/*
 * Replaces the row number of an invalid solid in a subset by the id of that row in the whole set.
 */
static void
set_id_of_invalid_solid(rb_context *ctx, const rb_set *whole, const some_rows *some)
{
	rb_error *error = &ctx->error;

	if (some->set == whole)
		return;
	error->need = some->row[error->need];
	error->need = whole->ids != NULL ? (uint64_t) whole->ids[error->need]
									 : (uint64_t) whole->first_id + error->need;
}

/* Selects the rows to be tested and checks that they are valid. */
static rb_status
prepare_tested_rows(positions *p)
{
	rb_context *ctx = p->ctx;
	const bool surfaces = p->job->red->kind == RB_TRIANGLE3;
	rb_status status;

	RB_TRY(select_rows_for_position(ctx, &p->blue, p->met[1], &p->solid_set));
	if (surfaces)
	{
		RB_TRY(select_rows_for_position(ctx, &p->red, p->met[0], &p->surfaces));
		status = rb_solids_sort(ctx, p->backend, p->surfaces.set, p->job->skip_bad, RB_SOLID_OF_RED,
								&p->bad, &p->open);
		if (status == RB_BAD_SOLID)
			set_id_of_invalid_solid(ctx, p->job->red, &p->surfaces);
		RB_TRY(status);
	}
	status =
		prepare_position_solids(ctx, p->backend, p->solid_set.set, p->job->skip_bad, &p->solids);
	if (status == RB_BAD_SOLID)
		set_id_of_invalid_solid(ctx, p->job->blue, &p->solid_set);
	RB_TRY(status);
	return surfaces ? prepare_surface_queries(ctx, p->backend, p->solids) : RB_OK;
}

/* Finds the positions of all rows relative to all solids. */
static rb_status
find_positions_of_rows(positions *p)
{
	rb_thread *me;
	rb_status status;

	RB_TRY(rb_team_open(p->ctx, p->ctx->threads, &me));
	p->ctx->stats.threads = rb_team_threads(me);
	status = make_boxes_for_positions(p->ctx, me, p->job->red, &p->red);
	if (status == RB_OK)
		status = make_boxes_for_positions(p->ctx, me, p->job->blue, &p->blue);
	if (status == RB_OK)
		status = mark_met_rows(p, me);
	rb_team_close(&me);
	if (status == RB_OK)
		status = prepare_tested_rows(p);
	if (status != RB_OK)
		return status;
	status =
		rb_team_loop(p->ctx, p->ctx->threads, p->job->red->nrows, GRAIN, test_positions_piece, p);
	status = rb_loop_failure(p->status, status);
	return status == RB_OK && p->open != NULL ? find_positions_of_closed_rows(p) : status;
}

rb_status
rb_compose_positions(rb_context *ctx, const rb_backend *backend, const rb_job *job,
					 const rb_row_sink *sink)
{
	positions p = {.ctx = ctx, .backend = backend, .job = job, .sink = sink};
	rb_status status = RB_OK;
	RB_FREE_AT_END(ctx->memory, &p.met[0], &p.met[1], &p.bad, &p.open);

	if (job->red->nrows > 0 && job->blue->nrows > 0)
		status = find_positions_of_rows(&p);
	free_position_solids(ctx->memory, &p.solids);
	free_rows_for_position(ctx, &p.solid_set);
	free_rows_for_position(ctx, &p.surfaces);
	rb_tree_free(ctx, &p.tree);
	free_row_boxes(ctx->memory, &p.red);
	free_row_boxes(ctx->memory, &p.blue);
	return status;
}

/* ---- one row ---- */

/* Computes the bounding box of a single row, once for all its tests against solids. */
static void
find_box_of_single_row(const rb_set *set, rb_placed *known)
{
	if (!known->boxed)
		rb_parts_box(set->kind, set->coords, 0, set->nparts, known->low, known->high);
	known->boxed = true;
}

/* Determines once whether a row is a closed surface. */
static rb_status
note_closed_row(rb_context *ctx, const rb_set *red, rb_placed *known)
{
	uint32_t *bad = NULL, *open = NULL;
	RB_FREE_AT_END(ctx->memory, &bad, &open);

	if (known->sorted)
		return RB_OK;
	RB_TRY(rb_solids_sort(ctx, &rb_backend_cpu, red, false, RB_SOLID_OF_RED, &bad, &open));
	known->open = rb_is_marked(open, 0);
	known->sorted = true;
	return RB_OK;
}

/*
 * Receives the relation of two single solids, and stores the position of the red one that follows
 * from it.
 */
static rb_status
receive_relation(void *user, const rb_pair *rows, const uint64_t *payload, size_t n)
{
	(void) rows;
	if (n > 0)
		*(int *) user = (int) position_of_relation(payload[0]);
	return RB_OK;
}

/* Gets the position of a closed surface from its relation with a solid. */
static rb_status
find_relation_of_surface(rb_context *ctx, const rb_set *red, const rb_set *blue, int *position)
{
	const rb_job job = {.red = red, .blue = blue, .predicate = RB_RELATION};
	const rb_row_sink sink = {.put = receive_relation, .user = position};

	*position = RB_LIES_OUTSIDE;
	return rb_compose_relations(ctx, &rb_backend_cpu, &job, &sink);
}

rb_status
rb_position_test(rb_context *ctx, const rb_set *red, rb_placed *red_known, const rb_set *blue,
				 rb_placed *blue_known, int *position)
{
	query_room room = {.meet = NULL};
	rb_status status = RB_OK;
	unsigned some = 0;

	*position = RB_LIES_OUTSIDE;
	find_box_of_single_row(red, red_known);
	find_box_of_single_row(blue, blue_known);
	if (!rb_boxes_overlap(red_known->low, red_known->high, blue_known->low, blue_known->high))
		return RB_OK;
	if (red->kind == RB_TRIANGLE3)
		status = note_closed_row(ctx, red, red_known);
	if (status == RB_OK && blue_known->solids == NULL)
		status = prepare_position_solids(ctx, &rb_backend_cpu, blue, false, &blue_known->solids);
	if (status != RB_OK)
		return status;
	set_solids_context(blue_known->solids, ctx);
	if (red->kind == RB_TRIANGLE3 && !red_known->open)
		return find_relation_of_surface(ctx, red, blue, position);
	if (red->kind == RB_TRIANGLE3)
		status = prepare_surface_queries(ctx, &rb_backend_cpu, blue_known->solids);
	if (status == RB_OK)
		status = test_position_of_object(ctx, &room, blue_known->solids, 0, red->kind, red->coords,
										 red->nparts, &some);
	free_query_room(ctx->memory, &room);
	*position = (int) combine_positions(some);
	return status;
}

void
rb_position_forget(rb_memory *memory, rb_placed *known)
{
	free_position_solids(memory, &known->solids);
	memset(known, 0, sizeof *known);
}
