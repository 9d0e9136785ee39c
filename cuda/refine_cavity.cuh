/*
 * refine_cavity.cuh
 *	  Grows a cavity by a team of threads, a warp or a block: the steps of cavity.h, with the same
 *	  verdicts and the same order of cells.
 *
 * Where cavity.h tests many cells one after another, the threads of a team test them at once. Then
 * the results are evaluated in the order of threads, which is the order of cells and their faces,
 * up to the first one that ends the work. All threads hold the same counters; only the arrays of
 * the workspace are shared. A warp is enough for most cavities, but it takes so long for a large
 * one that the whole round would wait for it.
 */
#ifndef RB_CUDA_REFINE_CAVITY_CUH
#define RB_CUDA_REFINE_CAVITY_CUH

#include "refine.cuh"

#define RB_ALL_LANES 0xffffffffu
#define RB_NO_THREAD_RANK 0xffffffffu
/*
 * Flag of a hash-table slot that a thread has claimed for a cell, until it is known which thread
 * adds the cell
 */
#define RB_TEAM_MARK 0x80000000u

/*
 * Words by which the warps of a team communicate. There are two sets, used alternately, so that one
 * barrier is enough.
 */
template <int WARPS> struct rb_team_words
{
	uint32_t ballot[2][WARPS];
	unsigned long long value[2];
	uint32_t cell[32 * WARPS];
};

template <int WARPS> struct rb_cavity_team
{
	static const uint32_t threads = 32 * WARPS;
	rb_team_words<WARPS> *words; /* In shared memory; unused if the team is a single warp */
	uint32_t turn;

	/* Returns the number of this thread in its team. */
	__device__ __forceinline__ uint32_t rank() const
	{
		return threadIdx.x & (threads - 1);
	}

	/* Waits for all threads of the team. */
	__device__ __forceinline__ void sync() const
	{
		if (WARPS == 1)
			__syncwarp();
		else
			__syncthreads();
	}

	/* Returns the first thread for which `yes` is set, or RB_NO_THREAD_RANK. */
	__device__ __forceinline__ uint32_t first(bool yes)
	{
		uint32_t mine = __ballot_sync(RB_ALL_LANES, yes), who = RB_NO_THREAD_RANK;

		if (WARPS == 1)
			return (uint32_t) __ffs((int) mine) - 1;
		if ((threadIdx.x & 31) == 0)
			words->ballot[turn][threadIdx.x / 32] = mine;
		__syncthreads();
		for (uint32_t w = WARPS; w-- > 0;)
			if (words->ballot[turn][w] != 0)
				who = 32 * w + (uint32_t) __ffs((int) words->ballot[turn][w]) - 1;
		turn ^= 1;
		return who;
	}

	/*
	 * Returns for how many threads before this one `yes` is set. Stores the number for all threads
	 * in *all.
	 */
	__device__ __forceinline__ uint32_t before(bool yes, uint32_t *all)
	{
		uint32_t mine = __ballot_sync(RB_ALL_LANES, yes);
		uint32_t n = (uint32_t) __popc(mine & ((1u << (threadIdx.x & 31)) - 1));

		*all = (uint32_t) __popc(mine);
		if (WARPS == 1)
			return n;
		if ((threadIdx.x & 31) == 0)
			words->ballot[turn][threadIdx.x / 32] = mine;
		__syncthreads();
		*all = 0;
		for (uint32_t w = 0; w < WARPS; w++)
		{
			uint32_t there = (uint32_t) __popc(words->ballot[turn][w]);

			n += w < threadIdx.x / 32 ? there : 0;
			*all += there;
		}
		turn ^= 1;
		return n;
	}

	/* Returns the value of thread `who`. */
	__device__ __forceinline__ unsigned long long of(uint32_t who, unsigned long long mine)
	{
		if (WARPS == 1)
			return __shfl_sync(RB_ALL_LANES, mine, (int) who);
		if (rank() == who)
			words->value[turn] = mine;
		__syncthreads();
		mine = words->value[turn];
		turn ^= 1;
		return mine;
	}
};

/* Returns the verdict of the first thread whose verdict is not RB_READY. */
template <int WARPS>
static __device__ __forceinline__ rb_verdict
rb_team_first(rb_cavity_team<WARPS> *team, rb_verdict mine)
{
	uint32_t who = team->first(mine != RB_READY);

	return who == RB_NO_THREAD_RANK ? RB_READY : (rb_verdict) team->of(who, mine);
}

