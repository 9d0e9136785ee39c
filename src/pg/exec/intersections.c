/*
 * intersections.c
 *	  Returns the intersection of each pair of rows as a geometry, and its location along the red
 *	  row.
 *
 * The intersection of two rows is assembled from all pairs of their parts that meet
 * (src/core/intersection). The join is therefore one of parts, not of rows. If each row has one
 * part, each pair of parts is a pair of rows and becomes an output row as it leaves the join.
 * Otherwise the pairs of each red part are grouped as in aggregates.c, for as many parts at a
 * time as fit in memory. The pairs of one red row are then adjacent, and are sorted by their blue
 * row.
 *
 * Every geometry is read only once, into the sets, which hold the parts.
 */
#include "pg/exec/exec.h"

#include "core/base/sort.h"
#include "core/solid/solid.h"
#include "core/exec/row_pairs.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/memutils.h"

/*
 * Number of pairs of parts up to which the work is usually short. It takes a few milliseconds,
 * unless all parts overlap each other in one plane.
 */
#define FEW_PAIRS 1024
#define FEW_TO_SORT 65536

typedef struct rb_shaping
{
	rb_context ctx;
	rb_helper aside;
	MemoryContext row; /* Holds the values of the last output row */
	const rb_set *side[2];
	int32 srid;
	bool has_z;

	/* True if the tile must be tested for each pair of rows, because the join is one of parts */
	bool tiled;
	rb_in_tile in_tile;

	bool at_once;   /* True if each row has one part */
	rb_block block; /* Block of pairs, if each row has one part */
	size_t next;    /* Next pair in the block */

	uint32 red;    /* Current red row */
	uint32 first;  /* First part of the red row */
	uint32 nparts; /* Number of parts of the red row */
	uint32 part;   /* End of the parts of the red row */
	/* Pairs of the red row: index of the part within the row, and blue part; sorted by blue part */
	rb_pair *pair;
	size_t pair_cap; /* Capacity in bytes */
	size_t npairs;
	size_t from; /* Start of the pairs with the current blue row */
	size_t to;   /* End of the pairs with the current blue row */

	rb_curve *curve;
	rb_intersection shape;
	rb_line_intervals line; /* The red row as a measured line */
	bool measured;
	uint64 emitted;
} rb_shaping;


/* Stops the helper thread that intersects parts, before the execution and its sets are closed. */
static void
stop_intersection_work(void *arg)
{
	rb_helper_end(&((rb_shaping *) arg)->aside);
}

/* Expected duration of some work */
typedef enum much
{
	SHORT,
	SHORT_MOSTLY, /* The work can be restarted */
	LONG
} much;

/* Runs work of the core on the helper thread, or on this thread if it is short. */
static void
run_shaping_work(rb_cursor *rows, rb_status (*what)(void *), void *arg, rb_context *ctx, much takes)
{
	rb_shaping *s = rows->shaping;
	rb_status status;

	s->aside.ctx = ctx;
	s->aside.work = what;
	s->aside.arg = arg;
	status = takes == LONG    ? rb_helper_run(&s->aside)
			 : takes == SHORT ? what(arg)
							  : rb_helper_try(&s->aside);
	if (status != RB_OK)
		rb_raise_of(rows->run->join->function, "intersection", status, &ctx->error);
}

/* ---- before the join ---- */

/* Prepares the tile test for pairs of rows, because a join of parts does not test them. */
static rb_status
prepare_tile_of_intersections(void *arg)
{
	rb_cursor *rows = arg;
	rb_job job = rb_run_job(rows->run);

	rows->shaping->tiled = true;
	return rb_in_tile_build(&rows->run->ctx, &job, &rows->shaping->in_tile);
}

/* Prepares the join. Makes all parts of both sides available in this process. */
static void
prepare_shapes_of_join(rb_cursor *rows, MemoryContext context)
{
	rb_shaping *s = MemoryContextAllocZero(context, sizeof *s);
	rb_join_run *run = rows->run;

	rows->of_parts = true;
	rows->shaping = s;
	run->stop_reader = stop_intersection_work;
	run->reader = s;
	rb_run_bring_sides(run, &s->aside);
	rb_context_init(&s->ctx, run->memory);
	s->row = AllocSetContextCreate(context, "redblue shape", ALLOCSET_DEFAULT_SIZES);
	for (int i = 0; i < 2; i++)
		s->side[i] = run->side[i].set;
	s->srid = s->side[0]->srid != 0 ? s->side[0]->srid : s->side[1]->srid;
	s->has_z = rb_kind_dims(s->side[0]->kind) == 3;
	s->at_once = s->side[0]->row_of == NULL && s->side[1]->row_of == NULL;
	if (run->call.tile.dims != 0 && !s->at_once)
		run_shaping_work(rows, prepare_tile_of_intersections, rows, &run->ctx, LONG);
}

