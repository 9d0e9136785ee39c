/*
 * read.h
 *	  Declares how the rows of the arguments become sets, grouped by the file that defines it.
 */
#ifndef RB_PG_READ_READ_H
#define RB_PG_READ_READ_H

#include "pg/base/pg.h"
#include "access/xlogdefs.h"
#include "storage/buf.h"
#include "storage/bufpage.h"
#include "utils/timestamp.h"

struct rb_spill;

/* Ensures that an array in the memory of a join has room for `need` elements. */
static inline rb_status
rb_grow_array(rb_memory *memory, void **block, size_t *cap, size_t need, size_t element,
			  rb_error *error)
{
	const size_t want = Max(need, *cap + *cap / 2 + 1024);

	if (need <= *cap)
		return RB_OK;
	RB_TRY(rb_resize(memory, block, want * element, error));
	*cap = want;
	return RB_OK;
}

/* Functions that compare the values of a column */
typedef struct rb_key_type
{
	FmgrInfo hash;
	FmgrInfo equal;
	Oid collation;
} rb_key_type;

/* Keys that identify rows (composite_keys.c) */
typedef struct rb_keys
{
	const char *names; /* Column names given by the caller, or NULL */
	bool objects;
	TupleDesc desc;    /* Description of the key's columns */
	AttrNumber *attno; /* Numbers of the columns in the rows that are read */
	rb_key_type *type; /* Functions for each column, for objects only */
	struct TupleTableSlot *slot;

	/* Arrays in the memory of the join */
	uint32 n;
	char *bytes;
	size_t used;
	size_t bytes_cap;
	uint64 *start;
	size_t start_cap;
	/* For objects only: a hash table with open addressing */
	uint32 *bucket; /* Number of the key + 1, or 0 if free */
	size_t nbuckets;
	uint32 *hash; /* Hash of each key */
	size_t hash_cap;
} rb_keys;

/* Extra numeric column read with each row */
typedef struct rb_extra_column
{
	const char *name;
	/* True for integer types, which have no nulls; otherwise a null is read as infinity */
	bool integer;
	/*
	 * One value per row of the set: an int64 or the bits of a float8. Allocated from the set's
	 * memory account
	 */
	uint64_t *words;
	size_t cap;
} rb_extra_column;

/* ---- source.c: an argument becomes a SELECT ---- */

typedef struct rb_source
{
	const char *function;    /* SQL function that reads it, for messages */
	const char *side;        /* Name of its argument */
	const char *what;        /* Purpose of the read, for messages, if it is not a join */
	rb_kind kind;            /* RB_BOX3 for boxes of either dimension */
	bool query;              /* True if the argument is a query text, not a table */
	const char *sql;         /* A single SELECT */
	Oid relid;               /* The table or view, InvalidOid for a query */
	Oid heap;                /* Table readable without the SELECT, or InvalidOid */
	Relation rel;            /* Open table or view until it is read, NULL for a query */
	double rows;             /* Expected number of rows, 0 if unknown */
	const char *id_name;     /* Id column; NULL for "id" or the primary key, then stored here */
	const char *geom_name;   /* Geometry column, NULL if found by its type */
	const char *object_name; /* Column that groups rows into objects, NULL if each row is one */
	rb_keys *keys;           /* Keys that identify rows, NULL if an id does */
	bool unique;             /* True if an index guarantees unique ids */
	double face_tolerance;   /* Maximum distance of vertices from their face's plane, < 0 for any */
	/*
	 * Maximum distance of vertices from their face's plane, as a fraction of the face's extent, 0
	 * for any; not set for workers
	 */
	double face_share;
	bool solid; /* True if each row, or object, is a solid */
	/* True if invalid rows are left out and listed in rb_side_data instead of raising an error */
	bool leave_out;
	bool only_rows;   /* True if the call has no argument that groups rows into objects */
	bool nameless;    /* True if ids are optional and serve messages only */
	bool count_faces; /* True if faces are counted per row; excludes the cache and workers */
	bool polygons;    /* True if the polygon of each triangle is needed; excludes workers */
	bool many_points; /* True if a row of points may have several */
	/* True if boxes, in space, may also be given by center and size: RB_CUBOID3 */
	bool blocks;
	/* True if triangles may also be given by a point and a normal (RB_PLANE3), or by a line */
	bool planes;
	bool keep;  /* Cache the rows regardless of the setting */
	bool again; /* Bypass the cache: the cached copy is unusable */
	/* Only rows that can be in a pair of this tile, within `distance`, are needed */
	rb_box tile;
	double distance;
	rb_extra_column *beside; /* Extra column to read, or NULL; excludes workers and the cache */
} rb_source;

