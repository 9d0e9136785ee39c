/*
 * multi_device.c
 *	  Runs one join on several devices at once, and recovers when a device fails.
 *
 *						  +-> device 0: open, join partition, join ... -+
 *	  job -> partitions ->+-> device 1: ...                            -+-> sink
 *			 of space	  +-> (no device left: the CPU)                -+
 *
 * Space is cut into as many partitions as devices take part (partitions.c). Each pair of parts lies
 * in exactly one partition (rb_partition_meets), whichever device searches it. So the devices
 * together find each pair of the join exactly once.
 *
 * The partitions wait in a queue. Each device has a thread that takes one partition after the
 * other. A device takes partitions only after it has been opened, so devices that were already open
 * may finish all of them before that. If a device is full, fails or is missing, its partition
 * returns to the queue, provided that none of its pairs were returned, and the device takes no more
 * partitions. If pairs were returned, no other device can restart the partition, because they would
 * be returned twice. This does not matter if duplicates have no effect (rb_sink.again). Where only
 * the number of pairs is requested, it is held back until a partition is finished.
 *
 * A join that is too small for partitions runs on one device, the first that is able to.
 *
 * The caller's thread waits, passes on cancellation requests, and reports progress.
 */
#include "core/exec/kept_thread.h"
#include "core/join/join.h"

#include <fenv.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define LOOK_NS 5000000 /* Nanoseconds between checks for cancellation */

struct rb_device_join;

/* A device, or the CPU, that takes part in a join */
typedef struct rb_join_device
{
	struct rb_device_join *all;
	const rb_backend *backend;
	rb_context *ctx; /* The caller's context, or `own` */
	rb_context own;
	rb_kept_work work; /* Its work, for a kept thread */
	bool ended;
	uint32_t put;  /* Nonzero if pairs of the current partition were returned */
	uint64_t held; /* Number of pairs found, if only the number is requested */
	int index;     /* Index in the statistics */
} rb_join_device;

typedef struct rb_device_join
{
	rb_context *ctx;
	const rb_job *job;
	const rb_sink *sink;
	bool numbers;         /* True if only the number of pairs is requested */
	bool words;           /* True if devices may deliver words while other devices deliver pairs */
	pthread_rwlock_t one; /* Write-locked while words are delivered, to exclude other calls */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	rb_box share[RB_MAX_DEVICES];
	uint32_t waiting; /* Bitmap of waiting partitions */
	uint32_t running;
	bool over;         /* True if no more partitions may be taken */
	rb_status status;  /* First failure, or RB_OK */
	rb_stats sum;      /* Statistics of the finished partitions */
	int workers;       /* Number of devices that have finished a partition */
	rb_status refusal; /* First recoverable failure of a device */
	rb_error why;      /* Error that belongs to `refusal` */
	rb_join_device card[RB_MAX_DEVICES];
	int cards;
} rb_device_join;

/* ---- selection of devices ---- */

/*
 * Returns the number of devices over which work on this backend can be partitioned, at most
 * RB_MAX_DEVICES; they need not be usable.
 */
static int
count_devices_of_backend(const rb_backend *device)
{
	const int n = device->devices != NULL ? device->devices() : 1;

	return n < RB_MAX_DEVICES ? n : RB_MAX_DEVICES;
}

/*
 * Lists the usable devices that the settings permit to share a join, initialized ones first. Writes
 * to `text` why a requested device is missing. If only devices may be used and a requested one does
 * not exist, returns 0.
 */
