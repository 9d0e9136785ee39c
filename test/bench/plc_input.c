/*
 * plc_input.c
 *	  Reads a PLC from a file: points and polygons. Merges equal points, and triangulates
 *	  polygons.
 *
 * A program reads only one file, so its contents are in static variables.
 */
#include "plc_input.h"
#include "mesh/weld.h"
#include "tets_output.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *path;

void
plc_die(int rc, const char *what, size_t number)
{
	printf("%s %s %zu\n", rc == 3 ? "flaw" : "fault", what, number);
	fprintf(stderr, "%s: %s %zu\n", path, what, number);
	exit(rc);
}

/* Returns an array with room for one more element; its size doubles. */
static void *
grown(void *old, size_t n, size_t size)
{
	void *p = old;

	if ((n & (n - 1)) == 0)
	{
		p = realloc(old, (n ? 2 * n : 1) * size);
		if (p == NULL)
			plc_die(4, "no memory for element", n);
	}
	return p;
}

/* ---- numbers of a text, line by line ---- */

typedef struct text
{
	char *bytes;
	char *next;
	double *word; /* Words of the current line */
	size_t n;
	size_t line;
} text;

static void
text_open(text *t)
{
	FILE *f = fopen(path, "rb");
	size_t n = 0;
	size_t got;

	memset(t, 0, sizeof(*t));
	if (f == NULL)
		plc_die(2, "cannot be opened", 0);
	do
	{
		t->bytes = realloc(t->bytes, n + (1 << 20) + 1);
		if (t->bytes == NULL)
			plc_die(4, "no memory for byte", n);
		got = fread(t->bytes + n, 1, 1 << 20, f);
		n += got;
	} while (got > 0);
	fclose(f);
	t->bytes[n] = '\0';
	t->next = t->bytes;
}

/* Reads the next line that has numbers; ignores what follows # or a word. */
static bool
text_line(text *t)
{
	t->n = 0;
	while (*t->next != '\0' && t->n == 0)
	{
		t->line++;
		while (*t->next != '\0' && *t->next != '\n')
		{
			char *end;
			double x;

			if (strchr(" \t,\r", *t->next) != NULL)
			{
				t->next++;
				continue;
			}
			x = strtod(t->next, &end);
			if (end == t->next)
			{
				while (*t->next != '\0' && *t->next != '\n')
					t->next++;
				break;
			}
			t->word = grown(t->word, t->n, sizeof(double));
			t->word[t->n++] = x;
			t->next = end;
		}
		if (*t->next == '\n')
			t->next++;
	}
	return t->n > 0;
}

static void
text_need(text *t, size_t n)
{
	if (!text_line(t) || t->n < n)
		plc_die(2, "too few numbers in line", t->line);
}

static size_t
text_count(const text *t, size_t i)
{
	double x = i < t->n ? t->word[i] : 0;

	if (!(x >= 0 && x < 4e9) || x != floor(x))
		plc_die(2, "no count in line", t->line);
	return (size_t) x;
}

/* ---- what is in a file ---- */

typedef struct ring
{
	uint32_t *corner;
	size_t n;
	size_t facet; /* The first ring of a facet is its outer one */
	size_t first; /* First of its triangles, once they exist */
	size_t last;
	bool split; /* True if each of its triangles is a facet */
} ring;

static double (*points)[3];
static size_t npoints;
static ring *rings;
static size_t nrings;
static uint32_t (*segments)[2];
static size_t nsegments;
static rb_seed *seeds;
static size_t nseeds;

static void
add_ring(const ring *r)
{
	if (r->n == 2)
	{
		segments = grown(segments, nsegments, sizeof(*segments));
		memcpy(segments[nsegments++], r->corner, sizeof(*segments));
	}
	if (r->n < 3)
		return;
	rings = grown(rings, nrings, sizeof(*rings));
	rings[nrings++] = *r;
}

/* Reads n corners from word `at` on, from several lines if necessary. */
static ring
read_ring(text *t, size_t at, size_t first, size_t facet)
{
	ring r = {NULL, 0, facet, 0, 0, false};
	const size_t n = text_count(t, at++);

	while (r.n < n)
	{
		if (at >= t->n)
		{
			text_need(t, 1);
			at = 0;
		}
		r.corner = grown(r.corner, r.n, sizeof(*r.corner));
		if (text_count(t, at) < first || text_count(t, at) - first >= npoints)
			plc_die(2, "no such point in line", t->line);
		r.corner[r.n++] = (uint32_t) (text_count(t, at++) - first);
	}
	return r;
}

