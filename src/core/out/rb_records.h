/*
 * rb_records.h
 *	  Pairs in groups: how they leave a device.
 *
 * A pair of indices has eight bytes, and a bus moves fifty gigabytes a second at
 * best: a join of boxes is done long before its pairs have come over.
 * But the pairs come from cells, and within a cell a number of eight bits says
 * which object is meant (Lo, Lee, Chung, Chung 2013, section 5.3, have the same idea
 * with three levels).  So a record holds the indices of some red and some blue
 * objects once, and then which of them meet, in whichever of two forms is shorter:
 *
 *		lists	for each red one, how many; then the numbers of their blue ones
 *		bits	for each red one, a word for every 32 blue ones
 *
 * Either way a pair takes about a byte and its share of the indices.
 *
 *		rb_record | red indices | blue indices, unless both sides are one | pairs | padding
 *
 * Records follow each other without a gap.  Whoever moves them may cut the bytes
 * anywhere; the reader below puts a record that was cut together again.
 */
#ifndef RB_RECORDS_H
#define RB_RECORDS_H

#include "core/base/rb_parallel.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define RB_RECORD_SIDE 256 /* most objects a side */
#define RB_RECORD_ALIGN 16 /* the length of a record is a multiple of this */

#define RB_RECORD_BITS 1u  /* else lists */
#define RB_RECORD_SAME 2u  /* blue's objects are red's: indices once */
#define RB_RECORD_ORDER 4u /* the smaller index first, for a self join */

typedef struct rb_record
{
	uint32_t bytes; /* of all of it */
	uint32_t pairs;
	uint16_t red; /* objects */
	uint16_t blue;
	uint32_t form;
} rb_record;

#define RB_RECORD_MOST                                           \
	(sizeof(rb_record) + 2 * RB_RECORD_SIDE * sizeof(uint32_t) + \
	 RB_RECORD_SIDE * RB_RECORD_SIDE / 8)
#define RB_RECORD_PAIRS ((size_t) RB_RECORD_SIDE * RB_RECORD_SIDE)

/* all pairs of a whole record to `out`, which has room for record->pairs */
extern void rb_record_pairs(const rb_record *record, rb_pair *out);

/*
 * Bytes in, pairs out.  Starts as zeros; rb_record_reader_free gives its memory back and
 * ends its threads.
 */
typedef struct rb_record_reader
{
	char *cut;      /* the record that the last bytes cut off, RB_RECORD_MOST */
	size_t have;    /* its bytes so far; 0: there is none */
	size_t nstarts; /* whole records of the bytes at hand */
	const rb_record **start;
	size_t starts_cap;
	rb_thread *me;  /* of the team that shares them; NULL before the first call */
	rb_pair *pairs; /* RB_RECORD_PAIRS for each thread of it */
} rb_record_reader;

/*
 * The pairs of the next n bytes into the sink, from up to ctx->threads threads.  The
 * bytes and n are multiples of RB_RECORD_ALIGN.  RB_OK, what the sink says, or out of
 * memory.
 */
extern rb_status rb_records_put(rb_context *ctx, rb_record_reader *reader, const void *bytes,
								size_t n, const rb_sink *sink);
extern void rb_record_reader_free(rb_context *ctx, rb_record_reader *reader);

#ifdef __cplusplus
}
#endif

#endif /* RB_RECORDS_H */
