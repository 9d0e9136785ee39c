/*
 * manifest.h
 *	  Declares manifests of cached sides, and what the visibility map proves.
 *
 * A cached side consists of its set and a manifest (rb_card) of what was known of each page when it
 * was read: how many rows it had, and what proves that it still has them.
 */
#ifndef RB_PG_READ_MANIFEST_H
#define RB_PG_READ_MANIFEST_H

#include "pg/read/read.h"

#include "access/xlogdefs.h"
#include "storage/buf.h"
#include "storage/bufpage.h"
#include "utils/timestamp.h"

/* ---- the visibility map ---- */

#define RB_MAP_BYTES (BLCKSZ - MAXALIGN(SizeOfPageHeaderData))
#define RB_MAP_WORDS ((int) (RB_MAP_BYTES / sizeof(uint64)))
#define RB_MAP_BITS 2 /* Bits of a heap page: all-visible and all-frozen */
#define RB_MAP_PAGES ((BlockNumber) RB_MAP_BYTES * 4) /* Heap pages per page of the map */
#define RB_VISIBLE_BITS UINT64CONST(0x5555555555555555)

/* A page of the visibility map, or of a bitmap in its format; only the all-visible bits are used */
typedef struct rb_map_page
{
	XLogRecPtr lsn;
	uint64 bits[RB_MAP_WORDS];
} rb_map_page;

/* Returns the number of pages of the map. */
static inline int
rb_map_size(BlockNumber nblocks)
{
	return (int) ((nblocks + (RB_MAP_PAGES - 1)) / RB_MAP_PAGES);
}

/* Returns true if the page's all-visible bit is set. */
static inline bool
rb_map_has(const rb_map_page *map, BlockNumber block)
{
	const uint8 *bytes = (const uint8 *) map[block / RB_MAP_PAGES].bits;
	BlockNumber at = block % RB_MAP_PAGES * RB_MAP_BITS;

	return (bytes[at / BITS_PER_BYTE] >> at % BITS_PER_BYTE & 1) != 0;
}

/* Returns the reason why the map proves nothing about the table, or NULL if it is usable. */
extern const char *rb_map_refusal(Relation rel);

/* Reads the visibility map of the table's first `nblocks` pages, in the current memory context. */
extern rb_map_page *rb_map_read(Relation rel, BlockNumber nblocks);
/* Returns the number of pages that are marked all-visible. */
extern BlockNumber rb_map_count(const rb_map_page *map, BlockNumber nblocks);
/* Returns the end of the run of pages that starts at `block` and whose marks equal its mark. */
extern BlockNumber rb_map_run(const rb_map_page *map, BlockNumber nblocks, BlockNumber block);

/* ---- the manifest of the pages of a cached side ---- */

typedef struct rb_card_page
{
	XLogRecPtr lsn;
	/* Indices of the page's first row and first part; the next entry holds their ends */
	uint32 row;
	uint32 part;
	uint32 skipped; /* Rows without a part before this page */
	uint32 type;    /* Type of the first geometry with a part, or 0 if there is none */
	int64 id;       /* Id of the first row */
} rb_card_page;

typedef struct rb_card
{
	BlockNumber nblocks;
	/*
	 * True if a single changed page invalidates the side, because its rows were grouped into
	 * objects
	 */
	bool whole;
	bool srid_known;
	int dims;    /* Dimensions of boxes, 2 or 3, or 0 if the side has no boxes */
	uint32 type; /* Type of the first geometry with a part, or 0 if there is none */
	int64 id;
	/* LSNs and bits of the cached pages; the page entries follow */
	rb_map_page map[FLEXIBLE_ARRAY_MEMBER];
} rb_card;

/* Returns the size of a manifest in bytes without the page entries. */
static inline Size
rb_card_head_size(BlockNumber nblocks)
{
	return offsetof(rb_card, map) + (Size) rb_map_size(nblocks) * sizeof(rb_map_page);
}

/* Returns the size of a manifest in bytes. */
static inline Size
rb_card_size(BlockNumber nblocks)
{
	return rb_card_head_size(nblocks) + ((Size) nblocks + 1) * sizeof(rb_card_page);
}

/* Returns the page entries. One extra entry ends the last page. */
static inline rb_card_page *
rb_card_pages(const rb_card *card)
{
	return (rb_card_page *) unconstify(rb_map_page *, card->map + rb_map_size(card->nblocks));
}

/*
 * Builds a manifest, except for the facts of the side, from the notes of pages that were read
 * between two copies of the map. `notes` has `slices` elements per page. Returns NULL if a page was
 * not read completely.
 */
extern rb_card *rb_card_make(const rb_page_note *notes, uint32 slices, BlockNumber nblocks,
							 const rb_map_page *before, const rb_map_page *after);

/* Fills in the notes of the pages set in the map `which`, as if they were read now. */
extern void rb_card_notes(const rb_card *card, const rb_map_page *which, rb_page_note *notes);

/*
 * Returns true if all pages are cached and the map alone proves that none has changed, so that no
 * page need be read.
 */
extern bool rb_card_is_clean(const rb_card *card, BlockNumber nblocks, const rb_map_page *now);

/*
 * Determines which pages of a table, whose map is `now`, are unchanged, and clears the bits of all
 * others in `now`. Returns true if the manifest was updated, so that it now proves the same with
 * less work.
 */
extern bool rb_card_check(rb_card *card, Relation rel, BlockNumber nblocks, rb_map_page *now);

/* ---- pages of the heap ---- */

/* Returns the LSN of a page, and whether all its rows are visible to all transactions. */
extern XLogRecPtr rb_page_lsn(Relation rel, BlockNumber block, BufferAccessStrategy strategy,
							  bool *all_visible);

#endif /* RB_PG_READ_MANIFEST_H */
