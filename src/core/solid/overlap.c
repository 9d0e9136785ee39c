/*
 * overlap.c
 *	  Computes what each pair of solids shares, without building it: volume, centroid, and the area of
 *	  coplanar faces.
 *
 * Volume and centroid are sums of local terms. With all faces turned outward, all coordinates relative to one
 * point, a face f = (a, b, c) of either solid, and the part of its edge bc within the other solid,
 *
 *		6 V = sum over f of det(a, b, c) share1
 *				+ sum over pairs of faces f, g that cross of (a_f - a_g) . (p x q)
 *		24 M = sum over f of det(a, b, c) ((a + 2 b) share1 + (c - b) share2)
 *				+ sum over pairs of det(a_f, p, q) (a_f + p + q) - det(a_g, p, q) (a_g + p + q)
 *
 * where p and q are the ends of the common segment of f and g, in the direction n_f x n_g, and
 *
 *		share k = [c inside] + sum of t^k where bc leaves the other solid, -t^k where it enters it
 *
 * with t from 0 at b to 1 at c. The part of a face in the other solid is a fan of tetrahedra over
 * its border: a border on ab or ca adds nothing, since it is coplanar with a, one on bc adds its
 * share, and one on a face of the other solid is a segment pq. (W. R. Franklin: Polygon properties
 * calculated from the vertex neighborhoods, 1987; S. V. G. de Magalhaes, W. R. Franklin, M. V. A.
 * Andrade: An efficient and exact parallel algorithm for intersecting large 3-D triangular meshes,
 * 2020.)
 *
 * The blue solid is moved by (e, e^2, e^3) with an infinitesimal e, so that no edge meets an edge,
 * and no corner a face. The volume changes continuously with the position. No direction changes, so
 * each end of a segment tends to a point, and the limits of all terms sum to the exact result.
 * Signs are therefore those of the moved position, while coordinates are the stored ones. A sign
 * that is 0 becomes that of the first of e, e^2, e^3 whose coefficient is not 0:
 *
 *		plane of red f, blue point					n_f
 *		plane of blue g, red point					-n_g
 *		line of a red edge e, blue edge from x to y	e x (x - y)
 *
 * The pairs of faces that may cross are those that the join for RB_CONTACT finds; they touch in the
 * stored position. Along an edge, a point changes its side where the edge pierces a face. So the
 * sides of all corners follow from that of one corner of each connected part of a surface: a corner
 * outside the box of the other solid, or if there is none, a corner from which a ray starts. Of
 * each solid, only triangles whose boxes overlap the box of the other one are visited; a box tree
 * finds them.
 *
 * Which pairs of solids have a result, and which share only an area, follows from their relation
 * (relate.c), in the stored position.
 */
#include "core/solid/overlap.h"
#include "core/solid/contact_area.h"
#include "core/base/parallel.h"
#include "core/intersection/intersection.h"
#include "core/join/join.h"
#include "core/primitive/contact.h"
#include "core/primitive/ray.h"
#include "core/set/set.h"
#include "core/solid/solid.h"

#include <math.h>

#define GRAIN RB_SIZE(4, 1)             /* Number of pairs of rows a thread takes at a time */
#define TRIANGLE_GRAIN RB_SIZE(4096, 8) /* Number of triangles a thread takes at a time */
#define CHECK_INTERVAL 1024             /* Pairs of triangles between checks for cancellation */

_Static_assert(sizeof(rb_overlap) == RB_OVERLAP_WORDS * sizeof(uint64_t),
			   "the measures of an overlap have RB_OVERLAP_WORDS words");

/* One side, with a box tree of its triangles, those of each row together */
typedef struct overlap_side
{
	const rb_set *set;
	const rb_fans *fans;
	uint32_t *start; /* First triangle of each row */
	double *box;     /* Low and high corner of each row */
	rb_boxes tree;
} overlap_side;