/* Returns true if several rows may form one object. */
static inline bool
rb_source_has_objects(const rb_source *source)
{
	return source->object_name != NULL || (source->keys != NULL && source->keys->objects);
}

/* Fills the source from a table's OID. The caller has set the function and the argument names. */
extern void rb_source_table(rb_source *source, Oid relid);
/*
 * Fills the source from the text of a query, which must be a single SELECT; raises an error
 * otherwise.
 */
extern void rb_source_query(rb_source *source, const char *text);

/* ---- plain_scan.c: plans of the planner, with all hooks in place ---- */

/*
 * Returns the reason why the rows of a table may differ from those on its pages, or NULL if its
 * SELECT is planned as a scan of all of them. If `may_wait` is false, an index that another session
 * has locked is a reason, too.
 */
extern const char *rb_plan_refusal(Relation rel, bool may_wait);

/* Returns true if the rows of a table, and of all its children, come from their own pages. */
extern bool rb_rows_are_on_pages(Relation rel);

/* Returns true if an INSERT that sets every column writes its rows to the table itself. */
extern bool rb_inserts_are_plain(Relation rel);

/* ---- memory_estimate.c: memory estimate of a join ---- */

#define RB_MAX_SIDES 6 /* Maximum number of sides (of a mesh; a join has two) */

typedef struct rb_need
{
	const rb_source *source; /* Array of the sides */
	int n;                   /* Number of sides */
	int read;                /* Number of sides read so far */
	uint64 parts[RB_MAX_SIDES];
	uint64 rows[RB_MAX_SIDES];
	bool multi[RB_MAX_SIDES]; /* True if some rows have several parts */
} rb_need;

/* Progress of reading a side */
typedef struct rb_so_far
{
	uint64 rows;  /* Rows received */
	double share; /* Fraction of the table, 0 if unknown */
} rb_so_far;

/*
 * Records that one more side is read: either `set`, or the rows in the builder and `kept` cached
 * rows.
 */
extern void rb_need_next(rb_need *need, const rb_set *set, const rb_builder *builder, uint64 kept);

/*
 * Returns the memory in bytes for everything that is read and will be read, and for the join, after
 * `refused` bytes could not be allocated.
 */
extern uint64 rb_need_while_reading(const rb_need *need, const rb_builder *builder,
									const rb_so_far *so_far, uint64 refused);

/*
 * Returns the memory in bytes for the current contents of the builder, for grouping its rows into
 * objects, and for the join.
 */
extern uint64 rb_need_to_group(const rb_builder *builder);

/* Returns the number of pages of a table's TOAST table. */
extern BlockNumber rb_toast_blocks(Relation rel);

/* ---- box_types.c: types whose values are boxes ---- */

/* Interpretation of a value, derived from its type */
typedef enum rb_box_shape
{
	RB_SHAPE_NONE,
	RB_SHAPE_GEOMETRY, /* The type geometry of PostGIS, or any type of this name and format */
	RB_SHAPE_BOX3D,    /* From PostGIS */
	RB_SHAPE_BOX2D,
	RB_SHAPE_CUBE /* From the contrib module cube */
} rb_box_shape;

/* Returns RB_SHAPE_NONE if objects of that kind cannot be read from the type. */
extern rb_box_shape rb_shape_of(Oid type, rb_kind kind);

typedef struct rb_box_value
{
	int dims;      /* 2 or 3; another number if the value is not a box of two or three dimensions */
	double low[3]; /* low <= high, or not finite */
	double high[3];
	int32 srid; /* SRID of a box3d */
} rb_box_value;

