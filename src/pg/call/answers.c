/*
 * answers.c
 *	  What is said of the pairs instead of the pairs: counts, hits, groups, blocks.
 *
 * The core tells of rows, by their numbers; SQL of ids.  Where rows of the side that is
 * told of share an id, what is told of them is brought together, so that these are the
 * rows of GROUP BY; where an index, or their order, says that no two do, that costs
 * nothing.
 *
 *		counts, hits	a word or a bit for each row (rb_run_words)
 *		groups			for each row its partners (rb_run_groups).  Where the memory limit
 *						has no room for all pairs at once, the first join only counts, and
 *						others bring together the pairs of as many rows as there is room for.
 *		blocks			pairs as they come, for programs that want arrays: those of the stream,
 *						which are not copied
 */
#include "pg/base/rb_pg.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/array.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

/* what a pair needs until it is in its group, and besides where a row has several parts (unique.c) */
#define GROUPED_BYTES 12
#define REMEMBERED_BYTES 32

#define SAID 1024 /* rows that are looked up at once */

struct rb_answer_rows
{
	rb_run *run;
	rb_result result;
	rb_of of;
	const rb_set *side;  /* whose rows these are */
	const rb_set *other; /* that they are paired with */

	uint32_t *number; /* of each row's id (rb_ids_number); NULL: no two rows have the same */
	uint32_t numbers;
	uint32 seen; /* of these, so far */
	uint32 row;  /* the next */

	const uint32_t *word; /* of the core: counts or marks */
	uint64_t *sum;        /* of all rows of a number, where these have numbers */
	int64 id[SAID];       /* the next rows that something is said of, ... */
	int64 said[SAID];     /* ... and what */
	rb_block block;       /* of these, */
	size_t next;          /* and where in it rb_answer_next is */

	/* groups: of rows from `base` on, or of numbers */
	rb_groups groups;
	uint32 base;
	uint32 end;       /* of the rows that were joined; all, unless there is no room */
	uint32_t *counts; /* of all rows, where there is no room for all; else NULL */
	rb_set slice;     /* the rows that were joined */
	uint64 emitted;
	bool ascending; /* the other side's ids, with its rows */
	ArrayType *array;
	uint64 room; /* of it, in ids */
};

rb_run *
rb_answer_run(const rb_answer_rows *rows)
{
	return rows->run;
}

static int64
id_of(const rb_set *set, uint32 row)
{
	/* they may wrap */
	return set->ids != NULL ? set->ids[row] : (int64) ((uint64) set->first_id + row);
}

/* memory of the core, which goes with the run */
static void *
make_array(rb_answer_rows *rows, uint64 n, size_t element)
{
	void *array = NULL;
	rb_error error;
	rb_status status = rb_resize(rows->run->memory, &array, Max(n, 1) * element, &error);

	if (status != RB_OK)
		rb_raise(rows->run->join->function, status, &error);
	return array;
}

/* ---- rows that share an id ---- */

/*
 * A unique index is not asked: it may be younger than the snapshot, and the rows that this
 * sees may have had one id.
 */
static void
number_ids(rb_answer_rows *rows, const rb_source *source, const rb_side *side)
{
	const rb_set *set = rows->side;
	rb_error error;
	rb_status status;

	if (set->ids == NULL || source->object_name != NULL || side->ids == side->rows ||
		rb_set_ids_ascend(set))
		return;
	rows->number = make_array(rows, set->nrows, sizeof *rows->number);
	status = rb_ids_number(rows->run->memory, set->ids, set->nrows, rb_is_interrupted, rows->number,
						   &rows->numbers, &error);
	if (status == RB_STOPPED)
		rb_throw_kept();
	if (status != RB_OK)
		rb_raise(rows->run->join->function, status, &error);
	if (rows->numbers == set->nrows)
		rb_free(rows->run->memory, (void **) &rows->number);
}

/* is it the first row of its id?  To be asked of each row, in order. */
static bool
is_first(rb_answer_rows *rows, uint32 row)
{
	if (rows->number == NULL)
		return true;
	if (rows->number[row] != rows->seen)
		return false;
	rows->seen++;
	return true;
}

