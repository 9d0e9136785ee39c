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
 * GPU, 2019. Unlike in that paper, every sign is exact, one thread grows a whole cavity in place of
 * many launches, and the winners do not depend on timing.
 *
 * Winners are determined from words that no longer change. First, every candidate claims its cells
 * by an atomic maximum. Then a candidate that holds all its cells owns them. Finally, of two owners
 * with adjacent cavities the weaker one gives way, unless neither point lies in the circumsphere of
 * the tetrahedron that the other one forms with the face between them.
 *
 * New cells take slots that no old cell of the round occupies, so the old cells stay readable until
 * all new ones are done. The new cell of a face of the cavity boundary has the new vertex as corner
 * 0, and its link 0 leads out of the cavity. The link of the old cell across that face is
 * redirected to the new cell. In this way a winner finds the new cells of another winner behind a
 * face that they share.
 */
#ifndef RB_REFINE_ROUND_H
#define RB_REFINE_ROUND_H

#include "core/base/atomic.h"
#include "refine/cavity.h"

/* ---- winners ---- */

/* Returns true if the claims of all cells in the cavity are the candidate's own. */
RB_HOST_DEVICE bool
rb_star_owns(const rb_cells *m, const rb_refine_candidate *cand, const uint32_t *cells)
{
	uint32_t k;

	for (k = 0; k < cand->ncells; k++)
		if (m->cells[cells[k]].claim != cand->key)
			return false;
	return true;
}

/*
 * Returns 1 if no stronger owner of a cell adjacent to this one conflicts, 0 if one does, or
 * RB_UNSURE. `all` holds the candidates, whose verdicts no longer change: they are RB_OWNS or
 * final.
 */
RB_HOST_DEVICE int
rb_star_independent_at(const rb_cells *m, rb_exact_env *env, const rb_refine_candidate *all,
					   const rb_refine_candidate *cand, uint32_t cell)
{
	const rb_cell *c = &m->cells[cell];
	uint32_t i;
	int j;

	if (rb_cell_ghost(c))
		return 1;
	for (i = 0; i < 4; i++)
	{
		uint64_t claim = m->cells[c->n[i] >> 2].claim;
		const rb_refine_candidate *other;
		const double *p[5];
		uint32_t v[5];
		int sign;

		/* A constrained face blocks visibility, whether it is on the cavity boundary or not. */
		if (claim <= cand->key || (c->bits & RB_CELL_WALL(i)) != 0)
			continue;
		other = &all[rb_key_index(claim)];
		if (other->key != claim || other->verdict != RB_OWNS)
			continue;
		p[0] = cand->at;
		v[0] = RB_GHOST - 2;
		for (j = 0; j < 3; j++)
		{
			v[j + 1] = c->v[rb_cell_face_corner(i, (uint32_t) j)];
			p[j + 1] = rb_site_at(m, v[j + 1]);
		}
		p[4] = other->at;
		/* The later candidate of two new points gets the larger number. */
		v[4] = rb_key_index(claim) > rb_key_index(cand->key) ? RB_GHOST - 1 : RB_GHOST - 3;
		sign = rb_insphere_at(env, p[0], p[1], p[2], p[3], p[4]);
		if (sign == 0)
			sign = rb_insphere_ties(env, p, v);
		if (sign == RB_UNSURE)
			return sign;
		if (sign > 0)
			return 0;
	}
	return 1;
}

/*
 * Returns 1 if the star stays Delaunay next to those of stronger neighbors, 0 if not, or RB_UNSURE.
 */
RB_HOST_DEVICE int
rb_star_independent(const rb_cells *m, rb_exact_env *env, const rb_refine_candidate *all,
					const rb_refine_candidate *cand, const uint32_t *cells)
{
	int independent = 1;
	uint32_t k;

	for (k = 0; k < cand->ncells && independent == 1; k++)
		independent = rb_star_independent_at(m, env, all, cand, cells[k]);
	return independent;
}

/* ---- the star ---- */

/* Slots for the new cells of a round: the free ones first, then those after the last cell */
typedef struct rb_places
{
	const uint32_t *free; /* Consumed from its end */
	uint32_t nfree;
	uint32_t top;
} rb_places;

/* Returns the slot of the i-th new cell: free slots first, then new ones at the end. */
RB_HOST_DEVICE uint32_t
rb_place(const rb_places *p, uint32_t i)
{
	return i < p->nfree ? p->free[p->nfree - 1 - i] : p->top + (i - p->nfree);
}

/*
 * Copies the facet and the constraint bits of face i and its edges to a new cell, whose corner k +
 * 1 is corner k of the face.
 */