/* Reads the bounds, dimensions and SRID of a value of a box type. */
extern void rb_box_read(rb_box_shape shape, Datum value, rb_box_value *box);

/* ---- column_lookup.c: column lookup by name or index ---- */

typedef struct rb_column
{
	AttrNumber attno; /* From 1, or 0 if unused */
	Oid type;         /* Base type, with domains resolved */
} rb_column;

/*
 * Returns the column with this name, with attno 0 if there is none. The source is NULL if the
 * columns are those of a table.
 */
extern rb_column rb_column_find(TupleDesc desc, const char *name, const rb_source *source);

/* Returns the column named by the caller, quoted or not, or raises an error if it is missing. */
extern rb_column rb_column_named(TupleDesc desc, const char *name, const rb_source *source);

/* Returns the number of coordinate columns of a kind: 0 if only geometries contain such objects. */
extern int rb_coordinate_columns(rb_kind kind);

/* Returns the column name of the i-th coordinate of a kind. */
extern const char *rb_coordinate_name(rb_kind kind, int i);

/* Returns a list of all columns for messages, as in "a integer, b text". */
extern char *rb_list_columns(TupleDesc desc);

/* Casts a value to float8 with PostgreSQL's own cast; `of_numeric` casts a numeric. */
extern double rb_number_to_float8(Datum value, Oid type, PGFunction of_numeric);

/* Shortens a value for messages. */
extern char *rb_shorten(char *text);

/* Returns the columns of the primary key, or NIL. */
extern List *rb_primary_key(Relation rel);

/* Returns true if no two rows have the same value in this column. */
extern bool rb_column_is_unique(Relation rel, AttrNumber attno);

/* ---- object_columns.c: the columns of a row that make up an object ---- */

typedef struct rb_columns
{
	rb_column
		id; /* Integer, or a number with an integral value; the object's column if one is named */
	int nkeys; /* Number of keys; if there are any, there is no id */
	rb_column *key;
	rb_column geom; /* Geometry or box of this shape, if not coordinates */
	rb_box_shape shape;
	/* Kind of the coordinates; may be RB_BOX2 if RB_BOX3 was requested, or that of other columns */
	rb_kind kind;
	int width; /* Number of coordinate columns, 0 with a geometry */
	rb_column coord[RB_MAX_WIDTH];
	rb_column beside; /* Extra column, attno 0 if not needed */
	AttrNumber last;  /* Highest attno of all these */
} rb_columns;

/*
 * Finds the columns of a table or query that the source needs; raises an error if one is missing,
 * ambiguous or of a wrong type.
 */
extern void rb_columns_find(rb_columns *columns, TupleDesc desc, const rb_source *source);

/* Returns the other kind whose coordinate columns a source accepts, or its own kind. */
static inline rb_kind
rb_source_other_kind(const rb_source *source)
{
	return source->blocks ? RB_CUBOID3 : source->planes ? RB_PLANE3 : source->kind;
}

/* Returns true if objects are read from columns of the source's other kind. */
extern bool rb_columns_are_other(TupleDesc desc, const rb_source *source);

/*
 * Returns a kind whose coordinate columns all exist, regardless of the kind that the join needs.
 * Returns RB_BOX3 if there is none or a geometry column is named, because every geometry can be
 * read as a box.
 */
extern rb_kind rb_columns_kind(TupleDesc desc, const rb_source *source);

/*
 * Finds the columns of an object of this kind in a table without raising errors: takes the first of
 * several geometry columns, and sets neither ids nor `last`. Returns false if there are none.
 */
extern bool rb_columns_try(rb_columns *columns, TupleDesc desc, rb_kind kind,
						   const char *geom_name);

/* Returns the name of a side's argument, where `what` is id or geom. */
extern const char *rb_source_argument(const rb_source *source, const char *what);

/* ---- composite_keys.c: rows identified by columns of any type ---- */

/*
 * Creates keys from comma-separated column names (NULL for the primary key). With `objects`, equal
 * keys get one number.
 */
extern rb_keys *rb_keys_create(const char *names, bool objects);

/* Looks up the columns. Raises an error if one is missing or its type cannot be a key. */
extern void rb_keys_find(rb_keys *keys, Relation rel, const rb_source *source);

