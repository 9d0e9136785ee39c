/*
 * facets_around_edge.c
 *	  Classifies the points around an edge of one solid that overlaps the boundary of another solid.
 *
 * The edge is viewed along its direction. At a point of the edge where no other edge starts or
 * ends, each solid is a fan of half-planes. Between two consecutive half-planes, the points are
 * either all inside or all outside the solid:
 *
 *			 r  .  b			counterclockwise from r, red is as recorded for that side of r
 *			  \ . /				until red's next half-plane; blue is as recorded for its last
 *		 -------x------- b		half-plane before r, or at r
 *			   /
 *			  r
 *
 * Therefore each region around the edge begins at some half-plane. For each half-plane, the code
 * finds the last half-plane of the other solid before it. The angular order is determined by
 * orient3d of the edge and the vertices of two triangles. If orient3d is zero, the order follows
 * from the sides on which the vertices lie in their common plane.
 *
 * The half-planes of a solid are the fan of its edge, or the two sides of a triangle whose interior
 * contains the other solid's edge. Only the first side of a fan is processed, since the other sides
 * would give the same result.
 */
#include "core/solid/relate.h"
#include "core/primitive/contact.h"

#define NONE UINT32_MAX

/*
 * A half-plane from the edge through the point `to`, and whether the solid is inside
 * counterclockwise next to it
 */
typedef struct half
{
	const double *to;
	bool inside;
} half;

/* The half-planes of one solid around the line pq */
typedef struct fan
{
	const rb_fans *of;
	uint32_t side; /* Side that identifies the fan, or NONE if `both` is used instead */
	half both[2];
} fan;

typedef struct look
{
	rb_exact_env *env;
	const double *p;
	const double *q;
	fan red;
	fan blue;
} look;

static const double *
triangle_at(const rb_fans *fans, uint32_t i)
{
	return fans->set->coords + 9 * (size_t) i;
}

/*
 * Advances to the next half-plane of the fan, or to the first if *at is NONE. Returns true if more
 * follow.
 */
static bool
next_half(const look *l, const fan *f, uint32_t *at, half *h)
{
	const double *t;
	uint32_t k;

	if (f->side == NONE)
	{
		*at = *at == NONE ? 0 : *at + 1;
		*h = f->both[*at & 1];
		return *at == 0;
	}
	*at = *at == NONE ? f->side : f->of->next[*at];
	t = triangle_at(f->of, *at / 3);
	k = *at % 3;
	h->to = t + 3 * ((k + 2) % 3);
	/*
	 * If a triangle's side runs in the direction of the line, its normal points counterclockwise.
	 */
	h->inside = rb_points_inward(f->of, *at / 3) ==
				(rb_point_before(t + 3 * k, t + 3 * ((k + 1) % 3)) == rb_point_before(l->p, l->q));
	return f->of->next[*at] != f->side;
}

/*
 * Returns the counterclockwise angle between two half-planes: 0 if it is zero, 1 if it is less than
 * 180 degrees, 2 if it is 180, 3 if it is more.
 */
static int
turn_between(const look *l, const double *from, const double *to)
{
	int sign, axis;

	if (rb_equal3(from, to))
		return 0;
	sign = rb_orient3d_at(l->env, l->p, l->q, from, to);
	if (sign != 0)
		return sign > 0 ? 1 : 3;
	axis = rb_projection_axis(l->env, l->p, l->q, from);
	return rb_turn(l->env, axis, l->p, l->q, from) == rb_turn(l->env, axis, l->p, l->q, to) ? 0 : 2;
}

/*
 * Returns true if the solid is inside counterclockwise next to the given half-plane. Sets *on if
 * this half-plane is one of the solid's own.
 */
static bool
inside_behind(const look *l, const half *from, const fan *f, bool *on)
{
	uint32_t at = NONE;
	half h, last = {NULL, false};
	int far = 0;
	bool more = true;

	*on = false;
	while (more)
	{
		int turn;

		more = next_half(l, f, &at, &h);
		turn = turn_between(l, from->to, h.to);
		if (turn == 0)
		{
			*on = true;
			return h.inside;
		}
		if (turn > far || (turn == far && rb_orient3d_at(l->env, l->p, l->q, last.to, h.to) > 0))
		{
			last = h;
			far = turn;
		}
	}
	return last.inside;
}

