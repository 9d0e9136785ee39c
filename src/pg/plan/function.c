/*
 * function.c
 *	  Identifies SQL functions that stand for a join. Called during planning for every function of a
 *	  statement.
 */
#include "pg/func/func.h"
#include "pg/plan/plan.h"

#include "utils/lsyscache.h"

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
	FmgrInfo info;

	if (!rb_is_supported(function))
		return NULL;
	fmgr_info(function, &info);
	return info.fn_strict ? NULL : rb_join_of(info.fn_addr);
}
