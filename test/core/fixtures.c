/*
 * fixtures.c
 *	  Implements what several C tests use (fixtures.h).
 */
#include <gmp.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "core/base/atomic.h"
#include "fixtures.h"

/* ---- random numbers ---- */

/* Returns a random number in [0, 1). */
double
random_unit(void)
{
	return (double) (check_random() >> 11) * 0x1p-53;
}

/* Returns a random number in [-1, 1). */
double
random_signed(void)
{
	return (double) (int64_t) (check_random() >> 11) * 0x1p-52 - 1;
}

/* ---- sides of a join ---- */

/* Swaps coordinates of a box so that its first corner is the lower one; does nothing for others. */
void
order_box(rb_kind kind, double *part)
{
	const int dims = rb_kind_dims(kind);

	for (int a = 0; a < dims && (kind == RB_BOX3 || kind == RB_BOX2); a++)
		if (part[a] > part[dims + a])
		{
			const double low = part[dims + a];

			part[dims + a] = part[a];
			part[a] = low;
		}
}

/*
 * Groups n parts, in order, into rows of 1 to `most` parts, and stores the number of rows. Returns
 * the row of each part in an array of malloc, or NULL if each row has one part.
 */
uint32_t *
random_rows(uint32_t n, int most, uint32_t *nrows)
{
	uint32_t *row_of = most > 1 ? malloc(((size_t) n + 1) * sizeof(uint32_t)) : NULL;
	uint32_t row = 0;

	*nrows = n;
	if (row_of == NULL)
		return NULL;
	for (uint32_t i = 0; i < n; row++)
		for (int k = 1 + check_below(most); k > 0 && i < n; k--)
			row_of[i++] = row;
	*nrows = row;
	return row_of;
}

/* Returns the row of a part. */
uint32_t
row_of_part(const rb_set *side, uint32_t part)
{
	return side->row_of != NULL ? side->row_of[part] : part;
}

/* Frees the arrays of a side. */
void
free_side(rb_set *side)
{
	free((void *) side->coords);
	free((void *) side->row_of);
	free((void *) side->ids);
	memset(side, 0, sizeof *side);
}

/* Builds a set whose rows have the same shape; rows of several parts vary. */
const rb_set *
build_rows(rb_memory *memory, const row_series *rows)
{
	const size_t width = (size_t) rb_kind_width(rows->kind);
	const rb_set *set = NULL;
	rb_builder b;
	rb_error error;

	rb_builder_init(&b, memory, rows->kind);
	b.srid = rows->srid;
	for (uint32_t i = 0; i < rows->n; i++)
	{
		const uint32_t parts =
			rows->every > 0 && i % rows->every == rows->every - 1 ? rows->parts : 1;
		const int64_t id = (int64_t) ((uint64_t) rows->first_id + (uint64_t) rows->step * i);

		CHECK(rb_builder_reserve(&b, parts, &error) == RB_OK, "reserve");
		for (size_t j = 0; j < parts * width; j++)
			b.coords[b.nparts * width + j] = rows->spacing * ((double) rows->first_id + i) +
											 0.01 * (double) j + (j % 3 == 2 ? 0.5 : 0) +
											 (j % width >= width / 2 ? 1.5 : 0);
		b.nparts += parts;
		CHECK(rb_builder_end_row(&b, id, &error) == RB_OK, "end of row");
	}
	rb_builder_trim(&b);
	CHECK(rb_builder_finish(&b, &set, &error) == RB_OK, "finish");
	return set;
}

/* ---- pairs ---- */

/* Compares pairs by red row, then by blue row. */
int
compare_pairs(const void *x, const void *y)
{
	const rb_pair *p = x, *q = y;

	if (p->red != q->red)
		return p->red < q->red ? -1 : 1;
	return p->blue < q->blue ? -1 : p->blue > q->blue;
}

