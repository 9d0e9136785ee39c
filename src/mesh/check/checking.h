/*
 * checking.h
 *	  Declares the state of the mesh checker, shared by its files.
 *
 * The parts of the checker run in the order of their declarations below, and each prepares data for
 * the later ones. All memory is held by rb_checking and freed at the end.
 */
#ifndef RB_MESH_CHECK_CHECKING_H
#define RB_MESH_CHECK_CHECKING_H

#include "core/base/bucket.h"
#include "core/base/point_hash.h"
#include "mesh/check/check.h"
#include "mesh/hash_table.h"
#include "mesh/tet.h"

#include <math.h>

#ifdef __cplusplus
extern "C"
{
#endif

/* ---- tables ---- */

/* A set of unordered pairs of points */
#define RB_HASH rb_pair_set
#define RB_HASH_SLOT uint64_t
#define RB_HASH_KEY uint64_t
#define RB_HASH_OF(arg, pair) rb_mix(pair)
#define RB_HASH_EQUAL(arg, slot, pair) ((slot) == (pair))
#define RB_HASH_KEY_OF(arg, slot) (slot)
#include "core/base/hash.h"

/*
 * Inserts a pair if it is new, and sets *was to RB_NONE; otherwise sets *was to the pair's value.
 */
static inline rb_status
rb_check_insert_pair(rb_context *ctx, rb_table *t, uint32_t a, uint32_t b, uint32_t value,
					 uint32_t *was)
{
	uint32_t *there;
	bool fresh;

	RB_TRY(rb_table_insert(ctx, t, a, b, RB_NONE, value, &there, &fresh));
	*was = fresh ? RB_NONE : *there;
	return RB_OK;
}

/* Returns the value of a pair, or RB_NONE if absent. */
static inline uint32_t
rb_check_find_pair(const rb_table *t, uint32_t a, uint32_t b)
{
	const uint32_t *there = rb_table_get(t, a, b, RB_NONE);

	return there != NULL ? *there : RB_NONE;
}

/* Adds a pair of numbers, which may be in the set already. */
static inline rb_status
rb_pair_set_insert(rb_context *ctx, rb_pair_set *t, uint32_t a, uint32_t b)
{
	uint64_t *pair;

	RB_TRY(rb_pair_set_reserve(ctx, t, NULL, 1));
	pair = rb_pair_set_find(t, NULL, rb_pair_key(a, b));
	t->n += *pair == UINT64_MAX;
	*pair = rb_pair_key(a, b);
	return RB_OK;
}

/* Returns true if the set contains a pair of numbers. */
static inline bool
rb_pair_set_has(const rb_pair_set *t, uint32_t a, uint32_t b)
{
	return *rb_pair_set_find(t, NULL, rb_pair_key(a, b)) != UINT64_MAX;
}

/* Faces of tetrahedra by their corners (tets.c) */
#define RB_HASH rb_face_table
#define RB_HASH_SLOT uint32_t
#define RB_HASH_DECLARE
#include "core/base/hash.h"

/* Sorts three numbers ascending; returns 1 if that took an odd permutation, else 0. */
static inline int
rb_sort3(uint32_t v[3])
{
	int odd = 0;
	uint32_t x;

#define RB_SORT2(i, j)                             \
	if (v[i] > v[j])                               \
	{                                              \
		x = v[i], v[i] = v[j], v[j] = x, odd ^= 1; \
	}
	RB_SORT2(0, 1)
	RB_SORT2(1, 2)
	RB_SORT2(0, 1)
#undef RB_SORT2
	return odd;
}

/* ---- state of the checker ---- */

#define RB_EXCLUDED 2 /* replaces the sign of a tetrahedron that is excluded from the mesh */
/* Value for a neighbor that exists, but tests that involve both tetrahedra are skipped */
#define RB_NO_TEST (UINT32_MAX - 1)

/* Bits of a point */
/* has a coordinate that is not finite: predicates cannot be evaluated */
#define RB_POINT_BAD 1u
#define RB_POINT_USED 2u     /* a corner of a tetrahedron */
#define RB_POINT_SEEN 4u     /* on a segment or facet and found there */
#define RB_POINT_REPORTED 8u /* a fault of its kind or parent was reported */
#define RB_POINT_HERE 16u    /* scratch bit of one test */

/* Bits of a facet */
#define RB_REPORTED_FAR 1u  /* points far from the facet were reported */
#define RB_REPORTED_AREA 2u /* a wrong area, or a face that occurs twice, was reported */

/*
 * A test of whether an edge or a face lies inside the kept part; if so, its absence from the mesh
 * is a fault
 */
typedef struct rb_deferred_test
{
	uint32_t from, to; /* ends of the edge, or of one edge of the face */
	/* third corner of the face, or RB_NONE to test the edge itself */
	uint32_t side;
	bool inside;
	rb_fault_kind kind; /* kind of the fault to report */
	uint32_t a, b;
} rb_deferred_test;

typedef struct rb_checking
{
	rb_context *ctx;
	const rb_check_input *in;
	rb_check_report *report;
	size_t list_cap;
	uint32_t nfacets;
	bool has_holes; /* true if the mesh has holes, or if that is unknown */
	double diagonal;
	double largest; /* largest coordinate */
	/*
	 * A power of two that scales lengths to about 1, so that products neither overflow nor
	 * underflow
	 */
	double scale;
	double near;         /* maximum distance of a point from its segment or facet */
	rb_point_hash equal; /* points with equal coordinates */
	rb_table listed;     /* listed faces */
	/* Points */
	uint8_t *point;
	/* Tetrahedra */
	int8_t *sign;
	/*
	 * for each face tet << 2 | corner, the same face seen from its other side, or RB_NONE on the
	 * boundary
	 */
	uint32_t *mate;
	uint8_t *on_facet;   /* for each tetrahedron, one bit for each face on a facet */
	rb_face_table faces; /* distinct faces of tetrahedra */
	uint32_t ntets;      /* number of tetrahedra that are not excluded */
	rb_pair_set edges;   /* edges of tetrahedra */
	/* Faces and edges listed in the mesh */
	uint8_t *face_ok; /* for each listed face, whether later tests can use it */
	uint8_t *edge_ok;
	rb_table claimed;        /* maps an edge to its index in in->edges */
	rb_table segments;       /* maps two ends to the segment */
	rb_buckets edges_of;     /* edges of each segment */
	rb_buckets faces_of;     /* faces of each facet */
	uint8_t *facet_bad;      /* for each facet, whether a part of it was excluded */
	uint8_t *facet_reported; /* for each facet, bits of the faults that were reported */
	uint8_t *segment_bad;
	RB_VEC(rb_deferred_test) wanted;
	/* Scratch */
	uint32_t *scratch[8];
	rb_table local;
} rb_checking;

/* Returns the coordinates of a point. */
static inline const double *
rb_check_point(const rb_checking *k, uint32_t p)
{
	return k->in->points + 3 * (size_t) p;
}

/* Returns true if a point has a fault that makes tests of its coordinates useless. */
static inline bool
rb_check_bad(const rb_checking *k, uint32_t p)
{
	return (k->point[p] & RB_POINT_BAD) != 0;
}

/* Returns the kind of a point according to the mesh; without kinds, all are input points. */
static inline rb_vertex_kind
rb_check_kind(const rb_checking *k, uint32_t p)
{
	return k->in->kind == NULL ? RB_VERTEX_INPUT : (rb_vertex_kind) k->in->kind[p];
}

/* Returns the parent of a point according to the mesh, or RB_NONE. */
static inline uint32_t
rb_check_parent(const rb_checking *k, uint32_t p)
{
	return k->in->parent == NULL ? RB_NONE : k->in->parent[p];
}

/* Returns the three corners of a face of a tetrahedron. */
static inline void
rb_check_corners(const rb_checking *k, uint32_t face, uint32_t v[3])
{
	const uint32_t *t = k->in->tets[face >> 2];

	for (int i = 0; i < 3; i++)
		v[i] = t[rb_face_corners[face & 3][i]];
}

#define RB_CHECK_STOP(k, i)                               \
	do                                                    \
	{                                                     \
		if ((i) % 256 == 255 && rb_should_stop((k)->ctx)) \
			return RB_STOPPED;                            \
	} while (0)

/* Allocates n words of scratch array i. */
static inline rb_status
rb_check_scratch(rb_checking *k, int i, size_t n)
{
	return RB_ALLOCATE(k->ctx, k->scratch[i], n > 0 ? n : 1);
}

/* ---- faults and deferred tests (tets.c) ---- */

/* Reports a fault of up to three objects; `amount` is its size, if it has one. */
extern rb_status rb_check_fault(rb_checking *k, rb_fault_kind kind, uint32_t a, uint32_t b,
								uint32_t c, double amount);
/*
 * Records a test of an input edge or face that is missing in the mesh, to run at the end of the
 * check.
 */
extern rb_status rb_check_defer(rb_checking *k, const rb_deferred_test *w);

/* ---- parts of the checker ---- */

extern rb_status rb_check_tets(rb_checking *k);        /* tets.c */
extern rb_status rb_check_constraints(rb_checking *k); /* constraints.c */
extern rb_status rb_check_delaunay(rb_checking *k);    /* tets.c */

/* Returns the tetrahedron face with the given ascending corners, or RB_NONE. */
extern uint32_t rb_check_find_face(const rb_checking *k, const uint32_t v[3]); /* tets.c */

#ifdef __cplusplus
}
#endif

#endif /* RB_MESH_CHECK_CHECKING_H */
