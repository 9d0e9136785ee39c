/*
 * operand.c
 *	  Converts a geometry argument into an object, and caches it.
 *
 * A statement compares one geometry with many others, or several with several others in a nested
 * loop. Each argument therefore caches its most recent values with what was built from them: parts,
 * a tree of these, a solid prepared for queries. Two values are the same if their TOAST pointers
 * are equal, or else if all their bytes are. The value that a TOAST pointer refers to never
 * changes, and its OID is reused after 2^32 other values at the earliest.
 *
 * The cache is limited in values (RB_OPERANDS) and in bytes (MOST_BYTES). The least recently used
 * values are dropped first. The cache is freed with the memory context of the expression (fn_mcxt).
 *
 * Reading a geometry is the most expensive step, and most pairs are far apart. The boxes stored in
 * the geometries are therefore compared first.
 */
#include "pg/scalar/scalar.h"

#include "core/set/set.h"

#include "access/detoast.h"
#include "access/parallel.h"
#include "common/hashfn.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include <math.h>

static const char *const argument_names[3] = {"the first geometry", "the second geometry",
											  "the geometry"};

/* Limit of the cache in bytes; the two values that are compared may exceed it */
#define MOST_BYTES ((uint64) 64 << 20)
/* The cache may use at most 1/8 of redblue.memory_limit */
#define SHARE 8
/* Maximum number of parts that are copied out of the builder */
#define FEW_PARTS 1024

/* ---- the cache ---- */

/* Frees the set of a value, after the trees and rows that refer to it. */
static void
free_set_of_operand(rb_pairwise *p, rb_operand *o)
{
	rb_position_forget(p->memory, &o->placed);
	rb_row_cache_free(p->memory, &o->two);
	rb_set_release(&o->set);
}

/* Discards everything that is cached about a value. */
static void
forget_cached_value(rb_pairwise *p, rb_operand *o)
{
	free_set_of_operand(p, o);
	o->known = o->header_known = false;
}

/* Ends the helper thread and frees the operands. */
static void
close_pairwise_state(void *arg)
{
	rb_pairwise *p = arg;

	rb_cleanup_unregister(&p->open);
	if (p->memory == NULL)
		return;
	/* End the helper thread first, because the process may be exiting while it works. */
	rb_helper_end(&p->aside);
	rb_curve_close(&p->curve);
	rb_solid_boundary_free(p->memory, &p->solid);
	rb_set_release(&p->solids);
	for (int i = 0; i < 2; i++)
	{
		for (int k = 0; k < p->argument[i].n; k++)
			forget_cached_value(p, p->argument[i].operand[k]);
		p->argument[i].n = 0;
		rb_builder_free(&p->argument[i].builder);
	}
	rb_memory_destroy(p->memory);
	p->memory = NULL;
	rb_cleanup_release_idle();
}

/* Returns the state of a call site, created by its first call. */
static rb_pairwise *
open_pairwise_state(FunctionCallInfo fcinfo, const char *function)
{
	rb_pairwise *p = fcinfo->flinfo->fn_extra;

	if (p != NULL)
		return p;
	p = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof *p);
	p->decoder.function = function;
	p->decoder.context = p->context = fcinfo->flinfo->fn_mcxt;
	p->memory = rb_memory_open(function, (uint64) rb_setting_memory_limit * 1024);
	for (int i = 0; i < 2; i++)
		rb_builder_init(&p->argument[i].builder, p->memory, RB_TRIANGLE3);
	rb_cleanup_register(&p->open, p->context, close_pairwise_state, p);
	fcinfo->flinfo->fn_extra = p;
	return p;
}

/* Hashes some bytes of the value, which differ for most different values. */
static uint32
hash_operand_value(const struct varlena *value)
{
	const Size size = VARSIZE_ANY(value);
	const unsigned char *bytes = (const unsigned char *) value;

	if (size <= 64)
		return hash_bytes(bytes, (int) size);
	return hash_bytes(bytes, 32) ^ hash_bytes(bytes + size / 2, 16) ^
		   hash_bytes(bytes + size - 16, 16) * 31;
}

