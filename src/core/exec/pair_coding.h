/*
 * pair_coding.h
 *	  Defines the compressed form in which groups of pairs leave a device.
 *
 * A pair of indices has eight bytes, and a bus transfers at most fifty gigabytes per second, so a
 * join of boxes finishes long before its pairs have been transferred. However, the pairs come from
 * grid cells, and within a cell eight bits are enough to identify an object (Lo, Lee, Chung, Chung
 * 2013, section 5.3, have the same idea with three levels). So a record stores the indices of some
 * red and some blue objects once, followed by the pairs that meet, in the shorter of two forms:
 *
 *		lists	for each red object, the number of its blue objects; then their numbers
 *		bits	for each red object, one word for every 32 blue objects
 *
 * In both forms a pair takes about one byte, plus its fraction of the indices.
 *
 *		rb_record | red indices | blue indices, unless both sides are one | pairs | padding
 *
 * The stream (stream.c) requests pairs, not records, because decoding costs more than it saves on a
 * fast bus. Measured on an H200 with 10^7 clustered boxes (1.15 * 10^9 pairs) and 8 threads: records
 * reduce the transfer from 8 to 1.5 bytes a pair and from 0.19 to 0.03 s, but increase the time of
 * the whole join from 0.57 to 1.14 s.
 *
 * Records follow each other without gaps. The byte stream may be cut anywhere during transfer; the
 * reader below reassembles records that were cut.
 */
#ifndef RB_EXEC_PAIR_CODING_H
#define RB_EXEC_PAIR_CODING_H

#include "core/base/parallel.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define RB_RECORD_SIDE 256 /* Maximum number of objects per side */
#define RB_RECORD_ALIGN 16 /* Alignment in bytes; the length of a record is a multiple of it */

#define RB_RECORD_BITS 1u  /* Bits form; otherwise lists */
#define RB_RECORD_SAME 2u  /* The blue objects are the red ones, so the indices are stored once */
#define RB_RECORD_ORDER 4u /* The smaller index comes first, for a self join */

typedef struct rb_record
{
	uint32_t bytes; /* Size of the whole record */
	uint32_t pairs;
	uint16_t red; /* Number of objects */
	uint16_t blue;
	uint32_t form;
} rb_record;

#define RB_RECORD_MAX_BYTES                                      \
	(sizeof(rb_record) + 2 * RB_RECORD_SIDE * sizeof(uint32_t) + \
	 RB_RECORD_SIDE * RB_RECORD_SIDE / 8)
#define RB_RECORD_PAIRS ((size_t) RB_RECORD_SIDE * RB_RECORD_SIDE)


/*
 * Converts a byte stream to pairs. Zero-initialize before use; rb_record_reader_free frees its
 * memory and ends its threads.
 */
typedef struct rb_record_reader
{
	/* Buffer of RB_RECORD_MAX_BYTES bytes for a record cut at the end of the last piece */
	char *cut;
	size_t have;    /* Number of bytes in `cut`; 0 if no record was cut */
	size_t nstarts; /* Number of complete records in the current piece */
	const rb_record **start;
	size_t starts_cap;
	rb_thread *me;  /* Team that decodes the records; NULL before the first call */
	rb_pair *pairs; /* RB_RECORD_PAIRS entries for each thread of the team */
} rb_record_reader;

/*
 * Passes the pairs of the next n bytes to the sink, from up to ctx->threads threads. The address
 * and n are multiples of RB_RECORD_ALIGN. Returns RB_OK, an error of the sink, or an out-of-memory
 * status.
 */
extern rb_status rb_records_decode(rb_context *ctx, rb_record_reader *reader, const void *bytes,
								   size_t n, const rb_sink *sink);

/* Frees the buffers of a reader of records. */
extern void rb_record_reader_free(rb_context *ctx, rb_record_reader *reader);

#ifdef __cplusplus
}
#endif

#endif /* RB_EXEC_PAIR_CODING_H */
