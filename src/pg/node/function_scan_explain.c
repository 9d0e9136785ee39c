/*
 * function_scan_explain.c
 *	  Shows the scan in EXPLAIN: its arguments, and after a run what each stage did.
 */
#include "pg/node/function_scan.h"

#include "catalog/pg_type.h"
#include "commands/explain.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include <ctype.h>

/*
 * Returns the table name or query text of a side, or its expression if the value is not known yet.
 */
static char *
source_text(rb_scan *scan, int side, List *deparse, ExplainState *es)
{
	Node *arg = list_nth(scan->call->args, side);
	Const *constant = (Const *) arg;
	Oid function;
	bool varlena;

	if (!IsA(arg, Const) || constant->constisnull)
		return deparse_expression(arg, deparse, false, false);
	if (constant->consttype == REGCLASSOID && es->verbose)
	{
		Oid relid = DatumGetObjectId(constant->constvalue);
		char *name = get_rel_name(relid);

		if (name != NULL)
			return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)), name);
	}
	getTypeOutputInfo(constant->consttype, &function, &varlena);
	return OidOutputFunctionCall(function, constant->constvalue);
}

void
rb_scan_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	rb_scan *scan = (rb_scan *) node;
	List *deparse = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors);

	ExplainPropertyText("Function", scan->join->function, es);
	for (int i = 0; i < rb_join_sides(scan->join); i++)
	{
		char *label = pstrdup(scan->join->side[i]);

		label[0] = (char) toupper((unsigned char) label[0]);
		ExplainPropertyText(label, source_text(scan, i, deparse, es), es);
	}
	if (scan->result != scan->join->result && scan->result != RB_RESULT_COUNT)
	{
		const CustomScan *plan = (const CustomScan *) node->ss.ps.plan;
		TargetEntry *group = linitial_node(TargetEntry, plan->custom_scan_tlist);

		ExplainPropertyText("Group Key",
							deparse_expression((Node *) group->expr, deparse, false, false), es);
	}
	if (es->verbose)
		ExplainPropertyText("Function Call",
							deparse_expression((Node *) scan->call, deparse, false, false), es);
	if (es->analyze && scan->run != NULL)
	{
		rb_report report;

		rb_report_run(&report, scan->run);
		ExplainPropertyText("Backend", scan->run->backend->name, es);
		ExplainPropertyText("Device", report.device, es);
		rb_report_explain(&report, es);
	}
	else
		ExplainPropertyText("Backend", rb_setting_backend_name(), es);
}