/* Memory of one thread */
typedef struct overlap_room
{
	rb_exact_env env;
	rb_overlap_terms terms;
	rb_depth_faces faces[2];   /* Faces near the overlap */
	RB_VEC(rb_flat_pair) flat; /* Coplanar triangles that share an area that counts */
	/* For each triangle of the two rows: bit k if side k pierces an odd number of faces */
	uint8_t *odd[2];
	uint8_t *corners[2]; /* For each triangle: sides of its corners, as bits of CORNER_... */
	/*
	 * Triangles whose boxes overlap the box of the other row; `queue` has those whose neighbors are
	 * visited next
	 */
	RB_VEC(uint32_t) near;
	RB_VEC(uint32_t) queue;
	size_t odd_cap[2];
	size_t corners_cap[2];
} overlap_room;

typedef struct overlaps
{
	rb_context *ctx;
	const rb_row_sink *sink;
	const rb_job *job;
	rb_relations relations;
	overlap_side side[2];
	overlap_room *rooms;
	int status;
} overlaps;

/* A pair of rows */
typedef struct overlap_pair
{
	overlaps *w;
	overlap_room *room;
	uint32_t row[2];
	uint32_t first[2]; /* First triangle of each row */
	uint32_t end[2];
} overlap_pair;

/* Returns the coordinates of triangle i. */
static const double *
triangle_of_side(const overlap_side *s, uint32_t i)
{
	return s->set->coords + 9 * (size_t) i;
}

/* ---- signs in the moved position ---- */

/* Returns the first sign that is not 0 among the components of (b - a) x (d - c), or 0. */
static int
first_sign_of_cross(const double *a, const double *b, const double *c, const double *d)
{
	rb_number p, q, s, t, det;

	for (int axis = 0; axis < 3; axis++)
	{
		const int i = (axis + 1) % 3, j = (axis + 2) % 3;

		rb_number_difference(&p, b[i], a[i]);
		rb_number_difference(&q, b[j], a[j]);
		rb_number_difference(&s, d[i], c[i]);
		rb_number_difference(&t, d[j], c[j]);
		rb_number_det2(&det, &p, &q, &s, &t);
		if (det.sign != 0)
			return det.sign;
	}
	return 0;
}

/*
 * Returns the side of the plane of triangle t on which p lies, 1 for that of the normal. `moved` is
 * 1 if p is blue, -1 if t is.
 */
static int
side_of_moved_plane(rb_exact_env *env, const double *t, const double *p, int moved)
{
	const int sign = rb_orient3d_at(env, t, t + 3, t + 6, p);

	return sign != 0 ? sign : moved * rb_normal_tie(env, t);
}

/* Returns the sign of det(c - b, x - c, y - c) for the red edge bc and the blue edge xy. */
static int
side_of_moved_line(rb_exact_env *env, const double *b, const double *c, const double *x,
				   const double *y)
{
	const int sign = rb_orient3d_at(env, b, c, x, y);

	return sign != 0 ? sign : first_sign_of_cross(b, c, y, x);
}

/* A corner of one side, on a walk through the triangles above it of the other side */
typedef struct corner_ray
{
	const overlap_pair *pair;
	const double *p;
	int side;
	bool inside;
} corner_ray;

/* Receives a triangle whose box the upward ray from a corner meets. */
static rb_status
receive_triangle_above(void *user, uint32_t i)
{
	corner_ray *r = user;
	const overlap_side *s = &r->pair->w->side[!r->side];
	rb_exact_env *env = &r->pair->room->env;
	const double *t = triangle_of_side(s, i), *p = r->p;
	const int moved = r->side == 0 ? 1 : -1;
	int turn;

	if (s->fans->sheet[i] == RB_NO_SHEET)
		return RB_OK;
	turn = rb_side_in_moved_projection(env, 2, p, t, t + 3, moved);
	if (turn != 0 && rb_side_in_moved_projection(env, 2, p, t + 3, t + 6, moved) == turn &&
		rb_side_in_moved_projection(env, 2, p, t + 6, t, moved) == turn)
		r->inside ^= side_of_moved_plane(env, t, p, -moved) == -turn;
	return RB_OK;
}

