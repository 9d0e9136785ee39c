/*
 * tuning.cuh
 *	  Defines tuning parameters that depend on the type of device.
 *
 * They were measured on an H200 and an H100 (compute capability 9.0): 132 multiprocessors, each
 * with 65,536 registers and 227 kB of shared memory for its blocks, 50 MB of L2 cache, and doubles
 * at half the speed of floats. The parameters do not affect the resulting pairs, only the speed of
 * joins.
 *
 * Devices of other capabilities use the same values, with as many resident blocks as the runtime
 * reports. The comment on each parameter says how such a device differs. To add values measured on
 * another device, select them by __CUDA_ARCH__ if only kernels need them, and by the device's
 * properties if the host needs them (tiles and pools).
 */
#ifndef RB_TUNING_CUH
#define RB_TUNING_CUH

/* ---- tiles in a block's shared memory (triangle_join.cu, box_join.cu, work_items.cu) ---- */

/*
 * Objects of one side of a tile, at most 256. Two tiles of triangles with their queues take 36 kB,
 * so that six blocks share a multiprocessor's 227 kB. Two blocks fit into 100 kB (capability 8.6,
 * 8.9) and one fits into 64 kB (7.5); half the tile size would suit those devices better.
 */
#ifndef RB_TILE_F
#define RB_TILE_F 224
#endif

/*
 * Warps of a block for triangles. With 72 registers per thread, six blocks of four warps fit on a
 * multiprocessor; three blocks of eight were slower.
 */
#ifndef RB_CELLS_WARPS
#define RB_CELLS_WARPS 4
#endif

/*
 * Parameters for boxes: warps per block; blocks per multiprocessor, which leaves 64 registers to
 * each thread; red boxes per lane
 */
#define RB_BOXES_WARPS 4
#define RB_BOXES_BLOCKS 8
#define RB_BOXES_ROWS 2

/* ---- resident blocks: as many as the register file should allow ---- */

/*
 * Blocks of 256 threads with 48 registers each (level.cu), if the multiprocessor holds 1,280
 * threads
 */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define RB_BOUNDS_BLOCKS 4
#else
#define RB_BOUNDS_BLOCKS 5
#endif
/* Blocks of 256 threads with 64 registers each (scatter.cu) */
#define RB_SCATTER_BLOCKS 4

/*
 * Parameters of the filters in double (filters.cu), in blocks of 128 threads: blocks resident on a
 * multiprocessor, which spill a few registers, and blocks launched per multiprocessor
 */
#ifndef RB_FILTERS_RESIDENT
#define RB_FILTERS_RESIDENT 4
#endif
#define RB_FILTERS_BLOCKS 8

/* Blocks of exact signs (exact.cu): 146 registers, because spilling is too slow */
#define RB_EXACT_BLOCKS 3

/* Blocks that count or mark parts (join.cu): atomic operations need many threads */
#define RB_WORDS_BLOCKS 8

/* ---- cost model and thresholds ---- */

/*
 * Costs of assigning an object to a cell and of visiting a cell, in units of box tests. A test is
 * cheapest if boxes are the result, and most expensive, with the work that follows it, if a
 * distance is given (level.cu). An incidence costs two random memory accesses, so a device with a
 * smaller cache needs fewer incidences and coarser cells.
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
 * Limits for refining cells: the product of red and blue count above which a cell may get a grid of
 * its own, and the minimum sum of these products over all such cells. A level costs about twenty
 * launches, and in that time the device does about that many tests (work_items.cu, level.cu).
 */
#define RB_CROWDED ((rb_count) 1 << 20)
#define RB_CROWD ((rb_count) 1 << 28)

/*
 * Maximum number of objects at the top that are planned, counted and filled without waiting for the
 * host. A reply of the host takes about ten microseconds, and memory for the worst case is
 * affordable for so few objects (level.cu).
 */
#define RB_FEW_OBJECTS ((rb_count) 1 << 21)

/*
 * Maximum number of tests of a small join, which gets space for all its pairs and whose exact signs
 * are launched at once (join.cu)
 */
#define RB_SMALL_JOIN ((rb_count) 32 << 20)

/*
 * Space in the pool of a launch in addition to the reservations of its blocks, in pairs or in bytes
 * of records. More would not help, because one pool is filled while the other is transferred
 * (join.cu).
 */
#ifndef RB_POOL_PAIRS
#define RB_POOL_PAIRS ((rb_count) 16 << 20)
#endif
#define RB_POOL_RECORDS ((rb_count) 64 << 20)

/* Maximum number of work items that a block takes at once if their output is small (join.cu) */
#define RB_ITEMS_AT_ONCE 8

/*
 * Fraction 1/n of the device's memory that stays in the memory pool between consecutive joins,
 * because mapping memory is slow. A join of a few thousand triangles has pools of more than a
 * gigabyte (device.cu).
 */
#define RB_POOL_FRACTION 8

/*
 * Minimum number of parts of a join that runs on several devices. A device takes about 1.5
 * nanoseconds per part, more if there are many pairs; splitting a join costs about a millisecond,
 * and each device reads all parts once (backend.cu).
 */
#define RB_MULTI_DEVICE_PARTS 2000000

#endif /* RB_TUNING_CUH */
