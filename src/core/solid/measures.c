/*
 * measures.c
 *	  Measures solids exactly: volume, area, centroid and box of each row; rounds to nearest.
 *
 * With the faces abc turned outward, all coordinates relative to one point, and n = (b - a) x
 * (c - a), which has twice the length of the area of abc:
 *
 *		6 V		= sum of a . n							six times the volume
 *		24 M	= sum of (a . n) (a + b + c)			24 times the first moment
 *		2 A		= sum of |n|							twice the area
 *
 * The centroid is M / V. The relative point is the low corner of the solid's box, so the terms have
 * about the size of their sum, wherever the solid is.
 *
 * Rows may have faces turned either way: the sheets of a solid, and the side of each on which the
 * solid lies (sheets.c), show which of them to turn. Triangles without area belong to no sheet and
 * contribute nothing.
 *
 * First, all sums are computed in double-double arithmetic with a bound on their errors. In most
 * rows all doubles within the bounds round to the same result. The sums of the other rows are
 * computed again as exact numbers. Volume and centroid are then exact ratios, which one division
 * rounds. The area is a sum of square roots, computed to more and more digits until its rounding is
 * decided. It never is if the sum is exactly the midpoint of two doubles. But roots of different
 * square-free integers are linearly independent (A. Besicovitch: On the linear independence of
 * fractional powers of integers, 1940), and all terms are positive, so the sum is rational only if
 * each root is; then it is computed exactly.
 *
 * All results are the doubles nearest to the exact values, and so do not depend on the order of the
 * sums or on the threads that compute them.
 */
#include "core/solid/solid.h"
#include "core/exact/double_double.h"
#include "core/join/join.h"
#include "core/set/set.h"

#define GRAIN 16 /* Number of rows a thread takes at a time */
/* Number of triangles of a row that several threads sum, and that a thread takes at a time */
#define LARGE_ROW RB_SIZE(16384, 16)
#define TRIANGLE_GRAIN RB_SIZE(2048, 4)
#define CHECK_INTERVAL 256 /* Triangles between checks for cancellation */

/* Sums of some triangles of a row in double-double arithmetic */
typedef struct rough_sums
{
	rb_double_double volume;
	rb_double_double moment[3];
	rb_double_double area;
	double volume_size; /* Sum of upper bounds on the terms of `volume` before they cancel */
	double area_size;   /* Sum of upper bounds on the terms of `area` before they cancel */
} rough_sums;

/* Exact sums of some triangles of a row */
typedef struct exact_sums
{
	rb_number volume;
	rb_number moment[3];
} exact_sums;

/* Triangles of one row, and their sums */
typedef struct row_sums
{
	rb_context *ctx;
	const double *triangles;
	uint32_t n;
	/* Fans of the set and number of the first triangle; NULL if only the area is wanted */
	const rb_fans *fans;
	uint32_t first;
	double low[3];
	double high[3];
	pthread_mutex_t lock; /* Protects the sums */
	rough_sums rough;
	exact_sums exact;
	rb_number roots;
	int words; /* Precision of the roots */
} row_sums;

/* Returns true if the triangle adds to the sums: triangles without an area are in no sheet. */
static inline bool
is_triangle_measured(const row_sums *r, uint64_t i)
{
	return r->fans == NULL || r->fans->sheet[r->first + i] != RB_NO_SHEET;
}

/*
 * Returns true if the normal of the triangle points into the solid, so that its term is subtracted
 * from the sums of volume and centroid.
 */
static inline bool
is_measured_triangle_inward(const row_sums *r, uint64_t i)
{
	return r->fans != NULL && rb_points_inward(r->fans, r->first + (uint32_t) i);
}

/* Computes the box of the triangles that are measured. */
static rb_status
find_row_box(row_sums *r)
{
	for (int a = 0; a < 3; a++)
	{
		r->low[a] = HUGE_VAL;
		r->high[a] = -HUGE_VAL;
	}
	for (uint32_t i = 0; i < r->n; i++)
	{
		if (rb_stop_due(r->ctx, i, 65536))
			return RB_STOPPED;
		for (int k = 0; k < 9 && is_triangle_measured(r, i); k++)
		{
			/* Adding 0 turns -0 into 0. */
			const double x = r->triangles[9 * (size_t) i + k] + 0.0;

			r->low[k % 3] = rb_min(r->low[k % 3], x);
			r->high[k % 3] = rb_max(r->high[k % 3], x);
		}
	}
	return RB_OK;
}

