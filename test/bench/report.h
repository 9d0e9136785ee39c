/*
 * report.h
 *	  Prints results and times of a benchmark's joins, as text and as rows of Markdown tables.
 */
#ifndef RB_BENCH_REPORT_H
#define RB_BENCH_REPORT_H

#include "peers.h"
#include "workload.h"

#include <stdio.h>

#define MAX_PEERS 4

/* Result and times of a join */
typedef struct answer
{
	peer_run best;  /* Minimum of each time */
	pair_sums sums; /* All sums except the number are 0 if pairs are only counted */
	bool ran;
} answer;

/* Numbers that only redblue reports */
typedef struct insight
{
	rb_stats stats;    /* Statistics of the fastest round */
	double count_wall; /* Best of the rounds that only count */
	uint64_t count;
	uint64_t peak;       /* Peak memory in bytes while counting */
	uint64_t peak_pairs; /* Peak memory in bytes while returning pairs */
} insight;

typedef struct report
{
	const char *label;
	uint32_t objects[2]; /* Numbers of red and blue objects; blue is 0 in a self join */
	answer answers[1 + MAX_PEERS];
	insight in; /* For redblue, answers[0]; answers[1 + k] is peers[k] */
} report;

typedef struct report_table
{
	const char *name;
	const char *head;
	void (*row)(const report *r);
} report_table;

/*
 * Tables: triangles, segments, boxes, stages (as in Menezes et al. 2020, Table 3); ended by a NULL
 * name
 */
extern const report_table report_tables[];

extern void report_text(FILE *to, const report *r);

#endif /* RB_BENCH_REPORT_H */
