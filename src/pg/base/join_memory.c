/*
 * join_memory.c
 *	  Estimates the memory that a join needs in addition to its sides.
 */
#include "pg/base/join_memory.h"

/*
 * Memory in bytes, as measured: the stream, the workspace of one thread, and the lists and grids
 * per part
 */
#define JOIN_BYTES (3 << 20)
#define THREAD_BYTES (3 << 20)
#define PART_BYTES 32

uint64
rb_need_of_join_on(int threads, uint64 parts)
{
	return JOIN_BYTES + (uint64) threads * THREAD_BYTES + PART_BYTES * parts;
}

uint64
rb_need_of_join(uint64 parts)
{
	return rb_need_of_join_on(rb_threads(parts), parts);
}
