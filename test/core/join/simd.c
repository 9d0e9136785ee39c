/*
 * simd.c
 *	  Tests that the inner loops of all instruction sets of this processor give the same candidates,
 *	  sides and matches, bit for bit and in the same order.
 */
#include "fixtures.h"
#include "scalar.h"
#include "core/primitive/dispatch.h"
#include "core/join/simd.h"
#include "core/primitive/kdop.h"

#include <math.h>
#include <string.h>

#define FACES 64
#define ROWS 1000
#define PAIRS 3000

/*
 * Builds faces with vertices on a small lattice or anywhere, so that sides are proved, unproved and
 * zero.
 */
static void
make_faces(rb_plane_face *face, int lattice)
{
	for (int i = 0; i < FACES; i++)
	{
		double *c[3] = {face[i].x, face[i].y, face[i].z};
		double u[3], v[3];

		for (int a = 0; a < 3; a++)
		{
			for (int k = 0; k < 3; k++)
				c[a][k] = lattice ? check_below(4) * 0.1 : random_signed();
			u[a] = c[a][1] - c[a][0];
			v[a] = c[a][2] - c[a][0];
		}
		for (int a = 0; a < 3; a++)
			c[a][3] = u[(a + 1) % 3] * v[(a + 2) % 3] - u[(a + 2) % 3] * v[(a + 1) % 3];
		face[i].k = i % 7 == 0 ? HUGE_VAL : lattice ? 1e-15 : 0.01 * (check_below(3) + 1);
		face[i].e = i % 11 == 0 ? HUGE_VAL : lattice ? 0.3 : 2;
		face[i].ke = face[i].k * face[i].e + RB_TINY;
	}
}

static int
kernels(const rb_kernel **k)
{
	int n = 0;

	k[n++] = &rb_kernel_base;
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		k[n++] = &rb_kernel_avx2;
	if (rb_kernel_best() == &rb_kernel_avx512)
		k[n++] = &rb_kernel_avx512;
#endif
	return n;
}

static void
sides_and_intervals(void)
{
	static rb_plane_face red[FACES], blue[FACES];
	static uint32_t pair[PAIRS], yes[2][PAIRS + 8];
	static rb_sided sided[2][PAIRS + 8], undecided[2][PAIRS + 8];
	const rb_kernel *k[3];
	int n = kernels(k);
	long kept = 0, hits = 0, nleft = 0;

	for (long round = check_rounds(50); round > 0; round--)
	{
		uint32_t left[2], yeses[2], nundecided[2];

		make_faces(red, round % 2);
		make_faces(blue, round % 2);
		for (int i = 0; i < PAIRS; i++) /* Runs of one red face, of all lengths */
			pair[i] = (i > 0 && check_below(8) ? pair[i - 1] >> 16 : (uint32_t) check_below(FACES))
						  << 16 |
					  (uint32_t) check_below(FACES);
		for (int j = 0; j < n; j++)
		{
			int at = j > 0;

			left[at] = k[j]->sides(red, blue, pair, PAIRS, sided[at]);
			yeses[at] = k[j]->intervals(round % 3 == 0, red, blue, sided[at], left[at], yes[at],
										undecided[at], &nundecided[at]);
			if (j == 0)
			{
				kept += left[0];
				hits += yeses[0];
				nleft += nundecided[0];
				continue;
			}
			CHECK(left[1] == left[0], "%s: %u left, not %u", k[j]->name, left[1], left[0]);
			for (uint32_t i = 0; i < left[0] && left[1] == left[0]; i++)
			{
				/* The fourth lane is undefined. */
				CHECK(sided[1][i].pair == sided[0][i].pair &&
						  (sided[1][i].blue_sides & 0x77) == (sided[0][i].blue_sides & 0x77) &&
						  (sided[1][i].red_sides & 0x77) == (sided[0][i].red_sides & 0x77),
					  "%s: pair %u", k[j]->name, i);
			}
			CHECK(yeses[1] == yeses[0] && memcmp(yes[1], yes[0], yeses[0] * sizeof(uint32_t)) == 0,
				  "%s: %u hits, not %u", k[j]->name, yeses[1], yeses[0]);
			CHECK(nundecided[1] == nundecided[0], "%s: %u undecided, not %u", k[j]->name,
				  nundecided[1], nundecided[0]);
			for (uint32_t i = 0; i < nundecided[0] && nundecided[1] == nundecided[0]; i++)
				CHECK(undecided[1][i].pair == undecided[0][i].pair, "%s: undecided %u", k[j]->name,
					  i);
		}
	}
	CHECK(kept > 0 && hits > 0 && nleft > 0, "%ld left, %ld hits, %ld undecided", kept, hits,
		  nleft);
}

