/*
 * cuboid.c
 *	  Tests volume and fraction of blocks in solids against rationals.
 *
 * The reference adds up, over all triangles of a solid, the integral of the height above the low face
 * of the block, cut off at its high face, over the part of the triangle's shadow in the block: in
 * rationals, without any side of a point. Most blocks have faces, edges and corners in common with the
 * solids.
 */
#include "core/join/join.h"
#include "core/solid/cuboid_clip.h"
#include "core/solid/solid.h"
#include <math.h>
#include <string.h>

#include "check.h"
#include "is_nearest.h"
#include "solids.h"

#include <gmp.h>
#include <stdlib.h>

static rb_memory *memory;
static rb_context ctx;

/* ---- reference ---- */

#define MOST_CORNERS 16

typedef struct rational_point
{
	mpq_t at[3];
} rational_point;

typedef struct rational_polygon
{
	int n;
	rational_point at[MOST_CORNERS];
} rational_polygon;

static rational_polygon scratch[3];
static mpq_t x, y, sides[MOST_CORNERS];

/* Keeps the part of a polygon where coordinate a is at least a bound, or at most, if `below`. */
static void
clip_rationals(rational_polygon *to, const rational_polygon *p, int a, const mpq_t bound,
			   bool below)
{
	to->n = 0;
	for (int i = 0; i < p->n; i++)
	{
		if (below)
			mpq_sub(sides[i], bound, p->at[i].at[a]);
		else
			mpq_sub(sides[i], p->at[i].at[a], bound);
	}
	for (int i = 0; i < p->n; i++)
	{
		const int k = (i + 1) % p->n, side = mpq_sgn(sides[i]);

		if (side >= 0)
		{
			for (int c = 0; c < 3; c++)
				mpq_set(to->at[to->n].at[c], p->at[i].at[c]);
			to->n++;
		}
		if (side * mpq_sgn(sides[k]) >= 0)
			continue;
		mpq_sub(y, sides[i], sides[k]);
		mpq_div(y, sides[i], y);
		for (int c = 0; c < 3; c++)
		{
			mpq_sub(x, p->at[k].at[c], p->at[i].at[c]);
			mpq_mul(x, x, y);
			mpq_add(to->at[to->n].at[c], p->at[i].at[c], x);
		}
		to->n++;
	}
}

/* Adds `factor` times 6 times the integral of z - bound over the part of a polygon above a bound. */
static void
add_columns(mpq_t sum, const rational_polygon *p, const mpq_t bound, int factor)
{
	rational_polygon *q = &scratch[2];
	mpq_t area;

	mpq_init(area);
	clip_rationals(q, p, 2, bound, false);
	for (int i = 1; i + 1 < q->n; i++)
	{
		mpq_set_ui(area, 0, 1);
		for (int k = 0; k < 2; k++)
		{
			mpq_sub(x, q->at[i].at[k], q->at[0].at[k]);
			mpq_sub(y, q->at[i + 1].at[1 - k], q->at[0].at[1 - k]);
			mpq_mul(x, x, y);
			if (k == 0)
				mpq_add(area, area, x);
			else
				mpq_sub(area, area, x);
		}
		mpq_sub(x, q->at[0].at[2], bound);
		mpq_add(x, x, q->at[i].at[2]);
		mpq_sub(x, x, bound);
		mpq_add(x, x, q->at[i + 1].at[2]);
		mpq_sub(x, x, bound);
		mpq_mul(area, area, x);
		if (factor > 0)
			mpq_add(sum, sum, area);
		else
			mpq_sub(sum, sum, area);
	}
	mpq_clear(area);
}

/* A block as rationals: the low and the high ends */
typedef struct rational_block
{
	mpq_t end[2][3];
} rational_block;

/* Sets the ends of a block. */
static void
set_block(rational_block *b, const double *box, bool centered)
{
	for (int a = 0; a < 3; a++)
		for (int side = 0; side < 2; side++)
		{
			mpq_set_d(b->end[side][a], box[centered ? a : 3 * side + a]);
			if (!centered)
				continue;
			mpq_set_d(x, box[3 + a]);
			mpq_div_2exp(x, x, 1);
			if (side == 0)
				mpq_sub(b->end[0][a], b->end[0][a], x);
			else
				mpq_add(b->end[1][a], b->end[1][a], x);
		}
}

