/*
 * operand.c
 *	  A geometry that a function was given becomes an object, and is remembered.
 *
 * A statement compares one geometry with many others, mostly: so what was made of each argument stays until another
 * value comes in its place.  A value is the same if its pointer into a TOAST table is, or else all its bytes are.
 *
 * What costs most is to read a geometry, and most pairs are far apart: the box that a geometry brings along is looked
 * at first.
 */
#include "pg/pair/rb_pairwise.h"

#include "access/detoast.h"
#include "access/parallel.h"
#include "utils/memutils.h"

#include <math.h>

static const char *const argument_names[3] = {"the first geometry", "the second geometry",
											  "the geometry"};

/* ---- what is remembered ---- */

static void
close_pairwise(void *arg)
{
	rb_pairwise *p = arg;

	rb_open_end(&p->open);
	if (p->memory == NULL)
		return;
	/* this may be the end of a process whose threads work */
	rb_stream_close(p->stream);
	p->stream = NULL;
	rb_aside_end(&p->aside);
	rb_curve_close(&p->curve);
	for (int i = 0; i < 2; i++)
	{
		rb_set_release(&p->side[i].own);
		rb_builder_free(&p->side[i].builder);
	}
	rb_memory_destroy(p->memory);
	p->memory = NULL;
	rb_open_ended();
}

static rb_pairwise *
open_pairwise(FunctionCallInfo fcinfo, const char *function)
{
	rb_pairwise *p = fcinfo->flinfo->fn_extra;

	if (p != NULL)
		return p;
	p = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof *p);
	p->decoder.function = function;
	p->decoder.context = p->context = fcinfo->flinfo->fn_mcxt;
	p->memory = rb_memory_open(function, (uint64) rb_setting_memory_limit * 1024);
	for (int i = 0; i < 2; i++)
		rb_builder_init(&p->side[i].builder, p->memory, RB_TRIANGLE3);
	rb_open_begin(&p->open, close_pairwise, p);
	p->at_end.func = close_pairwise;
	p->at_end.arg = p;
	MemoryContextRegisterResetCallback(p->context, &p->at_end);
	fcinfo->flinfo->fn_extra = p;
	return p;
}

/* is it the value that was there before?  If not, it is from now on, and nothing is known of it */
static bool
is_same(rb_pairwise *p, rb_operand *o, struct varlena *value)
{
	/* a pointer into memory is no name for what it points to */
	if (VARATT_IS_EXTERNAL(value) && !VARATT_IS_EXTERNAL_ONDISK(value))
		value = o->bytes = detoast_attr(value);
	if (o->stored != NULL && VARSIZE_ANY(value) == o->stored_size &&
		memcmp(value, o->stored, o->stored_size) == 0)
		return true;
	o->known = o->header_known = false;
	if (VARSIZE_ANY(value) > o->stored_cap)
	{
		Size cap;

		if (o->stored != NULL)
			pfree(o->stored);
		o->stored = NULL;
		cap = Min(Max(VARSIZE_ANY(value), 2 * o->stored_cap), MaxAllocSize);
		o->stored_cap = 0;
		o->stored = MemoryContextAlloc(p->context, cap);
		o->stored_cap = cap;
	}
	o->stored_size = VARSIZE_ANY(value);
	memcpy(o->stored, value, o->stored_size);
	return false;
}

static struct varlena *
bytes_of(rb_operand *o)
{
	if (o->bytes == NULL)
		o->bytes = pg_detoast_datum_packed(o->stored);
	return o->bytes;
}

/* ---- reading ---- */

static void
read_header(rb_operand *o)
{
	struct varlena *bytes;

	if (o->header_known)
		return;
	bytes = bytes_of(o);
	if (rb_geometry_read_header((const uint8_t *) VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes),
								&o->header) != RB_GEOMETRY_OK)
		memset(&o->header, 0, sizeof o->header);
	else
		o->header_known = true;
}

/* the builder is empty, and of that kind */
static rb_builder *
begin_parts(FunctionCallInfo fcinfo, rb_pairwise *p, int side, rb_kind kind)
{
	rb_builder *b = &p->side[side].builder;

	rb_builder_clear(b);
	rb_builder_set_kind(b, kind);
	if (!OidIsValid(p->decoder.type))
		p->decoder.type = get_fn_expr_argtype(fcinfo->flinfo, 0);
	p->decoder.where = argument_names[p->alone ? 2 : side];
	return b;
}

