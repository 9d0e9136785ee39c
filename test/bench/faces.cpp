/*
 * faces.cpp
 *	  Compares triangulations of faces of any shape by the core with those by CGAL's constrained
 *	  Delaunay triangulation.
 *
 *	faces FILE...		faces in files, one per line: object, number of rings, and for each ring its
 *						number of corners and the corners, the last of which equals the first
 *	faces -r N [SEED]	N random faces: simple polygons with holes, and any corners on small grids
 *
 * A triangulation is a map here: from an edge to the corner of the triangle on its left. If corners
 * lie on one circle, several triangulations are constrained Delaunay. Then ours must have the
 * border of CGAL's, no edge twice, and inner edges that are Delaunay by CGAL's predicate; those
 * that CGAL does not have must have four corners exactly on a circle.
 *
 * CGAL has no rings. Walks along its triangulation find the edges on which a ring lies, and a flood
 * fill finds the inside, with the set of rings around each region. If edges cross, CGAL throws, and
 * the core must report CROSSING. If the flood fill finds a misplaced hole, the core must reject it.
 * (Holes without area are not judged.)
 *
 * Polygons keep their area and, corner by corner in space, their border. An object that is closed
 * by its polygons is closed by its triangles. The exit status is 1 if anything differs.
 */
#include <CGAL/Constrained_Delaunay_triangulation_2.h>
#include <CGAL/Exact_predicates_inexact_constructions_kernel.h>
#include <CGAL/Gmpq.h>

#include <array>
#include <map>
#include <set>

extern "C"
{
#include "core/base/redblue.h"
}
#include "../core/check.h"

typedef CGAL::Exact_predicates_inexact_constructions_kernel K;
typedef CGAL::No_constraint_intersection_requiring_constructions_tag Tag;
typedef CGAL::Constrained_Delaunay_triangulation_2<K, CGAL::Default, Tag> CDT;
typedef K::Point_2 Place; /* Corner in the projection */
typedef std::array<double, 3> Corner;
typedef std::array<Corner, 3> Part;
typedef std::vector<std::vector<Corner>> Face; /* Rings without their repeated first corner */
typedef std::vector<std::vector<Place>> Rings;
typedef std::pair<Place, Place> Edge;
typedef std::map<Edge, Place> Mesh;
typedef std::map<std::pair<Corner, Corner>, int>
	Chain; /* Uses in one direction minus those in the other */
typedef CGAL::Gmpq Number;

static rb_geometry_fault
core_triangulate(const Face &face, std::vector<Part> *parts)
{
	static rb_memory *memory = rb_memory_create((uint64_t) 1 << 30);
	uint32_t head[2] = {3, (uint32_t) face.size()};
	std::vector<uint8_t> bytes(12 + 4 * (face.size() + face.size() % 2));
	rb_builder b;
	rb_geometry_info info;
	rb_error error;
	rb_geometry_fault fault;

	/* Writes a POLYGON Z in the serialized form. */
	bytes[3] = 0x41;
	memcpy(&bytes[4], head, sizeof head);
	for (size_t r = 0; r < face.size(); r++)
	{
		uint32_t n = (uint32_t) face[r].size() + 1;
		const uint8_t *from = (const uint8_t *) face[r].data();

		memcpy(&bytes[12 + 4 * r], &n, sizeof n);
		bytes.insert(bytes.end(), from, from + face[r].size() * sizeof(Corner));
		bytes.insert(bytes.end(), from, from + sizeof(Corner));
	}
	rb_builder_init(&b, memory, RB_TRIANGLE3);
	fault = rb_geometry_read_serialized(&b, bytes.data(), bytes.size(), &info, &error);
	parts->resize(b.nparts);
	if (b.nparts > 0)
		memcpy(parts->data(), b.coords, b.nparts * sizeof(Part));
	rb_builder_free(&b);
	return fault;
}

/* ---- CGAL ---- */

static Edge
undirected(const Place &p, const Place &q)
{
	return p < q ? Edge(p, q) : Edge(q, p);
}

