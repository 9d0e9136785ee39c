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
/* Default limit on threads, because a database server needs its cores for other work, too */
#define RB_AUTO_THREADS 8
#define RB_PARTS_PER_THREAD 4096

int rb_setting_backend = RB_CHOOSE_AUTO;
static int setting_threads = 0; /* Number of threads, 0 for automatic */
int rb_setting_memory_limit = 4 * 1024 * 1024;
static int gpu_memory_limit = 0;
static uint32 devices = 0;
static char *gpu_devices;
static int grid_resolution = 0;
int rb_setting_worker_idle = 600;
bool rb_setting_custom_scan = true;
bool rb_setting_join = true;
bool rb_setting_replace_postgis = false;
bool rb_setting_duplicate_notice = true;
bool rb_setting_skip_notice = true;
int rb_setting_cache = RB_CACHE_AUTO;
int rb_setting_cache_memory = 1024 * 1024;
static int gpu_cache_memory = -1;

static const struct config_enum_entry backend_choices[] = {{"auto", RB_CHOOSE_AUTO, false},
														   {"cpu", RB_CHOOSE_CPU, false},
														   {"cuda", RB_CHOOSE_CUDA, false},
														   {NULL, 0, false}};

static const struct config_enum_entry cache_choices[] = {{"auto", RB_CACHE_AUTO, false},
														 {"on", RB_CACHE_ON, false},
														 {"off", RB_CACHE_OFF, false},
														 {NULL, 0, false}};

/*
 * A setting. If its variable is gpu_devices it is a string, if it has choices an enum, if `most` is
 * 0 a Boolean, and otherwise an integer.
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
	{"redblue.backend", "Selects the processor that computes joins and refines meshes.",
	 "auto uses a GPU if one is available and the CPU otherwise; cuda raises "
	 "an error if no GPU is available. The results are the same.",
	 &rb_setting_backend, RB_CHOOSE_AUTO, 0, 0, backend_choices, PGC_USERSET, 0},
	{"redblue.threads", "Sets the number of threads of a join on the CPU.",
	 "0 uses one thread per core, at most 8.", &setting_threads, 0, 0, RB_MAX_THREADS, NULL,
	 PGC_USERSET, 0},
	{"redblue.memory_limit",
	 "Sets the maximum memory of one join for its inputs and its workspace.",
	 "A larger join runs tile by tile with temporary files, or raises an error if it cannot. "
	 "Returned rows are stored within work_mem, like those of any function.",
	 &rb_setting_memory_limit, 4 * 1024 * 1024, 1024, INT_MAX, NULL, PGC_USERSET, GUC_UNIT_KB},
	{"redblue.gpu_memory_limit", "Sets the maximum GPU memory of one join.",
	 "0 uses all free GPU memory.", &gpu_memory_limit, 0, 0, INT_MAX, NULL, PGC_SUSET, GUC_UNIT_KB},
	{"redblue.gpu_devices", "Selects the GPUs that joins and mesh refinement may use.",
	 "The value is all or a comma-separated list of GPU numbers, in the order "
	 "in which nvidia-smi lists the GPUs that the server can access. The "
	 "results are the same.",
	 &gpu_devices, 0, 0, 0, NULL, PGC_SUSET, 0},
	{"redblue.grid_resolution", "Sets the number of grid cells along the longest side of the grid.",
	 "0 chooses the number from a sample of the data. The results are the same.", &grid_resolution,
	 0, 0, RB_MAX_GRID, NULL, PGC_USERSET, 0},
	{"redblue.worker_idle",
	 "Sets the idle time after which the background worker that uses the GPU exits.",
	 "The time is measured from the end of its last join. The next join that "
	 "needs a GPU starts another worker.",
	 &rb_setting_worker_idle, 600, 1, INT_MAX / 1000, NULL, PGC_SIGHUP, GUC_UNIT_S},
	{"redblue.custom_scan", "Enables joins in FROM to return pairs while they run.",
	 "If off, all pairs are collected before the first one is returned. The "
	 "results are the same.",
	 &rb_setting_custom_scan, true, 0, 0, NULL, PGC_USERSET, GUC_EXPLAIN},
	{"redblue.join", "Enables the planner to join whole tables on functions of two geometries.",
	 "If off, such a join is a nested loop, with an index if there is one. "
	 "The results are the same.",
	 &rb_setting_join, true, 0, 0, NULL, PGC_USERSET, GUC_EXPLAIN},
	{"redblue.replace_postgis",
	 "Replaces ST_3DIntersects and ST_3DDWithin with redblue_intersects and redblue_dwithin.",
	 "Affects statements that are planned while this setting is on and the "
	 "library is loaded. Results are exact and may therefore differ from those of PostGIS.",
	 &rb_setting_replace_postgis, false, 0, 0, NULL, PGC_USERSET, GUC_EXPLAIN},
	{"redblue.duplicate_notice", "Reports rows of a join that have the same id.",
	 "Issues one NOTICE per call if the id column is neither known to be "
	 "unique nor named as the object column.",
	 &rb_setting_duplicate_notice, true, 0, 0, NULL, PGC_USERSET, 0},
	{"redblue.skip_notice",
	 "Reports how many solids or polygons on_bad => 'skip' skipped, and why.",
	 "Issues one NOTICE per call with the most frequent reasons.", &rb_setting_skip_notice, true, 0,
	 0, NULL, PGC_USERSET, 0},
	{"redblue.cache", "Selects the tables that stay cached in memory between joins.",
	 "auto caches a table of at least 8 MB when it is read again unchanged; "
	 "on caches every table when it is first read; off neither caches tables "
	 "nor uses cached ones. The results are the same.",
	 &rb_setting_cache, RB_CACHE_AUTO, 0, 0, cache_choices, PGC_USERSET, 0},
	{"redblue.cache_memory", "Sets the maximum memory for cached tables.",
	 "The least recently used tables are evicted first. 0 disables the cache.",
	 &rb_setting_cache_memory, 1024 * 1024, 0, INT_MAX, NULL, PGC_SIGHUP, GUC_UNIT_KB},
	{"redblue.gpu_cache_memory", "Sets the maximum GPU memory for copies of cached tables.",
	 "-1 uses a quarter of the GPU memory; 0 caches nothing on the GPU.", &gpu_cache_memory, -1, -1,
	 INT_MAX, NULL, PGC_SIGHUP, GUC_UNIT_KB},
};

/* ---- the list of devices ---- */