/* Combines the obstacles that the threads found, in the order of their cells. */
template <int WARPS>
static __device__ __forceinline__ void
rb_team_obstacles(rb_cavity_team<WARPS> *team, rb_obstacle *o, const rb_obstacle *mine)
{
	uint32_t who = team->first(mine->any);

	if (who == RB_NO_THREAD_RANK)
		return;
	o->any = true;
	who = team->first(mine->any && mine->piece != 0);
	if (who != RB_NO_THREAD_RANK && o->piece == 0)
		o->piece = team->of(who, mine->piece);
	who = team->first(mine->any && mine->wall != 0);
	if (who != RB_NO_THREAD_RANK && o->wall == 0)
		o->wall = team->of(who, mine->wall);
}

/*
 * Broadcasts the verdict of the first thread, and the counters of the workspace that it has
 * changed.
 */
template <int WARPS>
static __device__ __forceinline__ rb_verdict
rb_team_share(rb_cavity_team<WARPS> *team, rb_workspace *room, rb_verdict verdict)
{
	unsigned long long both;

	team->sync();
	both = team->of(0, (unsigned long long) room->nwalls << 32 | room->n);
	room->n = (uint32_t) both;
	room->nwalls = (uint32_t) (both >> 32);
	both = team->of(0, (unsigned long long) room->nfirst << 32 | (uint32_t) verdict);
	room->nfirst = (uint32_t) (both >> 32);
	return (rb_verdict) (uint32_t) both;
}

/*
 * Adds the cells that threads request and that the workspace does not hold yet, in the order of
 * threads, as consecutive calls of rb_room_add would. A cell that several threads request is added
 * once. `unsure` is set if a thread needs a sign that is not known.
 */
template <int WARPS>
static __device__ __forceinline__ rb_verdict
rb_team_add(rb_cavity_team<WARPS> *team, const rb_cells *m, rb_workspace *room,
			const rb_refine_candidate *cand, uint32_t cell, bool wants, bool unsure)
{
	const uint32_t rank = team->rank(), mask = 2 * room->cells_cap - 1;
	const uint32_t mark = RB_TEAM_MARK | rank;
	uint32_t at = rb_room_hash(cell) & mask, all, before;
	rb_verdict verdict = unsure ? RB_OPEN : RB_READY;
	bool first;

	if (team->first(wants || unsure) == RB_NO_THREAD_RANK)
		return RB_READY;
	if (WARPS == 1)
	{
		uint32_t same = __match_any_sync(RB_ALL_LANES, wants ? cell : RB_NOWHERE);

		first = wants && (uint32_t) __ffs((int) same) - 1 == rank;
	}
	else
	{
		team->words->cell[rank] = cell;
		team->sync();
		while (wants)
		{
			uint32_t there = atomicCAS(&room->table[at], RB_NOWHERE, mark);

			if (there == RB_NOWHERE)
				break;
			/* The first thread that requests a cell gets the slot. */
			if (there >= RB_TEAM_MARK && team->words->cell[there - RB_TEAM_MARK] == cell)
			{
				atomicMin(&room->table[at], mark);
				break;
			}
			at = (at + 1) & mask;
		}
		team->sync();
		first = wants && rb_peek(&room->table[at]) == mark;
	}
	before = team->before(first, &all);
	if (first && m->cells[cell].claim > cand->key)
		verdict = RB_LOST;
	else if (first && before >= room->cells_cap - room->n)
		verdict = RB_LARGE;
	verdict = rb_team_first(team, verdict);
	if (verdict == RB_READY && first)
	{
		const uint32_t k = room->n + before;

		if (WARPS == 1)
			while (atomicCAS(&room->table[at], RB_NOWHERE, k) != RB_NOWHERE)
				at = (at + 1) & mask;
		else
			room->table[at] = k;
		room->cells[k] = cell;
		room->rims[k] = 0;
	}
	else if (WARPS > 1 && first)
		room->table[at] = RB_NOWHERE;
	if (verdict == RB_READY)
		room->n += all;
	team->sync();
	return verdict;
}

