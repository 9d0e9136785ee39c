/*
 * delta_set.cu
 *	  Builds a delta set (delta_set.c) of a cached set on the device.
 *
 * Only the cuts and the few new rows are uploaded; the cached rows are already on the device
 * (cache.cu). A kernel copies them at memory speed, which takes a third of a millisecond for half a
 * gigabyte.
 */
#include "cuda.cuh"

#define GATHER_THREADS 256

static __global__ void
gather_kernel(const rb_cut *cuts, uint32_t ncuts, const double *kept, const double *fresh,
			  double *to, uint64_t n, uint32_t width)
{
	const uint64_t stride = (uint64_t) gridDim.x * blockDim.x;

	for (uint64_t i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
	{
		const uint32_t part = (uint32_t) (i / width);
		uint32_t low = 0, high = ncuts;
		uint64_t from;

		while (high - low > 1)
		{
			const uint32_t mid = low + (high - low) / 2;

			if (cuts[mid].part <= part)
				low = mid;
			else
				high = mid;
		}
		from = (uint64_t) (cuts[low].from_part + (part - cuts[low].part)) * width + i % width;
		to[i] = cuts[low].fresh ? fresh[from] : kept[from];
	}
}

rb_status
rb_delta_set_gather(rb_device_run *run, const rb_set *set, const double **coords)
{
	const rb_view *view = set->view;
	const uint32_t width = (uint32_t) rb_kind_width(set->kind);
	const uint64_t n = (uint64_t) set->nparts * width;
	const size_t cuts_bytes = (view->ncuts + 1) * sizeof(rb_cut);
	const size_t fresh_bytes = (size_t) view->fresh->nparts * width * sizeof(double);
	const double *kept;
	rb_cut *cuts;
	double *fresh = NULL;
	double *to;
	uint64_t blocks = (n + GATHER_THREADS - 1) / GATHER_THREADS;

	*coords = NULL;
	RB_TRY(rb_copy_take(run, view->kept, &kept));
	if (kept == NULL)
		return RB_OK;
	RB_TRY(rb_device_alloc(run, (void **) &to, n * sizeof(double)));
	RB_TRY(rb_device_alloc(run, (void **) &cuts, cuts_bytes));
	RB_TRY(rb_upload(run, cuts, view->cuts, cuts_bytes));
	if (fresh_bytes > 0)
	{
		RB_TRY(rb_device_alloc(run, (void **) &fresh, fresh_bytes));
		RB_TRY(rb_upload(run, fresh, view->fresh->coords, fresh_bytes));
	}
	if (blocks > (uint64_t) run->device->sms * 64)
		blocks = (uint64_t) run->device->sms * 64;
	gather_kernel<<<(unsigned) blocks, GATHER_THREADS, 0, run->queue->compute>>>(
		cuts, view->ncuts, kept, fresh, to, n, width);
	RB_LAUNCHED(run, "gather");
	/* Memory is freed in stream order, so the kernel ends first. */
	rb_device_free(run, (void **) &cuts);
	rb_device_free(run, (void **) &fresh);
	*coords = to;
	return RB_OK;
}
