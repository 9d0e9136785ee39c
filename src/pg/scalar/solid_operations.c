/*
 * solid_operations.c
 *	  Implements the SQL functions that return the intersection, union or difference of two solids.
 *
 * Both solids are checked for validity, once while their values are cached (operand.c), and their
 * triangles are combined by the core (mesh/solid_boolean.h). An empty geometry is a solid without
 * points.
 */
#include "pg/scalar/scalar.h"

#include "mesh/solid_boolean.h"

typedef struct solid_call
{
	rb_pairwise *pairwise;
	/* Solids to combine, and their arguments; both are the same one if the result is that solid */
	const rb_set *solid[2];
	rb_solid_side of[2];
	rb_solid_operation operation;
	rb_flaw flaw;
} solid_call;

/* Fails with RB_BAD_SOLID if a solid is not valid. */
static rb_status
check_solid_to_combine(rb_context *ctx, const rb_set *solid, rb_solid_side of)
{
	uint32_t *bad = NULL;
	RB_FREE_AT_END(ctx->memory, &bad);

	return rb_solids_check(ctx, &rb_backend_cpu, solid, false, of, &bad);
}

/* Combines the solids on the helper thread. */
static rb_status
combine_solids_by_helper(void *arg)
{
	solid_call *q = arg;
	rb_context *ctx = &q->pairwise->ctx;
	const rb_solid_triangles solid[2] = {{q->solid[0]->coords, q->solid[0]->nparts},
										 {q->solid[1]->coords, q->solid[1]->nparts}};

	/* A restarted work has a result that is not complete. */
	rb_solid_boundary_free(ctx->memory, &q->pairwise->solid);
	for (int i = 0; i < 2; i++)
		RB_TRY(check_solid_to_combine(ctx, q->solid[i], q->of[i]));
	return rb_solid_combine_two(ctx, &rb_backend_cpu, solid, q->operation, &q->pairwise->solid,
								&q->flaw);
}

/* Raises the failure of an operation on solids as an ERROR. */
pg_noreturn static void
raise_combination_failure(const rb_pairwise *p, rb_status status, const rb_flaw *flaw)
{
	const char *function = p->decoder.function;

	if (status == RB_BAD_SOLID)
		rb_pairwise_raise(p, status);
	if (status == RB_BAD_PLC)
		rb_raise_uncut_solids(function, "the solids", flaw);
	rb_raise_of(function, "combination", status, &p->ctx.error);
	pg_unreachable();
}

/* Combines two solids that are not empty. */
static void
combine_solids(solid_call *q)
{
	rb_pairwise *p = q->pairwise;
	const rb_status status = rb_pairwise_work(p, (uint64) q->solid[0]->nparts + q->solid[1]->nparts,
											  combine_solids_by_helper, q);

	if (status != RB_OK)
		raise_combination_failure(p, status, &q->flaw);
}

/*
 * Selects the solids that the result consists of, if a geometry may be empty. Returns false if the
 * result is empty.
 */
static bool
select_solids_to_combine(solid_call *q)
{
	const rb_set *red = rb_pairwise_operand(q->pairwise, 0)->set;
	const rb_set *blue = rb_pairwise_operand(q->pairwise, 1)->set;

	if (red == NULL && q->operation == RB_SOLID_DIFFERENCE)
		return false;
	if ((red == NULL || blue == NULL) && q->operation == RB_SOLID_INTERSECTION)
		return false;
	if (red == NULL && blue == NULL)
		return false;
	/* If one solid is empty, the result is the union of the other one with itself. */
	if (red == NULL || blue == NULL)
		q->operation = RB_SOLID_UNION;
	q->solid[0] = red != NULL ? red : blue;
	q->of[0] = red != NULL ? RB_SOLID_OF_RED : RB_SOLID_OF_BLUE;
	q->solid[1] = blue != NULL ? blue : red;
	q->of[1] = blue != NULL ? RB_SOLID_OF_BLUE : RB_SOLID_OF_RED;
	return true;
}

