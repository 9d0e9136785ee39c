/*
 * sides.c
 *	  The sides of a join are read: sources in, sets out.
 *
 *		a plain table		page by page, past the executor		readers.c, heap.c
 *							or not at all: it has not changed	kept.c
 *		anything else		its SELECT, read-only				receiver.c at its end
 *
 * All sides are read in one space: geometries of one SRID, boxes of one number of
 * dimensions.  So none becomes a set before the last is read: a side without rows says
 * nothing of its dimensions, and takes those of the others.  Before that, rows of one
 * object become one, and where rows of one id are not meant as one they are counted.
 */
#include "pg/base/rb_pg.h"

#include "access/relation.h"
#include "access/xact.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"

static bool
has_objects(const rb_source *source)
{
	return source->object_name != NULL ||
		   (source->keys != NULL && rb_keys_are_of_objects(source->keys));
}

/* ---- one SELECT ---- */

static void
reading_context(void *arg)
{
	const rb_source *source = arg;

	/* a SELECT that is run tells itself what it is */
	if (OidIsValid(source->heap))
		errcontext("reading the %s side of %s: %s", source->side, source->function, source->sql);
	else
		errcontext("reading the %s side of %s", source->side, source->function);
}

/* runs one SELECT, read-only, as the caller, on the snapshot of the statement around it */
static void
run_select(const rb_source *source, DestReceiver *receiver)
{
	SPIExecuteOptions options;
	int rc;

	memset(&options, 0, sizeof options);
	options.read_only = true;
	options.must_return_tuples = true;
	options.dest = receiver;
	rc = SPI_execute_extended(source->sql, &options);
	if (rc < 0)
		elog(ERROR, "%s: SPI_execute_extended: %s", source->function, SPI_result_code_string(rc));
}

/*
 * A text that claims to read runs as in a read-only transaction, so that no function
 * in it writes either.  (Read-only SPI looks at the text alone.)  No subtransaction is
 * needed: nobody catches an error without one of his own, whose end sets the mode back.
 */
static void
run_query(const rb_source *source, DestReceiver *receiver)
{
	bool before = XactReadOnly;

	PG_TRY();
	{
		XactReadOnly = true;
		run_select(source, receiver);
	}
	PG_FINALLY();
	{
		XactReadOnly = before;
	}
	PG_END_TRY();
}

/* what is said of an error meanwhile */
static void
enter_reading(const rb_source *source, ErrorContextCallback *context)
{
	context->callback = reading_context;
	context->arg = unconstify(rb_source *, source);
	context->previous = error_context_stack;
	error_context_stack = context;
}

void
rb_run_source(const rb_source *source, DestReceiver *receiver)
{
	ErrorContextCallback context;

	enter_reading(source, &context);
	if (source->query)
		run_query(source, receiver);
	else
		run_select(source, receiver);
	error_context_stack = context.previous;
}

/* ---- a side ---- */

/* a set that is kept counts as if it had been read */
static void
charge_kept(const rb_source *source, rb_memory *memory, const rb_side *side)
{
	rb_error error;

	if (rb_memory_charge(memory, rb_kept_set_bytes(side->look), &error) == RB_OK)
		return;
	error.need += rb_need_of_join(side->set->nparts);
	rb_raise(source->function, RB_OVER_BUDGET, &error);
}

