/*
 * solid.h
 *	  Defines solids, which are closed triangle surfaces, and finds the parts of a line inside them.
 *
 * A solid is the set of triangles of one row. A point is inside if a ray from it crosses an odd
 * number of the triangles, so the orientation of the triangles does not matter. Points on a
 * triangle belong to the boundary. Degenerate cases are resolved by simulation of simplicity:
 * points are perturbed by (e, e^2, e^3) with an infinitesimal e (ray.h). All points of a line
 * get the same perturbation, so the perturbed endpoints are strictly inside or outside, and the
 * perturbed line either crosses a triangle properly or misses it.
 *
 *		line, the triangles that it meets, the side of its start
 *			-> crossings and overlaps							line_intervals.c
 *			-> their exact locations on the line				line_parameter.c
 *			-> sorted, the intervals between them				line_intervals.c
 *			-> fractions of the line, and lengths				line_parameter.c
 *
 * validity.c tests whether a set of triangles is a solid.
 */
#ifndef RB_SOLID_SOLID_H
#define RB_SOLID_SOLID_H

#include "core/base/base.h"
#include "core/base/parallel.h"
#include "core/base/point_hash.h"
#include "core/exact/bignum.h"
#include "core/exact/double_double.h"
#include "core/exact/orient.h"
#include "core/nearest/box_tree.h"
#include "core/primitive/box.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* Precision in 64-bit words: a sum of 2^32 square roots remains far more precise than a double */
#define RB_MEASURE_WORDS 6

/* ---- rays (in_solid.c) ---- */

/*
 * One upward ray per point of a set, stored as a segment for RB_RAY_PARITY, in a set with the same
 * rows as the points. A ray ends above every solid whose bounding box contains its start. It must
 * not be tested against any other solid. Each row of the point set has exactly one part.
 */
typedef struct rb_rays
{
	const rb_set *set;
	double *box; /* Bounding box of each solid: low, high */
} rb_rays;

extern rb_status rb_rays_build(rb_context *ctx, const rb_backend *backend, const rb_set *points,
							   const rb_set *solids, rb_rays *rays);
extern void rb_rays_free(rb_context *ctx, rb_rays *rays);

/* Returns true if the ray starts inside the bounding box of the solid. */
static inline bool
rb_ray_counts(const rb_rays *rays, uint32_t ray, uint32_t solid)
{
	const double *p = rays->set->coords + (size_t) ray * 6;
	const double *box = rays->box + (size_t) solid * 6;

	return rb_boxes_overlap(p, p, box, box + 3);
}

/* ---- locations on a segment (line_parameter.c) ---- */

typedef enum rb_location_kind
{
	RB_PLACE_START, /* Start of the segment */
	RB_PLACE_END,
	RB_PLACE_PLANE,  /* Intersection with the plane of a triangle */
	RB_PLACE_EDGE,   /* Intersection with an edge of a triangle coplanar with the segment */
	RB_PLACE_CORNER, /* Vertex of a triangle without area */
} rb_location_kind;

/*
 * A location a + t (b - a) on the segment ab, where 0 <= t <= 1 is a ratio of determinants. The
 * struct records which ratio it is and the double nearest to it. Rounding preserves the order of
 * locations, so more precision is needed only if two doubles are equal: first t + low, whose error
 * is at most `error`, then the exact ratio.
 */
typedef struct rb_location
{
	const double *segment;
	const double *triangle;
	double t;
	double low;
	double error;
	uint8_t of; /* Value of rb_location_kind */
	uint8_t axis;
	uint8_t corner; /* Index of the triangle's vertex, or of the first vertex of its edge */
} rb_location;

/* Computes the exact parameter t as numerator and denominator; the denominator is positive. */
extern void rb_location_ratio(const rb_location *p, rb_number *numerator, rb_number *denominator);

/* Computes t, low and error from the other fields. */
extern void rb_location_find(rb_location *p);

/* Compares two locations on one segment by their order: -1, 0 or 1. */
extern int rb_location_compare(const rb_location *p, const rb_location *q);

