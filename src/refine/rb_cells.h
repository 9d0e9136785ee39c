/*
 * rb_cells.h
 *	  A mesh as refinement works on it: cells of 64 bytes and sites of 32, for CPU and GPU alike.
 *
 * A cell is a tetrahedron with everything that is known of it: corners, links as in rb_mesh.h (link i
 * leads across the face opposite to corner i and names the neighbour << 2 | the corner of it that lies
 * opposite), on which facet each of its faces is, which of its edges are on segments, its region.
 * One line of a cache holds it.
 *
 * Every face that is on a facet is a wall: nothing is seen through it.  So is every face of
 * the boundary, whatever lies there; and behind it is a ghost, a cell with RB_GHOST for a
 * corner, so that around each edge there is one ring of cells, without a gap.  Where the boundary
 * touches itself along an edge, the ghosts there join what would be several rings; so they
 * are no place in space, only a way to go on.
 *
 * Nothing says which tetrahedra a site is of: all work begins with a cell.
 */
#ifndef RB_CELLS_H
#define RB_CELLS_H

#include "core/base/rb_hd.h"
#include "core/exact/rb_insphere.h"

#define RB_GHOST (UINT32_MAX - 1) /* the corner at infinity, as in rb_mesh.h */
#define RB_DEAD UINT32_MAX        /* first corner of a place without a cell */
#define RB_NOWHERE UINT32_MAX     /* no cell, no face, no facet */
#define RB_MAX_CELLS ((uint32_t) 1 << 30)

typedef struct rb_cell
{
	uint32_t v[4];
	uint32_t n[4];
	uint32_t facet[4]; /* of each face that is a wall */
	uint32_t bits;
	uint32_t region; /* by its place in the list of regions */
	uint64_t claim;  /* the strongest candidate that wants this cell (rb_candidate.h); 0: none */
} rb_cell;

/* face i is a wall; edge e is on a segment: edges are 01, 02, 03, 12, 13, 23 */
#define RB_CELL_WALL(i) (1u << (i))
#define RB_CELL_WALLS 0xfu
#define RB_CELL_SEGMENT(e) (1u << (4 + (e)))
#define RB_CELL_SEGMENTS 0x3f0u
/* it is in a list of bad tetrahedra */
#define RB_CELL_LISTED (1u << 10)
/* that wall, that piece of a segment cannot be split */
#define RB_CELL_KEPT_WALL(i) (1u << (11 + (i)))
#define RB_CELL_KEPT_SEGMENT(e) (1u << (15 + (e)))
/* it is bad, and left so: rb_bad_reason from there on, 0 is RB_BAD_INPUT */
#define RB_CELL_LEFT (1u << 21)
#define RB_CELL_REASON_SHIFT 22
#define RB_CELL_REASON (3u << RB_CELL_REASON_SHIFT)
/* it has been looked at, and needs nothing */
#define RB_CELL_FINE (1u << 24)

typedef struct rb_site
{
	double at[3];
	double radius; /* rb_rules.h; 0: of the input */
} rb_site;

/* pointers of the host or of a device */
typedef struct rb_cells
{
	rb_cell *cells;
	rb_site *sites;
	uint8_t *kind;    /* rb_vertex_kind of each site; the hull's are on segments and facets here */
	uint32_t *parent; /* the segment or facet it is on */
	/* the input: ends of segments, and the corners of each facet, ascending */
	const uint32_t (*segments)[2];
	const uint32_t *segment_order; /* by their ends: the smaller, then the larger one */
	uint32_t nsegments;
	const uint32_t *facet_start;
	const uint32_t *facet_corners;
	/* what is wanted (rb_rules.h) */
	double ratio;  /* radius : shortest edge, squared; infinity */
	double volume; /* infinity */
	bool has_volumes;
	const double *region_volume; /* by region */
	const struct rb_sizes *sizes;
	bool keep_surface;
} rb_cells;

/* it will be looked at soon: a CPU fetches it meanwhile */
#ifdef __CUDA_ARCH__
#define RB_SOON(p) ((void) 0)
#else
#define RB_SOON(p) __builtin_prefetch(p)
#endif

/* ---- names of corners, faces and edges ---- */

/* corner k of the face opposite to corner i: with corner i in front these are a positive tetrahedron */
RB_HD uint32_t
rb_cell_face_corner(uint32_t i, uint32_t k)
{
	return 0x18342c39u >> (8 * i + 2 * k) & 3; /* 123, 032, 013, 021 */
}

/* the edge of corners i and j */
RB_HD uint32_t
rb_cell_edge(uint32_t i, uint32_t j)
{
	uint32_t low = i < j ? i : j;
	uint32_t high = i < j ? j : i;

	return low == 0 ? high - 1 : low + high;
}

/* its corners */
RB_HD uint32_t
rb_cell_edge_from(uint32_t e)
{
	return e < 3 ? 0 : e < 5 ? 1 : 2;
}
RB_HD uint32_t
rb_cell_edge_to(uint32_t e)
{
	return e < 3 ? e + 1 : e == 3 ? 2 : 3;
}

/* which corner v is, of a cell that has it */
RB_HD uint32_t
rb_cell_corner(const rb_cell *c, uint32_t v)
{
	return v == c->v[0] ? 0 : v == c->v[1] ? 1 : v == c->v[2] ? 2 : 3;
}

RB_HD bool
rb_cell_ghost(const rb_cell *c)
{
	return c->v[0] == RB_GHOST || c->v[1] == RB_GHOST || c->v[2] == RB_GHOST || c->v[3] == RB_GHOST;
}

RB_HD const double *
rb_site_at(const rb_cells *m, uint32_t v)
{
	return m->sites[v].at;
}

/* a face from both of its sides has one name: the smaller one */
RB_HD uint32_t
rb_face_name(const rb_cells *m, uint32_t face)
{
	uint32_t other = m->cells[face >> 2].n[face & 3];

	return face < other ? face : other;
}

/* ---- the way around an edge ---- */

/* a cell of the ring around edge ab, and by which face the ring goes on */
typedef struct rb_ring
{
	uint32_t a, b; /* sites */
	uint32_t cell;
	uint32_t to; /* the corner opposite to the face that is crossed next */
} rb_ring;

/* the ring around edge e of a cell, beginning with that cell */
RB_HD rb_ring
rb_ring_begin(const rb_cells *m, uint32_t cell, uint32_t e)
{
	const rb_cell *c = &m->cells[cell];
	rb_ring r;

	r.a = c->v[rb_cell_edge_from(e)];
	r.b = c->v[rb_cell_edge_to(e)];
	r.cell = cell;
	/* of the two corners that are not on the edge, the first */
	r.to = e == 0 ? 2 : e <= 2 ? 1 : 0;
	return r;
}

/* the same, where it is to go on by the face opposite to corner `to`, one of those not on the edge */
RB_HD rb_ring
rb_ring_at(uint32_t cell, uint32_t to, uint32_t a, uint32_t b)
{
	rb_ring r;

	r.a = a;
	r.b = b;
	r.cell = cell;
	r.to = to;
	return r;
}

RB_HD void
rb_ring_next(const rb_cells *m, rb_ring *r)
{
	uint32_t face = m->cells[r->cell].n[r->to];
	const rb_cell *c = &m->cells[face >> 2];
	uint32_t from = face & 3;

	r->cell = face >> 2;
	/* the corners sum up to 6: neither on the edge, nor where the ring came from */
	r->to = 6 - from - rb_cell_corner(c, r->a) - rb_cell_corner(c, r->b);
}

#endif /* RB_CELLS_H */
