/*
 * slivers.c
 *	  Removes slivers after refinement: tetrahedra with a dihedral angle below a bound.
 *
 * A Delaunay mesh of good radius-edge ratios still has tetrahedra that are nearly flat: four points
 * near the equator of their circumsphere. Each of them is treated in three ways, in this order:
 *
 *	flips	a face becomes an edge, or the tetrahedra around an edge become others without it, also if
 *			the edge is a diagonal in a flat facet, which the other diagonal then replaces
 *	moves	a vertex that refinement added inside of the mesh moves to where the smallest angle
 *			around it is largest
 *	points	a vertex is added in a cavity around an edge or around the sliver
 *
 * Vertices that existed before and vertices on segments and facets never move, and segments remain
 * as they are. Except for diagonals (edge_flips.c), the cells on both sides of a constrained face
 * are never exchanged together, so facets and regions remain as they are. A change is made only if
 * the new tetrahedra are positively oriented, by exact signs, if their smallest angle is greater
 * than that of the old ones, and if no more of them exceed the bounds of refinement. As angles only
 * grow, this ends.
 *
 * After L. A. Freitag, C. Ollivier-Gooch: Tetrahedral mesh improvement using swapping and
 * smoothing, 1997, and B. M. Klingner, J. R. Shewchuk: Aggressive tetrahedral mesh improvement,
 * 2007.
 *
 * Slivers are few and are treated one after the other, in the order of their slots; only scans of
 * all cells run on several threads. So the result is the same for any number of threads.
 *
 * The mesh may no longer be Delaunay where something changed. The faces that are not Delaunay are
 * counted, and the tetrahedra at them are marked.
 */
#include "refine/exchange.h"

#include "refine/angles.h"

/* Maximum number of passes over the remaining slivers */
#define PASSES 10
/* First pass in which vertices are added */
#define ADDING 2
/* Reciprocal of the maximum share of vertices that are added */
#define SHARE_ADDED 10
/* Cells that a thread takes at once */
#define CELLS RB_SIZE(8192, 64)

/* A cell that may be a sliver; it still is one if its corners are the same */
typedef struct sliver
{
	uint32_t cell;
	uint32_t v[4];
} sliver;

typedef RB_VEC(sliver) sliver_vec;

typedef struct removal
{
	rb_refining *r;
	rb_slivers_report *report;
	uint32_t nkept; /* Number of vertices that existed before; they do not move */
	double bound;   /* Measure of the minimum angle */
	rb_exchange x;
	/* Slivers to be treated in this pass and in the next one */
	sliver_vec list, next;
	sliver_vec *found; /* Slivers that each block of cells contains */
	rb_thread *team;
	uint32_t most_vertices; /* Maximum number of vertices afterwards */
	uint8_t *changed;       /* 1 + last pass in which a cell of the vertex changed, or 0 */
	size_t changed_cap;
	int pass;
} removal;

/* ---- list of slivers ---- */

/* Returns the measure of the smallest dihedral angle of a cell, by which slivers are recognized. */
static double
cell_angle(removal *s, uint32_t cell)
{
	return rb_exchange_angle(&s->x, s->r->mesh.cells[cell].v);
}

/* Lists the slivers in a block of cells. */
static void
find_slivers_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	removal *s = arg;
	const rb_cells *m = &s->r->mesh;
	sliver_vec *found = &s->found[from / CELLS];

	(void) me;
	for (uint64_t i = from; i < to; i++)
	{
		const rb_cell *c = &m->cells[i];
		sliver one = {.cell = (uint32_t) i};

		if (c->v[0] == RB_DEAD || rb_cell_ghost(c) ||
			rb_tet_angle(rb_site_at(m, c->v[0]), rb_site_at(m, c->v[1]), rb_site_at(m, c->v[2]),
						 rb_site_at(m, c->v[3]), NULL) >= s->bound)
			continue;
		memcpy(one.v, c->v, sizeof one.v);
		if (rb_vec_append(s->r->ctx, found, one) != RB_OK)
			return; /* The loop returns the error. */
	}
}

