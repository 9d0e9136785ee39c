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

/* a set with one holder, no view or one that is put together, becomes one of another memory; on a failure nothing has changed */
extern rb_status rb_set_move(const rb_set *set, rb_memory *to, rb_error *error);

/* the memory of a set with an owner, and that set for those few who may write to it */
extern rb_memory *rb_set_memory(const rb_set *set);
extern rb_set *rb_set_writable(const rb_set *set);

/*
 * What was found out of all rows of a set, which never changes: known to all who hold it later.  A
 * set without an owner forgets it.  From any thread.
 */
#define RB_KNOWN_BODIES 1u /* each is closed and does not cross itself */
extern void rb_set_learn(const rb_set *set, uint32_t fact);
extern bool rb_set_knows(const rb_set *set, uint32_t fact);

/* the last parts of a builder, from that one on, are of one face */
extern rb_status rb_builder_one_face(rb_builder *b, uint32_t from, rb_error *error);

/* where the parts of each row begin, and where the last ones end; nrows + 1 numbers */
extern void rb_row_starts(const rb_set *set, uint32_t *start);

/* how many hold a set with an owner, at this moment */
extern uint32_t rb_set_holders(const rb_set *set);

/* what its blocks count for in its memory; no view, or one that is put together */
extern uint64_t rb_set_taken(const rb_set *set);

/* bytes of its coordinates, whether they are there or not */
extern uint64_t rb_coords_bytes(const rb_set *set);

/* those of a view, while they are not there, count no more */
extern void rb_view_uncount(rb_memory *memory, const rb_set *set);

/* the set that has the coordinates of a part of a view, and in *part its number there */
extern const rb_set *rb_view_part(const rb_set *set, uint32_t *part);

#endif /* RB_SET_H */