static unsigned
classify_around(const look *l)
{
	static const unsigned what[4] = {0, RB_RED_ALONE, RB_BLUE_ALONE, RB_IN_BOTH};
	unsigned found = 0;

	for (int blue = 0; blue < 2; blue++)
	{
		const fan *mine = blue ? &l->blue : &l->red, *other = blue ? &l->red : &l->blue;
		uint32_t at = NONE;
		bool more = true;

		while (more)
		{
			half h;
			bool there, on;

			more = next_half(l, mine, &at, &h);
			there = inside_behind(l, &h, other, &on);
			found |= what[blue ? there + 2 * h.inside : h.inside + 2 * there];
		}
	}
	return found;
}

/* Returns the fan formed by the two sides of a triangle whose interior contains the line. */
static fan
two_sides(rb_exact_env *env, const double *p, const double *q, const rb_fans *fans, uint32_t i)
{
	const double *t = triangle_at(fans, i);
	const int axis = rb_projection_axis(env, t, t + 3, t + 6);
	const int turn = rb_turn(env, axis, t, t + 3, t + 6);
	const bool inward = rb_points_inward(fans, i);
	fan f = {.of = fans, .side = NONE};

	for (int k = 0; k < 3; k++)
	{
		const int side = rb_turn(env, axis, p, q, t + 3 * k);

		if (side != 0)
			f.both[side > 0] = (half){t + 3 * k, inward == (side == turn)};
	}
	return f;
}

/* Returns the side of the triangle that lies on the line. */
static uint32_t
side_on(rb_exact_env *env, const double *p, const double *q, const rb_fans *fans, uint32_t i)
{
	const double *t = triangle_at(fans, i);
	bool on[3];

	for (int k = 0; k < 3; k++)
		on[k] = rb_projection_axis(env, p, q, t + 3 * k) == -1;
	return 3 * i + (on[0] && on[1] ? 0 : on[1] && on[2] ? 1 : 2);
}

/*
 * Classifies the points around one side of `mine` that lies inside a triangle of the other solid,
 * or on a side of that triangle. The second case is handled only from red, so that it is handled
 * once.
 */
static unsigned
classify_side(rb_exact_env *env, const rb_fans *mine, uint32_t side, const rb_fans *other,
			  uint32_t i, bool is_red)
{
	const double *t = triangle_at(mine, side / 3);
	double edge[6];
	look l = {.env = env, .p = edge, .q = edge + 3};
	fan f = {.of = mine, .side = side}, g = {.of = other};
	int contact;

	if (!rb_fan_is_first(mine, side))
		return 0;
	memcpy(edge, t + 3 * (side % 3), 3 * sizeof(double));
	memcpy(edge + 3, t + 3 * ((side + 1) % 3), 3 * sizeof(double));
	contact = rb_segment_triangle_contact(env, edge, triangle_at(other, i));
	if (contact == 0 || RB_PAYLOAD_DIMENSION(RB_PAYLOAD(contact)) == 0)
		return 0;
	if (RB_PAYLOAD_CROSSES(RB_PAYLOAD(contact)))
		g = two_sides(env, l.p, l.q, other, i);
	else
	{
		if (!is_red)
			return 0;
		g.side = side_on(env, l.p, l.q, other, i);
		if (!rb_fan_is_first(other, g.side))
			return 0;
	}
	l.red = is_red ? f : g;
	l.blue = is_red ? g : f;
	return classify_around(&l);
}

/* Returns the triangle side between two vertices, given as a bit mask. */
static uint32_t
side_of_corners(unsigned corners)
{
	return corners == 3 ? 0 : corners == 6 ? 1 : 2;
}

