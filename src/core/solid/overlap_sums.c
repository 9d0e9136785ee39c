/*
 * overlap_sums.c
 *	  Sums the terms of an overlap with increasing precision, until the rounding is decided.
 *
 * With V and M the sums of the terms, six times the volume and 24 times the moment, the centroid is
 * M / (4 V). The first sums, in double-double arithmetic, decide most results. For the others, terms
 * are computed to a number of words, with a bound on the error of their sum. If a result is still
 * undecided, it may be exactly in the middle of two doubles, as centroids of boxes often are, and then
 * no precision decides. If there are few terms, their exact sums decide all results. Otherwise one
 * residue tests whether a middle is likely, and if it is, an exact comparison follows. The comparison also ends the cases, with coordinates of extremely different
 * size, that the highest precision leaves undecided: it bisects the doubles.
 */
#include "core/solid/overlap.h"
#include "core/exact/fractions.h"
#include "core/exact/residue.h"

#include <math.h>

/*
 * ---- exact sums, and their comparison with the middle of two doubles ----
 *
 * Let the coordinates be integers; powers of two make them so. Every term is a fraction. Its
 * denominator divides the product D of the denominators of all points where an edge pierces a face
 * (for moments, D^2), since the two ends of a segment are different points. So the difference X of
 * the value and the middle of two doubles, times D or D^2, is an integer. Its size is known, and
 * hence the number of primes whose residues determine it (residue.h): about one per word of D. Each
 * residue costs a loop over the terms. If there are few terms, the exact sums are short enough to
 * be computed themselves, which is faster.
 *
 * With V and M the sums of the terms, six times the volume and 24 times the moment relative to the
 * origin o, the sign of X is that of
 *
 *		2 V - 6 (low + high)				volume
 *		2 M + (8 o - 4 (low + high)) V		coordinate of the centroid; V is positive
 *
 * A triangle's edges are also edges of its neighbors, in the opposite direction. So the edges that
 * lead to the larger one of their ends have all points.
 */

/*
 * The sums of all terms as exact fractions: six times the volume is volume / denominator, and 24
 * times the moment relative to the origin is moment / denominator^2
 */
typedef struct rb_overlap_fractions
{
	rb_number volume;
	rb_number moment[3];
	rb_number denominator;
} rb_overlap_fractions;

/*
 * Value of `value` below that stands for the volume; 0, 1 and 2 stand for the coordinates of the
 * centroid
 */
#define RB_OVERLAP_VOLUME 3

/* A comparison: X = moment M + factor V + constant */
typedef struct comparison
{
	const rb_overlap_terms *t;
	int value;
	rb_number factor; /* Factor of V */
	rb_number constant;
	int shift;     /* Coordinates times 2^shift are integers */
	int more;      /* `factor` and `constant` times 2^more are integers, too */
	bool negative; /* True if X is multiplied by a negative number */
} comparison;

/* Raises `shift` to the binary places of the coordinates of n points. */
static void
include_places(int *shift, const double *x, int n)
{
	for (int i = 0; i < n; i++)
		*shift = rb_max(*shift, rb_double_places(x[i]));
}

/* Raises `shift` to the places of a point. */
static void
include_point(int *shift, const rb_overlap_point *p)
{
	include_places(shift, p->b, 3);
	if (p->plane != NULL)
	{
		include_places(shift, p->c, 3);
		include_places(shift, p->plane, 9);
	}
}

/* Returns true if the point counts in the common denominator. */
static bool
is_ascending(const rb_overlap_point *p)
{
	if (p->plane == NULL)
		return false;
	for (int a = 0; a < 2; a++)
		if (p->b[a] != p->c[a])
			return p->b[a] < p->c[a];
	return p->b[2] < p->c[2];
}

/*
 * Lists the points of a term that count in the common denominator, and returns their number. Points
 * of edges that are no face's segments do not count.
 */
static int
points_of_denominator(const rb_overlap_term *term, const rb_overlap_point *p[2])
{
	int n = 0;

	if (term->minus != NULL && is_ascending(&term->p))
		p[n++] = &term->p;
	if (term->minus != NULL && is_ascending(&term->q))
		p[n++] = &term->q;
	return n;
}

/*
 * Returns the bits of the denominator of a point, with coordinates that are integers. *negative is
 * true if it is negative.
 */
static int
bits_of_denominator(const rb_overlap_point *p, int shift, bool *negative)
{
	rb_number from, to;

	rb_number_orient3d(&from, p->plane, p->plane + 3, p->plane + 6, p->b);
	rb_number_orient3d(&to, p->plane, p->plane + 3, p->plane + 6, p->c);
	rb_number_sub(&from, &from, &to);
	*negative = from.sign < 0;
	return rb_number_bits(&from) + 3 * shift;
}

