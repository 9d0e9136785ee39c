/*
 * info.c
 *	  Implements redblue_version, redblue_info and redblue_last_run.
 *
 * The statistics are those of the session's last join that finished or was stopped by a LIMIT. A
 * join that failed or was cancelled does not change them. Because they describe tables that other
 * roles may not be allowed to read, they are shown only to the role that ran the join. DISCARD ALL,
 * after which a connection pool gives the session to another client, clears them.
 */
#include "pg/call/call.h"

#include "access/htup_details.h"
#include "lib/stringinfo.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include <gmp.h>
#include <math.h>

static rb_report
	last; /* join is NULL if there was no join, or if last_line holds the last operation */
static rb_last_line last_line[RB_LAST_LINES + 1];
static int last_threads;
static Oid last_user;
static ProcessUtility_hook_type previous_hook;

void
rb_report_of(const rb_join_run *run, rb_report *report)
{
	report->stats = run->before;
	rb_stats_add(&report->stats, &run->ctx.stats);
	report->tiles = run->tiles;
	report->spilled = run->spilled;
	report->stats.stage[RB_STAGE_EMIT].ms += run->emit_ms;
	/*
	 * The core's note of a multi-device join, which says why a device did not take part, is shown
	 * in the devices' own lines.
	 */
	strlcpy(report->note,
			run->note[0] != '\0' || report->stats.device[0] != '\0' ? run->note
																	: run->ctx.stats.note,
			sizeof report->note);
	report->skipped = run->skipped;
	report->parts = run->parts;
	report->join = run->join;
	report->user = run->user;
	memcpy(report->side, run->side, sizeof report->side);
}

void
rb_last_lines_set(const rb_last_line *lines, int threads)
{
	int n = 0;

	while (n < RB_LAST_LINES && lines[n].stage != NULL)
		n++;
	memcpy(last_line, lines, (size_t) n * sizeof *lines);
	last_line[n].stage = NULL;
	last_threads = threads;
	last_user = GetUserId();
	last.join = NULL;
}

void
rb_last_run_set(const rb_join_run *run)
{
	last_line[0].stage = NULL;
	rb_report_of(run, &last);
	if (last.note[0] != '\0' && last.stats.device[0] == '\0')
		ereport(DEBUG1, (errmsg_internal("%s: no GPU used: %s", run->join->function, last.note)));
}

/* Clears the statistics at DISCARD ALL, which only this hook can observe. */
static void
process_utility(PlannedStmt *statement, const char *query, bool keep_tree,
				ProcessUtilityContext context, ParamListInfo params, QueryEnvironment *environment,
				DestReceiver *dest, QueryCompletion *completion)
{
	Node *node = statement->utilityStmt;
	bool discard_all = IsA(node, DiscardStmt) && ((DiscardStmt *) node)->target == DISCARD_ALL;

	(previous_hook == NULL ? standard_ProcessUtility : previous_hook)(
		statement, query, keep_tree, context, params, environment, dest, completion);
	if (discard_all)
	{
		last.join = NULL;
		last_line[0].stage = NULL;
	}
}

void
rb_info_install(void)
{
	previous_hook = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
}

/* Describes what was read, and how many parallel workers helped. */
static char *
read_detail(const rb_report *report)
{
	StringInfoData text;
	bool first = true;
	uint64 bad = report->stats.bad_solids;

	initStringInfo(&text);
	appendStringInfo(&text, "%s, %s skipped", rb_count_text(report->parts, "part"),
					 rb_count_text(report->skipped, "row"));
	for (int i = 0; i < rb_join_sides(report->join); i++)
	{
		if (report->side[i].workers == 0)
			continue;
		appendStringInfo(&text, "%s %s %d", first ? ", workers:" : ",", report->join->side[i],
						 report->side[i].workers);
		first = false;
	}
	for (int i = 0; i < rb_join_sides(report->join); i++)
		if (report->side[i].kept > 0)
			appendStringInfo(&text, "; %s: cached %s, read %u of %s", report->join->side[i],
							 rb_count_text(report->side[i].kept, "row"), report->side[i].read,
							 rb_count_text(report->side[i].pages, "page"));
	for (int i = 0; i < rb_join_sides(report->join); i++)
		if (report->side[i].ids != 0 && report->side[i].ids != report->side[i].rows)
			appendStringInfo(&text, "; " UINT64_FORMAT " rows of %s have %s", report->side[i].rows,
							 report->join->side[i], rb_count_text(report->side[i].ids, "id"));
	if (report->tiles > 0)
		appendStringInfo(&text, "; %u tiles, " UINT64_FORMAT " kB in temporary files",
						 report->tiles, report->spilled / 1024);
	for (int i = 0; report->join->predicate != RB_VALIDITY && i < rb_join_sides(report->join); i++)
		bad += report->side[i].nrefused;
	if (bad > 0)
		appendStringInfo(&text, "; " UINT64_FORMAT " rows are not valid solids", bad);
	return text.data;
}

/* Describes the three steps in which a device builds its grid. */
static const char *
grid_steps(const rb_stats *stats)
{
	const double *ms = stats->grid_ms;

	if (ms[0] + ms[1] + ms[2] == 0)
		return "";
	return psprintf("; plan %.3f ms, map %.3f ms, schedule %.3f ms", ms[0], ms[1], ms[2]);
}

