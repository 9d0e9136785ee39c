/*
 * set.c
 *	  Tests sets: they are built once, shared, and freed with their last holder; and which jobs two
 *	  sets allow.
 */
#include "fixtures.h"
#include "core/join/join.h"
#include "core/set/set.h"

#include <pthread.h>
#include <string.h>

static rb_memory *memory;

/* Builds n equal rows of one part each. */
static const rb_set *
make_rows(rb_kind kind, uint32_t n, int64_t first_id, int64_t step)
{
	return build_rows(
		memory,
		&(row_series){.kind = kind, .srid = 25832, .n = n, .first_id = first_id, .step = step});
}

static void
ids(void)
{
	static const int64_t first[] = {0, 1, -5, INT64_MAX - 99, INT64_MIN};

	for (int k = 0; k < 5; k++)
		for (int64_t step = -1; step < 3; step++)
		{
			uint32_t n = step == 1 || k < 3 ? 100 : 1;
			const rb_set *set = make_rows(RB_SEGMENT2, n, first[k], step);

			CHECK(set->nrows == n && set->srid == 25832 && set->kind == RB_SEGMENT2, "the facts");
			CHECK((set->ids == NULL) == (step == 1 || n == 1), "counted up by %d", (int) step);
			for (uint32_t i = 0; i < n; i++)
			{
				int64_t id = set->ids != NULL ? set->ids[i] : set->first_id + i;

				CHECK(id == first[k] + step * i, "id %u", i);
			}
			rb_set_release(&set);
			CHECK(rb_memory_used(memory) == 0, "memory left");
		}
}

/*
 * Tests ids that continue from the last bigint to the first: they count as consecutive, like
 * unsigned numbers.
 */
static void
ids_that_wrap(void)
{
	const rb_set *set = make_rows(RB_BOX2, 40, INT64_MAX - 19, 1);
	rb_job job = {.red = set};
	rb_context ctx;
	rb_stream *stream;
	rb_block block;
	rb_status status;
	size_t n = 0, below = 0;

	rb_context_init(&ctx, memory);
	CHECK(rb_stream_open(&ctx, &rb_backend_cpu, &job, &stream) == RB_OK, "open");
	while ((status = rb_stream_next(stream, 10, &block)) == RB_OK)
		for (size_t i = 0; i < block.n; i++, n++)
			for (int s = 0; s < 2; s++)
			{
				int64_t id = s == 0 ? block.red[i] : block.blue[i];

				CHECK(id >= INT64_MAX - 19 || id < INT64_MIN + 20, "id %ld", (long) id);
				below += id < 0;
			}
	CHECK(status == RB_END && n == 40 * 39 / 2 && below == 20 * 39, "%zu pairs, %zu", n, below);
	rb_stream_close(stream);
	rb_set_release(&set);
	CHECK(rb_memory_used(memory) == 0, "memory left");
}

static void
empty(void)
{
	const rb_set *set = make_rows(RB_BOX3, 0, 0, 1);

	CHECK(set->nrows == 0 && set->nparts == 0, "empty");
	rb_set_release(&set);
	rb_set_release(&set);
	CHECK(rb_set_hold(NULL) == NULL, "nothing to hold");
	CHECK(rb_memory_used(memory) == 0, "memory left");
}

/* Tests that the builder keeps all its contents if the set does not fit in memory. */
static void
no_room(void)
{
	rb_builder b;
	rb_error error;
	const rb_set *set;

	rb_builder_init(&b, memory, RB_BOX2);
	CHECK(rb_builder_reserve(&b, 1, &error) == RB_OK, "reserve");
	memset(b.coords, 0, 4 * sizeof(double));
	b.nparts = 1;
	CHECK(rb_builder_end_row(&b, 7, &error) == RB_OK, "end of row");
	rb_memory_set_limit(memory, rb_memory_used(memory));
	CHECK(rb_builder_finish(&b, &set, &error) == RB_OVER_BUDGET && set == NULL, "finish");
	CHECK(b.nrows == 1 && b.coords != NULL, "as it was");
	rb_memory_set_limit(memory, (uint64_t) 1 << 30);
	CHECK(rb_builder_finish(&b, &set, &error) == RB_OK && set->first_id == 7, "again");
	rb_set_release(&set);
	CHECK(rb_memory_used(memory) == 0, "memory left");
}

/* ---- holders ---- */

#define HOLDERS 8

static void *
hold_and_release(void *arg)
{
	for (int i = 0; i < 2000; i++)
	{
		const rb_set *mine = rb_set_hold(arg);

		CHECK(mine->coords[0] == 0 && mine->nrows == 100, "there as long as it is held");
		rb_set_release(&mine);
	}
	return NULL;
}

