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
#include "core/base/point_hash.h"
#include "core/exact/bignum.h"
#include "core/exact/orient.h"
#include "core/primitive/box.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* Precision in 64-bit words: a sum of 2^32 square roots remains far more precise than a double */
#define RB_MEASURE_WORDS 6

/* ---- rays (point_in_solid.c) ---- */

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

extern rb_location rb_location_start(const double *segment);
extern rb_location rb_location_end(const double *segment);

extern void rb_segment_length(rb_number *length, const double *segment, int words);

/*
 * Computes the length between two locations on one segment: the first truncated to `words` words,
 * the second accurate to one unit in the last place.
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
	/* Six coordinates each; most segments start at the end of their predecessor */
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
 * Computes the intervals of the line that lie inside the solid or on its boundary, in order. Each
 * interval is maximal: it continues across vertices of the line, and across points where the line
 * only touches the boundary and is inside on both sides. Intervals of zero length are omitted,
 * except that a line consisting of a single point yields the interval from 0 to 1.
 */
extern rb_status rb_solid_intervals(rb_context *ctx, const rb_line *line, rb_line_intervals *out);
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

/* ---- reports for all rows of a set (validity_reports.c) ---- */

/* Converts a report to and from the rb_payload_words(RB_VALIDITY) payload words of a block. */
extern void rb_solid_to_words(const rb_solid_report *report, uint64_t *words);
extern void rb_solid_of_words(rb_solid_report *report, const uint64_t *words);

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
 * Checks only that the triangles are closed, not their orientation; ray crossing parity needs no
 * more.
 */
extern rb_status rb_solid_check_closed(rb_context *ctx, const double *triangles, uint32_t n,
									   rb_solid_report *report);

/* Sets *apart to true if no chain of edge-adjacent triangles connects triangles a and b. */
extern rb_status rb_solid_are_apart(rb_context *ctx, const double *triangles, uint32_t n,
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
 * themselves. Returns a bitmap with 32 rows per word, which the caller frees. The function counts
 * the bad rows in the statistics as bad solids of side 0 (red) or 1 (blue). Unless `skip` is set,
 * it raises RB_BAD_SOLID for the first bad row of that side.
 */
extern rb_status rb_solids_check(rb_context *ctx, const rb_backend *backend, const rb_set *solids,
								 bool skip, rb_solid_side of, uint32_t **bad);

/*
 * Sets *together to true if all rows of a set form one closed surface, or to false if memory does
 * not suffice for the test.
 */
extern rb_status rb_solids_are_closed_together(rb_context *ctx, const rb_set *solids,
											   bool *together);

/*
 * Checks rows that need not be closed. Sets a bit in *open for each row that is not closed or has
 * no triangle with an area; the caller frees this bitmap as well. Closed rows that intersect
 * themselves are marked in *bad and treated as by rb_solids_check.
 */
extern rb_status rb_solids_sort(rb_context *ctx, const rb_backend *backend, const rb_set *surfaces,
								bool skip, rb_solid_side of, uint32_t **bad, uint32_t **open);

/* ---- solids prepared for queries (solids.c, position.c) ---- */

/*
 * Locates points, lines and surfaces relative to solids that are queried repeatedly.
 *
 *		solids -> validated, with a box tree of the triangles of each		solids.c
 *			point: an upward ray through the tree
 *			line: triangles it meets, then its intervals (line_intervals.c)
 *			triangle of a surface: surroundings of the curves that it shares
 *				with the boundary (relate.c), or a ray if there are none (sheets.c)
 *		one row against one solid, or all rows against all solids			position.c
 */

/* Rows of a set prepared for queries */
typedef struct rb_solids rb_solids;

/* Bits for the parts of an object that exist: inside, outside, on the boundary */
#define RB_SOME_INSIDE 1u
#define RB_SOME_OUTSIDE 2u
#define RB_SOME_ON 4u

/*
 * Validates all rows as solids (RB_BAD_SOLID, or omitted if `skip` is set) and builds their trees.
 * Takes no reference to the set, which must outlive the result.
 */
extern rb_status rb_solids_build(rb_context *ctx, const rb_backend *backend,
								 const rb_set *solid_set, bool skip, rb_solids **solids);
/* Prepares the data for surface queries; does nothing if it is already present. */
extern rb_status rb_solids_add_sides(rb_context *ctx, const rb_backend *backend, rb_solids *solids);
extern void rb_solids_free(rb_memory *memory,
						   rb_solids **solids); /* Sets *solids to NULL; accepts NULL */
/* Makes later queries poll this context for cancellation. */
extern void rb_solids_use(rb_solids *solids, rb_context *ctx);
/* Returns true if the row was left out as invalid. */
extern bool rb_solids_is_bad(const rb_solids *solids, uint32_t row);

/* Scratch memory of one thread for queries; zero-initialize before the first call */
typedef struct rb_solids_room
{
	rb_line_intervals stretches;
	rb_pair *meet;
	size_t meet_cap;
	uint8_t *inside;
	size_t inside_cap;
} rb_solids_room;

extern void rb_solids_room_free(rb_memory *memory, rb_solids_room *room);

/*
 * Computes the RB_SOME_* bits of an object, given its parts (points, segments or triangles),
 * relative to one solid. Their bounding boxes must overlap. Once some part is inside and some part
 * outside, further bits may be missing.
 */
extern rb_status rb_solids_test(rb_context *ctx, rb_solids_room *room, const rb_solids *solids,
								uint32_t row, rb_kind kind, const double *parts, uint32_t nparts,
								unsigned *some);

/* ---- one row (position.c) ---- */

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
	rb_solids *solids; /* The row prepared as a solid, if it was queried before */
} rb_placed;

/*
 * Computes the position (RB_LIES_*) of the only row of red relative to the only row of blue, as
 * rb_compose_positions does for all rows, and caches what it learns about both. Returns
 * RB_BAD_SOLID, with the side in error.limit, if blue is not a solid, or if red is closed but not a
 * valid solid.
 */
extern rb_status rb_position_test(rb_context *ctx, const rb_set *red, rb_placed *red_known,
								  const rb_set *blue, rb_placed *blue_known, int *position);
extern void rb_position_forget(rb_memory *memory, rb_placed *known);

#ifdef __cplusplus
}
#endif

#endif /* RB_SOLID_SOLID_H */
