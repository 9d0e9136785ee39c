/*
 * in_solid.c
 *	  Finds the intervals of lines inside solids, and builds upward rays from points; the triangles
 *	  above a point determine on which side of a solid it is.
 */
#include "core/base/parallel.h"
#include "core/solid/solid.h"
#include "core/join/join.h"
#include "core/set/set.h"
#include "core/base/sort.h"
#include "core/primitive/ray.h"

#include <string.h>

#define GRAIN 16             /* Number of solids that justify one thread */
#define CHECK_INTERVAL 65536 /* Number of steps between checks for cancellation */

/* ---- rays from points ---- */

/*
 * A ray points in the direction of z. It is stored as a segment and joined with triangles like any
 * segment, so it should be short. A point outside the bounding box of a solid is known to be
 * outside the solid:
 *
 *		points x boxes of solids	-> top of each ray: the highest box around its start
 *
 * Triangles of other solids that the ray happens to cross are ignored.
 */


typedef struct rays_build
{
	rb_context *ctx;
	const rb_set *solids;
	double *box; /* Bounding box of each solid: low, high */
	/* Ends of each ray; until its top is known, the point twice, which is a valid box */
	double *coords;
	double *top;
	pthread_mutex_t lock;
} rays_build;

/* Computes the boxes of all solids. */
static rb_status
find_boxes_of_solids(rays_build *m)
{
	uint32_t *start = NULL;
	rb_thread *me;
	rb_status status;
	RB_FREE_AT_END(m->ctx->memory, &start);

	RB_TRY(RB_ALLOCATE(m->ctx, start, (size_t) m->solids->nrows + 1));
	RB_TRY(rb_team_open(m->ctx, rb_threads_for(m->ctx, m->solids->nrows, GRAIN), &me));
	status = rb_row_boxes(m->ctx, me, m->solids, start, m->box);
	rb_team_close(&me);
	return status;
}

/* Receives pairs of a point and a solid whose box contains it. */
static rb_status
receive_solid_tops(void *user, const rb_pair *pairs, size_t n)
{
	rays_build *m = user;

	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < n; i++)
	{
		const double top = m->box[6 * (size_t) pairs[i].blue + 5];

		if (top > m->top[pairs[i].red])
			m->top[pairs[i].red] = top;
	}
	pthread_mutex_unlock(&m->lock);
	return rb_should_stop(m->ctx) ? RB_STOPPED : RB_OK;
}

/* Finds for each point the highest end of the solids whose boxes are above it. */
static rb_status
find_solids_above(rays_build *m, const rb_backend *backend, uint32_t n)
{
	const rb_set points = {.kind = RB_BOX3, .nparts = n, .nrows = n, .coords = m->coords};
	const rb_set boxes = {
		.kind = RB_BOX3, .nparts = m->solids->nrows, .nrows = m->solids->nrows, .coords = m->box};
	const rb_job job = {.red = &points, .blue = &boxes, .predicate = RB_MEET};
	const rb_sink sink = {.put = receive_solid_tops, .user = m};

	return n > 0 && boxes.nrows > 0 ? rb_join_step(m->ctx, backend, &job, &sink, RB_TILE) : RB_OK;
}

/* Computes the upper ends of the rays from all points. */
static rb_status
set_ray_ends(rays_build *m, const rb_backend *backend, const rb_set *points)
{
	const uint32_t n = points->nparts;

	RB_TRY(find_boxes_of_solids(m));
	for (uint32_t i = 0; i < n; i++)
	{
		const double *p = points->coords + (size_t) i * 3;

		if (i % CHECK_INTERVAL == 0 && rb_should_stop(m->ctx))
			return RB_STOPPED;
		memcpy(m->coords + (size_t) i * 6, p, 3 * sizeof(double));
		memcpy(m->coords + (size_t) i * 6 + 3, p, 3 * sizeof(double));
		m->top[i] = p[2];
	}
	RB_TRY(find_solids_above(m, backend, n));
	for (uint32_t i = 0; i < n; i++)
		m->coords[(size_t) i * 6 + 5] = m->top[i];
	return RB_OK;
}

