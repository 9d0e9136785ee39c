/*
 * refine.cuh
 *	  Declares what the files of mesh refinement on a device share.
 *
 *	refine.cu			transfers the mesh and runs the rounds, like rounds.c
 *	refine_arena.cu		arrays that grow in place
 *	refine_lists.cu		work lists and numbering: everything that has an order
 *	refine_round.cu		cavities and winners, decided by filters alone; their new cells
 *	refine_exact.cu		signs that the filters left, and large cavities, decided exactly
 *
 * A thread handles one candidate or one cell, and the steps are those of round.h. All orders and
 * numbers come from prefix sums over thread blocks, never from the order in which threads run.
 */
#ifndef RB_CUDA_REFINE_CUH
#define RB_CUDA_REFINE_CUH

#include "cuda.cuh"
#include "refine/refining.h"

#define RB_REFINE_THREADS 128 /* Threads of a block that grows cavities */
#define RB_REFINE_BLOCK 256   /* Threads of all other blocks */

/*
 * Signs that only GMP can compute. A thread that needs one writes its points to a table and
 * abandons its candidate for now. The host computes the new signs, and these candidates start
 * again. A sign is looked up by its points and never becomes invalid, so it is cached for later
 * rounds until the table is full.
 */
#define RB_REFINE_ASKED (1u << 15)
#define RB_REFINE_ASKED_TABLE (4 * RB_REFINE_ASKED)

typedef struct rb_refine_query
{
	double p[15];
	uint32_t n; /* Number of points: 4 for orient3d, 5 for insphere */
	uint32_t unused;
} rb_refine_query;

typedef struct rb_refine_signs
{
	rb_refine_query *query;
	int8_t *answer;
	uint32_t *table;  /* Hash table over the points: index of the query, or RB_NOWHERE */
	uint32_t *n;      /* Number of queries, on the device */
	uint32_t answers; /* Number of queries with a known sign: the first ones */
} rb_refine_signs;

/* Counters that kernels report to the host */
typedef struct rb_refine_counts
{
	rb_count cavities; /* Words of cavities written */
	uint32_t open;     /* Candidates that the filters leave, in list 0 */
	uint32_t asks;     /* Candidates that exact signs leave, in list 1 */
	uint32_t waiting;  /* Candidates of list 1 that still wait for a sign */
	uint32_t large;    /* Candidates whose workspace was too small */
	uint32_t wide;     /* Candidates that exceeded a small workspace */
	uint32_t next;     /* Next candidate that a warp takes */
	uint32_t listed;   /* Candidates listed by rb_refine_list_large */
	uint32_t full;     /* Nonzero if max_points was reached */
	uint32_t blocked;  /* Subsegments that cannot be split alone */
	/* Winners: x number, y new cells, z old cells; w candidates that competed for cells */
	uint4 winners;
	/*
	 * Entries put back by candidates: x subsegments, y constrained faces, z tetrahedra, w deferred
	 */
	uint4 back;
	uint4 needs; /* Entries for new cells: x subsegments, y constrained faces, z tetrahedra */
} rb_refine_counts;

/* ---- refine_arena.cu ---- */

/*
 * An array on the device that grows at its end without moving. It reserves addresses for as much
 * memory as the device has, and memory is mapped there step by step. So nothing is copied, no
 * second array is ever needed, and little memory is unused. If the device cannot map memory, the
 * array is one block that moves when it grows.
 */
/* Maximum number of mappings, which suffices because each mapping adds at least 1/32 */
#define RB_REFINE_PIECES 500

typedef struct rb_refine_arena
{
	void *at;
	/* True for an array that hardly exceeds one step and is therefore allocated as a block */
	bool small;
	uint64_t bytes;    /* Size in bytes */
	uint64_t reserved; /* Reserved addresses in bytes, or 0 for a block */
	uint64_t step;     /* Granularity of mapped memory, in bytes */
	uint32_t pieces;
	uint32_t piece[RB_REFINE_PIECES]; /* Size of each mapping, in steps */
} rb_refine_arena;

/*
 * Grows an array to at least `bytes` bytes and preserves the first `used` of them. Returns
 * RB_DEVICE_FULL like rb_device_alloc.
 */
extern rb_status rb_refine_arena_grow(rb_device_run *run, rb_refine_arena *arena, uint64_t used,
									  uint64_t bytes);
