/*
 * refine_warp.cuh
 *	  A cavity by a warp: rb_grow.h's steps, with the same verdicts and the same order of cells.
 *
 * What is asked of many cells one after the other there, 32 threads ask at once here; then the answers are gone
 * through in their order, as far as one that ends the work.  All threads hold the same numbers;
 * only the arrays of the room are shared.
 */
#ifndef RB_REFINE_WARP_CUH
#define RB_REFINE_WARP_CUH

#include "rb_refine.cuh"

#define RB_ALL_LANES 0xffffffffu

/* the first answer that is not RB_READY */
static __device__ __forceinline__ rb_verdict
rb_warp_first(rb_verdict mine)
{
	uint32_t ends = __ballot_sync(RB_ALL_LANES, mine != RB_READY);

	return ends == 0 ? RB_READY
					 : (rb_verdict) __shfl_sync(RB_ALL_LANES, (int) mine, __ffs((int) ends) - 1);
}

/* what was in the way of the cells of each thread, in their order */
static __device__ __forceinline__ void
rb_warp_obstacles(rb_obstacle *o, const rb_obstacle *mine)
{
	uint32_t pieces = __ballot_sync(RB_ALL_LANES, mine->any && mine->piece != 0);
	uint32_t walls = __ballot_sync(RB_ALL_LANES, mine->any && mine->wall != 0);

	o->any |= __any_sync(RB_ALL_LANES, mine->any) != 0;
	if (pieces != 0 && o->piece == 0)
		o->piece =
			__shfl_sync(RB_ALL_LANES, (unsigned long long) mine->piece, __ffs((int) pieces) - 1);
	if (walls != 0 && o->wall == 0)
		o->wall =
			__shfl_sync(RB_ALL_LANES, (unsigned long long) mine->wall, __ffs((int) walls) - 1);
}

/* what the first thread did to the room, all know */
static __device__ __forceinline__ rb_verdict
rb_warp_share(rb_room *room, rb_verdict verdict)
{
	__syncwarp();
	room->n = __shfl_sync(RB_ALL_LANES, room->n, 0);
	room->nwalls = __shfl_sync(RB_ALL_LANES, room->nwalls, 0);
	room->nfirst = __shfl_sync(RB_ALL_LANES, room->nfirst, 0);
	room->seen[0] = __shfl_sync(RB_ALL_LANES, (unsigned long long) room->seen[0], 0);
	room->seen[1] = __shfl_sync(RB_ALL_LANES, (unsigned long long) room->seen[1], 0);
	return (rb_verdict) __shfl_sync(RB_ALL_LANES, (int) verdict, 0);
}

/* from a bad tetrahedron to its centre */
static __device__ __forceinline__ rb_verdict
rb_warp_walk(const rb_cells *m, rb_exact_env *env, rb_candidate *cand, rb_obstacle *o)
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

/* from wall to wall: edges of 10 walls at once */
static __device__ __forceinline__ rb_verdict
rb_warp_walls(const rb_cells *m, rb_exact_env *env, rb_candidate *cand, rb_room *room)
{
	const uint32_t lane = threadIdx.x & 31;

	for (uint32_t from = 0; from < room->nwalls; from += 10)
	{
		const uint32_t w = from + lane / 3, n = room->nwalls;
		uint32_t beyond = RB_NOWHERE, side[2] = {0, 0}, wanted;
		int opens = 0;

		if (lane < 30 && w < n)
		{
			beyond = rb_grow_beyond(m, room->walls[w], lane % 3, side);
			if (beyond != RB_NOWHERE && !rb_room_opens(room, beyond))
				opens = rb_grow_opens(m, env, cand, room, side);
		}
		__syncwarp();
		while ((wanted = __ballot_sync(RB_ALL_LANES, opens != 0)) != 0)
		{
			int first = __ffs((int) wanted) - 1;
			uint32_t wall = __shfl_sync(RB_ALL_LANES, beyond, first), at[2];
			rb_verdict verdict = RB_READY;

			if (__shfl_sync(RB_ALL_LANES, opens, first) == RB_UNSURE)
				return RB_OPEN;
			at[0] = __shfl_sync(RB_ALL_LANES, side[0], first);
			at[1] = __shfl_sync(RB_ALL_LANES, side[1], first);
			if (lane == 0)
				verdict = rb_grow_open(m, cand, room, wall, at);
			verdict = rb_warp_share(room, verdict);
			if (verdict != RB_READY)
				return verdict;
			if (beyond == wall)
				opens = 0;
		}
		/* fewer than ten: the next turn begins behind them */
		if (n - from < 10)
			from = n - 10;
	}
	return RB_READY;
}

