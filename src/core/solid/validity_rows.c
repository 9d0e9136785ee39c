/*
 * validity_rows.c
 *	  Checks whether all rows of a set are solids, before any point is reported to be inside one, and
 *	  reports for each row what is wrong if it is not; validity_reasons.c converts the reports to
 *	  text.
 *
 * All threads check the rows individually: whether a row is closed (validity.c), and whether a
 * cheap test proves that it does not intersect itself (star shapes). The remaining rows are checked
 * by a self join of the set within its rows, on the backend that the rest of the join uses. If all
 * rows are solids, the set remembers this result.
 *
 * A report comes from two independent checks: whether the row is closed and oriented outward, and
 * how many pairs of its triangles cross.
 */
#include "core/solid/solid.h"
#include "core/primitive/ray.h"
#include "core/base/parallel.h"
#include "core/join/join.h"
#include "core/set/set.h"

#include <string.h>

/* ---- star shapes ---- */

/*
 * Suppose that every edge has two triangles that traverse it in opposite directions, and that all
 * triangles have the same strict orientation relative to a point c. Seen from c, the two triangles
 * of an edge are on opposite sides of it, and the triangles around a vertex surround it. So every
 * direction, except those of edges, is covered by the same number of triangles. If one direction is
 * covered once, all are.
 *
 * Then no direction is in the interior of one triangle and also in another triangle. If two
 * triangles meet, the meeting point is on an edge or vertex of both. The other triangles there
 * cover all remaining directions, so the two triangles share that edge or vertex. Houses and the
 * shells of many solids are star-shaped in this sense, and this test is much cheaper than a self
 * join.
 *
 * The point c is the rounded mean of the vertices, which is inside any convex surface. If a
 * floating-point filter cannot determine a sign, the result is false.
 */

/*
 * Computes the mean of all corners of a row, the point from which its surface may be star-shaped.
 */
static void
find_star_center(const double *t, uint32_t n, double c[3])
{
	double sum[3] = {0, 0, 0};

	for (size_t i = 0; i < (size_t) 3 * n; i++)
		for (int a = 0; a < 3; a++)
			sum[a] += t[3 * i + a];
	for (int a = 0; a < 3; a++)
		c[a] = sum[a] / (3.0 * n);
}

/*
 * Returns true if the upward ray from the center c of a row meets the bounding box of one of its
 * triangles.
 */
static bool
may_triangle_be_above_center(const double *t, const double *c)
{
	for (int a = 0; a < 3; a++)
		if (rb_max(t[a], rb_max(t[3 + a], t[6 + a])) < c[a])
			return false;
	return rb_min(t[0], rb_min(t[3], t[6])) <= c[0] && rb_min(t[1], rb_min(t[4], t[7])) <= c[1];
}

/*
 * Returns true if all triangles have the same orientation relative to c, and exactly one of them is
 * above c.
 */
static bool
is_star_seen_once(rb_context *ctx, const double *triangles, uint32_t n)
{
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
	int turn = 0, above = 0;
	double c[3];

	find_star_center(triangles, n, c);
	for (uint32_t i = 0; i < n; i++)
	{
		const double *t = triangles + 9 * (size_t) i;
		const int side = rb_orient3d_filter(t, t + 3, t + 6, c);

		if (side == 0 || side == RB_UNSURE || side == -turn || (rb_stop_due(ctx, i, 65536)))
			return false;
		turn = side;
		if (may_triangle_be_above_center(t, c) &&
			(rb_ray_crossing(&env, c, t) & RB_RAY_PARITY_OF(1, 0)) == RB_RAY_PARITY_OF(1, 0))
			above++;
	}
	return above == 1;
}

/* Returns the corner after a corner of a triangle; triangle t has the corners 3 t to 3 t + 2. */
static uint32_t
next_star_corner(uint32_t corner)
{
	return corner % 3 == 2 ? corner - 2 : corner + 1;
}

