/*
 * rb_service.h
 *	  What sessions and the worker share: one block for all of them, and a request each.
 *
 * One process of the server, the worker, has the device open and joins on it for all
 * sessions.  It is found through a block in the server's shared memory; what a
 * session asks of it lies in a segment of its own, which both hold:
 *
 *		session							block							worker
 *		makes a segment, leaves its
 *		handle as a post		->		post[i]				->			attaches to it, starts a thread
 *		rows of the sides		->		the segment's ring	->			sets, rb_stream
 *		blocks of ids			<-		the same ring		<-			blocks of ids
 *		stops it, or leaves		->		stop
 *								<-		error, statistics	<-			the end
 *
 * No lock is over any of it.  Any process may be stopped or killed at any instruction,
 * and nobody may then wait for it without being able to leave.  So things are claimed
 * and handed on by compare-and-swap, every claim has a number of its own against
 * late comers, waiting is sleeping between looks, and who gives up takes his post back, or says
 * stop and leaves: the segment goes with the last one who holds it.
 *
 * What differs from build to build must not be shared: so the block's name has the
 * version and the layout of all this in it, and each build has a worker of its own.
 */
#ifndef RB_SERVICE_H
#define RB_SERVICE_H

#include "pg/base/rb_pg.h"

#include "refine/rb_refining.h"
#include "storage/dsm.h"
#include "storage/latch.h"

/* a change of what these words and bytes mean, where the sizes stay, is another number */
#define RB_PROTOCOL 3

/* ======== the block ======== */

/* ---- block.c: the one worker ---- */

typedef enum rb_worker_state
{
	RB_WORKER_NONE,
	RB_WORKER_STARTING, /* somebody has asked the postmaster for it */
	RB_WORKER_RUNNING,
	RB_WORKER_LEAVING /* takes no new request */
} rb_worker_state;

/*
 * State, process, and a number that no other start has, in one word.  The process is
 * who starts it, and then the worker.
 */
#define RB_WORKER_WORD(number, pid, state) \
	((uint64) (number) << 32 | (uint64) (uint32) (pid) << 2 | (uint64) (state))
#define RB_WORKER_STATE(word) ((rb_worker_state) ((word) &3))
#define RB_WORKER_PID(word) ((int) ((uint32) (word) >> 2))
#define RB_WORKER_NUMBER(word) ((uint32) ((word) >> 32))
/* are these the same worker, whatever it does? */
#define RB_SAME_WORKER(a, b) (((a) ^ (b)) < 4)

/* what the worker knows of the device; it starts anew with each worker */
typedef enum rb_device_state
{
	RB_DEVICE_UNKNOWN,
	RB_DEVICE_OPENING,
	RB_DEVICE_NONE,
	RB_DEVICE_FOUND,
	RB_DEVICE_WARM /* found, and a join could begin on it at once */
} rb_device_state;

/* a letter to the worker: state, and how often it was used before */
#define RB_POST_FREE 0
#define RB_POST_CLAIMED 1 /* by a session that writes it */
#define RB_POST_SENT 2
#define RB_POST_TAKEN 3 /* by the worker, for a moment */
#define RB_POST_STATE(word) ((word) &3)

typedef struct rb_post
{
	uint64 word;
	dsm_handle handle;
} rb_post;

#define RB_POSTS 32

/* ---- progress.c: what runs in which process ---- */

struct rb_progress_entry
{
	int32 pid;     /* 0: free; claimed by compare-and-swap */
	uint32 change; /* odd while it is filled or emptied */
	Oid role;      /* of the session */
	int32 stage;
	uint64 done;
	uint64 total;
	char function[NAMEDATALEN];
};

#define RB_PROGRESS 128

/* ---- store.c: the list of sides that the worker keeps, written by it alone ---- */

typedef struct rb_stored_entry
{
	uint32 change;    /* odd while it is written */
	rb_stored stored; /* number 0: none */
} rb_stored_entry;

#define RB_STORED 64

/* tables that were read, so that the second time is known for one: by the hash of a key */
#define RB_SEEN 256

typedef struct rb_seen
{
	uint64 key;
	uint64 state;
} rb_seen;

