/*
 * info.c
 *	  Implements redblue_version and redblue_info.
 */
#include "pg/call/call.h"

#include "access/htup_details.h"
#include "utils/builtins.h"

#include <gmp.h>

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

/* Returns one row with the facts that a bug report needs. */
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
	cuda = rb_backend_device(device, sizeof device);
	values[0] = CStringGetTextDatum(RB_VERSION);
	values[1] = CStringGetTextDatum("PostgreSQL " PG_VERSION ", " RB_COMPILER);
	values[2] = CStringGetTextDatum(gmp_version);
	values[3] = CStringGetTextDatum("not used"); /* See parallel.h */
	values[4] = Int32GetDatum(rb_threads(PG_UINT64_MAX));
	values[5] = BoolGetDatum(cuda);
	values[6] = CStringGetTextDatum(device);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}
