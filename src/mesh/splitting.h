/*
 * splitting.h
 *	  Declares the state of one round that splits facets and segments where they cross, and its
 *	  steps.
 *
 *	  plc_split.c       runs the rounds, and moves the result of each to the PLC
 *	  split_meetings.c  finds the points and lines that parts share
 *	  split_near.c      finds what doubles do not resolve: flat triangles, points near others
 *	  split_pieces.c    cuts triangles and segments at these points and lines
 */
#ifndef RB_MESH_SPLITTING_H
#define RB_MESH_SPLITTING_H

#include "core/base/base.h"
#include "core/intersection/intersection.h"
#include "core/base/point_hash.h"
#include "core/base/sort.h"
#include "mesh/hash_table.h"
#include "mesh/weld.h"

#define RB_SPLIT_CHECK_INTERVAL 1024 /* steps between two checks whether to stop */

/*
 * ---- pieces of split facets and segments, alignment of snapped points ----
 *
 *	  plc_split.c     splits pieces where they meet
 *	  snap_align.c    moves snapped points near a common plane or line onto it
 *	  snap_levels.c   moves the corners of inputs whose pieces still meet, and splits them again
 */

/* ---- plc_split.c ---- */

typedef struct rb_plc_pieces
{
	rb_welded *welded;
	uint32_t *triangle_of; /* for each triangle, its input triangle */
	uint32_t *segment_of;  /* for each segment, its input segment, or RB_NONE if created here */
	const uint32_t *rows;  /* row of each input segment */
} rb_plc_pieces;

#define RB_INPUT_MEETS 1 /* a piece of the input meets other pieces */
#define RB_INPUT_MET 2   /* a piece of the input met other pieces in some round */

/* RB_INPUT_MEETS and RB_INPUT_MET of each input triangle, segment and point */
typedef struct rb_meeting_inputs
{
	uint8_t *triangle;
	uint8_t *segment;
	uint8_t *point; /* by the number of the point before anything was split */
	uint32_t npoints;
} rb_meeting_inputs;

/*
 * Splits all pieces that meet, in rounds, until nothing meets or further rounds are not likely to
 * help; sets *sound to true if nothing meets and all surfaces (rb_welded) are closed modulo 2. Marks in *meets the inputs of the pieces that met and
 * of those that still meet.
 */
extern rb_status rb_pieces_split(rb_context *ctx, const rb_backend *backend, rb_plc_pieces *pieces,
								 rb_meeting_inputs *meets, rb_split_done *split, bool *sound);

/* ---- snap_align.c ---- */

/* Points that were moved to grids, and the inputs that use them */
typedef struct rb_snapped
{
	const rb_plc *plc;       /* the input; its points are not used */
	uint8_t *triangle_level; /* level of each triangle and segment */
	uint8_t *segment_level;
	uint8_t *point_level;
	const uint8_t *triangle_meets; /* whether each triangle and segment met others */
	const uint8_t *segment_meets;
	int step;              /* binary exponent of the grid of level 1 */
	int bits;              /* binary logarithm of the ratio of two consecutive grids */
	uint8_t last;          /* level of which all points are one */
	const uint32_t *first; /* for each point, the first one with equal coordinates */
	double *points;        /* coordinates */
} rb_snapped;

/*
 * Moves corners of triangles that are near a common plane, and ends of edges that are near a common
 * line, onto a plane or line on which they are exactly coplanar or collinear, if doubles have room
 * for this on the grid of the level of one of the inputs. The other inputs, which must have met
 * inputs or have a level, get that level. A point moves by less than four times that grid. *n is
 * the number of planes and lines. Returns RB_OK, RB_STOPPED or a memory error.
 */
extern rb_status rb_align_snapped(rb_context *ctx, const rb_snapped *snapped, uint32_t *n);

/* ---- a round ---- */

/* The line between two points in which a part meets a triangle */
typedef struct rb_split_line
{
	uint32_t of;    /* index of the triangle */
	uint32_t other; /* index of the part */
	uint32_t from, to;
	/* edge of the part that contains the line, or RB_NONE if the line is in the part's plane */
	uint32_t edge;
} rb_split_line;

/* The part that a triangle edge from `low` to `high` shares with an edge of another part */
typedef struct rb_split_overlap
{
	uint32_t low, high;
	uint32_t from, to;
} rb_split_overlap;

/* Two numbers and a point, sorted in this order: a point on an edge, in a triangle or on a line */
typedef struct rb_split_triple
{
	uint32_t a, b, point;
} rb_split_triple;

typedef RB_VEC(rb_split_triple) rb_split_triples;
typedef double rb_split_point[3];
typedef uint32_t rb_split_corners[3];

