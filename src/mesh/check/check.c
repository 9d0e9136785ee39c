/*
 * check.c
 *	  Runs the parts of the mesh checker one after the other. The last ones are here: the boundary
 *	  of the mesh, which must be on facets or be the convex hull, without cavities, and with the
 *	  correct Euler characteristic; regions, which must have the volumes that their facets enclose;
 *	  and edges and faces that are in no tetrahedron, which must be outside the kept part of the
 *	  mesh.
 *
 * A closed surface that is convex at each of its edges is convex. This is tested up to the rounding
 * that flatness.h explains: Steiner points on the hull are rounded, and refinement omits tetrahedra
 * that are flatter than that. A component of the boundary with negative volume is the wall of a cavity.
 *
 * The mesh is a 3-manifold if its boundary is a 2-manifold. The Euler characteristic of the mesh is
 * then half that of its boundary. The boundary is a 2-manifold if every edge of it has two of its
 * faces, and the faces around every point of it form one fan.
 *
 * Volumes are compared by volumes.h. Facets that already have faults are excluded, as are the
 * regions they bound, because a volume that lacks a face would be reported twice.
 *
 * Nothing crosses the boundary of the kept part, so it suffices to test one end. An edge from u to
 * v begins inside if v lies in the cone of some tetrahedron at its corner u. A face uvw, where uv
 * is an edge of tetrahedra, begins inside if w lies in the wedge of one of these at uv. Both tests
 * are signs: for a positive tetrahedron (u, x, y, z), v = u + A (x - u) + B (y - u) + C (z - u),
 * where A, B and C have the signs of (u, v, y, z), (u, x, v, z) and (u, x, y, v).
 *
 * All these tests are done in one pass over the tetrahedra.
 */
#include "core/base/union_find.h"
#include "mesh/check/checking.h"
#include "mesh/flatness.h"
#include "mesh/volumes.h"

/* ---- boundary ---- */

typedef struct boundary
{
	rb_checking *k;
	uint32_t *faces; /* boundary faces, each as tet << 2 | corner */
	uint32_t n;
	uint32_t *fan; /* union-find structure of fans, for each corner 3 f + i */
	uint32_t nedges;
	uint32_t npoints;
	uint32_t nfans;
	uint32_t odd; /* number of edges that do not have two faces */
} boundary;

/* Returns the corners of a face, counterclockwise from outside. */
static void
get_checked_boundary_corners(const boundary *b, uint32_t f, uint32_t v[3])
{
	uint32_t x;

	rb_check_corners(b->k, b->faces[f], v);
	if (b->k->sign[b->faces[f] >> 2] < 0)
		x = v[1], v[1] = v[2], v[2] = x;
}

/* Lists the boundary faces. If the mesh has only what is inside, reports those on no facet. */
static rb_status
collect_boundary_faces(boundary *b)
{
	rb_checking *k = b->k;
	uint32_t n = 0;

	for (int pass = 0; pass < 2; pass++)
	{
		n = 0;
		for (uint32_t t = 0; t < k->in->ntets; t++)
		{
			RB_CHECK_STOP(k, t);
			for (uint32_t i = 0; k->sign[t] != RB_EXCLUDED && i < 4; i++)
			{
				if (k->mate[t << 2 | i] != RB_NONE)
					continue;
				if (pass == 1)
				{
					b->faces[n] = t << 2 | i;
					if (k->in->keep == RB_KEEP_INSIDE && (k->on_facet[t] >> i & 1) == 0)
						RB_TRY(
							rb_check_fault(k, RB_FAULT_BOUNDARY, t, k->in->tets[t][i], RB_NONE, 0));
				}
				n++;
			}
		}
		if (pass == 0)
		{
			RB_TRY(rb_check_scratch(k, 0, n));
			b->faces = k->scratch[0];
		}
	}
	b->n = n;
	return RB_OK;
}

/* Returns true if boundary face f of the checked mesh lies on a facet of the input. */
static bool
is_boundary_face_on_facet(const boundary *b, uint32_t f)
{
	uint32_t face = b->faces[f];

	return (b->k->on_facet[face >> 2] >> (face & 3) & 1) != 0;
}

/*
 * Returns true if the corners of a boundary face and a corner beyond one of its edges are coplanar
 * up to rounding (flatness.h).
 */
