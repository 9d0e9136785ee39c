/*
 * rb_atomic.h
 *	  The one set of atomics: what threads share without a lock goes through these.
 *
 * Relaxed ones are for flags and counters that guard nothing but themselves.  What
 * was written before rb_release is seen by whoever read the new value by rb_acquire.
 */
#ifndef RB_ATOMIC_H
#define RB_ATOMIC_H

#define rb_get(p) __atomic_load_n(p, __ATOMIC_RELAXED)
#define rb_set(p, x) __atomic_store_n(p, x, __ATOMIC_RELAXED)

/* these return what was there before */
#define rb_add(p, x) __atomic_fetch_add(p, x, __ATOMIC_RELAXED)
#define rb_or(p, x) __atomic_fetch_or(p, x, __ATOMIC_RELAXED)
#define rb_and(p, x) __atomic_fetch_and(p, x, __ATOMIC_RELAXED)

/* one holder less: what any of them did is done for the last one, who is told 1 */
#define rb_drop(p) __atomic_fetch_sub(p, 1, __ATOMIC_ACQ_REL)

#define rb_acquire(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define rb_release(p, x) __atomic_store_n(p, x, __ATOMIC_RELEASE)

#endif /* RB_ATOMIC_H */
