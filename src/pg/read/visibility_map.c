/*
 * visibility_map.c
 *	  Proves with the visibility map that a page has not changed since it was read.
 *
 * The map has a bit for each page of a table, which is set if all of its rows are visible to every
 * transaction. VACUUM sets the bit, and thereby moves L, the LSN of the page of the map. A process
 * that changes a row clears the bit first. For the pages covered by one page of the map it follows:
 *
 *	1. The bit was set when the page was read, it is set now, and L is the same.  Then the
 *	   bit was never clear in between, because setting it again would have moved L.  The
 *	   page has the same rows, and all snapshots now in use see all of them.
 *	2. The bit is set now, but L has moved for one of its 32,672 pages.  Then the LSN of
 *	   the page itself decides, because every change of its rows moves that.
 *
 * The converse does not hold: a moved L, or a moved LSN of the page, need not mean a change. In
 * that case the page is read again.
 *
 * The order matters: take the snapshot, then the number of pages, then the map, and then read the
 * pages whose bit is not set. A process that clears a bit after the map was read makes changes that
 * the snapshot does not see.
 *
 * All of this holds only for tables whose changes are logged, and not for what a transaction does
 * to a table that only it can see; rb_map_refusal checks these conditions.
 */
#include "pg/read/cache.h"

#include "access/visibilitymap.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#define BITS_PER_PAGE 2 /* An all-visible and an all-frozen bit */

/*
 * Returns the reason why the map proves nothing to this transaction, or NULL if it is usable. Each
 * rule is one line.
 */
const char *
rb_map_refusal(Relation rel)
{
	const Snapshot snapshot = GetActiveSnapshot();
	const struct
	{
		bool holds;
		const char *text;
	} rules[] = {
		/* rule: logged. Without WAL the LSN of a map page never moves. */
		{rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT,
		 "only permanent, logged tables can be cached"},
		/* rule: created. COPY FREEZE adds rows to pages that are already all-visible. */
		{rel->rd_createSubid != InvalidSubTransactionId, "this transaction created the table"},
		/* rule: rewritten. COPY FREEZE may follow TRUNCATE; wal_level = minimal keeps L at 0. */
		{rb_first_filenode_subid(rel) != InvalidSubTransactionId,
		 "this transaction truncated or rewrote the table"},
		/* rule: old_snapshot. VACUUM may remove rows that the snapshot sees; a scan detects it. */
		{rb_old_snapshots_expire(), "old_snapshot_threshold is set"},
		/* rule: serializable. Conflicts are detected by the pages that a transaction reads. */
		{IsolationIsSerializable(), "the transaction isolation level is serializable"},
		/* rule: mvcc. The bits apply to MVCC snapshots, except those taken on a standby. */
		{snapshot->snapshot_type != SNAPSHOT_MVCC || snapshot->takenDuringRecovery,
		 "the snapshot is not a regular MVCC snapshot"},
	};

	for (size_t i = 0; i < lengthof(rules); i++)
		if (rules[i].holds)
			return rules[i].text;
	return NULL;
}

int
rb_map_size(BlockNumber nblocks)
{
	return (int) ((nblocks + (RB_MAP_PAGES - 1)) / RB_MAP_PAGES);
}

/* Copies one page of the map: its LSN and its bits at the same moment. */
static void
read_page(Relation rel, BlockNumber first, rb_map_page *to, Buffer *buffer)
{
	(void) visibilitymap_get_status(rel, first, buffer);
	if (!BufferIsValid(*buffer)) /* The map ends before this page */
	{
		memset(to, 0, sizeof *to);
		return;
	}
	/* rule: map_lock. Bits are cleared under the exclusive lock; unlocked reads may be outdated. */
	LockBuffer(*buffer, BUFFER_LOCK_SHARE);
	to->lsn = BufferGetLSNAtomic(*buffer);
	memcpy(to->bits, PageGetContents(BufferGetPage(*buffer)), RB_MAP_BYTES);
	LockBuffer(*buffer, BUFFER_LOCK_UNLOCK);
	for (int i = 0; i < RB_MAP_WORDS; i++)
		to->bits[i] &= RB_VISIBLE_BITS;
}

