/*
 * cuboid_clip.c
 *	  Clips a triangle to a cuboid, and sums and rounds how much of the cuboid is inside a solid.
 *
 * Let c be 1 if the low corner of the cuboid, moved inward by (e, e^2, e^3) with an infinitesimal
 * e, is inside the solid, and d the size of the cuboid. A path along x, then y, then z leads from
 * that corner to any point of the cuboid. What the path enters and leaves adds up to
 *
 *		V = c d.x d.y d.z
 *			- sum of sign(n.x) d.y d.z (high.x - x)		where a triangle meets the low edge along x
 *			- sum of sign(n.y) d.z times the integral of (high.y - y) |dx| along the segment in which
 *				a triangle meets the low face across z
 *			- sum of sign(n.z) times the integral of (high.z - z) dx dy over a triangle in the cuboid
 *
 * with normals n that point out of the solid. A corner at the height of the moved one counts as below
 * it, so a triangle in a low face has no term in that face. Only triangles that meet the interior of
 * the cuboid have terms that are not 0. (Compare W. R. Franklin: Polygon properties calculated from
 * the vertex neighborhoods, 1987.)
 *
 * A triangle's part in the cuboid is a convex polygon, found by clipping with one plane after the
 * other. Each of its corners is known by what defines it, so that every sign is exact, and only
 * coordinates are rounded. These are w = high - x, from 0 to d.
 */
#include "core/solid/cuboid_clip.h"
#include "core/primitive/ray.h"

#include <math.h>

/*
 * ---- coordinates and signs ----
 *
 * Signs of triangles and cuboids whose corners are doubles are those of orient.h. Others are signs of
 * exact numbers, in local coordinates, which are sums of products of doubles.
 */

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

/* Returns the exact sign of the difference of a coordinate of a triangle's corner and that of a plane. */
static int
side_of_corner(const rb_cuboid *b, uint32_t triangle, int corner, int plane)
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

/*
 * Returns the exact sign of the difference of a coordinate and that of a plane, where the edge from a
 * corner of a triangle meets plane `fixed`.
 */
static int
side_on_edge(rb_exact_env *env, const rb_cuboid *b, uint32_t triangle, int corner, int fixed,
			 int plane)
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

/*
 * Returns the exact sign of the difference of a coordinate and that of a plane, where the plane of a
 * triangle meets a line of the cuboid. The line has the axis of `plane` and runs through the
 * cuboid's corner on three planes, of which `plane` is one.
 */
static int
side_on_line(rb_exact_env *env, const rb_cuboid *b, uint32_t triangle, const int planes[3],
			 int plane)
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

/* ---- clipping and sums ---- */

#define MOST_EXTENT 0x1p150
#define UNDERFLOW 0x1p-250 /* Underflow in a term: RB_BOUNDED_UNDERFLOW times squares of extents */

/* ---- clipping ---- */

typedef struct clip_point
{
	rb_cuboid_point label;
	/* The way to the next point: a side of the triangle, or FACE and a plane of the cuboid */
	uint8_t edge;
	rb_bounded w[3];
} clip_point;

#define FACE 3

typedef struct clipping
{
	rb_exact_env *env;
	const rb_cuboid *b;
	uint32_t triangle;
	bool wide;       /* True if products may overflow */
	bool has_normal; /* True if `normal` is known */
	rb_bounded normal[3];
	rb_bounded corner[3][3]; /* Corners of the triangle, as w */
	int n;
	clip_point at[RB_CUBOID_POINTS];
} clipping;

/* Returns the coordinate w of a plane. */
static rb_bounded
place_of_plane(const rb_cuboid *b, int plane)
{
	return plane % 2 == 1 ? rb_bounded_of(0) : b->size[plane / 2];
}

/* Returns the exact sign of the difference of the coordinate of a point and that of a plane. */
static int
exact_side_of_plane(const clipping *c, const rb_cuboid_point *p, int plane)
{
	int planes[3], n = 0;

	if (p->kind == RB_CUBOID_CORNER)
		return side_of_corner(c->b, c->triangle, p->of, plane);
	for (int k = 0; k < 6; k++)
		if (p->fixed >> k & 1)
			planes[n++] = k;
	if (p->kind == RB_CUBOID_EDGE)
		return side_on_edge(c->env, c->b, c->triangle, p->of, planes[0], plane);
	planes[n] = plane;
	return side_on_line(c->env, c->b, c->triangle, planes, plane);
}

