/*
 * parallel.c
 *	  Tests teams, loops and groups: every piece is executed once, on existing threads; a waiting
 *	  thread executes only what it waits for; a stop takes effect at once; nothing is left behind.
 */
#define _GNU_SOURCE
#include "fixtures.h"
#include "core/join/join.h"
#include "core/base/parallel.h"

#include <dirent.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#define MOST 16

static rb_memory *memory;
static rb_context ctx;

static rb_thread *
open_team(int threads)
{
	rb_thread *me;

	memory = rb_memory_create((uint64_t) 1 << 30);
	rb_context_init(&ctx, memory);
	CHECK(rb_team_open(&ctx, threads, &me) == RB_OK, "open");
	CHECK(rb_team_threads(me) == threads, "%d of %d threads", rb_team_threads(me), threads);
	return me;
}

static void
close_team(rb_thread *me)
{
	rb_team_close(&me);
	CHECK(me == NULL, "closed");
	CHECK(rb_memory_used(memory) == 0, "%lu bytes left", (unsigned long) rb_memory_used(memory));
	rb_memory_destroy(memory);
}

/*
 * Counts the threads of this process as the system lists them. A joined thread may be listed for
 * another moment.
 */
static int
threads_of_process(int expected)
{
	int n = 0;

	for (int round = 0; round < 60000; round++)
	{
		DIR *dir = opendir("/proc/self/task");

		n = 0;
		for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
			n += e->d_name[0] != '.';
		closedir(dir);
		if (n <= expected)
			break;
		sleep_us(1000);
	}
	return n;
}

/* ---- loops ---- */

typedef struct pieces
{
	uint64_t n;
	uint64_t grain;
	uint8_t *seen;
	uint64_t wrong;
	int busy[MOST]; /* Nesting depth of the work on each thread */
} pieces;

static void
see_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	pieces *p = arg;
	int t = rb_thread_number(me);

	if (t < 0 || t >= rb_team_threads(me) || rb_add(&p->busy[t], 1) != 0)
		rb_add(&p->wrong, 1);
	if (from >= to || to > p->n || from % p->grain != 0 || (to - from != p->grain && to != p->n))
		rb_add(&p->wrong, 1);
	else
		for (uint64_t i = from; i < to; i++)
			rb_add(&p->seen[i], 1);
	rb_add(&p->busy[t], -1);
}

static void
every_piece_once(void)
{
	static const uint64_t size[] = {0, 1, 2, 7, 8, 1000, 100000};
	static const uint64_t grain[] = {1, 7, 4096, UINT64_MAX / 2};

	for (int threads = 1; threads <= MOST; threads = 2 * threads + 1)
	{
		rb_thread *me = open_team(threads);

		for (size_t k = 0; k < 7 * 4; k++)
		{
			pieces p = {size[k / 4], grain[k % 4], NULL, 0, {0}};
			uint64_t once = 0;

			p.seen = calloc(1, p.n + 1);
			CHECK(rb_loop(me, p.n, p.grain, see_piece, &p) == RB_OK, "loop");
			for (uint64_t i = 0; i < p.n; i++)
				once += p.seen[i] == 1;
			CHECK(once == p.n && p.wrong == 0, "%d threads, %lu by %lu: %lu once, %lu wrong",
				  threads, (unsigned long) p.n, (unsigned long) p.grain, (unsigned long) once,
				  (unsigned long) p.wrong);
			free(p.seen);
		}
		close_team(me);
	}
}

/* ---- a tree of groups ---- */

/* Node k has the children FAN k + 1 ... FAN k + FAN, more than an arena of tasks holds */
#define FAN 5

typedef struct tree
{
	uint64_t nodes;
	uint64_t done;
	uint64_t wrong; /* Nodes begun while waiting for another one */
	uint8_t *seen;
	uint64_t path[MOST][64]; /* Nodes being executed on each thread, the last one begun last */
	int deep[MOST];
} tree;

static bool
is_below(uint64_t node, uint64_t above)
{
	while (node > above)
		node = (node - 1) / FAN;
	return node == above;
}