/*
 * Stores the key of a row and sets *number to the number of the key, from 0. The key must have no
 * nulls. Keys are allocated from `memory` and live as long as it does.
 */
extern rb_status rb_keys_store(rb_keys *keys, struct TupleTableSlot *slot, rb_memory *memory,
							   int64 *number, rb_error *error);

/* Stores the key with this number in a slot for minimal tuples with the descriptor keys->desc. */
extern void rb_keys_get(const rb_keys *keys, int64 number, struct TupleTableSlot *slot);

/* Returns the key as text for messages, as in "(a, b) = (17, x)". */
extern char *rb_keys_text(const rb_keys *keys, struct TupleTableSlot *slot);

/* ---- row_errors.c: one SRID, one number of dimensions ---- */

/* SRID and dimensions of all rows of a join, set by the first row that has them */
typedef struct rb_space
{
	bool srid_known;
	int32 srid;
	uint32 srid_type;
	const char *srid_side;
	int64 srid_id;

	int dims; /* 2 or 3, 0 if unknown */
	const char *dims_side;
	bool dims_of_columns; /* True if the columns, not a particular row, determine `dims` */
	int64 dims_id;
} rb_space;

/* ---- decode.c: geometries become parts ---- */

/*
 * Appends the parts of a detoasted geometry to the builder, without ending the row. Calls no
 * function of PostgreSQL. Returns RB_GEOMETRY_UNKNOWN if only ST_AsEWKB can read the format.
 */
static inline rb_geometry_fault
rb_decode_plain(rb_builder *b, const struct varlena *bytes, rb_geometry_info *info, rb_error *error)
{
	return rb_geometry_read_serialized(b, (const uint8_t *) VARDATA_ANY(bytes),
									   VARSIZE_ANY_EXHDR(bytes), info, error);
}

/* Decoder of geometries of one type */
typedef struct rb_decoder
{
	const char *function;
	const char *where;  /* Name of the argument in messages, such as "the first geometry" */
	const char *row;    /* Row of the geometry, or NULL */
	Oid type;           /* Type of the geometries, InvalidOid if unknown */
	bool parallel_safe; /* True if only functions that are safe in parallel workers may be called */
	MemoryContext context;
	FmgrInfo as_ewkb; /* ST_AsEWKB for that type */
	bool as_ewkb_known;
} rb_decoder;

/*
 * Appends the parts of a geometry as rb_decode_plain does, or else from its ST_AsEWKB. Raises the
 * error of an interrupt. If the decoder is NULL, calls no function of PostgreSQL, and returns
 * RB_GEOMETRY_STOPPED if an interrupt is pending.
 */
extern rb_geometry_fault rb_decode_parts(rb_decoder *decoder, rb_builder *builder,
										 struct varlena *bytes, rb_geometry_info *info,
										 rb_error *error);

/*
 * Decodes a detoasted geometry into a row of the builder with this id. The builder's kind and flags
 * select the accepted geometries. A row without parts is dropped. If the geometry cannot be read,
 * raises an error or returns false, depending on `raise`; memory that is exhausted is always an
 * error. The decoder is NULL in a thread other than the main one (rb_decode_parts), where false is
 * returned in all these cases.
 */
extern bool rb_decode(rb_decoder *decoder, rb_builder *builder, struct varlena *bytes, int64 id,
					  bool raise, rb_geometry_info *info);

/*
 * Decodes a geometry of any kind, in space, into the first of these builders (for points, segments
 * and triangles) that accepts it. The three may be the same empty builder, which then gets the kind
 * that accepts it.
 */
extern bool rb_decode_placed(rb_decoder *decoder, rb_builder *const builders[3],
							 struct varlena *bytes, int64 id, bool raise, rb_geometry_info *info);

typedef struct rb_geometry_place
{
	const char *function;
	const char *what;  /* Purpose of the read, if it is not a join */
	const char *where; /* Location, as in: column "geom" of red, id 17 */
	const char *value; /* The geometry as an SQL expression, for hints */
	rb_kind kind;
	bool many_points;
	bool planes;
	const char *more_hint;
	double face_tolerance; /* As set in the builder that read the geometry */
	double face_share;
	bool flattened; /* True if Z was dropped because the other geometry has none */
} rb_geometry_place;

