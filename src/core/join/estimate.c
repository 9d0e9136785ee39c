/*
 * estimate.c
 *	  Estimates how many pairs of rows a join will have, from a sample of each side's rows.
 *
 * Belussi, Faloutsos: Estimating the Selectivity of Spatial Queries Using the "Correlation" Fractal
 * Dimension, VLDB 1995; Faloutsos, Seeger, Traina, Traina: Spatial Join Selectivity Using Power
 * Laws, SIGMOD 2000. The number of pairs of points of two sets within a distance r of each other is
 * K r^alpha over many scales, for real data too.
 *
 * Here the points are boxes, one per row. The distance r is replaced by the factor s by which two
 * boxes must grow, each about its center, until they touch:
 *
 *        s = max over axes of (distance of the centers) / (sum of the half widths)
 *
 * Boxes that meet have s <= 1. A sample of two thousand rows per side has few or no such pairs, but
 * there are enough at some larger s. The steps are:
 *
 *      1. Compare all pairs of a few rows of each side, to find the s at which all rows will
 *         have enough pairs, and the axis that separates boxes best.
 *      2. Find the pairs of all rows up to that s, by a sweep along that axis.
 *      3. If pairs with s <= 1 are too few to be counted, fit the power law where there are
 *         enough pairs, and extrapolate it down to s = 1.
 *      4. Test whether some of the pairs whose boxes meet really meet.
 *      5. Scale the result from the examined rows to all rows.
 */
#include "core/base/sort.h"
#include "core/join/join.h"
#include "core/primitive/dispatch.h"

#include <math.h>

#define FIRST_ROWS RB_SIZE(128, 24) /* rows on each side in the first step */
#define MIN_FIRST_PAIRS 16    /* minimum number of pairs at an s for the first step to rely on it */
#define WANTED 400            /* number of pairs that the sweep should find */
#define ENOUGH 32             /* minimum count that is used without extrapolation */
#define FIT 8                 /* the power law is fitted between ENOUGH and FIT * ENOUGH pairs */
#define SWEEP_TESTS (1 << 18) /* approximate maximum number of tests of the sweep */
#define MAX_TESTED_PAIRS RB_SIZE(256, 32) /* maximum number of pairs that are tested exactly */
/* approximate maximum number of part boxes examined for exact tests */
#define MAX_TESTED_PARTS (1 << 16)
#define NEAR_PARTS 256 /* maximum number of parts of one row */
#define PRIOR 4        /* weight of the usual fraction, in tested pairs */

/*
 * Number of bins of pairs by s: the first bin has s <= 1, and each other bin spans a quarter of an
 * octave
 */
#define BINS 256

/*
 * A row and its box, scaled by a quarter so that sums and differences of two numbers do not
 * overflow
 */
typedef struct rb_row_box
{
	double centre[3];
	double half[3];
	double lo[3];
	double hi[3];
	uint32_t from; /* range of its parts */
	uint32_t end;
	int64_t id;
} rb_row_box;

typedef struct rb_rows_sample
{
	const rb_set *set;
	rb_row_box *row;
	uint32_t n;
} rb_rows_sample;

/*
 * Rows in the order of the start of their grown boxes along the sweep axis. They are in single
 * precision, since pairs that are close by these values are tested again.
 */
typedef struct rb_sweep_spans
{
	uint32_t n;
	uint32_t *row;
	float *from;
	float *to;
	float *centre[3];
	float *reach[3]; /* half extent of the grown box */
	void *block;     /* allocation that holds all arrays of spans */
} rb_sweep_spans;

typedef struct rb_estimation
{
	rb_context *ctx;
	const rb_samples *what;
	double pad;
	int dims;
	rb_rows_sample side[2];
	double count[BINS];              /* pairs of each bin, later of all bins up to it */
	double pairs;                    /* number of examined pairs, with any s */
	uint32_t touching;               /* number of pairs with s <= 1 */
	rb_pair touch[MAX_TESTED_PAIRS]; /* sample of the pairs with s <= 1, by rows */
} rb_estimation;

/* ---- rows ---- */

/*
 * Computes the padded box of a part of a sampled row, scaled by a quarter so that no difference
 * overflows.
 */
