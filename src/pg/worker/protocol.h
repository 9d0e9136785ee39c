/*
 * protocol.h
 *	  Declares what sessions and the worker share: one block for all of them, and a segment for each
 *	  request.
 *
 * The worker is one process of the server that has the device open and runs joins on it for all
 * sessions. Sessions find it through a block in the server's shared memory. A request of a session
 * lies in a segment of its own, which both processes attach:
 *
 *	session							block							worker
 *	creates a segment, puts its
 *	handle into a mailbox slot	->	post[i]				->			attaches it, starts a thread
 *	rows of the sides			->	the segment's ring	->			sets, rb_stream
 *	blocks of ids				<-	the same ring		<-			blocks of ids
 *	stops it, or leaves			->	stop
 *								<-	error, statistics	<-			the end
 *
 * No lock protects any of this. A process may be stopped or killed at any instruction, and another
 * process that waits for it must always be able to give up. So ownership is claimed and passed on
 * by compare-and-swap, and every claim has a unique number, so that a late process cannot take over
 * a newer claim. A process waits by sleeping between checks. A session that gives up withdraws its
 * message from the mailbox slot, or sets the stop flag and leaves; the segment is freed when the
 * last process detaches from it.
 *
 * Data whose layout differs between builds must not be shared. So the block's name contains the
 * version and a hash of all these layouts, and each build has a worker of its own.
 */
#ifndef RB_PG_WORKER_PROTOCOL_H
#define RB_PG_WORKER_PROTOCOL_H

#include "pg/worker/worker.h"

#include "pg/base/helper_thread.h"
#include "refine/refining.h"
#include "storage/dsm.h"
#include "storage/latch.h"

/*
 * Version of the protocol. Increment it if the meaning of a field changes while all sizes stay the
 * same.
 */
#define RB_PROTOCOL 5

/* ======== the block ======== */

/* ---- registry.c: the single worker ---- */

typedef enum rb_worker_state
{
	RB_WORKER_NONE,
	RB_WORKER_STARTING, /* A session has asked the postmaster for a worker */
	RB_WORKER_RUNNING,
	RB_WORKER_LEAVING /* The worker accepts no new request */
} rb_worker_state;

/*
 * Worker word: state, process id, and a number unique to each start. The process id is that of the
 * session that starts the worker, and later that of the worker.
 */
#define RB_WORKER_WORD(number, pid, state) \
	((uint64) (number) << 32 | (uint64) (uint32) (pid) << 2 | (uint64) (state))
#define RB_WORKER_STATE(word) ((rb_worker_state) ((word) &3))
#define RB_WORKER_PID(word) ((int) ((uint32) (word) >> 2))
#define RB_WORKER_NUMBER(word) ((uint32) ((word) >> 32))
/* True if two words denote the same worker, in any state */
#define RB_SAME_WORKER(a, b) (((a) ^ (b)) < 4)

/* State of the device as far as the worker knows it; a new worker begins with RB_DEVICE_UNKNOWN */
typedef enum rb_device_state
{
	RB_DEVICE_UNKNOWN,
	RB_DEVICE_OPENING,
	RB_DEVICE_NONE,
	RB_DEVICE_FOUND,
	RB_DEVICE_WARM /* Found and open, so that a join can begin on it at once */
} rb_device_state;

/*
 * State of a mailbox slot for a message to the worker. The word of a slot also counts its earlier
 * uses.
 */
#define RB_POST_FREE 0
#define RB_POST_CLAIMED 1 /* Claimed by a session that is writing it */
#define RB_POST_SENT 2
#define RB_POST_TAKEN 3 /* Taken by the worker, only for a moment */
#define RB_POST_STATE(word) ((word) &3)

typedef struct rb_post
{
	uint64 word;
	dsm_handle handle;
} rb_post;

#define RB_POSTS 32

/* ---- registry.c: joins that run, by process ---- */

struct rb_progress_entry
{
	int32 pid;     /* Process id, claimed by compare-and-swap; 0 if the entry is free */
	uint32 change; /* Version counter, odd while the entry is unused or being filled */
	Oid role;      /* Role of the session */
	int32 stage;
	uint64 done;
	uint64 total;
	char function[NAMEDATALEN];
};

#define RB_PROGRESS 128

/* ---- side_store.c: the list of sides that the worker caches; only the worker writes it ---- */

