/*
 * round.h
 *	  Implements the steps of one round, each for one candidate or cell. CPU and GPU run the same
 *	  code, and each step finishes for all candidates before the next one begins.
 *
 *	make		turns an entry into a candidate with a point, and claims the cells it starts with
 *	grow		grows the cavity; gives up where a stronger candidate starts
 *	claim		claims all cells of the cavity
 *	own			checks whether the candidate holds the claims on all of them
 *	beside		checks whether a stronger adjacent owner conflicts
 *	decide		settles whether the candidate wins
 *	release		releases the claims of losers, and marks what cannot be split
 *	star		builds the new cells of winners
 *	link		links them with their surroundings
 *	finish		deletes the old cells
 *	needs		finds what has to be split in the new cells
 *
 * Between decide and star, winners are numbered in the order of the candidates, which determines
 * the numbers of vertices and cells. So the whole result depends only on the lists of entries, and
 * their order depends only on these numbers.
 *
 * After Z. Chen, T.-S. Tan: Computing Three-dimensional Constrained Delaunay Refinement Using the
 * GPU, 2019. Unlike there, every sign is exact, one thread grows a whole cavity in place of many
 * launches, and the winners do not depend on timing.
 */
#ifndef RB_REFINE_ROUND_H
#define RB_REFINE_ROUND_H

#include "core/base/atomic.h"
#include "refine/retriangulate.h"

/* Maximum number of candidates in a round */
#define RB_ROUND_CANDIDATES (1u << 17)
/*
 * Subsampling of the list of tetrahedra. A round takes every RB_ROUND_STEP-th entry, or uses a
 * smaller step if that would leave fewer than RB_ROUND_SMALL entries. It examines no more than
 * RB_ROUND_WINDOW entries per candidate, at the end of the list. RB_ROUND_MIN is the lower limit of
 * the adaptive number of candidates.
 */
#define RB_ROUND_STEP 16u
#define RB_ROUND_WINDOW 256u
#define RB_ROUND_SMALL 1024u
#define RB_ROUND_MIN 128u
/*
 * Large cavities: the maximum number per round that are grown beyond RB_ROOM_CELLS (other such
 * candidates are retried later), and the capacity of their workspaces
 */
#define RB_ROUND_LARGE 2048u
#define RB_ROOM_CELLS_LARGE (1u << 12)
#define RB_ROOM_WALLS_LARGE (1u << 10)
/*
 * Huge cavities: the maximum number per round that are grown beyond RB_ROOM_CELLS_LARGE, and the
 * capacity of their workspace. A cavity that is larger still is never filled.
 */
#define RB_ROUND_HUGE 4u
#define RB_ROOM_CELLS_HUGE (1u << 20)
#define RB_ROOM_WALLS_HUGE (1u << 16)

/*
 * Returns how many of the n entries a round examines, at the end of the list. A round takes few of
 * them, and most entries of a long list are obsolete.
 */
RB_HOST_DEVICE size_t
rb_round_window(size_t n, uint32_t most)
{
	return n / RB_ROUND_WINDOW > most ? (size_t) RB_ROUND_WINDOW * most : n;
}

RB_HOST_DEVICE size_t
rb_round_step(size_t n, uint32_t most)
{
	size_t step =
		n < (size_t) RB_ROUND_STEP * RB_ROUND_SMALL ? n / RB_ROUND_SMALL + 1 : RB_ROUND_STEP;

	return n / step > most ? (n + most - 1) / most : step;
}

/*
 * Returns how many tetrahedra to try in the next round, after one in which `vied` candidates
 * competed for cells and `won` of them won. If few win, their cavities are large and most would be
 * grown for nothing. When few are tried anyway, a higher share must win: a device has no more work
 * to run in parallel there, and a single thread only wastes the work on losers.
 */
