/*
 * validity_reasons.c
 *	  Describes the faults of a solid as text, as an error code, and as a location.
 *
 * The sentences use the terms of the stored geometry: faces, rings and vertices. They mention
 * triangles only if each face is one.
 *
 * The codes are those of val3dity for ISO 19107 (H. Ledoux: val3dity: validation of 3D GIS
 * primitives according to the international standards, 2018): 1xx for rings, 2xx for polygons, 3xx
 * for shells, 4xx for solids. Faults that val3dity does not list have the code 0.
 */
#include "core/solid/solid.h"
#include "core/primitive/dispatch.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS 15 /* Maximum number of digits of a coordinate in a text */
#define POINT 72  /* Buffer size in bytes for three coordinates */
#define FEWEST_FACES 4

/* ---- texts ---- */

/*
 * Writes the shortest text that reproduces the double, with at most DIGITS digits, for example
 * "-0.5".
 */
static int
text_of_reason_number(char *to, size_t size, double x)
{
	int n = 0;

	for (int digits = 6; digits <= DIGITS; digits++)
	{
		n = snprintf(to, size, "%.*g", digits, x);
		if (strtod(to, NULL) == x)
			break;
	}
	return n;
}

/* Writes a point, for example "-0.5 3 1e+20". */
static void
text_of_reason_point(char to[POINT], const double *p)
{
	int at = 0;

	for (int k = 0; k < 3; k++)
	{
		if (k > 0)
			to[at++] = ' ';
		at += text_of_reason_number(to + at, (size_t) (POINT - at), p[k]);
	}
}

/* Appends a sentence to the text. */
static void __attribute__((format(printf, 2, 3)))
append_reason_sentence(char text[RB_SOLID_REASON], const char *format, ...)
{
	size_t n = strlen(text);
	va_list args;

	if (n > 0 && n + 1 < RB_SOLID_REASON)
		text[n++] = ' ';
	va_start(args, format);
	vsnprintf(text + n, RB_SOLID_REASON - n, format, args);
	va_end(args);
}

/* ---- rows that could not be read ---- */

/* Writes "Its face 3", or "Its face" if the geometry has only one face. */
static void
text_of_reason_face(char to[32], const rb_geometry_info *info)
{
	if (info->type == info->bad_type || info->face == 0)
		snprintf(to, 32, "Its face");
	else
		snprintf(to, 32, "Its face %u", info->face);
}

/*
 * Describes two holes of a face that are equal, nested or overlap, as the reason why a solid is
 * not valid.
 */
static void
describe_overlapping_holes(char text[RB_SOLID_REASON], const char *face,
						   const rb_geometry_info *info, const char *at)
{
	const char *how = info->overlap == RB_HOLES_EQUAL    ? "are equal"
					  : info->overlap == RB_HOLES_NESTED ? "are nested"
														 : "overlap";

	append_reason_sentence(text, "%s has holes %u and %u that %s at (%s).", face, info->hole,
						   info->other, how, at);
}

/* Describes a fault of a face. */
static void
describe_face_fault(char text[RB_SOLID_REASON], const rb_solid_report *report)
{
	const rb_geometry_info *info = &report->info;
	const char axis = "xyz"[info->axis];
	char face[32], at[4][POINT], distance[32], tolerance[32];

	text_of_reason_face(face, info);
	for (int i = 0; i < 4; i++)
		text_of_reason_point(at[i], info->at[i]);
	switch (report->why)
	{
		case RB_GEOMETRY_CROSSING:
			append_reason_sentence(
				text,
				"%s intersects itself: seen along the %c axis, its edge from (%s) to "
				"(%s) crosses its edge from (%s) to (%s).",
				face, axis, at[0], at[1], at[2], at[3]);
			break;
		case RB_GEOMETRY_ABOVE:
			append_reason_sentence(
				text,
				"%s is not planar: its vertices (%s) and (%s) coincide when seen along the %c axis.",
				face, at[0], at[1], axis);
			break;
		case RB_GEOMETRY_HOLE_OUTSIDE:
			append_reason_sentence(text, "%s has a hole outside its outer ring: hole %u at (%s).",
								   face, info->hole, at[0]);
			break;
		case RB_GEOMETRY_HOLES:
			describe_overlapping_holes(text, face, info, at[0]);
			break;
		case RB_GEOMETRY_NOT_FLAT:
			text_of_reason_number(distance, sizeof distance, info->distance);
			text_of_reason_number(tolerance, sizeof tolerance, report->face_tolerance);
			append_reason_sentence(
				text,
				"%s is not planar: its vertex (%s) is %s away from its plane, but "
				"face_tolerance is %s.",
				face, at[0], distance, tolerance);
			break;
		default:
			append_reason_sentence(text, "%s is a triangle with %u vertices.", face, info->corners);
	}
}

