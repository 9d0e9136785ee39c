/*
 * aggregate_groups.c
 *	  Returns, for each row, the ids of the rows that it is paired with.
 *
 * If the memory limit has no room for all pairs at once, the first join only counts them. Further
 * joins then group the pairs of as many rows at a time as fit in memory, if a slice of the rows has
 * all pairs of its groups and a few slices suffice. Otherwise the pairs are sorted
 * (aggregate_sorted.c).
 */
#include "core/base/sort.h"
#include "pg/base/join_memory.h"
#include "pg/exec/aggregates.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/*
 * Bytes per pair until it is in its group, and additional bytes if a row has several parts
 * (distinct_rows.c)
 */
#define GROUPED_BYTES 12
#define REMEMBERED_BYTES 32

#define MOST_SLICES 8 /* a sort is faster than more joins */

/* Returns the first part of a row, or the number of parts if `row` is the end of the rows. */
static uint32
first_part(const rb_set *set, uint32 row)
{
	return set->row_of == NULL ? row
							   : (uint32) rb_numbers_lower_bound(set->row_of, set->nparts, row);
}

/*
 * Returns a slice of a set's rows as a set whose arrays begin later. If parts refer to rows, the
 * rows keep their numbers, so that nothing is copied; otherwise they are numbered from 0.
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
		slice.first_id = rb_id_of(set, from);
	}
	return slice;
}

static uint64
bytes_of_pair(const rb_cursor *rows)
{
	return rows->side->nparts != rows->side->nrows || rows->other->nparts != rows->other->nrows
			   ? GROUPED_BYTES + REMEMBERED_BYTES
			   : GROUPED_BYTES;
}

/*
 * Returns the end of a row, for a join of parts: the last row boundary at or before `part` that is
 * after `base`, or the next boundary if there is none.
 */
static uint32
whole_row(const rb_cursor *rows, uint32 part)
{
	const rb_set *set = rows->run->side[0].set;
	const uint32 row = set->row_of == NULL ? part : set->row_of[part - 1];
	uint32 start;

	if (set->row_of == NULL || part == set->nparts || set->row_of[part] != row)
		return part;
	start = first_part(set, row);
	return start > rows->base ? start : first_part(set, row + 1);
}

/*
 * Returns the end of the rows, from `base` on, whose pairs should fit in `bytes` bytes. Includes at
 * least one row.
 */
static uint32
rows_that_fit(const rb_cursor *rows, uint64 bytes)
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
	return rows->of_parts ? whole_row(rows, row) : row;
}

pg_noreturn static void
raise_no_room(rb_cursor *rows, uint64 pairs)
{
	rb_error error = {RB_OVER_BUDGET, 0, rb_memory_limit(rows->run->memory), ""};

	/* The first join has measured its own need. */
	error.need = rb_memory_peak(rows->run->memory) + pairs * bytes_of_pair(rows);
	rb_raise(rows->run->join->function, RB_OVER_BUDGET, &error);
}

/*
 * Returns the bytes that the pairs of a slice may take. The memory need of the join is only an
 * estimate, so half of the remaining memory is reserved for it.
 */
static uint64
room_of_slice(const rb_cursor *rows)
{
	const uint64 limit = rb_memory_limit(rows->run->memory);
	uint64 used = rb_memory_used(rows->run->memory) + rb_need_of_join(rows->run->parts);

	/* The rows of a side that the worker holds are read again before slices are joined. */
	for (int i = 0; i < rb_join_sides(rows->run->join); i++)
		if (rows->run->side[i].set->elsewhere)
			used += rb_set_bytes(rows->run->side[i].set);
	return limit > used ? (limit - used) / 2 : 0;
}

