/*
 * pg.h
 *	  Declares what the files of the PostgreSQL layer share, grouped by the file that defines it.
 *
 *	functions.c       an SQL function          pairs.c, aggregates.c   the call returns a set or a number,
 *	                                       function_scan.c               or is a scan node in FROM
 *	arguments.c   its arguments -> sources
 *	sides.c       sources -> SELECT (or heap.c, for plain tables) -> receiver.c -> rb_builder
 *	              -> rb_set
 *	execution.c         sets -> rb_stream -> blocks of ids, which become rows in pairs.c or function_scan.c
 *
 * The sections follow the folders: base, spill, read, service, call, plan, scan.
 *
 * Only src/pg depends on PostgreSQL. PostgreSQL functions are called only from the main thread of
 * the process.
 */
#ifndef RB_PG_BASE_PG_H
#define RB_PG_BASE_PG_H

#include "postgres.h"

#include "fmgr.h"
#include "pg/base/compat.h"
#include "access/htup.h"
#include "access/tupdesc.h"
#include "lib/ilist.h"
#include "nodes/primnodes.h"
#include "storage/lockdefs.h"
#include "tcop/dest.h"
#include "utils/relcache.h"

#include "core/base/base.h"
#include "core/base/redblue.h"

#include <pthread.h>

/* ======== base ======== */

/* Returns a count with its noun, as in "1 thread" and "2 threads". */
static inline char *
rb_count_text(uint64 n, const char *noun)
{
	return psprintf(UINT64_FORMAT " %s%s", n, noun, n == 1 ? "" : "s");
}


/* ---- settings.c ---- */

typedef enum rb_backend_choice
{
	RB_CHOOSE_AUTO,
	RB_CHOOSE_CPU,
	RB_CHOOSE_CUDA
} rb_backend_choice;

typedef enum rb_cache_choice
{
	RB_CACHE_AUTO,
	RB_CACHE_ON,
	RB_CACHE_OFF
} rb_cache_choice;

extern int rb_setting_backend;
extern int rb_setting_threads;          /* Number of threads, 0 for automatic */
extern int rb_setting_memory_limit;     /* Limit in kB */
extern int rb_setting_gpu_memory_limit; /* Limit in kB, 0 for all free memory */
extern uint32 rb_setting_cards;         /* Bit set of redblue.gpu_devices, 0 for all GPUs */
extern int rb_setting_grid_resolution;  /* Cells along the longest side, 0 for automatic */
extern int rb_setting_worker_idle;      /* Idle time in seconds */
extern bool rb_setting_custom_scan;
extern bool rb_setting_join;
extern bool rb_setting_replace_postgis;
extern bool rb_setting_duplicate_notice;
extern bool rb_setting_skip_notice;
extern int rb_setting_cache;
extern int rb_setting_cache_memory;     /* Capacity in kB */
extern int rb_setting_gpu_cache_memory; /* Capacity in kB, -1 for a quarter of the GPU memory */

/*
 * Raises an error for invalid values that the session set before the library was loaded. Called at
 * load time.
 */
extern void rb_settings_check(void);

/* Defines the settings. Called after rb_settings_check. */
extern void rb_settings_define(void);

/* Returns "auto", "cpu" or "cuda". */
extern const char *rb_setting_backend_name(void);

extern int rb_threads(uint64 parts);

/* ---- acl.c: privilege checks and locks ---- */

/*
 * Returns the locked relation, or raises an error if the caller has the privilege on none of its
 * columns.
 */
extern Relation rb_relation_open(Oid relid, LOCKMODE lock, AclMode right, const char *function,
								 const char *argument);

/* ---- error.c: conversion of a status into an ERROR ---- */

pg_noreturn extern void rb_raise(const char *function, rb_status status, const rb_error *error);

/* Raises the error for an operation other than a join, such as a "mesh". */
pg_noreturn extern void rb_raise_of(const char *function, const char *what, rb_status status,
									const rb_error *error);

/*
 * Serves interrupts during long work of the core and returns true if one raised an error.
 *
 * An error such as a cancel must not jump through the frames of the core. It is therefore caught
 * here; true makes the core stop, and rb_rethrow_error rethrows the error after the core has returned.
 */
extern bool rb_is_interrupted(void);
pg_noreturn extern void rb_rethrow_error(void);

/* Creates a memory account, or raises an out-of-memory error. */
extern rb_memory *rb_memory_open(const char *function, uint64 limit);

/* ---- box_arguments.c: arguments that are points, boxes and tiles ---- */

pg_noreturn extern void rb_refuse_null_argument(const char *function, const char *argument);
/* Raises an error because the argument, a column name, is an empty string. */
pg_noreturn extern void rb_refuse_empty(const char *function, const char *argument);
pg_noreturn extern void rb_refuse_distance(const char *function, const char *argument,
										   double distance);
pg_noreturn extern void rb_refuse_tolerance(const char *function, double tolerance);
/* Raises an error because the argument, an array, contains nulls. */
pg_noreturn extern void rb_refuse_null(const char *function, const char *argument);
pg_noreturn extern void rb_refuse_dims(const char *function, const char *a, int dims_a,
									   const char *b, int dims_b);
/* Raises an error because the tile and the join differ in their number of dimensions. */
pg_noreturn extern void rb_tile_refuse_dims(const char *function, const rb_box *tile, int dims);

/*
 * Reads a box from the two arguments `low` and `high`. A null argument leaves the box unbounded on
 * that side; if both are null, e->dims is 0.
 */
extern void rb_ends_read(const NullableDatum *args, const char *function, const char *low,
						 const char *high, rb_box *e);

/* Reads a tile from the arguments tile_low and tile_high. */
extern void rb_tile_read(const NullableDatum *args, const char *function, rb_box *tile);

/* Reads a tile without raising errors. Returns false if the arguments are invalid. */
extern bool rb_tile_try(const NullableDatum *args, rb_box *tile);

/* ---- join_memory.c: memory estimate of a join ---- */

/* Returns the bytes that a join of `parts` parts needs in addition to its inputs. */
extern uint64 rb_need_of_join(uint64 parts);
extern uint64 rb_need_of_join_on(int threads, uint64 parts);

/*
 * ---- background.c: long work of the core on a helper thread, while this thread serves interrupts ----
 */

typedef struct rb_background
{
	rb_context *ctx; /* Context of the work, which polls it for a stop request */
	rb_status (*work)(void *);
	void *arg;
	rb_status status;
	bool working;
	uint32 done;
	pthread_t thread;
} rb_background;

/*
 * Runs work(arg) on a helper thread and rethrows an error that interrupted it. The caller sets ctx,
 * work and arg.
 */
extern rb_status rb_background_run(rb_background *aside);

/*
 * Runs work(arg) on this thread, for work that is usually short. If an interrupt is pending, the
 * work stops; unless the interrupt ends the statement, it is restarted on a helper thread.
 */
extern rb_status rb_background_try(rb_background *aside);

/* Stops the work and joins its thread. For cleanup when the process exits during the work. */
extern void rb_background_end(rb_background *aside);

/* ======== spill: inputs that do not fit in memory ======== */

/* ---- spill.c: rows wait in temporary files and become sets tile by tile ---- */

typedef struct rb_spill rb_spill;

/*
 * Creates the spill of a join of `sides` sides with these names, for pairs within `distance` (or
 * 0). It lives in `context`, holds nothing until rows are added, and must be closed even after an
 * error.
 */
extern rb_spill *rb_spill_create(const char *function, rb_context *ctx, int sides,
								 const char *const name[2], double distance, MemoryContext context);
extern void rb_spill_close(rb_spill *spill); /* NULL is allowed */

