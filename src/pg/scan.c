/*
 * scan.c
 *	  FROM redblue_..._pairs(...): the pairs become rows while the join runs.
 *
 * The executor collects the rows of a function in FROM before it hands out the
 * first.  So for a plain call in FROM the planner is given a scan of our own
 * instead, which takes the pairs out of the stream as the plan above asks for
 * them: nothing is stored, and a LIMIT stops the join.  The function itself
 * remains for every other place: the select list, ROWS FROM of several, WITH
 * ORDINALITY, and wherever the row as a whole is wanted, which only a scan of a
 * range table entry can make.
 *
 * No preloading: before the planner builds the paths of a function it asks its
 * support function for the number of rows, which lives in this library and so
 * loads it; the hook is there in time for that very query.
 *
 * A scan that is repeated with the same arguments (the inside of a nested loop, a
 * correlated subquery) must not join anew each time: the first repetition keeps
 * its pairs in a tuplestore, from which all others are served.  Where the planner
 * announces repetitions the first scan does.
 *
 * Below a Gather the leader joins, and a thread of it fills a ring in shared
 * memory from which leader and workers take their rows (share.c): so counting,
 * aggregating and joining above use all cores.  The function stays PARALLEL
 * RESTRICTED: it never runs in a worker.
 *
 * The sides are read when the first row is asked for, on the query's snapshot.
 */
#include "rb_pg.h"

#include "access/parallel.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_type.h"
#include "commands/explain.h"
#include "executor/executor.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "storage/dsm.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

#include <ctype.h>

#if !FLOAT8PASSBYVAL
#error "redblue needs a 64-bit PostgreSQL"
#endif

#define RB_SCAN_NAME "redblue pairs"
/* what a pair takes in a table; so many bytes deserve as many workers as a table of that size */
#define RB_PAIR_BYTES 40

typedef struct rb_scan
{
	CustomScanState css; /* must be first */
	const rb_join *join;
	FuncExpr *call;
	List *args;        /* ExprStates of its arguments */
	Bitmapset *params; /* that these depend on */

	/* the arguments' values, until a parameter changes: a volatile one is computed once, too */
	MemoryContext values_context;
	NullableDatum *values; /* NULL: not yet computed */

	MemoryContext context; /* of the run; reset before each */
	rb_run *run;           /* the last one, NULL before the first */
	bool reported;         /* redblue_last_run() knows it */
	bool done;             /* no pairs left in it */

	/* below a Gather: the pairs come from a ring, which the leader's pump fills */
	rb_share *share;
	rb_pump *pump;        /* NULL in workers */
	dsm_segment *segment; /* where the ring lies; leader only */

	bool keep; /* the next run goes into the tuplestore */
	Tuplestorestate *store;
	TupleTableSlot *stored;

	rb_block block;      /* of the run, or: */
	size_t next;         /* in it */
	int64 red[RB_BLOCK]; /* copied out of the ring or the tuplestore */
	int64 blue[RB_BLOCK];
} rb_scan;

/* ---- planning ---- */

static set_rel_pathlist_hook_type previous_hook;

static Plan *plan_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *best, List *tlist,
					   List *clauses, List *children);
static Node *create_state(CustomScan *plan);

static const CustomPathMethods path_methods = {.CustomName = RB_SCAN_NAME,
											   .PlanCustomPath = plan_scan};
static const CustomScanMethods scan_methods = {.CustomName = RB_SCAN_NAME,
											   .CreateCustomScanState = create_state};

/* what of the relation is wanted, by expressions above it and by clauses; as pull_varattnos has it */
static Bitmapset *
wanted_columns(RelOptInfo *rel, List *clauses)
{
	Bitmapset *columns = NULL;

	pull_varattnos((Node *) rel->reltarget->exprs, rel->relid, &columns);
	pull_varattnos((Node *) clauses, rel->relid, &columns);
	return columns;
}

/* is the row as a whole, or anything else that is no column, wanted of the relation? */
static bool
wants_whole_row(RelOptInfo *rel)
{
	List *clauses = extract_actual_clauses(rel->baserestrictinfo, false);
	int column = bms_next_member(wanted_columns(rel, clauses), -1);

	return column >= 0 && column + FirstLowInvalidHeapAttributeNumber <= 0;
}

