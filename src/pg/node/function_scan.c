/*
 * function_scan.c
 *	  Executes FROM redblue_..._pairs(...): returns pairs as rows while the join runs.
 *
 * The executor collects all rows of a function in FROM before it returns the first. For a plain
 * call in FROM the planner is therefore given a custom scan instead, which reads pairs from the
 * stream as the plan above requests them. Nothing is stored, and a LIMIT stops the join. The
 * function itself remains for every other case: the select list, ROWS FROM of several functions,
 * WITH ORDINALITY, and references to the whole row, which only a scan of a range table entry can
 * produce.
 *
 * A scan that is repeated with the same arguments (the inner side of a nested loop, a correlated
 * subquery) must not repeat the join. The first repetition stores its pairs in a tuplestore, from
 * which all later ones are served. If the planner announces repetitions, the first scan already
 * stores its pairs.
 *
 * Below a Gather the leader runs the join, and one of its threads fills a ring buffer in shared
 * memory from which the leader and the workers take their rows (parallel_queue.c). Counting,
 * aggregating and joining above the scan thus use all cores. The function itself stays PARALLEL
 * RESTRICTED, because it never runs in a worker.
 *
 * The sides are read when the first row is requested, with the query's snapshot.
 *
 * Results other than pairs (cursor.c) are returned in the same way, except that they never use the
 * ring. Counts and matched rows come in blocks, as pairs do, because there may be as many of them;
 * other results come row by row. A plan may request a different result than the function it names
 * (function_scan_path.c).
 */
#include "pg/func/func.h"
#include "pg/node/node.h"
#include "pg/plan/plan.h"

#include "access/parallel.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_type.h"
#include "commands/explain.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
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

/* ---- one run ---- */

typedef struct rb_scan
{
	CustomScanState css; /* Must be first */
	const rb_join *join;
	rb_result result; /* Result requested, which determines the rows of the scan */
	const rb_row_shape *shape;
	rb_result_side of; /* Side or sides whose ids are returned */
	int ncolumns;      /* Number of columns of the scan's rows */
	int *columns;      /* Index in the result of each column of the scan's rows */
	rb_value *value;   /* Location in a block of each column of the scan's rows */
	FuncExpr *call;
	List *args;        /* ExprStates of the arguments */
	Bitmapset *params; /* Parameters that the arguments depend on */

	/*
	 * Context of the arguments' values. The values are computed once and remain valid until a
	 * parameter changes, even if an argument is volatile.
	 */
	MemoryContext values_context;
	NullableDatum *values; /* NULL if the arguments have not been evaluated yet */

	MemoryContext context; /* Context of the run, reset before each run */
	rb_join_run *run;      /* Last run, or NULL before the first */
	rb_cursor *cursor;     /* Result of the run */
	bool reported;         /* True if redblue_last_run() reports the run */
	bool done;             /* True if no rows are left */

	/* Below a Gather: ring buffer of pairs, filled by the leader's pump */
	rb_pair_queue *share;
	rb_pump *pump;        /* NULL in workers */
	dsm_segment *segment; /* Segment that contains the ring; leader only */

	bool keep; /* True if the next run is stored in the tuplestore */
	Tuplestorestate *store;
	TupleTableSlot *stored;

	rb_block block;            /* Block of the run, or a copy in the arrays below */
	size_t next;               /* Index of the next row in the block */
	int64 red[RB_QUEUE_PAIRS]; /* Red ids copied from the ring or the tuplestore */
	int64 blue[RB_QUEUE_PAIRS];
	uint64 payload[RB_QUEUE_PAIRS];
} rb_scan;

/* Releases the threads and memory of the join and reports what it did. */
static void
stop_run_of_scan(rb_scan *scan)
{
	if (scan->run == NULL || scan->reported)
		return;
	if (scan->pump != NULL)
		rb_pump_stop(scan->pump);
	/* Stop the join first, because a LIMIT may have ended the scan early. */
	if (scan->run->call.skip_bad)
	{
		rb_placement_stop(&scan->run->placement);
		rb_run_report_skipped(scan->run);
	}
	rb_cursor_close(scan->cursor);
	rb_last_run_set(scan->run);
	scan->reported = true;
}

