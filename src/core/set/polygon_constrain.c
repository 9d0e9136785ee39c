/*
 * polygon_constrain.c
 *	  Inserts the edges of a face's rings into its Delaunay triangulation as constraints.
 *
 * Edges are inserted one by one. The triangulation edges that cross the new one are removed, the
 * new one is added, and the cavity on each of its sides is retriangulated. The edges come in random
 * order, which bounds the cost of long ones: O(n log^2 n) steps are expected in total for rings
 * that do not overlap many times. An edge that meets a corner is split there. If it crosses the
 * edge of a ring, the face is rejected, since the crossing point is not a corner.
 *
 * The cavity beside an edge from a to b is a polygon each of whose corners sees the edge, and its
 * constrained Delaunay triangulation takes linear time: corners are removed in random order and
 * inserted again one by one with flips. A corner that is closer to the edge than both of its
 * neighbors must not be removed, because the remaining cycle would not be a polygon. The polygon
 * may overlap itself, which does no harm.
 *
 * J. R. Shewchuk and B. C. Brown: Fast Segment Insertion and Incremental Construction of
 * Constrained Delaunay Triangulations, 2015. The pseudo-random sequence is fixed, and the result
 * does not depend on it.
 */
#include "core/set/polygon.h"
#include "core/exact/accumulator.h"
#include "core/exact/orient.h"

/* Returns a pseudo-random number in 0 .. n - 1 (splitmix64). */
static uint32_t
random_below(rb_polygon_face *f, uint32_t n)
{
	uint64_t z = (f->random += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t) (((z ^ (z >> 31)) >> 32) * n >> 32);
}

/* ---- the cavity beside an edge ---- */

/* Returns the sign of (b - a) x (q - p). */
static int
sign_of_cross(const rb_vertex *a, const rb_vertex *b, const rb_vertex *p, const rb_vertex *q)
{
	double left = (b->at[0] - a->at[0]) * (q->at[1] - p->at[1]);
	double right = (b->at[1] - a->at[1]) * (q->at[0] - p->at[0]);
	double bound = RB_ORIENT2D_BOUND * (fabs(left) + fabs(right) + RB_BOUND_FLOOR);
	rb_accumulator sum;

	if (left - right > bound)
		return 1;
	if (right - left > bound)
		return -1;
	memset(&sum, 0, sizeof sum);
	rb_accumulator_add(&sum, b->at[0], q->at[1]);
	rb_accumulator_add(&sum, -b->at[0], p->at[1]);
	rb_accumulator_add(&sum, -a->at[0], q->at[1]);
	rb_accumulator_add(&sum, a->at[0], p->at[1]);
	rb_accumulator_add(&sum, -b->at[1], q->at[0]);
	rb_accumulator_add(&sum, b->at[1], p->at[0]);
	rb_accumulator_add(&sum, a->at[1], q->at[0]);
	rb_accumulator_add(&sum, -a->at[1], p->at[0]);
	return rb_accumulator_sign(&sum);
}

static inline void
make_triangle(rb_polygon_face *f, uint32_t a, uint32_t b, uint32_t c)
{
	rb_half_edge *half = f->half;

	half[a].next = half[c].prev = b;
	half[b].next = half[a].prev = c;
	half[c].next = half[b].prev = a;
}

/*
 * Returns true if h is on the border of the current polygon: an edge of the cavity, or a new edge
 * whose other side is still empty.
 */
static inline bool
is_border(const rb_polygon_face *f, uint32_t h)
{
	return f->half[h].mark != 0 || f->half[h ^ 1].next == RB_NONE;
}

/*
 * Restores the Delaunay property around a new corner, which is opposite to t in the triangle on the
 * left of t, by flips.
 */
static void
flip_around_corner(rb_polygon_face *f, uint32_t t)
{
	rb_half_edge *half = f->half;
	uint32_t *stack = f->work;
	uint32_t n = 0;

	stack[n++] = t;
	while (n > 0)
	{
		uint32_t h, tn, tp, hn, hp, u, v, w, x;

		t = stack[--n];
		if (is_border(f, t) || rb_face_stops(f, 1))
			continue;
		h = t ^ 1;
		tn = half[t].next;
		tp = half[t].prev;
		hn = half[h].next;
		hp = half[h].prev;
		v = half[t].from;
		w = half[h].from;
		u = half[tp].from;
		x = half[hp].from;
		if (rb_face_side(f, u, v, w) > 0 && rb_face_incircle(f->vertex[u].at, f->vertex[v].at,
															 f->vertex[w].at, f->vertex[x].at) < 0)
			continue;
		half[t].from = x;
		half[h].from = u;
		make_triangle(f, tp, hn, t);
		make_triangle(f, tn, h, hp);
		stack[n++] = hn;
		stack[n++] = hp;
	}
}

