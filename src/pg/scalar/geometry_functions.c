/*
 * geometry_functions.c
 *	  Implements the SQL functions of one geometry or two. Their results are exact and agree with the
 *	  joins.
 *
 * redblue_inside and redblue_position test a geometry against a solid:
 *
 *	points, lines	as redblue_points_in_solids and redblue_segments_in_solids do, for all parts
 *	surfaces		as redblue_solid_pairs does if closed, else by testing all points of the surface
 *
 * A solid is prepared, and above all checked for validity, only once while its value is cached
 * (operand.c).
 */
#include "pg/base/arguments.h"
#include "pg/func/func.h"
#include "pg/scalar/scalar.h"

#include "core/plane/plane.h"

#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include <math.h>

/* ---- comparison ---- */

void
rb_check_distance(double distance)
{
	if (isnan(distance) || distance < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("redblue_dwithin: invalid value for argument \"distance\": %g", distance),
				 errdetail("The distance must be 0 or more, in the units of the coordinates.")));
}

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

/* ---- intersection ---- */

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

/* ---- faces ---- */

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

/* ---- tiles ---- */

/* Reads the box of the geometry. Returns false if it is empty. */
static bool
read_geometry_box(FunctionCallInfo fcinfo, const char *function, rb_box *box)
{
	bool has_z;
	int32 srid;

	if (!rb_pairwise_box(fcinfo, function, &has_z, &srid, box->low, box->high))
		return false;
	box->dims = has_z ? 3 : 2;
	return true;
}

PG_FUNCTION_INFO_V1(redblue_geometry_meets_tile);

/* Implements redblue_meets_tile(geom, tile_low, tile_high, distance). */
Datum
redblue_geometry_meets_tile(PG_FUNCTION_ARGS)
{
	static const char function[] = "redblue_meets_tile";
	rb_box box, tile;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	rb_tile_read(&fcinfo->args[1], function, &tile);
	if (!read_geometry_box(fcinfo, function, &box))
		PG_RETURN_BOOL(false);
	rb_reach_read(fcinfo, function, 3, &box);
	PG_RETURN_BOOL(rb_tile_needs(function, &box, true, &tile));
}

PG_FUNCTION_INFO_V1(redblue_geometry_tiles_of);

/* Implements redblue_tiles_of(geom, tile_lows, tile_highs, distance). */
Datum
redblue_geometry_tiles_of(PG_FUNCTION_ARGS)
{
	static const char function[] = "redblue_tiles_of";
	rb_many_tiles tiles;
	rb_box box;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	if (PG_ARGISNULL(0))
		return (Datum) 0;
	rb_tiles_read(fcinfo, function, 1, &tiles);
	if (!read_geometry_box(fcinfo, function, &box))
		return (Datum) 0;
	rb_reach_read(fcinfo, function, 3, &box);
	rb_tiles_return(fcinfo, function, &box, true, &tiles);
	return (Datum) 0;
}

/* ---- solids ---- */

bool
rb_stored_boxes_are_disjoint(const rb_geometry_header *red, const rb_geometry_header *blue)
{
	if (!red->has_box || !blue->has_box || !red->has_z || !blue->has_z)
		return false;
	for (int k = 0; k < 3; k++)
		if (red->low[k] > blue->high[k] || red->high[k] < blue->low[k])
			return true;
	return false;
}

typedef struct solid_test
{
	rb_pairwise *pairwise;
	int position;
} solid_test;

/* Finds the position of red relative to blue on the helper thread. */
static rb_status
find_position_by_helper(void *arg)
{
	solid_test *q = arg;
	rb_pairwise *p = q->pairwise;
	rb_operand *red = rb_pairwise_operand(p, 0), *blue = rb_pairwise_operand(p, 1);

	return rb_position_test(&p->ctx, red->set, &red->placed, blue->set, &blue->placed,
							&q->position);
}

void
rb_raise_no_solid(const char *function, const char *which, const char *row, const char *reason)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s: %s is not a valid solid", function, which),
			 row != NULL ? errdetail("It is the geometry of %s.  %s", row, reason)
						 : errdetail("%s", reason),
			 errhint("The geometry must be a closed surface that does not intersect itself.  "
					 "Use redblue_solid_check for a report on all rows of a table.")));
	pg_unreachable();
}

void
rb_pairwise_raise(const rb_pairwise *p, rb_status status)
{
	const rb_error *error = &p->ctx.error;

	if (status == RB_BAD_SOLID)
		rb_raise_no_solid(p->decoder.function,
						  (error->limit & RB_SOLID_SIDE) == RB_SOLID_OF_RED ? "the first geometry"
																			: "the second geometry",
						  NULL, error->text);
	rb_raise_of(p->decoder.function, "comparison", status, error);
	pg_unreachable();
}