static Edge
undirected(const CDT::Edge &e)
{
	return undirected(e.first->vertex(CDT::cw(e.second))->point(),
					  e.first->vertex(CDT::ccw(e.second))->point());
}

/* Adds a counterclockwise triangle; returns false if one of its edges exists already. */
static bool
add(Mesh *mesh, const Place &p, const Place &q, const Place &r)
{
	return mesh->emplace(Edge(p, q), r).second & mesh->emplace(Edge(q, r), p).second &
		   mesh->emplace(Edge(r, p), q).second;
}

/*
 * Triangulates by CGAL. Stores the edges on rings in `used`; spikes are those that do not border
 * the inside.
 */
static rb_geometry_fault
cgal_triangulate(const Rings &rings, Mesh *mesh, std::set<Edge> *used, std::set<Edge> *spikes)
{
	const std::set<size_t> inside = {0};
	std::map<Edge, std::set<size_t>> border; /* Rings that lie on it an odd number of times */
	std::map<CDT::Face_handle, std::set<size_t>> around;
	std::vector<CDT::Face_handle> stack;
	CDT cdt;

	auto toggle = [](std::set<size_t> *set, size_t ring) {
		if (set->erase(ring) == 0)
			set->insert(ring);
	};
	/* Corners first: if a corner lies on two edges, these do not cross. */
	for (const std::vector<Place> &ring : rings)
		cdt.insert(ring.begin(), ring.end());
	try
	{
		for (const std::vector<Place> &ring : rings)
			for (size_t i = 0; i < ring.size() && ring.size() > 1; i++)
				cdt.insert_constraint(ring[i], ring[(i + 1) % ring.size()]);
	} catch (const CDT::Intersection_of_constraints_exception &)
	{
		return RB_GEOMETRY_CROSSING;
	}
	for (size_t r = 0; r < rings.size(); r++)
		for (size_t i = 0; i < rings[r].size(); i++)
		{
			CDT::Vertex_handle v = cdt.insert(rings[r][i]), next;
			CDT::Vertex_handle end = cdt.insert(rings[r][(i + 1) % rings[r].size()]);
			CDT::Face_handle f;

			for (int k; v != end; v = next)
			{
				CGAL_assertion_code(bool there =) cdt.includes_edge(v, end, next, f, k);
				CGAL_assertion(there);
				used->insert(undirected(v->point(), next->point()));
				toggle(&border[undirected(v->point(), next->point())], r);
			}
		}
	around[cdt.infinite_face()];
	stack.push_back(cdt.infinite_face());
	while (!stack.empty())
	{
		CDT::Face_handle f = stack.back();

		stack.pop_back();
		for (int k = 0; k < 3; k++)
		{
			CDT::Face_handle g = f->neighbor(k);
			std::set<size_t> within = around.at(f);

			if (around.count(g) > 0)
				continue;
			if (f->is_constrained(k))
				for (size_t ring : border.at(undirected(CDT::Edge(f, k))))
					toggle(&within, ring);
			if (within.size() > 2 || (!within.empty() && within.count(0) == 0))
				return RB_GEOMETRY_HOLES;
			around[g] = within;
			stack.push_back(g);
		}
	}
	for (const CDT::Edge &e : cdt.finite_edges())
		if (used->count(undirected(e)) > 0 && around.at(e.first) != inside &&
			around.at(e.first->neighbor(e.second)) != inside)
			spikes->insert(undirected(e));
	for (CDT::Face_handle f : cdt.finite_face_handles())
		if (around.at(f) == inside)
			add(mesh, f->vertex(0)->point(), f->vertex(1)->point(), f->vertex(2)->point());
	return RB_GEOMETRY_OK;
}

/* ---- both ---- */

static std::set<Edge>
border_of(const Mesh &mesh)
{
	std::set<Edge> border;

	for (const auto &e : mesh)
		if (mesh.count(Edge(e.first.second, e.first.first)) == 0)
			border.insert(e.first);
	return border;
}

