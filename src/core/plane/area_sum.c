/*
 * area_sum.c
 *	  Sums the terms of a common area: first in double-double arithmetic, with a bound, and exactly if
 *	  that does not decide the rounding.
 *
 * With all coordinates relative to the origin, and P the point where uv crosses xy, the terms of twice
 * the area (polygon_overlaps.c) are
 *
 *		u x v										for an edge whose end v is inside
 *		(u x v) t_e - (x x y) t_h = (u - x) x P		for a crossing, negative if uv enters
 *
 * since u x P = t_e (u x v). P = u + (N / D) e with e = v - u, h = y - x, N = (x - u) x h and
 * D = e x h.
 */
#include "core/exact/double_double.h"
#include "core/exact/fractions.h"
#include "core/plane/plane.h"
#include "core/solid/solid.h"

#include <math.h>

#define CHECK_INTERVAL 4096 /* Number of terms between checks for cancellation */

/* ---- double-double arithmetic ---- */

/*
 * Let e = 2^-106. By the bounds of double_double.h, and since differences of doubles are exact
 * here, a cross product a x b has an error of at most 13 e (|a_x b_y| + |a_y b_x|). The other
 * errors are at most
 *
 *		t = N / D		(error of N + error of D) / |D| + 25 e, as |t| <= 1
 *		P				L (error of t) + 9 e L + 5 e S, with L the larger coordinate of the edge, and
 *						S = L + that of u
 *		(u - x) x P		(|w_x| + |w_y|) (error of P + 13 e S), with w = u - x
 *
 * Each addition adds 4 e times a partial sum. Products of these bounds, computed in doubles, are
 * accurate to a factor of 1.01. With coordinates below MOST_EXTENT and denominators above
 * LEAST_DENOMINATOR, an underflow of 2^-1070 grows by less than 2^510.
 */
#define EPS RB_EPS_DOUBLE_DOUBLE
#define MOST_EXTENT 0x1p100
#define LEAST_DENOMINATOR 0x1p-300
#define UNDERFLOW 0x1p-540

typedef struct rough_area
{
	rb_double_double sum;
	double error;
	double size; /* Sum of the sizes of all terms */
	double terms;
} rough_area;

/* Computes p - q. */
static void
subtract_plane_points(rb_double_double r[2], const double *p, const double *q)
{
	r[0] = rb_double_double_difference(p[0], q[0]);
	r[1] = rb_double_double_difference(p[1], q[1]);
}

/* Computes a x b, and the sum of the sizes of its products. */
static rb_double_double
multiply_across(const rb_double_double *a, const rb_double_double *b, double *size)
{
	const rb_double_double p = rb_double_double_mul(a[0], b[1]);
	const rb_double_double q = rb_double_double_mul(a[1], b[0]);

	*size = fabs(p.high) + fabs(q.high);
	return rb_double_double_sub(p, q);
}

/* Returns the larger size of the coordinates. */
static double
largest_of_two(const rb_double_double *a)
{
	return rb_max(fabs(a[0].high), fabs(a[1].high));
}

/* Adds a term. */
static void
add_rough_term(rough_area *s, rb_double_double term, double error)
{
	s->sum = rb_double_double_add(s->sum, term);
	s->error += error;
	s->size += fabs(term.high) + error;
	s->terms++;
}

/* Adds the term of an edge. Returns false if its coordinates are too large. */
static bool
add_rough_end(rough_area *s, const rb_inner_end *e, const double *origin)
{
	rb_double_double u[2], v[2], term;
	double size;

	subtract_plane_points(u, e->u, origin);
	subtract_plane_points(v, e->v, origin);
	if (!(largest_of_two(u) <= MOST_EXTENT && largest_of_two(v) <= MOST_EXTENT))
		return false;
	term = multiply_across(u, v, &size);
	add_rough_term(s, term, 13 * EPS * size);
	return true;
}

/* Adds the term of a crossing. Returns false if its error is too large. */
static bool
add_rough_crossing(rough_area *s, const rb_edge_crossing *c, const double *origin)
{
	rb_double_double u[2], e[2], h[2], w[2], from, below, t, p[2], term;
	double size[2], length, extent, error;

	subtract_plane_points(u, c->u, origin);
	subtract_plane_points(e, c->v, c->u);
	subtract_plane_points(h, c->y, c->x);
	subtract_plane_points(w, c->u, c->x);
	length = largest_of_two(e);
	extent = largest_of_two(u) + length;
	if (!(extent <= MOST_EXTENT && largest_of_two(h) <= MOST_EXTENT &&
		  largest_of_two(w) <= MOST_EXTENT))
		return false;
	from = rb_double_double_minus(multiply_across(w, h, &size[0]));
	below = multiply_across(e, h, &size[1]);
	error = 13 * EPS * (size[0] + size[1]);
	if (!(fabs(below.high) >= LEAST_DENOMINATOR && fabs(below.high) >= 0x1p20 * error))
		return false;
	t = rb_double_double_div(from, below);
	for (int k = 0; k < 2; k++)
		p[k] = rb_double_double_add(u[k], rb_double_double_mul(t, e[k]));
	error = length * (error / fabs(below.high) + 25 * EPS) + 9 * EPS * length + 5 * EPS * extent;
	term = multiply_across(w, p, &size[0]);
	if (!c->leaves)
		term = rb_double_double_minus(term);
	add_rough_term(s, term, (fabs(w[0].high) + fabs(w[1].high)) * (error + 13 * EPS * extent));
	return true;
}

