/*
 * half_cavity.c
 *	  Stores one side of a cavity as a list of faces.
 */
#include "mesh/half_cavity.h"

void
rb_half_free(rb_memory *memory, rb_cavity_half *half)
{
	rb_free(memory, (void **) &half->bases);
	rb_free(memory, (void **) &half->points);
	rb_free(memory, (void **) &half->tets);
	rb_free(memory, (void **) &half->behind);
	rb_table_free(memory, &half->open);
}

rb_status
rb_half_base(rb_recovery *r, rb_cavity_half *half, uint32_t a, uint32_t b, uint32_t c,
			 rb_tet_face outside, uint32_t sheet, bool constrained)
{
	rb_status status = rb_array_grow(r->ctx, (void **) &half->bases, &half->bases_cap,
									 (size_t) half->nbases + 1, sizeof(rb_base));

	if (status == RB_OK)
		half->bases[half->nbases++] =
			(rb_base){{a, b, c}, outside, sheet, RB_NONE, RB_NONE, constrained};
	return status;
}

rb_status
rb_half_behind(rb_recovery *r, rb_cavity_half *half, uint32_t base)
{
	rb_status status = rb_array_grow(r->ctx, (void **) &half->behind, &half->behind_cap,
									 (size_t) half->nbehind + 1, sizeof(uint32_t));

	if (status == RB_OK)
		half->behind[half->nbehind++] = base;
	return status;
}