/* Prepares a comparison, and computes a bound on the bits of the integer whose sign is wanted. */
static rb_status
open_comparison(rb_context *ctx, comparison *c, const rb_overlap_terms *t, int value, double low,
				double high, uint64_t *bits)
{
	const int powers = value == RB_OVERLAP_VOLUME ? 1 : 2;
	const uint64_t n = t->terms.n;
	rb_number sum, x, y;
	int extent, volume;

	*c = (comparison){.t = t, .value = value};
	rb_number_of(&sum, low);
	if (high <= DBL_MAX)
		rb_number_of(&x, high);
	else
		rb_number_of_parts(&x, 1, 1024);
	rb_number_add(&sum, &sum, &x);
	rb_number_of(&x, value == RB_OVERLAP_VOLUME ? -6 : -4);
	rb_number_mul(&y, &sum, &x);
	if (value == RB_OVERLAP_VOLUME)
	{
		rb_number_copy(&c->constant, &y);
		rb_number_of(&c->factor, 2);
	}
	else
	{
		rb_number_of(&x, 8);
		rb_number_of(&sum, t->origin[value]);
		rb_number_mul(&c->factor, &sum, &x);
		rb_number_add(&c->factor, &c->factor, &y);
		c->constant.sign = c->constant.n = c->constant.low = 0;
	}

	include_places(&c->shift, t->origin, 3);
	for (uint64_t i = 0; i < n; i++)
	{
		const rb_overlap_term *term = &t->terms.at[i];

		if (rb_stop_due(ctx, i, 65536))
			return RB_STOPPED;
		include_places(&c->shift, term->plus, 3);
		if (term->minus != NULL)
			include_places(&c->shift, term->minus, 3);
		include_point(&c->shift, &term->p);
		include_point(&c->shift, &term->q);
	}
	c->more = rb_max(rb_number_places(&c->factor), rb_number_places(&c->constant) - 3 * c->shift);
	c->more = rb_max(c->more, 0);

	/*
	 * A determinant is at most 6 times the cube of the extent. A term has at most two determinants,
	 * so it is less than 2^4 times that cube. A term of the moment has an additional factor of up
	 * to 3 times the extent.
	 */
	extent = rb_number_bits(&t->extent) + c->shift;
	volume = 3 * extent + 4 + 64 - __builtin_clzll(n | 1);
	if (value == RB_OVERLAP_VOLUME)
		*bits = (uint64_t) rb_max(volume + 1 + c->more,
								  rb_number_bits(&c->constant) + 3 * c->shift + c->more);
	else
		*bits = (uint64_t) rb_max(volume + extent + 3 + c->more,
								  volume + rb_number_bits(&c->factor) + c->shift + c->more);
	*bits += 2;
	for (uint64_t i = 0; i < n; i++)
	{
		const rb_overlap_point *p[2];
		const int points = points_of_denominator(&t->terms.at[i], p);

		if (rb_stop_due(ctx, i, 4096))
			return RB_STOPPED;
		for (int k = 0; k < points; k++)
		{
			bool negative;

			*bits += (uint64_t) (powers * bits_of_denominator(p[k], c->shift, &negative));
			/* D^2 is positive. */
			c->negative = c->negative != (negative && powers == 1);
		}
	}
	return RB_OK;
}

/* ---- residues ---- */

typedef uint64_t residue_point[3];

/* Computes the residues of a - b. */
static void
subtract_points(const rb_prime *m, residue_point r, const residue_point a, const residue_point b)
{
	for (int i = 0; i < 3; i++)
		r[i] = rb_residue_sub(m, a[i], b[i]);
}

/* Computes the residues of the coordinates of p. */
static void
read_point(const comparison *c, const rb_prime *m, residue_point r, const double *p)
{
	for (int i = 0; i < 3; i++)
		r[i] = rb_residue_of(m, p[i], c->shift);
}

/* Returns det(a, b, c). */
static uint64_t
determinant_of_residues(const rb_prime *m, const residue_point a, const residue_point b,
						const residue_point c)
{
	uint64_t sum = 0;

	for (int i = 0; i < 3; i++)
	{
		const int j = (i + 1) % 3, k = (i + 2) % 3;
		const uint64_t minor =
			rb_residue_sub(m, rb_residue_mul(m, b[j], c[k]), rb_residue_mul(m, b[k], c[j]));

		sum = rb_residue_add(m, sum, rb_residue_mul(m, a[i], minor));
	}
	return sum;
}

/*
 * Computes a point relative to the origin, multiplied by its denominator, and the denominator,
 * which is 1 for a corner.
 */
static void
find_point(const comparison *c, const rb_prime *m, const residue_point origin,
		   const rb_overlap_point *p, residue_point r, uint64_t *denominator)
{
	residue_point b, e, t[3], u, v, w;
	uint64_t from;

	read_point(c, m, b, p->b);
	subtract_points(m, r, b, origin);
	*denominator = m->one;
	if (p->plane == NULL)
		return;
	read_point(c, m, e, p->c);
	subtract_points(m, e, e, b);
	for (int k = 0; k < 3; k++)
		read_point(c, m, t[k], p->plane + 3 * k);
	subtract_points(m, u, t[1], t[0]);
	subtract_points(m, v, t[2], t[0]);
	subtract_points(m, w, b, t[0]);
	/* The point is b + t e with t = from / (from - to), and to - from is the determinant with e. */
	from = determinant_of_residues(m, w, u, v);
	*denominator = rb_residue_sub(m, 0, determinant_of_residues(m, e, u, v));
	for (int i = 0; i < 3; i++)
		r[i] =
			rb_residue_add(m, rb_residue_mul(m, r[i], *denominator), rb_residue_mul(m, e[i], from));
}

