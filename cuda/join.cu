/*
 * join.cu
 *	  Joins two sides that are on the device: level by level, launch by launch, and sends the pairs
 *	  to the sink.
 *
 * The work items of a level are joined by as many launches as needed. A launch ends when the items
 * are used up, or when its pool has no space to reserve; the next launch continues there. There are
 * two pools. Once one was full, a launch into each is queued in the stream: while one fills its
 * pool, the pairs of the other are transferred to the host and passed to the sink.
 *
 * If a count or a bit for each part is needed, no pair is transferred. When a launch ends, its
 * pairs lie in its pool, and device memory is read at a hundred times the speed of the bus. So a
 * separate kernel accumulates the words there, and the kernels that find the pairs need no change.
 * Box joins never write pairs in this case; box_join.cu adds the counts itself. Bits are set after
 * each stage of the filter cascade, and the next stage skips pairs whose parts are already marked
 * (decide.cuh). The words are indexed by part and sent at the end; the sink maps parts to rows.
 * Counts are used only if each row has one part, because two parts of a row may meet the same other
 * row.
 *
 * Exact signs are launched once a launch has reported that the filters left pairs; meanwhile the
 * decided pairs are transferred. If the device has no space for exact signs, the host decides these
 * pairs. After the single launch of a small join, the exact kernel is launched unconditionally,
 * because finding out whether there is work takes longer than doing it.
 */
#include "cuda.cuh"
#include "core/base/parallel.h"
#include "core/primitive/dispatch.h"

#include <string.h>

/* Maximum number of threads that pass pairs to the sink */
#define EMIT_THREADS 8
#define EMIT_GRAIN ((uint64_t) 128 << 10) /* Pairs that a thread passes on at once */
/* Maximum number of pairs that are passed on without a thread team, which starts too slowly */
#define FEW_TO_EMIT (1 << 20)

#define WORDS_THREADS 256 /* Threads of a block that counts or marks parts */

/* ---- a count or a bit for each part ---- */

/* Counts or marks the parts of pairs that earlier kernels decided. */
static __global__ void
__launch_bounds__(WORDS_THREADS)
	words_kernel(const rb_cells_args args, const rb_pair *pairs, const rb_count *number)
{
	const rb_count n = *number;
	const rb_count stride = (rb_count) gridDim.x * WORDS_THREADS;
	uint32_t steps = 0;

	for (rb_count i = (rb_count) blockIdx.x * WORDS_THREADS + threadIdx.x; i < n; i += stride)
	{
		if (steps++ % 64 == 0 && rb_peek(args.stop) != 0)
			break;
		/* Remove the payload bits. */
		rb_words_add(&args, rb_pair{pairs[i].red & RB_INDEX_MASK, pairs[i].blue});
	}
}

/*
 * Launches the kernel that adds the hits in the pool to the counts or marks: those of the float
 * test and the filters, or those of exact signs.
 */
static rb_status
launch_words_of_hits(rb_device_run *run, const rb_cells_args *args, bool exact)
{
	const rb_pool *pool = &args->pool;

	words_kernel<<<run->device->sms * RB_WORDS_BLOCKS, WORDS_THREADS, 0, run->queue->compute>>>(
		*args, exact ? pool->undecided : pool->hits,
		exact ? &pool->tally->exact_hits : &pool->tally->hits);
	RB_LAUNCHED(run, "words_kernel");
	return RB_OK;
}

/*
 * Returns the number of 32-bit words of the aggregate that the device computes instead of sending
 * pairs: a bit or a count for each part of one side.
 */
static uint64_t
words_of_device_aggregate(const rb_device_run *run)
{
	const rb_job *job = run->job;
	const rb_set *set = job->of == RB_OF_BLUE ? rb_job_blue(job) : job->red;

	return job->answer == RB_HITS ? ((uint64_t) set->nparts + 31) / 32 : set->nparts;
}

/*
 * Returns true if the job needs counts or marks instead of pairs, and the sink accepts them. Counts
 * require that each row has one part.
 */