/* Return the start and the end of a segment as locations. */
extern rb_location rb_location_start(const double *segment);
extern rb_location rb_location_end(const double *segment);

/* Computes the length of a segment, truncated to `words` words. */
extern void rb_segment_length(rb_number *length, const double *segment, int words);

/*
 * Compute the length between two locations on one segment: rb_locations_length truncated to `words`
 * words, rb_locations_distance accurate to one unit in the last place.
 */
extern void rb_locations_length(rb_number *length, const rb_location *from, const rb_location *to,
								int words);
extern double rb_locations_distance(const rb_location *from, const rb_location *to);

/* ---- crossings (line_intervals.c) ---- */

typedef enum rb_line_crossing
{
	RB_CROSSES_NOT,
	/*
	 * The perturbed segment crosses the triangle; the location is that of the unperturbed crossing
	 */
	RB_CROSSES,
	RB_OVERLAPS /* The segment lies on the triangle between two locations */
} rb_line_crossing;

/* Determines how a segment with a != b meets a closed triangle, which may have no area. */
extern rb_line_crossing rb_segment_crosses(rb_exact_env *env, const double *segment,
										   const double *triangle, rb_location place[2]);

/*
 * Finds where a segment, with a != b, enters and leaves a closed triangle that it is known to meet.
 * The triangle may have no area.
 */
extern void rb_segment_meets(rb_exact_env *env, const double *segment, const double *triangle,
							 rb_location place[2]);

/* ---- fractions of a line (line_parameter.c) ---- */

/*
 * Computes the position of `place`, a location on segment i, as a fraction of the length of a line
 * of n segments. The result is the double nearest to the exact value. `before` and `total` are the
 * lengths of the segments before i and of the whole line, with RB_MEASURE_WORDS words.
 */
extern rb_status rb_line_fraction(rb_context *ctx, const double *segments, uint32_t n, uint32_t i,
								  const rb_location *place, const rb_number *before,
								  const rb_number *total, double *fraction);

/* ---- intervals of a line (line_intervals.c) ---- */

typedef struct rb_line_interval
{
	double from; /* Ends as fractions of the line's length, rounded to nearest */
	double to;
	double length; /* Length, accurate to one unit in the last place */
	bool on_boundary;
} rb_line_interval;

/* A line and the triangles of one solid */
typedef struct rb_line
{
	/* Segments of the line, six coordinates each; most start at the end of their predecessor */
	const double *segments;
	uint32_t nsegments;
	/*
	 * For each segment, 1 if its perturbed start is inside; read only if the segment is not
	 * connected to its predecessor
	 */
	const uint8_t *inside;
	const double *triangles;
	/*
	 * Pairs of a segment and a triangle, sorted by segment: all pairs that share a point.
	 * Additional pairs are harmless.
	 */
	const rb_pair *meet;
	size_t nmeet;
} rb_line;

/* A number of at most RB_MEASURE_WORDS words, in storage format */
typedef struct rb_length
{
	int n;
	int low;
	uint64_t word[RB_MEASURE_WORDS];
} rb_length;

/* Intervals of a line, with buffers that are reused; zero-initialize before the first call */
typedef struct rb_line_intervals
{
	rb_line_interval *at; /* Intervals, overwritten by each computation */
	size_t n;
	size_t cap;
	bool inside_at_end; /* True if the perturbed end of the line is inside the solid */
	bool leaves;        /* True if part of a line of nonzero length is outside */
	/*
	 * Scratch memory of rb_solid_intervals or rb_line_spans. A struct must be used by only one of
	 * them, since work_cap counts elements of different sizes.
	 */
	void *work;
	size_t work_cap;
	/* Data of the current line, set by rb_line_measure */
	uint32_t measured; /* Number of segments of nonzero length */
	rb_length *before; /* Length up to each segment, and total length; set only if measured > 1 */
	size_t before_cap;
} rb_line_intervals;