/*
 * Adds det(a, p, q), and its product with coordinate `axis` of a + p + q. Points p and q are
 * multiplied by their denominators d and f, and `inverse` is 1 / (d f).
 */
static void
add_residue_tetrahedron(const comparison *c, const rb_prime *m, const residue_point a,
						const residue_point p, const residue_point q, uint64_t d, uint64_t f,
						uint64_t inverse, bool minus, uint64_t *volume, uint64_t *moment)
{
	uint64_t det = rb_residue_mul(m, determinant_of_residues(m, a, p, q), inverse);

	if (minus)
		det = rb_residue_sub(m, 0, det);
	*volume = rb_residue_add(m, *volume, det);
	if (c->value != RB_OVERLAP_VOLUME)
	{
		const int i = c->value;
		const uint64_t off = rb_residue_mul(
			m, inverse, rb_residue_add(m, rb_residue_mul(m, p[i], f), rb_residue_mul(m, q[i], d)));

		*moment = rb_residue_add(m, *moment, rb_residue_mul(m, det, rb_residue_add(m, a[i], off)));
	}
}

/*
 * Computes the residue of X times the common denominator. Sets *usable to false if the prime divides
 * that denominator.
 */
static rb_status
find_residue(rb_context *ctx, const void *arg, const rb_prime *m, uint64_t *residue, bool *usable)
{
	const comparison *c = arg;
	const int shift = c->shift;
	uint64_t volume = 0, moment = 0, common = m->one, x;
	residue_point origin;

	read_point(c, m, origin, c->t->origin);
	*usable = true;
	for (uint64_t i = 0; i < c->t->terms.n; i++)
	{
		const rb_overlap_term *term = &c->t->terms.at[i];
		residue_point a, p, q;
		uint64_t d, f, inverse;

		if (rb_stop_due(ctx, i, 4096))
			return RB_STOPPED;
		find_point(c, m, origin, &term->p, p, &d);
		find_point(c, m, origin, &term->q, q, &f);
		inverse = rb_residue_mul(m, d, f);
		if (inverse == 0)
		{
			*usable = false;
			return RB_OK;
		}
		if (term->minus != NULL && is_ascending(&term->p))
			common = rb_residue_mul(m, common, d);
		if (term->minus != NULL && is_ascending(&term->q))
			common = rb_residue_mul(m, common, f);
		if (inverse != m->one)
			inverse = rb_residue_inverse(m, inverse);
		read_point(c, m, a, term->plus);
		subtract_points(m, a, a, origin);
		add_residue_tetrahedron(c, m, a, p, q, d, f, inverse, false, &volume, &moment);
		if (term->minus == NULL)
			continue;
		read_point(c, m, a, term->minus);
		subtract_points(m, a, a, origin);
		add_residue_tetrahedron(c, m, a, p, q, d, f, inverse, true, &volume, &moment);
	}
	if (c->value == RB_OVERLAP_VOLUME)
	{
		/* X times 2^(3 shift + more) */
		x = rb_residue_mul(m, volume, rb_residue_of_number(m, &c->factor, c->more));
		x = rb_residue_add(m, x, rb_residue_of_number(m, &c->constant, 3 * shift + c->more));
	}
	else
	{
		/* X times 2^(4 shift + more) */
		x = rb_residue_mul(m, moment, rb_residue_of(m, 2, c->more));
		x = rb_residue_add(
			m, x, rb_residue_mul(m, volume, rb_residue_of_number(m, &c->factor, shift + c->more)));
		common = rb_residue_mul(m, common, common);
	}
	*residue = rb_residue_mul(m, x, common);
	return RB_OK;
}

/*
 * Sets *sign to that of (exact value - (low + high) / 2), where the value is the volume or a
 * coordinate of the centroid, and the doubles are finite, except that `high` may be infinite: then
 * 2^1024 takes its place.
 */
static rb_status
compare_with_middle(rb_context *ctx, const rb_overlap_terms *t, int value, double low, double high,
					int *sign)
{
	comparison c;
	uint64_t bits;

	RB_TRY(open_comparison(ctx, &c, t, value, low, high, &bits));
	RB_TRY(rb_integer_sign(ctx, bits, find_residue, &c, sign));
	if (c.negative)
		*sign = -*sign;
	return RB_OK;
}

/*
 * Sets *likely to false if the exact value is known to differ from (low + high) / 2; tests a single
 * prime.
 */
static rb_status
may_equal_middle(rb_context *ctx, const rb_overlap_terms *t, int value, double low, double high,
				 bool *likely)
{
	comparison c;
	uint64_t bits;

	RB_TRY(open_comparison(ctx, &c, t, value, low, high, &bits));
	return rb_integer_may_be_zero(ctx, find_residue, &c, likely);
}

/* ---- exact sums ---- */

/* Maximum length in words of a common denominator with which exact sums are computed */
#define MOST_DENOMINATOR RB_SIZE(100, 16)

/* A point relative to the origin, multiplied by its denominator */
typedef struct exact_point
{
	rb_number at[3];
	rb_number below;
} exact_point;

/*
 * Computes a point relative to the origin, multiplied by its denominator, which is 1 for a corner.
 */
