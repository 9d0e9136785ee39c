/*
 * cdt.c
 *	  A file becomes a PLC, and that tetrahedra: how many, in what time, with how much memory; or
 *	  what is wrong with it.
 *
 *		cdt [-k hull|inside] [-o BASE] [-p FILE] [-s BEND] [-t N] [-m MB] [-c] [-h] FILE
 *
 * FILE is TetGen's .poly or .off, with triangles or polygons.  A facet is a polygon of it, also
 * with holes where a .poly has them; polygons of two corners are segments; seeds of holes and of
 * regions are those of the .poly.  Equal points are made one.
 *
 *		-k	which tetrahedra: all to the hull, or those that facets shut off (this is the default)
 *		-o	writes BASE.node, .ele, .face and .edge, as TetGen does, numbers from 0, digits enough
 *			that all doubles come back
 *		-p	writes the facets as .off, those with holes as triangles
 *		-s	a polygon whose corners lie farther from its plane than that becomes a facet for each
 *			of its triangles; else it is one facet, and where it is cut does not matter.  The
 *			default is what rounding of its coordinates can do; -1: all do
 *		-t	so many times; times are the smallest ones
 *		-m	memory limit
 *		-c	looks at what the result says of itself: links, signs, parents, chains of edges
 *		-h	a hash of all that there is in the result
 *
 * It prints a name and a value a line.  It ends with 0; 1: the check found something; 2: no
 * such file, or one that cannot be read; 3: refused, with a flaw; 4: any other failure.
 */
#include "core/base/redblue.h"
#include "mesh/rb_tetrahedralize.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *path;

static void
die(int rc, const char *what, size_t number)
{
	printf("%s %s %zu\n", rc == 3 ? "flaw" : "fault", what, number);
	fprintf(stderr, "cdt: %s: %s %zu\n", path, what, number);
	exit(rc);
}

/* an array with room for one more, in steps that double */
static void *
grown(void *old, size_t n, size_t size)
{
	void *p = old;

	if ((n & (n - 1)) == 0)
	{
		p = realloc(old, (n ? 2 * n : 1) * size);
		if (p == NULL)
			die(4, "no memory for element", n);
	}
	return p;
}

/* ---- numbers of a text, line by line ---- */

typedef struct text
{
	char *bytes;
	char *next;
	double *word; /* of the line at hand */
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
		die(2, "cannot be opened", 0);
	do
	{
		t->bytes = realloc(t->bytes, n + (1 << 20) + 1);
		if (t->bytes == NULL)
			die(4, "no memory for byte", n);
		got = fread(t->bytes + n, 1, 1 << 20, f);
		n += got;
	} while (got > 0);
	fclose(f);
	t->bytes[n] = '\0';
	t->next = t->bytes;
}

/* the next line that has numbers; what is after # or a word is not looked at */
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
		die(2, "too few numbers in line", t->line);
}

static size_t
text_count(const text *t, size_t i)
{
	double x = i < t->n ? t->word[i] : 0;

	if (!(x >= 0 && x < 4e9) || x != floor(x))
		die(2, "no count in line", t->line);
	return (size_t) x;
}

/* ---- what is in a file ---- */

typedef struct ring
{
	uint32_t *corner;
	size_t n;
	size_t facet; /* the first ring of a facet is its outer one */
	size_t first; /* of its triangles, once there are some */
	size_t last;
	bool split; /* each of them is a facet */
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

/* n corners from word `at` on, in more lines if need be */
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
			die(2, "no such point in line", t->line);
		r.corner[r.n++] = (uint32_t) (text_count(t, at++) - first);
	}
	return r;
}

