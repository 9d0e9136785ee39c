/*
 * polygon_delaunay.c
 *	  Computes the Delaunay triangulation of the corners of a face by divide and conquer.
 *
 * The vertices are sorted and split recursively into sets of two or three. The triangulations of
 * the halves are merged bottom-up along the cut, as by Guibas and Stolfi, 1985, whose variable
 * names are used in the merge. This takes O(n log n) steps for any input, since there is no
 * insertion order that could be bad and no point location by walking.
 */
#include "core/set/face.h"
#include "core/base/hash.h"
#include "core/exact/orient.h"
#include "core/exact/expansion.h"

/*
 * Returns 1 if vertex c of the triangulated face is left of the line from a to b, -1 if right of
 * it, 0 if on it.
 */
static int
side_of_face_edge(const rb_polygon_face *f, uint32_t a, uint32_t b, uint32_t c)
{
	const rb_vertex *p = f->vertex + a, *q = f->vertex + b, *r = f->vertex + c;
	int sign = rb_orient2d_filter(p->at[0], p->at[1], q->at[0], q->at[1], r->at[0], r->at[1]);

	return sign != RB_UNSURE ? sign : rb_orient2d(p->at, q->at, r->at);
}

/*
 * Four cocircular corners have two Delaunay triangulations. The one whose diagonal ends at the
 * smallest corner, in the order of x, then y, is chosen. This is the correct triangulation if each
 * corner is lifted to slightly below the paraboloid, by an amount that is larger by orders of
 * magnitude for smaller corners. All choices are therefore consistent, and cocircular corners form
 * a fan around the smallest one. (O. Devillers and M. Teillaud: Perturbations for Delaunay and
 * Weighted Delaunay 3D Triangulations, 2011.)
 */
int
rb_face_incircle(const double *a, const double *b, const double *c, const double *d)
{
	int sign = rb_incircle(a, b, c, d);

	if (sign != 0)
		return sign;
	if (rb_face_is_below(d, a) && rb_face_is_below(d, b) && rb_face_is_below(d, c))
		return 1;
	/* Determine whether the smallest corner is opposite d on the circle or adjacent to it. */
	if (rb_face_is_below(a, b) && rb_face_is_below(a, c))
		return rb_orient2d(b, c, d) < 0 ? 1 : -1;
	if (rb_face_is_below(b, c))
		return rb_orient2d(c, a, d) < 0 ? 1 : -1;
	return rb_orient2d(a, b, d) < 0 ? 1 : -1;
}

/* ---- half-edges ---- */

/* Creates an edge from one vertex to another. Returns its first half. */
static uint32_t
rb_half_create(rb_polygon_face *f, uint32_t from, uint32_t to)
{
	uint32_t h = f->spare;

	if (h != RB_NONE)
		f->spare = f->half[h].next;
	else
	{
		h = f->nhalves;
		f->nhalves += 2;
	}
	f->half[h] = (rb_half_edge){from, h ^ 1, h ^ 1, 0};
	f->half[h ^ 1] = (rb_half_edge){to, h, h, 0};
	return h;
}

/*
 * Exchanges the successors of a and b, which start at the same vertex, in the order around it
 * (Splice of Guibas and Stolfi).
 */
static void
splice_half_edges(rb_polygon_face *f, uint32_t a, uint32_t b)
{
	rb_half_edge *half = f->half;
	uint32_t p = half[a].prev, q = half[b].prev;

	half[a].prev = q;
	half[q].next = a;
	half[b].prev = p;
	half[p].next = b;
}

/* Adds an edge from the end of a to the start of b, with their common region on its left. */
static uint32_t
rb_half_connect(rb_polygon_face *f, uint32_t a, uint32_t b)
{
	uint32_t h = rb_half_create(f, rb_half_to(f, a), f->half[b].from);

	splice_half_edges(f, h, f->half[a].next);
	splice_half_edges(f, h ^ 1, b);
	return h;
}

/* Removes an edge and stores it for reuse. */
static void
rb_half_drop(rb_polygon_face *f, uint32_t h)
{
	splice_half_edges(f, h, rb_half_right(f, h));
	splice_half_edges(f, h ^ 1, rb_half_right(f, h ^ 1));
	h &= ~(uint32_t) 1;
	f->half[h].from = f->half[h ^ 1].from = RB_NONE;
	f->half[h].next = f->spare;
	f->spare = h;
}