static int
list_devices_for_join(const rb_context *ctx, const rb_backend *device, int card[RB_MAX_DEVICES],
					  char *text, size_t size)
{
	const int count = count_devices_of_backend(device);
	bool missing = false;
	int n = 0, warm = 0;

	text[0] = '\0';
	for (int i = 0; i < RB_MAX_DEVICES; i++)
	{
		char why[200] = "";

		if (ctx->settings.devices != 0 ? !(ctx->settings.devices >> i & 1) : i >= count)
			continue;
		if (device->probe(i, why, sizeof(why)) != RB_OK)
		{
			if (text[0] == '\0' || (i >= count && !missing))
				snprintf(text, size, "%s", why);
			missing |= i >= count;
			continue;
		}
		card[n] = i;
		if (device->warm(i))
		{
			memmove(card + warm + 1, card + warm, (size_t) (n - warm) * sizeof(int));
			card[warm++] = i;
		}
		n++;
	}
	if (ctx->settings.devices == 0 && count == 0)
		(void) device->probe(0, text, size);
	return missing && ctx->settings.only_devices ? 0 : n;
}

/* ---- callbacks in front of the sink ---- */

/* Passes pairs of one device to the sink of the join. */
static rb_status
send_pairs_of_device(void *user, const rb_pair *pairs, size_t n)
{
	rb_join_device *c = user;
	rb_device_join *all = c->all;
	rb_status status;

	if (all->numbers)
	{
		rb_add(&c->held, n);
		return rb_should_stop(c->ctx) ? RB_STOPPED : RB_OK;
	}
	if (!all->sink->again)
		rb_store(&c->put, 1);
	if (!all->words)
		return all->sink->put(all->sink->user, pairs, n);
	pthread_rwlock_rdlock(&all->one);
	status = all->sink->put(all->sink->user, pairs, n);
	pthread_rwlock_unlock(&all->one);
	return status;
}

/* Passes words of an aggregate from one device to the sink, while no other device writes. */
static rb_status
send_words_of_device(void *user, const uint32_t *words, size_t first, size_t n)
{
	rb_join_device *c = user;
	rb_device_join *all = c->all;
	rb_status status;

	if (!all->sink->again)
		rb_store(&c->put, 1);
	pthread_rwlock_wrlock(&all->one);
	status = all->sink->put_words(all->sink->user, words, first, n);
	pthread_rwlock_unlock(&all->one);
	return status;
}

/* ---- one partition ---- */

/* Adds the statistics of a partition; the lock is held. */
static void
add_partition_stats(rb_join_device *c, double ms)
{
	rb_stats *sum = &c->all->sum;
	rb_stats *one = &c->ctx->stats;
	char device[sizeof(one->device)];

	snprintf(device, sizeof(device), "%s", sum->device);
	c->all->workers += sum->card[c->index].shares == 0;
	one->card[c->index].shares = 1;
	one->card[c->index].ms = ms;
	one->card[c->index].hits = one->hits;
	rb_stats_add(sum, one);
	/* If there are several devices, list each name once. */
	if (device[0] != '\0' && strstr(device, sum->device) == NULL)
	{
		char both[2 * sizeof(device) + 2] = "";

		snprintf(both, sizeof(both), "%s; %s", device, sum->device);
		memcpy(sum->device, both, sizeof(device) - 1);
	}
	else if (device[0] != '\0')
		memcpy(sum->device, device, sizeof(device));
}

/* Ends the join with the given status; the lock is held. */
static void
end_join_on_devices(rb_device_join *all, rb_status status)
{
	if (all->status == RB_OK)
		all->status = status;
	all->over = true;
}

/*
 * Joins one partition. The lock is held, except while the device works. Returns false if this
 * device must not take further partitions.
 */
