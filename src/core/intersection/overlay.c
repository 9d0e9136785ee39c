/*
 * overlay.c
 *	  Cuts overlapping polygons in the same plane until none overlap, and finds what lies on larger
 *	  pieces.
 *
 * Polygons overlap only where triangles of one input overlap: in inputs that are not surfaces, or
 * where two solids of one geometry have a common face. One of two overlapping polygons is kept, and
 * the other one is reduced to its part outside the first: the part beyond the first side, then the
 * part within that side and beyond the second one, and so on. Polygons on red triangles of one
 * orientation are kept and the others are cut, so that the orientation of the result does not
 * depend on the order.
 */
#include "core/intersection/assembly.h"
#include "core/primitive/contact.h"
#include "core/primitive/triangle.h"

#include <math.h>

/* ---- implicit points ---- */

/*
 * Tests whether a vertex of the intersection of two parts lies on another part, exactly and before
 * rounding.
 *
 * A vertex of the intersection of two convex parts is a vertex of one of them, or the point where
 * an edge pq of one crosses an edge or the plane of the other. In the second case, with the
 * determinants P and Q of p and q against that edge or plane, it is
 *
 *		x / w,		x = q P - p Q,		w = P - Q,
 *
 * and its determinant against the plane of a triangle has degree 6.
 */

typedef struct rb_implicit_point
{
	bool corner; /* True if the point is a vertex of a part, so that `at` is exact */
	double at[3];
	rb_number x[3]; /* Exact point x / w if it is not a vertex, with w > 0 */
	rb_number w;
} rb_implicit_point;

_Static_assert(RB_NUMBER_DEGREE(6, 24) <= RB_NUMBER_WORDS, "room for a plane against a point");

/* Returns true if an implicit point is exactly a vertex of the part. */
static bool
is_implicit_point_corner(const double *at, const rb_part *part)
{
	return rb_equal3(at, part->at) || rb_equal3(at, part->at + 3) || rb_equal3(at, part->at + 6);
}

/*
 * Evaluates the ends p and q of the edge that carries an implicit point against the plane of t or,
 * if `plane` is false, against the line of one of its edges.
 */
static void
evaluate_ends_of_implicit_edge(const rb_part *t, bool plane, int edge, const double *p,
							   const double *q, rb_number *dp, rb_number *dq)
{
	const double *s = t->at + 3 * edge, *e = t->at + 3 * ((edge + 1) % 3);

	if (plane)
	{
		rb_number_orient3d(dp, t->at, t->at + 3, t->at + 6, p);
		rb_number_orient3d(dq, t->at, t->at + 3, t->at + 6, q);
		return;
	}
	for (int k = 0; k < 3; k++)
	{
		const int u = (k + 1) % 3, v = (k + 2) % 3;
		const double a[2] = {p[u], p[v]}, b[2] = {q[u], q[v]};
		const double d[2] = {s[u], s[v]}, f[2] = {e[u], e[v]};

		rb_number_orient2d(dp, d, f, a);
		rb_number_orient2d(dq, d, f, b);
		if (rb_number_compare(dp, dq) != 0)
			return;
	}
}

/*
 * Creates the implicit point of the vertex of an intersection that rounds to the given doubles, to
 * find the larger pieces on which it lies.
 */
