/*
 * wkb.c
 *	  Reads geometries, in PostGIS's serialized form or EWKB, and appends their parts to a builder.
 *
 * Both forms are trees written in prefix order:
 *
 *        header, count, child, child, ...        a collection of any type
 *        header, count, point, point, ...        a leaf
 *
 * One loop reads both. `pending` counts the geometries still to be read: each node removes one and
 * adds its children. There is no recursion, no depth limit and no stack that could overflow.
 * Whether a collection may contain its children (a TIN only triangles) is not checked; every leaf
 * is checked by itself.
 *
 * The serialized form, version 2 (PostGIS 3), consists of the following after the varlena header:
 *
 *        srid: 3 bytes | flags: 1 byte | [more flags: 8 bytes] | [box: floats] | tree
 *
 * Type and count are 4-byte words in the machine's byte order. A polygon stores the sizes of its
 * rings first, padded to 8 bytes, then all points. EWKB has a byte order mark and type bits for Z,
 * M and SRID in front of every node, and each ring follows its own size. The ISO type numbers
 * (1000, 2000 or 3000 more for Z, M or ZM) are read as well.
 *
 * The bytes are not trusted. Before anything is read or reserved, the count is compared with the
 * number of remaining bytes. The bytes need not be aligned.
 *
 * Each kind of object has a function that receives the rings and lines of the leaves one by one
 * (append_face_ring ...), so a new kind is one line in `appenders`. The rings of a face are
 * collected, and the face is finished when its leaf ends.
 */
#include "core/base/base.h"
#include "core/set/face.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const char *const type_names[] = {"Unknown",        "Point",
										 "LineString",     "Polygon",
										 "MultiPoint",     "MultiLineString",
										 "MultiPolygon",   "GeometryCollection",
										 "CircularString", "CompoundCurve",
										 "CurvePolygon",   "MultiCurve",
										 "MultiSurface",   "PolyhedralSurface",
										 "Triangle",       "Tin"};

/* Flags of the serialized form, version 2 */
#define FLAG_Z 0x01
#define FLAG_M 0x02
#define FLAG_BOX 0x04
#define FLAG_GEODETIC 0x08
#define FLAG_MORE 0x10
#define FLAG_VERSION_2 0x40
#define FLAG_KNOWN 0x5f
/* Known further flags (solid, checked valid, is valid), which do not affect the layout */
#define FLAG_MORE_KNOWN UINT64_C(0x07)

/* Type bits of EWKB */
#define EWKB_Z UINT32_C(0x80000000)
#define EWKB_M UINT32_C(0x40000000)
#define EWKB_SRID UINT32_C(0x20000000)

typedef struct reader
{
	const uint8_t *at;
	const uint8_t *end;
	bool swap; /* true if numbers are in the other byte order */
	bool has_z;
	int dims;            /* doubles per point: 2, 3 or 4 */
	uint32_t first;      /* number of the geometry's first part */
	uint32_t first_more; /* value of the builder's more_parts at the start */
	uint32_t quiet;      /* nodes, rings and points since should_stop was last polled */
	rb_builder *b;
	rb_geometry_info *info;
	rb_error *error;
	uint32_t ring;  /* number of the ring in the current leaf */
	bool no_shell;  /* true if the first ring of the current leaf has no points */
	bool face_open; /* true if `face` holds some rings of the current leaf */
	rb_polygon_face face;
} reader;

/* A ring or line of a leaf */
typedef struct point_list
{
	const uint8_t *points;
	uint32_t npoints;
} point_list;

/*
 * A function that adds a line, or one of the nrings rings of a leaf of the given type, to the
 * builder. For a line, nrings is 1. The ring is never empty.
 */
typedef rb_geometry_fault (*leaf_reader)(reader *r, uint32_t type, uint32_t nrings,
										 point_list ring);

const char *
rb_geometry_type_name(uint32_t type)
{
	return type < sizeof type_names / sizeof *type_names ? type_names[type] : type_names[0];
}

/* ---- numbers ---- */

/* Returns the number of bytes of the geometry that are not read yet. */
static inline size_t
geometry_bytes_left(const reader *r)
{
	return (size_t) (r->end - r->at);
}

/* Reads a 4-byte word. The caller has checked that the bytes exist. */
static inline uint32_t
read_geometry_word(const uint8_t *p, bool swap)
{
	uint32_t value;

	memcpy(&value, p, sizeof value);
	return swap ? __builtin_bswap32(value) : value;
}

/* Decodes the first n coordinates of point i of a ring. */
static inline void
decode_ring_point(const reader *r, const point_list *ring, uint32_t i, int n, double *to)
{
	const uint8_t *from = ring->points + (size_t) i * (size_t) r->dims * sizeof(double);

	memcpy(to, from, (size_t) n * sizeof(double));
	if (r->swap)
		for (int k = 0; k < n; k++)
		{
			uint64_t bits;

			memcpy(&bits, &to[k], sizeof bits);
			bits = __builtin_bswap64(bits);
			memcpy(&to[k], &bits, sizeof bits);
		}
}

