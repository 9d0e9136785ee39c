/*
 * memory.c
 *	  One budget for everything that a call holds.
 *
 * A join may need gigabytes, and the machine belongs to a database.  So every
 * block is taken through here, counted against the limit before it is taken,
 * and threaded on a list, so that one call frees them all whatever went wrong.
 *
 * Blocks of 64 KiB and more are mapped, the large ones with transparent huge pages:
 * touching fresh 4 KiB pages costs several times the copy that fills them.  They grow
 * by mremap, which moves page tables and not bytes.  When freed they go to a small
 * pool of this process and are handed out again with their pages in place.  (The
 * heap would do for those of less than 1 MiB, but it has an arena for each thread, and
 * each keeps what it once needed for as long as the process lives.)
 *
 * Each block starts with a header of 64 bytes, so the caller's bytes are
 * aligned to a cache line.
 */
#define _GNU_SOURCE
#include "core/base/rb_base.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define RB_MAPPED_FROM ((size_t) 1 << RB_SIZE(16, 12)) /* smaller blocks come from malloc */
#define RB_HUGE_FROM ((size_t) 1 << 20)                /* larger ones get huge pages */
#define RB_MAP_STEP ((size_t) 1 << RB_SIZE(14, 12))    /* mapped blocks are multiples of this */
#define RB_HUGE_STEP ((size_t) 1 << RB_SIZE(18, 12))   /* or of this */
#define RB_LINE ((size_t) 64)                          /* of the cache */
#define RB_HUGE_PAGE ((size_t) 1 << 21)
#define RB_POOL_BYTES ((uint64_t) 64 << 20) /* idle blocks kept by this process */

typedef struct rb_memory_block
{
	struct rb_memory_block *prev;
	struct rb_memory_block *next;
	size_t size; /* header included; what was mapped or malloc'ed */
	bool mapped;
	char pad[64 - 3 * sizeof(void *) - sizeof(bool)];
} rb_memory_block;

struct rb_memory
{
	pthread_mutex_t lock;
	uint64_t limit;
	uint64_t used;
	uint64_t peak;
	rb_memory_block blocks; /* head of the ring of blocks in use */
};

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static rb_memory_block *pool; /* idle mapped blocks, singly linked by next */
static uint64_t pool_bytes;

static void
ring_insert(rb_memory_block *head, rb_memory_block *block)
{
	block->prev = head;
	block->next = head->next;
	head->next->prev = block;
	head->next = block;
}

static void
ring_remove(rb_memory_block *block)
{
	block->prev->next = block->next;
	block->next->prev = block->prev;
}

/*
 * An idle block cut to size, or NULL.  The smallest that will do; what is beyond
 * goes back to the operating system, so that a call needs and counts the same
 * whatever ran before it.  A much larger one is left for a larger call.
 */
static rb_memory_block *
pool_take(size_t size)
{
	rb_memory_block **best = NULL;
	rb_memory_block *block = NULL;
	rb_memory_block **link;

	pthread_mutex_lock(&pool_lock);
	for (link = &pool; *link != NULL; link = &(*link)->next)
		if ((*link)->size >= size && (*link)->size / 4 <= size + RB_HUGE_PAGE &&
			(best == NULL || (*link)->size < (*best)->size))
			best = link;
	if (best != NULL)
	{
		block = *best;
		*best = block->next;
		pool_bytes -= block->size;
	}
	pthread_mutex_unlock(&pool_lock);
	if (block != NULL && block->size > size)
		munmap((char *) block + size, block->size - size);
	return block;
}

static void
block_release(rb_memory_block *block)
{
	if (!block->mapped)
	{
		free(block);
		return;
	}
	pthread_mutex_lock(&pool_lock);
	if (pool_bytes + block->size <= RB_POOL_BYTES)
	{
		block->next = pool;
		pool = block;
		pool_bytes += block->size;
		block = NULL;
	}
	pthread_mutex_unlock(&pool_lock);
	if (block != NULL)
		munmap(block, block->size);
}

void
rb_memory_trim(uint64_t keep_bytes)
{
	pthread_mutex_lock(&pool_lock);
	while (pool != NULL && pool_bytes > keep_bytes)
	{
		rb_memory_block *block = pool;

		pool = block->next;
		pool_bytes -= block->size;
		munmap(block, block->size);
	}
	pthread_mutex_unlock(&pool_lock);
}

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

		ring_remove(block);
		block_release(block);
	}
	pthread_mutex_destroy(&memory->lock);
	free(memory);
}

void
rb_memory_set_limit(rb_memory *memory, uint64_t limit_bytes)
{
	memory->limit = limit_bytes;
}

uint64_t
rb_memory_used(const rb_memory *memory)
{
	return memory->used;
}

uint64_t
rb_memory_peak(const rb_memory *memory)
{
	return memory->peak;
}

