/*
 * side_cache.c
 *	  Decides which sides are cached between calls, and what must be read of a cached side.
 *
 *	first call		table -> set								the state of its map is recorded
 *	second call		table -> set, manifest -> worker			cached if the map is unchanged
 *	later calls		remote set									if no page has changed
 *					remote set, changed pages -> delta set		if some pages have changed
 *
 * The worker holds the cached sides (side_store.c) for all sessions that may read them. A session
 * has a copy of the manifest, from which it determines without a request which pages are unchanged.
 * In place of the cached rows, the join gets a remote set, which has counts but no arrays.
 *
 * Results never depend on the cache. Access rights are checked before this code is reached
 * (heap.c), the visibility map proves (manifest.c) that a page still has its old rows, and cached
 * and newly read rows are processed in page order, so that the same errors are found.
 *
 * A side that has changed too much is evicted, because checking single pages costs more than
 * reading them in sequence. Pages that VACUUM has since marked all-visible again are added to a new
 * cached set if there are enough of them, without reading the other pages.
 */
#include "pg/read/read.h"
#include "pg/worker/worker.h"

#include "access/relation.h"
#include "common/hashfn.h"
#include "core/set/set.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#define RB_AUTO_PAGES \
	((BlockNumber) (8 << 20) / BLCKSZ) /* Minimum size for automatic caching, in pages */
/* Share of changed pages (1/n) above which the side is evicted */
#define RB_DIRTY_FRACTION 8
/* Share of newly cacheable pages (1/n) that justifies a new set */
#define RB_REFRESH_FRACTION 16
/* Limit on the memory for notes while a table is read, in bytes */
#define RB_NOTES_BYTES ((Size) 64 << 20)

/* Identity of a side, including its columns. Keys are compared as bytes, padded with zeros. */
typedef struct side_key
{
	Oid database;
	Oid tablespace;
	Oid filenode;
	Oid relid;
	rb_kind kind;
	rb_box_shape shape;
	rb_column id;
	rb_column geom;
	int32 width;
	rb_column coord[RB_MAX_WIDTH];
	int32 objects;
	double face_tolerance;
} side_key;

/* A side that was requested but is not cached */
typedef struct side_seen
{
	side_key key;
	uint64 state; /* State of its visibility map when it was read */
	TimestampTz when;
	bool no_room; /* True if it did not fit with cache_memory set to `memory` */
	int memory;
	char reason[160];
} side_seen;

#define RB_REASONS 64
#define RB_ROOM_MS 60000 /* Delay before a side that did not fit is sent again, in ms */

static side_seen seen[RB_REASONS];

/* A local copy of the manifest of a cached side */
typedef struct held_card
{
	dlist_node node;
	uint64 number; /* Number of the side */
	int users;     /* Joins that are using it */
	bool head;     /* True if everything before the page entries is present */
	bool pages;    /* True if the page entries are present */
	rb_card *card;
} held_card;

static dlist_head cards = DLIST_STATIC_INIT(cards);
static MemoryContext cards_context;

struct rb_cache_lookup
{
	const char *function;
	side_key key;
	rb_stored stored; /* stored.number is 0 if nothing is cached */
	held_card *held;  /* Manifest of the cached side, or NULL */
	rb_map_page *map; /* Map of unchanged pages, or of all-visible pages if nothing is cached */
	BlockNumber nblocks;
	BlockNumber unchanged; /* Number of unchanged pages */
	bool renewed;          /* True if the local manifest was updated */
	bool keep;             /* True if what is read is to be cached */
	rb_cut *cuts;          /* Ranges of cached and of newly read rows */
	uint32 ncuts;
	uint64 skipped;      /* Rows without a part */
	rb_page_note *notes; /* Notes of the pages that are read */
	uint32 slices;
	rb_card *card; /* Manifest of the side that was read */
	MemoryContextCallback at_end;
};

/* ---- sides that are not cached ---- */

/* Returns what is known about the last attempt of this session to cache a side, or NULL. */
static side_seen *
find_outcome_of_side(const side_key *key)
{
	for (int i = 0; i < RB_REASONS; i++)
		if (OidIsValid(key->relid) && memcmp(&seen[i].key, key, sizeof *key) == 0)
			return &seen[i];
	return NULL;
}

