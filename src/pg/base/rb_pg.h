/*
 * rb_pg.h
 *	  What the files of this layer share, grouped under the file that defines it.
 *
 *		joins.c       an SQL function            pairs.c, answers.c   the call returns a set or a number,
 *		                                         scan.c               or is a scan, where it stands in FROM
 *		arguments.c   its arguments -> sources
 *		sides.c       sources -> SELECT (or heap.c, for a plain table) -> receiver.c -> rb_builder -> rb_set
 *		run.c         sets -> rb_stream -> blocks of ids, which become rows in pairs.c or scan.c
 *
 * The sections follow the folders: base, spill, read, service, call, plan, scan.
 *
 * src/pg is the only layer that knows PostgreSQL.  No function of PostgreSQL is called
 * from a thread other than the process's first one.
 */
#ifndef RB_PG_H
#define RB_PG_H

#include "postgres.h"

#include "fmgr.h"
#include "pg/base/rb_compat.h"
#include "access/htup.h"
#include "access/tupdesc.h"
#include "lib/ilist.h"
#include "nodes/primnodes.h"
#include "storage/lockdefs.h"
#include "tcop/dest.h"
#include "utils/relcache.h"

#include "core/base/rb_base.h"
#include "core/base/redblue.h"

#include <pthread.h>

/* ======== base ======== */

/* Returns a count and its noun, as in "1 thread" and "2 threads". */
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
extern int rb_setting_threads;          /* 0: automatic */
extern int rb_setting_memory_limit;     /* kB */
extern int rb_setting_gpu_memory_limit; /* kB; 0: what is free */
extern uint32 rb_setting_cards;         /* redblue.gpu_devices: a bit for each; 0: all */
extern int rb_setting_grid_resolution;  /* 0: planned */
extern int rb_setting_worker_idle;      /* s */
extern bool rb_setting_custom_scan;
extern bool rb_setting_join;
extern bool rb_setting_replace_postgis;
extern bool rb_setting_duplicate_notice;
extern bool rb_setting_skip_notice;
extern int rb_setting_cache;
extern int rb_setting_cache_memory;     /* kB */
extern int rb_setting_gpu_cache_memory; /* kB; -1: a quarter of the device */

/* when the library is loaded: raises what is wrong with values that the session has set before */
extern void rb_settings_check(void);

/* and then */
extern void rb_settings_define(void);

/* "auto", "cpu" or "cuda" */
extern const char *rb_setting_backend_name(void);

extern int rb_threads(uint64 parts);

/* ---- rights.c: rights, then locks ---- */

/* the relation, locked, if the caller has that right to some of it; raises otherwise */
extern Relation rb_relation_open(Oid relid, LOCKMODE lock, AclMode right, const char *function,
								 const char *argument);

/* ---- error.c: the one place where a status becomes an ERROR ---- */

pg_noreturn extern void rb_raise(const char *function, rb_status status, const rb_error *error);

/* the same of what is no join: a "mesh" */
pg_noreturn extern void rb_raise_of(const char *function, const char *what, rb_status status,
									const rb_error *error);

/*
 * Serves interrupts, for whoever is asked in the middle of long work of the core.  The
 * error that this may raise (a cancel, say) must not jump through the core: so it is
 * kept, true tells the core to stop, and rb_throw_kept throws it on when the core is left.
 */
extern bool rb_is_interrupted(void);
pg_noreturn extern void rb_throw_kept(void);

/* rb_memory_create, or the memory error */
extern rb_memory *rb_memory_open(const char *function, uint64 limit);

/* ---- ends.c: arguments that are points, boxes, tiles ---- */

pg_noreturn extern void rb_refuse_null(const char *function, const char *argument);
pg_noreturn extern void rb_refuse_dims(const char *function, const char *a, int dims_a,
									   const char *b, int dims_b);
/* it has others than the join */
pg_noreturn extern void rb_tile_refuse_dims(const char *function, const rb_ends *tile, int dims);

/* the box that these two arguments are, by these names; null: infinite.  Of two nulls there are no dimensions. */
extern void rb_ends_read(const NullableDatum *args, const char *function, const char *low,
						 const char *high, rb_ends *e);

/* the same of tile_low and tile_high */
extern void rb_tile_read(const NullableDatum *args, const char *function, rb_ends *tile);

/* and without an error; false where there would be one */
extern bool rb_tile_try(const NullableDatum *args, rb_ends *tile);

/* ---- need_of_join.c ---- */

/* bytes of the join of so many parts, besides the parts; on so many threads */
extern uint64 rb_need_of_join(uint64 parts);
extern uint64 rb_need_of_join_on(int threads, uint64 parts);

/* ---- aside.c: long work of the core, while this process looks for interrupts ---- */

typedef struct rb_aside
{
	rb_context *ctx; /* of the work, which looks whether to stop */
	rb_status (*work)(void *);
	void *arg;
	rb_status status;
	bool working;
	uint32 done;
	pthread_t thread;
} rb_aside;

/* ctx, work and arg are set: does it, and throws what has interrupted it */
extern rb_status rb_aside_run(rb_aside *aside);

/*
 * The same of work that is short, mostly: it is done here until somebody interrupts, and where that does not end the
 * statement, aside, from its beginning.
 */
extern rb_status rb_aside_try(rb_aside *aside);

/* where the process may end meanwhile, by whoever is called then */
extern void rb_aside_end(rb_aside *aside);

/* ======== spill: what has no room in memory ======== */

/* ---- spill.c: rows wait in temporary files, and become sets tile by tile ---- */

typedef struct rb_spill rb_spill;

/*
 * Of a join of so many sides, which are called so, for pairs within that distance (or 0).  It lives in that context and
 * holds nothing until rows come; to be closed, whatever happens.
 */
extern rb_spill *rb_spill_create(const char *function, rb_context *ctx, int sides,
								 const char *const name[2], double distance, MemoryContext context);
extern void rb_spill_close(rb_spill *spill); /* NULL is allowed */

/* from now on all rows come here: have they?  NULL: no */
extern void rb_spill_begin(rb_spill *spill);
extern bool rb_spill_has_begun(const rb_spill *spill);

/* ended rows leave the builder, to be joined with all that have and will; none has come, after all */
extern void rb_spill_rows(rb_spill *spill, int side, rb_builder *b);
extern void rb_spill_forget(rb_spill *spill, int side);
/* the same of all rows of a set that is here and put together */
extern void rb_spill_set(rb_spill *spill, int side, const rb_set *set);
/* rows of that side that have one id become one; all of them have come */
extern void rb_spill_group(rb_spill *spill, int side, rb_kind kind);
extern uint64 rb_spill_rows_of(const rb_spill *spill, int side);
extern uint64 rb_spill_parts(const rb_spill *spill, int side);

/* all have come: tiles are made that have room, of that one (dims 0: of all of space); sides are of these kinds */
extern void rb_spill_cut(rb_spill *spill, const rb_kind *kind, int32 srid, const rb_ends *within);

/* the sides of the next tile, each with one holder; RB_END: there is none.  From any thread.
 * Of a join of one side there may be two, of some of its rows and of others. */
extern rb_status rb_spill_next(rb_spill *spill, const rb_set *set[2], rb_ends *tile);

/* the last tile has no room after all: it is joined in smaller ones; false: there are none, which is noted as the failure */
extern bool rb_spill_cut_again(rb_spill *spill);

/* tiles so far, and bytes that were written */
extern uint32 rb_spill_tiles(const rb_spill *spill);
extern uint64 rb_spill_bytes(const rb_spill *spill);
/* what was read and written since the last call becomes blocks of EXPLAIN (BUFFERS); NULL is allowed */
extern void rb_spill_tell_blocks(rb_spill *spill);