/* ---- correctness ---- */

/*
 * Builds a triangle with vertices on a small lattice, of integers or tenths, perturbed in the last
 * bits, far from the origin, or anywhere. Many triangles are perpendicular to an axis, share
 * vertices or planes, or have no area.
 */
static void
make_triangle(double *p, int way)
{
	const int flat = check_below(4);
	const double level = check_below(3);

	for (int i = 0; i < 9; i++)
	{
		double x = i % 3 == flat ? level : check_below(4);

		x = way == 1   ? x * 0.1
			: way == 2 ? 4e6 + x * 0.1
			: way == 3 ? x / 18
			: way == 4 ? random_signed()
					   : x;
		if (way == 5)
			x += check_below(6) == 0 ? ldexp(check_below(3) - 1, -52) : 0;
		p[i] = way == 6   ? ldexp(x, 320)
			   : way == 7 ? ldexp(x, -355)
			   : way == 8 ? ldexp(x, -1074)
						  : x;
	}
}

static int
sign_of(unsigned sides, int i)
{
	const int above = sides >> i & 1, below = sides >> (4 + i) & 1;

	return above & below ? RB_UNSURE : above - below;
}

/*
 * Computes the extents along the diagonals and checks that they equal those of rb_kdop_init bit
 * for bit.
 */
static void
slabs_of(const rb_kernel *k, const rb_float_face *small, int n, uint32_t (*slab)[2])
{
	uint32_t lo[2048], hi[2048];

	k->slabs(small, (uint32_t) n, lo, hi);
	for (int i = 0; i < n; i++)
	{
		rb_face_f f;
		rb_kdop want;

		memcpy(f.p, small[i].p, sizeof(f.p));
		f.m = small[i].m;
		rb_kdop_init(&want, &f, 0);
		CHECK(lo[i] == want.lo[1] && hi[i] == want.hi[1], "%s: %08x %08x, not %08x %08x", k->name,
			  lo[i], hi[i], want.lo[1], want.hi[1]);
		slab[i][0] = lo[i];
		slab[i][1] = hi[i];
	}
}

/*
 * Tests that rejected pairs do not meet, that accepted pairs meet, and that every proved sign and
 * zero is that of GMP, in float and in double, and equally with all instruction sets.
 */
