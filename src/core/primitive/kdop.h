/*
 * kdop.h
 *	  Computes the k-DOP of a triangle, its extents along seven directions, packed into two words
 *	  for each end; and the box of any object, packed into one word for each corner.
 *
 * Two triangles of a volume mesh whose boxes overlap are apart more often than not, and half of
 * these pairs can be rejected by four more directions: the diagonals of the cell. (Convex hulls
 * with fixed directions, k-DOPs: J. Klosowski, M. Held, J. Mitchell, H. Sowizral, K. Zikan:
 * Efficient Collision Detection Using Bounding Volume Hierarchies of k-DOPs, 1998.)
 *
 * An extent is two small integers, the levels between which it lies in the cell's frame
 * (triangle_float.h); values far outside the cell are clamped. The levels of a triangle are fields
 * of a word, and above each field is a guard bit, which is set in the word of the upper ends. If
 * subtracting the lower ends of one triangle from the upper ends of the other leaves all guards
 * set, no upper end is below a lower end: two subtractions compare three or four directions at
 * once, both ways.
 *
 *		word 0		x, y, z: 9 bits and a guard each
 *		word 1		x + y + z, x + y - z, x - y + z, -x + y + z: 7 bits and a guard each
 *
 * The test never rejects a pair that meets: along each direction, a common point of two triangles
 * lies between the exact ends of both. The map to levels is monotone, and the levels are rounded
 * outward by more than all preceding errors: of a coordinate in the frame at most 1.001 e m (e =
 * 2^-24, m the largest magnitude of the triangle's floats), of a sum of three 9 e m in all, which
 * is less than 2^-15 m levels; and of the arithmetic of levels, less than 2^-13 of a level if not
 * clamped.
 *
 * For distances, the extents of both triangles are padded by half the distance times the length of
 * the direction.
 */
#ifndef RB_PRIMITIVE_KDOP_H
#define RB_PRIMITIVE_KDOP_H

#include "core/primitive/triangle_float.h"

typedef struct rb_kdop
{
	uint32_t lo[2];
	uint32_t hi[2]; /* upper ends, with guard bits */
} rb_kdop;

#define RB_KDOP_GUARDS_0 0x20080200u
#define RB_KDOP_GUARDS_1 0x80808080u

/*
 * Levels per unit of the frame, in which the cell is one to two units wide and a diagonal three
 * times that
 */
#define RB_KDOP_AXIS 256.0f
#define RB_KDOP_DIAGONAL 32.0f

/* Writes the fields of an extent; least and most are in units of the frame. */
RB_HOST_DEVICE void
rb_kdop_write_extent(rb_kdop *s, int word, int shift, float scale, float last, float least,
					 float most, float more)
{
	const float middle = 0.5f * (last + 1);
	const float lo = fminf(fmaxf(least * scale + middle - more, 0), last);
	const float hi = fminf(fmaxf(most * scale + middle + more, 0), last);

	s->lo[word] |= (uint32_t) (int32_t) lo << shift;
	s->hi[word] |= (uint32_t) (int32_t) hi << shift;
}

/*
 * Computes the k-DOP of a face. half is half of the distance of the predicate, 0 for intersection.
 */
RB_HOST_DEVICE void
rb_kdop_init(rb_kdop *s, const rb_face_f *f, float half)
{
	const float *p = f->p;
	const float error = f->m * 0x1p-15f + 0x1p-10f;

	s->lo[0] = s->lo[1] = 0;
	s->hi[0] = RB_KDOP_GUARDS_0;
	s->hi[1] = RB_KDOP_GUARDS_1;
	if (!(f->m <= RB_MAX_M_F))
	{
		s->hi[0] = RB_KDOP_GUARDS_0 | (RB_KDOP_GUARDS_0 - (RB_KDOP_GUARDS_0 >> 9));
		s->hi[1] = RB_KDOP_GUARDS_1 | (RB_KDOP_GUARDS_1 - (RB_KDOP_GUARDS_1 >> 7));
		return;
	}
	for (int a = 0; a < 3; a++)
		rb_kdop_write_extent(
			s, 0, 10 * a, RB_KDOP_AXIS, 511, fminf(p[a], fminf(p[3 + a], p[6 + a])),
			fmaxf(p[a], fmaxf(p[3 + a], p[6 + a])), error + half * (RB_KDOP_AXIS * 1.001f));
	for (int d = 0; d < 4; d++)
	{
		/* axis with a minus sign, or 3 if none */
		const int minus = d == 0 ? 3 : 3 - d;
		float v[3];

		for (int i = 0; i < 3; i++)
			v[i] = (minus == 0 ? -p[3 * i] : p[3 * i]) +
				   (minus == 1 ? -p[3 * i + 1] : p[3 * i + 1]) +
				   (minus == 2 ? -p[3 * i + 2] : p[3 * i + 2]);
		rb_kdop_write_extent(s, 1, 8 * d, RB_KDOP_DIAGONAL, 127, fminf(v[0], fminf(v[1], v[2])),
							 fmaxf(v[0], fmaxf(v[1], v[2])),
							 error + half * (RB_KDOP_DIAGONAL * 1.7337f));
	}
}