/* Prepares a line; call it once per line before computing intervals in any number of solids. */
extern rb_status rb_line_measure(rb_context *ctx, const double *segments, uint32_t n,
								 rb_line_intervals *out);

/*
 * Converts a location on segment i to a fraction of the length of a line, prepared by
 * rb_line_measure, that is not a single point.
 */
extern rb_status rb_line_fraction_at(rb_context *ctx, const double *segments, uint32_t n,
									 uint32_t i, const rb_location *place,
									 const rb_line_intervals *measured, double *fraction);

/*
 * Computes the intervals of the line that lie inside the solid or on its boundary, in order. Each
 * interval is maximal: it continues across vertices of the line, and across points where the line
 * only touches the boundary and is inside on both sides. Intervals of zero length are omitted,
 * except that a line consisting of a single point yields the interval from 0 to 1.
 */
extern rb_status rb_solid_intervals(rb_context *ctx, const rb_line *line, rb_line_intervals *out);
/* Frees the intervals of a line. */
extern void rb_line_intervals_free(rb_memory *memory, rb_line_intervals *s);

/* ---- intersections of a line with triangles (line_intervals.c) ---- */

/*
 * Fills out->at with the disjoint spans of a line that lie on triangles, in order, as fractions of
 * the line's length rounded to nearest. A span that is a point has from == to. `meet` contains all
 * pairs of a segment of the line and a triangle that share a point, and at least one. The line must
 * have been prepared by rb_line_measure. A line that is a single point yields one span from 0 to 0.
 */
extern rb_status rb_line_spans(rb_context *ctx, const double *segments, uint32_t n,
							   const double *triangles, const rb_pair *meet, size_t nmeet,
							   rb_line_intervals *out);

/* ---- the relation of solids ---- */

/*
 * Declares the steps of rb_compose_relations, which relates pairs of solids, by file:
 *
 *		triangles at each edge, and sheets of triangles;
 *		side of a solid on which a sheet lies; side of a sheet on
 *		which its own solid lies									sheets.c
 *		surroundings of an edge that lies on another solid;
 *		the relation of two solids									relate.c
 */

#define RB_NO_SHEET UINT32_MAX

/* ---- list of pairs filled by several threads (sheets.c) ---- */

typedef struct rb_notes
{
	rb_context *ctx;
	pthread_mutex_t lock;
	rb_pair *at;
	size_t n;
	size_t cap;
} rb_notes;

/* Initializes an empty list, whose memory belongs to the context. */
extern void rb_notes_open(rb_notes *notes, rb_context *ctx);
/* Frees the list; must be called also after a failure. */
extern void rb_notes_close(rb_notes *notes);

/* Appends pairs; callable from any thread. */
extern rb_status rb_notes_add(rb_notes *notes, const rb_pair *pairs, size_t n);

/*
 * Sorts pairs by red_of of their red part, then by blue_of of their blue part. If an array is NULL,
 * the part number itself is the key. Payload bits in the red word are ignored.
 */
extern rb_status rb_notes_sort(rb_notes *notes, const uint32_t *red_of, const uint32_t *blue_of);

/* ---- edge fans and sheets (sheets.c) ---- */

/*
 * The edge fans and sheets of a set of solids.
 *
 * The fan of an edge is the set of all triangles of the solid that have this edge. A sheet is a
 * maximal set of triangles connected across edges whose fan has exactly two triangles; its first
 * triangle identifies it. Triangles without area and triangles of invalid rows belong to no fan or
 * sheet. Side k of a triangle runs from its vertex k to the next vertex and has the number 3 *
 * triangle + k.
 */
typedef struct rb_fans
{
	const rb_set *set;
	uint32_t *next;  /* For each side, the next side of its fan, as a circular list */
	uint32_t *sheet; /* Sheet of each triangle, or RB_NO_SHEET without area */
	/* For each triangle, 1 if its normal is opposite to that of its sheet's first triangle */
	uint8_t *turned;
	uint32_t *sheets; /* All sheets, in row order */
	uint32_t *tops;   /* For each sheet, the triangle from which its rays start */
	uint32_t nsheets;
	uint32_t *start; /* Start of each row in `sheets`, with one extra entry at the end */
	/* For each triangle that identifies a sheet, 1 if its normal points into the solid */
	uint8_t *inner;
} rb_fans;