rb_status
rb_rays_build(rb_context *ctx, const rb_backend *backend, const rb_set *points,
			  const rb_set *solids, rb_rays *rays)
{
	const uint32_t n = points->nparts;
	rays_build m = {.ctx = ctx, .solids = solids};
	rb_set arrays = *points;
	int64_t *ids = NULL;
	rb_status status;
	RB_FREE_AT_END(ctx->memory, &m.coords, &m.top, &m.box, &ids);

	memset(rays, 0, sizeof *rays);
	RB_TRY(rb_array(ctx, (void **) &m.coords, n > 0 ? n : 1, 6 * sizeof(double)));
	RB_TRY(RB_ALLOCATE(ctx, m.top, n > 0 ? n : 1));
	RB_TRY(rb_array(ctx, (void **) &m.box, (size_t) solids->nrows + 1, 6 * sizeof(double)));
	if (points->ids != NULL)
	{
		RB_TRY(RB_ALLOCATE(ctx, ids, n > 0 ? n : 1));
		memcpy(ids, points->ids, points->nrows * sizeof *ids);
	}
	pthread_mutex_init(&m.lock, NULL);
	status = set_ray_ends(&m, backend, points);
	pthread_mutex_destroy(&m.lock);
	RB_TRY(status);
	RB_FREE(ctx->memory, m.top);
	arrays.kind = RB_SEGMENT3;
	arrays.coords = m.coords;
	arrays.ids = ids;
	arrays.faces = NULL;
	arrays.number = 0; /* The new set is not the cached one */
	arrays.view = NULL;
	arrays.owner = NULL;
	RB_TRY(rb_set_own(ctx->memory, &arrays, &rays->set, &ctx->error));
	rays->box = m.box;
	m.coords = m.box = NULL; /* The rays and their set own these arrays from here on. */
	ids = NULL;
	return RB_OK;
}

void
rb_rays_free(rb_context *ctx, rb_rays *rays)
{
	rb_set_release(&rays->set);
	RB_FREE(ctx->memory, rays->box);
}

/* ---- intervals of lines ---- */

/*
 *		segments, and rays from starts x triangles, RB_MEET
 *			segments: where a line can enter or leave a solid
 *			rays: on which side it begins
 *			-> hits, by line, solid and segment
 *			-> intervals (line_intervals.c)
 *
 * A ray starts at each segment that is not connected to its predecessor. The start is inside the
 * solids of which the ray crosses an odd number of triangles. So a line that lies inside a solid
 * without meeting its triangles is found as well. Consecutive lines can also be connected, for
 * example the sections of a drill hole. Such a line starts inside the solids in which the previous
 * one ended.
 *
 * The cost of a join depends mainly on the larger side, so one join is used instead of two. A ray
 * perturbed by an infinitesimal crosses only triangles that the unperturbed ray meets. For these
 * few triangles, the code tests whether the perturbed start is below them (ray.h).
 */

/* Number of lines a thread takes at a time; lines of different blocks count as not connected */
#define BLOCK RB_SIZE(64, 3)
#define START UINT32_MAX /* Marks a hit whose segment start is below a triangle */
#define PUT 256          /* Number of intervals passed to the sink at a time */
#define WORDS 4          /* Payload words per interval */

typedef struct hit
{
	uint32_t solid;
	uint32_t segment;
	uint32_t triangle;
} hit;

typedef struct lines_join
{
	rb_context *ctx;
	const rb_set *lines;
	const rb_set *solids;
	const uint32_t *bad; /* Bitmap of invalid solids */
	const rb_row_sink *sink;
	uint32_t *start_of; /* Segment of each ray start */
	rb_rays rays;       /* Rays from the starts */
	pthread_mutex_t lock;
	hit *hits;
	size_t nhits;
	size_t hits_cap;
	hit *sorted;     /* Hits sorted by line */
	size_t *from;    /* Start of each line's hits, with one extra entry at the end */
	uint32_t *first; /* First segment of each line, with one extra entry at the end */
	int status;
} lines_join;

