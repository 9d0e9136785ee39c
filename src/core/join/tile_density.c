/*
 * tile_density.c
 *	  Finds the distribution of the pairs of a join in space by joining two samples.
 *
 * For a million rows with ten million pairs, samples of ten thousand rows have a thousand pairs;
 * for 10^10 rows they have none. There are two ways to obtain about as many pairs as wanted:
 *
 *      too many  some rows of the samples are enough
 *      too few   all boxes grow about their centers by one factor until there are enough pairs;
 *                their density is then a smoothed density of the pairs
 *
 * Each pair of the samples represents the same number of pairs of all rows. For boxes that have
 * grown, this number follows from the power law of the growth (estimate.c cites the papers), whose
 * exponent is measured with a second, smaller factor.
 */
#include "core/join/kd_tiles.h"

#include "core/join/join.h"

#include <float.h>
#include <math.h>

#define FIRST RB_SIZE(2048, 16)      /* rows on each side in the first attempt */
#define MIN_PAIRS RB_SIZE(16384, 64) /* minimum number of pairs wanted */
#define OF_A_TILE RB_SIZE(256, 16)   /* pairs wanted for each tile */
#define MAX_PAIRS (1 << 20)          /* maximum number of pairs wanted */
/* an attempt fails with this many times the wanted number of pairs */
#define TOO_MANY 8
#define LARGEST_GROWTH 512 /* maximum growth factor of boxes */
/* ratio of the two factors from which the exponent is computed */
#define STEP 1.5

typedef struct rb_sample_join
{
	rb_context *ctx;
	const rb_kd_job *job;
	rb_tile_pairs *pairs; /* receives the locations; NULL if pairs are only counted */
	int dims;
	int sides;
	uint64_t most;     /* maximum number of pairs of one attempt */
	double share;      /* fraction of each sample that is used */
	double growth;     /* growth factor of its boxes */
	rb_set side[2];    /* the grown boxes of the rows in use */
	uint32_t *from[2]; /* number of each row in its sample */
	uint64_t found;
	uint64_t equal; /* pairs of equal boxes, not included in `found` */
	double *equal_at;
	size_t equal_cap;
	bool overflow;
} rb_sample_join;

/* ---- boxes ---- */

static double
clamp_to_finite(double x)
{
	return x > DBL_MAX ? DBL_MAX : x < -DBL_MAX ? -DBL_MAX : x;
}

static void
grow_box(double *to, const double *box, int dims, double pad, double growth)
{
	for (int a = 0; a < dims; a++)
	{
		const double low = box[a], high = box[dims + a];
		const double centre = 0.5 * low + 0.5 * high;
		const double half = growth * (0.5 * high - 0.5 * low + pad);

		to[a] = clamp_to_finite(centre - half);
		to[dims + a] = clamp_to_finite(centre + half);
	}
}

/* Collects the boxes of rows that are evenly spread over the sample. */
static rb_status
take_rows(rb_sample_join *l, int k)
{
	const rb_set *sample = l->job->sample[k];
	const size_t width = 2 * (size_t) l->dims;
	const double pad = 0.5 * l->job->distance;
	const uint32_t n = (uint32_t) ceil(l->share * sample->nrows);
	void *coords = (void *) l->side[k].coords;
	rb_status status = rb_array(l->ctx, &coords, n * width + 1, sizeof(double));

	l->side[k] = (rb_set){.kind = sample->kind, .nparts = n, .nrows = n, .coords = coords};
	if (status == RB_OK)
		status = RB_ALLOCATE(l->ctx, l->from[k], (size_t) n + 1);
	for (uint32_t i = 0; i < n && status == RB_OK; i++)
	{
		const uint32_t row = (uint32_t) ((uint64_t) i * sample->nrows / n);
		const double *box = sample->coords + row * width;
		double *to = (double *) coords + i * width;

		l->from[k][i] = row;
		if (l->growth == 1 && pad == 0)
			memcpy(to, box, width * sizeof(double));
		else
			grow_box(to, box, l->dims, pad, l->growth);
	}
	return status;
}

