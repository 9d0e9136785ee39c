/*
 * single_pair.c
 *	  Tests a single pair of rows: the result equals that of testing all their parts one by one,
 *	  however many there are.
 */
#include "check.h"
#include "scalar.h"
#include "core/base/redblue.h"
#include "core/primitive/dispatch.h"

#include <math.h>
#include <string.h>

static rb_memory *memory;

/* Builds a row of n parts with small coordinates, at a distance from the others. */
static const rb_set *
row_of(rb_kind kind, uint32_t n, int range, double shift)
{
	const int width = rb_kind_width(kind);
	const rb_set *set = NULL;
	rb_builder b;
	rb_error error;

	rb_builder_init(&b, memory, kind);
	CHECK(rb_builder_reserve(&b, n, &error) == RB_OK, "no room");
	for (uint32_t i = 0; i < n * (uint32_t) width; i++)
		b.coords[i] = (double) check_below((uint64_t) range) +
					  (i % (uint32_t) rb_kind_dims(kind) == 0 ? shift : 0);
	/* Some parts have no area or no length. */
	for (uint32_t i = 0; i < n; i += 3)
		memcpy(b.coords + i * (uint32_t) width,
			   b.coords + i * (uint32_t) width + rb_kind_dims(kind),
			   (size_t) rb_kind_dims(kind) * sizeof(double));
	b.nparts = n;
	CHECK(rb_builder_end_row(&b, 17, &error) == RB_OK &&
			  rb_builder_finish(&b, &set, &error) == RB_OK,
		  "no set");
	rb_builder_free(&b);
	return set;
}

/* Tests all parts against all others. */
static void
one_by_one(const rb_job *job, bool *any, uint64_t *payload)
{
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true, .distance = job->distance};
	const int red_width = rb_kind_width(job->red->kind),
			  blue_width = rb_kind_width(job->blue->kind);
	double least = INFINITY;
	unsigned dimension = 0, crosses = 0;

	*any = false;
	*payload = 0;
	for (uint32_t i = 0; i < job->red->nparts; i++)
		for (uint32_t k = 0; k < job->blue->nparts; k++)
		{
			const double *p = job->red->coords + i * (uint32_t) red_width;
			const double *q = job->blue->coords + k * (uint32_t) blue_width;
			double lo[2][3], hi[2][3];
			int answer = 0;

			if (job->predicate == RB_NEAREST)
			{
				double distance = distance_of(job->red->kind, job->blue->kind, p, q);

				if (distance < least)
					least = distance;
				*any = true;
				continue;
			}
			rb_kind_box(job->red->kind, p, 0, lo[0], hi[0]);
			rb_kind_box(job->blue->kind, q, 0, lo[1], hi[1]);
			if (job->predicate == RB_WITHIN || rb_boxes_overlap(lo[0], hi[0], lo[1], hi[1]))
				answer =
					rb_pair_decide(&env, job->predicate, job->red->kind, job->blue->kind, p, q);
			if (!RB_IS_YES(answer))
				continue;
			*any = true;
			if (RB_PAYLOAD_DIMENSION(RB_PAYLOAD(answer)) > dimension)
				dimension = RB_PAYLOAD_DIMENSION(RB_PAYLOAD(answer));
			crosses |= RB_PAYLOAD_CROSSES(RB_PAYLOAD(answer));
		}
	if (job->predicate == RB_CONTACT)
		*payload = RB_PAYLOAD(RB_CONTACT_OF(dimension, crosses));
	if (job->predicate == RB_NEAREST)
		memcpy(payload, &least, sizeof *payload);
}

static const rb_kind kinds[][2] = {
	{RB_TRIANGLE3, RB_TRIANGLE3}, {RB_SEGMENT3, RB_TRIANGLE3}, {RB_SEGMENT2, RB_SEGMENT2}};
static const rb_predicate predicates[] = {RB_MEET, RB_CONTACT, RB_WITHIN, RB_NEAREST};

