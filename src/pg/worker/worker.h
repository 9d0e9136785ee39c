/*
 * worker.h
 *	  Declares the worker, which joins on a device for all sessions, grouped by the file that defines
 *	  it (internals: protocol.h).
 */
#ifndef RB_PG_WORKER_WORKER_H
#define RB_PG_WORKER_WORKER_H

#include "pg/base/pg.h"

/* Installs the service. Called when the library is loaded. */
extern void rb_service_install(void);

/* ---- side_store.c: sides cached by the worker ---- */

#define RB_KEY_BYTES 192

/* Description of a side that is to be cached */
typedef struct rb_to_keep
{
	char key[RB_KEY_BYTES]; /* Key, padded with zeros */
	uint64 card_bytes;      /* Size of the manifest stored with the side, in bytes */
	/* True if only the manifest changes: the side is cached with an older one */
	bool renewed;
	uint64 rows; /* Number of rows, for redblue_cached() only */
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

/* ---- load_backend.c: the device plugin, in this process ---- */

/* Returns true if the plugin is installed; otherwise sets why_not. */
extern bool rb_device_installed(char *why_not, size_t size);

/*
 * Opens the backend in this process. Returns NULL and writes the reason to `text` on failure;
 * otherwise `text` describes the device.
 */
extern const rb_backend *rb_device_here(char *text, size_t size);

/* ---- registry.c: the rows of redblue_progress ---- */

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
extern const char *rb_progress_stage_name(int stage);

/*
 * Adds an entry to redblue_progress. Returns NULL if no progress is shown; all functions of an
 * entry accept NULL. Only the owning process writes to the entry.
 */
extern rb_progress_entry *rb_progress_begin(const char *function);
/* Records the progress of a stage. Callable from any thread. */
extern void rb_progress_note(rb_progress_entry *entry, int stage, uint64 done, uint64 total);
/*
 * Sets the entry for which sides are read from now on (or NULL), and returns the previous one,
 * because reading a side may run another join.
 */
extern rb_progress_entry *rb_progress_reading(rb_progress_entry *entry);

/* Records the number of pages read in the entry for which sides are read. */
extern void rb_progress_read(uint64 done, uint64 total);

/* Removes the entry of a join or mesh that has ended. */
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
 * A join that the worker runs, used like an rb_stream, with the same job, statuses and statistics.
 * The additional status RB_GONE means that the worker ended before the join did.
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
	/* How to cache red and blue, with their manifests; NULL for a side that is not to be cached */
	const rb_to_keep *keep[2];
	const void *card[2];
	/* For RB_ASK_CARD: the range of bytes of the manifest */
	uint64 card_from;
	uint64 card_bytes;
} rb_submission;

/*
 * Opens a request. Returns false and stores the reason if the worker is unavailable or no longer
 * caches a side. The job's sets have been sent when it returns. *remote is set as soon as it must
 * be closed, and lives in `context`.
 */
extern bool rb_remote_open(rb_remote **remote, MemoryContext context, rb_context *ctx,
						   const rb_submission *order, rb_progress_entry *progress, char *why_not,
						   size_t size);

/*
 * Returns the next block of a remote join, as rb_stream_next does for a local stream. Callable from
 * any thread.
 */
extern rb_status rb_remote_next(rb_remote *remote, int wait_ms, rb_block *block);

/* Returns the words of a remote join's aggregate, as rb_stream_words does for a local stream. */
extern const uint32_t *rb_remote_words(const rb_remote *remote);

/* Returns the groups of a remote join, as rb_stream_groups does for a local stream. */
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
	return rb_is_device_failure(status) || status == RB_GONE || status == RB_BAD_REPLY ||
		   status == RB_OUT_OF_MEMORY || status == RB_NO_THREAD;
}

/* Closes the request without waiting. NULL is allowed. */
extern void rb_remote_close(rb_remote *remote);

/* Reads a range of bytes of a side's manifest. Returns false on failure. */
extern bool rb_worker_card(const char *function, const rb_stored *stored, uint64 from, void *to,
						   size_t bytes);

/* Reads the ids of the rows of a remote set. Returns false and stores the reason on failure. */
extern bool rb_worker_ids(const char *function, rb_context *ctx, const rb_set *set, char *why_not,
						  size_t size);

/* Caches a side without a join. Returns false and stores the reason on failure. */
extern bool rb_worker_keep(const char *function, rb_context *ctx, const rb_set *set,
						   const rb_to_keep *keep, const void *card, char *why_not, size_t size);

/* Evicts a side. Returns false if the worker does not confirm it. */
extern bool rb_worker_drop(const char *function, uint64 number);

#endif /* RB_PG_WORKER_WORKER_H */
