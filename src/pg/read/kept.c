/*
 * kept.c
 *	  Sides that stay: which are kept from one call to the next, and what is read of those.
 *
 *		first call		table -> set								its map is noted
 *		second call		table -> set, card -> cache					unchanged: it is kept
 *		later			cache -> set								no page has changed
 *						cache, and changed pages -> view		some have
 *
 * An answer never depends on it.  Rights are asked before anybody comes here
 * (heap.c), what proves that a page has its old rows is in visibility.c, and what is
 * kept meets what is read in the order of the pages, so that the same things are wrong
 * with them.
 *
 * What has changed too much is forgotten, for a look at a page costs more than reading
 * it with its neighbours.  Pages that VACUUM has since marked again are taken into a new
 * set when they are worth it, without reading the others.
 */
#include "pg/read/rb_kept.h"

#include "common/hashfn.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#define RB_AUTO_PAGES \
	((BlockNumber) (8 << 20) / BLCKSZ)   /* smaller tables are not kept unless asked for */
#define RB_DIRTY_FRACTION 8              /* more pages to be read than this: it is forgotten */
#define RB_REFRESH_FRACTION 16           /* so many that could be kept again: a new set */
#define RB_NOTES_BYTES ((Size) 64 << 20) /* of notes, while a table is read */

/* what a side is, to the last column; compared as bytes */
typedef struct side_key
{
	Oid database;
	Oid tablespace;
	Oid filenode;
	Oid relid;
	rb_kind kind;
	rb_shape shape;
	rb_column id;
	rb_column geom;
	int32 width;
	rb_column coord[RB_MAX_WIDTH];
	int32 objects;
	double face_tolerance;
} side_key;

/* a side that was asked for and is not kept */
typedef struct side_seen
{
	side_key key;
	uint64 state; /* of its map, when it was read */
	TimestampTz when;
	char reason[160];
} side_seen;

#define RB_SEEN 64

static rb_cache *cache;
static side_seen seen[RB_SEEN];

struct rb_look
{
	const char *function;
	side_key key;
	rb_kept *kept;     /* until the side is read; NULL: nothing is kept of it */
	const rb_set *set; /* of that; held */
	rb_map_page *map; /* pages that are as they were, or, where nothing is kept, all-visible ones */
	BlockNumber nblocks;
	BlockNumber unchanged; /* so many of them */
	bool keep;             /* what is read is to be kept */
	rb_cut *cuts;          /* of what is as it was and what is read */
	uint32 ncuts;
	uint64 skipped;      /* rows without a part, of the former */
	bool ascend;         /* the ids that are kept do */
	rb_page_note *notes; /* of what is read */
	uint32 slices;
	rb_card *card; /* of what was read */
	MemoryContextCallback at_end;
};

/* ---- what is known of sides that are not kept ---- */

static side_seen *
find_seen(const side_key *key)
{
	for (int i = 0; i < RB_SEEN; i++)
		if (OidIsValid(key->relid) && memcmp(&seen[i].key, key, sizeof *key) == 0)
			return &seen[i];
	return NULL;
}

static void
forget_seen(const side_key *key)
{
	side_seen *s = find_seen(key);

	if (s != NULL)
		memset(s, 0, sizeof *s);
}

static void
note_seen(const side_key *key, uint64 state, const char *reason)
{
	side_seen *s = find_seen(key);

	if (s == NULL)
	{
		s = &seen[0];
		for (int i = 1; i < RB_SEEN; i++)
			if (seen[i].when < s->when)
				s = &seen[i];
	}
	s->key = *key;
	s->state = state;
	s->when = GetCurrentTimestamp();
	strlcpy(s->reason, reason, sizeof s->reason);
}

/* two moments with the same have the same pages */
static uint64
state_of(const rb_map_page *map, BlockNumber nblocks)
{
	uint64 state = hash_bytes_extended((const unsigned char *) &nblocks, sizeof nblocks, 0);

	for (int i = 0; i < rb_map_size(nblocks); i++)
		state = hash_bytes_extended((const unsigned char *) &map[i], sizeof map[i], state);
	return state;
}

