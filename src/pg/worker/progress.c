/*
 * progress.c
 *	  Implements redblue_progress: the joins that run in all sessions, and their progress.
 *
 * Each open join has an entry in the shared block, which its process claims, writes and releases. A
 * reader that finds an entry being changed skips it. If all entries are in use, or if there is no
 * block, the join is not listed but runs normally.
 */
#include "pg/worker/protocol.h"

#include "catalog/pg_authid.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

static rb_progress_entry *reading; /* Entry of the join whose sides are being read */

const char *
rb_progress_stage(int stage)
{
	static const char *const of_meshes[] = {"weld",  "validate", "tetrahedralize", "refine", "load",
											"check", "fill"};

	StaticAssertStmt(lengthof(of_meshes) == RB_MESH_STAGES - RB_MESH_WELD, "each has a name");
	return stage >= RB_MESH_WELD && stage < RB_MESH_STAGES ? of_meshes[stage - RB_MESH_WELD]
														   : rb_stage_name((rb_stage) stage);
}

rb_progress_entry *
rb_progress_begin(const char *function)
{
	rb_service_block *block = rb_service_find();

	for (int i = 0; block != NULL && i < RB_PROGRESS; i++)
	{
		rb_progress_entry *e = &block->progress[(MyProcPid + i) % RB_PROGRESS];
		int32 nobody = 0;

		if (rb_load(&e->pid) != 0 || !rb_claim(&e->pid, &nobody, MyProcPid))
			continue;
		rb_release(&e->change, e->change | 1);
		__atomic_thread_fence(__ATOMIC_RELEASE);
		e->role = GetSessionUserId();
		e->stage = RB_STAGE_READ;
		e->done = e->total = 0;
		strlcpy(e->function, function, sizeof e->function);
		rb_release(&e->change, e->change + 1);
		return e;
	}
	return NULL;
}

void
rb_progress_note(rb_progress_entry *e, int stage, uint64 done, uint64 total)
{
	if (e == NULL)
		return;
	rb_store(&e->stage, stage);
	rb_store(&e->done, done);
	rb_store(&e->total, total);
}

rb_progress_entry *
rb_progress_reading(rb_progress_entry *e)
{
	rb_progress_entry *before = reading;

	reading = e;
	return before;
}

void
rb_progress_read(uint64 done, uint64 total)
{
	rb_progress_note(reading, RB_STAGE_READ, done, total);
}

void
rb_progress_end(rb_progress_entry **e)
{
	if (*e == NULL)
		return;
	if (reading == *e)
		reading = NULL;
	rb_release(&(*e)->change, (*e)->change | 1);
	rb_release(&(*e)->pid, 0);
	*e = NULL;
}

/* Copies an entry; returns false if it is unused or being changed. */
static bool
copy_entry(rb_progress_entry *e, rb_progress_entry *copy)
{
	uint32 before = rb_acquire(&e->change);

	memcpy(copy, e, sizeof *copy);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	copy->function[sizeof copy->function - 1] = '\0';
	/* The version is 0 if the entry was claimed for the first time and is still empty. */
	return copy->pid != 0 && before != 0 && (before & 1) == 0 && rb_load(&e->change) == before;
}

/* Applies the visibility rule of pg_stat_activity. */
static bool
may_see(Oid role)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS) ||
		   has_privs_of_role(GetUserId(), role);
}

PG_FUNCTION_INFO_V1(redblue_progress);

Datum
redblue_progress(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	rb_service_block *block = rb_service_find();

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; block != NULL && i < RB_PROGRESS; i++)
	{
		rb_progress_entry e;
		Datum values[5];
		bool nulls[5] = {false};

		if (!copy_entry(&block->progress[i], &e) || !may_see(e.role))
			continue;
		values[0] = Int32GetDatum(e.pid);
		values[1] = CStringGetTextDatum(e.function);
		values[2] = CStringGetTextDatum(rb_progress_stage(e.stage));
		values[3] = Int64GetDatum((int64) e.done);
		values[4] = Int64GetDatum((int64) e.total);
		nulls[4] = e.total == 0;
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}
