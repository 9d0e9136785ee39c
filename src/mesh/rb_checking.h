/*
 * rb_checking.h
 *	  What the files of the checker share: what is known of a mesh while it is looked at.
 *
 * One file after the other takes its part, in the order of the functions below; each leaves what the
 * next ones need.  All memory is in rb_checking and goes at the end.
 */
#ifndef RB_CHECKING_H
#define RB_CHECKING_H

#include "core/base/rb_base.h"
#include "mesh/rb_check.h"

#include <math.h>

#ifdef __cplusplus
extern "C"
{
#endif

/* ---- tables (check_tables.c) ---- */

/* unordered pairs of points, each with a number; or as a set, without */
typedef struct rb_pairs
{
	uint64_t *key; /* smaller << 32 | larger; UINT64_MAX: a free place */
	uint32_t *value;
	size_t cap; /* a power of two */
	size_t n;
	bool set;
} rb_pairs;

extern rb_status rb_pairs_init(rb_context *ctx, rb_pairs *t, size_t expected, bool set);
extern void rb_pairs_free(rb_memory *memory, rb_pairs *t);
/* *was: the number that the pair had before, which stays; RB_NONE: it is new.  Of a set: 0 or RB_NONE. */
extern rb_status rb_pairs_put(rb_context *ctx, rb_pairs *t, uint32_t a, uint32_t b, uint32_t value,
							  uint32_t *was);
extern uint32_t rb_pairs_get(const rb_pairs *t, uint32_t a,
							 uint32_t b); /* RB_NONE: it is not there */

/* members of groups: those of group g are member[start[g]] ... member[start[g + 1] - 1], ascending */
typedef struct rb_buckets
{
	uint32_t *start;
	uint32_t *member;
} rb_buckets;

/* member i is of group of[i]; those with a group from ngroups on, or not in `takes`, are in none */
extern rb_status rb_buckets_make(rb_context *ctx, rb_buckets *b, const uint32_t *of,
								 const uint8_t *takes, uint32_t n, uint32_t ngroups);
extern void rb_buckets_free(rb_memory *memory, rb_buckets *b);

static inline uint32_t
rb_hash_triple(uint32_t a, uint32_t b, uint32_t c)
{
	uint64_t x = (a | (uint64_t) b << 32) * 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 29 ^ c) * 0xbf58476d1ce4e5b9u;
	return (uint32_t) ((x ^ x >> 32) * 0x94d049bb133111ebu >> 32);
}

/* where in a table of cap places a hash begins */
static inline uint32_t
rb_hash_place(uint32_t hash, uint32_t cap)
{
	return (uint32_t) ((uint64_t) hash * cap >> 32);
}

/* ascending; returns how often two of them changed places, odd or even */
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

/* ---- what is known ---- */

#define RB_LEFT_OUT 2 /* in place of a sign: this tetrahedron is not part of the mesh */
/* in place of a neighbour: there is one, but nothing more is to be asked of the two */
#define RB_NO_QUESTION (UINT32_MAX - 1)

/* bits of a point */
#define RB_POINT_BAD 1u   /* not finite: no sign can be taken */
#define RB_POINT_USED 2u  /* a corner of a tetrahedron */
#define RB_POINT_SEEN 4u  /* on a segment or facet, and found there */
#define RB_POINT_TOLD 8u  /* its kind or parent is a fault that was told */
#define RB_POINT_HERE 16u /* scratch */

/* is it in what is kept?  If so, it is a fault that it is not in the mesh */
typedef struct rb_wanted
{
	uint32_t from, to; /* an edge */
	uint32_t
		side; /* RB_NONE: does the way from -> to begin there?  Else: beside edge from, to, towards it? */
	bool inside;
	rb_fault_kind kind; /* of the fault */
	uint32_t a, b;
} rb_wanted;