static void
held_by_many(void)
{
	const rb_set *set = make_rows(RB_TRIANGLE3, 100, 1, 2);
	pthread_t thread[HOLDERS];

	for (int t = 0; t < HOLDERS; t++)
		pthread_create(&thread[t], NULL, hold_and_release, (void *) set);
	for (int t = 0; t < HOLDERS; t++)
		pthread_join(thread[t], NULL);
	CHECK(rb_memory_used(memory) > 0, "still held");
	rb_set_release(&set);
	CHECK(rb_memory_used(memory) == 0, "memory left");
}

/* ---- jobs ---- */

/* Tests that an open stream holds its sets, and that its blocks contain their ids. */
static void
held_by_a_stream(void)
{
	const rb_set *set = make_rows(RB_BOX2, 40, 1000, 3);
	rb_job job = {.red = set};
	rb_context ctx;
	rb_stream *stream;
	rb_block block;
	rb_status status;
	size_t n = 0;

	rb_context_init(&ctx, memory);
	CHECK(rb_stream_open(&ctx, &rb_backend_cpu, &job, &stream) == RB_OK, "open");
	rb_set_release(&set);
	while ((status = rb_stream_next(stream, 10, &block)) == RB_OK)
		for (size_t i = 0; i < block.n; i++, n++)
			CHECK(block.red[i] >= 1000 && block.red[i] < block.blue[i] && block.blue[i] < 1120 &&
					  (block.red[i] - 1000) % 3 == 0 && (block.blue[i] - 1000) % 3 == 0,
				  "(%ld, %ld)", (long) block.red[i], (long) block.blue[i]);
	CHECK(status == RB_END && n == 40 * 39 / 2, "%zu pairs", n);
	rb_stream_close(stream);
	CHECK(rb_memory_used(memory) == 0, "memory left");
}

/*
 * Tests that joins of kinds without a leaf, the test of one pair, are rejected, whatever the sets
 * contain, and that no others are.
 */
static void
kinds_that_join(void)
{
	static const bool joins[RB_KINDS][RB_KINDS] = {
		[RB_TRIANGLE3] = {[RB_TRIANGLE3] = true, [RB_SEGMENT3] = true},
		[RB_SEGMENT3] = {[RB_TRIANGLE3] = true},
		[RB_SEGMENT2] = {[RB_SEGMENT2] = true},
		[RB_BOX3] = {[RB_BOX3] = true},
		[RB_BOX2] = {[RB_BOX2] = true},
	};

	for (int r = 0; r < RB_KINDS; r++)
		for (int b = -1; b < RB_KINDS; b++)
			for (uint32_t n = 0; n < 3; n += 2)
			{
				const rb_set *red = make_rows((rb_kind) r, n, 0, 1);
				const rb_set *blue = b < 0 ? NULL : make_rows((rb_kind) b, n, 0, 1);
				rb_job job = {.red = red, .blue = blue};
				bool want = joins[r][b < 0 ? r : b];
				rb_context ctx;
				rb_stream *stream;
				rb_status status;

				rb_context_init(&ctx, memory);
				status = rb_stream_open(&ctx, &rb_backend_cpu, &job, &stream);
				CHECK(status == (want ? RB_OK : RB_UNSUPPORTED), "kinds %d and %d: %s", r, b,
					  rb_status_text(status));
				CHECK(want || (stream == NULL && ctx.error.status == RB_UNSUPPORTED), "refused");
				rb_stream_close(stream);
				rb_set_release(&red);
				rb_set_release(&blue);
				CHECK(rb_memory_used(memory) == 0, "memory left");
			}
}

/* Finding the first parts of rows, or their boxes, ends soon after a stop. */
static void
stop_in_parts(void)
{
	enum
	{
		PARTS = 200000
	};
	const rb_set *set = make_rows(RB_SEGMENT2, PARTS, 0, 1);
	uint32_t *start = calloc(PARTS + 1, sizeof *start);
	rb_context ctx;

	rb_context_init(&ctx, memory);
	CHECK(rb_row_starts(&ctx, set, start) == RB_OK && start[PARTS] == PARTS, "not finished");
	memset(start, 0, (PARTS + 1) * sizeof *start);
	rb_context_stop(&ctx);
	CHECK(rb_row_starts(&ctx, set, start) == RB_STOPPED && start[PARTS / 2] == 0, "not stopped");
	CHECK(rb_row_starts(NULL, set, start) == RB_OK && start[PARTS] == PARTS, "stopped");
	free(start);
	rb_set_release(&set);
}

int
main(void)
{
	memory = rb_memory_create((uint64_t) 1 << 30);
	CHECK_RUN(ids);
	CHECK_RUN(ids_that_wrap);
	CHECK_RUN(empty);
	CHECK_RUN(no_room);
	CHECK_RUN(held_by_many);
	CHECK_RUN(held_by_a_stream);
	CHECK_RUN(kinds_that_join);
	CHECK_RUN(stop_in_parts);
	rb_memory_destroy(memory);
	rb_memory_trim(0);
	return check_done();
}
