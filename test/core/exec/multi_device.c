/*
 * multi_device.c
 *	  Tests a join on several devices: each pair of parts belongs to one partition and is returned
 *	  once, whichever device is full, fails, is missing or comes late. The devices are stubs that
 *	  join on the CPU.
 *
 * RB_TEST_SCALE multiplies the number of rounds.
 */
#include "fixtures.h"
#include "core/join/join.h"
#include "core/primitive/reference_point.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static rb_memory *memory;

/* ---- sides ---- */

enum
{
	UNIFORM,
	LATTICE, /* Parts that begin where others do; zeros of both signs */
	CLUSTERS,
	ONE_PLACE,
	FAR, /* Nearly the largest doubles */
	FAMILIES
};

static double
coordinate(int family, double centre, double size)
{
	const double x = centre + size * random_signed();

	switch (family)
	{
		case LATTICE:
			return rint(x * 8) == 0 && check_below(2) == 0 ? -0.0 : rint(x * 8);
		case ONE_PLACE:
			return 1;
		case FAR:
			return x * 0x1p1022;
		default:
			return x;
	}
}

/* Builds a side with parts of about the given size, in rows of up to `parts` parts. */
static rb_set
make_side(rb_kind kind, uint32_t n, int family, int parts, double size)
{
	const int dims = rb_kind_dims(kind), width = rb_kind_width(kind);
	double *c = malloc(((size_t) n + 1) * (size_t) width * sizeof(double));
	uint32_t *row_of = parts > 1 ? malloc(((size_t) n + 1) * sizeof(uint32_t)) : NULL;
	rb_set s = {.kind = kind, .nparts = n, .nrows = n, .coords = c, .row_of = row_of};
	uint32_t row = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		double centre[3];
		double *p = c + (size_t) i * (size_t) width;

		for (int a = 0; a < 3; a++)
			centre[a] = family == CLUSTERS && check_below(10) > 0 ? 0.01 * random_signed() + (i % 2)
																  : random_signed();
		for (int k = 0; k < width; k++)
			p[k] = coordinate(family, centre[k % dims], family == CLUSTERS ? 0.02 * size : size);
		order_box(kind, p);
		if (row_of != NULL)
			row_of[i] = row;
		row += parts > 1 && check_below(parts) == 0;
	}
	if (row_of != NULL)
		s.nrows = n > 0 ? row_of[n - 1] + 1 : 0;
	return s;
}

/* ---- results of a backend ---- */

typedef struct answer
{
	pthread_mutex_t lock;
	pair_list list;
	uint64_t numbers; /* Number of pairs counted but not returned */
	rb_status stop;   /* Status that the sink returns from the first pair on */
} answer;

static rb_status
take(void *user, const rb_pair *pairs, size_t n)
{
	answer *a = user;

	pthread_mutex_lock(&a->lock);
	if (pairs == NULL)
		a->numbers += n;
	else
		append_pairs(&a->list, pairs, n);
	pthread_mutex_unlock(&a->lock);
	return a->stop;
}

static void
answer_init(answer *a)
{
	memset(a, 0, sizeof(*a));
	pthread_mutex_init(&a->lock, NULL);
}

static void
answer_free(answer *a)
{
	pthread_mutex_destroy(&a->lock);
	free(a->list.pair);
}

static rb_status
ask(rb_context *ctx, const rb_backend *backend, const rb_job *job, answer *a)
{
	const rb_sink sink = {.put = take, .user = a};
	const rb_status status = backend->join(ctx, job, &sink);

	sort_pairs(&a->list);
	return status;
}

static void
compare(const char *what, const answer *want, const answer *got)
{
	CHECK(same_pairs(&want->list, &got->list), "%s: %zu pairs, not %zu", what, got->list.n,
		  want->list.n);
}

/* ---- partitions of space ---- */

static bool
in_share(const rb_job *job, const rb_box *share, rb_pair p)
{
	const double pad = rb_pad_of(job->predicate, job->distance);
	double lo[2][3], hi[3];

	rb_object_box(job->red, rb_pair_red(p), pad, lo[0], hi);
	rb_object_box(rb_job_blue(job), p.blue, pad, lo[1], hi);
	return rb_tile_owns(share->dims, share, lo[0], lo[1]);
}

/* Cuts space at random positions, some of which are ends of parts. */
static void
cut_at_random(const rb_job *job, int n, rb_box *share)
{
	int cut = 1;

	for (int i = 0; i < n; i++)
	{
		share[i].dims = rb_kind_dims(job->red->kind);
		for (int a = 0; a < 3; a++)
		{
			share[i].low[a] = -INFINITY;
			share[i].high[a] = INFINITY;
		}
	}
	for (int i = 1; i < n; i++)
	{
		const int of = check_below(cut), axis = check_below(share[0].dims);
		double lo[3], hi[3], at = random_signed();

		if (check_below(2) == 0)
		{
			rb_object_box(job->red, (uint32_t) check_below((int) job->red->nparts),
						  rb_pad_of(job->predicate, job->distance), lo, hi);
			at = check_below(2) == 0 ? lo[axis] : hi[axis];
		}
		if (!(at >= share[of].low[axis] && at <= share[of].high[axis]))
			continue;
		share[cut] = share[of];
		share[of].high[axis] = share[cut].low[axis] = at;
		cut++;
	}
	for (; cut < n; cut++) /* Partitions that were not cut off are empty */
		share[cut].high[0] = -INFINITY;
}

