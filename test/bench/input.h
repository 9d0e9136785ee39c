/*
 * input.h
 *	  Reads objects from a file into the arrays that the core and the peers join.
 *
 * OFF meshes give triangles. CSV with a header line gives segments: in 3D if a row has an id and
 * six numbers, in 2D if it has an id and four. A .f64 file contains triangles, or boxes if the
 * caller requests them, as native doubles. A name that ends in .xz is read through xz. A name that
 * starts with @ is not a file, but a workload of workload.h: @uniform,1000,1. The id of a row is
 * its number, from 0.
 */
#ifndef RB_BENCH_INPUT_H
#define RB_BENCH_INPUT_H

#include "core/base/redblue.h"

/*
 * Reads `path` and adds `shift` to each coordinate, one double addition each. `kind` is the
 * contents of a .f64 file, and determines whether boxes are in the plane; the other formats
 * determine it themselves. The caller frees objects->coords. After a failure, prints the reason to
 * stderr and returns false.
 */
extern bool read_objects(const char *path, rb_kind kind, const double shift[3], rb_set *objects);

#endif /* RB_BENCH_INPUT_H */
