/*
 * partitions.c
 *	  Divides space into as many partitions as there are devices, each with about the same amount
 *	  of work.
 *
 * Each device scans all parts of the input once, whatever its partition is. The devices differ in
 * the number of parts that lie in their partition, and in the number of overlapping pairs of boxes
 * there. So an input part has the weight one, plus the cost of the pairs that contain it:
 *
 *		sample		randomly chosen parts of each side, one from each of many equal ranges
 *		density		grid cells between quantiles along each axis: the number of parts of the other
 *					side in the cell of a part, corrected for the sizes of the boxes and the cell
 *		cuts		a k-d tree of the sample's positions, cut at their weighted medians along the
 *					axis where a cut crosses fewest boxes: positions vary most and boxes are short
 *
 * A join of a billion pairs takes about ten milliseconds on one device, so there is no time for a
 * more careful method; redblue_tiles uses one (kd_tiles.c). Cells between quantiles adapt to
 * clustered data, unlike cells of equal size.
 *
 * If all of the sample starts at one position, no useful cut exists, and all partitions but one are
 * empty.
 *
 * The same sets are always cut in the same way, so the last few results for cached sets are
 * remembered.
 */

#include "core/base/sort.h"
#include "core/join/join.h"
#include "core/set/set.h"
#include "core/primitive/reference_point.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#define SAMPLE 8192u /* Sample size, in parts of both sides together */
#define RANKED 512u  /* Maximum number of sampled parts for computing quantiles */
/* Number of cells along an axis in space, for eight sampled parts of each side per cell */
#define BINS 8
#define BINS_FLAT 16 /* Number of cells along an axis in the plane */
/* Cost of an overlapping pair of boxes, relative to the cost of a part; measured: 0.06 to 0.15 */
#define PAIR_COST 0.1
#define FAR_COST 0.125 /* Relative cost of a part that is far from the other side */
#define PARTED 64      /* Number of bins for the search of a median */

typedef struct rb_sample_part
{
	double low[3]; /* Lower corner of the padded box */
	double extent[3];
	double weight;
	uint32_t cell;
	uint32_t side;
	bool near; /* True if the box overlaps the region that both sides occupy */
} rb_sample_part;

typedef struct rb_cutting
{
	const rb_job *job;
	int dims;
	double pad;
	uint32_t n;
	rb_sample_part *place;
	uint32_t count[2];            /* Number of sampled parts of each side */
	double stands_for[2];         /* Number of input parts that each sampled part represents */
	double mean[2][3];            /* Mean extents of each side */
	int bins;                     /* Number of bins along each axis */
	double cut[3][BINS_FLAT + 1]; /* Starts of the bins, and the end of the last one */
	double *in_cell[2];           /* Number of sampled parts of each side in each cell */
	rb_box *share;                /* Next partition to be written */
} rb_cutting;

/* ---- sample ---- */

/* Computes the padded box of a part, also for a delta set without coordinates. */
static void
box_of_sampled_part(const rb_cutting *k, const rb_set *set, uint32_t part, double lo[3],
					double hi[3])
{
	if (set->coords == NULL && set->view != NULL)
		set = rb_view_part(set, &part);
	rb_kind_box(set->kind, set->coords, part, lo, hi);
	rb_kind_pad(set->kind, k->pad, lo, hi);
}