/* ---- looking for it ---- */

/* without what lies between the two */
static void
set_column(rb_column *to, rb_column from)
{
	to->attno = from.attno;
	to->type = from.type;
}

static void
make_key(side_key *key, const rb_source *source, Relation rel, const rb_columns *columns)
{
	memset(key, 0, sizeof *key);
	key->database = MyDatabaseId;
	key->tablespace = rb_tablespace(rel);
	key->filenode = rb_filenode(rel);
	key->relid = RelationGetRelid(rel);
	key->kind = source->kind;
	key->shape = columns->shape;
	set_column(&key->id, columns->id);
	set_column(&key->geom, columns->geom);
	key->width = columns->width;
	for (int i = 0; i < columns->width; i++)
		set_column(&key->coord[i], columns->coord[i]);
	key->objects = source->object_name != NULL;
	key->face_tolerance = source->face_tolerance;
}

static bool
is_missing(TupleDesc desc, rb_column column)
{
	return column.attno > 0 && TupleDescAttr(desc, column.attno - 1)->atthasmissing;
}

/*
 * A column that was added with a value for the rows that are there is not on their pages.
 * It would be known by its number, which another column gets if the transaction that adds it
 * fails.
 */
static bool
has_missing(TupleDesc desc, const rb_columns *columns)
{
	bool found = is_missing(desc, columns->id) || is_missing(desc, columns->geom);

	for (int i = 0; i < columns->width; i++)
		found |= is_missing(desc, columns->coord[i]);
	return found;
}

static const char *
refusal(const rb_source *source, Relation rel, const rb_columns *columns)
{
	if (source->keys != NULL)
		return "its rows are called by keys, not by ids";
	if (has_missing(RelationGetDescr(rel), columns)) /* rule: missing */
		return "a column was added with a default: VACUUM FULL or CLUSTER makes it one of the rows";
	return rb_map_refusal(rel);
}

/* the cache as it is set up now; NULL where there is no memory for it */
static rb_cache *
open_cache(void)
{
	uint64 limit = (uint64) rb_setting_cache_memory * 1024;

	if (cache == NULL)
		cache = rb_cache_create(limit);
	if (cache != NULL)
		rb_cache_set_limit(cache, limit);
	return cache;
}

/* what is kept of a former file of the table is of no use */
static void
drop_former(const side_key *key)
{
	rb_kept *next;

	for (rb_kept *kept = rb_cache_next(cache, NULL); kept != NULL; kept = next)
	{
		const side_key *other = rb_kept_key(kept);

		next = rb_cache_next(cache, kept);
		if (other->database == key->database && other->relid == key->relid &&
			(other->filenode != key->filenode || other->tablespace != key->tablespace))
			rb_cache_drop(cache, kept);
	}
}

/* which pages are as they were; what has changed too much is forgotten */
static void
check_kept(rb_look *look, const rb_source *source, Relation rel)
{
	rb_card *card = look->kept->card;
	BlockNumber visible = rb_map_count(look->map, look->nblocks);
	BlockNumber dirty;

	/* rule: shrunk.  a page that was cut off and is there again is another one */
	if (look->nblocks < card->nblocks)
		look->unchanged = 0;
	else
	{
		rb_card_check(card, rel, look->nblocks, look->map);
		look->unchanged = rb_map_count(look->map, look->nblocks);
	}
	dirty = look->nblocks - look->unchanged;
	if (dirty > look->nblocks / RB_DIRTY_FRACTION || (card->whole && dirty > 0))
	{
		rb_cache_drop(cache, look->kept);
		look->kept = NULL;
		look->unchanged = 0;
		/* the bits as they are, not as they were compared */
		pfree(look->map);
		look->map = rb_map_read(rel, look->nblocks);
		return;
	}
	look->set = rb_cache_use(cache, look->kept);
	look->ascend = card->ascend;
	card->used = GetCurrentTimestamp();
	look->keep = !card->whole && visible > look->unchanged &&
				 (source->keep || visible - look->unchanged >= look->nblocks / RB_REFRESH_FRACTION);
}

