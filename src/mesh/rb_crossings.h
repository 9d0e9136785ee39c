/*
 * rb_crossings.h
 *	  Where the parts of a PLC meet that should not: which do, and in which points.
 *
 * A part is a triangle of a facet, a given segment, or a point that is an end of nothing; in this
 * order they are numbered, points by those of the PLC.  As coordinates a part is three corners, the
 * last of which are one where it is no triangle.
 */
#ifndef RB_CROSSINGS_H
#define RB_CROSSINGS_H

#include "core/exact/rb_orient.h"
#include "mesh/rb_weld.h"

#ifdef __cplusplus
extern "C"
{
#endif

typedef struct rb_parts
{
	const rb_plc *plc;
	uint32_t n;
	uint32_t first_segment; /* behind the triangles */
	uint32_t first_point;   /* behind the segments */
	double *coords;         /* nine of each */
	uint32_t *point;        /* of each part behind the segments */
} rb_parts;

/* two parts that share more than common corners and edges; red < blue */
typedef struct rb_meeting
{
	uint32_t red;
	uint32_t blue;
	uint32_t told; /* of RB_SELF_INTERSECT */
} rb_meeting;

extern rb_status rb_parts_make(rb_context *ctx, const rb_plc *plc, rb_parts *parts);
extern void rb_parts_free(rb_memory *memory, rb_parts *parts);

/* all meetings, in any order, each once; any other answer of take than RB_OK ends it */
extern rb_status rb_parts_join(rb_context *ctx, const rb_backend *backend, const rb_parts *parts,
							   rb_status (*take)(void *user, rb_meeting meeting), void *user);

/* ---- points that two parts share (meet.c) ---- */

/* a convex polygon of six corners at most; more only where rounding tells two names of one apart */
#define RB_MEET_POINTS 24

typedef struct rb_meet
{
	double at[3];
	uint8_t on_red; /* a bit for each edge that it is on; edge i begins in corner i */
	uint8_t on_blue;
} rb_meet;

/*
 * The corners of what two parts share, each the nearest doubles to where it is exactly: so it is the
 * same from whichever parts it is found.  How many.
 */
extern int rb_meet_points(rb_exact_env *env, const double *red, const double *blue, rb_meet *to);

/* does that point lie on that part? */
extern bool rb_meet_on(const double *point, const double *part);

/* where the planes of three triangles meet; false: in no point, or in more than one */
extern bool rb_meet_planes(const double *a, const double *b, const double *c, double *at);

/* the same for the line pq and the plane of a triangle, and for two lines of one plane */
extern bool rb_meet_line_plane(const double *p, const double *q, const double *t, double *at);
extern bool rb_meet_lines(const double *p, const double *q, const double *s, const double *t,
						  double *at);

#ifdef __cplusplus
}
#endif

#endif /* RB_CROSSINGS_H */
