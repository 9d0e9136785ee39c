/*
 * tets_output.h
 *	  Provides output of programs that build tetrahedra: files, a hash, flaws, times.
 */
#ifndef TETS_OUTPUT_H
#define TETS_OUTPUT_H

#include "mesh/tetrahedralize.h"

/*
 * Writes BASE.node, .ele, .face and .edge in TetGen's format, with numbers from 0, and enough
 * digits to reproduce each double.
 */
extern void tets_write(const char *base, const rb_tets *r);

/* Returns a hash of the whole result. */
extern uint64_t tets_hash(const rb_tets *r);

/* Prints a line with the flaw, its numbers and its location. */
extern void tets_say_flaw(const rb_flaw *flaw);

/* Returns the time in milliseconds. */
extern double tets_now(void);

#endif /* TETS_OUTPUT_H */