/* ---- counts and hits ---- */

static uint64
said_of_row(const rb_answer_rows *rows, uint32 row)
{
	return rows->result == RB_RESULT_COUNTS ? rows->word[row]
											: rows->word[row / 32] >> row % 32 & 1;
}

static void
sum_up(rb_answer_rows *rows)
{
	rows->sum = make_array(rows, rows->numbers, sizeof *rows->sum);
	memset(rows->sum, 0, rows->numbers * sizeof *rows->sum);
	for (uint32 i = 0; i < rows->side->nrows; i++)
	{
		if (i % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
		rows->sum[rows->number[i]] += said_of_row(rows, i);
	}
}

/* of up to SAID rows; nothing else is done for each of millions, so it has no branch to miss */
static size_t
said_of_rows(rb_answer_rows *rows, uint32 from, uint32 to)
{
	size_t n = 0;

	for (uint32 row = from; row < to; row++)
	{
		const uint64 said = said_of_row(rows, row);

		rows->id[n] = id_of(rows->side, row);
		rows->said[n] = (int64) said;
		n += said != 0;
	}
	return n;
}

/* the same, each id once */
static size_t
said_of_ids(rb_answer_rows *rows, uint32 from, uint32 to)
{
	size_t n = 0;

	for (uint32 row = from; row < to; row++)
		if (is_first(rows, row) && rows->sum[rows->number[row]] != 0)
		{
			rows->id[n] = id_of(rows->side, row);
			rows->said[n++] = (int64) rows->sum[rows->number[row]];
		}
	return n;
}

bool
rb_answer_block(rb_answer_rows *rows, rb_block *block)
{
	*block = (rb_block){.red = rows->id, .blue = rows->said};
	while (block->n == 0 && rows->row < rows->side->nrows)
	{
		const uint32 from = rows->row;

		CHECK_FOR_INTERRUPTS();
		rows->row += Min(rows->side->nrows - from, SAID);
		block->n = rows->sum == NULL ? said_of_rows(rows, from, rows->row)
									 : said_of_ids(rows, from, rows->row);
	}
	return block->n > 0;
}

static bool
next_said(rb_answer_rows *rows, Datum *values)
{
	if (rows->next == rows->block.n)
	{
		rows->next = 0;
		if (!rb_answer_block(rows, &rows->block))
			return false;
	}
	values[0] = Int64GetDatum(rows->block.red[rows->next]);
	values[1] = Int64GetDatum(rows->block.blue[rows->next]);
	rows->next++;
	return true;
}

/* ---- groups ---- */

static void
run_to_end(rb_answer_rows *rows, const rb_job *job)
{
	rb_block block;

	rb_run_start(rows->run, job);
	while (rb_run_next(rows->run, &block))
		;
}

/* the first part of a row; behind the last row, how many parts there are */
static uint32
first_part(const rb_set *set, uint32 row)
{
	uint32 from = 0;
	uint32 to = set->nparts;

	if (set->row_of == NULL)
		return row;
	while (from < to)
	{
		uint32 middle = from + (to - from) / 2;

		if (set->row_of[middle] < row)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/*
 * Some rows of a set, as a set of its own whose arrays begin later.  Where parts have rows
 * these keep their numbers, so that nothing is copied; else they are counted from 0.
 */
static rb_set
slice_of(const rb_set *set, uint32 from, uint32 to)
{
	const uint32 part = first_part(set, from);
	rb_set slice = *set;

	slice.owner = NULL;
	slice.view = NULL;
	slice.number = 0;
	slice.nparts = first_part(set, to) - part;
	slice.coords = set->coords + (size_t) part * rb_kind_width(set->kind);
	slice.nrows = to;
	if (set->row_of != NULL)
		slice.row_of = set->row_of + part;
	else
	{
		slice.nrows = to - from;
		slice.ids = set->ids != NULL ? set->ids + from : NULL;
		slice.first_id = id_of(set, from);
	}
	return slice;
}

static uint64
bytes_of_pair(const rb_answer_rows *rows)
{
	return rows->side->nparts != rows->side->nrows || rows->other->nparts != rows->other->nrows
			   ? GROUPED_BYTES + REMEMBERED_BYTES
			   : GROUPED_BYTES;
}

/* the rows from `base` on whose pairs should fit into that many bytes; one at least */
static uint32
rows_that_fit(const rb_answer_rows *rows, uint64 bytes)
{
	const uint64 most = bytes / bytes_of_pair(rows);
	uint64 pairs = 0;
	uint32 row = rows->base;

	while (row < rows->side->nrows && (row == rows->base || pairs + rows->counts[row] <= most))
	{
		if (row % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
		pairs += rows->counts[row++];
	}
	return row;
}

pg_noreturn static void
raise_no_room(rb_answer_rows *rows, uint64 pairs)
{
	rb_error error = {RB_OVER_BUDGET, 0, rb_memory_limit(rows->run->memory), ""};

	/* the first join has found out what it needs itself */
	error.need = rb_memory_peak(rows->run->memory) + pairs * bytes_of_pair(rows);
	rb_raise(rows->run->join->function, RB_OVER_BUDGET, &error);
}

/* the sides as they are now: one that was elsewhere may have been read again */
static void
take_sides(rb_answer_rows *rows)
{
	const int last = rb_join_sides(rows->run->join) - 1;
	const int mine = rows->of == RB_OF_BLUE ? last : 0;

	rows->side = rows->run->side[mine].set;
	rows->other = rows->run->side[last - mine].set;
}

/*
 * Joins the next rows alone with the other side.  In a self join they meet themselves there,
 * which next_group leaves out, and each pair of two of them is found from both.
 */
static void
join_slice(rb_answer_rows *rows)
{
	const uint64 limit = rb_memory_limit(rows->run->memory);
	rb_job job;
	uint64 used;
	uint64 room;

	rb_run_stop(rows->run);
	/* a slice is cut from an array that is here */
	rb_run_need_rows(rows->run, rows->of == RB_OF_BLUE ? rb_join_sides(rows->run->join) - 1 : 0);
	take_sides(rows);
	used = rb_memory_used(rows->run->memory) + rb_need_of_join(rows->run->parts);
	/* what the join needs is only known about: half of what is left is kept for it */
	room = limit > used ? (limit - used) / 2 : 0;
	for (;;)
	{
		take_sides(rows);
		job = rb_run_job(rows->run);
		job.answer = RB_GROUPS;
		rows->end = rows_that_fit(rows, room);
		rows->slice = slice_of(rows->side, rows->base, rows->end);
		job.of = rows->of == RB_OF_BLUE ? RB_OF_BLUE : RB_OF_RED;
		if (rows->of == RB_OF_BLUE)
			job.blue = &rows->slice;
		else
		{
			job.red = &rows->slice;
			job.blue = rows->other;
		}
		run_to_end(rows, &job);
		if (rb_run_groups(rows->run, &rows->groups))
			break;
		if (rows->end == rows->base + 1)
			raise_no_room(rows, rows->counts[rows->base]);
		room /= 2;
	}
	rows->run->ctx.stats.stage[RB_STAGE_EMIT].count = rows->emitted;
}

/* do the ids of a set ascend with its rows? */
static bool
ids_ascend(const rb_set *set)
{
	bool ascend = set->nrows == 0 || id_of(set, 0) <= id_of(set, set->nrows - 1);

	for (uint32 i = 1; set->ids != NULL && i < set->nrows && ascend; i++)
	{
		if (i % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
		ascend = set->ids[i - 1] <= set->ids[i];
	}
	return ascend;
}

/* all groups, or what is needed to make some after the other */
static void
open_groups(rb_answer_rows *rows, rb_job *job)
{
	const uint32 n = rows->side->nrows;

	/* slices of a self join know no first and second row */
	Assert(rb_join_sides(rows->run->join) == 2 || rows->of == RB_OF_BOTH);
	rows->ascending = ids_ascend(rows->other);
	job->answer = RB_GROUPS;
	job->number = rows->number;
	job->numbers = rows->numbers;
	run_to_end(rows, job);
	rows->end = n;
	if (rb_run_groups(rows->run, &rows->groups))
		return;
	rows->emitted = rows->run->ctx.stats.stage[RB_STAGE_EMIT].count;
	/* rows of one id may lie anywhere, and a slice is of rows that lie together */
	if (rows->number != NULL)
		raise_no_room(rows, rows->emitted);
	rows->counts = make_array(rows, n, sizeof *rows->counts);
	memcpy(rows->counts, rb_run_words(rows->run), n * sizeof *rows->counts);
	rows->end = 0;
}

static int
compare_ids(const void *x, const void *y)
{
	const int64 a = *(const int64 *) x;
	const int64 b = *(const int64 *) y;

	CHECK_FOR_INTERRUPTS();
	return (a > b) - (a < b);
}

static void
reserve_array(rb_answer_rows *rows, uint64 n, int64 id)
{
	const uint64 most = (MaxAllocSize - ARR_OVERHEAD_NONULLS(1)) / sizeof(int64);
	uint64 room = Max(n, 2 * rows->room);

	if (n <= rows->room)
		return;
	if (n > most)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("%s: the pairs of id " INT64_FORMAT " do not fit into an array",
							   rows->run->join->function, id),
						errdetail("It has " UINT64_FORMAT
								  " of them, an array has room for " UINT64_FORMAT ".",
								  n, most),
						errhint("The pairs function gives them as rows.")));
	room = Min(room, most);
	if (rows->array != NULL)
		pfree(rows->array);
	rows->array = NULL;
	rows->array = MemoryContextAlloc(GetMemoryChunkContext(rows),
									 ARR_OVERHEAD_NONULLS(1) + room * sizeof(int64));
	rows->room = room;
}

/* the ids of rows of the other side, which ascend, as ids that ascend; `not_row` is left out */
static Datum
array_of(rb_answer_rows *rows, const uint32_t *member, uint64 n, uint32 not_row, int64 id)
{
	const rb_set *other = rows->other;
	ArrayType *array;
	int64 *to;
	int k = 0;

	reserve_array(rows, n, id);
	array = rows->array;
	to = (int64 *) ((char *) array + ARR_OVERHEAD_NONULLS(1));
	for (uint64 i = 0; i < n; i++)
	{
		if ((i + 1) % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
		to[k] = id_of(other, member[i]);
		k += member[i] != not_row;
	}
	if (!rows->ascending && k > 1)
		qsort(to, k, sizeof *to, compare_ids);
	SET_VARSIZE(array, ARR_OVERHEAD_NONULLS(1) + k * sizeof(int64));
	array->ndim = 1;
	array->dataoffset = 0;
	array->elemtype = INT8OID;
	ARR_DIMS(array)[0] = k;
	ARR_LBOUND(array)[0] = 1;
	return PointerGetDatum(array);
}

/* the row of the next group with members, in the rows that were joined */
static bool
next_group_here(rb_answer_rows *rows, Datum *values)
{
	const bool sliced = rows->counts != NULL;
	const bool self = rb_join_sides(rows->run->join) == 1;
	const uint32 first = sliced && rows->side->row_of == NULL ? rows->base : 0;

	while (rows->row < rows->end)
	{
		const uint32 row = rows->row++;
		uint64 from;
		uint64 n;
		int64 id;
		uint32 group = row - first;

		if (row % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
		if (!is_first(rows, row) || (sliced && rows->counts[row] == 0))
			continue;
		if (rows->number != NULL)
			group = rows->number[row];
		from = rows->groups.start[group];
		n = rows->groups.start[group + 1] - from;
		if (n == 0)
			continue;
		id = id_of(rows->side, row);
		values[0] = Int64GetDatum(id);
		values[1] =
			array_of(rows, rows->groups.member + from, n, sliced && self ? row : PG_UINT32_MAX, id);
		return true;
	}
	return false;
}

static bool
next_group(rb_answer_rows *rows, Datum *values)
{
	while (!next_group_here(rows, values))
	{
		if (rows->end == rows->side->nrows)
			return false;
		rows->base = rows->end;
		join_slice(rows);
	}
	return true;
}

/* ---- blocks ---- */

/* a column of a block as a value: with a header, for which there is room in front of it */
static Datum
pack(int64 *ids, size_t n)
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
next_packed(rb_answer_rows *rows, Datum *values)
{
	rb_block block;

	if (!rb_run_next(rows->run, &block))
		return false;
	values[0] = Int32GetDatum((int32) block.n);
	values[1] = pack(block.red, block.n);
	values[2] = pack(block.blue, block.n);
	return true;
}

/* ---- one call's answer ---- */

rb_answer_rows *
rb_answer_open(const rb_join *join, rb_result result, rb_of of, const rb_call *call,
			   MemoryContext context)
{
	rb_answer_rows *rows = MemoryContextAllocZero(context, sizeof *rows);
	const int last = rb_join_sides(join) - 1;
	const int mine = of == RB_OF_BLUE ? last : 0;
	rb_job job;

	rows->result = result;
	rows->of = of;
	rows->run = rb_run_read(join, call, context);
	if (result == RB_RESULT_COUNTS || result == RB_RESULT_HITS || result == RB_RESULT_GROUPS)
		rb_run_need_ids(rows->run, mine);
	if (result == RB_RESULT_GROUPS)
		rb_run_need_ids(rows->run, last - mine);
	take_sides(rows);
	job = rb_run_job(rows->run);
	if (result == RB_RESULT_COUNTS || result == RB_RESULT_HITS || result == RB_RESULT_GROUPS)
	{
		job.of = of;
		number_ids(rows, &call->source[mine], &rows->run->side[mine]);
	}
	switch (result)
	{
		case RB_RESULT_COUNT:
			job.answer = RB_COUNT;
			run_to_end(rows, &job);
			break;
		case RB_RESULT_COUNTS:
		case RB_RESULT_HITS:
			job.answer = result == RB_RESULT_COUNTS ? RB_COUNTS : RB_HITS;
			run_to_end(rows, &job);
			rows->word = rb_run_words(rows->run);
			if (rows->number != NULL)
				sum_up(rows);
			break;
		case RB_RESULT_GROUPS:
			open_groups(rows, &job);
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
rb_answer_next(rb_answer_rows *rows, Datum *values)
{
	switch (rows->result)
	{
		case RB_RESULT_COUNT:
			values[0] = Int64GetDatum((int64) rows->run->ctx.stats.stage[RB_STAGE_EMIT].count);
			return rows->row++ == 0;
		case RB_RESULT_COUNTS:
		case RB_RESULT_HITS:
			return next_said(rows, values);
		case RB_RESULT_GROUPS:
			return next_group(rows, values);
		default:
			return next_packed(rows, values);
	}
}

/* ---- as a function that returns a set ---- */

Datum
rb_return_answer(FunctionCallInfo fcinfo, const rb_join *join)
{
	rb_call call;
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	bool no_nulls[RB_RESULT_COLUMNS] = {false};
	Datum values[RB_RESULT_COLUMNS];
	rb_answer_rows *rows;
	MemoryContext caller;
	MemoryContext context;

	/* one column is no row type: its description is only with the caller */
	InitMaterializedSRF(fcinfo, join->result == RB_RESULT_HITS ? MAT_SRF_USE_EXPECTED_DESC : 0);
	context = AllocSetContextCreate(CurrentMemoryContext, "redblue call", ALLOCSET_DEFAULT_SIZES);
	caller = MemoryContextSwitchTo(context);
	rb_call_read(join, fcinfo->flinfo->fn_oid, fcinfo->args, &call);
	rows = rb_answer_open(join, join->result, rb_join_tells_of(join), &call, context);
	while (rb_answer_next(rows, values))
	{
		CHECK_FOR_INTERRUPTS();
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, no_nulls);
	}
	rb_last_run_set(rb_answer_run(rows));
	MemoryContextDelete(MemoryContextSwitchTo(caller));
	return (Datum) 0;
}