/* Finds fans and sheets of all rows of a set except the bad ones; `inner` is not yet computed. */
extern rb_status rb_fans_find(rb_context *ctx, const rb_set *set, const uint32_t *bad,
							  rb_fans *fans);
/* Frees what rb_fans_find allocated, also after its failure. */
extern void rb_fans_free(rb_memory *memory, rb_fans *fans);

/*
 * Computes `inner` for the rows with a nonzero byte in `rows`, or for all rows if NULL
 * (sheets.c).
 */
extern rb_status rb_fans_find_inner(rb_context *ctx, const rb_backend *backend, rb_fans *fans,
									const uint8_t *rows);

/* Returns true if the side has the lowest number in its fan, and so represents the fan. */
static inline bool
rb_fan_is_first(const rb_fans *fans, uint32_t side)
{
	uint32_t i = fans->next[side];

	while (i != side && i > side)
		i = fans->next[i];
	return i == side;
}

/* Returns true if the normal of a triangle points into its solid. */
static inline bool
rb_points_inward(const rb_fans *fans, uint32_t triangle)
{
	return (fans->inner[fans->sheet[triangle]] != 0) != (fans->turned[triangle] != 0);
}

/* ---- location of points on or near sheets (sheets.c) ---- */

/*
 * Locates one point of each of n triangles relative to solids. For each solid that contains the
 * point it appends a pair of the triangle's index in the list and a triangle of the solid.
 *
 * If `own` is set, both sets are the same. The point is then off the triangle, on the side of its
 * normal, and is tested only against the triangle's own solid. Otherwise the point lies on the
 * triangle, and on no other triangle that shares only isolated points with it. The result is
 * undefined for a solid that shares more than isolated points with the triangle.
 */
extern rb_status rb_sheet_points_locate(rb_context *ctx, const rb_backend *backend,
										const rb_fans *from, const uint32_t *triangle, uint32_t n,
										const rb_fans *solids, bool own, rb_notes *inside);

/*
 * Returns true if a point of triangle t of a surface is inside the solid whose triangles are in the
 * tree. Triangle t has an area and shares only isolated points with the boundary of the solid.
 */
extern bool rb_sheet_point_is_inside(const double *t, const rb_fans *solid, const rb_tree *tree);

/* Bits for the kinds of points that exist: in red only, in blue only, in both */
#define RB_RED_ALONE 1
#define RB_BLUE_ALONE 2
#define RB_IN_BOTH 4
#define RB_ALL_THREE 7

/* Bits: part of a surface is inside a solid, or outside it */
#define RB_SURFACE_IN 1
#define RB_SURFACE_OUT 2

/*
 * Classifies the parts of surface triangle t next to the curve or area that it shares with triangle
 * i of a solid. The two triangles do not pass through each other. Parts of t on the boundary of the
 * solid are not reported.
 */
extern unsigned rb_around_surface(rb_exact_env *env, const double *t, const rb_fans *solid,
								  uint32_t i);

/* ---- relations of all pairs of rows (relate.c) ---- */

/*
 * Payload of notes that come from rays: the triangle of the named side identifies a sheet, which is
 * inside the row of the other triangle. No contact has dimension 3, so these payloads differ from
 * those of contacts.
 */
#define RB_RED_SHEET_INSIDE 3
#define RB_BLUE_SHEET_INSIDE 7

/*
 * Known facts about the pairs of rows of a job that share a point. Within one set, the row that
 * comes first is red.
 */
