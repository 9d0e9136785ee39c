/*
 * estimate.c
 *	  How many pairs of rows a join will have, from a sample of each side's rows.
 *
 * Belussi, Faloutsos: Estimating the Selectivity of Spatial Queries Using the
 * "Correlation" Fractal Dimension, VLDB 1995; Faloutsos, Seeger, Traina, Traina: Spatial
 * Join Selectivity Using Power Laws, SIGMOD 2000.  The pairs of points of two sets that
 * are within a distance r of each other are K r^alpha over many scales, for real data, too.
 *
 * Here the points are boxes, one a row.  In place of r there is the factor s by which two
 * boxes must grow, each about its centre, until they touch:
 *
 *		s = max over axes of (distance of the centres) / (sum of the half widths)
 *
 * Boxes that meet have s <= 1.  A sample of two thousand rows a side has few or no such
 * pairs, but there are enough at some larger s.  So:
 *
 *	  1. A look at few rows of each side, every one against every one: at which s there
 *		 will be enough pairs of all rows, and which axis tells boxes apart best.
 *	  2. The pairs of all rows up to that s, by a sweep along that axis.
 *	  3. Where pairs with s <= 1 are too few to be counted, the power law is fitted where
 *		 they are enough, and followed down to s = 1.
 *	  4. Of the pairs whose boxes meet, some are asked whether they really do.
 *	  5. What was found of so many rows is scaled to all rows.
 */
#include "core/join/rb_join.h"
#include "core/shape/rb_pair.h"

#include <math.h>

#define LOOK RB_SIZE(128, 24) /* rows a side of the first look */
#define LOOK_PAIRS 16         /* that it must have at an s to go by it */
#define WANTED 400            /* pairs that the sweep should find */
#define ENOUGH 32             /* pairs of a count that is taken as it is */
#define FIT 8 /* the power law is fitted between ENOUGH pairs and FIT times as many */
#define SWEEP_TESTS (1 << 18)  /* of the sweep, at most, about */
#define ASKED RB_SIZE(256, 32) /* pairs that are asked whether they meet, at most */
#define ASKED_PARTS (1 << 16)  /* boxes of parts that are looked at for that, about */
#define NEAR_PARTS 256         /* of one row, at most */
#define PRIOR 4                /* what is usual counts as much as so many of them */

/* pairs by s: the first bin has s <= 1, each of the others a quarter of an octave more */
#define BINS 256

