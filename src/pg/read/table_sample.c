/*
 * table_sample.c
 *	  Samples the boxes of some rows of a side, for purposes that justify reading several megabytes.
 *
 *	a table, also partitioned, or a materialized view	some of its pages, TABLESAMPLE SYSTEM
 *	anything else, or objects of several rows			all of it
 *
 * Pages are sampled only if the rows are stored on them (plain_scan.c).
 *
 * The sample is read by a SELECT, so rights, policies and the snapshot apply as usual, and rows are
 * received like those of a join, with the same errors. Only some rows are used, chosen by a hash of
 * their location or of their object's id. Whenever there are too many of them, or their geometries
 * are too large, half of them are dropped. Memory is therefore limited by the requested size,
 * however many rows there are.
 *
 * The choice depends only on the table and the seed.
 */
#include "pg/read/read.h"

#include "access/detoast.h"
#include "access/table.h"
#include "access/tupdesc.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "core/base/hash.h"
#include "core/set/set.h"

/*
 * Approximate number of rows wanted from each page; many pages are more representative than many
 * rows of a few
 */
#define ROWS_OF_A_PAGE 16
#define BYTES (UINT64CONST(256) << 20) /* Limit of the geometries read for the sample, in bytes */
/* Bound that all hashes are below, so that it selects all rows */
#define ALL (UINT64CONST(1) << 32)

typedef struct box_receiver
{
	DestReceiver pub;  /* Must be first */
	rb_receiver *rows; /* Receiver that converts rows into parts */
	rb_source *source;
	rb_builder builder; /* Holds the parts of one row */
	rb_space *space;
	rb_memory *memory;
	TupleDesc desc;
	uint64 seen;
	uint64 bound;  /* Hash bound: rows with a smaller hash are selected */
	uint64 bytes;  /* Size of the geometries of selected rows */
	size_t wanted; /* Maximum number of rows */
	size_t n;
	double *box;  /* Six numbers per box: low, high */
	uint32 *hash; /* Hash of each box */
	size_t box_cap;
	size_t hash_cap;
	HTAB *objects; /* Index of each object's box; NULL if each row is an object */
	uint32 seed;
} box_receiver;

typedef struct object
{
	int64 id; /* Hash key; must be first */
	size_t number;
} object;

/* ---- sampled boxes ---- */

/* Makes room for one more box. */
static void
grow_arrays_of_sample(box_receiver *r)
{
	rb_error error;
	rb_status status = rb_grow_array(r->memory, (void **) &r->box, &r->box_cap, r->n + 1,
									 6 * sizeof(double), &error);

	if (status == RB_OK)
		status = rb_grow_array(r->memory, (void **) &r->hash, &r->hash_cap, r->n + 1,
							   sizeof(uint32), &error);
	if (status != RB_OK)
		rb_raise_of(r->source->function, r->source->what, status, &error);
}

