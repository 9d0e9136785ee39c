/*
 * bench.c
 *	  One join of two files, or of one with itself, ours and the peers', in turn,
 *	  best of several rounds.
 *
 *	  bench [options] RED BLUE [TX TY TZ]
 *	  bench [options] BOTH
 *	  bench --csv FILE [TX TY TZ]
 *
 * The two sides are read once (input.h says from what) and every round joins
 * the same arrays with each program in turn, so that what else the machine does
 * hits all of them alike.  A join runs from the coordinates to an array of
 * pairs.  The minimum of the rounds is reported: wall seconds, and user +
 * system seconds of all threads, which a neighbour on the machine spoils less.
 * Any two answers that differ, or an answer that is not the expected one, make
 * the exit status 1.
 *
 * Options:
 *	  -r N			rounds (5)
 *	  -t N			threads of ours (all cores)
 *	  -g N			cells of the grid along the longest side (0: planned)
 *	  -f MASK		filters, as in RB_FILTER_ALL
 *	  -k KIND		what a .f64 file holds: triangle, box3, box2; box2 also leaves the z
 *					out of generated boxes
 *	  -e CANDIDATES,PAIRS,CHECKSUM[,MIX,IJ]		the truth (the sums of workload.h); a dash
 *					for what is not known
 *	  -o NAME		only ours (redblue) or only the peers (peers)
 *	  --count		only count, both ours and the peers
 *	  --row LABEL	a row of the Markdown table instead of the report
 *	  --stages FILE	append the report to FILE
 *	  --head		its head, nothing else
 *	  --csv FILE	id and coordinates of FILE as CSV, nothing else
 */
#include "input.h"
#include "peers.h"
#include "workload.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MAX_PEERS 4
#define TRUTHS 5 /* candidates, pairs, and the sums fifth, mix, ij */

/* what a join found and took */
typedef struct answer
{
	peer_run best;  /* minimum of each time */
	pair_sums sums; /* but for their number 0 where pairs are only counted */
	bool ran;
} answer;

typedef struct options
{
	int rounds;
	int threads;
	uint32_t resolution;
	uint32_t filters;
	bool ours;
	bool theirs;
	bool count_only;
	const rb_backend *backend;
	const char *row;
	const char *label;
	char truth[TRUTHS][32]; /* "-" where not known */
} options;

/* of ours, beyond what peers have */
typedef struct insight
{
	rb_stats stats;    /* of the fastest round */
	double count_wall; /* best of the rounds that only count */
	uint64_t count;
	uint64_t peak;       /* bytes that core held at most, while it only counts */
	uint64_t peak_pairs; /* the same while it hands out pairs */
} insight;

static void
die(const char *what, const char *detail)
{
	fprintf(stderr, "bench: %s%s%s\n", what, detail[0] != '\0' ? ": " : "", detail);
	exit(2);
}

