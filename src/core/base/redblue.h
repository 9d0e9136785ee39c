/*
 * redblue.h
 *	  The whole interface of the core: what goes in, what comes out, who owns it.
 *
 * The core finds which objects (triangles, segments, boxes) of two sets share a
 * point.  It is plain C with threads and GMP and knows neither PostgreSQL nor
 * CUDA.  Data moves in one direction:
 *
 *	  sets -> grid -> candidate pairs -> filters -> exact signs -> blocks of ids
 *
 * Two values go between the caller and the core: sets in, blocks of ids out.  The
 * caller makes two sets (a builder makes one out of rows), opens a stream that runs a
 * job on them, and takes blocks out of it until it is dry.  ctx is an rb_context that
 * rb_context_init has been called on; ore and tunnel are sets:
 *
 *	  rb_job job = {.red = ore, .blue = tunnel, .predicate = RB_MEET};
 *	  rb_stream *s;
 *	  rb_block block;
 *	  rb_status status = rb_stream_open(ctx, &rb_backend_cpu, &job, &s);
 *
 *	  while (status == RB_OK && (status = rb_stream_next(s, 20, &block)) == RB_OK)
 *		  for (size_t i = 0; i < block.n; i++) // none if nothing came within 20 ms
 *			  use(block.red[i], block.blue[i]);
 *	  if (status != RB_END)
 *		  complain(status, &ctx->error);
 *	  rb_stream_close(s);
 *
 * The join runs in threads of its own with all signals blocked, so between two
 * calls of rb_stream_next the caller may do what it likes, longjmp included, as
 * long as rb_stream_close is called in the end.
 *
 * Conventions: a fallible function returns rb_status and writes through
 * out-pointers; the facts of a failure are in ctx->error.  Nothing throws,
 * exits, prints or longjmps.  All memory is counted against ctx->memory.
 */
#ifndef REDBLUE_H
#define REDBLUE_H

#include "core/base/rb_atomic.h"
#include "core/base/rb_kinds.h"

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
	RB_END,              /* the stream is dry: every pair was handed out */
	RB_STOPPED,          /* rb_context_stop or the sink asked to stop */
	RB_OVER_BUDGET,      /* would need more than memory.limit: need and limit say how much */
	RB_OUT_OF_MEMORY,    /* the operating system refused: need says how much */
	RB_NO_THREAD,        /* the operating system refused a thread that a join cannot do without */
	RB_UNSUPPORTED,      /* the predicate has no answer for these kinds */
	RB_TOO_MANY_OBJECTS, /* more than RB_MAX_OBJECTS in one set */
	RB_BAD_GEOMETRY,     /* geometry bytes are malformed or unknown: text says what */
	RB_NO_DEVICE,        /* no driver, no device, or no backend file: text says why */
	RB_DEVICE_FULL,      /* not enough device memory: text says how much */
	RB_DEVICE_FAILED,    /* a device call failed: text names it */
	RB_GONE,             /* the process that joined for this one has ended */
	RB_BAD_BODY, /* need is the id of a row that is no body: text says why; limit: rb_body_of */
	RB_BAD_PLC,  /* no mesh can be made of this: a flaw says why (rb_plc.h) */
	RB_BAD_FILE  /* a temporary file could not be read: text says why */
} rb_status;

/* what is wrong with the triangles of a body: the first of these that applies */
typedef enum rb_body_fault
{
	RB_BODY_GOOD,
	RB_BODY_FLAT,    /* no triangle has an area */
	RB_BODY_OPEN,    /* an edge that an odd number of triangles use */
	RB_BODY_TURNED,  /* an edge that more triangles run along in one direction than in the other */
	RB_BODY_INWARD,  /* a triangle whose normal points into the body, or between two insides */
	RB_BODY_CROSSED, /* triangles that cross each other */
	RB_BODY_UNREAD,  /* its row could not be taken */
	RB_BODY_FAULTS
} rb_body_fault;

/* of which side, where both may be of bodies */
typedef enum rb_body_of
{
	RB_BODY_OF_BODIES,
	RB_BODY_OF_RED,
	RB_BODY_OF_BLUE,
	RB_BODY_SIDE = 3, /* the bits of these */
	RB_BODY_TOGETHER =
		4 /* bit: all rows of the side together are closed, and no column groups them */
} rb_body_of;

/* a sentence for each status, never NULL */
extern const char *rb_status_text(rb_status status);

typedef struct rb_error
{
	rb_status status;
	uint64_t need; /* bytes, or number of objects */
	uint64_t limit;
	char text[200]; /* more about it, or empty */
} rb_error;

/* ---- memory: a budget, huge pages, a pool of idle blocks (memory.c) ---- */

typedef struct rb_memory rb_memory;

extern rb_memory *rb_memory_create(uint64_t limit_bytes); /* NULL when malloc fails */
extern void rb_memory_destroy(rb_memory *memory);         /* frees every block still out */
extern void rb_memory_set_limit(rb_memory *memory, uint64_t limit_bytes);
extern uint64_t rb_memory_used(const rb_memory *memory);
extern uint64_t rb_memory_peak(const rb_memory *memory);
extern uint64_t rb_memory_limit(const rb_memory *memory);

/* count bytes that the caller holds elsewhere, for as long as it does */
extern rb_status rb_memory_charge(rb_memory *memory, uint64_t bytes, rb_error *error);
extern void rb_memory_refund(rb_memory *memory, uint64_t bytes);

