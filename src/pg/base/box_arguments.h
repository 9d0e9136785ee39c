/*
 * box_arguments.h
 *	  Declares arguments that are points, boxes and tiles (box_arguments.c).
 */
#ifndef RB_PG_BASE_BOX_ARGUMENTS_H
#define RB_PG_BASE_BOX_ARGUMENTS_H

#include "pg/base/pg.h"

pg_noreturn extern void rb_refuse_null_argument(const char *function, const char *argument);
/* Raises an error because the argument, a column name, is an empty string. */
pg_noreturn extern void rb_refuse_empty(const char *function, const char *argument);
pg_noreturn extern void rb_refuse_distance(const char *function, const char *argument,
										   double distance);
pg_noreturn extern void rb_refuse_tolerance(const char *function, double tolerance);
/* Raises an error because the argument, an array, contains nulls. */
pg_noreturn extern void rb_refuse_null(const char *function, const char *argument);
pg_noreturn extern void rb_refuse_dims(const char *function, const char *a, int dims_a,
									   const char *b, int dims_b);
/* Raises an error because the tile and the join differ in their number of dimensions. */
pg_noreturn extern void rb_tile_refuse_dims(const char *function, const rb_box *tile, int dims);

/*
 * Reads a box from the two arguments `low` and `high`. A null argument leaves the box unbounded on
 * that side; if both are null, e->dims is 0.
 */
extern void rb_ends_read(const NullableDatum *args, const char *function, const char *low,
						 const char *high, rb_box *e);

/* Reads a tile from the arguments tile_low and tile_high. */
extern void rb_tile_read(const NullableDatum *args, const char *function, rb_box *tile);

/* Reads a tile without raising errors. Returns false if the arguments are invalid. */
extern bool rb_tile_try(const NullableDatum *args, rb_box *tile);

#endif /* RB_PG_BASE_BOX_ARGUMENTS_H */
