/*
 * in_solid.c
 *	  Tests sets of solids in a stream: invalid solids, and the points and intervals of lines inside
 *	  solids.
 *
 * The results are compared with those for one solid, one point and one line at a time, which
 * line_intervals.c tests against rationals.
 */
#include "core/base/redblue.h"
#include "core/solid/solid.h"
#include "core/join/join.h"
#include "core/set/set.h"
#include "core/primitive/dispatch.h"
#include "core/primitive/ray.h"
#include "fixtures.h"
#include "solids.h"

#include <stdlib.h>

#define MOST_SOLIDS 24
#define MOST_LINES 60
#define MOST_SEGMENTS 5
#define MOST_POINTS 200
#define MOST_STRETCHES 64

static rb_memory *memory;
static rb_context ctx;

/* Solids next to, within and across each other */
static solid shape[MOST_SOLIDS];
static uint32_t nsolids, first_of[MOST_SOLIDS + 1];
static double triangles[9 * MOST_SOLIDS * SOLID_MOST];
static uint32_t row_of_triangle[MOST_SOLIDS * SOLID_MOST];
static int64_t solid_id[MOST_SOLIDS];
static uint32_t faces_of[MOST_SOLIDS];
static bool is_bad[MOST_SOLIDS];
static uint64_t crossings[MOST_SOLIDS];
static rb_set solids;

static double segments[6 * MOST_LINES * MOST_SEGMENTS];
static uint32_t row_of_segment[MOST_LINES * MOST_SEGMENTS];
static rb_set lines;

static double points[3 * MOST_POINTS];
static rb_set the_points;

static uint64_t
count_crossings(uint32_t row)
{
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
	uint64_t n = 0;

	for (uint32_t i = first_of[row]; i < first_of[row + 1]; i++)
		for (uint32_t j = i + 1; j < first_of[row + 1]; j++)
			n += RB_IS_YES(rb_pair_decide(&env, RB_SELF_INTERSECT, RB_TRIANGLE3, RB_TRIANGLE3,
										  triangles + 9 * (size_t) i, triangles + 9 * (size_t) j))
					 ? 1
					 : 0;
	return n;
}

static const double *
anywhere(void)
{
	static double p[3];
	const solid *s = &shape[check_below((int) nsolids)];

	solid_point(s, p);
	return p;
}

static void
make_solids(int size, bool good_only)
{
	uint32_t n = 0;

	nsolids = 0;
	while (nsolids < MOST_SOLIDS)
	{
		solid *s = &shape[nsolids];
		rb_solid_report report;

		solid_make(s, check_below(good_only ? SOLID_CRUMPLED : SOLID_FAMILIES), size);
		/* Move by whole steps, so that faces of several solids are coplanar. */
		for (int a = 0; a < 3; a++)
		{
			const double step = s->scale[a] * check_below(6);

			s->origin[a] += step;
			for (int i = a; i < 9 * s->n; i += 3)
				s->t[i] += step;
		}
		if (!good_only && check_below(6) == 0)
			s->n--;
		first_of[nsolids] = n;
		for (int i = 0; i < s->n; i++)
			row_of_triangle[n + (uint32_t) i] = nsolids;
		memcpy(triangles + 9 * (size_t) n, s->t, (size_t) s->n * 9 * sizeof(double));
		first_of[nsolids + 1] = n + (uint32_t) s->n;
		crossings[nsolids] = count_crossings(nsolids);
		rb_solid_check_closed(&ctx, s->t, (uint32_t) s->n, &report);
		is_bad[nsolids] = crossings[nsolids] > 0 || report.fault != RB_SOLID_GOOD;
		if (good_only && is_bad[nsolids])
			continue;
		solid_id[nsolids] = 1000 - 7 * (int64_t) nsolids;
		faces_of[nsolids] = 1 + (uint32_t) check_below(50);
		n += (uint32_t) s->n;
		nsolids++;
	}
	solids = (rb_set){.kind = RB_TRIANGLE3,
					  .nparts = n,
					  .nrows = nsolids,
					  .coords = triangles,
					  .row_of = row_of_triangle,
					  .ids = solid_id,
					  .faces = faces_of};
}

