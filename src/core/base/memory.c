/*
 * memory.c
 *	  Allocates all memory of a call within one budget.
 *
 * A join may need gigabytes, and it shares the machine with a database. Therefore every block is
 * allocated here, counted against the limit before it is allocated, and linked into a list, so that
 * one call frees all blocks whatever went wrong.
 *
 * Blocks of 64 KiB and more are mapped, the large ones with transparent huge pages: touching fresh
 * 4 KiB pages costs several times the copy that fills them. They grow by mremap, which moves page
 * tables instead of bytes. (The heap could serve blocks below 1 MiB, but it has an arena for each
 * thread, and each arena keeps its peak size for the lifetime of the process.)
 *
 * Freed blocks go to a pool of this process and are reused with their pages in place. A fresh page
 * costs more than all other work on it (1.1 GB of huge pages: 240 ms to touch, 110 ms to fill
 * again), so a repeated join should find all its pages in the pool:
 *
 *	 pool, by address	[idle    ][used][idle ]      [used][idle          ]
 *						 adjacent idle blocks are merged
 *
 *	 a new block		the smallest idle block that fits, cut from its end;
 *						or the largest, if it is half the size or more, remapped
 *	 a growing block	the idle bytes behind it; or it moves to the front of a larger
 *						idle block, whose rest is reserved for it; or it is remapped
 *
 * A block is cut to the requested size, so the memory that a call needs and counts does not depend
 * on what ran before. Idle and used blocks together stay within the limit.
 *
 * Idle memory is given back in three ways. Before a longer pause, the caller offers it to the
 * kernel, which takes the pages only when memory is short (MADV_FREE; with huge pages this costs
 * 0.5 ms per GB, and reuse costs nothing). A process that stays idle drops it, because it otherwise
 * counts as committed and resident. If the system refuses a fresh block, all idle blocks are
 * released first.
 *
 * Each block starts with a header of 64 bytes, so the caller's bytes are aligned to a cache line.
 */
#define _GNU_SOURCE
#include "core/base/base.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define RB_MAPPED_FROM ((size_t) 1 << RB_SIZE(16, 12)) /* smaller blocks come from malloc */
#define RB_HUGE_FROM ((size_t) 1 << 20)                /* larger blocks get huge pages */
#define RB_MAP_STEP ((size_t) 1 << RB_SIZE(14, 12))    /* granularity of mapped blocks */
#define RB_HUGE_STEP ((size_t) 1 << RB_SIZE(18, 12))   /* granularity of blocks with huge pages */
#define RB_LINE ((size_t) 64)                          /* cache line */
#define RB_HUGE_PAGE ((size_t) 1 << 21)
/* Default limit of a process's pool of idle blocks (rb_memory_set_idle) */
#define RB_POOL_BYTES ((uint64_t) 64 << 20)
/* Maximum size of an idle block relative to the growing block that moves into it */
#define RB_GROW_INTO 16

typedef struct rb_memory_block
{
	struct rb_memory_block *prev;
	struct rb_memory_block *next;
	size_t size; /* bytes mapped or allocated, including the header */
	bool mapped;
	bool huge;    /* true if mapped with huge pages; unchanged if the block shrinks */
	bool offered; /* true if idle, and the kernel may have reclaimed pages */
	bool behind;  /* true if idle, and reserved for the growing block before it */
	char pad[64 - 3 * sizeof(void *) - 4 * sizeof(bool)];
} rb_memory_block;

struct rb_memory
{
	pthread_mutex_t lock;
	/* Readable one at a time without the lock; used and peak are changed only under it */
	uint64_t limit;
	uint64_t used;
	uint64_t peak;
	rb_memory_block blocks; /* head of the ring of used blocks */
};

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static rb_memory_block *pool; /* idle mapped blocks, by address, linked by next */
static uint64_t pool_bytes;
static uint64_t pool_most = RB_POOL_BYTES;

