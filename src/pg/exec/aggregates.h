/*
 * aggregates.h
 *	  Declares what is shared by the files that compute aggregate results of a join instead of its
 *	  pairs.
 *
 *	cursor.c				the choice between all results
 *	aggregates.c			counts, matched rows, grouped pairs
 *	intersections.c			intersections of the pairs
 *	section_rows.c			sections by planes
 *	solid_rows.c			intersections and differences of solids
 */
#ifndef RB_PG_EXEC_AGGREGATES_H
#define RB_PG_EXEC_AGGREGATES_H

#include "pg/exec/exec.h"

#include "utils/array.h"

#define RB_BLOCK_ROWS 1024 /* Number of rows per output block */

struct rb_cursor
{
	rb_join_run *run;
	rb_result result;
	rb_result_side of;
	const rb_set *side;  /* Side whose rows are returned */
	const rb_set *other; /* Side whose rows are the partners */

	uint32_t *number; /* Number of each row's id (rb_ids_number), NULL if ids are unique */
	uint32_t numbers;
	uint32 seen; /* Number of distinct ids seen so far */
	uint32 row;  /* Next row */

	const uint32_t *word;       /* Counts or marks computed by the core */
	uint64_t *sum;              /* Sum of the counts of all rows of each id, if rows are numbered */
	int64 id[RB_BLOCK_ROWS];    /* Ids of the output block */
	int64 value[RB_BLOCK_ROWS]; /* Values of the output block */

	/* Grouped pairs of the rows from `base` on, or of numbered ids */
	rb_groups groups;
	uint32 base;
	uint32 end;       /* End of the joined rows; all rows unless memory is short */
	uint32_t *counts; /* Counts of all rows, NULL if all pairs fit in memory */
	rb_set slice;     /* Joined rows */
	uint64 emitted;
	bool ascending; /* True if the other side's ids ascend with its rows */
	ArrayType *array;
	uint64 room; /* Capacity in ids */

	struct rb_sorting *sorting; /* NULL unless the pairs are sorted */

	/* True for intersections: the join treats each part as a row */
	bool of_parts;
	rb_set part[2];
	struct rb_shaping *shaping;

	struct rb_section_rows *sections; /* For sections */
	struct rb_solid_rows *solids;     /* For intersections and differences of solids */
};

/* Returns the id of a row. Ids that count up from first_id may wrap around. */
static inline int64
rb_id_of(const rb_set *set, uint32 row)
{
	return set->ids != NULL ? set->ids[row] : (int64) ((uint64) set->first_id + row);
}

/* ---- aggregates.c ---- */

/*
 * Sets the sides to the current sets of the run. A remote set may have been replaced by a local
 * one.
 */
extern void rb_aggregate_sides(rb_cursor *rows);

/*
 * Returns the job of the run (rb_run_job). If the join treats parts as rows (of_parts), the job is
 * not restricted to the tile.
 */
extern rb_job rb_aggregate_job(const rb_cursor *rows);

/*
 * Runs a job to its end and ignores its pairs. Returns false if it needs more memory than the limit
 * and its pairs can be sorted instead; otherwise that is an error.
 */
extern bool rb_aggregate_run_to_end(rb_cursor *rows, const rb_job *job);

/* Computes counts, matched rows or grouped pairs. Sorts the pairs if memory does not suffice. */
extern void rb_aggregate_open(rb_cursor *rows);
/* Returns the next counts or matched rows. Returns false after the last ones. */
extern bool rb_aggregate_next_block(rb_cursor *rows, rb_block *block);

/* Returns the next group of pairs as a result row. Returns false after the last one. */
extern bool rb_aggregate_next_group(rb_cursor *rows, Datum *values);
/* Ends the sort, if there is one. May be called twice. */
extern void rb_aggregate_close(rb_cursor *rows);

/*
 * Groups all pairs, or prepares to group them slice by slice. Returns false if the pairs do not fit
 * in memory and slices do not help, because a slice may lack pairs of its groups or because too
 * many slices would be needed. Never returns false for intersections.
 */
extern bool rb_groups_open(rb_cursor *rows, rb_job *job);

/* Joins the next rows, from rows->end on. Returns false if there are no more rows. */
extern bool rb_groups_more(rb_cursor *rows);

/*
 * Finds the members of a row's group among the pairs that a cursor has joined and grouped, and
 * returns their number (aggregates.c).
 */
extern uint64 rb_groups_of(const rb_cursor *rows, uint32 row, const uint32_t **member);

/* ---- intersections.c ---- */

/* Makes all parts of both sides available in this process, and starts the join. */
extern void rb_shapes_open(rb_cursor *rows, MemoryContext context);
/* Returns the next intersection as a row. Returns false after the last one. */
extern bool rb_shapes_next(rb_cursor *rows, Datum *values);

/* ---- section_rows.c ---- */

/* Prepares a cursor for sections by planes, before the join starts. */
extern void rb_sections_open(rb_cursor *rows, MemoryContext context);
/* Computes the next output row. Returns false after the last one. */
extern bool rb_sections_next(rb_cursor *rows, Datum *values);

/* ---- solid_rows.c ---- */

/* Joins the solids of both sides, and prepares operations on the pairs. */
extern void rb_solid_rows_open(rb_cursor *rows, MemoryContext context);
/* Computes the next output row. Returns false after the last one. */
extern bool rb_solid_rows_next(rb_cursor *rows, Datum *values);

#endif /* RB_PG_EXEC_AGGREGATES_H */
