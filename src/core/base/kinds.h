/*
 * kinds.h
 *	  Lists the kinds of objects and the predicates on pairs of them, one per line.
 *
 * An object is a fixed number of points, and most of the code needs to know no more about its kind.
 * A predicate relates a red and a blue object. For each pair of kinds that a predicate supports
 * there is a leaf function, which decides exactly for two objects whose boxes overlap (dispatch.h).
 * Combinations that are not listed are rejected when a join is opened.
 */
#ifndef RB_BASE_KINDS_H
#define RB_BASE_KINDS_H

#include "core/base/host_device.h"

/* kind, points, coordinates per point; an object's points are stored one after the other */
#define RB_KIND_LIST(X)                                                                        \
	X(RB_TRIANGLE3, 3, 3) /* a b c; zero area allowed */                                       \
	X(RB_SEGMENT3, 2, 3)  /* a b; zero length allowed */                                       \
	X(RB_SEGMENT2, 2, 2)  /* a b, in the plane */                                              \
	X(RB_BOX3, 2, 3)      /* low, high; low <= high on each axis */                            \
	X(RB_BOX2, 2, 2)                                                                           \
	X(RB_POINT3, 1, 3)  /* not joined itself: converted to a ray */                            \
	X(RB_CUBOID3, 2, 3) /* center, size >= 0; not joined itself: converted to its box */       \
	X(RB_EDGE2, 2, 2)   /* edge of a polygon in the plane; zero length marks a ring (set.h) */ \
	X(RB_PLANE3, 2, 3)  /* point, normal; not joined itself: cuts solids */

#define RB_KIND_NAME(kind, points, dims) kind,
typedef enum rb_kind
{
	RB_KIND_LIST(RB_KIND_NAME)
} rb_kind;
#undef RB_KIND_NAME

#define RB_KIND_ONE(kind, points, dims) +1
enum
{
	RB_KINDS = RB_KIND_LIST(RB_KIND_ONE)
};
#undef RB_KIND_ONE

/*
 * Checks the shape of each kind: a new shape needs its loops in rb_kind_box (box.h) and load
 * (simd_template.h).
 */
#define RB_KIND_SHAPE(kind, points, dims)                                                       \
	kind##_HAS_LOOPS = 1 / (((points) == 3 && (dims) == 3) || ((points) == 2 && (dims) == 3) || \
							((points) == 2 && (dims) == 2) || (points) == 1),
enum
{
	RB_KIND_LIST(RB_KIND_SHAPE)
};
#undef RB_KIND_SHAPE

#define RB_MAX_WIDTH 9 /* largest number of coordinates of a kind */

typedef enum rb_predicate
{
	RB_MEET, /* the closed objects share a point */
	/* as RB_MEET; payload: dimension, whether relative interiors meet */
	RB_CONTACT,
	/* the triangles share more than vertices or an edge of both; payload: dimension */
	RB_SELF_INTERSECT,
	RB_WITHIN, /* their distance is at most that of the job */
	/* a segment's perturbed first end is below the triangle, or on it */
	RB_RAY_PARITY,
	/* The remaining predicates relate rows and are computed by several joins (RB_COMPOSED_LIST). */
	RB_NEAREST,    /* blue is one of the job.nearest rows closest to red */
	RB_FIRST_HITS, /* blue is one of the first job.nearest rows that line red meets */
	RB_INSIDE,     /* the intervals of a line inside a solid */
	RB_RELATION,   /* how two solids are positioned relative to each other */
	RB_VALIDITY,   /* whether the triangles form a valid solid, and if not, why */
	RB_MEASURES,   /* volume, area, centroid and box of a solid */
	RB_OVERLAP,    /* volume, centroid, contact area and depth of what two solids share */
	RB_CUBOID,     /* volume and fraction of a block that is inside a solid */
	RB_AREA,       /* area of what two polygons of the plane share */
	RB_LENGTH,     /* length of the part of a line in a polygon of the plane */
	RB_SECTION,    /* section of a solid or surface by a plane */
	/* how a point, line, surface or solid lies relative to a solid */
	RB_POSITION
} rb_predicate;

