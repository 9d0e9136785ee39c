/*
 * rb_kernel.h
 *	  The inner loops of the CPU, compiled once for any x86-64 or other
 *	  machine (kernel.c), once for AVX2 and once for AVX-512 (kernel_avx*.c), chosen
 *	  at run time.  All do the same operations on the same values in the same order,
 *	  so they give the same answers to the bit; some are faster.
 */
#ifndef RB_KERNEL_H
#define RB_KERNEL_H

#include "core/join/rb_grid.h"
#include "core/base/redblue.h"

/* first and last cell of a box on each axis; the fourth is 0, for kernels write four at once */
typedef struct rb_range
{
	uint32_t c0[4] __attribute__((aligned(16)));
	uint32_t c1[4] __attribute__((aligned(16)));
} rb_range;

/*
 * The boxes of a cell, each coordinate in an array of its own.  Kernels read eight at a time:
 * the arrays have room up to a multiple of eight.
 */
typedef struct rb_box_rows
{
	double *lo[3];
	double *hi[3];
	uint32_t *starts;  /* owner bits (rb_grid.h) */
	uint32_t *local;   /* number within the tile */
	uint32_t *slab_lo; /* extents along the diagonals: word 1 of rb_slabs.h */
	uint32_t *slab_hi;
	bool slabs; /* are they known? */
	uint32_t n;
} rb_box_rows;

/* the box that is held against rows; its slabs where theirs are known */
typedef struct rb_box_row
{
	const double *lo;
	const double *hi;
	uint32_t starts;
	uint32_t local;
	uint32_t slab_lo;
	uint32_t slab_hi;
} rb_box_row;

/* pairs of boxes that overlap, and those of them that this cell owns */
typedef struct rb_boxes_met
{
	uint64_t overlaps;
	uint64_t owned;
} rb_boxes_met;

/*
 * A triangle ready for plane sides: the corners by coordinate with the rounded
 * normal as fourth lane, the error factor k of its plane, and its extent e (the
 * longest side of its box).
 *
 * With u = b - a, v = c - a, n = u x v and w = p - a the value computed for
 * det = n . w is off by at most
 *		8.01 eps (|u| x |v|) . |w|	<=	k (e + e')		eps = 2^-53
 * where (|u| x |v|) is the cross product with all signs plus and, the boxes of the
 * two triangles overlapping, |w_a| <= e + e' on each axis.  Terms for underflow
 * are in k and RB_TINY; where a product could overflow e is infinite and
 * nothing is ever sure.
 *
 * A flat face has one coordinate that all its corners share, and an area that is proved to be
 * turned one way.  Its normal is a unit of that axis: then n . w is, up to the sign, the difference
 * of two coordinates, and that is 0 only if they are equal and never has the wrong sign.  So k is 0
 * and ke RB_EXACT: "above -ke" and "below ke" are then "above 0" and "below 0", and what is neither
 * is proved to be in the plane.
 */
typedef struct rb_face /* made by rb_face_init, rb_kernel_face.h */
{
	double x[4];
	double y[4];
	double z[4];
	double k;
	double e;
	double ke; /* k e + RB_TINY; of a flat face RB_EXACT */
	double
		margin; /* so much more proves that a corner is farther away than the job's distance (leaf.c) */
} __attribute__((aligned(64))) rb_face;

/*
 * A triangle in float, in the frame of its tile (rb_float.h), as rb_kernel_float.h reads it:
 * sixteen words, by four.
 */
typedef struct rb_small_face
{
	float p[9]; /* the corners */
	float k;    /* factor of the plane's bound; infinite: nothing is sure */
	float m;    /* largest magnitude in p */
	float unused;
	float n[4]; /* the plane: n . p + n[3] */
} __attribute__((aligned(64))) rb_small_face;

#define RB_EPS 0x1p-53
#define RB_TINY 0x1p-1040
#define RB_EXACT (-0x1p-1074) /* no number but 0 is smaller in magnitude */
#define RB_E_MOST 0x1p300     /* e^3 and its sums stay finite */

/*
 * Signs of three corners against a plane: bits 0-2, it may be above; bits 4-6, it may be below.
 * One of the two is a proved sign, neither a proved zero.  Bits 3 and 7 mean nothing.
 */
typedef struct rb_sided
{
	uint32_t pair;      /* red local << 16 | blue local */
	uint8_t blue_sides; /* of blue's corners against red's plane */
	uint8_t red_sides;
	uint8_t apart; /* intervals_near: 1 where the two are proved not to meet */
	uint8_t
		common; /* neighbours: a bit for each corner of red that is one of blue, then for blue's */
} rb_sided;

/* are all three proved to be beside the plane? */
static inline bool
rb_sides_proved(unsigned sides)
{
	return ((sides ^ sides >> 4) & 7) == 7;
}

struct rb_frame; /* rb_float.h */