/* ======== read: rows of the arguments become sets ======== */

typedef struct rb_keys rb_keys; /* keys.c */

/* a number that each row has besides its object, in a column of that name */
typedef struct rb_beside
{
	const char *name;
	bool
		integer; /* smallint, integer or bigint, and never null; else any number, null is infinity */
	uint64_t *words; /* of each row of the set: an int64, or the bits of a float8; of its memory */
	size_t cap;
} rb_beside;

/* ---- source.c: an argument becomes a SELECT ---- */

typedef struct rb_source
{
	const char *function;    /* the SQL function that reads it, for messages */
	const char *side;        /* what its argument is called */
	const char *what;        /* for which it is read, where that is no join; for messages */
	rb_kind kind;            /* RB_BOX3 of boxes, whatever their dimensions */
	bool query;              /* the argument is a query text, not a table */
	const char *sql;         /* one SELECT */
	Oid relid;               /* the table or view; InvalidOid of a query */
	Oid heap;                /* a table that can be read without it, or InvalidOid */
	Relation rel;            /* a table or view, in use until it is read; NULL of a query */
	double rows;             /* expected; 0: no idea */
	const char *id_name;     /* NULL: "id", or a table's primary key, which is put here */
	const char *geom_name;   /* NULL: found by its type */
	const char *object_name; /* rows with one value there are one object; NULL: each row is one */
	rb_keys *keys;           /* rows are called by these, not by an id; NULL: by an id */
	bool unique;             /* no two rows have one id: an index says so */
	double face_tolerance;   /* of the corners of a face from its plane; < 0: any */
	double face_share;       /* then as a share of the face's extent; 0: any; not by workers */
	bool body;               /* each row, or object, is a body */
	bool leave_out;          /* a row that cannot be taken is no error: the side tells of it */
	bool only_rows;          /* the call has no argument for objects of several rows */
	bool nameless;           /* rows need no id; one that is there names them in messages */
	bool count_faces;        /* of each row; then it is neither kept nor read by workers */
	bool polygons;    /* which triangles are of one polygon is wanted; not by workers either */
	bool many_points; /* a row of points may have several */
	bool keep;        /* it is to be kept, whatever the setting */
	bool again;       /* it is read though it is kept: that cannot be had */
	rb_ends tile;     /* rows that are in no pair of it, within that distance, are not wanted */
	double distance;
	rb_beside
		*beside; /* wanted, too; not by workers, nor of a side that is kept; NULL: nothing is */
} rb_source;

/* from a table's OID or a query text; what the function and its arguments are called is there */
extern void rb_source_table(rb_source *source, Oid relid);
extern void rb_source_query(rb_source *source, const char *text);

/* ---- plain_scan.c: what the planner answers, with all hooks in place ---- */

/*
 * Why a table's rows are not those on its pages; NULL: its SELECT is a scan of all of them.
 * Where nobody may wait, an index that somebody has locked is a reason, too.
 */
extern const char *rb_plan_refusal(Relation rel, bool may_wait);

/* do the rows of a table, and of all that belong to it, come from their own pages? */
extern bool rb_rows_are_on_pages(Relation rel);

/* does an INSERT that gives each column put its rows into that very table? */
extern bool rb_inserts_are_plain(Relation rel);

/* ---- indexes.c: what the indexes of a table say of its columns ---- */

/* the columns of its primary key, or NIL */
extern List *rb_primary_key(Relation rel);

/* do no two of its rows have the same value there? */
extern bool rb_column_is_unique(Relation rel, AttrNumber attno);

/* ---- need.c: how much memory a join will need ---- */

#define RB_MAX_SIDES 6 /* of a mesh; a join has two */

typedef struct rb_need
{
	const rb_source *source; /* the sides, ... */
	int n;                   /* ... so many */
	int read;                /* of which so many are read */
	uint64 parts[RB_MAX_SIDES];
	uint64 rows[RB_MAX_SIDES];
	bool multi[RB_MAX_SIDES]; /* some rows have several parts */
} rb_need;

/* how far reading a side has come */
typedef struct rb_so_far
{
	uint64 rows;  /* received */
	double share; /* of the table; 0: not known */
} rb_so_far;

extern void rb_need_begin(rb_need *need, const rb_source *source, int n);

/* one more side is read: this set, or what is in the builder and so many rows besides */
extern void rb_need_next(rb_need *need, const rb_set *set, const rb_builder *builder, uint64 kept);

/* of all that is read and will be, with the join itself, when that many bytes were refused */
extern uint64 rb_need_while_reading(const rb_need *need, const rb_builder *builder,
									const rb_so_far *so_far, uint64 refused);

/* of all that is held, and of making objects of these rows, with the join */
extern uint64 rb_need_to_group(const rb_builder *builder);

/* pages of what is stored beside a table */
extern BlockNumber rb_toast_blocks(Relation rel);

/* ---- boxes.c: types whose values are boxes ---- */

/* what a value is, by its type */
typedef enum rb_box_shape
{
	RB_SHAPE_NONE,
	RB_SHAPE_GEOMETRY, /* PostGIS, or anything of that name with its bytes */
	RB_SHAPE_BOX3D,    /* PostGIS */
	RB_SHAPE_BOX2D,
	RB_SHAPE_CUBE /* contrib */
} rb_box_shape;

/* none where objects of that kind cannot be read from it */
extern rb_box_shape rb_shape_of(Oid type, rb_kind kind);

typedef struct rb_box
{
	int dims;      /* 2, 3; another number where the value is no such box */
	double low[3]; /* low <= high, or not finite */
	double high[3];
	int32 srid; /* of a box3d */
} rb_box;

extern void rb_box_read(rb_box_shape shape, Datum value, rb_box *box);

/* ---- names.c: columns by their names ---- */

#define RB_MAX_WIDTH 9

typedef struct rb_column
{
	AttrNumber attno; /* from 1; 0: not used */
	Oid type;         /* behind its domains */
} rb_column;

/* attno 0 where there is no such column */
extern rb_column rb_column_find(TupleDesc desc, const char *name, const rb_source *source);

/* by the name that the caller gave, quoted or not; raises where there is none */
extern rb_column rb_column_named(TupleDesc desc, const char *name, const rb_source *source);

/* the column names of a kind's coordinates */
extern const char *rb_coordinate_name(rb_kind kind, int i);

/* "a integer, b text": all columns, for messages */
extern char *rb_list_columns(TupleDesc desc);

/* PostgreSQL's own cast to float8, of a type that has one; of a numeric by that function */
extern double rb_number_to_float8(Datum value, Oid type, PGFunction of_numeric);

/* a value as messages show it: the beginning of a long one */
extern char *rb_shorten(char *text);

/* ---- columns.c: which columns of a row make an object ---- */

typedef struct rb_columns
{
	rb_column
		id;    /* an integer, or a number that holds one; that of the object, where one is named */
	int nkeys; /* with keys there is no id */
	rb_column *key;
	rb_column geom; /* a geometry or box of this shape, or: */
	rb_box_shape shape;
	rb_kind kind; /* numbers that make this kind; RB_BOX2 too where RB_BOX3 was asked for */
	int width;    /* so many; 0 with a geometry */
	rb_column coord[RB_MAX_WIDTH];
	rb_column beside; /* attno 0: it is not wanted */
	AttrNumber last;  /* the highest attno of all these */
} rb_columns;

extern void rb_columns_find(rb_columns *columns, TupleDesc desc, const rb_source *source);

