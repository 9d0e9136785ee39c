/*
 * sides.c
 *	  Reads the sides of a join: turns sources into sets.
 *
 *	a plain table		page by page, bypassing the executor	readers.c, heap.c
 *						or not at all if it has not changed		side_cache.c
 *	anything else		its SELECT, read-only					receiver.c as its destination
 *
 * All sides must agree on one SRID for geometries and one number of dimensions for boxes. No side
 * becomes a set before the last one has been read, because a side without rows does not determine
 * its dimensions and takes those of the others. Before that, the rows of one object are merged; if
 * rows with the same id are not meant to be one object, distinct ids are counted.
 */
#include "pg/base/arguments.h"
#include "pg/read/read.h"
#include "pg/spill/spill.h"
#include "pg/worker/worker.h"

#include "access/relation.h"
#include "access/xact.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"

/* ---- execution of one SELECT ---- */

/* Adds the side that is being read to the context of errors. */
static void
add_side_to_error_context(void *arg)
{
	const rb_source *source = arg;

	/*
	 * A SELECT that is executed reports its own text, so add the text only for a table that is read
	 * directly.
	 */
	if (OidIsValid(source->heap))
		errcontext("reading the %s side of %s: %s", source->side, source->function, source->sql);
	else
		errcontext("reading the %s side of %s", source->side, source->function);
}

/*
 * Runs one SELECT, read-only, as the calling user, with the snapshot of the surrounding statement.
 */
static void
run_read_only_select(const rb_source *source, DestReceiver *receiver)
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
 * Runs a query text as in a read-only transaction, so that no function in it can write either.
 * (Read-only SPI checks only the text.) No subtransaction is needed: code that catches an error has
 * one of its own, whose end restores the mode.
 */
static void
run_read_only_query(const rb_source *source, DestReceiver *receiver)
{
	bool before = XactReadOnly;

	PG_TRY();
	{
		XactReadOnly = true;
		run_read_only_select(source, receiver);
	}
	PG_FINALLY();
	{
		XactReadOnly = before;
	}
	PG_END_TRY();
}

/* Installs the error context for reading a source. */
static void
enter_reading_context(const rb_source *source, ErrorContextCallback *context)
{
	context->callback = add_side_to_error_context;
	context->arg = unconstify(rb_source *, source);
	context->previous = error_context_stack;
	error_context_stack = context;
}

void
rb_run_source(const rb_source *source, DestReceiver *receiver)
{
	ErrorContextCallback context;

	enter_reading_context(source, &context);
	if (source->query)
		run_read_only_query(source, receiver);
	else
		run_read_only_select(source, receiver);
	error_context_stack = context.previous;
}

/* ---- reading a side ---- */

/*
 * Charges a cached set as if it had been read. Returns false if it does not fit but rows can be
 * spilled.
 */
static bool
charge_cached_set(const rb_source *source, rb_memory *memory, rb_spill *spill,
				  const rb_side_data *side)
{
	rb_error error;

	if (rb_memory_charge(memory, rb_side_cache_entry_bytes(side->look), &error) == RB_OK)
		return true;
	if (spill != NULL)
		return false;
	error.need += rb_need_of_join(side->set->nparts);
	rb_raise(source->function, RB_OVER_BUDGET, &error);
}

/* ---- sides that do not fit in memory ---- */

/*
 * The sides of a join while they are read. If the rows so far and their join would exceed the
 * memory limit, all rows leave their builders, and later rows follow whenever enough of them have
 * accumulated.
 */
typedef struct filling
{
	const rb_source *source;
	rb_memory *memory;
	rb_spill *spill; /* NULL if exceeding the limit is an error */
	rb_need *need;
	rb_builder *builder;
	rb_side_data *side;
	int reading; /* Index of the side being read */
	/* True for a side that was cached, even partly, and must now be read in full */
	bool again[RB_MAX_SIDES];
} filling;

/* Share of the memory limit (1/n) for rows on their way to a file */
#define BUFFERED_FRACTION 16
#define MIN_BUFFERED_PARTS 1024 /* Minimum number of parts before rows are moved to a file */

/* Returns the bytes that a part and its row take in the builder. */
static uint64
bytes_of_builder_part(const rb_builder *b)
{
	return (uint64) b->width * sizeof(double) + sizeof(int64) + (b->multi ? sizeof(uint32) : 0);
}

