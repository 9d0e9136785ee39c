/*
 * ewkb.c
 *	  Converts values of an unknown geometry format with the type's own ST_AsEWKB.
 *
 * PostGIS trusts the counts in its serialized bytes and reads nested collections recursively, so
 * that damaged bytes can crash the server. It is therefore given only bytes that were checked
 * before.
 */
#include "pg/read/read.h"

#include "catalog/dependency.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/*
 * Finds the function in the schema of the type. Since it is called as the user, it must belong to
 * the same extension as the type: anyone can create a function of that name.
 */
bool
rb_find_as_ewkb(Oid type, bool parallel, MemoryContext context, FmgrInfo *info)
{
	Oid extension = getExtensionOfObject(TypeRelationId, type);
	HeapTuple tuple;
	Oid schema;
	Oid function;

	if (!OidIsValid(extension))
		return false;
	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	if (!HeapTupleIsValid(tuple))
		return false;
	schema = ((Form_pg_type) GETSTRUCT(tuple))->typnamespace;
	ReleaseSysCache(tuple);
	function = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum("st_asewkb"),
							   PointerGetDatum(buildoidvector(&type, 1)), ObjectIdGetDatum(schema));
	if (!OidIsValid(function) || get_func_rettype(function) != BYTEAOID ||
		getExtensionOfObject(ProcedureRelationId, function) != extension ||
		!rb_may_execute(function))
		return false;
	if (parallel && func_parallel(function) != PROPARALLEL_SAFE)
		return false;
	fmgr_info_cxt(function, info, context);
	return true;
}

rb_geometry_fault
rb_read_as_ewkb(FmgrInfo *as_ewkb, rb_builder *b, struct varlena *value, rb_geometry_info *info,
				rb_error *error)
{
	rb_geometry_fault fault = rb_geometry_check_serialized(b, (const uint8_t *) VARDATA_ANY(value),
														   VARSIZE_ANY_EXHDR(value));

	if (fault != RB_GEOMETRY_OK)
		return fault;
	value = DatumGetByteaPP(FunctionCall1(as_ewkb, PointerGetDatum(value)));
	return rb_geometry_read_ewkb(b, (const uint8_t *) VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value),
								 info, error);
}
