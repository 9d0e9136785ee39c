/*
 * support.c
 *	  What the planner asks: how many rows, at what cost, and is there a better form?
 *
 * Of plain tables some rows are read, which tell how many pairs there will be
 * (expect.c).  Of all else (views, partitions, tables that somebody has locked) the size
 * is all there is to go by.  In a mesh a triangle meets about twelve others, those it
 * shares a corner with, six unordered pairs each; two meshes that cross meet along
 * curves, two that fill the same space everywhere.  So the answer is then one pair for
 * each row of the larger side, six for each row of a self join.
 *
 * Counts, hits and groups are a row for each row of the first side that is in a pair, of a
 * self join for each that is in one: were the pairs dealt out to rows by chance,
 * n rows and p pairs would leave n exp(-p / n) rows without.  Blocks are packs of pairs.  The
 * nearest are so many for each row, and of bodies that are checked each is a row.
 *
 * The cost is that of reading the tables, and of some five operators a row for
 * the join itself.
 *
 * The better form of a pair count is a call that is not computed while planning (late.c).
 */
#include "pg/base/rb_pg.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/plancat.h"
#include "utils/rel.h"

#include <math.h>

#define RB_OPERATORS_PER_ROW 5
/* of a view, or a table that is not known before the query runs: a guess */
#define RB_UNKNOWN_ROWS 1000
#define RB_UNKNOWN_PAGES 10
#define RB_NEAREST_ROWS 5

typedef struct sizes
{
	int tables;
	double rows;   /* of all tables */
	double larger; /* of the larger one */
	double first;  /* of the first one */
	double pages;
} sizes;

/* as the planner sees a table: its pages as they are now, with as many rows each as there were */
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
			/* on a standby, what is not logged has no file */
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

/* a table with its children; false where it cannot be looked at */
static bool
size_of_table(Oid relid, double *rows, double *pages)
{
	Relation rel = rb_look_at(relid);
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
			child = rb_look_at_child(lfirst_oid(lc));
			if (child == NULL)
				continue;
			size_of_relation(child, rows, pages);
			relation_close(child, AccessShareLock);
		}
	relation_close(rel, AccessShareLock);
	return true;
}

static void
add_table(sizes *s, Oid relid)
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
 * The tables among the arguments of a call; false for a call with query texts.  Only
 * constants are looked at, and every table's name is one by now.  Computing any other
 * argument here would run whatever function stands in it, and needs a planner, which is
 * not always there.
 */
static bool
find_sizes(const Node *node, sizes *s)
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
			add_table(s, DatumGetObjectId(((Const *) arg)->constvalue));
		else
			add_table(s, InvalidOid);
	}
	return s->tables > 0;
}

/* of n rows, how many are in any of so many pairs */
static double
rows_in_pairs(double n, double pairs)
{
	return n * -expm1(-pairs / Max(n, 1));
}

/* k of the k nearest, the third argument; but no more than there are in the other table */
static double
how_many(const FuncExpr *call, const sizes *s)
{
	const Const *k = list_length(call->args) > 2 ? lthird(call->args) : NULL;
	double wanted = k != NULL && IsA(k, Const) && !k->constisnull ? DatumGetInt32(k->constvalue)
																  : RB_NEAREST_ROWS;

	return Min(wanted, Max(s->rows - s->first, 1));
}

/* of a join of so many pairs */
static double
rows_of_result(const FuncExpr *call, const sizes *s, double pairs)
{
	const rb_join *join = rb_join_of_call(call);

	switch (join != NULL ? join->result : RB_RESULT_PAIRS)
	{
		case RB_RESULT_COUNTS:
		case RB_RESULT_HITS:
		case RB_RESULT_GROUPS:
			return rows_in_pairs(s->first, rb_join_sides(join) == 1 ? 2 * pairs : pairs);
		case RB_RESULT_BLOCKS:
			return ceil(pairs / RB_BLOCK);
		case RB_RESULT_BODIES:
			return s->first;
		case RB_RESULT_NEAREST:
			return s->first * how_many(call, s);
		default:
			return pairs;
	}
}

bool
rb_expect_ids(const FuncExpr *call, rb_of of, double pairs, double *ids)
{
	sizes s;

	if (!find_sizes((const Node *) call, &s))
		return false;
	*ids = rows_in_pairs(of == RB_OF_BLUE && s.tables > 1 ? s.rows - s.first : s.first, pairs);
	return true;
}

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

		if (find_sizes(rows->node, &s))
		{
			double pairs;

			if (!rb_expect_pairs((FuncExpr *) rows->node, &pairs))
				pairs = s.tables == 1 ? RB_SELF_PAIRS * s.larger : s.larger;
			rows->rows = clamp_row_est(rows_of_result((FuncExpr *) rows->node, &s, pairs));
			answer = request;
		}
	}
	else if (IsA(request, SupportRequestCost))
	{
		SupportRequestCost *cost = (SupportRequestCost *) request;

		if (find_sizes(cost->node, &s))
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

		/* without a planner nothing is estimated */
		if (simplify->root != NULL && !simplify->fcall->funcretset)
			answer = rb_not_while_planning(simplify->fcall);
	}
	PG_RETURN_POINTER(answer);
}