static void
rb_implicit_point_build(rb_curve *c, const rb_part *red, const rb_part *blue, const double *at,
						rb_implicit_point *spot)
{
	rb_meet meets[RB_MEET_POINTS], *meet = meets;
	const double *p, *q;
	rb_number dp, dq, a, b;
	bool of_red;
	int edge, n;

	n = rb_meet_points(&c->env, red->at, blue->at, meets);
	while (meet < meets + n - 1 && !rb_equal3(meet->at, at))
		meet++;
	memcpy(spot->at, meet->at, sizeof spot->at);
	spot->corner =
		is_implicit_point_corner(spot->at, red) || is_implicit_point_corner(spot->at, blue);
	if (spot->corner)
		return;
	of_red = meet->on_red != 0;
	edge = __builtin_ctz(of_red ? meet->on_red : meet->on_blue | 8u) % 3;
	p = (of_red ? red : blue)->at + 3 * edge;
	q = (of_red ? red : blue)->at + 3 * ((edge + 1) % 3);
	if (of_red && meet->on_blue != 0)
		evaluate_ends_of_implicit_edge(blue, false, __builtin_ctz(meet->on_blue), p, q, &dp, &dq);
	else
		evaluate_ends_of_implicit_edge(of_red ? blue : red, true, 0, p, q, &dp, &dq);
	rb_number_sub(&spot->w, &dp, &dq);
	spot->corner = spot->w.sign == 0; /* Rounding merged several points */
	for (int k = 0; k < 3; k++)
	{
		rb_number x;

		rb_number_of(&x, q[k]);
		rb_number_mul(&a, &x, &dp);
		rb_number_of(&x, p[k]);
		rb_number_mul(&b, &x, &dq);
		rb_number_sub(&spot->x[k], &a, &b);
		spot->x[k].sign *= spot->w.sign;
	}
	spot->w.sign *= spot->w.sign;
}

/* Computes y = x - a w, the offset of an implicit point x / w from a vertex, multiplied by w. */
static void
offset_of_implicit_point(const rb_implicit_point *spot, const double *a, rb_number *y)
{
	rb_number x, term;

	for (int k = 0; k < 3; k++)
	{
		rb_number_of(&x, a[k]);
		rb_number_mul(&term, &x, &spot->w);
		rb_number_sub(&y[k], &spot->x[k], &term);
	}
}

/*
 * Returns the side of line ab on which an implicit point lies, in the projection along an axis.
 * Its offset y is relative to a.
 */
static int
turn_of_implicit_point(const double *a, const double *b, const rb_number *y, int axis)
{
	const int u = (axis + 1) % 3, v = (axis + 2) % 3;
	rb_number du, dv, det;

	rb_number_difference(&du, b[u], a[u]);
	rb_number_difference(&dv, b[v], a[v]);
	rb_number_det2(&det, &du, &dv, &y[u], &y[v]);
	return det.sign;
}

/*
 * Returns true if an implicit point, the exact vertex of a piece before rounding, lies on the
 * segment ab.
 */
static bool
is_implicit_point_on_segment(const double *a, const double *b, const rb_implicit_point *spot)
{
	rb_number y[3], z[3];

	offset_of_implicit_point(spot, a, y);
	offset_of_implicit_point(spot, b, z);
	for (int k = 0; k < 3; k++)
		if (turn_of_implicit_point(a, b, y, k) != 0 || y[k].sign * z[k].sign > 0)
			return false;
	return true;
}

/*
 * Returns true if an implicit point, the exact vertex of a piece before rounding, lies on the
 * triangle t.
 */
static bool
is_implicit_point_on_triangle(rb_curve *c, const double *t, const rb_implicit_point *spot)
{
	const int axis = rb_projection_axis(&c->env, t, t + 3, t + 6);
	const int u = (axis + 1) % 3, v = (axis + 2) % 3;
	const int way = rb_orient2d_at(&c->env, t[u], t[v], t[3 + u], t[3 + v], t[6 + u], t[6 + v]);
	rb_number y[3], n[3], dot;

	offset_of_implicit_point(spot, t, y);
	for (int k = 0; k < 3; k++)
	{
		const int i = (k + 1) % 3, j = (k + 2) % 3;
		const double a[2] = {t[i], t[j]}, b[2] = {t[3 + i], t[3 + j]}, d[2] = {t[6 + i], t[6 + j]};

		rb_number_orient2d(&n[k], a, b, d);
	}
	rb_number_dot3(&dot, n, y);
	if (dot.sign != 0)
		return false;
	for (int e = 0; e < 3; e++)
	{
		offset_of_implicit_point(spot, t + 3 * e, y);
		if (turn_of_implicit_point(t + 3 * e, t + 3 * ((e + 1) % 3), y, axis) * way < 0)
			return false;
	}
	return true;
}

/*
 * Returns true if an implicit point lies on a part of another piece, exactly and before rounding.
 */
