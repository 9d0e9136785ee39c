/*
 * aggregates.c
 *	  Prepares the sides of a join for aggregate results, and returns counts and matched rows.
 *
 * The core returns results for row numbers, SQL for ids. If several rows of the selected side share
 * an id, their results are combined, so that the output has the rows of GROUP BY. This costs
 * nothing if the order of the rows shows that ids are unique.
 */
#include "pg/exec/aggregates.h"

#include "miscadmin.h"

void *
rb_aggregate_array(rb_cursor *rows, uint64 n, size_t element)
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
 * A unique index is not proof of unique ids here: it may be newer than the snapshot, and rows
 * visible to the snapshot may have shared an id.
 */
void
rb_aggregate_number(rb_cursor *rows, const rb_source *source, const rb_side_data *side)
{
	const rb_set *set = rows->side;
	rb_error error;
	rb_status status;

	if (set->ids == NULL || source->object_name != NULL || side->ids == side->rows ||
		rb_set_ids_ascend(set))
		return;
	rows->number = rb_aggregate_array(rows, set->nrows, sizeof *rows->number);
	status = rb_ids_number(rows->run->memory, set->ids, set->nrows, rb_is_interrupted, rows->number,
						   &rows->numbers, &error);
	if (status == RB_STOPPED)
		rb_rethrow_error();
	if (status != RB_OK)
		rb_raise(rows->run->join->function, status, &error);
	if (rows->numbers == set->nrows)
		rb_free(rows->run->memory, (void **) &rows->number);
}

bool
rb_aggregate_is_first(rb_cursor *rows, uint32 row)
{
	if (rows->number == NULL)
		return true;
	if (rows->number[row] != rows->seen)
		return false;
	rows->seen++;
	return true;
}

/* ---- sides ---- */

/* Returns a set in which each part is a row whose id is the part's number. */
static rb_set
parts_of(const rb_set *set)
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
	rows->part[0] = parts_of(rows->side);
	rows->part[1] = parts_of(rows->other);
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

static uint64
said_of_row(const rb_cursor *rows, uint32 row)
{
	return rows->result == RB_RESULT_COUNTS ? rows->word[row]
											: rows->word[row / 32] >> row % 32 & 1;
}

static void
sum_up(rb_cursor *rows)
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

bool
rb_counts_open(rb_cursor *rows, rb_job *job)
{
	job->answer = rows->result == RB_RESULT_COUNTS ? RB_COUNTS : RB_HITS;
	if (!rb_aggregate_run_to_end(rows, job))
		return false;
	rows->word = rb_placement_words(&rows->run->placement);
	if (rows->number != NULL)
		sum_up(rows);
	return true;
}

/*
 * Writes the results of up to RB_SAID rows. No other work is done for each of possibly millions of
 * rows, so the loop avoids unpredictable branches.
 */
static size_t
said_of_rows(rb_cursor *rows, uint32 from, uint32 to)
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
said_of_ids(rb_cursor *rows, uint32 from, uint32 to)
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
rb_counts_block(rb_cursor *rows, rb_block *block)
{
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