/* the kind whose columns are all there, of whatever join; else RB_BOX3, as which any geometry can be read */
extern rb_kind rb_columns_kind(TupleDesc desc, const rb_source *source);

/* has PostgreSQL a cast of its own from that type to float8? */
extern bool rb_is_number_type(Oid type);

/* may an id be of that type? */
extern bool rb_is_id_type(Oid type);

/* ---- hints.c: what the caller could have meant ---- */

/* what an argument of a side is called, `what` being id or geom */
extern const char *rb_source_argument(const rb_source *source, const char *what);

/* "a, b": some columns by their names, for messages */
extern char *rb_list_names(TupleDesc desc, List *attnos);

/* for ereport: there is no id, or that column can be none */
extern int rb_hint_id(TupleDesc desc, const rb_source *source, const char *column);

/* for ereport: that column (0: none) is no geometry, or there is none; `otherwise` if nothing better is known */
extern int rb_hint_geometry(TupleDesc desc, const rb_source *source, AttrNumber column,
							const char *otherwise);

/*
 * Returns a sentence that gives the columns the names that coordinates have, in a view or in the query, or
 * NULL if the columns are not coordinates by other names.
 */
extern char *rb_way_to_coordinates(TupleDesc desc, const rb_source *source);

/* ---- keys.c: rows that are called by columns of any type ---- */

/* of columns by these names, separated by commas (NULL: the primary key); of objects: each key once */
extern rb_keys *rb_keys_create(const char *names, bool objects);

/* finds the columns; raises where one is missing, or of a type that cannot be a key */
extern void rb_keys_find(rb_keys *keys, Relation rel, const rb_source *source);
extern TupleDesc rb_keys_desc(const rb_keys *keys);

/* column i of the key is that of the rows that are read, which need not have all that the table has */
extern void rb_keys_locate(rb_keys *keys, int i, AttrNumber attno);
extern bool rb_keys_are_of_objects(const rb_keys *keys);

/*
 * The number of the key of a row, from 0; which must have no nulls.  Keys are kept in
 * that memory, and are there as long as it is.
 */
extern rb_status rb_keys_take(rb_keys *keys, struct TupleTableSlot *slot, rb_memory *memory,
							  int64 *number, rb_error *error);

/* the key of that number into a slot of rb_keys_desc, for minimal tuples */
extern void rb_keys_get(const rb_keys *keys, int64 number, struct TupleTableSlot *slot);

/* "(a, b) = (17, x)", for messages */
extern char *rb_keys_text(const rb_keys *keys, struct TupleTableSlot *slot);

/* ---- space.c: one SRID, one number of dimensions ---- */

/* what the first row that has an SRID, or dimensions, says for all rows of a join */
typedef struct rb_space
{
	bool srid_known;
	int32 srid;
	uint32 srid_type;
	const char *srid_side;
	int64 srid_id;

	int dims; /* 2, 3; 0: not known */
	const char *dims_side;
	bool dims_of_columns; /* no matter which row */
	int64 dims_id;
} rb_space;

/* ---- ewkb.c ---- */

/* ST_AsEWKB of a geometry's type, for this process, which may be one of several; false: there is none to be called */
extern bool rb_find_as_ewkb(Oid type, bool parallel, MemoryContext context, FmgrInfo *info);

/* what rb_geometry_read_serialized does not know, by way of that function if the bytes are sound */
extern rb_geometry_fault rb_read_as_ewkb(FmgrInfo *as_ewkb, rb_builder *b, struct varlena *value,
										 rb_geometry_info *info, rb_error *error);

/* ---- geometry_faults.c: geometries that cannot be taken ---- */

typedef struct rb_geometry_place
{
	const char *function;
	const char *what;  /* for which it is read, where that is no join */
	const char *where; /* "column "geom" of red, id 17", or which argument */
	const char *value; /* as SQL, for hints */
	rb_kind kind;
	bool many_points;
	const char *more_hint;
	double face_tolerance; /* of the builder that read it */
	double face_share;
	bool flattened; /* Z was left out, for the geometry that this one is compared with has none */
} rb_geometry_place;

/* not of RB_GEOMETRY_NO_MEMORY and RB_GEOMETRY_STOPPED, of which the geometry knows nothing */
pg_noreturn extern void rb_raise_geometry(const rb_geometry_place *place, rb_geometry_fault fault,
										  const rb_geometry_info *info);

/* ---- receiver.c: rows become objects (inside it: rb_receiver.h) ---- */

extern DestReceiver *rb_receiver_create(const rb_source *source, rb_builder *builder,
										rb_space *space);

struct rb_heap;

/* what an error says of memory: of a join with that need, and of a table that is read so; NULL: not known */
extern void rb_receiver_needs(DestReceiver *self, const rb_need *need);
extern void rb_receiver_follow(DestReceiver *self, const struct rb_heap *heap);

/*
 * Asked between two rows when the builder has so many parts; it may take ended rows out of it, and answers how many parts
 * there may be before it is asked again.
 */
extern void rb_receiver_ask_when_full(DestReceiver *self, uint32 at, uint32 (*full)(void *arg),
									  void *arg);

/* are values decoded, so that one row can become large? */
extern bool rb_receiver_decodes(DestReceiver *self);

/* the columns that it reads, once it is started */
extern const struct rb_columns *rb_receiver_columns(DestReceiver *self);

/* rows that have ended so far, whatever has become of them */
typedef struct rb_tally
{
	uint64 rows; /* with parts */
	uint64 parts;
	uint64 skipped;
	uint32 type; /* of the first geometry with a part since rb_receiver_begin_page; 0: none */
} rb_tally;

extern void rb_receiver_begin_page(DestReceiver *self);
extern void rb_receiver_tally(DestReceiver *self, rb_tally *tally);

/* ---- row_raw.c: a row from the bytes of its tuple ---- */

typedef enum rb_received
{
	RB_ROW_TAKEN,
	RB_ROW_REFUSED, /* only where rows are received apart */
	RB_ROW_UNREAD   /* these bytes are not enough: it must come in a slot */
} rb_received;

extern rb_received rb_receive_tuple(DestReceiver *self, TupleDesc desc, HeapTuple tuple);

/* ---- rows_apart.c: rows received apart from the others, to be put behind them later ---- */

typedef struct rb_rows
{
	uint64 received; /* those without a part included */
	uint64 skipped;  /* of these */
	uint32 nparts;
	uint32 nrows;
	const double *coords;
	const int64 *ids;
	const uint32 *ends; /* see rb_builder_append */
	rb_space space;     /* as the first part has it */
} rb_rows;

/* what comes goes there, behind so many rows; tells how many there were before it */
extern uint64 rb_receiver_aim(DestReceiver *self, rb_builder *builder, rb_space *space,
							  uint64 rows);

/* from now on, are rows that cannot be taken refused, or errors? */
extern void rb_receiver_set_apart(DestReceiver *self, bool apart);
extern void rb_receiver_begin_rows(DestReceiver *self);

/* what has been received since (the counts and the space); a refused row is dropped */
extern void rb_receiver_end_rows(DestReceiver *self, rb_rows *rows);

/* the arrays of n parts of the builder, from this part and row on; ends has room for theirs */
extern void rb_rows_slice(const rb_builder *b, uint32 part, uint32 row, uint32 n, uint32 *ends,
						  rb_rows *rows);

/* puts rows that were received apart behind those that are there */
extern void rb_receive_rows(DestReceiver *self, const rb_rows *rows);

