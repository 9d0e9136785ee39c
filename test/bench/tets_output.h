/*
 * tets_output.h
 *	  What programs say of tetrahedra that they made: files, a hash, flaws, times.
 */
#ifndef TETS_OUTPUT_H
#define TETS_OUTPUT_H

#include "mesh/tetrahedralize.h"

/* BASE.node, .ele, .face and .edge, as TetGen does, numbers from 0, digits enough that all doubles
 * come back */
extern void tets_write(const char *base, const rb_tets *r);

/* of all that there is in the result */
extern uint64_t tets_hash(const rb_tets *r);

/* a line: flaw, what it is, its numbers, its place */
extern void tets_say_flaw(const rb_flaw *flaw);

/* milliseconds */
extern double tets_now(void);

#endif /* TETS_OUTPUT_H */
