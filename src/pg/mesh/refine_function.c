/*
 * refine_function.c
 *	  Implements redblue_refine, which stores a mesh of good tetrahedra in four tables, starting
 *	  from rows or from the mesh in these tables.
 *
 * If no rows are given, the existing mesh is refined. Its tables are locked against other writers,
 * and the mesh is checked by exact signs, because users may have changed it and refinement relies
 * on its guarantees. If faces are not Delaunay, as where slivers were removed, they are flipped before
 * the refinement; if that is not enough, the mesh is built again from its vertices, segments and
 * facets. Then tetrahedra, faces and segments are replaced by DELETE and INSERT, so that
 * concurrent readers see the old mesh. Existing vertices keep their rows, including any additional
 * columns, and new vertices are added.
 *
 * Rounds of refinement run on threads of this process or on a device. As for joins (placement.c),
 * the worker opens the device for all sessions. The thread that refines asks the worker for rounds,
 * through a request that stays open until that thread has finished. The request is opened by the
 * main thread of this process once the initial tetrahedra are known. The thread itself runs the
 * rounds that the worker cannot, unless redblue.backend requires a device.
 *
 * Meshes of solids are small and numerous: each is built by one thread of this process. The device
 * would have to process them one after the other, and each of them would take longer than on a CPU.
 */
#include "pg/mesh/meshing.h"

#include "mesh/check/check.h"
#include "refine/refining.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include <math.h>

/* ---- arguments ---- */

#define ARGUMENTS                                                                           \
	RB_MESH_STORE_ARGUMENTS " radius_edge max_volume regions_volume sizes sizes_id "        \
							"sizes_geom sizes_volume keep_surface max_points solid on_bad " \
							"min_dihedral"

/*
 * Returns true if no rows are given from which to build a mesh, so that the existing mesh is
 * refined.
 */
static bool
is_existing_mesh_refined(const rb_meshing_call *call)
{
	return call->at[RB_MESH_FACETS] < 0 && call->at[RB_MESH_POINTS] < 0 &&
		   call->at[RB_MESH_SEGMENTS] < 0;
}

/* Refuses sides that cannot be used to refine an existing mesh. */
static void
refuse_sides_to_refine(const rb_meshing_call *call)
{
	if (call->at[RB_MESH_HOLES] >= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: argument \"holes\" cannot be used when an existing mesh is refined",
						call->function),
				 errdetail(
					 "Without facets, points and segments, the function refines an existing mesh."),
				 errhint("To add holes, build the mesh again.")));
	if (call->weld > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: argument \"weld\" cannot be used when an existing mesh is refined",
						call->function),
				 errdetail(
					 "Without facets, points and segments, the function refines an existing mesh."),
				 errhint("To weld vertices, build the mesh again.")));
	if (call->merge.kind == RB_MERGE_NEARLY_FLAT)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s: argument \"merge\" cannot be an angle when an existing mesh is refined",
					call->function),
			 errdetail(
				 "Facets that meet at an angle can be merged only when a mesh is built from rows."),
			 errhint("Specify the rows again to build and refine the mesh in one call.")));
	if (call->at[RB_MESH_REGIONS] >= 0 && call->number[RB_MESH_REGION_VOLUME].name == NULL)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s: argument \"regions\" cannot be used to assign regions in an existing mesh",
					call->function),
			 errdetail("The tetrahedra of the existing mesh already have regions."),
			 errhint("Use regions together with regions_volume to set the maximum volume of "
					 "tetrahedra in each region.")));
}

/* ---- volumes of rows ---- */

/* Returns the maximum volume of a row, which may be infinity. */
static double
max_volume_of_row(const rb_meshing_run *run, rb_meshing_number number, rb_meshing_side side,
				  uint32 row)
{
	const rb_extra_column *beside = &run->call->number[number];
	const rb_source *source = &run->call->source[run->call->at[side]];
	double volume;

	memcpy(&volume, &beside->words[row], sizeof volume);
	if (!(volume > 0))
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s: invalid value in column \"%s\" of %s: %g, id " INT64_FORMAT,
					run->call->function, beside->name, source->side, volume,
					rb_meshing_id(run, side, row)),
			 errdetail(
				 "The value is the maximum volume of a tetrahedron there; it must be greater than 0."),
			 errhint("Use NULL for no limit.")));
	return volume;
}

