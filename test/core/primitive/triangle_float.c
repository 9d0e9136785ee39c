/*
 * triangle_float.c
 *	  Tests the float test of two triangles: it must never be wrong in any frame, and seldom
 *	  undecided without degeneracy. Also tests k-DOPs with seven directions: they must never reject
 *	  triangles that meet, and must reject enough others.
 */
#include "check.h"
#include "points.h"
#include "scalar.h"
#include "core/primitive/kdop.h"
#include "core/primitive/dispatch.h"

#include <math.h>

/* Returns a frame around the six vertices, in a random cell of their box, or sometimes anywhere. */
static rb_frame
frame_near(const double *p)
{
	rb_frame f;
	double lo[3], hi[3];
	uint32_t n[3], at[3];

	for (int a = 0; a < 3; a++)
	{
		lo[a] = hi[a] = p[a];
		for (int i = 1; i < 6; i++)
		{
			lo[a] = p[3 * i + a] < lo[a] ? p[3 * i + a] : lo[a];
			hi[a] = p[3 * i + a] > hi[a] ? p[3 * i + a] : hi[a];
		}
		n[a] = (uint32_t) (1 + check_below(check_below(4) ? 3 : 1000));
		at[a] = (uint32_t) check_below((int) n[a]);
		if (check_below(20) == 0)
			lo[a] = hi[a] = points_special();
	}
	rb_frame_of_cell(&f, lo, hi, n, at);
	return f;
}

/* Compares the packed k-DOPs of red and blue as a device does. */
static bool
slabs_overlap(const rb_face_f *red, const rb_face_f *blue, float half)
{
	rb_kdop r, b;

	rb_kdop_init(&r, red, half);
	rb_kdop_init(&b, blue, half);
	return kdops_overlap(r.lo[0], r.hi[0], r.lo[1], r.hi[1], b.lo[0], b.hi[0], b.lo[1], b.hi[1]);
}

static int
meet(const rb_frame *frame, const double *p)
{
	rb_face_f r, b;

	rb_face_f_init(&r, frame, p, false);
	rb_face_f_init(&b, frame, p + 9, false);
	return rb_faces_f_meet(&r, &b);
}

/* Returns false if the k-DOPs of the triangles are disjoint. */
static bool
may_meet(const rb_frame *frame, const double *p)
{
	rb_face_f r, b;

	rb_face_f_init(&r, frame, p, false);
	rb_face_f_init(&b, frame, p + 9, false);
	return slabs_overlap(&r, &b, 0);
}

static void
never_wrong(void)
{
	long sure = 0, unsure = 0;

	for (int family = 0; family < POINTS_FAMILIES; family++)
		for (long i = check_rounds(60000); i > 0; i--)
		{
			double p[18];
			rb_frame frame;
			int got;

			points_make(family, 6, 3, p);
			frame = frame_near(p);
			got = meet(&frame, p);
			sure += got != RB_UNSURE;
			unsure += got == RB_UNSURE;
			if (got != RB_UNSURE)
				CHECK(got == (int) rb_triangles_meet(p, p + 9), "%s: %d",
					  points_family_name[family], got);
		}
	CHECK(sure > 0 && unsure > 0, "%ld sure, %ld unsure", sure, unsure);
}

/*
 * Tests near contacts at the scale of a float's last bits, where too small a bound would be
 * noticed.
 */
static void
close_calls(void)
{
	long hits = 0, misses = 0;

	for (long i = check_rounds(600000); i > 0; i--)
	{
		double p[18];
		double gap = ldexp(points_unit(), -14 - check_below(14));
		rb_frame frame;
		int got;

		points_make(POINTS_UNIFORM, 6, 3, p);
		/* A vertex of blue, or a point of its edge, this far from a point of red */
		for (int a = 0; a < 3; a++)
		{
			double s = 0.25 + 0.5 * (i % 2), t = i % 3 == 0 ? 0 : 0.3;
			double x = p[a] + s * (p[3 + a] - p[a]) + t * (p[6 + a] - p[a]);

			if (i % 5 < 3)
				p[9 + a] = x + gap * points_unit();
			else
				p[9 + a] = 2 * (x + gap * points_unit()) - p[12 + a];
		}
		frame = frame_near(p);
		got = meet(&frame, p);
		if (got == RB_UNSURE)
			continue;
		hits += got == 1;
		misses += got == 0;
		CHECK(got == (int) rb_triangles_meet(p, p + 9), "gap %g: %d", gap, got);
	}
	CHECK(hits > 0 && misses > 0, "%ld hits, %ld misses", hits, misses);
}