void
rb_shapes_open(rb_cursor *rows, MemoryContext context)
{
	rb_job job;

	prepare_shapes_of_join(rows, context);
	rb_aggregate_sides(rows);
	job = rb_aggregate_job(rows);
	job.red = rows->side;
	job.blue = rows->other;
	job.of = RB_OF_RED;
	if (rows->shaping->at_once)
		rb_run_start(rows->run, &job);
	else
		(void) rb_groups_open(rows, &job);
}

/* ---- one pair of rows ---- */

/* Computes the intersection of the current pairs of parts. */
static rb_status
intersect_current_pairs(rb_shaping *s)
{
	const rb_set *red = s->side[0], *blue = s->side[1];
	const rb_curve_parts parts[2] = {{red->kind, red->nparts, red->coords},
									 {blue->kind, blue->nparts, blue->coords}};

	if (s->curve == NULL)
		RB_TRY(rb_curve_open(&s->ctx, &parts[0], &parts[1], &s->curve));
	else
		rb_curve_again(s->curve, &parts[0], &parts[1]);
	for (size_t i = s->from; i < s->to; i++)
		RB_TRY(rb_curve_add(s->curve, s->first + s->pair[i].red, s->pair[i].blue));
	return rb_curve_finish(s->curve, &s->shape);
}

/* Computes the spans of the current line on the triangles of its pairs, as rows of the result. */
static rb_status
make_spans_of_current_line(rb_shaping *s)
{
	const double *segments = s->side[0]->coords + (Size) s->first * 6;

	if (!s->measured)
		RB_TRY(rb_line_measure(&s->ctx, segments, s->nparts, &s->line));
	s->measured = true;
	return rb_line_spans(&s->ctx, segments, s->nparts, s->side[1]->coords, s->pair + s->from,
						 s->to - s->from, &s->line);
}

/* Intersects the current pair of rows, as work of the helper thread. */
static rb_status
intersect_pairs_as_work(void *arg)
{
	return intersect_current_pairs(arg);
}

/*
 * Intersects the current pair of rows and computes its intervals on the line, as work of the helper
 * thread.
 */
static rb_status
make_shape_and_spans_of_pair(void *arg)
{
	RB_TRY(intersect_current_pairs(arg));
	return make_spans_of_current_line(arg);
}