static void
make_lines(void)
{
	uint32_t n = 0;

	for (uint32_t line = 0; line < MOST_LINES; line++)
	{
		double last[3];

		/* Some lines are pieces of one line. */
		if (n > 0 && check_below(3) > 0)
			memcpy(last, segments + 6 * (size_t) n - 3, sizeof last);
		else
			memcpy(last, anywhere(), sizeof last);
		for (int k = 1 + check_below(MOST_SEGMENTS); k > 0; k--, n++)
		{
			double *at = segments + 6 * (size_t) n;

			if (check_below(6) == 0) /* A gap */
				memcpy(last, anywhere(), sizeof last);
			memcpy(at, last, sizeof last);
			if (check_below(8) > 0) /* Otherwise the segment is a point */
				memcpy(last, anywhere(), sizeof last);
			memcpy(at + 3, last, sizeof last);
			row_of_segment[n] = line;
		}
	}
	lines = (rb_set){.kind = RB_SEGMENT3,
					 .nparts = n,
					 .nrows = MOST_LINES,
					 .coords = segments,
					 .row_of = row_of_segment};
}

static void
make_points(void)
{
	for (int i = 0; i < MOST_POINTS; i++)
		memcpy(points + 3 * i, anywhere(), 3 * sizeof(double));
	the_points =
		(rb_set){.kind = RB_POINT3, .nparts = MOST_POINTS, .nrows = MOST_POINTS, .coords = points};
}

/* Returns what RB_RAY_PARITY reports for a point and a solid. */
static unsigned
side_of(const double *p, uint32_t row)
{
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
	unsigned payload = 0;

	for (uint32_t i = first_of[row]; i < first_of[row + 1]; i++)
	{
		const double *t = triangles + 9 * (size_t) i;
		const int answer = fmax(fmax(t[2], t[5]), t[8]) < p[2] ? 0 : rb_ray_crossing(&env, p, t);

		if (RB_IS_YES(answer))
			payload = ((payload ^ RB_PAYLOAD(answer)) & 1) | ((payload | RB_PAYLOAD(answer)) & 2);
	}
	return payload;
}

static rb_status
ask(const rb_job *job, void (*take)(void *arg, const rb_block *block, size_t i), void *arg)
{
	rb_stream *stream;
	rb_block block;
	rb_status status = rb_stream_open(&ctx, &rb_backend_cpu, job, &stream);

	while (status == RB_OK && (status = rb_stream_next(stream, 20, &block)) == RB_OK)
		for (size_t i = 0; i < block.n; i++)
			take(arg, &block, i);
	rb_stream_close(stream);
	return status;
}

static uint32_t
row_of_id(int64_t id)
{
	return (uint32_t) ((1000 - id) / 7);
}

/* ---- intervals of lines ---- */

typedef struct stretches_of
{
	rb_line_interval at[MOST_STRETCHES];
	size_t n;
} stretches_of;

static stretches_of wanted[MOST_LINES][MOST_SOLIDS], found[MOST_LINES][MOST_SOLIDS];
static bool leaves[MOST_LINES][MOST_SOLIDS]; /* True if some of the line is outside */

/* Returns true if the intervals cover the whole line. */
static bool
is_covered(const stretches_of *s)
{
	bool covered = s->n > 0 && s->at[0].from == 0 && s->at[s->n - 1].to == 1;

	for (size_t i = 1; i < s->n; i++)
		covered &= s->at[i - 1].to == s->at[i].from;
	return covered;
}

