/*
 * tets.c
 *	  Counts and lists faults. Checks the points and tetrahedra by themselves: that points are
 *	  finite and distinct, that their kinds make sense, that input points are unchanged, bit for
 *	  bit, that tetrahedra are positive and match face by face, and that they are Delaunay.
 *
 * The side of a common face on which a tetrahedron lies follows from the parity of sorting the
 * face's corners and from the tetrahedron's own sign. An inverted tetrahedron is therefore reported
 * only as that.
 *
 * For every unconstrained face, the opposite vertex must be outside the circumsphere, and the
 * region must not change. For two positive tetrahedra with a common face, the vertex of one is
 * inside the circumsphere of the other if and only if the converse holds. One of the two tests is
 * therefore enough.
 */
#include "mesh/check/checking.h"

/* ---- faults ---- */

static const char *const texts[RB_FAULT_KINDS] = {
#define RB_FAULT_TEXT(name, text) text,
	RB_FAULT_LIST(RB_FAULT_TEXT)
#undef RB_FAULT_TEXT
};

const char *
rb_fault_text(rb_fault_kind kind)
{
	return (unsigned) kind < RB_FAULT_KINDS ? texts[kind] : "unknown fault";
}

rb_status
rb_check_fault(rb_checking *k, rb_fault_kind kind, uint32_t a, uint32_t b, uint32_t c,
			   double amount)
{
	rb_check_report *r = k->report;

	r->faults++;
	if (r->count[kind]++ >= k->in->most || r->nlist == UINT32_MAX)
		return RB_OK;
	RB_TRY(RB_GROW(k->ctx, r->list, k->list_cap, (size_t) r->nlist + 1));
	r->list[r->nlist++] = (rb_fault){.kind = kind, .a = a, .b = b, .c = c, .amount = amount};
	return RB_OK;
}

rb_status
rb_check_defer(rb_checking *k, const rb_deferred_test *w)
{
	return rb_vec_append(k->ctx, &k->wanted, *w);
}

/* ---- points ---- */

/*
 * Checks that the points of the mesh are finite, and measures their extent, before the tetrahedra
 * are checked.
 */
static rb_status
check_points_are_finite(rb_checking *k)
{
	double low[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL};
	double high[3] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
	double d[3] = {0, 0, 0};

	for (uint32_t i = 0; i < k->in->npoints; i++)
	{
		const double *p = rb_check_point(k, i);

		RB_CHECK_STOP(k, i);
		k->point[i] = 0;
		if (!rb_all_finite(p, 3))
		{
			k->point[i] = RB_POINT_BAD;
			RB_TRY(rb_check_fault(k, RB_FAULT_POINT_NOT_FINITE, i, RB_NONE, RB_NONE, 0));
			continue;
		}
		for (int j = 0; j < 3; j++)
		{
			low[j] = fmin(low[j], p[j]);
			high[j] = fmax(high[j], p[j]);
			k->largest = fmax(k->largest, fabs(p[j]));
		}
	}
	if (low[0] <= high[0])
		for (int j = 0; j < 3; j++)
			d[j] = high[j] - low[j];
	k->diagonal = hypot(hypot(d[0], d[1]), d[2]);
	k->scale = ldexp(
		1, k->diagonal > 0 && k->diagonal < HUGE_VAL ? -(int) fmax(ilogb(k->diagonal), -1000) : 0);
	/* Far from the origin, the spacing of doubles is the larger term. */
	k->near = 1e-9 * k->diagonal + 0x1p-50 * k->largest;
	return RB_OK;
}

/* Records points with equal coordinates. */
static rb_status
equal_points(rb_checking *k)
{
	const uint32_t *first;

	RB_TRY(rb_point_hash_find(k->ctx, k->in->points, k->in->npoints, &k->equal));
	first = k->equal.first;
	for (uint32_t i = 0; i < k->in->npoints; i++)
	{
		RB_CHECK_STOP(k, i);
		if (first[i] != i && !rb_check_bad(k, i))
			RB_TRY(rb_check_fault(k, RB_FAULT_POINTS_EQUAL, first[i], i, RB_NONE, 0));
	}
	rb_point_hash_free(k->ctx->memory, &k->equal);
	return RB_OK;
}