static void
read_points(text *t, size_t n, size_t skip, size_t *first)
{
	points = malloc((n + 1) * sizeof(*points));
	if (points == NULL)
		plc_die(4, "no memory for point", n);
	for (npoints = 0; npoints < n; npoints++)
	{
		text_need(t, skip + 3);
		if (npoints == 0 && skip > 0)
			*first = text_count(t, 0);
		for (int k = 0; k < 3; k++)
		{
			/* A zero has no sign, so that -0 is the same point. */
			points[npoints][k] = t->word[skip + (size_t) k] + 0.0;
			if (!isfinite(points[npoints][k]))
				plc_die(3, "not finite: point", npoints);
		}
	}
}

static void
read_off(text *t)
{
	size_t first = 0;
	size_t facets;

	text_need(t, 2);
	facets = text_count(t, 1);
	read_points(t, text_count(t, 0), 0, &first);
	for (size_t i = 0; i < facets; i++)
	{
		ring r;

		text_need(t, 3);
		r = read_ring(t, 0, 0, i);
		add_ring(&r);
	}
}

static void
read_poly(text *t)
{
	size_t first = 0;
	size_t n;

	text_need(t, 1);
	read_points(t, text_count(t, 0), 1, &first);
	text_need(t, 1);
	n = text_count(t, 0);
	for (size_t i = 0; i < n; i++)
	{
		size_t polygons;
		size_t holes;
		size_t outlines = 0;

		text_need(t, 1);
		polygons = text_count(t, 0);
		holes = text_count(t, 1);
		for (size_t j = 0; j < polygons; j++)
		{
			ring r;

			text_need(t, 2);
			r = read_ring(t, 0, first, i);
			outlines += r.n > 2;
			add_ring(&r);
		}
		for (size_t j = 0; j < holes; j++)
			text_need(t, 4);
		if (outlines > 1 && outlines != holes + 1)
			plc_die(2, "several polygons, but not as many holes: facet", i);
	}
	/* Holes, then regions; both may be missing. */
	for (int region = 0; region < 2; region++)
	{
		n = text_line(t) ? text_count(t, 0) : 0;
		for (size_t i = 0; i < n; i++)
		{
			rb_seed s = {{0, 0, 0}, 0, region == 0};

			text_need(t, 4);
			memcpy(s.at, t->word + 1, sizeof(s.at));
			if (region == 1)
				s.region = t->n > 4 ? (int64_t) t->word[4] : (int64_t) i + 1;
			seeds = grown(seeds, nseeds, sizeof(*seeds));
			seeds[nseeds++] = s;
		}
	}
}

/* ---- equal points are one ---- */

static int
by_place(const void *a, const void *b)
{
	const uint32_t i = *(const uint32_t *) a;
	const uint32_t j = *(const uint32_t *) b;

	for (int k = 0; k < 3; k++)
		if (points[i][k] != points[j][k])
			return points[i][k] < points[j][k] ? -1 : 1;
	return i < j ? -1 : 1;
}

static void
weld(void)
{
	uint32_t *order = malloc((npoints + 1) * sizeof(*order));
	uint32_t *to = malloc((npoints + 1) * sizeof(*to));
	size_t kept = 0;

	if (order == NULL || to == NULL)
		plc_die(4, "no memory for point", npoints);
	for (size_t i = 0; i < npoints; i++)
		order[i] = (uint32_t) i;
	qsort(order, npoints, sizeof(*order), by_place);
	for (size_t i = 0; i < npoints; i++)
	{
		const bool same =
			i > 0 && memcmp(points[order[i]], points[order[i - 1]], sizeof(*points)) == 0;

		to[order[i]] = same ? to[order[i - 1]] : order[i];
	}
	/* The first of equal points has the smallest number, so it is renumbered before the others. */
	for (size_t i = 0; i < npoints; i++)
	{
		if (to[i] == i)
		{
			memmove(points[kept], points[i], sizeof(*points));
			to[i] = (uint32_t) kept++;
		}
		else
			to[i] = to[to[i]];
	}
	for (size_t i = 0; i < nrings; i++)
	{
		ring *r = &rings[i];
		size_t n = 0;

		for (size_t j = 0; j < r->n; j++)
		{
			const uint32_t v = to[r->corner[j]];

			if (n == 0 || r->corner[n - 1] != v)
				r->corner[n++] = v;
		}
		while (n > 1 && r->corner[n - 1] == r->corner[0])
			n--;
		if (n < 3)
			plc_die(3, "no area: facet", r->facet);
		r->n = n;
	}
	for (size_t i = 0; i < nsegments; i++)
	{
		segments[i][0] = to[segments[i][0]];
		segments[i][1] = to[segments[i][1]];
		if (segments[i][0] == segments[i][1])
			plc_die(3, "no length: segment", i);
	}
	printf("points_welded %zu\n", npoints - kept);
	npoints = kept;
	free(order);
	free(to);
}

