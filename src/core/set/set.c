/*
 * set.c
 *	  Implements a set, one side of a join, with reference-counted ownership, and numbers its rows by
 *	  their ids.
 *
 * A set never changes after it is built, so readers need no lock and may pass pointers to it
 * freely. The owner counts the holders of the set. When the last holder releases it, its arrays are
 * returned to the memory they were allocated from.
 */
#include "core/base/base.h"
#include "core/set/set.h"
#include "core/base/hash.h"

#define PARTS_PER_CHECK RB_SIZE(65536, 8) /* Parts between checks for cancellation */

typedef struct rb_set_owner
{
	rb_set set; /* the set, whose arrays are blocks of `memory` */
	rb_memory *memory;
	uint32_t holders;
	uint32_t facts;
} rb_set_owner;

rb_status
rb_set_own(rb_memory *memory, const rb_set *arrays, const rb_set **set, rb_error *error)
{
	rb_set_owner *owner = NULL;
	rb_status status = rb_resize(memory, (void **) &owner, sizeof(*owner), error);

	*set = NULL;
	if (status != RB_OK)
		return status;
	owner->set = *arrays;
	owner->set.owner = owner;
	owner->memory = memory;
	owner->holders = 1;
	owner->facts = 0;
	*set = &owner->set;
	return RB_OK;
}

uint64_t
rb_coords_bytes(const rb_set *set)
{
	return (uint64_t) set->nparts * (uint64_t) rb_kind_width(set->kind) * sizeof(double);
}

void
rb_view_uncount(rb_memory *memory, const rb_set *set)
{
	rb_view *own = (rb_view *) set->view;

	if (own->counted)
		rb_memory_refund(memory, rb_coords_bytes(set));
	own->counted = false;
}

/*
 * Releases the sets of which a delta set is composed, when it is freed or no longer needs them,
 * and frees its definition.
 */
static void
drop_definition_of_delta_set(rb_memory *memory, rb_set *set)
{
	const rb_view *view = set->view;
	const rb_set *kept = view->kept;
	const rb_set *fresh = view->fresh;
	void *block = (void *) view;

	rb_view_uncount(memory, set);
	rb_set_release(&kept);
	rb_set_release(&fresh);
	rb_free(memory, &block);
	set->view = NULL;
}

rb_memory *
rb_set_memory(const rb_set *set)
{
	return set->owner->memory;
}

rb_set *
rb_set_writable(const rb_set *set)
{
	return &set->owner->set;
}

uint64_t
rb_set_bytes(const rb_set *set)
{
	const uint64_t part = (uint64_t) rb_kind_width(set->kind) * sizeof(double) +
						  (set->row_of != NULL ? sizeof *set->row_of : 0) +
						  (set->face_of != NULL ? sizeof *set->face_of : 0);

	return set->nparts * part + (set->ids != NULL ? set->nrows * sizeof *set->ids : 0);
}

uint64_t
rb_set_block_bytes(const rb_set *set)
{
	return rb_block_bytes(set->coords) + rb_block_bytes(set->row_of) + rb_block_bytes(set->ids) +
		   rb_block_bytes(set->faces) + rb_block_bytes(set->face_of) + rb_block_bytes(set->owner);
}

rb_status
rb_set_move(const rb_set *set, rb_memory *to, rb_error *error)
{
	rb_set_owner *owner = set->owner;
	rb_memory *from = owner->memory;
	void *block[] = {(void *) set->coords, (void *) set->row_of,  (void *) set->ids,
					 (void *) set->faces,  (void *) set->face_of, owner};
	rb_status status = RB_OK;
	int n;

	if (set->view != NULL) /* A materialized delta set no longer needs its sources. */
		drop_definition_of_delta_set(from, &owner->set);
	for (n = 0; n < 6; n++)
	{
		status = rb_memory_move(from, to, block[n], error);
		if (status != RB_OK)
			break;
	}
	if (status == RB_OK)
		owner->memory = to;
	else /* Move the blocks back. The original memory has room for them. */
		while (n-- > 0)
			(void) rb_memory_move(to, from, block[n], NULL);
	return status;
}

const rb_set *
rb_set_hold(const rb_set *set)
{
	if (set != NULL && set->owner != NULL)
		rb_add(&set->owner->holders, 1);
	return set;
}

void
rb_set_learn(const rb_set *set, uint32_t fact)
{
	if (set->owner != NULL)
		rb_or(&set->owner->facts, fact);
}

bool
rb_set_knows(const rb_set *set, uint32_t fact)
{
	return set->owner != NULL && (rb_load(&set->owner->facts) & fact) != 0;
}