/* ---- hits ---- */

/* Appends hits of one thread to those of the join. */
static rb_status
append_thread_hits(lines_join *a, const hit *hits, size_t n)
{
	rb_status status;

	if (n == 0)
		return rb_should_stop(a->ctx) ? RB_STOPPED : RB_OK;
	pthread_mutex_lock(&a->lock);
	status = RB_GROW(a->ctx, a->hits, a->hits_cap, a->nhits + n);
	if (status == RB_OK)
	{
		memcpy(a->hits + a->nhits, hits, n * sizeof *hits);
		a->nhits += n;
	}
	pthread_mutex_unlock(&a->lock);
	return rb_should_stop(a->ctx) && status == RB_OK ? RB_STOPPED : status;
}

/*
 * Returns true if the upward ray from the perturbed start of a line crosses a triangle of a solid
 * whose box contains the start.
 */
static bool
is_line_start_below_triangle(const lines_join *a, rb_exact_env *env, uint32_t ray,
							 uint32_t triangle)
{
	const double *p = a->rays.set->coords + (size_t) ray * 6;
	const double *t = a->solids->coords + (size_t) triangle * 9;

	return rb_ray_counts(&a->rays, ray, rb_row_of(a->solids, triangle)) &&
		   (RB_PAYLOAD(rb_ray_crossing(env, p, t)) & RB_PAYLOAD(RB_RAY_PARITY_OF(1, 0)));
}

/*
 * Receives pairs of a segment and a triangle, or of a ray and a triangle; ray numbers follow the
 * segment numbers.
 */
static rb_status
collect_solid_hits(void *user, const rb_pair *pairs, size_t n)
{
	lines_join *a = user;
	const uint32_t segments = a->lines->nparts;
	rb_exact_env env = {.filters = a->ctx->filters, .exact = true};
	hit hits[PUT];

	for (size_t i = 0; i < n;)
	{
		size_t k = 0;

		for (; i < n && k < PUT; i++)
		{
			const uint32_t red = pairs[i].red, triangle = pairs[i].blue;
			const uint32_t solid = rb_row_of(a->solids, triangle);

			if (rb_is_marked(a->bad, solid))
				continue;
			if (red < segments)
				hits[k++] = (hit){solid, red, triangle};
			else if (is_line_start_below_triangle(a, &env, red - segments, triangle))
				hits[k++] = (hit){solid, a->start_of[red - segments], START};
		}
		RB_TRY(append_thread_hits(a, hits, k));
	}
	return RB_OK;
}

/* Returns true if the segment starts where its predecessor ends, within the same block. */
static bool
continues_previous_segment(const rb_set *lines, uint32_t segment)
{
	const double *at = lines->coords + (size_t) segment * 6;

	return segment > 0 &&
		   rb_row_of(lines, segment - 1) / BLOCK == rb_row_of(lines, segment) / BLOCK &&
		   rb_equal3(at - 3, at);
}

/* Lists the points at which lines start, except lines that continue the previous one. */
static rb_status
list_line_starts(lines_join *a, double **coords, uint32_t *starts)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->lines->nparts; i++)
		n += !continues_previous_segment(a->lines, i);
	*starts = n;
	RB_TRY(rb_array(a->ctx, (void **) coords, n > 0 ? n : 1, 3 * sizeof(double)));
	RB_TRY(RB_ALLOCATE(a->ctx, a->start_of, n > 0 ? n : 1));
	n = 0;
	for (uint32_t i = 0; i < a->lines->nparts; i++)
	{
		if (i % CHECK_INTERVAL == 0 && rb_should_stop(a->ctx))
			return RB_STOPPED;
		if (continues_previous_segment(a->lines, i))
			continue;
		memcpy(*coords + (size_t) n * 3, a->lines->coords + (size_t) i * 6, 3 * sizeof(double));
		a->start_of[n++] = i;
	}
	return RB_OK;
}

