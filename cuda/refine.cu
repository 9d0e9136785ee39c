/*
 * refine.cu
 *	  Runs the rounds of a refinement on a device: the steps of rounds.c, with identical results.
 *
 * The mesh, its lists and all data of a round lie on the device. The host reads a few counters
 * three times per round, so that it can allocate memory for what follows. The host's mesh stays
 * unchanged until the result has been downloaded: if anything fails, the CPU starts from there.
 */
#define RB_FILTERS_ONLY
#include "refine.cuh"

#include <stdio.h>
#include <string.h>

#define WAIT_MS 2000.0 /* Total wait for memory that other sessions hold, in ms */
#define CAVITIES_FIRST ((rb_count) 1 << 20)
/* Number of signs that a thread computes at a time; fewer do not pay off */
#define ANSWERS_AT_ONCE 16

typedef struct list
{
	rb_refine_arena room;
	uint32_t n;
} list;

typedef struct refine_rounds
{
	rb_device_run *run;
	rb_refining *r;
	rb_refine_args a;
	rb_sizes sizes;           /* Sizing field, with pointers to device memory */
	rb_refine_counts *counts; /* Counters, in memory of the host */
	rb_refine_arena cells, sites, kind, parent, free;
	size_t cands_cap, freed_cap, needs_cap, needs_sums_cap;
	uint32_t ncells, nsites, nfree;
	uint4 *needs_sums;
	list pieces, walls, tets, later;
	list spare;      /* Space for the tetrahedra that a round leaves in the list */
	list blocked;    /* Subsegments that cannot be split alone, including those found on the host */
	rb_thread *team; /* Threads that compute signs with GMP, or NULL before they are needed */
	uint64_t rounds, tried, most_bytes, asked, large, launches, waits;
	uint64_t few, few_launches, few_waits;
	double few_ms;
	double ms[RB_REFINE_STEPS], lap;
	uint32_t most;   /* Maximum number of tetrahedra tried in a round (rb_round_most) */
	bool protecting; /* True if only subsegments have been split so far */
	bool wide;       /* True if the previous round had large cavities */
	bool full;
	bool done;
	bool forgot; /* True if cached signs were dropped because the table was full */
} refine_rounds;

/* ---- memory ---- */

/* Records the peak of the device memory that the rounds use, for the report of the refinement. */
static void
note_refine_bytes(refine_rounds *s)
{
	if (s->run->used > s->most_bytes)
		s->most_bytes = s->run->used;
}

/* Allocates device memory for the rounds, and counts it in the peak that the report states. */
static rb_status
allocate_refine_block(refine_rounds *s, void **block, size_t bytes)
{
	rb_status status = rb_device_alloc(s->run, block, bytes);

	note_refine_bytes(s);
	return status;
}

/*
 * Allocates an array for one round on the device of at least `need` elements, without preserving
 * its contents, and a quarter larger than before if memory allows.
 */
static rb_status
grow_refine_block(refine_rounds *s, void **block, size_t *cap, size_t need, size_t element)
{
	size_t more = *cap + *cap / 4;
	rb_status status;

	if (need <= *cap && *block != NULL)
		return RB_OK;
	if (more < need)
		more = need;
	rb_device_free(s->run, block);
	*cap = 0;
	status = allocate_refine_block(s, block, more * element);
	if (status == RB_DEVICE_FULL && more > need)
	{
		more = need;
		status = allocate_refine_block(s, block, more * element);
	}
	RB_TRY(status);
	*cap = more;
	return RB_OK;
}

/*
 * Grows an array of the mesh or a work list on the device to at least `need` elements, preserves
 * the first `used` ones, and records the peak of memory.
 */
static rb_status
grow_refine_array(refine_rounds *s, rb_refine_arena *arena, size_t used, size_t need,
				  size_t element)
{
	rb_status status = rb_refine_arena_grow(s->run, arena, used * element, need * element);

	note_refine_bytes(s);
	return status;
}

/* Makes room for `cells` cells and `sites` vertices in all. */
static rb_status
reserve_cells_and_vertices(refine_rounds *s, size_t cells, size_t sites)
{
	rb_cells *m = &s->a.m;

	RB_TRY(grow_refine_array(s, &s->cells, s->ncells, cells, sizeof(rb_cell)));
	RB_TRY(grow_refine_array(s, &s->sites, s->nsites, sites, sizeof(rb_site)));
	RB_TRY(grow_refine_array(s, &s->kind, s->nsites, sites, 1));
	RB_TRY(grow_refine_array(s, &s->parent, s->nsites, sites, sizeof(uint32_t)));
	m->cells = (rb_cell *) s->cells.at;
	m->sites = (rb_site *) s->sites.at;
	m->kind = (uint8_t *) s->kind.at;
	m->parent = (uint32_t *) s->parent.at;
	return RB_OK;
}

/* Returns the device address of the entries of a work list, as the host passes it to launches. */
static rb_entry64 *
entries_of_work_list(const list *l)
{
	return (rb_entry64 *) l->room.at;
}

/* Returns the list of free slots for tetrahedra, in device memory. */
static uint32_t *
free_slots_of_mesh(const refine_rounds *s)
{
	return (uint32_t *) s->free.at;
}

/*
 * Reserves device memory for `more` elements at the end of a work list, before kernels append to
 * it.
 */
static rb_status
reserve_work_list_on_device(refine_rounds *s, list *l, size_t more)
{
	return grow_refine_array(s, &l->room, l->n, l->n + more, sizeof(rb_entry64));
}