typedef struct rb_kernel
{
	const char *name;

	/*
	 * Boxes of n objects: those of a list (RB_INDEX_MASK gives the index in an entry), or
	 * without a list of first, first + 1, ...  lo and hi are aligned for four numbers; the
	 * fourth is any finite one.
	 */
	void (*load)(rb_kind kind, const double *coords, const uint32_t *list, uint32_t first,
				 uint32_t n, double (*lo)[4], double (*hi)[4]);

	/* the cells of n boxes, as rb_grid_cell says */
	void (*cells)(const rb_grid *grid, const double (*lo)[4], const double (*hi)[4], uint32_t n,
				  rb_range *out);

	/*
	 * A box against rows from first up to end or a little beyond: appends local << 16 | local
	 * of each row whose box overlaps and whose pair this cell owns, and of which slabs do not
	 * tell that the two are apart.  Returns their number, and adds to the counts what boxes
	 * say.  Rows are read up to the next multiple of eight; those behind the last
	 * have lo at infinity and overlap nothing.  out has room for sixteen more than there are
	 * rows.
	 */
	uint32_t (*boxes)(const rb_box_row *red, const rb_box_rows *rows, uint32_t first, uint32_t end,
					  uint32_t *out, rb_boxes_met *counts);

	/* the triangles of a list, in a frame */
	void (*small_faces)(const double *coords, const uint32_t *list, uint32_t n,
						const struct rb_frame *frame, rb_small_face *out);

	/* their extents along the diagonals, to the bit as rb_slabs_init makes them */
	void (*slabs)(const rb_small_face *faces, uint32_t n, uint32_t *lo, uint32_t *hi);

	/*
	 * Pairs of these: those that meet for sure, in their insides, go to yes, and their number
	 * is returned; those that may or may not go to undecided.  Both have room for sixteen more
	 * than there are pairs.
	 */
	uint32_t (*small_pairs)(const rb_small_face *red, const rb_small_face *blue,
							const uint32_t *pairs, uint32_t n, uint32_t *yes, uint32_t *undecided,
							uint32_t *nundecided);

	/* the triangles of a list, with their boxes, as rb_face_init makes them without a margin */
	void (*faces)(const double *coords, const uint32_t *list, uint32_t n, const double (*lo)[4],
				  const double (*hi)[4], rb_face *out);

	/* Drops pairs that a plane separates for sure.  Returns how many are left in out. */
	uint32_t (*sides)(const rb_face *red, const rb_face *blue, const uint32_t *pairs, uint32_t n,
					  rb_sided *out);

	/*
	 * The interval test on pairs whose six signs are proved: hits go to yes, those
	 * that it does not settle or that miss a sign to undecided.  Returns the number of hits.
	 * closed: a point in common is enough, so zeros are signs, too, and corners in common a hit;
	 * else pairs with a zero stay undecided.
	 */
	uint32_t (*intervals)(bool closed, const rb_face *red, const rb_face *blue, const rb_sided *in,
						  uint32_t n, uint32_t *yes, rb_sided *undecided, uint32_t *nundecided);

	/* both steps, closed; room is for as many as there are pairs */
	uint32_t (*touching)(const rb_face *red, const rb_face *blue, const uint32_t *pairs, uint32_t n,
						 rb_sided *room, uint32_t *yes, rb_sided *undecided, uint32_t *nundecided);

	/*
	 * The same three steps with a distance.  Pairs that a plane separates by more than the
	 * margin are dropped; those that meet go to yes, all others to undecided.
	 */
	uint32_t (*sides_near)(const rb_face *red, const rb_face *blue, const uint32_t *pairs,
						   uint32_t n, rb_sided *out);
	uint32_t (*intervals_near)(const rb_face *red, const rb_face *blue, const rb_sided *in,
							   uint32_t n, uint32_t *yes, rb_sided *undecided,
							   uint32_t *nundecided);

	/*
	 * Drops pairs that are farther apart for sure; those that are within the distance and do not
	 * meet go to yes, and their number is returned; what is left stays in pairs.
	 */
	uint32_t (*near)(const rb_face *red, const rb_face *blue, rb_sided *pairs, uint32_t *n,
					 double distance, uint32_t *yes);

	/*
	 * Drops pairs that share only common corners and the edge between them: of one triangle one
	 * or two corners are corners of the other, and the rest is proved to be on one side of the
	 * other's plane.  Returns how many are left in pairs, with their common corners.
	 */
	uint32_t (*neighbours)(const rb_face *red, const rb_face *blue, rb_sided *pairs, uint32_t n);

	/*
	 * The doubles nearest to the distances of triangles that do not meet, by their numbers; 0
	 * where another way is to be found (rb_pair_apart).  NULL: that is always faster.
	 */
	void (*apart)(const double *red, const double *blue, const rb_pair *pairs, uint32_t n,
				  double *distance);
} rb_kernel;

extern const rb_kernel rb_kernel_base;
#ifdef __x86_64__
extern const rb_kernel rb_kernel_avx2;
extern const rb_kernel rb_kernel_avx512;
#endif

/* the fastest that this processor runs; the small build tests the one that every processor runs */
static inline const rb_kernel *
rb_kernel_best(void)
{
#if defined(__x86_64__) && !defined(RB_SMALL)
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
		__builtin_cpu_supports("avx512dq"))
		return &rb_kernel_avx512;
	if (__builtin_cpu_supports("avx2"))
		return &rb_kernel_avx2;
#endif
	return &rb_kernel_base;
}

/* objects whose boxes are loaded at once */
#define RB_BATCH 64

/* an object in a cell: its index, and in the top three bits where it starts (rb_grid.h) */
#define RB_INDEX_MASK (RB_MAX_OBJECTS - 1)
#define RB_INDEX_BITS 29

#endif /* RB_KERNEL_H */