/*
 * Returns 1 if a point is beyond a plane, seen from the cuboid, 0 if it is on the plane, and -1
 * otherwise.
 */
static int
find_side_of_plane(const clipping *c, const clip_point *p, int plane)
{
	const int a = plane / 2;
	const bool high = plane % 2 == 1;
	rb_bounded off;
	int sign;

	if (p->label.on >> plane & 1)
		return 0;
	if (p->label.on >> (plane ^ 1) & 1)
		return -1;
	if (p->label.kind == RB_CUBOID_CORNER)
	{
		const rb_bounded x = rb_cuboid_corner(c->b->space, c->triangle, p->label.of, a);

		off = high ? rb_bounded_sub(x, c->b->bound[plane]) : rb_bounded_sub(c->b->bound[plane], x);
		sign = rb_bounded_sign(off, 0);
	}
	else
	{
		off = high ? rb_bounded_minus(p->w[a]) : rb_bounded_sub(p->w[a], c->b->size[a]);
		sign = rb_bounded_sign(off, RB_BOUNDED_UNDERFLOW);
	}
	if (sign != 0)
		return sign;
	sign = exact_side_of_plane(c, &p->label, plane);
	return high ? sign : -sign;
}

/* Puts a point on all planes of some bits. */
static void
put_on_planes(const rb_cuboid *b, clip_point *p, unsigned planes)
{
	for (int k = 0; k < 6; k++)
		if (planes >> k & 1)
			p->w[k / 2] = place_of_plane(b, k);
	p->label.on |= (uint8_t) planes;
}

/* Computes the point where an edge of the triangle meets a plane. */
static void
find_point_of_edge(const clipping *c, clip_point *p, int plane)
{
	const int a = plane / 2, first = p->label.of, second = (first + 1) % 3;
	const rb_bounded at = place_of_plane(c->b, plane);
	const rb_bounded from = rb_bounded_sub(at, c->corner[first][a]);
	const rb_bounded to = rb_bounded_sub(at, c->corner[second][a]);
	/* Start at the nearer end of the edge. */
	const bool near = fabs(from.x.high) <= fabs(to.x.high);
	const rb_bounded *u = c->corner[near ? first : second], *v = c->corner[near ? second : first];
	rb_bounded t = rb_bounded_div(near ? from : to, rb_bounded_sub(v[a], u[a]));

	if (c->wide)
		t.error = HUGE_VAL;
	for (int k = 0; k < 3; k++)
		p->w[k] = k == a ? at : rb_bounded_add(u[k], rb_bounded_mul(t, rb_bounded_sub(v[k], u[k])));
}

/* Computes the point where the plane of the triangle meets two planes of the cuboid. */
static void
find_point_of_line(clipping *c, clip_point *p, int first, int second)
{
	const int i = first / 2, j = second / 2, k = 3 - i - j;
	const rb_bounded *u = c->corner[0];
	rb_bounded t;

	if (!c->has_normal)
	{
		rb_bounded e[3], f[3];

		for (int a = 0; a < 3; a++)
		{
			e[a] = rb_bounded_sub(c->corner[1][a], u[a]);
			f[a] = rb_bounded_sub(c->corner[2][a], u[a]);
		}
		for (int a = 0; a < 3; a++)
		{
			const int m = (a + 1) % 3, n = (a + 2) % 3;

			c->normal[a] = rb_bounded_sub(rb_bounded_mul(e[m], f[n]), rb_bounded_mul(e[n], f[m]));
			/* Products of differences may have underflowed. */
			c->normal[a].error += RB_BOUNDED_UNDERFLOW;
		}
		c->has_normal = true;
	}
	p->w[i] = place_of_plane(c->b, first);
	p->w[j] = place_of_plane(c->b, second);
	t = rb_bounded_add(rb_bounded_mul(c->normal[i], rb_bounded_sub(p->w[i], u[i])),
					   rb_bounded_mul(c->normal[j], rb_bounded_sub(p->w[j], u[j])));
	t = rb_bounded_div(t, c->normal[k]);
	if (c->wide)
		t.error = HUGE_VAL;
	p->w[k] = rb_bounded_sub(u[k], t);
}