static bool
rb_implicit_point_on(rb_curve *c, const rb_implicit_point *spot, const rb_part *part)
{
	if (spot->corner)
		return rb_meet_on(spot->at, part->at);
	if (part->corners == 3)
		return is_implicit_point_on_triangle(c, part->at, spot);
	/* If the part is a point, the intersection is a vertex, which was handled above. */
	return part->corners == 2 && is_implicit_point_on_segment(part->at, part->at + 3, spot);
}

/* ---- overlapping polygons ---- */

/* A fragment of a polygon, as a range of sides */
typedef struct fragment
{
	uint32_t piece;
	uint32_t from;
	uint32_t n;
} fragment;

typedef struct overlapping
{
	rb_curve *c;
	uint32_t item;  /* Polygon being cut */
	bool cut;       /* True if the polygon has been cut */
	uint32_t first; /* First fragment of the polygon in work[0], if it has been cut */
	uint32_t steps;
} overlapping;

/* Returns true if two triangles of one side share no area. */
static bool
are_triangles_disjoint(rb_curve *c, int side, uint32_t a, uint32_t b)
{
	int signs_a[3] = {RB_UNSURE, RB_UNSURE, RB_UNSURE},
		signs_b[3] = {RB_UNSURE, RB_UNSURE, RB_UNSURE};
	int contact;

	if (a == b)
		return false;
	contact = rb_triangle_contact(&c->env, rb_triangle_at(c, side, a), rb_triangle_at(c, side, b),
								  signs_a, signs_b);
	return contact == 0 || RB_PAYLOAD_DIMENSION(RB_PAYLOAD(contact)) < 2;
}

/*
 * Returns true if all vertices of the second polygon are on or to the right of one side of the
 * first.
 */
static bool
has_separating_polygon_side(rb_curve *c, int axis, uint32_t from, uint32_t n, uint32_t other,
							uint32_t m)
{
	const rb_curve_side *a = RB_ALL(c->sides, rb_curve_side) + from,
						*b = RB_ALL(c->sides, rb_curve_side) + other;

	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t k = 0;

		while (k < m && rb_corner_side(c, axis, b[k], b[(k + 1) % m], a[i]) <= 0)
			k++;
		if (k == m)
			return true;
	}
	return false;
}

/* Appends a fragment of the current polygon, n sides from `from` on, to work[0]. */
static rb_status
append_polygon_fragment(overlapping *o, uint32_t from, uint32_t n)
{
	RB_TRY(rb_curve_array_reserve(o->c->ctx, &o->c->work[0], 1, sizeof(fragment)));
	RB_ALL(o->c->work[0], fragment)[o->c->work[0].n++] = (fragment){o->item, from, n};
	return RB_OK;
}

/* Appends the parts of a fragment that are outside a polygon. */
static rb_status
cut_polygon_fragment(overlapping *o, fragment f, const rb_curve_piece *by)
{
	rb_curve *c = o->c;
	rb_status status = RB_OK;

	if (has_separating_polygon_side(c, by->axis, f.from, f.n, by->from, by->to) ||
		has_separating_polygon_side(c, by->axis, by->from, by->to, f.from, f.n))
		return append_polygon_fragment(o, f.from, f.n);
	for (uint32_t i = 0; i < by->to && f.n > 0 && status == RB_OK; i++)
	{
		rb_curve_side side = RB_ALL(c->sides, rb_curve_side)[by->from + i];
		uint32_t from = c->sides.n, n;

		side.turned = !side.turned;
		status = rb_convex_cut(c, by->axis, f.from, f.n, side, &n);
		if (status == RB_OK && n > 0)
			status = append_polygon_fragment(o, from, n);
		if (status != RB_OK)
			return status;
		side.turned = !side.turned;
		from = c->sides.n;
		status = rb_convex_cut(c, by->axis, f.from, f.n, side, &f.n);
		f.from = from;
	}
	return status;
}

