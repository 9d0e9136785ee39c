/*
 * canonical_order.c
 *	  Sorts the tetrahedra of a set of points into an order that depends only on the set of
 *	  tetrahedra.
 *
 * Each tetrahedron is listed at its last corner in insertion order, as if that point had just
 * created it. The tetrahedra of one point are ordered by their other corners. Within a tetrahedron,
 * the last corner is moved to the front, the first corner follows, and the other two are ordered so
 * that the tetrahedron is positively oriented. The steps are:
 *
 *		count	count the tetrahedra of each point; prefix sums give the start of its list
 *		list	scatter the old slots into these lists, in whatever order threads arrive
 *		sort	sort each list, which determines the new slots
 *		move	move the tetrahedra to their new slots
 */
#include "mesh/mesh.h"

#include "core/base/atomic.h"
#include "core/base/base.h"

#define BLOCK RB_SIZE(4096, 16) /* tetrahedra or points that a thread takes at once */

typedef struct rb_tet_order
{
	rb_mesh *m;
	uint32_t *start; /* for each point, the start of its list; the end while lists are filled */
	uint32_t *list;  /* old slots, ordered by point */
	/*
	 * for each old slot: first the last corner, later the new slot; << 4 | permutation of corners
	 */
	uint64_t *word;
	rb_tet *tets; /* tetrahedra in the new order */
} rb_tet_order;

/* Permutation of the corners of a tetrahedron, by its last corner << 2 | its first corner */
static const uint8_t turns[16][4] = {{0},          {0, 1, 2, 3}, {0, 2, 3, 1}, {0, 3, 1, 2},
									 {1, 0, 3, 2}, {0},          {1, 2, 0, 3}, {1, 3, 2, 0},
									 {2, 0, 1, 3}, {2, 1, 3, 0}, {0},          {2, 3, 0, 1},
									 {3, 0, 2, 1}, {3, 1, 0, 2}, {3, 2, 1, 0}, {0}};

/* Inverse permutations */
static const uint8_t returns[16][4] = {{0},          {0, 1, 2, 3}, {0, 3, 1, 2}, {0, 2, 3, 1},
									   {1, 0, 3, 2}, {0},          {2, 0, 1, 3}, {3, 0, 2, 1},
									   {1, 2, 0, 3}, {3, 1, 0, 2}, {0},          {2, 3, 0, 1},
									   {1, 3, 2, 0}, {2, 1, 3, 0}, {3, 2, 1, 0}, {0}};

/* Ranks corners by index, with the ghost first. */
static inline uint32_t
corner_rank(uint32_t v)
{
	return v + 2;
}

/*
 * Returns the last corner << 2 | the first corner. It is free of branches, because they would be
 * unpredictable.
 */
static inline uint32_t
turn_of(const uint32_t *v)
{
	const uint32_t r[4] = {corner_rank(v[0]), corner_rank(v[1]), corner_rank(v[2]),
						   corner_rank(v[3])};
	const uint32_t x = r[1] > r[0], y = r[3] > r[2];
	const uint32_t a = x, b = 2 + y, c = 1 - x, d = 3 - y;
	const uint32_t high = r[b] > r[a], low = r[d] < r[c];

	return (high ? b : a) << 2 | (low ? d : c);
}

#define DEAD UINT64_MAX

static void
do_count(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_tet_order *s = arg;

	(void) me;
	for (uint32_t t = (uint32_t) from; t < to; t++)
	{
		const uint32_t *v = s->m->tets[t].v;
		const uint32_t turn = turn_of(v), last = v[turn >> 2];

		s->word[t] = DEAD;
		if (v[0] == RB_DEAD)
			continue;
		s->word[t] = (uint64_t) last << 4 | turn;
		rb_add(&s->start[last], 1);
	}
}

/* Fills the lists from the end, so that each start finally points to its list. */
static void
do_list(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_tet_order *s = arg;

	(void) me;
	for (uint32_t t = (uint32_t) from; t < to; t++)
		if (s->word[t] != DEAD)
			s->list[rb_add(&s->start[s->word[t] >> 4], UINT32_MAX) - 1] = t;
}

/*
 * Returns a key made of two of the other corners. It is unique, because only one tetrahedron is on
 * each side of a face.
 */
static inline uint64_t
key_of(const rb_tet_order *s, uint32_t t)
{
	const uint32_t *v = s->m->tets[t].v;
	const uint8_t *turn = turns[s->word[t] & 15];

	return (uint64_t) corner_rank(v[turn[1]]) << 32 | corner_rank(v[turn[2]]);
}

/* Sorts a list by heapsort, since a point may have any number of tetrahedra. */
static void
heap_sort(const rb_tet_order *s, uint32_t *e, uint32_t n)
{
	for (uint32_t left = n / 2, end = n; end > 1;)
	{
		uint32_t i, child, x;

		if (left > 0)
			x = e[i = --left];
		else
		{
			x = e[--end];
			e[end] = e[0];
			i = 0;
		}
		while ((child = 2 * i + 1) < end)
		{
			child += child + 1 < end && key_of(s, e[child]) < key_of(s, e[child + 1]);
			if (key_of(s, e[child]) <= key_of(s, x))
				break;
			e[i] = e[child];
			i = child;
		}
		e[i] = x;
	}
}

