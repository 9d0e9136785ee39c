/*
 * join_rows.c
 *	  Stores rows for access by number: in memory within a limit, the rest in a temporary file.
 *
 * A tuplestore is read sequentially, but pairs refer to rows in any order. The location of each row
 * is therefore recorded. Rows in the file are in order of their numbers, which is roughly the order
 * of the pairs.
 */
#include "pg/node/node.h"

#include "commands/tablespace.h"
#include "storage/buffile.h"
#include "utils/memutils.h"

struct rb_spool
{
	MemoryContext context; /* Context that owns all other data */
	MemoryContext rows;    /* Context of the rows that are in memory */
	Size most;
	uint64 *at; /* For each row, a pointer, or 2 * offset + 1 for an offset in the file */
	uint64 n, cap;
	BufFile *file;
	uint64 end; /* End of the file, in bytes */
	char *taken;
	Size taken_cap;
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

static void
write_row(rb_spool *s, const void *bytes, uint32 length)
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
	write_row(s, bytes, (uint32) length);
	s->at[s->n++] = s->end << 1 | 1;
	s->end += sizeof(uint32) + length;
}

static void
read_bytes(rb_spool *s, void *to, Size n)
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
	read_bytes(s, &length, sizeof length);
	if (length > s->taken_cap)
	{
		s->taken_cap = Max(length, 2 * s->taken_cap);
		if (s->taken != NULL)
			pfree(s->taken);
		s->taken = MemoryContextAlloc(s->context, s->taken_cap);
	}
	read_bytes(s, s->taken, length);
	return s->taken;
}

void
rb_spool_close(rb_spool *s)
{
	if (s->file != NULL)
		BufFileClose(s->file);
	if (s->at != NULL)
		pfree(s->at);
	if (s->taken != NULL)
		pfree(s->taken);
	MemoryContextDelete(s->rows);
	pfree(s);
}

uint64
rb_spool_number(const rb_spool *s)
{
	return s->n;
}