struct rb_service_block
{
	uint64 worker;        /* RB_WORKER_WORD */
	double starting_ms;   /* since when, on the clock of the machine */
	Latch *latch;         /* the worker's, while it runs */
	uint32 device_wanted; /* number of the worker that is to open it */
	uint64 device;        /* rb_device_state, and number of the worker that says so, times eight */
	char device_text[200];
	rb_post post[RB_POSTS];
	struct rb_progress_entry progress[RB_PROGRESS];
	rb_stored_entry stored[RB_STORED];
	rb_seen seen[RB_SEEN];
};

typedef struct rb_service_block rb_service_block;

/* while the library is preloaded: there is to be room for it */
extern void rb_service_request_memory(void);

/* its name, the same in processes of the same build */
extern const char *rb_service_name(void);

/* NULL where there is no shared memory left for it */
extern rb_service_block *rb_service_find(void);

/*
 * In the worker: it runs, as that number of all workers, or 0, where another one is there or
 * who started it has given up on it.  number 0: it came with the server.
 */
extern uint32 rb_service_enter(uint32 number);
/* it takes no new request, or is no more; callable from any thread */
extern void rb_service_leave(rb_worker_state state);

/* the worker is to look at what is there for it */
extern void rb_service_wake(rb_service_block *block);

/* what the worker of that word knows of the device, and in words */
extern rb_device_state rb_service_device(rb_service_block *block, uint64 worker, char *text,
										 size_t size);
/* in the worker */
extern void rb_service_set_device(rb_service_block *block, rb_device_state state, const char *text);

/* ======== a request ======== */

/* where the rows of a side come from */
typedef enum rb_side_from
{
	RB_FROM_ROWS, /* they are sent along */
	RB_FROM_KEPT, /* they are those of a side that is kept */
	RB_FROM_VIEW  /* cuts of these, and of rows that are sent along */
} rb_side_from;

/* rows that are sent */
typedef struct rb_sent_rows
{
	uint32 nparts;
	uint32 nrows;
	bool has_row_of;
	bool has_ids;
	int64 first_id;
} rb_sent_rows;

/* a side as it is announced; then its arrays follow: cuts, coordinates, rows of parts, ids, card */
typedef struct rb_sent_side
{
	rb_side_from from;
	rb_kind kind;
	uint32 nparts; /* all in all */
	uint32 nrows;
	uint64 skipped;
	int32 srid;
	rb_sent_rows rows;
	uint64 number;   /* of the side that is kept; 0: RB_FROM_ROWS */
	uint32 ncuts;    /* RB_FROM_VIEW; one more is sent */
	rb_to_keep keep; /* card_bytes 0: it is not to be kept */
} rb_sent_side;

#define RB_SENT_BLOCKS 8
#define RB_SENT_BYTES ((size_t) RB_SENT_BLOCKS * 2 * RB_BLOCK * sizeof(int64))

/* a counter that one process writes and the other one reads, away from the others */
typedef struct rb_counter
{
	uint64 n;
	char apart[56];
} rb_counter;

/* bytes through the ring, or a part of it, in one direction */
typedef struct rb_way
{
	rb_counter sent;
	rb_counter received;
} rb_way;

/* large sides go in so many lanes at most, each with a part of the ring and a thread at both ends */
#define RB_LANES 4

/* what is asked: written before it is sent */
typedef struct rb_asked
{
	rb_ask ask;
	int32 client; /* process */
	char function[NAMEDATALEN];
	rb_device_choice device;
	rb_predicate predicate;
	double distance;
	uint32 nearest;
	bool within_rows;
	bool skip_bad;
	rb_ends tile;
	rb_answer answer;
	rb_of of;
	bool whole;
	bool has_number; /* job.number follows the sides */
	uint32 numbers;
	int32 threads;
	uint32 grid_resolution;
	uint32 filters;
	uint64 memory_limit;
	uint64 answer_limit; /* bytes of groups that the session has room for */
	uint64 gpu_memory_limit;
	uint32 cards; /* as in rb_context */
	bool only_cards;
	uint32 lanes;     /* in which the sides' bytes come */
	uint64 card_from; /* RB_ASK_CARD: these bytes of it */
	uint64 card_bytes;
	int32 sides;
	rb_sent_side side[2]; /* their arrays follow in the ring */
} rb_asked;

static inline bool
rb_asks_for_device(const rb_asked *asked)
{
	return asked->ask == RB_ASK_REFINE ||
		   (asked->ask == RB_ASK_JOIN && asked->device != RB_ON_PROCESSOR);
}