/* Forgets why a side was not cached, because it is now. */
static void
forget_outcome_of_side(const side_key *key)
{
	side_seen *s = find_outcome_of_side(key);

	if (s != NULL)
		memset(s, 0, sizeof *s);
}

/* Records why a side was or was not cached. */
static void
note_outcome_of_side(const side_key *key, uint64 state, const char *reason)
{
	side_seen *s = find_outcome_of_side(key);

	if (s == NULL)
	{
		s = &seen[0];
		for (int i = 1; i < RB_REASONS; i++)
			if (seen[i].when < s->when)
				s = &seen[i];
	}
	s->key = *key;
	s->state = state;
	s->no_room = false;
	s->when = GetCurrentTimestamp();
	strlcpy(s->reason, reason, sizeof s->reason);
}

/*
 * Returns a hash of the visibility map of a side that may be cached. If it is equal at two
 * moments, the pages are unchanged.
 */
static uint64
hash_map_of_side(const rb_map_page *map, BlockNumber nblocks)
{
	uint64 state = hash_bytes_extended((const unsigned char *) &nblocks, sizeof nblocks, 0);

	for (int i = 0; i < rb_map_size(nblocks); i++)
		state = hash_bytes_extended((const unsigned char *) &map[i], sizeof map[i], state);
	return state;
}

/* ---- lookup ---- */

/*
 * Copies a column descriptor to the key of a side field by field, without padding bytes, so that
 * keys compare by memcmp.
 */
static void
copy_column_to_side_key(rb_column *to, rb_column from)
{
	to->attno = from.attno;
	to->type = from.type;
}

/* Makes the key of a side in the cache. */
static void
make_key_of_side(side_key *key, const rb_source *source, Relation rel, const rb_columns *columns)
{
	memset(key, 0, sizeof *key);
	key->database = MyDatabaseId;
	key->tablespace = rb_tablespace(rel);
	key->filenode = rb_filenode(rel);
	key->relid = RelationGetRelid(rel);
	key->kind = source->planes ? RB_PLANE3 : source->kind;
	key->shape = columns->shape;
	copy_column_to_side_key(&key->id, columns->id);
	copy_column_to_side_key(&key->geom, columns->geom);
	key->width = columns->width;
	for (int i = 0; i < columns->width; i++)
		copy_column_to_side_key(&key->coord[i], columns->coord[i]);
	key->objects = source->object_name != NULL;
	key->face_tolerance = source->face_tolerance;
}

/*
 * Returns true if a column of a side was added with a default value that older rows do not store.
 */
static bool
has_side_column_missing_values(TupleDesc desc, rb_column column)
{
	return column.attno > 0 && TupleDescAttr(desc, column.attno - 1)->atthasmissing;
}

/*
 * Returns true if a side cannot be cached because one of its columns was added with a default
 * value, which existing rows do not store on their pages. The column would be identified by its
 * number, which is reused for another column if the transaction that adds it fails.
 */
static bool
is_side_with_missing_values(TupleDesc desc, const rb_columns *columns)
{
	bool found = has_side_column_missing_values(desc, columns->id) ||
				 has_side_column_missing_values(desc, columns->geom);

	for (int i = 0; i < columns->width; i++)
		found |= has_side_column_missing_values(desc, columns->coord[i]);
	return found;
}

/* Returns the reason why a side cannot be cached, or NULL if it can. */
static const char *
find_reason_not_to_cache(const rb_source *source, Relation rel, const rb_columns *columns)
{
	if (source->keys != NULL)
		return "its rows are identified by keys, not by ids";
	if (source->count_faces)
		return "the call returns the numbers of its faces";
	if (is_side_with_missing_values(RelationGetDescr(rel), columns)) /* rule: missing */
		return "a column was added with a default value that is not stored in the rows; "
			   "run VACUUM FULL or CLUSTER to store it";
	return rb_map_refusal(rel);
}

/*
 * Writes the key of a side as the opaque bytes under which the worker caches it, padded with
 * zeros.
 */
