/*
 * report.c
 *	  Reports what a join or another operation did: a list of lines, one per stage and device, and a
 *	  notice about invalid solids that it skipped.
 *
 *	execution.c, the join node, meshes  ->  rb_report  ->  EXPLAIN
 *										   the last one ->  redblue_last_run()
 *	meshes  ->  skipped solids  ->  redblue_last_skipped()
 *
 * The last report is that of the session's last join or mesh that finished or was stopped by a
 * LIMIT. One that failed or was canceled does not change it. Because it describes tables that other
 * roles may not be allowed to read, it is shown only to the role that ran the join. DISCARD ALL,
 * after which a connection pool gives the session to another client, clears it.
 */
#include "pg/exec/exec.h"

#include "core/plane/plane.h"
#include "core/solid/solid.h"

#include "access/htup_details.h"
#include "commands/explain.h"
#include "lib/stringinfo.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include <gmp.h>
#include <math.h>

static rb_report last; /* Without lines if there was no operation; owns its texts */
static Oid last_user;
/*
 * Solids that the last operation skipped, in a memory context of their own, which is NULL for none
 */
static MemoryContext skipped_context;
static rb_skipped_solid *skipped;
static uint32 nskipped;
static ProcessUtility_hook_type previous_hook;

/* ---- lines ---- */

rb_report_line *
rb_report_add(rb_report *report, const char *stage, uint64 count, double ms, const char *detail)
{
	rb_report_line *line = &report->line[report->n];

	if (report->n == RB_REPORT_LINES)
		elog(ERROR, "too many lines in a report");
	*line = (rb_report_line){.stage = stage,
							 .count = count,
							 .ms = ms,
							 .detail = detail,
							 .backend = report->backend,
							 .device = report->device};
	report->n++;
	return line;
}

/* Describes what was read, and how many parallel workers helped. */
static char *
text_of_reading_detail(const rb_join_run *run, const rb_stats *stats)
{
	StringInfoData text;
	bool first = true;
	bool polygons = false;
	uint64 bad = stats->bad_solids;

	initStringInfo(&text);
	appendStringInfo(&text, "%s, %s skipped", rb_count_text(run->parts, "part"),
					 rb_count_text(run->skipped, "row"));
	for (int i = 0; i < rb_join_sides(run->join); i++)
	{
		if (run->side[i].workers == 0)
			continue;
		appendStringInfo(&text, "%s %s %d", first ? ", workers:" : ",", run->join->side[i],
						 run->side[i].workers);
		first = false;
	}
	for (int i = 0; i < rb_join_sides(run->join); i++)
		if (run->side[i].kept > 0)
			appendStringInfo(&text, "; %s: cached %s, read %u of %s", run->join->side[i],
							 rb_count_text(run->side[i].kept, "row"), run->side[i].read,
							 rb_count_text(run->side[i].pages, "page"));
	for (int i = 0; i < rb_join_sides(run->join); i++)
		if (run->side[i].ids != 0 && run->side[i].ids != run->side[i].rows)
			appendStringInfo(&text, "; " UINT64_FORMAT " rows of %s have %s", run->side[i].rows,
							 run->join->side[i], rb_count_text(run->side[i].ids, "id"));
	if (run->tiles > 0)
		appendStringInfo(&text, "; %s, " UINT64_FORMAT " kB in temporary files",
						 rb_count_text(run->tiles, "tile"), run->spilled / 1024);
	for (int i = 0; run->join->predicate != RB_VALIDITY && i < rb_join_sides(run->join); i++)
	{
		polygons |= run->call.source[i].kind == RB_EDGE2;
		bad += run->side[i].nrefused;
	}
	if (bad > 0)
		appendStringInfo(&text, "; %s",
						 rb_count_text(bad, polygons ? "invalid polygon" : "invalid solid"));
	return text.data;
}

/* Describes the three steps in which a device builds its grid. */
static const char *
text_of_grid_steps(const rb_stats *stats)
{
	const double *ms = stats->grid_ms;

	if (ms[0] + ms[1] + ms[2] == 0)
		return "";
	return psprintf("; plan %.3f ms, map %.3f ms, schedule %.3f ms", ms[0], ms[1], ms[2]);
}

