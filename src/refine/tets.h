/*
 * tets.h
 *	  Stores a mesh for refinement as cells of 64 bytes and vertices ("sites") of 32 bytes, for CPU
 *	  and GPU alike.
 *
 * A cell is a tetrahedron together with everything known about it: its corners; its links as in
 * mesh.h (link i crosses the face opposite to corner i and holds neighbor << 2 | the neighbor's
 * corner opposite to that face); the facet of each of its faces; which of its edges are on
 * segments; and its region. It fills one cache line.
 *
 * Every face on a facet is a constrained face ("wall"), which blocks visibility. Every face of the
 * boundary is constrained, too, even if it is on no facet. Behind a boundary face lies a ghost
 * cell, which has RB_GHOST as a corner, so that the cells around each edge form one closed ring.
 * Where the boundary is non-manifold at an edge, ghost cells merge the rings around it. They
 * support traversal only and have no geometric meaning.
 *
 * No vertex stores a tetrahedron that contains it: every operation starts from a cell.
 */
#ifndef RB_REFINE_TETS_H
#define RB_REFINE_TETS_H

#include "core/exact/insphere.h"
#include "mesh/tet.h"

#define RB_NOWHERE UINT32_MAX /* No cell, face or facet */
#define RB_MAX_CELLS ((uint32_t) 1 << 30)

typedef struct rb_cell
{
	uint32_t v[4];
	uint32_t n[4];
	uint32_t facet[4]; /* Facet of each constrained face */
	uint32_t bits;
	uint32_t region; /* Index into the list of regions */
	/* Key of the strongest candidate that claims the cell, or 0 if none does (steiner.h) */
	uint64_t claim;
} rb_cell;

/*
 * Bits for face i being constrained, and for edge e being on a segment. Edges are 01, 02, 03, 12,
 * 13, 23.
 */
#define RB_CELL_WALL(i) (1u << (i))
#define RB_CELL_WALLS 0xfu
#define RB_CELL_SEGMENT(e) (1u << (4 + (e)))
#define RB_CELL_SEGMENTS 0x3f0u
/* The cell is in a list of bad tetrahedra */
#define RB_CELL_LISTED (1u << 10)
/* The constrained face, or the subsegment, cannot be split */
#define RB_CELL_KEPT_WALL(i) (1u << (11 + (i)))
#define RB_CELL_KEPT_SEGMENT(e) (1u << (15 + (e)))
/*
 * The cell is bad and stays so; its rb_bad_reason is stored from RB_CELL_REASON_SHIFT on, with 0
 * for RB_BAD_INPUT
 */
#define RB_CELL_LEFT (1u << 21)
#define RB_CELL_REASON_SHIFT 22
#define RB_CELL_REASON (3u << RB_CELL_REASON_SHIFT)
/* The cell was checked and needs no split */
#define RB_CELL_FINE (1u << 24)
/* A face of the cell on no facet is not Delaunay, after slivers were removed */
#define RB_CELL_NOT_DELAUNAY (1u << 25)

typedef struct rb_site
{
	double at[3];
	double radius; /* Insertion radius (criteria.h), or 0 for an input vertex */
} rb_site;

/* Plane of a facet, on which the points that are added to the facet are projected (measure.h) */
typedef struct rb_facet_plane
{
	double at[3];     /* A corner of the facet */
	double normal[3]; /* Normal of any length; 0 if the facet is not flat, and has no plane */
} rb_facet_plane;

/* A mesh whose pointers refer to host memory or to device memory */
typedef struct rb_cells
{
	rb_cell *cells;
	rb_site *sites;
	/* rb_vertex_kind of each vertex; new vertices on the hull count as on a segment or facet */
	uint8_t *kind;
	uint32_t *parent; /* Segment or facet that the vertex is on */
	/* Ends of the segments, and the corners of each facet in ascending order */
	const uint32_t (*segments)[2];
	const uint32_t *segment_order; /* Segments ordered by smaller end, then larger end */
	uint32_t nsegments;
	const uint32_t *facet_start;
	const uint32_t *facet_corners;
	const rb_facet_plane *planes; /* Plane of each facet */
	/* Quality bounds (criteria.h) */
	double ratio;  /* Squared maximum of radius : shortest edge, or infinity */
	double volume; /* Maximum volume, or infinity */
	bool has_volumes;
	const double *region_volume; /* Maximum volume by region, or NULL */
	const struct rb_sizes *sizes;
	bool keep_surface;
} rb_cells;

