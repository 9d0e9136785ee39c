/*
 * polygon_validity.c
 *	  Tests which polygons are refused, how soon the check stops, and that its work does not depend on how the edges lie.
 */
#include "core/plane/plane.h"

#include <math.h>
#include <string.h>

#include "check.h"
#include "build_polygons.h"
#include "fixtures.h"

/* A triangle far from all other polygons */
static const rb_set *
build_far_triangle(void)
{
	const double xy[] = {-2e9, -2e9, -1e9, -2e9, -2e9, -1e9};

	add_ring(true, xy, 3);
	end_row(1);
	return end_polygons();
}

static rb_status
put_nothing(void *user, const rb_pair *rows, const uint64_t *payload, size_t n)
{
	(void) rows;
	(void) payload;
	*(size_t *) user += n;
	return RB_OK;
}

/* Joins a set with the far triangle, or with itself, and releases it. */
static rb_status
check_set(const rb_set *set, bool self)
{
	const rb_set *far = build_far_triangle();
	const rb_job job = {.red = set, .blue = self ? NULL : far, .predicate = RB_AREA};
	size_t pairs = 0;
	const rb_row_sink sink = {put_nothing, &pairs};
	const rb_status status = rb_compose_areas(&ctx, &rb_backend_cpu, &job, &sink);

	rb_set_release(&set);
	rb_set_release(&far);
	return status;
}

/* Checks the rows under construction for a fault whose description begins so; NULL if they are valid. */
static void
expect_fault(const char *fault)
{
	const rb_status status = check_set(end_polygons(), false);

	if (fault == NULL)
		CHECK(status == RB_OK, "status %d: %s", (int) status, ctx.error.text);
	else
		CHECK(status == RB_BAD_POLYGON && strncmp(ctx.error.text, fault, strlen(fault)) == 0,
			  "status %d: %s instead of %s", (int) status, ctx.error.text, fault);
	rb_context_init(&ctx, memory);
}

/* ---- faults ---- */

static void
faults(void)
{
	static const double bow[] = {0, 0, 2, 2, 2, 0, 0, 2};
	static const double eight[] = {0, 0, 1, 1, 2, 0, 2, 2, 1, 1, 0, 2};
	static const double spike[] = {0, 0, 2, 0, 2, 2, 1, 0};
	static const double back[] = {0, 0, 4, 0, 4, 4, 2, 2, 3, 3, 0, 4};
	static const double diamond[] = {4, 2, 2, 4, 0, 2, 2, 0};
	static const double upper[] = {0, 2, 4, 2, 4, 3, 0, 3};
	static const double half[] = {0, 0, 4, 4, 5, 9, -5, 1};

	add_ring(true, bow, 4);
	end_row(1);
	expect_fault("Two edges cross or overlap at (1 1)");
	add_ring(true, eight, 6);
	end_row(1);
	expect_fault("A ring touches itself at (1 1)");
	add_ring(true, spike, 4);
	end_row(1);
	expect_fault("Two edges cross or overlap");
	add_ring(true, back, 6);
	end_row(1);
	expect_fault("Two edges cross or overlap");
	/* Two points of a hole on the shell: the interior is divided, or the rings cross there. */
	add_square(true, 0, 0, 4);
	add_ring(false, diamond, 4);
	end_row(1);
	expect_fault("Rings that touch");
	add_ring(true, diamond, 4);
	add_ring(false, upper, 4);
	end_row(1);
	expect_fault("Two edges cross or overlap");
	/* Rings that cross at corners of both */
	add_square(true, 0, 0, 4);
	add_ring(true, half, 4);
	end_row(1);
	expect_fault("Two edges cross or overlap at (0 0)");
	add_square(true, 0, 0, 9);
	add_square(false, 1, 1, 7);
	add_square(false, 2, 2, 2);
	end_row(1);
	expect_fault("The hole at");
	add_square(true, 0, 0, 9);
	add_square(false, 10, 1, 2);
	end_row(1);
	expect_fault("A hole is not within its shell");
	add_square(true, 0, 0, 9);
	add_square(true, 1, 1, 2);
	end_row(1);
	expect_fault("Two polygons of the multipolygon overlap");
	/* A polygon within a hole of another one, and a hole of the wrong polygon */
	add_square(true, 0, 0, 9);
	add_square(false, 1, 1, 7);
	add_square(true, 2, 2, 5);
	add_square(false, 3, 3, 3);
	end_row(1);
	expect_fault(NULL);
	add_square(true, 0, 0, 9);
	add_square(false, 1, 1, 7);
	add_square(false, 3, 3, 3);
	add_square(true, 2, 2, 5);
	end_row(1);
	expect_fault("The hole at");
}