/*
 * Raises the error for a geometry that cannot be read. RB_GEOMETRY_NO_MEMORY and
 * RB_GEOMETRY_STOPPED are not handled here, as they do not depend on the geometry.
 */
pg_noreturn extern void rb_raise_geometry(const rb_geometry_place *place, rb_geometry_fault fault,
										  const rb_geometry_info *info);

typedef struct rb_receiver rb_receiver; /* Defined below */

/* ---- heap.c: plain tables, read without the executor ---- */

/* State of a page when it was read, for the cache (side_cache.c) */
typedef struct rb_page_note
{
	uint64 lsn;
	uint32 rows;
	uint32 parts;
	uint32 type;        /* Type of the first nonempty geometry, 0 if none */
	uint16 skipped;     /* Rows without parts */
	uint16 read : 14;   /* Tuples read so far */
	uint16 visible : 1; /* True if its all-visible flag was set */
	uint16 whole : 1;   /* True if the whole page has been read */
} rb_page_note;

typedef struct rb_heap
{
	Relation rel;
	rb_receiver *receiver;
	struct TableScanDescData *scan;
	struct TupleTableSlot *slot;
	BlockNumber blocks;  /* Pages of the table when the scan began */
	BlockNumber block;   /* Position of the scan: the page of the next tuple */
	int at;              /* Index of the next tuple among those visible on the page */
	int tuples;          /* Number of visible tuples on the page */
	rb_page_note *notes; /* One per page or slice of a page, NULL if not recorded */
	uint32 note_slices;
	/*
	 * Called after each tuple, when the next one is current; returns whether to read the next one
	 */
	bool (*after)(struct rb_heap *heap);
	void *arg;
} rb_heap;

/* Returns the reason why the catalogs rule out reading the table's pages directly, or NULL. */
extern const char *rb_table_refusal(Relation rel);
/*
 * Returns the reason why the catalogs or the planner rule out reading the table's pages directly,
 * or NULL.
 */
extern const char *rb_heap_refusal(Relation rel);
/* Begins to read a table into a receiver; every rb_heap_begin needs an rb_heap_end. */
extern void rb_heap_begin(rb_heap *heap, Relation rel, rb_receiver *receiver);
/* Ends the scan of the table. */
extern void rb_heap_end(rb_heap *heap);
/*
 * Reads the tuples of a page from number `from` on. Returns false if it stops before tuple heap->at
 * of heap->block.
 */
extern bool rb_heap_page(rb_heap *heap, BlockNumber block, int from, int slice, int slices);

/* ---- readers.c: plain tables read by several processes ---- */

struct rb_side_data;

/*
 * Reads all rows of source->heap into the receiver, which fills this builder, or directly into the
 * side's set.
 */
extern void rb_read_table(const rb_source *source, rb_receiver *receiver, rb_builder *builder,
						  rb_space *space, struct rb_side_data *side);

/* ---- side_cache.c: sides cached between calls ---- */

typedef struct rb_cache_lookup rb_cache_lookup;

/*
 * Looks up a table of `nblocks` pages in the cache and decides whether to cache it. Never returns
 * NULL.
 */
extern rb_cache_lookup *rb_side_cache_begin(const rb_source *source, Relation rel,
											const rb_columns *columns, BlockNumber nblocks);

/* Returns true if the cached copy is completely up to date, so that it can become the side. */
extern bool rb_side_cache_is_whole(const rb_cache_lookup *look);
/* Makes the cached copy the side, without reading the table. */
extern void rb_side_cache_use_whole(rb_cache_lookup *look, rb_receiver *receiver, rb_memory *memory,
									struct rb_side_data *side);
/* Returns the bytes of the cached set, as if it had been read. */
extern uint64 rb_side_cache_entry_bytes(const rb_cache_lookup *look);

/* Returns true if part of the cached copy is up to date, so that only the other pages are read. */
extern bool rb_side_cache_is_partial(const rb_cache_lookup *look);
/*
 * Reads the pages that changed since the copy was cached, and lists the cuts of the copy that the
 * delta set takes over.
 */
