/*
 * depth_points.c
 *	  Finds the sides of planes on which points of cells lie, exactly.
 *
 * A point is given by a corner of a face, by an edge of a face and a plane, or by three planes. All
 * planes are those of input triangles. The side of another plane on which it lies is the sign of a
 * polynomial of degree 9 at most: bounds decide it, and exact numbers if they do not.
 */
#include "core/solid/depth.h"

#include <math.h>

/* Computes the normal of a triangle. */
static void
find_bounded_normal(rb_bounded n[3], const double *t)
{
	rb_bounded u[3], v[3];

	for (int a = 0; a < 3; a++)
	{
		u[a] = rb_bounded_difference(t[3 + a], t[a]);
		v[a] = rb_bounded_difference(t[6 + a], t[a]);
	}
	rb_bounded_cross(u, v, n);
}

rb_status
rb_depth_add_plane(rb_depth_run *d, const double *t, bool inward)
{
	rb_depth_plane p = {.t = t, .axis = -1, .inward = inward};

	find_bounded_normal(p.n, t);
	for (int a = 0; a < 3; a++)
		if (t[a] == t[3 + a] && t[a] == t[6 + a])
		{
			p.axis = a;
			p.direction =
				rb_orient2d_at(&d->env, t[(a + 1) % 3], t[(a + 2) % 3], t[3 + (a + 1) % 3],
							   t[3 + (a + 2) % 3], t[6 + (a + 1) % 3], t[6 + (a + 2) % 3]);
		}
	return rb_vec_append(d->ctx, &d->planes, p);
}

/* Returns n . (p - corner of the plane). */
static rb_bounded
bounded_height(const rb_depth_plane *plane, const double *p)
{
	rb_bounded w[3];

	rb_bounded_vector(w, p, plane->t);
	return rb_bounded_dot(plane->n, w);
}

/* Computes the coordinates of a point relative to the origin. */
static void
find_bounded_point(const rb_depth_run *d, rb_depth_point *p)
{
	const rb_depth_plane *plane = d->planes.at;
	rb_bounded u[3], v[3], height[3], below = {{0, 0}, HUGE_VAL};

	if (p->b != NULL)
		rb_bounded_vector(p->at, p->b, d->origin);
	if (p->b != NULL && p->c == NULL)
		return;
	if (p->b != NULL)
	{
		height[0] = bounded_height(&plane[p->plane[0]], p->b);
		height[1] = bounded_height(&plane[p->plane[0]], p->c);
		below = rb_bounded_div(height[0], rb_bounded_sub(height[0], height[1]));
		rb_bounded_vector(v, p->c, p->b);
		for (int a = 0; a < 3; a++)
			p->at[a] = rb_bounded_add(p->at[a], rb_bounded_mul(below, v[a]));
		return;
	}
	for (int k = 0; k < 3; k++)
	{
		const rb_depth_plane *q = &plane[p->plane[k]];

		rb_bounded_vector(u, q->t, d->origin);
		height[k] = rb_bounded_dot(q->n, u);
		for (int a = 0; a < 3 && k == 0; a++)
			p->at[a] = (rb_bounded){{0, 0}, 0};
	}
	for (int k = 0; k < 3; k++)
	{
		rb_bounded_cross(plane[p->plane[(k + 1) % 3]].n, plane[p->plane[(k + 2) % 3]].n, u);
		for (int a = 0; a < 3; a++)
			p->at[a] = rb_bounded_add(p->at[a], rb_bounded_mul(height[k], u[a]));
		if (k == 0)
			below = rb_bounded_dot(plane[p->plane[0]].n, u);
	}
	for (int a = 0; a < 3; a++)
		p->at[a] = rb_bounded_div(p->at[a], below);
}

rb_status
rb_depth_add_point(rb_depth_run *d, rb_depth_point p, uint32_t *number)
{
	find_bounded_point(d, &p);
	*number = (uint32_t) d->points.n;
	return rb_vec_append(d->ctx, &d->points, p);
}

/* ---- the side of a plane ---- */