/* the only function of the relation, if it is one of ours and can be scanned */
static FuncExpr *
call_of_relation(RelOptInfo *rel, RangeTblEntry *rte)
{
	RangeTblFunction *function;

	if (rte->rtekind != RTE_FUNCTION || rte->funcordinality || list_length(rte->functions) != 1)
		return NULL;
	function = linitial_node(RangeTblFunction, rte->functions);
	if (function->funcexpr == NULL || !IsA(function->funcexpr, FuncExpr) ||
		function->funccolcount != 2)
		return NULL;
	if (rb_join_of_function(((FuncExpr *) function->funcexpr)->funcid) == NULL ||
		wants_whole_row(rel))
		return NULL;
	return (FuncExpr *) function->funcexpr;
}

/*
 * Nothing but the function itself, which the leader runs, keeps workers away.  A child of
 * an appended relation is parallel where its parent is, which PostgreSQL has decided by
 * the function's label.
 */
static bool
can_share(PlannerInfo *root, RelOptInfo *rel, FuncExpr *call)
{
	return root->glob->parallelModeOK && max_parallel_workers_per_gather > 0 &&
		   rel->reloptkind == RELOPT_BASEREL && bms_is_empty(rel->lateral_relids) &&
		   is_parallel_safe(root, (Node *) rel->baserestrictinfo) &&
		   is_parallel_safe(root, (Node *) rel->reltarget->exprs) &&
		   rb_sides_are_tables(rb_join_of_function(call->funcid), call->args, false);
}

/* the leader joins, all take rows: as many workers as for a table of that size */
static void
add_shared_scan(PlannerInfo *root, RelOptInfo *rel, const CustomPath *serial, FuncExpr *call)
{
	int workers;
	double share;
	CustomPath *path;

	if (!can_share(root, rel, call))
		return;
	workers = compute_parallel_worker(rel, serial->path.rows * RB_PAIR_BYTES / BLCKSZ, -1,
									  max_parallel_workers_per_gather);
	if (workers <= 0)
		return;
	share = 1.0 / (workers + 1);
	path = makeNode(CustomPath);
	*path = *serial;
	path->path.parallel_aware = true;
	path->path.parallel_safe = true;
	path->path.parallel_workers = workers;
	path->path.rows = clamp_row_est(serial->path.rows * share);
	path->path.total_cost =
		serial->path.startup_cost + (serial->path.total_cost - serial->path.startup_cost) * share;
	rel->consider_parallel = true;
	add_partial_path(rel, &path->path);
}

/* our path takes the place of the stock one, at its cost: it does the same work */
static void
add_scan(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	FuncExpr *call;
	ListCell *lc;

	if (previous_hook != NULL)
		previous_hook(root, rel, rti, rte);
	/*
	 * Where a row that somebody else has changed may be looked at again (UPDATE, DELETE,
	 * MERGE, FOR UPDATE), the stock scan knows how to take part in that: ours is none of
	 * a range table entry, to which the rows that are looked at belong.
	 */
	if (!rb_setting_custom_scan || root->rowMarks != NIL)
		return;
	call = call_of_relation(rel, rte);
	if (call == NULL)
		return;
	foreach (lc, rel->pathlist)
	{
		Path *stock = lfirst(lc);
		CustomPath *path;

		if (stock->pathtype != T_FunctionScan)
			continue;
		path = makeNode(CustomPath);
		path->path = *stock;
		path->path.type = T_CustomPath;
		path->path.pathtype = T_CustomScan;
		path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
		path->custom_private = list_make1(call);
		path->methods = &path_methods;
		lfirst(lc) = path;
		add_shared_scan(root, rel, path, call);
		break;
	}
}

static List *
pair_targets(Index relid)
{
	List *targets = NIL;

	for (AttrNumber column = 1; column <= 2; column++)
		targets = lappend(
			targets, makeTargetEntry((Expr *) makeVar(relid, column, INT8OID, -1, InvalidOid, 0),
									 column, NULL, false));
	return targets;
}

