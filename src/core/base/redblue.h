/*
 * redblue.h
 *	  Declares the whole interface of the core: its inputs, its outputs and who owns them.
 *
 * The core finds which objects (triangles, segments, boxes) of two sets share a point. It is plain
 * C with threads and GMP and depends neither on PostgreSQL nor on CUDA. Data flows in one
 * direction:
 *
 *	  sets -> grid -> candidate pairs -> filters -> exact signs -> blocks of ids
 *
 * The caller passes sets to the core and receives blocks of ids from it. It builds two sets from
 * rows with a builder, opens a stream that runs a job on them, and reads blocks from the stream
 * until the end. In this example, ctx is an rb_context that rb_context_init has initialized, and
 * ore and tunnel are sets:
 *
 *	  rb_job job = {.red = ore, .blue = tunnel, .predicate = RB_MEET};
 *	  rb_stream *s;
 *	  rb_block block;
 *	  rb_status status = rb_stream_open(ctx, &rb_backend_cpu, &job, &s);
 *
 *	  while (status == RB_OK && (status = rb_stream_next(s, 20, &block)) == RB_OK)
 *		  for (size_t i = 0; i < block.n; i++) // none if nothing arrived within 20 ms
 *			  use(block.red[i], block.blue[i]);
 *	  if (status != RB_END)
 *		  complain(status, &ctx->error);
 *	  rb_stream_close(s);
 *
 * The join runs in its own threads with all signals blocked. Between two calls of rb_stream_next
 * the caller may therefore do anything, including longjmp, as long as it eventually calls
 * rb_stream_close.
 *
 * Conventions: a function that can fail returns rb_status and writes its results through
 * out-pointers; ctx->error holds the details of a failure. No function throws, exits, prints or
 * calls longjmp. All memory is counted against ctx->memory.
 */
#ifndef REDBLUE_H
#define REDBLUE_H

