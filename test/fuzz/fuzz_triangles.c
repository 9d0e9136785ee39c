/*
 * fuzz_triangles.c
 *	  Fuzzes the triangle test: the bytes are the 18 doubles of two triangles.
 *
 * The result must be that of the naive implementation on rationals, for any order of sides and
 * corners. The first byte selects the numbers: any finite doubles, or small integers, for which
 * everything touches.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "naive.h"
#include "core/base/redblue.h"

extern int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void
expect(bool answer, bool truth, const char *what)
{
	if (answer == truth)
		return;
	fprintf(stderr, "%s: %d, not %d\n", what, answer, truth);
	abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	double p[18] = {0}, q[18];
	bool truth;

	if (len < 1)
		return 0;
	if (bytes[0] & 1)
		for (size_t i = 0; i < 18; i++)
			p[i] = i + 1 < len ? (bytes[i + 1] & 7) - 3 : 0;
	else
		memcpy(p, bytes + 1, len - 1 < sizeof p ? len - 1 : sizeof p);
	for (int i = 0; i < 18; i++)
	{
		if (!isfinite(p[i]))
			p[i] = 0;
		if (bytes[0] & 2)
			p[i] = ldexp(p[i], (bytes[0] >> 2) - 32);
		if (!isfinite(p[i]))
			p[i] = 1;
	}
	truth = naive_hulls_meet(p, 3, p + 9, 3, 3);
	expect(rb_triangles_meet(p, p + 9), truth, "red, blue");
	expect(rb_triangles_meet(p + 9, p), truth, "blue, red");
	for (int i = 0; i < 18; i++)
		q[i] = p[9 * (i / 9) + 3 * (2 - i % 9 / 3) + i % 3];
	expect(rb_triangles_meet(q, q + 9), truth, "corners reversed");
	for (int i = 0; i < 9; i++)
		q[i] = p[(i + 3) % 9];
	expect(rb_triangles_meet(q, q + 9), truth, "corners rotated");
	return 0;
}