static bool
join_partition_on_device(rb_join_device *c, int share)
{
	rb_device_join *all = c->all;
	rb_sink sink = *all->sink;
	rb_job job = *all->job;
	double began = rb_now_ms();
	rb_status status;

	all->waiting &= ~(1u << share);
	all->running |= 1u << share;
	pthread_mutex_unlock(&all->lock);

	sink.put = send_pairs_of_device;
	sink.put_words = sink.put_words != NULL ? send_words_of_device : NULL;
	/* Records of two devices would be mixed, as they may be cut anywhere */
	sink.put_records = NULL;
	sink.user = c;
	job.share = all->share[share];
	memset(&c->ctx->stats, 0, sizeof(c->ctx->stats));
	c->put = 0;
	c->held = 0;
	status = c->backend->join(c->ctx, &job, &sink);
	if (status == RB_OK && c->held > 0)
	{
		rb_store(&c->put, 1);
		status = all->sink->put(all->sink->user, NULL, c->held);
	}

	pthread_mutex_lock(&all->lock);
	all->running &= ~(1u << share);
	if (status == RB_OK)
		add_partition_stats(c, rb_now_ms() - began);
	else if (rb_is_device_failure(status) && !rb_load(&c->put) && !all->over)
	{
		all->waiting |= 1u << share;
		if (all->refusal == RB_OK)
		{
			all->refusal = status;
			all->why = c->ctx->error;
		}
	}
	else
	{
		if (!all->over && c->ctx != all->ctx && c->ctx->error.status != RB_OK)
			(void) rb_fail(all->ctx, c->ctx->error.status, c->ctx->error.need, c->ctx->error.limit,
						   c->ctx->error.text);
		end_join_on_devices(all, status);
	}
	pthread_cond_broadcast(&all->changed);
	return status == RB_OK;
}

/*
 * Returns the next partition, waiting if a running one may be returned to the queue, or -1 if none
 * will follow. The lock is held.
 */
static int
next_partition_for_device(rb_device_join *all)
{
	while (!all->over && all->waiting == 0 && all->running != 0)
		pthread_cond_wait(&all->changed, &all->lock);
	return all->over || all->waiting == 0 ? -1 : __builtin_ctz(all->waiting);
}

/* Joins partitions on one device until none are left or the device fails. */
static void
run_device_thread(void *arg)
{
	rb_join_device *c = arg;
	rb_device_join *all = c->all;
	rb_status status = RB_OK;
	int share;

	/* Error bounds require rounding to nearest and gradual underflow. */
	fesetenv(FE_DFL_ENV);
	if (c->backend->open != NULL)
		status = c->backend->open(c->ctx);
	pthread_mutex_lock(&all->lock);
	/* Whatever the failure, the other devices can continue. */
	if (status != RB_OK && status != RB_STOPPED && all->refusal == RB_OK)
	{
		all->refusal = status;
		all->why = c->ctx->error;
	}
	while (status == RB_OK && (share = next_partition_for_device(all)) >= 0)
		if (!join_partition_on_device(c, share))
			break;
	c->ended = true;
	pthread_cond_broadcast(&all->changed);
	pthread_mutex_unlock(&all->lock);
}

/* ---- all devices, for the caller's thread ---- */

/* Starts the work of one more device on a thread. Returns false if no thread can be created. */
static bool
start_device_thread(rb_device_join *all, const rb_backend *device, int number, int threads)
{
	rb_join_device *c = &all->card[all->cards];
	bool started;

	c->all = all;
	c->backend = device;
	c->index = number;
	rb_context_init(&c->own, all->ctx->memory);
	c->own.threads = threads > 1 ? threads : 1;
	c->own.device = number;
	c->own.settings = all->ctx->settings;
	c->own.filters = all->ctx->filters;
	c->own.asked = all->ctx->asked;
	c->ctx = &c->own;
	c->work = (rb_kept_work){.run = run_device_thread, .arg = c, .device = number};
	started = rb_kept_thread_start(&c->work);
	all->cards += started;
	return started;
}

/* Returns the number of devices that have ended. */
static int
count_ended_devices(const rb_device_join *all)
{
	int n = 0;

	for (int i = 0; i < all->cards; i++)
		n += all->card[i].ended;
	return n;
}

/*
 * Reports the earliest stage of any active device, and the summed progress of the devices in that
 * stage.
 */
