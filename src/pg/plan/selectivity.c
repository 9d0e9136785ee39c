/*
 * selectivity.c
 *	  Inspects tables before a statement runs, and estimates the number of pairs of a call from samples
 *	  of its tables.
 *
 * Some rows of each side are read, and the core computes an estimate from them (estimate.c). Only
 * plain tables that the caller may read in full are sampled: no views, no tables with policies,
 * nothing that runs SQL written by others, no rows provided by an extension. No estimate is made
 * for anything else.
 *
 * Sampling reads one page from each of up to 128 ranges of pages, and some rows of each page. Rows
 * that are adjacent in a table are usually close together in space, too. Therefore, many pages give
 * more information than many rows. The choice of pages and rows depends only on the size of the
 * table, so that a statement gets the same plan again.
 *
 * Sampling raises no errors, waits for no lock on the table, and runs no code of other libraries:
 * values are read as they are stored in the page. Values that are stored in TOAST or are large are
 * not read, and rows that a join could not read are left out. The page is copied under its buffer
 * lock and read after the lock is released. No predicate lock is taken, as no row is returned.
 *
 * The estimate for joins on functions of two geometries works in the same way on columns of any
 * geometry type.
 *
 * In a self join a row meets its neighbors, which a sample of a large table does not show: a sample
 * has about one in a thousand rows of a mesh. Typical numbers of neighbors are therefore added.
 */
#include "pg/base/arguments.h"
#include "pg/exec/exec.h"
#include "pg/func/func.h"
#include "pg/plan/plan.h"
#include "pg/read/read.h"

#include "access/detoast.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "nodes/primnodes.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include <float.h>

/* Memory limit of an estimate in bytes: twice the size of the samples */
#define ESTIMATE_BYTES (UINT64CONST(16) << 20)

#define PAGES 128
#define ROWS 1536
/*
 * Prime and close to PAGES divided by the golden ratio, so that consecutively visited pages are far
 * apart
 */
#define STEP 79
/* Maximum bytes of one value, and of all values of a table; decoding takes time */
#define VALUE_BYTES ((Size) 32 << 10)
#define TABLE_BYTES ((Size) 256 << 10)

typedef struct table_sample
{
	bool any_leaf; /* True to accept points and lines as degenerate triangles */
	bool flat;     /* True to project to the plane; also set if the first geometry has no Z */
	/*
	 * Sample only rows that can be in a pair of this tile, within `distance`; dims is 0 for all
	 * rows
	 */
	rb_box tile;
	double distance;
	const rb_set *set; /* With one reference; its ids distinguish rows and are not the user's */
	double rows;       /* Estimated number of rows with parts in the whole table, within the tile */
	bool all;          /* True if the set has all rows */
} table_sample;

typedef struct table_sampler
{
	Relation rel;
	Snapshot snapshot;
	rb_kind kind; /* Kind that the join requires */
	rb_columns columns;
	rb_builder builder;
	Size bytes;     /* Bytes of values decoded so far */
	double normal;  /* Number of tuples on the pages that were visited */
	double looked;  /* Number of tuples examined */
	double taken;   /* Number of rows added to the sample */
	double unknown; /* Number of rows that a join would read but the sample did not */
} table_sampler;

/*
 * ---- tables, before the statement runs ----
 *
 * A statement that is only planned (EXPLAIN, PREPARE) must cause no error and no wait that planning
 * a SELECT from the same tables would not cause. These functions therefore raise no errors, do not
 * wait for locks, and lock no relation that the caller may not read. A relation that cannot be
 * inspected is treated as unknown.
 */

/*
 * Returns true if the caller may read at least one column. Whether it may read the required ones is
 * checked when the table is read.
 */
static bool
can_caller_read_column(Oid relid)
{
	Oid schema = get_rel_namespace(relid);
	bool missing = false;

	if (!OidIsValid(schema) || !rb_may_use_schema(schema))
		return false;
	return (pg_class_aclcheck_ext(relid, GetUserId(), ACL_SELECT, &missing) == ACLCHECK_OK &&
			!missing) ||
		   pg_attribute_aclcheck_all(relid, GetUserId(), ACL_SELECT, ACLMASK_ANY) == ACLCHECK_OK;
}

