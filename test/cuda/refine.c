/*
 * refine.c
 *	  Compares refinement on the device with that on the CPU: bits and speed.
 *
 *	refine [-B RATIO] [-a VOLUME] [-Y] [-n POINTS] [-j THREADS] [-t N] [-m MB] [-g] [-h] [-p] [-w]
 *		   [-k ROUNDS] [-f] [-T] FILE
 *
 * Both start from the same tetrahedralization of FILE (plc_input.h); then all arrays of the two
 * meshes are compared.
 *
 *	-t	number of repetitions on the device; the last one is reported
 *	-m	memory of the device in MB
 *	-g	omit the CPU
 *	-h	keep the whole hull
 *	-p	do not insert points on subsegments first
 *	-w	the whole refinement, with blocked candidates, and its result; otherwise one call of rounds
 *	-k	maximum number of rounds
 *	-f	if the meshes differ, find the first round after which they do, and the difference
 *	-T	wait after each step on the device, so that each step has a time of its own
 *
 * Other options are those of test/bench/refine.c. The exit status is 0; 1 if something differs; 2,
 * 3 or 4 if the file does not exist, has a flaw, or after any other failure.
 */
#include "gpu.h"
#include "plc_input.h"
#include "refine/refining.h"
#include "tets_output.h"

#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <math.h>

static const char *const step_text[RB_REFINE_STEPS] = {
	"copy", "make", "grow", "exact", "large", "large exact", "asked", "winners", "fill", "lists",
};

static const char *
name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static void
check(const rb_context *ctx, rb_status status, const char *what)
{
	if (status == RB_OK)
		return;
	fprintf(stderr, "%s: %s %s\n", what, rb_status_text(status), ctx->error.text);
	exit(4);
}

/* Returns the number of tetrahedra that are not ghosts. */
static uint32_t
count_tets(const rb_refining *r)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->ncells; i++)
		n += r->mesh.cells[i].v[0] != RB_DEAD && !rb_cell_ghost(&r->mesh.cells[i]);
	return n;
}

static int
differs(const char *what, const void *a, const void *b, size_t n, size_t element)
{
	const char *x = a, *y = b;

	for (size_t i = 0; i < n; i++)
		if (memcmp(x + i * element, y + i * element, element) != 0)
		{
			printf("  differs: %s %zu of %zu\n", what, i, n);
			return 1;
		}
	return 0;
}

static int
compare(const rb_refining *a, const rb_refining *b)
{
	uint32_t cells = a->ncells < b->ncells ? a->ncells : b->ncells;
	uint32_t sites = a->nsites < b->nsites ? a->nsites : b->nsites;
	int bad = 0;

	if (a->ncells != b->ncells || a->nsites != b->nsites || a->nfree != b->nfree ||
		a->report->rounds != b->report->rounds || a->report->tried != b->report->tried)
	{
		printf("  differs: cells %u %u, sites %u %u, free %u %u, rounds %u %u, tried %" PRIu64
			   " %" PRIu64 "\n",
			   a->ncells, b->ncells, a->nsites, b->nsites, a->nfree, b->nfree, a->report->rounds,
			   b->report->rounds, a->report->tried, b->report->tried);
		bad = 1;
	}
	if (a->nblocked != b->nblocked || a->done != b->done)
	{
		printf("  differs: blocked %u %u, done %d %d\n", a->nblocked, b->nblocked, a->done,
			   b->done);
		bad = 1;
	}
	else
		bad |= differs("blocked", a->blocked, b->blocked, a->nblocked, sizeof(rb_entry64));
	bad |= differs("site", a->mesh.sites, b->mesh.sites, sites, sizeof(rb_site));
	bad |= differs("kind", a->mesh.kind, b->mesh.kind, sites, 1);
	bad |= differs("parent", a->mesh.parent, b->mesh.parent, sites, sizeof(uint32_t));
	bad |= differs("cell", a->mesh.cells, b->mesh.cells, cells, sizeof(rb_cell));
	if (a->nfree == b->nfree)
		bad |= differs("free", a->free, b->free, a->nfree, sizeof(uint32_t));
	return bad;
}

static void
print_words(const char *what, const uint32_t *w, int n)
{
	printf("   %s", what);
	for (int i = 0; i < n; i++)
		printf(" %" PRId32, (int32_t) w[i]);
}

