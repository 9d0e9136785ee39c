/*
 * workloads.c
 *	  Compares the pairs of boxes and segments on the device with the truth, and measures its
 *	  speed.
 *
 *	  workloads check [MAX]			each row of test/data/boxes_truth.tsv with at most MAX boxes (10^7)
 *	  workloads bench [LOAD...]		the table of times; a LOAD is "self NAME,N" or "rb NAME,N"
 *
 * check compares the number and both checksums of the pairs that reach a sink.
 *
 * bench: two joins to warm up, then the median of ten (of three if there are more than 10^8 pairs),
 * in milliseconds, from coordinates in pinned memory. Columns of stages have the names of table VI
 * of Lo, Lee, Chung, Chung (2013):
 *
 *	DataIn, PLAN, MAP, SCHED, CHECK, DataOut	CUDA events in the backend
 *	resident	PLAN to CHECK: boxes are on the device, and pairs are written there
 *	count		as resident, for a join that only counts, by the host's clock, including launches
 *				and waits
 *	coded		the whole call by the host's clock, until the pairs are in pinned memory as records
 *				(pair_coding.h); segments: as pairs
 *	pairs		as coded, until the records have been decoded (REPORT)
 *	B/pair		bytes from the device for each pair
 *	checks, redundant	comparisons of boxes, and those that found an overlap in a cell that does
 *				not own it, for each pair
 */
#include "gpu_bench.h"
#include "input.h"
#include "workload.h"

#define TRUTH "test/data/boxes_truth.tsv"
#define ROUNDS 10
#define MANY_PAIRS 100000000 /* Fewer rounds above this number */

static int failed = 0;
static const rb_backend *gpu;

/* ---- objects ---- */

/* Returns the objects of a workload. The last two are cached, because loads come in groups. */
static const rb_set *
objects_of(const char *text, int seed)
{
	static struct
	{
		char name[100];
		rb_set o;
	} kept[3];
	char name[100];

	snprintf(name, sizeof(name), "%.80s,%d", text, seed);
	if (strcmp(kept[seed].name, name) == 0)
		return &kept[seed].o;
	if (kept[seed].name[0] != '\0')
		cudaFreeHost((void *) kept[seed].o.coords);
	kept[seed].name[0] = '\0';
	if (!workload_named(name, RB_BOX3, &kept[seed].o))
	{
		fprintf(stderr, "%s: no such workload\n", name);
		exit(2);
	}
	gpu_pin(&kept[seed].o);
	strcpy(kept[seed].name, name);
	return &kept[seed].o;
}

/* ---- sinks ---- */

typedef struct taker
{
	pair_sums sums;
	bool self;
} taker;

static rb_status
put_sums(void *user, const rb_pair *pairs, size_t n)
{
	taker *t = user;

	pair_sums_add(&t->sums, pairs, n, t->self);
	return RB_OK;
}

static rb_status
put_nothing(void *user, const rb_pair *pairs, size_t n)
{
	taker *t = user;

	(void) pairs;
	rb_add(&t->sums.n, n);
	return RB_OK;
}

static rb_status
put_records(void *user, const void *bytes, size_t n)
{
	(void) user;
	(void) bytes;
	(void) n;
	return RB_OK;
}

static double
join(const rb_set *red, const rb_set *blue, bool count_only, rb_sink *sink, rb_stats *stats)
{
	rb_memory *memory = rb_memory_create((uint64_t) 60 << 30);
	rb_context ctx;
	rb_job job = {.red = red, .blue = blue, .answer = count_only ? RB_COUNT : RB_PAIRS};
	double ms;
	rb_status status;

	rb_context_init(&ctx, memory);
	ctx.threads = (int) sysconf(_SC_NPROCESSORS_ONLN);
	if (getenv("RESOLUTION"))
		ctx.settings.grid_resolution = (uint32_t) atoi(getenv("RESOLUTION"));
	ms = rb_now_ms();
	status = gpu->join(&ctx, &job, sink);
	ms = rb_now_ms() - ms;
	if (status != RB_OK)
	{
		printf("%s %s\n", rb_status_text(status), ctx.error.text);
		failed = 1;
	}
	*stats = ctx.stats;
	rb_memory_destroy(memory);
	return ms;
}

