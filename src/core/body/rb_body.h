/*
 * rb_body.h
 *	  Bodies: closed surfaces of triangles, and what of a line lies inside.
 *
 * A body is the triangles of one row.  A point is inside when a ray from it crosses an odd
 * number of them, so which way they run does not matter; a triangle's points are on the
 * boundary.  Ties are broken by moving points by (e, e^2, e^3), e infinitely small
 * (rb_ray.h), and all of a line moves together: then its moved ends are inside or outside, and it
 * crosses triangles properly or not at all.
 *
 *		line, the triangles that it meets, the side of its start
 *			-> crossings and overlaps							crossing.c
 *			-> their places on the line, exactly				place.c
 *			-> in order, what lies between two: stretches			stretches.c
 *			-> fractions of the line and lengths					measure.c
 *
 * Whether the triangles are a body at all: check.c.
 */
#ifndef RB_BODY_H
#define RB_BODY_H

#include "core/base/rb_base.h"
#include "core/base/rb_corners.h"
#include "core/exact/rb_number.h"
#include "core/exact/rb_orient.h"
#include "core/shape/rb_box.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* numbers of so many words keep sums of 2^32 roots far more precise than doubles */
#define RB_MEASURE_WORDS 6

/* ---- rays (rays.c) ---- */

/*
 * From each point of a set one ray upward, as a segment, for RB_UNDER: a set of the same rows.  A ray
 * ends above all bodies in whose boxes it begins; of others it must not be asked.  The points'
 * rows have one part each.
 */
typedef struct rb_rays
{
	const rb_set *set;
	double *box; /* of each body: low, high */
} rb_rays;

extern rb_status rb_rays_make(rb_context *ctx, const rb_backend *backend, const rb_set *points,
							  const rb_set *bodies, rb_rays *rays);
extern void rb_rays_free(rb_context *ctx, rb_rays *rays);

/* does that ray begin in the box of that body? */
static inline bool
rb_ray_counts(const rb_rays *rays, uint32_t ray, uint32_t body)
{
	const double *p = rays->set->coords + (size_t) ray * 6;
	const double *box = rays->box + (size_t) body * 6;

	return rb_boxes_overlap(p, p, box, box + 3);
}

/* ---- places on a segment (place.c) ---- */

typedef enum rb_place_of
{
	RB_PLACE_START, /* of the segment */
	RB_PLACE_END,
	RB_PLACE_PLANE,  /* of a triangle */
	RB_PLACE_EDGE,   /* of a triangle in whose plane the segment is */
	RB_PLACE_CORNER, /* of a triangle without area */
} rb_place_of;

/*
 * A place on the segment ab is a + t (b - a), 0 <= t <= 1, t a ratio of determinants: here is
 * which, and the nearest double.  That keeps the order, so more is asked for only where two
 * doubles are equal: first t + low, which is off by `error` at most, then the ratio itself.
 */
typedef struct rb_place
{
	const double *segment;
	const double *triangle;
	double t;
	double low;
	double error;
	uint8_t of; /* rb_place_of */
	uint8_t axis;
	uint8_t corner; /* or where the edge begins */
} rb_place;

/* t as numerator and denominator, which is positive */
extern void rb_place_ratio(const rb_place *p, rb_number *numerator, rb_number *denominator);

/* t, low and error, from the rest */
extern void rb_place_find(rb_place *p);

/* which of two places on one segment comes first: -1, 0, 1 */
extern int rb_place_compare(const rb_place *p, const rb_place *q);

extern rb_place rb_place_start(const double *segment);
extern rb_place rb_place_end(const double *segment);

/* a segment's length: squared, and cut off after so many words */
extern void rb_segment_square(rb_number *square, const double *segment);
extern void rb_segment_length(rb_number *length, const double *segment, int words);

/* the length between two places of one segment: cut off after so many words; within one unit in the last place */
extern void rb_places_length(rb_number *length, const rb_place *from, const rb_place *to,
							 int words);
extern double rb_places_distance(const rb_place *from, const rb_place *to);

/* ---- crossings (crossing.c) ---- */

typedef enum rb_crossing
{
	RB_CROSSES_NOT,
	RB_CROSSES, /* the moved segment crosses the triangle; its place is where that is if it did not move */
	RB_OVERLAPS /* the segment lies on the triangle between two places */
} rb_crossing;

/* how a segment, a != b, meets a closed triangle, any */
extern rb_crossing rb_segment_crosses(rb_exact_env *env, const double *segment,
									  const double *triangle, rb_place place[2]);

/* from where to where does a segment, a != b, meet a closed triangle, any, that it is known to meet? */
extern void rb_segment_meets(rb_exact_env *env, const double *segment, const double *triangle,
							 rb_place place[2]);