static void
write_side_key(char *bytes, const side_key *key)
{
	StaticAssertStmt(sizeof *key <= RB_KEY_BYTES, "a key has room for what a side is");
	memset(bytes, 0, RB_KEY_BYTES);
	memcpy(bytes, key, sizeof *key);
}

/* Returns the key of a side in the list that the worker publishes. */
static side_key
key_of_cached_side(const rb_stored *stored)
{
	side_key key;

	memcpy(&key, stored->keep.key, sizeof key);
	return key;
}

/*
 * Finds the next side of this database in the list that the worker publishes, from index *i on.
 * Returns false if there are no more.
 */
static bool
next_cached_side_of_database(int *i, rb_stored *stored)
{
	while (rb_stored_get((*i)++, stored))
		if (stored->number != 0 && key_of_cached_side(stored).database == MyDatabaseId)
			return true;
	return false;
}

/* Evicts sides that belong to former files of the table. */
static void
evict_sides_of_former_files(const char *function, const side_key *key)
{
	rb_stored stored;

	for (int i = 0; next_cached_side_of_database(&i, &stored);)
	{
		const side_key other = key_of_cached_side(&stored);

		if (other.relid == key->relid &&
			(other.filenode != key->filenode || other.tablespace != key->tablespace))
			rb_worker_drop(function, stored.number);
	}
}

/* ---- manifests ---- */

/*
 * Frees the manifests of sides that are no longer cached, and those that an error left incomplete.
 */
static void
drop_unused_manifests(void)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &cards)
	{
		held_card *held = dlist_container(held_card, node, iter.cur);
		rb_stored stored;
		bool there = held->users > 0;

		for (int i = 0; !there && held->head && rb_stored_get(i, &stored); i++)
			there = stored.number == held->number;
		if (there)
			continue;
		dlist_delete(&held->node);
		pfree(held->card);
		pfree(held);
	}
}

/*
 * Returns the manifest of a side, fetched from the worker if necessary, or NULL if it is not
 * available.
 */