/* Stops the run and discards it. */
static void
drop_run_of_scan(rb_scan *scan)
{
	stop_run_of_scan(scan);
	scan->run = NULL;
	scan->cursor = NULL;
	scan->pump = NULL;
	scan->done = false;
	scan->block.n = 0;
	scan->next = 0;
	MemoryContextReset(scan->context);
}

/* Computes the arguments of the call in a context of their own, where they outlive the row. */
static void
compute_argument_values(rb_scan *scan)
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

/* Opens a cursor on the join of the call, after computing the arguments if necessary. */
static void
open_run_of_scan(rb_scan *scan)
{
	rb_call_args call;
	MemoryContext old;

	if (scan->values == NULL)
		compute_argument_values(scan);
	old = MemoryContextSwitchTo(scan->context);
	PushActiveSnapshot(scan->css.ss.ps.state->es_snapshot);
	rb_call_args_read(scan->join, scan->call->funcid, scan->values, &call);
	scan->reported = false;
	scan->cursor = rb_cursor_open(scan->join, scan->result, scan->of, &call, scan->context);
	scan->run = rb_cursor_run(scan->cursor);
	PopActiveSnapshot();
	MemoryContextSwitchTo(old);
}

/* Fetches the next block, or the next row of a result that has no blocks. */
static bool
fetch_next_from_cursor(rb_scan *scan, Datum *values)
{
	bool more;

	if (scan->run == NULL)
		open_run_of_scan(scan);
	/* Push a snapshot, because a side may have to be read again. */
	PushActiveSnapshot(scan->css.ss.ps.state->es_snapshot);
	more = scan->shape->raw > 0 ? rb_cursor_next_block(scan->cursor, &scan->block)
								: rb_cursor_next_row(scan->cursor, values);
	PopActiveSnapshot();
	scan->next = 0;
	if (!more)
	{
		stop_run_of_scan(scan);
		scan->done = true;
	}
	return more;
}

/* ---- repetitions ---- */

/*
 * Returns the descriptor of stored rows: the columns of blocks if the result has blocks, otherwise
 * those of its rows.
 */
static TupleDesc
desc_of_stored_rows(const FuncExpr *call, const rb_row_shape *shape)
{
	const int columns = shape->raw > 0 ? shape->raw : shape->columns;
	TupleDesc desc = CreateTemplateTupleDesc(columns);

	for (int i = 0; i < columns; i++)
		TupleDescInitEntry(desc, (AttrNumber) (i + 1), NULL,
						   shape->raw > 0 ? INT8OID : rb_column_type(call, shape, i), -1, 0);
	TupleDescFinalize(desc);
	return desc;
}

/* Stores in the tuplestore all rows that the scan's join returns, if they may be read again. */
static void
store_rows_of_scan(rb_scan *scan)
{
	EState *estate = scan->css.ss.ps.state;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	bool no_nulls[RB_BLOCK_COLUMNS] = {false};
	Datum values[RB_BLOCK_COLUMNS];
	TupleDesc desc;

	if (scan->stored == NULL)
		scan->stored = MakeSingleTupleTableSlot(desc_of_stored_rows(scan->call, scan->shape),
												&TTSOpsMinimalTuple);
	desc = scan->stored->tts_tupleDescriptor;
	scan->store = tuplestore_begin_heap(false, false, work_mem);
	MemoryContextSwitchTo(old);
	while (scan->shape->raw == 0 && fetch_next_from_cursor(scan, values))
	{
		CHECK_FOR_INTERRUPTS();
		tuplestore_putvalues(scan->store, desc, values, no_nulls);
	}
	while (scan->shape->raw > 0 && fetch_next_from_cursor(scan, NULL))
	{
		CHECK_FOR_INTERRUPTS();
		for (size_t i = 0; i < scan->block.n; i++)
		{
			const size_t words = scan->block.words;

			values[0] = Int64GetDatum(scan->block.red[i]);
			values[1] = Int64GetDatum(scan->block.blue[i]);
			for (size_t k = 0; k < words; k++)
				values[2 + k] = (Datum) scan->block.payload[i * words + k];
			tuplestore_putvalues(scan->store, desc, values, no_nulls);
		}
	}
	scan->done = false;
}