/* a row, its box in quarters: then neither sum nor difference of two numbers overflows */
typedef struct rb_row_box
{
	double centre[3];
	double half[3];
	double lo[3];
	double hi[3];
	uint32_t from; /* its parts */
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
 * Rows in the order in which their grown boxes begin along the axis of the sweep.  In
 * float, for what is near by these is looked at again.
 */
typedef struct rb_spans
{
	uint32_t n;
	uint32_t *row;
	float *from;
	float *to;
	float *centre[3];
	float *reach[3]; /* half of the grown box */
	void *block;     /* that holds all these */
} rb_spans;

typedef struct rb_estimation
{
	rb_context *ctx;
	const rb_samples *what;
	double pad;
	int dims;
	rb_rows_sample side[2];
	double count[BINS];   /* at first those of a bin, then of all bins up to it */
	double pairs;         /* that were looked at, with whatever s */
	uint32_t touching;    /* found with s <= 1 ... */
	rb_pair touch[ASKED]; /* ... and some of these, by their rows */
} rb_estimation;

/* ---- rows ---- */

static void
quarter_box(const rb_set *set, uint32_t part, double pad, double lo[3], double hi[3])
{
	rb_object_box(set, part, pad, lo, hi);
	for (int a = 0; a < 3; a++)
	{
		lo[a] *= 0.25;
		hi[a] *= 0.25;
	}
}

static rb_status
find_rows(rb_context *ctx, const rb_set *set, double pad, rb_rows_sample *sample)
{
	rb_status status = rb_array(ctx, (void **) &sample->row, set->nrows + 1, sizeof(rb_row_box));

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
		quarter_box(set, part, pad, row->lo, row->hi);
		while (++part < set->nparts && set->row_of != NULL && set->row_of[part] == number)
		{
			double lo[3], hi[3];

			quarter_box(set, part, pad, lo, hi);
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

static inline double
scale_on(const rb_row_box *red, const rb_row_box *blue, int a)
{
	double distance = fabs(red->centre[a] - blue->centre[a]);

	return distance > 0 ? distance / (red->half[a] + blue->half[a]) : 0;
}

/* a double's exponent and the first two digits behind its point */
static inline int
bin_of(double s)
{
	uint64_t bits;
	uint64_t bin;

	if (s <= 1)
		return 0;
	memcpy(&bits, &s, sizeof(bits));
	bin = (bits >> 50) - (1023 << 2) + 1;
	return bin < BINS ? (int) bin : BINS - 1;
}

/* the largest s of a bin */
static inline double
end_of(int bin)
{
	return bin == 0 ? 1 : ldexp(1.25 + 0.25 * ((bin - 1) % 4), (bin - 1) / 4);
}

static void
accumulate(double *count)
{
	for (int k = 1; k < BINS; k++)
		count[k] += count[k - 1];
}

/* the first bin with so many pairs up to it; BINS where there is none */
static int
first_with(const double *count, double n)
{
	int k = 0;

	while (k < BINS && count[k] < n)
		k++;
	return k;
}

/* of one table, a row and itself are no pair */
static inline bool
is_same_row(const rb_estimation *e, const rb_row_box *red, const rb_row_box *blue)
{
	return e->what->self && red->id == blue->id;
}

static inline void
count_pair(rb_estimation *e, uint32_t red, uint32_t blue, double s)
{
	e->count[bin_of(s)]++;
	if (s <= 1)
	{
		/* any of them with the same chance, and the same ones in every run */
		uint32_t i = e->touching++;

		if (i >= ASKED)
			i = (uint32_t) ((uint64_t) (i * UINT32_C(2654435769)) * i >> 32);
		if (i < ASKED)
			e->touch[i] = (rb_pair){red, blue};
	}
}

/* ---- 1: the look ---- */

typedef struct rb_look
{
	int bin;      /* up to which the sweep is to look, ... */
	double scale; /* ... the largest s of that */
	int axis;     /* along which it goes */
	double share; /* of all pairs that it will have to look at */
} rb_look;

static uint32_t
few_of(const rb_rows_sample *sample)
{
	return sample->n < LOOK ? sample->n : LOOK;
}

static inline uint32_t
spread(uint32_t i, uint32_t few, uint32_t n)
{
	return (uint32_t) ((uint64_t) i * n / few);
}

static void
look(rb_estimation *e, rb_look *l)
{
	const rb_rows_sample *red = &e->side[0], *blue = &e->side[1];
	uint32_t nred = few_of(red), nblue = few_of(blue);
	double pairs = (double) nred * nblue, all = (double) red->n * blue->n;
	double count[3][BINS], want;
	int k;

	memset(count, 0, sizeof(count));
	memset(e->count, 0, sizeof(e->count));
	e->touching = 0;
	e->pairs = pairs;
	for (uint32_t i = 0; i < nred; i++)
	{
		uint32_t ri = spread(i, nred, red->n);
		const rb_row_box *r = &red->row[ri];

		for (uint32_t j = 0; j < nblue; j++)
		{
			uint32_t bj = spread(j, nblue, blue->n);
			const rb_row_box *b = &blue->row[bj];
			double s = 0;

			if (is_same_row(e, r, b))
				continue;
			for (int a = 0; a < e->dims; a++)
			{
				double on = scale_on(r, b, a);

				count[a][bin_of(on)]++;
				s = on > s ? on : s;
			}
			count_pair(e, ri, bj, s);
		}
	}
	accumulate(e->count);
	want = WANTED * pairs / all;
	k = first_with(e->count, want > LOOK_PAIRS ? want : LOOK_PAIRS);
	k = k < BINS ? k : BINS - 1;
	l->bin = k;
	l->scale = end_of(k);
	l->axis = 0;
	for (int a = 0; a < e->dims; a++)
	{
		accumulate(count[a]);
		if (count[a][k] < count[l->axis][k])
			l->axis = a;
	}
	l->share = count[l->axis][k] / pairs;
}

/* ---- 2: the sweep ---- */

/* floats as integers of the same order */
static inline uint32_t
key_of(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits ^ ((bits >> 31) != 0 ? UINT32_MAX : UINT32_C(1) << 31);
}

/* the order of n numbers, by their keys' digits, the last one first; room is for as many */
static void
sort_by_start(const float *from, uint32_t *order, uint32_t *room, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	for (int shift = 0; shift < 32; shift += 8)
	{
		uint32_t start[257] = {0};
		uint32_t *swap = order;

		for (uint32_t i = 0; i < n; i++)
			start[(key_of(from[order[i]]) >> shift & 255) + 1]++;
		for (int digit = 0; digit < 256; digit++)
			start[digit + 1] += start[digit];
		for (uint32_t i = 0; i < n; i++)
			room[start[key_of(from[order[i]]) >> shift & 255]++] = order[i];
		order = room;
		room = swap;
	}
}

/* brings all samples' numbers to 2^60 at most, in steps that round nothing */
static double
to_float(const rb_estimation *e)
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

/* n rows of a sample; centres as seen from there */
static rb_status
find_spans(const rb_estimation *e, const rb_rows_sample *sample, const rb_look *l,
		   const double origin[3], double factor, rb_spans *spans)
{
	uint32_t n = spans->n;
	uint32_t *order;
	float *at;
	rb_status status = rb_array(e->ctx, &spans->block, n, 11 * sizeof(float));

	if (status != RB_OK)
		return status;
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
	/* what begins where is sorted in the room of other things */
	for (uint32_t i = 0; i < n; i++)
	{
		const rb_row_box *box = &sample->row[spread(i, n, sample->n)];
		double centre = factor * (box->centre[l->axis] - origin[l->axis]);

		spans->to[i] = (float) (centre - factor * l->scale * box->half[l->axis]);
	}
	sort_by_start(spans->to, order, spans->row, n);
	for (uint32_t i = 0; i < n; i++)
		spans->row[i] = spread(order[i], n, sample->n);
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
	return status;
}

static void
take_near(rb_estimation *e, uint32_t red, uint32_t blue, double scale)
{
	const rb_row_box *r = &e->side[0].row[red], *b = &e->side[1].row[blue];
	double s = 0;

	if (is_same_row(e, r, b))
		return;
	for (int a = 0; a < e->dims; a++)
	{
		double on = scale_on(r, b, a);

		s = on > s ? on : s;
	}
	if (s <= scale)
		count_pair(e, red, blue, s);
}

/* which spans, from one on, are near that one; answers how many were looked at */
static uint32_t
find_near(const rb_spans *one, uint32_t i, const rb_spans *others, uint32_t first, float slack,
		  uint32_t *near)
{
	uint32_t end = first;

	while (end < others->n && others->from[end] <= one->to[i])
		end++;
	/* a loop without a branch: several at once */
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

/* each pair once: with whichever of the two begins first */
static void
sweep_spans(rb_estimation *e, double scale, const rb_spans *spans, float slack, uint32_t *near)
{
	const rb_spans *red = &spans[0], *blue = &spans[1];

	for (uint32_t i = 0, j = 0; i < red->n && j < blue->n;)
	{
		if (red->from[i] <= blue->from[j])
		{
			uint32_t n = find_near(red, i, blue, j, slack, near);

			for (uint32_t k = 0; k < n; k++)
				if (near[k])
					take_near(e, red->row[i], blue->row[j + k], scale);
			i++;
		}
		else
		{
			uint32_t n = find_near(blue, j, red, i, slack, near);

			for (uint32_t k = 0; k < n; k++)
				if (near[k])
					take_near(e, red->row[i + k], blue->row[j], scale);
			j++;
		}
	}
}

static rb_status
sweep(rb_estimation *e, const rb_look *l)
{
	rb_rows_sample *side = e->side;
	double tests = l->share * side[0].n * side[1].n;
	double thin = tests > SWEEP_TESTS ? sqrt(SWEEP_TESTS / tests) : 1;
	double factor = to_float(e);
	rb_spans spans[2] = {{0}, {0}};
	uint32_t *near = NULL;
	rb_status status = RB_OK;

	for (int k = 0; k < 2 && status == RB_OK; k++)
	{
		spans[k].n = (uint32_t) ceil(thin * side[k].n);
		status = find_spans(e, &side[k], l, side[0].row[0].centre, factor, &spans[k]);
	}
	if (status == RB_OK)
		status = rb_array(e->ctx, (void **) &near, (size_t) spans[0].n + spans[1].n, sizeof(*near));
	if (status == RB_OK)
	{
		memset(e->count, 0, sizeof(e->count));
		e->touching = 0;
		e->pairs = (double) spans[0].n * spans[1].n;
		/* what rounding to float may have added to a distance */
		sweep_spans(e, l->scale, spans, 0x1p38f, near);
		accumulate(e->count);
	}
	rb_free(e->ctx->memory, (void **) &near);
	for (int k = 0; k < 2; k++)
		rb_free(e->ctx->memory, &spans[k].block);
	return status;
}

/* ---- 3: the power law ---- */

/*
 * Pairs with s <= 1 among those that were looked at.  An exponent is not above the number
 * of dimensions, unless there is no law, for the two are apart: then there are none.
 */
static double
touching_pairs(const rb_estimation *e, int last)
{
	int from = first_with(e->count, ENOUGH);
	int to = first_with(e->count, ENOUGH * FIT);
	double alpha;

	if (from == 0 || from >= last || e->count[last] < ENOUGH + LOOK_PAIRS)
		return e->count[0];
	/* an octave at least: within less there is nothing but noise */
	to = to < from + 4 ? from + 4 : to;
	to = to < last ? to : last;
	alpha = log(e->count[to] / e->count[from]) / log(end_of(to) / end_of(from));
	if (alpha > e->dims && alpha < 2 * e->dims)
		alpha = e->dims;
	return e->count[from] * pow(end_of(from), -alpha);
}

/* ---- 4: boxes meet, but do the rows? ---- */

/* those parts of a row that touch a box; answers how many, at most NEAR_PARTS */
static uint32_t
parts_near(const rb_set *set, double pad, const rb_row_box *row, const rb_row_box *box,
		   uint32_t *parts)
{
	uint32_t n = 0;

	for (uint32_t i = row->from; i < row->end && n < NEAR_PARTS; i++)
	{
		double lo[3], hi[3];

		quarter_box(set, i, pad, lo, hi);
		if (rb_boxes_overlap(lo, hi, box->lo, box->hi))
			parts[n++] = i;
	}
	return n;
}

/* 1 or 0; -1: enough was asked already */
static int
rows_meet(const rb_estimation *e, rb_exact_env *env, rb_pair pair, uint32_t *asked)
{
	const rb_set *red = e->side[0].set, *blue = e->side[1].set;
	const rb_row_box *r = &e->side[0].row[pair.red], *b = &e->side[1].row[pair.blue];
	uint32_t rparts[NEAR_PARTS], bparts[NEAR_PARTS];
	uint32_t nr, nb;

	if (*asked > ASKED_PARTS)
		return -1;
	nr = parts_near(red, e->pad, r, b, rparts);
	nb = parts_near(blue, e->pad, b, r, bparts);
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
 * The share of the pairs with touching boxes that meet.  Where few are known, what is
 * usual counts: of real meshes and lines in general position a fifth (measured).
 */
static double
share_that_meets(const rb_estimation *e, bool all)
{
	const rb_set *red = e->side[0].set, *blue = e->side[1].set;
	uint32_t n = e->touching < ASKED ? e->touching : ASKED;
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true, .distance = e->what->distance};
	uint32_t asked = 0, known = 0, meet = 0;

	if (rb_boxes_decide(e->what->predicate, red->kind, blue->kind))
		return 1;
	for (uint32_t i = 0; i < n; i++)
	{
		int answer = rows_meet(e, &env, e->touch[i], &asked);

		known += answer >= 0;
		meet += answer == 1;
	}
	if (all && known > 0 && known == e->touching)
		return meet / (double) known;
	return (meet + 0.2 * PRIOR) / (known + PRIOR);
}

/* ---- all of it ---- */

static rb_status
estimate(rb_estimation *e, double *pairs)
{
	const rb_rows_sample *red = &e->side[0], *blue = &e->side[1];
	double touching;
	bool all;
	rb_look l;
	rb_status status;

	if (red->n == 0 || blue->n == 0)
		return RB_OK;
	look(e, &l);
	all = few_of(red) == red->n && few_of(blue) == blue->n;
	if (all)
		l.bin = BINS - 1;
	else
	{
		status = sweep(e, &l);
		if (status != RB_OK)
			return status;
	}
	/* where every row was looked at there is nothing to extrapolate */
	all = e->what->rows[0] * e->what->rows[1] <= e->pairs;
	touching = all ? e->count[0] : touching_pairs(e, l.bin);
	*pairs = touching * share_that_meets(e, all) * (e->what->rows[0] * e->what->rows[1] / e->pairs);
	/* what was looked at were not all rows: rounding, or chance, may say too much */
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
	rb_status status = RB_OK;

	*pairs = 0;
	if (!rb_leaf_exists(what->predicate, what->sample[0]->kind, what->sample[1]->kind))
		return rb_fail(ctx, RB_UNSUPPORTED, 0, 0, NULL);
	for (int k = 0; k < 2 && status == RB_OK; k++)
		status = find_rows(ctx, what->sample[k], e.pad, &e.side[k]);
	if (status == RB_OK)
		status = estimate(&e, pairs);
	for (int k = 0; k < 2; k++)
		rb_free(ctx->memory, (void **) &e.side[k].row);
	return status;
}