static void
each_pair_is_in_one_share(void)
{
	static const struct
	{
		rb_kind red, blue;
		rb_predicate predicate;
	} asked[] = {{RB_TRIANGLE3, RB_TRIANGLE3, RB_MEET},
				 {RB_BOX3, RB_BOX3, RB_MEET},
				 {RB_BOX2, RB_BOX2, RB_MEET},
				 {RB_SEGMENT3, RB_TRIANGLE3, RB_MEET},
				 {RB_SEGMENT2, RB_SEGMENT2, RB_MEET},
				 {RB_TRIANGLE3, RB_TRIANGLE3, RB_CONTACT},
				 {RB_TRIANGLE3, RB_TRIANGLE3, RB_WITHIN}};
	const long rounds = check_rounds(150);
	long pairs = 0, shared = 0;

	for (long round = 0; round < rounds; round++)
	{
		const int k = (int) (round % (long) (sizeof(asked) / sizeof(asked[0])));
		const int family = check_below(FAMILIES), parts = 1 + 3 * check_below(2);
		const double size = 0.01 + 0.2 * fabs(random_signed());
		const bool self = asked[k].red == asked[k].blue && check_below(2) == 0;
		/* Fewer and more rows than a leaf processes at once */
		const uint32_t most = check_below(4) == 0 ? RB_TILE + 500 : 200;
		rb_set red =
			make_side(asked[k].red, 1 + (uint32_t) check_below((int) most), family, parts, size);
		rb_set blue =
			make_side(asked[k].blue, 1 + (uint32_t) check_below((int) most), family, parts, size);
		const rb_job job = {.red = &red,
							.blue = self ? NULL : &blue,
							.predicate = asked[k].predicate,
							.distance = asked[k].predicate == RB_WITHIN ? 0.05 : 0,
							.within_rows = self && parts > 1 && check_below(4) == 0};
		const int n = 1 + check_below(6);
		rb_box share[6];
		answer want, all;
		rb_context ctx;
		size_t before = 0;

		/* Everything meets everything, so use fewer rows. */
		if (family == ONE_PLACE || family == LATTICE)
			red.nparts = red.nparts < 200 ? red.nparts : 200;
		red.nrows = red.row_of != NULL ? red.row_of[red.nparts - 1] + 1 : red.nparts;
		answer_init(&want);
		answer_init(&all);
		rb_context_init(&ctx, memory);
		ctx.threads = 1 + check_below(3);
		CHECK(ask(&ctx, &rb_backend_cpu, &job, &want) == RB_OK, "whole");
		if (check_below(3) == 0)
			cut_at_random(&job, n, share);
		else
			CHECK(rb_partitions_cut(&ctx, &job, n, share) == RB_OK, "%s", ctx.error.text);
		for (int i = 0; i < n; i++)
		{
			rb_job of = job;

			of.share = share[i];
			CHECK(ask(&ctx, &rb_backend_cpu, &of, &all) == RB_OK, "share %d", i);
			shared += all.list.n > before && all.list.n < want.list.n;
			before = all.list.n;
		}
		compare("all shares", &want, &all);
		for (size_t i = 0; i < want.list.n; i++)
		{
			int in = 0;

			for (int s = 0; s < n; s++)
				in += in_share(&job, &share[s], want.list.pair[i]);
			CHECK(in == 1, "a pair is in %d of %d shares", in, n);
		}
		pairs += (long) want.list.n;
		answer_free(&want);
		answer_free(&all);
		free_side(&red);
		free_side(&blue);
	}
	CHECK(pairs > rounds && shared > rounds / 4, "%ld pairs, %ld shares with some", pairs, shared);
}

/*
 * Tests that all partitions contain about the same number of pairs, for uniform and for clustered
 * data.
 */
static void
shares_are_alike(void)
{
	check_state = 7; /* Independent of the preceding tests */
	for (int family = 0; family < 3; family++)
		for (int n = 2; n <= 4; n++)
		{
			rb_set red = {.kind = RB_BOX3, .nparts = 40000, .nrows = 40000};
			double *c = malloc((size_t) 40000 * 6 * sizeof(double));
			rb_box share[4];
			rb_context ctx;
			uint64_t most = 0, sum = 0;
			const rb_job job = {.red = &red};

			red.coords = c;
			for (uint32_t i = 0; i < red.nparts; i++)
				for (int a = 0; a < 3; a++)
				{
					double x = random_signed();

					if (family == 1) /* Approximately normal */
						x = (random_signed() + random_signed() + random_signed() +
							 random_signed()) /
							4;
					if (family == 2) /* Dense near a corner of space */
						x = x * x * x;
					c[6 * i + (uint32_t) a] = x;
					c[6 * i + 3 + (uint32_t) a] = x + 0.05 * fabs(random_signed());
				}
			rb_context_init(&ctx, memory);
			CHECK(rb_partitions_cut(&ctx, &job, n, share) == RB_OK, "%s", ctx.error.text);
			for (int i = 0; i < n; i++)
			{
				rb_job of = job;
				answer got;

				answer_init(&got);
				of.share = share[i];
				CHECK(ask(&ctx, &rb_backend_cpu, &of, &got) == RB_OK, "share %d", i);
				/* Estimate the work of a partition, in about the same units. */
				got.list.n = got.list.n / 10;
				for (uint32_t k = 0; k < red.nparts; k++)
				{
					bool in = true;

					for (int a = 0; a < 3; a++)
						in &= c[6 * k + (uint32_t) a] < share[i].high[a] &&
							  c[6 * k + 3 + (uint32_t) a] >= share[i].low[a];
					got.list.n += in;
				}
				sum += got.list.n;
				most = got.list.n > most ? got.list.n : most;
				answer_free(&got);
			}
			/* The last family is so dense in one place that boxes are larger than a partition. */
			CHECK((double) most * n < (family == 2 ? 1.5 : 1.15) * (double) sum,
				  "family %d, %d shares: %lu of %lu", family, n, (unsigned long) most,
				  (unsigned long) sum);
			free(c);
		}
}