/* Reads a 3D point. If the builder is flat, only x and y are read, and z is 0. */
static inline void
read_geometry_point(const reader *r, const point_list *ring, uint32_t i, double *to)
{
	decode_ring_point(r, ring, i, r->b->flat ? 2 : 3, to);
	if (r->b->flat)
		to[2] = 0;
}

/* ---- leaves ---- */

/*
 * Work between two calls of should_stop, at most a millisecond; nodes and rings count as one point
 * each, even if empty
 */
#define RB_CHECK_INTERVAL_POINTS ((uint32_t) 1 << 16)

/* Adds `work` to the work done and returns true if the builder's owner asks to stop. */
static inline bool
is_decoding_stopped(reader *r, uint32_t work)
{
	r->quiet += work;
	if (r->quiet < RB_CHECK_INTERVAL_POINTS)
		return false;
	r->quiet = 0;
	return r->b->should_stop != NULL && r->b->should_stop();
}

/* Adds a ring to the current face, which is not a plain triangle. Further rings may follow. */
static rb_geometry_fault
add_ring_to_face(reader *r, point_list ring)
{
	rb_polygon_face *f = &r->face;
	uint32_t first;
	double x[3];
	rb_geometry_fault fault;

	if (!r->face_open && r->ring > 0)
		return RB_GEOMETRY_MALFORMED; /* a hole without an outer ring */
	if (!r->face_open)
		rb_face_begin(f, r->b, r->info, r->error);
	r->face_open = true;
	fault = rb_face_reserve(f, ring.npoints);
	if (fault != RB_GEOMETRY_OK)
		return fault;
	first = f->ncorners;
	for (uint32_t i = 0; i < ring.npoints; i++)
	{
		if (i % RB_CHECK_INTERVAL_POINTS == RB_CHECK_INTERVAL_POINTS - 1 &&
			is_decoding_stopped(r, RB_CHECK_INTERVAL_POINTS))
			return RB_GEOMETRY_STOPPED;
		read_geometry_point(r, &ring, i, x);
		if (!rb_all_finite(x, 3))
			return RB_GEOMETRY_NOT_FINITE;
		rb_face_add(f, x, i == 0);
	}
	for (int k = 0; k < 3; k++)
		if (f->corner[first].at[k] != x[k])
			return RB_GEOMETRY_NOT_CLOSED;
	rb_face_end_ring(f, first);
	return RB_GEOMETRY_OK;
}

/*
 * Adds the vertical plane through a line of two points, as three points of the plane: the two points
 * at z = 0, and the first one at z = 1. The plane is exact, because x and y are copied. Z is not read.
 */
static rb_geometry_fault
append_vertical_plane(reader *r, point_list line)
{
	rb_builder *b = r->b;
	double *to;

	if (line.npoints != 2)
	{
		r->info->corners = line.npoints;
		return RB_GEOMETRY_CORNERS;
	}
	if (rb_builder_reserve(b, 1, r->error) != RB_OK)
		return RB_GEOMETRY_NO_MEMORY;
	to = b->coords + (size_t) b->nparts * 9;
	for (uint32_t i = 0; i < 3; i++)
	{
		decode_ring_point(r, &line, i % 2, 2, to + 3 * i);
		to[3 * i + 2] = i == 2;
	}
	if (!rb_all_finite(to, 9))
		return RB_GEOMETRY_NOT_FINITE;
	b->nparts++;
	return RB_GEOMETRY_OK;
}

/*
 * Adds a ring of a face. A single ring of four points with Z, the last equal to the first, is a
 * triangle of any area, including zero.
 */
static rb_geometry_fault
append_face_ring(reader *r, uint32_t type, uint32_t nrings, point_list ring)
{
	rb_builder *b = r->b;
	double last[3];
	double *to;

	if (type == RB_TYPE_LINE && b->planes)
		return append_vertical_plane(r, ring);
	if (type != RB_TYPE_TRIANGLE && type != RB_TYPE_POLYGON)
		return RB_GEOMETRY_WRONG_TYPE;
	if (!r->has_z && !b->flat)
		return RB_GEOMETRY_NO_Z;
	if (type == RB_TYPE_TRIANGLE && ring.npoints != 4)
	{
		r->info->corners = ring.npoints - 1;
		return RB_GEOMETRY_CORNERS;
	}
	if (type == RB_TYPE_TRIANGLE && nrings > 1)
		return RB_GEOMETRY_MALFORMED;
	if (nrings > 1 || ring.npoints != 4)
		return add_ring_to_face(r, ring);
	if (b->nparts >= b->coords_cap && rb_builder_reserve(b, 1, r->error) != RB_OK)
		return RB_GEOMETRY_NO_MEMORY;
	to = b->coords + (size_t) b->nparts * 9;
	if (r->dims == 3 && !r->swap && !b->flat)
		memcpy(to, ring.points, 9 * sizeof(double));
	else
		for (uint32_t i = 0; i < 3; i++)
			read_geometry_point(r, &ring, i, to + 3 * i);
	read_geometry_point(r, &ring, 3, last);
	if (!rb_all_finite(to, 9) || !rb_all_finite(last, 3))
		return RB_GEOMETRY_NOT_FINITE;
	if (last[0] != to[0] || last[1] != to[1] || last[2] != to[2])
		return RB_GEOMETRY_NOT_CLOSED;
	b->nparts++;
	return RB_GEOMETRY_OK;
}

