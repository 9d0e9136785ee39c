/*
 * atomic.h
 *	  Defines the memory model: what threads may share, and the only atomic operations in use.
 *
 * Threads may share data in three ways. Everything else belongs to one thread at a time.
 *
 *	1. A lock. Tasks and loops (parallel.h) begin and end under a lock, or under OpenMP's
 *	   equivalent. A task therefore sees everything written before it was spawned, and the
 *	   thread that waits for it sees everything the task wrote.
 *	2. A flag or a counter that guards nothing but itself: the relaxed operations.
 *	3. Data passed between threads or processes without a lock: the writer writes the data
 *	   and then one word by rb_release; the reader reads that word by rb_acquire and then
 *	   sees the data.
 *
 * `volatile` does not order memory accesses between threads and is not used for that. The
 * operations are the compiler's builtins on plain integers, not C11's _Atomic types, because C++
 * and CUDA read the same structs. ThreadSanitizer understands them (core-test-tsan).
 */
#ifndef RB_BASE_ATOMIC_H
#define RB_BASE_ATOMIC_H

#define rb_load(p) __atomic_load_n(p, __ATOMIC_RELAXED)
#define rb_store(p, x) __atomic_store_n(p, x, __ATOMIC_RELAXED)

/* Relaxed read-modify-write operations that return the previous value */
#define rb_add(p, x) __atomic_fetch_add(p, x, __ATOMIC_RELAXED)
#define rb_or(p, x) __atomic_fetch_or(p, x, __ATOMIC_RELAXED)
#define rb_and(p, x) __atomic_fetch_and(p, x, __ATOMIC_RELAXED)

/*
 * Drops a reference and returns the previous count. The thread that gets 1 sees all that the other
 * holders did.
 */
#define rb_drop(p) __atomic_fetch_sub(p, 1, __ATOMIC_ACQ_REL)
/* Sets *p to x if it equals *old, else sets *old to the value of *p. Returns true if *p was set. */
#define rb_store_if(p, old, x) \
	__atomic_compare_exchange_n(p, old, x, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)

/*
 * Does what rb_store_if does for a word that guards data, also between processes. The thread that
 * sets the word sees everything written before the value it replaced, and its own writes are seen
 * by the next thread that acquires the word.
 */
#define rb_claim(p, old, x) \
	__atomic_compare_exchange_n(p, old, x, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

#define rb_acquire(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define rb_release(p, x) __atomic_store_n(p, x, __ATOMIC_RELEASE)

#endif /* RB_BASE_ATOMIC_H */