typedef struct rb_request
{
	rb_asked asked;
	/* by the session: it wants no more */
	uint32 stop;
	/* by the worker: its number, when it has it; how far it is */
	uint32 taken;
	/* and all that is kept of its sides is there, and stays until it ends */
	uint32 found;
	int32 stage;
	uint64 done;
	uint64 total;
	/* by the worker, last: it is through, and what came of it */
	uint32 ended;
	rb_status status; /* RB_END, or why there are no more */
	uint64 blocks;    /* that were put, in all */
	rb_error error;
	rb_stats stats;
	char note[200];     /* why not on the device, or "" */
	uint64 not_kept[2]; /* bytes of a side that was to be kept, and for which there was no room */

	/* first the sides' bytes go one way, ... */
	rb_way there[RB_LANES];
	/*
	 * ... then, where row by row something is told, so many words, starts and members go back,
	 * or the bytes of a card, or of ids, ...
	 */
	uint32 answered;
	uint64 words;
	uint64 starts;
	uint64 members;
	uint64 bytes;
	rb_way back;
	/* ... or blocks of ids do: slot i % RB_SENT_BLOCKS has block i when it says i + 1 */
	uint64 block[RB_SENT_BLOCKS];
	uint32 pairs[RB_SENT_BLOCKS];
	union
	{
		char bytes[RB_SENT_BYTES];
		struct
		{
			int64 front_of_red; /* may be written to, as that of any block */
			int64 red[RB_BLOCK];
			int64 front_of_blue;
			int64 blue[RB_BLOCK];
			uint64 told[RB_BLOCK];
		} ids[RB_SENT_BLOCKS];
	} ring;
} rb_request;

/*
 * ---- segment.c: where a request lies; until it is detached.  NULL and why not; "": it was
 * left already ----
 */

extern dsm_segment *rb_segment_make(char *why_not, size_t size);
extern dsm_segment *rb_segment_attach(dsm_handle handle, char *why_not, size_t size);

/* ---- transport.c: sets over, blocks of ids back.  No function of PostgreSQL. ---- */

/* an array of a side, or a part of it that is still to be moved */
typedef struct rb_bytes
{
	char *at;
	size_t left;
} rb_bytes;

/* at most so many arrays of a side, and of all that is sent */
#define RB_SIDE_ARRAYS 5
#define RB_SENT_ARRAYS 13 /* two sides and numbers, or a mesh (refining.c) */

/* keep NULL: it is not to be kept */
extern void rb_sent_side_of(rb_sent_side *sent, const rb_set *set, const rb_to_keep *keep);

/*
 * Those of a side that is announced so, in the order in which they are sent; how many.  Each
 * is the sender's, or has room for it at the receiver's; rows: of RB_FROM_VIEW the fresh ones.
 */
extern int rb_side_arrays(const rb_sent_side *sent, const rb_cut *cuts, const rb_set *rows,
						  const void *card, rb_bytes *arrays);

/* that of the numbers behind them; 0 where there are none */
extern int rb_number_array(const rb_asked *asked, const uint32_t *number, rb_bytes *array);

extern size_t rb_bytes_left(const rb_bytes *arrays, int n);

typedef struct rb_lane
{
	rb_way *way;
	char *ring;
	size_t size;
} rb_lane;

extern rb_lane rb_lane_there(rb_request *request, uint32 lane);
extern rb_lane rb_lane_back(rb_request *request);

/* what of each array goes through that lane */
extern void rb_lane_part(const rb_asked *asked, uint32 lane, const rb_bytes *arrays, int n,
						 rb_bytes *part);

/* as much of the arrays as there is room for; how many bytes */
extern size_t rb_bytes_put(const rb_lane *lane, rb_bytes *arrays, int n);
/* as much as has come */
extern size_t rb_bytes_take(const rb_lane *lane, rb_bytes *arrays, int n);

/* block number `number`; false while there is no room */
extern bool rb_ids_put(rb_request *request, uint64 number, const rb_block *block);
/* where it lies, until it is given back; false while it is not there */
extern bool rb_ids_take(rb_request *request, uint64 number, rb_block *block);
extern void rb_ids_give_back(rb_request *request, uint64 number);

/* sleeps: longer with every time that there was nothing to do.  *idle starts as 0. */
extern void rb_nap(int *idle);

/* ---- refining.c: a mesh under refinement, there and back.  No function of PostgreSQL. ---- */

