/*
 * scalar.h
 *	  Declares what is shared by the files that implement functions of two geometries (the extension
 *	  redblue_postgis).
 *
 *	geometry_functions.c	the SQL functions
 *	solid_operations.c		the SQL functions that return solids
 *	operand.c				converts a value into the parts of an object, and caches it
 *	index_support.c			planner support: index conditions and selectivity
 *
 * If both geometries have Z, they are compared in space. Otherwise both are projected to the plane,
 * where polygons are areas. In both cases all parts are triangles: the triangles of faces, and
 * degenerate triangles for points and lines.
 */
#ifndef RB_PG_SCALAR_SCALAR_H
#define RB_PG_SCALAR_SCALAR_H

#include "pg/base/cleanup.h"
#include "pg/base/helper_thread.h"
#include "pg/exec/exec.h"
#include "pg/read/read.h"

#include "core/solid/solid.h"

struct rb_pairwise;

/* ---- geometry_functions.c, index_support.c: entry points, which identify a function ---- */

extern Datum redblue_geometry_intersects(PG_FUNCTION_ARGS);
extern Datum redblue_geometry_crosses(PG_FUNCTION_ARGS);
extern Datum redblue_geometry_dwithin(PG_FUNCTION_ARGS);
extern Datum redblue_geometry_inside(PG_FUNCTION_ARGS);
extern Datum redblue_geometry_support(PG_FUNCTION_ARGS);
extern Datum redblue_geometry_overlap_volume(PG_FUNCTION_ARGS);
extern Datum redblue_geometry_overlap_depth(PG_FUNCTION_ARGS);
extern Datum redblue_geometry_overlap_area(PG_FUNCTION_ARGS);

/*
 * Returns the index of the entry point of an SQL function among n entry points, or -1
 * (index_support.c). The library of the function is loaded if it is not yet.
 */
extern int rb_find_entry(Oid function, const PGFunction *entries, int n);

/*
 * Raises the error that a geometry, such as "the first geometry", is not a valid solid, with the
 * reason (geometry_functions.c). `row` identifies the row, or is NULL.
 */
pg_noreturn extern void rb_raise_no_solid(const char *function, const char *which, const char *row,
										  const char *reason);

/* Raises the failure of work on two geometries as an ERROR (geometry_functions.c). */
pg_noreturn extern void rb_pairwise_raise(const struct rb_pairwise *pairwise, rb_status status);

/*
 * Returns true if the stored boxes prove that two geometries are disjoint (geometry_functions.c).
 * Stored boxes have float coordinates rounded outward, so geometries with disjoint boxes are
 * disjoint.
 */
extern bool rb_stored_boxes_are_disjoint(const rb_geometry_header *red,
										 const rb_geometry_header *blue);

/* Raises an error of redblue_dwithin if the distance is negative or NaN. */
extern void rb_check_distance(double distance);

/* ---- operand.c ---- */

/* Cached value of an argument */
typedef struct rb_operand
{
	struct varlena *stored; /* Value as passed: a TOAST pointer or the bytes */
	Size stored_size;
	Size stored_cap;
	struct varlena *bytes; /* Detoasted value, valid during a call */
	bool header_known;
	rb_geometry_header header;
	bool known;        /* True if the set has been built */
	bool flat;         /* True if it was projected to the plane */
	const rb_set *set; /* Set of one row, NULL if empty */
	rb_row_cache two;  /* State cached by comparisons with other values */
	rb_placed placed;  /* State cached by position tests (geometry_functions.c) */
} rb_operand;

/* Maximum number of cached values per argument */
#define RB_OPERANDS 64

/* Values of one argument: the current one, then earlier ones, most recent first */
typedef struct rb_operand_cache
{
	rb_operand *operand[RB_OPERANDS];
	uint32 hash[RB_OPERANDS];
	int n;
	rb_builder builder; /* Builder for decoding, empty between calls */
} rb_operand_cache;