static bool
needs_words_by_row(const rb_device_run *run)
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
	const uint64_t bytes = words_of_device_aggregate(run) * sizeof(uint32_t);

	run->words = NULL;
	if (!needs_words_by_row(run))
		return RB_OK;
	RB_TRY(rb_device_alloc(run, (void **) &run->words, bytes));
	RB_CUDA(run, cudaMemsetAsync(run->words, 0, bytes, run->queue->compute));
	return RB_OK;
}

/* Passes n words to the sink, in the order of parts. */
static rb_status
send_words_to_sink(rb_device_run *run, void *arg, const void *bytes, size_t n)
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
	return rb_download(run, run->words, words_of_device_aggregate(run) * sizeof(uint32_t),
					   sizeof(uint32_t), send_words_to_sink, &first);
}

/* ---- the state of a join ---- */

typedef struct rb_joiner
{
	rb_device_run *run;
	rb_device_set side[2];
	bool self;
	rb_cells_args args;
	rb_pool pool[2];
	/* Two tallies on the device, followed by the index of the next work item */
	rb_launch_tally *tally;
	rb_thread *team; /* Threads that pass pairs to the sink, or NULL before they are needed */
	int pools;
	int blocks;
	bool whole;       /* True if the join is so small that one launch completes it */
	bool asked;       /* True if the exact kernel was queued with this launch */
	double *room;     /* Space for exact signs, once they are needed */
	int exact_blocks; /* Blocks of exact signs that `room` suffices for */
} rb_joiner;

/* Events of a launch, as indices */
enum
{
	BEGUN,
	CELLS_DONE,
	FILTERS_DONE,
	TALLY_READ,
	EXACT_BEGUN,
	EXACT_TALLY_READ
};

/* ---- pairs to the host ---- */

/* A buffer of pairs that is passed to the sink */
typedef struct rb_emitting
{
	const rb_sink *sink;
	const rb_pair *pairs;
	int status; /* Error of the sink, or RB_OK */
} rb_emitting;

/* Passes a range of pairs to the sink. */
static void
emit_pairs_to_sink_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_emitting *e = (rb_emitting *) arg;
	rb_status status = RB_OK;

	(void) me;
	if (rb_load(&e->status) == RB_OK)
		status = e->sink->put(e->sink->user, e->pairs + from, to - from);
	if (status != RB_OK)
		rb_store(&e->status, (int) status);
}

/*
 * Passes pairs to the sink with several threads, because a sink may take longer per pair than the
 * bus.
 */
static rb_status
emit_pairs_to_sink(rb_device_run *run, void *arg, const void *bytes, size_t n)
{
	rb_joiner *j = (rb_joiner *) arg;
	rb_emitting e = {run->sink, (const rb_pair *) bytes, RB_OK};
	const int threads = run->ctx->threads < EMIT_THREADS ? run->ctx->threads : EMIT_THREADS;
	rb_status status;

	if (n <= FEW_TO_EMIT)
		return run->sink->put(run->sink->user, e.pairs, n);
	if (j->team == NULL)
		RB_TRY(rb_team_open(run->ctx, threads, &j->team));
	status = rb_loop(j->team, n, EMIT_GRAIN, emit_pairs_to_sink_piece, &e);
	return e.status != RB_OK ? (rb_status) e.status : status;
}

/* Counts n pairs, and sends them to the host unless only their number or words are needed. */
static rb_status
emit_hits_of_launch(rb_joiner *j, const rb_pair *from, rb_count n)
{
	rb_device_run *run = j->run;

	if (n == 0)
		return RB_OK;
	run->ctx->stats.hits += n;
	if (run->words != NULL)
		return RB_OK;
	run->emitted = true;
	if (j->args.count_only)
		return run->sink->put(run->sink->user, NULL, n);
	return rb_download(run, from, n * sizeof(rb_pair), sizeof(rb_pair), emit_pairs_to_sink, j);
}

/*
 * Passes a downloaded piece of compressed pair records to the sink; n counts units of
 * RB_RECORD_ALIGN bytes.
 */
static rb_status
emit_downloaded_records(rb_device_run *run, void *arg, const void *bytes, size_t n)
{
	(void) arg;
	return run->sink->put_records(run->sink->user, bytes, n * RB_RECORD_ALIGN);
}

