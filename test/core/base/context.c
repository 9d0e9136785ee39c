/*
 * context.c
 *	  Tests the context of a call: texts of statuses, names of stages, the first error, stops and
 *	  sums of statistics.
 */
#include "check.h"
#include "core/base/redblue.h"

#include <string.h>

static void
statuses_have_texts(void)
{
	for (int i = RB_OK; i <= RB_BAD_REPLY; i++)
	{
		const char *text = rb_status_text((rb_status) i);

		CHECK(text[0] != '\0' && strcmp(text, "unknown status") != 0, "status %d", i);
		for (int k = RB_OK; k < i; k++)
			CHECK(strcmp(text, rb_status_text((rb_status) k)) != 0, "%d and %d: %s", i, k, text);
	}
	CHECK(strcmp(rb_status_text((rb_status) (RB_BAD_REPLY + 1)), "unknown status") == 0,
		  "one more");
}

static void
stages_have_names(void)
{
	for (int i = 0; i < RB_STAGES; i++)
	{
		const char *name = rb_stage_name((rb_stage) i);

		CHECK(strcmp(name, "?") != 0, "stage %d", i);
		for (int k = 0; k < i; k++)
			CHECK(strcmp(name, rb_stage_name((rb_stage) k)) != 0, "%d and %d: %s", i, k, name);
	}
	CHECK(strcmp(rb_stage_name((rb_stage) 1000), "?") == 0, "one more");
}

/* Tests that the first error remains, that its text is truncated, and that it stops the call. */
static void
the_first_error_remains(void)
{
	rb_context ctx;
	char text[2 * sizeof ctx.error.text];

	memset(text, 'x', sizeof text);
	text[sizeof text - 1] = '\0';
	rb_context_init(&ctx, NULL);
	CHECK(!rb_should_stop(&ctx), "nothing has happened");
	CHECK(rb_fail(&ctx, RB_OVER_BUDGET, 7, 5, text) == RB_OVER_BUDGET, "first status");
	CHECK(rb_fail(&ctx, RB_NO_THREAD, 1, 2, "later") == RB_NO_THREAD, "second status");
	CHECK(ctx.error.status == RB_OVER_BUDGET && ctx.error.need == 7 && ctx.error.limit == 5,
		  "status %d", ctx.error.status);
	CHECK(strlen(ctx.error.text) == sizeof ctx.error.text - 1, "%zu bytes", strlen(ctx.error.text));
	CHECK(rb_should_stop(&ctx) && rb_why_stopped(&ctx) == RB_OVER_BUDGET, "an error stops");

	rb_context_init(&ctx, NULL);
	CHECK(rb_fail(&ctx, RB_OUT_OF_MEMORY, 0, 0, NULL) == RB_OUT_OF_MEMORY, "no text");
	CHECK(ctx.error.text[0] == '\0', "%s", ctx.error.text);

	rb_context_init(&ctx, NULL);
	rb_context_stop(&ctx);
	CHECK(rb_should_stop(&ctx) && rb_why_stopped(&ctx) == RB_STOPPED, "stopped on request");
	CHECK(ctx.error.status == RB_OK, "a stop is no error");
}

/* Tests that sums contain each stage and each reason of the two sides. */
static void
statistics_add_up(void)
{
	rb_stats a, b;

	memset(&a, 0, sizeof a);
	memset(&b, 0, sizeof b);
	for (int i = 0; i < RB_STAGES; i++)
	{
		a.stage[i].count = (uint64_t) i;
		b.stage[i].count = 100;
	}
	for (int side = 0; side < 2; side++)
		for (int i = 0; i < RB_SOLID_FAULTS; i++)
			a.bad_because[side][i] = b.bad_because[side][i] = (uint32_t) (10 * side + i);
	a.hits = 3;
	b.hits = 4;
	rb_stats_add(&a, &b);
	for (int i = 0; i < RB_STAGES; i++)
		CHECK(a.stage[i].count == 100 + (uint64_t) i, "stage %d", i);
	for (int side = 0; side < 2; side++)
		for (int i = 0; i < RB_SOLID_FAULTS; i++)
			CHECK(a.bad_because[side][i] == (uint32_t) (2 * (10 * side + i)), "fault %d", i);
	CHECK(a.hits == 7, "%lu hits", (unsigned long) a.hits);
}

int
main(void)
{
	CHECK_RUN(statuses_have_texts);
	CHECK_RUN(stages_have_names);
	CHECK_RUN(the_first_error_remains);
	CHECK_RUN(statistics_add_up);
	return check_done();
}
