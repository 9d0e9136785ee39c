/*
 * index_support.c
 *	  Implements planner support for functions of two geometries: index conditions, selectivity and
 *	  cost.
 *
 * Two geometries that meet have overlapping boxes, so
 *
 *	redblue_intersects(a, b)		implies	a && box(b)
 *	redblue_dwithin(a, b, d)		implies	a && box(b) expanded by d on all sides
 *
 * and an index on `a` can serve the operator: && in the plane, &&& in all dimensions. The operator
 * class of the index determines which one. M is ignored by the functions but not by &&&, so the box
 * (redblue_reach) has no M.
 *
 * The number of matching pairs is estimated from samples of both tables if these may be read, and
 * otherwise from the statistics of their boxes.
 */
#include "pg/plan/plan.h"
#include "pg/scalar/scalar.h"

#include "access/stratnum.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/plancat.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include <float.h>
#include <math.h>

/* ---- redblue_reach: the box as a geometry ---- */

/*
 * Returns a finite double that is at least x + by if `by` is positive, and at most x + by if it is
 * negative, for a box that an index condition compares.
 */
static double
shift_reach_outward(double x, double by)
{
	const double sum = x + by;
	double there = by < 0 ? nextafter(sum, -INFINITY) : nextafter(sum, INFINITY);

	if (by == 0)
		return x;
	return there > DBL_MAX ? DBL_MAX : there < -DBL_MAX ? -DBL_MAX : there;
}

PG_FUNCTION_INFO_V1(redblue_geometry_reach);

/*
 * Implements redblue_reach, by which an index condition grows a geometry's box by a distance.
 * Returns the box as a line from its low corner to its high one.
 */
Datum
redblue_geometry_reach(PG_FUNCTION_ARGS)
{
	const double distance = PG_GETARG_FLOAT8(1);
	bool has_z;
	int32 srid;
	double low[3], high[3];
	rb_writer w;

	/*
	 * Raise the error of the function itself here, too, because the function is not called if the
	 * index finds no row.
	 */
	rb_check_distance(distance);
	if (!rb_pairwise_box(fcinfo, "redblue_reach", &has_z, &srid, low, high))
		PG_RETURN_NULL();
	for (int k = 0; k < 2 + has_z; k++)
	{
		low[k] = shift_reach_outward(low[k], -distance);
		high[k] = shift_reach_outward(high[k], distance);
	}
	rb_write_begin(&w, "redblue_reach", srid, has_z);
	rb_write_node(&w, RB_TYPE_LINE, 2);
	rb_write_point(&w, low);
	rb_write_point(&w, high);
	PG_RETURN_DATUM(rb_write_end(&w));
}

/* ---- choice of the operator ---- */

/* Returns the operator of this name between two geometries, in the schema of their type. */
static Oid
operator_between_geometries(Oid type, const char *name)
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

/* Returns the operator that an index of this operator family supports. */
static Oid
operator_in_family(Oid type, Oid family)
{
	static const char *const names[] = {"&&&", "&&"};

	for (int i = 0; i < (int) lengthof(names); i++)
	{
		Oid op = operator_between_geometries(type, names[i]);

		if (OidIsValid(op) && op_in_opfamily(op, family))
			return op;
	}
	return InvalidOid;
}

/* Returns redblue_reach in the schema of the calling function. */
static Oid
find_reach_function(Oid function, Oid type)
{
	Oid schema = get_func_namespace(function);
	Oid arguments[2] = {type, FLOAT8OID};

	return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum("redblue_reach"),
						   PointerGetDatum(buildoidvector(arguments, 2)), ObjectIdGetDatum(schema));
}

/* ---- index conditions ---- */

/* Returns the index condition of a call, or NIL if it has none. */
static List *
make_index_condition(SupportRequestIndexCondition *request)
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
	op = operator_in_family(type, request->opfamily);
	reach = find_reach_function(request->funcid, type);
	if (!OidIsValid(op) || !OidIsValid(reach))
		return NIL;
	box = (Expr *) makeFuncExpr(reach, type, list_make2(other, distance), InvalidOid, InvalidOid,
								COERCE_EXPLICIT_CALL);
	box = (Expr *) make_opclause(op, BOOLOID, false, (Expr *) column, box, InvalidOid, InvalidOid);
	set_opfuncid((OpExpr *) box);
	request->lossy = true;
	return list_make1(box);
}

