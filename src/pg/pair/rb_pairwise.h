/*
 * rb_pairwise.h
 *	  Functions of two geometries (the extension redblue_postgis): what its files share.
 *
 *		pair_functions.c	the SQL functions
 *		operand.c			a value becomes the parts of an object, and is remembered
 *		pair_index.c		the planner: which index serves a function, and how many rows it leaves
 *
 * Where both geometries have Z they are what they are in space; else both are taken as they lie in the plane, with
 * polygons as areas.  Either way all parts are triangles: those of faces, and of points and lines some without an area.
 */
#ifndef RB_PAIRWISE_H
#define RB_PAIRWISE_H

#include "pg/base/rb_pg.h"
#include "pg/call/rb_write.h"

#include "core/body/rb_solids.h"

/* ---- pair_functions.c, pair_index.c: entry points, by which the planner knows a function ---- */

extern Datum redblue_geometry_intersects(PG_FUNCTION_ARGS);
extern Datum redblue_geometry_crosses(PG_FUNCTION_ARGS);
extern Datum redblue_geometry_dwithin(PG_FUNCTION_ARGS);
extern Datum redblue_geometry_inside(PG_FUNCTION_ARGS);
extern Datum redblue_geometry_support(PG_FUNCTION_ARGS);

extern Datum redblue_geometry_position(PG_FUNCTION_ARGS);

/* that the first or the second geometry is no body, and why; which row that is, or NULL */
pg_noreturn extern void rb_raise_no_body(const char *function, bool first, const char *row,
										 const char *reason);

/* raises, as redblue_dwithin, where it is negative or no number */
extern void rb_check_distance(double distance);

/* ---- decode.c: geometries of one type become parts ---- */

typedef struct rb_decoder
{
	const char *function;
	const char *where; /* "the first geometry" */
	const char *row;   /* of which row it is, or NULL */
	Oid type;          /* of the geometries; InvalidOid: not known */
	MemoryContext context;
	FmgrInfo as_ewkb; /* of that type */
	bool as_ewkb_known;
} rb_decoder;

/*
 * The parts of a geometry (its bytes detoasted), as a row of that id in the builder, whose kind and flags say what is taken.  A row without
 * parts is dropped.  Of a form that is not known through EWKB.  Raises what is wrong with it.
 */
extern void rb_decode(rb_decoder *decoder, rb_builder *builder, struct varlena *bytes, int64 id,
					  rb_geometry_info *info);
/* the same, but false where something is wrong with it; what the builder has is of no use then, and it takes no more */
extern bool rb_try_decode(rb_decoder *decoder, rb_builder *builder, struct varlena *bytes, int64 id,
						  rb_geometry_info *info);

/*
 * A geometry of any kind in space: into the first of these builders, of points, segments and triangles, that takes it.  They may
 * be one, without a part; it gets that kind then.  False where something is wrong with it, or that is raised.
 */
extern bool rb_decode_placed(rb_decoder *decoder, rb_builder *const builders[3],
							 struct varlena *bytes, int64 id, bool raise, rb_geometry_info *info);

/* ---- operand.c ---- */

/* a value that an argument had */
typedef struct rb_operand
{
	struct varlena *stored; /* as it came: behind a pointer, or its bytes */
	Size stored_size;
	Size stored_cap;
	struct varlena *bytes; /* while a call lasts: the value detoasted */
	bool header_known;
	rb_geometry_header header;
	bool known; /* it was read, ... */
	bool flat;  /* as it lies in the plane, */
	const rb_set
		*set; /* to this one row, of triangles or (pair_inside.c) of any kind; NULL: it is empty */
	rb_two_known two; /* what comparisons with others have learned of it */
	rb_placed placed; /* the same (pair_inside.c) */
} rb_operand;

/* values of one argument that may come again */
#define RB_OPERANDS 64

/* one argument: the value that it has, then those that it had, the last one first */
typedef struct rb_argument
{
	rb_operand *operand[RB_OPERANDS];
	uint32 hash[RB_OPERANDS];
	int n;
	rb_builder builder; /* empty between two calls */
} rb_argument;

/* what a call remembers for the next one of its expression */
typedef struct rb_pairwise
{
	rb_decoder decoder;
	bool alone; /* there is but one geometry */
	MemoryContext context;
	MemoryContextCallback at_end;
	rb_open open;
	rb_memory *memory;
	rb_context ctx;  /* of what is done */
	rb_aside aside;  /* while a thread works */
	rb_curve *curve; /* NULL: none was asked for */
	rb_shape shape;
	rb_argument argument[2];
	Size stored; /* bytes of stored values */
} rb_pairwise;

/* the value that an argument has in this call */
static inline rb_operand *
rb_pairwise_operand(const rb_pairwise *p, int side)
{
	return p->argument[side].operand[0];
}

/*
 * Both arguments of this call; raises where the two have different SRIDs.  Where the boxes which they bring along are
 * farther apart than `reach`, or one is empty, false: they are not read.  Infinite: they are read in any case.
 */
extern bool rb_pairwise_read(FunctionCallInfo fcinfo, const char *function, double reach,
							 rb_pairwise **pairwise);

/* the same without looking at their boxes, or reading them */
extern rb_pairwise *rb_pairwise_begin(FunctionCallInfo fcinfo, const char *function);

/*
 * The value of an argument becomes the set of a row in space, if it has any part and is not known yet: of triangles, or of
 * whatever kind it is.
 */
extern void rb_pairwise_read_placed(FunctionCallInfo fcinfo, rb_pairwise *pairwise, int side,
									bool any_kind);

/* does work on so many parts in pairwise->ctx (rb_aside_try) */
extern rb_status rb_pairwise_work(rb_pairwise *pairwise, uint64 parts, rb_status (*work)(void *),
								  void *arg);

/* is the answer of that predicate yes?  told as a join tells it */
extern bool rb_pairwise_ask(rb_pairwise *pairwise, rb_predicate predicate, double distance,
							uint64 *told);

/* what the two share, in pairwise->shape; valid until the next call */
extern void rb_pairwise_curve(rb_pairwise *pairwise);

/* the box of one geometry; false: it is empty */
extern bool rb_pairwise_box(FunctionCallInfo fcinfo, const char *function, bool *has_z, int32 *srid,
							double *low, double *high);

/* the triangles of one geometry's faces; each with the number of its face, from 1 */
typedef struct rb_pairwise_faces
{
	bool has_z;
	int32 srid;
	uint32 n;
	const double *coords; /* nine of each; in the plane z is 0 */
	uint32 *face;
} rb_pairwise_faces;

extern void rb_pairwise_read_faces(FunctionCallInfo fcinfo, const char *function,
								   rb_pairwise_faces *faces);

#endif /* RB_PAIRWISE_H */