/* Cuts the current polygon by one of the same plane that overlaps it and is kept. */
static rb_status
cut_polygon_by_piece(void *user, uint32_t item)
{
	overlapping *o = user;
	rb_curve *c = o->c;
	const rb_curve_piece *a = RB_ALL(c->pieces, rb_curve_piece) + o->item,
						 *b = RB_ALL(c->pieces, rb_curve_piece) + item;
	rb_curve_array *work = &c->work[0];
	uint32_t end;
	rb_status status = RB_OK;

	if (b->dimension != 2 || b->what != a->what || item == o->item ||
		(a->turn != b->turn ? a->turn > b->turn : item > o->item) ||
		(o->cut && o->first == work->n)) /* Nothing is left of the polygon */
		return RB_OK;
	if (++o->steps % 64 == 0 && rb_should_stop(c->ctx))
		return RB_STOPPED;
	if (are_triangles_disjoint(c, 0, a->part[0], b->part[0]) ||
		are_triangles_disjoint(c, 1, a->part[1], b->part[1]) ||
		has_separating_polygon_side(c, a->axis, a->from, a->to, b->from, b->to) ||
		has_separating_polygon_side(c, a->axis, b->from, b->to, a->from, a->to))
		return RB_OK;
	if (!o->cut)
	{
		o->cut = true;
		o->first = work->n;
		status = append_polygon_fragment(o, a->from, a->to);
	}
	end = work->n;
	for (uint32_t i = o->first; i < end && status == RB_OK; i++)
		status = cut_polygon_fragment(o, RB_ALL(*work, fragment)[i], b);
	if (status != RB_OK)
		return status;
	memmove(RB_ALL(*work, fragment) + o->first, RB_ALL(*work, fragment) + end,
			(size_t) (work->n - end) * sizeof(fragment));
	work->n -= end - o->first;
	return RB_OK;
}

/* Replaces polygons that were cut by their fragments. */
static rb_status
replace_cut_pieces(rb_curve *c, const bool *cut, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (cut[i])
			RB_ALL(c->pieces, rb_curve_piece)[i].to = 0;
	for (uint32_t i = 0; i < c->work[0].n; i++)
	{
		const fragment f = RB_ALL(c->work[0], fragment)[i];

		RB_TRY(rb_convex_corners(c, f.from, f.n));
		RB_TRY(rb_curve_array_reserve(c->ctx, &c->pieces, 1, sizeof(rb_curve_piece)));
		RB_ALL(c->pieces, rb_curve_piece)[c->pieces.n] = RB_ALL(c->pieces, rb_curve_piece)[f.piece];
		RB_ALL(c->pieces, rb_curve_piece)[c->pieces.n].from = f.from;
		RB_ALL(c->pieces, rb_curve_piece)[c->pieces.n++].to = f.n;
		if (rb_stop_due(c->ctx, i, 64))
			return RB_STOPPED;
	}
	return RB_OK;
}

rb_status
rb_curve_overlap(rb_curve *c)
{
	overlapping o = {.c = c};
	const uint32_t n = c->pieces.n;
	bool *cut;

	c->work[0].n = c->work[1].n = 0;
	RB_TRY(rb_curve_array_reserve(c->ctx, &c->work[1], (size_t) n + 1, sizeof *cut));
	cut = c->work[1].at;
	for (uint32_t i = 0; i < n; i++)
	{
		o.item = i;
		o.cut = false;
		if (RB_ALL(c->pieces, rb_curve_piece)[i].dimension == 2)
			RB_TRY(
				rb_boxes_find(&c->boxes, c->boxes.box + 6 * (size_t) i, cut_polygon_by_piece, &o));
		cut[i] = o.cut;
		if (rb_stop_due(c->ctx, i, 64))
			return RB_STOPPED;
	}
	return replace_cut_pieces(c, cut, n);
}

/* ---- pieces on larger pieces ---- */

/*
 * Finds what lies on larger pieces: intervals of lines that are covered by polygons, and points on
 * lines or polygons.
 *
 * If a point of the piece of red r and blue b lies on the piece of r' and b', it also lies on the
 * piece of r and b'. So a segment is compared only with polygons that share one of its parts, which
 * means that the segment is in their plane. Where the segment's line crosses such a polygon, it is
 * covered from side to side. Where it lies on a side, the interval of that side covers it, since
 * both have the same line.
 */

/* ---- bounding boxes ---- */

/* Extends a box to contain a point. */
static void
extend_piece_box(const rb_curve *c, double *box, uint32_t point)
{
	const double *p = rb_point_at(c, point);

	for (int k = 0; k < 3; k++)
	{
		box[k] = fmin(box[k], p[k]);
		box[3 + k] = fmax(box[3 + k], p[k]);
	}
}