uint32_t
rb_set_holders(const rb_set *set)
{
	return rb_acquire(&set->owner->holders);
}

/* Frees an array that the owner of a set has allocated, which the set declares constant. */
static void
free_set_array(rb_memory *memory, const void *array)
{
	void *block = (void *) array;

	rb_free(memory, &block);
}

void
rb_set_release(const rb_set **set)
{
	rb_set_owner *owner = *set != NULL ? (*set)->owner : NULL;

	*set = NULL;
	if (owner == NULL || rb_drop(&owner->holders) > 1)
		return;
	free_set_array(owner->memory, owner->set.coords);
	free_set_array(owner->memory, owner->set.row_of);
	free_set_array(owner->memory, owner->set.ids);
	free_set_array(owner->memory, owner->set.faces);
	free_set_array(owner->memory, owner->set.face_of);
	if (owner->set.view != NULL)
		drop_definition_of_delta_set(owner->memory, &owner->set);
	RB_FREE(owner->memory, owner);
}

rb_status
rb_row_starts(const rb_context *ctx, const rb_set *set, uint32_t *start)
{
	uint32_t row = 0;

	for (uint32_t part = 0; part < set->nparts; part++)
	{
		if (ctx != NULL && rb_stop_due(ctx, part, PARTS_PER_CHECK))
			return RB_STOPPED;
		while (row <= (set->row_of != NULL ? set->row_of[part] : part))
			start[row++] = part;
	}
	while (row <= set->nrows)
		start[row++] = set->nparts;
	return RB_OK;
}

rb_status
rb_row_starts_if_several(rb_context *ctx, const rb_set *set, uint32_t **start)
{
	if (set->row_of == NULL)
		return RB_OK;
	RB_TRY(RB_ALLOCATE(ctx, *start, (size_t) set->nrows + 1));
	return rb_row_starts(ctx, set, *start);
}

/* ---- boxes of rows ---- */

typedef struct row_boxes
{
	const rb_context *ctx;
	const rb_set *set;
	const uint32_t *start;
	double *box;
} row_boxes;

/* Computes the boxes of a range of rows. */
static void
find_row_boxes_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const row_boxes *b = arg;

	(void) me;
	for (uint64_t row = from; row < to; row++)
	{
		double *low = b->box + 6 * row, *high = low + 3;

		rb_box_empty(low, high);
		for (uint32_t part = b->start[row]; part < b->start[row + 1]; part++)
		{
			double lo[3], hi[3];

			if (rb_stop_due(b->ctx, part, PARTS_PER_CHECK))
				return;
			rb_kind_box(b->set->kind, b->set->coords, part, lo, hi);
			rb_box_add(low, high, lo, hi);
		}
	}
}

rb_status
rb_row_boxes(const rb_context *ctx, rb_thread *me, const rb_set *set, uint32_t *start, double *box)
{
	row_boxes b = {ctx, set, start, box};

	RB_TRY(rb_row_starts(ctx, set, start));
	return rb_loop(me, set->nrows, RB_SIZE(64, 2), find_row_boxes_piece, &b);
}

/* ---- distinct ids ---- */

/*
 *        ids     17 17 4 17 9        numbers     0 0 1 0 2       three distinct ids
 *
 * A new id gets the next number when it first appears. Most columns need no hash table: ids filled
 * by a sequence ascend, and ids within a small range are counted in a bitmap. All others go into a
 * hash table with open addressing, whose slots are prefetched, because its cost is dominated by
 * cache misses.
 */

/* Maximum size of the bitmap, in bits per id */
#define RB_BITS_PER_ID 64
#define RB_AHEAD 16
/* Number of ids between two calls of should_stop: a millisecond or two */
#define RB_CHECK_INTERVAL_IDS ((uint32_t) 1 << 16)

typedef struct numbering
{
	rb_memory *memory;
	const int64_t *ids;
	uint32_t n;
	uint32_t distinct;
	bool (*should_stop)(void);
	uint32_t *first; /* first row with each number */
} numbering;

/* Finds the number of an id */
#define RB_HASH id_table
#define RB_HASH_SLOT uint32_t
#define RB_HASH_KEY int64_t
#define RB_HASH_ARG const numbering *
#define RB_HASH_OF(t, id) rb_mix((uint64_t) (id))
#define RB_HASH_EQUAL(t, slot, id) ((t)->ids[(t)->first[slot]] == (id))
#include "core/base/hash.h"