/* Walks from a bad tetrahedron to its circumcenter; every warp of a team takes the same path. */
static __device__ __forceinline__ rb_verdict
rb_warp_walk(const rb_cells *m, rb_exact_env *env, rb_refine_candidate *cand, rb_obstacle *o)
{
	const uint32_t lane = threadIdx.x & 31;
	uint32_t cell = rb_entry_cell(cand->entry), from = 4;

	for (uint32_t steps = 0; steps < RB_WALK_STEPS; steps++)
	{
		const rb_cell *c = &m->cells[cell];
		uint32_t outside, unsure, i;
		int side = 1;

		if (lane < 4 && lane != from)
			side = rb_orient3d_at(env, cand->at, rb_site_at(m, c->v[rb_cell_face_corner(lane, 0)]),
								  rb_site_at(m, c->v[rb_cell_face_corner(lane, 1)]),
								  rb_site_at(m, c->v[rb_cell_face_corner(lane, 2)]));
		outside = __ballot_sync(RB_ALL_LANES, side < 0);
		unsure = __ballot_sync(RB_ALL_LANES, side == RB_UNSURE);
		if ((outside | unsure) == 0)
			return RB_READY;
		i = (uint32_t) __ffs((int) (outside | unsure)) - 1;
		if ((unsure >> i & 1) != 0)
			return RB_OPEN;
		if ((c->bits & RB_CELL_WALL(i)) != 0)
		{
			rb_grow_wall_in_way(m, cell, i, o);
			return RB_READY;
		}
		from = c->n[i] & 3;
		cell = c->n[i] >> 2;
	}
	cand->reason = RB_BAD_TOO_FINE;
	return RB_KEPT;
}

/*
 * Opens constrained faces from neighbor to neighbor: tests the three edges of many faces at once.
 */
template <int WARPS>
static __device__ __forceinline__ rb_verdict
rb_team_walls(rb_cavity_team<WARPS> *team, const rb_cells *m, rb_exact_env *env,
			  rb_refine_candidate *cand, rb_workspace *room)
{
	const uint32_t rank = team->rank(), step = 32 * WARPS / 3;

	for (uint32_t from = 0; from < room->nwalls; from += step)
	{
		const uint32_t w = from + rank / 3, n = room->nwalls;
		uint32_t beyond = RB_NOWHERE, side[2] = {0, 0}, who;
		int opens = 0;

		if (rank < 3 * step && w < n)
		{
			beyond = rb_grow_beyond(m, room->walls[w], rank % 3, false, side);
			if (beyond != RB_NOWHERE && !rb_room_opens(room, beyond))
				opens = rb_grow_opens(m, env, cand, room, side);
		}
		team->sync();
		while ((who = team->first(opens != 0)) != RB_NO_THREAD_RANK)
		{
			uint32_t wall = (uint32_t) team->of(who, beyond), at[2];
			rb_verdict verdict = RB_READY;

			if ((int) team->of(who, (unsigned long long) opens) == RB_UNSURE)
				return RB_OPEN;
			at[0] = (uint32_t) team->of(who, side[0]);
			at[1] = (uint32_t) team->of(who, side[1]);
			if (rank == 0)
				verdict = rb_grow_open(m, cand, room, wall, at);
			verdict = rb_team_share(team, room, verdict);
			if (verdict != RB_READY)
				return verdict;
			if (beyond == wall)
				opens = 0;
		}
		/* If fewer faces than a full step were tested, continue after the last of them. */
		if (n - from < step)
			from = n - step;
	}
	return RB_READY;
}

/*
 * Grows the cavity from cell to cell: tests the four faces of many cells at once. If a sign must be
 * requested, the loop continues without that cell, so that further missing signs are requested
 * before the candidate starts again. The verdict is then RB_OPEN, whatever the rest of the loop
 * finds.
 */
