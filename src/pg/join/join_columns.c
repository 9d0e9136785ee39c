/*
 * join_columns.c
 *	  What is wanted again of the rows of an input: their columns, by the number of the row.
 *
 * Mostly these are one or two keys.  So where all of them are values that fit into a word (numbers, dates), and few, they
 * lie side by side in an array; a pair of rows is then two copies.  Rows with anything else become tuples with
 * what is wanted (join_rows.c).
 */
#include "pg/join/rb_geometry_join.h"

#include "executor/tuptable.h"

#define MOST_WORDS 8

struct rb_join_rows
{
	const char *function;
	Bitmapset *wanted;
	int natts;

	/* in arrays */
	int words; /* of a row; 0: rows are tuples */
	int column[MOST_WORDS];
	rb_memory *memory;
	Datum *values;
	uint8 *nulls; /* a bit for each of them */
	uint64 n, cap;

	rb_spool *rows;
	TupleTableSlot *reduced; /* with what is wanted of a row */
	TupleTableSlot *stored;
};

rb_join_rows *
rb_join_rows_open(TupleDesc desc, const Bitmapset *wanted, rb_memory *memory, const char *function,
				  Size most)
{
	rb_join_rows *k = palloc0(sizeof *k);
	bool small = bms_num_members(wanted) <= MOST_WORDS;
	int i = -1;

	k->function = function;
	k->wanted = bms_copy(wanted);
	k->natts = desc->natts;
	k->memory = memory;
	while ((i = bms_next_member(wanted, i)) >= 0 && small)
	{
		small = TupleDescAttr(desc, i)->attbyval;
		k->column[k->words++] = i;
	}
	if (small)
		return k;
	k->words = 0;
	k->rows = rb_spool_open(most);
	k->stored = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	k->reduced = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	return k;
}

static void
grow(rb_join_rows *k)
{
	const uint64 cap = k->cap == 0 ? 4096 : 2 * k->cap;
	rb_error error;
	rb_status status = rb_resize(k->memory, (void **) &k->values,
								 cap * (uint64) k->words * sizeof *k->values, &error);

	if (status == RB_OK)
		status = rb_resize(k->memory, (void **) &k->nulls, cap * sizeof *k->nulls, &error);
	if (status != RB_OK)
		rb_raise(k->function, status, &error);
	k->cap = cap;
}

static void
put_words(rb_join_rows *k, TupleTableSlot *slot)
{
	Datum *to;

	if (k->n == k->cap)
		grow(k);
	to = k->values + k->n * (uint64) k->words;
	slot_getsomeattrs(slot, k->column[k->words - 1] + 1);
	k->nulls[k->n] = 0;
	for (int i = 0; i < k->words; i++)
	{
		to[i] = slot->tts_values[k->column[i]];
		if (slot->tts_isnull[k->column[i]])
			k->nulls[k->n] |= (uint8) (1 << i);
	}
	k->n++;
}

static void
put_tuple(rb_join_rows *k, TupleTableSlot *slot)
{
	MinimalTuple tuple;
	int i = -1;

	slot_getallattrs(slot);
	ExecClearTuple(k->reduced);
	memset(k->reduced->tts_isnull, true, (Size) k->natts);
	while ((i = bms_next_member(k->wanted, i)) >= 0)
	{
		k->reduced->tts_values[i] = slot->tts_values[i];
		k->reduced->tts_isnull[i] = slot->tts_isnull[i];
	}
	ExecStoreVirtualTuple(k->reduced);
	tuple = ExecCopySlotMinimalTuple(k->reduced);
	rb_spool_put(k->rows, tuple, tuple->t_len);
	pfree(tuple);
}

void
rb_join_rows_put(rb_join_rows *k, TupleTableSlot *slot)
{
	if (k->words > 0)
		put_words(k, slot);
	else
		put_tuple(k, slot);
}

void
rb_join_rows_get(rb_join_rows *k, uint64 row, Datum *values, bool *isnull)
{
	int i = -1;

	if (k->words > 0)
	{
		const Datum *from = k->values + row * (uint64) k->words;
		const uint8 nulls = k->nulls[row];

		for (i = 0; i < k->words; i++)
		{
			values[k->column[i]] = from[i];
			isnull[k->column[i]] = (nulls >> i & 1) != 0;
		}
		return;
	}
	ExecStoreMinimalTuple(rb_spool_get(k->rows, row), k->stored, false);
	slot_getallattrs(k->stored);
	while ((i = bms_next_member(k->wanted, i)) >= 0)
	{
		values[i] = k->stored->tts_values[i];
		isnull[i] = k->stored->tts_isnull[i];
	}
}

/* before the memory that its arrays are of is closed */
void
rb_join_rows_close(rb_join_rows *k)
{
	if (k->words > 0)
	{
		rb_free(k->memory, (void **) &k->values);
		rb_free(k->memory, (void **) &k->nulls);
	}
	else
	{
		rb_spool_close(k->rows);
		ExecDropSingleTupleTableSlot(k->stored);
		ExecDropSingleTupleTableSlot(k->reduced);
	}
	bms_free(k->wanted);
	pfree(k);
}