/*
 * Allocate, grow (keeping the content), free.  Thread-safe.  *block is NULL
 * before the first call and after rb_free.  Blocks of 1 MiB and more are mapped
 * with transparent huge pages and grow by remapping, without a copy; new bytes
 * are not cleared.
 */
extern rb_status rb_resize(rb_memory *memory, void **block, size_t bytes, rb_error *error);
extern void rb_free(rb_memory *memory, void **block);

/* a block (NULL is allowed) becomes one of another memory; it stays where it is.  On a failure nothing has changed. */
extern rb_status rb_memory_move(rb_memory *from, rb_memory *to, void *block, rb_error *error);

/* what a block (NULL is allowed) counts for */
extern uint64_t rb_block_bytes(const void *block);

/* gives back what a large block has beyond so many bytes; it stays where it is */
extern void rb_shrink(rb_memory *memory, void **block, size_t bytes);

/*
 * Freed blocks stay in this process, for the next join: no more than this, and within the
 * limit together with what is in use.  64 MiB if nothing is said.
 */
extern void rb_memory_set_idle(uint64_t most_bytes);
extern uint64_t rb_memory_idle(void);

/* nobody is about to use them: the kernel may take their pages when it is short of memory */
extern void rb_memory_offer_idle(void);

/* gives idle blocks back to the operating system, but for keep_bytes */
extern void rb_memory_trim(uint64_t keep_bytes);

/* gives all back, at once or not at all (false: somebody is taking one); for a signal handler */
extern bool rb_memory_drop_idle(void);

/* ---- sets: one side of a join (set.c) ---- */

/*
 * What one side of a join is: made once, never changed, shared by whoever holds it.
 *
 * A row of the user's table has one or more parts (triangles, segments, boxes); most
 * have exactly one.  All coordinates are finite: the reader has checked that.
 */
typedef struct rb_set
{
	rb_kind kind;
	uint32_t nparts;
	uint32_t nrows;
	const double *coords;   /* nparts * rb_kind_width(kind) */
	const uint32_t *row_of; /* row of each part, ascending; NULL: part i is row i */
	const int64_t *ids;     /* what the user calls a row; NULL: row i is first_id + i */
	const uint32_t
		*faces; /* of each row, where they were counted: polygons, or triangles; else NULL */
	/*
	 * Of each part, where they were wanted: which polygon of its row it is of, from 0, those without
	 * a part not counted; ascending in a row.  NULL: each part is one of its own.  Views have none.
	 */
	const uint32_t *face_of;
	int64_t first_id;  /* where ids are counted up, as a sequence makes them */
	uint64_t skipped;  /* rows that had no part, and are not among nrows */
	int32_t srid;      /* of its geometries; 0: none, or not known */
	bool composed_ids; /* of a view, or of one that is elsewhere: ids and first_id are valid */
	bool elsewhere;    /* another process has its arrays, or those of what it is a view of */
	uint64_t number;   /* of a set that is kept: no other has had it; 0: it is not */
	const struct rb_view *view; /* what it is put together from; then coords is NULL until it is */
	struct rb_set_owner *owner; /* NULL: whoever made it keeps it as long as it is used */
} rb_set;

/* one holder more; one less, and with the last one it goes.  From any thread. */
extern const rb_set *rb_set_hold(const rb_set *set);
extern void rb_set_release(const rb_set **set); /* leaves NULL; NULL is allowed */

/* of its arrays */
extern uint64_t rb_set_bytes(const rb_set *set);

/*
 * A set as cuts of two others, of the same kind (view.c).  Cut i ends where cut i + 1 begins;
 * one more, behind the last, tells how many rows and parts there are in all.
 */
typedef struct rb_cut
{
	uint32_t row; /* where it begins, in the set that it makes */
	uint32_t part;
	uint32_t from_row; /* and in the one that it is of */
	uint32_t from_part;
	bool fresh;
} rb_cut;

typedef struct rb_view
{
	const rb_set *kept;
	const rb_set *fresh;
	const rb_cut *cuts;
	uint32_t ncuts;
	bool counted; /* its coordinates, which are not there yet, count as memory */
} rb_view;

/* a set with one holder, which holds the two others; the cuts are copied.  It is elsewhere if the kept one is. */
extern rb_status rb_view_make(rb_memory *memory, const rb_view *view, uint64_t skipped,
							  const rb_set **set, rb_error *error);

/* the id of a row, while there is no array of them */
extern int64_t rb_view_id(const rb_view *view, uint32_t row);

/* is every id larger than the one before? */
extern bool rb_set_ids_ascend(const rb_set *set);

/*
 * How many different ids a view has whose kept set's ids ascend, without putting them
 * together; not known where that would take long.
 */
extern rb_status rb_view_count_ids(struct rb_memory *memory, const rb_set *set, bool *known,
								   uint32_t *distinct, rb_error *error);

/* three bits of an index are needed for other things */
#define RB_MAX_OBJECTS ((uint32_t) 1 << 29)

/* two parts, by their numbers in their sets; or two rows */
typedef struct rb_pair
{
	uint32_t red;
	uint32_t blue;
} rb_pair;

/*
 * What a predicate tells of two parts besides (RB_TOLD) is on its way to a sink in the three
 * bits above the number of the red one; of RB_MEET they are 0.
 */
#define RB_TOLD_SHIFT 29