/* Makes the rays from the starts of all lines. */
static rb_status
make_rays_of_line_starts(lines_join *a, const rb_backend *backend)
{
	rb_set points = {.kind = RB_POINT3};
	double *coords = NULL;
	RB_FREE_AT_END(a->ctx->memory, &coords);

	RB_TRY(list_line_starts(a, &coords, &points.nparts));
	points.nrows = points.nparts;
	points.coords = coords;
	return rb_rays_build(a->ctx, backend, &points, a->solids, &a->rays);
}

/* Joins segments and rays with the triangles of solids. */
static rb_status
find_hits_with_solids(lines_join *a, const rb_backend *backend)
{
	const size_t of_one = 6 * sizeof(double);
	const uint32_t segments = a->lines->nparts, rays = a->rays.set->nparts;
	const uint64_t n = (uint64_t) segments + rays;
	rb_set both = {.kind = RB_SEGMENT3, .nparts = (uint32_t) n, .nrows = (uint32_t) n};
	const rb_job job = {.red = &both, .blue = a->solids, .predicate = RB_MEET};
	const rb_sink sink = {.put = collect_solid_hits, .user = a};
	double *coords = NULL;
	RB_FREE_AT_END(a->ctx->memory, &coords);

	if (n > RB_MAX_OBJECTS)
		return rb_fail(a->ctx, RB_TOO_MANY_OBJECTS, n, RB_MAX_OBJECTS, NULL);
	RB_TRY(rb_array(a->ctx, (void **) &coords, (size_t) n + 1, of_one));
	if (segments > 0)
		memcpy(coords, a->lines->coords, segments * of_one);
	memcpy(coords + (size_t) segments * 6, a->rays.set->coords, rays * of_one);
	both.coords = coords;
	return rb_join_step(a->ctx, backend, &job, &sink, RB_TILE);
}

/* ---- processing by line ---- */

/* Sorts the hits by line. */
static rb_status
sort_hits_by_line(lines_join *a)
{
	const uint32_t nlines = a->lines->nrows;

	RB_TRY(RB_ALLOCATE(a->ctx, a->from, (size_t) nlines + 2));
	RB_TRY(RB_ALLOCATE(a->ctx, a->first, (size_t) nlines + 1));
	RB_TRY(RB_ALLOCATE(a->ctx, a->sorted, a->nhits + 1));
	memset(a->from, 0, ((size_t) nlines + 2) * sizeof *a->from);
	RB_TRY(rb_row_starts(a->ctx, a->lines, a->first));
	/*
	 * The counts are stored two slots ahead, so that after summation the slot ahead of each line
	 * serves as its write position.
	 */
	for (size_t i = 0; i < a->nhits; i++)
		a->from[rb_row_of(a->lines, a->hits[i].segment) + 2]++;
	for (uint32_t i = 0; i < nlines; i++)
		a->from[i + 2] += a->from[i + 1];
	for (size_t i = 0; i < a->nhits; i++)
	{
		if (i % CHECK_INTERVAL == 0 && rb_should_stop(a->ctx))
			return RB_STOPPED;
		a->sorted[a->from[rb_row_of(a->lines, a->hits[i].segment) + 1]++] = a->hits[i];
	}
	RB_FREE(a->ctx->memory, a->hits);
	return RB_OK;
}

/* Orders hits by solid, segment and triangle. */
static int
by_solid_and_segment_of_hit(const void *p, const void *q, const void *arg)
{
	const hit *a = p, *b = q;

	(void) arg;
	if (a->solid != b->solid)
		return a->solid < b->solid ? -1 : 1;
	if (a->segment != b->segment)
		return a->segment < b->segment ? -1 : 1;
	return (a->triangle > b->triangle) - (a->triangle < b->triangle);
}

