/*
 * meshing.h
 *	  Declares what the files of src/pg/mesh share, grouped by the file that defines it.
 *
 *	meshing_run.c, build_mesh.c, plc_faults.c	the work of one call, the mesh, errors of rows
 *	tables.c -> write_mesh.c, load.c			the four tables of a mesh, writing and reading
 *	tetrahedra_functions.c, refine_function.c,
 *	check_function.c, repair_function.c,
 *	files.c										the SQL functions and their arguments
 *	labels.c -> files.c						labels that group faces or tetrahedra in files
 */
#ifndef RB_PG_MESH_MESHING_H
#define RB_PG_MESH_MESHING_H

#include "pg/base/arguments.h"
#include "pg/base/cleanup.h"
#include "pg/base/helper_thread.h"
#include "pg/exec/exec.h"

#include "executor/spi.h"
#include "mesh/check/check.h"
#include "mesh/formats.h"
#include "mesh/surface_repair.h"
#include "mesh/tetrahedralize.h"
#include "mesh/volumes.h"
#include "mesh/weld.h"
#include "refine/refine.h"

#include <pthread.h>

struct rb_report_line;

/* ---- tetrahedra_functions.c: arguments of the SQL functions ---- */

/* The inputs of a mesh, each of which is an SQL argument, in this order */
typedef enum rb_meshing_side
{
	RB_MESH_FACETS,
	RB_MESH_POINTS,
	RB_MESH_SEGMENTS,
	RB_MESH_REGIONS,
	RB_MESH_HOLES,
	RB_MESH_SIZES, /* Points with sizes; only in refinement */
	RB_MESH_SIDES
} rb_meshing_side;

#define RB_MESH_GIVEN RB_MESH_SIZES /* Number of sides of any mesh */

/* The sides with an extra numeric column */
typedef enum rb_meshing_number
{
	RB_MESH_SOLID,         /* Facets: the solid that a facet belongs to */
	RB_MESH_REGION_VOLUME, /* Regions: a maximum volume */
	RB_MESH_SIZE,          /* Sizes: a maximum volume */
	RB_MESH_NUMBERS
} rb_meshing_number;

typedef struct rb_meshing_call
{
	const char *function;
	rb_source source[RB_MESH_SIDES]; /* The given sides, without gaps */
	int sides;                       /* Number of given sides */
	/* Index of each side in `source`, or -1 if the side is not given */
	int at[RB_MESH_SIDES];
	rb_keep keep;
	bool split; /* Split facets that cross */
	rb_merging merge;
	double weld; /* Distance up to which vertices are joined, or 0 */
	/* Options of redblue_refine */
	bool refine;
	bool by_solid; /* Facets belong to several solids, each of which is a mesh */
	bool skip_bad; /* Skip solids that cannot be meshed */
	rb_refine_options options;
	bool repair; /* The facets are repaired, and there is no mesh */
	rb_repair_options repairing;
	rb_extra_column number[RB_MESH_NUMBERS]; /* Extra columns; the name is NULL if not requested */
} rb_meshing_call;

/* Arguments of all functions that mesh rows, in SQL order, with an asterisk for each side */
#define RB_MESH_ARGUMENTS "*_id *_geom face_tolerance keep on_crossing merge weld"
/* The sides and the mesh, if the function stores it */
#define RB_MESH_STORE_ARGUMENTS "facets mesh points segments regions holes " RB_MESH_ARGUMENTS

/* Names the arguments of a function. An asterisk stands for each of the first five sides. */
extern void rb_meshing_arguments_bind(rb_arguments *a, const char *function, const char *list,
									  const NullableDatum *args);

/*
 * Reads the arguments about the rows of a side, which is called `name`, into the next source of the
 * call, unless the side is NULL.
 */
extern void rb_meshing_side_read(rb_meshing_call *call, const rb_arguments *a, const char *name,
								 bool query, double tolerance, rb_meshing_side side);

/* Reads the distance up to which vertices are joined, or 0 if it is NULL. */
extern double rb_meshing_weld_read(const rb_arguments *a);

/*
 * Reads the arguments into a call, allocated in the current memory context. With `refine`, also
 * reads the options of refinement. The types of arguments are those of the call to `called`.
 */
