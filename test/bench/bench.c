/*
 * bench.c
 *	  Runs a join of two files, or of one with itself, by redblue and by the peers in turn, and
 *	  reports the best of several rounds.
 *
 *	  bench [options] RED BLUE [TX TY TZ]
 *	  bench [options] BOTH
 *	  bench --csv FILE [TX TY TZ]
 *
 * The two sides are read once (input.h describes the formats). Each round joins the same arrays
 * with each program in turn, so that other load on the machine affects all of them. A join extends
 * from the coordinates to an array of pairs. The report contains the minimum over the rounds:
 * elapsed seconds, and user + system seconds of all threads, which other load affects less. The
 * exit status is 1 if two results differ, or a result is not the expected one.
 *
 * Options:
 *	  -r N			rounds (5)
 *	  -t N			threads of redblue (all cores)
 *	  -g N			cells of the grid along the longest side (0: planned)
 *	  -f MASK		filters, as in RB_FILTER_ALL
 *	  -k KIND		contents of a .f64 file: triangle, box3, box2; box2 also omits the z of
 *					generated boxes
 *	  -e CANDIDATES,PAIRS,CHECKSUM[,MIX,IJ]		the truth (sums of workload.h); a dash for an
 *					unknown number
 *	  -o NAME		only redblue (redblue) or only the peers (peers)
 *	  -p WHAT		predicate: meet (default), contact, self, or a distance; the peers support
 *					only the first one
 *	  --count		only count, both redblue and the peers
 *	  --table NAME	triangles (default), segments, boxes, stages
 *	  --row LABEL	print a row of that Markdown table instead of the report
 *	  --head		print only its head
 *	  --stages FILE	append the report to FILE
 *	  --cuda FILE	run redblue on a device, by the backend in FILE; exit status 3 if there is none
 *	  --csv FILE	print only id and coordinates of FILE, as CSV
 */
#include "input.h"
#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TRUTHS 5 /* Candidates, pairs, and the sums fifth, mix, ij */

typedef struct options
{
	int rounds;
	int threads;
	uint32_t resolution;
	uint32_t filters;
	rb_predicate predicate;
	double distance;
	bool ours;
	bool theirs;
	bool count_only;
	const rb_backend *backend;
	const report_table *table;
	char truth[TRUTHS][32]; /* "-" if unknown */
} options;

static void
die(const char *what, const char *detail)
{
	fprintf(stderr, "bench: %s%s%s\n", what, detail[0] != '\0' ? ": " : "", detail);
	exit(2);
}

static void
set_predicate(options *o, const char *name)
{
	char *end;

	o->predicate = strcmp(name, "meet") == 0      ? RB_MEET
				   : strcmp(name, "contact") == 0 ? RB_CONTACT
				   : strcmp(name, "self") == 0    ? RB_SELF_INTERSECT
												  : RB_WITHIN;
	if (o->predicate != RB_MEET)
		o->theirs = false;
	if (o->predicate != RB_WITHIN)
		return;
	o->distance = strtod(name, &end);
	if (end == name || *end != '\0')
		die("-p wants meet, contact, self or a distance, not", name);
}

static double
wall_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* Returns user + system seconds of all threads, including ended ones. */
static double
cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
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

/* Appends a block of row numbers; the sets here have no other ids. */
static void
add_pairs(rb_pair *restrict to, const rb_block *block)
{
	const int64_t *red = block->red, *blue = block->blue;

	for (size_t i = 0; i < block->n; i++)
		to[i] = (rb_pair){(uint32_t) red[i], (uint32_t) blue[i]};
}

/* ---- one run of ours ---- */

