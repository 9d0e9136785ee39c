/*
 * rb_atomic.h
 *	  The memory model: what threads may share, and the one set of atomics.
 *
 * There are three ways.  Everything else belongs to one thread at a time.
 *
 *	1. A lock.  Tasks and loops (rb_parallel.h) begin and end under one, or under what
 *	   OpenMP has for it.  So a task sees all that was written before it was spawned, and
 *	   whoever waited for it sees all that it wrote.
 *	2. A flag or a counter that guards nothing but itself: the relaxed operations.
 *	3. Data that are handed over without a lock, also to another process: the giver
 *	   writes them and then one word by rb_release; the taker reads that word by
 *	   rb_acquire, and then sees them.
 *
 * `volatile` orders nothing between threads and is not used for it.  These are the
 * compiler's builtins on plain integers, not C11's _Atomic types, because C++ and
 * CUDA read the same structs.  ThreadSanitizer understands them (core-test-tsan).
 */
#ifndef RB_ATOMIC_H
#define RB_ATOMIC_H

#define rb_load(p) __atomic_load_n(p, __ATOMIC_RELAXED)
#define rb_store(p, x) __atomic_store_n(p, x, __ATOMIC_RELAXED)

/* these return what was there before */
#define rb_add(p, x) __atomic_fetch_add(p, x, __ATOMIC_RELAXED)
#define rb_or(p, x) __atomic_fetch_or(p, x, __ATOMIC_RELAXED)
#define rb_and(p, x) __atomic_fetch_and(p, x, __ATOMIC_RELAXED)

/* one holder less: what any of them did is done for the last one, who is told 1 */
#define rb_drop(p) __atomic_fetch_sub(p, 1, __ATOMIC_ACQ_REL)
/* sets *p to x if it is *old; if not, *old becomes what is there.  Returns whether it was set */
#define rb_store_if(p, old, x) \
	__atomic_compare_exchange_n(p, old, x, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)

/*
 * The same for a word that guards data, between processes too: who sets it sees what was
 * written before the word that it found, and the next who finds its word sees what it wrote.
 */
#define rb_claim(p, old, x) \
	__atomic_compare_exchange_n(p, old, x, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

#define rb_acquire(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define rb_release(p, x) __atomic_store_n(p, x, __ATOMIC_RELEASE)

#endif /* RB_ATOMIC_H */