/* Implements a function of two solids. */
static Datum
combine_geometries(FunctionCallInfo fcinfo, const char *function, rb_solid_operation operation)
{
	solid_call q = {.pairwise = rb_pairwise_begin(fcinfo, function), .operation = operation};
	rb_pairwise *p = q.pairwise;
	const int32 srid = rb_pairwise_operand(p, 0)->header.srid;
	Datum result;

	/* Only a nonempty geometry has a box. */
	if (operation != RB_SOLID_INTERSECTION ||
		!rb_stored_boxes_are_disjoint(&rb_pairwise_operand(p, 0)->header,
									  &rb_pairwise_operand(p, 1)->header))
	{
		rb_pairwise_read_placed(fcinfo, p, 0, false);
		rb_pairwise_read_placed(fcinfo, p, 1, false);
		if (select_solids_to_combine(&q))
			combine_solids(&q);
	}
	result = rb_write_solid(&p->solid, function, srid);
	rb_solid_boundary_free(p->memory, &p->solid);
	PG_RETURN_DATUM(result);
}

PG_FUNCTION_INFO_V1(redblue_geometry_solid_intersection);

Datum
redblue_geometry_solid_intersection(PG_FUNCTION_ARGS)
{
	return combine_geometries(fcinfo, "redblue_solid_intersection", RB_SOLID_INTERSECTION);
}

PG_FUNCTION_INFO_V1(redblue_geometry_solid_union);

Datum
redblue_geometry_solid_union(PG_FUNCTION_ARGS)
{
	return combine_geometries(fcinfo, "redblue_solid_union", RB_SOLID_UNION);
}

PG_FUNCTION_INFO_V1(redblue_geometry_solid_difference);

Datum
redblue_geometry_solid_difference(PG_FUNCTION_ARGS)
{
	return combine_geometries(fcinfo, "redblue_solid_difference", RB_SOLID_DIFFERENCE);
}

PG_FUNCTION_INFO_V1(redblue_geometry_solid_symdifference);

Datum
redblue_geometry_solid_symdifference(PG_FUNCTION_ARGS)
{
	return combine_geometries(fcinfo, "redblue_solid_symdifference", RB_SOLID_SYMDIFFERENCE);
}

/* ---- an array of solids ---- */

typedef struct union_call
{
	rb_pairwise *pairwise;
	rb_flaw flaw;
} union_call;

/* Unites the solids of an array on the helper thread. */
static rb_status
unite_solids_by_helper(void *arg)
{
	union_call *q = arg;
	rb_pairwise *p = q->pairwise;

	/* A restarted work has a result that is not complete. */
	rb_solid_boundary_free(p->memory, &p->solid);
	RB_TRY(check_solid_to_combine(&p->ctx, p->solids, RB_SOLID_OF_SOLIDS));
	return rb_solid_unite(&p->ctx, &rb_backend_cpu, p->solids, &p->solid, &q->flaw);
}

PG_FUNCTION_INFO_V1(redblue_geometry_solid_union_all);

/* Implements redblue_solid_union(solids geometry[]), also for its aggregate. */
Datum
redblue_geometry_solid_union_all(PG_FUNCTION_ARGS)
{
	const char *function =
		AggCheckCallContext(fcinfo, NULL) != 0 ? "redblue_solid_union_agg" : "redblue_solid_union";
	union_call q = {0};
	rb_pairwise *p;
	int32 srid;
	rb_status status = RB_OK;
	Datum result;

	if (!rb_pairwise_read_array(fcinfo, function, &p, &srid))
		PG_RETURN_NULL();
	q.pairwise = p;
	if (p->solids != NULL)
		status = rb_pairwise_work(p, p->solids->nparts, unite_solids_by_helper, &q);
	if (status == RB_BAD_SOLID)
		rb_raise_no_solid(function,
						  psprintf("geometry %llu", (unsigned long long) p->ctx.error.need), NULL,
						  p->ctx.error.text);
	if (status != RB_OK)
		raise_combination_failure(p, status, &q.flaw);
	result = rb_write_solid(&p->solid, function, srid);
	rb_solid_boundary_free(p->memory, &p->solid);
	rb_pairwise_free_array(p);
	PG_RETURN_DATUM(result);
}