/* from cell to cell: faces of 8 cells at once */
static __device__ __forceinline__ rb_verdict
rb_warp_cells(const rb_cells *m, rb_exact_env *env, rb_candidate *cand, rb_room *room)
{
	const uint32_t lane = threadIdx.x & 31, i = lane & 3;
	uint32_t nrim = 0;

	for (uint32_t from = 0; from < room->n; from += 8)
	{
		const uint32_t k = from + lane / 4, n = room->n;
		uint32_t beyond = RB_NOWHERE, wanted, rims;
		bool rim = false, unsure = false, holds = false;

		/* those that the last eight brought are for the next turn, if there were fewer than eight */
		if (k < n)
		{
			uint32_t cell = room->cells[k];
			const rb_cell *c = &m->cells[cell];

			if ((c->bits & RB_CELL_WALL(i)) != 0)
				rim = !rb_room_opens(room, rb_face_name(m, cell << 2 | i));
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
		__syncwarp();
		while ((wanted = __ballot_sync(RB_ALL_LANES, holds || unsure)) != 0)
		{
			int first = __ffs((int) wanted) - 1;
			uint32_t cell = __shfl_sync(RB_ALL_LANES, beyond, first);
			rb_verdict verdict;

			if (__shfl_sync(RB_ALL_LANES, unsure, first))
				return RB_OPEN;
			verdict = lane == 0 ? rb_room_add(m, room, cand, cell) : RB_READY;
			verdict = rb_warp_share(room, verdict);
			if (verdict != RB_READY)
				return verdict;
			if (beyond == cell)
				holds = unsure = false;
		}
		rims = __ballot_sync(RB_ALL_LANES, rim);
		nrim += (uint32_t) __popc(rims);
		if (i == 0 && k < n)
			room->rims[k] = (uint8_t) (rims >> (lane & 28) & 0xf);
		__syncwarp();
		/* fewer than eight: the next turn begins behind them */
		if (n - from < 8)
			from = n - 8;
	}
	cand->nrim = nrim;
	return RB_READY;
}

static __device__ __forceinline__ rb_verdict
rb_warp_grow(const rb_cells *m, rb_exact_env *env, rb_candidate *cand, rb_room *room)
{
	const uint32_t lane = threadIdx.x & 31;
	rb_obstacle o, mine;
	rb_verdict verdict;

	room->n = room->nwalls = room->nfirst = 0;
	room->seen[0] = room->seen[1] = 0;
	o.any = false;
	o.piece = o.wall = 0;
	o.needed = rb_entry_what(cand->entry) == RB_SPLIT_TET
				   ? rb_cell_large(m, &m->cells[rb_entry_cell(cand->entry)])
				   : rb_entry_needed(cand->entry);
	mine.needed = o.needed;
	if (rb_entry_what(cand->entry) == RB_SPLIT_TET)
	{
		verdict = rb_grow_look(m, env, cand);
		if (verdict == RB_READY)
			verdict = rb_warp_walk(m, env, cand, &o);
		if (verdict != RB_READY)
			return verdict;
		if (o.any)
			return rb_grow_blocked(m, cand, &o);
	}
	verdict = rb_warp_share(room, lane == 0 ? rb_grow_seeds(m, cand, room) : RB_READY);
	for (uint32_t k = 0; k < room->n && verdict == RB_READY; k += 32)
		verdict = rb_warp_first(k + lane < room->n ? rb_grow_seed(m, env, cand, room, k + lane)
												   : RB_READY);
	if (verdict == RB_READY)
		verdict = rb_warp_walls(m, env, cand, room);
	if (verdict == RB_READY)
		verdict = rb_warp_cells(m, env, cand, room);
	cand->ncells = room->n;
	if (verdict != RB_READY)
		return verdict;
	for (uint32_t k = 0; k < room->n; k += 32)
	{
		mine.any = false;
		mine.piece = mine.wall = 0;
		if (k + lane < room->n)
			rb_grow_encroaches_at(m, cand, room, k + lane, &mine);
		rb_warp_obstacles(&o, &mine);
	}
	if (o.any)
		return rb_grow_blocked(m, cand, &o);
	for (int step = 0; step < 2 && !o.any; step++)
		for (uint32_t k = 0; k < room->n; k += 32)
		{
			verdict = RB_READY;
			mine.any = false;
			mine.piece = mine.wall = 0;
			if (k + lane < room->n)
				verdict = step == 0 ? rb_grow_sees_at(m, env, cand, room, k + lane, &mine)
									: rb_grow_folds_at(m, env, cand, room, k + lane, &mine);
			verdict = rb_warp_first(verdict);
			if (verdict != RB_READY)
				return verdict;
			rb_warp_obstacles(&o, &mine);
		}
	return o.any ? rb_grow_blocked(m, cand, &o) : RB_FITS;
}

/* after use a large room's table is empty again; every member finds itself, for only it takes itself out */
static __device__ __forceinline__ void
rb_warp_clear(const rb_room *room)
{
	const uint32_t mask = 2 * room->cells_cap - 1;

	__syncwarp();
	if (room->table != NULL)
		for (uint32_t k = threadIdx.x & 31; k < room->n; k += 32)
		{
			uint32_t at = rb_room_hash(room->cells[k]) & mask;

			while (rb_peek(&room->table[at]) != k)
				at = (at + 1) & mask;
			rb_poke(&room->table[at], RB_NOWHERE);
		}
	__syncwarp();
}

/* grows candidate i, and keeps its cells where they fit; where they do not the host sees that */
static __device__ __forceinline__ rb_verdict
rb_warp_grow_one(const rb_refine_args *a, rb_exact_env *env, uint32_t i, rb_room *room)
{
	const uint32_t lane = threadIdx.x & 31;
	rb_candidate *cand = &a->cands[i];
	rb_verdict verdict = rb_warp_grow(&a->m, env, cand, room);

	rb_warp_clear(room);
	if (verdict == RB_FITS)
	{
		rb_count at = 0;

		if (lane == 0)
			cand->cavity = at = atomicAdd(&a->counts->cavities, (rb_count) room->n);
		at = __shfl_sync(RB_ALL_LANES, at, 0);
		if (at + room->n <= a->cavities_cap)
			for (uint32_t k = lane; k < room->n; k += 32)
				a->cavities[at + k] = room->cells[k];
	}
	else if (lane == 0)
	{
		cand->ncells = 0;
		if (verdict == RB_LARGE)
			atomicAdd(&a->counts->large, 1u);
	}
	__syncwarp();
	if (lane == 0)
		cand->verdict = verdict;
	__syncwarp();
	return verdict;
}

/* a small room in shared memory */
typedef struct rb_warp_room
{
	uint32_t cells[RB_ROOM_CELLS];
	uint32_t walls[RB_ROOM_WALLS];
	uint8_t rims[RB_ROOM_CELLS];
} rb_warp_room;

static __device__ __forceinline__ rb_room
rb_warp_small(rb_warp_room *of)
{
	rb_room room;

	room.cells = of->cells;
	room.walls = of->walls;
	room.rims = of->rims;
	room.table = NULL;
	room.cells_cap = RB_ROOM_CELLS;
	room.walls_cap = RB_ROOM_WALLS;
	return room;
}

#endif /* RB_REFINE_WARP_CUH */
