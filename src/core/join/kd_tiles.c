/*
 * kd_tiles.c
 *	  Partitions space into tiles of about equal cost with a k-d tree (Bentley, 1975) whose cuts
 *	  balance the cost of both halves.
 *
 * A region for n tiles is cut into one for n / 2 tiles and one for the rest, and these are cut
 * again until each region is one tile. Along an axis the cost of the low half increases with the
 * position of the cut, and that of the high half decreases:
 *
 *        low half    rows that begin below the cut       pairs that lie below it
 *        high half   rows that do not end below it       the other pairs
 *
 * A row that crosses the cut is in both halves. The larger cost per tile of the two halves is
 * smallest where both are equal, and smallest overall on the axis on which the fewest rows are cut.
 *
 * A cut is at the low end of a row of the sample, or at a number with fewer digits between it and
 * the preceding start or end. If all rows begin at the same position, no such cut exists. Tiles
 * without rows are then cut off, so that the number of tiles is as requested.
 */
#include "core/join/join.h"
#include "core/primitive/reference_point.h"

#include <float.h>
#include <math.h>

/* ---- density of pairs ---- */

/*
 * Finds the distribution of the pairs of a join in space by joining two samples.
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

/* Locations of pairs, each of which represents `weight` pairs of all rows */
typedef struct rb_tile_pairs
{
	uint32_t n;
	size_t cap;
	double *at; /* three coordinates for each location */
	double weight;
} rb_tile_pairs;

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
	double growth;     /* factor by which the boxes of the samples are grown */
	rb_set side[2];    /* the grown boxes of the rows in use */
	uint32_t *from[2]; /* number of each row in its sample */
	uint64_t found;
	uint64_t equal;   /* pairs of equal boxes, not included in `found` */
	double *equal_at; /* locations of pairs of equal boxes */
	size_t equal_cap;
	bool overflow;
} rb_sample_join;

/* ---- boxes ---- */

/*
 * Replaces an infinite end of a sample box, the result of growing it, by the nearest finite double.
 */
static double
clamp_to_finite(double x)
{
	return x > DBL_MAX ? DBL_MAX : x < -DBL_MAX ? -DBL_MAX : x;
}

/*
 * Pads a box for the sample join that plans tiles, and scales it around its center, so that a
 * small sample has enough pairs.
 */
static void
grow_box_for_tile_planning(double *to, const double *box, int dims, double pad, double growth)
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

/*
 * Collects the boxes of rows that are evenly spread over the sample of a side, for one attempt of
 * the sample join that plans tiles.
 */
static rb_status
collect_rows_for_tile_planning(rb_sample_join *l, int k)
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
			grow_box_for_tile_planning(to, box, l->dims, pad, l->growth);
	}
	return status;
}

/*
 * Returns the box that was sampled for a part of the sample join, without the growth added for
 * this join.
 */
static const double *
sample_part_box(const rb_sample_join *l, int k, uint32_t part)
{
	return l->job->sample[k]->coords + (size_t) l->from[k][part] * 2 * (size_t) l->dims;
}

/* ---- pairs ---- */

/* Appends a pair of boxes, or only counts it. */
static rb_status
append_sample_pair(rb_sample_join *l, const double *red, const double *blue)
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

/* Receives pairs of the sample join, and ends it if they are too many. */
static rb_status
receive_sample_pairs(void *user, const rb_pair *pairs, size_t n)
{
	rb_sample_join *l = user;
	rb_status status = RB_OK;

	l->overflow = l->found + l->equal + n > l->most;
	for (size_t i = 0; i < n && status == RB_OK && !l->overflow; i++)
		status = append_sample_pair(l, sample_part_box(l, 0, rb_pair_red(pairs[i])),
									sample_part_box(l, l->sides - 1, pairs[i].blue));
	/* An overflow is not a failure, but there is no other way to end a join early. */
	return l->overflow ? RB_STOPPED : status;
}

/*
 * Joins the chosen fraction of the samples, with boxes grown as chosen, to find the pairs by which
 * tiles are cut.
 */