static bool
is_checked_boundary_edge_flat(const rb_checking *k, const uint32_t *v, uint32_t beyond)
{
	static const double origin[3] = {0, 0, 0};
	const double *at[4] = {NULL, NULL, NULL, origin};
	double u[3][3];

	for (int i = 0; i < 3; i++)
	{
		for (int j = 0; j < 3; j++)
			u[i][j] = (rb_check_point(k, v[i])[j] - rb_check_point(k, beyond)[j]) * k->scale;
		at[i] = u[i];
	}
	return rb_four_flat(at, rb_flat_height(k->largest * k->scale));
}

/*
 * Checks an edge with two faces. A side 3 f + i is the edge of face f from its corner i to the next
 * one.
 */
static rb_status
check_boundary_edge_of_two_faces(boundary *b, uint32_t side, uint32_t other)
{
	rb_checking *k = b->k;
	uint32_t v[3], w[3], i = side % 3, j = other % 3;
	bool turned;

	get_checked_boundary_corners(b, side / 3, v);
	get_checked_boundary_corners(b, other / 3, w);
	turned = v[i] == w[(j + 1) % 3];
	rb_unite(b->fan, side, turned ? other - j + (j + 1) % 3 : other);
	rb_unite(b->fan, side - i + (i + 1) % 3, turned ? other : other - j + (j + 1) % 3);
	if (k->in->keep == RB_KEEP_HULL && (!k->has_holes || !is_boundary_face_on_facet(b, side / 3) ||
										!is_boundary_face_on_facet(b, other / 3)))
	{
		uint32_t beyond = w[(j + 2) % 3];

		for (int c = 0; c < 3; c++)
			if (rb_check_bad(k, v[c]) || rb_check_bad(k, beyond))
				return RB_OK;
		if (rb_orient3d(rb_check_point(k, v[0]), rb_check_point(k, v[1]), rb_check_point(k, v[2]),
						rb_check_point(k, beyond)) > 0 &&
			!is_checked_boundary_edge_flat(k, v, beyond))
			return rb_check_fault(k, RB_FAULT_NOT_CONVEX, v[i], v[(i + 1) % 3],
								  b->faces[side / 3] >> 2, 0);
	}
	return RB_OK;
}

/* Pairs the sides of each edge, and unites corners into fans. */
static rb_status
pair_checked_boundary_edges(boundary *b)
{
	rb_checking *k = b->k;
	uint32_t *first, *uses;

	RB_TRY(rb_check_scratch(k, 1, 3 * (size_t) b->n));
	RB_TRY(rb_check_scratch(k, 2, 3 * (size_t) b->n));
	RB_TRY(rb_check_scratch(k, 3, 3 * (size_t) b->n));
	RB_TRY(rb_table_reset(k->ctx, &k->local, 3 * (size_t) b->n / 2));
	b->fan = k->scratch[1];
	first = k->scratch[2]; /* for each side, the first side on its edge */
	uses = k->scratch[3];  /* for each first side, the number of sides on its edge */
	for (uint32_t f = 0; f < b->n; f++)
	{
		uint32_t v[3];

		RB_CHECK_STOP(k, f);
		get_checked_boundary_corners(b, f, v);
		for (uint32_t i = 0; i < 3; i++)
		{
			uint32_t side = 3 * f + i, was;

			b->fan[side] = side;
			uses[side] = 0;
			RB_TRY(rb_check_insert_pair(k->ctx, &k->local, v[i], v[(i + 1) % 3], side, &was));
			first[side] = was == RB_NONE ? side : was;
			uses[first[side]]++;
		}
	}
	b->nedges = (uint32_t) k->local.n;
	for (uint32_t side = 0; side < 3 * b->n; side++)
	{
		uint32_t v[3];

		RB_CHECK_STOP(k, side);
		if (first[side] != side && uses[first[side]] == 2)
			RB_TRY(check_boundary_edge_of_two_faces(b, side, first[side]));
		if (first[side] != side || uses[side] == 2)
			continue;
		b->odd++;
		get_checked_boundary_corners(b, side / 3, v);
		if (k->in->keep == RB_KEEP_HULL && !k->has_holes)
			RB_TRY(rb_check_fault(k, RB_FAULT_NOT_CONVEX, v[side % 3], v[(side + 1) % 3],
								  b->faces[side / 3] >> 2, 0));
	}
	return RB_OK;
}