/* Starts spilling: from now on all rows go to the spill. */
extern void rb_spill_begin(rb_spill *spill);
extern bool rb_spill_has_begun(const rb_spill *spill);

/* Moves finished rows of the builder to the spill, or removes all spilled rows of a side. */
extern void rb_spill_rows(rb_spill *spill, int side, rb_builder *b);
extern void rb_spill_forget(rb_spill *spill, int side);
/* Writes all rows of a local, materialized set to the spill. */
extern void rb_spill_set(rb_spill *spill, int side, const rb_set *set);
/* Merges the rows of a side that have the same id. Called once all of its rows are spilled. */
extern void rb_spill_group(rb_spill *spill, int side, rb_kind kind);
extern uint64 rb_spill_rows_of(const rb_spill *spill, int side);
extern uint64 rb_spill_parts(const rb_spill *spill, int side);

/*
 * Partitions `within` (or all of space if its dims are 0) into tiles that fit in memory. Called
 * once all rows are spilled.
 */
extern void rb_spill_cut(rb_spill *spill, const rb_kind *kind, int32 srid, const rb_box *within);

/*
 * Returns the sets of the next tile, each with one reference, or RB_END after the last tile.
 * Callable from any thread. A self join may return two sets, which hold different rows of its one
 * side.
 */
extern rb_status rb_spill_next(rb_spill *spill, const rb_set *set[2], rb_box *tile);

/*
 * Splits the last tile, which did not fit in memory, into smaller ones. Returns false and records
 * the failure if it cannot be split.
 */
extern bool rb_spill_cut_again(rb_spill *spill);

/* Return the number of tiles so far and the number of bytes written. */
extern uint32 rb_spill_tiles(const rb_spill *spill);
extern uint64 rb_spill_bytes(const rb_spill *spill);
/*
 * Adds the I/O since the last call to the temporary blocks of EXPLAIN (BUFFERS). NULL is allowed.
 */
extern void rb_spill_report_blocks(rb_spill *spill);

/* ======== read: rows of the arguments become sets ======== */

typedef struct rb_keys rb_keys; /* Defined in composite_keys.c */

/* Extra numeric column read with each row */
typedef struct rb_extra_column
{
	const char *name;
	bool integer; /* True for integer types, without nulls; else null is infinity */
	/*
	 * One per row of the set: an int64 or the bits of a float8. Allocated from the set's memory
	 * account
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
	/* Maximum distance relative to the face's extent, 0 for any; not set for workers */
	double face_share;
	bool body; /* True if each row, or object, is a solid */
	/* True if invalid rows are reported by the side instead of raising an error */
	bool leave_out;
	bool only_rows;   /* True if the call has no argument that groups rows into objects */
	bool nameless;    /* True if ids are optional and serve messages only */
	bool count_faces; /* True if faces are counted per row; excludes the cache and workers */
	bool polygons;    /* True if the polygon of each triangle is needed; excludes workers */
	bool many_points; /* True if a row of points may have several */
	bool keep;        /* Cache the rows whatever the setting */
	bool again;       /* Bypass the cache: the cached copy is unusable */
	/* Only rows that can be in a pair of this tile, within `distance`, are needed */
	rb_box tile;
	double distance;
	rb_extra_column *beside; /* Extra column to read, or NULL; excludes workers and the cache */
} rb_source;

/*
 * Fill the source from a table's OID or a query text. The caller has set the function and the
 * argument names.
 */
extern void rb_source_table(rb_source *source, Oid relid);
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

/* Returns true if an INSERT that sets every column puts its rows into that very table. */
extern bool rb_inserts_are_plain(Relation rel);

/* ---- indexes.c: column properties known from indexes ---- */

/* Returns the columns of the primary key, or NIL. */
extern List *rb_primary_key(Relation rel);

/* Returns true if no two rows have the same value in this column. */
extern bool rb_column_is_unique(Relation rel, AttrNumber attno);

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

extern void rb_need_begin(rb_need *need, const rb_source *source, int n);

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
 * Returns the memory in bytes for the current contents, for grouping the rows into objects, and for
 * the join.
 */
extern uint64 rb_need_to_group(const rb_builder *builder);

/* Returns the number of pages of a table's TOAST table. */
extern BlockNumber rb_toast_blocks(Relation rel);

/* ---- box_types.c: types whose values are boxes ---- */

/* Interpretation of a value, derived from its type */
typedef enum rb_box_shape
{
	RB_SHAPE_NONE,
	RB_SHAPE_GEOMETRY, /* PostGIS, or any type of that name and format */
	RB_SHAPE_BOX3D,    /* From PostGIS */
	RB_SHAPE_BOX2D,
	RB_SHAPE_CUBE /* From the contrib module cube */
} rb_box_shape;

/* Returns RB_SHAPE_NONE if objects of that kind cannot be read from the type. */
extern rb_box_shape rb_shape_of(Oid type, rb_kind kind);

typedef struct rb_box_value
{
	int dims;      /* 2 or 3; another number if the value is no such box */
	double low[3]; /* low <= high, or not finite */
	double high[3];
	int32 srid; /* SRID of a box3d */
} rb_box_value;

extern void rb_box_read(rb_box_shape shape, Datum value, rb_box_value *box);

/* ---- column_lookup.c: column lookup by name ---- */

#define RB_MAX_WIDTH 9

typedef struct rb_column
{
	AttrNumber attno; /* From 1, or 0 if unused */
	Oid type;         /* Base type, with domains resolved */
} rb_column;

/* Returns the column of that name, with attno 0 if there is no such column. */
extern rb_column rb_column_find(TupleDesc desc, const char *name, const rb_source *source);

/* Returns the column named by the caller, quoted or not, or raises an error if it is missing. */
extern rb_column rb_column_named(TupleDesc desc, const char *name, const rb_source *source);

/* Returns the column name of the i-th coordinate of a kind. */
extern const char *rb_coordinate_name(rb_kind kind, int i);

/* Returns a list of all columns for messages, as in "a integer, b text". */
extern char *rb_list_columns(TupleDesc desc);

/* Casts a value to float8 with PostgreSQL's own cast; `of_numeric` casts a numeric. */
extern double rb_number_to_float8(Datum value, Oid type, PGFunction of_numeric);

/* Shortens a value for messages. */
extern char *rb_shorten(char *text);

/* ---- columns.c: the columns of a row that make up an object ---- */

typedef struct rb_columns
{
	rb_column
		id; /* Integer, or a number with an integral value; the object's column if one is named */
	int nkeys; /* Number of keys; if there are any, there is no id */
	rb_column *key;
	rb_column geom; /* Geometry or box of this shape, if not coordinates */
	rb_box_shape shape;
	rb_kind kind; /* Kind of the coordinates; may be RB_BOX2 if RB_BOX3 was requested */
	int width;    /* Number of coordinate columns, 0 with a geometry */
	rb_column coord[RB_MAX_WIDTH];
	rb_column beside; /* Extra column, attno 0 if not needed */
	AttrNumber last;  /* Highest attno of all these */
} rb_columns;

extern void rb_columns_find(rb_columns *columns, TupleDesc desc, const rb_source *source);

/*
 * Returns the kind whose coordinate columns all exist, whatever the join, or else RB_BOX3, as which
 * any geometry can be read.
 */
extern rb_kind rb_columns_kind(TupleDesc desc, const rb_source *source);

/* Returns true if PostgreSQL has a built-in cast from the type to float8. */
extern bool rb_is_number_type(Oid type);

/* Returns true if an id may be of this type. */
extern bool rb_is_id_type(Oid type);

/* ---- hints.c: suggestions for the caller ---- */

