/*
 * kdop.c
 *	  Tests boxes of a cell packed into two words: what the packed numbers decide, doubles decide in
 *	  the same way, in any frame. Equal numbers decide nothing and are rare.
 */
#include "check.h"
#include "points.h"
#include "core/primitive/box.h"
#include "core/primitive/kdop.h"

#include <math.h>

typedef struct words
{
	uint32_t hi;
	uint32_t lo;
} words;

typedef struct box
{
	double lo[3];
	double hi[3];
} box;

static words
words_of(const rb_frame *frame, const box *b)
{
	words w = {rb_packed_corner(frame, b->hi) | RB_PACKED_GUARDS, rb_packed_corner(frame, b->lo)};

	return w;
}

/* Returns 0, 1 or RB_UNSURE, as a device does. */
static int
overlap(words red, words blue, bool flat)
{
	const uint32_t steps = RB_PACKED_STEPS(flat);

	if (rb_packed_apart(red.hi, red.lo, blue.hi, blue.lo) != 0)
		return 0;
	return rb_packed_apart(red.hi - steps, red.lo + steps, blue.hi, blue.lo) != 0 ? RB_UNSURE : 1;
}

static bool
overlap_naive(const box *red, const box *blue, int dims)
{
	for (int a = 0; a < dims; a++)
		if (red->hi[a] < blue->lo[a] || blue->hi[a] < red->lo[a])
			return false;
	return true;
}

/* Builds two boxes, of two points each. */
static void
boxes_make(int family, int dims, box b[2])
{
	double p[12];

	points_make(family, 4, 3, p);
	for (int i = 0; i < 2; i++)
		for (int a = 0; a < 3; a++)
		{
			const double x = a < dims ? p[6 * i + a] : 0, y = a < dims ? p[6 * i + 3 + a] : 0;

			b[i].lo[a] = x < y ? x : y;
			b[i].hi[a] = x < y ? y : x;
		}
}

/* Returns the frame of a random cell around the boxes, or of a cell of an unrelated region. */
static rb_frame
frame_make(const box b[2])
{
	rb_frame f;
	double lo[3], hi[3];
	uint32_t n[3], at[3];

	for (int a = 0; a < 3; a++)
	{
		lo[a] = b[0].lo[a] < b[1].lo[a] ? b[0].lo[a] : b[1].lo[a];
		hi[a] = b[0].hi[a] > b[1].hi[a] ? b[0].hi[a] : b[1].hi[a];
		n[a] = (uint32_t) (1 + check_below(check_below(4) ? 3 : 1000));
		at[a] = (uint32_t) check_below((int) n[a]);
		if (check_below(20) == 0)
			lo[a] = hi[a] = points_special();
	}
	rb_frame_of_cell(&f, lo, hi, n, at);
	return f;
}

/*
 * Tests boxes in space and in the plane with special coordinates, which share ends or differ by one
 * ulp.
 */
static void
never_wrong(void)
{
	long count[3] = {0, 0, 0};

	for (int family = 0; family < POINTS_FAMILIES; family++)
		for (long i = check_rounds(60000); i > 0; i--)
		{
			const int dims = 2 + check_below(2), a = check_below(dims);
			box b[2];
			rb_frame frame;
			int got;

			boxes_make(family, dims, b);
			frame = frame_make(b);
			/* They touch, or nearly do. */
			if (i % 3 == 0)
				b[1].lo[a] = b[0].hi[a];
			else if (i % 3 == 1)
				b[1].lo[a] = nextafter(b[0].hi[a], i % 2 ? INFINITY : -INFINITY);
			if (!(b[1].lo[a] <= DBL_MAX && b[1].lo[a] >= -DBL_MAX))
				continue;
			if (b[1].hi[a] < b[1].lo[a])
				b[1].hi[a] = b[1].lo[a];
			got = overlap(words_of(&frame, &b[0]), words_of(&frame, &b[1]), dims == 2);
			count[got]++;
			if (got != RB_UNSURE)
				CHECK(got == (int) overlap_naive(&b[0], &b[1], dims), "%s, %d dimensions: %d",
					  points_family_name[family], dims, got);
			CHECK(got == overlap(words_of(&frame, &b[1]), words_of(&frame, &b[0]), dims == 2),
				  "%s: not the same the other way round", points_family_name[family]);
		}
	CHECK(count[0] > 0 && count[1] > 0 && count[RB_UNSURE] > 0, "%ld apart, %ld overlap, %ld open",
		  count[0], count[1], count[RB_UNSURE]);
}

/*
 * Tests ends that are a fraction of a step from each other and from where the packed numbers
 * change, in a frame without rounding.
 */