char *
rb_report_detail(const rb_report *report, rb_stage stage)
{
	const rb_stats *stats = &report->stats;

#define N(x) ((unsigned long long) (x))
	switch (stage)
	{
		case RB_STAGE_READ:
			return read_detail(report);
		case RB_STAGE_GRID:
			/* A few objects need no grid at all, or only the grid of a leaf (leaf.c). */
			if (stats->resolution[0] == 0)
				return stats->cells == 0
						   ? pstrdup("no grid")
						   : psprintf("no top grid, %llu cells in all", N(stats->cells));
			return psprintf("%u x %u x %u, %llu cells in all%s", stats->resolution[0],
							stats->resolution[1], stats->resolution[2], N(stats->cells),
							grid_steps(stats));
		case RB_STAGE_CANDIDATES:
		{
			uint64 useful = stats->stage[RB_STAGE_CANDIDATES].count + stats->redundant_tests;

			return psprintf("%llu box tests, %llu unnecessary, %llu redundant", N(stats->box_tests),
							N(stats->box_tests > useful ? stats->box_tests - useful : 0),
							N(stats->redundant_tests));
		}
		case RB_STAGE_EXACT:
			return psprintf("%llu integer, %llu expansion, %llu GMP signs", N(stats->exact_integer),
							N(stats->exact_expansion), N(stats->exact_gmp));
		case RB_STAGE_DOWNLOAD:
			return stats->record_bytes == 0
					   ? pstrdup("")
					   : psprintf("%.2f bytes a pair of parts",
								  (double) stats->record_bytes / (double) Max(stats->hits, 1));
		case RB_STAGE_EMIT:
			return psprintf("%llu pair%s of parts", N(stats->hits), stats->hits == 1 ? "" : "s");
		default:
			return pstrdup("");
	}
#undef N
}

/* Returns the device, or the number of threads and why no device was used. */
char *
rb_report_device(const rb_report *report)
{
	const rb_stats *stats = &report->stats;

	if (stats->device[0] != '\0')
		return report->note[0] == '\0'
				   ? pstrdup(stats->device)
				   : psprintf("%s; opened by this session: %s", stats->device, report->note);
	if (report->note[0] == '\0')
		return rb_count_text((uint64) stats->threads, "thread");
	return psprintf("%s; no GPU used: %s", rb_count_text((uint64) stats->threads, "thread"),
					report->note);
}

bool
rb_report_card(const rb_report *report, int card, rb_last_line *line)
{
	const rb_stats *stats = &report->stats;
	uint32 all = 0;

	for (int i = 0; i <= RB_MAX_DEVICES; i++)
		all += stats->card[i].shares;
	if (stats->card[card].shares == 0)
		return false;
	line->stage = card == RB_MAX_DEVICES ? "processor" : psprintf("device %d", card);
	line->count = stats->card[card].hits;
	line->ms = stats->card[card].ms;
	snprintf(line->detail, sizeof line->detail, "%u of %u partitions%s%s", stats->card[card].shares,
			 all, stats->note[0] != '\0' ? "; another device: " : "", stats->note);
	return true;
}

static void
put_line(ReturnSetInfo *rsinfo, const char *stage, uint64 count, double ms, const char *detail,
		 const char *backend, const char *device)
{
	Datum values[6];
	bool nulls[6] = {false};

	values[0] = CStringGetTextDatum(stage);
	values[1] = Int64GetDatum((int64) count);
	values[2] = Float8GetDatum(rint(ms * 1000) / 1000);
	values[3] = CStringGetTextDatum(detail);
	values[4] = CStringGetTextDatum(backend);
	values[5] = CStringGetTextDatum(device);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

PG_FUNCTION_INFO_V1(redblue_last_run);

Datum
redblue_last_run(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	bool shown = last.join != NULL && last.user == GetUserId();

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; shown && i < RB_STAGES; i++)
		put_line(rsinfo, rb_stage_name((rb_stage) i), last.stats.stage[i].count,
				 last.stats.stage[i].ms, rb_report_detail(&last, (rb_stage) i), last.stats.backend,
				 rb_report_device(&last));
	for (int i = 0; shown && i <= RB_MAX_DEVICES; i++)
	{
		rb_last_line line;

		if (rb_report_card(&last, i, &line))
			put_line(rsinfo, line.stage, line.count, line.ms, line.detail, last.stats.backend,
					 rb_report_device(&last));
	}
	for (const rb_last_line *l = last_line; l->stage != NULL && last_user == GetUserId(); l++)
		put_line(rsinfo, l->stage, l->count, l->ms, l->detail,
				 l->backend != NULL ? l->backend : "cpu",
				 l->backend != NULL ? l->device : rb_count_text((uint64) last_threads, "thread"));
	return (Datum) 0;
}

PG_FUNCTION_INFO_V1(redblue_version);

Datum
redblue_version(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cstring_to_text(RB_VERSION));
}

#ifdef __clang__
#define RB_COMPILER "clang " __clang_version__
#else
#define RB_COMPILER "gcc " __VERSION__
#endif

PG_FUNCTION_INFO_V1(redblue_info);

/* Returns one row with the facts that a bug report needs. */
Datum
redblue_info(PG_FUNCTION_ARGS)
{
	TupleDesc desc;
	Datum values[7];
	bool nulls[7] = {false};
	char device[256];
	bool cuda;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	desc = BlessTupleDesc(desc);
	cuda = rb_backend_device(device, sizeof device);
	values[0] = CStringGetTextDatum(RB_VERSION);
	values[1] = CStringGetTextDatum("PostgreSQL " PG_VERSION ", " RB_COMPILER);
	values[2] = CStringGetTextDatum(gmp_version);
	values[3] = CStringGetTextDatum("not used"); /* See parallel.h */
	values[4] = Int32GetDatum(rb_threads(PG_UINT64_MAX));
	values[5] = BoolGetDatum(cuda);
	values[6] = CStringGetTextDatum(device);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}