/* Prefetches a cell that will be read soon; a no-op on the device */
#ifdef __CUDA_ARCH__
#define RB_SOON(p) ((void) 0)
#else
#define RB_SOON(p) __builtin_prefetch(p)
#endif

/* ---- numbering of corners, faces and edges ---- */

/* Returns the edge between corners i and j. */
RB_HOST_DEVICE uint32_t
rb_cell_edge(uint32_t i, uint32_t j)
{
	uint32_t low = i < j ? i : j;
	uint32_t high = i < j ? j : i;

	return low == 0 ? high - 1 : low + high;
}

/* Returns the smaller corner index of edge e. */
RB_HOST_DEVICE uint32_t
rb_cell_edge_from(uint32_t e)
{
	return e < 3 ? 0 : e < 5 ? 1 : 2;
}
/* Returns the larger corner index of edge e. */
RB_HOST_DEVICE uint32_t
rb_cell_edge_to(uint32_t e)
{
	return e < 3 ? e + 1 : e == 3 ? 2 : 3;
}

/* Returns the corner index of vertex v, which must be a corner of the cell. */
RB_HOST_DEVICE uint32_t
rb_cell_corner(const rb_cell *c, uint32_t v)
{
	return v == c->v[0] ? 0 : v == c->v[1] ? 1 : v == c->v[2] ? 2 : 3;
}

/* Returns true if one of the corners is the ghost vertex. */
RB_HOST_DEVICE bool
rb_cell_ghost(const rb_cell *c)
{
	return c->v[0] == RB_GHOST || c->v[1] == RB_GHOST || c->v[2] == RB_GHOST || c->v[3] == RB_GHOST;
}

/* Returns the coordinates of vertex v. */
RB_HOST_DEVICE const double *
rb_site_at(const rb_cells *m, uint32_t v)
{
	return m->sites[v].at;
}

/* Returns the canonical id of a face: the smaller of its two (cell << 2 | corner) values. */
RB_HOST_DEVICE uint32_t
rb_face_id(const rb_cells *m, uint32_t face)
{
	uint32_t other = m->cells[face >> 2].n[face & 3];

	return face < other ? face : other;
}

/* ---- traversal around an edge ---- */

/* A position in the ring of cells around edge ab, and the face through which the ring continues */
typedef struct rb_edge_ring
{
	uint32_t a, b; /* Vertices */
	uint32_t cell;
	uint32_t to; /* Corner opposite to the face that is crossed next */
} rb_edge_ring;

/* Starts a ring around edge e of a cell at that cell. */
RB_HOST_DEVICE rb_edge_ring
rb_ring_begin(const rb_cells *m, uint32_t cell, uint32_t e)
{
	const rb_cell *c = &m->cells[cell];
	rb_edge_ring r;

	r.a = c->v[rb_cell_edge_from(e)];
	r.b = c->v[rb_cell_edge_to(e)];
	r.cell = cell;
	/* Leave through the face opposite to the first corner that is not on the edge. */
	r.to = e == 0 ? 2 : e <= 2 ? 1 : 0;
	return r;
}

/*
 * Starts a ring around edge ab at `cell`, leaving through the face opposite to corner `to`, which
 * must not be on the edge.
 */
RB_HOST_DEVICE rb_edge_ring
rb_ring_at(uint32_t cell, uint32_t to, uint32_t a, uint32_t b)
{
	rb_edge_ring r;

	r.a = a;
	r.b = b;
	r.cell = cell;
	r.to = to;
	return r;
}

/* Moves to the next cell around the edge. */
RB_HOST_DEVICE void
rb_ring_next(const rb_cells *m, rb_edge_ring *r)
{
	uint32_t face = m->cells[r->cell].n[r->to];
	const rb_cell *c = &m->cells[face >> 2];
	uint32_t from = face & 3;

	r->cell = face >> 2;
	/*
	 * The four corner indices sum to 6; take the one that is neither on the edge nor opposite to
	 * the face just crossed.
	 */
	r->to = 6 - from - rb_cell_corner(c, r->a) - rb_cell_corner(c, r->b);
}

#endif /* RB_REFINE_TETS_H */