/* ---- polygons become triangles ---- */

static uint32_t (*triangles)[3];
static uint32_t *facet_of;
static size_t ntriangles;
static size_t nfacets;

static void
add_triangle(uint32_t a, uint32_t b, uint32_t c)
{
	triangles = grown(triangles, ntriangles, sizeof(*triangles));
	facet_of = grown(facet_of, ntriangles, sizeof(*facet_of));
	triangles[ntriangles][0] = a;
	triangles[ntriangles][1] = b;
	triangles[ntriangles][2] = c;
	facet_of[ntriangles++] = (uint32_t) nfacets;
}

/* Axes of the projection, in which the outer ring is counterclockwise */
static int axis[2];

static int
turn(uint32_t a, uint32_t b, uint32_t c)
{
	const double p[2] = {points[a][axis[0]], points[a][axis[1]]};
	const double q[2] = {points[b][axis[0]], points[b][axis[1]]};
	const double r[2] = {points[c][axis[0]], points[c][axis[1]]};

	return rb_orient2d(p, q, r);
}

/*
 * Chooses the axes of a polygon. Returns the maximum distance of its corners from a plane, and
 * stores how much of that rounding can cause.
 */
static double
choose_axes(const ring *r, double *rounding)
{
	double n[3] = {0, 0, 0};
	double most = -INFINITY;
	double least = INFINITY;
	double size = 0;
	int k = 0;

	for (size_t i = 0; i < r->n; i++)
	{
		const double *o = points[r->corner[0]];
		const double *a = points[r->corner[i]];
		const double *b = points[r->corner[i + 1 < r->n ? i + 1 : 0]];

		for (int j = 0; j < 3; j++)
		{
			const int y = (j + 1) % 3;
			const int z = (j + 2) % 3;

			n[j] += (a[y] - o[y]) * (b[z] - o[z]) - (a[z] - o[z]) * (b[y] - o[y]);
		}
	}
	for (int j = 1; j < 3; j++)
		if (fabs(n[j]) > fabs(n[k]))
			k = j;
	axis[0] = n[k] > 0 ? (k + 1) % 3 : (k + 2) % 3;
	axis[1] = 3 - k - axis[0];
	for (size_t i = 0; i < r->n; i++)
	{
		double d = 0;

		for (int j = 0; j < 3; j++)
		{
			d += (points[r->corner[i]][j] - points[r->corner[0]][j]) * n[j];
			size = fmax(size, fabs(points[r->corner[i]][j]));
		}
		most = fmax(most, d);
		least = fmin(least, d);
	}
	*rounding = 16 * 0x1p-52 * size;
	return (most - least) / sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
}

/* Returns true if b is on the closed segment from a to c; the three points are collinear. */
static bool
between(uint32_t a, uint32_t b, uint32_t c)
{
	for (int k = 0; k < 2; k++)
	{
		const double x = points[b][axis[k]];
		const double y = points[a][axis[k]];
		const double z = points[c][axis[k]];

		if (x < fmin(y, z) || x > fmax(y, z))
			return false;
	}
	return true;
}

/* Returns true if the segments pq and ab share more than end points. */
static bool
obstructs(uint32_t p, uint32_t q, uint32_t a, uint32_t b)
{
	const bool shared = a == p || a == q || b == p || b == q;
	const int pa = turn(p, q, a);
	const int pb = turn(p, q, b);

	if (a != p && a != q && pa == 0 && between(p, a, q))
		return true;
	if (b != p && b != q && pb == 0 && between(p, b, q))
		return true;
	if (shared)
		return (p != a && p != b && turn(a, b, p) == 0 && between(a, p, b)) ||
			   (q != a && q != b && turn(a, b, q) == 0 && between(a, q, b));
	return pa * pb <= 0 && turn(a, b, p) * turn(a, b, q) <= 0;
}