static held_card *
find_manifest_of_side(const char *function, const rb_stored *stored)
{
	dlist_iter iter;
	held_card *held;

	dlist_foreach(iter, &cards)
	{
		held = dlist_container(held_card, node, iter.cur);
		if (held->number == stored->number && held->head)
			return held;
	}
	drop_unused_manifests();
	if (stored->keep.card_bytes != rb_card_size(stored->keep.pages))
		return NULL;
	if (cards_context == NULL)
		cards_context =
			AllocSetContextCreate(TopMemoryContext, "redblue cards", ALLOCSET_DEFAULT_SIZES);
	held = MemoryContextAllocZero(cards_context, sizeof *held);
	held->number = stored->number;
	held->card = MemoryContextAllocExtended(cards_context, stored->keep.card_bytes,
											MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
	if (held->card == NULL)
	{
		pfree(held);
		return NULL;
	}
	dlist_push_head(&cards, &held->node);
	held->head =
		rb_worker_card(function, stored, 0, held->card, rb_card_head_size(stored->keep.pages));
	return held->head ? held : NULL;
}

/*
 * Fetches the page entries of the manifest of a cached side from the worker if necessary. Returns
 * false if they are not available.
 */
static bool
fetch_pages_of_cached_side(const char *function, const rb_stored *stored, held_card *held)
{
	const Size head = rb_card_head_size(stored->keep.pages);

	if (!held->pages)
		held->pages = rb_worker_card(function, stored, head, (char *) held->card + head,
									 stored->keep.card_bytes - head);
	return held->pages;
}

/* Finds the unchanged pages; evicts the side if too many pages have changed. */
static void
check_pages_of_cached_side(rb_cache_lookup *look, const rb_source *source, Relation rel)
{
	rb_card *card = look->held->card;
	BlockNumber visible = rb_map_count(look->map, look->nblocks);
	BlockNumber dirty;

	/* rule: shrunk. A page that was truncated and added again is a different page. */
	if (look->nblocks < card->nblocks)
		look->unchanged = 0;
	else
	{
		look->renewed = rb_card_check(card, rel, look->nblocks, look->map);
		look->unchanged = rb_map_count(look->map, look->nblocks);
	}
	dirty = look->nblocks - look->unchanged;
	if (dirty > look->nblocks / RB_DIRTY_FRACTION || (card->whole && dirty > 0))
	{
		rb_worker_drop(look->function, look->stored.number);
		look->held = NULL;
		look->unchanged = 0;
		/* Read the visibility map again, because rb_card_check has cleared bits. */
		pfree(look->map);
		look->map = rb_map_read(rel, look->nblocks);
		return;
	}
	look->held->users++;
	look->keep = !card->whole && visible > look->unchanged &&
				 (source->keep || visible - look->unchanged >= look->nblocks / RB_REFRESH_FRACTION);
}

/* Decides whether a side is worth caching and can be cached. */
static void
decide_to_cache_side(rb_cache_lookup *look, const rb_source *source)
{
	BlockNumber visible = rb_map_count(look->map, look->nblocks);
	uint64 state = hash_map_of_side(look->map, look->nblocks);
	const side_seen *before = find_outcome_of_side(&look->key);
	const char *reason = NULL;

	if (before != NULL && before->no_room && before->memory == rb_setting_cache_memory &&
		!source->keep &&
		!TimestampDifferenceExceeds(before->when, GetCurrentTimestamp(), RB_ROOM_MS))
		return;
	if (source->keep || rb_setting_cache == RB_CACHE_ON)
		look->keep = true;
	else if (look->nblocks < RB_AUTO_PAGES)
		reason = "it is smaller than 8 MB; call redblue_cache(), or set redblue.cache to on";
	else if (rb_stored_was_seen(
				 hash_bytes_extended((const unsigned char *) &look->key, sizeof look->key, 0),
				 state))
		look->keep = true;
	else if (before == NULL)
		reason = "it was read only once; it is cached when it is read again unchanged";
	else
		reason = "it has changed since it was last read";
	if (look->keep && look->nblocks - visible > look->nblocks / RB_DIRTY_FRACTION)
		reason =
			look->nblocks == 1
				? "its only page is not marked all-visible; run VACUUM"
				: psprintf(ngettext("only %u of its %u pages is marked all-visible; run VACUUM",
									"only %u of its %u pages are marked all-visible; run VACUUM",
									visible),
						   visible, look->nblocks);
	if (look->keep && (Size) look->nblocks * sizeof(rb_page_note) > RB_NOTES_BYTES)
		reason = "it is too large";
	if (reason == NULL)
		return;
	look->keep = false;
	note_outcome_of_side(&look->key, state, reason);
}

/* Releases the manifest, however the call ends. */
static void
release_manifest_of_call(void *arg)
{
	rb_cache_lookup *look = arg;

	if (look->held != NULL)
		look->held->users--;
	look->held = NULL;
}

rb_cache_lookup *
rb_side_cache_begin(const rb_source *source, Relation rel, const rb_columns *columns,
					BlockNumber nblocks)
{
	rb_cache_lookup *look = palloc0(sizeof *look);
	char key[RB_KEY_BYTES];
	const char *reason;

	look->function = source->function;
	look->nblocks = nblocks;
	look->at_end.func = release_manifest_of_call;
	look->at_end.arg = look;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &look->at_end);
	if ((rb_setting_cache == RB_CACHE_OFF && !source->keep) || rb_setting_cache_memory == 0 ||
		source->again || nblocks == 0)
		return look;
	make_key_of_side(&look->key, source, rel, columns);
	reason = find_reason_not_to_cache(source, rel, columns);
	if (reason != NULL)
	{
		note_outcome_of_side(&look->key, 0, reason);
		return look;
	}
	write_side_key(key, &look->key);
	evict_sides_of_former_files(source->function, &look->key);
	/*
	 * Look up the manifest before the map is read, because the map could become outdated while this
	 * waits for the worker.
	 */
	if (rb_stored_find(key, &look->stored))
		look->held = find_manifest_of_side(source->function, &look->stored);
	look->map = rb_map_read(rel, nblocks);
	if (look->held != NULL && !rb_card_is_clean(look->held->card, nblocks, look->map) &&
		!fetch_pages_of_cached_side(source->function, &look->stored, look->held))
		look->held = NULL;
	if (look->held != NULL)
		check_pages_of_cached_side(look, source, rel);
	/* Do not cache a side that is read for a tile, because it is incomplete. */
	if (look->held == NULL && source->tile.dims == 0)
		decide_to_cache_side(look, source);
	return look;
}

