/*
 * plc_faults.c
 *	  Reports as an ERROR why no mesh can be built from the rows.
 *
 * The core reports numbers of facets, segments and points (plc.h). They are translated back to
 * rows: the side, the id and, if the row has several polygons, which polygon it is.
 */
#include "pg/mesh/meshing.h"

#include "core/solid/solid.h"

/*
 * Returns the id of a row of facets, with the polygon if it has several, for a flaw found before
 * welding.
 */
static const char *
text_of_unwelded_flaw_facet(const rb_meshing_run *run, uint32 row, uint32 polygon)
{
	const rb_set *set = rb_meshing_set(run, RB_MESH_FACETS);

	if (set == NULL || row >= set->nrows)
		return "?";
	return polygon == RB_NONE || set->nparts == set->nrows
			   ? psprintf(INT64_FORMAT, rb_meshing_id(run, RB_MESH_FACETS, row))
			   : psprintf(INT64_FORMAT " (polygon %u)", rb_meshing_id(run, RB_MESH_FACETS, row),
						  polygon + 1);
}

/* Returns "12" or "12 (polygon 3)". */
static const char *
text_of_flaw_facet(const rb_meshing_run *run, uint32 a)
{
	const rb_welded *w = &run->part->welded;
	bool several;

	/* Before welding, `a` is a row, and the flaw contains the polygon as another number. */
	if (!run->part->is_welded)
		return text_of_unwelded_flaw_facet(run, a, run->part->flaw.b);
	if (a >= w->npolygons)
		return "?";
	several =
		w->facet_face[a] > 0 || (a + 1 < w->npolygons && w->facet_row[a + 1] == w->facet_row[a]);
	return several
			   ? psprintf(INT64_FORMAT " (polygon %u)",
						  rb_meshing_id(run, RB_MESH_FACETS, w->facet_row[a]), w->facet_face[a] + 1)
			   : psprintf(INT64_FORMAT, rb_meshing_id(run, RB_MESH_FACETS, w->facet_row[a]));
}

/* Returns "segment 17", or a description of a line that is not a row of segments. */
static const char *
text_of_flaw_segment(const rb_meshing_run *run, uint32 a)
{
	if (a >= run->part->welded.plc.nsegments)
		return "an edge of a facet";
	if (run->part->welded.segment_row[a] == RB_NONE)
		return "an edge where facets cross or meet";
	return psprintf("segment " INT64_FORMAT,
					rb_meshing_id(run, RB_MESH_SEGMENTS, run->part->welded.segment_row[a]));
}

/* Returns "point 5", "a vertex of facet 12" or "an endpoint of segment 3". */
static const char *
text_of_flaw_vertex(const rb_meshing_run *run, uint32 a)
{
	const rb_welded *w = &run->part->welded;

	if (a >= w->plc.npoints)
		return "a point";
	switch ((rb_weld_side) w->point_side[a])
	{
		case RB_WELD_FACETS:
			return psprintf("a vertex of facet " INT64_FORMAT,
							rb_meshing_id(run, RB_MESH_FACETS, w->point_row[a]));
		case RB_WELD_SEGMENTS:
			return psprintf("an endpoint of segment " INT64_FORMAT,
							rb_meshing_id(run, RB_MESH_SEGMENTS, w->point_row[a]));
		case RB_WELD_SPLIT:
			return "a point where facets cross";
		default:
			return psprintf("point " INT64_FORMAT,
							rb_meshing_id(run, RB_MESH_POINTS, w->point_row[a]));
	}
}

/* Returns true if a point of the PLC is a row of points or an endpoint of a segment. */
static bool
is_vertex_of_other_side(const rb_meshing_run *run, uint32 a)
{
	const rb_welded *w = &run->part->welded;

	return a < w->plc.npoints &&
		   (w->point_side[a] == RB_WELD_SEGMENTS || w->point_side[a] == RB_WELD_POINTS);
}

/*
 * Returns a suggestion to use on_crossing => 'split', which avoids the flaw without changes to the
 * rows, or "" if that is set already.
 */
static const char *
split_hint(const rb_meshing_run *run)
{
	return run->call->split ? "" : ", or use on_crossing => 'split'";
}

/*
 * Adds a hint on how to find the crossings. The join of rows does not report two facets of the same
 * row.
 */
static int
hint_crossings(const rb_meshing_run *run)
{
	const rb_welded *w = &run->part->welded;
	const rb_flaw *f = &run->part->flaw;
	const bool one_row =
		f->a < w->npolygons && f->b < w->npolygons && w->facet_row[f->a] == w->facet_row[f->b];

	return errhint("Facets may share only common vertices and edges.  Split them where they "
				   "intersect%s.  Use %s to list all intersections.",
				   split_hint(run),
				   one_row ? "redblue_part_self_intersections"
						   : "redblue_triangle_self_intersections");
}