/* ---- selectivity ---- */

/* Minimum number of row pairs for which sampling is worth its time */
#define LEAST_PAIRS 100000
/* Number of estimates cached during planning, which requests the same one several times */
#define REMEMBERED 8

typedef struct expected
{
	TimestampTz statement;
	Oid relid[2];
	AttrNumber attno[2];
	double tuples[2];
	bool distant;
	double distance;
	bool known;
	double pairs;
} expected;

static expected remembered[REMEMBERED];
static int next_remembered;

/* Finds the column of a plain table that the statement itself reads. */
static bool
find_plain_column(PlannerInfo *root, Node *node, expected *e, int i, int *relid)
{
	const Var *var = (const Var *) strip_implicit_coercions(node);
	const RangeTblEntry *entry;

	if (!IsA(var, Var) || var->varlevelsup != 0 || var->varattno <= 0 ||
		IS_SPECIAL_VARNO(var->varno) || root->simple_rel_array[var->varno] == NULL)
		return false;
	entry = root->simple_rte_array[var->varno];
	*relid = (int) var->varno;
	e->relid[i] = entry->relid;
	e->attno[i] = var->varattno;
	e->tuples[i] = root->simple_rel_array[var->varno]->tuples;
	return entry->rtekind == RTE_RELATION && !entry->inh;
}

/*
 * Estimates the pairs of two geometry columns for the selectivity of a clause, from samples of
 * both tables, or returns a cached estimate.
 */
static bool
expect_pairs_for_selectivity(expected *e)
{
	rb_geometry_column column[2];

	for (int i = 0; i < REMEMBERED; i++)
	{
		const expected *r = &remembered[i];

		if (r->statement != e->statement || r->distant != e->distant ||
			r->distance != e->distance || memcmp(r->relid, e->relid, sizeof r->relid) != 0 ||
			memcmp(r->attno, e->attno, sizeof r->attno) != 0 || r->tuples[0] != e->tuples[0] ||
			r->tuples[1] != e->tuples[1])
			continue;
		e->pairs = r->pairs;
		return r->known;
	}
	for (int i = 0; i < 2; i++)
		column[i] = (rb_geometry_column){e->relid[i], get_attname(e->relid[i], e->attno[i], true)};
	e->known =
		column[0].name != NULL && column[1].name != NULL &&
		rb_expect_geometries(column, e->distant ? RB_WITHIN : RB_MEET, e->distance, &e->pairs);
	remembered[next_remembered] = *e;
	next_remembered = (next_remembered + 1) % REMEMBERED;
	return e->known;
}

/*
 * Estimates the fraction of all row pairs that match, or for a semijoin the fraction of outer rows
 * with a match.
 */
static bool
sampled_selectivity(SupportRequestSelectivity *request)
{
	const bool semi =
		request->is_join && (request->jointype == JOIN_SEMI || request->jointype == JOIN_ANTI);
	expected e = {.statement = GetCurrentStatementStartTimestamp()};
	int relid[2];

	for (int i = 0; i < 2; i++)
		if (!find_plain_column(request->root, list_nth(request->args, i), &e, i, &relid[i]))
			return false;
	if (relid[0] == relid[1] || e.tuples[0] * e.tuples[1] < LEAST_PAIRS)
		return false;
	if (list_length(request->args) > 2)
	{
		const Const *distance =
			(const Const *) estimate_expression_value(request->root, lthird(request->args));

		/* If the distance is unknown or invalid, estimate intersections. */
		if (IsA(distance, Const) && !distance->constisnull)
			e.distance = DatumGetFloat8(distance->constvalue);
		e.distant = e.distance > 0 && e.distance <= DBL_MAX;
		if (!e.distant)
			e.distance = 0;
	}
	if (!expect_pairs_for_selectivity(&e))
		return false;
	/* A sample without pairs does not prove that there are none. */
	e.pairs = Max(e.pairs, 1);
	request->selectivity = Min(e.pairs / e.tuples[0] / e.tuples[1], 1);
	if (semi && request->sjinfo != NULL)
	{
		const int outer = bms_is_member(relid[0], request->sjinfo->min_lefthand) ? 0 : 1;

		request->selectivity = 1 - exp(-e.pairs / e.tuples[outer]);
	}
	return true;
}