/* Describes the work of a stage after the first one. */
static const char *
text_of_stage_detail(const rb_stats *stats, rb_stage stage)
{
#define N(x) ((unsigned long long) (x))
	switch (stage)
	{
		case RB_STAGE_GRID:
			/* A few objects need no grid at all, or only the grid of a leaf (leaf.c). */
			if (stats->resolution[0] == 0)
				return stats->cells == 0 ? "no grid"
										 : psprintf("no top grid, %s in all",
													rb_count_text(stats->cells, "cell"));
			return psprintf("%u x %u x %u, %s in all%s", stats->resolution[0], stats->resolution[1],
							stats->resolution[2], rb_count_text(stats->cells, "cell"),
							text_of_grid_steps(stats));
		case RB_STAGE_CANDIDATES:
		{
			uint64 useful = stats->stage[RB_STAGE_CANDIDATES].count + stats->redundant_tests;

			return psprintf("%s, %llu unnecessary, %llu redundant",
							rb_count_text(stats->box_tests, "box test"),
							N(stats->box_tests > useful ? stats->box_tests - useful : 0),
							N(stats->redundant_tests));
		}
		case RB_STAGE_EXACT:
			return psprintf("signs: %llu integer, %llu expansion, %llu GMP",
							N(stats->exact_integer), N(stats->exact_expansion),
							N(stats->exact_gmp));
		case RB_STAGE_DOWNLOAD:
			return stats->record_bytes == 0
					   ? ""
					   : psprintf("%.2f bytes per pair of parts",
								  (double) stats->record_bytes / (double) Max(stats->hits, 1));
		case RB_STAGE_EMIT:
			return psprintf("%s of parts", rb_count_text(stats->hits, "pair"));
		default:
			return "";
	}
#undef N
}

/*
 * Returns a text that names the device, or the number of threads and the reason why no device was
 * used.
 */
static char *
text_of_used_device(const rb_stats *stats, const char *note)
{
	if (stats->device[0] != '\0')
		return note[0] == '\0' ? pstrdup(stats->device)
							   : psprintf("%s; opened by this session: %s", stats->device, note);
	if (note[0] == '\0')
		return rb_count_text((uint64) stats->threads, "thread");
	return psprintf("%s; no GPU used: %s", rb_count_text((uint64) stats->threads, "thread"), note);
}

/* Adds a line for each device, and for the CPU, that had a part in the join. */
static void
add_devices_to_report(rb_report *report, const rb_stats *stats)
{
	uint32 all = 0;

	for (int i = 0; i <= RB_MAX_DEVICES; i++)
		all += stats->card[i].shares;
	for (int i = 0; i <= RB_MAX_DEVICES; i++)
		if (stats->card[i].shares > 0)
			rb_report_add(
				report, i == RB_MAX_DEVICES ? "processor" : psprintf("device %d", i),
				stats->card[i].hits, stats->card[i].ms,
				psprintf("%u of %s%s%s", stats->card[i].shares, rb_count_text(all, "partition"),
						 stats->note[0] != '\0' ? "; another device: " : "", stats->note));
}

/* Adds the line of a stage of the join, which may be left out of the report. */
static void
add_stage_to_report(rb_report *report, const rb_stats *stats, rb_stage stage, const char *detail)
{
	rb_report_line *line = rb_report_add(report, rb_stage_name(stage), stats->stage[stage].count,
										 stats->stage[stage].ms, detail);

	line->optional = true;
}

void
rb_report_add_stages(rb_report *report, const rb_stats *stats)
{
	for (int i = RB_STAGE_READ + 1; i < RB_STAGES; i++)
		add_stage_to_report(report, stats, (rb_stage) i, text_of_stage_detail(stats, (rb_stage) i));
}

void
rb_report_begin(rb_report *report, const rb_stats *stats, const char *note)
{
	report->n = 0;
	report->backend = pstrdup(stats->backend);
	report->device = text_of_used_device(stats, note);
	report->note = stats->device[0] == '\0' ? pstrdup(note) : "";
}