/* Frees an array that no work on the device uses any more. */
extern void rb_refine_arena_free(rb_device_run *run, rb_refine_arena *arena);

/* Returns the bytes of a cavity workspace with a hash table, a multiple of 16. */
static inline __host__ __device__ uint32_t
rb_refine_room_bytes(uint32_t cells, uint32_t walls)
{
	return (cells * 13 + walls * 4 + 15) / 16 * 16;
}

/* The only huge workspace, used by one block at a time; large workspaces are in shared memory */
typedef struct rb_refine_huge
{
	char *at;
	uint32_t cells;
} rb_refine_huge;

#define RB_REFINE_LARGE_BYTES rb_refine_room_bytes(RB_ROOM_CELLS_LARGE, RB_ROOM_WALLS_LARGE)

typedef struct rb_refine_args
{
	rb_cells m;
	rb_refine_candidate *cands;
	uint32_t ncands;
	uint32_t *cavities;
	rb_count cavities_cap;
	rb_refine_counts *counts;
	/* Lists of candidates: those that the filters left, those that wait for signs, large ones */
	uint32_t *list[3];
	uint32_t filters;
	rb_refine_huge huge;
	double *expansions; /* Space for the expansions of `expansion_warps` warps */
	uint32_t expansion_warps;
	rb_refine_signs asked;
	/* Numbering of winners and new cells */
	uint4 *sums; /* Sums of the thread blocks */
	uint32_t nsites, most_winners;
	bool protecting;
	uint32_t *winners, *freed_at, *freed;
	uint32_t nwinners, nfresh;
	rb_places places;
	uint16_t *needs;
	/* Work lists: subsegments, constrained faces, tetrahedra, deferred entries */
	rb_entry64 *pieces, *walls, *tets, *later;
	uint32_t npieces, nwalls, ntets, nlater; /* Positions at which entries are appended */
	uint64_t *launches;                      /* Launch counter on the host */
} rb_refine_args;

/* Returns the number of blocks, and thus of block sums, for n elements. */
static inline uint32_t
rb_refine_blocks(uint32_t n)
{
	return (n + RB_REFINE_BLOCK - 1) / RB_REFINE_BLOCK;
}

/* Checks a launch and counts it. */
#define RB_REFINE_LAUNCHED(run, a, name) \
	do                                   \
	{                                    \
		++*(a)->launches;                \
		RB_LAUNCHED(run, name);          \
	} while (0)