static void
find_exact_point(exact_point *r, const rb_overlap_point *p, const double *origin)
{
	rb_number from, to, x, y;

	if (p->plane == NULL)
		rb_number_of(&r->below, 1);
	else
	{
		rb_number_orient3d(&from, p->plane, p->plane + 3, p->plane + 6, p->b);
		rb_number_orient3d(&to, p->plane, p->plane + 3, p->plane + 6, p->c);
		rb_number_sub(&r->below, &from, &to);
	}
	for (int a = 0; a < 3; a++)
	{
		rb_number_difference(&r->at[a], p->b[a], origin[a]);
		if (p->plane == NULL)
			continue;
		rb_number_mul(&x, &r->at[a], &r->below);
		rb_number_difference(&to, p->c[a], p->b[a]);
		rb_number_mul(&y, &to, &from);
		rb_number_add(&r->at[a], &x, &y);
	}
}

/* Sets r to a b if it has room, and otherwise *fits to false. */
static void
multiply_if_room(rb_number *r, const rb_number *a, const rb_number *b, bool *fits)
{
	*fits = *fits && a->n + b->n + 2 <= RB_NUMBER_WORDS;
	if (*fits)
		rb_number_mul(r, a, b);
}

/* Adds a b to the sum if there is room, and otherwise sets *fits to false. */
static void
add_product_if_room(rb_number *sum, const rb_number *a, const rb_number *b, bool *fits)
{
	rb_number x;

	multiply_if_room(&x, a, b, fits);
	*fits = *fits && rb_number_has_room_for_sum(sum, &x);
	if (*fits)
		rb_number_add(sum, sum, &x);
}

/* Computes the product of the denominators of all points. */
static rb_status
find_common_denominator(rb_context *ctx, const rb_overlap_terms *t, rb_number *common, bool *fits)
{
	exact_point point;
	rb_number x;

	rb_number_of(common, 1);
	for (size_t i = 0; i < t->terms.n && *fits; i++)
	{
		const rb_overlap_point *p[2];
		const int points = points_of_denominator(&t->terms.at[i], p);

		if (rb_stop_due(ctx, i, 256))
			return RB_STOPPED;
		for (int k = 0; k < points && *fits; k++)
		{
			find_exact_point(&point, p[k], t->origin);
			multiply_if_room(&x, common, &point.below, fits);
			*fits = *fits && x.n <= MOST_DENOMINATOR;
			if (*fits)
				rb_number_copy(common, &x);
		}
	}
	return RB_OK;
}

/* Adds the tetrahedron with that apex, multiplied by `sign`. */
static void
add_exact_tetrahedron(rb_overlap_fractions *r, const double *apex, const double *origin,
					  const exact_point *p, const exact_point *q, const rb_number factors[3],
					  int sign, bool *fits)
{
	rb_number a[3], cross[3], det, sum, x, y;

	for (int i = 0; i < 3; i++)
	{
		const int j = (i + 1) % 3, k = (i + 2) % 3;

		rb_number_difference(&a[i], apex[i], origin[i]);
		rb_number_det2(&cross[i], &p->at[j], &p->at[k], &q->at[j], &q->at[k]);
	}
	rb_number_dot3(&det, a, cross);
	det.sign *= sign;
	add_product_if_room(&r->volume, &det, &factors[1], fits);
	multiply_if_room(&x, &det, &factors[2], fits);
	for (int i = 0; i < 3 && *fits; i++)
	{
		rb_number_mul(&sum, &a[i], &factors[0]);
		rb_number_mul(&y, &p->at[i], &q->below);
		rb_number_add(&sum, &sum, &y);
		rb_number_mul(&y, &q->at[i], &p->below);
		rb_number_add(&sum, &sum, &y);
		add_product_if_room(&r->moment[i], &x, &sum, fits);
	}
}

/* Computes the exact sums. Sets *fits to false if they are too long. */
static rb_status
add_terms_exactly(rb_context *ctx, const rb_overlap_terms *t, rb_overlap_fractions *r, bool *fits)
{
	/* Denominator of the term; D divided by this denominator; the square of that quotient */
	rb_number factors[3];
	exact_point p, q;

	*fits = true;
	r->volume = (rb_number){.sign = 0};
	for (int a = 0; a < 3; a++)
		r->moment[a] = (rb_number){.sign = 0};
	RB_TRY(find_common_denominator(ctx, t, &r->denominator, fits));
	for (size_t i = 0; i < t->terms.n && *fits; i++)
	{
		const rb_overlap_term *term = &t->terms.at[i];

		if (rb_stop_due(ctx, i, 64))
			return RB_STOPPED;
		find_exact_point(&p, &term->p, t->origin);
		find_exact_point(&q, &term->q, t->origin);
		rb_number_mul(&factors[0], &p.below, &q.below);
		/* The division is exact. */
		rb_number_div(&factors[1], &r->denominator, &factors[0], r->denominator.n + 1);
		rb_number_mul(&factors[2], &factors[1], &factors[1]);
		add_exact_tetrahedron(r, term->plus, t->origin, &p, &q, factors, 1, fits);
		if (term->minus != NULL)
			add_exact_tetrahedron(r, term->minus, t->origin, &p, &q, factors, -1, fits);
	}
	return RB_OK;
}

/* ---- sums in double-double ---- */

/* ---- sums in double-double arithmetic ---- */