static void
print_cell(const char *who, const rb_cell *c)
{
	printf("  %s:", who);
	print_words("v", c->v, 4);
	print_words("n", c->n, 4);
	print_words("facet", c->facet, 4);
	printf("  bits %x region %u claim %" PRIx64 "\n", c->bits, c->region, c->claim);
}

/* Prints the first tetrahedron and the first vertex that differ. */
static void
show(const rb_refining *a, const rb_refining *b)
{
	uint32_t cells = a->ncells < b->ncells ? a->ncells : b->ncells;
	uint32_t sites = a->nsites < b->nsites ? a->nsites : b->nsites, n = 0;

	for (uint32_t i = 0; i < cells && n < 4; i++)
		if (memcmp(&a->mesh.cells[i], &b->mesh.cells[i], sizeof(rb_cell)) != 0)
		{
			printf("  cell %u\n", i);
			print_cell("cpu", &a->mesh.cells[i]);
			print_cell("gpu", &b->mesh.cells[i]);
			n++;
		}
	for (uint32_t i = 0; i < sites; i++)
	{
		const rb_site *x = &a->mesh.sites[i], *y = &b->mesh.sites[i];

		if (memcmp(x, y, sizeof(rb_site)) == 0)
			continue;
		printf("  site %u: cpu %a %a %a radius %a; gpu %a %a %a radius %a\n", i, x->at[0], x->at[1],
			   x->at[2], x->radius, y->at[0], y->at[1], y->at[2], y->radius);
		break;
	}
}

typedef struct options
{
	rb_refine_options refine;
	bool protect, alone, find, timed;
	uint32_t rounds;
	int times;
	rb_keep keep;
	uint64_t limit;
} options;

static void
start(rb_refining *r, rb_context *ctx, const options *o, uint32_t rounds, rb_refine_report *report,
	  const rb_tets *tets)
{
	memset(r, 0, sizeof(*r));
	memset(report, 0, sizeof(*report));
	r->ctx = ctx;
	r->options = &o->refine;
	r->report = report;
	r->protect = o->protect;
	r->most_rounds = rounds;
	r->timed = o->timed;
	check(ctx, rb_refining_import(r, tets), "start");
}

/* Returns true if the meshes differ after this number of rounds. */
static bool
differ_after(rb_context *ctx, const rb_backend *backend, const options *o, uint32_t rounds,
			 const rb_tets *tets, bool shown)
{
	rb_refining cpu, gpu;
	rb_refine_report cpu_report, gpu_report;
	bool bad;

	start(&gpu, ctx, o, rounds, &gpu_report, tets);
	check(ctx, backend->refine(ctx, &gpu, sizeof(gpu)), "device");
	start(&cpu, ctx, o, rounds, &cpu_report, tets);
	check(ctx, rb_refining_rounds(&cpu), "processor");
	printf("  after %u rounds:\n", rounds);
	bad = compare(&cpu, &gpu);
	if (bad && shown)
		show(&cpu, &gpu);
	rb_refining_free(&gpu);
	rb_refining_free(&cpu);
	return bad;
}

/* Finds the first round after which the meshes differ; after `rounds` they do. */
static void
find_difference(rb_context *ctx, const rb_backend *backend, const options *o, uint32_t rounds,
				const rb_tets *tets)
{
	uint32_t same = 0;

	while (rounds - same > 1)
	{
		uint32_t middle = same + (rounds - same) / 2;

		if (differ_after(ctx, backend, o, middle, tets, false))
			rounds = middle;
		else
			same = middle;
	}
	printf("  the first round that differs: %u\n", rounds);
	differ_after(ctx, backend, o, rounds, tets, true);
}

/* Measures the microseconds of a launch that follows others, and of a wait for a number. */
static void
time_launches(double *launch, double *wait)
{
	enum
	{
		TIMES = 500
	};
	void *word;
	static uint32_t there;
	double begin;

	*launch = *wait = 0;
	if (cudaMalloc(&word, 4) != cudaSuccess)
		return;
	cudaMemset(word, 0, 4);
	cudaDeviceSynchronize();
	begin = rb_now_ms();
	for (int i = 0; i < TIMES; i++)
		cudaMemsetAsync(word, 0, 4, 0);
	cudaDeviceSynchronize();
	*launch = (rb_now_ms() - begin) * 1e3 / TIMES;
	begin = rb_now_ms();
	for (int i = 0; i < TIMES; i++)
	{
		cudaMemcpyAsync(&there, word, 4, cudaMemcpyDeviceToHost, 0);
		cudaStreamSynchronize(0);
	}
	*wait = (rb_now_ms() - begin) * 1e3 / TIMES;
	cudaFree(word);
}