/* the rows of a source into a builder, or a set that is kept into the side */
static void
read_side(const rb_source *source, rb_memory *memory, const rb_need *need, rb_builder *builder,
		  rb_space *space, MemoryContext call, rb_side *side)
{
	DestReceiver *receiver;

	rb_builder_init(builder, memory, source->kind);
	builder->face_tolerance = source->face_tolerance;
	builder->face_share = source->face_share;
	builder->count_faces = source->count_faces;
	builder->want_face_of = source->polygons;
	builder->many_points = source->many_points;
	/* an object is known when all of its rows are: until then none of them is left out */
	if (!has_objects(source) && !source->again)
		builder->tile = source->tile;
	builder->distance = source->distance;
	receiver = rb_receiver_create(source, builder, space);
	rb_receiver_needs(receiver, need);
	if (OidIsValid(source->heap))
	{
		/* what is known of the table is of use until the side is a set */
		MemoryContext old = MemoryContextSwitchTo(call);
		ErrorContextCallback context;

		enter_reading(source, &context);
		rb_read_table(source, receiver, builder, space, side);
		error_context_stack = context.previous;
		MemoryContextSwitchTo(old);
	}
	else
		rb_run_source(source, receiver);
	/* until here no function in a view could change it under us */
	if (source->rel != NULL)
		relation_close(source->rel, NoLock);

	if (side->set != NULL)
	{
		rb_builder_free(builder);
		charge_kept(source, memory, side);
	}
	else
		rb_builder_trim(builder);
}

static void
raise_or_throw(const rb_source *source, rb_status status, const rb_error *error)
{
	if (status == RB_STOPPED)
		rb_throw_kept();
	rb_raise_of(source->function, source->what == NULL ? "join" : source->what, status, error);
}

/*
 * How many different ids there are, where nobody knows it; who could have known is an
 * index, or the caller, who named a column of objects.  Where there is no memory for it
 * the join is more important.
 */
static uint64
count_ids(const rb_source *source, rb_memory *memory, const int64 *ids, uint32 rows)
{
	uint32_t distinct;
	rb_error error;
	rb_status status;

	if (source->unique || source->keys != NULL || source->object_name != NULL)
		return 0;
	if (ids == NULL) /* they count up */
		return rows;
	status = rb_ids_number(memory, ids, rows, rb_is_interrupted, NULL, &distinct, &error);
	if (status == RB_STOPPED)
		rb_throw_kept();
	return status == RB_OK ? distinct : 0;
}

/* the same of rows of which most were kept, or all */
static uint64
count_ids_of_kept(const rb_source *source, rb_memory *memory, const rb_side *side)
{
	const rb_set *set = side->set;
	uint32_t distinct;
	bool known;
	char why_not[200];
	rb_context ctx;
	rb_error error;

	if (source->unique)
		return 0;
	if (set->view != NULL && set->view->kept->composed_ids && rb_kept_ids_ascend(side->look) &&
		rb_view_count_ids(memory, set, &known, &distinct, &error) == RB_OK && known)
		return distinct;
	rb_context_init(&ctx, memory);
	if (set->elsewhere && !set->composed_ids &&
		!rb_worker_ids(source->function, &ctx, set, why_not, sizeof why_not))
		return 0;
	return count_ids(source, memory, set->ids, set->nrows);
}

static void
finish_side(const rb_source *source, rb_builder *builder, const rb_space *space, rb_side *side)
{
	rb_error error;
	rb_status status = RB_OK;

	if (side->set != NULL)
	{
		/* when it was kept there was an index that is gone now, or none is needed any more */
		if (side->ids == 0 || source->unique)
			side->ids = has_objects(source) ? 0 : count_ids_of_kept(source, builder->memory, side);
		return;
	}
	if (space->dims == 2)
		rb_builder_set_kind(builder, RB_BOX2);
	builder->srid = space->srid_known ? space->srid : 0;
	builder->should_stop = rb_is_interrupted;
	if (side->look != NULL && rb_kept_is_partly(side->look))
	{
		rb_kept_put_together(side->look, builder, side);
		side->ids = count_ids_of_kept(source, builder->memory, side);
		return;
	}
	side->rows = builder->nrows;
	side->ids = count_ids(source, builder->memory, builder->ids, builder->nrows);
	if (has_objects(source))
	{
		status = rb_builder_group(builder, &error);
		if (status == RB_OVER_BUDGET)
			error.need = Max(error.need, rb_need_to_group(builder));
	}
	if (status == RB_OK)
		status = rb_builder_finish(builder, &side->set, &error);
	if (status != RB_OK)
		raise_or_throw(source, status, &error);
}

