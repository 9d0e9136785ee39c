/*
 * rb_pair.h
 *	  The exact question for a pair of objects whose boxes overlap, by their kinds.
 */
#ifndef RB_PAIR_H
#define RB_PAIR_H

#include "rb_triangle.h"

/* kinds for which overlapping boxes are the answer */
RB_HD bool
rb_boxes_decide(rb_kind red, rb_kind blue)
{
	return (red == RB_BOX3 && blue == RB_BOX3) || (red == RB_BOX2 && blue == RB_BOX2);
}

/* kinds that have an answer at all */
RB_HD bool
rb_kinds_join(rb_kind red, rb_kind blue)
{
	return rb_boxes_decide(red, blue) || (red == RB_SEGMENT2 && blue == RB_SEGMENT2) ||
		   (red == RB_TRIANGLE3 && (blue == RB_TRIANGLE3 || blue == RB_SEGMENT3)) ||
		   (red == RB_SEGMENT3 && blue == RB_TRIANGLE3);
}

/* 0, 1, RB_UNSURE: do the two share a point? */
RB_HD int
rb_pair_meet(rb_exact_env *env, rb_kind red_kind, rb_kind blue_kind, const double *red,
			 const double *blue)
{
	if (red_kind == RB_TRIANGLE3 && blue_kind == RB_TRIANGLE3)
	{
		int sb[3] = {RB_UNSURE, RB_UNSURE, RB_UNSURE};
		int sr[3] = {RB_UNSURE, RB_UNSURE, RB_UNSURE};

		return rb_triangle_triangle(env, red, blue, sb, sr);
	}
	if (red_kind == RB_SEGMENT2)
		return rb_segments_meet2(env, red, red + 2, blue, blue + 2);
	if (red_kind == RB_SEGMENT3)
		return rb_segment_triangle(env, red, blue);
	if (red_kind == RB_TRIANGLE3)
		return rb_segment_triangle(env, blue, red);
	return 1;
}

#endif /* RB_PAIR_H */
