/*
 * plane.h
 *	  Declares polygons of the plane, their validity, and what two of them share, grouped by the file
 *	  that defines it.
 *
 *		rows of marks and edges -> rings, trees, points inside		polygon_rings.c
 *		edges of a polygon -> crossings, touching and misplaced rings	polygon_sweep.c
 *		rings -> whether they are simple and apart					simple_ring.c
 *		rings -> faults by the rules of OGC							polygon_validity.c
 *		pair of rows -> edges that share a point					edge_walk.c
 *		pairs of rows -> their measures; edges that enter			edge_contacts.c
 *		edges that share a point -> terms of the common area		polygon_overlaps.c
 *		terms -> sums -> rounded area								area_sum.c
 *		edges that share a point -> shares of segments				lines_in_polygons.c
 *		shares -> sums of lengths -> rounded length					length_sum.c
 *
 * A polygon is a row of parts of kind RB_EDGE2. Each of its rings is a run of edges that begins with
 * marks (set.h): a shell, or a hole of the shell before it. A row with several shells is a
 * multipolygon.
 */
#ifndef RB_PLANE_PLANE_H
#define RB_PLANE_PLANE_H

#include "core/base/base.h"
#include "core/base/bucket.h"
#include "core/base/parallel.h"
#include "core/intersection/intersection.h"
#include "core/join/join.h"
#include "core/primitive/segment.h"
#include "core/solid/solid.h"
#include "core/set/set.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* ---- polygon_rings.c ---- */

typedef struct rb_ring
{
	uint32_t start;  /* First edge */
	uint32_t end;    /* First part after the last edge */
	uint32_t shell;  /* Number of the ring that is its shell; its own number if it is a shell */
	uint32_t least;  /* Edge that starts at the first point in the order of x, then y */
	uint32_t node;   /* First box of its tree, unless it has few edges */
	uint32_t tangle; /* Number of the tree of its single edges if it is tangled, or UINT32_MAX */
	bool reversed;   /* True if the interior of the polygon is on the right of its edges */
	double box[4];   /* Low and high corner */
} rb_ring;

/*
 * The rings of all rows of a set, with box trees of the edges of each ring and of the rings of each row
 * that has many. Lines are divided into runs of a few segments, which take the place of rings.
 */
typedef struct rb_rings
{
	const rb_set *set;
	uint32_t *row_start; /* First part of each row, with one more entry at the end */
	uint32_t *row_ring;  /* First ring of each row, with one more entry at the end */
	double *row_box;     /* Six numbers a row: low and high corner */
	rb_ring *ring;
	uint32_t nrings;
	uint32_t *ring_of; /* Ring of each part; that of a mark is not used */
	double *node;      /* Boxes of the trees of edges, four numbers each */
	uint32_t *tree_of; /* Number of the tree of each row, or UINT32_MAX */
	rb_boxes *tree;    /* Trees of the rings of rows that have many */
	uint32_t ntrees;
	rb_boxes *tangle; /* Trees of the edges of tangled rings */
	uint32_t ntangles;
} rb_rings;

/* Finds the rings of a set. Call rb_rings_close even after a failure. */
extern rb_status rb_rings_open(rb_context *ctx, rb_thread *team, const rb_set *set, rb_rings *r);

/* Frees the rings and their trees, but not the set. Also frees what a failed rb_rings_open left. */
extern void rb_rings_close(rb_memory *memory, rb_rings *r);

/* Returns the id of a row. */
static inline int64_t
rb_id_of_polygon(const rb_set *set, uint32_t row)
{
	if (set->view != NULL && !set->composed_ids)
		return rb_view_id(set->view, row);
	return set->ids != NULL ? set->ids[row] : (int64_t) ((uint64_t) set->first_id + row);
}

/* Returns the ends of an edge. */
static inline const double *
rb_edge(const rb_rings *r, uint32_t i)
{
	return r->set->coords + 4 * (size_t) i;
}

/* Returns true if a part is a mark. */
static inline bool
rb_is_mark(const double *e)
{
	return e[0] == e[2] && e[1] == e[3];
}

/* Returns true if p precedes q in the order of x, then y. */
static inline bool
rb_is_point_before(const double *p, const double *q)
{
	return p[0] < q[0] || (p[0] == q[0] && p[1] < q[1]);
}

/* Computes the box of an edge, four numbers. */
static inline void
rb_box_of_edge(const double *e, double *box)
{
	for (int a = 0; a < 2; a++)
	{
		box[a] = rb_min(e[a], e[2 + a]);
		box[2 + a] = rb_max(e[a], e[2 + a]);
	}
}

