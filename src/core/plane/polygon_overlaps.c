/*
 * polygon_overlaps.c
 *	  Computes the area of what each pair of polygons shares, without building it.
 *
 * With edges directed so that the interior is on their left, the area of what two polygons share is a
 * sum of local terms:
 *
 *		2 area = sum over edges uv of (u x v) share
 *		share = [v inside] + sum of t where uv leaves the other polygon, -t where it enters it
 *
 * over the edges of both, where t runs from 0 at u to 1 at v. (W. R. Franklin: Polygon properties
 * calculated from the vertex neighborhoods, 1987.) So each crossing of a red edge and a blue one adds
 * a term, and each vertex inside the other polygon.
 *
 * The blue polygon is moved by (e, e^2) with an infinitesimal e (polygon_rings.c). The area changes
 * continuously with the position. No direction changes, so each crossing tends to a point, and the limits
 * of all terms sum to the exact area. Signs are therefore those of the moved position, while coordinates
 * are the stored ones.
 *
 * Along a ring, the vertices change their side where an edge crosses an odd number of edges. So one
 * ray per ring gives the sides of all of its vertices. Only rings near the other polygon matter.
 *
 * In the stored position, the interiors of two polygons meet if and only if
 *
 *		two edges cross at inner points of both, or
 *		two edges overlap in the same direction, or
 *		an edge leaves a common point into the interior of the other polygon, or
 *		a ring that shares no point with the other boundary is inside the other polygon,
 *
 * since the boundary of the common part is made of pieces of both boundaries, each of which is on the
 * other boundary, or inside the other polygon up to the next common point.
 */
#include "core/base/sort.h"
#include "core/plane/plane.h"

#include <math.h>

#define CHECK_INTERVAL 1024 /* Number of small steps between checks for cancellation */

/* Memory of one thread */
typedef struct area_room
{
	rb_area_terms terms;
	RB_VEC(uint32_t)
	change[2]; /* Edges on which the side changes, ascending; repeated ones cancel */
} area_room;

typedef struct area_join
{
	rb_plane_join join;
	area_room *rooms;
} area_join;

/* A pair of rows */
typedef struct area_pair
{
	const rb_plane_join *w;
	rb_contact_room *contacts;
	area_room *room;
	uint32_t row[2];
	bool meets; /* True if the interiors are known to meet */
} area_pair;

/* ---- terms ---- */

/* Adds the term of a pair of edges, and finds out whether it proves that the interiors meet. */
static rb_status
add_pair_of_edges(area_pair *o, rb_pair pair)
{
	rb_exact_env *env = &o->contacts->env;
	const unsigned payload = rb_pair_payload(pair);
	const uint32_t edge[2] = {rb_pair_red(pair), pair.blue};
	const double *u, *v, *x, *y;
	int from;

	rb_directed_edge(o->w->side[0], edge[0], &u, &v);
	rb_directed_edge(o->w->side[1], edge[1], &x, &y);
	if (RB_PAYLOAD_DIMENSION(payload) == 1)
	{
		/* Parallel edges do not cross in the moved position. */
		o->meets = o->meets ||
				   (u[0] != v[0] ? (u[0] < v[0]) == (x[0] < y[0]) : (u[1] < v[1]) == (x[1] < y[1]));
		return RB_OK;
	}
	if (RB_PAYLOAD_CROSSES(payload))
		o->meets = true;
	from = rb_side_of_moved_edge(env, x, y, u, -1);
	if (from == rb_side_of_moved_edge(env, x, y, v, -1) ||
		rb_side_of_moved_edge(env, u, v, x, 1) == rb_side_of_moved_edge(env, u, v, y, 1))
		return RB_OK;
	for (int side = 0; side < 2; side++)
		RB_TRY(rb_vec_append(o->w->ctx, &o->room->change[side], edge[side]));
	return rb_vec_append(o->w->ctx, &o->room->terms.crossings,
						 (rb_edge_crossing){u, v, x, y, from > 0});
}

