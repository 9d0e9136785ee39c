/*
 * fixtures.h
 *	  Provides what several C tests use: random numbers, sides of a join, lists of pairs, stubs of
 *	  backends, stops after some time, comparisons of work, and counted allocations.
 */
#ifndef FIXTURES_H
#define FIXTURES_H

#include <pthread.h>
#include <time.h>

#include "check.h"
#include "core/base/redblue.h"

/* ---- random numbers ---- */

extern double random_unit(void);
extern double random_signed(void);

/* ---- sides of a join, with arrays of malloc ---- */

extern void order_box(rb_kind kind, double *part);
extern uint32_t *random_rows(uint32_t n, int most, uint32_t *nrows);
extern uint32_t row_of_part(const rb_set *side, uint32_t part);
extern void free_side(rb_set *side);

/* Rows of a set that build_rows builds; each field may be 0 */
typedef struct row_series
{
	rb_kind kind;
	int srid;
	uint32_t n;
	uint32_t every; /* Each row with this number, counted from 1, has `parts` parts, others one */
	uint32_t parts; /* Number of parts of these rows */
	int64_t first_id;
	int64_t step;   /* Difference of two consecutive ids */
	double spacing; /* Row i lies near spacing * (first_id + i) on each axis */
} row_series;

extern const rb_set *build_rows(rb_memory *memory, const row_series *rows);

/* ---- pairs ---- */

/* Pairs in an array of malloc; empty if all fields are 0 */
typedef struct pair_list
{
	rb_pair *pair;
	size_t n;
	size_t room; /* Capacity in pairs */
} pair_list;

extern int compare_pairs(const void *x, const void *y);
extern void append_pairs(pair_list *list, const rb_pair *pairs, size_t n);
extern void sort_pairs(pair_list *list);
extern void sort_distinct_pairs(pair_list *list);
extern rb_status read_pairs(pair_list *list, rb_stream *stream, int wait_ms);
extern bool same_pairs(const pair_list *a, const pair_list *b);

extern void check_join_budgets(const rb_job *job, uint64_t first, int share);
extern void check_join_closed_early(const rb_job *job, rb_memory *memory, int rounds);

/* ---- backends ---- */

extern rb_status stub_probe(int device, char *text, size_t size);
extern bool stub_warm(int device);

/* ---- time ---- */

extern void sleep_us(long us);
extern double thread_work_ms(void);

/* Requests a stop after some time, and records how long the other thread had worked by then */
typedef struct stopper
{
	rb_context *ctx;
	double after_ms;
	clockid_t clock; /* CPU clock of the thread to be stopped */
	double worked_ms;
	int asked, leave;
	pthread_t thread;
} stopper;

extern void stop_after(stopper *s, rb_context *ctx, double ms);
extern double stop_done(stopper *s);

/* How late the stops of a test were; all fields are 0 at the start */
typedef struct stop_delay
{
	double worst_ms; /* Longest delay of a stop, each by its best try */
	double least_ms; /* Shortest delay among the tries of the current stop */
	int tries;       /* Number of these tries */
} stop_delay;

extern bool repeats_late_stop(stop_delay *delay, double late_ms, double limit_ms);

extern bool work_is_bounded(double (*measure)(int size), double times, double more_ms,
							double least[2]);

/* ---- allocations of GMP ---- */

extern long gmp_allocations; /* Number since the last count_gmp_allocations */

extern void count_gmp_allocations(void);
extern void uncount_gmp_allocations(void);

#endif /* FIXTURES_H */