/* Makes the point where the way from one point to the next crosses a plane. */
static clip_point
make_crossing(clipping *c, const clip_point *from, const clip_point *to, int plane)
{
	clip_point p = {.edge = from->edge};

	if (from->edge < FACE)
	{
		p.label.kind = RB_CUBOID_EDGE;
		p.label.of = from->edge;
		p.label.fixed = (uint8_t) (1 << plane);
		find_point_of_edge(c, &p, plane);
	}
	else
	{
		const int other = from->edge - FACE;

		p.label.kind = RB_CUBOID_LINE;
		p.label.fixed = (uint8_t) (1 << plane | 1 << other);
		find_point_of_line(c, &p, plane, other);
	}
	put_on_planes(c->b, &p, (from->label.on & to->label.on) | 1u << plane);
	return p;
}

/* Clips by one plane. Returns false if nothing remains but, perhaps, points on the plane. */
static bool
clip_by_plane(clipping *c, int plane)
{
	int side[RB_CUBOID_POINTS], n = 0, beyond = 0, before = 0;
	clip_point old[RB_CUBOID_POINTS];

	for (int i = 0; i < c->n; i++)
	{
		side[i] = find_side_of_plane(c, &c->at[i], plane);
		if (side[i] == 0)
			put_on_planes(c->b, &c->at[i], 1u << plane);
		beyond += side[i] > 0;
		before += side[i] < 0;
	}
	if (beyond == 0 || before == 0)
		return before > 0;
	memcpy(old, c->at, (size_t) c->n * sizeof old[0]);
	for (int i = 0; i < c->n; i++)
	{
		const int k = (i + 1) % c->n;

		if (side[i] <= 0)
		{
			c->at[n] = old[i];
			if (side[i] == 0 && side[k] > 0)
				c->at[n].edge = (uint8_t) (FACE + plane);
			n++;
		}
		if (side[i] * side[k] < 0)
		{
			c->at[n] = make_crossing(c, &old[i], &old[k], plane);
			if (side[i] < 0)
				c->at[n].edge = (uint8_t) (FACE + plane);
			n++;
		}
	}
	c->n = n;
	return true;
}

/* Starts with the whole triangle. */
static void
begin_clipping(clipping *c)
{
	const rb_cuboid *b = c->b;

	c->n = 3;
	for (int k = 0; k < 3; k++)
	{
		for (int a = 0; a < 3; a++)
		{
			c->corner[k][a] = rb_bounded_sub(b->bound[RB_CUBOID_PLANE(a, 1)],
											 rb_cuboid_corner(b->space, c->triangle, k, a));
			c->wide = c->wide || !(fabs(c->corner[k][a].x.high) < MOST_EXTENT);
		}
		c->at[k] = (clip_point){.label = {.kind = RB_CUBOID_CORNER, .of = (uint8_t) k},
								.edge = (uint8_t) k};
		memcpy(c->at[k].w, c->corner[k], sizeof c->at[k].w);
	}
	for (int a = 0; a < 3; a++)
		c->wide = c->wide || !(b->size[a].x.high < MOST_EXTENT);
}

/* ---- terms ---- */

/* Replaces a coordinate that is hardly known by the whole range that it is in. */
static void
limit_to_cuboid(const rb_cuboid *b, clip_point *p)
{
	for (int a = 0; a < 3; a++)
	{
		const double size = b->size[a].x.high;

		if (!(p->w[a].error < size / 2))
			p->w[a] = (rb_bounded){{size / 2, 0}, size / 2 * (1 + 0x1p-40)};
	}
}

/* Adds factor * x to a sum. */
static void
add_to_sum(rb_cuboid_sum *s, int factor, rb_bounded x)
{
	s->sum = factor > 0 ? rb_bounded_add(s->sum, x) : rb_bounded_sub(s->sum, x);
}

/* Adds what the polygon takes from the columns below the high face across z. */
static void
add_area_terms(const clipping *c, int outward, rb_cuboid_sum *s)
{
	const rb_bounded *p = c->at[0].w;

	for (int i = 1; i + 1 < c->n; i++)
	{
		const rb_bounded *q = c->at[i].w, *r = c->at[i + 1].w;
		const rb_bounded area =
			rb_bounded_sub(rb_bounded_mul(rb_bounded_sub(q[0], p[0]), rb_bounded_sub(r[1], p[1])),
						   rb_bounded_mul(rb_bounded_sub(q[1], p[1]), rb_bounded_sub(r[0], p[0])));

		add_to_sum(s, -outward,
				   rb_bounded_mul(area, rb_bounded_add(rb_bounded_add(p[2], q[2]), r[2])));
	}
}