/* Tests partitions of sides that are almost empty. */
static void
few_parts(void)
{
	for (uint32_t n = 1; n < 5; n++)
		for (int self = 0; self < 2; self++)
		{
			rb_set red = make_side(RB_SEGMENT2, n, UNIFORM, 1, 0.3);
			rb_set blue = make_side(RB_SEGMENT2, 1, UNIFORM, 1, 0.3);
			const rb_job job = {.red = &red, .blue = self ? NULL : &blue};
			rb_box share[RB_MAX_DEVICES];
			rb_context ctx;

			rb_context_init(&ctx, memory);
			CHECK(rb_partitions_cut(&ctx, &job, RB_MAX_DEVICES, share) == RB_OK, "%u parts", n);
			for (int i = 0; i < RB_MAX_DEVICES; i++)
				CHECK(share[i].dims == 2 && share[i].low[0] <= share[i].high[0], "share %d", i);
			free_side(&red);
			free_side(&blue);
		}
}

/*
 * Tests that cuts of cached sets are remembered by the numbers of the sets. Different coordinates
 * with the same numbers, which do not occur in practice, reveal this. Cuts are not reused for sets
 * without numbers, or for another distance, tile or number of partitions.
 */
static void
cuts_are_remembered(void)
{
	rb_set side[2][2]; /* Two sets of each color, of equal size */
	rb_box first[3], again[3];
	rb_context ctx;
	rb_job job = {.predicate = RB_WITHIN, .distance = 0.01};

	rb_context_init(&ctx, memory);
	for (int k = 0; k < 2; k++)
		for (int c = 0; c < 2; c++)
		{
			side[k][c] = make_side(RB_SEGMENT3, 3000, UNIFORM, 1, 0.1);
			for (uint32_t i = 0; i < 3000 * 6; i++)
				((double *) side[k][c].coords)[i] += k * (i % 3 == 0) * 7;
			side[k][c].number = (uint64_t) (1000001 + c);
		}
	job.red = &side[0][0];
	job.blue = &side[0][1];
	CHECK(rb_partitions_cut(&ctx, &job, 3, first) == RB_OK, "cut");
	job.red = &side[1][0];
	job.blue = &side[1][1];
	CHECK(rb_partitions_cut(&ctx, &job, 3, again) == RB_OK, "again");
	CHECK(memcmp(first, again, sizeof(first)) == 0, "it was not remembered");
	for (int change = 0; change < 4; change++)
	{
		rb_job other = job;

		side[1][0].number = 1000001;
		if (change == 0)
			other.distance = 0.02;
		else if (change == 1)
			other.tile = (rb_box){3, {6, -1, -1}, {9, 2, 2}};
		else if (change == 2)
			side[1][0].number = 0;
		else
			side[1][0].number = 1000003;
		CHECK(rb_partitions_cut(&ctx, &other, 3, again) == RB_OK, "change %d", change);
		CHECK(memcmp(first, again, sizeof(first)) != 0, "change %d: what was remembered", change);
	}
	side[1][0].number = 1000001;
	CHECK(rb_partitions_cut(&ctx, &job, 2, again) == RB_OK, "two");
	CHECK(again[0].dims == 3 && memcmp(first, again, 2 * sizeof(first[0])) != 0, "two of three");
	for (int k = 0; k < 2; k++)
		for (int c = 0; c < 2; c++)
			free_side(&side[k][c]);
}

/* ---- stub devices ---- */

static struct
{
	int devices;
	bool slow_stop; /* True if a join continues until it is asked to stop */
	uint64_t share_parts;
	struct
	{
		bool cold;
		rb_status probe;
		rb_status open;
		int open_ms;
		rb_status join; /* Status of a join; the error has the text "of card N" */
		long put;       /* Batches before the failure */
		int join_ms;
		int opened;
		int joined; /* Number of joins begun */
		int done;   /* Number of joins that succeeded */
	} card[4];
} stub;

static void
stub_reset(int devices)
{
	memset(&stub, 0, sizeof(stub));
	stub.devices = devices;
	stub.share_parts = 100;
}

static int
stub_devices(void)
{
	return stub.devices;
}

static rb_status
probe_device(int device, char *text, size_t size)
{
	if (device >= stub.devices)
	{
		snprintf(text, size, "no card %d", device);
		return RB_NO_DEVICE;
	}
	snprintf(text, size, stub.card[device].probe == RB_OK ? "a card" : "card %d is no card",
			 device);
	return stub.card[device].probe;
}

