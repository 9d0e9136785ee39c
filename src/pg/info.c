/*
 * info.c
 *	  What this is and what it did: redblue_version, redblue_info, redblue_last_run.
 *
 * The statistics are those of the session's last join that came to its end; a
 * join that failed or was cancelled leaves them as they were.
 */
#include "rb_pg.h"

#include "access/htup_details.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include <gmp.h>
#include <math.h>

static bool have_last;
static rb_stats last;
static char last_note[200];
static uint64 last_skipped;
static uint64 last_parts;

void
rb_last_run_set(const rb_run *run)
{
	last = run->ctx.stats;
	last.stage[RB_STAGE_EMIT].ms += run->emit_ms;
	strlcpy(last_note, run->note, sizeof last_note);
	last_skipped = run->builder[0].skipped + run->builder[1].skipped;
	last_parts = (uint64) run->objects[0].nparts + run->objects[1].nparts;
	have_last = true;
}

static text *
stage_detail(rb_stage stage)
{
#define N(x) ((unsigned long long) (x))
	switch (stage)
	{
		case RB_STAGE_READ:
			return cstring_to_text(
				psprintf("%llu parts, %llu rows skipped", N(last_parts), N(last_skipped)));
		case RB_STAGE_GRID:
			return cstring_to_text(psprintf("%u x %u x %u, %llu cells in all", last.resolution[0],
											last.resolution[1], last.resolution[2], N(last.cells)));
		case RB_STAGE_CANDIDATES:
			return cstring_to_text(psprintf("%llu box tests", N(last.box_tests)));
		case RB_STAGE_EXACT:
			return cstring_to_text(psprintf("%llu integer, %llu expansion, %llu GMP signs",
											N(last.exact_integer), N(last.exact_expansion),
											N(last.exact_gmp)));
		case RB_STAGE_EMIT:
			return cstring_to_text(psprintf("%llu pairs of parts", N(last.hits)));
		default:
			return cstring_to_text("");
	}
#undef N
}

/* the device, or why it is the processor */
static text *
device_text(void)
{
	if (last.device[0] != '\0')
		return cstring_to_text(last.device);
	if (last_note[0] == '\0')
		return cstring_to_text(psprintf("%d threads", last.threads));
	return cstring_to_text(psprintf("%d threads; no GPU: %s", last.threads, last_note));
}

PG_FUNCTION_INFO_V1(redblue_last_run);

Datum
redblue_last_run(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; have_last && i < RB_STAGES; i++)
	{
		Datum values[6];
		bool nulls[6] = {false};

		values[0] = CStringGetTextDatum(rb_stage_name((rb_stage) i));
		values[1] = Int64GetDatum((int64) last.stage[i].count);
		values[2] = Float8GetDatum(rint(last.stage[i].ms * 1000) / 1000);
		values[3] = PointerGetDatum(stage_detail((rb_stage) i));
		values[4] = CStringGetTextDatum(last.backend);
		values[5] = PointerGetDatum(device_text());
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

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

PG_FUNCTION_INFO_V1(redblue_info);

/* one row that tells what a bug report needs */
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
	cuda = rb_backend_cuda(device, sizeof device) != NULL;
	values[0] = CStringGetTextDatum(RB_VERSION);
	values[1] = CStringGetTextDatum("PostgreSQL " PG_VERSION ", " RB_COMPILER);
	values[2] = CStringGetTextDatum(gmp_version);
	values[3] = CStringGetTextDatum(psprintf("%d", _OPENMP));
	values[4] = Int32GetDatum(rb_threads(PG_UINT64_MAX));
	values[5] = BoolGetDatum(cuda);
	values[6] = CStringGetTextDatum(device);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}