/* Checks kinds and parents of all points. */
static rb_status
check_kinds(rb_checking *k)
{
	const rb_check_input *in = k->in;

	for (uint32_t i = 0; i < in->npoints; i++)
	{
		uint32_t kind = in->kind == NULL ? RB_VERTEX_INPUT : in->kind[i];
		uint32_t parent = rb_check_parent(k, i);
		bool input = in->plc == NULL ? kind == RB_VERTEX_INPUT : i < in->plc->npoints;

		RB_CHECK_STOP(k, i);
		if (kind >= RB_VERTEX_KINDS || input != (kind == RB_VERTEX_INPUT))
			RB_TRY(rb_check_fault(k, RB_FAULT_POINT_KIND, i, kind, RB_NONE, 0));
		else if (kind == RB_VERTEX_ON_SEGMENT ? parent >= in->nsegments
				 : kind == RB_VERTEX_ON_FACET ? parent >= k->nfacets
											  : parent != RB_NONE)
			RB_TRY(rb_check_fault(k, RB_FAULT_POINT_PARENT, i, parent, RB_NONE, 0));
		else
			continue;
		k->point[i] |= RB_POINT_REPORTED;
	}
	return RB_OK;
}

/* Checks that the points of the PLC are in the mesh unchanged. */
static rb_status
check_inputs(rb_checking *k)
{
	const rb_plc *plc = k->in->plc;

	for (uint32_t i = 0; plc != NULL && i < plc->npoints; i++)
	{
		const double *q = plc->points + 3 * (size_t) i;

		RB_CHECK_STOP(k, i);
		if (i >= k->in->npoints)
			RB_TRY(rb_check_fault(k, RB_FAULT_INPUT_MISSING, i, RB_NONE, RB_NONE, 0));
		else if (memcmp(rb_check_point(k, i), q, 3 * sizeof(double)) != 0 && !rb_check_bad(k, i))
		{
			const double *p = rb_check_point(k, i);

			RB_TRY(rb_check_fault(k, RB_FAULT_INPUT_MOVED, i, RB_NONE, RB_NONE,
								  hypot(hypot(p[0] - q[0], p[1] - q[1]), p[2] - q[2])));
		}
	}
	return RB_OK;
}

/* Checks the points: finite, distinct, with valid kinds, as in the input. */
static rb_status
check_mesh_points(rb_checking *k)
{
	RB_TRY(RB_ALLOCATE(k->ctx, k->point, (size_t) k->in->npoints + 1));
	RB_TRY(check_points_are_finite(k));
	RB_TRY(equal_points(k));
	RB_TRY(check_kinds(k));
	return check_inputs(k);
}

/* ---- tetrahedra ---- */

/* Checks the corners and orientation of one tetrahedron and adds its volume. */
static rb_status
check_tet(rb_checking *k, uint32_t t, double *sum, double *rest)
{
	const uint32_t *v = k->in->tets[t];
	const double *p[4];
	double u[3][3], d, s;
	int sign = 0;

	k->sign[t] = RB_EXCLUDED;
	for (int i = 0; i < 4; i++)
		if (v[i] >= k->in->npoints)
			return rb_check_fault(k, RB_FAULT_TET_NUMBER, t, v[i], RB_NONE, 0);
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < i; j++)
			if (v[i] == v[j])
				return rb_check_fault(k, RB_FAULT_TET_CORNERS, t, v[i], RB_NONE, 0);
	k->sign[t] = 0;
	for (int i = 0; i < 4; i++)
	{
		p[i] = rb_check_point(k, v[i]);
		if (rb_check_bad(k, v[i]))
			return RB_OK;
	}
	sign = rb_orient3d(p[0], p[1], p[2], p[3]);
	k->sign[t] = (int8_t) sign;
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++)
			u[i][j] = p[i + 1][j] - p[0][j];
	d = u[0][0] * (u[1][1] * u[2][2] - u[1][2] * u[2][1]) +
		u[0][1] * (u[1][2] * u[2][0] - u[1][0] * u[2][2]) +
		u[0][2] * (u[1][0] * u[2][1] - u[1][1] * u[2][0]);
	/* Sum up the rounding error of each addition separately (compensated summation). */
	s = *sum + d;
	*rest += fabs(*sum) >= fabs(d) ? (*sum - s) + d : (d - s) + *sum;
	*sum = s;
	if (sign == 0)
		return rb_check_fault(k, RB_FAULT_TET_FLAT, t, RB_NONE, RB_NONE, 0);
	if (sign < 0)
		return rb_check_fault(k, RB_FAULT_TET_INVERTED, t, RB_NONE, RB_NONE, d / 6);
	return RB_OK;
}

