/*
 * report.h
 *	  What a benchmark's joins found and took, as text and as rows of Markdown tables.
 */
#ifndef RB_BENCH_REPORT_H
#define RB_BENCH_REPORT_H

#include "peers.h"
#include "workload.h"

#include <stdio.h>

#define MAX_PEERS 4

/* what a join found and took */
typedef struct answer
{
	peer_run best;  /* minimum of each time */
	pair_sums sums; /* all but their number 0 where pairs are only counted */
	bool ran;
} answer;

/* of ours, beyond what peers have */
typedef struct insight
{
	rb_stats stats;    /* of the fastest round */
	double count_wall; /* best of the rounds that only count */
	uint64_t count;
	uint64_t peak;       /* bytes that core held at most, while it only counts */
	uint64_t peak_pairs; /* the same while it hands out pairs */
} insight;

typedef struct report
{
	const char *label;
	uint32_t objects[2]; /* of red and blue; blue 0: red against itself */
	answer answers[1 + MAX_PEERS];
	insight in; /* of answers[0], ours; answers[1 + k] is that of peers[k] */
} report;

typedef struct report_table
{
	const char *name;
	const char *head;
	void (*row)(const report *r);
} report_table;

/* triangles, segments, boxes, stages (as in Menezes et al. 2020, Table 3); ended by a NULL name */
extern const report_table report_tables[];

extern void report_text(FILE *to, const report *r);

#endif /* RB_BENCH_REPORT_H */