static inline uint32_t
rb_pair_told(rb_pair pair)
{
	return pair.red >> RB_TOLD_SHIFT;
}

static inline uint32_t
rb_pair_red(rb_pair pair)
{
	return pair.red & (RB_MAX_OBJECTS - 1);
}

/* the box of a row, or a tile of space (rb_tile.h) */
typedef struct rb_ends
{
	int dims; /* 0: there is none */
	double low[3];
	double high[3];
} rb_ends;

/* ---- builder: rows in, a set out (builder.c) ---- */

/*
 * Collects the rows of one side.  For each row: add its parts, then end the
 * row.  A row that has no part (NULL or EMPTY geometry) is skipped: counted,
 * not stored.  Memory is kept by rb_builder_clear, and
 * goes back to the pool with rb_builder_free.
 */
typedef struct rb_builder
{
	rb_memory *memory;
	rb_kind kind;
	int width;          /* rb_kind_width(kind) */
	uint32_t nparts;    /* of ended rows and of the row under construction */
	uint32_t nrows;     /* ended rows */
	uint32_t row_start; /* first part of the row under construction */
	uint64_t skipped;   /* rows without a part */
	bool multi;         /* some row has more than one part */
	double *coords;     /* nparts * width */
	int64_t *ids;       /* nrows */
	uint32_t *row_of;   /* nparts; NULL while every row has one part */
	int32_t srid;       /* for the set: whoever fills it knows */
	/* rows that are of no use for pairs of this tile within that distance are not stored but counted */
	rb_ends tile;
	double distance;
	uint64_t outside;
	bool many_points; /* RB_POINT3: a row may have several, as a MultiPoint has */
	bool
		any_leaf; /* RB_TRIANGLE3: of points and lines, too, which become triangles without an area */
	bool flat;    /* RB_TRIANGLE3: Z is not asked for, and left out: all lies at z = 0 */
	/*
	 * A polygon becomes several triangles.  Where faces are counted, so many parts of the row under
	 * construction are the second and later ones of a polygon.  Not by rb_builder_append.
	 */
	bool count_faces;
	uint32_t more_parts;
	uint32_t *faces; /* nrows */
	size_t faces_cap;
	/*
	 * Is the set to tell of each part which polygon it is of?  Not by rb_builder_append either, where
	 * each part is a polygon.  Whoever takes parts back by himself lowers faced to nparts.
	 */
	bool want_face_of;
	uint32_t *face_of; /* of the first `faced` parts */
	uint32_t faced;
	size_t face_of_cap;
	size_t coords_cap; /* capacities, in parts, rows, parts */
	size_t ids_cap;
	size_t row_of_cap;
	/*
	 * Asked now and then while one geometry is read, which may take seconds.  After
	 * true reading ends with RB_GEOMETRY_STOPPED.  NULL: it is not asked.
	 */
	bool (*should_stop)(void);
	/* a corner of a face may lie so far from the face's plane; < 0: any distance */
	double face_tolerance;
	/* where any distance is allowed: at most this share of the face's extent; 0: that, too, is not asked */
	double face_share;
	void *face_corners; /* scratch for faces that are no triangles (face.c) */
	void *face_mesh;
	void *face_uses;
	struct rb_refusal *refused; /* rows that could not be taken, in the order of reading */
	uint32_t nrefused;
	size_t refused_cap;
} rb_builder;

extern void rb_builder_init(rb_builder *b, rb_memory *memory, rb_kind kind);
extern void rb_builder_free(rb_builder *b);

/* another kind, as long as there is no part; the memory stays */
extern void rb_builder_set_kind(rb_builder *b, rb_kind kind);

/* room for `more` further parts; the caller writes coords[nparts * width ...] and adds to nparts */
extern rb_status rb_builder_reserve(rb_builder *b, size_t more, rb_error *error);

/* ends the row under construction; drops it when it has no part */
extern rb_status rb_builder_end_row(rb_builder *b, int64_t id, rb_error *error);

/* is there a tile that has no use for the row under construction? */
extern bool rb_builder_is_outside(const rb_builder *b);

/* drops the parts of the row under construction */
static inline void
rb_builder_drop_row(rb_builder *b)
{
	b->nparts = b->row_start;
	b->more_parts = 0;
	if (b->faced > b->nparts)
		b->faced = b->nparts;
}

/* gives back memory that rows to come would have used */
extern void rb_builder_trim(rb_builder *b);

/* drops ended rows, so that the row under construction is the first one; the memory stays */
extern void rb_builder_drop_ended(rb_builder *b);

/* drops all rows; the memory stays */
extern void rb_builder_clear(rb_builder *b);

/*
 * Many rows at once: parts that carry on with the row under construction, and
 * where in them rows end: ends[i] of these parts are of the first i + 1 rows.
 * NULL: each part is a row, nrows == nparts.  What is behind the last end is
 * under construction.
 */
extern rb_status rb_builder_append(rb_builder *b, const double *coords, uint32_t nparts,
								   const int64_t *ids, const uint32_t *ends, uint32_t nrows,
								   rb_error *error);

/*
 * Ended rows of one id become one row of all their parts, which stands where the first of
 * them stood.  RB_STOPPED when should_stop said so.  On a failure nothing has changed.
 */
extern rb_status rb_builder_group(rb_builder *b, rb_error *error);