/* Clears all bits of the page except those of its first `n` heap pages. */
static void
cut_page(rb_map_page *page, BlockNumber n)
{
	uint8 *bytes = (uint8 *) page->bits;
	BlockNumber per_byte = BITS_PER_BYTE / BITS_PER_PAGE;

	if (n >= RB_MAP_PAGES)
		return;
	if (n % per_byte != 0)
		bytes[n / per_byte] &= (uint8) ((1 << (n % per_byte * BITS_PER_PAGE)) - 1);
	n = (n + per_byte - 1) / per_byte;
	memset(bytes + n, 0, RB_MAP_BYTES - n);
}

rb_map_page *
rb_map_read(Relation rel, BlockNumber nblocks)
{
	int n = rb_map_size(nblocks);
	rb_map_page *map = MemoryContextAllocHuge(CurrentMemoryContext, (Size) Max(n, 1) * sizeof *map);
	Buffer buffer = InvalidBuffer;

	for (int i = 0; i < n; i++)
		read_page(rel, (BlockNumber) i * RB_MAP_PAGES, &map[i], &buffer);
	if (BufferIsValid(buffer))
		ReleaseBuffer(buffer);
	if (n > 0)
		cut_page(&map[n - 1], nblocks - (BlockNumber) (n - 1) * RB_MAP_PAGES);
	return map;
}

bool
rb_map_has(const rb_map_page *map, BlockNumber block)
{
	const uint8 *bytes = (const uint8 *) map[block / RB_MAP_PAGES].bits;
	BlockNumber at = block % RB_MAP_PAGES * BITS_PER_PAGE;

	return (bytes[at / BITS_PER_BYTE] >> at % BITS_PER_BYTE & 1) != 0;
}

void
rb_map_set(rb_map_page *map, BlockNumber block, bool on)
{
	uint8 *byte = (uint8 *) map[block / RB_MAP_PAGES].bits +
				  block % RB_MAP_PAGES * BITS_PER_PAGE / BITS_PER_BYTE;
	uint8 bit = (uint8) (1 << block * BITS_PER_PAGE % BITS_PER_BYTE);

	*byte = on ? *byte | bit : *byte & (uint8) ~bit;
}

BlockNumber
rb_map_count(const rb_map_page *map, BlockNumber nblocks)
{
	BlockNumber n = 0;

	for (int i = 0; i < rb_map_size(nblocks); i++)
		for (int k = 0; k < RB_MAP_WORDS; k++)
			n += (BlockNumber) __builtin_popcountll(map[i].bits[k]);
	return n;
}

/* Returns the end of the run of pages whose bit equals that of `block`. */
BlockNumber
rb_map_run(const rb_map_page *map, BlockNumber nblocks, BlockNumber block)
{
	const bool on = rb_map_has(map, block);
	const uint64 all = on ? RB_VISIBLE_BITS : 0;
	const BlockNumber per_word = 64 / BITS_PER_PAGE;

	for (block++; block < nblocks; block++)
	{
		/* Skip whole words of equal bits. */
		while (block % RB_MAP_PAGES % per_word == 0 && nblocks - block >= per_word &&
			   map[block / RB_MAP_PAGES].bits[block % RB_MAP_PAGES / per_word] == all)
		{
			block += per_word;
			if (block == nblocks)
				return block;
		}
		if (rb_map_has(map, block) != on)
			return block;
	}
	return block;
}

XLogRecPtr
rb_page_lsn(Relation rel, BlockNumber block, BufferAccessStrategy strategy, bool *all_visible)
{
	Buffer buffer = ReadBufferExtended(rel, MAIN_FORKNUM, block, RBM_NORMAL, strategy);
	XLogRecPtr lsn;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	lsn = BufferGetLSNAtomic(buffer);
	*all_visible = PageIsAllVisible(BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);
	return lsn;
}