typedef struct rb_splitting
{
	rb_context *ctx;
	rb_plc_pieces *pieces;
	rb_welded *welded;
	const rb_plc *plc;
	rb_parts parts;
	rb_exact_env env;
	rb_split_done *split;
	uint32_t round; /* number of rounds before this one since the pieces were whole */
	rb_split_triples meetings;
	/* x, y, z: points of the PLC, then computed points; later without duplicates */
	RB_VEC(rb_split_point) points;
	RB_VEC(rb_split_line) lines; /* ordered by triangle */
	rb_split_triples on_edge;    /* triples: lower end of the edge, higher end, point on it */
	rb_split_triples near_edge;  /* like on_edge, for points near edges, which are found later */
	rb_split_triples inside;     /* triples: triangle, 0, point inside it */
	rb_split_triples cuts;       /* triples: line, 0, point that splits it */
	rb_split_triples hard;       /* triples: two points, 0; edges that must become segments */
	RB_VEC(rb_split_overlap) overlaps; /* overlaps of edges, which become segments */
	RB_VEC(uint32_t) ring;             /* points around the current triangle */
	RB_VEC(uint8_t) bytes;             /* polygon of the current triangle */
	rb_point_hash corners;
	uint32_t npoints;
	bool *flat; /* for each triangle, whether it is dropped as flat; NULL if none is */
	uint32_t nflat;
	/* The result */
	RB_VEC(rb_split_corners) triangles; /* three corners of each new triangle */
	RB_VEC(uint32_t) facet_of;
	RB_VEC(uint32_t) triangle_of; /* input triangle of each new triangle */
	RB_VEC(uint8_t) surfaces;     /* surfaces of each new triangle, if the PLC has them */
	rb_split_triples segments;    /* triples: two ends, input segment or RB_NONE */
	rb_table found;               /* triangles or segments, by their points */
	rb_chains cells;              /* points by grid cell */
	RB_VEC(uint32_t) next;        /* chains of points in a grid cell, then new indices of points */
	rb_split_triples borders;     /* triples: segment that is a triangle edge, facet, 0 */
	uint32_t *ends;               /* ends of the remaining segments */
	uint32_t *rows;
	uint32_t *segment_of;
	bool changed;
} rb_splitting;

/* Makes room for `more` elements of a list; fails if their indices would not fit in 32 bits. */
#define RB_SPLIT_RESERVE(s, list, more)                                             \
	((uint64_t) (list)->n + (more) > UINT32_MAX - 16                                \
		 ? rb_fail((s)->ctx, RB_TOO_MANY_OBJECTS, (list)->n, UINT32_MAX - 16, NULL) \
		 : rb_vec_reserve((s)->ctx, list, more))

/* Appends a triple of numbers to one of the lists of the split. */
static inline rb_status
rb_split_append_triple(rb_splitting *s, rb_split_triples *l, uint32_t a, uint32_t b, uint32_t point)
{
	RB_TRY(RB_SPLIT_RESERVE(s, l, 1));
	l->at[l->n++] = (rb_split_triple){a, b, point};
	return RB_OK;
}

/* Appends a computed point, and returns its number; equal points are merged later. */
static inline rb_status
rb_split_append_point(rb_splitting *s, const double *point, uint32_t *number)
{
	RB_TRY(RB_SPLIT_RESERVE(s, &s->points, 1));
	*number = s->points.n++;
	memcpy(s->points.at[*number], point, 3 * sizeof(double));
	return RB_OK;
}

/* Returns the coordinates of a point of the PLC or of one that the split has computed. */
static inline const double *
rb_split_get_point(const rb_splitting *s, uint32_t point)
{
	return s->points.at[point];
}

/* Returns the corners of a part (triangle, segment or point) of the PLC. */
static inline const double *
rb_split_get_part_corners(const rb_splitting *s, uint32_t part)
{
	return s->parts.coords + 9 * (size_t) part;
}

/* Orders triples of numbers. */
static inline int
rb_split_by_three_numbers(const void *a, const void *b, const void *arg)
{
	const uint32_t *x = a, *y = b;

	(void) arg;
	for (int i = 0; i < 3; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

/* Sorts a list of the split in the given order. */
static inline rb_status
rb_split_sort_triples(const rb_splitting *s, rb_split_triples *l, rb_compare order)
{
	return rb_sort(s->ctx, l->at, l->n, sizeof *l->at, order, s);
}

/* Appends a point on, or near, the triangle edge or segment from a to b to one of the lists. */
static inline rb_status
rb_split_append_edge_point(rb_splitting *s, rb_split_triples *l, uint32_t a, uint32_t b,
						   uint32_t point)
{
	return rb_split_append_triple(s, l, a < b ? a : b, a < b ? b : a, point);
}

/* ---- split_meetings.c: points and lines that parts share ---- */

/* Computes the points and lines that each pair of parts that meet shares. */
extern rb_status rb_split_record_meetings(rb_splitting *s);

/* Sorts the lines by triangle, and finds the crossings of those on the same triangle. */
extern rb_status rb_split_cross_lines(rb_splitting *s);

/* ---- split_near.c: what doubles do not resolve ---- */

/*
 * Finds triangles that are so flat that a point on their longest edge, rounded, may be beyond the
 * opposite corner. Such a triangle is dropped, and the corner splits the edge for all others. Only
 * pieces of inputs that met others count. Flat triangles that share an edge may have to wait for
 * the next round.
 */
extern rb_status rb_split_find_flat_triangles(rb_splitting *s, const rb_meeting_inputs *meets);

/* Splits the longest edges of flat triangles at the opposite corners. */
extern rb_status rb_split_at_flat_corners(rb_splitting *s);

/* Numbers the distinct points and replaces all others. */
extern rb_status rb_split_number_points(rb_splitting *s);

/*
 * Splits edges and lines at points of their triangles that are so near that rounding may have put
 * the points beyond them: lines would then cross, and the triangle could not be split.
 */
extern rb_status rb_split_at_near_points(rb_splitting *s);

/* ---- split_pieces.c: the pieces of triangles and segments ---- */

/*
 * Appends a point to the ring around the current triangle, or to the current segment, unless it
 * repeats the last one.
 */
extern rb_status rb_split_append_ring_point(rb_splitting *s, uint32_t point);

/* Appends a and the points on the edge from a to b to the ring, in this order. */
extern rb_status rb_split_append_edge_points(rb_splitting *s, uint32_t a, uint32_t b);

/* Cuts all triangles along their lines. */
extern rb_status rb_split_cut_triangles(rb_splitting *s);

/* Cuts all segments at the points on them. */
extern rb_status rb_split_cut_segments(rb_splitting *s);

#endif /* RB_MESH_SPLITTING_H */
