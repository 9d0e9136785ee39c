/*
 * words.cu
 *	  A count or a bit for each part, instead of pairs that cross the bus.
 *
 * The pairs of a launch lie in its pool when it ends, and memory of a device is read at a
 * hundred times the speed of the bus: so a kernel of its own goes over them there, and
 * those that find them stay what they are.  Boxes never become pairs on the device;
 * boxes.cu adds theirs itself.
 *
 * Bits are set after each step of the cascade, and the next one leaves out pairs of which
 * there is nothing left to learn (decide.cuh).
 *
 * Words are those of parts; the sink knows their rows.  Counts are asked for only where
 * each row has one part: two parts of a row may meet the same other row.
 */
#include "rb_cuda.cuh"

#define THREADS 256

static __global__ void
__launch_bounds__(THREADS)
	words_kernel(const rb_cells_args args, const rb_pair *pairs, const rb_count *number)
{
	const rb_count n = *number;
	const rb_count stride = (rb_count) gridDim.x * THREADS;
	uint32_t steps = 0;

	for (rb_count i = (rb_count) blockIdx.x * THREADS + threadIdx.x; i < n; i += stride)
	{
		if (steps++ % 64 == 0 && rb_peek(args.stop) != 0)
			break;
		rb_words_add(&args,
					 rb_pair{pairs[i].red & RB_INDEX_MASK, pairs[i].blue}); /* told bits above */
	}
}

rb_status
rb_words_launch(rb_device_run *run, const rb_cells_args *args, bool exact)
{
	const rb_pool *pool = &args->pool;

	words_kernel<<<run->device->sms * RB_WORDS_BLOCKS, THREADS, 0, run->queue->compute>>>(
		*args, exact ? pool->undecided : pool->hits,
		exact ? &pool->tally->exact_hits : &pool->tally->hits);
	RB_LAUNCHED(run, "words_kernel");
	return RB_OK;
}

static uint64_t
words_of(const rb_device_run *run)
{
	const rb_job *job = run->job;
	const rb_set *set = job->of == RB_OF_BLUE ? rb_job_blue(job) : job->red;

	return job->answer == RB_HITS ? ((uint64_t) set->nparts + 31) / 32 : set->nparts;
}

static bool
wants_words(const rb_device_run *run)
{
	const rb_job *job = run->job;

	if (run->sink->put_words == NULL)
		return false;
	return job->answer == RB_HITS || (job->answer == RB_COUNTS && job->red->row_of == NULL &&
									  rb_job_blue(job)->row_of == NULL);
}

rb_status
rb_words_make(rb_device_run *run)
{
	const uint64_t bytes = words_of(run) * sizeof(uint32_t);

	run->words = NULL;
	if (!wants_words(run))
		return RB_OK;
	RB_TRY(rb_device_alloc(run, (void **) &run->words, bytes));
	RB_CUDA(run, cudaMemsetAsync(run->words, 0, bytes, run->queue->compute));
	return RB_OK;
}

static rb_status
put_words(rb_device_run *run, void *arg, const void *bytes, size_t n)
{
	size_t *first = (size_t *) arg;
	rb_status status = run->sink->put_words(run->sink->user, (const uint32_t *) bytes, *first, n);

	*first += n;
	return status;
}

rb_status
rb_words_put(rb_device_run *run)
{
	size_t first = 0;

	if (run->words == NULL)
		return RB_OK;
	run->emitted = true;
	return rb_download(run, run->words, words_of(run) * sizeof(uint32_t), sizeof(uint32_t),
					   put_words, &first);
}