extern rb_meshing_call *rb_meshing_call_read(const rb_arguments *a, FmgrInfo *called, bool query,
											 bool refine);

/* ---- meshing_run.c: the work of one call ---- */

/* Ids that the existing tables of a mesh have for internal indices */
typedef struct rb_meshing_names
{
	uint32 npoints;        /* Number of vertices that existed before; later vertices are new */
	const int64_t *vertex; /* Ids of the existing vertices */
	int64_t last_vertex;   /* Largest id of the existing vertices */
	/* Original faces and the polygon that each belongs to, without points */
	rb_polygons polygons;
	const int64_t *facet;      /* Id of the facet of each polygon */
	const int64_t *polygon;    /* Ordinal of each polygon within the id of its facet */
	uint32 nsegments;          /* Number of segments, which index the next three arrays */
	const int64_t *segment;    /* Value shared by the pieces of each segment */
	const int64_t *segment_id; /* Id of the row of segments, or RB_MESH_NULL */
	const int64_t *facet_id;   /* Id of the facet that the segment bounds, or RB_MESH_NULL */
} rb_meshing_names;

#define RB_MESH_NULL PG_INT64_MIN

/* One mesh; a call builds either a single mesh or one for each solid */
typedef struct rb_meshing_part
{
	int64 solid;
	rb_welded welded;
	rb_split_done split; /* Result of splitting, if requested */
	bool unmerged;       /* True if merging facets within a tolerance gave no mesh and was undone */
	rb_resplit *resplit; /* Splits again if the mesh fails; NULL unless splitting is requested */
	/*
	 * True once the rows are welded; before that, a flaw refers to rows of facets and to their
	 * polygons
	 */
	bool is_welded;
	rb_tets tets;
	rb_refine_report refined; /* Result of refinement, if requested */
	rb_repaired repaired;     /* The repaired facets, if requested */
	rb_meshing_names *names;  /* Ids in the tables of a mesh that is continued, or NULL */
	rb_flaw flaw;
	rb_facet_gap gap;  /* Facets near a flaw that is due to the spacing of doubles */
	rb_refusal unread; /* First row that could not be read; its fault is RB_GEOMETRY_OK if none */
	rb_status status;
	double ms[RB_MESH_STAGES]; /* Milliseconds of each stage for one solid */
} rb_meshing_part;

/*
 * Resources of one call: memory of the core, and a thread. The run is allocated in a memory context
 * and ends with it. A process that exits leaves the function while the thread still works. So the
 * call, and everything else that the thread uses, must be allocated in that context and not on the
 * stack.
 */
typedef struct rb_meshing_run
{
	const rb_meshing_call *call;
	rb_cleanup open;
	rb_memory *memory;
	rb_context ctx;
	rb_progress_entry *progress;
	rb_side_data side[RB_MESH_SIDES]; /* In the order of call->source */
	rb_seed *seeds;
	uint32 nseeds;
	rb_meshing_part one;
	rb_meshing_part *parts; /* &one, or an array with a part for each solid, by id */
	uint32 nparts;
	rb_meshing_part *part;     /* Current part */
	rb_skipped_solid *skipped; /* Skipped solids, in the order of their ids */
	uint32 nskipped;
	bool empty; /* The mesh has no tetrahedra, so no rows were written */
	rb_refine_options options;
	/* Rounds on a device (refine_function.c) */
	uint64 expected; /* Estimated number of tetrahedra */
	rb_placement placement;
	struct rb_meshing_threads *threads; /* Threads that mesh solids (build_mesh.c) */
	double ms[RB_MESH_STAGES];          /* Milliseconds of each stage */
	/* Current stage; accessed by several threads */
	int stage;
	/* The helper thread */
	rb_status (*work)(struct rb_meshing_run *run);
	void *arg; /* Argument of work */
	rb_helper background;
} rb_meshing_run;

/*
 * Creates a meshing run for these arguments, which must outlive it. Deleting `context` ends the
 * run.
 */
extern rb_meshing_run *rb_meshing_open(const rb_meshing_call *call, MemoryContext context);

/* Reads the sides into sets, and the seeds. */
extern void rb_meshing_read(rb_meshing_run *run);

/*
 * Runs `work` in a thread while this one processes interrupts, and turns its failure into an ERROR.
 */
