/*
 * plc_input.h
 *	  A PLC of a file: TetGen's .poly or .off, with triangles or polygons.
 *
 * A facet is a polygon of it, also with holes where a .poly has them; polygons of two corners are
 * segments; seeds of holes and of regions are those of the .poly.  Equal points are made one.
 *
 * What cannot be read ends the program: 2: no such file, or one that cannot be read; 3: a flaw of
 * what it describes; 4: any other failure.
 */
#ifndef PLC_INPUT_H
#define PLC_INPUT_H

#include "mesh/plc.h"

#include <stdio.h>

/*
 * Prints what was read, a name and a value a line.  A polygon whose corners lie farther from its
 * plane than may_bend becomes a facet for each of its triangles; else it is one facet, and where it is
 * cut does not matter.  NAN: what rounding of its coordinates can do; -1: all do.  The PLC's
 * arrays are never freed; one file only.
 */
extern rb_plc plc_read(const char *file, double may_bend);

/* the facets as .off, those with holes as triangles */
extern void plc_write_surface(const char *name);

/* a file to write to: base and end, one after the other */
extern FILE *plc_create(const char *base, const char *end);

/* ends the program with rc */
extern void plc_die(int rc, const char *what, size_t number) __attribute__((noreturn));

#endif /* PLC_INPUT_H */
