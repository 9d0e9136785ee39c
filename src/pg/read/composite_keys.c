/*
 * composite_keys.c
 *	  Identifies rows by key columns of any type: uuid, text, (code, part).
 *
 *	bytes	|key 0|key 1|key 2|...		minimal tuples of the key's columns
 *	start	0     ^     ^				where each begins
 *
 * In the join, the id of a row is the number of its key. When a pair is returned, the two keys are
 * looked up and returned as they were stored.
 *
 * If rows with equal keys form one object, a key that occurred before gets its existing number.
 * Equality is that of PostgreSQL: the type's own operator and hash function, with the collation of
 * the column.
 */
#include "pg/read/read.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "executor/tuptable.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"
#include "utils/varlena.h"

#define RB_FIRST_KEYS 1024

rb_keys *
rb_keys_create(const char *names, bool objects)
{
	rb_keys *keys = palloc0(sizeof *keys);

	keys->names = names;
	keys->objects = objects;
	return keys;
}

/* ---- columns of the key ---- */

/*
 * Returns the name of the argument that lists the key columns, for error messages: "red_key",
 * "blue_object".
 */
static const char *
key_argument_name(const rb_keys *keys, const rb_source *source)
{
	return psprintf("%s_%s", source->side, keys->objects ? "object" : "key");
}

/* Returns the numbers of the columns in the caller's list. */
static List *
find_named_key_columns(const rb_keys *keys, TupleDesc desc, const rb_source *source)
{
	List *names;
	List *attnos = NIL;
	ListCell *lc;

	if (!SplitIdentifierString(pstrdup(keys->names), ',', &names) || names == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: argument \"%s\" is not a list of columns: %s", source->function,
						key_argument_name(keys, source), keys->names),
				 errhint("Write a comma-separated list of column names as in SQL: 'code, part'.")));
	foreach (lc, names)
		attnos = lappend_int(attnos, rb_column_named(desc, lfirst(lc), source).attno);
	return attnos;
}

/*
 * Finds the functions that hash and compare a key column, or raises an ERROR if its type has none.
 */
static void
find_key_column_type(rb_keys *keys, int i, const rb_source *source)
{
	Form_pg_attribute att = TupleDescAttr(keys->desc, i);
	TypeCacheEntry *type = lookup_type_cache(getBaseType(att->atttypid),
											 TYPECACHE_HASH_PROC_FINFO | TYPECACHE_EQ_OPR_FINFO);

	if (!OidIsValid(type->hash_proc_finfo.fn_oid) || !OidIsValid(type->eq_opr_finfo.fn_oid))
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
						errmsg("%s: column \"%s\" of %s is of type %s", source->function,
							   NameStr(att->attname), source->side, format_type_be(att->atttypid)),
						errdetail("Columns that identify an object must have a hashable type."),
						errhint("Cast the column to text in a view.")));
	fmgr_info_copy(&keys->type[i].hash, &type->hash_proc_finfo, CurrentMemoryContext);
	fmgr_info_copy(&keys->type[i].equal, &type->eq_opr_finfo, CurrentMemoryContext);
	keys->type[i].collation = att->attcollation;
}

void
rb_keys_find(rb_keys *keys, Relation rel, const rb_source *source)
{
	TupleDesc desc = RelationGetDescr(rel);
	List *attnos =
		keys->names != NULL ? find_named_key_columns(keys, desc, source) : rb_primary_key(rel);
	int n = list_length(attnos);

	if (n == 0)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
						errmsg("%s: %s has no primary key", source->function, source->side),
						errdetail("The columns are: %s.", rb_list_columns(desc)),
						errhint("Name the key columns in the call: %s => '...'.",
								key_argument_name(keys, source))));
	keys->desc = CreateTemplateTupleDesc(n);
	keys->attno = palloc(n * sizeof *keys->attno);
	keys->type = palloc0(n * sizeof *keys->type);
	for (int i = 0; i < n; i++)
	{
		keys->attno[i] = (AttrNumber) list_nth_int(attnos, i);
		TupleDescCopyEntry(keys->desc, (AttrNumber) (i + 1), desc, keys->attno[i]);
		if (keys->objects)
			find_key_column_type(keys, i, source);
	}
	TupleDescFinalize(keys->desc);
	keys->slot = MakeSingleTupleTableSlot(keys->desc, &TTSOpsMinimalTuple);
}

/* ---- storing keys ---- */

/*
 * Fetches a value that is stored out of line, because the pointer to it would otherwise be followed
 * again later.
 */
static Datum
fetch_whole_key_value(Datum value, Form_pg_attribute att)
{
	if (att->attlen == -1 && VARATT_IS_EXTERNAL(DatumGetPointer(value)))
		return PointerGetDatum(detoast_external_attr((struct varlena *) DatumGetPointer(value)));
	return value;
}

/* Forms the key of a row as a tuple with the values of its key columns. */
static MinimalTuple
form_composite_key(const rb_keys *keys, TupleTableSlot *slot)
{
	int n = keys->desc->natts;
	Datum *values = palloc(n * sizeof *values);
	bool *nulls = palloc0(n * sizeof *nulls);

	for (int i = 0; i < n; i++)
		values[i] = fetch_whole_key_value(slot->tts_values[keys->attno[i] - 1],
										  TupleDescAttr(keys->desc, i));
	return rb_form_minimal_tuple(keys->desc, values, nulls);
}