/* what rows that were read by an earlier call say of the space */
typedef struct rb_kept_rows
{
	int64 id;    /* of the first one */
	uint32 rows; /* so many of them */
	bool srid_known;
	int32 srid;
	uint32 type; /* of the first geometry */
	int dims;
} rb_kept_rows;

extern void rb_receive_kept_space(DestReceiver *self, const rb_kept_rows *rows);

/* ---- heap.c: plain tables, past the executor ---- */

/* what a page was when it was read, for whoever keeps its rows (kept.c) */
typedef struct rb_page_note
{
	uint64 lsn;
	uint32 rows;
	uint32 parts;
	uint32 type;        /* of the first geometry with a part; 0: none */
	uint16 skipped;     /* rows without a part */
	uint16 read : 14;   /* tuples so far */
	uint16 visible : 1; /* its own flag said that all of it is */
	uint16 whole : 1;   /* all of it has been read */
} rb_page_note;

typedef struct rb_heap
{
	Relation rel;
	DestReceiver *receiver;
	struct TableScanDescData *scan;
	struct TupleTableSlot *slot;
	BlockNumber blocks;
	BlockNumber block;   /* where reading is: the next tuple */
	int at;              /* of those of that page that the snapshot sees */
	int tuples;          /* so many */
	rb_page_note *notes; /* of each page, or slice of one; NULL: nobody wants to know */
	uint32 note_slices;
	/* called after a tuple, with the next one current: is it to be read? */
	bool (*after)(struct rb_heap *heap);
	void *arg;
} rb_heap;

/* why it cannot be read so, by the catalogs alone; NULL: it can, as far as they know */
extern const char *rb_table_refusal(Relation rel);
/* the same, with what the planner says */
extern const char *rb_heap_refusal(Relation rel);
/* does the planner alone say so?  Then an extension answers for the rows. */
extern bool rb_rows_are_elsewhere(Relation rel);
extern void rb_heap_begin(rb_heap *heap, Relation rel, DestReceiver *receiver);
extern void rb_heap_end(rb_heap *heap);
extern BlockNumber rb_heap_blocks(const rb_heap *heap);
extern bool rb_heap_page(rb_heap *heap, BlockNumber block, int from, int slice, int slices);
extern void rb_heap_all(rb_heap *heap);

/* ---- readers.c: the same, by several processes ---- */

struct rb_side;

/* all rows of source->heap, into the receiver, whose builder this is, or at once into the side's set */
extern void rb_read_table(const rb_source *source, DestReceiver *receiver, rb_builder *builder,
						  rb_space *space, struct rb_side *side);

/* ---- kept.c: sides that stay from one call to the next ---- */

typedef struct rb_look rb_look;

/* what is kept of a table of so many pages, and whether it is to be kept when it is read; never NULL */
extern rb_look *rb_kept_look(const rb_source *source, Relation rel, const rb_columns *columns,
							 BlockNumber nblocks);

/* is all of it as it was?  Then it becomes the side. */
extern bool rb_kept_is_whole(const rb_look *look);
extern void rb_kept_take_whole(rb_look *look, DestReceiver *receiver, rb_memory *memory,
							   struct rb_side *side);
/* as if it had been read */
extern uint64 rb_kept_set_bytes(const rb_look *look);

/* or some of it?  Then the other pages are read. */
extern bool rb_kept_is_partly(const rb_look *look);
extern void rb_kept_read(rb_look *look, rb_heap *heap, const rb_builder *builder,
						 struct rb_side *side);

/* is every id that is kept larger than the one before? */
extern bool rb_kept_ids_ascend(const rb_look *look);

/* then what was read is put into its place among the rest */
extern void rb_kept_put_together(rb_look *look, rb_builder *builder, struct rb_side *side);

/* what is to be filled while all of it is read, so many for a page; NULL: it is not to be kept */
extern rb_page_note *rb_kept_notes(rb_look *look, uint32 slices);

/* all of it was read, just now */
extern void rb_kept_was_read(rb_look *look, Relation rel);

/* what was read is not kept, for that reason */
extern void rb_kept_give_up(rb_look *look, const char *reason);

/* the side has become a set: if that is to be kept, side->keep and side->card say as what */
extern void rb_kept_end(rb_look *look, struct rb_side *side);
/* then it went to the worker, or why not */
extern void rb_kept_was_sent(rb_look *look, const char *why_not);
/* which had no room for so many bytes */
extern void rb_kept_had_no_room(rb_look *look, uint64 bytes);

/* is the table still the one that was looked at? */
extern bool rb_kept_is_same_table(const rb_look *look);

/* what is told of a side that is kept, or of one that is not */
typedef struct rb_kept_facts
{
	Oid relid;
	rb_kind kind;
	uint64 rows;
	uint64 bytes;
	uint64 device_bytes;
	BlockNumber pages;
	BlockNumber kept; /* of these */
	uint64 hits;
	int64 used;         /* when, last */
	const char *reason; /* why it is not kept; NULL: it is */
} rb_kept_facts;

extern void rb_kept_get_facts(const rb_look *look, rb_kept_facts *facts);

/* the next one: *i is 0 at first, then what it was left as; false where there are no more */
extern bool rb_kept_list(int *i, rb_kept_facts *facts);

/* gives up what is kept of a table, or of all that the user owns; how many bytes that were */
extern uint64 rb_kept_forget(const char *function, Oid relid);

/* ---- sides.c: sources in, sets out, of joins and meshes ---- */

/* what came of reading a side */
typedef struct rb_side
{
	const rb_set *set;
	rb_kind kind;
	int32 srid;
	uint64 parts;
	uint64 skipped; /* rows without a part */
	rb_refusal
		*refused; /* rows that could not be taken, of that memory; of objects the first each */
	uint32 nrefused;
	uint64 rows;             /* those without a part not included */
	uint64 ids;              /* different ones; 0: not counted */
	int workers;             /* that helped */
	uint64 queues;           /* bytes that count for them, until it is read */
	uint64 kept;             /* rows that were not read, ... */
	BlockNumber pages;       /* ... of a table of so many pages, ... */
	BlockNumber read;        /* ... of which so many were */
	rb_look *look;           /* until the join has begun; NULL: no plain table */
	struct rb_to_keep *keep; /* it is to be kept as this, with that card; NULL: it is not */
	const void *card;
} rb_side;

/*
 * The n sides of a join, one after the other, in one space; each set has one holder, the
 * caller, and its arrays are of that memory.  Where they have no room, and spill is not NULL, the rows
 * of all of them are there, and there are no sets.
 */
extern void rb_read_sides(const rb_source *source, int n, rb_memory *memory, rb_spill *spill,
						  rb_side *side);

/* the rows of a source's SELECT into a receiver, on the snapshot of the statement around it; within SPI */
extern void rb_run_source(const rb_source *source, DestReceiver *receiver);

/* the same rows from the table, of a side whose arrays are elsewhere; the set that it was stays the caller's */
extern const rb_set *rb_read_side_again(const rb_source *source, rb_memory *memory,
										const rb_side *side);

/* ---- box_sample.c: the boxes of some rows of a side ---- */

typedef struct rb_box_sample
{
	size_t wanted; /* rows, at most; of large geometries there may be fewer */
	bool flat;     /* only x and y are wanted */
	/* what came of it */
	int dims;    /* that the rows have; 0: there are none to tell */
	rb_set set;  /* boxes, one a row, or of an object all its rows; coords is of that memory */
	double rows; /* that there are, about, with a part */
	bool all;    /* the set has them all */
	bool paged;  /* rows of one page are in it together, or not at all */
} rb_box_sample;