/* Lists all slivers in the order of their slots. */
static rb_status
find_slivers(removal *s)
{
	rb_context *ctx = s->r->ctx;
	const uint32_t nblocks = s->r->ncells / CELLS + 1;
	rb_status status = RB_ALLOCATE(ctx, s->found, nblocks);

	if (status != RB_OK)
		return status;
	memset(s->found, 0, nblocks * sizeof *s->found);
	status = rb_each(ctx, s->team, s->r->ncells, CELLS, find_slivers_piece, s);
	for (uint32_t b = 0; b < nblocks; b++)
	{
		sliver_vec *found = &s->found[b];

		if (status == RB_OK)
			status = rb_vec_reserve(ctx, &s->list, found->n);
		if (status == RB_OK && found->n > 0)
		{
			memcpy(s->list.at + s->list.n, found->at, found->n * sizeof *found->at);
			s->list.n += found->n;
		}
		rb_vec_free(ctx->memory, found);
	}
	RB_FREE(ctx->memory, s->found);
	return status;
}

/* Returns true if a listed cell still is a sliver. */
static bool
is_sliver(removal *s, const sliver *one)
{
	return memcmp(s->r->mesh.cells[one->cell].v, one->v, sizeof one->v) == 0 &&
		   cell_angle(s, one->cell) < s->bound;
}

/* Lists a cell for the next pass if it is a sliver, and not a ghost. */
static rb_status
list_if_sliver(removal *s, uint32_t cell)
{
	sliver one = {.cell = cell};

	if (rb_cell_ghost(&s->r->mesh.cells[cell]) || cell_angle(s, cell) >= s->bound)
		return RB_OK;
	memcpy(one.v, s->r->mesh.cells[cell].v, sizeof one.v);
	return rb_vec_append(s->r->ctx, &s->next, one);
}

/* Records for each corner of a cell that cells around it changed in this pass. */
static void
mark_change_around_sliver(removal *s, uint32_t cell)
{
	const uint32_t *v = s->r->mesh.cells[cell].v;

	for (int k = 0; k < 4; k++)
		if (v[k] != RB_GHOST)
			s->changed[v[k]] = (uint8_t) (s->pass + 1);
}

/* Returns true if treating a sliver may succeed now although it failed before. */
static bool
is_worth_retry(const removal *s, const sliver *one)
{
	for (int k = 0; k < 4; k++)
		if (s->changed[one->v[k]] >= s->pass)
			return true;
	return s->pass <= ADDING;
}

/* Performs the prepared exchange and lists the new slivers. */
static rb_status
exchange_cells(removal *s, bool *done)
{
	RB_TRY(rb_exchange_cells(&s->x, done));
	for (uint32_t i = 0; i < s->x.ntets && *done; i++)
		mark_change_around_sliver(s, s->x.slots[i]);
	for (uint32_t i = 0; i < s->x.ntets && *done; i++)
		RB_TRY(list_if_sliver(s, s->x.slots[i]));
	return RB_OK;
}

/* ---- flips ---- */

/*
 * Prepares the replacement of a face by an edge between the corners opposite to it. Returns the
 * smallest new angle, or -1 if nothing is gained.
 */
static double
prepare_sliver_face_removal(removal *s, uint32_t cell, uint32_t i)
{
	const rb_cells *m = &s->r->mesh;
	rb_exchange *x = &s->x;
	const rb_cell *c = &m->cells[cell];
	const uint32_t beyond = c->n[i];
	uint32_t first = 0;
	double before, after;

	if ((c->bits & RB_CELL_WALL(i)) != 0 || rb_cell_ghost(&m->cells[beyond >> 2]))
		return -1;
	x->facet = RB_NOWHERE;
	x->old[0] = cell;
	x->old[1] = beyond >> 2;
	x->nold = 2;
	x->ntets = 3;
	for (uint32_t k = 0; k < 3; k++)
	{
		memcpy(x->tets[k], c->v, sizeof c->v);
		x->tets[k][rb_cell_face_corner(i, k)] = m->cells[beyond >> 2].v[beyond & 3];
	}
	before = rb_exchange_old_angle(x);
	after = rb_exchange_new_angle(x, before, &first);
	return after > before && rb_exchange_keeps_bounds(x) ? after : -1;
}