/* Prepares the block to receive rows copied from the ring or the tuplestore. */
static void
begin_copy_to_scan_block(rb_scan *scan)
{
	scan->block =
		(rb_block){scan->red, scan->blue, scan->payload, (size_t) Max(scan->shape->raw - 2, 0), 0};
	scan->next = 0;
}

/* Reads the next block of rows from the tuplestore. Returns false at its end. */
static bool
next_stored_block(rb_scan *scan)
{
	const Datum *values = scan->stored->tts_values;
	const int raw = scan->shape->raw;
	const size_t most = raw > 3 ? RB_QUEUE_PAIRS / (raw - 2) : RB_QUEUE_PAIRS;
	size_t n = 0;

	begin_copy_to_scan_block(scan);
	while (n < most && tuplestore_gettupleslot(scan->store, true, false, scan->stored))
	{
		slot_getallattrs(scan->stored);
		scan->red[n] = DatumGetInt64(values[0]);
		if (raw > 1)
			scan->blue[n] = DatumGetInt64(values[1]);
		for (int k = 2; k < raw; k++)
			scan->payload[n * (raw - 2) + k - 2] = (uint64) values[k];
		n++;
	}
	ExecClearTuple(scan->stored);
	scan->block.n = n;
	return n > 0;
}

/* Drops the stored rows of the scan, if any, since it will join again or ends. */
static void
drop_tuplestore_of_scan(rb_scan *scan)
{
	if (scan->store != NULL)
		tuplestore_end(scan->store);
	scan->store = NULL;
}

/* Gets the next block from the ring, the tuplestore or the join. Returns false after the last. */
static bool
get_next_block_of_scan(rb_scan *scan)
{
	bool more;

	CHECK_FOR_INTERRUPTS();
	if (scan->done)
		return false;
	if (scan->share != NULL)
	{
		begin_copy_to_scan_block(scan);
		rb_pair_queue_read(scan->share, scan->join->function, &scan->block);
		scan->done = scan->block.n == 0;
		return !scan->done;
	}
	if (scan->keep && scan->store == NULL)
		store_rows_of_scan(scan);
	more = scan->store != NULL ? next_stored_block(scan) : fetch_next_from_cursor(scan, NULL);
	scan->done = !more;
	return more;
}

/* ---- the node ---- */

/* Computes values that may be null or text; they live until the next row. */
static void
build_row_values_of_scan(rb_scan *scan, TupleTableSlot *slot)
{
	MemoryContext row = scan->css.ss.ps.ps_ExprContext->ecxt_per_tuple_memory;
	MemoryContext old = MemoryContextSwitchTo(row);

	for (int i = 0; i < scan->ncolumns; i++)
		slot->tts_values[i] =
			rb_value_build(&scan->block, scan->value[i], scan->next, &slot->tts_isnull[i]);
	MemoryContextSwitchTo(old);
}

/*
 * Stores the next row of a block in the slot. The numbers lie in the slot itself, so the previous
 * row is simply overwritten: clearing and storing the slot would cost as much as everything else.
 */
static TupleTableSlot *
store_next_row_of_block(rb_scan *scan, TupleTableSlot *slot)
{
	if (scan->next == scan->block.n && !get_next_block_of_scan(scan))
		return ExecClearTuple(slot);
	if (TTS_SHOULDFREE(slot))
		ExecClearTuple(slot);
	if (scan->shape->made)
		build_row_values_of_scan(scan, slot);
	else
		for (int i = 0; i < scan->ncolumns; i++)
			slot->tts_values[i] = rb_value_in(&scan->block, scan->value[i], scan->next);
	scan->next++;
	return TTS_EMPTY(slot) ? ExecStoreVirtualTuple(slot) : slot;
}

