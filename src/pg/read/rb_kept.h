/*
 * rb_kept.h
 *	  What the files share that keep sides from one call to the next, grouped under the file
 *	  that defines it.
 *
 *		kept -> card -> visibility
 *
 * A side that is kept is its set, and a card of what was known of each page when it was
 * read: how many rows it had, and what proves that it still has them.
 */
#ifndef RB_KEPT_H
#define RB_KEPT_H

#include "pg/base/rb_pg.h"

#include "access/xlogdefs.h"
#include "storage/buf.h"
#include "storage/bufpage.h"
#include "utils/timestamp.h"

/* ---- visibility.c: the visibility map ---- */

#define RB_MAP_BYTES (BLCKSZ - MAXALIGN(SizeOfPageHeaderData))
#define RB_MAP_WORDS ((int) (RB_MAP_BYTES / sizeof(uint64)))
#define RB_MAP_PAGES ((BlockNumber) RB_MAP_BYTES * 4) /* of the heap, for one of the map */
#define RB_VISIBLE_BITS UINT64CONST(0x5555555555555555)

/* a page of the map, or of bits in its form: the all-visible ones only */
typedef struct rb_map_page
{
	XLogRecPtr lsn;
	uint64 bits[RB_MAP_WORDS];
} rb_map_page;

/* why the map proves nothing of the table; NULL: it does */
extern const char *rb_map_refusal(Relation rel);

extern int rb_map_size(BlockNumber nblocks);
extern rb_map_page *rb_map_read(Relation rel, BlockNumber nblocks);
extern bool rb_map_has(const rb_map_page *map, BlockNumber block);
extern void rb_map_set(rb_map_page *map, BlockNumber block, bool on);
extern BlockNumber rb_map_count(const rb_map_page *map, BlockNumber nblocks);
extern BlockNumber rb_map_run(const rb_map_page *map, BlockNumber nblocks, BlockNumber block);

/* ---- card.c: what was known of each page of a side when it was read ---- */

typedef struct rb_card_page
{
	XLogRecPtr lsn;
	uint32 row; /* the first of this page, and the first part; those of the next end them */
	uint32 part;
	uint32 skipped; /* rows without a part before this page */
	uint32 type;    /* of the first geometry with a part, as messages name it; 0: none */
	int64 id;       /* of the first row */
} rb_card_page;

typedef struct rb_card
{
	BlockNumber nblocks;
	bool whole; /* of use only if no page has changed: its rows were put together as objects */
	bool srid_known;
	int dims;    /* of boxes, 2 or 3; 0: there was none */
	uint32 type; /* as of a page, of the first with a part; 0: there is none */
	int64 id;
	rb_map_page map[FLEXIBLE_ARRAY_MEMBER]; /* L, and which pages are kept; then pages */
} rb_card;

/* bytes before those of the pages, and in all */
extern Size rb_card_head_size(BlockNumber nblocks);
extern Size rb_card_size(BlockNumber nblocks);

/* of each page; one more ends the last */
extern rb_card_page *rb_card_pages(const rb_card *card);

/*
 * A card without the facts of the side, from notes of pages that were read between these
 * two moments.  notes: `slices` for each page.
 */
extern rb_card *rb_card_make(const rb_page_note *notes, uint32 slices, BlockNumber nblocks,
							 const rb_map_page *before, const rb_map_page *after);

/* notes as they would be if the pages that are in the map `which` were read now */
extern void rb_card_notes(const rb_card *card, const rb_map_page *which, rb_page_note *notes);

/* is that map the card's own, and all of it kept?  Then no page need be looked at. */
extern bool rb_card_is_clean(const rb_card *card, BlockNumber nblocks, const rb_map_page *now);

/*
 * Which pages are as they were, of a table of so many pages whose map is `now`: those that
 * stay set there.  True: the card has been renewed, and proves the same with less work.
 */
extern bool rb_card_check(rb_card *card, Relation rel, BlockNumber nblocks, rb_map_page *now);

/* ---- visibility.c: a page of the heap ---- */

extern XLogRecPtr rb_page_lsn(Relation rel, BlockNumber block, BufferAccessStrategy strategy,
							  bool *all_visible);

#endif /* RB_KEPT_H */
