/*
 * support.c
 *	  Implements the planner support function: number of rows, cost, and simplification of a call.
 *
 * For plain tables, samples give an estimate of the number of pairs (selectivity.c). For all other
 * sides (views, partitions, locked tables), only the size is known. In a mesh, a triangle meets
 * about twelve others with which it shares a vertex, which makes six unordered pairs per triangle.
 * Two meshes that cross meet along curves; two that fill the same space meet everywhere. The
 * estimate is then one pair per row of the larger side, and six per row of a self join.
 *
 * An aggregate that replaces GROUP BY or DISTINCT over the ids of one side returns a row for each
 * row of that side (or of a self join) that is in a pair. If p pairs are distributed over n rows at
 * random, n exp(-p / n) rows remain without one. Blocks hold many pairs each. Nearest neighbor
 * joins return k rows for each row, and solid checks return one row per solid.
 *
 * The cost is that of reading the tables, plus about five operators per row for the join itself.
 *
 * A pair count is simplified to a call that is not evaluated during planning.
 */
#include "pg/exec/exec.h"
#include "pg/func/func.h"
#include "pg/plan/plan.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/plancat.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include <math.h>

#define RB_OPERATORS_PER_ROW 5
/* Guess for a view, or for a table that is unknown before the query runs */
#define RB_UNKNOWN_ROWS 1000
#define RB_UNKNOWN_PAGES 10
#define RB_NEAREST_ROWS 5
/* Function of the extension that returns a record, which the planner does not evaluate */
#define RB_RECORD_FUNCTION "redblue_at_run_time"

/* ---- functions in the catalog ---- */

bool
rb_is_supported(Oid function)
{
	Oid support = get_func_support(function);
	FmgrInfo info;

	if (!OidIsValid(support))
		return false;
	fmgr_info(support, &info);
	return info.fn_addr == redblue_support;
}

/*
 * Returns the join that an SQL function stands for, identified by its entry point. A function with
 * its own SET clauses or with SECURITY DEFINER has a different entry point and is not identified.
 * Only functions with redblue's support function are looked up, so that no other library is loaded.
 */
const rb_join *
rb_join_of_function(Oid function)
{
	return rb_is_supported(function) ? rb_join_of_entry(function) : NULL;
}

/* ---- rows and cost ---- */

typedef struct sizes
{
	int tables;
	double rows;   /* Rows of all tables */
	double larger; /* Rows of the larger table */
	double first;  /* Rows of the first table */
	double pages;
} sizes;

/*
 * Estimates the size as the planner does: the current number of pages, with the earlier number of
 * rows per page.
 */
static void
size_of_relation(Relation rel, double *rows, double *pages)
{
	BlockNumber blocks;
	double tuples;
	double visible;

	switch (rel->rd_rel->relkind)
	{
		case RELKIND_RELATION:
		case RELKIND_MATVIEW:
			/* On a standby, an unlogged table has no data file. */
			if (!RelationIsPermanent(rel) && RecoveryInProgress())
				break;
			estimate_rel_size(rel, NULL, &blocks, &tuples, &visible);
			*rows += tuples;
			*pages += blocks;
			break;
		case RELKIND_FOREIGN_TABLE:
			*rows += rel->rd_rel->reltuples < 0 ? RB_UNKNOWN_ROWS : rel->rd_rel->reltuples;
			*pages += rel->rd_rel->relpages;
			break;
		case RELKIND_VIEW:
			*rows += RB_UNKNOWN_ROWS;
			*pages += RB_UNKNOWN_PAGES;
			break;
		default:
			break;
	}
}

/* Adds the size of a table with its children. Returns false if the table cannot be inspected. */
static bool
size_of_table(Oid relid, double *rows, double *pages)
{
	Relation rel = rb_open_if_readable(relid);
	ListCell *lc;

	if (rel == NULL)
		return false;
	size_of_relation(rel, rows, pages);
	if (rel->rd_rel->relhassubclass)
		foreach (lc, find_all_inheritors(relid, NoLock, NULL))
		{
			Relation child;

			if (lfirst_oid(lc) == relid)
				continue;
			child = rb_open_child(lfirst_oid(lc));
			if (child == NULL)
				continue;
			size_of_relation(child, rows, pages);
			relation_close(child, AccessShareLock);
		}
	relation_close(rel, AccessShareLock);
	return true;
}

/* Adds a table among the arguments of a call to the sizes; usual sizes replace unknown ones. */
static void
add_table_size(sizes *s, Oid relid)
{
	double rows = 0;
	double pages = 0;

	if (!OidIsValid(relid) || !size_of_table(relid, &rows, &pages))
	{
		rows = RB_UNKNOWN_ROWS;
		pages = RB_UNKNOWN_PAGES;
	}
	if (s->tables == 0)
		s->first = rows;
	s->tables++;
	s->rows += rows;
	s->larger = Max(s->larger, rows);
	s->pages += pages;
}

/*
 * Finds the sizes of the tables among the arguments of a call. Returns false for a call with query
 * texts. Only constants are evaluated; table names are constants at this point. Evaluating any
 * other argument would run the functions in it, and needs planner state that is not always
 * available.
 */
