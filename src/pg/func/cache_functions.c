/*
 * cache_functions.c
 *	  Implements redblue_cache, redblue_uncache and redblue_cached, which manage cached tables by
 *	  name.
 */
#include "pg/base/arguments.h"
#include "pg/func/func.h"
#include "pg/worker/worker.h"

#include "access/relation.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

static const struct
{
	const char *name;
	rb_kind kind;
} kinds[] = {{"triangles", RB_TRIANGLE3}, {"segments", RB_SEGMENT3}, {"segments2d", RB_SEGMENT2},
			 {"boxes", RB_BOX3},          {"polygons", RB_EDGE2},    {"points", RB_POINT3}};

/* Returns the name of a kind of cached sides, such as "triangles". */
static const char *
name_of_cached_kind(rb_kind kind)
{
	for (size_t i = 0; i < lengthof(kinds); i++)
		if (kinds[i].kind == kind)
			return kinds[i].name;
	return "";
}

/* Reads the argument "kind". */
static rb_kind
read_kind_to_cache(const rb_arguments *a)
{
	const NullableDatum *arg = rb_argument(a, "kind");
	const char *name;

	if (arg->isnull)
		return RB_TRIANGLE3;
	name = TextDatumGetCString(arg->value);
	for (size_t k = 0; k < lengthof(kinds); k++)
		if (strcmp(kinds[k].name, name) == 0)
			return kinds[k].kind;
	ereport(
		ERROR,
		(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		 errmsg("redblue_cache: invalid value for argument \"kind\": \"%s\"", name),
		 errhint("Available values: triangles, segments, segments2d, boxes, polygons, points.")));
}

/* Returns a hint that says what to cache instead of a relation that is not a plain table. */
static const char *
hint_what_to_cache_instead(char relkind)
{
	switch (relkind)
	{
		case RELKIND_VIEW:
			return "Cache the table that the view reads, or make it a materialized view.";
		case RELKIND_PARTITIONED_TABLE:
			return "Cache its partitions, each by its name.";
		case RELKIND_FOREIGN_TABLE:
			return "Copy it into a table or a materialized view.";
		default:
			return "Joins read it like any other table.";
	}
}

/* Raises an ERROR unless the relation is a permanent plain table. */
static void
refuse_uncacheable_relation(const rb_source *source)
{
	Relation rel = source->rel;

	if (OidIsValid(source->heap) && rel->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("redblue_cache: cannot cache \"%s\"", RelationGetRelationName(rel)),
			 OidIsValid(source->heap)
				 ? errdetail("Changes to %s table are not logged, so redblue cannot verify that a "
							 "cached copy is current.",
							 rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP ? "a temporary"
																				: "an unlogged")
				 : errdetail("Only rows read from the pages of a table can be cached: %s.",
							 rb_heap_refusal(rel)),
			 !OidIsValid(source->heap)
				 ? errhint("%s", hint_what_to_cache_instead(rel->rd_rel->relkind))
			 : rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP
				 ? errhint("Copy it into a permanent table.")
				 : errhint("Run ALTER TABLE %s SET LOGGED; or copy it into a permanent table.",
						   quote_identifier(RelationGetRelationName(rel)))));
}

/* Raises an ERROR if the settings do not allow caching. */
static void
refuse_uncacheable_settings(void)
{
	if (rb_setting_cache == RB_CACHE_OFF)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("redblue_cache: redblue.cache is off"),
						errhint("Run SET redblue.cache = auto;")));
	if (rb_setting_cache_memory == 0)
		ereport(
			ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("redblue_cache: redblue.cache_memory is 0"),
			 errhint(
				 "Run ALTER SYSTEM SET redblue.cache_memory = '1GB'; SELECT pg_reload_conf();")));
}

typedef struct reading
{
	rb_memory *memory;
	rb_side_data side;
	MemoryContextCallback at_end;
} reading;

/* Frees the set and memory of a side. */
static void
end_reading_to_cache(void *arg)
{
	reading *r = arg;

	rb_set_release(&r->side.set);
	rb_memory_destroy(r->memory);
	r->memory = NULL;
}