/* Counts the points and fans of the boundary. */
static rb_status
count_checked_boundary_points(boundary *b)
{
	rb_checking *k = b->k;
	uint8_t *seen;

	RB_TRY(rb_check_scratch(k, 4, k->in->npoints / 4 + 1));
	seen = (uint8_t *) k->scratch[4];
	memset(seen, 0, k->in->npoints);
	for (uint32_t f = 0; f < b->n; f++)
	{
		uint32_t v[3];

		RB_CHECK_STOP(k, f);
		get_checked_boundary_corners(b, f, v);
		for (uint32_t i = 0; i < 3; i++)
		{
			b->nfans += rb_find_root(b->fan, 3 * f + i) == 3 * f + i;
			b->npoints += !seen[v[i]];
			seen[v[i]] = 1;
		}
	}
	return RB_OK;
}

/*
 * Checks that no component of the boundary of the mesh encloses an empty region; treats the fans
 * of one face as one component.
 */
static rb_status
find_enclosed_empty_regions(boundary *b)
{
	rb_checking *k = b->k;
	const double scale = k->scale;
	double *sums; /* for each component, six times its volume, and the sum of magnitudes */

	RB_TRY(rb_check_scratch(k, 5, 4 * (size_t) b->n));
	sums = (double *) k->scratch[5];
	memset(sums, 0, 2 * (size_t) b->n * sizeof(double));
	/* Unite the fans of each face into components. */
	for (uint32_t f = 0; f < b->n; f++)
	{
		RB_CHECK_STOP(k, f);
		rb_unite(b->fan, 3 * f, 3 * f + 1);
		rb_unite(b->fan, 3 * f, 3 * f + 2);
	}
	for (uint32_t f = 0; f < b->n; f++)
	{
		uint32_t v[3], w[3], piece = rb_find_root(b->fan, 3 * f) / 3;
		const double *o, *p[3];
		double u[3][3], m[3], d = 0;

		RB_CHECK_STOP(k, f);
		get_checked_boundary_corners(b, piece, w);
		get_checked_boundary_corners(b, f, v);
		o = rb_check_point(k, w[0]);
		for (int i = 0; i < 3; i++)
		{
			p[i] = rb_check_point(k, v[i]);
			for (int j = 0; j < 3; j++)
				u[i][j] = (p[i][j] - o[j]) * scale;
		}
		for (int i = 0; i < 3; i++)
		{
			m[i] = u[0][i] *
				   (u[1][(i + 1) % 3] * u[2][(i + 2) % 3] - u[1][(i + 2) % 3] * u[2][(i + 1) % 3]);
			d += m[i];
		}
		sums[2 * piece] += d;
		sums[2 * piece + 1] += fabs(m[0]) + fabs(m[1]) + fabs(m[2]);
	}
	for (uint32_t f = 0; f < b->n; f++)
		if (sums[2 * f] < -1e-10 * sums[2 * f + 1])
			RB_TRY(rb_check_fault(k, RB_FAULT_CAVITY, b->faces[f] >> 2, RB_NONE, RB_NONE,
								  -sums[2 * f] / 6 / scale / scale / scale));
	return RB_OK;
}

/* ---- volumes ---- */

/* Returns true after faults that invalidate corners or neighbors, or that change the surface. */
static bool
is_broken(const rb_checking *k)
{
	static const rb_fault_kind kinds[] = {
		RB_FAULT_POINT_NOT_FINITE, RB_FAULT_TET_NUMBER,  RB_FAULT_TET_CORNERS,
		RB_FAULT_TET_TWICE,        RB_FAULT_SHARED,      RB_FAULT_SAME_SIDE,
		RB_FAULT_FACE_NUMBER,      RB_FAULT_EDGE_NUMBER, RB_FAULT_EDGE_SEGMENT,
		RB_FAULT_INPUT_MISSING,    RB_FAULT_REGIONS,     RB_FAULT_BOUNDARY,
		RB_FAULT_NOT_CONVEX,       RB_FAULT_CAVITY};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (k->report->count[kinds[i]] > 0)
			return true;
	return false;
}

