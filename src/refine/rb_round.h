/*
 * rb_round.h
 *	  One round, in steps: what each does for one candidate or cell.  CPU and GPU run the same lines,
 *	  for all candidates before the next step begins.
 *
 *		make		an entry becomes a candidate with a point, and claims the cells that it begins with
 *		grow		its cavity; it gives up where a stronger one begins
 *		claim		all its cells
 *		own			has it got them all?
 *		beside		is a stronger owner beside it in the way?
 *		decide		it wins or not
 *		release		claims of those who did not are taken back, what cannot be split is marked
 *		star		new cells of those who did
 *		link		they and what is around them
 *		finish		old cells go
 *		needs		what is to be split of the new cells
 *
 * Between decide and star winners are numbered, in their order: that gives vertices and cells their
 * numbers.  So everything follows from the lists of entries, whose order follows from the same.
 *
 * After Z. Chen, T.-S. Tan: Computing Three-dimensional Constrained Delaunay Refinement Using the GPU,
 * 2019; but every sign is exact, a cavity is one thread's work instead of that of many launches,
 * and winners do not depend on who comes first.
 */
#ifndef RB_ROUND_H
#define RB_ROUND_H

#include "core/base/rb_atomic.h"
#include "refine/rb_star.h"

/* at most so many candidates in a round */
#define RB_ROUND_CANDIDATES (1u << 17)
/* of a list of tetrahedra every so many-th is taken, as long as that are not too few */
#define RB_ROUND_STEP 16u
#define RB_ROUND_WINDOW 256u
#define RB_ROUND_LEAST 1024u
#define RB_ROUND_FEWEST 128u
/* of those with more than RB_ROOM_CELLS, so many, the first ones; others lose */
#define RB_ROUND_LARGE 2048u
#define RB_ROOM_CELLS_LARGE (1u << 12)
#define RB_ROOM_WALLS_LARGE (1u << 10)
/* and of those with more than that; a cavity that is still larger is not filled */
#define RB_ROUND_HUGE 4u
#define RB_ROOM_CELLS_HUGE (1u << 20)
#define RB_ROOM_WALLS_HUGE (1u << 16)

/* of so many in the list those at its end are looked at: few are taken, and most of a long one is of no use any more */
RB_HD size_t
rb_round_window(size_t n, uint32_t most)
{
	return n / RB_ROUND_WINDOW > most ? (size_t) RB_ROUND_WINDOW * most : n;
}

RB_HD size_t
rb_round_step(size_t n, uint32_t most)
{
	size_t step =
		n < (size_t) RB_ROUND_STEP * RB_ROUND_LEAST ? n / RB_ROUND_LEAST + 1 : RB_ROUND_STEP;

	return n / step > most ? (n + most - 1) / most : step;
}

/*
 * So many tetrahedra are tried in the next round, after one in which so many vied for cells, of whom so many
 * won: where few do, their cavities are large, and most would be grown in vain.  Where few are tried anyhow more
 * of them have to win: a device has no more to do at once there, and one thread only what it does in vain.
 */
RB_HD uint32_t
rb_round_most(uint32_t most, uint32_t vied, uint32_t won)
{
	const bool few = most <= RB_ROUND_LEAST;

	if (few ? vied / 2 > won : vied / 4 > won)
	{
		most = vied < most ? vied : most;
		return most / 2 > RB_ROUND_FEWEST ? most / 2 : RB_ROUND_FEWEST;
	}
	if (few ? vied - vied / 4 < won : vied / 2 < won)
		return most < RB_ROUND_CANDIDATES / 2 ? 2 * most : RB_ROUND_CANDIDATES;
	return most;
}

/* *word becomes the larger one */
RB_HD void
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

RB_HD uint64_t
rb_word_read(const uint64_t *word)
{
#ifdef __CUDA_ARCH__
	return *(const volatile uint64_t *) word;
#else
	return rb_load(word);
#endif
}

RB_HD void
rb_word_write(uint64_t *word, uint64_t value)
{
#ifdef __CUDA_ARCH__
	*(volatile uint64_t *) word = value;
#else
	rb_store(word, value);
#endif
}

