/*
 * settings.c
 *	  What users can set: redblue.backend and its kin.
 */
#include "pg/base/rb_pg.h"

#include "utils/guc.h"

#include <limits.h>
#include <sched.h>
#include <unistd.h>

#define RB_MAX_GRID 1024
#define RB_MAX_THREADS 256
/* with no better knowledge: a database has other things to do with its cores */
#define RB_AUTO_THREADS 8
#define RB_PARTS_PER_THREAD 4096

int rb_setting_backend = RB_CHOOSE_AUTO;
int rb_setting_threads = 0;
int rb_setting_memory_limit = 4 * 1024 * 1024;
int rb_setting_gpu_memory_limit = 0;
int rb_setting_grid_resolution = 0;
bool rb_setting_custom_scan = true;
bool rb_setting_duplicate_notice = true;

static const struct config_enum_entry backend_choices[] = {{"auto", RB_CHOOSE_AUTO, false},
														   {"cpu", RB_CHOOSE_CPU, false},
														   {"cuda", RB_CHOOSE_CUDA, false},
														   {NULL, 0, false}};

void
rb_settings_define(void)
{
	DefineCustomEnumVariable(
		"redblue.backend", "Where joins are computed.",
		"auto takes a GPU where one is usable and the CPU elsewhere; cuda is an error where no GPU is usable. The answer is the same.",
		&rb_setting_backend, RB_CHOOSE_AUTO, backend_choices, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("redblue.threads", "Threads of a join on the CPU.",
							"0 takes one for each core, at most 8.", &rb_setting_threads, 0, 0,
							RB_MAX_THREADS, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable(
		"redblue.memory_limit", "Memory that one join may use for its inputs and its work.",
		"A join that would need more is an error. The rows returned are kept within work_mem, as those of any function.",
		&rb_setting_memory_limit, 4 * 1024 * 1024, 1024, INT_MAX, PGC_USERSET, GUC_UNIT_KB, NULL,
		NULL, NULL);
	DefineCustomIntVariable("redblue.gpu_memory_limit", "Memory of the GPU that one join may use.",
							"0 takes what is free.", &rb_setting_gpu_memory_limit, 0, 0, INT_MAX,
							PGC_SUSET, GUC_UNIT_KB, NULL, NULL, NULL);
	DefineCustomIntVariable("redblue.grid_resolution", "Cells of the grid along its longest side.",
							"0 plans it from a sample of the data. The answer is the same.",
							&rb_setting_grid_resolution, 0, 0, RB_MAX_GRID, PGC_USERSET, 0, NULL,
							NULL, NULL);
	DefineCustomBoolVariable(
		"redblue.custom_scan", "Lets a join in FROM hand its pairs on while it runs.",
		"Off, the pairs are collected before the first is returned. The answer is the same.",
		&rb_setting_custom_scan, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomBoolVariable(
		"redblue.duplicate_notice", "Tells when rows of a join have the same id.",
		"A NOTICE once a call, where the column is not known to be unique and not named as that of objects.",
		&rb_setting_duplicate_notice, true, PGC_USERSET, 0, NULL, NULL, NULL);
	MarkGUCPrefixReserved("redblue");
}

const char *
rb_setting_backend_name(void)
{
	for (const struct config_enum_entry *choice = backend_choices; choice->name != NULL; choice++)
		if (choice->val == rb_setting_backend)
			return choice->name;
	return "";
}

/*
 * Threads for a join of so many parts.  Automatic: one for each core that this process
 * may run on (in a container these are not all), but no more than have something to do:
 * on a busy machine threads that wait for each other cost more than a small join.
 */
int
rb_threads(uint64 parts)
{
	cpu_set_t set;
	long cores;

	if (rb_setting_threads > 0)
		return rb_setting_threads;
	if (sched_getaffinity(0, sizeof set, &set) == 0)
		cores = CPU_COUNT(&set);
	else
		cores = sysconf(_SC_NPROCESSORS_ONLN);
	cores = Min(cores, RB_AUTO_THREADS);
	if (parts / RB_PARTS_PER_THREAD < (uint64) cores)
		cores = (long) (parts / RB_PARTS_PER_THREAD);
	return (int) Max(cores, 1);
}
