/*
 * files.c
 *	  Implements redblue_mesh_vtu, redblue_mesh_ogs, redblue_mesh_gmsh, redblue_mesh_xdmf and
 *	  redblue_mesh_abaqus, which return the tables of a mesh as the bytes of a file, and
 *	  redblue_mesh_to_geometry (redblue_postgis), which returns the surface of each region as a TIN.
 */
#include "pg/exec/exec.h"
#include "pg/mesh/meshing.h"

#include "mb/pg_wchar.h"
#include "mesh/formats.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

/* Maximum size of a value */
#define MAX_FILE_BYTES ((uint64) MaxAllocSize - VARHDRSZ)

/* A kind of file, which an SQL function returns */
typedef struct file_format
{
	const char *function;
	const char *argument; /* Argument that only this function has, or the empty text */
	rb_status (*write)(rb_context *ctx, const rb_mesh_rows *rows, rb_buffer *to);
	/*
	 * Function that writes the faces instead of the tetrahedra, for part => 'facets', or NULL if
	 * the SQL function has no such argument
	 */
	rb_status (*write_facets)(rb_context *ctx, const rb_mesh_rows *rows, rb_buffer *to);
	/* Lower bound, or nearly, of the file's size in bytes, or NULL if it is not known in advance */
	uint64_t (*bytes)(const rb_mesh_rows *rows);
	bool quality; /* The file contains the quality of tetrahedra */
} file_format;

typedef struct writing
{
	rb_status (*write)(rb_context *ctx, const rb_mesh_rows *rows, rb_buffer *to);
	rb_mesh_rows rows;
	bool split_faults;   /* True to double the vertices along faults */
	rb_mesh_split split; /* Arrays of the mesh with doubled vertices */
	int64_t surface;     /* Id of the group of faces, if only these are written */
	double *quality[2];  /* radius_edge and min_dihedral of each tetrahedron */
	rb_buffer file;
} writing;

/* Measures the shape of the tetrahedra, which the file contains as data of its cells. */
static rb_status
measure_tets_for_file(rb_meshing_run *run, writing *w)
{
	for (uint32_t i = 0; i < w->rows.ntets; i++)
	{
		const double *p[4];
		rb_tet_quality quality;

		for (int k = 0; k < 4; k++)
			p[k] = w->rows.points + 3 * (size_t) w->rows.tets[i][k];
		rb_tet_measure(p[0], p[1], p[2], p[3], &quality);
		w->quality[0][i] = quality.radius_edge;
		w->quality[1][i] = quality.min_dihedral;
		if (rb_stop_due(&run->ctx, i, 4096))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* Writes the bytes of the file on the helper thread. */
static rb_status
write_file(rb_meshing_run *run)
{
	writing *w = run->arg;
	double start = 0;
	rb_status status;

	rb_meshing_stage(run, RB_MESH_FILL, &start);
	status = w->quality[0] == NULL ? RB_OK : measure_tets_for_file(run, w);
	if (status == RB_OK && w->split_faults)
	{
		const rb_mesh_rows rows = w->rows;

		status = rb_mesh_split_faults(&run->ctx, &rows, &w->split, &w->rows);
	}
	if (status == RB_OK)
		status = w->write(&run->ctx, &w->rows, &w->file);
	rb_mesh_split_free(run->ctx.memory, &w->split);
	rb_meshing_stage(run, RB_MESH_FILL, &start);
	return status;
}

/* Raises an ERROR if the file exceeds the largest value. */
static void
refuse_oversized_file(const rb_meshing_run *run, uint64 bytes)
{
	if (bytes > MAX_FILE_BYTES)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("%s: the file would be too large", run->call->function),
						errdetail("The file has " UINT64_FORMAT
								  " bytes, but a value can hold at most " UINT64_FORMAT ".",
								  bytes, MAX_FILE_BYTES),
						errhint("Export the tables with COPY instead.")));
}

/*
 * Raises an error if a corner of a mesh that is written to a file is not a vertex. `corners` holds
 * n corners for each row of the table.
 */
