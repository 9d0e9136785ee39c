/*
 * refine.c
 *	  Builds a PLC from a file, tetrahedra from that, and refines them: prints their number,
 *	  those that remain bad and why, time and memory.
 *
 *	refine [-k hull|inside] [-B RATIO] [-a VOLUME] [-Y] [-d DEGREES] [-n POINTS] [-j THREADS] [-s BEND]
 *		   [-o BASE] [-p FILE] [-t N] [-m MB] [-M] [-c] [-h] FILE
 *
 * FILE, -k, -s, -o, -p, -m and -h are those of cdt.c.
 *
 *	-B	maximum ratio of circumradius to shortest edge of a good tetrahedron; 2 is the default, inf
 *		means no limit
 *	-a	maximum volume of a good tetrahedron
 *	-Y	add no points on segments and facets
 *	-d	dihedral angle in degrees below which slivers are removed; 0, the default, keeps them
 *	-n	maximum number of points
 *	-j	number of threads
 *	-M	merge coplanar facets, as the SQL functions do
 *	-c	check the result by rb_check_mesh and print its faults
 *	-t	number of repetitions; times are the smallest ones; cpu_ms_refine is that of all threads
 *
 * It prints a name and a value per line. "bad" is the number from rb_refine, "measured_bad" the
 * number from measuring all tetrahedra here; rounding may cause small differences. "dihedral_N" is
 * the number of tetrahedra whose smallest angle is between N and N + 10 degrees.
 *
 * Its exit status is 0; 1 if the result is wrong; 2 if the file does not exist or cannot be read; 3
 * if the PLC has a flaw; 4 after any other failure.
 */
#include "mesh/check/check.h"
#include "refine/refine.h"
#include "plc_input.h"
#include "tets_output.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct options
{
	rb_refine_options refine;
	rb_keep keep;
	const char *out;
	const char *surface;
	int times;
	uint64_t limit;
	double may_bend; /* NAN: the error of rounding */
	bool hash;
	bool check;
	bool merge;
} options;

static const char *const added_text[RB_VERTEX_KINDS] = {
	"added_input", "added_on_segments", "added_on_facets", "added_inside", "added_on_hull",
};

static const char *const reason_text[RB_BAD_REASONS] = {
	"bad_input", "bad_surface", "bad_full", "bad_too_fine", "bad_angle",
};

static void
measure(const rb_tets *r, const rb_refine_options *o)
{
	uint32_t bins[8] = {0, 0, 0, 0, 0, 0, 0, 0};
	uint32_t bad = 0;
	uint32_t flat = 0;
	double least = 180;
	double most = 0;
	double worst = 0;
	double volume = 0;

	for (uint32_t t = 0; t < r->ntets; t++)
	{
		const uint32_t *v = r->tets[t];
		const double *p = r->points;
		rb_tet_quality q;

		rb_tet_measure(p + 3 * (size_t) v[0], p + 3 * (size_t) v[1], p + 3 * (size_t) v[2],
					   p + 3 * (size_t) v[3], &q);
		bad += q.radius_edge > o->radius_edge || q.volume > o->max_volume;
		least = fmin(least, q.min_dihedral);
		most = fmax(most, q.max_dihedral);
		worst = fmax(worst, q.radius_edge);
		volume += q.volume;
		flat += q.min_dihedral < 5;
		bins[(int) fmin(7, q.min_dihedral / 10)]++;
	}
	printf(
		"measured_bad %u\nvolume %.15g\nworst_ratio %.6g\nmin_dihedral %.4f\nmax_dihedral %.4f\n",
		bad, volume, worst, least, most);
	printf("dihedral_below_5 %u\n", flat);
	for (int i = 0; i < 8; i++)
		printf("dihedral_%d %u\n", 10 * i, bins[i]);
}