/* Describes why the geometry of a solid was refused, by the fault that the reader reported. */
static void
describe_unread_geometry(char text[RB_SOLID_REASON], const rb_solid_report *report)
{
	const rb_geometry_info *info = &report->info;
	char face[32];

	text_of_reason_face(face, info);
	switch (report->why)
	{
		case RB_GEOMETRY_UNKNOWN:
			append_reason_sentence(text, "Its geometry has an unknown format.");
			break;
		case RB_GEOMETRY_WRONG_TYPE:
			append_reason_sentence(text,
								   "It is not a surface, or has a part that is not a surface: %s.",
								   rb_geometry_type_name(info->bad_type));
			break;
		case RB_GEOMETRY_NO_Z:
			append_reason_sentence(text, "It has no Z.");
			break;
		case RB_GEOMETRY_CURVE:
			append_reason_sentence(text, "It contains a curve: %s.",
								   rb_geometry_type_name(info->bad_type));
			break;
		case RB_GEOMETRY_NOT_CLOSED:
			append_reason_sentence(
				text, "%s has a ring that is not closed: its last point differs from its first.",
				face);
			break;
		case RB_GEOMETRY_NOT_FINITE:
			if (info->face > 0)
				append_reason_sentence(text, "%s has a NaN or infinite coordinate.", face);
			else
				append_reason_sentence(text, "It has a NaN or infinite coordinate.");
			break;
		case RB_GEOMETRY_NULL:
			append_reason_sentence(text, "It has a null coordinate.");
			break;
		case RB_GEOMETRY_SRID:
			append_reason_sentence(text, "Its SRID is %d, but earlier rows have SRID %d.",
								   info->srid, info->other_srid);
			break;
		case RB_GEOMETRY_NULL_ID:
			append_reason_sentence(text, "Its id is null.");
			break;
		case RB_GEOMETRY_NO_ID:
			append_reason_sentence(text, "Its id is not a bigint.");
			break;
		case RB_GEOMETRY_CORNERS:
		case RB_GEOMETRY_CROSSING:
		case RB_GEOMETRY_ABOVE:
		case RB_GEOMETRY_HOLE_OUTSIDE:
		case RB_GEOMETRY_HOLES:
		case RB_GEOMETRY_NOT_FLAT:
			describe_face_fault(text, report);
			break;
		default:
			append_reason_sentence(text, "Its geometry is malformed.");
	}
}

const char *
rb_refusal_name(rb_geometry_fault fault)
{
	switch (fault)
	{
		case RB_GEOMETRY_UNKNOWN:
			return "unknown geometry format";
		case RB_GEOMETRY_WRONG_TYPE:
			return "not a surface";
		case RB_GEOMETRY_NO_Z:
			return "no Z";
		case RB_GEOMETRY_CURVE:
			return "contains a curve";
		case RB_GEOMETRY_CORNERS:
			return "triangle without exactly three vertices";
		case RB_GEOMETRY_NOT_CLOSED:
			return "ring that is not closed";
		case RB_GEOMETRY_NOT_FINITE:
			return "NaN or infinite coordinate";
		case RB_GEOMETRY_CROSSING:
			return "self-intersecting face";
		case RB_GEOMETRY_ABOVE:
		case RB_GEOMETRY_NOT_FLAT:
			return "non-planar face";
		case RB_GEOMETRY_HOLE_OUTSIDE:
			return "hole outside its face";
		case RB_GEOMETRY_HOLES:
			return "overlapping holes";
		case RB_GEOMETRY_NULL:
			return "null coordinate";
		case RB_GEOMETRY_SRID:
			return "different SRID";
		case RB_GEOMETRY_NULL_ID:
			return "null id";
		case RB_GEOMETRY_NO_ID:
			return "id that is not a bigint";
		default:
			return "malformed geometry";
	}
}

