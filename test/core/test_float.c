/*
 * test_float.c
 *	  The float test of two triangles: never wrong, in any frame, and seldom
 *	  unsure where nothing is degenerate.
 */
#include "check.h"
#include "points.h"
#include "core/shape/rb_float.h"
#include "core/base/redblue.h"

#include <math.h>

/* a frame around the six corners, in a random cell of their box; sometimes anywhere */
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

static int
meet(const rb_frame *frame, const double *p)
{
	rb_face_f r, b;

	rb_face_f_init(&r, frame, p);
	rb_face_f_init(&b, frame, p + 9);
	return rb_faces_f_meet(&r, &b);
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

/* nearly touching on the scale of a float's last digits, where a bound too small would show */
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
		/* a corner of blue, or a point of its edge, this far from a point of red */
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

/* far from the origin as near it: the frame takes the offset away */
static void
decisive(void)
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
			unsure += meet(&frame, p) == RB_UNSURE;
		}
		CHECK(unsure * 1000 < n, "offset %g: %ld of %ld unsure", offset[k], unsure, n);
	}
}

/* the map keeps the order, and overflow does not break it */
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

int
main(void)
{
	CHECK_RUN(never_wrong);
	CHECK_RUN(close_calls);
	CHECK_RUN(decisive);
	CHECK_RUN(monotone);
	return check_done();
}
