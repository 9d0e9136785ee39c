/*
 * peers.h
 *	  Declares joins of other programs on the same arrays, for comparison.
 *
 * The time of a peer extends from arrays in its own types to an array of pairs. It includes
 * building its boxes or its tree, but not reading, conversion, checksums and freeing.
 */
#ifndef RB_BENCH_PEERS_H
#define RB_BENCH_PEERS_H

#include "core/base/redblue.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* Growing array of pairs, kept between runs so that a warm run has no page faults */
typedef struct pair_list
{
	rb_pair *pairs;
	size_t n;
	size_t room;
} pair_list;

extern void pair_list_grow(pair_list *list, size_t more);

typedef struct peer_run
{
	double wall; /* Elapsed seconds */
	double cpu;  /* User + system seconds of the thread */
	uint64_t
		candidates; /* Number of pairs with overlapping boxes, or 0 if the peer does not report it */
	uint64_t pairs;
} peer_run;

typedef struct peer
{
	const char *name;
	/*
	 * Joins two sides, or red with itself if blue is NULL: each unordered pair once, with the
	 * smaller number first. Only counts, in run->pairs, if out is NULL. Returns false if this peer
	 * does not support these kinds.
	 */
	bool (*join)(const rb_set *red, const rb_set *blue, pair_list *out, peer_run *run);
} peer;

/* Peers that were compiled in, ended by a NULL name; empty without CGAL */
extern const peer peers[];

#ifdef __cplusplus
}
#endif

#endif /* RB_BENCH_PEERS_H */
