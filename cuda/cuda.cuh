/*
 * cuda.cuh
 *	  Declares what the files of the CUDA backend share, grouped by the file that defines it.
 *
 * Stages of a join on the device (device.cu, backend.cu), from coordinates to pairs:
 *
 *	  upload -> bounds -> plan -> count -> scan -> fill -> work items		level.cu, level.cuh
 *	  work item -> tiles -> boxes -> candidates -> float test				triangle_join.cu
 *	  other kinds of objects: work item -> tiles -> candidates				box_join.cu
 *	                                  |yes            |unsure
 *	                                  v               v
 *	                                pairs <- double, integers, expansions	filters.cu, exact.cu
 *	                                  |               |exponents out of range
 *	                                  v               v
 *	                                 host <- GMP, in parallel				join.cu
 *
 * If the job needs only a count or a bit for each row, join.cu accumulates it from the pairs while
 * they are still on the device.
 *
 * Cells that hold too many objects become nodes of the next level, and each node gets a grid of its
 * own. All nodes of a level are processed in the same launches. Refinement ends when no cell is
 * crowded or when a finer grid no longer helps.
 *
 * Nothing in this layer depends on PostgreSQL, and none of its functions throws, exits or prints.
 * Every call of the CUDA runtime is checked (RB_CUDA).
 */
#ifndef RB_CUDA_CUDA_CUH
#define RB_CUDA_CUDA_CUH

#include "tuning.cuh"

#include "core/base/base.h"
#include "core/join/join.h"
#include "core/primitive/triangle_float.h"
#include "core/join/grid.h"
#include "core/exact/interval.h"
#include "core/exec/pair_coding.h"
#include "core/exec/plugin.h"

#include <cuda_runtime.h>

typedef unsigned long long rb_count; /* Operand type of atomicAdd */

struct rb_device_run;
struct rb_mailbox;

/* ---- core_stubs.cu: functions of the core, called through a table ---- */

/* Sets the table of functions that the stubs call. */
extern void rb_services_use(const rb_services *services);

/* ---- device.cu: devices, each found once and open while joins need it ---- */

#define RB_DEVICES RB_MAX_DEVICES /* Number of devices whose state is tracked */

/* A device, its properties and what is cached on it between joins */
typedef struct rb_device
{
	int id;
	int sms;
	bool pools;         /* True if cudaMallocAsync is supported */
	cudaMemPool_t pool; /* Pool that cudaMallocFromPoolAsync allocates from */
	uint64_t bytes;
	/*
	 * Last measurement of free memory (backend.cu): bits 0-31 megabytes free, including those of
	 * the pool; bits 32-63 time in milliseconds
	 */
	uint64_t seen;
	char text[80];
	uint32_t tried; /* Bit set of the join types whose kernels were all launched (join.cu) */
	struct rb_device_queue *queues; /* Idle queues, which no join uses */
	struct rb_device_copy *copies;  /* Copies of cached sets on the device (memory.cu) */
	/* Bytes of all copies of cached sets, including those being built */
	uint64_t copied;
} rb_device;

/*
 * Writes the device's name to `text` and returns RB_OK, or writes the reason and returns
 * RB_NO_DEVICE.
 */
extern rb_status rb_device_probe(int device, char *text, size_t size);
/* Returns the number of CUDA devices, including unusable ones. */
extern int rb_device_count(void);
/* Returns true if the device is open, so that a join need not wait for it. */
extern bool rb_device_warm(int device);
/* Opens the device of run->ctx, sets run->device, and makes it current in this thread. */
extern rb_status rb_device_take(struct rb_device_run *run);

/* Returns the device that rb_device_take gave; it stays open for a while. */
extern void rb_device_give(struct rb_device_run *run);
/*
 * Returns the bytes of a cached set's copies on all open devices. With drop, evicts unused copies.
 */
extern uint64_t rb_device_copy_bytes(uint64_t number, bool drop);
/* Checks after a failed call whether the device can still be used. */
extern void rb_device_check(struct rb_device_run *run, const char *why);

