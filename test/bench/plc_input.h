/*
 * plc_input.h
 *	  Reads a PLC from a file: TetGen's .poly or .off, with triangles or polygons.
 *
 * A facet is one of its polygons, also with holes in a .poly; polygons of two corners are segments;
 * seeds of holes and of regions are those of the .poly. Equal points are merged.
 *
 * An error ends the program, with status 2 if the file does not exist or cannot be read, 3 if its
 * contents have a flaw, and 4 after any other failure.
 */
#ifndef PLC_INPUT_H
#define PLC_INPUT_H

#include "mesh/plc.h"

#include <stdio.h>

/*
 * Reads a PLC and prints its sizes, a name and a value per line. A polygon whose corners are
 * farther from its plane than may_bend becomes a facet for each of its triangles; otherwise it is
 * one facet, however it is triangulated. NAN stands for the error of rounding, -1 applies to all
 * polygons. The arrays of the PLC are never freed. Only one file can be read.
 */
extern rb_plc plc_read(const char *file, double may_bend);

/* Merges coplanar facets. The memory of the result is never freed. */
extern rb_plc plc_merge(const rb_plc *plc);

/* Writes the facets as .off, those with holes as triangles. */
extern void plc_write_surface(const char *name);

/* Opens a file for writing, whose name is base followed by end. */
extern FILE *plc_create(const char *base, const char *end);

/* Ends the program with status rc. */
extern void plc_die(int rc, const char *what, size_t number) __attribute__((noreturn));

#endif /* PLC_INPUT_H */