static void
report_devices_progress(rb_device_join *all)
{
	int stage = RB_STAGES;
	uint64_t done = 0, total = 0;

	for (int i = 0; i < all->cards; i++)
	{
		const rb_context *ctx = all->card[i].ctx;

		/* The device has finished or is not open yet. */
		if (all->card[i].ended || rb_load(&ctx->stage) <= RB_STAGE_READ)
			continue;
		if (rb_load(&ctx->stage) < stage)
		{
			stage = rb_load(&ctx->stage);
			done = total = 0;
		}
		if (rb_load(&ctx->stage) == stage)
		{
			done += rb_load(&ctx->done);
			total += rb_load(&ctx->total);
		}
	}
	if (stage < RB_STAGES)
		rb_progress(all->ctx, (rb_stage) stage, done < total ? done : total, total);
}

/*
 * Waits until all devices have ended. A device that dropped out or got no thread is replaced by a
 * spare one, so that n devices are active. The lock is held.
 */
static void
wait_for_all_devices(rb_device_join *all, const rb_backend *device, int n, const int *spare,
					 int spares, int threads)
{
	int replaced = 0;

	while (count_ended_devices(all) < all->cards ||
		   (!all->over && all->waiting != 0 && replaced < spares))
	{
		struct timespec until;

		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += LOOK_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		(void) pthread_cond_timedwait(&all->changed, &all->lock, &until);
		report_devices_progress(all);
		if (rb_should_stop(all->ctx))
			end_join_on_devices(all, RB_STOPPED);
		if (all->waiting == 0 && all->running == 0)
			all->over = true;
		for (int i = 0; i < all->cards && all->over; i++)
			if (!all->card[i].ended)
				rb_context_stop(all->card[i].ctx); /* The device may still be opening */
		if (all->over)
			pthread_cond_broadcast(&all->changed);
		else if (all->waiting != 0 && all->cards - count_ended_devices(all) < n &&
				 replaced < spares)
			(void) start_device_thread(all, device, spare[replaced++], threads);
	}
	for (int i = 0; i < all->cards; i++)
	{
		pthread_mutex_unlock(&all->lock);
		rb_kept_thread_wait(&all->card[i].work);
		pthread_mutex_lock(&all->lock);
	}
}

/*
 * Processes the partitions that no device could process, on this thread and those of the context;
 * the lock is held.
 */
static void
join_partitions_on_cpu(rb_device_join *all)
{
	rb_join_device c = {
		.all = all, .backend = &rb_backend_cpu, .ctx = all->ctx, .index = RB_MAX_DEVICES};
	const rb_stats before = all->ctx->stats;

	while (all->status == RB_OK && all->waiting != 0)
		(void) join_partition_on_device(&c, __builtin_ctz(all->waiting));
	all->ctx->stats = before;
}

/* Initializes a join on several devices. */
static void
init_join_on_devices(rb_device_join *all, rb_context *ctx, const rb_job *job, const rb_sink *sink)
{
	pthread_condattr_t attr;

	memset(all, 0, sizeof(*all));
	all->ctx = ctx;
	all->job = job;
	all->sink = sink;
	/* The sink accepts NULL for the pairs in this case. */
	all->numbers = job->answer == RB_COUNT && job->tile.dims == 0 && job->red->row_of == NULL &&
				   rb_job_blue(job)->row_of == NULL;
	all->words = sink->put_words != NULL;
	pthread_rwlock_init(&all->one, NULL);
	pthread_mutex_init(&all->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&all->changed, &attr);
	pthread_condattr_destroy(&attr);
}

/* Destroys the locks of a join on several devices, whose devices have ended. */
static void
destroy_locks_of_device_join(rb_device_join *all)
{
	pthread_rwlock_destroy(&all->one);
	pthread_mutex_destroy(&all->lock);
	pthread_cond_destroy(&all->changed);
}