static void
tell(const rb_refine_report *report, uint32_t ntets, double gpu_ms)
{
	static double launch = -1, wait;
	double share;

	if (launch < 0)
		time_launches(&launch, &wait);
	printf("  device bytes a tet: %.1f (%.1f MB), of the mesh %.1f; ms:",
		   (double) report->device_bytes / ntets, (double) report->device_bytes / 1e6,
		   (double) report->device_mesh_bytes / ntets);
	for (int i = 0; i < RB_REFINE_STEPS; i++)
		if (report->device_ms[i] > 0.05)
			printf(" %s %.1f", step_text[i], report->device_ms[i]);
	printf("\n  large %" PRIu64 ", asked %" PRIu64 "; %.3f ms a round; launches %" PRIu64
		   ", waits %" PRIu64 "\n",
		   report->device_large, report->device_asked,
		   gpu_ms / (report->rounds > 0 ? report->rounds : 1), report->device_launches,
		   report->device_waits);
	share =
		((double) report->device_few_launches * launch + (double) report->device_few_waits * wait) /
		1e3;
	printf("  rounds with less than %u candidates: %" PRIu64 ", %.1f ms; %" PRIu64
		   " launches of %.1f us, %" PRIu64 " waits of %.1f us: %.1f ms, %.0f %%\n",
		   RB_ROUND_SMALL, report->device_few, report->device_few_ms, report->device_few_launches,
		   launch, report->device_few_waits, wait, share,
		   report->device_few_ms > 0 ? 100 * share / report->device_few_ms : 0);
}

static int
one_file(rb_context *ctx, const rb_backend *backend, const options *o, const char *path)
{
	rb_plc plc = plc_read(path, NAN);
	rb_refine_report cpu_report, gpu_report;
	rb_refining cpu, gpu;
	rb_tets tets;
	rb_flaw flaw;
	double cdt_ms = rb_now_ms(), cpu_ms = 0, gpu_ms = 0;
	uint32_t ntets;
	int bad = 0;

	if (rb_tetrahedralize(ctx, &plc, o->keep, &tets, &flaw) != RB_OK)
	{
		fprintf(stderr, "%s: no tetrahedralization: %s\n", path, ctx->error.text);
		return 3;
	}
	cdt_ms = rb_now_ms() - cdt_ms;
	for (int i = 0; i < o->times; i++)
	{
		if (i > 0)
			rb_refining_free(&gpu);
		start(&gpu, ctx, o, o->rounds, &gpu_report, &tets);
		gpu_ms = rb_now_ms();
		check(ctx, backend->refine(ctx, &gpu, sizeof(gpu)), "device");
		gpu_ms = rb_now_ms() - gpu_ms;
	}
	ntets = count_tets(&gpu);
	if (!o->alone)
	{
		start(&cpu, ctx, o, o->rounds, &cpu_report, &tets);
		cpu_ms = rb_now_ms();
		check(ctx, rb_refining_rounds(&cpu), "processor");
		cpu_ms = rb_now_ms() - cpu_ms;
		bad = compare(&cpu, &gpu);
	}
	printf("%s %s: %u rounds, %u sites, %u tets; cdt %.0f, gpu %.1f ms (%.2f M tets/s), "
		   "cpu %.1f ms (%d threads)\n",
		   o->alone ? "--"
		   : bad    ? "DIFFERS"
					: "same",
		   name_of(path), gpu_report.rounds, gpu.nsites, ntets, cdt_ms, gpu_ms,
		   ntets / gpu_ms / 1e3, cpu_ms, o->refine.threads);
	tell(&gpu_report, ntets, gpu_ms);
	if (bad && o->find)
		find_difference(
			ctx, backend, o,
			gpu_report.rounds < cpu_report.rounds ? cpu_report.rounds : gpu_report.rounds, &tets);
	fflush(stdout);
	rb_refining_free(&gpu);
	if (!o->alone)
		rb_refining_free(&cpu);
	rb_tets_free(ctx->memory, &tets);
	return bad;
}