/* Corners of a face, ascending */
typedef struct face_key
{
	uint32_t v[3];
} face_key;

/* Returns the sorted corners of a face of a tetrahedron, by which twin faces are found. */
static inline face_key
key_of_checked_tet_face(const rb_checking *k, uint32_t face)
{
	face_key key;

	rb_check_corners(k, face, key.v);
	rb_sort3(key.v);
	return key;
}

#define RB_HASH rb_face_table
#define RB_HASH_SLOT uint32_t
#define RB_HASH_DEFINE
#define RB_HASH_KEY face_key
#define RB_HASH_ARG const rb_checking *
#define RB_HASH_OF(k, key) rb_mix(rb_mix((uint64_t) (key).v[0] << 32 | (key).v[1]) ^ (key).v[2])
#define RB_HASH_EQUAL(k, slot, key) are_checked_faces_twins(key_of_checked_tet_face(k, slot), key)
#define RB_HASH_KEY_OF(k, slot) key_of_checked_tet_face(k, slot)

/*
 * Returns true if two faces of tetrahedra have the same corners, which the keys hold in ascending
 * order.
 */
static inline bool
are_checked_faces_twins(face_key a, face_key b)
{
	return a.v[0] == b.v[0] && a.v[1] == b.v[1] && a.v[2] == b.v[2];
}

#include "core/base/hash.h"

uint32_t
rb_check_find_face(const rb_checking *k, const uint32_t v[3])
{
	return *rb_face_table_find(&k->faces, k, (face_key){{v[0], v[1], v[2]}});
}

/*
 * Returns the side of a face on which its tetrahedron lies, 1 or -1, or 0 if unknown; twin faces
 * must have different sides.
 */
static int
side_of_checked_tet(const rb_checking *k, uint32_t face)
{
	uint32_t v[3];

	rb_check_corners(k, face, v);
	return rb_sort3(v) ? -k->sign[face >> 2] : k->sign[face >> 2];
}

/* Returns the vertex of a face's tetrahedron that is not on the face. */
static uint32_t
corner_opposite_checked_face(const rb_checking *k, uint32_t face)
{
	return k->in->tets[face >> 2][face & 3];
}

/* Pairs a face with its twin, or stores the face until the twin comes. */
static rb_status
pair_checked_face(rb_checking *k, uint32_t face)
{
	uint32_t *at, other;

	RB_TRY(rb_face_table_reserve(k->ctx, &k->faces, k, 1));
	at = rb_face_table_find(&k->faces, k, key_of_checked_tet_face(k, face));
	other = *at;
	k->mate[face] = RB_NONE;
	if (other == RB_NONE)
	{
		*at = face;
		k->faces.n++;
		return RB_OK;
	}
	if (k->mate[other] != RB_NONE)
	{
		k->mate[face] = RB_NO_TEST;
		return rb_check_fault(k, RB_FAULT_SHARED, other >> 2, face >> 2,
							  corner_opposite_checked_face(k, face), 0);
	}
	k->mate[face] = other;
	k->mate[other] = face;
	if (side_of_checked_tet(k, face) * side_of_checked_tet(k, other) > 0)
	{
		k->mate[face] = k->mate[other] = RB_NO_TEST;
		return rb_check_fault(k, RB_FAULT_SAME_SIDE, other >> 2, face >> 2,
							  corner_opposite_checked_face(k, face), 0);
	}
	return RB_OK;
}

/* Returns a different tetrahedron that has the same corners as tetrahedron t, or RB_NONE. */
static uint32_t
find_twin_of_checked_tet(const rb_checking *k, uint32_t t)
{
	uint32_t other = *rb_face_table_find(&k->faces, k, key_of_checked_tet_face(k, t << 2));

	if (other == RB_NONE)
		return RB_NONE;
	if (corner_opposite_checked_face(k, other) == k->in->tets[t][0])
		return other >> 2;
	other = k->mate[other];
	return other < RB_NO_TEST && corner_opposite_checked_face(k, other) == k->in->tets[t][0]
			   ? other >> 2
			   : RB_NONE;
}