static void
close_calls(void)
{
	const rb_frame frame = {{0, 0, 0}, {1, 1, 1}};
	long count[3] = {0, 0, 0};

	for (long i = check_rounds(400000); i > 0; i--)
	{
		const int a = check_below(3);
		const double step = a == 0 ? 0x1p-8 : 0x1p-9;
		const double at = step * (check_below(800) - 400);
		box b[2];
		int got;

		for (int k = 0; k < 2; k++)
			for (int c = 0; c < 3; c++)
			{
				b[k].lo[c] = -0.75;
				b[k].hi[c] = 0.75;
			}
		b[0].hi[a] = at + step * points_unit();
		b[1].lo[a] = at + step * points_unit();
		got = overlap(words_of(&frame, &b[0]), words_of(&frame, &b[1]), false);
		count[got]++;
		if (got != RB_UNSURE)
			CHECK(got == (int) overlap_naive(&b[0], &b[1], 3), "axis %d, %.17g and %.17g: %d", a,
				  b[0].hi[a], b[1].lo[a], got);
	}
	CHECK(count[0] > 0 && count[1] > 0 && count[RB_UNSURE] > 0, "%ld apart, %ld overlap, %ld open",
		  count[0], count[1], count[RB_UNSURE]);
}

/* Tests that every end in every field matters: one less, equal, one more. */
static void
fields(void)
{
	static const int at[] = {0, RB_PACKED_Y_AT, RB_PACKED_Z_AT};
	static const int bits[] = {RB_PACKED_X_BITS, RB_PACKED_YZ_BITS, RB_PACKED_YZ_BITS};
	const uint32_t all = RB_PACKED_GUARDS - RB_PACKED_STEPS(false);

	for (int a = 0; a < 3; a++)
	{
		const uint32_t last = (1u << bits[a]) - 1;

		for (uint32_t lo = 0; lo <= last; lo += 1 + (uint32_t) check_below(3))
			for (uint32_t hi = 0; hi <= last; hi += 1 + (uint32_t) check_below(3))
			{
				/* Red from lo on, blue up to hi; in all other fields both cover everything. */
				words red = {RB_PACKED_GUARDS | all, lo << at[a]};
				words blue = {RB_PACKED_GUARDS | (all & ~(last << at[a])) | hi << at[a], 0};
				const int want = lo < hi ? 1 : lo == hi ? RB_UNSURE : 0;

				CHECK(overlap(red, blue, false) == want, "axis %d: from %u, up to %u", a, lo, hi);
				CHECK(overlap(blue, red, false) == want, "axis %d: the other way", a);
				/* Without z, that field is not compared. */
				CHECK(overlap(red, blue, true) == (a == 2 && lo == hi ? 1 : want),
					  "axis %d, flat: from %u, up to %u", a, lo, hi);
			}
	}
}

/* Tests numbers at both ends of the cell; what lies beyond is clamped to them. */
static void
ends(void)
{
	const rb_frame frame = {{0, 0, 0}, {1, 1, 1}};
	static const double below[] = {-1, -1.5, -1e30, -DBL_MAX};
	static const double above[] = {1, 1.5, 1e30, DBL_MAX};

	for (int i = 0; i < 4; i++)
	{
		const double lo[3] = {below[i], below[i], below[i]};
		const double hi[3] = {above[i], above[i], above[i]};

		CHECK(rb_packed_corner(&frame, lo) == 0, "%g", below[i]);
		CHECK(rb_packed_corner(&frame, hi) == RB_PACKED_GUARDS - RB_PACKED_STEPS(false), "%g",
			  above[i]);
	}
}

/* Tests that only one or two percent of small overlapping boxes in a cell are undecided. */
static void
of_use(void)
{
	long sure = 0, unsure = 0;

	for (long i = check_rounds(400000); i > 0; i--)
	{
		const rb_frame frame = {{7, 7, 7}, {1, 1, 1}};
		box b[2];
		int got;

		for (int k = 0; k < 2; k++)
			for (int a = 0; a < 3; a++)
			{
				b[k].lo[a] = 7 + points_unit();
				b[k].hi[a] = b[k].lo[a] + 0.4;
			}
		got = overlap(words_of(&frame, &b[0]), words_of(&frame, &b[1]), false);
		sure += got == 1;
		unsure += got == RB_UNSURE;
	}
	CHECK(sure > 0 && unsure > 0 && 20 * unsure < sure, "%ld sure, %ld unsure", sure, unsure);
}

int
main(void)
{
	CHECK_RUN(never_wrong);
	CHECK_RUN(close_calls);
	CHECK_RUN(fields);
	CHECK_RUN(ends);
	CHECK_RUN(of_use);
	return check_done();
}
