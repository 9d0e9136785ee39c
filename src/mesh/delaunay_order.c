/*
 * delaunay_order.c
 *	  Orders the points before they are inserted, and the tetrahedra afterwards.
 *
 * Along a Hilbert curve consecutive points are close to each other, so that the data they need is
 * in the cache. The points are copied and numbered in this order while all of them are inserted.
 * They come in rounds: each round inserts a random sample, several times larger than all previous
 * ones, along the whole curve. At any time the inserted points are thus spread over all of space,
 * and cavities stay small (N. Amenta, S. Choi, G. Rote: Incremental Constructions con BRIO, 2003).
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
#include "core/base/sort.h"

#include <math.h>

#define BLOCK RB_SIZE(4096, 16) /* points or tetrahedra that a thread takes at once */

/* ---- order of the points ---- */

/*
 * Returns true if the ordering of points or tetrahedra must stop. Polls only for some i, because
 * the iterations of its callers are short.
 */
static inline bool
should_stop_delaunay_order(const rb_context *ctx, size_t i)
{
	return (i & 0xffff) == 0 && rb_should_stop(ctx);
}

/* Number of points in one cell of the curve above which the cell gets a finer curve of its own */
#define CELL RB_SIZE(256, 8)

/* A point's key on the curve, and its index */
typedef struct keyed
{
	uint64_t key;
	uint32_t number;
} keyed;

/*
 * Returns the Hilbert key of a cell (C. H. Hamilton: Compact Hilbert Indices, 2006). From the top
 * level down, each octant is transformed into the frame of its level, whose first corner is e and
 * whose direction is d.
 */
static uint64_t
hilbert_key(const uint32_t *x, int levels)
{
	static const uint8_t rank[8] = {0, 1, 3, 2, 7, 6, 4, 5}; /* inverse of the Gray code */
	static const uint8_t entry[8] = {0, 0, 0, 3, 3, 6, 6, 5};
	static const uint8_t turn[8] = {1, 2, 2, 3, 3, 2, 2, 1};
	uint32_t e = 0, d = 1; /* d is the direction plus one, 1 to 3 */
	uint64_t key = 0;

	for (int level = levels - 1; level >= 0; level--)
	{
		uint32_t octant = (x[0] >> level & 1) | (x[1] >> level & 1) << 1 | (x[2] >> level & 1) << 2;
		uint32_t w;

		octant ^= e;
		w = rank[(octant >> d | octant << (3 - d)) & 7];
		key = key << 3 | w;
		e ^= ((uint32_t) entry[w] << d | (uint32_t) entry[w] >> (3 - d)) & 7;
		d += turn[w];
		d = d > 3 ? d - 3 : d;
	}
	return key;
}

#define LEVELS 21

typedef struct placing
{
	const rb_mesh *m;
	keyed *a;
	double low[3], size;
} placing;

/* Computes the keys of a range of points on the Hilbert curve. */
static void
compute_hilbert_keys_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const placing *s = arg;

	(void) me;
	for (uint64_t k = from; k < to; k++)
	{
		uint32_t x[3];

		for (int i = 0; i < 3; i++)
		{
			double part = 0.5 * rb_mesh_point(s->m, s->a[k].number)[i] - s->low[i];
			double cell = s->size > 0 ? part / s->size * (1 << LEVELS) : 0;

			x[i] = cell < (1 << LEVELS) - 1 ? (uint32_t) cell : (1 << LEVELS) - 1;
		}
		s->a[k].key = hilbert_key(x, LEVELS);
	}
}

/*
 * Computes the keys of n points on a curve through their bounding cube. Coordinates are halved, so
 * that no difference overflows.
 */
static rb_status
place_on_curve(const rb_mesh *m, keyed *a, uint32_t n)
{
	double low[3] = {INFINITY, INFINITY, INFINITY};
	double high[3] = {-INFINITY, -INFINITY, -INFINITY};
	double size = 0;
	placing at = {.m = m, .a = a};

	for (uint32_t k = 0; k < n; k++)
	{
		if (should_stop_delaunay_order(m->ctx, k))
			return RB_STOPPED;
		for (int i = 0; i < 3; i++)
		{
			double x = 0.5 * rb_mesh_point(m, a[k].number)[i];

			low[i] = x < low[i] ? x : low[i];
			high[i] = x > high[i] ? x : high[i];
		}
	}
	for (int i = 0; i < 3; i++)
		if (high[i] - low[i] > size)
			size = high[i] - low[i];
	at.size = size;
	memcpy(at.low, low, sizeof low);
	return rb_each(m->ctx, n >= 4 * BLOCK ? m->team : NULL, n, BLOCK, compute_hilbert_keys_piece,
				   &at);
}

