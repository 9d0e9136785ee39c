/*
 * section_rows.c
 *	  Returns the sections of solids by planes as geometries.
 *
 * The join sends the points of a section one after the other, as pairs of rows with a payload
 * (rb_section_mark). They are collected until the end of the section, and then written as one
 * geometry.
 */
#include "pg/exec/exec.h"

#include "core/solid/solid.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* An array of numbers or points that grows within the memory of the run */
typedef struct rb_section_array
{
	void *at;
	size_t cap; /* Capacity in bytes */
} rb_section_array;

typedef struct rb_section_rows
{
	MemoryContext row; /* Holds the values of the last output row */
	rb_block block;
	size_t next; /* Next pair in the block */
	/* The current section */
	rb_section_array line;
	rb_section_array polygon;
	rb_section_array ring;
	rb_section_array corners;
	uint32 nlines;
	uint32 npolygons;
	uint32 nrings;
	uint32 ncorners;
	uint64 emitted;
} rb_section_rows;

void
rb_sections_open(rb_cursor *rows, MemoryContext context)
{
	rows->sections = MemoryContextAllocZero(context, sizeof *rows->sections);
	rows->sections->row = AllocSetContextCreate(context, "redblue section", ALLOCSET_DEFAULT_SIZES);
}

/* Returns element n of an array, for which it makes room. */
static void *
reserve_element(rb_cursor *rows, rb_section_array *array, uint32 n, size_t size)
{
	const size_t need = ((size_t) n + 1) * size;

	if (need > array->cap)
	{
		const size_t cap = Max(need, 2 * array->cap);
		rb_error error;
		rb_status status = rb_resize(rows->run->memory, &array->at, cap, &error);

		if (status != RB_OK)
			rb_raise_of(rows->run->join->function, "section", status, &error);
		array->cap = cap;
	}
	return (char *) array->at + n * size;
}

/* Appends the start of a line, polygon or ring. */
static void
append_start(rb_cursor *rows, rb_section_array *array, uint32 *n, uint32 start)
{
	*(uint32 *) reserve_element(rows, array, *n, sizeof(uint32)) = start;
	(*n)++;
}

/* Appends a point to the current section. */
static void
append_section_point(rb_cursor *rows, rb_section_mark mark, const uint64 *value)
{
	rb_section_rows *s = rows->sections;

	if (mark == RB_SECTION_LINE)
		append_start(rows, &s->line, &s->nlines, s->ncorners);
	if (mark == RB_SECTION_POLYGON)
		append_start(rows, &s->polygon, &s->npolygons, s->nrings);
	if (mark == RB_SECTION_POLYGON || mark == RB_SECTION_RING)
		append_start(rows, &s->ring, &s->nrings, s->ncorners);
	memcpy(reserve_element(rows, &s->corners, s->ncorners, 3 * sizeof(double)), value,
		   3 * sizeof(double));
	s->ncorners++;
}

/* Writes the current section as a geometry, and starts the next one. */
static Datum
write_section(rb_cursor *rows)
{
	rb_section_rows *s = rows->sections;
	const bool flat = rows->run->call.flat;
	rb_intersection shape = {.nlines = s->nlines, .npolygons = s->npolygons, .nrings = s->nrings};

	append_start(rows, &s->line, &s->nlines, s->ncorners);
	append_start(rows, &s->polygon, &s->npolygons, s->nrings);
	append_start(rows, &s->ring, &s->nrings, s->ncorners);
	shape.line = s->line.at;
	shape.line_corners = shape.ring_corners = s->corners.at;
	shape.polygon = s->polygon.at;
	shape.ring = s->ring.at;
	s->nlines = s->npolygons = s->nrings = s->ncorners = 0;
	return rb_write_shape(&shape, rows->run->join->function,
						  flat ? 0 : rows->run->side[0].set->srid, !flat);
}

bool
rb_sections_next(rb_cursor *rows, Datum *values)
{
	rb_section_rows *s = rows->sections;

	for (;;)
	{
		const uint64 *words;
		MemoryContext old;
		size_t i;

		if (s->next == s->block.n)
		{
			s->next = s->block.n = 0;
			if (!rb_run_next(rows->run, &s->block))
				return false;
		}
		i = s->next++;
		words = s->block.payload + i * s->block.words;
		if (words[0] != RB_SECTION_END)
		{
			append_section_point(rows, (rb_section_mark) words[0], words + 1);
			continue;
		}
		MemoryContextReset(s->row);
		old = MemoryContextSwitchTo(s->row);
		values[0] = Int64GetDatum(s->block.red[i]);
		values[1] = Int64GetDatum(s->block.blue[i]);
		values[2] = write_section(rows);
		values[3] = (Datum) words[1]; /* Bits of a float8, which is passed by value */
		MemoryContextSwitchTo(old);
		rows->run->ctx.stats.stage[RB_STAGE_EMIT].count = ++s->emitted;
		return true;
	}
}
