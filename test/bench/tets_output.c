/*
 * tets_output.c
 *	  Writes tetrahedra to files, and computes their hash.
 */
#include "tets_output.h"

#include "plc_input.h"

#include <inttypes.h>
#include <time.h>

void
tets_write(const char *base, const rb_tets *r)
{
	FILE *f = plc_create(base, ".node");

	fprintf(f, "%u 3 0 0\n", r->npoints);
	for (uint32_t i = 0; i < r->npoints; i++)
	{
		const double *p = r->points + 3 * (size_t) i;

		fprintf(f, "%u %.17g %.17g %.17g\n", i, p[0], p[1], p[2]);
	}
	fclose(f);
	f = plc_create(base, ".ele");
	fprintf(f, "%u 4 1\n", r->ntets);
	for (uint32_t i = 0; i < r->ntets; i++)
		fprintf(f, "%u %u %u %u %u %" PRId64 "\n", i, r->tets[i][0], r->tets[i][1], r->tets[i][2],
				r->tets[i][3], r->region[i]);
	fclose(f);
	f = plc_create(base, ".face");
	fprintf(f, "%u 1\n", r->nfaces);
	for (uint32_t i = 0; i < r->nfaces; i++)
		fprintf(f, "%u %u %u %u %u\n", i, r->faces[i][0], r->faces[i][1], r->faces[i][2],
				r->face_facet[i]);
	fclose(f);
	f = plc_create(base, ".edge");
	fprintf(f, "%u 1\n", r->nedges);
	for (uint32_t i = 0; i < r->nedges; i++)
		fprintf(f, "%u %u %u %u\n", i, r->edges[i][0], r->edges[i][1], r->edge_segment[i]);
	fclose(f);
}

/* Continues a hash by FNV-1a. */
static uint64_t
hashed(uint64_t h, const void *bytes, size_t n)
{
	const uint8_t *b = bytes;

	for (size_t i = 0; i < n; i++)
		h = (h ^ b[i]) * UINT64_C(0x100000001b3);
	return h;
}

uint64_t
tets_hash(const rb_tets *r)
{
	const size_t p = r->npoints;
	const size_t t = r->ntets;
	const size_t f = r->nfaces;
	const size_t e = r->nedges;
	const size_t s = r->nsegments;
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	h = hashed(h, r->points, p * 3 * sizeof(*r->points));
	h = hashed(h, r->kind, p * sizeof(*r->kind));
	h = hashed(h, r->parent, p * sizeof(*r->parent));
	h = hashed(h, r->tets, t * sizeof(*r->tets));
	h = hashed(h, r->neighbours, t * 4 * sizeof(*r->neighbours));
	h = hashed(h, r->region, t * sizeof(*r->region));
	h = hashed(h, r->faces, f * sizeof(*r->faces));
	h = hashed(h, r->face_facet, f * sizeof(*r->face_facet));
	h = hashed(h, r->edges, e * sizeof(*r->edges));
	h = hashed(h, r->edge_segment, e * sizeof(*r->edge_segment));
	h = hashed(h, r->segments, s * sizeof(*r->segments));
	return hashed(h, r->segment_facet, s * sizeof(*r->segment_facet));
}

static const char *const flaw_text[] = {
	"none",
	"all points lie in one plane",
	"no area: facet",
	"folded: facet",
	"equal: facets",
	"on each other: facets",
	"cross: facets",
	"segment meets facet:",
	"cross: segments",
	"point in facet:",
	"point on segment:",
	"doubles are too coarse at point",
	"not recovered: facet",
};

void
tets_say_flaw(const rb_flaw *flaw)
{
	printf("flaw %s %" PRId64 " %" PRId64 " at %.17g %.17g %.17g\n",
		   flaw->kind < sizeof(flaw_text) / sizeof(*flaw_text) ? flaw_text[flaw->kind] : "?",
		   flaw->a == RB_NONE ? -1 : (int64_t) flaw->a, flaw->b == RB_NONE ? -1 : (int64_t) flaw->b,
		   flaw->at[0], flaw->at[1], flaw->at[2]);
}

double
tets_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e3 * (double) t.tv_sec + 1e-6 * (double) t.tv_nsec;
}
