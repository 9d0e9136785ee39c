/*
 * rb_hd.h
 *	  Leaf geometry is header-only and compiled twice from the same lines: by gcc
 *	  for the CPU, by nvcc for the device.  RB_HD marks such a function.
 */
#ifndef RB_HD_H
#define RB_HD_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define RB_HD static __host__ __device__ __forceinline__
/* for a big function that is better called than copied */
#define RB_HD_CALL static __host__ __device__ __noinline__ __attribute__((unused))
#else
#define RB_HD static inline __attribute__((always_inline, unused))
#define RB_HD_CALL static __attribute__((noinline, unused))
#endif

/* a sign that the arithmetic at hand cannot decide; the others are -1, 0, 1 */
#define RB_UNSURE 2

#endif /* RB_HD_H */