static rb_status
join_samples_for_tile_planning(rb_sample_join *l)
{
	const rb_sink sink = {.put = receive_sample_pairs, .user = l};
	const int threads = l->ctx->threads;
	rb_job job = {.red = &l->side[0], .answer = RB_PAIRS, .predicate = RB_MEET};
	rb_status status = RB_OK;

	l->found = l->equal = 0;
	l->overflow = false;
	for (int k = 0; k < l->sides && status == RB_OK; k++)
		status = collect_rows_for_tile_planning(l, k);
	if (status != RB_OK)
		return status;
	job.blue = l->sides == 2 ? &l->side[1] : NULL;
	/* With one thread the pairs arrive in the same order each time. */
	l->ctx->threads = 1;
	status = rb_backend_cpu.join(l->ctx, &job, &sink);
	l->ctx->threads = threads;
	if (!l->overflow || (rb_load(&l->ctx->stop) & ~RB_STOP_FAILED) != 0)
		return status;
	rb_forget_failure(l->ctx);
	return RB_OK;
}

/* ---- number of pairs of all rows ---- */

/* Returns the fraction of all rows of a side that took part in the sample join for tiles. */
static double
fraction_of_rows_joined(const rb_sample_join *l, int k)
{
	const double n = l->side[k].nrows, rows = l->job->rows[k];

	return n < rows ? n / rows : 1;
}

/*
 * Returns true if pairs of equal sample boxes are assumed to be a row paired with itself, and are
 * therefore not counted when tiles are planned: if both samples are from one table, they have rows
 * in common. There must be at most twice as many pairs of equal boxes as such rows are expected to
 * form.
 */
static bool
are_equal_boxes_same_rows(const rb_sample_join *l)
{
	const double expected = l->sides == 2 ? l->side[0].nrows * fraction_of_rows_joined(l, 1) : 0;

	return (double) l->equal <= 2 * expected;
}

/*
 * Returns the number of pairs of all rows that one sample pair represents, if the boxes of both
 * are grown equally.
 */
static double
weight_of_sample_pair(const rb_sample_join *l)
{
	if (l->sides == 1)
		return 1 / (fraction_of_rows_joined(l, 0) * fraction_of_rows_joined(l, 0));
	return (l->job->self ? 0.5 : 1) /
		   (fraction_of_rows_joined(l, 0) * fraction_of_rows_joined(l, 1));
}

/*
 * Appends one location for each pair of equal boxes to the list of pair locations, except for rows
 * paired with themselves.
 */
static rb_status
append_pairs_of_equal_boxes(rb_sample_join *l)
{
	const bool drop = are_equal_boxes_same_rows(l);
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
find_factor_of_growth(rb_sample_join *l, double *more)
{
	const double growth = l->growth, found = (double) l->found;
	double exponent = l->dims;
	rb_status status = RB_OK;

	*more = 1;
	if (growth == 1)
		return RB_OK;
	l->pairs = NULL;
	l->growth = fmax(growth / STEP, 1);
	status = join_samples_for_tile_planning(l);
	if (status == RB_OK)
		status = append_pairs_of_equal_boxes(l);
	if (l->found > 0)
		exponent = log(found / (double) l->found) / log(growth / l->growth);
	*more = pow(growth, fmin(fmax(exponent, 0), l->dims));
	return status;
}

/* ---- entry point ---- */

/*
 * Chooses more rows or larger boxes for the next sample join before tiles are cut. Returns false
 * if the current one has enough pairs.
 */
static bool
plan_next_sample_join(rb_sample_join *l, double wanted, bool all)
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

/* Joins samples until about the wanted number of pairs is found. */
static rb_status
find_sample_pairs(rb_sample_join *l, double wanted)
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
		status = join_samples_for_tile_planning(l);
		if (status == RB_OK && !l->overflow)
			status = append_pairs_of_equal_boxes(l);
		if (status != RB_OK)
			return status;
		had_too_many |= l->overflow;
	} while ((l->overflow || !had_too_many) && plan_next_sample_join(l, wanted, all));
	pairs->n = (uint32_t) l->found;
	pairs->weight = weight_of_sample_pair(l);
	status = find_factor_of_growth(l, &more);
	pairs->weight /= more;
	return status;
}

/* Finds pairs of rows by joining the samples of both sides. */
static rb_status
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
	status = find_sample_pairs(&l, wanted);
	for (int k = 0; k < 2; k++)
	{
		RB_FREE(ctx->memory, l.side[k].coords);
		RB_FREE(ctx->memory, l.from[k]);
	}
	RB_FREE(ctx->memory, l.equal_at);
	return status;
}

