/*
 * row_pairs.c
 *	  Converts pairs of parts to distinct pairs of rows, and tests whether these belong to the tile
 *	  of a job.
 */
#include "core/exec/row_pairs.h"
#include "core/base/base.h"
#include "core/base/parallel.h"

/* ---- distinct pairs of rows ---- */

/*
 * A row may have many parts, for example a TIN or a line of forty segments. Two such rows meet in
 * many pairs of parts and still form one pair of rows. The pairs of rows that were returned are
 * stored in a hash table. It contains only pairs in which a row has several parts, so data with one
 * part per row incurs no cost, and memory is bounded by the number of resulting pairs, not of
 * contacts.
 *
 * If pairs have a payload, the payloads of their parts are merged in the same table, and the pairs
 * are returned when the join has ended:
 *
 *		RB_CONTACT, RB_SELF_INTERSECT    the highest dimension; whether any two parts cross
 *		RB_WITHIN                        the least distance
 *		RB_RAY_PARITY                    parity of the parts above; whether any contains the point
 */

void
rb_unique_init(rb_unique *u, rb_context *ctx, const rb_job *job)
{
	memset(u, 0, sizeof(*u));
	u->ctx = ctx;
	u->job = job;
	/* Predicates composed of several joins produce pairs of rows directly. */
	u->needed = !job->within_rows && job->predicate < RB_NEAREST &&
				(job->red->row_of != NULL || (job->blue != NULL && job->blue->row_of != NULL));
	u->merges = u->needed && rb_predicate_has_payload(job->predicate);
}

void
rb_unique_free(rb_unique *u)
{
	rb_row_pairs_free(u->ctx->memory, &u->known);
	rb_merged_pairs_free(u->ctx->memory, &u->merged);
}

/* Merges the payloads of two pairs of parts that belong to the same pair of rows. */
static uint64_t
merge_payload_of_row_pair(rb_predicate predicate, uint64_t a, uint64_t b)
{
	uint64_t dimension;

	switch (predicate)
	{
		case RB_WITHIN: /* Nonnegative doubles have the order of their bits */
			return a < b ? a : b;
		case RB_RAY_PARITY:
			return ((a ^ b) & RB_PAYLOAD(RB_RAY_PARITY_OF(1, 0))) |
				   ((a | b) & RB_PAYLOAD(RB_RAY_PARITY_OF(0, 1)));
		default:
			dimension = RB_PAYLOAD_DIMENSION(a) > RB_PAYLOAD_DIMENSION(b) ? RB_PAYLOAD_DIMENSION(a)
																		  : RB_PAYLOAD_DIMENSION(b);
			return RB_PAYLOAD(
				RB_CONTACT_OF(dimension, RB_PAYLOAD_CROSSES(a) | RB_PAYLOAD_CROSSES(b)));
	}
}

/* Returns true if a pair of rows with this payload belongs to the result. */
static bool
rb_unique_counts(const rb_job *job, uint64_t payload)
{
	return job->predicate != RB_RAY_PARITY || payload != 0;
}

/* Returns the row of a part; sets *several if the row has other parts. */
static inline uint32_t
row_of_paired_part(const rb_set *side, uint32_t part, bool *several)
{
	uint32_t row;

	if (side->row_of == NULL)
		return part;
	row = side->row_of[part];
	if ((part > 0 && side->row_of[part - 1] == row) ||
		(part + 1 < side->nparts && side->row_of[part + 1] == row))
		*several = true;
	return row;
}

/* Adds a pair of rows; returns in *known whether it is in the table already. */
static inline rb_status
add_row_pair(rb_unique *u, uint64_t key, bool *known)
{
	uint64_t *slot;

	RB_TRY(rb_row_pairs_reserve(u->ctx, &u->known, NULL, 1));
	slot = rb_row_pairs_find(&u->known, NULL, key);
	*known = *slot == key;
	u->known.n += !*known;
	*slot = key;
	return RB_OK;
}

/* Adds the payload of a pair of parts to the pair of rows with the given key. */
static inline rb_status
merge_row_pair(rb_unique *u, uint64_t key, uint64_t payload)
{
	rb_merged_pair *slot;

	RB_TRY(rb_merged_pairs_reserve(u->ctx, &u->merged, NULL, 1));
	slot = rb_merged_pairs_find(&u->merged, NULL, key);
	if (slot->key == key)
		slot->payload = merge_payload_of_row_pair(u->job->predicate, slot->payload, payload);
	else
	{
		*slot = (rb_merged_pair){key, payload};
		u->merged.n++;
	}
	return RB_OK;
}

/* Adds a pair of parts. Sets *out if its pair of rows must be returned immediately. */
static rb_status
add_part_pair(rb_unique *u, rb_pair parts, uint64_t payload, rb_pair *rows, bool *out)
{
	const rb_set *red = u->job->red;
	const rb_set *blue = u->job->blue != NULL ? u->job->blue : red;
	bool several = false, known;
	uint64_t key;

	rows->red = row_of_paired_part(red, parts.red, &several);
	rows->blue = row_of_paired_part(blue, parts.blue, &several);
	*out = !several;
	if (!several)
		return RB_OK;
	key = (uint64_t) rows->red << 32 | rows->blue;
	if (u->merges)
		return merge_row_pair(u, key, payload);
	RB_TRY(add_row_pair(u, key, &known));
	*out = !known;
	return RB_OK;
}