/* Returns true if the direction from corner i of the ring to v leads inside. */
static bool
inward(const ring *r, size_t i, uint32_t v)
{
	const uint32_t before = r->corner[i > 0 ? i - 1 : r->n - 1];
	const uint32_t here = r->corner[i];
	const uint32_t after = r->corner[i + 1 < r->n ? i + 1 : 0];

	if (turn(before, here, after) > 0)
		return turn(here, after, v) > 0 && turn(before, here, v) > 0;
	return turn(here, after, v) > 0 || turn(before, here, v) > 0;
}

static bool
is_free(uint32_t p, uint32_t q, const ring *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < all[i].n; j++)
			if (obstructs(p, q, all[i].corner[j], all[i].corner[j + 1 < all[i].n ? j + 1 : 0]))
				return false;
	return true;
}

/* Merges a hole with the outer ring, by a bridge that is traversed in both directions. */
static void
bridge(ring *all, size_t n)
{
	ring *outer = &all[0];
	const ring *hole = &all[n - 1];
	double area = 0;
	ring r = {NULL, 0, outer->facet, 0, 0, false};

	for (size_t j = 0; j < hole->n; j++)
	{
		const double *o = points[hole->corner[0]];
		const double *a = points[hole->corner[j]];
		const double *b = points[hole->corner[j + 1 < hole->n ? j + 1 : 0]];

		area += (a[axis[0]] - o[axis[0]]) * (b[axis[1]] - o[axis[1]]) -
				(a[axis[1]] - o[axis[1]]) * (b[axis[0]] - o[axis[0]]);
	}
	for (size_t i = 0; i < outer->n; i++)
		for (size_t j = 0; j < hole->n; j++)
		{
			if (!inward(outer, i, hole->corner[j]) ||
				!is_free(outer->corner[i], hole->corner[j], all, n))
				continue;
			r.corner = malloc((outer->n + hole->n + 2) * sizeof(*r.corner));
			if (r.corner == NULL)
				plc_die(4, "no memory for facet", outer->facet);
			for (size_t k = 0; k <= i; k++)
				r.corner[r.n++] = outer->corner[k];
			for (size_t k = 0; k <= hole->n; k++)
				r.corner[r.n++] = hole->corner[(area < 0 ? j + k : j + 2 * hole->n - k) % hole->n];
			for (size_t k = i; k < outer->n; k++)
				r.corner[r.n++] = outer->corner[k];
			*outer = r;
			return;
		}
	plc_die(3, "a hole is not inside: facet", outer->facet);
}

static bool
is_ear(const ring *r, size_t i)
{
	const uint32_t a = r->corner[i > 0 ? i - 1 : r->n - 1];
	const uint32_t b = r->corner[i];
	const uint32_t c = r->corner[i + 1 < r->n ? i + 1 : 0];

	if (turn(a, b, c) <= 0)
		return false;
	for (size_t j = 0; j < r->n; j++)
	{
		const uint32_t v = r->corner[j];

		if (v != a && v != b && v != c && turn(a, b, v) >= 0 && turn(b, c, v) >= 0 &&
			turn(c, a, v) >= 0)
			return false;
	}
	return true;
}

/* Triangulates a polygon: as a fan if it is convex, otherwise by ears. */
static void
cut(ring *r)
{
	bool fan = true;

	for (size_t i = 0; i < r->n && fan; i++)
	{
		const uint32_t b = r->corner[(i + 1) % r->n];
		const uint32_t c = r->corner[(i + 2) % r->n];

		fan = turn(r->corner[i], b, c) >= 0 && (i + 2 >= r->n || turn(r->corner[0], b, c) > 0);
	}
	if (fan)
	{
		for (size_t i = 1; i + 1 < r->n; i++)
			add_triangle(r->corner[0], r->corner[i], r->corner[i + 1]);
		return;
	}
	for (size_t i = 0, tried = 0; r->n >= 3; i = i + 1 < r->n ? i + 1 : 0)
	{
		if (!is_ear(r, i))
		{
			if (++tried > r->n)
				plc_die(3, "no simple polygon: facet", r->facet);
			continue;
		}
		add_triangle(r->corner[i > 0 ? i - 1 : r->n - 1], r->corner[i],
					 r->corner[i + 1 < r->n ? i + 1 : 0]);
		r->n--;
		memmove(r->corner + i, r->corner + i + 1, (r->n - i) * sizeof(*r->corner));
		tried = 0;
		if (r->n == 2)
			break;
	}
}