/* Returns true if two boxes of four numbers share a point. */
static inline bool
rb_do_plane_boxes_meet(const double *a, const double *b)
{
	return (a[0] <= b[2]) & (b[0] <= a[2]) & (a[1] <= b[3]) & (b[1] <= a[3]);
}

/* Number of edges of a leaf of the tree of a ring, and of children of other boxes, as a power of two */
#define RB_RUN_BITS 3
#define RB_RUN_FAN (1 << RB_RUN_BITS)

/*
 * A run of edges that follow each other on a ring, and their box. Runs of level 0 are leaves and hold at
 * most RB_RUN_FAN edges, those of the next level RB_RUN_FAN times as many. The run of the highest level is
 * the ring.
 */
typedef struct rb_edge_run
{
	const rb_ring *ring;
	const double *box;
	uint32_t from; /* First edge */
	uint32_t level;
} rb_edge_run;

/* Returns the run of all edges of a ring. */
static inline rb_edge_run
rb_run_of_ring(const rb_ring *g)
{
	uint32_t level = 0;

	while ((g->end - g->start - 1) >> (RB_RUN_BITS * (level + 1)) != 0)
		level++;
	return (rb_edge_run){g, g->box, g->start, level};
}

/* Returns the first part after the last edge of a run. */
static inline uint32_t
rb_end_of_run(const rb_edge_run *run)
{
	const uint64_t size = (uint64_t) 1 << (RB_RUN_BITS * (run->level + 1));

	return run->ring->end - run->from < size ? run->ring->end : run->from + (uint32_t) size;
}

/*
 * Lists the children of a run, which is not a leaf, whose boxes meet a window of four numbers. Returns
 * their number.
 */
extern int rb_run_children(const rb_rings *r, const rb_edge_run *run, const double *window,
						   rb_edge_run *child);

/* Returns the edge before an edge on its ring. */
static inline uint32_t
rb_previous_edge(const rb_rings *r, uint32_t i)
{
	const rb_ring *ring = &r->ring[r->ring_of[i]];

	return i == ring->start ? ring->end - 1 : i - 1;
}

/* Stores the ends of an edge so that the interior is on the left of the line from u to v. */
static inline void
rb_directed_edge(const rb_rings *r, uint32_t i, const double **u, const double **v)
{
	const double *e = rb_edge(r, i);
	const bool reversed = r->ring[r->ring_of[i]].reversed;

	*u = reversed ? e + 2 : e;
	*v = reversed ? e : e + 2;
}

/*
 * Returns on which side of the line from x to y the point p lies in the moved position, 1 for the
 * left. `moved` is 1 if p is blue, -1 if the line is blue.
 */
extern int rb_side_of_moved_edge(rb_exact_env *env, const double *x, const double *y,
								 const double *p, int moved);

/* A list of numbers that grows */
typedef RB_VEC(uint32_t) rb_ring_list;

/* Lists the rings of a row whose boxes meet a box of six numbers, ascending. */
extern rb_status rb_rings_find(rb_context *ctx, const rb_rings *r, uint32_t row, const double *box,
							   rb_ring_list *found);

/*
 * Returns true if a vertex is inside a polygon of the other side in the moved position. `moved` is
 * 1 if the vertex is blue, -1 if the polygon is blue.
 */
extern bool rb_is_vertex_inside(rb_exact_env *env, const rb_rings *r, uint32_t row, const double *p,
								int moved);

/* Returns true if a point, which is not on a ring, is inside it. */
extern bool rb_is_point_in_ring(rb_exact_env *env, const rb_rings *r, const rb_ring *ring,
								const double *p);

/* Returns the sign of (b - a) x (d - c). */
extern int rb_cross_sign(rb_exact_env *env, const double *a, const double *b, const double *c,
						 const double *d);

/* ---- polygon_sweep.c ---- */

/* A fault of a row, and where it is */
typedef struct rb_polygon_place
{
	rb_polygon_fault fault;
	double at[2];
} rb_polygon_place;

/* A point that a ring shares with another ring of the same row */
typedef struct rb_ring_touch
{
	double at[2];
	uint32_t shell;
	uint32_t ring;
} rb_ring_touch;