/* Returns the corner before a corner of a triangle. */
static uint32_t
previous_star_corner(uint32_t corner)
{
	return corner % 3 == 0 ? corner + 2 : corner - 1;
}

/*
 * Checks whether every edge has two triangles, which traverse it in opposite directions. The edges
 * that leave a vertex must lead to distinct vertices, and the edges that enter it must come from
 * exactly the same vertices.
 */
static rb_status
pair_edges_of_star(rb_context *ctx, const uint32_t *first, uint32_t n, uint32_t *links,
				   bool *paired)
{
	uint32_t *link = links; /* For each corner, the previous corner at the same vertex, or itself */
	uint32_t *last = links + 3 * (size_t) n; /* Last corner at each vertex */
	/* For each vertex, the start of the last edge found that ends there */
	uint32_t *leads = links + 6 * (size_t) n;

	memset(leads, 0xff, 3 * (size_t) n * sizeof *leads);
	for (uint32_t i = 0; i < 3 * n; i++)
	{
		link[i] = first[i] == i ? i : last[first[i]];
		last[first[i]] = i;
		if (rb_stop_due(ctx, i, 65536))
			return RB_STOPPED;
	}
	*paired = false;
	for (uint32_t at = 0; at < 3 * n; at++)
	{
		uint32_t i;

		if (rb_stop_due(ctx, at, 4096))
			return RB_STOPPED;
		if (first[at] != at)
			continue;
		for (i = last[at];; i = link[i])
		{
			const uint32_t to = first[next_star_corner(i)];

			if (leads[to] == at)
				return RB_OK;
			leads[to] = at;
			if (link[i] == i)
				break;
		}
		for (i = last[at];; i = link[i])
		{
			const uint32_t from = first[previous_star_corner(i)];

			if (leads[from] != at)
				return RB_OK;
			leads[from] = UINT32_MAX;
			if (link[i] == i)
				break;
		}
	}
	*paired = true;
	return RB_OK;
}

rb_status
rb_solid_is_star(rb_context *ctx, const double *triangles, uint32_t n, rb_star_room *room,
				 bool *star)
{
	*star = false;
	if (!is_star_seen_once(ctx, triangles, n))
		return rb_should_stop(ctx) ? RB_STOPPED : RB_OK;
	RB_TRY(rb_point_hash_find(ctx, triangles, 3 * n, &room->corners));
	RB_TRY(RB_RENEW(ctx, room->links, room->links_cap, 9 * (size_t) n));
	return pair_edges_of_star(ctx, room->corners.first, n, room->links, star);
}

void
rb_star_room_free(rb_memory *memory, rb_star_room *room)
{
	rb_point_hash_free(memory, &room->corners);
	RB_FREE(memory, room->links);
	room->links_cap = 0;
}

/* ---- validity of all rows ---- */

#define GRAIN 16 /* Number of rows a thread takes at a time */

typedef struct solid_checks
{
	rb_context *ctx;
	const rb_set *solids;
	const uint32_t *start; /* First part of each row, with one extra entry at the end */
	uint32_t *bad;
	uint32_t *stars; /* Bitmap of rows known not to intersect themselves */
	uint32_t *open;  /* Bitmap of rows that are not closed; NULL if such rows are bad */
	pthread_mutex_t lock;
	uint64_t because[RB_SOLID_FAULTS]; /* Number of bad rows by their first fault */
	uint32_t first;                    /* First bad row */
	rb_solid_report report;            /* Report of the first bad row */
	/* Part of the set for each joined triangle; NULL if the whole set is joined */
	const uint32_t *part;
	rb_pair crossing; /* First pair of triangles that cross */
	int status;
} solid_checks;

/* Marks a row as invalid and records its fault. */
static void
note_invalid_solid(solid_checks *a, uint32_t row, const rb_solid_report *report)
{
	rb_mark(a->bad, row);
	pthread_mutex_lock(&a->lock);
	a->because[report->fault == RB_SOLID_GOOD ? RB_SOLID_CROSSED : report->fault]++;
	if (row < a->first)
	{
		a->first = row;
		a->report = *report;
	}
	pthread_mutex_unlock(&a->lock);
}