/* what is announced, either way */
typedef struct rb_sent_refining
{
	uint32 ncells;
	uint32 nsites;
	uint32 nfree;
	uint32 nstuck;
	uint32 nsegments;
	uint32 nfacets;
	uint32 ncorners; /* of all facets */
	uint32 nregions; /* that have volumes */
	uint32 nsizes;
	int32 n[3]; /* cells of their grid; and where that is */
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
	rb_refine_report report; /* so far */
	char device[80];         /* on the way back */
} rb_sent_refining;

extern void rb_sent_refining_of(rb_sent_refining *sent, const rb_refining *r);

/* all arrays, or those that come back; how many: RB_SENT_ARRAYS at most */
extern int rb_refining_arrays(const rb_sent_refining *sent, rb_refining *r, bool back,
							  rb_bytes *arrays);

/*
 * In the worker: arrays of what is announced, not filled; and whether they go together when
 * they are.  rb_refining_free frees them whatever came of it.
 */
extern rb_status rb_refining_make(rb_context *ctx, const rb_sent_refining *sent,
								  rb_refine_options *options, rb_refine_report *report,
								  rb_refining *r);
extern bool rb_refining_is_sound(const rb_sent_refining *sent, const rb_refining *r);

/* in the session: room for what comes back; then it takes the place of what there was, which is freed with `fresh` */
extern rb_status rb_refined_make(rb_context *ctx, const rb_sent_refining *sent, rb_refining *fresh);
extern void rb_refined_take(const rb_sent_refining *sent, rb_refining *fresh, rb_refining *r);

/* ---- request.c: one request in the worker, in a thread of its own ---- */

typedef struct rb_served rb_served;

/*
 * By the worker of that number.  NULL where there is no thread or memory for it; then the session
 * has been told.
 */
extern rb_served *rb_serve(rb_request *request, uint32 number);

/* its thread is through */
extern bool rb_served_ended(const rb_served *served);
/* has the device failed one of them, so that another process must open it anew? */
extern bool rb_served_device_failed(void);
extern void rb_served_stop(rb_served *served);

/* waits for its thread, unless the request was abandoned */
extern void rb_served_free(rb_served *served);

/* from now on its thread, if it still runs, does not touch the segment */
extern void rb_served_abandon(rb_served *served);

/* ---- store.c: sides that are kept, in the worker; from any thread ---- */

/* once, before anything is asked of it; the number is the worker's */
extern void rb_store_open(rb_service_block *block, uint32 number);
/* from now on nothing is listed: another worker may do so, once the block's word lets it */
extern void rb_store_close(void);
/* the budget, in the settings of now; device: UINT64_MAX is a quarter of it */
extern void rb_store_set_limits(uint64 host_bytes, uint64 device_bytes);
extern uint64 rb_store_device_limit(void);

/* with one holder more; NULL where it is kept no longer.  hit: it counts as used. */
extern const rb_set *rb_store_use(uint64 number, bool hit);
/* a copy of these bytes of it, by malloc; NULL where it is kept no longer, is shorter, or there is no memory */
extern void *rb_store_card(uint64 number, uint64 from, size_t bytes);
/*
 * A set with one holder, put together, moves there and gets a number; where that fails it is as
 * it was.
 */
extern rb_status rb_store_put(const rb_to_keep *keep, const void *card, const rb_set *set,
							  rb_error *error);
/* of what is kept already: another card of the same length; false where it is not, or of another */
extern bool rb_store_set_card(uint64 number, const rb_to_keep *keep, const void *card);
/* number 0: all of them */
extern void rb_store_drop(uint64 number);

/* a join with that one is over: if it is kept no longer, its copy on the device is not, either */
extern void rb_store_was_used(uint64 number);
/* what lies on the device is noted in the list, and given up where nothing is kept of it; may wait for a driver */
extern void rb_store_note_device(const rb_backend *device);

/* ---- worker.c: the process ---- */

struct BackgroundWorker;

/* what the postmaster is to start; that number is its own, 0: it comes with the server */
extern void rb_worker_describe(struct BackgroundWorker *worker, uint32 number);

/* ---- device.c: the device's file, in this process ---- */

/* opens it in a thread; asked again, does nothing */
extern void rb_device_begin(void);
/* what came of it; the backend where it was found; callable from any thread */
extern rb_device_state rb_device_begun(const rb_backend **backend, char *text, size_t size);

#endif /* RB_SERVICE_H */