/* Adds a leaf of any type as triangles. Points and lines become degenerate triangles. */
static rb_geometry_fault
append_leaf_as_triangles(reader *r, uint32_t type, uint32_t nrings, point_list points)
{
	rb_builder *b = r->b;
	const uint32_t parts = points.npoints > 1 ? points.npoints - 1 : 1;
	double *to;

	if (type == RB_TYPE_POLYGON || type == RB_TYPE_TRIANGLE)
		return append_face_ring(r, type, nrings, points);
	if (type == RB_TYPE_CIRCULARSTRING)
		return RB_GEOMETRY_CURVE;
	if (!r->has_z && !b->flat)
		return RB_GEOMETRY_NO_Z;
	if (rb_builder_reserve(b, parts, r->error) != RB_OK)
		return RB_GEOMETRY_NO_MEMORY;
	to = b->coords + (size_t) b->nparts * 9;
	for (uint32_t i = 0; i < parts; i++, to += 9)
	{
		if (i % RB_CHECK_INTERVAL_POINTS == RB_CHECK_INTERVAL_POINTS - 1 &&
			is_decoding_stopped(r, RB_CHECK_INTERVAL_POINTS))
			return RB_GEOMETRY_STOPPED;
		read_geometry_point(r, &points, i, to);
		read_geometry_point(r, &points, points.npoints > 1 ? i + 1 : 0, to + 3);
		memcpy(to + 6, to + 3, 3 * sizeof(double));
		if (!rb_all_finite(to, 6))
			return RB_GEOMETRY_NOT_FINITE;
	}
	b->nparts += parts;
	return RB_GEOMETRY_OK;
}

/*
 * Starts a leaf. Faces are counted as ST_GeometryN and ST_PatchN count them, including empty ones.
 */
static inline void
begin_geometry_leaf(reader *r, uint32_t type)
{
	r->info->face += type == RB_TYPE_POLYGON || type == RB_TYPE_TRIANGLE;
	r->ring = 0;
	r->no_shell = false;
}

/* Ends a leaf, and with it the face that was collected from its rings. */
static inline rb_geometry_fault
end_geometry_leaf(reader *r, uint32_t type)
{
	rb_geometry_fault fault;

	if (!r->face_open)
		return RB_GEOMETRY_OK;
	r->face_open = false;
	fault = rb_face_finish(&r->face);
	if (fault != RB_GEOMETRY_OK)
		r->info->bad_type = type;
	return fault;
}

/*
 * Adds the n - 1 segments of a line of n points. A single point becomes a segment of zero length.
 */
static rb_geometry_fault
append_line_segments(reader *r, point_list points, int n)
{
	rb_builder *b = r->b;
	uint32_t parts = points.npoints > 1 ? points.npoints - 1 : 1;
	double *to;

	if (rb_builder_reserve(b, parts, r->error) != RB_OK)
		return RB_GEOMETRY_NO_MEMORY;
	to = b->coords + (size_t) b->nparts * 2 * (size_t) n;
	decode_ring_point(r, &points, 0, n, to);
	if (!rb_all_finite(to, n))
		return RB_GEOMETRY_NOT_FINITE;
	if (points.npoints == 1)
		memcpy(to + n, to, (size_t) n * sizeof(double));
	for (uint32_t i = 1; i < points.npoints; i++, to += 2 * n)
	{
		if (i > 1)
			memcpy(to, to - n, (size_t) n * sizeof(double));
		if (i % RB_CHECK_INTERVAL_POINTS == 0 && is_decoding_stopped(r, RB_CHECK_INTERVAL_POINTS))
			return RB_GEOMETRY_STOPPED;
		decode_ring_point(r, &points, i, n, to + n);
		if (!rb_all_finite(to + n, n))
			return RB_GEOMETRY_NOT_FINITE;
	}
	b->nparts += parts;
	return RB_GEOMETRY_OK;
}

/* Appends the segments of a line in space. */
static rb_geometry_fault
append_segments3(reader *r, uint32_t type, uint32_t nrings, point_list points)
{
	(void) nrings;
	if (type == RB_TYPE_CIRCULARSTRING)
		return RB_GEOMETRY_CURVE;
	if (type != RB_TYPE_LINE)
		return RB_GEOMETRY_WRONG_TYPE;
	if (!r->has_z)
		return RB_GEOMETRY_NO_Z;
	return append_line_segments(r, points, 3);
}

/* Adds the segments of a line or of a ring of a polygon. */
static rb_geometry_fault
append_segments2(reader *r, uint32_t type, uint32_t nrings, point_list points)
{
	(void) nrings;
	if (type == RB_TYPE_CIRCULARSTRING)
		return RB_GEOMETRY_CURVE;
	if (type != RB_TYPE_LINE && type != RB_TYPE_POLYGON)
		return RB_GEOMETRY_WRONG_TYPE;
	return append_line_segments(r, points, 2);
}

/*
 * Adds the edges of a ring of a polygon, without Z, after marks (set.h). Points that repeat the one
 * before them are skipped. A polygon without a shell is empty, as for PostGIS, whatever its holes.
 */