/* Frees the last operand of an argument's cache. */
static void
drop_last_cached_operand(rb_pairwise *p, rb_operand_cache *a)
{
	rb_operand *o = a->operand[--a->n];

	forget_cached_value(p, o);
	p->stored -= o->stored_cap;
	if (o->stored != NULL)
		pfree(o->stored);
	pfree(o);
}

/*
 * Drops the least recently used values until the cache is within its limit. Never drops the two
 * values that are compared.
 */
static void
drop_old_cached_operands(rb_pairwise *p)
{
	const uint64 most = Min(MOST_BYTES, (uint64) rb_setting_memory_limit * 1024 / SHARE);

	while (rb_memory_used(p->memory) + p->stored > most)
	{
		rb_operand_cache *a = &p->argument[p->argument[1].n > p->argument[0].n];

		if (a->n < 2)
			break;
		drop_last_cached_operand(p, a);
	}
}

/* Moves cached operand i to the front of the list, which is ordered by last use. */
static void
move_operand_to_front(rb_operand_cache *a, int i, rb_operand *o, uint32 hash)
{
	memmove(&a->operand[1], &a->operand[0], (size_t) i * sizeof a->operand[0]);
	memmove(&a->hash[1], &a->hash[0], (size_t) i * sizeof a->hash[0]);
	a->operand[0] = o;
	a->hash[0] = hash;
}

/* Stores a value in place of the previous one. */
static void
store_value_in_operand(rb_pairwise *p, rb_operand *o, const struct varlena *value)
{
	const Size size = VARSIZE_ANY(value);

	if (size > o->stored_cap)
	{
		struct varlena *stored = MemoryContextAlloc(p->context, size);

		if (o->stored != NULL)
			pfree(o->stored);
		p->stored += size - o->stored_cap;
		o->stored = stored;
		o->stored_cap = size;
	}
	o->stored_size = size;
	memcpy(o->stored, value, size);
}

/* Moves the value of this call to the front of its argument's cache. */
static void
find_cached_operand(rb_pairwise *p, int side, struct varlena *value)
{
	rb_operand_cache *a = &p->argument[side];
	struct varlena *bytes = NULL;
	rb_operand *o;
	uint32 hash;
	int i;

	/* A pointer to a value in memory does not identify the value, so compare the bytes. */
	if (VARATT_IS_EXTERNAL(value) && !VARATT_IS_EXTERNAL_ONDISK(value))
		value = bytes = detoast_attr(value);
	hash = hash_operand_value(value);
	for (i = 0; i < a->n; i++)
	{
		o = a->operand[i];
		if (a->hash[i] != hash || VARSIZE_ANY(value) != o->stored_size ||
			memcmp(value, o->stored, o->stored_size) != 0)
			continue;
		o->bytes = bytes;
		if (i > 0)
			move_operand_to_front(a, i, o, hash);
		return;
	}
	/* Reuse the oldest entry, or create a new one. */
	if (a->n == RB_OPERANDS)
	{
		i = a->n - 1;
		o = a->operand[i];
		forget_cached_value(p, o);
	}
	else
	{
		o = MemoryContextAllocZero(p->context, sizeof *o);
		a->operand[a->n] = o;
		i = a->n++;
	}
	o->stored_size = 0;
	store_value_in_operand(p, o, value);
	o->bytes = bytes;
	move_operand_to_front(a, i, o, hash);
}

/* Returns the detoasted bytes of an operand; detoasts a stored value only once. */
static struct varlena *
bytes_of_operand(rb_operand *o)
{
	if (o->bytes == NULL)
		o->bytes = pg_detoast_datum_packed(o->stored);
	return o->bytes;
}

/* ---- reading ---- */