RB_HD void
rb_word_or(uint32_t *word, uint32_t bits)
{
#ifdef __CUDA_ARCH__
	atomicOr(word, bits);
#else
	rb_or(word, bits);
#endif
}

/* the cells that a candidate begins with get this claim */
RB_HD void
rb_round_seeds(const rb_cells *m, const rb_candidate *cand, uint64_t claim)
{
	uint32_t cell = rb_entry_cell(cand->entry), part = rb_entry_part(cand->entry);
	rb_ring ring;

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

RB_HD void
rb_round_make(const rb_cells *m, rb_candidate *cand, uint32_t index)
{
	rb_candidate_make(m, cand, index);
	if (cand->verdict == RB_READY)
		rb_round_seeds(m, cand, cand->key);
}

RB_HD void
rb_round_claim(const rb_cells *m, const rb_candidate *cand, const uint32_t *cells)
{
	uint32_t k;

	if (cand->verdict == RB_FITS)
		for (k = 0; k < cand->ncells; k++)
			rb_word_max(&m->cells[cells[k]].claim, cand->key);
}

RB_HD void
rb_round_own(const rb_cells *m, rb_candidate *cand, const uint32_t *cells)
{
	if (cand->verdict == RB_FITS)
		cand->verdict = rb_star_owns(m, cand, cells) ? RB_OWNS : RB_LOST;
}

/* the answer goes where nobody else looks; RB_UNSURE where only GMP knows */
RB_HD void
rb_round_beside(const rb_cells *m, rb_exact_env *env, const rb_candidate *all, rb_candidate *cand,
				const uint32_t *cells)
{
	if (cand->verdict == RB_OWNS)
		cand->vertex = (uint32_t) rb_star_independent(m, env, all, cand, cells);
}

RB_HD void
rb_round_decide(rb_candidate *cand)
{
	if (cand->verdict == RB_OWNS)
		cand->verdict = cand->vertex == 1 ? RB_WINS : RB_LOST;
}

/* only others may keep it from its cells, or have done so; what is blocked would be so if it were alone, too */
RB_HD bool
rb_round_vies(const rb_candidate *cand)
{
	return cand->verdict == RB_OWNS || cand->verdict == RB_WINS || cand->verdict == RB_LOST ||
		   cand->verdict == RB_LARGE;
}

/* this claim is taken back, unless a winner has it: his are needed until new cells are linked */
RB_HD void
rb_round_unclaim(const rb_cells *m, const rb_candidate *all, uint32_t cell)
{
	/* several may do so at once, all with the same outcome */
	if (!rb_star_wins(all, rb_word_read(&m->cells[cell].claim)))
		rb_word_write(&m->cells[cell].claim, 0);
}

/* it came to claim its cells, and did not win */
RB_HD bool
rb_round_claimed(const rb_candidate *cand)
{
	return cand->verdict == RB_LOST;
}

/* of one that did not win: claims on the cells it began with are taken back, and what cannot be split is marked */
RB_HD void
rb_round_release_seeds(const rb_cells *m, const rb_candidate *all, const rb_candidate *cand)
{
	uint32_t cell = rb_entry_cell(cand->entry), part = rb_entry_part(cand->entry), k;
	bool kept = cand->verdict == RB_KEPT || cand->verdict == RB_BLOCKED;
	rb_ring ring;

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

RB_HD void
rb_round_release(const rb_cells *m, const rb_candidate *all, const rb_candidate *cand,
				 const uint32_t *cells)
{
	uint32_t k;

	if (rb_round_claimed(cand))
		for (k = 0; k < cand->ncells; k++)
			rb_round_unclaim(m, all, cells[k]);
	rb_round_release_seeds(m, all, cand);
}

/* of a winner the old cells are no more; their places are free in the next round */
RB_HD void
rb_round_finish(const rb_cells *m, const rb_candidate *cand, const uint32_t *cells, uint32_t *freed)
{
	uint32_t k;

	for (k = 0; k < cand->ncells; k++)
	{
		m->cells[cells[k]].v[0] = RB_DEAD;
		m->cells[cells[k]].claim = 0;
		freed[k] = cells[k];
	}
}

#endif /* RB_ROUND_H */