/* ---- sums in double-double arithmetic ---- */

/*
 * Let e = 2^-106, let N_i be the sum of the absolute values of the two products of component i of
 * n, T the sum of |a_i| N_i, and P the sum of the N_i, for each triangle. By the bounds in
 * double_double.h, rounded up:
 *
 *		component of n				8 e N_i for the products, 4 e N_i for the difference: 12.1 e N_i
 *		a . n						(12.1 + 8.1) e T for the products, 8.1 e T for the sums: 29 e T
 *		(a . n) (a + b + c)_i		(29 + 8.1 + 8.1) e T 3 d_i: 46 e T 3 d_i, d the extents of the box
 *		|n|							12.1 e P, as the norm changes by at most the change of n; then 9 e
 *									for the dot product and 4 e for the root, of |n| <= P: 26 e P
 *
 * Each of at most 2 n additions to a sum adds 4 e times a partial sum, which is at most the sum of
 * all T, T 3 d_i or P. Sums of n doubles are accurate to a factor of 1 + 2^-20. With differences
 * below MOST_EXTENT, nothing overflows, and underflows of 2^-1070 each grow by less than 2^310 in
 * what follows them. A root of a square below 2^-900 is replaced by 0, which changes it by less
 * than 2^-449.
 */
#define MOST_EXTENT 0x1p100
#define LEAST_SQUARE 0x1p-900
#define UNDERFLOW 0x1p-700
#define ROOT_UNDERFLOW 0x1p-440
#define TERM_ERRORS 80.0
#define SUM_ERRORS 10.0

/* Adds the terms of one triangle. */
static void
add_rough_triangle(rough_sums *s, const row_sums *r, uint64_t i)
{
	const double *t = r->triangles + 9 * (size_t) i;
	rb_double_double u[3], v[3], n[3], square;
	double size[3];

	for (int a = 0; a < 3; a++)
	{
		u[a] = rb_double_double_difference(t[3 + a], t[a]);
		v[a] = rb_double_double_difference(t[6 + a], t[a]);
	}
	rb_double_double_cross(u, v, n);
	for (int a = 0; a < 3; a++)
	{
		const int j = (a + 1) % 3, k = (a + 2) % 3;

		size[a] = fabs(u[j].high * v[k].high) + fabs(u[k].high * v[j].high);
		s->area_size += size[a];
	}
	square = rb_double_double_dot(n, n);
	if (square.high >= LEAST_SQUARE)
		s->area = rb_double_double_add(s->area, rb_double_double_sqrt(square));
	if (r->fans != NULL)
	{
		rb_double_double from[3], det;

		for (int a = 0; a < 3; a++)
		{
			from[a] = rb_double_double_difference(t[a], r->low[a]);
			s->volume_size += from[a].high * size[a];
		}
		det = rb_double_double_dot(from, n);
		if (is_measured_triangle_inward(r, i))
			det = rb_double_double_minus(det);
		s->volume = rb_double_double_add(s->volume, det);
		for (int a = 0; a < 3; a++)
		{
			const rb_double_double sum = rb_double_double_add(
				rb_double_double_add(from[a], rb_double_double_difference(t[3 + a], r->low[a])),
				rb_double_double_difference(t[6 + a], r->low[a]));

			s->moment[a] = rb_double_double_add(s->moment[a], rb_double_double_mul(det, sum));
		}
	}
}

/* Adds the terms of a range of triangles. */
static void
add_rough_measures_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	row_sums *r = arg;
	rough_sums s = {.volume = {0, 0}};

	(void) me;
	for (uint64_t i = from; i < to; i++)
		if (is_triangle_measured(r, i))
			add_rough_triangle(&s, r, i);
	pthread_mutex_lock(&r->lock);
	r->rough.volume = rb_double_double_add(r->rough.volume, s.volume);
	for (int a = 0; a < 3; a++)
		r->rough.moment[a] = rb_double_double_add(r->rough.moment[a], s.moment[a]);
	r->rough.area = rb_double_double_add(r->rough.area, s.area);
	r->rough.volume_size += s.volume_size;
	r->rough.area_size += s.area_size;
	pthread_mutex_unlock(&r->lock);
}