/* Creates the hash table of objects. */
static void
open_table_of_objects(box_receiver *r)
{
	HASHCTL control;

	memset(&control, 0, sizeof control);
	control.keysize = sizeof(int64);
	control.entrysize = sizeof(object);
	control.hcxt = CurrentMemoryContext;
	r->objects = hash_create("redblue sample of objects", 1024, &control,
							 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* Removes the objects whose hash is no longer selected, and renumbers the others. */
static void
drop_unselected_objects(box_receiver *r)
{
	HASH_SEQ_STATUS scan;
	object *o;
	size_t *number = palloc(r->n * sizeof *number);
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
	{
		number[i] = n;
		n += r->hash[i] < r->bound;
	}
	hash_seq_init(&scan, r->objects);
	while ((o = hash_seq_search(&scan)) != NULL)
	{
		if (r->hash[o->number] < r->bound)
			o->number = number[o->number];
		else
			(void) hash_search(r->objects, &o->id, HASH_REMOVE, NULL);
	}
	pfree(number);
}

/* Drops half of the sample. */
static void
halve_sample_of_boxes(box_receiver *r)
{
	size_t n = 0;

	r->bound /= 2;
	r->bytes /= 2;
	if (r->objects != NULL && r->n > 0)
		drop_unselected_objects(r);
	for (size_t i = 0; i < r->n; i++)
		if (r->hash[i] < r->bound)
		{
			memmove(r->box + 6 * n, r->box + 6 * i, 6 * sizeof(double));
			r->hash[n++] = r->hash[i];
		}
	r->n = n;
}

/* Appends a box, or extends the box of the row's object. */
static void
add_box_to_sample(box_receiver *r, uint32 hash, int64 id, const double low[3], const double high[3])
{
	bool found = false;
	object *o = NULL;
	double *to;

	if (r->objects != NULL)
		o = hash_search(r->objects, &id, HASH_ENTER, &found);
	if (found)
	{
		to = r->box + 6 * o->number;
		rb_box_add(to, to + 3, low, high);
		return;
	}
	grow_arrays_of_sample(r);
	if (o != NULL)
		o->number = r->n;
	to = r->box + 6 * r->n;
	memcpy(to, low, 3 * sizeof(double));
	memcpy(to + 3, high, 3 * sizeof(double));
	r->hash[r->n++] = hash;
	while (r->n > r->wanted || r->bytes > BYTES)
		halve_sample_of_boxes(r);
}

/* ---- rows ---- */

/* Returns a hash that is independent of the hashes of other seeds. */
static uint32
hash_with_seed(const box_receiver *r, uint64 what)
{
	return (
		uint32) (rb_splitmix(rb_splitmix(what) + (r->seed + 1) * UINT64CONST(0x9e3779b97f4a7c15)) >>
				 32);
}

/*
 * Returns the stored size of a sampled geometry or cube in bytes, or 0 for other objects, to limit
 * the memory of the sample.
 */
static uint64
stored_bytes_of_sampled_value(const box_receiver *r, TupleTableSlot *slot)
{
	const rb_columns *columns = &r->rows->columns;
	const int i = columns->geom.attno - 1;

	if (i < 0 || (columns->shape != RB_SHAPE_GEOMETRY && columns->shape != RB_SHAPE_CUBE))
		return 0;
	slot_getsomeattrs(slot, i + 1);
	return slot->tts_isnull[i] ? 0 : toast_datum_size(slot->tts_values[i]);
}

/*
 * Returns a hash of the row's location in its table, which does not depend on where the scan began.
 * If the row has no location, returns a hash of its number.
 */
static uint32
hash_of_row_location(box_receiver *r, TupleTableSlot *slot)
{
	const ItemPointer at = &slot->tts_tid;
	uint64 place = ++r->seen;

	if (ItemPointerIsValid(at))
		place = ((uint64) ItemPointerGetBlockNumber(at) << 16 | ItemPointerGetOffsetNumber(at)) ^
				rb_splitmix(slot->tts_tableOid);
	return hash_with_seed(r, place);
}

/* Adds the box of a row to the sample. */
static bool
receive_box_of_sampled_row(TupleTableSlot *slot, DestReceiver *self)
{
	box_receiver *r = (box_receiver *) self;
	const rb_builder *b = &r->builder;
	uint32 hash = hash_of_row_location(r, slot);
	double low[3], high[3];
	int64 id;

	CHECK_FOR_INTERRUPTS();
	if (r->objects == NULL && hash >= r->bound)
		return true;
	rb_builder_clear(&r->builder);
	r->rows->pub.receiveSlot(slot, &r->rows->pub);
	if (b->nrows == 0)
		return true;
	id = b->ids[0];
	r->bytes += stored_bytes_of_sampled_value(r, slot);
	if (r->objects != NULL)
		hash = hash_with_seed(r, (uint64) id);
	if (hash >= r->bound)
		return true;
	rb_parts_box(b->kind, b->coords, 0, b->nparts, low, high);
	add_box_to_sample(r, hash, id, low, high);
	return true;
}

/* Prepares the builder of the rows. */
static void
start_sampling_receiver(DestReceiver *self, int operation, TupleDesc desc)
{
	box_receiver *r = (box_receiver *) self;

	r->desc = desc;
	r->source->kind = rb_columns_kind(desc, r->source);
	rb_builder_init(&r->builder, r->memory, r->source->kind);
	r->rows->pub.rStartup(&r->rows->pub, operation, desc);
}

/* Does nothing, as shutdown and as destructor; a DestReceiver must have both callbacks. */
static void
end_sampling_receiver(DestReceiver *self)
{
}

/* Initializes the receiver of a sample. */
static void
begin_sampling_receiver(box_receiver *r, rb_source *source, rb_space *space, rb_memory *memory,
						uint32 seed, size_t wanted)
{
	memset(r, 0, sizeof *r);
	r->pub.receiveSlot = receive_box_of_sampled_row;
	r->pub.rStartup = start_sampling_receiver;
	r->pub.rShutdown = end_sampling_receiver;
	r->pub.rDestroy = end_sampling_receiver;
	r->pub.mydest = DestTuplestore; /* Any destination that keeps its rows */
	r->source = source;
	r->space = space;
	r->memory = memory;
	r->bound = ALL;
	r->wanted = wanted;
	r->seed = seed;
	r->rows = rb_receiver_create(source, &r->builder, space);
	if (source->object_name != NULL)
		open_table_of_objects(r);
}

/*
 * Returns the declared number of dimensions of the geometry column whose boxes are sampled, or 0
 * if any is allowed.
 */
static int
declared_dims_of_sampled_column(const box_receiver *r)
{
	const rb_columns *columns = &r->rows->columns;
	int32 typmod = -1;

	if (columns->shape == RB_SHAPE_GEOMETRY)
		typmod = TupleDescAttr(r->desc, columns->geom.attno - 1)->atttypmod;
	/* PostGIS has a bit for Z in its type modifier. */
	return typmod < 0 ? 0 : (typmod & 2) != 0 ? 3 : 2;
}

/*
 * Returns the number of dimensions of the rows. If there are no rows, returns the declared number,
 * or 0.
 */
static int
find_dims_of_sample(const box_receiver *r)
{
	if (r->n > 0 || r->source->kind != RB_BOX3)
		return rb_kind_dims(r->builder.kind);
	return r->space->dims != 0 ? r->space->dims : declared_dims_of_sampled_column(r);
}

/* Converts the sampled boxes into a set, in the same array. */
static void
finish_sample_as_set(box_receiver *r, double share, rb_box_sample *sample)
{
	const int kept = sample->flat ? 2 : rb_kind_dims(r->builder.kind);

	for (size_t i = 0; i < r->n; i++)
		for (int k = 0; k < 2; k++)
			memmove(r->box + (2 * i + (size_t) k) * (size_t) kept, r->box + 6 * i + 3 * (size_t) k,
					(size_t) kept * sizeof(double));
	sample->dims = find_dims_of_sample(r);
	sample->set = (rb_set){.kind = kept == 2 ? RB_BOX2 : RB_BOX3,
						   .nparts = (uint32) r->n,
						   .nrows = (uint32) r->n,
						   .coords = r->box};
	sample->all = share >= 1 && r->bound == ALL;
	sample->paged = share < 1;
	sample->rows = (double) r->n / share * ((double) ALL / (double) r->bound);
	rb_free(r->memory, (void **) &r->hash);
	rb_builder_free(&r->builder);
}

/* ---- tables ---- */

/*
 * Counts the pages of a table and all of its children. Returns false if one of them has no pages of
 * its own.
 */
static bool
count_pages_of_children(Relation rel, double *pages)
{
	ListCell *lc;

	*pages = 0;
	foreach (lc, find_all_inheritors(RelationGetRelid(rel), AccessShareLock, NULL))
	{
		Relation child = try_relation_open(lfirst_oid(lc), NoLock);
		const char kind = child != NULL ? child->rd_rel->relkind : RELKIND_PARTITIONED_TABLE;

		if (kind == RELKIND_RELATION || kind == RELKIND_MATVIEW)
			*pages += RelationGetNumberOfBlocks(child);
		if (child != NULL)
			relation_close(child, NoLock);
		if (kind != RELKIND_RELATION && kind != RELKIND_MATVIEW &&
			kind != RELKIND_PARTITIONED_TABLE)
			return false;
	}
	return true;
}

/* Returns the share of the pages that is to be read. */
static double
fraction_of_pages_to_read(const rb_source *source, size_t wanted)
{
	const char kind = source->rel->rd_rel->relkind;
	const double most = (double) wanted / ROWS_OF_A_PAGE;
	double pages;

	/*
	 * Read all of the table if rows form objects, because the rows of an object may be on any page.
	 */
	if (source->object_name != NULL ||
		(kind != RELKIND_RELATION && kind != RELKIND_MATVIEW &&
		 kind != RELKIND_PARTITIONED_TABLE) ||
		!count_pages_of_children(source->rel, &pages) || pages <= most ||
		!rb_rows_are_on_pages(source->rel))
		return 1;
	return most / pages;
}

void
rb_box_sample_read(rb_source *source, rb_space *space, rb_memory *memory, uint32 seed,
				   rb_box_sample *sample)
{
	const char *sql = source->sql;
	double share = source->rel != NULL ? fraction_of_pages_to_read(source, sample->wanted) : 1;
	box_receiver *r = palloc(sizeof *r);

	begin_sampling_receiver(r, source, space, memory, seed, sample->wanted);
	if (share < 1)
		source->sql = psprintf("%s TABLESAMPLE pg_catalog.system (%.17g) REPEATABLE (%u)", sql,
							   100 * share, seed);
	rb_run_source(source, &r->pub);
	source->sql = sql;
	finish_sample_as_set(r, share, sample);
}