/*
 * Of a source that rb_source_table or rb_source_query has made; its kind is found by its columns.
 * Within SPI.  The relation stays open.  Another seed gives other rows.
 */
extern void rb_box_sample_read(rb_source *source, rb_space *space, rb_memory *memory, uint32 seed,
							   rb_box_sample *sample);

/* ======== service: the worker, which joins on a device for all sessions (rb_service.h) ======== */

/* when the library is loaded */
extern void rb_service_install(void);

/* ---- store.c: sides that the worker keeps ---- */

#define RB_KEY_BYTES 192

/* what is to be known of a side that is to be kept */
typedef struct rb_to_keep
{
	char key[RB_KEY_BYTES]; /* what it is called by; zeros at its end */
	uint64 card_bytes;      /* of what its keeper wants to have with it */
	bool renewed;           /* no more than that: the side is kept, and has an older one */
	uint64 rows;            /* for the list, no more */
	uint64 ids;
	uint32 pages;
	uint32 pages_kept;
} rb_to_keep;

/* and of one that is */
typedef struct rb_stored
{
	uint64 number; /* no other has, or had, the same */
	rb_to_keep keep;
	/* its set */
	rb_kind kind;
	uint32 nparts;
	uint32 nrows;
	bool has_row_of;
	bool has_ids;
	int64 first_id;
	uint64 skipped;
	int32 srid;
	uint64 bytes; /* of that, and of the card */
	uint64 device_bytes;
	uint64 hits;
	int64 used;  /* when, last: a TimestampTz */
	bool ascend; /* every id is larger than the one before */
} rb_stored;

/* what is kept under that key (of RB_KEY_BYTES); false: nothing */
extern bool rb_stored_find(const void *key, rb_stored *stored);

/* the i-th place, from 0: false where there are no more, number 0 where it is empty */
extern bool rb_stored_get(int i, rb_stored *stored);

/* has one with that hash been read in that state?  It is noted that it has. */
extern bool rb_stored_was_seen(uint64 key, uint64 state);

/* ---- device.c: the device's file, in this process ---- */

/* is there one?  If not, why */
extern bool rb_device_installed(char *why_not, size_t size);

/* its backend, opened by this process, or NULL and why not; text describes the device */
extern const rb_backend *rb_device_here(char *text, size_t size);

/* ---- progress.c: what redblue_progress shows of a join ---- */

typedef struct rb_progress_entry rb_progress_entry;

/* more stages of a mesh, behind those that the core knows (rb_stage) */
enum
{
	RB_MESH_WELD = RB_STAGE_MESH_REFINE + 1, /* rows become points and facets */
	RB_MESH_VALIDATE,                        /* do any cross? */
	RB_MESH_TETRAHEDRALIZE,
	RB_MESH_REFINE,
	RB_MESH_LOAD, /* its tables are read, ... */
	RB_MESH_CHECK,
	RB_MESH_FILL, /* ... or filled */
	RB_MESH_STAGES
};

/* what a stage, of a join or a mesh, is called */
extern const char *rb_progress_stage(int stage);

/* NULL: nothing is shown; that is allowed below.  Only its own process writes to it. */
extern rb_progress_entry *rb_progress_begin(const char *function);
/* callable from any thread */
extern void rb_progress_note(rb_progress_entry *entry, int stage, uint64 done, uint64 total);
/*
 * Whose sides are read from now on, NULL: nobody's; answers whose were before, for reading a side
 * may run another join.  And how many pages of one are read.
 */
extern rb_progress_entry *rb_progress_reading(rb_progress_entry *entry);
extern void rb_progress_read(uint64 done, uint64 total);
extern void rb_progress_end(rb_progress_entry **entry);

/* ---- client.c: the worker, as a session sees it ---- */

/* it is started where there is none, and told to open the device; nothing is waited for */
extern void rb_worker_call(void);

typedef enum rb_device_news
{
	RB_DEVICE_NO_NEWS, /* nobody has asked so far; after waiting: the worker cannot be had */
	RB_DEVICE_IS_NOT,
	RB_DEVICE_IS_THERE,
	RB_DEVICE_IS_OPEN /* a join could begin on it at once */
} rb_device_news;

/* what the worker knows of the device, or, where it is to be waited for, will; in words, too */
extern rb_device_news rb_worker_device(bool wait, char *text, size_t size);

/*
 * A join by the worker, used as an rb_stream is: the same job, statuses and statistics.
 * RB_GONE besides: the worker has ended before the join did.
 */
typedef struct rb_remote rb_remote;

/* on what a join is to run */
typedef enum rb_device_choice
{
	RB_ON_PROCESSOR,
	RB_ON_DEVICE_OR_PROCESSOR, /* where there is no device, or it is full or fails, on the processor */
	RB_ON_DEVICE
} rb_device_choice;

/* what the worker is to do with sides */
typedef enum rb_ask
{
	RB_ASK_JOIN,
	RB_ASK_KEEP, /* the side is to be kept, no more */
	RB_ASK_CARD, /* that of the side */
	RB_ASK_IDS,  /* those of the side's rows */
	/* rounds of a mesh's refinement, time and again until the request is closed; there are no sides */
	RB_ASK_REFINE,
	RB_ASK_DROP /* it is to be kept no longer; number 0: all of them */
} rb_ask;

typedef struct rb_order
{
	const char *function;
	rb_ask ask;
	rb_device_choice device;
	const rb_job *job;
	/* of red and blue: to be kept as this, with that card; NULL: not */
	const rb_to_keep *keep[2];
	const void *card[2];
	/* RB_ASK_CARD: these bytes of it */
	uint64 card_from;
	uint64 card_bytes;
} rb_order;

/*
 * False and why not, where the worker cannot be had, or keeps a side no longer.  The job's
 * sets are sent when it returns.  *remote is there as soon as it must be closed; it lives
 * in that context.
 */
extern bool rb_remote_open(rb_remote **remote, MemoryContext context, rb_context *ctx,
						   const rb_order *order, rb_progress_entry *progress, char *why_not,
						   size_t size);

/* callable from any thread */
extern rb_status rb_remote_next(rb_remote *remote, int wait_ms, rb_block *block);

/* as of a stream */
extern const uint32_t *rb_remote_words(const rb_remote *remote);
extern bool rb_remote_groups(const rb_remote *remote, rb_groups *groups);

/* after its end: why it was not on the device, or "" */
extern const char *rb_remote_note(const rb_remote *remote);
/* bytes of red (0) or blue (1) that was to be kept, and for which there was no room; 0: there was */
extern uint64 rb_remote_not_kept(const rb_remote *remote, int side);

/*
 * Of RB_ASK_REFINE: what a backend's refine does (redblue.h), by the worker, with the context that it was opened
 * with.  Callable from any thread.
 */
extern rb_status rb_remote_refine(rb_remote *remote, struct rb_refining *refining);

/* is that status of the worker no answer, but for this process to do itself? */
static inline bool
rb_is_left_to_us(rb_status status)
{
	return status == RB_GONE || status == RB_NO_DEVICE || status == RB_DEVICE_FULL ||
		   status == RB_DEVICE_FAILED || status == RB_OUT_OF_MEMORY || status == RB_NO_THREAD;
}

/* waits for nobody.  NULL is allowed. */
extern void rb_remote_close(rb_remote *remote);

/* these bytes of the card of a side; false where they cannot be had */
extern bool rb_worker_card(const char *function, const rb_stored *stored, uint64 from, void *to,
						   size_t bytes);

/* the ids of the rows of a set that is elsewhere; false and why not, where they cannot be had */
extern bool rb_worker_ids(const char *function, rb_context *ctx, const rb_set *set, char *why_not,
						  size_t size);