/*
 * The call goes along as an expression, so that parameters are put into its
 * arguments and the plan depends on the function and on the tables it names.
 */
static Plan *
plan_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *best, List *tlist, List *clauses,
		  List *children)
{
	CustomScan *plan = makeNode(CustomScan);

	plan->scan.plan.targetlist = tlist;
	plan->scan.plan.qual = extract_actual_clauses(clauses, false);
	plan->scan.scanrelid = 0;
	plan->flags = best->flags;
	plan->custom_exprs = list_make1(copyObject(linitial(best->custom_private)));
	/* where no column is wanted (count) rows without columns spare a projection */
	plan->custom_scan_tlist =
		wanted_columns(rel, plan->scan.plan.qual) == NULL ? NIL : pair_targets(rel->relid);
	plan->methods = &scan_methods;
	return &plan->scan.plan;
}

/* ---- one run ---- */

/* the join's threads and memory go, what it did is reported */
static void
stop_run(rb_scan *scan)
{
	if (scan->run == NULL || scan->reported)
		return;
	if (scan->pump != NULL)
		rb_pump_stop(scan->pump);
	rb_run_close(scan->run);
	rb_last_run_set(scan->run);
	scan->reported = true;
}

/* forgets the run */
static void
drop_run(rb_scan *scan)
{
	stop_run(scan);
	scan->run = NULL;
	scan->pump = NULL;
	scan->done = false;
	scan->block.n = 0;
	scan->next = 0;
	MemoryContextReset(scan->context);
}

static void
compute_values(rb_scan *scan)
{
	ExprContext *econtext = scan->css.ss.ps.ps_ExprContext;
	int i = 0;
	ListCell *lc;

	MemoryContextReset(scan->values_context);
	scan->values =
		MemoryContextAlloc(scan->values_context, list_length(scan->args) * sizeof *scan->values);
	ResetExprContext(econtext);
	foreach (lc, scan->args)
	{
		NullableDatum *to = &scan->values[i];
		Datum value = ExecEvalExprSwitchContext((ExprState *) lfirst(lc), econtext, &to->isnull);
		MemoryContext old = MemoryContextSwitchTo(scan->values_context);
		int16 length;
		bool by_value;

		get_typlenbyval(exprType(list_nth(scan->call->args, i)), &length, &by_value);
		to->value = to->isnull ? (Datum) 0 : datumCopy(value, by_value, length);
		MemoryContextSwitchTo(old);
		i++;
	}
}

static void
open_run(rb_scan *scan)
{
	rb_source source[2];
	MemoryContext old;

	if (scan->values == NULL)
		compute_values(scan);
	old = MemoryContextSwitchTo(scan->context);
	PushActiveSnapshot(scan->css.ss.ps.state->es_snapshot);
	rb_join_sources(scan->join, scan->values, source);
	scan->reported = false;
	scan->run = rb_run_open(scan->join, source, scan->context);
	PopActiveSnapshot();
	MemoryContextSwitchTo(old);
}

/* the next block of pairs from the stream */
static bool
next_block(rb_scan *scan)
{
	bool more;

	if (scan->run == NULL)
		open_run(scan);
	more = rb_run_next(scan->run, &scan->block);
	scan->next = 0;
	if (!more)
	{
		stop_run(scan);
		scan->done = true;
	}
	return more;
}

/* ---- repetitions ---- */

static TupleDesc
pair_desc(void)
{
	TupleDesc desc = CreateTemplateTupleDesc(2);

	TupleDescInitEntry(desc, 1, NULL, INT8OID, -1, 0);
	TupleDescInitEntry(desc, 2, NULL, INT8OID, -1, 0);
	return desc;
}

