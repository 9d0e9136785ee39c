/*
 * cdt.c
 *	  Builds a PLC from a file, and tetrahedra from that: prints their number, time and memory,
 *	  or the flaws of the PLC.
 *
 *	cdt [-k hull|inside] [-o BASE] [-p FILE] [-s BEND] [-n] [-t N] [-j N] [-m MB] [-c] [-h] FILE
 *
 * FILE is TetGen's .poly or .off, with triangles or polygons. A facet is one of its polygons, also
 * with holes in a .poly; polygons of two corners are segments; seeds of holes and of regions are
 * those of the .poly. Equal points are merged.
 *
 *	-k	the tetrahedra that are kept: all up to the hull, or those enclosed by facets (default)
 *	-o	write BASE.node, .ele, .face and .edge, in TetGen's format, with numbers from 0, and enough
 *		digits to reproduce each double
 *	-p	write the facets as .off, those with holes as triangles
 *	-s	distance: a polygon whose corners are farther from its plane becomes a facet for each of its
 *		triangles; otherwise it is one facet, however it is triangulated. The default is what
 *		rounding of its coordinates can cause; with -1, this applies to all polygons.
 *	-n	do not merge coplanar facets
 *	-t	number of repetitions; times are the smallest ones
 *	-j	number of threads
 *	-m	memory limit
 *	-c	check links, signs, parents and chains of edges of the result
 *	-h	print a hash of the whole result
 *
 * It prints a name and a value per line. Its exit status is 0; 1 if the check found a fault; 2 if
 * the file does not exist or cannot be read; 3 if the PLC has a flaw; 4 after any other failure.
 */
#include "mesh/tetrahedralize.h"
#include "plc_input.h"
#include "tets_output.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t wrongs;

static void
wrong(const char *what, uint32_t number)
{
	if (wrongs++ < 10)
		printf("wrong %s %u\n", what, number);
}

static bool
has_corner(const uint32_t tet[4], uint32_t v)
{
	return tet[0] == v || tet[1] == v || tet[2] == v || tet[3] == v;
}

/* Checks that tetrahedra and links, which are the halves of a face, agree. */
static void
check_tet(const rb_tets *r, uint32_t t)
{
	const uint32_t *v = r->tets[t];
	const double *p = r->points;

	for (int i = 0; i < 4; i++)
		if (v[i] >= r->npoints)
		{
			wrong("no such point in tetrahedron", t);
			return;
		}
	if (rb_orient3d(p + 3 * (size_t) v[0], p + 3 * (size_t) v[1], p + 3 * (size_t) v[2],
					p + 3 * (size_t) v[3]) <= 0)
		wrong("not positive: tetrahedron", t);
	for (uint32_t i = 0; i < 4; i++)
	{
		const uint32_t n = r->neighbours[4 * (size_t) t + i];
		int back = 0;

		if (n == RB_NONE)
			continue;
		if (n >= r->ntets || n == t)
		{
			wrong("no such neighbour of tetrahedron", t);
			continue;
		}
		for (uint32_t j = 0; j < 4; j++)
		{
			back += r->neighbours[4 * (size_t) n + j] == t && !has_corner(v, r->tets[n][j]);
			if (j != i && !has_corner(r->tets[n], v[j]))
				wrong("does not share the face with its neighbour: tetrahedron", t);
		}
		if (back != 1)
			wrong("not the neighbour of its neighbour: tetrahedron", t);
	}
}

/*
 * Checks that the edges of a segment meet twice in each point except its ends, in opposite
 * directions.
 */