void
rb_report_run(rb_report *report, const rb_join_run *run)
{
	rb_stats stats = run->before;

	rb_stats_add(&stats, &run->ctx.stats);
	stats.stage[RB_STAGE_EMIT].ms += run->emit_ms;
	/*
	 * The core's note of a multi-device join, which says why a device did not take part, is shown
	 * in the devices' own lines.
	 */
	rb_report_begin(report, &stats,
					run->placement.note[0] != '\0' || stats.device[0] != '\0'
						? run->placement.note
						: run->ctx.stats.note);
	add_stage_to_report(report, &stats, RB_STAGE_READ, text_of_reading_detail(run, &stats));
	rb_report_add_stages(report, &stats);
	add_devices_to_report(report, &stats);
}

/* ---- in EXPLAIN ---- */

/* Writes one line of the report to EXPLAIN, as text or as a group of properties. */
static void
explain_report_line(const rb_report_line *line, ExplainState *es)
{
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		appendStringInfoSpaces(es->str, es->indent * 2);
		appendStringInfo(es->str, "Stage %s: " UINT64_FORMAT, line->stage, line->count);
		if (es->timing)
			appendStringInfo(es->str, ", %.3f ms", line->ms);
		if (line->detail[0] != '\0')
			appendStringInfo(es->str, " (%s)", line->detail);
		appendStringInfoChar(es->str, '\n');
		return;
	}
	ExplainOpenGroup("Stage", NULL, true, es);
	ExplainPropertyText("Stage", line->stage, es);
	ExplainPropertyUInteger("Count", NULL, line->count, es);
	if (es->timing)
		ExplainPropertyFloat("Time", "ms", line->ms, 3, es);
	ExplainPropertyText("Detail", line->detail, es);
	ExplainCloseGroup("Stage", NULL, true, es);
}

void
rb_report_explain(const rb_report *report, ExplainState *es)
{
	ExplainOpenGroup("Stages", "Stages", false, es);
	for (int i = 0; i < report->n; i++)
		if (!report->line[i].optional || report->line[i].count > 0 || report->line[i].ms > 0)
			explain_report_line(&report->line[i], es);
	ExplainCloseGroup("Stages", "Stages", false, es);
}

/* ---- the last report ---- */

/* Frees the last report and the skipped solids. */
static void
forget_last_report(void)
{
	if (skipped_context != NULL)
		MemoryContextDelete(skipped_context);
	skipped_context = NULL;
	skipped = NULL;
	nskipped = 0;
	while (last.n > 0)
	{
		const rb_report_line *line = &last.line[--last.n];

		pfree(unconstify(char *, line->stage));
		pfree(unconstify(char *, line->detail));
		pfree(unconstify(char *, line->backend));
		pfree(unconstify(char *, line->device));
	}
}

void
rb_last_report_set(const rb_report *report, Oid user)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

	forget_last_report();
	last_user = user;
	for (; last.n < report->n; last.n++)
	{
		rb_report_line *line = &last.line[last.n];

		*line = report->line[last.n];
		line->stage = pstrdup(line->stage);
		line->detail = pstrdup(line->detail);
		line->backend = pstrdup(line->backend);
		line->device = pstrdup(line->device);
	}
	MemoryContextSwitchTo(old);
}

static char *
copy_text(const char *text)
{
	return text == NULL ? NULL : pstrdup(text);
}