Relation
rb_open_child(Oid relid)
{
	Relation rel;

	if (!ConditionalLockRelationOid(relid, AccessShareLock))
		return NULL;
	rel = try_relation_open(relid, NoLock);
	if (rel == NULL)
		UnlockRelationOid(relid, AccessShareLock);
	return rel;
}

Relation
rb_open_if_readable(Oid relid)
{
	return can_caller_read_column(relid) ? rb_open_child(relid) : NULL;
}

/*
 * Returns true if the catalogs and the planner allow the pages of a table to be read directly. Also
 * returns false if asking the planner would have to wait for a lock.
 */
static bool
may_read_pages_in_planning(Relation rel)
{
	return rb_table_refusal(rel) == NULL && rb_plan_refusal(rel, false) == NULL;
}

/*
 * Returns true if reading the relation runs no SQL written by others: no view, no policy, no plan
 * of an extension.
 */
static bool
is_relation_read_without_user_sql(Relation rel)
{
	char kind = rel->rd_rel->relkind;

	return (kind == RELKIND_RELATION || kind == RELKIND_MATVIEW ||
			kind == RELKIND_PARTITIONED_TABLE || kind == RELKIND_FOREIGN_TABLE) &&
		   !rel->rd_rel->relrowsecurity &&
		   (rb_table_refusal(rel) != NULL || may_read_pages_in_planning(rel));
}

bool
rb_sides_are_tables(const rb_join *join, List *args, bool stay)
{
	for (int i = 0; i < rb_join_sides(join); i++)
	{
		Const *arg = list_nth(args, i);
		Relation rel;
		bool table;

		if (join->query || !IsA(arg, Const) || arg->constisnull)
			return false;
		rel = rb_open_if_readable(DatumGetObjectId(arg->constvalue));
		if (rel == NULL)
			return false;
		table = is_relation_read_without_user_sql(rel);
		relation_close(rel, stay && table ? NoLock : AccessShareLock);
		if (!table)
			return false;
	}
	return true;
}

/* ---- sampled rows ---- */

typedef enum taking
{
	TAKEN,
	NOTHING, /* No parts, or a row that raises an error in the join */
	UNKNOWN
} taking;

/*
 * Reserves memory for one more part. Returns NULL if the memory limit of the estimate is reached.
 */
static double *
reserve_sampled_part(table_sampler *s)
{
	rb_builder *b = &s->builder;
	rb_error error;

	if (rb_builder_reserve(b, 1, &error) != RB_OK)
		return NULL;
	return b->coords + (size_t) b->nparts * (size_t) b->width;
}

/* Checks the coordinates of a part and counts it. */
static taking
end_sampled_part(table_sampler *s, const double *x)
{
	int dims = rb_kind_dims(s->builder.kind);
	bool box = s->builder.kind == RB_BOX3 || s->builder.kind == RB_BOX2;

	if (!rb_all_finite(x, s->builder.width))
		return NOTHING;
	for (int i = 0; box && i < dims; i++)
		if (x[i] > x[dims + i])
			return NOTHING;
	s->builder.nparts++;
	return TAKEN;
}

/* Adds the object of a tuple's coordinate columns to the sample. */
static taking
add_coordinates_to_estimate(table_sampler *s, HeapTuple tuple)
{
	double *to = reserve_sampled_part(s);

	if (to == NULL)
		return UNKNOWN;
	for (int i = 0; i < s->columns.width; i++)
	{
		bool isnull;
		Datum value =
			heap_getattr(tuple, s->columns.coord[i].attno, RelationGetDescr(s->rel), &isnull);

		if (isnull)
			return NOTHING;
		if (s->columns.coord[i].type == NUMERICOID && VARATT_IS_EXTERNAL(DatumGetPointer(value)))
			return UNKNOWN;
		to[i] = rb_number_to_float8(value, s->columns.coord[i].type, numeric_float8_no_overflow);
		if (s->columns.coord[i].type == NUMERICOID && !rb_all_finite(&to[i], 1))
		{
			/*
			 * Charge a numeric outside the range of float8, because it may have many digits, which
			 * take time to read.
			 */
			s->bytes += VALUE_BYTES;
			return NOTHING;
		}
	}
	return end_sampled_part(s, to);
}

