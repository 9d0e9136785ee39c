/*
 * simd_avx2.c
 *	  Compiles the inner loops for processors with AVX2. Fused multiply-add is not enabled: it would
 *	  change results, and the error bounds are proved without it.
 */
#ifdef __x86_64__
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif
#define RB_AVX2
#define RB_KERNEL rb_kernel_avx2
#define RB_KERNEL_NAME "avx2"
#include "core/join/simd_template.h"
#ifdef __clang__
#pragma clang attribute pop
#endif
#else
typedef int rb_kernel_avx2_not_here;
#endif
