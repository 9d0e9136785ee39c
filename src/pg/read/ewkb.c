/*
 * ewkb.c
 *	  ST_AsEWKB of a type: what makes known bytes of a value of an unknown form.
 *
 * PostGIS trusts the counts in its own bytes and reads nested collections by recursion: damaged
 * bytes end the server.  So it gets none that were not walked through before.
 */
#include "pg/base/rb_pg.h"

#include "catalog/dependency.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/*
 * That of the type's own schema.  The function is called as the user, so it must come with the
 * type, from the same extension: anybody can make a function of that name.
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