static void
nothing_is_wrong(void)
{
	enum
	{
		SIDE = 12,
		ALL = SIDE * SIDE,
		WAYS = 9
	};
	static double p[2][SIDE][9];
	static rb_plane_face face[2][SIDE];
	static rb_float_face small[3][2][SIDE];
	static uint32_t slab[2][SIDE][2];
	const rb_kernel *k[3];
	const int n = kernels(k);
	long zeros = 0, flat_hits = 0, dropped = 0, small_hits = 0, small_dropped = 0;
	long settled = 0, easy = 0, corners = 0, payload = 0;

	for (long round = check_rounds(600); round > 0; round--)
	{
		const int way = check_below(WAYS);
		rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
		const bool closed = round % 3 != 0;
		uint32_t list[SIDE], pair[ALL];
		uint8_t place[3][2][ALL];
		bool meet[ALL], proper[ALL], out;
		double lo[3], hi[3];
		rb_frame frame;

		rb_box_empty(lo, hi);
		for (int s = 0; s < 2; s++)
			for (int i = 0; i < SIDE; i++)
			{
				double blo[3], bhi[3];

				make_triangle(p[s][i], way);
				rb_kind_box(RB_TRIANGLE3, p[s][i], 0, blo, bhi);
				rb_box_add(lo, hi, blo, bhi);
				list[i] = (uint32_t) i | (uint32_t) check_below(8) << RB_INDEX_BITS;
			}
		for (int s = 0; s < 2; s++)
			for (int i = 0; i < SIDE; i++)
				/* The bounds require overlapping boxes, so every box is that of all triangles. */
				rb_face_init(&face[s][i], p[s][i], lo, hi, 0);
		rb_frame_of_cell(&frame, lo, hi, (const uint32_t[3]){1, 1, 1},
						 (const uint32_t[3]){0, 0, 0});
		for (int i = 0; i < ALL; i++)
		{
			const double *r = p[0][i / SIDE], *b = p[1][i % SIDE];
			int sb[3], sr[3];

			pair[i] = (uint32_t) (i / SIDE) << 16 | (uint32_t) (i % SIDE);
			meet[i] = rb_leaf_triangles(&env, r, b) == 1;
			proper[i] = meet[i];
			for (int c = 0; c < 3; c++)
			{
				sb[c] = rb_gmp_orient3d(r, r + 3, r + 6, b + 3 * c);
				sr[c] = rb_gmp_orient3d(b, b + 3, b + 6, r + 3 * c);
				proper[i] = proper[i] && sb[c] != 0 && sr[c] != 0;
			}
		}
		for (int j = 0; j < n; j++)
		{
			static uint32_t hit[ALL + 16], left[ALL + 16];
			static rb_sided sided[ALL + 8], undecided[ALL + 8];
			uint32_t m, nyes, nleft;

			/* In float: 0 if rejected, 1 if accepted, 2 if undecided */
			memset(place[j], 0, sizeof(place[j]));
			for (int s = 0; s < 2; s++)
				k[j]->small_faces(p[s][0], list, SIDE, &frame, small[j][s]);
			CHECK(memcmp(small[j], small[0], sizeof(small[0])) == 0, "%s: faces", k[j]->name);
			for (int s = 0; s < 2; s++)
				slabs_of(k[j], small[j][s], SIDE, slab[s]);
			for (int i = 0; i < ALL; i++)
			{
				const uint32_t *r = slab[0][i / SIDE], *b = slab[1][i % SIDE];
				const bool apart = !kdops_overlap(0, RB_KDOP_GUARDS_0, r[0], r[1], 0,
												  RB_KDOP_GUARDS_0, b[0], b[1]);

				CHECK(!apart || !meet[i], "%s, way %d: extents lose a pair", k[j]->name, way);
				payload += apart;
			}
			for (int s = 0; s < 2; s++)
			{
				static double los[SIDE][4] __attribute__((aligned(32)));
				static double his[SIDE][4] __attribute__((aligned(32)));
				static rb_plane_face made[SIDE];

				for (int i = 0; i < SIDE; i++)
				{
					memcpy(los[i], lo, sizeof(lo));
					memcpy(his[i], hi, sizeof(hi));
				}
				k[j]->faces(p[s][0], list, SIDE, (const double(*)[4]) los, (const double(*)[4]) his,
							made);
				for (int i = 0; i < SIDE; i++)
					CHECK(made[i].k == face[s][i].k && made[i].e == face[s][i].e &&
							  made[i].ke == face[s][i].ke && made[i].margin == 0 &&
							  memcmp(made[i].x, face[s][i].x, sizeof(made[i].x)) == 0 &&
							  memcmp(made[i].y, face[s][i].y, sizeof(made[i].y)) == 0 &&
							  memcmp(made[i].z, face[s][i].z, sizeof(made[i].z)) == 0,
						  "%s, way %d: face %d", k[j]->name, way, i);
			}
			m = check_below(2) ? ALL : (uint32_t) check_below(ALL);
			m = j > 0 ? ALL : m;
			nyes = k[j]->small_pairs(small[j][0], small[j][1], pair, m, hit, left, &nleft);
			CHECK(nyes + nleft <= m, "%s: %u and %u of %u", k[j]->name, nyes, nleft, m);
			if (m < ALL)
				nyes = k[j]->small_pairs(small[j][0], small[j][1], pair, ALL, hit, left, &nleft);
			for (uint32_t i = 0; i < nyes; i++)
				place[j][0][(hit[i] >> 16) * SIDE + (hit[i] & 0xffff)] = 1;
			for (uint32_t i = 0; i < nleft; i++)
				place[j][0][(left[i] >> 16) * SIDE + (left[i] & 0xffff)] = 2;

			m = k[j]->sides(face[0], face[1], pair, ALL, sided);
			for (uint32_t i = 0; i < m; i++)
			{
				const double *r = p[0][sided[i].pair >> 16], *b = p[1][sided[i].pair & 0xffff];

				for (int c = 0; c < 3; c++)
				{
					const int of_blue = sign_of(sided[i].blue_sides, c);
					const int of_red = sign_of(sided[i].red_sides, c);

					CHECK(of_blue == RB_UNSURE ||
							  of_blue == rb_gmp_orient3d(r, r + 3, r + 6, b + 3 * c),
						  "%s, way %d: blue's corner %d is not %d", k[j]->name, way, c, of_blue);
					CHECK(of_red == RB_UNSURE ||
							  of_red == rb_gmp_orient3d(b, b + 3, b + 6, r + 3 * c),
						  "%s, way %d: red's corner %d is not %d", k[j]->name, way, c, of_red);
					zeros += of_blue == 0;
				}
			}
			nyes = k[j]->intervals(closed, face[0], face[1], sided, m, hit, undecided, &nleft);
			if (closed)
			{
				static uint32_t hit2[ALL + 16];
				static rb_sided undecided2[ALL + 8];
				uint32_t nleft2, part = (uint32_t) check_below(ALL);
				uint32_t nyes2 =
					k[j]->touching(face[0], face[1], pair, part, sided, hit2, undecided2, &nleft2);

				CHECK(nyes2 + nleft2 <= part, "%s: %u of %u", k[j]->name, nyes2 + nleft2, part);
				nyes2 =
					k[j]->touching(face[0], face[1], pair, ALL, sided, hit2, undecided2, &nleft2);
				CHECK(nyes2 == nyes && nleft2 == nleft &&
						  memcmp(hit2, hit, nyes * sizeof(hit[0])) == 0,
					  "%s: both steps at once", k[j]->name);
				for (uint32_t i = 0; i < nleft && nleft2 == nleft; i++)
					CHECK(undecided2[i].pair == undecided[i].pair &&
							  (undecided2[i].blue_sides & 0x77) ==
								  (undecided[i].blue_sides & 0x77) &&
							  (undecided2[i].red_sides & 0x77) == (undecided[i].red_sides & 0x77),
						  "%s: both steps at once, pair %u", k[j]->name, i);
			}
			for (uint32_t i = 0; i < nyes; i++)
				place[j][1][(hit[i] >> 16) * SIDE + (hit[i] & 0xffff)] = 1;
			for (uint32_t i = 0; i < nleft; i++)
				place[j][1][(undecided[i].pair >> 16) * SIDE + (undecided[i].pair & 0xffff)] = 2;
			for (int i = 0; i < ALL; i++)
			{
				const bool common = rb_share_corner(p[0][i / SIDE], p[1][i % SIDE]);

				for (int s = 0; s < 2; s++)
				{
					out = place[j][s][i] == 0;
					CHECK(!(out && meet[i]), "%s, way %d, %s: a pair is lost that meets",
						  k[j]->name, way, s ? "double" : "float");
					CHECK(place[j][s][i] != 1 || (s == 1 && closed ? meet[i] : proper[i]),
						  "%s, way %d, %s: no such pair", k[j]->name, way, s ? "double" : "float");
					CHECK(place[j][s][i] == place[0][s][i], "%s, way %d: pair %d", k[j]->name, way,
						  i);
				}
				CHECK(!(closed && common && place[j][1][i] == 2), "%s, way %d: a common corner",
					  k[j]->name, way);
				corners += closed && common;
				flat_hits += place[j][1][i] == 1 && !proper[i];
				dropped += place[j][1][i] == 0;
				small_hits += place[j][0][i] == 1;
				small_dropped += place[j][0][i] == 0;
				settled += way == 4 && place[j][0][i] != 2;
				easy += way == 4;
			}
		}
	}
	CHECK(
		zeros > 0 && flat_hits > 0 && dropped > 0 && small_hits > 0 && small_dropped > 0 &&
			corners > 0 && payload > 0,
		"%ld zeros, %ld hits that touch, %ld dropped, %ld and %ld in float, %ld corners, %ld by extents",
		zeros, flat_hits, dropped, small_hits, small_dropped, corners, payload);
	/* For random triangles, float leaves only those perpendicular to an axis, and few others. */
	CHECK(settled > easy / 100 * 99, "%ld of %ld in float", settled, easy);
}