/* Launches a kernel with one thread for each of n elements, if there are any. */
#define RB_REFINE_LAUNCH(run, a, kernel, n, ...)                                        \
	do                                                                                  \
	{                                                                                   \
		if ((n) > 0)                                                                    \
			kernel<<<rb_refine_blocks(n), RB_REFINE_BLOCK, 0, (run)->queue->compute>>>( \
				__VA_ARGS__);                                                           \
		RB_REFINE_LAUNCHED(run, a, "refine: " #kernel);                                 \
	} while (0)

/*
 * Candidates that a kernel processes: at most `most` of a list. With `asking`, only those that wait
 * for signs.
 */
typedef struct rb_refine_some
{
	const uint32_t *list; /* NULL for the first `most` candidates of the round */
	const uint32_t *n;    /* Length of the list, on the device */
	uint32_t most;
	bool asking;
	bool large; /* True to use large workspaces */
	bool huge;  /* True to use the huge workspace, and to abandon candidates that exceed it */
} rb_refine_some;

/* ---- refine_round.cu ---- */

/* Launches the kernel that creates the candidates of a round. */
extern rb_status rb_refine_create(rb_device_run *run, const rb_refine_args *a);

/*
 * Launches the kernel that grows the cavities of all candidates of a round, as far as filters
 * decide.
 */
extern rb_status rb_refine_grow(rb_device_run *run, const rb_refine_args *a);

/*
 * Launches the kernel that grows the cavities that need a larger workspace, as far as filters
 * decide.
 */
extern rb_status rb_refine_grow_large(rb_device_run *run, const rb_refine_args *a,
									  const rb_refine_some *some);

/*
 * Launches the kernel that finds conflicts between candidates with adjacent cavities, as far as
 * filters decide.
 */
extern rb_status rb_refine_find_conflicts(rb_device_run *run, const rb_refine_args *a);

/*
 * Launches the kernels by which candidates claim the cells of their cavities; the strongest one
 * that wants a cell gets it.
 */
extern rb_status rb_refine_claim(rb_device_run *run, const rb_refine_args *a);

/*
 * Launches the kernels that release the claims of a round and replace the cavities of the winners
 * by new, linked cells.
 */
extern rb_status rb_refine_fill(rb_device_run *run, const rb_refine_args *a);

/* Launches the kernel that determines the splits that each new cell needs. */
extern rb_status rb_refine_needs(rb_device_run *run, const rb_refine_args *a);

/* ---- refine_exact.cu ---- */

/* Returns how many candidates are processed at once in small workspaces. */
extern uint32_t rb_refine_exact_warps(void);

/* Returns how many candidates are processed at once in large workspaces. */
extern uint32_t rb_refine_exact_teams(void);

/*
 * Grows, with exact signs, the cavities of the selected candidates, which filters left undecided.
 */
extern rb_status rb_refine_grow_exact(rb_device_run *run, const rb_refine_args *a,
									  const rb_refine_some *some);

/* Finds, with exact signs, the conflicts of the selected candidates that filters left undecided. */
extern rb_status rb_refine_find_conflicts_exact(rb_device_run *run, const rb_refine_args *a,
												const rb_refine_some *some);

/* ---- refine_lists.cu ---- */

/* Copies n entries of a list to the candidates from index `to`. */
extern rb_status rb_refine_gather(rb_device_run *run, const rb_refine_args *a,
								  const rb_entry64 *from, uint32_t n, uint32_t to);
/*
 * Takes n of `all` entries as candidates, every step-th one from index `turn` on, and copies the
 * others to `left`.
 */
extern rb_status rb_refine_subsample(rb_device_run *run, const rb_refine_args *a,
									 const rb_entry64 *from, uint32_t all, uint32_t step,
									 uint32_t turn, uint32_t n, rb_entry64 *left);
/*
 * Launches the kernel that makes all candidates of the round with a key grow their cavities again.
 */
extern rb_status rb_refine_again(rb_device_run *run, const rb_refine_args *a);
/* Writes up to `most` candidates that need a larger workspace to list 2. */
extern rb_status rb_refine_list_large(rb_device_run *run, const rb_refine_args *a, uint32_t most);
/* Sums up the winners; afterwards rb_refine_number_winners numbers them. */
extern rb_status rb_refine_sum_winners(rb_device_run *run, const rb_refine_args *a);

/* Numbers the winners by the sums before them. */
extern rb_status rb_refine_number_winners(rb_device_run *run, const rb_refine_args *a);
/* Sums up the entries that candidates put back. */
extern rb_status rb_refine_sum_back(rb_device_run *run, const rb_refine_args *a);

/* Appends the entries that candidates put back to the work lists. */
extern rb_status rb_refine_append_back(rb_device_run *run, const rb_refine_args *a);

/* Appends the blocked subsegments of a round to their list. */
extern rb_status rb_refine_append_blocked(rb_device_run *run, const rb_refine_args *a,
										  rb_entry64 *to);

/* Sums up the entries that new cells need. */
extern rb_status rb_refine_sum_needs(rb_device_run *run, const rb_refine_args *a, uint4 *sums);

/* Appends the entries that new cells need to the work lists. */
extern rb_status rb_refine_append_needs(rb_device_run *run, const rb_refine_args *a,
										const uint4 *sums);

/* ---- device helpers ---- */

#ifdef __CUDACC__

/* Returns the number of elements that the kernel processes: all, or those of the list. */
static __device__ __forceinline__ uint32_t
rb_refine_end(const rb_refine_some *some)
{
	uint32_t n = some->list != NULL ? *some->n : some->most;

	return n < some->most ? n : some->most;
}

/* Abandons a candidate whose cavity exceeds every workspace. */
static __device__ __forceinline__ void
rb_refine_abandon(rb_refine_candidate *cand)
{
	cand->verdict = RB_KEPT;
	cand->reason = RB_BAD_TOO_FINE;
}

/* Returns the cells of a candidate's cavity. */
static __device__ __forceinline__ const uint32_t *
rb_refine_cells_of(const rb_refine_args *a, const rb_refine_candidate *cand)
{
	return a->cavities + cand->cavity;
}

#endif

#endif /* RB_CUDA_REFINE_CUH */