/* Inserts a block into the ring of a memory's used blocks, directly after the head. */
static void
link_block_to_ring(rb_memory_block *head, rb_memory_block *block)
{
	block->prev = head;
	block->next = head->next;
	head->next->prev = block;
	head->next = block;
}

/* Removes a block from the ring of used blocks, because it is freed, resized or moved. */
static void
unlink_block_from_ring(rb_memory_block *block)
{
	block->prev->next = block->next;
	block->next->prev = block->prev;
}

/* ---- the pool; callers of these functions hold its lock ---- */

/* Returns the address at which a block ends, and an adjacent block or its header begins. */
static char *
end_of_memory_block(const rb_memory_block *block)
{
	return (char *) block + block->size;
}

/* Initializes the header of a block, or of the rest of one, at the address `start`. */
static rb_memory_block *
init_block_header(void *start, size_t size, bool huge)
{
	rb_memory_block *block = start;

	block->size = size;
	block->mapped = true;
	block->huge = huge;
	block->offered = false;
	block->behind = false;
	return block;
}

/*
 * Returns true if two blocks are adjacent and have the same page size. The kernel merges such
 * mappings, too.
 */
static bool
are_blocks_adjacent(const rb_memory_block *block, const rb_memory_block *next)
{
	return end_of_memory_block(block) == (const char *) next && block->huge == next->huge;
}

/* Merges a block with the next one if they are adjacent. */
static void
merge_with_next_block(rb_memory_block *block)
{
	rb_memory_block *next = block->next;

	if (next == NULL || !are_blocks_adjacent(block, next))
		return;
	block->size += next->size;
	block->next = next->next;
	block->offered = false;
}

/* Inserts a block into the pool, in the order of addresses, and joins it with its neighbors. */
static void
insert_block_into_pool(rb_memory_block *block)
{
	rb_memory_block **link = &pool;
	rb_memory_block *before = NULL;

	while (*link != NULL && *link < block)
	{
		before = *link;
		link = &before->next;
	}
	block->offered = false;
	block->behind = false;
	block->next = *link;
	*link = block;
	pool_bytes += block->size;
	merge_with_next_block(block);
	if (before != NULL)
		merge_with_next_block(before);
}

/*
 * Takes the first `size` bytes of an idle block from the pool. Reserves the rest for the growth of
 * the taken block.
 */
static rb_memory_block *
cut_front_of_idle_block(rb_memory_block **link, size_t size)
{
	rb_memory_block *block = *link;
	rb_memory_block *next = block->next;

	pool_bytes -= size;
	if (block->size > size)
	{
		rb_memory_block *rest =
			init_block_header((char *) block + size, block->size - size, block->huge);

		rest->next = next;
		rest->behind = true;
		next = rest;
	}
	*link = next;
	return init_block_header(block, size, block->huge);
}

/*
 * Takes the last `size` bytes of an idle block from the pool, so that the used block before it can
 * still grow.
 */
static rb_memory_block *
cut_end_of_idle_block(rb_memory_block **link, size_t size)
{
	rb_memory_block *block = *link;

	if (block->size == size)
		return cut_front_of_idle_block(link, size);
	pool_bytes -= size;
	block->size -= size;
	return init_block_header(end_of_memory_block(block), size, block->huge);
}

/*
 * Finds the best idle block, with or without huge pages as requested, or returns NULL. The best
 * block is the smallest that fits or, if the block grows, the largest of at most RB_GROW_INTO times
 * the size. A block that is reserved for the growth of another block is taken only if no other
 * fits.
 */