/* ---- fractions of a line (measure.c) ---- */

/*
 * Where on a line of n segments, as a fraction of its length, is the place on segment i?  The
 * nearest double of the exact value.  before and total: lengths of the segments up to i, and of all,
 * to RB_MEASURE_WORDS.
 */
extern rb_status rb_line_fraction(rb_context *ctx, const double *segments, uint32_t n, uint32_t i,
								  const rb_place *place, const rb_number *before,
								  const rb_number *total, double *fraction);

/* ---- stretches (stretches.c) ---- */

typedef struct rb_stretch
{
	double from; /* fractions of the line's length, the nearest doubles */
	double to;
	double length; /* within one unit in the last place */
	bool on_boundary;
} rb_stretch;

/* a line and a body */
typedef struct rb_line
{
	const double *segments; /* six coordinates each; most begin where the one before ends */
	uint32_t nsegments;
	const uint8_t
		*inside; /* of each segment: is its moved start?  Read where it does not continue. */
	const double *triangles;
	/* segment and triangle, by segment: all that share a point.  Others do no harm. */
	const rb_pair *meet;
	size_t nmeet;
} rb_line;

/* a number of at most so many words, as they are kept */
typedef struct rb_length
{
	int n;
	int low;
	uint64_t word[RB_MEASURE_WORDS];
} rb_length;

/* zeros before the first call */
typedef struct rb_stretches
{
	rb_stretch *at; /* filled by each rb_body_stretches anew */
	size_t n;
	size_t cap;
	bool inside_at_end; /* is the line's moved end in the body? */
	bool leaves;        /* some of a line that is no point is outside */
	void *work;         /* of stretches.c or span.c, of which one works on these */
	size_t work_cap;
	/* of the line at hand (rb_line_measure) */
	uint32_t measured; /* how many of its segments are no points */
	rb_length *before; /* up to each segment, and all of it; if several are no points */
	size_t before_cap;
} rb_stretches;

/* to be called for a line before its stretches are asked for, in however many bodies */
extern rb_status rb_line_measure(rb_context *ctx, const double *segments, uint32_t n,
								 rb_stretches *out);

/* the same place as a fraction, of a line that was measured and is no point */
extern rb_status rb_measured_fraction(rb_context *ctx, const double *segments, uint32_t n,
									  uint32_t i, const rb_place *place,
									  const rb_stretches *measured, double *fraction);

/*
 * What of the line lies inside the body or on its boundary, in order.  A stretch is as long as
 * it can be: it goes on over corners of the line, and where it meets the boundary in a point
 * only, with the inside before and behind.  Of no length none is told, but for a line that
 * is a point: then it is one stretch from 0 to 1.
 */
extern rb_status rb_body_stretches(rb_context *ctx, const rb_line *line, rb_stretches *out);
extern void rb_stretches_free(rb_memory *memory, rb_stretches *s);

/* ---- where a line meets triangles (span.c) ---- */

/*
 * Fills out->at with the spans of a line that lie on triangles, in order and apart from each other, as fractions of its
 * length, the nearest doubles; from equals to where the line meets them in a point.  Pairs are all of a segment of the line
 * and a triangle that share a point, one at least; the line was measured.  Of a line that is a point there is one span, from
 * 0 to 0.
 */
extern rb_status rb_line_spans(rb_context *ctx, const double *segments, uint32_t n,
							   const double *triangles, const rb_pair *meet, size_t nmeet,
							   rb_stretches *out);

/* ---- beside a triangle (check.c, beside.c) ---- */

/* a triangle's normal, exactly */
extern void rb_triangle_normal(rb_number normal[3], const double *t);

/* its centre is between these, and so is it in its box */
extern void rb_triangle_centre(const double *t, double low[3], double high[3]);

/* ---- is it a body? (check.c) ---- */

typedef struct rb_body_report
{
	uint32_t triangles;
	uint32_t flat; /* of these, without area */
	bool closed;
	bool
		paired; /* every edge has two triangles, which have an area and run along it in opposite directions */
	bool oriented;
	rb_body_fault fault; /* the first one, in the order of that list; a crossing is none of these */
	uint32_t triangle;   /* the first that has the edge; or the one at fault */
	double edge[6];      /* the edge at fault; of a triangle the first one */
	uint32_t uses;       /* triangles that have the edge */
	/* for whoever joins the body with itself */
	uint64_t self_intersections; /* pairs of triangles that cross each other */
	uint32_t crossing[2];        /* the first of them */
	double crossing_at[3];       /* a point that these share, rounded */
	bool crossing_apart;         /* no edges lead from the one to the other */
	bool crossing_equal;         /* they have the same corners */
	uint32_t faces;              /* polygons, or triangles */
	bool of_faces;               /* triangle and crossing are numbers of polygons */
	bool
		corner_on_edge; /* RB_BODY_OPEN: of polygon `triangle` info.at[0] is, seen along info.axis */
	bool together;      /* all rows of the set together are closed, and none by itself */
	/* RB_BODY_UNREAD: why, and which distance from the plane of a face is allowed */
	rb_geometry_fault why;
	rb_geometry_info info;
	double face_tolerance;
} rb_body_report;

