/*
 * workload.h
 *	  Generates objects to join, and checksums of pairs.
 *
 * A workload is named NAME[:f32],N,SEED. Boxes follow section 6 of Lo, Lee, Chung, Chung:
 * Optimizing Pairwise Box Intersection Checking on GPUs for Large-Scale Simulations (2013).
 * Segments resemble the lines of a map:
 *
 *	uniform		boxes; centers uniform in a cube of side 10000, edges from 1 to 100
 *	gauss		boxes; centers normal around its middle, sigma 1000
 *	doc:D		boxes; uniform, edges scaled so that their volume is D times the cube's
 *	doct3:D		boxes; uniform, edges from 0 to L, L^3 = D times the cube's volume / N
 *	map			segments in the plane, lines of 128, half of them around 1,024 towns
 *
 * With :f32, each coordinate is rounded to the nearest float and stored as a double. By convention,
 * seed 1 is the set that is joined with itself and the red side, and seed 2 is the blue side.
 *
 * The numbers are the same on every machine and for every number of threads: a random number is a
 * hash of its position, R(seed, j) = mix(seed + (j + 1) * golden), by splitmix64; U = its upper 53
 * bits, plus a half, times 2^-53. Every further step is one rounded operation without contraction.
 * The only functions of libm are sqrt and a cube root, which is truncated to 20 bits after the
 * point. Therefore this file must be compiled with -ffp-contract=off.
 */
#ifndef RB_BENCH_WORKLOAD_H
#define RB_BENCH_WORKLOAD_H

#include "core/base/redblue.h"

#ifdef __cplusplus
extern "C"
{
#endif

typedef struct workload
{
	rb_kind kind;
	int shape;    /* One of the shapes in workload.c */
	double scale; /* Scale of edges or lengths */
	uint64_t n;
	uint64_t seed;
	bool f32;
} workload;

/*
 * Parses "NAME[:f32],N,SEED". Kind RB_BOX2 requests boxes without z. Returns false if there is no
 * such workload.
 */
extern bool workload_parse(const char *text, rb_kind kind, workload *w);

/* Writes the objects first .. first + n - 1 to coords, n * rb_kind_width(w->kind) doubles. */
extern void workload_fill(const workload *w, uint64_t first, uint64_t n, double *coords);

/*
 * Generates a whole workload, in coords from malloc that the caller frees. Returns false if there
 * is no such workload, or malloc fails.
 */
extern bool workload_named(const char *text, rb_kind kind, rb_set *objects);

/*
 * Sums over the pairs (i, j), which do not depend on the order of the pairs:
 *
 *	mix		mix(i 2^32 + j + golden), modulo 2^64
 *	ij		i j, modulo 2^64
 *	fifth	x^5 mod 2^31 - 1, where x = (1000003 i + 7919 j + 12345) mod 2^31 - 1
 *
 * boxes_truth.tsv contains the first two, truth.csv the last one.
 */
typedef struct pair_sums
{
	uint64_t n;
	uint64_t mix;
	uint64_t ij;
	uint64_t fifth;
} pair_sums;

/*
 * Adds pairs, from several threads at once. In a self join, i is the smaller number of each pair.
 */
extern void pair_sums_add(pair_sums *sums, const rb_pair *pairs, size_t n, bool self);

/*
 * Finds the row of `file` (boxes_truth.tsv) for join "self" or "rb" and a workload without its
 * seed, such as "uniform:f32,1000". Returns false if there is none.
 */
extern bool workload_truth(const char *file, const char *join, const char *text, pair_sums *truth);

#ifdef __cplusplus
}
#endif

#endif /* RB_BENCH_WORKLOAD_H */