/* Orders the volume bounds of redblue_refine by region. */
static int
compare_regions_to_refine(const void *a, const void *b)
{
	const rb_region_volume *x = a;
	const rb_region_volume *y = b;

	return x->region < y->region ? -1 : x->region > y->region;
}

/* Orders volume bounds by region, then by volume. */
static int
compare_regions(const void *a, const void *b)
{
	const rb_region_volume *x = a;
	const rb_region_volume *y = b;

	if (x->region != y->region)
		return x->region < y->region ? -1 : 1;
	return x->volume < y->volume ? -1 : x->volume > y->volume;
}

/* Collects the maximum volume of each region: the smallest of the rows with its id. */
static void
collect_regions_to_refine(rb_meshing_run *run)
{
	const rb_set *set = rb_meshing_set(run, RB_MESH_REGIONS);
	rb_region_volume *list;
	uint32 n = 0;

	if (set == NULL || run->call->number[RB_MESH_REGION_VOLUME].name == NULL)
		return;
	list = rb_meshing_array(run, set->nrows, sizeof *list);
	for (uint32 i = 0; i < set->nrows; i++)
		list[i] =
			(rb_region_volume){rb_meshing_id(run, RB_MESH_REGIONS, i),
							   max_volume_of_row(run, RB_MESH_REGION_VOLUME, RB_MESH_REGIONS, i)};
	qsort(list, set->nrows, sizeof *list, compare_regions);
	for (uint32 i = 0; i < set->nrows; i++)
		if (n == 0 || list[n - 1].region != list[i].region)
			list[n++] = list[i];
	run->options.region_volumes = list;
	run->options.nregion_volumes = n;
}

/* Collects the size points; each point of a MultiPoint is one. */
static void
collect_sizes_to_refine(rb_meshing_run *run)
{
	const rb_set *set = rb_meshing_set(run, RB_MESH_SIZES);
	rb_size *list;

	if (set == NULL)
		return;
	list = rb_meshing_array(run, set->nparts, sizeof *list);
	for (uint32 i = 0; i < set->nparts; i++)
	{
		memcpy(list[i].at, set->coords + 3 * (size_t) i, sizeof list[i].at);
		list[i].volume = max_volume_of_row(run, RB_MESH_SIZE, RB_MESH_SIZES,
										   set->row_of == NULL ? i : set->row_of[i]);
	}
	run->options.sizes = list;
	run->options.nsizes = set->nparts;
}

/* Reads the options of a refinement from the arguments: regions, sizes, threads. */
static void
read_options_to_refine(rb_meshing_run *run)
{
	collect_regions_to_refine(run);
	collect_sizes_to_refine(run);
	/* Allow all threads, because the amount of work is known only once there are tetrahedra. */
	run->options.threads = rb_threads(UINT64_MAX);
}

/* ---- where rounds run: an estimate of the work ---- */

/* Measured number of tetrahedra that refinement produces per initial one, without a volume bound */
#define TETS_OF_ONE 3.0
/* Measured mean volume of tetrahedra, relative to their volume bound */
#define SHARE_OF_VOLUME 0.5

/* Returns the volume of a tetrahedron. */
static double
volume_of_tet_to_refine(const rb_tets *t, uint32 tet)
{
	const double *a = t->points + 3 * (size_t) t->tets[tet][0];
	double d[3][3];

	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++)
			d[i][k] = t->points[3 * (size_t) t->tets[tet][i + 1] + k] - a[k];
	return fabs(d[0][0] * (d[1][1] * d[2][2] - d[1][2] * d[2][1]) -
				d[0][1] * (d[1][0] * d[2][2] - d[1][2] * d[2][0]) +
				d[0][2] * (d[1][0] * d[2][1] - d[1][1] * d[2][0])) /
		   6;
}

/*
 * Returns the volume bound that the arguments of redblue_refine give for a region, or infinity if
 * there is none.
 */
static double
max_volume_argument_of_region(const rb_refine_options *o, int64 region)
{
	const rb_region_volume key = {region, 0};
	const rb_region_volume *found = NULL;

	if (o->nregion_volumes > 0)
		found = bsearch(&key, o->region_volumes, o->nregion_volumes, sizeof key,
						compare_regions_to_refine);
	return found != NULL ? found->volume : INFINITY;
}