/*
 * Let e = 2^-106. The bounds of double_double.h give, rounded up, with the largest coordinates A, P
 * and Q of the points a, p and q, E of the edge from b to c, and N_i as in measures.c:
 *
 *		determinant n . w					29 e times the sum of |w_i| N_i
 *		t = from / (from - to)				the errors of both determinants / |from - to|, and 24 e
 *		point b + t (c - b)					E (error of t + 8 e) + 4 e (P + E)
 *		det(a, p, q)						29 e 6 A P Q, and 6 A (P error of q + Q error of p + both)
 *		its product with a + p + q			error of det (A + P + Q), and |det| times the errors of
 *											p and q and 25 e (A + P + Q)
 *
 * Each addition to a sum adds 4 e times a partial sum. Sums of doubles here are accurate to a factor
 * of 1.01, which every bound is multiplied by at the end. With coordinates below MOST_EXTENT and
 * denominators above LEAST_DENOMINATOR, underflows of 2^-1070 each grow by less than 2^620.
 */
#define EPS RB_EPS_DOUBLE_DOUBLE
#define MOST_EXTENT 0x1p75
#define LEAST_DENOMINATOR 0x1p-300
#define UNDERFLOW 0x1p-440

/* A point relative to the origin */
typedef struct rough_point
{
	rb_double_double at[3];
	double size;  /* Bound on the coordinates */
	double error; /* Bound on the errors of the coordinates */
} rough_point;

typedef struct rough_overlap
{
	rb_double_double volume;
	rb_double_double moment[3];
	double volume_error;
	double moment_error;
	double volume_size; /* Sum of the sizes of the terms */
	double moment_size;
	double terms;
} rough_overlap;

/* Returns the largest absolute value of the coordinates. */
static double
largest_of(const rb_double_double v[3])
{
	return rb_max(fabs(v[0].high), rb_max(fabs(v[1].high), fabs(v[2].high)));
}

/* Computes p - q. */
static void
subtract_corners(rb_double_double r[3], const double *p, const double *q)
{
	for (int a = 0; a < 3; a++)
		r[a] = rb_double_double_difference(p[a], q[a]);
}

/* Computes a point relative to the origin. Returns false if the errors are too large. */
static bool
find_rough_point(rough_point *r, const rb_overlap_point *p, const double *origin)
{
	rb_double_double u[3], v[3], n[3], w[3], edge[3], t, below;
	double bound = 0, error, length;

	subtract_corners(r->at, p->b, origin);
	r->size = largest_of(r->at);
	r->error = 0;
	if (p->plane == NULL)
		return true;
	subtract_corners(u, p->plane + 3, p->plane);
	subtract_corners(v, p->plane + 6, p->plane);
	rb_double_double_cross(u, v, n);
	subtract_corners(w, p->b, p->plane);
	subtract_corners(edge, p->c, p->b);
	for (int a = 0; a < 3; a++)
	{
		const int j = (a + 1) % 3, k = (a + 2) % 3;

		bound += (fabs(w[a].high) + fabs(edge[a].high)) *
				 (fabs(u[j].high * v[k].high) + fabs(u[k].high * v[j].high));
	}
	below = rb_double_double_dot(n, edge);
	error = 29 * EPS * bound;
	if (!(fabs(below.high) >= LEAST_DENOMINATOR && fabs(below.high) >= 0x1p20 * error))
		return false;
	t = rb_double_double_minus(rb_double_double_div(rb_double_double_dot(n, w), below));
	length = largest_of(edge);
	for (int a = 0; a < 3; a++)
		r->at[a] = rb_double_double_add(r->at[a], rb_double_double_mul(t, edge[a]));
	r->size += length;
	r->error = length * (error / fabs(below.high) + 32 * EPS) + 4 * EPS * r->size;
	return true;
}

/* Adds a tetrahedron, multiplied by `sign`. */
static void
add_rough_tetrahedron(rough_overlap *s, const double *apex, const double *origin,
					  const rough_point *p, const rough_point *q, int sign)
{
	rb_double_double a[3], n[3], det;
	double size, error, sum;

	subtract_corners(a, apex, origin);
	rb_double_double_cross(p->at, q->at, n);
	det = rb_double_double_dot(a, n);
	if (sign < 0)
		det = rb_double_double_minus(det);
	size = largest_of(a);
	sum = size + p->size + q->size;
	error = 6 * size *
			(29 * EPS * p->size * q->size + p->size * q->error + q->size * p->error +
			 p->error * q->error);
	s->volume = rb_double_double_add(s->volume, det);
	s->volume_error += error;
	s->volume_size += fabs(det.high);
	s->moment_error +=
		error * sum + (fabs(det.high) + error) * (p->error + q->error + 25 * EPS * sum);
	s->moment_size += fabs(det.high) * sum;
	s->terms++;
	for (int i = 0; i < 3; i++)
		s->moment[i] = rb_double_double_add(
			s->moment[i],
			rb_double_double_mul(
				det, rb_double_double_add(rb_double_double_add(a[i], p->at[i]), q->at[i])));
}

