/*
 * kept_thread.c
 *	  Tests threads that are kept between works: the same thread runs the next work for its device,
 *	  works at once have threads of their own, few threads stay idle, and a child process starts its
 *	  own.
 */
#define _GNU_SOURCE
#include "check.h"
#include "core/exec/kept_thread.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKS (3 * RB_KEPT_THREADS)

static int before; /* Number of threads without kept ones; a sanitizer may have one of its own */

/* A work that records its thread, and may wait until all works of a round are running */
typedef struct visit
{
	rb_kept_work work;
	pthread_barrier_t *all; /* Barrier of the works of a round, or NULL */
	pthread_t thread;
	bool blocked; /* True if all signals are blocked in the thread */
} visit;

static void
record_thread(void *arg)
{
	visit *v = arg;
	sigset_t mask;

	v->thread = pthread_self();
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	v->blocked = sigismember(&mask, SIGINT) == 1 && sigismember(&mask, SIGUSR1) == 1;
	if (v->all != NULL)
		pthread_barrier_wait(v->all);
}

/* Runs n works at once, for devices first, first + 1, ..., and waits for them. */
static void
run_works(visit *v, int n, int first)
{
	pthread_barrier_t all;

	pthread_barrier_init(&all, NULL, (unsigned) n);
	for (int i = 0; i < n; i++)
	{
		memset(&v[i], 0, sizeof(v[i]));
		v[i].all = &all;
		v[i].work = (rb_kept_work){.run = record_thread, .arg = &v[i], .device = first + i};
		CHECK(rb_kept_thread_start(&v[i].work), "work %d of %d", i, n);
	}
	for (int i = 0; i < n; i++)
	{
		rb_kept_thread_wait(&v[i].work);
		CHECK(v[i].work.ended && v[i].blocked, "work %d of %d", i, n);
	}
	pthread_barrier_destroy(&all);
}

/* Returns the number of threads of this process. */
static int
count_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	int n = 0;

	for (struct dirent *d; dir != NULL && (d = readdir(dir)) != NULL;)
		n += d->d_name[0] != '.';
	if (dir != NULL)
		closedir(dir);
	return n;
}

static void
threads_return_to_their_device(void)
{
	visit first[4], next[4];

	run_works(first, 4, 0);
	for (int k = 0; k < 4; k++)
		for (int l = 0; l < k; l++)
			CHECK(!pthread_equal(first[k].thread, first[l].thread), "%d and %d", k, l);
	for (int turn = 0; turn < 20; turn++)
	{
		const int at = turn % 3;

		/* Two of the four, and then one for a device without a thread of its own. */
		run_works(next, 2, at);
		for (int k = 0; k < 2; k++)
			CHECK(pthread_equal(next[k].thread, first[at + k].thread), "turn %d, work %d", turn, k);
	}
	run_works(next, 1, 77);
	CHECK(pthread_equal(next[0].thread, first[1].thread) ||
			  pthread_equal(next[0].thread, first[2].thread) ||
			  pthread_equal(next[0].thread, first[3].thread) ||
			  pthread_equal(next[0].thread, first[0].thread),
		  "any idle thread is used");
}

static void
few_threads_stay(void)
{
	visit v[WORKS];
	int left = 0;

	run_works(v, WORKS, 0);
	/* The other threads end soon, though their end is not awaited. */
	for (int i = 0; i < 10000 && (left = count_threads()) > before + RB_KEPT_THREADS; i++)
		usleep(1000);
	CHECK(left <= before + RB_KEPT_THREADS, "%d threads, %d before", left, before);
	run_works(v, WORKS, 0);
}

/* A child of fork has none of the idle threads. */
static void
child_starts_its_own(void)
{
	visit v;
	int status = -1;
	pid_t child;

	run_works(&v, 1, 0);
	child = fork();
	if (child == 0)
	{
		alarm(60);
		run_works(&v, 1, 0);
		run_works(&v, 1, 0);
		_exit(count_threads() == 2 ? 0 : 1);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0,
		  "status %d", status);
	run_works(&v, 1, 0);
}

int
main(void)
{
	visit v;

	run_works(&v, 1, 0);
	before = count_threads() - 1;
	CHECK_RUN(threads_return_to_their_device);
	CHECK_RUN(few_threads_stay);
#if !defined(__SANITIZE_THREAD__) /* It does not support threads in a child of fork */
	CHECK_RUN(child_starts_its_own);
#endif
	return check_done();
}
