/*
 * defer_constant_folding.c
 *	  Defers the counting of pairs from planning to execution.
 *
 * To estimate how many rows satisfy
 *
 *	n > redblue_triangle_pair_count('ore', 'tunnel')
 *
 * the planner calls the function, as it calls every STABLE function with constant arguments. That
 * would run the join, even for a plain EXPLAIN. VOLATILE functions are not called during planning,
 * but their result could neither be looked up in an index nor decide a whole WHERE clause at once.
 * However, the planner calls no function that returns a record, and does not treat a field of such
 * a result as a constant. The planned call therefore gets an extra argument, which is such a field.
 * The C function does not read it.
 */
#include "pg/plan/plan.h"

#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#define RB_RECORD_FUNCTION "redblue_at_run_time"

/* Returns the record function, which is in the same schema as the called function. */
static Oid
record_function(Oid function)
{
	Oid found = GetSysCacheOid3(
		PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(RB_RECORD_FUNCTION),
		PointerGetDatum(buildoidvector(NULL, 0)), ObjectIdGetDatum(get_func_namespace(function)));

	/*
	 * A role that may not execute the record function still gets its result: the call is then
	 * planned as usual.
	 */
	return OidIsValid(found) && get_func_rettype(found) == RECORDOID && rb_may_execute(found)
			   ? found
			   : InvalidOid;
}

/*
 * Returns true if the call already has the extra argument. It must be a field of this record
 * function, because a field of another record may become a constant.
 */
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