/* ---- backend.cu: one join ---- */

#define RB_MARKS 32
#define RB_BLOCKS 48 /* Maximum number of allocations of a join */

typedef struct rb_device_run
{
	rb_context *ctx;
	const rb_job *job;
	const rb_sink *sink;
	struct rb_device_queue *queue;
	rb_device *device;
	double until;    /* Deadline of waits for memory that others hold (rb_now_ms) */
	uint64_t need;   /* Bytes in use plus the bytes last requested, for the error message */
	uint64_t free;   /* Bytes free on the device at the start, or 0 if unknown */
	uint64_t budget; /* Limit of device memory, in bytes */
	uint64_t used;
	void *block[RB_BLOCKS];
	uint64_t size[RB_BLOCKS];
	struct rb_device_copy *copy[4]; /* Cached copies that the join uses or has built */
	int ncopies;
	int nmarks;
	/* For each mark, the stage to which the time before it is charged, or -1 */
	int mark_stage[RB_MARKS];
	bool stopping; /* True if the kernels were asked to stop */
	/* True if pairs were sent to the sink, so that the join can no longer be restarted */
	bool emitted;
	/* Counts or bits on the device instead of pairs (join.cu), or NULL */
	uint32_t *words;
	bool top; /* True until the first grid has been built */
} rb_device_run;

/* ---- streams.cu: streams, events, pinned buffers; timing, waiting, transfers ---- */

/*
 * Turns a failed call of the CUDA runtime on a queue into a status with the name of the call. Lack
 * of memory becomes RB_DEVICE_FULL without an error in the context, because the caller may retry
 * with less.
 */
extern rb_status rb_cuda_failed(rb_device_run *run, cudaError_t error, const char *call);

