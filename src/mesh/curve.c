/*
 * curve.c
 *	  The order in which all points are inserted: rounds, each along a Hilbert curve.
 *
 * Points come in the order of a Hilbert curve, so that the next one is near and what is there is in
 * the cache; while all are inserted, they are copied and named in this order.  They come in rounds,
 * each of a few more points drawn by lot and each along the whole curve: so there is always something
 * all around, and the holes stay small (N. Amenta, S. Choi, G. Rote: Incremental Constructions con
 * BRIO, 2003).
 */
#include "mesh/rb_mesh.h"

#include "core/base/rb_base.h"

#define BLOCK RB_SIZE(4096, 16) /* points that a thread takes at once */

#include <math.h>

/* in a loop whose turns are short: is this a turn to ask, and the answer yes? */
static inline bool
time_to_stop(const rb_context *ctx, size_t i)
{
	return (i & 0xffff) == 0 && rb_should_stop(ctx);
}

/* more points than this in one cell of the curve get a finer curve of their own */
#define CELL RB_SIZE(256, 8)

/* a point's place on the curve, and its number */
typedef struct keyed
{
	uint64_t key;
	uint32_t number;
} keyed;

/*
 * C. H. Hamilton: Compact Hilbert Indices, 2006: from the top, each level's octant is turned into
 * the frame of that level, whose first corner is e and whose direction is d.
 */
static uint64_t
hilbert(const uint32_t *x, int levels)
{
	static const uint8_t rank[8] = {0, 1, 3, 2, 7, 6, 4, 5}; /* of a Gray code */
	static const uint8_t entry[8] = {0, 0, 0, 3, 3, 6, 6, 5};
	static const uint8_t turn[8] = {1, 2, 2, 3, 3, 2, 2, 1};
	uint32_t e = 0, d = 1; /* d: one more than the direction, 1 to 3 */
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
		s->a[k].key = hilbert(x, LEVELS);
	}
}

/* where n points are on a curve through the cube around them; halves, so that each difference is a double */
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

/* by the key, ties by number; the result is in a */
static rb_status
sort_keyed(rb_context *ctx, keyed *a, keyed *b, uint32_t n)
{
	for (int shift = 0; shift < 66; shift += 11)
	{
		uint32_t start[2048] = {0};
		uint32_t sum = 0;
		keyed *swap = a;

		for (uint32_t i = 0; i < n; i++)
		{
			if (time_to_stop(ctx, i))
				return RB_STOPPED;
			start[a[i].key >> shift & 2047]++;
		}
		for (int d = 0; d < 2048; d++)
		{
			uint32_t count = start[d];

			start[d] = sum;
			sum += count;
		}
		for (uint32_t i = 0; i < n; i++)
		{
			if (time_to_stop(ctx, i))
				return RB_STOPPED;
			b[start[a[i].key >> shift & 2047]++] = a[i];
		}
		a = b;
		b = swap;
	}
	return RB_OK;
}

/*
 * Along the curve; cells that hold many, such as all points but one that is far away, along one of
 * their own.  That ends: the two points that are farthest apart on some axis get different cells,
 * so what begins at i gets shorter until it is short, or all in one place; and each time it is
 * narrower by 2^20, which doubles allow about a hundred times.
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

/* the last round, which is round 0, has seven of eight points, the one before seven of eight of the others ... */
static uint32_t
rounds_of(uint32_t n)
{
	uint32_t rounds = 1;

	while ((n >>= 3) >= 64)
		rounds++;
	return rounds;
}

/* by the zeros of a mixed number, three a round (A. Appleby's finalizer of MurmurHash3) */
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
	rb_status status = rb_array(m->ctx, (void **) &a, 2 * n, sizeof(keyed));

	if (status == RB_OK)
		status = rb_array(m->ctx, (void **) &c->number, n, sizeof(uint32_t));
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
	rb_free(m->ctx->memory, (void **) &a);
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
