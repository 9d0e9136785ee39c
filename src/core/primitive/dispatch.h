/*
 * dispatch.h
 *	  Decides exactly whether a predicate holds for two objects whose boxes overlap.
 *
 * A leaf function returns 0, RB_YES with its payload, or RB_UNSURE; the last only if the arithmetic
 * allowed by its environment does not suffice (orient.h). The list in kinds.h names the leaf
 * for each predicate and pair of kinds; this file gives all of them the same signature.
 */
#ifndef RB_PRIMITIVE_DISPATCH_H
#define RB_PRIMITIVE_DISPATCH_H

#include "core/base/kinds.h"
#include "core/primitive/box.h"
#include "core/primitive/contact.h"
#include "core/primitive/distance.h"
#include "core/primitive/ray.h"
#include "core/primitive/triangle.h"

/* Decides RB_MEET for two triangles: returns 1 if they share a point, 0 if not, or RB_UNSURE. */
RB_HOST_DEVICE int
rb_leaf_triangles(rb_exact_env *env, const double *red, const double *blue)
{
	int sb[3] = {RB_UNSURE, RB_UNSURE, RB_UNSURE};
	int sr[3] = {RB_UNSURE, RB_UNSURE, RB_UNSURE};

	return rb_triangle_triangle(env, red, blue, sb, sr);
}

/* Decides RB_MEET for a red segment and a blue triangle, with the results of rb_leaf_triangles. */
RB_HOST_DEVICE int
rb_leaf_segment_triangle(rb_exact_env *env, const double *red, const double *blue)
{
	return rb_segment_triangle(env, red, blue);
}

/* Decides RB_MEET for a red triangle and a blue segment, with the results of rb_leaf_triangles. */
RB_HOST_DEVICE int
rb_leaf_triangle_segment(rb_exact_env *env, const double *red, const double *blue)
{
	return rb_segment_triangle(env, blue, red);
}

/* Decides RB_MEET for two segments in the plane, with the results of rb_leaf_triangles. */
RB_HOST_DEVICE int
rb_leaf_segments2(rb_exact_env *env, const double *red, const double *blue)
{
	return rb_segments_meet2(env, red, red + 2, blue, blue + 2);
}

/* Decides RB_MEET for two boxes: returns 1, since the boxes are known to overlap. */
RB_HOST_DEVICE int
rb_leaf_boxes(rb_exact_env *env, const double *red, const double *blue)
{
	(void) env, (void) red, (void) blue;
	return 1;
}

/*
 * Decides RB_CONTACT for two triangles: returns the contact's code, 0 if there is none, or
 * RB_UNSURE. Leaves for contacts are not inlined: inlined into a kernel that also contains the
 * intersection test, they would take registers from it.
 */
RB_HOST_DEVICE_CALL int
rb_leaf_triangles_contact(rb_exact_env *env, const double *red, const double *blue)
{
	int sb[3] = {RB_UNSURE, RB_UNSURE, RB_UNSURE};
	int sr[3] = {RB_UNSURE, RB_UNSURE, RB_UNSURE};

	return rb_triangle_contact(env, red, blue, sb, sr);
}

/*
 * Decides RB_CONTACT for a red segment and a blue triangle, with the results of
 * rb_leaf_triangles_contact.
 */
RB_HOST_DEVICE_CALL int
rb_leaf_segment_triangle_contact(rb_exact_env *env, const double *red, const double *blue)
{
	return rb_segment_triangle_contact(env, red, blue);
}

/*
 * Decides RB_CONTACT for a red triangle and a blue segment, with the results of
 * rb_leaf_triangles_contact.
 */
RB_HOST_DEVICE_CALL int
rb_leaf_triangle_segment_contact(rb_exact_env *env, const double *red, const double *blue)
{
	return rb_segment_triangle_contact(env, blue, red);
}

/*
 * Decides RB_CONTACT for two segments in the plane, with the results of rb_leaf_triangles_contact.
 */
