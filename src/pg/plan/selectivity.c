/*
 * selectivity.c
 *	  Estimates the number of pairs of a call from samples of its tables.
 *
 * Some rows of each side are read (sample.c), and the core computes an estimate from them
 * (estimate.c). Only plain tables that the caller may read in full are sampled: no views, no tables
 * with policies, nothing that runs SQL written by others, no rows provided by an extension. No
 * estimate is made for anything else.
 *
 * The estimate for joins on functions of two geometries works in the same way on columns of any
 * geometry type.
 *
 * In a self join a row meets its neighbors, which a sample of a large table does not show: a sample
 * has about one in a thousand rows of a mesh. Typical numbers of neighbors are therefore added.
 */
#include "pg/base/arguments.h"
#include "pg/func/func.h"
#include "pg/plan/plan.h"

#include "access/parallel.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/primnodes.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include <float.h>

/* Memory limit of an estimate in bytes: twice the size of the samples */
#define ESTIMATE_BYTES (UINT64CONST(16) << 20)

/* ---- arguments by name ---- */

typedef struct call_arguments
{
	List *values;
	int n;
	char **names;
	double distance; /* Distance, or 0 if the join has none */
	rb_box tile;     /* Tile; dims is 0 if there is none or if it is unknown */
} call_arguments;

static bool
find_arguments(const FuncExpr *call, call_arguments *arguments)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(call->funcid));
	Oid *types;
	char *modes;

	if (!HeapTupleIsValid(tuple))
		return false;
	arguments->values = call->args;
	(void) get_func_arg_info(tuple, &types, &arguments->names, &modes);
	/* Output arguments follow the input arguments and are not counted. */
	arguments->n = ((Form_pg_proc) GETSTRUCT(tuple))->pronargs;
	ReleaseSysCache(tuple);
	return arguments->names != NULL && list_length(call->args) >= arguments->n;
}

/*
 * Returns an argument that is a constant, possibly null. Returns NULL if it is missing or not a
 * constant.
 */
static const Const *
constant_argument(const call_arguments *arguments, const char *name)
{
	for (int i = 0; i < arguments->n; i++)
	{
		Node *value = list_nth(arguments->values, i);

		if (strcmp(arguments->names[i], name) == 0)
			return IsA(value, Const) ? (Const *) value : NULL;
	}
	return NULL;
}

static bool
find_distance(const rb_join *join, call_arguments *arguments)
{
	const Const *distance;

	arguments->distance = 0;
	if (!rb_join_has_distance(join))
		return true;
	distance = constant_argument(arguments, "distance");
	if (distance == NULL || distance->constisnull || distance->consttype != FLOAT8OID)
		return false;
	arguments->distance = DatumGetFloat8(distance->constvalue);
	return arguments->distance >= 0 && arguments->distance <= DBL_MAX;
}

/* Finds the tile. An invalid tile, which the join will reject, is ignored. */
static void
find_tile(const rb_join *join, call_arguments *arguments)
{
	static const char *const names[2] = {"tile_low", "tile_high"};
	NullableDatum ends[2];

	arguments->tile.dims = 0;
	if (!rb_join_has_tile(join))
		return;
	for (int i = 0; i < 2; i++)
	{
		const Const *end = constant_argument(arguments, names[i]);

		if (end == NULL || (!end->constisnull && end->consttype != FLOAT8ARRAYOID))
			return;
		ends[i] = (NullableDatum){end->constvalue, end->constisnull};
	}
	if (!rb_tile_try(ends, &arguments->tile))
		arguments->tile.dims = 0;
}

/* ---- sides ---- */

typedef struct expected_side
{
	Oid relid;
	const char *geom_name;
	rb_sampled sample[2]; /* A self join takes two samples of its only side */
} expected_side;

static bool
find_side(const rb_join *join, int i, const call_arguments *arguments, expected_side *side)
{
	const Const *table = constant_argument(arguments, join->side[i]);
	const Const *geom = constant_argument(arguments, psprintf("%s_geom", join->side[i]));

	if (table == NULL || table->constisnull || table->consttype != REGCLASSOID || geom == NULL ||
		(!geom->constisnull && geom->consttype != NAMEOID))
		return false;
	side->relid = DatumGetObjectId(table->constvalue);
	side->geom_name = geom->constisnull ? NULL : NameStr(*DatumGetName(geom->constvalue));
	for (int k = 0; k < 2; k++)
	{
		side->sample[k].tile = arguments->tile;
		side->sample[k].distance = arguments->distance;
	}
	return true;
}