static bool
warm_device(int device)
{
	return !stub.card[device].cold;
}

static rb_status
stub_fail(rb_context *ctx, rb_status status)
{
	char text[40];

	snprintf(text, sizeof(text), "of card %d", ctx->device);
	return rb_fail(ctx, status, 5, 6, text);
}

static rb_status
stub_open(rb_context *ctx)
{
	const double until = rb_now_ms() + stub.card[ctx->device].open_ms;
	const rb_status status = stub.card[ctx->device].open;

	rb_add(&stub.card[ctx->device].opened, 1);
	while (rb_now_ms() < until)
	{
		if (rb_should_stop(ctx))
			return RB_STOPPED;
		usleep(1000);
	}
	return status == RB_OK ? RB_OK : stub_fail(ctx, status);
}

typedef struct way
{
	rb_context *ctx;
	const rb_sink *sink;
	long batches;
} way;

static rb_status
stub_put(void *user, const rb_pair *pairs, size_t n)
{
	way *w = user;
	const int device = w->ctx->device;

	if (stub.card[device].join != RB_OK && rb_add(&w->batches, 1) >= stub.card[device].put)
		return stub_fail(w->ctx, stub.card[device].join);
	return w->sink->put(w->sink->user, pairs, n);
}

static rb_status
stub_join(rb_context *ctx, const rb_job *job, const rb_sink *sink)
{
	const int device = ctx->device;
	const double until = rb_now_ms() + stub.card[device].join_ms;
	way w = {ctx, sink, 0};
	rb_sink through = *sink;
	rb_status status;

	rb_add(&stub.card[device].joined, 1);
	through.put = stub_put;
	through.user = &w;
	snprintf(ctx->stats.device, sizeof(ctx->stats.device), "a card");
	rb_progress(ctx, RB_STAGE_CANDIDATES, 3, 10);
	if (stub.card[device].join != RB_OK && stub.card[device].put == 0)
		return stub_fail(ctx, stub.card[device].join);
	while (rb_now_ms() < until || stub.slow_stop)
	{
		if (rb_should_stop(ctx))
			return RB_STOPPED;
		usleep(1000);
	}
	status = rb_backend_cpu.join(ctx, job, &through);
	rb_add(&stub.card[device].done, status == RB_OK);
	return status;
}

static rb_status
stub_refine(rb_context *ctx, struct rb_refining *refining, size_t size)
{
	(void) refining, (void) size;
	rb_add(&stub.card[ctx->device].joined, 1);
	return stub.card[ctx->device].join == RB_OK ? RB_OK
												: stub_fail(ctx, stub.card[ctx->device].join);
}

static rb_backend stub_backend = {.name = "stub",
								  .probe = probe_device,
								  .join = stub_join,
								  .warm = warm_device,
								  .refine = stub_refine,
								  .devices = stub_devices,
								  .open = stub_open};

/* ---- joins on stub devices ---- */

typedef struct run
{
	rb_set red, blue;
	rb_job job;
	rb_context ctx;
	answer want, got;
	rb_status status;
} run;

static void
run_init(run *r, uint32_t n)
{
	memset(r, 0, sizeof(*r));
	r->red = make_side(RB_BOX3, n, UNIFORM, 1, 0.3);
	r->blue = make_side(RB_BOX3, n, UNIFORM, 1, 0.3);
	r->job.red = &r->red;
	r->job.blue = &r->blue;
	answer_init(&r->want);
	answer_init(&r->got);
	rb_context_init(&r->ctx, memory);
	r->ctx.threads = 2;
	CHECK(ask(&r->ctx, &rb_backend_cpu, &r->job, &r->want) == RB_OK && r->want.list.n > 50,
		  "%zu pairs", r->want.list.n);
	rb_context_init(&r->ctx, memory);
	r->ctx.threads = 2;
}

static void
run_join(run *r)
{
	stub_backend.share_parts = stub.share_parts;
	r->status = ask(&r->ctx, rb_backend_multi_device(&stub_backend), &r->job, &r->got);
}

static void
run_is_right(run *r, const char *what)
{
	CHECK(r->status == RB_OK && r->ctx.error.status == RB_OK, "%s: %s, %s", what,
		  rb_status_text(r->status), r->ctx.error.text);
	compare(what, &r->want, &r->got);
	CHECK(!rb_should_stop(&r->ctx), "%s: stopped", what);
}

static void
run_free(run *r)
{
	answer_free(&r->want);
	answer_free(&r->got);
	free_side(&r->red);
	free_side(&r->blue);
}

static int
shares_of(const run *r)
{
	int n = 0;

	for (int i = 0; i <= RB_MAX_DEVICES; i++)
		n += (int) r->ctx.stats.card[i].shares;
	return n;
}