/* all pairs of a run into the tuplestore */
static void
store_run(rb_scan *scan)
{
	EState *estate = scan->css.ss.ps.state;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	bool no_nulls[2] = {false, false};
	TupleDesc desc;

	if (scan->stored == NULL)
		scan->stored = MakeSingleTupleTableSlot(pair_desc(), &TTSOpsMinimalTuple);
	desc = scan->stored->tts_tupleDescriptor;
	scan->store = tuplestore_begin_heap(false, false, work_mem);
	MemoryContextSwitchTo(old);
	while (next_block(scan))
	{
		CHECK_FOR_INTERRUPTS();
		for (size_t i = 0; i < scan->block.n; i++)
		{
			Datum values[2];

			values[0] = Int64GetDatum(scan->block.red[i]);
			values[1] = Int64GetDatum(scan->block.blue[i]);
			tuplestore_putvalues(scan->store, desc, values, no_nulls);
		}
	}
	scan->done = false;
}

/* n pairs in red and blue are what comes next */
static bool
copied_block(rb_scan *scan, size_t n)
{
	scan->block = (rb_block){scan->red, scan->blue, n};
	scan->next = 0;
	return n > 0;
}

static bool
next_stored_block(rb_scan *scan)
{
	size_t n = 0;

	while (n < RB_BLOCK && tuplestore_gettupleslot(scan->store, true, false, scan->stored))
	{
		slot_getallattrs(scan->stored);
		scan->red[n] = DatumGetInt64(scan->stored->tts_values[0]);
		scan->blue[n] = DatumGetInt64(scan->stored->tts_values[1]);
		n++;
	}
	ExecClearTuple(scan->stored);
	return copied_block(scan, n);
}

static void
drop_store(rb_scan *scan)
{
	if (scan->store != NULL)
		tuplestore_end(scan->store);
	scan->store = NULL;
}

static bool
more_pairs(rb_scan *scan)
{
	bool more;

	CHECK_FOR_INTERRUPTS();
	if (scan->done)
		return false;
	if (scan->share != NULL)
	{
		scan->done = !copied_block(
			scan, rb_share_take(scan->share, scan->join->function, scan->red, scan->blue));
		return !scan->done;
	}
	if (scan->keep && scan->store == NULL)
		store_run(scan);
	more = scan->store != NULL ? next_stored_block(scan) : next_block(scan);
	scan->done = !more;
	return more;
}

/* ---- the node ---- */

static TupleTableSlot *
next_pair(ScanState *node)
{
	rb_scan *scan = (rb_scan *) node;
	TupleTableSlot *slot = node->ss_ScanTupleSlot;

	ExecClearTuple(slot);
	if (scan->next == scan->block.n && !more_pairs(scan))
		return slot;
	if (slot->tts_tupleDescriptor->natts > 0)
	{
		slot->tts_values[0] = Int64GetDatum(scan->block.red[scan->next]);
		slot->tts_values[1] = Int64GetDatum(scan->block.blue[scan->next]);
	}
	scan->next++;
	return ExecStoreVirtualTuple(slot);
}

/*
 * No row of ours is looked at again (add_scan).  But where the rows of other scans are,
 * older servers ask this instead of next_pair, of a scan in a subquery for one.
 */
static bool
recheck_pair(ScanState *node, TupleTableSlot *slot)
{
	slot = next_pair(node);
	return !TupIsNull(slot);
}

/* where nothing is to be filtered or computed, what ExecScan does is half of a row's cost */
static TupleTableSlot *
exec_scan(CustomScanState *node)
{
	PlanState *state = &node->ss.ps;

	if (state->qual == NULL && state->ps_ProjInfo == NULL && state->state->es_epq_active == NULL)
		return next_pair(&node->ss);
	return ExecScan(&node->ss, next_pair, recheck_pair);
}

typedef struct params_walk
{
	const List *subplans; /* of the statement */
	Bitmapset *params;
} params_walk;

/* the parameters whose change changes an expression */
static bool
collect_params(Node *node, void *arg)
{
	params_walk *walk = arg;

	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
		walk->params = bms_add_member(walk->params, ((Param *) node)->paramid);
	/* a subplan is given some by us, of which its arguments speak; others come from further out */
	if (IsA(node, SubPlan))
	{
		const Plan *plan = list_nth(walk->subplans, ((SubPlan *) node)->plan_id - 1);

		walk->params = bms_add_members(walk->params, plan->extParam);
	}
	return expression_tree_walker(node, collect_params, arg);
}