typedef struct rb_stored_entry
{
	uint32 change;    /* Version counter, odd while the entry is being written */
	rb_stored stored; /* Number 0 if the entry is empty */
} rb_stored_entry;

#define RB_STORED 64

/*
 * Tables that were read once, so that a second read is recognized; slots are chosen by the hash of
 * a key
 */
#define RB_SEEN 256

typedef struct rb_seen_table
{
	uint64 key;
	uint64 state;
} rb_seen_table;

struct rb_service_block
{
	uint64 worker;        /* Worker word (RB_WORKER_WORD) */
	double starting_ms;   /* Start of the worker, in milliseconds of the machine's clock */
	Latch *latch;         /* Latch of the worker while it runs */
	uint32 device_wanted; /* Number of the worker that should open the device */
	uint64 device;        /* rb_device_state | number of the reporting worker << 3 */
	char device_text[200];
	rb_post post[RB_POSTS];
	struct rb_progress_entry progress[RB_PROGRESS];
	rb_stored_entry stored[RB_STORED];
	rb_seen_table seen[RB_SEEN];
};

typedef struct rb_service_block rb_service_block;

/* Requests shared memory for the block while the library is preloaded. */
extern void rb_service_request_memory(void);

/* Returns the block's name, which is the same in all processes of one build. */
extern const char *rb_service_name(void);

/* Finds or creates the block. Returns NULL if no shared memory is left for it. */
extern rb_service_block *rb_service_find(void);

/*
 * Registers this process as the running worker and returns its number. Returns 0 if another worker
 * runs or if the session that started this one has given up. Pass number 0 if the worker was
 * started with the server.
 */
extern uint32 rb_service_enter(uint32 number);
/* Marks the worker as leaving or as ended. Callable from any thread. */
extern void rb_service_leave(rb_worker_state state);

/* Wakes the worker to check the mailbox. */
extern void rb_service_wake(rb_service_block *block);

/* Returns what a worker, given by its word, knows of the device, and describes it in `text`. */
extern rb_device_state rb_service_device(rb_service_block *block, uint64 worker, char *text,
										 size_t size);
/* Publishes the state of the device; called in the worker. */
extern void rb_service_set_device(rb_service_block *block, rb_device_state state, const char *text);

/* ======== a request ======== */

/* Source of a side's rows */
typedef enum rb_side_from
{
	RB_FROM_ROWS,   /* The session sends all rows */
	RB_FROM_CACHED, /* The rows are those of a cached side */
	RB_FROM_DELTA   /* Cuts of a cached side and of rows that the session sends */
} rb_side_from;

/* Rows that the session sends */
typedef struct rb_sent_rows
{
	uint32 nparts;
	uint32 nrows;
	bool has_row_of;
	bool has_ids;
	int64 first_id;
} rb_sent_rows;

/* Header of a side. Its arrays follow: cuts, coordinates, rows of the parts, ids, page manifest. */
typedef struct rb_sent_side
{
	rb_side_from from;
	rb_kind kind;
	uint32 nparts; /* Total number of parts */
	uint32 nrows;
	uint64 skipped;
	int32 srid;
	rb_sent_rows rows;
	uint64 number;   /* Number of the cached side; 0 for RB_FROM_ROWS */
	uint32 ncuts;    /* Number of cuts for RB_FROM_DELTA, without the additional last one */
	rb_to_keep keep; /* How to cache the side; card_bytes is 0 if it should not be cached */
} rb_sent_side;

#define RB_SENT_BLOCKS 8
#define RB_SENT_BYTES ((size_t) RB_SENT_BLOCKS * 2 * RB_BLOCK * sizeof(int64))

/* A counter that one process writes and the other one reads, padded to a cache line */
typedef struct rb_counter
{
	uint64 n;
	char apart[56];
} rb_counter;

/* Counters of the bytes that pass through the ring, or through a lane of it, in one direction */
typedef struct rb_way
{
	rb_counter sent;
	rb_counter received;
} rb_way;

/*
 * Maximum number of lanes for large sides; each lane has a part of the ring and a thread at both
 * ends
 */
#define RB_LANES 4

/*
 * Header of a reply in bytes. Its arrays follow: for an aggregate, words, starts of groups, and
 * members; otherwise the bytes of a page manifest, or ids.
 */
typedef struct rb_sent_reply
{
	uint64 words;
	uint64 starts;
	uint64 members;
	uint64 bytes;
} rb_sent_reply;

