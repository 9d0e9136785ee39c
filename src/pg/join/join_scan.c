/*
 * join_scan.c
 *	  The node: both inputs are read, their geometries are joined, and pairs of rows are handed out.
 *
 * Each input is read to its end, once: of a row its geometry goes to a set, and those of its columns that are wanted
 * above to a store (join_rows.c).  Then the sets are joined, in threads, and each pair of rows that comes out becomes a
 * row of the scan, the columns of both side by side, if the other clauses of the join hold.
 *
 * Of a semijoin the first pair of an outer row counts, of an outer join and an antijoin rows without one come
 * at the end: a bit for each row tells.
 *
 * When it is repeated with nothing below it changed, what was read stays, and only the join is made again.  A
 * row that was changed by others is looked at again (EvalPlanQual) through the inputs, as in any join: they return it then.
 */
#include "pg/join/rb_geometry_join.h"

#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "commands/explain.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"

#include <float.h>
#include <math.h>

#define WAIT 20 /* ms */

typedef struct input
{
	PlanState *plan;
	ExprState *geometry;
	int first; /* its columns in the scan tuple */
	int columns;
	Bitmapset *wanted;       /* of them, from 0 */
	rb_spool *rows;          /* NULL: none is wanted */
	TupleTableSlot *stored;  /* one of them */
	TupleTableSlot *reduced; /* with what is wanted of it */
	uint64 n;
	int64 at; /* the row that is in the scan tuple; -1: none */
	rb_join_side side;
} input;

typedef enum phase
{
	TO_BE_READ,
	TO_BE_JOINED,
	PAIRS,
	REST,
	DONE
} phase;

typedef struct rb_geometry_join
{
	CustomScanState css; /* must be first */
	JoinType type;
	rb_asked asked;
	input in[2];
	ExprState *distance;
	ExprState *quals;
	Node *clause;
	phase phase;

	/* what was read, until it is read again */
	MemoryContext context;
	MemoryContextCallback at_end;
	rb_open open;
	rb_memory *memory;
	double reach;
	bool no_pairs;

	/* a join */
	rb_context ctx;
	rb_stream *stream;
	rb_job job;
	int turn; /* which two lies are joined */
	rb_block block;
	size_t next;
	uint64 *matched; /* a bit for each outer row */
	uint64 rest;
} rb_geometry_join;

/* what is joined with what, one after the other */
static const rb_lie turns[][2] = {{RB_IN_SPACE, RB_IN_SPACE},
								  {RB_IN_PLANE, RB_IN_PLANE},
								  {RB_FLATTENED, RB_IN_PLANE},
								  {RB_IN_PLANE, RB_FLATTENED}};

static const char *const names[] = {"redblue_intersects", "redblue_crosses", "redblue_dwithin"};

/* ---- beginning and end ---- */

static void
close_all(void *arg)
{
	rb_geometry_join *j = arg;

	rb_open_end(&j->open);
	rb_stream_close(j->stream);
	j->stream = NULL;
	if (j->memory == NULL)
		return;
	for (int i = 0; i < 2; i++)
		rb_join_side_free(&j->in[i].side);
	rb_memory_destroy(j->memory);
	j->memory = NULL;
	rb_open_ended();
}

/* does the type of an expression say that all its values have Z?  PostGIS's modifier has a bit for it */
static bool
has_z_for_sure(Node *geometry)
{
	const int32 modifier = exprTypmod(geometry);

	return modifier >= 0 && (modifier & 2) != 0;
}

/* the columns of the inputs that are wanted above them */
static void
find_wanted(rb_geometry_join *j, CustomScan *plan)
{
	Bitmapset *wanted = NULL;
	int i = -1;

	pull_varattnos((Node *) plan->scan.plan.targetlist, INDEX_VAR, &wanted);
	pull_varattnos((Node *) plan->scan.plan.qual, INDEX_VAR, &wanted);
	pull_varattnos(list_nth(plan->custom_exprs, RB_JOIN_QUAL), INDEX_VAR, &wanted);
	while ((i = bms_next_member(wanted, i)) >= 0)
	{
		const int column = i + FirstLowInvalidHeapAttributeNumber;
		input *in;

		in = &j->in[column > j->in[1].first];
		in->wanted = bms_add_member(in->wanted, column - 1 - in->first);
	}
	bms_free(wanted);
}