/* Computes the area from the rough sums. Returns false if its rounding is not decided. */
static bool
round_rough_area(const row_sums *r, double *area)
{
	const double error =
		RB_EPS_DOUBLE_DOUBLE * (TERM_ERRORS + SUM_ERRORS * r->n) * r->rough.area_size +
		ROOT_UNDERFLOW * r->n;
	const rb_double_double half = {r->rough.area.high / 2, r->rough.area.low / 2};

	/* Errors of sums below the smallest normal doubles are not bounded. */
	return half.high > ROOT_UNDERFLOW && rb_round_within(half, error, area) && *area > 0;
}

/* Computes volume and centroid from the rough sums. Returns false if one is not decided. */
static bool
round_rough_volume(const row_sums *r, rb_measures *m)
{
	const double e = RB_EPS_DOUBLE_DOUBLE, n = r->n;
	const double error = e * (TERM_ERRORS + SUM_ERRORS * n) * r->rough.volume_size + UNDERFLOW * n;
	const rb_double_double volume = r->rough.volume;
	rb_double_double q;

	if (!(volume.high > 0x1p20 * error))
		return false;
	/* The error of the quotient by 6 is at most 24 e times the quotient. */
	q = rb_double_double_div(volume, rb_double_double_of(6));
	if (!rb_round_within(q, error / 4 + 32 * e * q.high, &m->volume))
		return false;
	for (int a = 0; a < 3; a++)
	{
		const double extent = (r->high[a] - r->low[a]) * 1.0001;
		rb_double_double c;
		double off;

		/*
		 * The moment has 3 extents times the error of the volume. The quotient is at most the
		 * extent, and its denominator is at least 3.9 times the volume. This leaves 2 extents times
		 * the relative error of the volume, 24 e for the division, and 4 e for the addition.
		 * Underflows in the moment are divided by the volume.
		 */
		q = rb_double_double_div(r->rough.moment[a],
								 rb_double_double_mul(volume, rb_double_double_of(4)));
		off = 2 * extent * (error / volume.high) + 40 * e * extent;
		c = rb_double_double_add(rb_double_double_of(r->low[a]), q);
		off += 8 * e * fabs(c.high) + UNDERFLOW * (1 + n / volume.high);
		if (!rb_round_within(c, off, &m->centroid[a]))
			return false;
	}
	return true;
}

/* ---- exact sums ---- */

/* Bits by which 2^32 terms of a sum, and the additions within a term, exceed a single product */
#define SUM_BITS 40

_Static_assert(RB_NUMBER_DEGREE(4, SUM_BITS) + 2 <= RB_NUMBER_WORDS / 2,
			   "room for moments, and for the square of a normal");

/* Maximum precision of roots in words: a square of twice this size, and a sum of roots, must fit */
#define MAX_WORDS 160
#define LEAST_WORDS 3

_Static_assert(RB_NUMBER_DEGREE(2, SUM_BITS) + MAX_WORDS + 2 <= RB_NUMBER_WORDS,
			   "room for a sum of roots");

/* Sets x to 0. */
static void
clear_measured_number(rb_number *x)
{
	x->sign = x->n = x->low = 0;
}

/* Sets the sums to 0. */
static void
clear_exact_sums(exact_sums *s)
{
	clear_measured_number(&s->volume);
	for (int a = 0; a < 3; a++)
		clear_measured_number(&s->moment[a]);
}

/* Computes the square of the length of a triangle's normal. */
static void
find_square_of_normal(rb_number *square, const double *t)
{
	rb_number normal[3];

	rb_triangle_normal(normal, t);
	rb_number_dot3(square, normal, normal);
}

/* Adds the exact terms of one triangle. */
static void
add_exact_triangle(exact_sums *s, const row_sums *r, uint64_t i)
{
	const double *t = r->triangles + 9 * (size_t) i;
	rb_number normal[3], from[3], det, sum, term;

	rb_triangle_normal(normal, t);
	for (int a = 0; a < 3; a++)
		rb_number_difference(&from[a], t[a], r->low[a]);
	rb_number_dot3(&det, from, normal);
	if (is_measured_triangle_inward(r, i))
		det.sign = -det.sign;
	rb_number_add(&s->volume, &s->volume, &det);
	for (int a = 0; a < 3; a++)
	{
		rb_number_copy(&sum, &from[a]);
		for (int k = 3; k < 9; k += 3)
		{
			rb_number_difference(&term, t[k + a], r->low[a]);
			rb_number_add(&sum, &sum, &term);
		}
		rb_number_mul(&term, &det, &sum);
		rb_number_add(&s->moment[a], &s->moment[a], &term);
	}
}