/* ---- sorted vertices ---- */

/* Sorts the first n vertices by a bottom-up merge sort. The buffer has room for n. */
static void
sort_face_vertices(rb_polygon_face *f, uint32_t n, rb_vertex *buffer)
{
	rb_vertex *from = f->vertex, *to = buffer;

	for (uint64_t width = 1; width < n; width *= 2)
	{
		for (uint64_t lo = 0; lo < n; lo += 2 * width)
		{
			uint64_t mid = lo + width < n ? lo + width : n;
			uint64_t hi = mid + width < n ? mid + width : n;
			uint64_t i = lo, j = mid;

			for (uint64_t k = lo; k < hi; k++)
			{
				to[k] = j == hi || (i < mid && !rb_face_is_below(from[j].at, from[i].at))
							? from[i++]
							: from[j++];
				if ((k & 0xfff) == 0xfff && rb_face_stops(f, 0x1000 / 8))
					return;
			}
		}
		{
			rb_vertex *other = from;

			from = to;
			to = other;
		}
	}
	if (from != f->vertex)
		memcpy(f->vertex, from, (size_t) n * sizeof *from);
}

/* Turns corners into sorted vertices, and corners with equal coordinates into one vertex. */
static rb_geometry_fault
make_vertices_of_corners(rb_polygon_face *f)
{
	uint32_t n = f->ncorners;
	uint32_t last = 0;

	for (uint32_t i = 0; i < n && !rb_face_stops(f, 1); i++)
		f->vertex[i] =
			(rb_vertex){{f->corner[i].at[f->axis[0]], f->corner[i].at[f->axis[1]]}, i, 0};
	if (!f->stopped)
		sort_face_vertices(f, n, (rb_vertex *) f->half);
	if (f->stopped)
		return RB_GEOMETRY_STOPPED;
	f->corner[f->vertex[0].corner].vertex = 0;
	for (uint32_t i = 1; i < n; i++)
	{
		const rb_vertex *v = f->vertex + i;

		if (rb_face_stops(f, 1))
			return RB_GEOMETRY_STOPPED;
		if (!rb_face_is_below(f->vertex[last].at, v->at))
		{
			int dropped = 3 - f->axis[0] - f->axis[1];
			const uint32_t both[2] = {f->vertex[last].corner, v->corner};

			if (f->corner[both[0]].at[dropped] != f->corner[both[1]].at[dropped])
				return rb_face_fault(f, RB_GEOMETRY_ABOVE, 2, both);
		}
		else
			f->vertex[++last] = *v;
		f->corner[v->corner].vertex = last;
	}
	f->nvertices = last + 1;
	return RB_GEOMETRY_OK;
}

/* ---- the triangulation ---- */

/*
 * Returns true if vertex d is inside the circle through a, b and c, in the projection of the face.
 */
static inline bool
is_vertex_in_circle(const rb_polygon_face *f, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	const rb_vertex *v = f->vertex;

	return rb_face_incircle(v[a].at, v[b].at, v[c].at, v[d].at) > 0;
}

/* Returns true if h ends to the right of base, that is, above it. */
static inline bool
is_half_edge_above(const rb_polygon_face *f, uint32_t h, uint32_t base)
{
	return side_of_face_edge(f, rb_half_to(f, h), rb_half_to(f, base), f->half[base].from) > 0;
}

typedef struct hull
{
	uint32_t left;  /* counterclockwise hull edge from the leftmost vertex */
	uint32_t right; /* clockwise hull edge from the rightmost vertex */
} hull;