/* ---- distances ---- */

/*
 * Builds a triangle of small integers, of random coordinates, a needle, or one that is nearly
 * coplanar with others, of any size and at any position.
 */
static void
make_near(double *p, int way, double size, double at)
{
	for (int i = 0; i < 9; i++)
		p[i] = way == 0 ? check_below(4) : 1.5 * random_signed();
	if (way == 2)
		for (int a = 0; a < 3; a++)
			p[6 + a] = p[a] + (p[3 + a] - p[a]) * 0.7 + ldexp(random_signed(), -check_below(50));
	if (way == 3)
		for (int i = 2; i < 9; i += 3)
			p[i] = check_below(3) * 0.5 + ldexp(random_signed(), -check_below(60));
	for (int i = 0; i < 9; i++)
		p[i] = p[i] * size + (i % 3 < 2 ? at : 0);
}

/* Prepares a face as a leaf does. The boxes of all faces overlap. */
static void
near_face(rb_plane_face *f, const double *p, double distance, double extent)
{
	double u[3], v[3], permanent = 0;
	double *c[3] = {f->x, f->y, f->z};

	for (int a = 0; a < 3; a++)
	{
		for (int k = 0; k < 3; k++)
			c[a][k] = p[3 * k + a];
		u[a] = p[3 + a] - p[a];
		v[a] = p[6 + a] - p[a];
	}
	for (int a = 0; a < 3; a++)
	{
		int j = (a + 1) % 3, k = (a + 2) % 3;

		c[a][3] = u[j] * v[k] - u[k] * v[j];
		permanent += fabs(u[j] * v[k]) + fabs(u[k] * v[j]);
	}
	f->e = extent;
	f->k = 10 * RB_EPS * (permanent + 0x1p-1000);
	f->ke = f->k * f->e + RB_TINY;
	f->margin = distance * (1 + 16 * RB_EPS) *
				(sqrt(f->x[3] * f->x[3] + f->y[3] * f->y[3] + f->z[3] * f->z[3] + RB_TINY) + f->k);
}