static Bitmapset *
params_of(List *expressions, const EState *estate)
{
	params_walk walk = {estate->es_plannedstmt->subplans, NULL};

	collect_params((Node *) expressions, &walk);
	return walk.params;
}

static void
begin_scan(CustomScanState *node, EState *estate, int eflags)
{
	rb_scan *scan = (rb_scan *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;

	scan->call = linitial_node(FuncExpr, plan->custom_exprs);
	if (!rb_may_execute(scan->call->funcid))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FUNCTION, get_func_name(scan->call->funcid));
	InvokeFunctionExecuteHook(scan->call->funcid);
	scan->join = rb_join_of_function(scan->call->funcid);
	if (scan->join == NULL)
		elog(ERROR, "function %u is no join", scan->call->funcid);
	scan->args = ExecInitExprList(scan->call->args, &node->ss.ps);
	scan->params = params_of(scan->call->args, estate);
	scan->context =
		AllocSetContextCreate(estate->es_query_cxt, "redblue scan", ALLOCSET_DEFAULT_SIZES);
	scan->values_context =
		AllocSetContextCreate(estate->es_query_cxt, "redblue arguments", ALLOCSET_SMALL_SIZES);
	scan->keep = (eflags & EXEC_FLAG_REWIND) != 0;
	memset(slot->tts_isnull, 0, (Size) slot->tts_tupleDescriptor->natts * sizeof(bool));
}

/* ---- below a Gather ---- */

/* before the ring goes away, on whatever way: no thread may write to it */
static void
stop_sharing(dsm_segment *segment, Datum arg)
{
	rb_scan *scan = (rb_scan *) DatumGetPointer(arg);

	if (scan->pump != NULL)
		rb_pump_stop(scan->pump);
	scan->share = NULL;
	scan->segment = NULL;
	scan->done = true;
}

static void
leave_share(rb_scan *scan)
{
	if (scan->segment != NULL)
	{
		cancel_on_dsm_detach(scan->segment, stop_sharing, PointerGetDatum(scan));
		stop_sharing(scan->segment, PointerGetDatum(scan));
	}
	scan->share = NULL;
}

static Size
estimate_shared(CustomScanState *node, ParallelContext *pcxt)
{
	return rb_share_size();
}

/* the leader starts the join, and the pump that fills the ring */
static void
fill_share(rb_scan *scan, rb_share *share)
{
	MemoryContext old;

	drop_run(scan);
	rb_share_init(share);
	open_run(scan);
	old = MemoryContextSwitchTo(scan->context);
	scan->pump = rb_pump_start(scan->run, share);
	MemoryContextSwitchTo(old);
}

static void
initialize_shared(CustomScanState *node, ParallelContext *pcxt, void *coordinate)
{
	rb_scan *scan = (rb_scan *) node;

	/* no shared memory was to be had, so there will be no workers */
	if (pcxt->seg == NULL)
		return;
	on_dsm_detach(pcxt->seg, stop_sharing, PointerGetDatum(scan));
	scan->segment = pcxt->seg;
	scan->share = coordinate;
	fill_share(scan, coordinate);
}

static void
reinitialize_shared(CustomScanState *node, ParallelContext *pcxt, void *coordinate)
{
	if (pcxt->seg != NULL)
		fill_share((rb_scan *) node, coordinate);
}

static void
initialize_worker(CustomScanState *node, shm_toc *toc, void *coordinate)
{
	((rb_scan *) node)->share = coordinate;
}

/* the plan is through with us, or with all that it wants: workers need not go on */
static void
shutdown_scan(CustomScanState *node)
{
	rb_scan *scan = (rb_scan *) node;

	if (scan->pump != NULL)
		rb_pump_stop(scan->pump);
}

/* ---- repeated, ended ---- */

