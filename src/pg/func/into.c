/*
 * into.c
 *	  Implements redblue_into, which inserts the rows of a query into a table in batches.
 *
 * INSERT handles every row individually: a slot, a page to find, a log record. The multi-insert of
 * the table access method, which COPY uses, takes a thousand rows at once. It does not support
 * triggers, constraints, indexes, defaults, partitions, policies or rules, nor an extension that
 * stores the rows elsewhere. If the target has any of these, or if its columns differ from those of
 * the query, the rows are inserted by INSERT INTO target query, which is slower but otherwise
 * equivalent.
 */
#include "pg/base/arguments.h"
#include "pg/func/func.h"

#include "access/heapam.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/rel.h"

/* Rows or bytes collected before they are written; same values as in COPY */
#define RB_INTO_ROWS 1000
#define RB_INTO_BYTES 65535

#define FUNCTION "redblue_into"

typedef struct rb_into
{
	DestReceiver pub; /* Must be first */
	Relation target;
	CommandId command;
	BulkInsertState bulk;
	/*
	 * Copies of the rows. Slots of the table's own type would keep the pages of their rows pinned.
	 */
	TupleTableSlot *slots[RB_INTO_ROWS];
	int n;
	Size bytes;
	MemoryContext flush_context; /* Temporary memory for writing the collected rows */
} rb_into;

/* ---- columns ---- */

/* Returns true if target and query have columns of the same types. */
static bool
are_column_types_same(TupleDesc target, TupleDesc query)
{
	if (target->natts != query->natts)
		return false;
	for (int i = 0; i < target->natts; i++)
		if (TupleDescAttr(target, i)->atttypid != TupleDescAttr(query, i)->atttypid)
			return false;
	return true;
}

/*
 * Returns true if the columns are the same, in the same order, and need no conversion, default or
 * generated value.
 */
static bool
are_columns_insertable_as_is(TupleDesc target, TupleDesc query)
{
	if (!are_column_types_same(target, query))
		return false;
	for (int i = 0; i < target->natts; i++)
	{
		Form_pg_attribute to = TupleDescAttr(target, i);

		if (to->attisdropped || to->attidentity != '\0' || to->attgenerated != '\0' ||
			(to->atttypmod != -1 && to->atttypmod != TupleDescAttr(query, i)->atttypmod))
			return false;
	}
	return true;
}

/* ---- the DestReceiver ---- */

/* Inserts the buffered rows. */
static void
insert_buffered_rows(rb_into *w)
{
	MemoryContext old = MemoryContextSwitchTo(w->flush_context);

	table_multi_insert(w->target, w->slots, w->n, w->command, 0, w->bulk);
	MemoryContextSwitchTo(old);
	MemoryContextReset(w->flush_context);
	for (int i = 0; i < w->n; i++)
		ExecClearTuple(w->slots[i]);
	w->n = 0;
	w->bytes = 0;
}

/* Raises an ERROR if a row has a null in a column that allows none. */
static void
refuse_nulls_in_target(const rb_into *w, TupleTableSlot *slot)
{
	TupleDesc desc = RelationGetDescr(w->target);

	slot_getallattrs(slot);
	for (int i = 0; i < desc->natts; i++)
		if (slot->tts_isnull[i] && TupleDescAttr(desc, i)->attnotnull)
			ereport(
				ERROR,
				(errcode(ERRCODE_NOT_NULL_VIOLATION),
				 errmsg(
					 "null value in column \"%s\" of relation \"%s\" violates not-null constraint",
					 NameStr(TupleDescAttr(desc, i)->attname), RelationGetRelationName(w->target)),
				 errtablecol(w->target, i + 1)));
}

/* Buffers a copy of a row, and inserts the buffer when it is full. */
static bool
receive_row_to_insert(TupleTableSlot *slot, DestReceiver *self)
{
	rb_into *w = (rb_into *) self;
	TupleTableSlot *copy;

	CHECK_FOR_INTERRUPTS();
	refuse_nulls_in_target(w, slot);
	if (w->slots[w->n] == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(w));

		w->slots[w->n] = MakeSingleTupleTableSlot(RelationGetDescr(w->target), &TTSOpsHeapTuple);
		MemoryContextSwitchTo(old);
	}
	copy = w->slots[w->n++];
	ExecCopySlot(copy, slot);
	w->bytes += ((HeapTupleTableSlot *) copy)->tuple->t_len;
	if (w->n == RB_INTO_ROWS || w->bytes > RB_INTO_BYTES)
		insert_buffered_rows(w);
	return true;
}

/* Begins the bulk insertion. */
static void
start_inserter(DestReceiver *self, int operation, TupleDesc desc)
{
	rb_into *w = (rb_into *) self;

	/* The query may have been replanned over changed objects since its columns were compared. */
	if (!are_column_types_same(RelationGetDescr(w->target), desc))
		elog(ERROR, "%s: columns of the source changed during execution", FUNCTION);
	/* The query's snapshot has been taken and does not see the rows to come. */
	w->command = GetCurrentCommandId(true);
	w->bulk = GetBulkInsertState();
}