/* Completes the statistics; times are averages over the devices. */
static void
average_stats_of_devices(rb_device_join *all, const rb_backend *device)
{
	rb_stats *sum = &all->sum;
	int devices = 0;

	for (int i = 0; i < RB_MAX_DEVICES; i++)
		devices += sum->card[i].shares > 0;
	for (int i = 0; i < RB_STAGES && all->workers > 0; i++)
		sum->stage[i].ms /= all->workers;
	if (devices > 1 && strstr(sum->device, "; ") == NULL)
	{
		char text[sizeof(sum->device) + 16] = "";

		snprintf(text, sizeof(text), "%d x %s", devices, sum->device);
		memcpy(sum->device, text, sizeof(sum->device) - 1);
	}
	snprintf(sum->backend, sizeof(sum->backend), "%s",
			 devices > 0 ? device->name : rb_backend_cpu.name);
	snprintf(sum->note, sizeof(sum->note), "%s", all->why.text);
	rb_stats_add(&all->ctx->stats, sum);
}

/* Joins n partitions on the first n devices of the list; the others are spares. */
static rb_status
share_join_among_devices(rb_context *ctx, const rb_backend *device, const rb_job *job,
						 const rb_sink *sink, const int *card, int cards, int n)
{
	const int threads = ctx->threads / n;
	rb_device_join all;
	rb_status status;

	init_join_on_devices(&all, ctx, job, sink);
	status = rb_partitions_cut(ctx, job, n, all.share);
	if (status == RB_OK)
	{
		all.waiting = (1u << n) - 1;
		pthread_mutex_lock(&all.lock);
		for (int i = 0; i < n; i++)
			(void) start_device_thread(&all, device, card[i], threads);
		wait_for_all_devices(&all, device, n, card + n, cards - n, threads);
		if (all.status == RB_OK && all.waiting != 0 && rb_should_stop(ctx))
			all.status = RB_STOPPED;
		if (all.status == RB_OK && all.waiting != 0 && !ctx->settings.only_devices)
		{
			all.over = false;
			join_partitions_on_cpu(&all);
		}
		else if (all.status == RB_OK && all.waiting != 0)
			all.status = rb_fail(ctx, all.cards == 0 ? RB_NO_THREAD : all.refusal, all.why.need,
								 all.why.limit, all.why.text);
		pthread_mutex_unlock(&all.lock);
		status = all.status;
		if (status == RB_OK)
			average_stats_of_devices(&all, device);
	}
	destroy_locks_of_device_join(&all);
	return ctx->error.status != RB_OK ? ctx->error.status : status;
}

/* Tries the whole join on one device after the other until one succeeds. */
static rb_status
join_on_first_able_device(rb_context *ctx, const rb_backend *device, const rb_job *job,
						  const rb_sink *sink, const int *card, int cards)
{
	const rb_stats before = ctx->stats;
	rb_status status = RB_NO_DEVICE;

	for (int i = 0; i < cards; i++)
	{
		ctx->device = card[i];
		status = device->join(ctx, job, sink);
		if (!rb_is_device_failure(status) || ctx->stats.hits > before.hits || i == cards - 1)
			break;
		rb_forget_failure(ctx);
		if (rb_should_stop(ctx))
			return RB_STOPPED;
		ctx->stats = before;
	}
	return status;
}

/* ---- backend ---- */

static const rb_backend *shared_device;

/* Joins on as many devices as the job has parts for. */
static rb_status
join_on_devices(rb_context *ctx, const rb_job *job, const rb_sink *sink)
{
	const rb_backend *device = rb_acquire(&shared_device);
	/* Each part of a self join is on both sides: it costs at least as much as two parts. */
	const uint64_t parts = (uint64_t) job->red->nparts + rb_job_blue(job)->nparts;
	uint64_t n = device->share_parts > 0 ? parts / device->share_parts : 0;
	char text[sizeof(ctx->error.text)];
	int card[RB_MAX_DEVICES];
	int cards = list_devices_for_join(ctx, device, card, text, sizeof(text));

	if (cards == 0)
		return rb_fail(ctx, RB_NO_DEVICE, 0, 0, text);
	if (n > (uint64_t) cards)
		n = (uint64_t) cards;
	if (n < 2 || job->share.dims != 0)
		return join_on_first_able_device(ctx, device, job, sink, card, cards);
	return share_join_among_devices(ctx, device, job, sink, card, cards, (int) n);
}