static rb_geometry_fault
append_ring_edges(reader *r, uint32_t type, uint32_t nrings, point_list ring)
{
	rb_builder *b = r->b;
	const uint32_t marks = r->ring == 0 ? RB_MARKS_OF_SHELL : RB_MARKS_OF_HOLE;
	uint32_t n = 0;
	double first[2], last[2], x[2];
	double *to;

	(void) nrings;
	if (type == RB_TYPE_CIRCULARSTRING)
		return RB_GEOMETRY_CURVE;
	if (type != RB_TYPE_POLYGON)
		return RB_GEOMETRY_WRONG_TYPE;
	if (r->no_shell)
		return RB_GEOMETRY_OK;
	if (rb_builder_reserve(b, (size_t) ring.npoints + RB_MARKS_OF_SHELL + RB_MARKS_OF_POINT,
						   r->error) != RB_OK)
		return RB_GEOMETRY_NO_MEMORY;
	to = b->coords + (size_t) b->nparts * 4;
	decode_ring_point(r, &ring, 0, 2, first);
	if (!rb_all_finite(first, 2))
		return RB_GEOMETRY_NOT_FINITE;
	for (; n < marks; n++)
	{
		memcpy(to + 4 * n, first, sizeof first);
		memcpy(to + 4 * n + 2, first, sizeof first);
	}
	memcpy(last, first, sizeof last);
	for (uint32_t i = 1; i < ring.npoints; i++)
	{
		if (i % RB_CHECK_INTERVAL_POINTS == 0 && is_decoding_stopped(r, RB_CHECK_INTERVAL_POINTS))
			return RB_GEOMETRY_STOPPED;
		decode_ring_point(r, &ring, i, 2, x);
		if (!rb_all_finite(x, 2))
			return RB_GEOMETRY_NOT_FINITE;
		if (x[0] == last[0] && x[1] == last[1])
			continue;
		memcpy(to + 4 * (size_t) n, last, sizeof last);
		memcpy(to + 4 * (size_t) n + 2, x, sizeof x);
		memcpy(last, x, sizeof last);
		n++;
	}
	if (first[0] != last[0] || first[1] != last[1])
		return RB_GEOMETRY_NOT_CLOSED;
	/* Further marks state that the ring has no edge. */
	if (n == marks)
		for (; n < marks + RB_MARKS_OF_POINT; n++)
			memcpy(to + 4 * (size_t) n, to, 4 * sizeof *to);
	b->nparts += n;
	return RB_GEOMETRY_OK;
}

/*
 * Extends the bounding box of the geometry by the points of a line. The box is a single part, which
 * the first line creates.
 */
static rb_geometry_fault
append_line_to_box(reader *r, uint32_t type, point_list points, int n)
{
	rb_builder *b = r->b;
	double *box;

	if (type == RB_TYPE_CIRCULARSTRING)
		return RB_GEOMETRY_CURVE;
	if (b->nparts == r->first)
	{
		if (rb_builder_reserve(b, 1, r->error) != RB_OK)
			return RB_GEOMETRY_NO_MEMORY;
		box = b->coords + (size_t) b->nparts * 2 * (size_t) n;
		decode_ring_point(r, &points, 0, n, box);
		memcpy(box + n, box, (size_t) n * sizeof(double));
		b->nparts++;
	}
	box = b->coords + (size_t) r->first * 2 * (size_t) n;
	for (uint32_t i = 0; i < points.npoints; i++)
	{
		double x[3];

		if (i % RB_CHECK_INTERVAL_POINTS == RB_CHECK_INTERVAL_POINTS - 1 &&
			is_decoding_stopped(r, RB_CHECK_INTERVAL_POINTS))
			return RB_GEOMETRY_STOPPED;
		decode_ring_point(r, &points, i, n, x);
		if (!rb_all_finite(x, n))
			return RB_GEOMETRY_NOT_FINITE;
		for (int k = 0; k < n; k++)
		{
			if (x[k] < box[k])
				box[k] = x[k];
			if (x[k] > box[n + k])
				box[n + k] = x[k];
		}
	}
	return RB_GEOMETRY_OK;
}

/* Extends the three-dimensional box of the geometry by a line, which must have Z. */
static rb_geometry_fault
append_line_to_box3(reader *r, uint32_t type, uint32_t nrings, point_list points)
{
	(void) nrings;
	return r->has_z ? append_line_to_box(r, type, points, 3) : RB_GEOMETRY_NO_Z;
}

/* Extends the two-dimensional box of the geometry by a line, which must not have Z. */
static rb_geometry_fault
append_line_to_box2(reader *r, uint32_t type, uint32_t nrings, point_list points)
{
	(void) nrings;
	return r->has_z ? RB_GEOMETRY_Z : append_line_to_box(r, type, points, 2);
}

/*
 * Adds a point. A row has only one point, unless the builder allows many, because the side of a
 * solid on which a row lies is defined for a single point.
 */
