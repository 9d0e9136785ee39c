/*
 * fuzz_faces.c
 *	  Fuzzes faces: bytes are corners on a small grid, so that many coincide.
 *
 * For any rings, reading must end, parts must consist of stored corners, and the reversed face must
 * have the same triangles.
 *
 *	byte 0: size of the grid (bits 0 to 2), the flat axis (3, 4), a tolerance (5)
 *	then two bytes per corner: x and y in the low bits; the highest bit of x ends a ring, that of y
 *	lifts the corner off the plane
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/redblue.h"

extern int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define MOST 120

static double corner[MOST][3];
static int ends[MOST];
static int nrings;

static void
must(int condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

/* Reads the face as a POLYGON Z in the serialized form, with its rings forward or backward. */
static rb_geometry_fault
read_face(rb_builder *b, int back)
{
	uint8_t bytes[16 + MOST * (4 + 48)];
	size_t len = 12 + 4 * (size_t) (nrings + nrings % 2);
	const uint32_t head[2] = {3, (uint32_t) nrings};
	rb_geometry_info info;
	rb_geometry_fault fault;
	rb_error error;

	memset(bytes, 0, len);
	bytes[3] = 0x41;
	memcpy(bytes + 4, head, sizeof head);
	for (int r = 0, start = 0; r < nrings; start = ends[r++])
	{
		uint32_t n = (uint32_t) (ends[r] - start);
		uint32_t points = n + 1;

		memcpy(bytes + 12 + 4 * r, &points, sizeof points);
		for (uint32_t i = 0; i <= n; i++, len += 24)
			memcpy(bytes + len, corner[start + (int) ((back ? 2 * n - i : i) % n)], 24);
	}
	fault = rb_geometry_read_serialized(b, bytes, len, &info, &error);
	must(fault == RB_GEOMETRY_OK || b->nparts == 0, "parts in spite of a fault");
	must(fault != RB_GEOMETRY_MALFORMED && fault != RB_GEOMETRY_NO_MEMORY, "a fault of ours");
	return fault;
}

/* Returns the area in two axes, as an integer. */
static double
area(const rb_builder *b, int x, int y)
{
	double sum = 0;

	for (uint32_t i = 0; i < b->nparts; i++)
	{
		const double *t = b->coords + (size_t) i * 9;

		sum += fabs((t[3 + x] - t[x]) * (t[6 + y] - t[y]) - (t[3 + y] - t[y]) * (t[6 + x] - t[x]));
	}
	return sum;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	rb_memory *memory;
	rb_builder there, back;
	rb_geometry_fault fault;
	int n = 0;

	if (len < 3)
		return 0;
	nrings = 0;
	for (size_t i = 1; i + 1 < len && n < MOST; i += 2)
	{
		const double size = 1 + (bytes[0] & 7) * 4;
		const int flat = (bytes[0] >> 3) % 4 % 3;
		double *c = corner[n++];

		c[flat] = bytes[i + 1] & 0x80 ? 0.25 : 0;
		c[(flat + 1) % 3] = fmod(bytes[i] & 0x7f, size);
		c[(flat + 2) % 3] = fmod(bytes[i + 1] & 0x7f, size);
		if (bytes[i] & 0x80)
			ends[nrings++] = n;
	}
	if (nrings == 0 || ends[nrings - 1] != n)
		ends[nrings++] = n;

	memory = rb_memory_create((uint64_t) 64 << 20);
	rb_builder_init(&there, memory, RB_TRIANGLE3);
	rb_builder_init(&back, memory, RB_TRIANGLE3);
	there.face_tolerance = back.face_tolerance = bytes[0] & 0x20 ? 0.1 : -1;
	fault = read_face(&there, 0);
	for (uint32_t i = 0; i < 3 * there.nparts; i++)
	{
		int found = 0;

		for (int k = 0; k < n && !found; k++)
			found = memcmp(there.coords + (size_t) i * 3, corner[k], 24) == 0;
		must(found, "a corner that was not stored");
	}
	/* The first fault may be another one. */
	must((read_face(&back, 1) == RB_GEOMETRY_OK) == (fault == RB_GEOMETRY_OK), "another answer");
	must(there.nparts == back.nparts, "another number of parts");
	for (int k = 0; k < 3; k++)
		must(area(&there, k, (k + 1) % 3) == area(&back, k, (k + 1) % 3), "other triangles");
	rb_builder_free(&there);
	rb_builder_free(&back);
	must(rb_memory_used(memory) == 0, "memory left");
	rb_memory_destroy(memory);
	return 0;
}