/* Checks one row, as a star first. */
static rb_status
check_one_solid_row(solid_checks *a, uint32_t row, rb_star_room *room)
{
	const double *triangles = a->solids->coords + (size_t) a->start[row] * 9;
	const uint32_t n = a->start[row + 1] - a->start[row];
	rb_solid_report report;
	bool star;
	rb_status status = rb_solid_is_star(a->ctx, triangles, n, room, &star);

	if (status == RB_OK && star)
		rb_mark(a->stars, row);
	else if (status == RB_OK)
	{
		status = rb_solid_check_closed(a->ctx, triangles, n, &report);
		if (status == RB_OK && report.fault != RB_SOLID_GOOD && a->open != NULL)
			rb_mark(a->open, row);
		else if (status == RB_OK && report.fault != RB_SOLID_GOOD)
			note_invalid_solid(a, row, &report);
	}
	return status;
}

/* Checks a range of rows. */
static void
check_solid_rows_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	solid_checks *a = arg;
	rb_star_room room = {.links = NULL};
	rb_status status = RB_OK;

	(void) me;
	for (uint64_t row = from; row < to && status == RB_OK && !rb_should_stop(a->ctx); row++)
		status = check_one_solid_row(a, (uint32_t) row, &room);
	rb_keep_failure(&a->status, status);
	rb_star_room_free(a->ctx->memory, &room);
}

/* Checks all rows, each on its own, on several threads. */
static rb_status
check_rows_are_closed(solid_checks *a)
{
	const uint32_t n = a->solids->nrows;
	rb_status status =
		rb_team_loop(a->ctx, rb_threads_for(a->ctx, n, GRAIN), n, GRAIN, check_solid_rows_piece, a);

	return rb_loop_failure(a->status, status);
}

/* Receives pairs of triangles of one solid that cross. */
static rb_status
receive_crossings(void *user, const rb_pair *pairs, size_t n)
{
	solid_checks *a = user;
	rb_pair least = {UINT32_MAX, UINT32_MAX};

	for (size_t i = 0; i < n; i++)
	{
		rb_pair p = {rb_pair_red(pairs[i]), pairs[i].blue};

		if (a->part != NULL)
			p = (rb_pair){a->part[p.red], a->part[p.blue]};
		rb_mark(a->bad, rb_row_of(a->solids, p.red));
		if (p.red < least.red || (p.red == least.red && p.blue < least.blue))
			least = p;
	}
	pthread_mutex_lock(&a->lock);
	if (least.red < a->crossing.red ||
		(least.red == a->crossing.red && least.blue < a->crossing.blue))
		a->crossing = least;
	pthread_mutex_unlock(&a->lock);
	return rb_should_stop(a->ctx) ? RB_STOPPED : RB_OK;
}

/* Records the first crossing pair and counts the bad rows that receive_crossings marked. */
static void
note_first_crossing(solid_checks *a)
{
	rb_solid_report report = {.fault = RB_SOLID_GOOD, .self_intersections = 1};
	uint64_t open = a->because[RB_SOLID_FLAT] + a->because[RB_SOLID_OPEN], bad = 0;
	const double *t[2];
	uint32_t row;

	if (a->crossing.red == UINT32_MAX)
		return;
	row = rb_row_of(a->solids, a->crossing.red);
	report.crossing[0] = a->crossing.red - a->start[row];
	report.crossing[1] = a->crossing.blue - a->start[row];
	t[0] = a->solids->coords + (size_t) a->crossing.red * 9;
	t[1] = a->solids->coords + (size_t) a->crossing.blue * 9;
	rb_triangles_crossing_point(t[0], t[1], report.crossing_at);
	note_invalid_solid(a, row, &report);
	for (uint32_t i = 0; i < a->solids->nrows; i++)
		bad += rb_is_marked(a->bad, i);
	a->because[RB_SOLID_CROSSED] = bad - open;
}