static rb_geometry_fault
append_point3(reader *r, uint32_t type, uint32_t nrings, point_list points)
{
	rb_builder *b = r->b;
	double *to;

	(void) nrings;
	if (type != RB_TYPE_POINT || (r->info->type != RB_TYPE_POINT && !b->many_points))
		return RB_GEOMETRY_WRONG_TYPE;
	if (!r->has_z)
		return RB_GEOMETRY_NO_Z;
	if (rb_builder_reserve(b, 1, r->error) != RB_OK)
		return RB_GEOMETRY_NO_MEMORY;
	to = b->coords + (size_t) b->nparts * 3;
	decode_ring_point(r, &points, 0, 3, to);
	if (!rb_all_finite(to, 3))
		return RB_GEOMETRY_NOT_FINITE;
	b->nparts++;
	return RB_GEOMETRY_OK;
}

static const leaf_reader appenders[RB_KINDS] = {
	[RB_TRIANGLE3] = append_face_ring, [RB_SEGMENT3] = append_segments3,
	[RB_SEGMENT2] = append_segments2,  [RB_BOX3] = append_line_to_box3,
	[RB_BOX2] = append_line_to_box2,   [RB_POINT3] = append_point3,
	[RB_EDGE2] = append_ring_edges,
};

/* ---- the tree ---- */

/* Returns true if geometries of the type contain geometries, as collections and surfaces do. */
static inline bool
is_collection_type(uint32_t type)
{
	return (type >= RB_TYPE_MULTIPOINT && type <= RB_TYPE_COLLECTION) ||
		   (type >= RB_TYPE_COMPOUND && type <= RB_TYPE_POLYHEDRALSURFACE) || type == RB_TYPE_TIN;
}

/* Steps over `n` points and stores them in *ring, or returns false if there are fewer. */
static inline bool
skip_geometry_points(reader *r, uint32_t n, point_list *ring)
{
	size_t size = (size_t) r->dims * sizeof(double);

	if (n > geometry_bytes_left(r) / size)
		return false;
	ring->points = r->at;
	ring->npoints = n;
	r->at += (size_t) n * size;
	return true;
}

/* Passes a line or ring to the function of the builder's kind. Empty ones are skipped. */
static rb_geometry_fault
append_ring_by_kind(reader *r, uint32_t type, uint32_t nrings, point_list ring)
{
	rb_geometry_fault fault;

	if (is_decoding_stopped(r, 1 + ring.npoints % RB_CHECK_INTERVAL_POINTS))
		return RB_GEOMETRY_STOPPED;
	if (ring.npoints == 0)
	{
		r->no_shell = r->no_shell || r->ring == 0;
		return RB_GEOMETRY_OK;
	}
	fault = r->b->any_leaf ? append_leaf_as_triangles(r, type, nrings, ring)
						   : appenders[r->b->kind](r, type, nrings, ring);
	if (fault != RB_GEOMETRY_OK)
		r->info->bad_type = type;
	return fault;
}

/*
 * Rejects curve polygons that are not empty, since their rings look like lines even if none of them
 * is curved. All other collections are the sum of their children.
 */
static inline rb_geometry_fault
check_collection_type(reader *r, uint32_t type, uint32_t count)
{
	if (type != RB_TYPE_CURVEPOLYGON || count == 0)
		return RB_GEOMETRY_OK;
	r->info->bad_type = type;
	return r->b->kind == RB_TRIANGLE3 && !r->b->any_leaf ? RB_GEOMETRY_WRONG_TYPE
														 : RB_GEOMETRY_CURVE;
}

/* Reads a leaf of the serialized form, with `count` points or rings, after its header. */
static rb_geometry_fault
read_serialized_leaf(reader *r, uint32_t type, uint32_t count)
{
	point_list ring = {r->at, 0};

	begin_geometry_leaf(r, type);
	if (type == RB_TYPE_POLYGON && count > 0)
	{
		const uint8_t *sizes = r->at;
		size_t words = (size_t) count + (count & 1); /* padded to 8 bytes */
		rb_geometry_fault fault = RB_GEOMETRY_OK;

		if (words > geometry_bytes_left(r) / 4)
			return RB_GEOMETRY_MALFORMED;
		r->at += words * 4;
		for (uint32_t i = 0; i < count && fault == RB_GEOMETRY_OK; i++)
		{
			if (!skip_geometry_points(r, read_geometry_word(sizes + (size_t) i * 4, r->swap),
									  &ring))
				return RB_GEOMETRY_MALFORMED;
			r->ring = i;
			fault = append_ring_by_kind(r, type, count, ring);
		}
		return fault != RB_GEOMETRY_OK ? fault : end_geometry_leaf(r, type);
	}
	if (!skip_geometry_points(r, count, &ring))
		return RB_GEOMETRY_MALFORMED;
	return append_ring_by_kind(r, type, 1, ring);
}

/* Reads the geometries of a serialized collection one after the other. */
static rb_geometry_fault
read_serialized_collection(reader *r)
{
	uint64_t pending = 1;
	bool outermost = true;

	while (pending > 0)
	{
		uint32_t type;
		uint32_t count;
		rb_geometry_fault fault;

		if (geometry_bytes_left(r) < 8)
			return RB_GEOMETRY_MALFORMED;
		type = read_geometry_word(r->at, r->swap);
		count = read_geometry_word(r->at + 4, r->swap);
		r->at += 8;
		pending--;
		if (is_decoding_stopped(r, 1))
			return RB_GEOMETRY_STOPPED;
		if (type == 0 || type > RB_TYPE_TIN)
			return outermost ? RB_GEOMETRY_UNKNOWN : RB_GEOMETRY_MALFORMED;
		if (outermost)
			r->info->type = type;
		outermost = false;
		if (is_collection_type(type))
		{
			/* Every child has a header of 8 bytes. */
			if (count > geometry_bytes_left(r) / 8)
				return RB_GEOMETRY_MALFORMED;
			fault = check_collection_type(r, type, count);
			if (fault != RB_GEOMETRY_OK)
				return fault;
			pending += count;
			continue;
		}
		fault = read_serialized_leaf(r, type, count);
		if (fault != RB_GEOMETRY_OK)
			return fault;
	}
	return r->at == r->end ? RB_GEOMETRY_OK : RB_GEOMETRY_MALFORMED;
}

