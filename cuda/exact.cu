/*
 * exact.cu
 *	  Decides undecided pairs by exact signs: integers first, then expansions.
 *
 * The kernel is launched only if the filters left pairs. The space for expansions is device memory
 * of the join instead of a thread stack, because a stack would be reserved permanently for every
 * thread that the device can hold. With less space, fewer blocks are launched.
 */
#define EXACT true
#include "decide.cuh"

int
rb_exact_blocks(const rb_device_run *run, rb_count pairs)
{
	const rb_count most = (rb_count) run->device->sms * RB_EXACT_BLOCKS;
	const rb_count wanted = (pairs + THREADS - 1) / THREADS;

	return (int) (wanted < most ? wanted : most);
}

uint64_t
rb_exact_room(int blocks)
{
	return (uint64_t) blocks * THREADS * RB_EXPANSION_ROOM * sizeof(double);
}

rb_status
rb_exact_launch(rb_device_run *run, const rb_cells_args *args, int blocks, double *room)
{
	kernel_of_predicate(args)<<<blocks, THREADS, 0, run->queue->compute>>>(*args, room);
	RB_LAUNCHED(run, "exact: decide_kernel");
	return RB_OK;
}
