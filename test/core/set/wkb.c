/*
 * wkb.c
 *	  Tests the builder and the reader of geometry bytes.
 *
 * The test writes every shape in each form (serialized; EWKB and ISO WKB in both byte orders), so
 * that the result can be compared with what was intended, and each form with the others. Then it
 * truncates the bytes at every length.
 */
#include "check.h"
#include "core/base/redblue.h"
#include "core/set/set.h"

#include <math.h>
#include <string.h>

/* ---- writing geometries ---- */

enum
{
	SERIALIZED,
	EWKB_LITTLE,
	EWKB_BIG,
	ISO_LITTLE,
	ISO_BIG,
	FORMS
};

static struct
{
	uint8_t at[1 << 20];
	size_t len;
	int form;
	bool z;
	bool m;
	int srid; /* Written at the outermost node */
} out;

static void
put(const void *bytes, size_t n, bool number)
{
	const uint16_t one = 1;
	bool little = *(const uint8_t *) &one == 1;
	bool want_little = out.form == EWKB_LITTLE || out.form == ISO_LITTLE;
	bool turn = number && out.form != SERIALIZED && little != want_little;

	for (size_t i = 0; i < n; i++)
		out.at[out.len + i] = ((const uint8_t *) bytes)[turn ? n - 1 - i : i];
	out.len += n;
}

static void
put_word(uint32_t w)
{
	put(&w, sizeof w, true);
}

/* Writes a point. M is NaN, which the reader must skip. */
static void
put_point(double x, double y, double z)
{
	double m = NAN;

	put(&x, sizeof x, true);
	put(&y, sizeof y, true);
	if (out.z)
		put(&z, sizeof z, true);
	if (out.m)
		put(&m, sizeof m, true);
}

static void
begin(int form, bool z, bool m, int srid)
{
	uint8_t head[4] = {(uint8_t) ((srid & 0x1fffff) >> 16), (uint8_t) (srid >> 8), (uint8_t) srid,
					   (uint8_t) (0x40 | z | m << 1)};

	out.len = 0;
	out.form = form;
	out.z = z;
	out.m = m;
	out.srid = srid;
	if (form == SERIALIZED)
		put(head, 4, false);
}

static void
put_node(uint32_t type, uint32_t count)
{
	static const uint32_t wkb[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15, 17, 16};
	uint8_t order = out.form == EWKB_LITTLE || out.form == ISO_LITTLE;
	bool outermost = out.len == 0;
	uint32_t bits = wkb[type];

	if (out.form == SERIALIZED)
	{
		put_word(type);
		put_word(count);
		return;
	}
	put(&order, 1, false);
	if (out.form == ISO_LITTLE || out.form == ISO_BIG)
		bits += 1000u * out.z + 2000u * out.m;
	else
		bits |= (out.z ? 0x80000000u : 0) | (out.m ? 0x40000000u : 0);
	if (outermost && out.srid != 0)
		bits |= 0x20000000u;
	put_word(bits);
	if (outermost && out.srid != 0)
		put_word((uint32_t) out.srid);
	if (type == 14) /* EWKB writes a triangle as a polygon */
		put_word(1);
	if (type != 1) /* A point has no count */
		put_word(count);
}

/* Writes n points of the ring of a face with corners (k, 0), (k + 1, 0), (k, 1) at height k. */
static void
put_ring(double k, uint32_t n)
{
	static const double x[] = {0, 1, 0, 0, 5, 6};
	static const double y[] = {0, 0, 1, 0, 5, 6};

	for (uint32_t i = 0; i < n; i++)
		put_point(k + x[i], y[i], k);
}

static void
put_triangle(double k)
{
	put_node(14, 4);
	put_ring(k, 4);
}

static void
put_polygon(double k, uint32_t n)
{
	put_node(3, 1);
	put_word(n);
	if (out.form == SERIALIZED)
		put_word(0);
	put_ring(k, n);
}

/* ---- reading geometries ---- */

static rb_memory *memory;

static rb_geometry_fault
read_bytes(rb_builder *b, const uint8_t *bytes, size_t len, rb_geometry_info *info)
{
	rb_error error;

	return out.form == SERIALIZED ? rb_geometry_read_serialized(b, bytes, len, info, &error)
								  : rb_geometry_read_ewkb(b, bytes, len, info, &error);
}

/* Checks that the current bytes give `parts` triangles at heights `first`, first + 1, ... */
static void
expect_parts(uint32_t type, uint32_t parts, double first)
{
	rb_builder b;
	rb_geometry_info info;
	rb_geometry_fault fault;

	rb_builder_init(&b, memory, RB_TRIANGLE3);
	/* Read at an odd address, and truncated anywhere. */
	for (int shift = 0; shift < 2; shift++)
	{
		memmove(out.at + shift, out.at, out.len);
		b.nparts = 0;
		fault = read_bytes(&b, out.at + shift, out.len, &info);
		memmove(out.at, out.at + shift, out.len);
		CHECK(fault == RB_GEOMETRY_OK, "form %d type %u: fault %d", out.form, type, fault);
		CHECK(info.type == type && info.srid == out.srid, "form %d: type %u, SRID %d", out.form,
			  info.type, info.srid);
		CHECK(b.nparts == parts, "form %d type %u: %u parts", out.form, type, b.nparts);
		for (uint32_t i = 0; i < b.nparts; i++)
		{
			double k = first + i;
			double want[9] = {k, 0, k, k + 1, 0, k, k, 1, k};

			CHECK(memcmp(b.coords + 9 * i, want, sizeof want) == 0, "form %d part %u", out.form, i);
		}
	}
	for (size_t len = 0; len < out.len; len++)
	{
		b.nparts = 0;
		fault = read_bytes(&b, out.at, len, &info);
		CHECK(fault != RB_GEOMETRY_OK, "form %d type %u: %zu of %zu bytes pass", out.form, type,
			  len, out.len);
		CHECK(b.nparts == 0, "%u parts in spite of a fault", b.nparts);
	}
	rb_builder_free(&b);
}

