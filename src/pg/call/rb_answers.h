/*
 * rb_answers.h
 *	  What the files share that say something else of the pairs than which they are.
 *
 *		answers.c			counts, hits, blocks, and which of all it is to be
 *		answer_sides.c		the sides, as rows, as ids, or part by part
 *		answer_groups.c		groups
 *		answer_sorted.c		counts, hits and groups, where the join goes tile by tile
 *		answer_shapes.c		what the two of each pair have in common
 */
#ifndef RB_ANSWERS_H
#define RB_ANSWERS_H

#include "pg/base/rb_pg.h"

#include "utils/array.h"

#define RB_SAID 1024 /* rows that are looked up at once */

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
	int64 id[RB_SAID];    /* the next rows that something is said of, ... */
	int64 said[RB_SAID];  /* ... and what */
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

	struct rb_sorting *sorting; /* where the join goes tile by tile; else NULL */

	/* shapes: what is joined are the parts of the sides, each as a row of its own */
	bool of_parts;
	rb_set part[2];
	struct rb_shaping *shaping;
};

/* they may wrap */
static inline int64
rb_id_of(const rb_set *set, uint32 row)
{
	return set->ids != NULL ? set->ids[row] : (int64) ((uint64) set->first_id + row);
}

/* ---- answer_sides.c ---- */

/* memory of the core, which goes with the run */
extern void *rb_answer_array(rb_answer_rows *rows, uint64 n, size_t element);

/* the sides as they are now: one that was elsewhere may have been read again */
extern void rb_answer_sides(rb_answer_rows *rows);

/* what is asked of them (rb_run_job): of parts that are not rows nothing is said about a tile */
extern rb_job rb_answer_job(const rb_answer_rows *rows);

/* a job whose pairs nobody wants one by one */
extern void rb_answer_run_to_end(rb_answer_rows *rows, const rb_job *job);

/* which rows share an id, if any do */
extern void rb_answer_number(rb_answer_rows *rows, const rb_source *source, const rb_side *side);

/* is it the first row of its id?  To be asked of each row, in order. */
extern bool rb_answer_is_first(rb_answer_rows *rows, uint32 row);

/* ---- answer_groups.c ---- */

/* all groups, or what is needed to make some after the other */
extern void rb_groups_open(rb_answer_rows *rows, rb_job *job);

/* the next rows, from rows->end on: false where there are none */
extern bool rb_groups_more(rb_answer_rows *rows);

/* the members of a row's group, of those that are there now; how many */
extern uint64 rb_groups_of(const rb_answer_rows *rows, uint32 row, const uint32_t **member);

/* the next group as a row */
extern bool rb_groups_next(rb_answer_rows *rows, Datum *values);

/* id i of an array that is filled from the first one on, for that id; then the array of so many */
extern int64 *rb_groups_place(rb_answer_rows *rows, uint64 i, int64 id);
extern Datum rb_groups_finish(rb_answer_rows *rows, uint64 n);

/* ---- answer_sorted.c ---- */

/* joins, and sorts the pairs */
extern void rb_sorted_open(rb_answer_rows *rows, rb_job *job);
/* the next counts or hits; the next group; false: no more */
extern bool rb_sorted_block(rb_answer_rows *rows, rb_block *block);
extern bool rb_sorted_group(rb_answer_rows *rows, Datum *values);
/* may be said twice */
extern void rb_sorted_close(rb_answer_rows *rows);

/* ---- answer_shapes.c ---- */

/* before the join: its sides are here, part by part */
extern void rb_shapes_begin(rb_answer_rows *rows, MemoryContext context);
extern void rb_shapes_open(rb_answer_rows *rows, rb_job *job);
extern bool rb_shapes_next(rb_answer_rows *rows, Datum *values);

#endif /* RB_ANSWERS_H */
