/*
 * host_device.h
 *	  Defines RB_HOST_DEVICE, which marks functions that are compiled for both the CPU and the GPU.
 *	  The elementary geometry is header-only: gcc compiles it for the CPU and nvcc for the device.
 */
#ifndef RB_BASE_HOST_DEVICE_H
#define RB_BASE_HOST_DEVICE_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define RB_HOST_DEVICE static __host__ __device__ __forceinline__
/* Marks a large function that should be called rather than inlined. */
#define RB_HOST_DEVICE_CALL static __host__ __device__ __noinline__ __attribute__((unused))
#else
#define RB_HOST_DEVICE static inline __attribute__((always_inline, unused))
#define RB_HOST_DEVICE_CALL static __attribute__((noinline, unused))
#endif

/* A sign that the current arithmetic cannot decide; decided signs are -1, 0, 1 */
#define RB_UNSURE 2

#endif /* RB_BASE_HOST_DEVICE_H */