typedef struct rb_relations
{
	rb_context *ctx;
	const rb_backend *backend;
	const rb_job *job;
	uint32_t *bad[2]; /* Bitmaps of the invalid rows of red and blue, or of the only side */
	rb_fans fans[2];  /* Fans of both sides, or of the only side twice */
	rb_notes notes;   /* Known facts about pairs of rows, as pairs of triangles */
	size_t *group;    /* Start of each pair of rows in `notes`, with one extra entry at the end */
	size_t ngroups;
	uint32_t *found; /* Bits RB_RED_ALONE, ... found for each pair of rows */
} rb_relations;

/* Returns true if the triangles of a note share a point; otherwise the note comes from a ray. */
static inline bool
rb_note_is_contact(rb_pair note)
{
	return RB_PAYLOAD_DIMENSION(rb_pair_payload(note)) != 3;
}

extern void rb_relations_open(rb_relations *r, rb_context *ctx, const rb_backend *backend,
							  const rb_job *job);
extern void rb_relations_close(rb_relations *r);

/* Returns the number of sets. */
static inline int
rb_relations_sides(const rb_relations *r)
{
	return r->job->blue == NULL ? 1 : 2;
}

/*
 * Computes `inner` of the fans of both sides, for the rows with a nonzero byte in the array of
 * their side (rb_fans_find_inner). In a self join, a byte in either array counts.
 */
extern rb_status rb_relations_find_inner(rb_relations *r, uint8_t *rows[2]);

/*
 * Finds all pairs of rows that share a point, and the kinds of points of each. If all three kinds
 * are sure to exist, `inner` of the fans is not computed (rb_fans_find_inner).
 */
extern rb_status rb_relations_find(rb_relations *r);

/* ---- points near a triangle (validity.c, sheets.c) ---- */

/* Computes the exact normal of a triangle. */
extern void rb_triangle_normal(rb_number normal[3], const double *t);

/* Computes bounds on the centroid of a triangle; they lie within the triangle's bounding box. */
extern void rb_triangle_centre(const double *t, double low[3], double high[3]);

/* ---- validity of solids (validity.c) ---- */

typedef struct rb_solid_report
{
	uint32_t triangles;
	uint32_t flat; /* Number of triangles without area */
	bool closed;
	bool oriented;
	rb_solid_fault fault; /* First fault in enum order; self-intersections are not included */
	uint32_t triangle;    /* First triangle with the faulty edge, or the faulty triangle */
	double edge[6];       /* Faulty edge, or first edge of the faulty triangle */
	uint32_t uses;        /* Number of triangles that share the edge */
	/* The fields below are set by callers that join the solid with itself. */
	uint64_t self_intersections; /* Number of pairs of triangles that cross */
	uint32_t crossing[2];        /* First pair of crossing triangles */
	double crossing_at[3];       /* A point that both triangles share, rounded */
	bool crossing_apart;         /* True if no chain of shared edges connects the two triangles */
	bool crossing_equal;         /* True if the two triangles have the same vertices */
	uint32_t faces;              /* Number of polygons, or of triangles if there are no polygons */
	bool of_faces;               /* True if `triangle` and `crossing` are polygon numbers */
	/*
	 * RB_SOLID_OPEN: info.at[0] is a vertex of polygon `triangle`, on the edge when projected along
	 * info.axis
	 */
	bool corner_on_edge;
	/* True if all rows of the set form one closed surface, and no single row is closed */
	bool together;
	/*
	 * RB_SOLID_UNREADABLE: the reason, and the tolerated distance of a vertex from the plane of its
	 * face
	 */
	rb_geometry_fault why;
	rb_geometry_info info;
	double face_tolerance;
} rb_solid_report;

/* ---- descriptions of a report (validity_reasons.c) ---- */

/* Buffer size in bytes for the text of rb_solid_reason */
#define RB_SOLID_REASON 700

/* Writes sentences that describe all faults, or an empty string. */
extern void rb_solid_reason(const rb_solid_report *report, char text[RB_SOLID_REASON]);

/*
 * Returns the val3dity error code (ISO 19107) of the first fault, or 0 if there is no fault or no
 * matching code.
 */