/*
 * How many different ids there are, and which rows have the same: number[i] is that of
 * row i, from 0 in the order of first appearance.  number NULL: they are only counted.
 * RB_STOPPED when should_stop (NULL: not asked) said so.
 */
extern rb_status rb_ids_number(rb_memory *memory, const int64_t *ids, uint32_t n,
							   bool (*should_stop)(void), uint32_t *number, uint32_t *distinct,
							   rb_error *error);

/*
 * All ended rows become a set with one holder, to be released before the memory is
 * destroyed; the builder is empty then.  On a failure it is as it was.
 */
extern rb_status rb_builder_finish(rb_builder *b, const rb_set **set, rb_error *error);

/* ---- cache: sets that are kept from one join to the next (cache.c) ---- */

typedef struct rb_cache rb_cache;

/* a set that is kept, with what its keeper knows of it besides */
typedef struct rb_kept
{
	const rb_set *set;
	void *card; /* the keeper's; may be written to by whoever uses the cache */
	size_t card_size;
	uint64_t bytes; /* of both */
	uint64_t hits;  /* rb_cache_use */
} rb_kept;

/* NULL when malloc fails */
extern rb_cache *rb_cache_create(uint64_t limit_bytes);
extern void rb_cache_destroy(rb_cache *cache); /* nobody holds what it kept */

/* sets that are kept from now on, in this process, have larger numbers: before the first one is */
extern void rb_cache_set_last_number(uint64_t number);

/* a lower limit takes effect at once, but for sets that others hold */
extern void rb_cache_set_limit(rb_cache *cache, uint64_t limit_bytes);
extern uint64_t rb_cache_used(const rb_cache *cache);

/*
 * Keeps a set, which has one holder and is put together, in place of what was kept under that key; what nobody
 * holds and has not been used for the longest time goes to make room.  The set moves into the memory of the cache
 * and has one holder more.  On a failure, RB_OVER_BUDGET mostly, it is as it was.
 */
extern rb_status rb_cache_put(rb_cache *cache, const void *key, size_t key_size, const rb_set *set,
							  const void *card, size_t card_size, rb_error *error);

/* what is kept under a key, or NULL */
extern rb_kept *rb_cache_find(rb_cache *cache, const void *key, size_t key_size);

/* it is used now; the caller holds the set as long as he uses it */
extern const rb_set *rb_cache_use(rb_cache *cache, rb_kept *kept);

/* gives up what is kept */
extern void rb_cache_drop(rb_cache *cache, rb_kept *kept);

/* from one to the next, the last one used first; from NULL to NULL */
extern rb_kept *rb_cache_next(const rb_cache *cache, const rb_kept *kept);
extern const void *rb_kept_key(const rb_kept *kept);

/* ---- geometry bytes: PostGIS's serialized form and EWKB (geometry.c) ---- */

/* why a geometry was refused; RB_BAD_GEOMETRY's finer grain */
typedef enum rb_geometry_fault
{
	RB_GEOMETRY_OK = 0,
	RB_GEOMETRY_MALFORMED,  /* a count or length does not fit the bytes */
	RB_GEOMETRY_UNKNOWN,    /* a version or flag this parser does not know: try EWKB */
	RB_GEOMETRY_WRONG_TYPE, /* a type that the kind does not take */
	RB_GEOMETRY_NO_Z,       /* a 3D kind needs Z */
	RB_GEOMETRY_Z,          /* RB_BOX2 takes none: should it be RB_BOX3? */
	RB_GEOMETRY_CURVE,      /* a curve, or a polygon that may have curved rings */
	RB_GEOMETRY_CORNERS,    /* a TRIANGLE is none: `corners` says how many it has */
	RB_GEOMETRY_NOT_CLOSED, /* a ring does not end where it starts */
	RB_GEOMETRY_NOT_FINITE, /* NaN or infinity among the coordinates */
	/* of a face, as it is seen along `axis`: */
	RB_GEOMETRY_CROSSING,     /* its edges at[0] to at[1] and at[2] to at[3] cross */
	RB_GEOMETRY_ABOVE,        /* its corners at[0] and at[1] lie one above the other */
	RB_GEOMETRY_HOLE_OUTSIDE, /* `hole` is not within the outer ring, at[0] */
	RB_GEOMETRY_HOLES,        /* `hole` and `other` overlap, at[0] */
	RB_GEOMETRY_NOT_FLAT,     /* its corner at[0] lies at `distance` from its plane */
	RB_GEOMETRY_NO_MEMORY,    /* see the rb_error */
	RB_GEOMETRY_STOPPED, /* the builder's should_stop said so; nothing is wrong with the bytes */
	/* of a row, never of geometry bytes: */
	RB_GEOMETRY_NULL,    /* a coordinate is null */
	RB_GEOMETRY_SRID,    /* its SRID is `srid`, that of the rows before it `other_srid` */
	RB_GEOMETRY_NULL_ID, /* its id is null */
	RB_GEOMETRY_NO_ID,   /* its id is no integer of eight bytes */
	RB_GEOMETRY_FAULTS
} rb_geometry_fault;

typedef struct rb_geometry_info
{
	int32_t srid;
	uint32_t type; /* OGC number of the outermost type: 14 triangle, 15 TIN, ... */
	bool has_z;
	uint32_t bad_type; /* of the part at fault */
	uint32_t corners;
	/* of a fault in a face */
	uint32_t face; /* the face at fault; counted from 1, empty ones too */
	uint32_t hole, other;
	int axis; /* 0, 1, 2: x, y, z */
	double at[4][3];
	double distance;
	bool two_rings;  /* RB_GEOMETRY_CROSSING: the edges are of two rings */
	uint8_t overlap; /* RB_GEOMETRY_HOLES: an rb_hole_overlap */
	int32_t other_srid;
} rb_geometry_info;

