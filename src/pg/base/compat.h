/*
 * compat.h
 *	  Hides the differences between PostgreSQL versions 14 to 19.
 *
 * Include it right after postgres.h and fmgr.h. It includes the headers that it adapts.
 */
#ifndef RB_PG_BASE_COMPAT_H
#define RB_PG_BASE_COMPAT_H

#if PG_VERSION_NUM < 140000
#error "redblue needs PostgreSQL 14 or newer"
#endif

#include "access/heapam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/shm_mq.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/rel.h"

/* 16: the varlena macros moved out of postgres.h. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* 15: a module can reserve its prefix. Before, it could only warn about unknown settings. */
#if PG_VERSION_NUM < 150000
#define MarkGUCPrefixReserved(prefix) EmitWarningsOnPlaceholders(prefix)
#endif

/* 16: a function finds a setting. Before, settings were stored in an array. */
#include "utils/guc_tables.h"

static inline const struct config_generic *
rb_find_setting(const char *name)
{
#if PG_VERSION_NUM >= 160000
	return find_option(name, false, true, DEBUG5);
#else
	struct config_generic **all = get_guc_variables();

	for (int i = 0; i < GetNumConfigOptions(); i++)
		if (pg_strcasecmp(all[i]->name, name) == 0)
			return all[i];
	return NULL;
#endif
}

/*
 * 19: a setting has a member for each type of value. Before, each type had a struct of its own,
 * which began with the setting.
 */
static inline const char *
rb_setting_text(const struct config_generic *setting)
{
#if PG_VERSION_NUM >= 190000
	return *setting->_string.variable;
#else
	return *((const struct config_string *) setting)->variable;
#endif
}

/* 15: a function sets up a materialized result set. Before, every module had its own copy. */
#if PG_VERSION_NUM < 150000
#include "utils/tuplestore.h"

#define MAT_SRF_USE_EXPECTED_DESC 0x01

static inline void
InitMaterializedSRF(FunctionCallInfo fcinfo, bits32 flags)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext old;
	TupleDesc desc;

	if (rsinfo == NULL || !IsA(rsinfo, ReturnSetInfo))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("set-valued function called in context that cannot accept a set")));
	if (!(rsinfo->allowedModes & SFRM_Materialize))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("materialize mode required, but it is not allowed in this context")));
	old = MemoryContextSwitchTo(rsinfo->econtext->ecxt_per_query_memory);
	if ((flags & MAT_SRF_USE_EXPECTED_DESC) != 0)
		desc = CreateTupleDescCopy(rsinfo->expectedDesc);
	else if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	rsinfo->returnMode = SFRM_Materialize;
	rsinfo->setDesc = desc;
	rsinfo->setResult = tuplestore_begin_heap((rsinfo->allowedModes & SFRM_Materialize_Random) != 0,
											  false, work_mem);
	MemoryContextSwitchTo(old);
}
#endif

/* 15: a custom scan declares that it can project. Before, that was assumed. */
#if PG_VERSION_NUM < 150000
#define CUSTOMPATH_SUPPORT_PROJECTION 0
#endif

/* 16: one function checks the privileges on all kinds of objects. */
#if PG_VERSION_NUM >= 160000
#define rb_may_execute(funcid) \
	(object_aclcheck(ProcedureRelationId, (funcid), GetUserId(), ACL_EXECUTE) == ACLCHECK_OK)
#define rb_may_use_schema(schema) \
	(object_aclcheck(NamespaceRelationId, (schema), GetUserId(), ACL_USAGE) == ACLCHECK_OK)
#define rb_owns_relation(relid) object_ownercheck(RelationRelationId, (relid), GetUserId())
#else
#define rb_may_execute(funcid) (pg_proc_aclcheck((funcid), GetUserId(), ACL_EXECUTE) == ACLCHECK_OK)
#define rb_may_use_schema(schema) \
	(pg_namespace_aclcheck((schema), GetUserId(), ACL_USAGE) == ACLCHECK_OK)
#define rb_owns_relation(relid) pg_class_ownercheck((relid), GetUserId())
#endif

