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
 * variable RB_TEST_SCALE (default 1). Fixtures use the same random numbers, and their failed CHECKs
 * count for the current case.
 */
#ifndef CHECK_H
#define CHECK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C"
{
#endif

extern long check_failures;  /* Failures of the current case */
extern uint64_t check_state; /* State of the random numbers, 1 at the start */

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

extern void check_run(void (*function)(void), const char *name);
extern int check_done(void);
extern long check_rounds(long n);
extern double check_work_ms(void);
extern uint64_t check_random(void);
extern int check_below(int n);

#ifdef __cplusplus
}
#endif

#endif /* CHECK_H */
