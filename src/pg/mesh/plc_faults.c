/*
 * plc_faults.c
 *	  Reports as an ERROR why no mesh can be built from the rows.
 *
 * The core reports numbers of facets, segments and points (plc.h). They are translated back to
 * rows: the side, the id and, if the row has several polygons, which polygon it is.
 */
#include "pg/mesh/meshing.h"

#include "core/solid/solid.h"
#include "utils/float.h"

static const char *
place(const double *at)
{
	return psprintf("(%s %s %s)", float8out_internal(at[0]), float8out_internal(at[1]),
					float8out_internal(at[2]));
}

static const char *
facet_of_row(const rb_meshing_run *run, uint32 row, uint32 polygon)
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
facet(const rb_meshing_run *run, uint32 a)
{
	const rb_welded *w = &run->part->welded;
	bool several;

	/* Before welding, `a` is a row, and the flaw contains the polygon as another number. */
	if (!run->part->is_welded)
		return facet_of_row(run, a, run->part->flaw.b);
	if (a >= w->npolygons)
		return "?";
	several =
		w->facet_face[a] > 0 || (a + 1 < w->npolygons && w->facet_row[a + 1] == w->facet_row[a]);
	return several
			   ? psprintf(INT64_FORMAT " (polygon %u)",
						  rb_meshing_id(run, RB_MESH_FACETS, w->facet_row[a]), w->facet_face[a] + 1)
			   : psprintf(INT64_FORMAT, rb_meshing_id(run, RB_MESH_FACETS, w->facet_row[a]));
}

/* Returns "segment 17", or a description of a line that is no row of segments. */
static const char *
segment(const rb_meshing_run *run, uint32 a)
{
	if (a >= run->part->welded.plc.nsegments)
		return "an edge of a facet";
	if (run->part->welded.segment_row[a] == RB_NONE)
		return "a line in which facets cross or bend";
	return psprintf("segment " INT64_FORMAT,
					rb_meshing_id(run, RB_MESH_SEGMENTS, run->part->welded.segment_row[a]));
}

/* Returns "point 5", "a corner of facet 12" or "an end of segment 3". */
static const char *
point(const rb_meshing_run *run, uint32 a)
{
	const rb_welded *w = &run->part->welded;

	if (a >= w->plc.npoints)
		return "a point";
	switch ((rb_weld_side) w->point_side[a])
	{
		case RB_WELD_FACETS:
			return psprintf("a corner of facet " INT64_FORMAT,
							rb_meshing_id(run, RB_MESH_FACETS, w->point_row[a]));
		case RB_WELD_SEGMENTS:
			return psprintf("an end of segment " INT64_FORMAT,
							rb_meshing_id(run, RB_MESH_SEGMENTS, w->point_row[a]));
		case RB_WELD_SPLIT:
			return "a point where facets cross";
		default:
			return psprintf("point " INT64_FORMAT,
							rb_meshing_id(run, RB_MESH_POINTS, w->point_row[a]));
	}
}

/*
 * Returns a suggestion to use on_crossing => 'split', which avoids the flaw without changes to the
 * rows, or "" if that is set already.
 */
static const char *
or_split(const rb_meshing_run *run)
{
	return run->call->split ? "" : "; on_crossing => 'split' does so";
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

	return errhint(
		"Facets may meet in corners and edges that both have, and nowhere else: cut them "
		"there%s.  %s shows all that do.",
		or_split(run),
		one_row ? "redblue_part_self_intersections" : "redblue_triangle_self_intersections");
}

