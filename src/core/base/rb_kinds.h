/*
 * rb_kinds.h
 *	  The kinds of objects, and what can be asked of two of them: a line each.
 *
 * An object is a number of points, and that is all that most of the code knows of
 * its kind.  A predicate is a question to a red and a blue object; for each pair of
 * kinds that it serves there is a leaf, the exact answer for two objects whose boxes
 * overlap (rb_pair.h).  What is not in the list is refused when a join is opened.
 */
#ifndef RB_KINDS_H
#define RB_KINDS_H

#include "core/base/rb_hd.h"

/* kind, points, coordinates of a point; an object's points lie one after the other */
#define RB_KIND_LIST(X)                                             \
	X(RB_TRIANGLE3, 3, 3) /* a b c; zero area allowed */            \
	X(RB_SEGMENT3, 2, 3)  /* a b; zero length allowed */            \
	X(RB_SEGMENT2, 2, 2)  /* the same in the plane */               \
	X(RB_BOX3, 2, 3)      /* low, high; low <= high on each axis */ \
	X(RB_BOX2, 2, 2)                                                \
	X(RB_POINT3, 1, 3) /* is in no join itself: it becomes a ray */

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

/* a kind of another shape needs its loops in rb_kind_box (rb_box.h) and load (rb_kernel_body.h) */
#define RB_KIND_SHAPE(kind, points, dims)                                                       \
	kind##_HAS_LOOPS = 1 / (((points) == 3 && (dims) == 3) || ((points) == 2 && (dims) == 3) || \
							((points) == 2 && (dims) == 2) || (points) == 1),
enum
{
	RB_KIND_LIST(RB_KIND_SHAPE)
};
#undef RB_KIND_SHAPE

typedef enum rb_predicate
{
	RB_MEET,    /* do the two, closed, share a point? */
	RB_CONTACT, /* and how: the dimension of what they share, and do their relative interiors meet? */
	RB_SELF_INTERSECT, /* do they share more than common corners or a common edge?  The dimension, too. */
	RB_WITHIN,         /* is their distance at most that of the job? */
	RB_UNDER, /* is the first end of a segment, moved by an infinitesimal, below the triangle, or is it on it? */
	/* the rest is of rows, and put together out of other joins (RB_COMPOSED_LIST) */
	RB_NEAREST,  /* is blue one of the job's so many that are nearest to red? */
	RB_INSIDE,   /* which stretches of a line are inside a body? */
	RB_RELATION, /* how do two bodies lie to each other? */
	RB_BODY,     /* is it a body at all, and if not why? */
	RB_POSITION  /* does a point, line, surface or body lie in a body, cross its boundary, ...? */
} rb_predicate;

/*
 * What a leaf answers: 0, RB_UNSURE (rb_hd.h), or RB_YES and, in the three bits above it, what
 * its predicate tells of the pair besides.
 */
#define RB_YES 1
#define RB_IS_YES(answer) (((answer) &RB_YES) != 0) /* RB_UNSURE is even */
#define RB_TOLD(answer) ((unsigned) (answer) >> 1)

/* RB_CONTACT and RB_SELF_INTERSECT: the dimension is 0, 1 or 2 */
#define RB_CONTACT_OF(dimension, crosses) (RB_YES | (dimension) << 1 | (crosses) << 3)
#define RB_TOLD_DIMENSION(told) ((told) &3)
#define RB_TOLD_CROSSES(told) ((told) >> 2 & 1)

/* RB_WITHIN: they share a point */
#define RB_WITHIN_OF(meets) (RB_YES | (meets) << 1)

/* RB_RELATION: of what is told, if the two share a point */
enum
{
	RB_BODIES_TOUCH, /* their interiors are disjoint */
	RB_BODIES_CROSS, /* they are not, and neither contains the other */
	RB_RED_INSIDE,
	RB_RED_CONTAINS,
	RB_BODIES_EQUAL /* the same boundary, however it is cut into triangles */
};

/* payload of RB_POSITION; pairs whose boxes are apart are not reported, and are RB_LIES_OUTSIDE */
enum
{
	RB_LIES_INSIDE,   /* no point of it is outside, and some is not on the boundary */
	RB_LIES_ON,       /* all of it is on the boundary */
	RB_LIES_CROSSING, /* some of it is inside, and some outside */
	RB_LIES_OUTSIDE,  /* no point of it is inside, but on the boundary there may be some */
	RB_LIES_EQUAL     /* it is a body, too, with the same boundary */
};