/* how two holes of a face overlap */
typedef enum rb_hole_overlap
{
	RB_HOLES_CROSS,
	RB_HOLES_NESTED, /* one lies within the other */
	RB_HOLES_EQUAL
} rb_hole_overlap;

/* a row that could not be taken, and why */
typedef struct rb_refusal
{
	int64_t id; /* 0 of RB_GEOMETRY_NULL_ID and RB_GEOMETRY_NO_ID */
	rb_geometry_fault fault;
	rb_geometry_info info;
} rb_refusal;

/* the row under construction is dropped and noted among those that were refused */
extern rb_status rb_builder_refuse(rb_builder *b, const rb_refusal *refusal, rb_error *error);

/*
 * Rows of one id are about to become one object: drops all rows whose id is that of a refused row, and keeps of the
 * refused rows of each id the first.  Rows without an id stay.
 */
extern rb_status rb_builder_drop_refused(rb_builder *b, rb_error *error);

/* "Triangle", "Tin", ...; PostGIS's spelling */
extern const char *rb_geometry_type_name(uint32_t type);

/* what a geometry is, by PostGIS's numbers */
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

/* what stands in front of the tree of a geometry in serialized form */
typedef struct rb_geometry_header
{
	int32_t srid;
	bool has_z;
	bool
		has_box; /* of floats that were rounded outward, or of a point or short line itself; without Z z is 0 */
	double low[3];
	double high[3];
} rb_geometry_header;

extern rb_geometry_fault rb_geometry_read_header(const uint8_t *bytes, size_t len,
												 rb_geometry_header *header);

/*
 * Append the parts of one geometry to the builder (without ending the row): the
 * triangles of its faces (rb_face.h), its segments (in 2D also those of the rings of polygons), or the one
 * box of all its points.
 * bytes: the datum behind its varlena header.  Every count is checked against
 * len before it is used.  On a fault nothing is appended.  An EMPTY geometry
 * appends nothing and is no fault.
 */
extern rb_geometry_fault rb_geometry_read_serialized(rb_builder *b, const uint8_t *bytes,
													 size_t len, rb_geometry_info *info,
													 rb_error *error);

/*
 * Whether a parser that trusts counts, as PostGIS's own does, reads all of the serialized bytes
 * and no more, and without deep recursion: RB_GEOMETRY_OK; RB_GEOMETRY_UNKNOWN if nobody knows the
 * type.  Appends nothing; of the builder only should_stop is used.
 */
extern rb_geometry_fault rb_geometry_check_serialized(rb_builder *b, const uint8_t *bytes,
													  size_t len);

extern rb_geometry_fault rb_geometry_read_ewkb(rb_builder *b, const uint8_t *bytes, size_t len,
											   rb_geometry_info *info, rb_error *error);

/* ---- what a join did, as redblue_last_run shows it (context.c) ---- */

typedef enum rb_stage
{
	RB_STAGE_READ,       /* rows read, both sides; without those that have no part */
	RB_STAGE_UPLOAD,     /* bytes copied to the device */
	RB_STAGE_GRID,       /* incidences (object, cell) */
	RB_STAGE_CANDIDATES, /* pairs whose closed boxes overlap, each counted once */
	RB_STAGE_FLOAT,      /* pairs that entered the float filter */
	RB_STAGE_DOUBLE,     /* pairs that entered the double filter */
	RB_STAGE_EXACT,      /* pairs that no filter could decide */
	RB_STAGE_DOWNLOAD,   /* bytes copied from the device */
	RB_STAGE_EMIT,       /* pairs of rows handed out */
	/* of a mesh, for progress displays: points inserted, pieces of segments, facets, tetrahedra looked at */
	RB_STAGE_MESH_POINTS,
	RB_STAGE_MESH_SEGMENTS,
	RB_STAGE_MESH_FACETS,
	RB_STAGE_MESH_REGIONS,
	RB_STAGE_MESH_REFINE
} rb_stage;

#define RB_STAGES 9 /* of a join */
extern const char *rb_stage_name(rb_stage stage);

#define RB_CARDS 16 /* devices that a backend may have, counted from 0 */

typedef struct rb_stats
{
	struct
	{
		uint64_t count;
		double ms; /* of all threads together, divided by their number */
	} stage[RB_STAGES];
	uint32_t resolution[3];   /* cells of the top grid along x, y, z */
	uint64_t cells;           /* cells of all grids that were made */
	double grid_ms[3];        /* of the grid's stage on a device: plan, map, schedule */
	uint64_t box_tests;       /* box comparisons made to find the candidates; of these ... */
	uint64_t redundant_tests; /* ... found an overlap in a cell that does not own the pair */
	uint64_t bad_bodies;      /* rows that were left out (job.skip_bad); of these ... */
	uint64_t bad_because[2][RB_BODY_FAULTS]; /* ... on either side so many by each first fault */
	uint64_t hits;            /* pairs of parts that share a point, as far as they were asked */
	uint64_t record_bytes;    /* in which a device sent them, where it groups them (rb_records.h) */
	uint64_t exact_integer;   /* exact signs taken by fixed-width integers, */
	uint64_t exact_expansion; /* by expansion arithmetic, */
	uint64_t exact_gmp;       /* and by GMP */
	/* of a join that several devices shared: what each did, and last the processor; in all other joins, zeros */
	struct
	{
		uint32_t shares;
		double ms;
		uint64_t hits;
	} card[RB_CARDS + 1];
	int threads;
	char backend[16];
	char device[80]; /* "" on the CPU */
	char note[200];  /* why this backend, or "" */
} rb_stats;