RB_HOST_DEVICE uint32_t
rb_round_most(uint32_t most, uint32_t vied, uint32_t won)
{
	const bool few = most <= RB_ROUND_SMALL;

	if (few ? vied / 2 > won : vied / 4 > won)
	{
		most = vied < most ? vied : most;
		return most / 2 > RB_ROUND_MIN ? most / 2 : RB_ROUND_MIN;
	}
	if (few ? vied - vied / 4 < won : vied / 2 < won)
		return most < RB_ROUND_CANDIDATES / 2 ? 2 * most : RB_ROUND_CANDIDATES;
	return most;
}

/* Sets *word to the maximum of *word and value, atomically. */
RB_HOST_DEVICE void
rb_word_max(uint64_t *word, uint64_t value)
{
#ifdef __CUDA_ARCH__
	atomicMax((unsigned long long *) word, (unsigned long long) value);
#else
	uint64_t old = rb_load(word);

	while (old < value && !rb_store_if(word, &old, value))
		;
#endif
}

RB_HOST_DEVICE uint64_t
rb_word_read(const uint64_t *word)
{
#ifdef __CUDA_ARCH__
	return *(const volatile uint64_t *) word;
#else
	return rb_load(word);
#endif
}

RB_HOST_DEVICE void
rb_word_write(uint64_t *word, uint64_t value)
{
#ifdef __CUDA_ARCH__
	*(volatile uint64_t *) word = value;
#else
	rb_store(word, value);
#endif
}

RB_HOST_DEVICE void
rb_word_or(uint32_t *word, uint32_t bits)
{
#ifdef __CUDA_ARCH__
	atomicOr(word, bits);
#else
	rb_or(word, bits);
#endif
}

/* Claims the cells that a candidate starts with. */
RB_HOST_DEVICE void
rb_round_seeds(const rb_cells *m, const rb_refine_candidate *cand, uint64_t claim)
{
	uint32_t cell = rb_entry_cell(cand->entry), part = rb_entry_part(cand->entry);
	rb_edge_ring ring;

	switch (rb_entry_what(cand->entry))
	{
		case RB_SPLIT_TET:
			rb_word_max(&m->cells[cell].claim, claim);
			break;
		case RB_SPLIT_WALL:
			rb_word_max(&m->cells[cell].claim, claim);
			rb_word_max(&m->cells[m->cells[cell].n[part] >> 2].claim, claim);
			break;
		case RB_SPLIT_PIECE:
			ring = rb_ring_begin(m, cell, part);
			do
			{
				rb_word_max(&m->cells[ring.cell].claim, claim);
				rb_ring_next(m, &ring);
			} while (ring.cell != cell);
			break;
	}
}

RB_HOST_DEVICE void
rb_round_make(const rb_cells *m, rb_refine_candidate *cand, uint32_t index)
{
	rb_candidate_build(m, cand, index);
	if (cand->verdict == RB_READY)
		rb_round_seeds(m, cand, cand->key);
}

RB_HOST_DEVICE void
rb_round_claim(const rb_cells *m, const rb_refine_candidate *cand, const uint32_t *cells)
{
	uint32_t k;

	if (cand->verdict == RB_FITS)
		for (k = 0; k < cand->ncells; k++)
			rb_word_max(&m->cells[cells[k]].claim, cand->key);
}

RB_HOST_DEVICE void
rb_round_own(const rb_cells *m, rb_refine_candidate *cand, const uint32_t *cells)
{
	if (cand->verdict == RB_FITS)
		cand->verdict = rb_star_owns(m, cand, cells) ? RB_OWNS : RB_LOST;
}

/*
 * Stores the result of the conflict test in cand->vertex, which no other candidate reads; it is
 * RB_UNSURE if only GMP can decide.
 */
RB_HOST_DEVICE void
rb_round_beside(const rb_cells *m, rb_exact_env *env, const rb_refine_candidate *all,
				rb_refine_candidate *cand, const uint32_t *cells)
{
	if (cand->verdict == RB_OWNS)
		cand->vertex = (uint32_t) rb_star_independent(m, env, all, cand, cells);
}

RB_HOST_DEVICE void
rb_round_decide(rb_refine_candidate *cand)
{
	if (cand->verdict == RB_OWNS)
		cand->verdict = cand->vertex == 1 ? RB_WINS : RB_LOST;
}