/* Appends a key to those stored and gives it the next number. */
static rb_status
append_composite_key(rb_keys *keys, MinimalTuple tuple, rb_memory *memory, rb_error *error)
{
	RB_TRY(rb_grow_array(memory, (void **) &keys->bytes, &keys->bytes_cap,
						 keys->used + MAXALIGN(tuple->t_len), 1, error));
	RB_TRY(rb_grow_array(memory, (void **) &keys->start, &keys->start_cap, (size_t) keys->n + 1,
						 sizeof *keys->start, error));
	memcpy(keys->bytes + keys->used, tuple, tuple->t_len);
	keys->start[keys->n++] = keys->used;
	keys->used += MAXALIGN(tuple->t_len);
	return RB_OK;
}

void
rb_keys_get(const rb_keys *keys, int64 number, TupleTableSlot *slot)
{
	ExecStoreMinimalTuple((MinimalTuple) (keys->bytes + keys->start[number]), slot, false);
	slot_getallattrs(slot);
}

/* ---- objects: finding equal keys ---- */

/* Returns a hash of the key columns of a row. */
static uint32
hash_composite_key(rb_keys *keys, TupleTableSlot *slot)
{
	uint32 hash = 0;

	for (int i = 0; i < keys->desc->natts; i++)
		hash = (hash << 1 | hash >> 31) ^
			   DatumGetUInt32(FunctionCall1Coll(&keys->type[i].hash, keys->type[i].collation,
												slot->tts_values[keys->attno[i] - 1]));
	return hash * UINT32_C(0x9e3779b1);
}

/* Returns true if the key columns of a row equal the stored key of that number. */
static bool
is_composite_key(rb_keys *keys, uint32 number, TupleTableSlot *slot)
{
	rb_keys_get(keys, number, keys->slot);
	for (int i = 0; i < keys->desc->natts; i++)
		if (!DatumGetBool(FunctionCall2Coll(&keys->type[i].equal, keys->type[i].collation,
											keys->slot->tts_values[i],
											slot->tts_values[keys->attno[i] - 1])))
			return false;
	return true;
}

/* Ensures that there are at least twice as many buckets as keys. */
static rb_status
grow_key_buckets(rb_keys *keys, rb_memory *memory, rb_error *error)
{
	size_t n = Max(keys->nbuckets * 2, (size_t) RB_FIRST_KEYS);

	if (((size_t) keys->n + 1) * 2 <= keys->nbuckets)
		return RB_OK;
	RB_TRY(rb_resize(memory, (void **) &keys->bucket, n * sizeof *keys->bucket, error));
	keys->nbuckets = n;
	memset(keys->bucket, 0, n * sizeof *keys->bucket);
	for (uint32 i = 0; i < keys->n; i++)
	{
		size_t at = keys->hash[i] & (n - 1);

		while (keys->bucket[at] != 0)
			at = (at + 1) & (n - 1);
		keys->bucket[at] = i + 1;
	}
	return RB_OK;
}

/* Finds the number of a row's key, or stores the key under a new number. */
static rb_status
find_or_add_composite_key(rb_keys *keys, TupleTableSlot *slot, rb_memory *memory, int64 *number,
						  rb_error *error)
{
	uint32 hash = hash_composite_key(keys, slot);
	size_t at;

	RB_TRY(grow_key_buckets(keys, memory, error));
	RB_TRY(rb_grow_array(memory, (void **) &keys->hash, &keys->hash_cap, (size_t) keys->n + 1,
						 sizeof *keys->hash, error));
	for (at = hash & (keys->nbuckets - 1); keys->bucket[at] != 0;
		 at = (at + 1) & (keys->nbuckets - 1))
	{
		*number = keys->bucket[at] - 1;
		if (keys->hash[*number] == hash && is_composite_key(keys, (uint32) *number, slot))
			return RB_OK;
	}
	*number = keys->n;
	RB_TRY(append_composite_key(keys, form_composite_key(keys, slot), memory, error));
	keys->hash[*number] = hash;
	keys->bucket[at] = keys->n;
	return RB_OK;
}

rb_status
rb_keys_store(rb_keys *keys, TupleTableSlot *slot, rb_memory *memory, int64 *number,
			  rb_error *error)
{
	if (keys->objects)
		return find_or_add_composite_key(keys, slot, memory, number, error);
	*number = keys->n;
	return append_composite_key(keys, form_composite_key(keys, slot), memory, error);
}

/* ---- messages ---- */

char *
rb_keys_text(const rb_keys *keys, TupleTableSlot *slot)
{
	StringInfoData names;
	StringInfoData values;
	int n = keys->desc->natts;

	initStringInfo(&names);
	initStringInfo(&values);
	for (int i = 0; i < n; i++)
	{
		Form_pg_attribute att = TupleDescAttr(keys->desc, i);
		Oid output;
		bool is_varlena;

		getTypeOutputInfo(att->atttypid, &output, &is_varlena);
		appendStringInfo(&names, "%s%s", i > 0 ? ", " : "", NameStr(att->attname));
		appendStringInfo(&values, "%s%s", i > 0 ? ", " : "",
						 slot->tts_isnull[keys->attno[i] - 1]
							 ? "null"
							 : OidOutputFunctionCall(output, slot->tts_values[keys->attno[i] - 1]));
	}
	return psprintf(n == 1 ? "%s = %s" : "(%s) = (%s)", names.data, rb_shorten(values.data));
}