/*
 * Reads the next row of a result without blocks into `values`. A stored row also stays in
 * scan->stored.
 */
static bool
next_row_without_block(rb_scan *scan, Datum *values)
{
	if (scan->done)
		return false;
	if (scan->keep && scan->store == NULL)
		store_rows_of_scan(scan);
	if (scan->store == NULL)
		return fetch_next_from_cursor(scan, values);
	scan->done = !tuplestore_gettupleslot(scan->store, true, false, scan->stored);
	if (scan->done)
		return false;
	slot_getallattrs(scan->stored);
	memcpy(values, scan->stored->tts_values,
		   scan->stored->tts_tupleDescriptor->natts * sizeof *values);
	return true;
}

/* Returns the next row of the scan, from a block or from a result without blocks. */
static TupleTableSlot *
next_row_of_scan(ScanState *node)
{
	rb_scan *scan = (rb_scan *) node;
	TupleTableSlot *slot = node->ss_ScanTupleSlot;
	Datum values[RB_RESULT_COLUMNS];

	if (scan->shape->raw > 0)
		return store_next_row_of_block(scan, slot);
	ExecClearTuple(slot);
	if (!next_row_without_block(scan, values))
		return slot;
	for (int i = 0; i < scan->ncolumns; i++)
		slot->tts_values[i] = values[scan->columns[i]];
	return ExecStoreVirtualTuple(slot);
}

/*
 * EvalPlanQual never rechecks rows of this scan (see add_function_scan_path in
 * function_scan_path.c). When it rechecks rows of other scans, however, older servers call this
 * function instead of next_row_of_scan, for example for a scan in a subquery.
 */
static bool
recheck_row_of_scan(ScanState *node, TupleTableSlot *slot)
{
	slot = next_row_of_scan(node);
	return !TupIsNull(slot);
}

/*
 * Returns the next row. Bypasses ExecScan if there is nothing to filter or project, because
 * ExecScan would take half of the time per row.
 */
static TupleTableSlot *
exec_function_scan(CustomScanState *node)
{
	PlanState *state = &node->ss.ps;

	if (state->qual == NULL && state->ps_ProjInfo == NULL && state->state->es_epq_active == NULL)
		return next_row_of_scan(&node->ss);
	return ExecScan(&node->ss, next_row_of_scan, recheck_row_of_scan);
}

typedef struct params_walk
{
	const List *subplans; /* Subplans of the statement */
	Bitmapset *params;
} params_walk;

/* Collects the parameters that an expression depends on. */
static bool
collect_params_of_arguments(Node *node, void *arg)
{
	params_walk *walk = arg;

	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
		walk->params = bms_add_member(walk->params, ((Param *) node)->paramid);
	/*
	 * Some external parameters of a subplan are set at this query level and appear among its
	 * arguments; the others come from outer levels.
	 */
	if (IsA(node, SubPlan))
	{
		const Plan *plan = list_nth(walk->subplans, ((SubPlan *) node)->plan_id - 1);

		walk->params = bms_add_members(walk->params, plan->extParam);
	}
	return expression_tree_walker(node, collect_params_of_arguments, arg);
}

/* Returns the executor parameters on which the arguments depend, also within subplans. */
static Bitmapset *
params_of_arguments(List *expressions, const EState *estate)
{
	params_walk walk = {estate->es_plannedstmt->subplans, NULL};

	collect_params_of_arguments((Node *) expressions, &walk);
	return walk.params;
}

/*
 * Reads the requested result from the plan. Raises an error if the user may not execute an
 * aggregate, such as count, that the scan replaces.
 */