uint64_t
rb_memory_limit(const rb_memory *memory)
{
	return memory->limit;
}

static rb_status
refuse(rb_error *error, rb_status status, uint64_t need, uint64_t limit)
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

/* take `bytes` from the budget */
static rb_status
budget_take(rb_memory *memory, uint64_t bytes, rb_error *error)
{
	uint64_t need;
	bool fits;

	pthread_mutex_lock(&memory->lock);
	need = memory->used + bytes;
	fits = need >= bytes && need <= memory->limit;
	if (fits)
	{
		memory->used = need;
		if (need > memory->peak)
			memory->peak = need;
	}
	pthread_mutex_unlock(&memory->lock);
	return fits ? RB_OK : refuse(error, RB_OVER_BUDGET, need, memory->limit);
}

static void
budget_give(rb_memory *memory, uint64_t bytes)
{
	pthread_mutex_lock(&memory->lock);
	memory->used -= bytes;
	pthread_mutex_unlock(&memory->lock);
}

rb_status
rb_memory_charge(rb_memory *memory, uint64_t bytes, rb_error *error)
{
	return budget_take(memory, bytes, error);
}

void
rb_memory_refund(rb_memory *memory, uint64_t bytes)
{
	budget_give(memory, bytes);
}

static rb_memory_block *
block_map(rb_memory_block *old, size_t size)
{
	void *map;

	if (old != NULL)
		map = mremap(old, old->size, size, MREMAP_MAYMOVE);
	else
		map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return NULL;
	if (size >= RB_HUGE_FROM)
		madvise(map, size, MADV_HUGEPAGE); /* a wish; without it we are only slower */
	((rb_memory_block *) map)->mapped = true;
	return map;
}

/* what a block of so many bytes takes, with its header */
static size_t
block_size(size_t bytes)
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
	rb_memory_block *fresh;
	rb_status status;

	if (bytes > SIZE_MAX - 2 * RB_HUGE_PAGE)
		return refuse(error, RB_OVER_BUDGET, bytes, memory->limit);
	size = block_size(bytes);
	if (old_size >= size)
		return RB_OK; /* it shrinks when it is told to */

	status = budget_take(memory, size - old_size, error);
	if (status != RB_OK)
		return status;

	if (old != NULL)
	{
		pthread_mutex_lock(&memory->lock);
		ring_remove(old);
		pthread_mutex_unlock(&memory->lock);
	}
	if (old != NULL && old->mapped)
		fresh = block_map(old, size);
	else
	{
		if (size < RB_MAPPED_FROM)
		{
			fresh = aligned_alloc(RB_LINE, size);
			if (fresh != NULL)
				fresh->mapped = false;
		}
		else
		{
			fresh = pool_take(size);
			if (fresh == NULL)
				fresh = block_map(NULL, size);
		}
		if (fresh != NULL && old != NULL)
		{
			memcpy(fresh + 1, old + 1, old_size - sizeof(rb_memory_block));
			free(old);
		}
	}
	if (fresh == NULL)
	{
		if (old != NULL)
		{
			pthread_mutex_lock(&memory->lock);
			ring_insert(&memory->blocks, old);
			pthread_mutex_unlock(&memory->lock);
		}
		budget_give(memory, size - old_size);
		return refuse(error, RB_OUT_OF_MEMORY, size, memory->limit);
	}
	fresh->size = size;
	pthread_mutex_lock(&memory->lock);
	ring_insert(&memory->blocks, fresh);
	pthread_mutex_unlock(&memory->lock);
	*block = fresh + 1;
	return RB_OK;
}

void
rb_shrink(rb_memory *memory, void **block, size_t bytes)
{
	rb_memory_block *b = *block != NULL ? (rb_memory_block *) *block - 1 : NULL;
	size_t size = block_size(bytes > RB_MAPPED_FROM ? bytes : RB_MAPPED_FROM);
	size_t more;

	if (b == NULL || !b->mapped || b->size <= size)
		return;
	more = b->size - size;
	if (munmap((char *) b + size, more) != 0)
		return;
	b->size = size;
	budget_give(memory, more);
}

rb_status
rb_memory_move(rb_memory *from, rb_memory *to, void *block, rb_error *error)
{
	rb_memory_block *b;
	rb_status status;

	if (block == NULL)
		return RB_OK;
	b = (rb_memory_block *) block - 1;
	status = budget_take(to, b->size, error);
	if (status != RB_OK)
		return status;
	pthread_mutex_lock(&from->lock);
	ring_remove(b);
	from->used -= b->size;
	pthread_mutex_unlock(&from->lock);
	pthread_mutex_lock(&to->lock);
	ring_insert(&to->blocks, b);
	pthread_mutex_unlock(&to->lock);
	return RB_OK;
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
	ring_remove(b);
	memory->used -= b->size;
	pthread_mutex_unlock(&memory->lock);
	block_release(b);
}
