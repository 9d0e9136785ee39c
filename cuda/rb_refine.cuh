/*
 * rb_refine.cuh
 *	  What the files of refinement on a device share.
 *
 *		refine.cu			the mesh there and back; rounds, as rounds.c has them
 *		refine_arena.cu		arrays that grow where they are
 *		refine_lists.cu		work lists and numbers: everything that has an order
 *		refine_filters.cu	cavities, and who wins, by filters alone
 *		refine_exact.cu		what filters left, by exact signs; large cavities
 *		refine_fill.cu		claims, new cells, and what these need
 *
 * A thread has a candidate, or a cell; the steps are those of rb_round.h.  What has an order gets it from sums
 * over blocks of threads, never from who comes first.
 */
#ifndef RB_REFINE_CUH
#define RB_REFINE_CUH

#include "rb_cuda.cuh"
#include "refine/rb_refining.h"

#define RB_REFINE_THREADS 128 /* of a block that grows cavities, */
#define RB_REFINE_BLOCK 256   /* and of all others */

/*
 * Signs that only GMP knows.  Whoever needs one writes its points down, and gives up for now; the host answers
 * all that is new, and those begin again.  An answer is found by its points, and stays true: so it is
 * kept for later rounds, until there is no room.
 */
#define RB_REFINE_ASKED (1u << 15)
#define RB_REFINE_ASKED_TABLE (4 * RB_REFINE_ASKED)

typedef struct rb_refine_query
{
	double p[15];
	uint32_t n; /* points: 4, orient3d; 5, insphere */
	uint32_t unused;
} rb_refine_query;

typedef struct rb_refine_asked
{
	rb_refine_query *query;
	int8_t *answer;
	uint32_t *table;  /* by a hash of the points: which query, or RB_NOWHERE */
	uint32_t *n;      /* queries, on the device */
	uint32_t answers; /* of the first so many */
} rb_refine_asked;

/* what kernels tell the host */
typedef struct rb_refine_counts
{
	rb_count cavities; /* words of cavities */
	uint32_t open;     /* left by filters, in list 0 */
	uint32_t asks;     /* left by exact signs, in list 1 */
	uint32_t waiting;  /* of those in list 1: so many ask still */
	uint32_t large;    /* without room */
	uint32_t wide;     /* in large rooms, and would have had none in a small one */
	uint32_t next;     /* the next candidate that a warp takes */
	uint32_t listed;   /* by rb_refine_list_large */
	uint32_t full;     /* max_points was met */
	uint32_t stuck;    /* pieces that could not be split alone */
	uint4 winners;     /* their number, new cells, old cells; candidates that were of use */
	uint4 back;        /* what candidates put back: pieces, walls, tetrahedra, later */
	uint4 needs;       /* what fresh cells need: pieces, walls, tetrahedra */
} rb_refine_counts;

/* ---- refine_arena.cu ---- */

/*
 * An array of the device that grows at its end and stays where it is: addresses are reserved for as much as the
 * device has, and memory comes behind them bit by bit.  So nothing is copied, there are never two of
 * it, and little of it is empty.  Where a device cannot do that, it is a block, and moves to a larger one.
 */
#define RB_REFINE_PIECES 500 /* each is a 32nd more at least: so many are never needed */

typedef struct rb_refine_arena
{
	void *at;
	bool small;        /* a block is wanted, for it will hardly be as large as one step */
	uint64_t bytes;    /* there */
	uint64_t reserved; /* addresses; 0: a block */
	uint64_t step;     /* memory comes in multiples of that */
	uint32_t pieces;
	uint32_t piece[RB_REFINE_PIECES]; /* in steps */
} rb_refine_arena;

/* it has that many bytes at least, and the first `used` of them are kept; RB_DEVICE_FULL as rb_device_alloc */
extern rb_status rb_refine_stretch(rb_device_run *run, rb_refine_arena *arena, uint64_t used,
								   uint64_t bytes);
/* nothing on the device uses it any more */
extern void rb_refine_arena_free(rb_device_run *run, rb_refine_arena *arena);

/* of a room with a table, a multiple of 16 */
static inline __host__ __device__ uint32_t
rb_refine_room_bytes(uint32_t cells, uint32_t walls)
{
	return (cells * 13 + walls * 4 + 15) / 16 * 16;
}

/* the one huge room, which only one block at a time uses; large ones are in shared memory */
typedef struct rb_refine_huge
{
	char *at;
	uint32_t cells;
} rb_refine_huge;

#define RB_REFINE_LARGE_BYTES rb_refine_room_bytes(RB_ROOM_CELLS_LARGE, RB_ROOM_WALLS_LARGE)