/* Checks all tetrahedra and pairs their faces. */
static rb_status
check_tets(rb_checking *k)
{
	uint32_t n = k->in->ntets;
	double sum = 0, rest = 0;

	RB_TRY(RB_ALLOCATE(k->ctx, k->sign, (size_t) n + 1));
	RB_TRY(RB_ALLOCATE(k->ctx, k->on_facet, (size_t) n + 1));
	RB_TRY(RB_ALLOCATE(k->ctx, k->mate, 4 * (size_t) n + 1));
	/* Except on the boundary, the faces of tetrahedra come in pairs. */
	RB_TRY(rb_face_table_reset(k->ctx, &k->faces, 2 * (size_t) n + n / 8));
	memset(k->on_facet, 0, (size_t) n + 1);
	RB_TRY(rb_pair_set_reset(k->ctx, &k->edges, (size_t) n + n / 4));
	for (uint32_t t = 0; t < n; t++)
	{
		const uint32_t *v = k->in->tets[t];
		uint32_t twin;

		RB_CHECK_STOP(k, t);
		RB_TRY(check_tet(k, t, &sum, &rest));
		if (k->sign[t] == RB_EXCLUDED)
			continue;
		twin = find_twin_of_checked_tet(k, t);
		if (twin != RB_NONE)
		{
			k->sign[t] = RB_EXCLUDED;
			RB_TRY(rb_check_fault(k, RB_FAULT_TET_TWICE, twin, t, RB_NONE, 0));
			continue;
		}
		k->ntets++;
		for (uint32_t i = 0; i < 4; i++)
		{
			k->point[v[i]] |= RB_POINT_USED;
			RB_TRY(pair_checked_face(k, t << 2 | i));
			for (uint32_t j = 0; j < i; j++)
				RB_TRY(rb_pair_set_insert(k->ctx, &k->edges, v[i], v[j]));
		}
	}
	k->report->volume = isfinite(sum + rest) ? (sum + rest) / 6 : HUGE_VAL;
	return RB_OK;
}

/*
 * Reports Steiner points that are not a corner of any tetrahedron. Unused input points are only
 * counted, because they may be outside the kept part.
 */
static rb_status
find_unused_points(rb_checking *k)
{
	for (uint32_t i = 0; i < k->in->npoints; i++)
	{
		RB_CHECK_STOP(k, i);
		if ((k->point[i] & RB_POINT_USED) != 0)
			continue;
		if (rb_check_kind(k, i) == RB_VERTEX_INPUT)
			k->report->unused_inputs++;
		else
			RB_TRY(rb_check_fault(k, RB_FAULT_POINT_UNUSED, i, RB_NONE, RB_NONE, 0));
	}
	return RB_OK;
}

rb_status
rb_check_tets(rb_checking *k)
{
	RB_TRY(check_mesh_points(k));
	RB_TRY(check_tets(k));
	return find_unused_points(k);
}

/* ---- Delaunay property ---- */

/* Checks the two tetrahedra at a face: regions and Delaunay property. */
static rb_status
check_tets_at_mesh_face(rb_checking *k, uint32_t face, uint32_t other)
{
	const rb_check_input *in = k->in;
	uint32_t t = face >> 2, u = other >> 2, x;

	if (in->region != NULL && in->region[t] != in->region[u])
		RB_TRY(rb_check_fault(k, RB_FAULT_REGIONS, t, u, RB_NONE, 0));
	if (k->sign[t] <= 0)
	{
		x = face, face = other, other = x;
		x = t, t = u, u = x;
	}
	x = in->tets[u][other & 3];
	if (k->sign[t] <= 0 || in->not_delaunay || rb_check_bad(k, x) ||
		(in->tet_not_delaunay != NULL && in->tet_not_delaunay[t] == 1 &&
		 in->tet_not_delaunay[u] == 1))
		return RB_OK;
	if (rb_insphere(rb_check_point(k, in->tets[t][0]), rb_check_point(k, in->tets[t][1]),
					rb_check_point(k, in->tets[t][2]), rb_check_point(k, in->tets[t][3]),
					rb_check_point(k, x)) > 0)
		return rb_check_fault(k, RB_FAULT_NOT_DELAUNAY, t, u, x, 0);
	return RB_OK;
}

rb_status
rb_check_delaunay(rb_checking *k)
{
	for (uint32_t t = 0; t < k->in->ntets; t++)
	{
		RB_CHECK_STOP(k, t);
		if (k->sign[t] == RB_EXCLUDED)
			continue;
		for (uint32_t i = 0; i < 4; i++)
		{
			uint32_t face = t << 2 | i;
			uint32_t other = k->mate[face];

			if (other < RB_NO_TEST && face < other && (k->on_facet[t] >> i & 1) == 0)
				RB_TRY(check_tets_at_mesh_face(k, face, other));
		}
	}
	return RB_OK;
}