/* Many rings at one point, which touch there only, or of which two cross */
static void
fans(void)
{
	const int n = 500;

	for (int fault = 0; fault < 2; fault++)
	{
		for (int i = 0; i < n; i++)
		{
			const double x = n - 2 * i, more = fault == 1 && i == n / 2 ? 3 : 1;
			const double xy[] = {0, 0, x, n, x + more, n};

			add_ring(true, xy, 3);
		}
		end_row(1);
		expect_fault(fault == 1 ? "Two edges cross or overlap" : NULL);
	}
}

/* The refused row is the one with the smallest id, in whichever order the rows come. */
static void
smallest_id(void)
{
	static const int64_t ids[] = {9, -3, 4, 8};
	static const double bow[] = {0, 0, 2, 2, 2, 0, 0, 2};

	for (int turn = 0; turn < 4; turn++)
	{
		for (int i = 0; i < 4; i++)
		{
			add_ring(true, bow, 4);
			end_row(ids[(i + turn) % 4]);
		}
		ctx.threads = 1 + turn;
		CHECK(check_set(end_polygons(), false) == RB_BAD_POLYGON && (int64_t) ctx.error.need == -3,
			  "id %lld", (long long) ctx.error.need);
		rb_context_init(&ctx, memory);
	}
}

/* ---- work ---- */

/* Adds a ring around a point whose radius goes to and fro. */
static void
add_saw(double x, double y, uint32_t n)
{
	double *xy = malloc(2 * n * sizeof *xy);

	for (uint32_t i = 0; i < n; i++)
	{
		const double angle = 6.283185307 * i / n, r = i % 2 == 0 ? 1 : 0.9;

		xy[2 * i] = x + r * cos(angle);
		xy[2 * i + 1] = y + r * sin(angle);
	}
	add_ring(true, xy, n);
	free(xy);
}

/* Adds a comb with n teeth, which lie in the direction of (1, 1). */
static void
add_slanted_comb(uint32_t n)
{
	double *xy = malloc(8 * (n + 1) * sizeof *xy);
	uint32_t k = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		/* Up one side of a tooth, and down the other one */
		const double at[4][2] = {{2 * i, -2.0 * i},
								 {2 * i + n, n - 2.0 * i},
								 {2 * i + 1 + n, n - 2.0 * i - 1},
								 {2 * i + 1, -2.0 * i - 1}};

		memcpy(xy + 2 * k, at, sizeof at);
		k += 4;
	}
	xy[2 * k] = 0;
	xy[2 * k + 1] = -2.0 * n;
	add_ring(true, xy, k + 1);
	free(xy);
}

/* Returns the work to check the rows under construction, in ms. */
static double
work_to_check(void)
{
	const rb_set *set = end_polygons();
	const double began = thread_work_ms();

	CHECK(check_set(set, false) == RB_OK, "%s", ctx.error.text);
	return thread_work_ms() - began;
}

/* Copies in one place, or apart */
static double
measure_copies(int apart)
{
	const uint32_t copies = (uint32_t) check_rounds(4000);

	for (uint32_t i = 0; i < copies; i++)
	{
		add_saw(apart * 3.0 * i, 0, 60);
		end_row(i);
	}
	return work_to_check();
}

