/*
 * edge_fan.c
 *	  Finds the triangles that share an edge, and groups the triangles of a solid into sheets.
 *
 *				   c
 *				  /|\				the fan of ab: the triangles abc, bad, ...
 *				 / | \				as a circular list, in any order
 *				a--+--b
 *				 \ | /
 *				   d
 *
 * Edges are identified if their endpoints have equal coordinates. A hash table maps each edge to
 * its first side, and further sides are inserted into the circular list of that side. The threads
 * process rows independently, so the tables are small.
 *
 * Two triangles that share an edge either traverse it in opposite directions, or one of them is
 * turned over, and their normals point to different sides of the sheet. So a fact known about the
 * sides of one triangle extends to its whole sheet.
 */
#include "core/solid/relate.h"
#include "core/base/point_hash.h"
#include "core/base/thread_count.h"
#include "core/primitive/segment.h"
#include "core/join/join.h"
#include "core/set/set.h"

#define GRAIN RB_SIZE(16, 1) /* Number of rows a thread takes at a time */

static const double *
corner_of(const rb_fans *fans, uint32_t side, uint32_t more)
{
	return fans->set->coords + 3 * (size_t) (side - side % 3 + (side + more) % 3);
}

static bool
same_edge(const rb_fans *fans, uint32_t s, uint32_t t)
{
	const double *a = corner_of(fans, s, 0), *b = corner_of(fans, s, 1);
	const double *c = corner_of(fans, t, 0), *d = corner_of(fans, t, 1);

	return (rb_equal3(a, c) && rb_equal3(b, d)) || (rb_equal3(a, d) && rb_equal3(b, c));
}

/* Returns a hash that does not depend on the direction of the edge. */
static inline uint64_t
hash_edge(const rb_fans *fans, uint32_t side)
{
	return rb_mix(rb_hash_point(corner_of(fans, side, 0)) +
				  rb_hash_point(corner_of(fans, side, 1)));
}

/* Finds the first side of an edge */
#define RB_HASH edge_sides
#define RB_HASH_SLOT uint32_t
#define RB_HASH_KEY uint32_t
#define RB_HASH_ARG const rb_fans *
#define RB_HASH_OF(fans, side) hash_edge(fans, side)
#define RB_HASH_EQUAL(fans, slot, side) same_edge(fans, slot, side)
#define RB_HASH_KEY_OF(fans, slot) (slot)
#include "core/base/hash.h"

/* Scratch memory of a thread for the current row */
typedef struct room
{
	edge_sides sides;
	uint32_t *stack;
	size_t stack_cap;
} room;

typedef struct search
{
	rb_context *ctx;
	rb_fans *fans;
	const uint32_t *bad;
	uint32_t *first; /* First triangle of each row, with one extra entry at the end */
	room *rooms;
	int status;
} search;

static rb_status
make_rings(search *s, room *r, uint32_t from, uint32_t to)
{
	rb_fans *fans = s->fans;
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};

	RB_TRY(edge_sides_reset(s->ctx, &r->sides, 3 * (size_t) (to - from) / 2));
	for (uint32_t i = from; i < to; i++)
	{
		const double *t = fans->set->coords + 9 * (size_t) i;

		if (i % 4096 == 0 && rb_should_stop(s->ctx))
			return RB_STOPPED;
		if (rb_projection_axis(&env, t, t + 3, t + 6) == -1)
			continue;
		fans->sheet[i] = i;
		for (uint32_t side = 3 * i; side < 3 * i + 3; side++)
		{
			uint32_t *first;

			RB_TRY(edge_sides_reserve(s->ctx, &r->sides, fans, 1));
			first = edge_sides_find(&r->sides, fans, side);
			if (*first == RB_HASH_FREE)
			{
				*first = fans->next[side] = side;
				r->sides.n++;
			}
			else
			{
				fans->next[side] = fans->next[*first];
				fans->next[*first] = side;
			}
		}
	}
	return RB_OK;
}

/* Assigns all triangles connected to the first one to its sheet. */
static void
make_sheet(const search *s, uint32_t first, uint32_t *stack)
{
	rb_fans *fans = s->fans;
	uint8_t *seen = fans->inner;
	uint32_t n = 0, steps = 0;

	stack[n++] = first;
	seen[first] = 1;
	while (n > 0)
	{
		const uint32_t i = stack[--n];

		if (++steps % 4096 == 0 && rb_should_stop(s->ctx))
			return;
		for (uint32_t side = 3 * i; side < 3 * i + 3; side++)
		{
			const uint32_t other = fans->next[side], o = other / 3;

			if (other == side || fans->next[other] != side || seen[o])
				continue;
			seen[o] = 1;
			fans->sheet[o] = first;
			fans->turned[o] = fans->turned[i] ^ (uint8_t) rb_equal3(corner_of(fans, side, 0),
																	corner_of(fans, other, 0));
			stack[n++] = o;
		}
	}
}

static rb_status
find_row(search *s, room *r, uint32_t from, uint32_t to)
{
	rb_fans *fans = s->fans;
	rb_status status = make_rings(s, r, from, to);

	if (status == RB_OK)
		status = RB_RENEW(s->ctx, r->stack, r->stack_cap, to - from);
	for (uint32_t i = from; i < to && status == RB_OK; i++)
	{
		if (fans->sheet[i] == i && !fans->inner[i])
			make_sheet(s, i, r->stack);
		if (i % 4096 == 0 && rb_should_stop(s->ctx))
			status = RB_STOPPED;
	}
	return status;
}

