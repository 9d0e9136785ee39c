/*
 * clip.c
 *	  Computes the intersection of two parts: a point, a segment or a convex polygon, with canonical
 *	  ids of its points, lines and planes.
 *
 * Two coplanar triangles share a polygon if their intersection has an area: one triangle is clipped
 * to the other. In all other cases the intersection extends from one point to another, which
 * intersect.c finds. The line of such a segment is an edge of red or blue on which both points lie.
 * If there is no such edge, it is the intersection of the two planes.
 */
#include "core/intersection/assembly.h"
#include "core/base/point_hash.h"
#include "core/primitive/triangle.h"

#include <math.h>

/* ---- canonical ids ---- */

/*
 * A line through p and q has the direction d = q - p and the moment m = p x q. For any two points
 * on the line, d and m are multiples of the same vectors. Dividing them by the largest component of
 * d gives unique numbers. These are exact ratios, rounded once. The intersection line of two planes
 * n x = e and n' x = e' has
 *
 *		d = n x n',		m = e' n - e n'				(which is x x d for a point x on it)
 *
 * up to the sign, of degree 4 and 5 in the coordinates. A plane is represented by its normal and e
 * in the same way.
 *
 * Far from the origin, the doubles nearest to m, or to e, can be the same for several lines or
 * planes. Their distance is then less than the last place of their largest coordinates, but more
 * than that of small coordinates. The residues of the exact ratios modulo a prime distinguish them,
 * except for about one in 2^53 pairs whose doubles are all equal.
 */

/* Moment of the intersection line of two planes */
_Static_assert(RB_NUMBER_DEGREE(5, 16) + 4 <= RB_NUMBER_WORDS, "room for the line of two planes");

rb_status
rb_curve_array_reserve(rb_context *ctx, rb_curve_array *many, size_t more, size_t element)
{
	const uint64_t need = (uint64_t) many->n + more;

	if (need > RB_CURVE_MAX)
		return rb_fail(ctx, RB_TOO_MANY_OBJECTS, need, RB_CURVE_MAX, NULL);
	return rb_array_grow(ctx, &many->at, &many->cap, (size_t) need * element, 1);
}

/* ---- rows ---- */

/* Returns the canonical form with id i: its doubles in the table of points, lines or planes. */
static inline const double *
canonical_row_at(const rb_canonical_ids *names, uint32_t i)
{
	return RB_ALL(names->rows, double) + (size_t) i * (size_t) names->width;
}

/* Hashes the coordinates of a canonical form (point, line or plane). */
static inline uint64_t
hash_canonical_row(const rb_canonical_ids *names, const double *row)
{
	uint64_t hash = 0;

	for (int i = 0; i < names->width; i++)
		hash = rb_mix(hash + rb_hash_coordinate(row[i], 0x9e3779b97f4a7c15u));
	return hash;
}

/* Returns true if the canonical form with id i has the same bits as the given one. */
static inline bool
is_canonical_row(const rb_canonical_ids *names, uint32_t i, const double *row)
{
	return memcmp(canonical_row_at(names, i), row, (size_t) names->width * sizeof *row) == 0;
}

/* Finds the number of a row */
#define RB_HASH rb_row_table
#define RB_HASH_SLOT uint32_t
#define RB_HASH_KEY const double *
#define RB_HASH_ARG const rb_canonical_ids *
#define RB_HASH_OF(names, row) hash_canonical_row(names, row)
#define RB_HASH_EQUAL(names, slot, row) is_canonical_row(names, slot, row)
#define RB_HASH_KEY_OF(names, slot) canonical_row_at(names, (uint32_t) (slot))
#define RB_HASH_NUMBERED
#define RB_HASH_DEFINE
#include "core/base/hash.h"