/* Computes the box of a piece: a point, a segment or a polygon. */
static void
box_of_intersection_piece(const rb_curve *c, const rb_curve_piece *piece, double *box)
{
	for (int k = 0; k < 3; k++)
	{
		box[k] = INFINITY;
		box[3 + k] = -INFINITY;
	}
	if (piece->dimension == 0)
		extend_piece_box(c, box, piece->what);
	else if (piece->dimension == 1)
	{
		extend_piece_box(c, box, piece->from);
		extend_piece_box(c, box, piece->to);
	}
	else
		for (uint32_t i = 0; i < piece->to; i++)
			extend_piece_box(c, box, RB_ALL(c->vertex, uint32_t)[piece->from + i]);
}

rb_status
rb_curve_boxes(rb_curve *c)
{
	const rb_curve_piece *piece = RB_ALL(c->pieces, rb_curve_piece);

	RB_TRY(rb_boxes_room(c->ctx, &c->boxes, c->pieces.n));
	for (uint32_t i = 0; i < c->pieces.n; i++)
	{
		box_of_intersection_piece(c, &piece[i], c->boxes.box + 6 * (size_t) i);
		if (rb_stop_due(c->ctx, i, RB_CURVE_CHECK_INTERVAL))
			return RB_STOPPED;
	}
	return rb_boxes_order(c->ctx, &c->boxes);
}

/* ---- intervals ---- */

/*
 * Appends an interval of a line, given in any direction, that a segment or polygon covers, unless
 * it has no length after rounding.
 */
static rb_status
append_line_interval(rb_curve *c, uint32_t line, uint32_t from, uint32_t to, bool covers)
{
	const int order = rb_line_order(c, line, from, to);
	rb_status status = RB_OK;

	if (order != 0)
		status = rb_curve_array_reserve(c->ctx, &c->stretches, 1, sizeof(rb_curve_interval));
	if (order != 0 && status == RB_OK)
		RB_ALL(c->stretches, rb_curve_interval)
	[c->stretches.n++] =
		(rb_curve_interval){line, order < 0 ? from : to, order < 0 ? to : from, covers};
	return status;
}

/*
 * Appends the sides of a polygon as covered intervals of their lines, so that segments on them are
 * found.
 */
static rb_status
append_sides_as_intervals(rb_curve *c, const rb_curve_piece *polygon)
{
	for (uint32_t i = 0; i < polygon->to; i++)
	{
		const uint32_t *vertex = RB_ALL(c->vertex, uint32_t) + polygon->from;
		const double *p, *q;
		uint32_t line;

		rb_side_ends(c, RB_ALL(c->sides, rb_curve_side)[polygon->from + i], &p, &q);
		RB_TRY(rb_canonical_line(c, p, q, &line));
		RB_TRY(append_line_interval(c, line, vertex[i > 0 ? i - 1 : polygon->to - 1], vertex[i],
									true));
	}
	return RB_OK;
}

/* ---- a segment and a polygon that shares a part with it ---- */

typedef struct looking
{
	rb_curve *c;
	const rb_curve_piece *piece;
	rb_part part[2];   /* Parts of the segment, or of the piece that may cover the point */
	uint32_t lines[6]; /* Other lines of a segment to which rounding has collapsed a polygon */
	uint32_t nlines;
	rb_implicit_point *spot;
	uint32_t end; /* Tested end of the segment; `spot` is computed on first use */
	bool made;
	bool covered;
	uint32_t steps;
} looking;

/*
 * Returns on which side of the segment's line vertex i of a polygon lies. The polygon may cover the
 * segment, so the line is in its plane.
 */
