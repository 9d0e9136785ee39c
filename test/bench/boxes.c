/*
 * boxes.c
 *	  Boxes to join, after section 6 of Lo, Lee, Chung, Chung: Optimizing Pairwise
 *	  Box Intersection Checking on GPUs for Large-Scale Simulations (2013), and the
 *	  checksums of a set of pairs.
 *
 *		boxes WORKLOAD N SEED		rows "id,lx,ly,lz,hx,hy,hz", ids from 0
 *		boxes --sum					reads rows "i,j", prints "count mix ij"
 *		boxes --sum-self			the same; of each row the smaller number is i
 *
 * WORKLOAD:
 *		uniform		centres uniform in a cube of side 10000, edges from 1 to 100
 *		gauss		centres normal around its middle, sigma 1000
 *		doc:D		uniform, edges scaled so that the boxes' volume is D times the cube's
 *		doct3:D		uniform, edges from 0 to L, L^3 = D times the cube's volume / N
 *
 * The numbers are the same on every machine: a random number is a hash of its
 * place, R(seed, j) = mix(seed + (j + 1) * golden), of splitmix64; U = its upper
 * 53 bits, and a half, times 2^-53; every step after that is one rounded
 * operation, no contraction, of libm sqrt alone (and a cube root, which is then
 * cut to 20 bits behind the point).  The normal quantile is Wichura's PPND16
 * (Algorithm AS 241, Applied Statistics, 1988), its logarithm a series.
 *
 *		box i		centre c[d] = G(U(6i + d)), edge e[d] = (1 + 99 U(6i + 3 + d)) s
 *					low = c - e / 2, high = c + e / 2
 *
 * Checksums do not depend on the order of the pairs: mix is the sum of mix(key +
 * golden), key = i 2^32 + j, ij the sum of i j, both modulo 2^64.
 */
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN UINT64_C(0x9E3779B97F4A7C15)
#define SIDE 10000.0
#define VOLUME 1e12
#define MEAN_EDGE_CUBED 128787.625 /* 50.5^3 */

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

/* log(m 2^k) = k log 2 + 2 atanh((m - 1) / (m + 1)), m near 1, by its series to degree 29 */
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

/* where the normal distribution reaches u: centre, and the two parts of a tail */
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

static int
generate(const char *workload, uint64_t n, uint64_t seed)
{
	int gauss = strcmp(workload, "gauss") == 0;
	int table3 = strncmp(workload, "doct3:", 6) == 0;
	double scale = 1;

	if (table3)
		scale = floor(cbrt(atof(workload + 6) * VOLUME / (double) n) * 0x1p20 + 0.5) * 0x1p-20;
	else if (strncmp(workload, "doc:", 4) == 0)
		scale = floor(cbrt(atof(workload + 4) * VOLUME / ((double) n * MEAN_EDGE_CUBED)) * 0x1p20 +
					  0.5) *
				0x1p-20;
	else if (!gauss && strcmp(workload, "uniform") != 0)
		return 1;
	for (uint64_t i = 0; i < n; i++)
	{
		double low[3], high[3];

		for (int d = 0; d < 3; d++)
		{
			double at = uniform(seed, 6 * i + (uint64_t) d);
			double size = uniform(seed, 6 * i + 3 + (uint64_t) d);
			double centre = gauss ? SIDE / 2 + 1000 * quantile(at) : SIDE * at;
			double half = 0.5 * ((table3 ? size : 1.0 + 99.0 * size) * scale);

			low[d] = centre - half;
			high[d] = centre + half;
		}
		printf("%" PRIu64 ",%.17g,%.17g,%.17g,%.17g,%.17g,%.17g\n", i, low[0], low[1], low[2],
			   high[0], high[1], high[2]);
	}
	return 0;
}

static int
sum(int self)
{
	uint64_t i, j, n = 0, sum_mix = 0, sum_ij = 0;

	while (scanf("%" SCNu64 ",%" SCNu64, &i, &j) == 2)
	{
		if (self && i > j)
		{
			uint64_t other = i;

			i = j;
			j = other;
		}
		n++;
		sum_mix += mix((i << 32 | j) + GOLDEN);
		sum_ij += i * j;
	}
	printf("%" PRIu64 " %016" PRIx64 " %" PRIu64 "\n", n, sum_mix, sum_ij);
	return !feof(stdin);
}

int
main(int argc, char **argv)
{
	int rc = 1;

	if (argc == 2 && strncmp(argv[1], "--sum", 5) == 0)
		rc = sum(strcmp(argv[1], "--sum-self") == 0);
	else if (argc == 4)
		rc = generate(argv[1], strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
	if (rc != 0)
		fprintf(stderr, "usage: boxes WORKLOAD N SEED | boxes --sum | boxes --sum-self\n");
	return rc;
}
