/*
 * refine.c
 *	  Refinement on the device and on the processor: the same bits?  And how fast.
 *
 *		refine [-B RATIO] [-a VOLUME] [-Y] [-n POINTS] [-j THREADS] [-t N] [-m MB] [-g] [-h] FILE
 *
 * Rounds of both begin from the same tetrahedralization of the FILE (plc_input.h); then all arrays
 * of the two meshes are compared.  -t: so many times on the device, the last one is told; -m: so much of
 * its memory; -g: without the processor;
 * -h: the whole hull is kept.  Other options are those of test/bench/refine.c.
 *
 * It ends with 0; 1: something differs; 2, 3, 4: no such file, a flaw of it, any other failure.
 */
#include "gpu.h"
#include "plc_input.h"
#include "refine/rb_refining.h"

#include <inttypes.h>
#include <math.h>

static const char *const step_text[RB_REFINE_STEPS] = {"copy",    "grow", "large",
													   "winners", "fill", "lists"};

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

/* tetrahedra that are in space */
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
	if (a->nstuck != b->nstuck || a->done != b->done)
	{
		printf("  differs: stuck %u %u, done %d %d\n", a->nstuck, b->nstuck, a->done, b->done);
		bad = 1;
	}
	else
		bad |= differs("stuck", a->stuck, b->stuck, a->nstuck, sizeof(rb_entry64));
	bad |= differs("site", a->mesh.sites, b->mesh.sites, sites, sizeof(rb_site));
	bad |= differs("kind", a->mesh.kind, b->mesh.kind, sites, 1);
	bad |= differs("parent", a->mesh.parent, b->mesh.parent, sites, sizeof(uint32_t));
	bad |= differs("cell", a->mesh.cells, b->mesh.cells, cells, sizeof(rb_cell));
	if (a->nfree == b->nfree)
		bad |= differs("free", a->free, b->free, a->nfree, sizeof(uint32_t));
	return bad;
}

static bool protect = true;

static void
start(rb_refining *r, rb_context *ctx, const rb_refine_options *o, rb_refine_report *report,
	  const rb_tets *tets)
{
	memset(r, 0, sizeof(*r));
	memset(report, 0, sizeof(*report));
	r->ctx = ctx;
	r->options = o;
	r->report = report;
	r->protect = protect;
	check(ctx, rb_refining_start(r, tets), "start");
}

int
main(int argc, char **argv)
{
	rb_refine_options o = {.radius_edge = 2, .max_volume = INFINITY, .threads = 1};
	const rb_backend *backend;
	const char *path = NULL;
	rb_memory *memory = rb_memory_create((uint64_t) 100 << 30);
	rb_context ctx;
	rb_tets tets;
	rb_flaw flaw;
	rb_refining cpu, gpu;
	rb_refine_report cpu_report, gpu_report;
	rb_plc plc;
	double cdt_ms, cpu_ms = 0, gpu_ms = 0;
	uint32_t ntets;
	int times = 1, bad = 0;
	bool alone = false;
	rb_keep keep = RB_KEEP_INSIDE;
	uint64_t limit = 0;

	for (int i = 1; i < argc; i++)
	{
		const char *a = argv[i];

		if (strcmp(a, "-Y") == 0)
			o.keep_surface = true;
		else if (strcmp(a, "-p") == 0)
			protect = false;
		else if (strcmp(a, "-h") == 0)
			keep = RB_KEEP_HULL;
		else if (strcmp(a, "-g") == 0)
			alone = true;
		else if (a[0] != '-')
			path = a;
		else if (i + 1 == argc)
			break;
		else if (strcmp(a, "-B") == 0)
			o.radius_edge = atof(argv[++i]);
		else if (strcmp(a, "-a") == 0)
			o.max_volume = atof(argv[++i]);
		else if (strcmp(a, "-n") == 0)
			o.max_points = strtoull(argv[++i], NULL, 10);
		else if (strcmp(a, "-j") == 0)
			o.threads = atoi(argv[++i]);
		else if (strcmp(a, "-t") == 0)
			times = atoi(argv[++i]);
		else if (strcmp(a, "-m") == 0)
			limit = strtoull(argv[++i], NULL, 10) << 20;
	}
	backend = gpu_open();
	if (path == NULL || backend == NULL || backend->refine == NULL || memory == NULL)
	{
		fprintf(stderr, "usage: refine [-B RATIO] [-a VOLUME] [-Y] [-n POINTS] [-j THREADS] "
						"[-t N] [-m MB] [-g] [-h] FILE\n");
		return 2;
	}
	plc = plc_read(path, NAN);
	rb_context_init(&ctx, memory);
	ctx.threads = (int) sysconf(_SC_NPROCESSORS_ONLN);
	ctx.device_idle_ms = 60000;
	ctx.gpu_memory_limit = limit;
	cdt_ms = rb_now_ms();
	if (rb_tetrahedralize(&ctx, &plc, keep, &tets, &flaw) != RB_OK)
	{
		fprintf(stderr, "%s: no tetrahedralization: %s\n", path, ctx.error.text);
		return 3;
	}
	cdt_ms = rb_now_ms() - cdt_ms;
	for (int i = 0; i < times; i++)
	{
		if (i > 0)
			rb_refining_free(&gpu);
		start(&gpu, &ctx, &o, &gpu_report, &tets);
		gpu_ms = rb_now_ms();
		check(&ctx, backend->refine(&ctx, &gpu, sizeof(gpu)), "device");
		gpu_ms = rb_now_ms() - gpu_ms;
	}
	ntets = count_tets(&gpu);
	if (!alone)
	{
		start(&cpu, &ctx, &o, &cpu_report, &tets);
		cpu_ms = rb_now_ms();
		check(&ctx, rb_refining_rounds(&cpu), "processor");
		cpu_ms = rb_now_ms() - cpu_ms;
		bad = compare(&cpu, &gpu);
	}
	printf("%s %s: %u rounds, %u sites, %u tets; cdt %.0f, gpu %.1f ms (%.2f M tets/s), "
		   "cpu %.1f ms (%d threads)\n",
		   alone ? "--"
		   : bad ? "DIFFERS"
				 : "same",
		   name_of(path), gpu_report.rounds, gpu.nsites, ntets, cdt_ms, gpu_ms,
		   ntets / gpu_ms / 1e3, cpu_ms, o.threads);
	printf("  device bytes a tet: %.1f, of the mesh %.1f; ms:",
		   (double) gpu_report.device_bytes / ntets, (double) gpu_report.device_mesh_bytes / ntets);
	for (int i = 0; i < RB_REFINE_STEPS; i++)
		printf(" %s %.1f", step_text[i], gpu_report.device_ms[i]);
	printf("; large %" PRIu64 ", asked %" PRIu64 "; per round %.3f\n", gpu_report.device_large,
		   gpu_report.device_asked, gpu_ms / (gpu_report.rounds > 0 ? gpu_report.rounds : 1));
	rb_refining_free(&gpu);
	if (!alone)
		rb_refining_free(&cpu);
	rb_tets_free(memory, &tets);
	rb_memory_destroy(memory);
	return bad;
}