static void
as_one_by_one(void)
{
	long yes[4] = {0, 0, 0, 0}, no[4] = {0, 0, 0, 0}, joined = 0;

	for (long round = 0; round < check_rounds(600); round++)
	{
		const rb_kind *kind = kinds[round % 3];
		const bool many = round % 40 < 3;
		const int range = 3 + (int) check_below(20);
		const double shift = (double) check_below(24);
		const rb_set *red = row_of(kind[0], 1 + (uint32_t) check_below(many ? 90 : 12), range, 0);
		const rb_set *blue =
			row_of(kind[1], many ? 80 : 1 + (uint32_t) check_below(12), range, shift);

		for (int i = 0; i < 4; i++)
		{
			rb_job job = {.red = red, .blue = blue, .predicate = predicates[i]};
			rb_context ctx;
			bool any, truth;
			uint64_t payload, true_payload;
			rb_row_cache known[2] = {{.tree = NULL}, {.tree = NULL}};

			/* Nearest neighbors exist only for triangles. */
			if (predicates[i] == RB_NEAREST && kind[0] != RB_TRIANGLE3)
				continue;
			rb_context_init(&ctx, memory);
			ctx.threads = 1 + (int) (round % 2);
			job.distance = predicates[i] == RB_NEAREST ? INFINITY : (double) check_below(4);
			job.nearest = 1;
			one_by_one(&job, &truth, &true_payload);
			CHECK(rb_row_pair_test(&ctx, &job, &known[0], &known[1], &any, &payload) == RB_OK,
				  "failed");
			CHECK(any == truth, "predicate %d of %u and %u parts: %d", predicates[i], red->nparts,
				  blue->nparts, any);
			if (any && (predicates[i] == RB_CONTACT || predicates[i] == RB_NEAREST))
				CHECK(payload == true_payload,
					  "predicate %d of %u and %u parts: payload %lx, and not %lx", predicates[i],
					  red->nparts, blue->nparts, (unsigned long) payload,
					  (unsigned long) true_payload);
			yes[i] += any;
			no[i] += !any;
			joined += red->nparts * blue->nparts > 4096;
			rb_row_cache_free(memory, &known[0]);
			rb_row_cache_free(memory, &known[1]);
		}
		rb_set_release(&red);
		rb_set_release(&blue);
	}
	CHECK(joined > 0, "none was joined");
	for (int i = 0; i < 4; i++)
		CHECK(yes[i] > 0 && (no[i] > 0 || predicates[i] == RB_NEAREST), "predicate %d: %ld, %ld",
			  predicates[i], yes[i], no[i]);
}

/*
 * Tests a row that is compared with many others: the results equal those for a row that was never
 * seen before.
 */
static void
known_rows(void)
{
	long trees = 0;

	for (long round = 0; round < check_rounds(9); round++)
	{
		const rb_kind *kind = kinds[round % 3];
		const rb_set *blue = row_of(kind[1], 65 + (uint32_t) check_below(200), 12, 0);
		rb_row_cache known = {.tree = NULL};

		for (int i = 0; i < 60; i++)
		{
			const rb_set *red =
				row_of(kind[0], 1 + (uint32_t) check_below(4), 12, (double) check_below(14));
			const int which = (int) check_below(4);
			rb_job job = {.red = red, .blue = blue, .predicate = predicates[which], .nearest = 1};
			rb_row_cache once = {.tree = NULL};
			rb_context ctx;
			bool any, truth;
			uint64_t payload, true_payload;

			job.distance = which == 3 ? INFINITY : (double) check_below(4);
			rb_context_init(&ctx, memory);
			ctx.threads = 1;
			one_by_one(&job, &truth, &true_payload);
			CHECK(rb_row_pair_test(&ctx, &job, &once, &known, &any, &payload) == RB_OK, "failed");
			CHECK(any == truth && (!any || (which != 1 && which != 3) || payload == true_payload),
				  "predicate %d of %u and %u parts: %d, %lx, and not %d, %lx", which, red->nparts,
				  blue->nparts, any, (unsigned long) payload, truth, (unsigned long) true_payload);
			rb_row_cache_free(memory, &once);
			rb_set_release(&red);
		}
		trees += known.tree != NULL;
		rb_row_cache_free(memory, &known);
		rb_set_release(&blue);
	}
	CHECK(trees > 0, "no row has kept a tree");
}