/*
 * Checks that, of triangles in general position, near the origin and far from it, at most one in
 * `of` is undecided.
 */
static void
check_decisive(int (*ask)(const rb_frame *frame, const double *p, double size), long of)
{
	static const double offset[] = {0, 5e5, 6e6, 1e-3};
	static const double size[] = {1, 10, 0.5, 1e-6};

	for (int k = 0; k < 4; k++)
	{
		long n = check_rounds(100000), unsure = 0;

		for (long i = 0; i < n; i++)
		{
			double p[18];
			rb_frame frame;
			const double lo[3] = {offset[k] - size[k], offset[k] - size[k], -size[k]};
			const double hi[3] = {offset[k] + size[k], offset[k] + size[k], size[k]};
			const uint32_t one[3] = {1, 1, 1}, none[3] = {0, 0, 0};

			for (int j = 0; j < 18; j++)
				p[j] = (j % 3 < 2 ? offset[k] : 0) + size[k] * points_unit();
			rb_frame_of_cell(&frame, lo, hi, one, none);
			unsure += ask(&frame, p, size[k]) == RB_UNSURE;
		}
		CHECK(unsure * of < n, "offset %g: %ld of %ld unsure", offset[k], unsure, n);
	}
}

static int
meet_in(const rb_frame *frame, const double *p, double size)
{
	(void) size;
	return meet(frame, p);
}

static void
decisive(void)
{
	check_decisive(meet_in, 1000);
}

/* Tests that the mapping preserves the order, also with overflow. */
static void
monotone(void)
{
	for (long i = check_rounds(300000); i > 0; i--)
	{
		double p[18];
		rb_frame f;
		double x, y;

		points_make(check_below(POINTS_FAMILIES), 6, 3, p);
		f = frame_near(p);
		x = points_any();
		y = check_below(2) ? points_any() : points_nudge(x);
		if (x > y)
		{
			double z = x;

			x = y;
			y = z;
		}
		CHECK(rb_frame_map(&f, 1, x) <= rb_frame_map(&f, 1, y), "%a, %a", x, y);
	}
}

/* ---- k-DOPs ---- */

/*
 * Tests that the k-DOPs of triangles with a common point overlap in every direction, in any frame.
 */
static void
slabs_never_wrong(void)
{
	long apart = 0, close = 0;

	for (int family = 0; family < POINTS_FAMILIES; family++)
		for (long i = check_rounds(40000); i > 0; i--)
		{
			double p[18];
			rb_frame frame;
			const int common = check_below(3);

			points_make(family, 6, 3, p);
			/* A common vertex, however far it is from the frame's cell */
			for (int a = 0; a < 3 && common > 0; a++)
				p[9 + 3 * (common - 1) + a] = p[3 * (i % 3) + a];
			frame = frame_near(p);
			if (may_meet(&frame, p))
				close++;
			else
			{
				apart++;
				CHECK(common == 0 && !rb_triangles_meet(p, p + 9), "%s: apart, but they meet",
					  points_family_name[family]);
			}
		}
	CHECK(apart > 0 && close > 0, "%ld apart, %ld close", apart, close);
}

/*
 * Tests a vertex of blue on an edge of red that is extreme along a diagonal, where blue continues
 * from there. They touch far outside the cell, where floats are coarser than the difference between
 * the ends of the edge, so that equal sums fall to either side of a level.
 */
static void
slabs_touch(void)
{
	for (long i = check_rounds(400000); i > 0; i--)
	{
		const int minus = check_below(4); /* 3 if none */
		const double unit = ldexp(1, -24), far = ldexp(1, 6 + check_below(8));
		double sign[3], p[18], along;
		rb_frame frame = {{0, 0, 0}, {1, 1, 1}};

		for (int a = 0; a < 3; a++)
			sign[a] = a == minus ? -1 : 1;
		/*
		 * Edges whose ends are as far along the diagonal as their midpoint, which is blue's first
		 * vertex
		 */
		for (int a = 0; a < 3; a++)
			p[9 + a] = unit * rint(far / unit * points_unit());
		for (int a = 0; a < 2; a++)
		{
			const double d = unit * rint(4 / unit * points_unit());

			p[a] = p[9 + a] + sign[a] * d;
			p[3 + a] = p[9 + a] - sign[a] * d;
		}
		p[2] = p[11] - sign[2] * (sign[0] * (p[0] - p[9]) + sign[1] * (p[1] - p[10]));
		p[5] = 2 * p[11] - p[2];
		for (int a = 0; a < 3; a++)
		{
			p[6 + a] = p[9 + a] - sign[a] * 0.015625 * (1 + check_below(300));
			p[12 + a] = p[9 + a] + sign[a] * 0.015625 * (1 + check_below(300));
			p[15 + a] = p[9 + a] + sign[a] * 0.015625 * (1 + check_below(300));
		}
		/* A cell beside which the vertex lies, except along the diagonal */
		for (int a = 0; a < 2; a++)
			frame.origin[a] = p[9 + a] + far * points_unit();
		along = sign[0] * (p[9] - frame.origin[0]) + sign[1] * (p[10] - frame.origin[1]);
		frame.origin[2] = p[11] + sign[2] * (along + 1.9 * points_unit());
		if (i % 64 == 0)
			CHECK(rb_triangles_meet(p, p + 9), "they should touch");
		CHECK(may_meet(&frame, p), "diagonal %d, %g far: apart, but they touch", minus, far);
	}
}