/* Sums all terms. Sets *decided to false if the rounding is not decided. */
static rb_status
sum_area_roughly(rb_context *ctx, const rb_area_terms *t, double *area, bool *decided)
{
	rough_area s = {.terms = 0};
	rb_double_double half;
	double error;

	*decided = false;
	for (size_t i = 0; i < t->ends.n; i++)
	{
		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		if (!add_rough_end(&s, &t->ends.at[i], t->origin))
			return RB_OK;
	}
	for (size_t i = 0; i < t->crossings.n; i++)
	{
		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		if (!add_rough_crossing(&s, &t->crossings.at[i], t->origin))
			return RB_OK;
	}
	error = 1.01 * (s.error + 4 * EPS * s.terms * s.size) + UNDERFLOW * s.terms;
	half.high = 0.5 * s.sum.high;
	half.low = 0.5 * s.sum.low;
	*decided =
		half.high > 0x1p-500 && rb_round_within(half, 0.5 * error + 4 * EPS * half.high, area);
	return RB_OK;
}

/* ---- fractions ---- */

/* The terms as fractions: the sum of all edges, then the crossings; half of each */
typedef struct exact_area
{
	const rb_area_terms *t;
	rb_number ends;
} exact_area;

/* Computes p - q. */
static void
subtract_plane_numbers(rb_number r[2], const double *p, const double *q)
{
	rb_number_difference(&r[0], p[0], q[0]);
	rb_number_difference(&r[1], p[1], q[1]);
}

/* Computes a x b. */
static void
multiply_numbers_across(rb_number *r, const rb_number *a, const rb_number *b)
{
	rb_number_det2(r, &a[0], &a[1], &b[0], &b[1]);
}

/* Doubles a number. */
static void
double_number(rb_number *r)
{
	rb_number_add(r, r, r);
}

/* Sums the terms of all edges. */
static rb_status
sum_exact_ends(rb_context *ctx, exact_area *a)
{
	a->ends.sign = a->ends.n = a->ends.low = 0;
	for (size_t i = 0; i < a->t->ends.n; i++)
	{
		rb_number u[2], v[2], term;

		if (rb_stop_due(ctx, i, 256))
			return RB_STOPPED;
		subtract_plane_numbers(u, a->t->ends.at[i].u, a->t->origin);
		subtract_plane_numbers(v, a->t->ends.at[i].v, a->t->origin);
		multiply_numbers_across(&term, u, v);
		rb_number_add(&a->ends, &a->ends, &term);
	}
	return RB_OK;
}

/* Computes a term as a fraction. */
static void
get_exact_term(const void *arg, size_t i, rb_number *numerator, rb_number *denominator)
{
	const exact_area *a = arg;
	const rb_edge_crossing *c = &a->t->crossings.at[i > 0 ? i - 1 : 0];
	rb_number u[2], e[2], h[2], w[2], from, x;

	if (i == 0)
	{
		rb_number_copy(numerator, &a->ends);
		rb_number_of(denominator, 2);
		return;
	}
	subtract_plane_numbers(u, c->u, a->t->origin);
	subtract_plane_numbers(e, c->v, c->u);
	subtract_plane_numbers(h, c->y, c->x);
	subtract_plane_numbers(w, c->u, c->x);
	/* w x P = (D (w x u) + N (w x e)) / D */
	multiply_numbers_across(denominator, e, h);
	multiply_numbers_across(&from, h, w);
	multiply_numbers_across(&x, w, e);
	rb_number_mul(numerator, &from, &x);
	multiply_numbers_across(&from, w, u);
	rb_number_mul(&x, &from, denominator);
	rb_number_add(numerator, numerator, &x);
	if (!c->leaves)
		numerator->sign = -numerator->sign;
	double_number(denominator);
}

rb_status
rb_area_sum(rb_context *ctx, const rb_area_terms *t, double *area)
{
	exact_area a = {.t = t};
	const rb_fractions f = {t->crossings.n + 1, get_exact_term, &a};
	bool decided;

	RB_TRY(sum_area_roughly(ctx, t, area, &decided));
	if (decided)
		return RB_OK;
	RB_TRY(sum_exact_ends(ctx, &a));
	RB_TRY(rb_fractions_round(ctx, &f, area));
	*area = rb_max(*area, 0x1p-1074);
	return RB_OK;
}