/* Returns the name of a side's argument, where `what` is id or geom. */
extern const char *rb_source_argument(const rb_source *source, const char *what);

/* Returns a comma-separated list of column names for messages. */
extern char *rb_list_names(TupleDesc desc, List *attnos);

/* For ereport: adds a hint about a missing id, or about a column that cannot be an id. */
extern int rb_hint_id(TupleDesc desc, const rb_source *source, const char *column);

/*
 * For ereport: adds a hint about a column (0 if none) that is no geometry; `otherwise` is the
 * fallback text.
 */
extern int rb_hint_geometry(TupleDesc desc, const rb_source *source, AttrNumber column,
							const char *otherwise);

/*
 * Returns a sentence that suggests how to rename columns to the coordinate names, in a view or in
 * the query, or NULL if the columns do not look like coordinates.
 */
extern char *rb_way_to_coordinates(TupleDesc desc, const rb_source *source);

/* ---- composite_keys.c: rows identified by columns of any type ---- */

/*
 * Creates keys from comma-separated column names (NULL for the primary key). With `objects`, equal
 * keys get one number.
 */
extern rb_keys *rb_keys_create(const char *names, bool objects);

/* Looks up the columns. Raises an error if one is missing or its type cannot be a key. */
extern void rb_keys_find(rb_keys *keys, Relation rel, const rb_source *source);
extern TupleDesc rb_keys_desc(const rb_keys *keys);

/*
 * Sets the position of key column i in the rows that are read, which may lack columns of the table.
 */
extern void rb_keys_locate(rb_keys *keys, int i, AttrNumber attno);
extern bool rb_keys_are_of_objects(const rb_keys *keys);

/*
 * Returns the number of a row's key, from 0. The key must have no nulls. Keys are allocated from
 * `memory` and live as long as it does.
 */
extern rb_status rb_keys_store(rb_keys *keys, struct TupleTableSlot *slot, rb_memory *memory,
							   int64 *number, rb_error *error);

/* Stores the key of that number into a slot for minimal tuples with the descriptor rb_keys_desc. */
extern void rb_keys_get(const rb_keys *keys, int64 number, struct TupleTableSlot *slot);

/* Returns the key as text for messages, as in "(a, b) = (17, x)". */
extern char *rb_keys_text(const rb_keys *keys, struct TupleTableSlot *slot);

/* ---- srid_dims.c: one SRID, one number of dimensions ---- */

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
	bool dims_of_columns; /* True if the columns, not a particular row, determine them */
	int64 dims_id;
} rb_space;

/* ---- ewkb.c: conversion through ST_AsEWKB ---- */

/*
 * Looks up ST_AsEWKB for a geometry type. With `parallel`, it must be safe in parallel workers.
 * Returns false if there is no callable function.
 */
extern bool rb_find_as_ewkb(Oid type, bool parallel, MemoryContext context, FmgrInfo *info);

/*
 * Reads a sound value that rb_geometry_read_serialized does not support, by converting it with
 * ST_AsEWKB.
 */
extern rb_geometry_fault rb_read_as_ewkb(FmgrInfo *as_ewkb, rb_builder *b, struct varlena *value,
										 rb_geometry_info *info, rb_error *error);

/* ---- geometry_errors.c: errors about geometries that cannot be read ---- */