/* Returns true if p is in the row of the other side, `side` being the side of p. */
static bool
is_corner_inside(const overlap_pair *o, const double *p, int side)
{
	const double box[6] = {p[0], p[1], p[2], p[0], p[1], DBL_MAX};
	corner_ray r = {.pair = o, .p = p, .side = side};

	(void) rb_boxes_find_in_row(&o->w->side[!side].tree, o->first[!side], o->end[!side], box,
								receive_triangle_above, &r);
	return r.inside;
}

/* ---- terms ---- */

/* Adds the term of the edge bc of a face with the corner a, between b and `at`, or back. */
static rb_status
add_edge_term(overlap_pair *o, const double *a, rb_overlap_point at, bool back)
{
	const rb_overlap_point b = {.b = at.b};
	const rb_overlap_term term = {.plus = a, .p = back ? at : b, .q = back ? b : at};

	return rb_vec_append(o->w->ctx, &o->room->terms.terms, term);
}

/*
 * Finds the points where the sides of triangle i of one side pierce triangle k of the other one.
 * sides[n] is the side of the plane of k on which corner n of i lies, and turns[3 n + m] that of the
 * line of side n of i on which side m of k lies. Adds the terms of edges. Sets end[0] and end[1] if
 * these points are the first or second end of the common segment, and counts them.
 */
static rb_status
add_piercings(overlap_pair *o, int side, uint32_t i, uint32_t k, const int sides[3],
			  const int turns[9], rb_overlap_point end[2], int found[2])
{
	const overlap_side *mine = &o->w->side[side], *other = &o->w->side[!side];
	const double *t = triangle_of_side(mine, i);
	const bool inward = rb_points_inward(mine->fans, i);
	const bool against = inward != rb_points_inward(other->fans, k);

	for (int n = 0; n < 3; n++)
	{
		const int m = (n + 1) % 3, turn = turns[3 * n];
		rb_overlap_point at = {t + 3 * (inward ? m : n), t + 3 * (inward ? n : m),
							   triangle_of_side(other, k)};
		bool leaves;
		int which;

		if (sides[n] == sides[m] || turn == 0 || turns[3 * n + 1] != turn ||
			turns[3 * n + 2] != turn)
			continue;
		o->room->odd[side][i - o->first[side]] ^= (uint8_t) (1 << n);
		/* An edge that goes in the direction of the normal leaves the other solid. */
		leaves = (sides[m] > 0) != against;
		if (n == 1)
			RB_TRY(add_edge_term(o, t, at, !leaves));
		/*
		 * The direction n_f x n_g enters red f through an edge that goes in the direction of n_g,
		 * and blue g through one that goes against n_f.
		 */
		which = leaves == (side == 0) ? 0 : 1;
		end[which] = at;
		found[which]++;
	}
	return RB_OK;
}

/* Adds the terms of a pair of triangles. */
static rb_status
add_pair_of_triangles(overlap_pair *o, uint32_t r, uint32_t b)
{
	const double *red = triangle_of_side(&o->w->side[0], r);
	const double *blue = triangle_of_side(&o->w->side[1], b);
	rb_exact_env *env = &o->room->env;
	int sides[2][3], turns[2][9], found[2] = {0, 0};
	rb_overlap_point end[2];

	for (int k = 0; k < 3; k++)
		sides[0][k] = side_of_moved_plane(env, blue, red + 3 * k, -1);
	if (sides[0][0] == sides[0][1] && sides[0][1] == sides[0][2])
		return RB_OK;
	for (int k = 0; k < 3; k++)
		sides[1][k] = side_of_moved_plane(env, red, blue + 3 * k, 1);
	if (sides[1][0] == sides[1][1] && sides[1][1] == sides[1][2])
		return RB_OK;
	for (int n = 0; n < 3; n++)
		for (int m = 0; m < 3; m++)
			turns[0][3 * n + m] = turns[1][3 * m + n] =
				sides[0][n] == sides[0][(n + 1) % 3] && sides[1][m] == sides[1][(m + 1) % 3]
					? 0
					: side_of_moved_line(env, red + 3 * n, red + 3 * ((n + 1) % 3), blue + 3 * m,
										 blue + 3 * ((m + 1) % 3));
	RB_TRY(add_piercings(o, 0, r, b, sides[0], turns[0], end, found));
	RB_TRY(add_piercings(o, 1, b, r, sides[1], turns[1], end, found));
	if (found[0] == 0 && found[1] == 0)
		return RB_OK;
	if (found[0] != 1 || found[1] != 1)
		return rb_fail(o->w->ctx, RB_BAD_GEOMETRY, 0, 0, "Two faces share one end of a segment.");
	return rb_vec_append(o->w->ctx, &o->room->terms.terms,
						 (rb_overlap_term){.plus = red, .minus = blue, .p = end[0], .q = end[1]});
}