/*
 * Result of a leaf function: 0, RB_UNSURE (host_device.h), or RB_YES with the predicate's payload
 * in the three bits above it.
 */
#define RB_YES 1
#define RB_IS_YES(answer) (((answer) &RB_YES) != 0) /* RB_UNSURE is even */
#define RB_PAYLOAD(answer) ((unsigned) (answer) >> 1)

/* Payload of RB_CONTACT and RB_SELF_INTERSECT; the dimension is 0, 1 or 2 */
#define RB_CONTACT_OF(dimension, crosses) (RB_YES | (dimension) << 1 | (crosses) << 3)
#define RB_PAYLOAD_DIMENSION(payload) ((payload) &3)
#define RB_PAYLOAD_CROSSES(payload) ((payload) >> 2 & 1)

/* Payload of RB_WITHIN: whether the two share a point */
#define RB_WITHIN_OF(meets) (RB_YES | (meets) << 1)

/* Payload of RB_RELATION, for two solids that share a point */
enum
{
	RB_SOLIDS_TOUCH, /* their interiors are disjoint */
	RB_SOLIDS_CROSS, /* their interiors meet, and neither contains the other */
	RB_RED_INSIDE,
	RB_RED_CONTAINS,
	RB_SOLIDS_EQUAL /* equal boundaries, however divided into triangles */
};

/* Payload of RB_POSITION; pairs with disjoint boxes are not reported and are RB_LIES_OUTSIDE */
enum
{
	RB_LIES_INSIDE,   /* no point is outside, and some point is not on the boundary */
	RB_LIES_ON,       /* all points are on the boundary */
	RB_LIES_CROSSING, /* some points are inside and some outside */
	RB_LIES_OUTSIDE,  /* no point is inside; some may be on the boundary */
	RB_LIES_EQUAL     /* the object is a solid with the same boundary */
};

/* Payload of RB_RAY_PARITY */
#define RB_RAY_PARITY_OF(below, on) (RB_YES | (below) << 1 | (on) << 2)
/*
 * Last payload word of an interval of RB_INSIDE: whether it is on the boundary, and whether some
 * part of its line is outside the solid
 */
#define RB_INTERVAL_OF(on, leaves) ((uint64_t) (on) | (uint64_t) (leaves) << 1)

/* predicate, red's kind, blue's kind, leaf function */
#define RB_LEAF_LIST(X)                                                        \
	X(RB_MEET, RB_TRIANGLE3, RB_TRIANGLE3, rb_leaf_triangles)                  \
	X(RB_MEET, RB_SEGMENT3, RB_TRIANGLE3, rb_leaf_segment_triangle)            \
	X(RB_MEET, RB_TRIANGLE3, RB_SEGMENT3, rb_leaf_triangle_segment)            \
	X(RB_MEET, RB_SEGMENT2, RB_SEGMENT2, rb_leaf_segments2)                    \
	X(RB_MEET, RB_BOX3, RB_BOX3, rb_leaf_boxes)                                \
	X(RB_MEET, RB_BOX2, RB_BOX2, rb_leaf_boxes)                                \
	X(RB_CONTACT, RB_TRIANGLE3, RB_TRIANGLE3, rb_leaf_triangles_contact)       \
	X(RB_CONTACT, RB_SEGMENT3, RB_TRIANGLE3, rb_leaf_segment_triangle_contact) \
	X(RB_CONTACT, RB_TRIANGLE3, RB_SEGMENT3, rb_leaf_triangle_segment_contact) \
	X(RB_CONTACT, RB_SEGMENT2, RB_SEGMENT2, rb_leaf_segments2_contact)         \
	X(RB_SELF_INTERSECT, RB_TRIANGLE3, RB_TRIANGLE3, rb_leaf_self_intersect)   \
	X(RB_WITHIN, RB_TRIANGLE3, RB_TRIANGLE3, rb_leaf_within_triangles)         \
	X(RB_WITHIN, RB_SEGMENT3, RB_TRIANGLE3, rb_leaf_within_segment_triangle)   \
	X(RB_WITHIN, RB_TRIANGLE3, RB_SEGMENT3, rb_leaf_within_triangle_segment)   \
	X(RB_WITHIN, RB_SEGMENT2, RB_SEGMENT2, rb_leaf_within_segments2)           \
	X(RB_RAY_PARITY, RB_SEGMENT3, RB_TRIANGLE3, rb_leaf_ray_parity)