/* Returns true if the setting is a string: the list of devices, the only one. */
static bool
is_text_setting(const setting *s)
{
	return s->variable == &gpu_devices;
}

/*
 * Parses a device list into a bit set, which is 0 for all devices. Returns false and stores the
 * reason if the list is invalid.
 */
static bool
parse_device_list(const char *text, uint32 *cards, char *fault, size_t size)
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
					 "The value must be \"all\" or a comma-separated list of numbers from 0 to %d.",
					 RB_MAX_DEVICES - 1);
			return false;
		}
		number = strtoul(at, &end, 10);
		if (number >= RB_MAX_DEVICES)
		{
			snprintf(fault, size, "GPU numbers range from 0 to %d.", RB_MAX_DEVICES - 1);
			return false;
		}
		if ((*cards >> number & 1) != 0)
		{
			snprintf(fault, size, "GPU number %lu is listed twice.", number);
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
			snprintf(fault, size, "A comma is missing after %lu.", number);
			return false;
		}
	}
}

/* Checks a value of the list of devices, and stores the reason if it is invalid. */
static bool
check_device_list(char **value, void **extra, GucSource source)
{
	char fault[100];
	uint32 cards;

	if (!parse_device_list(*value, &cards, fault, sizeof fault))
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
assign_device_list(const char *value, void *extra)
{
	char fault[100];

	(void) parse_device_list(value, &devices, fault, sizeof fault);
}

/* ---- values set before the settings were defined ---- */

/* Returns true if an enum setting has a choice of that name, in any case of letters. */
static bool
is_setting_choice(const setting *s, const char *value)
{
	for (const struct config_enum_entry *choice = s->choices; choice->name != NULL; choice++)
		if (pg_strcasecmp(choice->name, value) == 0)
			return true;
	return false;
}

/* Returns the values of an enumerated setting, separated by commas. */
static char *
list_setting_choices(const setting *s)
{
	StringInfoData list;

	initStringInfo(&list);
	for (const struct config_enum_entry *choice = s->choices; choice->name != NULL; choice++)
		appendStringInfo(&list, "%s%s", list.len > 0 ? ", " : "", choice->name);
	return list.data;
}

/* Raises the error that SET raises for an invalid value of a defined setting. */
static void
check_setting_value(const setting *s, const char *value)
{
	const char *hint = NULL;
	char fault[100];
	uint32 cards;
	bool on;
	int number;

	if (is_text_setting(s) && !parse_device_list(value, &cards, fault, sizeof fault))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("invalid value for parameter \"%s\": \"%s\"", s->name, value),
						errdetail("%s", fault)));
	if (is_text_setting(s))
		return;
	if (s->choices != NULL && !is_setting_choice(s, value))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("invalid value for parameter \"%s\": \"%s\"", s->name, value),
						errhint("Available values: %s.", list_setting_choices(s))));
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
		value = rb_setting_text(placeholder);
		if (value != NULL)
			check_setting_value(&settings[i], value);
	}
}

void
rb_settings_define(void)
{
	for (size_t i = 0; i < lengthof(settings); i++)
	{
		const setting *s = &settings[i];

		if (is_text_setting(s))
			DefineCustomStringVariable(s->name, s->text, s->more, s->variable, "all", s->context,
									   s->flags, check_device_list, assign_device_list, NULL);
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

rb_join_settings
rb_settings_get(void)
{
	return (rb_join_settings){
		.devices = devices,
		.only_devices = rb_setting_backend == RB_CHOOSE_CUDA,
		.grid_resolution = (uint32) grid_resolution,
		.gpu_memory_limit = (uint64) gpu_memory_limit * 1024,
		.gpu_cache_limit = gpu_cache_memory < 0 ? UINT64_MAX : (uint64) gpu_cache_memory * 1024};
}

void
rb_settings_apply(rb_context *ctx, rb_memory *memory)
{
	rb_context_init(ctx, memory);
	ctx->settings = rb_settings_get();
}

/*
 * Returns the number of threads for a join of `parts` parts.
 *
 * The automatic choice is one thread per core that this process may use (in a container, these may
 * not be all cores), up to RB_AUTO_THREADS, but no more threads than have enough work: on a busy
 * machine, threads that wait for each other can cost more than a small join itself.
 */
int
rb_threads(uint64 parts)
{
	cpu_set_t set;
	long cores;

	if (setting_threads > 0)
		return setting_threads;
	if (sched_getaffinity(0, sizeof set, &set) == 0)
		cores = CPU_COUNT(&set);
	else
		cores = sysconf(_SC_NPROCESSORS_ONLN);
	cores = Min(cores, RB_AUTO_THREADS);
	if (parts / RB_PARTS_PER_THREAD < (uint64) cores)
		cores = (long) (parts / RB_PARTS_PER_THREAD);
	return (int) Max(cores, 1);
}