/* Returns true if each row's pairs fit in memory, and all of them in a few slices. */
static bool
few_slices_suffice(const rb_cursor *rows)
{
	const uint64 most = room_of_slice(rows) / bytes_of_pair(rows);
	uint64 pairs = 0;

	for (uint32 row = 0; row < rows->side->nrows; row++)
	{
		if (row % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
		if (rows->counts[row] > most)
			return false;
		pairs += rows->counts[row];
	}
	return pairs / MOST_SLICES <= most;
}

/*
 * Joins the next rows with the other side. In a self join, the slice also meets its own rows:
 * next_group_here skips the row itself, and each pair of two rows of the slice is found from both
 * rows.
 */
static void
join_slice(rb_cursor *rows)
{
	rb_job job;
	uint64 room;

	rb_placement_stop(&rows->run->placement);
	/* The rows must be in this process, because a slice points into a local array. */
	rb_run_need_rows(rows->run, rows->of == RB_OF_BLUE ? rb_join_sides(rows->run->join) - 1 : 0);
	rb_aggregate_sides(rows);
	room = room_of_slice(rows);
	for (;;)
	{
		rb_aggregate_sides(rows);
		job = rb_aggregate_job(rows);
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
		if (rb_aggregate_run_to_end(rows, &job) &&
			rb_placement_groups(&rows->run->placement, &rows->groups))
			break;
		if (rows->end == rows_that_fit(rows, 0))
			raise_no_room(rows, rows->counts[rows->base]);
		room /= 2;
	}
	rows->run->ctx.stats.stage[RB_STAGE_EMIT].count = rows->emitted;
}

/* Returns true if the ids of a set ascend with its rows. */
static bool
ids_ascend(const rb_set *set)
{
	bool ascend = set->nrows == 0 || rb_id_of(set, 0) <= rb_id_of(set, set->nrows - 1);

	for (uint32 i = 1; set->ids != NULL && i < set->nrows && ascend; i++)
	{
		if (i % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
		ascend = set->ids[i - 1] <= set->ids[i];
	}
	return ascend;
}

bool
rb_groups_open(rb_cursor *rows, rb_job *job)
{
	const uint32 n = rows->side->nrows;
	const bool self = rb_join_sides(rows->run->join) == 1;

	rows->ascending = ids_ascend(rows->other);
	job->answer = RB_GROUPS;
	job->number = rows->number;
	job->numbers = rows->numbers;
	if (!rb_aggregate_run_to_end(rows, job))
		return false;
	rows->end = n;
	if (rb_placement_groups(&rows->run->placement, &rows->groups))
		return true;
	/*
	 * A slice is a contiguous range of rows, but the rows of one id may be anywhere. In a self join,
	 * slices do not distinguish the first row of a pair from the second.
	 */
	if (rows->number != NULL || (self && rows->of != RB_OF_BOTH))
		return false;
	rows->emitted = rows->run->ctx.stats.stage[RB_STAGE_EMIT].count;
	rows->counts = rb_aggregate_array(rows, n, sizeof *rows->counts);
	memcpy(rows->counts, rb_placement_words(&rows->run->placement), n * sizeof *rows->counts);
	rows->end = 0;
	if (rows->of_parts || few_slices_suffice(rows))
		return true;
	rb_free(rows->run->memory, (void **) &rows->counts);
	return false;
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
reserve_array(rb_cursor *rows, uint64 n, int64 id)
{
	const uint64 most = (MaxAllocSize - ARR_OVERHEAD_NONULLS(1)) / sizeof(int64);
	uint64 room = Max(n, 2 * rows->room);

	if (n <= rows->room)
		return;
	if (n > most)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("%s: the pairs of id " INT64_FORMAT " do not fit in an array",
						rows->run->join->function, id),
				 errdetail("The id has " UINT64_FORMAT
						   " pairs, but an array can hold at most " UINT64_FORMAT ".",
						   n, most),
				 errhint("Use the corresponding pairs function, which returns one row per pair.")));
	room = Min(room, most);
	if (rows->array != NULL)
		pfree(rows->array);
	rows->array = NULL;
	rows->array = MemoryContextAlloc(GetMemoryChunkContext(rows),
									 ARR_OVERHEAD_NONULLS(1) + room * sizeof(int64));
	rows->room = room;
}

static int64 *
ids_of_array(const rb_cursor *rows)
{
	return (int64 *) ((char *) rows->array + ARR_OVERHEAD_NONULLS(1));
}

int64 *
rb_groups_place(rb_cursor *rows, uint64 i, int64 id)
{
	if (i >= rows->room)
	{
		const ArrayType *before = rows->array;

		rows->array = NULL;
		reserve_array(rows, Max(i + 1, 64), id);
		if (before != NULL)
			memcpy(rows->array, before, ARR_OVERHEAD_NONULLS(1) + i * sizeof(int64));
		if (before != NULL)
			pfree(unconstify(ArrayType *, before));
	}
	return ids_of_array(rows) + i;
}

Datum
rb_groups_finish(rb_cursor *rows, uint64 n)
{
	ArrayType *array = rows->array;

	SET_VARSIZE(array, ARR_OVERHEAD_NONULLS(1) + n * sizeof(int64));
	array->ndim = 1;
	array->dataoffset = 0;
	array->elemtype = INT8OID;
	ARR_DIMS(array)[0] = (int) n;
	ARR_LBOUND(array)[0] = 1;
	return PointerGetDatum(array);
}

/*
 * Returns a sorted array of ids for members given as rows of the other side in ascending order.
 * Leaves out the row `not_row`.
 */
static Datum
array_of(rb_cursor *rows, const uint32_t *member, uint64 n, uint32 not_row, int64 id)
{
	const rb_set *other = rows->other;
	int64 *to;
	int k = 0;

	reserve_array(rows, n, id);
	to = ids_of_array(rows);
	for (uint64 i = 0; i < n; i++)
	{
		if ((i + 1) % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
		to[k] = rb_id_of(other, member[i]);
		k += member[i] != not_row;
	}
	if (!rows->ascending && k > 1)
		qsort(to, k, sizeof *to, compare_ids);
	return rb_groups_finish(rows, (uint64) k);
}

uint64
rb_groups_of(const rb_cursor *rows, uint32 row, const uint32_t **member)
{
	const bool sliced = rows->counts != NULL;
	const uint32 first = sliced && rows->side->row_of == NULL ? rows->base : 0;
	const uint32 group = rows->number != NULL ? rows->number[row] : row - first;

	*member = rows->groups.member + rows->groups.start[group];
	return rows->groups.start[group + 1] - rows->groups.start[group];
}

/* Returns the next row whose group has members, among the joined rows. */
static bool
next_group_here(rb_cursor *rows, Datum *values)
{
	const bool sliced = rows->counts != NULL;
	const bool self = rb_join_sides(rows->run->join) == 1;

	while (rows->row < rows->end)
	{
		const uint32 row = rows->row++;
		const uint32_t *member;
		uint64 n;
		int64 id;

		if (row % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
		if (!rb_aggregate_is_first(rows, row) || (sliced && rows->counts[row] == 0))
			continue;
		n = rb_groups_of(rows, row, &member);
		if (n == 0)
			continue;
		id = rb_id_of(rows->side, row);
		values[0] = Int64GetDatum(id);
		values[1] = array_of(rows, member, n, sliced && self ? row : PG_UINT32_MAX, id);
		values[2] = Int64GetDatum(ARR_DIMS(rows->array)[0]);
		return true;
	}
	return false;
}

bool
rb_groups_more(rb_cursor *rows)
{
	if (rows->end == rows->side->nrows)
		return false;
	rows->base = rows->end;
	join_slice(rows);
	return true;
}

bool
rb_groups_next(rb_cursor *rows, Datum *values)
{
	while (!next_group_here(rows, values))
		if (!rb_groups_more(rows))
			return false;
	return true;
}
