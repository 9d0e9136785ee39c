/*
 * rb_pair.h
 *	  The exact question for a pair of objects whose boxes overlap, by predicate and kinds.
 *
 * A leaf answers 0, 1 or RB_UNSURE, the last only where the arithmetic of its
 * environment does not suffice (rb_orient.h).  Which leaf it is stands in the list of
 * rb_kinds.h; here each is brought to one form.
 */
#ifndef RB_PAIR_H
#define RB_PAIR_H

#include "core/base/rb_kinds.h"
#include "core/shape/rb_ray.h"
#include "core/shape/rb_triangle.h"

RB_HD int
rb_leaf_triangles(rb_exact_env *env, const double *red, const double *blue)
{
	int sb[3] = {RB_UNSURE, RB_UNSURE, RB_UNSURE};
	int sr[3] = {RB_UNSURE, RB_UNSURE, RB_UNSURE};

	return rb_triangle_triangle(env, red, blue, sb, sr);
}

RB_HD int
rb_leaf_segment_triangle(rb_exact_env *env, const double *red, const double *blue)
{
	return rb_segment_triangle(env, red, blue);
}

RB_HD int
rb_leaf_triangle_segment(rb_exact_env *env, const double *red, const double *blue)
{
	return rb_segment_triangle(env, blue, red);
}

RB_HD int
rb_leaf_segments2(rb_exact_env *env, const double *red, const double *blue)
{
	return rb_segments_meet2(env, red, red + 2, blue, blue + 2);
}

/* that they overlap is known */
RB_HD int
rb_leaf_boxes(rb_exact_env *env, const double *red, const double *blue)
{
	(void) env, (void) red, (void) blue;
	return 1;
}

/* red is the ray: from the point to a point straight above, at least as high as the triangle */
RB_HD int
rb_leaf_under(rb_exact_env *env, const double *red, const double *blue)
{
	return rb_point_under(env, red, blue);
}

/* one after the other: from a switch nvcc makes slower code */
#define RB_LEAF_TRY(p, r, b, leaf)                               \
	if (predicate == (p) && red_kind == (r) && blue_kind == (b)) \
		return leaf(env, red, blue);
RB_HD int
rb_pair_decide(rb_exact_env *env, rb_predicate predicate, rb_kind red_kind, rb_kind blue_kind,
			   const double *red, const double *blue)
{
	RB_LEAF_LIST(RB_LEAF_TRY)
	return RB_UNSURE; /* no such join is ever opened */
}
#undef RB_LEAF_TRY

#endif /* RB_PAIR_H */
