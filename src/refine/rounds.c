/*
 * rounds.c
 *	  Runs rounds (round.h) until the work lists are empty, each step on all threads.
 *
 * There is one list of entries for each kind of work: subsegments, constrained faces and
 * tetrahedra. A fourth list holds tetrahedra that wait until something else is split. A round takes
 * entries from the ends of the lists, so the newest work comes first, and puts the losers back;
 * then the needs of the new cells are appended. The result depends only on the order of the lists,
 * which is that of candidates and cells, whichever thread processed them.
 */
#include "refine/refining.h"

#include "core/base/parallel.h"

/*
 * Maximum number of candidates or cells that a thread takes at once, and the minimum if each takes
 * a long time
 */
#define GRAIN 256
#define MIN_GRAIN 16
/* New cells in a block, for listing their needs */
#define LISTED 1024
#define AHEAD 8 /* Number of candidates to prefetch ahead */

typedef struct entries
{
	rb_entry64 *e;
	size_t n;
	size_t cap;
} entries;

/*
 * Number of subsegments, constrained faces and tetrahedra to split in a block of new cells; later,
 * the list positions of the first of each
 */
typedef struct need_counts
{
	size_t n[3];
} need_counts;

/* State of one thread */
typedef struct round_worker
{
	rb_workspace room;
	rb_workspace large;
	uint32_t small_cells[RB_ROOM_CELLS];
	uint8_t small_rims[RB_ROOM_CELLS];
	uint32_t small_walls[RB_ROOM_WALLS];
	uint32_t small_table[2 * RB_ROOM_CELLS];
	uint32_t *cavities; /* Cell lists of the candidates that the thread grew in this round */
	size_t n;
	size_t cap;
	rb_status status;
	rb_context *ctx;
} round_worker;

typedef struct rounds
{
	rb_refining *r;
	rb_thread *team;
	round_worker *workers;
	uint32_t nworkers;
	entries pieces, walls, tets, later;
	rb_refine_candidate *cands;
	size_t cands_cap;
	uint32_t ncands;
	uint32_t *large; /* Candidates that need a larger workspace */
	size_t large_cap;
	uint32_t nlarge;
	uint32_t *winners;
	size_t winners_cap;
	uint32_t nwinners;
	uint32_t nfresh;
	uint32_t most; /* Maximum number of tetrahedra per round (rb_round_most) */
	rb_places places;
	uint32_t *freed;
	size_t freed_cap;
	uint32_t *freed_at; /* Position in freed of each winner's cells */
	size_t freed_at_cap;
	uint32_t *needs; /* Needs of each new cell */
	size_t needs_cap;
	need_counts *tallies; /* Tally of each block of new cells */
	size_t tallies_cap;
	rb_workspace huge; /* Workspace for cavities of any size */
	bool protecting;   /* True if only subsegments are being split so far */
	bool full;         /* True if max_points was reached */
} rounds;

/* ---- lists ---- */

/* Appends an entry to one of the work lists of the rounds. */
static rb_status
push_entry(rounds *s, entries *list, rb_entry64 e)
{
	RB_TRY(RB_GROW(s->r->ctx, list->e, list->cap, list->n + 1));
	list->e[list->n++] = e;
	return RB_OK;
}

/*
 * Removes up to `most` entries from the end of a work list and appends them to the candidates of
 * the round, in the order of the list.
 */
static void
pop_candidates(rounds *s, entries *list, uint32_t most)
{
	size_t n = list->n < most ? list->n : most;

	for (size_t i = list->n - n; i < list->n; i++)
		s->cands[s->ncands++].entry = list->e[i];
	list->n -= n;
}

/*
 * Moves a regular subsample of the tetrahedra to the candidates. Most entries next to each other in
 * the list are close in space, too, and would only conflict.
 */
static void
pop_subsample(rounds *s, uint32_t most)
{
	entries *list = &s->tets;
	const size_t window = rb_round_window(list->n, s->most), step = rb_round_step(window, s->most);
	size_t left = list->n - window, next = left + s->r->report->rounds % step;

	for (size_t i = left; i < list->n; i++)
		if (i == next && s->ncands < most)
		{
			s->cands[s->ncands++].entry = list->e[i];
			next += step;
		}
		else
			list->e[left++] = list->e[i];
	list->n = left;
}