/* Samples a side. In a self join, each half of the sample represents one side. */
static void
sample_side_for_partitions(rb_cutting *k, const rb_set *set, uint32_t n, bool halves)
{
	const uint64_t step = set->nparts / n + 1;
	const size_t width = (size_t) rb_kind_width(set->kind);
	const uint32_t first = k->n;
	uint32_t random = 1;

	/* Prefetch all sampled parts first, since they are scattered in memory. */
	for (uint64_t from = 0; from < set->nparts; from += step)
	{
		rb_sample_part *p = &k->place[k->n];
		uint64_t i;

		random = random * 1664525 + 1013904223;
		i = from + ((uint64_t) random * step >> 32);
		if (i >= set->nparts)
			break;
		memset(p, 0, sizeof(*p));
		p->side = halves ? k->n & 1 : first > 0;
		p->cell = (uint32_t) i;
		if (set->coords != NULL)
		{
			__builtin_prefetch(set->coords + i * width);
			__builtin_prefetch(set->coords + i * width + width - 1);
		}
		k->count[p->side]++;
		k->n++;
	}
	for (uint32_t i = first; i < k->n; i++)
	{
		rb_sample_part *p = &k->place[i];
		double lo[3], hi[3];

		box_of_sampled_part(k, set, p->cell, lo, hi);
		p->cell = 0;
		for (int a = 0; a < k->dims; a++)
		{
			p->low[a] = lo[a];
			p->extent[a] = fmin(hi[a] - lo[a], DBL_MAX);
		}
	}
}

/* Marks the parts in the region that both sides occupy; other parts cost little. */
static void
mark_common_region(rb_cutting *k)
{
	double lo[2][3], hi[2][3], from[3], to[3];

	for (int s = 0; s < 2; s++)
		rb_box_empty(lo[s], hi[s]);
	for (uint32_t i = 0; i < k->n; i++)
	{
		const rb_sample_part *p = &k->place[i];
		double end[3];

		for (int a = 0; a < 3; a++)
			end[a] = p->low[a] + p->extent[a];
		rb_box_add(lo[p->side], hi[p->side], p->low, end);
	}
	for (int a = 0; a < 3; a++)
	{
		from[a] = fmax(lo[0][a], lo[1][a]);
		to[a] = fmin(hi[0][a], hi[1][a]);
	}
	rb_tile_clip(k->job, from, to);
	for (uint32_t i = 0; i < k->n; i++)
	{
		rb_sample_part *p = &k->place[i];

		p->near = true;
		for (int a = 0; a < k->dims; a++)
			p->near &= p->low[a] <= to[a] && p->low[a] + p->extent[a] >= from[a];
	}
}

/* ---- cells, and the number of pairs in each ---- */

/* Computes the cuts between bins, quantiles of the positions on each axis. */
static void
cut_positions_into_bins(rb_cutting *k)
{
	const uint32_t step = k->n / RANKED + 1;
	double sorted[RANKED + 1];

	k->bins = k->dims == 3 ? BINS : BINS_FLAT;
	for (int a = 0; a < k->dims; a++)
	{
		uint32_t n = 0;

		for (uint32_t i = 0; i < k->n; i += step)
			sorted[n++] = k->place[i].low[a];
		/*
		 * No context is passed, since it could stop the sort, and the partitions are kept for later
		 * joins.
		 */
		(void) rb_sort_doubles(NULL, sorted, n);
		for (int b = 0; b <= k->bins; b++)
			k->cut[a][b] = sorted[(uint64_t) b * (n - 1) / (uint64_t) k->bins];
	}
}

/* Returns the bin of a position on an axis. */
static uint32_t
bin_of_position(const rb_cutting *k, int axis, double x)
{
	uint32_t b = 0;

	for (uint32_t half = (uint32_t) k->bins / 2; half > 0; half /= 2)
		b += x >= k->cut[axis][b + half] ? half : 0;
	return b;
}

/* Counts the parts of the sample in each cell, and sums their extents. */
static void
count_sample_in_cells(rb_cutting *k)
{
	const double each[2] = {1.0 / k->count[0], 1.0 / k->count[1]};

	for (uint32_t i = 0; i < k->n; i++)
	{
		rb_sample_part *p = &k->place[i];

		for (int a = 0; a < k->dims; a++)
		{
			p->cell = p->cell * (uint32_t) k->bins + bin_of_position(k, a, p->low[a]);
			k->mean[p->side][a] += each[p->side] * p->extent[a];
		}
		k->in_cell[p->side][p->cell]++;
	}
}