rb_status
rb_unique_rows(rb_unique *u, const rb_pair *parts, const uint64_t *payload, size_t n, rb_pair *out,
			   uint64_t *out_payload, size_t *nout)
{
	rb_status status = RB_OK;
	size_t k = 0;

	if (rb_should_stop(u->ctx))
		return RB_STOPPED;
	for (size_t i = 0; i < n && status == RB_OK; i++)
	{
		bool comes_out = false;

		status = add_part_pair(u, parts[i], payload != NULL ? payload[i] : 0, &out[k], &comes_out);
		if (payload != NULL)
			out_payload[k] = payload[i];
		k += comes_out;
	}
	*nout = k;
	return status;
}

size_t
rb_unique_merged(const rb_unique *u, size_t *at, rb_pair *out, uint64_t *payload, size_t most)
{
	size_t k = 0;

	for (; u->merged.n > 0 && *at <= u->merged.mask && k < most; (*at)++)
	{
		const rb_merged_pair *slot = &u->merged.slot[*at];

		if (slot->key == RB_NO_PAIR || !rb_unique_counts(u->job, slot->payload))
			continue;
		out[k] = (rb_pair){(uint32_t) (slot->key >> 32), (uint32_t) slot->key};
		payload[k++] = slot->payload;
	}
	return k;
}

/* ---- pairs of a tile ---- */

/*
 * The reference point of a pair of rows (reference_point.h) differs from that of a pair of their
 * parts. So if rows have several parts, the lower corner of each row's bounding box is computed
 * first.
 *
 * The test applies to pairs on their way to the caller, so the result cannot depend on the backend
 * that found them, and a join without a tile incurs no cost. A backend may skip other pairs earlier
 * (rb_tile_clip) to save work.
 */

#define GRAIN RB_SIZE(1 << 16, 7)

/* The rows of a set; a thread processes the rows whose first part is in its range */
typedef struct rb_lows
{
	rb_context *ctx;
	const rb_set *set;
	double *low;
} rb_lows;

/* Computes the lower corners of the boxes of the rows that begin in a range of parts. */
static void
compute_row_lower_corners_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const rb_lows *l = arg;
	const rb_set *set = l->set;
	uint32_t i = (uint32_t) from;

	(void) me;
	if (rb_should_stop(l->ctx))
		return;
	while (i > 0 && i < to && set->row_of[i] == set->row_of[i - 1])
		i++;
	while (i < to)
	{
		const uint32_t row = set->row_of[i];
		double lo[3], hi[3];

		rb_box_empty(lo, hi);
		for (; i < set->nparts && set->row_of[i] == row; i++)
		{
			double part_lo[3], part_hi[3];

			rb_kind_box(set->kind, set->coords, i, part_lo, part_hi);
			rb_box_add(lo, hi, part_lo, part_hi);
		}
		for (int a = 0; a < 3; a++)
			l->low[3 * (size_t) row + a] = lo[a];
	}
}

/*
 * Computes the lower corner of each row's bounding box, to find the tile that owns a pair. Corners
 * of rows without parts, which occur in slices of a set, remain uninitialized; such rows are in no
 * pair.
 */
static rb_status
compute_row_lower_corners(rb_context *ctx, const rb_set *set, double **low)
{
	rb_lows l = {ctx, set, NULL};
	rb_status status;

	if (set->row_of == NULL)
		return RB_OK;
	RB_TRY(rb_array(ctx, (void **) low, (size_t) set->nrows + 1, 3 * sizeof(double)));
	l.low = *low;
	status = rb_team_loop(ctx, rb_threads_for(ctx, set->nparts, GRAIN), set->nparts, GRAIN,
						  compute_row_lower_corners_piece, &l);
	return status == RB_OK && rb_should_stop(ctx) ? RB_STOPPED : status;
}

rb_status
rb_in_tile_build(rb_context *ctx, const rb_job *job, rb_in_tile *in)
{
	const bool self = job->blue == NULL || job->blue == job->red;
	rb_status status;

	*in = (rb_in_tile){.tile = job->tile, .set = {job->red, self ? job->red : job->blue}};
	in->tile.dims = rb_kind_dims(job->red->kind);
	status = compute_row_lower_corners(ctx, in->set[0], &in->low[0]);
	if (self)
		in->low[1] = in->low[0];
	else if (status == RB_OK)
		status = compute_row_lower_corners(ctx, in->set[1], &in->low[1]);
	return status;
}

void
rb_in_tile_free(rb_context *ctx, rb_in_tile *in)
{
	if (in->low[1] == in->low[0])
		in->low[1] = NULL;
	for (int i = 0; i < 2; i++)
		RB_FREE(ctx->memory, in->low[i]);
}