/* Finds the triangles that cross others of their own row, by a self join within rows. */
static rb_status
join_solids_with_themselves(solid_checks *a, const rb_backend *backend, const rb_set *set)
{
	const rb_job job = {.red = set, .predicate = RB_SELF_INTERSECT, .within_rows = true};
	const rb_sink sink = {.put = receive_crossings, .user = a};

	return rb_join_step(a->ctx, backend, &job, &sink, RB_TILE);
}

/* Returns true if the row could still intersect itself. */
static bool
may_row_cross_itself(const solid_checks *a, uint32_t row)
{
	return a->start[row + 1] - a->start[row] > 1 && !rb_is_marked(a->bad, row) &&
		   (a->open == NULL || !rb_is_marked(a->open, row)) && !rb_is_marked(a->stars, row);
}

/*
 * Joins the rows that may cross themselves with themselves, copied to a set of their own, to find
 * crossings of their triangles.
 */
static rb_status
join_rows_that_may_cross(solid_checks *a, const rb_backend *backend, uint32_t n)
{
	rb_set some = {.kind = RB_TRIANGLE3, .nrows = a->solids->nrows};
	double *coords = NULL;
	uint32_t *row_of = NULL, *part = NULL;
	rb_status status;
	RB_FREE_AT_END(a->ctx->memory, &coords, &row_of, &part);

	RB_TRY(rb_array(a->ctx, (void **) &coords, n, 9 * sizeof *coords));
	RB_TRY(RB_ALLOCATE(a->ctx, row_of, n));
	RB_TRY(RB_ALLOCATE(a->ctx, part, n));
	for (uint32_t row = 0; row < a->solids->nrows; row++)
		if (may_row_cross_itself(a, row))
		{
			const uint32_t first = a->start[row], many = a->start[row + 1] - first;

			if (rb_should_stop(a->ctx))
				return RB_STOPPED;
			memcpy(coords + (size_t) some.nparts * 9, a->solids->coords + (size_t) first * 9,
				   (size_t) many * 9 * sizeof *coords);
			for (uint32_t i = 0; i < many; i++)
			{
				row_of[some.nparts + i] = row;
				part[some.nparts + i] = first + i;
			}
			some.nparts += many;
		}
	some.coords = coords;
	some.row_of = row_of;
	a->part = part;
	status = join_solids_with_themselves(a, backend, &some);
	a->part = NULL;
	return status;
}

/* Checks whether triangles cross in rows whose other checks leave that open. */
static rb_status
check_rows_for_crossings(solid_checks *a, const rb_backend *backend)
{
	uint32_t n = 0;
	rb_status status = RB_OK;

	for (uint32_t row = 0; row < a->solids->nrows; row++)
		n += may_row_cross_itself(a, row) ? a->start[row + 1] - a->start[row] : 0;
	if (n > 0)
		status = n == a->solids->nparts ? join_solids_with_themselves(a, backend, a->solids)
										: join_rows_that_may_cross(a, backend, n);
	note_first_crossing(a);
	return status;
}

/*
 * Sets *together to true if all rows of a set form one closed surface, or to false if memory does
 * not suffice for the test.
 */
static rb_status
are_closed_together(rb_context *ctx, const rb_set *solids, bool *together)
{
	rb_solid_report report;
	rb_status status = rb_solid_check_closed(ctx, solids->coords, solids->nparts, &report);

	*together = status == RB_OK && report.fault == RB_SOLID_GOOD;
	if (status == RB_OVER_BUDGET || status == RB_OUT_OF_MEMORY)
	{
		rb_forget_failure(ctx);
		return RB_OK;
	}
	return status;
}

/*
 * Counts the invalid rows of a set of solids by fault, and returns the error of the first one
 * unless they are skipped.
 */
