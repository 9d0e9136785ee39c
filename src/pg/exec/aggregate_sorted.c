/*
 * aggregate_sorted.c
 *	  Computes counts, matched rows and grouped pairs by sorting the pairs by id, if a join runs tile
 *	  by tile or its groups cannot be joined slice by slice.
 *
 *	pairs of all tiles -> PostgreSQL's sort, within work_mem and temporary files -> runs of one id
 *
 * If all rows are in memory, they are numbered, and an array holds a result for each number. When a
 * join runs tile by tile, each row has different numbers in different tiles. The results are then
 * computed per id from the start, and are returned in order of the ids.
 */
#include "pg/exec/aggregates.h"

#include "catalog/pg_operator_d.h"
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/tuplesort.h"

struct rb_sorting
{
	Tuplesortstate *sort; /* NULL after the sort has been ended */
	TupleTableSlot *slot; /* Both ids, for grouped pairs; NULL if only one id is sorted */
	bool any;             /* True if `id` and `other` hold the first pair of the next run */
	int64 id;
	int64 other;
};

static void
begin_sort(rb_cursor *rows)
{
	struct rb_sorting *s = rows->sorting;
	AttrNumber columns[2] = {1, 2};
	Oid operators[2] = {Int8LessOperator, Int8LessOperator};
	Oid collations[2] = {InvalidOid, InvalidOid};
	bool nulls_first[2] = {false, false};
	TupleDesc desc;

	if (rows->result != RB_RESULT_GROUPS)
	{
		s->sort =
			tuplesort_begin_datum(INT8OID, Int8LessOperator, InvalidOid, false, work_mem, NULL, 0);
		return;
	}
	desc = CreateTemplateTupleDesc(2);
	TupleDescInitEntry(desc, 1, "id", INT8OID, -1, 0);
	TupleDescInitEntry(desc, 2, "other", INT8OID, -1, 0);
	TupleDescFinalize(desc);
	s->slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	s->sort = tuplesort_begin_heap(desc, 2, columns, operators, collations, nulls_first, work_mem,
								   NULL, 0);
}

static void
put_pair(struct rb_sorting *s, TupleTableSlot *pair, int64 id, int64 other)
{
	if (pair == NULL)
	{
		tuplesort_putdatum(s->sort, Int64GetDatum(id), false);
		return;
	}
	ExecClearTuple(pair);
	pair->tts_values[0] = Int64GetDatum(id);
	pair->tts_values[1] = Int64GetDatum(other);
	pair->tts_isnull[0] = pair->tts_isnull[1] = false;
	ExecStoreVirtualTuple(pair);
	tuplesort_puttupleslot(s->sort, pair);
}

static void
put_pairs(rb_cursor *rows)
{
	struct rb_sorting *s = rows->sorting;
	TupleTableSlot *pair = NULL;
	rb_block block;

	if (s->slot != NULL)
		pair = MakeSingleTupleTableSlot(s->slot->tts_tupleDescriptor, &TTSOpsVirtual);
	while (rb_run_next(rows->run, &block))
		for (size_t i = 0; i < block.n; i++)
		{
			if (rows->of != RB_OF_BLUE)
				put_pair(s, pair, block.red[i], block.blue[i]);
			if (rows->of != RB_OF_RED)
				put_pair(s, pair, block.blue[i], block.red[i]);
		}
	if (pair != NULL)
		ExecDropSingleTupleTableSlot(pair);
}

/* Reads the next pair into (s->id, s->other) and sets s->any. */
static void
get_pair(struct rb_sorting *s)
{
	Datum id;
	bool null;

	if (s->slot == NULL)
	{
		s->any = rb_tuplesort_getdatum(s->sort, &id, &null);
		s->id = s->any ? DatumGetInt64(id) : 0;
		return;
	}
	s->any = tuplesort_gettupleslot(s->sort, true, false, s->slot, NULL);
	if (!s->any)
		return;
	slot_getallattrs(s->slot);
	s->id = DatumGetInt64(s->slot->tts_values[0]);
	s->other = DatumGetInt64(s->slot->tts_values[1]);
}

void
rb_sorted_open(rb_cursor *rows, rb_job *job)
{
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(rows));

	rows->sorting = palloc0(sizeof *rows->sorting);
	begin_sort(rows);
	job->answer = RB_PAIRS;
	rb_run_start(rows->run, job);
	put_pairs(rows);
	tuplesort_performsort(rows->sorting->sort);
	get_pair(rows->sorting);
	MemoryContextSwitchTo(old);
}

/*
 * Returns the next id with its number of pairs. For grouped pairs, stores the other ids in
 * rows->array.
 */
static bool
next_run(rb_cursor *rows, int64 *id, uint64 *n)
{
	struct rb_sorting *s = rows->sorting;

	*n = 0;
	if (s->sort == NULL)
		return false;
	if (!s->any)
	{
		rb_sorted_close(rows);
		return false;
	}
	*id = s->id;
	do
	{
		if (*n % 65536 == 65535)
			CHECK_FOR_INTERRUPTS();
		if (s->slot != NULL)
			*rb_groups_place(rows, *n, s->id) = s->other;
		(*n)++;
		get_pair(s);
	} while (s->any && s->id == *id);
	return true;
}

bool
rb_sorted_block(rb_cursor *rows, rb_block *block)
{
	uint64 n;

	*block = (rb_block){.red = rows->id, .blue = rows->said};
	while (block->n < RB_SAID && next_run(rows, &rows->id[block->n], &n))
		rows->said[block->n++] = (int64) (rows->result == RB_RESULT_HITS ? 1 : n);
	return block->n > 0;
}

bool
rb_sorted_group(rb_cursor *rows, Datum *values)
{
	int64 id;
	uint64 n;

	if (!next_run(rows, &id, &n))
		return false;
	values[0] = Int64GetDatum(id);
	values[1] = rb_groups_finish(rows, n);
	values[2] = Int64GetDatum((int64) n);
	return true;
}

void
rb_sorted_close(rb_cursor *rows)
{
	struct rb_sorting *s = rows->sorting;

	if (s == NULL || s->sort == NULL)
		return;
	if (s->slot != NULL)
		ExecDropSingleTupleTableSlot(s->slot);
	s->slot = NULL;
	tuplesort_end(s->sort);
	s->sort = NULL;
}