static void
quarter_box_of_sampled_part(const rb_set *set, uint32_t part, double pad, double lo[3],
							double hi[3])
{
	rb_object_box(set, part, pad, lo, hi);
	for (int a = 0; a < 3; a++)
	{
		lo[a] *= 0.25;
		hi[a] *= 0.25;
	}
}

/* Collects the boxes of the rows of a sample. */
static rb_status
collect_boxes_of_sample_rows(rb_context *ctx, const rb_set *set, double pad, rb_rows_sample *sample)
{
	rb_status status = RB_ALLOCATE(ctx, sample->row, set->nrows + 1);

	sample->set = set;
	if (status != RB_OK)
		return status;
	for (uint32_t part = 0; part < set->nparts; sample->n++)
	{
		rb_row_box *row = &sample->row[sample->n];
		uint32_t number = set->row_of != NULL ? set->row_of[part] : part;

		row->from = part;
		row->id =
			set->ids != NULL ? set->ids[number] : (int64_t) ((uint64_t) set->first_id + number);
		quarter_box_of_sampled_part(set, part, pad, row->lo, row->hi);
		while (++part < set->nparts && set->row_of != NULL && set->row_of[part] == number)
		{
			double lo[3], hi[3];

			quarter_box_of_sampled_part(set, part, pad, lo, hi);
			rb_box_add(row->lo, row->hi, lo, hi);
		}
		row->end = part;
		for (int a = 0; a < 3; a++)
		{
			row->half[a] = 0.5 * (row->hi[a] - row->lo[a]);
			row->centre[a] = row->lo[a] + row->half[a];
		}
	}
	return RB_OK;
}

/* ---- scales ---- */

/* Returns the factor by which two boxes must be scaled around their centers to meet on axis a. */
static inline double
scale_on_axis(const rb_row_box *red, const rb_row_box *blue, int a)
{
	double distance = fabs(red->centre[a] - blue->centre[a]);

	return distance > 0 ? distance / (red->half[a] + blue->half[a]) : 0;
}

/* Returns the bin of s, from the exponent and the first two fraction bits of the double. */
static inline int
bin_of_scale(double s)
{
	uint64_t bits;
	uint64_t bin;

	if (s <= 1)
		return 0;
	memcpy(&bits, &s, sizeof(bits));
	bin = (bits >> 50) - (1023 << 2) + 1;
	return bin < BINS ? (int) bin : BINS - 1;
}

/* Returns the largest s of a bin. */
static inline double
end_of_scale_bin(int bin)
{
	return bin == 0 ? 1 : ldexp(1.25 + 0.25 * ((bin - 1) % 4), (bin - 1) / 4);
}

/* Turns the numbers of pairs in each bin of scales to those up to each bin. */
static void
accumulate_scale_bins(double *count)
{
	for (int k = 1; k < BINS; k++)
		count[k] += count[k - 1];
}

/* Returns the first bin up to which there are n pairs, or BINS if there is none. */
static int
find_scale_bin_of_count(const double *count, double n)
{
	int k = 0;

	while (k < BINS && count[k] < n)
		k++;
	return k;
}

/*
 * Returns true if both sampled rows are the same row of one table; the estimate does not count it
 * as a pair with itself.
 */
static inline bool
is_sampled_row_paired_with_itself(const rb_estimation *e, const rb_row_box *red,
								  const rb_row_box *blue)
{
	return e->what->self && red->id == blue->id;
}

/* Counts a pair of rows by its scale, and retains it for exact tests if the boxes touch. */
static inline void
count_pair_by_scale(rb_estimation *e, uint32_t red, uint32_t blue, double s)
{
	e->count[bin_of_scale(s)]++;
	if (s <= 1)
	{
		/*
		 * Each pair is retained with about the same probability, and the choice is the same in
		 * every run.
		 */
		uint32_t i = e->touching++;

		if (i >= MAX_TESTED_PAIRS)
			i = (uint32_t) ((uint64_t) (i * UINT32_C(2654435769)) * i >> 32);
		if (i < MAX_TESTED_PAIRS)
			e->touch[i] = (rb_pair){red, blue};
	}
}

/* ---- step 1: a few rows ---- */