/* Computes the volume of a block in a solid, whose triangles are turned outward. */
static void
find_reference(mpq_t volume, const rational_block *b, const double *t, int n,
			   const rb_model_frame *frame)
{
	mpq_set_ui(volume, 0, 1);
	for (int i = 0; i < n; i++)
	{
		rational_polygon *p = &scratch[0], *q = &scratch[1];

		p->n = 3;
		for (int k = 0; k < 9; k++)
		{
			mpq_t *to = &p->at[k / 3].at[k % 3];

			mpq_set_d(*to, t[9 * i + k]);
			if (!frame->rotated)
				continue;
			mpq_set_ui(*to, 0, 1);
			for (int j = 0; j < 3; j++)
			{
				mpq_set_d(x, t[9 * i + k - k % 3 + j]);
				mpq_set_d(y, frame->origin[j]);
				mpq_sub(x, x, y);
				mpq_set_d(y, frame->rotation[3 * (k % 3) + j]);
				mpq_mul(x, x, y);
				mpq_add(*to, *to, x);
			}
		}
		for (int a = 0; a < 2; a++)
		{
			clip_rationals(q, p, a, b->end[0][a], false);
			clip_rationals(p, q, a, b->end[1][a], true);
		}
		add_columns(volume, p, b->end[0][2], 1);
		add_columns(volume, p, b->end[1][2], -1);
	}
	mpq_set_ui(x, 1, 6);
	mpq_mul(volume, volume, x);
	/* A mirrored frame turns triangles inward. */
	if (mpq_sgn(volume) < 0)
		mpq_neg(volume, volume);
}

/* ---- comparison ---- */

#define MOST_BLOCKS 400

typedef struct answers
{
	rb_cuboid_share share[MOST_BLOCKS][2];
	int count[MOST_BLOCKS][2];
	pthread_mutex_t lock;
	rb_status answer; /* Status returned by the callback */
} answers;

static rb_status
put_answers(void *user, const rb_pair *rows, const uint64_t *payload, size_t n)
{
	answers *t = user;

	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < n; i++)
	{
		memcpy(&t->share[rows[i].red][rows[i].blue], payload + RB_CUBOID_WORDS * i,
			   sizeof(rb_cuboid_share));
		t->count[rows[i].red][rows[i].blue]++;
	}
	pthread_mutex_unlock(&t->lock);
	return t->answer;
}

/* The blocks of a test, and one or two solids */
typedef struct test_model
{
	bool centered;
	uint32_t nblocks;
	double block[6 * MOST_BLOCKS];
	uint32_t ntriangles;
	uint32_t first; /* Number of triangles of the first solid */
	double triangle[9 * 2 * SOLID_MOST];
	uint32_t row_of[2 * SOLID_MOST];
	rb_model_frame frame;
} test_model;

static rb_status
ask_model(const test_model *m, answers *t)
{
	const rb_set blocks = {.kind = m->centered ? RB_CUBOID3 : RB_BOX3,
						   .nparts = m->nblocks,
						   .nrows = m->nblocks,
						   .coords = m->block};
	const rb_set solids = {.kind = RB_TRIANGLE3,
						   .nparts = m->ntriangles,
						   .nrows = m->row_of[m->ntriangles - 1] + 1,
						   .coords = m->triangle,
						   .row_of = m->row_of};
	const rb_job job = {.red = &blocks, .blue = &solids, .predicate = RB_CUBOID, .frame = m->frame};
	const rb_row_sink sink = {.put = put_answers, .user = t};

	memset(t->count, 0, sizeof t->count);
	return rb_compose_cuboids(&ctx, &rb_backend_cpu, &job, &sink);
}

/* Asks, and returns false if a solid intersects itself because its corners were rounded. */
static bool
ask_valid_model(const test_model *m, answers *t)
{
	const int threads = ctx.threads;
	const rb_status status = ask_model(m, t);

	CHECK(status == RB_OK || status == RB_BAD_SOLID, "status %d: %s", (int) status, ctx.error.text);
	if (status == RB_OK)
		return true;
	rb_context_init(&ctx, memory);
	ctx.threads = threads;
	return false;
}

static long inner, partial, outer;

/* Compares a result with a rational; what rounds to 0 is 2^-1074. */
static void
compare_result(const char *name, double result, const mpq_t exact)
{
	CHECK(is_nearest_above_zero(result, exact), "%s %a, not %a", name, result, mpq_get_d(exact));
}