static void
say(const rb_plc *plc, const rb_tets *r, const rb_refine_report *report, const options *o)
{
	uint32_t kinds[RB_VERTEX_KINDS] = {0, 0, 0, 0, 0};
	uint64_t added = 0;

	for (uint32_t v = 0; v < r->npoints; v++)
		if (r->kind[v] < RB_VERTEX_KINDS)
			kinds[r->kind[v]]++;
	for (int k = 0; k < RB_VERTEX_KINDS; k++)
		added += report->added[k];
	/* Total numbers, including those of the tetrahedralization */
	printf("points_out %u\ntets %u\nfaces %u\nedges %u\nregions %u\n", r->npoints, r->ntets,
		   r->nfaces, r->nedges, r->nregions);
	printf("steiner %u\nsteiner_on_segments %u\nsteiner_on_facets %u\nsteiner_inside %u\n"
		   "steiner_on_hull %u\n",
		   r->npoints - plc->npoints, kinds[RB_VERTEX_ON_SEGMENT], kinds[RB_VERTEX_ON_FACET],
		   kinds[RB_VERTEX_INSIDE], kinds[RB_VERTEX_ON_HULL]);
	printf("added %" PRIu64 "\n", added);
	for (int k = 0; k < RB_VERTEX_KINDS; k++)
		printf("%s %" PRIu64 "\n", added_text[k], report->added[k]);
	printf("bad %" PRIu64 "\n", report->bad);
	for (int k = 0; k < RB_BAD_REASONS; k++)
		printf("%s %" PRIu64 "\n", reason_text[k], report->bad_because[k]);
	printf("rounds %u\ntried %" PRIu64 "\n", report->rounds, report->tried);
	printf("slivers_before %" PRIu64 "\nflips %" PRIu64 "\nmoved %" PRIu64
		   "\nadded_for_slivers %" PRIu64 "\nnot_delaunay %" PRIu64 "\n",
		   report->slivers.before, report->slivers.flips, report->slivers.moved,
		   report->slivers.added, report->slivers.not_delaunay);
	measure(r, &o->refine);
}

/* Checks a refined mesh against its PLC. Returns false if there are faults. */
static bool
check(rb_context *ctx, const rb_plc *plc, const options *o, const rb_tets *r)
{
	const rb_check_input in = {.npoints = r->npoints,
							   .ntets = r->ntets,
							   .nfaces = r->nfaces,
							   .nedges = r->nedges,
							   .nsegments = r->nsegments,
							   .points = r->points,
							   .kind = r->kind,
							   .parent = r->parent,
							   .tets = (const uint32_t(*)[4]) r->tets,
							   .region = r->region,
							   .faces = (const uint32_t(*)[3]) r->faces,
							   .face_facet = r->face_facet,
							   .edges = (const uint32_t(*)[2]) r->edges,
							   .edge_segment = r->edge_segment,
							   .segments = (const uint32_t(*)[2]) r->segments,
							   .plc = plc,
							   .keep = o->keep,
							   .not_delaunay = o->refine.min_dihedral > 0,
							   .most = 3};
	rb_check_report report;
	const rb_status status = rb_check_mesh(ctx, &in, &report);
	bool good = status == RB_OK && report.faults == 0;

	if (status != RB_OK)
		printf("wrong check: %s %s\n", rb_status_text(status), ctx->error.text);
	else
		printf("faults %" PRIu64 "\n", report.faults);
	for (uint32_t i = 0; status == RB_OK && i < report.nlist; i++)
		printf("wrong %s: %u %u %u, %g; %" PRIu64 " in all\n", rb_fault_text(report.list[i].kind),
			   report.list[i].a, report.list[i].b, report.list[i].c, report.list[i].amount,
			   report.count[report.list[i].kind]);
	rb_check_report_free(ctx->memory, &report);
	return good;
}

static int
run(const rb_plc *plc, const options *o)
{
	static const char *const name[7] = {"ms_cdt",    "ms_refine",  "ms_start",     "ms_rounds",
										"ms_result", "ms_slivers", "cpu_ms_refine"};
	double best[7] = {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY};

	for (int i = 0; i < o->times; i++)
	{
		rb_memory *memory = rb_memory_create(o->limit);
		rb_context ctx;
		rb_tets r;
		rb_refine_report report;
		rb_flaw flaw = {.kind = RB_FLAW_NONE, .a = RB_NONE, .b = RB_NONE};
		rb_status status;
		uint64_t peak_cdt;
		uint32_t before;
		double began;
		double took[7];
		clock_t cpu;
		bool good;

		if (memory == NULL)
			plc_die(4, "no memory", 0);
		rb_context_init(&ctx, memory);
		ctx.threads = o->refine.threads;
		began = tets_now();
		status = rb_tetrahedralize(&ctx, plc, o->keep, &r, &flaw);
		took[0] = tets_now() - began;
		if (status == RB_BAD_PLC)
			tets_say_flaw(&flaw);
		else if (status != RB_OK)
			printf("fault %s %s\n", rb_status_text(status), ctx.error.text);
		if (status != RB_OK)
		{
			rb_memory_destroy(memory);
			return status == RB_BAD_PLC ? 3 : 4;
		}
		peak_cdt = rb_memory_peak(memory);
		before = r.ntets;
		began = tets_now();
		cpu = clock();
		status = rb_refine(&ctx, &o->refine, &r, &report);
		took[1] = tets_now() - began;
		took[6] = 1e3 * (double) (clock() - cpu) / CLOCKS_PER_SEC;
		if (status != RB_OK)
		{
			printf("fault refine: %s %s\nms_refine %.3f\n", rb_status_text(status), ctx.error.text,
				   took[1]);
			/* After a failure, the mesh must be unchanged. */
			rb_tets_free(memory, &r);
			if (rb_memory_used(memory) != 0)
				printf("wrong bytes left: %" PRIu64 "\n", rb_memory_used(memory));
			rb_memory_destroy(memory);
			return 4;
		}
		took[2] = report.ms_start;
		took[3] = report.ms_rounds;
		took[4] = report.ms_result;
		took[5] = report.ms_slivers;
		for (int k = 0; k < 7; k++)
			best[k] = fmin(best[k], took[k]);
		/* Each repetition must print the same hash. */
		if (o->hash)
			printf("hash %016" PRIx64 "\n", tets_hash(&r));
		if (i == o->times - 1)
		{
			const uint64_t peak = rb_memory_peak(memory);

			printf("tets_before %u\n", before);
			say(plc, &r, &report, o);
			for (int k = 0; k < 7; k++)
				printf("%s %.3f\n", name[k], best[k]);
			printf("tets_per_s %.0f\n", best[1] > 0 ? 1e3 * (double) r.ntets / best[1] : 0);
			printf("peak_bytes_cdt %" PRIu64 "\npeak_bytes %" PRIu64 "\nbytes_per_tet %.1f\n",
				   peak_cdt, peak, (double) peak / (r.ntets > 0 ? r.ntets : 1));
			if (o->out != NULL)
				tets_write(o->out, &r);
		}
		good = !o->check || check(&ctx, plc, o, &r);
		rb_tets_free(memory, &r);
		if (rb_memory_used(memory) != 0)
			printf("wrong bytes left: %" PRIu64 "\n", rb_memory_used(memory));
		if (!good || rb_memory_used(memory) != 0)
		{
			rb_memory_destroy(memory);
			return 1;
		}
		rb_memory_destroy(memory);
	}
	return 0;
}

