/*
 * line_crossing.c
 *	  Determines whether a segment crosses a triangle, lies on part of it, or does neither.
 *
 * Both ends of the segment ab are perturbed by v = (e, e^2, e^3) with an infinitesimal e
 * (ray.h). The side of a perturbed end a' relative to the plane of the triangle, with normal n
 * and a point c, is the sign of
 *
 *		n . (a' - c) = n . (a - c) + n . v.
 *
 * If the first term is zero, the first nonzero component of n decides. A segment parallel to the
 * plane has the same sign at both ends, and does not cross it. The perturbed line relative to an
 * edge cd, with u = b - a, has the sign of
 *
 *		det(u, c - a', d - a') = det(u, c - a, d - a) + (u x (d - c)) . v.
 *
 * Nothing else depends on v, since both ends move alike. If the first term is zero, the first
 * nonzero component of u x (d - c) decides. Such a component exists, because otherwise the segment
 * would be parallel to the edge and therefore to the plane. All these signs change when the edge is
 * traversed in the opposite direction. So a line crosses exactly one of the two triangles on
 * opposite sides of an edge, and either both or neither of two triangles that form a fold.
 *
 * The location of a crossing is that of the unperturbed line (line_parameter.c), which is the limit
 * for e -> 0. Several crossings can have the same location. Their order does not matter, because
 * only their number affects the side of the line behind that location.
 */
#include "core/solid/solid.h"
#include "core/primitive/ray.h"

/* Returns the sign of one component of (b - a) x (d - c). */
static int
cross_sign(const double *a, const double *b, const double *c, const double *d, int axis)
{
	int u = (axis + 1) % 3, v = (axis + 2) % 3;
	rb_number p[2], q[2], det;
	int sign = rb_interval_sign(
		rb_interval_det2(rb_interval_difference(b[u], a[u]), rb_interval_difference(b[v], a[v]),
						 rb_interval_difference(d[u], c[u]), rb_interval_difference(d[v], c[v])));

	if (sign != RB_UNSURE)
		return sign;
	rb_number_difference(&p[0], b[u], a[u]);
	rb_number_difference(&p[1], b[v], a[v]);
	rb_number_difference(&q[0], d[u], c[u]);
	rb_number_difference(&q[1], d[v], c[v]);
	rb_number_det2(&det, &p[0], &p[1], &q[0], &q[1]);
	return det.sign;
}

/* Returns the orientation of the perturbed line through a and b relative to the edge cd. */
static int
line_sign(rb_exact_env *env, const double *a, const double *b, const double *c, const double *d)
{
	int sign = rb_orient3d_at(env, a, b, c, d);

	for (int axis = 0; axis < 3 && sign == 0; axis++)
		sign = cross_sign(a, b, c, d, axis);
	return sign;
}

/*
 * Clips the segment to a triangle in the same plane, using the half-planes of the triangle's edges.
 * Returns false if the intersection is empty or a single point; in the latter case both locations
 * are that point.
 */
static bool
clip_segment(rb_exact_env *env, const double *segment, const double *t, int axis,
			 rb_location place[2])
{
	double q[6], ab[4];
	int turn;

	rb_project(t, 3, axis, q);
	rb_project(segment, 2, axis, ab);
	turn = rb_orient2d_points(env, q, q + 2, q + 4);
	place[0] = rb_location_start(segment);
	place[1] = rb_location_end(segment);
	for (int e = 0; e < 3; e++)
	{
		const double *c = q + 2 * e, *d = q + 2 * ((e + 1) % 3);
		int at = turn * rb_orient2d_points(env, c, d, ab);
		int bt = turn * rb_orient2d_points(env, c, d, ab + 2);
		rb_location cut = {.segment = segment, .triangle = t, .of = RB_PLACE_EDGE};

		if (at < 0 && bt < 0)
			return false;
		if (at >= 0 && bt >= 0)
			continue;
		cut.axis = (uint8_t) axis;
		cut.corner = (uint8_t) e;
		if (at == 0)
			cut = rb_location_start(segment);
		else if (bt == 0)
			cut = rb_location_end(segment);
		else
			rb_location_find(&cut);
		if (at < 0 && rb_location_compare(&cut, &place[0]) > 0)
			place[0] = cut;
		if (bt < 0 && rb_location_compare(&cut, &place[1]) < 0)
			place[1] = cut;
	}
	return rb_location_compare(&place[0], &place[1]) < 0;
}

/* Returns true if all vertices of the triangle are on the segment's line. */
static bool
is_along(rb_exact_env *env, const double *segment, const double *t)
{
	for (int i = 0; i < 3; i++)
		if (rb_projection_axis(env, segment, segment + 3, t + 3 * i) != -1)
			return false;
	return true;
}