/*
 * Selects the candidates of a round. Selects none if all work is done, or if some subsegments are
 * blocked before anything else is split.
 */
static rb_status
select_candidates(rounds *s)
{
	uint32_t most = RB_ROUND_CANDIDATES;
	size_t all = s->pieces.n + s->walls.n + s->tets.n;

	/*
	 * Subsegments come first. If any of them are blocked, return to the caller before anything else
	 * is split.
	 */

	if (s->pieces.n == 0 && s->protecting)
	{
		s->protecting = false;
		if (s->r->nblocked > 0)
		{
			s->ncands = 0;
			return RB_OK;
		}
	}
	if (s->protecting)
		all = s->pieces.n;
	else if (s->tets.n == 0 && s->pieces.n + s->walls.n == 0)
	{
		entries waited = s->later;

		s->later = s->tets;
		s->tets = waited;
		all = s->tets.n;
	}
	if (all > most)
		all = most;
	RB_TRY(RB_GROW(s->r->ctx, s->cands, s->cands_cap, all));
	s->ncands = 0;
	pop_candidates(s, &s->pieces, most);
	if (!s->protecting)
	{
		pop_candidates(s, &s->walls, most - s->ncands);
		pop_subsample(s, most);
	}
	return RB_OK;
}

/* Appends a subsegment to the blocked ones, which later are inserted jointly. */
static rb_status
push_blocked_round_entry(rb_refining *r, rb_entry64 e)
{
	RB_TRY(RB_GROW(r->ctx, r->blocked, r->blocked_cap, (size_t) r->nblocked + 1));
	r->blocked[r->nblocked++] = e;
	return RB_OK;
}

/*
 * Moves the entry of a candidate that did not win to the list that its verdict requires, or drops
 * it.
 */
static rb_status
requeue_entry(rounds *s, const rb_refine_candidate *cand)
{
	rb_what what = rb_entry_what(cand->entry);
	entries *list = what == RB_SPLIT_PIECE  ? &s->pieces
					: what == RB_SPLIT_WALL ? &s->walls
											: &s->tets;
	rb_status status = RB_OK;

	switch ((rb_verdict) cand->verdict)
	{
		case RB_LOST:
		case RB_LARGE:
			return push_entry(s, list, cand->entry);
		case RB_ASKEW:
			return push_entry(s, list, rb_entry_more_askew(cand->entry));
		case RB_BLOCKED:
			if (what == RB_SPLIT_PIECE && (s->protecting || rb_entry_blocked(cand->entry) > 0))
				return push_blocked_round_entry(s->r, cand->entry);
			status = push_entry(s, &s->later, rb_entry_more_blocked(cand->entry));
			if (status == RB_OK && cand->first != 0)
				status = push_entry(
					s, rb_entry_what(cand->first) == RB_SPLIT_PIECE ? &s->pieces : &s->walls,
					cand->first);
			return status;
		default:
			return RB_OK;
	}
}

/* ---- steps on threads ---- */

/* Runs a step that takes a long time for each item, so even few items are divided among threads. */
static rb_status
run_step(rounds *s, uint64_t n, rb_work work)
{
	uint64_t grain = n / (4 * s->nworkers);

	if (grain > GRAIN)
		grain = GRAIN;
	if (grain < MIN_GRAIN)
		grain = MIN_GRAIN;
	return n > 0 ? rb_loop(s->team, n, grain, work, s) : RB_OK;
}

/* Runs a step that takes little time for each item. */
static rb_status
run_light_step(rounds *s, uint64_t n, rb_work work)
{
	return n > 0 ? rb_loop(s->team, n, GRAIN, work, s) : RB_OK;
}

/* Returns the cells of a candidate's cavity, which lie in the memory of the thread that grew it. */
static const uint32_t *
cells_of_round_cavity(const rounds *s, const rb_refine_candidate *cand)
{
	return s->workers[cand->cavity >> 48].cavities + (cand->cavity & UINT64_C(0xffffffffffff));
}

/* Returns the environment of exact predicates for one step on one thread. */
static rb_exact_env
exact_env_of_round_step(const rounds *s)
{
	return (rb_exact_env){.filters = s->r->ctx->filters, .exact = true};
}