/* ---- use of cached sides ---- */

bool
rb_side_cache_is_whole(const rb_cache_lookup *look)
{
	return look->held != NULL && look->unchanged == look->nblocks;
}

bool
rb_side_cache_is_partial(const rb_cache_lookup *look)
{
	return look->held != NULL && look->unchanged < look->nblocks;
}

/*
 * Reports the SRID and dimensions of `n` cached rows to the receiver. `id` and `type` are those of
 * the first row.
 */
static void
receive_space_of_cached_rows(const rb_cache_lookup *look, rb_receiver *receiver, uint32 n, int64 id,
							 uint32 type)
{
	const rb_card *card = look->held->card;
	const rb_space space = {.srid_known = card->srid_known,
							.srid = look->stored.srid,
							.srid_type = type,
							.srid_id = id,
							.dims = card->dims,
							.dims_of_columns = receiver->columns.width > 0,
							.dims_id = id};

	rb_receive_space(receiver, n, &space);
}

/* Reports the SRID and dimensions of the rows on unchanged pages. */
static void
receive_space_of_pages(const rb_cache_lookup *look, rb_receiver *receiver, BlockNumber from,
					   BlockNumber to)
{
	const rb_card_page *page = rb_card_pages(look->held->card);
	BlockNumber first = from;

	/* The first page with a part provides the id and type for all pages. */
	while (first < to && page[first + 1].part == page[first].part)
		first++;
	if (page[to].row > page[from].row)
		receive_space_of_cached_rows(look, receiver, page[to].row - page[from].row, page[first].id,
									 page[first].type);
	else
		receive_space_of_cached_rows(look, receiver, 0, 0, 0);
}

/* Returns the cached side as a remote set. */
static const rb_set *
cached_side_as_remote_set(const rb_cache_lookup *look, rb_memory *memory)
{
	const rb_stored *stored = &look->stored;
	const rb_set counts = {.kind = stored->kind,
						   .nparts = stored->nparts,
						   .nrows = stored->nrows,
						   .first_id = stored->first_id,
						   .skipped = stored->skipped,
						   .srid = stored->srid,
						   .composed_ids = !stored->has_ids,
						   .elsewhere = true,
						   .number = stored->number};
	const rb_set *set;
	rb_error error;
	rb_status status = rb_set_own(memory, &counts, &set, &error);

	if (status != RB_OK)
		rb_raise(look->function, status, &error);
	return set;
}

void
rb_side_cache_use_whole(rb_cache_lookup *look, rb_receiver *receiver, rb_memory *memory,
						rb_side_data *side)
{
	receive_space_of_cached_rows(look, receiver, (uint32) look->stored.keep.rows,
								 look->held->card->id, look->held->card->type);
	side->set = cached_side_as_remote_set(look, memory);
	side->rows = look->stored.keep.rows;
	side->ids = look->stored.keep.ids;
	side->kept = side->rows;
	side->pages = look->nblocks;
}

uint64
rb_side_cache_entry_bytes(const rb_cache_lookup *look)
{
	return look->stored.bytes - look->stored.keep.card_bytes;
}

rb_page_note *
rb_side_cache_page_notes(rb_cache_lookup *look, uint32 slices)
{
	Size size = (Size) look->nblocks * slices * sizeof *look->notes;

	if (size > RB_NOTES_BYTES)
		look->keep = false;
	if (!look->keep)
		return NULL;
	look->slices = slices;
	look->notes = MemoryContextAllocHuge(CurrentMemoryContext, size);
	memset(look->notes, 0, size);
	return look->notes;
}

bool
rb_side_cache_ids_ascend(const rb_cache_lookup *look)
{
	return look->stored.ascend;
}