static rb_memory_block **
find_best_idle_block(size_t size, bool huge, bool grows)
{
	rb_memory_block **best = NULL;
	int best_rank = 0;

	for (rb_memory_block **link = &pool; *link != NULL; link = &(*link)->next)
	{
		size_t have = (*link)->size;
		bool roomy = grows && have / RB_GROW_INTO <= size;
		int rank = (roomy ? 2 : 1) + ((*link)->behind ? 0 : 2);

		if ((*link)->huge != huge || have < size || rank < best_rank)
			continue;
		if (rank > best_rank || (roomy ? have > (*best)->size : have < (*best)->size))
			best = link;
		best_rank = rank;
	}
	return best;
}

/*
 * Finds the largest idle block of at least half of `size` bytes, with or without huge pages as
 * requested.
 */
static rb_memory_block **
find_half_sized_idle_block(size_t size, bool huge)
{
	rb_memory_block **best = NULL;

	for (rb_memory_block **link = &pool; *link != NULL; link = &(*link)->next)
		if ((*link)->huge == huge && (*link)->size >= size / 2 &&
			(best == NULL || (*link)->size > (*best)->size))
			best = link;
	return best;
}

/* Gives idle blocks back to the system until at most keep_bytes are left. */
static void
trim_idle_blocks(uint64_t keep_bytes)
{
	while (pool != NULL && pool_bytes > keep_bytes)
	{
		rb_memory_block *block = pool;
		uint64_t more = (pool_bytes - keep_bytes + RB_MAP_STEP - 1) / RB_MAP_STEP * RB_MAP_STEP;

		if (more < block->size)
		{
			if (munmap(end_of_memory_block(block) - more, more) != 0)
				return;
			block->size -= more;
			pool_bytes -= more;
			return;
		}
		pool = block->next;
		pool_bytes -= block->size;
		munmap(block, block->size);
	}
}

/* ---- the pool, for all threads ---- */

/*
 * Takes an idle block of `size` bytes from the pool, or a smaller one if it is for a new block
 * rather than a growing one. Returns NULL if the pool has none.
 */
static rb_memory_block *
remove_block_from_pool(size_t size, bool huge, bool grows)
{
	rb_memory_block **link;
	rb_memory_block *block = NULL;

	pthread_mutex_lock(&pool_lock);
	link = find_best_idle_block(size, huge, grows);
	if (link != NULL)
		block = grows ? cut_front_of_idle_block(link, size) : cut_end_of_idle_block(link, size);
	else if (!grows)
	{
		link = find_half_sized_idle_block(size, huge);
		if (link != NULL)
			block = cut_front_of_idle_block(link, (*link)->size);
	}
	pthread_mutex_unlock(&pool_lock);
	return block;
}

/* Extends a block by the idle bytes that follow it. Returns false if they do not suffice. */
static bool
extend_block_from_pool(rb_memory_block *block, size_t size)
{
	rb_memory_block **link = &pool;
	size_t more = size - block->size;
	bool extends;

	pthread_mutex_lock(&pool_lock);
	while (*link != NULL && *link < block)
		link = &(*link)->next;
	extends = *link != NULL && are_blocks_adjacent(block, *link) && (*link)->size >= more;
	if (extends)
	{
		(void) cut_front_of_idle_block(link, more);
		block->size = size;
	}
	pthread_mutex_unlock(&pool_lock);
	return extends;
}

/* Trims the pool so that idle blocks and `used` bytes together stay within the limit. */
static void
trim_pool_to_limit(const rb_memory *memory, uint64_t used)
{
	uint64_t limit;

	pthread_mutex_lock(&pool_lock);
	limit = memory->limit > pool_most ? memory->limit : pool_most;
	if (pool_bytes > limit - used)
		trim_idle_blocks(limit - used);
	pthread_mutex_unlock(&pool_lock);
}

/* Puts a mapped block into the pool, or unmaps it if the pool is full; frees any other block. */
static void
release_memory_block(rb_memory_block *block)
{
	if (!block->mapped)
	{
		free(block);
		return;
	}
	pthread_mutex_lock(&pool_lock);
	if (pool_bytes + block->size <= pool_most)
	{
		insert_block_into_pool(block);
		block = NULL;
	}
	pthread_mutex_unlock(&pool_lock);
	if (block != NULL)
		munmap(block, block->size);
}