/* Makes the candidates of a range of entries. */
static void
make_candidates_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rounds *s = arg;

	(void) me;
	for (uint64_t i = from; i < to && i < from + AHEAD; i++)
		RB_SOON(&s->r->mesh.cells[rb_entry_cell(s->cands[i].entry)]);
	for (uint64_t i = from; i < to; i++)
	{
		if (i + AHEAD < to)
			RB_SOON(&s->r->mesh.cells[rb_entry_cell(s->cands[i + AHEAD].entry)]);
		rb_round_make(&s->r->mesh, &s->cands[i], (uint32_t) i);
	}
}

/* Grows a cavity in the given workspace, and saves its cells if it is valid. */
static void
grow_cavity_of_round(rounds *s, round_worker *w, uint32_t number, rb_refine_candidate *cand,
					 rb_workspace *room)
{
	rb_exact_env env = exact_env_of_round_step(s);

	cand->verdict = rb_grow(&s->r->mesh, &env, cand, room);
	rb_room_clear(room);
	if (cand->verdict != RB_FITS)
	{
		cand->ncells = 0;
		return;
	}
	if (w->status == RB_OK)
		w->status = RB_GROW(w->ctx, w->cavities, w->cap, w->n + room->n);
	if (w->status != RB_OK)
	{
		cand->ncells = 0;
		return;
	}
	memcpy(w->cavities + w->n, room->cells, room->n * sizeof(*room->cells));
	cand->cavity = (uint64_t) number << 48 | w->n;
	w->n += room->n;
}

/* Allocates a workspace of at least the given capacity, with a hash table. */
static rb_status
allocate_round_workspace(rb_context *ctx, rb_workspace *room, uint32_t cells, uint32_t walls)
{
	if (room->cells_cap >= cells)
		return RB_OK;
	RB_TRY(RB_ALLOCATE(ctx, room->cells, cells));
	RB_TRY(RB_ALLOCATE(ctx, room->rims, cells));
	RB_TRY(RB_ALLOCATE(ctx, room->table, 2 * (size_t) cells));
	RB_TRY(RB_ALLOCATE(ctx, room->walls, walls));
	room->cells_cap = cells;
	room->walls_cap = walls;
	memset(room->table, 0xff, 2 * (size_t) cells * sizeof(*room->table));
	return RB_OK;
}

/* Frees a workspace in which cavities grow. */
static void
free_round_workspace(rb_memory *memory, rb_workspace *room)
{
	RB_FREE(memory, room->cells);
	RB_FREE(memory, room->rims);
	RB_FREE(memory, room->walls);
	RB_FREE(memory, room->table);
}

/* Grows the cavities of a range of candidates. */
static void
grow_cavities_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rounds *s = arg;
	uint32_t number = (uint32_t) rb_thread_number(me);
	round_worker *w = &s->workers[number];

	for (uint64_t i = from; i < to; i++)
		if (s->cands[i].verdict == RB_READY)
			grow_cavity_of_round(s, w, number, &s->cands[i], &w->room);
}

/* Grows a range of cavities that do not fit in a small workspace. */
static void
grow_large_cavities_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rounds *s = arg;
	uint32_t number = (uint32_t) rb_thread_number(me);
	round_worker *w = &s->workers[number];

	for (uint64_t i = from; i < to; i++)
	{
		if (w->status == RB_OK)
			w->status = allocate_round_workspace(w->ctx, &w->large, RB_ROOM_CELLS_LARGE,
												 RB_ROOM_WALLS_LARGE);
		if (w->status == RB_OK)
			grow_cavity_of_round(s, w, number, &s->cands[s->large[i]], &w->large);
	}
}

/* Claims the cells of a range of cavities. */
static void
claim_cells_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rounds *s = arg;

	(void) me;
	for (uint64_t i = from; i < to; i++)
		if (s->cands[i].verdict == RB_FITS)
			rb_round_claim(&s->r->mesh, &s->cands[i], cells_of_round_cavity(s, &s->cands[i]));
}

/* Selects the candidates of a range that own all their cells. */
static void
select_owners_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rounds *s = arg;

	(void) me;
	for (uint64_t i = from; i < to; i++)
		if (s->cands[i].verdict == RB_FITS)
			rb_round_own(&s->r->mesh, &s->cands[i], cells_of_round_cavity(s, &s->cands[i]));
}

