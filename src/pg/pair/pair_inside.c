/*
 * pair_inside.c
 *	  redblue_inside: does a geometry lie in a body?
 *
 * What is asked is what the joins of bodies ask, of one row each:
 *
 *		points		redblue_points_in_bodies: each is inside or on the boundary, ...
 *		lines		redblue_segments_in_bodies: no stretch of them is outside, ...
 *		surfaces	redblue_body_pairs: they are a body, and that is inside
 *
 * ... and some of it is not only on the boundary.  Whether the body is one is found out once, as long as it stays the
 * same value.
 */
#include "pg/pair/rb_pairwise.h"

#include "access/parallel.h"
#include "miscadmin.h"

#define WAIT_MS 20

static const char *const function_name = "redblue_inside";

/* ---- both as sets ---- */

/* of which kind the first geometry is: the builder has it */
static rb_kind
read_red(FunctionCallInfo fcinfo, rb_pairwise *p)
{
	rb_geometry_info info;
	bool raise;

	info.type = 0;
	if (rb_pairwise_parts(fcinfo, p, 0, RB_POINT3, false, &info))
		return RB_POINT3;
	if (info.type == RB_TYPE_POINT || info.type == RB_TYPE_MULTIPOINT)
		(void) rb_pairwise_parts(fcinfo, p, 0, RB_POINT3, true, &info);
	raise = info.type == RB_TYPE_LINE || info.type == RB_TYPE_MULTILINE;
	if ((raise || info.type == RB_TYPE_COLLECTION) &&
		rb_pairwise_parts(fcinfo, p, 0, RB_SEGMENT3, raise, &info))
		return RB_SEGMENT3;
	(void) rb_pairwise_parts(fcinfo, p, 0, RB_TRIANGLE3, true, &info);
	return RB_TRIANGLE3;
}

static void
read_side(FunctionCallInfo fcinfo, rb_pairwise *p, int side)
{
	rb_operand *o = &p->side[side];
	rb_geometry_info info;
	rb_error error;
	rb_status status;

	if (o->known)
		return;
	rb_set_release(&o->own);
	if (side == 0)
		(void) read_red(fcinfo, p);
	else
		(void) rb_pairwise_parts(fcinfo, p, 1, RB_TRIANGLE3, true, &info);
	if (o->builder.nrows > 0)
	{
		status = rb_builder_finish(&o->builder, &o->own, &error);
		if (status != RB_OK)
			rb_raise_of(function_name, "comparison", status, &error);
	}
	o->known = true;
}

/* the boxes are of floats, rounded from the coordinates: where these are apart so are those */
static bool
is_apart(const rb_geometry_header *red, const rb_geometry_header *blue)
{
	if (!red->has_box || !blue->has_box || !red->has_z || !blue->has_z)
		return false;
	for (int k = 0; k < 3; k++)
		if (red->low[k] > blue->high[k] || red->high[k] < blue->low[k])
			return true;
	return false;
}

/* ---- the question ---- */

typedef struct told
{
	uint64 rows;    /* points, or stretches */
	bool any;       /* of them not on the boundary; or: the body is inside */
	bool some_left; /* some of the line is outside */
} told;

static void
take(told *t, rb_predicate predicate, const rb_block *block)
{
	t->rows += block->n;
	for (size_t i = 0; i < block->n; i++)
	{
		const uint64 last = block->told[i * block->words + block->words - 1];

		if (predicate == RB_UNDER)
			t->any |= (last & RB_TOLD(RB_UNDER_OF(0, 1))) == 0;
		else if (predicate == RB_RELATION)
			t->any |= last == RB_RED_INSIDE;
		else
		{
			t->any |= (last & RB_STRETCH_OF(1, 0)) == 0;
			t->some_left |= (last & RB_STRETCH_OF(0, 1)) != 0;
		}
	}
}

pg_noreturn static void
raise_failure(const rb_pairwise *p, rb_status status)
{
	const rb_error *error = &p->ctx.error;

	if (status == RB_BAD_BODY)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s: the %s geometry is no body", function_name,
					(error->limit & RB_BODY_SIDE) == RB_BODY_OF_RED ? "first" : "second"),
			 errdetail("%s", error->text),
			 errhint("It must be a closed surface that does not cross itself; redblue_body_check "
					 "tells of all rows of a table what is wrong with them.")));
	rb_raise_of(function_name, "comparison", status, error);
}

static void
ask(rb_pairwise *p, const rb_job *job, told *t)
{
	rb_block block;
	rb_status status;

	rb_context_init(&p->ctx, p->memory);
	p->ctx.threads =
		IsParallelWorker() ? 1 : rb_threads((uint64) job->red->nparts + job->blue->nparts);
	status = rb_stream_open(&p->ctx, &rb_backend_cpu, job, &p->stream);
	while (status == RB_OK)
	{
		if (rb_is_interrupted())
			rb_throw_kept();
		status = rb_stream_next(p->stream, WAIT_MS, &block);
		if (status == RB_OK)
			take(t, job->predicate, &block);
	}
	rb_stream_close(p->stream);
	p->stream = NULL;
	if (status != RB_END)
		raise_failure(p, status);
}

PG_FUNCTION_INFO_V1(redblue_geometry_inside);

Datum
redblue_geometry_inside(PG_FUNCTION_ARGS)
{
	rb_pairwise *p = rb_pairwise_begin(fcinfo, function_name);
	rb_operand *red = &p->side[0], *blue = &p->side[1];
	rb_job job = {.answer = RB_PAIRS};
	told t = {0};
	rb_set points;

	if (p->stream != NULL)
	{
		/* of a call that an error ended */
		rb_stream_close(p->stream);
		p->stream = NULL;
	}
	if (is_apart(&red->header, &blue->header))
		PG_RETURN_BOOL(false);
	read_side(fcinfo, p, 0);
	read_side(fcinfo, p, 1);
	if (red->own == NULL || blue->own == NULL)
		PG_RETURN_BOOL(false);
	job.red = red->own;
	job.blue = blue->own;
	job.predicate = red->own->kind == RB_POINT3     ? RB_UNDER
					: red->own->kind == RB_SEGMENT3 ? RB_INSIDE
													: RB_RELATION;
	if (job.predicate == RB_UNDER)
	{
		/* each point is a row */
		points = (rb_set){.kind = RB_POINT3,
						  .nparts = red->own->nparts,
						  .nrows = red->own->nparts,
						  .coords = red->own->coords};
		job.red = &points;
	}
	ask(p, &job, &t);
	PG_RETURN_BOOL(t.any && !t.some_left && (job.predicate != RB_UNDER || t.rows == points.nrows));
}
