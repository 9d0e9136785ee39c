/*
 * faults.c
 *	  Counts and records faults, up to a limit per kind, and collects the tests that a later pass
 *	  over the tetrahedra answers.
 */
#include "mesh/check/checking.h"

static const char *const texts[RB_FAULT_KINDS] = {
#define RB_FAULT_TEXT(name, text) text,
	RB_FAULT_LIST(RB_FAULT_TEXT)
#undef RB_FAULT_TEXT
};

const char *
rb_fault_text(rb_fault_kind kind)
{
	return (unsigned) kind < RB_FAULT_KINDS ? texts[kind] : "unknown fault";
}

/* Makes room for one more element, doubling a full array. */
static rb_status
one_more(rb_context *ctx, void **block, size_t *cap, size_t n, size_t element)
{
	size_t more = *cap == 0 ? 64 : 2 * *cap;

	if (n < *cap)
		return RB_OK;
	RB_TRY(rb_array(ctx, block, more, element));
	*cap = more;
	return RB_OK;
}

rb_status
rb_check_fault(rb_checking *k, rb_fault_kind kind, uint32_t a, uint32_t b, uint32_t c,
			   double amount)
{
	rb_check_report *r = k->report;

	r->faults++;
	if (r->count[kind]++ >= k->in->most || r->nlist == UINT32_MAX)
		return RB_OK;
	RB_TRY(one_more(k->ctx, (void **) &r->list, &k->list_cap, r->nlist, sizeof(rb_fault)));
	r->list[r->nlist++] = (rb_fault){.kind = kind, .a = a, .b = b, .c = c, .amount = amount};
	return RB_OK;
}

rb_status
rb_check_defer(rb_checking *k, const rb_deferred_test *w)
{
	RB_TRY(one_more(k->ctx, (void **) &k->wanted, &k->wanted_cap, k->nwanted,
					sizeof(rb_deferred_test)));
	k->wanted[k->nwanted++] = *w;
	return RB_OK;
}

void
rb_check_order(rb_checking *k, rb_fault *spare)
{
	rb_check_report *r = k->report;
	uint32_t start[RB_FAULT_KINDS + 1] = {0};

	for (uint32_t i = 0; i < r->nlist; i++)
		start[r->list[i].kind + 1]++;
	for (int i = 0; i < RB_FAULT_KINDS; i++)
		start[i + 1] += start[i];
	for (uint32_t i = 0; i < r->nlist; i++)
		spare[start[r->list[i].kind]++] = r->list[i];
	if (r->nlist > 0)
		memcpy(r->list, spare, r->nlist * sizeof(rb_fault));
}