/* Counts pairs, and sends their compressed records to the host. */
static rb_status
emit_compressed_records(rb_joiner *j, const char *from, rb_count bytes, rb_count pairs)
{
	rb_device_run *run = j->run;

	if (pairs == 0)
		return RB_OK;
	run->ctx->stats.hits += pairs;
	run->emitted = true;
	run->ctx->stats.record_bytes += bytes;
	return rb_download(run, from, bytes, RB_RECORD_ALIGN, emit_downloaded_records, NULL);
}

/*
 * Lets GMP decide the pairs that the device could not decide. The pairs consist of indices within
 * the sides.
 */
static rb_status
emit_pairs_decided_by_host(rb_device_run *run, void *arg, const void *bytes, size_t n)
{
	const rb_joiner *j = (const rb_joiner *) arg;
	rb_pair *pairs = NULL;
	size_t kept = 0;
	rb_status status;

	status = rb_array(run->ctx, (void **) &pairs, n, sizeof(rb_pair));
	if (status != RB_OK)
		return status;
	memcpy(pairs, bytes, n * sizeof(rb_pair));
	for (size_t i = 0; i < n; i++)
	{
		const uint32_t red = pairs[i].red + j->side[0].base;
		const uint32_t blue = pairs[i].blue + j->side[1].base;

		pairs[i].red = j->self && blue < red ? blue : red;
		pairs[i].blue = j->self && blue < red ? red : blue;
	}
	status = rb_decide_pairs(run->ctx, run->job, pairs, n, &kept);
	if (status == RB_OK && kept > 0)
	{
		run->emitted = true;
		run->ctx->stats.hits += kept;
		status = run->sink->put(run->sink->user, pairs, kept);
	}
	rb_free(run->ctx->memory, (void **) &pairs);
	return status;
}

/* ---- launches ---- */

/* Allocates one or two pools for the output of a level, within the memory that is left. */
static rb_status
make_output_pools(rb_joiner *j, const rb_level *level)
{
	rb_device_run *run = j->run;
	/* Boxes that are only counted or marked need no output array. */
	const bool none = j->args.boxes && (j->args.count_only || run->words != NULL);
	/* Maximum output of a work item, in units of the pool, and the size of a unit in bytes */
	rb_count reserve = j->args.records ? RB_ITEM_BYTES : RB_ITEM_PAIRS;
	const rb_count unit = none              ? 0
						  : j->args.records ? 1
											: (j->args.boxes ? 1 : 2) * sizeof(rb_pair);
	const rb_count all = j->args.records ? level->nitems * RB_ITEM_BYTES : level->item_tests;
	const rb_count roomy = j->args.records        ? RB_POOL_RECORDS
						   : all <= RB_SMALL_JOIN ? RB_SMALL_JOIN
												  : RB_POOL_PAIRS;
	uint64_t left = run->budget - run->used;
	rb_count blocks, want, fit;

	RB_TRY(rb_cells_blocks(run, &j->args, &j->blocks));
	if ((rb_count) j->blocks > level->nitems)
		j->blocks = (int) level->nitems;
	blocks = (rb_count) j->blocks;
	/* Records are small, so a block can reserve space for several items. */
	j->args.batch = 1;
	j->args.reserve = reserve;
	if ((j->args.records || none) && level->nitems / blocks / 8 > 1)
		j->args.batch = level->nitems / blocks / 8 < RB_ITEMS_AT_ONCE
							? (uint32_t) (level->nitems / blocks / 8)
							: RB_ITEMS_AT_ONCE;
	reserve *= j->args.batch;
	/*
	 * Allocate space for the maximum output, or for a useful part of it, in addition to the
	 * reservations of the blocks.
	 */
	want = all < roomy ? all : roomy;
	want += blocks * reserve;
	j->pools = all > roomy ? 2 : 1;
	left -= left / 8;
	if (none)
	{
		j->pools = 1;
		want = ~(rb_count) 0 / 2;
	}
	else
	{
		fit = left / (unit * j->pools);
		if (fit < 2 * reserve)
		{
			j->pools = 1;
			fit = left / unit;
		}
		if (want > fit)
		{
			/* If memory is short, use fewer blocks, each of which can work longer. */
			want = fit;
			if (blocks > fit / reserve / 2)
				j->blocks = (int) (fit / reserve / 2 > 0 ? fit / reserve / 2 : 1);
		}
		if (want < reserve)
		{
			run->need = run->used + reserve * unit;
			return RB_DEVICE_FULL;
		}
	}
	/*
	 * If the pool holds the maximum output in addition to the blocks' reservations, no item is left
	 * over.
	 */
	j->whole = all <= RB_SMALL_JOIN && want >= all + (rb_count) j->blocks * reserve;
	RB_TRY(
		rb_device_alloc(run, (void **) &j->tally, 2 * sizeof(rb_launch_tally) + sizeof(rb_count)));
	j->args.next = (rb_count *) (j->tally + 2);
	RB_CUDA(run, cudaMemsetAsync(j->tally, 0, 2 * sizeof(rb_launch_tally) + sizeof(rb_count),
								 run->queue->compute));
	for (int k = 0; k < j->pools; k++)
	{
		rb_pool *pool = &j->pool[k];

		pool->capacity = want;
		pool->tally = j->tally + k;
		if (j->args.records)
			RB_TRY(rb_device_alloc(run, (void **) &pool->records, want));
		if (none || j->args.records)
			continue;
		RB_TRY(rb_device_alloc(run, (void **) &pool->hits, want * unit));
		if (!j->args.boxes)
			pool->undecided = pool->hits + want;
	}
	return RB_OK;
}