typedef struct rb_sweep_plan
{
	int bin;      /* last bin that the sweep covers */
	double scale; /* largest s of that bin */
	int axis;     /* axis of the sweep */
	double share; /* fraction of all pairs that the sweep will test */
} rb_sweep_plan;

/* Returns the number of sample rows that are compared each with each before the sweep. */
static uint32_t
count_few_sample_rows(const rb_rows_sample *sample)
{
	return sample->n < FIRST_ROWS ? sample->n : FIRST_ROWS;
}

/*
 * Returns the index of row i of an evenly spaced subsample of `few` among the n rows of a sample,
 * from which pairs are estimated.
 */
static inline uint32_t
index_in_subsample(uint32_t i, uint32_t few, uint32_t n)
{
	return (uint32_t) ((uint64_t) i * n / few);
}

/* Compares a few rows of both sides with each other, to plan the sweep. */
static void
compare_few_sample_rows(rb_estimation *e, rb_sweep_plan *l)
{
	const rb_rows_sample *red = &e->side[0], *blue = &e->side[1];
	uint32_t nred = count_few_sample_rows(red), nblue = count_few_sample_rows(blue);
	double pairs = (double) nred * nblue, all = (double) red->n * blue->n;
	double count[3][BINS], want;
	int k;

	memset(count, 0, sizeof(count));
	memset(e->count, 0, sizeof(e->count));
	e->touching = 0;
	e->pairs = pairs;
	for (uint32_t i = 0; i < nred; i++)
	{
		uint32_t ri = index_in_subsample(i, nred, red->n);
		const rb_row_box *r = &red->row[ri];

		for (uint32_t j = 0; j < nblue; j++)
		{
			uint32_t bj = index_in_subsample(j, nblue, blue->n);
			const rb_row_box *b = &blue->row[bj];
			double s = 0;

			if (is_sampled_row_paired_with_itself(e, r, b))
				continue;
			for (int a = 0; a < e->dims; a++)
			{
				double on = scale_on_axis(r, b, a);

				count[a][bin_of_scale(on)]++;
				s = on > s ? on : s;
			}
			count_pair_by_scale(e, ri, bj, s);
		}
	}
	accumulate_scale_bins(e->count);
	want = WANTED * pairs / all;
	k = find_scale_bin_of_count(e->count, want > MIN_FIRST_PAIRS ? want : MIN_FIRST_PAIRS);
	k = k < BINS ? k : BINS - 1;
	l->bin = k;
	l->scale = end_of_scale_bin(k);
	l->axis = 0;
	for (int a = 0; a < e->dims; a++)
	{
		accumulate_scale_bins(count[a]);
		if (count[a][k] < count[l->axis][k])
			l->axis = a;
	}
	l->share = count[l->axis][k] / pairs;
}

/* ---- step 2: the sweep ---- */

/*
 * Returns an integer whose order is that of the floats, by which sample boxes are sorted for the
 * sweep.
 */
static inline uint32_t
sweep_key_of_float(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits ^ ((bits >> 31) != 0 ? UINT32_MAX : UINT32_C(1) << 31);
}

/* Returns the radix sort key of a row: the start of its scaled box along the sweep axis. */
static uint64_t
start_of_row_box(const void *row, const void *from)
{
	return sweep_key_of_float(((const float *) from)[*(const uint32_t *) row]);
}

/*
 * Sorts the numbers of n rows by the start of their boxes. The scratch array `room` has the same
 * size.
 */
static rb_status
sort_rows_by_box_start(const rb_context *ctx, const float *from, uint32_t *order, uint32_t *room,
					   uint32_t n)
{
	void *sorted = order, *other = room;

	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	RB_TRY(rb_radix_sort(ctx, &sorted, &other, n, sizeof *order, 4, start_of_row_box, from));
	if (sorted != order)
		memcpy(order, sorted, n * sizeof *order);
	return RB_OK;
}

/*
 * Returns a power of two that scales the coordinates of all samples to at most 2^60 without
 * rounding.
 */
static double
scale_to_float_range(const rb_estimation *e)
{
	double most = 0;
	int exponent;

	for (int k = 0; k < 2; k++)
		for (uint32_t i = 0; i < e->side[k].n; i++)
			for (int a = 0; a < e->dims; a++)
				most = fmax(most, fabs(e->side[k].row[i].centre[a]) + e->side[k].row[i].half[a]);
	(void) frexp(most, &exponent);
	return most > 0 ? ldexp(1, exponent < -900 ? 960 : 60 - exponent) : 1;
}

