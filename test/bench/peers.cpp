/*
 * peers.cpp
 *	  Joins by CGAL: box_intersection_d with do_intersect, and AABB_tree.
 *
 * Both use CGAL's exact-predicates kernel on one thread, as its manual shows them, so their results
 * are exact if the kernel's preconditions hold. There is one: do_intersect accepts no degenerate
 * objects (with NDEBUG, it returns an arbitrary result). Data may contain some, so each object has
 * its dimension, and a triangle without area is given to CGAL as a segment or a point. For data
 * without them, this costs a byte comparison per pair.
 *
 * The tree is built from the larger set, and returns all primitives that meet each object of the
 * smaller set.
 */
#include "peers.h"

#include <time.h>

#include <vector>

#include <CGAL/AABB_traits.h>
#include <CGAL/AABB_tree.h>
#include <CGAL/AABB_triangle_primitive.h>
#include <CGAL/Box_intersection_d/Box_with_info_d.h>
#include <CGAL/Exact_predicates_inexact_constructions_kernel.h>
#include <CGAL/box_intersection_d.h>
#include <CGAL/intersections.h>

typedef CGAL::Exact_predicates_inexact_constructions_kernel K;
typedef K::Point_3 Point3;
typedef K::Segment_3 Segment3;
typedef K::Triangle_3 Triangle3;
typedef K::Point_2 Point2;
typedef K::Segment_2 Segment2;

namespace
{

struct Clock
{
	double wall0, cpu0;

	static double now(clockid_t clock)
	{
		timespec t;

		clock_gettime(clock, &t);
		return t.tv_sec + 1e-9 * t.tv_nsec;
	}

	static double wall()
	{
		return now(CLOCK_MONOTONIC);
	}

	static double cpu()
	{
		return now(CLOCK_THREAD_CPUTIME_ID);
	}

	Clock() : wall0(wall()), cpu0(cpu())
	{
	}

	void stop(peer_run *run) const
	{
		run->wall = wall() - wall0;
		run->cpu = cpu() - cpu0;
	}
};

inline void
put(pair_list *out, peer_run *run, uint32_t red, uint32_t blue)
{
	run->pairs++;
	if (out == NULL)
		return;
	if (out->n == out->room)
		pair_list_grow(out, 1);
	out->pairs[out->n].red = red;
	out->pairs[out->n].blue = blue;
	out->n++;
}

/* ---- objects in CGAL's types ---- */

/*
 * Triangle; if dim is 1, the segment between its corners end[0] and end[1]; if dim is 0, the point
 * at which all corners lie
 */
struct Tri
{
	Triangle3 t;
	unsigned char dim, end[2];

	explicit Tri(const double *c)
		: t(Point3(c[0], c[1], c[2]), Point3(c[3], c[4], c[5]), Point3(c[6], c[7], c[8])), dim(2)
	{
		end[0] = end[1] = 0;
		if (!t.is_degenerate())
			return;
		for (int k = 1; k < 3; k++)
		{
			if (CGAL::lexicographically_xyz_smaller(t[k], t[end[0]]))
				end[0] = k;
			if (CGAL::lexicographically_xyz_smaller(t[end[1]], t[k]))
				end[1] = k;
		}
		dim = t[end[0]] == t[end[1]] ? 0 : 1;
	}

	Segment3 segment() const
	{
		return Segment3(t[end[0]], t[end[1]]);
	}
	CGAL::Bbox_3 bbox() const
	{
		return t.bbox();
	}
};

struct Seg3
{
	Segment3 s;
	unsigned char dim;

	explicit Seg3(const double *c)
		: s(Point3(c[0], c[1], c[2]), Point3(c[3], c[4], c[5])), dim(s.is_degenerate() ? 0 : 1)
	{
	}
};

struct Seg2
{
	Segment2 s;
	unsigned char dim;