/* Returns the first tetrahedron of a region. */
static uint32_t
find_tet_in_region(const rb_checking *k, int64_t region)
{
	uint32_t t = 0;

	while (t + 1 < k->in->ntets && k->in->region[t] != region)
		t++;
	return t;
}

/* Records a fault that the comparison of volumes found. */
static rb_status
report_volume(void *arg, const rb_volumes_fault *fault)
{
	rb_checking *k = arg;

	if (fault->kind == RB_VOLUMES_AREA)
		return k->facet_reported[fault->facet] & RB_REPORTED_AREA
				   ? RB_OK
				   : rb_check_fault(k, RB_FAULT_FACET_AREA, fault->facet, RB_NONE, RB_NONE,
									fabs(fault->amount) / fault->volume);
	if (fault->kind == RB_VOLUMES_REGION)
		return rb_check_fault(k, RB_FAULT_VOLUME, find_tet_in_region(k, fault->region),
							  fault->facet, RB_NONE,
							  fault->volume != 0 ? fault->amount / fault->volume : fault->amount);
	/* Points far beyond rounding were already reported one by one. */
	if (k->facet_reported[fault->facet] & RB_REPORTED_FAR)
		return RB_OK;
	return rb_check_fault(k, RB_FAULT_FACET_FAR, fault->point, fault->facet, RB_NONE,
						  fault->amount / k->diagonal);
}

/* Compares the volumes of regions with those of the PLC. */
static rb_status
check_volumes(rb_checking *k)
{
	const rb_check_input *in = k->in;
	const size_t n = 4 * (size_t) in->ntets;
	rb_volumes_input v;

	if (in->plc == NULL || in->region == NULL || in->kind == NULL || in->segments == NULL ||
		is_broken(k))
		return RB_OK;
	RB_TRY(rb_check_scratch(k, 4, n));
	for (size_t i = 0; i < n; i++)
		k->scratch[4][i] = k->mate[i] < RB_NO_TEST ? k->mate[i] >> 2 : RB_NONE;
	v = (rb_volumes_input){.npoints = in->npoints,
						   .ntets = in->ntets,
						   .nfaces = in->nfaces,
						   .nedges = in->nedges,
						   .nsegments = in->nsegments,
						   .points = in->points,
						   .kind = in->kind,
						   .parent = in->parent,
						   .tets = in->tets,
						   .neighbours = k->scratch[4],
						   .region = in->region,
						   .faces = in->faces,
						   .face_facet = in->face_facet,
						   .edges = in->edges,
						   .edge_segment = in->edge_segment,
						   .segments = in->segments,
						   .skipped = k->facet_bad,
						   .surface_npoints = in->plc->npoints,
						   .ntriangles = in->plc->ntriangles,
						   .nfacets = in->plc->nfacets,
						   .npieces = in->nsegments,
						   .surface_points = in->plc->points,
						   .triangles = in->plc->triangles,
						   .facet_of = in->plc->facet_of,
						   .tolerance = in->plc->tolerance,
						   .pieces = in->segments};
	return rb_volumes_compare(k->ctx, &v, report_volume, k);
}

/* Checks that the boundary is a closed surface. */
static rb_status
check_boundary(rb_checking *k)
{
	boundary b = {.k = k};
	rb_check_report *r = k->report;
	uint32_t used = 0;

	RB_TRY(collect_boundary_faces(&b));
	if (b.n > UINT32_MAX / 3)
		return rb_fail(k->ctx, RB_TOO_MANY_OBJECTS, b.n, UINT32_MAX / 3, NULL);
	RB_TRY(pair_checked_boundary_edges(&b));
	RB_TRY(count_checked_boundary_points(&b));
	for (uint32_t i = 0; i < k->in->npoints; i++)
		used += (k->point[i] & RB_POINT_USED) != 0;
	r->boundary_faces = b.n;
	r->manifold = b.odd == 0 && b.nfans == b.npoints;
	r->euler = (int64_t) used - (int64_t) k->edges.n + (int64_t) k->faces.n - k->ntets;
	r->euler_boundary = (int64_t) b.npoints - b.nedges + b.n;
	/* With these faults, the mesh is not a manifold. */
	if (r->count[RB_FAULT_SHARED] > 0 || r->count[RB_FAULT_SAME_SIDE] > 0)
		r->manifold = false;
	if (r->manifold && 2 * r->euler != r->euler_boundary)
		RB_TRY(rb_check_fault(k, RB_FAULT_EULER, RB_NONE, RB_NONE, RB_NONE,
							  (double) (2 * r->euler - r->euler_boundary)));
	/*
	 * A requested hole also has a boundary with negative volume, and a cavity without facets was
	 * already reported.
	 */
	if (!k->has_holes && b.odd == 0 && r->count[RB_FAULT_BOUNDARY] == 0)
		RB_TRY(find_enclosed_empty_regions(&b));
	return check_volumes(k);
}