/* Prepares flip number k of a cell: its 6 edges, then its 4 faces. */
static double
prepare_sliver_flip(removal *s, uint32_t cell, uint32_t k)
{
	return k < 6 ? rb_exchange_flip_edge(&s->x, cell, k)
				 : prepare_sliver_face_removal(s, cell, k - 6);
}

/* Performs the best flip of a cell. */
static rb_status
flip_sliver(removal *s, uint32_t cell, bool *done)
{
	double best = 0;
	uint32_t which = RB_NOWHERE;

	*done = false;
	for (uint32_t k = 0; k < 10; k++)
	{
		const double angle = prepare_sliver_flip(s, cell, k);

		if (angle > best)
		{
			best = angle;
			which = k;
		}
	}
	if (which == RB_NOWHERE)
		return RB_OK;
	(void) prepare_sliver_flip(s, cell, which);
	RB_TRY(exchange_cells(s, done));
	s->report->flips += *done;
	return RB_OK;
}

/* ---- search for a location ---- */

/* Directions in which a location is searched */
static const int8_t directions[14][3] = {
	{1, 0, 0},    {-1, 0, 0}, {0, 1, 0},   {0, -1, 0}, {0, 0, 1},   {0, 0, -1}, {1, 1, 1},
	{-1, -1, -1}, {1, 1, -1}, {-1, -1, 1}, {1, -1, 1}, {-1, 1, -1}, {-1, 1, 1}, {1, -1, -1}};
/* Maximum number of steps, and of times that their length is halved */
#define STEPS 12
#define HALVINGS 3

/* Returns the distance of RB_SOUGHT to the nearest other corner of the new cells. */
static double
nearest_corner(const rb_exchange *x)
{
	double nearest = INFINITY;

	for (uint32_t i = 0; i < x->ntets; i++)
		for (int k = 0; k < 4; k++)
			if (x->tets[i][k] != RB_SOUGHT)
				nearest = fmin(nearest, rb_distance2(x->at, rb_exchange_at(x, x->tets[i][k])));
	return sqrt(nearest);
}

/*
 * Moves RB_SOUGHT step by step to where the smallest angle of the new cells is larger. Returns that
 * angle, at most `least` if no location with a larger one was found.
 */
static double
search_location(rb_exchange *x, double least)
{
	double best = least, step = 0.25 * nearest_corner(x);
	uint32_t first = 0;
	const double start = rb_exchange_new_angle(x, -2, &first);
	int halvings = 0;

	best = start > best ? start : best;
	for (int i = 0; i < STEPS && halvings <= HALVINGS; i++)
	{
		const double from[3] = {x->at[0], x->at[1], x->at[2]};
		double to[3] = {0, 0, 0};
		bool better = false;

		for (int k = 0; k < 14; k++)
		{
			const double length = k < 6 ? step : 0.57735 * step;
			double angle;

			for (int j = 0; j < 3; j++)
				x->at[j] = from[j] + length * directions[k][j];
			angle = rb_exchange_new_angle(x, best, &first);
			if (angle > best)
			{
				best = angle;
				memcpy(to, x->at, sizeof to);
				better = true;
			}
		}
		memcpy(x->at, better ? to : from, sizeof to);
		if (!better)
		{
			step *= 0.5;
			halvings++;
		}
	}
	return best;
}

/* ---- moves ---- */

