/*
 * refine.h
 *	  Refines a constrained Delaunay tetrahedralization by adding Steiner points until no bad
 *	  tetrahedron is left that can be improved.
 *
 * A tetrahedron is bad if its circumradius exceeds radius_edge times its shortest edge, if its
 * volume exceeds the bound that applies at its location, or if one of its dihedral angles is
 * smaller than min_dihedral. The output is as exact as the input: it keeps every guarantee of
 * tetrahedralize.h, except that faces may not be Delaunay where slivers were removed.
 *
 * The result is bitwise identical for any number of threads, and on a device.
 */
#ifndef RB_REFINE_REFINE_H
#define RB_REFINE_REFINE_H

#include "mesh/tetrahedralize.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* A volume bound for the tetrahedra of one region */
typedef struct rb_region_volume
{
	int64_t region;
	double volume;
} rb_region_volume;

/*
 * A volume bound for the tetrahedra that are nearer to this point than to any other rb_size point
 */
typedef struct rb_size
{
	double at[3];
	double volume;
} rb_size;

typedef struct rb_refine_options
{
	double radius_edge;                     /* Maximum circumradius : shortest edge, or infinity */
	double max_volume;                      /* Maximum volume anywhere, or infinity */
	const rb_region_volume *region_volumes; /* Volume bounds, in ascending order of region */
	uint32_t nregion_volumes;
	const rb_size *sizes;
	uint32_t nsizes;
	double min_dihedral; /* Angle in degrees below which slivers are removed, or 0 */
	bool not_delaunay; /* True to make the mesh Delaunay first: by flips, or by building it again */
	bool keep_surface; /* True to add no point on segments, on facets, or on the hull */
	uint64_t max_points; /* Maximum number of points including the input, or 0 for no limit */
	int threads;
	const rb_backend *backend; /* Backend that runs the rounds, or NULL for host threads */
	bool backend_only;         /* True to fail if the backend cannot run the rounds */
	bool backend_always;       /* True to use the backend even for few cells (tests) */
} rb_refine_options;

/* The reason why a tetrahedron stayed bad */
typedef enum rb_bad_reason
{
	RB_BAD_INPUT,    /* Small input angles, near which insertion would not terminate */
	RB_BAD_SURFACE,  /* keep_surface forbids the point */
	RB_BAD_FULL,     /* max_points is reached */
	RB_BAD_TOO_FINE, /* Doubles are too coarse for the required point */
	RB_BAD_ANGLE,    /* Only an angle below min_dihedral, which could not be enlarged */
	RB_BAD_REASONS
} rb_bad_reason;

/* The steps of a round on a device, in order of execution */
typedef enum rb_refine_step
{
	RB_REFINE_COPY,  /* Copies the mesh to the device and back, once */
	RB_REFINE_MAKE,  /* Builds the candidates */
	RB_REFINE_GROW,  /* Grows their cavities */
	RB_REFINE_EXACT, /* Decides exactly the signs that the filters left open */
	RB_REFINE_LARGE, /* Grows the large cavities */
	RB_REFINE_LARGE_EXACT,
	RB_REFINE_ASK, /* Decides on the host the signs that need GMP */
	RB_REFINE_WINNERS,
	RB_REFINE_FILL,  /* Builds the new cells */
	RB_REFINE_LISTS, /* Lists what has to be split in the new cells */
	RB_REFINE_STEPS
} rb_refine_step;

/* Counts of the removal of slivers */
typedef struct rb_slivers_report
{
	uint64_t before; /* Slivers before their removal */
	uint64_t flips;
	uint64_t moved; /* Number of times that a vertex was moved */
	uint64_t added; /* Vertices added */
	/*
	 * Faces on no facet that are not Delaunay: the circumsphere of the tetrahedron on one side
	 * contains the opposite vertex on the other side
	 */
	uint64_t not_delaunay;
} rb_slivers_report;

/* An edge at which a refined mesh is not convex although the initial mesh was; a defect */
typedef struct rb_reflex_edge
{
	double at[3]; /* Middle of the edge */
	double depth; /* Height of the corners of its two faces above their largest triangle */
	double limit; /* Largest depth that rounding explains */
} rb_reflex_edge;

/* A vertex of a refined mesh that is a corner of no tetrahedron but was or has to be; a defect */
typedef struct rb_lost_vertex
{
	bool any;
	double at[3];
} rb_lost_vertex;

typedef struct rb_refine_report
{
	uint64_t added[RB_VERTEX_KINDS]; /* Vertices added, by rb_vertex_kind */
	uint64_t bad;                    /* Bad tetrahedra in the result */
	uint64_t bad_because[RB_BAD_REASONS];
	uint32_t rounds;
	uint32_t device_rounds; /* Rounds that ran on the backend */
	uint64_t tried;         /* Candidates processed in all rounds */
	double min_dihedral;    /* Smallest dihedral angle in the result, in degrees */
	/*
	 * Only after RB_BAD_PLC: the reason, a mesh that could not be built again or a lost vertex if
	 * there is any, otherwise a reflex edge
	 */
	rb_lost_vertex lost;
	rb_reflex_edge reflex;
	bool not_rebuilt; /* A mesh that is not Delaunay could not be built again */
	rb_slivers_report slivers;
	double ms_start, ms_rounds, ms_slivers, ms_result;
	/* Bytes allocated on the device, bytes of these that hold the mesh, and milliseconds by step */
	uint64_t device_bytes, device_mesh_bytes;
	double device_ms[RB_REFINE_STEPS];
	/*
	 * Cavities that outgrew the small workspace, signs decided by the host, kernel launches, and
	 * waits for a value from the device
	 */
	uint64_t device_large, device_asked, device_launches, device_waits;
	/*
	 * Rounds with fewer than RB_ROUND_SMALL candidates, and the launches, waits and milliseconds of
	 * these rounds
	 */
	uint64_t device_few, device_few_launches, device_few_waits;
	double device_few_ms;
} rb_refine_report;

/*
 * Replaces *tets by the refined mesh. The points keep their numbers and the added points follow
 * them; segments and facets keep their numbers too. Returns RB_OK, RB_STOPPED, a memory error, or
 * RB_BAD_PLC after a defect: the boundary was convex and is not so any more, or a vertex is a corner
 * of no tetrahedron; or if a mesh that is not Delaunay could not be built again from its vertices,
 * segments and facets, also without further vertices on them if the surface must be kept. On failure
 * *tets is unchanged. *tets must satisfy every guarantee of tetrahedralize.h, except that its faces
 * need not be Delaunay with options->not_delaunay.
 */
extern rb_status rb_refine(rb_context *ctx, const rb_refine_options *options, rb_tets *tets,
						   rb_refine_report *report);

/* ---- quality of one tetrahedron ---- */

typedef struct rb_tet_quality
{
	double radius_edge;  /* Circumradius : shortest edge */
	double min_dihedral; /* Degrees */
	double max_dihedral;
	double volume;
} rb_tet_quality;

/* Computes the quality of the tetrahedron a, b, c, d; the volume is in cubed coordinate units. */
extern void rb_tet_measure(const double *a, const double *b, const double *c, const double *d,
						   rb_tet_quality *quality);

#ifdef __cplusplus
}
#endif

#endif /* RB_REFINE_REFINE_H */
