/*
 * rb_shares.h
 *	  Space is cut into shares of a join, about the same work in each (shares.c).
 */
#ifndef RB_SHARES_H
#define RB_SHARES_H

#include "core/base/redblue.h"

/*
 * n shares, at most RB_CARDS, that fill space without an overlap (rb_job.share); the same ones for the same job.  It looks
 * at some thousand parts of each side and takes about a millisecond.
 */
extern rb_status rb_shares_cut(rb_context *ctx, const rb_job *job, int n, rb_ends *share);

#endif /* RB_SHARES_H */
