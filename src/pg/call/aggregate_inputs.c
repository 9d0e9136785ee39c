/*
 * aggregate_inputs.c
 *	  Prepares the sides of a join for aggregate results: as rows, as ids, or part by part.
 */
#include "pg/call/aggregates.h"

#include "miscadmin.h"

void *
rb_aggregate_array(rb_aggregate_rows *rows, uint64 n, size_t element)
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
rb_aggregate_number(rb_aggregate_rows *rows, const rb_source *source, const rb_side_data *side)
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
rb_aggregate_is_first(rb_aggregate_rows *rows, uint32 row)
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
rb_aggregate_sides(rb_aggregate_rows *rows)
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
rb_aggregate_job(const rb_aggregate_rows *rows)
{
	rb_job job = rb_run_job(rows->run);

	if (rows->of_parts &&
		(rows->run->side[0].set->row_of != NULL || rows->run->side[1].set->row_of != NULL))
		job.tile.dims = 0;
	return job;
}

void
rb_aggregate_run_to_end(rb_aggregate_rows *rows, const rb_job *job)
{
	rb_block block;

	rb_run_start(rows->run, job);
	while (rb_run_next(rows->run, &block))
		;
}