/* Reads the header of an operand once. */
static void
read_operand_header(rb_operand *o)
{
	struct varlena *bytes;

	if (o->header_known)
		return;
	bytes = bytes_of_operand(o);
	if (rb_geometry_read_header((const uint8_t *) VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes),
								&o->header) != RB_GEOMETRY_OK)
		memset(&o->header, 0, sizeof o->header);
	else
		o->header_known = true;
}

/* Returns the argument's builder, empty and of this kind. */
static rb_builder *
begin_parts_of_operand(FunctionCallInfo fcinfo, rb_pairwise *p, int side, rb_kind kind)
{
	rb_builder *b = &p->argument[side].builder;

	rb_builder_clear(b);
	rb_builder_set_kind(b, kind);
	if (!OidIsValid(p->decoder.type))
		p->decoder.type = get_fn_expr_argtype(fcinfo->flinfo, 0);
	p->decoder.where = argument_names[p->alone ? 2 : side];
	return b;
}

/* Decodes the value into the builder, as a single row if it has any part. */
static void
read_parts_of_operand(FunctionCallInfo fcinfo, rb_pairwise *p, int side, rb_kind kind,
					  bool any_leaf, bool flat, rb_geometry_info *info)
{
	rb_builder *b = begin_parts_of_operand(fcinfo, p, side, kind);

	b->any_leaf = any_leaf;
	b->flat = flat;
	(void) rb_decode(&p->decoder, b, bytes_of_operand(rb_pairwise_operand(p, side)), side, true,
					 info);
}

/*
 * Builds a set. A row with few parts is copied to arrays of the exact size; a larger one takes over
 * the builder's arrays.
 */
static rb_status
make_set_of_operand(rb_pairwise *p, rb_builder *b, const rb_set **set, rb_error *error)
{
	rb_set arrays = {.kind = b->kind, .nparts = b->nparts, .nrows = 1};
	const Size bytes = b->nparts * (Size) b->width * sizeof(double);
	double *coords = NULL;
	uint32 *row_of = NULL;
	rb_status status;

	if (b->nparts > FEW_PARTS)
		return rb_builder_finish(b, set, error);
	status = rb_resize(p->memory, (void **) &coords, bytes, error);
	if (status == RB_OK && b->nparts > 1)
		status = rb_resize(p->memory, (void **) &row_of, b->nparts * sizeof *row_of, error);
	if (status == RB_OK)
	{
		memcpy(coords, b->coords, bytes);
		if (row_of != NULL)
			memset(row_of, 0, b->nparts * sizeof *row_of);
		arrays.coords = coords;
		arrays.row_of = row_of;
		status = rb_set_own(p->memory, &arrays, set, error);
	}
	if (status != RB_OK)
	{
		rb_free(p->memory, (void **) &coords);
		rb_free(p->memory, (void **) &row_of);
	}
	return status;
}

/* Turns the contents of an argument's builder into the set of its value. */
static void
store_parts_as_set(rb_pairwise *p, int side)
{
	rb_operand *o = rb_pairwise_operand(p, side);
	rb_builder *b = &p->argument[side].builder;
	rb_error error;
	rb_status status = RB_OK;

	free_set_of_operand(p, o);
	if (b->nrows > 0)
		status = make_set_of_operand(p, b, &o->set, &error);
	if (status != RB_OK)
		rb_raise_of(p->decoder.function, "comparison", status, &error);
	o->known = true;
}

/* Reads the triangles of an operand into a set, unless they are known. */
static void
read_set_of_operand(FunctionCallInfo fcinfo, rb_pairwise *p, int side, bool flat)
{
	rb_operand *o = rb_pairwise_operand(p, side);
	rb_geometry_info info;

	if (o->known && o->flat == flat)
		return;
	o->known = false;
	read_parts_of_operand(fcinfo, p, side, RB_TRIANGLE3, true, flat, &info);
	o->header.srid = info.srid;
	o->header.has_z = info.has_z;
	o->flat = flat;
	store_parts_as_set(p, side);
}