/* Frees the pools and their tallies. */
static void
free_output_pools(rb_joiner *j)
{
	for (int k = 0; k < 2; k++)
	{
		rb_device_free(j->run, (void **) &j->pool[k].hits);
		j->pool[k].undecided = NULL;
		rb_device_free(j->run, (void **) &j->pool[k].records);
	}
	rb_device_free(j->run, (void **) &j->tally);
	rb_device_free(j->run, (void **) &j->room);
	j->exact_blocks = 0;
}

/*
 * Copies the tally to the host with a kernel. A copy command would wait for the transfer of pairs
 * in progress, and the stream would wait for the copy.
 */
static __global__ void
tally_kernel(const rb_launch_tally *tally, const rb_count *next, rb_launch_tally *result)
{
	rb_launch_tally t = *tally;

	t.next = *next;
	*result = t;
}

/* Reports the current counters of launch k in the mailbox and records the event. */
static rb_status
report_tally_of_launch(rb_joiner *j, int k, int event)
{
	rb_device_run *run = j->run;

	tally_kernel<<<1, 1, 0, run->queue->compute>>>(j->pool[k].tally, j->args.next,
												   &run->queue->mailbox->tally[k]);
	RB_LAUNCHED(run, "tally_kernel");
	RB_CUDA(run, cudaEventRecord(run->queue->launch[k][event], run->queue->compute));
	return RB_OK;
}

/*
 * Allocates space for as many blocks of exact signs as memory allows. Returns RB_OK even if there
 * is none.
 */
static rb_status
allocate_exact_scratch(rb_joiner *j, int blocks)
{
	rb_device_run *run = j->run;
	rb_status status = RB_OK;

	if (blocks <= j->exact_blocks)
		return RB_OK;
	rb_device_free(run, (void **) &j->room);
	j->exact_blocks = 0;
	for (; blocks > 0; blocks /= 2)
	{
		status = rb_device_alloc(run, (void **) &j->room, rb_exact_room(blocks));
		if (status != RB_DEVICE_FULL)
			break;
	}
	if (status == RB_OK)
		j->exact_blocks = blocks;
	return status == RB_DEVICE_FULL ? RB_OK : status;
}

/*
 * Launches exact signs for the pairs that launch k left undecided, in at most `blocks` blocks, if
 * there is space.
 */
static rb_status
launch_exact_signs(rb_joiner *j, int k, int blocks)
{
	rb_device_run *run = j->run;

	RB_TRY(allocate_exact_scratch(j, blocks));
	if (j->exact_blocks == 0)
		return RB_OK;
	j->args.pool = j->pool[k];
	RB_CUDA(run, cudaEventRecord(run->queue->launch[k][EXACT_BEGUN], run->queue->compute));
	RB_TRY(rb_exact_launch(run, &j->args, blocks < j->exact_blocks ? blocks : j->exact_blocks,
						   j->room));
	if (run->words != NULL)
		RB_TRY(launch_words_of_hits(run, &j->args, true));
	return report_tally_of_launch(j, k, EXACT_TALLY_READ);
}