static void
begin_join(CustomScanState *node, EState *estate, int flags)
{
	rb_geometry_join *j = (rb_geometry_join *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	List *facts = list_nth(plan->custom_private, RB_JOIN_FACTS);
	int first = 0;

	j->type = (JoinType) linitial_int(facts);
	j->asked = (rb_asked) lsecond_int(facts);
	j->clause = list_nth(plan->custom_exprs, RB_JOIN_CLAUSE);
	for (int i = 0; i < 2; i++)
	{
		input *in = &j->in[i];
		Node *geometry = list_nth(plan->custom_exprs, RB_JOIN_OUTER_GEOMETRY + i);

		in->plan = ExecInitNode(list_nth(plan->custom_plans, i), estate, flags & ~EXEC_FLAG_REWIND);
		node->custom_ps = lappend(node->custom_ps, in->plan);
		in->geometry = ExecInitExpr((Expr *) geometry, &node->ss.ps);
		in->first = first;
		in->columns = list_nth_int(facts, 3 + i);
		first += in->columns;
		in->side.decoder.function = names[j->asked];
		in->side.decoder.where =
			(i == 0) == (lthird_int(facts) == 0) ? "the first geometry" : "the second geometry";
		in->side.decoder.type = exprType(geometry);
		in->at = -1;
	}
	find_wanted(j, plan);
	j->distance =
		ExecInitExpr((Expr *) list_nth(plan->custom_exprs, RB_JOIN_DISTANCE), &node->ss.ps);
	j->quals = ExecInitQual(list_nth(plan->custom_exprs, RB_JOIN_QUAL), &node->ss.ps);
	j->context = AllocSetContextCreate(estate->es_query_cxt, RB_JOIN_NAME, ALLOCSET_DEFAULT_SIZES);
	j->phase = TO_BE_READ;
}

/* forgets what was read */
static void
drop_all(rb_geometry_join *j)
{
	close_all(j);
	for (int i = 0; i < 2; i++)
	{
		input *in = &j->in[i];

		if (in->rows != NULL)
			rb_spool_close(in->rows);
		in->rows = NULL;
		in->n = 0;
		in->at = -1;
	}
	MemoryContextReset(j->context);
	j->matched = NULL;
	j->phase = TO_BE_READ;
}

static void
end_join(CustomScanState *node)
{
	rb_geometry_join *j = (rb_geometry_join *) node;

	drop_all(j);
	for (int i = 0; i < 2; i++)
	{
		if (j->in[i].stored != NULL)
		{
			ExecDropSingleTupleTableSlot(j->in[i].stored);
			ExecDropSingleTupleTableSlot(j->in[i].reduced);
		}
		ExecEndNode(j->in[i].plan);
	}
}

static void
rescan_join(CustomScanState *node)
{
	rb_geometry_join *j = (rb_geometry_join *) node;
	bool changed = node->ss.ps.chgParam != NULL;

	for (int i = 0; i < 2; i++)
	{
		if (node->ss.ps.chgParam != NULL)
			UpdateChangedParamSet(j->in[i].plan, node->ss.ps.chgParam);
		changed |= j->in[i].plan->chgParam != NULL;
	}
	if (changed)
	{
		drop_all(j);
		for (int i = 0; i < 2; i++)
			ExecReScan(j->in[i].plan);
		return;
	}
	rb_stream_close(j->stream);
	j->stream = NULL;
	if (j->phase != TO_BE_READ)
		j->phase = TO_BE_JOINED;
}

/* ---- inputs ---- */

/* its columns into the scan tuple; NULL: all are null */
static void
fill(rb_geometry_join *j, input *in, TupleTableSlot *from)
{
	TupleTableSlot *scan = j->css.ss.ss_ScanTupleSlot;

	if (from == NULL)
		memset(scan->tts_isnull + in->first, true, (Size) in->columns);
	else
	{
		slot_getallattrs(from);
		memcpy(scan->tts_values + in->first, from->tts_values, (Size) in->columns * sizeof(Datum));
		memcpy(scan->tts_isnull + in->first, from->tts_isnull, (Size) in->columns);
	}
}

/* what of a row is wanted above goes to the store */
static void
store(input *in, TupleTableSlot *slot)
{
	MinimalTuple tuple;
	int i = -1;

	if (in->rows == NULL)
		return;
	slot_getallattrs(slot);
	ExecClearTuple(in->reduced);
	memset(in->reduced->tts_isnull, true, (Size) in->columns);
	while ((i = bms_next_member(in->wanted, i)) >= 0)
	{
		in->reduced->tts_values[i] = slot->tts_values[i];
		in->reduced->tts_isnull[i] = slot->tts_isnull[i];
	}
	ExecStoreVirtualTuple(in->reduced);
	tuple = ExecCopySlotMinimalTuple(in->reduced);
	rb_spool_put(in->rows, tuple, tuple->t_len);
	pfree(tuple);
}

static void
read_input(rb_geometry_join *j, input *in)
{
	ExprContext *econtext = j->css.ss.ps.ps_ExprContext;
	TupleTableSlot *scan = j->css.ss.ss_ScanTupleSlot;
	TupleDesc desc = ExecGetResultType(in->plan);
	EState *estate = j->css.ss.ps.state;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);

	if (!bms_is_empty(in->wanted) && in->stored == NULL)
	{
		in->stored = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
		in->reduced = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	}
	MemoryContextSwitchTo(j->context);
	if (!bms_is_empty(in->wanted))
		in->rows = rb_spool_open((Size) work_mem * 1024 / 2);
	MemoryContextSwitchTo(old);
	for (;;)
	{
		TupleTableSlot *slot;
		Datum geometry;
		bool null;

		CHECK_FOR_INTERRUPTS();
		slot = ExecProcNode(in->plan);
		if (TupIsNull(slot))
			break;
		ResetExprContext(econtext);
		ExecClearTuple(scan);
		fill(j, in, slot);
		ExecStoreVirtualTuple(scan);
		econtext->ecxt_scantuple = scan;
		geometry = ExecEvalExprSwitchContext(in->geometry, econtext, &null);
		if (!null)
		{
			old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
			rb_join_side_add(&in->side, PG_DETOAST_DATUM_PACKED(geometry), in->n);
			MemoryContextSwitchTo(old);
		}
		store(in, slot);
		in->n++;
	}
	ExecClearTuple(scan);
}

