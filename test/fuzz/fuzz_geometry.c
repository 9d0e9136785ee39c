/*
 * fuzz_geometry.c
 *	  Fuzzes the reader of geometry bytes: the first byte selects form and kind, the rest is the
 *	  geometry.
 *
 * The reader must not read beyond the bytes, must append nothing if it finds a fault, and must
 * return only finite numbers. Its result must not depend on the address of the bytes, or on what
 * was read before.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/redblue.h"

extern int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void
must(int condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

static rb_geometry_fault
read_one(rb_builder *b, int ewkb, const uint8_t *bytes, size_t len, rb_geometry_info *info)
{
	rb_error error;
	rb_geometry_fault fault;
	uint32_t before = b->nparts;

	memset(info, 0, sizeof *info);
	fault = ewkb ? rb_geometry_read_ewkb(b, bytes, len, info, &error)
				 : rb_geometry_read_serialized(b, bytes, len, info, &error);
	must(fault == RB_GEOMETRY_OK || b->nparts == before, "parts in spite of a fault");
	must(rb_geometry_type_name(info->type) != NULL, "no type name");
	return fault;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	rb_memory *memory;
	rb_builder b;
	rb_error error;
	rb_geometry_info info, again;
	rb_geometry_fault fault, second;
	uint8_t *copy;
	uint32_t parts;
	int ewkb;

	if (len < 1)
		return 0;
	ewkb = bytes[0] & 1;
	memory = rb_memory_create((uint64_t) 64 << 20);
	rb_builder_init(&b, memory, (rb_kind) ((bytes[0] >> 1) % RB_KINDS));

	/* A separate block of exactly this size, at an odd address */
	copy = malloc(len);
	memcpy(copy, bytes, len);
	fault = read_one(&b, ewkb, copy + 1, len - 1, &info);
	parts = b.nparts;
	must(parts <= len / 8, "more parts than the bytes can hold");
	for (size_t i = 0; i < (size_t) parts * (size_t) b.width; i++)
		must(isfinite(b.coords[i]), "a number that is not finite");
	if (b.kind == RB_BOX3 || b.kind == RB_BOX2)
	{
		must(parts <= 1, "more than one box");
		for (int i = 0; parts == 1 && i < b.width / 2; i++)
			must(b.coords[i] <= b.coords[b.width / 2 + i], "a box upside down");
	}
	must(rb_builder_end_row(&b, 1, &error) == RB_OK, "end of the row");

	/* A second time, into a builder that is not empty */
	second = read_one(&b, ewkb, copy + 1, len - 1, &again);
	must(second == fault && again.srid == info.srid && again.type == info.type, "another answer");
	must(b.nparts == 2 * parts, "another number of parts");
	if (parts > 0)
		must(memcmp(b.coords, b.coords + (size_t) parts * b.width,
					(size_t) parts * b.width * sizeof(double)) == 0,
			 "other coordinates");

	free(copy);
	rb_builder_free(&b);
	must(rb_memory_used(memory) == 0, "memory left");
	rb_memory_destroy(memory);
	return 0;
}