/* Returns true if both are constrained Delaunay. */
static bool
is_tie(const Mesh &ours, const Mesh &cgal, const std::set<Edge> &used)
{
	if (ours.size() != cgal.size() || border_of(ours) != border_of(cgal))
		return false;
	for (const auto &e : ours)
	{
		const Place &p = e.first.first, &q = e.first.second;
		auto twin = ours.find(Edge(q, p));
		CGAL::Oriented_side side;

		if (twin == ours.end() || used.count(undirected(p, q)) > 0)
			continue;
		side = CGAL::side_of_oriented_circle(p, q, e.second, twin->second);
		if (side == CGAL::ON_POSITIVE_SIDE || (side != 0 && cgal.count(e.first) == 0))
			return false;
	}
	return true;
}

/* Returns twice the area. */
static Number
area2(const std::vector<Place> &ring)
{
	Number sum = 0;

	for (size_t i = 0; i < ring.size(); i++)
	{
		const Place &p = ring[i], &q = ring[(i + 1) % ring.size()];

		sum += Number(p.x()) * Number(q.y()) - Number(p.y()) * Number(q.x());
	}
	return sum;
}

/*
 * Projects the face along the axis with the largest area, z before y before x, or if there is no
 * area, so that it is not on a line.
 */
static Rings
project(const Face &face, int *x, int *y)
{
	static const int kept[3][2] = {{1, 2}, {0, 2}, {0, 1}};
	Rings along[3];
	int best = 2;

	for (int k = 0; k < 3; k++)
		for (const auto &ring : face)
		{
			along[k].push_back({});
			for (const Corner &c : ring)
				along[k].back().push_back(Place(c[kept[k][0]], c[kept[k][1]]));
		}
	for (int k = 1; k >= 0; k--)
		if (CGAL::abs(area2(along[k][0])) > CGAL::abs(area2(along[best][0])))
			best = k;
	auto is_line = [](const Rings &rings) {
		std::set<Place> all;

		for (const auto &ring : rings)
			all.insert(ring.begin(), ring.end());
		for (const Place &p : all)
			if (CGAL::orientation(*all.begin(), *all.rbegin(), p) != CGAL::COLLINEAR)
				return false;
		return true;
	};
	if (area2(along[best][0]) == 0)
		while (best > 0 && is_line(along[best]))
			best--;
	*x = kept[best][0];
	*y = kept[best][1];
	return is_line(along[best]) ? Rings() : along[best];
}

static void
add(Chain *chain, const Corner &p, const Corner &q, int n)
{
	std::pair<Corner, Corner> edge = std::minmax(p, q);

	if (p != q && ((*chain)[edge] += p < q ? n : -n) == 0)
		chain->erase(edge);
}

static void
add(Chain *chain, const Chain &more)
{
	for (const auto &e : more)
		add(chain, e.first.first, e.first.second, e.second);
}

enum Outcome
{
	SAME,
	TIES,
	STORED,
	REFUSED,
	DIFFERENT,
	OUTCOMES
};

/*
 * Compares the triangulations of a face; of a polygon, also area and border. Adds both borders to
 * the given ones.
 */