/* Stores n rows of a sample as spans, with centers relative to the origin. */
static rb_status
make_spans_of_sample_rows(const rb_estimation *e, const rb_rows_sample *sample,
						  const rb_sweep_plan *l, const double origin[3], double factor,
						  rb_sweep_spans *spans)
{
	uint32_t n = spans->n;
	uint32_t *order;
	float *at;

	RB_TRY(rb_array(e->ctx, &spans->block, n, 11 * sizeof(float)));
	spans->row = spans->block;
	order = spans->row + n;
	at = (float *) (order + n);
	spans->from = at;
	spans->to = at + n;
	for (int a = 0; a < 3; a++)
	{
		spans->centre[a] = at + (2 + (size_t) a) * n;
		spans->reach[a] = at + (5 + (size_t) a) * n;
	}
	/* The starts are sorted in arrays that are filled later. */
	for (uint32_t i = 0; i < n; i++)
	{
		const rb_row_box *box = &sample->row[index_in_subsample(i, n, sample->n)];
		double centre = factor * (box->centre[l->axis] - origin[l->axis]);

		spans->to[i] = (float) (centre - factor * l->scale * box->half[l->axis]);
	}
	RB_TRY(sort_rows_by_box_start(e->ctx, spans->to, order, spans->row, n));
	for (uint32_t i = 0; i < n; i++)
		spans->row[i] = index_in_subsample(order[i], n, sample->n);
	for (uint32_t i = 0; i < n; i++)
	{
		const rb_row_box *box = &sample->row[spans->row[i]];

		for (int a = 0; a < 3; a++)
		{
			spans->centre[a][i] = (float) (factor * (box->centre[a] - origin[a]));
			spans->reach[a][i] = (float) (factor * l->scale * box->half[a]);
		}
		spans->from[i] = spans->centre[l->axis][i] - spans->reach[l->axis][i];
		spans->to[i] = spans->centre[l->axis][i] + spans->reach[l->axis][i];
	}
	return RB_OK;
}

/* Counts a pair of rows if its scale is at most the given one. */
static void
count_near_pair(rb_estimation *e, uint32_t red, uint32_t blue, double scale)
{
	const rb_row_box *r = &e->side[0].row[red], *b = &e->side[1].row[blue];
	double s = 0;

	if (is_sampled_row_paired_with_itself(e, r, b))
		return;
	for (int a = 0; a < e->dims; a++)
	{
		double on = scale_on_axis(r, b, a);

		s = on > s ? on : s;
	}
	if (s <= scale)
		count_pair_by_scale(e, red, blue, s);
}

/*
 * Finds the boxes of the other sample, from number `first` in sweep order on, that are near box i.
 * Returns the number of boxes it tested, so that the caller can poll for a stop.
 */
static uint32_t
find_near_sample_boxes(const rb_sweep_spans *one, uint32_t i, const rb_sweep_spans *others,
					   uint32_t first, float slack, uint32_t *near)
{
	uint32_t end = first;

	while (end < others->n && others->from[end] <= one->to[i])
		end++;
	/* This loop has no branch, so it can be vectorized. */
	for (uint32_t k = first; k < end; k++)
	{
		uint32_t is_near = 1;

		for (int a = 0; a < 3; a++)
			is_near &= fabsf(one->centre[a][i] - others->centre[a][k]) <=
					   one->reach[a][i] + others->reach[a][k] + slack;
		near[k - first] = is_near;
	}
	return end - first;
}

/* Sweeps over the spans of both sides. Finds each pair once, at the row whose box starts first. */
static void
sweep_spans_of_rows(rb_estimation *e, double scale, const rb_sweep_spans *spans, float slack,
					uint32_t *near)
{
	const rb_sweep_spans *red = &spans[0], *blue = &spans[1];

	for (uint32_t i = 0, j = 0; i < red->n && j < blue->n;)
	{
		if (red->from[i] <= blue->from[j])
		{
			uint32_t n = find_near_sample_boxes(red, i, blue, j, slack, near);

			for (uint32_t k = 0; k < n; k++)
				if (near[k])
					count_near_pair(e, red->row[i], blue->row[j + k], scale);
			i++;
		}
		else
		{
			uint32_t n = find_near_sample_boxes(blue, j, red, i, slack, near);

			for (uint32_t k = 0; k < n; k++)
				if (near[k])
					count_near_pair(e, red->row[i + k], blue->row[j], scale);
			j++;
		}
	}
}