/* NULL: there are no pairs */
static void
find_distance(rb_geometry_join *j)
{
	ExprContext *econtext = j->css.ss.ps.ps_ExprContext;
	bool null = false;

	j->reach = 0;
	if (j->asked == RB_ASKED_DWITHIN)
	{
		ResetExprContext(econtext);
		j->reach = DatumGetFloat8(ExecEvalExprSwitchContext(j->distance, econtext, &null));
	}
	j->no_pairs = null;
}

/*
 * Raises what would be raised for a pair, if there is any: a geometry is not compared with nothing, nor is anything with
 * no distance.
 */
static void
check_inputs(rb_geometry_join *j)
{
	rb_join_side *outer = &j->in[0].side, *inner = &j->in[1].side;

	if (outer->n[0] + outer->n[1] == 0 || inner->n[0] + inner->n[1] == 0)
		j->no_pairs = true;
	if (j->no_pairs)
		return;
	if (isnan(j->reach) || j->reach < 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("redblue_dwithin: distance must be 0 or more"),
						errdetail("It is %g.", j->reach)));
	rb_join_side_check(outer, inner);
	rb_join_side_check(inner, outer);
}

static void
read_inputs(rb_geometry_join *j)
{
	rb_join_side *outer = &j->in[0].side, *inner = &j->in[1].side;
	MemoryContext old = MemoryContextSwitchTo(j->context);

	find_distance(j);
	j->at_end.func = close_all;
	j->at_end.arg = j;
	MemoryContextRegisterResetCallback(j->context, &j->at_end);
	rb_memory_set_idle((uint64) rb_setting_memory_limit * 1024);
	j->memory = rb_memory_open(names[j->asked], (uint64) rb_setting_memory_limit * 1024);
	rb_open_begin(&j->open, close_all, j);
	for (int i = 0; i < 2; i++)
	{
		rb_join_side *s = &j->in[i].side;

		s->decoder.context = j->context;
		s->decoder.as_ewkb_known = false;
		s->srid_known = s->mixed = s->flatten = false;
		memset(s->n, 0, sizeof s->n);
		memset(s->faulty, 0, sizeof s->faulty);
		s->late = s->late_row = NULL;
		for (int k = 0; k < RB_LIES; k++)
		{
			rb_builder_init(&s->builder[k], j->memory, RB_TRIANGLE3);
			s->set[k] = NULL;
		}
	}
	if (!has_z_for_sure(
			list_nth(((CustomScan *) j->css.ss.ps.plan)->custom_exprs, RB_JOIN_INNER_GEOMETRY)))
	{
		outer->late = rb_spool_open((Size) work_mem * 1024 / 2);
		outer->late_row = rb_spool_open((Size) work_mem * 1024 / 8);
	}
	MemoryContextSwitchTo(old);
	read_input(j, &j->in[0]);
	inner->flatten = outer->builder[RB_IN_PLANE].nrows > 0;
	inner->srid_known = outer->srid_known;
	inner->srid = outer->srid;
	read_input(j, &j->in[1]);
	if (inner->builder[RB_IN_PLANE].nrows > 0)
		rb_join_side_flatten(outer);
	check_inputs(j);
	for (int i = 0; i < 2; i++)
		rb_join_side_finish(&j->in[i].side);
}