void
rb_memory_set_idle(uint64_t most_bytes)
{
	pthread_mutex_lock(&pool_lock);
	pool_most = most_bytes;
	trim_idle_blocks(most_bytes);
	pthread_mutex_unlock(&pool_lock);
}

uint64_t
rb_memory_idle(void)
{
	uint64_t bytes;

	pthread_mutex_lock(&pool_lock);
	bytes = pool_bytes;
	pthread_mutex_unlock(&pool_lock);
	return bytes;
}

void
rb_memory_trim(uint64_t keep_bytes)
{
	pthread_mutex_lock(&pool_lock);
	trim_idle_blocks(keep_bytes);
	pthread_mutex_unlock(&pool_lock);
}

bool
rb_memory_drop_idle(void)
{
	if (pthread_mutex_trylock(&pool_lock) != 0)
		return false;
	trim_idle_blocks(0);
	pthread_mutex_unlock(&pool_lock);
	return true;
}

/*
 * Offers whole huge pages only, since a part would split one. The headers precede these pages and
 * must stay intact.
 */
void
rb_memory_offer_idle(void)
{
	pthread_mutex_lock(&pool_lock);
	for (rb_memory_block *block = pool; block != NULL; block = block->next)
	{
		uintptr_t start = ((uintptr_t) (block + 1) + RB_HUGE_PAGE - 1) & ~(RB_HUGE_PAGE - 1);
		uintptr_t end = (uintptr_t) end_of_memory_block(block) & ~(RB_HUGE_PAGE - 1);

		if (block->huge && !block->offered && start < end)
			madvise((void *) start, end - start, MADV_FREE);
		block->offered = true;
	}
	pthread_mutex_unlock(&pool_lock);
}

/* ---- budget ---- */

rb_memory *
rb_memory_create(uint64_t limit_bytes)
{
	rb_memory *memory = calloc(1, sizeof(rb_memory));

	if (memory == NULL)
		return NULL;
	pthread_mutex_init(&memory->lock, NULL);
	memory->limit = limit_bytes;
	memory->blocks.prev = memory->blocks.next = &memory->blocks;
	return memory;
}

void
rb_memory_destroy(rb_memory *memory)
{
	if (memory == NULL)
		return;
	while (memory->blocks.next != &memory->blocks)
	{
		rb_memory_block *block = memory->blocks.next;

		unlink_block_from_ring(block);
		release_memory_block(block);
	}
	pthread_mutex_destroy(&memory->lock);
	free(memory);
}

void
rb_memory_set_limit(rb_memory *memory, uint64_t limit_bytes)
{
	rb_store(&memory->limit, limit_bytes);
}

uint64_t
rb_memory_used(const rb_memory *memory)
{
	return rb_load(&memory->used);
}

uint64_t
rb_memory_peak(const rb_memory *memory)
{
	return rb_load(&memory->peak);
}

uint64_t
rb_memory_limit(const rb_memory *memory)
{
	return rb_load(&memory->limit);
}

/* Records a failure in *error, unless it is NULL, and returns its status. */
static rb_status
set_memory_error(rb_error *error, rb_status status, uint64_t need, uint64_t limit)
{
	if (error != NULL)
	{
		error->status = status;
		error->need = need;
		error->limit = limit;
		error->text[0] = '\0';
	}
	return status;
}

/* Charges `bytes` to the budget and sets *used to the new total. */
static rb_status
charge_budget(rb_memory *memory, uint64_t bytes, uint64_t *used, rb_error *error)
{
	uint64_t need;
	bool fits;

	pthread_mutex_lock(&memory->lock);
	need = memory->used + bytes;
	fits = need >= bytes && need <= memory->limit;
	if (fits)
	{
		rb_store(&memory->used, need);
		if (need > memory->peak)
			rb_store(&memory->peak, need);
	}
	pthread_mutex_unlock(&memory->lock);
	*used = need;
	return fits ? RB_OK : set_memory_error(error, RB_OVER_BUDGET, need, memory->limit);
}