/*
 * Returns true if an enclosing statement is rewriting the table. Its rows may then not match its
 * columns yet.
 */
static bool
is_being_rewritten(Relation rel)
{
	return rel->rd_refcnt > 1 && CheckRelationLockedByMe(rel, AccessExclusiveLock, false);
}

/* Returns true if the pages of the relation can be read at planning time. */
static bool
is_readable(Relation rel)
{
	return !is_being_rewritten(rel) && !(IsParallelWorker() && RelationUsesLocalBuffers(rel)) &&
		   rb_is_plain_rel(rel);
}

static bool
sample_side(const rb_join *join, int i, rb_memory *memory, int samples, expected_side *side)
{
	Relation rel = rb_open_if_readable(side->relid);
	bool sampled = rel != NULL && is_readable(rel);

	for (int k = 0; k < samples && sampled; k++)
		sampled = rb_sample_rows(rel, join->kind[i], side->geom_name, (uint32) (1 + i + 1000 * k),
								 memory, &side->sample[k]);
	if (rel != NULL)
		relation_close(rel, AccessShareLock);
	return sampled;
}

/* ---- pairs ---- */

/* Returns the typical number of neighbors per row in the same table, each pair counted once. */
static double
typical_neighbors(rb_kind kind)
{
	switch (kind)
	{
		case RB_TRIANGLE3:
			return RB_SELF_PAIRS;
		case RB_SEGMENT3:
		case RB_SEGMENT2:
			return 1;
		default:
			return 0;
	}
}

static bool
estimate_pairs(const rb_join *join, double distance, rb_memory *memory, const rb_sampled *red,
			   const rb_sampled *blue, bool self, double *pairs)
{
	/* Objects inside a solid usually meet its boundary somewhere. */
	const bool solids = join->predicate == RB_INSIDE || join->predicate == RB_RELATION;
	rb_samples what = {{red->set, blue->set},
					   {red->rows, blue->rows},
					   self,
					   solids ? RB_MEET : join->predicate,
					   distance};
	rb_context ctx;

	rb_context_init(&ctx, memory);
	return rb_estimate_pairs(&ctx, &what, pairs) == RB_OK;
}

/*
 * Estimates the pairs of rows within one table, each counted once, without pairs of a row with
 * itself.
 */
static bool
expect_within(const rb_join *join, double distance, rb_memory *memory, const expected_side *side,
			  double *pairs)
{
	if (!estimate_pairs(join, distance, memory, &side->sample[0], &side->sample[1], true, pairs))
		return false;
	/* Neighbors in a valid mesh do not count as self-intersections. */
	if (!side->sample[0].all && join->predicate != RB_SELF_INTERSECT)
		*pairs += typical_neighbors(join->kind[0]) * side->sample[0].rows;
	return true;
}

static bool
expect_join_pairs(const rb_join *join, double distance, rb_memory *memory, expected_side *side,
				  double *pairs)
{
	bool same = rb_join_sides(join) == 1 ||
				(side[0].relid == side[1].relid && join->kind[0] == join->kind[1] &&
				 side[0].geom_name == NULL && side[1].geom_name == NULL);

	if (!sample_side(join, 0, memory, same ? 2 : 1, &side[0]))
		return false;
	if (!same)
		return sample_side(join, 1, memory, 1, &side[1]) &&
			   estimate_pairs(join, distance, memory, &side[0].sample[0], &side[1].sample[0], false,
							  pairs);
	if (!expect_within(join, distance, memory, &side[0], pairs))
		return false;
	/* Each pair occurs in both orders, and each row meets itself. */
	if (rb_join_sides(join) == 2)
		*pairs = 2 * *pairs + side[0].sample[0].rows;
	return true;
}

/* ---- core memory, freed with a memory context ---- */

static void
destroy_memory(void *memory)
{
	rb_memory_destroy(memory);
}