/* ---- tree ---- */

#define CHECK_INTERVAL 65536 /* events between two polls of the stop flag */
/* maximum ratio of costs at which the number of cut rows decides instead */
#define ALIKE 1.005

typedef struct rb_kd_row
{
	double low[3];
	double reach[3]; /* high end, increased by the distance */
	double weight;   /* number of rows that it represents */
} rb_kd_row;

/* An event that a cut above its position leaves in the low half */
typedef struct rb_event
{
	double at;
	double low_cost;  /* cost added to the low half */
	double high_cost; /* cost removed from the high half */
	uint32_t starts;  /* true if a row starts here; cuts are at such events */
} rb_event;

typedef struct rb_kd
{
	rb_context *ctx;
	const rb_kd_job *job;
	int dims;
	rb_kd_row *row;
	uint32_t nrows;
	rb_tile_pairs pairs;
	double pair_cost; /* cost of a sampled pair */
	rb_event *event;  /* scratch with room for the events of all rows and pairs */
	rb_kd_tile *tile; /* next output tile */
	uint64_t work;
} rb_kd;

/*
 * A node of the tree: a region to be divided into n tiles, with the numbers of its rows, followed
 * by those of its pairs
 */
typedef struct rb_kd_node
{
	double low[3];
	double high[3];
	uint32_t n;
	uint32_t *entry;
	uint32_t rows;
	uint32_t pairs;
} rb_kd_node;

typedef struct rb_kd_cut
{
	int axis;
	double at;
	double worst;   /* higher cost per tile of the two halves */
	double through; /* cost of the rows that are in both halves */
	double extent;  /* extent of the rows' low ends along this axis */
} rb_kd_cut;

/* ---- numbers ---- */

/* Returns a number with few binary digits that is greater than `above` and at most `upto`. */
static double
find_short_number_between(double above, double upto)
{
	const double half = 0.5 * upto - 0.5 * above;
	int exponent;

	if (!(half > 0 && half <= DBL_MAX))
		return upto;
	(void) frexp(half, &exponent);
	for (exponent++; exponent > -1022; exponent--)
	{
		const double step = ldexp(1, exponent);
		const double x = floor(upto / step) * step;

		if (!(fabs(x) <= DBL_MAX))
			return upto;
		if (x > above)
			return x == 0 ? 0 : x; /* avoids -0 */
	}
	return upto;
}

/* ---- events ---- */

/*
 * Adds to the work done, polls the stop flag at intervals, and returns true if the join was
 * stopped.
 */
static bool
is_cutting_stopped(rb_kd *k, uint64_t work)
{
	k->work += work;
	if (k->work < CHECK_INTERVAL)
		return false;
	k->work = 0;
	return rb_should_stop(k->ctx);
}

/* Returns the cost of a node from its rows and pairs. */
static double
cost_of_kd_node(const rb_kd *k, const rb_kd_node *node)
{
	double cost = k->pair_cost * node->pairs;

	for (uint32_t i = 0; i < node->rows; i++)
		cost += k->row[node->entry[i]].weight;
	return cost;
}

/* Lists the events of the sweep over a node along an axis. */
static uint32_t
list_events_of_kd_node(rb_kd *k, const rb_kd_node *node, int axis)
{
	rb_event *e = k->event;

	for (uint32_t i = 0; i < node->rows; i++)
	{
		const rb_kd_row *row = &k->row[node->entry[i]];

		*e++ = (rb_event){row->low[axis], row->weight, 0, 1};
		*e++ = (rb_event){row->reach[axis], 0, row->weight, 0};
	}
	for (uint32_t i = 0; i < node->pairs; i++)
		*e++ = (rb_event){k->pairs.at[3 * (size_t) node->entry[node->rows + i] + (size_t) axis],
						  k->pair_cost, k->pair_cost, 0};
	return (uint32_t) (e - k->event);
}

/*
 * Partitions the events into those before, at and after a position, and stores where the second and
 * third groups begin.
 */
static void
partition_events(rb_event *event, uint32_t n, double at, uint32_t *equal, uint32_t *behind)
{
	uint32_t i = 0, low = 0, high = n;

	while (i < high)
	{
		const rb_event e = event[i];

		if (e.at < at)
		{
			event[i++] = event[low];
			event[low++] = e;
		}
		else if (e.at > at)
		{
			event[i] = event[--high];
			event[high] = e;
		}
		else
			i++;
	}
	*equal = low;
	*behind = high;
}