/* Returns true if only the changed pages of the side are read, and its other rows are cached. */
static bool
is_side_partly_cached(const rb_side_data *side)
{
	return side->look != NULL && rb_side_cache_is_partial(side->look);
}

/*
 * Tolerance for the rounding of blocks, in bytes. The estimate in an out-of-memory error
 * (memory_estimate.c) cannot foresee the rounding.
 */
#define ROUNDING (UINT64CONST(1) << 20)

/* Returns the number of unused elements of a builder's array. */
static uint64
unused_capacity_of_builder(size_t cap, uint32 used)
{
	return cap > used ? cap - used : 0;
}

/*
 * Returns the memory needed for what has been read or is cached, and for its join. Stores the
 * number of parts in *parts.
 */
static uint64
need_of_sides_so_far(const filling *f, uint64 *parts)
{
	uint64 bytes = 0;

	*parts = 0;
	for (int i = 0; i <= f->reading; i++)
	{
		const rb_builder *b = &f->builder[i];
		const uint64 has = f->side[i].set != NULL ? f->side[i].set->nparts : b->nparts;

		*parts += has + (f->side[i].set != NULL ? 0 : f->side[i].kept);
		if (f->side[i].set == NULL)
			bytes += f->side[i].kept * bytes_of_builder_part(b);
		/* The unused capacity of a builder can be released, so it does not count. */
		bytes -=
			unused_capacity_of_builder(b->coords_cap, b->nparts) * (uint64) b->width *
				sizeof(double) +
			unused_capacity_of_builder(b->ids_cap, b->nrows) * sizeof(int64) +
			unused_capacity_of_builder(b->row_of_cap, b->multi ? b->nparts : 0) * sizeof(uint32);
		/*
		 * The queues of parallel readers are released before the join begins, so they do not count.
		 */
		bytes -= f->side[i].queues;
	}
	return rb_memory_used(f->memory) + bytes + rb_need_of_join(*parts) - ROUNDING;
}

/* Moves the rows of a side from its builder to the temporary file. */
static void
spill_rows_of_builder(filling *f, int i)
{
	rb_builder *b = &f->builder[i];

	rb_spill_rows(f->spill, i, b);
	/* Release the builder's memory, except for the capacity of a buffer for the file. */
	if (b->nparts == 0 &&
		b->coords_cap * bytes_of_builder_part(b) > rb_memory_limit(f->memory) / BUFFERED_FRACTION)
		rb_builder_trim(b);
}

/* Begins to spill the sides that were read so far. */
static void
begin_spilling_sides(filling *f)
{
	rb_spill_begin(f->spill);
	for (int i = 0; i <= f->reading; i++)
	{
		rb_side_data *side = &f->side[i];

		if (side->look != NULL)
			rb_side_cache_abandon(side->look, "it does not fit in redblue.memory_limit");
		f->again[i] = side->set != NULL || is_side_partly_cached(side);
		if (side->set != NULL)
		{
			rb_memory_refund(f->memory, rb_side_cache_entry_bytes(side->look));
			rb_set_release(&side->set);
		}
		if (f->again[i])
			rb_builder_free(&f->builder[i]);
		else
			spill_rows_of_builder(f, i);
	}
}

/*
 * Spills rows if necessary; called between two rows (rb_receiver). Returns the number
 * of parts at which it is to be called again.
 */
static uint32
spill_sides_if_needed(void *arg)
{
	filling *f = arg;
	rb_builder *b = &f->builder[f->reading];
	const uint64 limit = rb_memory_limit(f->memory);
	uint64 parts, need;

	/* Partially cached: new rows must be merged with cached ones. */
	if (is_side_partly_cached(&f->side[f->reading]))
		return UINT32_MAX;
	if (!rb_spill_has_begun(f->spill))
	{
		need = need_of_sides_so_far(f, &parts);
		if (need < limit)
			return b->nparts + (uint32) Max((limit - need) / (2 * (bytes_of_builder_part(b) + 32)),
											MIN_BUFFERED_PARTS);
		begin_spilling_sides(f);
	}
	else
		spill_rows_of_builder(f, f->reading);
	return b->nparts +
		   (uint32) Max(limit / BUFFERED_FRACTION / bytes_of_builder_part(b), MIN_BUFFERED_PARTS);
}

