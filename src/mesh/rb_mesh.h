/*
 * rb_mesh.h
 *	  The tetrahedra while they are made: flat arrays of 32-bit words, for CPU and GPU alike.
 *
 * A tetrahedron is four corners and four links: 32 bytes, and a word of bits.  Link i leads across
 * the face opposite to corner i, and names the neighbour and the corner of it that lies opposite:
 * neighbour << 2 | corner.  Such a word, a face, is how everything here names a face seen from one
 * side; and a tetrahedron and its corner.
 *
 * The space outside of the hull is made of tetrahedra, too: ghosts, which have a face of the hull
 * and RB_GHOST for their fourth corner.  So every face has two sides and every walk goes on.
 *
 * All tetrahedra are positively oriented (rb_orient.h); a ghost's hull face sees the outside on
 * its positive side when RB_GHOST is put last by an even permutation.
 *
 * Which faces are on facets is a bit in each tetrahedron they are of; which facet it is, and which
 * edges are on which segments, stands in tables of those only (rb_recover.h).
 */
#ifndef RB_MESH_H
#define RB_MESH_H

#include "core/base/rb_parallel.h"
#include "core/exact/rb_orient.h"
#include "mesh/rb_plc.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define RB_GHOST (UINT32_MAX - 1) /* the corner at infinity */
#define RB_DEAD UINT32_MAX        /* first corner of a place without a tetrahedron */

/* a tetrahedron << 2 | a corner of it: the face opposite to that corner, seen from within */
typedef uint32_t rb_face;

#define RB_MAX_TETS ((uint32_t) 1 << 30)

/* bits of a tetrahedron */
#define RB_FACE_BIT(i) (1u << (i)) /* the face opposite to corner i is on a facet */
#define RB_MARK (1u << 10)         /* free for whoever works on it; off when he is done */
#define RB_MARK2 (1u << 11)
#define RB_MADE (1u << 12) /* by a cavity of a facet (cavity.c), and not looked at since (mend.c) */
#define RB_NOTED (1u << 13) /* the journal has it */

/* corners of the face opposite to corner i: with corner i in front they are a positive
 * tetrahedron (i, f0, f1, f2); seen from corner i they run clockwise, from outside counterclockwise */
static const uint8_t rb_face_corners[4][3]
	__attribute__((unused)) = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};

typedef struct rb_tet
{
	uint32_t v[4];
	rb_face n[4];
} rb_tet;

/* a face on the rim of a cavity: the way out, and its corners as rb_face_corners has them */
typedef struct rb_rim
{
	rb_face out;
	uint32_t v[3];
} rb_rim;

/* an edge of the rim, run through from a to b, and the face of a new tetrahedron that has it */
typedef struct rb_rim_edge
{
	uint32_t a, b; /* by their places in `corners`; a is RB_NONE: no edge here */
	rb_face f;
} rb_rim_edge;

/* a tetrahedron's (delaunay.c) */
typedef struct rb_sphere
{
	float w[3];
	float error; /* of each of w; negative: this is a plane */
} rb_sphere;

/*
 * Scratch of insertions (delaunay.c), and what is known besides as long as all points are inserted:
 * then `points` are copies in the order of insertion, four doubles each, and corners are numbers
 * of those.
 */
typedef struct rb_cavity
{
	uint32_t *inside; /* tetrahedra in conflict */
	rb_rim *rim;
	uint32_t *corners;  /* of the rim */
	uint32_t *place_of; /* of each vertex: its place in `corners`, if that is its place */
	rb_face *square;    /* new faces by their edge, where the rim is small, ... */
	rb_rim_edge *edges; /* ... and a hash table of them where it is not */
	size_t inside_cap, rim_cap, corners_cap, place_of_cap, square_cap, edges_cap;
	uint32_t ninside, nrim, ncorners;
	double *points;
	uint32_t *number;   /* of each point there: its number in the mesh */
	rb_sphere *spheres; /* of each tetrahedron */
	size_t spheres_cap;
} rb_cavity;

/* what a place held when the journal was opened */
typedef struct rb_was
{
	rb_tet tet;
	uint32_t at;
} rb_was;

typedef struct rb_mesh
{
	rb_context *ctx;
	rb_exact_env env; /* for signs */
	bool large; /* so many points that threads pay; what is done depends on that, and not on ... */
	rb_thread *team; /* who works on it together, where it is large; or NULL */
	/* points, their numbers are the ids by which ties are broken */
	double *points;
	uint32_t npoints;
	size_t points_cap;
	uint32_t *tet_of; /* of each point, some tetrahedron it is a corner of; RB_NONE */
	size_t tet_of_cap;
	/* tetrahedra */
	rb_tet *tets;
	uint32_t *bits;
	uint32_t ntets; /* places, the dead ones included */
	uint32_t nalive;
	size_t tets_cap;
	uint32_t free;   /* a list of dead places through v[1]; RB_NONE: it is empty */
	uint32_t recent; /* where a walk may begin */
	uint32_t random; /* of walks */
	/* a journal: places that have changed since it was opened, and can be put back */
	uint32_t journal; /* of places up to that one; 0: there is none */
	rb_was *was;
	uint32_t nwas;
	size_t was_cap;
	bool tells; /* how many points are inserted, to whoever watches the context */
	rb_cavity cavity;
} rb_mesh;

/* ---- names ---- */

