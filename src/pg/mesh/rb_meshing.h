/*
 * rb_meshing.h
 *	  What the files of meshes share, grouped under the file that defines it.
 *
 *		mesh_arguments -> mesh_run -> mesh_flaws		arguments, one call's work, what is wrong with rows
 *		mesh_tables -> mesh_fill, mesh_load				the four tables of a mesh: into them, out of them
 *		mesh_ends										where a mesh ends that somebody may have changed
 *		mesh_device										where rounds of refinement run
 *		mesh_bodies										many meshes in one call
 *		mesh_functions, mesh_refine, mesh_check			the SQL functions
 */
#ifndef RB_MESHING_H
#define RB_MESHING_H

#include "pg/base/rb_pg.h"

#include "executor/spi.h"
#include "mesh/rb_check.h"
#include "mesh/rb_tetrahedralize.h"
#include "mesh/rb_volumes.h"
#include "mesh/rb_weld.h"
#include "refine/rb_refine.h"

#include <pthread.h>

/* ---- mesh_arguments.c: of an SQL function ---- */

/* what a mesh is made of: one argument each, in this order in SQL */
typedef enum rb_meshing_side
{
	RB_MESH_FACETS,
	RB_MESH_POINTS,
	RB_MESH_SEGMENTS,
	RB_MESH_REGIONS,
	RB_MESH_HOLES,
	RB_MESH_SIZES, /* of a mesh that is refined */
	RB_MESH_SIDES
} rb_meshing_side;

#define RB_MESH_GIVEN RB_MESH_SIZES /* sides of any mesh: so many */

/* sides that have a number besides in each row */
typedef enum rb_meshing_number
{
	RB_MESH_BODY,          /* facets: which body they are of */
	RB_MESH_REGION_VOLUME, /* regions */
	RB_MESH_SIZE,          /* sizes: a volume */
	RB_MESH_NUMBERS
} rb_meshing_number;

typedef struct rb_meshing_call
{
	const char *function;
	rb_source source[RB_MESH_SIDES]; /* of those that were given, one after the other */
	int sides;                       /* so many */
	int at[RB_MESH_SIDES];           /* where in source each is; -1: it was not given */
	rb_keep keep;
	bool split; /* facets that cross */
	/* a mesh that is refined */
	bool refine;
	bool by_body;  /* facets are of several bodies; each is a mesh */
	bool skip_bad; /* bodies of which no mesh can be made */
	rb_refine_options options;
	rb_beside number[RB_MESH_NUMBERS]; /* name NULL: it is not wanted */
} rb_meshing_call;

/*
 * n sides, each of which has its relation, then a name each for the id, then one for the geometry;
 * behind them how far corners of a face may lie from its plane.
 */
extern void rb_meshing_call_sides(rb_meshing_call *call, const char *function, bool query,
								  const NullableDatum *args, int n);
#define RB_MESH_SIDE_ARGUMENTS(n) (3 * (n) + 1)

/* that number of that side, in the column of that name; before the sides are looked at (rb_meshing_call_sides) */
extern void rb_meshing_call_number(rb_meshing_call *call, rb_meshing_number number,
								   const char *argument, const NullableDatum *name);

/* the others */
extern void rb_meshing_call_radius_edge(rb_meshing_call *call, const NullableDatum *arg);
extern void rb_meshing_call_max_volume(rb_meshing_call *call, const NullableDatum *arg);
extern void rb_meshing_call_max_points(rb_meshing_call *call, const NullableDatum *arg);
extern void rb_meshing_call_on_bad(rb_meshing_call *call, const NullableDatum *arg);

/* raises where there is nothing of which a mesh could be */
extern void rb_meshing_call_not_empty(const rb_meshing_call *call);

/* 'inside' or 'hull'; 'error' or 'split' */
extern void rb_meshing_call_keep(rb_meshing_call *call, const NullableDatum *arg);
extern void rb_meshing_call_crossing(rb_meshing_call *call, const NullableDatum *arg);

/* ---- mesh_run.c: one call ---- */

/* what numbers of a mesh that was in the tables before are called there */
typedef struct rb_meshing_names
{
	uint32 npoints;         /* that were there; others are new */
	const int64_t *vertex;  /* ids of those */
	int64_t last_vertex;    /* the largest of them */
	rb_polygons polygons;   /* faces, as they were, and which polygon each was of; without points */
	const int64_t *facet;   /* of each polygon: the id ... */
	const int64_t *polygon; /* ... and which polygon of it */
	uint32 nsegments;       /* by their numbers: */
	const int64_t *segment; /* what pieces have in common, ... */
	const int64_t *segment_id; /* ... the row that it is, or RB_MESH_NULL, ... */
	const int64_t *facet_id;   /* ... the facet that it bounds, or RB_MESH_NULL */
} rb_meshing_names;