/* Reads a geometry in either form and removes its parts from the builder if reading fails. */
static rb_geometry_fault
read_or_drop_geometry(reader *r, rb_geometry_fault (*read)(reader *))
{
	rb_geometry_fault fault = read(r);

	if (fault != RB_GEOMETRY_OK)
	{
		r->b->nparts = r->first;
		r->b->more_parts = r->first_more;
		if (r->b->faced > r->first)
			r->b->faced = r->first;
	}
	return fault;
}

/* Initializes a reader at the start of a geometry. */
static void
begin_geometry_reader(reader *r, rb_builder *b, const uint8_t *bytes, size_t len,
					  rb_geometry_info *info, rb_error *error)
{
	r->at = bytes;
	r->end = bytes + len;
	r->swap = r->has_z = false;
	r->dims = 2;
	r->first = b->nparts;
	r->first_more = b->more_parts;
	r->quiet = 0;
	r->b = b;
	r->info = info;
	r->error = error;
	r->face_open = false;
	memset(info, 0, sizeof *info);
}

/* Reads the header of the serialized form and stores its size in *skip. */
static rb_geometry_fault
read_serialized_header(const uint8_t *bytes, size_t len, rb_geometry_header *header, int *dims,
					   size_t *skip)
{
	uint32_t srid;
	uint8_t flags;
	int box_dims;

	memset(header, 0, sizeof *header);
	*skip = 4;
	if (len < 4)
		return RB_GEOMETRY_MALFORMED;
	flags = bytes[3];
	/* Version 1 uses some of the bits differently. */
	if ((flags & FLAG_VERSION_2) == 0 || (flags & ~FLAG_KNOWN) != 0)
		return RB_GEOMETRY_UNKNOWN;

	/* The SRID is a signed number of 21 bits. */
	srid = (uint32_t) bytes[0] << 16 | (uint32_t) bytes[1] << 8 | bytes[2];
	srid &= 0x1fffff;
	header->srid = srid & 0x100000 ? (int32_t) srid - 0x200000 : (int32_t) srid;

	header->has_z = (flags & FLAG_Z) != 0;
	*dims = 2 + header->has_z + ((flags & FLAG_M) != 0);
	if (flags & FLAG_MORE)
	{
		uint64_t more;

		if (len < *skip + 8)
			return RB_GEOMETRY_MALFORMED;
		memcpy(&more, bytes + *skip, sizeof more);
		if (more & ~FLAG_MORE_KNOWN)
			return RB_GEOMETRY_UNKNOWN;
		*skip += 8;
	}
	if ((flags & FLAG_BOX) == 0)
		return RB_GEOMETRY_OK;
	box_dims = flags & FLAG_GEODETIC ? 3 : *dims;
	if ((len - *skip) / (2 * sizeof(float)) < (size_t) box_dims)
		return RB_GEOMETRY_MALFORMED;
	header->has_box = (flags & FLAG_GEODETIC) == 0;
	for (int k = 0; k < 2 + header->has_z; k++)
	{
		float box[2];

		memcpy(box, bytes + *skip + (size_t) k * sizeof box, sizeof box);
		/* Values beyond the largest float are stored as the largest float. */
		header->low[k] = box[0] <= -FLT_MAX ? -INFINITY : box[0];
		header->high[k] = box[1] >= FLT_MAX ? INFINITY : box[1];
	}
	*skip += 2 * sizeof(float) * (size_t) box_dims;
	return RB_GEOMETRY_OK;
}

/*
 * Computes the box of a point or of a line of two points. PostGIS stores no box for these, because
 * their coordinates already give it.
 */
static void
box_of_unboxed_geometry(const uint8_t *at, size_t len, int dims, rb_geometry_header *header)
{
	const uint32_t type = len < 8 ? 0 : read_geometry_word(at, false),
				   n = type == 0 ? 0 : read_geometry_word(at + 4, false);
	const size_t size = (size_t) dims * sizeof(double);

	if ((type != RB_TYPE_POINT && type != RB_TYPE_LINE) || n < 1 || n > 2 || len != 8 + n * size)
		return;
	for (int k = 0; k < 2 + header->has_z; k++)
	{
		double a, b;

		memcpy(&a, at + 8 + (size_t) k * sizeof a, sizeof a);
		memcpy(&b, at + 8 + (n - 1) * size + (size_t) k * sizeof b, sizeof b);
		header->low[k] = a < b ? a : b;
		header->high[k] = a < b ? b : a;
	}
	header->has_box = true;
}

