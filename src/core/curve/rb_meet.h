/*
 * rb_meet.h
 *	  In which points two triangles, segments or points meet: exactly, and rounded once (meet.c).
 *
 * A part is three corners, the last of which are one where it is no triangle.
 */
#ifndef RB_MEET_H
#define RB_MEET_H

#include "core/exact/rb_orient.h"

#ifdef __cplusplus
extern "C"
{
#endif

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

#endif /* RB_MEET_H */