#define SMALL_LIST 24

/* Sorts a short list by counting the smaller keys of each entry, without unpredictable branches. */
static void
sort_small(const rb_tet_order *s, uint32_t *e, uint32_t n)
{
	uint64_t key[SMALL_LIST];
	uint32_t old[SMALL_LIST];

	for (uint32_t i = 0; i < n; i++)
	{
		old[i] = e[i];
		key[i] = key_of(s, e[i]);
	}
	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t before = 0;

		for (uint32_t k = 0; k < n; k++)
			before += key[k] < key[i];
		e[before] = old[i];
	}
}

static void
do_sort(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_tet_order *s = arg;

	(void) me;
	for (uint64_t v = from; v < to; v++)
	{
		const uint32_t at = s->start[v], n = s->start[v + 1] - at;

		if (n <= SMALL_LIST)
			sort_small(s, s->list + at, n);
		else
			heap_sort(s, s->list + at, n);
		for (uint32_t i = at; i < at + n; i++)
		{
			uint64_t *word = &s->word[s->list[i]];

			*word = (uint64_t) i << 4 | (*word & 15);
		}
		s->m->tet_of[s->m->cavity.number[v]] = n > 0 ? at : RB_NONE;
	}
}

/* Lowers tet_of[v] to t, for a point that is the last corner of no tetrahedron. */
static inline void
lower_tet_of(rb_tet_order *s, uint32_t v, uint32_t t)
{
	uint32_t *tet_of = &s->m->tet_of[s->m->cavity.number[v]];
	uint32_t has = rb_load(tet_of);

	while (t < has && !rb_store_if(tet_of, &has, t))
		;
}

/* Prefetches data that later iterations need. */
static inline void
prefetch_tets(const rb_tet_order *s, uint64_t i, uint64_t to)
{
	if (i + 16 < to)
		__builtin_prefetch(&s->m->tets[s->list[i + 16]]);
	for (int k = 0; k < 4 && i + 8 < to; k++)
	{
		const uint32_t other = rb_face_tet(s->m->tets[s->list[i + 8]].n[k]);

		__builtin_prefetch(&s->word[other]);
	}
}

static void
do_move(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_tet_order *s = arg;
	const rb_mesh *m = s->m;

	(void) me;
	for (uint32_t i = (uint32_t) from; i < to; i++)
	{
		const rb_tet *old = &m->tets[s->list[i]];
		const uint8_t *turn = turns[s->word[s->list[i]] & 15];

		prefetch_tets(s, i, to);
		for (int k = 0; k < 4; k++)
		{
			const uint32_t v = old->v[turn[k]];
			const rb_tet_face f = old->n[turn[k]];
			const uint64_t other = s->word[rb_face_tet(f)];

			s->tets[i].n[k] =
				rb_face_of((uint32_t) (other >> 4), returns[other & 15][rb_face_corner(f)]);
			s->tets[i].v[k] = v == RB_GHOST ? v : m->cavity.number[v];
			if (v != RB_GHOST && s->start[v] == s->start[v + 1])
				lower_tet_of(s, v, i);
		}
	}
}

static rb_status
assign_slots(rb_tet_order *s)
{
	rb_mesh *m = s->m;
	rb_context *ctx = m->ctx;
	const size_t points = m->npoints;
	uint32_t sum = 0;

	RB_TRY(RB_ALLOCATE(ctx, s->start, points + 1));
	memset(s->start, 0, (points + 1) * sizeof(uint32_t));
	RB_TRY(rb_each(ctx, m->team, m->ntets, BLOCK, do_count, s));
	for (size_t v = 0; v < points; v++)
	{
		sum += s->start[v];
		s->start[v] = sum;
	}
	s->start[points] = sum;
	m->nalive = sum;
	RB_TRY(rb_each(ctx, m->team, m->ntets, BLOCK, do_list, s));
	return rb_each(ctx, m->team, points, BLOCK, do_sort, s);
}

rb_status
rb_mesh_sort(rb_mesh *m)
{
	rb_memory *memory = m->ctx->memory;
	/*
	 * Reuse the memory of the spheres, which are no longer needed; new memory would have to be
	 * cleared first.
	 */
	uint64_t *word = (uint64_t *) (void *) m->cavity.spheres;
	rb_tet_order s = {m, NULL, (uint32_t *) (word + m->ntets), word, NULL};
	rb_status status = assign_slots(&s);

	/* Keep the capacity, for Steiner points that are added later. */
	if (status == RB_OK)
		status = RB_ALLOCATE(m->ctx, s.tets, m->tets_cap);
	if (status == RB_OK)
		status = rb_each_fill(m->ctx, m->team, m->nalive, BLOCK, do_move, &s);
	if (status == RB_OK)
	{
		RB_FREE(memory, m->tets);
		m->tets = s.tets;
		s.tets = NULL;
		m->ntets = m->nalive;
		m->free = RB_NONE;
		m->recent = 0;
		m->random = 1;
	}
	RB_FREE(memory, s.start);
	RB_FREE(memory, s.tets);
	return status;
}
