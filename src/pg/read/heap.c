/*
 * heap.c
 *	  Reads a plain table page by page, bypassing the executor.
 *
 * The heap's own scan decides which tuples of a page the snapshot sees (with its shortcut for
 * all-visible pages) and does everything that a sequential scan does: hint bits, pruning,
 * serializable conflicts. However, the tuples are taken directly from the pinned page instead of
 * one by one through a slot, which saves half of the cost of a row.
 *
 * Only tables for which SELECT * would return the same rows are read in this way. The caller must
 * have the right to select all columns. The table must be a heap without row-level security,
 * children, virtual columns or a hook that checks permissions, and the planner must plan that
 * SELECT as a scan of these pages (plain_scan.c). Everything else goes through the executor
 * (sides.c).
 *
 * Pages are read in their physical order. (A sequential scan may start in the middle of a large
 * table, where another scan currently is.)
 */
#include "pg/read/read.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#define RB_TUPLES_AHEAD 8

/*
 * Rules may change what is read, except for those of a materialized view, which only define its
 * contents.
 */
const char *
rb_table_refusal(Relation rel)
{
	Form_pg_class form = rel->rd_rel;

	if (form->relkind != RELKIND_RELATION && form->relkind != RELKIND_MATVIEW)
		return "it is not a plain table";
	if (form->relkind == RELKIND_RELATION && form->relhasrules)
		return "it has rules";
	if (rel->rd_tableam != GetHeapamTableAmRoutine())
		return "its rows are not stored as a heap";
	if (!form->relispopulated)
		return "it is not populated";
	if (form->relrowsecurity)
		return "it has row-level security";
	if (form->relhassubclass)
		return "other tables inherit from it";
	if (rb_has_virtual_columns(RelationGetDescr(rel)))
		return "it has virtual generated columns";
	if (RELATION_IS_OTHER_TEMP(rel))
		return "it is a temporary table of another session";
	if (RecoveryInProgress())
		return "the server is a standby";
	if (ExecutorCheckPerms_hook != NULL)
		return "an extension has a permission-check hook";
	if (pg_class_aclcheck(RelationGetRelid(rel), GetUserId(), ACL_SELECT) != ACLCHECK_OK)
		return "the user may read only some of its columns";
	return NULL;
}

const char *
rb_heap_refusal(Relation rel)
{
	const char *refusal = rb_table_refusal(rel);

	return refusal != NULL ? refusal : rb_plan_refusal(rel, true);
}

void
rb_heap_begin(rb_heap *heap, Relation rel, rb_receiver *receiver)
{
	memset(heap, 0, sizeof *heap);
	heap->rel = rel;
	heap->receiver = receiver;
	heap->slot = MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsBufferHeapTuple);
	heap->scan = table_beginscan_strat(rel, GetActiveSnapshot(), 0, NULL, true, false);
	heap->blocks = ((HeapScanDesc) heap->scan)->rs_nblocks;
}

void
rb_heap_end(rb_heap *heap)
{
	table_endscan(heap->scan);
	ExecDropSingleTupleTableSlot(heap->slot);
}

/*
 * Prefetches a tuple. The tuples of an all-visible page have not been accessed yet and come from
 * memory. They are stored backward and differ in size, a pattern that the hardware prefetcher does
 * not recognize.
 */
static inline void
prefetch_heap_tuple(Page page, OffsetNumber offset)
{
	const char *data = (const char *) PageGetItem(page, PageGetItemId(page, offset));

	__builtin_prefetch(data);
	__builtin_prefetch(data + 64);
}

/*
 * Passes a tuple of a table page to the receiver, through a slot if its bytes alone are not
 * enough. Returns false if the row is rejected.
 */
static inline bool
receive_tuple_of_page(rb_heap *heap, TupleDesc desc, HeapTuple tuple, Buffer buffer)
{
	rb_received received = rb_receive_tuple(heap->receiver, desc, tuple);
	bool taken;

	if (received != RB_ROW_UNREAD)
		return received == RB_ROW_TAKEN;
	/* The bytes alone are not enough: the row needs detoasting, default values or casts. */
	ExecStoreBufferHeapTuple(tuple, heap->slot, buffer);
	taken = heap->receiver->pub.receiveSlot(heap->slot, &heap->receiver->pub);
	ExecClearTuple(heap->slot);
	return taken;
}

