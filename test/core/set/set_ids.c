/*
 * set_ids.c
 *	  Tests rows with equal ids: the number of distinct ids, and objects made of rows, against
 *	  straightforward references.
 */
#include "check.h"
#include "core/base/base.h"
#include "points.h"

#include <stdlib.h>
#include <string.h>

static rb_memory *memory;

/* Numbers the ids in order of first appearance, by searching all earlier ones. */
static uint32_t
naive(const int64_t *ids, uint32_t n, uint32_t *number)
{
	uint32_t distinct = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t j = 0;

		while (j < i && ids[j] != ids[i])
			j++;
		number[i] = j < i ? number[j] : distinct++;
	}
	return distinct;
}

/* Builds ids of one sort: consecutive, close together, far apart, few, or all equal. */
static void
make_ids(int sort, uint32_t n, int64_t *ids)
{
	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t r = (uint64_t) rand() << 32 ^ (uint64_t) rand();

		switch (sort)
		{
			case 0:
				ids[i] = (int64_t) i * 7 - 100;
				break;
			case 1:
				ids[i] = (int64_t) (r % (n + 1)) - 5;
				break;
			case 2:
				ids[i] = (int64_t) (r * UINT64_C(0x9e3779b97f4a7c15));
				break;
			case 3:
				ids[i] = (r % 5 == 0) ? INT64_MIN : (r % 5 == 1) ? INT64_MAX : (int64_t) (r % 3);
				break;
			case 4:
				ids[i] = (int64_t) (r % 40) * INT64_C(100000000000);
				break;
			default:
				ids[i] = 17;
		}
	}
}

#define SORTS 6

static void
numbers(void)
{
	enum
	{
		MOST = 3000
	};
	int64_t ids[MOST];
	uint32_t expected[MOST];
	uint32_t number[MOST];

	for (int sort = 0; sort < SORTS; sort++)
		for (uint32_t n = 0; n < MOST; n = n * 3 + 1)
		{
			uint32_t distinct;
			uint32_t counted;
			uint32_t want;
			rb_error error;

			make_ids(sort, n, ids);
			want = naive(ids, n, expected);
			CHECK(rb_ids_number(memory, ids, n, NULL, number, &distinct, &error) == RB_OK,
				  "numbers");
			CHECK(distinct == want, "sort %d, %u rows: %u, not %u", sort, n, distinct, want);
			CHECK(memcmp(number, expected, n * sizeof *number) == 0, "sort %d, %u rows", sort, n);
			CHECK(rb_ids_number(memory, ids, n, NULL, NULL, &counted, &error) == RB_OK, "count");
			CHECK(counted == want, "sort %d, %u rows: counted %u, not %u", sort, n, counted, want);
			CHECK(rb_memory_used(memory) == 0, "memory left");
		}
}

/* ---- objects ---- */

typedef struct rows
{
	uint32_t n;
	int64_t id[400];
	uint32_t parts[400];
} rows;

static void
make_rows(rows *r, int sort, bool several)
{
	r->n = 400;
	make_ids(sort, r->n, r->id);
	for (uint32_t i = 0; i < r->n; i++)
		r->parts[i] = several ? (uint32_t) rand() % 4 : 1;
}

/* Builds rows; part k of row i is identified by both numbers. */
static void
build(rb_builder *b, const rows *r)
{
	rb_error error;

	rb_builder_init(b, memory, RB_SEGMENT2);
	for (uint32_t i = 0; i < r->n; i++)
	{
		CHECK(rb_builder_reserve(b, r->parts[i], &error) == RB_OK, "reserve");
		for (uint32_t k = 0; k < r->parts[i]; k++)
		{
			double *to = b->coords + (size_t) b->nparts++ * 4;

			to[0] = i;
			to[1] = k;
			to[2] = to[3] = 1;
		}
		CHECK(rb_builder_end_row(b, r->id[i], &error) == RB_OK, "end of row");
	}
}

/* Checks that the parts of all rows with one id, in reading order, are those of its object. */
static void
compare(const rb_set *set, const rows *r)
{
	uint32_t part = 0;
	uint32_t object = 0;

	for (uint32_t i = 0; i < r->n; i++)
	{
		bool first = r->parts[i] > 0;

		for (uint32_t j = 0; j < i; j++)
			first &= r->id[j] != r->id[i] || r->parts[j] == 0;
		if (!first)
			continue;
		CHECK((set->ids != NULL ? set->ids[object] : set->first_id + object) == r->id[i],
			  "the id of object %u", object);
		for (uint32_t j = i; j < r->n; j++)
			for (uint32_t k = 0; k < r->parts[j] && r->id[j] == r->id[i]; k++, part++)
			{
				CHECK(set->coords[(size_t) part * 4] == j &&
						  set->coords[(size_t) part * 4 + 1] == k,
					  "part %u", part);
				CHECK((set->row_of != NULL ? set->row_of[part] : part) == object,
					  "the object of part %u", part);
			}
		object++;
	}
	CHECK(set->nrows == object && set->nparts == part, "%u objects, %u parts", set->nrows,
		  set->nparts);
}

static void
objects(void)
{
	for (int round = 0; round < check_rounds(20); round++)
		for (int sort = 0; sort < SORTS; sort++)
		{
			rows r;
			rb_builder b;
			rb_error error;
			const rb_set *set = NULL;

			make_rows(&r, sort, round % 2 == 1);
			build(&b, &r);
			CHECK(rb_builder_group(&b, &error) == RB_OK, "group");
			CHECK(rb_builder_finish(&b, &set, &error) == RB_OK, "finish");
			compare(set, &r);
			rb_set_release(&set);
			CHECK(rb_memory_used(memory) == 0, "memory left");
		}
}