/* Appends n pairs. */
void
append_pairs(pair_list *list, const rb_pair *pairs, size_t n)
{
	if (list->n + n > list->room)
	{
		list->room = 2 * (list->n + n) + 64;
		list->pair = realloc(list->pair, list->room * sizeof(rb_pair));
	}
	if (n > 0)
		memcpy(list->pair + list->n, pairs, n * sizeof(rb_pair));
	list->n += n;
}

/* Sorts pairs by red row, then by blue row. */
void
sort_pairs(pair_list *list)
{
	if (list->n > 0)
		qsort(list->pair, list->n, sizeof(rb_pair), compare_pairs);
}

/* Sorts pairs, and removes duplicates. */
void
sort_distinct_pairs(pair_list *list)
{
	size_t n = 0;

	sort_pairs(list);
	for (size_t i = 0; i < list->n; i++)
		if (i == 0 || compare_pairs(&list->pair[i], &list->pair[i - 1]) != 0)
			list->pair[n++] = list->pair[i];
	list->n = n;
}

/* Appends all pairs of a stream; their ids are numbers of rows. Returns RB_END at its end. */
rb_status
read_pairs(pair_list *list, rb_stream *stream, int wait_ms)
{
	rb_block block;
	rb_status status;

	while ((status = rb_stream_next(stream, wait_ms, &block)) == RB_OK)
		for (size_t i = 0; i < block.n; i++)
			append_pairs(list, &(rb_pair){(uint32_t) block.red[i], (uint32_t) block.blue[i]}, 1);
	return status;
}

/* Returns true if two lists contain the same pairs in the same order. */
bool
same_pairs(const pair_list *a, const pair_list *b)
{
	return a->n == b->n && (a->n == 0 || memcmp(a->pair, b->pair, a->n * sizeof(rb_pair)) == 0);
}

/*
 * Runs a join with memory limits from `first` bytes, each larger by 1/share, until it ends. Each run
 * must give all memory back, and the first one must be refused.
 */
void
check_join_budgets(const rb_job *job, uint64_t first, int share)
{
	rb_status status = RB_OVER_BUDGET;
	int refused = 0;

	for (uint64_t limit = first; status == RB_OVER_BUDGET; limit += limit / share)
	{
		rb_memory *small = rb_memory_create(limit);
		rb_stream *stream = NULL;
		rb_context ctx;
		rb_block block;

		rb_context_init(&ctx, small);
		ctx.threads = 2;
		status = rb_stream_open(&ctx, &rb_backend_cpu, job, &stream);
		while (status == RB_OK)
			status = rb_stream_next(stream, 20, &block);
		rb_stream_close(stream);
		CHECK(status == RB_END || status == RB_OVER_BUDGET, "%s", rb_status_text(status));
		CHECK(rb_memory_used(small) == 0, "%lu bytes are left",
			  (unsigned long) rb_memory_used(small));
		refused += status == RB_OVER_BUDGET;
		rb_memory_destroy(small);
	}
	CHECK(refused > 0, "%lu bytes are enough", (unsigned long) first);
}

/* Closes a join after a stop, and at different moments while it runs. */
void
check_join_closed_early(const rb_job *job, rb_memory *memory, int rounds)
{
	for (int round = 0; round < rounds; round++)
	{
		rb_stream *stream = NULL;
		rb_context ctx;
		rb_block block;

		rb_context_init(&ctx, memory);
		ctx.threads = 2;
		if (round == 0)
			rb_context_stop(&ctx);
		CHECK(rb_stream_open(&ctx, &rb_backend_cpu, job, &stream) == RB_OK, "open");
		if (round > 0)
			(void) rb_stream_next(stream, round, &block);
		rb_stream_close(stream);
	}
}

/* ---- backends ---- */

/* Reports that any device is present. */
rb_status
stub_probe(int device, char *text, size_t size)
{
	snprintf(text, size, "stub %d", device);
	return RB_OK;
}

/* Reports that any device is ready. */
bool
stub_warm(int device)
{
	(void) device;
	return true;
}

/* ---- time ---- */

/* Sleeps for less than a second. */
void
sleep_us(long us)
{
	nanosleep(&(struct timespec){0, us * 1000}, NULL);
}