/* Returns the median of three event locations, the pivot of the search for a balanced cut. */
static double
median_of_three_events(double a, double b, double c)
{
	return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

/* Returns a pseudo-random number below n, the same in every run. */
static uint32_t
random_event_below(uint64_t seed, uint32_t n)
{
	seed = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
	seed = (seed ^ (seed >> 32)) * UINT64_C(0xd6e8feb86659fd93);
	return (uint32_t) ((seed >> 32) * n >> 32);
}

/* The costs of both halves for a cut */
typedef struct rb_kd_halves
{
	double low;
	double high;
} rb_kd_halves;

/*
 * Finds the adjacent events between which the costs per tile of both halves are equal; at the first
 * of them the low half still costs less. As in a selection of the median, events known to lie on
 * one side are only summed.
 */
static rb_status
find_balanced_events(rb_kd *k, const rb_kd_node *node, uint32_t n, double cost, double *last_before,
					 double *first_behind)
{
	const double low_tiles = node->n / 2, high_tiles = node->n - node->n / 2;
	rb_kd_halves base = {0, cost};
	rb_event *event = k->event;

	*last_before = -INFINITY;
	*first_behind = INFINITY;
	while (n > 0)
	{
		const double at = median_of_three_events(event[random_event_below(n, n)].at,
												 event[random_event_below(n + 1, n)].at,
												 event[random_event_below(n + 2, n)].at);
		rb_kd_halves halves = base;
		uint32_t equal, behind;

		if (is_cutting_stopped(k, n))
			return RB_STOPPED;
		partition_events(event, n, at, &equal, &behind);
		for (uint32_t i = 0; i < equal; i++)
		{
			halves.low += event[i].low_cost;
			halves.high -= event[i].high_cost;
		}
		if (halves.low * high_tiles >= halves.high * low_tiles)
		{
			*first_behind = at;
			n = equal;
			continue;
		}
		*last_before = at;
		for (uint32_t i = equal; i < behind; i++)
		{
			halves.low += event[i].low_cost;
			halves.high -= event[i].high_cost;
		}
		base = halves;
		event += behind;
		n -= behind;
	}
	return RB_OK;
}

/* ---- cuts ---- */

/*
 * Evaluates a cut at the low end of a row, and keeps it if it is better than the best one so far.
 */
static void
try_kd_cut(const rb_kd *k, const rb_kd_node *node, uint32_t n, double cost, rb_kd_cut cut,
		   rb_kd_cut *best)
{
	const double low_tiles = node->n / 2, high_tiles = node->n - node->n / 2;
	rb_kd_halves halves = {0, cost};
	double before = node->low[cut.axis];

	if (!(cut.at > node->low[cut.axis] && cut.at < node->high[cut.axis]))
		return;
	for (uint32_t i = 0; i < n; i++)
		if (k->event[i].at < cut.at)
		{
			halves.low += k->event[i].low_cost;
			halves.high -= k->event[i].high_cost;
			before = fmax(before, k->event[i].at);
		}
	/* The halves are the same for any position between the two. */
	cut.at = find_short_number_between(before, cut.at);
	cut.worst = fmax(halves.low / low_tiles, halves.high / high_tiles);
	cut.through = fmax(halves.low + halves.high - cost, 0);
	if (best->axis >= 0 && cut.axis != best->axis && cut.worst < best->worst * ALIKE &&
		cut.worst * ALIKE > best->worst)
	{
		/* The costs are about equal: prefer fewer cut rows, then the longer axis. */
		if (cut.through < best->through ||
			(cut.through == best->through && cut.extent > best->extent))
			*best = cut;
	}
	else if (best->axis < 0 || cut.worst < best->worst)
		*best = cut;
}

/* Finds the best cut at the low end of a row. The axis is -1 if there is none. */
static rb_status
find_best_kd_cut(rb_kd *k, const rb_kd_node *node, double cost, rb_kd_cut *best)
{
	*best = (rb_kd_cut){.axis = -1, .worst = INFINITY};
	for (int axis = 0; axis < k->dims; axis++)
	{
		const uint32_t n = list_events_of_kd_node(k, node, axis);
		double last_before, first_behind, least = INFINITY, largest = -INFINITY;
		double at[2] = {-INFINITY, INFINITY};
		rb_kd_cut cut = {.axis = axis};
		RB_TRY(find_balanced_events(k, node, n, cost, &last_before, &first_behind));
		for (uint32_t i = 0; i < n; i++)
			if (k->event[i].starts)
			{
				const double x = k->event[i].at;

				least = fmin(least, x);
				largest = fmax(largest, x);
				if (x <= last_before)
					at[0] = fmax(at[0], x);
				if (x >= first_behind)
					at[1] = fmin(at[1], x);
			}
		cut.extent = largest - least;
		for (int i = 0; i < 2; i++)
		{
			if (is_cutting_stopped(k, n))
				return RB_STOPPED;
			cut.at = at[i];
			try_kd_cut(k, node, n, cost, cut, best);
		}
	}
	return RB_OK;
}

/*
 * Returns a position between the ends of a tile, either or both of which may be infinite, at which
 * the k-d tree can cut it.
 */
static double
cut_position_between(double low, double high)
{
	if (low == -INFINITY && high == INFINITY)
		return 0;
	if (low == -INFINITY)
		return high - fmax(1, fabs(high));
	if (high == INFINITY)
		return low + fmax(1, fabs(low));
	return 0.5 * low + 0.5 * high;
}

/*
 * Chooses a cut of a k-d tile above the ends of all its rows, which cuts off a half without rows,
 * or any cut if there is no such position. If the tile is too thin to be cut, leaves its low half
 * empty.
 */
static void
cut_tile_between_rows(const rb_kd *k, const rb_kd_node *node, rb_kd_cut *cut)
{
	for (int axis = 0; axis < k->dims && node->rows > 0; axis++)
	{
		double end = node->low[axis];

		for (uint32_t i = 0; i < node->rows; i++)
			end = fmax(end, k->row[node->entry[i]].reach[axis]);
		*cut = (rb_kd_cut){.axis = axis, .at = cut_position_between(end, node->high[axis])};
		if (cut->at > end && cut->at < node->high[axis])
			return;
	}
	for (int axis = 0; axis < k->dims; axis++)
	{
		*cut = (rb_kd_cut){.axis = axis,
						   .at = cut_position_between(node->low[axis], node->high[axis])};
		if (cut->at > node->low[axis] && cut->at < node->high[axis] && fabs(cut->at) <= DBL_MAX)
			return;
	}
	*cut = (rb_kd_cut){.axis = 0, .at = node->low[0]};
}

/* ---- the tree ---- */

/*
 * Fills one half with the rows and pairs of a node. The region and the number of tiles of the half
 * are already set.
 */
static rb_status
fill_half_of_kd_node(rb_kd *k, const rb_kd_node *node, rb_kd_node *half, const rb_kd_cut *cut,
					 bool is_low)
{
	const uint32_t all = node->rows + node->pairs;
	uint32_t n = 0;

	RB_TRY(RB_ALLOCATE(k->ctx, half->entry, (size_t) all + 1));
	for (uint32_t i = 0; i < node->rows; i++)
	{
		const rb_kd_row *row = &k->row[node->entry[i]];

		half->entry[n] = node->entry[i];
		n += is_low ? row->low[cut->axis] < cut->at : row->reach[cut->axis] >= cut->at;
	}
	half->rows = n;
	for (uint32_t i = node->rows; i < all; i++)
	{
		const double at = k->pairs.at[3 * (size_t) node->entry[i] + (size_t) cut->axis];

		half->entry[n] = node->entry[i];
		n += (at < cut->at) == is_low;
	}
	half->pairs = n - half->rows;
	rb_shrink(k->ctx->memory, (void **) &half->entry, (n + 1) * sizeof(uint32_t));
	return is_cutting_stopped(k, all) ? RB_STOPPED : RB_OK;
}

/* Divides a node recursively and frees its entries. */
static rb_status
cut_kd_node(rb_kd *k, rb_kd_node *node)
{
	const double cost = cost_of_kd_node(k, node);
	rb_kd_node half[2] = {*node, *node};
	rb_kd_cut cut = {.axis = -1};
	rb_status status;

	if (node->n == 1)
	{
		memcpy(k->tile->low, node->low, sizeof(node->low));
		memcpy(k->tile->high, node->high, sizeof(node->high));
		k->tile->cost = cost;
		k->tile++;
		RB_FREE(k->ctx->memory, node->entry);
		return is_cutting_stopped(k, 1) ? RB_STOPPED : RB_OK;
	}
	half[0].n = node->n / 2;
	half[1].n = node->n - node->n / 2;
	half[0].entry = half[1].entry = NULL;
	status = find_best_kd_cut(k, node, cost, &cut);
	if (status == RB_OK)
	{
		if (cut.axis < 0)
			cut_tile_between_rows(k, node, &cut);
		half[0].high[cut.axis] = half[1].low[cut.axis] = cut.at;
		for (int i = 0; i < 2 && status == RB_OK; i++)
			status = fill_half_of_kd_node(k, node, &half[i], &cut, i == 0);
	}
	RB_FREE(k->ctx->memory, node->entry);
	for (int i = 0; i < 2; i++)
	{
		if (status == RB_OK)
			status = cut_kd_node(k, &half[i]);
		else
			RB_FREE(k->ctx->memory, half[i].entry);
	}
	return status;
}

/* ---- entry point ---- */

/* Collects the rows of the samples with their weights. */
static rb_status
collect_weighted_sample_rows(rb_kd *k)
{
	const rb_kd_job *job = k->job;
	const size_t width = 2 * (size_t) k->dims;
	uint64_t n = 0;

	for (int s = 0; s < 2; s++)
		n += job->sample[s] != NULL ? job->sample[s]->nrows : 0;
	if (n > RB_MAX_OBJECTS)
		return rb_fail(k->ctx, RB_TOO_MANY_OBJECTS, n, RB_MAX_OBJECTS, NULL);
	RB_TRY(RB_ALLOCATE(k->ctx, k->row, n + 1));
	for (int s = 0; s < 2; s++)
	{
		const rb_set *sample = job->sample[s];
		/* With two samples of one table, each row represents fewer rows. */
		const uint64_t of = job->self ? n : sample != NULL ? sample->nrows : 0;

		for (uint32_t i = 0; sample != NULL && i < sample->nrows; i++)
		{
			rb_kd_row *row = &k->row[k->nrows++];

			memset(row, 0, sizeof(*row));
			row->weight = fmax(job->rows[s] / (double) of, 1);
			for (int a = 0; a < k->dims; a++)
			{
				row->low[a] = sample->coords[i * width + (size_t) a];
				row->reach[a] = rb_reach_up(
					sample->coords[i * width + (size_t) k->dims + (size_t) a], job->distance);
			}
		}
	}
	return RB_OK;
}

/* Cuts all of space into tiles by a k-d tree, whose root holds all rows and sample pairs. */
static rb_status
cut_space_into_tiles(rb_kd *k)
{
	rb_kd_node node = {.n = k->job->n, .rows = k->nrows, .pairs = k->pairs.n};
	const size_t events = 2 * (size_t) node.rows + node.pairs + 1;

	RB_TRY(RB_ALLOCATE(k->ctx, k->event, events));
	RB_TRY(RB_ALLOCATE(k->ctx, node.entry, (size_t) node.rows + node.pairs + 1));
	for (uint32_t i = 0; i < node.rows; i++)
		node.entry[i] = i;
	for (uint32_t i = 0; i < node.pairs; i++)
		node.entry[node.rows + i] = i;
	for (int a = 0; a < 3; a++)
	{
		node.low[a] = -INFINITY;
		node.high[a] = INFINITY;
	}
	return cut_kd_node(k, &node);
}

rb_status
rb_kd_tiles(rb_context *ctx, const rb_kd_job *job, rb_kd_tile *tiles)
{
	rb_kd k = {.ctx = ctx, .job = job, .tile = tiles};
	RB_FREE_AT_END(ctx->memory, &k.row, &k.event, &k.pairs.at);

	k.dims = rb_kind_dims(job->sample[0]->kind);
	RB_TRY(rb_tile_pairs_find(ctx, job, &k.pairs));
	k.pair_cost = RB_TILE_PAIR_COST * k.pairs.weight;
	RB_TRY(collect_weighted_sample_rows(&k));
	return cut_space_into_tiles(&k);
}