	explicit Seg2(const double *c)
		: s(Point2(c[0], c[1]), Point2(c[2], c[3])), dim(s.is_degenerate() ? 0 : 1)
	{
	}
};

/* A point is a segment with equal ends, which CGAL's has_on accepts. */
bool
thin_meet(const Segment3 &a, bool a_point, const Segment3 &b, bool b_point)
{
	if (a_point)
		return b_point ? a[0] == b[0] : b.has_on(a[0]);
	return b_point ? a.has_on(b[0]) : CGAL::do_intersect(a, b);
}

bool
thin_meet(const Segment3 &a, bool a_point, const Triangle3 &b)
{
	return a_point ? b.has_on(a[0]) : CGAL::do_intersect(b, a);
}

inline bool
meet(const Tri &a, const Tri &b)
{
	if (a.dim + b.dim == 4)
		return CGAL::do_intersect(a.t, b.t);
	if (a.dim == 2)
		return thin_meet(b.segment(), b.dim == 0, a.t);
	if (b.dim == 2)
		return thin_meet(a.segment(), a.dim == 0, b.t);
	return thin_meet(a.segment(), a.dim == 0, b.segment(), b.dim == 0);
}

inline bool
meet(const Seg3 &a, const Tri &b)
{
	if (a.dim + b.dim == 3)
		return CGAL::do_intersect(b.t, a.s);
	if (b.dim == 2)
		return thin_meet(a.s, true, b.t);
	return thin_meet(a.s, a.dim == 0, b.segment(), b.dim == 0);
}

inline bool
meet(const Seg2 &a, const Seg2 &b)
{
	if (a.dim + b.dim == 2)
		return CGAL::do_intersect(a.s, b.s);
	if (a.dim == 0)
		return b.dim == 0 ? a.s[0] == b.s[0] : b.s.has_on(a.s[0]);
	return a.s.has_on(b.s[0]);
}

template <class T>
std::vector<T>
convert(const rb_set *set)
{
	std::vector<T> v;
	int width = rb_kind_width(set->kind);

	v.reserve(set->nparts);
	for (uint32_t i = 0; i < set->nparts; i++)
		v.push_back(T(set->coords + (size_t) i * width));
	return v;
}

/* ---- box_intersection_d ---- */

/*
 * Below these numbers of boxes, CGAL scans instead of splitting further. Its default is 10. 100 is
 * a quarter faster for volumes of triangles, and for boxes and segments 1000 is up to three times
 * as fast (among 10, 100, 300, 1000 and 3000). Times are measured with the default and with these
 * numbers.
 */
const std::ptrdiff_t usual_cutoff = 10, triangle_cutoff = 100, large_cutoff = 1000;

/* Builds boxes around the corners of each object; for box kinds, the corners are low and high. */
template <int D>
std::vector<CGAL::Box_intersection_d::Box_with_info_d<double, D, uint32_t>>
boxes_of(const rb_set *set)
{
	typedef CGAL::Box_intersection_d::Box_with_info_d<double, D, uint32_t> Box;
	std::vector<Box> v;
	int width = rb_kind_width(set->kind);

	v.reserve(set->nparts);
	for (uint32_t i = 0; i < set->nparts; i++)
	{
		const double *c = set->coords + (size_t) i * width;
		double low[D], high[D];

		for (int a = 0; a < D; a++)
		{
			low[a] = high[a] = c[a];
			for (int k = D + a; k < width; k += D)
			{
				low[a] = std::min(low[a], c[k]);
				high[a] = std::max(high[a], c[k]);
			}
		}
		v.push_back(Box(low, high, i));
	}
	return v;
}

template <int D, class Visit>
void
box_join(const rb_set *red, const rb_set *blue, pair_list *out, peer_run *run,
		 std::ptrdiff_t cutoff, Visit visit)
{
	typedef CGAL::Box_intersection_d::Box_with_info_d<double, D, uint32_t> Box;
	uint64_t candidates = 0;
	Clock clock;

	{
		std::vector<Box> r = boxes_of<D>(red);

		if (blue != NULL)
		{
			std::vector<Box> b = boxes_of<D>(blue);

			CGAL::box_intersection_d(
				r.begin(), r.end(), b.begin(), b.end(),
				[&](const Box &x, const Box &y) {
					candidates++;
					if (visit(x.info(), y.info()))
						put(out, run, x.info(), y.info());
				},
				cutoff);
		}
		else
			CGAL::box_self_intersection_d(
				r.begin(), r.end(),
				[&](const Box &x, const Box &y) {
					uint32_t i = std::min(x.info(), y.info()), j = std::max(x.info(), y.info());

					candidates++;
					if (visit(i, j))
						put(out, run, i, j);
				},
				cutoff);
		clock.stop(run);
	}
	run->candidates = candidates;
}

template <class R, class B, int D>
void
object_join(const rb_set *red, const rb_set *blue, pair_list *out, peer_run *run,
			std::ptrdiff_t cutoff)
{
	std::vector<R> r = convert<R>(red);
	std::vector<B> b = convert<B>(blue);

	box_join<D>(red, blue, out, run, cutoff,
				[&](uint32_t i, uint32_t j) { return meet(r[i], b[j]); });
}

/* Joins sides of one type, or one side with itself. */
template <class T, int D>
void
same_join(const rb_set *red, const rb_set *blue, pair_list *out, peer_run *run,
		  std::ptrdiff_t cutoff)
{
	if (blue != NULL)
	{
		object_join<T, T, D>(red, blue, out, run, cutoff);
		return;
	}
	std::vector<T> r = convert<T>(red);

	box_join<D>(red, NULL, out, run, cutoff,
				[&](uint32_t i, uint32_t j) { return meet(r[i], r[j]); });
}

bool
join_cutoff(const rb_set *red, const rb_set *blue, pair_list *out, peer_run *run,
			std::ptrdiff_t cutoff)
{
	rb_kind r = red->kind, b = blue != NULL ? blue->kind : red->kind;
	auto always = [](uint32_t, uint32_t) { return true; };

	if (r == RB_TRIANGLE3 && b == RB_TRIANGLE3)
		same_join<Tri, 3>(red, blue, out, run, cutoff);
	else if (r == RB_SEGMENT3 && b == RB_TRIANGLE3)
		object_join<Seg3, Tri, 3>(red, blue, out, run, cutoff);
	else if (r == RB_SEGMENT2 && b == RB_SEGMENT2)
		same_join<Seg2, 2>(red, blue, out, run, cutoff);
	else if (r == RB_BOX3 && b == RB_BOX3)
		box_join<3>(red, blue, out, run, cutoff, always);
	else if (r == RB_BOX2 && b == RB_BOX2)
		box_join<2>(red, blue, out, run, cutoff, always);
	else
		return false;
	return true;
}

bool
join_boxes(const rb_set *red, const rb_set *blue, pair_list *out, peer_run *run)
{
	return join_cutoff(red, blue, out, run,
					   red->kind == RB_TRIANGLE3 ? triangle_cutoff : usual_cutoff);
}

bool
join_tuned(const rb_set *red, const rb_set *blue, pair_list *out, peer_run *run)
{
	return red->kind != RB_TRIANGLE3 && join_cutoff(red, blue, out, run, large_cutoff);
}

/* ---- AABB_tree ---- */

/* Element of the tree: an entry of a vector of Tri */
struct Leaf
{
	typedef const Tri *Id;
	typedef Point3 Point;
	typedef Tri Datum;
	typedef const Tri &Datum_reference;