/* Clips the segment to a triangle whose vertices are all on the segment's line. */
static bool
clip_needle(const double *segment, const double *t, rb_location place[2])
{
	const double *a = segment, *b = segment + 3;
	int axis = 0;

	while (a[axis] == b[axis])
		axis++;
	/* Clip to the range between the first and the last vertex along the segment's direction. */
	for (int end = 0; end < 2; end++)
	{
		bool largest = (a[axis] < b[axis]) == (end == 1);
		int corner = 0;
		double x;

		for (int i = 1; i < 3; i++)
			if (largest ? t[3 * i + axis] > t[3 * corner + axis]
						: t[3 * i + axis] < t[3 * corner + axis])
				corner = i;
		x = t[3 * corner + axis];
		if (a[axis] < b[axis] ? x <= a[axis] : x >= a[axis])
			place[end] = rb_location_start(segment);
		else if (a[axis] < b[axis] ? x >= b[axis] : x <= b[axis])
			place[end] = rb_location_end(segment);
		else
		{
			rb_location p = {.segment = segment, .triangle = t, .of = RB_PLACE_CORNER};

			p.axis = (uint8_t) axis;
			p.corner = (uint8_t) corner;
			place[end] = p;
			rb_location_find(&place[end]);
		}
	}
	return rb_location_compare(&place[0], &place[1]) < 0;
}

rb_line_crossing
rb_segment_crosses(rb_exact_env *env, const double *segment, const double *triangle,
				   rb_location place[2])
{
	const double *a = segment, *b = segment + 3, *t = triangle;
	int sa = rb_orient3d_at(env, t, t + 3, t + 6, a);
	int sb = rb_orient3d_at(env, t, t + 3, t + 6, b);
	int side = 0, tie;

	if (sa * sb > 0)
		return RB_CROSSES_NOT;
	if (sa == 0 && sb == 0)
	{
		int axis = rb_projection_axis(env, t, t + 3, t + 6);
		bool overlaps = axis >= 0 ? clip_segment(env, segment, t, axis, place)
								  : is_along(env, segment, t) && clip_needle(segment, t, place);

		return overlaps ? RB_OVERLAPS : RB_CROSSES_NOT;
	}
	if (sa == 0 || sb == 0)
	{
		tie = rb_normal_tie(env, t);
		if (sa + sb == tie)
			return RB_CROSSES_NOT;
	}
	for (int e = 0; e < 3; e++)
	{
		int s = line_sign(env, a, b, t + 3 * e, t + 3 * ((e + 1) % 3));

		if (s * side < 0)
			return RB_CROSSES_NOT;
		side = s;
	}
	if (sa == 0)
		place[0] = rb_location_start(segment);
	else if (sb == 0)
		place[0] = rb_location_end(segment);
	else
	{
		place[0] = (rb_location){.segment = segment, .triangle = t, .of = RB_PLACE_PLANE};
		rb_location_find(&place[0]);
	}
	return RB_CROSSES;
}

/* Returns where the segment meets a triangle without area that is not on the segment's line. */
static rb_location
meet_needle(rb_exact_env *env, const double *segment, const double *t)
{
	rb_location p = {.segment = segment, .triangle = t, .of = RB_PLACE_EDGE};
	int axis;

	while (rb_equal3(t + 3 * p.corner, t + 3 * ((p.corner + 1) % 3)))
		p.corner++;
	axis = rb_projection_axis(env, segment, segment + 3, t + 3 * p.corner);
	if (axis < 0)
		axis = rb_projection_axis(env, segment, segment + 3, t + 3 * ((p.corner + 1) % 3));
	p.axis = (uint8_t) axis;
	rb_location_find(&p);
	return p;
}

void
rb_segment_meets(rb_exact_env *env, const double *segment, const double *triangle,
				 rb_location place[2])
{
	const double *t = triangle;
	const int sa = rb_orient3d_at(env, t, t + 3, t + 6, segment);
	const int sb = rb_orient3d_at(env, t, t + 3, t + 6, segment + 3);
	int axis;

	if (sa == 0 && sb == 0)
	{
		axis = rb_projection_axis(env, t, t + 3, t + 6);
		if (axis >= 0)
			(void) clip_segment(env, segment, t, axis, place);
		else if (is_along(env, segment, t))
			(void) clip_needle(segment, t, place);
		else
			place[0] = place[1] = meet_needle(env, segment, t);
		return;
	}
	if (sa == 0)
		place[0] = rb_location_start(segment);
	else if (sb == 0)
		place[0] = rb_location_end(segment);
	else
	{
		place[0] = (rb_location){.segment = segment, .triangle = t, .of = RB_PLACE_PLANE};
		rb_location_find(&place[0]);
	}
	place[1] = place[0];
}
