/*
 * simd.h
 *	  Declares the inner loops of the CPU backend. They are compiled for any processor (simd.c),
 *	  for AVX2 and for AVX-512 (simd_avx*.c), and one version is chosen at run time. All versions
 *	  do the same operations on the same values in the same order, so their results are
 *	  bit-identical.
 */
#ifndef RB_JOIN_SIMD_H
#define RB_JOIN_SIMD_H

#include "core/join/grid.h"
#include "core/base/redblue.h"
#include "core/exact/orient.h"

/*
 * The first and last cell of a box on each axis. The fourth element is 0, because kernels write
 * four at a time.
 */
typedef struct rb_range
{
	uint32_t c0[4] __attribute__((aligned(16)));
	uint32_t c1[4] __attribute__((aligned(16)));
} rb_range;

/*
 * The boxes of a cell, with each coordinate in an array of its own. Kernels read eight at a time,
 * so the arrays have room up to a multiple of eight.
 */
typedef struct rb_box_rows
{
	double *lo[3];
	double *hi[3];
	uint32_t *starts;  /* owner bits (grid.h) */
	uint32_t *local;   /* number within the tile */
	uint32_t *slab_lo; /* k-DOP: extents along the diagonals, word 1 of kdop.h */
	uint32_t *slab_hi;
	bool slabs; /* true if slab_lo and slab_hi are valid */
	uint32_t n;
} rb_box_rows;

/* A box that is tested against rows. Its k-DOP is valid if theirs are. */
typedef struct rb_box_row
{
	const double *lo;
	const double *hi;
	uint32_t starts;
	uint32_t local;
	uint32_t slab_lo;
	uint32_t slab_hi;
} rb_box_row;

/* Number of overlapping pairs of boxes, and how many of them this cell owns */
typedef struct rb_boxes_met
{
	uint64_t overlaps;
	uint64_t owned;
} rb_boxes_met;

/*
 * A triangle prepared for plane side tests: its corners by coordinate with the rounded normal as
 * fourth lane, the error factor k of its plane, and its extent e (the longest side of its box).
 *
 * With u = b - a, v = c - a, n = u x v and w = p - a, the absolute error of the computed value of
 * det = n . w is at most
 *
 *        8.01 eps (|u| x |v|) . |w|  <=  k (e + e')      eps = 2^-53
 *
 * where (|u| x |v|) is the cross product with all signs plus and, since the boxes of the two
 * triangles overlap, |w_a| <= e + e' on each axis. Terms for underflow are included in k and
 * RB_TINY. If a product could overflow, e is infinite and no sign is ever proved.
 *
 * A flat face has one coordinate that all its corners share, and an area whose orientation is
 * proved. Its normal is the unit vector of that axis. Then n . w is, up to the sign, the difference
 * of two coordinates, which is 0 only if they are equal and never has the wrong sign. Therefore k
 * is 0 and ke is RB_EXACT: "above -ke" and "below ke" then mean "above 0" and "below 0", and a
 * corner that is neither is proved to be in the plane.
 */
typedef struct rb_plane_face /* initialized by rb_face_init, simd.h */
{
	double x[4];
	double y[4];
	double z[4];
	double k;
	double e;
	double ke;     /* k e + RB_TINY, or RB_EXACT for a flat face */
	double margin; /* extra bound that proves a corner to be beyond the job's distance */
} __attribute__((aligned(64))) rb_plane_face;

/*
 * A triangle in single precision, in the frame of its tile (triangle_float.h), in the layout of
 * simd_float.h: sixteen words, read four at a time
 */
typedef struct rb_float_face
{
	float p[9]; /* corners */
	float k;    /* factor of the plane's error bound; infinite if no sign can be proved */
	float m;    /* largest magnitude in p */
	float unused;
	float n[4]; /* plane: n . p + n[3] */
} __attribute__((aligned(64))) rb_float_face;

#define RB_EPS 0x1p-53
#define RB_TINY 0x1p-1040
#define RB_EXACT (-0x1p-1074) /* no number other than 0 is smaller in magnitude */
#define RB_E_MOST 0x1p300     /* up to this extent, e^3 and sums of it stay finite */

/*
 * The signs of three corners against a plane. Bits 0-2 mean that a corner may be above the plane,
 * bits 4-6 that it may be below. If one of the two is set, the sign is proved; if neither is set,
 * it is proved to be zero. Bits 3 and 7 are undefined.
 */
typedef struct rb_sided
{
	uint32_t pair;      /* red local << 16 | blue local */
	uint8_t blue_sides; /* sides of blue's corners against red's plane */
	uint8_t red_sides;  /* sides of red's corners against blue's plane */
	uint8_t apart;      /* set by intervals_near: 1 if the two are proved not to meet */
	uint8_t common;     /* set by neighbours: a bit for each common corner of red, then of blue */
} rb_sided;

