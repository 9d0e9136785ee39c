/*
 * join_scan.c
 *	  Implements the plan node: reads both inputs, joins their geometries, and returns pairs of
 *	  rows.
 *
 * Each input is read once, to its end (join_input.c). The geometry of each row is added to a set,
 * and the columns that the nodes above need are stored (join_rows.c). Then threads join the sets,
 * and each resulting pair of rows becomes a row of the scan, with the columns of both inputs side
 * by side, if the other clauses of the join hold.
 *
 * Up to four joins of sets run one after the other: geometries with Z in space, geometries without
 * Z in the plane, and geometries with Z against those without, in either direction. For
 * redblue_inside there are three joins, of triangles, points and segments with solids. A large join
 * runs in the worker if that has a device (placement.c).
 *
 * A semijoin returns the first pair of each outer row. An outer join and an antijoin return the
 * outer rows without a pair at the end, using a bit for each row.
 *
 * On a rescan without changes below the node, the stored inputs are kept and only the join is
 * repeated. When a row updated by another transaction is rechecked (EvalPlanQual), the inputs
 * return that row, as in any join.
 */
#include "pg/node/node.h"

#include "access/sysattr.h"
#include "commands/explain.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"

#include <float.h>

static const char *const names[] = {"redblue_intersects", "redblue_crosses", "redblue_dwithin",
									"redblue_inside"};

/* ---- pairs of the sets of both inputs ---- */

#define WAIT 20 /* Maximum time to wait for a block, in ms */

/* Combinations of sets, in the order in which they are joined */
static const rb_lie turns[][2] = {{RB_IN_SPACE, RB_IN_SPACE},
								  {RB_IN_PLANE, RB_IN_PLANE},
								  {RB_FLATTENED, RB_IN_PLANE},
								  {RB_IN_PLANE, RB_FLATTENED}};

/* Returns the input whose geometries are tested for lying in solids. */
static int
input_placed_in_solids(const rb_geometry_join *j)
{
	return j->in[0].side.role == RB_ROLE_PLACED ? 0 : 1;
}

/* Raises the failure of the join as an ERROR. */
pg_noreturn static void
raise_join_failure(rb_geometry_join *j, rb_status status)
{
	const rb_error *error = &j->ctx.error;
	const int placed = input_placed_in_solids(j);
	const bool is_first = (error->limit & RB_SOLID_SIDE) == RB_SOLID_OF_RED;

	if (status == RB_BAD_SOLID)
		rb_raise_no_solid(
			j->function, is_first ? "the first geometry" : "the second geometry",
			rb_join_side_row(&j->in[is_first ? placed : 1 - placed].side, error->need),
			error->text);
	rb_raise(j->function, status, error);
}

/* Adds the statistics of a finished join to those of the node. */
static void
note_join_statistics(rb_geometry_join *j)
{
	rb_stats_add(&j->stats, &j->ctx.stats);
	j->joins++;
}

/* Returns true if the join node's join of two sets is open, in this process or in the worker. */
static bool
is_join_of_two_sets_open(const rb_geometry_join *j)
{
	return j->placement.stream != NULL || j->placement.remote != NULL;
}

/*
 * Ends the join node's join of its current red and blue set, whether or not all of its pairs have
 * been read.
 */
static void
end_pairs_of_two_sets(rb_geometry_join *j)
{
	if (!is_join_of_two_sets_open(j))
		return;
	rb_placement_stop(&j->placement);
	note_join_statistics(j);
	j->block.n = j->next = 0;
}

/* Starts the join node's join of two sets in the worker, or in this process. */
static void
start_join_of_two_sets(rb_geometry_join *j, uint64 parts)
{
	rb_submission order = {.device = RB_ON_DEVICE, .job = &j->job};
	rb_status status;

	rb_placement_begin(&j->placement, &j->job);
	if (j->asked != RB_ASKED_INSIDE)
	{
		if (rb_placement_wants_join(&j->placement, parts) &&
			rb_placement_submit(&j->placement, &order))
			return;
		rb_placement_choose_here(&j->placement);
	}
	status = rb_placement_run_here(&j->placement);
	if (status != RB_OK)
		raise_join_failure(j, status);
}

/*
 * Starts the next join of a red and a blue set that both have rows: in space, then in the plane.
 * Returns false if none is left.
 */