static rb_geometry_info
expect_fault(rb_geometry_fault want)
{
	rb_builder b;
	rb_geometry_info info;
	rb_geometry_fault fault;

	rb_builder_init(&b, memory, RB_TRIANGLE3);
	fault = read_bytes(&b, out.at, out.len, &info);
	CHECK(fault == want, "form %d: fault %d, not %d", out.form, fault, want);
	CHECK(b.nparts == 0, "%u parts in spite of a fault", b.nparts);
	rb_builder_free(&b);
	return info;
}

/* ---- cases ---- */

static void
shapes(void)
{
	for (int form = 0; form < FORMS; form++)
		for (int m = 0; m < 2; m++)
		{
			int srid = form < ISO_LITTLE ? 25832 * m : 0; /* ISO WKB has no SRID */

			begin(form, true, m, srid);
			put_triangle(3);
			expect_parts(14, 1, 3);

			begin(form, true, m, srid);
			put_polygon(4, 4);
			expect_parts(3, 1, 4);

			begin(form, true, m, srid);
			put_node(15, 3);
			for (int i = 0; i < 3; i++)
				put_triangle(i);
			expect_parts(15, 3, 0);

			begin(form, true, m, srid);
			put_node(13, 2);
			put_polygon(0, 4);
			put_polygon(1, 4);
			expect_parts(13, 2, 0);

			begin(form, true, m, srid);
			put_node(6, 2);
			put_polygon(7, 4);
			put_polygon(8, 4);
			expect_parts(6, 2, 7);

			/* Nested collections, one of them empty */
			begin(form, true, m, srid);
			put_node(7, 3);
			put_node(7, 2);
			put_triangle(0);
			put_node(15, 1);
			put_triangle(1);
			put_node(7, 0);
			put_node(6, 1);
			put_polygon(2, 4);
			expect_parts(7, 3, 0);

			/* An empty geometry has no part and no fault, and needs no Z. */
			for (int z = 0; z < 2; z++)
			{
				static const uint32_t empty[] = {2, 3, 4, 6, 7, 10, 13, 15};

				for (size_t i = 0; i < sizeof empty / sizeof *empty; i++)
				{
					begin(form, z, m, srid);
					put_node(empty[i], 0);
					expect_parts(empty[i], 0, 0);
				}
			}
		}
}

/* Tests that nesting uses no recursion: collections in collections, 100,000 levels deep. */
static void
depth(void)
{
	begin(SERIALIZED, true, false, 0);
	for (int i = 0; i < 100000; i++)
		put_node(7, 1);
	put_triangle(5);
	{
		rb_builder b;
		rb_geometry_info info;

		rb_builder_init(&b, memory, RB_TRIANGLE3);
		CHECK(read_bytes(&b, out.at, out.len, &info) == RB_GEOMETRY_OK && b.nparts == 1, "%u parts",
			  b.nparts);
		rb_builder_free(&b);
	}
}

static void
faults(void)
{
	for (int form = 0; form < FORMS; form++)
	{
		rb_geometry_info info;
		uint32_t corners[] = {1, 2, 3, 5, 6};

		begin(form, false, false, 0);
		put_triangle(0);
		expect_fault(RB_GEOMETRY_NO_Z);
		begin(form, false, true, 0);
		put_polygon(0, 4);
		expect_fault(RB_GEOMETRY_NO_Z);

		for (int i = 0; i < 5; i++)
		{
			begin(form, true, false, 0);
			put_node(15, 2);
			put_triangle(0);
			put_node(14, corners[i]);
			put_ring(0, corners[i]);
			info = expect_fault(RB_GEOMETRY_CORNERS);
			CHECK(info.corners == corners[i] - 1 && info.type == 15 && info.bad_type == 14 &&
					  info.face == 2,
				  "%u corners, type %u, bad type %u", info.corners, info.type, info.bad_type);
			/* A polygon may have any number of corners, but ends where it starts. */
			if (corners[i] == 1)
				continue;
			begin(form, true, false, 0);
			put_node(6, 2);
			put_polygon(0, 4);
			put_polygon(0, corners[i]);
			info = expect_fault(RB_GEOMETRY_NOT_CLOSED);
			CHECK(info.type == 6 && info.bad_type == 3 && info.face == 2,
				  "type %u, bad type %u, face %u", info.type, info.bad_type, info.face);
		}

		begin(form, true, false, 0);
		put_node(7, 2);
		put_triangle(0);
		put_node(2, 2);
		put_ring(0, 2);
		info = expect_fault(RB_GEOMETRY_WRONG_TYPE);
		CHECK(info.type == 7 && info.bad_type == 2, "type %u, bad type %u", info.type,
			  info.bad_type);

		begin(form, true, false, 0);
		put_node(3, 2);
		put_word(4);
		if (form == SERIALIZED)
			put_word(4);
		put_ring(0, 4);
		if (form != SERIALIZED)
			put_word(4);
		put_ring(7, 4);
		info = expect_fault(RB_GEOMETRY_HOLE_OUTSIDE);
		CHECK(info.hole == 1 && info.face == 1, "hole %u, face %u", info.hole, info.face);

		/* Holes in an empty ring */
		begin(form, true, false, 0);
		put_node(3, 2);
		put_word(0);
		if (form == SERIALIZED)
			put_word(4);
		if (form != SERIALIZED)
			put_word(4);
		put_ring(0, 4);
		expect_fault(RB_GEOMETRY_MALFORMED);

		begin(form, true, false, 0);
		put_node(14, 4);
		put_ring(0, 3);
		put_point(0, 0, 1);
		expect_fault(RB_GEOMETRY_NOT_CLOSED);

		for (int i = 0; i < 12; i++)
			for (int k = 0; k < 3; k++)
			{
				static const double odd[] = {NAN, INFINITY, -INFINITY};
				double c[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0};

				c[i] = odd[k];
				begin(form, true, false, 0);
				put_node(14, 4);
				for (int p = 0; p < 4; p++)
					put_point(c[3 * p], c[3 * p + 1], c[3 * p + 2]);
				expect_fault(RB_GEOMETRY_NOT_FINITE);
			}

		/* Counts far beyond the bytes, whose product would overflow */
		for (int i = 0; i < 6; i++)
		{
			static const uint32_t huge[] = {0xffffffff, 0x80000000, 0x7fffffff,
											0x40000000, 0x15555556, 5};

			begin(form, true, false, 0);
			put_node(15, huge[i]);
			put_triangle(0);
			expect_fault(RB_GEOMETRY_MALFORMED);
			begin(form, true, false, 0);
			put_node(14, huge[i]);
			put_ring(0, 4);
			expect_fault(RB_GEOMETRY_MALFORMED);
			begin(form, true, false, 0);
			put_node(3, huge[i]);
			put_word(4);
			put_ring(0, 4);
			expect_fault(RB_GEOMETRY_MALFORMED);
		}

		/* One byte too many */
		begin(form, true, false, 0);
		put_triangle(0);
		out.len++;
		expect_fault(RB_GEOMETRY_MALFORMED);
	}
	CHECK(strcmp(rb_geometry_type_name(13), "PolyhedralSurface") == 0, "type name");
	CHECK(strcmp(rb_geometry_type_name(4000000000u), "Unknown") == 0, "type name");
}