/*
 * Launches, without any work, each kernel that will later be queued behind a long one. At its first
 * launch the driver loads a kernel, enlarges the stacks on the device, and waits until the device
 * is idle. During that wait the host could not forward a stop request.
 */
static rb_status
preload_join_kernels(rb_joiner *j)
{
	rb_device_run *run = j->run;
	const uint32_t sort =
		1u << (j->args.boxes ? 0 : 1 + 2 * (uint32_t) j->args.predicate + (j->args.marks != NULL));

	if (rb_load(&run->device->tried) & sort)
		return RB_OK;
	j->args.pool = j->pool[0];
	if (!j->args.boxes)
	{
		RB_TRY(rb_filters_launch(run, &j->args));
		RB_TRY(rb_exact_launch(run, &j->args, 1, NULL));
	}
	if (run->words != NULL && !j->args.boxes)
		RB_TRY(launch_words_of_hits(run, &j->args, true));
	RB_TRY(report_tally_of_launch(j, 0, TALLY_READ));
	/*
	 * Concurrent joins may overwrite each other's bit, in which case the kernels are merely
	 * launched once more.
	 */
	rb_store(&run->device->tried, rb_load(&run->device->tried) | sort);
	return RB_OK;
}

/* Launches the kernels that fill pool k. The pool's tally must be zero. */
static rb_status
launch_join_into_pool(rb_joiner *j, int k)
{
	rb_device_run *run = j->run;
	cudaStream_t stream = run->queue->compute;
	cudaEvent_t *event = run->queue->launch[k];

	j->args.pool = j->pool[k];
	RB_CUDA(run, cudaEventRecord(event[BEGUN], stream));
	RB_TRY(rb_cells_launch(run, &j->args, j->blocks));
	/*
	 * Set the marks now, so that the filters and exact signs skip marked pairs. Counts must wait
	 * until all hits are known.
	 */
	if (j->args.marks != NULL && !j->args.boxes)
		RB_TRY(launch_words_of_hits(run, &j->args, false));
	RB_CUDA(run, cudaEventRecord(event[CELLS_DONE], stream));
	if (!j->args.boxes)
		RB_TRY(rb_filters_launch(run, &j->args));
	if (run->words != NULL && !j->args.boxes)
		RB_TRY(launch_words_of_hits(run, &j->args, false));
	RB_CUDA(run, cudaEventRecord(event[FILTERS_DONE], stream));
	j->asked = false;
	if (j->whole && !j->args.boxes)
	{
		RB_TRY(launch_exact_signs(j, k, run->device->sms));
		j->asked = j->exact_blocks > 0;
	}
	return j->asked ? RB_OK : report_tally_of_launch(j, k, TALLY_READ);
}

/* Clears the tally of pool k and launches into it again. */
static rb_status
launch_into_pool_again(rb_joiner *j, int k)
{
	RB_CUDA(j->run,
			cudaMemsetAsync(j->pool[k].tally, 0, sizeof(rb_launch_tally), j->run->queue->compute));
	return launch_join_into_pool(j, k);
}

/* Adds the time between two events of a launch to a stage of the join's statistics. */
static rb_status
add_time_between_events(rb_device_run *run, rb_stage stage, cudaEvent_t from, cudaEvent_t to)
{
	float ms;

	RB_CUDA(run, cudaEventElapsedTime(&ms, from, to));
	run->ctx->stats.stage[stage].ms += ms;
	return RB_OK;
}

