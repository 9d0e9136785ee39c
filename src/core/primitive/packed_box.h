/*
 * packed_box.h
 *	  Packs the box of an object in a cell into two words: its upper and its lower corner.
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
#ifndef RB_PRIMITIVE_PACKED_BOX_H
#define RB_PRIMITIVE_PACKED_BOX_H

#include "core/primitive/triangle_float.h"

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

#endif /* RB_PRIMITIVE_PACKED_BOX_H */
