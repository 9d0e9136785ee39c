/*
 * plc_check.c
 *	  Finds facets, segments and points of a PLC that meet anywhere but in common corners and edges.
 *
 * A join finds them. Triangles, segments and lone points form one set of triangles, the latter two
 * as triangles without area. The predicate RB_SELF_INTERSECT selects those that share more than
 * common corners and the edges between them. A valid PLC has none, so validating it costs no more
 * than this join. Each pair found is examined again to classify it.
 *
 * A flaw involves two objects, numbered in the order facets, segments, points. Pairs arrive from
 * several threads in any order. The flaws with the smallest numbers are kept, and for each pair of
 * objects the worst one, at the first of their parts. The result therefore does not depend on the
 * order of arrival.
 */
#include "mesh/weld.h"

#include "core/base/sort.h"
#include "core/intersection/intersection.h"

/* Iterations between two polls for a stop */
#define RB_CHECK_INTERVAL 4096

const char *
rb_flaw_name(rb_flaw_kind kind)
{
	switch (kind)
	{
		case RB_FLAW_NO_VOLUME:
			return "no volume";
		case RB_FLAW_FACET_AREA:
			return "facet without area";
		case RB_FLAW_FACET_FOLDED:
			return "facet that is not a simple polygon";
		case RB_FLAW_FACETS_EQUAL:
			return "duplicate facet";
		case RB_FLAW_FACETS_OVERLAP:
			return "overlapping facets";
		case RB_FLAW_FACETS_CROSS:
			return "crossing facets";
		case RB_FLAW_SEGMENT_FACET:
		case RB_FLAW_SEGMENTS_CROSS:
			return "crossing segments";
		case RB_FLAW_POINT_IN_FACET:
		case RB_FLAW_POINT_ON_SEGMENT:
			return "point on a facet or segment";
		case RB_FLAW_TOO_NEAR:
			return "no representable point for a vertex";
		case RB_FLAW_TOO_MANY_POINTS:
			return "too many vertices";
		default:
			return "facet that could not be recovered";
	}
}

/* ---- parts ---- */

/* Finds the points that no triangle and no segment uses. */
static rb_status
find_lone_points(rb_context *ctx, rb_parts *parts)
{
	const rb_plc *plc = parts->plc;
	uint8_t *used = NULL;
	uint32_t n = 0;
	rb_status status;

	RB_TRY(RB_ALLOCATE(ctx, used, (size_t) plc->npoints + 1));
	memset(used, 0, plc->npoints);
	for (uint32_t i = 0; i < plc->ntriangles; i++)
		for (int k = 0; k < 3; k++)
			used[plc->triangles[i][k]] = 1;
	for (uint32_t i = 0; i < plc->nsegments; i++)
		used[plc->segments[i][0]] = used[plc->segments[i][1]] = 1;
	for (uint32_t i = 0; i < plc->npoints; i++)
		n += !used[i];
	status = RB_ALLOCATE(ctx, parts->point, (size_t) n + 1);
	n = 0;
	for (uint32_t i = 0; i < plc->npoints && status == RB_OK; i++)
		if (!used[i])
			parts->point[n++] = i;
	RB_FREE(ctx->memory, used);
	if (status == RB_OK && (uint64_t) parts->first_point + n > RB_MAX_OBJECTS)
		return rb_fail(ctx, RB_TOO_MANY_OBJECTS, (uint64_t) parts->first_point + n, RB_MAX_OBJECTS,
					   NULL);
	parts->n = parts->first_point + n;
	return status;
}

/* Returns the points that are the corners of a part. */
static void
get_part_corners(const rb_parts *parts, uint32_t part, uint32_t *corner)
{
	const rb_plc *plc = parts->plc;

	if (part < parts->first_segment)
		memcpy(corner, plc->triangles[part], 3 * sizeof *corner);
	else if (part < parts->first_point)
	{
		corner[0] = plc->segments[part - parts->first_segment][0];
		corner[1] = corner[2] = plc->segments[part - parts->first_segment][1];
	}
	else
		corner[0] = corner[1] = corner[2] = parts->point[part - parts->first_point];
}