/* a side is kept, without a join; false and why not */
extern bool rb_worker_keep(const char *function, rb_context *ctx, const rb_set *set,
						   const rb_to_keep *keep, const void *card, char *why_not, size_t size);

/* a side is kept no longer; false where the worker does not say so */
extern bool rb_worker_drop(const char *function, uint64 number);

/* ======== call: the SQL functions, and the join of one call ======== */

/* ---- joins.c: the functions ---- */

/* what a function returns of the pairs, and its columns (results.c) */
typedef enum rb_result
{
	RB_RESULT_PAIRS,      /* red_id, blue_id */
	RB_RESULT_CONTACTS,   /* red_id, blue_id, dimension, crosses */
	RB_RESULT_DIMENSIONS, /* id1, id2, dimension */
	RB_RESULT_PARTS,      /* id, part1, part2, dimension */
	RB_RESULT_DISTANCES,  /* red_id, blue_id, distance */
	RB_RESULT_NEAREST,    /* the same */
	RB_RESULT_SIDES,      /* point_id, body_id, side */
	RB_RESULT_STRETCHES,  /* segment_id, body_id, from_fraction, to_fraction, length, on_boundary */
	RB_RESULT_RELATIONS,  /* red_id, blue_id, relation */
	RB_RESULT_BODIES,     /* id, faces, closed, oriented, self_intersections, reason */
	RB_RESULT_COUNT,      /* their number; no set */
	RB_RESULT_COUNTS,     /* red_id, pairs */
	RB_RESULT_HITS,       /* red_id */
	RB_RESULT_GROUPS,     /* red_id, blue_ids */
	RB_RESULT_BLOCKS,     /* n, red, blue: packed */
	RB_RESULT_SHAPES,     /* red_id, blue_id, geom */
	RB_RESULT_SPANS       /* segment_id, triangle_id, geom, from_fraction, to_fraction, fractions */
} rb_result;

/*
 * What one SQL function joins.  A function is one line of this sort (joins.c);
 * all code below is the same for all of them.
 */
typedef struct rb_join
{
	const char *function; /* its SQL name, for messages */
	bool query;           /* arguments are query texts, not tables */
	bool keys;            /* pairs of keys are wanted, of any type, not of ids */
	rb_kind kind[2];      /* RB_BOX3 of boxes: whether they are RB_BOX2 is seen by the data */
	const char *side[2];  /* what the arguments are called; side[1] NULL: a self join */
	rb_result result;
	rb_predicate predicate;
} rb_join;

/* its arguments are the sides, a distance or how many and how far, and then columns of the sides */
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

/* is each row of a side a body? */
static inline bool
rb_join_has_bodies(const rb_join *join)
{
	return join->predicate == RB_UNDER || join->predicate == RB_INSIDE ||
		   join->predicate == RB_RELATION || join->predicate == RB_BODY;
}

/* may those of one tile be asked for?  Not where a row is told of that is in no pair, or of which are nearest. */
static inline bool
rb_join_has_tile(const rb_join *join)
{
	return join->predicate != RB_NEAREST && join->predicate != RB_BODY;
}

/* are its pairs those of parts of one row? */
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

/* are there triangles on a side, and so faces? */
static inline bool
rb_join_has_faces(const rb_join *join)
{
	return join->kind[0] == RB_TRIANGLE3 || join->kind[1] == RB_TRIANGLE3;
}

/* the join of the C function behind an SQL function, or NULL if it is none of ours */
extern const rb_join *rb_join_of(PGFunction function);

/* ---- results.c: the rows of a result ---- */

/* a column: where in a block its value is, and of what type; or the type of what is in no block */
typedef enum rb_value
{
	RB_VALUE_RED,
	RB_VALUE_BLUE,
	RB_VALUE_PART1, /* the upper half of blue */
	RB_VALUE_PART2,
	RB_VALUE_DIMENSION, /* of what is told */
	RB_VALUE_CROSSES,
	RB_VALUE_DISTANCE,
	RB_VALUE_SIDE, /* of a body */
	RB_VALUE_FROM, /* of a stretch */
	RB_VALUE_TO,
	RB_VALUE_LENGTH,
	RB_VALUE_ON_BOUNDARY,
	RB_VALUE_RELATION, /* of two bodies */
	RB_VALUE_BODY,     /* of a body that is checked: its id, or NULL, ... */
	RB_VALUE_FACES,    /* ... NULL where its row could not be taken, ... */
	RB_VALUE_CLOSED,
	RB_VALUE_ORIENTED,
	RB_VALUE_CROSSINGS, /* ... like these, ... */
	RB_VALUE_REASON,    /* ... or NULL, as are those that follow, where nothing is wrong */
	RB_VALUE_VALID,     /* never NULL */
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
	RB_VALUE_GEOMETRY /* of a type that only the SQL function knows: rb_column_type */
} rb_value;

typedef enum rb_row_from
{
	RB_ROWS_STREAM, /* blocks of the join's stream (rb_run_next) */
	RB_ROWS_BLOCKS, /* blocks that answers.c makes */
	RB_ROWS_SINGLE  /* row by row, by answers.c */
} rb_row_from;

#define RB_RESULT_COLUMNS 11                 /* at most */
#define RB_BLOCK_COLUMNS (2 + RB_BODY_WORDS) /* of a block: red, blue, words that are told */

typedef struct rb_row_shape
{
	rb_row_from from;
	int raw; /* so many columns of a block are needed: red, blue, words that are told */
	int columns;
	rb_value column[RB_RESULT_COLUMNS];
	bool made; /* some values are texts, or may be null: rb_value_made */
} rb_row_shape;

extern const rb_row_shape *rb_row_shape_of(rb_result result);
extern Oid rb_value_type(rb_value value);
/* of column i of what that call returns */
extern Oid rb_column_type(const FuncExpr *call, const rb_row_shape *shape, int i);

/* row i of a block, where a value may be null, or a text, which is made in this memory context */
extern Datum rb_value_made(const rb_block *block, rb_value value, size_t i, bool *null);

/* row i of a block, where all values are numbers */
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
			return Int16GetDatum((int16) RB_TOLD_DIMENSION(block->told[i]));
		case RB_VALUE_CROSSES:
			return BoolGetDatum(RB_TOLD_CROSSES(block->told[i]));
		case RB_VALUE_DISTANCE:
			return (Datum) block->told[i]; /* the bits of a float8, which is passed by value */
		case RB_VALUE_FROM:
			return (Datum) block->told[i * block->words];
		case RB_VALUE_TO:
			return (Datum) block->told[i * block->words + 1];
		case RB_VALUE_LENGTH:
			return (Datum) block->told[i * block->words + 2];
		case RB_VALUE_ON_BOUNDARY:
			return BoolGetDatum((block->told[i * block->words + 3] & RB_STRETCH_OF(1, 0)) != 0);
		default:
			return (Datum) 0;
	}
}

/* ---- arguments.c: of an SQL function ---- */

/* what it was called with */
typedef struct rb_call
{
	rb_source source[2]; /* of each side */
	double distance; /* rb_join_has_distance; rb_join_is_nearest: infinite where none is given */
	uint32 nearest;  /* rb_join_is_nearest */
	bool skip_bad;   /* bodies that are none, instead of raising an error */
	rb_ends tile;    /* rb_join_has_tile: dims 0 where none is given */
} rb_call;

extern void rb_call_read(const rb_join *join, Oid function, const NullableDatum *args,
						 rb_call *call);

/* ---- backend.c: which backend ---- */