/* Frees the arrays of the mesh and of the work lists when the rounds on the device have ended. */
static void
free_arenas_of_rounds(refine_rounds *s)
{
	rb_refine_arena *all[] = {&s->cells,       &s->sites,      &s->kind,        &s->parent,
							  &s->free,        &s->tets.room,  &s->later.room,  &s->spare.room,
							  &s->pieces.room, &s->walls.room, &s->blocked.room};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		rb_refine_arena_free(s->run, all[i]);
}

/* ---- counters read by the host ---- */

/* Sets all counters of the round on the device to zero. */
static rb_status
clear_refine_counts(refine_rounds *s)
{
	RB_CUDA(s->run,
			cudaMemsetAsync(s->a.counts, 0, sizeof(rb_refine_counts), s->run->queue->compute));
	return RB_OK;
}

/* Sets one counter of the round on the device to zero. */
static rb_status
clear_refine_word(refine_rounds *s, uint32_t *word)
{
	RB_CUDA(s->run, cudaMemsetAsync(word, 0, sizeof(uint32_t), s->run->queue->compute));
	return RB_OK;
}

/* Copies the counters of the round to the host, waits for the device, and counts the wait. */
static rb_status
read_refine_counts(refine_rounds *s)
{
	RB_CUDA(s->run, cudaMemcpyAsync(s->counts, s->a.counts, sizeof(rb_refine_counts),
									cudaMemcpyDeviceToHost, s->run->queue->compute));
	s->waits++;
	return rb_sync(s->run);
}

/* Charges to a step the time since the last call. If the device is timed, waits for it first. */
static rb_status
charge_time_to_refine_step(refine_rounds *s, rb_refine_step step)
{
	double now;

	if (s->r->timed)
		RB_TRY(rb_sync(s->run));
	now = rb_now_ms();
	s->ms[step] += now - s->lap;
	s->lap = now;
	return RB_OK;
}

/* ---- signs that only GMP can compute ---- */

typedef rb_status (*asker)(rb_device_run *run, const rb_refine_args *a, const rb_refine_some *some);

/* Drops all cached signs. */
static rb_status
clear_cached_signs(refine_rounds *s)
{
	cudaStream_t stream = s->run->queue->compute;

	s->a.asked.answers = 0;
	RB_CUDA(s->run, cudaMemsetAsync(s->a.asked.n, 0, sizeof(uint32_t), stream));
	RB_CUDA(s->run, cudaMemsetAsync(s->a.asked.table, 0xff,
									RB_REFINE_ASKED_TABLE * sizeof(uint32_t), stream));
	return RB_OK;
}

typedef struct sign_computing
{
	const rb_refine_query *q;
	int8_t *answers;
} sign_computing;

/* Computes the exact signs of a range of queries by GMP. */
static void
compute_queried_signs_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const sign_computing *all = (const sign_computing *) arg;

	(void) me;
	for (uint64_t k = from; k < to; k++)
	{
		const double *p = all->q[k].p;

		all->answers[k] =
			(int8_t) (all->q[k].n == 4 ? rb_gmp_orient3d(p, p + 3, p + 6, p + 9)
									   : rb_gmp_insphere(p, p + 3, p + 6, p + 9, p + 12));
	}
}

/* Computes signs with GMP, on several threads if there are enough signs. */
static rb_status
compute_queried_signs(refine_rounds *s, const rb_refine_query *q, int8_t *answers, uint32_t n)
{
	sign_computing all = {q, answers};

	if (n <= 2 * ANSWERS_AT_ONCE)
	{
		compute_queried_signs_piece(NULL, &all, 0, n);
		return RB_OK;
	}
	if (s->team == NULL)
		RB_TRY(rb_team_open(s->run->ctx, s->r->options->threads, &s->team));
	return rb_loop(s->team, n, ANSWERS_AT_ONCE, compute_queried_signs_piece, &all);
}

/* Computes all new signs. Stores the number of known signs in *n. */
static rb_status
compute_new_queried_signs(refine_rounds *s, uint32_t *n)
{
	cudaStream_t stream = s->run->queue->compute;
	rb_refine_signs *asked = &s->a.asked;
	rb_refine_query *q = (rb_refine_query *) s->run->queue->slot[0];
	int8_t *answers = (int8_t *) s->run->queue->slot[1];

	RB_CUDA(s->run, cudaMemcpyAsync(n, asked->n, sizeof(*n), cudaMemcpyDeviceToHost, stream));
	RB_TRY(rb_sync(s->run));
	if (*n > RB_REFINE_ASKED)
		*n = RB_REFINE_ASKED;
	static_assert(RB_REFINE_ASKED * sizeof(rb_refine_query) <= RB_SLOT_BYTES, "one slot has all");
	if (*n == asked->answers)
		return RB_OK;
	RB_CUDA(s->run,
			cudaMemcpyAsync(q, asked->query + asked->answers, (*n - asked->answers) * sizeof(*q),
							cudaMemcpyDeviceToHost, stream));
	RB_TRY(rb_sync(s->run));
	RB_TRY(compute_queried_signs(s, q, answers, *n - asked->answers));
	RB_CUDA(s->run, cudaMemcpyAsync(asked->answer + asked->answers, answers, *n - asked->answers,
									cudaMemcpyHostToDevice, stream));
	RB_TRY(rb_sync(s->run));
	s->asked += *n - asked->answers;
	return RB_OK;
}

