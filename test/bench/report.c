/*
 * report.c
 *	  Prints the results of a benchmark as text and as tables (report.h).
 */
#include "report.h"

#include <inttypes.h>

/* ---- the numbers of a row ---- */

static double
objects(const report *r)
{
	return (double) r->objects[0] + r->objects[1];
}

static double
test_ms(const rb_stats *s)
{
	return s->stage[RB_STAGE_FLOAT].ms + s->stage[RB_STAGE_DOUBLE].ms + s->stage[RB_STAGE_EXACT].ms;
}

static void
cell(bool there, const char *format, double value)
{
	if (!there)
		printf(" - |");
	else
	{
		putchar(' ');
		printf(format, value);
		printf(" |");
	}
}

/* Returns a result, which is equal to the others. */
static const answer *
any(const report *r)
{
	return r->answers[0].ran ? &r->answers[0] : &r->answers[1];
}

static void
sizes(const report *r)
{
	if (r->objects[1] == 0)
		printf("| %s | %" PRIu32 " |", r->label, r->objects[0]);
	else
		printf("| %s | %" PRIu32 " x %" PRIu32 " |", r->label, r->objects[0], r->objects[1]);
}

static void
our_wall(const report *r)
{
	if (r->answers[0].ran)
		printf(" %.4f (%d) |", r->answers[0].best.wall, r->in.stats.threads);
	else
		printf(" - |");
}

/* Prints the ratio of a peer's time to that of redblue. */
static void
ratio(const report *r, int peer, bool cpu)
{
	const answer *a = r->answers;
	bool both = a[0].ran && a[peer].ran;

	if (cpu)
		cell(both, "%.1f", a[peer].best.cpu / a[0].best.cpu);
	else
		cell(both, "**%.1f**", a[peer].best.wall / a[0].best.wall);
}

/* Prints box_intersection_d, as in the manual and with a larger cutoff, and redblue. */
static void
boxes_and_ours(const report *r)
{
	const answer *a = r->answers;

	cell(a[1].ran, "%.4f", a[1].best.wall);
	cell(a[3].ran, "%.4f", a[3].best.wall);
	our_wall(r);
	ratio(r, 1, false);
	ratio(r, 3, false);
	ratio(r, 1, true);
	ratio(r, 3, true);
}

#define BOXES_AND_OURS                                                                \
	"CGAL s | CGAL tuned s | redblue s (threads) | CGAL / redblue | tuned / redblue " \
	"| CGAL / redblue, CPU s | tuned / redblue, CPU s "

/* ---- tables ---- */

static void
triangles_row(const report *r)
{
	const answer *a = r->answers;
	const answer *found = any(r);
	double candidates = (double) found->best.candidates;
	bool ours = a[0].ran && candidates > 0;

	printf("| %s | %" PRIu64 " | %" PRIu64 " |", r->label, found->best.candidates, found->sums.n);
	cell(a[1].ran, "%.3f", a[1].best.wall);
	cell(a[2].ran, "%.3f", a[2].best.wall);
	our_wall(r);
	ratio(r, 1, false);
	ratio(r, 2, false);
	ratio(r, 1, true);
	cell(ours, "%.1f", 1e9 * a[0].best.cpu / candidates);
	cell(ours, "%.1f", 1e6 * test_ms(&r->in.stats) * r->in.stats.threads / candidates);
	cell(a[0].ran, "%.0f", (double) r->in.peak / objects(r));
	putchar('\n');
}

static void
segments_row(const report *r)
{
	const answer *a = r->answers;
	const answer *found = any(r);

	sizes(r);
	printf(" %" PRIu64 " | %" PRIu64 " |", found->best.candidates, found->sums.n);
	boxes_and_ours(r);
	cell(a[0].ran, "%.1f", 1e9 * a[0].best.cpu / objects(r));
	cell(a[0].ran, "%.0f", (double) r->in.peak / objects(r));
	putchar('\n');
}

static void
boxes_row(const report *r)
{
	const answer *a = r->answers;
	const rb_stats *s = &r->in.stats;
	double pairs = (double) any(r)->sums.n;

	sizes(r);
	printf(" %" PRIu64 " |", any(r)->sums.n);
	boxes_and_ours(r);
	cell(a[0].ran, "%.4f", r->in.count_wall);
	cell(a[0].ran, "%.0f", (double) s->box_tests - pairs - (double) s->redundant_tests);
	cell(a[0].ran, "%.0f", (double) s->redundant_tests);
	cell(a[0].ran && pairs > 0, "%.1f", (double) s->box_tests / pairs);
	cell(a[0].ran, "%.0f", (double) r->in.peak / objects(r));
	putchar('\n');
}