static MemoryContext
open_memory(rb_memory **memory)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "redblue estimate", ALLOCSET_DEFAULT_SIZES);
	MemoryContextCallback *at_end = MemoryContextAllocZero(context, sizeof *at_end);

	*memory = rb_memory_create(ESTIMATE_BYTES);
	at_end->func = destroy_memory;
	at_end->arg = *memory;
	MemoryContextRegisterResetCallback(context, at_end);
	return context;
}

/*
 * Looking up the entry point loads no other library: either the function's support function was
 * called, or its own library is already loaded (function.c).
 */
const rb_join *
rb_join_of_call(const FuncExpr *call)
{
	FmgrInfo info;

	fmgr_info(call->funcid, &info);
	return info.fn_strict ? NULL : rb_join_of(info.fn_addr);
}

bool
rb_expect_pairs(const FuncExpr *call, double *pairs)
{
	const rb_join *join = rb_join_of_call(call);
	expected_side side[2];
	call_arguments arguments;
	rb_memory *memory;
	MemoryContext context;
	MemoryContext old;
	bool known = true;

	/* Samples consist of whole rows and give no estimate of pairs within a row. */
	if (join == NULL || join->query || rb_join_is_within_rows(join) ||
		join->predicate == RB_VALIDITY || rb_join_is_nearest(join) || !IsTransactionState() ||
		!ActiveSnapshotSet() || !IsMVCCSnapshot(GetActiveSnapshot()))
		return false;
	context = open_memory(&memory);
	old = MemoryContextSwitchTo(context);
	memset(side, 0, sizeof side);
	known = memory != NULL && find_arguments(call, &arguments) && find_distance(join, &arguments);
	if (known)
		find_tile(join, &arguments);
	for (int i = 0; i < rb_join_sides(join) && known; i++)
		known = find_side(join, i, &arguments, &side[i]);
	known = known && expect_join_pairs(join, arguments.distance, memory, side, pairs);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return known;
}

/* ---- geometry columns ---- */

static bool
sample_column(const rb_geometry_column *column, uint32 seed, rb_memory *memory, rb_sampled *sampled)
{
	Relation rel = rb_open_if_readable(column->relid);
	bool known = rel != NULL && is_readable(rel);

	sampled->any_leaf = true;
	known = known && rb_sample_rows(rel, RB_TRIANGLE3, column->name, seed, memory, sampled);
	if (rel != NULL)
		relation_close(rel, AccessShareLock);
	return known;
}

static bool
expect_geometries(const rb_geometry_column *column, rb_predicate predicate, double distance,
				  rb_memory *memory, double *pairs)
{
	const bool self =
		column[0].relid == column[1].relid && strcmp(column[0].name, column[1].name) == 0;
	rb_sampled sampled[2] = {{0}};
	rb_samples what = {.self = self, .predicate = predicate, .distance = distance};
	rb_context ctx;

	for (int i = 0; i < 2; i++)
		if (!sample_column(&column[i], (uint32) (1 + i), memory, &sampled[i]))
			return false;
	/* If only one geometry has Z, both are compared in the plane. */
	if (sampled[0].flat != sampled[1].flat)
	{
		const int i = sampled[0].flat ? 1 : 0;

		rb_set_release(&sampled[i].set);
		sampled[i].flat = true;
		if (!sample_column(&column[i], (uint32) (1 + i), memory, &sampled[i]))
			return false;
	}
	for (int i = 0; i < 2; i++)
	{
		what.sample[i] = sampled[i].set;
		what.rows[i] = sampled[i].rows;
	}
	rb_context_init(&ctx, memory);
	if (rb_estimate_pairs(&ctx, &what, pairs) != RB_OK)
		return false;
	/* Each pair occurs in both orders, and each row meets itself. */
	if (self)
		*pairs = 2 * *pairs + sampled[0].rows;
	return true;
}

bool
rb_expect_geometries(const rb_geometry_column *column, rb_predicate predicate, double distance,
					 double *pairs)
{
	rb_memory *memory;
	MemoryContext context, old;
	bool known;

	if (!IsTransactionState() || !ActiveSnapshotSet() || !IsMVCCSnapshot(GetActiveSnapshot()))
		return false;
	context = open_memory(&memory);
	old = MemoryContextSwitchTo(context);
	known = memory != NULL && expect_geometries(column, predicate, distance, memory, pairs);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return known;
}