void
rb_pairwise_read_placed(FunctionCallInfo fcinfo, rb_pairwise *p, int side, bool any_kind)
{
	rb_operand *o = rb_pairwise_operand(p, side);
	rb_builder *b;
	rb_geometry_info info;

	if (o->known)
		return;
	b = begin_parts_of_operand(fcinfo, p, side, RB_TRIANGLE3);
	b->any_leaf = b->flat = false;
	if (any_kind)
		(void) rb_decode_placed(&p->decoder, (rb_builder *const[]){b, b, b}, bytes_of_operand(o),
								side, true, &info);
	else
		(void) rb_decode(&p->decoder, b, bytes_of_operand(o), side, true, &info);
	store_parts_as_set(p, side);
}

void
rb_pairwise_read_polygon(FunctionCallInfo fcinfo, rb_pairwise *p, int side)
{
	rb_geometry_info info;

	if (rb_pairwise_operand(p, side)->known)
		return;
	read_parts_of_operand(fcinfo, p, side, RB_EDGE2, false, false, &info);
	store_parts_as_set(p, side);
}

/* Returns true if the stored boxes are farther apart than `reach`. */
static bool
are_operand_boxes_apart(const rb_geometry_header *a, const rb_geometry_header *b, double reach)
{
	if (!a->has_box || !b->has_box)
		return false;
	for (int k = 0; k < (a->has_z && b->has_z ? 3 : 2); k++)
		if ((double) a->low[k] - (double) b->high[k] > reach ||
			(double) b->low[k] - (double) a->high[k] > reach)
			return true;
	return false;
}

/* Raises an ERROR if the SRIDs differ. */
static void
check_srids_of_operands(const rb_pairwise *p, int32 red, int32 blue)
{
	if (red != blue)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s: Operation on mixed SRID geometries (%d) != (%d)",
							   p->decoder.function, red, blue),
						errhint("Use ST_Transform, or ST_SetSRID if an SRID is wrong.")));
}

/*
 * Reads the header of a value in a format that is readable only through EWKB, by decoding it in the
 * plane.
 */
static void
read_header_through_ewkb(FunctionCallInfo fcinfo, rb_pairwise *p, int side)
{
	rb_operand *o = rb_pairwise_operand(p, side);

	if (o->header_known)
		return;
	read_set_of_operand(fcinfo, p, side, true);
	o->header_known = true;
	/* Discard the set: it lies in the plane, and the caller may need one in space. */
	o->known = false;
}

rb_pairwise *
rb_pairwise_begin(FunctionCallInfo fcinfo, const char *function)
{
	rb_pairwise *p = open_pairwise_state(fcinfo, function);

	for (int i = 0; i < 2; i++)
		find_cached_operand(p, i, (struct varlena *) PG_GETARG_POINTER(i));
	drop_old_cached_operands(p);
	for (int i = 0; i < 2; i++)
	{
		read_operand_header(rb_pairwise_operand(p, i));
		read_header_through_ewkb(fcinfo, p, i);
	}
	check_srids_of_operands(p, rb_pairwise_operand(p, 0)->header.srid,
							rb_pairwise_operand(p, 1)->header.srid);
	return p;
}

bool
rb_pairwise_read(FunctionCallInfo fcinfo, const char *function, double reach,
				 rb_pairwise **pairwise)
{
	rb_pairwise *p = rb_pairwise_begin(fcinfo, function);
	const rb_operand *red = rb_pairwise_operand(p, 0), *blue = rb_pairwise_operand(p, 1);
	bool flat;

	*pairwise = p;
	if (are_operand_boxes_apart(&red->header, &blue->header, reach))
		return false;
	flat = !red->header.has_z || !blue->header.has_z;
	read_set_of_operand(fcinfo, p, 0, flat);
	read_set_of_operand(fcinfo, p, 1, flat);
	return red->set != NULL && blue->set != NULL;
}