/* Subtracts freed bytes from the bytes in use. The peak remains. */
static void
refund_budget(rb_memory *memory, uint64_t bytes)
{
	pthread_mutex_lock(&memory->lock);
	rb_store(&memory->used, memory->used - bytes);
	pthread_mutex_unlock(&memory->lock);
}

rb_status
rb_memory_charge(rb_memory *memory, uint64_t bytes, rb_error *error)
{
	uint64_t used;
	rb_status status = charge_budget(memory, bytes, &used, error);

	if (status == RB_OK)
		trim_pool_to_limit(memory, used);
	return status;
}

void
rb_memory_refund(rb_memory *memory, uint64_t bytes)
{
	refund_budget(memory, bytes);
}

/* ---- blocks ---- */

/* Maps a block of `size` bytes, or grows the old one by remapping it. */
static void *
map_or_remap_block(rb_memory_block *old, size_t size)
{
	void *map;

	if (old != NULL)
		map = mremap(old, old->size, size, MREMAP_MAYMOVE);
	else
		map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return map == MAP_FAILED ? NULL : map;
}

/* Maps or remaps a block. If the system has no memory, releases all idle blocks and tries again. */
static rb_memory_block *
map_memory_block(rb_memory_block *old, size_t size, bool huge)
{
	void *map = map_or_remap_block(old, size);

	if (map == NULL && errno == ENOMEM && rb_memory_idle() > 0)
	{
		rb_memory_trim(0);
		map = map_or_remap_block(old, size);
	}
	if (map == NULL)
		return NULL;
	if (huge)
		madvise(map, size, MADV_HUGEPAGE); /* A hint only: without huge pages the join is slower. */
	return init_block_header(map, size, huge);
}

/* Allocates an uninitialized block. `used` is the total in use, including this block. */
static rb_memory_block *
allocate_memory_block(const rb_memory *memory, size_t size, bool grows, uint64_t used)
{
	const bool huge = size >= RB_HUGE_FROM;
	rb_memory_block *block = remove_block_from_pool(size, huge, grows);
	rb_memory_block *whole;

	if (block != NULL && block->size == size)
		return block;
	trim_pool_to_limit(memory, used);
	whole = map_memory_block(block, size, huge);
	/* The idle block may consist of several mappings, which cannot be remapped as one. */
	if (whole == NULL && block != NULL)
	{
		release_memory_block(block);
		whole = map_memory_block(NULL, size, huge);
	}
	return whole;
}

/*
 * Resizes a block, keeping its content. Returns NULL on failure, in which case the old block is
 * unchanged.
 */
static rb_memory_block *
resize_memory_block(const rb_memory *memory, rb_memory_block *old, size_t size, uint64_t used)
{
	rb_memory_block *block;

	if (size < RB_MAPPED_FROM)
	{
		block = aligned_alloc(RB_LINE, size);
		if (block == NULL)
			return NULL;
		block->mapped = false;
	}
	else if (old != NULL && old->mapped && (old->huge || size < RB_HUGE_FROM))
	{
		if (extend_block_from_pool(old, size))
			return old;
		block = remove_block_from_pool(size, old->huge, true);
		if (block == NULL)
		{
			trim_pool_to_limit(memory, used);
			block = map_memory_block(old, size, old->huge);
			if (block != NULL)
				return block;
			block = map_memory_block(NULL, size, old->huge);
		}
	}
	else
		block = allocate_memory_block(memory, size, old != NULL, used);
	if (block == NULL)
		return NULL;
	block->size = size;
	if (old != NULL)
	{
		memcpy(block + 1, old + 1, old->size - sizeof(rb_memory_block));
		release_memory_block(old);
	}
	return block;
}