/* those of one join more; of the grid the last ones stay */
extern void rb_stats_add(rb_stats *sum, const rb_stats *more);

/* ---- context: one call's budget, settings, stop flag, statistics, error (context.c) ---- */

/* Filters that a test can switch off, to prove that they change nothing. */
#define RB_FILTER_FLOAT 0x1
#define RB_FILTER_SIGNS 0x2 /* semi-static plane sides */
#define RB_FILTER_INTERVAL 0x4
#define RB_EXACT_INTEGER 0x8
#define RB_EXACT_EXPANSION 0x10
#define RB_FILTER_ALL 0x1f

typedef struct rb_context
{
	rb_memory *memory;
	int threads;     /* of the CPU backend, >= 1 */
	int device;      /* which one, where a backend has several; counted from 0 */
	uint32_t cards;  /* a bit for each that may be used (rb_backend_cards); 0: all that there are */
	bool only_cards; /* what none of them can do is not left to the processor */
	uint32_t grid_resolution;  /* cells along the longest side; 0: planned from a sample */
	uint64_t gpu_memory_limit; /* bytes of device memory; 0: what is free */
	uint64_t gpu_cache_limit;  /* of it, for copies of kept sets; UINT64_MAX: a quarter of all */
	double device_idle_ms;     /* the device stays open so long after this join; 0: a moment */
	uint32_t filters;          /* RB_FILTER_ALL but in tests */
	/* of the caller, whose thread does the work: not 0 asks to stop, too; NULL: there is none */
	const volatile sig_atomic_t *asked;
	rb_stats stats;
	rb_error error;
	/* these are read and written by several threads: through the functions below */
	int stop;       /* RB_STOP_* */
	int stage;      /* rb_stage now at work, for progress displays */
	uint64_t done;  /* work units of that stage done ... */
	uint64_t total; /* ... of so many; 0 where unknown */
} rb_context;

#define RB_STOP_ASKED 1  /* by rb_context_stop */
#define RB_STOP_FAILED 2 /* what is left to do has no use */

extern void rb_context_init(rb_context *ctx, rb_memory *memory);

/* ask a running join to stop; it does within 50 ms.  Async-signal-safe. */
extern void rb_context_stop(rb_context *ctx);

static inline bool
rb_should_stop(const rb_context *ctx)
{
	return rb_load(&ctx->stop) != 0 || (ctx->asked != NULL && *ctx->asked != 0);
}

static inline void
rb_progress(rb_context *ctx, rb_stage stage, uint64_t done, uint64_t total)
{
	rb_store(&ctx->stage, (int) stage);
	rb_store(&ctx->done, done);
	rb_store(&ctx->total, total);
}

/* fill ctx->error (the first failure wins; thread-safe), have all stop, and return the status */
extern rb_status rb_fail(rb_context *ctx, rb_status status, uint64_t need, uint64_t limit,
						 const char *text);

/* why a thread is to stop: the failure of another one, or RB_STOPPED by whoever asked for it */
extern rb_status rb_why_stopped(const rb_context *ctx);

/*
 * Coordinates, or ids, of a view put together, if they are not yet; of any other set nothing
 * is done.  By one thread at a time, on as many as the context has.
 */
extern rb_status rb_set_compose(rb_context *ctx, const rb_set *set);
extern rb_status rb_set_compose_ids(rb_context *ctx, const rb_set *set);

/* undo a failure: another way is to be tried.  Whoever has asked to stop is still heard. */
extern void rb_forget_failure(rb_context *ctx);

/* ---- a job, and where its pairs go ---- */

/* what is wanted of the pairs of rows */
typedef enum rb_answer
{
	RB_PAIRS,  /* all of them, block after block */
	RB_COUNT,  /* their number, stats.stage[RB_STAGE_EMIT].count; the others tell it, too */
	RB_COUNTS, /* in how many of them each row is */
	RB_HITS,   /* which rows are in any; the number is that of these rows */
	RB_GROUPS  /* for each row, those it is paired with; without room for these, RB_COUNTS */
} rb_answer;

/* of which rows RB_COUNTS, RB_HITS and RB_GROUPS tell; of both only where the two sides are one */
typedef enum rb_of
{
	RB_OF_RED,
	RB_OF_BLUE,
	RB_OF_BOTH
} rb_of;