/* Looks up the number of a row, and inserts the row if it is missing. */
static rb_status
rb_canonical_row(rb_context *ctx, rb_canonical_ids *names, const double *row, uint32_t *number)
{
	double key[RB_LINE_WIDTH];
	uint32_t *slot;

	for (int i = 0; i < names->width; i++)
		key[i] = row[i] + 0.0; /* Replaces -0 by 0 */
	if (names->rows.n >= RB_CURVE_MAX / 4)
		return rb_fail(ctx, RB_TOO_MANY_OBJECTS, names->rows.n, RB_CURVE_MAX / 4, NULL);
	RB_TRY(rb_row_table_reserve(ctx, &names->table, names, 1));
	RB_TRY(rb_curve_array_reserve(ctx, &names->rows, 1, (size_t) names->width * sizeof *key));
	slot = rb_row_table_find(&names->table, names, key);
	if (*slot == RB_HASH_FREE)
	{
		memcpy((double *) canonical_row_at(names, names->rows.n), key,
			   (size_t) names->width * sizeof *key);
		*slot = names->rows.n++;
		names->table.n++;
	}
	*number = *slot;
	return RB_OK;
}

void
rb_canonical_ids_clear(rb_canonical_ids *names)
{
	names->rows.n = 0;
	rb_row_table_clear(&names->table);
}

void
rb_canonical_ids_free(rb_memory *memory, rb_canonical_ids *names)
{
	rb_free(memory, &names->rows.at);
	rb_row_table_free(memory, &names->table);
	names->rows.n = names->rows.cap = 0;
}

/* ---- points, lines, planes ---- */

rb_status
rb_canonical_point(rb_curve *c, const double *at, uint32_t *point)
{
	return rb_canonical_row(c->ctx, &c->points, at, point);
}

/*
 * Returns the index of the component with the largest magnitude among three, by which a canonical
 * line or plane is divided.
 */
static int
index_of_largest_ratio(const rb_number *x)
{
	int best = 0;
	rb_number a, b;

	rb_number_copy(&a, &x[0]);
	a.sign *= a.sign;
	for (int k = 1; k < 3; k++)
	{
		rb_number_copy(&b, &x[k]);
		b.sign *= b.sign;
		if (rb_number_compare(&b, &a) <= 0)
			continue;
		rb_number_copy(&a, &b);
		best = k;
	}
	return best;
}

#define PRIME ((UINT64_C(1) << 61) - 1)

/* Multiplies two residues modulo PRIME, the Mersenne prime 2^61 - 1, without division. */
static uint64_t
multiply_modulo_prime(uint64_t a, uint64_t b)
{
	const unsigned __int128 product = (unsigned __int128) a * b;
	const uint64_t sum = (uint64_t) (product & PRIME) + (uint64_t) (product >> 61);

	return sum >= PRIME ? sum - PRIME : sum;
}

/* Returns a^(PRIME - 2), which is 1 / a modulo PRIME. */
static uint64_t
invert_modulo_prime(uint64_t a)
{
	uint64_t result = 1;

	for (uint64_t bits = PRIME - 2; bits != 0; bits >>= 1)
	{
		if (bits & 1)
			result = multiply_modulo_prime(result, a);
		a = multiply_modulo_prime(a, a);
	}
	return result;
}

/* Hashes n ratios modulo PRIME into an integer that a double represents exactly. */
static double
hash_ratios_modulo_prime(const rb_number *x, int n, int by)
{
	const uint64_t one = invert_modulo_prime(rb_number_modulo(&x[by]));
	uint64_t sum = 0;

	for (int i = 0; i < n; i++)
		sum = multiply_modulo_prime((sum + multiply_modulo_prime(rb_number_modulo(&x[i]), one)) %
										PRIME,
									UINT64_C(0x1e3779b97f4a7c15));
	return (double) (sum % PRIME >> 8);
}

/*
 * Builds the row of a line or plane: each number divided by the largest of the first three, then
 * the hash of these ratios. Looks up the number of the row.
 */
static rb_status
canonical_id_of_ratios(rb_curve *c, rb_canonical_ids *names, const rb_number *x, uint32_t *number)
{
	const int by = index_of_largest_ratio(x), n = names->width - 1;
	double row[RB_LINE_WIDTH];

	for (int i = 0; i < n; i++)
		row[i] = i == by ? 1 : rb_number_round_quotient(&x[i], &x[by]);
	row[n] = hash_ratios_modulo_prime(x, n, by);
	return rb_canonical_row(c->ctx, names, row, number);
}