static double
wall_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* of all threads, ended ones included */
static double
cpu_now(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (double) (r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
		   1e-6 * (double) (r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

void
pair_list_grow(pair_list *list, size_t more)
{
	while (list->room < list->n + more)
		list->room = 2 * list->room + 65536;
	list->pairs = realloc(list->pairs, list->room * sizeof(rb_pair));
	if (list->pairs == NULL)
		die("out of memory", "");
}

/* ---- one run of ours ---- */

/* joins once; pairs go to out, or are only counted where out is NULL */
static void
join_ours(const options *o, const rb_objects *red, const rb_objects *blue, pair_list *out,
		  peer_run *run, rb_stats *stats, uint64_t *peak)
{
	rb_memory *memory = rb_memory_create(UINT64_MAX);
	rb_job job = {red, blue, out == NULL};
	rb_context ctx;
	rb_stream *stream;
	rb_batch batch;
	rb_status status;
	double wall;
	double cpu;

	if (memory == NULL)
		die("out of memory", "");
	rb_context_init(&ctx, memory);
	ctx.threads = o->threads;
	ctx.grid_resolution = o->resolution;
	ctx.filters = o->filters;

	wall = wall_now();
	cpu = cpu_now();
	status = rb_stream_open(&ctx, o->backend, &job, &stream);
	while (status == RB_OK && (status = rb_stream_next(stream, 100, &batch)) == RB_OK)
	{
		if (out == NULL || batch.n == 0)
			continue;
		if (out->n + batch.n > out->room)
			pair_list_grow(out, batch.n);
		memcpy(out->pairs + out->n, batch.pairs, batch.n * sizeof(rb_pair));
		out->n += batch.n;
	}
	rb_stream_close(stream);
	run->wall = wall_now() - wall;
	run->cpu = cpu_now() - cpu;

	if (status != RB_END)
		die(rb_status_text(status), ctx.error.text);
	run->candidates = ctx.stats.stage[RB_STAGE_CANDIDATES].count;
	run->pairs = ctx.stats.stage[RB_STAGE_EMIT].count;
	*stats = ctx.stats;
	*peak = rb_memory_peak(memory);
	rb_memory_destroy(memory);
}

/* ---- rounds ---- */

static bool
keep_best(answer *a, const peer_run *run)
{
	bool better = !a->ran || run->wall < a->best.wall;

	if (better)
		a->best.wall = run->wall;
	if (!a->ran || run->cpu < a->best.cpu)
		a->best.cpu = run->cpu;
	a->best.candidates = run->candidates;
	a->ran = true;
	return better;
}

/* list NULL: only counted */
static void
check_rounds(answer *a, const peer_run *run, const pair_list *list, bool self, const char *name)
{
	pair_sums sums = {0, 0, 0, 0};

	if (list != NULL)
		pair_sums_add(&sums, list->pairs, list->n, self);
	else
		sums.n = run->pairs;
	if (a->ran && memcmp(&a->sums, &sums, sizeof(sums)) != 0)
		die("two rounds gave different answers", name);
	a->sums = sums;
}

/* answers[0] is ours, answers[1 + k] that of peers[k]; blue NULL: red against itself */
static void
run_rounds(const options *o, const rb_objects *red, const rb_objects *blue, answer *answers,
		   insight *in)
{
	pair_list list = {NULL, 0, 0};
	pair_list *out = o->count_only ? NULL : &list;

	for (int round = 0; round < o->rounds; round++)
	{
		peer_run run;
		rb_stats stats;

		if (o->ours && !o->count_only)
		{
			list.n = 0;
			join_ours(o, red, blue, out, &run, &stats, &in->peak_pairs);
			check_rounds(&answers[0], &run, out, blue == NULL, "redblue");
			if (keep_best(&answers[0], &run))
				in->stats = stats;
		}
		if (o->ours)
		{
			join_ours(o, red, blue, NULL, &run, &stats, &in->peak);
			in->count = run.pairs;
			if (round == 0 || run.wall < in->count_wall)
				in->count_wall = run.wall;
		}
		if (o->ours && o->count_only)
		{
			check_rounds(&answers[0], &run, NULL, blue == NULL, "redblue");
			if (keep_best(&answers[0], &run))
				in->stats = stats;
		}
		for (int k = 0; o->theirs && peers[k].name != NULL; k++)
		{
			list.n = 0;
			memset(&run, 0, sizeof(run));
			if (!peers[k].join(red, blue, out, &run))
				continue;
			check_rounds(&answers[1 + k], &run, out, blue == NULL, peers[k].name);
			keep_best(&answers[1 + k], &run);
		}
	}
	free(list.pairs);
}

/* ---- verdict ---- */

static bool
differs(const char *label, const char *name, const char *what, const char *is, const char *truth)
{
	if (strcmp(truth, "-") == 0 || strcmp(truth, is) == 0)
		return false;
	fprintf(stderr, "%s: %s found %s %s, the truth is %s\n", label, name, is, what, truth);
	return true;
}

/* where no truth was given, the first that ran sets it for the others */
static bool
all_agree(options *o, const answer *answers, const insight *in)
{
	static const char *const what[TRUTHS] = {"candidates", "pairs", "as their checksum",
											 "as their mix", "as their ij"};
	bool wrong = false;
	char is[TRUTHS][32];

	for (int i = 0; i < 1 + MAX_PEERS; i++)
	{
		const answer *a = &answers[i];

		if (!a->ran)
			continue;
		snprintf(is[0], sizeof(is[0]), "%" PRIu64, a->best.candidates);
		snprintf(is[1], sizeof(is[1]), "%" PRIu64, a->sums.n);
		snprintf(is[2], sizeof(is[2]), "%" PRIu64, a->sums.fifth);
		snprintf(is[3], sizeof(is[3]), "%016" PRIx64, a->sums.mix);
		snprintf(is[4], sizeof(is[4]), "%" PRIu64, a->sums.ij);
		for (int k = 0; k < (o->count_only ? 2 : TRUTHS); k++)
		{
			if (k == 0 && a->best.candidates == 0)
				continue; /* a tree does not see them */
			wrong |= differs(o->label, i == 0 ? "redblue" : peers[i - 1].name, what[k], is[k],
							 o->truth[k]);
			if (strcmp(o->truth[k], "-") == 0)
				strcpy(o->truth[k], is[k]);
		}
	}
	snprintf(is[1], sizeof(is[1]), "%" PRIu64, in->count);
	if (answers[0].ran)
		wrong |= differs(o->label, "redblue", "pairs when it only counts", is[1], o->truth[1]);
	return !wrong;
}

/* ---- output ---- */

static double
test_ms(const rb_stats *s)
{
	return s->stage[RB_STAGE_FLOAT].ms + s->stage[RB_STAGE_DOUBLE].ms + s->stage[RB_STAGE_EXACT].ms;
}

static void
print_head(void)
{
	printf(
		"| load | candidates | pairs | CGAL boxes s | CGAL AABB_tree s | redblue s (threads) "
		"| boxes / redblue | tree / redblue | boxes / redblue, CPU s | ns a candidate and core, CPU | of them tests "
		"| bytes a triangle |\n"
		"|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
}

static void
print_cell(bool there, const char *format, double value)
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

static void
print_row(const options *o, const answer *a, const insight *in, double nparts)
{
	bool ours = a[0].ran;
	uint64_t pairs = ours ? a[0].sums.n : a[1].sums.n;
	uint64_t candidates = ours ? a[0].best.candidates : a[1].best.candidates;

	printf("| %s | %" PRIu64 " | %" PRIu64 " |", o->label, candidates, pairs);
	print_cell(a[1].ran, "%.3f", a[1].best.wall);
	print_cell(a[2].ran, "%.3f", a[2].best.wall);
	if (ours)
		printf(" %.4f (%d) |", a[0].best.wall, in->stats.threads);
	else
		printf(" - |");
	print_cell(ours && a[1].ran, "**%.1f**", a[1].best.wall / a[0].best.wall);
	print_cell(ours && a[2].ran, "**%.1f**", a[2].best.wall / a[0].best.wall);
	print_cell(ours && a[1].ran, "%.1f", a[1].best.cpu / a[0].best.cpu);
	print_cell(ours && candidates > 0, "%.1f", 1e9 * a[0].best.cpu / (double) candidates);
	print_cell(ours && candidates > 0, "%.1f",
			   1e6 * test_ms(&in->stats) * in->stats.threads / (double) candidates);
	print_cell(ours, "%.0f", (double) in->peak / nparts);
	putchar('\n');
}

static void
print_report(FILE *to, const answer *a, const insight *in, double nparts)
{
	const rb_stats *s = &in->stats;
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
	fprintf(to, "%-16s %10.4f\n\n", "  only counting", in->count_wall);
	fprintf(to,
			"backend %s, %d threads, grid %u x %u x %u, %" PRIu64 " cells, %" PRIu64 " box tests\n",
			s->backend, s->threads, s->resolution[0], s->resolution[1], s->resolution[2], s->cells,
			s->box_tests);
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
			(double) in->peak / nparts, (double) in->peak_pairs / nparts);
}

static int
print_csv(const rb_objects *objects)
{
	int width = rb_kind_width(objects->kind);

	for (uint32_t i = 0; i < objects->nparts; i++)
	{
		printf("%" PRIu32, i);
		for (int k = 0; k < width; k++)
			printf(",%.17g", objects->coords[(size_t) i * width + k]);
		putchar('\n');
	}
	return fflush(stdout) != 0 || ferror(stdout) ? 1 : 0;
}

/* ---- arguments ---- */

static rb_kind
kind_named(const char *name)
{
	if (strcmp(name, "triangle") == 0)
		return RB_TRIANGLE3;
	if (strcmp(name, "box3") == 0)
		return RB_BOX3;
	if (strcmp(name, "box2") == 0)
		return RB_BOX2;
	die("unknown kind", name);
	return RB_TRIANGLE3;
}

static bool
is_number(const char *text)
{
	char *end;

	strtod(text, &end);
	return end != text && *end == '\0';
}

int
main(int argc, char **argv)
{
	options o = {5,
				 0,
				 0,
				 RB_FILTER_ALL,
				 true,
				 true,
				 false,
				 &rb_backend_cpu,
				 NULL,
				 "",
				 {"-", "-", "-", "-", "-"}};
	rb_kind kind = RB_TRIANGLE3;
	const char *files[2] = {NULL, NULL};
	const double still[3] = {0, 0, 0};
	double shift[3] = {0, 0, 0};
	int nfiles = 0;
	int nshift = 0;
	bool csv = false;
	bool self;
	rb_objects red;
	rb_objects blue;
	answer answers[1 + MAX_PEERS];
	insight in;
	const char *stages = NULL;
	double nparts;
	bool right;

	for (int i = 1; i < argc; i++)
	{
		const char *arg = argv[i];

		if (strcmp(arg, "--head") == 0)
		{
			print_head();
			return 0;
		}
		else if (strcmp(arg, "--csv") == 0)
			csv = true;
		else if (strcmp(arg, "--count") == 0)
			o.count_only = true;
		else if (arg[0] == '-' && !is_number(arg))
		{
			const char *value = i + 1 < argc ? argv[++i] : "";

			if (strcmp(arg, "-r") == 0)
				o.rounds = atoi(value);
			else if (strcmp(arg, "-t") == 0)
				o.threads = atoi(value);
			else if (strcmp(arg, "-g") == 0)
				o.resolution = (uint32_t) atoi(value);
			else if (strcmp(arg, "-f") == 0)
				o.filters = (uint32_t) strtoul(value, NULL, 0);
			else if (strcmp(arg, "-k") == 0)
				kind = kind_named(value);
			else if (strcmp(arg, "-e") == 0)
			{
				if (sscanf(value, "%31[^,],%31[^,],%31[^,],%31[^,],%31s", o.truth[0], o.truth[1],
						   o.truth[2], o.truth[3], o.truth[4]) < 3)
					die("-e wants CANDIDATES,PAIRS,CHECKSUM[,MIX,IJ], not", value);
			}
			else if (strcmp(arg, "-o") == 0 && strcmp(value, "redblue") == 0)
				o.theirs = false;
			else if (strcmp(arg, "-o") == 0 && strcmp(value, "peers") == 0)
				o.ours = false;
			else if (strcmp(arg, "--stages") == 0)
				stages = value;
			else if (strcmp(arg, "--row") == 0)
				o.row = value;
			else
				die("unknown option", arg);
		}
		else if (nfiles < (csv ? 1 : 2) && !is_number(arg))
			files[nfiles++] = arg;
		else if (nshift < 3)
			shift[nshift++] = strtod(arg, NULL);
		else
			die("too many arguments", arg);
	}
	if (csv && nfiles == 1)
		return read_objects(files[0], kind, shift, &red) ? print_csv(&red) : 2;
	if (nfiles < 1 || o.rounds < 1)
		die("usage: bench [options] RED [BLUE [TX TY TZ]]", "");
	if (o.threads < 1)
		o.threads = (int) sysconf(_SC_NPROCESSORS_ONLN);
	o.label = o.row != NULL ? o.row : files[0];

	self = nfiles == 1;
	if (!read_objects(files[0], kind, still, &red) ||
		(!self && !read_objects(files[1], kind, shift, &blue)))
		return 2;
	memset(answers, 0, sizeof(answers));
	memset(&in, 0, sizeof(in));
	run_rounds(&o, &red, self ? NULL : &blue, answers, &in);
	right = all_agree(&o, answers, &in);
	nparts = (double) red.nparts + (self ? 0 : blue.nparts);
	if (o.row != NULL)
		print_row(&o, answers, &in, nparts);
	else
		print_report(stdout, answers, &in, nparts);
	if (stages != NULL)
	{
		FILE *to = fopen(stages, "a");

		if (to == NULL)
			die("cannot be written", stages);
		fprintf(to, "%s\n", o.label);
		print_report(to, answers, &in, nparts);
		fprintf(to, "\n");
		if (fclose(to) != 0)
			die("cannot be written", stages);
	}
	return right ? 0 : 1;
}
