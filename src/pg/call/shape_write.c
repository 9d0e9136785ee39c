/*
 * shape_write.c
 *	  Writes the intersection of two objects (src/core/intersection) as a geometry.
 */
#include "pg/call/gserialized_write.h"

static void
write_points(rb_writer *w, const double *corners, uint32 from, uint32 to)
{
	for (uint32 i = from; i < to; i++)
		rb_write_point(w, corners + 3 * (Size) i);
}

static void
write_line(rb_writer *w, const rb_intersection *s, uint32 i)
{
	rb_write_node(w, RB_TYPE_LINE, s->line[i + 1] - s->line[i]);
	write_points(w, s->line_corners, s->line[i], s->line[i + 1]);
}

static void
write_polygon(rb_writer *w, const rb_intersection *s, uint32 i)
{
	const uint32 first = s->polygon[i], n = s->polygon[i + 1] - first;
	uint32 *sizes = palloc(n * sizeof *sizes);

	for (uint32 k = 0; k < n; k++)
		sizes[k] = s->ring[first + k + 1] - s->ring[first + k];
	rb_write_node(w, RB_TYPE_POLYGON, n);
	rb_write_rings(w, sizes, n);
	write_points(w, s->ring_corners, s->ring[first], s->ring[first + n]);
	pfree(sizes);
}

Datum
rb_write_shape(const rb_intersection *s, const char *function, int32 srid, bool has_z)
{
	const int kinds = (s->npoints > 0) + (s->nlines > 0) + (s->npolygons > 0);
	rb_writer w;

	rb_write_begin(&w, function, srid, has_z);
	if (kinds != 1)
		rb_write_node(&w, RB_TYPE_COLLECTION, s->npoints + s->nlines + s->npolygons);
	else if (s->npoints > 1)
		rb_write_node(&w, RB_TYPE_MULTIPOINT, s->npoints);
	else if (s->nlines > 1)
		rb_write_node(&w, RB_TYPE_MULTILINE, s->nlines);
	else if (s->npolygons > 1)
		rb_write_node(&w, RB_TYPE_MULTIPOLYGON, s->npolygons);
	for (uint32 i = 0; i < s->npoints; i++)
	{
		rb_write_node(&w, RB_TYPE_POINT, 1);
		rb_write_point(&w, s->points + 3 * (Size) i);
	}
	for (uint32 i = 0; i < s->nlines; i++)
		write_line(&w, s, i);
	for (uint32 i = 0; i < s->npolygons; i++)
		write_polygon(&w, s, i);
	return rb_write_end(&w);
}
