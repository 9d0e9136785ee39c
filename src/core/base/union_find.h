/*
 * union_find.h
 *	  Maintains disjoint sets of numbers (union-find, with path halving).
 *
 * An array holds the parent of each number; a root is its own parent. The smaller root becomes the
 * root of a union, so the root of a set is its smallest number, in whatever order unions are made.
 * In sets of oriented things, each number also knows whether it is opposite to its parent.
 *
 * Tarjan and van Leeuwen: Worst-case analysis of set union algorithms. J. ACM 31 (1984).
 */
#ifndef RB_BASE_UNION_FIND_H
#define RB_BASE_UNION_FIND_H

#include "core/base/base.h"

/* Makes n sets of one number each. */
static inline void
rb_union_find_init(uint32_t *parent, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		parent[i] = i;
}

/* Returns the root of the set of i. Other threads may call this and rb_unite_shared. */
static inline uint32_t
rb_find_root(uint32_t *parent, uint32_t i)
{
	uint32_t up = rb_load(&parent[i]);

	while (up != i)
	{
		const uint32_t above = rb_load(&parent[up]);

		if (above != up)
			rb_store(&parent[i], above);
		i = up;
		up = above;
	}
	return i;
}

/* Unites the sets of two numbers; returns false if both already were in the same set. */
static inline bool
rb_unite(uint32_t *parent, uint32_t a, uint32_t b)
{
	a = rb_find_root(parent, a);
	b = rb_find_root(parent, b);
	parent[a > b ? a : b] = a < b ? a : b;
	return a != b;
}

/* Unites the sets of two numbers while other threads do the same. */
static inline void
rb_unite_shared(uint32_t *parent, uint32_t a, uint32_t b)
{
	uint32_t large;

	do
	{
		a = rb_find_root(parent, a);
		b = rb_find_root(parent, b);
		large = a > b ? a : b;
		a = a < b ? a : b;
		b = large;
	} while (a != b && !rb_store_if(&parent[b], &large, a)); /* b is no longer a root */
}

/* ---- sets whose members are oriented alike or oppositely: parent << 1 | opposite to it ---- */

/* Makes each of the n members a set of its own. */
static inline void
rb_turned_sets_init(uint32_t *parent, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		parent[i] = i << 1;
}

/* Returns the root of the set of i; *turned is set if i is oriented opposite to it. */
static inline uint32_t
rb_find_turned_root(uint32_t *parent, uint32_t i, bool *turned)
{
	bool odd = false;

	while (parent[i] >> 1 != i)
	{
		const uint32_t up = parent[i], top = parent[up >> 1];

		parent[i] = (top & ~1u) | ((top ^ up) & 1);
		odd ^= (parent[i] & 1) != 0;
		i = parent[i] >> 1;
	}
	*turned = odd;
	return i;
}

/* Unites the sets of two numbers, which are oriented oppositely if `turned` is set. */
static inline void
rb_unite_turned(uint32_t *parent, uint32_t a, uint32_t b, bool turned)
{
	bool a_turned, b_turned;

	a = rb_find_turned_root(parent, a, &a_turned);
	b = rb_find_turned_root(parent, b, &b_turned);
	turned ^= a_turned ^ b_turned;
	if (a != b)
		parent[a > b ? a : b] = (a < b ? a : b) << 1 | turned;
}

#endif /* RB_BASE_UNION_FIND_H */