/* Adds what the segment from p to q in the low face across z takes from the rows along y and x. */
static void
add_segment_terms(const clipping *c, const clip_point *p, const clip_point *q, int outward,
				  rb_cuboid_sum *s)
{
	const unsigned low_x = 1u << RB_CUBOID_PLANE(0, 0), low_y = 1u << RB_CUBOID_PLANE(1, 0);
	const bool starts = p->label.on & low_y, ends = q->label.on & low_y;
	const rb_bounded *d = c->b->size;

	if (starts && ends)
		return;
	add_to_sum(s, outward,
			   rb_bounded_mul(rb_bounded_mul(rb_bounded_of(3), d[2]),
							  rb_bounded_mul(rb_bounded_sub(p->w[0], q->w[0]),
											 rb_bounded_add(p->w[1], q->w[1]))));
	/* The segment leads upward if it starts on the low edge along x. */
	if ((starts && !(p->label.on & low_x)) || (ends && !(q->label.on & low_x)))
		add_to_sum(s, starts ? -outward : outward,
				   rb_bounded_mul(rb_bounded_mul(rb_bounded_of(6), d[2]),
								  rb_bounded_mul(d[1], starts ? p->w[0] : q->w[0])));
}

/* Adds all terms of the polygon. */
static void
add_polygon_terms(clipping *c, int outward, rb_cuboid_sum *s)
{
	const unsigned low_z = 1u << RB_CUBOID_PLANE(2, 0);

	for (int i = 0; i < c->n; i++)
		limit_to_cuboid(c->b, &c->at[i]);
	add_area_terms(c, outward, s);
	for (int i = 0; i < c->n; i++)
	{
		const clip_point *p = &c->at[i], *q = &c->at[(i + 1) % c->n];

		if (p->label.on & q->label.on & low_z)
			add_segment_terms(c, p, q, outward, s);
	}
	s->terms += c->n + 2;
}

bool
rb_cuboid_clip(rb_exact_env *env, const rb_cuboid *b, rb_cuboid_polygon *p, rb_cuboid_sum *sum)
{
	clipping c = {.env = env, .b = b, .triangle = p->triangle};
	unsigned common = 63;

	begin_clipping(&c);
	for (int plane = 0; plane < 6; plane++)
		if (!clip_by_plane(&c, plane))
			return false;
	for (int i = 0; i < c.n; i++)
		common &= c.at[i].label.on;
	/* A convex polygon in the surface of the cuboid is in one of its faces. */
	if (common != 0 || c.n < 3)
		return false;
	p->n = c.n;
	for (int i = 0; i < c.n; i++)
		p->at[i] = c.at[i].label;
	if (sum != NULL)
	{
		sum->meets = true;
		add_polygon_terms(&c, p->outward, sum);
	}
	return true;
}

/* ---- results ---- */

/* Returns the volume of a cuboid. */
static rb_bounded
volume_of_cuboid(const rb_cuboid *b)
{
	return rb_bounded_mul(b->size[0], rb_bounded_mul(b->size[1], b->size[2]));
}

void
rb_cuboid_measure_whole(const rb_cuboid *b, rb_cuboid_share *share)
{
	const rb_bounded v = volume_of_cuboid(b);
	rb_number high, size, x, product;

	share->fraction = 1;
	if (rb_round_within(v.x, v.error + UNDERFLOW, &share->volume))
		return;
	rb_number_of(&product, 1);
	for (int a = 0; a < 3; a++)
	{
		rb_cuboid_number_of_plane(&high, b, RB_CUBOID_PLANE(a, 1));
		rb_cuboid_number_of_plane(&size, b, RB_CUBOID_PLANE(a, 0));
		rb_number_sub(&size, &high, &size);
		rb_number_mul(&x, &product, &size);
		rb_number_copy(&product, &x);
	}
	share->volume = rb_max(rb_number_round(&product), 0x1p-1074);
}

bool
rb_cuboid_round(const rb_cuboid *b, const rb_cuboid_sum *s, bool inside, rb_cuboid_share *share)
{
	const rb_bounded six = rb_bounded_of(6), whole = volume_of_cuboid(b);
	rb_bounded sum = s->sum, volume, fraction;

	if (inside)
		sum = rb_bounded_add(sum, rb_bounded_mul(six, whole));
	sum.error = 1.02 * sum.error + UNDERFLOW * (s->terms + 1);
	volume = rb_bounded_div(sum, six);
	fraction = rb_bounded_div(volume, whole);
	return volume.x.high > 2 * volume.error &&
		   rb_round_within(volume.x, volume.error, &share->volume) &&
		   rb_round_within(fraction.x, fraction.error, &share->fraction);
}
