/*
 * canonical.c
 *	  Assigns canonical ids to points, lines and planes, based on rows of doubles that do not depend
 *	  on how an object was computed.
 *
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
#include "core/intersection/assembly.h"

#include "core/base/point_hash.h"

#include <math.h>

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

static inline const double *
row_at(const rb_canonical_ids *names, uint32_t i)
{
	return RB_ALL(names->rows, double) + (size_t) i * (size_t) names->width;
}

static inline uint64_t
hash_row(const rb_canonical_ids *names, const double *row)
{
	uint64_t hash = 0;

	for (int i = 0; i < names->width; i++)
		hash = rb_mix(hash + rb_hash_coordinate(row[i], 0x9e3779b97f4a7c15u));
	return hash;
}

static inline bool
is_row(const rb_canonical_ids *names, uint32_t i, const double *row)
{
	return memcmp(row_at(names, i), row, (size_t) names->width * sizeof *row) == 0;
}

/* Finds the number of a row */
#define RB_HASH rb_row_table
#define RB_HASH_SLOT uint32_t
#define RB_HASH_KEY const double *
#define RB_HASH_ARG const rb_canonical_ids *
#define RB_HASH_OF(names, row) hash_row(names, row)
#define RB_HASH_EQUAL(names, slot, row) is_row(names, slot, row)
#define RB_HASH_KEY_OF(names, slot) row_at(names, (uint32_t) (slot))
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
		memcpy((double *) row_at(names, names->rows.n), key, (size_t) names->width * sizeof *key);
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

/* Returns the index of the number with the largest magnitude among three. */
static int
index_of_largest(const rb_number *x)
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

static double
round_ratio(const rb_number *x, const rb_number *by)
{
	rb_number quotient;

	if (x->sign == 0)
		return 0;
	rb_number_div(&quotient, x, by, RB_QUOTIENT);
	return rb_number_round(&quotient);
}

#define PRIME ((UINT64_C(1) << 61) - 1)

static uint64_t
multiply_modulo(uint64_t a, uint64_t b)
{
	const unsigned __int128 product = (unsigned __int128) a * b;
	const uint64_t sum = (uint64_t) (product & PRIME) + (uint64_t) (product >> 61);

	return sum >= PRIME ? sum - PRIME : sum;
}

/* Returns a^(PRIME - 2), which is 1 / a modulo PRIME. */
static uint64_t
invert_modulo(uint64_t a)
{
	uint64_t result = 1;

	for (uint64_t bits = PRIME - 2; bits != 0; bits >>= 1)
	{
		if (bits & 1)
			result = multiply_modulo(result, a);
		a = multiply_modulo(a, a);
	}
	return result;
}

/* Hashes n ratios modulo PRIME into an integer that a double represents exactly. */
static double
ratios_modulo(const rb_number *x, int n, int by)
{
	const uint64_t one = invert_modulo(rb_number_modulo(&x[by]));
	uint64_t sum = 0;

	for (int i = 0; i < n; i++)
		sum = multiply_modulo((sum + multiply_modulo(rb_number_modulo(&x[i]), one)) % PRIME,
							  UINT64_C(0x1e3779b97f4a7c15));
	return (double) (sum % PRIME >> 8);
}

/*
 * Builds the row: each number divided by the largest of the first three, then the hash of these
 * ratios. Looks up its number.
 */
static rb_status
name_ratios(rb_curve *c, rb_canonical_ids *names, const rb_number *x, uint32_t *number)
{
	const int by = index_of_largest(x), n = names->width - 1;
	double row[RB_LINE_WIDTH];

	for (int i = 0; i < n; i++)
		row[i] = i == by ? 1 : round_ratio(&x[i], &x[by]);
	row[n] = ratios_modulo(x, n, by);
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
	return name_ratios(c, &c->lines, x, line);
}

/* Computes n and e of the plane n x = e. */
static void
plane_of(const double *t, rb_number *n, rb_number *e)
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

rb_status
rb_canonical_planes_line(rb_curve *c, const double *r, const double *b, uint32_t *line)
{
	rb_number x[RB_LINE_WIDTH], nr[3], nb[3], er, eb, s, t;

	plane_of(r, nr, &er);
	plane_of(b, nb, &eb);
	for (int k = 0; k < 3; k++)
	{
		const int u = (k + 1) % 3, v = (k + 2) % 3;

		rb_number_det2(&x[k], &nr[u], &nr[v], &nb[u], &nb[v]);
		/* x x (n x n') = n (x n') - n' (x n) */
		rb_number_mul(&s, &eb, &nr[k]);
		rb_number_mul(&t, &er, &nb[k]);
		rb_number_sub(&x[3 + k], &s, &t);
	}
	return name_ratios(c, &c->lines, x, line);
}

rb_status
rb_canonical_plane(rb_curve *c, const double *t, uint32_t *plane)
{
	rb_number x[RB_PLANE_WIDTH];

	plane_of(t, x, &x[3]);
	return name_ratios(c, &c->planes, x, plane);
}

int
rb_plane_axis(const rb_curve *c, uint32_t plane)
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