/*
 * Before the sides are read: raises where it is known that redblue.backend asks for the
 * impossible, and has the worker started where it is likely to be needed.
 */
extern void rb_backend_prepare(const char *function, const rb_source *source, int sides);

/*
 * When they are read: is this join one for the worker?  If not, note (of that size) gets
 * the reason, or "" where the processor is what was wanted.
 */
extern bool rb_backend_is_remote(uint64 parts, int threads, char *note, size_t size);
/* the same of a mesh that is refined, which will have so many tetrahedra, about */
extern bool rb_backend_refines(uint64 tets, int threads, char *note, size_t size);

/*
 * The backend here for a join that the worker cannot have, with the reason; raises where
 * redblue.backend wants a device and this process cannot open it either.
 */
extern const rb_backend *rb_backend_here(const char *function, const char *reason);

/* is a device usable for joins?  text describes it, or tells why not */
extern bool rb_backend_device(char *text, size_t size);

/* ---- open.c: what is to be closed before its process ends ---- */

/*
 * Whatever holds memory of the core, or threads, is open.  Where the process exits, what
 * still is gets closed, by a function that says so (rb_open_end).
 */
typedef struct rb_open
{
	dlist_node node; /* in the list of all that are */
	void (*close)(void *);
	void *arg;
} rb_open;

extern void rb_open_begin(rb_open *open, void (*close)(void *), void *arg);

/* may be said twice; the second time it does nothing */
extern void rb_open_end(rb_open *open);

/* once it has given its memory back: the last one sees to what is idle */
extern void rb_open_ended(void);

/* when the library is loaded: what is to happen at the end of each transaction */
extern void rb_open_install(void);

/* ---- run.c: open a join, take blocks, close ---- */

typedef struct rb_refused_rows rb_refused_rows; /* left_out.c */

/* two snapshots with the same see the same rows */
typedef struct rb_moment
{
	TransactionId xmin;
	TransactionId xmax;
	uint32 xcnt;
	CommandId curcid;
} rb_moment;

/*
 * One call's join.  It lives in a memory context and ends with it at the latest,
 * whatever happens; rb_run_close ends it sooner.
 */
typedef struct rb_run
{
	const rb_join *join;
	Oid user; /* with whose rights the sides were read */
	MemoryContextCallback at_end;
	rb_open open;
	rb_memory *memory;
	rb_context ctx;
	rb_side side[2]; /* their sets until it is closed; [1] NULL in a self join */
	rb_call call;
	const rb_set *elsewhere[2]; /* in whose place a side was read again */
	rb_spill *
		spill; /* has all rows where they have no room here: the sides are those of a tile; NULL: that is an error */
	rb_ends tile;     /* this one */
	rb_stats before;  /* of the tiles before it */
	uint32 tiles;     /* so far */
	uint64 spilled;   /* bytes */
	bool here;        /* tiles are joined in this process, whoever asks for the next one */
	rb_moment moment; /* of the snapshot with which the sides were read */
	rb_job job;
	const rb_backend *backend;
	rb_remote *remote; /* NULL: not asked for */
	rb_stream *stream; /* NULL: the join is the worker's */
	rb_progress_entry *progress;
	bool demanded;   /* a device, or an error */
	bool handed_out; /* pairs */
	/* what takes its blocks in a thread, to be stopped before it is closed; or NULL */
	void (*stop_taker)(void *);
	void *taker;
	char note[200]; /* why this backend, or "" */
	uint64 parts;   /* of both sides */
	uint64 skipped; /* rows without a part, of both sides */
	uint64 need;    /* bytes, about, known when the sides are read */
	rb_refused_rows
		*refused;       /* RB_BODY: reports of rows that could not be taken; NULL: there are none */
	bool left_out_told; /* rb_run_tell_left_out */
	double emit_ms;     /* added to by whoever makes rows of the pairs */
} rb_run;

/* reads the sides and starts the join, for its pairs or for their number */
extern rb_run *rb_run_open(const rb_join *join, const rb_call *call, MemoryContext context);

/*
 * The same in two steps.  The second may be taken again, with another job, and ends the one before.  May the sides be those
 * of a tile, with others to follow?
 */
extern rb_run *rb_run_read(const rb_join *join, const rb_call *call, MemoryContext context,
						   bool by_tiles);
extern void rb_run_start(rb_run *run, const rb_job *job);

/* what the join function asks of the sides; all that remains to be said is the answer */
extern rb_job rb_run_job(const rb_run *run);

/* from now on the ids of that side are here */
extern void rb_run_need_ids(rb_run *run, int side);

/* and from now on all of its rows */
extern void rb_run_need_rows(rb_run *run, int side);

/* ends that join; its answer goes with it */
extern void rb_run_stop(rb_run *run);

/* what rb_stream_words and rb_stream_groups tell, wherever the join was */
extern const uint32_t *rb_run_words(const rb_run *run);
extern bool rb_run_groups(const rb_run *run, rb_groups *groups);

/* the next pairs, at least one; false when there are no more.  Can be cancelled. */
extern bool rb_run_next(rb_run *run, rb_block *block);

/* what made it fail becomes an ERROR */
pg_noreturn extern void rb_run_raise(const rb_run *run, rb_status status);

/* the same as rb_stream_next, wherever the join is; callable from any thread, but one at a time */
extern rb_status rb_run_wait(rb_run *run, int wait_ms, rb_block *block);

/* ---- left_out.c: rows that are no bodies ---- */

/* those of the side that could not be taken, as blocks of reports */
extern rb_refused_rows *rb_refused_rows_make(rb_run *run, MemoryContext context);

/* the next of them; false: there are no more.  Callable from any thread. */
extern bool rb_refused_rows_next(rb_run *run, rb_block *block);

/* reasons why bodies are left out, counted by their names, which may repeat */
#define RB_MOST_REASONS 48

typedef struct rb_reason
{
	const char *name;
	uint64 count;
} rb_reason;

typedef struct rb_reasons
{
	rb_reason at[RB_MOST_REASONS];
	int n;
	uint64 sum;
} rb_reasons;

extern void rb_reasons_add(rb_reasons *reasons, const char *name, uint64 n);

/* "132: not closed; 24: crossing itself": the most frequent ones, which are put in order */
extern char *rb_reasons_text(rb_reasons *reasons);

/* a notice of bodies that are left out, once; the join has ended, or been stopped */
extern void rb_run_tell_left_out(rb_run *run);

/* are the sides those of a tile? */
extern bool rb_run_is_tiled(const rb_run *run);

/* whoever calls that in a thread says so before, for the tiles behind the first one */
extern void rb_run_stay_here(rb_run *run);

/* what made the join fail; callable from any thread */
extern rb_error rb_run_error(const rb_run *run);

/* stops what still runs, gives all memory back; what it did can still be reported */
extern void rb_run_close(rb_run *run);

/* ---- pairs.c: a join as a function ---- */

extern Datum rb_return_pairs(FunctionCallInfo fcinfo, const rb_join *join);
extern Datum rb_return_pairs_by_key(FunctionCallInfo fcinfo, const rb_join *join);
extern Datum rb_return_count(FunctionCallInfo fcinfo, const rb_join *join);

/* ---- answers.c: what else can be said of the pairs, row by row ---- */

/*
 * One call's answer.  It lives in a memory context, as its run does, and ends with it.
 * Counts, hits and groups come in the order in which the rows of that side were
 * read, once for each id, however many rows have it: a row of counts is a row of GROUP BY.
 *
 *		rb_answer_rows *answer = rb_answer_open(join, RB_RESULT_COUNTS, RB_OF_BLUE, call, context);
 *		Datum values[RB_RESULT_COLUMNS];
 *
 *		while (rb_answer_next(answer, values))
 *			use(values);
 *		rb_last_run_set(rb_answer_run(answer));
 */