static Outcome
compare(Face face, bool polygon, Chain *rings_border, Chain *parts_border)
{
	std::vector<Part> parts;
	rb_geometry_fault fault = core_triangulate(face, &parts), expected;
	Mesh ours, cgal;
	std::set<Edge> used, spikes, our_spikes;
	Chain by_rings, by_parts;
	bool triangle = face.size() == 1 && face[0].size() == 3;
	size_t corners = 0;
	Number area = 0, wanted = 0;
	Rings rings;
	int x, y;

	for (auto &ring : face)
	{
		ring.erase(std::unique(ring.begin(), ring.end()), ring.end());
		while (ring.size() > 1 && ring.back() == ring[0])
			ring.pop_back();
		for (size_t i = 0; i < ring.size(); i++)
			add(&by_rings, ring[i], ring[(i + 1) % ring.size()], 1);
		corners += ring.size();
	}
	for (const Part &t : parts)
		for (int k = 0; k < 3; k++)
			add(&by_parts, t[k], t[(k + 1) % 3], 1);
	add(rings_border, by_rings);
	add(parts_border, by_parts);
	if (polygon && fault == RB_GEOMETRY_OK && by_rings != by_parts)
		return DIFFERENT;

	if (triangle || (face.size() == 1 && corners == 3))
		return fault == RB_GEOMETRY_OK && parts.size() == 1 && by_rings == by_parts ? STORED
																					: DIFFERENT;
	rings = project(face, &x, &y);
	if (rings.empty())
	{
		for (const Part &t : parts)
			corners -= t[1] == t[2];
		return fault == RB_GEOMETRY_OK && corners == 0 ? STORED : DIFFERENT;
	}
	expected = cgal_triangulate(rings, &cgal, &used, &spikes);
	if (fault == RB_GEOMETRY_HOLE_OUTSIDE)
		fault = RB_GEOMETRY_HOLES;
	if (fault != RB_GEOMETRY_OK || fault != expected)
		return fault == expected ? REFUSED : DIFFERENT;

	for (const Part &t : parts)
	{
		Place p(t[0][x], t[0][y]), q(t[1][x], t[1][y]), r(t[2][x], t[2][y]);
		bool turned = area2(rings[0]) < 0;

		if (t[1] == t[2])
			our_spikes.insert(undirected(p, q));
		else if (CGAL::orientation(p, q, r) != (turned ? CGAL::RIGHT_TURN : CGAL::LEFT_TURN) ||
				 !add(&ours, p, turned ? r : q, turned ? q : r))
			return DIFFERENT;
		area += CGAL::abs(area2({p, q, r}));
	}
	for (size_t i = 0; i < rings.size(); i++)
		wanted += CGAL::abs(area2(rings[i])) * (i == 0 ? 1 : -1);
	if (our_spikes != spikes || (polygon && area != wanted))
		return DIFFERENT;
	return ours == cgal ? SAME : is_tie(ours, cgal, used) ? TIES : DIFFERENT;
}

static bool
report(const char *name, const long *n)
{
	printf(
		"%s: %ld faces; same %ld, same but for corners on a circle %ld, as stored %ld, refused by both %ld, "
		"different %ld\n",
		name, n[SAME] + n[TIES] + n[STORED] + n[REFUSED] + n[DIFFERENT], n[SAME], n[TIES],
		n[STORED], n[REFUSED], n[DIFFERENT]);
	return n[DIFFERENT] == 0;
}

/* ---- files ---- */

static bool
read_face(FILE *in, Face *face, int *object)
{
	int rings, n;

	face->clear();
	if (fscanf(in, "%d %d", object, &rings) != 2)
		return false;
	for (int r = 0; r < rings; r++)
	{
		face->push_back({});
		if (fscanf(in, "%d", &n) != 1)
			return false;
		for (Corner c; n > 0; n--, face->back().push_back(c))
			if (fscanf(in, "%lf %lf %lf", &c[0], &c[1], &c[2]) != 3)
				return false;
		face->back().pop_back();
	}
	return true;
}

static bool
check_file(const char *name)
{
	std::map<int, std::pair<Chain, Chain>> objects;
	FILE *in = fopen(name, "r");
	long n[OUTCOMES] = {0}, line = 0, by_rings = 0, by_parts = 0, lost = 0;
	Face face;
	int object;

	while (in != NULL && read_face(in, &face, &object))
	{
		Outcome outcome = compare(face, true, &objects[object].first, &objects[object].second);

		n[outcome]++;
		line++;
		if (outcome == DIFFERENT)
			printf("%s:%ld: different\n", name, line);
	}
	if (in == NULL || !feof(in) || line == 0)
	{
		fprintf(stderr, "%s: no faces, or what is none after line %ld\n", name, line);
		return false;
	}
	fclose(in);
	for (const auto &o : objects)
	{
		by_rings += o.second.first.empty();
		by_parts += o.second.second.empty();
		lost += o.second.first.empty() && !o.second.second.empty();
	}
	printf("%s: %zu objects; closed by polygons %ld, by triangles %ld, no longer closed %ld\n",
		   name, objects.size(), by_rings, by_parts, lost);
	return report(name, n) && lost == 0;
}