static bool
open_next_pair_of_sets(rb_geometry_join *j)
{
	for (; !j->no_pairs && j->turn < (int) lengthof(turns); j->turn++)
	{
		const rb_set *red, *blue;

		if (j->asked == RB_ASKED_INSIDE)
		{
			red = j->turn < RB_LIES ? j->in[input_placed_in_solids(j)].side.set[j->turn] : NULL;
			blue = j->in[1 - input_placed_in_solids(j)].side.set[RB_AT_TRIANGLES];
		}
		else
		{
			red = j->in[0].side.set[turns[j->turn][0]];
			blue = j->in[1].side.set[turns[j->turn][1]];
		}
		if (red == NULL || blue == NULL)
			continue;
		j->turn++;
		memset(&j->job, 0, sizeof j->job);
		j->job.red = red;
		j->job.blue = blue;
		j->job.predicate = j->asked == RB_ASKED_CROSSES   ? RB_CONTACT
						   : j->asked == RB_ASKED_DWITHIN ? RB_WITHIN
						   : j->asked == RB_ASKED_INSIDE  ? RB_POSITION
														  : RB_MEET;
		j->job.answer = j->counting ? RB_COUNT : RB_PAIRS;
		/* Clamp an infinite distance: objects more than DBL_MAX apart never match. */
		j->job.distance = Min(j->reach, DBL_MAX);
		rb_settings_apply(&j->ctx, j->memory);
		j->ctx.threads = rb_threads((uint64) red->nparts + blue->nparts);
		j->block.n = j->next = 0;
		start_join_of_two_sets(j, (uint64) red->nparts + blue->nparts);
		return true;
	}
	return false;
}

/*
 * Reads the next block of the join node's current two sets, which may be empty. Returns false
 * after the last block of these sets.
 */
static bool
next_block_of_two_sets(rb_geometry_join *j)
{
	rb_status status = rb_placement_next(&j->placement, WAIT, &j->block);

	j->next = 0;
	if (status == RB_OK)
		return true;
	j->block.n = 0;
	if (status == RB_END)
		return false;
	if (rb_placement_can_take_over(&j->placement, status))
		status = rb_placement_take_over(&j->placement);
	if (status != RB_OK)
		raise_join_failure(j, status);
	return true;
}

/* Returns the next pair of rows of the inputs. Returns false after the last one. */
static bool
next_pair_of_input_rows(rb_geometry_join *j, uint64 *outer, uint64 *inner)
{
	for (;;)
	{
		while (j->next < j->block.n)
		{
			const size_t i = j->next++;

			if (j->asked == RB_ASKED_CROSSES && !RB_PAYLOAD_CROSSES(j->block.payload[i]))
				continue;
			if (j->asked == RB_ASKED_INSIDE && j->block.payload[i] != RB_LIES_INSIDE)
				continue;
			*outer = (uint64) j->block.red[i];
			*inner = (uint64) j->block.blue[i];
			if (j->asked == RB_ASKED_INSIDE && input_placed_in_solids(j) == 1)
			{
				*outer = (uint64) j->block.blue[i];
				*inner = (uint64) j->block.red[i];
			}
			return true;
		}
		CHECK_FOR_INTERRUPTS();
		if (!is_join_of_two_sets_open(j) && !open_next_pair_of_sets(j))
			return false;
		if (!next_block_of_two_sets(j))
			end_pairs_of_two_sets(j);
	}
}

/* Returns the number of pairs without building them. */
static uint64
count_join_pairs(rb_geometry_join *j)
{
	/* These predicates are decided by the payload of each pair. */
	const bool each = j->asked == RB_ASKED_CROSSES || j->asked == RB_ASKED_INSIDE;
	const uint64 before = j->stats.stage[RB_STAGE_EMIT].count;
	uint64 outer, inner, pairs = 0;

	j->counting = !each;
	while (next_pair_of_input_rows(j, &outer, &inner))
		pairs++;
	j->counting = false;
	return each ? pairs : j->stats.stage[RB_STAGE_EMIT].count - before;
}

/* ---- begin and end ---- */

