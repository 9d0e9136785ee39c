/*
 * pairs.c
 *	  A join as a function: tables or queries in, pairs of ids out, or their number.
 *
 *		redblue_triangle_pairs('ore', 'tunnel')
 *
 *		 ore                     tunnel                       red_id | blue_id
 *		 id | ax | ay ... | cz   id | geom              ->   --------+---------
 *		 ---+----+--------+----  ---+------------------           17 |     802
 *		 17 |  0 |  0 ... |  9   802| TIN Z (...)                 17 |     803
 */
#include "pg/base/rb_pg.h"

#include "utils/memutils.h"
#include "utils/tuplestore.h"

/* ---- rows ---- */

/* all pairs into the tuplestore; the executor wants a set whole or row by row */
static void
store_pairs(rb_run *run, ReturnSetInfo *rsinfo)
{
	bool no_nulls[2] = {false, false};
	rb_block block;

	while (rb_run_next(run, &block))
	{
		double start = rb_now_ms();

		for (size_t i = 0; i < block.n; i++)
		{
			Datum values[2];

			values[0] = Int64GetDatum(block.red[i]);
			values[1] = Int64GetDatum(block.blue[i]);
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, no_nulls);
		}
		run->emit_ms += rb_now_ms() - start;
	}
	rb_last_run_set(run);
}

/*
 * Whatever a call needs is in a context of its own, which goes when the call ends:
 * the contexts around it may live on for many calls.  An ERROR takes it along with them.
 */
static MemoryContext
enter_call(void)
{
	return MemoryContextSwitchTo(
		AllocSetContextCreate(CurrentMemoryContext, "redblue call", ALLOCSET_DEFAULT_SIZES));
}

static void
leave_call(MemoryContext caller)
{
	MemoryContextDelete(MemoryContextSwitchTo(caller));
}

Datum
rb_return_pairs(FunctionCallInfo fcinfo, const rb_join *join)
{
	rb_source source[2];
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext caller;
	rb_run *run;

	InitMaterializedSRF(fcinfo, 0);
	caller = enter_call();
	rb_join_sources(join, fcinfo->args, source);
	run = rb_run_open(join, source, CurrentMemoryContext);
	store_pairs(run, rsinfo);
	leave_call(caller);
	return (Datum) 0;
}

/* runs the join to its end; it makes no pairs of rows where each row has one part */
Datum
rb_return_count(FunctionCallInfo fcinfo, const rb_join *join)
{
	rb_source source[2];
	MemoryContext caller = enter_call();
	rb_block block;
	rb_run *run;
	int64 count;

	rb_join_sources(join, fcinfo->args, source);
	run = rb_run_open(join, source, CurrentMemoryContext);
	while (rb_run_next(run, &block))
		;
	rb_last_run_set(run);
	count = (int64) run->ctx.stats.stage[RB_STAGE_EMIT].count;
	leave_call(caller);
	return Int64GetDatum(count);
}
