/*
 * test_two.c
 *	  Two rows alone: the same as all their parts asked one by one, however few or many there are.
 */
#include "check.h"
#include "core/base/redblue.h"
#include "core/shape/rb_pair.h"

#include <math.h>
#include <string.h>

static rb_memory *memory;

/* a row of n parts with small coordinates, at that distance from the others */
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
	/* some have no area, or no length */
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

/* all parts with all others */
static void
one_by_one(const rb_job *job, bool *any, uint64_t *told)
{
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true, .distance = job->distance};
	const int red_width = rb_kind_width(job->red->kind),
			  blue_width = rb_kind_width(job->blue->kind);
	double least = INFINITY;
	unsigned dimension = 0, crosses = 0;

	*any = false;
	*told = 0;
	for (uint32_t i = 0; i < job->red->nparts; i++)
		for (uint32_t k = 0; k < job->blue->nparts; k++)
		{
			const double *p = job->red->coords + i * (uint32_t) red_width;
			const double *q = job->blue->coords + k * (uint32_t) blue_width;
			double lo[2][3], hi[2][3];
			int answer = 0;

			if (job->predicate == RB_NEAREST)
			{
				double distance = rb_distance(job->red->kind, job->blue->kind, p, q);

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
			if (RB_TOLD_DIMENSION(RB_TOLD(answer)) > dimension)
				dimension = RB_TOLD_DIMENSION(RB_TOLD(answer));
			crosses |= RB_TOLD_CROSSES(RB_TOLD(answer));
		}
	if (job->predicate == RB_CONTACT)
		*told = RB_TOLD(RB_CONTACT_OF(dimension, crosses));
	if (job->predicate == RB_NEAREST)
		memcpy(told, &least, sizeof *told);
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
			uint64_t told, true_told;
			rb_stream *stream;

			/* the nearest are of triangles only */
			if (predicates[i] == RB_NEAREST && kind[0] != RB_TRIANGLE3)
				continue;
			rb_context_init(&ctx, memory);
			ctx.threads = 1 + (int) (round % 2);
			job.distance = predicates[i] == RB_NEAREST ? INFINITY : (double) check_below(4);
			job.nearest = 1;
			one_by_one(&job, &truth, &true_told);
			CHECK(rb_two_ask(&ctx, &job, NULL, &stream, &any, &told) == RB_OK, "failed");
			CHECK(any == truth, "predicate %d of %u and %u parts: %d", predicates[i], red->nparts,
				  blue->nparts, any);
			if (any && (predicates[i] == RB_CONTACT || predicates[i] == RB_NEAREST))
				CHECK(told == true_told, "predicate %d of %u and %u parts: told %lx, and not %lx",
					  predicates[i], red->nparts, blue->nparts, (unsigned long) told,
					  (unsigned long) true_told);
			yes[i] += any;
			no[i] += !any;
			joined += red->nparts * blue->nparts > 4096;
		}
		rb_set_release(&red);
		rb_set_release(&blue);
	}
	CHECK(joined > 0, "none was joined");
	for (int i = 0; i < 4; i++)
		CHECK(yes[i] > 0 && (no[i] > 0 || predicates[i] == RB_NEAREST), "predicate %d: %ld, %ld",
			  predicates[i], yes[i], no[i]);
}

static long asked;

static bool
stop_at_once(void)
{
	asked++;
	return true;
}

static void
stopped(void)
{
	const rb_set *red = row_of(RB_TRIANGLE3, 60, 4, 0), *blue = row_of(RB_TRIANGLE3, 60, 4, 8);
	const rb_set *large = row_of(RB_TRIANGLE3, 600, 4, 0);
	rb_job job = {.red = red, .blue = blue, .predicate = RB_NEAREST, .nearest = 1};
	rb_context ctx;
	rb_stream *stream;
	bool any;
	uint64_t told;

	job.distance = INFINITY;
	rb_context_init(&ctx, memory);
	CHECK(rb_two_ask(&ctx, &job, stop_at_once, &stream, &any, &told) == RB_STOPPED, "not heard");
	job.red = large;
	CHECK(rb_two_ask(&ctx, &job, stop_at_once, &stream, &any, &told) == RB_STOPPED,
		  "not heard in a join");
	CHECK(stream == NULL, "left open");
	CHECK(asked > 1, "not asked");
	rb_set_release(&red);
	rb_set_release(&blue);
	rb_set_release(&large);
}

int
main(void)
{
	memory = rb_memory_create(UINT64_C(1) << 30);
	CHECK_RUN(as_one_by_one);
	CHECK_RUN(stopped);
	rb_memory_destroy(memory);
	return check_done();
}