static rb_status
report_first_invalid_row(solid_checks *a, bool skip, rb_solid_side of)
{
	const rb_set *solids = a->solids;
	char text[RB_SOLID_REASON];
	bool together = false;
	int64_t id;
	rb_status status = RB_OK;

	for (int fault = 0; fault < RB_SOLID_FAULTS; fault++)
	{
		a->ctx->stats.bad_solids += a->because[fault];
		a->ctx->stats
			.bad_because[of == RB_SOLID_OF_RED || of == RB_SOLID_OF_FIRST ? 0 : 1][fault] +=
			a->because[fault];
	}
	if (a->first == UINT32_MAX || skip)
		return RB_OK;
	if (a->report.fault == RB_SOLID_OPEN && solids->nrows > 1)
		status = are_closed_together(a->ctx, solids, &together);
	if (status != RB_OK)
		return status;
	rb_solid_reason(&a->report, text);
	id = solids->ids != NULL ? solids->ids[a->first]
							 : (int64_t) ((uint64_t) solids->first_id + a->first);
	return rb_fail(a->ctx, RB_BAD_SOLID, (uint64_t) id,
				   (uint64_t) of | (together ? RB_SOLID_TOGETHER : 0), text);
}

/* Returns true if any bit of a bitmap of rows is set. */
static bool
is_any_row_marked(const uint32_t *marks, size_t words)
{
	for (size_t i = 0; i < words; i++)
		if (marks[i] != 0)
			return true;
	return false;
}

/* Checks all rows; `open` receives the rows that are not closed, or is NULL. */
static rb_status
check_all_solid_rows(rb_context *ctx, const rb_backend *backend, const rb_set *solids, bool skip,
					 rb_solid_side of, uint32_t **bad, uint32_t *open)
{
	const size_t words = solids->nrows / 32 + 1;
	solid_checks a = {.ctx = ctx,
					  .solids = solids,
					  .open = open,
					  .first = UINT32_MAX,
					  .crossing = {UINT32_MAX, UINT32_MAX}};
	uint32_t *start = NULL;
	rb_status status = RB_OK;
	RB_FREE_AT_END(ctx->memory, &start, &a.stars);

	RB_TRY(RB_ALLOCATE(ctx, *bad, words));
	RB_TRY(RB_ALLOCATE(ctx, start, (size_t) solids->nrows + 1));
	RB_TRY(RB_ALLOCATE(ctx, a.stars, words));
	memset(*bad, 0, words * sizeof(uint32_t));
	memset(a.stars, 0, words * sizeof(uint32_t));
	RB_TRY(rb_row_starts(ctx, solids, start));
	a.start = start;
	a.bad = *bad;
	if (!rb_set_knows(solids, RB_KNOWN_SOLIDS))
	{
		pthread_mutex_init(&a.lock, NULL);
		status = check_rows_are_closed(&a);
		if (status == RB_OK)
			status = check_rows_for_crossings(&a, backend);
		pthread_mutex_destroy(&a.lock);
	}
	RB_TRY(status);
	if (a.first == UINT32_MAX && (open == NULL || !is_any_row_marked(open, words)))
		rb_set_learn(solids, RB_KNOWN_SOLIDS);
	return report_first_invalid_row(&a, skip, of);
}

rb_status
rb_solids_check(rb_context *ctx, const rb_backend *backend, const rb_set *solids, bool skip,
				rb_solid_side of, uint32_t **bad)
{
	return check_all_solid_rows(ctx, backend, solids, skip, of, bad, NULL);
}

rb_status
rb_solids_sort(rb_context *ctx, const rb_backend *backend, const rb_set *surfaces, bool skip,
			   rb_solid_side of, uint32_t **bad, uint32_t **open)
{
	const size_t words = surfaces->nrows / 32 + 1;

	RB_TRY(RB_ALLOCATE(ctx, *open, words));
	memset(*open, 0, words * sizeof(uint32_t));
	return check_all_solid_rows(ctx, backend, surfaces, skip, of, bad, *open);
}

/* ---- reports for all rows ---- */

_Static_assert(sizeof(rb_solid_report) == RB_VALIDITY_WORDS * sizeof(uint64_t),
			   "a report has RB_VALIDITY_WORDS words");