/*
 * Makes the cells around a vertex the old cells of the exchange. Returns false if the vertex must
 * not move.
 */
static bool
collect_star_at_sliver(removal *s, uint32_t cell, uint32_t vertex)
{
	const rb_cells *m = &s->r->mesh;
	rb_exchange *x = &s->x;

	if (vertex < s->nkept || m->kind[vertex] != RB_VERTEX_INSIDE)
		return false;
	x->facet = RB_NOWHERE;
	x->old[0] = cell;
	x->nold = 1;
	for (uint32_t i = 0; i < x->nold; i++)
	{
		const rb_cell *c = &m->cells[x->old[i]];
		const uint32_t own = rb_cell_corner(c, vertex);

		for (uint32_t k = 0; k < 4; k++)
		{
			const uint32_t other = c->n[k] >> 2;

			if (k == own)
				continue;
			/* A vertex on the hull has the kind of one inside. */
			if ((c->bits & RB_CELL_WALL(k)) != 0 ||
				(c->bits & RB_CELL_SEGMENT(rb_cell_edge(k, own))) != 0)
				return false;
			if (rb_exchange_has(x, other))
				continue;
			if (x->nold == RB_EXCHANGE_CELLS)
				return false;
			x->old[x->nold++] = other;
		}
	}
	return true;
}

/* Moves a vertex of a cell if that is better. */
static rb_status
move_vertex_of_sliver(removal *s, uint32_t cell, uint32_t vertex, bool *done)
{
	rb_cells *m = &s->r->mesh;
	rb_exchange *x = &s->x;
	double before;

	*done = false;
	if (!collect_star_at_sliver(s, cell, vertex) || !rb_exchange_star(x, RB_SOUGHT))
		return RB_OK;
	memcpy(x->at, rb_site_at(m, vertex), sizeof x->at);
	before = rb_exchange_old_angle(x);
	if (!(search_location(x, before) > before) || !rb_exchange_keeps_bounds(x))
		return RB_OK;
	memcpy(m->sites[vertex].at, x->at, sizeof x->at);
	*done = true;
	s->report->moved++;
	for (uint32_t i = 0; i < x->nold; i++)
	{
		m->cells[x->old[i]].bits &= ~RB_CELL_FINE;
		mark_change_around_sliver(s, x->old[i]);
		RB_TRY(list_if_sliver(s, x->old[i]));
	}
	return RB_OK;
}

/* ---- added vertices ---- */

/* Makes a cell and its neighbors across unconstrained faces the old cells of the exchange. */
static void
collect_neighbors_of_sliver(removal *s, uint32_t cell)
{
	const rb_cells *m = &s->r->mesh;
	rb_exchange *x = &s->x;
	const rb_cell *c = &m->cells[cell];

	x->facet = RB_NOWHERE;
	x->old[0] = cell;
	x->nold = 1;
	for (uint32_t k = 0; k < 4; k++)
		if ((c->bits & RB_CELL_WALL(k)) == 0 && !rb_cell_ghost(&m->cells[c->n[k] >> 2]) &&
			!rb_exchange_has(x, c->n[k] >> 2))
			x->old[x->nold++] = c->n[k] >> 2;
}

/* Sets RB_SOUGHT to the mean of some corners of a cell, given by bits. */
static void
start_search_at_mean(removal *s, uint32_t cell, uint32_t corners)
{
	const rb_cell *c = &s->r->mesh.cells[cell];
	double *at = s->x.at;
	int n = 0;

	at[0] = at[1] = at[2] = 0;
	for (uint32_t k = 0; k < 4; k++)
		n += (int) (corners >> k & 1);
	for (uint32_t k = 0; k < 4; k++)
		for (int j = 0; j < 3 && (corners >> k & 1) != 0; j++)
			at[j] += rb_site_at(&s->r->mesh, c->v[k])[j] / n;
}