static void
rescan(CustomScanState *node)
{
	rb_scan *scan = (rb_scan *) node;
	bool same = !bms_overlap(node->ss.ps.chgParam, scan->params);

	ExecScanReScan(&node->ss);
	/* the ring is filled anew by reinitialize_shared, before this or after it */
	if (scan->share != NULL)
	{
		scan->done = false;
		scan->next = 0;
		scan->block.n = 0;
		return;
	}
	if (scan->store != NULL && same)
	{
		tuplestore_rescan(scan->store);
		scan->done = false;
		scan->next = 0;
		scan->block.n = 0;
		return;
	}
	if (same && scan->run != NULL)
		scan->keep = true;
	drop_store(scan);
	drop_run(scan);
	if (!same)
		scan->values = NULL;
}

static void
end_scan(CustomScanState *node)
{
	rb_scan *scan = (rb_scan *) node;

	leave_share(scan);
	drop_store(scan);
	if (scan->stored != NULL)
		ExecDropSingleTupleTableSlot(scan->stored);
	scan->stored = NULL;
	if (scan->context != NULL)
		drop_run(scan);
}

/* ---- EXPLAIN ---- */

/* "ore", or the text of a query; what is not yet known, as the expression it is */
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

static void
explain_stages(rb_scan *scan, ExplainState *es)
{
	rb_report report;

	rb_report_of(scan->run, &report);
	ExplainPropertyText("Device", rb_report_device(&report), es);
	ExplainOpenGroup("Stages", "Stages", false, es);
	for (int i = 0; i < RB_STAGES; i++)
	{
		const char *name = rb_stage_name((rb_stage) i);
		uint64 count = report.stats.stage[i].count;
		double ms = report.stats.stage[i].ms;
		const char *detail = rb_report_detail(&report, (rb_stage) i);

		/* a stage that this backend does not have */
		if (count == 0 && ms == 0)
			continue;
		if (es->format == EXPLAIN_FORMAT_TEXT)
		{
			appendStringInfoSpaces(es->str, es->indent * 2);
			appendStringInfo(es->str, "Stage %s: " UINT64_FORMAT, name, count);
			if (es->timing)
				appendStringInfo(es->str, ", %.3f ms", ms);
			if (detail[0] != '\0')
				appendStringInfo(es->str, " (%s)", detail);
			appendStringInfoChar(es->str, '\n');
		}
		else
		{
			ExplainOpenGroup("Stage", NULL, true, es);
			ExplainPropertyText("Stage", name, es);
			ExplainPropertyUInteger("Count", NULL, count, es);
			if (es->timing)
				ExplainPropertyFloat("Time", "ms", ms, 3, es);
			ExplainPropertyText("Detail", detail, es);
			ExplainCloseGroup("Stage", NULL, true, es);
		}
	}
	ExplainCloseGroup("Stages", "Stages", false, es);
}

static void
explain(CustomScanState *node, List *ancestors, ExplainState *es)
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
	if (es->verbose)
		ExplainPropertyText("Function Call",
							deparse_expression((Node *) scan->call, deparse, false, false), es);
	if (es->analyze && scan->run != NULL)
	{
		ExplainPropertyText("Backend", scan->run->backend->name, es);
		explain_stages(scan, es);
	}
	else
		ExplainPropertyText("Backend", rb_setting_backend_name(), es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = RB_SCAN_NAME,
	.BeginCustomScan = begin_scan,
	.ExecCustomScan = exec_scan,
	.EndCustomScan = end_scan,
	.ReScanCustomScan = rescan,
	.EstimateDSMCustomScan = estimate_shared,
	.InitializeDSMCustomScan = initialize_shared,
	.ReInitializeDSMCustomScan = reinitialize_shared,
	.InitializeWorkerCustomScan = initialize_worker,
	.ShutdownCustomScan = shutdown_scan,
	.ExplainCustomScan = explain,
};

static Node *
create_state(CustomScan *plan)
{
	rb_scan *scan = (rb_scan *) newNode(sizeof(rb_scan), T_CustomScanState);

	scan->css.methods = &exec_methods;
	return (Node *) scan;
}

void
rb_scan_install(void)
{
	RegisterCustomScanMethods(&scan_methods);
	previous_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = add_scan;
}