static void
all_cards_share(void)
{
	for (int n = 2; n <= 4; n++)
		for (int self = 0; self < 2; self++)
		{
			char text[40];
			uint64_t hits = 0;
			run r;

			stub_reset(n);
			/* Slow joins ensure that no device takes two partitions. */
			for (int i = 0; i < n; i++)
				stub.card[i].join_ms = 100;
			run_init(&r, 800);
			if (self)
			{
				r.job.blue = NULL;
				r.want.list.n = 0;
				CHECK(ask(&r.ctx, &rb_backend_cpu, &r.job, &r.want) == RB_OK, "alone");
				rb_context_init(&r.ctx, memory);
			}
			run_join(&r);
			run_is_right(&r, "shared");
			for (int i = 0; i < n; i++)
			{
				CHECK(r.ctx.stats.card[i].shares == 1 && stub.card[i].done == 1, "card %d: %u", i,
					  r.ctx.stats.card[i].shares);
				CHECK(r.ctx.stats.card[i].ms >= 90, "%f ms", r.ctx.stats.card[i].ms);
				hits += r.ctx.stats.card[i].hits;
			}
			CHECK(hits == r.want.list.n && r.ctx.stats.hits == hits, "%lu hits",
				  (unsigned long) hits);
			snprintf(text, sizeof(text), "%d x a card", n);
			CHECK(strcmp(r.ctx.stats.device, text) == 0, "%s", r.ctx.stats.device);
			CHECK(strcmp(r.ctx.stats.backend, "stub") == 0, "%s", r.ctx.stats.backend);
			CHECK(r.ctx.stats.note[0] == '\0', "%s", r.ctx.stats.note);
			run_free(&r);
		}
}

/* Tests sides with too few parts for several partitions, and the selection of devices. */
static void
some_cards(void)
{
	run r;

	stub_reset(4);
	stub.share_parts = 400;
	run_init(&r, 380); /* 760 parts are not enough for two partitions */
	run_join(&r);
	run_is_right(&r, "alone");
	CHECK(stub.card[0].done == 1 && stub.card[0].opened == 0, "by the first one, at once");
	CHECK(shares_of(&r) == 0, "%d shares", shares_of(&r));
	run_free(&r);

	run_init(&r, 560); /* 1120 parts are not enough for three */
	run_join(&r);
	run_is_right(&r, "two");
	CHECK(stub.card[2].joined + stub.card[3].joined == 0 && shares_of(&r) == 2, "two shares");
	run_free(&r);

	stub_reset(4);
	stub.share_parts = 400;
	run_init(&r, 560); /* In a self join, 560 parts are on both sides */
	r.job.blue = NULL;
	r.want.list.n = 0;
	CHECK(ask(&r.ctx, &rb_backend_cpu, &r.job, &r.want) == RB_OK, "on the CPU");
	rb_context_init(&r.ctx, memory);
	run_join(&r);
	run_is_right(&r, "a self join");
	CHECK(shares_of(&r) == 2, "%d shares", shares_of(&r));
	run_free(&r);

	stub_reset(4);
	run_init(&r, 800);
	r.ctx.settings.devices = 1u << 1 | 1u << 3;
	run_join(&r);
	run_is_right(&r, "two that are named");
	CHECK(stub.card[0].joined + stub.card[2].joined == 0, "others");
	CHECK(stub.card[1].done + stub.card[3].done == 2, "these");
	run_free(&r);

	stub_reset(4);
	run_init(&r, 800);
	r.ctx.settings.devices = 1u << 2;
	run_join(&r);
	run_is_right(&r, "one that is named");
	CHECK(stub.card[2].done == 1 && shares_of(&r) == 0, "this one, and no shares");
	run_free(&r);

	/* A device that cannot be probed is left out, whatever the others report. */
	stub_reset(3);
	stub.card[0].probe = RB_NO_DEVICE;
	run_init(&r, 800);
	run_join(&r);
	run_is_right(&r, "two that can be had");
	CHECK(stub.card[0].joined == 0 && stub.card[1].joined + stub.card[2].joined == 2, "these");
	run_free(&r);

	/* Devices that are already open come first. */
	stub_reset(2);
	stub.card[0].cold = true;
	stub.share_parts = 1000;
	run_init(&r, 400);
	run_join(&r);
	run_is_right(&r, "the open one");
	CHECK(stub.card[1].done == 1 && stub.card[0].joined == 0, "the open one");
	run_free(&r);

	/* A backend with one device */
	stub_reset(1);
	run_init(&r, 800);
	run_join(&r);
	run_is_right(&r, "one device");
	CHECK(stub.card[0].done == 1, "%d joins", stub.card[0].joined);
	run_free(&r);
}

static void
cards_that_are_not_there(void)
{
	run r;

	stub_reset(2);
	run_init(&r, 800);
	r.ctx.settings.devices = 1u << 1 | 1u << 5;
	run_join(&r);
	run_is_right(&r, "one of two is there");
	CHECK(stub.card[1].done == 1 && stub.card[0].joined == 0, "the other one does it");
	run_free(&r);

	stub_reset(2);
	stub.card[1].probe = RB_NO_DEVICE;
	run_init(&r, 800);
	r.ctx.settings.devices = 1u << 0 | 1u << 1 | 1u << 5;
	r.ctx.settings.only_devices = true;
	run_join(&r);
	CHECK(r.status == RB_NO_DEVICE && strcmp(r.ctx.error.text, "no card 5") == 0, "%s: %s",
		  rb_status_text(r.status), r.ctx.error.text);
	CHECK(r.got.list.n == 0 && stub.card[0].joined == 0, "and no card begins");
	run_free(&r);

	stub_reset(2);
	stub.card[0].probe = stub.card[1].probe = RB_NO_DEVICE;
	run_init(&r, 800);
	run_join(&r);
	CHECK(r.status == RB_NO_DEVICE && strcmp(r.ctx.error.text, "card 0 is no card") == 0, "%s",
		  r.ctx.error.text);
	run_free(&r);
}

