/*
 * function.c
 *	  Which of our joins an SQL function stands for, if any: asked while a statement is
 *	  planned, of every function that it calls.
 */
#include "pg/base/rb_pg.h"

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
 * The join that an SQL function stands for, by its entry point.  A function that was
 * given settings of its own, or runs with its owner's rights, has another entry point
 * and is none.  Only functions with our support function are asked, so that no other
 * library is loaded.
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