/* ---- check ---- */

static void
check(const char *join_name, const char *text, const pair_sums *truth)
{
	const bool self = strcmp(join_name, "self") == 0;
	const rb_set *red = objects_of(text, 1);
	const rb_set *blue = self ? NULL : objects_of(text, 2);
	taker t = {{0, 0, 0, 0}, self}, c = t;
	rb_sink sink = {.put = put_sums, .user = &t}, count = {.put = put_nothing, .user = &c};
	rb_stats stats;
	bool right;

	join(red, blue, false, &sink, &stats);
	join(red, blue, true, &count, &stats);
	right = t.sums.n == truth->n && t.sums.mix == truth->mix && t.sums.ij == truth->ij &&
			c.sums.n == truth->n;
	printf("%s - %s %s: %lu pairs\n", right ? "ok" : "not ok", join_name, text,
		   (unsigned long) t.sums.n);
	fflush(stdout);
	failed |= !right;
}

static void
check_all(uint64_t most)
{
	int rows = 0;
	char line[300], join_name[20], name[60], text[100];
	unsigned long n;
	FILE *in = fopen(TRUTH, "r");

	while (in != NULL && fgets(line, sizeof(line), in) != NULL)
	{
		pair_sums truth;

		if (sscanf(line, "%19s %59s %lu", join_name, name, &n) != 3 || n > most)
			continue; /* The first line is a header. */
		snprintf(text, sizeof(text), "%s,%lu", name, n);
		rows++;
		if (workload_truth(TRUTH, join_name, text, &truth))
			check(join_name, text, &truth);
		else
		{
			printf("not ok - %s %s: no truth in its row\n", join_name, text);
			failed = 1;
		}
	}
	if (rows == 0)
	{
		printf("not ok - no rows in %s\n", TRUTH);
		failed = 1;
	}
	if (in != NULL)
		fclose(in);
}

/* ---- bench ---- */

enum
{
	IN,
	PLAN,
	MAP,
	SCHEDULE,
	CHECK,
	OUT,
	RESIDENT,
	COUNT,
	CODED,
	PAIRS,
	COLUMNS
};

static void
head(void)
{
	printf("| load | objects | pairs | DataIn | PLAN | MAP | SCHED | CHECK | DataOut | resident | "
		   "count | coded | pairs | B/pair | checks | redundant | grid |\n"
		   "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|\n");
}

static void
measure(const char *name, const rb_set *red, const rb_set *blue)
{
	const bool coded = red->kind == RB_BOX3;
	double column[COLUMNS][ROUNDS];
	int rounds = ROUNDS;
	rb_stats s;
	uint64_t pairs = 0;

	for (int i = -2; i < rounds; i++)
	{
		double v[COLUMNS];
		taker t = {{0, 0, 0, 0}, blue == NULL};
		rb_sink sink = {.put = put_nothing, .user = &t};

		v[COUNT] = join(red, blue, true, &sink, &s) - s.stage[RB_STAGE_UPLOAD].ms;
		pairs = t.sums.n;
		v[PAIRS] = join(red, blue, false, &sink, &s);
		if (coded)
			sink.put_records = put_records;
		v[CODED] = join(red, blue, false, &sink, &s);
		if (failed || s.hits != pairs)
		{
			printf("%s: %lu pairs counted, %lu found\n", name, (unsigned long) pairs,
				   (unsigned long) s.hits);
			failed = 1;
			return;
		}
		v[IN] = s.stage[RB_STAGE_UPLOAD].ms;
		v[PLAN] = s.grid_ms[0];
		v[MAP] = s.grid_ms[1];
		v[SCHEDULE] = s.grid_ms[2];
		v[CHECK] = s.stage[RB_STAGE_CANDIDATES].ms + s.stage[RB_STAGE_DOUBLE].ms +
				   s.stage[RB_STAGE_EXACT].ms;
		v[OUT] = s.stage[RB_STAGE_DOWNLOAD].ms;
		v[RESIDENT] = v[PLAN] + v[MAP] + v[SCHEDULE] + v[CHECK];
		if (pairs > MANY_PAIRS)
			rounds = 3;
		for (int c = 0; c < COLUMNS && i >= 0; c++)
			column[c][i] = v[c];
	}
	printf("| %s | %u%s | %lu ", name, red->nparts, blue ? " x 2" : "", (unsigned long) pairs);
	if (blue != NULL && blue->nparts != red->nparts)
		printf("(%u) ", blue->nparts);
	for (int c = 0; c < COLUMNS; c++)
		printf("| %.2f ", gpu_median(column[c], rounds));
	printf("| %.2f | %.1f | %.2f | %u %u %u, %.1f a box |\n",
		   pairs > 0 ? (double) s.stage[RB_STAGE_DOWNLOAD].count / pairs : 0,
		   pairs > 0 ? (double) s.box_tests / pairs : 0,
		   pairs > 0 ? (double) s.redundant_tests / pairs : 0, s.resolution[0], s.resolution[1],
		   s.resolution[2],
		   (double) s.stage[RB_STAGE_GRID].count /
			   ((double) red->nparts + (blue ? blue->nparts : 0)));
	fflush(stdout);
}