/*
 * Tests objects with a rejected row: none of their rows remains, and of their rejections only the
 * first.
 */
static void
refused_objects(void)
{
	for (int round = 0; round < check_rounds(20); round++)
		for (int sort = 0; sort < SORTS; sort++)
		{
			rows r;
			rb_builder b;
			rb_error error;
			const rb_set *set = NULL;
			uint32_t first = 0;

			make_rows(&r, sort, round % 2 == 1);
			build(&b, &r);
			for (uint32_t i = 0; i < 30; i++)
			{
				rb_refusal refusal = {.id = r.id[(uint32_t) rand() % r.n],
									  .fault = RB_GEOMETRY_NULL};

				refusal.info.face = i + 1;
				if (i % 7 == 3)
					refusal = (rb_refusal){.fault = RB_GEOMETRY_NULL_ID};
				CHECK(rb_builder_reject(&b, &refusal, &error) == RB_OK, "refuse");
				first = i == 0 ? (uint32_t) refusal.info.face : first;
			}
			CHECK(rb_builder_drop_rejected(&b, &error) == RB_OK, "drop");
			CHECK(b.nrefused >= 5 && b.refused[0].info.face == first, "%u refusals", b.nrefused);
			for (uint32_t i = 0; i < b.nrefused; i++)
			{
				if (b.refused[i].fault == RB_GEOMETRY_NULL_ID)
					continue;
				for (uint32_t k = 0; k < i; k++)
					CHECK(b.refused[k].id != b.refused[i].id ||
							  b.refused[k].fault == RB_GEOMETRY_NULL_ID,
						  "refusals %u and %u", k, i);
				for (uint32_t row = 0; row < r.n; row++)
					r.parts[row] = r.id[row] == b.refused[i].id ? 0 : r.parts[row];
			}
			CHECK(rb_builder_group(&b, &error) == RB_OK, "group");
			CHECK(rb_builder_finish(&b, &set, &error) == RB_OK, "finish");
			compare(set, &r);
			rb_set_release(&set);
			CHECK(rb_memory_used(memory) == 0, "memory left");
		}
}

static int left; /* Calls before should_stop returns true */

static bool
stop_later(void)
{
	return left-- <= 0;
}

/* Tests a limit, or a stop, at every point: nothing has changed, and nothing is left behind. */
static void
refusals(void)
{
	static rows r;
	int refused = 0;

	make_rows(&r, 1, true);
	for (uint64_t limit = 1; limit < 200; limit++)
	{
		rb_builder b;
		rb_error error;
		rb_status status;
		const rb_set *set = NULL;
		uint64_t used;

		build(&b, &r);
		used = rb_memory_used(memory);
		rb_memory_set_limit(memory, used + limit * 200);
		status = rb_builder_group(&b, &error);
		rb_memory_set_limit(memory, (uint64_t) 1 << 40);
		CHECK(status == RB_OK || status == RB_OVER_BUDGET, "status %d", (int) status);
		if (status != RB_OK)
		{
			CHECK(rb_memory_used(memory) == used, "memory left");
			CHECK(error.status == RB_OVER_BUDGET && error.need > error.limit, "the error");
			refused++;
			status = rb_builder_group(&b, &error);
		}
		CHECK(status == RB_OK, "again");
		CHECK(rb_builder_finish(&b, &set, &error) == RB_OK, "finish");
		compare(set, &r);
		rb_set_release(&set);
	}
	CHECK(refused > 5 && refused < 199, "%d refused", refused);
	CHECK(rb_memory_used(memory) == 0, "memory left");
}

static void
stops(void)
{
	enum
	{
		N = 300000
	};
	int64_t *ids = malloc(N * sizeof *ids);
	uint32_t *number = malloc(N * sizeof *number);
	uint32_t distinct;
	rb_error error;
	rb_builder b;
	const rb_set *set = NULL;

	make_ids(2, N, ids);
	for (left = 0; left < 4;)
	{
		int at = left;

		CHECK(rb_ids_number(memory, ids, N, stop_later, number, &distinct, &error) == RB_STOPPED,
			  "at %d", at);
		CHECK(rb_memory_used(memory) == 0, "memory left");
		left = at + 1;
	}
	make_ids(1, N, ids);
	left = 1;
	CHECK(rb_ids_number(memory, ids, N, stop_later, NULL, &distinct, &error) == RB_STOPPED,
		  "in the bitmap");
	/* While parts are moved */
	rb_builder_init(&b, memory, RB_SEGMENT2);
	CHECK(rb_builder_reserve(&b, N, &error) == RB_OK, "reserve");
	for (uint32_t i = 0; i < N; i++)
	{
		memset(b.coords + (size_t) b.nparts++ * 4, 0, 4 * sizeof(double));
		CHECK(rb_builder_end_row(&b, ids[i], &error) == RB_OK, "end of row");
	}
	b.should_stop = stop_later;
	for (int at = 0; at < 8; at++)
	{
		left = at;
		CHECK(rb_builder_group(&b, &error) == RB_STOPPED, "group, at %d", at);
		CHECK(b.nrows == N && b.nparts == N && !b.multi, "something has changed");
	}
	left = 1000;
	CHECK(rb_builder_group(&b, &error) == RB_OK, "group");
	CHECK(rb_builder_finish(&b, &set, &error) == RB_OK && set->nrows < N, "finish");
	rb_set_release(&set);
	CHECK(rb_memory_used(memory) == 0, "memory left");
	free(ids);
	free(number);
}

int
main(void)
{
	memory = rb_memory_create((uint64_t) 1 << 40);
	CHECK_RUN(numbers);
	CHECK_RUN(objects);
	CHECK_RUN(refused_objects);
	CHECK_RUN(refusals);
	CHECK_RUN(stops);
	rb_memory_destroy(memory);
	return check_done();
}
