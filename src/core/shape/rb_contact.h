/*
 * rb_contact.h
 *	  How do two objects meet?  The dimension of what they share, and whether they cross:
 *	  whether their relative interiors share a point.  Decided by signs alone.
 *
 * An object is what it is as a set of points: a triangle without area is the segment
 * between its outer ends, or a point, and a segment without length is a point.  The
 * relative interior of a point is the point.
 *
 * The cases are those of rb_triangle.h, and so are the signs; here zeros count, too.
 *
 *	2. The planes of two triangles meet in a line L, and each triangle cuts it in an
 *	   interval.  The intervals share more than a point when both of their
 *	   orientations are strict and neither is a mere corner.  An interval is of the
 *	   triangle's interior when the triangle has corners on both sides of the other's plane.
 *	3. A segment that pierces the plane shares a point at most; they cross when it has
 *	   ends on both sides and goes past all edges on the same side.
 *	4. In one plane, or without an area: rb_contact_flat.h.
 *
 * Neighbours in a mesh are the most frequent pairs, and their common corners lie in both
 * planes without any arithmetic.  Two common corners: unless the other two corners are in
 * one plane with them, the edge is all; one sign.  One common corner, and the others on
 * one side of the other's plane: that corner is all; two signs.  Else both intervals
 * begin in the common corner, and it remains whether they go the same way: four signs.
 */
#ifndef RB_CONTACT_H
#define RB_CONTACT_H

#include "core/shape/rb_contact_flat.h"

/* has it corners strictly on both sides of the plane? */
RB_HD bool
rb_on_both_sides(const int s[3])
{
	return (s[0] > 0 || s[1] > 0 || s[2] > 0) && (s[0] < 0 || s[1] < 0 || s[2] < 0);
}

/* is one corner in the plane, and are the others on one side of it? */
RB_HD bool
rb_only_a_corner(const int s[3])
{
	return s[0] + s[1] + s[2] == 2 || s[0] + s[1] + s[2] == -2;
}

/* ---- triangles ---- */

/* the corners that are corners of the other, too, by coordinates: a bit each */
typedef struct rb_common
{
	unsigned r;
	unsigned b;
} rb_common;

RB_HD rb_common
rb_common_corners(const double *r, const double *b)
{
	rb_common common = {0, 0};

	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++)
			if (rb_equal3(r + 3 * i, b + 3 * j))
			{
				common.r |= 1u << i;
				common.b |= 1u << j;
			}
	return common;
}

RB_HD bool
rb_two_or_more(unsigned bits)
{
	return (bits & (bits - 1)) != 0;
}

/*
 * Case 2 for triangles with one common corner, where both intervals begin or end: do they go
 * the same way from there?  As rb_intervals_overlap names the ends, along L, the corner is then
 * q's end of one interval and r's of the other.
 */
RB_HD bool
rb_same_way(int lone_r, int lone_b, rb_common common)
{
	bool q_of_r = common.r == 1u << ((lone_r & 3) + 1) % 3;
	bool q_of_b = common.b == 1u << ((lone_b & 3) + 1) % 3;

	return (q_of_r != ((lone_b & 4) != 0)) != (q_of_b != ((lone_r & 4) != 0));
}

/* case 3: the needle t against the triangle u */
RB_HD int
rb_needle_contact(rb_exact_env *env, const double *t, const int s[3], const double *u)
{
	int how = rb_needle_pierces(env, t, s, u);

	if (how < 0 || how == RB_UNSURE)
		return how < 0 ? 0 : RB_UNSURE;
	return RB_CONTACT_OF(0, how == 1 && rb_on_both_sides(s));
}

/* signs that are not known yet; those of common corners are 0 */
RB_HD void
rb_signs_of_corners(rb_exact_env *env, const double *plane, const double *t, unsigned common,
					int s[3])
{
	for (int i = 0; i < 3; i++)
		if (s[i] == RB_UNSURE)
			s[i] =
				common >> i & 1 ? 0 : rb_orient3d_at(env, plane, plane + 3, plane + 6, t + 3 * i);
}

