/*
 * exact.cu
 *	  Doubtful pairs by exact signs: integers, then expansions.
 */
#define EXACT true
#include "decide.cuh"

rb_status
rb_exact_launch(rb_run *run, const rb_cells_args *args)
{
	decide_kernel<<<run->card->sms * BLOCKS_PER_SM, THREADS, 0, run->lane->compute>>>(*args);
	RB_LAUNCHED(run, "exact: decide_kernel");
	return RB_OK;
}