/* Counts the near pairs of rows by a sweep over their spans. */
static rb_status
sweep_sample_rows(rb_estimation *e, const rb_sweep_plan *l)
{
	rb_rows_sample *side = e->side;
	double tests = l->share * side[0].n * side[1].n;
	double thin = tests > SWEEP_TESTS ? sqrt(SWEEP_TESTS / tests) : 1;
	double factor = scale_to_float_range(e);
	rb_sweep_spans spans[2] = {{0}, {0}};
	uint32_t *near = NULL;
	RB_FREE_AT_END(e->ctx->memory, &near, &spans[0].block, &spans[1].block);

	for (int k = 0; k < 2; k++)
	{
		spans[k].n = (uint32_t) ceil(thin * side[k].n);
		RB_TRY(make_spans_of_sample_rows(e, &side[k], l, side[0].row[0].centre, factor, &spans[k]));
	}
	RB_TRY(RB_ALLOCATE(e->ctx, near, (size_t) spans[0].n + spans[1].n));
	memset(e->count, 0, sizeof(e->count));
	e->touching = 0;
	e->pairs = (double) spans[0].n * spans[1].n;
	/* 0x1p38 bounds what rounding to float may have added to a distance. */
	sweep_spans_of_rows(e, l->scale, spans, 0x1p38f, near);
	accumulate_scale_bins(e->count);
	return RB_OK;
}

/* ---- step 3: the power law ---- */

/*
 * Estimates the number of pairs with s <= 1 among those examined. The exponent is limited to the
 * number of dimensions. If it is at least twice as large, there is no power law because the two
 * sets are apart, and it is not limited.
 */
static double
estimate_touching_pairs(const rb_estimation *e, int last)
{
	int from = find_scale_bin_of_count(e->count, ENOUGH);
	int to = find_scale_bin_of_count(e->count, ENOUGH * FIT);
	double alpha;

	if (from == 0 || from >= last || e->count[last] < ENOUGH + MIN_FIRST_PAIRS)
		return e->count[0];
	/* Use at least an octave, since a shorter interval contains only noise. */
	to = to < from + 4 ? from + 4 : to;
	to = to < last ? to : last;
	alpha = log(e->count[to] / e->count[from]) / log(end_of_scale_bin(to) / end_of_scale_bin(from));
	if (alpha > e->dims && alpha < 2 * e->dims)
		alpha = e->dims;
	return e->count[from] * pow(end_of_scale_bin(from), -alpha);
}

/* ---- step 4: exact tests of pairs whose boxes meet ---- */

/*
 * Collects the parts of a sampled row that touch the box of another one, for an exact test of this
 * sample pair, and returns their number, at most NEAR_PARTS.
 */
static uint32_t
collect_parts_for_exact_test(const rb_set *set, double pad, const rb_row_box *row,
							 const rb_row_box *box, uint32_t *parts)
{
	uint32_t n = 0;

	for (uint32_t i = row->from; i < row->end && n < NEAR_PARTS; i++)
	{
		double lo[3], hi[3];

		quarter_box_of_sampled_part(set, i, pad, lo, hi);
		if (rb_boxes_overlap(lo, hi, box->lo, box->hi))
			parts[n++] = i;
	}
	return n;
}

