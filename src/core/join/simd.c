/*
 * simd.c
 *	  Compiles the inner loops for every processor of the architecture.
 */
#define RB_KERNEL rb_kernel_base
#define RB_KERNEL_NAME "base"
#include "core/join/simd_template.h"
