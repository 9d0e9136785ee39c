/*
 * join_memory.h
 *	  Estimates the memory that a join needs in addition to its sides.
 */
#ifndef RB_PG_BASE_JOIN_MEMORY_H
#define RB_PG_BASE_JOIN_MEMORY_H

#include "pg/base/pg.h"

/*
 * Memory in bytes, as measured: the stream, the workspace of one thread, and the lists and grids
 * per part
 */
#define RB_JOIN_BYTES (3 << 20)
#define RB_JOIN_THREAD_BYTES (3 << 20)
#define RB_JOIN_PART_BYTES 32

/* Returns the bytes that a join of `parts` parts needs in addition to its inputs. */
static inline uint64
rb_need_of_join_on(int threads, uint64 parts)
{
	return RB_JOIN_BYTES + (uint64) threads * RB_JOIN_THREAD_BYTES + RB_JOIN_PART_BYTES * parts;
}

static inline uint64
rb_need_of_join(uint64 parts)
{
	return rb_need_of_join_on(rb_threads(parts), parts);
}

#endif /* RB_PG_BASE_JOIN_MEMORY_H */
