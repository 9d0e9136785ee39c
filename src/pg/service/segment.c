/*
 * segment.c
 *	  A request's segment, made or attached to; that there is none is no reason to fail.
 *
 * PostgreSQL raises an error when it cannot have one (/dev/shm is full, too many files are
 * open).  It holds no lock then, and what it has belongs to the current resource owner.
 * So for this one call that is one of our own, and releasing it is what the end of a
 * transaction would do.  A segment that there is lives until it is detached.
 */
#include "pg/service/rb_service.h"

#include "utils/memutils.h"
#include "utils/resowner.h"

/* doc/reference.md says how many joins have room in the shared memory of a container */
StaticAssertDecl(sizeof(rb_request) <= 1600000, "a request takes about 1.5 MB of shared memory");

/* DSM_HANDLE_INVALID: a new one */
static dsm_segment *
get_segment(dsm_handle handle, char *why_not, size_t size)
{
	const bool make = handle == DSM_HANDLE_INVALID;
	dsm_segment *segment =
		make ? dsm_create(sizeof(rb_request), DSM_CREATE_NULL_IF_MAXSEGMENTS) : dsm_attach(handle);

	if (segment != NULL)
		dsm_pin_mapping(segment);
	else
		strlcpy(why_not, make ? "too many segments are in use" : "", size);
	return segment;
}

static dsm_segment *
try_segment(dsm_handle handle, char *why_not, size_t size)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner before = CurrentResourceOwner;
	ResourceOwner owner = ResourceOwnerCreate(before, "redblue request");
	const bool top = before == NULL; /* as between transactions, and in the worker */
	dsm_segment *volatile segment = NULL;

	CurrentResourceOwner = owner;
	PG_TRY();
	{
		segment = get_segment(handle, why_not, size);
	}
	PG_CATCH();
	{
		ErrorData *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		snprintf(why_not, size, "%s", error->message);
		FreeErrorData(error);
	}
	PG_END_TRY();
	ResourceOwnerRelease(owner, RESOURCE_RELEASE_BEFORE_LOCKS, segment != NULL, top);
	ResourceOwnerRelease(owner, RESOURCE_RELEASE_LOCKS, segment != NULL, top);
	ResourceOwnerRelease(owner, RESOURCE_RELEASE_AFTER_LOCKS, segment != NULL, top);
	CurrentResourceOwner = before;
	ResourceOwnerDelete(owner);
	return segment;
}

dsm_segment *
rb_segment_make(char *why_not, size_t size)
{
	return try_segment(DSM_HANDLE_INVALID, why_not, size);
}

dsm_segment *
rb_segment_attach(dsm_handle handle, char *why_not, size_t size)
{
	return try_segment(handle, why_not, size);
}
