/*
 * reports.c
 *	  What of each row of a set is a body, and what is wrong with the others: numbers, and sentences.
 *
 * Two things are asked of a row, neither of which needs the other: is it closed and turned
 * outward (check.c), and how many pairs of its triangles cross each other, which is a
 * join of the set with itself within its rows.
 */
#include "core/base/rb_compose.h"
#include "core/base/rb_parallel.h"
#include "core/base/thread_count.h"
#include "core/body/rb_body.h"
#include "core/join/rb_join.h"
#include "core/set/rb_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GRAIN 16  /* rows that a thread takes at once */
#define DIGITS 15 /* of a coordinate, in a text */
#define WORDS 12  /* that are told of each */

/* ---- sentences ---- */

/* "-0.5 3 1e+20", as short as the doubles allow, if not too long for a text */
static void
point_text(char *to, size_t size, const double *p)
{
	int at = 0;

	for (int k = 0; k < 3; k++)
		for (int digits = 6; digits <= DIGITS; digits++)
		{
			const int n =
				snprintf(to + at, size - (size_t) at, "%s%.*g", k > 0 ? " " : "", digits, p[k]);

			if (strtod(to + at, NULL) == p[k] || digits == DIGITS)
			{
				at += n;
				break;
			}
		}
}

void
rb_body_reason(const rb_body_report *report, char text[RB_BODY_REASON])
{
	char from[72], to[72];
	int n = 0;

	text[0] = '\0';
	point_text(from, sizeof from, report->edge);
	point_text(to, sizeof to, report->edge + 3);
	switch (report->fault)
	{
		case RB_BODY_GOOD:
			break;
		case RB_BODY_FLAT:
			n = snprintf(text, RB_BODY_REASON, "None of its triangles has an area.");
			break;
		case RB_BODY_OPEN:
			n = snprintf(text, RB_BODY_REASON, "It is not closed: %u triangle%s the edge (%s, %s).",
						 report->uses, report->uses == 1 ? " has" : "s have", from, to);
			break;
		case RB_BODY_TURNED:
			n = snprintf(
				text, RB_BODY_REASON,
				"It is not oriented: of the %u triangles that have the edge (%s, %s) more run "
				"along it in one direction than in the other.",
				report->uses, from, to);
			break;
		case RB_BODY_INWARD:
			n = snprintf(
				text, RB_BODY_REASON,
				"It is not oriented: its triangle %u, from (%s) to (%s), has its normal on "
				"the wrong side.",
				report->triangle + 1, from, to);
			break;
	}
	if (report->self_intersections > 0)
		snprintf(text + n, RB_BODY_REASON - (size_t) n,
				 "%sIt crosses itself: its triangles %u and %u do.", n > 0 ? " " : "",
				 report->crossing[0] + 1, report->crossing[1] + 1);
}

/* ---- words ---- */

void
rb_body_to_words(const rb_body_report *report, uint64_t *words)
{
	words[0] = (uint64_t) report->closed | (uint64_t) report->oriented << 1 |
			   (uint64_t) report->fault << 2;
	words[1] = report->faces;
	words[2] = report->self_intersections;
	words[3] = (uint64_t) report->crossing[0] << 32 | report->crossing[1];
	words[4] = report->triangle;
	words[5] = report->uses;
	memcpy(words + 6, report->edge, sizeof report->edge);
}

void
rb_body_of_words(rb_body_report *report, const uint64_t *words)
{
	memset(report, 0, sizeof *report);
	report->closed = words[0] & 1;
	report->oriented = words[0] >> 1 & 1;
	report->fault = (rb_body_fault) (words[0] >> 2);
	report->faces = (uint32_t) words[1];
	report->self_intersections = words[2];
	report->crossing[0] = (uint32_t) (words[3] >> 32);
	report->crossing[1] = (uint32_t) words[3];
	report->triangle = (uint32_t) words[4];
	report->uses = (uint32_t) words[5];
	memcpy(report->edge, words + 6, sizeof report->edge);
}

/* ---- all rows ---- */

typedef struct crossings
{
	uint64_t n;
	rb_pair first;
} crossings;

