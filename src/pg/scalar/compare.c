/*
 * compare.c
 *	  Implements the SQL functions of two geometries. Their results are exact and agree with the
 *	  joins.
 */
#include "pg/scalar/scalar.h"

#include "utils/builtins.h"

#include <math.h>

PG_FUNCTION_INFO_V1(redblue_geometry_intersects);

Datum
redblue_geometry_intersects(PG_FUNCTION_ARGS)
{
	rb_pairwise *p;
	uint64 payload;

	PG_RETURN_BOOL(rb_pairwise_read(fcinfo, "redblue_intersects", 0, &p) &&
				   rb_pairwise_test(p, RB_MEET, 0, &payload));
}

PG_FUNCTION_INFO_V1(redblue_geometry_crosses);

Datum
redblue_geometry_crosses(PG_FUNCTION_ARGS)
{
	rb_pairwise *p;
	uint64 payload;

	PG_RETURN_BOOL(rb_pairwise_read(fcinfo, "redblue_crosses", 0, &p) &&
				   rb_pairwise_test(p, RB_CONTACT, 0, &payload) && RB_PAYLOAD_CROSSES(payload));
}

PG_FUNCTION_INFO_V1(redblue_geometry_contact);

Datum
redblue_geometry_contact(PG_FUNCTION_ARGS)
{
	static const char *const texts[2][3] = {
		{"touch in points", "touch along lines", "touch along areas"},
		{"cross in points", "cross along lines", "cross along areas"}};
	rb_pairwise *p;
	uint64 payload;

	if (!rb_pairwise_read(fcinfo, "redblue_contact", 0, &p) ||
		!rb_pairwise_test(p, RB_CONTACT, 0, &payload))
		PG_RETURN_TEXT_P(cstring_to_text("disjoint"));
	PG_RETURN_TEXT_P(
		cstring_to_text(texts[RB_PAYLOAD_CROSSES(payload)][RB_PAYLOAD_DIMENSION(payload)]));
}

PG_FUNCTION_INFO_V1(redblue_geometry_dwithin);

Datum
redblue_geometry_dwithin(PG_FUNCTION_ARGS)
{
	const double distance = PG_GETARG_FLOAT8(2);
	rb_pairwise *p;
	uint64 payload;

	rb_check_distance(distance);
	if (!rb_pairwise_read(fcinfo, "redblue_dwithin", distance, &p))
		PG_RETURN_BOOL(false);
	/* Any two nonempty geometries are within an infinite distance. */
	if (isinf(distance))
		PG_RETURN_BOOL(true);
	PG_RETURN_BOOL(rb_pairwise_test(p, RB_WITHIN, distance, &payload));
}

PG_FUNCTION_INFO_V1(redblue_geometry_distance);

Datum
redblue_geometry_distance(PG_FUNCTION_ARGS)
{
	rb_pairwise *p;
	uint64 payload;
	double distance;

	if (!rb_pairwise_read(fcinfo, "redblue_distance", INFINITY, &p) ||
		!rb_pairwise_test(p, RB_NEAREST, INFINITY, &payload))
		PG_RETURN_NULL();
	memcpy(&distance, &payload, sizeof distance);
	PG_RETURN_FLOAT8(distance);
}
