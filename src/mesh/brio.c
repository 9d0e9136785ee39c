/*
 * brio.c
 *	  Computes the order in which all points are inserted: in rounds, each along a Hilbert curve.
 *
 * Along a Hilbert curve consecutive points are close to each other, so that the data they need is
 * in the cache. The points are copied and numbered in this order while all of them are inserted.
 * They come in rounds: each round inserts a random sample, several times larger than all previous
 * ones, along the whole curve. At any time the inserted points are thus spread over all of space,
 * and cavities stay small (N. Amenta, S. Choi, G. Rote: Incremental Constructions con BRIO, 2003).
 */
#include "mesh/mesh.h"

#include "core/base/sort.h"

#define BLOCK RB_SIZE(4096, 16) /* points that a thread takes at once */

#include <math.h>

/*
 * Returns true if the work must stop. Polls only for some i, because the iterations of its callers
 * are short.
 */
static inline bool
time_to_stop(const rb_context *ctx, size_t i)
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

static void
do_place(rb_thread *me, void *arg, uint64_t from, uint64_t to)
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
		if (time_to_stop(m->ctx, k))
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
	return rb_each(m->ctx, n >= 4 * BLOCK ? m->team : NULL, n, BLOCK, do_place, &at);
}

static inline uint64_t
key_of(const void *element, const void *arg)
{
	const keyed *k = element;

	(void) arg;
	return k->key;
}

/* Sorts a by key, stably; uses b as scratch memory. */
static rb_status
sort_keyed(rb_context *ctx, keyed *a, keyed *b, uint32_t n)
{
	void *sorted = a, *spare = b;

	RB_TRY(rb_radix_sort(ctx, &sorted, &spare, n, sizeof *a, 8, key_of, NULL));
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
		status = sort_keyed(m->ctx, a, b, n);
	for (uint32_t i = 0; status == RB_OK && i < n;)
	{
		uint32_t end = i + 1;

		if (time_to_stop(m->ctx, i))
			return RB_STOPPED;
		while (end < n && a[end].key == a[i].key)
			end++;
		if (end - i > CELL)
		{
			status = place_on_curve(m, a + i, end - i);
			if (status == RB_OK)
				status = sort_keyed(m->ctx, a + i, b, end - i);
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
			if (time_to_stop(m->ctx, i))
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
		if (time_to_stop(m->ctx, i))
			return RB_STOPPED;
		memcpy(c->points + 4 * i, rb_mesh_point(m, c->number[i]), 3 * sizeof(double));
		c->points[4 * i + 3] = 0;
	}
	return RB_OK;
}