/*
 * Prints the stages of the paper's table for redblue: their pre-processing builds the grid, their
 * intersection finds candidates and filters them, and their rationals correspond to our exact
 * signs. No duplicates need to be removed, because one cell owns each pair.
 */
static void
stages_row(const report *r)
{
	const rb_stats *s = &r->in.stats;
	double grid = s->stage[RB_STAGE_GRID].ms;
	double up = s->stage[RB_STAGE_UPLOAD].ms;
	double down = s->stage[RB_STAGE_DOWNLOAD].ms;
	double exact = s->stage[RB_STAGE_EXACT].ms;
	double intersection = s->stage[RB_STAGE_CANDIDATES].ms + test_ms(s) - exact;
	double total = 1e3 * r->answers[0].best.wall;

	printf("| %s | %" PRIu64 " | %.2f | %.2f | %.2f | %.2f | %.2f | 0 | %.2f | %.2f |\n", r->label,
		   r->answers[0].sums.n, grid, up, down, intersection, exact,
		   total - grid - up - down - intersection - exact, total);
}

const report_table report_tables[] = {
	{"triangles",
	 "| load | candidates | pairs | CGAL boxes s | CGAL AABB_tree s | redblue s (threads) "
	 "| boxes / redblue | tree / redblue | boxes / redblue, CPU s | ns a candidate and core, CPU "
	 "| of them tests | bytes a triangle |\n"
	 "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
	 triangles_row},
	{"segments",
	 "| load | objects | candidates | pairs | " BOXES_AND_OURS
	 "| ns an object and core, CPU | bytes an object |\n"
	 "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
	 segments_row},
	{"boxes",
	 "| load | boxes | pairs | " BOXES_AND_OURS
	 "| redblue s, counting | unnecessary checks | redundant checks | checks a pair | bytes a box |\n"
	 "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
	 boxes_row},
	{"stages",
	 "| load | pairs | pre-processing | memory to the device | memory back | intersection | rationals "
	 "| uniqueness | rest | total ms |\n"
	 "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
	 stages_row},
	{NULL, NULL, NULL},
};

/* ---- text ---- */

void
report_text(FILE *to, const report *r)
{
	const answer *a = r->answers;
	const rb_stats *s = &r->in.stats;
	double candidates = (double) a[0].best.candidates;

	fprintf(to, "%-16s %10s %10s %12s %12s %18s\n", "", "wall s", "CPU s", "candidates", "pairs",
			"checksum");
	for (int i = 0; i < 1 + MAX_PEERS; i++)
		if (a[i].ran)
			fprintf(to, "%-16s %10.4f %10.4f %12" PRIu64 " %12" PRIu64 " %18" PRIu64 "\n",
					i == 0 ? "redblue" : peers[i - 1].name, a[i].best.wall, a[i].best.cpu,
					a[i].best.candidates, a[i].sums.n, a[i].sums.fifth);
	if (!a[0].ran)
		return;
	fprintf(to, "%-16s %10.4f\n\n", "  only counting", r->in.count_wall);
	fprintf(to,
			"backend %s, %d threads, grid %u x %u x %u, %" PRIu64 " cells, %" PRIu64
			" box tests, %" PRIu64 " redundant\n",
			s->backend, s->threads, s->resolution[0], s->resolution[1], s->resolution[2], s->cells,
			s->box_tests, s->redundant_tests);
	for (int i = 0; i < RB_STAGES; i++)
		fprintf(to, "  %-12s %14" PRIu64 " %10.2f ms\n", rb_stage_name((rb_stage) i),
				s->stage[i].count, s->stage[i].ms);
	fprintf(to, "  exact by integers %" PRIu64 ", expansions %" PRIu64 ", GMP %" PRIu64 "\n",
			s->exact_integer, s->exact_expansion, s->exact_gmp);
	if (candidates > 0)
		fprintf(to, "  ns a candidate and core: %.1f in all, %.1f in the tests\n",
				1e9 * a[0].best.wall * s->threads / candidates,
				1e6 * test_ms(s) * s->threads / candidates);
	fprintf(to, "  bytes an object over its coordinates: %.1f (with the buffers of pairs %.1f)\n",
			(double) r->in.peak / objects(r), (double) r->in.peak_pairs / objects(r));
}