static void
check_corners_for_file(const rb_meshing_run *run, const rb_meshing_table *t,
					   const rb_meshing_loaded *mesh, const uint32_t *corners, int n)
{
	for (size_t i = 0; i < (size_t) n * mesh->n[t->kind]; i++)
		if (corners[i] == RB_NONE)
			ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
							errmsg("%s: row with id " INT64_FORMAT
								   " of table %s refers to a vertex that does not exist",
								   run->call->function, mesh->id[t->kind][i / n], t->quoted),
							errhint("Run redblue_mesh_check for a full report.")));
}

/* Finds the tables of a mesh and opens a run without sides. */
static rb_meshing_run *
open_run_of_mesh_tables(const char *function, const char *name, rb_meshing_table *tables)
{
	rb_meshing_call *call = palloc0(sizeof *call);

	call->function = function;
	for (int i = 0; i < RB_MESH_SIDES; i++)
		call->at[i] = -1;
	rb_meshing_tables_find(tables, function, name);
	return rb_meshing_open(call, CurrentMemoryContext);
}

/* ---- files ---- */

/* The sides whose columns can be labels, and the tables of the mesh that refer to them by ids */
static const char *const label_sides[] = {"facets", "regions"};
static const rb_meshing_kind labeled[] = {RB_MESH_FACES, RB_MESH_TETS};

/*
 * Reads the arguments of a file function about the labels of faces or tetrahedra: their rows, id
 * and column.
 */
static rb_meshing_label_source
read_file_label_arguments(const rb_arguments *a, int i)
{
	const char *side = label_sides[i];
	const char *group = psprintf("%s_group", side);
	const char *id = psprintf("%s_id", side);
	const NullableDatum *rows = rb_argument(a, side);
	rb_meshing_label_source from = {.side = side};

	from.column = rb_argument_column(
		a, group, psprintf("Specify the name of a column of %s or of the mesh.", side));
	from.id_name = rb_argument_column(a, id, NULL);
	if (!rows->isnull)
		from.relid = DatumGetObjectId(rows->value);
	if (from.column == NULL && (!rows->isnull || from.id_name != NULL))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: argument \"%s\" requires argument \"%s\"", a->function,
						rows->isnull ? id : side, group),
				 errhint("Use %s => ... to name the column whose values are the groups.", group)));
	if (rows->isnull && from.id_name != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: argument \"%s\" requires argument \"%s\"", a->function, id, side)));
	return from;
}

/* Returns the id of the group of faces that is named by the argument "surface". */
static int64
read_surface(const rb_arguments *a, const rb_meshing_loaded *mesh, const rb_mesh_labels *labels)
{
	const char *name = TextDatumGetCString(rb_argument(a, "surface")->value);
	const char *text = pg_server_to_any(name, (int) strlen(name), PG_UTF8);
	char *end;
	int64 id;

	for (uint32 i = 0; labels != NULL && i < labels->n; i++)
		if (strcmp(labels->text[i], text) == 0)
			return labels->id[i];
	errno = 0;
	id = strtoll(text, &end, 10);
	if (labels == NULL && end != text && *end == '\0' && errno == 0)
		for (uint32 i = 0; i < mesh->n[RB_MESH_FACES]; i++)
			if (mesh->facet_id[i] == id)
				return id;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s: no face of the mesh belongs to surface \"%s\"", a->function, name),
			 labels != NULL ? errdetail("A surface is named by a value of the facets_group column.")
							: errdetail("A surface is named by its facet_id."),
			 labels != NULL ? 0
							: errhint("Use facets_group => ... to name surfaces by the values of a "
									  "column.")));
	return 0;
}