/* ---- inner corners ---- */

#define CORNER_INSIDE 1   /* Shifted left by k: corner k is inside the other solid */
#define CORNER_NEAR 8     /* The triangle's box overlaps the box of the other row */
#define CORNER_LOCATED 16 /* The sides of its corners are known */

/* Triangles of one side that are near the other one */
typedef struct near_triangles
{
	overlap_pair *pair;
	int side;
} near_triangles;

/* Receives a triangle whose box overlaps the box of the other row. */
static rb_status
receive_near_triangle(void *user, uint32_t i)
{
	const near_triangles *n = user;
	overlap_room *room = n->pair->room;

	if (n->pair->w->side[n->side].fans->sheet[i] == RB_NO_SHEET)
		return RB_OK;
	room->corners[n->side][i - n->pair->first[n->side]] = CORNER_NEAR;
	return rb_vec_append(n->pair->w->ctx, &room->near, i);
}

/* Stores the sides of all corners of a triangle, given that of corner k, and queues the triangle. */
static rb_status
locate_corners(overlap_pair *o, int side, uint32_t i, uint32_t k, bool inside)
{
	const uint8_t odd = o->room->odd[side][i - o->first[side]];
	uint8_t corners = CORNER_NEAR | CORNER_LOCATED;

	for (uint32_t n = 0; n < 3; n++)
	{
		corners |= (uint8_t) ((inside ? CORNER_INSIDE : 0) << (k + n) % 3);
		inside = inside != (odd >> (k + n) % 3 & 1);
	}
	o->room->corners[side][i - o->first[side]] = corners;
	return rb_vec_append(o->w->ctx, &o->room->queue, i);
}

/* Finds the sides of the corners of all near triangles that are connected with those of the queue. */
static rb_status
locate_corners_of_neighbors(overlap_pair *o, int side)
{
	const overlap_side *s = &o->w->side[side];
	overlap_room *room = o->room;

	for (size_t n = 0; room->queue.n > 0; n++)
	{
		const uint32_t i = room->queue.at[--room->queue.n];
		const uint8_t here = room->corners[side][i - o->first[side]];

		if (rb_stop_due(o->w->ctx, n, CHECK_INTERVAL))
			return RB_STOPPED;
		for (uint32_t k = 0; k < 3; k++)
			for (uint32_t other = s->fans->next[3 * i + k]; other != 3 * i + k;
				 other = s->fans->next[other])
			{
				const uint32_t m = other / 3;

				if ((room->corners[side][m - o->first[side]] & (CORNER_NEAR | CORNER_LOCATED)) !=
					CORNER_NEAR)
					continue;
				/* Both sides are between the same corners, perhaps in opposite directions. */
				RB_TRY(locate_corners(o, side, m, other % 3,
									  here >> (rb_equal3(triangle_of_side(s, m) + 3 * (other % 3),
														 triangle_of_side(s, i) + 3 * k)
												   ? k
												   : (k + 1) % 3) &
										  CORNER_INSIDE));
			}
	}
	return RB_OK;
}

/* Returns the first corner of a triangle that is outside a box, or 3. */
static uint32_t
find_corner_outside_box(const double *t, const double *box)
{
	for (uint32_t k = 0; k < 3; k++)
		if (!rb_boxes_overlap(t + 3 * k, t + 3 * k, box, box + 3))
			return k;
	return 3;
}