pg_noreturn static void
raise_of_facet(const rb_meshing_run *run, const char *at)
{
	const rb_flaw *f = &run->part->flaw;
	const char *function = run->call->function;
	const int code = ERRCODE_INVALID_PARAMETER_VALUE;

	switch (f->kind)
	{
		case RB_FLAW_FACET_AREA:
			ereport(ERROR,
					(errcode(code), errmsg("%s: facet %s has no area", function, facet(run, f->a)),
					 errdetail("A triangle of it near %s has its corners on one line.", at),
					 errhint("Leave it out.")));
			break;
		case RB_FLAW_FACET_FOLDED:
			ereport(ERROR, (errcode(code),
							errmsg("%s: facet %s is no simple polygon", function, facet(run, f->a)),
							errdetail("Near %s its ring crosses itself, or runs over itself.", at),
							errhint("Cut it into polygons that do neither.")));
			break;
		case RB_FLAW_FACETS_EQUAL:
			ereport(ERROR, (errcode(code),
							errmsg("%s: facets %s and %s have a triangle in common", function,
								   facet(run, f->a), facet(run, f->b)),
							errdetail("It is near %s.", at),
							run->call->split
								? errhint("Leave one of them out.")
								: errhint("on_crossing => 'split' keeps one of the two, as bodies "
										  "beside each other need that share a face; or leave one "
										  "of them out.")));
			break;
		case RB_FLAW_FACETS_OVERLAP:
			ereport(ERROR, (errcode(code),
							errmsg("%s: facets %s and %s overlap", function, facet(run, f->a),
								   facet(run, f->b)),
							errdetail("They lie in one plane, and on each other near %s.", at),
							hint_crossings(run)));
			break;
		case RB_FLAW_FACETS_CROSS:
			ereport(
				ERROR,
				(errcode(code),
				 errmsg("%s: facets %s and %s cross", function, facet(run, f->a), facet(run, f->b)),
				 errdetail("They share points near %s, which are no common corner or edge.", at),
				 hint_crossings(run)));
			break;
		case RB_FLAW_NOT_CUT:
			ereport(
				ERROR,
				(errcode(code),
				 errmsg("%s: facet %s crosses others and could not be cut", function,
						facet(run, f->a)),
				 errdetail("Of the %u points on a triangle of it, two near %s are %s apart, and "
						   "rounding of their coordinates makes its edges cross each other.",
						   f->b, at, psprintf("%.3g", f->amount)),
				 errhint("Round the coordinates of all facets to a grid that is coarser than "
						 "that (with PostGIS: ST_SnapToGrid), or leave the facet out.")));
			break;
		default:
			ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
							errmsg("%s: facet %s could not be made of faces of tetrahedra",
								   function, facet(run, f->a)),
							errdetail("It is near %s.", at),
							errhint("Cut it into smaller ones, or move its corners apart from "
									"others that are very near.")));
	}
	pg_unreachable();
}

/* Returns "12 (polygon 3)", with the ids in the tables for a mesh that is continued. */
static const char *
facet_of_mesh(const rb_meshing_run *run, uint32 a)
{
	const rb_meshing_names *names = run->part->names;

	if (names == NULL)
		return facet(run, a);
	/* Use the first of several polygons that form one facet. */
	for (uint32 t = 0; t < names->polygons.ntriangles; t++)
		if (names->polygons.facet_of[t] == a)
			return psprintf(INT64_FORMAT " (polygon " INT64_FORMAT ")",
							names->facet[names->polygons.polygon_of[t]],
							names->polygon[names->polygons.polygon_of[t]]);
	return "?";
}

static int
hint_triangles(void)
{
	return errhint(
		"Give the triangles of the facets instead: SELECT (f).face, (f).part, (f).geom FROM "
		"(SELECT redblue_faces(geom) AS f FROM ...) t.  And please report this.");
}

/* Raises an error about a mesh that was built but is wrong. */
pg_noreturn static void
raise_wrong_mesh(const rb_meshing_run *run, const char *at)
{
	const rb_flaw *f = &run->part->flaw;
	const char *function = run->call->function;
	const char *name = facet_of_mesh(run, f->a);

	if (f->kind == RB_FLAW_OFF_FACET)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
						errmsg("%s: the mesh leaves facet %s", function, name),
						errdetail("A point added on it at %s is %g off the facet; rounding of "
								  "coordinates explains %g.",
								  at, f->amount, f->limit),
						hint_triangles()));
	ereport(
		ERROR,
		(errcode(ERRCODE_DATA_EXCEPTION),
		 errmsg("%s: the mesh has another volume than its facets enclose, region " INT64_FORMAT,
				function, f->region),
		 errdetail("Its facets enclose %.17g, and its tetrahedra have %g more than that; rounding "
				   "of coordinates explains %g.  Most of it is at facet %s.",
				   f->volume, f->amount, f->limit, name),
		 hint_triangles()));
	pg_unreachable();
}