extern void rb_side_cache_read_changed(rb_cache_lookup *look, rb_heap *heap,
									   const rb_builder *builder, struct rb_side_data *side);

/* Returns true if the cached ids are strictly increasing. */
extern bool rb_side_cache_ids_ascend(const rb_cache_lookup *look);

/* Merges the newly read rows with the cached ones. */
extern void rb_side_cache_merge_rows(rb_cache_lookup *look, rb_builder *builder,
									 struct rb_side_data *side);

/*
 * Returns the page notes to fill while the whole table is read, `slices` per page, or NULL if it
 * will not be cached.
 */
extern rb_page_note *rb_side_cache_page_notes(rb_cache_lookup *look, uint32 slices);

/* Records that the whole table has just been read. */
extern void rb_side_cache_note_read(rb_cache_lookup *look, Relation rel);

/* Records the reason why the rows will not be cached. */
extern void rb_side_cache_abandon(rb_cache_lookup *look, const char *reason);

/*
 * Finishes the lookup once the side is a set. If it is to be cached, sets side->keep and
 * side->card.
 */
extern void rb_side_cache_finish_side(rb_cache_lookup *look, struct rb_side_data *side);
/* Records that the set was sent to the worker, or why not. */
extern void rb_side_cache_note_sent(rb_cache_lookup *look, const char *why_not);
/* Records that the worker had no room for `bytes` bytes. */
extern void rb_side_cache_note_no_room(rb_cache_lookup *look, uint64 bytes);

/* Returns true if the table is still the one that was looked up. */
extern bool rb_side_cache_is_same_table(const rb_cache_lookup *look);

/* Facts reported about a side that is cached, or why it is not */
typedef struct rb_cache_facts
{
	Oid relid;
	rb_kind kind;
	uint64 rows;
	uint64 bytes;
	uint64 device_bytes;
	BlockNumber pages;
	BlockNumber kept; /* Number of cached pages */
	uint64 hits;
	int64 used;         /* Time of the last use */
	const char *reason; /* Why it is not cached, NULL if it is */
} rb_cache_facts;

/* Fills in what redblue_cached reports about a table. */
extern void rb_side_cache_get_facts(const rb_cache_lookup *look, rb_cache_facts *facts);

/* Iterates over the cached sides. *i starts at 0. Returns false after the last one. */
extern bool rb_side_cache_next_facts(int *i, rb_cache_facts *facts);

/* Evicts a table, or all tables that the user owns, and returns the number of bytes freed. */
extern uint64 rb_side_cache_evict(const char *function, Oid relid);

/* ---- sides.c: sources become sets, for joins and meshes ---- */

/* Result of reading a side */
typedef struct rb_side_data
{
	const rb_set *set;
	rb_kind kind;
	int32 srid;
	uint64 parts;
	uint64 skipped;      /* Rows without parts */
	rb_refusal *refused; /* Unreadable rows, the first of each object */
	uint32 nrefused;
	uint64 rows;       /* Rows with parts */
	uint64 ids;        /* Number of distinct ids, 0 if not counted */
	int workers;       /* Parallel workers that helped */
	uint64 queues;     /* Bytes charged for the workers' queues while reading */
	uint64 kept;       /* Rows taken from the cache */
	BlockNumber pages; /* Pages of the table */
	BlockNumber read;  /* Pages read */
	/* Cache lookup, valid until the join has started; NULL if not a plain table */
	rb_cache_lookup *look;
	struct rb_to_keep *keep; /* How to cache the side, with `card` as its manifest, or NULL */
	const void *card;
} rb_side_data;

/*
 * Reads the n sides of a join one after the other into one space. The caller holds the only
 * reference to each set, and the arrays are allocated from `memory`. If they do not fit and `spill`
 * is not NULL, the rows of all sides are spilled and there are no sets.
 */
extern void rb_read_sides(const rb_source *source, int n, rb_memory *memory, struct rb_spill *spill,
						  rb_side_data *side);

/*
 * Runs the source's SELECT and sends its rows to the receiver, on the snapshot of the surrounding
 * statement. Called within SPI.
 */