/*
 * Returns how to subtract an offset from all coordinates, such as "ST_Translate(geom, -300, 0, 0)",
 * or NULL if doubles near the origin are not closer than those of the rows.
 */
static const char *
text_of_offset(const rb_plc *plc)
{
	double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
	double extent = 0, largest = 0;

	for (uint32 i = 0; i < plc->npoints; i++)
		for (int k = 0; k < 3; k++)
		{
			const double x = plc->points[3 * (size_t) i + k];

			low[k] = Min(low[k], x);
			high[k] = Max(high[k], x);
			largest = Max(largest, fabs(x));
		}
	for (int k = 0; k < 3; k++)
		extent = Max(extent, high[k] - low[k]);
	if (!(2 * extent < largest))
		return NULL;
	return psprintf("ST_Translate(geom, %.0f, %.0f, %.0f)", -floor(low[0]) + 0.0,
					-floor(low[1]) + 0.0, -floor(low[2]) + 0.0);
}

/*
 * Adds the detail of a flaw that is due to the spacing of doubles: the two facets, their gap, and
 * this spacing.
 */
static int
detail_gap(const rb_meshing_run *run, const char *at)
{
	const rb_facet_gap *g = &run->part->gap;

	if (g->spacing == 0)
		return errdetail("The fault is near %s.", at);
	if (g->polygon[0] == g->polygon[1])
		return errdetail(
			"Double precision coordinates are %g apart near %s, too far to represent a "
			"vertex that the mesh needs there.",
			g->spacing, at);
	return errdetail(
		"The smallest gap near %s is %g, between facets %s and %s, and double precision "
		"coordinates are %g apart there.",
		at, g->gap, text_of_flaw_facet(run, g->polygon[0]), text_of_flaw_facet(run, g->polygon[1]),
		g->spacing);
}

/* Adds the hint for a flaw that is due to the spacing of doubles. */
static int
hint_gap(const rb_meshing_run *run)
{
	const char *offset = text_of_offset(&run->part->welded.plc);

	if (offset == NULL)
		return run->call->split
				   ? errhint("Move these facets apart, or remove one of them.")
				   : errhint("Use on_crossing => 'split' to join vertices and facets that are too "
							 "close, or move them apart.");
	return errhint("Subtract a common offset from all coordinates, for example by %s%s.", offset,
				   run->call->split ? ""
									: ", or use on_crossing => 'split' to join vertices and "
									  "facets that are too close");
}

/*
 * Raises the ERROR for a flaw of one or two facets of the PLC: without area, folded, equal,
 * overlapping, crossing, or impossible to recover.
 */
pg_noreturn static void
raise_flaw_of_facets(const rb_meshing_run *run, const char *at)
{
	const rb_flaw *f = &run->part->flaw;
	const char *function = run->call->function;
	const int code = ERRCODE_INVALID_PARAMETER_VALUE;

	switch (f->kind)
	{
		case RB_FLAW_FACET_AREA:
			ereport(
				ERROR,
				(errcode(code),
				 errmsg("%s: facet %s has no area", function, text_of_flaw_facet(run, f->a)),
				 errdetail("The vertices of a triangle of the facet near %s lie on one line.", at),
				 errhint("Remove the facet.")));
			break;
		case RB_FLAW_FACET_FOLDED:
			ereport(ERROR, (errcode(code),
							errmsg("%s: facet %s is not a simple polygon", function,
								   text_of_flaw_facet(run, f->a)),
							errdetail("Its ring crosses or overlaps itself near %s.", at),
							errhint("Split the facet into simple polygons.")));
			break;
		case RB_FLAW_FACETS_EQUAL:
			ereport(
				ERROR,
				(errcode(code),
				 errmsg("%s: facets %s and %s have a triangle in common", function,
						text_of_flaw_facet(run, f->a), text_of_flaw_facet(run, f->b)),
				 errdetail("The fault is near %s.", at),
				 run->call->split
					 ? errhint("Remove one of them.")
					 : errhint(
						   "Use on_crossing => 'split' to keep one of the two, as is needed for "
						   "adjacent solids that share a face, or remove one of them.")));
			break;
		case RB_FLAW_FACETS_OVERLAP:
			ereport(ERROR, (errcode(code),
							errmsg("%s: facets %s and %s overlap", function,
								   text_of_flaw_facet(run, f->a), text_of_flaw_facet(run, f->b)),
							errdetail("The facets are coplanar and overlap near %s.", at),
							hint_crossings(run)));
			break;
		case RB_FLAW_FACETS_CROSS:
			ereport(
				ERROR,
				(errcode(code),
				 errmsg("%s: facets %s and %s cross", function, text_of_flaw_facet(run, f->a),
						text_of_flaw_facet(run, f->b)),
				 errdetail(
					 "The facets share points near %s that do not belong to a common vertex or edge.",
					 at),
				 hint_crossings(run)));
			break;
		default:
			ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
							errmsg("%s: could not recover facet %s as faces of tetrahedra",
								   function, text_of_flaw_facet(run, f->a)),
							detail_gap(run, at), hint_gap(run)));
	}
	pg_unreachable();
}

