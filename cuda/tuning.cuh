/*
 * tuning.cuh
 *	  Numbers that suit one sort of device.
 *
 * They were measured on an H200 and an H100 (compute capability 9.0): 132 multiprocessors,
 * each with 65,536 registers and 227 KB of shared memory for its blocks, 50 MB of cache in
 * common, doubles at half the speed of floats.  None of them is of any consequence for the
 * pairs: with any other values they are the same, and the joins slower or faster.
 *
 * A device of another capability runs with these values, too, with as many blocks at once as
 * the runtime says that fit.  What would be different there is said beside each; who
 * measures on one puts the choice here, by __CUDA_ARCH__ where only kernels have to know it,
 * and by the device's properties where the host has to (tiles and pools).
 */
#ifndef RB_TUNING_CUH
#define RB_TUNING_CUH

/* ---- tiles: what a block has in shared memory (cells.cu, boxes.cu, items.cu) ---- */

/*
 * Objects of one side, at most 256.  Two tiles of triangles with their queues are 36 KB, so that six
 * blocks share a multiprocessor's 227 KB; with 100 KB (capability 8.6, 8.9) there are two,
 * with 64 KB (7.5) one, and half the tile would suit them better.
 */
#ifndef RB_TILE_F
#define RB_TILE_F 224
#endif

/* warps of a block for triangles: with 72 registers a thread six blocks of four fit, three of eight took longer */
#ifndef RB_CELLS_WARPS
#define RB_CELLS_WARPS 4
#endif

/* the same for boxes; blocks of a multiprocessor, which leaves a thread 64 registers, and red boxes of a lane */
#define RB_BOXES_WARPS 4
#define RB_BOXES_BLOCKS 8
#define RB_BOXES_ROWS 2

/* ---- blocks at once: as many as registers should let be ---- */

/* of 256 threads: of 48 registers each (bounds.cu), where there is place for 1,280 threads, ... */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define RB_BOUNDS_BLOCKS 4
#else
#define RB_BOUNDS_BLOCKS 5
#endif
/* ... and of 64 (scatter.cu) */
#define RB_SCATTER_BLOCKS 4

/* filters in double (filters.cu), of 128 threads: resident ones, which spill a little, and how many are launched */
#ifndef RB_FILTERS_RESIDENT
#define RB_FILTERS_RESIDENT 4
#endif
#define RB_FILTERS_BLOCKS 8

/* exact signs (exact.cu): 146 registers, which suffer no spilling */
#define RB_EXACT_BLOCKS 3

/* words (words.cu): atomic operations, which want many threads */
#define RB_WORDS_BLOCKS 8

/* ---- what is worth what ---- */

/*
 * Costs in box tests: of putting an object into a cell, and of looking at a cell.  Where boxes are
 * the answer a test costs the least; where a distance is asked for, what follows a test the most
 * (plan.cu).  An incidence is two random accesses to memory: a device with a smaller cache
 * wants fewer of them, and coarser cells.
 */
#ifndef RB_COST_INCIDENCE
#define RB_COST_INCIDENCE 60.0
#endif
#ifndef RB_COST_INCIDENCE_BOX
#define RB_COST_INCIDENCE_BOX 250.0
#endif
#ifndef RB_COST_INCIDENCE_NEAR
#define RB_COST_INCIDENCE_NEAR 30.0
#endif
#ifndef RB_COST_CELL
#define RB_COST_CELL 2000.0
#endif

/*
 * Red times blue in a cell that may deserve a grid of its own, and in all of those: a level costs
 * some twenty launches, in the time of which the device does so many tests (items.cu, level.cu).
 */
#define RB_CROWDED ((rb_count) 1 << 20)
#define RB_CROWD ((rb_count) 1 << 28)

/*
 * So few objects at the top are planned, counted and filled without a word to the host: an answer
 * takes it some ten microseconds, and memory for the most that could be wanted is cheap (level.cu).
 */
#define RB_FEW_OBJECTS ((rb_count) 1 << 21)

/* tests of a small join, which gets room for all its pairs, and its exact signs at once (join.cu) */
#define RB_SMALL_JOIN ((rb_count) 32 << 20)

/*
 * What a launch should find beyond its reservations, in pairs or bytes of records: as large as
 * is of use, for while one pool fills the other one travels (join.cu).
 */
#ifndef RB_POOL_PAIRS
#define RB_POOL_PAIRS ((rb_count) 16 << 20)
#endif
#define RB_POOL_RECORDS ((rb_count) 64 << 20)

/* work items that a block takes at once, at most, where room for them is small (join.cu) */
#define RB_ITEMS_AT_ONCE 8

/*
 * Of the device: what stays in the pool of memory between two joins that follow each other, for
 * mapping memory is slow.  A join of a few thousand triangles has pools of more than a
 * gigabyte (device.cu).
 */
#define RB_KEPT_SHARE 8

/*
 * Parts from which on devices share a join.  One takes some 1.5 nanoseconds a part, more where there are many
 * pairs; to share a join costs about a millisecond, and each device looks at all parts once (backend.cu).
 */
#define RB_SHARE_PARTS 2000000

#endif /* RB_TUNING_CUH */