static void
want_stretches(void)
{
	static rb_pair meet[MOST_SEGMENTS * SOLID_MOST];
	rb_line_intervals out = {0};

	for (uint32_t line = 0, first = 0, end; line < MOST_LINES; line++, first = end)
	{
		for (end = first; end < lines.nparts && row_of_segment[end] == line;)
			end++;
		for (uint32_t row = 0; row < nsolids; row++)
		{
			uint8_t inside[MOST_SEGMENTS];
			rb_line of = {.segments = segments + 6 * (size_t) first,
						  .nsegments = end - first,
						  .inside = inside,
						  .triangles = triangles + 9 * (size_t) first_of[row],
						  .meet = meet};

			wanted[line][row].n = 0;
			if (is_bad[row])
				continue;
			for (uint32_t k = 0; k < of.nsegments; k++)
			{
				inside[k] = side_of(of.segments + 6 * (size_t) k, row) & 1;
				for (uint32_t i = 0; i < first_of[row + 1] - first_of[row]; i++)
					meet[of.nmeet++] = (rb_pair){k, i};
			}
			CHECK(rb_line_measure(&ctx, of.segments, of.nsegments, &out) == RB_OK &&
					  rb_solid_intervals(&ctx, &of, &out) == RB_OK && out.n <= MOST_STRETCHES,
				  "stretches");
			if (out.n > 0)
				memcpy(wanted[line][row].at, out.at, out.n * sizeof *out.at);
			wanted[line][row].n = out.n;
		}
	}
	rb_line_intervals_free(memory, &out);
}

static void
take_stretch(void *arg, const rb_block *block, size_t i)
{
	stretches_of *of = &found[block->red[i]][row_of_id(block->blue[i])];
	const uint64_t *payload = block->payload + i * block->words;
	rb_line_interval *s = &of->at[of->n++];

	(void) arg;
	memset(s, 0, sizeof *s);
	memcpy(&s->from, &payload[0], sizeof(double));
	memcpy(&s->to, &payload[1], sizeof(double));
	memcpy(&s->length, &payload[2], sizeof(double));
	s->on_boundary = (payload[3] & RB_INTERVAL_OF(1, 0)) != 0;
	leaves[block->red[i]][row_of_id(block->blue[i])] = (payload[3] & RB_INTERVAL_OF(0, 1)) != 0;
}

static void
lines_in_solids(void)
{
	size_t all = 0, on = 0;

	for (int round = 0; round < 24; round++)
	{
		const bool good = round % 2 == 0;
		rb_job job = {.red = &lines, .blue = &solids, .predicate = RB_INSIDE, .skip_bad = !good};
		rb_status status;
		uint64_t n = 0, bad = 0;

		make_solids(round / 2 % SIZES, good);
		make_lines();
		want_stretches();
		memset(found, 0, sizeof found);
		memset(&ctx.stats, 0, sizeof ctx.stats);
		ctx.settings.grid_resolution = round % 3 == 0 ? 5 : 0;
		status = ask(&job, take_stretch, NULL);
		CHECK(status == RB_END, "round %d: %s", round, rb_status_text(status));
		for (uint32_t line = 0; line < MOST_LINES; line++)
			for (uint32_t row = 0; row < nsolids; row++)
			{
				const stretches_of *w = &wanted[line][row], *f = &found[line][row];
				bool same = w->n == f->n;

				for (size_t i = 0; i < w->n && same; i++)
				{
					same = w->at[i].from == f->at[i].from && w->at[i].to == f->at[i].to &&
						   w->at[i].length == f->at[i].length &&
						   w->at[i].on_boundary == f->at[i].on_boundary;
					on += w->at[i].on_boundary;
				}
				CHECK(same, "round %d, line %u, solid %u (%s): %zu intervals, not %zu", round, line,
					  row, solid_name[shape[row].family], f->n, w->n);
				CHECK(w->n == 0 || leaves[line][row] == !is_covered(w),
					  "round %d, line %u, solid %u (%s): leaves %d", round, line, row,
					  solid_name[shape[row].family], leaves[line][row]);
				n += w->n;
			}
		for (uint32_t row = 0; row < nsolids; row++)
			bad += is_bad[row];
		CHECK(ctx.stats.bad_solids == bad, "round %d: %llu bad, not %llu", round,
			  (unsigned long long) ctx.stats.bad_solids, (unsigned long long) bad);
		job.answer = RB_COUNT;
		status = ask(&job, take_stretch, NULL);
		CHECK(status == RB_END && ctx.stats.stage[RB_STAGE_EMIT].count == n, "round %d: count",
			  round);
		all += n;
	}
	CHECK(all > 1000 && on > 100, "%zu intervals, %zu on a boundary", all, on);
}

/* ---- points ---- */