/* Tests the header of the serialized form: SRIDs, flags, boxes, and unknown versions. */
static void
heads(void)
{
	static const int srids[] = {0, 1, 4326, 999999, 1048575, -1, -1048576};
	rb_builder b;
	rb_geometry_info info;
	rb_error error;

	for (size_t i = 0; i < sizeof srids / sizeof *srids; i++)
	{
		begin(SERIALIZED, true, false, srids[i]);
		put_triangle(0);
		expect_parts(14, 1, 0);
	}
	rb_builder_init(&b, memory, RB_TRIANGLE3);
	for (int flags = 0; flags < 256; flags++)
	{
		bool known = (flags & 0x40) != 0 && (flags & 0xa0) == 0;
		uint64_t more = 7;
		float box[8] = {0};

		begin(SERIALIZED, flags & 1, flags & 2, 0);
		out.at[3] = (uint8_t) flags;
		if (flags & 0x10)
			put(&more, sizeof more, false);
		if (flags & 4)
			put(box, sizeof(float) * (flags & 8 ? 6 : 4 + 2 * (flags & 1) + (flags & 2)), false);
		put_triangle(0);
		b.nparts = 0;
		switch (rb_geometry_read_serialized(&b, out.at, out.len, &info, &error))
		{
			case RB_GEOMETRY_OK:
				CHECK(known && (flags & 1) && b.nparts == 1, "flags %x", flags);
				break;
			case RB_GEOMETRY_NO_Z:
				CHECK(known && !(flags & 1), "flags %x", flags);
				break;
			case RB_GEOMETRY_UNKNOWN:
				CHECK(!known, "flags %x", flags);
				break;
			default:
				CHECK(false, "flags %x", flags);
		}
	}
	/* An additional, unknown flag */
	begin(SERIALIZED, true, false, 0);
	out.at[3] |= 0x10;
	put((uint64_t[]){8}, 8, false);
	put_triangle(0);
	expect_fault(RB_GEOMETRY_UNKNOWN);
	rb_builder_free(&b);
}

/* ---- segments and boxes: random trees, and what must be read from them ---- */

#define MOST 4096

static struct
{
	rb_kind kind;
	int dims;
	uint32_t parts; /* Segments */
	double part[MOST][6];
	uint32_t points;
	double box[6];
} want;

static void
put_random_points(uint32_t n, bool segments)
{
	double before[3] = {0, 0, 0};

	for (uint32_t i = 0; i < n; i++)
	{
		double x[3];

		for (int k = 0; k < 3; k++)
			x[k] = i > 0 && check_below(8) == 0 ? before[k] : check_below(2000) / 16.0 - 60;
		/* A Z that is not read may be anything. */
		put_point(x[0], x[1], want.dims == 3 ? x[2] : NAN);
		for (int k = 0; k < want.dims; k++)
		{
			double *lo = &want.box[k];
			double *hi = &want.box[want.dims + k];

			*lo = want.points == 0 || x[k] < *lo ? x[k] : *lo;
			*hi = want.points == 0 || x[k] > *hi ? x[k] : *hi;
		}
		want.points++;
		if (segments && (i > 0 || n == 1))
		{
			memcpy(want.part[want.parts], n == 1 ? x : before, sizeof(double) * (size_t) want.dims);
			memcpy(want.part[want.parts] + want.dims, x, sizeof(double) * (size_t) want.dims);
			want.parts++;
		}
		memcpy(before, x, sizeof x);
	}
}

static void
put_random_polygon(void)
{
	uint32_t rings = check_below(4);
	uint32_t n[4];

	put_node(3, rings);
	for (uint32_t i = 0; i < rings; i++)
		n[i] = check_below(6);
	for (uint32_t i = 0; out.form == SERIALIZED && i < rings + rings % 2; i++)
		put_word(i < rings ? n[i] : 0);
	for (uint32_t i = 0; i < rings; i++)
	{
		if (out.form != SERIALIZED)
			put_word(n[i]);
		put_random_points(n[i], true);
	}
}

/* Writes a random geometry that the kind accepts. */
static void
put_random(int depth)
{
	bool box = want.kind == RB_BOX3 || want.kind == RB_BOX2;
	uint32_t n = check_below(7);

	switch (check_below(depth > 0 ? 7 : 4))
	{
		case 0:
			if (want.kind != RB_SEGMENT3)
			{
				put_random_polygon();
				break;
			}
			/* fallthrough */
		case 1:
			if (box)
			{
				/* In EWKB, an empty point has NaN coordinates. */
				bool empty = n == 0;

				put_node(1, !empty);
				if (!empty)
					put_random_points(1, false);
				else if (out.form != SERIALIZED)
					put_point(NAN, NAN, NAN);
				break;
			}
			/* fallthrough */
		case 2:
			if (box)
			{
				put_node(14, n);
				put_random_points(n, false);
				break;
			}
			/* fallthrough */
		case 3:
			put_node(2, n);
			put_random_points(n, true);
			break;
		default:
		{
			static const uint32_t collections[] = {4, 5, 6, 7, 9, 11, 12, 13, 15};

			n = check_below(5);
			put_node(collections[check_below(9)], n);
			for (uint32_t i = 0; i < n; i++)
				put_random(depth - 1);
		}
	}
}