#include "core/base/atomic.h"
#include "core/base/kinds.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C"
{
#endif

#define RB_VERSION "0.2.0"

/* ---- status and error (context.c) ---- */

typedef enum rb_status
{
	RB_OK = 0,
	RB_END,              /* end of the stream: every pair has been returned */
	RB_STOPPED,          /* stop requested by rb_context_stop or by the sink */
	RB_OVER_BUDGET,      /* memory.limit would be exceeded; see need and limit */
	RB_OUT_OF_MEMORY,    /* allocation refused by the operating system; see need */
	RB_NO_THREAD,        /* a thread that the join requires could not be created */
	RB_UNSUPPORTED,      /* predicate not supported for these kinds */
	RB_TOO_MANY_OBJECTS, /* more than RB_MAX_OBJECTS objects in one set */
	RB_BAD_GEOMETRY,     /* malformed or unknown geometry bytes; see text */
	RB_NO_DEVICE,        /* no driver, device or backend file; text says why */
	RB_DEVICE_FULL,      /* not enough device memory; text gives the amount */
	RB_DEVICE_FAILED,    /* a device call failed; text names it */
	RB_GONE,             /* the process that ran the join has ended */
	/* a row is not a valid solid; need is its id, text says why, limit is an rb_solid_side */
	RB_BAD_SOLID,
	RB_BAD_POLYGON, /* a row is not a valid polygon; need, text, limit as for RB_BAD_SOLID */
	RB_BAD_PLANE,   /* a row has no plane; need is its id, text says why */
	RB_BAD_PLC,     /* no mesh can be built; a flaw describes why (plc.h) */
	RB_BAD_FILE,    /* a temporary file could not be read; text says why */
	RB_BAD_REPLY    /* the process that ran the join returned an inconsistent result */
} rb_status;

/* Defect of a solid's triangles; a solid is reported with the first one that applies */
typedef enum rb_solid_fault
{
	RB_SOLID_GOOD,
	RB_SOLID_FLAT,   /* no triangle has a nonzero area */
	RB_SOLID_OPEN,   /* an edge is shared by an odd number of triangles */
	RB_SOLID_TURNED, /* an edge has unequal numbers of triangles in its two directions */
	/* a triangle's normal points into the solid, or the triangle separates two interior regions */
	RB_SOLID_INWARD,
	RB_SOLID_CROSSED,    /* triangles cross each other */
	RB_SOLID_UNREADABLE, /* the row could not be read */
	RB_SOLID_FAULTS
} rb_solid_fault;

/* Defect of a polygon by the rules of OGC; a polygon is reported with the first one that applies */
typedef enum rb_polygon_fault
{
	RB_POLYGON_GOOD,
	RB_POLYGON_FEW,     /* a ring has fewer than three different points */
	RB_POLYGON_CROSSED, /* two edges cross or overlap */
	RB_POLYGON_TOUCHED, /* a ring touches itself */
	RB_POLYGON_OUTSIDE, /* a hole is not within its shell */
	RB_POLYGON_NESTED,  /* a hole is within another hole of its shell */
	RB_POLYGON_SHELLS,  /* polygons of a multipolygon share points of their interiors */
	RB_POLYGON_DIVIDED, /* the interior is not connected */
	RB_POLYGON_FAULTS
} rb_polygon_fault;

#define RB_FAULTS 8 /* number of faults of solids or polygons, whichever is larger */

/* Side of a join that an invalid solid belongs to */
typedef enum rb_solid_side
{
	RB_SOLID_OF_SOLIDS,
	RB_SOLID_OF_RED,
	RB_SOLID_OF_BLUE,
	RB_SOLID_OF_FIRST, /* the first side, which is called solids */
	RB_SOLID_SIDE = 3, /* mask of the values above */
	/* bit that is set if the rows form closed surfaces only together; each row may be a face */
	RB_SOLID_TOGETHER = 4
} rb_solid_side;

/* Returns true if the status is that of a device, so that another processor can do the work. */
static inline bool
rb_is_device_failure(rb_status status)
{
	return status == RB_NO_DEVICE || status == RB_DEVICE_FULL || status == RB_DEVICE_FAILED;
}

/* Returns the message of a status; never NULL. */
extern const char *rb_status_text(rb_status status);

typedef struct rb_error
{
	rb_status status;
	uint64_t need;  /* bytes, number of objects, or id of a row, depending on the status */
	uint64_t limit; /* limit that `need` exceeds, or other details, depending on the status */
	char text[200]; /* further details, or empty */
} rb_error;

/* ---- memory: a budget, huge pages, a pool of idle blocks (memory.c) ---- */

typedef struct rb_memory rb_memory;

extern rb_memory *rb_memory_create(uint64_t limit_bytes); /* Returns NULL if malloc fails. */
/* Frees all blocks that are still allocated. */
extern void rb_memory_destroy(rb_memory *memory);
/* Changes the limit, in bytes. A limit below the bytes in use makes the next allocations fail. */
extern void rb_memory_set_limit(rb_memory *memory, uint64_t limit_bytes);
/* Returns the bytes in use. */
extern uint64_t rb_memory_used(const rb_memory *memory);
/* Returns the maximum of the bytes in use so far. */
extern uint64_t rb_memory_peak(const rb_memory *memory);
/* Returns the limit in bytes. */
extern uint64_t rb_memory_limit(const rb_memory *memory);

/* Charges memory that the caller allocated by other means, until it is refunded. */
extern rb_status rb_memory_charge(rb_memory *memory, uint64_t bytes, rb_error *error);
/* Gives back bytes charged by rb_memory_charge. */
extern void rb_memory_refund(rb_memory *memory, uint64_t bytes);

/*
 * Allocates a block or grows it, keeping its content. Thread-safe. *block is NULL before the first
 * call and after rb_free. Blocks of 1 MiB and more are mapped with transparent huge pages and grow
 * by remapping, without a copy. New bytes are not cleared.
 */
extern rb_status rb_resize(rb_memory *memory, void **block, size_t bytes, rb_error *error);
/* Frees a block and sets *block to NULL. Does nothing if *block is NULL. */
extern void rb_free(rb_memory *memory, void **block);

/*
 * Moves a block from one memory budget to another without changing its address. block may be NULL.
 * On failure nothing changes.
 */
extern rb_status rb_memory_move(rb_memory *from, rb_memory *to, void *block, rb_error *error);

/* Returns the bytes that a block is charged for, or 0 if block is NULL. */
extern uint64_t rb_block_bytes(const void *block);

/*
 * Gives back the memory of a large block beyond its first `bytes` bytes. The address of the block
 * does not change.
 */
extern void rb_shrink(rb_memory *memory, void **block, size_t bytes);

/*
 * Sets the maximum size of the pool of idle blocks. Freed blocks stay in the pool of this process
 * for the next join; idle and used blocks together stay within the limit. The default is 64 MiB.
 */
extern void rb_memory_set_idle(uint64_t most_bytes);
/* Returns the bytes of the idle blocks in the pool. */
extern uint64_t rb_memory_idle(void);

/*
 * Lets the kernel reclaim the pages of idle blocks when memory is short. Callers use it before a
 * longer pause.
 */
extern void rb_memory_offer_idle(void);

/* Returns idle blocks to the operating system, keeping keep_bytes of them. */
extern void rb_memory_trim(uint64_t keep_bytes);

/*
 * Gives all idle blocks back to the operating system and returns true, or returns false if another
 * thread holds the pool's lock. For a signal handler.
 */
extern bool rb_memory_drop_idle(void);

/* ---- sets: one side of a join (set.c) ---- */

/*
 * One side of a join. A set is built once, never changes afterwards, and is shared by reference
 * counting.
 *
 * A row of the user's table has one or more parts (triangles, segments, boxes); most rows have
 * exactly one. All coordinates are finite, which the reader has checked.
 */
typedef struct rb_set
{
	rb_kind kind;
	uint32_t nparts;
	uint32_t nrows;
	const double *coords;   /* nparts * rb_kind_width(kind) */
	const uint32_t *row_of; /* row of each part, ascending; NULL if part i is row i */
	const int64_t *ids;     /* id of each row; NULL if row i has the id first_id + i */
	const uint32_t
		*faces; /* number of polygons or triangles of each row, or NULL if they were not counted */
	/*
	 * For each part, the number of its polygon within the row, counted from 0 in ascending order;
	 * polygons without a part are not counted. NULL if each part is a polygon of its own or the
	 * numbers were not requested. Always NULL in a delta set.
	 */
	const uint32_t *face_of;
	int64_t first_id;  /* id of row 0 where ids are consecutive */
	uint64_t skipped;  /* rows without a part, which nrows does not include */
	int32_t srid;      /* SRID of the geometries; 0 if none or unknown */
	bool composed_ids; /* true if ids and first_id of a delta set or remote set are valid */
	/* true if another process holds the arrays of this set or of the delta set's cached set */
	bool elsewhere;
	uint64_t number; /* unique number of a cached set; 0 if the set is not cached */
	/* definition of a delta set; coords is NULL until the set is materialized */
	const struct rb_view *view;
	struct rb_set_owner *owner; /* reference count; NULL if the creator keeps the set alive */
} rb_set;

/* Adds a reference to a set, which may be NULL, and returns it. Callable from any thread. */
extern const rb_set *rb_set_hold(const rb_set *set);
/*
 * Drops a reference, frees the set with the last one, and sets *set to NULL, which it may already
 * be. Callable from any thread.
 */
extern void rb_set_release(const rb_set **set);

/* Returns the bytes of a set's arrays. */
extern uint64_t rb_set_bytes(const rb_set *set);

/*
 * A cut of a delta set (delta_set.c): a range of rows of one of two sets of the same kind. Cut i
 * ends where cut i + 1 begins. A last additional cut holds the total numbers of rows and parts.
 */
typedef struct rb_cut
{
	uint32_t row;       /* first row of the range, in the delta set */
	uint32_t part;      /* first part of the range, in the delta set */
	uint32_t from_row;  /* first row of the range, in its source set */
	uint32_t from_part; /* first part of the range, in its source set */
	bool fresh;         /* true if the source set is that of the new rows */
} rb_cut;

typedef struct rb_view
{
	const rb_set *kept;  /* the cached set */
	const rb_set *fresh; /* set of the new rows */
	const rb_cut *cuts;
	uint32_t ncuts;
	bool counted; /* true if the coordinates are charged as memory before they are materialized */
} rb_view;

/*
 * Builds a delta set with one reference. It holds references to both source sets. Copies the cuts.
 * The delta set is remote if the cached set is.
 */
extern rb_status rb_view_make(rb_memory *memory, const rb_view *view, uint64_t skipped,
							  const rb_set **set, rb_error *error);

/*
 * Returns the id of a row of a delta set from its source set, for use while the delta set has no
 * array of ids.
 */
extern int64_t rb_view_id(const rb_view *view, uint32_t row);

/* Returns true if every id is larger than the one before it. */
extern bool rb_set_ids_ascend(const rb_set *set);

/*
 * Counts the distinct ids of a delta set whose cached set has ascending ids, without materializing
 * them. Sets *known to false if counting would take too long.
 */
extern rb_status rb_view_count_ids(struct rb_memory *memory, const rb_set *set, bool *known,
								   uint32_t *distinct, rb_error *error);

/* Maximum number of objects in a set; three bits of an index are reserved */
#define RB_MAX_OBJECTS ((uint32_t) 1 << 29)

/* A pair of parts, as indexes into their sets, or a pair of rows */
typedef struct rb_pair
{
	uint32_t red;
	uint32_t blue;
} rb_pair;

/*
 * Position of a pair's payload (RB_PAYLOAD) in its red index when the pair is written to a sink:
 * the three bits above the index, which are 0 for RB_MEET
 */
#define RB_PAYLOAD_SHIFT 29

/* Returns the payload of a pair of parts. */
static inline uint32_t
rb_pair_payload(rb_pair pair)
{
	return pair.red >> RB_PAYLOAD_SHIFT;
}

/* Returns the index of the red part, without the payload. */
static inline uint32_t
rb_pair_red(rb_pair pair)
{
	return pair.red & (RB_MAX_OBJECTS - 1);
}

/* The box of a row, or a tile of space (reference_point.h) */
typedef struct rb_box
{
	int dims; /* number of dimensions; 0 if there is no box */
	double low[3];
	double high[3];
} rb_box;

/* ---- builder: rows in, a set out (builder.c) ---- */

/*
 * Collects the rows of one side. The caller adds the parts of a row and then ends the row. A row
 * without a part (a NULL or EMPTY geometry) is counted as skipped and not stored. rb_builder_clear
 * keeps the memory; rb_builder_free returns it to the pool.
 */
typedef struct rb_builder
{
	rb_memory *memory;
	rb_kind kind;
	int width;          /* rb_kind_width(kind) */
	uint32_t nparts;    /* parts of the ended rows and of the row under construction */
	uint32_t nrows;     /* ended rows */
	uint32_t row_start; /* first part of the row under construction */
	uint64_t skipped;   /* rows without a part */
	bool multi;         /* true if a row has more than one part */
	double *coords;     /* length: nparts * width */
	int64_t *ids;       /* length: nrows */
	uint32_t *row_of;   /* length: nparts; NULL while every row has one part */
	int32_t srid;       /* SRID of the set, assigned by the reader */
	/*
	 * Tile and distance of the join. Rows that cannot be in a pair of this tile are counted in
	 * `outside` instead of being stored.
	 */
	rb_box tile;
	double distance;
	uint64_t outside;
	bool many_points; /* RB_POINT3: a row may have several points, as a MultiPoint has */
	bool any_leaf;    /* RB_TRIANGLE3: accept points and lines as degenerate triangles */
	bool planes;      /* RB_TRIANGLE3: accept a line of two points as its vertical plane */
	bool flat;        /* RB_TRIANGLE3: ignore Z and place all points at z = 0 */
	/*
	 * True if the faces of each row are to be counted. A polygon becomes several triangles;
	 * more_parts counts the parts of the row under construction that are the second or a later
	 * triangle of a polygon. Not supported by rb_builder_append.
	 */
	bool count_faces;
	uint32_t more_parts;
	uint32_t *faces; /* length: nrows */
	size_t faces_cap;
	/*
	 * True if the set is to record the polygon of each part. rb_builder_append ignores the field,
	 * since each of its parts is a polygon. Code that removes parts directly must lower faced to
	 * nparts.
	 */
	bool want_face_of;
	uint32_t *face_of; /* polygon of each of the first `faced` parts */
	uint32_t faced;
	size_t face_of_cap;
	size_t coords_cap; /* capacity of coords, in parts */
	size_t ids_cap;    /* capacity of ids, in rows */
	size_t row_of_cap; /* capacity of row_of, in parts */
	/*
	 * Function that is polled while a geometry is read, which may take seconds. If it returns true,
	 * reading ends with RB_GEOMETRY_STOPPED. May be NULL.
	 */
	bool (*should_stop)(void);
	/* Maximum distance of a face's vertex from the plane of the face; < 0 if unlimited */
	double face_tolerance;
	/*
	 * Maximum distance of a face's vertex from the plane of the face, as a fraction of the face's
	 * extent, used if face_tolerance < 0; 0 if unlimited
	 */
	double face_share;
	void *face_corners; /* scratch for faces that are not triangles (polygon.c) */
	void *face_mesh;
	void *face_uses;
	struct rb_refusal *refused; /* rows that could not be read, in reading order */
	uint32_t nrefused;
	size_t refused_cap;
} rb_builder;

/* Initializes a builder without parts; its arrays will be charged to `memory`. */
extern void rb_builder_init(rb_builder *b, rb_memory *memory, rb_kind kind);
/* Frees the arrays of a builder that was not finished. */
extern void rb_builder_free(rb_builder *b);

/* Changes the kind while the builder has no part. Keeps the memory. */
extern void rb_builder_set_kind(rb_builder *b, rb_kind kind);

/*
 * Reserves room for `more` parts. The caller writes coords[nparts * width ...] and adds to nparts.
 */
extern rb_status rb_builder_reserve(rb_builder *b, size_t more, rb_error *error);

/* Ends the row under construction, or drops it if it has no part. */
extern rb_status rb_builder_end_row(rb_builder *b, int64_t id, rb_error *error);

/* Returns true if the row under construction cannot be in a pair of the tile. */
extern bool rb_builder_is_outside(const rb_builder *b);

/* Drops the parts of the row under construction. */
static inline void
rb_builder_drop_row(rb_builder *b)
{
	b->nparts = b->row_start;
	b->more_parts = 0;
	if (b->faced > b->nparts)
		b->faced = b->nparts;
}

/* Gives back memory reserved for further rows. */
extern void rb_builder_trim(rb_builder *b);

/* Drops the ended rows, which makes the row under construction the first one. Keeps the memory. */
extern void rb_builder_drop_ended(rb_builder *b);

/* Drops all rows. Keeps the memory. */
extern void rb_builder_clear(rb_builder *b);

/*
 * Appends many rows at once. The parts continue the row under construction; ends[i] is the number
 * of new parts in the first i + 1 new rows. If ends is NULL, each part is a row and nrows equals
 * nparts. Parts after the last end belong to the row under construction.
 */
extern rb_status rb_builder_append(rb_builder *b, const double *coords, uint32_t nparts,
								   const int64_t *ids, const uint32_t *ends, uint32_t nrows,
								   rb_error *error);

/*
 * Merges the ended rows of each id into one row with all their parts, at the position of the first
 * of them. Returns RB_STOPPED if should_stop returned true. On failure nothing changes.
 */
extern rb_status rb_builder_group(rb_builder *b, rb_error *error);

/*
 * Counts the distinct ids and numbers them: number[i] is the number of row i's id, from 0 in order
 * of first appearance. If number is NULL, only counts. Returns RB_STOPPED if should_stop, which may
 * be NULL, returned true.
 */
extern rb_status rb_ids_number(rb_memory *memory, const int64_t *ids, uint32_t n,
							   bool (*should_stop)(void), uint32_t *number, uint32_t *distinct,
							   rb_error *error);

/*
 * Turns all ended rows into a set with one reference, which must be released before the memory is
 * destroyed. Afterwards the builder is empty. On failure the builder does not change.
 */
extern rb_status rb_builder_finish(rb_builder *b, const rb_set **set, rb_error *error);

/* ---- cache of sets between joins (cache.c) ---- */

typedef struct rb_cache rb_cache;

/* A cached set with the data that its user attached */
typedef struct rb_cache_entry
{
	const rb_set *set;
	void *card; /* user data; may be modified by any user of the cache */
	size_t card_size;
	uint64_t bytes; /* bytes of the set and the user data together */
	uint64_t hits;  /* number of calls of rb_cache_use */
} rb_cache_entry;

/* Returns NULL if malloc fails. */
extern rb_cache *rb_cache_create(uint64_t limit_bytes);
/* Frees the cache. No cached set may be referenced elsewhere. */
extern void rb_cache_destroy(rb_cache *cache);

/*
 * Sets the last number in use, so that this process numbers cached sets from number + 1. Must be
 * called before the first set is cached.
 */
extern void rb_cache_set_last_number(uint64_t number);

/*
 * Sets the limit in bytes. A lower limit takes effect at once, except for sets that are still
 * referenced.
 */
extern void rb_cache_set_limit(rb_cache *cache, uint64_t limit_bytes);
/* Returns the bytes of all cached sets. */
extern uint64_t rb_cache_used(const rb_cache *cache);

/*
 * Caches a materialized set with one reference, replacing the entry of that key. Evicts the least
 * recently used unreferenced entries to make room. The set moves into the cache's memory and gets
 * one more reference. On failure, usually RB_OVER_BUDGET, the set does not change.
 */
extern rb_status rb_cache_put(rb_cache *cache, const void *key, size_t key_size, const rb_set *set,
							  const void *card, size_t card_size, rb_error *error);

/* Returns the entry of a key, or NULL. */
extern rb_cache_entry *rb_cache_find(rb_cache *cache, const void *key, size_t key_size);

/* Marks an entry as used, adds a reference to its set, and returns the set. */
extern const rb_set *rb_cache_use(rb_cache *cache, rb_cache_entry *kept);

/* Removes an entry. */
extern void rb_cache_drop(rb_cache *cache, rb_cache_entry *kept);

/*
 * Returns the entry after `kept`, most recently used first. Returns the first entry if `kept` is
 * NULL, and NULL after the last one.
 */
extern rb_cache_entry *rb_cache_next(const rb_cache *cache, const rb_cache_entry *kept);

/* ---- geometry bytes: PostGIS's serialized form and EWKB (wkb.c) ---- */

/* Why a geometry was rejected; details of RB_BAD_GEOMETRY */
typedef enum rb_geometry_fault
{
	RB_GEOMETRY_OK = 0,
	RB_GEOMETRY_MALFORMED,  /* a count or length does not fit the bytes */
	RB_GEOMETRY_UNKNOWN,    /* version or flag unknown to this parser; EWKB may work */
	RB_GEOMETRY_WRONG_TYPE, /* a type that the kind does not accept */
	RB_GEOMETRY_NO_Z,       /* a 3D kind needs Z */
	RB_GEOMETRY_Z,          /* RB_BOX2 does not accept Z; use RB_BOX3 */
	RB_GEOMETRY_CURVE,      /* a curve, or a polygon that may have curved rings */
	RB_GEOMETRY_CORNERS,    /* a TRIANGLE without three vertices, a plane's line; see `corners` */
	RB_GEOMETRY_NOT_CLOSED, /* a ring does not end where it starts */
	RB_GEOMETRY_NOT_FINITE, /* NaN or infinity among the coordinates */
	/* faults of a face, projected along `axis` */
	RB_GEOMETRY_CROSSING,     /* the edges at[0] to at[1] and at[2] to at[3] cross */
	RB_GEOMETRY_ABOVE,        /* the vertices at[0] and at[1] coincide in the projection */
	RB_GEOMETRY_HOLE_OUTSIDE, /* `hole` is not within the outer ring; see at[0] */
	RB_GEOMETRY_HOLES,        /* `hole` and `other` overlap; see at[0] */
	RB_GEOMETRY_NOT_FLAT,     /* the vertex at[0] lies at `distance` from the face's plane */
	RB_GEOMETRY_NO_MEMORY,    /* see the rb_error */
	RB_GEOMETRY_STOPPED,      /* should_stop returned true; the bytes may be valid */
	/* faults of a row rather than of geometry bytes */
	RB_GEOMETRY_NULL,    /* a coordinate is null */
	RB_GEOMETRY_SRID,    /* the SRID is `srid`, but that of earlier rows is `other_srid` */
	RB_GEOMETRY_NULL_ID, /* the id is null */
	RB_GEOMETRY_NO_ID,   /* the id is not an eight-byte integer */
	RB_GEOMETRY_FAULTS
} rb_geometry_fault;

typedef struct rb_geometry_info
{
	int32_t srid;
	uint32_t type; /* OGC number of the outermost type: 14 triangle, 15 TIN, ... */
	bool has_z;
	uint32_t bad_type; /* type of the invalid part */
	uint32_t corners;
	/* details of a fault in a face */
	uint32_t face; /* number of the invalid face, from 1, empty ones included */
	uint32_t hole, other;
	int axis; /* axis of the projection: 0, 1, 2 for x, y, z */
	double at[4][3];
	double distance;
	bool two_rings;  /* RB_GEOMETRY_CROSSING: true if the edges belong to two rings */
	uint8_t overlap; /* RB_GEOMETRY_HOLES: an rb_hole_overlap */
	int32_t other_srid;
} rb_geometry_info;

/* How two holes of a face overlap */
typedef enum rb_hole_overlap
{
	RB_HOLES_CROSS,
	RB_HOLES_NESTED, /* one hole lies within the other */
	RB_HOLES_EQUAL
} rb_hole_overlap;

/* A row that could not be read, and why */
typedef struct rb_refusal
{
	int64_t id; /* id of the row; 0 for RB_GEOMETRY_NULL_ID and RB_GEOMETRY_NO_ID */
	rb_geometry_fault fault;
	rb_geometry_info info;
} rb_refusal;

/* Drops the row under construction and records it among the rejected rows. */
extern rb_status rb_builder_reject(rb_builder *b, const rb_refusal *refusal, rb_error *error);

/*
 * Prepares for merging the rows of each id into one object: drops all rows whose id is that of a
 * rejected row, and keeps only the first rejected row of each id. Rows without an id stay.
 */
extern rb_status rb_builder_drop_rejected(rb_builder *b, rb_error *error);

/* Returns the name of a type in PostGIS's spelling: "Triangle", "Tin", ... */
extern const char *rb_geometry_type_name(uint32_t type);

/* Geometry types by their PostGIS numbers */
enum
{
	RB_TYPE_POINT = 1,
	RB_TYPE_LINE = 2,
	RB_TYPE_POLYGON = 3,
	RB_TYPE_MULTIPOINT = 4,
	RB_TYPE_MULTILINE = 5,
	RB_TYPE_MULTIPOLYGON = 6,
	RB_TYPE_COLLECTION = 7,
	RB_TYPE_CIRCULARSTRING = 8,
	RB_TYPE_COMPOUND = 9,
	RB_TYPE_CURVEPOLYGON = 10,
	RB_TYPE_MULTISURFACE = 12,
	RB_TYPE_POLYHEDRALSURFACE = 13,
	RB_TYPE_TRIANGLE = 14,
	RB_TYPE_TIN = 15
};

/* Header that precedes the geometry tree in serialized form */
typedef struct rb_geometry_header
{
	int32_t srid;
	bool has_z;
	bool has_box; /* rounded outward, or exact for a point or short line; z is 0 without has_z */
	double low[3];
	double high[3];
} rb_geometry_header;

/*
 * Reads the type, SRID, flags and box of a serialized geometry, without its points. bytes points
 * past the varlena header of the datum.
 */
extern rb_geometry_fault rb_geometry_read_header(const uint8_t *bytes, size_t len,
												 rb_geometry_header *header);

/*
 * Appends the parts of one geometry to the builder without ending the row: the triangles of its
 * faces (face.h), its segments (in 2D also those of polygon rings), or the box of all its points.
 * bytes points past the varlena header of the datum. Checks every count against len before using
 * it. On a fault nothing is appended. An EMPTY geometry appends nothing and is not a fault.
 */
extern rb_geometry_fault rb_geometry_read_serialized(rb_builder *b, const uint8_t *bytes,
													 size_t len, rb_geometry_info *info,
													 rb_error *error);

/*
 * Checks that a parser that trusts the counts, such as PostGIS's own, would read exactly the
 * serialized bytes, without deep recursion. Returns RB_GEOMETRY_OK if so, or RB_GEOMETRY_UNKNOWN if
 * the type is unknown. Appends nothing and uses only should_stop of the builder.
 */
extern rb_geometry_fault rb_geometry_check_serialized(rb_builder *b, const uint8_t *bytes,
													  size_t len);

/* Appends the parts of a geometry in EWKB, as rb_geometry_read_serialized does. */
extern rb_geometry_fault rb_geometry_read_ewkb(rb_builder *b, const uint8_t *bytes, size_t len,
											   rb_geometry_info *info, rb_error *error);

/* ---- statistics of a join, as redblue_last_run shows them (context.c) ---- */

typedef enum rb_stage
{
	RB_STAGE_READ,       /* rows read on both sides, except rows without a part */
	RB_STAGE_UPLOAD,     /* bytes copied to the device */
	RB_STAGE_GRID,       /* incidences (object, cell) */
	RB_STAGE_CANDIDATES, /* pairs whose closed boxes overlap, each counted once */
	RB_STAGE_FLOAT,      /* pairs that entered the float filter */
	RB_STAGE_DOUBLE,     /* pairs that entered the double filter */
	RB_STAGE_EXACT,      /* pairs that no filter could decide */
	RB_STAGE_DOWNLOAD,   /* bytes copied from the device */
	RB_STAGE_EMIT,       /* pairs of rows returned */
	/*
	 * stages of a mesh, for progress displays: points inserted, subsegments, facets, tetrahedra
	 * visited
	 */
	RB_STAGE_MESH_POINTS,
	RB_STAGE_MESH_SEGMENTS,
	RB_STAGE_MESH_FACETS,
	RB_STAGE_MESH_REGIONS,
	RB_STAGE_MESH_REFINE
} rb_stage;

#define RB_STAGES 9 /* stages of a join */
extern const char *rb_stage_name(rb_stage stage);

#define RB_MAX_DEVICES 16 /* maximum number of devices of a backend */

typedef struct rb_stats
{
	struct
	{
		uint64_t count;
		double ms; /* sum over all threads divided by their number */
	} stage[RB_STAGES];
	uint32_t resolution[3];   /* cells of the top grid along x, y, z */
	uint64_t cells;           /* cells of all grids that were built */
	double grid_ms[3];        /* milliseconds of the grid stage on a device: plan, map, schedule */
	uint64_t box_tests;       /* box comparisons made to find the candidates */
	uint64_t redundant_tests; /* overlaps found in a cell that does not own the pair */
	uint64_t bad_solids;      /* invalid solids or polygons that were skipped (job.skip_bad) */
	/* number of skipped invalid solids or polygons by side and first defect */
	uint64_t bad_because[2][RB_FAULTS];
	uint64_t hits;            /* pairs of parts that satisfy the predicate, if they were counted */
	uint64_t record_bytes;    /* bytes of compressed pairs sent by a device (pair_coding.h) */
	uint64_t exact_integer;   /* exact signs computed by fixed-width integers */
	uint64_t exact_expansion; /* exact signs computed by expansion arithmetic */
	uint64_t exact_gmp;       /* exact signs computed by GMP */
	/* Work of each device in a multi-device join, with the CPU last; zeros in other joins */
	struct
	{
		uint32_t shares;
		double ms;
		uint64_t hits;
	} card[RB_MAX_DEVICES + 1];
	int threads;
	char backend[16];
	char device[80]; /* empty on the CPU */
	char note[200];  /* why this backend was chosen, or empty */
} rb_stats;

/* Adds the statistics of one more join. Properties of the grid are those of the last one. */
extern void rb_stats_add(rb_stats *sum, const rb_stats *more);

/* ---- context: budget, settings, stop flag, statistics and error of one call (context.c) ---- */

/* Filters that a test can disable to prove that they do not change results */
#define RB_FILTER_FLOAT 0x1
#define RB_FILTER_SIGNS 0x2 /* semi-static plane sides */
#define RB_FILTER_INTERVAL 0x4
#define RB_EXACT_INTEGER 0x8
#define RB_EXACT_EXPANSION 0x10
#define RB_FILTER_ALL 0x1f

/* Settings of a join; plain data, which is also copied to other processes */
typedef struct rb_join_settings
{
	uint32_t devices;          /* mask of allowed devices (rb_backend_multi_device); 0 for all */
	bool only_devices;         /* false to fall back to the CPU when all devices fail */
	uint32_t grid_resolution;  /* cells along the longest side; 0 to plan from a sample */
	uint64_t gpu_memory_limit; /* maximum device memory in bytes; 0 for all that is free */
	/*
	 * maximum device memory for copies of cached sets, in bytes; UINT64_MAX for a quarter of all
	 * device memory
	 */
	uint64_t gpu_cache_limit;
	/* milliseconds the device stays open after this join; 0 for a short default */
	double device_idle_ms;
} rb_join_settings;

typedef struct rb_context
{
	rb_memory *memory;
	int threads; /* threads of the CPU backend, >= 1 */
	int device;  /* device to use, counted from 0 */
	rb_join_settings settings;
	uint32_t filters; /* RB_FILTER_ALL except in tests */
	/*
	 * Stop flag of the caller, whose thread does the work; nonzero requests a stop as well. May be
	 * NULL
	 */
	const volatile sig_atomic_t *asked;
	rb_stats stats;
	rb_error error;
	/* Fields shared between threads; to be accessed through the functions below */
	int stop;       /* RB_STOP_* */
	int stage;      /* active rb_stage, for progress displays */
	uint64_t done;  /* completed work units of the active stage */
	uint64_t total; /* all work units of the active stage, 0 if unknown */
} rb_context;

#define RB_STOP_REQUESTED 1 /* set by rb_context_stop */
#define RB_STOP_FAILED 2    /* set by rb_fail: the remaining work is pointless */
#define RB_STOP_CLOSING 4   /* set by rb_stream_close until the stream has ended */

/*
 * Initializes a context with the default settings, one thread and no stop flag. Its work allocates
 * from `memory`.
 */
extern void rb_context_init(rb_context *ctx, rb_memory *memory);

/* Asks a running join to stop, which it does within 50 ms. Async-signal-safe. */
extern void rb_context_stop(rb_context *ctx);

/* Returns true if the work of this context must end soon, because of a request or a failure. */
static inline bool
rb_should_stop(const rb_context *ctx)
{
	return rb_load(&ctx->stop) != 0 || (ctx->asked != NULL && *ctx->asked != 0);
}

/* Publishes the stage of the work and how much of it is done, in units of that stage. */
static inline void
rb_progress(rb_context *ctx, rb_stage stage, uint64_t done, uint64_t total)
{
	rb_store(&ctx->stage, (int) stage);
	rb_store(&ctx->done, done);
	rb_store(&ctx->total, total);
}

/*
 * Records a failure in ctx->error unless there is one already, makes all threads stop, and returns
 * the status. Thread-safe.
 */
extern rb_status rb_fail(rb_context *ctx, rb_status status, uint64_t need, uint64_t limit,
						 const char *text);

/*
 * Returns why a thread has to stop: the first failure of any thread, or RB_STOPPED if a stop was
 * requested.
 */
extern rb_status rb_why_stopped(const rb_context *ctx);

/*
 * Materializes the coordinates or ids of a delta set, unless they already are. Does nothing for
 * other sets. Only one thread may call it at a time; it uses as many threads as the context allows.
 */
extern rb_status rb_set_materialize(rb_context *ctx, const rb_set *set);
/* Materializes only the ids of a delta set, as rb_set_materialize does. */
extern rb_status rb_set_materialize_ids(rb_context *ctx, const rb_set *set);

/* Clears a failure so that another method can be tried. A requested stop stays in effect. */
extern void rb_forget_failure(rb_context *ctx);

/* ---- a job and its sink ---- */

/* Form of a join's result */
typedef enum rb_result_form
{
	RB_PAIRS, /* all pairs, block after block */
	/*
	 * the number of pairs, in stats.stage[RB_STAGE_EMIT].count, which the other forms set as well
	 */
	RB_COUNT,
	RB_COUNTS, /* for each row, the number of its pairs */
	RB_HITS,   /* which rows are in a pair; the count is the number of these rows */
	RB_GROUPS  /* for each row, the rows it is paired with; RB_COUNTS if memory does not suffice */
} rb_result_form;

/* Side that RB_COUNTS, RB_HITS and RB_GROUPS refer to; both only in a self join */
typedef enum rb_result_side
{
	RB_OF_RED,
	RB_OF_BLUE,
	RB_OF_BOTH
} rb_result_side;

/* Faces of two solids that RB_OVERLAP counts as shared where they lie on each other */
typedef enum rb_contact_faces
{
	RB_FACES_BOTH,
	RB_FACES_AGAINST, /* the solids are on different sides of the shared area */
	RB_FACES_FLUSH    /* the solids are on the same side of the shared area */
} rb_contact_faces;
/*
 * The axes of a block model. A point p has the local coordinates R (p - origin), where R has the rows
 * rotation[0..2], rotation[3..5] and rotation[6..8]: exactly these doubles, whether or not R is
 * exactly orthogonal.
 */
typedef struct rb_model_frame
{
	bool rotated; /* False if local coordinates are those of the point; the rest is not set then */
	double rotation[9];
	double origin[3];
} rb_model_frame;

/* A join of two sets */
typedef struct rb_job
{
	const rb_set *red;
	/* NULL for a self join, which returns each unordered pair once, red < blue */
	const rb_set *blue;
	rb_result_form answer;
	rb_result_side of;
	rb_predicate predicate;
	/* RB_WITHIN: >= 0 and finite; RB_NEAREST: maximum distance, may be infinite */
	double distance;
	uint32_t nearest;     /* RB_NEAREST, RB_FIRST_HITS: maximum number of rows for a red row; > 0 */
	rb_model_frame frame; /* RB_CUBOID: the axes of red */
	/*
	 * True to join the parts of each row with each other instead of rows with rows. Allowed only in
	 * a self join with RB_PAIRS or RB_COUNT. The pairs are pairs of parts, counted from 1 in their
	 * row; see rb_block.
	 */
	bool within_rows;
	rb_contact_faces contact; /* RB_OVERLAP: faces that count as shared */
	bool depth;               /* RB_OVERLAP: true if the depth is wanted */
	double min_volume; /* RB_OVERLAP: pairs with a smaller volume are left out; >= 0 and finite */
	/* true to skip rows that are not valid solids instead of failing with RB_BAD_SOLID */
	bool skip_bad;
	bool flat;      /* RB_SECTION: points have coordinates in the plane */
	bool by_object; /* RB_VALIDITY: each row is a complete object */
	/*
	 * RB_PAIRS: fill every block but the last, however long that takes. RB_GROUPS: fail with
	 * RB_OVER_BUDGET if memory does not suffice, instead of returning RB_COUNTS.
	 */
	bool whole;
	/*
	 * RB_GROUPS: group of each row (rb_ids_number), out of `numbers` groups; NULL if each row is
	 * its own group. Must stay valid until the stream is closed.
	 */
	const uint32_t *number;
	uint32_t numbers;
	/*
	 * Tile that the pairs of rows must belong to (reference_point.h): half-open, with as many
	 * dimensions as the kinds; ends may be infinite. A backend may skip pairs outside the tile but
	 * need not, because the stream applies the exact test (row_pairs.c).
	 */
	rb_box tile;
	/*
	 * Partition of space that the pairs of parts must belong to (rb_partition_meets), for backends
	 * only: exactly these pairs are reported. With it, several devices find each pair exactly once
	 * (multi_device.c).
	 */
	rb_box share;
} rb_job;

/*
 * Receiver of the pairs of parts that a backend finds, in any order and any number at a time. put
 * may be called from several threads at once, and copies the pairs. In an RB_COUNT job without a
 * tile whose rows have one part each, pairs may be NULL. Any status except RB_OK ends the join with
 * that status.
 */
typedef struct rb_sink
{
	rb_status (*put)(void *user, const rb_pair *pairs, size_t n);
	void *user;
	/*
	 * Optional; receives the compressed pair stream of a device (pair_coding.h) in arbitrary pieces
	 */
	rb_status (*put_records)(void *user, const void *bytes, size_t n);
	/*
	 * Optional; receives aggregates per part of the side job.of instead of pairs: n words from word
	 * number `first`. A word is a count to be added (RB_COUNTS, rows with one part each) or 32 bits
	 * of 32 parts (RB_HITS). Each pair is either in words or in put, never in both. Called from one
	 * thread, while no other calls the sink.
	 */
	rb_status (*put_words)(void *user, const uint32_t *words, size_t first, size_t n);
	/*
	 * RB_HITS: bits of the rows that have a pair (join.h), else NULL. A backend may set them
	 * instead of calling put, and may skip pairs of rows whose bits are already set.
	 */
	uint32_t *marks;
	bool again; /* true if delivering pairs or words twice is harmless */
} rb_sink;

/* ---- an estimate, from a sample of each side (estimate.c) ---- */

/* Input of an estimate; the samples keep the parts of a row together, as a builder does */
typedef struct rb_samples
{
	const rb_set *sample[2]; /* for a self join, two samples of the same table */
	double rows[2];          /* number of rows that each sample was drawn from */
	/* true for a self join: rows with equal ids are the same row, and each pair counts once */
	bool self;
	rb_predicate predicate;
	double distance; /* distance of RB_WITHIN */
} rb_samples;

/* Estimates the number of pairs of rows of the join. */
extern rb_status rb_estimate_pairs(rb_context *ctx, const rb_samples *what, double *pairs);

/* ---- backends, which find the pairs (backends.c) ---- */

#define RB_BACKEND_ABI 13

/* ABI that a separately compiled backend was built with (RB_ABI of plugin.h) */
typedef struct rb_abi
{
	uint32_t version;  /* RB_BACKEND_ABI */
	uint32_t size[10]; /* sizes of the structs shared with the core */
} rb_abi;

struct rb_refining;

/*
 * A backend, which finds all pairs of parts of a job that satisfy its predicate, each once, with
 * their payload. In a self join it reports pairs with red < blue and skips pairs of parts of the
 * same row, or of different rows if job.within_rows is set.
 */
typedef struct rb_backend
{
	rb_abi abi;       /* zeros for a built-in backend */
	const char *name; /* "cpu", "cuda" */
	/*
	 * Returns RB_OK if the device is usable, else RB_NO_DEVICE. Writes a description or the reason
	 * to text.
	 */
	rb_status (*probe)(int device, char *text, size_t size);
	rb_status (*join)(rb_context *ctx, const rb_job *job, const rb_sink *sink);
	/* Returns true if a join can start without first opening the device. */
	bool (*warm)(int device);
	/*
	 * Returns the bytes on devices that hold a copy of the cached set with this number. With drop,
	 * frees the copy if no join uses it, and returns 0 if that succeeds. Opens no device. NULL if
	 * the backend makes no copies.
	 */
	uint64_t (*copy_bytes)(uint64_t number, bool drop);
	/*
	 * Runs the rounds of a refinement on a device. `size` is the size of the struct (refining.h).
	 * After a failure the mesh is unchanged. NULL if only the CPU can refine.
	 */
	rb_status (*refine)(rb_context *ctx, struct rb_refining *refining, size_t size);
	/* Returns the number of devices, usable or not. NULL if there is one. */
	int (*devices)(void);
	/*
	 * Opens ctx->device ahead of a join. Returns RB_STOPPED if ctx was stopped. NULL if there is
	 * nothing to open.
	 */
	rb_status (*open)(rb_context *ctx);
	/*
	 * Minimum number of parts per device, of both sides together, in a join that several devices
	 * share; 0 if several devices are never faster than one
	 */
	uint64_t share_parts;
} rb_backend;

extern const rb_backend rb_backend_cpu;

/*
 * Opens the backend in a file. On failure returns NULL and writes the reason to fault. The file
 * stays open and the outcome is remembered, so later calls cost nothing. Threads that the file
 * starts inherit the caller's signal mask.
 */
extern const rb_backend *rb_backend_open(const char *path, char *fault, size_t size);

/*
 * Returns the backend that joins on all devices named by ctx->settings. A large join runs on several
 * of them at once, each with a partition of space. Work that one device cannot do moves to the
 * others, and finally to the CPU unless only_devices is set. A process has one such backend. It is
 * warm if any device is. probe(-1) describes all usable devices and returns RB_NO_DEVICE if there
 * is none (multi_device.c).
 */
extern const rb_backend *rb_backend_multi_device(const rb_backend *device);

/*
 * Returns true if a join of `parts` parts is faster on a device than on `threads` threads of the
 * CPU. `warm` is true if the device is already open. If the result is false, text gives the reason.
 */
extern bool rb_device_pays(uint64_t parts, int threads, bool warm, char *text, size_t size);
/*
 * Returns true if refining a mesh to about `tets` tetrahedra is faster on a device than on
 * `threads` threads of the CPU. `warm` and text are those of rb_device_pays.
 */
extern bool rb_device_pays_refining(uint64_t tets, int threads, bool warm, char *text, size_t size);

/* ---- stream: a join that runs in its own threads and returns blocks of ids (stream.c) ---- */

typedef struct rb_stream rb_stream;

/* Maximum pairs of a block; small enough that blocks stay in the cache until they are read */
#define RB_BLOCK 8192

/*
 * Pairs of rows as two columns of ids. The columns belong to the caller until the next call and may
 * be modified, including the eight bytes in front of each column: a header written there turns a
 * column into a value that needs no copy.
 *
 * The payload of a predicate is a further column: RB_PAYLOAD merged over the parts of the two rows
 * (row_pairs.c), or the bits of a distance (RB_WITHIN, RB_NEAREST). A payload may have several
 * words (rb_payload_words): those of one pair are adjacent, and a block has at most RB_BLOCK words.
 * In a join within rows, red is the id of the row and blue holds two part numbers, the first in the
 * upper half.
 */
typedef struct rb_block
{
	int64_t *red;
	int64_t *blue;
	uint64_t *payload; /* column of payloads; NULL if the predicate has no payload */
	size_t words;      /* payload words per pair */
	size_t n;
} rb_block;

/*
 * Opens a stream and starts the join. The stream holds references to the sets until it is closed.
 * Returns RB_UNSUPPORTED if the predicate does not support the kinds, RB_NO_THREAD if no thread
 * could be created, or a memory error.
 */
extern rb_status rb_stream_open(rb_context *ctx, const rb_backend *backend, const rb_job *job,
								rb_stream **stream);

/*
 * Returns the next block. Waits at most wait_ms, then returns RB_OK with the pairs found so far,
 * possibly none. Returns RB_END after the last block. Any other status is the failure of the join,
 * with ctx->error set.
 */
extern rb_status rb_stream_next(rb_stream *stream, int wait_ms, rb_block *block);

/*
 * Returns the result per row, which is valid from RB_END until the stream is closed: counts
 * (RB_COUNTS, and RB_GROUPS without enough memory), or bits of 32 rows a word (RB_HITS). NULL for
 * other forms of result.
 */
extern const uint32_t *rb_stream_words(const rb_stream *stream);

/* All pairs, grouped by the rows or group numbers of the side job.of */
typedef struct rb_groups
{
	const uint64_t *start;  /* first member of each group, and the end of the last */
	const uint32_t *member; /* rows of the other side, ascending within a group; NULL if none */
	uint32_t n;
} rb_groups;

/* Returns the groups of RB_GROUPS in *groups, or false if they exceeded the memory limit. */
extern bool rb_stream_groups(const rb_stream *stream, rb_groups *groups);

/*
 * Stops the join if it is still running, joins its threads and frees the stream. NULL is allowed.
 */
extern void rb_stream_close(rb_stream *stream);

/* ---- a single pair of rows (single_pair.c) ---- */

/* Cached data of a row that is compared with several others in turn; zeros at first */
typedef struct rb_row_cache
{
	struct rb_tree *tree; /* box tree of its parts; NULL if not built yet */
	uint64_t looks;       /* number of boxes of parts compared without the tree */
} rb_row_cache;

/*
 * Tests whether the only row of red and the only row of blue are a pair of the job, and returns the
 * payload. Chooses the cheapest method and stores what it learned about each row; rb_row_cache_free
 * must free this before the cache serves another row. Few parts are tested on this thread, many on
 * as many threads as the context allows. Supports RB_MEET, RB_CONTACT, RB_WITHIN and RB_NEAREST.
 */
extern rb_status rb_row_pair_test(rb_context *ctx, const rb_job *job, rb_row_cache *red,
								  rb_row_cache *blue, bool *any, uint64_t *payload);
/* Frees everything that rb_row_pair_test remembers about a row. */
extern void rb_row_cache_free(rb_memory *memory, rb_row_cache *known);

/* ---- exact signs for single use (predicates.c); all return -1, 0 or 1 for finite input ---- */

/* Returns the sign of the area of the triangle a, b, c: 1 if it turns left. */
extern int rb_orient2d(const double a[2], const double b[2], const double c[2]);
/* Returns the sign of the volume of the tetrahedron a, b, c, d. */
extern int rb_orient3d(const double a[3], const double b[3], const double c[3], const double d[3]);
/*
 * Returns 1 if d is inside the circle through a, b and c, which turn left, -1 if it is outside, 0 if
 * it is on the circle.
 */
extern int rb_incircle(const double a[2], const double b[2], const double c[2], const double d[2]);
/*
 * Returns 1 if e is inside the sphere through a, b, c and d, whose orient3d is 1, -1 if it is
 * outside, 0 if it is on the sphere.
 */
extern int rb_insphere(const double a[3], const double b[3], const double c[3], const double d[3],
					   const double e[3]);

/* ---- exact intersection test of two closed triangles (intersect.c) ---- */

/* Returns true if the triangles, three points of three coordinates each, share a point. */
extern bool rb_triangles_meet(const double red[9], const double blue[9]);

#ifdef __cplusplus
}
#endif

#endif /* REDBLUE_H */