int
rb_find_entry(Oid function, const PGFunction *entries, int n)
{
	FmgrInfo info;

	fmgr_info(function, &info);
	for (int i = 0; i < n; i++)
		if (info.fn_addr == entries[i])
			return i;
	return -1;
}

/*
 * Returns true for redblue_inside. A geometry inside a solid need not meet its surface, but samples
 * count only such contacts.
 */
static bool
is_call_of_inside(Oid function)
{
	static const PGFunction inside = redblue_geometry_inside;

	return rb_find_entry(function, &inside, 1) == 0;
}

/* Estimates the selectivity, if necessary from that of overlapping boxes. */
static bool
estimate_selectivity_of_call(SupportRequestSelectivity *request)
{
	Oid type;
	Oid op;
	List *two;

	if (list_length(request->args) < 2)
		return false;
	if (!is_call_of_inside(request->funcid) && sampled_selectivity(request))
		return true;
	type = exprType(linitial(request->args));
	two = list_make2(linitial(request->args), lsecond(request->args));
	op = operator_between_geometries(type, "&&&");
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

/* ---- cost ---- */

#define OPERATORS_PER_CALL 150
#define OPERATORS_PER_BYTE 0.3
/* Minimum average width in bytes; less means TOAST pointers or missing statistics */
#define LEAST_BYTES 28

/* Returns the average size of a geometry in bytes, or 0 if unknown. */
static double
average_width_of_geometry(PlannerInfo *root, Node *geometry)
{
	List *columns = pull_var_clause(geometry, PVC_RECURSE_PLACEHOLDERS | PVC_RECURSE_AGGREGATES |
												  PVC_RECURSE_WINDOWFUNCS);
	double most = 0;
	ListCell *lc;

	foreach (lc, columns)
	{
		const Var *var = lfirst_node(Var, lc);
		const RangeTblEntry *entry;

		if (var->varlevelsup != 0 || var->varattno <= 0 || IS_SPECIAL_VARNO(var->varno))
			continue;
		entry = planner_rt_fetch(var->varno, root);
		if (entry->rtekind == RTE_RELATION && var->vartype == exprType(geometry))
			most = Max(most, get_attavgwidth(entry->relid, var->varattno));
	}
	if (IsA(geometry, Const) && !((Const *) geometry)->constisnull)
		most = (double) VARSIZE_ANY(DatumGetPointer(((Const *) geometry)->constvalue));
	return most;
}

/*
 * Estimates the cost of comparing small geometries. Returns false, so that the declared cost
 * applies, if their size is unknown or they are stored in TOAST.
 */
static bool
estimate_cost_of_function(SupportRequestCost *request)
{
	const FuncExpr *call = (const FuncExpr *) request->node;
	double bytes = 0;

	if (call == NULL || !IsA(call, FuncExpr) || request->root == NULL ||
		list_length(call->args) < 2)
		return false;
	for (int i = 0; i < 2; i++)
	{
		const double width = average_width_of_geometry(request->root, list_nth(call->args, i));

		if (width < LEAST_BYTES)
			return false;
		bytes += width;
	}
	request->startup = 0;
	request->per_tuple = cpu_operator_cost * (OPERATORS_PER_CALL + OPERATORS_PER_BYTE * bytes);
	return true;
}

PG_FUNCTION_INFO_V1(redblue_geometry_support);

Datum
redblue_geometry_support(PG_FUNCTION_ARGS)
{
	Node *request = (Node *) PG_GETARG_POINTER(0);

	if (IsA(request, SupportRequestIndexCondition))
		PG_RETURN_POINTER(make_index_condition((SupportRequestIndexCondition *) request));
	if (IsA(request, SupportRequestSelectivity) &&
		estimate_selectivity_of_call((SupportRequestSelectivity *) request))
		PG_RETURN_POINTER(request);
	if (IsA(request, SupportRequestCost) &&
		estimate_cost_of_function((SupportRequestCost *) request))
		PG_RETURN_POINTER(request);
	PG_RETURN_POINTER(NULL);
}