RB_HOST_DEVICE void
rb_star_inherit(const rb_cell *old, uint32_t i, rb_cell *c)
{
	uint32_t k, j;

	c->facet[0] = old->facet[i];
	if ((old->bits & RB_CELL_WALL(i)) != 0)
		c->bits |= RB_CELL_WALL(0);
	for (k = 0; k < 3; k++)
	{
		uint32_t from =
			rb_cell_edge(rb_cell_face_corner(i, k), rb_cell_face_corner(i, (k + 1) % 3));
		uint32_t to = rb_cell_edge(k + 1, (k + 1) % 3 + 1);

		j = old->bits >> from;
		if ((j & RB_CELL_SEGMENT(0)) != 0)
			c->bits |= RB_CELL_SEGMENT(to);
	}
}

/*
 * Sets kind, parent and coordinates of a winner's vertex. Sets u and v to the ends of the
 * subsegment that is split, or to RB_NOWHERE.
 */
RB_HOST_DEVICE void
rb_star_site(const rb_cells *m, const rb_refine_candidate *cand, uint32_t *u, uint32_t *v)
{
	const rb_cell *first = &m->cells[rb_entry_cell(cand->entry)];
	uint32_t part = rb_entry_part(cand->entry), site = cand->vertex, i;
	rb_what what = rb_entry_what(cand->entry);

	m->kind[site] = what == RB_SPLIT_TET    ? RB_VERTEX_INSIDE
					: what == RB_SPLIT_WALL ? RB_VERTEX_ON_FACET
											: RB_VERTEX_ON_SEGMENT;
	m->parent[site] = RB_NOWHERE;
	*u = *v = RB_NOWHERE;
	if (what == RB_SPLIT_WALL)
		m->parent[site] = first->facet[part];
	else if (what == RB_SPLIT_PIECE)
	{
		*u = first->v[rb_cell_edge_from(part)];
		*v = first->v[rb_cell_edge_to(part)];
		m->parent[site] = rb_piece_segment(m, *u, *v);
	}
	for (i = 0; i < 3; i++)
		m->sites[site].at[i] = cand->at[i];
}

/*
 * Returns true if face i of an old cell is on the cavity boundary: the cell beyond is not in the
 * cavity.
 */
RB_HOST_DEVICE bool
rb_star_rim(const rb_cells *m, const rb_refine_candidate *cand, uint32_t cell, uint32_t i)
{
	return m->cells[m->cells[cell].n[i] >> 2].claim != cand->key;
}

/*
 * Builds the new cell of a face on the cavity boundary. Returns the squared distance from the point
 * to its nearest corner.
 */
RB_HOST_DEVICE double
rb_star_cell(const rb_cells *m, const rb_refine_candidate *cand, uint32_t cell, uint32_t i,
			 uint32_t place, uint32_t u, uint32_t v)
{
	rb_cell *old = &m->cells[cell], *c = &m->cells[place];
	double nearest2 = INFINITY;
	uint32_t j;

	c->v[0] = cand->vertex;
	c->n[0] = old->n[i];
	c->bits = 0;
	c->region = old->region;
	c->claim = 0;
	for (j = 0; j < 3; j++)
	{
		c->v[j + 1] = old->v[rb_cell_face_corner(i, j)];
		c->n[j + 1] = RB_NOWHERE;
		c->facet[j + 1] = RB_NOWHERE;
		if (c->v[j + 1] != RB_GHOST)
		{
			double d2 = rb_distance2(cand->at, rb_site_at(m, c->v[j + 1]));

			nearest2 = d2 < nearest2 ? d2 : nearest2;
		}
		if (c->v[j + 1] == u || c->v[j + 1] == v)
			c->bits |= RB_CELL_SEGMENT(j); /* Edges 01, 02, 03 */
	}
	rb_star_inherit(old, i, c);
	old->n[i] = place << 2;
	return nearest2;
}

/*
 * Walks from the new cell of face i of an old cell around edge j of the face to the next new cell.
 * Returns its number << 2 | the corner of it that is neither on the edge nor the point. Sets *facet
 * to the facet of the constrained face between the two new cells, or to RB_NOWHERE.
 *
 * If the walk meets two constrained faces of one facet, the facet continues from one to the other
 * and has no face between the two new cells. The boundary and the border between two regions are
 * exceptions, since a constrained face must be there. Constrained faces of two facets may collapse
 * into one: a facet of the input and one of the hull, with a tetrahedron of almost no volume
 * between them. Then the facet with the smaller number, that of the input, gets the face. So the
 * result is the same from both sides, whichever of the two cells asks.
 */