/*
 * Estimates the final number of tetrahedra, to decide whether a device pays off. Volume bounds
 * determine it directly; each point with a size is assumed to stand for an equal share of the
 * whole volume, as if such points were evenly distributed.
 */
static rb_status
expect_tets_of_refinement(rb_meshing_run *run)
{
	const rb_refine_options *o = &run->options;
	const rb_tets *t = &run->one.tets;
	double n = 0;
	double whole = 0;

	for (uint32 i = 0; i < t->ntets; i++)
	{
		const double volume = volume_of_tet_to_refine(t, i);
		const double most = Min(o->max_volume, max_volume_argument_of_region(o, t->region[i]));

		if ((i & 0xffff) == 0xffff && rb_should_stop(&run->ctx))
			return RB_STOPPED;
		whole += volume;
		n += Max(o->radius_edge < INFINITY ? TETS_OF_ONE : 1, volume / (SHARE_OF_VOLUME * most));
	}
	for (uint32 i = 0; i < o->nsizes; i++)
		n += whole / o->nsizes / (SHARE_OF_VOLUME * o->sizes[i].volume);
	if (o->max_points > 0)
		n = Min(n, 7.0 * (double) o->max_points);
	run->expected = (uint64) Min(n, 4e9);
	return RB_OK;
}

/* ---- rounds on the worker ---- */

/* Implements the refine callback of a backend; ctx is the context of a run. */
static rb_status
refine_on_worker(rb_context *ctx, rb_refining *refining, size_t size)
{
	rb_meshing_run *run = (rb_meshing_run *) ((char *) ctx - offsetof(rb_meshing_run, ctx));
	rb_status status = rb_remote_refine(run->placement.remote, refining);

	(void) size;
	/* This process still has the mesh, so its own threads can finish in any case. */
	if (rb_is_left_to_us(status) && !run->options.backend_only)
	{
		char why[sizeof ctx->error.text];

		strlcpy(why, ctx->error.text[0] != '\0' ? ctx->error.text : rb_status_text(status),
				sizeof why);
		rb_forget_failure(ctx);
		return rb_fail(ctx, RB_NO_DEVICE, 0, 0, why);
	}
	return status;
}

/* Opens a request to the worker for the rounds of the refinement. Returns false if that fails. */
static bool
open_refinement_on_worker(rb_meshing_run *run)
{
	static const rb_backend of_worker = {.name = "cuda", .refine = refine_on_worker};
	const rb_job job = {.red = NULL};
	rb_submission order = {.ask = RB_ASK_REFINE, .device = RB_ON_DEVICE, .job = &job};
	const int threads = run->ctx.threads;
	bool opened;

	/* Open the request with the number of threads that will copy the mesh. */
	run->ctx.threads = run->options.threads;
	opened = rb_placement_submit(&run->placement, &order);
	run->ctx.threads = threads;
	if (opened)
		run->options.backend = &of_worker;
	return opened;
}

/* Selects the device that this process itself opens for the rounds of the refinement. */
static void
open_refinement_here(rb_meshing_run *run)
{
	const rb_backend *backend;

	rb_placement_choose_here(&run->placement);
	backend = run->placement.backend;
	if (backend == &rb_backend_cpu)
		return;
	run->options.backend = backend;
	(void) backend->probe(run->ctx.device, run->ctx.stats.device, sizeof run->ctx.stats.device);
}

/* Selects where refinement runs: the worker, a device here, or the CPU. */
static void
select_place_to_refine(rb_meshing_run *run)
{
	const double start = rb_now_ms();

	if (rb_setting_backend == RB_CHOOSE_CPU)
		return;
	run->options.backend_only = run->placement.demanded;
	if (rb_placement_wants_refinement(&run->placement, run->expected, run->options.threads) &&
		!open_refinement_on_worker(run))
		open_refinement_here(run);
	run->ms[RB_MESH_REFINE] += rb_now_ms() - start;
}

/*
 * Refines the initial mesh of redblue_refine: chooses where the rounds run, and runs them on the
 * helper thread.
 */