/* what is asked of two sets */
typedef struct rb_job
{
	const rb_set *red;
	const rb_set *blue; /* NULL: red against itself, each unordered pair once, red < blue */
	rb_answer answer;
	rb_of of;
	rb_predicate predicate;
	double distance;  /* RB_WITHIN: >= 0 and finite; RB_NEAREST: none is farther; may be infinite */
	uint32_t nearest; /* RB_NEAREST: at most so many for each red row; > 0 */
	/*
	 * Parts of one row against each other instead of rows against rows: a self join, RB_PAIRS or
	 * RB_COUNT.  The pairs are then of parts, counted from 1 in their row; see rb_block.
	 */
	bool within_rows;
	bool
		skip_bad; /* rows that are no bodies, where bodies are asked for, are left out, instead of RB_BAD_BODY */
	bool by_object; /* RB_BODY: rows are all there is of an object */
	bool whole;     /* RB_PAIRS: every block but the last one is full, however long that takes */
	/*
	 * RB_GROUPS: rows with the same number (rb_ids_number) are one group, of so many; NULL: each
	 * row is one.  To be kept until the stream is closed.
	 */
	const uint32_t *number;
	uint32_t numbers;
	/*
	 * Only pairs of rows that are this tile's (rb_tile.h), half open, of as many dimensions as the kinds; ends may be
	 * infinite.  A backend may leave out others, and no more: the stream does that (in_tile.c).
	 */
	rb_ends tile;
	/*
	 * The same of pairs of parts, and for backends only: all that lie in that share (rb_share_takes), and no others.
	 * So several devices find each pair once (cards.c).
	 */
	rb_ends share;
} rb_job;

/*
 * Where a backend puts the pairs of parts that it finds, in any order, any number at
 * a time.  put may be called from several threads at once; it copies.  In a job for
 * RB_COUNT without a tile whose rows have one part each, pairs may be NULL.  Any other answer than RB_OK
 * ends the join with that status.
 */
typedef struct rb_sink
{
	rb_status (*put)(void *user, const rb_pair *pairs, size_t n);
	void *user;
	/* NULL, or: take pairs in groups (rb_records.h) as a device makes them; cut anywhere */
	rb_status (*put_records)(void *user, const void *bytes, size_t n);
	/*
	 * NULL, or, instead of pairs, what a device has made of them for each part that job.of
	 * names, n words that begin with the one numbered `first`: counts to be added
	 * (RB_COUNTS; each row has one part), or bits, 32 parts a word (RB_HITS).  Each pair is in
	 * words or put, not both.  From one thread, while no other puts anything.
	 */
	rb_status (*put_words)(void *user, const uint32_t *words, size_t first, size_t n);
	/*
	 * RB_HITS, else NULL: the bits of rows that are hit (rb_join.h).  A backend may set them
	 * instead of putting pairs, and may leave out a pair from which there is nothing to learn.
	 */
	uint32_t *marks;
	bool again; /* a pair, or words, that are put twice change nothing */
} rb_sink;

/* ---- an estimate, from a sample of each side (estimate.c) ---- */

/* what is asked; the samples are sets that keep a row's parts together, as a builder does */
typedef struct rb_samples
{
	const rb_set *sample[2]; /* of a self join two samples of the one table */
	double rows[2];          /* that there are, of which the samples were taken */
	bool self;               /* rows of the same id are one; each pair counts once */
	rb_predicate predicate;
	double distance; /* RB_WITHIN */
} rb_samples;

/* about how many pairs of rows the join will have */
extern rb_status rb_estimate_pairs(rb_context *ctx, const rb_samples *what, double *pairs);

/* ---- backends: who finds the pairs (backends.c) ---- */

#define RB_BACKEND_ABI 13

/* what a backend in a file of its own was compiled with (RB_ABI of rb_services.h) */
typedef struct rb_abi
{
	uint32_t version;  /* RB_BACKEND_ABI */
	uint32_t size[10]; /* of the structs that it shares with the core */
} rb_abi;

struct rb_refining;

/*
 * A backend finds all pairs of parts of a job for which its predicate holds, each once, with
 * what that tells.  In a self join it reports red < blue and skips parts of one row, or those of
 * two rows (job.within_rows).
 */
typedef struct rb_backend
{
	rb_abi abi;       /* zeros where it is no file of its own */
	const char *name; /* "cpu", "cuda" */
	/* is that device usable here?  RB_OK, or RB_NO_DEVICE and why; text describes it */
	rb_status (*probe)(int device, char *text, size_t size);
	rb_status (*join)(rb_context *ctx, const rb_job *job, const rb_sink *sink);
	/* could a join begin on it at once, or must something be opened first? */
	bool (*warm)(int device);
	/*
	 * Bytes that lie on devices as a copy of the kept set of that number; drop: they are given
	 * back, and so 0, if no join uses them.  NULL: it makes no copies.  No device is opened for it.
	 */
	uint64_t (*copy_bytes)(uint64_t number, bool drop);
	/*
	 * The rounds of a refinement (rb_refining.h), whose struct has that size, on a device; after any failure it
	 * is what it was.  NULL: only the processor does that.
	 */
	rb_status (*refine)(rb_context *ctx, struct rb_refining *refining, size_t size);
	/* how many devices there are, usable or not; NULL: one */
	int (*devices)(void);
	/* opens ctx->device, so that a join need not wait for that; RB_STOPPED when ctx was stopped.  NULL: there is nothing to open */
	rb_status (*open)(rb_context *ctx);
	/* a join of n times so many parts is faster on n devices than on fewer; 0: none is */
	uint64_t share_parts;
} rb_backend;

extern const rb_backend rb_backend_cpu;

/*
 * The backend in that file, or NULL and why not.  It stays open, and what came of it is
 * remembered, so that asking again costs nothing.  Threads that the file may start
 * inherit the caller's signal mask.
 */
extern const rb_backend *rb_backend_open(const char *path, char *fault, size_t size);