static double
read_clock_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double) t.tv_sec * 1e3 + (double) t.tv_nsec * 1e-6;
}

/* Returns the CPU time that the current thread has used, in ms. */
double
thread_work_ms(void)
{
	return read_clock_ms(CLOCK_THREAD_CPUTIME_ID);
}

static void *
run_stopper(void *arg)
{
	stopper *s = arg;

	while (!rb_load(&s->leave) && read_clock_ms(s->clock) < s->after_ms)
		usleep(200);
	if (!rb_load(&s->leave))
	{
		rb_store(&s->asked, 1);
		rb_context_stop(s->ctx);
	}
	/* Read the clock after the stop, because this thread may be delayed before it. */
	s->worked_ms = read_clock_ms(s->clock);
	return NULL;
}

/* Requests a stop after the current thread has worked for `ms` from now on. */
void
stop_after(stopper *s, rb_context *ctx, double ms)
{
	*s = (stopper){.ctx = ctx};
	pthread_getcpuclockid(pthread_self(), &s->clock);
	s->after_ms = read_clock_ms(s->clock) + ms;
	pthread_create(&s->thread, NULL, run_stopper, s);
}

/*
 * Ends a stopper. Returns how long the current thread has worked since the stop was requested, in
 * ms, or -1 if it was not requested.
 */
double
stop_done(stopper *s)
{
	double now = read_clock_ms(s->clock);

	rb_store(&s->leave, 1);
	pthread_join(s->thread, NULL);
	return rb_load(&s->asked) ? fmax(0, now - s->worked_ms) : -1;
}

/*
 * A system charges a thread for time in which the processor did something else, and a virtual
 * machine may stand still for seconds. A measurement therefore counts only if it was repeated: a
 * step that does not check for stops is late each time, and a step of quadratic work is slow each
 * time.
 */
#define ATTEMPTS 6

/* Notes how late a stop was. Returns true if it is to be tried again, because it was too late. */
bool
repeats_late_stop(stop_delay *delay, double late_ms, double limit_ms)
{
	delay->least_ms = delay->tries == 0 ? late_ms : fmin(delay->least_ms, late_ms);
	if (++delay->tries < ATTEMPTS && late_ms >= limit_ms)
		return true;
	delay->tries = 0;
	delay->worst_ms = fmax(delay->worst_ms, delay->least_ms);
	return false;
}

/*
 * Measures the work of size 0 and of size 1, in ms. Returns true if the work of size 0 is less than
 * `times` that of size 1 plus more_ms. Repeats both measurements if necessary, and compares the
 * least work of each, which it also returns.
 */
bool
work_is_bounded(double (*measure)(int size), double times, double more_ms, double least[2])
{
	least[0] = least[1] = INFINITY;
	for (int attempt = 0; attempt < ATTEMPTS; attempt++)
	{
		for (int size = 0; size < 2; size++)
			least[size] = fmin(least[size], measure(size));
		if (least[0] < times * least[1] + more_ms)
			return true;
	}
	return false;
}

/* ---- allocations of GMP ---- */

long gmp_allocations;

static void *
counting_alloc(size_t n)
{
	gmp_allocations++;
	return malloc(n);
}

static void *
counting_realloc(void *p, size_t old_n, size_t n)
{
	(void) old_n;
	gmp_allocations++;
	return realloc(p, n);
}

static void
counting_free(void *p, size_t n)
{
	(void) n;
	free(p);
}

/* Counts the allocations of GMP from now on, and checks that the counter counts. */
void
count_gmp_allocations(void)
{
	mpz_t big;

	mp_set_memory_functions(counting_alloc, counting_realloc, counting_free);
	gmp_allocations = 0;
	mpz_init_set_ui(big, 3);
	mpz_pow_ui(big, big, 10000);
	mpz_clear(big);
	CHECK(gmp_allocations > 0, "the counter does not count");
	gmp_allocations = 0;
}

/* Gives GMP its own allocator again. */
void
uncount_gmp_allocations(void)
{
	mp_set_memory_functions(NULL, NULL, NULL);
}