static void
random_trees(void)
{
	rb_builder b;
	rb_geometry_info info;
	rb_error error;

	for (int round = 0; round < 4000; round++)
	{
		static const rb_kind kinds[] = {RB_SEGMENT3, RB_SEGMENT2, RB_BOX3, RB_BOX2};
		size_t width;
		uint32_t before = check_below(3);

		want.kind = kinds[check_below(4)];
		want.dims = want.kind == RB_SEGMENT3 || want.kind == RB_BOX3 ? 3 : 2;
		want.parts = want.points = 0;
		width = 2 * (size_t) want.dims;
		begin(check_below(FORMS), want.dims == 3 || (want.kind == RB_SEGMENT2 && check_below(2)),
			  check_below(2), 0);
		put_random(3);
		if (want.kind == RB_BOX3 || want.kind == RB_BOX2)
		{
			want.parts = want.points > 0;
			memcpy(want.part[0], want.box, sizeof want.box);
		}

		/* Read after existing parts, at an odd address. */
		rb_builder_init(&b, memory, want.kind);
		b.nparts = before;
		memmove(out.at + 1, out.at, out.len);
		CHECK(rb_builder_reserve(&b, 1, &error) == RB_OK, "reserve");
		CHECK(read_bytes(&b, out.at + 1, out.len, &info) == RB_GEOMETRY_OK, "round %d", round);
		CHECK(b.nparts == before + want.parts, "round %d kind %d: %u parts, not %u", round,
			  want.kind, b.nparts - before, want.parts);
		for (uint32_t i = 0; i < want.parts && b.nparts == before + want.parts; i++)
			CHECK(memcmp(b.coords + (before + i) * width, want.part[i], width * 8) == 0,
				  "round %d kind %d part %u", round, want.kind, i);
		/* Truncated bytes leave nothing behind. */
		if (out.len > 0)
		{
			CHECK(read_bytes(&b, out.at + 1, (size_t) check_below((int) out.len), &info) !=
					  RB_GEOMETRY_OK,
				  "round %d: cut off", round);
			CHECK(b.nparts == before + want.parts, "round %d: cut off", round);
		}
		rb_builder_free(&b);
	}
}

static void
expect_fault_of(rb_kind kind, rb_geometry_fault fault, uint32_t bad_type)
{
	rb_builder b;
	rb_geometry_info info;
	rb_geometry_fault got;

	rb_builder_init(&b, memory, kind);
	got = read_bytes(&b, out.at, out.len, &info);
	CHECK(got == fault && b.nparts == 0, "form %d kind %d: fault %d, not %d", out.form, kind, got,
		  fault);
	CHECK(fault == RB_GEOMETRY_OK || info.bad_type == bad_type, "form %d kind %d: bad type %u",
		  out.form, kind, info.bad_type);
	rb_builder_free(&b);
}

/* Tests what segments and boxes reject. */
static void
other_faults(void)
{
	for (int form = 0; form < FORMS; form++)
	{
		begin(form, false, true, 0);
		put_node(2, 2);
		put_ring(0, 2);
		expect_fault_of(RB_SEGMENT3, RB_GEOMETRY_NO_Z, 2);
		expect_fault_of(RB_BOX3, RB_GEOMETRY_NO_Z, 2);
		begin(form, true, false, 0);
		put_node(5, 1);
		put_node(2, 2);
		put_ring(0, 2);
		expect_fault_of(RB_BOX2, RB_GEOMETRY_Z, 2);
		/* Surfaces and points are not lines. */
		begin(form, true, false, 0);
		put_polygon(0, 4);
		expect_fault_of(RB_SEGMENT3, RB_GEOMETRY_WRONG_TYPE, 3);
		begin(form, true, false, 0);
		put_triangle(0);
		expect_fault_of(RB_SEGMENT3, RB_GEOMETRY_WRONG_TYPE, 14);
		expect_fault_of(RB_SEGMENT2, RB_GEOMETRY_WRONG_TYPE, 14);
		begin(form, true, false, 0);
		put_node(1, 1);
		put_point(1, 2, 3);
		expect_fault_of(RB_SEGMENT3, RB_GEOMETRY_WRONG_TYPE, 1);
		expect_fault_of(RB_SEGMENT2, RB_GEOMETRY_WRONG_TYPE, 1);
		expect_fault_of(RB_TRIANGLE3, RB_GEOMETRY_WRONG_TYPE, 1);
		/* Curves are rejected even if they are straight, except for empty ones. */
		for (uint32_t n = 0; n < 2; n++)
			for (int kind = RB_SEGMENT3; kind < RB_POINT3; kind++)
			{
				rb_geometry_fault fault = n == 0 ? RB_GEOMETRY_OK : RB_GEOMETRY_CURVE;

				begin(form, kind != RB_BOX2, false, 0);
				put_node(9, 1);
				put_node(8, 3 * n);
				put_ring(0, 3 * n);
				expect_fault_of(kind, fault, 8);
				begin(form, kind != RB_BOX2, false, 0);
				put_node(12, 1);
				put_node(10, n);
				if (n > 0)
				{
					put_node(2, 4);
					put_ring(0, 4);
				}
				expect_fault_of(kind, fault, 10);
			}
		begin(form, true, false, 0);
		put_node(10, 1);
		put_node(2, 4);
		put_ring(0, 4);
		expect_fault_of(RB_TRIANGLE3, RB_GEOMETRY_WRONG_TYPE, 10);
		/* NaN and infinity at every position that is read */
		for (int kind = RB_SEGMENT3; kind < RB_POINT3; kind++)
			for (int i = 0; i < 9; i++)
			{
				double c[9] = {0, 0, 0, 1, 1, 1, 2, 0, 1};
				bool read = i % 3 < 2 || kind == RB_SEGMENT3 || kind == RB_BOX3;

				c[i] = i % 2 == 0 ? NAN : INFINITY;
				begin(form, kind != RB_BOX2, false, 0);
				put_node(7, 1);
				put_node(2, 3);
				for (int p = 0; p < 3; p++)
					put_point(c[3 * p], c[3 * p + 1], c[3 * p + 2]);
				if (read)
					expect_fault_of(kind, RB_GEOMETRY_NOT_FINITE, 2);
			}
	}
}