	const Tri *tri;

	Leaf(std::vector<Tri>::const_iterator i) : tri(&*i)
	{
	}
	Id id() const
	{
		return tri;
	}
	Datum_reference datum() const
	{
		return *tri;
	}
	Point reference_point() const
	{
		return tri->t[0];
	}
};

/*
 * Nodes are culled by comparing boxes, which is a third to a half faster than the library's
 * do_intersect(Triangle_3, Bbox_3) for all loads.
 */
struct Query
{
	const Tri *tri;
	CGAL::Bbox_3 box;
};

/* CGAL's traits for a query triangle that may be degenerate and has its box */
struct Tree_traits : public CGAL::AABB_traits<K, Leaf>
{
	struct Do_intersect
	{
		bool operator()(const Query &q, const CGAL::Bbox_3 &box) const
		{
			return CGAL::do_overlap(q.box, box);
		}

		bool operator()(const Query &q, const Leaf &leaf) const
		{
			return CGAL::do_overlap(q.box, leaf.tri->bbox()) && meet(*q.tri, *leaf.tri);
		}
	};

	Do_intersect do_intersect_object() const
	{
		return Do_intersect();
	}
};

/* Output iterator that converts leaves to pairs */
struct Emit
{
	pair_list *out;
	peer_run *run;
	const Tri *first;
	uint32_t query;
	bool swapped;

	Emit &operator*()
	{
		return *this;
	}
	Emit &operator++()
	{
		return *this;
	}
	Emit &operator++(int)
	{
		return *this;
	}

	Emit &operator=(const Tri *found)
	{
		uint32_t i = (uint32_t) (found - first);

		if (swapped)
			put(out, run, query, i);
		else
			put(out, run, i, query);
		return *this;
	}
};

bool
join_tree(const rb_set *red, const rb_set *blue, pair_list *out, peer_run *run)
{
	if (blue == NULL || red->kind != RB_TRIANGLE3 || blue->kind != RB_TRIANGLE3)
		return false;

	bool swapped = blue->nparts > red->nparts;
	std::vector<Tri> large, small;

	large = convert<Tri>(swapped ? blue : red);
	small = convert<Tri>(swapped ? red : blue);

	Clock clock;

	{
		CGAL::AABB_tree<Tree_traits> tree(large.begin(), large.end());

		tree.build();
		for (uint32_t i = 0; i < small.size(); i++)
		{
			Query query = {&small[i], small[i].bbox()};
			Emit emit = {out, run, large.data(), i, swapped};

			tree.all_intersected_primitives(query, emit);
		}
		clock.stop(run);
	}
	run->candidates = 0;
	return true;
}

} // namespace

const peer peers[] = {{"CGAL boxes", join_boxes},
					  {"CGAL AABB_tree", join_tree},
					  {"CGAL tuned", join_tuned},
					  {NULL, NULL}};