/*
 * Tests that every pair is classified correctly or left undecided, and equally by each instruction
 * set.
 */
static void
distances(void)
{
	enum
	{
		SIDE = 12,
		ALL = SIDE * SIDE
	};
	static const double sizes[] = {1, 1e-6, 1000, 0x1p-300, 0x1p99}, places[] = {0, 5e5};
	static rb_plane_face red[SIDE], blue[SIDE];
	static double p[2][SIDE][9];
	const rb_kernel *k[3];
	int n = kernels(k);
	long no = 0, meets = 0, yes = 0, unsure = 0;

	for (long round = check_rounds(1500); round > 0; round--)
	{
		const int way = check_below(4);
		const double size = sizes[check_below(8) < 6 ? check_below(3) : 3 + check_below(2)];
		const double at = size > 1e-7 && size < 1e4 ? places[check_below(2)] : 0;
		rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
		uint32_t pair[ALL], hit[ALL + 8], m, nyes;
		rb_sided sided[ALL + 8], left[ALL + 8];
		uint8_t place[3][ALL], truth[ALL];

		for (int s = 0; s < 2; s++)
			for (int i = 0; i < SIDE; i++)
				make_near(p[s][i], way, size, at);
		env.distance = distance_of(RB_TRIANGLE3, RB_TRIANGLE3, p[0][check_below(SIDE)],
								   p[1][check_below(SIDE)]);
		switch (check_below(6))
		{
			case 0:
				env.distance = nextafter(env.distance, check_below(2) ? 0 : HUGE_VAL);
				break;
			case 1:
				env.distance *= 1 + ldexp(random_signed(), -30 - check_below(22));
				break;
			case 2:
				env.distance = check_below(2) ? ldexp(1, -check_below(1070)) : 1e300;
				break;
			default:
				break;
		}
		for (int i = 0; i < SIDE; i++)
		{
			near_face(&red[i], p[0][i], env.distance, 4 * size + env.distance);
			near_face(&blue[i], p[1][i], env.distance, 4 * size + env.distance);
		}
		for (int i = 0; i < ALL; i++)
		{
			pair[i] = (uint32_t) (i / SIDE) << 16 | (uint32_t) (i % SIDE);
			truth[i] = (uint8_t) rb_pair_decide(&env, RB_WITHIN, RB_TRIANGLE3, RB_TRIANGLE3,
												p[0][i / SIDE], p[1][i % SIDE]);
		}
		for (int j = 0; j < n; j++)
		{
			memset(place[j], 0, sizeof(place[j]));
			m = k[j]->sides_near(red, blue, pair, ALL, sided);
			nyes = k[j]->intervals_near(red, blue, sided, m, hit, left, &m);
			for (uint32_t i = 0; i < nyes; i++)
				place[j][(hit[i] >> 16) * SIDE + (hit[i] & 0xffff)] = RB_WITHIN_OF(1);
			nyes = k[j]->near(red, blue, left, &m, env.distance, hit);
			for (uint32_t i = 0; i < nyes; i++)
				place[j][(hit[i] >> 16) * SIDE + (hit[i] & 0xffff)] = RB_WITHIN_OF(0);
			for (uint32_t i = 0; i < m; i++)
				place[j][(left[i].pair >> 16) * SIDE + (left[i].pair & 0xffff)] = RB_UNSURE;
			for (int i = 0; i < ALL; i++)
			{
				CHECK(place[j][i] == RB_UNSURE || place[j][i] == truth[i],
					  "%s, way %d, size %g, D %a: %d, not %d", k[j]->name, way, size, env.distance,
					  place[j][i], truth[i]);
				CHECK(place[j][i] == place[0][i], "%s: pair %d", k[j]->name, i);
				no += place[j][i] == 0;
				meets += place[j][i] == RB_WITHIN_OF(1);
				yes += place[j][i] == RB_WITHIN_OF(0);
				unsure += place[j][i] == RB_UNSURE;
			}
		}
	}
	CHECK(no > 0 && meets > 0 && yes > 0 && unsure > 0 && unsure < no + yes,
		  "%ld no, %ld meet, %ld yes, %ld unsure", no, meets, yes, unsure);
	if (getenv("RB_TEST_VERBOSE") != NULL)
		printf("# %ld no, %ld meet, %ld yes, %ld unsure\n", no, meets, yes, unsure);
}