rb_status
rb_parts_build(rb_context *ctx, const rb_plc *plc, rb_parts *parts)
{
	uint64_t first_point = (uint64_t) plc->ntriangles + plc->nsegments;
	rb_status status;

	memset(parts, 0, sizeof *parts);
	parts->plc = plc;
	if (first_point > RB_MAX_OBJECTS)
		return rb_fail(ctx, RB_TOO_MANY_OBJECTS, first_point, RB_MAX_OBJECTS, NULL);
	parts->first_segment = plc->ntriangles;
	parts->first_point = (uint32_t) first_point;
	status = find_lone_points(ctx, parts);
	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, parts->coords, 9 * (size_t) parts->n + 1);
	for (uint32_t i = 0; i < parts->n && status == RB_OK; i++)
	{
		uint32_t corner[3];

		get_part_corners(parts, i, corner);
		for (int k = 0; k < 3; k++)
			memcpy(parts->coords + 9 * (size_t) i + 3 * k, plc->points + 3 * (size_t) corner[k],
				   3 * sizeof(double));
		if (rb_stop_due(ctx, i, RB_CHECK_INTERVAL))
			status = RB_STOPPED;
	}
	if (status != RB_OK)
		rb_parts_free(ctx->memory, parts);
	return status;
}

void
rb_parts_free(rb_memory *memory, rb_parts *parts)
{
	RB_FREE(memory, parts->coords);
	RB_FREE(memory, parts->point);
}

/*
 * Number of parts up to which the calling thread joins them, because starting another thread would
 * take longer
 */
#define RB_SMALL_PARTS RB_SIZE(512, 12)

typedef struct small_join
{
	rb_context *ctx;
	rb_status (*take)(void *user, rb_meeting meeting);
	void *user;
} small_join;

/* Passes pairs of parts from the backend on as meetings. */
static rb_status
write_meetings(void *user, const rb_pair *pairs, size_t n)
{
	const small_join *f = user;

	for (size_t i = 0; i < n; i++)
	{
		const rb_meeting meeting = {rb_pair_red(pairs[i]), pairs[i].blue,
									rb_pair_payload(pairs[i])};

		RB_TRY(i % 64 == 63 && rb_should_stop(f->ctx) ? RB_STOPPED : f->take(f->user, meeting));
	}
	return RB_OK;
}

/* Joins a small set on this thread. */
static rb_status
join_few_plc_parts(rb_context *ctx, const rb_backend *backend, const rb_job *job, small_join *f)
{
	const rb_sink sink = {.put = write_meetings, .user = f};
	const int threads = ctx->threads;
	rb_status status;

	ctx->threads = 1;
	status = backend->join(ctx, job, &sink);
	ctx->threads = threads;
	return status == RB_OK && rb_should_stop(ctx) ? RB_STOPPED : status;
}

rb_status
rb_parts_join(rb_context *ctx, const rb_backend *backend, const rb_parts *parts,
			  rb_status (*take)(void *user, rb_meeting meeting), void *user)
{
	const rb_set set = {
		.kind = RB_TRIANGLE3, .nparts = parts->n, .nrows = parts->n, .coords = parts->coords};
	const rb_job job = {.red = &set, .predicate = RB_SELF_INTERSECT, .answer = RB_PAIRS};
	rb_stream *stream;
	rb_block block;
	rb_status status = RB_OK;

	if (parts->n < 2)
		return RB_OK;
	if (parts->n <= RB_SMALL_PARTS)
	{
		small_join f = {ctx, take, user};

		return join_few_plc_parts(ctx, backend, &job, &f);
	}
	RB_TRY(rb_stream_open(ctx, backend, &job, &stream));
	while (status == RB_OK && (status = rb_stream_next(stream, 20, &block)) == RB_OK)
	{
		for (size_t i = 0; i < block.n && status == RB_OK; i++)
		{
			const rb_meeting meeting = {(uint32_t) block.red[i], (uint32_t) block.blue[i],
										(uint32_t) block.payload[i]};

			status = i % 64 == 63 && rb_should_stop(ctx) ? RB_STOPPED : take(user, meeting);
		}
		if (status == RB_OK && rb_should_stop(ctx))
			status = RB_STOPPED;
	}
	rb_stream_close(stream);
	/* A stop may be noticed before the join has reported its cause. */
	if (status == RB_STOPPED)
		status = rb_why_stopped(ctx);
	return status == RB_END ? RB_OK : status;
}

/* ---- flaws ---- */

/* A flaw with its sort key */
typedef struct sorted_flaw
{
	uint32_t object[2]; /* the two objects, in ascending order */
	uint32_t kind;
	uint32_t part[2];
	rb_flaw flaw;
} sorted_flaw;