/* Loads a mesh and returns it as a file. */
static Datum
return_file(FunctionCallInfo fcinfo, const file_format *format)
{
	MemoryContext caller;
	rb_arguments a;
	rb_meshing_table tables[RB_MESH_TABLES];
	rb_meshing_label_source from[lengthof(label_sides)];
	const rb_mesh_labels *labels[lengthof(label_sides)];
	rb_meshing_loaded mesh;
	rb_meshing_run *run;
	writing *w;
	bytea *file;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	caller = rb_call_enter();
	rb_arguments_bind(&a, format->function,
					  psprintf("mesh %s * *_id *_group split_faults", format->argument),
					  label_sides, lengthof(label_sides), fcinfo->args);
	for (int i = 0; i < (int) lengthof(label_sides); i++)
		from[i] = read_file_label_arguments(&a, i);
	w = palloc0(sizeof *w);
	w->write = format->write_facets != NULL && rb_argument_choice(&a, "part", "tets", "facets")
				   ? format->write_facets
				   : format->write;
	run = open_run_of_mesh_tables(format->function, text_to_cstring(PG_GETARG_TEXT_PP(0)), tables);
	rb_meshing_load(run, tables, &mesh);
	check_corners_for_file(run, &tables[RB_MESH_TETS], &mesh, mesh.tets[0], 4);
	check_corners_for_file(run, &tables[RB_MESH_FACES], &mesh, mesh.faces[0], 3);
	for (int i = 0; i < (int) lengthof(label_sides); i++)
		labels[i] = from[i].column == NULL ? NULL
										   : rb_meshing_labels_read(run, &tables[labeled[i]],
																	&from[i], mesh.n[labeled[i]]);
	w->rows = (rb_mesh_rows){.npoints = mesh.n[RB_MESH_VERTICES],
							 .ntets = mesh.n[RB_MESH_TETS],
							 .nfaces = mesh.n[RB_MESH_FACES],
							 .points = mesh.points,
							 .kind = mesh.kind,
							 .parent = mesh.parent_id,
							 .tets = (const uint32_t(*)[4]) mesh.tets,
							 .region = mesh.region,
							 .faces = (const uint32_t(*)[3]) mesh.faces,
							 .facet = mesh.facet_id,
							 .facet_labels = labels[0],
							 .region_labels = labels[1]};
	w->split_faults = !rb_argument(&a, "split_faults")->isnull &&
					  DatumGetBool(rb_argument(&a, "split_faults")->value);
	if (!rb_argument(&a, "surface")->isnull)
	{
		w->surface = read_surface(&a, &mesh, labels[0]);
		w->rows.surface = &w->surface;
	}
	for (int i = 0; i < 2 && format->quality; i++)
		w->quality[i] = rb_meshing_array(run, w->rows.ntets, sizeof(double));
	w->rows.radius_edge = w->quality[0];
	w->rows.min_dihedral = w->quality[1];
	if (format->bytes != NULL)
		refuse_oversized_file(run, format->bytes(&w->rows));
	run->arg = w;
	rb_meshing_work(run, write_file);
	refuse_oversized_file(run, w->file.n);
	file = MemoryContextAlloc(caller, w->file.n + VARHDRSZ);
	SET_VARSIZE(file, w->file.n + VARHDRSZ);
	memcpy(VARDATA(file), w->file.bytes, w->file.n);
	rb_call_leave(caller);
	PG_RETURN_BYTEA_P(file);
}

/* Returns the size of the file of redblue_mesh_gmsh without its groups. */
static uint64_t
size_of_gmsh_file(const rb_mesh_rows *rows)
{
	return rb_mesh_gmsh_bytes(rows, 0, 0);
}

