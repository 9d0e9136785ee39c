/*
 * polygon_delaunay.c
 *	  Computes the Delaunay triangulation of the corners of a face by divide and conquer.
 *
 * The vertices are sorted and split recursively into sets of two or three. The triangulations of
 * the halves are merged bottom-up along the cut, as by Guibas and Stolfi, 1985, whose variable
 * names are used in the merge. This takes O(n log n) steps for any input, since there is no
 * insertion order that could be bad and no point location by walking.
 */
#include "core/set/polygon.h"
#include "core/exact/orient.h"

int
rb_face_side(const rb_polygon_face *f, uint32_t a, uint32_t b, uint32_t c)
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

uint32_t
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
splice_edges(rb_polygon_face *f, uint32_t a, uint32_t b)
{
	rb_half_edge *half = f->half;
	uint32_t p = half[a].prev, q = half[b].prev;

	half[a].prev = q;
	half[q].next = a;
	half[b].prev = p;
	half[p].next = b;
}

/* Adds an edge from the end of a to the start of b, with their common region on its left. */
uint32_t
rb_half_connect(rb_polygon_face *f, uint32_t a, uint32_t b)
{
	uint32_t h = rb_half_create(f, rb_half_to(f, a), f->half[b].from);

	splice_edges(f, h, f->half[a].next);
	splice_edges(f, h ^ 1, b);
	return h;
}

void
rb_half_drop(rb_polygon_face *f, uint32_t h)
{
	splice_edges(f, h, rb_half_right(f, h));
	splice_edges(f, h ^ 1, rb_half_right(f, h ^ 1));
	h &= ~(uint32_t) 1;
	f->half[h].from = f->half[h ^ 1].from = RB_NONE;
	f->half[h].next = f->spare;
	f->spare = h;
}

/* ---- sorted vertices ---- */

/* Sorts the first n vertices by a bottom-up merge sort. The buffer has room for n. */
static void
sort_vertices(rb_polygon_face *f, uint32_t n, rb_vertex *buffer)
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
make_vertices(rb_polygon_face *f)
{
	uint32_t n = f->ncorners;
	uint32_t last = 0;

	for (uint32_t i = 0; i < n && !rb_face_stops(f, 1); i++)
		f->vertex[i] =
			(rb_vertex){{f->corner[i].at[f->axis[0]], f->corner[i].at[f->axis[1]]}, i, 0};
	if (!f->stopped)
		sort_vertices(f, n, (rb_vertex *) f->half);
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

static inline bool
in_circle(const rb_polygon_face *f, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	const rb_vertex *v = f->vertex;

	return rb_face_incircle(v[a].at, v[b].at, v[c].at, v[d].at) > 0;
}

/* Returns true if h ends to the right of base, which is above it. */
static inline bool
is_above(const rb_polygon_face *f, uint32_t h, uint32_t base)
{
	return rb_face_side(f, rb_half_to(f, h), rb_half_to(f, base), f->half[base].from) > 0;
}

typedef struct hull
{
	uint32_t left;  /* counterclockwise hull edge from the leftmost vertex */
	uint32_t right; /* clockwise hull edge from the rightmost vertex */
} hull;

static hull
merge_halves(rb_polygon_face *f, hull l, hull r)
{
	hull both = {l.left, r.right};
	uint32_t ldi = l.right, rdi = r.left;
	uint32_t base;

	/* Find the lower common tangent. */
	for (;;)
	{
		if (rb_face_side(f, f->half[rdi].from, f->half[ldi].from, rb_half_to(f, ldi)) > 0)
			ldi = f->half[ldi].next;
		else if (rb_face_side(f, f->half[ldi].from, rb_half_to(f, rdi), f->half[rdi].from) > 0)
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
		bool on_left = is_above(f, lcand, base);
		bool on_right = is_above(f, rcand, base);

		if (on_left)
			while (
				in_circle(f, to, from, rb_half_to(f, lcand), rb_half_to(f, rb_half_left(f, lcand))))
			{
				uint32_t next = rb_half_left(f, lcand);

				rb_half_drop(f, lcand);
				lcand = next;
			}
		if (on_right)
			while (in_circle(f, to, from, rb_half_to(f, rcand),
							 rb_half_to(f, rb_half_right(f, rcand))))
			{
				uint32_t next = rb_half_right(f, rcand);

				rb_half_drop(f, rcand);
				rcand = next;
			}
		if (!on_left && !on_right)
			break;
		if (!on_left || (on_right && in_circle(f, rb_half_to(f, lcand), f->half[lcand].from,
											   f->half[rcand].from, rb_half_to(f, rcand))))
			base = rb_half_connect(f, rcand, base ^ 1);
		else
			base = rb_half_connect(f, base ^ 1, lcand ^ 1);
	}
	return both;
}

/* Triangulates n >= 2 vertices. The recursion depth is logarithmic in n. */
static hull
triangulate_range(rb_polygon_face *f, uint32_t first, uint32_t n)
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
		int side = rb_face_side(f, first, first + 1, first + 2);

		a = rb_half_create(f, first, first + 1);
		b = rb_half_create(f, first + 1, first + 2);
		splice_edges(f, a ^ 1, b);
		if (side == 0)
			return (hull){a, b ^ 1};
		c = rb_half_connect(f, b, a);
		return side > 0 ? (hull){a, b ^ 1} : (hull){c ^ 1, c};
	}
	l = triangulate_range(f, first, n / 2);
	r = triangulate_range(f, first + n / 2, n - n / 2);
	return f->stopped ? l : merge_halves(f, l, r);
}

rb_geometry_fault
rb_face_points(rb_polygon_face *f)
{
	rb_geometry_fault fault = make_vertices(f);

	if (fault != RB_GEOMETRY_OK)
		return fault;
	f->nhalves = 0;
	f->spare = RB_NONE;
	f->outside = triangulate_range(f, 0, f->nvertices).left ^ 1;
	for (uint32_t h = 0; h < f->nhalves && !rb_face_stops(f, 1); h++)
		if (f->half[h].from != RB_NONE)
			f->vertex[f->half[h].from].half = h;
	return f->stopped ? RB_GEOMETRY_STOPPED : RB_GEOMETRY_OK;
}