typedef struct rb_refine_args
{
	rb_cells m;
	rb_candidate *cands;
	uint32_t ncands;
	uint32_t *cavities;
	rb_count cavities_cap;
	rb_refine_counts *counts;
	uint32_t *list[3]; /* candidates: open, asking, large */
	uint32_t filters;
	rb_refine_huge huge;
	double *expansions; /* room for them, of so many warps */
	uint32_t expansion_warps;
	rb_refine_asked asked;
	/* numbers */
	uint4 *sums; /* of blocks */
	uint32_t nsites, most_winners;
	bool protecting;
	uint32_t *winners, *freed_at, *freed;
	uint32_t nwinners, nfresh;
	rb_places places;
	uint16_t *needs;
	rb_entry64 *pieces, *walls, *tets, *later; /* lists, */
	uint32_t npieces, nwalls, ntets, nlater;   /* and where they are appended to */
	uint64_t *launches;                        /* of the host: so many */
} rb_refine_args;

/* after a launch */
#define RB_REFINE_LAUNCHED(run, a, name) \
	do                                   \
	{                                    \
		++*(a)->launches;                \
		RB_LAUNCHED(run, name);          \
	} while (0)

/* what stands in a list, at most `most`; asking: those that wait for answers */
typedef struct rb_refine_some
{
	const uint32_t *list; /* NULL: the first `most` of all */
	const uint32_t *n;    /* on the device */
	uint32_t most;
	bool asking;
	bool large; /* in large rooms */
	bool huge;  /* in the huge one, and what has no room there either is given up */
} rb_refine_some;

/* ---- refine_filters.cu ---- */

extern rb_status rb_refine_make(rb_device_run *run, const rb_refine_args *a);
extern rb_status rb_refine_grow(rb_device_run *run, const rb_refine_args *a);
extern rb_status rb_refine_grow_large(rb_device_run *run, const rb_refine_args *a,
									  const rb_refine_some *some);
extern rb_status rb_refine_beside(rb_device_run *run, const rb_refine_args *a);

/* ---- refine_exact.cu ---- */

/* so many at once; and so many in large rooms */
extern uint32_t rb_refine_exact_warps(void);
extern uint32_t rb_refine_exact_teams(void);
extern rb_status rb_refine_grow_exact(rb_device_run *run, const rb_refine_args *a,
									  const rb_refine_some *some);
extern rb_status rb_refine_beside_exact(rb_device_run *run, const rb_refine_args *a,
										const rb_refine_some *some);

/* ---- refine_fill.cu ---- */

extern rb_status rb_refine_claim(rb_device_run *run, const rb_refine_args *a);
extern rb_status rb_refine_fill(rb_device_run *run, const rb_refine_args *a);
extern rb_status rb_refine_needs(rb_device_run *run, const rb_refine_args *a);

/* ---- refine_lists.cu ---- */

/* so many blocks have sums */
static inline uint32_t
rb_refine_blocks(uint32_t n)
{
	return (n + RB_REFINE_BLOCK - 1) / RB_REFINE_BLOCK;
}

/* the candidates of a round, from the ends of the lists */
extern rb_status rb_refine_gather(rb_device_run *run, const rb_refine_args *a,
								  const rb_entry64 *from, uint32_t n, uint32_t to);
/* of these every step-th from number `turn` on, n in all, and the others to `left` */
extern rb_status rb_refine_spread(rb_device_run *run, const rb_refine_args *a,
								  const rb_entry64 *from, uint32_t all, uint32_t step,
								  uint32_t turn, uint32_t n, rb_entry64 *left);
/* those that grew are to grow again */
extern rb_status rb_refine_again(rb_device_run *run, const rb_refine_args *a);
/* at most so many without room, in list 2 */
extern rb_status rb_refine_list_large(rb_device_run *run, const rb_refine_args *a, uint32_t most);
/* sums of winners; then their numbers */
extern rb_status rb_refine_sum_winners(rb_device_run *run, const rb_refine_args *a);
extern rb_status rb_refine_number_winners(rb_device_run *run, const rb_refine_args *a);
/* sums of what goes into the lists; then that */
extern rb_status rb_refine_sum_back(rb_device_run *run, const rb_refine_args *a);
extern rb_status rb_refine_put_back(rb_device_run *run, const rb_refine_args *a);
extern rb_status rb_refine_put_stuck(rb_device_run *run, const rb_refine_args *a, rb_entry64 *to);
extern rb_status rb_refine_sum_needs(rb_device_run *run, const rb_refine_args *a, uint4 *sums);
extern rb_status rb_refine_put_needs(rb_device_run *run, const rb_refine_args *a,
									 const uint4 *sums);

/* ---- device helpers ---- */

#ifdef __CUDACC__

static __device__ __forceinline__ uint32_t
rb_refine_end(const rb_refine_some *some)
{
	uint32_t n = some->list != NULL ? *some->n : some->most;

	return n < some->most ? n : some->most;
}

/* its cavity is larger than any room */
static __device__ __forceinline__ void
rb_refine_give_up(rb_candidate *cand)
{
	cand->verdict = RB_KEPT;
	cand->reason = RB_BAD_TOO_FINE;
}

static __device__ __forceinline__ const uint32_t *
rb_refine_cells_of(const rb_refine_args *a, const rb_candidate *cand)
{
	return a->cavities + cand->cavity;
}

#endif

#endif /* RB_REFINE_CUH */
