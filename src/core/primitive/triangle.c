/*
 * triangle.c
 *	  Tests a single pair of triangles exactly; the reference that joins must agree with.
 */
#include "core/base/redblue.h"
#include "core/primitive/triangle.h"

bool
rb_triangles_meet(const double red[9], const double blue[9])
{
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
	int sb[3] = {RB_UNSURE, RB_UNSURE, RB_UNSURE};
	int sr[3] = {RB_UNSURE, RB_UNSURE, RB_UNSURE};

	return rb_point_boxes_meet(red, 3, blue, 3, 3) &&
		   rb_triangle_triangle(&env, red, blue, sb, sr) == 1;
}