rb_geometry_fault
rb_geometry_read_header(const uint8_t *bytes, size_t len, rb_geometry_header *header)
{
	size_t skip;
	int dims;
	rb_geometry_fault fault = read_serialized_header(bytes, len, header, &dims, &skip);

	if (fault == RB_GEOMETRY_OK && !header->has_box)
		box_of_unboxed_geometry(bytes + skip, len - skip, dims, header);
	return fault;
}

rb_geometry_fault
rb_geometry_read_serialized(rb_builder *b, const uint8_t *bytes, size_t len, rb_geometry_info *info,
							rb_error *error)
{
	rb_geometry_header header;
	rb_geometry_fault fault;
	size_t skip;
	reader r;

	begin_geometry_reader(&r, b, bytes, len, info, error);
	fault = read_serialized_header(bytes, len, &header, &r.dims, &skip);
	if (fault != RB_GEOMETRY_OK)
		return fault;
	info->srid = header.srid;
	info->has_z = r.has_z = header.has_z;
	r.at += skip;
	return read_or_drop_geometry(&r, read_serialized_collection);
}

/* ---- bytes that are checked for PostGIS, which trusts them ---- */

/* Maximum depth of nested collections. PostGIS builds none deeper, and reads them recursively. */
#define MAX_NESTED 200

/*
 * Finds the start of the tree and the number of coordinates per point, for both versions. PostGIS
 * ignores unknown flags in the layout, so they are ignored here too.
 */
static bool
find_serialized_tree(reader *r)
{
	const uint8_t flags = geometry_bytes_left(r) < 4 ? 0 : r->at[3];
	size_t skip = 4;

	if (geometry_bytes_left(r) < 4)
		return false;
	r->dims = 2 + ((flags & FLAG_Z) != 0) + ((flags & FLAG_M) != 0);
	if ((flags & FLAG_VERSION_2) != 0 && (flags & FLAG_MORE) != 0)
		skip += 8;
	if (flags & FLAG_BOX)
		skip += 2 * sizeof(float) * (size_t) (flags & FLAG_GEODETIC ? 3 : r->dims);
	if (geometry_bytes_left(r) < skip)
		return false;
	r->at += skip;
	return true;
}

/* Steps over a leaf whose header has been read. */
static rb_geometry_fault
skip_serialized_leaf(reader *r, uint32_t type, uint32_t count)
{
	const uint8_t *sizes = r->at;
	const size_t words = (size_t) count + (count & 1);
	point_list ring;

	if (type != RB_TYPE_POLYGON)
		return skip_geometry_points(r, count, &ring) ? RB_GEOMETRY_OK : RB_GEOMETRY_MALFORMED;
	if (words > geometry_bytes_left(r) / 4)
		return RB_GEOMETRY_MALFORMED;
	r->at += words * 4;
	for (uint32_t i = 0; i < count; i++)
	{
		if (!skip_geometry_points(r, read_geometry_word(sizes + (size_t) i * 4, false), &ring))
			return RB_GEOMETRY_MALFORMED;
		if (is_decoding_stopped(r, 1))
			return RB_GEOMETRY_STOPPED;
	}
	return RB_GEOMETRY_OK;
}

rb_geometry_fault
rb_geometry_check_serialized(rb_builder *b, const uint8_t *bytes, size_t len)
{
	uint32_t pending[MAX_NESTED];
	int depth = 0;
	rb_geometry_info info;
	rb_geometry_fault fault;
	reader r;

	begin_geometry_reader(&r, b, bytes, len, &info, NULL);
	if (!find_serialized_tree(&r))
		return RB_GEOMETRY_MALFORMED;
	do
	{
		uint32_t type, count;

		if (geometry_bytes_left(&r) < 8)
			return RB_GEOMETRY_MALFORMED;
		type = read_geometry_word(r.at, false);
		count = read_geometry_word(r.at + 4, false);
		r.at += 8;
		if (type == 0 || type > RB_TYPE_TIN)
			return depth == 0 ? RB_GEOMETRY_UNKNOWN : RB_GEOMETRY_MALFORMED;
		if (is_decoding_stopped(&r, 1))
			return RB_GEOMETRY_STOPPED;
		if (is_collection_type(type) && count > 0)
		{
			if (count > geometry_bytes_left(&r) / 8 || depth == MAX_NESTED)
				return RB_GEOMETRY_MALFORMED;
			pending[depth++] = count;
			continue;
		}
		fault = is_collection_type(type) ? RB_GEOMETRY_OK : skip_serialized_leaf(&r, type, count);
		if (fault != RB_GEOMETRY_OK)
			return fault;
		while (depth > 0 && --pending[depth - 1] == 0)
			depth--;
	} while (depth > 0);
	return r.at == r.end ? RB_GEOMETRY_OK : RB_GEOMETRY_MALFORMED;
}

/* ---- EWKB ---- */

static inline bool
is_little_endian(void)
{
	const uint16_t one = 1;

	return *(const uint8_t *) &one == 1;
}

/*
 * Converts a WKB type to PostGIS's own number, or to 0 if it is unknown. The numbers differ from 13
 * on.
 */