/* Memory of a thread that sweeps polygons, and the result of the last one; zero-initialize */
typedef struct rb_polygon_sweep
{
	rb_exact_env env;
	RB_VEC(struct rb_sweep_vertex) vertices;
	struct rb_sweep_vertex *spare;
	size_t spares;
	RB_VEC(struct rb_sweep_node) nodes;
	uint32_t root, lowest; /* Root of the tree, and the node of the lowest edge */
	uint32_t free;         /* First of the nodes that are not used */
	uint32_t *node_of;     /* Node of each edge of the row */
	size_t nodes_of;
	uint64_t inserted;                    /* Number of nodes, which seeds their weights */
	RB_VEC(struct rb_sweep_start) starts; /* Edges that start at a vertex or pass it */
	RB_VEC(uint32_t) rings;               /* Rings around a vertex */
	RB_VEC(rb_ring_touch) touches;
	uint32_t misplaced; /* First ring that is in a wrong place, or UINT32_MAX */
} rb_polygon_sweep;

/*
 * Sweeps the rings of a row, each of which has at least three edges. Sets the fault if edges or
 * rings cross or overlap, or if a ring touches itself. Otherwise, s->touches and s->misplaced are
 * complete.
 */
extern rb_status rb_sweep_polygon(rb_polygon_sweep *s, rb_context *ctx, const rb_rings *r,
								  uint32_t row, rb_polygon_place *f);

/* Frees the memory of all sweeps of a thread. */
extern void rb_sweep_close(rb_memory *memory, rb_polygon_sweep *s);

/* ---- simple_ring.c ---- */

/*
 * Sets *valid to true if the rings of a row, each of which has at least three edges, are known to be
 * simple, to share no points, and to lie in the right places. Otherwise only a sweep can decide this.
 * `near` is memory for a list of rings.
 */
extern rb_status rb_find_simple_rings(rb_context *ctx, rb_exact_env *env, const rb_rings *r,
									  uint32_t row, rb_ring_list *near, bool *valid);

/* ---- polygon_validity.c ---- */

/* Returns the name of a fault, for statistics. */
extern const char *rb_polygon_fault_name(rb_polygon_fault fault);

/*
 * Checks all rows, and marks those that are not valid polygons in a new bitmap *bad. Unless `skip`
 * is set, fails with RB_BAD_POLYGON for the invalid row with the smallest id. Counts the invalid
 * rows in the statistics as faults of side `of`.
 */
extern rb_status rb_polygons_check(rb_context *ctx, rb_thread *team, const rb_rings *r, bool skip,
								   rb_solid_side of, uint32_t **bad);

/* ---- edge_contacts.c ---- */

/* Number of edges that justify a thread */
#define RB_EDGES_PER_THREAD RB_SIZE(4096, 64)

/* A point of an edge that is on an edge of the other side, too */
typedef struct rb_common_point
{
	double at[2];
	uint32_t other;
	bool overlaps; /* True if the two edges share more than the point */
} rb_common_point;

/* Memory of one thread: the contacts of a pair of rows */
typedef struct rb_contact_room
{
	rb_exact_env env;
	RB_VEC(rb_pair) contacts; /* Edges that share a point, by red, then by blue edge */
	/* The contacts with red and blue exchanged, by blue, then by red edge */
	RB_VEC(rb_pair) turned;
	RB_VEC(rb_common_point) points; /* Common points of an edge */
	rb_ring_list rings;             /* Rings of one row that are near the other row */
	rb_ring_list others;            /* Rings of the other row that are near one of these rings */
	uint64_t visited;               /* Number of pairs of boxes that walks visited */
} rb_contact_room;

/* Pairs of rows whose boxes overlap */
typedef struct rb_plane_join
{
	rb_context *ctx;
	const rb_backend *backend;
	const rb_job *job;
	rb_rings rings[2];
	const rb_rings *side[2]; /* Rings of both sides, which are the same in a self join */
	uint32_t *bad[2];        /* Bitmaps of invalid rows */
	const uint32_t *skipped[2];
	uint32_t *rank
		[2]; /* Position of each row in the order of ids, or NULL if that is the order of rows */
	rb_notes pairs;         /* Pairs of valid rows whose boxes overlap, ordered by ids */
	rb_contact_room *rooms; /* Memory of each thread of the team */
	uint32_t nrooms;
} rb_plane_join;

/*
 * Checks the polygons, and finds the pairs of rows. Red rows may be lines (RB_SEGMENT2). Call
 * rb_plane_join_close even after a failure.
 */
extern rb_status rb_plane_join_open(rb_plane_join *w, rb_context *ctx, rb_thread *team,
									const rb_backend *backend, const rb_job *job);

/* Frees the pairs, the rings of both sides and the memory of the threads, but not the sets of the job. */
extern void rb_plane_join_close(rb_plane_join *w);