static void
triangulate(double may_bend)
{
	size_t bent = 0;

	for (size_t i = 0; i < nrings;)
	{
		ring *r = &rings[i];
		size_t n = 1;

		while (i + n < nrings && rings[i + n].facet == r->facet)
			n++;
		r->first = ntriangles;
		if (n == 1 && r->n == 3)
			add_triangle(r->corner[0], r->corner[1], r->corner[2]);
		else
		{
			double rounding;
			const double bend = choose_axes(r, &rounding);
			const bool split = bend > (isnan(may_bend) ? rounding : may_bend);
			ring whole = *r;

			whole.corner = malloc(r->n * sizeof(*whole.corner));
			if (whole.corner == NULL)
				plc_die(4, "no memory for facet", r->facet);
			memcpy(whole.corner, r->corner, r->n * sizeof(*whole.corner));
			bent += split;
			for (size_t left = n; left > 1; left--)
				bridge(r, left);
			cut(r);
			/* A polygon with holes has no single ring that could be written. */
			whole.split = split || n > 1;
			whole.first = r->first;
			*r = whole;
			if (split)
				for (size_t j = r->first; j < ntriangles; j++)
					facet_of[j] = (uint32_t) (nfacets + j - r->first);
		}
		r->last = ntriangles;
		nfacets = facet_of[ntriangles - 1] + (size_t) 1;
		i += n;
	}
	printf("bent_polygons %zu\n", bent);
}
void
plc_write_surface(const char *name)
{
	FILE *f = plc_create(name, "");
	size_t n = 0;

	for (size_t i = 0; i < nrings; i++)
		n += rings[i].split ? rings[i].last - rings[i].first : rings[i].last > rings[i].first;
	fprintf(f, "OFF\n%zu %zu 0\n", npoints, n);
	for (size_t i = 0; i < npoints; i++)
		fprintf(f, "%.17g %.17g %.17g\n", points[i][0], points[i][1], points[i][2]);
	for (size_t i = 0; i < nrings; i++)
	{
		const ring *r = &rings[i];

		for (size_t j = r->first; r->split && j < r->last; j++)
			fprintf(f, "3 %u %u %u\n", triangles[j][0], triangles[j][1], triangles[j][2]);
		if (r->split || r->first == r->last)
			continue;
		fprintf(f, "%zu", r->n);
		for (size_t j = 0; j < r->n; j++)
			fprintf(f, " %u", r->corner[j]);
		fputc('\n', f);
	}
	fclose(f);
}

FILE *
plc_create(const char *base, const char *end)
{
	char name[4096];
	FILE *f;

	snprintf(name, sizeof(name), "%s%s", base, end);
	f = fopen(name, "w");
	if (f == NULL)
		plc_die(2, "cannot write, errno", 0);
	return f;
}

rb_plc
plc_read(const char *file, double may_bend)
{
	const size_t length = strlen(file);
	rb_plc plc;
	text t;

	path = file;
	text_open(&t);
	if (length > 4 && strcmp(file + length - 4, ".off") == 0)
		read_off(&t);
	else
		read_poly(&t);
	weld();
	triangulate(may_bend);
	printf("points %zu\nfacets %zu\ntriangles %zu\ngiven_segments %zu\nseeds %zu\n", npoints,
		   nfacets, ntriangles, nsegments, nseeds);
	memset(&plc, 0, sizeof(plc));
	plc.npoints = (uint32_t) npoints;
	plc.ntriangles = (uint32_t) ntriangles;
	plc.nfacets = (uint32_t) nfacets;
	plc.nsegments = (uint32_t) nsegments;
	plc.nseeds = (uint32_t) nseeds;
	plc.points = points[0];
	plc.triangles = (const uint32_t(*)[3]) triangles;
	plc.facet_of = facet_of;
	plc.segments = (const uint32_t(*)[2]) segments;
	plc.seeds = seeds;
	return plc;
}

rb_plc
plc_merge(const rb_plc *plc)
{
	rb_memory *memory = rb_memory_create(UINT64_MAX);
	rb_context ctx;
	rb_welded welded;
	double began;

	if (memory == NULL)
		plc_die(4, "no memory", 0);
	rb_context_init(&ctx, memory);
	began = tets_now();
	if (rb_weld_plc(&ctx, plc, &welded) != RB_OK ||
		rb_weld_merge(&ctx, &welded, (rb_merging){.kind = RB_MERGE_COPLANAR}) != RB_OK)
		plc_die(4, "cannot be merged", 0);
	printf("merged_facets %u\nms_merge %.3f\n", welded.plc.nfacets, tets_now() - began);
	return welded.plc;
}