/*
 * Begins the note of a page before its rows are read, because every later change moves the page's
 * LSN. A page may be read in several steps, each of which continues where the previous one stopped.
 */
static rb_page_note *
begin_page_note(rb_heap *heap, BlockNumber block, int slice, int from, bool first,
				rb_row_tally *start)
{
	rb_page_note *note;
	bool visible;

	if (heap->notes == NULL)
		return NULL;
	note = &heap->notes[(Size) block * heap->note_slices + (Size) slice];
	if (first)
	{
		memset(note, 0, sizeof *note);
		note->lsn =
			rb_page_lsn(heap->rel, block, ((HeapScanDesc) heap->scan)->rs_strategy, &visible);
		note->visible = visible;
	}
	else if (note->read != from)
		return NULL;
	heap->receiver->gone.type = 0;
	rb_receiver_tally(heap->receiver, start);
	return note;
}

/* Adds the rows and parts that were read since `start` to the note of a page. */
static void
end_page_note(rb_heap *heap, rb_page_note *note, const rb_row_tally *start, bool whole)
{
	rb_row_tally end;

	if (note == NULL)
		return;
	rb_receiver_tally(heap->receiver, &end);
	note->rows += (uint32) (end.rows - start->rows);
	note->parts += (uint32) (end.parts - start->parts);
	note->skipped += (uint16) (end.skipped - start->skipped);
	if (note->type == 0)
		note->type = end.type;
	note->read = (uint16) heap->at;
	note->whole = whole;
}

/*
 * Reads a slice of a page, from its visible tuple number `from` on. The tuples of a page that a
 * snapshot sees, and therefore their numbers, do not change and are the same in all processes:
 * concurrent changes of the page cannot move a tuple that is still visible.
 *
 * Returns false if reading stops before tuple heap->at of heap->block, because that row was
 * rejected or heap->after requested it.
 */
bool
rb_heap_page(rb_heap *heap, BlockNumber block, int from, int slice, int slices)
{
	HeapScanDesc scan = (HeapScanDesc) heap->scan;
	TupleDesc desc = RelationGetDescr(heap->rel);
	HeapTupleData tuple;
	rb_page_note *note;
	rb_row_tally start = {0, 0, 0, 0};
	Page page;
	int ntuples;
	int end;
	bool go_on = true;

	note = begin_page_note(heap, block, slice, from, from == 0, &start);

	/* Pin the page, find its visible tuples, and check for interrupts. */
	heapgetpage(heap->scan, block);
	page = BufferGetPage(scan->rs_cbuf);
	ntuples = (int) scan->rs_ntuples;
	end = ntuples * (slice + 1) / slices;
	from = Max(from, ntuples * slice / slices);
	heap->block = block;
	heap->at = from;
	heap->tuples = ntuples;
	tuple.t_tableOid = RelationGetRelid(heap->rel);
	while (go_on && heap->at < end)
	{
		OffsetNumber offset = scan->rs_vistuples[heap->at];
		ItemId item = PageGetItemId(page, offset);

		if (heap->at + RB_TUPLES_AHEAD < ntuples)
			prefetch_heap_tuple(page, scan->rs_vistuples[heap->at + RB_TUPLES_AHEAD]);
		tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
		tuple.t_len = ItemIdGetLength(item);
		ItemPointerSet(&tuple.t_self, block, offset);
		go_on = receive_tuple_of_page(heap, desc, &tuple, scan->rs_cbuf);
		if (!go_on)
			break;
		heap->at++;
		if (heap->after != NULL)
			go_on = heap->after(heap);
	}
	/* In every major version, this macro for indexes increments the table's seq_tup_read. */
	pgstat_count_index_tuples(heap->rel, heap->at - from);
	end_page_note(heap, note, &start, heap->at >= end);
	return go_on;
}