void
rb_last_skipped_set(const rb_skipped_solid *solids, uint32 n)
{
	MemoryContext old;

	if (n == 0)
		return;
	Assert(skipped_context == NULL);
	skipped_context =
		AllocSetContextCreate(TopMemoryContext, "redblue skipped solids", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(skipped_context);
	skipped = MemoryContextAllocHuge(skipped_context, n * sizeof *skipped);
	for (uint32 i = 0; i < n; i++)
		skipped[i] = (rb_skipped_solid){.solid = solids[i].solid,
										.reason = copy_text(solids[i].reason),
										.message = copy_text(solids[i].message),
										.detail = copy_text(solids[i].detail)};
	nskipped = n;
	MemoryContextSwitchTo(old);
}

void
rb_last_run_set(const rb_join_run *run)
{
	MemoryContext caller = rb_call_enter();
	rb_report report;

	rb_report_run(&report, run);
	rb_last_report_set(&report, run->user);
	if (report.note[0] != '\0')
		ereport(DEBUG1, (errmsg_internal("%s: no GPU used: %s", run->join->function, report.note)));
	rb_call_leave(caller);
}

/* Clears the statistics at DISCARD ALL, which only this hook can observe. */
static void
forget_report_at_discard(PlannedStmt *statement, const char *query, bool keep_tree,
						 ProcessUtilityContext context, ParamListInfo params,
						 QueryEnvironment *environment, DestReceiver *dest,
						 QueryCompletion *completion)
{
	Node *node = statement->utilityStmt;
	bool discard_all = IsA(node, DiscardStmt) && ((DiscardStmt *) node)->target == DISCARD_ALL;

	(previous_hook == NULL ? standard_ProcessUtility : previous_hook)(
		statement, query, keep_tree, context, params, environment, dest, completion);
	if (discard_all)
		forget_last_report();
}

void
rb_report_install(void)
{
	previous_hook = ProcessUtility_hook;
	ProcessUtility_hook = forget_report_at_discard;
}

PG_FUNCTION_INFO_V1(redblue_last_run);

Datum
redblue_last_run(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < last.n && last_user == GetUserId(); i++)
	{
		const rb_report_line *line = &last.line[i];
		Datum values[6];
		bool nulls[6] = {false};

		values[0] = CStringGetTextDatum(line->stage);
		values[1] = Int64GetDatum((int64) line->count);
		values[2] = Float8GetDatum(rint(line->ms * 1000) / 1000);
		values[3] = CStringGetTextDatum(line->detail);
		values[4] = CStringGetTextDatum(line->backend);
		values[5] = CStringGetTextDatum(line->device);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

PG_FUNCTION_INFO_V1(redblue_last_skipped);

Datum
redblue_last_skipped(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (uint32 i = 0; i < nskipped && last_user == GetUserId(); i++)
	{
		const rb_skipped_solid *s = &skipped[i];
		Datum values[4];
		bool nulls[4] = {false};

		CHECK_FOR_INTERRUPTS();
		values[0] = Int64GetDatum(s->solid);
		values[1] = CStringGetTextDatum(s->reason);
		values[2] = CStringGetTextDatum(s->message);
		nulls[3] = s->detail == NULL;
		values[3] = nulls[3] ? (Datum) 0 : CStringGetTextDatum(s->detail);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* ---- the notice about skipped solids ---- */

#define REASONS 3 /* Number of the most frequent reasons that the notice shows */

void
rb_reasons_add(rb_reasons *r, const char *name, uint64 n)
{
	int i = 0;

	if (n == 0)
		return;
	while (i < r->n && strcmp(r->at[i].name, name) != 0)
		i++;
	if (i == r->n)
	{
		Assert(r->n < RB_MAX_REASONS);
		r->n++;
		r->at[i].name = name;
		r->at[i].count = 0;
	}
	r->at[i].count += n;
	r->sum += n;
}

/* Orders reasons in a report from frequent to rare, and equally frequent ones by name. */
static int
by_count_of_reason(const void *a, const void *b)
{
	const rb_reason *x = a, *y = b;

	return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->name, y->name);
}

char *
rb_reasons_text(rb_reasons *r)
{
	uint64 others = 0;
	StringInfoData text;

	initStringInfo(&text);
	qsort(r->at, (size_t) r->n, sizeof *r->at, by_count_of_reason);
	for (int i = 0; i < r->n; i++)
		if (i < REASONS)
			appendStringInfo(&text, "%s" UINT64_FORMAT ": %s", i > 0 ? "; " : "", r->at[i].count,
							 r->at[i].name);
		else
			others += r->at[i].count;
	if (others > 0)
		appendStringInfo(&text, "; " UINT64_FORMAT ": other reasons", others);
	return text.data;
}

/* Adds the reasons of one side. */
static void
add_reasons_of_side(rb_reasons *r, const rb_join_run *run, int side)
{
	const rb_side_data *s = &run->side[side];
	/* Statistics count the faults of solids that are neither red nor blue as those of blue. */
	const int counted = side + 2 - rb_join_sides(run->join);

	const bool polygons = rb_join_has_polygons(run->join);

	for (int fault = 0; fault < RB_FAULTS; fault++)
		rb_reasons_add(r,
					   polygons ? rb_polygon_fault_name((rb_polygon_fault) fault)
								: rb_solid_fault_name((rb_solid_fault) fault),
					   run->ctx.stats.bad_because[counted][fault]);
	for (uint32 i = 0; i < s->nrefused; i++)
		rb_reasons_add(r, rb_refusal_name(s->refused[i].fault), 1);
}

/* Returns a call that checks a side, as in "redblue_solid_check('building', solid => 'part')". */
static char *
text_of_check_call(const rb_source *source)
{
	StringInfoData text;

	initStringInfo(&text);
	if (source->query)
		appendStringInfoString(&text, "redblue_solid_check_query('...'");
	else
		appendStringInfo(&text, "redblue_solid_check(%s",
						 quote_literal_cstr(DatumGetCString(
							 DirectFunctionCall1(regclassout, ObjectIdGetDatum(source->relid)))));
	if (source->object_name != NULL)
		appendStringInfo(&text, ", solid => %s", quote_literal_cstr(source->object_name));
	if (source->face_tolerance >= 0)
		appendStringInfo(&text, ", face_tolerance => %s",
						 float8out_internal(source->face_tolerance));
	appendStringInfoChar(&text, ')');
	return text.data;
}

void
rb_run_report_skipped(rb_join_run *run)
{
	const int sides = rb_join_sides(run->join);
	const char *call = NULL;
	rb_reasons all;
	StringInfoData text;

	if (run->left_out_reported || !run->call.skip_bad || !rb_setting_skip_notice)
		return;
	run->left_out_reported = true;
	memset(&all, 0, sizeof all);
	initStringInfo(&text);
	for (int i = 0; i < sides; i++)
	{
		const uint64 before = all.sum;
		const bool polygons = run->call.source[i].kind == RB_EDGE2;
		const uint64 rows = (run->side[i].set == NULL ? 0 : run->side[i].set->nrows) +
							(uint64) run->side[i].nrefused;

		if (!run->call.source[i].solid && !polygons)
			continue;
		add_reasons_of_side(&all, run, i);
		if (all.sum == before)
			continue;
		appendStringInfo(&text, "%s" UINT64_FORMAT " of %s", text.len > 0 ? ", " : "",
						 all.sum - before, rb_count_text(rows, polygons ? "polygon" : "solid"));
		if ((rb_join_relates_solids(run->join) || run->join->predicate == RB_AREA) && sides == 2)
			appendStringInfo(&text, " of %s", run->call.source[i].side);
		if (call == NULL && !polygons)
			call = text_of_check_call(&run->call.source[i]);
	}
	if (all.sum > 0)
		ereport(
			NOTICE,
			(errmsg("%s: skipped %s", run->join->function, text.data),
			 errdetail("%s.", rb_reasons_text(&all)),
			 call == NULL
				 ? errhint("Use ST_IsValidReason(geom) to list them with their faults, and "
						   "ST_MakeValid(geom) to repair them.  Run SET redblue.skip_notice = "
						   "off; to disable this notice.")
				 : errhint("Run SELECT * FROM %s WHERE NOT valid; to list them with their faults.  "
						   "Run SET redblue.skip_notice = off; to disable this notice.",
						   call)));
}

/* ---- redblue_version, redblue_info ---- */

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

/* Returns true if a device is usable for joins. `text` describes it, or says why not. */
static bool
describe_device_for_info(char *text, size_t size)
{
	char why_not[200];
	rb_device_news news;

	if (!rb_device_installed(text, size))
		return false;
	news = rb_worker_device(true, why_not, sizeof why_not);
	if (news == RB_DEVICE_NO_NEWS && rb_setting_backend == RB_CHOOSE_CUDA)
		return rb_device_here(text, size) != NULL;
	if (news == RB_DEVICE_NO_NEWS)
		snprintf(text, size, "not checked: %s", why_not);
	else
		strlcpy(text, why_not, size);
	return news >= RB_DEVICE_IS_THERE;
}

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
	cuda = describe_device_for_info(device, sizeof device);
	values[0] = CStringGetTextDatum(RB_VERSION);
	values[1] = CStringGetTextDatum("PostgreSQL " PG_VERSION ", " RB_COMPILER);
	values[2] = CStringGetTextDatum(gmp_version);
	values[3] = CStringGetTextDatum("not used"); /* See parallel.h */
	values[4] = Int32GetDatum(rb_threads(PG_UINT64_MAX));
	values[5] = BoolGetDatum(cuda);
	values[6] = CStringGetTextDatum(device);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}