/* Returns the error code of a refused geometry, or 0 if its fault has none. */
static int
error_code_of_refusal(const rb_solid_report *report)
{
	switch (report->why)
	{
		case RB_GEOMETRY_CORNERS:
			return report->info.corners < 3 ? 101 : 0;
		case RB_GEOMETRY_NOT_CLOSED:
			return 103;
		case RB_GEOMETRY_CROSSING:
			return report->info.two_rings ? 201 : 104;
		case RB_GEOMETRY_NOT_FLAT:
			return 203;
		case RB_GEOMETRY_ABOVE:
			return 204;
		case RB_GEOMETRY_HOLE_OUTSIDE:
			return 206;
		case RB_GEOMETRY_HOLES:
			return report->info.overlap == RB_HOLES_EQUAL    ? 202
				   : report->info.overlap == RB_HOLES_NESTED ? 207
															 : 201;
		default:
			return 0;
	}
}

/*
 * Computes, for a report, the point where two edges of a face cross when projected along an axis.
 * The point is on the first edge, and rounded.
 */
static void
locate_reported_edge_crossing(const rb_geometry_info *info, double at[3])
{
	const int x = info->axis == 0 ? 1 : 0, y = info->axis == 2 ? 1 : 2;
	const double(*p)[3] = info->at;
	const double ux = p[1][x] - p[0][x], uy = p[1][y] - p[0][y];
	const double vx = p[3][x] - p[2][x], vy = p[3][y] - p[2][y];
	const double det = ux * vy - uy * vx;
	double t = ((p[2][x] - p[0][x]) * vy - (p[2][y] - p[0][y]) * vx) / det;

	/* If the parameter overflows, or rounding makes the edges parallel, use an end of the edge. */
	if (!(t >= 0 && t <= 1))
		t = t > 1 && t < 2 ? 1 : 0;
	for (int k = 0; k < 3; k++)
		at[k] = (1 - t) * p[0][k] + t * p[1][k];
}

/* Stores the location of the fault of a refused geometry. Returns false if it has none. */
static bool
location_of_refusal(const rb_solid_report *report, double at[3])
{
	switch (report->why)
	{
		case RB_GEOMETRY_CROSSING:
			locate_reported_edge_crossing(&report->info, at);
			return true;
		case RB_GEOMETRY_ABOVE:
		case RB_GEOMETRY_HOLE_OUTSIDE:
		case RB_GEOMETRY_HOLES:
		case RB_GEOMETRY_NOT_FLAT:
			memcpy(at, report->info.at[0], 3 * sizeof *at);
			return true;
		default:
			return false;
	}
}

/* ---- triangles ---- */

const char *
rb_solid_fault_name(rb_solid_fault fault)
{
	switch (fault)
	{
		case RB_SOLID_FLAT:
			return "no area";
		case RB_SOLID_OPEN:
			return "not closed";
		case RB_SOLID_TURNED:
		case RB_SOLID_INWARD:
			return "not oriented";
		case RB_SOLID_CROSSED:
			return "self-intersecting";
		default:
			return "unreadable";
	}
}

/* Describes two faces or triangles of a solid that intersect, or one that intersects itself. */
static void
describe_self_crossing(char text[RB_SOLID_REASON], const rb_solid_report *report)
{
	const char *what = report->of_faces ? "face" : "triangle";
	const uint32_t a = report->crossing[0] + 1, b = report->crossing[1] + 1;
	char at[POINT];

	text_of_reason_point(at, report->crossing_at);
	if (a == b)
		append_reason_sentence(text, "It intersects itself: its %s %u intersects itself at (%s).",
							   what, a, at);
	else
		append_reason_sentence(text, "It intersects itself: its %ss %u and %u intersect at (%s).",
							   what, a, b, at);
}

/* Describes a vertex that lies on an edge of another face, so that the edge is unmatched. */
static void
describe_corner_on_edge(char text[RB_SOLID_REASON], const rb_solid_report *report, const char *from,
						const char *to)
{
	char corner[POINT];

	text_of_reason_point(corner, report->info.at[0]);
	append_reason_sentence(text,
						   "It is not closed: seen along the %c axis, the vertex (%s) of its face "
						   "%u lies on the edge from (%s) to (%s).",
						   "xyz"[report->info.axis], corner, report -> triangle + 1, from, to);
}

