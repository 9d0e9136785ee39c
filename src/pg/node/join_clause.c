/*
 * join_clause.c
 *	  Chooses the clause of a join that the node evaluates.
 *
 * If several clauses qualify, the node takes the one with the fewest expected pairs, and the other
 * clauses are evaluated on these pairs. No clause is chosen if the clauses of the join differ in
 * their security levels, because a clause must not be evaluated before one of a lower level.
 */
#include "pg/node/geometry_join.h"

#include "catalog/dependency.h"
#include "catalog/pg_proc.h"
#include "commands/extension.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "utils/lsyscache.h"

bool
rb_find_join_function(Oid function, rb_join_function *asked)
{
	static const struct
	{
		PGFunction function;
		rb_join_function asked;
	} functions[] = {{redblue_geometry_intersects, RB_ASKED_INTERSECTS},
					 {redblue_geometry_crosses, RB_ASKED_CROSSES},
					 {redblue_geometry_dwithin, RB_ASKED_DWITHIN},
					 {redblue_geometry_inside, RB_ASKED_INSIDE}};
	Oid support = get_func_support(function);
	FmgrInfo info;

	if (!OidIsValid(support))
		return false;
	fmgr_info(support, &info);
	if (info.fn_addr != redblue_geometry_support)
		return false;
	fmgr_info(function, &info);
	for (int i = 0; i < (int) lengthof(functions); i++)
		if (info.fn_addr == functions[i].function)
		{
			*asked = functions[i].asked;
			return true;
		}
	return false;
}

/*
 * Returns true if the function belongs to the extension postgis, rather than being another of that
 * name.
 */
bool
rb_is_of_postgis(Oid function)
{
	const Oid postgis = get_extension_oid("postgis", true);

	return OidIsValid(postgis) && getExtensionOfObject(ProcedureRelationId, function) == postgis;
}

/*
 * Returns true if the expression depends on at least one column of this input and on no other
 * input, and is neither volatile nor a subplan.
 */
static bool
is_of(PlannerInfo *root, Node *node, Relids relids)
{
	Relids wanted = pull_varnos(root, node);

	return !bms_is_empty(wanted) && bms_is_subset(wanted, relids) &&
		   !contain_volatile_functions(node) && !contain_subplans(node);
}

static bool
is_clause(PlannerInfo *root, RestrictInfo *info, Relids outer, Relids inner, rb_join_clause *clause)
{
	FuncExpr *call = (FuncExpr *) info->clause;
	Node *a, *b;

	if (!IsA(call, FuncExpr) || list_length(call->args) < 2 ||
		!rb_find_join_function(call->funcid, &clause->asked))
		return false;
	a = linitial(call->args);
	b = lsecond(call->args);
	clause->distance = list_length(call->args) > 2 ? lthird(call->args) : NULL;
	if (clause->distance != NULL &&
		(!bms_is_empty(pull_varnos(root, clause->distance)) ||
		 contain_volatile_functions(clause->distance) || contain_subplans(clause->distance)))
		return false;
	clause->info = info;
	clause->swapped = false;
	if (is_of(root, a, outer) && is_of(root, b, inner))
	{
		clause->outer = a;
		clause->inner = b;
		return true;
	}
	clause->outer = b;
	clause->inner = a;
	clause->swapped = true;
	return is_of(root, b, outer) && is_of(root, a, inner);
}

/* Returns true if the node is ST_SRID of this geometry. */
static bool
is_srid_of(Node *node, Node *geometry)
{
	const FuncExpr *call = (const FuncExpr *) node;
	const char *name;

	if (!IsA(node, FuncExpr) || list_length(call->args) != 1 ||
		!equal(linitial(call->args), geometry))
		return false;
	name = get_func_name(call->funcid);
	return name != NULL && strcmp(name, "st_srid") == 0 && rb_is_of_postgis(call->funcid);
}

/*
 * Returns true if the clause requires equal SRIDs of the two geometries. Different SRIDs are then
 * not an error.
 */
static bool
is_of_srids(const RestrictInfo *info, const rb_join_clause *clause)
{
	const OpExpr *same = (const OpExpr *) info->clause;
	Node *a, *b;

	if (!IsA(same, OpExpr) || list_length(same->args) != 2 ||
		!op_mergejoinable(same->opno, exprType(linitial(same->args))))
		return false;
	a = linitial(same->args);
	b = lsecond(same->args);
	return (is_srid_of(a, clause->outer) && is_srid_of(b, clause->inner)) ||
		   (is_srid_of(a, clause->inner) && is_srid_of(b, clause->outer));
}

bool
rb_join_find_clause(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *outer, RelOptInfo *inner,
					JoinType type, JoinPathExtraData *extra, rb_join_clause *best)
{
	List *clauses = extra->restrictlist;
	double least = 2;
	ListCell *lc;

	foreach (lc, clauses)
	{
		RestrictInfo *info = lfirst_node(RestrictInfo, lc);
		rb_join_clause clause;
		double left;

		if (info->pseudoconstant ||
			info->security_level != linitial_node(RestrictInfo, clauses)->security_level)
			return false;
		if ((IS_OUTER_JOIN(type) && RINFO_IS_PUSHED_DOWN(info, rel->relids)) ||
			!is_clause(root, info, outer->relids, inner->relids, &clause))
			continue;
		left = clause_selectivity(root, (Node *) info, 0, type, extra->sjinfo);
		/*
		 * If the estimates are equal, prefer an intersection to a distance, because a distance
		 * matches more pairs.
		 */
		if (left < least || (left == least && best->distance != NULL && clause.distance == NULL))
		{
			*best = clause;
			least = left;
		}
	}
	best->same_srid = false;
	foreach (lc, clauses)
	{
		RestrictInfo *info = lfirst_node(RestrictInfo, lc);

		best->same_srid |= least < 2 &&
						   !(IS_OUTER_JOIN(type) && RINFO_IS_PUSHED_DOWN(info, rel->relids)) &&
						   is_of_srids(info, best);
	}
	return least < 2;
}