/*
 * Adds the cell behind the worst face of the cavity, seen from RB_SOUGHT, to the old cells. Returns
 * false if there is none.
 */
static bool
grow_cavity_at_sliver(removal *s)
{
	const rb_cells *m = &s->r->mesh;
	rb_exchange *x = &s->x;
	double worst = 2;
	uint32_t which = RB_NOWHERE;

	for (uint32_t i = 0; i < x->nold; i++)
	{
		const rb_cell *c = &m->cells[x->old[i]];

		for (uint32_t k = 0; k < 4; k++)
		{
			const uint32_t other = c->n[k] >> 2;
			uint32_t v[4];
			double angle;

			if (rb_exchange_has(x, other))
				continue;
			memcpy(v, c->v, sizeof v);
			v[k] = RB_SOUGHT;
			angle = rb_exchange_angle(x, v);
			if (angle < worst)
			{
				worst = angle;
				which = (c->bits & RB_CELL_WALL(k)) != 0 || rb_cell_ghost(&m->cells[other])
							? RB_NOWHERE
							: other;
			}
		}
	}
	if (which == RB_NOWHERE || worst >= s->bound || x->nold == RB_EXCHANGE_CELLS)
		return false;
	x->old[x->nold++] = which;
	return true;
}

/* Adds the vertex that removes a sliver at the location found for it, in place of RB_SOUGHT. */
static rb_status
add_vertex_against_sliver(removal *s)
{
	rb_refining *r = s->r;
	rb_exchange *x = &s->x;
	const double radius = nearest_corner(x);
	const uint32_t vertex = r->nsites;

	RB_TRY(rb_refining_reserve(r, r->ncells, (size_t) vertex + 1));
	RB_TRY(RB_GROW(r->ctx, s->changed, s->changed_cap, (size_t) vertex + 1));
	s->changed[vertex] = 0;
	memcpy(r->mesh.sites[vertex].at, x->at, sizeof x->at);
	r->mesh.sites[vertex].radius = radius;
	r->mesh.kind[vertex] = RB_VERTEX_INSIDE;
	r->mesh.parent[vertex] = RB_NONE;
	for (uint32_t i = 0; i < x->ntets; i++)
		for (int k = 0; k < 4; k++)
			if (x->tets[i][k] == RB_SOUGHT)
				x->tets[i][k] = vertex;
	return RB_OK;
}

/*
 * Maximum number of times that a cavity grows, and maximum number of cells that it gains each time
 */
#define GROWTHS 2
#define GROWTH 3

/* Adds a vertex to the cavity of the old cells, near the present location, if that is better. */
static rb_status
fill_cavity_at_sliver(removal *s, bool *done)
{
	rb_exchange *x = &s->x;

	*done = false;
	for (int i = 0; i <= GROWTHS; i++)
	{
		double before, after;

		if (!rb_exchange_star(x, RB_SOUGHT))
			return RB_OK;
		before = rb_exchange_old_angle(x);
		after = search_location(x, before);
		if (after >= s->bound && after > before && rb_exchange_keeps_bounds(x))
		{
			RB_TRY(add_vertex_against_sliver(s));
			RB_TRY(exchange_cells(s, done));
			s->r->nsites += *done;
			s->report->added += *done;
			return RB_OK;
		}
		for (int k = 0; k < GROWTH; k++)
			if (!grow_cavity_at_sliver(s))
			{
				if (k == 0)
					return RB_OK;
				break;
			}
	}
	return RB_OK;
}

/* Adds a vertex near a cell: on one of its edges, or inside. */
static rb_status
add_vertex_near_sliver(removal *s, uint32_t cell, bool *done)
{
	*done = false;
	if (s->r->nsites >= s->most_vertices)
		return RB_OK;
	for (uint32_t e = 0; e < 6 && !*done; e++)
	{
		if (!rb_exchange_collect_ring(&s->x, cell, e))
			continue;
		start_search_at_mean(s, cell, 1u << rb_cell_edge_from(e) | 1u << rb_cell_edge_to(e));
		RB_TRY(fill_cavity_at_sliver(s, done));
	}
	if (*done)
		return RB_OK;
	collect_neighbors_of_sliver(s, cell);
	start_search_at_mean(s, cell, 15);
	return fill_cavity_at_sliver(s, done);
}

