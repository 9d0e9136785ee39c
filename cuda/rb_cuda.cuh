/*
 * rb_cuda.cuh
 *	  What the files of this layer share, grouped under the file that defines it.
 *
 * A join on the device (device.cu, backend.cu), from coordinates to pairs:
 *
 *	  upload -> bounds -> plan -> count -> scan -> fill -> work items		level.cu, level.cuh
 *	  work item -> tiles -> boxes -> candidates -> float test				cells.cu
 *	  or, where no triangle meets a triangle: candidates at once			boxes.cu
 *	                                  |yes            |not sure
 *	                                  v               v
 *	                                pairs <- double, integers, expansions	filters.cu, exact.cu
 *	                                  |               |beyond exponents
 *	                                  v               v
 *	                                 host <- GMP, in parallel				join.cu
 *
 * Where a count or a bit for each row is wanted, words.cu makes them of the pairs
 * while these are still on the device.
 *
 * Cells with too much in them become nodes of the next level and get grids of
 * their own, all in one go, until nothing is crowded or nothing is gained.
 *
 * Nothing here is known to PostgreSQL, and no function of this layer throws,
 * exits or prints.  Every call of the runtime is checked (RB_CUDA).
 */
#ifndef RB_CUDA_CUH
#define RB_CUDA_CUH

#include "tuning.cuh"

#include "core/join/rb_join.h"
#include "core/shape/rb_float.h"
#include "core/join/rb_grid.h"
#include "core/exact/rb_interval.h"
#include "core/out/rb_records.h"
#include "core/out/rb_services.h"

#include <cuda_runtime.h>

typedef unsigned long long rb_count; /* what atomicAdd takes */

struct rb_device_run;
struct rb_mailbox;

/* ---- services.cu: the functions of the core, out of a table ---- */

extern void rb_services_use(const rb_services *services);

/* ---- device.cu: each found once, open while joins need it ---- */

#define RB_DEVICES RB_CARDS /* of which there is a state; a host has seldom more than eight */

/* a device, as it was found, and what is kept on it between joins */
typedef struct rb_device
{
	int id;
	int sms;
	bool pools;         /* cudaMallocAsync ... */
	cudaMemPool_t pool; /* ... out of this one */
	uint64_t bytes;
	uint64_t seen; /* megabytes that were free, with those of the pool; above, when (backend.cu) */
	char text[80];
	uint32_t tried; /* sorts of joins of which all kernels were launched (join.cu) */
	struct rb_device_queue *queues; /* that no join has */
	struct rb_device_copy *copies;  /* cache.cu: sets that stay on it, ... */
	uint64_t copied;                /* ... and their bytes, with those that are being made */
} rb_device;

/* RB_OK and its name, or RB_NO_DEVICE and why */
extern rb_status rb_device_probe(int device, char *text, size_t size);
/* how many there are, whatever they are */
extern int rb_device_count(void);
/* is it open, so that a join need not wait for that? */
extern bool rb_device_warm(int device);
/* opens that of run->ctx, sets run->device, and directs this thread's calls to it */
extern rb_status rb_device_take(struct rb_device_run *run);
extern void rb_device_give(struct rb_device_run *run);
/* without a join: this thread's calls go to it from then on; NULL where it is not open */
extern rb_device *rb_device_borrow(int device);
extern void rb_device_return(rb_device *device);
/* after a failed call: can it be used again? */
extern void rb_device_check(struct rb_device_run *run, const char *why);

/* ---- backend.cu: one join ---- */

#define RB_MARKS 32
#define RB_BLOCKS 48 /* allocations of a join */

typedef struct rb_device_run
{
	rb_context *ctx;
	const rb_job *job;
	const rb_sink *sink;
	struct rb_device_queue *queue;
	rb_device *device;
	double until;    /* so long may be waited for memory that others hold (rb_now_ms) */
	uint64_t need;   /* bytes that were not to be had, with all that were there; for the error */
	uint64_t free;   /* bytes of the device that were free at first; 0: not known */
	uint64_t budget; /* bytes of device memory */
	uint64_t used;
	void *block[RB_BLOCKS];
	uint64_t size[RB_BLOCKS];
	struct rb_device_copy *copy[4]; /* that it uses, or has made */
	int ncopies;
	int nmarks;
	int mark_stage[RB_MARKS]; /* what the time up to this mark was spent on; -1: nothing */
	bool stopping;            /* the kernels were told */
	bool emitted;             /* pairs were handed out: too late to begin again */
	uint32_t *words;          /* on the device, in place of pairs (words.cu), or NULL */
	bool top;                 /* no grid was made yet */
} rb_device_run;

