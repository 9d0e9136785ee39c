/*
 * manifest.c
 *	  Builds and checks the manifest of a cached side: what was known of each page of the table when
 *	  it was read, and what proves that the page has not changed since.
 *
 *	page of the visibility map	its LSN, and a bit for each cached page
 *	page of the heap			its LSN; where its rows and parts begin in the set
 *
 * The entry of a page takes 32 bytes for its 8 kB; a session needs the entries only if some page
 * has changed. Validity is decided for each page, not for the table: a changed row costs only the
 * page that contains it. A manifest is plain bytes without pointers, so it can be copied between
 * processes.
 *
 * Only the LSNs and bits of the map pages in a manifest are ever modified. If the LSNs of the heap
 * pages had to be checked, the result is recorded together with the current LSN of the map page, so
 * that the check need not be repeated.
 *
 * The proof is the visibility map. It has a bit for each page of a table, which is set if all of
 * its rows are visible to every transaction. VACUUM sets the bit, and thereby moves L, the LSN of
 * the page of the map. A process that changes a row clears the bit first. For the pages covered by
 * one page of the map it follows:
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
#include "pg/read/read.h"

#include "access/visibilitymap.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

/* ---- the visibility map ---- */

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

/* Copies one page of the map: its LSN and its bits at the same moment. */
static void
read_map_page(Relation rel, BlockNumber first, rb_map_page *to, Buffer *buffer)
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
clear_bits_beyond_pages(rb_map_page *page, BlockNumber n)
{
	uint8 *bytes = (uint8 *) page->bits;
	BlockNumber per_byte = BITS_PER_BYTE / RB_MAP_BITS;

	if (n >= RB_MAP_PAGES)
		return;
	if (n % per_byte != 0)
		bytes[n / per_byte] &= (uint8) ((1 << (n % per_byte * RB_MAP_BITS)) - 1);
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
		read_map_page(rel, (BlockNumber) i * RB_MAP_PAGES, &map[i], &buffer);
	if (BufferIsValid(buffer))
		ReleaseBuffer(buffer);
	if (n > 0)
		clear_bits_beyond_pages(&map[n - 1], nblocks - (BlockNumber) (n - 1) * RB_MAP_PAGES);
	return map;
}