typedef struct rb_answer_rows rb_answer_rows;

/*
 * Reads the sides and has all counted; can be cancelled.  `of`: whose ids; of a self join
 * RB_OF_BOTH counts each pair for both of its ids, RB_OF_RED for the first (id1) alone.
 * Groups of a self join are of both.  It does not matter to the number of pairs and to blocks.
 */
extern rb_answer_rows *rb_answer_open(const rb_join *join, rb_result result, rb_of of,
									  const rb_call *call, MemoryContext context);

/* the next row, none of it null; what the values point to is valid until the next call */
extern bool rb_answer_next(rb_answer_rows *rows, Datum *values);

/* counts and hits, many at once: ids in red, counts in blue; false when there are no more */
extern bool rb_answer_block(rb_answer_rows *rows, rb_block *block);

/* for what it did */
extern rb_run *rb_answer_run(const rb_answer_rows *rows);

/* no more rows are wanted; after an error its context does that */
extern void rb_answer_close(rb_answer_rows *rows);

/* whose ids a function tells of: red's, or both of a self join */
static inline rb_of
rb_join_tells_of(const rb_join *join)
{
	return rb_join_sides(join) == 1 ? RB_OF_BOTH : RB_OF_RED;
}

extern Datum rb_return_answer(FunctionCallInfo fcinfo, const rb_join *join);

/* ---- info.c: what the last join did ---- */

typedef struct rb_report
{
	rb_stats stats;
	char note[200]; /* why this backend, or "" */
	uint64 skipped; /* rows without a part, of both sides */
	uint64 parts;
	uint32 tiles;   /* that were joined one after the other; 0: it was joined whole */
	uint64 spilled; /* bytes that waited in temporary files */
	const rb_join *join;
	Oid user;        /* who ran it */
	rb_side side[2]; /* their sets may be gone */
} rb_report;

extern void rb_report_of(const rb_run *run, rb_report *report);
extern char *rb_report_detail(const rb_report *report, rb_stage stage);
extern char *rb_report_device(const rb_report *report);

/* ---- cached.c ---- */

/* "triangles", as redblue_cache() has it */
extern const char *rb_kept_kind_name(rb_kind kind);

/* what redblue_last_run() tells from now on */
extern void rb_last_run_set(const rb_run *run);

/* the same of what is no join: a line a stage, the last one without a name */
typedef struct rb_last_line
{
	const char *stage; /* NULL: there are no more */
	uint64 count;
	double ms;
	char detail[200];
	const char *backend; /* NULL: the processor, with those threads */
	char device[200];
} rb_last_line;

#define RB_LAST_LINES 12

extern void rb_last_lines_set(const rb_last_line *lines, int threads);

/* the line of a device that had a share of the join, or (RB_CARDS) of the processor; false: it had none */
extern bool rb_report_card(const rb_report *report, int card, rb_last_line *line);

extern void rb_info_install(void);

/* ---- into.c ---- */

/* no trigger, index, policy, ...: may rows go to it as they are? */
extern bool rb_is_plain_table(Relation rel);

/* ======== plan: what the planner asks and is told ======== */

/* ---- function.c: of the catalog ---- */

/* the join whose pairs an SQL function returns, or NULL */
extern const rb_join *rb_join_of_function(Oid function);

/* is it one of ours, with whatever settings of its own? */
extern bool rb_is_supported(Oid function);

/* ---- support.c: what the planner asks ---- */

extern Datum redblue_support(PG_FUNCTION_ARGS);

/* how many rows of that side are in any of so many pairs of the call; false: its sizes are not known */
extern bool rb_expect_ids(const FuncExpr *call, rb_of of, double pairs, double *ids);

/* ---- look.c: relations, before the statement runs ---- */

/*
 * The relation, locked with AccessShareLock, or NULL: where it is none, where the
 * caller may not read it, or where one would have to wait.
 */
extern Relation rb_look_at(Oid relid);

/* the same of a child or a partition, for which the rights are those of the parent */
extern Relation rb_look_at_child(Oid relid);

/* May its pages be read, by the catalogs and by the planner?  false, too, where asking the planner would be a wait. */
extern bool rb_look_is_plain(Relation rel);

/* are all sides constants that name tables without policies?  With `stay` they then stay locked. */
extern bool rb_sides_are_tables(const rb_join *join, List *args, bool stay);

/* ---- sample.c: some rows of a table ---- */

typedef struct rb_sampled
{
	bool any_leaf; /* wanted: triangles of whatever geometries there are, ... */
	bool flat;     /* ... in the plane; so it is as well where the first one has no Z */
	rb_ends tile;  /* only rows that it has use for, with pairs within that distance; dims 0: all */
	double distance;
	const rb_set *set; /* with one holder; ids tell rows apart and are no ids of the user's */
	double rows;       /* of these in the table, about, that have parts */
	bool all;          /* the set has them all */
} rb_sampled;

/*
 * Rows of a plain table that may be read, as an active snapshot sees them.  Another seed
 * gives other rows.  False where nothing can be said of the table.
 */
extern bool rb_sample_rows(Relation rel, rb_kind kind, const char *geom_name, uint32 seed,
						   rb_memory *memory, rb_sampled *sampled);

/* ---- expect.c: how many pairs of rows ---- */

/* of a triangle with its neighbours in its mesh, each pair once: those it shares a corner with */
#define RB_SELF_PAIRS 6

/* of a call whose support function was asked; NULL: of a function that is another one in fact */
extern const rb_join *rb_join_of_call(const FuncExpr *call);

/* false: there is no telling */
extern bool rb_expect_pairs(const FuncExpr *call, double *pairs);

/* the same of the geometries in columns of two tables, or of one and itself, each row with each: RB_MEET or RB_WITHIN */
typedef struct rb_geometry_column
{
	Oid relid;
	const char *name;
} rb_geometry_column;

extern bool rb_expect_geometries(const rb_geometry_column *column, rb_predicate predicate,
								 double distance, double *pairs);

/* ---- late.c: pairs are not counted while planning ---- */

/* the call in a form that the planner does not compute, or NULL where it is that already */
extern Node *rb_not_while_planning(const FuncExpr *call);

/* ---- serial.c: plans that must not run in parallel mode ---- */

extern void rb_serial_install(void);

/* ======== scan: a call in FROM, row by row ======== */

/* ---- scan_path.c: the functions in FROM, row by row ---- */

extern void rb_scan_install(void);

/* ---- scan_explain.c: such a scan in EXPLAIN ---- */

struct ExplainState;

/* a line of what a stage did */
extern void rb_explain_stage(struct ExplainState *es, const char *name, uint64 count, double ms,
							 const char *detail);

/* ---- upper_path.c: what is only counted above such a scan ---- */

extern void rb_upper_install(void);

/* ---- share.c: pairs for parallel workers ---- */

typedef struct rb_share rb_share;
typedef struct rb_pump rb_pump;

#define RB_SHARE_PAIRS 512 /* that are taken at once, at most */

extern Size rb_share_size(void);
extern void rb_share_init(rb_share *share);
extern rb_pump *rb_pump_start(rb_run *run, rb_share *share);
extern void rb_pump_stop(rb_pump *pump);
/* the next block, of n 0 at the end, into arrays of RB_SHARE_PAIRS; told may be NULL */
extern void rb_share_take(rb_share *share, const char *function, rb_block *block);

#endif /* RB_PG_H */
