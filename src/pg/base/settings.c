/*
 * settings.c
 *	  Defines and checks the settings of the extension (redblue.*).
 */
#include "pg/base/pg.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/guc_tables.h"

#include <ctype.h>
#include <limits.h>
#include <sched.h>
#include <unistd.h>

#define RB_MAX_GRID 1024
#define RB_MAX_THREADS 256
/* Default limit, because a database server needs its cores for other work, too */
#define RB_AUTO_THREADS 8
#define RB_PARTS_PER_THREAD 4096

int rb_setting_backend = RB_CHOOSE_AUTO;
int rb_setting_threads = 0;
int rb_setting_memory_limit = 4 * 1024 * 1024;
int rb_setting_gpu_memory_limit = 0;
uint32 rb_setting_cards = 0;
static char *gpu_devices;
int rb_setting_grid_resolution = 0;
int rb_setting_worker_idle = 600;
bool rb_setting_custom_scan = true;
bool rb_setting_join = true;
bool rb_setting_replace_postgis = false;
bool rb_setting_duplicate_notice = true;
bool rb_setting_skip_notice = true;
int rb_setting_cache = RB_CACHE_AUTO;
int rb_setting_cache_memory = 1024 * 1024;
int rb_setting_gpu_cache_memory = -1;

static const struct config_enum_entry backend_choices[] = {{"auto", RB_CHOOSE_AUTO, false},
														   {"cpu", RB_CHOOSE_CPU, false},
														   {"cuda", RB_CHOOSE_CUDA, false},
														   {NULL, 0, false}};

static const struct config_enum_entry cache_choices[] = {{"auto", RB_CACHE_AUTO, false},
														 {"on", RB_CACHE_ON, false},
														 {"off", RB_CACHE_OFF, false},
														 {NULL, 0, false}};

/*
 * A setting. It is a string if its variable is gpu_devices, an enum if it has choices, a Boolean if
 * `most` is 0, and otherwise an integer.
 */
typedef struct setting
{
	const char *name;
	const char *text;
	const char *more;
	void *variable;
	int value; /* Default value */
	int least;
	int most;
	const struct config_enum_entry *choices;
	GucContext context;
	int flags;
} setting;

