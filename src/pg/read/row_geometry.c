/*
 * row_geometry.c
 *	  Reads a row whose object is a single value: a geometry, or a box of another type.
 */
#include "pg/read/row.h"

#include "access/detoast.h"
#include "access/parallel.h"
#include "executor/tuptable.h"
#include "utils/memutils.h"

/*
 * Size in bytes above which a worker rejects a geometry without reading it, because it lacks the
 * memory
 */
#define RB_APART_BYTES ((Size) 12 << 20)

/* Decodes a value. The row context must be the current one. */
static rb_geometry_fault
read_geometry(rb_receiver *r, Datum value, rb_geometry_info *info)
{
	/*
	 * If a worker must not call ST_AsEWKB, the format stays unknown, and the value is left to the
	 * leader.
	 */
	r->decoder.parallel_safe = r->apart && IsParallelWorker();
	return rb_decode_parts(&r->decoder, r->builder, PG_DETOAST_DATUM_PACKED(value), info,
						   &r->error);
}

bool
rb_receive_geometry(rb_receiver *r, Datum value, int64 id)
{
	rb_builder *b = r->builder;
	MemoryContext old;
	rb_geometry_info info;
	rb_geometry_fault fault;

	if (r->apart && !r->boxes && toast_raw_datum_size(value) > RB_APART_BYTES)
		return false;
	old = MemoryContextSwitchTo(r->row_context);
	fault = read_geometry(r, value, &info);
	/*
	 * The geometry was read as a box with a different number of dimensions. If its own number is
	 * that of the join, read it again.
	 */
	if (r->boxes && (fault == RB_GEOMETRY_NO_Z || fault == RB_GEOMETRY_Z) &&
		rb_space_settle_dims(r, fault == RB_GEOMETRY_NO_Z ? 2 : 3, false, id))
		fault = read_geometry(r, value, &info);
	MemoryContextSwitchTo(old);
	MemoryContextReset(r->row_context);
	if (fault != RB_GEOMETRY_OK)
		return rb_refuse_geometry(r, id, fault, &info);
	/* An EMPTY geometry is skipped, and its SRID is ignored. */
	if (b->nparts == b->row_start)
		return true;
	return rb_space_check_srid(r, info.srid, info.type, id) &&
		   (!r->boxes || rb_space_settle_dims(r, b->kind == RB_BOX2 ? 2 : 3, false, id));
}

/* Receives a value of a box type (box_types.c). */
bool
rb_receive_box(rb_receiver *r, Datum value, int64 id)
{
	MemoryContext old = MemoryContextSwitchTo(r->row_context);
	rb_box_value box;
	double *to;

	rb_box_read(r->columns.shape, value, &box);
	MemoryContextSwitchTo(old);
	MemoryContextReset(r->row_context);
	if (box.dims != 2 && box.dims != 3)
		return rb_refuse_dimension(r, box.dims, id);
	if (!rb_all_finite(box.low, box.dims) || !rb_all_finite(box.high, box.dims))
		return rb_refuse_geometry(r, id, RB_GEOMETRY_NOT_FINITE, NULL);
	if (!rb_space_settle_dims(r, box.dims, false, id) ||
		(r->columns.shape == RB_SHAPE_BOX3D &&
		 !rb_space_check_srid(r, box.srid, RB_TYPE_BOX3D, id)))
		return false;
	to = rb_next_part(r);
	if (to == NULL)
		return false;
	memcpy(to, box.low, (size_t) box.dims * sizeof(double));
	memcpy(to + box.dims, box.high, (size_t) box.dims * sizeof(double));
	r->builder->nparts++;
	return true;
}