rb_status
rb_pairwise_work(rb_pairwise *p, uint64 parts, rb_status (*work)(void *), void *arg)
{
	rb_context_init(&p->ctx, p->memory);
	p->ctx.threads = IsParallelWorker() ? 1 : rb_threads(parts);
	p->aside.ctx = &p->ctx;
	p->aside.work = work;
	p->aside.arg = arg;
	return rb_helper_try(&p->aside);
}

typedef struct pair_test
{
	rb_pairwise *pairwise;
	rb_job job;
	bool any;
	uint64 payload;
} pair_test;

/* Tests the pair of rows on the helper thread. */
static rb_status
test_rows_of_operands(void *arg)
{
	pair_test *q = arg;
	rb_pairwise *p = q->pairwise;

	return rb_row_pair_test(&p->ctx, &q->job, &rb_pairwise_operand(p, 0)->two,
							&rb_pairwise_operand(p, 1)->two, &q->any, &q->payload);
}

bool
rb_pairwise_test(rb_pairwise *p, rb_predicate predicate, double distance, uint64 *payload)
{
	const rb_set *red = rb_pairwise_operand(p, 0)->set, *blue = rb_pairwise_operand(p, 1)->set;
	pair_test q = {.pairwise = p, .job = {.red = red, .blue = blue, .predicate = predicate}};
	rb_status status;

	q.job.distance = distance;
	q.job.nearest = 1;
	status = rb_pairwise_work(p, (uint64) red->nparts + blue->nparts, test_rows_of_operands, &q);
	if (status != RB_OK)
		rb_raise_of(p->decoder.function, "comparison", status, &p->ctx.error);
	*payload = q.payload;
	return q.any;
}

/* ---- intersections ---- */

/*
 * Number of pairs of parts up to which the work is usually short. It takes a few milliseconds,
 * unless all parts overlap each other in one plane.
 */
#define FEW_PAIRS 4096

/* Computes the intersection of the two cached operands as a shape, on the helper thread. */
static rb_status
intersect_operands(void *arg)
{
	rb_pairwise *p = arg;
	const rb_set *red = rb_pairwise_operand(p, 0)->set, *blue = rb_pairwise_operand(p, 1)->set;
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
	const uint64 pairs =
		(uint64) rb_pairwise_operand(p, 0)->set->nparts * rb_pairwise_operand(p, 1)->set->nparts;
	rb_status status;

	rb_context_init(&p->ctx, p->memory);
	p->aside.ctx = &p->ctx;
	p->aside.work = intersect_operands;
	p->aside.arg = p;
	status = pairs <= FEW_PAIRS ? rb_helper_try(&p->aside) : rb_helper_run(&p->aside);
	if (status != RB_OK)
		rb_raise_of(p->decoder.function, "intersection", status, &p->ctx.error);
}

/* ---- a single geometry ---- */

/* Reads the header of the only argument. */
static rb_operand *
read_only_operand(FunctionCallInfo fcinfo, const char *function, rb_pairwise **pairwise)
{
	rb_pairwise *p = open_pairwise_state(fcinfo, function);
	rb_operand *o;

	*pairwise = p;
	p->alone = true;
	find_cached_operand(p, 0, (struct varlena *) PG_GETARG_POINTER(0));
	drop_old_cached_operands(p);
	o = rb_pairwise_operand(p, 0);
	read_operand_header(o);
	read_header_through_ewkb(fcinfo, p, 0);
	o->known = false;
	return o;
}

bool
rb_pairwise_box(FunctionCallInfo fcinfo, const char *function, bool *has_z, int32 *srid,
				double *low, double *high)
{
	rb_pairwise *p;
	rb_operand *o = read_only_operand(fcinfo, function, &p);
	rb_geometry_info info;

	*has_z = o->header.has_z;
	*srid = o->header.srid;
	read_parts_of_operand(fcinfo, p, 0, *has_z ? RB_BOX3 : RB_BOX2, false, false, &info);
	if (p->argument[0].builder.nparts == 0)
		return false;
	memcpy(low, p->argument[0].builder.coords, (2 + *has_z) * sizeof(double));
	memcpy(high, p->argument[0].builder.coords + 2 + *has_z, (2 + *has_z) * sizeof(double));
	return true;
}