/* Adds the exact terms of a range of triangles. */
static void
add_exactly_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	row_sums *r = arg;
	exact_sums s;

	(void) me;
	clear_exact_sums(&s);
	for (uint64_t i = from; i < to; i++)
	{
		if (rb_stop_due(r->ctx, i - from, CHECK_INTERVAL))
			return;
		if (is_triangle_measured(r, i))
			add_exact_triangle(&s, r, i);
	}
	pthread_mutex_lock(&r->lock);
	rb_number_add(&r->exact.volume, &r->exact.volume, &s.volume);
	for (int a = 0; a < 3; a++)
		rb_number_add(&r->exact.moment[a], &r->exact.moment[a], &s.moment[a]);
	pthread_mutex_unlock(&r->lock);
}

/* Adds the lengths of the normals of a range of triangles, rounded down. */
static void
add_roots_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	row_sums *r = arg;
	rb_number square, root, sum = {.sign = 0};

	(void) me;
	for (uint64_t i = from; i < to; i++)
	{
		if (rb_stop_due(r->ctx, i - from, CHECK_INTERVAL))
			return;
		if (!is_triangle_measured(r, i))
			continue;
		find_square_of_normal(&square, r->triangles + 9 * (size_t) i);
		rb_number_root(&root, &square, r->words);
		rb_number_add(&sum, &sum, &root);
	}
	pthread_mutex_lock(&r->lock);
	rb_number_add(&r->roots, &r->roots, &sum);
	pthread_mutex_unlock(&r->lock);
}

/*
 * Sums the roots of all triangles if each of them is rational; otherwise sets *rational to false.
 */
