/*
 * rb_packed.h
 *	  The box of an object in a cell: its upper and its lower corner, a word each.
 *
 * A coordinate becomes a whole number of a few bits: where it lies in the cell's frame
 * (rb_float.h), in 512 or 1024 steps, clamped to the first and the last one.  The numbers of
 * three axes are fields of a word, and above each field there is a bit, the guard, set in the
 * word of the upper corner.  One subtraction then compares three axes: what is borrowed
 * on an axis takes its own guard away and nobody else's.  Two subtractions, an `and`, and
 * two boxes are apart or not.
 *
 *		bits 0 to 8		x, then its guard
 *		bits 10 to 19	y, then its guard
 *		bits 21 to 30	z, then its guard
 *
 * Never wrong: the map from doubles to numbers is monotone, rounding included, so numbers
 * that differ come from coordinates that differ in the same way.  So boxes that are apart
 * in numbers are apart, and those of which each upper end is above the other's lower end
 * overlap.  Equal numbers decide nothing.  Nothing is rounded outward: that would
 * leave more undecided, and not one pair less to look at.
 */
#ifndef RB_PACKED_H
#define RB_PACKED_H

#include "core/shape/rb_float.h"

#define RB_PACKED_X_BITS 9
#define RB_PACKED_YZ_BITS 10
#define RB_PACKED_Y_AT (RB_PACKED_X_BITS + 1)
#define RB_PACKED_Z_AT (RB_PACKED_Y_AT + RB_PACKED_YZ_BITS + 1)

/* of the upper corner */
#define RB_PACKED_GUARDS                                                   \
	(1u << RB_PACKED_X_BITS | 1u << (RB_PACKED_Y_AT + RB_PACKED_YZ_BITS) | \
	 1u << (RB_PACKED_Z_AT + RB_PACKED_YZ_BITS))

/* a step of each axis; of kinds without z, where all boxes are equal there, of two */
#define RB_PACKED_STEPS(flat) (1u | 1u << RB_PACKED_Y_AT | ((flat) ? 0 : 1u << RB_PACKED_Z_AT))

/* a coordinate of the frame, which reaches from -1 to 1 in the cell, in `bits` bits */
RB_HD uint32_t
rb_packed_number(float x, int bits)
{
	const float half = (float) (1 << (bits - 1));

	return (uint32_t) (int32_t) fminf(fmaxf(fmaf(x, half, half), 0), 2 * half - 1);
}

/* a corner without guards */
RB_HD uint32_t
rb_packed_corner(const rb_frame *frame, const double c[3])
{
	return rb_packed_number(rb_frame_map(frame, 0, c[0]), RB_PACKED_X_BITS) |
		   rb_packed_number(rb_frame_map(frame, 1, c[1]), RB_PACKED_YZ_BITS) << RB_PACKED_Y_AT |
		   rb_packed_number(rb_frame_map(frame, 2, c[2]), RB_PACKED_YZ_BITS) << RB_PACKED_Z_AT;
}

/*
 * Not 0: the two are apart, for some guard is gone.  Red's corners may have been moved towards
 * each other by a step: then those are apart, too, of which a comparison is equal.
 */
RB_HD uint32_t
rb_packed_apart(uint32_t red_hi, uint32_t red_lo, uint32_t blue_hi, uint32_t blue_lo)
{
	return ~((blue_hi - red_lo) & (red_hi - blue_lo)) & RB_PACKED_GUARDS;
}

#endif /* RB_PACKED_H */