/* Merges the triangulations of two separate hulls. */
static hull
merge_vertex_hulls(rb_polygon_face *f, hull l, hull r)
{
	hull both = {l.left, r.right};
	uint32_t ldi = l.right, rdi = r.left;
	uint32_t base;

	/* Find the lower common tangent. */
	for (;;)
	{
		if (side_of_face_edge(f, f->half[rdi].from, f->half[ldi].from, rb_half_to(f, ldi)) > 0)
			ldi = f->half[ldi].next;
		else if (side_of_face_edge(f, f->half[ldi].from, rb_half_to(f, rdi), f->half[rdi].from) > 0)
			rdi = rb_half_left(f, rdi ^ 1);
		else
			break;
	}
	base = rb_half_connect(f, rdi ^ 1, ldi);
	if (f->half[ldi].from == f->half[l.left].from)
		both.left = base ^ 1;
	if (f->half[rdi].from == f->half[r.right].from)
		both.right = base;

	/* Zip the two halves together from the bottom up (the rising bubble). */
	while (!rb_face_stops(f, 1))
	{
		uint32_t from = f->half[base].from, to = rb_half_to(f, base);
		uint32_t lcand = rb_half_left(f, base ^ 1);
		uint32_t rcand = rb_half_right(f, base);
		bool on_left = is_half_edge_above(f, lcand, base);
		bool on_right = is_half_edge_above(f, rcand, base);

		if (on_left)
			while (is_vertex_in_circle(f, to, from, rb_half_to(f, lcand),
									   rb_half_to(f, rb_half_left(f, lcand))))
			{
				uint32_t next = rb_half_left(f, lcand);

				rb_half_drop(f, lcand);
				lcand = next;
			}
		if (on_right)
			while (is_vertex_in_circle(f, to, from, rb_half_to(f, rcand),
									   rb_half_to(f, rb_half_right(f, rcand))))
			{
				uint32_t next = rb_half_right(f, rcand);

				rb_half_drop(f, rcand);
				rcand = next;
			}
		if (!on_left && !on_right)
			break;
		if (!on_left ||
			(on_right && is_vertex_in_circle(f, rb_half_to(f, lcand), f->half[lcand].from,
											 f->half[rcand].from, rb_half_to(f, rcand))))
			base = rb_half_connect(f, rcand, base ^ 1);
		else
			base = rb_half_connect(f, base ^ 1, lcand ^ 1);
	}
	return both;
}

/* Triangulates n >= 2 vertices. The recursion depth is logarithmic in n. */
static hull
triangulate_vertex_range(rb_polygon_face *f, uint32_t first, uint32_t n)
{
	uint32_t a, b, c;
	hull l, r;

	if (n == 2)
	{
		a = rb_half_create(f, first, first + 1);
		return (hull){a, a ^ 1};
	}
	if (n == 3)
	{
		int side = side_of_face_edge(f, first, first + 1, first + 2);

		a = rb_half_create(f, first, first + 1);
		b = rb_half_create(f, first + 1, first + 2);
		splice_half_edges(f, a ^ 1, b);
		if (side == 0)
			return (hull){a, b ^ 1};
		c = rb_half_connect(f, b, a);
		return side > 0 ? (hull){a, b ^ 1} : (hull){c ^ 1, c};
	}
	l = triangulate_vertex_range(f, first, n / 2);
	r = triangulate_vertex_range(f, first + n / 2, n - n / 2);
	return f->stopped ? l : merge_vertex_hulls(f, l, r);
}

rb_geometry_fault
rb_face_points(rb_polygon_face *f)
{
	rb_geometry_fault fault = make_vertices_of_corners(f);

	if (fault != RB_GEOMETRY_OK)
		return fault;
	f->nhalves = 0;
	f->spare = RB_NONE;
	f->outside = triangulate_vertex_range(f, 0, f->nvertices).left ^ 1;
	for (uint32_t h = 0; h < f->nhalves && !rb_face_stops(f, 1); h++)
		if (f->half[h].from != RB_NONE)
			f->vertex[f->half[h].from].half = h;
	return f->stopped ? RB_GEOMETRY_STOPPED : RB_GEOMETRY_OK;
}

/* ---- constraints ---- */

/*
 * Inserts the edges of a face's rings into its Delaunay triangulation as constraints.
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

/* Returns a pseudo-random number in 0 .. n - 1 (splitmix64). */
static uint32_t
random_corner_below(rb_polygon_face *f, uint32_t n)
{
	f->random += UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t) ((rb_splitmix(f->random) >> 32) * n >> 32);
}

/* ---- the cavity beside an edge ---- */

/*
 * Returns the sign of (b - a) x (q - p), by which the vertices p and q of a face are compared in
 * their distance from edge ab while its ring edges are inserted.
 */