#define RB_REPLY_ARRAYS 4

/* Arguments of a request, complete before it is submitted */
typedef struct rb_request_args
{
	rb_ask ask;
	int32 client; /* Process id of the session */
	char function[NAMEDATALEN];
	rb_device_choice device;
	rb_job job;      /* The job without its sets and without job.number, which follow */
	bool has_number; /* True if job.number follows the sides */
	rb_join_settings settings;
	int32 threads;
	uint64 memory_limit;
	uint64 aggregate_limit; /* Bytes of groups that the session has memory for */
	uint32 lanes;           /* Number of lanes for the bytes of the sides */
	uint64 card_from;       /* RB_ASK_CARD: range of the page manifest, in bytes */
	uint64 card_bytes;
	int32 sides;
	rb_sent_side side[2]; /* Headers of the sides; their arrays follow in the ring */
} rb_request_args;

/* Returns true if the request may run on a device, so that the worker must open one. */
static inline bool
rb_asks_for_device(const rb_request_args *asked)
{
	return asked->ask == RB_ASK_REFINE ||
		   (asked->ask == RB_ASK_JOIN && asked->device != RB_ON_PROCESSOR);
}

typedef struct rb_request
{
	rb_request_args asked;
	/* Set by the session when it no longer needs the request */
	uint32 stop;
	/*
	 * Number of the worker, set by it once it has taken the request; 0 before. It then updates
	 * stage, done and total
	 */
	uint32 taken;
	/* Set once all cached sides were found; they stay until the request ends */
	uint32 found;
	int32 stage;
	uint64 done;
	uint64 total;
	/* Set by the worker, after all other fields, when the request has ended */
	uint32 ended;
	rb_status status; /* RB_END, or the reason why no more blocks follow */
	uint64 blocks;    /* Total number of blocks written */
	rb_error error;
	rb_stats stats;
	char note[200];     /* Reason why the device was not used, or an empty string */
	uint64 not_kept[2]; /* Bytes of each side that should have been cached but did not fit */

	/* Counters of the bytes of the sides, from the session to the worker */
	rb_way there[RB_LANES];
	/*
	 * Counters of the bytes of a message from the worker to the session. A request is answered
	 * either by bytes or by blocks of ids.
	 */
	rb_way back;
	/*
	 * Blocks of ids, from the worker to the session: slot i % RB_SENT_BLOCKS holds block i if its
	 * word is i + 1
	 */
	uint64 block[RB_SENT_BLOCKS];
	uint32 pairs[RB_SENT_BLOCKS];
	union
	{
		char bytes[RB_SENT_BYTES];
		struct
		{
			int64 front_of_red; /* Writable space in front of the column, as every rb_block has */
			int64 red[RB_BLOCK];
			int64 front_of_blue;
			int64 blue[RB_BLOCK];
			uint64 payload[RB_BLOCK];
		} ids[RB_SENT_BLOCKS];
	} ring;
} rb_request;

/*
 * ---- registry.c: the segment of a request. rb_segment_create and rb_segment_attach return NULL
 * and the reason, which is empty if the session has already left; a segment exists until it is
 * detached. ----
 */

/* Creates the shared segment of a request. */
extern dsm_segment *rb_segment_create(char *why_not, size_t size);
/* Attaches to the segment that a session created. */
extern dsm_segment *rb_segment_attach(dsm_handle handle, char *why_not, size_t size);

/*
 * ---- transport.c: messages in both directions, and blocks of ids; calls no function of
 * PostgreSQL ----
 *
 * A message is a header and arrays, whose lengths the header gives. Sides have their headers in the
 * request. The header of a mesh precedes its arrays in the ring, and so does that of a reply.
 */

/* An array of a message, or the part of it that is still to be transferred */
typedef struct rb_bytes
{
	char *at;
	size_t left;
} rb_bytes;

/* Maximum number of arrays of a side */
#define RB_SIDE_ARRAYS 5
/* Maximum number of arrays of a message: two sides and job.number, or a mesh and its header */
#define RB_SENT_ARRAYS 15

/* Fills the header of a side; keep is NULL if it is not to be cached. */
extern void rb_sent_side_of(rb_sent_side *sent, const rb_set *set, const rb_to_keep *keep);

/*
 * Lists the arrays of a side with this header in the order in which they are sent, and returns
 * their number. At the sender, the arrays hold the data; at the receiver, they have space for it.
 * For RB_FROM_DELTA, `rows` are the new rows.
 */