/* into the builder, as one row, if there is any part */
static void
read_parts(FunctionCallInfo fcinfo, rb_pairwise *p, int side, rb_kind kind, bool any_leaf,
		   bool flat, rb_geometry_info *info)
{
	rb_builder *b = begin_parts(fcinfo, p, side, kind);

	b->any_leaf = any_leaf;
	b->flat = flat;
	rb_decode(&p->decoder, b, bytes_of(&p->side[side]), side, info);
}

bool
rb_pairwise_parts(FunctionCallInfo fcinfo, rb_pairwise *p, int side, rb_kind kind, bool raise,
				  rb_geometry_info *info)
{
	rb_builder *b = begin_parts(fcinfo, p, side, kind);

	b->any_leaf = b->flat = false;
	b->many_points = kind == RB_POINT3;
	if (!raise)
		return rb_try_decode(&p->decoder, b, bytes_of(&p->side[side]), side, info);
	rb_decode(&p->decoder, b, bytes_of(&p->side[side]), side, info);
	return true;
}

static void
read_set(FunctionCallInfo fcinfo, rb_pairwise *p, int side, bool flat)
{
	rb_operand *o = &p->side[side];
	rb_geometry_info info;

	if (o->known && o->flat == flat)
		return;
	o->known = false;
	read_parts(fcinfo, p, side, RB_TRIANGLE3, true, flat, &info);
	o->header.srid = info.srid;
	o->header.has_z = info.has_z;
	o->flat = flat;
	o->set = (rb_set){.kind = RB_TRIANGLE3,
					  .nparts = o->builder.nparts,
					  .nrows = o->builder.nrows,
					  .coords = o->builder.coords,
					  .row_of = o->builder.multi ? o->builder.row_of : NULL};
	o->known = true;
}

/* do the boxes that both bring along say that they are farther apart? */
static bool
boxes_apart(const rb_geometry_header *a, const rb_geometry_header *b, double reach)
{
	if (!a->has_box || !b->has_box)
		return false;
	for (int k = 0; k < (a->has_z && b->has_z ? 3 : 2); k++)
		if ((double) a->low[k] - (double) b->high[k] > reach ||
			(double) b->low[k] - (double) a->high[k] > reach)
			return true;
	return false;
}

static void
check_srids(const rb_pairwise *p, int32 red, int32 blue)
{
	if (red != blue)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s: Operation on mixed SRID geometries (%d) != (%d)",
							   p->decoder.function, red, blue),
						errhint("Use ST_Transform, or ST_SetSRID where the SRID is wrong.")));
}

/* of a form that only EWKB tells of: what it is in the plane, and with it the header */
static void
read_unknown(FunctionCallInfo fcinfo, rb_pairwise *p, int side)
{
	rb_operand *o = &p->side[side];

	if (o->header_known)
		return;
	read_set(fcinfo, p, side, true);
	o->header_known = true;
	/* whoever asked may want it as something else */
	o->known = false;
}

rb_pairwise *
rb_pairwise_begin(FunctionCallInfo fcinfo, const char *function)
{
	rb_pairwise *p = open_pairwise(fcinfo, function);

	for (int i = 0; i < 2; i++)
	{
		p->side[i].bytes = NULL;
		(void) is_same(p, &p->side[i], (struct varlena *) PG_GETARG_POINTER(i));
		read_header(&p->side[i]);
		read_unknown(fcinfo, p, i);
	}
	check_srids(p, p->side[0].header.srid, p->side[1].header.srid);
	return p;
}

bool
rb_pairwise_read(FunctionCallInfo fcinfo, const char *function, double reach,
				 rb_pairwise **pairwise)
{
	rb_pairwise *p = rb_pairwise_begin(fcinfo, function);
	rb_operand *red = &p->side[0], *blue = &p->side[1];
	bool flat;

	*pairwise = p;
	if (boxes_apart(&red->header, &blue->header, reach))
		return false;
	flat = !red->header.has_z || !blue->header.has_z;
	read_set(fcinfo, p, 0, flat);
	read_set(fcinfo, p, 1, flat);
	return red->set.nparts > 0 && blue->set.nparts > 0;
}

