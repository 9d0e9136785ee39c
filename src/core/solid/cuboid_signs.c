/*
 * cuboid_signs.c
 *	  Prepares cuboids, and finds exact coordinates and signs for a triangle and a cuboid.
 *
 * Signs of triangles and cuboids whose corners are doubles are those of orient.h. Others are signs of
 * exact numbers, in local coordinates, which are sums of products of doubles.
 */
#include "core/solid/cuboid_signs.h"
#include "core/primitive/ray.h"

_Static_assert(RB_NUMBER_DEGREE(4, 10) + RB_NUMBER_DEGREE(2, 10) + 1 <= RB_NUMBER_WORDS,
			   "room for the side of a plane, in coordinates of degree 2");

/* ---- cuboids ---- */

bool
rb_cuboid_open(rb_cuboid *b, const rb_cuboid_space *space, const double *box, bool centered)
{
	b->space = space;
	b->box = box;
	b->centered = centered;
	b->exact = !centered && space->local == NULL;
	for (int a = 0; a < 3; a++)
	{
		rb_bounded *low = &b->bound[RB_CUBOID_PLANE(a, 0)],
				   *high = &b->bound[RB_CUBOID_PLANE(a, 1)];

		if (centered)
		{
			const double half = box[3 + a] / 2;
			/* Half of a subnormal number may be rounded. */
			const double error = half * 2 == box[3 + a] ? 0 : 0x1p-1074;

			low->x = rb_double_double_difference(box[a], half);
			high->x = rb_double_double_difference(box[a], -half);
			low->error = high->error = error;
			b->size[a] = rb_bounded_of(box[3 + a]);
		}
		else
		{
			*low = rb_bounded_of(box[a]);
			*high = rb_bounded_of(box[3 + a]);
			b->size[a] = (rb_bounded){rb_double_double_difference(box[3 + a], box[a]), 0};
		}
		if (b->size[a].x.high <= 0)
			return false;
	}
	return true;
}

/* ---- exact coordinates ---- */

void
rb_cuboid_number_of_corner(rb_number *r, const rb_cuboid_space *s, uint32_t triangle, int corner,
						   int a)
{
	const double *p = s->coords + 9 * (size_t) triangle + 3 * corner;
	rb_number x, y, product;

	if (s->local == NULL)
	{
		rb_number_of(r, p[a]);
		return;
	}
	rb_number_of(r, 0);
	for (int k = 0; k < 3; k++)
	{
		rb_number_difference(&x, p[k], s->frame->origin[k]);
		rb_number_of(&y, s->frame->rotation[3 * a + k]);
		rb_number_mul(&product, &x, &y);
		rb_number_add(r, r, &product);
	}
}

void
rb_cuboid_number_of_plane(rb_number *r, const rb_cuboid *b, int plane)
{
	const int a = plane / 2, high = plane % 2;
	rb_number half;
	uint64_t mantissa;
	int exponent;

	if (!b->centered)
	{
		rb_number_of(r, b->box[3 * high + a]);
		return;
	}
	rb_number_of(r, b->box[a]);
	rb_number_split_double(b->box[3 + a], &mantissa, &exponent);
	rb_number_of_parts(&half, mantissa, exponent - 1);
	if (high)
		rb_number_add(r, r, &half);
	else
		rb_number_sub(r, r, &half);
}

void
rb_cuboid_number_of_edge(rb_number *r, const rb_cuboid *b, uint32_t triangle, int from, int to,
						 int a)
{
	rb_number x;

	rb_cuboid_number_of_corner(r, b->space, triangle, to, a);
	rb_cuboid_number_of_corner(&x, b->space, triangle, from, a);
	rb_number_sub(r, r, &x);
}

/* Sets r to the difference of the coordinates of a plane and a corner. */
static void
find_number_from_corner(rb_number *r, const rb_cuboid *b, uint32_t triangle, int corner, int plane)
{
	rb_number x;

	rb_cuboid_number_of_plane(r, b, plane);
	rb_cuboid_number_of_corner(&x, b->space, triangle, corner, plane / 2);
	rb_number_sub(r, r, &x);
}

void
rb_cuboid_number_of_normal(rb_number *r, const rb_cuboid *b, uint32_t triangle, int a)
{
	rb_number e[2], f[2];

	for (int k = 0; k < 2; k++)
	{
		rb_cuboid_number_of_edge(&e[k], b, triangle, 0, 1, (a + 1 + k) % 3);
		rb_cuboid_number_of_edge(&f[k], b, triangle, 0, 2, (a + 1 + k) % 3);
	}
	rb_number_det2(r, &e[0], &e[1], &f[0], &f[1]);
}

/* ---- exact signs ---- */

/* Stores the coordinates of three planes by their axes. */
static void
read_corner_of_planes(const rb_cuboid *b, const int planes[3], double at[3])
{
	for (int k = 0; k < 3; k++)
		at[planes[k] / 2] = b->bound[planes[k]].x.high;
}