/* Computes the results from rough sums. Returns false if the rounding of one is not decided. */
static bool
round_rough_sums(const rough_overlap *s, const double *origin, rb_overlap *o)
{
	const double n = s->terms;
	const double volume_error =
		1.01 * (s->volume_error + 4 * EPS * n * s->volume_size) + UNDERFLOW * n;
	const double moment_error =
		1.01 * (s->moment_error + 4 * EPS * n * s->moment_size) + UNDERFLOW * n;
	const double volume = s->volume.high;
	rb_double_double q, c;

	if (!(volume > 0x1p20 * volume_error))
		return false;
	q = rb_double_double_div(s->volume, rb_double_double_of(6));
	if (!rb_round_within(q, volume_error / 4 + 32 * EPS * q.high, &o->volume))
		return false;
	for (int a = 0; a < 3; a++)
	{
		double error;

		q = rb_double_double_div(s->moment[a],
								 rb_double_double_mul(s->volume, rb_double_double_of(4)));
		c = rb_double_double_add(rb_double_double_of(origin[a]), q);
		error = 1.01 * (moment_error / (4 * volume) + fabs(q.high) * (volume_error / volume));
		error += 40 * EPS * fabs(q.high) + 8 * EPS * fabs(c.high) + UNDERFLOW;
		if (!rb_round_within(c, error, &o->centroid[a]))
			return false;
	}
	return true;
}

/* Sums all terms. Sets *decided to false if more precision is needed. */
static rb_status
sum_roughly(rb_context *ctx, const rb_overlap_terms *t, rb_overlap *o, bool *decided)
{
	rough_overlap s = {.terms = 0};
	rough_point p, q;

	*decided = false;
	if (rb_number_round(&t->extent) > MOST_EXTENT)
		return RB_OK;
	for (size_t i = 0; i < t->terms.n; i++)
	{
		const rb_overlap_term *term = &t->terms.at[i];

		if (rb_stop_due(ctx, i, 4096))
			return RB_STOPPED;
		if (!find_rough_point(&p, &term->p, t->origin) ||
			!find_rough_point(&q, &term->q, t->origin))
			return RB_OK;
		add_rough_tetrahedron(&s, term->plus, t->origin, &p, &q, 1);
		if (term->minus != NULL)
			add_rough_tetrahedron(&s, term->minus, t->origin, &p, &q, -1);
	}
	*decided = round_rough_sums(&s, t->origin, o);
	return RB_OK;
}

/* ---- sums of exact numbers ---- */

/* Sums of terms, each computed to `words` words */
typedef struct overlap_sums
{
	const double *origin;
	int words;
	int top; /* Words of the extent above the point: the extent is at least 2^(64 (top - 1)) */
	uint64_t terms;
	rb_number volume;
	rb_number moment[3];
} overlap_sums;

/*
 * Truncates a number that is to be compared with a power of the extent R, with an error of at most
 * u R^power (see below). Its words are at fixed positions, whatever its size is: products and sums of
 * such numbers therefore stay short.
 */
static void
truncate_to_power(const overlap_sums *s, rb_number *r, int power)
{
	rb_number_truncate_at(r, power * (s->top - 1) + 1 - s->words);
}

/* Sets r = a b, truncated as by truncate_to_power. */
static void
multiply_truncated(const overlap_sums *s, rb_number *r, const rb_number *a, const rb_number *b,
				   int power)
{
	rb_number_mul(r, a, b);
	truncate_to_power(s, r, power);
}

/* Computes a corner relative to the origin. */
static void
find_relative_corner(rb_number r[3], const double *p, const double *origin)
{
	for (int a = 0; a < 3; a++)
		rb_number_difference(&r[a], p[a], origin[a]);
}

/* Computes a point relative to the origin. */
static void
find_relative_point(rb_number r[3], const overlap_sums *s, const rb_overlap_point *p)
{
	rb_number t, to, e;

	find_relative_corner(r, p->b, s->origin);
	if (p->plane == NULL)
		return;
	rb_number_orient3d(&t, p->plane, p->plane + 3, p->plane + 6, p->b);
	rb_number_orient3d(&to, p->plane, p->plane + 3, p->plane + 6, p->c);
	rb_number_sub(&to, &t, &to);
	rb_number_div(&e, &t, &to, s->words);
	rb_number_copy(&t, &e);
	rb_number_truncate(&t, s->words);
	for (int a = 0; a < 3; a++)
	{
		rb_number_difference(&e, p->c[a], p->b[a]);
		multiply_truncated(s, &to, &e, &t, 1);
		rb_number_add(&r[a], &r[a], &to);
		truncate_to_power(s, &r[a], 1);
	}
}

/* Computes det(a, b, c), truncated. */
static void
find_determinant(const overlap_sums *s, rb_number *det, const rb_number *a, const rb_number *b,
				 const rb_number *c)
{
	rb_number minor, x;

	det->sign = det->n = det->low = 0;
	for (int i = 0; i < 3; i++)
	{
		const int j = (i + 1) % 3, k = (i + 2) % 3;

		rb_number_det2(&minor, &b[j], &b[k], &c[j], &c[k]);
		truncate_to_power(s, &minor, 2);
		multiply_truncated(s, &x, &a[i], &minor, 3);
		rb_number_add(det, det, &x);
	}
	truncate_to_power(s, det, 3);
}