/*
 * Finds the sides of the corners of all near triangles. Corners outside the box of the other row
 * are outside. Each connected part of the surface without such a corner needs a ray.
 */
static rb_status
locate_near_corners(overlap_pair *o, int side)
{
	const overlap_side *s = &o->w->side[side];
	const double *box = o->w->side[!side].box + 6 * (size_t) o->row[!side];
	overlap_room *room = o->room;

	rb_vec_clear(&room->queue);
	for (int by_ray = 0; by_ray < 2; by_ray++)
		for (size_t n = 0; n < room->near.n; n++)
		{
			const uint32_t i = room->near.at[n];
			const double *t = triangle_of_side(s, i);
			const uint32_t k = by_ray ? 0 : find_corner_outside_box(t, box);

			if (rb_stop_due(o->w->ctx, n, CHECK_INTERVAL))
				return RB_STOPPED;
			if (k == 3 || (room->corners[side][i - o->first[side]] & CORNER_LOCATED) != 0)
				continue;
			RB_TRY(locate_corners(o, side, i, k, by_ray && is_corner_inside(o, t, side)));
			RB_TRY(locate_corners_of_neighbors(o, side));
		}
	return RB_OK;
}

/* Adds the terms of edges that end inside the other solid. */
static rb_status
add_inner_corners(overlap_pair *o, int side)
{
	const overlap_side *s = &o->w->side[side];
	near_triangles near = {o, side};
	overlap_room *room = o->room;

	rb_vec_clear(&room->near);
	RB_TRY(rb_boxes_find_in_row(&s->tree, o->first[side], o->end[side],
								o->w->side[!side].box + 6 * (size_t) o->row[!side],
								receive_near_triangle, &near));
	RB_TRY(locate_near_corners(o, side));
	for (size_t n = 0; n < room->near.n; n++)
	{
		const uint32_t i = room->near.at[n];
		const double *t = triangle_of_side(s, i);
		const int c = rb_points_inward(s->fans, i) ? 1 : 2;

		if (rb_stop_due(o->w->ctx, n, CHECK_INTERVAL))
			return RB_STOPPED;
		if (room->corners[side][i - o->first[side]] >> c & CORNER_INSIDE)
			RB_TRY(rb_vec_append(
				o->w->ctx, &room->terms.terms,
				(rb_overlap_term){.plus = t, .p = {.b = t + 3 * (3 - c)}, .q = {.b = t + 3 * c}}));
	}
	return RB_OK;
}

/* ---- a pair of rows ---- */

/* Finds the origin, and a bound on all coordinates relative to it. */
static void
choose_origin(overlap_pair *o)
{
	const double *red = o->w->side[0].box + 6 * (size_t) o->row[0];
	const double *blue = o->w->side[1].box + 6 * (size_t) o->row[1];
	rb_overlap_terms *t = &o->room->terms;
	rb_number x;

	rb_number_of(&t->extent, 0);
	for (int a = 0; a < 3; a++)
	{
		t->origin[a] = rb_max(red[a], blue[a]);
		rb_number_difference(&x, rb_max(red[3 + a], blue[3 + a]), rb_min(red[a], blue[a]));
		if (rb_number_compare(&x, &t->extent) > 0)
			rb_number_copy(&t->extent, &x);
	}
}

/* ---- depth ---- */

/* Receives a triangle whose box overlaps the common box. */
static rb_status
receive_face_of_depth(void *user, uint32_t i)
{
	const near_triangles *n = user;
	const overlap_side *s = &n->pair->w->side[n->side];

	if (s->fans->sheet[i] == RB_NO_SHEET)
		return RB_OK;
	return rb_vec_append(n->pair->w->ctx, &n->pair->room->faces[n->side].at,
						 ((rb_depth_face){triangle_of_side(s, i), rb_points_inward(s->fans, i)}));
}

