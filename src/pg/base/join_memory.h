/*
 * join_memory.h
 *	  Declares the memory estimate of a join (join_memory.c).
 */
#ifndef RB_PG_BASE_JOIN_MEMORY_H
#define RB_PG_BASE_JOIN_MEMORY_H

#include "pg/base/pg.h"

/* Returns the bytes that a join of `parts` parts needs in addition to its inputs. */
extern uint64 rb_need_of_join(uint64 parts);
extern uint64 rb_need_of_join_on(int threads, uint64 parts);

#endif /* RB_PG_BASE_JOIN_MEMORY_H */