/* Refines a mesh on the first device that can. */
static rb_status
refine_on_devices(rb_context *ctx, struct rb_refining *refining, size_t size)
{
	const rb_backend *device = rb_acquire(&shared_device);
	char text[sizeof(ctx->error.text)];
	int card[RB_MAX_DEVICES];
	const int cards = list_devices_for_join(ctx, device, card, text, sizeof(text));

	if (cards == 0 || device->refine == NULL)
		return rb_fail(ctx, RB_NO_DEVICE, 0, 0,
					   cards == 0 ? text : "the GPU backend cannot refine meshes");
	for (int i = 0;; i++)
	{
		rb_status status;

		ctx->device = card[i];
		status = device->refine(ctx, refining, size);
		if (status == RB_OK)
			(void) device->probe(card[i], ctx->stats.device, sizeof(ctx->stats.device));
		if (!rb_is_device_failure(status) || i == cards - 1)
			return status;
		rb_forget_failure(ctx);
	}
}

/*
 * Describes all devices that can share a join: the number of usable ones and the name of the
 * first.
 */
static rb_status
describe_all_devices(const rb_backend *device, char *text, size_t size)
{
	char first[200] = "", why[200] = "";
	int usable = 0;

	for (int i = 0; i < count_devices_of_backend(device) || i == 0; i++)
	{
		char one[200] = "";

		if (device->probe(i, one, sizeof(one)) != RB_OK)
		{
			if (why[0] == '\0')
				snprintf(why, sizeof(why), "%s", one);
		}
		else if (usable++ == 0)
			snprintf(first, sizeof(first), "%s", one);
	}
	if (usable > 1)
		snprintf(text, size, "%d x %s", usable, first);
	else
		snprintf(text, size, "%s", usable == 1 ? first : why);
	return usable > 0 ? RB_OK : RB_NO_DEVICE;
}

/*
 * Describes the device with this number, or, if the number is negative, all devices that can share
 * a join. Implements `probe` for several devices.
 */
static rb_status
probe_shared_devices(int number, char *text, size_t size)
{
	const rb_backend *device = rb_acquire(&shared_device);

	return number < 0 ? describe_all_devices(device, text, size)
					  : device->probe(number, text, size);
}

/*
 * Returns true if a join on several devices can start on one without first opening it. Implements
 * `warm` for several devices.
 */
static bool
is_any_device_warm(int number)
{
	const rb_backend *device = rb_acquire(&shared_device);

	(void) number;
	for (int i = 0; i < count_devices_of_backend(device); i++)
		if (device->warm(i))
			return true;
	return false;
}

/*
 * Returns the bytes of the copies of a cached set on all shared devices, or drops these copies.
 * Implements `copy_bytes` for several devices.
 */
static uint64_t
bytes_of_copies_on_devices(uint64_t number, bool drop)
{
	const rb_backend *device = rb_acquire(&shared_device);

	return device->copy_bytes != NULL ? device->copy_bytes(number, drop) : 0;
}

/*
 * Returns the number of devices that joins and refinements may share. Implements `devices` for
 * several devices.
 */
static int
count_shared_devices(void)
{
	return count_devices_of_backend(rb_acquire(&shared_device));
}

const rb_backend *
rb_backend_multi_device(const rb_backend *device)
{
	static const rb_backend backend = {.name = "cuda",
									   .probe = probe_shared_devices,
									   .join = join_on_devices,
									   .warm = is_any_device_warm,
									   .copy_bytes = bytes_of_copies_on_devices,
									   .refine = refine_on_devices,
									   .devices = count_shared_devices};

	rb_release(&shared_device, device);
	return &backend;
}