static int
side_of_covering_corner(looking *l, const rb_curve_piece *polygon, uint32_t i)
{
	rb_curve *c = l->c;
	const rb_curve_piece *s = l->piece;
	const rb_curve_side *side = RB_ALL(c->sides, rb_curve_side) + polygon->from;
	const rb_curve_side a = side[i], b = side[(i + 1) % polygon->to];
	const double *t;

	if (s->along == RB_ALONG_PLANES)
		return rb_corner_plane(c, polygon->axis, a, b,
							   l->part[s->part[0] == polygon->part[0] ? 1 : 0].at);
	t = l->part[s->along == RB_ALONG_RED ? 0 : 1].at;
	return rb_corner_turn(c, polygon->axis, a, b, t + 3 * s->edge, t + 3 * ((s->edge + 1) % 3));
}

/* Computes the intersection of the segment's line with a side of the polygon. */
static rb_status
cross_side_of_polygon(looking *l, const rb_curve_piece *polygon, uint32_t i, uint32_t *point)
{
	const rb_curve_piece *s = l->piece;
	const double *p, *q, *t;
	double at[3];
	bool there;

	rb_side_ends(l->c, RB_ALL(l->c->sides, rb_curve_side)[polygon->from + i], &p, &q);
	if (s->along == RB_ALONG_PLANES)
		there = rb_meet_line_plane(p, q, l->part[s->part[0] == polygon->part[0] ? 1 : 0].at, at);
	else
	{
		t = l->part[s->along == RB_ALONG_RED ? 0 : 1].at;
		there = rb_meet_lines(p, q, t + 3 * s->edge, t + 3 * ((s->edge + 1) % 3), at);
	}
	*point = RB_NOTHING;
	return there ? rb_canonical_point(l->c, at, point) : RB_OK;
}

/*
 * Finds the other lines of a segment to which rounding has collapsed a polygon. Such a segment lies
 * on several edges that coincide after rounding. It is covered along its own line wherever a
 * polygon side on one of the other lines covers it.
 */
static rb_status
find_other_lines_of_segment(looking *l)
{
	const rb_curve_piece *s = l->piece;

	l->nlines = 0;
	for (int i = 0; i < 6; i++)
	{
		const double *t = l->part[i / 3].at;
		uint32_t line;

		if ((s->on[i / 3] >> i % 3 & 1) == 0)
			continue;
		RB_TRY(rb_canonical_line(l->c, t + 3 * (i % 3), t + 3 * ((i + 1) % 3), &line));
		if (line != s->what)
			l->lines[l->nlines++] = line;
	}
	return RB_OK;
}

/* Returns true if the line is one of the other lines of the current segment. */
static bool
is_other_line_of_segment(const looking *l, uint32_t line)
{
	uint32_t i = 0;

	while (i < l->nlines && l->lines[i] != line)
		i++;
	return i < l->nlines;
}

/* Appends the intervals of a segment that polygon sides on its other lines cover. */
static rb_status
cover_segment_by_sides(looking *l, const rb_curve_piece *polygon)
{
	rb_curve *c = l->c;
	const rb_curve_piece *s = l->piece;
	rb_status status = RB_OK;

	for (uint32_t i = 0; i < polygon->to && status == RB_OK; i++)
	{
		const uint32_t *vertex = RB_ALL(c->vertex, uint32_t) + polygon->from;
		uint32_t from = vertex[i > 0 ? i - 1 : polygon->to - 1], to = vertex[i], line;
		const double *p, *q;

		rb_side_ends(c, RB_ALL(c->sides, rb_curve_side)[polygon->from + i], &p, &q);
		status = rb_canonical_line(c, p, q, &line);
		if (status != RB_OK || !is_other_line_of_segment(l, line))
			continue;
		if (rb_line_order(c, s->what, from, to) > 0)
		{
			from = to;
			to = vertex[i > 0 ? i - 1 : polygon->to - 1];
		}
		from = rb_line_order(c, s->what, from, s->from) < 0 ? s->from : from;
		to = rb_line_order(c, s->what, s->to, to) < 0 ? s->to : to;
		if (rb_line_order(c, s->what, from, to) < 0)
			status = append_line_interval(c, s->what, from, to, true);
	}
	return status;
}