/* Repeats the candidates of list 1, which wait for signs, until none of them waits. */
static rb_status
resolve_signs_of_candidates(refine_rounds *s, asker again, rb_refine_some some)
{
	some.list = s->a.list[1];
	some.n = &s->a.counts->asks;
	some.most = s->counts->asks;
	some.asking = true;
	for (;;)
	{
		uint32_t n;

		RB_TRY(compute_new_queried_signs(s, &n));
		/*
		 * The table has no space for new signs. Drop all cached ones; if that does not help, fail,
		 * and the CPU takes over.
		 */
		if (n == s->a.asked.answers)
		{
			if (s->forgot)
				return rb_fail(s->run->ctx, RB_DEVICE_FAILED, 0, 0,
							   "cavities need too many signs that the GPU cannot compute");
			s->forgot = true;
			RB_TRY(clear_cached_signs(s));
		}
		else
			s->a.asked.answers = n;
		RB_TRY(clear_refine_word(s, &s->a.counts->waiting));
		RB_TRY(again(s->run, &s->a, &some));
		RB_TRY(read_refine_counts(s));
		if (s->counts->waiting == 0)
			break;
	}
	s->forgot = false;
	return clear_refine_word(s, &s->a.counts->asks);
}

/* ---- cavities ---- */

/* Allocates the workspace for cavities of any size, with an empty hash table. */
static rb_status
allocate_huge_workspace(refine_rounds *s)
{
	uint32_t cells = RB_ROOM_CELLS_LARGE, bytes;

	while (cells < s->ncells && cells < RB_ROOM_CELLS_HUGE)
		cells *= 2;
	if (s->a.huge.at != NULL && s->a.huge.cells >= cells)
		return RB_OK;
	bytes = rb_refine_room_bytes(cells, RB_ROOM_WALLS_HUGE);
	rb_device_free(s->run, (void **) &s->a.huge.at);
	RB_TRY(allocate_refine_block(s, (void **) &s->a.huge.at, bytes));
	RB_CUDA(s->run, cudaMemsetAsync(s->a.huge.at, 0xff, bytes, s->run->queue->compute));
	s->a.huge.cells = cells;
	return RB_OK;
}

/* Grows the cavities of candidates that wait for signs again, after the host has computed these. */
static rb_status
grow_cavities_that_ask(refine_rounds *s, rb_refine_some some)
{
	if (s->counts->asks == 0)
		return RB_OK;
	RB_TRY(resolve_signs_of_candidates(s, rb_refine_grow_exact, some));
	RB_TRY(read_refine_counts(s));
	return charge_time_to_refine_step(s, RB_REFINE_ASK);
}

/*
 * Grows the cavities of the first `most` candidates that need a larger workspace. Stores in *left
 * how many still need one.
 */
static rb_status
grow_listed_cavities(refine_rounds *s, uint32_t most, bool huge, uint32_t *left)
{
	rb_refine_some listed = {s->a.list[2], &s->a.counts->listed, most, false, true, huge};
	rb_refine_some some = {s->a.list[0], &s->a.counts->open, most, false, true, huge};

	most = *left < most ? *left : most;
	listed.most = some.most = most;
	RB_TRY(rb_refine_list_large(s->run, &s->a, most));
	RB_TRY(clear_refine_word(s, &s->a.counts->large));
	/*
	 * With few candidates, skip the filters, because the round waits for the slowest candidate
	 * anyway.
	 */
	if (most > rb_refine_exact_teams())
	{
		RB_TRY(clear_refine_word(s, &s->a.counts->open));
		RB_TRY(rb_refine_grow_large(s->run, &s->a, &listed));
		RB_TRY(charge_time_to_refine_step(s, RB_REFINE_LARGE));
	}
	else
		some = listed;
	RB_TRY(rb_refine_grow_exact(s->run, &s->a, &some));
	RB_TRY(read_refine_counts(s));
	RB_TRY(charge_time_to_refine_step(s, RB_REFINE_LARGE_EXACT));
	RB_TRY(grow_cavities_that_ask(s, some));
	*left = *left - s->counts->listed + s->counts->large;
	return RB_OK;
}

/*
 * Grows the cavities of `left` candidates in larger workspaces. With `huge`, they have already
 * failed in large ones.
 */
static rb_status
grow_large_cavities(refine_rounds *s, uint32_t left, bool huge)
{
	if (!huge)
		RB_TRY(grow_listed_cavities(s, RB_ROUND_LARGE, false, &left));
	if (left == 0)
		return RB_OK;
	RB_TRY(allocate_huge_workspace(s));
	return grow_listed_cavities(s, RB_ROUND_HUGE, true, &left);
}

/*
 * Grows the cavities of many candidates: first by filters, then by exact signs where filters are
 * not enough.
 */
static rb_status
grow_many_cavities(refine_rounds *s)
{
	rb_refine_some some = {s->a.list[0], &s->a.counts->open, s->a.ncands, false, false, false};

	RB_TRY(rb_refine_grow(s->run, &s->a));
	RB_TRY(charge_time_to_refine_step(s, RB_REFINE_GROW));
	RB_TRY(rb_refine_grow_exact(s->run, &s->a, &some));
	RB_TRY(read_refine_counts(s));
	RB_TRY(charge_time_to_refine_step(s, RB_REFINE_EXACT));
	RB_TRY(grow_cavities_that_ask(s, some));
	s->wide = s->counts->large > 0;
	s->large += s->counts->large;
	return s->counts->large > 0 ? grow_large_cavities(s, s->counts->large, false) : RB_OK;
}

/*
 * Grows the cavities of few candidates. The round takes as long as its slowest candidate, so each
 * candidate starts only once: with exact signs, and in a large workspace if the previous round
 * needed one. The size of the workspace does not affect the result.
 */