/* 15: a message can be flushed to its receiver at once. Before, it always was. */
#if PG_VERSION_NUM >= 150000
#define rb_shm_mq_sendv(mq, iov, n) shm_mq_sendv((mq), (iov), (n), false, true)
#else
#define rb_shm_mq_sendv(mq, iov, n) shm_mq_sendv((mq), (iov), (n), false)
#endif

/*
 * 15: shared memory is requested in a hook. Before, it was requested while the library was loaded.
 */
#include "storage/ipc.h"
#if PG_VERSION_NUM >= 150000
#define rb_install_shmem_request(previous, hook) \
	((previous) = shmem_request_hook, shmem_request_hook = (hook))
#else
typedef void (*shmem_request_hook_type)(void);
#define rb_install_shmem_request(previous, hook) ((previous) = NULL, (hook) ())
#endif

/* 15: the statement MERGE was added. */
#if PG_VERSION_NUM >= 150000
#define rb_is_merge(node) IsA(node, MergeStmt)
#else
#define rb_is_merge(node) false
#endif

/* 15: the function was renamed. 19: the planner takes the EXPLAIN state. */
#include "tcop/tcopprot.h"
#if PG_VERSION_NUM >= 150000
#define rb_analyze_and_rewrite(statement, text) \
	pg_analyze_and_rewrite_fixedparams((statement), (text), NULL, 0, NULL)
#else
#define rb_analyze_and_rewrite(statement, text) \
	pg_analyze_and_rewrite((statement), (text), NULL, 0, NULL)
#endif
#if PG_VERSION_NUM >= 190000
#define rb_plan_query(query, text, options) pg_plan_query((query), (text), (options), NULL, NULL)
#else
#define rb_plan_query(query, text, options) pg_plan_query((query), (text), (options), NULL)
#endif

/* 19: a tuple descriptor must be finalized once all its columns are set. */
#if PG_VERSION_NUM < 190000 && !defined(TupleDescFinalize)
#define TupleDescFinalize(desc) ((void) (desc))
#endif

/*
 * 17: a heap scan reads its pages through a stream, and no function reads a chosen page any more.
 * Computing the visible tuples of the page that the scan has pinned is still a separate function.
 * This replacement pins the chosen page and calls that function.
 */
#if PG_VERSION_NUM >= 170000
static inline void
heapgetpage(TableScanDesc sscan, BlockNumber block)
{
	HeapScanDesc scan = (HeapScanDesc) sscan;

	if (BufferIsValid(scan->rs_cbuf))
		ReleaseBuffer(scan->rs_cbuf);
	scan->rs_cbuf = InvalidBuffer;
	CHECK_FOR_INTERRUPTS();
	scan->rs_cbuf =
		ReadBufferExtended(sscan->rs_rd, MAIN_FORKNUM, block, RBM_NORMAL, scan->rs_strategy);
	scan->rs_cblock = block;
	heap_prepare_pagescan(sscan);
}
#endif

/* 16: the file of a table is identified by a RelFileLocator instead of a RelFileNode. */
#if PG_VERSION_NUM >= 160000
#define rb_tablespace(rel) ((rel)->rd_locator.spcOid)
#define rb_filenode(rel) ((rel)->rd_locator.relNumber)
#define rb_first_filenode_subid(rel) ((rel)->rd_firstRelfilelocatorSubid)
#else
#define rb_tablespace(rel) ((rel)->rd_node.spcNode)
#define rb_filenode(rel) ((rel)->rd_node.relNode)
#define rb_first_filenode_subid(rel) ((rel)->rd_firstRelfilenodeSubid)
#endif

/* 17: snapshots never become too old. */
#if PG_VERSION_NUM >= 170000
#define rb_old_snapshots_expire() false
#else
#include "utils/snapmgr.h"
#define rb_old_snapshots_expire() OldSnapshotThresholdActive()
#endif

/* 18: a minimal tuple can have extra space in front. */
#if PG_VERSION_NUM >= 180000
#define rb_form_minimal_tuple(desc, values, nulls) \
	heap_form_minimal_tuple((desc), (values), (nulls), 0)
#else
#define rb_form_minimal_tuple(desc, values, nulls) \
	heap_form_minimal_tuple((desc), (values), (nulls))
#endif

/* 16: the caller chooses whether a sorted value is copied. */
#if PG_VERSION_NUM >= 160000
#define rb_tuplesort_getdatum(sort, value, null) \
	tuplesort_getdatum((sort), true, false, (value), (null), NULL)
