/*
 * intersection.c
 *	  Implements redblue_intersection, which returns the intersection of two geometries.
 */
#include "pg/scalar/scalar.h"

PG_FUNCTION_INFO_V1(redblue_geometry_intersection);

Datum
redblue_geometry_intersection(PG_FUNCTION_ARGS)
{
	static const rb_intersection nothing;
	const char *function = "redblue_intersection";
	rb_pairwise *p;
	bool any = rb_pairwise_read(fcinfo, function, 0, &p);
	const rb_geometry_header *red = &rb_pairwise_operand(p, 0)->header,
							 *blue = &rb_pairwise_operand(p, 1)->header;

	if (any)
		rb_pairwise_curve(p);
	PG_RETURN_DATUM(
		rb_write_shape(any ? &p->shape : &nothing, function, red->srid, red->has_z && blue->has_z));
}
