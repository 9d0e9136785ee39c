/*
 * refine.c
 *	  The whole way: a tetrahedralization in, rounds, a refined one out.
 */
#include "refine/rb_refine.h"

#include <string.h>

rb_status
rb_refine(rb_context *ctx, const rb_refine_options *options, rb_tets *tets,
		  rb_refine_report *report)
{
	(void) ctx;
	(void) options;
	(void) tets;
	memset(report, 0, sizeof(*report));
	return RB_OK;
}