static void
check_segments(const rb_tets *r)
{
	uint32_t *count = calloc((size_t) r->nsegments + 1, sizeof(*count));
	uint32_t *sum = calloc((size_t) r->nsegments + 1, sizeof(*sum));
	uint32_t *inner = calloc((size_t) r->nsegments + 1, sizeof(*inner));

	if (count == NULL || sum == NULL || inner == NULL)
		plc_die(4, "no memory for segment", r->nsegments);
	for (uint32_t i = 0; i < r->nedges; i++)
	{
		const uint32_t s = r->edge_segment[i];

		if (s >= r->nsegments)
		{
			wrong("no such segment of edge", i);
			continue;
		}
		count[s]++;
		for (int k = 0; k < 2; k++)
		{
			const uint32_t v = r->edges[i][k];

			if (v >= r->npoints)
				wrong("no such point in edge", i);
			else if (v == r->segments[s][0] || v == r->segments[s][1])
				sum[s]++;
			else if (r->kind[v] != RB_VERTEX_ON_SEGMENT || r->parent[v] != s)
				wrong("a point that is not of its segment: edge", i);
		}
	}
	for (uint32_t v = 0; v < r->npoints; v++)
		if (r->kind[v] == RB_VERTEX_ON_SEGMENT && r->parent[v] < r->nsegments)
			inner[r->parent[v]]++;
	for (uint32_t s = 0; s < r->nsegments; s++)
		if (count[s] != inner[s] + 1 || sum[s] != 2)
			wrong("no chain of edges: segment", s);
	free(count);
	free(sum);
	free(inner);
}

static void
check(const rb_plc *plc, const rb_tets *r)
{
	wrongs = 0;
	if (r->npoints < plc->npoints ||
		memcmp(r->points, plc->points, (size_t) plc->npoints * 3 * sizeof(double)) != 0)
		wrong("not the points that were given", 0);
	for (uint32_t v = 0; v < r->npoints; v++)
	{
		const uint32_t kind = r->kind[v];

		if ((kind == RB_VERTEX_INPUT) != (v < plc->npoints))
			wrong("not of that kind: point", v);
		if (kind == RB_VERTEX_ON_SEGMENT ? r->parent[v] >= r->nsegments
			: kind == RB_VERTEX_ON_FACET ? r->parent[v] >= plc->nfacets
										 : r->parent[v] != RB_NONE)
			wrong("no such parent of point", v);
	}
	for (uint32_t t = 0; t < r->ntets; t++)
		check_tet(r, t);
	for (uint32_t i = 0; i < r->nfaces; i++)
		if (r->face_facet[i] >= plc->nfacets)
			wrong("no such facet of face", i);
	for (uint32_t i = 0; i < plc->nsegments; i++)
		if (r->nsegments < plc->nsegments ||
			memcmp(r->segments[i], plc->segments[i], sizeof(*plc->segments)) != 0)
			wrong("not as it was given: segment", i);
	check_segments(r);
	printf("wrongs %u\n", wrongs);
}
typedef struct options
{
	rb_keep keep;
	const char *out;
	const char *surface;
	int times;
	int threads;
	uint64_t limit;
	double may_bend; /* NAN: the error of rounding */
	bool check;
	bool hash;
	bool apart; /* Facets are not merged */
} options;