RB_HOST_DEVICE_CALL int
rb_leaf_segments2_contact(rb_exact_env *env, const double *red, const double *blue)
{
	return rb_segments_contact2(env, red, red + 2, blue, blue + 2);
}

/* Decides RB_SELF_INTERSECT for two triangles, with the results of rb_triangle_self_intersect. */
RB_HOST_DEVICE_CALL int
rb_leaf_self_intersect(rb_exact_env *env, const double *red, const double *blue)
{
	int sb[3] = {RB_UNSURE, RB_UNSURE, RB_UNSURE};
	int sr[3] = {RB_UNSURE, RB_UNSURE, RB_UNSURE};

	return rb_triangle_self_intersect(env, red, blue, sb, sr);
}

/* ---- distances of triangles and segments ---- */

/* Sets the hulls of two objects, with z = 0 in the plane and without guessed features. */
RB_HOST_DEVICE void
rb_pair_hulls(rb_hulls *h, rb_kind red_kind, rb_kind blue_kind, const double *red,
			  const double *blue)
{
	for (int side = 0; side < 2; side++)
	{
		const rb_kind kind = side == 0 ? red_kind : blue_kind;
		const double *p = side == 0 ? red : blue;
		int dims = rb_kind_dims(kind);

		h->n[side] = rb_kind_points(kind);
		h->guess[side].dim = h->guess[side].at = 0;
		for (int i = 0; i < h->n[side]; i++)
			for (int a = 0; a < 3; a++)
				h->corner[(side == 0 ? 0 : h->n[0]) + i][a] = a < dims ? p[i * dims + a] : 0;
	}
}

/* Tests whether two objects of kinds that support distances meet. Returns 1, 0 or RB_UNSURE. */
RB_HOST_DEVICE int
rb_pair_meets(rb_exact_env *env, rb_kind red_kind, rb_kind blue_kind, const double *red,
			  const double *blue)
{
	double red_lo[3], red_hi[3], blue_lo[3], blue_hi[3];

	rb_kind_box(red_kind, red, 0, red_lo, red_hi);
	rb_kind_box(blue_kind, blue, 0, blue_lo, blue_hi);
	if (!rb_boxes_overlap(red_lo, red_hi, blue_lo, blue_hi))
		return 0;
	if (red_kind == RB_SEGMENT2)
		return rb_leaf_segments2(env, red, blue);
	if (red_kind == RB_SEGMENT3)
		return rb_leaf_segment_triangle(env, red, blue);
	if (blue_kind == RB_SEGMENT3)
		return rb_leaf_triangle_segment(env, red, blue);
	return rb_leaf_triangles(env, red, blue);
}

/* Decides RB_WITHIN. Tests for intersection first, because most close pairs meet. */
RB_HOST_DEVICE_CALL int
rb_pair_within(rb_exact_env *env, rb_kind red_kind, rb_kind blue_kind, const double *red,
			   const double *blue)
{
	int meet = rb_pair_meets(env, red_kind, blue_kind, red, blue);
	int sign;
	rb_hulls h;

	if (meet == 1)
		return RB_WITHIN_OF(1);
	if (env->distance == 0)
		return meet;
	rb_pair_hulls(&h, red_kind, blue_kind, red, blue);
	sign = rb_hulls_against(env, &h, env->distance);
	if (sign == 1)
		return 0;
	return sign == RB_UNSURE || meet == RB_UNSURE ? RB_UNSURE : RB_WITHIN_OF(0);
}

/* Decides RB_WITHIN for two triangles (rb_pair_within). */
RB_HOST_DEVICE int
rb_leaf_within_triangles(rb_exact_env *env, const double *red, const double *blue)
{
	return rb_pair_within(env, RB_TRIANGLE3, RB_TRIANGLE3, red, blue);
}