/*
 * Joins on that backend's device where this is faster, and on the CPU where it is
 * not or where the device cannot be had: the statistics tell why.  A process has one
 * such backend: when another device is named, all use that one from then on.
 */
extern const rb_backend *rb_backend_auto(const rb_backend *device);

/*
 * Joins on all of that backend's devices that ctx->cards names, a large join on several of them at once: each has
 * a share of space.  What one of them cannot do the others take over, or in the end the processor, unless
 * ctx->only_cards.  As with the one before, a process has one such backend.  It is warm if any device is; probe(-1)
 * describes all that are usable, and is RB_NO_DEVICE if none is.  (cards.c)
 */
extern const rb_backend *rb_backend_cards(const rb_backend *device);

/*
 * Is a join of so many parts faster on a device than in that many threads here?  Warm: it
 * is open already.  If not, text says why.
 */
extern bool rb_device_pays(uint64_t parts, int threads, bool warm, char *text, size_t size);
/* the same of a mesh that is refined, which will have so many tetrahedra, about */
extern bool rb_device_pays_refining(uint64_t tets, int threads, bool warm, char *text, size_t size);

/* ---- stream: a join in its own threads, blocks of ids out (stream.c) ---- */

typedef struct rb_stream rb_stream;

/* most pairs of a block: few enough that what the join's threads write stays in the cache until it is read */
#define RB_BLOCK 8192

/*
 * Pairs of rows by their ids, a column each.  They are the caller's until the next call, to be
 * changed if it likes, and so are the eight bytes in front of each column: a header there makes
 * a column a value that can be handed on as it is.
 *
 * What a predicate tells of a pair besides is a column more: RB_TOLD of it, merged over the parts
 * of the two rows (unique.c), or the bits of a distance (RB_WITHIN, RB_NEAREST).  Of some it is more than
 * one word (rb_told_words): those of one pair lie side by side, and a block has no more than RB_BLOCK.  Of a job within rows red is
 * the row's id, and blue has two parts of it, the first one in the upper half.
 */
typedef struct rb_block
{
	int64_t *red;
	int64_t *blue;
	uint64_t *told; /* NULL where the predicate tells nothing */
	size_t words;   /* that are told of each pair */
	size_t n;
} rb_block;

/*
 * Holds the sets until it is closed.  RB_UNSUPPORTED where the predicate has no
 * answer for these kinds, RB_NO_THREAD where the system has no thread for the join, or
 * the memory error; else it runs.
 */
extern rb_status rb_stream_open(rb_context *ctx, const rb_backend *backend, const rb_job *job,
								rb_stream **stream);

/*
 * The next block.  Waits at most wait_ms, then answers RB_OK with what there is, which may be none.
 * RB_END after the last block; any other status is the join's failure, with
 * ctx->error filled.
 */
extern rb_status rb_stream_next(rb_stream *stream, int wait_ms, rb_block *block);

/*
 * After RB_END, until the stream is closed, what was asked of each row: a count (RB_COUNTS,
 * RB_GROUPS where these had no room), or a bit, 32 rows a word (RB_HITS); else NULL.
 */
extern const uint32_t *rb_stream_words(const rb_stream *stream);

/* all pairs, brought together by the rows or numbers that job.of names */
typedef struct rb_groups
{
	const uint64_t *start;  /* where the members of each begin, and where the last ones end */
	const uint32_t *member; /* rows of the other side, ascending within a group; NULL: none */
	uint32_t n;
} rb_groups;

/* the same for RB_GROUPS; false where the memory limit had no room for them */
extern bool rb_stream_groups(const rb_stream *stream, rb_groups *groups);

/* Stops the join if it still runs, joins its threads, frees the stream.  NULL is allowed. */
extern void rb_stream_close(rb_stream *stream);

/* ---- two rows alone (two.c) ---- */

/* what is known of a row that is compared with several others, one after the other; zeros at first */
typedef struct rb_two_known
{
	struct rb_tree *tree; /* of its parts; NULL: none was worth its time yet */
	uint64_t looks;       /* boxes of parts that were compared without it */
} rb_two_known;

/*
 * Is the only row of red with the only row of blue a pair of that job, and what is told of it?  Takes whatever way costs the
 * least, and notes what it has learned of either row; for another row that is to be forgotten.  Few parts are looked at by this
 * thread, many by as many as the context has.  Of predicates: RB_MEET, RB_CONTACT, RB_WITHIN, RB_NEAREST.
 */
extern rb_status rb_two_ask(rb_context *ctx, const rb_job *job, rb_two_known *red,
							rb_two_known *blue, bool *any, uint64_t *told);
extern void rb_two_forget(rb_memory *memory, rb_two_known *known);

/* ---- exact signs for single use (predicates.c); all answer -1, 0 or 1 for finite input ---- */

extern int rb_orient2d(const double a[2], const double b[2], const double c[2]);
extern int rb_orient3d(const double a[3], const double b[3], const double c[3], const double d[3]);
extern int rb_incircle(const double a[2], const double b[2], const double c[2], const double d[2]);
extern int rb_insphere(const double a[3], const double b[3], const double c[3], const double d[3],
					   const double e[3]);

/* ---- one pair of closed triangles, exactly: do they share a point? (triangle.c) ---- */

extern bool rb_triangles_meet(const double red[9], const double blue[9]);

#ifdef __cplusplus
}
#endif

#endif /* REDBLUE_H */
