/*
 * kernel_avx2.c
 *	  The inner loops for processors with AVX2.  Fused multiply-add is not
 *	  switched on: it would change results, and the error bounds are proved
 *	  without it.
 */
#ifdef __x86_64__
#pragma GCC target("avx2")
#define RB_KERNEL rb_kernel_avx2
#define RB_KERNEL_NAME "avx2"
#include "rb_kernel_body.h"
#else
typedef int rb_kernel_avx2_not_here;
#endif