/* Decides RB_WITHIN for a red segment and a blue triangle (rb_pair_within). */
RB_HOST_DEVICE int
rb_leaf_within_segment_triangle(rb_exact_env *env, const double *red, const double *blue)
{
	return rb_pair_within(env, RB_SEGMENT3, RB_TRIANGLE3, red, blue);
}

/* Decides RB_WITHIN for a red triangle and a blue segment (rb_pair_within). */
RB_HOST_DEVICE int
rb_leaf_within_triangle_segment(rb_exact_env *env, const double *red, const double *blue)
{
	return rb_pair_within(env, RB_TRIANGLE3, RB_SEGMENT3, red, blue);
}

/* Decides RB_WITHIN for two segments in the plane (rb_pair_within). */
RB_HOST_DEVICE int
rb_leaf_within_segments2(rb_exact_env *env, const double *red, const double *blue)
{
	return rb_pair_within(env, RB_SEGMENT2, RB_SEGMENT2, red, blue);
}

/*
 * Sets *distance to the double nearest to the distance of two disjoint objects. Returns RB_YES or
 * RB_UNSURE.
 */
RB_HOST_DEVICE_CALL int
rb_pair_apart(rb_exact_env *env, rb_kind red_kind, rb_kind blue_kind, const double *red,
			  const double *blue, double *distance)
{
	rb_hulls h;

	rb_pair_hulls(&h, red_kind, blue_kind, red, blue);
	return rb_hulls_distance(env, &h, distance);
}

/*
 * Sets *distance to the double nearest to the distance of two objects; 0 only if they meet. Returns
 * RB_YES or RB_UNSURE.
 */
RB_HOST_DEVICE int
rb_pair_distance(rb_exact_env *env, rb_kind red_kind, rb_kind blue_kind, const double *red,
				 const double *blue, double *distance)
{
	int meet = rb_pair_meets(env, red_kind, blue_kind, red, blue);

	*distance = 0;
	if (meet != 0)
		return meet == 1 ? RB_YES : RB_UNSURE;
	return rb_pair_apart(env, red_kind, blue_kind, red, blue, distance);
}

/* ---- dispatch of all leaves ---- */

/*
 * Decides RB_RAY_PARITY. red is the ray: from the point to a point straight above, at least as high
 * as the triangle.
 */
RB_HOST_DEVICE int
rb_leaf_ray_parity(rb_exact_env *env, const double *red, const double *blue)
{
	return rb_ray_crossing(env, red, blue);
}

/* A sequence of if statements, because nvcc compiles a switch to slower code */
#define RB_LEAF_TRY(p, r, b, leaf)                               \
	if (predicate == (p) && red_kind == (r) && blue_kind == (b)) \
		return leaf(env, red, blue);
/*
 * Decides a predicate on two parts by the leaf function for their kinds. Returns RB_UNSURE only if
 * env does not allow the last step.
 */
RB_HOST_DEVICE int
rb_pair_decide(rb_exact_env *env, rb_predicate predicate, rb_kind red_kind, rb_kind blue_kind,
			   const double *red, const double *blue)
{
	RB_LEAF_LIST(RB_LEAF_TRY)
	return RB_UNSURE; /* unreachable: such joins are rejected */
}
#undef RB_LEAF_TRY

/*
 * Decides a pair of triangles for which the vector stages have proved some signs (rb_faces_decide),
 * passed as for rb_triangle_triangle. For RB_SELF_INTERSECT the vector stages have also found the
 * common vertices.
 */
static inline int
rb_faces_pair(rb_exact_env *env, rb_predicate predicate, const double *red, const double *blue,
			  rb_common common, int sb[3], int sr[3])
{
	switch (predicate)
	{
		case RB_CONTACT:
			return rb_triangle_contact(env, red, blue, sb, sr);
		case RB_SELF_INTERSECT:
			return rb_triangle_self_intersect_of(env, red, blue, common, sb, sr);
		default:
			return rb_triangle_triangle(env, red, blue, sb, sr);
	}
}

#endif /* RB_PRIMITIVE_DISPATCH_H */
