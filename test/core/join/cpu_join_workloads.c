/*
 * cpu_join_workloads.c
 *	  Tests generated boxes against the pairs that two other programs found, and the lines of a
 *	  generated map against CGAL's.
 *
 * Each row of test/data/boxes_truth.tsv is a case: the number of pairs and two checksums of them.
 * Sides have up to one million boxes; up to ten million with REDBLUE_LONG, and up to 100,000 if
 * RB_TEST_SCALE is below 1 or another program runs this one.
 */
#include "check.h"
#include "../bench/workload.h"

#include <inttypes.h>
#include <string.h>

#define TRUTH "test/data/boxes_truth.tsv"

typedef struct found
{
	pair_sums sums;
	bool self;
} found;

static rb_status
put(void *user, const rb_pair *pairs, size_t n)
{
	found *f = user;

	pair_sums_add(&f->sums, pairs, n, f->self);
	return RB_OK;
}

/*
 * Returns the checksums of the pairs of a workload's set with seed 1, with itself or with that of
 * seed 2.
 */
static pair_sums
join(const char *workload, bool self)
{
	rb_memory *memory = rb_memory_create(UINT64_MAX);
	rb_context ctx;
	rb_set set[2];
	rb_job job = {.red = &set[0], .blue = self ? NULL : &set[1], .answer = RB_PAIRS};
	found f;
	rb_sink sink = {.put = put, .user = &f};
	rb_status status;

	memset(&f, 0, sizeof(f));
	f.self = self;
	for (int k = 0; k < (self ? 1 : 2); k++)
	{
		char text[128];
		bool made;

		snprintf(text, sizeof(text), "%s,%d", workload, k + 1);
		made = workload_named(text, RB_BOX3, &set[k]);
		CHECK(made, "%s", text);
		if (!made)
			exit(2);
	}
	rb_context_init(&ctx, memory);
	ctx.threads = 2;
	status = rb_backend_cpu.join(&ctx, &job, &sink);
	CHECK(status == RB_OK, "%s", rb_status_text(status));
	CHECK(ctx.stats.hits == f.sums.n, "%" PRIu64 " hits", ctx.stats.hits);
	for (int k = 0; k < (self ? 1 : 2); k++)
		free((void *) set[k].coords);
	rb_memory_destroy(memory);
	return f.sums;
}

/* ---- cases of the file ---- */

static char row_join[8], row_workload[96];

static void
row_of_the_truth(void)
{
	bool self = strcmp(row_join, "self") == 0;
	pair_sums want;
	pair_sums got = join(row_workload, self);
	bool there = workload_truth(TRUTH, row_join, row_workload, &want);

	CHECK(there, "no such row");
	CHECK(got.n == want.n && got.mix == want.mix && got.ij == want.ij,
		  "%" PRIu64 " %016" PRIx64 " %" PRIu64 ", not %" PRIu64 " %016" PRIx64 " %" PRIu64, got.n,
		  got.mix, got.ij, want.n, want.mix, want.ij);
}

static void
boxes(void)
{
	FILE *in = fopen(TRUTH, "r");
	uint64_t most = getenv("REDBLUE_LONG") != NULL ? 10000000 : 1000000;
	char line[300], name[64];
	uint64_t n;

	if (check_rounds(10) < 10 || getenv("RUNNER") != NULL)
		most = 100000;
	CHECK(in != NULL, "%s cannot be read", TRUTH);
	while (in != NULL && fgets(line, sizeof(line), in) != NULL)
	{
		char label[128];

		if (sscanf(line, "%7s %63s %" SCNu64, row_join, name, &n) != 3 || n > most)
			continue;
		snprintf(row_workload, sizeof(row_workload), "%s,%" PRIu64, name, n);
		snprintf(label, sizeof(label), "%s %s", row_join, row_workload);
		check_run(row_of_the_truth, label);
	}
	if (in != NULL)
		fclose(in);
}

/* ---- other cases ---- */

static void
map_lines(void)
{
	pair_sums both = join("map,100000", false);
	pair_sums self = join("map,100000", true);

	CHECK(both.n == 39254 && both.fifth == 42172220948347u, "%" PRIu64 " pairs, %" PRIu64, both.n,
		  both.fifth);
	CHECK(self.n == 136905 && self.fifth == 146945870262770u, "%" PRIu64 " pairs, %" PRIu64, self.n,
		  self.fifth);
}

/* Tests that a part of a workload does not depend on how it is generated. */
static void
parts_of_a_workload(void)
{
	static const char *const text[] = {"uniform,1000,3", "gauss:f32,1000,3", "map,1000,3"};

	for (int k = 0; k < 3; k++)
	{
		workload w;
		rb_set all;
		bool there = workload_parse(text[k], RB_BOX3, &w) && workload_named(text[k], RB_BOX3, &all);

		CHECK(there, "%s", text[k]);
		for (uint64_t first = 0; there && first < 1000; first += 77)
		{
			uint64_t n = 1000 - first < 77 ? 1000 - first : 77;
			int width = rb_kind_width(all.kind);
			double coords[77 * 6];

			workload_fill(&w, first, n, coords);
			CHECK(memcmp(coords, all.coords + first * width, n * width * sizeof(double)) == 0,
				  "%s from %" PRIu64, text[k], first);
		}
		if (there)
			free((void *) all.coords);
	}
}

int
main(void)
{
	CHECK_RUN(parts_of_a_workload);
	CHECK_RUN(map_lines);
	boxes();
	return check_done();
}
