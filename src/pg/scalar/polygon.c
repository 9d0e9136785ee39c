/*
 * polygon.c
 *	  Implements redblue_faces, which returns the triangles of a geometry's faces, numbered as in
 *	  the joins.
 */
#include "pg/scalar/scalar.h"

#include "utils/memutils.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(redblue_geometry_faces);

Datum
redblue_geometry_faces(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext context;
	rb_pairwise_faces faces;

	InitMaterializedSRF(fcinfo, 0);
	rb_pairwise_read_faces(fcinfo, "redblue_faces", &faces);
	context = AllocSetContextCreate(CurrentMemoryContext, "redblue_faces", ALLOCSET_SMALL_SIZES);
	for (uint32 i = 0; i < faces.n; i++)
	{
		const double *corner = faces.coords + 9 * (Size) i;
		MemoryContext old = MemoryContextSwitchTo(context);
		Datum values[3];
		bool nulls[3] = {false, false, false};
		rb_writer w;

		CHECK_FOR_INTERRUPTS();
		rb_write_begin(&w, "redblue_faces", faces.srid, faces.has_z);
		rb_write_node(&w, RB_TYPE_TRIANGLE, 4);
		for (int k = 0; k < 4; k++)
			rb_write_point(&w, corner + 3 * (k % 3));
		values[0] = Int32GetDatum((int32) faces.face[i]);
		values[1] = Int32GetDatum((int32) i + 1);
		values[2] = rb_write_end(&w);
		MemoryContextSwitchTo(old);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
	pfree(faces.face);
	return (Datum) 0;
}