static rb_status
add_rational_roots(row_sums *r, bool *rational)
{
	rb_number square, root;

	*rational = true;
	clear_measured_number(&r->roots);
	for (uint32_t i = 0; i < r->n && *rational; i++)
	{
		if (rb_stop_due(r->ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		if (!is_triangle_measured(r, i))
			continue;
		find_square_of_normal(&square, r->triangles + 9 * (size_t) i);
		*rational = rb_number_is_square(&root, &square);
		if (*rational)
			rb_number_add(&r->roots, &r->roots, &root);
	}
	return RB_OK;
}

/* Returns the double nearest to a positive number, and the smallest one rather than 0. */
static double
round_positive(const rb_number *x)
{
	return rb_max(rb_number_round(x), 0x1p-1074);
}

/* Returns half of a positive number, rounded. */
static double
round_half(const rb_number *x)
{
	rb_number half, y;

	rb_number_of(&half, 0.5);
	rb_number_mul(&y, x, &half);
	return round_positive(&y);
}

/*
 * Rounds half of the sum of roots. Each root is rounded down by less than 2^(64 (1 - words)) times
 * itself. Returns true if that does not affect the result.
 */
static bool
round_roots(const row_sums *r, double *area)
{
	const rb_number *sum = &r->roots;
	const rb_number least = {
		.sign = 1, .n = 1, .low = sum->low + sum->n - r->words + 1, .word = {1}};
	rb_number above;

	*area = 0;
	if (sum->sign == 0)
		return true;
	rb_number_add(&above, sum, &least);
	*area = round_half(sum);
	return *area == round_half(&above);
}

/* Computes the area exactly, on the threads of a team or on this one if `team` is NULL. */
static rb_status
find_exact_area(row_sums *r, rb_thread *team, double *area)
{
	for (r->words = LEAST_WORDS;; r->words = rb_min(2 * r->words, MAX_WORDS))
	{
		bool rational = false;

		clear_measured_number(&r->roots);
		RB_TRY(rb_each(r->ctx, team, r->n, TRIANGLE_GRAIN, add_roots_piece, r));
		if (rb_should_stop(r->ctx))
			return RB_STOPPED;
		if (round_roots(r, area))
			return RB_OK;
		if (r->words == LEAST_WORDS)
			RB_TRY(add_rational_roots(r, &rational));
		if (rational)
		{
			*area = round_half(&r->roots);
			return RB_OK;
		}
		if (r->words == MAX_WORDS)
			return rb_fail(r->ctx, RB_BAD_GEOMETRY, 0, 0,
						   "An area is so close to the midpoint of two doubles that 10,000 bits "
						   "cannot decide which one is nearer.");
	}
}

/* Computes volume and centroid exactly. */
static rb_status
find_exact_volume(row_sums *r, rb_thread *team, rb_measures *m)
{
	rb_number factor, divisor, term, q;

	clear_exact_sums(&r->exact);
	RB_TRY(rb_each(r->ctx, team, r->n, TRIANGLE_GRAIN, add_exactly_piece, r));
	if (rb_should_stop(r->ctx))
		return RB_STOPPED;
	if (r->exact.volume.sign <= 0)
		return rb_fail(r->ctx, RB_BAD_GEOMETRY, 0, 0, "A solid has no volume.");
	rb_number_of(&factor, 6);
	rb_number_div(&q, &r->exact.volume, &factor, LEAST_WORDS);
	m->volume = round_positive(&q);
	rb_number_of(&factor, 4);
	rb_number_mul(&divisor, &r->exact.volume, &factor);
	for (int a = 0; a < 3; a++)
	{
		rb_number_of(&factor, r->low[a]);
		rb_number_mul(&term, &divisor, &factor);
		rb_number_add(&term, &term, &r->exact.moment[a]);
		m->centroid[a] = rb_number_round_quotient(&term, &divisor) + 0.0;
	}
	return RB_OK;
}

/* ---- one row ---- */

/* Computes the measures of a row, on the threads of a team or on this one if `team` is NULL. */
static rb_status
measure_row(row_sums *r, rb_thread *team, rb_measures *m)
{
	bool rough = true;

	RB_TRY(find_row_box(r));
	for (int a = 0; a < 3; a++)
		rough = rough && r->high[a] - r->low[a] <= MOST_EXTENT;
	if (rough)
	{
		memset(&r->rough, 0, sizeof r->rough);
		RB_TRY(rb_each(r->ctx, team, r->n, TRIANGLE_GRAIN, add_rough_measures_piece, r));
		if (rb_should_stop(r->ctx))
			return RB_STOPPED;
	}
	if (!rough || !round_rough_area(r, &m->area))
		RB_TRY(find_exact_area(r, team, &m->area));
	if (r->fans == NULL)
		return RB_OK;
	if (!rough || !round_rough_volume(r, m))
		RB_TRY(find_exact_volume(r, team, m));
	memcpy(m->low, r->low, sizeof m->low);
	memcpy(m->high, r->high, sizeof m->high);
	return RB_OK;
}

rb_status
rb_surface_area(rb_context *ctx, const double *triangles, uint32_t n, double *area)
{
	row_sums r = {.ctx = ctx, .triangles = triangles, .n = n};
	rb_measures m = {.area = 0};
	rb_thread *team = NULL;
	rb_status status = RB_OK;

	if (n >= LARGE_ROW)
		RB_TRY(rb_team_open(ctx, rb_threads_for(ctx, n, TRIANGLE_GRAIN), &team));
	pthread_mutex_init(&r.lock, NULL);
	status = measure_row(&r, team, &m);
	pthread_mutex_destroy(&r.lock);
	rb_team_close(&team);
	*area = m.area;
	return status;
}

/* ---- all rows of a set ---- */

_Static_assert(sizeof(rb_measures) == RB_MEASURES_WORDS * sizeof(uint64_t),
			   "the measures of a row have RB_MEASURES_WORDS words");

typedef struct measuring
{
	rb_context *ctx;
	const rb_set *solids;
	const rb_row_sink *sink;
	const uint32_t *bad;
	const uint32_t *start;
	const rb_fans *fans;
	int status;
} measuring;

/* Measures a row on the threads of a team, or on this one if `team` is NULL. */
static rb_status
measure_row_of_set(const measuring *w, rb_thread *team, uint32_t row, rb_measures *m)
{
	row_sums r = {.ctx = w->ctx,
				  .triangles = w->solids->coords + 9 * (size_t) w->start[row],
				  .n = w->start[row + 1] - w->start[row],
				  .fans = w->fans,
				  .first = w->start[row]};
	rb_status status;

	pthread_mutex_init(&r.lock, NULL);
	status = measure_row(&r, team, m);
	pthread_mutex_destroy(&r.lock);
	return status;
}

/* Returns true if several threads share the triangles of the row. */
static bool
is_measured_row_large(const measuring *w, uint64_t row)
{
	return w->start[row + 1] - w->start[row] >= LARGE_ROW;
}

/* Measures a range of rows, except large ones. */
static void
measure_rows_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	measuring *w = arg;
	rb_pair rows[GRAIN];
	rb_measures m[GRAIN];
	uint64_t payload[GRAIN * RB_MEASURES_WORDS];
	rb_status status = RB_OK;
	size_t n = 0;

	(void) me;
	for (uint64_t row = from; row < to && status == RB_OK; row++)
	{
		if (rb_is_marked(w->bad, (uint32_t) row) || is_measured_row_large(w, row))
			continue;
		status = rb_should_stop(w->ctx) ? RB_STOPPED
										: measure_row_of_set(w, NULL, (uint32_t) row, &m[n]);
		rows[n++] = (rb_pair){(uint32_t) row, (uint32_t) row};
	}
	memcpy(payload, m, n * sizeof *m);
	if (status == RB_OK && n > 0)
		status = w->sink->put(w->sink->user, rows, payload, n);
	rb_keep_failure(&w->status, status);
}

/* Measures the large rows, one after the other. */
static rb_status
measure_large_rows(measuring *w, rb_thread *team)
{
	for (uint32_t row = 0; row < w->solids->nrows; row++)
	{
		const rb_pair pair = {row, row};
		uint64_t payload[RB_MEASURES_WORDS];
		rb_measures m;

		if (rb_is_marked(w->bad, row) || !is_measured_row_large(w, row))
			continue;
		RB_TRY(measure_row_of_set(w, team, row, &m));
		memcpy(payload, &m, sizeof m);
		RB_TRY(w->sink->put(w->sink->user, &pair, payload, 1));
	}
	return RB_OK;
}

/* Measures all rows on several threads. */
static rb_status
measure_all_rows(measuring *w)
{
	const uint32_t n = w->solids->nrows;
	rb_thread *team;
	rb_status status;

	RB_TRY(rb_team_open(w->ctx, rb_threads_for(w->ctx, w->solids->nparts, TRIANGLE_GRAIN), &team));
	status = rb_loop(team, n, GRAIN, measure_rows_piece, w);
	status = rb_loop_failure(w->status, status);
	if (status == RB_OK)
		status = measure_large_rows(w, team);
	rb_team_close(&team);
	return status;
}

rb_status
rb_compose_measures(rb_context *ctx, const rb_backend *backend, const rb_job *job,
					const rb_row_sink *sink)
{
	measuring w = {.ctx = ctx, .solids = job->red, .sink = sink};
	uint32_t *bad = NULL, *start = NULL;
	rb_fans fans = {.set = NULL};
	rb_status status;
	RB_FREE_AT_END(ctx->memory, &bad, &start);

	RB_TRY(rb_solids_check(ctx, backend, job->red, job->skip_bad, RB_SOLID_OF_SOLIDS, &bad));
	RB_TRY(RB_ALLOCATE(ctx, start, (size_t) job->red->nrows + 1));
	RB_TRY(rb_row_starts(ctx, job->red, start));
	w.bad = bad;
	w.start = start;
	w.fans = &fans;
	status = rb_fans_find(ctx, job->red, bad, &fans);
	if (status == RB_OK)
		status = rb_fans_find_inner(ctx, backend, &fans, NULL);
	if (status == RB_OK)
		status = measure_all_rows(&w);
	rb_fans_free(ctx->memory, &fans);
	return status;
}

/* Receives the measures of the only row. */
static rb_status
put_measures(void *user, const rb_pair *rows, const uint64_t *payload, size_t n)
{
	(void) rows;
	if (n > 0)
		memcpy(user, payload, sizeof(rb_measures));
	return RB_OK;
}

rb_status
rb_solid_measure(rb_context *ctx, const rb_set *solid, rb_measures *measures)
{
	const rb_job job = {.red = solid, .predicate = RB_MEASURES};
	const rb_row_sink sink = {.put = put_measures, .user = measures};

	return rb_compose_measures(ctx, &rb_backend_cpu, &job, &sink);
}