extern int rb_side_arrays(const rb_sent_side *sent, const rb_cut *cuts, const rb_set *rows,
						  const void *card, rb_bytes *arrays);

/* Lists the array job.number, which follows the sides; returns 0 if there is none. */
extern int rb_number_array(const rb_request_args *asked, const uint32_t *number, rb_bytes *array);

/* Returns the bytes of n arrays that are still to be transferred. */
extern size_t rb_bytes_left(const rb_bytes *arrays, int n);

typedef struct rb_lane
{
	rb_way *way;
	char *ring;
	size_t size;
} rb_lane;

/* Returns a lane from the session to the worker, which is a slice of the ring. */
extern rb_lane rb_lane_there(rb_request *request, uint32 lane);
/* Returns the only lane back to the session, which has the whole ring. */
extern rb_lane rb_lane_back(rb_request *request);

/*
 * Returns the number of lanes that transfer these arrays; small arrays pass through the first one.
 */
extern uint32 rb_lanes_of(const rb_request_args *asked, const rb_bytes *arrays, int n);

/* Computes the part of each array that this lane transfers. */
extern void rb_lane_part(const rb_request_args *asked, uint32 lane, const rb_bytes *arrays, int n,
						 rb_bytes *part);

/* Writes as much of the arrays as the lane has space for, and returns the number of bytes. */
extern size_t rb_bytes_write(const rb_lane *lane, rb_bytes *arrays, int n);
/* Reads as much of the arrays as has arrived, and returns the number of bytes. */
extern size_t rb_bytes_read(const rb_lane *lane, rb_bytes *arrays, int n);

/* Returns true if the request is answered by a message of arrays. */
extern bool rb_expects_reply(const rb_request_args *asked);
/*
 * Returns true if the header of a reply fits the rows of the request, or the size of the bytes that
 * the session asked for.
 */
extern bool rb_reply_is_sound(const rb_request_args *asked, const rb_sent_reply *reply,
							  size_t bytes);
/* Returns true if the groups of a reply, if there are any, are ranges of its members. */
extern bool rb_groups_are_sound(const rb_sent_reply *reply, const uint64_t *start);

/* Writes block `number`; returns false if its slot is not free. */
extern bool rb_ids_write(rb_request *request, uint64 number, const rb_block *block);
/*
 * Points *block to block `number`, which stays valid until rb_ids_give_back. Returns false if it
 * has not arrived.
 */
extern bool rb_ids_read(rb_request *request, uint64 number, rb_block *block);

/* Gives the slot of block `number` back, so that the worker may fill it again. */
extern void rb_ids_give_back(rb_request *request, uint64 number);

#define RB_LONGEST_US 1000 /* Longest wait of either process, in microseconds */

/* ---- transport.c: a mesh under refinement ---- */

/* Header of a mesh, in either direction */
typedef struct rb_sent_refining
{
	uint32 ncells;
	uint32 nsites;
	uint32 nfree;
	uint32 nblocked;
	uint32 nsegments;
	uint32 nfacets;
	uint32 ncorners; /* Corners of all facets */
	uint32 nregions; /* Regions with volume bounds */
	uint32 nsizes;
	int32 n[3]; /* Grid of the sizing field: number of cells, low corner, width of a cell */
	double low[3];
	double cell;
	double ratio;
	double volume;
	bool has_volumes;
	bool keep_surface;
	bool protect;
	bool done;
	bool full;
	uint64 max_points;
	rb_refine_report report; /* Statistics so far */
	char device[80];         /* Name of the device, only from worker to session */
} rb_sent_refining;

/* Fills the header of a mesh that is sent to be refined, or sent back. */
extern void rb_sent_refining_of(rb_sent_refining *sent, const rb_refining *r);

/*
 * Lists the arrays of a mesh under refinement that are transferred between session and worker, or
 * with `back` only those that are returned, and returns their number, at most RB_SENT_ARRAYS.
 */
extern int rb_refining_arrays(const rb_sent_refining *sent, rb_refining *r, bool back,
							  rb_bytes *arrays);

/*
 * Allocates the arrays of a mesh with this header in the worker, before they are received;
 * rb_refining_free frees them even after a failure.
 */
extern rb_status rb_refining_alloc(rb_context *ctx, const rb_sent_refining *sent,
								   rb_refine_options *options, rb_refine_report *report,
								   rb_refining *r);