/* Compares all blocks of a model with the reference. `outward` has the triangles turned outward. */
static void
compare_model(const test_model *m, const double *outward, const answers *t)
{
	rational_block b;
	mpq_t volume, whole;

	mpq_init(volume);
	mpq_init(whole);
	for (int k = 0; k < 6; k++)
		mpq_init(b.end[k / 3][k % 3]);
	for (uint32_t i = 0; i < m->nblocks; i++)
		for (uint32_t row = 0; row <= m->row_of[m->ntriangles - 1]; row++)
		{
			const uint32_t from = row == 0 ? 0 : m->first;
			const rb_cuboid_share *share = &t->share[i][row];

			set_block(&b, m->block + 6 * i, m->centered);
			find_reference(volume, &b, outward + 9 * from,
						   (int) ((row == 0 ? m->first : m->ntriangles) - from), &m->frame);
			CHECK(t->count[i][row] == (mpq_sgn(volume) != 0), "%d rows, volume %a",
				  t->count[i][row], mpq_get_d(volume));
			if (t->count[i][row] == 0 || mpq_sgn(volume) == 0)
			{
				outer++;
				continue;
			}
			mpq_set_ui(whole, 1, 1);
			for (int a = 0; a < 3; a++)
			{
				mpq_sub(x, b.end[1][a], b.end[0][a]);
				mpq_mul(whole, whole, x);
			}
			compare_result("volume", share->volume, volume);
			mpq_div(volume, volume, whole);
			inner += share->fraction == 1;
			partial += share->fraction != 1;
			compare_result("fraction", share->fraction, volume);
			CHECK(share->fraction > 0 && share->fraction <= 1, "fraction %a", share->fraction);
		}
	mpq_clear(volume);
	mpq_clear(whole);
	for (int k = 0; k < 6; k++)
		mpq_clear(b.end[k / 3][k % 3]);
}

/* ---- models ---- */

/* Makes a valid solid. */
static void
make_valid_solid(solid *s, int size)
{
	do
		solid_make(s, check_below(SOLID_FAMILIES), size);
	while (!s->sound || s->n > SOLID_MOST / 2);
}

/* Appends a solid; `outward` gets its triangles as they are, and the model some turned over. */
static void
append_solid(test_model *m, double *outward, const solid *s, uint32_t row)
{
	for (int i = 0; i < s->n; i++)
	{
		double *t = m->triangle + 9 * m->ntriangles;
		const bool turn = check_below(2) == 0;

		memcpy(outward + 9 * m->ntriangles, s->t + 9 * i, 9 * sizeof *t);
		memcpy(t, s->t + 9 * i, 9 * sizeof *t);
		for (int a = 0; turn && a < 3; a++)
		{
			const double swap = t[a];

			t[a] = t[3 + a];
			t[3 + a] = swap;
		}
		m->row_of[m->ntriangles++] = row;
	}
}

/* Returns a coordinate near a solid: mostly on the lattice of its corners, or halfway. */
static double
make_lattice_coordinate(const solid *s, int a)
{
	const double range = s->high[a] - s->low[a] + 2;
	double at = s->low[a] - 1 + check_below((int) (2 * range) + 1) * 0.5;
	const int kind = check_below(8);

	if (kind < 5)
		at = floor(at);
	else if (kind == 7)
		at += ldexp((double) check_below(1000), -12);
	return solid_coordinate(s, a, at);
}

/* Makes a block near a solid. Returns false if it has no volume. */
static bool
make_block(const test_model *m, const solid *s, double *b)
{
	for (int a = 0; a < 3; a++)
	{
		const double u = make_lattice_coordinate(s, a), v = make_lattice_coordinate(s, a);

		b[a] = fmin(u, v);
		b[3 + a] = fmax(u, v);
		if (m->centered)
		{
			b[3 + a] = v == u ? fabs(s->scale[a]) : fabs(v - u);
			b[a] = check_below(2) ? u : (u + v) / 2;
		}
		if (check_below(40) == 0)
			b[3 + a] = m->centered ? b[3 + a] * 0x1p-45 : b[a] + (b[3 + a] - b[a]) * 0x1p-30;
	}
	return true;
}