/* Adds the terms of the vertices where the edges from `from` to `to` - 1 start. */
static rb_status
add_inner_vertices(area_pair *o, const rb_rings *r, const rb_ring *ring, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
	{
		const double *e = rb_edge(r, i);
		const double *before =
			ring->reversed ? e + 2 : rb_edge(r, i == ring->start ? ring->end - 1 : i - 1);

		if (rb_stop_due(o->w->ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		RB_TRY(rb_vec_append(o->w->ctx, &o->room->terms.ends, (rb_inner_end){before, e}));
	}
	return RB_OK;
}

/*
 * Adds the terms of the vertices of a ring that are inside the other polygon. The side changes on the
 * n edges of `change`, and the ring shares a point with the other boundary if `touched` is set.
 */
static rb_status
add_vertices_of_ring(area_pair *o, int side, const rb_ring *ring, const uint32_t *change, size_t n,
					 bool touched)
{
	const rb_rings *r = o->w->side[side];
	const bool first = rb_is_vertex_inside(&o->contacts->env, o->w->side[!side], o->row[!side],
										   rb_edge(r, ring->start), side == 0 ? -1 : 1);
	uint32_t from = ring->start;
	bool inside = first;

	if (first && !touched)
		o->meets = true;
	for (size_t i = 0; i < n; i++)
	{
		if (inside)
			RB_TRY(add_inner_vertices(o, r, ring, from, change[i] + 1));
		inside = !inside;
		from = change[i] + 1;
	}
	if (inside)
		RB_TRY(add_inner_vertices(o, r, ring, from, ring->end));
	if (inside != first)
		return rb_fail(o->w->ctx, RB_BAD_GEOMETRY, 0, 0, "A ring ends on the other side.");
	return RB_OK;
}

/* Adds the terms of all vertices of one polygon that are inside the other one. */
static rb_status
add_inner_vertices_of_side(area_pair *o, int side)
{
	const rb_rings *r = o->w->side[side];
	const double *box = o->w->side[!side]->row_box + 6 * (size_t) o->row[!side];
	const rb_pair *contacts = side == 0 ? o->contacts->contacts.at : o->contacts->turned.at;
	const uint32_t *change = o->room->change[side].at;
	const size_t n = o->room->change[side].n, ncontacts = o->contacts->contacts.n;
	size_t at = 0, contact = 0;

	RB_TRY(rb_rings_find(o->w->ctx, r, o->row[side], box, &o->contacts->rings));
	for (size_t k = 0; k < o->contacts->rings.n; k++)
	{
		const rb_ring *ring = &r->ring[o->contacts->rings.at[k]];
		const size_t from = at, touching = contact;

		if (rb_should_stop(o->w->ctx))
			return RB_STOPPED;
		while (at < n && change[at] < ring->end)
			at++;
		while (contact < ncontacts && rb_pair_red(contacts[contact]) < ring->end)
			contact++;
		RB_TRY(add_vertices_of_ring(o, side, ring, change + from, at - from, contact > touching));
	}
	return RB_OK;
}

/* ---- a pair of rows ---- */

/* Computes the common area of a pair of rows, 0 if the interiors do not meet. */
static rb_status
measure_area_of_pair(area_pair *o, double *area)
{
	area_room *room = o->room;

	*area = 0;
	rb_vec_clear(&room->terms.crossings);
	rb_vec_clear(&room->terms.ends);
	for (int side = 0; side < 2; side++)
		rb_vec_clear(&room->change[side]);
	for (int a = 0; a < 2; a++)
		room->terms.origin[a] = rb_max(o->w->side[0]->row_box[6 * (size_t) o->row[0] + a],
									   o->w->side[1]->row_box[6 * (size_t) o->row[1] + a]);
	RB_TRY(rb_contacts_find(o->w, o->contacts, (rb_pair){o->row[0], o->row[1]}));
	for (size_t i = 0; i < o->contacts->contacts.n; i++)
	{
		if (rb_stop_due(o->w->ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		RB_TRY(add_pair_of_edges(o, o->contacts->contacts.at[i]));
	}
	RB_TRY(rb_sort_numbers(o->w->ctx, room->change[1].at, room->change[1].n));
	for (int side = 0; side < 2; side++)
		RB_TRY(add_inner_vertices_of_side(o, side));
	for (int side = 0; side < 2; side++)
		RB_TRY(rb_contacts_enter(o->w, o->contacts, side, &o->meets));
	return o->meets ? rb_area_sum(o->w->ctx, &room->terms, area) : RB_OK;
}

/* Computes the common area of two rows in the memory of a thread. */
static rb_status
measure_common_area(void *user, uint32_t thread, rb_pair rows, double *area)
{
	area_join *w = user;
	area_pair o = {.w = &w->join,
				   .contacts = &w->join.rooms[thread],
				   .room = &w->rooms[thread],
				   .row = {rows.red, rows.blue}};

	return measure_area_of_pair(&o, area);
}

/* ---- all pairs ---- */

/* Measures all pairs on the threads of a team. */
static rb_status
measure_all_areas(area_join *w, rb_thread *team, const rb_row_sink *sink)
{
	rb_context *ctx = w->join.ctx;
	const uint32_t threads = (uint32_t) rb_team_threads(team);
	rb_status status;

	RB_TRY(RB_ALLOCATE(ctx, w->rooms, threads));
	memset(w->rooms, 0, threads * sizeof *w->rooms);
	status = rb_plane_join_measure(&w->join, team, measure_common_area, w, sink);
	for (uint32_t i = 0; i < threads; i++)
	{
		area_room *room = &w->rooms[i];

		rb_vec_free(ctx->memory, &room->terms.crossings);
		rb_vec_free(ctx->memory, &room->terms.ends);
		for (int side = 0; side < 2; side++)
			rb_vec_free(ctx->memory, &room->change[side]);
	}
	return status;
}

rb_status
rb_compose_areas(rb_context *ctx, const rb_backend *backend, const rb_job *job,
				 const rb_row_sink *sink)
{
	const uint64_t parts =
		(uint64_t) job->red->nparts + (job->blue != NULL ? job->blue->nparts : 0);
	area_join w = {.rooms = NULL};
	rb_thread *team;
	rb_status status;
	RB_FREE_AT_END(ctx->memory, &w.rooms);

	RB_TRY(rb_team_open(ctx, rb_threads_for(ctx, parts, RB_EDGES_PER_THREAD), &team));
	status = rb_plane_join_open(&w.join, ctx, team, backend, job);
	if (status == RB_OK)
		status = measure_all_areas(&w, team, sink);
	rb_plane_join_close(&w.join);
	rb_team_close(&team);
	return status;
}

/* Receives the area of the only pair. */
static rb_status
put_common_area(void *user, const rb_pair *rows, const uint64_t *payload, size_t n)
{
	(void) rows;
	if (n > 0)
		memcpy(user, payload, sizeof(double));
	return RB_OK;
}

rb_status
rb_area_measure(rb_context *ctx, const rb_set *red, const rb_set *blue, double *area)
{
	const rb_job job = {.red = red, .blue = blue, .predicate = RB_AREA};
	const rb_row_sink sink = {.put = put_common_area, .user = area};

	*area = 0;
	return rb_compose_areas(ctx, &rb_backend_cpu, &job, &sink);
}
