/*
 * heap.c
 *	  A plain table is read page by page, past the executor.
 *
 * The heap's own scan decides which tuples of a page the snapshot sees (with the
 * shortcut for pages that are visible to all), and does what a sequential scan
 * does besides: hint bits, pruning, serializable conflicts.  We take the tuples
 * from the pinned page instead of one by one through a slot, which is half of the
 * cost of a row.
 *
 * Only what SELECT * FROM ONLY would read the same: a heap that the caller may
 * select all of, without row-level security, without children, without a hook
 * that wants to see who reads what.  Everything else goes through the executor
 * (source.c, run.c).
 */
#include "rb_pg.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

bool
rb_heap_readable(Relation rel)
{
	Form_pg_class form = rel->rd_rel;

	return (form->relkind == RELKIND_RELATION || form->relkind == RELKIND_MATVIEW) &&
		   rel->rd_tableam == GetHeapamTableAmRoutine() && form->relispopulated &&
		   !form->relrowsecurity && !form->relhassubclass && !form->relhasrules &&
		   !RELATION_IS_OTHER_TEMP(rel) && !RecoveryInProgress() &&
		   ExecutorCheckPerms_hook == NULL &&
		   pg_class_aclcheck(RelationGetRelid(rel), GetUserId(), ACL_SELECT) == ACLCHECK_OK;
}

/* the tuple may need more than its bytes: detoasting, default values, casts */
static void
receive_slot(DestReceiver *receiver, TupleTableSlot *slot, HeapTuple tuple, Buffer buffer)
{
	ExecStoreBufferHeapTuple(tuple, slot, buffer);
	receiver->receiveSlot(slot, receiver);
	ExecClearTuple(slot);
}

#if PG_VERSION_NUM < 170000

static void
read_pages(Relation rel, TableScanDesc scan, TupleTableSlot *slot, DestReceiver *receiver)
{
	HeapScanDesc heap = (HeapScanDesc) scan;
	TupleDesc desc = RelationGetDescr(rel);
	HeapTupleData tuple;

	tuple.t_tableOid = RelationGetRelid(rel);
	for (BlockNumber block = 0; block < heap->rs_nblocks; block++)
	{
		Page page;

		/* pins the page, finds its visible tuples, looks for interrupts */
		heapgetpage(scan, block);
		page = BufferGetPage(heap->rs_cbuf);
		for (int i = 0; i < heap->rs_ntuples; i++)
		{
			OffsetNumber offset = heap->rs_vistuples[i];
			ItemId item = PageGetItemId(page, offset);

			tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
			tuple.t_len = ItemIdGetLength(item);
			ItemPointerSet(&tuple.t_self, block, offset);
			if (!rb_receive_tuple(receiver, desc, &tuple))
				receive_slot(receiver, slot, &tuple, heap->rs_cbuf);
		}
	}
}

#else

/* 17: reading ahead belongs to the scan, so the tuples come from it one by one */
static void
read_pages(Relation rel, TableScanDesc scan, TupleTableSlot *slot, DestReceiver *receiver)
{
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
		receiver->receiveSlot(slot, receiver);
}

#endif

/* all rows that the active snapshot sees, into a receiver */
void
rb_heap_read(Oid relid, DestReceiver *receiver)
{
	/* locked when it became a source */
	Relation rel = table_open(relid, NoLock);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsBufferHeapTuple);
	TableScanDesc scan;

	receiver->rStartup(receiver, CMD_SELECT, RelationGetDescr(rel));
	scan = table_beginscan(rel, GetActiveSnapshot(), 0, NULL);
	read_pages(rel, scan, slot, receiver);
	table_endscan(scan);
	receiver->rShutdown(receiver);
	ExecDropSingleTupleTableSlot(slot);
	table_close(rel, NoLock);
}
