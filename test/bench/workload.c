/*
 * workload.c
 *	  Generates objects, and computes checksums (workload.h).
 *
 *	box i		center c[d] = G(U(6i + d)), edge e[d] = (1 + 99 U(6i + 3 + d)) s
 *				low = c - e / 2, high = c + e / 2
 *
 * The normal quantile is Wichura's PPND16 (Algorithm AS 241, Applied Statistics, 1988), with its
 * logarithm computed by a series.
 *
 *	line l		a random walk of 128 steps (half its own heading, the rest random), on points with
 *				seven decimals, as in maps; its numbers are U(260 l) ... U(260 l + 259)
 */
#include "workload.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN UINT64_C(0x9E3779B97F4A7C15)
#define SIDE 10000.0
#define VOLUME 1e12
#define MEAN_EDGE_CUBED 128787.625 /* 50.5^3 */

#define MAP_SIDE 90.0
#define MAP_DECIMALS 1e7
#define LINE 128 /* segments */
#define LINE_NUMBERS (2 * LINE + 4)
#define TOWNS 1024
#define TOWN_SEED UINT64_C(1024)

enum
{
	UNIFORM,
	GAUSS,
	DOC,
	DOC_TABLE3,
	MAP
};

static uint64_t
mix(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
	return z ^ z >> 31;
}

static double
uniform(uint64_t seed, uint64_t j)
{
	return ((double) (mix(seed + (j + 1) * GOLDEN) >> 11) + 0.5) * 0x1p-53;
}

/*
 * Computes log(m 2^k) = k log 2 + 2 atanh((m - 1) / (m + 1)) for m near 1, by its series to degree
 * 29.
 */
static double
logarithm(double x)
{
	int k;
	double m = 2 * frexp(x, &k); /* in [1, 2) */
	double t, t2;
	double sum = 1.0 / 29.0;

	k--;
	if (m >= 1.4142135623730951)
	{
		m = m * 0.5;
		k++;
	}
	t = (m - 1.0) / (m + 1.0);
	t2 = t * t;
	for (int n = 27; n >= 1; n -= 2)
		sum = sum * t2 + 1.0 / (double) n;
	return (double) k * 0.69314718055994530942 + 2.0 * t * sum;
}

static double
polynomial(const double c[8], double x)
{
	double sum = c[7];

	for (int i = 6; i >= 0; i--)
		sum = sum * x + c[i];
	return sum;
}

/* Returns the quantile of the normal distribution: its center, and the two parts of a tail. */
static double
quantile(double u)
{
	static const double centre[2][8] = {
		{3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
		 1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
		 3.3430575583588128105e4, 2.5090809287301226727e3},
		{1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
		 2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
		 5.2264952788528545610e3}};
	static const double near[2][8] = {
		{1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
		 3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
		 2.27238449892691845833e-2, 7.74545014278341407640e-4},
		{1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
		 1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
		 1.05075007164441684324e-9}};
	static const double far[2][8] = {
		{6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
		 2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
		 2.71155556874348757815e-5, 2.01033439929228813265e-7},
		{1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
		 7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
		 2.04426310338993978564e-15}};
	double q = u - 0.5;
	double r, x;

	if (fabs(q) <= 0.425)
	{
		r = 0.180625 - q * q;
		return q * polynomial(centre[0], r) / polynomial(centre[1], r);
	}
	r = sqrt(-logarithm(q < 0 ? u : 1.0 - u));
	if (r <= 5.0)
		x = polynomial(near[0], r - 1.6) / polynomial(near[1], r - 1.6);
	else
		x = polynomial(far[0], r - 5.0) / polynomial(far[1], r - 5.0);
	return q < 0 ? -x : x;
}

/* Returns rb_kind_width, without linking a generator to the library. */
static int
width_of(const workload *w)
{
	return w->kind == RB_BOX3 ? 6 : 4;
}

/* ---- boxes ---- */

static void
make_box(const workload *w, uint64_t i, double *c)
{
	int dims = w->kind == RB_BOX2 ? 2 : 3;

	for (int d = 0; d < dims; d++)
	{
		double at = uniform(w->seed, 6 * i + (uint64_t) d);
		double size = uniform(w->seed, 6 * i + 3 + (uint64_t) d);
		double centre = w->shape == GAUSS ? SIDE / 2 + 1000 * quantile(at) : SIDE * at;
		double half = 0.5 * ((w->shape == DOC_TABLE3 ? size : 1.0 + 99.0 * size) * w->scale);

		c[d] = centre - half;
		c[dims + d] = centre + half;
	}
}

/* ---- the lines of a map ---- */

/* Returns a number in [-1, 1]. */
static double
both_ways(uint64_t seed, uint64_t j)
{
	return 2.0 * uniform(seed, j) - 1.0;
}

static double
on_the_map(double x)
{
	return floor(x * MAP_DECIMALS + 0.5) / MAP_DECIMALS;
}

/*
 * Computes the start of line l: anywhere, or near a town, with a probability that decreases with
 * distance.
 */
static void
line_start(const workload *w, uint64_t l, double at[2])
{
	uint64_t j = l * LINE_NUMBERS;
	uint64_t town = mix(w->seed + l) % TOWNS;

	for (int d = 0; d < 2; d++)
	{
		double u = both_ways(w->seed, j + (uint64_t) d);

		at[d] = l % 2 == 0
					? MAP_SIDE * (0.5 + 0.5 * u)
					: MAP_SIDE * uniform(TOWN_SEED, 2 * town + (uint64_t) d) + 0.5 * u * u * u;
	}
}