/* Drill holes and an ore body, if the data are available */
static void
mine(void)
{
	static const double none[3] = {0, 0, 0};
	char path[2][1000];
	rb_set red, blue;

	snprintf(path[0], sizeof(path[0]), "%s/mine/synth_holes.csv.xz", gpu_data_dir());
	snprintf(path[1], sizeof(path[1]), "%s/mine/synth_ore.off.xz", gpu_data_dir());
	if (access(path[0], R_OK) != 0 || access(path[1], R_OK) != 0)
	{
		fprintf(stderr, "synth_mine: no %s, left out\n", path[0]);
		return;
	}
	if (!read_objects(path[0], RB_SEGMENT3, none, &red) ||
		!read_objects(path[1], RB_TRIANGLE3, none, &blue))
		exit(2);
	gpu_pin(&red);
	gpu_pin(&blue);
	measure("synth_mine", &red, &blue);
	cudaFreeHost((void *) red.coords);
	cudaFreeHost((void *) blue.coords);
}

static void
bench(const char *load)
{
	char join_name[20], text[80];

	if (strcmp(load, "mine") == 0)
		mine();
	else if (sscanf(load, "%19s %79s", join_name, text) == 2)
		measure(load, objects_of(text, 1),
				strcmp(join_name, "self") == 0 ? NULL : objects_of(text, 2));
	else
	{
		fprintf(stderr, "%s: not a load\n", load);
		exit(2);
	}
}

int
main(int argc, char **argv)
{
	static const char *all[] = {"self uniform,1000",
								"self uniform,10000",
								"self uniform,100000",
								"self uniform,1000000",
								"self uniform,10000000",
								"self gauss,1000",
								"self gauss,10000",
								"self gauss,100000",
								"self gauss,1000000",
								"self gauss,10000000",
								"rb uniform,1000000",
								"rb uniform,10000000",
								"rb gauss,1000000",
								"self doc:0.001,1000000",
								"self doc:0.01,1000000",
								"self doc:0.1,1000000",
								"self doc:1,1000000",
								"self doc:10,1000000",
								"self doct3:0.001,10000000",
								"self doct3:0.1,10000000",
								"self doct3:10,10000000",
								"mine",
								"rb map,1000000",
								"rb map,10000000"};

	gpu = gpu_open();
	if (gpu == NULL || argc < 2)
		return 2;
	if (strcmp(argv[1], "check") == 0)
		check_all(argc > 2 ? strtoul(argv[2], NULL, 10) : 10000000);
	else
	{
		head();
		for (int i = 2; i < argc; i++)
			bench(argv[i]);
		for (size_t i = 0; argc == 2 && i < sizeof(all) / sizeof(all[0]); i++)
			bench(all[i]);
	}
	return failed;
}
