/*
 * error.c
 *	  Converts a status of the core into an ERROR. No other file does so.
 *
 * Every message starts with the function, then names what the user can look up: side, column, row
 * id. DETAIL gives the numbers, HINT a remedy.
 */
#include "pg/base/pg.h"

#include "utils/float.h"

/* Returns a readable size, rounded up to kB below 64 MB and to MB otherwise. */
static char *
text_of_memory_size(uint64 bytes)
{
	if (bytes < UINT64CONST(1) << 26)
		return psprintf("%llu kB", (unsigned long long) ((bytes + 1023) >> 10));
	return psprintf("%llu MB", (unsigned long long) ((bytes + ((1 << 20) - 1)) >> 20));
}

char *
rb_count_text(uint64 n, const char *noun)
{
	return psprintf(UINT64_FORMAT " %s%s", n, noun, n == 1 ? "" : "s");
}

const char *
rb_point_text(const double *at)
{
	return psprintf("(%s %s %s)", float8out_internal(at[0]), float8out_internal(at[1]),
					float8out_internal(at[2]));
}

void
rb_raise(const char *function, rb_status status, const rb_error *error)
{
	rb_raise_of(function, "join", status, error);
}

/* Raises the ERROR that a row of a side is not a valid solid, with its id and the reason. */
pg_noreturn static void
raise_invalid_solid_of_side(const char *function, const rb_error *error)
{
	const uint64 side = error->limit & RB_SOLID_SIDE;
	const char *name = side == RB_SOLID_OF_RED    ? "red"
					   : side == RB_SOLID_OF_BLUE ? "blue"
												  : "solids";

	ereport(
		ERROR,
		(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		 errmsg("%s: id %lld of %s is not a valid solid", function, (long long) error->need, name),
		 errdetail("%s", error->text),
		 error->limit & RB_SOLID_TOGETHER
			 ? errhint("The rows of %s form closed surfaces only together.  If each row is a face, "
					   "name the column that identifies the solids: %s => '...'.",
					   name,
					   side == RB_SOLID_OF_RED || side == RB_SOLID_OF_BLUE
						   ? psprintf("%s_solid", name)
						   : "solid")
			 : errhint("Use redblue_solid_check for a report on all rows, or on_bad => 'skip' to "
					   "skip invalid solids.")));
	pg_unreachable();
}

/* Raises the ERROR that a row of a side is not a valid polygon, with its id and the reason. */
pg_noreturn static void
raise_invalid_polygon_of_side(const char *function, const rb_error *error)
{
	const char *name = error->limit == RB_SOLID_OF_RED    ? "red"
					   : error->limit == RB_SOLID_OF_BLUE ? "blue"
														  : "polygons";

	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("%s: id %lld of %s is not a valid polygon", function,
						   (long long) error->need, name),
					errdetail("%s", error->text),
					errhint("Use ST_MakeValid(geom) to repair it, or on_bad => 'skip' to skip "
							"invalid polygons.")));
	pg_unreachable();
}