rb_status
rb_canonical_line(rb_curve *c, const double *p, const double *q, uint32_t *line)
{
	rb_number x[RB_LINE_WIDTH], a, b;

	for (int k = 0; k < 3; k++)
	{
		const int u = (k + 1) % 3, v = (k + 2) % 3;
		rb_number pu, pv, qu, qv;

		rb_number_difference(&x[k], q[k], p[k]);
		rb_number_of(&pu, p[u]);
		rb_number_of(&pv, p[v]);
		rb_number_of(&qu, q[u]);
		rb_number_of(&qv, q[v]);
		rb_number_mul(&a, &pu, &qv);
		rb_number_mul(&b, &pv, &qu);
		rb_number_sub(&x[3 + k], &a, &b);
	}
	return canonical_id_of_ratios(c, &c->lines, x, line);
}

/* Computes n and e of the plane n x = e of a triangle, exactly, for canonical ids. */
static void
compute_canonical_plane(const double *t, rb_number *n, rb_number *e)
{
	rb_number term, x, sum;

	sum.sign = sum.n = sum.low = 0;
	for (int k = 0; k < 3; k++)
	{
		const int u = (k + 1) % 3, v = (k + 2) % 3;
		const double a[2] = {t[u], t[v]}, b[2] = {t[3 + u], t[3 + v]}, c[2] = {t[6 + u], t[6 + v]};

		rb_number_orient2d(&n[k], a, b, c);
		rb_number_of(&x, t[k]);
		rb_number_mul(&term, &n[k], &x);
		rb_number_add(&sum, &sum, &term);
	}
	rb_number_copy(e, &sum);
}

/* Gets the canonical id of the line in which the planes of two triangles meet. */
static rb_status
canonical_line_of_planes(rb_curve *c, const double *r, const double *b, uint32_t *line)
{
	rb_number x[RB_LINE_WIDTH], nr[3], nb[3], er, eb, s, t;

	compute_canonical_plane(r, nr, &er);
	compute_canonical_plane(b, nb, &eb);
	for (int k = 0; k < 3; k++)
	{
		const int u = (k + 1) % 3, v = (k + 2) % 3;

		rb_number_det2(&x[k], &nr[u], &nr[v], &nb[u], &nb[v]);
		/* x x (n x n') = n (x n') - n' (x n) */
		rb_number_mul(&s, &eb, &nr[k]);
		rb_number_mul(&t, &er, &nb[k]);
		rb_number_sub(&x[3 + k], &s, &t);
	}
	return canonical_id_of_ratios(c, &c->lines, x, line);
}

/* Gets the canonical id of the plane of a triangle, which must have an area. */
static rb_status
canonical_id_of_plane(rb_curve *c, const double *t, uint32_t *plane)
{
	rb_number x[RB_PLANE_WIDTH];

	compute_canonical_plane(t, x, &x[3]);
	return canonical_id_of_ratios(c, &c->planes, x, plane);
}

/* Returns an axis on which the plane's normal is not 0. */
static int
find_plane_axis(const rb_curve *c, uint32_t plane)
{
	const double *n = RB_ALL(c->planes.rows, double) + RB_PLANE_WIDTH * (size_t) plane;

	return fabs(n[0]) == 1 ? 0 : fabs(n[1]) == 1 ? 1 : 2;
}

/*
 * Compares first on the axis on which the line's direction has its largest component, which is
 * positive. If the doubles are equal there, compares on the other axes.
 */
int
rb_line_order(const rb_curve *c, uint32_t line, uint32_t p, uint32_t q)
{
	const double *d = RB_ALL(c->lines.rows, double) + RB_LINE_WIDTH * (size_t) line;
	const double *a = rb_point_at(c, p), *b = rb_point_at(c, q);
	const int by = d[0] == 1 ? 0 : d[1] == 1 ? 1 : 2;

	for (int i = 0; i < 3; i++)
	{
		const int k = (by + i) % 3;

		if (a[k] != b[k])
			return (a[k] < b[k]) == (d[k] > 0) ? -1 : 1;
	}
	return 0;
}

/* ---- convex clipping ---- */