static rb_status
grow_few_cavities(refine_rounds *s)
{
	bool wide = s->wide && s->a.ncands <= 2 * rb_refine_exact_teams();
	rb_refine_some some = {NULL, NULL, s->a.ncands, false, wide, false};

	RB_TRY(rb_refine_grow_exact(s->run, &s->a, &some));
	RB_TRY(read_refine_counts(s));
	RB_TRY(charge_time_to_refine_step(s, wide ? RB_REFINE_LARGE_EXACT : RB_REFINE_EXACT));
	RB_TRY(grow_cavities_that_ask(s, some));
	s->wide = s->counts->wide + s->counts->large > 0;
	s->large += wide ? s->counts->wide : s->counts->large;
	return s->counts->large > 0 ? grow_large_cavities(s, s->counts->large, wide) : RB_OK;
}

/* Grows all cavities, and starts again if there was no space for the lists of their cells. */
static rb_status
grow_all_cavities(refine_rounds *s)
{
	for (;;)
	{
		RB_TRY(clear_refine_counts(s));
		RB_TRY(s->a.ncands <= rb_refine_exact_warps() ? grow_few_cavities(s)
													  : grow_many_cavities(s));
		if (s->counts->cavities <= s->a.cavities_cap)
			return RB_OK;
		rb_device_free(s->run, (void **) &s->a.cavities);
		s->a.cavities_cap = s->counts->cavities + s->counts->cavities / 4;
		RB_TRY(allocate_refine_block(s, (void **) &s->a.cavities,
									 s->a.cavities_cap * sizeof(uint32_t)));
		RB_TRY(rb_refine_again(s->run, &s->a));
	}
}

/* ---- a round ---- */

/*
 * Launches the kernel that takes up to `most` entries from the end of a list as candidates, in
 * their order.
 */
static rb_status
gather_last_entries_on_device(refine_rounds *s, list *l, uint32_t most)
{
	uint32_t n = l->n < most ? l->n : most;

	RB_TRY(rb_refine_gather(s->run, &s->a, entries_of_work_list(l) + (l->n - n), n, s->a.ncands));
	l->n -= n;
	s->a.ncands += n;
	return RB_OK;
}

/*
 * Launches the kernel that takes every step-th tetrahedron of the list's window as a candidate, up
 * to `most`.
 */
static rb_status
gather_spread_entries_on_device(refine_rounds *s, uint32_t most)
{
	list *l = &s->tets;
	const uint32_t window = (uint32_t) rb_round_window(l->n, s->most), before = l->n - window;
	const uint32_t step = (uint32_t) rb_round_step(window, s->most);
	const uint32_t turn = (uint32_t) ((s->r->report->rounds + s->rounds) % step);
	uint32_t n = window > turn ? (window - turn + step - 1) / step : 0;
	list left;

	n = n < most ? n : most;
	RB_TRY(grow_refine_array(s, &s->spare.room, 0, window, sizeof(rb_entry64)));
	left = s->spare;
	RB_TRY(rb_refine_subsample(s->run, &s->a, entries_of_work_list(l) + before, window, step, turn,
							   n, entries_of_work_list(&left)));
	left.n = window - n;
	s->a.ncands += n;
	/* Entries before the window stay in place. */
	if (before > 0)
	{
		RB_CUDA(s->run, cudaMemcpyAsync(entries_of_work_list(l) + before,
										entries_of_work_list(&left), left.n * sizeof(rb_entry64),
										cudaMemcpyDeviceToDevice, s->run->queue->compute));
		l->n = before + left.n;
		return RB_OK;
	}
	s->spare = *l;
	*l = left;
	return RB_OK;
}

/*
 * Launches the kernels that copy entries of the work lists to the candidates of a round. If there
 * are none, the rounds on the device end.
 */
static rb_status
gather_candidates_on_device(refine_rounds *s)
{
	uint32_t most = RB_ROUND_CANDIDATES;
	uint64_t all = (uint64_t) s->pieces.n + s->walls.n + s->tets.n;

	s->a.ncands = 0;
	/*
	 * Split subsegments first. If some cannot be split alone, end the rounds before anything else
	 * is split.
	 */
	if (s->pieces.n == 0 && s->protecting)
	{
		s->protecting = false;
		if (s->blocked.n > 0)
			return RB_OK;
	}
	if (s->protecting)
		all = s->pieces.n;
	else if (all == 0)
	{
		list waited = s->later;

		s->later = s->tets;
		s->tets = waited;
		all = s->tets.n;
	}
	if (all > most)
		all = most;
	if (all > s->cands_cap)
	{
		size_t cap = s->cands_cap;

		RB_TRY(grow_refine_block(s, (void **) &s->a.cands, &cap, all, sizeof(rb_refine_candidate)));
		for (int i = 0; i < 3; i++)
		{
			size_t c = s->cands_cap;

			RB_TRY(grow_refine_block(s, (void **) &s->a.list[i], &c, cap, sizeof(uint32_t)));
		}
		for (int i = 0; i < 2; i++)
		{
			size_t c = s->cands_cap;

			RB_TRY(grow_refine_block(s, (void **) (i == 0 ? &s->a.winners : &s->a.freed_at), &c,
									 cap, sizeof(uint32_t)));
		}
		rb_device_free(s->run, (void **) &s->a.sums);
		RB_TRY(
			allocate_refine_block(s, (void **) &s->a.sums,
								  ((size_t) rb_refine_blocks((uint32_t) cap) + 1) * sizeof(uint4)));
		s->cands_cap = cap;
	}
	RB_TRY(gather_last_entries_on_device(s, &s->pieces, most));
	if (s->protecting)
		return RB_OK;
	RB_TRY(gather_last_entries_on_device(s, &s->walls, most - s->a.ncands));
	return gather_spread_entries_on_device(s, most - s->a.ncands);
}