/* Returns 1 if the rows meet, 0 if not, or -1 if the limit of tests has been reached. */
static int
do_sample_rows_meet(const rb_estimation *e, rb_exact_env *env, rb_pair pair, uint32_t *asked)
{
	const rb_set *red = e->side[0].set, *blue = e->side[1].set;
	const rb_row_box *r = &e->side[0].row[pair.red], *b = &e->side[1].row[pair.blue];
	uint32_t rparts[NEAR_PARTS], bparts[NEAR_PARTS];
	uint32_t nr, nb;

	if (*asked > MAX_TESTED_PARTS)
		return -1;
	nr = collect_parts_for_exact_test(red, e->pad, r, b, rparts);
	nb = collect_parts_for_exact_test(blue, e->pad, b, r, bparts);
	*asked += (r->end - r->from) + (b->end - b->from) + nr * nb;
	for (uint32_t i = 0; i < nr; i++)
		for (uint32_t j = 0; j < nb; j++)
		{
			double rlo[3], rhi[3], blo[3], bhi[3];

			rb_object_box(red, rparts[i], e->pad, rlo, rhi);
			rb_object_box(blue, bparts[j], e->pad, blo, bhi);
			if (rb_boxes_overlap(rlo, rhi, blo, bhi) &&
				RB_IS_YES(rb_pair_decide(
					env, e->what->predicate, red->kind, blue->kind,
					red->coords + (size_t) rparts[i] * (size_t) rb_kind_width(red->kind),
					blue->coords + (size_t) bparts[j] * (size_t) rb_kind_width(blue->kind))))
				return 1;
		}
	return 0;
}

/*
 * Returns the fraction of the pairs with touching boxes that meet. If few pairs are known, the
 * usual value has more weight: one fifth, measured for real meshes and lines in general position.
 */
static double
estimate_fraction_that_meets(const rb_estimation *e, bool all)
{
	const rb_set *red = e->side[0].set, *blue = e->side[1].set;
	uint32_t n = e->touching < MAX_TESTED_PAIRS ? e->touching : MAX_TESTED_PAIRS;
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true, .distance = e->what->distance};
	uint32_t asked = 0, known = 0, meet = 0;

	if (rb_boxes_decide(e->what->predicate, red->kind, blue->kind))
		return 1;
	for (uint32_t i = 0; i < n; i++)
	{
		int answer = do_sample_rows_meet(e, &env, e->touch[i], &asked);

		known += answer >= 0;
		meet += answer == 1;
	}
	if (all && known > 0 && known == e->touching)
		return meet / (double) known;
	return (meet + 0.2 * PRIOR) / (known + PRIOR);
}

/* ---- entry point ---- */

/* Estimates the number of pairs of rows from both samples. */
static rb_status
estimate_pairs_of_samples(rb_estimation *e, double *pairs)
{
	const rb_rows_sample *red = &e->side[0], *blue = &e->side[1];
	double touching;
	bool all;
	rb_sweep_plan l;

	if (red->n == 0 || blue->n == 0)
		return RB_OK;
	compare_few_sample_rows(e, &l);
	all = count_few_sample_rows(red) == red->n && count_few_sample_rows(blue) == blue->n;
	if (all)
		l.bin = BINS - 1;
	else
	{
		RB_TRY(sweep_sample_rows(e, &l));
	}
	/* If all rows were examined, nothing is extrapolated. */
	all = e->what->rows[0] * e->what->rows[1] <= e->pairs;
	touching = all ? e->count[0] : estimate_touching_pairs(e, l.bin);
	*pairs = touching * estimate_fraction_that_meets(e, all) *
			 (e->what->rows[0] * e->what->rows[1] / e->pairs);
	/* If not all rows were examined, rounding or chance may give too large a number. */
	*pairs = fmin(*pairs, e->what->rows[0] * e->what->rows[1]);
	if (e->what->self)
		*pairs /= 2;
	return RB_OK;
}

rb_status
rb_estimate_pairs(rb_context *ctx, const rb_samples *what, double *pairs)
{
	rb_estimation e = {.ctx = ctx,
					   .what = what,
					   .pad = rb_pad_of(what->predicate, what->distance),
					   .dims = rb_kind_dims(what->sample[0]->kind)};
	RB_FREE_AT_END(ctx->memory, &e.side[0].row, &e.side[1].row);

	*pairs = 0;
	if (!rb_leaf_exists(what->predicate, what->sample[0]->kind, what->sample[1]->kind))
		return rb_fail(ctx, RB_UNSUPPORTED, 0, 0, NULL);
	for (int k = 0; k < 2; k++)
		RB_TRY(collect_boxes_of_sample_rows(ctx, what->sample[k], e.pad, &e.side[k]));
	return estimate_pairs_of_samples(&e, pairs);
}