template <int WARPS>
static __device__ __forceinline__ rb_verdict
rb_team_cells(rb_cavity_team<WARPS> *team, const rb_cells *m, rb_exact_env *env,
			  rb_refine_candidate *cand, rb_workspace *room)
{
	const uint32_t rank = team->rank(), i = rank & 3, step = 8 * WARPS;
	uint32_t nrim = 0;
	bool asks = false;

	for (uint32_t from = 0; from < room->n; from += step)
	{
		const uint32_t k = from + rank / 4, n = room->n;
		uint32_t beyond = RB_NOWHERE, rims;
		bool rim = false, unsure = false, holds = false;
		rb_verdict verdict;

		/*
		 * Cells added in this step are tested in the next one, even if some threads are idle now.
		 */
		if (k < n)
		{
			uint32_t cell = room->cells[k];
			const rb_cell *c = &m->cells[cell];

			if ((c->bits & RB_CELL_WALL(i)) != 0)
				rim = !rb_room_opens(room, rb_face_id(m, cell << 2 | i));
			else if (!rb_room_has(room, c->n[i] >> 2))
			{
				int sign;

				beyond = c->n[i] >> 2;
				sign = rb_cell_ghost(c) ? 0 : rb_cell_holds(m, env, beyond, cand->at);
				holds = sign == 1;
				unsure = sign == RB_UNSURE;
				rim = sign == 0;
			}
		}
		team->sync();
		rims = __ballot_sync(RB_ALL_LANES, rim);
		if (i == 0 && k < n)
			room->rims[k] = (uint8_t) (rims >> (rank & 28) & 0xf);
		nrim += (uint32_t) __popc(rims);
		verdict = rb_team_add(team, m, room, cand, beyond, holds, unsure && !asks);
		if (verdict == RB_OPEN && env->exact)
		{
			asks = true;
			verdict = rb_team_add(team, m, room, cand, beyond, holds, false);
		}
		if (verdict != RB_READY)
			return asks ? RB_OPEN : verdict;
		if (n - from < step)
			from = n - step;
	}
	if (asks)
		return RB_OPEN;
	team->sync();
	/* Each warp has counted its own faces. */
	for (uint32_t w = 1; w < WARPS; w++)
	{
		uint32_t other = (uint32_t) team->of(32 * w, nrim);

		nrim += threadIdx.x < 32 ? other : 0;
	}
	cand->nrim = (uint32_t) team->of(0, nrim);
	return RB_READY;
}

/* Grows the cavity of a candidate by a team of threads, and returns the verdict. */
template <int WARPS>
static __device__ __forceinline__ rb_verdict
rb_team_grow(rb_cavity_team<WARPS> *team, const rb_cells *m, rb_exact_env *env,
			 rb_refine_candidate *cand, rb_workspace *room)
{
	const uint32_t rank = team->rank(), threads = 32 * WARPS;
	rb_obstacle o, mine;
	rb_verdict verdict;

	room->n = room->nwalls = room->nfirst = 0;
	o.any = false;
	o.piece = o.wall = 0;
	o.needed = rb_entry_what(cand->entry) == RB_SPLIT_TET
				   ? rb_cell_large(m, &m->cells[rb_entry_cell(cand->entry)])
				   : rb_entry_needed(cand->entry);
	mine.needed = o.needed;
	if (rb_entry_what(cand->entry) == RB_SPLIT_TET)
	{
		verdict = rb_grow_check_claims(m, env, cand);
		if (verdict == RB_READY)
			verdict = rb_warp_walk(m, env, cand, &o);
		if (verdict != RB_READY)
			return verdict;
		if (o.any)
			return rb_grow_blocked(m, cand, &o);
	}
	verdict = rb_team_share(team, room, rank == 0 ? rb_grow_seeds(m, cand, room) : RB_READY);
	for (uint32_t k = 0; k < room->n && verdict == RB_READY; k += threads)
		verdict = rb_team_first(
			team, k + rank < room->n ? rb_grow_seed(m, env, cand, room, k + rank) : RB_READY);
	if (verdict == RB_READY)
		verdict = rb_team_walls(team, m, env, cand, room);
	if (verdict == RB_READY)
		verdict = rb_team_cells(team, m, env, cand, room);
	cand->ncells = room->n;
	if (verdict != RB_READY)
		return verdict;
	for (uint32_t k = 0; k < room->n; k += threads)
	{
		mine.any = false;
		mine.piece = mine.wall = 0;
		if (k + rank < room->n)
			rb_grow_encroaches_at(m, cand, room, k + rank, &mine);
		rb_team_obstacles(team, &o, &mine);
	}
	if (o.any)
		return rb_grow_blocked(m, cand, &o);
	for (int step = 0; step < 2 && !o.any; step++)
		for (uint32_t k = 0; k < room->n; k += threads)
		{
			verdict = RB_READY;
			mine.any = false;
			mine.piece = mine.wall = 0;
			if (k + rank < room->n)
				verdict = step == 0 ? rb_grow_sees_at(m, env, cand, room, k + rank, &mine)
									: rb_grow_folds_at(m, env, cand, room, k + rank, &mine);
			verdict = rb_team_first(team, verdict);
			if (verdict != RB_READY)
				return verdict;
			rb_team_obstacles(team, &o, &mine);
		}
	if (o.any)
		return rb_grow_blocked(m, cand, &o);
	for (uint32_t k = 0; k < room->nwalls && verdict == RB_READY; k += threads)
		verdict =
			rb_team_first(team, k + rank < room->nwalls
									? rb_grow_open_fits(m, env, cand, room, room->walls[k + rank])
									: RB_READY);
	return verdict == RB_READY ? RB_FITS : verdict;
}