static const setting settings[] = {
	{"redblue.backend", "Where joins are computed and meshes refined.",
	 "auto takes a GPU where one is usable and the CPU elsewhere; cuda is an error where no GPU is usable. The answer is the same.",
	 &rb_setting_backend, RB_CHOOSE_AUTO, 0, 0, backend_choices, PGC_USERSET, 0},
	{"redblue.threads", "Threads of a join on the CPU.", "0 takes one for each core, at most 8.",
	 &rb_setting_threads, 0, 0, RB_MAX_THREADS, NULL, PGC_USERSET, 0},
	{"redblue.memory_limit", "Memory that one join may use for its inputs and its work.",
	 "A join that would need more is an error. The rows returned are kept within work_mem, as those of any function.",
	 &rb_setting_memory_limit, 4 * 1024 * 1024, 1024, INT_MAX, NULL, PGC_USERSET, GUC_UNIT_KB},
	{"redblue.gpu_memory_limit", "Memory of the GPU that one join may use.",
	 "0 takes what is free.", &rb_setting_gpu_memory_limit, 0, 0, INT_MAX, NULL, PGC_SUSET,
	 GUC_UNIT_KB},
	{"redblue.gpu_devices", "GPUs that joins and meshes may use.",
	 "all, or numbers with commas between them, as nvidia-smi counts those that the server sees. The answer is the same.",
	 &gpu_devices, 0, 0, 0, NULL, PGC_SUSET, 0},
	{"redblue.grid_resolution", "Cells of the grid along its longest side.",
	 "0 plans it from a sample of the data. The answer is the same.", &rb_setting_grid_resolution,
	 0, 0, RB_MAX_GRID, NULL, PGC_USERSET, 0},
	{"redblue.worker_idle", "Time after which the process that has the GPU open ends.",
	 "It is counted from its last join. The next one that needs a GPU starts another process.",
	 &rb_setting_worker_idle, 600, 1, INT_MAX / 1000, NULL, PGC_SIGHUP, GUC_UNIT_S},
	{"redblue.custom_scan", "Lets a join in FROM hand its pairs on while it runs.",
	 "Off, the pairs are collected before the first is returned. The answer is the same.",
	 &rb_setting_custom_scan, true, 0, 0, NULL, PGC_USERSET, GUC_EXPLAIN},
	{"redblue.join", "Lets the planner join tables on functions of two geometries as a whole.",
	 "Off, such a join is a loop, with an index where there is one. The answer is the same.",
	 &rb_setting_join, true, 0, 0, NULL, PGC_USERSET, GUC_EXPLAIN},
	{"redblue.replace_postgis",
	 "Has redblue_intersects and redblue_dwithin answer ST_3DIntersects and ST_3DDWithin.",
	 "In statements that are planned while it is on and the library is loaded. The answers are other ones: exact.",
	 &rb_setting_replace_postgis, false, 0, 0, NULL, PGC_USERSET, GUC_EXPLAIN},
	{"redblue.duplicate_notice", "Tells when rows of a join have the same id.",
	 "A NOTICE once a call, where the column is not known to be unique and not named as that of objects.",
	 &rb_setting_duplicate_notice, true, 0, 0, NULL, PGC_USERSET, 0},
	{"redblue.skip_notice", "Tells how many bodies on_bad => 'skip' leaves out, and why.",
	 "A NOTICE once a call, with the most frequent reasons.", &rb_setting_skip_notice, true, 0, 0,
	 NULL, PGC_USERSET, 0},
	{"redblue.cache", "Which tables stay in memory from one join to the next.",
	 "auto keeps one of 8 MB or more that is read a second time unchanged, on every one at its first reading; off neither keeps nor looks for any. The answer is the same.",
	 &rb_setting_cache, RB_CACHE_AUTO, 0, 0, cache_choices, PGC_USERSET, 0},
	{"redblue.cache_memory", "Memory for tables that stay from one join to the next.",
	 "What was not used for the longest time goes to make room. 0 keeps nothing.",
	 &rb_setting_cache_memory, 1024 * 1024, 0, INT_MAX, NULL, PGC_SIGHUP, GUC_UNIT_KB},
	{"redblue.gpu_cache_memory", "Memory of the GPU for copies of tables that stay.",
	 "-1 takes a quarter of it; 0 keeps nothing there.", &rb_setting_gpu_cache_memory, -1, -1,
	 INT_MAX, NULL, PGC_SIGHUP, GUC_UNIT_KB},
};

/* ---- the list of devices ---- */

static bool
is_text(const setting *s)
{
	return s->variable == &gpu_devices;
}

/*
 * Parses a device list into a bit set, which is 0 for all devices. Returns false with the reason if
 * the list is invalid.
 */
static bool
parse_devices(const char *text, uint32 *cards, char *fault, size_t size)
{
	const char *at = text;

	*cards = 0;
	while (isspace((unsigned char) *at))
		at++;
	if (pg_strncasecmp(at, "all", 3) == 0 && at[3 + strspn(at + 3, " \t\n")] == '\0')
		return true;
	for (;;)
	{
		unsigned long number;
		char *end;

		while (isspace((unsigned char) *at))
			at++;
		if (!isdigit((unsigned char) *at))
		{
			snprintf(fault, size,
					 "It is \"all\", or numbers from 0 to %d with commas between them.",
					 RB_CARDS - 1);
			return false;
		}
		number = strtoul(at, &end, 10);
		if (number >= RB_CARDS || (*cards >> number & 1) != 0)
		{
			snprintf(fault, size,
					 number >= RB_CARDS ? "GPUs are counted from 0 to %d."
										: "There is one twice, of GPUs from 0 to %d.",
					 RB_CARDS - 1);
			return false;
		}
		*cards |= UINT32_C(1) << number;
		at = end;
		while (isspace((unsigned char) *at))
			at++;
		if (*at == '\0')
			return true;
		if (*at++ != ',')
		{
			snprintf(fault, size, "There is no comma behind %lu.", number);
			return false;
		}
	}
}

static bool
check_devices(char **value, void **extra, GucSource source)
{
	char fault[100];
	uint32 cards;

	if (!parse_devices(*value, &cards, fault, sizeof fault))
	{
		GUC_check_errdetail("%s", fault);
		return false;
	}
	return true;
}

/*
 * Parses the list again. Passing the parsed value in `extra` would need an allocation, and a failed
 * allocation must not end the session.
 */
static void
assign_devices(const char *value, void *extra)
{
	char fault[100];

	(void) parse_devices(value, &rb_setting_cards, fault, sizeof fault);
}

/* ---- values set before the settings were defined ---- */