/* ---- queue.cu: streams, events, pinned pieces; time and waiting ---- */

/*
 * A failed call of the runtime becomes a status with the call's name; want of memory
 * becomes RB_DEVICE_FULL without an error in the context: the caller may try with less.
 */
extern rb_status rb_cuda_failed(rb_device_run *run, cudaError_t error, const char *call);

#define RB_CUDA(run, call)                                    \
	do                                                        \
	{                                                         \
		cudaError_t rb_cuda_error = (call);                   \
		if (rb_cuda_error != cudaSuccess)                     \
			return rb_cuda_failed(run, rb_cuda_error, #call); \
	} while (0)

/* the same after a kernel launch */
#define RB_LAUNCHED(run, name)                                    \
	do                                                            \
	{                                                             \
		cudaError_t rb_cuda_error = cudaGetLastError();           \
		if (rb_cuda_error != cudaSuccess)                         \
			return rb_cuda_failed(run, rb_cuda_error, name "()"); \
	} while (0)

#define RB_TRY(call)                      \
	do                                    \
	{                                     \
		rb_status rb_try_status = (call); \
		if (rb_try_status != RB_OK)       \
			return rb_try_status;         \
	} while (0)

/*
 * Bring a kernel to the device.  The driver does so at its first launch otherwise, and waits
 * there until the device is idle: behind a long kernel the host would be deaf to a wish to stop.
 */
extern rb_status rb_kernel_load(rb_device_run *run, const void *kernel);

#define RB_SLOTS 4 /* pieces of pinned memory through which bytes go */
#define RB_SLOT_BYTES ((size_t) 16 << 20)

/* begin, the ends of two kernels, all told; begin and end of the exact signs */
#define RB_LAUNCH_EVENTS 6

/* streams, events and pinned memory: costly to make, so kept for the next join */
typedef struct rb_device_queue
{
	struct rb_device_queue *next;
	cudaStream_t compute;
	cudaStream_t copy;
	cudaEvent_t mark[RB_MARKS];
	cudaEvent_t done;                        /* all that was asked of the compute stream */
	cudaEvent_t launch[2][RB_LAUNCH_EVENTS]; /* of a launch into pool 0, 1 */
	cudaEvent_t slot_from[RB_SLOTS];
	cudaEvent_t slot_done[RB_SLOTS];
	char *slot[RB_SLOTS];
	struct rb_mailbox *mailbox; /* pinned: what kernels tell the host */
	uint32_t *stop;             /* on the device: not 0 when kernels should end */
} rb_device_queue;

/* a queue for this join, of its own; given back for the next one unless a call on it failed */
extern rb_status rb_queue_take(rb_device_run *run);
extern void rb_queue_give(rb_device_run *run, bool healthy);
/* all that the device keeps; no join has one */
extern void rb_queues_release(rb_device *device);

/* steps of the grid's stage: stats.grid_ms, in its order */
enum
{
	RB_STEP_PLAN = RB_STAGES,
	RB_STEP_MAP,
	RB_STEP_SCHEDULE
};

/* the time on the compute stream since the last mark belongs to that stage; -1: to none */
extern rb_status rb_mark(rb_device_run *run, int stage);

/* tell the kernels to end */
extern void rb_stop_kernels(rb_device_run *run);

/* wait for all that was asked of both streams, whatever became of it; kernels may run again */
extern void rb_queue_idle(rb_device_run *run);

/* so many nanoseconds, less than a second */
extern void rb_doze(long ns);

/* wait for an event, or for all of the compute stream; pass a wish to stop on to the kernels */
extern rb_status rb_wait(rb_device_run *run, cudaEvent_t event);
extern rb_status rb_sync(rb_device_run *run);

/* ---- pool.cu ---- */

/* bytes of the device that count for nobody, of this join's queue; and back */
extern cudaError_t rb_device_take_block(rb_device_run *run, void **block, uint64_t bytes);
extern void rb_device_give_block(rb_device_run *run, void *block);

/* ---- memory.cu ---- */

/* bytes that this process's pool has of the device, used or not */
extern uint64_t rb_device_reserved(rb_device_run *run);

/* all that a join may hope for: what is free, and what this process's pool has idle */
extern uint64_t rb_device_budget(rb_device_run *run);

/*
 * Device memory within run->budget.  RB_DEVICE_FULL without an error in the
 * context: the caller may try with less.  Freed by rb_device_free or, all of it,
 * by rb_device_free_all.
 */
extern rb_status rb_device_alloc(rb_device_run *run, void **block, uint64_t bytes);
extern void rb_device_free(rb_device_run *run, void **block);
extern void rb_device_free_all(rb_device_run *run);

/* ---- cache.cu: copies of kept sets ---- */

typedef struct rb_device_copy rb_device_copy;

/*
 * The coordinates of a set on the device; NULL where there is no copy and none can be made.
 * For this join, until rb_copies_give.
 */
extern rb_status rb_copy_take(rb_device_run *run, const rb_set *set, const double **coords);

/* the join has ended, and with it all that it had the device do */
extern void rb_copies_give(rb_device_run *run, bool failed);

/* gives one up that nobody uses; false where there is none */
extern bool rb_copies_evict(rb_device_run *run);

/* bytes of those that nobody uses */
extern uint64_t rb_copies_idle(rb_device *device);

/* bytes of that set's copy there; drop: it is given up, unless a join uses it */
extern uint64_t rb_copy_bytes(rb_device *device, uint64_t number, bool drop);

/* the device is closed */
extern void rb_copies_close(rb_device *device);

/* ---- view.cu ---- */

/* those of a view, in memory of this join; NULL where its kept set is not there */
extern rb_status rb_view_gather(rb_device_run *run, const rb_set *set, const double **coords);

/* ---- transfer.cu ---- */

/* host to device on the compute stream, returns when `from` is free again */
extern rb_status rb_upload(rb_device_run *run, void *to, const void *from, size_t bytes);

/* what is done with bytes that came from the device; they are gone when it returns */
typedef rb_status (*rb_consume)(rb_device_run *run, void *arg, const void *bytes, size_t n);

/* device to host on the copy stream, in pieces of whole `element`s, consumed in order */
extern rb_status rb_download(rb_device_run *run, const void *from, size_t bytes, size_t element,
							 rb_consume consume, void *arg);

/* device to host memory, whole */
extern rb_status rb_fetch(rb_device_run *run, void *to, const void *from, size_t bytes);

/* ---- level.cu: nodes, their grids, work items ---- */

/* one side of a join on the device */
typedef struct rb_device_set
{
	const double *coords;
	const uint32_t *row_of; /* NULL: no two parts share a row, or it does not matter */
	uint32_t n;
	uint32_t base; /* index of part 0 in the job */
	rb_kind kind;
	double pad; /* of all boxes (rb_pad_of) */
} rb_device_set;

/* a cell of the level above, or at the top everything; to be cut by a grid */
typedef struct rb_node
{
	rb_count key[2][6]; /* bounds of red and blue: least lo, least -hi (ordered bits) */
	double meet_lo[3];  /* where both sides' bounds meet: nothing outside matters */
	double meet_hi[3];
	double lo[3]; /* the same within the cell: the region of the grid */
	double hi[3];
	double cell_lo[3]; /* the cell, infinite at the top */
	double cell_hi[3];
	double sum[2][9]; /* of a sample: objects, those that matter, moments of extents */
	rb_grid grid;
	uint32_t begin[2]; /* contents among the entries of the level above */
	uint32_t count[2];
	rb_count first;  /* its first cell among the cells of its level */
	rb_count tests;  /* red times blue of the cell it refines */
	uint32_t shrunk; /* the region is much smaller than the cell */
} rb_node;

/* some objects of one side of a node: what one block of threads looks at */
typedef struct rb_chunk
{
	uint32_t node;
	uint32_t begin; /* among the entries of the level above; at the top, an index */
	uint32_t n;
	uint32_t side_number; /* side in bit 0; above, which chunk of that side of the node */
} rb_chunk;

#define RB_CHUNK 1024

/* red times blue, at most RB_TILE_F a side, of one cell: what a block joins at once */
typedef struct rb_item
{
	uint32_t red; /* first entry */
	uint32_t blue;
	uint32_t n; /* red's number | blue's << 16 */
	uint32_t unused;
	rb_frame frame; /* of the cell, for floats */
} rb_item;

typedef struct rb_level
{
	rb_node *nodes;
	struct rb_totals *totals;
	rb_chunk *chunks;
	uint32_t *above[2]; /* entries of the level above, owned; NULL: every object */
	uint32_t nnodes;
	uint32_t nchunks;
	rb_count *count;    /* per cell: red in the lower half, blue in the upper */
	rb_count *start;    /* the same summed up, one more */
	uint32_t *entry[2]; /* index, and in the top three bits where it starts (rb_grid.h) */
	rb_item *items;
	rb_count nitems;
	rb_count item_tests; /* most pairs that the items can give */
} rb_level;

/* totals over the cells of a level */
typedef struct rb_totals
{
	rb_count cells;         /* from the plan, */
	rb_count expected;      /* and so many incidences, about */
	rb_count placed;        /* incidences that were listed, or would have been */
	rb_count incidences[2]; /* in cells that have both colours */
	rb_count items;         /* work items of cells that are not crowded, */
	rb_count item_tests;
	rb_count crowded_items; /* what crowded ones would have, */
	rb_count crowded_tests;
	rb_count many;           /* cells with very many items */
	rb_count crowded;        /* how many are crowded, */
	rb_count crowded_chunks; /* and the chunks that they make as nodes */
	rb_count made_items;     /* cursors while items, from both ends, nodes and chunks are written */
	rb_count made_little;
	rb_count made_many;
	rb_count made_nodes;
	rb_count made_chunks;
} rb_totals;

/* the top: one node with all objects; no node where there are none */
extern rb_status rb_level_top(rb_device_run *run, const rb_device_set side[2], bool self,
							  rb_level *level);

/*
 * Plans, counts and fills the grids of a level and makes its work items.  What is
 * crowded becomes `next` (next->nnodes is 0 when nothing is).
 */
extern rb_status rb_level_fill(rb_device_run *run, const rb_device_set side[2], bool self,
							   rb_level *level, rb_level *next);
/* what only the making of items took */
extern void rb_level_spent(rb_device_run *run, rb_level *level);
extern void rb_level_free(rb_device_run *run, rb_level *level);

/* ---- scan.cu ---- */

/* bytes of scratch for n sums */
extern cudaError_t rb_scan_bytes(rb_count n, size_t *bytes);

/* out[i] = in[0] + .. + in[i - 1] for i < n */
extern cudaError_t rb_scan(void *scratch, size_t bytes, const rb_count *in, rb_count *out,
						   rb_count n, cudaStream_t stream);

/* ---- cells.cu, boxes.cu: from work items to candidates, and the float test ---- */

/* most pairs of a work item, and most bytes of the record that has them */
#define RB_ITEM_PAIRS ((rb_count) RB_TILE_F * RB_TILE_F)
#define RB_ITEM_BYTES ((rb_count) RB_RECORD_MOST)

/*
 * Where pairs go.  A block reserves room for all that a work item can give before it
 * takes it, and gives back what it did not use (take.cuh): hits + undecided never
 * exceed the capacity of either array, nor records theirs.
 */
typedef struct rb_pool
{
	rb_pair *hits;      /* from the front; what the double filter left from the back */
	rb_pair *undecided; /* then more hits from the front, pairs for the host from the back */
	char *records;      /* in their place, where overlapping boxes are the answer */
	rb_count capacity;  /* of each, in pairs or in bytes */
	struct rb_tally *tally;
} rb_pool;

/* counters of one launch, on the device */
typedef struct rb_tally
{
	rb_count next; /* the first work item that nobody took, at the launch's end */
	rb_count reserved;
	rb_count full; /* not 0 when a reservation did not fit */
	rb_count hits;
	rb_count bytes;            /* of records */
	rb_count float_undecided;  /* pairs that the float test left */
	rb_count filter_undecided; /* pairs that the filters left */
	rb_count exact_hits;       /* hits among them, */
	rb_count host_undecided;   /* and pairs that only GMP decides */
	rb_count candidates;
	rb_count redundant; /* overlaps seen in a cell that does not own them */
	rb_count exact;     /* pairs that took an exact sign, */
	rb_count integer;   /* and the signs by means */
	rb_count expansion;
	rb_count clocks;       /* sampled: of warps at work on items, */
	rb_count float_clocks; /* and at float tests */
} rb_tally;

typedef struct rb_mailbox
{
	rb_totals totals;
	uint32_t resolution[3]; /* of the first node of a level */
	rb_tally tally[2];
} rb_mailbox;

typedef struct rb_cells_args
{
	rb_device_set side[2];
	const uint32_t *entry[2];
	const rb_item *items;
	rb_count nitems;
	uint32_t batch; /* items that a block takes at once */
	rb_count *next; /* the first work item that nobody took; one for all launches */
	rb_pool pool;
	const uint32_t *stop;
	uint32_t filters;
	rb_predicate predicate;
	double distance;  /* RB_WITHIN */
	uint32_t told;    /* of two triangles of which the float test says yes, in place */
	uint32_t axes;    /* bits of those that the kinds have */
	bool faces;       /* triangles on both sides */
	bool boxes;       /* overlapping boxes are the answer */
	bool self;        /* the two sides are one; smaller index first */
	bool within;      /* pairs within rows are wanted, instead of those between rows */
	bool count_only;  /* hits are counted, not written */
	bool records;     /* boxes: pairs in groups (rb_records.h) */
	rb_count reserve; /* boxes: what an item can need of the pool, in its units */
	/* one of these where words are wanted, of the parts of the job that `of` names */
	uint32_t *counts;
	uint32_t *marks;
	rb_of of;
} rb_cells_args;

/* blocks that fit on the device at once */
extern rb_status rb_cells_blocks(rb_device_run *run, const rb_cells_args *args, int *blocks);
extern rb_status rb_cells_launch(rb_device_run *run, const rb_cells_args *args, int blocks);

/* the same for all that is not triangles on both sides */
extern rb_status rb_boxes_blocks(rb_device_run *run, const rb_cells_args *args, int *blocks);
extern rb_status rb_boxes_launch(rb_device_run *run, const rb_cells_args *args, int blocks);

/* ---- filters.cu, exact.cu: what float left (decide.cuh) ---- */

extern rb_status rb_filters_launch(rb_device_run *run, const rb_cells_args *args);

/* most blocks that are of use, and the room for expansions that each needs */
extern int rb_exact_blocks(const rb_device_run *run, rb_count pairs);
extern uint64_t rb_exact_room(int blocks);
extern rb_status rb_exact_launch(rb_device_run *run, const rb_cells_args *args, int blocks,
								 double *room);

/* ---- words.cu: a count or a bit for each part ---- */

/* memory for them where the job wants them and the sink takes them; else none */
extern rb_status rb_words_make(rb_device_run *run);

/* adds the hits that lie in the pool: those of floats and filters, or of exact signs */
extern rb_status rb_words_launch(rb_device_run *run, const rb_cells_args *args, bool exact);

/* to the sink, when all is done */
extern rb_status rb_words_put(rb_device_run *run);

/* ---- join.cu ---- */

extern rb_status rb_join_sides(rb_device_run *run, const rb_device_set side[2], bool self);

/* ---- refine.cu ---- */

extern rb_status rb_device_refine(rb_context *ctx, struct rb_refining *r, size_t size);

/* ---- device helpers ---- */

#ifdef __CUDACC__

/* the padded box of a part */
static __device__ __forceinline__ void
rb_part_box(const rb_device_set *side, uint32_t part, double lo[3], double hi[3])
{
	rb_kind_box(side->kind, side->coords, part, lo, hi);
	rb_kind_pad(side->kind, side->pad, lo, hi);
}

/* what other threads may write at any moment: asked for anew, and written at once */
#define rb_peek(p) (*(const volatile __typeof__(*(p)) *) (p))
#define rb_poke(p, x) (*(volatile __typeof__(*(p)) *) (p) = (x))

/* the pair as the job wants it, from indices within the two sides */
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

/* of a part, an index of the job */
static __device__ __forceinline__ void
rb_word_mark(uint32_t *marks, uint32_t part)
{
	uint32_t *word = &marks[part / 32];
	const uint32_t bit = 1u << part % 32;

	/* most parts are hit more than once, and looking is cheaper */
	if ((rb_peek(word) & bit) == 0)
		atomicOr(word, bit);
}

/* a pair of such parts */
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

/* is there nothing to learn from it? */
static __device__ __forceinline__ bool
rb_words_know(const rb_cells_args *args, rb_pair p)
{
	return (args->of == RB_OF_BLUE || (rb_peek(&args->marks[p.red / 32]) >> p.red % 32 & 1)) &&
		   (args->of == RB_OF_RED || (rb_peek(&args->marks[p.blue / 32]) >> p.blue % 32 & 1));
}

/* order-preserving bits of a double */
static __device__ __forceinline__ rb_count
rb_key_of(double x)
{
	rb_count bits = (rb_count) __double_as_longlong(x);

	return bits >> 63 ? ~bits : bits | (rb_count) 1 << 63;
}

static __device__ __forceinline__ double
rb_key_value(rb_count key)
{
	return __longlong_as_double((long long) (key >> 63 ? key & ~((rb_count) 1 << 63) : ~key));
}

static __device__ __forceinline__ rb_count
rb_warp_sum(rb_count x)
{
	for (int d = 16; d > 0; d /= 2)
		x += __shfl_down_sync(~0u, x, d);
	return x;
}

/*
 * Each thread of a block of at most 1024 wants `mine` places behind *counter;
 * answers where its own begin.  All threads call it; one atomic operation in all.
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

#endif /* RB_CUDA_CUH */
