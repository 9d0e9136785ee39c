/*
 * set.c
 *	  Implements a set, one side of a join, with reference-counted ownership.
 *
 * A set never changes after it is built, so readers need no lock and may pass pointers to it
 * freely. The owner counts the holders of the set. When the last holder releases it, its arrays are
 * returned to the memory they were allocated from.
 */
#include "core/base/base.h"
#include "core/set/set.h"

typedef struct rb_set_owner
{
	rb_set set; /* the set, whose arrays are blocks of `memory` */
	rb_memory *memory;
	uint32_t holders;
	uint32_t facts;
} rb_set_owner;

rb_status
rb_set_own(rb_memory *memory, const rb_set *arrays, const rb_set **set, rb_error *error)
{
	rb_set_owner *owner = NULL;
	rb_status status = rb_resize(memory, (void **) &owner, sizeof(*owner), error);

	*set = NULL;
	if (status != RB_OK)
		return status;
	owner->set = *arrays;
	owner->set.owner = owner;
	owner->memory = memory;
	owner->holders = 1;
	owner->facts = 0;
	*set = &owner->set;
	return RB_OK;
}

uint64_t
rb_coords_bytes(const rb_set *set)
{
	return (uint64_t) set->nparts * (uint64_t) rb_kind_width(set->kind) * sizeof(double);
}

void
rb_view_uncount(rb_memory *memory, const rb_set *set)
{
	rb_view *own = (rb_view *) set->view;

	if (own->counted)
		rb_memory_refund(memory, rb_coords_bytes(set));
	own->counted = false;
}

/* Releases the source sets of a delta set, materialized or not, and frees its definition. */
static void
drop_view(rb_memory *memory, rb_set *set)
{
	const rb_view *view = set->view;
	const rb_set *kept = view->kept;
	const rb_set *fresh = view->fresh;
	void *block = (void *) view;

	rb_view_uncount(memory, set);
	rb_set_release(&kept);
	rb_set_release(&fresh);
	rb_free(memory, &block);
	set->view = NULL;
}

rb_memory *
rb_set_memory(const rb_set *set)
{
	return set->owner->memory;
}

rb_set *
rb_set_writable(const rb_set *set)
{
	return &set->owner->set;
}

uint64_t
rb_set_bytes(const rb_set *set)
{
	const uint64_t part = (uint64_t) rb_kind_width(set->kind) * sizeof(double) +
						  (set->row_of != NULL ? sizeof *set->row_of : 0) +
						  (set->face_of != NULL ? sizeof *set->face_of : 0);

	return set->nparts * part + (set->ids != NULL ? set->nrows * sizeof *set->ids : 0);
}

uint64_t
rb_set_taken(const rb_set *set)
{
	return rb_block_bytes(set->coords) + rb_block_bytes(set->row_of) + rb_block_bytes(set->ids) +
		   rb_block_bytes(set->faces) + rb_block_bytes(set->face_of) + rb_block_bytes(set->owner);
}

rb_status
rb_set_move(const rb_set *set, rb_memory *to, rb_error *error)
{
	rb_set_owner *owner = set->owner;
	rb_memory *from = owner->memory;
	void *block[] = {(void *) set->coords, (void *) set->row_of,  (void *) set->ids,
					 (void *) set->faces,  (void *) set->face_of, owner};
	rb_status status = RB_OK;
	int n;

	if (set->view != NULL) /* A materialized delta set no longer needs its sources. */
		drop_view(from, &owner->set);
	for (n = 0; n < 6; n++)
	{
		status = rb_memory_move(from, to, block[n], error);
		if (status != RB_OK)
			break;
	}
	if (status == RB_OK)
		owner->memory = to;
	else /* Move the blocks back. The original memory has room for them. */
		while (n-- > 0)
			(void) rb_memory_move(to, from, block[n], NULL);
	return status;
}

const rb_set *
rb_set_hold(const rb_set *set)
{
	if (set != NULL && set->owner != NULL)
		rb_add(&set->owner->holders, 1);
	return set;
}

void
rb_set_learn(const rb_set *set, uint32_t fact)
{
	if (set->owner != NULL)
		rb_or(&set->owner->facts, fact);
}

bool
rb_set_knows(const rb_set *set, uint32_t fact)
{
	return set->owner != NULL && (rb_load(&set->owner->facts) & fact) != 0;
}

uint32_t
rb_set_holders(const rb_set *set)
{
	return rb_acquire(&set->owner->holders);
}

static void
free_array(rb_memory *memory, const void *array)
{
	void *block = (void *) array;

	rb_free(memory, &block);
}

void
rb_set_release(const rb_set **set)
{
	rb_set_owner *owner = *set != NULL ? (*set)->owner : NULL;

	*set = NULL;
	if (owner == NULL || rb_drop(&owner->holders) > 1)
		return;
	free_array(owner->memory, owner->set.coords);
	free_array(owner->memory, owner->set.row_of);
	free_array(owner->memory, owner->set.ids);
	free_array(owner->memory, owner->set.faces);
	free_array(owner->memory, owner->set.face_of);
	if (owner->set.view != NULL)
		drop_view(owner->memory, &owner->set);
	RB_FREE(owner->memory, owner);
}

void
rb_row_starts(const rb_set *set, uint32_t *start)
{
	uint32_t row = 0;

	for (uint32_t part = 0; part < set->nparts; part++)
		while (row <= (set->row_of != NULL ? set->row_of[part] : part))
			start[row++] = part;
	while (row <= set->nrows)
		start[row++] = set->nparts;
}
