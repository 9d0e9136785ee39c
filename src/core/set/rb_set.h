/*
 * rb_set.h
 *	  How a set comes to own its arrays (set.c).
 */
#ifndef RB_SET_H
#define RB_SET_H

#include "core/base/redblue.h"

/* a set with one holder, of arrays that are blocks of that memory; on a failure they stay the caller's */
extern rb_status rb_set_own(rb_memory *memory, const rb_set *arrays, const rb_set **set,
							rb_error *error);

/* a set with one holder becomes one of another memory; on a failure nothing has changed */
extern rb_status rb_set_move(const rb_set *set, rb_memory *to, rb_error *error);

#endif /* RB_SET_H */