/* Adds a box to the sample. */
static taking
add_box_to_estimate(table_sampler *s, Datum value)
{
	rb_box_value box;
	double *to;

	rb_box_read(s->columns.shape, value, &box);
	if (box.dims != 2 && box.dims != 3)
		return NOTHING;
	if (s->builder.nrows == 0)
		rb_builder_set_kind(&s->builder, box.dims == 2 ? RB_BOX2 : RB_BOX3);
	if (box.dims != rb_kind_dims(s->builder.kind))
		return NOTHING;
	to = reserve_sampled_part(s);
	if (to == NULL)
		return UNKNOWN;
	memcpy(to, box.low, (size_t) box.dims * sizeof(double));
	memcpy(to + box.dims, box.high, (size_t) box.dims * sizeof(double));
	return end_sampled_part(s, to);
}

/* Adds the parts of a geometry to the sample. */
static taking
add_geometry_to_estimate(table_sampler *s, Datum value)
{
	const struct varlena *bytes = PG_DETOAST_DATUM_PACKED(value);
	rb_geometry_info info;
	rb_error error;
	rb_geometry_fault fault = rb_decode_plain(&s->builder, bytes, &info, &error);

	/* The first row determines the dimensions of boxes. */
	if (s->kind == RB_BOX3 && s->builder.nrows == 0 &&
		(fault == RB_GEOMETRY_NO_Z || fault == RB_GEOMETRY_Z))
	{
		rb_builder_set_kind(&s->builder, fault == RB_GEOMETRY_NO_Z ? RB_BOX2 : RB_BOX3);
		fault = rb_decode_plain(&s->builder, bytes, &info, &error);
	}
	if (s->builder.any_leaf && s->builder.nrows == 0 && fault == RB_GEOMETRY_NO_Z)
	{
		s->builder.flat = true;
		rb_builder_drop_row(&s->builder);
		fault = rb_decode_plain(&s->builder, bytes, &info, &error);
	}
	if (fault == RB_GEOMETRY_UNKNOWN || fault == RB_GEOMETRY_NO_MEMORY)
		return UNKNOWN;
	return fault == RB_GEOMETRY_OK && s->builder.nparts > s->builder.row_start ? TAKEN : NOTHING;
}

/* Reads a geometry or box. Values stored in TOAST, or large after decompression, are not read. */
static taking
add_value_to_estimate(table_sampler *s, HeapTuple tuple)
{
	bool isnull;
	Datum value = heap_getattr(tuple, s->columns.geom.attno, RelationGetDescr(s->rel), &isnull);
	Size bytes = sizeof(rb_box_value);

	if (isnull)
		return NOTHING;
	if (s->columns.shape == RB_SHAPE_GEOMETRY || s->columns.shape == RB_SHAPE_CUBE)
	{
		if (VARATT_IS_EXTERNAL(DatumGetPointer(value)))
			return UNKNOWN;
		bytes = toast_raw_datum_size(value);
		if (bytes > VALUE_BYTES)
			return UNKNOWN;
	}
	s->bytes += bytes;
	return s->columns.shape == RB_SHAPE_GEOMETRY ? add_geometry_to_estimate(s, value)
												 : add_box_to_estimate(s, value);
}

/* Adds a tuple to the sample as a row. */
static void
add_tuple_to_estimate(table_sampler *s, HeapTuple tuple)
{
	int64 id = ((int64) ItemPointerGetBlockNumber(&tuple->t_self) << 16) |
			   ItemPointerGetOffsetNumber(&tuple->t_self);
	taking taking = s->columns.width > 0 ? add_coordinates_to_estimate(s, tuple)
										 : add_value_to_estimate(s, tuple);
	rb_error error;

	if (taking == TAKEN && rb_builder_end_row(&s->builder, id, &error) != RB_OK)
		taking = UNKNOWN;
	if (taking != TAKEN)
		rb_builder_drop_row(&s->builder);
	s->taken += taking == TAKEN;
	s->unknown += taking == UNKNOWN;
}