static void
take_side(void *arg, const rb_block *block, size_t i)
{
	uint64_t(*got)[MOST_SOLIDS] = arg;

	got[block->red[i]][row_of_id(block->blue[i])] = block->payload[i];
}

static void
points_in_solids(void)
{
	static uint64_t got[MOST_POINTS][MOST_SOLIDS];

	for (int round = 0; round < 24; round++)
	{
		const bool good = round % 2 == 0;
		const rb_job job = {
			.red = &the_points, .blue = &solids, .predicate = RB_RAY_PARITY, .skip_bad = !good};
		rb_status status;

		make_solids(round / 2 % SIZES, good);
		make_points();
		memset(got, 0, sizeof got);
		status = ask(&job, take_side, got);
		CHECK(status == RB_END, "round %d: %s", round, rb_status_text(status));
		for (uint32_t i = 0; i < MOST_POINTS; i++)
			for (uint32_t row = 0; row < nsolids; row++)
			{
				const unsigned want = is_bad[row] ? 0 : side_of(points + 3 * (size_t) i, row);

				CHECK(got[i][row] == want, "round %d, point %u, solid %u: %u, not %u", round, i,
					  row, (unsigned) got[i][row], want);
			}
	}
}

/* ---- reports, errors ---- */

static void
take_report(void *arg, const rb_block *block, size_t i)
{
	const uint32_t row = row_of_id(block->red[i]);
	rb_solid_report report, want;
	char text[RB_SOLID_REASON];

	(*(uint32_t *) arg)++;
	rb_solid_of_words(&report, block->payload + i * block->words);
	rb_solid_check_faces(&ctx, shape[row].t, (uint32_t) shape[row].n, NULL, &want);
	rb_solid_reason(&report, text);
	CHECK(report.faces == faces_of[row] && report.closed == want.closed &&
			  report.oriented == want.oriented && report.fault == want.fault &&
			  report.self_intersections == crossings[row],
		  "solid %u (%s): %s", row, solid_name[shape[row].family], text);
	CHECK((text[0] == '\0') == (want.fault == RB_SOLID_GOOD && crossings[row] == 0), "%s", text);
	CHECK(memcmp(report.edge, want.edge, sizeof want.edge) == 0 && report.uses == want.uses,
		  "solid %u: %s", row, text);
	if (crossings[row] > 0)
	{
		rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};

		CHECK(report.crossing[0] < report.crossing[1] &&
				  RB_IS_YES(rb_pair_decide(&env, RB_SELF_INTERSECT, RB_TRIANGLE3, RB_TRIANGLE3,
										   shape[row].t + 9 * report.crossing[0],
										   shape[row].t + 9 * report.crossing[1])),
			  "%s", text);
	}
}

static void
reports(void)
{
	for (int round = 0; round < 12; round++)
	{
		const rb_job job = {.red = &solids, .predicate = RB_VALIDITY};
		uint32_t n = 0;
		rb_status status;

		make_solids(round % SIZES, false);
		status = ask(&job, take_report, &n);
		CHECK(status == RB_END && n == nsolids, "round %d: %s, %u reports", round,
			  rb_status_text(status), n);
	}
}

static void
take_nothing(void *arg, const rb_block *block, size_t i)
{
	(void) arg;
	(void) block;
	(void) i;
}

/* Describes in words what is wrong with a solid. */
static void
expected_reason(uint32_t row, char text[RB_SOLID_REASON])
{
	const uint32_t from = first_of[row], to = first_of[row + 1];
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
	rb_solid_report report;

	rb_solid_check_closed(&ctx, triangles + 9 * (size_t) from, to - from, &report);
	for (uint32_t k = 0; report.fault == RB_SOLID_GOOD && report.self_intersections == 0; k++)
	{
		const uint32_t i = from + k / (to - from), j = from + k % (to - from);

		if (i < j &&
			RB_IS_YES(rb_pair_decide(&env, RB_SELF_INTERSECT, RB_TRIANGLE3, RB_TRIANGLE3,
									 triangles + 9 * (size_t) i, triangles + 9 * (size_t) j)))
		{
			report = (rb_solid_report){
				.fault = RB_SOLID_GOOD, .self_intersections = 1, .crossing = {i - from, j - from}};
			rb_triangles_crossing_point(triangles + 9 * (size_t) i, triangles + 9 * (size_t) j,
										report.crossing_at);
		}
	}
	rb_solid_reason(&report, text);
}