/* Tests that SIMD distances equal those of the exact method, and that most distances are found. */
static void
distances_in_lanes(void)
{
	enum
	{
		SIDE = 12,
		MOST = SIDE * SIDE
	};
	static const double sizes[] = {1, 1e-6, 1000, 0x1p-300, 0x1p-101, 0x1p-99, 0x1p98, 0x1p102};
	const rb_kernel *k[3];
	const int n = kernels(k);
	long found[3] = {0, 0, 0}, easy = 0, easy_found = 0, all = 0;

	for (long round = check_rounds(1500); round > 0; round--)
	{
		const int way = check_below(4);
		const double size = sizes[check_below(8) < 6 ? check_below(3) : check_below(8)];
		const double at = size > 1e-7 && size < 1e4 && check_below(2) ? 5e5 : 0;
		double p[2][SIDE][9], truth[MOST];
		rb_pair pair[MOST];
		uint32_t m = 0;

		for (int s = 0; s < 2; s++)
			for (int i = 0; i < SIDE; i++)
			{
				make_near(p[s][i], way, size, at);
				if (s == 1 && check_below(2))
					for (int a = 2; a < 9; a += 3)
						p[s][i][a] += check_below(4) * size;
			}
		for (int i = 0; i < MOST; i++)
		{
			const double *red = p[0][i / SIDE], *blue = p[1][i % SIDE];

			truth[m] = distance_of(RB_TRIANGLE3, RB_TRIANGLE3, red, blue);
			pair[m] = (rb_pair){(uint32_t) (i / SIDE), (uint32_t) (i % SIDE)};
			m += truth[m] > 0;
		}
		m = m > 0 && check_below(2) ? (uint32_t) check_below((int) m) : m;
		for (int j = 0; j < n; j++)
		{
			double distance[MOST + 1];

			if (k[j]->apart == NULL)
				continue;
			distance[m] = -1;
			k[j]->apart(p[0][0], p[1][0], pair, m, distance);
			CHECK(distance[m] == -1, "%s: beyond the end", k[j]->name);
			for (uint32_t i = 0; i < m; i++)
			{
				CHECK(distance[i] == 0 || distance[i] == truth[i],
					  "%s, way %d, size %g, at %g: %a, not %a", k[j]->name, way, size, at,
					  distance[i], truth[i]);
				found[j] += distance[i] != 0;
				all++;
				if (way != 1 || size < 1e-7 || size > 1e4)
					continue;
				easy++;
				easy_found += distance[i] != 0;
			}
		}
	}
	for (int j = 0; j < n; j++)
	{
		CHECK(k[j]->apart == NULL || (found[j] > 0 && found[j] < all), "%s: %ld of %ld", k[j]->name,
			  found[j], all);
		CHECK(k[j]->apart == NULL || found[j] == found[n - 1], "%s: %ld found, not %ld", k[j]->name,
			  found[j], found[n - 1]);
	}
	CHECK(easy_found >= easy / 100 * 98, "%ld of %ld", easy_found, easy);
	if (getenv("RB_TEST_VERBOSE") != NULL)
		printf("# %ld of %ld, %ld of %ld easy ones\n", found[n - 1], all, easy_found, easy);
}

/*
 * Tests that, of the pairs in a mesh that share vertices, most are rejected, and none that meets
 * elsewhere.
 */
