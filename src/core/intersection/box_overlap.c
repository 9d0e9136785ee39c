/*
 * box_overlap.c
 *	  Finds all boxes that intersect a given box.
 *
 * The boxes are sorted by their centers along a Morton curve (G. Morton, 1966). Eight consecutive
 * boxes form a node with a box around them, eight of these nodes form another one, and so on.
 */
#include "core/intersection/assembly.h"

#include <math.h>

#define EIGHT 8
#define CURVE_BITS 21 /* Bits per axis */

struct rb_boxes_place
{
	uint64_t where;
	uint32_t item;
};

/* Orders boxes by position on the Morton curve, then by number. */
static int
by_curve_position(const void *a, const void *b, const void *arg)
{
	const struct rb_boxes_place *x = a, *y = b;

	(void) arg;
	if (x->where != y->where)
		return x->where < y->where ? -1 : 1;
	return (x->item > y->item) - (x->item < y->item);
}

rb_status
rb_boxes_room(rb_context *ctx, rb_boxes *b, uint32_t n)
{
	size_t all = 0, level = n;

	b->n = n;
	b->levels = 0;
	for (;;)
	{
		b->first[b->levels++] = (uint32_t) all;
		all += level;
		if (all > RB_CURVE_MAX)
			return rb_fail(ctx, RB_TOO_MANY_OBJECTS, all, RB_CURVE_MAX, NULL);
		if (level <= 1)
			break;
		level = (level + EIGHT - 1) / EIGHT;
	}
	RB_TRY(rb_array_grow(ctx, (void **) &b->box, &b->box_cap, all, 6 * sizeof(double)));
	return RB_GROW(ctx, b->order, b->order_cap, n);
}

/* Extends the box of a group of eight boxes of the Morton order to contain another one. */
static void
extend_group_box(double *box, const double *by)
{
	for (int k = 0; k < 3; k++)
	{
		box[k] = fmin(box[k], by[k]);
		box[3 + k] = fmax(box[3 + k], by[3 + k]);
	}
}

/* Spreads the CURVE_BITS bits of x, with two zero bits between neighbors. */
static uint64_t
spread_morton_bits(uint64_t x)
{
	/* Each step moves the upper half of every group of bits. */
	x = (x | x << 32) & 0x001f00000000ffff;
	x = (x | x << 16) & 0x001f0000ff0000ff;
	x = (x | x << 8) & 0x100f00f00f00f00f;
	x = (x | x << 4) & 0x10c30c30c30c30c3;
	return (x | x << 2) & 0x1249249249249249;
}

/* Sorts items by the positions of their centers on a curve through the box of all of them. */
static rb_status
sort_items_along_curve(rb_context *ctx, rb_boxes *b, uint32_t from, uint32_t to)
{
	double all[6];

	if (from == to)
		return RB_OK;
	memcpy(all, b->box + 6 * (size_t) from, sizeof all);
	for (uint32_t i = from + 1; i < to; i++)
		extend_group_box(all, b->box + 6 * (size_t) i);
	for (uint32_t i = from; i < to; i++)
	{
		const double *box = b->box + 6 * (size_t) i;

		b->order[i].item = i;
		b->order[i].where = 0;
		for (int k = 0; k < 3; k++)
		{
			/* Halve the values, so that no difference overflows. */
			const double size = all[3 + k] / 2 - all[k] / 2;
			const double share = size > 0 ? (box[k] / 4 + box[3 + k] / 4 - all[k] / 2) / size : 0;
			const double cell = fmin(fmax(share, 0), 1) * ((1 << CURVE_BITS) - 1);

			b->order[i].where |= spread_morton_bits((uint64_t) cell) << k;
		}
		if (rb_stop_due(ctx, i, RB_CURVE_CHECK_INTERVAL))
			return RB_STOPPED;
	}
	return rb_sort(ctx, b->order + from, to - from, sizeof *b->order, by_curve_position, NULL);
}

rb_status
rb_boxes_order_rows(rb_context *ctx, rb_boxes *b, const uint32_t *start, uint32_t nrows)
{
	for (uint32_t row = 0; row < nrows; row++)
		RB_TRY(sort_items_along_curve(ctx, b, start[row], start[row + 1]));
	for (int level = 1; level < b->levels; level++)
	{
		const uint32_t below = b->first[level] - b->first[level - 1];

		for (uint32_t i = 0; i < below; i++)
		{
			const uint32_t child = level == 1 ? b->order[i].item : b->first[level - 1] + i;
			double *box = b->box + 6 * ((size_t) b->first[level] + i / EIGHT);

			if (i % EIGHT == 0)
				memcpy(box, b->box + 6 * (size_t) child, 6 * sizeof *box);
			else
				extend_group_box(box, b->box + 6 * (size_t) child);
		}
		if (rb_should_stop(ctx))
			return RB_STOPPED;
	}
	return RB_OK;
}

rb_status
rb_boxes_order(rb_context *ctx, rb_boxes *b)
{
	const uint32_t start[2] = {0, b->n};

	return rb_boxes_order_rows(ctx, b, start, 1);
}

/* Returns true if two boxes (three low, then three high coordinates) overlap or touch. */
static bool
do_tree_boxes_overlap(const double *a, const double *b)
{
	return a[0] <= b[3] && b[0] <= a[3] && a[1] <= b[4] && b[1] <= a[4] && a[2] <= b[5] &&
		   b[2] <= a[5];
}

rb_status
rb_boxes_find_in_row(const rb_boxes *b, uint32_t from, uint32_t to, const double *box,
					 rb_status (*take)(void *user, uint32_t item), void *user)
{
	struct
	{
		uint32_t node;
		int level;
	} stack[12 * EIGHT];
	int n = 0;
	rb_status status = RB_OK;

	if (from == to)
		return RB_OK;
	stack[n].node = 0;
	stack[n++].level = b->levels - 1;
	while (n > 0 && status == RB_OK)
	{
		const uint32_t node = stack[--n].node;
		const int level = stack[n].level;
		const uint32_t at = level == 0 ? b->order[node].item : b->first[level] + node;
		const uint64_t first = (uint64_t) node << 3 * level;
		uint32_t below, end;

		/*
		 * A node of level 1 has eight consecutive items of the order, one of level 2 has 64, and so
		 * on.
		 */
		if (first >= to || first + (UINT64_C(1) << 3 * level) <= from ||
			!do_tree_boxes_overlap(b->box + 6 * (size_t) at, box))
			continue;
		if (level == 0)
		{
			status = take(user, at);
			continue;
		}
		below = b->first[level] - b->first[level - 1];
		end = below - EIGHT * node < EIGHT ? below : EIGHT * (node + 1);
		for (uint32_t i = EIGHT * node; i < end; i++)
		{
			stack[n].node = i;
			stack[n++].level = level - 1;
		}
	}
	return status;
}

rb_status
rb_boxes_find(const rb_boxes *b, const double *box, rb_status (*take)(void *user, uint32_t item),
			  void *user)
{
	return rb_boxes_find_in_row(b, 0, b->n, box, take, user);
}

void
rb_boxes_free(rb_memory *memory, rb_boxes *b)
{
	RB_FREE(memory, b->box);
	RB_FREE(memory, b->order);
	memset(b, 0, sizeof *b);
}