#else
#define rb_tuplesort_getdatum(sort, value, null) \
	tuplesort_getdatum((sort), true, (value), (null), NULL)
#endif

/* 18: EXPLAIN output functions have their own headers. */
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif

/* 18: virtual generated columns are computed on read and are not stored in the tuple. */
#if PG_VERSION_NUM >= 180000
#define rb_has_virtual_columns(desc) \
	((desc)->constr != NULL && (desc)->constr->has_generated_virtual)
#else
#define rb_has_virtual_columns(desc) false
#endif

/* 18: pg_noreturn is a prefix that replaces pg_attribute_noreturn(). */
#ifndef pg_noreturn
#define pg_noreturn _Noreturn
#endif

/* 18: a module can declare its name and version. */
#ifdef PG_MODULE_MAGIC_EXT
#define RB_MODULE_MAGIC PG_MODULE_MAGIC_EXT(.name = "redblue", .version = RB_VERSION)
#else
#define RB_MODULE_MAGIC PG_MODULE_MAGIC
#endif

/*
 * 16: a Var above an outer join lists the joins that can make it null. This function returns true
 * if two nodes differ at most in that list.
 */
#include "nodes/pathnodes.h"

static inline bool
rb_same_but_for_nulling(const Node *a, const Node *b)
{
#if PG_VERSION_NUM >= 160000
	if (IsA(a, Var) && IsA(b, Var))
		return ((const Var *) a)->varno == ((const Var *) b)->varno &&
			   ((const Var *) a)->varattno == ((const Var *) b)->varattno &&
			   ((const Var *) a)->varlevelsup == ((const Var *) b)->varlevelsup;
	if (IsA(a, PlaceHolderVar) && IsA(b, PlaceHolderVar))
		return ((const PlaceHolderVar *) a)->phid == ((const PlaceHolderVar *) b)->phid &&
			   ((const PlaceHolderVar *) a)->phlevelsup == ((const PlaceHolderVar *) b)->phlevelsup;
#endif
	return false;
}

/* 18: a path counts its disabled nodes. Before, disabled nodes got a very high cost. */
#if PG_VERSION_NUM >= 180000
#define rb_disabled_nodes(path) ((path)->disabled_nodes)
#define rb_set_disabled_nodes(path, n) ((path)->disabled_nodes = (n))
#else
#define rb_disabled_nodes(path) 0
#define rb_set_disabled_nodes(path, n) ((void) (n))
#endif

/*
 * 19: the planner and its hook take the EXPLAIN state, and the hook after parse analysis takes a
 * const argument.
 */
#if PG_VERSION_NUM >= 190000
#define RB_PLANNER_PARAMETER , ExplainState *explain
#define RB_PLANNER_ARGUMENT , explain
#define RB_JUMBLE_CONST const
#else
#define RB_PLANNER_PARAMETER
#define RB_PLANNER_ARGUMENT
#define RB_JUMBLE_CONST
#endif

/* 19: the counters of a plan node have their own type, which contains the general counters. */
#include "executor/instrument.h"
#if PG_VERSION_NUM >= 190000
typedef NodeInstrumentation rb_node_counters;
#define rb_node_is_timed(counters) ((counters)->instr.need_timer)
#else
typedef Instrumentation rb_node_counters;
#define rb_node_is_timed(counters) ((counters)->need_timer)
#endif

/* 19: the subpaths of an Append are passed in one structure. */
#include "optimizer/pathnode.h"

static inline Path *
rb_append_of_one(PlannerInfo *root, RelOptInfo *rel, Path *path)
{
#if PG_VERSION_NUM >= 190000
	const AppendPathInput below = {.subpaths = list_make1(path)};

	return (Path *) create_append_path(root, rel, below, NIL, NULL, 0, false, -1);
#else
	return (Path *) create_append_path(root, rel, list_make1(path), NIL, NIL, NULL, 0, false, -1);
#endif
}

/* 19: a signal handler takes a second argument, and PG_SIG_IGN casts SIG_IGN to that type. */
#ifndef PG_SIG_IGN
#define PG_SIG_IGN SIG_IGN
#endif

#endif /* RB_PG_BASE_COMPAT_H */
