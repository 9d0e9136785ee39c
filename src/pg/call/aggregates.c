/*
 * aggregates.c
 *	  Returns aggregate results of a join: counts, matched rows, grouped pairs, blocks,
 *	  intersections.
 *
 * The core returns results for row numbers, SQL for ids. If several rows of the selected side share
 * an id, their results are combined, so that the output has the rows of GROUP BY. This costs
 * nothing if the order of the rows shows that ids are unique.
 *
 *	counts, hits	a word or a bit for each row (rb_run_words)
 *	groups			for each row the rows that it is paired with (aggregate_groups.c)
 *	shapes			the intersection of each pair of rows (intersections.c)
 *	blocks			pairs as arrays, for programs that want these: the stream's own
 *					blocks, without a copy
 */
#include "pg/call/aggregates.h"

#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

rb_join_run *
rb_aggregate_run(const rb_aggregate_rows *rows)
{
	return rows->run;
}

/* ---- counts and matched rows ---- */

static uint64
said_of_row(const rb_aggregate_rows *rows, uint32 row)
{
	return rows->result == RB_RESULT_COUNTS ? rows->word[row]
											: rows->word[row / 32] >> row % 32 & 1;
}

static void
sum_up(rb_aggregate_rows *rows)
{
	rows->sum = rb_aggregate_array(rows, rows->numbers, sizeof *rows->sum);
	memset(rows->sum, 0, rows->numbers * sizeof *rows->sum);
	for (uint32 i = 0; i < rows->side->nrows; i++)
	{
		if (i % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
		rows->sum[rows->number[i]] += said_of_row(rows, i);
	}
}

/*
 * Writes the results of up to RB_SAID rows. No other work is done for each of possibly millions of
 * rows, so the loop avoids unpredictable branches.
 */
static size_t
said_of_rows(rb_aggregate_rows *rows, uint32 from, uint32 to)
{
	size_t n = 0;

	for (uint32 row = from; row < to; row++)
	{
		const uint64 said = said_of_row(rows, row);

		rows->id[n] = rb_id_of(rows->side, row);
		rows->said[n] = (int64) said;
		n += said != 0;
	}
	return n;
}

/* Writes the results of up to RB_SAID rows, each id once. */
static size_t
said_of_ids(rb_aggregate_rows *rows, uint32 from, uint32 to)
{
	size_t n = 0;

	for (uint32 row = from; row < to; row++)
		if (rb_aggregate_is_first(rows, row) && rows->sum[rows->number[row]] != 0)
		{
			rows->id[n] = rb_id_of(rows->side, row);
			rows->said[n++] = (int64) rows->sum[rows->number[row]];
		}
	return n;
}

bool
rb_aggregate_block(rb_aggregate_rows *rows, rb_block *block)
{
	if (rows->sorting != NULL)
		return rb_sorted_block(rows, block);
	*block = (rb_block){.red = rows->id, .blue = rows->said};
	while (block->n == 0 && rows->row < rows->side->nrows)
	{
		const uint32 from = rows->row;

		CHECK_FOR_INTERRUPTS();
		rows->row += Min(rows->side->nrows - from, RB_SAID);
		block->n = rows->sum == NULL ? said_of_rows(rows, from, rows->row)
									 : said_of_ids(rows, from, rows->row);
	}
	return block->n > 0;
}

/* ---- blocks ---- */

/*
 * Returns a column of a block as a bytea value. The column has space for the header in front of it.
 */
static Datum
pack_column(int64 *ids, size_t n)
{
	bytea *packed = (bytea *) ((char *) ids - VARHDRSZ);

#ifdef WORDS_BIGENDIAN
	for (size_t i = 0; i < n; i++)
		ids[i] = (int64) pg_bswap64((uint64) ids[i]);
#endif
	SET_VARSIZE(packed, VARHDRSZ + n * sizeof *ids);
	return PointerGetDatum(packed);
}

static bool
next_packed(rb_aggregate_rows *rows, Datum *values)
{
	rb_block block;

	if (!rb_run_next(rows->run, &block))
		return false;
	values[0] = Int32GetDatum((int32) block.n);
	values[1] = pack_column(block.red, block.n);
	values[2] = pack_column(block.blue, block.n);
	return true;
}

/* ---- grouped pairs ---- */

/* Groups the pairs, by sorting them if they do not fit in memory and cannot be joined in slices. */
static void
open_groups(rb_aggregate_rows *rows, rb_job *job)
{
	if (rb_groups_open(rows, job))
		return;
	rb_run_stop(rows->run);
	rb_free(rows->run->memory, (void **) &rows->number);
	*job = rb_run_job(rows->run);
	rb_sorted_open(rows, job);
}

/* ---- the result of one call ---- */

static bool
tells_of_rows(rb_result result)
{
	return result == RB_RESULT_COUNTS || result == RB_RESULT_HITS || result == RB_RESULT_GROUPS;
}

void
rb_aggregate_close(rb_aggregate_rows *rows)
{
	rb_sorted_close(rows);
	rb_run_close(rows->run);
}

rb_aggregate_rows *
rb_aggregate_open(const rb_join *join, rb_result result, rb_result_side of,
				  const rb_call_args *call, MemoryContext context)
{
	rb_aggregate_rows *rows = MemoryContextAllocZero(context, sizeof *rows);
	const int last = rb_join_sides(join) - 1;
	const int mine = of == RB_OF_BLUE ? last : 0;
	rb_job job;

	rows->result = result;
	rows->of = of;
	rows->run =
		rb_run_read(join, call, context, result != RB_RESULT_SHAPES && result != RB_RESULT_SPANS);
	if (rb_run_is_tiled(rows->run) && tells_of_rows(result))
	{
		job = rb_run_job(rows->run);
		rb_sorted_open(rows, &job);
		return rows;
	}
	if (tells_of_rows(result))
		rb_run_need_ids(rows->run, mine);
	if (result == RB_RESULT_GROUPS)
		rb_run_need_ids(rows->run, last - mine);
	if (result == RB_RESULT_SHAPES || result == RB_RESULT_SPANS)
		rb_shapes_begin(rows, context);
	rb_aggregate_sides(rows);
	job = rb_aggregate_job(rows);
	if (tells_of_rows(result))
	{
		job.of = of;
		rb_aggregate_number(rows, &call->source[mine], &rows->run->side[mine]);
	}
	switch (result)
	{
		case RB_RESULT_COUNT:
			job.answer = RB_COUNT;
			rb_aggregate_run_to_end(rows, &job);
			break;
		case RB_RESULT_COUNTS:
		case RB_RESULT_HITS:
			job.answer = result == RB_RESULT_COUNTS ? RB_COUNTS : RB_HITS;
			rb_aggregate_run_to_end(rows, &job);
			rows->word = rb_run_words(rows->run);
			if (rows->number != NULL)
				sum_up(rows);
			break;
		case RB_RESULT_GROUPS:
			open_groups(rows, &job);
			break;
		case RB_RESULT_SHAPES:
		case RB_RESULT_SPANS:
			rb_shapes_open(rows, &job);
			break;
		default:
			Assert(result == RB_RESULT_BLOCKS);
			job.answer = RB_PAIRS;
			job.whole = true;
			rb_run_start(rows->run, &job);
	}
	return rows;
}

bool
rb_aggregate_next(rb_aggregate_rows *rows, Datum *values)
{
	switch (rows->result)
	{
		case RB_RESULT_COUNT:
			values[0] = Int64GetDatum((int64) rows->run->ctx.stats.stage[RB_STAGE_EMIT].count);
			return rows->row++ == 0;
		case RB_RESULT_GROUPS:
			return rows->sorting != NULL ? rb_sorted_group(rows, values)
										 : rb_groups_next(rows, values);
		case RB_RESULT_SHAPES:
		case RB_RESULT_SPANS:
			return rb_shapes_next(rows, values);
		default:
			return next_packed(rows, values);
	}
}

/* ---- as a set-returning function ---- */

Datum
rb_return_aggregate(FunctionCallInfo fcinfo, const rb_join *join)
{
	rb_call_args call;
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	bool no_nulls[RB_RESULT_COLUMNS] = {false};
	Datum values[RB_RESULT_COLUMNS];
	rb_aggregate_rows *rows;
	MemoryContext caller;

	InitMaterializedSRF(fcinfo, 0);
	caller = rb_call_enter();
	rb_call_args_read(join, fcinfo->flinfo->fn_oid, fcinfo->args, &call);
	rows = rb_aggregate_open(join, join->result, RB_OF_RED, &call, CurrentMemoryContext);
	while (rb_aggregate_next(rows, values))
	{
		CHECK_FOR_INTERRUPTS();
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, no_nulls);
	}
	rb_last_run_set(rb_aggregate_run(rows));
	rb_call_leave(caller);
	return (Datum) 0;
}
