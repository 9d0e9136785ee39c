/*
 * manifest.c
 *	  Builds and checks the manifest of a cached side: what was known of each page of the table when
 *	  it was read.
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
 */
#include "pg/read/cache.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"

Size
rb_card_head_size(BlockNumber nblocks)
{
	return offsetof(rb_card, map) + (Size) rb_map_size(nblocks) * sizeof(rb_map_page);
}

Size
rb_card_size(BlockNumber nblocks)
{
	return rb_card_head_size(nblocks) + ((Size) nblocks + 1) * sizeof(rb_card_page);
}

rb_card_page *
rb_card_pages(const rb_card *card)
{
	return (rb_card_page *) unconstify(rb_map_page *, card->map + rb_map_size(card->nblocks));
}

/* ---- building ---- */

/* Adds up the notes of all slices of a page. Returns false if one of them is missing. */
static bool
add_slices(const rb_page_note *note, uint32 slices, rb_page_note *sum)
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
		bool whole = add_slices(&notes[(Size) block * slices], slices, &note);

		/*
		 * rule: page_flag. Cache only pages that were flagged all-visible when they were read,
		 * because a process clears the bit in the map only if it sees the flag on the page.
		 */
		if (!whole || !note.visible)
			rb_map_set(card->map, block, false);
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

/* Applies the second proof (visibility_map.c) to the pages that are set in one page of the map. */
static void
check_pages(const rb_card *card, Relation rel, BlockNumber first, rb_map_page *now)
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
			rb_map_set(now, i, false);
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
		check_pages(card, rel, (BlockNumber) i * RB_MAP_PAGES, &now[i]);
		card->map[i] = now[i];
		renewed = true;
	}
	return renewed;
}
