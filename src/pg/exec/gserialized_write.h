/*
 * gserialized_write.h
 *	  Writes geometries in PostGIS's storage format (gserialized_write.c), and shapes of the core as
 *	  geometries.
 */
#ifndef RB_PG_EXEC_GSERIALIZED_WRITE_H
#define RB_PG_EXEC_GSERIALIZED_WRITE_H

#include "pg/base/pg.h"
#include "core/intersection/intersection.h"

/* ---- the nodes of a geometry, in prefix order ---- */

typedef struct rb_writer
{
	const char *function;
	int dims;
	char *bytes; /* In the memory context that was current at the start */
	Size n, cap;
	double low[3], high[3];
} rb_writer;

extern void rb_write_begin(rb_writer *w, const char *function, int32 srid, bool has_z);
extern void rb_write_node(rb_writer *w, uint32 type, uint32 count);
extern void rb_write_point(rb_writer *w, const double *at);
extern Datum rb_write_end(rb_writer *w);

/* ---- shapes ---- */

/*
 * Writes a shape. One part becomes a simple geometry, several parts of one type a multi geometry,
 * parts of several types a collection, and an empty shape an empty collection.
 */
extern Datum rb_write_shape(const rb_intersection *shape, const char *function, int32 srid,
							bool has_z);

#endif /* RB_PG_EXEC_GSERIALIZED_WRITE_H */