/* Inserts the last rows and ends the bulk insertion. */
static void
shutdown_inserter(DestReceiver *self)
{
	rb_into *w = (rb_into *) self;

	if (w->n > 0)
		insert_buffered_rows(w);
	FreeBulkInsertState(w->bulk);
	table_finish_bulk_insert(w->target, 0);
	for (int i = 0; i < RB_INTO_ROWS && w->slots[i] != NULL; i++)
		ExecDropSingleTupleTableSlot(w->slots[i]);
}

/*
 * Does nothing; the memory context frees the inserting receiver. A DestReceiver must have this
 * callback.
 */
static void
destroy_inserter(DestReceiver *self)
{
}

/* Creates the receiver that inserts rows into the target. */
static rb_into *
create_inserting_receiver(Relation target)
{
	rb_into *w = palloc0(sizeof *w);

	w->pub.receiveSlot = receive_row_to_insert;
	w->pub.rStartup = start_inserter;
	w->pub.rShutdown = shutdown_inserter;
	w->pub.rDestroy = destroy_inserter;
	w->pub.mydest = DestTuplestore; /* Any destination that stores rows */
	w->target = target;
	w->flush_context =
		AllocSetContextCreate(CurrentMemoryContext, "redblue into", ALLOCSET_DEFAULT_SIZES);
	return w;
}

/* ---- whether rows may be inserted directly ---- */

bool
rb_is_plain_table(Relation rel)
{
	Form_pg_class form = rel->rd_rel;
	TupleConstr *constraints = RelationGetDescr(rel)->constr;

	return form->relkind == RELKIND_RELATION && rel->rd_tableam == GetHeapamTableAmRoutine() &&
		   !form->relispartition && !form->relhasrules && !form->relrowsecurity &&
		   !form->relhasindex && rel->trigdesc == NULL && !IsSystemRelation(rel) &&
		   !RELATION_IS_OTHER_TEMP(rel) && ExecutorCheckPerms_hook == NULL &&
		   (constraints == NULL || constraints->num_check == 0);
}

/*
 * Returns true if the target takes the query's rows as they are, in batches of heap_multi_insert;
 * otherwise the function runs an INSERT.
 */
static bool
can_multi_insert(Relation target, TupleDesc query)
{
	return rb_is_plain_table(target) &&
		   are_columns_insertable_as_is(RelationGetDescr(target), query) &&
		   pg_class_aclcheck(RelationGetRelid(target), GetUserId(), ACL_INSERT) == ACLCHECK_OK &&
		   rb_inserts_are_plain(target);
}

/* ---- the function ---- */

/* Executes a plan with the receiver as destination. */
static void
execute_query_to_insert(SPIPlanPtr plan, DestReceiver *receiver)
{
	SPIExecuteOptions options;
	int rc;

	memset(&options, 0, sizeof options);
	options.dest = receiver;
	rc = SPI_execute_plan_extended(plan, &options);
	if (rc < 0)
		elog(ERROR, "%s: SPI_execute_plan_extended: %s", FUNCTION, SPI_result_code_string(rc));
}

/* Prepares a statement. */
static SPIPlanPtr
prepare_query_to_insert(const char *sql)
{
	SPIPlanPtr plan = SPI_prepare(sql, 0, NULL);

	if (plan == NULL)
		elog(ERROR, "%s: SPI_prepare: %s", FUNCTION, SPI_result_code_string(SPI_result));
	return plan;
}

/* Opens the target table for insertion. */
static Relation
open_target_table(Oid relid)
{
	Relation target = rb_relation_open(relid, RowExclusiveLock, ACL_INSERT, FUNCTION, "target");

	if (target->rd_rel->relpersistence != RELPERSISTENCE_TEMP)
		PreventCommandIfReadOnly("redblue_into()");
	PreventCommandIfParallelMode("redblue_into()");
	return target;
}

PG_FUNCTION_INFO_V1(redblue_into);

Datum
redblue_into(PG_FUNCTION_ARGS)
{
	rb_source source = {.function = FUNCTION, .side = "source", .query = true};
	rb_arguments a;
	Oid relid;
	Relation target;
	SPIPlanPtr plan;
	CachedPlanSource *parsed;
	uint64 rows;

	rb_arguments_bind(&a, FUNCTION, "target source", NULL, 0, fcinfo->args);
	relid = DatumGetObjectId(rb_argument_required(&a, "target"));
	rb_source_query(&source, TextDatumGetCString(rb_argument_required(&a, "source")));
	target = open_target_table(relid);

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "%s: SPI_connect failed", FUNCTION);
	plan = prepare_query_to_insert(source.sql);
	parsed = linitial(SPI_plan_get_plan_sources(plan));
	if (can_multi_insert(target, parsed->resultDesc))
		execute_query_to_insert(plan, &create_inserting_receiver(target)->pub);
	else
	{
		const char *name = quote_qualified_identifier(
			get_namespace_name(RelationGetNamespace(target)), RelationGetRelationName(target));

		ereport(DEBUG1, (errmsg_internal("%s: inserting rows one by one into %s", FUNCTION, name)));
		execute_query_to_insert(
			prepare_query_to_insert(psprintf("INSERT INTO %s %s", name, source.sql)), NULL);
	}
	rows = SPI_processed;
	SPI_finish();
	relation_close(target, NoLock);
	PG_RETURN_INT64((int64) rows);
}