/*
 * Launches the kernels that determine and number the winners of a round, reads their counts back,
 * and assigns slots to their new cells.
 */
static rb_status
number_winners_on_device(refine_rounds *s)
{
	rb_refining *r = s->r;
	uint64_t most = r->options->max_points > 0 ? r->options->max_points : UINT32_MAX - 8;
	rb_refine_some some = {s->a.list[0], &s->a.counts->open, 0, false, false, false};
	uint64_t fresh;

	some.most = s->a.ncands;
	most = most > s->nsites ? most - s->nsites : 0;
	s->a.nsites = s->nsites;
	s->a.most_winners = most < UINT32_MAX ? (uint32_t) most : UINT32_MAX;
	RB_TRY(rb_refine_claim(s->run, &s->a));
	RB_TRY(clear_refine_counts(s));
	RB_TRY(rb_refine_find_conflicts(s->run, &s->a));
	RB_TRY(rb_refine_find_conflicts_exact(s->run, &s->a, &some));
	RB_TRY(rb_refine_sum_winners(s->run, &s->a));
	RB_TRY(rb_refine_number_winners(s->run, &s->a));
	RB_TRY(read_refine_counts(s));
	if (s->counts->asks > 0)
	{
		RB_TRY(resolve_signs_of_candidates(s, rb_refine_find_conflicts_exact, some));
		RB_TRY(rb_refine_sum_winners(s->run, &s->a));
		RB_TRY(rb_refine_number_winners(s->run, &s->a));
		RB_TRY(read_refine_counts(s));
	}
	s->full = s->counts->full != 0;
	s->a.nwinners = s->counts->winners.x;
	s->a.nfresh = s->counts->winners.y;
	s->most = rb_round_most(s->most, s->counts->winners.w, s->a.nwinners);
	fresh = s->a.nfresh;
	if (fresh + s->ncells >= RB_MAX_CELLS)
		return rb_fail(s->run->ctx, RB_TOO_MANY_OBJECTS, fresh + s->ncells, RB_MAX_CELLS, NULL);
	RB_TRY(reserve_cells_and_vertices(
		s, s->ncells + (fresh > s->nfree ? (size_t) fresh - s->nfree : 0),
		s->nsites + (size_t) s->a.nwinners));
	RB_TRY(grow_refine_block(s, (void **) &s->a.freed, &s->freed_cap, s->counts->winners.z,
							 sizeof(uint32_t)));
	s->a.places.free = free_slots_of_mesh(s);
	s->a.places.nfree = s->nfree;
	s->a.places.top = s->ncells;
	return RB_OK;
}

/* Allocates device memory for the splits that the new cells of a round need. */
static rb_status
reserve_needs_on_device(refine_rounds *s)
{
	RB_TRY(
		grow_refine_block(s, (void **) &s->a.needs, &s->needs_cap, s->a.nfresh, sizeof(uint16_t)));
	return grow_refine_block(s, (void **) &s->needs_sums, &s->needs_sums_cap,
							 (size_t) rb_refine_blocks(s->a.nfresh) + 1, sizeof(uint4));
}

/*
 * Copies addresses and lengths of the work lists from the host's state of a round to the arguments
 * of its kernels.
 */
static void
pass_work_lists_to_kernels(refine_rounds *s)
{
	s->a.pieces = entries_of_work_list(&s->pieces);
	s->a.walls = entries_of_work_list(&s->walls);
	s->a.tets = entries_of_work_list(&s->tets);
	s->a.later = entries_of_work_list(&s->later);
	s->a.npieces = s->pieces.n;
	s->a.nwalls = s->walls.n;
	s->a.ntets = s->tets.n;
	s->a.nlater = s->later.n;
}

/* Appends to the lists the entries put back by candidates, then the entries needed by new cells. */
static rb_status
append_entries_to_work_lists(refine_rounds *s)
{
	uint4 back, needs;
	uint32_t blocked;

	s->a.protecting = s->protecting;
	RB_TRY(clear_refine_counts(s));
	RB_TRY(rb_refine_sum_back(s->run, &s->a));
	RB_TRY(rb_refine_sum_needs(s->run, &s->a, s->needs_sums));
	RB_TRY(read_refine_counts(s));
	RB_TRY(charge_time_to_refine_step(s, RB_REFINE_LISTS));
	back = s->counts->back;
	needs = s->counts->needs;
	blocked = s->counts->blocked;
	RB_TRY(reserve_work_list_on_device(s, &s->pieces, (size_t) back.x + needs.x));
	RB_TRY(reserve_work_list_on_device(s, &s->walls, (size_t) back.y + needs.y));
	RB_TRY(reserve_work_list_on_device(s, &s->tets, (size_t) back.z + needs.z));
	RB_TRY(reserve_work_list_on_device(s, &s->later, back.w));
	if (blocked > 0)
	{
		RB_TRY(reserve_work_list_on_device(s, &s->blocked, blocked));
		RB_TRY(rb_refine_append_blocked(s->run, &s->a,
										entries_of_work_list(&s->blocked) + s->blocked.n));
		s->blocked.n += blocked;
	}
	pass_work_lists_to_kernels(s);
	RB_TRY(rb_refine_append_back(s->run, &s->a));
	s->pieces.n += back.x;
	s->walls.n += back.y;
	s->tets.n += back.z;
	s->later.n += back.w;
	pass_work_lists_to_kernels(s);
	RB_TRY(rb_refine_append_needs(s->run, &s->a, s->needs_sums));
	s->pieces.n += needs.x;
	s->walls.n += needs.y;
	s->tets.n += needs.z;
	return RB_OK;
}