bool
rb_pairwise_ask(rb_pairwise *p, rb_predicate predicate, double distance, uint64 *told)
{
	const rb_set *red = &p->side[0].set, *blue = &p->side[1].set;
	rb_job job = {.red = red, .blue = blue, .predicate = predicate};
	rb_status status;
	bool any = false;

	job.distance = distance;
	job.nearest = 1;
	rb_context_init(&p->ctx, p->memory);
	p->ctx.threads = IsParallelWorker() ? 1 : rb_threads((uint64) red->nparts + blue->nparts);
	status = rb_two_ask(&p->ctx, &job, rb_is_interrupted, &p->stream, &any, told);
	if (status == RB_STOPPED)
		rb_throw_kept();
	if (status != RB_OK)
		rb_raise_of(p->decoder.function, "comparison", status, &p->ctx.error);
	return any;
}

/* ---- what they share ---- */

/* pairs of parts up to which it is short, mostly: some milliseconds, but where each overlaps each in one plane */
#define FEW_PAIRS 4096

static rb_status
make_curve(void *arg)
{
	rb_pairwise *p = arg;
	const rb_set *red = &p->side[0].set, *blue = &p->side[1].set;
	const rb_curve_parts parts[2] = {{red->kind, red->nparts, red->coords},
									 {blue->kind, blue->nparts, blue->coords}};
	rb_status status = RB_OK;

	if (p->curve == NULL)
		status = rb_curve_open(&p->ctx, &parts[0], &parts[1], &p->curve);
	else
		rb_curve_again(p->curve, &parts[0], &parts[1]);
	if (status == RB_OK)
		status = rb_curve_add_all(p->curve);
	return status == RB_OK ? rb_curve_finish(p->curve, &p->shape) : status;
}

void
rb_pairwise_curve(rb_pairwise *p)
{
	const uint64 pairs = (uint64) p->side[0].set.nparts * p->side[1].set.nparts;
	rb_status status;

	rb_context_init(&p->ctx, p->memory);
	p->aside.ctx = &p->ctx;
	p->aside.work = make_curve;
	p->aside.arg = p;
	status = pairs <= FEW_PAIRS ? rb_aside_try(&p->aside) : rb_aside_run(&p->aside);
	if (status != RB_OK)
		rb_raise_of(p->decoder.function, "intersection", status, &p->ctx.error);
}

/* ---- one geometry ---- */

/* what it says of itself is known */
static rb_operand *
read_one(FunctionCallInfo fcinfo, const char *function, rb_pairwise **pairwise)
{
	rb_pairwise *p = open_pairwise(fcinfo, function);
	rb_operand *o = &p->side[0];

	*pairwise = p;
	p->alone = true;
	o->bytes = NULL;
	(void) is_same(p, o, (struct varlena *) PG_GETARG_POINTER(0));
	read_header(o);
	read_unknown(fcinfo, p, 0);
	o->known = false;
	return o;
}

bool
rb_pairwise_box(FunctionCallInfo fcinfo, const char *function, bool *has_z, int32 *srid,
				double *low, double *high)
{
	rb_pairwise *p;
	rb_operand *o = read_one(fcinfo, function, &p);
	rb_geometry_info info;

	*has_z = o->header.has_z;
	*srid = o->header.srid;
	read_parts(fcinfo, p, 0, *has_z ? RB_BOX3 : RB_BOX2, false, false, &info);
	if (o->builder.nparts == 0)
		return false;
	memcpy(low, o->builder.coords, (2 + *has_z) * sizeof(double));
	memcpy(high, o->builder.coords + 2 + *has_z, (2 + *has_z) * sizeof(double));
	return true;
}

void
rb_pairwise_read_faces(FunctionCallInfo fcinfo, const char *function, rb_pairwise_faces *faces)
{
	rb_pairwise *p;
	rb_operand *o = read_one(fcinfo, function, &p);
	const rb_builder *b = &o->builder;
	rb_geometry_info info;
	uint32 last = 0, number = 0;

	o->builder.want_face_of = true;
	read_parts(fcinfo, p, 0, RB_TRIANGLE3, false, !o->header.has_z, &info);
	*faces = (rb_pairwise_faces){o->header.has_z, o->header.srid, b->nparts, b->coords, NULL};
	faces->face =
		MemoryContextAllocHuge(CurrentMemoryContext, (b->nparts + (Size) 1) * sizeof(uint32));
	for (uint32 i = 0; i < b->nparts; i++)
	{
		/* as the builder has them: behind `faced` each part is a face of its own */
		const uint32 face = i < b->faced ? b->face_of[i] : i;

		number += i == 0 || face != last;
		last = face;
		faces->face[i] = number;
	}
}