/* Appends a range of rows and parts of the cached set or, if `fresh`, of the newly read rows. */
static void
append_cut_of_rows(rb_cache_lookup *look, bool fresh, uint32 row, uint32 rows, uint32 part,
				   uint32 parts)
{
	rb_cut *cut;

	if (rows == 0)
		return;
	if (look->ncuts % 256 == 0)
		look->cuts =
			look->ncuts == 0
				? palloc0(258 * sizeof *look->cuts)
				: repalloc_huge(look->cuts, (Size) (look->ncuts + 258) * sizeof *look->cuts);
	cut = &look->cuts[look->ncuts];
	cut->fresh = fresh;
	cut->from_row = row;
	cut->from_part = part;
	cut[1].row = cut->row + rows;
	cut[1].part = cut->part + parts;
	look->ncuts++;
}

/* Appends the rows of unchanged pages. */
static void
append_cuts_of_unchanged_pages(rb_cache_lookup *look, BlockNumber from, BlockNumber to,
							   rb_side_data *side)
{
	const rb_card_page *page = rb_card_pages(look->held->card);
	const uint32 rows = page[to].row - page[from].row;

	append_cut_of_rows(look, false, page[from].row, rows, page[from].part,
					   page[to].part - page[from].part);
	look->skipped += page[to].skipped - page[from].skipped;
	side->kept += rows;
}

void
rb_side_cache_read_changed(rb_cache_lookup *look, rb_heap *heap, const rb_builder *builder,
						   rb_side_data *side)
{
	BlockNumber end;

	heap->notes = rb_side_cache_page_notes(look, 1);
	heap->note_slices = 1;
	if (heap->notes != NULL)
		rb_card_notes(look->held->card, look->map, heap->notes);
	side->pages = look->nblocks;
	side->read = look->nblocks - look->unchanged;
	for (BlockNumber block = 0; block < look->nblocks; block = end)
	{
		uint32 row = builder->nrows;
		uint32 part = builder->row_start;

		end = rb_map_run(look->map, look->nblocks, block);
		if (rb_map_has(look->map, block))
		{
			receive_space_of_pages(look, heap->receiver, block, end);
			append_cuts_of_unchanged_pages(look, block, end, side);
			continue;
		}
		for (; block < end; block++)
			(void) rb_heap_page(heap, block, 0, 0, 1);
		append_cut_of_rows(look, true, row, builder->nrows - row, part, builder->row_start - part);
	}
	heap->notes = NULL;
}

/* Returns true if any cached row is used. */
static bool
is_any_cached_row_used(const rb_cache_lookup *look)
{
	for (uint32 i = 0; i < look->ncuts; i++)
		if (!look->cuts[i].fresh)
			return true;
	return false;
}

void
rb_side_cache_merge_rows(rb_cache_lookup *look, rb_builder *builder, rb_side_data *side)
{
	const rb_set *fresh = NULL;
	const rb_set *kept;
	rb_view view;
	rb_error error;
	rb_status status;

	look->skipped += builder->skipped;
	status = rb_builder_finish(builder, &fresh, &error);
	if (status == RB_OK && !is_any_cached_row_used(look))
	{
		/*
		 * Use only the new rows, because no cached row remains. The kind of the cached set is then
		 * irrelevant, too.
		 */
		rb_set_writable(fresh)->skipped = look->skipped;
		side->set = fresh;
	}
	else if (status == RB_OK)
	{
		kept = cached_side_as_remote_set(look, builder->memory);
		view = (rb_view){kept, fresh, look->cuts, look->ncuts, false};
		status = rb_view_make(builder->memory, &view, look->skipped, &side->set, &error);
		rb_set_release(&fresh);
		rb_set_release(&kept);
	}
	if (status != RB_OK)
		rb_raise(look->function, status, &error);
	side->rows = side->set->nrows;
}

/* ---- caching of what was read ---- */

void
rb_side_cache_note_read(rb_cache_lookup *look, Relation rel)
{
	rb_map_page *after;
	BlockNumber n;

	if (!look->keep || look->notes == NULL)
		return;
	after = rb_map_read(rel, look->nblocks);
	look->card = rb_card_make(look->notes, look->slices, look->nblocks, look->map, after);
	n = look->card == NULL ? 0 : rb_map_count(look->card->map, look->nblocks);
	if (look->nblocks - n > look->nblocks / RB_DIRTY_FRACTION)
	{
		look->keep = false;
		note_outcome_of_side(&look->key, 0, "it changed while it was being read");
	}
	pfree(after);
	pfree(look->notes);
	look->notes = NULL;
}