/* Triangulates the region on the left of `base`, whose boundary is one cycle. */
static void
fill_cavity(rb_polygon_face *f, uint32_t base)
{
	rb_half_edge *half = f->half;
	uint32_t *edge = f->work + f->span; /* edge from corner i along the cavity */
	uint32_t *next = edge + f->span;    /* next corner in the current polygon */
	uint32_t *prev = next + f->span;
	uint32_t *order = prev + f->span;
	uint32_t *gap = order + f->span; /* edge of the current polygon from corner i to the next */
	uint32_t m = 0;
	const rb_vertex *a, *b;

	for (uint32_t h = half[base].next; h != base; h = half[h].next)
		edge[m++] = h;
	if (m == 2)
		return;
	/* Corners are numbered 0, ..., m, and base runs from corner m to corner 0. */
	a = f->vertex + half[base].from;
	b = f->vertex + half[base ^ 1].from;
	half[base].mark = 1;
	for (uint32_t i = 0; i < m; i++)
	{
		half[edge[i]].mark = 1;
		next[i] = i + 1;
		prev[i + 1] = i;
		order[i] = i;
	}
#define CORNER(i) (f->vertex + ((i) == m ? half[base].from : half[edge[i]].from))
#define IS_NEARER(i, j) (sign_of_cross(a, b, CORNER(j), CORNER(i)) < 0)
	for (uint32_t k = m - 1; k > 1 && !rb_face_stops(f, 1); k--)
	{
		uint32_t j, i;

		do
		{
			j = 1 + random_below(f, k);
			i = order[j];
		} while (IS_NEARER(i, prev[i]) && IS_NEARER(i, next[i]));
		order[j] = order[k];
		order[k] = i;
		next[prev[i]] = next[i];
		prev[next[i]] = prev[i];
	}
#define MAKE_GAP(i, j)                                                                \
	do                                                                                \
	{                                                                                 \
		if ((j) == (i) + 1)                                                           \
			gap[i] = edge[i];                                                         \
		else                                                                          \
		{                                                                             \
			gap[i] = rb_half_create(f, half[edge[i]].from,                            \
									(j) == m ? half[base].from : half[edge[j]].from); \
			half[gap[i] ^ 1].next = RB_NONE;                                          \
		}                                                                             \
	} while (0)
	if (!f->stopped)
	{
		MAKE_GAP(0, order[1]);
		MAKE_GAP(order[1], m);
		make_triangle(f, base, gap[0], gap[order[1]]);
	}
	for (uint32_t k = 2; k < m && !f->stopped; k++)
	{
		uint32_t i = order[k];
		uint32_t p = prev[i];
		uint32_t h = gap[p] ^ 1;

		MAKE_GAP(p, i);
		MAKE_GAP(i, next[i]);
		make_triangle(f, h, gap[p], gap[i]);
		flip_around_corner(f, h);
	}
#undef CORNER
#undef IS_NEARER
#undef MAKE_GAP
	half[base].mark = 0;
	for (uint32_t i = 0; i < m; i++)
		half[edge[i]].mark = 0;
}

/* ---- one edge ---- */

/* Records that edge h is used once more by a ring. */
static rb_geometry_fault
record_use(rb_polygon_face *f, uint32_t h, uint32_t ring)
{
	uint32_t *first = f->used + h / 2;
	uint32_t i = *first;

	while (i != RB_NONE && f->use[i].ring != ring && !rb_face_stops(f, 1))
		i = f->use[i].next;
	if (f->stopped)
		return RB_GEOMETRY_STOPPED;
	if (i == RB_NONE)
	{
		if (f->nuses == f->uses_cap)
		{
			size_t cap = (size_t) f->uses_cap + f->uses_cap / 2 + 64;

			if (cap >= RB_NONE)
			{
				f->error->status = RB_TOO_MANY_OBJECTS;
				f->error->need = cap;
				f->error->limit = RB_NONE - 1;
				f->error->text[0] = '\0';
				return RB_GEOMETRY_NO_MEMORY;
			}
			if (rb_resize(f->b->memory, &f->b->face_uses, cap * sizeof *f->use, f->error) != RB_OK)
				return RB_GEOMETRY_NO_MEMORY;
			f->use = f->b->face_uses;
			f->uses_cap = (uint32_t) cap;
		}
		i = f->nuses++;
		f->use[i] = (rb_use){ring, false, *first};
		*first = i;
	}
	f->use[i].odd = !f->use[i].odd;
	return RB_GEOMETRY_OK;
}

/*
 * Returns the half-edge from a that the segment from a to b runs along, or that is next to it on
 * its right. The half-edges around a and around b are searched alternately, and a and b are
 * exchanged if it is found at b. The cost is therefore that of the corner with fewer neighbors, and
 * the sum of these costs is linear in any planar graph (N. Chiba and T. Nishizeki: Arboricity and
 * Subgraph Listing Algorithms, 1985).
 */