/* Tests a range of candidates for conflicts with adjacent ones. */
static void
test_conflicts_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rounds *s = arg;
	rb_exact_env env = exact_env_of_round_step(s);

	(void) me;
	for (uint64_t i = from; i < to; i++)
		if (s->cands[i].verdict == RB_OWNS)
			rb_round_find_conflicts(&s->r->mesh, &env, s->cands, &s->cands[i],
									cells_of_round_cavity(s, &s->cands[i]));
}

/* Releases the claims of losing candidates of a range. */
static void
release_cells_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rounds *s = arg;

	(void) me;
	for (uint64_t i = from; i < to; i++)
		rb_round_release(&s->r->mesh, s->cands, &s->cands[i],
						 s->cands[i].ncells > 0 ? cells_of_round_cavity(s, &s->cands[i]) : NULL);
}

/* Builds the stars of a range of winners. */
static void
build_stars_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rounds *s = arg;

	(void) me;
	for (uint64_t i = from; i < to; i++)
	{
		const rb_refine_candidate *cand = &s->cands[s->winners[i]];

		rb_star_build(&s->r->mesh, cand, cells_of_round_cavity(s, cand), &s->places);
	}
}

/* Links a range of new cells with those of other stars. */
static void
link_stars_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rounds *s = arg;

	(void) me;
	for (uint64_t i = from; i < to; i++)
		rb_star_link(&s->r->mesh, s->cands, rb_place(&s->places, (uint32_t) i));
}

/* Deletes the old cells of a range of winners and lists their slots. */
static void
finish_winners_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rounds *s = arg;

	(void) me;
	for (uint64_t i = from; i < to; i++)
	{
		const rb_refine_candidate *cand = &s->cands[s->winners[i]];

		rb_round_finish(&s->r->mesh, cand, cells_of_round_cavity(s, cand),
						s->freed + s->freed_at[i]);
	}
}

/* Computes the needs of a range of new cells. */
static void
compute_needs_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rounds *s = arg;

	(void) me;
	for (uint64_t i = from; i < to; i++)
	{
		rb_cell *c = &s->r->mesh.cells[rb_place(&s->places, (uint32_t) i)];

		s->needs[i] = c->v[0] == RB_DEAD ? 0 : rb_cell_needs(&s->r->mesh, c);
	}
}

/* Counts the needs of one block of new cells, by kind. */
static void
count_needs_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rounds *s = arg;
	need_counts sum = {{0, 0, 0}};

	(void) me;
	for (uint64_t i = from; i < to; i++)
	{
		const uint32_t needs = s->needs[i];

		if (needs == 0)
			continue;
		sum.n[0] += (size_t) __builtin_popcount(needs & (RB_NEED_WALL(0) - 1));
		sum.n[1] += (size_t) __builtin_popcount(needs & (RB_NEED_TET - RB_NEED_WALL(0)));
		sum.n[2] += (needs & RB_NEED_TET) != 0;
	}
	s->tallies[from / LISTED] = sum;
}

/* Writes the needs of one block to the lists, from the positions in its tally on. */
static void
list_needs_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rounds *s = arg;
	const rb_cells *m = &s->r->mesh;
	rb_entry64 *piece = s->pieces.e + s->tallies[from / LISTED].n[0];
	rb_entry64 *wall = s->walls.e + s->tallies[from / LISTED].n[1];
	rb_entry64 *tet = s->tets.e + s->tallies[from / LISTED].n[2];

	(void) me;
	for (uint64_t i = from; i < to; i++)
	{
		const uint32_t needs = s->needs[i];
		uint32_t cell;

		if (needs == 0)
			continue;
		cell = rb_place(&s->places, (uint32_t) i);
		for (uint32_t e = 0; e < 6; e++)
			if ((needs & 1u << e) != 0)
				*piece++ = rb_entry_make(m, cell, e, RB_SPLIT_PIECE, false);
		for (uint32_t k = 0; k < 4; k++)
			if ((needs & RB_NEED_WALL(k)) != 0)
				*wall++ = rb_entry_make(m, cell, k, RB_SPLIT_WALL, false);
		if ((needs & RB_NEED_TET) != 0)
			*tet++ = rb_entry_make(m, cell, 0, RB_SPLIT_TET, false);
	}
}