/* ---- deferred tests ---- */

/*
 * Returns the exact orientation of four vertices of the mesh, to find where a deferred test
 * starts.
 */
static int
orient_points_of_deferred_test(const rb_checking *k, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	return rb_orient3d(rb_check_point(k, a), rb_check_point(k, b), rb_check_point(k, c),
					   rb_check_point(k, d));
}

/*
 * Returns true if tetrahedron (u, x[0], x[1], x[2]) contains the first point of the edge or face
 * of a deferred test, next to its corner u.
 */
static bool
contains_start_of_deferred_test(const rb_checking *k, const rb_deferred_test *w, uint32_t u,
								const uint32_t x[3])
{
	if (w->side == RB_NONE)
		return orient_points_of_deferred_test(k, u, w->to, x[1], x[2]) >= 0 &&
			   orient_points_of_deferred_test(k, u, x[0], w->to, x[2]) >= 0 &&
			   orient_points_of_deferred_test(k, u, x[0], x[1], w->to) >= 0;
	for (int i = 0; i < 3; i++)
		if (x[i] == w->to)
			return orient_points_of_deferred_test(k, u, w->to, x[(i + 1) % 3], w->side) >= 0 &&
				   orient_points_of_deferred_test(k, u, w->to, w->side, x[(i + 2) % 3]) >= 0;
	return false;
}

/*
 * Marks the deferred tests, of input edges and faces missing in the mesh, whose start lies inside
 * a tetrahedron.
 */
static rb_status
find_starts_of_deferred_tests(rb_checking *k, uint32_t *next, uint32_t *first)
{
	uint32_t steps = 0;

	for (uint32_t t = 0; t < k->in->ntets; t++)
	{
		RB_CHECK_STOP(k, t);
		if (k->sign[t] != 1)
			continue;
		for (uint32_t i = 0; i < 4; i++)
		{
			uint32_t u = k->in->tets[t][i], x[3];
			uint32_t *at = &first[u];

			rb_check_corners(k, t << 2 | i, x);
			while (*at != RB_NONE)
			{
				rb_deferred_test *w = &k->wanted.at[*at];

				RB_CHECK_STOP(k, steps);
				steps++;
				if (contains_start_of_deferred_test(k, w, u, x))
				{
					w->inside = true;
					*at = next[*at];
				}
				else
					at = &next[*at];
			}
		}
	}
	return RB_OK;
}

/*
 * Runs the deferred tests at the end of the whole check: records the faults of those that start
 * inside the mesh, and counts the others.
 */
static rb_status
run_deferred_tests_of_check(rb_checking *k)
{
	if (k->wanted.n == 0)
		return RB_OK;
	RB_TRY(rb_check_scratch(k, 0, k->wanted.n));
	RB_TRY(rb_check_scratch(k, 1, k->in->npoints));
	memset(k->scratch[1], 0xff, k->in->npoints * sizeof(uint32_t));
	for (uint32_t i = 0; i < k->wanted.n; i++)
	{
		const rb_deferred_test *w = &k->wanted.at[i];

		if (rb_check_bad(k, w->from) || rb_check_bad(k, w->to) ||
			(w->side != RB_NONE && rb_check_bad(k, w->side)))
			continue;
		k->scratch[0][i] = k->scratch[1][w->from];
		k->scratch[1][w->from] = i;
	}
	RB_TRY(find_starts_of_deferred_tests(k, k->scratch[0], k->scratch[1]));
	for (uint32_t i = 0; i < k->wanted.n; i++)
	{
		const rb_deferred_test *w = &k->wanted.at[i];

		if (w->inside)
			RB_TRY(rb_check_fault(k, w->kind, w->a, w->b, RB_NONE, 0));
		else if (w->kind == RB_FAULT_FACE_NOT_IN_MESH)
			k->report->outside_faces++;
		else if (w->kind == RB_FAULT_EDGE_NOT_IN_MESH)
			k->report->outside_edges++;
		else if (w->kind == RB_FAULT_FACET_MISSING)
			k->report->outside_facets++;
	}
	return RB_OK;
}