/* Clears the hash table of a workspace. */
template <int WARPS>
static __device__ __forceinline__ void
rb_team_empty(const rb_cavity_team<WARPS> *team, const rb_workspace *room)
{
	for (uint32_t k = team->rank(); k < 2 * room->cells_cap; k += 32 * WARPS)
		room->table[k] = RB_NOWHERE;
	team->sync();
}

/*
 * Clears the hash table after use. In a huge workspace each thread finds and clears the slots of
 * its cells; the search always ends, because no other thread clears them.
 */
template <int WARPS>
static __device__ __forceinline__ void
rb_team_clear(const rb_cavity_team<WARPS> *team, const rb_workspace *room)
{
	const uint32_t mask = 2 * room->cells_cap - 1;

	team->sync();
	if (room->cells_cap <= RB_ROOM_CELLS_LARGE)
	{
		rb_team_empty(team, room);
		return;
	}
	for (uint32_t k = team->rank(); k < room->n; k += 32 * WARPS)
	{
		uint32_t at = rb_room_hash(room->cells[k]) & mask;

		while (rb_peek(&room->table[at]) != k)
			at = (at + 1) & mask;
		rb_poke(&room->table[at], RB_NOWHERE);
	}
	team->sync();
}

/*
 * Grows candidate i and stores its cells. If there is no space for them, the host notices and
 * repeats the call.
 */
template <int WARPS>
static __device__ __forceinline__ rb_verdict
rb_team_grow_one(rb_cavity_team<WARPS> *team, const rb_refine_args *a, rb_exact_env *env,
				 uint32_t i, rb_workspace *room)
{
	const uint32_t rank = team->rank();
	rb_refine_candidate *cand = &a->cands[i];
	rb_verdict verdict = rb_team_grow(team, &a->m, env, cand, room);

	rb_team_clear(team, room);
	if (rank == 0 && (room->n > RB_ROOM_CELLS || room->nwalls > RB_ROOM_WALLS))
		atomicAdd(&a->counts->wide, 1u);
	if (verdict == RB_FITS)
	{
		rb_count at = 0;

		if (rank == 0)
			cand->cavity = at = atomicAdd(&a->counts->cavities, (rb_count) room->n);
		at = team->of(0, at);
		if (at + room->n <= a->cavities_cap)
			for (uint32_t k = rank; k < room->n; k += 32 * WARPS)
				a->cavities[at + k] = room->cells[k];
	}
	else if (rank == 0)
	{
		cand->ncells = 0;
		if (verdict == RB_LARGE)
			atomicAdd(&a->counts->large, 1u);
	}
	team->sync();
	if (rank == 0)
		cand->verdict = verdict;
	team->sync();
	return verdict;
}

/* A small workspace, in shared memory */
typedef struct rb_warp_room
{
	uint32_t cells[RB_ROOM_CELLS];
	uint32_t walls[RB_ROOM_WALLS];
	uint32_t table[2 * RB_ROOM_CELLS];
	uint8_t rims[RB_ROOM_CELLS];
} rb_warp_room;

/* Returns the small workspace of a warp in shared memory, with an empty table. */
static __device__ __forceinline__ rb_workspace
rb_warp_small(const rb_cavity_team<1> *team, rb_warp_room *of)
{
	rb_workspace room;

	room.cells = of->cells;
	room.walls = of->walls;
	room.rims = of->rims;
	room.table = of->table;
	room.cells_cap = RB_ROOM_CELLS;
	room.walls_cap = RB_ROOM_WALLS;
	rb_team_empty(team, &room);
	return room;
}

/* Returns a large workspace in shared memory, or the huge one, whose table is already empty. */
template <int WARPS>
static __device__ __forceinline__ rb_workspace
rb_team_large(const rb_cavity_team<WARPS> *team, const rb_refine_huge *huge, void *shared)
{
	rb_workspace room;

	room.cells_cap = huge != NULL ? huge->cells : RB_ROOM_CELLS_LARGE;
	room.walls_cap = huge != NULL ? RB_ROOM_WALLS_HUGE : RB_ROOM_WALLS_LARGE;
	room.cells = huge != NULL ? (uint32_t *) huge->at : (uint32_t *) shared;
	room.walls = room.cells + room.cells_cap;
	room.table = room.walls + room.walls_cap;
	room.rims = (uint8_t *) (room.table + 2 * room.cells_cap);
	if (huge == NULL)
		rb_team_empty(team, &room);
	return room;
}

#endif /* RB_CUDA_REFINE_CAVITY_CUH */