unsigned
rb_around_edges(rb_exact_env *env, const rb_fans *red, uint32_t r, const rb_fans *blue, uint32_t b,
				int dimension)
{
	const double *rt = triangle_at(red, r), *bt = triangle_at(blue, b);
	const rb_common common = rb_common_corners(rt, bt);
	unsigned found = 0;

	/*
	 * Two triangles that share an edge and nothing else need no arithmetic. Most neighbors are of
	 * this kind.
	 */
	if (dimension == 1 && rb_two_or_more(common.r))
	{
		const uint32_t k = side_of_corners(common.r);
		look l = {.env = env, .p = rt + 3 * k, .q = rt + 3 * ((k + 1) % 3)};

		l.red = (fan){.of = red, .side = 3 * r + k};
		l.blue = (fan){.of = blue, .side = 3 * b + side_of_corners(common.b)};
		if (!rb_fan_is_first(red, l.red.side) || !rb_fan_is_first(blue, l.blue.side))
			return 0;
		return classify_around(&l);
	}
	for (uint32_t k = 0; k < 3; k++)
	{
		found |= classify_side(env, red, 3 * r + k, blue, b, true);
		found |= classify_side(env, blue, 3 * b + k, red, r, false);
	}
	return found;
}

/* ---- edges that lie on a surface ---- */

/*
 * Locates up to two half-planes of a surface: RB_SURFACE_IN or RB_SURFACE_OUT; those on the
 * boundary add nothing.
 */
static unsigned
sides_of_halves(const look *l, const double *const to[2], const fan *solid)
{
	unsigned found = 0;

	for (int i = 0; i < 2; i++)
	{
		const half h = {.to = to[i]};
		bool inside, on;

		if (to[i] == NULL)
			continue;
		inside = inside_behind(l, &h, solid, &on);
		if (!on)
			found |= inside ? RB_SURFACE_IN : RB_SURFACE_OUT;
	}
	return found;
}

/*
 * Handles a side of a solid's triangle that lies inside triangle t of the surface or along one of
 * its sides.
 */
static unsigned
classify_solid_side(rb_exact_env *env, const double *t, const rb_fans *solid, uint32_t side)
{
	const double *b = triangle_at(solid, side / 3);
	const double *to[2] = {NULL, NULL};
	const fan f = {.of = solid, .side = side};
	double edge[6];
	const look l = {.env = env, .p = edge, .q = edge + 3};
	int contact, axis;

	if (!rb_fan_is_first(solid, side))
		return 0;
	memcpy(edge, b + 3 * (side % 3), 3 * sizeof(double));
	memcpy(edge + 3, b + 3 * ((side + 1) % 3), 3 * sizeof(double));
	contact = rb_segment_triangle_contact(env, edge, t);
	if (contact == 0 || RB_PAYLOAD_DIMENSION(RB_PAYLOAD(contact)) == 0)
		return 0;
	axis = rb_projection_axis(env, t, t + 3, t + 6);
	for (int k = 0; k < 3; k++)
	{
		const int turn = rb_turn(env, axis, edge, edge + 3, t + 3 * k);

		if (turn != 0)
			to[turn > 0] = t + 3 * k;
	}
	return sides_of_halves(&l, to, &f);
}

/*
 * Handles side k of triangle t of the surface if it lies inside a triangle of the solid. If it lies
 * along a side of that triangle, classify_solid_side handles it.
 */
static unsigned
classify_surface_side(rb_exact_env *env, const double *t, int k, const rb_fans *solid, uint32_t i)
{
	const double *to[2] = {t + 3 * ((k + 2) % 3), NULL};
	double edge[6];
	const look l = {.env = env, .p = edge, .q = edge + 3};
	int contact;
	fan f;

	memcpy(edge, t + 3 * k, 3 * sizeof(double));
	memcpy(edge + 3, t + 3 * ((k + 1) % 3), 3 * sizeof(double));
	contact = rb_segment_triangle_contact(env, edge, triangle_at(solid, i));
	if (contact == 0 || RB_PAYLOAD_DIMENSION(RB_PAYLOAD(contact)) == 0 ||
		!RB_PAYLOAD_CROSSES(RB_PAYLOAD(contact)))
		return 0;
	f = two_sides(env, l.p, l.q, solid, i);
	return sides_of_halves(&l, to, &f);
}

unsigned
rb_around_surface(rb_exact_env *env, const double *t, const rb_fans *solid, uint32_t i)
{
	unsigned found = 0;

	for (uint32_t k = 0; k < 3 && found != (RB_SURFACE_IN | RB_SURFACE_OUT); k++)
	{
		found |= classify_solid_side(env, t, solid, 3 * i + k);
		found |= classify_surface_side(env, t, (int) k, solid, i);
	}
	return found;
}