/*
 * Clips convex polygons, represented as lists of sides, exactly by lines.
 *
 * All operations take place in one plane, projected along an axis on which the plane's normal is
 * not 0. Vertex i is the intersection of side i with the next one. Clipping to the left of a line
 * keeps the sides that have an end strictly to its left, in their order, and inserts the line where
 * the sequence is interrupted:
 *
 *			 - - - + - - -			A side with one end on the line and the other end to its
 *		   /	   |	   \		right is removed. So no two consecutive sides are on the
 *		  /	 kept  |  gone	\		same line, and at all vertices the lines really cross.
 *
 * The side of line k on which the intersection of lines a and b lies is computed as follows. If p
 * and q are the ends of a, and P and Q their determinants against b, the intersection is (q P - p
 * Q) / (P - Q). Its determinant against k is
 *
 *		(k(q) P - k(p) Q) / (P - Q),
 *
 * which has degree 4, or degree 5 if k is a plane.
 */

_Static_assert(RB_NUMBER_DEGREE(5, 16) <= RB_NUMBER_WORDS, "room for a corner against a line");

void
rb_side_ends(const rb_curve *c, rb_curve_side s, const double **p, const double **q)
{
	const double *t = rb_triangle_at(c, s.of, s.part);
	const double *a = t + 3 * s.edge, *b = t + 3 * ((s.edge + 1) % 3);

	*p = s.turned ? b : a;
	*q = s.turned ? a : b;
}

/*
 * Returns the input vertex that is the corner between sides a and b of a clipped polygon, if both
 * are edges of the same triangle, otherwise NULL.
 */
static const double *
corner_between_clip_sides(const rb_curve *c, rb_curve_side a, rb_curve_side b)
{
	if (a.of != b.of || a.part != b.part || a.edge == b.edge)
		return NULL;
	return rb_triangle_at(c, a.of, a.part) + 3 * ((a.edge + 1) % 3 == b.edge ? b.edge : a.edge);
}

/*
 * Returns on which side of the line from p to q the input vertex x lies, which is a corner of a
 * clipped polygon, in the projection along the axis.
 */
static int
turn_of_clip_corner(rb_curve *c, int axis, const double *p, const double *q, const double *x)
{
	const int u = (axis + 1) % 3, v = (axis + 2) % 3;

	return rb_orient2d_at(&c->env, p[u], p[v], q[u], q[v], x[u], x[v]);
}

/*
 * Computes the exact determinant of p, q and the end x of a clipped polygon's side in the
 * projection along the axis; its sign is the turn.
 */
static void
turn_of_clip_side_end(rb_number *r, int axis, const double *p, const double *q, const double *x)
{
	const int u = (axis + 1) % 3, v = (axis + 2) % 3;
	const double a[2] = {p[u], p[v]}, b[2] = {q[u], q[v]}, d[2] = {x[u], x[v]};

	rb_number_orient2d(r, a, b, d);
}

/*
 * Returns the sign of (kq P - kp Q) / (P - Q) at the corner between sides a and b of a clipped
 * polygon, where kp and kq are the determinants against k of the ends of side a.
 */
static int
sign_at_clip_corner(const rb_curve *c, int axis, rb_curve_side a, rb_curve_side b,
					const rb_number *kp, const rb_number *kq)
{
	const double *p, *q, *s, *t;
	rb_number dp, dq, left, right;

	rb_side_ends(c, a, &p, &q);
	rb_side_ends(c, b, &s, &t);
	turn_of_clip_side_end(&dp, axis, s, t, p);
	turn_of_clip_side_end(&dq, axis, s, t, q);
	rb_number_mul(&left, kq, &dp);
	rb_number_mul(&right, kp, &dq);
	return rb_number_compare(&left, &right); /* P > Q, since side a starts in the interior of b */
}

int
rb_corner_turn(rb_curve *c, int axis, rb_curve_side a, rb_curve_side b, const double *k,
			   const double *l)
{
	const double *corner = corner_between_clip_sides(c, a, b), *p, *q;
	rb_number kp, kq;

	if (corner != NULL)
		return turn_of_clip_corner(c, axis, k, l, corner);
	rb_side_ends(c, a, &p, &q);
	turn_of_clip_side_end(&kp, axis, k, l, p);
	turn_of_clip_side_end(&kq, axis, k, l, q);
	return sign_at_clip_corner(c, axis, a, b, &kp, &kq);
}