#define RB_CUDA(run, call)                                    \
	do                                                        \
	{                                                         \
		cudaError_t rb_cuda_error = (call);                   \
		if (rb_cuda_error != cudaSuccess)                     \
			return rb_cuda_failed(run, rb_cuda_error, #call); \
	} while (0)

/* Checks a kernel launch and returns an error status if it failed. */
#define RB_LAUNCHED(run, name)                                    \
	do                                                            \
	{                                                             \
		cudaError_t rb_cuda_error = cudaGetLastError();           \
		if (rb_cuda_error != cudaSuccess)                         \
			return rb_cuda_failed(run, rb_cuda_error, name "()"); \
	} while (0)

/*
 * Loads a kernel onto the device. Otherwise the driver would load it at its first launch, and would
 * wait until the device is idle. If a long kernel is running then, the host could not forward a
 * stop request in the meantime.
 */
extern rb_status rb_kernel_load(rb_device_run *run, const void *kernel);

#define RB_SLOTS 4 /* Pinned buffers for transfers */
#define RB_SLOT_BYTES ((size_t) 16 << 20)

/*
 * Events of a launch: begin, end of the join kernel, end of the filters, tally reported; begin and
 * end of the exact signs
 */
#define RB_LAUNCH_EVENTS 6

/*
 * Streams, events and pinned memory of a join. They are expensive to create, so they are reused by
 * the next join.
 */
typedef struct rb_device_queue
{
	struct rb_device_queue *next;
	cudaStream_t compute;
	cudaStream_t copy;
	cudaEvent_t mark[RB_MARKS];
	cudaEvent_t done;                        /* End of all work submitted to the compute stream */
	cudaEvent_t launch[2][RB_LAUNCH_EVENTS]; /* Events of a launch into pool 0 or 1 */
	cudaEvent_t slot_from[RB_SLOTS];
	cudaEvent_t slot_done[RB_SLOTS];
	char *slot[RB_SLOTS];
	struct rb_mailbox *mailbox; /* Pinned memory through which kernels report to the host */
	uint32_t *stop;             /* Flag on the device: nonzero if kernels should stop */
} rb_device_queue;

/* Gives the join a queue of its own. */
extern rb_status rb_queue_take(rb_device_run *run);

/* Returns the queue of a join for reuse, or destroys it if a call on it failed. */
extern void rb_queue_give(rb_device_run *run, bool healthy);
/* Destroys all idle queues of the device. No join may be running. */
extern void rb_queues_release(rb_device *device);

/* Steps of the grid stage, in the order of stats.grid_ms */
enum
{
	RB_STEP_PLAN = RB_STAGES,
	RB_STEP_MAP,
	RB_STEP_SCHEDULE
};

/*
 * Records a mark. The compute time since the last mark is charged to this stage, or to no stage if
 * `stage` is -1.
 */
extern rb_status rb_mark(rb_device_run *run, int stage);

/* Asks the kernels to stop. */
extern void rb_stop_kernels(rb_device_run *run);

/* Waits for all work of both streams, whether it failed or not, and clears the stop flag. */
extern void rb_queue_idle(rb_device_run *run);

/* Sleeps for `ns` nanoseconds, less than one second, between two polls of an event. */
extern void rb_sleep_ns(long ns);

/* Waits for an event of a queue, and forwards stop requests to its kernels. */
extern rb_status rb_wait(rb_device_run *run, cudaEvent_t event);

/* Waits for all work of the compute stream, and forwards stop requests to its kernels. */
extern rb_status rb_sync(rb_device_run *run);

/*
 * Copies host to device on the compute stream. Returns when `from` may be reused, except that
 * pinned memory must stay unchanged until the join ends.
 */
extern rb_status rb_upload(rb_device_run *run, void *to, const void *from, size_t bytes);

/* Consumer of n elements downloaded from the device; the buffer is invalid after it returns */
typedef rb_status (*rb_consume)(rb_device_run *run, void *arg, const void *bytes, size_t n);

/*
 * Copies device to host on the copy stream, in blocks of whole `element`s that are consumed in
 * order.
 */
extern rb_status rb_download(rb_device_run *run, const void *from, size_t bytes, size_t element,
							 rb_consume consume, void *arg);

/* Copies a whole array from the device to host memory. */
extern rb_status rb_fetch(rb_device_run *run, void *to, const void *from, size_t bytes);

/* ---- memory.cu: blocks of a join, copies of cached sets ---- */

/* Returns the bytes of device memory that this process's pool has reserved, used or not. */
extern uint64_t rb_device_reserved(rb_device_run *run);

/*
 * Returns the most memory that a join can get: free memory, the idle part of this process's pool,
 * and unused cached copies.
 */
extern uint64_t rb_device_budget(rb_device_run *run);

/*
 * Allocates device memory within run->budget. Returns RB_DEVICE_FULL without an error in the
 * context, because the caller may retry with less.
 */
extern rb_status rb_device_alloc(rb_device_run *run, void **block, uint64_t bytes);

/*
 * Makes an allocation that failed worth another try: drops an unused cached copy, or else sleeps
 * for a moment. Returns RB_DEVICE_FULL once run->until has passed.
 */
extern rb_status rb_device_wait_for_memory(rb_device_run *run);

/* Frees one block of device memory. */
extern void rb_device_free(rb_device_run *run, void **block);

/* Frees all blocks of device memory that the run holds. */
extern void rb_device_free_all(rb_device_run *run);

/*
 * Finds the coordinates of all parts of a set on the device: the copy of a cached set, which is
 * built if there is none, or those of a delta set, built from the copy of its base set. *coords is
 * NULL if there is no copy and none can be built. The join may use them until rb_copies_give.
 * *bounds points to the bounds of all parts (rb_device_set.bounds), or is NULL for a delta set. A
 * copy keeps them, so that a join need not read all coordinates for them.
 */
extern rb_status rb_cached_coords(rb_device_run *run, const rb_set *set, const double **coords,
								  const double **bounds);

/* Releases the copies of a join after all its work on the device has ended. */
extern void rb_copies_give(rb_device_run *run, bool failed);

/* Evicts a copy that no join uses; returns false if there is no such copy. */
extern bool rb_copies_evict(rb_device_run *run);

/*
 * Returns the bytes of a set's copy on the device. With drop, evicts the copy unless a join uses
 * it.
 */
extern uint64_t rb_copy_bytes(rb_device *device, uint64_t number, bool drop);

/* Frees all copies before the device is closed. */
extern void rb_copies_close(rb_device *device);

/* ---- level.cu: nodes, their grids, work items ---- */

/* One side of a join on the device */
typedef struct rb_device_set
{
	const double *coords;
	const uint32_t *row_of; /* NULL if no two parts share a row, or if that does not matter */
	const double *bounds;   /* In host memory: minima of lo and of -hi over all parts, or NULL */
	uint32_t n;
	uint32_t base; /* Index of part 0 in the job */
	rb_kind kind;
	double pad; /* Padding of all boxes (rb_pad_of) */
} rb_device_set;

/* A region to be divided by a grid: a cell of the level above or, at the top, all of space */
typedef struct rb_node
{
	rb_count key[2][6]; /* Bounds of red and blue: minima of lo and of -hi, as ordered bits */
	/* Intersection of both sides' bounds; objects outside cannot be in a pair */
	double meet_lo[3];
	double meet_hi[3];
	/* Region of the grid: the intersection of the bounds, clipped to the cell */
	double lo[3];
	double hi[3];
	double cell_lo[3]; /* The cell itself, infinite at the top */
	double cell_hi[3];
	double sum[2][9]; /* Sums over a sample: objects, relevant objects, moments of their extents */
	rb_grid grid;
	uint32_t begin[2]; /* Range of the node's objects among the entries of the level above */
	uint32_t count[2];
	rb_count first;  /* Index of the node's first cell in its level */
	rb_count tests;  /* Red count times blue count of the cell it refines */
	uint32_t shrunk; /* Nonzero if the region is much smaller than the cell */
} rb_node;

/* Some objects of one side of a node, processed by one thread block */
typedef struct rb_node_chunk
{
	uint32_t node;
	uint32_t begin; /* Index among the entries of the level above; at the top, an object index */
	uint32_t n;
	uint32_t side_number; /* Side in bit 0; chunk number within that side of the node above it */
} rb_node_chunk;

#define RB_CHUNK 1024

/*
 * A block of red times blue objects of one cell, at most RB_TILE_F a side, which one thread block
 * joins
 */
typedef struct rb_item
{
	uint32_t red; /* Index of the first red entry */
	uint32_t blue;
	uint32_t n; /* Number of red objects | number of blue objects << 16 */
	uint32_t unused;
	rb_frame frame; /* Frame of the cell for float coordinates */
} rb_item;

typedef struct rb_level
{
	rb_node *nodes;
	struct rb_totals *totals;
	rb_node_chunk *chunks;
	/* Entries of the level above, owned by this level; NULL stands for all objects */
	uint32_t *above[2];
	uint32_t nnodes;
	uint32_t nchunks;
	rb_count *count; /* Objects per cell: red in the lower half, blue in the upper */
	rb_count *start; /* Prefix sums of `count`, with one more element */
	/* Object index; the top three bits: axes on which it starts in the cell (grid.h) */
	uint32_t *entry[2];
	rb_item *items;
	rb_count nitems;
	rb_count item_tests; /* Upper bound on the pairs that the items yield */
} rb_level;

/* Totals over the cells of a level */
typedef struct rb_totals
{
	rb_count cells;         /* Cells planned */
	rb_count expected;      /* Estimated number of incidences */
	rb_count placed;        /* Incidences listed, or that would have been listed */
	rb_count incidences[2]; /* Incidences in cells that hold both colors */
	rb_count items;         /* Work items of cells that are not crowded */
	rb_count item_tests;
	rb_count crowded_items; /* Work items that the crowded cells would have */
	rb_count crowded_tests;
	rb_count many;           /* Cells with more items than one block should write */
	rb_count crowded;        /* Number of crowded cells */
	rb_count crowded_chunks; /* Chunks of the nodes that the crowded cells become */
	/* Write cursors: items from the front, items from the back, deferred cells, nodes and chunks */
	rb_count made_items;
	rb_count made_little;
	rb_count made_many;
	rb_count made_nodes;
	rb_count made_chunks;
} rb_totals;

/* Creates the top level: one node with all objects, or no node if a side is empty. */
extern rb_status rb_level_top(rb_device_run *run, const rb_device_set side[2], bool self,
							  rb_level *level);

/*
 * Plans, counts and fills the grids of a level and creates its work items. Crowded cells become the
 * nodes of `next`; next->nnodes is 0 if no cell is crowded.
 */
extern rb_status rb_level_fill(rb_device_run *run, const rb_device_set side[2], bool self,
							   rb_level *level, rb_level *next);
/* Frees the memory that was needed only to create the work items. */
extern void rb_level_spent(rb_device_run *run, rb_level *level);

/* Frees all device memory of a level. */
extern void rb_level_free(rb_device_run *run, rb_level *level);

/* ---- triangle_join.cu, box_join.cu: from work items to candidates, and the float test ---- */

/* Maximum number of pairs of a work item, and maximum size in bytes of its record */
#define RB_ITEM_PAIRS ((rb_count) RB_TILE_F * RB_TILE_F)
#define RB_ITEM_BYTES ((rb_count) RB_RECORD_MAX_BYTES)

/*
 * Output arrays of a launch. Before a block takes a work item, it reserves space for all pairs that
 * the item can yield, and afterwards it returns what it did not use (work_queue.cuh). So hits +
 * undecided never exceed the capacity of either array, and records never exceed theirs.
 */
typedef struct rb_pool
{
	rb_pair *hits; /* Hits from the front; pairs left by the double filter from the back */
	/*
	 * Pairs left undecided by the float test; later, hits of exact signs from the front, and pairs
	 * for the host from the back
	 */
	rb_pair *undecided;
	char *records;     /* Records that replace both arrays if overlapping boxes are the result */
	rb_count capacity; /* Capacity of each array, in pairs, or in bytes for records */
	struct rb_launch_tally *tally;
} rb_pool;

/* Counters of one launch, on the device */
typedef struct rb_launch_tally
{
	rb_count next; /* First work item not taken when the launch ended */
	rb_count reserved;
	rb_count full; /* Nonzero if a reservation did not fit */
	rb_count hits;
	rb_count bytes;            /* Bytes of records */
	rb_count float_undecided;  /* Pairs that the float test left undecided */
	rb_count filter_undecided; /* Pairs that the filters left undecided */
	rb_count exact_hits;       /* Hits found by exact signs */
	rb_count host_undecided;   /* Pairs that only GMP can decide */
	rb_count candidates;
	rb_count redundant; /* Overlaps seen in a cell that does not own the pair */
	rb_count exact;     /* Pairs that needed an exact sign */
	/* Exact signs computed with integers; the next field counts those computed with expansions */
	rb_count integer;
	rb_count expansion;
	rb_count clocks;       /* Clock cycles of warps on sampled work items */
	rb_count float_clocks; /* Part of `clocks` that was spent in float tests */
} rb_launch_tally;

typedef struct rb_mailbox
{
	rb_totals totals;
	uint32_t resolution[3]; /* Grid resolution of the first node of a level */
	double bounds[6];       /* Bounds of a new copy */
	rb_launch_tally tally[2];
} rb_mailbox;

typedef struct rb_cells_args
{
	rb_device_set side[2];
	const uint32_t *entry[2];
	const rb_item *items;
	rb_count nitems;
	uint32_t batch; /* Number of items that a block takes at a time */
	rb_count *next; /* First work item not yet taken, shared by all launches */
	rb_pool pool;
	const uint32_t *stop;
	uint32_t filters;
	rb_predicate predicate;
	double distance; /* Distance of RB_WITHIN */
	/* Payload bits of a pair of triangles that the float test accepts, already shifted */
	uint32_t payload;
	uint32_t axes; /* Bit set of the axes that the kinds have */
	bool faces;    /* True if both sides are triangles */
	bool boxes;    /* True if overlapping boxes are the result */
	/* True for a self join: both sides are the same, and the smaller index comes first */
	bool self;
	bool within;      /* True to report pairs within rows instead of pairs between rows */
	bool count_only;  /* True if hits are counted, not written */
	bool records;     /* True if pairs of boxes are written in groups (pair_coding.h) */
	rb_count reserve; /* Boxes: space in the pool that an item may need, in the pool's units */
	/*
	 * Counts or marks, one of which is set if they are needed: a word or a bit for each part of the
	 * sides that `of` selects
	 */
	uint32_t *counts;
	uint32_t *marks;
	rb_result_side of;
} rb_cells_args;

/*
 * Computes the number of thread blocks of the triangle join that fit on the device at once; for
 * other kinds, those of the box join.
 */
extern rb_status rb_cells_blocks(rb_device_run *run, const rb_cells_args *args, int *blocks);

/*
 * Launches the kernel that joins triangles with triangles; other kinds are passed on to
 * rb_boxes_launch.
 */
extern rb_status rb_cells_launch(rb_device_run *run, const rb_cells_args *args, int blocks);

/* Computes the number of thread blocks of the box join that fit on the device at once. */
extern rb_status rb_boxes_blocks(rb_device_run *run, const rb_cells_args *args, int *blocks);

/* Launches the kernel that joins the boxes of all kinds except triangles with triangles. */
extern rb_status rb_boxes_launch(rb_device_run *run, const rb_cells_args *args, int blocks);

/* ---- filters.cu, exact.cu: pairs that the float test left undecided (decide.cuh) ---- */

/* Launches the kernel that decides waiting pairs by filters. */
extern rb_status rb_filters_launch(rb_device_run *run, const rb_cells_args *args);

/* Returns the maximum useful number of blocks to decide the given number of pairs exactly. */
extern int rb_exact_blocks(const rb_device_run *run, rb_count pairs);

/* Returns the bytes that the expansions of `blocks` blocks need. */
extern uint64_t rb_exact_room(int blocks);

/* Launches the kernel that decides the pairs that filters left undecided, by expansions. */
extern rb_status rb_exact_launch(rb_device_run *run, const rb_cells_args *args, int blocks,
								 double *room);

/* ---- join.cu ---- */

/* Joins two sides that are on the device and sends the pairs to the sink. */
extern rb_status rb_join_sides(rb_device_run *run, const rb_device_set side[2], bool self);

/* Allocates run->words if the job needs them and the sink accepts them. */
extern rb_status rb_words_alloc(rb_device_run *run);

/* Sends the words to the sink after the last launch. */
extern rb_status rb_words_send(rb_device_run *run);

/* ---- refine.cu ---- */

/* Runs the rounds of a refinement on the device of ctx; implements rb_backend.refine. */
extern rb_status rb_device_refine(rb_context *ctx, struct rb_refining *r, size_t size);

/* ---- device helpers ---- */

#ifdef __CUDACC__

/* Computes the padded box of a part. */
static __device__ __forceinline__ void
rb_part_box(const rb_device_set *side, uint32_t part, double lo[3], double hi[3])
{
	rb_kind_box(side->kind, side->coords, part, lo, hi);
	rb_kind_pad(side->kind, side->pad, lo, hi);
}

/* Volatile access to words that other threads may write at any time */
#define rb_peek(p) (*(const volatile __typeof__(*(p)) *) (p))
#define rb_poke(p, x) (*(volatile __typeof__(*(p)) *) (p) = (x))

/* Converts indices within the two sides to the pair that the job reports. */
static __device__ __forceinline__ rb_pair
rb_pair_of(const rb_cells_args *args, uint32_t red, uint32_t blue)
{
	rb_pair p;

	red += args->side[0].base;
	blue += args->side[1].base;
	p.red = args->self && blue < red ? blue : red;
	p.blue = args->self && blue < red ? red : blue;
	return p;
}

/* Sets the bit of a part, given by its index in the job. */
static __device__ __forceinline__ void
rb_word_mark(uint32_t *marks, uint32_t part)
{
	uint32_t *word = &marks[part / 32];
	const uint32_t bit = 1u << part % 32;

	/* Most parts are hit more than once, and a read is cheaper than an atomic operation. */
	if ((rb_peek(word) & bit) == 0)
		atomicOr(word, bit);
}

/* Counts or marks the parts of a pair. */
static __device__ __forceinline__ void
rb_words_add(const rb_cells_args *args, rb_pair p)
{
	if (args->counts != NULL)
	{
		if (args->of != RB_OF_BLUE)
			atomicAdd(&args->counts[p.red], 1u);
		if (args->of != RB_OF_RED)
			atomicAdd(&args->counts[p.blue], 1u);
		return;
	}
	if (args->of != RB_OF_BLUE)
		rb_word_mark(args->marks, p.red);
	if (args->of != RB_OF_RED)
		rb_word_mark(args->marks, p.blue);
}

/* Returns true if the parts of the pair are already marked. */
static __device__ __forceinline__ bool
rb_words_are_marked(const rb_cells_args *args, rb_pair p)
{
	return (args->of == RB_OF_BLUE || (rb_peek(&args->marks[p.red / 32]) >> p.red % 32 & 1)) &&
		   (args->of == RB_OF_RED || (rb_peek(&args->marks[p.blue / 32]) >> p.blue % 32 & 1));
}

/* Returns the bits of a double, mapped so that their order is that of the doubles. */
static __host__ __device__ __forceinline__ rb_count
rb_key_of(double x)
{
	rb_count bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits >> 63 ? ~bits : bits | (rb_count) 1 << 63;
}

/* Returns the double of a sortable key. */
static __device__ __forceinline__ double
rb_key_value(rb_count key)
{
	return __longlong_as_double((long long) (key >> 63 ? key & ~((rb_count) 1 << 63) : ~key));
}

/* Returns the sum over all 32 lanes of a warp, in lane 0; all lanes must call it. */
static __device__ __forceinline__ rb_count
rb_warp_sum(rb_count x)
{
	for (int d = 16; d > 0; d /= 2)
		x += __shfl_down_sync(~0u, x, d);
	return x;
}

/*
 * Reserves `mine` elements at *counter for each thread of a block of at most 1024, and returns
 * where the thread's own elements begin. All threads must call it; the block issues one atomic
 * operation.
 */
static __device__ __forceinline__ rb_count
rb_block_reserve(uint32_t mine, rb_count *counter)
{
	__shared__ rb_count warp_start[33];
	const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
	uint32_t before = mine;
	rb_count at;

	for (int d = 1; d < 32; d *= 2)
	{
		uint32_t other = __shfl_up_sync(~0u, before, d);

		if (lane >= (uint32_t) d)
			before += other;
	}
	if (lane == 31)
		warp_start[warp] = before;
	__syncthreads();
	if (threadIdx.x == 0)
	{
		rb_count sum = 0;

		for (uint32_t w = 0; w < (blockDim.x + 31) / 32; w++)
		{
			rb_count n = warp_start[w];

			warp_start[w] = sum;
			sum += n;
		}
		warp_start[32] = sum > 0 ? atomicAdd(counter, sum) : 0;
	}
	__syncthreads();
	at = warp_start[32] + warp_start[warp] + before - mine;
	__syncthreads();
	return at;
}

#endif

#endif /* RB_CUDA_CUDA_CUH */
