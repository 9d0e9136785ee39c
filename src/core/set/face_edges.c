/*
 * face_edges.c
 *	  The edges of a face's rings become edges of its triangulation.
 *
 * Edge by edge: those that cross the new one are taken out, the new one is put in,
 * and the hole on each of its sides is triangulated anew.  The edges come in random
 * order, which bounds what long ones cost: n log^2 n steps are expected in all for
 * rings that do not run over each other many times.  Where an edge meets a corner it is
 * cut there; where it meets another ring's edge the face is refused, for their crossing
 * is no corner.
 *
 * The hole beside an edge from a to b is a polygon each of whose corners sees the
 * edge, and its constrained Delaunay triangulation takes linear time: corners are
 * taken off in random order, and put back one by one with flips.  A corner that is
 * nearer to the edge than both of its neighbours may not be taken off, for then the
 * rest would not be a polygon; it might overlap itself, which does no harm.
 *
 * J. R. Shewchuk and B. C. Brown: Fast Segment Insertion and Incremental
 * Construction of Constrained Delaunay Triangulations, 2015.  The numbers are
 * pseudo-random and always the same, and the result depends on none of them.
 */
#include "core/set/rb_face.h"
#include "core/exact/rb_accumulator.h"
#include "core/exact/rb_orient.h"

/* 0 .. n - 1; splitmix64 */
static uint32_t
below(rb_face *f, uint32_t n)
{
	uint64_t z = (f->random += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t) (((z ^ (z >> 31)) >> 32) * n >> 32);
}

/* ---- the hole beside an edge ---- */

/* the sign of (b - a) x (q - p) */
static int
cross(const rb_vertex *a, const rb_vertex *b, const rb_vertex *p, const rb_vertex *q)
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
make_triangle(rb_face *f, uint32_t a, uint32_t b, uint32_t c)
{
	rb_half *half = f->half;

	half[a].next = half[c].prev = b;
	half[b].next = half[a].prev = c;
	half[c].next = half[b].prev = a;
}

/* an edge of the polygon at hand that is no edge of the hole has nothing on its other side yet */
static inline bool
is_border(const rb_face *f, uint32_t h)
{
	return f->half[h].mark != 0 || f->half[h ^ 1].next == RB_NONE;
}

/*
 * The triangle left of t has a new corner opposite to t.  Flip what must be flipped
 * around that corner.
 */
static void
settle(rb_face *f, uint32_t t)
{
	rb_half *half = f->half;
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

/* triangulates the region on the left of `base`, which is one cycle */
static void
fill(rb_face *f, uint32_t base)
{
	rb_half *half = f->half;
	uint32_t *edge = f->work + f->span; /* from corner i, in the hole; ... */
	uint32_t *next = edge + f->span;    /* ... what is next to it in the polygon at hand, ... */
	uint32_t *prev = next + f->span;
	uint32_t *order = prev + f->span;
	uint32_t *gap = order + f->span; /* ... and the edge of that polygon to the next one */
	uint32_t m = 0;
	const rb_vertex *a, *b;

	for (uint32_t h = half[base].next; h != base; h = half[h].next)
		edge[m++] = h;
	if (m == 2)
		return;
	/* corners 0, ..., m; base runs from m to 0 */
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
#define IS_NEARER(i, j) (cross(a, b, CORNER(j), CORNER(i)) < 0)
	for (uint32_t k = m - 1; k > 1 && !rb_face_stops(f, 1); k--)
	{
		uint32_t j, i;

		do
		{
			j = 1 + below(f, k);
			i = order[j];
		} while (IS_NEARER(i, prev[i]) && IS_NEARER(i, next[i]));
		order[j] = order[k];
		order[k] = i;
		next[prev[i]] = next[i];
		prev[next[i]] = prev[i];
	}
#define MAKE_GAP(i, j)                                                              \
	do                                                                              \
	{                                                                               \
		if ((j) == (i) + 1)                                                         \
			gap[i] = edge[i];                                                       \
		else                                                                        \
		{                                                                           \
			gap[i] = rb_half_make(f, half[edge[i]].from,                            \
								  (j) == m ? half[base].from : half[edge[j]].from); \
			half[gap[i] ^ 1].next = RB_NONE;                                        \
		}                                                                           \
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
		settle(f, h);
	}
#undef CORNER
#undef IS_NEARER
#undef MAKE_GAP
	half[base].mark = 0;
	for (uint32_t i = 0; i < m; i++)
		half[edge[i]].mark = 0;
}

/* ---- one edge ---- */

/* that edge is one of this ring, once more */
static rb_geometry_fault
use(rb_face *f, uint32_t h, uint32_t ring)
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
 * The half-edge from a that the way to b takes, or has on its right.  We look around a
 * and around b in turn, and exchange them if it is found at b: so of two corners the
 * one with fewer neighbours counts, and the sum of that is linear in any plane graph
 * (N. Chiba and T. Nishizeki: Arboricity and Subgraph Listing Algorithms, 1985).
 */
static uint32_t
first_step(rb_face *f, uint32_t *a, uint32_t *b, bool *along)
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
		/* is the other one left of the next half-edge? */
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
crossing(rb_face *f, uint32_t corner, uint32_t h)
{
	const uint32_t ends[4] = {corner, f->corner[corner].next, f->vertex[f->half[h].from].corner,
							  f->vertex[rb_half_to(f, h)].corner};

	f->info->two_rings = f->use[f->used[h / 2]].ring != f->corner[corner].ring;
	return rb_face_fault(f, RB_GEOMETRY_CROSSING, 4, ends);
}

/* the edge of a ring from that corner to the next */
static rb_geometry_fault
put_edge(rb_face *f, uint32_t corner)
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

			/* from triangle to triangle until a corner lies on the way */
			h = f->half[step].next;
			do
			{
				uint32_t t = h ^ 1;

				if (f->used[h / 2] != RB_NONE)
					return crossing(f, corner, h);
				if (rb_face_stops(f, 1))
					return RB_GEOMETRY_STOPPED;
				crossed[n++] = h;
				side = rb_face_side(f, a, b, f->half[f->half[t].prev].from);
				h = side < 0 ? f->half[t].prev : f->half[t].next;
			} while (side != 0);
			/* h runs to that corner */
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
			fill(f, step);
			fill(f, step ^ 1);
			if (f->stopped)
				return RB_GEOMETRY_STOPPED;
		}
		fault = use(f, step, f->corner[corner].ring);
		if (fault != RB_GEOMETRY_OK)
			return fault;
		a = rb_half_to(f, step);
	}
	return RB_GEOMETRY_OK;
}

rb_geometry_fault
rb_face_edges(rb_face *f)
{
	f->random = 0;
	f->nuses = 0;
	for (uint32_t h = 0; h < f->nhalves && !rb_face_stops(f, 1); h += 2)
		f->used[h / 2] = RB_NONE;
	for (uint32_t i = 0; i < f->ncorners && !rb_face_stops(f, 1); i++)
	{
		uint32_t j = below(f, i + 1);

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