/* Returns the radix sort key of a point: its position on the Hilbert curve. */
static inline uint64_t
curve_key(const void *element, const void *arg)
{
	const keyed *k = element;

	(void) arg;
	return k->key;
}

/* Sorts a by key, stably; uses b as scratch memory. */
static rb_status
sort_by_hilbert_key(rb_context *ctx, keyed *a, keyed *b, uint32_t n)
{
	void *sorted = a, *spare = b;

	RB_TRY(rb_radix_sort(ctx, &sorted, &spare, n, sizeof *a, 8, curve_key, NULL));
	if (sorted != a)
		memcpy(a, sorted, n * sizeof *a);
	return RB_OK;
}

/*
 * Sorts the points along the curve. A cell with many points, such as all points but a distant
 * outlier, is sorted along a curve of its own. This terminates: the two points that are farthest
 * apart on some axis get different cells, so the group that begins at i shrinks until it is small
 * or all its points are equal. Each step reduces its extent by a factor of 2^20, which is possible
 * about a hundred times within the range of doubles.
 */
static rb_status
sort_points(const rb_mesh *m, keyed *a, keyed *b)
{
	uint32_t n = m->npoints;
	rb_status status;

	for (uint32_t i = 0; i < n; i++)
		a[i].number = i;
	status = place_on_curve(m, a, n);
	if (status == RB_OK)
		status = sort_by_hilbert_key(m->ctx, a, b, n);
	for (uint32_t i = 0; status == RB_OK && i < n;)
	{
		uint32_t end = i + 1;

		if (should_stop_delaunay_order(m->ctx, i))
			return RB_STOPPED;
		while (end < n && a[end].key == a[i].key)
			end++;
		if (end - i > CELL)
		{
			status = place_on_curve(m, a + i, end - i);
			if (status == RB_OK)
				status = sort_by_hilbert_key(m->ctx, a + i, b, end - i);
			if (a[i].key != a[end - 1].key)
				continue;
		}
		i = end;
	}
	return status;
}

/*
 * Returns the number of rounds for n points. Round 0 comes last and has seven eighths of the
 * points; the round before it has seven eighths of the others, and so on.
 */
static uint32_t
rounds_of(uint32_t n)
{
	uint32_t rounds = 1;

	while ((n >>= 3) >= 64)
		rounds++;
	return rounds;
}

/*
 * Returns true if a point is in round r: a hash of its index has 3 r to 3 r + 2 trailing zero bits,
 * or at least 3 r in the first round (A. Appleby's finalizer of MurmurHash3).
 */
static inline bool
in_round(uint32_t number, uint32_t round, uint32_t rounds)
{
	uint32_t mixed = number + 1;

	mixed = (mixed ^ mixed >> 16) * 0x85ebca6bu;
	mixed = (mixed ^ mixed >> 13) * 0xc2b2ae35u;
	mixed ^= mixed >> 16;
	return (mixed & ((1u << 3 * round) - 1)) == 0 &&
		   (round + 1 == rounds || (mixed >> 3 * round & 7) != 0);
}

rb_status
rb_mesh_order_points(rb_mesh *m)
{
	rb_cavity *c = &m->cavity;
	size_t n = m->npoints;
	uint32_t rounds = rounds_of(m->npoints);
	keyed *a = NULL;
	rb_status status = RB_ALLOCATE(m->ctx, a, 2 * n);

	if (status == RB_OK)
		status = RB_ALLOCATE(m->ctx, c->number, n);
	if (status == RB_OK)
		status = sort_points(m, a, a + n);
	for (uint32_t round = rounds, to = 0; status == RB_OK && round-- > 0;)
		for (size_t i = 0; i < n; i++)
		{
			if (should_stop_delaunay_order(m->ctx, i))
			{
				status = RB_STOPPED;
				break;
			}
			if (in_round(a[i].number, round, rounds))
				c->number[to++] = a[i].number;
		}
	RB_FREE(m->ctx->memory, a);
	if (status == RB_OK)
		status = rb_array(m->ctx, (void **) &c->points, n, 4 * sizeof(double));
	if (status != RB_OK)
		return status;
	for (size_t i = 0; i < n; i++)
	{
		if (should_stop_delaunay_order(m->ctx, i))
			return RB_STOPPED;
		memcpy(c->points + 4 * i, rb_mesh_point(m, c->number[i]), 3 * sizeof(double));
		c->points[4 * i + 3] = 0;
	}
	return RB_OK;
}

/* ---- order of the tetrahedra ---- */

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

