/*
 * skipped_solids.c
 *	  Reports rows that are not valid solids: one report per unreadable row, and a notice about all
 *	  skipped rows.
 *
 * A row that cannot become triangles (for example, because a face crosses itself) is not in the set
 * of its side. If each row gets a report, the reports of these rows follow those of the set. If
 * invalid solids are skipped instead of raising an error, a notice gives their number and the
 * reasons.
 */
#include "pg/exec/exec.h"

#include "core/solid/solid.h"
#include "core/set/set.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"

#define BLOCK 64  /* Number of reports per block */
#define REASONS 3 /* Number of the most frequent reasons that the notice shows */

/* ---- reports ---- */

struct rb_refused_rows
{
	uint32 next;
	int64 red[BLOCK];
	int64 blue[BLOCK];
	uint64 payload[BLOCK * RB_VALIDITY_WORDS];
};

rb_refused_rows *
rb_refused_rows_build(rb_join_run *run, MemoryContext context)
{
	if (run->join->predicate != RB_VALIDITY || run->side[0].nrefused == 0)
		return NULL;
	return MemoryContextAllocZero(context, sizeof(rb_refused_rows));
}

/*
 * Returns the next block of reports. If only their number is needed, counts all of them at once and
 * returns false.
 */
bool
rb_refused_rows_next(rb_join_run *run, rb_block *block)
{
	rb_refused_rows *rows = run->refused;
	const rb_side_data *side = &run->side[0];
	const uint32 n = Min(side->nrefused - rows->next, BLOCK);

	if (n == 0)
		return false;
	if (run->job.answer != RB_PAIRS)
	{
		run->ctx.stats.stage[RB_STAGE_EMIT].count += side->nrefused;
		rows->next = side->nrefused;
		return false;
	}
	for (uint32 i = 0; i < n; i++)
	{
		const rb_refusal *refusal = &side->refused[rows->next + i];
		rb_solid_report report;

		rb_solid_of_refusal(&report, refusal, run->call.source[0].face_tolerance);
		rb_solid_to_words(&report, rows->payload + (size_t) i * RB_VALIDITY_WORDS);
		rows->red[i] = rows->blue[i] = refusal->id;
	}
	rows->next += n;
	run->ctx.stats.stage[RB_STAGE_EMIT].count += n;
	*block = (rb_block){.red = rows->red,
						.blue = rows->blue,
						.payload = rows->payload,
						.words = RB_VALIDITY_WORDS,
						.n = n};
	return true;
}

/* ---- the notice ---- */

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

static int
by_count(const void *a, const void *b)
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
	qsort(r->at, (size_t) r->n, sizeof *r->at, by_count);
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
add_reasons(rb_reasons *r, const rb_join_run *run, int side)
{
	const rb_side_data *s = &run->side[side];

	for (int fault = 0; fault < RB_SOLID_FAULTS; fault++)
		rb_reasons_add(r, rb_solid_fault_name((rb_solid_fault) fault),
					   run->ctx.stats.bad_because[side][fault]);
	for (uint32 i = 0; i < s->nrefused; i++)
		rb_reasons_add(r, rb_refusal_name(s->refused[i].fault), 1);
}

/* Returns a call that checks a side, as in "redblue_solid_check('building', solid => 'part')". */
static char *
check_call(const rb_source *source)
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

	if (run->left_out_told || !run->call.skip_bad || !rb_setting_skip_notice)
		return;
	run->left_out_told = true;
	memset(&all, 0, sizeof all);
	initStringInfo(&text);
	for (int i = 0; i < sides; i++)
	{
		const uint64 before = all.sum;
		const uint64 solids = (run->side[i].set == NULL ? 0 : run->side[i].set->nrows) +
							  (uint64) run->side[i].nrefused;

		if (!run->call.source[i].solid)
			continue;
		add_reasons(&all, run, i);
		if (all.sum == before)
			continue;
		appendStringInfo(&text, "%s" UINT64_FORMAT " of " UINT64_FORMAT " %s",
						 text.len > 0 ? ", " : "", all.sum - before, solids,
						 solids == 1 ? "solid" : "solids");
		if (run->join->predicate == RB_RELATION)
			appendStringInfo(&text, " of %s", run->call.source[i].side);
		if (call == NULL)
			call = check_call(&run->call.source[i]);
	}
	if (all.sum > 0)
		ereport(NOTICE,
				(errmsg("%s: skipped %s", run->join->function, text.data),
				 errdetail("%s.", rb_reasons_text(&all)),
				 errhint("Run SELECT * FROM %s WHERE NOT valid; to list them with their faults.  "
						 "Run SET redblue.skip_notice = off; to disable this notice.",
						 call)));
}