/* ---- random faces ---- */

/* Lifts a face from a plane to space, along any axis; integers remain integers. */
static void
lift(Face *face)
{
	int axis = check_below(3), a = check_below(5) - 2, b = check_below(5) - 2;

	for (auto &ring : *face)
		for (Corner &c : ring)
		{
			double x = c[0], y = c[1];

			c[axis] = a * x + b * y;
			c[(axis + 1) % 3] = x;
			c[(axis + 2) % 3] = y;
		}
}

static void
add_hole(Face *face, const Part &t, double outer, double inner)
{
	face->push_back({});
	for (int k = 2; k >= 0; k--)
	{
		double w = k == 0 ? outer : inner;
		Corner c;

		for (int i = 0; i < 3; i++)
			c[i] = w * t[k][i] + (1 - w) / 2 * (t[(k + 1) % 3][i] + t[(k + 2) % 3][i]);
		face->back().push_back(c);
	}
}

/*
 * Generates corners in their order around a point; holes are triangles within triangles, some of
 * which touch in a corner.
 */
static Face
random_polygon(void)
{
	int n = 4 + check_below(30), size = check_below(2) ? 6 : 1 << 20;
	auto before = [](const Place &p, const Place &q) {
		bool up = p > Place(0, 0), q_up = q > Place(0, 0);

		return up != q_up ? up : p.x() * q.y() - p.y() * q.x() > 0;
	};
	std::set<Place, decltype(before)> ring(before);
	std::vector<Part> parts;
	Face face(1);

	/* Within any half turn, there is one of these corners. */
	ring.insert({Place(-size, -size), Place(size, -size), Place(0, size)});
	for (int i = 0; i < n; i++)
	{
		Place p(check_below(2 * size + 1) - size, check_below(2 * size + 1) - size);

		if (p != Place(0, 0))
			ring.insert(p);
	}
	for (const Place &p : ring)
		face[0].push_back({p.x(), p.y(), 0});
	if (core_triangulate(face, &parts) == RB_GEOMETRY_OK)
		for (const Part &t : parts)
			if (t[1] != t[2] && check_below(4) == 0)
				add_hole(&face, t, check_below(3) ? 0.5 : 1, 0.5);
	return face;
}

/* Generates any corners, and one or two triangles as holes. */
static Face
random_rings(void)
{
	int size = 2 + check_below(6);
	Face face;

	for (int n = 3 + check_below(8), holes = check_below(3); holes >= 0; holes--, n = 3)
	{
		std::vector<Place> ring;

		for (int i = 0; i < n; i++)
			ring.push_back(Place(check_below(size), check_below(size)));
		if (!face.empty() && area2(ring) == 0)
			continue;
		face.push_back({});
		for (const Place &p : ring)
			face.back().push_back({p.x(), p.y(), 0});
	}
	return face;
}

static bool
check_many(const char *name, Face (*make)(void), bool polygon, long faces)
{
	long n[OUTCOMES] = {0};

	for (long i = 0; i < faces; i++)
	{
		Face face = make();
		Chain rings, parts;
		Outcome outcome;

		lift(&face);
		outcome = compare(face, polygon, &rings, &parts);
		n[outcome]++;
		if (outcome == DIFFERENT)
			printf("%s %ld: different\n", name, i);
	}
	return report(name, n);
}

int
main(int argc, char **argv)
{
	bool good = argc > 1;

	if (argc > 2 && strcmp(argv[1], "-r") == 0)
	{
		check_state = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
		good = check_many("polygons", random_polygon, true, atol(argv[2]) / 2);
		good &= check_many("rings", random_rings, false, atol(argv[2]) - atol(argv[2]) / 2);
	}
	else
		for (int i = 1; i < argc; i++)
			good &= check_file(argv[i]);
	return !good;
}
