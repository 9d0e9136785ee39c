/*
 * mesh.h
 *	  Stores the tetrahedra under construction as flat arrays of 32-bit words, for CPU and GPU
 *	  alike.
 *
 * A tetrahedron has four corners and four links, 32 bytes in all, and one word of bits. Link i
 * leads across the face opposite corner i. It encodes the neighbor and the neighbor's corner
 * opposite the shared face as neighbor << 2 | corner. Such a word is called a face. It identifies a
 * face seen from one side and, equally, a tetrahedron together with one of its corners.
 *
 * The space outside the hull is filled with ghost tetrahedra. A ghost consists of a hull face and
 * RB_GHOST as its fourth corner. Every face therefore has a tetrahedron on both sides, and a
 * traversal never needs a special case at the hull.
 *
 * All tetrahedra are positively oriented (orient.h). A ghost's hull face has the outside on its
 * positive side when RB_GHOST is moved to the last position by an even permutation.
 *
 * A bit in each adjacent tetrahedron marks a face that lies on a facet. Which facet that is, and
 * which edges lie on which segments, is stored in separate tables that hold only these faces and
 * edges (recover.h).
 */
#ifndef RB_MESH_MESH_H
#define RB_MESH_MESH_H

#include "core/base/parallel.h"
#include "core/exact/orient.h"
#include "mesh/plc.h"
#include "mesh/tet.h"