static void
read_requested_result(rb_scan *scan, const CustomScan *plan)
{
	const List *asked = linitial(plan->custom_private);
	ListCell *lc;

	scan->result = (rb_result) linitial_int(asked);
	scan->of = (rb_result_side) lsecond_int(asked);
	scan->ncolumns = list_length(plan->custom_scan_tlist);
	scan->shape = rb_row_shape_of(scan->result);
	scan->columns = palloc(scan->ncolumns * sizeof *scan->columns);
	scan->value = palloc(scan->ncolumns * sizeof *scan->value);
	for (int i = 0; i < scan->ncolumns; i++)
	{
		scan->columns[i] = list_nth_int(asked, i + 2);
		scan->value[i] = scan->shape->column[scan->columns[i]];
	}
	foreach (lc, plan->custom_scan_tlist)
	{
		Aggref *aggregate = (Aggref *) lfirst_node(TargetEntry, lc)->expr;

		if (!IsA(aggregate, Aggref))
			continue;
		if (!rb_may_execute(aggregate->aggfnoid))
			aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_AGGREGATE, get_func_name(aggregate->aggfnoid));
		InvokeFunctionExecuteHook(aggregate->aggfnoid);
	}
}

/* Begins the scan: checks the right to execute the function, and prepares its arguments. */
static void
begin_function_scan(CustomScanState *node, EState *estate, int eflags)
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
		elog(ERROR, "function %u is not a join", scan->call->funcid);
	read_requested_result(scan, plan);
	scan->args = ExecInitExprList(scan->call->args, &node->ss.ps);
	scan->params = params_of_arguments(scan->call->args, estate);
	scan->context =
		AllocSetContextCreate(estate->es_query_cxt, "redblue scan", ALLOCSET_DEFAULT_SIZES);
	scan->values_context =
		AllocSetContextCreate(estate->es_query_cxt, "redblue arguments", ALLOCSET_SMALL_SIZES);
	scan->keep = (eflags & EXEC_FLAG_REWIND) != 0;
	memset(slot->tts_isnull, 0, (Size) slot->tts_tupleDescriptor->natts * sizeof(bool));
}

/* ---- below a Gather ---- */

/*
 * Stops the pump of the scan before its ring is unmapped, whatever the reason, so that no thread
 * writes to it.
 */
static void
stop_pump_of_scan(dsm_segment *segment, Datum arg)
{
	rb_scan *scan = (rb_scan *) DatumGetPointer(arg);

	if (scan->pump != NULL)
		rb_pump_stop(scan->pump);
	scan->share = NULL;
	scan->segment = NULL;
	scan->done = true;
}

/* Detaches the scan from the shared ring, after stopping the pump. */
static void
leave_shared_ring(rb_scan *scan)
{
	if (scan->segment != NULL)
	{
		cancel_on_dsm_detach(scan->segment, stop_pump_of_scan, PointerGetDatum(scan));
		stop_pump_of_scan(scan->segment, PointerGetDatum(scan));
	}
	scan->share = NULL;
}

/*
 * Returns the size of the shared memory that the scan of a call in FROM needs for its ring;
 * implements EstimateDSMCustomScan.
 */
static Size
estimate_ring_of_scan(CustomScanState *node, ParallelContext *pcxt)
{
	return rb_pair_queue_size();
}

/* Starts the join in the leader, and the pump that fills the ring. */
static void
fill_shared_ring(rb_scan *scan, rb_pair_queue *share)
{
	MemoryContext old;

	drop_run_of_scan(scan);
	rb_pair_queue_init(share);
	open_run_of_scan(scan);
	old = MemoryContextSwitchTo(scan->context);
	scan->pump = rb_pump_start(scan->run, share);
	MemoryContextSwitchTo(old);
}

/*
 * Initializes the ring in the scan's shared memory and fills it, if there may be workers;
 * implements InitializeDSMCustomScan.
 */
static void
initialize_ring_of_scan(CustomScanState *node, ParallelContext *pcxt, void *coordinate)
{
	rb_scan *scan = (rb_scan *) node;

	/* Without a shared memory segment there are no workers. */
	if (pcxt->seg == NULL)
		return;
	on_dsm_detach(pcxt->seg, stop_pump_of_scan, PointerGetDatum(scan));
	scan->segment = pcxt->seg;
	scan->share = coordinate;
	fill_shared_ring(scan, coordinate);
}