/* Returns the fraction of all positions that are below x on an axis. */
static double
fraction_of_positions_below(const rb_cutting *k, int axis, double x)
{
	const uint32_t b = bin_of_position(k, axis, x);
	const double from = k->cut[axis][b], to = k->cut[axis][b + 1];
	const double within = from < to ? (0.5 * x - 0.5 * from) / (0.5 * to - 0.5 * from) : 0;

	return (b + fmin(fmax(within, 0), 1)) / k->bins;
}

/*
 * Returns the number of boxes of the other side that overlap the part's box, relative to the
 * number of those boxes that a cell holds on average.
 */
static double
overlaps_per_cell_box(const rb_cutting *k, const rb_sample_part *p)
{
	double boxes = 1;

	for (int a = 0; a < k->dims; a++)
	{
		const double low = p->low[a];
		const double share = fraction_of_positions_below(k, a, low + p->extent[a]) -
							 fraction_of_positions_below(k, a, low - k->mean[1 - p->side][a]);
		const uint32_t b = bin_of_position(k, a, low);

		/* If many boxes start at the same position, all of them overlap. */
		boxes *= k->cut[a][b] < k->cut[a][b + 1] ? share * k->bins : fmax(share * k->bins, 1);
	}
	return boxes;
}

/* Computes the weight of each part of the sample from the pairs expected in its cell. */
static void
weigh_sampled_parts(rb_cutting *k)
{
	for (uint32_t i = 0; i < k->n; i++)
	{
		rb_sample_part *p = &k->place[i];
		const uint32_t other = 1 - p->side;
		const double pairs =
			k->in_cell[other][p->cell] * k->stands_for[other] * overlaps_per_cell_box(k, p);

		/* Each pair is counted from both of its parts. */
		const double cost = p->near ? 0.5 * PAIR_COST * pairs : 0;

		p->weight = k->stands_for[p->side] * (p->near ? 1 + cost : FAR_COST);
		/*
		 * A pair belongs to the position where the second of its boxes starts. Shift by the average
		 * over all overlapping boxes.
		 */
		for (int a = 0; a < k->dims; a++)
		{
			const double e = p->extent[a], both = e + k->mean[other][a];

			p->low[a] += both > 0 ? cost / (1 + cost) * 0.5 * e * (e / both) : 0;
		}
	}
}

/* ---- cuts ---- */

/* Swaps two sampled parts, to move those below a cut to the front. */
static void
swap_sampled_parts(rb_sample_part *p, rb_sample_part *q)
{
	const rb_sample_part r = *p;

	*p = *q;
	*q = r;
}

/*
 * Returns the axis along which space is cut between devices: the one with the largest spread of
 * positions relative to the extents of the boxes, or -1 if all positions are equal.
 */
static int
find_axis_to_cut_partition(const rb_cutting *k, uint32_t from, uint32_t to)
{
	const double each = 1.0 / (to - from);
	double best = 0;
	int axis = -1;

	for (int a = 0; a < k->dims; a++)
	{
		double sum = 0, extent = 0, deviation = 0, mean, spread;
		double least = INFINITY, largest = -INFINITY;

		for (uint32_t i = from; i < to; i++)
		{
			least = fmin(least, k->place[i].low[a]);
			largest = fmax(largest, k->place[i].low[a]);
			sum += each * k->place[i].low[a];
			extent += each * k->place[i].extent[a];
		}
		if (!(least < largest))
			continue;
		mean = fmin(fmax(sum, least), largest);
		for (uint32_t i = from; i < to; i++)
			deviation += each * fabs(0.5 * k->place[i].low[a] - 0.5 * mean);
		spread = deviation / (extent + 1e-3 * deviation);
		if (!(spread <= DBL_MAX)) /* The extents are too small for the division */
			spread = DBL_MIN;
		if (axis < 0 || spread > best)
		{
			axis = a;
			best = spread;
		}
	}
	return axis;
}