extern void rb_meshing_work(rb_meshing_run *run, rb_status (*work)(rb_meshing_run *run));

/*
 * Ends a stage: adds the time since *start to it and sets *start to now. Work functions call this.
 */
extern void rb_meshing_stage(rb_meshing_run *run, int stage, double *start);

/* Raises the notices about a mesh that was built. */
extern void rb_meshing_notices(const rb_meshing_run *run);

/* Sets what redblue_last_run() returns: `rows` rows were written in `ms` milliseconds. */
extern void rb_meshing_report(const rb_meshing_run *run, uint64 rows, double ms);

/* Sums over all meshes of a call; times in ms */
typedef struct rb_meshing_sums
{
	uint64 polygons, facets, triangles, segments, same_points, same_segments, points, crossings;
	uint64 vertices, edges, faces, regions, tets;
	uint64 added[RB_VERTEX_KINDS]; /* Vertices that the rows or the existing mesh do not have */
	uint64 refined;                /* Vertices added by refinement */
	uint64 bad, because[RB_BAD_REASONS], tried, rounds;
	double farthest, tolerance; /* Largest values of the facets merged within a tolerance */
	rb_slivers_report slivers;  /* Sums of its counts */
	uint64 not_delaunay;
	double min_dihedral; /* In degrees; NAN without tetrahedra */
	double ms_points, ms_segments, ms_facets, ms_regions;
} rb_meshing_sums;

/* Sums the statistics of all parts of a run. */
extern rb_meshing_sums rb_meshing_sum(const rb_meshing_run *run);

/*
 * Returns the result row of the run of a function that stores a mesh: counts, and times in ms or
 * angles. NAN becomes NULL.
 */
extern Datum rb_meshing_counts_row(FunctionCallInfo fcinfo, const uint64 *counts, int ncounts,
								   const double *ms, int nms);

struct rb_report;

/* Adds the line of a stage to a report. */
extern struct rb_report_line *rb_meshing_report_stage(struct rb_report *report,
													  const rb_meshing_run *run, int stage,
													  uint64 count, const char *detail);

/* Returns the set of a side, or NULL if the side is not given. */
static inline const rb_set *
rb_meshing_set(const rb_meshing_run *run, rb_meshing_side side)
{
	return run->call->at[side] < 0 ? NULL : run->side[run->call->at[side]].set;
}

/* Returns the user's id of a row. */
static inline int64
rb_meshing_id(const rb_meshing_run *run, rb_meshing_side side, uint32 row)
{
	const rb_set *set = rb_meshing_set(run, side);

	return set->ids != NULL ? set->ids[row] : set->first_id + row;
}

/* Nouns for a mesh, and for the repair of a surface, in messages about memory */
#define RB_MESH_WHAT "mesh"
#define RB_REPAIR_WHAT "repair"

/*
 * Default of face_tolerance: the maximum distance of a corner from the plane of its polygon,
 * relative to the extent of the polygon. Real buildings with coordinates in millimeters or
 * centimeters reach 0.0011.
 */
#define RB_MESH_FACE_TOLERANCE (1.0 / 256)

/* ---- build_mesh.c: the mesh ---- */

/* Builds a PLC from the sets, and splits it if requested; a work function. */
extern rb_status rb_meshing_weld(rb_meshing_run *run);

/* Tetrahedralizes the PLC; a work function. */
extern rb_status rb_meshing_fill_plc(rb_meshing_run *run);

/* Builds a PLC from the sets and tetrahedralizes it; a work function. */
extern rb_status rb_meshing_make(rb_meshing_run *run);

/* Refines the mesh; a work function. */
extern rb_status rb_meshing_refine(rb_meshing_run *run);

/* Changes the PLC as rb_meshing_fill_plc does, but does not keep the mesh; a work function. */
extern rb_status rb_meshing_finish_plc(rb_meshing_run *run);

/* Repairs the facets; a work function. */
extern rb_status rb_meshing_repair(rb_meshing_run *run);

/*
 * Builds a mesh of each solid, or repairs it, and raises the error of one for which this was not
 * possible.
 */
extern void rb_meshing_make_solids(rb_meshing_run *run);

/* ---- plc_faults.c: errors of rows ---- */