/* Updates the number of used slots and the list of free slots after the new cells are built. */
static rb_status
update_free_cell_slots(refine_rounds *s, uint32_t freed)
{
	uint32_t reused = s->a.nfresh < s->nfree ? s->a.nfresh : s->nfree;

	s->nsites += s->a.nwinners;
	s->ncells += s->a.nfresh - reused;
	s->nfree -= reused;
	RB_TRY(grow_refine_array(s, &s->free, s->nfree, (size_t) s->nfree + freed, sizeof(uint32_t)));
	if (freed > 0)
		RB_CUDA(s->run, cudaMemcpyAsync(free_slots_of_mesh(s) + s->nfree, s->a.freed,
										freed * sizeof(uint32_t), cudaMemcpyDeviceToDevice,
										s->run->queue->compute));
	s->nfree += freed;
	return RB_OK;
}

/* Runs one round: cavities, winners, new cells, needs. */
static rb_status
run_refine_round(refine_rounds *s)
{
	uint32_t freed;

	RB_TRY(rb_refine_create(s->run, &s->a));
	RB_TRY(charge_time_to_refine_step(s, RB_REFINE_MAKE));
	RB_TRY(grow_all_cavities(s));
	RB_TRY(number_winners_on_device(s));
	freed = s->counts->winners.z;
	RB_TRY(charge_time_to_refine_step(s, RB_REFINE_WINNERS));
	RB_TRY(rb_refine_fill(s->run, &s->a));
	RB_TRY(charge_time_to_refine_step(s, RB_REFINE_FILL));
	RB_TRY(reserve_needs_on_device(s));
	RB_TRY(rb_refine_needs(s->run, &s->a));
	RB_TRY(append_entries_to_work_lists(s));
	RB_TRY(update_free_cell_slots(s, freed));
	RB_TRY(charge_time_to_refine_step(s, RB_REFINE_LISTS));
	s->rounds++;
	s->tried += s->a.ncands;
	return RB_OK;
}

/*
 * Runs one round. If it had few candidates, records its time, launches and waits, which dominate
 * its cost.
 */
static rb_status
run_and_time_refine_round(refine_rounds *s)
{
	const uint64_t launches = s->launches, waits = s->waits;
	const double start = rb_now_ms();
	rb_status status = run_refine_round(s);

	if (s->a.ncands < RB_ROUND_SMALL)
	{
		s->few++;
		s->few_ms += rb_now_ms() - start;
		s->few_launches += s->launches - launches;
		s->few_waits += s->waits - waits;
	}
	return status;
}

/*
 * Launches the kernels that list the splits that the initial cells need; at the start of the
 * rounds on the device all cells are new.
 */
static rb_status
list_first_needs_on_device(refine_rounds *s)
{
	memset(&s->a.places, 0, sizeof(s->a.places));
	s->a.ncands = 0;
	s->a.nfresh = s->ncells;
	RB_TRY(reserve_needs_on_device(s));
	RB_TRY(rb_refine_needs(s->run, &s->a));
	return append_entries_to_work_lists(s);
}

/* ---- upload and download ---- */

/* Copies an array to the device; an empty array is only allocated. */
static rb_status
upload_refine_array(refine_rounds *s, void **to, const void *from, size_t bytes)
{
	*to = NULL;
	RB_TRY(allocate_refine_block(s, to, bytes));
	return bytes > 0 ? rb_upload(s->run, *to, from, bytes) : RB_OK;
}

/* Uploads the sizing field, if there is one. */
static rb_status
upload_sizing_field(refine_rounds *s)
{
	const rb_sizes *z = s->r->mesh.sizes;
	rb_sizes *to;

	if (z == NULL)
		return RB_OK;
	s->sizes = *z;
	RB_TRY(upload_refine_array(s, (void **) &s->sizes.start, z->start,
							   ((size_t) z->n[0] * (size_t) z->n[1] * (size_t) z->n[2] + 1) *
								   sizeof(uint32_t)));
	RB_TRY(upload_refine_array(s, (void **) &s->sizes.points, z->points,
							   4 * (size_t) s->r->options->nsizes * sizeof(double)));
	RB_TRY(upload_refine_array(s, (void **) &to, &s->sizes, sizeof(s->sizes)));
	s->a.m.sizes = to;
	return RB_OK;
}

/* Uploads the mesh. */
static rb_status
upload_mesh_to_refine(refine_rounds *s)
{
	const rb_refining *r = s->r;
	const rb_cells *from = &r->mesh;
	rb_cells *m = &s->a.m;

	*m = *from;
	RB_TRY(reserve_cells_and_vertices(s, r->ncells, r->nsites));
	s->ncells = r->ncells;
	s->nsites = r->nsites;
	RB_TRY(rb_upload(s->run, m->cells, from->cells, r->ncells * sizeof(rb_cell)));
	RB_TRY(rb_upload(s->run, m->sites, from->sites, r->nsites * sizeof(rb_site)));
	RB_TRY(rb_upload(s->run, m->kind, from->kind, r->nsites));
	RB_TRY(rb_upload(s->run, m->parent, from->parent, r->nsites * sizeof(uint32_t)));
	RB_TRY(upload_refine_array(s, (void **) &m->segments, from->segments,
							   (size_t) from->nsegments * sizeof(uint32_t[2])));
	RB_TRY(upload_refine_array(s, (void **) &m->segment_order, from->segment_order,
							   (size_t) from->nsegments * sizeof(uint32_t)));
	RB_TRY(upload_refine_array(s, (void **) &m->facet_start, from->facet_start,
							   ((size_t) r->all_facets + 1) * sizeof(uint32_t)));
	RB_TRY(upload_refine_array(s, (void **) &m->facet_corners, from->facet_corners,
							   (size_t) from->facet_start[r->all_facets] * sizeof(uint32_t)));
	RB_TRY(upload_refine_array(s, (void **) &m->planes, from->planes,
							   (size_t) r->all_facets * sizeof(rb_facet_plane)));
	if (from->region_volume != NULL)
		RB_TRY(upload_refine_array(s, (void **) &m->region_volume, from->region_volume,
								   r->nregions * sizeof(double)));
	RB_TRY(upload_sizing_field(s));
	s->nfree = r->nfree;
	RB_TRY(grow_refine_array(s, &s->free, 0, (size_t) r->nfree + 1, sizeof(uint32_t)));
	if (r->nfree > 0)
		RB_TRY(rb_upload(s->run, free_slots_of_mesh(s), r->free, r->nfree * sizeof(uint32_t)));
	RB_TRY(reserve_work_list_on_device(s, &s->blocked, (size_t) r->nblocked + 1));
	s->blocked.n = r->nblocked;
	return r->nblocked > 0 ? rb_upload(s->run, entries_of_work_list(&s->blocked), r->blocked,
									   r->nblocked * sizeof(rb_entry64))
						   : RB_OK;
}