/* Appends the interval of the current segment that a polygon covers. */
static rb_status
cover_segment_by_polygon(void *user, uint32_t item)
{
	looking *l = user;
	rb_curve *c = l->c;
	const rb_curve_piece *s = l->piece, *polygon = RB_ALL(c->pieces, rb_curve_piece) + item;
	uint32_t end[2] = {RB_NOTHING, RB_NOTHING};
	int n = 0, before;
	rb_status status = RB_OK;

	if (polygon->dimension == 2 && l->nlines > 0)
		status = cover_segment_by_sides(l, polygon);
	if (status != RB_OK)
		return status;
	if (polygon->dimension != 2 || s->along == RB_ALONG_ROUNDED ||
		(s->part[0] != polygon->part[0] && s->part[1] != polygon->part[1]))
		return RB_OK;
	if (++l->steps % 64 == 0 && rb_should_stop(c->ctx))
		return RB_STOPPED;
	before = side_of_covering_corner(l, polygon, polygon->to - 1);
	for (uint32_t i = 0; i < polygon->to && status == RB_OK; i++)
	{
		const int side = side_of_covering_corner(l, polygon, i);
		uint32_t point = RB_NOTHING;

		if (side == 0)
			point = RB_ALL(c->vertex, uint32_t)[polygon->from + i];
		else if (before * side < 0)
			status = cross_side_of_polygon(l, polygon, i, &point);
		if (point != RB_NOTHING && n < 2)
			end[n++] = point;
		before = side;
	}
	/*
	 * If both points are vertices of one side, the interval is already covered; a duplicate is
	 * harmless.
	 */
	return status == RB_OK && n == 2 ? append_line_interval(c, s->what, end[0], end[1], true)
									 : status;
}

/* ---- a point and the pieces that may cover it ---- */

/* Sets covered if the current point lies on a larger piece. */
static rb_status
test_point_on_larger_piece(void *user, uint32_t item)
{
	looking *l = user;
	rb_curve *c = l->c;
	const rb_curve_piece *piece = RB_ALL(c->pieces, rb_curve_piece) + item;

	if (piece->dimension == 0 || l->covered)
		return RB_OK;
	if (++l->steps % 64 == 0 && rb_should_stop(c->ctx))
		return RB_STOPPED;
	for (int side = 0; side < 2; side++)
		rb_part_load(&c->side[side], piece->part[side], &l->part[side]);
	l->covered = rb_implicit_point_on(c, l->spot, &l->part[0]) &&
				 rb_implicit_point_on(c, l->spot, &l->part[1]);
	return RB_OK;
}