/* Adds det(a, p, q) and det(a, p, q) (a + p + q), both multiplied by `sign`. */
static void
add_tetrahedron(overlap_sums *s, const double *apex, const rb_number *p, const rb_number *q,
				int sign)
{
	rb_number a[3], det, sum, term;

	find_relative_corner(a, apex, s->origin);
	find_determinant(s, &det, a, p, q);
	det.sign *= sign;
	rb_number_add(&s->volume, &s->volume, &det);
	for (int i = 0; i < 3; i++)
	{
		rb_number_add(&sum, &a[i], &p[i]);
		rb_number_add(&sum, &sum, &q[i]);
		multiply_truncated(s, &term, &det, &sum, 4);
		rb_number_add(&s->moment[i], &s->moment[i], &term);
	}
	s->terms++;
}

/* Computes all sums. */
static rb_status
add_all_terms(rb_context *ctx, const rb_overlap_terms *t, overlap_sums *s)
{
	for (size_t i = 0; i < t->terms.n; i++)
	{
		const rb_overlap_term *term = &t->terms.at[i];
		rb_number p[3], q[3];

		if (rb_stop_due(ctx, i, 256))
			return RB_STOPPED;
		find_relative_point(p, s, &term->p);
		find_relative_point(q, s, &term->q);
		add_tetrahedron(s, term->plus, p, q, 1);
		if (term->minus != NULL)
			add_tetrahedron(s, term->minus, p, q, -1);
	}
	return RB_OK;
}

/* ---- bounds ---- */

/*
 * Let u = 2^(64 (1 - words)), the relative error of a quotient, and R a bound on the coordinates
 * relative to the origin, so 2 R bounds an edge. A number is truncated with an error of at most u R^k,
 * where k is its degree. A parameter has an error of 2 u, a point on an edge
 * 2 R (2 u + u) + u R < 8 u R. In det(a, p, q), a is exact; the error of a minor is at most 4 R 8 u R
 * + 2 u R^2, of its product with a coordinate 36 u R^3, and of the determinant 114 u R^3. It is at
 * most 6 R^3, and its product with a + p + q has an error of 3 R 114 u R^3 + 6 R^3 17 u R + 18 u R^4
 * < 512 u R^4. Additions are exact.
 */
#define VOLUME_ERROR 128
#define MOMENT_ERROR 512
#define LEAST_WORDS 3
#define MOST_WORDS RB_SIZE(96, 12)
/*
 * A coordinate of a point has as many words as an input coordinate, or those from a fixed position
 * on. A determinant of two points has up to twice as many. The error has as many bits as the fourth
 * power of the extent, up to four times as many as a difference of doubles.
 */
_Static_assert(2 * (RB_NUMBER_DEGREE(1, 2) + MOST_WORDS + 2) + 1 <= RB_NUMBER_WORDS,
			   "room for a determinant of truncated points");
_Static_assert(RB_NUMBER_DEGREE(4, 80) + MOST_WORDS + 4 <= RB_NUMBER_WORDS,
			   "room for a sum of truncated moments");
#define TEST_WORDS 12 /* Words from which a result may be in the middle of two doubles */

/* Sets r = factor R^power u. */
static void
bound_error(rb_number *r, uint64_t factor, const rb_number *extent, int power, int words)
{
	rb_number x, product;

	rb_number_of_parts(r, 1, -64 * (words - 1));
	rb_number_of(&x, (double) factor);
	for (int i = -1; i < power; i++)
	{
		rb_number_mul(&product, r, i < 0 ? &x : extent);
		rb_number_copy(r, &product);
	}
}

/* Rounds low + m / (4 v), a coordinate of the centroid. */
static double
round_centroid(double low, const rb_number *m, const rb_number *v)
{
	rb_number four, divisor, x, term;

	rb_number_of(&four, 4);
	rb_number_mul(&divisor, v, &four);
	rb_number_of(&x, low);
	rb_number_mul(&term, &divisor, &x);
	rb_number_add(&term, &term, m);
	return rb_number_round_quotient(&term, &divisor) + 0.0;
}

/* Rounds v / 6. */
static double
round_sixth(const rb_number *v)
{
	rb_number six;

	rb_number_of(&six, 6);
	return rb_number_round_quotient(v, &six);
}

/* Bounds on a result: doubles to which its lower and upper bound round */
typedef struct bounds
{
	double low;
	double high;
} bounds;

/* Bounds the results: coordinates of the centroid, then the volume, which is positive. */
static void
bound_results(const overlap_sums *s, const rb_number *extent, bounds b[4])
{
	rb_number error, least, most, m;

	bound_error(&error, VOLUME_ERROR * s->terms, extent, 3, s->words);
	rb_number_sub(&least, &s->volume, &error);
	rb_number_add(&most, &s->volume, &error);
	b[RB_OVERLAP_VOLUME].low = least.sign > 0 ? round_sixth(&least) : 0;
	b[RB_OVERLAP_VOLUME].high = round_sixth(&most);
	bound_error(&error, MOMENT_ERROR * s->terms, extent, 4, s->words);
	for (int a = 0; a < 3; a++)
	{
		b[a] = (bounds){-HUGE_VAL, HUGE_VAL};
		if (least.sign <= 0)
			continue;
		rb_number_sub(&m, &s->moment[a], &error);
		b[a].low = round_centroid(s->origin[a], &m, m.sign < 0 ? &least : &most);
		rb_number_add(&m, &s->moment[a], &error);
		b[a].high = round_centroid(s->origin[a], &m, m.sign < 0 ? &most : &least);
	}
}