/* Tests that points accept only a single point with Z. */
static void
points(void)
{
	for (int form = 0; form < FORMS; form++)
	{
		rb_builder b;
		rb_geometry_info info;

		rb_builder_init(&b, memory, RB_POINT3);
		begin(form, true, false, 0);
		put_node(1, 1);
		put_point(1, -2, 1e300);
		CHECK(read_bytes(&b, out.at, out.len, &info) == RB_GEOMETRY_OK, "form %d", form);
		CHECK(b.nparts == 1 && b.coords[0] == 1 && b.coords[1] == -2 && b.coords[2] == 1e300,
			  "form %d: %u", form, b.nparts);
		rb_builder_free(&b);
		begin(form, false, false, 0);
		put_node(1, 1);
		put_point(1, 2, 3);
		expect_fault_of(RB_POINT3, RB_GEOMETRY_NO_Z, 1);
		for (int i = 0; i < 3; i++)
		{
			double c[3] = {1, 2, 3};

			c[i] = i % 2 == 0 ? NAN : INFINITY;
			begin(form, true, false, 0);
			put_node(1, 1);
			put_point(c[0], c[1], c[2]);
			expect_fault_of(RB_POINT3, RB_GEOMETRY_NOT_FINITE, 1);
		}
		begin(form, true, false, 0);
		put_node(4, 1);
		put_node(1, 1);
		put_point(1, 2, 3);
		expect_fault_of(RB_POINT3, RB_GEOMETRY_WRONG_TYPE, 1);
		begin(form, true, false, 0);
		put_node(2, 2);
		put_ring(0, 2);
		expect_fault_of(RB_POINT3, RB_GEOMETRY_WRONG_TYPE, 2);
		begin(form, true, false, 0);
		put_polygon(0, 4);
		expect_fault_of(RB_POINT3, RB_GEOMETRY_WRONG_TYPE, 3);
	}
}

/* Tests that a builder may change its kind while it is empty, and keeps its capacity. */
static void
kinds(void)
{
	rb_builder b;
	rb_error error;

	rb_builder_init(&b, memory, RB_BOX3);
	CHECK(rb_builder_reserve(&b, 1000, &error) == RB_OK && b.coords_cap >= 1000, "reserve");
	for (int round = 0; round < 2; round++)
	{
		size_t bytes = b.coords_cap * (size_t) b.width;

		rb_builder_set_kind(&b, round == 0 ? RB_BOX2 : RB_TRIANGLE3);
		CHECK(b.coords_cap * (size_t) b.width <= bytes &&
				  b.coords_cap * (size_t) b.width + (size_t) b.width > bytes,
			  "%zu of %zu numbers", b.coords_cap * (size_t) b.width, bytes);
		CHECK(b.width == rb_kind_width(b.kind), "width");
	}
	CHECK(rb_builder_reserve(&b, 5000, &error) == RB_OK, "reserve");
	memset(b.coords, 0, 5000 * 9 * sizeof(double));
	rb_builder_free(&b);
}

/* Tests rows of zero, one and several parts, and the row of each part. */
static void
rows(void)
{
	rb_builder b;
	const rb_set *set;
	rb_error error;
	uint32_t part = 0;
	uint32_t row = 0;
	uint64_t skipped = 0;

	for (int multi_from = 0; multi_from < 5000; multi_from += 1666)
	{
		rb_builder_init(&b, memory, RB_SEGMENT2);
		part = row = 0;
		skipped = 0;
		for (int i = 0; i < 4000; i++)
		{
			uint32_t n = i < multi_from ? (uint32_t) i % 2 : (uint32_t) check_below(4);

			for (uint32_t k = 0; k < n; k++)
			{
				CHECK(rb_builder_reserve(&b, 1, &error) == RB_OK, "reserve");
				for (int c = 0; c < 4; c++)
					b.coords[4 * (size_t) b.nparts + c] = i + 0.25 * c;
				b.nparts++;
			}
			CHECK(rb_builder_end_row(&b, 7 * i - 100, &error) == RB_OK, "end of row");
			skipped += n == 0;
			part += n;
			row += n > 0;
		}
		/* Parts of an unfinished row do not count. */
		CHECK(rb_builder_reserve(&b, 2, &error) == RB_OK, "reserve");
		b.nparts += 2;
		CHECK(rb_builder_finish(&b, &set, &error) == RB_OK, "finish");
		CHECK(set->nparts == part && set->nrows == row && set->skipped == skipped,
			  "%u parts, %u rows", set->nparts, set->nrows);
		CHECK(b.nparts == 0 && b.coords == NULL && b.ids == NULL && b.row_of == NULL, "empty");
		CHECK((set->row_of == NULL) == (multi_from >= 4000), "row_of from row %d", multi_from);
		for (uint32_t i = 0; i < set->nparts; i++)
		{
			uint32_t r = set->row_of == NULL ? i : set->row_of[i];

			CHECK(r < set->nrows &&
					  (i == 0 || set->row_of == NULL || (r - set->row_of[i - 1]) <= 1),
				  "part %u of row %u", i, r);
			CHECK(set->ids[r] == 7 * (int64_t) set->coords[4 * (size_t) i] - 100, "id of part %u",
				  i);
		}
		rb_set_release(&set);
		CHECK(set == NULL, "released");
	}
}

