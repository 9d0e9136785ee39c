/*
 * simd_avx512.c
 *	  Compiles the inner loops for processors with AVX-512 (F, VL, DQ). Fused multiply-add is not
 *	  used implicitly, since the whole core is compiled with -ffp-contract=off.
 */
#ifdef __x86_64__
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512vl,avx512dq"))), \
							 apply_to = function)
#else
#pragma GCC target("avx512f,avx512vl,avx512dq")
#endif
#define RB_AVX512
#define RB_KERNEL rb_kernel_avx512
#define RB_KERNEL_NAME "avx512"
#include "core/join/simd_template.h"
#ifdef __clang__
#pragma clang attribute pop
#endif
#else
typedef int rb_kernel_avx512_not_here;
#endif
