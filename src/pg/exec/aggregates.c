/*
 * aggregates.c
 *	  Computes results for each row or id of one side of a join: counts, matched rows, grouped pairs.
 *
 * The core returns results for row numbers, SQL for ids. If several rows of the selected side share
 * an id, their results are combined, so that the output has the rows of GROUP BY. This costs
 * nothing if the order of the rows shows that ids are unique.
 *
 * Grouped pairs: if the memory limit has no room for all pairs at once, the first join only counts
 * them. Further joins then group the pairs of as many rows at a time as fit in memory, if a slice
 * of the rows has all pairs of its groups and a few slices suffice.
 *
 * If a join runs tile by tile, or needs more memory than the limit, the pairs are sorted by id:
 *
 *	pairs of all tiles -> PostgreSQL's sort, within work_mem and temporary files -> runs of one id
 *
 * If all rows are in memory, they are numbered, and an array holds a result for each number. When a
 * join runs tile by tile, each row has different numbers in different tiles. The results are then
 * computed per id from the start, and are returned in order of the ids.
 */
#include "core/base/sort.h"
#include "pg/exec/exec.h"
#include "pg/spill/spill.h"

#include "catalog/pg_operator_d.h"
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/tuplesort.h"

/*
 * Bytes per pair until it is in its group, and additional bytes if a row has several parts
 * (row_pairs.c)
 */
#define GROUPED_BYTES 12
#define REMEMBERED_BYTES 32

#define MOST_SLICES 8 /* Maximum number of slices; beyond it, a sort is faster than more joins */

/* Pairs sorted by id */
struct rb_sorting
{
	Tuplesortstate *sort; /* NULL after the sort has been ended */
	TupleTableSlot *slot; /* Both ids, for grouped pairs; NULL if only one id is sorted */
	bool any;             /* True if `id` and `other` hold the first pair of the next run */
	int64 id;
	int64 other;
};

/* Allocates core memory that is freed with the run. */
static void *
allocate_aggregate_array(rb_cursor *rows, uint64 n, size_t element)
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
 * Numbers the ids of the rows if several rows may share one. A unique index is not proof of unique
 * ids here: it may be newer than the snapshot, and rows visible to the snapshot may have shared an
 * id.
 */
static void
number_shared_ids(rb_cursor *rows, int side)
{
	const rb_set *set = rows->side;
	const rb_join_run *run = rows->run;
	rb_error error;
	rb_status status;

	if (set->ids == NULL || run->call.source[side].object_name != NULL ||
		run->side[side].ids == run->side[side].rows || rb_set_ids_ascend(set))
		return;
	rows->number = allocate_aggregate_array(rows, set->nrows, sizeof *rows->number);
	status = rb_ids_number(rows->run->memory, set->ids, set->nrows, rb_is_interrupted, rows->number,
						   &rows->numbers, &error);
	if (status == RB_STOPPED)
		rb_rethrow_error();
	if (status != RB_OK)
		rb_raise(rows->run->join->function, status, &error);
	if (rows->numbers == set->nrows)
		rb_free(rows->run->memory, (void **) &rows->number);
}

/* Returns true for the first row of each id. Must be called for all rows in order. */
static bool
is_first_row_of_id(rb_cursor *rows, uint32 row)
{
	if (rows->number == NULL)
		return true;
	if (rows->number[row] != rows->seen)
		return false;
	rows->seen++;
	return true;
}

/* ---- sides ---- */

/*
 * Returns a side as a set in which each part is a row whose id is the part's number, for an
 * aggregate of pairs of parts.
 */
static rb_set
build_set_of_part_rows(const rb_set *set)
{
	return (rb_set){.kind = set->kind,
					.nparts = set->nparts,
					.nrows = set->nparts,
					.coords = set->coords,
					.srid = set->srid};
}

void
rb_aggregate_sides(rb_cursor *rows)
{
	const int last = rb_join_sides(rows->run->join) - 1;
	const int mine = rows->of == RB_OF_BLUE ? last : 0;

	rows->side = rows->run->side[mine].set;
	rows->other = rows->run->side[last - mine].set;
	if (!rows->of_parts)
		return;
	rows->part[0] = build_set_of_part_rows(rows->side);
	rows->part[1] = build_set_of_part_rows(rows->other);
	rows->side = &rows->part[0];
	rows->other = &rows->part[1];
}