/*
 * Returns a text such as "12 (polygon 3)". When an existing mesh is refined, the ids are those in
 * its tables.
 */
static const char *
text_of_wrong_mesh_facet(const rb_meshing_run *run, uint32 a)
{
	const rb_meshing_names *names = run->part->names;

	if (names == NULL)
		return text_of_flaw_facet(run, a);
	/* Use the first of several polygons that form one facet. */
	for (uint32 t = 0; t < names->polygons.ntriangles; t++)
		if (names->polygons.facet_of[t] == a)
			return psprintf(INT64_FORMAT " (polygon " INT64_FORMAT ")",
							names->facet[names->polygons.polygon_of[t]],
							names->polygon[names->polygons.polygon_of[t]]);
	return "?";
}

/* Adds the hint for a wrong mesh: to use the triangles of the facets instead. */
static int
hint_triangles(void)
{
	return errhint("Use the triangles of the facets instead: SELECT (f).face, (f).part, "
				   "(f).geom FROM (SELECT redblue_faces(geom) AS f FROM ...) t.  Please "
				   "report this as a bug.");
}

/* Raises an error about an edge at which the hull of a refined mesh is not convex. */
pg_noreturn static void
raise_reflex_edge(const rb_meshing_run *run, const char *at)
{
	const rb_flaw *f = &run->part->flaw;

	ereport(ERROR,
			(errcode(ERRCODE_DATA_EXCEPTION),
			 errmsg("%s: the hull of the mesh is not convex at an edge", run->call->function),
			 errdetail("The middle of the edge is at %s.  The edge is %g deep, but rounding of "
					   "coordinates explains at most %g.",
					   at, f->amount, f->limit),
			 errhint("Please report this as a bug.")));
}

/*
 * Raises an error about a flaw of a mesh that was built from rows but is incorrect: a vertex off
 * its facet, or a volume that differs.
 */
pg_noreturn static void
raise_flaw_of_built_mesh(const rb_meshing_run *run, const char *at)
{
	const rb_flaw *f = &run->part->flaw;
	const char *function = run->call->function;
	const char *name = text_of_wrong_mesh_facet(run, f->a);

	if (f->kind == RB_FLAW_OFF_FACET)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("%s: a vertex of the mesh is off facet %s", function, name),
				 errdetail("The vertex added at %s is %g away from the facet, but rounding of "
						   "coordinates explains at most %g.",
						   at, f->amount, f->limit),
				 hint_triangles()));
	ereport(ERROR,
			(errcode(ERRCODE_DATA_EXCEPTION),
			 errmsg("%s: volume of the mesh differs from the volume that its facets enclose "
					"in region " INT64_FORMAT,
					function, f->region),
			 errdetail("The facets enclose %.17g, and the volume of the tetrahedra differs by "
					   "%g, but rounding of coordinates explains at most %g.  Most of the "
					   "difference is at facet %s.",
					   f->volume, f->amount, f->limit, name),
			 hint_triangles()));
	pg_unreachable();
}