/* predicate, red's kind, blue's kind, function (join.h) */
#define RB_COMPOSED_LIST(X)                                            \
	X(RB_NEAREST, RB_TRIANGLE3, RB_TRIANGLE3, rb_compose_nearest)      \
	X(RB_FIRST_HITS, RB_SEGMENT3, RB_TRIANGLE3, rb_compose_first_hits) \
	X(RB_INSIDE, RB_SEGMENT3, RB_TRIANGLE3, rb_compose_insides)        \
	X(RB_RELATION, RB_TRIANGLE3, RB_TRIANGLE3, rb_compose_relations)   \
	X(RB_VALIDITY, RB_TRIANGLE3, RB_TRIANGLE3, rb_compose_solids)      \
	X(RB_MEASURES, RB_TRIANGLE3, RB_TRIANGLE3, rb_compose_measures)    \
	X(RB_OVERLAP, RB_TRIANGLE3, RB_TRIANGLE3, rb_compose_overlaps)     \
	X(RB_CUBOID, RB_BOX3, RB_TRIANGLE3, rb_compose_cuboids)            \
	X(RB_CUBOID, RB_CUBOID3, RB_TRIANGLE3, rb_compose_cuboids)         \
	X(RB_AREA, RB_EDGE2, RB_EDGE2, rb_compose_areas)                   \
	X(RB_LENGTH, RB_SEGMENT2, RB_EDGE2, rb_compose_lengths)            \
	X(RB_SECTION, RB_TRIANGLE3, RB_TRIANGLE3, rb_compose_sections)     \
	X(RB_SECTION, RB_TRIANGLE3, RB_PLANE3, rb_compose_sections)        \
	X(RB_POSITION, RB_POINT3, RB_TRIANGLE3, rb_compose_positions)      \
	X(RB_POSITION, RB_SEGMENT3, RB_TRIANGLE3, rb_compose_positions)    \
	X(RB_POSITION, RB_TRIANGLE3, RB_TRIANGLE3, rb_compose_positions)

/* ---- properties of a kind ---- */

#define RB_KIND_CASE(kind, points, dims) \
	case kind:                           \
		return points;
/* Returns the number of points of a part of this kind. */
RB_HOST_DEVICE int
rb_kind_points(rb_kind kind)
{
	switch (kind)
	{
		RB_KIND_LIST(RB_KIND_CASE)
		default:
			__builtin_unreachable();
	}
}
#undef RB_KIND_CASE

#define RB_KIND_CASE(kind, points, dims) \
	case kind:                           \
		return dims;
/* Returns the number of coordinates of a point of this kind, 2 or 3. */
RB_HOST_DEVICE int
rb_kind_dims(rb_kind kind)
{
	switch (kind)
	{
		RB_KIND_LIST(RB_KIND_CASE)
		default:
			__builtin_unreachable();
	}
}
#undef RB_KIND_CASE

/* Returns the number of float8 values of one object. */
RB_HOST_DEVICE int
rb_kind_width(rb_kind kind)
{
	return rb_kind_points(kind) * rb_kind_dims(kind);
}

#define RB_LEAF_SERVES(p, r, b, leaf) || (predicate == (p) && red == (r) && blue == (b))
/* Returns true if a leaf function supports the predicate and kinds. */
RB_HOST_DEVICE bool
rb_leaf_exists(rb_predicate predicate, rb_kind red, rb_kind blue)
{
	return false RB_LEAF_LIST(RB_LEAF_SERVES);
}
#undef RB_LEAF_SERVES