extern int rb_solid_code(const rb_solid_report *report);

/* Writes a point at the first fault. Returns false if there is no fault or it has no location. */
extern bool rb_solid_fault_location(const rb_solid_report *report, double at[3]);

/* Computes a point shared by two crossing triangles, rounded. */
extern void rb_triangles_crossing_point(const double *a, const double *b, double at[3]);

/*
 * Returns short descriptions such as "not closed", for lists of skipped rows; the second function
 * describes the reason of RB_SOLID_UNREADABLE.
 */
extern const char *rb_solid_fault_name(rb_solid_fault fault);
extern const char *rb_refusal_name(rb_geometry_fault fault);

/* ---- reports for all rows of a set (validity_rows.c) ---- */

/* Converts a report to and from the rb_payload_words(RB_VALIDITY) payload words of a block. */
static inline void
rb_solid_to_words(const rb_solid_report *report, uint64_t *words)
{
	memcpy(words, report, sizeof *report);
}

static inline void
rb_solid_of_words(rb_solid_report *report, const uint64_t *words)
{
	memcpy(report, words, sizeof *report);
}

/* Creates the report of a row that could not be read. */
extern void rb_solid_of_refusal(rb_solid_report *report, const rb_refusal *refusal,
								double face_tolerance);

/*
 * Checks the triangles of one solid. If face_of is not NULL, they come from polygons, whose numbers
 * in face_of ascend, and vertices that lie on edges are detected. Returns RB_OK whatever the result
 * in the report.
 */
extern rb_status rb_solid_check_faces(rb_context *ctx, const double *triangles, uint32_t n,
									  const uint32_t *face_of, rb_solid_report *report);

/*
 * Checks that the triangles are closed, but not how they are oriented: the parity of ray crossings
 * needs no more than that.
 */
extern rb_status rb_solid_check_closed(rb_context *ctx, const double *triangles, uint32_t n,
									   rb_solid_report *report);

/*
 * Sets *apart to true if triangles a and b of a surface lie on separate parts of it: no chain of
 * triangles, each of which shares an edge with the next, connects them.
 */
extern rb_status rb_solid_triangles_are_apart(rb_context *ctx, const double *triangles, uint32_t n,
											  uint32_t a, uint32_t b, bool *apart);

/* Scratch memory of rb_solid_is_star */
typedef struct rb_star_room
{
	rb_point_hash corners;
	uint32_t *links;
	size_t links_cap;
} rb_star_room; /* Zero-initialize before the first call; the memory is reused by later calls */

extern rb_status rb_solid_is_star(rb_context *ctx, const double *triangles, uint32_t n,
								  rb_star_room *room, bool *star);
extern void rb_star_room_free(rb_memory *memory, rb_star_room *room);

/* ---- validity of all solids of a set (validity_rows.c) ---- */

/*
 * Finds the rows of a set of triangles that are not solids because they are not closed or intersect
 * themselves. Returns a bitmap with 32 rows per word, which the caller frees. Counts these rows in
 * the statistics as invalid solids of red or blue. Unless `skip` is set, fails with RB_BAD_SOLID
 * for the first of them.
 */
extern rb_status rb_solids_check(rb_context *ctx, const rb_backend *backend, const rb_set *solids,
								 bool skip, rb_solid_side of, uint32_t **bad);

/*
 * Checks rows that need not be closed. Sets a bit in *open for each row that is not closed or has
 * no triangle with an area; the caller frees this bitmap as well. Closed rows that intersect
 * themselves are marked in *bad and treated as by rb_solids_check.
 */
extern rb_status rb_solids_sort(rb_context *ctx, const rb_backend *backend, const rb_set *surfaces,
								bool skip, rb_solid_side of, uint32_t **bad, uint32_t **open);

/* ---- measures (measures.c) ---- */

/*
 * Rounds x down and up within its error. Returns true if both results are equal, which is then the
 * nearest double. The error is at least 2^-104 |x|, so that doubling it covers the rounding of both
 * sums here.
 */
