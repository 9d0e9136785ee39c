/*
 * rb_geometry_join.h
 *	  a JOIN b ON redblue_intersects(a.geom, b.geom), as one node of the plan: what its files share.
 *
 *		join_path.c		the planner: which clause of a join can be answered so, what it costs, the plan
 *		join_scan.c		the node: both inputs are read, their geometries joined, pairs of rows handed out
 *		join_rows.c		rows of an input that are wanted again, in memory or in a file
 *		join_sides.c	geometries of an input become sets
 */
#ifndef RB_GEOMETRY_JOIN_H
#define RB_GEOMETRY_JOIN_H

#include "pg/pair/rb_pairwise.h"

#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

#define RB_JOIN_NAME "redblue join"

/* ---- join_rows.c ---- */

typedef struct rb_spool rb_spool;

/* in the current memory context; what is more than so many bytes goes to a temporary file */
extern rb_spool *rb_spool_open(Size most);
extern void rb_spool_put(rb_spool *stored, const void *bytes, Size length);
/* row i, from 0; valid until the next one is taken */
extern void *rb_spool_get(rb_spool *stored, uint64 i);
extern uint64 rb_spool_number(const rb_spool *stored);
extern void rb_spool_close(rb_spool *stored);

/* ---- join_path.c ---- */

/* which function it is, as custom_private has it */
typedef enum rb_asked
{
	RB_ASKED_INTERSECTS,
	RB_ASKED_CROSSES,
	RB_ASKED_DWITHIN
} rb_asked;

/* places in the plan's custom_private, a list of lists of integers */
enum
{
	RB_JOIN_FACTS /* join type, rb_asked, is the inner geometry the first argument?, columns of the outer and of the inner input */
};

/* ... and in custom_exprs */
enum
{
	RB_JOIN_OUTER_GEOMETRY,
	RB_JOIN_INNER_GEOMETRY,
	RB_JOIN_DISTANCE,
	RB_JOIN_CLAUSE, /* for EXPLAIN */
	RB_JOIN_QUAL    /* a list: what else is to hold for two rows to be joined */
};

extern void rb_join_install(void);

/* ---- join_sides.c: geometries of an input become sets ---- */

/* what a row's geometry is read as: in space, if it has Z; in the plane, if it has none; in the plane though it has Z */
typedef enum rb_lie
{
	RB_IN_SPACE,
	RB_IN_PLANE,
	RB_FLATTENED
} rb_lie;

#define RB_LIES 3

typedef struct rb_join_side
{
	rb_decoder decoder;
	rb_builder builder[RB_LIES];
	const rb_set *set[RB_LIES]; /* once all are read; NULL: none lies so */
	uint64 n[2];                /* geometries that are not null: without Z, with Z */
	bool srid_known;
	int32 srid;
	bool mixed; /* not all have the same SRID: ... */
	int32 other_srid;
	struct varlena *faulty[RB_LIES]; /* one that cannot be read so; NULL: none is known */
	bool flatten;                    /* what has Z is to be flattened, too */
	rb_spool *late;                  /* or may have to be, later: such geometries, ... */
	rb_spool *late_row;              /* ... and their rows; NULL: never */
} rb_join_side;

/* a geometry, detoasted, of that row; says nothing of what is wrong with it, as it may have nothing to be compared with */
extern void rb_join_side_add(rb_join_side *side, struct varlena *bytes, uint64 row);
/* those that may have to be flattened are */
extern void rb_join_side_flatten(rb_join_side *side);
/* raises what is wrong with one of its geometries, if there is any of the other side that it is to be compared with */
extern void rb_join_side_check(rb_join_side *side, const rb_join_side *other);
extern void rb_join_side_finish(rb_join_side *side);
extern void rb_join_side_free(rb_join_side *side);

/* ---- join_scan.c ---- */

extern const CustomScanMethods rb_join_methods;

#endif /* RB_GEOMETRY_JOIN_H */