/* Stores the start of the first interval, the end of the last one, and an array of all. */
static void
store_spans_as_values(const rb_line_intervals *spans, Datum *values)
{
	const int n = (int) spans->n;
	Datum *ends = palloc(2 * (Size) n * sizeof *ends);
	int dims[2] = {n, 2}, lower[2] = {1, 1};

	for (int i = 0; i < n; i++)
	{
		ends[2 * i] = Float8GetDatum(spans->at[i].from);
		ends[2 * i + 1] = Float8GetDatum(spans->at[i].to);
	}
	values[0] = Float8GetDatum(spans->at[0].from);
	values[1] = Float8GetDatum(spans->at[n - 1].to);
	values[2] = PointerGetDatum(construct_md_array(
		ends, NULL, 2, dims, lower, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

/* Computes the output row of the current pair of rows. */
static void
compute_intersection_row(rb_cursor *rows, uint32 blue, Datum *values)
{
	rb_shaping *s = rows->shaping;
	const bool spans = rows->result == RB_RESULT_SPANS;
	MemoryContext old;

	run_shaping_work(rows, spans ? make_shape_and_spans_of_pair : intersect_pairs_as_work, s,
					 &s->ctx,
					 s->to - s->from > FEW_PAIRS || (!s->measured && spans && s->nparts > FEW_PAIRS)
						 ? LONG
						 : SHORT_MOSTLY);
	MemoryContextReset(s->row);
	old = MemoryContextSwitchTo(s->row);
	values[0] = Int64GetDatum(rb_id_of(s->side[0], s->red));
	values[1] = Int64GetDatum(rb_id_of(s->side[1], blue));
	values[2] = rb_write_shape(&s->shape, rows->run->join->function, s->srid, s->has_z);
	if (spans)
		store_spans_as_values(&s->line, values + 3);
	MemoryContextSwitchTo(old);
	s->emitted++;
}

/* Reserves memory for n pairs. */
static void
reserve_pairs_to_intersect(rb_cursor *rows, size_t n)
{
	rb_shaping *s = rows->shaping;
	const size_t bytes = n * sizeof *s->pair;
	rb_error error;
	rb_status status;

	if (bytes <= s->pair_cap)
		return;
	s->pair_cap = Max(bytes, 2 * s->pair_cap);
	status = rb_resize(rows->run->memory, (void **) &s->pair, s->pair_cap, &error);
	if (status != RB_OK)
		rb_raise(rows->run->join->function, status, &error);
}

/* ---- each row has one part ---- */

/* Computes the result row of the next pair when each row of both sides has one part. */
static bool
next_shape_of_part_pair(rb_cursor *rows, Datum *values)
{
	rb_shaping *s = rows->shaping;
	uint32 blue;

	if (s->next == s->block.n)
	{
		s->next = s->block.n = 0;
		if (!rb_run_next(rows->run, &s->block))
			return false;
	}
	reserve_pairs_to_intersect(rows, 1);
	s->red = s->first = (uint32) s->block.red[s->next];
	blue = (uint32) s->block.blue[s->next++];
	s->nparts = 1;
	s->measured = false;
	s->pair[0] = (rb_pair){0, blue};
	s->from = 0;
	s->to = 1;
	compute_intersection_row(rows, blue, values);
	return true;
}

/* ---- rows with several parts ---- */

/* Returns the row of a part; each part is a row of its own unless the set groups parts. */
static uint32
row_of_intersected_part(const rb_set *set, uint32 part)
{
	return set->row_of != NULL ? set->row_of[part] : part;
}

/* Orders pairs of parts by the blue part, then by the red part. */
static int
by_blue_part_to_intersect(const void *a, const void *b, const void *arg)
{
	const rb_pair *p = a, *q = b;

	if (p->blue != q->blue)
		return p->blue < q->blue ? -1 : 1;
	return (p->red > q->red) - (p->red < q->red);
}

/*
 * Sorts the pairs of a red row by blue part, as work of the helper thread, so that those of one
 * blue row are adjacent.
 */
static rb_status
sort_pairs_by_blue_part(void *arg)
{
	rb_shaping *s = arg;

	return rb_sort(&s->ctx, s->pair, s->npairs, sizeof *s->pair, by_blue_part_to_intersect, NULL);
}

/*
 * Collects the pairs of the next red row that has any. Returns false if no remaining joined row has
 * any.
 */
static bool
gather_pairs_of_red_row(rb_cursor *rows)
{
	rb_shaping *s = rows->shaping;

	s->npairs = s->from = s->to = 0;
	while (s->npairs == 0 && s->part < rows->end)
	{
		s->red = row_of_intersected_part(s->side[0], s->part);
		s->first = s->part;
		if (s->red % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
		for (; s->part < rows->end && row_of_intersected_part(s->side[0], s->part) == s->red;
			 s->part++)
		{
			const uint32_t *member;
			const uint64 n = rb_groups_of(rows, s->part, &member);

			if (s->part % 65536 == 0)
				CHECK_FOR_INTERRUPTS();
			if (n > 0)
				reserve_pairs_to_intersect(rows, s->npairs + n);
			for (uint64 i = 0; i < n; i++)
				s->pair[s->npairs++] = (rb_pair){s->part - s->first, member[i]};
		}
	}
	s->nparts = s->part - s->first;
	s->measured = false;
	if (s->npairs > 1 && s->nparts > 1)
		run_shaping_work(rows, sort_pairs_by_blue_part, s, &s->ctx,
						 s->npairs > FEW_TO_SORT ? LONG : SHORT);
	return s->npairs > 0;
}

/* Computes the result row of the next pair of rows, gathered by red row. */
static bool
next_shape_of_row_pair(rb_cursor *rows, Datum *values)
{
	rb_shaping *s = rows->shaping;
	uint32 blue;

	do
	{
		CHECK_FOR_INTERRUPTS();
		while (s->to == s->npairs && !gather_pairs_of_red_row(rows))
			if (!rb_groups_more(rows))
				return false;
		s->from = s->to;
		blue = row_of_intersected_part(s->side[1], s->pair[s->from].blue);
		while (s->to < s->npairs &&
			   row_of_intersected_part(s->side[1], s->pair[s->to].blue) == blue)
			s->to++;
	} while (s->tiled && !rb_in_tile_owns(&s->in_tile, s->red, blue));
	compute_intersection_row(rows, blue, values);
	rows->run->ctx.stats.stage[RB_STAGE_EMIT].count = s->emitted;
	return true;
}

bool
rb_shapes_next(rb_cursor *rows, Datum *values)
{
	CHECK_FOR_INTERRUPTS();
	return rows->shaping->at_once ? next_shape_of_part_pair(rows, values)
								  : next_shape_of_row_pair(rows, values);
}