/* ---- a round ---- */

/*
 * Lists at most `most` candidates whose cavity outgrew its workspace, starting with the strongest
 * of them. The first one may be the strongest candidate of all; then it keeps all others from its
 * cells, and no round would make progress without it.
 */
static rb_status
list_large_cavities(rounds *s, uint32_t most)
{
	uint64_t key = 0;
	uint32_t first = 0;

	for (uint32_t i = 0; i < s->ncands; i++)
		if (s->cands[i].verdict == RB_LARGE && s->cands[i].key > key)
		{
			key = s->cands[i].key;
			first = i;
		}
	s->nlarge = 0;
	for (uint32_t k = 0; k < s->ncands && s->nlarge < most && key > 0; k++)
	{
		const uint32_t i = k < s->ncands - first ? first + k : k - (s->ncands - first);

		if (s->cands[i].verdict != RB_LARGE)
			continue;
		RB_TRY(RB_GROW(s->r->ctx, s->large, s->large_cap, (size_t) s->nlarge + 1));
		s->large[s->nlarge++] = i;
	}
	return RB_OK;
}

/*
 * Grows the few cavities of a round that exceed the workspaces of all threads, one after the
 * other.
 */
static rb_status
grow_huge_cavities_of_round(rounds *s)
{
	uint32_t cells = RB_ROOM_CELLS_LARGE;
	rb_status status = list_large_cavities(s, RB_ROUND_HUGE);

	while (cells < s->r->ncells && cells < RB_ROOM_CELLS_HUGE)
		cells *= 2;
	for (uint32_t i = 0; i < s->nlarge && status == RB_OK; i++)
	{
		rb_refine_candidate *cand = &s->cands[s->large[i]];

		status = allocate_round_workspace(s->r->ctx, &s->huge, cells, RB_ROOM_WALLS_HUGE);
		if (status != RB_OK)
			break;
		grow_cavity_of_round(s, &s->workers[0], 0, cand, &s->huge);
		if (cand->verdict == RB_LARGE)
		{
			cand->verdict = RB_KEPT;
			cand->reason = RB_BAD_TOO_FINE;
		}
		if (rb_should_stop(s->r->ctx))
			status = RB_STOPPED;
	}
	return status;
}

/* Numbers the winners and assigns slots to their new cells. */
static rb_status
number_winners(rounds *s)
{
	rb_refining *r = s->r;
	uint64_t most = r->options->max_points > 0 ? r->options->max_points : UINT32_MAX - 8;
	uint64_t fresh = 0, freed = 0;
	uint32_t n = 0, vied = 0;
	rb_status status = RB_GROW(r->ctx, s->winners, s->winners_cap, s->ncands);

	if (status == RB_OK)
		status = RB_GROW(r->ctx, s->freed_at, s->freed_at_cap, s->ncands);
	if (status != RB_OK)
		return status;
	for (uint32_t i = 0; i < s->ncands; i++)
	{
		rb_refine_candidate *cand = &s->cands[i];

		rb_round_decide(cand);
		vied += rb_round_vies(cand);
		if (cand->verdict != RB_WINS)
			continue;
		if (r->nsites + (uint64_t) n >= most)
		{
			cand->verdict = RB_LOST;
			s->full = true;
			r->full = true;
			continue;
		}
		cand->vertex = r->nsites + n;
		cand->slots = (uint32_t) fresh;
		s->freed_at[n] = (uint32_t) freed;
		s->winners[n++] = i;
		fresh += cand->nrim;
		freed += cand->ncells;
	}
	s->nwinners = n;
	s->most = rb_round_most(s->most, vied, n);
	s->nfresh = (uint32_t) fresh;
	if (fresh + r->ncells >= RB_MAX_CELLS)
		return rb_fail(r->ctx, RB_TOO_MANY_OBJECTS, fresh + r->ncells, RB_MAX_CELLS, NULL);
	status = rb_refining_reserve(r, r->ncells + (fresh > r->nfree ? (size_t) fresh - r->nfree : 0),
								 r->nsites + (size_t) n);
	if (status == RB_OK)
		status = RB_GROW(r->ctx, s->freed, s->freed_cap, freed);
	if (status == RB_OK)
		status = RB_GROW(r->ctx, s->needs, s->needs_cap, fresh);
	s->places = (rb_places){r->free, r->nfree, r->ncells};
	return status;
}