#ifdef __cplusplus
extern "C"
{
#endif

/*
 * A face as tetrahedron << 2 | corner: the face opposite that corner, seen from inside the
 * tetrahedron
 */
typedef uint32_t rb_tet_face;

#define RB_MAX_TETS ((uint32_t) 1 << 30)

/* Bits of a tetrahedron */
#define RB_FACE_BIT(i) (1u << (i)) /* the face opposite corner i is on a facet */
#define RB_MARK (1u << 10)         /* scratch mark; every user clears it after use */
#define RB_MARK2 (1u << 11)
/* created by a facet cavity (cavity.c) and not yet processed by flip_repair.c */
#define RB_MADE (1u << 12)
#define RB_JOURNALED (1u << 13) /* already recorded in the journal */

typedef struct rb_tet
{
	uint32_t v[4];
	rb_tet_face n[4];
} rb_tet;

/*
 * A boundary face of a cavity: the face outside it, and its corners in the order of rb_face_corners
 */
typedef struct rb_rim
{
	rb_tet_face out;
	uint32_t v[3];
} rb_rim;

/*
 * A directed edge a -> b of the cavity boundary, and the face of a new tetrahedron that contains it
 */
typedef struct rb_rim_edge
{
	uint32_t a, b; /* indices into `corners`; a is RB_NONE in an empty slot */
	rb_tet_face f;
} rb_rim_edge;

/* Conflict test data of a tetrahedron: its circumsphere, or a ghost's hull plane (delaunay.c) */
typedef struct rb_sphere
{
	float w[3];
	float error; /* error bound of each w; negative for a plane */
} rb_sphere;

/*
 * Scratch memory of insertions (delaunay.c), and data that exists only while all points are being
 * inserted. During that time `points` holds copies in insertion order, four doubles each, and the
 * corners of tetrahedra are indices into these copies.
 */
typedef struct rb_cavity
{
	uint32_t *inside; /* tetrahedra in conflict */
	rb_rim *rim;
	uint32_t *corners; /* vertices of the cavity boundary */
	/* for each vertex, its index in `corners`, valid only if that entry is the vertex */
	uint32_t *place_of;
	rb_tet_face *square; /* new faces by their edge, as a matrix, for a small boundary */
	rb_rim_edge *edges;  /* hash table of new faces by edge, for a large boundary */
	size_t inside_cap, rim_cap, corners_cap, place_of_cap, square_cap, edges_cap;
	uint32_t ninside, nrim, ncorners;
	double *points;
	uint32_t *number;   /* for each copied point, its index in the mesh */
	rb_sphere *spheres; /* conflict test data of each tetrahedron */
	size_t spheres_cap;
} rb_cavity;

/* Contents of a slot at the time the journal was opened */
typedef struct rb_journal_entry
{
	rb_tet tet;
	uint32_t at;
} rb_journal_entry;

typedef struct rb_mesh
{
	rb_context *ctx;
	rb_exact_env env; /* environment of the exact predicates */
	/*
	 * True if there are enough points for threads to pay off. Algorithms depend on this flag, never
	 * on the number of threads.
	 */
	bool large;
	rb_thread *team; /* threads that process a large mesh, or NULL */
	/* Points; ties in the predicates are broken by their indices */
	double *points;
	uint32_t npoints;
	size_t points_cap;
	uint32_t *tet_of; /* for each point, a tetrahedron with that corner, or RB_NONE */
	size_t tet_of_cap;
	/* Tetrahedra */
	rb_tet *tets;
	uint32_t *bits;
	uint32_t ntets; /* number of slots, including unused ones */
	uint32_t nalive;
	size_t tets_cap;
	uint32_t free;   /* head of the list of unused slots, linked through v[1]; RB_NONE if empty */
	uint32_t recent; /* start of the next walk */
	uint32_t random; /* state of the random numbers used by walks */
	/* Journal: slots changed since it was opened, which can be restored */
	uint32_t journal; /* slots below this index are recorded; 0 if no journal is open */
	rb_journal_entry *was;
	uint32_t nwas;
	size_t was_cap;
	bool reports_progress; /* true if insertion reports its progress to the context */
	rb_cavity cavity;
} rb_mesh;

/* ---- faces and corners ---- */

/* Returns the face of a tetrahedron opposite to a corner. */
static inline rb_tet_face
rb_face_of(uint32_t tet, uint32_t corner)
{
	return tet << 2 | corner;
}
/* Returns the tetrahedron of a face. */
static inline uint32_t
rb_face_tet(rb_tet_face f)
{
	return f >> 2;
}
/* Returns the corner opposite to a face, 0 to 3. */
static inline uint32_t
rb_face_corner(rb_tet_face f)
{
	return f & 3;
}
/* Returns the coordinates of a vertex. */
static inline const double *
rb_mesh_point(const rb_mesh *m, uint32_t v)
{
	return m->points + 3 * (size_t) v;
}
/* Returns true if a tetrahedron was dropped; its number is reused. */
static inline bool
rb_tet_dead(const rb_mesh *m, uint32_t t)
{
	return m->tets[t].v[0] == RB_DEAD;
}

/* Returns which corner of t is v, 0 to 3, or 4 if none is. */
static inline uint32_t
rb_tet_corner(const rb_tet *t, uint32_t v)
{
	return v == t->v[0] ? 0 : v == t->v[1] ? 1 : v == t->v[2] ? 2 : v == t->v[3] ? 3 : 4;
}

/* Returns true if a tetrahedron is outside of the hull: one of its corners is no point. */
static inline bool
rb_tet_ghost(const rb_tet *t)
{
	return t->v[0] == RB_GHOST || t->v[1] == RB_GHOST || t->v[2] == RB_GHOST || t->v[3] == RB_GHOST;
}

/* ---- predicates (mesh.c) ---- */

/* Returns the orientation (orient.h) of four points given by their indices. */
extern int rb_mesh_orient(rb_mesh *m, uint32_t a, uint32_t b, uint32_t c, uint32_t d);

/*
 * Returns 1 if e is inside the circumsphere of the positive tetrahedron abcd, -1 if it is outside.
 * Of cospherical points, those with larger indices are farther out, by symbolic perturbation. The
 * result is 0 only if all five points are coplanar.
 */
extern int rb_mesh_insphere(rb_mesh *m, uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t e);

/*
 * Returns true if point e is inside the circumsphere of tetrahedron t. For a ghost, returns true if
 * e is beyond its hull face, or coplanar with it and inside the face's circumcircle.
 */
extern bool rb_mesh_conflict(rb_mesh *m, uint32_t t, uint32_t e);

/* ---- tetrahedra (mesh.c) ---- */

/* Initializes a mesh without tetrahedra, with a copy of the points. */
extern rb_status rb_mesh_init(rb_mesh *m, rb_context *ctx, const double *points, uint32_t npoints);
/* Frees all memory of the mesh. */
extern void rb_mesh_free(rb_mesh *m);
/* Makes room for `more` new tetrahedra. */
extern rb_status rb_mesh_reserve(rb_mesh *m, uint32_t more);
/* Makes room for `ntets` in all, without slack. */
extern rb_status rb_mesh_reserve_total(rb_mesh *m, double ntets);
/* Adds a tetrahedron with bits 0 and unset links; needs an earlier reserve. */
extern uint32_t rb_mesh_new_tet(rb_mesh *m, uint32_t a, uint32_t b, uint32_t c, uint32_t d);
/* Drops a tetrahedron. The links of its neighbors are not changed. */
extern void rb_mesh_drop_tet(rb_mesh *m, uint32_t t);

/*
 * Opens the journal, from which rb_mesh_undo can undo, all at once, every later change made by
 * rb_mesh_new_tet and rb_mesh_drop_tet, and by rb_mesh_link between the tetrahedra these affect.
 */
extern void rb_mesh_open_journal(rb_mesh *m);
/* Reserves room in the journal for a number of changes; must be called before they are made. */
extern rb_status rb_mesh_reserve_journal(rb_mesh *m, uint32_t changes);
/*
 * Restores the tetrahedra as they were when the journal was opened, sets all bits to 0 and closes
 * the journal. Does not restore tet_of.
 */
extern void rb_mesh_undo(rb_mesh *m);
/* Makes two faces neighbors of each other. */
static inline void
rb_mesh_link(rb_mesh *m, rb_tet_face f, rb_tet_face g)
{
	m->tets[f >> 2].n[f & 3] = g;
	m->tets[g >> 2].n[g & 3] = f;
}
/* Adds a point that is in no tetrahedron yet; *v is its index. */
extern rb_status rb_mesh_add_point(rb_mesh *m, const double *at, uint32_t *v);

/*
 * Searches for edge ab. If it exists, returns true and *t is a tetrahedron that contains it.
 * Otherwise returns false, and *t is a tetrahedron with corner a that segment ab leaves through the
 * face opposite a or through an edge or corner of that face. *hit is a point on the open segment
 * ab, or RB_NONE.
 */
extern bool rb_mesh_find_edge(rb_mesh *m, uint32_t a, uint32_t b, uint32_t *t, uint32_t *hit);

/* Returns true if face abc exists; *f is then that face, seen from one side. */
extern bool rb_mesh_find_face(rb_mesh *m, uint32_t a, uint32_t b, uint32_t c, rb_tet_face *f);

/* ---- Delaunay tetrahedralization (delaunay.c, delaunay_order.c) ---- */

/* Fills m->cavity with copies of the points in insertion order, and with their indices. */
extern rb_status rb_mesh_order_points(rb_mesh *m);

/*
 * Sorts the tetrahedra, whose corners are indices in insertion order, into an order that depends on
 * nothing but the set of tetrahedra. Removes unused slots, translates corners to mesh indices and
 * sets tet_of. Reuses the memory of the spheres, which are lost.
 */
extern rb_status rb_mesh_sort(rb_mesh *m);

/*
 * Inserts all points of m, which must be pairwise distinct. On RB_OK with *flat set, all points are
 * coplanar and there are no tetrahedra. There are none after a failure, either.
 */
extern rb_status rb_mesh_delaunay(rb_mesh *m, bool *flat);

/*
 * Inserts one more point into a Delaunay tetrahedralization, starting near tetrahedron `near`. If a
 * point with equal coordinates exists, *same is its index and nothing is changed; otherwise *same
 * is RB_NONE. May be called only while the mesh has no facets.
 */
extern rb_status rb_mesh_insert(rb_mesh *m, uint32_t v, uint32_t near, uint32_t *same);

/* Returns a tetrahedron that contains `at`, or a ghost whose hull face it is beyond. */
extern uint32_t rb_mesh_locate(rb_mesh *m, const double *at, uint32_t near);

#ifdef __cplusplus
}
#endif

#endif /* RB_MESH_MESH_H */