#define RB_STAR_FOLDS 4

/*
 * Returns the facet of the boundary face of a new ghost cell if constrained faces of facet `least`
 * and possibly others cancel at the edge where its old neighbor continues the hull. One of them may
 * stand for a facet of the hull that collapsed into it. So the face belongs to the facet of that
 * neighbor, unless the hull bends at the edge.
 */
RB_HOST_DEVICE uint32_t
rb_star_hull_facet(const rb_cells *m, const rb_cell *ghost, uint32_t least)
{
	const rb_cell *beyond = &m->cells[ghost->n[0] >> 2];
	uint32_t g = rb_cell_corner(ghost, RB_GHOST);
	uint32_t a = g == 1 ? 2 : 1, b = 6 - g - a;

	if ((ghost->bits & RB_CELL_SEGMENT(rb_cell_edge(a, b))) != 0)
		return least;
	return beyond->facet[rb_cell_corner(beyond, RB_GHOST)];
}

/* Returns the cell and corner beyond edge j of face i of a cavity, and its facet. */
RB_HOST_DEVICE uint32_t
rb_star_next(const rb_cells *m, const rb_refine_candidate *cand, uint32_t cell, uint32_t i,
			 uint32_t j, uint32_t *facet)
{
	const rb_cell *c = &m->cells[m->cells[cell].n[i] >> 2];
	uint32_t a = c->v[(j + 1) % 3 + 1], b = c->v[(j + 2) % 3 + 1], other;
	uint32_t odd[RB_STAR_FOLDS], n = 0, least = RB_NOWHERE, k;
	const rb_cell *o;
	/*
	 * Inside the cavity, continue through the other face at that edge, opposite to corner j of this
	 * one.
	 */
	rb_edge_ring ring = rb_ring_at(cell, rb_cell_face_corner(i, j), a, b);

	*facet = RB_NOWHERE;
	for (;;)
	{
		const rb_cell *at = &m->cells[ring.cell];

		if (m->cells[at->n[ring.to] >> 2].claim != cand->key)
			break;
		/* An opened constrained face ends here; its new part lies between the two new cells. */
		if ((at->bits & RB_CELL_WALL(ring.to)) != 0)
		{
			for (k = 0; k < n && odd[k] != at->facet[ring.to]; k++)
				;
			if (k < n)
				odd[k] = odd[--n];
			else if (n < RB_STAR_FOLDS)
				odd[n++] = at->facet[ring.to];
			least = at->facet[ring.to] < least ? at->facet[ring.to] : least;
		}
		rb_ring_next(m, &ring);
	}
	for (k = 0; k < n; k++)
		*facet = odd[k] < *facet ? odd[k] : *facet;
	other = m->cells[ring.cell].n[ring.to] >> 2;
	o = &m->cells[other];
	if (n == 0 && rb_cell_ghost(c) != rb_cell_ghost(o))
		*facet = rb_star_hull_facet(m, rb_cell_ghost(c) ? c : o, least);
	else if (n == 0 && !rb_cell_ghost(c) && c->region != o->region)
		*facet = least;
	return other << 2 | (o->v[1] != a && o->v[1] != b ? 1 : o->v[2] != a && o->v[2] != b ? 2 : 3);
}

/*
 * Stores the insertion radius of the new vertex, whose nearest neighbor is at squared distance
 * nearest2.
 */
RB_HOST_DEVICE void
rb_star_radius(const rb_cells *m, const rb_refine_candidate *cand, double nearest2)
{
	double nearest = sqrt(nearest2);

	m->sites[cand->vertex].radius =
		rb_entry_what(cand->entry) != RB_SPLIT_TET && cand->raise > nearest ? cand->raise : nearest;
}

/*
 * Fills the cavity of a winner with new cells that are linked to each other. Their outward links
 * are still those of the old cells (rb_star_link). Also writes the new vertex.
 */
