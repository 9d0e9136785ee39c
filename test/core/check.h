/*
 * check.h
 *	  Provides a small harness for the C tests: one program per topic, one function per case.
 *
 *	  static void
 *	  case_of_interest(void)
 *	  {
 *		  CHECK(1 + 1 == 2, "got %d", 1 + 1);
 *	  }
 *
 *	  int
 *	  main(void)
 *	  {
 *		  CHECK_RUN(case_of_interest);
 *		  return check_done();
 *	  }
 *
 * A case prints one line, "ok N - name" or "not ok N - name", after at most ten lines that describe
 * what went wrong. A failed CHECK does not end the case.
 *
 * Random numbers are the same in every run. check_rounds(n) returns n times the environment
 * variable RB_TEST_SCALE (default 1).
 */
#ifndef CHECK_H
#define CHECK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int check_cases = 0;
static int check_failed_cases = 0;
static long check_failures = 0; /* Failures of the current case */

#define CHECK(condition, ...)                                        \
	do                                                               \
	{                                                                \
		if (!(condition) && check_failures++ < 10)                   \
		{                                                            \
			printf("# %s:%d: %s: ", __FILE__, __LINE__, #condition); \
			printf(__VA_ARGS__);                                     \
			printf("\n");                                            \
		}                                                            \
	} while (0)

#define CHECK_RUN(function) check_run(function, #function)

__attribute__((unused)) static void
check_run(void (*function)(void), const char *name)
{
	check_failures = 0;
	function();
	check_cases++;
	if (check_failures > 0)
	{
		check_failed_cases++;
		printf("# %ld checks failed\n", check_failures);
	}
	printf("%s %d - %s\n", check_failures > 0 ? "not ok" : "ok", check_cases, name);
	fflush(stdout);
}

__attribute__((unused)) static int
check_done(void)
{
	printf("1..%d\n", check_cases);
	return check_failed_cases > 0 || check_cases == 0;
}

__attribute__((unused)) static long
check_rounds(long n)
{
	const char *scale = getenv("RB_TEST_SCALE");
	double factor = scale ? atof(scale) : 1;
	long rounds = (long) ((double) n * factor);

	return rounds < 1 ? 1 : rounds;
}

/*
 * Returns the CPU time that all threads of this process have used, in ms. Tests use it to judge how
 * soon something stops, because elapsed time depends on what else the machine does.
 */
__attribute__((unused)) static double
check_work_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double) t.tv_sec * 1e3 + (double) t.tv_nsec * 1e-6;
}

/* ---- random numbers: splitmix64 ---- */

static uint64_t check_state = 1;

__attribute__((unused)) static uint64_t
check_random(void)
{
	uint64_t z = (check_state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Returns a random number in 0 .. n - 1. */
__attribute__((unused)) static int
check_below(int n)
{
	return (int) (check_random() % (uint64_t) n);
}

#endif /* CHECK_H */