/* Joins once. Pairs go to `out`, or are only counted if it is NULL. */
static void
join_ours(const options *o, const rb_set *red, const rb_set *blue, pair_list *out, peer_run *run,
		  rb_stats *stats, uint64_t *peak)
{
	rb_memory *memory = rb_memory_create(UINT64_MAX);
	rb_job job = {.red = red,
				  .blue = blue,
				  .answer = out == NULL ? RB_COUNT : RB_PAIRS,
				  .predicate = o->predicate,
				  .distance = o->distance};
	rb_context ctx;
	rb_stream *stream;
	rb_block block;
	rb_status status;
	double wall;
	double cpu;

	if (memory == NULL)
		die("out of memory", "");
	rb_context_init(&ctx, memory);
	ctx.threads = o->threads;
	ctx.settings.grid_resolution = o->resolution;
	ctx.filters = o->filters;

	wall = wall_now();
	cpu = cpu_now();
	status = rb_stream_open(&ctx, o->backend, &job, &stream);
	while (status == RB_OK && (status = rb_stream_next(stream, 100, &block)) == RB_OK)
	{
		if (out == NULL || block.n == 0)
			continue;
		if (out->n + block.n > out->room)
			pair_list_grow(out, block.n);
		add_pairs(out->pairs + out->n, &block);
		out->n += block.n;
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

/* Compares the sums of a list of pairs, or only their number if the list is NULL. */
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

/* Runs all rounds; red is joined with itself if blue is NULL. */
static void
run_rounds(const options *o, const rb_set *red, const rb_set *blue, report *r)
{
	answer *answers = r->answers;
	insight *in = &r->in;
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

/* Compares all results with the truth, or with the first result if there is no truth. */
static bool
all_agree(options *o, const report *r)
{
	static const char *const what[TRUTHS] = {"candidates", "pairs", "as their checksum",
											 "as their mix", "as their ij"};
	bool wrong = false;
	char is[TRUTHS][32];

	for (int i = 0; i < 1 + MAX_PEERS; i++)
	{
		const answer *a = &r->answers[i];

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
				continue; /* A tree does not count candidates. */
			wrong |= differs(r->label, i == 0 ? "redblue" : peers[i - 1].name, what[k], is[k],
							 o->truth[k]);
			if (strcmp(o->truth[k], "-") == 0)
				strcpy(o->truth[k], is[k]);
		}
	}
	snprintf(is[1], sizeof(is[1]), "%" PRIu64, r->in.count);
	if (r->answers[0].ran)
		wrong |= differs(r->label, "redblue", "pairs when it only counts", is[1], o->truth[1]);
	return !wrong;
}

/* ---- output ---- */

static int
print_csv(const rb_set *objects)
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

static const report_table *
table_named(const char *name)
{
	const report_table *t = report_tables;

	while (t->name != NULL && strcmp(t->name, name) != 0)
		t++;
	if (t->name == NULL)
		die("unknown table", name);
	return t;
}

static bool
is_number(const char *text)
{
	char *end;

	strtod(text, &end);
	return end != text && *end == '\0';
}

/*
 * Opens the backend in a file as the extension does. A machine without a device is not a failure.
 */
static const rb_backend *
device_backend(const char *path)
{
	char text[256];
	const rb_backend *backend = rb_backend_open(path, text, sizeof(text));

	if (backend == NULL)
		die(text, "");
	if (backend->probe(0, text, sizeof(text)) != RB_OK)
	{
		fprintf(stderr, "bench: %s\n", text);
		exit(3);
	}
	return backend;
}

int
main(int argc, char **argv)
{
	options o = {.rounds = 5,
				 .filters = RB_FILTER_ALL,
				 .ours = true,
				 .theirs = true,
				 .backend = &rb_backend_cpu,
				 .table = &report_tables[0]};
	rb_kind kind = RB_TRIANGLE3;
	const char *files[2] = {NULL, NULL};
	const double still[3] = {0, 0, 0};
	double shift[3] = {0, 0, 0};
	int nfiles = 0;
	int nshift = 0;
	bool csv = false;
	bool head = false;
	bool row = false;
	rb_set red;
	rb_set blue;
	report r;
	const char *stages = NULL;
	bool right;

	memset(&r, 0, sizeof(r));
	memset(&blue, 0, sizeof(blue));
	for (int k = 0; k < TRUTHS; k++)
		strcpy(o.truth[k], "-");
	for (int i = 1; i < argc; i++)
	{
		const char *arg = argv[i];

		if (strcmp(arg, "--head") == 0)
			head = true;
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
			else if (strcmp(arg, "-p") == 0)
				set_predicate(&o, value);
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
			else if (strcmp(arg, "--cuda") == 0)
				o.backend = device_backend(value);
			else if (strcmp(arg, "--stages") == 0)
				stages = value;
			else if (strcmp(arg, "--table") == 0)
				o.table = table_named(value);
			else if (strcmp(arg, "--row") == 0)
			{
				r.label = value;
				row = true;
			}
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
	if (head)
	{
		fputs(o.table->head, stdout);
		return 0;
	}
	if (csv && nfiles == 1)
		return read_objects(files[0], kind, shift, &red) ? print_csv(&red) : 2;
	if (nfiles < 1 || o.rounds < 1)
		die("usage: bench [options] RED [BLUE [TX TY TZ]]", "");
	if (o.threads < 1)
		o.threads = (int) sysconf(_SC_NPROCESSORS_ONLN);
	if (r.label == NULL)
		r.label = files[0];

	if (!read_objects(files[0], kind, still, &red) ||
		(nfiles == 2 && !read_objects(files[1], kind, shift, &blue)))
		return 2;
	r.objects[0] = red.nparts;
	r.objects[1] = blue.nparts;
	run_rounds(&o, &red, nfiles == 2 ? &blue : NULL, &r);
	right = all_agree(&o, &r);
	if (row)
		o.table->row(&r);
	else
		report_text(stdout, &r);
	if (stages != NULL)
	{
		FILE *to = fopen(stages, "a");

		if (to == NULL)
			die("cannot be written", stages);
		fprintf(to, "%s\n", r.label);
		report_text(to, &r);
		fprintf(to, "\n");
		if (fclose(to) != 0)
			die("cannot be written", stages);
	}
	return right ? 0 : 1;
}