/* ---- pairs ---- */

/* the next two sets that both have rows; false: there are no more */
static bool
open_turn(rb_geometry_join *j)
{
	for (; j->turn < (int) lengthof(turns); j->turn++)
	{
		const rb_set *red = j->in[0].side.set[turns[j->turn][0]];
		const rb_set *blue = j->in[1].side.set[turns[j->turn][1]];
		rb_status status;

		if (red == NULL || blue == NULL)
			continue;
		j->turn++;
		memset(&j->job, 0, sizeof j->job);
		j->job.red = red;
		j->job.blue = blue;
		j->job.predicate = j->asked == RB_ASKED_CROSSES   ? RB_CONTACT
						   : j->asked == RB_ASKED_DWITHIN ? RB_WITHIN
														  : RB_MEET;
		/* what is farther apart than any double can say is never near */
		j->job.distance = Min(j->reach, DBL_MAX);
		rb_context_init(&j->ctx, j->memory);
		j->ctx.threads = rb_threads((uint64) red->nparts + blue->nparts);
		j->ctx.grid_resolution = (uint32_t) rb_setting_grid_resolution;
		status = rb_stream_open(&j->ctx, &rb_backend_cpu, &j->job, &j->stream);
		if (status != RB_OK)
			rb_raise(names[j->asked], status, &j->ctx.error);
		j->block.n = j->next = 0;
		return true;
	}
	return false;
}

/* the next pair of rows of the inputs; false: there are no more */
static bool
next_pair(rb_geometry_join *j, uint64 *outer, uint64 *inner)
{
	for (;;)
	{
		rb_status status;

		while (j->next < j->block.n)
		{
			const size_t i = j->next++;

			if (j->asked == RB_ASKED_CROSSES && !RB_TOLD_CROSSES(j->block.told[i]))
				continue;
			*outer = (uint64) j->block.red[i];
			*inner = (uint64) j->block.blue[i];
			return true;
		}
		CHECK_FOR_INTERRUPTS();
		if (j->stream == NULL && !open_turn(j))
			return false;
		status = rb_stream_next(j->stream, WAIT, &j->block);
		j->next = 0;
		if (status == RB_END)
		{
			rb_stream_close(j->stream);
			j->stream = NULL;
			j->block.n = 0;
		}
		else if (status != RB_OK)
			rb_raise(names[j->asked], status, &j->ctx.error);
	}
}

static inline bool
is_matched(const rb_geometry_join *j, uint64 row)
{
	return (j->matched[row / 64] >> row % 64 & 1) != 0;
}

/* the columns of that row into the scan tuple */
static void
take(rb_geometry_join *j, input *in, uint64 row)
{
	if (in->rows == NULL || in->at == (int64) row)
		return;
	ExecStoreMinimalTuple(rb_spool_get(in->rows, row), in->stored, false);
	fill(j, in, in->stored);
	in->at = (int64) row;
}

static void
forget(rb_geometry_join *j, input *in)
{
	fill(j, in, NULL);
	in->at = -1;
}

/* for the next row: whoever was given the slot may have made a copy of what it holds in it */
static void
reuse(rb_geometry_join *j)
{
	TupleTableSlot *scan = j->css.ss.ss_ScanTupleSlot;

	ResetExprContext(j->css.ss.ps.ps_ExprContext);
	if (!TTS_SHOULDFREE(scan))
		return;
	ExecClearTuple(scan);
	for (int i = 0; i < 2; i++)
		forget(j, &j->in[i]);
	ExecStoreVirtualTuple(scan);
}

/* a row of the scan is in its slot: projected, if what is asked of it above holds; else NULL */
static TupleTableSlot *
hand_out(rb_geometry_join *j)
{
	ExprContext *econtext = j->css.ss.ps.ps_ExprContext;

	if (!ExecQual(j->css.ss.ps.qual, econtext))
	{
		InstrCountFiltered2(j, 1);
		return NULL;
	}
	return j->css.ss.ps.ps_ProjInfo != NULL ? ExecProject(j->css.ss.ps.ps_ProjInfo)
											: j->css.ss.ss_ScanTupleSlot;
}

