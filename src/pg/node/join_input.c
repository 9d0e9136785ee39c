/*
 * join_input.c
 *	  Reads the inputs of a join to their ends: adds geometries to sets and stores the columns that
 *	  are needed again.
 *
 * Only the columns that the geometry and the nodes above need are accessed.
 */
#include "pg/node/node.h"

#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/memutils.h"

/*
 * Returns true if the type modifier of an input's geometry expression guarantees Z. PostGIS's
 * modifier has a bit for it.
 */
static bool
has_input_column_z(const Node *geometry)
{
	const int32 modifier = exprTypmod(geometry);

	return modifier >= 0 && (modifier & 2) != 0;
}

/* Returns true if the stages are timed (EXPLAIN ANALYZE). */
static bool
are_join_stages_timed(const rb_geometry_join *j)
{
	return j->css.ss.ps.instrument != NULL && rb_node_is_timed(j->css.ss.ps.instrument);
}

/* ---- rows ---- */

/* Returns the geometry of a row of the input. It is valid until the next row is read. */
static Datum
geometry_of_input_row(rb_geometry_join *j, rb_join_input *in, TupleTableSlot *slot, bool *null)
{
	ExprContext *econtext = j->css.ss.ps.ps_ExprContext;
	TupleTableSlot *scan = j->css.ss.ss_ScanTupleSlot;

	if (in->column > 0)
		return slot_getattr(slot, in->column, null);
	slot_getallattrs(slot);
	ExecClearTuple(scan);
	memcpy(scan->tts_values + in->first, slot->tts_values, (Size) in->columns * sizeof(Datum));
	memcpy(scan->tts_isnull + in->first, slot->tts_isnull, (Size) in->columns);
	ExecStoreVirtualTuple(scan);
	econtext->ecxt_scantuple = scan;
	return ExecEvalExprSwitchContext(in->geometry, econtext, null);
}

/*
 * Returns the slot of a table scan, which has the row's location even if the input is projected, or
 * NULL for another input.
 */
static TupleTableSlot *
slot_of_scanned_table(const PlanState *plan)
{
	switch (nodeTag(plan))
	{
		case T_SeqScanState:
		case T_SampleScanState:
		case T_IndexScanState:
		case T_BitmapHeapScanState:
		case T_TidScanState:
		case T_TidRangeScanState:
			return ((const ScanState *) plan)->ss_ScanTupleSlot;
		default:
			return NULL;
	}
}

/*
 * Adds a geometry. `table` is the slot that may have the row's location. Returns the time taken in
 * ms if timed.
 */
static double
add_geometry_to_side(rb_join_input *in, Datum geometry, const TupleTableSlot *table, bool timed)
{
	struct varlena *bytes = PG_DETOAST_DATUM_PACKED(geometry);
	rb_join_place place = {.row = in->n, .tid = table->tts_tid, .relid = table->tts_tableOid};
	const double start = timed ? rb_now_ms() : 0;

	rb_join_decode_write(in->decoder, bytes, &place);
	in->bytes += VARSIZE_ANY_EXHDR(bytes);
	return timed ? rb_now_ms() - start : 0;
}

/* Reads one input to its end and adds the geometries to its side. */
static void
read_input_to_end(rb_geometry_join *j, rb_join_input *in)
{
	ExprContext *econtext = j->css.ss.ps.ps_ExprContext;
	TupleTableSlot *table = slot_of_scanned_table(in->plan);
	const bool timed = are_join_stages_timed(j);
	MemoryContext old = MemoryContextSwitchTo(j->context);
	const double start = timed ? rb_now_ms() : 0;
	double here = 0; /* Time in which this process decoded or waited for decoding */

	if (!bms_is_empty(in->wanted))
		in->kept = rb_join_rows_open(ExecGetResultType(in->plan), in->wanted, j->memory,
									 j->function, (Size) work_mem * 1024 / 2);
	in->decoder = rb_join_decode_begin(&in->side, j->memory, rb_threads(UINT64_MAX), timed);
	MemoryContextSwitchTo(old);
	in->bytes = 0;
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
		geometry = geometry_of_input_row(j, in, slot, &null);
		if (!null)
		{
			old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
			/* If the row was passed through unchanged, its own slot has its location, too. */
			here += add_geometry_to_side(in, geometry, table != NULL ? table : slot, timed);
			MemoryContextSwitchTo(old);
		}
		if (in->kept != NULL)
			rb_join_rows_append(in->kept, slot);
		in->n++;
	}
	in->read_ms = timed ? rb_now_ms() - start - here : 0;
	ResetExprContext(econtext);
	old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	rb_join_decode_flush(in->decoder);
	MemoryContextSwitchTo(old);
	rb_join_decode_end(in->decoder);
	in->decode_ms = rb_join_decode_ms(in->decoder) + here;
	ExecClearTuple(j->css.ss.ss_ScanTupleSlot);
}