/* Stores the id of the first row of each page, for messages. */
static void
note_first_ids_of_pages(const rb_cache_lookup *look, rb_card *card, const rb_set *set)
{
	const rb_card_page *before = look->held != NULL ? rb_card_pages(look->held->card) : NULL;
	rb_card_page *page = rb_card_pages(card);
	uint32 cut = 0;

	for (BlockNumber block = 0; block < card->nblocks; block++)
	{
		const uint32 row = page[block].row;

		if (row == page[block + 1].row)
			continue;
		if (set->view == NULL)
		{
			page[block].id = set->ids != NULL ? set->ids[row] : set->first_id + (int64) row;
			continue;
		}
		while (set->view->cuts[cut + 1].row <= row)
			cut++;
		/*
		 * An unchanged page still begins with the same row, even if the row's index in the set
		 * differs.
		 */
		if (set->view->cuts[cut].fresh)
			page[block].id = rb_view_id(set->view, row);
		else
			page[block].id = before[block].id;
	}
}

/*
 * Stores the geometry type and id of the first row of a side that is about to be cached, so that
 * they are known without the page entries.
 */
static void
store_first_type_of_side(rb_card *card)
{
	const rb_card_page *page = rb_card_pages(card);

	for (BlockNumber block = 0; block < card->nblocks; block++)
		if (page[block + 1].part != page[block].part)
		{
			card->type = page[block].type;
			card->id = page[block].id;
			return;
		}
}

/* Marks the updated manifest for the worker, so that other sessions need not repeat the checks. */
static void
mark_manifest_updated(rb_cache_lookup *look, rb_side_data *side)
{
	const rb_card *card = look->held->card;
	rb_to_keep *keep = palloc(sizeof *keep);

	*keep = look->stored.keep;
	keep->renewed = true;
	keep->pages_kept = rb_map_count(card->map, card->nblocks);
	side->keep = keep;
	side->card = card;
}

void
rb_side_cache_finish_side(rb_cache_lookup *look, rb_side_data *side)
{
	rb_card *card = look->card;
	const uint64 limit = (uint64) rb_setting_cache_memory * 1024;
	rb_to_keep *keep;
	uint64 bytes;

	if (look->held != NULL && look->renewed)
		mark_manifest_updated(look, side);
	if (!look->keep || card == NULL)
		return;
	if (side->set->nparts == 0)
	{
		note_outcome_of_side(&look->key, 0, "it has no objects");
		return;
	}
	keep = palloc0(sizeof *keep);
	write_side_key(keep->key, &look->key);
	keep->card_bytes = rb_card_size(look->nblocks);
	keep->rows = side->rows;
	keep->ids = side->ids;
	keep->pages = look->nblocks;
	keep->pages_kept = rb_map_count(card->map, look->nblocks);
	bytes = keep->card_bytes +
			(side->set->elsewhere ? rb_coords_bytes(side->set) : rb_set_bytes(side->set));
	if (bytes > limit)
	{
		note_outcome_of_side(&look->key, 0,
							 psprintf("it needs %llu MB, but redblue.cache_memory is %d MB",
									  (unsigned long long) (bytes >> 20),
									  rb_setting_cache_memory / 1024));
		return;
	}
	note_first_ids_of_pages(look, card, side->set);
	store_first_type_of_side(card);
	card->whole = look->key.objects;
	card->srid_known = look->key.shape == RB_SHAPE_GEOMETRY || look->key.shape == RB_SHAPE_BOX3D;
	if (side->set->kind == RB_BOX2 || side->set->kind == RB_BOX3)
		card->dims = side->set->kind == RB_BOX2 ? 2 : 3;
	side->keep = keep;
	side->card = card;
}

void
rb_side_cache_abandon(rb_cache_lookup *look, const char *reason)
{
	if (look->keep)
		note_outcome_of_side(&look->key, 0, reason);
	look->keep = false;
}