/* Tests that a memory limit is reached, observed and reported. */
static void
limits(void)
{
	rb_memory *small = rb_memory_create(8 << 20);
	rb_builder b;
	rb_error error;
	rb_status status = RB_OK;

	rb_builder_init(&b, small, RB_TRIANGLE3);
	for (int64_t i = 0; status == RB_OK; i++)
	{
		status = rb_builder_reserve(&b, 1, &error);
		if (status == RB_OK)
		{
			memset(b.coords + 9 * (size_t) b.nparts, 0, 9 * sizeof(double));
			b.nparts++;
			status = rb_builder_end_row(&b, i, &error);
		}
		CHECK(rb_memory_used(small) <= rb_memory_limit(small), "over the limit");
	}
	CHECK(status == RB_OVER_BUDGET && error.need > error.limit && error.limit == 8 << 20,
		  "status %d", status);
	/* At 80 bytes per row, most of the limit was used. */
	CHECK(b.nrows > (8 << 20) / 80 / 4 * 3, "%u rows", b.nrows);
	status = rb_builder_reserve(&b, RB_MAX_OBJECTS, &error);
	CHECK(status == RB_TOO_MANY_OBJECTS && error.limit == RB_MAX_OBJECTS, "status %d", status);
	status = rb_builder_reserve(&b, SIZE_MAX - 10, &error);
	CHECK(status == RB_TOO_MANY_OBJECTS, "status %d", status);
	rb_builder_free(&b);
	CHECK(rb_memory_used(small) == 0, "%llu bytes left",
		  (unsigned long long) rb_memory_used(small));
	rb_memory_destroy(small);
}

/* Tests that rows in slices, cut anywhere, equal the individual rows. */
static void
slices(void)
{
	static uint32_t ends[4000];

	for (int round = 0; round < 40; round++)
	{
		uint32_t most = round % 4 == 0 ? 1 : 1 + (uint32_t) check_below(5);
		uint32_t row = 0;
		rb_builder one;
		rb_builder many;
		rb_error error;

		rb_builder_init(&one, memory, RB_BOX2);
		rb_builder_init(&many, memory, RB_BOX2);
		for (int64_t i = 0; i < 3000; i++)
		{
			uint32_t n = 1 + (uint32_t) check_below(round % 4 == 3 && i < 1500 ? 1 : most);

			CHECK(rb_builder_reserve(&one, n, &error) == RB_OK, "reserve");
			for (uint32_t k = 0; k < 4 * n; k++)
				one.coords[4 * (size_t) one.nparts + k] = (double) i + k;
			one.nparts += n;
			CHECK(rb_builder_end_row(&one, i * i, &error) == RB_OK, "end of row");
		}
		for (uint32_t at = 0; at < one.nparts;)
		{
			uint32_t n = (uint32_t) check_below(round % 2 ? 7 : 900);
			uint32_t first = row;

			if (n > one.nparts - at)
				n = one.nparts - at;
			for (uint32_t i = at; i < at + n; i++)
				if (i + 1 == one.nparts || !one.multi || one.row_of[i + 1] != one.row_of[i])
					ends[row++ - first] = i + 1 - at;
			CHECK(rb_builder_append(&many, one.coords + 4 * (size_t) at, n, one.ids + first,
									one.multi || round % 3 == 0 ? ends : NULL, row - first,
									&error) == RB_OK,
				  "append");
			at += n;
		}
		CHECK(many.nrows == one.nrows && many.nparts == one.nparts && many.multi == one.multi &&
				  many.row_start == many.nparts && many.skipped == 0,
			  "%u rows, %u parts", many.nrows, many.nparts);
		CHECK(memcmp(many.ids, one.ids, one.nrows * sizeof *one.ids) == 0, "ids");
		CHECK(memcmp(many.coords, one.coords, one.nparts * 4 * sizeof(double)) == 0, "coords");
		CHECK(!one.multi || memcmp(many.row_of, one.row_of, one.nparts * sizeof *one.row_of) == 0,
			  "rows of parts");
		rb_builder_free(&one);
		rb_builder_free(&many);
	}
}

static int questions;

static bool
stop_at_third(void)
{
	return ++questions == 3;
}

/*
 * Tests that reading a long geometry checks periodically for a stop, and then leaves nothing
 * behind.
 */
static void
stopped(void)
{
	const uint32_t points = 400000;
	size_t len = 4 + 16 + (size_t) points * 3 * sizeof(double);
	uint8_t *bytes = calloc(1, len);
	rb_builder b;
	rb_geometry_info info;
	rb_error error;

	for (int kind = 0; kind < 3; kind++)
	{
		static const rb_kind kinds[] = {RB_TRIANGLE3, RB_SEGMENT3, RB_BOX3};
		uint32_t head[4] = {2, points, 0, 0};
		size_t used = 4 + 8 + (size_t) points * 3 * sizeof(double);

		memset(bytes, 0, len);
		bytes[3] = 0x41;
		if (kinds[kind] == RB_TRIANGLE3)
		{
			/* A TIN of triangles of four points */
			uint32_t n = (uint32_t) ((len - 12) / (8 + 96));

			head[0] = 15;
			head[1] = n;
			used = 12 + (size_t) n * (8 + 96);
			for (uint32_t i = 0; i < n; i++)
			{
				uint32_t leaf[2] = {14, 4};

				memcpy(bytes + 12 + (size_t) i * (8 + 96), leaf, sizeof leaf);
			}
		}
		memcpy(bytes + 4, head, 8);
		rb_builder_init(&b, memory, kinds[kind]);
		CHECK(rb_builder_reserve(&b, 1, &error) == RB_OK, "reserve");
		memset(b.coords, 0, 9 * sizeof(double));
		b.nparts = 1;
		CHECK(rb_builder_end_row(&b, 1, &error) == RB_OK, "end of row");
		b.should_stop = stop_at_third;
		questions = 0;
		CHECK(rb_geometry_read_serialized(&b, bytes, used, &info, &error) == RB_GEOMETRY_STOPPED &&
				  questions == 3,
			  "kind %d: %d questions", kind, questions);
		/* The incomplete row is gone, and the row before it is complete. */
		CHECK(b.nparts == 1 && b.nrows == 1, "%u parts, %u rows", b.nparts, b.nrows);
		CHECK(rb_geometry_read_serialized(&b, bytes, used, &info, &error) == RB_GEOMETRY_OK,
			  "kind %d", kind);
		CHECK(questions >= 3 + 3 && questions < 3 + 12, "kind %d: %d questions", kind, questions);
		CHECK(rb_builder_end_row(&b, 2, &error) == RB_OK && b.nrows == 2, "%u rows", b.nrows);
		rb_builder_free(&b);
	}
	free(bytes);
}

/*
 * Writes a header and then the same node or ring n times, so that the geometry is long but empty.
 */