/* Reads the rows of a source into a builder, or a cached set into the side. */
static void
read_rows_of_source(const rb_source *source, filling *f, rb_space *space, MemoryContext call)
{
	rb_builder *builder = &f->builder[f->reading];
	rb_side_data *side = &f->side[f->reading];
	rb_receiver *receiver;

	rb_builder_init(builder, f->memory, source->kind);
	builder->face_tolerance = source->face_tolerance;
	builder->face_share = source->face_share;
	builder->count_faces = source->count_faces;
	builder->want_face_of = source->polygons || source->count_faces;
	builder->many_points = source->many_points;
	builder->planes = source->planes;
	/*
	 * Keep rows outside the tile if rows form objects, because an object is complete only when all
	 * rows are read.
	 */
	if (!rb_source_has_objects(source) && !source->again)
		builder->tile = source->tile;
	builder->distance = source->distance;
	receiver = rb_receiver_create(source, builder, space);
	receiver->need = f->need;
	if (f->spill != NULL)
	{
		receiver->full_at = MIN_BUFFERED_PARTS;
		receiver->full = spill_sides_if_needed;
		receiver->full_arg = f;
	}
	if (OidIsValid(source->heap))
	{
		/* The cache information must live until the side has become a set. */
		MemoryContext old = MemoryContextSwitchTo(call);
		ErrorContextCallback context;

		enter_reading_context(source, &context);
		rb_read_table(source, receiver, builder, space, side);
		error_context_stack = context.previous;
		MemoryContextSwitchTo(old);
	}
	else
		rb_run_source(source, &receiver->pub);
	/*
	 * Do not cache a set without its invalid rows, because other callers may want all rows, or an
	 * error.
	 */
	if (builder->nrefused > 0 && side->look != NULL)
		rb_side_cache_abandon(side->look, "some of its rows are invalid");
	/* The relation stayed open until here so that no function in a view could change it. */
	if (source->rel != NULL)
		relation_close(source->rel, NoLock);

	if (side->set != NULL)
	{
		rb_builder_free(builder);
		if (!charge_cached_set(source, f->memory, f->spill, side))
		{
			rb_set_release(&side->set);
			begin_spilling_sides(f);
			f->again[f->reading] = true;
		}
	}
	else if (rb_spill_has_begun(f->spill))
	{
		side->skipped = builder->skipped;
		spill_rows_of_builder(f, f->reading);
	}
	else
		rb_builder_trim(builder);
}

/* Raises the failure to build a set from a side's rows, or the interrupt that has stopped it. */
static void
raise_reading_failure(const rb_source *source, rb_status status, const rb_error *error)
{
	if (status == RB_STOPPED)
		rb_rethrow_error();
	rb_raise_of(source->function, source->what == NULL ? "join" : source->what, status, error);
}

/*
 * Counts the distinct ids. Returns 0 if an index shows that they are unique, if the caller named a
 * column of objects, or if there is not enough memory, which the join needs more urgently.
 */
static uint64
count_ids_of_side(const rb_source *source, rb_memory *memory, const int64 *ids, uint32 rows)
{
	uint32_t distinct;
	rb_error error;
	rb_status status;

	if (source->unique || source->keys != NULL || source->object_name != NULL)
		return 0;
	if (ids == NULL) /* NULL if the ids are consecutive */
		return rows;
	status = rb_ids_number(memory, ids, rows, rb_is_interrupted, NULL, &distinct, &error);
	if (status == RB_STOPPED)
		rb_rethrow_error();
	return status == RB_OK ? distinct : 0;
}

/* Counts the distinct ids of a side of which some or all rows are cached. */
static uint64
count_ids_of_cached(const rb_source *source, rb_memory *memory, const rb_side_data *side)
{
	const rb_set *set = side->set;
	uint32_t distinct;
	bool known;
	char why_not[200];
	rb_context ctx;
	rb_error error;

	if (source->unique)
		return 0;
	if (set->view != NULL && set->view->kept->composed_ids &&
		rb_side_cache_ids_ascend(side->look) &&
		rb_view_count_ids(memory, set, &known, &distinct, &error) == RB_OK && known)
		return distinct;
	rb_context_init(&ctx, memory);
	if (set->elsewhere && !set->composed_ids &&
		!rb_worker_ids(source->function, &ctx, set, why_not, sizeof why_not))
		return 0;
	return count_ids_of_side(source, memory, set->ids, set->nrows);
}