/* ---- measures ---- */

typedef struct measure_call
{
	rb_pairwise *pairwise;
	rb_measures measures;
} measure_call;

/* Measures the solid on the helper thread. */
static rb_status
measure_solid(void *arg)
{
	measure_call *q = arg;

	return rb_solid_measure(&q->pairwise->ctx, rb_pairwise_operand(q->pairwise, 0)->set,
							&q->measures);
}

/* Computes the area of the faces on the helper thread. */
static rb_status
measure_faces(void *arg)
{
	measure_call *q = arg;
	const rb_set *set = rb_pairwise_operand(q->pairwise, 0)->set;

	return rb_surface_area(&q->pairwise->ctx, set->coords, set->nparts, &q->measures.area);
}

/* Runs a measurement of the only geometry. */
static void
run_measure(measure_call *q, rb_status (*work)(void *))
{
	rb_pairwise *p = q->pairwise;
	const rb_status status = rb_pairwise_work(p, rb_pairwise_operand(p, 0)->set->nparts, work, q);

	if (status == RB_BAD_SOLID)
		rb_raise_no_solid(p->decoder.function, "the geometry", NULL, p->ctx.error.text);
	if (status != RB_OK)
		rb_raise_of(p->decoder.function, "measurement", status, &p->ctx.error);
}

PG_FUNCTION_INFO_V1(redblue_geometry_volume);

Datum
redblue_geometry_volume(PG_FUNCTION_ARGS)
{
	measure_call q;

	if (!rb_pairwise_read_surface(fcinfo, "redblue_volume", false, &q.pairwise))
		PG_RETURN_NULL();
	run_measure(&q, measure_solid);
	PG_RETURN_FLOAT8(q.measures.volume);
}

PG_FUNCTION_INFO_V1(redblue_geometry_area);

Datum
redblue_geometry_area(PG_FUNCTION_ARGS)
{
	measure_call q;

	if (!rb_pairwise_read_surface(fcinfo, "redblue_area", true, &q.pairwise))
		PG_RETURN_NULL();
	run_measure(&q, measure_faces);
	PG_RETURN_FLOAT8(q.measures.area);
}

/* ---- overlaps ---- */

typedef struct overlap_call
{
	rb_pairwise *pairwise;
	bool depth; /* True if the depth is wanted */
	rb_overlap overlap;
} overlap_call;

/* Measures the overlap on the helper thread. */
static rb_status
measure_overlap_by_helper(void *arg)
{
	overlap_call *q = arg;
	rb_pairwise *p = q->pairwise;

	return rb_overlap_measure(&p->ctx, rb_pairwise_operand(p, 0)->set,
							  rb_pairwise_operand(p, 1)->set, q->depth, &q->overlap);
}

/* Measures the overlap of two geometries. Returns false if one of them is empty. */
static bool
measure_overlap_of_geometries(FunctionCallInfo fcinfo, const char *function, overlap_call *q)
{
	const rb_operand *red, *blue;
	rb_status status;

	q->pairwise = rb_pairwise_begin(fcinfo, function);
	q->overlap = (rb_overlap){0};
	red = rb_pairwise_operand(q->pairwise, 0);
	blue = rb_pairwise_operand(q->pairwise, 1);
	/* Only a nonempty geometry has a box. */
	if (rb_stored_boxes_are_disjoint(&red->header, &blue->header))
		return true;
	rb_pairwise_read_placed(fcinfo, q->pairwise, 0, false);
	rb_pairwise_read_placed(fcinfo, q->pairwise, 1, false);
	if (red->set == NULL || blue->set == NULL)
		return false;
	status = rb_pairwise_work(q->pairwise, (uint64) red->set->nparts + blue->set->nparts,
							  measure_overlap_by_helper, q);
	if (status != RB_OK)
		rb_pairwise_raise(q->pairwise, status);
	return true;
}

PG_FUNCTION_INFO_V1(redblue_geometry_overlap_volume);

Datum
redblue_geometry_overlap_volume(PG_FUNCTION_ARGS)
{
	overlap_call q = {.depth = false};

	if (!measure_overlap_of_geometries(fcinfo, "redblue_overlap_volume", &q))
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(q.overlap.volume);
}

PG_FUNCTION_INFO_V1(redblue_geometry_overlap_depth);