/* ---- the whole check ---- */

/* Sorts the listed faults by kind; `spare` has room for all of them. */
static void
sort_by_kind(rb_checking *k, rb_fault *spare)
{
	rb_check_report *r = k->report;
	uint32_t start[RB_FAULT_KINDS + 1] = {0};

	for (uint32_t i = 0; i < r->nlist; i++)
		start[r->list[i].kind + 1]++;
	for (int i = 0; i < RB_FAULT_KINDS; i++)
		start[i + 1] += start[i];
	for (uint32_t i = 0; i < r->nlist; i++)
		spare[start[r->list[i].kind]++] = r->list[i];
	if (r->nlist > 0)
		memcpy(r->list, spare, r->nlist * sizeof(rb_fault));
}

/* Runs all checks of a mesh. */
static rb_status
run_checks(rb_checking *k)
{
	const rb_check_input *in = k->in;

	if (in->ntets >= (uint32_t) 1 << 30)
		return rb_fail(k->ctx, RB_TOO_MANY_OBJECTS, in->ntets, (uint32_t) 1 << 30, NULL);
	k->nfacets = in->plc != NULL ? in->plc->nfacets : in->nfacets;
	k->has_holes = in->plc == NULL;
	for (uint32_t i = 0; in->plc != NULL && i < in->plc->nseeds; i++)
		k->has_holes |= in->plc->seeds[i].hole;
	RB_TRY(rb_check_tets(k));
	RB_TRY(rb_check_constraints(k));
	RB_TRY(rb_check_delaunay(k));
	RB_TRY(check_boundary(k));
	return run_deferred_tests_of_check(k);
}

/* Orders the list of faults by kind. */
static rb_status
order_faults(rb_checking *k)
{
	void *spare = NULL;

	if (k->report->nlist == 0)
		return RB_OK;
	RB_TRY(rb_array(k->ctx, &spare, k->report->nlist, sizeof(rb_fault)));
	sort_by_kind(k, (rb_fault *) spare);
	rb_free(k->ctx->memory, &spare);
	return RB_OK;
}

/* Frees the arrays of the check. */
static void
free_checking(rb_checking *k)
{
	rb_memory *memory = k->ctx->memory;
	void **blocks[] = {
		(void **) &k->point,     (void **) &k->sign,           (void **) &k->mate,
		(void **) &k->on_facet,  (void **) &k->face_ok,        (void **) &k->edge_ok,
		(void **) &k->facet_bad, (void **) &k->facet_reported, (void **) &k->segment_bad};

	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
		rb_free(memory, blocks[i]);
	for (size_t i = 0; i < sizeof(k->scratch) / sizeof(k->scratch[0]); i++)
		RB_FREE(memory, k->scratch[i]);
	rb_vec_free(memory, &k->wanted);
	rb_point_hash_free(memory, &k->equal);
	rb_table_free(memory, &k->listed);
	RB_FREE(memory, k->faces.slot);
	rb_pair_set_free(memory, &k->edges);
	rb_table_free(memory, &k->claimed);
	rb_table_free(memory, &k->segments);
	rb_table_free(memory, &k->local);
	rb_buckets_free(memory, &k->edges_of);
	rb_buckets_free(memory, &k->faces_of);
}

rb_status
rb_check_mesh(rb_context *ctx, const rb_check_input *in, rb_check_report *report)
{
	rb_checking k = {.ctx = ctx, .in = in, .report = report};
	rb_status status;

	memset(report, 0, sizeof(*report));
	status = run_checks(&k);
	if (status == RB_OK)
		status = order_faults(&k);
	free_checking(&k);
	if (status != RB_OK)
		rb_check_report_free(ctx->memory, report);
	return status;
}