/* Sets or clears the all-visible bit of a page in the map. */
static void
set_bit_in_map(rb_map_page *map, BlockNumber block, bool on)
{
	uint8 *byte = (uint8 *) map[block / RB_MAP_PAGES].bits +
				  block % RB_MAP_PAGES * RB_MAP_BITS / BITS_PER_BYTE;
	uint8 bit = (uint8) (1 << block * RB_MAP_BITS % BITS_PER_BYTE);

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
	const BlockNumber per_word = 64 / RB_MAP_BITS;

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

/* ---- manifests ---- */

/* Adds up the notes of all slices of a page. Returns false if one of them is missing. */
static bool
add_notes_of_page_slices(const rb_page_note *note, uint32 slices, rb_page_note *sum)
{
	*sum = note[0];
	for (uint32 i = 0; i < slices; i++)
	{
		if (!note[i].whole)
			return false;
		if (i == 0)
			continue;
		sum->rows += note[i].rows;
		sum->parts += note[i].parts;
		sum->skipped += note[i].skipped;
		sum->visible &= note[i].visible && note[i].lsn == note[0].lsn;
		if (sum->type == 0)
			sum->type = note[i].type;
	}
	return true;
}

rb_card *
rb_card_make(const rb_page_note *notes, uint32 slices, BlockNumber nblocks,
			 const rb_map_page *before, const rb_map_page *after)
{
	Size size = rb_card_size(nblocks);
	rb_card *card = MemoryContextAllocHuge(CurrentMemoryContext, size);
	rb_card_page *page;
	rb_card_page next;

	memset(card, 0, size);
	memset(&next, 0, sizeof next);
	card->nblocks = nblocks;
	memcpy(card->map, after, (Size) rb_map_size(nblocks) * sizeof *after);
	/*
	 * If the LSN of the map page changed while its pages were read, the map page proves nothing,
	 * and the LSNs of the heap pages must decide.
	 */
	for (int i = 0; i < rb_map_size(nblocks); i++)
		if (before[i].lsn != after[i].lsn) /* rule: moved_while_reading */
			card->map[i].lsn = InvalidXLogRecPtr;
	page = rb_card_pages(card);
	for (BlockNumber block = 0; block < nblocks; block++)
	{
		rb_page_note note;
		bool whole = add_notes_of_page_slices(&notes[(Size) block * slices], slices, &note);

		/*
		 * rule: page_flag. Cache only pages that were flagged all-visible when they were read,
		 * because a process clears the bit in the map only if it sees the flag on the page.
		 */
		if (!whole || !note.visible)
			set_bit_in_map(card->map, block, false);
		page[block] = next;
		page[block].lsn = note.lsn;
		page[block].type = note.type;
		next.row += note.rows;
		next.part += note.parts;
		next.skipped += note.skipped;
		if (!whole)
			return NULL;
	}
	page[nblocks] = next;
	return card;
}

void
rb_card_notes(const rb_card *card, const rb_map_page *which, rb_page_note *notes)
{
	const rb_card_page *page = rb_card_pages(card);

	for (BlockNumber block = 0; block < card->nblocks; block++)
	{
		rb_page_note *note = &notes[block];

		if (!rb_map_has(which, block))
			continue;
		note->lsn = page[block].lsn;
		note->rows = page[block + 1].row - page[block].row;
		note->parts = page[block + 1].part - page[block].part;
		note->skipped = page[block + 1].skipped - page[block].skipped;
		note->type = page[block].type;
		note->visible = note->whole = true;
	}
}

/* ---- checking ---- */

/* Applies proof 2 above, the LSNs of pages, to the pages that are set in one page of the map. */
static void
check_pages_of_map_page(const rb_card *card, Relation rel, BlockNumber first, rb_map_page *now)
{
	const rb_card_page *page = rb_card_pages(card);
	BlockNumber n = Min(RB_MAP_PAGES, card->nblocks - first);
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);

	for (BlockNumber i = 0; i < n; i++)
	{
		bool all_visible;

		if (!rb_map_has(now, i))
			continue;
		CHECK_FOR_INTERRUPTS();
		if (rb_page_lsn(rel, first + i, strategy, &all_visible) !=
			page[first + i].lsn) /* rule: page_lsn */
			set_bit_in_map(now, i, false);
	}
	FreeAccessStrategy(strategy);
}

bool
rb_card_is_clean(const rb_card *card, BlockNumber nblocks, const rb_map_page *now)
{
	if (nblocks != card->nblocks || rb_map_count(card->map, nblocks) != nblocks ||
		rb_map_count(now, nblocks) != nblocks)
		return false;
	for (int i = 0; i < rb_map_size(nblocks); i++)
		if (now[i].lsn != card->map[i].lsn || now[i].lsn == InvalidXLogRecPtr)
			return false;
	return true;
}

bool
rb_card_check(rb_card *card, Relation rel, BlockNumber nblocks, rb_map_page *now)
{
	const int n = rb_map_size(nblocks);
	const int kept = rb_map_size(card->nblocks);
	bool renewed = false;

	for (int i = 0; i < n; i++)
	{
		if (i >= kept)
		{
			memset(now[i].bits, 0, sizeof now[i].bits);
			continue;
		}
		for (int k = 0; k < RB_MAP_WORDS; k++)
			now[i].bits[k] &= card->map[i].bits[k];
		if (now[i].lsn == card->map[i].lsn && now[i].lsn != InvalidXLogRecPtr)
			continue;
		check_pages_of_map_page(card, rel, (BlockNumber) i * RB_MAP_PAGES, &now[i]);
		card->map[i] = now[i];
		renewed = true;
	}
	return renewed;
}