/* Sets r to the cross product of u and v. */
static void
find_number_cross(rb_number r[3], const rb_number u[3], const rb_number v[3])
{
	for (int i = 0; i < 3; i++)
		rb_number_det2(&r[i], &u[(i + 1) % 3], &u[(i + 2) % 3], &v[(i + 1) % 3], &v[(i + 2) % 3]);
}

_Static_assert(RB_NUMBER_DEGREE(9, 8) + 2 <= RB_NUMBER_WORDS,
			   "room for the height of a point of three planes above a fourth one");

void
rb_depth_height(const rb_depth_run *d, const rb_depth_point *p, const double *t, rb_number *top,
				rb_number *below)
{
	rb_number normal[3], n[3][3], x, y, w[3], cross[3];

	if (p->b != NULL)
	{
		const double *q = p->c != NULL ? d->planes.at[p->plane[0]].t : NULL;

		rb_number_orient3d(top, t, t + 3, t + 6, p->b);
		rb_number_of(below, 1);
		if (p->c == NULL)
			return;
		rb_number_orient3d(&normal[0], t, t + 3, t + 6, p->c);
		rb_number_orient3d(&normal[1], q, q + 3, q + 6, p->b);
		rb_number_orient3d(&normal[2], q, q + 3, q + 6, p->c);
		rb_number_mul(&x, &normal[1], &normal[0]);
		rb_number_mul(&y, top, &normal[2]);
		rb_number_sub(top, &x, &y);
		rb_number_sub(below, &normal[1], &normal[2]);
		return;
	}
	rb_triangle_normal(normal, t);
	for (int k = 0; k < 3; k++)
		rb_triangle_normal(n[k], d->planes.at[p->plane[k]].t);
	top->sign = top->n = top->low = 0;
	for (int k = 0; k < 3; k++)
	{
		const double *q = d->planes.at[p->plane[k]].t;

		find_number_cross(cross, n[(k + 1) % 3], n[(k + 2) % 3]);
		if (k == 0)
			rb_number_dot3(below, n[0], cross);
		for (int a = 0; a < 3; a++)
			rb_number_difference(&w[a], q[a], t[a]);
		rb_number_dot3(&x, n[k], w);
		if (x.sign == 0)
			continue;
		rb_number_dot3(&y, normal, cross);
		rb_number_mul(&w[0], &x, &y);
		rb_number_add(top, top, &w[0]);
	}
}

bool
rb_depth_coordinate(const rb_depth_run *d, const rb_depth_point *p, int axis, double *x)
{
	if (p->b != NULL && (p->c == NULL || p->b[axis] == p->c[axis]))
	{
		*x = p->b[axis];
		return true;
	}
	for (int k = 0; k < 3; k++)
		if (p->plane[k] != RB_NO_PLANE && d->planes.at[p->plane[k]].axis == axis)
		{
			*x = d->planes.at[p->plane[k]].t[axis];
			return true;
		}
	return false;
}

int
rb_depth_side(rb_depth_run *d, uint32_t point, uint32_t plane)
{
	const rb_depth_point *p = &d->points.at[point];
	const rb_depth_plane *q = &d->planes.at[plane];
	double height = 0, error = 0x1p-1000, x;
	rb_number top, below;

	if (p->plane[0] == plane || p->plane[1] == plane || p->plane[2] == plane)
		return 0;
	if (q->axis >= 0 && rb_depth_coordinate(d, p, q->axis, &x))
		return x == q->t[q->axis] ? 0 : x > q->t[q->axis] ? q->direction : -q->direction;
	for (int a = 0; a < 3; a++)
	{
		const double c = q->t[a] - d->origin[a], at = p->at[a].x.high, n = q->n[a].x.high;
		const double size = fabs(at) + fabs(c);

		height += n * (at - c);
		error += fabs(n) * (p->at[a].error + 0x1p-50 * size) +
				 (q->n[a].error + 0x1p-52 * fabs(n)) * (size + p->at[a].error);
	}
	if (fabs(height) > 1.01 * error && fabs(height) <= DBL_MAX)
		return height > 0 ? 1 : -1;
	if (p->b != NULL && p->c == NULL)
		return rb_orient3d_at(&d->env, q->t, q->t + 3, q->t + 6, p->b);
	rb_depth_height(d, p, q->t, &top, &below);
	return top.sign * below.sign;
}