RB_HOST_DEVICE void
rb_star_build(const rb_cells *m, const rb_refine_candidate *cand, const uint32_t *cells,
			  const rb_places *places)
{
	uint32_t next = cand->slots, u, v, k, i, j;
	double nearest2 = INFINITY;

	rb_star_site(m, cand, &u, &v);
	for (k = 0; k < cand->ncells; k++)
		for (i = 0; i < 4; i++)
			if (rb_star_rim(m, cand, cells[k], i))
			{
				double d2 = rb_star_cell(m, cand, cells[k], i, rb_place(places, next++), u, v);

				nearest2 = d2 < nearest2 ? d2 : nearest2;
			}
	/* Link the new cells: walk from each boundary face around each of its edges to the next one. */
	for (k = 0; k < cand->ncells; k++)
		for (i = 0; i < 4; i++)
		{
			uint32_t place = m->cells[cells[k]].n[i] >> 2;
			rb_cell *c = &m->cells[place];

			if (c->claim == cand->key)
				continue;
			for (j = 0; j < 3; j++)
			{
				uint32_t facet, other, corner;
				rb_cell *o;

				if (c->n[j + 1] != RB_NOWHERE)
					continue;
				other = rb_star_next(m, cand, cells[k], i, j, &facet);
				o = &m->cells[other >> 2];
				corner = other & 3;
				c->n[j + 1] = other;
				o->n[corner] = place << 2 | (j + 1);
				if (facet != RB_NOWHERE)
				{
					c->facet[j + 1] = o->facet[corner] = facet;
					c->bits |= RB_CELL_WALL(j + 1);
					o->bits |= RB_CELL_WALL(corner);
				}
			}
		}
	rb_star_radius(m, cand, nearest2);
}

/* Returns true if the candidate with this claim won. */
RB_HOST_DEVICE bool
rb_star_wins(const rb_refine_candidate *all, uint64_t claim)
{
	const rb_refine_candidate *c;

	if (claim == 0)
		return false;
	c = &all[rb_key_index(claim)];
	return c->key == claim && c->verdict == RB_WINS;
}

/*
 * Completes the outward link of a new cell. The cell beyond either gets the opposite link, or
 * belongs to the cavity of another winner, whose new cell is linked instead.
 */
RB_HOST_DEVICE void
rb_star_link(const rb_cells *m, const rb_refine_candidate *all, uint32_t place)
{
	rb_cell *c = &m->cells[place];
	uint32_t out = c->n[0];
	rb_cell *beyond = &m->cells[out >> 2];

	if (rb_star_wins(all, beyond->claim))
		c->n[0] = beyond->n[out & 3];
	else
		beyond->n[out & 3] = place << 2;
}

/* ---- steps ---- */

/* Maximum number of candidates in a round */
#define RB_ROUND_CANDIDATES (1u << 17)
/*
 * Subsampling of the list of tetrahedra. A round takes every RB_ROUND_STEP-th entry; the step is
 * smaller if fewer than RB_ROUND_SMALL entries would be left, and larger if the round may take
 * fewer entries. It examines no more than RB_ROUND_WINDOW entries per candidate, at the end of the
 * list. RB_ROUND_MIN is the lower limit of the adaptive number of candidates.
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

/*
 * Returns the distance between the entries that a round takes from its window of n entries, so that
 * it takes at most `most` of them.
 */
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

/* Reads a word that other threads may change at the same time. */
RB_HOST_DEVICE uint64_t
rb_word_read(const uint64_t *word)
{
#ifdef __CUDA_ARCH__
	return *(const volatile uint64_t *) word;
#else
	return rb_load(word);
#endif
}

/* Writes a word that other threads may read or change at the same time. */
RB_HOST_DEVICE void
rb_word_write(uint64_t *word, uint64_t value)
{
#ifdef __CUDA_ARCH__
	*(volatile uint64_t *) word = value;
#else
	rb_store(word, value);
#endif
}

/* Sets bits of a word atomically. */
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

/* Builds the candidate at this index, and claims the cells around it for its key. */
RB_HOST_DEVICE void
rb_round_make(const rb_cells *m, rb_refine_candidate *cand, uint32_t index)
{
	rb_candidate_build(m, cand, index);
	if (cand->verdict == RB_READY)
		rb_round_seeds(m, cand, cand->key);
}

/* Claims all cells of a cavity that fits. */
RB_HOST_DEVICE void
rb_round_claim(const rb_cells *m, const rb_refine_candidate *cand, const uint32_t *cells)
{
	uint32_t k;

	if (cand->verdict == RB_FITS)
		for (k = 0; k < cand->ncells; k++)
			rb_word_max(&m->cells[cells[k]].claim, cand->key);
}

/*
 * Sets the verdict to RB_OWNS if the candidate's claims on all cells have won, otherwise to
 * RB_LOST.
 */
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
rb_round_find_conflicts(const rb_cells *m, rb_exact_env *env, const rb_refine_candidate *all,
						rb_refine_candidate *cand, const uint32_t *cells)
{
	if (cand->verdict == RB_OWNS)
		cand->vertex = (uint32_t) rb_star_independent(m, env, all, cand, cells);
}

/* Sets the verdict to RB_WINS or RB_LOST, by the result of rb_star_independent in cand->vertex. */
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

/* Clears the claims of the candidate on its cells, so that the next round starts without any. */
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