/* State of a thread that processes one line after another */
typedef struct desk
{
	lines_join *a;
	rb_line_intervals stretches;
	rb_pair *meet;
	size_t meet_cap;
	uint8_t *inside;
	size_t inside_cap;
	/* Solids that contain the perturbed end of the previous line, in ascending order */
	uint32_t *open;
	size_t nopen;
	size_t open_cap;
	uint32_t *still; /* Solids that contain the perturbed end of the current line */
	size_t still_cap;
	rb_pair rows[PUT]; /* Buffer for the sink */
	uint64_t payload[PUT * WORDS];
	size_t n;
} desk;

/* Sends the intervals of the batch to the sink. */
static rb_status
send_line_intervals(desk *d)
{
	rb_status status =
		d->n > 0 ? d->a->sink->put(d->a->sink->user, d->rows, d->payload, d->n) : RB_OK;

	d->n = 0;
	return status;
}

/* Appends the intervals of a line in a solid to the batch. */
static rb_status
append_intervals_in_solid(desk *d, uint32_t line, uint32_t solid)
{
	for (size_t i = 0; i < d->stretches.n; i++)
	{
		const rb_line_interval *s = &d->stretches.at[i];
		uint64_t *payload = d->payload + d->n * WORDS;

		d->rows[d->n++] = (rb_pair){line, solid};
		memcpy(&payload[0], &s->from, sizeof s->from);
		memcpy(&payload[1], &s->to, sizeof s->to);
		memcpy(&payload[2], &s->length, sizeof s->length);
		payload[3] = RB_INTERVAL_OF(s->on_boundary, d->stretches.leaves);
		if (d->n == PUT)
			RB_TRY(send_line_intervals(d));
	}
	return RB_OK;
}

/*
 * Computes the intervals of one line of a join in one solid from their n sorted hits, the
 * triangles that the line meets and those above its start. `inside` is set if the previous line
 * ended inside the solid, which this line continues.
 */
static rb_status
append_intervals_of_line_and_solid(desk *d, uint32_t line, uint32_t solid, bool inside,
								   const hit *hits, size_t n)
{
	const lines_join *a = d->a;
	const uint32_t first = a->first[line];
	rb_line of = {.segments = a->lines->coords + (size_t) first * 6,
				  .nsegments = a->first[line + 1] - first,
				  .triangles = a->solids->coords};
	rb_status status;

	RB_TRY(RB_GROW(a->ctx, d->meet, d->meet_cap, n));
	d->inside[0] = inside;
	for (size_t i = 0; i < n; i++)
		if (hits[i].triangle == START)
			d->inside[hits[i].segment - first] ^= 1;
		else
			d->meet[of.nmeet++] = (rb_pair){hits[i].segment - first, hits[i].triangle};
	of.inside = d->inside;
	of.meet = d->meet;
	status = rb_solid_intervals(a->ctx, &of, &d->stretches);
	d->inside[0] = 0;
	for (size_t i = 0; i < n; i++)
		d->inside[hits[i].segment - first] = 0;
	return status == RB_OK ? append_intervals_in_solid(d, line, solid) : status;
}

/* Carries the solids that contain the end of the current line over to the start of the next one. */
static void
carry_open_solids_over(desk *d, size_t still)
{
	uint32_t *array = d->open;
	const size_t cap = d->open_cap;

	d->open = d->still;
	d->open_cap = d->still_cap;
	d->nopen = still;
	d->still = array;
	d->still_cap = cap;
}

/*
 * Processes all solids of a line: those that it meets, that contain one of its starts, or that
 * contained the end of the previous line.
 */