/* RB_UNDER */
#define RB_UNDER_OF(below, on) (RB_YES | (below) << 1 | (on) << 2)
/* what RB_INSIDE tells of a stretch in its last word: is it on the boundary, and is some of its line outside? */
#define RB_STRETCH_OF(on, leaves) ((uint64_t) (on) | (uint64_t) (leaves) << 1)

/* predicate, red's kind, blue's kind, leaf */
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
	X(RB_UNDER, RB_SEGMENT3, RB_TRIANGLE3, rb_leaf_under)

/* predicate, red's kind, blue's kind, who answers it (rb_composed of rb_compose.h) */
#define RB_COMPOSED_LIST(X)                                          \
	X(RB_NEAREST, RB_TRIANGLE3, RB_TRIANGLE3, rb_compose_nearest)    \
	X(RB_INSIDE, RB_SEGMENT3, RB_TRIANGLE3, rb_compose_insides)      \
	X(RB_RELATION, RB_TRIANGLE3, RB_TRIANGLE3, rb_compose_relations) \
	X(RB_BODY, RB_TRIANGLE3, RB_TRIANGLE3, rb_compose_bodies)        \
	X(RB_POSITION, RB_POINT3, RB_TRIANGLE3, rb_compose_positions)    \
	X(RB_POSITION, RB_SEGMENT3, RB_TRIANGLE3, rb_compose_positions)  \
	X(RB_POSITION, RB_TRIANGLE3, RB_TRIANGLE3, rb_compose_positions)

/* ---- facts of a kind ---- */

#define RB_KIND_CASE(kind, points, dims) \
	case kind:                           \
		return points;
RB_HD int
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
RB_HD int
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

/* float8 values of one object */
RB_HD int
rb_kind_width(rb_kind kind)
{
	return rb_kind_points(kind) * rb_kind_dims(kind);
}

#define RB_LEAF_SERVES(p, r, b, leaf) || (predicate == (p) && red == (r) && blue == (b))
/* has that predicate an answer for these kinds? */
RB_HD bool
rb_leaf_exists(rb_predicate predicate, rb_kind red, rb_kind blue)
{
	return false RB_LEAF_LIST(RB_LEAF_SERVES);
}
#undef RB_LEAF_SERVES

#define RB_COMPOSED_SERVES(p, r, b, who) || (predicate == (p) && red == (r) && blue == (b))
RB_HD bool
rb_composed_exists(rb_predicate predicate, rb_kind red, rb_kind blue)
{
	return false RB_COMPOSED_LIST(RB_COMPOSED_SERVES);
}
#undef RB_COMPOSED_SERVES

/* what a kind is when it is joined: a point is a ray */
RB_HD rb_kind
rb_joined_kind(rb_predicate predicate, rb_kind kind)
{
	return predicate == RB_UNDER && kind == RB_POINT3 ? RB_SEGMENT3 : kind;
}

/* is more to be told of a pair than that it is one? */
RB_HD bool
rb_predicate_tells(rb_predicate predicate)
{
	return predicate != RB_MEET;
}

#define RB_BODY_WORDS 37

/* so many words of eight bytes, in a block */
RB_HD int
rb_told_words(rb_predicate predicate)
{
	switch (predicate)
	{
		case RB_MEET:
			return 0;
		case RB_INSIDE: /* from, to, length, on the boundary? */
			return 4;
		case RB_BODY: /* rb_body_to_words */
			return RB_BODY_WORDS;
		default:
			return 1;
	}
}

/* are overlapping boxes the answer already? */
RB_HD bool
rb_boxes_decide(rb_predicate predicate, rb_kind red, rb_kind blue)
{
	return predicate == RB_MEET && red == blue && (red == RB_BOX3 || red == RB_BOX2);
}

/*
 * Do the stages for planes and corners of two triangles apply?  They say yes only where all signs
 * are proved and none is zero: then the two share a curve, and that is inside of both.
 */
RB_HD bool
rb_faces_decide(rb_predicate predicate, rb_kind red, rb_kind blue)
{
	return (predicate == RB_MEET || predicate == RB_CONTACT || predicate == RB_SELF_INTERSECT) &&
		   red == RB_TRIANGLE3 && blue == RB_TRIANGLE3;
}

/* what is told of such two */
RB_HD unsigned
rb_told_of_generic(rb_predicate predicate)
{
	return predicate == RB_MEET ? 0 : RB_TOLD(RB_CONTACT_OF(1, 1));
}

/* do planes tell of two triangles that they are farther apart than a distance? */
RB_HD bool
rb_faces_part(rb_predicate predicate, rb_kind red, rb_kind blue)
{
	return predicate == RB_WITHIN && red == RB_TRIANGLE3 && blue == RB_TRIANGLE3;
}

#endif /* RB_KINDS_H */