static int
sign_of_ring_cross(const rb_vertex *a, const rb_vertex *b, const rb_vertex *p, const rb_vertex *q)
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

/* Links three half-edges to a triangle. */
static inline void
link_half_edges_to_triangle(rb_polygon_face *f, uint32_t a, uint32_t b, uint32_t c)
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
is_border_of_cavity(const rb_polygon_face *f, uint32_t h)
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
		if (is_border_of_cavity(f, t) || rb_face_stops(f, 1))
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
		if (side_of_face_edge(f, u, v, w) > 0 &&
			rb_face_incircle(f->vertex[u].at, f->vertex[v].at, f->vertex[w].at, f->vertex[x].at) <
				0)
			continue;
		half[t].from = x;
		half[h].from = u;
		link_half_edges_to_triangle(f, tp, hn, t);
		link_half_edges_to_triangle(f, tn, h, hp);
		stack[n++] = hn;
		stack[n++] = hp;
	}
}

/* Triangulates the region on the left of `base`, whose boundary is one cycle. */
static void
triangulate_cavity_region(rb_polygon_face *f, uint32_t base)
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
#define IS_NEARER(i, j) (sign_of_ring_cross(a, b, CORNER(j), CORNER(i)) < 0)
	for (uint32_t k = m - 1; k > 1 && !rb_face_stops(f, 1); k--)
	{
		uint32_t j, i;

		do
		{
			j = 1 + random_corner_below(f, k);
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
		link_half_edges_to_triangle(f, base, gap[0], gap[order[1]]);
	}
	for (uint32_t k = 2; k < m && !f->stopped; k++)
	{
		uint32_t i = order[k];
		uint32_t p = prev[i];
		uint32_t h = gap[p] ^ 1;

		MAKE_GAP(p, i);
		MAKE_GAP(i, next[i]);
		link_half_edges_to_triangle(f, h, gap[p], gap[i]);
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
record_ring_edge_use(rb_polygon_face *f, uint32_t h, uint32_t ring)
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
find_half_edge_toward(rb_polygon_face *f, uint32_t *a, uint32_t *b, bool *along)
{
	uint32_t from[2] = {*a, *b};
	uint32_t h[2];
	int side[2];

	for (int i = 0; i < 2; i++)
	{
		h[i] = f->vertex[from[i]].half;
		side[i] = side_of_face_edge(f, from[i], rb_half_to(f, h[i]), from[1 - i]);
	}
	for (int i = 0;; i = 1 - i)
	{
		uint32_t left = rb_half_left(f, h[i]);
		uint32_t to = rb_half_to(f, h[i]);
		/* side of the other corner with respect to the next half-edge */
		int next = side_of_face_edge(f, from[i], rb_half_to(f, left), from[1 - i]);

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

/* Records that the ring edge at a corner crosses the ring edge h. */
static rb_geometry_fault
record_ring_crossing(rb_polygon_face *f, uint32_t corner, uint32_t h)
{
	const uint32_t ends[4] = {corner, f->corner[corner].next, f->vertex[f->half[h].from].corner,
							  f->vertex[rb_half_to(f, h)].corner};

	f->info->two_rings = f->use[f->used[h / 2]].ring != f->corner[corner].ring;
	return rb_face_fault(f, RB_GEOMETRY_CROSSING, 4, ends);
}

/* Inserts the ring edge from a corner to the next corner. */
static rb_geometry_fault
insert_edge_of_ring(rb_polygon_face *f, uint32_t corner)
{
	uint32_t a = f->corner[corner].vertex;
	uint32_t b = f->corner[f->corner[corner].next].vertex;
	uint32_t *crossed = f->work;

	while (a != b)
	{
		bool along;
		uint32_t step = find_half_edge_toward(f, &a, &b, &along);
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
					return record_ring_crossing(f, corner, h);
				if (rb_face_stops(f, 1))
					return RB_GEOMETRY_STOPPED;
				crossed[n++] = h;
				side = side_of_face_edge(f, a, b, f->half[f->half[t].prev].from);
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
			triangulate_cavity_region(f, step);
			triangulate_cavity_region(f, step ^ 1);
			if (f->stopped)
				return RB_GEOMETRY_STOPPED;
		}
		fault = record_ring_edge_use(f, step, f->corner[corner].ring);
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
		uint32_t j = random_corner_below(f, i + 1);

		f->order[i] = f->order[j];
		f->order[j] = i;
	}
	for (uint32_t i = 0; i < f->ncorners && !f->stopped; i++)
	{
		rb_geometry_fault fault = insert_edge_of_ring(f, f->order[i]);

		if (fault != RB_GEOMETRY_OK)
			return fault;
		if (rb_face_stops(f, 1))
			return RB_GEOMETRY_STOPPED;
	}
	return f->stopped ? RB_GEOMETRY_STOPPED : RB_GEOMETRY_OK;
}

/* ---- regions inside the face ---- */

/*
 * Finds the regions of the triangulation that are inside the face and writes them as triangles.
 *
 * The plane is flooded from outside. Crossing an edge that the outer ring uses an odd number of
 * times enters or leaves that ring, and likewise for each hole: this is the even-odd rule. A region
 * is inside the face if it is inside the outer ring and in no hole. A hole must lie inside the
 * outer ring and in no other hole.
 *
 * A ring edge that borders no inside region (a spike) is written as a degenerate triangle, so that
 * no stored point is lost.
 */

/*
 * Location of a region: 0 if not known yet, else 1 + (1 if inside the outer ring) + 2 * (number of
 * the hole's ring, or 0 if in no hole)
 */
#define WHERE(outer, hole) (1 + (uint32_t) (outer) + 2 * (hole))
#define IN_OUTER(where) (((where) -1) & 1)
#define HOLE_OF(where) (((where) -1) / 2)
#define INSIDE WHERE(1, 0)

/*
 * Returns true if a vertex of the triangulated face is inside the ring, by the even-odd rule, or
 * on it.
 */
static bool
is_face_vertex_in_ring(const rb_polygon_face *f, uint32_t ring, uint32_t v)
{
	bool inside = false;

	for (uint32_t i = 0; i < f->ncorners; i++)
	{
		uint32_t p = f->corner[i].vertex, q = f->corner[f->corner[i].next].vertex;
		int side;

		if (f->corner[i].ring != ring)
			continue;
		if (p == v || q == v)
			return true;
		/* Vertex numbers follow the order of x, then y. */
		if ((p < v) == (q < v))
			continue;
		side = p < q ? side_of_face_edge(f, p, q, v) : side_of_face_edge(f, q, p, v);
		if (side == 0)
			return true;
		inside ^= side > 0;
	}
	return inside;
}

/* Returns true if all corners of ring `inner` are inside ring `outer` or on it. */
static bool
is_hole_in_hole(const rb_polygon_face *f, uint32_t inner, uint32_t outer)
{
	for (uint32_t i = 0; i < f->ncorners; i++)
		if (f->corner[i].ring == inner && !is_face_vertex_in_ring(f, outer, f->corner[i].vertex))
			return false;
	return true;
}

/* Classifies how two holes of a face overlap, for the error message. */
static rb_hole_overlap
overlap_of_holes(const rb_polygon_face *f, uint32_t hole, uint32_t other)
{
	const bool in = is_hole_in_hole(f, hole, other), around = is_hole_in_hole(f, other, hole);

	return in && around ? RB_HOLES_EQUAL : in || around ? RB_HOLES_NESTED : RB_HOLES_CROSS;
}

/* Records the fault of a hole at a vertex. */
static rb_geometry_fault
record_hole_fault(rb_polygon_face *f, rb_geometry_fault fault, uint32_t vertex, uint32_t hole,
				  uint32_t other)
{
	f->info->hole = hole;
	f->info->other = other;
	if (fault == RB_GEOMETRY_HOLES)
		f->info->overlap = (uint8_t) overlap_of_holes(f, hole, other);
	return rb_face_fault(f, fault, 1, &f->vertex[vertex].corner);
}

/* Computes the location of the region on the other side of h. */
static rb_geometry_fault
location_across_half_edge(rb_polygon_face *f, uint32_t h, uint32_t *to)
{
	uint32_t where = f->half[h].mark;
	bool outer = IN_OUTER(where);
	uint32_t hole = HOLE_OF(where);
	uint32_t entered = 0;

	for (uint32_t i = f->used[h / 2]; i != RB_NONE; i = f->use[i].next)
	{
		const rb_use *u = f->use + i;

		if (!u->odd)
			continue;
		if (u->ring == 0)
			outer = !outer;
		else if (u->ring == hole)
			hole = 0;
		else if (entered == 0)
			entered = u->ring;
		else
			return record_hole_fault(f, RB_GEOMETRY_HOLES, f->half[h].from, entered, u->ring);
	}
	if (entered != 0 && hole != 0)
		return record_hole_fault(f, RB_GEOMETRY_HOLES, f->half[h].from, hole, entered);
	if (entered != 0)
		hole = entered;
	if (hole != 0 && !outer)
		return record_hole_fault(f, RB_GEOMETRY_HOLE_OUTSIDE, f->half[h].from, hole, 0);
	*to = WHERE(outer, hole);
	return RB_GEOMETRY_OK;
}

/* Marks each half-edge as outside, inside or in a hole. */
static rb_geometry_fault
flood_face_regions(rb_polygon_face *f)
{
	rb_half_edge *half = f->half;
	uint32_t *stack = f->work;
	size_t n = 0;
	uint32_t h = f->outside;

	for (uint32_t i = 0; i < f->nhalves && !rb_face_stops(f, 1); i++)
		half[i].mark = 0;
	if (f->stopped)
		return RB_GEOMETRY_STOPPED;
	do
	{
		half[h].mark = WHERE(0, 0);
		stack[n++] = h;
		h = half[h].next;
	} while (h != f->outside);
	while (n > 0)
	{
		uint32_t t, where = 0;
		rb_geometry_fault fault;

		h = stack[--n];
		t = h ^ 1;
		if (half[t].mark != 0)
			continue;
		if (rb_face_stops(f, 1))
			return RB_GEOMETRY_STOPPED;
		fault = location_across_half_edge(f, h, &where);
		if (fault != RB_GEOMETRY_OK)
			return fault;
		half[t].mark = half[half[t].next].mark = half[half[t].prev].mark = where;
		stack[n++] = half[t].next;
		stack[n++] = half[t].prev;
	}
	return RB_GEOMETRY_OK;
}

/*
 * Checks that each hole that uses the edge h lies inside the outer ring and in no other hole there.
 * This includes holes that enclose no area along the edge.
 */
static rb_geometry_fault
check_hole_at_edge(rb_polygon_face *f, uint32_t h)
{
	uint32_t left = f->half[h].mark, right = f->half[h ^ 1].mark;
	uint32_t within = HOLE_OF(left) == HOLE_OF(right) ? HOLE_OF(left) : 0;

	for (uint32_t i = f->used[h / 2]; i != RB_NONE; i = f->use[i].next)
	{
		uint32_t ring = f->use[i].ring;

		if (ring != 0 && !IN_OUTER(left) && !IN_OUTER(right))
			return record_hole_fault(f, RB_GEOMETRY_HOLE_OUTSIDE, f->half[h].from, ring, 0);
		if (ring != 0 && within != 0 && within != ring)
			return record_hole_fault(f, RB_GEOMETRY_HOLES, f->half[h].from, ring, within);
	}
	return RB_GEOMETRY_OK;
}

/* Returns the fault of a single-point hole that is outside the face or in another hole. */
static rb_geometry_fault
check_single_point_hole(rb_polygon_face *f, uint32_t corner)
{
	uint32_t v = f->corner[corner].vertex;
	uint32_t h = f->vertex[v].half;
	uint32_t hole = 0;

	do
	{
		if (f->half[h].mark == INSIDE)
			return RB_GEOMETRY_OK;
		if (HOLE_OF(f->half[h].mark) != 0)
			hole = HOLE_OF(f->half[h].mark);
		h = rb_half_left(f, h);
	} while (h != f->vertex[v].half && !rb_face_stops(f, 1));
	if (f->stopped)
		return RB_GEOMETRY_STOPPED;
	return record_hole_fault(f, hole != 0 ? RB_GEOMETRY_HOLES : RB_GEOMETRY_HOLE_OUTSIDE, v,
							 f->corner[corner].ring, hole);
}

/*
 * Checks each vertex of a single-point ring only once, since check_single_point_hole examines all
 * regions around it.
 */
static rb_geometry_fault
check_single_point_holes(rb_polygon_face *f)
{
	uint32_t *judged = f->order;
	rb_geometry_fault fault = RB_GEOMETRY_OK;

	memset(judged, 0, f->nvertices * sizeof *judged);
	for (uint32_t i = 0; i < f->ncorners && fault == RB_GEOMETRY_OK; i++)
	{
		uint32_t v = f->corner[i].vertex;

		if (f->corner[i].next != i || judged[v])
			continue;
		judged[v] = 1;
		fault = check_single_point_hole(f, i);
	}
	return fault;
}

/* Returns the coordinates of the corner at which h starts. */
static inline const double *
get_corner_of_half_edge(const rb_polygon_face *f, uint32_t h)
{
	return f->corner[f->vertex[f->half[h].from].corner].at;
}

/* Writes the triangle on the left of h, in the orientation of its ring. */
static inline void
write_face_triangle(const rb_polygon_face *f, uint32_t h, double *to)
{
	uint32_t next = f->half[h].next, prev = f->half[h].prev;

	memcpy(to, get_corner_of_half_edge(f, h), 3 * sizeof(double));
	memcpy(to + 3, get_corner_of_half_edge(f, f->turn < 0 ? prev : next), 3 * sizeof(double));
	memcpy(to + 6, get_corner_of_half_edge(f, f->turn < 0 ? next : prev), 3 * sizeof(double));
}

/*
 * Returns true if h represents its triangle: the triangle is inside the face, and h starts at its
 * smallest vertex.
 */
static inline bool
is_triangle_of_face(const rb_polygon_face *f, uint32_t h)
{
	uint32_t from = f->half[h].from;

	return f->half[h].mark == INSIDE && from < f->half[f->half[h].next].from &&
		   from < f->half[f->half[h].prev].from;
}

/*
 * Returns true if h represents a spike: it is the first half of a ring edge with the inside of the
 * face on neither side.
 */
static inline bool
is_spike_edge(const rb_polygon_face *f, uint32_t h)
{
	return (h & 1) == 0 && f->used[h / 2] != RB_NONE && f->half[h].mark != INSIDE &&
		   f->half[h ^ 1].mark != INSIDE;
}

rb_geometry_fault
rb_face_inside(rb_polygon_face *f)
{
	rb_geometry_fault fault = flood_face_regions(f);
	rb_builder *b = f->b;
	size_t parts = 0;
	double *to;

	/* Check the edges, and count the triangles and spikes. */
	for (uint32_t h = 0; h < f->nhalves && fault == RB_GEOMETRY_OK; h++)
	{
		if (f->half[h].from == RB_NONE)
			continue;
		if ((h & 1) == 0)
			fault = check_hole_at_edge(f, h);
		parts += (size_t) is_triangle_of_face(f, h) + is_spike_edge(f, h);
		if (rb_face_stops(f, 1))
			return RB_GEOMETRY_STOPPED;
	}
	if (fault == RB_GEOMETRY_OK)
		fault = check_single_point_holes(f);
	if (fault != RB_GEOMETRY_OK)
		return fault;
	if (rb_builder_reserve(b, parts, f->error) != RB_OK)
		return RB_GEOMETRY_NO_MEMORY;
	to = b->coords + (size_t) b->nparts * 9;
	for (uint32_t h = 0; h < f->nhalves; h++)
	{
		if (f->half[h].from == RB_NONE)
			continue;
		if (rb_face_stops(f, 1))
			return RB_GEOMETRY_STOPPED;
		if (is_triangle_of_face(f, h))
			write_face_triangle(f, h, to);
		else if (!is_spike_edge(f, h))
			continue;
		else
		{
			memcpy(to, get_corner_of_half_edge(f, h), 3 * sizeof(double));
			memcpy(to + 3, get_corner_of_half_edge(f, h ^ 1), 3 * sizeof(double));
			memcpy(to + 6, get_corner_of_half_edge(f, h ^ 1), 3 * sizeof(double));
		}
		to += 9;
	}
	b->nparts += (uint32_t) parts;
	return RB_GEOMETRY_OK;
}
