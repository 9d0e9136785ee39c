/*
 * peers.h
 *	  Other programs' joins over the same arrays, for comparison.
 *
 * Each peer is timed from arrays that it was given in its own types, free of
 * charge, to an array of pairs: its boxes or its tree are made on the clock,
 * reading, conversion, checksums and freeing are not.
 */
#ifndef RB_BENCH_PEERS_H
#define RB_BENCH_PEERS_H

#include "core/base/redblue.h"

#ifdef __cplusplus
extern "C"
{
#endif

/* a growing array of pairs; kept between runs so that a warm run pays no page faults */
typedef struct pair_list
{
	rb_pair *pairs;
	size_t n;
	size_t room;
} pair_list;

extern void pair_list_grow(pair_list *list, size_t more);

typedef struct peer_run
{
	double wall;         /* seconds */
	double cpu;          /* user + system seconds of the thread */
	uint64_t candidates; /* pairs whose boxes overlap; 0 where the peer does not see them */
	uint64_t pairs;
} peer_run;

typedef struct peer
{
	const char *name;
	/*
	 * blue NULL: red against itself, each unordered pair once, the smaller number
	 * first.  out NULL: only counts, in run->pairs.  False: this peer does not join
	 * these kinds.
	 */
	bool (*join)(const rb_set *red, const rb_set *blue, pair_list *out, peer_run *run);
} peer;

/* what was compiled in, ended by a NULL name; empty without CGAL */
extern const peer peers[];

#ifdef __cplusplus
}
#endif

#endif /* RB_BENCH_PEERS_H */