static const double *
box_of(const rb_sample_join *l, int k, uint32_t part)
{
	return l->job->sample[k]->coords + (size_t) l->from[k][part] * 2 * (size_t) l->dims;
}

/* ---- pairs ---- */

static rb_status
put_one(rb_sample_join *l, const double *red, const double *blue)
{
	const bool equal =
		l->job->self && memcmp(red, blue, 2 * (size_t) l->dims * sizeof(double)) == 0;
	const uint64_t n = equal ? l->equal++ : l->found++;
	double *at;

	if (l->pairs == NULL)
		return RB_OK;
	RB_TRY(equal ? rb_array_grow(l->ctx, (void **) &l->equal_at, &l->equal_cap, l->equal,
								 3 * sizeof(double))
				 : rb_array_grow(l->ctx, (void **) &l->pairs->at, &l->pairs->cap, l->found,
								 3 * sizeof(double)));
	at = (equal ? l->equal_at : l->pairs->at) + 3 * n;
	at[2] = 0;
	for (int a = 0; a < l->dims; a++)
		at[a] = red[a] > blue[a] ? red[a] : blue[a];
	return RB_OK;
}

static rb_status
receive_pairs(void *user, const rb_pair *pairs, size_t n)
{
	rb_sample_join *l = user;
	rb_status status = RB_OK;

	l->overflow = l->found + l->equal + n > l->most;
	for (size_t i = 0; i < n && status == RB_OK && !l->overflow; i++)
		status =
			put_one(l, box_of(l, 0, rb_pair_red(pairs[i])), box_of(l, l->sides - 1, pairs[i].blue));
	/* An overflow is not a failure, but there is no other way to end a join early. */
	return l->overflow ? RB_STOPPED : status;
}

/* Joins the chosen fraction of the samples, with the chosen growth. */
static rb_status
join_samples(rb_sample_join *l)
{
	const rb_sink sink = {.put = receive_pairs, .user = l};
	const int threads = l->ctx->threads;
	rb_job job = {.red = &l->side[0], .answer = RB_PAIRS, .predicate = RB_MEET};
	rb_status status = RB_OK;

	l->found = l->equal = 0;
	l->overflow = false;
	for (int k = 0; k < l->sides && status == RB_OK; k++)
		status = take_rows(l, k);
	if (status != RB_OK)
		return status;
	job.blue = l->sides == 2 ? &l->side[1] : NULL;
	/* With one thread the pairs arrive in the same order each time. */
	l->ctx->threads = 1;
	status = rb_backend_cpu.join(l->ctx, &job, &sink);
	l->ctx->threads = threads;
	if (!l->overflow || (rb_load(&l->ctx->stop) & RB_STOP_REQUESTED) != 0)
		return status;
	rb_forget_failure(l->ctx);
	return RB_OK;
}

/* ---- number of pairs of all rows ---- */

/* Returns the fraction of all rows that were used. */
static double
sampled_fraction(const rb_sample_join *l, int k)
{
	const double n = l->side[k].nrows, rows = l->job->rows[k];

	return n < rows ? n / rows : 1;
}

/*
 * Returns true if the pairs of equal boxes are rows paired with themselves. In two samples of one
 * table, a row may be in both. If there are no more pairs of equal boxes than that explains, none
 * of them counts.
 */
static bool
are_themselves(const rb_sample_join *l)
{
	const double expected = l->sides == 2 ? l->side[0].nrows * sampled_fraction(l, 1) : 0;

	return (double) l->equal <= 2 * expected;
}

/* Returns the number of pairs of all rows, with equally grown boxes, that each pair represents. */
static double
pair_weight(const rb_sample_join *l)
{
	if (l->sides == 1)
		return 1 / (sampled_fraction(l, 0) * sampled_fraction(l, 0));
	return (l->job->self ? 0.5 : 1) / (sampled_fraction(l, 0) * sampled_fraction(l, 1));
}

/*
 * Appends the locations of pairs of equal boxes to the others, unless they are rows paired with
 * themselves.
 */
