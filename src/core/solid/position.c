/*
 * position.c
 *	  Computes RB_POSITION: the position of points, lines, surfaces and solids relative to solids,
 *	  for all rows of two sets or for one row of each.
 *
 *		boxes of red's rows x box tree of blue's rows		find the rows to be tested
 *			-> prepare those of blue (solids.c)
 *			-> test each red row against each solid whose box overlaps its own
 *		closed rows of triangles are solids and are handled by relate.c
 *
 * A row whose box overlaps no other is not examined, so it need not be a valid solid.
 */
#include "core/solid/solid.h"
#include "core/solid/relate.h"
#include "core/join/join.h"
#include "core/set/set.h"

#include <string.h>

#define GRAIN RB_SIZE(64, 2) /* Number of red rows a thread takes at a time */
#define PUT RB_SIZE(256, 3)  /* Number of pairs passed to the sink at a time */
#define NONE UINT32_MAX

/* ---- boxes of rows ---- */

/* Bounding box of each row of a set: low, high */
typedef struct boxes
{
	const rb_set *set;
	uint32_t *start;
	double *box;
} boxes;

static const double *
box_of(const boxes *b, uint32_t row)
{
	return b->box + 6 * (size_t) row;
}

static void
find_box(const rb_set *set, uint32_t from, uint32_t to, double low[3], double high[3])
{
	rb_box_empty(low, high);
	for (uint32_t i = from; i < to; i++)
	{
		double lo[3], hi[3];

		rb_kind_box(set->kind, set->coords, i, lo, hi);
		rb_box_add(low, high, lo, hi);
	}
}

static void
find_boxes(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	boxes *b = arg;

	(void) me;
	for (uint64_t row = from; row < to; row++)
		find_box(b->set, b->start[row], b->start[row + 1], b->box + 6 * row, b->box + 6 * row + 3);
}

static rb_status
make_boxes(rb_context *ctx, rb_thread *me, const rb_set *set, boxes *b)
{
	b->set = set;
	RB_TRY(RB_ALLOCATE(ctx, b->start, (size_t) set->nrows + 1));
	RB_TRY(rb_array(ctx, (void **) &b->box, (size_t) set->nrows + 1, 6 * sizeof *b->box));
	rb_row_starts(set, b->start);
	return rb_loop(me, set->nrows, GRAIN, find_boxes, b);
}

static void
free_boxes(rb_context *ctx, boxes *b)
{
	RB_FREE(ctx->memory, b->start);
	RB_FREE(ctx->memory, b->box);
}

/* ---- subsets of rows ---- */

typedef struct some_rows
{
	const rb_set *set; /* Set of the selected rows only */
	uint32_t *row;     /* Number of each selected row in the whole set */
	uint32_t *at;      /* Index of each row of the whole set among the selected ones, or NONE */
} some_rows;

static rb_status
copy_rows(rb_context *ctx, const boxes *of, const uint32_t *row, uint32_t nrows, const rb_set **set)
{
	const size_t width = (size_t) rb_kind_width(of->set->kind);
	rb_set arrays = {.kind = of->set->kind, .nrows = nrows};
	double *coords = NULL;
	uint32_t *row_of = NULL;
	rb_status status;

	for (uint32_t i = 0; i < nrows; i++)
		arrays.nparts += of->start[row[i] + 1] - of->start[row[i]];
	status = rb_array(ctx, (void **) &coords, (size_t) arrays.nparts + 1, width * sizeof *coords);
	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, row_of, (size_t) arrays.nparts + 1);
	arrays.nparts = 0;
	for (uint32_t i = 0; i < nrows && status == RB_OK; i++)
	{
		const uint32_t first = of->start[row[i]], n = of->start[row[i] + 1] - first;

		memcpy(coords + arrays.nparts * width, of->set->coords + first * width,
			   n * width * sizeof *coords);
		for (uint32_t k = 0; k < n; k++)
			row_of[arrays.nparts + k] = i;
		arrays.nparts += n;
		if (rb_should_stop(ctx))
			status = RB_STOPPED;
	}
	arrays.coords = coords;
	arrays.row_of = row_of;
	if (status == RB_OK && rb_set_own(ctx->memory, &arrays, set, &ctx->error) == RB_OK)
		return RB_OK;
	RB_FREE(ctx->memory, coords);
	RB_FREE(ctx->memory, row_of);
	return status != RB_OK ? status : ctx->error.status;
}