/* Ends the threads and frees the memory of a join. */
static void
close_join_of_node(void *arg)
{
	rb_geometry_join *j = arg;

	rb_cleanup_unregister(&j->open);
	rb_placement_stop(&j->placement);
	rb_progress_end(&j->progress);
	if (j->memory == NULL)
		return;
	if (j->measures != NULL)
		rb_join_measures_free(j->measures);
	for (int i = 0; i < 2; i++)
	{
		rb_join_decode_end(j->in[i].decoder);
		j->in[i].decoder = NULL;
		rb_join_side_free(&j->in[i].side);
	}
	rb_memory_destroy(j->memory);
	j->memory = NULL;
	rb_cleanup_release_idle();
}

/*
 * Finds, when the join node starts, the columns of its inputs that the nodes above, the other join
 * clauses, the filter or the measures need, and prepares these clauses and measures.
 */
static void
find_columns_that_scan_needs(rb_geometry_join *j, CustomScan *plan)
{
	Bitmapset *wanted = NULL;
	List *quals;
	int i = -1;

	pull_varattnos((Node *) plan->scan.plan.targetlist, INDEX_VAR, &wanted);
	pull_varattnos(list_nth(plan->custom_exprs, RB_JOIN_QUAL), INDEX_VAR, &wanted);
	pull_varattnos(list_nth(plan->custom_exprs, RB_JOIN_FILTER), INDEX_VAR, &wanted);
	quals = rb_join_measures_begin(j, list_nth(plan->custom_exprs, RB_JOIN_QUAL), &wanted);
	j->quals = ExecInitQual(quals, &j->css.ss.ps);
	while ((i = bms_next_member(wanted, i)) >= 0)
	{
		const int column = i + FirstLowInvalidHeapAttributeNumber;
		rb_join_input *in;

		/* Columns that the node itself computes come after those of its inputs. */
		if (column > j->in[1].first + j->in[1].columns)
			continue;
		in = &j->in[column > j->in[1].first];
		in->wanted = bms_add_member(in->wanted, column - 1 - in->first);
	}
	bms_free(wanted);
}

/* Opens memory, progress and placement of a join. */
static void
open_join_of_node(rb_geometry_join *j)
{
	rb_memory_set_idle((uint64) rb_setting_memory_limit * 1024);
	j->memory = rb_memory_open(j->function, (uint64) rb_setting_memory_limit * 1024);
	rb_cleanup_register(&j->open, j->context, close_join_of_node, j);
	j->progress = rb_progress_begin(j->function);
	rb_placement_init(&j->placement, j->function, j->context, &j->ctx, j->progress);
}

/* Collects the executor parameters on which an expression depends. */
static bool
find_params_of_join(Node *node, void *params)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
		*(Bitmapset **) params = bms_add_member(*(Bitmapset **) params, ((Param *) node)->paramid);
	return expression_tree_walker(node, find_params_of_join, params);
}

/*
 * Returns the column of a join node's input that is joined, or 0 if the expression is not a plain
 * column.
 */
static int
input_column_of_joined_geometry(const Node *geometry, const rb_join_input *in)
{
	const Var *var = (const Var *) geometry;

	return IsA(geometry, Var) && var->varattno > in->first ? var->varattno - in->first : 0;
}

