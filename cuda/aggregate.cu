/*
 * aggregate.cu
 *	  Computes a count or a bit for each part, instead of pairs that cross the bus.
 *
 * When a launch ends, its pairs lie in its pool, and device memory is read at a hundred times the
 * speed of the bus. So a separate kernel processes them there, and the kernels that find the pairs
 * need no change. Box joins never write pairs in this case; box_join.cu adds the counts itself.
 *
 * Bits are set after each stage of the filter cascade, and the next stage skips pairs whose parts
 * are already marked (decide.cuh).
 *
 * The words are indexed by part; the sink maps parts to rows. Counts are used only if each row has
 * one part, because two parts of a row may meet the same other row.
 */
#include "cuda.cuh"

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
		/* Remove the payload bits. */
		rb_words_add(&args, rb_pair{pairs[i].red & RB_INDEX_MASK, pairs[i].blue});
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
needs_words(const rb_device_run *run)
{
	const rb_job *job = run->job;

	if (run->sink->put_words == NULL)
		return false;
	return job->answer == RB_HITS || (job->answer == RB_COUNTS && job->red->row_of == NULL &&
									  rb_job_blue(job)->row_of == NULL);
}

rb_status
rb_words_alloc(rb_device_run *run)
{
	const uint64_t bytes = words_of(run) * sizeof(uint32_t);

	run->words = NULL;
	if (!needs_words(run))
		return RB_OK;
	RB_TRY(rb_device_alloc(run, (void **) &run->words, bytes));
	RB_CUDA(run, cudaMemsetAsync(run->words, 0, bytes, run->queue->compute));
	return RB_OK;
}

static rb_status
write_words(rb_device_run *run, void *arg, const void *bytes, size_t n)
{
	size_t *first = (size_t *) arg;
	rb_status status = run->sink->put_words(run->sink->user, (const uint32_t *) bytes, *first, n);

	*first += n;
	return status;
}

rb_status
rb_words_send(rb_device_run *run)
{
	size_t first = 0;

	if (run->words == NULL)
		return RB_OK;
	run->emitted = true;
	return rb_download(run, run->words, words_of(run) * sizeof(uint32_t), sizeof(uint32_t),
					   write_words, &first);
}
