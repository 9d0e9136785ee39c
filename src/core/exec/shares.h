/*
 * shares.h
 *	  Divides space into partitions of a join with about the same amount of work (shares.c).
 */
#ifndef RB_EXEC_SHARES_H
#define RB_EXEC_SHARES_H

#include "core/base/redblue.h"

/*
 * Computes n disjoint partitions, at most RB_MAX_DEVICES, that cover all of space (rb_job.share).
 * The result is the same for equal jobs. The function samples some thousand parts of each side and
 * takes about a millisecond.
 */
extern rb_status rb_partitions_cut(rb_context *ctx, const rb_job *job, int n, rb_box *share);

#endif /* RB_EXEC_SHARES_H */
