/*
 * rb_refine.cuh
 *	  What the files of refinement on a device share.
 *
 *		refine.cu			the mesh there and back; rounds, as rounds.c has them
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

/* signs that only GMP knows: so many candidates ask at once, each so many times */
#define RB_REFINE_ASKING 256u
#define RB_REFINE_ANSWERS 1024u

/* a sign that a candidate waits for; its cavity is grown from the start when it is there */
typedef struct rb_refine_query
{
	double p[15];
	uint32_t kind; /* 0: none; orient3d of 4 points, insphere of 5; 1: begin */
	uint32_t answers;
} rb_refine_query;

/* what kernels tell the host */
typedef struct rb_refine_counts
{
	rb_count cavities; /* words of cavities */
	uint32_t open;     /* left by filters, in list 0 */
	uint32_t asks;     /* left by exact signs, in list 1 */
	uint32_t large;    /* without room */
	uint32_t next;     /* the next candidate that a warp takes */
	uint32_t listed;   /* by rb_refine_list_large */
	uint32_t full;     /* max_points was met */
	uint32_t hopeless; /* asked too often */
	uint32_t stuck;    /* pieces that could not be split alone */
	uint4 winners; /* their number, new cells, old cells */
	uint4 back;    /* what candidates put back: pieces, walls, tetrahedra, later */
	uint4 needs;   /* what fresh cells need: pieces, walls, tetrahedra */
} rb_refine_counts;

typedef struct rb_refine_rooms
{
	char *at;
	uint32_t cells, walls;
	bool table;
	uint32_t number;
} rb_refine_rooms;

/* of one room, a multiple of 16 */
static inline __host__ __device__ size_t
rb_refine_room_bytes(uint32_t cells, uint32_t walls, bool table)
{
	return (((size_t) cells * (table ? 13 : 5) + (size_t) walls * 4) + 15) / 16 * 16;
}

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
	rb_refine_rooms small, large;
	double *expansions; /* room for them, of so many warps */
	uint32_t expansion_warps;
	/* answers of the host */
	rb_refine_query *queries;
	int8_t *answers;
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
} rb_refine_args;

/* ---- refine_filters.cu ---- */

extern rb_status rb_refine_make(rb_device_run *run, const rb_refine_args *a);
extern rb_status rb_refine_grow(rb_device_run *run, const rb_refine_args *a);
extern rb_status rb_refine_beside(rb_device_run *run, const rb_refine_args *a);

/* ---- refine_exact.cu ---- */

/* what stands in a list, from its member `from` on, at most `most`; asking: those that have a query */
typedef struct rb_refine_some
{
	const uint32_t *list;
	const uint32_t *n; /* on the device */
	uint32_t from, most;
	bool asking;
	bool large; /* in large rooms */
	bool last;  /* what has no room there either is given up */
} rb_refine_some;

extern uint32_t rb_refine_exact_warps(const rb_device_run *run);
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

static __device__ __forceinline__ rb_room
rb_refine_room(const rb_refine_rooms *rooms, uint32_t number)
{
	char *at = rooms->at + number * rb_refine_room_bytes(rooms->cells, rooms->walls, rooms->table);
	rb_room room;

	room.cells = (uint32_t *) at;
	room.walls = room.cells + rooms->cells;
	room.table = rooms->table ? room.walls + rooms->walls : NULL;
	room.rims = (uint8_t *) (room.walls + rooms->walls + (rooms->table ? 2 * rooms->cells : 0));
	room.cells_cap = rooms->cells;
	room.walls_cap = rooms->walls;
	return room;
}

/* grows candidate i, and keeps its cells where they fit; where they do not the host sees that */
static __device__ __forceinline__ void
rb_refine_grow_one(const rb_refine_args *a, rb_exact_env *env, uint32_t i, rb_room *room)
{
	rb_candidate *cand = &a->cands[i];
	rb_verdict verdict = rb_grow(&a->m, env, cand, room);

	rb_room_clear(room);
	cand->verdict = verdict;
	if (verdict == RB_FITS)
	{
		rb_count at = atomicAdd(&a->counts->cavities, (rb_count) room->n);

		cand->cavity = at;
		if (at + room->n <= a->cavities_cap)
			for (uint32_t k = 0; k < room->n; k++)
				a->cavities[at + k] = room->cells[k];
		return;
	}
	cand->ncells = 0;
	if (verdict == RB_LARGE)
		atomicAdd(&a->counts->large, 1u);
}

static __device__ __forceinline__ const uint32_t *
rb_refine_cells_of(const rb_refine_args *a, const rb_candidate *cand)
{
	return a->cavities + cand->cavity;
}

#endif

#endif /* RB_REFINE_CUH */