/* Finishes the set of a side and counts its ids. */
static void
finish_side(const rb_source *source, rb_builder *builder, const rb_space *space, rb_side_data *side)
{
	rb_error error;
	rb_status status = RB_OK;

	if (side->set != NULL)
	{
		/*
		 * Count the ids unless they were counted when the side was cached. An index may have made
		 * this unnecessary.
		 */
		if (side->ids == 0 || source->unique)
			side->ids = rb_source_has_objects(source)
							? 0
							: count_ids_of_cached(source, builder->memory, side);
		return;
	}
	if (rb_source_has_objects(source))
		status = rb_builder_drop_rejected(builder, &error);
	if (status != RB_OK)
		raise_reading_failure(source, status, &error);
	side->refused = builder->refused;
	side->nrefused = builder->nrefused;
	builder->refused = NULL;
	if (space->dims == 2)
		rb_builder_set_kind(builder, RB_BOX2);
	builder->srid = space->srid_known ? space->srid : 0;
	builder->should_stop = rb_is_interrupted;
	if (side->look != NULL && rb_side_cache_is_partial(side->look))
	{
		rb_side_cache_merge_rows(side->look, builder, side);
		side->ids = count_ids_of_cached(source, builder->memory, side);
		return;
	}
	side->rows = builder->nrows;
	side->ids = count_ids_of_side(source, builder->memory, builder->ids, builder->nrows);
	if (rb_source_has_objects(source))
	{
		status = rb_builder_group(builder, &error);
		if (status == RB_OVER_BUDGET)
			error.need = Max(error.need, rb_need_to_group(builder));
	}
	if (status == RB_OK)
		status = rb_builder_finish(builder, &side->set, &error);
	if (status != RB_OK)
		raise_reading_failure(source, status, &error);
}

/*
 * Reports rows that share an id. This is usually a mistake: a multi-geometry was dumped, and its
 * parts should form one object. The pairs are correct, so this is only a notice, which is issued
 * once and can be switched off.
 */
static void
notice_duplicate_ids(const rb_source *source, int n, const rb_side_data *side)
{
	StringInfoData text;
	const char *object = "";
	bool any = false;

	/* If a side is only being cached, leave the notice to the joins that use it. */
	if (!rb_setting_duplicate_notice || source->keep || source->polygons)
		return;
	initStringInfo(&text);
	for (int i = 0; i < n; i++)
	{
		if (side[i].ids == 0 || side[i].ids == side[i].rows)
			continue;
		appendStringInfo(&text, "%s" UINT64_FORMAT " rows of %s have %s", any ? ", " : "",
						 side[i].rows, source[i].side, rb_count_text(side[i].ids, "id"));
		any = true;
		if (object[0] == '\0' && !source[i].only_rows)
			object =
				psprintf("If rows with the same id form one object, use %s => %s.  ",
						 rb_source_argument(&source[i], "object"),
						 quote_literal_cstr(source[i].id_name == NULL ? "id" : source[i].id_name));
	}
	if (any)
		ereport(
			NOTICE,
			(errmsg("%s: %s", source->function, text.data),
			 errdetail("Each row is treated as a separate object, so pairs may repeat the id."),
			 errhint("%sRun SET redblue.duplicate_notice = off; to disable this notice.", object)));
	pfree(text.data);
}

/* Returns true if all sides and their join fit in memory, once all sides have been read. */
static bool
do_sides_and_join_fit_in_memory(const filling *f)
{
	const uint64 limit = rb_memory_limit(f->memory);
	uint64 parts;

	for (int i = 0; i <= f->reading; i++)
		if (rb_source_has_objects(&f->source[i]) && rb_need_to_group(&f->builder[i]) > limit)
			return false;
	return need_of_sides_so_far(f, &parts) <= limit;
}

/* Reads a side as if it were not cached, because the cached set did not fit in memory either. */
static void
read_side_uncached(filling *f, int i, rb_space *space)
{
	rb_source plain = f->source[i];

	plain.again = true;
	plain.rel = NULL; /* The relation has been closed, but is still locked. */
	memset(&f->side[i], 0, sizeof f->side[i]);
	f->reading = i;
	read_rows_of_source(&plain, f, space, CurrentMemoryContext);
}