/* Computes a measure of a pair of rows, 0 if it has no part in the result. */
typedef rb_status (*rb_measure_rows)(void *user, uint32_t thread, rb_pair rows, double *value);

/*
 * Measures all pairs on the threads of a team, and passes the pairs of rows on, ordered by the id
 * of red, then by that of blue. In a self join, the row with the smaller id is red.
 */
extern rb_status rb_plane_join_measure(rb_plane_join *w, rb_thread *team, rb_measure_rows measure,
									   void *user, const rb_row_sink *sink);

/* Finds the contacts of a pair of rows, ordered by the edges of each side. */
extern rb_status rb_contacts_find(const rb_plane_join *w, rb_contact_room *room, rb_pair rows);

/*
 * Sets *enters if an edge of one side leaves a common point into the interior of the polygon of the
 * other side, in the stored position. The contacts have been ordered, and none crosses.
 */
extern rb_status rb_contacts_enter(const rb_plane_join *w, rb_contact_room *room, int side,
								   bool *enters);

/* ---- edge_walk.c ---- */

/* A walk over pairs of runs whose boxes meet */
typedef struct rb_run_walk
{
	rb_context *ctx;
	const rb_rings *side[2];
	/* Receives a pair of edges whose boxes meet. May set `ended`. */
	rb_status (*take)(void *user, uint32_t red, uint32_t blue);
	void *user;
	uint64_t visited; /* Number of pairs of boxes that the walk visited */
	uint64_t most;    /* Number at which it ends */
	bool ended;       /* True if RB_STOPPED means that the walk ended early */
} rb_run_walk;

/* Walks over the pairs of edges of two runs whose boxes meet. */
extern rb_status rb_walk_pair_of_runs(rb_run_walk *w, const rb_edge_run *red,
									  const rb_edge_run *blue);

/* Walks over the pairs of different edges of a run. The first edge of a pair precedes the second. */
extern rb_status rb_walk_run(rb_run_walk *w, const rb_edge_run *run);

/* Finds the contacts of a pair of rows of two sides, in any order, and stores them in the room. */
extern rb_status rb_edges_walk(rb_context *ctx, const rb_rings *const side[2], rb_pair rows,
							   rb_contact_room *room);

/* ---- area_sum.c ---- */

/*
 * A point where a red edge uv and a blue edge xy cross. The interiors are on the left of both. The
 * red edge enters the blue polygon, or leaves it.
 */
typedef struct rb_edge_crossing
{
	const double *u, *v;
	const double *x, *y;
	bool leaves;
} rb_edge_crossing;

/* An edge of either polygon whose end v is inside the other one */
typedef struct rb_inner_end
{
	const double *u, *v;
} rb_inner_end;

/* All terms of a pair of polygons; zero-initialize */
typedef struct rb_area_terms
{
	RB_VEC(rb_edge_crossing) crossings;
	RB_VEC(rb_inner_end) ends;
	double origin[2];
} rb_area_terms;

/*
 * Computes the common area, which is known to be positive, from its terms. The result is at least
 * 2^-1074.
 */
extern rb_status rb_area_sum(rb_context *ctx, const rb_area_terms *t, double *area);

/* ---- length_sum.c ---- */

/*
 * A term of a share: the parameter t, from 0 to 1, of a point of the segment, which is added or
 * subtracted. The point is where the segment crosses the edge xy, or is x if y is NULL
 */
typedef struct rb_share_term
{
	const double *x;
	const double *y; /* NULL if x is on the segment */
	int sign;
} rb_share_term;

/* A segment uv, and the share of it that counts: a whole number and n terms */
typedef struct rb_length_segment
{
	const double *u, *v;
	int whole;
	size_t first; /* First term */
	size_t n;
} rb_length_segment;

/* All segments of a line that have a part in a polygon; zero-initialize */
typedef struct rb_length_terms
{
	RB_VEC(rb_share_term) terms;
	RB_VEC(rb_length_segment) segments;
} rb_length_terms;

/*
 * Computes the length, which is known to be positive, from its terms. The result is at least
 * 2^-1074.
 */
extern rb_status rb_length_sum(rb_context *ctx, const rb_length_terms *t, double *length);

/* ---- polygon_overlaps.c ---- */

/*
 * Computes the common area of the only rows of two sets, 0 if their interiors do not meet. Returns
 * RB_BAD_POLYGON if one of them is not valid.
 */
extern rb_status rb_area_measure(rb_context *ctx, const rb_set *red, const rb_set *blue,
								 double *area);

#ifdef __cplusplus
}
#endif

#endif /* RB_PLANE_PLANE_H */