/* Returns the reason why a solid could not be meshed, for a list of reasons. */
extern const char *rb_meshing_flaw_name(const rb_meshing_part *part);

/* Raises the error about the flaw for which the only part could not be meshed. */
pg_noreturn extern void rb_meshing_raise_flaw(const rb_meshing_run *run);

/*
 * Raises the error that no mesh can be built because the number of input points exceeds
 * max_points.
 */
extern void rb_meshing_check_max_points(const rb_meshing_run *run, uint64 points);

/* ---- tables.c: the four tables of a mesh ---- */

typedef enum rb_meshing_kind
{
	RB_MESH_VERTICES,
	RB_MESH_TETS,
	RB_MESH_FACES,
	RB_MESH_EDGES,
	RB_MESH_TABLES
} rb_meshing_kind;

#define RB_MESH_COLUMNS 10 /* Maximum number of columns */

typedef struct rb_meshing_column
{
	const char *name; /* NULL after the last column */
	Oid type;         /* int8, float8, int4, text or boolean */
	bool null;        /* May be null */
	enum
	{
		RB_COLUMN_NEEDED,
		/* May be missing from a table that the user created, but is required for reading */
		RB_COLUMN_OPTIONAL,
		RB_COLUMN_INFORMATIVE, /* May be missing, and is not needed for reading either */
		RB_COLUMN_KNOWN,       /* May be missing, and is read if it exists */
		RB_COLUMN_OF_SOLID     /* Exists only in meshes of several solids */
	} use;
} rb_meshing_column;

typedef struct rb_meshing_table
{
	rb_meshing_kind kind;
	char *schema;
	char *name;
	char *quoted; /* Schema and name, quoted for SQL */
	Oid relid;
	bool made;                         /* Created by this call */
	bool by_solid;                     /* Has a column for the solid */
	AttrNumber attno[RB_MESH_COLUMNS]; /* 0 if the column is missing */
} rb_meshing_table;

/* Returns the RB_MESH_COLUMNS columns of a kind of table. */
extern const rb_meshing_column *rb_meshing_columns(rb_meshing_kind kind);

/* Returns true if the table should have column i. */
extern bool rb_meshing_has(const rb_meshing_table *t, int i);

/* Sets the names of the tables. */
extern void rb_meshing_tables_name(rb_meshing_table *tables, const char *function, const char *mesh,
								   bool by_solid);

/*
 * Creates the missing tables; those that exist must be empty. Another transaction that builds a
 * mesh of this name waits until this transaction ends.
 */
extern void rb_meshing_tables_make(rb_meshing_table *tables, const char *function);

/*
 * Opens one of these tables for writing, and checks it again: a trigger of another table may have
 * dropped or altered it in the meantime.
 */
extern Relation rb_meshing_table_open(rb_meshing_table *t, const char *function);

/*
 * Prepares INSERT INTO t (id, ...) SELECT * FROM ROWS FROM (unnest($1), ...). Sets *n to the number
 * of its arguments, which are arrays of the existing columns in their order.
 */
extern SPIPlanPtr rb_meshing_prepare_insert(const rb_meshing_table *t, const char *function,
											int *n);

/* Finds the tables of a mesh, all of which must exist, be readable and have all their columns. */
extern void rb_meshing_tables_find(rb_meshing_table *tables, const char *function,
								   const char *mesh);

/*
 * Finds the tables of a mesh that is to be replaced, and locks them. Until this transaction ends,
 * no one else can build a mesh of this name or write to the tables; readers need not wait.
 */
extern void rb_meshing_tables_continue(rb_meshing_table *tables, const char *function,
									   const char *mesh);
/* Deletes all rows of a table. Raises an error if a trigger, rule or policy prevents this. */
extern void rb_meshing_table_empty(const rb_meshing_table *t, const char *function);

/* ---- write_mesh.c: writing rows ---- */

/*
 * Writes all tables and returns the number of rows. If there are no tetrahedra, it writes nothing
 * and drops the tables that this call created.
 */
extern uint64 rb_meshing_fill(rb_meshing_run *run, rb_meshing_table *tables);

/*
 * Returns the ordinal of each polygon of a part within its id, counted from 1, in the current
 * memory context.
 */
