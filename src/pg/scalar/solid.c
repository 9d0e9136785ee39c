/*
 * solid.c
 *	  Implements redblue_inside and redblue_position, which test whether a geometry lies in a solid,
 *	  or how it lies relative to it.
 *
 *	points, lines	as in redblue_points_in_solids and redblue_segments_in_solids, for all parts
 *	surfaces		as in redblue_solid_pairs if closed, else by testing all points of the surface
 *
 * A solid is prepared, and above all checked for validity, only once while its value is cached
 * (operand.c).
 */
#include "pg/scalar/scalar.h"

#include "utils/builtins.h"

/*
 * Returns true if the stored boxes are disjoint. They have float coordinates rounded outward, so
 * the geometries are disjoint, too.
 */
static bool
is_apart(const rb_geometry_header *red, const rb_geometry_header *blue)
{
	if (!red->has_box || !blue->has_box || !red->has_z || !blue->has_z)
		return false;
	for (int k = 0; k < 3; k++)
		if (red->low[k] > blue->high[k] || red->high[k] < blue->low[k])
			return true;
	return false;
}

/* ---- position ---- */

typedef struct solid_test
{
	rb_pairwise *pairwise;
	int position;
} solid_test;

static rb_status
find_position(void *arg)
{
	solid_test *q = arg;
	rb_pairwise *p = q->pairwise;
	rb_operand *red = rb_pairwise_operand(p, 0), *blue = rb_pairwise_operand(p, 1);

	return rb_position_test(&p->ctx, red->set, &red->placed, blue->set, &blue->placed,
							&q->position);
}

void
rb_raise_no_solid(const char *function, bool first, const char *row, const char *reason)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("%s: the %s geometry is not a valid solid", function,
						   first ? "first" : "second"),
					row != NULL ? errdetail("It is the geometry of %s. %s", row, reason)
								: errdetail("%s", reason),
					errhint("The geometry must be a closed surface that does not intersect itself. "
							"Use redblue_solid_check for a report on all rows of a table.")));
	pg_unreachable();
}

pg_noreturn static void
raise_failure(const rb_pairwise *p, rb_status status)
{
	const rb_error *error = &p->ctx.error;

	if (status == RB_BAD_SOLID)
		rb_raise_no_solid(p->decoder.function, (error->limit & RB_SOLID_SIDE) == RB_SOLID_OF_RED,
						  NULL, error->text);
	rb_raise_of(p->decoder.function, "comparison", status, error);
}

/* Finds the position. Returns false if either geometry is empty. */
static bool
ask_position(FunctionCallInfo fcinfo, const char *function, int *position)
{
	rb_pairwise *p = rb_pairwise_begin(fcinfo, function);
	const rb_operand *red = rb_pairwise_operand(p, 0), *blue = rb_pairwise_operand(p, 1);
	solid_test q = {.pairwise = p, .position = RB_LIES_OUTSIDE};
	rb_status status = RB_OK;

	*position = RB_LIES_OUTSIDE;
	/* Only a nonempty geometry has a box. */
	if (is_apart(&red->header, &blue->header))
		return true;
	rb_pairwise_read_placed(fcinfo, p, 0, true);
	rb_pairwise_read_placed(fcinfo, p, 1, false);
	if (red->set == NULL || blue->set == NULL)
		return false;
	status = rb_pairwise_work(p, (uint64) red->set->nparts + blue->set->nparts, find_position, &q);
	if (status != RB_OK)
		raise_failure(p, status);
	*position = q.position;
	return true;
}

PG_FUNCTION_INFO_V1(redblue_geometry_inside);

Datum
redblue_geometry_inside(PG_FUNCTION_ARGS)
{
	int position;

	PG_RETURN_BOOL(ask_position(fcinfo, "redblue_inside", &position) && position == RB_LIES_INSIDE);
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

	if (!ask_position(fcinfo, "redblue_position", &position))
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(texts[position]));
}