/* is it worth keeping, and can it be? */
static void
decide_to_keep(rb_look *look, const rb_source *source)
{
	BlockNumber visible = rb_map_count(look->map, look->nblocks);
	uint64 state = state_of(look->map, look->nblocks);
	const side_seen *before = find_seen(&look->key);
	const char *reason = NULL;

	if (source->keep || rb_setting_cache == RB_CACHE_ON)
		look->keep = true;
	else if (look->nblocks < RB_AUTO_PAGES)
		reason = "it is smaller than 8 MB: ask with redblue_cache(), or set redblue.cache to on";
	else if (before == NULL)
		reason = "it was read once: the next reading will keep it, if nothing has changed";
	else if (before->state != state)
		reason = "it has changed since it was read last";
	else
		look->keep = true;
	if (look->keep && look->nblocks - visible > look->nblocks / RB_DIRTY_FRACTION)
		reason = psprintf("%u of its %u pages are marked all-visible: VACUUM it", visible,
						  look->nblocks);
	if (look->keep && (Size) look->nblocks * sizeof(rb_page_note) > RB_NOTES_BYTES)
		reason = "it is too large";
	if (reason == NULL)
		return;
	look->keep = false;
	note_seen(&look->key, state, reason);
}

/* whatever ends the call */
static void
release_set(void *look)
{
	rb_set_release(&((rb_look *) look)->set);
}

rb_look *
rb_kept_look(const rb_source *source, Relation rel, const rb_columns *columns, BlockNumber nblocks)
{
	rb_look *look = palloc0(sizeof *look);
	const char *reason;

	look->function = source->function;
	look->nblocks = nblocks;
	look->at_end.func = release_set;
	look->at_end.arg = look;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &look->at_end);
	if ((rb_setting_cache == RB_CACHE_OFF && !source->keep) || rb_setting_cache_memory == 0 ||
		nblocks == 0 || open_cache() == NULL)
		return look;
	make_key(&look->key, source, rel, columns);
	reason = refusal(source, rel, columns);
	if (reason != NULL)
	{
		note_seen(&look->key, 0, reason);
		return look;
	}
	drop_former(&look->key);
	look->map = rb_map_read(rel, nblocks);
	look->kept = rb_cache_find(cache, &look->key, sizeof look->key);
	if (look->kept != NULL)
		check_kept(look, source, rel);
	if (look->kept == NULL)
		decide_to_keep(look, source);
	return look;
}

/* ---- what is kept becomes rows ---- */

bool
rb_kept_is_whole(const rb_look *look)
{
	return look->set != NULL && look->unchanged == look->nblocks;
}

bool
rb_kept_is_partly(const rb_look *look)
{
	return look->set != NULL && look->unchanged < look->nblocks;
}

/* what the rows of these pages, which are as they were, say of the space */
static void
receive_space(const rb_look *look, DestReceiver *receiver, BlockNumber from, BlockNumber to)
{
	const rb_set *set = look->set;
	const rb_card *card = look->kept->card;
	const rb_card_page *page = rb_card_pages(card);
	BlockNumber first = from;
	rb_kept_rows rows;

	/* the first row speaks for all: it is on the first page that has one */
	while (first < to && page[first + 1].part == page[first].part)
		first++;
	memset(&rows, 0, sizeof rows);
	rows.rows = page[to].row - page[from].row;
	rows.srid_known = card->srid_known;
	rows.srid = set->srid;
	rows.dims = card->dims;
	if (rows.rows > 0)
	{
		rows.type = page[first].type;
		rows.id = set->ids != NULL ? set->ids[page[first].row]
								   : (int64) ((uint64) set->first_id + page[first].row);
	}
	rb_receive_kept_space(receiver, &rows);
}