static inline rb_face
rb_face_of(uint32_t tet, uint32_t corner)
{
	return tet << 2 | corner;
}
static inline uint32_t
rb_face_tet(rb_face f)
{
	return f >> 2;
}
static inline uint32_t
rb_face_corner(rb_face f)
{
	return f & 3;
}
static inline const double *
rb_mesh_point(const rb_mesh *m, uint32_t v)
{
	return m->points + 3 * (size_t) v;
}
static inline bool
rb_tet_dead(const rb_mesh *m, uint32_t t)
{
	return m->tets[t].v[0] == RB_DEAD;
}

/* which corner of t is v: 0 to 3, or 4 */
static inline uint32_t
rb_tet_corner(const rb_tet *t, uint32_t v)
{
	return v == t->v[0] ? 0 : v == t->v[1] ? 1 : v == t->v[2] ? 2 : v == t->v[3] ? 3 : 4;
}

static inline bool
rb_tet_ghost(const rb_tet *t)
{
	return t->v[0] == RB_GHOST || t->v[1] == RB_GHOST || t->v[2] == RB_GHOST || t->v[3] == RB_GHOST;
}

/* ---- signs (signs.c) ---- */

/* rb_orient.h's, of points by number */
extern int rb_mesh_orient(rb_mesh *m, uint32_t a, uint32_t b, uint32_t c, uint32_t d);

/*
 * Is e inside the sphere of the positive tetrahedron abcd?  1 or -1, never 0: of points on one
 * sphere those with the larger number are the farther out, by symbolic perturbation.  0 only where
 * all five are in one plane.
 */
extern int rb_mesh_insphere(rb_mesh *m, uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t e);

/* is point e inside the sphere of tetrahedron t?  Of a ghost: beyond its face of the hull, or in that face's circle. */
extern bool rb_mesh_conflict(rb_mesh *m, uint32_t t, uint32_t e);

/* ---- tetrahedra (mesh.c) ---- */

extern rb_status rb_mesh_init(rb_mesh *m, rb_context *ctx, const double *points, uint32_t npoints);
extern void rb_mesh_free(rb_mesh *m);
extern rb_status rb_mesh_reserve(rb_mesh *m,
								 uint32_t more); /* so many new tetrahedra will not fail */
extern rb_status rb_mesh_expect(rb_mesh *m,
								double ntets); /* so many in all, and no room for more */
extern uint32_t rb_mesh_new_tet(rb_mesh *m, uint32_t a, uint32_t b, uint32_t c,
								uint32_t d); /* after a reserve; bits 0, links to be made */
extern void rb_mesh_drop_tet(rb_mesh *m, uint32_t t);

/*
 * The journal: from its opening on, what changes by rb_mesh_new_tet, rb_mesh_drop_tet and rb_mesh_link
 * between them can be undone, all of it at once.  rb_mesh_note makes room for so many changes
 * before they are made.  Bits are 0 after an undoing, and which tetrahedron a point has is not
 * put back.
 */
extern void rb_mesh_journal(rb_mesh *m);
extern rb_status rb_mesh_note(rb_mesh *m, uint32_t changes);
extern void rb_mesh_undo(rb_mesh *m);
static inline void
rb_mesh_link(rb_mesh *m, rb_face f, rb_face g)
{
	m->tets[f >> 2].n[f & 3] = g;
	m->tets[g >> 2].n[g & 3] = f;
}
extern rb_status rb_mesh_add_point(rb_mesh *m, const double *at,
								   uint32_t *v); /* no tetrahedron yet */

/*
 * Looks for edge ab.  True: *t has it.  False: *t has corner a and the segment ab leaves it through the
 * face opposite to a, or through that face's edge or corner; *hit is RB_NONE, or a point that lies on the
 * open segment ab.
 */
extern bool rb_mesh_find_edge(rb_mesh *m, uint32_t a, uint32_t b, uint32_t *t, uint32_t *hit);

/* is there a face abc?  *f is it, from one side */
extern bool rb_mesh_find_face(rb_mesh *m, uint32_t a, uint32_t b, uint32_t c, rb_face *f);

/* ---- Delaunay (delaunay.c; curve.c, tidy.c) ---- */

/* the copies of the points in m->cavity, and their numbers, in the order of insertion */
extern rb_status rb_mesh_order_points(rb_mesh *m);

/*
 * Tetrahedra whose corners are numbers of that order are put in an order which depends on nothing else than
 * which they are, without dead places, and corners become numbers of the mesh.  tet_of is known then, and nothing
 * of spheres, whose memory is used.
 */
extern rb_status rb_mesh_tidy(rb_mesh *m);

/*
 * Inserts all points of m, no two of which are at one place.  RB_OK, or *flat: they are all in one
 * plane, and there is no tetrahedron.  On a failure there is none, either.
 */
extern rb_status rb_mesh_delaunay(rb_mesh *m, bool *flat);

/*
 * One more point into a Delaunay tetrahedralization, near the tetrahedron `near`.  *same: the number of a
 * point that is at the very same place, then nothing was done; else RB_NONE.  As long as there are
 * no facets.
 */
extern rb_status rb_mesh_insert(rb_mesh *m, uint32_t v, uint32_t near, uint32_t *same);

extern uint32_t
rb_mesh_locate(rb_mesh *m, const double *at,
			   uint32_t near); /* a tetrahedron that holds it, or a ghost it is beyond */

#ifdef __cplusplus
}
#endif

#endif /* RB_MESH_H */