/* Generates the segments of line l that are among first .. end - 1. */
static void
make_line(const workload *w, uint64_t l, uint64_t first, uint64_t end, double *coords)
{
	uint64_t j = l * LINE_NUMBERS + 2;
	double heading[2] = {0.5 * both_ways(w->seed, j), 0.5 * both_ways(w->seed, j + 1)};
	double at[2];

	line_start(w, l, at);
	for (uint64_t k = 0; k < LINE && l * LINE + k < end; k++)
	{
		uint64_t i = l * LINE + k;
		double to[2];

		j += 2;
		for (int d = 0; d < 2; d++)
			to[d] = at[d] + w->scale * (heading[d] + both_ways(w->seed, j + (uint64_t) d));
		if (i >= first)
		{
			double *c = coords + 4 * (i - first);

			c[0] = on_the_map(at[0]);
			c[1] = on_the_map(at[1]);
			c[2] = on_the_map(to[0]);
			c[3] = on_the_map(to[1]);
		}
		at[0] = to[0];
		at[1] = to[1];
	}
}

/* ---- all workloads ---- */

static double
cut(double x)
{
	return floor(x * 0x1p20 + 0.5) * 0x1p-20;
}

bool
workload_parse(const char *text, rb_kind kind, workload *w)
{
	char name[64];
	char *tail;
	double n;

	memset(w, 0, sizeof(*w));
	if (sscanf(text, "%63[^,],%" SCNu64 ",%" SCNu64, name, &w->n, &w->seed) != 3)
		return false;
	tail = strrchr(name, ':');
	if (tail != NULL && strcmp(tail, ":f32") == 0)
	{
		w->f32 = true;
		*tail = '\0';
	}
	n = (double) w->n;
	w->kind = kind == RB_BOX2 ? RB_BOX2 : RB_BOX3;
	w->scale = 1;
	if (strcmp(name, "uniform") == 0)
		w->shape = UNIFORM;
	else if (strcmp(name, "gauss") == 0)
		w->shape = GAUSS;
	else if (strncmp(name, "doc:", 4) == 0)
	{
		w->shape = DOC;
		w->scale = cut(cbrt(strtod(name + 4, NULL) * VOLUME / (n * MEAN_EDGE_CUBED)));
	}
	else if (strncmp(name, "doct3:", 6) == 0)
	{
		w->shape = DOC_TABLE3;
		w->scale = cut(cbrt(strtod(name + 6, NULL) * VOLUME / n));
	}
	else if (strcmp(name, "map") == 0)
	{
		w->shape = MAP;
		w->kind = RB_SEGMENT2;
		/*
		 * With this scale, there are about as many crossings as segments, for any number of
		 * segments.
		 */
		w->scale = MAP_SIDE / sqrt(n);
	}
	else
		return false;
	return w->n < RB_MAX_OBJECTS;
}

void
workload_fill(const workload *w, uint64_t first, uint64_t n, double *coords)
{
	int width = width_of(w);

	if (w->shape == MAP)
		for (uint64_t l = first / LINE; l < (first + n + LINE - 1) / LINE; l++)
			make_line(w, l, first, first + n, coords);
	else
		for (uint64_t i = 0; i < n; i++)
			make_box(w, first + i, coords + i * (uint64_t) width);
	for (uint64_t k = 0; w->f32 && k < n * (uint64_t) width; k++)
		coords[k] = (double) (float) coords[k];
}

bool
workload_named(const char *text, rb_kind kind, rb_set *objects)
{
	workload w;
	double *coords;

	memset(objects, 0, sizeof(*objects));
	if (!workload_parse(text, kind, &w))
		return false;
	coords = malloc(sizeof(double) * (size_t) width_of(&w) * w.n + 1);
	if (coords == NULL)
		return false;
	workload_fill(&w, 0, w.n, coords);
	objects->kind = w.kind;
	objects->nparts = objects->nrows = (uint32_t) w.n;
	objects->coords = coords;
	return true;
}

/* ---- pairs ---- */

void
pair_sums_add(pair_sums *sums, const rb_pair *pairs, size_t n, bool self)
{
	const uint64_t p = 2147483647;
	pair_sums s = {n, 0, 0, 0};

	for (size_t k = 0; k < n; k++)
	{
		bool turn = self && pairs[k].red > pairs[k].blue;
		uint64_t i = turn ? pairs[k].blue : pairs[k].red;
		uint64_t j = turn ? pairs[k].red : pairs[k].blue;
		uint64_t x = (i * 1000003 + j * 7919 + 12345) % p;
		uint64_t y = x * x % p;

		s.mix += mix((i << 32 | j) + GOLDEN);
		s.ij += i * j;
		s.fifth += y * y % p * x % p;
	}
	rb_add(&sums->n, s.n);
	rb_add(&sums->mix, s.mix);
	rb_add(&sums->ij, s.ij);
	rb_add(&sums->fifth, s.fifth);
}

bool
workload_truth(const char *file, const char *join, const char *text, pair_sums *truth)
{
	FILE *in = fopen(file, "r");
	char line[300];
	bool found = false;

	if (in == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), in) != NULL)
	{
		char row_join[8], name[64], row_text[96];
		uint64_t n;

		memset(truth, 0, sizeof(*truth));
		if (sscanf(line, "%7s %63s %" SCNu64 " %" SCNu64 " %" SCNx64 " %" SCNu64, row_join, name,
				   &n, &truth->n, &truth->mix, &truth->ij) != 6)
			continue;
		snprintf(row_text, sizeof(row_text), "%s,%" PRIu64, name, n);
		found = strcmp(row_join, join) == 0 && strcmp(row_text, text) == 0;
	}
	fclose(in);
	return found;
}