/* ---- passes ---- */

/* Treats one sliver. */
static rb_status
treat_sliver(removal *s, const sliver *one, bool *done)
{
	*done = false;
	if (!is_sliver(s, one))
		return RB_OK;
	if (!is_worth_retry(s, one))
		return rb_vec_append(s->r->ctx, &s->next, *one);
	RB_TRY(flip_sliver(s, one->cell, done));
	for (int k = 0; k < 4 && !*done; k++)
		RB_TRY(move_vertex_of_sliver(s, one->cell, one->v[k], done));
	if (!*done && s->pass >= ADDING)
		RB_TRY(add_vertex_near_sliver(s, one->cell, done));
	return *done ? RB_OK : rb_vec_append(s->r->ctx, &s->next, *one);
}

/* Treats all listed slivers. Sets *any if something changed. */
static rb_status
treat_slivers(removal *s, bool *any)
{
	*any = false;
	rb_vec_clear(&s->next);
	for (size_t i = 0; i < s->list.n; i++)
	{
		bool done;

		if (rb_should_stop(s->r->ctx))
			return RB_STOPPED;
		RB_TRY(treat_sliver(s, &s->list.at[i], &done));
		*any = *any || done;
	}
	return RB_OK;
}

/* Runs passes until nothing changes. */
static rb_status
run_sliver_passes(removal *s)
{
	for (s->pass = 0; s->pass < PASSES && s->list.n > 0; s->pass++)
	{
		const sliver_vec list = s->list;
		bool any;

		RB_TRY(treat_slivers(s, &any));
		s->list = s->next;
		s->next = list;
		if (!any && s->pass >= ADDING)
			break;
	}
	return RB_OK;
}

rb_status
rb_refining_remove_slivers(rb_refining *r, uint32_t nkept, rb_slivers_report *report)
{
	rb_context *ctx = r->ctx;
	const uint64_t most = (uint64_t) r->nsites + r->nsites / SHARE_ADDED;
	removal *s = NULL;
	rb_status status = RB_ALLOCATE(ctx, s, 1);

	if (status != RB_OK)
		return status;
	memset(s, 0, sizeof *s);
	s->r = s->x.r = r;
	s->nkept = nkept;
	s->report = report;
	s->bound = rb_angle_measure(r->options->min_dihedral);
	s->x.env = (rb_exact_env){.filters = ctx->filters, .exact = true};
	s->most_vertices = most < RB_SOUGHT ? (uint32_t) most : RB_SOUGHT - 1;
	if (r->options->max_points > 0 && r->options->max_points < s->most_vertices)
		s->most_vertices = (uint32_t) r->options->max_points;
	status = RB_GROW(ctx, s->changed, s->changed_cap, (size_t) r->nsites + 1);
	if (status == RB_OK)
	{
		memset(s->changed, 0, r->nsites);
		status = rb_refining_team(r, r->ncells, &s->team);
	}
	if (status == RB_OK)
		status = find_slivers(s);
	report->before = s->list.n;
	if (status == RB_OK)
		status = run_sliver_passes(s);
	if (status == RB_OK && report->flips + report->moved + report->added > 0)
		status = rb_refining_mark_not_delaunay(r, &report->not_delaunay);
	rb_team_close(&s->team);
	rb_vec_free(ctx->memory, &s->list);
	rb_vec_free(ctx->memory, &s->next);
	rb_vec_free(ctx->memory, &s->x.spare);
	RB_FREE(ctx->memory, s->changed);
	RB_FREE(ctx->memory, s);
	return status;
}