/* Tests that the other devices do the work of one that fails. */
static void
one_card_fails(void)
{
	static const rb_status failure[] = {RB_DEVICE_FULL, RB_DEVICE_FAILED, RB_NO_DEVICE};
	static const rb_status refusal[] = {RB_DEVICE_FULL, RB_OUT_OF_MEMORY};

	for (int i = 0; i < 12; i++)
	{
		const int bad = i % 3, n = 3;
		const bool opening = i >= 6;
		run r;

		stub_reset(n);
		if (opening)
			stub.card[bad].open = refusal[i % 2];
		else
			stub.card[bad].join = failure[i % 3];
		for (int k = 0; k < n; k++)
			stub.card[k].join_ms = k != bad ? 30 : 0;
		run_init(&r, 800);
		r.ctx.settings.only_devices = i % 2 == 0; /* The CPU is not needed */
		run_join(&r);
		run_is_right(&r, opening ? "one does not open" : "one fails");
		CHECK(shares_of(&r) == 3 && r.ctx.stats.card[bad].shares == 0 &&
				  r.ctx.stats.card[RB_MAX_DEVICES].shares == 0,
			  "%d shares", shares_of(&r));
		CHECK(strcmp(r.ctx.stats.device, "2 x a card") == 0, "%s", r.ctx.stats.device);
		CHECK(strncmp(r.ctx.stats.note, "of card ", 8) == 0, "%s", r.ctx.stats.note);
		run_free(&r);
	}
}

/* Tests that devices without a partition replace those that fail. */
static void
spare_cards(void)
{
	run r;

	stub_reset(4);
	stub.card[0].join = RB_DEVICE_FULL;
	stub.card[1].open = RB_DEVICE_FAILED;
	stub.share_parts = 400;
	run_init(&r, 560); /* Two partitions */
	run_join(&r);
	run_is_right(&r, "two are replaced");
	CHECK(stub.card[2].done + stub.card[3].done == 2, "by two");
	run_free(&r);

	/* A join without partitions */
	stub_reset(4);
	stub.card[0].join = RB_DEVICE_FULL;
	stub.card[1].join = RB_DEVICE_FAILED;
	stub.share_parts = 1000;
	run_init(&r, 400);
	run_join(&r);
	run_is_right(&r, "the third one can");
	CHECK(stub.card[2].done == 1 && stub.card[3].joined == 0, "it does");
	run_free(&r);
}

static void
all_cards_fail(void)
{
	static const rb_status refusal[] = {RB_DEVICE_FULL, RB_OUT_OF_MEMORY};
	run r;

	for (int k = 0; k < 4; k++)
	{
		/* No device can be opened. */
		stub_reset(2);
		stub.card[0].open = stub.card[1].open = refusal[k / 2];
		run_init(&r, 800);
		r.ctx.settings.only_devices = k % 2 == 1;
		run_join(&r);
		if (k % 2 == 0)
			run_is_right(&r, "none opens, and the processor does it");
		else
			CHECK(r.status == refusal[k / 2] && r.ctx.error.status == r.status &&
					  r.got.list.n == 0 && strncmp(r.ctx.error.text, "of card ", 8) == 0,
				  "%s: %s", rb_status_text(r.status), r.ctx.error.text);
		run_free(&r);
	}
	for (int k = 0; k < 2; k++)
	{
		stub_reset(3);
		for (int i = 0; i < 3; i++)
			stub.card[i].join = i == 1 ? RB_DEVICE_FAILED : RB_DEVICE_FULL;
		run_init(&r, 800);
		run_join(&r);
		run_is_right(&r, "the processor does it");
		CHECK(r.ctx.stats.card[RB_MAX_DEVICES].shares == 3 && shares_of(&r) == 3, "three shares");
		CHECK(strcmp(r.ctx.stats.backend, "cpu") == 0 && r.ctx.stats.device[0] == '\0', "%s, %s",
			  r.ctx.stats.backend, r.ctx.stats.device);
		CHECK(strncmp(r.ctx.stats.note, "of card ", 8) == 0, "%s", r.ctx.stats.note);
		run_free(&r);

		/* The device fails after some of its work is done. */
		stub_reset(2);
		stub.card[0].join_ms = 30;
		stub.card[1].join = RB_DEVICE_FULL;
		stub.card[0].put = 1000000;
		run_init(&r, 800);
		r.ctx.settings.only_devices = true;
		for (int i = 0; i < 2; i++)
			stub.card[i].join = RB_DEVICE_FULL;
		stub.card[0].put = 0;
		run_join(&r);
		CHECK(r.status == RB_DEVICE_FULL && r.ctx.error.need == 5 && r.ctx.error.limit == 6 &&
				  strncmp(r.ctx.error.text, "of card ", 8) == 0,
			  "%s: %s", rb_status_text(r.status), r.ctx.error.text);
		CHECK(r.got.list.n == 0, "%zu pairs", r.got.list.n);
		run_free(&r);
	}
}

/*
 * Tests a device that fails after it has returned pairs. Repeating them would return pairs twice,
 * so this is an error unless duplicates do not matter.
 */