rb_job
rb_aggregate_job(const rb_cursor *rows)
{
	rb_job job = rb_run_job(rows->run);

	if (rows->of_parts &&
		(rows->run->side[0].set->row_of != NULL || rows->run->side[1].set->row_of != NULL))
		job.tile.dims = 0;
	return job;
}

bool
rb_aggregate_run_to_end(rb_cursor *rows, const rb_job *job)
{
	rb_block block;

	rows->run->may_give_up = !rows->of_parts && job->answer != RB_COUNT;
	rows->run->gave_up = false;
	rb_run_start(rows->run, job);
	while (rb_run_next(rows->run, &block))
		;
	rows->run->may_give_up = false;
	return !rows->run->gave_up;
}

/* ---- counts and matched rows ---- */

/* Returns the count of a row, or 1 if it is a matched row. */
static uint64
aggregate_result_of_row(const rb_cursor *rows, uint32 row)
{
	return rows->result == RB_RESULT_COUNTS ? rows->word[row]
											: rows->word[row / 32] >> row % 32 & 1;
}

/* Sums the results of rows with the same id. */
static void
sum_results_of_shared_ids(rb_cursor *rows)
{
	rows->sum = allocate_aggregate_array(rows, rows->numbers, sizeof *rows->sum);
	memset(rows->sum, 0, rows->numbers * sizeof *rows->sum);
	for (uint32 i = 0; i < rows->side->nrows; i++)
	{
		if (i % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
		rows->sum[rows->number[i]] += aggregate_result_of_row(rows, i);
	}
}

/* Computes counts or matched rows. Returns false if that needs more memory than the limit. */
static bool
open_counts_in_memory(rb_cursor *rows, rb_job *job)
{
	job->answer = rows->result == RB_RESULT_COUNTS ? RB_COUNTS : RB_HITS;
	if (!rb_aggregate_run_to_end(rows, job))
		return false;
	rows->word = rb_placement_words(&rows->run->placement);
	if (rows->number != NULL)
		sum_results_of_shared_ids(rows);
	return true;
}

/*
 * Writes the results of up to RB_BLOCK_ROWS rows. There may be millions of rows, and this is the
 * only work done for each of them, so the loop avoids unpredictable branches.
 */
static size_t
write_results_of_rows(rb_cursor *rows, uint32 from, uint32 to)
{
	size_t n = 0;

	for (uint32 row = from; row < to; row++)
	{
		const uint64 value = aggregate_result_of_row(rows, row);

		rows->id[n] = rb_id_of(rows->side, row);
		rows->value[n] = (int64) value;
		n += value != 0;
	}
	return n;
}

/* Writes the results of up to RB_BLOCK_ROWS rows, each id once. */
static size_t
write_results_of_ids(rb_cursor *rows, uint32 from, uint32 to)
{
	size_t n = 0;

	for (uint32 row = from; row < to; row++)
		if (is_first_row_of_id(rows, row) && rows->sum[rows->number[row]] != 0)
		{
			rows->id[n] = rb_id_of(rows->side, row);
			rows->value[n++] = (int64) rows->sum[rows->number[row]];
		}
	return n;
}

/* Returns the next counts or matched rows. Returns false after the last one. */
static bool
next_block_of_counts(rb_cursor *rows, rb_block *block)
{
	*block = (rb_block){.red = rows->id, .blue = rows->value};
	while (block->n == 0 && rows->row < rows->side->nrows)
	{
		const uint32 from = rows->row;

		CHECK_FOR_INTERRUPTS();
		rows->row += Min(rows->side->nrows - from, RB_BLOCK_ROWS);
		block->n = rows->sum == NULL ? write_results_of_rows(rows, from, rows->row)
									 : write_results_of_ids(rows, from, rows->row);
	}
	return block->n > 0;
}

/* ---- grouped pairs ---- */

/*
 * Returns the first part of a row, where a slice of an aggregate may begin or end, or the number
 * of parts if `row` is the end of the rows.
 */
static uint32
first_part_of_sliced_row(const rb_set *set, uint32 row)
{
	return set->row_of == NULL ? row
							   : (uint32) rb_numbers_lower_bound(set->row_of, set->nparts, row);
}

/*
 * Returns a slice of a set's rows as a set whose arrays begin later. If parts refer to rows, the
 * rows keep their numbers, so that nothing is copied; otherwise they are numbered from 0.
 */
static rb_set
slice_of_set(const rb_set *set, uint32 from, uint32 to)
{
	const uint32 part = first_part_of_sliced_row(set, from);
	rb_set slice = *set;

	slice.owner = NULL;
	slice.view = NULL;
	slice.number = 0;
	slice.nparts = first_part_of_sliced_row(set, to) - part;
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

/*
 * Returns the bytes that grouping takes per pair; more if pairs of parts are made unique pairs of
 * rows.
 */
static uint64
bytes_of_grouped_pair(const rb_cursor *rows)
{
	return rows->side->nparts != rows->side->nrows || rows->other->nparts != rows->other->nrows
			   ? GROUPED_BYTES + REMEMBERED_BYTES
			   : GROUPED_BYTES;
}

/*
 * Returns where a slice of the rows of an aggregate may end without splitting a row: the last row
 * boundary at or before `part` that is after the slice's start, or the next boundary if there is
 * none.
 */
static uint32
end_of_row_slice(const rb_cursor *rows, uint32 part)
{
	const rb_set *set = rows->run->side[0].set;
	const uint32 row = set->row_of == NULL ? part : set->row_of[part - 1];
	uint32 start;

	if (set->row_of == NULL || part == set->nparts || set->row_of[part] != row)
		return part;
	start = first_part_of_sliced_row(set, row);
	return start > rows->base ? start : first_part_of_sliced_row(set, row + 1);
}

/*
 * Returns the end of the rows, from `base` on, whose pairs should fit in `bytes` bytes. Includes at
 * least one row.
 */
static uint32
rows_whose_pairs_fit(const rb_cursor *rows, uint64 bytes)
{
	const uint64 most = bytes / bytes_of_grouped_pair(rows);
	uint64 pairs = 0;
	uint32 row = rows->base;

	while (row < rows->side->nrows && (row == rows->base || pairs + rows->counts[row] <= most))
	{
		if (row % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
		pairs += rows->counts[row++];
	}
	return rows->of_parts ? end_of_row_slice(rows, row) : row;
}

/* Raises the ERROR that pairs do not fit in memory. */
pg_noreturn static void
raise_pairs_exceed_memory(rb_cursor *rows, uint64 pairs)
{
	rb_error error = {RB_OVER_BUDGET, 0, rb_memory_limit(rows->run->memory), ""};

	/* The first join has measured its own need. */
	error.need = rb_memory_peak(rows->run->memory) + pairs * bytes_of_grouped_pair(rows);
	rb_raise(rows->run->join->function, RB_OVER_BUDGET, &error);
}

/*
 * Returns the bytes that the pairs of a slice may take. The memory need of the join is only an
 * estimate, so half of the remaining memory is reserved for it.
 */
static uint64
bytes_for_pairs_of_slice(const rb_cursor *rows)
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
are_few_slices_enough(const rb_cursor *rows)
{
	const uint64 most = bytes_for_pairs_of_slice(rows) / bytes_of_grouped_pair(rows);
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
 * next_group_of_joined_rows skips the row itself, and each pair of two rows of the slice is found
 * from both rows.
 */
static void
join_slice_of_rows(rb_cursor *rows)
{
	rb_job job;
	uint64 room;

	rb_placement_stop(&rows->run->placement);
	/* The rows must be in this process, because a slice points into a local array. */
	rb_run_need_rows(rows->run, rows->of == RB_OF_BLUE ? rb_join_sides(rows->run->join) - 1 : 0);
	rb_aggregate_sides(rows);
	room = bytes_for_pairs_of_slice(rows);
	for (;;)
	{
		rb_aggregate_sides(rows);
		job = rb_aggregate_job(rows);
		job.answer = RB_GROUPS;
		rows->end = rows_whose_pairs_fit(rows, room);
		rows->slice = slice_of_set(rows->side, rows->base, rows->end);
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
		if (rows->end == rows_whose_pairs_fit(rows, 0))
			raise_pairs_exceed_memory(rows, rows->counts[rows->base]);
		room /= 2;
	}
	rows->run->ctx.stats.stage[RB_STAGE_EMIT].count = rows->emitted;
}

/* Returns true if the ids of a set ascend with its rows. */
static bool
are_aggregated_ids_ascending(const rb_set *set)
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
	/*
	 * A slice is a contiguous range of rows, but the rows of one id may be anywhere. In a self
	 * join, slices do not distinguish the first row of a pair from the second.
	 */
	const bool may_slice = rows->number == NULL && (!self || rows->of == RB_OF_BOTH);

	rows->ascending = are_aggregated_ids_ascending(rows->other);
	job->answer = RB_GROUPS;
	/* Without slices, counts are useless: let the join end as soon as its groups do not fit. */
	job->whole = !may_slice;
	job->number = rows->number;
	job->numbers = rows->numbers;
	if (!rb_aggregate_run_to_end(rows, job))
		return false;
	rows->end = n;
	if (rb_placement_groups(&rows->run->placement, &rows->groups))
		return true;
	/* The worker had memory for the groups, but this process has not. */
	if (!may_slice)
		return false;
	rows->emitted = rows->run->ctx.stats.stage[RB_STAGE_EMIT].count;
	rows->counts = allocate_aggregate_array(rows, n, sizeof *rows->counts);
	memcpy(rows->counts, rb_placement_words(&rows->run->placement), n * sizeof *rows->counts);
	rows->end = 0;
	if (rows->of_parts || are_few_slices_enough(rows))
		return true;
	rb_free(rows->run->memory, (void **) &rows->counts);
	return false;
}

/* Orders ids; handles interrupts. */
static int
compare_grouped_ids(const void *x, const void *y)
{
	const int64 a = *(const int64 *) x;
	const int64 b = *(const int64 *) y;

	CHECK_FOR_INTERRUPTS();
	return (a > b) - (a < b);
}

/* Makes room for n ids in the array, whose contents are kept. */
static void
reserve_id_array(rb_cursor *rows, uint64 n, int64 id)
{
	const uint64 most = (MaxAllocSize - ARR_OVERHEAD_NONULLS(1)) / sizeof(int64);
	uint64 room = Max(n, 2 * rows->room);
	Size bytes;

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
	bytes = ARR_OVERHEAD_NONULLS(1) + room * sizeof(int64);
	rows->array = rows->array == NULL ? MemoryContextAlloc(GetMemoryChunkContext(rows), bytes)
									  : repalloc(rows->array, bytes);
	rows->room = room;
}

/* Returns the elements of the bigint array under construction. */
static int64 *
ids_of_id_array(const rb_cursor *rows)
{
	return (int64 *) ((char *) rows->array + ARR_OVERHEAD_NONULLS(1));
}

/* Returns the array element for the i-th id; an array is filled in order for `id`. */
static int64 *
id_array_element(rb_cursor *rows, uint64 i, int64 id)
{
	if (i >= rows->room)
		reserve_id_array(rows, Max(i + 1, 64), id);
	return ids_of_id_array(rows) + i;
}

/* Returns the finished array of n ids. */
static Datum
finish_id_array(rb_cursor *rows, uint64 n)
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
make_id_array_of_members(rb_cursor *rows, const uint32_t *member, uint64 n, uint32 not_row,
						 int64 id)
{
	const rb_set *other = rows->other;
	int64 *to;
	int k = 0;

	reserve_id_array(rows, n, id);
	to = ids_of_id_array(rows);
	for (uint64 i = 0; i < n; i++)
	{
		if ((i + 1) % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
		to[k] = rb_id_of(other, member[i]);
		k += member[i] != not_row;
	}
	if (!rows->ascending && k > 1)
		qsort(to, k, sizeof *to, compare_grouped_ids);
	return finish_id_array(rows, (uint64) k);
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
next_group_of_joined_rows(rb_cursor *rows, Datum *values)
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
		if (!is_first_row_of_id(rows, row) || (sliced && rows->counts[row] == 0))
			continue;
		n = rb_groups_of(rows, row, &member);
		if (n == 0)
			continue;
		id = rb_id_of(rows->side, row);
		values[0] = Int64GetDatum(id);
		values[1] =
			make_id_array_of_members(rows, member, n, sliced && self ? row : PG_UINT32_MAX, id);
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
	join_slice_of_rows(rows);
	return true;
}

/*
 * Returns the next row with the array of its partners; joins the next slice of rows when one is
 * used up.
 */
static bool
next_grouped_pairs(rb_cursor *rows, Datum *values)
{
	while (!next_group_of_joined_rows(rows, values))
		if (!rb_groups_more(rows))
			return false;
	return true;
}

/* ---- sorted pairs ---- */

/* Opens the sort of ids, or of pairs of ids for groups. */
static void
begin_pair_sort(rb_cursor *rows)
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

/* Puts an id, or a pair of ids, into the sort. */
static void
append_pair_to_sort(struct rb_sorting *s, TupleTableSlot *pair, int64 id, int64 other)
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

/* Adds all pairs of the join to the sort. */
static void
append_all_pairs_to_sort(rb_cursor *rows)
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
				append_pair_to_sort(s, pair, block.red[i], block.blue[i]);
			if (rows->of != RB_OF_RED)
				append_pair_to_sort(s, pair, block.blue[i], block.red[i]);
		}
	if (pair != NULL)
		ExecDropSingleTupleTableSlot(pair);
}

/* Reads the next pair into (s->id, s->other) and sets s->any. */
static void
read_sorted_pair(struct rb_sorting *s)
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

/* Runs the join and sorts its pairs. */
static void
open_aggregate_by_sort(rb_cursor *rows, rb_job *job)
{
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(rows));

	rows->sorting = palloc0(sizeof *rows->sorting);
	begin_pair_sort(rows);
	job->answer = RB_PAIRS;
	rb_run_start(rows->run, job);
	append_all_pairs_to_sort(rows);
	tuplesort_performsort(rows->sorting->sort);
	read_sorted_pair(rows->sorting);
	MemoryContextSwitchTo(old);
}

void
rb_aggregate_close(rb_cursor *rows)
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

/*
 * Returns the next id with its number of pairs. For grouped pairs, stores the other ids in
 * rows->array.
 */
static bool
next_run_of_sorted_pairs(rb_cursor *rows, int64 *id, uint64 *n)
{
	struct rb_sorting *s = rows->sorting;

	*n = 0;
	if (s->sort == NULL)
		return false;
	if (!s->any)
	{
		rb_aggregate_close(rows);
		return false;
	}
	*id = s->id;
	do
	{
		if (*n % 65536 == 65535)
			CHECK_FOR_INTERRUPTS();
		if (s->slot != NULL)
			*id_array_element(rows, *n, s->id) = s->other;
		(*n)++;
		read_sorted_pair(s);
	} while (s->any && s->id == *id);
	return true;
}

/* Returns the next block of ids with the numbers of their pairs. */
static bool
next_sorted_counts(rb_cursor *rows, rb_block *block)
{
	uint64 n;

	*block = (rb_block){.red = rows->id, .blue = rows->value};
	while (block->n < RB_BLOCK_ROWS && next_run_of_sorted_pairs(rows, &rows->id[block->n], &n))
		rows->value[block->n++] = (int64) (rows->result == RB_RESULT_HITS ? 1 : n);
	return block->n > 0;
}

/* Returns the next id with its sorted partners. */
static bool
next_sorted_group(rb_cursor *rows, Datum *values)
{
	int64 id;
	uint64 n;

	if (!next_run_of_sorted_pairs(rows, &id, &n))
		return false;
	values[0] = Int64GetDatum(id);
	values[1] = finish_id_array(rows, n);
	values[2] = Int64GetDatum((int64) n);
	return true;
}

/* ---- the choice between memory and a sort ---- */

/*
 * Computes the results while joining the rows in memory. Returns false if that needs more memory
 * than the limit.
 */
static bool
open_aggregate_in_memory(rb_cursor *rows)
{
	const int last = rb_join_sides(rows->run->join) - 1;
	const int mine = rows->of == RB_OF_BLUE ? last : 0;
	rb_job job;

	rb_run_ensure_ids(rows->run, mine);
	if (rows->result == RB_RESULT_GROUPS)
		rb_run_ensure_ids(rows->run, last - mine);
	rb_aggregate_sides(rows);
	number_shared_ids(rows, mine);
	job = rb_run_job(rows->run);
	job.of = rows->of;
	return rows->result == RB_RESULT_GROUPS ? rb_groups_open(rows, &job)
											: open_counts_in_memory(rows, &job);
}

void
rb_aggregate_open(rb_cursor *rows)
{
	rb_job job;

	if (!rb_spill_has_begun(rows->run->spill))
	{
		if (open_aggregate_in_memory(rows))
			return;
		rb_placement_stop(&rows->run->placement);
		rb_free(rows->run->memory, (void **) &rows->number);
	}
	job = rb_run_job(rows->run);
	open_aggregate_by_sort(rows, &job);
}

bool
rb_aggregate_next_block(rb_cursor *rows, rb_block *block)
{
	return rows->sorting != NULL ? next_sorted_counts(rows, block)
								 : next_block_of_counts(rows, block);
}

bool
rb_aggregate_next_group(rb_cursor *rows, Datum *values)
{
	return rows->sorting != NULL ? next_sorted_group(rows, values)
								 : next_grouped_pairs(rows, values);
}