/* Adds the work and time of a launch to the statistics. */
static rb_status
add_stats_of_launch(rb_device_run *run, int k, bool faces)
{
	const rb_launch_tally *tally = &run->queue->mailbox->tally[k];
	const cudaEvent_t *event = run->queue->launch[k];
	rb_stats *stats = &run->ctx->stats;
	float ms;

	RB_CUDA(run, cudaEventElapsedTime(&ms, event[BEGUN], event[CELLS_DONE]));
	RB_TRY(add_time_between_events(run, RB_STAGE_DOUBLE, event[CELLS_DONE], event[FILTERS_DONE]));
	stats->stage[RB_STAGE_CANDIDATES].ms += ms;
	stats->stage[RB_STAGE_CANDIDATES].count += tally->candidates;
	stats->redundant_tests += tally->redundant;
	if ((run->ctx->filters & RB_FILTER_FLOAT) && faces)
	{
		/* One kernel performs both stages, so divide its time in proportion to clock cycles. */
		double share = tally->clocks > 0 ? (double) tally->float_clocks / tally->clocks : 0;

		stats->stage[RB_STAGE_FLOAT].count += tally->candidates;
		stats->stage[RB_STAGE_FLOAT].ms += share * ms;
		stats->stage[RB_STAGE_CANDIDATES].ms -= share * ms;
	}
	stats->stage[RB_STAGE_DOUBLE].count += tally->float_undecided;
	return RB_OK;
}

/* ---- results of a finished launch ---- */

/* Sends the pairs at the end of an array to the host's GMP. */
static rb_status
drain_pairs_for_host(rb_joiner *j, const rb_pair *end, rb_count n)
{
	double began = rb_now_ms();

	if (n == 0)
		return RB_OK;
	RB_TRY(rb_download(j->run, end - n, n * sizeof(rb_pair), sizeof(rb_pair),
					   emit_pairs_decided_by_host, j));
	j->run->ctx->stats.stage[RB_STAGE_EXACT].ms += rb_now_ms() - began;
	return RB_OK;
}

/* Handles the pairs that the filters left: first by the device's exact signs, then on the host. */
static rb_status
drain_undecided_pairs(rb_joiner *j, int k)
{
	rb_device_run *run = j->run;
	const rb_launch_tally *tally = &run->queue->mailbox->tally[k];
	const rb_pool *pool = &j->pool[k];
	rb_stats *stats = &run->ctx->stats;

	if (j->exact_blocks == 0)
	{
		stats->stage[RB_STAGE_EXACT].count += tally->filter_undecided;
		return drain_pairs_for_host(j, pool->hits + pool->capacity, tally->filter_undecided);
	}
	RB_TRY(rb_wait(run, run->queue->launch[k][EXACT_TALLY_READ]));
	RB_TRY(add_time_between_events(run, RB_STAGE_EXACT, run->queue->launch[k][EXACT_BEGUN],
								   run->queue->launch[k][EXACT_TALLY_READ]));
	stats->stage[RB_STAGE_EXACT].count += tally->exact;
	stats->exact_integer += tally->integer;
	stats->exact_expansion += tally->expansion;
	RB_TRY(emit_hits_of_launch(j, pool->undecided, tally->exact_hits));
	return drain_pairs_for_host(j, pool->undecided + pool->capacity, tally->host_undecided);
}

/* Sends the output of pool k to the host, and decides its undecided pairs. */
static rb_status
drain_output_pool(rb_joiner *j, int k)
{
	const rb_launch_tally *tally = &j->run->queue->mailbox->tally[k];
	const bool undecided = tally->filter_undecided > 0;
	const rb_count hits = tally->hits;

	if (j->args.records)
		return emit_compressed_records(j, j->pool[k].records, tally->bytes, tally->hits);
	if (undecided && !j->asked)
		RB_TRY(launch_exact_signs(j, k, rb_exact_blocks(j->run, tally->filter_undecided)));
	RB_TRY(emit_hits_of_launch(j, j->pool[k].hits, hits));
	return undecided ? drain_undecided_pairs(j, k) : RB_OK;
}