/* Moves the remaining rows of all sides to the temporary files. */
static void
spill_rest_of_sides(filling *f, int n, rb_space *space)
{
	for (int i = 0; i < n; i++)
	{
		rb_side_data *side = &f->side[i];

		if (f->again[i])
			read_side_uncached(f, i, space);
		side->kind = f->builder[i].kind;
		if (space->dims == 2 && side->kind == RB_BOX3)
			side->kind = RB_BOX2;
		side->srid = space->srid_known ? space->srid : 0;
		if (rb_source_has_objects(&f->source[i]))
			rb_spill_group(f->spill, i, side->kind);
		side->rows = rb_spill_side(f->spill, i)->rows;
		side->parts = rb_spill_side(f->spill, i)->parts;
		rb_builder_free(&f->builder[i]);
	}
}

/*
 * Checks the dimensions of the tile and of blocks. The dimensions of boxes are known only after
 * reading, and only if there are any boxes.
 */
static void
check_tile_of_sides(const rb_source *source, const rb_space *space)
{
	if (source->tile.dims != 0 && source->kind == RB_BOX3 && space->dims != 0 &&
		space->dims != source->tile.dims)
		rb_tile_refuse_dims(source->function, &source->tile, space->dims);
	if (source->blocks && space->dims == 2)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s: boxes have two dimensions", source->function),
						errdetail("A box in a solid must have three dimensions."),
						errhint("Use columns lx, ly, lz, hx, hy, hz, or x, y, z, dx, dy, dz.")));
}

void
rb_read_sides(const rb_source *source, int n, rb_memory *memory, rb_spill *spill,
			  rb_side_data *side)
{
	rb_builder builder[RB_MAX_SIDES];
	rb_space space;
	rb_need need = {.source = source, .n = n};
	filling f;
	MemoryContext call = CurrentMemoryContext;

	memset(&space, 0, sizeof space);
	memset(&f, 0, sizeof f);
	f.source = source;
	f.memory = memory;
	f.spill = spill;
	f.need = &need;
	f.builder = builder;
	f.side = side;
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "%s: SPI_connect failed", source->function);
	for (f.reading = 0; f.reading < n; f.reading++)
	{
		const int i = f.reading;
		rb_source now = source[i];

		/* Cached sides cannot be used once rows are spilled. */
		now.again |= rb_spill_has_begun(spill);
		read_rows_of_source(&now, &f, &space, call);
		rb_need_next(&need, side[i].set, &builder[i], side[i].kept);
	}
	SPI_finish();
	check_tile_of_sides(&source[0], &space);
	f.reading = n - 1;
	if (spill != NULL && !rb_spill_has_begun(spill) && !do_sides_and_join_fit_in_memory(&f))
		begin_spilling_sides(&f);
	if (rb_spill_has_begun(spill))
	{
		spill_rest_of_sides(&f, n, &space);
		return;
	}
	for (int i = 0; i < n; i++)
		finish_side(&source[i], &builder[i], &space, &side[i]);
	for (int i = 0; i < n; i++)
		if (side[i].look != NULL)
			rb_side_cache_finish_side(side[i].look, &side[i]);
	/* If both sides are the same table, cache it only once. */
	if (n == 2 && side[0].keep != NULL && side[1].keep != NULL &&
		memcmp(side[0].keep->key, side[1].keep->key, RB_KEY_BYTES) == 0)
		side[1].keep = NULL;
	notice_duplicate_ids(source, n, side);
}

const rb_set *
rb_read_side_again(const rb_source *source, rb_memory *memory, const rb_side_data *side)
{
	rb_source plain = *source;
	rb_side_data again;
	rb_builder builder;
	rb_space space;
	rb_need need = {.source = &plain, .n = 1};
	filling f;

	plain.again = true;
	plain.rel = NULL; /* The relation has been closed, but is still locked. */
	memset(&again, 0, sizeof again);
	memset(&space, 0, sizeof space);
	memset(&f, 0, sizeof f);
	/* The dimensions were settled together with the other side. */
	if (source->kind == RB_BOX3)
		space.dims = side->set->kind == RB_BOX2 ? 2 : 3;
	f.source = &plain;
	f.memory = memory;
	f.need = &need;
	f.builder = &builder;
	f.side = &again;
	read_rows_of_source(&plain, &f, &space, CurrentMemoryContext);
	plain.unique = true; /* The ids have already been counted. */
	finish_side(&plain, &builder, &space, &again);
	return again.set;
}
