/*
 * join_rows.c
 *	  Stores rows for access by number: rows of any length in a spool, in memory up to a limit and
 *	  beyond it in a temporary file; and the columns of an input's rows that are needed again.
 *
 * A tuplestore is read sequentially, but pairs refer to rows in any order. The location of each row
 * is therefore recorded. Rows in the file are in order of their numbers, which is roughly the order
 * of the pairs.
 *
 * The columns that are needed again are usually one or two keys. If there are few columns and all
 * of them are passed by value (numbers, dates), they are stored side by side in an array, and a
 * pair of rows costs two copies. Other rows are stored in a spool, as tuples of the needed columns.
 */
#include "pg/node/node.h"

#include "commands/tablespace.h"
#include "executor/tuptable.h"
#include "storage/buffile.h"
#include "utils/memutils.h"

/* ---- rows of any length: a spool ---- */

struct rb_spool
{
	MemoryContext context; /* Context that owns all other data */
	MemoryContext rows;    /* Context of the rows that are in memory */
	Size most;
	uint64 *at; /* For each row, a pointer, or 2 * offset + 1 for an offset in the file */
	uint64 n, cap;
	BufFile *file;
	uint64 end; /* End of the file, in bytes */
	char *buffer;
	Size buffer_cap;
};

rb_spool *
rb_spool_open(Size most)
{
	rb_spool *s = palloc0(sizeof *s);

	s->context = CurrentMemoryContext;
	s->rows = AllocSetContextCreate(s->context, "redblue join rows", ALLOCSET_DEFAULT_SIZES);
	s->most = most;
	return s;
}

/* Appends a row with its length to the temporary file. */
static void
append_spool_row(rb_spool *s, const void *bytes, uint32 length)
{
	MemoryContext old = MemoryContextSwitchTo(s->context);

	if (s->file == NULL)
	{
		PrepareTempTablespaces();
		s->file = BufFileCreateTemp(false);
	}
	if (BufFileSeek(s->file, 0, (off_t) s->end, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(), errmsg("could not seek in temporary file of join")));
	BufFileWrite(s->file, (void *) &length, sizeof length);
	BufFileWrite(s->file, (void *) bytes, length);
	MemoryContextSwitchTo(old);
}

void
rb_spool_append(rb_spool *s, const void *bytes, Size length)
{
	if (s->n == s->cap)
	{
		const uint64 cap = s->cap == 0 ? 1024 : 2 * s->cap;

		s->at = s->at == NULL ? MemoryContextAllocHuge(s->context, cap * sizeof *s->at)
							  : repalloc_huge(s->at, cap * sizeof *s->at);
		s->cap = cap;
	}
	if (s->file == NULL && MemoryContextMemAllocated(s->rows, false) + length <= s->most)
	{
		void *copy = MemoryContextAlloc(s->rows, length);

		memcpy(copy, bytes, length);
		s->at[s->n++] = (uint64) (uintptr_t) copy;
		return;
	}
	append_spool_row(s, bytes, (uint32) length);
	s->at[s->n++] = s->end << 1 | 1;
	s->end += sizeof(uint32) + length;
}

/* Reads n bytes of a spilled row from the current position of the temporary file. */
static void
read_spool_bytes(rb_spool *s, void *to, Size n)
{
	if (BufFileRead(s->file, to, n) != n)
		ereport(ERROR,
				(errcode_for_file_access(), errmsg("could not read from temporary file of join")));
}

void *
rb_spool_read(rb_spool *s, uint64 i)
{
	const uint64 at = s->at[i];
	uint32 length;

	if ((at & 1) == 0)
		return (void *) (uintptr_t) at;
	if (BufFileSeek(s->file, 0, (off_t) (at >> 1), SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(), errmsg("could not seek in temporary file of join")));
	read_spool_bytes(s, &length, sizeof length);
	if (length > s->buffer_cap)
	{
		s->buffer_cap = Max(length, 2 * s->buffer_cap);
		if (s->buffer != NULL)
			pfree(s->buffer);
		s->buffer = MemoryContextAlloc(s->context, s->buffer_cap);
	}
	read_spool_bytes(s, s->buffer, length);
	return s->buffer;
}

void
rb_spool_close(rb_spool *s)
{
	if (s->file != NULL)
		BufFileClose(s->file);
	if (s->at != NULL)
		pfree(s->at);
	if (s->buffer != NULL)
		pfree(s->buffer);
	MemoryContextDelete(s->rows);
	pfree(s);
}

uint64
rb_spool_number(const rb_spool *s)
{
	return s->n;
}

/* ---- columns of the rows of an input ---- */

#define MOST_WORDS 8

struct rb_join_rows
{
	const char *function;
	Bitmapset *wanted;
	int natts;

	/* Rows stored in arrays */
	int words; /* Number of words per row, 0 if rows are tuples */
	int column[MOST_WORDS];
	rb_memory *memory;
	Datum *values;
	uint8 *nulls; /* A null bit for each word of a row */
	uint64 n, cap;

	rb_spool *rows;
	TupleTableSlot *reduced; /* Row reduced to the needed columns */
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

/* Doubles the capacity for rows of datums. */
static void
grow_datum_arrays(rb_join_rows *k)
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

/* Appends the datums of the needed columns, all of which are passed by value. */
static void
append_datums_of_row(rb_join_rows *k, TupleTableSlot *slot)
{
	Datum *to;

	if (k->n == k->cap)
		grow_datum_arrays(k);
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

/* Appends the needed columns as a tuple, with nulls in place of the others. */
static void
append_tuple_of_row(rb_join_rows *k, TupleTableSlot *slot)
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
	rb_spool_append(k->rows, tuple, tuple->t_len);
	pfree(tuple);
}

void
rb_join_rows_append(rb_join_rows *k, TupleTableSlot *slot)
{
	if (k->words > 0)
		append_datums_of_row(k, slot);
	else
		append_tuple_of_row(k, slot);
}

void
rb_join_rows_read(rb_join_rows *k, uint64 row, Datum *values, bool *isnull)
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
	ExecStoreMinimalTuple(rb_spool_read(k->rows, row), k->stored, false);
	slot_getallattrs(k->stored);
	while ((i = bms_next_member(k->wanted, i)) >= 0)
	{
		values[i] = k->stored->tts_values[i];
		isnull[i] = k->stored->tts_isnull[i];
	}
}

/* Frees the rows. Must be called before the memory account of the arrays is closed. */
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