void
rb_solid_of_refusal(rb_solid_report *report, const rb_refusal *refusal, double face_tolerance)
{
	memset(report, 0, sizeof *report);
	report->fault = RB_SOLID_UNREADABLE;
	report->why = refusal->fault;
	report->info = refusal->info;
	report->face_tolerance = face_tolerance;
}

typedef struct crossings
{
	uint64_t n;
	rb_pair first;
} crossings;

typedef struct solid_reports
{
	rb_context *ctx;
	const rb_set *solids;
	const rb_row_sink *sink;
	uint32_t *start;
	crossings *of;  /* Crossings of each row */
	bool by_object; /* True if rows are already grouped into objects */
	bool together;  /* True if no row is closed, and all rows together are */
	int closed;     /* Nonzero if some row is closed; set by several threads */
	pthread_mutex_t lock;
	int status;
} solid_reports;

/* Returns true if two triangles have the same corners. */
static bool
do_triangles_have_same_corners(const double *a, const double *b)
{
	for (int i = 0; i < 9; i += 3)
		if (memcmp(a + i, b, 3 * sizeof *a) != 0 && memcmp(a + i, b + 3, 3 * sizeof *a) != 0 &&
			memcmp(a + i, b + 6, 3 * sizeof *a) != 0)
			return false;
	return true;
}

/* Counts crossing pairs of triangles and records the first one of each row. */
static rb_status
receive_crossings_of_row(void *user, const rb_pair *pairs, size_t n)
{
	solid_reports *a = user;

	pthread_mutex_lock(&a->lock);
	for (size_t i = 0; i < n; i++)
	{
		const rb_pair p = {rb_pair_red(pairs[i]), pairs[i].blue};
		crossings *c = &a->of[rb_row_of(a->solids, p.red)];

		if (c->n++ == 0 || p.red < c->first.red ||
			(p.red == c->first.red && p.blue < c->first.blue))
			c->first = p;
	}
	pthread_mutex_unlock(&a->lock);
	return rb_should_stop(a->ctx) ? RB_STOPPED : RB_OK;
}

/* Counts the crossing triangles of each row by a self join. */
static rb_status
count_crossings_of_rows(solid_reports *a, const rb_backend *backend)
{
	const rb_job job = {.red = a->solids, .predicate = RB_SELF_INTERSECT, .within_rows = true};
	const rb_sink sink = {.put = receive_crossings_of_row, .user = a};

	memset(a->of, 0, a->solids->nrows * sizeof *a->of);
	return a->solids->row_of != NULL ? rb_join_step(a->ctx, backend, &job, &sink, RB_TILE) : RB_OK;
}

/* Reports the first two triangles that cross. */
static rb_status
report_first_crossing(const solid_reports *a, const crossings *c, uint32_t first, uint32_t parts,
					  rb_solid_report *report)
{
	const double *t = a->solids->coords + (size_t) first * 9;
	const double *red = a->solids->coords + (size_t) c->first.red * 9;
	const double *blue = a->solids->coords + (size_t) c->first.blue * 9;

	report->self_intersections = c->n;
	report->crossing[0] = c->first.red - first;
	report->crossing[1] = c->first.blue - first;
	report->crossing_equal = do_triangles_have_same_corners(red, blue);
	rb_triangles_crossing_point(red, blue, report->crossing_at);
	return rb_solid_triangles_are_apart(a->ctx, t, parts, report->crossing[0], report->crossing[1],
										&report->crossing_apart);
}

/* Replaces triangle numbers by polygon numbers if the triangles come from polygons. */
static void
number_faces_of_crossings(const rb_set *solids, uint32_t first, rb_solid_report *report)
{
	if (solids->face_of == NULL)
		return;
	report->of_faces = true;
	report->triangle = solids->face_of[first + report->triangle];
	for (int i = 0; i < 2; i++)
		report->crossing[i] = solids->face_of[first + report->crossing[i]];
}

