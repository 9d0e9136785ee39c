/*
 * ray.c
 *	  Tests points below triangles and in solids against rationals.
 *
 * The infinitesimal of ray.h is replaced by a number so small that no sign of the test's
 * coordinates can be smaller. The point is then in general position.
 */
#include "solids.h"
#include "check.h"
#include "naive_solid.h"
#include "points.h"
#include "core/primitive/box.h"
#include "core/primitive/dispatch.h"

static const uint32_t all_steps = RB_FILTER_ALL;

/*
 * Calls the leaf as a join does: for boxes that overlap, with a ray that ends at the top of the
 * triangle or above.
 */
static int
ask(const double *p, const double *t, uint32_t filters, bool exact)
{
	rb_exact_env env = {.filters = filters, .exact = exact};
	double ray[6] = {p[0], p[1], p[2], p[0], p[1], 0};
	double lo[3], hi[3], rlo[3], rhi[3];

	ray[5] = fmax(fmax(t[2], t[5]), t[8]);
	ray[5] = ray[5] > p[2] ? ray[5] : p[2];
	rb_points_box(t, 3, 3, lo, hi);
	rb_points_box(ray, 2, 3, rlo, rhi);
	if (!rb_boxes_overlap(lo, hi, rlo, rhi))
		return 0;
	return rb_pair_decide(&env, RB_RAY_PARITY, RB_SEGMENT3, RB_TRIANGLE3, ray, t);
}

/*
 * Tests arbitrary coordinates. Values whose signs are tested are at most 2^3300 and at least about
 * 2^-3300, so fourth powers of the infinitesimal suffice.
 */
static void
one_triangle(void)
{
	long rounds = check_rounds(60);
	long on = 0, below = 0, unsure = 0;

	for (int family = 0; family < POINTS_FAMILIES; family++)
		for (long i = 0; i < rounds; i++)
		{
			double p[12];
			const double *q = p + 9;
			naive_point at;
			int truth, got;
			bool lies;

			points_make(family, 4, 3, p);
			if (check_below(4) == 0)
				memcpy(p + 9, p + 3 * check_below(3), (size_t) (1 + check_below(3)) * 8);
			if (check_below(6) == 0)
				memcpy(p + 3, p, (size_t) (1 + check_below(3)) * 8);
			naive_point_init(&at);
			naive_point_set(&at, q);
			lies = naive_on(&at, p);
			naive_point_nudge(&at, 14000);
			truth = naive_below(&at, p);
			truth = truth || lies ? RB_RAY_PARITY_OF(truth, lies) : 0;
			naive_point_clear(&at);
			for (int mask = 0; mask < 4; mask++)
			{
				got = ask(q, p, mask & 1 ? all_steps : 0, mask & 2);
				CHECK(got == truth || (got == RB_UNSURE && !(mask & 2)),
					  "%d, not %d: %s: %.17g %.17g %.17g, %.17g %.17g %.17g, %.17g %.17g %.17g; "
					  "%.17g %.17g %.17g",
					  got, truth, points_family_name[family], p[0], p[1], p[2], p[3], p[4], p[5],
					  p[6], p[7], p[8], p[9], p[10], p[11]);
				unsure += got == RB_UNSURE;
			}
			on += lies;
			below += truth != 0 && (truth >> 1 & 1);
		}
	CHECK(on > rounds / 3 && below > rounds / 6 && unsure > 0, "%ld on, %ld below, %ld unsure", on,
		  below, unsure);
}

static void
ask_solid(const solid *s, const double *p, bool *inside, bool *on)
{
	*inside = *on = false;
	for (int i = 0; i < s->n; i++)
	{
		int got = ask(p, s->t + 9 * i, all_steps, true);

		*inside ^= got != 0 && (RB_PAYLOAD(got) & 1) != 0;
		*on |= got != 0 && (RB_PAYLOAD(got) & 2) != 0;
	}
}

static void
points_in_solids(void)
{
	long rounds = check_rounds(12);
	long seen[3] = {0, 0, 0};

	for (int family = 0; family < SOLID_FAMILIES; family++)
		for (int size = 0; size < SIZES; size++)
			for (long i = 0; i < rounds; i++)
			{
				static solid s;

				solid_make(&s, family, size);
				solid_add_needles(&s);
				for (int j = 0; j < 16; j++)
				{
					double p[3];
					naive_point at;
					bool inside, on;
					int side, moved;

					solid_point(&s, p);
					naive_point_init(&at);
					naive_point_set(&at, p);
					side = naive_side(&at, s.t, s.n);
					naive_point_nudge(&at, 400);
					moved = naive_side(&at, s.t, s.n);
					naive_point_clear(&at);
					ask_solid(&s, p, &inside, &on);
					seen[side + 1]++;
					CHECK(on == (side == 0) && inside == (moved == 1),
						  "%s, size %d: %.17g %.17g %.17g: inside %d, on %d; truth %d, moved %d",
						  solid_name[family], size, p[0], p[1], p[2], inside, on, side, moved);
					CHECK(side == 0 || side == moved, "moved too far");
				}
			}
	CHECK(seen[0] > 9 * rounds && seen[1] > 9 * rounds && seen[2] > 9 * rounds,
		  "%ld outside, %ld on, %ld inside", seen[0], seen[1], seen[2]);
}

/* Tests a point that is coplanar with many faces, some of which have no area. */
static void
flat_things(void)
{
	static const double upright[9] = {0, 0, 0, 2, 0, 0, 0, 0, 2};
	static const double needle[9] = {0, 0, 0, 2, 2, 2, 1, 1, 1};
	static const double dot[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
	double p[3] = {1, 0, 1}, q[3] = {1.5, 0, 1}, r[3] = {1, 1, 1}, s[3] = {1, 0, -1};

	CHECK(ask(p, upright, all_steps, true) == RB_RAY_PARITY_OF(0, 1), "on a wall's border");
	CHECK(ask(q, upright, all_steps, true) == 0, "beside a wall");
	CHECK(ask(s, upright, all_steps, true) == 0, "a ray in a wall");
	CHECK(ask(r, needle, all_steps, true) == RB_RAY_PARITY_OF(0, 1), "on a needle");
	CHECK(ask(p, needle, all_steps, true) == 0, "beside a needle");
	CHECK(ask(r, dot, all_steps, true) == RB_RAY_PARITY_OF(0, 1), "on a point");
	r[2] = 0;
	CHECK(ask(r, dot, all_steps, true) == 0, "under a point");
	CHECK(ask(r, needle, all_steps, true) == 0, "under a needle");
}

int
main(void)
{
	CHECK_RUN(one_triangle);
	CHECK_RUN(points_in_solids);
	CHECK_RUN(flat_things);
	return check_done();
}