static void
visit(rb_thread *me, void *arg, uint64_t node, uint64_t to)
{
	tree *t = arg;
	int i = rb_thread_number(me);
	int deep = t->deep[i];
	rb_group group;

	(void) to;
	if (deep > 0 && !is_below(node, t->path[i][deep - 1]))
		rb_add(&t->wrong, 1);
	t->path[i][deep] = node;
	t->deep[i] = deep + 1;
	rb_add(&t->seen[node], 1);

	rb_group_open(me, &group);
	for (uint64_t child = FAN * node + 1; child <= FAN * node + FAN && child < t->nodes; child++)
		rb_group_spawn(me, visit, t, child, child + 1);
	if (node % 7 == 0) /* Gives the other threads a head start */
		sleep_us(50);
	rb_group_wait(me);

	/* All descendants are finished. */
	for (uint64_t child = FAN * node + 1; child <= FAN * node + FAN && child < t->nodes; child++)
		if (rb_load(&t->seen[child]) != 2)
			rb_add(&t->wrong, 1);
	if (i != rb_thread_number(me) || t->deep[i] != deep + 1)
		rb_add(&t->wrong, 1);
	t->deep[i] = deep;
	rb_add(&t->seen[node], 1);
	rb_add(&t->done, 1);
}

static void
groups_nest(void)
{
	for (long round = check_rounds(20); round > 0; round--)
		for (int threads = 1; threads <= MOST; threads = 2 * threads + 1)
		{
			static tree t;
			rb_thread *me = open_team(threads);

			memset(&t, 0, sizeof(t));
			t.nodes = 1 + (uint64_t) check_below(4000);
			t.seen = calloc(1, t.nodes);
			CHECK(rb_loop(me, 1, 1, visit, &t) == RB_OK, "loop");
			CHECK(t.done == t.nodes && t.wrong == 0, "%d threads: %lu of %lu nodes, %lu wrong",
				  threads, (unsigned long) t.done, (unsigned long) t.nodes,
				  (unsigned long) t.wrong);
			free(t.seen);
			close_team(me);
		}
}

/* ---- all threads work ---- */

/* Number of threads that may wait for each other; a task that does not fit is executed at once */
#define ALL_MEET RB_SIZE(MOST, 4)

static void
meet_the_others(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	int *there = arg;

	(void) from, (void) to;
	rb_add(there, 1);
	for (int ms = 0; rb_load(there) < rb_team_threads(me); ms++)
	{
		if (ms == 20000)
		{
			rb_add(there, -1); /* No other thread came */
			break;
		}
		sleep_us(1000);
	}
}

/* Spawns tasks in the first piece of a loop, each of which waits until all threads have one. */
static void
spawn_for_all(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_group group;

	(void) from, (void) to;
	rb_group_open(me, &group);
	for (int t = 0; t < rb_team_threads(me); t++)
		rb_group_spawn(me, meet_the_others, arg, 0, 0);
	rb_group_wait(me);
}

static void
nobody_idles(void)
{
	for (int threads = 1; threads <= ALL_MEET; threads++)
	{
		rb_thread *me = open_team(threads);

		for (int round = 0; round < 20; round++)
		{
			int there = 0;

			rb_loop(me, (uint64_t) threads, 1, meet_the_others, &there);
			CHECK(there == threads, "%d of %d threads took a piece", there, threads);
			there = 0;
			rb_loop(me, 1, 1, spawn_for_all, &there);
			CHECK(there == threads, "%d of %d threads took a task", there, threads);
		}
		close_team(me);
	}
}

/* ---- stop ---- */

/* How many pieces have begun, and when a stop was requested */
typedef struct stop_request
{
	uint64_t pieces;
	double asked_ms;
} stop_request;

static void
dawdle(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	(void) me, (void) from, (void) to;
	rb_add(&((stop_request *) arg)->pieces, 1);
	sleep_us(1000);
}

static void *
stop_soon(void *arg)
{
	stop_request *r = arg;

	while (rb_load(&r->pieces) == 0)
		sleep_us(1000);
	sleep_us(20000);
	r->asked_ms = rb_now_ms();
	rb_context_stop(&ctx);
	return NULL;
}