/* Computes the depth of the overlap of a pair whose interiors meet. */
static rb_status
measure_depth(overlap_pair *o, double *depth)
{
	const double *red = o->w->side[0].box + 6 * (size_t) o->row[0];
	const double *blue = o->w->side[1].box + 6 * (size_t) o->row[1];
	double box[6];

	for (int a = 0; a < 3; a++)
	{
		box[a] = rb_max(red[a], blue[a]);
		box[3 + a] = rb_min(red[3 + a], blue[3 + a]);
	}
	for (int side = 0; side < 2; side++)
	{
		near_triangles near = {o, side};

		rb_vec_clear(&o->room->faces[side].at);
		RB_TRY(rb_boxes_find_in_row(&o->w->side[side].tree, o->first[side], o->end[side], box,
									receive_face_of_depth, &near));
	}
	return rb_overlap_depth(o->w->ctx, o->room->faces, box, box + 3, depth);
}

/*
 * Measures the overlap of group g, whose interiors meet. Sets *reaches to false if its volume is
 * below the least one.
 */
static rb_status
measure_overlap(overlaps *w, overlap_room *room, size_t g, rb_overlap *overlap, bool *reaches)
{
	const rb_relations *r = &w->relations;
	const rb_pair first = r->notes.at[r->group[g]];
	const uint32_t part[2] = {rb_pair_red(first), first.blue};
	overlap_pair o = {.w = w, .room = room};

	for (int side = 0; side < 2; side++)
	{
		const overlap_side *s = &w->side[side];
		uint32_t n;

		o.row[side] = rb_row_of(s->set, part[side]);
		o.first[side] = s->start[o.row[side]];
		o.end[side] = s->start[o.row[side] + 1];
		n = o.end[side] - o.first[side];
		RB_TRY(RB_RENEW(w->ctx, room->odd[side], room->odd_cap[side], n));
		RB_TRY(RB_RENEW(w->ctx, room->corners[side], room->corners_cap[side], n));
		memset(room->odd[side], 0, n);
		memset(room->corners[side], 0, n);
	}
	rb_vec_clear(&room->terms.terms);
	choose_origin(&o);
	for (size_t i = r->group[g]; i < r->group[g + 1]; i++)
	{
		const rb_pair p = r->notes.at[i];

		if (rb_stop_due(w->ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		if (rb_note_is_contact(p))
			RB_TRY(add_pair_of_triangles(&o, rb_pair_red(p), p.blue));
	}
	for (int side = 0; side < 2; side++)
		RB_TRY(add_inner_corners(&o, side));
	RB_TRY(rb_overlap_sum(w->ctx, &room->terms, overlap));
	RB_TRY(rb_overlap_reaches(w->ctx, &room->terms, overlap->volume, w->job->min_volume, reaches));
	return *reaches && w->job->depth ? measure_depth(&o, &overlap->depth) : RB_OK;
}

/* ---- areas in common ---- */

/* Returns true if the boundaries of the rows of a group share an area. */
static bool
shares_area(const rb_relations *r, size_t g)
{
	for (size_t i = r->group[g]; i < r->group[g + 1]; i++)
		if (RB_PAYLOAD_DIMENSION(rb_pair_payload(r->notes.at[i])) == 2)
			return true;
	return false;
}

/* Computes the area that the boundaries of the rows of a group share. */
static rb_status
measure_contact(overlaps *w, overlap_room *room, size_t g, double *area)
{
	const rb_relations *r = &w->relations;

	rb_vec_clear(&room->flat);
	for (size_t i = r->group[g]; i < r->group[g + 1]; i++)
	{
		const rb_pair p = r->notes.at[i];
		rb_flat_pair pair;

		if (rb_stop_due(w->ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		if (RB_PAYLOAD_DIMENSION(rb_pair_payload(p)) != 2)
			continue;
		pair = (rb_flat_pair){triangle_of_side(&w->side[0], rb_pair_red(p)),
							  triangle_of_side(&w->side[1], p.blue)};
		if (w->job->contact == RB_FACES_BOTH ||
			rb_are_faces_flush(&room->env, &pair, rb_points_inward(w->side[0].fans, rb_pair_red(p)),
							   rb_points_inward(w->side[1].fans, p.blue)) ==
				(w->job->contact == RB_FACES_FLUSH))
			RB_TRY(rb_vec_append(w->ctx, &room->flat, pair));
	}
	return rb_contact_area(w->ctx, &room->env, room->flat.at, room->flat.n, area);
}

/* Measures a range of groups. */
static void
measure_overlaps_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	overlaps *w = arg;
	const rb_relations *r = &w->relations;
	rb_pair rows[GRAIN];
	uint64_t payload[GRAIN * RB_OVERLAP_WORDS];
	rb_status status = RB_OK;
	size_t n = 0;

	for (uint64_t g = from; g < to && status == RB_OK; g++)
	{
		const rb_pair p = r->notes.at[r->group[g]];
		overlap_room *room = &w->rooms[rb_thread_number(me)];
		rb_overlap o = {0, {NAN, NAN, NAN}, 0, w->job->depth ? 0 : NAN};
		bool reaches = true;

		if (rb_should_stop(w->ctx))
			status = RB_STOPPED;
		else if (r->found[g] & RB_IN_BOTH)
			status = measure_overlap(w, room, g, &o, &reaches);
		else
			reaches = w->job->min_volume == 0 && shares_area(r, g);
		if (!reaches)
			continue;
		if (status == RB_OK)
			status = measure_contact(w, room, g, &o.contact_area);
		rows[n] =
			(rb_pair){rb_row_of(w->side[0].set, rb_pair_red(p)), rb_row_of(w->side[1].set, p.blue)};
		memcpy(payload + RB_OVERLAP_WORDS * n++, &o, sizeof o);
	}
	if (status == RB_OK && n > 0)
		status = w->sink->put(w->sink->user, rows, payload, n);
	rb_keep_failure(&w->status, status);
}

/* ---- all pairs ---- */

/* Makes the boxes of a range of triangles. */
static void
make_triangle_boxes_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	overlap_side *s = arg;

	(void) me;
	for (uint64_t i = from; i < to; i++)
		rb_kind_box(RB_TRIANGLE3, s->set->coords, (uint32_t) i, s->tree.box + 6 * i,
					s->tree.box + 6 * i + 3);
}

/* Prepares a side. */
static rb_status
open_overlap_side(rb_context *ctx, rb_thread *team, const rb_fans *fans, overlap_side *s)
{
	const size_t rows = (size_t) fans->set->nrows + 1;

	s->set = fans->set;
	s->fans = fans;
	RB_TRY(RB_ALLOCATE(ctx, s->start, rows));
	RB_TRY(RB_ALLOCATE(ctx, s->box, 6 * rows));
	RB_TRY(rb_row_boxes(ctx, team, s->set, s->start, s->box));
	RB_TRY(rb_boxes_room(ctx, &s->tree, s->set->nparts));
	RB_TRY(rb_loop(team, s->set->nparts, TRIANGLE_GRAIN, make_triangle_boxes_piece, s));
	return rb_boxes_order_rows(ctx, &s->tree, s->start, s->set->nrows);
}

/* Measures the overlaps of all groups on the threads of a team. */
static rb_status
measure_all_overlaps(overlaps *w, rb_thread *team)
{
	const uint32_t threads = (uint32_t) rb_team_threads(team);
	rb_status status;

	for (int side = 0; side < rb_relations_sides(&w->relations); side++)
		RB_TRY(open_overlap_side(w->ctx, team, &w->relations.fans[side], &w->side[side]));
	if (rb_relations_sides(&w->relations) == 1)
		w->side[1] = w->side[0];
	RB_TRY(RB_ALLOCATE(w->ctx, w->rooms, threads));
	memset(w->rooms, 0, threads * sizeof *w->rooms);
	for (uint32_t i = 0; i < threads; i++)
		w->rooms[i].env = (rb_exact_env){.filters = RB_FILTER_ALL, .exact = true};
	status = rb_loop(team, w->relations.ngroups, GRAIN, measure_overlaps_piece, w);
	for (uint32_t i = 0; i < threads; i++)
	{
		overlap_room *room = &w->rooms[i];

		rb_vec_free(w->ctx->memory, &room->terms.terms);
		rb_vec_free(w->ctx->memory, &room->flat);
		rb_vec_free(w->ctx->memory, &room->near);
		rb_vec_free(w->ctx->memory, &room->queue);
		for (int side = 0; side < 2; side++)
			rb_vec_free(w->ctx->memory, &room->faces[side].at);
		for (int side = 0; side < 2; side++)
		{
			RB_FREE(w->ctx->memory, room->odd[side]);
			RB_FREE(w->ctx->memory, room->corners[side]);
		}
	}
	return rb_loop_failure(w->status, status);
}

/*
 * Finds, for each row whose interior meets that of another row, the side of its triangles on which
 * its interior lies.
 */
static rb_status
find_inner_of_overlaps(rb_relations *r)
{
	uint8_t *rows[2] = {NULL, NULL};
	RB_FREE_AT_END(r->ctx->memory, &rows[0], &rows[1]);

	for (int side = 0; side < 2; side++)
	{
		const size_t n = (size_t) r->fans[side].set->nrows + 1;

		RB_TRY(RB_ALLOCATE(r->ctx, rows[side], n));
		memset(rows[side], 0, n);
	}
	for (size_t g = 0; g < r->ngroups; g++)
	{
		const rb_pair p = r->notes.at[r->group[g]];

		if (rb_stop_due(r->ctx, g, CHECK_INTERVAL))
			return RB_STOPPED;
		if (!(r->found[g] & RB_IN_BOTH))
			continue;
		rows[0][rb_row_of(r->fans[0].set, rb_pair_red(p))] = 1;
		rows[1][rb_row_of(r->fans[1].set, p.blue)] = 1;
	}
	return rb_relations_find_inner(r, rows);
}

/* Finds the relations of all pairs of rows, and measures the overlaps. */
static rb_status
find_overlaps(overlaps *w)
{
	rb_thread *team;
	rb_status status;

	RB_TRY(rb_relations_find(&w->relations));
	RB_TRY(find_inner_of_overlaps(&w->relations));
	RB_TRY(rb_team_open(w->ctx, rb_threads_for(w->ctx, w->relations.ngroups, GRAIN), &team));
	status = measure_all_overlaps(w, team);
	rb_team_close(&team);
	return status;
}

rb_status
rb_compose_overlaps(rb_context *ctx, const rb_backend *backend, const rb_job *job,
					const rb_row_sink *sink)
{
	overlaps w = {.ctx = ctx, .sink = sink, .job = job};
	rb_status status;
	RB_FREE_AT_END(ctx->memory, &w.rooms, &w.side[0].start, &w.side[0].box, &w.side[0].tree.box,
				   &w.side[0].tree.order, &w.side[1].start, &w.side[1].box, &w.side[1].tree.box,
				   &w.side[1].tree.order);

	rb_relations_open(&w.relations, ctx, backend, job);
	status = find_overlaps(&w);
	if (rb_relations_sides(&w.relations) == 1)
		w.side[1] = (overlap_side){.set = NULL};
	rb_relations_close(&w.relations);
	return status;
}

/* Receives the measures of the only pair. */
static rb_status
put_overlap(void *user, const rb_pair *rows, const uint64_t *payload, size_t n)
{
	(void) rows;
	if (n > 0)
		memcpy(user, payload, sizeof(rb_overlap));
	return RB_OK;
}

rb_status
rb_overlap_measure(rb_context *ctx, const rb_set *red, const rb_set *blue, bool depth,
				   rb_overlap *overlap)
{
	const rb_job job = {.red = red, .blue = blue, .predicate = RB_OVERLAP, .depth = depth};
	const rb_row_sink sink = {.put = put_overlap, .user = overlap};

	*overlap = (rb_overlap){0, {NAN, NAN, NAN}, 0, depth ? 0 : NAN};
	return rb_compose_overlaps(ctx, &rb_backend_cpu, &job, &sink);
}
