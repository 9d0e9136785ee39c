/*
 * input.h
 *	  Objects from a file into the flat arrays that core and peers both join.
 *
 * OFF meshes give triangles; CSV with a header line gives segments, in 3D when
 * a row has an id and six numbers, in 2D when it has an id and four; .f64 gives
 * triangles, or boxes where the caller asks for them, as bare native doubles.
 * A name that ends in .xz is read through xz.  A name that starts with @ is no
 * file but a workload of workload.h: @uniform,1000,1.  The number of a row, from
 * 0, is its id.
 */
#ifndef RB_BENCH_INPUT_H
#define RB_BENCH_INPUT_H

#include "core/base/redblue.h"

/*
 * Reads `path` and adds `shift` to every coordinate, one double addition each.
 * `kind` says what a .f64 file holds, and whether boxes are made in the plane; the
 * other formats set it.  The caller
 * frees objects->coords.  On failure prints why to stderr and answers false.
 */
extern bool read_objects(const char *path, rb_kind kind, const double shift[3], rb_set *objects);

#endif /* RB_BENCH_INPUT_H */
