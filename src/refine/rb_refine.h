/*
 * rb_refine.h
 *	  Constrained Delaunay refinement: points are added to a tetrahedralization until no tetrahedron is
 *	  bad any more that can be helped.
 *
 * A tetrahedron is bad if its circumradius is more than radius_edge times its shortest edge, or its
 * volume more than it may be there.  What comes back is as exact as what went in: every promise
 * of rb_tetrahedralize.h holds for it, too.
 *
 * The same input gives the same bits, on any number of threads and on a device.
 */
#ifndef RB_REFINE_H
#define RB_REFINE_H

#include "mesh/rb_tetrahedralize.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* tetrahedra of that region may be so large */
typedef struct rb_region_volume
{
	int64_t region;
	double volume;
} rb_region_volume;

/* the tetrahedra that are nearer to this point than to others of the kind may be so large */
typedef struct rb_size
{
	double at[3];
	double volume;
} rb_size;

typedef struct rb_refine_options
{
	double radius_edge;                     /* circumradius : shortest edge; infinity: any */
	double max_volume;                      /* of all; infinity: any */
	const rb_region_volume *region_volumes; /* by region, ascending */
	uint32_t nregion_volumes;
	const rb_size *sizes;
	uint32_t nsizes;
	bool keep_surface;   /* no point is added on segments and facets, nor on the hull */
	uint64_t max_points; /* in the mesh, those given among them; 0: as many as are wanted */
	int threads;
	const rb_backend *backend; /* who does the rounds; NULL, or one that cannot: threads here */
	bool backend_only;         /* that it cannot is the outcome */
	bool backend_always;       /* tests: also for few cells, which threads are faster at */
} rb_refine_options;

/* why a tetrahedron stayed bad */
typedef enum rb_bad_reason
{
	RB_BAD_INPUT,    /* angles of the input, near which a point would call for others without end */
	RB_BAD_SURFACE,  /* keep_surface */
	RB_BAD_FULL,     /* max_points */
	RB_BAD_TOO_FINE, /* doubles are too coarse for a point that is wanted there */
	RB_BAD_REASONS
} rb_bad_reason;

/* what a device does one after the other in a round */
typedef enum rb_refine_step
{
	RB_REFINE_COPY,  /* the mesh there and back, once */
	RB_REFINE_MAKE,  /* candidates */
	RB_REFINE_GROW,  /* their cavities, */
	RB_REFINE_EXACT, /* where filters could not tell, */
	RB_REFINE_LARGE, /* those that are large, */
	RB_REFINE_LARGE_EXACT,
	RB_REFINE_ASK, /* and signs that only GMP knows */
	RB_REFINE_WINNERS,
	RB_REFINE_FILL,  /* new cells */
	RB_REFINE_LISTS, /* what they need */
	RB_REFINE_STEPS
} rb_refine_step;

typedef struct rb_refine_report
{
	uint64_t added[RB_VERTEX_KINDS]; /* by rb_vertex_kind */
	uint64_t bad;                    /* tetrahedra that are */
	uint64_t bad_because[RB_BAD_REASONS];
	uint32_t rounds;
	uint32_t device_rounds; /* those of them that the backend did */
	uint64_t tried;         /* cavities that were looked at */
	double ms_start, ms_rounds, ms_result;
	/* on a device: bytes that it took, those of the mesh among them, and its milliseconds by step */
	uint64_t device_bytes, device_mesh_bytes;
	double device_ms[RB_REFINE_STEPS];
	/* cavities without room at first; signs that the host told; launches, and waits for a number */
	uint64_t device_large, device_asked, device_launches, device_waits;
	/* the same of rounds with less than RB_ROUND_LEAST candidates, and what these took */
	uint64_t device_few, device_few_launches, device_few_waits;
	double device_few_ms;
} rb_refine_report;

/*
 * *tets becomes the refined mesh: its points keep their numbers, those that are added stand behind them,
 * and so do segments and facets.  RB_OK; RB_STOPPED; the memory errors: then *tets is what it was.
 * It must keep all promises of rb_tetrahedralize.h.
 */
extern rb_status rb_refine(rb_context *ctx, const rb_refine_options *options, rb_tets *tets,
						   rb_refine_report *report);

/* ---- of one tetrahedron (quality.c) ---- */

typedef struct rb_tet_quality
{
	double radius_edge;  /* circumradius : shortest edge */
	double min_dihedral; /* degrees */
	double max_dihedral;
	double volume;
} rb_tet_quality;

extern void rb_tet_measure(const double *a, const double *b, const double *c, const double *d,
						   rb_tet_quality *quality);

#ifdef __cplusplus
}
#endif

#endif /* RB_REFINE_H */