static void
refine_mesh_of_call(rb_meshing_run *run)
{
	char why_not[200];

	if (rb_setting_backend == RB_CHOOSE_AUTO && rb_device_installed(why_not, sizeof why_not))
		rb_meshing_work(run, expect_tets_of_refinement);
	select_place_to_refine(run);
	rb_meshing_work(run, rb_meshing_refine);
	rb_placement_stop(&run->placement);
	run->options.backend = NULL;
}

/* ---- a mesh built from rows ---- */

/* Builds and refines the mesh of the rows. */
static void
make_refined_mesh(rb_meshing_run *run)
{
	if (run->call->by_solid)
	{
		rb_meshing_make_solids(run);
		return;
	}
	rb_meshing_work(run, rb_meshing_weld);
	rb_meshing_check_max_points(run, run->one.welded.plc.npoints);
	rb_meshing_work(run, rb_meshing_fill_plc);
	refine_mesh_of_call(run);
}

/* ---- an existing mesh ---- */

typedef struct continuing
{
	rb_meshing_loaded mesh;
	rb_meshing_matched matched;
	rb_check_report report;
	uint32 end; /* Tetrahedron at which the mesh ends where it should not */
} continuing;

/* Checks the loaded mesh on the helper thread. */
static rb_status
check_mesh_to_refine(rb_meshing_run *run)
{
	continuing *c = run->arg;
	double start = 0;
	rb_status status;
	rb_check_input in = rb_meshing_check_input(&c->mesh, &c->matched);

	in.keep = RB_KEEP_INSIDE;
	in.most = 1;
	in.tet_not_delaunay = NULL;
	rb_meshing_stage(run, RB_MESH_CHECK, &start);
	status = rb_check_mesh(&run->ctx, &in, &c->report);
	rb_meshing_stage(run, RB_MESH_REFINE, &start);
	return status;
}

/*
 * Returns true if a kind of fault prevents refinement. The extent of the mesh does not matter: it
 * may have been built with keep => 'hull'. A mesh that is not Delaunay becomes so.
 */
static bool
is_fault_refused(rb_fault_kind kind)
{
	return kind != RB_FAULT_BOUNDARY && kind != RB_FAULT_NOT_CONVEX && kind != RB_FAULT_CAVITY &&
		   kind != RB_FAULT_POINT_UNUSED && kind != RB_FAULT_NOT_DELAUNAY;
}

/*
 * Returns the number of faults of a kind in the existing mesh that make redblue_refine refuse it,
 * including faces and edges that are recorded but not in the mesh.
 */
static uint64
count_faults_before_refining(const rb_check_report *report, rb_fault_kind kind)
{
	return !is_fault_refused(kind)
			   ? 0
			   : report->count[kind] + (kind == RB_FAULT_FACE_NOT_IN_MESH   ? report->outside_faces
										: kind == RB_FAULT_EDGE_NOT_IN_MESH ? report->outside_edges
																			: 0);
}

/* Raises an ERROR if the check found faults. */
static void
refuse_faults(const rb_meshing_run *run, const continuing *c, const char *name)
{
	uint64 n = 0;
	int first = RB_FAULT_KINDS;

	for (int i = RB_FAULT_KINDS - 1; i >= 0; i--)
	{
		const uint64 found = count_faults_before_refining(&c->report, (rb_fault_kind) i);

		n += found;
		first = found > 0 ? i : first;
	}
	if (n > 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s: mesh \"%s\" cannot be refined: %s", run->call->function, name,
						rb_fault_text((rb_fault_kind) first)),
				 errdetail("The number of faults found in its tables is " UINT64_FORMAT ".", n),
				 errhint("Run SELECT * FROM redblue_mesh_check(%s); for a full report.",
						 quote_literal_cstr(name))));
}

/*
 * Raises an ERROR if the existing mesh has an open end, a boundary face that lies on no facet.
 * Names the tetrahedron.
 */
static void
refuse_mesh_with_open_end(const rb_meshing_run *run, const continuing *c, const char *name)
{
	if (c->end != RB_NONE)
		ereport(
			ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg(
				 "%s: mesh \"%s\" cannot be refined: a boundary face of tetrahedron " INT64_FORMAT
				 " lies on no facet",
				 run->call->function, name, c->mesh.id[RB_MESH_TETS][c->end]),
			 errdetail("A boundary face must lie on a facet or on the convex hull.  The number "
					   "of boundary faces that lie on no facet is " UINT64_FORMAT ".",
					   c->report.count[RB_FAULT_BOUNDARY]),
			 errhint("Check whether rows of the tetrahedra or faces were deleted, and build "
					 "the mesh again.")));
}