/* A slanted comb, or a saw */
static double
measure_long_ring(int saw)
{
	const uint32_t n = (uint32_t) check_rounds(40000);

	if (saw)
		add_saw(0, 0, n);
	else
		add_slanted_comb(n / 4);
	end_row(1);
	return work_to_check();
}

/* Holes side by side, or a tenth of them */
static double
measure_holes(int few)
{
	const uint32_t n = (uint32_t) check_rounds(40000), holes = few ? n / 40 : n / 4;

	add_square(true, -1, -1, 3 * holes);
	for (uint32_t i = 0; i < holes; i++)
		add_square(false, 2 * i, 0, 1);
	end_row(1);
	return work_to_check();
}

/*
 * Copies in one place take as long as copies apart, a slanted comb as long as a saw, and ten times as
 * many holes side by side about ten times as long. Quadratic work would be beyond the bounds many times.
 */
static void
linear_work(void)
{
	double work[2];

	CHECK(work_is_bounded(measure_copies, 4, 5, work), "%g ms instead of %g", work[0], work[1]);
	CHECK(work_is_bounded(measure_long_ring, 10, 5, work), "%g ms instead of %g", work[0], work[1]);
	CHECK(work_is_bounded(measure_holes, 30, 5, work), "%g ms instead of %g", work[0],
		  10 * work[1]);
}

/* An edge that a ring passes a million times ends the check at once. */
static void
copies_of_an_edge(void)
{
	const uint32_t n = (uint32_t) check_rounds(1000000);
	double *xy = calloc(2 * (size_t) n, sizeof *xy), began;

	for (uint32_t i = 0; i < n; i++)
		xy[2 * i] = i % 2;
	xy[2 * n - 1] = 1;
	add_ring(true, xy, n);
	free(xy);
	end_row(1);
	began = thread_work_ms();
	expect_fault("Two edges cross or overlap");
	CHECK(thread_work_ms() - began < 0.02 * n + 50, "%g ms", thread_work_ms() - began);
}

/* A join of polygons with many edges stops soon, at whichever time. */
static void
stops(void)
{
	const uint32_t n = (uint32_t) check_rounds(1000000);
	stop_delay delay = {0};
	double work;
	bool again;

	add_saw(0, 0, n);
	end_row(1);
	work = work_to_check();
	for (int i = 0; i < 12; i += !again)
	{
		double late;
		const rb_set *set;
		rb_status status;
		stopper s;

		if (i % 3 == 2)
			add_slanted_comb(n / 4);
		else
			add_saw(0, 0, n);
		end_row(1);
		if (i % 2 == 1)
		{
			add_saw(0.01, 0, n);
			end_row(2);
		}
		set = end_polygons();
		stop_after(&s, &ctx, work * (i + 1) / 13);
		status = check_set(set, i % 2 == 1);
		late = stop_done(&s);
		again = repeats_late_stop(&delay, late, 50);
		CHECK(status == RB_OK || (status == RB_STOPPED && late >= 0), "round %d: %s", i,
			  rb_status_text(status));
		rb_context_init(&ctx, memory);
	}
	CHECK(delay.worst_ms < 50, "%g ms of work after a stop", delay.worst_ms);
}

int
main(void)
{
	memory = rb_memory_create(UINT64_MAX);
	rb_context_init(&ctx, memory);
	rb_builder_init(&builder, memory, RB_EDGE2);
	CHECK_RUN(faults);
	CHECK_RUN(fans);
	CHECK_RUN(smallest_id);
	CHECK_RUN(linear_work);
	CHECK_RUN(copies_of_an_edge);
	CHECK_RUN(stops);
	rb_builder_free(&builder);
	CHECK(rb_memory_used(memory) == 0, "left behind");
	rb_memory_destroy(memory);
	return check_done();
}