/* Reports the faults of a range of rows. */
static void
report_faults_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	solid_reports *a = arg;
	rb_pair rows[GRAIN];
	uint64_t payload[GRAIN * RB_VALIDITY_WORDS];
	rb_status status = RB_OK;
	size_t n = 0;

	(void) me;
	for (uint64_t row = from; row < to && status == RB_OK; row++)
	{
		const uint32_t first = a->start[row];
		const uint32_t parts = a->start[row + 1] - first;
		const crossings *c = &a->of[row];
		rb_solid_report report;

		status = rb_should_stop(a->ctx)
					 ? RB_STOPPED
					 : rb_solid_check_faces(
						   a->ctx, a->solids->coords + (size_t) first * 9, parts,
						   a->solids->face_of != NULL ? a->solids->face_of + first : NULL, &report);
		if (status == RB_OK && c->n > 0)
			status = report_first_crossing(a, c, first, parts, &report);
		if (status != RB_OK)
			break;
		report.faces = a->solids->faces != NULL ? a->solids->faces[row] : parts;
		report.together = a->together;
		number_faces_of_crossings(a->solids, first, &report);
		rows[n] = (rb_pair){(uint32_t) row, (uint32_t) row};
		rb_solid_to_words(&report, payload + n++ * RB_VALIDITY_WORDS);
	}
	if (status == RB_OK && n > 0)
		status = a->sink->put(a->sink->user, rows, payload, n);
	rb_keep_failure(&a->status, status);
}

/* Searches for a closed row, and stops at the first one. */
static void
find_closed_rows_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	solid_reports *a = arg;
	rb_solid_report report;
	rb_status status = RB_OK;

	(void) me;
	for (uint64_t row = from; row < to && status == RB_OK && rb_load(&a->closed) == 0; row++)
	{
		const uint32_t first = a->start[row];

		status = rb_should_stop(a->ctx)
					 ? RB_STOPPED
					 : rb_solid_check_closed(a->ctx, a->solids->coords + (size_t) first * 9,
											 a->start[row + 1] - first, &report);
		if (status == RB_OK && report.closed)
			rb_store(&a->closed, 1);
	}
	rb_keep_failure(&a->status, status);
}

/* Detects a missing solid column: each row is a face, and all rows together are closed. */
static rb_status
check_closed_together(solid_reports *a)
{
	const uint32_t n = a->solids->nrows;
	rb_status status;

	if (n < 2 || a->by_object)
		return RB_OK;
	status =
		rb_team_loop(a->ctx, rb_threads_for(a->ctx, n, GRAIN), n, GRAIN, find_closed_rows_piece, a);
	status = rb_loop_failure(a->status, status);
	if (status == RB_OK && a->closed == 0)
		status = are_closed_together(a->ctx, a->solids, &a->together);
	return status;
}

/* Reports the faults of all rows on several threads. */
static rb_status
report_faults_of_rows(solid_reports *a)
{
	const uint32_t n = a->solids->nrows;
	rb_status status =
		rb_team_loop(a->ctx, rb_threads_for(a->ctx, n, GRAIN), n, GRAIN, report_faults_piece, a);

	return rb_loop_failure(a->status, status);
}

rb_status
rb_compose_solids(rb_context *ctx, const rb_backend *backend, const rb_job *job,
				  const rb_row_sink *sink)
{
	const size_t rows = job->red->nrows;
	solid_reports a = {.ctx = ctx, .solids = job->red, .sink = sink, .by_object = job->by_object};
	rb_status status;
	RB_FREE_AT_END(ctx->memory, &a.start, &a.of);

	RB_TRY(RB_ALLOCATE(ctx, a.start, rows + 1));
	RB_TRY(RB_ALLOCATE(ctx, a.of, rows + 1));
	RB_TRY(rb_row_starts(ctx, job->red, a.start));
	pthread_mutex_init(&a.lock, NULL);
	status = count_crossings_of_rows(&a, backend);
	pthread_mutex_destroy(&a.lock);
	RB_TRY(status);
	RB_TRY(check_closed_together(&a));
	return report_faults_of_rows(&a);
}