static void
find_rows(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	search *s = arg;

	for (uint64_t row = from; row < to && !rb_should_stop(s->ctx); row++)
	{
		int ok = RB_OK;
		rb_status status = RB_OK;

		if (!rb_is_marked(s->bad, (uint32_t) row))
			status = find_row(s, &s->rooms[rb_thread_number(me)], s->first[row], s->first[row + 1]);
		if (status != RB_OK)
			rb_store_if(&s->status, &ok, (int) status);
	}
}

static double
lowest_z(const double *t)
{
	return rb_min(t[2], rb_min(t[5], t[8]));
}

/*
 * For each sheet, finds the triangle whose lowest vertex is highest. Few triangles of the solid are
 * above it. It is vertical only if all triangles of the sheet are. Rays that run along vertical
 * triangles are the most expensive ones.
 */
static void
find_tops(const rb_fans *fans, uint32_t *top)
{
	const double *t = fans->set->coords;

	for (uint32_t i = 0; i < fans->set->nparts; i++)
	{
		const uint32_t sheet = fans->sheet[i];

		if (sheet == i)
			top[i] = i;
		else if (sheet != RB_NO_SHEET &&
				 lowest_z(t + 9 * (size_t) i) > lowest_z(t + 9 * (size_t) top[sheet]))
			top[sheet] = i;
	}
}

/* Lists the sheets in row order. */
static rb_status
list_sheets(search *s, uint32_t *top)
{
	rb_fans *fans = s->fans;

	find_tops(fans, top);
	for (uint32_t i = 0; i < fans->set->nparts; i++)
		fans->nsheets += fans->sheet[i] == i;
	RB_TRY(RB_ALLOCATE(s->ctx, fans->sheets, fans->nsheets + 1));
	RB_TRY(RB_ALLOCATE(s->ctx, fans->tops, fans->nsheets + 1));
	fans->nsheets = 0;
	for (uint32_t row = 0; row < fans->set->nrows; row++)
	{
		fans->start[row] = fans->nsheets;
		for (uint32_t i = s->first[row]; i < s->first[row + 1]; i++)
			if (fans->sheet[i] == i)
			{
				fans->sheets[fans->nsheets] = i;
				fans->tops[fans->nsheets++] = top[i];
			}
	}
	fans->start[fans->set->nrows] = fans->nsheets;
	memset(fans->inner, 0, fans->set->nparts);
	return RB_OK;
}

static rb_status
find_all(search *s)
{
	rb_thread *me;
	uint32_t threads;
	rb_status status;

	RB_TRY(rb_team_open(s->ctx, rb_threads_for(s->ctx, s->fans->set->nrows, GRAIN), &me));
	threads = (uint32_t) rb_team_threads(me);
	status = RB_ALLOCATE(s->ctx, s->rooms, threads);
	if (status == RB_OK)
	{
		memset(s->rooms, 0, threads * sizeof *s->rooms);
		status = rb_loop(me, s->fans->set->nrows, GRAIN, find_rows, s);
		for (uint32_t i = 0; i < threads; i++)
		{
			edge_sides_free(s->ctx->memory, &s->rooms[i].sides);
			RB_FREE(s->ctx->memory, s->rooms[i].stack);
		}
		RB_FREE(s->ctx->memory, s->rooms);
	}
	rb_team_close(&me);
	return s->status != RB_OK ? (rb_status) s->status : status;
}

rb_status
rb_fans_find(rb_context *ctx, const rb_set *set, const uint32_t *bad, rb_fans *fans)
{
	const size_t n = (size_t) set->nparts + 1, rows = (size_t) set->nrows + 1;
	search s = {.ctx = ctx, .fans = fans, .bad = bad};
	uint32_t *top = NULL;
	rb_status status;

	*fans = (rb_fans){.set = set};
	status = rb_array(ctx, (void **) &fans->next, n, 3 * sizeof(uint32_t));
	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, fans->sheet, n);
	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, fans->turned, n);
	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, fans->inner, n);
	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, fans->start, rows);
	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, s.first, rows);
	if (status == RB_OK)
	{
		memset(fans->sheet, 0xff, n * sizeof(uint32_t));
		memset(fans->turned, 0, n);
		/* Serves as the visited flag until its final value is computed */
		memset(fans->inner, 0, n);
		rb_row_starts(set, s.first);
		status = find_all(&s);
	}
	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, top, n);
	if (status == RB_OK)
		status = list_sheets(&s, top);
	RB_FREE(ctx->memory, top);
	RB_FREE(ctx->memory, s.first);
	return status;
}

void
rb_fans_free(rb_memory *memory, rb_fans *fans)
{
	RB_FREE(memory, fans->next);
	RB_FREE(memory, fans->sheet);
	RB_FREE(memory, fans->turned);
	RB_FREE(memory, fans->sheets);
	RB_FREE(memory, fans->tops);
	RB_FREE(memory, fans->start);
	RB_FREE(memory, fans->inner);
}