void
rb_meshing_raise_flaw(const rb_meshing_run *run)
{
	const rb_flaw *f = &run->part->flaw;
	const char *function = run->call->function;
	const char *at = place(f->at);
	const int code = ERRCODE_INVALID_PARAMETER_VALUE;

	switch (f->kind)
	{
		case RB_FLAW_NO_VOLUME:
			if (run->part->welded.plc.npoints < 4)
				ereport(ERROR,
						(errcode(code), errmsg("%s: there are too few points", function),
						 errdetail("Different ones, corners and ends included: %u.",
								   run->part->welded.plc.npoints),
						 errhint("Tetrahedra need four points that are in no common plane.")));
			ereport(ERROR,
					(errcode(code), errmsg("%s: all points lie in one plane", function),
					 errdetail("There are %u different ones.", run->part->welded.plc.npoints),
					 errhint("Tetrahedra need four points that are in no common plane.")));
			break;
		case RB_FLAW_SEGMENT_FACET:
			ereport(
				ERROR,
				(errcode(code),
				 errmsg("%s: %s and facet %s cross", function, segment(run, f->a),
						facet(run, f->b)),
				 errdetail("They share a point near %s, which is no corner of both.", at),
				 errhint("Cut both there%s.  redblue_segment_triangle_contacts shows all pairs.",
						 or_split(run))));
			break;
		case RB_FLAW_SEGMENTS_CROSS:
			ereport(ERROR, (errcode(code),
							errmsg("%s: %s and %s cross", function, segment(run, f->a),
								   segment(run, f->b)),
							errdetail("They share a point near %s, which is no end of both.", at),
							errhint("Cut both there%s.", or_split(run))));
			break;
		case RB_FLAW_POINT_IN_FACET:
			ereport(
				ERROR,
				(errcode(code),
				 errmsg("%s: %s lies on facet %s", function, point(run, f->a), facet(run, f->b)),
				 errdetail("It is at %s, and no corner of the facet.", at),
				 errhint("Make it a corner of the facet%s; or leave it out.", or_split(run))));
			break;
		case RB_FLAW_POINT_ON_SEGMENT:
			ereport(ERROR,
					(errcode(code),
					 errmsg("%s: %s lies on %s", function, point(run, f->a), segment(run, f->b)),
					 errdetail("It is at %s, and no end of the segment.", at),
					 errhint("Cut the segment there%s.", or_split(run))));
			break;
		case RB_FLAW_TOO_NEAR:
			ereport(ERROR,
					(errcode(code),
					 errmsg("%s: there is no room for a point near %s", function, point(run, f->a)),
					 errdetail("Coordinates near %s are too coarse for one that is needed.", at),
					 errhint("Subtract a common offset from all coordinates, or make very sharp "
							 "angles less sharp.")));
			break;
		case RB_FLAW_OFF_FACET:
		case RB_FLAW_VOLUME:
			raise_wrong_mesh(run, at);
			break;
		case RB_FLAW_NONE:
			elog(ERROR, "%s: no mesh, and no reason", function);
			break;
		default:
			raise_of_facet(run, at);
	}
	pg_unreachable();
}

const char *
rb_meshing_flaw_name(const rb_meshing_part *part)
{
	if (part->unread != RB_GEOMETRY_OK)
		return rb_refusal_name(part->unread);
	switch (part->flaw.kind)
	{
		case RB_FLAW_NONE:
			return "more points than max_points";
		case RB_FLAW_NO_VOLUME:
			return "no volume";
		case RB_FLAW_FACET_AREA:
			return "a facet without area";
		case RB_FLAW_FACET_FOLDED:
			return "a facet that is no simple polygon";
		case RB_FLAW_FACETS_EQUAL:
			return "a facet twice";
		case RB_FLAW_FACETS_OVERLAP:
			return "facets that overlap";
		case RB_FLAW_FACETS_CROSS:
			return "facets that cross";
		case RB_FLAW_SEGMENT_FACET:
		case RB_FLAW_SEGMENTS_CROSS:
			return "segments that cross";
		case RB_FLAW_POINT_IN_FACET:
		case RB_FLAW_POINT_ON_SEGMENT:
			return "a point on a facet or segment";
		case RB_FLAW_TOO_NEAR:
			return "no room between neighbouring coordinates";
		default:
			return "a facet that could not be recovered";
	}
}

void
rb_meshing_check_max_points(const rb_meshing_run *run, uint64 points)
{
	if (run->options.max_points > 0 && run->options.max_points < points)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: argument \"max_points\" is " UINT64_FORMAT
						", and there are " UINT64_FORMAT " points",
						run->call->function, run->options.max_points, points),
				 errdetail("It is the largest number of vertices, those that are given among "
						   "them.")));
}