static void
stopped(void)
{
	for (int threads = 1; threads <= 8; threads *= 2)
	{
		rb_thread *me = open_team(threads);
		stop_request r = {0};
		pthread_t other;
		double took;

		pthread_create(&other, NULL, stop_soon, &r);
		CHECK(rb_loop(me, (uint64_t) 1 << 60, 1, dawdle, &r) == RB_STOPPED, "not stopped");
		took = rb_now_ms();
		pthread_join(other, NULL);
		took -= r.asked_ms;
		/* All pieces together would take very long; a busy machine takes some time. */
		CHECK(took < 30000, "%d threads stopped after %g ms", threads, took);
		close_team(me);
	}
}

/* ---- state of a thread of the team ---- */

static __attribute__((unused)) void
look_around(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	volatile double one = 1, tiny = 0x1p-60;
	sigset_t mask;

	(void) from, (void) to;
	meet_the_others(me, arg, 0, 0);
	if (rb_thread_number(me) == 0)
		return;
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	CHECK(sigismember(&mask, SIGINT) && sigismember(&mask, SIGTERM) &&
			  sigismember(&mask, SIGALRM) && sigismember(&mask, SIGUSR1),
		  "signals reach thread %d", rb_thread_number(me));
	CHECK(fegetround() == FE_TONEAREST && one + tiny == 1 && one - tiny == 1,
		  "thread %d does not round to nearest", rb_thread_number(me));
}

static __attribute__((unused)) void
signals_and_rounding(void)
{
	sigset_t before = {0}, after = {0};
	rb_thread *me;
	int there = 0;

	pthread_sigmask(SIG_SETMASK, NULL, &before);
	fesetround(FE_UPWARD);
	me = open_team(ALL_MEET);
	rb_loop(me, ALL_MEET, 1, look_around, &there);
	CHECK(there == ALL_MEET, "%d threads looked", there);
	CHECK(fegetround() == FE_UPWARD, "the caller's rounding is its own");
	fesetround(FE_TONEAREST);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	CHECK(memcmp(&before, &after, sizeof(before)) == 0, "the caller's signals are its own");
	close_team(me);
}

/* ---- limited resources ---- */

/*
 * Tests that a team is as large as the memory limit allows, and that it is an error if not even one
 * thread fits.
 */
static void
small_budgets(void)
{
	int most = 0, least = MOST, refused = 0;
	int before = threads_of_process(1 << 30);

	for (uint64_t limit = 0; limit < (uint64_t) 200 << 20; limit = 3 * limit / 2 + 1000)
	{
		rb_status status;
		rb_thread *me;

		memory = rb_memory_create(limit);
		rb_context_init(&ctx, memory);
		status = rb_team_open(&ctx, MOST, &me);
		if (status == RB_OK)
		{
			pieces p = {1000, 10, NULL, 0, {0}};
			int threads = rb_team_threads(me);

			CHECK(rb_memory_used(memory) <= limit, "more than the limit");
			p.seen = calloc(1, p.n);
			CHECK(rb_loop(me, p.n, p.grain, see_piece, &p) == RB_OK && p.wrong == 0, "loop");
			free(p.seen);
			most = threads > most ? threads : most;
			least = threads < least ? threads : least;
			rb_team_close(&me);
		}
		else
		{
			refused++;
			CHECK(status == RB_OVER_BUDGET && me == NULL && ctx.error.limit == limit, "%s",
				  rb_status_text(status));
		}
		CHECK(rb_memory_used(memory) == 0, "%lu bytes left",
			  (unsigned long) rb_memory_used(memory));
		rb_memory_destroy(memory);
	}
	CHECK(refused > 0 && most == MOST, "%d refused, %d threads at most", refused, most);
#ifndef RB_OPENMP
	CHECK(least == 1, "%d threads at least", least);
	CHECK(threads_of_process(before) == before, "%d threads live on", threads_of_process(before));
#endif
	(void) before;
}

int
main(void)
{
	CHECK_RUN(every_piece_once);
	CHECK_RUN(groups_nest);
	CHECK_RUN(nobody_idles);
	CHECK_RUN(stopped);
#ifndef RB_OPENMP /* Threads of OpenMP have the state of the thread that first opens a region */
	CHECK_RUN(signals_and_rounding);
#endif
	CHECK_RUN(small_budgets);
	rb_memory_trim(0);
	return check_done();
}