/*
 * Tests that every end in every word and field matters: boxes that touch overlap, and those one
 * level further apart do not.
 */
static void
slabs_fields(void)
{
	for (int word = 0; word < 2; word++)
		for (int field = 0; field < (word == 0 ? 3 : 4); field++)
		{
			const int shift = field * (word == 0 ? 10 : 8), last = word == 0 ? 511 : 127;

			for (int lo = 0; lo <= last; lo += 1 + check_below(3))
				for (int hi = 0; hi <= last; hi += 1 + check_below(3))
				{
					/* Red from lo on, blue up to hi; in all other fields both cover everything. */
					uint32_t rlo[2] = {0, 0}, rhi[2] = {0x3fffffff, 0xffffffff};
					uint32_t blo[2] = {0, 0}, bhi[2] = {0x3fffffff, 0xffffffff};

					rlo[word] |= (uint32_t) lo << shift;
					bhi[word] = (bhi[word] & ~((uint32_t) last << shift)) | (uint32_t) hi << shift;
					CHECK(kdops_overlap(rlo[0], rhi[0], rlo[1], rhi[1], blo[0], bhi[0], blo[1],
										bhi[1]) == (lo <= hi),
						  "word %d, field %d: from %d, up to %d", word, field, lo, hi);
					CHECK(kdops_overlap(blo[0], bhi[0], blo[1], bhi[1], rlo[0], rhi[0], rlo[1],
										rhi[1]) == (lo <= hi),
						  "word %d, field %d: the other way", word, field);
				}
		}
}

/*
 * Tests that k-DOPs reject at least a quarter of what boxes leave, near the origin and far from it.
 */
static void
slabs_of_use(void)
{
	static const double offset[] = {0, 5e5, 6e6, 1e-3};
	static const double size[] = {1, 10, 0.5, 1e-6};

	for (int k = 0; k < 4; k++)
	{
		long boxes = 0, left = 0;

		for (long i = check_rounds(60000); i > 0; i--)
		{
			double p[18], lo[2][3], hi[2][3];
			rb_frame frame;
			const double from[3] = {offset[k] - size[k], offset[k] - size[k], -size[k]};
			const double to[3] = {offset[k] + size[k], offset[k] + size[k], size[k]};
			const uint32_t one[3] = {1, 1, 1}, none[3] = {0, 0, 0};

			for (int side = 0; side < 2; side++)
			{
				double at[3];

				for (int a = 0; a < 3; a++)
					at[a] = (a < 2 ? offset[k] : 0) + 0.5 * size[k] * points_unit();
				for (int j = 0; j < 9; j++)
					p[9 * side + j] = at[j % 3] + 0.4 * size[k] * points_unit();
				rb_kind_box(RB_TRIANGLE3, p, (size_t) side, lo[side], hi[side]);
			}
			if (!rb_boxes_overlap(lo[0], hi[0], lo[1], hi[1]))
				continue;
			rb_frame_of_cell(&frame, from, to, one, none);
			boxes++;
			left += may_meet(&frame, p);
		}
		CHECK(4 * left < 3 * boxes && left > 0, "offset %g: %ld of %ld are left", offset[k], left,
			  boxes);
	}
}

/* ---- distances ---- */

/* Returns 0, RB_WITHIN_OF or RB_UNSURE, as a device does for a candidate. */
static int
within(rb_frame frame, const double *p, double distance)
{
	rb_face_f r, b;
	rb_reach_f reach;

	rb_frame_even(&frame);
	rb_reach_f_init(&reach, &frame, distance);
	rb_face_f_init(&r, &frame, p, true);
	rb_face_f_init(&b, &frame, p + 9, true);
	if (!slabs_overlap(&r, &b, 0.5f * reach.more))
		return 0;
	if (rb_face_f_beyond(&r, &b, reach.more) || rb_face_f_beyond(&b, &r, reach.more))
		return 0;
	return rb_faces_f_within(&r, &b, &reach);
}