/* Allocates the arrays of all rounds and uploads the mesh. */
static rb_status
open_refine_rounds(refine_rounds *s)
{
	static_assert(sizeof(rb_refine_counts) <= sizeof(rb_mailbox), "what the host learns");

	s->counts = (rb_refine_counts *) s->run->queue->mailbox;
	s->a.filters = s->run->ctx->filters;
	RB_TRY(allocate_refine_block(s, (void **) &s->a.counts, sizeof(rb_refine_counts)));
	RB_TRY(upload_mesh_to_refine(s));
	s->a.cavities_cap = CAVITIES_FIRST;
	RB_TRY(
		allocate_refine_block(s, (void **) &s->a.cavities, s->a.cavities_cap * sizeof(uint32_t)));
	s->a.expansion_warps = rb_refine_exact_warps();
	RB_TRY(allocate_refine_block(s, (void **) &s->a.expansions,
								 (size_t) s->a.expansion_warps * 32 * RB_EXPANSION_ROOM *
									 sizeof(double)));
	RB_TRY(allocate_refine_block(s, (void **) &s->a.asked.query,
								 RB_REFINE_ASKED * sizeof(rb_refine_query)));
	RB_TRY(allocate_refine_block(s, (void **) &s->a.asked.answer, RB_REFINE_ASKED));
	RB_TRY(allocate_refine_block(s, (void **) &s->a.asked.table,
								 RB_REFINE_ASKED_TABLE * sizeof(uint32_t)));
	RB_TRY(allocate_refine_block(s, (void **) &s->a.asked.n, sizeof(uint32_t)));
	RB_TRY(clear_cached_signs(s));
	/* The first call of append uses these sums, although it has no candidates. */
	return allocate_refine_block(s, (void **) &s->a.sums, sizeof(uint4));
}

/* Arrays of the host that replace those of the mesh once all are downloaded */
typedef struct downloaded_mesh
{
	void *cells, *sites, *kind, *parent, *free, *blocked;
} downloaded_mesh;

/* Allocates an array on the host and downloads it. */
static rb_status
download_refined_array(refine_rounds *s, void **to, const void *from, size_t bytes)
{
	rb_error error;
	rb_status status = rb_resize(s->run->ctx->memory, to, bytes + 1, &error);

	if (status != RB_OK)
		return rb_fail(s->run->ctx, status, error.need, error.limit, NULL);
	return rb_fetch(s->run, *to, from, bytes);
}

/* Downloads the refined mesh. */
static rb_status
download_refined_mesh(refine_rounds *s, downloaded_mesh *to)
{
	RB_TRY(rb_sync(s->run));
	RB_TRY(download_refined_array(s, &to->cells, s->a.m.cells, s->ncells * sizeof(rb_cell)));
	RB_TRY(download_refined_array(s, &to->sites, s->a.m.sites, s->nsites * sizeof(rb_site)));
	RB_TRY(download_refined_array(s, &to->kind, s->a.m.kind, s->nsites));
	RB_TRY(download_refined_array(s, &to->parent, s->a.m.parent, s->nsites * sizeof(uint32_t)));
	RB_TRY(download_refined_array(s, &to->free, s->free.at, s->nfree * sizeof(uint32_t)));
	return download_refined_array(s, &to->blocked, s->blocked.room.at,
								  s->blocked.n * sizeof(rb_entry64));
}

/* Swaps a downloaded array with the caller's old one, which is freed with the other downloads. */
static void
swap_mesh_arrays(void **ours, void **theirs)
{
	void *old = *theirs;

	*theirs = *ours;
	*ours = old;
}