/* Returns true if all three corners are proved to be off the plane. */
static inline bool
rb_sides_proved(unsigned sides)
{
	return ((sides ^ sides >> 4) & 7) == 7;
}

struct rb_frame; /* defined in triangle_float.h */

typedef struct rb_kernel
{
	const char *name;

	/*
	 * Loads the boxes of n objects: those of a list (RB_INDEX_MASK gives the index in an entry), or
	 * without a list the objects first, first + 1, ... Arrays lo and hi are aligned for four
	 * numbers; the fourth is any finite number.
	 */
	void (*load)(rb_kind kind, const double *coords, const uint32_t *list, uint32_t first,
				 uint32_t n, double (*lo)[4], double (*hi)[4]);

	/* Computes the cells of n boxes as rb_grid_cell does. */
	void (*cells)(const rb_grid *grid, const double (*lo)[4], const double (*hi)[4], uint32_t n,
				  rb_range *out);

	/*
	 * Tests a box against rows from `first` to `end` or slightly beyond, and appends red's local
	 * number << 16 | the row's local number for each row whose box overlaps, whose pair this cell
	 * owns, and which the k-DOP test does not reject. Returns the number of appended pairs, and
	 * adds the results of the box test to the counts. Rows are read up to the next multiple of
	 * eight; rows after the last have lo at infinity and overlap nothing. The output has room for
	 * sixteen more pairs than there are rows.
	 */
	uint32_t (*boxes)(const rb_box_row *red, const rb_box_rows *rows, uint32_t first, uint32_t end,
					  uint32_t *out, rb_boxes_met *counts);

	/* Converts the triangles of a list to single precision, relative to a frame. */
	void (*small_faces)(const double *coords, const uint32_t *list, uint32_t n,
						const struct rb_frame *frame, rb_float_face *out);

	/*
	 * Computes the extents of triangles along the diagonals, with results bit-identical to those of
	 * rb_kdop_init.
	 */
	void (*slabs)(const rb_float_face *faces, uint32_t n, uint32_t *lo, uint32_t *hi);

	/*
	 * Tests pairs of single-precision triangles. Pairs whose interiors are proved to intersect go
	 * to yes, and their number is returned; pairs that are not decided go to undecided. Both arrays
	 * have room for sixteen more than there are pairs.
	 */
	uint32_t (*small_pairs)(const rb_float_face *red, const rb_float_face *blue,
							const uint32_t *pairs, uint32_t n, uint32_t *yes, uint32_t *undecided,
							uint32_t *nundecided);

	/*
	 * Prepares the triangles of a list, whose boxes are given, as rb_face_init does without a
	 * margin.
	 */
	void (*faces)(const double *coords, const uint32_t *list, uint32_t n, const double (*lo)[4],
				  const double (*hi)[4], rb_plane_face *out);

	/*
	 * Drops pairs that are proved to be separated by a plane of either triangle. Returns how many
	 * are left in out.
	 */
	uint32_t (*sides)(const rb_plane_face *red, const rb_plane_face *blue, const uint32_t *pairs,
					  uint32_t n, rb_sided *out);

	/*
	 * Runs the interval test on pairs whose six signs are proved. Matches go to yes, and their
	 * number is returned; pairs that the test does not decide, or that have an unproved sign, go to
	 * undecided. If `closed`, a common point is enough, so zeros count as proved signs and a common
	 * corner is a match; otherwise pairs with a zero remain undecided.
	 */
	uint32_t (*intervals)(bool closed, const rb_plane_face *red, const rb_plane_face *blue,
						  const rb_sided *in, uint32_t n, uint32_t *yes, rb_sided *undecided,
						  uint32_t *nundecided);

	/*
	 * Runs `sides` and then `intervals` with `closed`. The scratch array `room` has room for all
	 * pairs.
	 */
	uint32_t (*touching)(const rb_plane_face *red, const rb_plane_face *blue, const uint32_t *pairs,
						 uint32_t n, rb_sided *room, uint32_t *yes, rb_sided *undecided,
						 uint32_t *nundecided);

	/* Drops pairs that a plane separates by more than the margin. Returns how many are left in out. */
	uint32_t (*sides_near)(const rb_plane_face *red, const rb_plane_face *blue,
						   const uint32_t *pairs, uint32_t n, rb_sided *out);
	/*
	 * Runs the interval test for a distance. Pairs that are proved to meet go to yes, and their number
	 * is returned; all others go to undecided.
	 */
	uint32_t (*intervals_near)(const rb_plane_face *red, const rb_plane_face *blue,
							   const rb_sided *in, uint32_t n, uint32_t *yes, rb_sided *undecided,
							   uint32_t *nundecided);

	/*
	 * Drops pairs that are proved to be farther apart than the distance. Pairs that are within the
	 * distance and do not meet go to yes, and their number is returned; the others stay in pairs.
	 */
	uint32_t (*near)(const rb_plane_face *red, const rb_plane_face *blue, rb_sided *pairs,
					 uint32_t *n, double distance, uint32_t *yes);

	/*
	 * Drops pairs that share only common corners and the edge between them: one or two corners of
	 * one triangle are corners of the other, and its remaining corners are proved to be on one side
	 * of the other's plane. Returns how many are left in pairs, with their common corners.
	 */
	uint32_t (*neighbours)(const rb_plane_face *red, const rb_plane_face *blue, rb_sided *pairs,
						   uint32_t n);

	/*
	 * Computes the doubles nearest to the distances of triangles that do not meet, given by their
	 * numbers. A result of 0 means that another method is needed (rb_pair_apart). NULL if that
	 * method is always faster.
	 */
	void (*apart)(const double *red, const double *blue, const rb_pair *pairs, uint32_t n,
				  double *distance);
} rb_kernel;