#define FAR_PARTS 150 /* Enough for a box tree */

/* Tests coordinates whose squares no double can represent, against a box tree of others. */
static void
far_scales(void)
{
	static const double scales[] = {0x1p-1000, 0x1p-600, 1, 0x1p600, 0x1p1000};

	for (int r = 0; r < 5; r++)
		for (int b = 0; b < 5; b++)
		{
			rb_set red = {.kind = RB_TRIANGLE3, .nparts = 1, .nrows = 1};
			rb_set blue = {.kind = RB_TRIANGLE3, .nparts = FAR_PARTS, .nrows = 1};
			double one[9], many[FAR_PARTS * 9];
			uint32_t row_of_blue[FAR_PARTS] = {0};
			rb_row_cache known = {.tree = NULL};

			for (int i = 0; i < FAR_PARTS * 9; i++)
				many[i] = scales[b] * (double) check_below(1000);
			red.coords = one;
			blue.coords = many;
			blue.row_of = row_of_blue;
			for (int i = 0; i < 200; i++)
			{
				const int which = i % 4;
				rb_job job = {
					.red = &red, .blue = &blue, .predicate = predicates[which], .nearest = 1};
				rb_row_cache once = {.tree = NULL};
				rb_context ctx;
				bool any, truth;
				uint64_t payload, true_payload;

				for (int k = 0; k < 9; k++)
					one[k] = scales[r] * (double) check_below(1000);
				job.distance = which == 3 ? INFINITY : 100 * scales[r];
				rb_context_init(&ctx, memory);
				ctx.threads = 1;
				one_by_one(&job, &truth, &true_payload);
				CHECK(rb_row_pair_test(&ctx, &job, &once, &known, &any, &payload) == RB_OK,
					  "failed");
				CHECK(any == truth &&
						  (!any || (which != 1 && which != 3) || payload == true_payload),
					  "predicate %d, scales %d and %d: %d, %lx, and not %d, %lx", which, r, b, any,
					  (unsigned long) payload, truth, (unsigned long) true_payload);
				rb_row_cache_free(memory, &once);
			}
			CHECK(known.tree != NULL, "no tree was made");
			rb_row_cache_free(memory, &known);
		}
}

static void
stopped(void)
{
	const rb_set *red = row_of(RB_TRIANGLE3, 60, 4, 0), *blue = row_of(RB_TRIANGLE3, 60, 4, 8);
	const rb_set *large = row_of(RB_TRIANGLE3, 20000, 4, 0);
	const rb_set *far = row_of(RB_TRIANGLE3, 20000, 4, 8);
	const rb_set *sides[][2] = {{red, blue}, {large, blue}, {large, far}};
	const volatile sig_atomic_t asked = 1;

	for (int i = 0; i < 3; i++)
	{
		const rb_job job = {.red = sides[i][0],
							.blue = sides[i][1],
							.predicate = RB_NEAREST,
							.nearest = 1,
							.distance = INFINITY};
		rb_row_cache known[2] = {{.tree = NULL}, {.tree = NULL}};
		rb_context ctx;
		bool any;
		uint64_t payload;

		rb_context_init(&ctx, memory);
		ctx.asked = &asked;
		CHECK(rb_row_pair_test(&ctx, &job, &known[0], &known[1], &any, &payload) == RB_STOPPED,
			  "not heard: %d", i);
		rb_row_cache_free(memory, &known[0]);
		rb_row_cache_free(memory, &known[1]);
	}
	rb_set_release(&red);
	rb_set_release(&blue);
	rb_set_release(&large);
	rb_set_release(&far);
}

int
main(void)
{
	memory = rb_memory_create(UINT64_C(1) << 30);
	CHECK_RUN(as_one_by_one);
	CHECK_RUN(known_rows);
	CHECK_RUN(far_scales);
	CHECK_RUN(stopped);
	CHECK(rb_memory_used(memory) == 0, "%lu bytes are left",
		  (unsigned long) rb_memory_used(memory));
	rb_memory_destroy(memory);
	return check_done();
}