/*
 * Case 4 for triangles with two common corners: do both lie on one side of their edge?  If
 * not, or if blue has no area, the edge is all.  -1 where red has no area.
 */
RB_HD int
rb_flat_neighbours_contact(rb_exact_env *env, const double *r, const double *b, rb_common common)
{
	int i = common.r == 6 ? 0 : common.r == 5 ? 1 : 2;
	int j = common.b == 6 ? 0 : common.b == 5 ? 1 : 2;
	const double *p = r + 3 * ((i + 1) % 3), *q = r + 3 * ((i + 2) % 3);
	int axis = rb_projection_axis(env, p, q, r + 3 * i);
	int side_r, side_b;

	if (axis < 0)
		return axis == -1 ? -1 : RB_UNSURE;
	side_r = rb_turn(env, axis, p, q, r + 3 * i);
	side_b = rb_turn(env, axis, p, q, b + 3 * j);
	if (side_r == RB_UNSURE || side_b == RB_UNSURE)
		return RB_UNSURE;
	return side_r == side_b ? RB_CONTACT_OF(2, 1) : RB_CONTACT_OF(1, 0);
}

/* case 4, and 3, where blue is in the plane of red or red has no area */
RB_HD_CALL int
rb_flat_triangles_contact(rb_exact_env *env, const double *r, const double *b, rb_common common,
						  int sr[3])
{
	int answer = -1;
	double of_r[6], of_b[6];

	if (rb_two_or_more(common.r) && common.r != 7)
		answer = rb_flat_neighbours_contact(env, r, b, common);
	if (answer == -1)
		answer = rb_flat_contact(env, r, b, 3);
	if (answer != -1)
		return answer;
	rb_signs_of_corners(env, b, r, common.r, sr);
	if (RB_ANY_UNSURE(sr))
		return RB_UNSURE;
	if (!RB_ALL_SAME(sr))
		return rb_needle_contact(env, r, sr, b);
	if (sr[0] != 0)
		return 0;
	rb_collinear_ends(r, of_r);
	answer = rb_flat_contact(env, b, of_r, 2);
	if (answer != -1)
		return answer;
	rb_collinear_ends(b, of_b);
	return rb_segments_contact3(env, of_r, of_b);
}

RB_HD int
rb_triangle_contact_of(rb_exact_env *env, const double *r, const double *b, rb_common common,
					   int sb[3], int sr[3])
{
	int share;

	rb_signs_of_corners(env, r, b, common.b, sb);
	if (RB_ALL_SAME(sb) && sb[0] != 0 && sb[0] != RB_UNSURE)
		return 0;
	if (!RB_ANY_UNSURE(sb))
	{
		if (RB_ALL_SAME(sb))
			return rb_flat_triangles_contact(env, r, b, common, sr);
		/* red has an area, so its corners differ */
		if (rb_two_or_more(common.r))
			return RB_CONTACT_OF(1, 0);
		if (common.r != 0 && rb_only_a_corner(sb))
			return RB_CONTACT_OF(0, 0);
	}
	rb_signs_of_corners(env, b, r, common.r, sr);
	if (RB_ALL_SAME(sr) && sr[0] != 0 && sr[0] != RB_UNSURE)
		return 0;
	if (RB_ANY_UNSURE(sb) || RB_ANY_UNSURE(sr))
		return RB_UNSURE;
	if (RB_ALL_SAME(sr))
		return rb_needle_contact(env, b, sb, r);

	if (common.r != 0)
		share = rb_same_way(rb_lone_corner(sr), rb_lone_corner(sb), common);
	else
		share = rb_intervals_overlap(env, r, rb_lone_corner(sr), b, rb_lone_corner(sb));
	if (share < 0 || share == RB_UNSURE)
		return share < 0 ? 0 : RB_UNSURE;
	if (rb_only_a_corner(sb) || rb_only_a_corner(sr))
		share = 0;
	return RB_CONTACT_OF(share, share == 1 && rb_on_both_sides(sb) && rb_on_both_sides(sr));
}

