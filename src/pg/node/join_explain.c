/*
 * join_explain.c
 *	  Shows the node in EXPLAIN: what is joined, and after a run what each stage did.
 *
 * A node may run several joins: of geometries in space and in the plane, and again on each rescan.
 * The output shows their sum, except for the grid, which is that of the last join, and for the
 * inputs, which are those of the last read.
 */
#include "pg/node/function_scan.h"
#include "pg/node/geometry_join.h"

#include "commands/explain.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/ruleutils.h"

/*
 * Adds the rows and bytes of each input with the time to read them, and its parts with the time to
 * decode them.
 */
static void
add_reading(const rb_geometry_join *j, rb_report *report)
{
	static const char *const names[2][2] = {{"read outer", "decode outer"},
											{"read inner", "decode inner"}};

	for (int i = 0; i < 2; i++)
	{
		const rb_join_input *in = &j->in[i];
		const uint64 geometries = in->side.n[0] + in->side.n[1];

		rb_report_add(report, names[i][0], in->n, in->read_ms,
					  psprintf(UINT64_FORMAT " bytes of geometries", in->bytes));
		rb_report_add(report, names[i][1], geometries, in->decode_ms,
					  psprintf(UINT64_FORMAT " parts", in->side.parts));
	}
}

static void
explain_stages(rb_geometry_join *j, ExplainState *es)
{
	rb_report report;

	/* If a LIMIT has ended the scan, the join is still unfinished. */
	rb_join_end_stream(j);
	rb_report_begin(&report, &j->stats, j->note);
	add_reading(j, &report);
	rb_report_add_stages(&report, &j->stats);
	if (j->joins > 0)
		ExplainPropertyText("Backend", report.backend, es);
	if (j->joins > 0)
		ExplainPropertyText("Device", report.device, es);
	rb_report_explain(&report, es);
	ExplainPropertyInteger("Joins", NULL, j->joins, es);
}

/*
 * Shows the clauses at a position of custom_exprs, and the number of rows they removed, as
 * PostgreSQL's own joins do.
 */
static void
explain_clauses(const rb_geometry_join *j, int place, const char *name, List *deparse,
				double removed, ExplainState *es)
{
	List *clauses = list_nth(((CustomScan *) j->css.ss.ps.plan)->custom_exprs, place);
	const rb_node_counters *instrument = j->css.ss.ps.instrument;

	if (clauses == NIL)
		return;
	ExplainPropertyText(
		name, deparse_expression((Node *) make_ands_explicit(clauses), deparse, true, false), es);
	if (!es->analyze || instrument == NULL || (removed == 0 && es->format == EXPLAIN_FORMAT_TEXT))
		return;
	ExplainPropertyFloat(psprintf("Rows Removed by %s", name), NULL,
						 instrument->nloops > 0 ? removed / instrument->nloops : 0, 0, es);
}

void
rb_join_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	static const char *const types[] = {"Inner", "Left", "Full", "Right", "Semi", "Anti"};
	rb_geometry_join *j = (rb_geometry_join *) node;
	List *deparse = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors);
	List *exprs = ((CustomScan *) node->ss.ps.plan)->custom_exprs;
	const rb_node_counters *instrument = node->ss.ps.instrument;

	ExplainPropertyText("Join Type", types[j->type], es);
	ExplainPropertyText(
		"Join Cond", deparse_expression(list_nth(exprs, RB_JOIN_CLAUSE), deparse, true, false), es);
	explain_clauses(j, RB_JOIN_QUAL, "Join Filter", deparse,
					instrument != NULL ? instrument->nfiltered1 : 0, es);
	explain_clauses(j, RB_JOIN_FILTER, "Filter", deparse,
					instrument != NULL ? instrument->nfiltered2 : 0, es);
	if (es->analyze && j->phase != RB_JOIN_READ)
		explain_stages(j, es);
}
