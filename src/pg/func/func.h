/*
 * func.h
 *	  Declares what the SQL functions share: which join a function is, and its arguments.
 */
#ifndef RB_PG_FUNC_FUNC_H
#define RB_PG_FUNC_FUNC_H

#include "pg/exec/exec.h"

/* ---- join_functions.c: the functions ---- */

/*
 * Returns the join that the C function of an SQL function performs, or NULL if it is not a join of
 * redblue.
 */
extern const rb_join *rb_join_of(PGFunction function);

/* ---- join_arguments.c ---- */

/* Reads the arguments of a call of this function. */
extern void rb_call_args_read(const rb_join *join, Oid function, const NullableDatum *args,
							  rb_call_args *call);

/* ---- into.c: insertion of rows into a table ---- */

/*
 * Returns true if rows may be inserted directly: the table has no trigger, index, policy or the
 * like.
 */
extern bool rb_is_plain_table(Relation rel);

/* ---- tile_functions.c: the tiles that a row or a geometry belongs to ---- */

/* The tiles given by two arrays of corners */
typedef struct rb_many_tiles
{
	int n;
	int dims;
	const double *low; /* `dims` coordinates per tile */
	const double *high;
} rb_many_tiles;

/*
 * Reads the tiles that redblue_tiles_of receives as two arrays: argument `first` has their low
 * corners, the next argument has their high corners.
 */
extern void rb_tiles_read(FunctionCallInfo fcinfo, const char *function, int first,
						  rb_many_tiles *tiles);

/* Moves the high ends of a row's box up by the distance argument of a tile function. */
extern void rb_reach_read(FunctionCallInfo fcinfo, const char *function, int argument, rb_box *box);

/*
 * Returns true if a join of the tile needs a row with this box, as redblue_meets_tile does. With
 * `flattens`, a box with Z may be tested against a two-dimensional tile.
 */
extern bool rb_tile_needs(const char *function, const rb_box *box, bool flattens,
						  const rb_box *tile);

/* Returns the numbers, from 1, of the tiles that need the box, as the result rows of this call. */
extern void rb_tiles_return(FunctionCallInfo fcinfo, const char *function, const rb_box *box,
							bool flattens, const rb_many_tiles *tiles);

#endif /* RB_PG_FUNC_FUNC_H */