/*
 * Returns a position of the entries `from` to `to` that has the given weight below it. The entries
 * are distributed to bins, and the bin that contains the result is divided again, until it contains
 * only one position.
 */
static double
find_cut_position(const rb_cutting *k, uint32_t from, uint32_t to, int axis, double weight)
{
	double least = INFINITY, largest = -INFINITY;

	for (uint32_t i = from; i < to; i++)
	{
		least = fmin(least, k->place[i].low[axis]);
		largest = fmax(largest, k->place[i].low[axis]);
	}
	while (least < largest)
	{
		const double scale = PARTED / (0.5 * largest - 0.5 * least);
		double in[PARTED] = {0}, low[PARTED], high[PARTED];
		int b = 0;

		if (!(scale <= DBL_MAX))
			break;
		for (int i = 0; i < PARTED; i++)
		{
			low[i] = INFINITY;
			high[i] = -INFINITY;
		}
		for (uint32_t i = from; i < to; i++)
		{
			const double x = k->place[i].low[axis];
			int at;

			if (x < least || x > largest)
				continue;
			at = (int) ((0.5 * x - 0.5 * least) * scale);
			at = at < PARTED ? at : PARTED - 1;
			in[at] += k->place[i].weight;
			low[at] = fmin(low[at], x);
			high[at] = fmax(high[at], x);
		}
		while (b < PARTED - 1 && in[b] < weight)
			weight -= in[b++];
		/* Rounding errors may place the weight after the last nonempty bin. */
		while (b > 0 && !(low[b] <= high[b]))
			b--;
		least = low[b];
		largest = high[b];
	}
	return largest;
}

/* Cuts the region of the entries `from` to `to` into n partitions of equal weight. */
static void
cut_partition(rb_cutting *k, uint32_t from, uint32_t to, int n, const rb_box *ends)
{
	const int axis = n > 1 ? find_axis_to_cut_partition(k, from, to) : -1;
	rb_box half[2] = {*ends, *ends};
	uint32_t middle = from;
	double weight = 0, at;

	if (n == 1)
	{
		*k->share++ = *ends;
		return;
	}
	if (axis >= 0)
	{
		for (uint32_t i = from; i < to; i++)
			weight += k->place[i].weight;
		at = find_cut_position(k, from, to, axis, weight * (n / 2) / n);
	}
	else if (from < to)
		at = k->place[from].low[0];
	else
		at = isfinite(ends->low[0]) ? ends->low[0] : isfinite(ends->high[0]) ? ends->high[0] : 0;
	at = fmin(fmax(at, ends->low[axis < 0 ? 0 : axis]), ends->high[axis < 0 ? 0 : axis]);
	half[0].high[axis < 0 ? 0 : axis] = half[1].low[axis < 0 ? 0 : axis] = at;
	for (uint32_t i = from; i < to; i++)
		if (k->place[i].low[axis < 0 ? 0 : axis] < at)
			swap_sampled_parts(&k->place[i], &k->place[middle++]);
	cut_partition(k, from, middle, n / 2, &half[0]);
	cut_partition(k, middle, to, n - n / 2, &half[1]);
}

/* ---- cache of cuts ---- */

#define REMEMBERED 8

typedef struct rb_known_cuts
{
	uint64_t number[2]; /* Numbers of both sets; blue is 0 in a self join */
	double pad;
	rb_box tile; /* Tile of the job */
	int n;       /* Number of partitions; 0 if the entry is unused */
	rb_box share[RB_MAX_DEVICES];
} rb_known_cuts;

static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;
static rb_known_cuts known[REMEMBERED];
static unsigned known_next;

/* Returns true if the boxes of two partitions are equal, for the lookup of remembered cuts. */
static bool
are_partitions_equal(const rb_box *p, const rb_box *q)
{
	bool same = p->dims == q->dims;

	for (int a = 0; a < p->dims && same; a++)
		same = p->low[a] == q->low[a] && p->high[a] == q->high[a];
	return same;
}