static bool
find_table_sizes_of_call(const Node *node, sizes *s)
{
	ListCell *lc;

	memset(s, 0, sizeof *s);
	if (node == NULL || !IsA(node, FuncExpr))
		return false;
	foreach (lc, ((const FuncExpr *) node)->args)
	{
		Node *arg = lfirst(lc);

		if (exprType(arg) != REGCLASSOID)
			continue;
		if (IsA(arg, Const) && !((Const *) arg)->constisnull)
			add_table_size(s, DatumGetObjectId(((Const *) arg)->constvalue));
		else
			add_table_size(s, InvalidOid);
	}
	return s->tables > 0;
}

/* Returns the expected number of rows, out of n, that occur in any of the pairs. */
static double
estimate_rows_in_pairs(double n, double pairs)
{
	return n * -expm1(-pairs / Max(n, 1));
}

/*
 * Returns the maximum number of rows for each row of the first side of a ranked join (its third
 * argument), limited by the size of the other table.
 */
static double
limit_of_ranked_call(const FuncExpr *call, const sizes *s)
{
	const Const *k = list_length(call->args) > 2 ? lthird(call->args) : NULL;
	double wanted = k != NULL && IsA(k, Const) && !k->constisnull ? DatumGetInt32(k->constvalue)
																  : RB_NEAREST_ROWS;

	return Min(wanted, Max(s->rows - s->first, 1));
}

/* Returns the number of result rows for this number of pairs. */
static double
estimate_rows_of_join_result(const FuncExpr *call, const sizes *s, double pairs)
{
	const rb_join *join = rb_join_of_entry(call->funcid);

	switch (join != NULL ? join->result : RB_RESULT_PAIRS)
	{
		case RB_RESULT_BLOCKS:
			return ceil(pairs / RB_BLOCK);
		case RB_RESULT_SOLIDS:
		case RB_RESULT_MEASURES:
		case RB_RESULT_SOLID_DIFFERENCES:
			return s->first;
		case RB_RESULT_NEAREST:
		case RB_RESULT_FIRST_HITS:
			return s->first * limit_of_ranked_call(call, s);
		default:
			return pairs;
	}
}

bool
rb_expect_ids(const FuncExpr *call, rb_result_side of, double pairs, double *ids)
{
	sizes s;

	if (!find_table_sizes_of_call((const Node *) call, &s))
		return false;
	*ids = estimate_rows_in_pairs(of == RB_OF_BLUE && s.tables > 1 ? s.rows - s.first : s.first,
								  pairs);
	return true;
}

/*
 * ---- no counting of pairs during planning ----
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

/*
 * Returns the function whose record, in an extra argument, defers a call until the query runs; it
 * is in the same schema as the called function.
 */
static Oid
find_function_that_defers_call(Oid function)
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
is_call_deferred(const FuncExpr *call, Oid function)
{
	FieldSelect *last = call->args == NIL ? NULL : llast(call->args);

	return last != NULL && IsA(last, FieldSelect) && IsA(last->arg, FuncExpr) &&
		   ((FuncExpr *) last->arg)->funcid == function;
}

/*
 * Returns the call in a form that the planner does not evaluate, or NULL if it already has that
 * form.
 */
static Node *
defer_evaluation_of_call(const FuncExpr *call)
{
	Oid function = find_function_that_defers_call(call->funcid);
	FieldSelect *field;
	FuncExpr *later;

	if (!OidIsValid(function) || is_call_deferred(call, function))
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

/* ---- the support function ---- */

PG_FUNCTION_INFO_V1(redblue_support);

Datum
redblue_support(PG_FUNCTION_ARGS)
{
	Node *request = (Node *) PG_GETARG_POINTER(0);
	Node *answer = NULL;
	sizes s;

	if (IsA(request, SupportRequestRows))
	{
		SupportRequestRows *rows = (SupportRequestRows *) request;

		if (find_table_sizes_of_call(rows->node, &s))
		{
			double pairs;

			if (!rb_expect_pairs((FuncExpr *) rows->node, &pairs))
				pairs = s.tables == 1 ? RB_SELF_PAIRS * s.larger : s.larger;
			rows->rows =
				clamp_row_est(estimate_rows_of_join_result((FuncExpr *) rows->node, &s, pairs));
			answer = request;
		}
	}
	else if (IsA(request, SupportRequestCost))
	{
		SupportRequestCost *cost = (SupportRequestCost *) request;

		if (find_table_sizes_of_call(cost->node, &s))
		{
			cost->startup = 0;
			cost->per_tuple = seq_page_cost * s.pages +
							  (cpu_tuple_cost + RB_OPERATORS_PER_ROW * cpu_operator_cost) * s.rows;
			answer = request;
		}
	}
	else if (IsA(request, SupportRequestSimplify))
	{
		SupportRequestSimplify *simplify = (SupportRequestSimplify *) request;

		/* Without planner state, no estimate is made that would call the function. */
		if (simplify->root != NULL && !simplify->fcall->funcretset)
			answer = defer_evaluation_of_call(simplify->fcall);
	}
	PG_RETURN_POINTER(answer);
}