static void
one_card_fails_in_the_middle(void)
{
	run r;
	rb_sink sink;

	stub_reset(2);
	stub.card[1].join = RB_DEVICE_FAILED;
	stub.card[1].put = 1;
	stub.card[0].join_ms = 100;
	run_init(&r, 4000);
	run_join(&r);
	CHECK(r.status == RB_DEVICE_FAILED && strcmp(r.ctx.error.text, "of card 1") == 0, "%s: %s",
		  rb_status_text(r.status), r.ctx.error.text);

	/* The sink ignores pairs that it already has. */
	stub_backend.share_parts = 100;
	rb_context_init(&r.ctx, memory);
	r.got.list.n = 0;
	sink = (rb_sink){.put = take, .user = &r.got, .again = true};
	r.status = rb_backend_multi_device(&stub_backend)->join(&r.ctx, &r.job, &sink);
	CHECK(r.got.list.n > r.want.list.n, "%zu pairs", r.got.list.n);
	sort_distinct_pairs(&r.got.list);
	run_is_right(&r, "each at least once");

	/* Counts are reported when a partition is finished. */
	rb_context_init(&r.ctx, memory);
	r.got.list.n = 0;
	r.job.answer = RB_COUNT;
	run_join(&r);
	CHECK(r.status == RB_OK && r.got.list.n == 0 && r.got.numbers == r.want.list.n,
		  "%s, %zu and %lu, not %zu", rb_status_text(r.status), r.got.list.n,
		  (unsigned long) r.got.numbers, r.want.list.n);
	run_free(&r);
}

/* Tests failures that no other device could avoid. */
static void
other_failures_stay(void)
{
	static const rb_status failure[] = {RB_OVER_BUDGET, RB_OUT_OF_MEMORY};
	run r;

	for (int i = 0; i < 2; i++)
	{
		stub_reset(2);
		stub.card[1].join = failure[i];
		stub.card[0].join_ms = 20000;
		run_init(&r, 800);
		run_join(&r);
		CHECK(r.status == failure[i] && strcmp(r.ctx.error.text, "of card 1") == 0, "%s: %s",
			  rb_status_text(r.status), r.ctx.error.text);
		run_free(&r);
	}
	/* The consumer of the pairs wants no more. */
	stub_reset(2);
	run_init(&r, 800);
	r.got.stop = RB_STOPPED;
	run_join(&r);
	CHECK(r.status == RB_STOPPED, "%s", rb_status_text(r.status));
	run_free(&r);
}

/* Tests that an open device does not wait for one that is still opening. */
static void
a_card_comes_late(void)
{
	double began;
	run r;

	stub_reset(2);
	stub.card[1].open_ms = 120000;
	run_init(&r, 800);
	began = rb_now_ms();
	run_join(&r);
	run_is_right(&r, "by the one that is open");
	CHECK(rb_now_ms() - began < 60000, "%f ms", rb_now_ms() - began);
	CHECK(stub.card[0].done == 2 && stub.card[1].joined == 0, "%d joins", stub.card[0].done);
	run_free(&r);
}

static rb_context *stopped;

static void *
stop_soon(void *arg)
{
	(void) arg;
	for (int i = 0; i < 60000 && rb_load(&stopped->done) == 0; i++)
		usleep(1000);
	CHECK(rb_load(&stopped->stage) == RB_STAGE_CANDIDATES && rb_load(&stopped->total) % 10 == 0 &&
			  rb_load(&stopped->done) > 0,
		  "stage %d, %lu of %lu", rb_load(&stopped->stage), (unsigned long) rb_load(&stopped->done),
		  (unsigned long) rb_load(&stopped->total));
	rb_context_stop(stopped);
	return NULL;
}

static void
a_stop_is_heard(void)
{
	for (int i = 0; i < 2; i++)
	{
		pthread_t thread;
		double began;
		run r;

		stub_reset(3);
		stub.slow_stop = true;
		stub.card[2].open_ms = i == 0 ? 0 : 120000;
		run_init(&r, 800);
		stopped = &r.ctx;
		pthread_create(&thread, NULL, stop_soon, NULL);
		began = rb_now_ms();
		run_join(&r);
		CHECK(r.status == RB_STOPPED, "%s", rb_status_text(r.status));
		CHECK(rb_now_ms() - began < 60000, "%f ms", rb_now_ms() - began);
		pthread_join(thread, NULL);
		run_free(&r);
	}
}