extern void rb_run_source(const rb_source *source, DestReceiver *receiver);

/* Reads a side with remote arrays again. The caller still owns the previous set. */
extern const rb_set *rb_read_side_again(const rb_source *source, rb_memory *memory,
										const rb_side_data *side);

/* ---- table_sample.c: boxes of a sample of a side ---- */

typedef struct rb_box_sample
{
	size_t wanted; /* Maximum number of rows; fewer if geometries are large */
	bool flat;     /* True if only x and y are needed */
	/* Results of sampling */
	int dims;    /* Dimensions of the rows, 0 if there are none */
	rb_set set;  /* One box per row, or per object; coords is allocated from the memory account */
	double rows; /* Estimated number of rows with parts */
	bool all;    /* True if the set has all rows */
	bool paged;  /* True if rows are sampled by whole pages */
} rb_box_sample;

/*
 * Samples a source that rb_source_table or rb_source_query has filled, and finds its kind by its
 * columns. Called within SPI. The relation stays open. A different seed selects other rows.
 */
extern void rb_box_sample_read(rb_source *source, rb_space *space, rb_memory *memory, uint32 seed,
							   rb_box_sample *sample);

/*
 * ---- the receiver of rows, and errors about them ----
 *
 * A function that returns bool returns whether the row was accepted. It returns false, for a
 * rejected row, only if rows are received separately or invalid rows are left out; otherwise it
 * raises an error.
 */

/* Counts of the rows finished so far, wherever they were stored */
typedef struct rb_row_tally
{
	uint64 rows; /* Rows with at least one part */
	uint64 parts;
	uint64 skipped;
	uint32 type; /* Type of the first nonempty geometry on this page, 0 if none */
} rb_row_tally;

struct rb_receiver
{
	DestReceiver pub; /* Must be first */
	const rb_source *source;
	rb_builder *builder;
	rb_space *space;
	bool boxes;
	bool cuboids; /* True if boxes are given by center and size */
	rb_error error;
	/* Memory estimate and position of the scan for out-of-memory errors */
	const rb_need *need; /* NULL if unknown */
	const rb_heap *heap; /* Table that this process alone reads, or NULL */
	uint64 rows;         /* Number of rows received so far */
	bool apart;          /* True if invalid rows are rejected without an error */
	/* True if the current row was rejected and recorded, so that reading continues */
	bool left_out;
	rb_space empty; /* SRID and dimensions before the first row */
	/* Rows that were removed from the builder, and the type of the first geometry on this page */
	rb_row_tally gone;
	/*
	 * Callback that is called between two rows once full_builder has full_at parts. It may remove
	 * rows from the builder, and it returns the number of parts at which it is to be called next.
	 */
	uint32 full_at;
	uint32 (*full)(void *arg);
	void *full_arg;
	const rb_builder *full_builder;
	TupleDesc desc; /* Description of the rows of the SELECT */
	rb_columns columns;
	struct TupleTableSlot *slot; /* Current row, unless it is read raw */
	MemoryContext row_context;   /* Memory for decoding one row */

	/* Raw tuples: offsets of the columns in tuples with the description raw_desc */
	TupleDesc raw_desc; /* Description examined last */
	bool raw;           /* True if tuples of raw_desc can be read raw */
	bool together;      /* True if the coordinates are contiguous from raw_coord[0] on */
	int raw_id;
	int raw_coord[RB_MAX_WIDTH];

	rb_decoder decoder; /* Without names for messages, which row_errors.c composes */
};

/* ---- receiver.c ---- */

/* Creates a receiver that fills this builder. The destination of the rows is its first field. */
extern rb_receiver *rb_receiver_create(const rb_source *source, rb_builder *builder,
									   rb_space *space);

/* Returns the counts of the rows finished so far. */
extern void rb_receiver_tally(const rb_receiver *r, rb_row_tally *tally);

typedef enum rb_received
{
	RB_ROW_TAKEN,
	RB_ROW_REFUSED, /* Only if rows are received separately */
	RB_ROW_UNREAD   /* The bytes do not suffice; the row must come in a slot */
} rb_received;