/* ---- sampled pages ---- */

/* Returns a pseudorandom number below n, which depends only on `place` and `seed`. */
static uint32
random_index_below(uint32 place, uint32 seed, uint32 n)
{
	return hash_combine(murmurhash32(place), murmurhash32(seed)) % n;
}

/*
 * Chooses some tuples of the page in the buffer that are visible to the snapshot, and returns their
 * number.
 */
static int
choose_tuples_of_page(table_sampler *s, Buffer buffer, BlockNumber block, uint32 seed, int wanted,
					  OffsetNumber *chosen)
{
	Page page = BufferGetPage(buffer);
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	OffsetNumber normal[MaxHeapTuplesPerPage];
	uint32 n = 0;
	uint32 k;
	int seen = 0;

	for (OffsetNumber i = FirstOffsetNumber; i <= last; i++)
		if (ItemIdIsNormal(PageGetItemId(page, i)) && n < MaxHeapTuplesPerPage)
			normal[n++] = i;
	k = Min(n, (uint32) wanted);
	for (uint32 i = 0; i < k; i++)
	{
		uint32 from = i * n / k;
		OffsetNumber offset =
			normal[from + random_index_below(block, seed + i, (i + 1) * n / k - from)];
		ItemId item = PageGetItemId(page, offset);
		HeapTupleData tuple;

		tuple.t_tableOid = RelationGetRelid(s->rel);
		tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
		tuple.t_len = ItemIdGetLength(item);
		ItemPointerSet(&tuple.t_self, block, offset);
		if (HeapTupleSatisfiesVisibility(&tuple, s->snapshot, buffer))
			chosen[seen++] = offset;
	}
	s->normal += n;
	s->looked += k;
	return seen;
}