extern uint32 *rb_meshing_polygons(const rb_meshing_run *run, const rb_meshing_part *part);

/* ---- load.c: reading rows, and matching them with input rows ---- */

/*
 * A mesh as read from its tables. The arrays are in the run's memory. Corners are numbers of
 * vertices, or RB_NONE if the vertex does not exist.
 */
typedef struct rb_meshing_loaded
{
	uint32_t n[RB_MESH_TABLES];
	int64_t *id[RB_MESH_TABLES]; /* Ascending */
	double *points;
	uint8_t *kind;      /* rb_vertex_kind */
	int64_t *parent_id; /* -1 if null */
	uint32_t (*tets)[4];
	int64_t *region;
	/* 1 for each tetrahedron that is recorded as not Delaunay */
	uint8_t *not_delaunay;
	uint32_t (*faces)[3];
	int64_t *facet_id; /* Facet id of each face */
	int64_t *polygon;
	uint32_t (*edges)[2];
	int64_t *segment; /* Number of each edge's segment; the pieces of a segment share it */
	int64_t *segment_id, *segment_facet; /* Ids of each edge, or RB_MESH_NULL */
} rb_meshing_loaded;

/*
 * Allocates an array of a mesh that is read from its tables, in the run's memory, or raises a
 * memory error.
 */
extern void *rb_meshing_array(rb_meshing_run *run, size_t n, size_t element);

/*
 * Reads a stored mesh from its tables into arrays of the run's memory. Raises an error if rows are
 * inconsistent.
 */
extern void rb_meshing_load(rb_meshing_run *run, const rb_meshing_table *tables,
							rb_meshing_loaded *mesh);

typedef struct rb_meshing_facet
{
	int64_t id;
	int64_t polygon; /* Ordinal within the id, from 1 */
	uint32_t number;
} rb_meshing_facet;

/*
 * A loaded mesh, with the numbers of the facets, segments and points that it refers to. The arrays
 * are in the run's memory.
 */
typedef struct rb_meshing_matched
{
	uint32_t *parent; /* Segment or facet that each vertex is on */
	uint32_t npolygons;
	rb_meshing_facet *polygons; /* By polygon number */
	uint32_t *face_polygon;
	uint32_t nfacets;         /* Number of facets, each of which may consist of several polygons */
	rb_meshing_facet *facets; /* First polygon of each facet, by facet number */
	uint32_t *face_facet;
	uint32_t nsegments;
	uint32_t (*segments)[2]; /* Segments that are given, followed by all others */
	/* Number that the table has for each segment, or 0 if the segment has no pieces */
	int64_t *segment;
	uint32_t *edge_segment;
} rb_meshing_matched;

/*
 * Matches a loaded mesh with the welded rows, and numbers its vertices like the points of the rows.
 * If the run is not welded, only matches the mesh with itself.
 */
extern void rb_meshing_match(rb_meshing_run *run, rb_meshing_loaded *mesh, rb_meshing_matched *to);

/*
 * Returns the mesh that was read from its tables as input of the checker. The caller sets the rows
 * to compare it with and the tetrahedra to keep.
 */
extern rb_check_input rb_meshing_check_input(const rb_meshing_loaded *mesh,
											 const rb_meshing_matched *to);

/* ---- check_function.c ---- */

/*
 * Sets *tet to a tetrahedron at which the mesh ends where it should not, or to RB_NONE. The
 * neighbors of all tetrahedra must be known.
 */
extern rb_status rb_meshing_find_open_end(rb_context *ctx, const rb_tets *tets, uint32 *tet);

/* ---- labels.c: labels that group faces or tetrahedra ---- */

typedef struct rb_meshing_label_source
{
	const char *side;    /* Name of the argument with the rows */
	Oid relid;           /* The rows, or InvalidOid for the table of the mesh */
	const char *id_name; /* Id column of the rows, or NULL for the primary key or "id" */
	const char *column;
} rb_meshing_label_source;

/* Reads the labels of the n rows of a table of faces or tetrahedra, in the order of their ids. */
extern const rb_mesh_labels *rb_meshing_labels_read(rb_meshing_run *run, const rb_meshing_table *t,
													rb_meshing_label_source *from, uint32 n);

#endif /* RB_PG_MESH_MESHING_H */