/* Inverses of the permutations in `turns` */
static const uint8_t returns[16][4] = {{0},          {0, 1, 2, 3}, {0, 3, 1, 2}, {0, 2, 3, 1},
									   {1, 0, 3, 2}, {0},          {2, 0, 1, 3}, {3, 0, 2, 1},
									   {1, 2, 0, 3}, {3, 1, 0, 2}, {0},          {2, 3, 0, 1},
									   {1, 3, 2, 0}, {2, 1, 3, 0}, {3, 2, 1, 0}, {0}};

/* Ranks corners by index, with the ghost first. */
static inline uint32_t
rank_of_ordered_tet_corner(uint32_t v)
{
	return v + 2;
}

/*
 * Returns the last corner << 2 | the first corner of a tetrahedron, without branches, which would
 * be unpredictable.
 */
static inline uint32_t
turn_of_corners(const uint32_t *v)
{
	const uint32_t r[4] = {rank_of_ordered_tet_corner(v[0]), rank_of_ordered_tet_corner(v[1]),
						   rank_of_ordered_tet_corner(v[2]), rank_of_ordered_tet_corner(v[3])};
	const uint32_t x = r[1] > r[0], y = r[3] > r[2];
	const uint32_t a = x, b = 2 + y, c = 1 - x, d = 3 - y;
	const uint32_t high = r[b] > r[a], low = r[d] < r[c];

	return (high ? b : a) << 2 | (low ? d : c);
}

#define DEAD UINT64_MAX

/* Counts a range of tetrahedra by their last corners. */
static void
count_tets_by_corner_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_tet_order *s = arg;

	(void) me;
	for (uint32_t t = (uint32_t) from; t < to; t++)
	{
		const uint32_t *v = s->m->tets[t].v;
		const uint32_t turn = turn_of_corners(v), last = v[turn >> 2];

		s->word[t] = DEAD;
		if (v[0] == RB_DEAD)
			continue;
		s->word[t] = (uint64_t) last << 4 | turn;
		rb_add(&s->start[last], 1);
	}
}

/* Fills the lists from the end, so that each start finally points to its list. */
static void
list_tets_by_corner_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
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
order_key(const rb_tet_order *s, uint32_t t)
{
	const uint32_t *v = s->m->tets[t].v;
	const uint8_t *turn = turns[s->word[t] & 15];

	return (uint64_t) rank_of_ordered_tet_corner(v[turn[1]]) << 32 |
		   rank_of_ordered_tet_corner(v[turn[2]]);
}

/* Orders the tetrahedra listed at one corner by order_key, in lists too long for sort_small. */
static int
by_order_key(const void *a, const void *b, const void *arg)
{
	const uint64_t x = order_key(arg, *(const uint32_t *) a);
	const uint64_t y = order_key(arg, *(const uint32_t *) b);

	return (x > y) - (x < y);
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
		key[i] = order_key(s, e[i]);
	}
	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t before = 0;

		for (uint32_t k = 0; k < n; k++)
			before += key[k] < key[i];
		e[before] = old[i];
	}
}

/* Sorts the lists of a range of corners and numbers their tetrahedra. */
static void
sort_tet_lists_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_tet_order *s = arg;

	(void) me;
	for (uint64_t v = from; v < to; v++)
	{
		const uint32_t at = s->start[v], n = s->start[v + 1] - at;

		if (n <= SMALL_LIST)
			sort_small(s, s->list + at, n);
		else
			(void) rb_sort(NULL, s->list + at, n, sizeof *s->list, by_order_key, s);
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

/* Moves tetrahedra to a range of new slots, and renumbers their links and corners. */
static void
move_tets_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
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

/* Assigns new slots to all tetrahedra, by their last corners. */
static rb_status
assign_slots(rb_tet_order *s)
{
	rb_mesh *m = s->m;
	rb_context *ctx = m->ctx;
	const size_t points = m->npoints;
	uint32_t sum = 0;

	RB_TRY(RB_ALLOCATE(ctx, s->start, points + 1));
	memset(s->start, 0, (points + 1) * sizeof(uint32_t));
	RB_TRY(rb_each(ctx, m->team, m->ntets, BLOCK, count_tets_by_corner_piece, s));
	for (size_t v = 0; v < points; v++)
	{
		sum += s->start[v];
		s->start[v] = sum;
	}
	s->start[points] = sum;
	m->nalive = sum;
	RB_TRY(rb_each(ctx, m->team, m->ntets, BLOCK, list_tets_by_corner_piece, s));
	return rb_each(ctx, m->team, points, BLOCK, sort_tet_lists_piece, s);
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
		status = rb_each_fill(m->ctx, m->team, m->nalive, BLOCK, move_tets_piece, &s);
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