static void
neighbours_in_a_mesh(void)
{
	enum
	{
		SIDE = 4,
		ALL = 2 * SIDE * SIDE
	};
	static const int step[2][3][2] = {{{0, 0}, {1, 0}, {0, 1}}, {{0, 1}, {1, 0}, {1, 1}}};
	static rb_plane_face face[ALL];
	const rb_kernel *k[3];
	const int n = kernels(k);
	long dropped = 0, kept = 0, meeting = 0;

	for (long round = check_rounds(200); round > 0; round--)
	{
		double corner[SIDE + 1][SIDE + 1][3], p[ALL][9];
		const double wild = round % 2 ? 0.2 : 2;
		rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
		uint32_t pair[ALL * ALL], pairs = 0, left[3];
		rb_sided sided[3][ALL * ALL + 8];

		for (int i = 0; i <= SIDE; i++)
			for (int j = 0; j <= SIDE; j++)
			{
				corner[i][j][0] = i + wild * random_signed();
				corner[i][j][1] = j + wild * random_signed();
				corner[i][j][2] = random_signed();
			}
		for (int i = 0; i < ALL; i++)
			for (int c = 0; c < 3; c++)
				memcpy(p[i] + 3 * c,
					   corner[i / 2 / SIDE + step[i % 2][c][0]][i / 2 % SIDE + step[i % 2][c][1]],
					   sizeof corner[0][0]);
		for (int i = 0; i < ALL; i++)
			near_face(&face[i], p[i], 0, 10);
		for (uint32_t i = 0; i < ALL; i++)
			for (uint32_t j = i + 1; j < ALL; j++)
				pair[pairs++] = i << 16 | j;
		for (int j = 0; j < n; j++)
		{
			uint32_t m = k[j]->sides(face, face, pair, pairs, sided[j]), at = 0;
			rb_sided before[ALL * ALL];

			memcpy(before, sided[j], m * sizeof before[0]);
			left[j] = k[j]->neighbours(face, face, sided[j], m);
			CHECK(left[j] == left[0], "%s: %u left, not %u", k[j]->name, left[j], left[0]);
			for (uint32_t i = 0; i < m; i++)
			{
				const uint32_t of = before[i].pair;
				const int meet = rb_pair_decide(&env, RB_SELF_INTERSECT, RB_TRIANGLE3, RB_TRIANGLE3,
												p[of >> 16], p[of & 0xffff]);
				const bool stays = at < left[j] && sided[j][at].pair == of;

				CHECK(stays || meet == 0, "%s: a pair is lost that meets", k[j]->name);
				CHECK(!stays || at >= left[0] || sided[0][at].pair == of, "%s", k[j]->name);
				at += stays;
				dropped += !stays;
				kept += stays && wild < 1;
				meeting += meet != 0;
			}
			CHECK(at == left[j], "%s: order", k[j]->name);
		}
	}
	CHECK(meeting > 0 && dropped > 5 * kept, "%ld dropped, %ld kept, %ld meet", dropped, kept,
		  meeting);
}

/* Returns random extents along the diagonals, as short as those of a triangle. */
static void
some_slab(uint32_t *lo, uint32_t *hi)
{
	*lo = 0;
	*hi = RB_KDOP_GUARDS_1;
	for (int d = 0; d < 4; d++)
	{
		const uint32_t from = (uint32_t) check_below(128);
		const uint32_t to = from + (uint32_t) check_below((int) (128 - from));

		*lo |= from << 8 * d;
		*hi |= to << 8 * d;
	}
}

static void
boxes(void)
{
	static double row[6][ROWS + 8] __attribute__((aligned(64)));
	static uint32_t starts[ROWS + 8] __attribute__((aligned(64)));
	static uint32_t local[ROWS + 8] __attribute__((aligned(64)));
	static uint32_t slab[2][ROWS + 8] __attribute__((aligned(64)));
	static uint32_t out[2][ROWS + 16];
	const rb_kernel *k[3];
	int n = kernels(k);
	rb_box_rows rows = {{row[0], row[1], row[2]},
						{row[3], row[4], row[5]},
						starts,
						local,
						slab[0],
						slab[1],
						false,
						0};
	long found = 0, missed = 0, payload = 0;

	for (long round = check_rounds(3000); round > 0; round--)
	{
		double lo[3], hi[3];
		uint32_t mine = (uint32_t) check_below(8), want = 0, overlaps = 0, owned = 0;
		uint32_t first, extent[2];
		rb_box_row red;

		rows.slabs = check_below(2);
		some_slab(&extent[0], &extent[1]);
		rows.n = 1 + (uint32_t) check_below(round % 3 ? 40 : ROWS);
		first = (uint32_t) check_below((int) rows.n);
		for (int a = 0; a < 3; a++)
		{
			lo[a] = check_below(6);
			hi[a] = lo[a] + check_below(4);
		}
		for (uint32_t i = 0; i < rows.n; i++)
		{
			starts[i] = (uint32_t) check_below(8);
			local[i] = (uint32_t) check_below(2048);
			some_slab(&slab[0][i], &slab[1][i]);
			for (int a = 0; a < 3; a++)
			{
				row[a][i] = check_below(6);
				row[3 + a][i] = row[a][i] + check_below(4);
			}
		}
		for (uint32_t i = rows.n; i % 8 != 0; i++)
			row[0][i] = HUGE_VAL;

		/* Reference test of the boxes */
		for (uint32_t i = first; i < rows.n; i++)
		{
			bool overlap = true;

			for (int a = 0; a < 3; a++)
				overlap = overlap && row[a][i] <= hi[a] && lo[a] <= row[3 + a][i];
			overlaps += overlap;
			if (!overlap || (starts[i] | mine) != 7)
				continue;
			owned++;
			if (!rows.slabs || kdops_overlap(0, RB_KDOP_GUARDS_0, extent[0], extent[1], 0,
											 RB_KDOP_GUARDS_0, slab[0][i], slab[1][i]))
				out[0][want++] = 5u << 16 | local[i];
		}
		payload += owned - want;
		red = (rb_box_row){lo, hi, mine, 5, extent[0], extent[1]};
		found += want;
		missed += rows.n - first - want;
		for (int j = 0; j < n; j++)
		{
			rb_boxes_met all = {10, 20};
			uint32_t got = k[j]->boxes(&red, &rows, first, rows.n, out[1], &all);

			CHECK(got == want && memcmp(out[0], out[1], want * sizeof(uint32_t)) == 0,
				  "%s: %u of %u", k[j]->name, got, want);
			CHECK(all.overlaps == 10 + overlaps && all.owned == 20 + owned,
				  "%s: %lu overlaps, not %u, and %lu owned, not %u", k[j]->name,
				  (unsigned long) all.overlaps - 10, overlaps, (unsigned long) all.owned - 20,
				  owned);
		}
	}
	CHECK(found > 0 && missed > 0 && payload > 0, "%ld found, %ld not, of %ld slabs payload", found,
		  missed, payload);
}