/* Receives a row from the bytes of its tuple. */
extern rb_received rb_receive_tuple(rb_receiver *r, TupleDesc desc, HeapTuple tuple);

/* Rows received separately from the others, to be appended later */
typedef struct rb_rows
{
	uint64 received; /* Including rows without parts */
	uint64 skipped;  /* Rows without parts */
	uint32 nparts;
	uint32 nrows;
	const double *coords;
	const int64 *ids;
	const uint32 *ends; /* See rb_builder_append */
	rb_space space;     /* As set by the first part */
} rb_rows;

/*
 * Redirects the receiver to this builder and space, after `rows` rows. Returns the number of rows
 * received before.
 */
extern uint64 rb_receiver_aim(rb_receiver *r, rb_builder *builder, rb_space *space, uint64 rows);

/* Clears builder and space for the next rows, and adds the previous ones to the tally. */
extern void rb_receiver_begin_rows(rb_receiver *r);

/*
 * Returns the counts and the space of what was received since rb_receiver_begin_rows, and drops a
 * refused row.
 */
extern void rb_receiver_end_rows(rb_receiver *r, rb_rows *rows);

/*
 * Sets the arrays to n parts of the builder, starting with this part and row. The array `ends` must
 * have room for their row ends.
 */
extern void rb_rows_slice(const rb_builder *b, uint32 part, uint32 row, uint32 n, uint32 *ends,
						  rb_rows *rows);

/* Appends rows that were received separately. */
extern void rb_receive_rows(rb_receiver *r, const rb_rows *rows);

/* Counts n rows that an earlier call read, and whose first row determined this space. */
extern void rb_receive_space(rb_receiver *r, uint32 n, const rb_space *space);

/*
 * ---- row_errors.c: invalid rows; functions that return without raising an error return false ----
 */

/* Rejects the row because of the status in r->error. */
extern bool rb_refuse_status(const rb_receiver *r);
/* Rejects the row because this column of its id or key is null. */
extern bool rb_refuse_null_id(rb_receiver *r, rb_column column);

/* Rejects the row because its extra column is null. */
extern bool rb_refuse_null_extra(const rb_receiver *r, int64 id);

/* Rejects an id that has a fraction or is out of range, for the types that allow this. */
extern bool rb_refuse_fraction(rb_receiver *r, Datum value);
/* Rejects the row because this coordinate is null. */
extern bool rb_refuse_null_coordinate(rb_receiver *r, rb_column column, int64 id);

/* Rejects a row with a coordinate that is not finite. */
extern bool rb_refuse_not_finite(rb_receiver *r, const double *x, int64 id);

/* Rejects a block whose size along axis i is negative, or so large that its ends are not finite. */
extern bool rb_refuse_size(const rb_receiver *r, const double *x, int i, int64 id);

/* Rejects a box whose lower bound exceeds its upper bound along axis i. */
extern bool rb_refuse_low_above_high(const rb_receiver *r, const double *x, int i, int64 id);
/* Rejects the row because of the fault of its geometry. */
extern bool rb_refuse_geometry(rb_receiver *r, int64 id, rb_geometry_fault fault,
							   const rb_geometry_info *info);

/* Rejects a cube of this number of dimensions. */
extern bool rb_refuse_cube_dimension(const rb_receiver *r, int dims, int64 id);

/* ---- row_errors.c: one SRID, one number of dimensions ---- */

/* Pseudo-type of a box3d, which has an SRID but no geometry type */
#define RB_TYPE_BOX3D UINT32_MAX

/* Rejects the row if its SRID differs from that of the first row. Returns true if it does not. */
extern bool rb_space_check_srid(rb_receiver *r, int32 srid, uint32 type, int64 id);

/*
 * Sets or checks the number of dimensions. `id` is ignored if the dimensions are those of columns.
 */
extern bool rb_space_settle_dims(rb_receiver *r, int dims, bool of_columns, int64 id);

/*
 * ---- manifests of cached sides, and what the visibility map proves ----
 *
 * A cached side consists of its set and a manifest (rb_card) of what was known of each page when it
 * was read: how many rows it had, and what proves that it still has them.
 */

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

#endif /* RB_PG_READ_READ_H */
