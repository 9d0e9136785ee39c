/*
 * gserialized_write.c
 *	  Writes a geometry in PostGIS's storage format (described in src/core/set/wkb.c), with its
 *	  box, and intersections (src/core/intersection) and boundaries of solids as such geometries.
 */
#include "pg/exec/exec.h"

#include "miscadmin.h"

#include <float.h>
#include <math.h>

#define RB_WRITE_VERSION_2 0x40
#define RB_WRITE_Z 0x01
#define RB_WRITE_BOX 0x04
#define RB_WRITE_MORE 0x10
/* Bit of the further flags, which precede the box if RB_WRITE_MORE is set */
#define RB_WRITE_SOLID UINT64CONST(0x01)

/* Appends bytes to the geometry, whose buffer grows up to 1 GB. */
static void
write_geometry_bytes(rb_writer *w, const void *bytes, Size n)
{
	if (n > w->cap - w->n)
	{
		w->cap = Max(2 * w->cap, w->n + n);
		if (w->n + n > MaxAllocSize)
			ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
							errmsg("%s: geometry is larger than 1 GB", w->function)));
		w->bytes = repalloc(w->bytes, Min(w->cap, MaxAllocSize));
		w->cap = Min(w->cap, MaxAllocSize);
	}
	memcpy(w->bytes + w->n, bytes, n);
	w->n += n;
}

/* Writes the header, with further flags unless they are 0, and reserves space for the box. */
static void
begin_geometry(rb_writer *w, const char *function, int32 srid, bool has_z, uint64 more)
{
	const char head[4] = {(char) (srid >> 16 & 0x1f), (char) (srid >> 8), (char) srid,
						  (char) (RB_WRITE_VERSION_2 | RB_WRITE_BOX | (has_z ? RB_WRITE_Z : 0) |
								  (more != 0 ? RB_WRITE_MORE : 0))};
	const float box[6] = {0};

	*w = (rb_writer){.function = function, .dims = 2 + has_z, .cap = 256};
	w->bytes = palloc(w->cap);
	w->n = VARHDRSZ;
	write_geometry_bytes(w, head, sizeof head);
	if (more != 0)
		write_geometry_bytes(w, &more, sizeof more);
	w->box = w->n;
	write_geometry_bytes(w, box, 2 * sizeof(float) * w->dims);
	for (int k = 0; k < 3; k++)
	{
		w->low[k] = INFINITY;
		w->high[k] = -INFINITY;
	}
}

void
rb_write_begin(rb_writer *w, const char *function, int32 srid, bool has_z)
{
	begin_geometry(w, function, srid, has_z, 0);
}

void
rb_write_node(rb_writer *w, uint32 type, uint32 count)
{
	write_geometry_bytes(w, &type, sizeof type);
	write_geometry_bytes(w, &count, sizeof count);
}

/*
 * Writes the number of points of each ring, after the node of a polygon. The last point of a ring
 * repeats the first.
 */
static void
write_ring_sizes(rb_writer *w, const uint32 *sizes, uint32 n)
{
	const uint32 padding = 0;

	write_geometry_bytes(w, sizes, n * sizeof *sizes);
	if (n % 2 == 1)
		write_geometry_bytes(w, &padding, sizeof padding);
}

void
rb_write_point(rb_writer *w, const double *at)
{
	write_geometry_bytes(w, at, sizeof(double) * w->dims);
	for (int k = 0; k < w->dims; k++)
	{
		w->low[k] = Min(w->low[k], at[k]);
		w->high[k] = Max(w->high[k], at[k]);
	}
}

/* Rounds x down to a finite float, for the lower end of the box that a geometry stores. */
static float
round_to_float_below(double x)
{
	float f = x < -FLT_MAX ? -FLT_MAX : x > FLT_MAX ? FLT_MAX : (float) x;

	return (double) f > x ? nextafterf(f, -FLT_MAX) : f;
}

/* Rounds x up to a finite float, for the upper end of the box that a geometry stores. */
static float
round_to_float_above(double x)
{
	return -round_to_float_below(-x);
}