/* ---- the box of any object in a cell ---- */

/*
 * Packs the box of an object in a cell into two words: its upper and its lower corner.
 *
 * A coordinate is quantized to a few bits: its position in the cell's frame (triangle_float.h) in
 * 512 or 1024 steps, clamped to the first and the last step. The values of the three axes are
 * fields of a word, and above each field is a guard bit, which is set in the word of the upper
 * corner. One subtraction then compares three axes: a borrow on an axis clears only the guard of
 * that axis. Two subtractions and one AND decide whether two boxes are apart.
 *
 *		bits 0 to 8		x, then its guard
 *		bits 10 to 19	y, then its guard
 *		bits 21 to 30	z, then its guard
 *
 * The result is never wrong: the map from doubles to steps is monotone, including rounding, so
 * steps that differ come from coordinates that differ in the same direction. Boxes that are apart
 * in steps are therefore apart, and boxes whose upper ends are all above the other's lower ends
 * overlap. Equal steps decide nothing. Nothing is rounded outward: that would leave more pairs
 * undecided without rejecting any.
 */

#define RB_PACKED_X_BITS 9
#define RB_PACKED_YZ_BITS 10
#define RB_PACKED_Y_AT (RB_PACKED_X_BITS + 1)
#define RB_PACKED_Z_AT (RB_PACKED_Y_AT + RB_PACKED_YZ_BITS + 1)

/* Guard bits of the upper corner */
#define RB_PACKED_GUARDS                                                   \
	(1u << RB_PACKED_X_BITS | 1u << (RB_PACKED_Y_AT + RB_PACKED_YZ_BITS) | \
	 1u << (RB_PACKED_Z_AT + RB_PACKED_YZ_BITS))

/*
 * One step on each axis; for kinds without z, where all boxes are equal on the z axis, only on x
 * and y
 */
#define RB_PACKED_STEPS(flat) (1u | 1u << RB_PACKED_Y_AT | ((flat) ? 0 : 1u << RB_PACKED_Z_AT))

/* Quantizes a frame coordinate, which is from -1 to 1 within the cell, to `bits` bits. */
RB_HOST_DEVICE uint32_t
rb_packed_number(float x, int bits)
{
	const float half = (float) (1 << (bits - 1));

	return (uint32_t) (int32_t) fminf(fmaxf(fmaf(x, half, half), 0), 2 * half - 1);
}

/* Packs a corner, without guards. */
RB_HOST_DEVICE uint32_t
rb_packed_corner(const rb_frame *frame, const double c[3])
{
	return rb_packed_number(rb_frame_map(frame, 0, c[0]), RB_PACKED_X_BITS) |
		   rb_packed_number(rb_frame_map(frame, 1, c[1]), RB_PACKED_YZ_BITS) << RB_PACKED_Y_AT |
		   rb_packed_number(rb_frame_map(frame, 2, c[2]), RB_PACKED_YZ_BITS) << RB_PACKED_Z_AT;
}

/*
 * Returns nonzero if the two boxes are apart, which clears a guard. If red's corners were moved
 * toward each other by one step before, boxes with equal steps on an axis count as apart, too.
 */
RB_HOST_DEVICE uint32_t
rb_packed_apart(uint32_t red_hi, uint32_t red_lo, uint32_t blue_hi, uint32_t blue_lo)
{
	return ~((blue_hi - red_lo) & (red_hi - blue_lo)) & RB_PACKED_GUARDS;
}

#endif /* RB_PRIMITIVE_KDOP_H */