/* Counts the regions of the existing mesh that redblue_refine continues, for its report. */
static uint32
count_regions_of_existing_mesh(const rb_meshing_run *run, const rb_meshing_loaded *mesh)
{
	uint32_t n;
	rb_error error;

	/* The number is only reported, so an error is ignored. */
	return rb_ids_number(run->memory, mesh->region, mesh->n[RB_MESH_TETS], NULL, NULL, &n,
						 &error) == RB_OK
			   ? n
			   : 0;
}

/* Makes the loaded arrays the mesh of the run. */
static void
set_mesh_to_refine(rb_meshing_run *run, const continuing *c)
{
	run->one.tets = (rb_tets){.npoints = c->mesh.n[RB_MESH_VERTICES],
							  .ntets = c->mesh.n[RB_MESH_TETS],
							  .nfaces = c->mesh.n[RB_MESH_FACES],
							  .nedges = c->mesh.n[RB_MESH_EDGES],
							  .nsegments = c->matched.nsegments,
							  .points = c->mesh.points,
							  .kind = c->mesh.kind,
							  .parent = c->matched.parent,
							  .tets = c->mesh.tets,
							  .region = c->mesh.region,
							  .faces = c->mesh.faces,
							  .face_facet = c->matched.face_facet,
							  .edges = c->mesh.edges,
							  .edge_segment = c->matched.edge_segment,
							  .segments = c->matched.segments,
							  .nregions = count_regions_of_existing_mesh(run, &c->mesh)};
}

/* Stores the ids that the tables use. */
static void
store_ids_of_mesh_to_refine(rb_meshing_run *run, const continuing *c)
{
	const uint32 n = c->mesh.n[RB_MESH_VERTICES];
	rb_meshing_names *names = MemoryContextAllocZero(GetMemoryChunkContext(run), sizeof *names);
	const uint32 nfaces = c->mesh.n[RB_MESH_FACES];
	uint32_t(*faces)[3] = rb_meshing_array(run, nfaces, sizeof *faces);
	uint32_t *face_facet = rb_meshing_array(run, nfaces, sizeof *face_facet);
	int64_t *facet = rb_meshing_array(run, c->matched.npolygons, sizeof *facet);
	int64_t *polygon = rb_meshing_array(run, c->matched.npolygons, sizeof *polygon);
	int64_t *segment_id = rb_meshing_array(run, c->matched.nsegments, sizeof *segment_id);
	int64_t *facet_id = rb_meshing_array(run, c->matched.nsegments, sizeof *facet_id);

	/* Copy these arrays, since refinement replaces them. */
	memcpy(faces, c->mesh.faces, (size_t) nfaces * sizeof *faces);
	memcpy(face_facet, c->matched.face_facet, (size_t) nfaces * sizeof *face_facet);
	for (uint32 i = 0; i < c->matched.npolygons; i++)
	{
		facet[i] = c->matched.polygons[i].id;
		polygon[i] = c->matched.polygons[i].polygon;
	}
	for (uint32 i = 0; i < c->matched.nsegments; i++)
		segment_id[i] = facet_id[i] = RB_MESH_NULL;
	/*
	 * The pieces of a segment should have the same ids. If a user has changed one of them, the last
	 * piece counts.
	 */
	for (uint32 i = 0; i < c->mesh.n[RB_MESH_EDGES]; i++)
	{
		segment_id[c->matched.edge_segment[i]] = c->mesh.segment_id[i];
		facet_id[c->matched.edge_segment[i]] = c->mesh.segment_facet[i];
	}
	*names = (rb_meshing_names){.npoints = n,
								.vertex = c->mesh.id[RB_MESH_VERTICES],
								.last_vertex = c->mesh.id[RB_MESH_VERTICES][n - 1],
								.polygons = {.npoints = n,
											 .ntriangles = nfaces,
											 .nfacets = c->matched.nfacets,
											 .triangles = (const uint32_t(*)[3]) faces,
											 .facet_of = face_facet,
											 .polygon_of = c->matched.face_polygon},
								.facet = facet,
								.polygon = polygon,
								.nsegments = c->matched.nsegments,
								.segment = c->matched.segment,
								.segment_id = segment_id,
								.facet_id = facet_id};
	run->one.names = names;
}