#define RB_MESH_NULL PG_INT64_MIN

/* one mesh; a call makes one, or one of each body */
typedef struct rb_meshing_part
{
	int64 body;
	rb_welded welded;
	rb_split_done split; /* where that was asked for */
	bool is_welded;      /* until then a flaw names rows of facets and their polygons */
	rb_tets tets;
	rb_refine_report refined; /* where that was asked for */
	rb_meshing_names *names;  /* of a mesh that is continued; else NULL: it is of rows */
	rb_flaw flaw;
	rb_geometry_fault unread; /* of a row that could not be taken; RB_GEOMETRY_OK: there is none */
	rb_status status;
	double ms[RB_MESH_STAGES]; /* of a body */
} rb_meshing_part;

/*
 * What a call holds: memory of the core and a thread.  It lives in a memory context, and ends with it
 * at the latest; rb_meshing_close ends it sooner.  An ERROR leaves the function while the thread still
 * works, until the context goes: so the call, and what else the thread uses, must be in that
 * context, not on the stack.
 */
typedef struct rb_meshing_run
{
	const rb_meshing_call *call;
	MemoryContextCallback at_end;
	rb_open open;
	rb_memory *memory;
	rb_context ctx;
	rb_progress_entry *progress;
	rb_side side[RB_MESH_SIDES]; /* as call->source */
	rb_seed *seeds;
	uint32 nseeds;
	rb_meshing_part one;
	rb_meshing_part *parts; /* that, or one of each body that was made, by their ids */
	uint32 nparts;
	rb_meshing_part *part; /* of which is spoken now */
	uint32 skipped;        /* bodies */
	bool empty;            /* there are no tetrahedra for the tables, which got no rows */
	rb_refine_options options;
	/* rounds on a device (mesh_device.c) */
	uint64 expected; /* tetrahedra, about */
	rb_remote *remote;
	char note[200];                                   /* why not, or why not by the worker */
	struct rb_meshing_threads *threads;               /* that make bodies (mesh_bodies.c), ... */
	void (*stop_threads)(struct rb_meshing_run *run); /* ... to be told to stop; or NULL */
	double ms[RB_MESH_STAGES];                        /* of each stage */
	int stage;                                        /* now at work; by several threads */
	/* the thread */
	rb_status (*work)(struct rb_meshing_run *run);
	void *arg; /* for work */
	pthread_t thread;
	bool running;
	int done; /* by several threads */
	rb_status status;
} rb_meshing_run;

extern rb_meshing_run *rb_meshing_open(const rb_meshing_call *call, MemoryContext context);

/* the sides become sets, and seeds */
extern void rb_meshing_read(rb_meshing_run *run);

/*
 * That work, in a thread, while this one serves interrupts.  Whatever made it fail becomes an
 * ERROR.
 */
extern void rb_meshing_work(rb_meshing_run *run, rb_status (*work)(rb_meshing_run *run));

/* for work: the time since the last one goes to the stage that ends */
extern void rb_meshing_stage(rb_meshing_run *run, int stage, double *start);

/* works: sets become a PLC, which is split if that is wanted; that a mesh; both; it is refined */
extern rb_status rb_meshing_weld(rb_meshing_run *run);
extern rb_status rb_meshing_fill_plc(rb_meshing_run *run);
extern rb_status rb_meshing_make(rb_meshing_run *run);
extern rb_status rb_meshing_refine(rb_meshing_run *run);

/* the same in steps, of a part, with a context that may be another: ms gets the time of each stage */
extern rb_status rb_meshing_weld_part(rb_meshing_run *run, rb_context *ctx, rb_meshing_part *part,
									  const rb_set *facets);
extern rb_status rb_meshing_fill_part(rb_meshing_run *run, rb_context *ctx, rb_meshing_part *part);

/* what the user is to hear of a mesh that was made */
extern void rb_meshing_notices(const rb_meshing_run *run);

/* what redblue_last_run() tells from now on; so many rows were handed out, in that time */
extern void rb_meshing_report(const rb_meshing_run *run, uint64 rows, double ms);

extern void rb_meshing_close(rb_meshing_run *run);