static rb_status
settle_equal(rb_sample_join *l)
{
	const bool drop = are_themselves(l);
	const uint64_t n = drop ? 0 : l->equal;
	rb_status status = RB_OK;

	if (l->pairs != NULL && n > 0)
	{
		status = rb_array_grow(l->ctx, (void **) &l->pairs->at, &l->pairs->cap, l->found + n,
							   3 * sizeof(double));
		if (status == RB_OK)
			memcpy(l->pairs->at + 3 * l->found, l->equal_at, 3 * n * sizeof(double));
	}
	l->found += n;
	l->equal = 0;
	return status;
}

/* Computes the factor by which the growth has increased the number of pairs. */
static rb_status
find_more(rb_sample_join *l, double *more)
{
	const double growth = l->growth, found = (double) l->found;
	double exponent = l->dims;
	rb_status status = RB_OK;

	*more = 1;
	if (growth == 1)
		return RB_OK;
	l->pairs = NULL;
	l->growth = fmax(growth / STEP, 1);
	status = join_samples(l);
	if (status == RB_OK)
		status = settle_equal(l);
	if (l->found > 0)
		exponent = log(found / (double) l->found) / log(growth / l->growth);
	*more = pow(growth, fmin(fmax(exponent, 0), l->dims));
	return status;
}

/* ---- entry point ---- */

/*
 * Chooses more rows or larger boxes for the next attempt. Returns false if the current one is good
 * enough.
 */
static bool
look_closer(rb_sample_join *l, double wanted, bool all)
{
	const double missing = wanted / fmax((double) l->found, 0.5);

	if (l->overflow)
	{
		l->share *= 0.5;
		return true;
	}
	if (missing <= 1)
		return false;
	if (l->share < 1)
	{
		l->share = fmin(1, l->share * fmin(fmax(1.2 * sqrt(missing), 1.5), 8));
		return true;
	}
	/* If the samples contain all rows, the number of pairs is exact. */
	if (all || l->growth >= LARGEST_GROWTH)
		return false;
	l->growth *= fmin(fmax(pow(missing, 1.0 / l->dims), 1.25), 4);
	return true;
}

static rb_status
find_pairs(rb_sample_join *l, double wanted)
{
	bool had_too_many = false, all = true;
	rb_tile_pairs *pairs = l->pairs;
	double more;
	rb_status status;

	for (int k = 0; k < l->sides; k++)
	{
		const uint32_t n = l->job->sample[k]->nrows;

		l->share = fmin(l->share, n > FIRST ? (double) FIRST / n : 1);
		all &= l->job->rows[k] <= n;
		if (n == 0)
			return RB_OK;
	}
	do
	{
		status = join_samples(l);
		if (status == RB_OK && !l->overflow)
			status = settle_equal(l);
		if (status != RB_OK)
			return status;
		had_too_many |= l->overflow;
	} while ((l->overflow || !had_too_many) && look_closer(l, wanted, all));
	pairs->n = (uint32_t) l->found;
	pairs->weight = pair_weight(l);
	status = find_more(l, &more);
	pairs->weight /= more;
	return status;
}

rb_status
rb_tile_pairs_find(rb_context *ctx, const rb_kd_job *job, rb_tile_pairs *pairs)
{
	const double wanted = fmin(fmax(MIN_PAIRS, (double) OF_A_TILE * job->n), MAX_PAIRS);
	rb_sample_join l = {.ctx = ctx, .job = job, .pairs = pairs, .share = 1, .growth = 1};
	rb_status status;

	pairs->n = 0;
	pairs->weight = 0;
	l.dims = rb_kind_dims(job->sample[0]->kind);
	l.sides = job->sample[1] != NULL ? 2 : 1;
	l.most = (uint64_t) (TOO_MANY * wanted);
	status = find_pairs(&l, wanted);
	for (int k = 0; k < 2; k++)
	{
		RB_FREE(ctx->memory, l.side[k].coords);
		RB_FREE(ctx->memory, l.from[k]);
	}
	RB_FREE(ctx->memory, l.equal_at);
	return status;
}