static int
run(const rb_plc *plc, const options *o)
{
	double best[5] = {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY};
	static const char *const name[5] = {"ms", "ms_points", "ms_segments", "ms_facets",
										"ms_regions"};
	int rc = 0;

	for (int i = 0; i < o->times; i++)
	{
		rb_memory *memory = rb_memory_create(o->limit);
		rb_context ctx;
		rb_tets r;
		rb_flaw flaw = {.kind = RB_FLAW_NONE, .a = RB_NONE, .b = RB_NONE};
		rb_status status;
		double began;
		double took[5];

		if (memory == NULL)
			plc_die(4, "no memory", 0);
		rb_context_init(&ctx, memory);
		ctx.threads = o->threads;
		began = tets_now();
		status = rb_tetrahedralize(&ctx, plc, o->keep, &r, &flaw);
		took[0] = tets_now() - began;
		if (status == RB_BAD_PLC)
		{
			tets_say_flaw(&flaw);
			printf("ms %.3f\n", took[0]);
		}
		else if (status != RB_OK)
			printf("fault %s %s\n", rb_status_text(status), ctx.error.text);
		if (status != RB_OK)
		{
			if (rb_memory_used(memory) != 0)
				printf("wrong bytes left: %" PRIu64 "\n", rb_memory_used(memory));
			rb_memory_destroy(memory);
			return status == RB_BAD_PLC ? 3 : 4;
		}
		took[1] = r.ms_points;
		took[2] = r.ms_segments;
		took[3] = r.ms_facets;
		took[4] = r.ms_regions;
		for (int k = 0; k < 5; k++)
			best[k] = fmin(best[k], took[k]);
		/* Each repetition must print the same hash. */
		if (o->hash)
			printf("hash %016" PRIx64 "\n", tets_hash(&r));
		if (i == o->times - 1)
		{
			uint32_t added[4] = {0, 0, 0, 0};
			const uint64_t peak = rb_memory_peak(memory);

			for (uint32_t v = 0; v < r.npoints; v++)
				added[r.kind[v] & 3]++;
			printf("tets %u\nfaces %u\nedges %u\nsegments %u\n", r.ntets, r.nfaces, r.nedges,
				   r.nsegments);
			printf("steiner %u\nsteiner_on_segments %u\nsteiner_on_facets %u\n",
				   r.npoints - plc->npoints, added[RB_VERTEX_ON_SEGMENT],
				   added[RB_VERTEX_ON_FACET]);
			printf("regions %u\nseeds_outside %u\n", r.nregions, r.outside_seeds);
			for (int k = 0; k < 5; k++)
				printf("%s %.3f\n", name[k], best[k]);
			printf("peak_bytes %" PRIu64 "\nbytes_per_tet %.1f\n", peak,
				   (double) peak / (r.ntets > 0 ? r.ntets : 1));
			if (o->check)
				check(plc, &r);
			if (o->out != NULL)
				tets_write(o->out, &r);
			rc = wrongs > 0;
		}
		rb_tets_free(memory, &r);
		if (rb_memory_used(memory) != 0)
		{
			printf("wrong bytes left: %" PRIu64 "\n", rb_memory_used(memory));
			rc = 1;
		}
		rb_memory_destroy(memory);
	}
	return rc;
}

int
main(int argc, char **argv)
{
	options o = {RB_KEEP_INSIDE, NULL, NULL, 1, 1, UINT64_MAX, NAN, false, false, false};
	const char *path = NULL;
	rb_plc plc;

	for (int i = 1; i < argc; i++)
	{
		const char *a = argv[i];
		const bool valued = a[0] == '-' && a[1] != '\0' && strchr("kopmstj", a[1]) != NULL;

		if (valued && i + 1 == argc)
			break;
		if (strcmp(a, "-k") == 0)
			o.keep = strcmp(argv[++i], "hull") == 0 ? RB_KEEP_HULL : RB_KEEP_INSIDE;
		else if (strcmp(a, "-o") == 0)
			o.out = argv[++i];
		else if (strcmp(a, "-p") == 0)
			o.surface = argv[++i];
		else if (strcmp(a, "-t") == 0)
			o.times = atoi(argv[++i]) > 0 ? atoi(argv[i]) : 1;
		else if (strcmp(a, "-j") == 0)
			o.threads = atoi(argv[++i]);
		else if (strcmp(a, "-s") == 0)
			o.may_bend = atof(argv[++i]);
		else if (strcmp(a, "-m") == 0)
			o.limit = (uint64_t) (atof(argv[++i]) * 1048576);
		else if (strcmp(a, "-c") == 0)
			o.check = true;
		else if (strcmp(a, "-h") == 0)
			o.hash = true;
		else if (strcmp(a, "-n") == 0)
			o.apart = true;
		else
			path = a;
	}
	if (path == NULL || path[0] == '-')
	{
		fprintf(
			stderr,
			"usage: cdt [-k hull|inside] [-o BASE] [-p FILE] [-s BEND] [-n] [-t N] [-j N] [-m MB] [-c] [-h] "
			"FILE.poly|FILE.off\n");
		return 2;
	}
	plc = plc_read(path, o.may_bend);
	if (o.surface != NULL)
		plc_write_surface(o.surface);
	if (!o.apart)
		plc = plc_merge(&plc);
	/* Memory of the program is not freed at its end. */
	return run(&plc, &o);
}