/* Returns true if a stop was requested while ids are numbered; checks only at some rows. */
static inline bool
is_numbering_stopped(const numbering *t, uint32_t row)
{
	return row % RB_CHECK_INTERVAL_IDS == RB_CHECK_INTERVAL_IDS - 1 && t->should_stop != NULL &&
		   t->should_stop();
}

/* Returns true if each id is larger than the one before. */
static bool
are_numbered_ids_ascending(const int64_t *ids, uint32_t n)
{
	uint32_t wrong = 0;

	for (uint32_t i = 1; i < n; i++)
		wrong |= ids[i] <= ids[i - 1];
	return wrong == 0;
}

/*
 * Counts the distinct ids of the rows of a set by one bit for each possible id, or returns false
 * if their range is too large.
 */
static bool
count_ids_in_bitmap(numbering *t, rb_status *status, rb_error *error)
{
	int64_t low = t->ids[0];
	int64_t high = t->ids[0];
	uint64_t *bits = NULL;
	uint64_t range;

	for (uint32_t i = 1; i < t->n; i++)
	{
		low = t->ids[i] < low ? t->ids[i] : low;
		high = t->ids[i] > high ? t->ids[i] : high;
	}
	range = (uint64_t) high - (uint64_t) low;
	if (range / RB_BITS_PER_ID >= t->n)
		return false;
	*status = rb_resize(t->memory, (void **) &bits, (range / 64 + 1) * sizeof *bits, error);
	if (*status != RB_OK)
		return true;
	memset(bits, 0, (range / 64 + 1) * sizeof *bits);
	for (uint32_t i = 0; i < t->n && *status == RB_OK; i++)
	{
		uint64_t at = (uint64_t) t->ids[i] - (uint64_t) low;

		bits[at / 64] |= UINT64_C(1) << at % 64;
		if (is_numbering_stopped(t, i))
			*status = RB_STOPPED;
	}
	for (uint64_t i = 0; i <= range / 64; i++)
		t->distinct += (uint32_t) __builtin_popcountll(bits[i]);
	RB_FREE(t->memory, bits);
	return true;
}

/* Returns the number of a row's id, a new one if the id is new. */
static inline uint32_t
number_of_id(numbering *t, id_table *table, uint32_t row)
{
	uint32_t *slot = id_table_find(table, t, t->ids[row]);

	if (*slot == RB_HASH_FREE)
	{
		t->first[t->distinct] = row;
		*slot = t->distinct++;
	}
	return *slot;
}

/* Numbers the distinct ids in the order of their first rows. */
static rb_status
number_ids_of_rows(numbering *t, id_table *table, uint32_t *number)
{
	for (uint32_t i = 0; i < t->n; i++)
	{
		/* Most rows of one object are adjacent. */
		bool again = i > 0 && t->ids[i] == t->ids[i - 1];
		uint32_t k;

		if (i + RB_AHEAD < t->n)
			id_table_prefetch(table, t, t->ids[i + RB_AHEAD]);
		if (again && number != NULL)
			number[i] = number[i - 1];
		else if (!again)
		{
			k = number_of_id(t, table, i);
			if (number != NULL)
				number[i] = k;
		}
		if (is_numbering_stopped(t, i))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* Numbers all ids in a hash table of their own. */
static rb_status
number_all_ids(numbering *t, uint32_t *number, rb_error *error)
{
	id_table table = {0};
	rb_context ctx;
	rb_status status;

	rb_context_init(&ctx, t->memory);
	status = id_table_reset(&ctx, &table, t->n);
	if (status == RB_OK)
		status = RB_ALLOCATE(&ctx, t->first, t->n);
	if (status == RB_OK)
		status = number_ids_of_rows(t, &table, number);
	else
		*error = ctx.error;
	RB_FREE(t->memory, t->first);
	id_table_free(t->memory, &table);
	return status;
}

rb_status
rb_ids_number(rb_memory *memory, const int64_t *ids, uint32_t n, bool (*should_stop)(void),
			  uint32_t *number, uint32_t *distinct, rb_error *error)
{
	numbering t = {.memory = memory, .ids = ids, .n = n, .should_stop = should_stop};
	rb_status status = RB_OK;

	*distinct = 0;
	if (n == 0)
		return RB_OK;
	if (are_numbered_ids_ascending(ids, n))
	{
		for (uint32_t i = 0; number != NULL && i < n; i++)
			number[i] = i;
		t.distinct = n;
	}
	else if (number != NULL || !count_ids_in_bitmap(&t, &status, error))
		status = number_all_ids(&t, number, error);
	if (status == RB_OK)
		*distinct = t.distinct;
	else
		error->status = status;
	return status;
}
