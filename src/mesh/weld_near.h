/*
 * weld_near.h
 *	  Declares the search for points that are nearer to each other than a distance (for weld.c).
 */
#ifndef RB_MESH_WELD_NEAR_H
#define RB_MESH_WELD_NEAR_H

#include "core/base/base.h"

#ifdef __cplusplus
extern "C"
{
#endif

typedef struct rb_near_report
{
	uint32_t moved; /* number of points that become others */
	uint32_t split; /* number of groups that were too wide for one point */
	double move;    /* largest distance by which a point moves, rounded */
} rb_near_report;

/*
 * Sets to[i] to the point that point i becomes, or to i if it stays. Points that are connected by
 * steps of at most `distance` > 0 form a group, and become the one with the lowest number, unless
 * one of them is farther than twice the distance from it. Such a group is split: in the order of
 * their numbers, points that are within the distance of no kept point are kept, and the others
 * become the nearest kept one. Returns RB_OK, RB_STOPPED or a memory error.
 */
extern rb_status rb_weld_near(rb_context *ctx, const double *points, uint32_t n, double distance,
							  uint32_t *to, rb_near_report *report);

#ifdef __cplusplus
}
#endif

#endif /* RB_MESH_WELD_NEAR_H */
