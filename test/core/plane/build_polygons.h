/*
 * build_polygons.h
 *	  Builds sets of polygons ring by ring.
 */
#ifndef BUILD_POLYGONS_H
#define BUILD_POLYGONS_H

#include "core/plane/plane.h"

#include <string.h>

#include "check.h"

static rb_memory *memory;
static rb_context ctx;
static rb_builder builder;

/* ---- polygons ---- */

/* Adds a ring of n points to the row under construction, as the reader of geometries does. */
static inline void
add_ring(bool shell, const double *xy, uint32_t n)
{
	const uint32_t marks = shell ? RB_MARKS_OF_SHELL : RB_MARKS_OF_HOLE;
	rb_error error;

	CHECK(rb_builder_reserve(&builder, n + marks, &error) == RB_OK, "no memory");
	for (uint32_t i = 0; i < marks + n; i++)
	{
		const uint32_t from = i < marks ? 0 : i - marks, to = i < marks ? 0 : (from + 1) % n;
		double *e = builder.coords + 4 * (size_t) builder.nparts++;

		memcpy(e, xy + 2 * (size_t) from, 2 * sizeof *e);
		memcpy(e + 2, xy + 2 * (size_t) to, 2 * sizeof *e);
	}
}

static inline void
add_square(bool shell, double x, double y, double size)
{
	const double xy[] = {x, y, x + size, y, x + size, y + size, x, y + size};

	add_ring(shell, xy, 4);
}

static inline void
end_row(int64_t id)
{
	rb_error error;

	CHECK(rb_builder_end_row(&builder, id, &error) == RB_OK, "no memory");
}

static inline const rb_set *
end_polygons(void)
{
	const rb_set *set = NULL;
	rb_error error;

	CHECK(rb_builder_finish(&builder, &set, &error) == RB_OK, "no set");
	rb_builder_free(&builder);
	rb_builder_init(&builder, memory, RB_EDGE2);
	return set;
}

#endif /* BUILD_POLYGONS_H */