static void
read_points(text *t, size_t n, size_t skip, size_t *first)
{
	points = malloc((n + 1) * sizeof(*points));
	if (points == NULL)
		die(4, "no memory for point", n);
	for (npoints = 0; npoints < n; npoints++)
	{
		text_need(t, skip + 3);
		if (npoints == 0 && skip > 0)
			*first = text_count(t, 0);
		for (int k = 0; k < 3; k++)
		{
			/* a zero has no sign: it is the same point */
			points[npoints][k] = t->word[skip + (size_t) k] + 0.0;
			if (!isfinite(points[npoints][k]))
				die(3, "not finite: point", npoints);
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
			die(2, "several polygons, but not as many holes: facet", i);
	}
	/* holes, then regions; both may be left out */
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
		die(4, "no memory for point", npoints);
	for (size_t i = 0; i < npoints; i++)
		order[i] = (uint32_t) i;
	qsort(order, npoints, sizeof(*order), by_place);
	for (size_t i = 0; i < npoints; i++)
	{
		const bool same =
			i > 0 && memcmp(points[order[i]], points[order[i - 1]], sizeof(*points)) == 0;

		to[order[i]] = same ? to[order[i - 1]] : order[i];
	}
	/* the first of equal ones has the smallest number, so it has its new one before the others */
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
			die(3, "no area: facet", r->facet);
		r->n = n;
	}
	for (size_t i = 0; i < nsegments; i++)
	{
		segments[i][0] = to[segments[i][0]];
		segments[i][1] = to[segments[i][1]];
		if (segments[i][0] == segments[i][1])
			die(3, "no length: segment", i);
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

/* the axes that are kept; on them the outer ring turns left */
static int axis[2];

static int
turn(uint32_t a, uint32_t b, uint32_t c)
{
	const double p[2] = {points[a][axis[0]], points[a][axis[1]]};
	const double q[2] = {points[b][axis[0]], points[b][axis[1]]};
	const double r[2] = {points[c][axis[0]], points[c][axis[1]]};

	return rb_orient2d(p, q, r);
}

/* Answers how far its corners lie from one plane, and says what of that rounding can do. */
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

/* is b on the closed segment from a to c?  The three are collinear. */
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

/* do the segments pq and ab have more in common than ends? */
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

/* at corner i of the ring, does the way to v lead inside? */
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

/* a hole and the outer ring become one ring, over a bridge that is passed in both directions */
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
				die(4, "no memory for facet", outer->facet);
			for (size_t k = 0; k <= i; k++)
				r.corner[r.n++] = outer->corner[k];
			for (size_t k = 0; k <= hole->n; k++)
				r.corner[r.n++] = hole->corner[(area < 0 ? j + k : j + 2 * hole->n - k) % hole->n];
			for (size_t k = i; k < outer->n; k++)
				r.corner[r.n++] = outer->corner[k];
			*outer = r;
			return;
		}
	die(3, "a hole is not inside: facet", outer->facet);
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

/* a fan, where all of it turns the same way; else ear after ear */
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
				die(3, "no simple polygon: facet", r->facet);
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
				die(4, "no memory for facet", r->facet);
			memcpy(whole.corner, r->corner, r->n * sizeof(*whole.corner));
			bent += split;
			for (size_t left = n; left > 1; left--)
				bridge(r, left);
			cut(r);
			/* with holes there is no ring of it that could be written */
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

/* ---- what came of it ---- */

static FILE *
create(const char *base, const char *end)
{
	char name[4096];
	FILE *f;

	snprintf(name, sizeof(name), "%s%s", base, end);
	f = fopen(name, "w");
	if (f == NULL)
		die(2, "cannot write, errno", 0);
	return f;
}

static void
write_surface(const char *name)
{
	FILE *f = create(name, "");
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

static void
write_tets(const char *base, const rb_tets *r)
{
	FILE *f = create(base, ".node");

	fprintf(f, "%u 3 0 0\n", r->npoints);
	for (uint32_t i = 0; i < r->npoints; i++)
	{
		const double *p = r->points + 3 * (size_t) i;

		fprintf(f, "%u %.17g %.17g %.17g\n", i, p[0], p[1], p[2]);
	}
	fclose(f);
	f = create(base, ".ele");
	fprintf(f, "%u 4 1\n", r->ntets);
	for (uint32_t i = 0; i < r->ntets; i++)
		fprintf(f, "%u %u %u %u %u %" PRId64 "\n", i, r->tets[i][0], r->tets[i][1], r->tets[i][2],
				r->tets[i][3], r->region[i]);
	fclose(f);
	f = create(base, ".face");
	fprintf(f, "%u 1\n", r->nfaces);
	for (uint32_t i = 0; i < r->nfaces; i++)
		fprintf(f, "%u %u %u %u %u\n", i, r->faces[i][0], r->faces[i][1], r->faces[i][2],
				r->face_facet[i]);
	fclose(f);
	f = create(base, ".edge");
	fprintf(f, "%u 1\n", r->nedges);
	for (uint32_t i = 0; i < r->nedges; i++)
		fprintf(f, "%u %u %u %u\n", i, r->edges[i][0], r->edges[i][1], r->edge_segment[i]);
	fclose(f);
}

/* FNV-1a */
static uint64_t
hashed(uint64_t h, const void *bytes, size_t n)
{
	const uint8_t *b = bytes;

	for (size_t i = 0; i < n; i++)
		h = (h ^ b[i]) * UINT64_C(0x100000001b3);
	return h;
}

static uint64_t
hash_of(const rb_tets *r)
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

/* do tetrahedra and links, which are the halves of a face, agree? */
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

/* the edges of a segment are in each point but its ends twice, each time the other way round */
static void
check_segments(const rb_tets *r)
{
	uint32_t *count = calloc((size_t) r->nsegments + 1, sizeof(*count));
	uint32_t *sum = calloc((size_t) r->nsegments + 1, sizeof(*sum));
	uint32_t *inner = calloc((size_t) r->nsegments + 1, sizeof(*inner));

	if (count == NULL || sum == NULL || inner == NULL)
		die(4, "no memory for segment", r->nsegments);
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

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e3 * (double) t.tv_sec + 1e-6 * (double) t.tv_nsec;
}

typedef struct options
{
	rb_keep keep;
	const char *out;
	const char *surface;
	int times;
	uint64_t limit;
	double may_bend; /* NAN: as rounding does */
	bool check;
	bool hash;
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
		rb_flaw flaw = {RB_FLAW_NONE, RB_NONE, RB_NONE, {0, 0, 0}};
		rb_status status;
		double began;
		double took[5];

		if (memory == NULL)
			die(4, "no memory", 0);
		rb_context_init(&ctx, memory);
		began = now();
		status = rb_tetrahedralize(&ctx, plc, o->keep, &r, &flaw);
		took[0] = now() - began;
		if (status == RB_BAD_PLC)
		{
			printf("flaw %s %" PRId64 " %" PRId64 " at %.17g %.17g %.17g\n",
				   flaw.kind < sizeof(flaw_text) / sizeof(*flaw_text) ? flaw_text[flaw.kind] : "?",
				   flaw.a == RB_NONE ? -1 : (int64_t) flaw.a,
				   flaw.b == RB_NONE ? -1 : (int64_t) flaw.b, flaw.at[0], flaw.at[1], flaw.at[2]);
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
		/* the same each time, or the hashes tell */
		if (o->hash)
			printf("hash %016" PRIx64 "\n", hash_of(&r));
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
				write_tets(o->out, &r);
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
	options o = {RB_KEEP_INSIDE, NULL, NULL, 1, UINT64_MAX, NAN, false, false};
	rb_plc plc;
	text t;
	size_t length;

	for (int i = 1; i < argc; i++)
	{
		const char *a = argv[i];
		const bool valued = a[0] == '-' && a[1] != '\0' && strchr("kopmst", a[1]) != NULL;

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
		else if (strcmp(a, "-s") == 0)
			o.may_bend = atof(argv[++i]);
		else if (strcmp(a, "-m") == 0)
			o.limit = (uint64_t) (atof(argv[++i]) * 1048576);
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
			"usage: cdt [-k hull|inside] [-o BASE] [-p FILE] [-s BEND] [-t N] [-m MB] [-c] [-h] "
			"FILE.poly|FILE.off\n");
		return 2;
	}
	text_open(&t);
	length = strlen(path);
	if (length > 4 && strcmp(path + length - 4, ".off") == 0)
		read_off(&t);
	else
		read_poly(&t);
	weld();
	triangulate(o.may_bend);
	printf("points %zu\nfacets %zu\ntriangles %zu\ngiven_segments %zu\nseeds %zu\n", npoints,
		   nfacets, ntriangles, nsegments, nseeds);
	if (o.surface != NULL)
		write_surface(o.surface);
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
	/* what the program holds is read once and goes with it */
	return run(&plc, &o);
}