/* State kept from one call of an expression to the next */
typedef struct rb_pairwise
{
	rb_decoder decoder;
	bool alone; /* True if the function takes a single geometry */
	MemoryContext context;
	rb_cleanup open;
	rb_memory *memory;
	rb_context ctx;  /* Context of the current work */
	rb_helper aside; /* Helper thread of the current work */
	rb_curve *curve; /* Intersection state, NULL until first needed */
	rb_intersection shape;
	const rb_set *solids;    /* Geometries of an array, NULL if there are none */
	rb_solid_boundary solid; /* Solid that the current call returns */
	rb_operand_cache argument[2];
	Size stored; /* Total size of the stored values, in bytes */
} rb_pairwise;

/* Returns the value of an argument in the current call. */
static inline rb_operand *
rb_pairwise_operand(const rb_pairwise *p, int side)
{
	return p->argument[side].operand[0];
}

/*
 * Reads both arguments of the current call. Raises an error if their SRIDs differ. Returns false if
 * one geometry is empty. Also returns false, without reading the geometries, if their stored boxes
 * are farther apart than `reach`. If `reach` is infinite, both are always read.
 */
extern bool rb_pairwise_read(FunctionCallInfo fcinfo, const char *function, double reach,
							 rb_pairwise **pairwise);

/* Begins a call on both arguments without comparing their boxes or building their sets. */
extern rb_pairwise *rb_pairwise_begin(FunctionCallInfo fcinfo, const char *function);

/*
 * Builds the set of an argument's value in space, if the value has any part and its set is not
 * cached. With `any_kind`, the set has the kind of the geometry, otherwise triangles.
 */
extern void rb_pairwise_read_placed(FunctionCallInfo fcinfo, rb_pairwise *pairwise, int side,
									bool any_kind);

/* Reads a polygon of the plane. */
extern void rb_pairwise_read_polygon(FunctionCallInfo fcinfo, rb_pairwise *p, int side);

/* Runs work on this number of parts in pairwise->ctx (rb_helper_try). */
extern rb_status rb_pairwise_work(rb_pairwise *pairwise, uint64 parts, rb_status (*work)(void *),
								  void *arg);

/* Returns true if the predicate holds. Stores its payload, as in a join, in *payload. */
extern bool rb_pairwise_test(rb_pairwise *pairwise, rb_predicate predicate, double distance,
							 uint64 *payload);

/* Computes the intersection into pairwise->shape, where it is valid until the next call. */
extern void rb_pairwise_curve(rb_pairwise *pairwise);

/* Computes the box of one geometry. Returns false if it is empty. */
extern bool rb_pairwise_box(FunctionCallInfo fcinfo, const char *function, bool *has_z, int32 *srid,
							double *low, double *high);

/*
 * Builds the set of one geometry's faces, in space, or in the plane if it has no Z and `flat` is
 * true; it is an error if it has no Z and `flat` is false. Returns false if the geometry is empty.
 */
extern bool rb_pairwise_read_surface(FunctionCallInfo fcinfo, const char *function, bool flat,
									 rb_pairwise **pairwise);

/* The triangles of a geometry's faces, each with the number of its face, from 1 */
typedef struct rb_pairwise_faces
{
	bool has_z;
	int32 srid;
	uint32 n;
	const double *coords; /* Nine coordinates per triangle; z is 0 in the plane */
	uint32 *face;
} rb_pairwise_faces;

/* Splits the only argument into triangles, and numbers the faces that they belong to. */
extern void rb_pairwise_read_faces(FunctionCallInfo fcinfo, const char *function,
								   rb_pairwise_faces *faces);

/*
 * Reads the geometries of the only argument, an array, into pairwise->solids: a row for each that
 * is not empty, with its position as id. Returns false if all of them are null.
 */
extern bool rb_pairwise_read_array(FunctionCallInfo fcinfo, const char *function,
								   rb_pairwise **pairwise, int32 *srid);
/* Frees the geometries of the array. */
extern void rb_pairwise_free_array(rb_pairwise *pairwise);

#endif /* RB_PG_SCALAR_SCALAR_H */