int
rb_corner_side(rb_curve *c, int axis, rb_curve_side a, rb_curve_side b, rb_curve_side line)
{
	const double *k, *l;

	rb_side_ends(c, line, &k, &l);
	return rb_corner_turn(c, axis, a, b, k, l);
}

int
rb_corner_plane(rb_curve *c, int axis, rb_curve_side a, rb_curve_side b, const double *t)
{
	const double *corner = corner_between_clip_sides(c, a, b), *p, *q;
	rb_number kp, kq;

	if (corner != NULL)
		return rb_orient3d_at(&c->env, t, t + 3, t + 6, corner);
	rb_side_ends(c, a, &p, &q);
	rb_number_orient3d(&kp, t, t + 3, t + 6, p);
	rb_number_orient3d(&kq, t, t + 3, t + 6, q);
	return sign_at_clip_corner(c, axis, a, b, &kp, &kq);
}

rb_status
rb_convex_cut(rb_curve *c, int axis, uint32_t from, uint32_t n, rb_curve_side line, uint32_t *left)
{
	rb_status status =
		rb_curve_array_reserve(c->ctx, &c->sides, (size_t) n + 1, sizeof(rb_curve_side));
	rb_curve_side *side = RB_ALL(c->sides, rb_curve_side) + from,
				  *to = RB_ALL(c->sides, rb_curve_side) + c->sides.n;
	int before, first;
	bool put = false;

	*left = 0;
	if (status != RB_OK || n == 0)
		return status;
	before = first = rb_corner_side(c, axis, side[n - 1], side[0], line);
	for (uint32_t i = 0; i < n; i++)
	{
		const int after = i + 1 == n ? first : rb_corner_side(c, axis, side[i], side[i + 1], line);

		if (before > 0 || after > 0)
			to[(*left)++] = side[i];
		/*
		 * The polygon crosses to the right of the line here. Insert the line, unless nothing is to
		 * its right.
		 */
		if (before > 0 && after <= 0 && !put)
		{
			const uint32_t next = (i + 1) % n;
			const int beyond =
				after < 0 ? after : rb_corner_side(c, axis, side[next], side[(next + 1) % n], line);

			put = true;
			if (beyond <= 0)
				to[(*left)++] = line;
		}
		before = after;
	}
	c->sides.n += *left;
	return RB_OK;
}

/* Appends the sides of a triangle to c->sides, counterclockwise as seen along the axis. */
static rb_status
rb_convex_triangle(rb_curve *c, int axis, int of, uint32_t part)
{
	const double *t = rb_triangle_at(c, of, part);
	const bool turned = turn_of_clip_corner(c, axis, t, t + 3, t + 6) < 0;

	RB_TRY(rb_curve_array_reserve(c->ctx, &c->sides, 3, sizeof(rb_curve_side)));
	for (uint8_t i = 0; i < 3; i++)
		RB_ALL(c->sides, rb_curve_side)
	[c->sides.n++] = (rb_curve_side){part, (uint8_t) of, turned ? (uint8_t) (2 - i) : i, turned, 0};
	return RB_OK;
}

rb_status
rb_convex_corners(rb_curve *c, uint32_t from, uint32_t n)
{
	const rb_curve_side *side = RB_ALL(c->sides, rb_curve_side) + from;
	uint32_t *vertex;

	c->vertex.n = from;
	RB_TRY(rb_curve_array_reserve(c->ctx, &c->vertex, n, sizeof *vertex));
	vertex = RB_ALL(c->vertex, uint32_t) + from;
	for (uint32_t i = 0; i < n; i++)
	{
		const rb_curve_side a = side[i], b = side[(i + 1) % n];
		const double *corner = corner_between_clip_sides(c, a, b), *p, *q, *s, *t;
		double at[3];

		if (corner == NULL)
		{
			rb_side_ends(c, a, &p, &q);
			rb_side_ends(c, b, &s, &t);
			if (!rb_meet_lines(p, q, s, t, at))
				return rb_fail(c->ctx, RB_UNSUPPORTED, 0, 0,
							   NULL); /* Consecutive sides are never parallel */
			corner = at;
		}
		RB_TRY(rb_canonical_point(c, corner, &vertex[i]));
	}
	c->vertex.n = from + n;
	return RB_OK;
}