/* Replaces the mesh on the host by the refined one, and adds the report. */
static rb_status
replace_mesh_by_refined(refine_rounds *s)
{
	rb_refining *r = s->r;
	rb_refine_report *report = r->report;
	downloaded_mesh to = {NULL, NULL, NULL, NULL, NULL, NULL};
	void **all[] = {&to.cells, &to.sites, &to.kind, &to.parent, &to.free};
	void **theirs[] = {(void **) &r->mesh.cells, (void **) &r->mesh.sites, (void **) &r->mesh.kind,
					   (void **) &r->mesh.parent, (void **) &r->free};
	rb_status status = download_refined_mesh(s, &to);

	if (status == RB_OK && s->blocked.n > 0)
		status = rb_array_grow(s->run->ctx, (void **) &r->blocked, &r->blocked_cap, s->blocked.n,
							   sizeof(rb_entry64));
	if (status == RB_OK)
	{
		if (s->blocked.n > 0)
			memcpy(r->blocked, to.blocked, s->blocked.n * sizeof(rb_entry64));
		r->nblocked = s->blocked.n;
		r->done = s->done;
		r->full |= s->full;
		for (int i = 0; i < 5; i++)
			swap_mesh_arrays(all[i], theirs[i]);
		r->ncells = s->ncells;
		r->cells_cap = s->ncells;
		r->nsites = s->nsites;
		r->sites_cap = r->kind_cap = r->parent_cap = s->nsites;
		r->nfree = s->nfree;
		r->free_cap = s->nfree;
		s->ms[RB_REFINE_COPY] += rb_now_ms() - s->lap;
		report->rounds += (uint32_t) s->rounds;
		report->tried += s->tried;
		report->device_asked += s->asked;
		report->device_large += s->large;
		report->device_launches += s->launches;
		report->device_waits += s->waits;
		report->device_few += s->few;
		report->device_few_launches += s->few_launches;
		report->device_few_waits += s->few_waits;
		report->device_few_ms += s->few_ms;
		if (s->most_bytes > report->device_bytes)
			report->device_bytes = s->most_bytes;
		report->device_mesh_bytes = s->ncells * sizeof(rb_cell) +
									s->nsites * (sizeof(rb_site) + 1 + sizeof(uint32_t)) +
									s->nfree * sizeof(uint32_t);
		for (int i = 0; i < RB_REFINE_STEPS; i++)
			report->device_ms[i] += s->ms[i];
	}
	for (int i = 0; i < 5; i++)
		rb_free(s->run->ctx->memory, all[i]);
	rb_free(s->run->ctx->memory, &to.blocked);
	return status;
}

/* Runs rounds until no work is left or the mesh is full. */
static rb_status
run_refine_rounds(refine_rounds *s)
{
	RB_TRY(open_refine_rounds(s));
	RB_TRY(rb_sync(s->run));
	RB_TRY(charge_time_to_refine_step(s, RB_REFINE_COPY));
	RB_TRY(list_first_needs_on_device(s));
	while (!s->full && (s->r->most_rounds == 0 || s->rounds < s->r->most_rounds))
	{
		RB_TRY(gather_candidates_on_device(s));
		if (s->a.ncands == 0)
		{
			s->done = !s->protecting && s->pieces.n + s->walls.n + s->tets.n + s->later.n == 0;
			break;
		}
		rb_progress(s->run->ctx, RB_STAGE_MESH_REFINE, s->nsites, s->r->options->max_points);
		if (rb_should_stop(s->run->ctx))
			return RB_STOPPED;
		RB_TRY(run_and_time_refine_round(s));
	}
	RB_TRY(rb_sync(s->run));
	RB_TRY(charge_time_to_refine_step(s, RB_REFINE_LISTS));
	return replace_mesh_by_refined(s);
}

/* ---- refinement on a device ---- */

/*
 * Runs all rounds of the refinement of a mesh on the device, with a queue and a memory budget of
 * their own.
 */
static rb_status
refine_mesh_on_device(rb_device_run *run, rb_refining *r)
{
	const uint64_t limit = run->ctx->settings.gpu_memory_limit;
	size_t free_bytes, all_bytes;
	refine_rounds s;
	rb_status status;

	RB_CUDA(run, cudaMemGetInfo(&free_bytes, &all_bytes));
	run->free = free_bytes;
	RB_TRY(rb_queue_take(run));
	run->budget = limit > 0 ? (limit < all_bytes ? limit : all_bytes) : rb_device_budget(run);
	run->budget -= run->budget / 16;
	memset(&s, 0, sizeof(s));
	s.run = run;
	s.r = r;
	s.lap = rb_now_ms();
	s.protecting = r->protect;
	s.most = RB_ROUND_CANDIDATES;
	s.a.launches = &s.launches;
	s.pieces.room.small = s.walls.room.small = s.blocked.room.small = true;
	status = run_refine_rounds(&s);
	rb_queue_idle(run);
	run->nmarks = 0;
	rb_team_close(&s.team);
	free_arenas_of_rounds(&s);
	rb_device_free_all(run);
	cudaStreamSynchronize(run->queue->compute);
	rb_queue_give(run, status != RB_DEVICE_FAILED);
	return status;
}

rb_status
rb_device_refine(rb_context *ctx, rb_refining *r, size_t size)
{
	rb_device_run run;
	rb_status status;

	/* Without a quality bound and without volume bounds, nothing needs to be split. */
	r->done = true;
	if (!(r->mesh.ratio < INFINITY) && !r->mesh.has_volumes)
		return RB_OK;
	r->done = false;
	if (size != sizeof(rb_refining))
		return rb_fail(ctx, RB_NO_DEVICE, 0, 0,
					   "the backend belongs to another version of redblue");
	memset(&run, 0, sizeof(run));
	run.ctx = ctx;
	run.until = rb_now_ms() + WAIT_MS;
	status = rb_device_take(&run);
	if (status == RB_OK)
	{
		status = refine_mesh_on_device(&run, r);
		if (status == RB_DEVICE_FAILED)
			rb_device_check(&run, ctx->error.text);
		rb_device_give(&run);
	}
	if (status == RB_DEVICE_FULL && ctx->error.status == RB_OK)
	{
		char text[120];

		snprintf(text, sizeof(text), "The refinement needs more than %lu MB of GPU memory.",
				 (unsigned long) (run.need >> 20));
		return rb_fail(ctx, RB_DEVICE_FULL, run.need, run.free, text);
	}
	return ctx->error.status != RB_OK ? ctx->error.status : status;
}