/* ---- facts known when both inputs are read ---- */

/* Evaluates the distance of the join; if it is null, there are no pairs. */
static void
evaluate_distance_of_join(rb_geometry_join *j)
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
 * Evaluates the distance and raises the errors that a pair would raise, if there can be any pair. A
 * geometry is not checked if there is nothing to compare it with or if the distance is null. The
 * distance is not evaluated if an input is empty, because its evaluation may raise an error.
 */
void
rb_join_check_distance(rb_geometry_join *j)
{
	rb_join_side *outer = &j->in[0].side, *inner = &j->in[1].side;

	j->no_pairs = outer->n[0] + outer->n[1] == 0 || inner->n[0] + inner->n[1] == 0;
	if (!j->no_pairs)
		evaluate_distance_of_join(j);
	if (j->no_pairs)
		return;
	rb_check_distance(j->reach);
	rb_join_side_check(outer, inner);
	rb_join_side_check(inner, outer);
}

/* Initializes a side before its input is read. */
static void
begin_side_of_input(rb_geometry_join *j, rb_join_side *s)
{
	s->decoder.context = j->context;
	s->decoder.as_ewkb_known = false;
	s->srid_known = s->mixed = s->flatten = s->may_flatten = false;
	memset(s->n, 0, sizeof s->n);
	memset(s->faulty, 0, sizeof s->faulty);
	s->late = s->late_place = NULL;
	s->late_most = (Size) work_mem * 1024 / 2;
	for (int k = 0; k < RB_LIES; k++)
	{
		rb_builder_init(&s->builder[k], j->memory,
						s->role != RB_ROLE_PLACED || k == RB_AT_TRIANGLES ? RB_TRIANGLE3
						: k == RB_AT_POINTS                               ? RB_POINT3
																		  : RB_SEGMENT3);
		s->builder[k].many_points = s->builder[k].kind == RB_POINT3;
		s->set[k] = NULL;
	}
}

void
rb_join_read(rb_geometry_join *j)
{
	const List *exprs = ((CustomScan *) j->css.ss.ps.plan)->custom_exprs;
	rb_join_side *outer = &j->in[0].side, *inner = &j->in[1].side;
	const bool compared = outer->role == RB_ROLE_COMPARED;

	begin_side_of_input(j, outer);
	begin_side_of_input(j, inner);
	outer->may_flatten = compared && !has_input_column_z(list_nth(exprs, RB_JOIN_INNER_GEOMETRY));
	read_input_to_end(j, &j->in[0]);
	inner->flatten = compared && outer->builder[RB_IN_PLANE].nrows > 0;
	inner->srid_known = outer->srid_known;
	inner->srid = outer->srid;
	read_input_to_end(j, &j->in[1]);
	if (compared && inner->builder[RB_IN_PLANE].nrows > 0)
		rb_join_side_flatten(outer);
	/* Check before the sets are built, because they may not be needed. */
	rb_join_check_distance(j);
	for (int i = 0; i < 2; i++)
		rb_join_side_finish(&j->in[i].side);
}

/* ---- the scan slot ---- */

void
rb_join_load_row(rb_geometry_join *j, rb_join_input *in, uint64 row)
{
	TupleTableSlot *scan = j->css.ss.ss_ScanTupleSlot;

	if (in->kept == NULL || in->at == (int64) row)
		return;
	rb_join_rows_read(in->kept, row, scan->tts_values + in->first, scan->tts_isnull + in->first);
	in->at = (int64) row;
}

void
rb_join_clear_columns(rb_geometry_join *j, rb_join_input *in)
{
	memset(j->css.ss.ss_ScanTupleSlot->tts_isnull + in->first, true, (Size) in->columns);
	in->at = -1;
}

void
rb_join_reset_slot(rb_geometry_join *j)
{
	TupleTableSlot *scan = j->css.ss.ss_ScanTupleSlot;

	ResetExprContext(j->css.ss.ps.ps_ExprContext);
	if (!TTS_SHOULDFREE(scan))
		return;
	ExecClearTuple(scan);
	for (int i = 0; i < 2; i++)
		rb_join_clear_columns(j, &j->in[i]);
	ExecStoreVirtualTuple(scan);
}