#define RB_DEFINE(name, ...)                                    \
	extern Datum name(PG_FUNCTION_ARGS);                        \
	PG_FUNCTION_INFO_V1(name);                                  \
	Datum name(PG_FUNCTION_ARGS)                                \
	{                                                           \
		static const file_format format = {#name, __VA_ARGS__}; \
                                                                \
		return return_file(fcinfo, &format);                    \
	}

RB_DEFINE(redblue_mesh_vtu, "", rb_mesh_vtu, NULL, rb_mesh_vtu_bytes, true)
RB_DEFINE(redblue_mesh_ogs, "surface", rb_mesh_ogs, NULL, NULL, false)
RB_DEFINE(redblue_mesh_gmsh, "", rb_mesh_gmsh, NULL, size_of_gmsh_file, false)
RB_DEFINE(redblue_mesh_xdmf, "part", rb_mesh_xdmf, rb_mesh_xdmf_facets, NULL, false)
RB_DEFINE(redblue_mesh_abaqus, "", rb_mesh_abaqus, NULL, NULL, false)

/* ---- surfaces as geometries ---- */

static const char *const function_name = "redblue_mesh_to_geometry";

typedef struct surfaces
{
	rb_mesh_rows rows;
	rb_surface_face *faces;
	uint64_t n;
} surfaces;

/* Finds the boundary faces of all regions on the helper thread. */
static rb_status
find_surface_faces(rb_meshing_run *run)
{
	surfaces *s = run->arg;
	double start = 0;
	rb_status status;

	rb_meshing_stage(run, RB_MESH_FILL, &start);
	status = rb_mesh_surface(&run->ctx, &s->rows, &s->faces, &s->n);
	rb_meshing_stage(run, RB_MESH_FILL, &start);
	return status;
}

/* Writes the TIN of one region, whose faces are [from, to). */
static Datum
write_region(const surfaces *s, uint64_t from, uint64_t to, int32 srid)
{
	rb_writer w;

	if (to - from > PG_INT32_MAX)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("%s: geometry is larger than 1 GB", function_name)));
	rb_write_begin(&w, function_name, srid, true);
	rb_write_node(&w, RB_TYPE_TIN, (uint32) (to - from));
	for (uint64_t i = from; i < to; i++)
	{
		if (i % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
		rb_write_node(&w, RB_TYPE_TRIANGLE, 4);
		for (int k = 0; k < 4; k++)
			rb_write_point(&w, s->rows.points + 3 * (Size) s->faces[i].corner[k % 3]);
	}
	return rb_write_end(&w);
}

/* Writes one result row of redblue_mesh_to_geometry for the surface of each region. */
static void
store_region_surfaces(const surfaces *s, int32 srid, ReturnSetInfo *result)
{
	MemoryContext row =
		AllocSetContextCreate(CurrentMemoryContext, "redblue region", ALLOCSET_DEFAULT_SIZES);

	for (uint64_t from = 0, to; from < s->n; from = to)
	{
		MemoryContext old = MemoryContextSwitchTo(row);
		bool nulls[2] = {false, false};
		Datum values[2];

		CHECK_FOR_INTERRUPTS();
		for (to = from + 1; to < s->n && s->faces[to].region == s->faces[from].region; to++)
			;
		values[0] = Int64GetDatum(s->faces[from].region);
		values[1] = write_region(s, from, to, srid);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
		MemoryContextSwitchTo(old);
		MemoryContextReset(row);
	}
}

PG_FUNCTION_INFO_V1(redblue_mesh_to_geometry);

Datum
redblue_mesh_to_geometry(PG_FUNCTION_ARGS)
{
	const int32 srid = PG_GETARG_INT32(1);
	MemoryContext caller;
	rb_meshing_table tables[RB_MESH_TABLES];
	rb_meshing_loaded mesh;
	rb_meshing_run *run;
	surfaces *s;

	if (srid < 0 || srid > 999999)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s: invalid value for argument \"srid\": %d", function_name, srid),
						errdetail("The SRID must be between 0 (unknown) and 999999.")));
	InitMaterializedSRF(fcinfo, 0);
	caller = rb_call_enter();
	s = palloc0(sizeof *s);
	run = open_run_of_mesh_tables(function_name, text_to_cstring(PG_GETARG_TEXT_PP(0)), tables);
	rb_meshing_load(run, tables, &mesh);
	check_corners_for_file(run, &tables[RB_MESH_TETS], &mesh, mesh.tets[0], 4);
	s->rows = (rb_mesh_rows){.npoints = mesh.n[RB_MESH_VERTICES],
							 .ntets = mesh.n[RB_MESH_TETS],
							 .points = mesh.points,
							 .tets = (const uint32_t(*)[4]) mesh.tets,
							 .region = mesh.region};
	run->arg = s;
	rb_meshing_work(run, find_surface_faces);
	store_region_surfaces(s, srid, (ReturnSetInfo *) fcinfo->resultinfo);
	rb_call_leave(caller);
	return (Datum) 0;
}