/* Tests streams: counts and hits of rows, and pairs of rows of several parts. */
static void
streams(void)
{
	for (int parts = 1; parts < 4; parts += 2)
		for (int k = 0; k < 5; k++)
		{
			static const rb_result_form answers[] = {RB_COUNT, RB_COUNTS, RB_HITS, RB_GROUPS,
													 RB_PAIRS};
			rb_set red = make_side(RB_BOX3, 900, CLUSTERS, parts, 0.5);
			rb_set blue = make_side(RB_BOX3, 700, CLUSTERS, parts, 0.5);
			const rb_job job = {.red = &red,
								.blue = &blue,
								.answer = answers[k],
								.of = k % 2 ? RB_OF_BLUE : RB_OF_RED};
			uint64_t sum[2] = {0, 0}, emitted[2];

			stub_reset(3);
			if (k == 2) /* Setting the same bits again changes nothing */
			{
				stub.card[1].join = RB_DEVICE_FAILED;
				stub.card[1].put = 1;
			}
			stub_backend.share_parts = 100;
			for (int by = 0; by < 2; by++)
			{
				const rb_backend *backend =
					by == 0 ? &rb_backend_cpu : rb_backend_multi_device(&stub_backend);
				const rb_set *of = k % 2 ? &blue : &red;
				rb_stream *stream = NULL;
				rb_context ctx;
				rb_block block;
				rb_groups groups;
				const uint32_t *word;
				rb_status status;

				rb_context_init(&ctx, memory);
				ctx.threads = 2;
				status = rb_stream_open(&ctx, backend, &job, &stream);
				while (status == RB_OK && (status = rb_stream_next(stream, 20, &block)) == RB_OK)
					for (size_t i = 0; i < block.n; i++)
						sum[by] +=
							(uint64_t) (block.red[i] * 7919 + 3) * (uint64_t) (block.blue[i] + 17);
				CHECK(status == RB_END, "%s %s", rb_status_text(status), ctx.error.text);
				word = status == RB_END ? rb_stream_words(stream) : NULL;
				for (uint32_t i = 0; word != NULL && i < of->nrows; i++)
					sum[by] +=
						(i + 11) *
						(uint64_t) (answers[k] == RB_HITS ? word[i / 32] >> i % 32 & 1 : word[i]);
				if (status == RB_END && rb_stream_groups(stream, &groups))
					for (uint64_t i = 0; i < groups.start[groups.n]; i++)
						sum[by] += (i + 1) * (uint64_t) groups.member[i];
				emitted[by] = ctx.stats.stage[RB_STAGE_EMIT].count;
				rb_stream_close(stream);
			}
			CHECK(emitted[0] == emitted[1] && emitted[0] > 100 && sum[0] == sum[1],
				  "answer %d, %d parts: %lu, not %lu; sum %lu, not %lu", k, parts,
				  (unsigned long) emitted[1], (unsigned long) emitted[0], (unsigned long) sum[1],
				  (unsigned long) sum[0]);
			CHECK(stub.card[0].joined + stub.card[1].joined + stub.card[2].joined >= 3,
				  "on the cards");
			free_side(&red);
			free_side(&blue);
		}
}

static void
the_backend_itself(void)
{
	const rb_backend *cards = rb_backend_multi_device(&stub_backend);
	char text[100];
	run r;

	stub_reset(3);
	CHECK(cards->probe(-1, text, sizeof(text)) == RB_OK && strcmp(text, "3 x a card") == 0, "%s",
		  text);
	stub.card[0].probe = RB_NO_DEVICE;
	stub.card[0].cold = stub.card[1].cold = true;
	CHECK(cards->probe(-1, text, sizeof(text)) == RB_OK && strcmp(text, "2 x a card") == 0, "%s",
		  text);
	CHECK(cards->warm(0), "the last one is open");
	stub.card[2].cold = true;
	CHECK(!cards->warm(0), "none is open");
	stub.card[1].probe = RB_NO_DEVICE;
	CHECK(cards->probe(-1, text, sizeof(text)) == RB_OK && strcmp(text, "a card") == 0, "%s", text);
	stub.card[2].probe = RB_NO_DEVICE;
	CHECK(cards->probe(-1, text, sizeof(text)) == RB_NO_DEVICE &&
			  strcmp(text, "card 0 is no card") == 0,
		  "%s", text);
	CHECK(cards->probe(7, text, sizeof(text)) == RB_NO_DEVICE && strcmp(text, "no card 7") == 0,
		  "%s", text);
	CHECK(cards->devices() == 3 && cards->copy_bytes(1, false) == 0, "what it passes on");

	/* A mesh is refined by one device, the first that can. */
	stub_reset(3);
	stub.card[0].join = RB_DEVICE_FULL;
	run_init(&r, 800);
	CHECK(cards->refine(&r.ctx, NULL, 0) == RB_OK && stub.card[1].joined == 1 &&
			  stub.card[2].joined == 0 && r.ctx.error.status == RB_OK,
		  "the second one");
	r.ctx.settings.devices = 1;
	CHECK(cards->refine(&r.ctx, NULL, 0) == RB_DEVICE_FULL, "the first one alone");
	run_free(&r);
}

int
main(void)
{
	memory = rb_memory_create((uint64_t) 1 << 30);
	CHECK_RUN(each_pair_is_in_one_share);
	CHECK_RUN(shares_are_alike);
	CHECK_RUN(few_parts);
	CHECK_RUN(cuts_are_remembered);
	CHECK_RUN(all_cards_share);
	CHECK_RUN(some_cards);
	CHECK_RUN(cards_that_are_not_there);
	CHECK_RUN(one_card_fails);
	CHECK_RUN(spare_cards);
	CHECK_RUN(all_cards_fail);
	CHECK_RUN(one_card_fails_in_the_middle);
	CHECK_RUN(other_failures_stay);
	CHECK_RUN(a_card_comes_late);
	CHECK_RUN(a_stop_is_heard);
	CHECK_RUN(streams);
	CHECK_RUN(the_backend_itself);
	CHECK(rb_memory_used(memory) == 0, "memory left");
	rb_memory_destroy(memory);
	return check_done();
}