int
main(int argc, char **argv)
{
	options o;
	const char *path = NULL;
	rb_plc plc;

	memset(&o, 0, sizeof(o));
	o.refine.radius_edge = 2;
	o.refine.max_volume = INFINITY;
	o.refine.threads = 1;
	o.keep = RB_KEEP_INSIDE;
	o.times = 1;
	o.limit = UINT64_MAX;
	o.may_bend = NAN;
	for (int i = 1; i < argc; i++)
	{
		const char *a = argv[i];
		const bool valued = a[0] == '-' && a[1] != '\0' && strchr("kBadnjsoptm", a[1]) != NULL;

		if (valued && i + 1 == argc)
			break;
		if (strcmp(a, "-k") == 0)
			o.keep = strcmp(argv[++i], "hull") == 0 ? RB_KEEP_HULL : RB_KEEP_INSIDE;
		else if (strcmp(a, "-B") == 0)
			o.refine.radius_edge = atof(argv[++i]);
		else if (strcmp(a, "-a") == 0)
			o.refine.max_volume = atof(argv[++i]);
		else if (strcmp(a, "-Y") == 0)
			o.refine.keep_surface = true;
		else if (strcmp(a, "-d") == 0)
			o.refine.min_dihedral = atof(argv[++i]);
		else if (strcmp(a, "-n") == 0)
			o.refine.max_points = strtoull(argv[++i], NULL, 10);
		else if (strcmp(a, "-j") == 0)
			o.refine.threads = atoi(argv[++i]);
		else if (strcmp(a, "-s") == 0)
			o.may_bend = atof(argv[++i]);
		else if (strcmp(a, "-o") == 0)
			o.out = argv[++i];
		else if (strcmp(a, "-p") == 0)
			o.surface = argv[++i];
		else if (strcmp(a, "-t") == 0)
			o.times = atoi(argv[++i]) > 0 ? atoi(argv[i]) : 1;
		else if (strcmp(a, "-m") == 0)
			o.limit = (uint64_t) (atof(argv[++i]) * 1048576);
		else if (strcmp(a, "-M") == 0)
			o.merge = true;
		else if (strcmp(a, "-c") == 0)
			o.check = true;
		else if (strcmp(a, "-h") == 0)
			o.hash = true;
		else
			path = a;
	}
	if (path == NULL || path[0] == '-')
	{
		fprintf(
			stderr,
			"usage: refine [-k hull|inside] [-B RATIO] [-a VOLUME] [-Y] [-d DEGREES] [-n POINTS] "
			"[-j THREADS] [-s BEND] [-o BASE] [-p FILE] [-t N] [-m MB] [-M] [-c] [-h] "
			"FILE.poly|FILE.off\n");
		return 2;
	}
	plc = plc_read(path, o.may_bend);
	if (o.surface != NULL)
		plc_write_surface(o.surface);
	if (o.merge)
		plc = plc_merge(&plc);
	/* Memory of the program is not freed at its end. */
	return run(&plc, &o);
}