typedef struct rb_checking
{
	rb_context *ctx;
	const rb_check_input *in;
	rb_check_report *report;
	size_t list_cap;
	uint32_t nfacets;
	bool has_holes; /* or it is not known that there are none */
	double diagonal;
	double largest; /* coordinate */
	double
		scale; /* a power of two: lengths times it are about 1, so that products neither overflow nor vanish */
	double near;     /* points on segments and facets may be so far from them */
	uint32_t *table; /* of points, then of faces of tetrahedra */
	/* points */
	uint8_t *point;
	/* tetrahedra */
	int8_t *sign;
	uint32_t *
		mate; /* of each face, tet << 2 | corner: the same from its other side; RB_NONE: the boundary */
	uint8_t *on_facet; /* of each tetrahedron: a bit for each of its faces */
	uint32_t *faces;   /* table of faces */
	uint32_t faces_cap;
	uint32_t nfaces; /* of tetrahedra, each once */
	uint32_t ntets;  /* that are not left out */
	rb_pairs edges;  /* of tetrahedra */
	/* claims */
	uint8_t *face_ok; /* it can be asked for more */
	uint8_t *edge_ok;
	rb_pairs claimed;    /* edge -> its number among in->edges */
	rb_pairs segments;   /* its ends -> segment */
	rb_buckets edges_of; /* each segment */
	rb_buckets faces_of; /* each facet */
	uint8_t *facet_bad;  /* something was left out of it */
	uint8_t *facet_far;  /* points on it are far from it, and told */
	uint8_t *segment_bad;
	rb_wanted *wanted;
	size_t wanted_cap;
	uint32_t nwanted;
	/* scratch */
	uint32_t *scratch[8];
	rb_pairs local;
} rb_checking;

static inline const double *
rb_check_point(const rb_checking *k, uint32_t p)
{
	return k->in->points + 3 * (size_t) p;
}

static inline bool
rb_check_bad(const rb_checking *k, uint32_t p)
{
	return (k->point[p] & RB_POINT_BAD) != 0;
}

static inline rb_vertex_kind
rb_check_kind(const rb_checking *k, uint32_t p)
{
	return k->in->kind == NULL ? RB_VERTEX_INPUT : (rb_vertex_kind) k->in->kind[p];
}

static inline uint32_t
rb_check_parent(const rb_checking *k, uint32_t p)
{
	return k->in->parent == NULL ? RB_NONE : k->in->parent[p];
}

/* the face opposite to corner i: with corner i in front a permutation that is even */
static const uint8_t rb_check_face[4][3]
	__attribute__((unused)) = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};

static inline void
rb_check_corners(const rb_checking *k, uint32_t face, uint32_t v[3])
{
	const uint32_t *t = k->in->tets[face >> 2];

	for (int i = 0; i < 3; i++)
		v[i] = t[rb_check_face[face & 3][i]];
}

#define RB_CHECK_STOP(k, i)                               \
	do                                                    \
	{                                                     \
		if ((i) % 256 == 255 && rb_should_stop((k)->ctx)) \
			return RB_STOPPED;                            \
	} while (0)

#define RB_TRY(call)             \
	do                           \
	{                            \
		rb_status try_ = (call); \
		if (try_ != RB_OK)       \
			return try_;         \
	} while (0)

/* so many words of scratch */
static inline rb_status
rb_check_scratch(rb_checking *k, int i, size_t n)
{
	return rb_array(k->ctx, (void **) &k->scratch[i], n > 0 ? n : 1, sizeof(uint32_t));
}

/* ---- check_faults.c ---- */

extern rb_status rb_check_fault(rb_checking *k, rb_fault_kind kind, uint32_t a, uint32_t b,
								uint32_t c, double amount);
extern void rb_check_order(rb_checking *k, rb_fault *spare); /* spare has room for all */

/* ---- the parts ---- */

extern rb_status rb_check_points(rb_checking *k);   /* check_points.c */
extern rb_status rb_check_tets(rb_checking *k);     /* check_tets.c */
extern rb_status rb_check_unused(rb_checking *k);   /* check_points.c */
extern rb_status rb_check_claims(rb_checking *k);   /* check_claims.c */
extern rb_status rb_check_delaunay(rb_checking *k); /* check_delaunay.c */
extern rb_status rb_check_boundary(rb_checking *k); /* check_boundary.c */
extern rb_status rb_check_segments(rb_checking *k); /* check_segments.c */
extern rb_status rb_check_facets(rb_checking *k);   /* check_facets.c */
extern rb_status rb_check_volumes(rb_checking *k);  /* check_volumes.c */
extern rb_status rb_check_kept(rb_checking *k);     /* check_kept.c */

/* the face of a tetrahedron with these corners, which ascend; or RB_NONE */
extern uint32_t rb_check_find_face(const rb_checking *k, const uint32_t v[3]); /* check_tets.c */

/* asks a question for rb_check_kept */
extern rb_status rb_check_want(rb_checking *k, const rb_wanted *w); /* check_faults.c */

#ifdef __cplusplus
}
#endif

#endif /* RB_CHECKING_H */