void
rb_kept_take_whole(rb_look *look, DestReceiver *receiver, rb_side *side)
{
	const rb_card *card = look->kept->card;

	receive_space(look, receiver, 0, look->nblocks);
	side->set = rb_set_hold(look->set);
	side->rows = card->rows;
	side->ids = card->ids;
	side->kept = card->rows;
	side->pages = look->nblocks;
}

rb_page_note *
rb_kept_notes(rb_look *look, uint32 slices)
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
rb_kept_ids_ascend(const rb_look *look)
{
	return look->ascend;
}

/* rows and parts, of the set that is kept or of those that were read, behind those that are there */
static void
add_cut(rb_look *look, bool fresh, uint32 row, uint32 rows, uint32 part, uint32 parts)
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

/* pages that are as they were */
static void
cut_kept(rb_look *look, BlockNumber from, BlockNumber to, rb_side *side)
{
	const rb_card_page *page = rb_card_pages(look->kept->card);
	const uint32 rows = page[to].row - page[from].row;

	add_cut(look, false, page[from].row, rows, page[from].part, page[to].part - page[from].part);
	look->skipped += page[to].skipped - page[from].skipped;
	side->kept += rows;
}

void
rb_kept_read(rb_look *look, rb_heap *heap, const rb_builder *builder, rb_side *side)
{
	BlockNumber end;

	heap->notes = rb_kept_notes(look, 1);
	heap->note_slices = 1;
	if (heap->notes != NULL)
		rb_card_notes(look->kept->card, look->map, heap->notes);
	side->pages = look->nblocks;
	side->read = look->nblocks - look->unchanged;
	for (BlockNumber block = 0; block < look->nblocks; block = end)
	{
		uint32 row = builder->nrows;
		uint32 part = builder->row_start;

		end = rb_map_run(look->map, look->nblocks, block);
		if (rb_map_has(look->map, block))
		{
			receive_space(look, heap->receiver, block, end);
			cut_kept(look, block, end, side);
			continue;
		}
		for (; block < end; block++)
			(void) rb_heap_page(heap, block, 0, 0, 1);
		add_cut(look, true, row, builder->nrows - row, part, builder->row_start - part);
	}
	heap->notes = NULL;
}

void
rb_kept_put_together(rb_look *look, rb_builder *builder, rb_side *side)
{
	const rb_set *fresh = NULL;
	rb_view view;
	rb_error error;
	rb_status status;

	look->skipped += builder->skipped;
	status = rb_builder_finish(builder, &fresh, &error);
	if (status == RB_OK)
	{
		if (look->ncuts == 0)
			look->cuts = palloc0(sizeof *look->cuts);
		view = (rb_view){look->set, fresh, look->cuts, look->ncuts, false};
		status = rb_view_make(builder->memory, &view, look->skipped, &side->set, &error);
		rb_set_release(&fresh);
	}
	if (status != RB_OK)
		rb_raise(look->function, status, &error);
	side->rows = side->set->nrows;
}

/* ---- keeping ---- */

void
rb_kept_was_read(rb_look *look, Relation rel)
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
		note_seen(&look->key, 0, "it has changed while it was read");
	}
	pfree(after);
	pfree(look->notes);
	look->notes = NULL;
}

static rb_status
put_together(const rb_set *set, rb_memory *memory)
{
	rb_context ctx;
	rb_status status;

	rb_context_init(&ctx, memory);
	ctx.threads = rb_threads(set->nparts);
	status = rb_set_compose(&ctx, set);
	return status == RB_OK ? rb_set_compose_ids(&ctx, set) : status;
}