void
rb_meshing_raise_flaw(const rb_meshing_run *run)
{
	const rb_flaw *f = &run->part->flaw;
	const rb_facet_gap *g = &run->part->gap;
	const char *function = run->call->function;
	const char *at = rb_point_text(f->at);
	const int code = ERRCODE_INVALID_PARAMETER_VALUE;

	switch (f->kind)
	{
		case RB_FLAW_NO_VOLUME:
			if (run->part->welded.plc.npoints < 4)
				ereport(
					ERROR,
					(errcode(code), errmsg("%s: too few distinct points", function),
					 errdetail("The number of distinct points, including vertices of facets and "
							   "endpoints of segments, is %u.",
							   run->part->welded.plc.npoints),
					 errhint("Specify at least four points that do not lie in one plane.")));
			ereport(ERROR, (errcode(code), errmsg("%s: all points lie in one plane", function),
							errdetail("The number of distinct points is %u.",
									  run->part->welded.plc.npoints),
							errhint("Specify at least four points that do not lie in one plane.")));
			break;
		case RB_FLAW_SEGMENT_FACET:
			ereport(
				ERROR,
				(errcode(code),
				 errmsg("%s: %s and facet %s cross", function, text_of_flaw_segment(run, f->a),
						text_of_flaw_facet(run, f->b)),
				 errdetail("They share a point near %s that is not a vertex of both.", at),
				 errhint(
					 "Split both there%s.  Use redblue_segment_triangle_contacts to list all pairs.",
					 split_hint(run))));
			break;
		case RB_FLAW_SEGMENTS_CROSS:
			ereport(ERROR,
					(errcode(code),
					 errmsg("%s: %s and %s cross", function, text_of_flaw_segment(run, f->a),
							text_of_flaw_segment(run, f->b)),
					 errdetail("They share a point near %s that is not an endpoint of both.", at),
					 errhint("Split both there%s.", split_hint(run))));
			break;
		case RB_FLAW_POINT_IN_FACET:
			ereport(ERROR, (errcode(code),
							errmsg("%s: %s lies on facet %s", function,
								   text_of_flaw_vertex(run, f->a), text_of_flaw_facet(run, f->b)),
							errdetail("The point is at %s and is not a vertex of the facet.", at),
							errhint("Make the point a vertex of the facet, or remove the point%s.",
									split_hint(run))));
			break;
		case RB_FLAW_POINT_ON_SEGMENT:
			ereport(ERROR,
					(errcode(code),
					 errmsg("%s: %s lies on %s", function, text_of_flaw_vertex(run, f->a),
							text_of_flaw_segment(run, f->b)),
					 errdetail("The point is at %s and is not an endpoint of the segment.", at),
					 errhint("Split the segment there%s.", split_hint(run))));
			break;
		case RB_FLAW_TOO_NEAR:
			if (g->polygon[0] != g->polygon[1] && !is_vertex_of_other_side(run, f->a))
				ereport(ERROR, (errcode(code),
								errmsg("%s: cannot insert a vertex between facets %s and %s",
									   function, text_of_flaw_facet(run, g->polygon[0]),
									   text_of_flaw_facet(run, g->polygon[1])),
								detail_gap(run, at), hint_gap(run)));
			ereport(ERROR, (errcode(code),
							errmsg("%s: cannot insert a vertex near %s", function,
								   text_of_flaw_vertex(run, f->a)),
							detail_gap(run, at), hint_gap(run)));
			break;
		case RB_FLAW_TOO_MANY_POINTS:
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("%s: the mesh needs more than %u vertices", function,
							run->part->welded.plc.max_points),
					 errdetail("The facets and segments have %u points after they were split where "
							   "they cross.  The last vertex was needed at %s.",
							   run->part->welded.plc.npoints, at),
					 errhint("Move the vertices near there apart, or remove facets that nearly "
							 "coincide.")));
			break;
		case RB_FLAW_OFF_FACET:
		case RB_FLAW_VOLUME:
			raise_flaw_of_built_mesh(run, at);
			break;
		case RB_FLAW_NOT_CONVEX:
			raise_reflex_edge(run, at);
			break;
		case RB_FLAW_NOT_REBUILT:
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("%s: the mesh is not Delaunay and cannot be built again", function),
					 errdetail(
						 "With its vertices, segments and facets, a constrained Delaunay mesh %s.",
						 run->options.keep_surface
							 ? "needs vertices on its surface, which keep_surface forbids, or more "
							   "than max_points allows"
							 : "needs more vertices than max_points or the spacing of doubles "
							   "allows"),
					 run->options.keep_surface
						 ? errhint("Set keep_surface to false, or refine the mesh from its rows.")
						 : errhint("Raise max_points, or refine the mesh from its rows.")));
			break;
		case RB_FLAW_LOST_POINT:
			ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
							errmsg("%s: a vertex of the mesh belongs to no tetrahedron", function),
							errdetail("The vertex is at %s.", at),
							errhint("Please report this as a bug.")));
			break;
		case RB_FLAW_NONE:
			elog(ERROR, "%s: mesh generation failed without a reason", function);
			break;
		default:
			raise_flaw_of_facets(run, at);
	}
	pg_unreachable();
}

const char *
rb_meshing_flaw_name(const rb_meshing_part *part)
{
	if (part->unread.fault != RB_GEOMETRY_OK)
		return rb_refusal_name(part->unread.fault);
	return part->flaw.kind == RB_FLAW_NONE ? "more points than max_points"
										   : rb_flaw_name(part->flaw.kind);
}

void
rb_meshing_check_max_points(const rb_meshing_run *run, uint64 points)
{
	if (run->options.max_points > 0 && run->options.max_points < points)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s: argument \"max_points\" is " UINT64_FORMAT
					", but the input has " UINT64_FORMAT " points",
					run->call->function, run->options.max_points, points),
			 errdetail(
				 "The argument is the maximum number of vertices, including those of the input."),
			 errhint("Increase max_points, or use NULL for no limit.")));
}
