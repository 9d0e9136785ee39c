/*
 * pair_index.c
 *	  What the planner asks of a function of two geometries: does an index help, and how many rows are left?
 *
 * Two geometries that meet have boxes that overlap, so
 *
 *		redblue_intersects(a, b)		needs	a && box(b)
 *		redblue_dwithin(a, b, d)		needs	a && box(b), larger by d on all sides
 *
 * and an index on a serves the operator: && in the plane, &&& in as many dimensions as there are.  Which one
 * it has follows from its operator class.  M does not matter to the function, but does to &&&; so
 * the box (redblue_reach) has none.
 */
#include "pg/pair/rb_pairwise.h"

#include "access/stratnum.h"
#include "catalog/namespace.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "optimizer/plancat.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"

#include <float.h>
#include <math.h>

/* ---- redblue_reach: the box as a geometry ---- */

/* a double that is not above x + by (below, if by is negative), within what a double can */
static double
moved(double x, double by)
{
	const double sum = x + by;
	double there = by < 0 ? nextafter(sum, -INFINITY) : nextafter(sum, INFINITY);

	if (by == 0)
		return x;
	return there > DBL_MAX ? DBL_MAX : there < -DBL_MAX ? -DBL_MAX : there;
}

PG_FUNCTION_INFO_V1(redblue_geometry_reach);

/* a line from the low corner to the high one */
Datum
redblue_geometry_reach(PG_FUNCTION_ARGS)
{
	const double distance = PG_GETARG_FLOAT8(1);
	bool has_z;
	int32 srid;
	double low[3], high[3];
	rb_writer w;

	/* the function itself says what is wrong with it */
	if (isnan(distance) || distance < 0 ||
		!rb_pairwise_box(fcinfo, "redblue_reach", &has_z, &srid, low, high))
		PG_RETURN_NULL();
	for (int k = 0; k < 2 + has_z; k++)
	{
		low[k] = moved(low[k], -distance);
		high[k] = moved(high[k], distance);
	}
	rb_write_begin(&w, "redblue_reach", srid, has_z);
	rb_write_node(&w, RB_TYPE_LINE, 2);
	rb_write_point(&w, low);
	rb_write_point(&w, high);
	PG_RETURN_DATUM(rb_write_end(&w));
}

/* ---- which operator ---- */

/* of that name, between two geometries, in the type's own schema */
static Oid
operator_of(Oid type, const char *name)
{
	HeapTuple tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	Oid schema, op;

	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	schema = ((Form_pg_type) GETSTRUCT(tuple))->typnamespace;
	ReleaseSysCache(tuple);
	op = GetSysCacheOid4(OPERNAMENSP, Anum_pg_operator_oid, CStringGetDatum(name),
						 ObjectIdGetDatum(type), ObjectIdGetDatum(type), ObjectIdGetDatum(schema));
	return op;
}

/* the one that an index of this family serves */
static Oid
operator_in(Oid type, Oid family)
{
	static const char *const names[] = {"&&&", "&&"};

	for (int i = 0; i < (int) lengthof(names); i++)
	{
		Oid op = operator_of(type, names[i]);

		if (OidIsValid(op) && op_in_opfamily(op, family))
			return op;
	}
	return InvalidOid;
}

/* redblue_reach, in the schema of the function that asks */
static Oid
reach_of(Oid function, Oid type)
{
	Oid schema = get_func_namespace(function);
	Oid arguments[2] = {type, FLOAT8OID};

	return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum("redblue_reach"),
						   PointerGetDatum(buildoidvector(arguments, 2)), ObjectIdGetDatum(schema));
}

/* ---- what is asked ---- */

static List *
index_condition(SupportRequestIndexCondition *request)
{
	FuncExpr *call = (FuncExpr *) request->node;
	Node *column, *other, *distance;
	Oid type, op, reach;
	Expr *box;

	if (!IsA(call, FuncExpr) || list_length(call->args) < 2 || request->indexarg > 1)
		return NIL;
	column = list_nth(call->args, request->indexarg);
	other = list_nth(call->args, 1 - request->indexarg);
	type = exprType(other);
	distance = list_length(call->args) > 2
				   ? lthird(call->args)
				   : (Node *) makeConst(FLOAT8OID, -1, InvalidOid, sizeof(float8),
										Float8GetDatum(0), false, FLOAT8PASSBYVAL);
	if (exprType(column) != type ||
		!is_pseudo_constant_for_index(request->root, other, request->index) ||
		!is_pseudo_constant_for_index(request->root, distance, request->index))
		return NIL;
	op = operator_in(type, request->opfamily);
	reach = reach_of(request->funcid, type);
	if (!OidIsValid(op) || !OidIsValid(reach))
		return NIL;
	box = (Expr *) makeFuncExpr(reach, type, list_make2(other, distance), InvalidOid, InvalidOid,
								COERCE_EXPLICIT_CALL);
	box = (Expr *) make_opclause(op, BOOLOID, false, (Expr *) column, box, InvalidOid, InvalidOid);
	set_opfuncid((OpExpr *) box);
	request->lossy = true;
	return list_make1(box);
}

/* that of boxes that overlap */
static bool
selectivity(SupportRequestSelectivity *request)
{
	Oid type;
	Oid op;
	List *two;

	if (list_length(request->args) < 2)
		return false;
	type = exprType(linitial(request->args));
	two = list_make2(linitial(request->args), lsecond(request->args));
	op = operator_of(type, "&&&");
	if (!OidIsValid(op))
		return false;
	if (request->is_join)
		request->selectivity = join_selectivity(request->root, op, two, request->inputcollid,
												request->jointype, request->sjinfo);
	else
		request->selectivity = restriction_selectivity(request->root, op, two, request->inputcollid,
													   request->varRelid);
	return true;
}

PG_FUNCTION_INFO_V1(redblue_geometry_support);

Datum
redblue_geometry_support(PG_FUNCTION_ARGS)
{
	Node *request = (Node *) PG_GETARG_POINTER(0);

	if (IsA(request, SupportRequestIndexCondition))
		PG_RETURN_POINTER(index_condition((SupportRequestIndexCondition *) request));
	if (IsA(request, SupportRequestSelectivity) &&
		selectivity((SupportRequestSelectivity *) request))
		PG_RETURN_POINTER(request);
	PG_RETURN_POINTER(NULL);
}