/* Sends the side to the worker, unless it already has it. */
static void
send_side_to_cache(const rb_source *source, reading *r)
{
	char why_not[200];
	rb_context ctx;

	if (r->side.keep == NULL)
		return;
	rb_context_init(&ctx, r->memory);
	ctx.threads = rb_threads(r->side.set->nparts);
	if (rb_worker_keep(source->function, &ctx, r->side.set, r->side.keep, r->side.card, why_not,
					   sizeof why_not))
		rb_side_cache_note_sent(r->side.look, NULL);
	else
		rb_side_cache_note_sent(r->side.look, why_not);
}

PG_FUNCTION_INFO_V1(redblue_cache);

/* Reads the table as a join would, and caches it. */
Datum
redblue_cache(PG_FUNCTION_ARGS)
{
	MemoryContext caller;
	reading *r;
	rb_arguments a;
	rb_source source;
	rb_cache_facts facts;
	Oid relid;
	TupleDesc desc;
	Datum values[4];
	bool nulls[4] = {false};

	rb_arguments_bind(&a, "redblue_cache", "relation kind id geom face_tolerance", NULL, 0,
					  fcinfo->args);
	relid = DatumGetObjectId(rb_argument_required(&a, "relation"));
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	refuse_uncacheable_settings();
	caller = rb_call_enter();
	memset(&source, 0, sizeof source);
	source.function = "redblue_cache";
	source.side = "relation";
	source.kind = read_kind_to_cache(&a);
	source.id_name = rb_argument_column(&a, "id", NULL);
	source.geom_name = rb_argument_column(&a, "geom", NULL);
	source.face_tolerance = rb_argument_tolerance(&a);
	source.keep = true;
	rb_source_table(&source, relid);
	refuse_uncacheable_relation(&source);

	r = palloc0(sizeof *r);
	r->at_end.func = end_reading_to_cache;
	r->at_end.arg = r;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &r->at_end);
	r->memory = rb_memory_open(source.function, (uint64) rb_setting_memory_limit * 1024);
	rb_read_sides(&source, 1, r->memory, NULL, &r->side);
	send_side_to_cache(&source, r);
	rb_side_cache_get_facts(r->side.look, &facts);
	if (facts.reason != NULL)
		ereport(NOTICE,
				(errmsg("redblue_cache: %s was not cached", quote_identifier(get_rel_name(relid))),
				 errdetail("Reason: %s.", facts.reason)));
	values[0] = Int64GetDatum((int64) r->side.rows);
	values[1] = Int64GetDatum((int64) facts.bytes);
	values[2] = Int64GetDatum((int64) facts.pages);
	values[3] = Int64GetDatum((int64) facts.kept);
	rb_call_leave(caller);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

PG_FUNCTION_INFO_V1(redblue_uncache);

/* Evicts a table from the cache. Only its owner may do so. */
Datum
redblue_uncache(PG_FUNCTION_ARGS)
{
	Oid relid = PG_ARGISNULL(0) ? InvalidOid : PG_GETARG_OID(0);
	char *name = OidIsValid(relid) ? get_rel_name(relid) : NULL;

	if (!PG_ARGISNULL(0) && name == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("redblue_uncache: relation with OID %u does not exist", relid)));
	if (name != NULL && !rb_owns_relation(relid))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, name);
	PG_RETURN_INT64((int64) rb_side_cache_evict("redblue_uncache", relid));
}

PG_FUNCTION_INFO_V1(redblue_cached);

Datum
redblue_cached(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	rb_cache_facts facts;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; rb_side_cache_next_facts(&i, &facts);)
	{
		Datum values[10];
		bool nulls[10] = {false};

		/* Show the existence and size of a table only to roles that may read it. */
		if (get_rel_name(facts.relid) == NULL ||
			pg_class_aclcheck(facts.relid, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
			continue;
		values[0] = ObjectIdGetDatum(facts.relid);
		values[1] = CStringGetTextDatum(name_of_cached_kind(facts.kind));
		values[2] = Int64GetDatum((int64) facts.rows);
		values[3] = Int64GetDatum((int64) facts.bytes);
		values[4] = Int64GetDatum((int64) facts.device_bytes);
		values[5] = Int64GetDatum((int64) facts.pages);
		values[6] = Int64GetDatum((int64) facts.kept);
		values[7] = Int64GetDatum((int64) facts.hits);
		values[8] = TimestampTzGetDatum(facts.used);
		nulls[9] = facts.reason == NULL;
		values[9] = nulls[9] ? (Datum) 0 : CStringGetTextDatum(facts.reason);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}