Datum
redblue_geometry_overlap_depth(PG_FUNCTION_ARGS)
{
	overlap_call q = {.depth = true};

	if (!measure_overlap_of_geometries(fcinfo, "redblue_overlap_depth", &q))
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(q.overlap.depth);
}

typedef struct area_call
{
	rb_pairwise *pairwise;
	double area;
} area_call;

/* Measures the common area on the helper thread. */
static rb_status
measure_area_by_helper(void *arg)
{
	area_call *q = arg;
	rb_pairwise *p = q->pairwise;

	return rb_area_measure(&p->ctx, rb_pairwise_operand(p, 0)->set, rb_pairwise_operand(p, 1)->set,
						   &q->area);
}

/* Returns true if the stored boxes share no point in the plane. */
static bool
are_stored_rectangles_disjoint(const rb_geometry_header *a, const rb_geometry_header *b)
{
	if (!a->has_box || !b->has_box)
		return false;
	return a->low[0] > b->high[0] || b->low[0] > a->high[0] || a->low[1] > b->high[1] ||
		   b->low[1] > a->high[1];
}

PG_FUNCTION_INFO_V1(redblue_geometry_overlap_area);

Datum
redblue_geometry_overlap_area(PG_FUNCTION_ARGS)
{
	area_call q = {.pairwise = rb_pairwise_begin(fcinfo, "redblue_overlap_area")};
	const rb_operand *red = rb_pairwise_operand(q.pairwise, 0);
	const rb_operand *blue = rb_pairwise_operand(q.pairwise, 1);
	const rb_error *error = &q.pairwise->ctx.error;
	rb_status status;

	/* Only a nonempty geometry has a box. */
	if (are_stored_rectangles_disjoint(&red->header, &blue->header))
		PG_RETURN_FLOAT8(0);
	rb_pairwise_read_polygon(fcinfo, q.pairwise, 0);
	rb_pairwise_read_polygon(fcinfo, q.pairwise, 1);
	if (red->set == NULL || blue->set == NULL)
		PG_RETURN_NULL();
	status = rb_pairwise_work(q.pairwise, (uint64) red->set->nparts + blue->set->nparts,
							  measure_area_by_helper, &q);
	if (status == RB_BAD_POLYGON)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: the %s geometry is not a valid polygon", "redblue_overlap_area",
						error->limit == RB_SOLID_OF_RED ? "first" : "second"),
				 errdetail("%s", error->text), errhint("Use ST_MakeValid(geom) to repair it.")));
	if (status != RB_OK)
		rb_pairwise_raise(q.pairwise, status);
	PG_RETURN_FLOAT8(q.area);
}

/* ---- position ---- */

/*
 * Finds the position of the first geometry relative to the second. Returns false if either geometry
 * is empty.
 */
static bool
find_position_of_geometries(FunctionCallInfo fcinfo, const char *function, int *position)
{
	rb_pairwise *p = rb_pairwise_begin(fcinfo, function);
	const rb_operand *red = rb_pairwise_operand(p, 0), *blue = rb_pairwise_operand(p, 1);
	solid_test q = {.pairwise = p, .position = RB_LIES_OUTSIDE};
	rb_status status = RB_OK;

	*position = RB_LIES_OUTSIDE;
	/* Only a nonempty geometry has a box. */
	if (rb_stored_boxes_are_disjoint(&red->header, &blue->header))
		return true;
	rb_pairwise_read_placed(fcinfo, p, 0, true);
	rb_pairwise_read_placed(fcinfo, p, 1, false);
	if (red->set == NULL || blue->set == NULL)
		return false;
	status = rb_pairwise_work(p, (uint64) red->set->nparts + blue->set->nparts,
							  find_position_by_helper, &q);
	if (status != RB_OK)
		rb_pairwise_raise(p, status);
	*position = q.position;
	return true;
}

PG_FUNCTION_INFO_V1(redblue_geometry_inside);

Datum
redblue_geometry_inside(PG_FUNCTION_ARGS)
{
	int position;

	PG_RETURN_BOOL(find_position_of_geometries(fcinfo, "redblue_inside", &position) &&
				   position == RB_LIES_INSIDE);
}

PG_FUNCTION_INFO_V1(redblue_geometry_position);

Datum
redblue_geometry_position(PG_FUNCTION_ARGS)
{
	static const char *const texts[] = {[RB_LIES_INSIDE] = "inside",
										[RB_LIES_ON] = "boundary",
										[RB_LIES_CROSSING] = "crossing",
										[RB_LIES_OUTSIDE] = "outside",
										[RB_LIES_EQUAL] = "equal"};
	int position;

	if (!find_position_of_geometries(fcinfo, "redblue_position", &position))
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(texts[position]));
}