/* Returns true if the arrays of a mesh that the worker has received match its header. */
extern bool rb_refining_is_sound(const rb_sent_refining *sent, const rb_refining *r);

/* Allocates, in the session, the arrays for the refined mesh that the worker sends back. */
extern rb_status rb_refined_alloc(rb_context *ctx, const rb_sent_refining *sent,
								  rb_refining *fresh);

/*
 * Swaps, in the session, the arrays of the refined mesh `fresh` with those of the mesh r; the old
 * arrays are then freed with `fresh`.
 */
extern void rb_refined_swap(const rb_sent_refining *sent, rb_refining *fresh, rb_refining *r);

/* ---- serve.c: one request in the worker, served by a thread of its own ---- */

typedef struct rb_served rb_served;

/*
 * Serves a request; `number` is that of this worker. Returns NULL if the request was completed at
 * once or if no thread or memory was available; in that case the session has already been informed.
 */
extern rb_served *rb_serve(rb_request *request, uint32 number);

/* Returns true if the thread of the request has finished. */
extern bool rb_served_ended(const rb_served *served);
/* Returns true if the device failed a request, so that only a new process can open it. */
extern bool rb_served_device_failed(void);

/* Requests the thread of a request to stop. */
extern void rb_served_stop(rb_served *served);

/* Waits for the thread and frees the request. */
extern void rb_served_free(rb_served *served);

/* Detaches a thread from the segment, which the thread no longer accesses even if it still runs. */
extern void rb_served_abandon(rb_served *served);

/* ---- side_store.c: cached sides in the worker; callable from any thread ---- */

/* Opens the store before any other use; the number is the worker's. */
extern void rb_store_open(rb_service_block *block, uint32 number);
/*
 * Removes all sides from the list in the block. Must be called before rb_service_leave, because
 * another worker may then start and list its own sides.
 */
extern void rb_store_close(void);
/*
 * Applies the limits of the current settings, in bytes; UINT64_MAX means a quarter of the device's
 * memory.
 */
extern void rb_store_set_limits(uint64 host_bytes, uint64 device_bytes);

/* Returns the limit of copies of cached sides on a device, in bytes. */
extern uint64 rb_store_device_limit(void);

/*
 * Returns a new reference to a cached side, or NULL if it is no longer cached. With `hit`, counts
 * it as used.
 */
extern const rb_set *rb_store_use(uint64 number, bool hit);
/*
 * Returns a copy of `bytes` bytes of the side's page manifest, starting at byte `from`, allocated
 * by malloc. Returns NULL if the side is no longer cached, if the manifest is shorter, or if memory
 * is exhausted.
 */
extern void *rb_store_manifest(uint64 number, uint64 from, size_t bytes);
/*
 * Moves a materialized set with one reference into the cache and gives it a number. After a failure
 * the set is unchanged.
 */
extern rb_status rb_store_put(const rb_to_keep *keep, const void *card, const rb_set *set,
							  rb_error *error);
/*
 * Replaces the page manifest of a cached side with one of the same length. Returns false if the
 * side is not cached or if its key or the length differs.
 */
extern bool rb_store_set_manifest(uint64 number, const rb_to_keep *keep, const void *card);
/* Evicts a cached side, or all of them if number is 0. */
extern void rb_store_drop(uint64 number);

/*
 * Notes that a join no longer uses this side: if it is no longer cached, its device copy is to be
 * evicted.
 */
extern void rb_store_was_used(uint64 number);
/*
 * Updates the list with the bytes on the device, and evicts the device copies of sides that are no
 * longer cached. May wait for a driver.
 */
extern void rb_store_note_device(const rb_backend *device);

/* ---- worker.c: the worker process ---- */

struct BackgroundWorker;

/*
 * Describes the worker for the postmaster. `number` is that of the worker, or 0 if it starts with
 * the server.
 */
extern void rb_worker_describe(struct BackgroundWorker *worker, uint32 number);

/* ---- load_backend.c: the plugin for the device, in this process ---- */

/* Opens the device in a thread; further calls do nothing. */
extern void rb_device_begin(void);
/* Returns the state of opening, and the backend if a device was found. Callable from any thread. */
extern rb_device_state rb_device_begun(const rb_backend **backend, char *text, size_t size);

#endif /* RB_PG_WORKER_PROTOCOL_H */