/* Joins the work items of a level. If `last` is set, no other level needs its memory. */
static rb_status
join_items_of_level(rb_joiner *j, rb_level *level, bool last)
{
	rb_device_run *run = j->run;
	int running = 1;
	bool more;

	j->args.items = level->items;
	j->args.nitems = level->nitems;
	for (int s = 0; s < 2; s++)
		j->args.entry[s] = level->entry[j->self ? 0 : s];
	RB_TRY(make_output_pools(j, level));
	RB_TRY(preload_join_kernels(j));
	RB_TRY(launch_join_into_pool(j, 0));
	/* Memory is freed in stream order while the device works. */
	rb_level_spent(run, level);
	if (j->whole && last)
		rb_level_free(run, level);
	for (int k = 0, both = 1; running > 0; k = (k + 1) % both)
	{
		const rb_launch_tally *tally = &run->queue->mailbox->tally[k];

		RB_TRY(rb_wait(run, run->queue->launch[k][j->asked ? EXACT_TALLY_READ : TALLY_READ]));
		RB_TRY(add_stats_of_launch(run, k, j->args.faces));
		more = tally->next < level->nitems;
		rb_progress(run->ctx, RB_STAGE_CANDIDATES, more ? tally->next : level->nitems,
					level->nitems);
		/* Use the second pool only after the first one was full. */
		if (more && both < j->pools)
		{
			RB_TRY(launch_join_into_pool(j, 1));
			both = 2;
			running++;
		}
		RB_TRY(drain_output_pool(j, k));
		if (more)
			RB_TRY(launch_into_pool_again(j, k));
		else
			running--;
	}
	free_output_pools(j);
	return RB_OK;
}

/* Initializes the join of two sides. */
static void
init_joiner(rb_joiner *j, rb_device_run *run, const rb_device_set side[2], bool self)
{
	const rb_predicate predicate = run->job->predicate;

	memset(j, 0, sizeof(*j));
	j->run = run;
	j->self = self;
	for (int s = 0; s < 2; s++)
		j->args.side[s] = j->side[s] = side[self ? 0 : s];
	j->args.self = self;
	j->args.filters = run->ctx->filters;
	j->args.predicate = predicate;
	j->args.distance = run->job->distance;
	j->args.payload = (uint32_t) rb_payload_of_generic(predicate) << RB_PAYLOAD_SHIFT;
	j->args.within = run->job->within_rows;
	j->args.axes = rb_kind_dims(side[0].kind) == 2 ? 3 : 7;
	j->args.faces = rb_faces_decide(predicate, j->side[0].kind, j->side[1].kind) ||
					rb_faces_part(predicate, j->side[0].kind, j->side[1].kind);
	j->args.boxes = rb_boxes_decide(predicate, j->side[0].kind, j->side[1].kind);
	j->args.stop = run->queue->stop;
	/* With a tile, the host must see the pairs to decide which belong to it. */
	j->args.count_only = run->job->answer == RB_COUNT && run->job->tile.dims == 0 &&
						 run->job->red->row_of == NULL &&
						 (run->job->blue == NULL || run->job->blue->row_of == NULL);
	j->args.records = j->args.boxes && run->sink->put_records != NULL && !j->args.count_only &&
					  run->words == NULL;
	j->args.counts = run->job->answer == RB_COUNTS ? run->words : NULL;
	j->args.marks = run->job->answer == RB_HITS ? run->words : NULL;
	j->args.of = run->job->of;
}

/* Joins all levels, starting at the top. */
static rb_status
join_levels(rb_joiner *j)
{
	rb_device_run *run = j->run;
	rb_level level, next;

	RB_TRY(rb_level_top(run, j->side, j->self, &level));
	while (level.nnodes > 0)
	{
		RB_TRY(rb_level_fill(run, j->side, j->self, &level, &next));
		for (int s = 0; s < 2; s++)
			rb_device_free(run, (void **) &level.above[s]);
		if (level.nitems > 0)
		{
			run->ctx->stats.box_tests += level.item_tests / (j->self ? 2 : 1);
			RB_TRY(join_items_of_level(j, &level, next.nnodes == 0));
			RB_TRY(rb_mark(run, -1));
		}
		if (next.nnodes == 0)
			break;
		/* Keep the entries: the nodes of the next level refer to them. */
		level.entry[0] = level.entry[1] = NULL;
		rb_level_free(run, &level);
		level = next;
	}
	for (int s = 0; s < 2; s++)
		rb_device_free(run, (void **) &level.above[s]);
	rb_level_free(run, &level);
	return RB_OK;
}

rb_status
rb_join_sides(rb_device_run *run, const rb_device_set side[2], bool self)
{
	rb_joiner j;
	rb_status status;

	init_joiner(&j, run, side, self);
	status = join_levels(&j);
	rb_team_close(&j.team);
	return status;
}
