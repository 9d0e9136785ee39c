/*
 * overlay.c
 *	  Cuts overlapping polygons in the same plane until none overlap.
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

static bool
disjoint_triangles(rb_curve *c, int side, uint32_t a, uint32_t b)
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
has_separating_side(rb_curve *c, int axis, uint32_t from, uint32_t n, uint32_t other, uint32_t m)
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

static rb_status
append_fragment(overlapping *o, uint32_t from, uint32_t n)
{
	rb_status status = rb_curve_array_reserve(o->c->ctx, &o->c->work[0], 1, sizeof(fragment));

	if (status == RB_OK)
		RB_ALL(o->c->work[0], fragment)[o->c->work[0].n++] = (fragment){o->item, from, n};
	return status;
}

/* Appends the parts of a fragment that are outside a polygon. */
static rb_status
cut_fragment(overlapping *o, fragment f, const rb_curve_piece *by)
{
	rb_curve *c = o->c;
	rb_status status = RB_OK;

	if (has_separating_side(c, by->axis, f.from, f.n, by->from, by->to) ||
		has_separating_side(c, by->axis, by->from, by->to, f.from, f.n))
		return append_fragment(o, f.from, f.n);
	for (uint32_t i = 0; i < by->to && f.n > 0 && status == RB_OK; i++)
	{
		rb_curve_side side = RB_ALL(c->sides, rb_curve_side)[by->from + i];
		uint32_t from = c->sides.n, n;

		side.turned = !side.turned;
		status = rb_convex_cut(c, by->axis, f.from, f.n, side, &n);
		if (status == RB_OK && n > 0)
			status = append_fragment(o, from, n);
		if (status != RB_OK)
			return status;
		side.turned = !side.turned;
		from = c->sides.n;
		status = rb_convex_cut(c, by->axis, f.from, f.n, side, &f.n);
		f.from = from;
	}
	return status;
}

static rb_status
cut_by_piece(void *user, uint32_t item)
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
		(o->cut && o->first == work->n)) /* Nothing is left of it */
		return RB_OK;
	if (++o->steps % 64 == 0 && rb_should_stop(c->ctx))
		return RB_STOPPED;
	if (disjoint_triangles(c, 0, a->part[0], b->part[0]) ||
		disjoint_triangles(c, 1, a->part[1], b->part[1]) ||
		has_separating_side(c, a->axis, a->from, a->to, b->from, b->to) ||
		has_separating_side(c, a->axis, b->from, b->to, a->from, a->to))
		return RB_OK;
	if (!o->cut)
	{
		o->cut = true;
		o->first = work->n;
		status = append_fragment(o, a->from, a->to);
	}
	end = work->n;
	for (uint32_t i = o->first; i < end && status == RB_OK; i++)
		status = cut_fragment(o, RB_ALL(*work, fragment)[i], b);
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
	rb_status status = RB_OK;

	for (uint32_t i = 0; i < n; i++)
		if (cut[i])
			RB_ALL(c->pieces, rb_curve_piece)[i].to = 0;
	for (uint32_t i = 0; i < c->work[0].n && status == RB_OK; i++)
	{
		const fragment f = RB_ALL(c->work[0], fragment)[i];

		status = rb_convex_corners(c, f.from, f.n);
		if (status == RB_OK)
			status = rb_curve_array_reserve(c->ctx, &c->pieces, 1, sizeof(rb_curve_piece));
		if (status != RB_OK)
			return status;
		RB_ALL(c->pieces, rb_curve_piece)[c->pieces.n] = RB_ALL(c->pieces, rb_curve_piece)[f.piece];
		RB_ALL(c->pieces, rb_curve_piece)[c->pieces.n].from = f.from;
		RB_ALL(c->pieces, rb_curve_piece)[c->pieces.n++].to = f.n;
		if (i % 64 == 63 && rb_should_stop(c->ctx))
			status = RB_STOPPED;
	}
	return status;
}

rb_status
rb_curve_overlap(rb_curve *c)
{
	overlapping o = {.c = c};
	const uint32_t n = c->pieces.n;
	bool *cut;
	rb_status status;

	c->work[0].n = c->work[1].n = 0;
	status = rb_curve_array_reserve(c->ctx, &c->work[1], (size_t) n + 1, sizeof *cut);
	cut = c->work[1].at;
	for (uint32_t i = 0; i < n && status == RB_OK; i++)
	{
		o.item = i;
		o.cut = false;
		if (RB_ALL(c->pieces, rb_curve_piece)[i].dimension == 2)
			status = rb_boxes_find(&c->boxes, c->boxes.box + 6 * (size_t) i, cut_by_piece, &o);
		cut[i] = o.cut;
		if (i % 64 == 63 && rb_should_stop(c->ctx))
			status = RB_STOPPED;
	}
	return status == RB_OK ? replace_cut_pieces(c, cut, n) : status;
}
