/*
 * late.c
 *	  Pairs are counted when the query runs, not while it is planned.
 *
 * To estimate how many rows fulfil
 *
 *		n > redblue_triangle_pair_count('ore', 'tunnel')
 *
 * the planner calls the function, as it calls every STABLE function of constants, and
 * so would run the join, also for a mere EXPLAIN.  VOLATILE functions are not called,
 * but then the number could be neither looked up in an index nor decide a whole WHERE
 * at once.  But the planner calls no function that returns a record, and a field of what
 * such a function returns is no constant to it.  So the call gets one more argument in
 * the plan, such a field.  The C function does not read it.
 */
#include "pg/base/rb_pg.h"

#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#define RB_RECORD_FUNCTION "redblue_at_run_time"

/* it lies beside the function, in the schema of the extension */
static Oid
record_function(Oid function)
{
	Oid found = GetSysCacheOid3(
		PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(RB_RECORD_FUNCTION),
		PointerGetDatum(buildoidvector(NULL, 0)), ObjectIdGetDatum(get_func_namespace(function)));

	/* a role that may not execute it still gets its number: planned as any other call */
	return OidIsValid(found) && get_func_rettype(found) == RECORDOID && rb_may_execute(found)
			   ? found
			   : InvalidOid;
}

/* has it got the argument?  A field of another record may turn out to be a constant after all. */
static bool
is_late(const FuncExpr *call, Oid function)
{
	FieldSelect *last = call->args == NIL ? NULL : llast(call->args);

	return last != NULL && IsA(last, FieldSelect) && IsA(last->arg, FuncExpr) &&
		   ((FuncExpr *) last->arg)->funcid == function;
}

Node *
rb_not_while_planning(const FuncExpr *call)
{
	Oid function = record_function(call->funcid);
	FieldSelect *field;
	FuncExpr *later;

	if (!OidIsValid(function) || is_late(call, function))
		return NULL;
	field = makeNode(FieldSelect);
	field->arg = (Expr *) makeFuncExpr(function, RECORDOID, NIL, InvalidOid, InvalidOid,
									   COERCE_EXPLICIT_CALL);
	field->fieldnum = 1;
	field->resulttype = BOOLOID;
	field->resulttypmod = -1;
	later = copyObject(unconstify(FuncExpr *, call));
	later->args = lappend(later->args, field);
	return (Node *) later;
}