/* Connects the loaded tetrahedra and finds an open end of the boundary. */
static rb_status
connect_tets_to_refine(rb_meshing_run *run)
{
	continuing *c = run->arg;
	double start = 0;
	rb_status status;

	rb_meshing_stage(run, RB_MESH_CHECK, &start);
	status = rb_tets_connect(&run->ctx, run->one.names->polygons.nfacets, &run->one.tets);
	c->end = RB_NONE;
	if (status == RB_OK && c->report.count[RB_FAULT_BOUNDARY] > 0)
		status = rb_meshing_find_open_end(&run->ctx, &run->one.tets, &c->end);
	rb_meshing_stage(run, RB_MESH_REFINE, &start);
	return status;
}

/*
 * Raises a notice about volumes for regions that do not exist. They have no effect and may be a
 * mistake.
 */
static void
notice_regions(const rb_meshing_run *run, const rb_meshing_loaded *mesh, const char *name)
{
	const uint32 n = run->options.nregion_volumes;
	bool *seen = palloc0(n + (Size) 1);
	uint32 unknown = 0;
	uint32 first = 0;

	for (uint32 t = 0; t < mesh->n[RB_MESH_TETS] && n > 0; t++)
	{
		const rb_region_volume key = {mesh->region[t], 0};
		const rb_region_volume *found;

		if (t > 0 && mesh->region[t] == mesh->region[t - 1])
			continue;
		found =
			bsearch(&key, run->options.region_volumes, n, sizeof key, compare_regions_to_refine);
		if (found != NULL)
			seen[found - run->options.region_volumes] = true;
	}
	for (uint32 i = n; i-- > 0;)
		if (!seen[i])
		{
			unknown++;
			first = i;
		}
	if (unknown > 0)
		ereport(NOTICE,
				(errmsg_plural("%s: %u id in regions matches no tetrahedron of mesh \"%s\"",
							   "%s: %u ids in regions match no tetrahedron of mesh \"%s\"", unknown,
							   run->call->function, unknown, name),
				 errdetail("The first such id is " INT64_FORMAT ".",
						   run->options.region_volumes[first].region),
				 errhint("Identify regions of an existing mesh by their ids, not by points.")));
	pfree(seen);
}

/* Checks that ids are left for new vertices after the largest existing one. */
static void
check_free_vertex_ids(const rb_meshing_run *run, const char *name)
{
	const rb_meshing_names *names = run->one.names;
	const uint32 added = run->one.tets.npoints - names->npoints;

	if (names->last_vertex > PG_INT64_MAX - (int64) added)
		ereport(
			ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg(
				 "%s: too few vertex ids are left in mesh \"%s\", whose largest id is " INT64_FORMAT,
				 run->call->function, name, names->last_vertex),
			 errdetail_plural(
				 "The refined mesh needs %u id above the largest one, for its new vertex.",
				 "The refined mesh needs %u ids above the largest one, for its new vertices.",
				 added, added),
			 errhint(
				 "Renumber the vertices with the largest ids, in the table of vertices and in the tables "
				 "that refer to them.")));
}

/* Loads and checks an existing mesh and refines it. */
static void
continue_mesh(rb_meshing_run *run, const rb_meshing_table *tables, const char *name)
{
	continuing *c = MemoryContextAllocZero(GetMemoryChunkContext(run), sizeof *c);

	run->arg = c;
	rb_meshing_load(run, tables, &c->mesh);
	if (c->mesh.n[RB_MESH_TETS] == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s: mesh \"%s\" has no tetrahedra", run->call->function, name),
				 errdetail(
					 "Without facets, points and segments, the function refines an existing mesh."),
				 errhint("Specify at least one of these arguments to build a mesh.")));
	rb_meshing_check_max_points(run, c->mesh.n[RB_MESH_VERTICES]);
	rb_meshing_match(run, &c->mesh, &c->matched);
	rb_meshing_work(run, check_mesh_to_refine);
	refuse_faults(run, c, name);
	run->options.not_delaunay = c->report.count[RB_FAULT_NOT_DELAUNAY] > 0;
	set_mesh_to_refine(run, c);
	store_ids_of_mesh_to_refine(run, c);
	notice_regions(run, &c->mesh, name);
	rb_meshing_work(run, connect_tets_to_refine);
	refuse_mesh_with_open_end(run, c, name);
	refine_mesh_of_call(run);
	check_free_vertex_ids(run, name);
}