void
rb_solid_reason(const rb_solid_report *report, char text[RB_SOLID_REASON])
{
	const char *what = report->of_faces ? "face" : "triangle";
	char from[POINT], to[POINT];

	text[0] = '\0';
	text_of_reason_point(from, report->edge);
	text_of_reason_point(to, report->edge + 3);
	switch (report->fault)
	{
		case RB_SOLID_FLAT:
			append_reason_sentence(text, "All of its triangles are degenerate.");
			break;
		case RB_SOLID_OPEN:
			if (report->corner_on_edge)
				describe_corner_on_edge(text, report, from, to);
			else
				append_reason_sentence(
					text, "It is not closed: %u %s%s the edge from (%s) to (%s).", report->uses,
					what, report->uses == 1 ? " has" : "s have", from, to);
			break;
		case RB_SOLID_TURNED:
			append_reason_sentence(
				text,
				"It is not consistently oriented: the %u %ss at the edge from (%s) to "
				"(%s) do not traverse it equally often in both directions.",
				report->uses, what, from, to);
			break;
		case RB_SOLID_INWARD:
			append_reason_sentence(
				text,
				"It is not consistently oriented: the normal of its %s %u, with the edge "
				"from (%s) to (%s), points to the wrong side.",
				what, report->triangle + 1, from, to);
			break;
		case RB_SOLID_UNREADABLE:
			describe_unread_geometry(text, report);
			break;
		default:
			break;
	}
	if (report->together)
		append_reason_sentence(
			text, "Together, the rows form closed surfaces. If each row is a face, name the "
				  "column that identifies the solids: solid => '...'.");
	if (report->self_intersections > 0)
		describe_self_crossing(text, report);
}

int
rb_solid_code(const rb_solid_report *report)
{
	/*
	 * In a surface that is present twice, no orientation is correct, so this fault takes
	 * precedence.
	 */
	if (report->closed && report->self_intersections > 0 && report->crossing_equal)
		return 402;
	switch (report->fault)
	{
		case RB_SOLID_FLAT:
			return 301;
		case RB_SOLID_OPEN:
			return report->faces < FEWEST_FACES ? 301 : report->uses == 1 ? 302 : 303;
		case RB_SOLID_TURNED:
			return 307;
		case RB_SOLID_INWARD:
			return 405;
		case RB_SOLID_UNREADABLE:
			return error_code_of_refusal(report);
		default:
			break;
	}
	if (report->self_intersections == 0)
		return 0;
	return report->crossing_apart ? 401 : 306;
}

bool
rb_solid_fault_location(const rb_solid_report *report, double at[3])
{
	switch (report->fault)
	{
		case RB_SOLID_OPEN:
		case RB_SOLID_TURNED:
		case RB_SOLID_INWARD:
		case RB_SOLID_FLAT:
			memcpy(at, report->corner_on_edge ? report->info.at[0] : report->edge, 3 * sizeof *at);
			return true;
		case RB_SOLID_UNREADABLE:
			return location_of_refusal(report, at);
		default:
			memcpy(at, report->crossing_at, 3 * sizeof *at);
			return report->self_intersections > 0;
	}
}

/* ---- point where two triangles cross ---- */

/*
 * Returns true if the point where two triangles of a solid are reported to cross is a corner of
 * both.
 */
static bool
is_reported_corner_common(const double *p, const double *a, const double *b)
{
	bool of[2] = {false, false};

	for (int k = 0; k < 3; k++)
	{
		of[0] |= memcmp(p, a + 3 * k, 3 * sizeof *p) == 0;
		of[1] |= memcmp(p, b + 3 * k, 3 * sizeof *p) == 0;
	}
	return of[0] && of[1];
}

/*
 * Tests the edges of each triangle against the other one. Prefers a point that is not a vertex of
 * both triangles, since such a common vertex is not a crossing.
 */
void
rb_triangles_crossing_point(const double *a, const double *b, double at[3])
{
	const double *t[2] = {a, b};
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};

	memcpy(at, a, 3 * sizeof *at);
	for (int i = 0; i < 6; i++)
	{
		const double *mine = t[i / 3], *other = t[1 - i / 3];
		const double *p = mine + 3 * (i % 3), *q = mine + 3 * ((i + 1) % 3);
		rb_location place[2];
		double segment[6], s;

		memcpy(segment, p, 3 * sizeof *p);
		memcpy(segment + 3, q, 3 * sizeof *q);
		if (memcmp(p, q, 3 * sizeof *p) == 0 ||
			rb_leaf_segment_triangle(&env, segment, other) != RB_YES)
			continue;
		rb_segment_meets(&env, segment, other, place);
		s = place[0].t / 2 + place[1].t / 2;
		for (int k = 0; k < 3; k++)
			at[k] = s == 1 ? q[k] : (1 - s) * p[k] + s * q[k];
		if (!is_reported_corner_common(at, a, b))
			return;
	}
}
