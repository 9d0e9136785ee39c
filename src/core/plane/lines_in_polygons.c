/*
 * lines_in_polygons.c
 *	  Computes the length of the part of each line that is in each polygon, without building it.
 *
 * The part of a segment uv in the closed polygon is the share
 *
 *		[v inside] + sum of t where uv leaves the polygon, -t where it enters it
 *
 * of its length, as of an edge of another polygon (polygon_overlaps.c), with the polygon moved by
 * (e, e^2): signs are those of the moved position, t is from the stored one. A part of the segment on an
 * edge of the polygon is inside in the moved position, or outside, and then the share of the overlap is
 * added, since the border belongs to the polygon. The interior is on one side of the edge only, so no
 * part counts twice.
 *
 * In the stored position, the share is positive if the segment crosses an edge at inner points of both,
 * overlaps one, leaves a common point into the interior, or shares no point with the border and is
 * inside.
 */
#include "core/plane/plane.h"

#include <math.h>

#define CHECK_INTERVAL 1024 /* Number of small steps between checks for cancellation */

typedef struct length_join
{
	rb_plane_join join;
	rb_length_terms *rooms; /* Memory of each thread */
} length_join;

/* A pair of a line and a polygon */
typedef struct length_pair
{
	const rb_plane_join *w;
	rb_contact_room *contacts;
	rb_length_terms *terms;
	uint32_t row[2];
	bool positive; /* True if the length is known to be positive */
} length_pair;

/* Returns true if p comes before q in the direction from u to v, on their line. */
static bool
is_point_before(const double *u, const double *v, const double *p, const double *q)
{
	const int a = u[0] == v[0];

	return u[a] < v[a] ? p[a] < q[a] : q[a] < p[a];
}

/* Adds the share of the part of a segment on an edge that does not count as inside. */
static rb_status
add_share_of_overlap(length_pair *o, rb_length_segment *s, const double *h)
{
	const bool turned = is_point_before(s->u, s->v, h + 2, h);
	const double *from = turned ? h + 2 : h, *to = turned ? h : h + 2;

	if (is_point_before(s->u, s->v, s->u, from))
	{
		RB_TRY(rb_vec_append(o->w->ctx, &o->terms->terms, (rb_share_term){from, NULL, -1}));
		s->n++;
	}
	if (!is_point_before(s->u, s->v, to, s->v))
		s->whole++;
	else
	{
		RB_TRY(rb_vec_append(o->w->ctx, &o->terms->terms, (rb_share_term){to, NULL, 1}));
		s->n++;
	}
	return RB_OK;
}