typedef struct all
{
	rb_context *ctx;
	const rb_set *bodies;
	const rb_row_sink *sink;
	uint32_t *start;
	crossings *of; /* each row */
	pthread_mutex_t lock;
	int status;
} all;

static rb_status
put_crossing(void *user, const rb_pair *pairs, size_t n)
{
	all *a = user;

	pthread_mutex_lock(&a->lock);
	for (size_t i = 0; i < n; i++)
	{
		const rb_pair p = {rb_pair_red(pairs[i]), pairs[i].blue};
		crossings *c = &a->of[rb_row_of(a->bodies, p.red)];

		if (c->n++ == 0 || p.red < c->first.red ||
			(p.red == c->first.red && p.blue < c->first.blue))
			c->first = p;
	}
	pthread_mutex_unlock(&a->lock);
	return rb_should_stop(a->ctx) ? RB_STOPPED : RB_OK;
}

static rb_status
count_crossings(all *a, const rb_backend *backend)
{
	const rb_job job = {.red = a->bodies, .predicate = RB_SELF_INTERSECT, .within_rows = true};
	const rb_sink sink = {.put = put_crossing, .user = a};

	memset(a->of, 0, a->bodies->nrows * sizeof *a->of);
	return a->bodies->row_of != NULL ? rb_join_step(a->ctx, backend, &job, &sink, RB_TILE) : RB_OK;
}

static void
report_rows(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	all *a = arg;
	rb_pair rows[GRAIN];
	uint64_t told[GRAIN * WORDS];
	rb_status status = RB_OK;
	size_t n = 0;
	int ok = RB_OK;

	(void) me;
	for (uint64_t row = from; row < to && status == RB_OK; row++)
	{
		const uint32_t first = a->start[row];
		const uint32_t parts = a->start[row + 1] - first;
		const crossings *c = &a->of[row];
		rb_body_report report;

		status =
			rb_should_stop(a->ctx)
				? RB_STOPPED
				: rb_body_check(a->ctx, a->bodies->coords + (size_t) first * 9, parts, &report);
		report.faces = a->bodies->faces != NULL ? a->bodies->faces[row] : parts;
		report.self_intersections = c->n;
		report.crossing[0] = c->first.red - (c->n > 0 ? first : 0);
		report.crossing[1] = c->first.blue - (c->n > 0 ? first : 0);
		rows[n] = (rb_pair){(uint32_t) row, (uint32_t) row};
		rb_body_to_words(&report, told + n++ * WORDS);
	}
	if (status == RB_OK && n > 0)
		status = a->sink->put(a->sink->user, rows, told, n);
	if (status != RB_OK)
		rb_store_if(&a->status, &ok, (int) status);
}

static rb_status
report_all(all *a)
{
	rb_thread *me;
	rb_status status = rb_team_open(a->ctx, rb_threads_for(a->ctx, a->bodies->nrows, GRAIN), &me);

	if (status != RB_OK)
		return status;
	status = rb_loop(me, a->bodies->nrows, GRAIN, report_rows, a);
	rb_team_close(&me);
	return a->status != RB_OK ? (rb_status) a->status : status;
}

rb_status
rb_compose_bodies(rb_context *ctx, const rb_backend *backend, const rb_job *job,
				  const rb_row_sink *sink)
{
	const size_t rows = job->red->nrows;
	all a = {.ctx = ctx, .bodies = job->red, .sink = sink};
	rb_status status = rb_array(ctx, (void **) &a.start, rows + 1, sizeof *a.start);

	if (status == RB_OK)
		status = rb_array(ctx, (void **) &a.of, rows + 1, sizeof *a.of);
	pthread_mutex_init(&a.lock, NULL);
	if (status == RB_OK)
	{
		rb_row_starts(job->red, a.start);
		status = count_crossings(&a, backend);
	}
	if (status == RB_OK)
		status = report_all(&a);
	pthread_mutex_destroy(&a.lock);
	rb_free(ctx->memory, (void **) &a.start);
	rb_free(ctx->memory, (void **) &a.of);
	return status;
}