void
rb_side_cache_note_sent(rb_cache_lookup *look, const char *why_not)
{
	if (why_not == NULL)
		forget_outcome_of_side(&look->key);
	else
		note_outcome_of_side(&look->key, 0, why_not);
}

void
rb_side_cache_note_no_room(rb_cache_lookup *look, uint64 bytes)
{
	side_seen *s;

	note_outcome_of_side(
		&look->key, 0,
		psprintf("there is no space for its %llu kB; redblue.cache_memory is %d kB",
				 (unsigned long long) (bytes >> 10), rb_setting_cache_memory));
	s = find_outcome_of_side(&look->key);
	s->no_room = true;
	s->memory = rb_setting_cache_memory;
}

/*
 * Returns true if the table still has the same file. TRUNCATE or a rewrite in this transaction
 * replaces it.
 */
bool
rb_side_cache_is_same_table(const rb_cache_lookup *look)
{
	Relation rel = try_relation_open(look->key.relid, NoLock);
	bool same = false;

	if (rel == NULL)
		return false;
	same = rb_filenode(rel) == look->key.filenode && rb_tablespace(rel) == look->key.tablespace;
	relation_close(rel, NoLock);
	return same;
}

/* ---- reports ---- */

/* Describes a side that is in the cache, for redblue_cached. */
static void
describe_side_in_cache(const rb_stored *stored, rb_cache_facts *facts)
{
	memset(facts, 0, sizeof *facts);
	facts->relid = key_of_cached_side(stored).relid;
	facts->kind = key_of_cached_side(stored).kind;
	facts->rows = stored->keep.rows;
	facts->bytes = stored->bytes;
	facts->device_bytes = stored->device_bytes;
	facts->pages = stored->keep.pages;
	facts->kept = stored->keep.pages_kept;
	facts->hits = stored->hits;
	facts->used = stored->used;
}

/*
 * Describes a side that this session has read but that is not in the cache, with the reason, for
 * redblue_cached.
 */
static void
describe_side_not_in_cache(const side_seen *s, rb_cache_facts *facts)
{
	memset(facts, 0, sizeof *facts);
	facts->relid = s->key.relid;
	facts->kind = s->key.kind;
	facts->used = s->when;
	facts->reason = s->reason;
}

void
rb_side_cache_get_facts(const rb_cache_lookup *look, rb_cache_facts *facts)
{
	const side_seen *s = find_outcome_of_side(&look->key);
	char key[RB_KEY_BYTES];
	rb_stored stored;

	memset(facts, 0, sizeof *facts);
	write_side_key(key, &look->key);
	if (rb_stored_find(key, &stored))
		describe_side_in_cache(&stored, facts);
	else if (s != NULL)
		describe_side_not_in_cache(s, facts);
	else
		facts->reason = "there is nothing to cache";
	facts->pages = look->nblocks;
}

bool
rb_side_cache_next_facts(int *i, rb_cache_facts *facts)
{
	rb_stored stored;
	int k;

	/* *i counts the cached sides from 0 up, and then the recorded reasons from -1 down. */
	if (*i >= 0)
	{
		if (next_cached_side_of_database(i, &stored))
		{
			describe_side_in_cache(&stored, facts);
			return true;
		}
		*i = -1;
	}
	for (k = -*i - 1; k < RB_REASONS; k++)
		if (OidIsValid(seen[k].key.relid))
		{
			describe_side_not_in_cache(&seen[k], facts);
			*i = -k - 2;
			return true;
		}
	return false;
}

uint64
rb_side_cache_evict(const char *function, Oid relid)
{
	uint64 bytes = 0;
	rb_stored stored;

	for (int i = 0; next_cached_side_of_database(&i, &stored);)
	{
		Oid other = key_of_cached_side(&stored).relid;

		/* A side whose table no longer exists has no owner, so anyone may evict it. */
		if ((OidIsValid(relid) ? other == relid
							   : get_rel_name(other) == NULL || rb_owns_relation(other)) &&
			rb_worker_drop(function, stored.number))
			bytes += stored.bytes;
	}
	return bytes;
}