/* Selects the marked rows. Reuses the set itself if all rows are marked. */
static rb_status
select_rows(rb_context *ctx, const boxes *of, const uint32_t *marks, some_rows *some)
{
	const uint32_t rows = of->set->nrows;
	uint32_t n = 0;
	rb_status status = RB_ALLOCATE(ctx, some->row, (size_t) rows + 1);

	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, some->at, (size_t) rows + 1);
	for (uint32_t i = 0; i < rows && status == RB_OK; i++)
	{
		some->at[i] = rb_is_marked(marks, i) ? n : NONE;
		if (some->at[i] != NONE)
			some->row[n++] = i;
	}
	if (status != RB_OK)
		return status;
	if (n == rows && of->set->owner != NULL)
		some->set = rb_set_hold(of->set);
	else
		status = copy_rows(ctx, of, some->row, n, &some->set);
	return status;
}

static void
free_rows(rb_context *ctx, some_rows *some)
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

static void
note_failure(positions *p, rb_status status)
{
	int ok = RB_OK;

	if (status != RB_OK)
		rb_store_if(&p->status, &ok, (int) status);
}

static void
begin_walk(const positions *p, uint32_t red, rb_walk *w)
{
	const double *box = box_of(&p->red, red);
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
next_solid(const positions *p, uint32_t red, rb_walk *w, uint32_t *solid)
{
	const double *a = box_of(&p->red, red);
	double square;

	while (rb_walk_next(w, 0, NONE, solid, &square))
	{
		const double *b = box_of(&p->blue, *solid);

		if (rb_boxes_overlap(a, a + 3, b, b + 3))
			return true;
	}
	return false;
}

static void
mark_rows(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	positions *p = arg;

	(void) me;
	for (uint64_t row = from; row < to; row++)
	{
		uint32_t solid;
		rb_walk w;

		begin_walk(p, (uint32_t) row, &w);
		while (next_solid(p, (uint32_t) row, &w, &solid))
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

static rb_status
flush_batch(const positions *p, position_batch *b)
{
	const size_t n = b->n;

	b->n = 0;
	return n > 0 ? p->sink->put(p->sink->user, b->pair, b->payload, n) : RB_OK;
}

static rb_status
write_position(const positions *p, position_batch *b, uint32_t red, uint32_t blue, uint64_t payload)
{
	b->pair[b->n] = (rb_pair){red, blue};
	b->payload[b->n++] = payload;
	return b->n == PUT ? flush_batch(p, b) : RB_OK;
}

static uint64_t
position_of(unsigned some)
{
	if ((some & RB_SOME_INSIDE) == 0)
		return (some & RB_SOME_OUTSIDE) != 0 ? RB_LIES_OUTSIDE : RB_LIES_ON;
	return (some & RB_SOME_OUTSIDE) != 0 ? RB_LIES_CROSSING : RB_LIES_INSIDE;
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

static rb_status
test_row(positions *p, rb_solids_room *room, position_batch *b, uint32_t row)
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
	begin_walk(p, row, &w);
	while (status == RB_OK && next_solid(p, row, &w, &solid))
	{
		const uint32_t at = p->solid_set.at[solid];
		unsigned some;

		if (rb_solids_is_bad(p->solids, at))
			continue;
		status = rb_solids_test(p->ctx, room, p->solids, at, red->kind, parts, n, &some);
		if (status == RB_OK)
			status = write_position(p, b, row, solid, position_of(some));
	}
	return status;
}

static void
test_rows(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	positions *p = arg;
	rb_solids_room room = {.meet = NULL};
	rb_status status = RB_OK;
	position_batch b = {.n = 0};

	(void) me;
	for (uint64_t row = from; row < to && status == RB_OK && rb_load(&p->status) == RB_OK; row++)
		status = test_row(p, &room, &b, (uint32_t) row);
	if (status == RB_OK)
		status = flush_batch(p, &b);
	note_failure(p, status);
	rb_solids_room_free(p->ctx->memory, &room);
}

/* ---- rows that are solids themselves ---- */

typedef struct related
{
	positions *p;
	const uint32_t *row; /* For each related solid, its index among the selected red rows */
} related;

static rb_status
put_related(void *user, const rb_pair *rows, const uint64_t *payload, size_t n)
{
	const related *r = user;
	position_batch b = {.n = 0};

	for (size_t i = 0; i < n; i++)
		RB_TRY(write_position(r->p, &b, r->p->surfaces.row[r->row[rows[i].red]],
							  r->p->solid_set.row[rows[i].blue], position_of_relation(payload[i])));
	return flush_batch(r->p, &b);
}

static rb_status
relate_closed(positions *p)
{
	const rb_set *set = p->surfaces.set;
	const size_t words = set->nrows / 32 + 1;
	boxes of = {.set = set};
	some_rows closed = {.set = NULL};
	uint32_t *marks = NULL;
	related r = {.p = p};
	const rb_row_sink sink = {.put = put_related, .user = &r};
	rb_status status = RB_ALLOCATE(p->ctx, marks, words);

	if (status == RB_OK)
		status = RB_ALLOCATE(p->ctx, of.start, (size_t) set->nrows + 1);
	if (status == RB_OK)
	{
		rb_row_starts(set, of.start);
		memset(marks, 0, words * sizeof *marks);
		for (uint32_t i = 0; i < set->nrows; i++)
			if (!rb_is_marked(p->open, i) && !rb_is_marked(p->bad, i))
				rb_mark(marks, i);
		status = select_rows(p->ctx, &of, marks, &closed);
	}
	if (status == RB_OK && closed.set->nrows > 0)
	{
		const rb_job job = {.red = closed.set,
							.blue = p->solid_set.set,
							.predicate = RB_RELATION,
							.skip_bad = p->job->skip_bad};

		r.row = closed.row;
		status = rb_compose_relations(p->ctx, p->backend, &job, &sink);
	}
	free_rows(p->ctx, &closed);
	RB_FREE(p->ctx->memory, of.start);
	RB_FREE(p->ctx->memory, marks);
	return status;
}

/* ---- entry point ---- */

/*
 * Returns the power of two that scales the largest coordinate of blue's boxes into [1/2, 1), as far
 * as the exponent range allows.
 */
static double
find_scale(const boxes *b)
{
	double largest = 0;
	int exponent;

	for (size_t i = 0; i < 6 * (size_t) b->set->nrows; i++)
		largest = fabs(b->box[i]) > largest ? fabs(b->box[i]) : largest;
	(void) frexp(largest, &exponent);
	return largest > 0 ? ldexp(1, exponent < -1000 ? 1000 : -exponent) : 1;
}

static rb_status
find_met(positions *p, rb_thread *me)
{
	const rb_set boxes_of_blue = {.kind = RB_BOX3,
								  .nparts = p->job->blue->nrows,
								  .nrows = p->job->blue->nrows,
								  .coords = p->blue.box};
	rb_status status = RB_OK;

	for (int side = 0; side < 2 && status == RB_OK; side++)
	{
		const size_t words = (side == 0 ? p->job->red : p->job->blue)->nrows / 32 + 1;

		status = RB_ALLOCATE(p->ctx, p->met[side], words);
		if (status == RB_OK)
			memset(p->met[side], 0, words * sizeof(uint32_t));
	}
	p->scale = find_scale(&p->blue);
	if (status == RB_OK)
		status = rb_tree_build(me, p->ctx, &p->tree, &boxes_of_blue, 0, boxes_of_blue.nparts,
							   p->scale, NULL, UINT32_MAX);
	return status == RB_OK ? rb_loop(me, p->job->red->nrows, GRAIN, mark_rows, p) : status;
}

/*
 * Replaces the row number of an invalid solid in a subset by the id of that row in the whole set.
 */
static void
name_bad(rb_context *ctx, const rb_set *whole, const some_rows *some)
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
prepare_rows(positions *p)
{
	rb_context *ctx = p->ctx;
	rb_status status = select_rows(ctx, &p->blue, p->met[1], &p->solid_set);

	if (status == RB_OK && p->job->red->kind == RB_TRIANGLE3)
	{
		status = select_rows(ctx, &p->red, p->met[0], &p->surfaces);
		if (status == RB_OK)
			status = rb_solids_sort(ctx, p->backend, p->surfaces.set, p->job->skip_bad,
									RB_SOLID_OF_RED, &p->bad, &p->open);
		if (status == RB_BAD_SOLID)
			name_bad(ctx, p->job->red, &p->surfaces);
	}
	if (status == RB_OK)
	{
		status = rb_solids_build(ctx, p->backend, p->solid_set.set, p->job->skip_bad, &p->solids);
		if (status == RB_BAD_SOLID)
			name_bad(ctx, p->job->blue, &p->solid_set);
	}
	if (status == RB_OK && p->job->red->kind == RB_TRIANGLE3)
		status = rb_solids_add_sides(ctx, p->backend, p->solids);
	return status;
}

static rb_status
find_positions(positions *p)
{
	rb_thread *me;
	rb_status status;

	RB_TRY(rb_team_open(p->ctx, p->ctx->threads, &me));
	p->ctx->stats.threads = rb_team_threads(me);
	status = make_boxes(p->ctx, me, p->job->red, &p->red);
	if (status == RB_OK)
		status = make_boxes(p->ctx, me, p->job->blue, &p->blue);
	if (status == RB_OK)
		status = find_met(p, me);
	rb_team_close(&me);
	if (status == RB_OK)
		status = prepare_rows(p);
	if (status != RB_OK)
		return status;
	RB_TRY(rb_team_open(p->ctx, p->ctx->threads, &me));
	status = rb_loop(me, p->job->red->nrows, GRAIN, test_rows, p);
	rb_team_close(&me);
	status = p->status != RB_OK ? (rb_status) p->status : status;
	return status == RB_OK && p->open != NULL ? relate_closed(p) : status;
}

rb_status
rb_compose_positions(rb_context *ctx, const rb_backend *backend, const rb_job *job,
					 const rb_row_sink *sink)
{
	positions p = {.ctx = ctx, .backend = backend, .job = job, .sink = sink};
	rb_status status = RB_OK;

	if (job->red->nrows > 0 && job->blue->nrows > 0)
		status = find_positions(&p);
	rb_solids_free(ctx->memory, &p.solids);
	free_rows(ctx, &p.solid_set);
	free_rows(ctx, &p.surfaces);
	rb_tree_free(ctx, &p.tree);
	free_boxes(ctx, &p.red);
	free_boxes(ctx, &p.blue);
	for (int side = 0; side < 2; side++)
		RB_FREE(ctx->memory, p.met[side]);
	RB_FREE(ctx->memory, p.bad);
	RB_FREE(ctx->memory, p.open);
	return status;
}

/* ---- one row ---- */

static void
note_box(const rb_set *set, rb_placed *known)
{
	if (!known->boxed)
		find_box(set, 0, set->nparts, known->low, known->high);
	known->boxed = true;
}

static rb_status
note_closed(rb_context *ctx, const rb_set *red, rb_placed *known)
{
	uint32_t *bad = NULL, *open = NULL;
	rb_status status = RB_OK;

	if (known->sorted)
		return RB_OK;
	status = rb_solids_sort(ctx, &rb_backend_cpu, red, false, RB_SOLID_OF_RED, &bad, &open);
	if (status == RB_OK)
	{
		known->open = rb_is_marked(open, 0);
		known->sorted = true;
	}
	RB_FREE(ctx->memory, bad);
	RB_FREE(ctx->memory, open);
	return status;
}

static rb_status
put_relation(void *user, const rb_pair *rows, const uint64_t *payload, size_t n)
{
	(void) rows;
	if (n > 0)
		*(int *) user = (int) position_of_relation(payload[0]);
	return RB_OK;
}

static rb_status
ask_relation(rb_context *ctx, const rb_set *red, const rb_set *blue, int *position)
{
	const rb_job job = {.red = red, .blue = blue, .predicate = RB_RELATION};
	const rb_row_sink sink = {.put = put_relation, .user = position};

	*position = RB_LIES_OUTSIDE;
	return rb_compose_relations(ctx, &rb_backend_cpu, &job, &sink);
}

rb_status
rb_position_test(rb_context *ctx, const rb_set *red, rb_placed *red_known, const rb_set *blue,
				 rb_placed *blue_known, int *position)
{
	rb_solids_room room = {.meet = NULL};
	rb_status status = RB_OK;
	unsigned some = 0;

	*position = RB_LIES_OUTSIDE;
	note_box(red, red_known);
	note_box(blue, blue_known);
	if (!rb_boxes_overlap(red_known->low, red_known->high, blue_known->low, blue_known->high))
		return RB_OK;
	if (red->kind == RB_TRIANGLE3)
		status = note_closed(ctx, red, red_known);
	if (status == RB_OK && blue_known->solids == NULL)
		status = rb_solids_build(ctx, &rb_backend_cpu, blue, false, &blue_known->solids);
	if (status != RB_OK)
		return status;
	rb_solids_use(blue_known->solids, ctx);
	if (red->kind == RB_TRIANGLE3 && !red_known->open)
		return ask_relation(ctx, red, blue, position);
	if (red->kind == RB_TRIANGLE3)
		status = rb_solids_add_sides(ctx, &rb_backend_cpu, blue_known->solids);
	if (status == RB_OK)
		status = rb_solids_test(ctx, &room, blue_known->solids, 0, red->kind, red->coords,
								red->nparts, &some);
	rb_solids_room_free(ctx->memory, &room);
	*position = (int) position_of(some);
	return status;
}

void
rb_position_forget(rb_memory *memory, rb_placed *known)
{
	rb_solids_free(memory, &known->solids);
	memset(known, 0, sizeof *known);
}
