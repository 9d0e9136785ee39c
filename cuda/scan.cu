/*
 * scan.cu
 *	  Computes prefix sums with CUB, instantiated only here because it compiles slowly.
 */
#include "cuda.cuh"

#include <cub/device/device_scan.cuh>

cudaError_t
rb_scan_bytes(rb_count n, size_t *bytes)
{
	return cub::DeviceScan::ExclusiveSum((void *) NULL, *bytes, (const rb_count *) NULL,
										 (rb_count *) NULL, (long long) n);
}

cudaError_t
rb_scan(void *scratch, size_t bytes, const rb_count *in, rb_count *out, rb_count n,
		cudaStream_t stream)
{
	return cub::DeviceScan::ExclusiveSum(scratch, bytes, in, out, (long long) n, stream);
}