bool
rb_pairwise_read_surface(FunctionCallInfo fcinfo, const char *function, bool flat,
						 rb_pairwise **pairwise)
{
	rb_operand *o = read_only_operand(fcinfo, function, pairwise);
	rb_geometry_info info;

	read_parts_of_operand(fcinfo, *pairwise, 0, RB_TRIANGLE3, false, flat && !o->header.has_z,
						  &info);
	store_parts_as_set(*pairwise, 0);
	return o->set != NULL;
}

void
rb_pairwise_read_faces(FunctionCallInfo fcinfo, const char *function, rb_pairwise_faces *faces)
{
	rb_pairwise *p;
	rb_operand *o = read_only_operand(fcinfo, function, &p);
	rb_builder *b = &p->argument[0].builder;
	rb_geometry_info info;
	uint32 last = 0, number = 0;

	b->want_face_of = true;
	read_parts_of_operand(fcinfo, p, 0, RB_TRIANGLE3, false, !o->header.has_z, &info);
	*faces = (rb_pairwise_faces){o->header.has_z, o->header.srid, b->nparts, b->coords, NULL};
	faces->face =
		MemoryContextAllocHuge(CurrentMemoryContext, (b->nparts + (Size) 1) * sizeof(uint32));
	for (uint32 i = 0; i < b->nparts; i++)
	{
		/* After the first `faced` parts, each part of the builder is a face of its own. */
		const uint32 face = i < b->faced ? b->face_of[i] : i;

		number += i == 0 || face != last;
		last = face;
		faces->face[i] = number;
	}
}

/* ---- an array of geometries ---- */

/* Decodes one geometry of the array as a row with its position, from 1, as id. */
static void
read_geometry_of_array(rb_pairwise *p, rb_builder *b, Datum value, int position, int32 *srid)
{
	struct varlena *bytes = pg_detoast_datum_packed((struct varlena *) DatumGetPointer(value));
	rb_geometry_info info;
	char *where = psprintf("geometry %d", position);

	p->decoder.where = where;
	(void) rb_decode(&p->decoder, b, bytes, position, true, &info);
	check_srids_of_operands(p, *srid < 0 ? info.srid : *srid, info.srid);
	*srid = info.srid;
	if (bytes != (struct varlena *) DatumGetPointer(value))
		pfree(bytes);
	pfree(where);
}

bool
rb_pairwise_read_array(FunctionCallInfo fcinfo, const char *function, rb_pairwise **pairwise,
					   int32 *srid)
{
	rb_pairwise *p = open_pairwise_state(fcinfo, function);
	ArrayType *array = PG_GETARG_ARRAYTYPE_P(0);
	rb_builder *b;
	int16 length;
	bool by_value;
	char align;
	Datum *values;
	bool *nulls;
	int n;
	rb_error error;

	*pairwise = p;
	*srid = -1;
	p->decoder.type = ARR_ELEMTYPE(array);
	rb_set_release(&p->solids);
	b = begin_parts_of_operand(fcinfo, p, 0, RB_TRIANGLE3);
	b->any_leaf = b->flat = false;
	get_typlenbyvalalign(p->decoder.type, &length, &by_value, &align);
	deconstruct_array(array, p->decoder.type, length, by_value, align, &values, &nulls, &n);
	for (int i = 0; i < n; i++)
		if (!nulls[i])
			read_geometry_of_array(p, b, values[i], i + 1, srid);
	if (b->nrows > 0 && rb_builder_finish(b, &p->solids, &error) != RB_OK)
		rb_raise_of(function, "union", error.status, &error);
	return *srid >= 0;
}

void
rb_pairwise_free_array(rb_pairwise *p)
{
	rb_set_release(&p->solids);
	rb_builder_free(&p->argument[0].builder);
	rb_builder_init(&p->argument[0].builder, p->memory, RB_TRIANGLE3);
}