Datum
rb_write_end(rb_writer *w)
{
	char *box = w->bytes + w->box;

	for (int k = 0; k < w->dims; k++)
	{
		const float ends[2] = {round_to_float_below(w->low[k]), round_to_float_above(w->high[k])};

		memcpy(box + k * sizeof ends, ends, sizeof ends);
	}
	/* Remove the box of an empty geometry. */
	if (w->low[0] > w->high[0])
	{
		const Size box_size = 2 * sizeof(float) * w->dims;

		w->bytes[VARHDRSZ + 3] &= ~RB_WRITE_BOX;
		memmove(box, box + box_size, w->n - (box - w->bytes) - box_size);
		w->n -= box_size;
	}
	SET_VARSIZE(w->bytes, w->n);
	return PointerGetDatum(w->bytes);
}

/* ---- intersections ---- */

/* Writes the points of a line or ring as serialized coordinates, and extends the box by them. */
static void
write_geometry_points(rb_writer *w, const double *corners, uint32 from, uint32 to)
{
	for (uint32 i = from; i < to; i++)
		rb_write_point(w, corners + 3 * (Size) i);
}

/* Writes line i of the intersection as a serialized LINESTRING. */
static void
write_geometry_line(rb_writer *w, const rb_intersection *s, uint32 i)
{
	rb_write_node(w, RB_TYPE_LINE, s->line[i + 1] - s->line[i]);
	write_geometry_points(w, s->line_corners, s->line[i], s->line[i + 1]);
}

/* Writes one polygon of an intersection: its node, the sizes of its rings, and their points. */
static void
write_geometry_polygon(rb_writer *w, const rb_intersection *s, uint32 i)
{
	const uint32 first = s->polygon[i], n = s->polygon[i + 1] - first;
	uint32 *sizes = palloc(n * sizeof *sizes);

	for (uint32 k = 0; k < n; k++)
		sizes[k] = s->ring[first + k + 1] - s->ring[first + k];
	rb_write_node(w, RB_TYPE_POLYGON, n);
	write_ring_sizes(w, sizes, n);
	write_geometry_points(w, s->ring_corners, s->ring[first], s->ring[first + n]);
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
		write_geometry_line(&w, s, i);
	for (uint32 i = 0; i < s->npolygons; i++)
		write_geometry_polygon(&w, s, i);
	return rb_write_end(&w);
}

/* ---- solids ---- */

/* Writes one polygon of the boundary of a solid: its node, the sizes of its rings, their points. */
static void
write_boundary_polygon(rb_writer *w, const rb_solid_boundary *s, uint32 i)
{
	const uint32 first = s->ring_of[i], n = s->ring_of[i + 1] - first;
	uint32 *sizes = palloc(n * sizeof *sizes);

	for (uint32 k = 0; k < n; k++)
		sizes[k] = s->corner_of[first + k + 1] - s->corner_of[first + k] + 1;
	rb_write_node(w, RB_TYPE_POLYGON, n);
	write_ring_sizes(w, sizes, n);
	for (uint32 k = first; k < first + n; k++)
	{
		for (uint32 j = s->corner_of[k]; j < s->corner_of[k + 1]; j++)
			rb_write_point(w, s->points + 3 * (Size) s->corners[j]);
		rb_write_point(w, s->points + 3 * (Size) s->corners[s->corner_of[k]]);
	}
	pfree(sizes);
}

Datum
rb_write_solid(const rb_solid_boundary *s, const char *function, int32 srid)
{
	rb_writer w;

	begin_geometry(&w, function, srid, true, RB_WRITE_SOLID);
	rb_write_node(&w, RB_TYPE_POLYHEDRALSURFACE, s->npolygons);
	for (uint32 i = 0; i < s->npolygons; i++)
	{
		CHECK_FOR_INTERRUPTS();
		write_boundary_polygon(&w, s, i);
	}
	return rb_write_end(&w);
}