/* Initializes the state of a join node and its inputs. */
static void
begin_join_node(CustomScanState *node, EState *estate, int flags)
{
	rb_geometry_join *j = (rb_geometry_join *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	List *facts = list_nth(plan->custom_private, RB_JOIN_FACTS);
	List *tables = list_nth(plan->custom_private, RB_JOIN_NAMES);
	int first = 0;

	j->type = (JoinType) linitial_int(facts);
	j->asked = (rb_join_function) lsecond_int(facts);
	j->function = names[j->asked];
	for (int i = 0; i < 2; i++)
	{
		rb_join_input *in = &j->in[i];
		Node *geometry = list_nth(plan->custom_exprs, RB_JOIN_OUTER_GEOMETRY + i);
		const bool is_first = (i == 0) == (lthird_int(facts) == 0);

		in->plan = ExecInitNode(list_nth(plan->custom_plans, i), estate, flags & ~EXEC_FLAG_REWIND);
		node->custom_ps = lappend(node->custom_ps, in->plan);
		in->geometry = ExecInitExpr((Expr *) geometry, &node->ss.ps);
		in->first = first;
		in->columns = list_nth_int(facts, 4 + i);
		first += in->columns;
		in->column = input_column_of_joined_geometry(geometry, in);
		(void) find_params_of_join(geometry, &j->params);
		in->side.any_srid = lfourth_int(facts) != 0;
		in->side.table = strVal(list_nth(tables, i));
		in->side.decoder.function = j->function;
		in->side.decoder.where = is_first ? "the first geometry" : "the second geometry";
		if (j->asked == RB_ASKED_INSIDE)
			in->side.role = is_first ? RB_ROLE_PLACED : RB_ROLE_SOLID;
		in->side.decoder.type = exprType(geometry);
		in->at = -1;
	}
	find_columns_that_scan_needs(j, plan);
	j->distance =
		ExecInitExpr((Expr *) list_nth(plan->custom_exprs, RB_JOIN_DISTANCE), &node->ss.ps);
	j->filter = ExecInitQual(list_nth(plan->custom_exprs, RB_JOIN_FILTER), &node->ss.ps);
	j->context = AllocSetContextCreate(estate->es_query_cxt, RB_JOIN_NAME, ALLOCSET_DEFAULT_SIZES);
	j->phase = RB_JOIN_READ;
}

/* Discards the contents of the inputs. */
static void
drop_inputs_of_join(rb_geometry_join *j)
{
	/* Discard pairs that were not returned yet. */
	end_pairs_of_two_sets(j);
	for (int i = 0; i < 2; i++)
	{
		rb_join_input *in = &j->in[i];

		if (in->kept != NULL)
			rb_join_rows_close(in->kept);
		in->kept = NULL;
		in->n = 0;
		in->at = -1;
	}
	close_join_of_node(j);
	MemoryContextReset(j->context);
	j->matched = NULL;
	j->phase = RB_JOIN_READ;
}

/* Ends a join node and its inputs. */
static void
end_join_node(CustomScanState *node)
{
	rb_geometry_join *j = (rb_geometry_join *) node;

	drop_inputs_of_join(j);
	for (int i = 0; i < 2; i++)
		ExecEndNode(j->in[i].plan);
}

/* Prepares a join node for another scan. */
static void
rescan_join_node(CustomScanState *node)
{
	rb_geometry_join *j = (rb_geometry_join *) node;
	/* If only the distance has changed, keep what was read from the inputs. */
	bool changed = bms_overlap(node->ss.ps.chgParam, j->params);

	for (int i = 0; i < 2; i++)
	{
		if (node->ss.ps.chgParam != NULL)
			UpdateChangedParamSet(j->in[i].plan, node->ss.ps.chgParam);
		changed |= j->in[i].plan->chgParam != NULL;
	}
	if (changed)
	{
		drop_inputs_of_join(j);
		for (int i = 0; i < 2; i++)
			ExecReScan(j->in[i].plan);
		return;
	}
	end_pairs_of_two_sets(j);
	if (j->measures != NULL)
		rb_join_measures_clear(j->measures);
	if (j->phase != RB_JOIN_READ)
		j->phase = RB_JOIN_START;
}

/* ---- rows ---- */

/* Returns true if some pair of the outer row has passed all join clauses. */
static inline bool
is_outer_row_matched(const rb_geometry_join *j, uint64 row)
{
	return (j->matched[row / 64] >> row % 64 & 1) != 0;
}

/* Projects the row in the scan slot and returns it, or returns NULL if the filter rejects it. */
static TupleTableSlot *
project_joined_row(rb_geometry_join *j)
{
	ExprContext *econtext = j->css.ss.ps.ps_ExprContext;

	if (!ExecQual(j->filter, econtext))
	{
		InstrCountFiltered2(j, 1);
		return NULL;
	}
	return j->css.ss.ps.ps_ProjInfo != NULL ? ExecProject(j->css.ss.ps.ps_ProjInfo)
											: j->css.ss.ss_ScanTupleSlot;
}

/* Evaluates the other join clauses, except those with measures, on the pair in the scan slot. */
static bool
does_pair_pass_other_clauses(rb_geometry_join *j)
{
	if (ExecQual(j->quals, j->css.ss.ps.ps_ExprContext))
		return true;
	InstrCountFiltered1(j, 1);
	return false;
}

/* Returns the row of the pair in the scan slot, which has passed all join clauses, or NULL if there is none. */
static TupleTableSlot *
project_pair(rb_geometry_join *j, uint64 outer)
{
	if (j->matched != NULL)
		j->matched[outer / 64] |= UINT64CONST(1) << outer % 64;
	return j->type != JOIN_ANTI ? project_joined_row(j) : NULL;
}

/* Loads a pair of rows into the scan slot. */
static void
load_pair_into_slot(rb_geometry_join *j, uint64 outer, uint64 inner)
{
	/* Evaluating the clauses may be slow, and a block has many pairs. */
	CHECK_FOR_INTERRUPTS();
	rb_join_reset_slot(j);
	rb_join_load_row(j, &j->in[0], outer);
	rb_join_load_row(j, &j->in[1], inner);
}

/* Collects pairs that pass the clauses without measures. */
static void
collect_pairs_to_measure(rb_geometry_join *j)
{
	uint64 outer, inner;

	while (next_pair_of_input_rows(j, &outer, &inner))
	{
		if (j->quals != NULL)
		{
			load_pair_into_slot(j, outer, inner);
			if (!does_pair_pass_other_clauses(j))
				continue;
		}
		if (!rb_join_measures_add(j->measures, outer, inner))
			break;
	}
}

/* Returns the next row of a join with measures, or NULL if no pairs are left. */
static TupleTableSlot *
next_measured_row(rb_geometry_join *j)
{
	TupleTableSlot *result = NULL;
	uint64 outer, inner;

	while (result == NULL)
	{
		if (!rb_join_measures_next(j->measures, &outer, &inner))
		{
			collect_pairs_to_measure(j);
			if (!rb_join_measures_next(j->measures, &outer, &inner))
				return NULL;
		}
		load_pair_into_slot(j, outer, inner);
		if (rb_join_measures_store(j->measures))
			result = project_pair(j, outer);
		else
			InstrCountFiltered1(j, 1);
	}
	return result;
}

/* Returns the next joined row, or NULL if no pairs are left. */
static TupleTableSlot *
next_joined_row(rb_geometry_join *j)
{
	TupleTableSlot *result = NULL;
	uint64 outer, inner;

	if (j->measures != NULL)
		return next_measured_row(j);
	while (result == NULL && next_pair_of_input_rows(j, &outer, &inner))
	{
		if ((j->type == JOIN_SEMI || j->type == JOIN_ANTI) && is_outer_row_matched(j, outer))
			continue;
		load_pair_into_slot(j, outer, inner);
		if (does_pair_pass_other_clauses(j))
			result = project_pair(j, outer);
	}
	return result;
}

/* Returns the next outer row without a pair. */
static TupleTableSlot *
next_outer_row_without_pair(rb_geometry_join *j)
{
	TupleTableSlot *result = NULL;

	while (result == NULL && j->rest < j->in[0].n)
	{
		const uint64 row = j->rest++;

		CHECK_FOR_INTERRUPTS();
		if (is_outer_row_matched(j, row))
			continue;
		rb_join_reset_slot(j);
		rb_join_load_row(j, &j->in[0], row);
		result = project_joined_row(j);
	}
	return result;
}

/* Prepares the joins of the sets of both inputs, once the join node has read these. */
static void
start_joins_of_inputs(rb_geometry_join *j)
{
	TupleTableSlot *scan = j->css.ss.ss_ScanTupleSlot;
	const Size words = j->in[0].n / 64 + 1;

	if (j->type != JOIN_INNER && j->matched == NULL)
		j->matched = MemoryContextAllocHuge(j->context, words * sizeof *j->matched);
	if (j->matched != NULL)
		memset(j->matched, 0, words * sizeof *j->matched);
	rb_join_check_distance(j);
	j->turn = 0;
	j->rest = 0;
	ExecClearTuple(scan);
	for (int i = 0; i < 2; i++)
		rb_join_clear_columns(j, &j->in[i]);
	ExecStoreVirtualTuple(scan);
	j->css.ss.ps.ps_ExprContext->ecxt_scantuple = scan;
}

/* Reads both inputs if necessary, and prepares the join. */
static void
prepare_join_of_inputs(rb_geometry_join *j)
{
	if (j->phase == RB_JOIN_READ)
	{
		open_join_of_node(j);
		rb_join_read(j);
		j->phase = RB_JOIN_START;
	}
	if (j->phase == RB_JOIN_START)
	{
		start_joins_of_inputs(j);
		j->phase = RB_JOIN_PAIRS;
	}
}

/* Returns the number of rows of a countable join. Called instead of ExecProcNode. */
static uint64
count_join_rows(rb_geometry_join *j)
{
	PlanState *node = &j->css.ss.ps;
	uint64 pairs;

	/* Do what ExecProcNode does, which this function replaces. */
	if (node->chgParam != NULL)
		ExecReScan(node);
	if (node->instrument != NULL)
		InstrStartNode(node->instrument);
	prepare_join_of_inputs(j);
	pairs = count_join_pairs(j);
	j->phase = RB_JOIN_DONE;
	if (node->instrument != NULL)
		InstrStopNode(node->instrument, (double) pairs);
	return pairs;
}

/* Returns the next row of the join node. */
static TupleTableSlot *
exec_join_node(CustomScanState *node)
{
	rb_geometry_join *j = (rb_geometry_join *) node;
	TupleTableSlot *result = NULL;

	prepare_join_of_inputs(j);
	if (j->phase == RB_JOIN_PAIRS)
	{
		result = next_joined_row(j);
		if (result != NULL)
			return result;
		j->phase = j->type == JOIN_LEFT || j->type == JOIN_ANTI ? RB_JOIN_REST : RB_JOIN_DONE;
		rb_join_clear_columns(j, &j->in[1]);
		if (j->measures != NULL)
			rb_join_measures_set_null(j->measures);
	}
	if (j->phase == RB_JOIN_REST)
	{
		result = next_outer_row_without_pair(j);
		if (result != NULL)
			return result;
		j->phase = RB_JOIN_DONE;
	}
	return NULL;
}

/*
 * ---- EXPLAIN ----
 *
 * A node may run several joins: of geometries in space and in the plane, and again on each rescan.
 * The output shows their sum, except for the grid, which is that of the last join, and for the
 * inputs, which are those of the last read.
 */

/*
 * Adds the rows and bytes of each input with the time to read them, and its parts with the time to
 * decode them.
 */
static void
add_reading_to_report(const rb_geometry_join *j, rb_report *report)
{
	static const char *const names[2][2] = {{"read outer", "decode outer"},
											{"read inner", "decode inner"}};

	for (int i = 0; i < 2; i++)
	{
		const rb_join_input *in = &j->in[i];
		const uint64 geometries = in->side.n[0] + in->side.n[1];

		rb_report_add(report, names[i][0], in->n, in->read_ms,
					  psprintf("%s of geometries", rb_count_text(in->bytes, "byte")));
		rb_report_add(report, names[i][1], geometries, in->decode_ms,
					  rb_count_text(in->side.parts, "part"));
	}
}

/* Adds backend and stages of the join to EXPLAIN. */
static void
explain_join_stages(rb_geometry_join *j, ExplainState *es)
{
	rb_report report;

	/* If a LIMIT has ended the scan, the join is still unfinished. */
	end_pairs_of_two_sets(j);
	rb_report_begin(&report, &j->stats, j->placement.note);
	add_reading_to_report(j, &report);
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
explain_other_join_clauses(const rb_geometry_join *j, int place, const char *name, List *deparse,
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

/* Adds the properties of the join node to EXPLAIN. */
static void
explain_join_node(CustomScanState *node, List *ancestors, ExplainState *es)
{
	static const char *const types[] = {"Inner", "Left", "Full", "Right", "Semi", "Anti"};
	rb_geometry_join *j = (rb_geometry_join *) node;
	List *deparse = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors);
	List *exprs = ((CustomScan *) node->ss.ps.plan)->custom_exprs;
	const rb_node_counters *instrument = node->ss.ps.instrument;

	ExplainPropertyText("Join Type", types[j->type], es);
	ExplainPropertyText(
		"Join Cond", deparse_expression(list_nth(exprs, RB_JOIN_CLAUSE), deparse, true, false), es);
	explain_other_join_clauses(j, RB_JOIN_QUAL, "Join Filter", deparse,
							   instrument != NULL ? instrument->nfiltered1 : 0, es);
	explain_other_join_clauses(j, RB_JOIN_FILTER, "Filter", deparse,
							   instrument != NULL ? instrument->nfiltered2 : 0, es);
	if (j->measures != NULL)
		rb_join_measures_explain(j->measures, deparse, es);
	if (es->analyze && j->phase != RB_JOIN_READ)
		explain_join_stages(j, es);
}

/* ---- executor callbacks ---- */

static const CustomExecMethods exec_methods = {.CustomName = RB_JOIN_NAME,
											   .BeginCustomScan = begin_join_node,
											   .ExecCustomScan = exec_join_node,
											   .EndCustomScan = end_join_node,
											   .ReScanCustomScan = rescan_join_node,
											   .ExplainCustomScan = explain_join_node};

/* Creates the state of a join node. */
static Node *
create_join_state(CustomScan *plan)
{
	rb_geometry_join *j = palloc0(sizeof *j);

	NodeSetTag(j, T_CustomScanState);
	j->css.methods = &exec_methods;
	return (Node *) j;
}

const CustomScanMethods rb_join_methods = {.CustomName = RB_JOIN_NAME,
										   .CreateCustomScanState = create_join_state};

/* ---- count(*) ---- */

typedef struct join_count
{
	CustomScanState css; /* Must be first */
	PlanState *join;
	bool done;
} join_count;

/* Initializes the state of a counting node. */
static void
begin_join_count(CustomScanState *node, EState *estate, int flags)
{
	join_count *c = (join_count *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;

	c->join = ExecInitNode(linitial(plan->custom_plans), estate, flags & ~EXEC_FLAG_REWIND);
	node->custom_ps = list_make1(c->join);
}

/* Returns the row with the count. */
static TupleTableSlot *
exec_join_count(CustomScanState *node)
{
	join_count *c = (join_count *) node;
	TupleTableSlot *scan = node->ss.ss_ScanTupleSlot;
	ExprContext *econtext = node->ss.ps.ps_ExprContext;
	uint64 pairs;

	if (c->done)
		return NULL;
	c->done = true;
	pairs = count_join_rows((rb_geometry_join *) c->join);
	ExecClearTuple(scan);
	/* count(*) may occur in several forms, each with a column of its own. */
	for (int i = 0; i < scan->tts_tupleDescriptor->natts; i++)
	{
		scan->tts_values[i] = Int64GetDatum((int64) pairs);
		scan->tts_isnull[i] = false;
	}
	ExecStoreVirtualTuple(scan);
	ResetExprContext(econtext);
	econtext->ecxt_scantuple = scan;
	if (!ExecQual(node->ss.ps.qual, econtext))
	{
		InstrCountFiltered1(node, 1);
		return NULL;
	}
	return node->ss.ps.ps_ProjInfo != NULL ? ExecProject(node->ss.ps.ps_ProjInfo) : scan;
}

/* Ends the counting node, and with it the join whose rows it counts. */
static void
end_join_count(CustomScanState *node)
{
	ExecEndNode(((join_count *) node)->join);
}

/* Prepares a counting node for another scan. */
static void
rescan_join_count(CustomScanState *node)
{
	join_count *c = (join_count *) node;

	c->done = false;
	if (node->ss.ps.chgParam != NULL)
		UpdateChangedParamSet(c->join, node->ss.ps.chgParam);
	/* If parameters of the child have changed, it rescans when it is executed. */
	if (c->join->chgParam == NULL)
		ExecReScan(c->join);
}

static const CustomExecMethods count_exec_methods = {.CustomName = RB_JOIN_COUNT_NAME,
													 .BeginCustomScan = begin_join_count,
													 .ExecCustomScan = exec_join_count,
													 .EndCustomScan = end_join_count,
													 .ReScanCustomScan = rescan_join_count};

/* Creates the executor state of the node that counts the rows of a join without forming them. */
static Node *
create_join_count_state(CustomScan *plan)
{
	join_count *c = (join_count *) newNode(sizeof(join_count), T_CustomScanState);

	c->css.methods = &count_exec_methods;
	return (Node *) c;
}

const CustomScanMethods rb_join_count_methods = {.CustomName = RB_JOIN_COUNT_NAME,
												 .CreateCustomScanState = create_join_count_state};
