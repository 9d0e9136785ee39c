/*
 * relate.c
 *	  Determines the relation of two solids: disjoint, touching, one inside the other, crossing, or
 *	  equal.
 *
 * The triangles of a solid do not cross each other, and each of its edges is used by an even number
 * of triangles (validity.c, validity_rows.c). Triangles without area are omitted: since no two
 * edges overlap, the other triangles form a closed surface without them. The solid is the set of
 * points from which a ray crosses an odd number of triangles, together with its boundary. The
 * orientation of the triangles does not matter.
 *
 * A point on neither boundary is in red only, in blue only, in both, or in neither. The relation
 * follows from which of the first three kinds of points exist:
 *
 *		none in both				touch, if they share a point
 *		none in blue only			red contains blue
 *		none in red only			red is inside blue
 *		only in both				equal
 *		all three kinds				cross
 *
 * Every region of such points is adjacent to a part of a boundary. So the algorithm processes red's
 * boundary, and likewise blue's, sheet by sheet (sheets.c):
 *
 * 1. The sheet shares nothing or only isolated points with blue's boundary. Isolated points do not
 * divide a sheet, so it lies entirely inside or entirely outside blue. If it is inside, there are
 * points in both solids and points in blue only. If it is outside, there are points in red only.
 * One ray decides (sheets.c). All rays of all sheets are processed in one join.
 *
 * 2. The sheet shares a curve or an area with blue's boundary. The curves and areas divide the
 * sheet into regions, and each region has a section of a cut on its border, on some pair of
 * triangles.
 *
 * - If the curve is in the interior of both triangles, they pass through each other, and all three
 *   kinds of points exist.
 * - Otherwise the curve is on an edge of one of the triangles, and so is the border of a shared
 *   area. The triangles that have this edge determine the kinds of points around it.
 *
 * This requires knowing on which side of a triangle its own solid lies. Across edges with two
 * triangles, the side of one triangle determines that of the other, so one more ray per sheet is
 * enough. It starts off the triangle.
 *
 * So the result follows from the pairs of triangles found by the join for RB_CONTACT, and from a
 * number of rays. Each pair is processed once, or not at all once all three kinds are known to
 * exist. Two rows that share a point have a pair of triangles that share a point, or one row is
 * entirely inside the other, which the rays detect.
 */
#include "core/base/sort.h"
#include "core/base/parallel.h"
#include "core/solid/solid.h"
#include "core/join/join.h"
#include "core/primitive/contact.h"

/* ---- points around an edge ---- */

/*
 * Classifies the points around an edge of one solid that overlaps the boundary of another solid.
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

/* Returns the coordinates of a triangle of the solids of one side. */
static const double *
triangle_of_related_solid(const rb_fans *fans, uint32_t i)
{
	return fans->set->coords + 9 * (size_t) i;
}

/*
 * Advances to the next half-plane of the fan, or to the first if *at is NONE. Returns true if more
 * follow.
 */
static bool
next_half_plane_of_fan(const look *l, const fan *f, uint32_t *at, half *h)
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
	t = triangle_of_related_solid(f->of, *at / 3);
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
turn_between_half_planes(const look *l, const double *from, const double *to)
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
is_inside_behind_half_plane(const look *l, const half *from, const fan *f, bool *on)
{
	uint32_t at = NONE;
	half h, last = {NULL, false};
	int far = 0;
	bool more = true;

	*on = false;
	while (more)
	{
		int turn;

		more = next_half_plane_of_fan(l, f, &at, &h);
		turn = turn_between_half_planes(l, from->to, h.to);
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

/* Returns the regions that occur around a line where the fans of both solids meet. */
static unsigned
classify_around_line(const look *l)
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

			more = next_half_plane_of_fan(l, mine, &at, &h);
			there = is_inside_behind_half_plane(l, &h, other, &on);
			found |= what[blue ? there + 2 * h.inside : h.inside + 2 * there];
		}
	}
	return found;
}