typedef struct finding
{
	rb_context *ctx;
	const rb_parts *parts;
	const rb_plc *plc;
	rb_exact_env env;
	sorted_flaw *found;
	uint32_t n;
	uint32_t cap; /* capacity: at least twice the limit plus one */
	uint32_t limit;
	bool more;
} finding;

/* Compares two lists of n numbers (objects, kinds or parts of flaws) lexicographically. */
static int
compare_number_lists(const uint32_t *a, const uint32_t *b, int n)
{
	for (int i = 0; i < n; i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return 0;
}

/* Orders flaws by objects, kind and parts. */
static int
by_objects(const void *a, const void *b, const void *arg)
{
	const sorted_flaw *x = a, *y = b;
	int order = compare_number_lists(x->object, y->object, 2);

	(void) arg;
	if (order == 0)
		order = compare_number_lists(&x->kind, &y->kind, 1);
	return order != 0 ? order : compare_number_lists(x->part, y->part, 2);
}

/* Sorts the flaws and keeps one for each pair of objects, up to the limit. */
static void
sort_and_trim(finding *f)
{
	uint32_t kept = 0;

	(void) rb_sort(NULL, f->found, f->n, sizeof *f->found, by_objects, NULL);
	for (uint32_t i = 0; i < f->n; i++)
		if (kept == 0 ||
			compare_number_lists(f->found[kept - 1].object, f->found[i].object, 2) != 0)
			f->found[kept++] = f->found[i];
	if (kept > f->limit)
	{
		f->more = true;
		kept = f->limit;
	}
	f->n = kept;
}

/* Returns the facet, segment or point of a part, in one numbering. */
static uint32_t
plc_object_of_part(const finding *f, uint32_t part)
{
	const rb_plc *plc = f->plc;

	if (part < f->parts->first_segment)
		return plc->facet_of[part];
	if (part < f->parts->first_point)
		return plc->nfacets + (part - f->parts->first_segment);
	return plc->nfacets + plc->nsegments + f->parts->point[part - f->parts->first_point];
}

/* Returns the index of an object among those of its kind. */
static uint32_t
index_in_kind(const finding *f, uint32_t object)
{
	if (object < f->plc->nfacets)
		return object;
	object -= f->plc->nfacets;
	return object < f->plc->nsegments ? object : object - f->plc->nsegments;
}

/* Records a flaw of two objects. */
static rb_status
record_flaw(finding *f, rb_flaw_kind kind, uint32_t x, uint32_t y, rb_meeting m, const double *at)
{
	sorted_flaw *to = &f->found[f->n];
	/* Points and segments come first in the flaw. */
	const bool turn = kind == RB_FLAW_SEGMENT_FACET || kind == RB_FLAW_POINT_IN_FACET ||
					  kind == RB_FLAW_POINT_ON_SEGMENT;

	to->object[0] = x < y ? x : y;
	to->object[1] = x < y ? y : x;
	to->kind = kind;
	to->part[0] = m.red;
	to->part[1] = m.blue;
	to->flaw.kind = kind;
	to->flaw.a = index_in_kind(f, to->object[turn]);
	to->flaw.b = index_in_kind(f, to->object[!turn]);
	memcpy(to->flaw.at, at, sizeof to->flaw.at);
	if (++f->n == f->cap)
		sort_and_trim(f);
	return RB_OK;
}

/*
 * Records the points of part `of` that lie on part `on` and are not its corners; returns true if
 * there are any.
 */
static bool
record_points(finding *f, uint32_t of, uint32_t on, rb_meeting m)
{
	const double *part = f->parts->coords + 9 * (size_t) on;
	const uint32_t object = plc_object_of_part(f, on);
	uint32_t point[3], corner[3];
	bool any = false;

	get_part_corners(f->parts, of, point);
	get_part_corners(f->parts, on, corner);
	for (int i = 0; i < 3; i++)
	{
		const double *at = f->plc->points + 3 * (size_t) point[i];

		if (point[i] == corner[0] || point[i] == corner[1] || point[i] == corner[2] ||
			(i > 0 && point[i] == point[i - 1]) || !rb_meet_on(at, part))
			continue;
		(void) record_flaw(
			f, object < f->plc->nfacets ? RB_FLAW_POINT_IN_FACET : RB_FLAW_POINT_ON_SEGMENT, object,
			f->plc->nfacets + f->plc->nsegments + point[i], m, at);
		any = true;
	}
	return any;
}

/* Returns true if two parts have the same corners. */
static bool
have_equal_corners(const finding *f, rb_meeting m)
{
	uint32_t r[3], b[3];

	get_part_corners(f->parts, m.red, r);
	get_part_corners(f->parts, m.blue, b);
	for (int i = 0; i < 3; i++)
		if (r[i] != b[0] && r[i] != b[1] && r[i] != b[2])
			return false;
	return true;
}

/* Returns the center of what two parts share. */
static void
center_of_plc_meeting(finding *f, rb_meeting m, double *at)
{
	rb_meet points[RB_MEET_POINTS];
	int n = rb_meet_points(&f->env, f->parts->coords + 9 * (size_t) m.red,
						   f->parts->coords + 9 * (size_t) m.blue, points);

	at[0] = at[1] = at[2] = 0;
	for (int i = 0; i < n; i++)
		for (int k = 0; k < 3; k++)
			at[k] += points[i].at[k] / n;
}

/* Determines the flaw of two parts that meet, and records it. */
static rb_status
classify_meeting(void *user, rb_meeting m)
{
	finding *f = user;
	const uint32_t x = plc_object_of_part(f, m.red), y = plc_object_of_part(f, m.blue);
	const uint32_t facets = f->plc->nfacets, segments = facets + f->plc->nsegments;
	rb_flaw_kind kind;
	double at[3];

	if (x == y)
		kind = RB_FLAW_FACET_FOLDED;
	else if (y >= segments)
		kind = x < facets ? RB_FLAW_POINT_IN_FACET : RB_FLAW_POINT_ON_SEGMENT;
	else if (y < facets && have_equal_corners(f, m))
		kind = RB_FLAW_FACETS_EQUAL;
	else if (y < facets && RB_PAYLOAD_DIMENSION(m.payload) == 2)
		kind = RB_FLAW_FACETS_OVERLAP;
	else
	{
		/* Parts that only touch do so in a corner of one of them or in an edge of each. */
		if (!RB_PAYLOAD_CROSSES(m.payload) || x >= facets)
		{
			bool any = record_points(f, m.red, m.blue, m);

			any |= record_points(f, m.blue, m.red, m);
			if (any)
				return RB_OK;
		}
		kind = y < facets   ? RB_FLAW_FACETS_CROSS
			   : x < facets ? RB_FLAW_SEGMENT_FACET
							: RB_FLAW_SEGMENTS_CROSS;
	}
	center_of_plc_meeting(f, m, at);
	return record_flaw(f, kind, x, y, m, at);
}

rb_status
rb_weld_find_all(rb_context *ctx, const rb_backend *backend, const rb_welded *welded,
				 rb_flaw *flaws, uint32_t limit, uint32_t *n, bool *more)
{
	rb_parts parts;
	finding f = {.ctx = ctx,
				 .parts = &parts,
				 .plc = &welded->plc,
				 .env = {.filters = ctx->filters, .exact = true},
				 .limit = limit};
	rb_status status = rb_parts_build(ctx, &welded->plc, &parts);

	*n = 0;
	*more = false;
	if (status != RB_OK)
		return status;
	/* The extra room makes sorting rare. */
	f.cap = limit > UINT32_MAX / 4 ? UINT32_MAX / 2 : 2 * limit + 64;
	status = RB_ALLOCATE(ctx, f.found, f.cap);
	if (status == RB_OK)
		status = rb_parts_join(ctx, backend, &parts, classify_meeting, &f);
	if (status == RB_OK)
	{
		sort_and_trim(&f);
		for (uint32_t i = 0; i < f.n; i++)
			flaws[i] = f.found[i].flaw;
		*n = f.n;
		*more = f.more;
	}
	RB_FREE(ctx->memory, f.found);
	rb_parts_free(ctx->memory, &parts);
	return status;
}

rb_status
rb_weld_validate(rb_context *ctx, const rb_backend *backend, const rb_welded *welded, rb_flaw *flaw)
{
	uint32_t n;
	bool more;
	rb_status status = rb_weld_find_all(ctx, backend, welded, flaw, 1, &n, &more);

	return status == RB_OK && n > 0 ? RB_BAD_PLC : status;
}
