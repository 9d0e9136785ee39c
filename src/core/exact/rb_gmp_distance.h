/*
 * rb_gmp_distance.h
 *	  The last resort for distances: GMP's integers, for all finite doubles.
 *
 * Host only.  Some 100 KB of stack, no other memory, any number of threads at once.
 */
#ifndef RB_GMP_DISTANCE_H
#define RB_GMP_DISTANCE_H

#ifdef __cplusplus
extern "C"
{
#endif

/* where a nearest point lies; dim 0: corner `at`, 1: the edge from there to the next, 2: the face */
typedef struct rb_feature
{
	int dim;
	int at;
} rb_feature;

/* the convex hulls of n[0] red corners, then n[1] blue ones, 1 to 3 each, in space */
typedef struct rb_hulls
{
	double corner[6][3];
	int n[2];
	rb_feature guess[2]; /* of those that they have: where their nearest points are likely to lie */
} rb_hulls;

/* sign of the distance of the two minus that number, which is not negative */
extern int rb_gmp_distance_sign(const rb_hulls *hulls, double distance);

/*
 * The double nearest to their distance, of two the even one; 0 only where they meet.  It is
 * known to be in [lo, hi].  Infinite where IEEE rounds to that.
 */
extern double rb_gmp_distance(const rb_hulls *hulls, double lo, double hi);

/* sign of the distance of the first two minus that of the second two */
extern int rb_gmp_distance_order(const rb_hulls *first, const rb_hulls *second);

#ifdef __cplusplus
}
#endif

#endif /* RB_GMP_DISTANCE_H */