/* the set of a side, or NULL */
static inline const rb_set *
rb_meshing_set(const rb_meshing_run *run, rb_meshing_side side)
{
	return run->call->at[side] < 0 ? NULL : run->side[run->call->at[side]].set;
}

/* what the user calls a row */
static inline int64
rb_meshing_id(const rb_meshing_run *run, rb_meshing_side side, uint32 row)
{
	const rb_set *set = rb_meshing_set(run, side);

	return set->ids != NULL ? set->ids[row] : set->first_id + row;
}

/* "mesh", for what is said of memory */
#define RB_MESH_WHAT "mesh"

/*
 * Where face_tolerance is left out: a corner may lie so far from its polygon's plane, as a share of
 * the polygon's extent.  Real buildings in millimetres and centimetres have up to 0.0011.
 */
#define RB_MESH_BENT (1.0 / 256)

/* ---- mesh_flaws.c: what is wrong with rows ---- */

/* why no mesh of a body could be made, in a list of reasons */
extern const char *rb_meshing_flaw_name(const rb_meshing_part *part);

pg_noreturn extern void rb_meshing_raise_flaw(const rb_meshing_run *run);

/* nothing, if max_points lets these be */
extern void rb_meshing_check_max_points(const rb_meshing_run *run, uint64 points);

/* ---- mesh_tables.c: the four tables of a mesh ---- */

typedef enum rb_meshing_kind
{
	RB_MESH_VERTICES,
	RB_MESH_TETS,
	RB_MESH_FACES,
	RB_MESH_EDGES,
	RB_MESH_TABLES
} rb_meshing_kind;

#define RB_MESH_COLUMNS 9 /* at most */

typedef struct rb_meshing_column
{
	const char *name; /* NULL: there are no more */
	Oid type;         /* int8, float8, int4 or text */
	bool null;        /* may be */
	enum
	{
		RB_COLUMN_NEEDED,
		RB_COLUMN_OPTIONAL, /* a table that the user has made may do without it, but is not read then */
		RB_COLUMN_TOLD,     /* nor does who reads it need it */
		RB_COLUMN_OF_BODY /* it is there where meshes are of bodies */
	} use;
} rb_meshing_column;

typedef struct rb_meshing_table
{
	rb_meshing_kind kind;
	char *schema;
	char *name;
	char *quoted; /* both, as SQL writes them */
	Oid relid;
	bool made;                         /* by this call */
	bool by_body;                      /* it has columns of bodies */
	AttrNumber attno[RB_MESH_COLUMNS]; /* 0: it is not there */
} rb_meshing_table;

extern const rb_meshing_column *rb_meshing_columns(rb_meshing_kind kind);

/* is there a column i? */
extern bool rb_meshing_has(const rb_meshing_table *t, int i);

/* their names */
extern void rb_meshing_tables_name(rb_meshing_table *tables, const char *function, const char *mesh,
								   bool by_body);

/*
 * Those that there are must be empty, the others are made; who else makes a mesh of this name waits for the
 * end of this transaction.
 */
extern void rb_meshing_tables_make(rb_meshing_table *tables, const char *function);

/* drops the tables that this call has made, and leaves the others: there is no mesh */
extern void rb_meshing_tables_unmake(rb_meshing_table *tables, const char *function);

/* one of those, to be filled: a trigger of another may have dropped or altered it meanwhile */
extern Relation rb_meshing_table_open(rb_meshing_table *t, const char *function);

/*
 * INSERT INTO t (id, ...) SELECT * FROM ROWS FROM (unnest($1), ...): the number of its arguments, arrays
 * of the columns that there are, in their order.
 */
extern SPIPlanPtr rb_meshing_prepare_insert(const rb_meshing_table *t, const char *function,
											int *n);

/* all must be there, with all their columns, and may be read */
extern void rb_meshing_tables_find(rb_meshing_table *tables, const char *function,
								   const char *mesh);

/*
 * The same of a mesh that is to be replaced: nobody else makes one of this name, nor writes to the
 * tables, until this transaction ends; who reads them need not wait.
 */
extern void rb_meshing_tables_continue(rb_meshing_table *tables, const char *function,
									   const char *mesh);
extern void rb_meshing_table_empty(const rb_meshing_table *t, const char *function);

/* ---- mesh_fill.c: rows into them ---- */

/* all tables; returns the number of rows.  Without tetrahedra none is written, and tables of this call are dropped. */
extern uint64 rb_meshing_fill(rb_meshing_run *run, rb_meshing_table *tables);

