/*
 * once.c
 *	  A number of pairs is taken once a query, and when the query runs.
 *
 *		WHERE n > redblue_triangle_pair_count('ore', 'tunnel')
 *		WHERE n > (SELECT redblue_triangle_pair_count('ore', 'tunnel'))
 *
 * mean the same, for the function is STABLE.  But the first runs the join for each row,
 * and besides while the planner estimates how many rows that will be: to that end it
 * calls STABLE functions of constants, also for a mere EXPLAIN.  So where no argument
 * depends on a row, the planner is given the second form instead.
 *
 * It asks for another form while it prepares an expression, before it turns the
 * subqueries in it to plans of their own.  A query without rows, as this subquery is
 * one, stays as it is: nothing is estimated there, and PL/pgSQL, which computes such
 * expressions without executing a plan, expects no subquery where none was written.
 */
#include "rb_pg.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"

/* may it differ from row to row, or mean something only where it stands? */
static bool
depends_on_row(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Const:
		case T_NamedArgExpr:
		case T_FuncExpr:
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
		case T_BoolExpr:
		case T_RelabelType:
		case T_CoerceViaIO:
		case T_ArrayCoerceExpr:
		case T_CoalesceExpr:
		case T_MinMaxExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_ArrayExpr:
		case T_CollateExpr:
		case T_List:
			return expression_tree_walker(node, depends_on_row, context);
		case T_Param:
			return ((Param *) node)->paramkind != PARAM_EXTERN;
		default:
			return true;
	}
}

/* SELECT of expressions, for there are no rows; who writes PL may compute that without a plan */
static bool
has_no_rows(const Query *query)
{
	return query->jointree->quals == NULL && query->limitCount == NULL &&
		   query->limitOffset == NULL && query->havingQual == NULL && !query->hasTargetSRFs &&
		   (query->rtable == NIL ||
			(list_length(query->rtable) == 1 &&
			 linitial_node(RangeTblEntry, query->rtable)->rtekind == RTE_RESULT));
}

Node *
rb_once_a_query(PlannerInfo *root, FuncExpr *call)
{
	SubLink *sublink;
	Query *query;

	if (has_no_rows(root->parse) || depends_on_row((Node *) call->args, NULL) ||
		contain_volatile_functions((Node *) call->args))
		return NULL;
	query = makeNode(Query);
	query->commandType = CMD_SELECT;
	query->querySource = QSRC_ORIGINAL;
	query->canSetTag = true;
	query->jointree = makeFromExpr(NIL, NULL);
	query->targetList =
		list_make1(makeTargetEntry((Expr *) copyObject(call), 1, pstrdup("count"), false));
	sublink = makeNode(SubLink);
	sublink->subLinkType = EXPR_SUBLINK;
	sublink->subselect = (Node *) query;
	sublink->location = call->location;
	root->parse->hasSubLinks = true;
	return (Node *) sublink;
}