static void
bad_solids(void)
{
	int errors = 0;
	char reason[RB_SOLID_REASON];

	for (int round = 0; round < 12; round++)
	{
		const rb_predicate predicate = round % 2 == 0 ? RB_INSIDE : RB_RAY_PARITY;
		const rb_job job = {.red = predicate == RB_INSIDE ? &lines : &the_points,
							.blue = &solids,
							.predicate = predicate};
		uint32_t first = 0;
		rb_status status;

		make_solids(SIZE_PLAIN, false);
		make_lines();
		make_points();
		while (first < nsolids && !is_bad[first])
			first++;
		if (first < nsolids)
			expected_reason(first, reason);
		status = ask(&job, take_nothing, NULL);
		if (first == nsolids)
			CHECK(status == RB_END, "all good: %s", rb_status_text(status));
		else
			CHECK(status == RB_BAD_SOLID && (int64_t) ctx.error.need == solid_id[first] &&
					  strcmp(ctx.error.text, reason) == 0,
				  "%s, %lld: %s, not %s", rb_status_text(status), (long long) ctx.error.need,
				  ctx.error.text, reason);
		errors += first < nsolids;
		rb_context_init(&ctx, memory);
		ctx.threads = 2;
	}
	CHECK(errors > 6, "%d", errors);
}

/*
 * Builds two apexes and a closed polygonal line that winds around them the given number of times,
 * at any distance and height. From the middle, all triangles are seen from inside or, if turned,
 * from outside.
 */
static void
make_wound(solid *s, int corners, int times, bool turned)
{
	double p[2 * SOLID_MOST / 4][3], top[2][3];

	s->n = 0;
	for (int i = 0; i < corners; i++)
	{
		const double angle = 6.283185307179586 * times * i / corners, far = 50 + check_below(50);

		p[i][0] = far * cos(angle);
		p[i][1] = far * sin(angle);
		p[i][2] = check_below(21) - 10;
	}
	for (int k = 0; k < 2; k++)
		for (int a = 0; a < 3; a++)
			top[k][a] = a < 2 ? check_below(11) - 5 : k == 0 ? 40 : -40;
	for (int i = 0; i < corners; i++)
		for (int k = 0; k < 2; k++)
		{
			const double *a = p[i], *b = p[(i + 1) % corners];

			solid_triangle(s, (k == 0) != turned ? a : b, (k == 0) != turned ? b : a, top[k]);
		}
	solid_shuffle(s);
}

static bool
is_star(const solid *s)
{
	rb_star_room room = {.links = NULL};
	bool star;

	CHECK(rb_solid_is_star(&ctx, s->t, (uint32_t) s->n, &room, &star) == RB_OK, "is_star");
	rb_star_room_free(memory, &room);
	return star;
}

