/*
 * overlap_exact.c
 *	  Computes the sums of an overlap as exact fractions, and compares volume and centroid with the
 *	  middle of two doubles.
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
#include "core/solid/overlap.h"
#include "core/exact/residue.h"

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

rb_status
rb_overlap_compare(rb_context *ctx, const rb_overlap_terms *t, int value, double low, double high,
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

rb_status
rb_overlap_may_equal(rb_context *ctx, const rb_overlap_terms *t, int value, double low, double high,
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

rb_status
rb_overlap_add_exactly(rb_context *ctx, const rb_overlap_terms *t, rb_overlap_fractions *r,
					   bool *fits)
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