/* Returns the size, header included, of a block that holds `bytes` bytes. */
static size_t
size_of_memory_block(size_t bytes)
{
	size_t size = bytes + sizeof(rb_memory_block);
	size_t step = size >= RB_HUGE_FROM     ? RB_HUGE_STEP
				  : size >= RB_MAPPED_FROM ? RB_MAP_STEP
										   : RB_LINE;

	return (size + step - 1) / step * step;
}

rb_status
rb_resize(rb_memory *memory, void **block, size_t bytes, rb_error *error)
{
	rb_memory_block *old = *block != NULL ? (rb_memory_block *) *block - 1 : NULL;
	size_t old_size = old != NULL ? old->size : 0;
	size_t size;
	uint64_t used;
	rb_memory_block *fresh;

	if (bytes > SIZE_MAX - 2 * RB_HUGE_PAGE)
		return set_memory_error(error, RB_OVER_BUDGET, bytes, memory->limit);
	size = size_of_memory_block(bytes);
	if (old_size >= size)
		return RB_OK; /* a block shrinks only by rb_shrink */

	RB_TRY(charge_budget(memory, size - old_size, &used, error));

	if (old != NULL)
	{
		pthread_mutex_lock(&memory->lock);
		unlink_block_from_ring(old);
		pthread_mutex_unlock(&memory->lock);
	}
	fresh = resize_memory_block(memory, old, size, used);
	pthread_mutex_lock(&memory->lock);
	if (fresh != NULL || old != NULL)
		link_block_to_ring(&memory->blocks, fresh != NULL ? fresh : old);
	pthread_mutex_unlock(&memory->lock);
	if (fresh == NULL)
	{
		refund_budget(memory, size - old_size);
		return set_memory_error(error, RB_OUT_OF_MEMORY, size, memory->limit);
	}
	/* The new block may be from the heap, and the old one may have become idle. */
	trim_pool_to_limit(memory, used);
	*block = fresh + 1;
	return RB_OK;
}

void
rb_shrink(rb_memory *memory, void **block, size_t bytes)
{
	rb_memory_block *b = *block != NULL ? (rb_memory_block *) *block - 1 : NULL;
	size_t size = size_of_memory_block(bytes > RB_MAPPED_FROM ? bytes : RB_MAPPED_FROM);
	size_t more;

	if (b == NULL || !b->mapped || b->size <= size)
		return;
	more = b->size - size;
	b->size = size;
	release_memory_block(init_block_header((char *) b + size, more, b->huge));
	refund_budget(memory, more);
}

rb_status
rb_memory_move(rb_memory *from, rb_memory *to, void *block, rb_error *error)
{
	rb_memory_block *b;
	uint64_t used;

	if (block == NULL)
		return RB_OK;
	b = (rb_memory_block *) block - 1;
	RB_TRY(charge_budget(to, b->size, &used, error));
	pthread_mutex_lock(&from->lock);
	unlink_block_from_ring(b);
	rb_store(&from->used, from->used - b->size);
	pthread_mutex_unlock(&from->lock);
	pthread_mutex_lock(&to->lock);
	link_block_to_ring(&to->blocks, b);
	pthread_mutex_unlock(&to->lock);
	return RB_OK;
}

uint64_t
rb_block_bytes(const void *block)
{
	return block != NULL ? ((const rb_memory_block *) block - 1)->size : 0;
}

void
rb_free(rb_memory *memory, void **block)
{
	rb_memory_block *b;

	if (*block == NULL)
		return;
	b = (rb_memory_block *) *block - 1;
	*block = NULL;
	pthread_mutex_lock(&memory->lock);
	unlink_block_from_ring(b);
	rb_store(&memory->used, memory->used - b->size);
	pthread_mutex_unlock(&memory->lock);
	release_memory_block(b);
}