static void
stars(void)
{
	int found = 0, crossing = 0;

	for (int i = 0; i < 4000; i++)
	{
		solid *s = &shape[0];
		bool star;

		solid_make(s, i % SOLID_FAMILIES, i / SOLID_FAMILIES % SIZES);
		star = is_star(s);
		first_of[0] = 0;
		first_of[1] = (uint32_t) s->n;
		memcpy(triangles, s->t, (size_t) s->n * 9 * sizeof(double));
		if (s->family <= SOLID_STAR)
			CHECK(star, "%s %d is none", solid_name[s->family], s->size);
		if (s->family == SOLID_NESTED || s->family == SOLID_TWO)
			CHECK(!star, "%s is one", solid_name[s->family]);
		if (star)
			CHECK(count_crossings(0) == 0, "%s crosses itself", solid_name[s->family]);
		else if (s->family == SOLID_CRUMPLED)
			crossing += count_crossings(0) > 0;
		found += star && s->family > SOLID_STAR;
	}
	CHECK(found > 0 && crossing > 50, "%d more stars, %d that cross themselves", found, crossing);
	/*
	 * From its middle, the upward direction is valid; but next to it there are two more triangles,
	 * which coincide.
	 */
	solid_make(&shape[0], SOLID_OCTAHEDRON, SIZE_PLAIN);
	CHECK(is_star(&shape[0]), "an octahedron is none");
	for (int i = 0; i < 2; i++)
		solid_triangle(&shape[0], (double[]){8, 4, 4}, (double[]){8, 5, 4}, (double[]){8, 4, 5});
	CHECK(!is_star(&shape[0]), "with a triangle twice it is one");
	shape[0].n--;
	CHECK(!is_star(&shape[0]), "with one more triangle it is one");
	shape[0].n -= 2;
	CHECK(!is_star(&shape[0]), "without one of its triangles it is one");
	for (int i = 0; i < 400; i++)
	{
		const int times = 1 + i % 3;
		solid *s = &shape[0];

		make_wound(s, 7 * times + 1 + check_below(3) * times, times, i % 2 == 1);
		CHECK(is_star(s) == (times == 1), "%d times around", times);
		first_of[1] = (uint32_t) s->n;
		memcpy(triangles, s->t, (size_t) s->n * 9 * sizeof(double));
		CHECK((count_crossings(0) == 0) == (times == 1), "%d times around", times);
	}
}

/* Tests that what a set with an owner has computed is not computed again. */
static void
good_solids_are_remembered(void)
{
	const rb_set *owned;
	rb_set copy;
	double *coords = NULL;
	uint32_t *bad = NULL;
	rb_error error;

	make_solids(SIZE_PLAIN, true);
	copy = solids;
	CHECK(rb_resize(memory, (void **) &coords, solids.nparts * 9 * sizeof(double), &error) == RB_OK,
		  "memory");
	memcpy(coords, triangles, solids.nparts * 9 * sizeof(double));
	copy.coords = coords;
	copy.ids = NULL;
	copy.faces = NULL;
	copy.row_of = NULL;
	copy.nrows = solids.nparts;
	CHECK(rb_set_own(memory, &copy, &owned, &error) == RB_OK, "own");
	CHECK(rb_solids_check(&ctx, &rb_backend_cpu, owned, true, RB_SOLID_OF_SOLIDS, &bad) == RB_OK,
		  "check");
	CHECK(!rb_set_knows(owned, RB_KNOWN_SOLIDS) && rb_is_marked(bad, 0), "a triangle is no solid");
	rb_set_learn(owned, RB_KNOWN_SOLIDS);
	CHECK(rb_solids_check(&ctx, &rb_backend_cpu, owned, true, RB_SOLID_OF_SOLIDS, &bad) == RB_OK,
		  "check");
	CHECK(!rb_is_marked(bad, 0), "it was asked again");
	rb_free(memory, (void **) &bad);
	rb_set_release(&owned);
}

static void
little_memory_and_stop(void)
{
	const rb_predicate asked[] = {RB_INSIDE, RB_RAY_PARITY, RB_VALIDITY};

	make_solids(SIZE_PLAIN, true);
	make_lines();
	make_points();
	for (size_t k = 0; k < sizeof asked / sizeof asked[0]; k++)
	{
		const rb_job job = {.red = asked[k] == RB_INSIDE       ? &lines
								   : asked[k] == RB_RAY_PARITY ? &the_points
															   : &solids,
							.blue = asked[k] == RB_VALIDITY ? NULL : &solids,
							.predicate = asked[k]};
		check_join_budgets(&job, 1 << 14, 3);
		check_join_closed_early(&job, memory, 5);
	}
}

int
main(void)
{
	memory = rb_memory_create(UINT64_MAX);
	rb_context_init(&ctx, memory);
	ctx.threads = 2;
	CHECK_RUN(lines_in_solids);
	CHECK_RUN(points_in_solids);
	CHECK_RUN(reports);
	CHECK_RUN(bad_solids);
	CHECK_RUN(stars);
	CHECK_RUN(good_solids_are_remembered);
	CHECK_RUN(little_memory_and_stop);
	CHECK(rb_memory_used(memory) == 0, "left behind");
	rb_memory_destroy(memory);
	return check_done();
}