/* Updates the number of cells and the list of free slots after the new cells are built. */
static rb_status
update_free_slots(rounds *s)
{
	rb_refining *r = s->r;
	uint32_t freed = 0;
	uint32_t reused = s->nfresh < r->nfree ? s->nfresh : r->nfree;

	for (uint32_t i = 0; i < s->nwinners; i++)
		freed += s->cands[s->winners[i]].ncells;
	r->nsites += s->nwinners;
	r->ncells += s->nfresh - reused;
	r->nfree -= reused;
	RB_TRY(RB_GROW(r->ctx, r->free, r->free_cap, (size_t) r->nfree + freed));
	if (freed > 0)
		memcpy(r->free + r->nfree, s->freed, freed * sizeof(uint32_t));
	r->nfree += freed;
	return RB_OK;
}

/*
 * Appends the needs of the new cells to the lists, in the order of the cells, whichever thread
 * writes them.
 */
static rb_status
append_needs_of_new_cells(rounds *s)
{
	const uint32_t blocks = s->nfresh / LISTED + 1;
	entries *lists[3] = {&s->pieces, &s->walls, &s->tets};
	size_t n[3] = {s->pieces.n, s->walls.n, s->tets.n};

	RB_TRY(RB_GROW(s->r->ctx, s->tallies, s->tallies_cap, blocks));
	if (s->nfresh > 0)
		RB_TRY(rb_loop(s->team, s->nfresh, LISTED, count_needs_piece, s));
	for (uint32_t b = 0; b * LISTED < s->nfresh; b++)
		for (int k = 0; k < 3; k++)
		{
			size_t first = n[k];

			n[k] += s->tallies[b].n[k];
			s->tallies[b].n[k] = first;
		}
	for (int k = 0; k < 3; k++)
		RB_TRY(RB_GROW(s->r->ctx, lists[k]->e, lists[k]->cap, n[k] + 1));
	if (s->nfresh > 0)
		RB_TRY(rb_loop(s->team, s->nfresh, LISTED, list_needs_piece, s));
	for (int k = 0; k < 3; k++)
		lists[k]->n = n[k];
	return RB_OK;
}

/* Builds the candidates of a round and grows their cavities. */
static rb_status
grow_candidates(rounds *s)
{
	RB_TRY(run_step(s, s->ncands, make_candidates_piece));
	RB_TRY(run_step(s, s->ncands, grow_cavities_piece));
	RB_TRY(list_large_cavities(s, RB_ROUND_LARGE));
	if (s->nlarge > 0)
		RB_TRY(rb_loop(s->team, s->nlarge, 1, grow_large_cavities_piece, s));
	return grow_huge_cavities_of_round(s);
}

/* Selects the winners of a round, inserts their points, and lists what has to be split next. */
static rb_status
insert_winners(rounds *s)
{
	RB_TRY(run_light_step(s, s->ncands, claim_cells_piece));
	RB_TRY(run_light_step(s, s->ncands, select_owners_piece));
	RB_TRY(run_light_step(s, s->ncands, test_conflicts_piece));
	RB_TRY(number_winners(s));
	RB_TRY(run_light_step(s, s->ncands, release_cells_piece));
	RB_TRY(run_step(s, s->nwinners, build_stars_piece));
	RB_TRY(run_light_step(s, s->nfresh, link_stars_piece));
	RB_TRY(run_light_step(s, s->nwinners, finish_winners_piece));
	RB_TRY(run_step(s, s->nfresh, compute_needs_piece));
	for (uint32_t i = 0; i < s->ncands; i++)
		RB_TRY(requeue_entry(s, &s->cands[i]));
	RB_TRY(append_needs_of_new_cells(s));
	return update_free_slots(s);
}