/* Adds the share of the n contacts of a segment, and finds out whether its end is inside. */
static rb_status
add_contacts_of_segment(length_pair *o, rb_length_segment *s, const rb_pair *contacts, size_t n,
						bool *inside)
{
	const rb_rings *polygons = o->w->side[1];
	rb_exact_env *env = &o->contacts->env;

	for (size_t i = 0; i < n; i++)
	{
		const unsigned payload = rb_pair_payload(contacts[i]);
		const double *x, *y;
		int from;

		if (rb_stop_due(o->w->ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		rb_directed_edge(polygons, contacts[i].blue, &x, &y);
		from = rb_side_of_moved_edge(env, x, y, s->u, -1);
		if (RB_PAYLOAD_DIMENSION(payload) == 1)
		{
			o->positive = true;
			if (from < 0)
				RB_TRY(add_share_of_overlap(o, s, x < y ? x : y));
			continue;
		}
		if (RB_PAYLOAD_CROSSES(payload))
			o->positive = true;
		if (from == rb_side_of_moved_edge(env, x, y, s->v, -1) ||
			rb_side_of_moved_edge(env, s->u, s->v, x, 1) ==
				rb_side_of_moved_edge(env, s->u, s->v, y, 1))
			continue;
		*inside = !*inside;
		RB_TRY(
			rb_vec_append(o->w->ctx, &o->terms->terms, (rb_share_term){x, y, from > 0 ? 1 : -1}));
		s->n++;
	}
	return RB_OK;
}

/* Returns true if the boxes of a segment and a polygon share no point. */
static bool
is_segment_apart(const double *e, const double *box)
{
	return rb_max(e[0], e[2]) < box[0] || rb_min(e[0], e[2]) > box[3] ||
		   rb_max(e[1], e[3]) < box[1] || rb_min(e[1], e[3]) > box[4];
}

/* The state of a walk along a line */
typedef struct line_walk
{
	size_t at;          /* First contact of the segments ahead */
	const double *last; /* End of the segment before, or NULL if its side is not known */
	bool inside;        /* True if that end is inside */
} line_walk;

/* Adds the share of segment i of the line. */
static rb_status
add_segment_of_line(length_pair *o, uint32_t i, line_walk *walk)
{
	const rb_rings *polygons = o->w->side[1];
	const rb_pair *contacts = o->contacts->contacts.at;
	const double *e = rb_edge(o->w->side[0], i);
	rb_length_segment s = {.u = e, .v = e + 2, .first = o->terms->terms.n};
	const size_t from = walk->at;

	if (is_segment_apart(e, polygons->row_box + 6 * (size_t) o->row[1]))
		return RB_OK;
	while (walk->at < o->contacts->contacts.n && rb_pair_red(contacts[walk->at]) <= i)
		walk->at++;
	if (walk->last == NULL || walk->last[0] != e[0] || walk->last[1] != e[1])
		walk->inside = rb_is_vertex_inside(&o->contacts->env, polygons, o->row[1], e, -1);
	if (walk->inside && walk->at == from)
		o->positive = true;
	RB_TRY(add_contacts_of_segment(o, &s, contacts + from, walk->at - from, &walk->inside));
	s.whole += walk->inside;
	walk->last = e + 2;
	return s.whole != 0 || s.n > 0 ? rb_vec_append(o->w->ctx, &o->terms->segments, s) : RB_OK;
}

/* Adds the shares of all segments of the line that are near the polygon. */
static rb_status
add_segments_of_line(length_pair *o)
{
	const rb_rings *lines = o->w->side[0];
	const double *box = o->w->side[1]->row_box + 6 * (size_t) o->row[1];
	line_walk walk = {0, NULL, false};

	RB_TRY(rb_rings_find(o->w->ctx, lines, o->row[0], box, &o->contacts->rings));
	for (size_t k = 0; k < o->contacts->rings.n; k++)
	{
		const rb_ring *run = &lines->ring[o->contacts->rings.at[k]];

		if (rb_should_stop(o->w->ctx))
			return RB_STOPPED;
		for (uint32_t i = run->start; i < run->end; i++)
			RB_TRY(add_segment_of_line(o, i, &walk));
	}
	return RB_OK;
}

/* Computes the length of a pair of a line and a polygon. */
static rb_status
measure_length_of_pair(length_pair *o, double *length)
{
	*length = 0;
	rb_vec_clear(&o->terms->terms);
	rb_vec_clear(&o->terms->segments);
	RB_TRY(rb_contacts_find(o->w, o->contacts, (rb_pair){o->row[0], o->row[1]}));
	RB_TRY(add_segments_of_line(o));
	RB_TRY(rb_contacts_enter(o->w, o->contacts, 0, &o->positive));
	return o->positive ? rb_length_sum(o->w->ctx, o->terms, length) : RB_OK;
}

/* Computes the length of a line in a polygon in the memory of a thread. */
static rb_status
measure_length_in_polygon(void *user, uint32_t thread, rb_pair rows, double *length)
{
	length_join *w = user;
	length_pair o = {.w = &w->join,
					 .contacts = &w->join.rooms[thread],
					 .terms = &w->rooms[thread],
					 .row = {rows.red, rows.blue}};

	return measure_length_of_pair(&o, length);
}

/* Measures all pairs on the threads of a team. */
static rb_status
measure_all_lengths(length_join *w, rb_thread *team, const rb_row_sink *sink)
{
	rb_context *ctx = w->join.ctx;
	const uint32_t threads = (uint32_t) rb_team_threads(team);
	rb_status status;

	RB_TRY(RB_ALLOCATE(ctx, w->rooms, threads));
	memset(w->rooms, 0, threads * sizeof *w->rooms);
	status = rb_plane_join_measure(&w->join, team, measure_length_in_polygon, w, sink);
	for (uint32_t i = 0; i < threads; i++)
	{
		rb_vec_free(ctx->memory, &w->rooms[i].terms);
		rb_vec_free(ctx->memory, &w->rooms[i].segments);
	}
	return status;
}

rb_status
rb_compose_lengths(rb_context *ctx, const rb_backend *backend, const rb_job *job,
				   const rb_row_sink *sink)
{
	const uint64_t parts = (uint64_t) job->red->nparts + job->blue->nparts;
	length_join w = {.rooms = NULL};
	rb_thread *team;
	rb_status status;
	RB_FREE_AT_END(ctx->memory, &w.rooms);

	RB_TRY(rb_team_open(ctx, rb_threads_for(ctx, parts, RB_EDGES_PER_THREAD), &team));
	status = rb_plane_join_open(&w.join, ctx, team, backend, job);
	if (status == RB_OK)
		status = measure_all_lengths(&w, team, sink);
	rb_plane_join_close(&w.join);
	rb_team_close(&team);
	return status;
}