/* Returns the fan formed by the two sides of a triangle whose interior contains the line. */
static fan
fan_of_triangle(rb_exact_env *env, const double *p, const double *q, const rb_fans *fans,
				uint32_t i)
{
	const double *t = triangle_of_related_solid(fans, i);
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
triangle_side_on_line(rb_exact_env *env, const double *p, const double *q, const rb_fans *fans,
					  uint32_t i)
{
	const double *t = triangle_of_related_solid(fans, i);
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
classify_around_side(rb_exact_env *env, const rb_fans *mine, uint32_t side, const rb_fans *other,
					 uint32_t i, bool is_red)
{
	const double *t = triangle_of_related_solid(mine, side / 3);
	double edge[6];
	look l = {.env = env, .p = edge, .q = edge + 3};
	fan f = {.of = mine, .side = side}, g = {.of = other};
	int contact;

	if (!rb_fan_is_first(mine, side))
		return 0;
	memcpy(edge, t + 3 * (side % 3), 3 * sizeof(double));
	memcpy(edge + 3, t + 3 * ((side + 1) % 3), 3 * sizeof(double));
	contact = rb_segment_triangle_contact(env, edge, triangle_of_related_solid(other, i));
	if (contact == 0 || RB_PAYLOAD_DIMENSION(RB_PAYLOAD(contact)) == 0)
		return 0;
	if (RB_PAYLOAD_CROSSES(RB_PAYLOAD(contact)))
		g = fan_of_triangle(env, l.p, l.q, other, i);
	else
	{
		if (!is_red)
			return 0;
		g.side = triangle_side_on_line(env, l.p, l.q, other, i);
		if (!rb_fan_is_first(other, g.side))
			return 0;
	}
	l.red = is_red ? f : g;
	l.blue = is_red ? g : f;
	return classify_around_line(&l);
}

/* Returns the triangle side between two vertices, given as a bit mask. */
static uint32_t
triangle_side_between(unsigned corners)
{
	return corners == 3 ? 0 : corners == 6 ? 1 : 2;
}

/*
 * Returns the kinds of points near the edges of two triangles, where an edge lies on the other
 * solid.
 */
static unsigned
rb_around_edges(rb_exact_env *env, const rb_fans *red, uint32_t r, const rb_fans *blue, uint32_t b,
				int dimension)
{
	const double *rt = triangle_of_related_solid(red, r), *bt = triangle_of_related_solid(blue, b);
	const rb_common common = rb_common_corners(rt, bt);
	unsigned found = 0;

	/*
	 * Two triangles that share an edge and nothing else need no arithmetic. Most neighbors are of
	 * this kind.
	 */
	if (dimension == 1 && rb_two_or_more(common.r))
	{
		const uint32_t k = triangle_side_between(common.r);
		look l = {.env = env, .p = rt + 3 * k, .q = rt + 3 * ((k + 1) % 3)};

		l.red = (fan){.of = red, .side = 3 * r + k};
		l.blue = (fan){.of = blue, .side = 3 * b + triangle_side_between(common.b)};
		if (!rb_fan_is_first(red, l.red.side) || !rb_fan_is_first(blue, l.blue.side))
			return 0;
		return classify_around_line(&l);
	}
	for (uint32_t k = 0; k < 3; k++)
	{
		found |= classify_around_side(env, red, 3 * r + k, blue, b, true);
		found |= classify_around_side(env, blue, 3 * b + k, red, r, false);
	}
	return found;
}

/* ---- edges that lie on a surface ---- */

/*
 * Locates up to two half-planes of a surface: RB_SURFACE_IN or RB_SURFACE_OUT; those on the
 * boundary add nothing.
 */
static unsigned
locate_surface_half_planes(const look *l, const double *const to[2], const fan *solid)
{
	unsigned found = 0;

	for (int i = 0; i < 2; i++)
	{
		const half h = {.to = to[i]};
		bool inside, on;

		if (to[i] == NULL)
			continue;
		inside = is_inside_behind_half_plane(l, &h, solid, &on);
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
	const double *b = triangle_of_related_solid(solid, side / 3);
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
	return locate_surface_half_planes(&l, to, &f);
}

/*
 * Handles side k of triangle t of the surface if it lies inside a triangle of the solid.
 * classify_solid_side handles a side that lies along a side of that triangle.
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
	contact = rb_segment_triangle_contact(env, edge, triangle_of_related_solid(solid, i));
	if (contact == 0 || RB_PAYLOAD_DIMENSION(RB_PAYLOAD(contact)) == 0 ||
		!RB_PAYLOAD_CROSSES(RB_PAYLOAD(contact)))
		return 0;
	f = fan_of_triangle(env, l.p, l.q, solid, i);
	return locate_surface_half_planes(&l, to, &f);
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

/* ---- relations ---- */

#define BATCH RB_SIZE(512, 3) /* Number of pairs processed at a time */
#define GRAIN RB_SIZE(256, 5) /* Number of collected pairs a thread takes at a time */
#define CHECK_INTERVAL 4096   /* Number of small steps between checks for cancellation */

/* Returns the red solid to which the red triangle of a contact belongs. */
static uint32_t
red_row_of_contact(const rb_relations *r, rb_pair pair)
{
	return rb_row_of(r->job->red, rb_pair_red(pair));
}

/* Returns the blue solid to which the blue triangle of a contact belongs. */
static uint32_t
blue_row_of_contact(const rb_relations *r, rb_pair pair)
{
	return rb_row_of(rb_job_blue(r->job), pair.blue);
}

/* Returns true if the solids of one set are related to each other. */
static bool
is_self_relation(const rb_relations *r)
{
	return r->job->blue == NULL;
}

/* Returns true if the two triangles share more than isolated points. */
static bool
do_triangles_share_curve(rb_pair pair)
{
	const unsigned dimension = RB_PAYLOAD_DIMENSION(rb_pair_payload(pair));

	return dimension == 1 || dimension == 2;
}

/*
 * Returns true if two triangles pass through each other along a line, which decides how their
 * solids relate.
 */
static bool
is_contact_passage(rb_pair pair)
{
	return rb_pair_payload(pair) == RB_PAYLOAD(RB_CONTACT_OF(1, 1));
}

/* ---- results of the joins ---- */

/* Collects pairs of triangles from the backend, except pairs that are on no sheet. */
static rb_status
collect_contacts_of_solids(void *user, const rb_pair *pairs, size_t n)
{
	rb_relations *r = user;
	rb_pair some[BATCH];
	size_t nsome = 0;

	for (size_t i = 0; i < n; i++)
	{
		if (r->fans[0].sheet[rb_pair_red(pairs[i])] == RB_NO_SHEET ||
			r->fans[1].sheet[pairs[i].blue] == RB_NO_SHEET)
			continue;
		some[nsome++] = pairs[i];
		if (nsome == BATCH)
		{
			RB_TRY(rb_notes_add(&r->notes, some, nsome));
			nsome = 0;
		}
	}
	RB_TRY(rb_notes_add(&r->notes, some, nsome));
	return rb_should_stop(r->ctx) ? RB_STOPPED : RB_OK;
}

/* Joins the triangles of both sides, and collects the contacts from which solids are related. */
static rb_status
find_contacts_of_solids(rb_relations *r)
{
	const rb_job job = {.red = r->job->red, .blue = r->job->blue, .predicate = RB_CONTACT};
	const rb_sink sink = {.put = collect_contacts_of_solids, .user = r};

	return rb_join_step(r->ctx, r->backend, &job, &sink, RB_TILE);
}

/*
 * Finds the sheets of one side that are inside rows of the other side. Within one set, the row that
 * comes first is red, and rays of a row against itself mean nothing.
 */
static rb_status
find_sheets_inside(rb_relations *r, int side)
{
	const rb_fans *from = &r->fans[side], *solids = &r->fans[!side];
	rb_notes inside;
	rb_status status;
	size_t n = 0;

	rb_notes_open(&inside, r->ctx);
	status = rb_sheet_points_locate(r->ctx, r->backend, from, from->tops, from->nsheets, solids,
									false, &inside);
	for (size_t i = 0; i < inside.n; i++)
	{
		const uint32_t sheet = from->sheets[inside.at[i].red], in = inside.at[i].blue;
		bool red = side == 0;

		if (is_self_relation(r))
		{
			const uint32_t mine = rb_row_of(from->set, sheet), other = rb_row_of(from->set, in);

			if (mine == other)
				continue;
			red = mine < other;
		}
		inside.at[n++] =
			red ? (rb_pair){sheet | (uint32_t) RB_RED_SHEET_INSIDE << RB_PAYLOAD_SHIFT, in}
				: (rb_pair){in | (uint32_t) RB_BLUE_SHEET_INSIDE << RB_PAYLOAD_SHIFT, sheet};
	}
	inside.n = n;
	if (status == RB_OK)
		status = rb_notes_add(&r->notes, inside.at, inside.n);
	rb_notes_close(&inside);
	return status;
}

/* ---- pairs of rows ---- */

/* Groups the pairs of triangles by pairs of rows. */
static rb_status
group_contacts_by_rows(rb_relations *r)
{
	const rb_set *red = r->job->red, *blue = rb_job_blue(r->job);
	const rb_pair *p;

	RB_TRY(rb_notes_sort(&r->notes, red->row_of, blue->row_of));
	p = r->notes.at;
	for (int pass = 0; pass < 2; pass++)
	{
		r->ngroups = 0;
		for (size_t i = 0; i < r->notes.n; i++)
		{
			if (i % CHECK_INTERVAL == 0 && rb_should_stop(r->ctx))
				return RB_STOPPED;
			if (i > 0 && red_row_of_contact(r, p[i]) == red_row_of_contact(r, p[i - 1]) &&
				blue_row_of_contact(r, p[i]) == blue_row_of_contact(r, p[i - 1]))
				continue;
			if (pass == 1)
				r->group[r->ngroups] = i;
			r->ngroups++;
		}
		if (pass == 1)
			r->group[r->ngroups] = r->notes.n;
		else
			RB_TRY(RB_ALLOCATE(r->ctx, r->group, r->ngroups + 1));
	}
	return RB_ALLOCATE(r->ctx, r->found, r->ngroups + 1);
}

/*
 * Finds the pairs of rows whose triangles pass through each other, and marks the rows of all other
 * pairs that share a curve or an area.
 */
static void
find_passages_of_solids(rb_relations *r, uint8_t *close[2])
{
	for (size_t g = 0; g < r->ngroups && !rb_should_stop(r->ctx); g++)
	{
		bool passage = false, curve = false;

		for (size_t i = r->group[g]; i < r->group[g + 1] && !passage; i++)
		{
			passage = is_contact_passage(r->notes.at[i]);
			curve |= do_triangles_share_curve(r->notes.at[i]);
		}
		r->found[g] = passage ? RB_ALL_THREE : 0;
		if (curve && !passage)
		{
			close[0][red_row_of_contact(r, r->notes.at[r->group[g]])] = 1;
			close[1][blue_row_of_contact(r, r->notes.at[r->group[g]])] = 1;
		}
	}
}

rb_status
rb_relations_find_inner(rb_relations *r, uint8_t *rows[2])
{
	for (uint32_t i = 0; is_self_relation(r) && i < r->job->red->nrows; i++)
		rows[0][i] |= rows[1][i];
	for (int side = 0; side < rb_relations_sides(r); side++)
		RB_TRY(rb_fans_find_inner(r->ctx, r->backend, &r->fans[side], rows[side]));
	return RB_OK;
}

/* Finds the passages between solids and the inner triangles of both sides. */
static rb_status
prepare_related_sides(rb_relations *r)
{
	uint8_t *close[2] = {NULL, NULL};
	RB_FREE_AT_END(r->ctx->memory, &close[0], &close[1]);

	for (int side = 0; side < 2; side++)
	{
		const size_t nrows = (size_t) r->fans[side].set->nrows + 1;

		RB_TRY(RB_ALLOCATE(r->ctx, close[side], nrows));
		memset(close[side], 0, nrows);
	}
	find_passages_of_solids(r, close);
	return rb_relations_find_inner(r, close);
}

/* ---- surroundings of edges ---- */

/* Returns the last group that starts at or before the given position. */
static size_t
contact_group_at(const rb_relations *r, size_t note)
{
	return rb_sizes_upper_bound(r->group, r->ngroups, note) - 1;
}

/* Classifies the points around the common lines of a range of pairs of triangles. */
static void
classify_contacts_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_relations *r = arg;
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
	size_t g = contact_group_at(r, from);

	(void) me;
	for (size_t i = from; i < to && !rb_should_stop(r->ctx); i++)
	{
		const rb_pair p = r->notes.at[i];

		if (i == r->group[g + 1])
			g++;
		if (!do_triangles_share_curve(p) || rb_load(&r->found[g]) == RB_ALL_THREE)
			continue;
		rb_or(&r->found[g], rb_around_edges(&env, &r->fans[0], rb_pair_red(p), &r->fans[1], p.blue,
											RB_PAYLOAD_DIMENSION(rb_pair_payload(p))));
	}
}

/*
 * Classifies the points around all curves that triangles of both sides share, on several threads.
 */
static rb_status
classify_around_edges(rb_relations *r)
{
	const size_t n = r->notes.n;

	return rb_team_loop(r->ctx, rb_threads_for(r->ctx, n, GRAIN), n, GRAIN, classify_contacts_piece,
						r);
}

/* ---- sheets that share no curve with the other solid ---- */

/*
 * Number of sheets of one side that share a curve with the row of the other side, and number of
 * sheets inside it
 */
typedef struct sheet_counts
{
	uint32_t cut;
	uint32_t inside;
} sheet_counts;

/*
 * Counts the sheets of one side in group g. last[sheet] is the number of the group, counted from 1,
 * that last counted the sheet.
 */
static sheet_counts
count_sheets_in_group(const rb_relations *r, size_t g, int side, size_t *last)
{
	const unsigned payload = side == 0 ? RB_RED_SHEET_INSIDE : RB_BLUE_SHEET_INSIDE;
	sheet_counts t = {0, 0};

	/* Count sheets that share a curve first, because their ray results are not valid. */
	for (int rays = 0; rays < 2; rays++)
		for (size_t i = r->group[g]; i < r->group[g + 1]; i++)
		{
			const rb_pair p = r->notes.at[i];
			const uint32_t sheet = r->fans[side].sheet[side == 0 ? rb_pair_red(p) : p.blue];

			if (i % CHECK_INTERVAL == 0 && rb_should_stop(r->ctx))
				return t;
			if ((rays ? rb_pair_payload(p) != payload : !do_triangles_share_curve(p)) ||
				last[sheet] == g + 1)
				continue;
			last[sheet] = g + 1;
			(*(rays ? &t.inside : &t.cut))++;
		}
	return t;
}

/*
 * Returns the regions that are proved to exist by the sheets of one side that share no curve with
 * the other solid.
 */
static unsigned
regions_found_by_sheets(const rb_relations *r, size_t g, int side, size_t *last)
{
	const rb_pair p = r->notes.at[r->group[g]];
	const uint32_t row = side == 0 ? red_row_of_contact(r, p) : blue_row_of_contact(r, p);
	const uint32_t n = r->fans[side].start[row + 1] - r->fans[side].start[row];
	const sheet_counts t = count_sheets_in_group(r, g, side, last);
	unsigned found = 0;

	if (t.inside > 0)
		found |= RB_IN_BOTH | (side == 0 ? RB_BLUE_ALONE : RB_RED_ALONE);
	if (t.cut + t.inside < n)
		found |= side == 0 ? RB_RED_ALONE : RB_BLUE_ALONE;
	return found;
}

/* Adds, to the regions of each pair of rows, those that sheets prove to exist. */
static rb_status
classify_pairs_by_sheets(rb_relations *r)
{
	for (int side = 0; side < 2; side++)
	{
		const size_t n = (size_t) r->fans[side].set->nparts + 1;
		size_t *last = NULL;
		RB_FREE_AT_END(r->ctx->memory, &last);

		RB_TRY(RB_ALLOCATE(r->ctx, last, n));
		memset(last, 0, n * sizeof *last);
		for (size_t g = 0; g < r->ngroups; g++)
		{
			if (r->found[g] != RB_ALL_THREE)
				r->found[g] |= regions_found_by_sheets(r, g, side, last);
			if (rb_should_stop(r->ctx))
				return RB_STOPPED;
		}
	}
	return RB_OK;
}

/* ---- result ---- */

/* Returns the relation of two solids from the regions that occur. */
static uint64_t
relation_of_regions(unsigned found)
{
	if (!(found & RB_IN_BOTH))
		return RB_SOLIDS_TOUCH;
	switch (found & (RB_RED_ALONE | RB_BLUE_ALONE))
	{
		case 0:
			return RB_SOLIDS_EQUAL;
		case RB_RED_ALONE:
			return RB_RED_CONTAINS;
		case RB_BLUE_ALONE:
			return RB_RED_INSIDE;
		default:
			return RB_SOLIDS_CROSS;
	}
}

/* Sends the relation of each pair of rows to the sink. */
static rb_status
send_relations(rb_relations *r, const rb_row_sink *sink)
{
	rb_pair rows[BATCH];
	uint64_t payload[BATCH];
	size_t n = 0;

	for (size_t g = 0; g < r->ngroups; g++)
	{
		const rb_pair p = r->notes.at[r->group[g]];

		rows[n] = (rb_pair){red_row_of_contact(r, p), blue_row_of_contact(r, p)};
		payload[n++] = relation_of_regions(r->found[g]);
		if (n < BATCH && g + 1 < r->ngroups)
			continue;
		RB_TRY(rb_should_stop(r->ctx) ? RB_STOPPED : sink->put(sink->user, rows, payload, n));
		n = 0;
	}
	return RB_OK;
}

void
rb_relations_open(rb_relations *r, rb_context *ctx, const rb_backend *backend, const rb_job *job)
{
	*r = (rb_relations){.ctx = ctx, .backend = backend, .job = job};
	rb_notes_open(&r->notes, ctx);
}

void
rb_relations_close(rb_relations *r)
{
	rb_notes_close(&r->notes);
	for (int side = 0; side < rb_relations_sides(r); side++)
	{
		RB_FREE(r->ctx->memory, r->bad[side]);
		rb_fans_free(r->ctx->memory, &r->fans[side]);
	}
	RB_FREE(r->ctx->memory, r->group);
	RB_FREE(r->ctx->memory, r->found);
}

rb_status
rb_relations_find(rb_relations *r)
{
	const rb_set *set[2] = {r->job->red, r->job->blue};
	const int sides = rb_relations_sides(r);

	for (int side = 0; side < sides; side++)
		RB_TRY(rb_solids_check(r->ctx, r->backend, set[side], r->job->skip_bad,
							   sides == 1  ? RB_SOLID_OF_SOLIDS
							   : side == 0 ? RB_SOLID_OF_RED
										   : RB_SOLID_OF_BLUE,
							   &r->bad[side]));
	for (int side = 0; side < sides; side++)
		RB_TRY(rb_fans_find(r->ctx, set[side], r->bad[side], &r->fans[side]));
	if (sides == 1)
		r->fans[1] = r->fans[0];
	RB_TRY(find_contacts_of_solids(r));
	for (int side = 0; side < sides; side++)
		RB_TRY(find_sheets_inside(r, side));
	RB_TRY(group_contacts_by_rows(r));
	RB_TRY(prepare_related_sides(r));
	RB_TRY(classify_around_edges(r));
	return classify_pairs_by_sheets(r);
}

rb_status
rb_compose_relations(rb_context *ctx, const rb_backend *backend, const rb_job *job,
					 const rb_row_sink *sink)
{
	rb_relations r;
	rb_status status;

	rb_relations_open(&r, ctx, backend, job);
	status = rb_relations_find(&r);
	if (status == RB_OK)
		status = send_relations(&r, sink);
	rb_relations_close(&r);
	return status;
}