/* Fills the ring again before a rescan of a parallel plan. */
static void
reinitialize_shared_ring(CustomScanState *node, ParallelContext *pcxt, void *coordinate)
{
	if (pcxt->seg != NULL)
		fill_shared_ring((rb_scan *) node, coordinate);
}

/* Attaches a parallel worker, which does not join itself, to the leader's ring. */
static void
attach_worker_to_ring(CustomScanState *node, shm_toc *toc, void *coordinate)
{
	((rb_scan *) node)->share = coordinate;
}

/* Stops the pump when the plan needs no more pairs, so that the workers end too. */
static void
shutdown_function_scan(CustomScanState *node)
{
	rb_scan *scan = (rb_scan *) node;

	if (scan->pump != NULL)
		rb_pump_stop(scan->pump);
}

/* ---- rescan and end ---- */

/*
 * Prepares the scan for another pass: reads the stored rows again if the arguments are the same,
 * otherwise joins again.
 */
static void
rescan_function_scan(CustomScanState *node)
{
	rb_scan *scan = (rb_scan *) node;
	bool same = !bms_overlap(node->ss.ps.chgParam, scan->params);

	ExecScanReScan(&node->ss);
	/*
	 * The ring is refilled by reinitialize_shared_ring, which may run before or after this
	 * function.
	 */
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
	drop_tuplestore_of_scan(scan);
	drop_run_of_scan(scan);
	if (!same)
		scan->values = NULL;
}

/* Ends the scan and drops its rows and its run. */
static void
end_function_scan(CustomScanState *node)
{
	rb_scan *scan = (rb_scan *) node;

	leave_shared_ring(scan);
	drop_tuplestore_of_scan(scan);
	if (scan->stored != NULL)
		ExecDropSingleTupleTableSlot(scan->stored);
	scan->stored = NULL;
	if (scan->context != NULL)
		drop_run_of_scan(scan);
}

/* ---- EXPLAIN ---- */

/*
 * Returns the table name or query text of a side, or its expression if the value is not known yet.
 */
static char *
text_of_source_argument(rb_scan *scan, int side, List *deparse, ExplainState *es)
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

/* Adds function, sides, backend and stages of the scan to EXPLAIN. */
static void
explain_function_scan(CustomScanState *node, List *ancestors, ExplainState *es)
{
	rb_scan *scan = (rb_scan *) node;
	List *deparse = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors);

	ExplainPropertyText("Function", scan->join->function, es);
	for (int i = 0; i < rb_join_sides(scan->join); i++)
	{
		char *label = pstrdup(scan->join->side[i]);

		label[0] = (char) toupper((unsigned char) label[0]);
		ExplainPropertyText(label, text_of_source_argument(scan, i, deparse, es), es);
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
		ExplainPropertyText("Backend", scan->run->placement.backend->name, es);
		ExplainPropertyText("Device", report.device, es);
		rb_report_explain(&report, es);
	}
	else
		ExplainPropertyText("Backend", rb_setting_backend_name(), es);
}

/* ---- executor callbacks ---- */

static const CustomExecMethods exec_methods = {
	.CustomName = RB_SCAN_NAME,
	.BeginCustomScan = begin_function_scan,
	.ExecCustomScan = exec_function_scan,
	.EndCustomScan = end_function_scan,
	.ReScanCustomScan = rescan_function_scan,
	.EstimateDSMCustomScan = estimate_ring_of_scan,
	.InitializeDSMCustomScan = initialize_ring_of_scan,
	.ReInitializeDSMCustomScan = reinitialize_shared_ring,
	.InitializeWorkerCustomScan = attach_worker_to_ring,
	.ShutdownCustomScan = shutdown_function_scan,
	.ExplainCustomScan = explain_function_scan,
};

Node *
rb_scan_create_state(CustomScan *plan)
{
	rb_scan *scan = (rb_scan *) newNode(sizeof(rb_scan), T_CustomScanState);

	scan->css.methods = &exec_methods;
	return (Node *) scan;
}

const CustomScanMethods rb_scan_methods = {.CustomName = RB_SCAN_NAME,
										   .CreateCustomScanState = rb_scan_create_state};
