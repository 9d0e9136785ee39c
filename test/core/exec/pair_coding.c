/*
 * pair_coding.c
 *	  Tests the decoding of compressed records into pairs: records are built here by hand, in both
 *	  forms, and cut anywhere.
 */
#include "check.h"
#include "core/join/join.h"
#include "core/exec/pair_coding.h"

#include <string.h>

/* Consecutive records, and the expected pairs */
typedef struct made
{
	char *bytes;
	size_t n;
	size_t room;
	uint64_t pairs;
	uint64_t fingerprint;
} made;

static uint64_t
mix(uint32_t red, uint32_t blue)
{
	uint64_t z = ((uint64_t) red << 32 | blue) + UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/*
 * Appends a record of red x blue in which one in `rarity` pairs meets. Both sides are equal if the
 * form says so.
 */
static void
make(made *m, uint32_t red, uint32_t blue, uint32_t form, uint32_t rarity)
{
	const bool same = (form & RB_RECORD_SAME) != 0;
	uint32_t index[2][RB_RECORD_SIDE], lists = 0, pairs = 0;
	static uint8_t meets[RB_RECORD_SIDE][RB_RECORD_SIDE], data[RB_RECORD_PAIRS + RB_RECORD_SIDE];
	rb_record record = {0, 0, (uint16_t) red, (uint16_t) blue, form};
	size_t size;
	char *to;

	for (uint32_t i = 0; i < RB_RECORD_SIDE; i++)
		index[0][i] = (uint32_t) check_below(RB_MAX_OBJECTS),
		index[1][i] = (uint32_t) check_below(RB_MAX_OBJECTS);
	memset(data, 0, sizeof(data));
	lists = red;
	for (uint32_t i = 0; i < red; i++)
		for (uint32_t j = 0; j < blue; j++)
		{
			uint32_t r = index[0][i], b = index[same ? 0 : 1][j];

			/* The count of a list has eight bits. */
			meets[i][j] = (!same || i < j) && check_below(rarity) == 0 && j < 255;
			if (!meets[i][j])
				continue;
			pairs++;
			if (form & RB_RECORD_BITS)
			{
				uint32_t word;
				size_t at = (i * ((blue + 31) / 32) + j / 32) * 4;

				memcpy(&word, data + at, 4);
				word |= 1u << j % 32;
				memcpy(data + at, &word, 4);
			}
			else
			{
				data[i]++;
				data[lists++] = (uint8_t) j;
			}
			m->fingerprint += form & RB_RECORD_ORDER && b < r ? mix(b, r) : mix(r, b);
		}
	size = sizeof(record) + (red + (same ? 0 : blue)) * 4;
	size += form & RB_RECORD_BITS ? (size_t) red * ((blue + 31) / 32) * 4 : lists;
	record.pairs = pairs;
	record.bytes = (uint32_t) ((size + RB_RECORD_ALIGN - 1) / RB_RECORD_ALIGN * RB_RECORD_ALIGN);
	if (m->n + record.bytes > m->room)
	{
		m->room = 2 * m->room + record.bytes;
		m->bytes = realloc(m->bytes, m->room);
	}
	to = m->bytes + m->n;
	memset(to, 0xee, record.bytes);
	memcpy(to, &record, sizeof(record));
	to += sizeof(record);
	memcpy(to, index[0], red * 4);
	to += red * 4;
	if (!same)
		memcpy(to, index[1], blue * 4);
	to += same ? 0 : blue * 4;
	memcpy(to, data, size - (size_t) (to - (m->bytes + m->n)));
	m->n += record.bytes;
	m->pairs += pairs;
}

typedef struct got
{
	uint64_t pairs;
	uint64_t fingerprint;
	uint64_t stop_after; /* Number of pairs after which to stop; 0 if never */
} got;

static rb_status
put(void *user, const rb_pair *pairs, size_t n)
{
	got *g = user;
	uint64_t sum = 0, all;

	for (size_t i = 0; i < n; i++)
		sum += mix(pairs[i].red, pairs[i].blue);
	rb_add(&g->fingerprint, sum);
	all = rb_add(&g->pairs, n) + n;
	return g->stop_after > 0 && all >= g->stop_after ? RB_STOPPED : RB_OK;
}

/*
 * Reads everything in pieces of up to `piece` bytes, which are copies, so that the reader must not
 * keep pointers into them.
 */
static rb_status
read_all(const made *m, size_t piece, int threads, uint64_t limit, got *g)
{
	rb_memory *memory = rb_memory_create(limit);
	rb_context ctx;
	rb_record_reader reader;
	rb_sink sink = {.put = put, .user = g};
	rb_status status = RB_OK;
	char *copy = malloc(piece);

	rb_context_init(&ctx, memory);
	ctx.threads = threads;
	memset(&reader, 0, sizeof(reader));
	for (size_t at = 0; at < m->n && status == RB_OK;)
	{
		size_t n = (1 + check_below(piece / RB_RECORD_ALIGN)) * RB_RECORD_ALIGN;

		n = m->n - at < n ? m->n - at : n;
		memcpy(copy, m->bytes + at, n);
		status = rb_records_decode(&ctx, &reader, copy, n, &sink);
		memset(copy, 0xdd, n);
		at += n;
	}
	CHECK(status != RB_OK || reader.have == 0, "%zu bytes left", reader.have);
	rb_record_reader_free(&ctx, &reader);
	CHECK(rb_memory_used(memory) == 0, "%lu bytes not freed",
		  (unsigned long) rb_memory_used(memory));
	rb_memory_destroy(memory);
	free(copy);
	return status;
}

static void
fill(made *m, int records)
{
	static const uint32_t rarity[] = {1, 2, 8, 60, 5000};

	for (int k = 0; k < records; k++)
	{
		uint32_t form = (uint32_t) check_below(8);
		uint32_t most = check_below(3) == 0 ? RB_RECORD_SIDE : 40;
		uint32_t red = 1 + (uint32_t) check_below(most);
		uint32_t blue = form & RB_RECORD_SAME ? red : 1 + (uint32_t) check_below(most);

		uint32_t rare = rarity[check_below(5)];

		/* Lists are used only where they are shorter. */
		if (red * blue / rare > red * blue / 8)
			form |= RB_RECORD_BITS;
		make(m, red, blue, form, rare);
	}
}

static void
any_form_any_cut(void)
{
	static const size_t piece[] = {16, 48, 1000 * 16, 1 << 20};

	for (long round = check_rounds(40); round > 0; round--)
	{
		made m = {NULL, 0, 0, 0, 0};

		fill(&m, round % 4 == 0 ? 300 : 20);
		for (int k = 0; k < 4; k++)
		{
			got g = {0, 0, 0};
			rb_status status = read_all(&m, piece[k], 1 + (int) round % 4, (uint64_t) 1 << 30, &g);

			CHECK(status == RB_OK && g.pairs == m.pairs && g.fingerprint == m.fingerprint,
				  "%s, %lu pairs of %lu in pieces of %zu", rb_status_text(status),
				  (unsigned long) g.pairs, (unsigned long) m.pairs, piece[k]);
		}
		free(m.bytes);
	}
}

/* Tests that the largest possible record fits in the room for one. */
static void
full(void)
{
	for (uint32_t form = 0; form < 8; form++)
	{
		made m = {NULL, 0, 0, 0, 0};
		got g = {0, 0, 0};

		if ((form & RB_RECORD_BITS) == 0)
			continue; /* A record of all pairs is always written as bits */
		make(&m, RB_RECORD_SIDE, RB_RECORD_SIDE, form, 1);
		CHECK(m.n <= RB_RECORD_MAX_BYTES, "%zu bytes", m.n);
		for (int k = 0; k < 300; k++)
			make(&m, RB_RECORD_SIDE, RB_RECORD_SIDE, form, 1);
		CHECK(read_all(&m, 4096, 3, (uint64_t) 1 << 30, &g) == RB_OK && g.pairs == m.pairs &&
				  g.fingerprint == m.fingerprint,
			  "%lu pairs of %lu", (unsigned long) g.pairs, (unsigned long) m.pairs);
		free(m.bytes);
	}
}

static void
refusals(void)
{
	made m = {NULL, 0, 0, 0, 0};
	got g = {0, 0, 1000};

	fill(&m, 400);
	CHECK(read_all(&m, 1 << 20, 4, (uint64_t) 1 << 30, &g) == RB_STOPPED, "the sink was not heard");
	CHECK(g.pairs < m.pairs || m.pairs < 2000, "%lu pairs after the stop", (unsigned long) g.pairs);
	for (uint64_t limit = 1000; limit < 10000000; limit *= 3)
	{
		got h = {0, 0, 0};
		rb_status status = read_all(&m, 1 << 20, 4, limit, &h);

		CHECK(status == RB_OVER_BUDGET || (status == RB_OK && h.pairs == m.pairs), "%lu bytes: %s",
			  (unsigned long) limit, rb_status_text(status));
	}
	free(m.bytes);
}

typedef struct stopper
{
	rb_context *ctx; /* Context to be stopped; NULL if the sink returns an error */
	uint64_t puts;
} stopper;

static rb_status
put_once(void *user, const rb_pair *pairs, size_t n)
{
	stopper *s = user;

	(void) pairs, (void) n;
	rb_add(&s->puts, 1);
	if (s->ctx == NULL)
		return RB_OUT_OF_MEMORY;
	rb_context_stop(s->ctx);
	return RB_OK;
}

/* Tests stops in the middle of a piece, from any thread. */
static void
stopped_within_a_piece(void)
{
	made m = {NULL, 0, 0, 0, 0};

	/* Enough records to fill a thread's buffer several times */
	for (int k = 0; k < 200; k++)
		make(&m, RB_RECORD_SIDE, RB_RECORD_SIDE, RB_RECORD_BITS, 2);
	for (int threads = 1; threads <= 4; threads++)
		for (int refuses = 0; refuses < 2; refuses++)
		{
			rb_memory *memory = rb_memory_create((uint64_t) 1 << 30);
			rb_record_reader reader;
			rb_context ctx;
			stopper s = {refuses ? NULL : &ctx, 0};
			rb_sink sink = {.put = put_once, .user = &s};
			rb_status status;

			rb_context_init(&ctx, memory);
			ctx.threads = threads;
			memset(&reader, 0, sizeof(reader));
			status = rb_records_decode(&ctx, &reader, m.bytes, m.n, &sink);
			CHECK(status == (refuses ? RB_OUT_OF_MEMORY : RB_STOPPED), "%d threads: %s", threads,
				  rb_status_text(status));
			/* At most eight more records per thread, of half a buffer each */
			CHECK(s.puts <= 8 * (uint64_t) threads, "%lu puts", (unsigned long) s.puts);
			rb_record_reader_free(&ctx, &reader);
			rb_memory_destroy(memory);
		}
	free(m.bytes);
}

int
main(void)
{
	CHECK_RUN(any_form_any_cut);
	CHECK_RUN(full);
	CHECK_RUN(refusals);
	CHECK_RUN(stopped_within_a_piece);
	return check_done();
}