#define RB_COMPOSED_SERVES(p, r, b, who) || (predicate == (p) && red == (r) && blue == (b))
/* Returns true if a composed join, RB_COMPOSED_LIST, serves the predicate for these kinds. */
RB_HOST_DEVICE bool
rb_composed_exists(rb_predicate predicate, rb_kind red, rb_kind blue)
{
	return false RB_COMPOSED_LIST(RB_COMPOSED_SERVES);
}
#undef RB_COMPOSED_SERVES

/*
 * Returns the kind as which objects of this kind are joined: a point becomes a ray, stored as a
 * segment.
 */
RB_HOST_DEVICE rb_kind
rb_kind_as_joined(rb_predicate predicate, rb_kind kind)
{
	return predicate == RB_RAY_PARITY && kind == RB_POINT3 ? RB_SEGMENT3 : kind;
}

/* Returns true if the predicate has a payload. */
RB_HOST_DEVICE bool
rb_predicate_has_payload(rb_predicate predicate)
{
	return predicate != RB_MEET;
}

#define RB_VALIDITY_WORDS 37
#define RB_MEASURES_WORDS 11
#define RB_OVERLAP_WORDS 6
#define RB_CUBOID_WORDS 2
#define RB_FIRST_HITS_WORDS 4
#define RB_SECTION_WORDS 4

/* Returns the number of eight-byte payload words of a pair in a block. */
RB_HOST_DEVICE int
rb_payload_words(rb_predicate predicate)
{
	switch (predicate)
	{
		case RB_MEET:
			return 0;
		case RB_INSIDE: /* words: from, to, length, flags (RB_INTERVAL_OF) */
			return 4;
		case RB_VALIDITY: /* words of rb_solid_to_words */
			return RB_VALIDITY_WORDS;
		case RB_MEASURES: /* words of rb_measures */
			return RB_MEASURES_WORDS;
		case RB_OVERLAP: /* words of rb_overlap */
			return RB_OVERLAP_WORDS;
		case RB_CUBOID: /* words of rb_cuboid_share */
			return RB_CUBOID_WORDS;
		case RB_FIRST_HITS: /* words: fraction, x, y, z */
			return RB_FIRST_HITS_WORDS;
		case RB_SECTION: /* words: an rb_section_mark, and what it stands for */
			return RB_SECTION_WORDS;
		default:
			return 1;
	}
}

/* Returns true if overlapping boxes already satisfy the predicate. */
RB_HOST_DEVICE bool
rb_boxes_decide(rb_predicate predicate, rb_kind red, rb_kind blue)
{
	return predicate == RB_MEET && red == blue && (red == RB_BOX3 || red == RB_BOX2);
}

/*
 * Returns true if the filters on planes and vertices of two triangles apply. They accept a pair
 * only if all signs are proved and none is zero: then the triangles share a curve in the interior
 * of both.
 */
RB_HOST_DEVICE bool
rb_faces_decide(rb_predicate predicate, rb_kind red, rb_kind blue)
{
	return (predicate == RB_MEET || predicate == RB_CONTACT || predicate == RB_SELF_INTERSECT) &&
		   red == RB_TRIANGLE3 && blue == RB_TRIANGLE3;
}

/* Returns the payload of a pair that the filters of rb_faces_decide accept. */
RB_HOST_DEVICE unsigned
rb_payload_of_generic(rb_predicate predicate)
{
	return predicate == RB_MEET ? 0 : RB_PAYLOAD(RB_CONTACT_OF(1, 1));
}

/*
 * Returns true if planes can prove that two triangles are farther apart than the distance of the
 * join.
 */
RB_HOST_DEVICE bool
rb_faces_part(rb_predicate predicate, rb_kind red, rb_kind blue)
{
	return predicate == RB_WITHIN && red == RB_TRIANGLE3 && blue == RB_TRIANGLE3;
}

#endif /* RB_BASE_KINDS_H */