/* Marks the points that are ends of segments or vertices of polygons. */
static rb_status
mark_points_of_pieces(rb_curve *c)
{
	const rb_curve_piece *piece = RB_ALL(c->pieces, rb_curve_piece);
	uint32_t *mark;

	RB_TRY(rb_unmark_points(c));
	mark = RB_ALL(c->mark, uint32_t);
	for (uint32_t i = 0; i < c->pieces.n; i++)
	{
		if (piece[i].dimension == 1)
			mark[piece[i].from] = mark[piece[i].to] = 1;
		for (uint32_t k = 0; piece[i].dimension == 2 && k < piece[i].to; k++)
			mark[RB_ALL(c->vertex, uint32_t)[piece[i].from + k]] = 1;
		if (rb_stop_due(c->ctx, i, RB_CURVE_CHECK_INTERVAL))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* Appends the point of a piece to the lone ones unless it lies on a larger piece. */
static rb_status
classify_point_piece(looking *l)
{
	rb_curve *c = l->c;
	const rb_curve_piece *piece = l->piece;
	const double *at = rb_point_at(c, piece->what);
	const double box[6] = {at[0], at[1], at[2], at[0], at[1], at[2]};
	rb_part part[2];
	rb_implicit_point spot;
	rb_status status = RB_OK;

	l->covered = false;
	if (c->count[1] + c->count[2] > 0)
	{
		for (int side = 0; side < 2; side++)
			rb_part_load(&c->side[side], piece->part[side], &part[side]);
		rb_implicit_point_build(c, &part[0], &part[1], at, &spot);
		l->spot = &spot;
		status = rb_boxes_find(&c->boxes, box, test_point_on_larger_piece, l);
	}
	if (status == RB_OK && !l->covered)
		status = rb_curve_array_reserve(c->ctx, &c->lone, 1, sizeof(uint32_t));
	if (status == RB_OK && !l->covered)
		RB_ALL(c->lone, uint32_t)[c->lone.n++] = piece->what;
	return status;
}

/* ---- an end of a segment on another segment ---- */

/*
 * Appends a vertex to the line of another segment if the current end of a segment lies on it;
 * visits one piece of the box tree.
 */
static rb_status
test_end_on_other_segment(void *user, uint32_t item)
{
	looking *l = user;
	rb_curve *c = l->c;
	const rb_curve_piece *s = RB_ALL(c->pieces, rb_curve_piece) + item;

	if (s->dimension != 1 || s->from == l->end || s->to == l->end)
		return RB_OK;
	if (++l->steps % 64 == 0 && rb_should_stop(c->ctx))
		return RB_STOPPED;
	if (!l->made)
	{
		for (int side = 0; side < 2; side++)
			rb_part_load(&c->side[side], l->piece->part[side], &l->part[side]);
		rb_implicit_point_build(c, &l->part[0], &l->part[1], rb_point_at(c, l->end), l->spot);
		l->made = true;
	}
	for (int side = 0; side < 2; side++)
	{
		rb_part_load(&c->side[side], s->part[side], &l->part[side]);
		if (!rb_implicit_point_on(c, l->spot, &l->part[side]))
			return RB_OK;
	}
	/* Append an interval of zero length, so that the line gets a vertex there. */
	RB_TRY(rb_curve_array_reserve(c->ctx, &c->stretches, 1, sizeof(rb_curve_interval)));
	RB_ALL(c->stretches, rb_curve_interval)
	[c->stretches.n++] = (rb_curve_interval){s->what, l->end, l->end, 0};
	return RB_OK;
}

/*
 * Appends vertices to the lines of other segments on which the ends of a segment lie; finds them
 * by the box tree of the pieces.
 */
static rb_status
test_ends_on_other_segments(looking *l)
{
	rb_curve *c = l->c;
	const rb_curve_piece *piece = l->piece;
	rb_implicit_point spot;
	rb_status status = RB_OK;

	l->spot = &spot;
	for (int i = 0; i < 2 && status == RB_OK && c->count[1] > 1; i++)
	{
		double box[6];

		l->end = i == 0 ? piece->from : piece->to;
		if (RB_ALL(c->mark, uint32_t)[l->end] == 2)
			continue;
		RB_ALL(c->mark, uint32_t)[l->end] = 2;
		memcpy(box, rb_point_at(c, l->end), 3 * sizeof *box);
		memcpy(box + 3, box, 3 * sizeof *box);
		l->made = false;
		status = rb_boxes_find(&c->boxes, box, test_end_on_other_segment, l);
	}
	l->spot = NULL;
	return status;
}

rb_status
rb_curve_covers(rb_curve *c)
{
	looking l = {.c = c};

	RB_TRY(mark_points_of_pieces(c));
	for (uint32_t i = 0; i < c->pieces.n; i++)
	{
		l.piece = RB_ALL(c->pieces, rb_curve_piece) + i;
		if (l.piece->dimension == 1)
		{
			RB_TRY(append_line_interval(c, l.piece->what, l.piece->from, l.piece->to, false));
			for (int side = 0; side < 2 && c->count[2] > 0; side++)
				rb_part_load(&c->side[side], l.piece->part[side], &l.part[side]);
			if (c->count[2] > 0)
				RB_TRY(find_other_lines_of_segment(&l));
			if (c->count[2] > 0)
				RB_TRY(rb_boxes_find(&c->boxes, c->boxes.box + 6 * (size_t) i,
									 cover_segment_by_polygon, &l));
			RB_TRY(test_ends_on_other_segments(&l));
		}
		else if (l.piece->dimension == 2 && c->count[1] > 0)
			RB_TRY(append_sides_as_intervals(c, l.piece));
		else if (l.piece->dimension == 0 && RB_ALL(c->mark, uint32_t)[l.piece->what] == 0)
		{
			RB_ALL(c->mark, uint32_t)[l.piece->what] = 1;
			RB_TRY(classify_point_piece(&l));
		}
		if (rb_stop_due(c->ctx, i, 64))
			return RB_STOPPED;
	}
	return RB_OK;
}
