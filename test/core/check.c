/*
 * check.c
 *	  Implements the harness of the C tests (check.h).
 */
#include "check.h"
#include "core/base/base.h"

#include <time.h>

long check_failures = 0;
uint64_t check_state = 1;
static int cases = 0;
static int failed_cases = 0;

/* Runs a case and prints its line. */
void
check_run(void (*function)(void), const char *name)
{
	check_failures = 0;
	function();
	cases++;
	if (check_failures > 0)
	{
		failed_cases++;
		printf("# %ld checks failed\n", check_failures);
	}
	printf("%s %d - %s\n", check_failures > 0 ? "not ok" : "ok", cases, name);
	fflush(stdout);
}

/* Prints the plan, and returns the exit status of the program. */
int
check_done(void)
{
	printf("1..%d\n", cases);
	return failed_cases > 0 || cases == 0;
}

/*
 * Scales a number of rounds, to at least one. Builds with small buffers cross all boundaries in
 * fewer rounds.
 */
long
check_rounds(long n)
{
	const char *scale = getenv("RB_TEST_SCALE");
	double factor = (scale ? atof(scale) : 1) * RB_SIZE(1, 0.5);
	long rounds = (long) ((double) n * factor);

	return rounds < 1 ? 1 : rounds;
}

/*
 * Returns the CPU time that all threads of this process have used, in ms. Tests use it to judge how
 * soon something stops, because elapsed time depends on what else the machine does.
 */
double
check_work_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double) t.tv_sec * 1e3 + (double) t.tv_nsec * 1e-6;
}

/* Returns 64 random bits, by splitmix64. */
uint64_t
check_random(void)
{
	uint64_t z = (check_state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Returns a random number in 0 .. n - 1. */
int
check_below(int n)
{
	return (int) (check_random() % (uint64_t) n);
}