/* Fills the key of a job. Returns false if a set is not cached, and so has no stable number. */
static bool
key_of_remembered_cuts(const rb_job *job, int n, rb_known_cuts *k)
{
	memset(k, 0, sizeof(*k));
	k->number[0] = job->red->number;
	k->number[1] = job->blue != NULL ? job->blue->number : 0;
	k->pad = rb_pad_of(job->predicate, job->distance);
	k->tile = job->tile;
	k->n = n;
	return k->number[0] != 0 && (job->blue == NULL || k->number[1] != 0);
}

/* Reads the partitions of an equal join that was cut before. Returns false if there is none. */
static bool
recall_partition_cuts(const rb_job *job, int n, rb_box *share)
{
	rb_known_cuts ask;
	bool found = false;

	if (!key_of_remembered_cuts(job, n, &ask))
		return false;
	pthread_mutex_lock(&known_lock);
	for (int i = 0; i < REMEMBERED && !found; i++)
	{
		const rb_known_cuts *k = &known[i];

		found = k->n == n && k->number[0] == ask.number[0] && k->number[1] == ask.number[1] &&
				k->pad == ask.pad && are_partitions_equal(&k->tile, &ask.tile);
		if (found)
			memcpy(share, k->share, (size_t) n * sizeof(rb_box));
	}
	pthread_mutex_unlock(&known_lock);
	return found;
}

/* Stores the partitions of a join for later ones. */
static void
remember_partition_cuts(const rb_job *job, int n, const rb_box *share)
{
	rb_known_cuts k;

	if (!key_of_remembered_cuts(job, n, &k))
		return;
	memcpy(k.share, share, (size_t) n * sizeof(rb_box));
	pthread_mutex_lock(&known_lock);
	known[known_next++ % REMEMBERED] = k;
	pthread_mutex_unlock(&known_lock);
}

rb_status
rb_partitions_cut(rb_context *ctx, const rb_job *job, int n, rb_box *share)
{
	const bool self = job->blue == NULL;
	rb_cutting k = {.job = job,
					.dims = rb_kind_dims(job->red->kind),
					.pad = rb_pad_of(job->predicate, job->distance),
					.share = share};
	rb_box all = {.dims = k.dims};
	size_t cells;
	RB_FREE_AT_END(ctx->memory, &k.in_cell[0], &k.in_cell[1], &k.place);

	if (recall_partition_cuts(job, n, share))
		return RB_OK;
	RB_TRY(RB_ALLOCATE(ctx, k.place, SAMPLE + 2));
	cells = k.dims == 3 ? BINS * BINS * BINS : BINS_FLAT * BINS_FLAT;
	for (int s = 0; s < 2; s++)
	{
		RB_TRY(RB_ALLOCATE(ctx, k.in_cell[s], cells));
		memset(k.in_cell[s], 0, cells * sizeof(double));
	}
	for (int a = 0; a < k.dims; a++)
	{
		all.low[a] = -INFINITY;
		all.high[a] = INFINITY;
	}
	sample_side_for_partitions(&k, job->red, self ? SAMPLE : SAMPLE / 2, self);
	if (!self)
		sample_side_for_partitions(&k, job->blue, SAMPLE / 2, false);
	for (int s = 0; s < 2; s++)
	{
		const rb_set *set = self || s == 0 ? job->red : job->blue;

		k.stands_for[s] = (double) set->nparts / (k.count[s] > 0 ? k.count[s] : 1);
		k.stands_for[s] *= self ? 0.5 : 1;
	}
	mark_common_region(&k);
	cut_positions_into_bins(&k);
	count_sample_in_cells(&k);
	weigh_sampled_parts(&k);
	cut_partition(&k, 0, k.n, n, &all);
	remember_partition_cuts(job, n, share);
	return RB_OK;
}