static int
truth(const double *p, double distance)
{
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true, .distance = distance};

	return rb_pair_decide(&env, RB_WITHIN, RB_TRIANGLE3, RB_TRIANGLE3, p, p + 9);
}

/* Returns distances around the given one, from far away to an ulp, and arbitrary ones. */
static double
distance_near(double d)
{
	switch (check_below(8))
	{
		case 0:
			return d;
		case 1:
			return nextafter(d, check_below(2) ? 0 : HUGE_VAL);
		case 2:
			return 0;
		case 3:
			return fmin(fabs(points_any()), DBL_MAX);
		case 4:
			return fmin(2 * d * fabs(points_unit()), DBL_MAX);
		default:
			return fmin(fabs(d * (1 + ldexp(points_unit(), -10 - check_below(22)))), DBL_MAX);
	}
}

static void
distances_never_wrong(void)
{
	for (int family = 0; family < POINTS_FAMILIES; family++)
	{
		long no = 0, yes = 0, meet = 0, unsure = 0;

		for (long i = check_rounds(10000); i > 0; i--)
		{
			double p[18], d;
			rb_frame frame;
			int got;

			points_make(family, 6, 3, p);
			frame = frame_near(p);
			d = distance_near(distance_of(RB_TRIANGLE3, RB_TRIANGLE3, p, p + 9));
			got = within(frame, p, d);
			no += got == 0;
			yes += got == RB_WITHIN_OF(0);
			meet += got == RB_WITHIN_OF(1);
			unsure += got == RB_UNSURE;
			if (got != RB_UNSURE)
				CHECK(got == truth(p, d), "%s, %a: %d", points_family_name[family], d, got);
		}
		if (getenv("RB_TEST_VERBOSE") != NULL)
			printf("# %s: %ld no, %ld yes, %ld meet, %ld unsure\n", points_family_name[family], no,
				   yes, meet, unsure);
	}
}

/*
 * Tests distances near D at the scale of a float's last bits, at the origin of the frame and far
 * from it.
 */
static void
distances_close(void)
{
	long no = 0, yes = 0;

	for (long i = check_rounds(300000); i > 0; i--)
	{
		double p[18], d, size = ldexp(1, -check_below(12));
		rb_frame frame = {{0, 0, 0}, {1, 1, 1}};
		int got;

		for (int k = 0; k < 18; k++)
			p[k] = points_unit();
		if (i % 3 == 0) /* Almost parallel */
			for (int k = 0; k < 9; k++)
				p[9 + k] = p[k] + (k % 3 == 2) + ldexp(points_unit(), -check_below(20));
		if (i % 7 == 0) /* A needle */
			for (int k = 0; k < 3; k++)
				p[6 + k] = 0.5 * (p[k] + p[3 + k]) + ldexp(points_unit(), -check_below(20));
		for (int k = 0; k < 18; k++)
			p[k] = size * p[k] + (k % 3 == 0 ? 1 - size : 0);
		for (int a = 0; a < 3; a++)
			frame.origin[a] = (i & 1) ? 0 : p[a];
		d = distance_of(RB_TRIANGLE3, RB_TRIANGLE3, p, p + 9);
		d *= 1 + ldexp(points_unit(), -12 - check_below(14)) / size;
		if (!(d > 0))
			continue;
		got = within(frame, p, d);
		no += got == 0;
		yes += got == RB_WITHIN_OF(0);
		if (got != RB_UNSURE)
			CHECK(got == truth(p, d), "%a: %d", d, got);
	}
	CHECK(no > 0 && yes > 0, "%ld no, %ld yes", no, yes);
}

static int
within_a_tenth(const rb_frame *frame, const double *p, double size)
{
	return within(*frame, p, 0.1 * size);
}

/* Tests positions near the origin and far from it: the frame removes the offset. */
static void
distances_decisive(void)
{
	check_decisive(within_a_tenth, 300);
}

int
main(void)
{
	CHECK_RUN(distances_never_wrong);
	CHECK_RUN(distances_close);
	CHECK_RUN(distances_decisive);
	CHECK_RUN(never_wrong);
	CHECK_RUN(close_calls);
	CHECK_RUN(decisive);
	CHECK_RUN(monotone);
	CHECK_RUN(slabs_never_wrong);
	CHECK_RUN(slabs_touch);
	CHECK_RUN(slabs_fields);
	CHECK_RUN(slabs_of_use);
	return check_done();
}