static uint32_t
first_step(rb_polygon_face *f, uint32_t *a, uint32_t *b, bool *along)
{
	uint32_t from[2] = {*a, *b};
	uint32_t h[2];
	int side[2];

	for (int i = 0; i < 2; i++)
	{
		h[i] = f->vertex[from[i]].half;
		side[i] = rb_face_side(f, from[i], rb_half_to(f, h[i]), from[1 - i]);
	}
	for (int i = 0;; i = 1 - i)
	{
		uint32_t left = rb_half_left(f, h[i]);
		uint32_t to = rb_half_to(f, h[i]);
		/* side of the other corner with respect to the next half-edge */
		int next = rb_face_side(f, from[i], rb_half_to(f, left), from[1 - i]);

		*along = side[i] == 0 && (to > from[i]) == (from[1 - i] > from[i]);
		if (*along || (side[i] > 0 && next < 0) || rb_face_stops(f, 1))
		{
			*a = from[i];
			*b = from[1 - i];
			return h[i];
		}
		h[i] = left;
		side[i] = next;
	}
}

static rb_geometry_fault
crossing_fault(rb_polygon_face *f, uint32_t corner, uint32_t h)
{
	const uint32_t ends[4] = {corner, f->corner[corner].next, f->vertex[f->half[h].from].corner,
							  f->vertex[rb_half_to(f, h)].corner};

	f->info->two_rings = f->use[f->used[h / 2]].ring != f->corner[corner].ring;
	return rb_face_fault(f, RB_GEOMETRY_CROSSING, 4, ends);
}

/* Inserts the ring edge from a corner to the next corner. */
static rb_geometry_fault
put_edge(rb_polygon_face *f, uint32_t corner)
{
	uint32_t a = f->corner[corner].vertex;
	uint32_t b = f->corner[f->corner[corner].next].vertex;
	uint32_t *crossed = f->work;

	while (a != b)
	{
		bool along;
		uint32_t step = first_step(f, &a, &b, &along);
		rb_geometry_fault fault;
		uint32_t h, n = 0;

		if (f->stopped)
			return RB_GEOMETRY_STOPPED;
		if (!along)
		{
			int side;

			/* Walk from triangle to triangle until a corner lies on the edge. */
			h = f->half[step].next;
			do
			{
				uint32_t t = h ^ 1;

				if (f->used[h / 2] != RB_NONE)
					return crossing_fault(f, corner, h);
				if (rb_face_stops(f, 1))
					return RB_GEOMETRY_STOPPED;
				crossed[n++] = h;
				side = rb_face_side(f, a, b, f->half[f->half[t].prev].from);
				h = side < 0 ? f->half[t].prev : f->half[t].next;
			} while (side != 0);
			/* Now h ends at that corner. */
			h = f->half[h].next;
			for (uint32_t i = 0; i < n; i++)
			{
				for (int end = 0; end < 2; end++)
				{
					uint32_t e = crossed[i] ^ (uint32_t) end;
					rb_vertex *v = f->vertex + f->half[e].from;

					if (v->half == e)
						v->half = rb_half_left(f, e);
				}
				rb_half_drop(f, crossed[i]);
			}
			step = rb_half_connect(f, f->half[step].prev, h);
			fill_cavity(f, step);
			fill_cavity(f, step ^ 1);
			if (f->stopped)
				return RB_GEOMETRY_STOPPED;
		}
		fault = record_use(f, step, f->corner[corner].ring);
		if (fault != RB_GEOMETRY_OK)
			return fault;
		a = rb_half_to(f, step);
	}
	return RB_GEOMETRY_OK;
}

rb_geometry_fault
rb_face_edges(rb_polygon_face *f)
{
	f->random = 0;
	f->nuses = 0;
	for (uint32_t h = 0; h < f->nhalves && !rb_face_stops(f, 1); h += 2)
		f->used[h / 2] = RB_NONE;
	for (uint32_t i = 0; i < f->ncorners && !rb_face_stops(f, 1); i++)
	{
		uint32_t j = random_below(f, i + 1);

		f->order[i] = f->order[j];
		f->order[j] = i;
	}
	for (uint32_t i = 0; i < f->ncorners && !f->stopped; i++)
	{
		rb_geometry_fault fault = put_edge(f, f->order[i]);

		if (fault != RB_GEOMETRY_OK)
			return fault;
		if (rb_face_stops(f, 1))
			return RB_GEOMETRY_STOPPED;
	}
	return f->stopped ? RB_GEOMETRY_STOPPED : RB_GEOMETRY_OK;
}