static rb_status
compute_intervals_in_solids(desk *d, uint32_t line, const hit *hits, size_t n)
{
	size_t still = 0, i = 0, k = 0;
	rb_status status = RB_OK;

	while ((i < n || k < d->nopen) && status == RB_OK)
	{
		const bool open = k < d->nopen && (i == n || d->open[k] <= hits[i].solid);
		const uint32_t solid = open ? d->open[k] : hits[i].solid;
		size_t end = i;

		while (end < n && hits[end].solid == solid)
			end++;
		status = rb_should_stop(d->a->ctx)
					 ? RB_STOPPED
					 : append_intervals_of_line_and_solid(d, line, solid, open, hits + i, end - i);
		if (d->stretches.inside_at_end)
			d->still[still++] = solid;
		k += open;
		i = end;
	}
	carry_open_solids_over(d, still);
	return status;
}

/* Computes the intervals of one line in all solids that it meets. */
static rb_status
compute_intervals_of_line(desk *d, uint32_t line)
{
	const lines_join *a = d->a;
	hit *hits = a->sorted + a->from[line];
	const size_t n = a->from[line + 1] - a->from[line];
	const uint32_t first = a->first[line], segments = a->first[line + 1] - first;

	if (segments == 0)
		return RB_OK;
	if (!continues_previous_segment(a->lines, first))
		d->nopen = 0;
	if (n + d->nopen == 0)
		return RB_OK;
	RB_TRY(rb_sort(a->ctx, hits, n, sizeof *hits, by_solid_and_segment_of_hit, NULL));
	if (segments > d->inside_cap)
	{
		RB_TRY(RB_GROW(a->ctx, d->inside, d->inside_cap, segments));
		memset(d->inside, 0, d->inside_cap);
	}
	RB_TRY(RB_GROW(a->ctx, d->still, d->still_cap, n + d->nopen));
	RB_TRY(rb_line_measure(a->ctx, a->lines->coords + (size_t) first * 6, segments, &d->stretches));
	return compute_intervals_in_solids(d, line, hits, n);
}

/* Computes the intervals of a range of lines. */
static void
compute_intervals_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	lines_join *a = arg;
	desk d = {.a = a};
	rb_status status = RB_OK;
	RB_FREE_AT_END(a->ctx->memory, &d.meet, &d.inside, &d.open, &d.still);

	(void) me;
	for (uint64_t line = from; line < to && status == RB_OK; line++)
		status = rb_load(&a->status) == RB_OK ? compute_intervals_of_line(&d, (uint32_t) line)
											  : RB_STOPPED;
	if (status == RB_OK)
		status = send_line_intervals(&d);
	rb_keep_failure(&a->status, status);
	rb_line_intervals_free(a->ctx->memory, &d.stretches);
}

/* Computes the intervals of all lines on several threads. */
static rb_status
compute_intervals_of_lines(lines_join *a)
{
	const uint32_t n = a->lines->nrows;
	rb_status status = rb_team_loop(a->ctx, rb_threads_for(a->ctx, n, BLOCK), n, BLOCK,
									compute_intervals_piece, a);

	return rb_loop_failure(a->status, status);
}

/* ---- entry point ---- */

rb_status
rb_compose_insides(rb_context *ctx, const rb_backend *backend, const rb_job *job,
				   const rb_row_sink *sink)
{
	lines_join a = {.ctx = ctx, .lines = job->red, .solids = job->blue, .sink = sink};
	uint32_t *bad = NULL;
	rb_status status;
	RB_FREE_AT_END(ctx->memory, &a.start_of, &a.hits, &a.sorted, &a.from, &a.first, &bad);

	RB_TRY(rb_solids_check(ctx, backend, job->blue, job->skip_bad, RB_SOLID_OF_SOLIDS, &bad));
	a.bad = bad;
	pthread_mutex_init(&a.lock, NULL);
	status = make_rays_of_line_starts(&a, backend);
	if (status == RB_OK)
		status = find_hits_with_solids(&a, backend);
	pthread_mutex_destroy(&a.lock);
	rb_rays_free(ctx, &a.rays);
	RB_TRY(status);
	RB_TRY(sort_hits_by_line(&a));
	return compute_intervals_of_lines(&a);
}