static inline bool
rb_round_within(rb_double_double x, double error, double *result)
{
	const double down = x.high + (x.low - 2 * error), up = x.high + (x.low + 2 * error);

	*result = down + 0.0;
	return down == up && fabs(down) <= DBL_MAX;
}

/*
 * Measures of a solid: the payload of RB_MEASURES. Each is the double nearest to the exact value.
 */
typedef struct rb_measures
{
	double
		volume;  /* Positive: 2^-1074 instead of 0; infinite beyond the largest double, like area */
	double area; /* Area of the boundary */
	double centroid[3];
	double low[3]; /* Bounding box of the triangles that have an area */
	double high[3];
} rb_measures;

/*
 * Measures the only row of a set of triangles. Returns RB_BAD_SOLID if it is not a valid solid.
 */
extern rb_status rb_solid_measure(rb_context *ctx, const rb_set *solid, rb_measures *measures);

/*
 * Computes the sum of the areas of n triangles, rounded to nearest. A sum that is not 0 yields at
 * least 2^-1074.
 */
extern rb_status rb_surface_area(rb_context *ctx, const double *triangles, uint32_t n,
								 double *area);

/* ---- overlaps (overlap.c) ---- */

/* Measures of what two solids share, rounded to nearest: the payload of RB_OVERLAP */
typedef struct rb_overlap
{
	double volume;      /* 2^-1074 instead of 0 if the interiors meet; 0 if they do not */
	double centroid[3]; /* NaN if the volume is 0 */
	/*
	 * Area that the boundaries share, of the kinds that job.contact selects; at least 2^-1074 if it
	 * is not 0
	 */
	double contact_area;
	/*
	 * Least width across a face; 2^-1074 instead of 0 if the interiors meet; NaN if not asked for
	 */
	double depth;
} rb_overlap;

/*
 * Measures what the only rows of two sets of triangles share; computes the depth only if `depth` is
 * set. Returns RB_BAD_SOLID if one of them is not a valid solid.
 */
extern rb_status rb_overlap_measure(rb_context *ctx, const rb_set *red, const rb_set *blue,
									bool depth, rb_overlap *overlap);

/* ---- sections (sections.c) ---- */

/*
 * First payload word of RB_SECTION. The records of a section follow one another: points with three
 * coordinates, or two and a 0 if they are in the plane, then the end with the area. A ring or a
 * closed line repeats its first point.
 */
typedef enum rb_section_mark
{
	RB_SECTION_CONTINUES, /* Another point of a ring or line */
	RB_SECTION_POLYGON,   /* First point of a polygon, on its outer ring */
	RB_SECTION_RING,      /* First point of a hole of the polygon */
	RB_SECTION_LINE,      /* First point of a line */
	RB_SECTION_END        /* The area, which is 0 if the surface is not closed */
} rb_section_mark;

/* ---- position of one row (position.c) ---- */

/*
 * Cached facts about a row that is compared with several others in turn; zero-initialize before use
 */
typedef struct rb_placed
{
	bool boxed;
	double low[3];
	double high[3];
	bool sorted; /* For triangles, true if `open` is known */
	bool open;
	struct rb_solids *solids; /* The row prepared as a solid, if it was queried before */
} rb_placed;

/*
 * Computes the position (RB_LIES_*) of the only row of red relative to the only row of blue, as
 * rb_compose_positions does for all rows, and caches what it learns about both. Returns
 * RB_BAD_SOLID, with the side in error.limit, if blue is not a solid, or if red is closed but not a
 * valid solid.
 */
extern rb_status rb_position_test(rb_context *ctx, const rb_set *red, rb_placed *red_known,
								  const rb_set *blue, rb_placed *blue_known, int *position);
/* Frees what rb_position_test has learned about a side. */
extern void rb_position_forget(rb_memory *memory, rb_placed *known);

#ifdef __cplusplus
}
#endif

#endif /* RB_SOLID_SOLID_H */
