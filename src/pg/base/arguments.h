/*
 * arguments.h
 *	  Declares the reader of the arguments of SQL functions (arguments.c).
 */
#ifndef RB_PG_BASE_ARGUMENTS_H
#define RB_PG_BASE_ARGUMENTS_H

#include "pg/base/pg.h"

#define RB_MAX_ARGUMENTS 64

/* The arguments of a call, by name */
typedef struct rb_arguments
{
	const char *function; /* SQL name, for messages */
	const NullableDatum *value;
	const char *name[RB_MAX_ARGUMENTS]; /* In SQL order */
	int n;
} rb_arguments;

/*
 * Gives the arguments their names, a list in SQL order such as "* *_id face_tolerance". A name with
 * an asterisk stands for one argument per side, in which the side's name replaces the asterisk.
 */
extern void rb_arguments_bind(rb_arguments *a, const char *function, const char *list,
							  const char *const *sides, int nsides, const NullableDatum *value);
/* Names further arguments. */
extern void rb_arguments_append(rb_arguments *a, const char *list, const char *const *sides,
								int nsides);

/*
 * Returns an argument. If the function has none of this name, the result and the argument after it
 * are null.
 */
extern const NullableDatum *rb_argument(const rb_arguments *a, const char *name);

/* Returns an argument, or raises an error if it is null. */
extern Datum rb_argument_required(const rb_arguments *a, const char *name);

/*
 * Returns the name of a column, or NULL if the argument is null. Raises an error if it is empty,
 * with this hint, or with a general one if the hint is NULL.
 */
extern const char *rb_argument_column(const rb_arguments *a, const char *name, const char *hint);

/* Returns a text, or NULL if the argument is null. Raises an error if it is empty. */
extern char *rb_argument_text(const rb_arguments *a, const char *name);

/* Returns true if the argument is `other`, false if it is `usual` or null. */
extern bool rb_argument_choice(const rb_arguments *a, const char *name, const char *usual,
							   const char *other);

/* Returns face_tolerance, or -1 if it is null. */
extern double rb_argument_tolerance(const rb_arguments *a);

/* Returns a distance, which must not be null. */
extern double rb_distance_read(const NullableDatum *arg, const char *function, const char *name);

/* ---- points, boxes and tiles ---- */

/* Raises the error that an array argument contains nulls. */
pg_noreturn extern void rb_refuse_null(const char *function, const char *argument);
/* Raises the error that two arguments, described by a and b, differ in dimensions. */
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

/* ---- axes of a block model ---- */

/* Reads the axes from the arguments azimuth, dip, plunge, origin and rotation. */
extern void rb_frame_read(const rb_arguments *a, rb_model_frame *frame);

/* ---- relations ---- */

/*
 * Returns the locked relation, or raises an error if the caller has the privilege on none of its
 * columns.
 */
extern Relation rb_relation_open(Oid relid, LOCKMODE lock, AclMode right, const char *function,
								 const char *argument);

#endif /* RB_PG_BASE_ARGUMENTS_H */