/* RB_CONTACT; sb and sr as in rb_triangle_triangle.  Their boxes need not overlap. */
RB_HD int
rb_triangle_contact(rb_exact_env *env, const double *r, const double *b, int sb[3], int sr[3])
{
	return rb_triangle_contact_of(env, r, b, rb_common_corners(r, b), sb, sr);
}

/* segment ab, which may be a point, and triangle t: the signs of rb_segment_triangle */
RB_HD int
rb_segment_triangle_contact(rb_exact_env *env, const double *ab, const double *t)
{
	int sa = rb_orient3d_at(env, t, t + 3, t + 6, ab);
	int sb = rb_orient3d_at(env, t, t + 3, t + 6, ab + 3);
	int how;

	if (sa == RB_UNSURE || sb == RB_UNSURE)
		return RB_UNSURE;
	if (sa * sb > 0)
		return 0;
	if (sa == 0 && sb == 0)
	{
		double ends[6];

		how = rb_flat_contact(env, t, ab, 2);
		if (how != -1)
			return how;
		rb_collinear_ends(t, ends);
		return rb_segments_contact3(env, ab, ends);
	}
	how = rb_line_pierces(env, ab, ab + 3, t);
	if (how < 0 || how == RB_UNSURE)
		return how < 0 ? 0 : RB_UNSURE;
	return RB_CONTACT_OF(0, how == 1 && sa * sb < 0);
}

/* ---- triangles of one mesh ---- */

/*
 * Two triangles share a stretch and have two common corners or more, by their bits.  Is
 * the stretch longer than the edge between common corners?  With an area on one side it
 * is not: a triangle has no more than its edge of the edge's line.  Two needles share
 * what lies between the ends of both.
 */
RB_HD_CALL int
rb_longer_than_edge(rb_exact_env *env, const double *r, const double *b, rb_common common)
{
	int axis = rb_projection_axis(env, r, r + 3, r + 6);
	int one = common.r & 1 ? 0 : 3;
	double corners[9], edge[6], of_r[6], of_b[6];

	if (axis == -1)
		axis = rb_projection_axis(env, b, b + 3, b + 6);
	if (axis != -1)
		return axis == -2 ? RB_UNSURE : 0;
	for (int i = 0; i < 9; i++)
		corners[i] = common.r >> i / 3 & 1 ? r[i] : r[one + i % 3];
	rb_collinear_ends(corners, edge);
	rb_collinear_ends(r, of_r);
	rb_collinear_ends(b, of_b);
	return (rb_point_before(of_r, edge) && rb_point_before(of_b, edge)) ||
		   (rb_point_before(edge + 3, of_r + 3) && rb_point_before(edge + 3, of_b + 3));
}

/*
 * RB_SELF_INTERSECT: RB_CONTACT's answer where what the two share is more than common
 * corners and the edges between them, else 0.  Two triangles of the same corners always
 * intersect: a mesh that has a triangle twice is at fault even where the triangle has no area.
 */
RB_HD int
rb_triangle_self_intersect_of(rb_exact_env *env, const double *r, const double *b, rb_common common,
							  int sb[3], int sr[3])
{
	int answer = rb_triangle_contact_of(env, r, b, common, sb, sr);
	int dimension, longer;

	if (answer == 0 || answer == RB_UNSURE || common.r == 0 || (common.r & common.b) == 7)
		return answer;
	dimension = RB_TOLD_DIMENSION(RB_TOLD(answer));
	if (dimension != 1)
		return dimension == 2 ? answer : 0;
	if (!rb_two_or_more(common.r) || !rb_two_or_more(common.b))
		return answer; /* a stretch, and only one point in common */
	if (!RB_ALL_SAME(sb))
		return 0; /* the common edge: red has an area */
	longer = rb_longer_than_edge(env, r, b, common);
	return longer == 1 ? answer : longer;
}

RB_HD int
rb_triangle_self_intersect(rb_exact_env *env, const double *r, const double *b, int sb[3],
						   int sr[3])
{
	return rb_triangle_self_intersect_of(env, r, b, rb_common_corners(r, b), sb, sr);
}

#endif /* RB_CONTACT_H */