static uint32_t
type_of_wkb(uint32_t wkb)
{
	if (wkb >= 1 && wkb <= 12)
		return wkb;
	if (wkb >= 15 && wkb <= 17)
		return wkb == 17 ? RB_TYPE_TRIANGLE : wkb == 16 ? RB_TYPE_TIN : RB_TYPE_POLYHEDRALSURFACE;
	return 0;
}

/* Reads the number of children, rings or points, each of which takes at least `least` bytes. */
static inline bool
read_ewkb_count(reader *r, size_t least, uint32_t *count)
{
	if (geometry_bytes_left(r) < 4)
		return false;
	*count = read_geometry_word(r->at, r->swap);
	r->at += 4;
	return *count <= geometry_bytes_left(r) / least;
}

/* Reads byte order, type and SRID of the next node. */
static rb_geometry_fault
read_ewkb_header(reader *r, bool outermost, uint32_t *type)
{
	uint32_t bits;
	uint32_t iso;

	if (geometry_bytes_left(r) < 5)
		return RB_GEOMETRY_MALFORMED;
	if (r->at[0] > 1)
		return RB_GEOMETRY_MALFORMED;
	r->swap = (r->at[0] == 1) != is_little_endian();
	bits = read_geometry_word(r->at + 1, r->swap);
	r->at += 5;
	if (bits & EWKB_SRID)
	{
		if (geometry_bytes_left(r) < 4)
			return RB_GEOMETRY_MALFORMED;
		if (outermost)
			r->info->srid = (int32_t) read_geometry_word(r->at, r->swap);
		r->at += 4;
	}
	iso = (bits & ~(EWKB_Z | EWKB_M | EWKB_SRID)) / 1000;
	if (iso > 3)
		return RB_GEOMETRY_MALFORMED;
	r->has_z = (bits & EWKB_Z) != 0 || (iso & 1) != 0;
	r->dims = 2 + r->has_z + ((bits & EWKB_M) != 0 || (iso & 2) != 0);
	*type = type_of_wkb((bits & ~(EWKB_Z | EWKB_M | EWKB_SRID)) % 1000);
	return *type == 0 ? RB_GEOMETRY_UNKNOWN : RB_GEOMETRY_OK;
}

/* Reads one point, line, polygon or triangle in EWKB. */
static rb_geometry_fault
read_ewkb_leaf(reader *r, uint32_t type)
{
	rb_geometry_fault fault = RB_GEOMETRY_OK;
	point_list ring;
	uint32_t nrings = 1;
	uint32_t n = 1;

	begin_geometry_leaf(r, type);
	/* A point has no count. A polygon or triangle has a count of rings. */
	if ((type == RB_TYPE_POLYGON || type == RB_TYPE_TRIANGLE) && !read_ewkb_count(r, 4, &nrings))
		return RB_GEOMETRY_MALFORMED;
	for (uint32_t i = 0; i < nrings && fault == RB_GEOMETRY_OK; i++)
	{
		if (type != RB_TYPE_POINT && !read_ewkb_count(r, 1, &n))
			return RB_GEOMETRY_MALFORMED;
		if (!skip_geometry_points(r, n, &ring))
			return RB_GEOMETRY_MALFORMED;
		/* EWKB represents POINT EMPTY by NaN coordinates. */
		if (type == RB_TYPE_POINT)
		{
			double xy[2];

			decode_ring_point(r, &ring, 0, 2, xy);
			if (xy[0] != xy[0] && xy[1] != xy[1])
				ring.npoints = 0;
		}
		r->ring = i;
		fault = append_ring_by_kind(r, type, nrings, ring);
	}
	return fault != RB_GEOMETRY_OK ? fault : end_geometry_leaf(r, type);
}

/* Reads the geometries of an EWKB collection one after the other. */
static rb_geometry_fault
read_ewkb_collection(reader *r)
{
	uint64_t pending = 1;
	bool outermost = true;

	while (pending > 0)
	{
		uint32_t type;
		uint32_t count;
		rb_geometry_fault fault;

		fault = read_ewkb_header(r, outermost, &type);
		if (fault != RB_GEOMETRY_OK)
			return fault;
		pending--;
		if (is_decoding_stopped(r, 1))
			return RB_GEOMETRY_STOPPED;
		if (outermost)
		{
			r->info->type = type;
			r->info->has_z = r->has_z;
		}
		outermost = false;
		if (is_collection_type(type))
		{
			/* Every child has a header of 5 bytes and a count or a point. */
			if (!read_ewkb_count(r, 9, &count))
				return RB_GEOMETRY_MALFORMED;
			fault = check_collection_type(r, type, count);
			if (fault != RB_GEOMETRY_OK)
				return fault;
			pending += count;
			continue;
		}
		fault = read_ewkb_leaf(r, type);
		if (fault != RB_GEOMETRY_OK)
			return fault;
	}
	return r->at == r->end ? RB_GEOMETRY_OK : RB_GEOMETRY_MALFORMED;
}

rb_geometry_fault
rb_geometry_read_ewkb(rb_builder *b, const uint8_t *bytes, size_t len, rb_geometry_info *info,
					  rb_error *error)
{
	reader r;

	begin_geometry_reader(&r, b, bytes, len, info, error);
	return read_or_drop_geometry(&r, read_ewkb_collection);
}