/* two rows that are a pair are in the slot: is it one, with all clauses of the join, that is handed out? */
static bool
is_wanted(rb_geometry_join *j, uint64 outer)
{
	if (!ExecQual(j->quals, j->css.ss.ps.ps_ExprContext))
	{
		InstrCountFiltered1(j, 1);
		return false;
	}
	if (j->matched != NULL)
		j->matched[outer / 64] |= UINT64CONST(1) << outer % 64;
	return j->type != JOIN_ANTI;
}

static TupleTableSlot *
next_joined(rb_geometry_join *j)
{
	TupleTableSlot *result = NULL;
	uint64 outer, inner;

	while (result == NULL && next_pair(j, &outer, &inner))
	{
		if ((j->type == JOIN_SEMI || j->type == JOIN_ANTI) && is_matched(j, outer))
			continue;
		reuse(j);
		take(j, &j->in[0], outer);
		take(j, &j->in[1], inner);
		if (is_wanted(j, outer))
			result = hand_out(j);
	}
	return result;
}

/* outer rows without a pair */
static TupleTableSlot *
next_alone(rb_geometry_join *j)
{
	TupleTableSlot *result = NULL;

	while (result == NULL && j->rest < j->in[0].n)
	{
		const uint64 row = j->rest++;

		CHECK_FOR_INTERRUPTS();
		if (is_matched(j, row))
			continue;
		reuse(j);
		take(j, &j->in[0], row);
		result = hand_out(j);
	}
	return result;
}

static void
start_pairs(rb_geometry_join *j)
{
	TupleTableSlot *scan = j->css.ss.ss_ScanTupleSlot;
	const Size words = j->in[0].n / 64 + 1;

	if (j->type != JOIN_INNER && j->matched == NULL)
		j->matched = MemoryContextAllocHuge(j->context, words * sizeof *j->matched);
	if (j->matched != NULL)
		memset(j->matched, 0, words * sizeof *j->matched);
	j->turn = j->no_pairs ? (int) lengthof(turns) : 0;
	j->block.n = j->next = 0;
	j->rest = 0;
	ExecClearTuple(scan);
	for (int i = 0; i < 2; i++)
		forget(j, &j->in[i]);
	ExecStoreVirtualTuple(scan);
	j->css.ss.ps.ps_ExprContext->ecxt_scantuple = scan;
}

static TupleTableSlot *
exec_join(CustomScanState *node)
{
	rb_geometry_join *j = (rb_geometry_join *) node;
	TupleTableSlot *result = NULL;

	if (j->phase == TO_BE_READ)
	{
		read_inputs(j);
		j->phase = TO_BE_JOINED;
	}
	if (j->phase == TO_BE_JOINED)
	{
		start_pairs(j);
		j->phase = PAIRS;
	}
	if (j->phase == PAIRS)
	{
		result = next_joined(j);
		if (result != NULL)
			return result;
		j->phase = j->type == JOIN_LEFT || j->type == JOIN_ANTI ? REST : DONE;
		forget(j, &j->in[1]);
	}
	if (j->phase == REST)
	{
		result = next_alone(j);
		if (result != NULL)
			return result;
		j->phase = DONE;
	}
	return NULL;
}

/* ---- EXPLAIN ---- */

static void
explain_join(CustomScanState *node, List *ancestors, ExplainState *es)
{
	static const char *const types[] = {"Inner", "Left", "Full", "Right", "Semi", "Anti"};
	rb_geometry_join *j = (rb_geometry_join *) node;
	List *deparse = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors);
	List *quals = list_nth(((CustomScan *) node->ss.ps.plan)->custom_exprs, RB_JOIN_QUAL);

	ExplainPropertyText("Join Type", types[j->type], es);
	ExplainPropertyText("Join Cond", deparse_expression(j->clause, deparse, true, false), es);
	if (quals != NIL)
		ExplainPropertyText(
			"Join Filter",
			deparse_expression((Node *) make_ands_explicit(quals), deparse, true, false), es);
}

static const CustomExecMethods exec_methods = {.CustomName = RB_JOIN_NAME,
											   .BeginCustomScan = begin_join,
											   .ExecCustomScan = exec_join,
											   .EndCustomScan = end_join,
											   .ReScanCustomScan = rescan_join,
											   .ExplainCustomScan = explain_join};

static Node *
create_state(CustomScan *plan)
{
	rb_geometry_join *j = palloc0(sizeof *j);

	NodeSetTag(j, T_CustomScanState);
	j->css.methods = &exec_methods;
	return (Node *) j;
}

const CustomScanMethods rb_join_methods = {.CustomName = RB_JOIN_NAME,
										   .CreateCustomScanState = create_state};