static bool
is_choice(const setting *s, const char *value)
{
	for (const struct config_enum_entry *choice = s->choices; choice->name != NULL; choice++)
		if (pg_strcasecmp(choice->name, value) == 0)
			return true;
	return false;
}

static char *
list_choices(const setting *s)
{
	StringInfoData list;

	initStringInfo(&list);
	for (const struct config_enum_entry *choice = s->choices; choice->name != NULL; choice++)
		appendStringInfo(&list, "%s%s", list.len > 0 ? ", " : "", choice->name);
	return list.data;
}

/* Raises the error that SET raises for an invalid value of a defined setting. */
static void
check_value(const setting *s, const char *value)
{
	const char *hint = NULL;
	char fault[100];
	uint32 cards;
	bool on;
	int number;

	if (is_text(s) && !parse_devices(value, &cards, fault, sizeof fault))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("invalid value for parameter \"%s\": \"%s\"", s->name, value),
						errdetail("%s", fault)));
	if (is_text(s))
		return;
	if (s->choices != NULL && !is_choice(s, value))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("invalid value for parameter \"%s\": \"%s\"", s->name, value),
						errhint("Available values: %s.", list_choices(s))));
	if (s->choices != NULL)
		return;
	if (s->most == 0 && !parse_bool(value, &on))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("parameter \"%s\" requires a Boolean value", s->name)));
	if (s->most == 0)
		return;
	if (!parse_int(value, &number, s->flags, &hint))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("invalid value for parameter \"%s\": \"%s\"", s->name, value),
						hint != NULL ? errhint("%s", hint) : 0));
	if (number < s->least || number > s->most)
	{
		const char *unit = (s->flags & GUC_UNIT) == GUC_UNIT_KB  ? " kB"
						   : (s->flags & GUC_UNIT) == GUC_UNIT_S ? " s"
																 : "";

		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%d%s is outside the valid range for parameter \"%s\" (%d%s .. %d%s)",
						number, unit, s->name, s->least, unit, s->most, unit)));
	}
}

/*
 * Raises an error for an invalid value that the session set before the library was loaded.
 *
 * Until the first use in a session loads this library, PostgreSQL accepts any value of a redblue.*
 * setting as a placeholder. When the setting is defined, it drops an invalid value with only a
 * warning, and a join could run where the user did not want it to. An invalid value from SET is
 * therefore an error of that first use. The check runs before anything is defined or installed, so
 * that the next use repeats it and succeeds with a valid value.
 *
 * Values from the configuration file, a role, a database or a connection raise no error, and
 * neither do any values while the library is being preloaded, because users could not log in.
 */
void
rb_settings_check(void)
{
	if (process_shared_preload_libraries_in_progress || IsParallelWorker() || !IsTransactionState())
		return;
	for (size_t i = 0; i < lengthof(settings); i++)
	{
		const struct config_generic *placeholder = rb_find_setting(settings[i].name);
		const char *value;

		if (placeholder == NULL || (placeholder->flags & GUC_CUSTOM_PLACEHOLDER) == 0 ||
			placeholder->source != PGC_S_SESSION)
			continue;
		value = *((const struct config_string *) placeholder)->variable;
		if (value != NULL)
			check_value(&settings[i], value);
	}
}

void
rb_settings_define(void)
{
	for (size_t i = 0; i < lengthof(settings); i++)
	{
		const setting *s = &settings[i];

		if (is_text(s))
			DefineCustomStringVariable(s->name, s->text, s->more, s->variable, "all", s->context,
									   s->flags, check_devices, assign_devices, NULL);
		else if (s->choices != NULL)
			DefineCustomEnumVariable(s->name, s->text, s->more, s->variable, s->value, s->choices,
									 s->context, s->flags, NULL, NULL, NULL);
		else if (s->most > 0)
			DefineCustomIntVariable(s->name, s->text, s->more, s->variable, s->value, s->least,
									s->most, s->context, s->flags, NULL, NULL, NULL);
		else
			DefineCustomBoolVariable(s->name, s->text, s->more, s->variable, s->value != 0,
									 s->context, s->flags, NULL, NULL, NULL);
	}
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
 * Returns the number of threads for a join of `parts` parts.
 *
 * The automatic choice is one thread per core that this process may use (in a container, these may
 * not be all cores), up to RB_AUTO_THREADS, but no more than have enough work: on a busy machine,
 * waiting for each other can cost more than a small join itself.
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