/* which one of the rows with its id each polygon of a part is, from 1: in that memory context */
extern uint32 *rb_meshing_polygons(const rb_meshing_run *run, const rb_meshing_part *part);

/* ---- mesh_load.c: rows out of them ---- */

/*
 * A mesh as its tables have it; arrays are of the run's memory, but texts.  Corners are numbers of
 * vertices, or RB_NONE for those that there are not.
 */
typedef struct rb_meshing_loaded
{
	uint32_t n[RB_MESH_TABLES];
	int64_t *id[RB_MESH_TABLES]; /* ascending */
	double *points;
	uint8_t *kind;      /* rb_vertex_kind */
	int64_t *parent_id; /* -1: null */
	uint32_t (*tets)[4];
	int64_t *region;
	uint32_t (*faces)[3];
	int64_t *facet_id; /* of each face */
	int64_t *polygon;
	uint32_t (*edges)[2];
	int64_t *segment; /* of each edge, a number: those with the same are pieces of one */
	int64_t *segment_id, *segment_facet; /* of each edge, or RB_MESH_NULL */
} rb_meshing_loaded;

extern void rb_meshing_load(rb_meshing_run *run, const rb_meshing_table *tables,
							rb_meshing_loaded *mesh);

/* ---- mesh_files.c: tables as a value ---- */

/* the tables of a mesh, and a run that reads no sides */
extern rb_meshing_run *rb_meshing_open_tables(const char *function, const char *name,
											  rb_meshing_table *tables);

/* raises which of n corners each, of that table, is no vertex */
extern void rb_meshing_check_corners(const rb_meshing_run *run, const rb_meshing_table *table,
									 const rb_meshing_loaded *mesh, const uint32_t *corners, int n);

/* ---- mesh_match.c: what they name, as numbers of the rows that the mesh is to be of ---- */

typedef struct rb_meshing_facet
{
	int64_t id;
	int64_t polygon; /* of the rows of that id, from 1 */
	uint32_t number;
} rb_meshing_facet;

/* arrays are of the run's memory */
typedef struct rb_meshing_matched
{
	uint32_t *parent; /* of each vertex */
	uint32_t npolygons;
	rb_meshing_facet *polygons; /* by their numbers */
	uint32_t *face_polygon;
	uint32_t nfacets;         /* several polygons may be one */
	rb_meshing_facet *facets; /* by their numbers: the first polygon of each */
	uint32_t *face_facet;
	uint32_t nsegments;
	uint32_t (*segments)[2]; /* given ones, then others */
	int64_t *segment; /* the number that pieces of each have in the table; 0: there are none */
	uint32_t *edge_segment;
} rb_meshing_matched;

/* where the run is welded the mesh is renumbered as its points are; else it is only compared with itself */
extern void rb_meshing_match(rb_meshing_run *run, rb_meshing_loaded *mesh, rb_meshing_matched *to);

/* the mesh as the checker takes it; of which rows it is to be, and which tetrahedra are wanted, is not in it */
extern rb_check_input rb_meshing_check_input(const rb_meshing_loaded *mesh,
											 const rb_meshing_matched *to);

/* ---- mesh_ends.c ---- */

/* a tetrahedron beside which the mesh ends where it should not, or RB_NONE; its neighbours are known */
extern rb_status rb_meshing_find_end(rb_context *ctx, const rb_tets *tets, uint32 *tet);

/* ---- mesh_device.c: where rounds of refinement run ---- */

/* before anything is read (rb_backend_prepare) */
extern void rb_meshing_device_prepare(const rb_meshing_call *call);

/* a work: how many tetrahedra are to be expected? */
extern rb_status rb_meshing_expect(rb_meshing_run *run);

/* when that is known: run->options gets a backend, if it is to have one; and when it is refined */
extern void rb_meshing_device_begin(rb_meshing_run *run);
extern void rb_meshing_device_end(rb_meshing_run *run);

extern void rb_meshing_device_report(const rb_meshing_run *run, rb_last_line *line);

/* ---- mesh_bodies.c ---- */

/* a work: each body becomes a mesh */
extern rb_status rb_meshing_make_bodies(rb_meshing_run *run);

/* before it: which are there; and after it: of which could none be made? */
extern void rb_meshing_bodies_begin(rb_meshing_run *run);
extern void rb_meshing_bodies_end(rb_meshing_run *run);

/* an array of the run's memory, or the memory error */
extern void *rb_meshing_array(rb_meshing_run *run, size_t n, size_t element);

#endif /* RB_MESHING_H */
