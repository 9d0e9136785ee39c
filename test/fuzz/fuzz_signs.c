/*
 * fuzz_signs.c
 *	  Fuzzes the exact signs: the bytes are the doubles of five points.
 *
 * Each step of the cascade and each predicate must agree with rationals. Numbers that are not
 * finite are made finite by clearing a bit of the exponent.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "naive.h"
#include "core/exact/gmp_exact.h"
#include "core/exact/insphere.h"
#include "core/exact/orient.h"
#include "core/base/redblue.h"

extern int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static double room[RB_EXPANSION_ROOM];

static void
expect(int sign, int truth, const char *what)
{
	if (sign == truth)
		return;
	fprintf(stderr, "%s: %d, not %d\n", what, sign, truth);
	abort();
}

static void
expect_or_unsure(int sign, int truth, const char *what)
{
	if (sign != RB_UNSURE)
		expect(sign, truth, what);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	double p[15] = {0};
	const double *a = p, *b = p + 3, *c = p + 6, *d = p + 9;
	int truth;
	int i;

	memcpy(p, bytes, len < sizeof p ? len : sizeof p);
	for (i = 0; i < 15; i++)
	{
		uint64_t bits;

		memcpy(&bits, &p[i], sizeof bits);
		if (rb_exponent(p[i]) == 2047)
			bits ^= (uint64_t) 1 << 52;
		memcpy(&p[i], &bits, sizeof bits);
	}

	truth = naive_orient3d(a, b, c, d);
	expect_or_unsure(rb_orient3d_filter(a, b, c, d), truth, "orient3d filter");
	expect_or_unsure(rb_orient3d_interval(a, b, c, d), truth, "orient3d interval");
	expect_or_unsure(rb_orient3d_integer(a, b, c, d), truth, "orient3d integer");
	expect_or_unsure(rb_orient3d_expansion(a, b, c, d, room), truth, "orient3d expansion");
	expect(rb_gmp_orient3d(a, b, c, d), truth, "orient3d GMP");
	expect(rb_orient3d(a, b, c, d), truth, "orient3d");
	expect(rb_orient3d(d, b, c, a), -truth, "orient3d, swapped");

	truth = naive_orient2d(p, p + 2, p + 4);
	expect_or_unsure(rb_orient2d_filter(p[0], p[1], p[2], p[3], p[4], p[5]), truth,
					 "orient2d filter");
	expect_or_unsure(rb_orient2d_interval(p[0], p[1], p[2], p[3], p[4], p[5]), truth,
					 "orient2d interval");
	expect_or_unsure(rb_orient2d_integer(p[0], p[1], p[2], p[3], p[4], p[5]), truth,
					 "orient2d integer");
	expect_or_unsure(rb_orient2d_expansion(p[0], p[1], p[2], p[3], p[4], p[5], room), truth,
					 "orient2d expansion");
	expect(rb_gmp_orient2d(p[0], p[1], p[2], p[3], p[4], p[5]), truth, "orient2d GMP");
	expect(rb_orient2d(p, p + 2, p + 4), truth, "orient2d");

	truth = naive_incircle(p, p + 2, p + 4, p + 6);
	expect(rb_incircle(p, p + 2, p + 4, p + 6), truth, "incircle");
	expect(rb_gmp_incircle(p, p + 2, p + 4, p + 6), truth, "incircle GMP");

	truth = naive_insphere(a, b, c, d, p + 12);
	expect_or_unsure(rb_insphere_filter(a, b, c, d, p + 12), truth, "insphere filter");
	expect_or_unsure(rb_insphere_filter_fine(a, b, c, d, p + 12), truth, "insphere fine filter");
	expect_or_unsure(rb_insphere_interval(a, b, c, d, p + 12), truth, "insphere interval");
	expect_or_unsure(rb_insphere_integer(a, b, c, d, p + 12), truth, "insphere integer");
	expect(rb_insphere(a, b, c, d, p + 12), truth, "insphere");
	expect(rb_gmp_insphere(a, b, c, d, p + 12), truth, "insphere GMP");
	return 0;
}