typedef struct rb_geometry_place
{
	const char *function;
	const char *what;  /* Purpose of the read, if it is not a join */
	const char *where; /* Location, as in: column "geom" of red, id 17 */
	const char *value; /* The geometry as an SQL expression, for hints */
	rb_kind kind;
	bool many_points;
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

/* ---- receiver.c: rows become objects (internals: receiver.h) ---- */

extern DestReceiver *rb_receiver_create(const rb_source *source, rb_builder *builder,
										rb_space *space);

struct rb_heap;

/*
 * Set the memory estimate and the scan position quoted in out-of-memory errors; either may be NULL.
 */
extern void rb_receiver_needs(DestReceiver *self, const rb_need *need);
extern void rb_receiver_follow(DestReceiver *self, const struct rb_heap *heap);

/*
 * Sets a function that is called between two rows when the builder has `at` parts. It may remove
 * finished rows from the builder, and returns the number of parts at which to call it again.
 */
extern void rb_receiver_ask_when_full(DestReceiver *self, uint32 at, uint32 (*full)(void *arg),
									  void *arg);

/* Returns true if the receiver decodes geometries, so that a single row can be large. */
extern bool rb_receiver_decodes(DestReceiver *self);

/* Returns the columns that a started receiver reads. */
extern const struct rb_columns *rb_receiver_columns(DestReceiver *self);

/* Counts of the rows finished so far, wherever they were stored */
typedef struct rb_row_tally
{
	uint64 rows; /* Rows with at least one part */
	uint64 parts;
	uint64 skipped;
	uint32 type; /* Type of the first nonempty geometry since rb_receiver_begin_page, 0 if none */
} rb_row_tally;

extern void rb_receiver_begin_page(DestReceiver *self);
extern void rb_receiver_tally(DestReceiver *self, rb_row_tally *tally);

/* ---- row_raw.c: a row from the bytes of its tuple ---- */

typedef enum rb_received
{
	RB_ROW_TAKEN,
	RB_ROW_REFUSED, /* Only if rows are received separately */
	RB_ROW_UNREAD   /* The bytes do not suffice; the row must come in a slot */
} rb_received;

extern rb_received rb_receive_tuple(DestReceiver *self, TupleDesc desc, HeapTuple tuple);

/* ---- parallel_rows.c: rows received separately, to be appended later ---- */

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
extern uint64 rb_receiver_aim(DestReceiver *self, rb_builder *builder, rb_space *space,
							  uint64 rows);

/* Sets whether rows that cannot be read are refused or raise errors. */
extern void rb_receiver_set_apart(DestReceiver *self, bool apart);
extern void rb_receiver_begin_rows(DestReceiver *self);

/*
 * Returns the counts and the space of what was received since rb_receiver_begin_rows, and drops a
 * refused row.
 */
extern void rb_receiver_end_rows(DestReceiver *self, rb_rows *rows);

/*
 * Sets the arrays to n parts of the builder, starting with this part and row. The array `ends` must
 * have room for their row ends.
 */
extern void rb_rows_slice(const rb_builder *b, uint32 part, uint32 row, uint32 n, uint32 *ends,
						  rb_rows *rows);

/* Appends rows that were received separately. */
extern void rb_receive_rows(DestReceiver *self, const rb_rows *rows);

/* Space of rows that an earlier call read */
typedef struct rb_cached_rows
{
	int64 id;    /* Id of the first row */
	uint32 rows; /* Number of rows */
	bool srid_known;
	int32 srid;
	uint32 type; /* Type of the first geometry */
	int dims;
} rb_cached_rows;

extern void rb_receive_cached_space(DestReceiver *self, const rb_cached_rows *rows);

/* ---- heap.c: plain tables, read without the executor ---- */

/* State of a page when it was read, for the cache (cache.c) */
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
	DestReceiver *receiver;
	struct TableScanDescData *scan;
	struct TupleTableSlot *slot;
	BlockNumber blocks;
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
/*
 * Returns true if only the planner rules it out, which means that an extension provides the rows.
 */
extern bool rb_rows_are_external(Relation rel);
extern void rb_heap_begin(rb_heap *heap, Relation rel, DestReceiver *receiver);
extern void rb_heap_end(rb_heap *heap);
extern BlockNumber rb_heap_blocks(const rb_heap *heap);
extern bool rb_heap_page(rb_heap *heap, BlockNumber block, int from, int slice, int slices);
extern void rb_heap_all(rb_heap *heap);

/* ---- readers.c: plain tables read by several processes ---- */

struct rb_side_data;

/*
 * Reads all rows of source->heap into the receiver, which fills this builder, or directly into the
 * side's set.
 */
extern void rb_read_table(const rb_source *source, DestReceiver *receiver, rb_builder *builder,
						  rb_space *space, struct rb_side_data *side);

/* ---- cache.c: sides cached between calls ---- */

typedef struct rb_cache_lookup rb_cache_lookup;

/*
 * Looks up a table of `nblocks` pages in the cache and decides whether to cache it. Never returns
 * NULL.
 */
extern rb_cache_lookup *rb_cache_begin(const rb_source *source, Relation rel,
									   const rb_columns *columns, BlockNumber nblocks);

/* Returns true if the cached copy is completely up to date, so that it can become the side. */
extern bool rb_cache_is_whole(const rb_cache_lookup *look);
extern void rb_cache_use_whole(rb_cache_lookup *look, DestReceiver *receiver, rb_memory *memory,
							   struct rb_side_data *side);
/* Returns the bytes of the cached set, as if it had been read. */
extern uint64 rb_cache_entry_bytes(const rb_cache_lookup *look);

/* Returns true if part of the cached copy is up to date, so that only the other pages are read. */
extern bool rb_cache_is_partial(const rb_cache_lookup *look);
extern void rb_cache_read_changed(rb_cache_lookup *look, rb_heap *heap, const rb_builder *builder,
								  struct rb_side_data *side);

/* Returns true if the cached ids are strictly increasing. */
extern bool rb_cache_ids_ascend(const rb_cache_lookup *look);

/* Merges the rows that were read with the cached ones. */
extern void rb_cache_merge_rows(rb_cache_lookup *look, rb_builder *builder,
								struct rb_side_data *side);

/*
 * Returns the page notes to fill while the whole table is read, `slices` per page, or NULL if it
 * will not be cached.
 */
extern rb_page_note *rb_cache_page_notes(rb_cache_lookup *look, uint32 slices);

/* Records that the whole table has just been read. */
extern void rb_cache_note_read(rb_cache_lookup *look, Relation rel);

/* Records that the rows will not be cached, with the reason. */
extern void rb_cache_abandon(rb_cache_lookup *look, const char *reason);

/* Finishes once the side is a set. If it is to be cached, sets side->keep and side->card. */
extern void rb_cache_finish_side(rb_cache_lookup *look, struct rb_side_data *side);
/* Records that the set was sent to the worker, or why not. */
extern void rb_cache_note_sent(rb_cache_lookup *look, const char *why_not);
/* Records that the worker had no room for `bytes` bytes. */
extern void rb_cache_note_no_room(rb_cache_lookup *look, uint64 bytes);

/* Returns true if the table is still the one that was looked up. */
extern bool rb_cache_is_same_table(const rb_cache_lookup *look);

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

extern void rb_cache_get_facts(const rb_cache_lookup *look, rb_cache_facts *facts);

/* Iterates over the cached sides. *i starts at 0. Returns false after the last one. */
extern bool rb_cache_next_facts(int *i, rb_cache_facts *facts);

/* Evicts a table, or all tables that the user owns, and returns the number of bytes freed. */
extern uint64 rb_cache_evict(const char *function, Oid relid);

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
extern void rb_read_sides(const rb_source *source, int n, rb_memory *memory, rb_spill *spill,
						  rb_side_data *side);

/*
 * Runs the source's SELECT and sends its rows to the receiver, on the snapshot of the surrounding
 * statement. Called within SPI.
 */
extern void rb_run_source(const rb_source *source, DestReceiver *receiver);

/* Reads the rows of a side again whose arrays are remote. The previous set stays the caller's. */
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

/* ======== service: the worker, which joins on a device for all sessions (protocol.h) ======== */

/* Installs the service. Called when the library is loaded. */
extern void rb_service_install(void);

/* ---- store.c: sides cached by the worker ---- */

#define RB_KEY_BYTES 192

/* Description of a side that is to be cached */
typedef struct rb_to_keep
{
	char key[RB_KEY_BYTES]; /* Key, padded with zeros */
	uint64 card_bytes;      /* Size of the manifest stored with the side, in bytes */
	/* True if only the manifest changes: the side is cached with an older one */
	bool renewed;
	uint64 rows; /* For redblue_cached() only */
	uint64 ids;
	uint32 pages;
	uint32 pages_kept;
} rb_to_keep;

/* Description of a cached side */
typedef struct rb_stored
{
	uint64 number; /* Number of the entry; unique and never reused */
	rb_to_keep keep;
	/* Properties of the set */
	rb_kind kind;
	uint32 nparts;
	uint32 nrows;
	bool has_row_of;
	bool has_ids;
	int64 first_id;
	uint64 skipped;
	int32 srid;
	uint64 bytes; /* Bytes of the set and of the manifest */
	uint64 device_bytes;
	uint64 hits;
	int64 used;  /* Time of the last use, a TimestampTz */
	bool ascend; /* True if ids are strictly increasing */
} rb_stored;

/* Finds the side cached under a key of RB_KEY_BYTES. Returns false if there is none. */
extern bool rb_stored_find(const void *key, rb_stored *stored);

/*
 * Reads the i-th slot, from 0. Returns false after the last slot; number is 0 if the slot is empty.
 */
extern bool rb_stored_get(int i, rb_stored *stored);

/* Returns true if this key was last seen in this state, and records it as seen. */
extern bool rb_stored_was_seen(uint64 key, uint64 state);

/* ---- device.c: the device plugin, in this process ---- */

/* Returns true if the plugin is installed; otherwise sets why_not. */
extern bool rb_device_installed(char *why_not, size_t size);

/*
 * Opens the backend in this process. Returns NULL with the reason in `text` on failure; otherwise
 * `text` describes the device.
 */
extern const rb_backend *rb_device_here(char *text, size_t size);

/* ---- progress.c: the rows of redblue_progress ---- */

typedef struct rb_progress_entry rb_progress_entry;

/* Stages of a mesh that the core does not know, numbered after rb_stage */
enum
{
	RB_MESH_WELD = RB_STAGE_MESH_REFINE + 1, /* Rows become points and facets */
	RB_MESH_VALIDATE,                        /* Search for crossing facets */
	RB_MESH_TETRAHEDRALIZE,
	RB_MESH_REFINE,
	RB_MESH_LOAD, /* Mesh tables are read */
	RB_MESH_CHECK,
	RB_MESH_FILL, /* Mesh tables are filled */
	RB_MESH_STAGES
};

/* Returns the name of a stage of a join or a mesh. */
extern const char *rb_progress_stage(int stage);

/*
 * Returns NULL if no progress is shown; the functions below accept NULL. Only the owning process
 * writes to the entry.
 */
extern rb_progress_entry *rb_progress_begin(const char *function);
/* Records the progress of a stage. Callable from any thread. */
extern void rb_progress_note(rb_progress_entry *entry, int stage, uint64 done, uint64 total);
/*
 * Sets the entry for which sides are read from now on (or NULL), and returns the previous one,
 * because reading a side may run another join. rb_progress_read records the number of pages read.
 */
extern rb_progress_entry *rb_progress_reading(rb_progress_entry *entry);
extern void rb_progress_read(uint64 done, uint64 total);
extern void rb_progress_end(rb_progress_entry **entry);

/* ---- session.c: the worker, as seen by a session ---- */

/* Starts the worker if it is not running and asks it to open the device. Does not wait. */
extern void rb_worker_call(void);

typedef enum rb_device_news
{
	RB_DEVICE_NO_NEWS, /* Not requested so far; after a wait: the worker is unavailable */
	RB_DEVICE_IS_NOT,
	RB_DEVICE_IS_THERE,
	RB_DEVICE_IS_OPEN /* Open, so that a join could start on it at once */
} rb_device_news;

/* Returns what the worker knows of the device, also as text. With `wait`, waits until it knows. */
extern rb_device_news rb_worker_device(bool wait, char *text, size_t size);

/*
 * A join by the worker, used like an rb_stream, with the same job, statuses and statistics. The
 * additional status RB_GONE means that the worker ended before the join did.
 */
typedef struct rb_remote rb_remote;

/* Where a join runs */
typedef enum rb_device_choice
{
	RB_ON_PROCESSOR,
	RB_ON_DEVICE_OR_PROCESSOR, /* On the CPU if there is no device, or if it is full or fails */
	RB_ON_DEVICE
} rb_device_choice;

/* Requests to the worker */
typedef enum rb_ask
{
	RB_ASK_JOIN,
	RB_ASK_KEEP, /* Only cache the side */
	RB_ASK_CARD, /* Read the manifest of the side */
	RB_ASK_IDS,  /* Read the ids of the side's rows */
	/* Repeated refinement rounds of a mesh until the request is closed; no sides */
	RB_ASK_REFINE,
	RB_ASK_DROP /* Evict the side, or all sides if number is 0 */
} rb_ask;

typedef struct rb_submission
{
	const char *function;
	rb_ask ask;
	rb_device_choice device;
	const rb_job *job;
	/* How to cache red and blue, with their manifests; NULL if not */
	const rb_to_keep *keep[2];
	const void *card[2];
	/* For RB_ASK_CARD: the range of bytes of the manifest */
	uint64 card_from;
	uint64 card_bytes;
} rb_submission;

/*
 * Opens a request. Returns false with the reason if the worker is unavailable or no longer caches a
 * side. The job's sets have been sent when it returns. *remote is set as soon as it must be closed,
 * and lives in `context`.
 */
extern bool rb_remote_open(rb_remote **remote, MemoryContext context, rb_context *ctx,
						   const rb_submission *order, rb_progress_entry *progress, char *why_not,
						   size_t size);

/* Callable from any thread. */
extern rb_status rb_remote_next(rb_remote *remote, int wait_ms, rb_block *block);

/* Return what rb_stream_words and rb_stream_groups return of a stream. */
extern const uint32_t *rb_remote_words(const rb_remote *remote);
extern bool rb_remote_groups(const rb_remote *remote, rb_groups *groups);

/* Returns why the join was not on the device, or "". Valid after its end. */
extern const char *rb_remote_note(const rb_remote *remote);
/* Returns the bytes of red (0) or blue (1) for which the cache had no room, or 0 if it had room. */
extern uint64 rb_remote_not_kept(const rb_remote *remote, int side);

/*
 * Performs a backend's refine (redblue.h) in the worker, for RB_ASK_REFINE, with the context given
 * to rb_remote_open. Callable from any thread.
 */
extern rb_status rb_remote_refine(rb_remote *remote, struct rb_refining *refining);

/* Returns true if the worker's status means that this process must do the work itself. */
static inline bool
rb_is_left_to_us(rb_status status)
{
	return status == RB_GONE || status == RB_NO_DEVICE || status == RB_DEVICE_FULL ||
		   status == RB_DEVICE_FAILED || status == RB_OUT_OF_MEMORY || status == RB_NO_THREAD;
}

/* Closes the request without waiting. NULL is allowed. */
extern void rb_remote_close(rb_remote *remote);

/* Reads a range of bytes of a side's manifest. Returns false on failure. */
extern bool rb_worker_card(const char *function, const rb_stored *stored, uint64 from, void *to,
						   size_t bytes);

/* Reads the ids of the rows of a remote set. Returns false with the reason on failure. */
extern bool rb_worker_ids(const char *function, rb_context *ctx, const rb_set *set, char *why_not,
						  size_t size);

/* Caches a side without a join. Returns false with the reason on failure. */
extern bool rb_worker_keep(const char *function, rb_context *ctx, const rb_set *set,
						   const rb_to_keep *keep, const void *card, char *why_not, size_t size);

/* Evicts a side. Returns false if the worker does not confirm it. */
extern bool rb_worker_drop(const char *function, uint64 number);

/* ======== call: the SQL functions, and the join of one call ======== */

/* ---- functions.c: the functions ---- */

/* Result that a function returns for the pairs, with its columns (results.c) */
typedef enum rb_result
{
	RB_RESULT_PAIRS,      /* red_id, blue_id */
	RB_RESULT_CONTACTS,   /* red_id, blue_id, dimension, crosses */
	RB_RESULT_DIMENSIONS, /* id1, id2, dimension */
	RB_RESULT_PARTS,      /* id, part1, part2, dimension */
	RB_RESULT_DISTANCES,  /* red_id, blue_id, distance */
	RB_RESULT_NEAREST,    /* red_id, blue_id, distance */
	RB_RESULT_SIDES,      /* point_id, body_id, side */
	RB_RESULT_STRETCHES,  /* segment_id, body_id, from_fraction, to_fraction, length, on_boundary */
	RB_RESULT_RELATIONS,  /* red_id, blue_id, relation */
	RB_RESULT_BODIES,     /* id, faces, closed, oriented, self_intersections, reason */
	RB_RESULT_COUNT,      /* Number of pairs, not a set */
	RB_RESULT_COUNTS,     /* red_id, pairs */
	RB_RESULT_HITS,       /* red_id */
	RB_RESULT_GROUPS,     /* red_id, blue_ids */
	RB_RESULT_BLOCKS,     /* n, red, blue as packed bytes */
	RB_RESULT_SHAPES,     /* red_id, blue_id, geom */
	RB_RESULT_SPANS       /* segment_id, triangle_id, geom, from_fraction, to_fraction, fractions */
} rb_result;

/*
 * The join of one SQL function. Each function is one line of this type in functions.c and shares all
 * other code.
 */
typedef struct rb_join
{
	const char *function; /* SQL name, for messages */
	bool query;           /* True if the arguments are query texts, not tables */
	bool keys;            /* True if pairs of keys of any type are returned instead of ids */
	rb_kind kind[2];      /* RB_BOX3 for boxes; the data decide whether they are RB_BOX2 */
	const char *side[2];  /* Names of the arguments; side[1] is NULL in a self join */
	rb_result result;
	rb_predicate predicate;
} rb_join;

/*
 * Returns true if the arguments include a distance. The arguments are the sides, then a distance or
 * a count with a maximum distance, then columns of the sides.
 */
static inline bool
rb_join_has_distance(const rb_join *join)
{
	return join->predicate == RB_WITHIN;
}

static inline bool
rb_join_is_nearest(const rb_join *join)
{
	return join->predicate == RB_NEAREST;
}

/* Returns true if each row of a side is a solid. */
static inline bool
rb_join_has_bodies(const rb_join *join)
{
	return join->predicate == RB_RAY_PARITY || join->predicate == RB_INSIDE ||
		   join->predicate == RB_RELATION || join->predicate == RB_VALIDITY;
}

/*
 * Returns true if the join can be restricted to a tile. It cannot if rows without pairs are
 * reported, or if nearest neighbors are ranked.
 */
static inline bool
rb_join_has_tile(const rb_join *join)
{
	return join->predicate != RB_NEAREST && join->predicate != RB_VALIDITY;
}

/* Returns true if its pairs are parts of a single row. */
static inline bool
rb_join_is_within_rows(const rb_join *join)
{
	return join->result == RB_RESULT_PARTS;
}

static inline int
rb_join_sides(const rb_join *join)
{
	return join->side[1] == NULL ? 1 : 2;
}

/* Returns true if a side has triangles, and therefore faces. */
static inline bool
rb_join_has_faces(const rb_join *join)
{
	return join->kind[0] == RB_TRIANGLE3 || join->kind[1] == RB_TRIANGLE3;
}

/*
 * Returns the join of the C function behind an SQL function, or NULL if it is not one of redblue's.
 */
extern const rb_join *rb_join_of(PGFunction function);

/* ---- results.c: the rows of a result ---- */

/* The source of a column's value within a block, or only a type if the value is not in a block */
typedef enum rb_value
{
	RB_VALUE_RED,
	RB_VALUE_BLUE,
	RB_VALUE_PART1, /* Upper half of blue */
	RB_VALUE_PART2,
	RB_VALUE_DIMENSION, /* From the payload */
	RB_VALUE_CROSSES,
	RB_VALUE_DISTANCE,
	RB_VALUE_SIDE, /* Side of a solid */
	RB_VALUE_FROM, /* Start of an interval */
	RB_VALUE_TO,
	RB_VALUE_LENGTH,
	RB_VALUE_ON_BOUNDARY,
	RB_VALUE_RELATION, /* Relation of two solids */
	RB_VALUE_BODY,     /* Id of a checked solid, or NULL */
	RB_VALUE_FACES,    /* NULL if the row could not be read */
	RB_VALUE_CLOSED,
	RB_VALUE_ORIENTED,
	RB_VALUE_CROSSINGS, /* NULL if the row could not be read */
	RB_VALUE_REASON,    /* NULL if the solid is valid, as are the values below */
	RB_VALUE_VALID,     /* Never NULL */
	RB_VALUE_CODE,
	RB_VALUE_X,
	RB_VALUE_Y,
	RB_VALUE_Z,
	RB_VALUE_INT8,
	RB_VALUE_INT4,
	RB_VALUE_FLOAT8,
	RB_VALUE_INT8_ARRAY,
	RB_VALUE_FLOAT8_ARRAY,
	RB_VALUE_BYTES,
	RB_VALUE_GEOMETRY /* Type known only to the SQL function: rb_column_type */
} rb_value;

typedef enum rb_row_from
{
	RB_ROWS_STREAM, /* Blocks of the join's stream (rb_run_next) */
	RB_ROWS_BLOCKS, /* Blocks made by aggregates.c */
	RB_ROWS_SINGLE  /* Single rows made by aggregates.c */
} rb_row_from;

#define RB_RESULT_COLUMNS 11                     /* Maximum number of output columns */
#define RB_BLOCK_COLUMNS (2 + RB_VALIDITY_WORDS) /* Columns of a block: red, blue, payload words */

typedef struct rb_row_shape
{
	rb_row_from from;
	int raw; /* Number of block columns needed: red, blue, payload words */
	int columns;
	rb_value column[RB_RESULT_COLUMNS];
	bool made; /* True if values may be texts or null: rb_value_build */
} rb_row_shape;

extern const rb_row_shape *rb_row_shape_of(rb_result result);
extern Oid rb_value_type(rb_value value);
/* Returns the type of column i of the call's result. */
extern Oid rb_column_type(const FuncExpr *call, const rb_row_shape *shape, int i);

/*
 * Returns a value of row i of a block that may be null or a text, allocated in the current memory
 * context.
 */
extern Datum rb_value_build(const rb_block *block, rb_value value, size_t i, bool *null);

/* Returns a value of row i of a block whose values are all numbers. */
static inline Datum
rb_value_in(const rb_block *block, rb_value value, size_t i)
{
	switch (value)
	{
		case RB_VALUE_RED:
			return Int64GetDatum(block->red[i]);
		case RB_VALUE_BLUE:
			return Int64GetDatum(block->blue[i]);
		case RB_VALUE_PART1:
			return Int32GetDatum((int32) (block->blue[i] >> 32));
		case RB_VALUE_PART2:
			return Int32GetDatum((int32) block->blue[i]);
		case RB_VALUE_DIMENSION:
			return Int16GetDatum((int16) RB_PAYLOAD_DIMENSION(block->payload[i]));
		case RB_VALUE_CROSSES:
			return BoolGetDatum(RB_PAYLOAD_CROSSES(block->payload[i]));
		case RB_VALUE_DISTANCE:
			return (Datum) block->payload[i]; /* Bits of a float8, which is passed by value */
		case RB_VALUE_FROM:
			return (Datum) block->payload[i * block->words];
		case RB_VALUE_TO:
			return (Datum) block->payload[i * block->words + 1];
		case RB_VALUE_LENGTH:
			return (Datum) block->payload[i * block->words + 2];
		case RB_VALUE_ON_BOUNDARY:
			return BoolGetDatum((block->payload[i * block->words + 3] & RB_INTERVAL_OF(1, 0)) != 0);
		default:
			return (Datum) 0;
	}
}

/* ---- arguments.c: arguments of an SQL function ---- */

/* Arguments of a call */
typedef struct rb_call_args
{
	rb_source source[2]; /* Source of each side */
	/* For rb_join_has_distance and rb_join_is_nearest; infinite if not given */
	double distance;
	uint32 nearest; /* Number of neighbors, for rb_join_is_nearest */
	bool skip_bad;  /* True if invalid solids are skipped instead of raising an error */
	rb_box tile;    /* For rb_join_has_tile; dims is 0 if not given */
} rb_call_args;

extern void rb_call_args_read(const rb_join *join, Oid function, const NullableDatum *args,
							  rb_call_args *call);

/* ---- backend.c: choice of the backend ---- */

/*
 * Raises an error if redblue.backend is known to be impossible to satisfy, and starts the worker if
 * it is likely to be needed. Called before the sides are read.
 */
extern void rb_backend_prepare(const char *function, const rb_source *source, int sides);

/*
 * Returns true if the worker should run this join. Otherwise `note` (of that size) gets the reason,
 * or "" if the CPU was requested. Called when the sides are read.
 */
extern bool rb_backend_is_remote(uint64 parts, int threads, char *note, size_t size);
/* Returns true if the worker should refine a mesh that will have about `tets` tetrahedra. */
extern bool rb_backend_refines(uint64 tets, int threads, char *note, size_t size);

/*
 * Returns the local backend for a join that the worker cannot run, with the reason. Raises an error
 * if redblue.backend requires a device and this process cannot open it either.
 */
extern const rb_backend *rb_backend_here(const char *function, const char *reason);

/* Returns true if a device is usable for joins. `text` describes it, or says why not. */
extern bool rb_backend_device(char *text, size_t size);

/* ---- cleanup.c: cleanup before the process ends ---- */

/*
 * A registered cleanup. Each owner of core memory or threads registers one. When the process exits,
 * the remaining ones are closed by their close functions, which call rb_cleanup_unregister.
 */
typedef struct rb_cleanup
{
	dlist_node node; /* In the list of all registered cleanups */
	void (*close)(void *);
	void *arg;
} rb_cleanup;

extern void rb_cleanup_register(rb_cleanup *open, void (*close)(void *), void *arg);

/* Unregisters the cleanup. May be called twice; the second call does nothing. */
extern void rb_cleanup_unregister(rb_cleanup *open);

/* Releases idle resources after the last owner has freed its memory. */
extern void rb_cleanup_release_idle(void);

/* Installs the callback for the end of each transaction. Called when the library is loaded. */
extern void rb_cleanup_install(void);

/* ---- execution.c: open a join, read blocks, close ---- */

typedef struct rb_refused_rows rb_refused_rows; /* Defined in skipped_solids.c */

/* Identity of a snapshot: equal values see the same rows */
typedef struct rb_moment
{
	TransactionId xmin;
	TransactionId xmax;
	uint32 xcnt;
	CommandId curcid;
} rb_moment;

/*
 * The join of one call. It lives in a memory context and ends with it at the latest, even after an
 * error; rb_run_close ends it sooner.
 */
typedef struct rb_join_run
{
	const rb_join *join;
	Oid user; /* Role with whose privileges the sides were read */
	MemoryContextCallback at_end;
	rb_cleanup open;
	rb_memory *memory;
	rb_context ctx;
	rb_side_data side[2]; /* Their sets exist until it is closed; [1] is NULL in a self join */
	rb_call_args call;
	const rb_set *elsewhere[2]; /* Remote sets whose sides were read again locally */
	rb_spill *spill; /* Spilled rows, of which the sides are a tile; NULL without spilling */
	rb_box tile;     /* The current tile */
	rb_stats before; /* Statistics of the tiles before it */
	uint32 tiles;    /* Number of tiles so far */
	uint64 spilled;  /* Bytes spilled */
	/* True if tiles are joined in this process, because another thread may read them */
	bool here;
	rb_moment moment; /* Snapshot with which the sides were read */
	rb_job job;
	const rb_backend *backend;
	rb_remote *remote; /* Request to the worker, NULL if it was not asked */
	rb_stream *stream; /* Local stream, NULL if the worker runs the join */
	rb_progress_entry *progress;
	bool demanded;   /* True if a join without a device is an error */
	bool handed_out; /* True if pairs have been returned */
	/* Stops the thread that reads its blocks before it is closed, or NULL */
	void (*stop_taker)(void *);
	void *taker;
	char note[200]; /* Why this backend was chosen, or "" */
	uint64 parts;   /* Parts of both sides */
	uint64 skipped; /* Rows without parts, of both sides */
	uint64 need;    /* Estimated need in bytes, known when the sides are read */
	rb_refused_rows
		*refused;       /* RB_VALIDITY: reports of rows that could not be read, NULL if none */
	bool left_out_told; /* Set by rb_run_report_skipped */
	double emit_ms;     /* Time spent converting pairs to rows, in ms */
} rb_join_run;

/* Reads the sides and starts the join, for its pairs or for their number. */
extern rb_join_run *rb_run_open(const rb_join *join, const rb_call_args *call,
								MemoryContext context);

/*
 * Open a join in two steps: rb_run_read reads the sides, rb_run_start starts the join. rb_run_start
 * may be called again with another job, which ends the previous one. `by_tiles` allows the sides to
 * be those of a tile, with more tiles to follow.
 */
extern rb_join_run *rb_run_read(const rb_join *join, const rb_call_args *call,
								MemoryContext context, bool by_tiles);
extern void rb_run_start(rb_join_run *run, const rb_job *job);

/* Returns the job that the join function implies. The caller only adds the kind of result. */
extern rb_job rb_run_job(const rb_join_run *run);

/* Makes the ids of a side available in this process. */
extern void rb_run_need_ids(rb_join_run *run, int side);

/* Makes all rows of a side available in this process. */
extern void rb_run_need_rows(rb_join_run *run, int side);

/* Ends the current join; its result is freed with it. */
extern void rb_run_stop(rb_join_run *run);

/* Return what rb_stream_words and rb_stream_groups return, wherever the join ran. */
extern const uint32_t *rb_run_words(const rb_join_run *run);
extern bool rb_run_groups(const rb_join_run *run, rb_groups *groups);

/* Returns the next pairs, at least one. Returns false after the last one. Can be cancelled. */
extern bool rb_run_next(rb_join_run *run, rb_block *block);

/* Raises the failure of the join as an ERROR. */
pg_noreturn extern void rb_run_raise(const rb_join_run *run, rb_status status);

/*
 * Behaves as rb_stream_next, wherever the join is. Callable from any thread, but from one at a
 * time.
 */
extern rb_status rb_run_wait(rb_join_run *run, int wait_ms, rb_block *block);

/* ---- skipped_solids.c: rows that are not valid solids ---- */

/* Collects the side's rows that could not be read, as blocks of reports. */
extern rb_refused_rows *rb_refused_rows_build(rb_join_run *run, MemoryContext context);

/* Returns the next block of reports. Returns false after the last one. Callable from any thread. */
extern bool rb_refused_rows_next(rb_join_run *run, rb_block *block);

/* Reasons why solids are skipped, counted by their names, which may repeat */
#define RB_MAX_REASONS 48

typedef struct rb_reason
{
	const char *name;
	uint64 count;
} rb_reason;

typedef struct rb_reasons
{
	rb_reason at[RB_MAX_REASONS];
	int n;
	uint64 sum;
} rb_reasons;

extern void rb_reasons_add(rb_reasons *reasons, const char *name, uint64 n);

/*
 * Returns the most frequent reasons, as in "132: not closed; 24: crossing itself". Sorts the
 * reasons.
 */
extern char *rb_reasons_text(rb_reasons *reasons);

/* Raises a notice about skipped solids, once. Called after the join has ended or stopped. */
extern void rb_run_report_skipped(rb_join_run *run);

/* Returns true if the sides are those of a tile. */
extern bool rb_run_is_tiled(const rb_join_run *run);

/*
 * Makes later tiles run in this process. Called before rb_run_wait is called from another thread.
 */
extern void rb_run_stay_here(rb_join_run *run);

/* Returns the failure of the join. Callable from any thread. */
extern rb_error rb_run_error(const rb_join_run *run);

/* Stops the join and frees all its memory. Its statistics can still be reported. */
extern void rb_run_close(rb_join_run *run);

/* ---- pairs.c: a join as a function ---- */

extern Datum rb_return_pairs(FunctionCallInfo fcinfo, const rb_join *join);
extern Datum rb_return_pairs_by_key(FunctionCallInfo fcinfo, const rb_join *join);
extern Datum rb_return_count(FunctionCallInfo fcinfo, const rb_join *join);

/* ---- aggregates.c: results other than pairs, row by row ---- */

/*
 * The aggregate result of one call. It lives in a memory context, as its run does, and ends with
 * it. Counts, matched rows and grouped pairs come in the order in which the rows of that side were
 * read, once for each distinct id. A row of counts is therefore a row of GROUP BY.
 *
 *	rb_aggregate_rows *answer = rb_aggregate_open(join, RB_RESULT_COUNTS, RB_OF_BLUE, call, context);
 *	Datum values[RB_RESULT_COLUMNS];
 *
 *	while (rb_aggregate_next(answer, values))
 *		use(values);
 *	rb_last_run_set(rb_aggregate_run(answer));
 */
typedef struct rb_aggregate_rows rb_aggregate_rows;

/*
 * Reads the sides and computes the result. Can be cancelled. `of` selects the side whose ids are
 * returned. In a self join, RB_OF_BOTH counts each pair for both of its ids, and RB_OF_RED only for
 * the first (id1); grouped pairs of a self join always use both. The number of pairs and blocks do
 * not depend on `of`.
 */
extern rb_aggregate_rows *rb_aggregate_open(const rb_join *join, rb_result result,
											rb_result_side of, const rb_call_args *call,
											MemoryContext context);

/* Returns the next row, without nulls. Values passed by reference are valid until the next call. */
extern bool rb_aggregate_next(rb_aggregate_rows *rows, Datum *values);

/*
 * Returns counts and matched rows in blocks: ids in red, counts in blue. Returns false after the
 * last one.
 */
extern bool rb_aggregate_block(rb_aggregate_rows *rows, rb_block *block);

/* Returns the run, for its statistics. */
extern rb_join_run *rb_aggregate_run(const rb_aggregate_rows *rows);

/* Ends early. After an error, the memory context does so. */
extern void rb_aggregate_close(rb_aggregate_rows *rows);

/* Returns whose ids a function reports: red's, or both in a self join. */
static inline rb_result_side
rb_join_reports_of(const rb_join *join)
{
	return rb_join_sides(join) == 1 ? RB_OF_BOTH : RB_OF_RED;
}

extern Datum rb_return_aggregate(FunctionCallInfo fcinfo, const rb_join *join);

/* ---- info.c: report of the last join ---- */

typedef struct rb_report
{
	rb_stats stats;
	char note[200]; /* Why this backend was chosen, or "" */
	uint64 skipped; /* Rows without parts, of both sides */
	uint64 parts;
	uint32 tiles;   /* Tiles joined one after the other, 0 if joined as a whole */
	uint64 spilled; /* Bytes written to temporary files */
	const rb_join *join;
	Oid user;             /* Role that ran it */
	rb_side_data side[2]; /* Their sets may be freed */
} rb_report;

extern void rb_report_of(const rb_join_run *run, rb_report *report);
extern char *rb_report_detail(const rb_report *report, rb_stage stage);
extern char *rb_report_device(const rb_report *report);

/* ---- cache_functions.c: functions on cached tables ---- */

/* Returns the name of a kind as redblue_cache() shows it, as in "triangles". */
extern const char *rb_kept_kind_name(rb_kind kind);

/* Sets the run that redblue_last_run() reports. */
extern void rb_last_run_set(const rb_join_run *run);

/*
 * A line of redblue_last_run() for an operation other than a join: one per stage, ended by a line
 * without a name
 */
typedef struct rb_last_line
{
	const char *stage; /* NULL in the line after the last one */
	uint64 count;
	double ms;
	char detail[200];
	const char *backend; /* NULL for the CPU, with its number of threads */
	char device[200];
} rb_last_line;

#define RB_LAST_LINES 12

extern void rb_last_lines_set(const rb_last_line *lines, int threads);

/*
 * Fills the line of a device, or of the CPU if `card` is RB_MAX_DEVICES. Returns false if it had no part
 * in the join.
 */
extern bool rb_report_card(const rb_report *report, int card, rb_last_line *line);

extern void rb_info_install(void);

/* ---- into.c: insertion of rows into a table ---- */

/*
 * Returns true if rows may be inserted directly: the table has no trigger, index, policy and so on.
 */
extern bool rb_is_plain_table(Relation rel);

/* ======== plan: support for the planner ======== */

/* ---- function.c: functions in the catalog ---- */

/* Returns the join whose pairs an SQL function returns, or NULL. */
extern const rb_join *rb_join_of_function(Oid function);

/* Returns true if the function is one of redblue's, whatever its own settings. */
extern bool rb_is_supported(Oid function);

/* ---- support.c: planner support functions ---- */

extern Datum redblue_support(PG_FUNCTION_ARGS);

/*
 * Estimates the number of rows of a side that occur in `pairs` pairs of the call. Returns false if
 * the sizes of the sides are unknown.
 */
extern bool rb_expect_ids(const FuncExpr *call, rb_result_side of, double pairs, double *ids);

/* ---- table_stats.c: relations, before the statement runs ---- */

/*
 * Opens the relation with AccessShareLock. Returns NULL if it does not exist, if the caller may not
 * read it, or if the lock is not available at once.
 */
extern Relation rb_open_if_readable(Oid relid);

/* Opens a child or a partition, to which the privileges of its parent apply. */
extern Relation rb_open_child(Oid relid);

/*
 * Returns true if the catalogs and the planner allow its pages to be read directly. Returns false,
 * too, if asking the planner would have to wait for a lock.
 */
extern bool rb_is_plain_rel(Relation rel);

/*
 * Returns true if all sides are constants that name tables without policies. With `stay`, the
 * tables stay locked.
 */
extern bool rb_sides_are_tables(const rb_join *join, List *args, bool stay);

/* ---- sample.c: a sample of a table's rows ---- */

typedef struct rb_sampled
{
	bool any_leaf; /* True if triangles of any geometries are needed */
	bool flat;     /* True to project to the plane; also set if the first geometry has no Z */
	/*
	 * Sample only rows that can be in a pair of this tile, within `distance`; dims is 0 for all
	 * rows
	 */
	rb_box tile;
	double distance;
	const rb_set *set; /* With one reference; its ids distinguish rows and are not the user's */
	double rows;       /* Estimated number of such rows with parts in the table */
	bool all;          /* True if the set has all rows */
} rb_sampled;

/*
 * Samples the rows of a readable plain table that the active snapshot sees. A different seed
 * selects other rows. Returns false if the table cannot be sampled.
 */
extern bool rb_sample_rows(Relation rel, rb_kind kind, const char *geom_name, uint32 seed,
						   rb_memory *memory, rb_sampled *sampled);

/* ---- selectivity.c: estimated number of pairs ---- */

/* Average number of neighbors that a mesh triangle shares a vertex with, each pair counted once */
#define RB_SELF_PAIRS 6

/*
 * Returns the join of a call whose support function was invoked, or NULL if the call is to a
 * different function.
 */
extern const rb_join *rb_join_of_call(const FuncExpr *call);

/* Estimates the number of pairs. Returns false if no estimate is possible. */
extern bool rb_expect_pairs(const FuncExpr *call, double *pairs);

/*
 * A geometry column. rb_expect_geometries estimates the pairs of two such columns, or of one with
 * itself, for RB_MEET or RB_WITHIN.
 */
typedef struct rb_geometry_column
{
	Oid relid;
	const char *name;
} rb_geometry_column;

extern bool rb_expect_geometries(const rb_geometry_column *column, rb_predicate predicate,
								 double distance, double *pairs);

/* ---- defer_constant_folding.c: no counting of pairs during planning ---- */

/*
 * Returns the call in a form that the planner does not evaluate, or NULL if it already has that
 * form.
 */
extern Node *rb_not_while_planning(const FuncExpr *call);

/* ---- parallel_guard.c: plans that must not run in parallel mode ---- */

extern void rb_serial_install(void);

/* ======== scan: a call in FROM, row by row ======== */

/* ---- function_scan_path.c: paths for the functions in FROM ---- */

extern void rb_scan_install(void);

/* ---- function_scan_explain.c: such scans in EXPLAIN ---- */

struct ExplainState;

/* Shows the line of a stage. */
extern void rb_explain_stage(struct ExplainState *es, const char *name, uint64 count, double ms,
							 const char *detail);

/* ---- function_scan_count.c: aggregates that only count the rows of such a scan ---- */

extern void rb_upper_install(void);

/* ---- parallel_queue.c: a queue of pairs for parallel workers ---- */

typedef struct rb_pair_queue rb_pair_queue;
typedef struct rb_pump rb_pump;

#define RB_QUEUE_PAIRS 512 /* Maximum number of pairs read at once */

extern Size rb_pair_queue_size(void);
extern void rb_pair_queue_init(rb_pair_queue *share);
extern rb_pump *rb_pump_start(rb_join_run *run, rb_pair_queue *share);
extern void rb_pump_stop(rb_pump *pump);
/* Reads the next block into arrays of RB_QUEUE_PAIRS. Its n is 0 at the end. payload may be NULL. */
extern void rb_pair_queue_read(rb_pair_queue *share, const char *function, rb_block *block);

#endif /* RB_PG_BASE_PG_H */