/* ---- what is said of a report (reasons.c) ---- */

/* room for what is wrong with a body */
#define RB_BODY_REASON 700

/* sentences for all that is wrong, or an empty string */
extern void rb_body_reason(const rb_body_report *report, char text[RB_BODY_REASON]);

/* the number of the first fault in val3dity's list of errors of ISO 19107; 0: it is not in that list, or there is none */
extern int rb_body_code(const rb_body_report *report);

/* a point where the first fault is; false: there is none, or it is nowhere */
extern bool rb_body_place(const rb_body_report *report, double at[3]);

/* a point that two triangles share which cross each other, rounded */
extern void rb_triangles_place(const double *a, const double *b, double at[3]);

/* "not closed": what is wrong with rows that are left out, in a list of reasons; the second of RB_BODY_UNREAD */
extern const char *rb_body_fault_name(rb_body_fault fault);
extern const char *rb_refusal_name(rb_geometry_fault fault);

/* ---- reports of all rows of a set (reports.c) ---- */

/* a report as it is told in a block: rb_told_words(RB_BODY) words */
extern void rb_body_to_words(const rb_body_report *report, uint64_t *words);
extern void rb_body_of_words(rb_body_report *report, const uint64_t *words);

/* the report of a row that could not be taken */
extern void rb_body_of_refusal(rb_body_report *report, const rb_refusal *refusal,
							   double face_tolerance);

/* the triangles of one body; RB_OK whatever the report says */
extern rb_status rb_body_check(rb_context *ctx, const double *triangles, uint32_t n,
							   rb_body_report *report);

/* the same of triangles of polygons, whose numbers ascend: corners that lie on edges are recognized */
extern rb_status rb_body_check_faces(rb_context *ctx, const double *triangles, uint32_t n,
									 const uint32_t *face_of, rb_body_report *report);

/* the same without asking which way they are turned: rays need them closed and no more */
extern rb_status rb_body_check_closed(rb_context *ctx, const double *triangles, uint32_t n,
									  rb_body_report *report);

/* do no edges that triangles share lead from triangle a to triangle b? */
extern rb_status rb_body_are_apart(rb_context *ctx, const double *triangles, uint32_t n, uint32_t a,
								   uint32_t b, bool *apart);

/*
 * Is this the whole boundary of a body, all of it seen from one point (star.c)?  Then it does not
 * cross itself.  false also where it is not sure.
 */
typedef struct rb_star_room
{
	rb_corners corners;
	uint32_t *links;
	size_t links_cap;
} rb_star_room; /* zeros before the first call; used again */

extern rb_status rb_body_is_star(rb_context *ctx, const double *triangles, uint32_t n,
								 rb_star_room *room, bool *star);
extern void rb_star_room_free(rb_memory *memory, rb_star_room *room);

/* ---- all bodies of a set (bodies.c) ---- */

/*
 * Which rows of a set of triangles are no bodies, because they are not closed or cross themselves?
 * A bit for each, 32 rows a word; the caller frees them.  With `skip` they are counted in the statistics, as bad bodies
 * of side 0 (red) or 1 (blue), else the first one is RB_BAD_BODY of that side.
 */
extern rb_status rb_bodies_check(rb_context *ctx, const rb_backend *backend, const rb_set *bodies,
								 bool skip, rb_body_of of, uint32_t **bad);

/* are all rows of a set closed together?  False too where there is no memory for the question. */
extern rb_status rb_bodies_are_closed_together(rb_context *ctx, const rb_set *bodies,
											   bool *together);

/*
 * The same of rows that need not be closed: those that are not, or have no triangle with an area, are noted in *open, a
 * bit for each row, which the caller frees, too.  Of the others those that cross themselves are bad.
 */
extern rb_status rb_bodies_sort(rb_context *ctx, const rb_backend *backend, const rb_set *surfaces,
								bool skip, rb_body_of of, uint32_t **bad, uint32_t **open);

#ifdef __cplusplus
}
#endif

#endif /* RB_BODY_H */