static size_t
write_hollow(uint8_t *to, const void *head, size_t head_len, const void *part, size_t part_len,
			 uint32_t n)
{
	memcpy(to, head, head_len);
	for (uint32_t i = 0; i < n; i++)
		memcpy(to + head_len + (size_t) i * part_len, part, part_len);
	return head_len + (size_t) n * part_len;
}

typedef rb_geometry_fault (*geometry_reader)(rb_builder *b, const uint8_t *bytes, size_t len,
											 rb_geometry_info *info, rb_error *error);

/* Tests stops while reading a geometry that is long but has no points. */
static void
stopped_hollow(void)
{
	enum
	{
		N = 1 << 18
	};
	/* Collections, lines, polygons without rings; a polygon of empty rings */
	static const uint32_t types[] = {7, 2, 3, 0};
	uint8_t *bytes = malloc(32 + (size_t) N * 9);
	rb_builder b;
	rb_geometry_info info;
	rb_error error;

	for (int form = 0; form < 2; form++)
		for (int i = 0; i < 4; i++)
		{
			geometry_reader read = form == 0 ? rb_geometry_read_serialized : rb_geometry_read_ewkb;
			const uint32_t type = types[i] == 0 ? 3 : 7;
			size_t len;

			if (form == 0)
			{
				uint32_t head[3] = {0, type, N};
				uint32_t node[2] = {types[i], 0};

				len = write_hollow(bytes, head, sizeof head, node, types[i] == 0 ? 4 : 8, N);
				bytes[3] = 0x41;
			}
			else
			{
				const uint16_t one = 1;
				uint8_t node[9] = {*(const uint8_t *) &one};
				uint8_t head[9] = {*(const uint8_t *) &one};
				uint32_t z = UINT32_C(0x80000000);
				uint32_t words[2] = {types[i] | z, 0};
				uint32_t head_words[2] = {type | z, N};

				memcpy(node + 1, words, sizeof words);
				memcpy(head + 1, head_words, sizeof head_words);
				len = types[i] == 0 ? write_hollow(bytes, head, sizeof head, words + 1, 4, N)
									: write_hollow(bytes, head, sizeof head, node, 9, N);
			}
			rb_builder_init(&b, memory, RB_SEGMENT2);
			b.should_stop = stop_at_third;
			questions = 0;
			CHECK(read(&b, bytes, len, &info, &error) == RB_GEOMETRY_STOPPED && questions == 3,
				  "form %d, type %u: %d questions", form, types[i], questions);
			CHECK(b.nparts == 0, "%u parts", b.nparts);
			CHECK(read(&b, bytes, len, &info, &error) == RB_GEOMETRY_OK, "form %d, type %u", form,
				  types[i]);
			CHECK(questions >= 3 + 3 && questions < 3 + 12, "form %d, type %u: %d questions", form,
				  types[i], questions);
			CHECK(b.nparts == 0, "%u parts", b.nparts);
			rb_builder_free(&b);
		}
	free(bytes);
}

/* ---- the polygon of each part ---- */

/*
 * Writes a polygon of closed rings with the given numbers of corners, whose x and y are read from
 * `at`.
 */
static void
put_flat_rings(uint32_t nrings, const uint32_t *n, const double *at)
{
	put_node(3, nrings);
	if (out.form == SERIALIZED)
	{
		for (uint32_t r = 0; r < nrings; r++)
			put_word(n[r] + 1);
		if (nrings % 2 == 1)
			put_word(0);
	}
	for (uint32_t r = 0; r < nrings; r++)
	{
		if (out.form != SERIALIZED)
			put_word(n[r] + 1);
		for (uint32_t i = 0; i <= n[r]; i++)
			put_point(at[2 * (i % n[r])], at[2 * (i % n[r]) + 1], 1);
		at += 2 * n[r];
	}
}

static const uint32_t square_rings[] = {4};
static const double square[] = {0, 0, 1, 0, 1, 1, 0, 1};
static const uint32_t frame_rings[] = {4, 4};
static const double frame[] = {0, 0, 9, 0, 9, 9, 0, 9, 3, 3, 3, 6, 6, 6, 6, 3};
static const uint32_t needle_rings[] = {4};
static const double needle[] = {0, 0, 1, 1, 3, 3, 2, 2};

enum
{
	ONE_TRIANGLE,
	SQUARE,
	FRAME,
	NEEDLE, /* No area: it becomes a triangle without area for each edge */
	MULTI,
	TIN,
	SURFACE,
	BROKEN, /* Two squares and an invalid ring: nothing of it is read */
	FACE_SHAPES
};

static const char *const faces_of_shape[FACE_SHAPES] = {"0",     "00",  "00000000",    "000",
														"00122", "012", "00111111112", ""};

static void
put_faces(int shape)
{
	switch (shape)
	{
		case ONE_TRIANGLE:
			put_triangle(1);
			break;
		case SQUARE:
			put_flat_rings(1, square_rings, square);
			break;
		case FRAME:
			put_flat_rings(2, frame_rings, frame);
			break;
		case NEEDLE:
			put_flat_rings(1, needle_rings, needle);
			break;
		case MULTI:
			put_node(6, 4);
			put_flat_rings(1, square_rings, square);
			put_node(3, 0); /* An empty polygon has no number */
			put_polygon(5, 4);
			put_flat_rings(1, square_rings, square);
			break;
		case TIN:
			put_node(15, 3);
			for (int i = 0; i < 3; i++)
				put_triangle(i);
			break;
		case SURFACE:
			put_node(13, 3);
			put_flat_rings(1, square_rings, square);
			put_flat_rings(2, frame_rings, frame);
			put_polygon(5, 4);
			break;
		default:
			put_node(6, 3);
			put_flat_rings(1, square_rings, square);
			put_flat_rings(1, square_rings, square);
			put_polygon(5, 3);
			break;
	}
}

static void
read_faces(rb_builder *b, int form, int shape)
{
	rb_geometry_info info;
	rb_geometry_fault fault;

	begin(form, true, false, 0);
	put_faces(shape);
	fault = read_bytes(b, out.at, out.len, &info);
	CHECK((fault == RB_GEOMETRY_OK) == (shape != BROKEN), "form %d, shape %d: fault %d", form,
		  shape, fault);
}