extern const rb_kernel rb_kernel_base;
#ifdef __x86_64__
extern const rb_kernel rb_kernel_avx2;
extern const rb_kernel rb_kernel_avx512;
#endif

/*
 * Returns the fastest version that this processor runs. A build with RB_SMALL uses the version for
 * any processor, to test it.
 */
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

/* Number of objects whose boxes are loaded at a time */
#define RB_BATCH 64

/*
 * An entry of a cell is the index of an object, with its start bits in the top three bits
 * (grid.h)
 */
#define RB_INDEX_MASK (RB_MAX_OBJECTS - 1)
#define RB_INDEX_BITS 29

/* ---- triangles prepared for plane side tests ---- */

/*
 * Prepares a triangle for plane side tests: computes its normal and its error bound
 * (rb_plane_face).
 */

/*
 * Turns the normal of a face that is flat on an axis into the unit vector of that axis if its sign
 * is proved. A difference is 0 only if two coordinates are equal, so the products involve only the
 * two other axes, and the permanent is that of orient2d there.
 */
static inline void
rb_face_flat(rb_plane_face *f, int axis, double permanent)
{
	double *normal[3] = {&f->x[3], &f->y[3], &f->z[3]};
	double n = *normal[axis];

	if (!(fabs(n) > RB_ORIENT2D_BOUND * (permanent + RB_BOUND_FLOOR)))
		return;
	*normal[0] = *normal[1] = *normal[2] = 0;
	*normal[axis] = n > 0 ? 1 : -1;
	f->k = 0;
	f->ke = RB_EXACT;
}

/* Sets the error factors of a face from its extent and the permanent of its normal. */
static inline void
rb_face_bounds(rb_plane_face *f, double extent, double permanent)
{
	f->e = extent <= RB_E_MOST ? extent : HUGE_VAL;
	f->k = 10 * RB_EPS * (permanent + 0x1p-1000);
	if (!(f->k <= DBL_MAX))
		f->k = HUGE_VAL;
	f->ke = f->k * f->e + RB_TINY;
	f->margin = 0;
}

/*
 * Initializes a face. A corner counts as beyond its plane only if it is farther from it than
 * `margin`. Since |n . w| is compared with margin |n|, an upper bound on |n| is needed: the length
 * of the rounded normal plus the errors of its components, which k bounds, up to a few roundings.
 */
static inline void
rb_face_init(rb_plane_face *f, const double *p, const double lo[3], const double hi[3],
			 double margin)
{
	double u[3], v[3], w[3] = {hi[0] - lo[0], hi[1] - lo[1], hi[2] - lo[2]};
	double permanent = 0, extent;
	int flat = -1;

	for (int i = 0; i < 3; i++)
	{
		f->x[i] = p[3 * i];
		f->y[i] = p[3 * i + 1];
		f->z[i] = p[3 * i + 2];
		u[i] = p[3 + i] - p[i];
		v[i] = p[6 + i] - p[i];
	}
	f->x[3] = u[1] * v[2] - u[2] * v[1];
	f->y[3] = u[2] * v[0] - u[0] * v[2];
	f->z[3] = u[0] * v[1] - u[1] * v[0];
	for (int i = 0; i < 3; i++)
	{
		int j = (i + 1) % 3, k = (i + 2) % 3;

		permanent += fabs(u[j] * v[k]) + fabs(u[k] * v[j]);
		flat = u[i] == 0 && v[i] == 0 ? i : flat;
	}
	extent = w[0] > w[1] ? w[0] : w[1];
	rb_face_bounds(f, extent > w[2] ? extent : w[2], permanent);
	if (flat >= 0 && margin == 0)
		rb_face_flat(f, flat, permanent);
	if (margin > 0)
		f->margin =
			margin * (1 + 16 * RB_EPS) *
			(sqrt(f->x[3] * f->x[3] + f->y[3] * f->y[3] + f->z[3] * f->z[3] + RB_TINY) + f->k);
}

#endif /* RB_JOIN_SIMD_H */
