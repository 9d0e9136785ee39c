/*
 * filters.cu
 *	  Decides undecided pairs by filters alone: semi-static error bounds, structural zeros, and
 *	  interval arithmetic.
 */
#define RB_FILTERS_ONLY
#define EXACT false
#include "decide.cuh"

rb_status
rb_filters_launch(rb_device_run *run, const rb_cells_args *args)
{
	const int blocks = run->device->sms * RB_FILTERS_BLOCKS;

	kernel_of_predicate(args)<<<blocks, THREADS, 0, run->queue->compute>>>(*args, NULL);
	RB_LAUNCHED(run, "filters: decide_kernel");
	return RB_OK;
}