/* ---- pieces of two parts ---- */

void
rb_part_load(const rb_curve_parts *of, uint32_t i, rb_part *part)
{
	const double *x = of->coords + (size_t) i * (size_t) rb_kind_width(of->kind);
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
	double ends[6] = {0};

	if (of->kind == RB_TRIANGLE3 && rb_projection_axis(&env, x, x + 3, x + 6) >= 0)
	{
		memcpy(part->at, x, sizeof part->at);
		part->corners = 3;
		return;
	}
	if (of->kind == RB_TRIANGLE3)
		rb_collinear_ends(x, ends);
	else
		for (int k = 0; k < rb_kind_dims(of->kind); k++)
		{
			ends[k] = x[k];
			ends[3 + k] = x[rb_kind_dims(of->kind) + k];
		}
	memcpy(part->at, ends, sizeof ends);
	memcpy(part->at + 6, ends + 3, 3 * sizeof *ends);
	part->corners = rb_equal3(ends, ends + 3) ? 1 : 2;
}

/* Appends a piece, the intersection of two parts, to the shape, and counts its dimension. */
static rb_status
append_intersection_piece(rb_curve *c, const rb_curve_piece *piece)
{
	RB_TRY(rb_curve_array_reserve(c->ctx, &c->pieces, 1, sizeof *piece));
	RB_ALL(c->pieces, rb_curve_piece)[c->pieces.n++] = *piece;
	c->count[piece->dimension]++;
	return RB_OK;
}

/* Returns true if the corners of the blue triangle lie exactly in the plane of the red one. */
static bool
are_clipped_parts_coplanar(rb_curve *c, const double *r, const double *b)
{
	for (int i = 0; i < 3; i++)
		if (rb_orient3d_at(&c->env, r, r + 3, r + 6, b + 3 * i) != 0)
			return false;
	return true;
}

/* Returns true if the rounded vertices of a polygon enclose an area. */
static bool
has_rounded_polygon_area(rb_curve *c, int axis, const uint32_t *vertex, uint32_t n)
{
	const int u = (axis + 1) % 3, v = (axis + 2) % 3;
	const double *a = rb_point_at(c, vertex[0]), *b = NULL;

	for (uint32_t i = 1; i < n; i++)
	{
		const double *d = rb_point_at(c, vertex[i]);

		if (b != NULL && rb_orient2d_at(&c->env, a[u], a[v], b[u], b[v], d[u], d[v]) != 0)
			return true;
		if (vertex[i] != vertex[0])
			b = d;
	}
	return false;
}

/*
 * Intersects coplanar triangles. Sets *there if they share a polygon that still has an area after
 * rounding.
 */
static rb_status
make_polygon_piece(rb_curve *c, rb_curve_piece *piece, const double *red, bool *there)
{
	const uint32_t start = c->sides.n;
	uint32_t from = start, n = 3, blue;
	int axis, u, v;

	*there = false;
	RB_TRY(canonical_id_of_plane(c, red, &piece->what));
	axis = find_plane_axis(c, piece->what);
	u = (axis + 1) % 3;
	v = (axis + 2) % 3;
	piece->axis = (uint8_t) axis;
	piece->turn = (int8_t) rb_orient2d_at(&c->env, red[u], red[v], red[3 + u], red[3 + v],
										  red[6 + u], red[6 + v]);
	RB_TRY(rb_convex_triangle(c, axis, 0, piece->part[0]));
	blue = c->sides.n;
	RB_TRY(rb_convex_triangle(c, axis, 1, piece->part[1]));
	for (uint32_t i = 0; i < 3 && n > 0; i++)
	{
		const uint32_t to = c->sides.n;

		RB_TRY(rb_convex_cut(c, axis, from, n, RB_ALL(c->sides, rb_curve_side)[blue + i], &n));
		from = to;
	}
	memmove(RB_ALL(c->sides, rb_curve_side) + start, RB_ALL(c->sides, rb_curve_side) + from,
			n * sizeof(rb_curve_side));
	c->sides.n = start + n;
	if (n > 0)
		RB_TRY(rb_convex_corners(c, start, n));
	if (n > 0 && has_rounded_polygon_area(c, axis, RB_ALL(c->vertex, uint32_t) + start, n))
	{
		*there = true;
		piece->dimension = 2;
		piece->from = start;
		piece->to = n;
		return append_intersection_piece(c, piece);
	}
	c->sides.n = c->vertex.n = start;
	return RB_OK;
}