/*
 * A row beside others of the same id is mostly a mistake: a multi-geometry that was
 * dumped, whose parts are to be one object.  Nothing is wrong with the pairs, so it is
 * said, once, and can be switched off.
 */
static void
notice_duplicates(const rb_source *source, int n, const rb_side *side)
{
	StringInfoData text;
	const char *object = "";
	bool any = false;

	/* a side that is only kept is told of by the joins */
	if (!rb_setting_duplicate_notice || source->keep || source->polygons)
		return;
	initStringInfo(&text);
	for (int i = 0; i < n; i++)
	{
		if (side[i].ids == 0 || side[i].ids == side[i].rows)
			continue;
		appendStringInfo(&text, "%s" UINT64_FORMAT " rows of %s have " UINT64_FORMAT " id%s",
						 any ? ", " : "", side[i].rows, source[i].side, side[i].ids,
						 side[i].ids == 1 ? "" : "s");
		any = true;
		if (object[0] == '\0' && !source[i].only_rows)
			object =
				psprintf("Where rows of one id are one object: %s => %s.  ",
						 rb_source_argument(&source[i], "object"),
						 quote_literal_cstr(source[i].id_name == NULL ? "id" : source[i].id_name));
	}
	if (any)
		ereport(NOTICE,
				(errmsg("%s: %s", source->function, text.data),
				 errdetail("Each row is an object of its own, and its pairs repeat the id."),
				 errhint("%sTo hear no more of it: SET redblue.duplicate_notice = off.", object)));
	pfree(text.data);
}

/* of boxes it is known now how many dimensions they have, if there are any */
static void
check_tile(const rb_source *source, const rb_space *space)
{
	if (source->tile.dims != 0 && source->kind == RB_BOX3 && space->dims != 0 &&
		space->dims != source->tile.dims)
		rb_tile_refuse_dims(source->function, &source->tile, space->dims);
}

void
rb_read_sides(const rb_source *source, int n, rb_memory *memory, rb_side *side)
{
	rb_builder builder[RB_MAX_SIDES];
	rb_space space;
	rb_need need;
	MemoryContext call = CurrentMemoryContext;

	memset(&space, 0, sizeof space);
	rb_need_begin(&need, source, n);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "%s: SPI_connect failed", source->function);
	for (int i = 0; i < n; i++)
	{
		read_side(&source[i], memory, &need, &builder[i], &space, call, &side[i]);
		rb_need_next(&need, side[i].set, &builder[i], side[i].kept);
	}
	SPI_finish();
	check_tile(&source[0], &space);
	for (int i = 0; i < n; i++)
		finish_side(&source[i], &builder[i], &space, &side[i]);
	for (int i = 0; i < n; i++)
		if (side[i].look != NULL)
			rb_kept_end(side[i].look, &side[i]);
	/* both may be the same table */
	if (n == 2 && side[0].keep != NULL && side[1].keep != NULL &&
		memcmp(side[0].keep->key, side[1].keep->key, RB_KEY_BYTES) == 0)
		side[1].keep = NULL;
	notice_duplicates(source, n, side);
}

const rb_set *
rb_read_side_again(const rb_source *source, rb_memory *memory, const rb_side *side)
{
	rb_source plain = *source;
	rb_side again;
	rb_builder builder;
	rb_space space;
	rb_need need;

	plain.again = true;
	plain.rel = NULL; /* it is locked, and was closed */
	memset(&again, 0, sizeof again);
	memset(&space, 0, sizeof space);
	/* with the other side it was found to be of this space */
	if (source->kind == RB_BOX3)
		space.dims = side->set->kind == RB_BOX2 ? 2 : 3;
	rb_need_begin(&need, &plain, 1);
	read_side(&plain, memory, &need, &builder, &space, CurrentMemoryContext, &again);
	plain.unique = true; /* its ids were counted */
	finish_side(&plain, &builder, &space, &again);
	return again.set;
}
