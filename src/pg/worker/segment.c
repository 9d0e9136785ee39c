/*
 * segment.c
 *	  Creates or attaches the segment of a request; failure to do so is not an error.
 *
 * PostgreSQL raises an error if it cannot create a segment (/dev/shm is full, too many files are
 * open). At that point it holds no lock, and its resources belong to the current resource owner. A
 * resource owner is therefore created for this one call, and releasing it has the same effect as
 * the end of a transaction. A segment that was created lives until it is detached.
 */
#include "pg/worker/protocol.h"

#include "utils/memutils.h"
#include "utils/resowner.h"

/* doc/reference.md states how many joins fit into the shared memory of a container. */
StaticAssertDecl(sizeof(rb_request) <= 1600000, "a request takes about 1.5 MB of shared memory");

/* Creates a segment if handle is DSM_HANDLE_INVALID, or attaches that one. */
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
	const bool top = before == NULL; /* True between transactions and in the worker */
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
rb_segment_create(char *why_not, size_t size)
{
	return try_segment(DSM_HANDLE_INVALID, why_not, size);
}

dsm_segment *
rb_segment_attach(dsm_handle handle, char *why_not, size_t size)
{
	return try_segment(handle, why_not, size);
}