/*
 * Tests loading the boxes and cells of objects, by list and consecutively, against the plain
 * functions.
 */
static void
load_and_cells(void)
{
	enum
	{
		MOST = 50
	};
	static const rb_kind kinds[] = {RB_TRIANGLE3, RB_SEGMENT3, RB_SEGMENT2, RB_BOX3, RB_BOX2};
	static double lo[MOST][4] __attribute__((aligned(32)));
	static double hi[MOST][4] __attribute__((aligned(32)));
	static rb_range range[MOST] __attribute__((aligned(32)));
	const rb_kernel *k[3];
	int n = kernels(k);
	long outside = 0, inside = 0;

	for (long round = check_rounds(3000); round > 0; round--)
	{
		rb_kind kind = kinds[check_below(5)];
		int width = rb_kind_width(kind), dims = rb_kind_dims(kind);
		uint32_t total = 1 + (uint32_t) check_below(MOST),
				 first = (uint32_t) check_below((int) total);
		uint32_t list[MOST], m = total - first;
		/* Allocate exactly the coordinates needed: a sanitizer detects a load beyond the end. */
		double *coords = malloc(total * (size_t) width * sizeof(double));
		double from[3], to[3];
		uint32_t cells[3];
		bool listed = check_below(2);
		rb_grid grid;

		for (uint32_t i = 0; i < total * (uint32_t) width; i++)
			coords[i] = check_below(3) ? check_below(9) - 4
									   : random_signed() * ldexp(1, check_below(600) - 300);
		for (uint32_t i = 0; i < total * (uint32_t) width; i++)
			if (coords[i] == 0 && check_below(2))
				coords[i] = -0.0;
		for (uint32_t i = 0; i < m; i++)
			list[i] = (uint32_t) check_below((int) total) | (uint32_t) check_below(8)
																<< RB_INDEX_BITS;
		for (int a = 0; a < 3; a++)
		{
			from[a] = check_below(4) - 3;
			to[a] = from[a] + check_below(6);
			cells[a] = 1 + (uint32_t) check_below(check_below(2) ? 5 : 1 << 20);
		}
		rb_grid_init(&grid, from, to, cells);
		for (int j = 0; j < n; j++)
		{
			k[j]->load(kind, coords, listed ? list : NULL, first, m, lo, hi);
			k[j]->cells(&grid, (const double(*)[4]) lo, (const double(*)[4]) hi, m, range);
			for (uint32_t i = 0; i < m; i++)
			{
				double blo[3], bhi[3];

				rb_kind_box(kind, coords, listed ? list[i] & RB_INDEX_MASK : first + i, blo, bhi);
				for (int a = 0; a < 3; a++)
				{
					CHECK(lo[i][a] == blo[a] && hi[i][a] == bhi[a], "%s: box %u", k[j]->name, i);
					CHECK(range[i].c0[a] == rb_grid_cell(&grid, a, blo[a]) &&
							  range[i].c1[a] == rb_grid_cell(&grid, a, bhi[a]),
						  "%s: cells %u", k[j]->name, i);
					inside += range[i].c0[a] > 0 && range[i].c0[a] < grid.n[a] - 1;
				}
				CHECK(range[i].c0[3] == 0 && range[i].c1[3] == 0, "%s: fourth", k[j]->name);
				outside += blo[dims - 1] < from[dims - 1];
			}
		}
		free(coords);
	}
	CHECK(inside > 0 && outside > 0, "%ld inside, %ld outside", inside, outside);
}

int
main(void)
{
	CHECK_RUN(load_and_cells);
	CHECK_RUN(sides_and_intervals);
	CHECK_RUN(nothing_is_wrong);
	CHECK_RUN(distances);
	CHECK_RUN(distances_in_lanes);
	CHECK_RUN(neighbours_in_a_mesh);
	CHECK_RUN(boxes);
	return check_done();
}