void
rb_raise_of(const char *function, const char *what, rb_status status, const rb_error *error)
{
	const char *text = error->text[0] == '\0' ? rb_status_text(status) : error->text;

	/* Prefer PostgreSQL's own error if the session was canceled. */
	CHECK_FOR_INTERRUPTS();
	switch (status)
	{
		case RB_OVER_BUDGET:
			ereport(ERROR,
					(errcode(ERRCODE_OUT_OF_MEMORY), errmsg("%s: out of memory", function),
					 errdetail("The %s needs about %s, but redblue.memory_limit is %s.%s%s", what,
							   text_of_memory_size(error->need), text_of_memory_size(error->limit),
							   error->text[0] == '\0' ? "" : "  ", error->text),
					 strcmp(what, "join") != 0 && strcmp(what, "mesh") != 0
						 ? errhint("Increase redblue.memory_limit or use smaller geometries.")
						 : errhint("Increase redblue.memory_limit, or %s fewer rows at a time.",
								   what)));
			break;
		case RB_OUT_OF_MEMORY:
			ereport(
				ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY), errmsg("%s: out of memory", function),
				 error->need > 0 ? errdetail("The operating system could not allocate %s.",
											 text_of_memory_size(error->need))
								 : errdetail("The operating system reported: %s.", text),
				 errhint(
					 "Reduce redblue.memory_limit to the memory that is available on this machine.")));
			break;
		case RB_NO_THREAD:
			ereport(
				ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("%s: could not create a thread", function),
				 errdetail("The operating system did not allow another thread."),
				 errhint("Increase the limit on processes and threads of the server's user "
						 "(ulimit -u) or of its cgroup (pids.max), or run fewer joins at the same "
						 "time.")));
			break;
		case RB_UNSUPPORTED:
			ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
							errmsg("%s: %s", function, rb_status_text(status))));
			break;
		case RB_TOO_MANY_OBJECTS:
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("%s: too many objects on one side", function),
					 errdetail("There are at least %llu objects, but the limit is %llu.",
							   (unsigned long long) error->need, (unsigned long long) error->limit),
					 errhint("Join fewer rows at a time.")));
			break;
		case RB_NO_DEVICE:
			ereport(ERROR,
					(errcode(ERRCODE_SYSTEM_ERROR), errmsg("%s: no usable GPU", function),
					 errdetail("Reason: %s.", text),
					 errhint("Set redblue.backend to auto or cpu.  The results are the same.")));
			break;
		case RB_DEVICE_FULL:
			ereport(ERROR,
					(errcode(ERRCODE_OUT_OF_MEMORY), errmsg("%s: out of GPU memory", function),
					 errdetail("%s", text),
					 errhint("Set redblue.backend to auto or cpu, or wait until other processes "
							 "release GPU memory.  The results are the same.")));
			break;
		case RB_DEVICE_FAILED:
			ereport(ERROR, (errcode(ERRCODE_SYSTEM_ERROR), errmsg("%s: the GPU failed", function),
							errdetail("Reason: %s.", text),
							errhint("Set redblue.backend to cpu.  The results are the same.")));
			break;
		case RB_GONE:
			/*
			 * Do not use 57P01 (admin_shutdown), because this connection stays usable and clients
			 * must not drop it.
			 */
			ereport(ERROR,
					(errcode(ERRCODE_OPERATOR_INTERVENTION),
					 errmsg("%s: the background worker that ran the join has exited", function),
					 errdetail("The worker was terminated, or the GPU failed during another join."),
					 errhint("Run the query again.")));
			break;
		case RB_BAD_REPLY:
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("%s: the background worker returned an inconsistent result", function),
					 errhint("Run the query again.")));
			break;
		case RB_BAD_SOLID:
			raise_invalid_solid_of_side(function, error);
			break;
		case RB_BAD_POLYGON:
			raise_invalid_polygon_of_side(function, error);
			break;
		case RB_BAD_PLANE:
			ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
							errmsg("%s: id %lld of planes has no plane", function,
								   (long long) error->need),
							errdetail("%s", error->text),
							errhint("A plane is a point and a normal, three points that are not on "
									"one line, or a line whose two points differ in x or y.")));
			break;
		case RB_BAD_FILE:
			ereport(ERROR, (errcode(ERRCODE_IO_ERROR), errmsg("%s: %s", function, text)));
			break;
		case RB_BAD_PLC:
			ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
							errmsg("%s: could not build a mesh from the input", function),
							text[0] != '\0' ? errdetail("%s", text) : 0));
			break;
		case RB_STOPPED:
			ereport(ERROR, (errcode(ERRCODE_QUERY_CANCELED), errmsg("%s: stopped", function)));
			break;
		default:
			ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("%s: %s", function, text)));
	}
	pg_unreachable();
}

bool
rb_is_interrupted(void)
{
	volatile bool raised = false;

	if (!INTERRUPTS_PENDING_CONDITION())
		return false;
	PG_TRY();
	{
		CHECK_FOR_INTERRUPTS();
	}
	PG_CATCH();
	{
		raised = true;
	}
	PG_END_TRY();
	return raised;
}

void
rb_rethrow_error(void)
{
	PG_RE_THROW();
}

rb_memory *
rb_memory_open(const char *function, uint64 limit)
{
	rb_memory *memory = rb_memory_create(limit);
	rb_error error = {RB_OUT_OF_MEMORY, 1024, limit, ""};

	if (memory == NULL)
		rb_raise(function, RB_OUT_OF_MEMORY, &error);
	return memory;
}