/*
 * Returns true if the candidate lost, or could lose, only to competing candidates. A blocked
 * candidate would be blocked on its own.
 */
RB_HOST_DEVICE bool
rb_round_vies(const rb_refine_candidate *cand)
{
	return cand->verdict == RB_OWNS || cand->verdict == RB_WINS || cand->verdict == RB_LOST ||
		   cand->verdict == RB_LARGE;
}

/*
 * Releases the claim on a cell, unless it belongs to a winner, whose claims are needed until the
 * new cells are linked.
 */
RB_HOST_DEVICE void
rb_round_unclaim(const rb_cells *m, const rb_refine_candidate *all, uint32_t cell)
{
	/* Several threads may do this at once, all with the same outcome. */
	if (!rb_star_wins(all, rb_word_read(&m->cells[cell].claim)))
		rb_word_write(&m->cells[cell].claim, 0);
}

/* Returns true if the candidate may have claimed all its cells but did not win. */
RB_HOST_DEVICE bool
rb_round_claimed(const rb_refine_candidate *cand)
{
	return cand->verdict == RB_LOST;
}

/*
 * Releases the claims of a losing candidate on the cells it started with, and marks what cannot be
 * split.
 */
RB_HOST_DEVICE void
rb_round_release_seeds(const rb_cells *m, const rb_refine_candidate *all,
					   const rb_refine_candidate *cand)
{
	uint32_t cell = rb_entry_cell(cand->entry), part = rb_entry_part(cand->entry), k;
	bool kept = cand->verdict == RB_KEPT || cand->verdict == RB_BLOCKED;
	rb_edge_ring ring;

	if (cand->verdict == RB_WINS || cand->verdict == RB_STALE)
		return;
	switch (rb_entry_what(cand->entry))
	{
		case RB_SPLIT_TET:
			rb_round_unclaim(m, all, cell);
			if (cand->verdict == RB_KEPT)
				rb_word_or(&m->cells[cell].bits,
						   RB_CELL_LEFT | cand->reason << RB_CELL_REASON_SHIFT);
			break;
		case RB_SPLIT_WALL:
			k = m->cells[cell].n[part];
			rb_round_unclaim(m, all, cell);
			rb_round_unclaim(m, all, k >> 2);
			if (kept)
			{
				rb_word_or(&m->cells[cell].bits, RB_CELL_KEPT_WALL(part));
				rb_word_or(&m->cells[k >> 2].bits, RB_CELL_KEPT_WALL(k & 3));
			}
			break;
		case RB_SPLIT_PIECE:
			ring = rb_ring_begin(m, cell, part);
			do
			{
				const rb_cell *c = &m->cells[ring.cell];

				rb_round_unclaim(m, all, ring.cell);
				if (kept)
					rb_word_or(&m->cells[ring.cell].bits,
							   RB_CELL_KEPT_SEGMENT(rb_cell_edge(rb_cell_corner(c, ring.a),
																 rb_cell_corner(c, ring.b))));
				rb_ring_next(m, &ring);
			} while (ring.cell != cell);
			break;
	}
}

RB_HOST_DEVICE void
rb_round_release(const rb_cells *m, const rb_refine_candidate *all, const rb_refine_candidate *cand,
				 const uint32_t *cells)
{
	uint32_t k;

	if (rb_round_claimed(cand))
		for (k = 0; k < cand->ncells; k++)
			rb_round_unclaim(m, all, cells[k]);
	rb_round_release_seeds(m, all, cand);
}

/* Deletes the old cells of a winner; their slots are free from the next round on. */
RB_HOST_DEVICE void
rb_round_finish(const rb_cells *m, const rb_refine_candidate *cand, const uint32_t *cells,
				uint32_t *freed)
{
	uint32_t k;

	for (k = 0; k < cand->ncells; k++)
	{
		m->cells[cells[k]].v[0] = RB_DEAD;
		m->cells[cells[k]].claim = 0;
		freed[k] = cells[k];
	}
}

#endif /* RB_REFINE_ROUND_H */