/* Gets the canonical id of the line that contains the segment in which two parts meet. */
static rb_status
canonical_line_of_segment(rb_curve *c, rb_curve_piece *piece, const rb_part *red,
						  const rb_part *blue, const rb_meet *meet, int n, bool flat)
{
	unsigned on_red = meet[0].on_red, on_blue = meet[0].on_blue;
	const double *t;

	for (int i = 1; i < n; i++)
	{
		on_red &= meet[i].on_red;
		on_blue &= meet[i].on_blue;
	}
	if (on_red == 0 && on_blue == 0)
	{
		piece->along = flat ? RB_ALONG_ROUNDED : RB_ALONG_PLANES;
		return flat ? rb_canonical_line(c, meet[0].at, meet[1].at, &piece->what)
					: canonical_line_of_planes(c, red->at, blue->at, &piece->what);
	}
	piece->along = on_red != 0 ? RB_ALONG_RED : RB_ALONG_BLUE;
	piece->edge = (uint8_t) __builtin_ctz(on_red != 0 ? on_red : on_blue);
	piece->on[0] = flat ? (uint8_t) on_red : 0;
	piece->on[1] = flat ? (uint8_t) on_blue : 0;
	t = on_red != 0 ? red->at : blue->at;
	return rb_canonical_line(c, t + 3 * piece->edge, t + 3 * ((piece->edge + 1) % 3), &piece->what);
}

/* Makes the piece of a pair whose parts meet in a segment. */
static rb_status
make_segment_piece(rb_curve *c, rb_curve_piece *piece, const rb_part *red, const rb_part *blue,
				   const rb_meet *meet, int n, bool flat)
{
	rb_status status = canonical_line_of_segment(c, piece, red, blue, meet, n, flat);

	for (int i = 0; i < n && status == RB_OK; i++)
	{
		uint32_t point;

		RB_TRY(rb_canonical_point(c, meet[i].at, &point));
		if (i == 0)
			piece->from = piece->to = point;
		else if (rb_line_order(c, piece->what, point, piece->from) < 0)
			piece->from = point;
		else if (rb_line_order(c, piece->what, piece->to, point) < 0)
			piece->to = point;
	}
	if (status != RB_OK)
		return status;
	piece->dimension = 1;
	return append_intersection_piece(c, piece);
}

rb_status
rb_curve_piece_build(rb_curve *c, uint32_t i, uint32_t j)
{
	rb_curve_piece piece = {.part = {i, j}};
	rb_part red, blue;
	rb_meet meet[RB_MEET_POINTS];
	rb_status status = RB_OK;
	bool flat = false, there = false;
	int n;

	rb_part_load(&c->side[0], i, &red);
	rb_part_load(&c->side[1], j, &blue);
	if (!rb_triangles_meet(red.at, blue.at))
		return RB_OK;
	if (red.corners == 3 && blue.corners == 3)
		flat = are_clipped_parts_coplanar(c, red.at, blue.at);
	if (flat)
		status = make_polygon_piece(c, &piece, red.at, &there);
	if (status != RB_OK || there)
		return status;
	n = rb_meet_points(&c->env, red.at, blue.at, meet);
	if (n > 1)
		return make_segment_piece(c, &piece, &red, &blue, meet, n, flat);
	if (n == 0)
		return RB_OK;
	status = rb_canonical_point(c, meet[0].at, &piece.what);
	return status == RB_OK ? append_intersection_piece(c, &piece) : status;
}