/* Refines the whole mesh, which is compared by its hash. */
static int
whole(rb_context *ctx, const rb_backend *backend, options *o, const char *path)
{
	rb_plc plc = plc_read(path, NAN);
	rb_refine_report report;
	rb_tets tets;
	rb_flaw flaw;
	uint64_t hash[2] = {0, 0};

	for (int i = o->alone ? 1 : 0; i < 2; i++)
	{
		double cdt_ms = rb_now_ms(), ms;

		check(ctx, rb_tetrahedralize(ctx, &plc, o->keep, &tets, &flaw), "no tetrahedralization");
		cdt_ms = rb_now_ms() - cdt_ms;
		o->refine.backend = i == 1 ? backend : NULL;
		o->refine.backend_only = i == 1;
		o->refine.backend_always = i == 1 && !o->alone;
		ms = rb_now_ms();
		check(ctx, rb_refine(ctx, &o->refine, &tets, &report), i == 1 ? "device" : "processor");
		ms = rb_now_ms() - ms;
		hash[i] = tets_hash(&tets);
		printf(
			"%s, %s: %u tets, %u rounds (%u there), bad %" PRIu64
			", cdt %.0f ms, refinement %.0f ms: start %.0f, rounds %.0f, result %.0f; hash %016" PRIx64
			"\n",
			name_of(path), i == 1 ? "device" : "processor", tets.ntets, report.rounds,
			report.device_rounds, report.bad, cdt_ms, ms, report.ms_start, report.ms_rounds,
			report.ms_result, hash[i]);
		if (i == 1)
			tell(&report, tets.ntets, ms);
		rb_tets_free(ctx->memory, &tets);
	}
	printf("%s\n", o->alone ? "--" : hash[0] == hash[1] ? "same" : "DIFFERS");
	fflush(stdout);
	return !o->alone && hash[0] != hash[1];
}

int
main(int argc, char **argv)
{
	options o = {.refine = {.radius_edge = 2, .max_volume = INFINITY, .threads = 1},
				 .protect = true,
				 .times = 1,
				 .keep = RB_KEEP_INSIDE};
	const rb_backend *backend;
	rb_memory *memory = rb_memory_create((uint64_t) 100 << 30);
	rb_context ctx;
	const char *path = NULL;
	bool all = false;
	int status;

	for (int i = 1; i < argc; i++)
	{
		const char *a = argv[i];

		if (strcmp(a, "-Y") == 0)
			o.refine.keep_surface = true;
		else if (strcmp(a, "-p") == 0)
			o.protect = false;
		else if (strcmp(a, "-w") == 0)
			all = true;
		else if (strcmp(a, "-h") == 0)
			o.keep = RB_KEEP_HULL;
		else if (strcmp(a, "-g") == 0)
			o.alone = true;
		else if (strcmp(a, "-f") == 0)
			o.find = true;
		else if (strcmp(a, "-T") == 0)
			o.timed = true;
		else if (a[0] != '-')
			path = argv[i];
		else if (i + 1 == argc)
			break;
		else if (strcmp(a, "-B") == 0)
			o.refine.radius_edge = atof(argv[++i]);
		else if (strcmp(a, "-a") == 0)
			o.refine.max_volume = atof(argv[++i]);
		else if (strcmp(a, "-n") == 0)
			o.refine.max_points = strtoull(argv[++i], NULL, 10);
		else if (strcmp(a, "-j") == 0)
			o.refine.threads = atoi(argv[++i]);
		else if (strcmp(a, "-t") == 0)
			o.times = atoi(argv[++i]);
		else if (strcmp(a, "-k") == 0)
			o.rounds = (uint32_t) strtoul(argv[++i], NULL, 10);
		else if (strcmp(a, "-m") == 0)
			o.limit = strtoull(argv[++i], NULL, 10) << 20;
	}
	backend = gpu_open();
	if (path == NULL || backend == NULL || backend->refine == NULL || memory == NULL)
	{
		fprintf(stderr, "usage: refine [-B RATIO] [-a VOLUME] [-Y] [-n POINTS] [-j THREADS] "
						"[-t N] [-m MB] [-g] [-h] [-p] [-w] [-k ROUNDS] [-f] [-T] FILE\n");
		return 2;
	}
	rb_context_init(&ctx, memory);
	ctx.threads = (int) sysconf(_SC_NPROCESSORS_ONLN);
	ctx.settings.device_idle_ms = 60000;
	ctx.settings.gpu_memory_limit = o.limit;
	status = all ? whole(&ctx, backend, &o, path) : one_file(&ctx, backend, &o, path);
	rb_memory_destroy(memory);
	return status;
}