int
rb_cuboid_side_of_corner(const rb_cuboid *b, uint32_t triangle, int corner, int plane)
{
	rb_number x;

	find_number_from_corner(&x, b, triangle, corner, plane);
	return -x.sign;
}

int
rb_cuboid_order(const rb_cuboid *b, uint32_t triangle, int corner, int other, int a)
{
	const rb_bounded x = rb_bounded_sub(rb_cuboid_corner(b->space, triangle, other, a),
										rb_cuboid_corner(b->space, triangle, corner, a));
	const int sign = rb_bounded_sign(x, 0);
	rb_number r;

	if (sign != 0 || x.error == 0)
		return sign;
	rb_cuboid_number_of_edge(&r, b, triangle, corner, other, a);
	return r.sign;
}

/*
 * Returns the sign of (v - u) x (p - u) in the plane of axes i and j, where p is on two planes, and u
 * and v are the ends of an edge.
 */
static int
turn_of_edge(rb_exact_env *env, const rb_cuboid *b, uint32_t triangle, int corner, int first,
			 int second)
{
	const int i = first / 2, j = second / 2, other = (corner + 1) % 3;
	rb_number e[2], p[2], det;

	if (b->exact)
	{
		const double *t = b->space->coords + 9 * (size_t) triangle;
		const double *u = t + 3 * corner, *v = t + 3 * other;

		return rb_orient2d_at(env, u[i], u[j], v[i], v[j], b->bound[first].x.high,
							  b->bound[second].x.high);
	}
	rb_cuboid_number_of_edge(&e[0], b, triangle, corner, other, i);
	rb_cuboid_number_of_edge(&e[1], b, triangle, corner, other, j);
	find_number_from_corner(&p[0], b, triangle, corner, first);
	find_number_from_corner(&p[1], b, triangle, corner, second);
	rb_number_det2(&det, &e[0], &e[1], &p[0], &p[1]);
	return det.sign;
}

int
rb_cuboid_side_on_edge(rb_exact_env *env, const rb_cuboid *b, uint32_t triangle, int corner,
					   int fixed, int plane)
{
	return -turn_of_edge(env, b, triangle, corner, fixed, plane) *
		   rb_cuboid_order(b, triangle, corner, (corner + 1) % 3, fixed / 2);
}

int
rb_cuboid_normal(rb_exact_env *env, const rb_cuboid *b, uint32_t triangle, int a)
{
	rb_number r;

	if (b->space->local == NULL)
		return rb_normal_sign(env, b->space->coords + 9 * (size_t) triangle, a);
	rb_cuboid_number_of_normal(&r, b, triangle, a);
	return r.sign;
}

/* Returns the side of the triangle's plane on which the common point of three planes lies. */
static int
side_of_triangle(rb_exact_env *env, const rb_cuboid *b, uint32_t triangle, const int planes[3])
{
	rb_number x, n, product, sum;

	if (b->exact)
	{
		const double *t = b->space->coords + 9 * (size_t) triangle;
		double at[3];

		read_corner_of_planes(b, planes, at);
		return rb_orient3d_at(env, t, t + 3, t + 6, at);
	}
	rb_number_of(&sum, 0);
	for (int k = 0; k < 3; k++)
	{
		find_number_from_corner(&x, b, triangle, 0, planes[k]);
		rb_cuboid_number_of_normal(&n, b, triangle, planes[k] / 2);
		rb_number_mul(&product, &x, &n);
		rb_number_add(&sum, &sum, &product);
	}
	return sum.sign;
}

int
rb_cuboid_side_on_line(rb_exact_env *env, const rb_cuboid *b, uint32_t triangle,
					   const int planes[3], int plane)
{
	return -side_of_triangle(env, b, triangle, planes) *
		   rb_cuboid_normal(env, b, triangle, plane / 2);
}

int
rb_cuboid_turn(rb_exact_env *env, const rb_cuboid *b, uint32_t triangle, int corner)
{
	if (!b->exact)
	{
		rb_bounded e[2], p[2];
		int sign;

		for (int a = 0; a < 2; a++)
		{
			const rb_bounded u = rb_cuboid_corner(b->space, triangle, corner, a);

			e[a] = rb_bounded_sub(rb_cuboid_corner(b->space, triangle, (corner + 1) % 3, a), u);
			p[a] = rb_bounded_sub(b->bound[RB_CUBOID_PLANE(a, 0)], u);
		}
		sign =
			rb_bounded_sign(rb_bounded_sub(rb_bounded_mul(e[0], p[1]), rb_bounded_mul(e[1], p[0])),
							RB_BOUNDED_UNDERFLOW);
		if (sign != 0)
			return sign;
	}
	return turn_of_edge(env, b, triangle, corner, RB_CUBOID_PLANE(0, 0), RB_CUBOID_PLANE(1, 0));
}

int
rb_cuboid_side(rb_exact_env *env, const rb_cuboid *b, uint32_t triangle)
{
	static const int planes[3] = {RB_CUBOID_PLANE(0, 0), RB_CUBOID_PLANE(1, 0),
								  RB_CUBOID_PLANE(2, 0)};

	return side_of_triangle(env, b, triangle, planes);
}