void
rb_kept_end(rb_look *look, const rb_side *side, rb_memory *memory)
{
	const bool first = look->set == NULL;
	rb_card *card = look->card;
	rb_error error;
	rb_status status;

	rb_set_release(&look->set);
	if (!look->keep || card == NULL)
		return;
	/* the other side is the same one, and was not there when this one was looked for */
	if (first && rb_cache_find(cache, &look->key, sizeof look->key) != NULL)
		return;
	if (side->set->nparts == 0)
	{
		note_seen(&look->key, 0, "it has no objects");
		return;
	}
	/* rows that were read anew have their place among the others for good */
	if (put_together(side->set, memory) != RB_OK)
		return;
	card->whole = look->key.objects;
	card->rows = side->rows;
	card->ids = side->ids;
	card->ascend = rb_set_ids_ascend(side->set);
	card->used = GetCurrentTimestamp();
	card->srid_known = look->key.shape == RB_SHAPE_GEOMETRY || look->key.shape == RB_SHAPE_BOX3D;
	if (side->set->kind == RB_BOX2 || side->set->kind == RB_BOX3)
		card->dims = side->set->kind == RB_BOX2 ? 2 : 3;
	status = rb_cache_put(cache, &look->key, sizeof look->key, side->set, card,
						  rb_card_size(look->nblocks), &error);
	if (status == RB_OK)
	{
		forget_seen(&look->key);
		/* it moved, and the join holds it all the same: there is room where it was */
		(void) rb_memory_charge(memory, rb_set_bytes(side->set), NULL);
	}
	else
		note_seen(&look->key, 0,
				  psprintf("it needs %llu MB, redblue.cache_memory is %d MB",
						   (unsigned long long) ((rb_set_bytes(side->set) +
												  rb_card_size(look->nblocks)) >>
												 20),
						   rb_setting_cache_memory / 1024));
}

/* ---- what is told of it ---- */

static void
tell_kept(const rb_kept *kept, rb_kept_facts *facts)
{
	const side_key *key = rb_kept_key(kept);
	const rb_card *card = kept->card;

	memset(facts, 0, sizeof *facts);
	facts->relid = key->relid;
	facts->kind = key->kind;
	facts->rows = card->rows;
	facts->bytes = kept->bytes;
	facts->pages = card->nblocks;
	facts->kept = rb_map_count(card->map, card->nblocks);
	facts->hits = kept->hits;
	facts->used = card->used;
}

static void
tell_seen(const side_seen *s, rb_kept_facts *facts)
{
	memset(facts, 0, sizeof *facts);
	facts->relid = s->key.relid;
	facts->kind = s->key.kind;
	facts->used = s->when;
	facts->reason = s->reason;
}

void
rb_kept_get_facts(const rb_look *look, rb_kept_facts *facts)
{
	const rb_kept *kept = cache == NULL ? NULL : rb_cache_find(cache, &look->key, sizeof look->key);
	const side_seen *s = find_seen(&look->key);

	memset(facts, 0, sizeof *facts);
	if (kept != NULL)
		tell_kept(kept, facts);
	else if (s != NULL)
		tell_seen(s, facts);
	else
		facts->reason = "there is nothing to keep";
	facts->pages = look->nblocks;
}

bool
rb_kept_list(int i, rb_kept_facts *facts)
{
	const rb_kept *kept;

	for (kept = cache == NULL ? NULL : rb_cache_next(cache, NULL); kept != NULL;
		 kept = rb_cache_next(cache, kept))
		if (i-- == 0)
		{
			tell_kept(kept, facts);
			return true;
		}
	for (int k = 0; k < RB_SEEN; k++)
		if (OidIsValid(seen[k].key.relid) && i-- == 0)
		{
			tell_seen(&seen[k], facts);
			return true;
		}
	return false;
}

uint64
rb_kept_forget(Oid relid)
{
	const uint64 before = cache == NULL ? 0 : rb_cache_used(cache);
	rb_kept *next;

	for (rb_kept *kept = cache == NULL ? NULL : rb_cache_next(cache, NULL); kept != NULL;
		 kept = next)
	{
		Oid other = ((const side_key *) rb_kept_key(kept))->relid;

		next = rb_cache_next(cache, kept);
		/* of a table that is gone nobody is the owner */
		if (OidIsValid(relid) ? other == relid
							  : get_rel_name(other) == NULL || rb_owns_relation(other))
			rb_cache_drop(cache, kept);
	}
	return before == 0 ? 0 : before - rb_cache_used(cache);
}