/* Makes a regular model around a solid. */
static void
make_regular_model(test_model *m, const solid *s)
{
	const int n = 4 + check_below(4);
	double at[3][9];

	for (int a = 0; a < 3; a++)
		for (int i = 0; i <= n; i++)
			at[a][i] =
				solid_coordinate(s, a, s->low[a] - 0.5 + i * (s->high[a] - s->low[a] + 1) / n);
	for (int i = 0; i < n * n * n && m->nblocks < MOST_BLOCKS; i++)
	{
		const int cell[3] = {i % n, i / n % n, i / n / n};
		double *b = m->block + 6 * m->nblocks++;

		for (int a = 0; a < 3; a++)
		{
			b[a] = at[a][cell[a]];
			b[3 + a] = at[a][cell[a] + 1];
			if (m->centered)
			{
				const double low = b[a], high = b[3 + a];

				b[a] = (low + high) / 2;
				b[3 + a] = high - low;
			}
		}
	}
}

/* Makes a frame: a permutation of axes with signs, or rounded cosines and sines. */
static void
make_frame(rb_model_frame *f, const solid *s)
{
	static const int orders[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1},
									 {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
	const int order = check_below(6);
	double turn[2];

	f->rotated = true;
	for (int k = 0; k < 9; k++)
		f->rotation[k] = 0;
	for (int a = 0; a < 3; a++)
	{
		f->origin[a] = solid_coordinate(s, a, check_below(3));
		f->rotation[3 * a + orders[order][a]] = check_below(2) ? 1 : -1;
	}
	if (check_below(2))
		return;
	for (int step = 0; step < 2; step++)
	{
		const double angle = check_below(360) * (M_PI / 180);

		for (int k = 0; k < 3; k++)
		{
			double *row = f->rotation;

			turn[0] = cos(angle) * row[3 * step + k] - sin(angle) * row[3 + 3 * step + k];
			turn[1] = sin(angle) * row[3 * step + k] + cos(angle) * row[3 + 3 * step + k];
			row[3 * step + k] = turn[0];
			row[3 + 3 * step + k] = turn[1];
		}
	}
}

/* Compares random models with the reference. */
static void
random_models(void)
{
	static const int threads[] = {1, 2, 7};
	static double outward[9 * 2 * SOLID_MOST];
	static test_model m;
	static solid s, other;
	static answers t, again;
	const long rounds = check_rounds(400);

	pthread_mutex_init(&t.lock, NULL);
	pthread_mutex_init(&again.lock, NULL);
	inner = partial = outer = 0;
	for (long round = 0; round < rounds; round++)
	{
		const int size = check_below(SIZES);

		m.nblocks = m.ntriangles = 0;
		m.centered = check_below(2) == 0;
		m.frame.rotated = false;
		make_valid_solid(&s, size);
		append_solid(&m, outward, &s, 0);
		m.first = m.ntriangles;
		if (check_below(2))
		{
			make_valid_solid(&other, size);
			append_solid(&m, outward, &other, 1);
		}
		if (check_below(4) == 0 && size != SIZE_POWER)
			make_frame(&m.frame, &s);
		if (check_below(4) == 0)
			make_regular_model(&m, &s);
		else
			while (m.nblocks < 60)
				m.nblocks += make_block(&m, &s, m.block + 6 * m.nblocks);
		/* In local coordinates, blocks are near the origin. */
		for (uint32_t i = 0; m.frame.rotated && i < m.nblocks; i++)
			for (int a = 0; a < 3; a++)
				for (int k = 0; k < 2 - m.centered; k++)
					m.block[6 * i + 3 * (uint32_t) k + (uint32_t) a] -=
						m.frame.origin[a] + (check_below(2) && !k && m.centered ? s.scale[a] : 0);
		ctx.threads = threads[check_below(3)];
		if (!ask_valid_model(&m, &t))
			continue;
		compare_model(&m, outward, &t);
		ctx.threads = threads[check_below(3)];
		CHECK(ask_valid_model(&m, &again), "not valid");
		for (uint32_t i = 0; i < m.nblocks; i++)
			for (int row = 0; row < 2; row++)
				CHECK(t.count[i][row] == again.count[i][row] &&
						  (t.count[i][row] == 0 || memcmp(&t.share[i][row], &again.share[i][row],
														  sizeof t.share[i][row]) == 0),
					  "threads differ");
	}
	ctx.threads = 1;
	CHECK(4 * inner > rounds && partial > rounds && outer > rounds,
		  "%ld inner, %ld partial, %ld outer", inner, partial, outer);
}

/* Compares models of extreme sizes, which double-double sums do not decide. */
static void
extreme_sizes(void)
{
	static const double scales[][3] = {{0x1p-500, 0x1p-500, 0x1p-500},
									   {0x1p400, 0x1p400, 0x1p400},
									   {0x1p-260, 0x1p260, 3e-7},
									   {1, 1, 0x1p-1060}};
	static double outward[9 * 2 * SOLID_MOST];
	static test_model m;
	static solid s;
	static answers t;

	pthread_mutex_init(&t.lock, NULL);
	for (long round = 0; round < check_rounds(40); round++)
	{
		const double *scale = scales[check_below(4)];

		m = (test_model){.centered = check_below(2) == 0};
		do
			make_valid_solid(&s, SIZE_PLAIN);
		while (s.n > 24);
		append_solid(&m, outward, &s, 0);
		m.first = m.ntriangles;
		while (m.nblocks < 10)
			m.nblocks += make_block(&m, &s, m.block + 6 * m.nblocks);
		for (uint32_t i = 0; i < 9 * m.ntriangles; i++)
		{
			m.triangle[i] *= scale[i % 3];
			outward[i] *= scale[i % 3];
		}
		for (uint32_t i = 0; i < 6 * m.nblocks; i++)
			m.block[i] *= scale[i % 3];
		if (!ask_valid_model(&m, &t))
			continue;
		compare_model(&m, outward, &t);
	}
}

/* Tests results in the middle of two doubles. */
static void
middles(void)
{
	static const double lo[3] = {0, 0, 0}, hi[3] = {0x1p20 + 1, 0x1p20 + 1, 0x1p20 + 1};
	static double outward[9 * 2 * SOLID_MOST];
	static test_model m;
	static solid s;
	static answers t;
	long middle = 0;

	pthread_mutex_init(&t.lock, NULL);
	for (long round = 0; round < check_rounds(200); round++)
	{
		m = (test_model){.centered = false};
		s.n = 0;
		solid_box(&s, lo, hi, false);
		append_solid(&m, outward, &s, 0);
		m.first = m.ntriangles;
		for (m.nblocks = 0; m.nblocks < 8; m.nblocks++)
			for (int a = 0; a < 3; a++)
			{
				/* The part inside has odd extents of 18 bits, so its volume has 54 bits. */
				m.block[6 * m.nblocks + (uint32_t) a] =
					hi[a] - (0x1p17 + 1 + 2 * check_below(1 << 16));
				m.block[6 * m.nblocks + 3 + (uint32_t) a] = hi[a] + (a == 2);
			}
		if (!ask_valid_model(&m, &t))
			continue;
		compare_model(&m, outward, &t);
		for (uint32_t i = 0; i < m.nblocks; i++)
			middle += t.share[i][0].volume >= 0x1p53;
	}
	CHECK(middle > check_rounds(200), "%ld", middle);
}

/* Tests blocks of which only what is a few ulps thick is inside. */
static void
slivers(void)
{
	static const int faces[8][3] = {{0, 2, 4}, {2, 1, 4}, {1, 3, 4}, {3, 0, 4},
									{2, 0, 5}, {1, 2, 5}, {3, 1, 5}, {0, 3, 5}};
	static double outward[9 * 2 * SOLID_MOST];
	static test_model m;
	static solid s;
	static answers t;
	long thin = 0;

	pthread_mutex_init(&t.lock, NULL);
	for (long round = 0; round < check_rounds(20); round++)
	{
		const double top = 0.3 + 0x1p-54 * (1 + check_below(16));
		const double corner[6][3] = {{4.3, 1.1, 0.3},  {-4.1, 0.7, 0.3}, {0.2, 4.3, 0.3},
									 {0.4, -4.7, 0.3}, {0.1, 0.2, top},  {0.3, 0.1, -3.1}};

		m = (test_model){.centered = false};
		s.n = 0;
		for (int i = 0; i < 8; i++)
			solid_triangle(&s, corner[faces[i][0]], corner[faces[i][1]], corner[faces[i][2]]);
		append_solid(&m, outward, &s, 0);
		m.first = m.ntriangles;
		for (; m.nblocks < 8; m.nblocks++)
		{
			double *b = m.block + 6 * m.nblocks;

			for (int a = 0; a < 2; a++)
			{
				b[a] = -0.1 * (1 + check_below(20));
				b[3 + a] = 0.1 * (1 + check_below(20));
			}
			b[2] = 0.3;
			b[5] = 0.7;
		}
		if (!ask_valid_model(&m, &t))
			continue;
		compare_model(&m, outward, &t);
		for (uint32_t i = 0; i < m.nblocks; i++)
			thin += t.count[i][0] == 1 && t.share[i][0].volume < 1e-13;
	}
	CHECK(thin > 4 * check_rounds(20), "%ld", thin);
}

/* Tests a low corner that is an ulp below one solid and in another one, whose top is lower. */
static void
beside_a_higher_solid(void)
{
	static const double lo[2][3] = {{0, 0, 0}, {0, 0, 1}}, hi[2][3] = {{4, 4, 2}, {4, 4, 4}};
	static double outward[9 * 2 * SOLID_MOST];
	static test_model m;
	static solid s;
	static answers t;

	pthread_mutex_init(&t.lock, NULL);
	m = (test_model){.nblocks = 1, .block = {1, 1, 1 - 0x1p-53, 2, 2, 3}};
	for (uint32_t row = 0; row < 2; row++)
	{
		m.first = m.ntriangles;
		s.n = 0;
		solid_box(&s, lo[row], hi[row], false);
		append_solid(&m, outward, &s, row);
	}
	CHECK(ask_valid_model(&m, &t), "not valid");
	compare_model(&m, outward, &t);
}

/* Tests refused allocations and stops. */
static void
little_memory_and_stop(void)
{
	static double outward[9 * 2 * SOLID_MOST];
	static test_model m;
	static solid s;
	static answers t;
	uint64_t limit = 64;
	int refused = 0;
	rb_status status;

	pthread_mutex_init(&t.lock, NULL);
	m = (test_model){.centered = true};
	solid_make(&s, SOLID_OCTAHEDRON, SIZE_PLAIN);
	append_solid(&m, outward, &s, 0);
	m.first = m.ntriangles;
	m.frame = (rb_model_frame){true, {1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
	make_regular_model(&m, &s);
	rb_context_stop(&ctx);
	CHECK(ask_model(&m, &t) == RB_STOPPED && rb_memory_used(memory) == 0, "not stopped");
	rb_context_init(&ctx, memory);
	t.answer = RB_STOPPED;
	status = ask_model(&m, &t);
	CHECK(status == RB_STOPPED && rb_memory_used(memory) == 0, "status %d", (int) status);
	t.answer = RB_OK;
	do
	{
		rb_memory *little = rb_memory_create(limit);

		rb_context_init(&ctx, little);
		ctx.threads = 2;
		status = ask_model(&m, &t);
		CHECK(status == RB_OK || status == RB_OVER_BUDGET, "%d bytes: status %d", (int) limit,
			  (int) status);
		CHECK(rb_memory_used(little) == 0, "%d bytes: memory is left", (int) limit);
		rb_memory_destroy(little);
		refused += status != RB_OK;
		limit += limit / 50 + 8; /* Small enough to refuse each array of the solids */
	} while (status != RB_OK && limit < 1u << 30);
	CHECK(status == RB_OK && refused > 100, "status %d after %d", (int) status, refused);
	rb_context_init(&ctx, memory);
}

/* Initializes the numbers of the reference. */
static void
prepare(void)
{
	mpq_init(x);
	mpq_init(y);
	for (int k = 0; k < MOST_CORNERS; k++)
		mpq_init(sides[k]);
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < MOST_CORNERS; k++)
			for (int a = 0; a < 3; a++)
				mpq_init(scratch[i].at[k].at[a]);
}

int
main(void)
{
	memory = rb_memory_create(UINT64_MAX);
	rb_context_init(&ctx, memory);
	prepare();
	CHECK_RUN(random_models);
	CHECK_RUN(extreme_sizes);
	CHECK_RUN(middles);
	CHECK_RUN(slivers);
	CHECK_RUN(beside_a_higher_solid);
	CHECK_RUN(little_memory_and_stop);
	CHECK(rb_memory_used(memory) == 0, "left behind");
	rb_memory_destroy(memory);
	return check_done();
}