/* ---- the result row ---- */

/* Returns the counts and times of a refinement as a row. */
static Datum
make_refine_counts_row(FunctionCallInfo fcinfo, const rb_meshing_run *run, double fill_ms)
{
	const rb_meshing_sums s = rb_meshing_sum(run);
	const uint64 counts[] = {s.vertices,
							 s.tets,
							 s.faces,
							 s.edges,
							 s.added[RB_VERTEX_ON_SEGMENT],
							 s.added[RB_VERTEX_ON_FACET],
							 s.added[RB_VERTEX_ON_HULL],
							 s.added[RB_VERTEX_INSIDE],
							 s.crossings,
							 s.regions,
							 run->nparts,
							 s.bad,
							 s.because[RB_BAD_INPUT],
							 s.because[RB_BAD_SURFACE],
							 s.because[RB_BAD_FULL],
							 s.because[RB_BAD_TOO_FINE],
							 s.because[RB_BAD_ANGLE],
							 s.not_delaunay,
							 s.rounds};
	const double ms[] = {s.min_dihedral,
						 run->ms[RB_STAGE_READ] + run->ms[RB_MESH_LOAD],
						 run->ms[RB_MESH_WELD],
						 run->ms[RB_MESH_VALIDATE] + run->ms[RB_MESH_CHECK],
						 s.ms_points,
						 s.ms_segments,
						 s.ms_facets,
						 s.ms_regions,
						 run->ms[RB_MESH_REFINE],
						 fill_ms};

	return rb_meshing_counts_row(fcinfo, counts, lengthof(counts), ms, lengthof(ms));
}

/* ---- SQL functions ---- */

/* Refines a mesh, stores it and returns its counts. */
static Datum
return_refined_counts(FunctionCallInfo fcinfo, const char *function, bool query)
{
	MemoryContext caller;
	MemoryContext own;
	rb_arguments a;
	rb_meshing_table tables[RB_MESH_TABLES];
	rb_meshing_call *call;
	rb_meshing_run *run;
	bool continued;
	char *name;
	uint64 rows;
	double start;
	Datum result;

	caller = rb_call_enter();
	rb_meshing_arguments_bind(&a, function, ARGUMENTS, fcinfo->args);
	name = TextDatumGetCString(rb_argument_required(&a, "mesh"));
	call = rb_meshing_call_read(&a, fcinfo->flinfo, query, true);
	continued = is_existing_mesh_refined(call);
	if (continued)
		refuse_sides_to_refine(call);
	else
		rb_meshing_tables_name(tables, function, name, call->by_solid);
	if (!call->by_solid || rb_setting_backend == RB_CHOOSE_CUDA)
		rb_placement_prepare(function, call->source, call->sides);
	run = rb_meshing_open(call, CurrentMemoryContext);
	if (call->sides > 0)
		rb_meshing_read(run);
	read_options_to_refine(run);
	/*
	 * Create or lock the tables before the long work, but after reading the sides, which must not
	 * be these tables.
	 */
	if (continued)
	{
		rb_meshing_tables_continue(tables, function, name);
		continue_mesh(run, tables, name);
	}
	else
	{
		rb_meshing_tables_make(tables, function);
		make_refined_mesh(run);
	}
	start = rb_now_ms();
	rows = rb_meshing_fill(run, tables);
	rb_meshing_notices(run);
	rb_meshing_report(run, rows, rb_now_ms() - start);
	own = MemoryContextSwitchTo(caller);
	result = make_refine_counts_row(fcinfo, run, rb_now_ms() - start);
	MemoryContextDelete(own);
	return result;
}

#define RB_DEFINE(name, query)                              \
	extern Datum name(PG_FUNCTION_ARGS);                    \
	PG_FUNCTION_INFO_V1(name);                              \
	Datum name(PG_FUNCTION_ARGS)                            \
	{                                                       \
		return return_refined_counts(fcinfo, #name, query); \
	}

RB_DEFINE(redblue_refine, false)
RB_DEFINE(redblue_refine_query, true)