/* Adds some tuples of a page to the sample. */
static void
sample_page_for_estimate(table_sampler *s, BlockNumber block, uint32 seed, int wanted)
{
	PGAlignedBlock copy;
	OffsetNumber chosen[MaxHeapTuplesPerPage];
	int n;
	Buffer buffer;

	CHECK_FOR_INTERRUPTS();
	buffer = ReadBuffer(s->rel, block);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	n = choose_tuples_of_page(s, buffer, block, seed, wanted, chosen);
	memcpy(copy.data, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
	for (int i = 0; i < n; i++)
	{
		ItemId item = PageGetItemId((Page) copy.data, chosen[i]);
		HeapTupleData tuple;

		tuple.t_tableOid = RelationGetRelid(s->rel);
		tuple.t_data = (HeapTupleHeader) PageGetItem((Page) copy.data, item);
		tuple.t_len = ItemIdGetLength(item);
		ItemPointerSet(&tuple.t_self, block, chosen[i]);
		add_tuple_to_estimate(s, &tuple);
	}
}

/* Samples the pages and returns their number. */
static uint32
sample_pages_for_estimate(table_sampler *s, BlockNumber blocks, uint32 seed)
{
	uint32 pages = Min(blocks, PAGES);
	int wanted = (int) ((ROWS + pages - 1) / pages);
	uint32 visited = 0;

	/* STEP is a prime, so this visits each range once, unless STEP divides the number of ranges. */
	for (uint32 i = 0; i < pages && s->bytes < TABLE_BYTES; i++, visited++)
	{
		uint32 stretch = pages % STEP == 0 ? i : i * STEP % pages;
		BlockNumber from = (BlockNumber) ((uint64) stretch * blocks / pages);
		BlockNumber end = (BlockNumber) ((uint64) (stretch + 1) * blocks / pages);

		sample_page_for_estimate(s, from + random_index_below(stretch, seed, end - from), seed,
								 wanted);
	}
	return visited;
}

/*
 * Samples the rows of a readable plain table that the active snapshot sees. A different seed
 * selects other rows. Returns false if the table cannot be sampled.
 */
static bool
sample_table_for_estimate(Relation rel, rb_kind kind, const char *geom_name, uint32 seed,
						  rb_memory *memory, table_sample *sampled)
{
	BlockNumber blocks = RelationGetNumberOfBlocks(rel);
	table_sampler s;
	uint32 pages;
	rb_error error;

	memset(&s, 0, sizeof s);
	s.rel = rel;
	s.snapshot = GetActiveSnapshot();
	s.kind = kind;
	rb_builder_init(&s.builder, memory, kind);
	s.builder.any_leaf = sampled->any_leaf;
	s.builder.flat = sampled->flat;
	s.builder.tile = sampled->tile;
	s.builder.distance = sampled->distance;
	/* The future contents of an empty table are unknown. */
	if (blocks == 0 || !rb_columns_try(&s.columns, RelationGetDescr(rel), kind, geom_name))
		return false;
	if (s.columns.width > 0)
		rb_builder_set_kind(&s.builder, s.columns.kind);
	pages = sample_pages_for_estimate(&s, blocks, seed);
	if (s.unknown > s.taken)
		return false;
	sampled->rows = s.looked > 0 ? s.normal / pages * blocks * (s.taken + s.unknown) / s.looked : 0;
	if (s.builder.outside > 0)
		sampled->rows *= s.builder.nrows / (s.builder.nrows + (double) s.builder.outside);
	sampled->flat = s.builder.flat;
	sampled->all = pages == blocks && s.looked == s.normal && s.unknown == 0;
	return rb_builder_finish(&s.builder, &sampled->set, &error) == RB_OK;
}

/* ---- arguments by name ---- */

typedef struct call_arguments
{
	List *values;
	int n;
	char **names;
	double distance; /* Distance, or 0 if the join has none */
	rb_box tile;     /* Tile; dims is 0 if there is none or if it is unknown */
} call_arguments;

/* Finds names and values of a call's input arguments. */
static bool
find_arguments_of_call(const FuncExpr *call, call_arguments *arguments)
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
constant_argument_of_call(const call_arguments *arguments, const char *name)
{
	for (int i = 0; i < arguments->n; i++)
	{
		Node *value = list_nth(arguments->values, i);

		if (strcmp(arguments->names[i], name) == 0)
			return IsA(value, Const) ? (Const *) value : NULL;
	}
	return NULL;
}

/* Gets the distance of a join. Returns false if it is not constant. */
static bool
get_constant_distance_of_call(const rb_join *join, call_arguments *arguments)
{
	const Const *distance;

	arguments->distance = 0;
	if (!rb_join_has_distance(join))
		return true;
	distance = constant_argument_of_call(arguments, "distance");
	if (distance == NULL || distance->constisnull || distance->consttype != FLOAT8OID)
		return false;
	arguments->distance = DatumGetFloat8(distance->constvalue);
	return arguments->distance >= 0 && arguments->distance <= DBL_MAX;
}

/* Finds the tile. An invalid tile, which the join will reject, is ignored. */
static void
find_tile_of_call(const rb_join *join, call_arguments *arguments)
{
	static const char *const names[2] = {"tile_low", "tile_high"};
	NullableDatum ends[2];

	arguments->tile.dims = 0;
	if (!rb_join_has_tile(join))
		return;
	for (int i = 0; i < 2; i++)
	{
		const Const *end = constant_argument_of_call(arguments, names[i]);

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
	table_sample sample[2]; /* A self join takes two samples of its only side */
} expected_side;

/* Finds table and columns of a side. Returns false if they are not constant. */
static bool
find_side_of_call(const rb_join *join, int i, const call_arguments *arguments, expected_side *side)
{
	const Const *table = constant_argument_of_call(arguments, join->side[i]);
	const Const *geom = constant_argument_of_call(arguments, psprintf("%s_geom", join->side[i]));

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
is_table_being_rewritten(Relation rel)
{
	return rel->rd_refcnt > 1 && CheckRelationLockedByMe(rel, AccessExclusiveLock, false);
}

/* Returns true if the pages of the relation can be read at planning time. */
static bool
is_table_readable_in_planning(Relation rel)
{
	return !is_table_being_rewritten(rel) &&
		   !(IsParallelWorker() && RelationUsesLocalBuffers(rel)) &&
		   may_read_pages_in_planning(rel);
}

/* Returns the kind of the parts of a sample: edges of polygons without marks are segments. */
static rb_kind
kind_of_sample(rb_kind kind)
{
	return kind == RB_EDGE2 ? RB_SEGMENT2 : kind;
}

/* Samples the table of a side. Returns false if it cannot be read. */
static bool
sample_side_table(const rb_join *join, int i, rb_memory *memory, int samples, expected_side *side)
{
	Relation rel = rb_open_if_readable(side->relid);
	bool sampled = rel != NULL && is_table_readable_in_planning(rel);

	for (int k = 0; k < samples && sampled; k++)
		sampled = sample_table_for_estimate(rel, kind_of_sample(join->kind[i]), side->geom_name,
											(uint32) (1 + i + 1000 * k), memory, &side->sample[k]);
	if (rel != NULL)
		relation_close(rel, AccessShareLock);
	return sampled;
}

/* ---- pairs ---- */

/* Returns the typical number of neighbors per row in the same table, each pair counted once. */
static double
typical_neighbors_of_kind(rb_kind kind)
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

/* Estimates the number of pairs from samples of both tables. */
static bool
estimate_table_pairs(const rb_join *join, double distance, rb_memory *memory,
					 const table_sample *red, const table_sample *blue, bool self, double *pairs)
{
	/* Objects inside a solid or polygon usually meet its boundary somewhere. */
	const bool solids =
		join->predicate == RB_INSIDE || rb_join_relates_solids(join) || rb_join_has_polygons(join);
	rb_samples what = {{red->set, blue->set},
					   {red->rows, blue->rows},
					   self,
					   solids ? RB_MEET : join->predicate,
					   distance};
	rb_context ctx;

	/* No leaf function tests a part of a block against a triangle. */
	if (join->predicate == RB_CUBOID)
		return false;
	rb_context_init(&ctx, memory);
	return rb_estimate_pairs(&ctx, &what, pairs) == RB_OK;
}

/*
 * Estimates the pairs of rows within one table, each counted once, without pairs of a row with
 * itself.
 */
static bool
estimate_pairs_within_table(const rb_join *join, double distance, rb_memory *memory,
							const expected_side *side, double *pairs)
{
	if (!estimate_table_pairs(join, distance, memory, &side->sample[0], &side->sample[1], true,
							  pairs))
		return false;
	/* Neighbors in a valid mesh do not count as self-intersections. */
	if (!side->sample[0].all && join->predicate != RB_SELF_INTERSECT)
		*pairs += typical_neighbors_of_kind(join->kind[0]) * side->sample[0].rows;
	return true;
}

/* Samples both tables and estimates the number of pairs. */
static bool
estimate_pairs_of_tables(const rb_join *join, double distance, rb_memory *memory,
						 expected_side *side, double *pairs)
{
	bool same = rb_join_sides(join) == 1 ||
				(side[0].relid == side[1].relid && join->kind[0] == join->kind[1] &&
				 side[0].geom_name == NULL && side[1].geom_name == NULL);

	if (!sample_side_table(join, 0, memory, same ? 2 : 1, &side[0]))
		return false;
	if (!same)
		return sample_side_table(join, 1, memory, 1, &side[1]) &&
			   estimate_table_pairs(join, distance, memory, &side[0].sample[0], &side[1].sample[0],
									false, pairs);
	if (!estimate_pairs_within_table(join, distance, memory, &side[0], pairs))
		return false;
	/* Each pair occurs in both orders, and each row meets itself. */
	if (rb_join_sides(join) == 2)
		*pairs = 2 * *pairs + side[0].sample[0].rows;
	return true;
}

/* ---- core memory, freed with a memory context ---- */

/* Frees the core memory of an estimate when its memory context is deleted. */
static void
destroy_estimate_memory(void *memory)
{
	rb_memory_destroy(memory);
}

/* Opens a memory context with a budget for an estimate. */
static MemoryContext
open_estimate_memory(rb_memory **memory)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "redblue estimate", ALLOCSET_DEFAULT_SIZES);
	MemoryContextCallback *at_end = MemoryContextAllocZero(context, sizeof *at_end);

	*memory = rb_memory_create(ESTIMATE_BYTES);
	at_end->func = destroy_estimate_memory;
	at_end->arg = *memory;
	MemoryContextRegisterResetCallback(context, at_end);
	return context;
}

/*
 * Looking up the entry point loads no other library: either the function's support function was
 * called, or its own library is already loaded (support.c).
 */
const rb_join *
rb_join_of_entry(Oid function)
{
	FmgrInfo info;

	fmgr_info(function, &info);
	return info.fn_strict ? NULL : rb_join_of(info.fn_addr);
}

bool
rb_expect_pairs(const FuncExpr *call, double *pairs)
{
	const rb_join *join = rb_join_of_entry(call->funcid);
	expected_side side[2];
	call_arguments arguments;
	rb_memory *memory;
	MemoryContext context;
	MemoryContext old;
	bool known = true;

	/* Samples consist of whole rows and give no estimate of pairs within a row. */
	if (join == NULL || join->query || rb_join_is_within_rows(join) ||
		rb_join_is_of_each_solid(join) || rb_join_is_local(join) || !IsTransactionState() ||
		!ActiveSnapshotSet() || !IsMVCCSnapshot(GetActiveSnapshot()))
		return false;
	context = open_estimate_memory(&memory);
	old = MemoryContextSwitchTo(context);
	memset(side, 0, sizeof side);
	known = memory != NULL && find_arguments_of_call(call, &arguments) &&
			get_constant_distance_of_call(join, &arguments);
	if (known)
		find_tile_of_call(join, &arguments);
	for (int i = 0; i < rb_join_sides(join) && known; i++)
		known = find_side_of_call(join, i, &arguments, &side[i]);
	known = known && estimate_pairs_of_tables(join, arguments.distance, memory, side, pairs);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return known;
}

/* ---- geometry columns ---- */

/* Samples a geometry column. Returns false if its table cannot be read. */
static bool
sample_geometry_column(const rb_geometry_column *column, uint32 seed, rb_memory *memory,
					   table_sample *sampled)
{
	Relation rel = rb_open_if_readable(column->relid);
	bool known = rel != NULL && is_table_readable_in_planning(rel);

	sampled->any_leaf = true;
	known =
		known && sample_table_for_estimate(rel, RB_TRIANGLE3, column->name, seed, memory, sampled);
	if (rel != NULL)
		relation_close(rel, AccessShareLock);
	return known;
}

/* Samples two geometry columns and estimates the number of pairs. */
static bool
estimate_pairs_of_geometries(const rb_geometry_column *column, rb_predicate predicate,
							 double distance, rb_memory *memory, double *pairs)
{
	const bool self =
		column[0].relid == column[1].relid && strcmp(column[0].name, column[1].name) == 0;
	table_sample sampled[2] = {{0}};
	rb_samples what = {.self = self, .predicate = predicate, .distance = distance};
	rb_context ctx;

	for (int i = 0; i < 2; i++)
		if (!sample_geometry_column(&column[i], (uint32) (1 + i), memory, &sampled[i]))
			return false;
	/* If only one geometry has Z, both are compared in the plane. */
	if (sampled[0].flat != sampled[1].flat)
	{
		const int i = sampled[0].flat ? 1 : 0;

		rb_set_release(&sampled[i].set);
		sampled[i].flat = true;
		if (!sample_geometry_column(&column[i], (uint32) (1 + i), memory, &sampled[i]))
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
	context = open_estimate_memory(&memory);
	old = MemoryContextSwitchTo(context);
	known =
		memory != NULL && estimate_pairs_of_geometries(column, predicate, distance, memory, pairs);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return known;
}