/* ---- exact decisions ---- */

/* A result of an overlap */
typedef struct result_of_overlap
{
	const rb_overlap_terms *terms;
	int value;
} result_of_overlap;

/* Compares a result with the middle of two doubles. */
static rb_status
compare_result(rb_context *ctx, const void *arg, double low, double high, int *sign)
{
	const result_of_overlap *r = arg;

	return compare_with_middle(ctx, r->terms, r->value, low, high, sign);
}

/* Decides a result if it is decided by its bounds, or likely to be in the middle of two doubles. */
static rb_status
decide_result(rb_context *ctx, const rb_overlap_terms *t, const overlap_sums *s, int value,
			  bounds b, double *result, bool *decided)
{
	const result_of_overlap of = {t, value};
	bool likely;

	*result = b.low;
	*decided = b.low == b.high;
	if (*decided || s->words < TEST_WORDS)
		return RB_OK;
	if (b.low >= -DBL_MAX && nextafter(b.low, HUGE_VAL) == b.high)
	{
		RB_TRY(may_equal_middle(ctx, t, value, b.low, b.high, &likely));
		*decided = likely;
		if (likely)
			return rb_nearest_double(ctx, compare_result, &of, b.low, b.high, result);
	}
	*decided = s->words == MOST_WORDS;
	if (!*decided)
		return RB_OK;
	/* The bounds may have been rounded beyond the result. */
	return rb_nearest_double(ctx, compare_result, &of,
							 b.low > -DBL_MAX ? nextafter(b.low, -HUGE_VAL) : -DBL_MAX,
							 nextafter(b.high, HUGE_VAL), result);
}

/* Sets r to a b if it has room. Returns false otherwise. */
static bool
multiply_with_room(rb_number *r, const rb_number *a, const rb_number *b)
{
	if (a->n + b->n + 4 > RB_NUMBER_WORDS)
		return false;
	rb_number_mul(r, a, b);
	return true;
}

/* Rounds the results from the exact sums. Returns false if they are too long. */
static bool
round_exact_sums(const rb_overlap_terms *t, const rb_overlap_fractions *f, double result[4])
{
	rb_number six, below, x, y, four;

	rb_number_of(&six, 6);
	rb_number_of(&four, 4);
	if (!multiply_with_room(&below, &f->denominator, &six))
		return false;
	result[RB_OVERLAP_VOLUME] = rb_number_round_quotient(&f->volume, &below);
	/* The centroid is o + moment / (4 volume denominator). */
	if (!multiply_with_room(&x, &f->volume, &f->denominator) ||
		!multiply_with_room(&below, &x, &four))
		return false;
	for (int a = 0; a < 3; a++)
	{
		rb_number_of(&x, t->origin[a]);
		if (!multiply_with_room(&y, &below, &x) || !rb_number_has_room_for_sum(&y, &f->moment[a]))
			return false;
		rb_number_add(&y, &y, &f->moment[a]);
		result[a] = rb_number_round_quotient(&y, &below) + 0.0;
	}
	return true;
}

/* Computes the results from the exact sums, if these are short enough. */
static rb_status
decide_exactly(rb_context *ctx, const rb_overlap_terms *t, double result[4], bool *decided)
{
	rb_overlap_fractions f;

	RB_TRY(add_terms_exactly(ctx, t, &f, decided));
	*decided = *decided && round_exact_sums(t, &f, result);
	return RB_OK;
}

rb_status
rb_overlap_sum(rb_context *ctx, const rb_overlap_terms *t, rb_overlap *overlap)
{
	bool decided[4] = {false};
	double result[4];
	bool rough;

	RB_TRY(sum_roughly(ctx, t, overlap, &rough));
	if (rough)
		return RB_OK;
	for (int words = LEAST_WORDS; words <= MOST_WORDS; words *= 2)
	{
		overlap_sums s = {.origin = t->origin, .words = words, .top = t->extent.low + t->extent.n};
		bounds b[4];
		bool all = true;

		RB_TRY(add_all_terms(ctx, t, &s));
		bound_results(&s, &t->extent, b);
		for (int value = 0; value < 4; value++)
		{
			if (!decided[value])
				RB_TRY(decide_result(ctx, t, &s, value, b[value], &result[value], &decided[value]));
			all = all && decided[value];
		}
		if (!all && words == LEAST_WORDS)
			RB_TRY(decide_exactly(ctx, t, result, &all));
		if (all)
			break;
	}
	overlap->volume = rb_max(result[RB_OVERLAP_VOLUME], 0x1p-1074);
	memcpy(overlap->centroid, result, sizeof overlap->centroid);
	return RB_OK;
}

rb_status
rb_overlap_reaches(rb_context *ctx, const rb_overlap_terms *t, double volume, double least,
				   bool *reaches)
{
	int sign;

	*reaches = volume > least;
	if (volume != least)
		return RB_OK;
	RB_TRY(compare_with_middle(ctx, t, RB_OVERLAP_VOLUME, least, least, &sign));
	*reaches = sign >= 0;
	return RB_OK;
}