/* Runs one round: candidates, cavities, winners, stars, needs. */
static rb_status
run_round(rounds *s)
{
	rb_status status;

	for (uint32_t i = 0; i < s->nworkers; i++)
		s->workers[i].n = 0;
	status = grow_candidates(s);
	/* A worker that failed made the others stop: its status takes precedence. */
	for (uint32_t i = 0; i < s->nworkers; i++)
		if (s->workers[i].status != RB_OK && (status == RB_OK || status == RB_STOPPED))
			status = s->workers[i].status;
	if (status == RB_OK)
		status = insert_winners(s);
	s->r->report->rounds++;
	s->r->report->tried += s->ncands;
	return status;
}

/* Lists the needs of all cells before the first round. */
static rb_status
list_needs_of_all_cells(rounds *s)
{
	rb_refining *r = s->r;

	s->places = (rb_places){NULL, 0, 0};
	s->nfresh = r->ncells;
	RB_TRY(RB_GROW(r->ctx, s->needs, s->needs_cap, r->ncells));
	RB_TRY(run_step(s, s->nfresh, compute_needs_piece));
	return append_needs_of_new_cells(s);
}

/* Opens the team and the workspaces of its threads. */
static rb_status
open_round_workers(rounds *s)
{
	rb_context *ctx = s->r->ctx;
	rb_status status;

	RB_TRY(rb_team_open(ctx, s->r->options->threads, &s->team));
	s->nworkers = (uint32_t) rb_team_threads(s->team);
	status = RB_ALLOCATE(ctx, s->workers, s->nworkers);
	if (status != RB_OK)
	{
		s->nworkers = 0;
		return status;
	}
	memset(s->workers, 0, s->nworkers * sizeof(round_worker));
	for (uint32_t i = 0; i < s->nworkers; i++)
	{
		round_worker *w = &s->workers[i];

		w->ctx = ctx;
		w->room.cells = w->small_cells;
		w->room.rims = w->small_rims;
		w->room.walls = w->small_walls;
		w->room.table = w->small_table;
		memset(w->small_table, 0xff, sizeof w->small_table);
		w->room.cells_cap = RB_ROOM_CELLS;
		w->room.walls_cap = RB_ROOM_WALLS;
	}
	return RB_OK;
}

/* Frees the team, workspaces and lists. */
static void
close_rounds(rounds *s)
{
	rb_memory *memory = s->r->ctx->memory;
	entries *lists[] = {&s->pieces, &s->walls, &s->tets, &s->later};

	rb_team_close(&s->team);
	for (uint32_t i = 0; i < s->nworkers; i++)
	{
		RB_FREE(memory, s->workers[i].cavities);
		free_round_workspace(memory, &s->workers[i].large);
	}
	RB_FREE(memory, s->workers);
	for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
		RB_FREE(memory, lists[i]->e);
	RB_FREE(memory, s->cands);
	RB_FREE(memory, s->winners);
	RB_FREE(memory, s->freed);
	RB_FREE(memory, s->freed_at);
	RB_FREE(memory, s->needs);
	RB_FREE(memory, s->tallies);
	RB_FREE(memory, s->large);
	free_round_workspace(memory, &s->huge);
}

rb_status
rb_refining_rounds(rb_refining *r)
{
	rounds s;
	const uint32_t first = r->report->rounds;
	rb_status status;

	memset(&s, 0, sizeof s);
	/* Without bounds no tetrahedron is bad, so nothing is split. */
	r->done = true;
	if (!(r->mesh.ratio < INFINITY) && !r->mesh.has_volumes)
		return RB_OK;
	s.r = r;
	s.protecting = r->protect;
	s.most = RB_ROUND_CANDIDATES;
	r->done = false;
	status = open_round_workers(&s);
	if (status == RB_OK)
		status = list_needs_of_all_cells(&s);
	while (status == RB_OK && !s.full &&
		   (r->most_rounds == 0 || r->report->rounds - first < r->most_rounds))
	{
		status = select_candidates(&s);
		if (status != RB_OK || s.ncands == 0)
		{
			r->done = !s.protecting && s.pieces.n + s.walls.n + s.tets.n + s.later.n == 0;
			break;
		}
		rb_progress(r->ctx, RB_STAGE_MESH_REFINE, r->nsites, r->options->max_points);
		status = rb_should_stop(r->ctx) ? RB_STOPPED : run_round(&s);
	}
	close_rounds(&s);
	return status;
}