/* Checks the polygon of each part of a row. */
static void
expect_faces(const rb_set *set, uint32_t row, const char *want)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < set->nparts; i++)
	{
		if ((set->row_of != NULL ? set->row_of[i] : i) != row)
			continue;
		CHECK(n < strlen(want) && set->face_of[i] == (uint32_t) (want[n] - '0'),
			  "row %u, part %u of %s: face %u", row, n, want, set->face_of[i]);
		n++;
	}
	CHECK(n == strlen(want), "row %u: %u parts of %zu", row, n, strlen(want));
}

static void
polygons(void)
{
	for (int form = 0; form < FORMS; form++)
	{
		rb_builder b;
		rb_error error;
		const rb_set *set;
		uint64_t used = rb_memory_used(memory);

		/* Each shape alone, with polygons requested or not */
		for (int shape = 0; shape < BROKEN; shape++)
			for (int want = 0; want < 2; want++)
			{
				bool alone = shape == ONE_TRIANGLE || shape == TIN;

				rb_builder_init(&b, memory, RB_TRIANGLE3);
				b.want_face_of = want;
				read_faces(&b, form, shape);
				(void) rb_builder_end_row(&b, 1, &error);
				CHECK(rb_builder_finish(&b, &set, &error) == RB_OK, "no set");
				CHECK((set->face_of != NULL) == (want && !alone), "shape %d", shape);
				if (set->face_of != NULL)
					expect_faces(set, 0, faces_of_shape[shape]);
				rb_set_release(&set);
			}
		/* Many rows, some of them dropped or rejected, and two shapes in one row */
		rb_builder_init(&b, memory, RB_TRIANGLE3);
		b.want_face_of = true;
		for (int round = 0; round < 3; round++)
			for (int shape = 0; shape < FACE_SHAPES; shape++)
			{
				read_faces(&b, form, SQUARE);
				rb_builder_drop_row(&b);
				read_faces(&b, form, shape);
				read_faces(&b, form, BROKEN);
				(void) rb_builder_end_row(&b, shape, &error);
			}
		read_faces(&b, form, SURFACE);
		read_faces(&b, form, ONE_TRIANGLE);
		read_faces(&b, form, SQUARE);
		(void) rb_builder_end_row(&b, 100, &error);
		for (int group = 0; group < 2; group++)
		{
			/* Rows with the same id are merged, and then others follow. */
			if (group == 1)
			{
				rb_builder c;

				CHECK(rb_builder_group(&b, &error) == RB_OK, "group");
				read_faces(&b, form, TIN);
				read_faces(&b, form, SQUARE);
				(void) rb_builder_end_row(&b, 101, &error);
				CHECK(b.nrows == BROKEN + 2, "%u rows", b.nrows);
				CHECK(rb_builder_finish(&b, &set, &error) == RB_OK, "no set");
				expect_faces(set, ONE_TRIANGLE, "012");
				expect_faces(set, SQUARE, "001122");
				expect_faces(set, MULTI, "001223345566788");
				expect_faces(set, TIN, "012345678");
				expect_faces(set, BROKEN, "00111111112344");
				expect_faces(set, BROKEN + 1, "01233");
				CHECK(rb_set_bytes(set) >= (uint64_t) set->nparts * (72 + 4 + 4), "%lu bytes",
					  (unsigned long) rb_set_bytes(set));
				rb_set_release(&set);
				/* A set without rows of several parts: each part is a polygon of its own. */
				rb_builder_init(&c, memory, RB_TRIANGLE3);
				c.want_face_of = true;
				read_faces(&c, form, TIN);
				rb_builder_drop_row(&c);
				(void) rb_builder_finish(&c, &set, &error);
				CHECK(set->face_of == NULL, "faces of nothing");
				rb_set_release(&set);
			}
			else
				CHECK(b.nrows == 3 * BROKEN + 1, "%u rows", b.nrows);
		}
		CHECK(rb_memory_used(memory) == used, "memory is left");
	}
}

/* Writes a polygon of two rings of points, of which the first one has no points if `empty` is set. */
static void
put_polygon_with_hole(bool empty)
{
	const uint32_t n[2] = {empty ? 0 : 4, 4};

	put_node(3, 2);
	for (int ring = 0; ring < 2; ring++)
	{
		if (out.form != SERIALIZED || ring == 0)
			put_word(n[ring]);
		if (out.form == SERIALIZED && ring == 0)
			put_word(n[1]);
		put_ring(ring, n[ring]);
	}
}

/* A polygon of the plane without a shell is empty, and its holes belong to no other polygon. */
static void
holes_without_shell(void)
{
	for (int form = 0; form < FORMS; form++)
		for (int before = 0; before < 2; before++)
		{
			rb_builder b;
			rb_geometry_info info;

			rb_builder_init(&b, memory, RB_EDGE2);
			begin(form, false, false, 0);
			put_node(6, (uint32_t) before + 1);
			if (before == 1)
				put_polygon_with_hole(false);
			put_polygon_with_hole(true);
			CHECK(read_bytes(&b, out.at, out.len, &info) == RB_GEOMETRY_OK, "form %d", form);
			CHECK(b.nparts == (before == 0 ? 0 : RB_MARKS_OF_SHELL + 3 + RB_MARKS_OF_HOLE + 3),
				  "form %d: %u edges and marks", form, b.nparts);
			rb_builder_free(&b);
		}
}

int
main(void)
{
	memory = rb_memory_create((uint64_t) 1 << 30);
	CHECK_RUN(shapes);
	CHECK_RUN(depth);
	CHECK_RUN(faults);
	CHECK_RUN(heads);
	CHECK_RUN(random_trees);
	CHECK_RUN(other_faults);
	CHECK_RUN(points);
	CHECK_RUN(kinds);
	CHECK_RUN(rows);
	CHECK_RUN(limits);
	CHECK_RUN(slices);
	CHECK_RUN(stopped);
	CHECK_RUN(stopped_hollow);
	CHECK_RUN(polygons);
	CHECK_RUN(holes_without_shell);
	rb_memory_destroy(memory);
	return check_done();
}
