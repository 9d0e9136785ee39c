/*
 * triangle_float.h
 *	  Intersects two triangles in float arithmetic: no, yes, or unsure.
 *
 * A float has half the bytes of a double and, on most devices, far more than twice its speed; a
 * pair test in float works on shared memory alone. To make up for the lower precision, the
 * triangles are first mapped to a frame: the origin moves into the current cell, and each axis is
 * scaled by a power of two so that the cell extends from about -1 to 1. Both are done in double.
 * Coordinates of the size of UTM or ECEF are thus as decisive as small ones, and neither small nor
 * large units over- or underflow.
 *
 * The sign of orient3d does not change if all points are translated, nor if an axis is scaled by a
 * positive number. Below, P is a vertex in the frame, exact; p its float; e = 2^-24; m >= |p| for
 * each coordinate of a triangle. Then
 *
 *		|p - P| <= 1.001 e m							(stored)
 *
 * and every bound below has a margin of at least a fifteenth, which covers factors like 1.001,
 * terms in 2^-53 that are not named, and the rounding of the bound itself.
 *
 * The plane. n = (b - a) x (c - a) is computed in double from the vertices themselves and rounded
 * to float: |n - N| <= e |n| + 5 2^-53 Q, where Q is the cross product with all signs positive. d =
 * -n . A is computed in double for this rounded n, and rounded to float. For a vertex p of the
 * other triangle the value s = n . p + d, computed by three fused operations, differs from N . (P -
 * A) by at most
 *
 *		e |n|1 (m + m')  +  5 2^-53 |Q|1 (m + m')		n against N: |P - A| <= m + m'
 *	  + e |n|1 m'										p against P
 *	  + e |n|1 m										d
 *	  + 3 e |n|1 (m + m')								three roundings
 *	 <= (5 e |n|1 + 5 2^-53 |Q|1) (m + m')	<	k (m + m'),
 *
 *		k = 6 e |n|1 + 8 2^-53 |Q|1.
 *
 * The intervals. With proved signs of all six vertices against the other's plane, two more
 * determinants decide (triangle.h, case 2). (v x t) . u has differences |v|, |t| <= M = m + m'
 * with errors up to 2.01 e M, and |u| <= 2 m with an error up to 4.01 e m, where m is red's. Its
 * error is at most 135 e M^2 m: 33 e M^2 m in each of three products from the differences and the
 * minor, 4 e from its own rounding, and 25 e in all from the sums. The code uses 144.
 *
 * Underflow: adding 2^-90 to |n|1 and 2^-100 to the bounds outweighs all that is lost below 2^-126.
 * Overflow: for m > 2^36, m and k are infinite, so no comparison with a bound is true and nothing
 * is decided; for smaller m the largest product is below 2^116.
 *
 * Distances need one scale for all axes (rb_frame_even) and a plane whose n has length 1: s is then
 * the distance of a vertex from the plane. For any factor f > 0 that n and Q are multiplied by, all
 * of the above holds for f N; and f N is at most 1 + 2^-50 + |n - f N|, where the last term is
 * below k. So where all of
 *
 *		s  >  D (1 + k) + k (m + m')
 *
 * or all of -s, one triangle is farther than D from the plane of the other. The remaining distance
 * tests are in distance_simd.h, with e as here and M = max(m, m').
 */
#ifndef RB_PRIMITIVE_TRIANGLE_FLOAT_H
#define RB_PRIMITIVE_TRIANGLE_FLOAT_H

#include "core/base/kinds.h"
#include "core/exact/integer.h"

#include <string.h>

/*
 * A cell's coordinate system: origin in the units of the coordinates, scales that are powers of two
 */
typedef struct rb_frame
{
	double origin[3];
	double scale[3];
} rb_frame;

/* A triangle in a frame: sixteen words, read as four times four */
typedef struct rb_face_f
{
	float p[9];     /* vertices */
	float k;        /* factor of the plane's bound; infinite if nothing can be decided */
	float m;        /* largest magnitude in p */
	uint32_t entry; /* entry that the face belongs to; not used here */
	float n[3];
	float d;
} rb_face_f;

#define RB_EPS_F 0x1p-24
#define RB_MAX_M_F 0x1p36f

/*
 * Computes the frame of cell `at` of the grid that divides [lo, hi] into n cells. On axes where the
 * region has no width, the widest axis determines the scale.
 */
RB_HOST_DEVICE void
rb_frame_of_cell(rb_frame *f, const double lo[3], const double hi[3], const uint32_t n[3],
				 const uint32_t at[3])
{
	double widest = 0;
	double half[3];

	for (int a = 0; a < 3; a++)
	{
		double t = (at[a] + 0.5) / n[a];

		f->origin[a] = lo[a] * (1 - t) + hi[a] * t;
		half[a] = (0.5 * hi[a] - 0.5 * lo[a]) / n[a];
		widest = half[a] > widest ? half[a] : widest;
	}
	for (int a = 0; a < 3; a++)
	{
		int e = rb_exponent(half[a] > 0 ? half[a] : widest);

		/* Scale half a cell to between 0.5 and 1; denormal sizes stay smaller. */
		e = 2045 - e;
		f->scale[a] = rb_power(e < 1 ? 1 : e > 2045 ? 2045 : e);
	}
}

/*
 * Maps a coordinate to the frame. The map is monotone, including rounding and overflow: if two
 * floats differ, their doubles differ in the same direction.
 */
RB_HOST_DEVICE float
rb_frame_map(const rb_frame *f, int axis, double x)
{
	return (float) ((x - f->origin[axis]) * f->scale[axis]);
}

/* Sets one scale for all axes: the widest extends from about -1 to 1. */
RB_HOST_DEVICE void
rb_frame_even(rb_frame *f)
{
	double least = f->scale[0] < f->scale[1] ? f->scale[0] : f->scale[1];

	least = f->scale[2] < least ? f->scale[2] : least;
	f->scale[0] = f->scale[1] = f->scale[2] = least;
}

/* Maps a triangle to the frame. With `unit`, scales n to length 1 unless it is nearly 0. */
RB_HOST_DEVICE void
rb_face_f_init(rb_face_f *f, const rb_frame *frame, const double *c, bool unit)
{
	double u[3], v[3], n[3], permanent, size, d;
	float m = 0;

	for (int i = 0; i < 9; i++)
	{
		f->p[i] = rb_frame_map(frame, i % 3, c[i]);
		m = fabsf(f->p[i]) > m ? fabsf(f->p[i]) : m;
	}
	for (int a = 0; a < 3; a++)
	{
		u[a] = (c[3 + a] - c[a]) * frame->scale[a];
		v[a] = (c[6 + a] - c[a]) * frame->scale[a];
	}
	n[0] = u[1] * v[2] - u[2] * v[1];
	n[1] = u[2] * v[0] - u[0] * v[2];
	n[2] = u[0] * v[1] - u[1] * v[0];
	permanent = fabs(u[1] * v[2]) + fabs(u[2] * v[1]) + fabs(u[2] * v[0]) + fabs(u[0] * v[2]) +
				fabs(u[0] * v[1]) + fabs(u[1] * v[0]);
	if (unit)
	{
		double square = n[0] * n[0] + n[1] * n[1] + n[2] * n[2];
		double factor = square > 0x1p-900 ? 1 / sqrt(square) : 1;

		for (int a = 0; a < 3; a++)
			n[a] *= factor;
		permanent *= factor;
	}
	size = 0;
	d = 0;
	for (int a = 0; a < 3; a++)
	{
		f->n[a] = (float) n[a];
		size += fabs((double) f->n[a]);
		d -= (double) f->n[a] * ((c[a] - frame->origin[a]) * frame->scale[a]);
	}
	f->d = (float) d;
	f->k = (float) (6 * RB_EPS_F * (size + 0x1p-90) + 8 * 0x1p-53 * permanent);
	f->m = m;
	if (!(m <= RB_MAX_M_F))
		f->k = f->m = (float) INFINITY;
}

#ifdef __CUDA_ARCH__
/* Returns the bits of a float. */
#define rb_bits_f(x) __float_as_uint(x)
#else
static inline uint32_t
rb_bits_f(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}
#endif

/* Proved positions of the vertices of one triangle relative to the plane of another */
typedef struct rb_sides_f
{
	bool apart;    /* true if all vertices are on one side */
	bool sure;     /* true if not apart, and all three signs are proved, with one that differs */
	bool first;    /* if sure: the first vertex is alone on its side */
	bool second;   /* if sure: the second vertex is alone; if neither is, the third one is */
	bool negative; /* true if the lone vertex is on the negative side */
} rb_sides_f;

/* Computes the sides of the vertices of `of` against the plane of f. */
RB_HOST_DEVICE rb_sides_f
rb_face_f_sides(const rb_face_f *f, const rb_face_f *of)
{
	const float bound = f->k * (f->m + of->m) + 0x1p-100f;
	rb_sides_f sides;
	uint32_t bits[3], most; /* bits of s, with the sign at the top, and their bitwise majority */
	float s[3];

	for (int i = 0; i < 3; i++)
		s[i] = fmaf(f->n[0], of->p[3 * i],
					fmaf(f->n[1], of->p[3 * i + 1], fmaf(f->n[2], of->p[3 * i + 2], f->d)));
	sides.apart =
		(fminf(s[0], fminf(s[1], s[2])) > bound) | (fmaxf(s[0], fmaxf(s[1], s[2])) < -bound);
	sides.sure = fminf(fabsf(s[0]), fminf(fabsf(s[1]), fabsf(s[2]))) > bound;
	for (int i = 0; i < 3; i++)
		bits[i] = rb_bits_f(s[i]);
	most = (bits[0] & bits[1]) | (bits[0] & bits[2]) | (bits[1] & bits[2]);
	sides.first = (int32_t) (bits[0] ^ most) < 0;
	sides.second = (int32_t) (bits[1] ^ most) < 0;
	sides.negative = (int32_t) most >= 0;
	return sides;
}

/*
 * Reorders the vertices so that the lone one comes first. Returns true if that reverses the
 * orientation.
 */
RB_HOST_DEVICE bool
rb_face_f_turn(const rb_face_f *f, const rb_sides_f *sides, float p[3], float q[3], float r[3])
{
	for (int a = 0; a < 3; a++)
	{
		p[a] = sides->first ? f->p[a] : sides->second ? f->p[3 + a] : f->p[6 + a];
		q[a] = sides->second ? f->p[a] : f->p[3 + a];
		r[a] = sides->first || sides->second ? f->p[6 + a] : f->p[a];
	}
	return !sides->first;
}

/* Computes orient3d(p, x, o, y), where v is o - p. */
RB_HOST_DEVICE float
rb_orient_f(const float p[3], const float v[3], const float x[3], const float y[3])
{
	float t[3], u[3];

	for (int a = 0; a < 3; a++)
	{
		t[a] = y[a] - p[a];
		u[a] = x[a] - p[a];
	}
	return fmaf(
		fmaf(v[1], t[2], -(v[2] * t[1])), u[0],
		fmaf(fmaf(v[2], t[0], -(v[0] * t[2])), u[1], fmaf(v[0], t[1], -(v[1] * t[0])) * u[2]));
}

/* Tests whether two triangles meet. Returns 0, 1 or RB_UNSURE. */
RB_HOST_DEVICE int
rb_faces_f_meet(const rb_face_f *red, const rb_face_f *blue)
{
	const rb_sides_f bs = rb_face_f_sides(red, blue);
	const rb_sides_f rs = rb_face_f_sides(blue, red);
	float p1[3], q1[3], r1[3], p2[3], q2[3], r2[3], v[3], sum, bound, x, y;
	bool red_turned, blue_turned;

	if (bs.apart | rs.apart)
		return 0;
	if (!(bs.sure & rs.sure))
		return RB_UNSURE;

	/* A lone vertex below the other's plane reverses the other triangle. */
	red_turned = rb_face_f_turn(red, &rs, p1, q1, r1) != bs.negative;
	blue_turned = rb_face_f_turn(blue, &bs, p2, q2, r2) != rs.negative;

	/*
	 * If neither is reversed, the triangles are disjoint if orient3d(p1, q1, p2, q2) is positive or
	 * that of p1, r1, p2, r2 is negative. In a reversed triangle q and r are swapped; if both are
	 * reversed, so are the two signs.
	 */
	for (int a = 0; a < 3; a++)
	{
		const float q = q1[a], r = r1[a];

		v[a] = p2[a] - p1[a];
		q1[a] = red_turned != blue_turned ? r : q;
		r1[a] = red_turned != blue_turned ? q : r;
	}
	sum = red->m + blue->m;
	bound = (float) (144 * RB_EPS_F) * (sum * sum) * red->m + 0x1p-100f;
	x = rb_orient_f(p1, v, q1, q2);
	y = -rb_orient_f(p1, v, r1, r2);
	if (blue_turned)
	{
		x = -x;
		y = -y;
	}
	if (fmaxf(x, y) > bound)
		return 0;
	return fmaxf(x, y) < -bound ? 1 : RB_UNSURE;
}

/* ---- distances ---- */

/* A distance D in an even frame */
typedef struct rb_reach_f
{
	float more;   /* D (1 + 16 e), rounded up */
	float less;   /* D (1 - 4 e), rounded down; 0 if D is tiny */
	float square; /* D^2 (1 + 32 e), rounded up */
} rb_reach_f;

/*
 * Converts a distance to the frame. Overflow gives infinity, and the last terms outweigh underflow.
 */
RB_HOST_DEVICE void
rb_reach_f_init(rb_reach_f *r, const rb_frame *frame, double distance)
{
	double d = distance * frame->scale[0];

	r->more = (float) (d * (1 + 20 * RB_EPS_F) + 0x1p-100);
	r->less = d > 0x1p-60 ? (float) (d * (1 - 8 * RB_EPS_F)) : 0;
	r->square = (float) (d * d * (1 + 40 * RB_EPS_F) + 0x1p-100);
}

/*
 * Returns true if all vertices of `of` are proved to be farther than `more` from the plane of f, on
 * one side.
 */
RB_HOST_DEVICE bool
rb_face_f_beyond(const rb_face_f *f, const rb_face_f *of, float more)
{
	float bound = f->k * ((f->m + of->m) + more) + more + 0x1p-100f;
	float s[3];

	for (int i = 0; i < 3; i++)
		s[i] = fmaf(f->n[0], of->p[3 * i],
					fmaf(f->n[1], of->p[3 * i + 1], fmaf(f->n[2], of->p[3 * i + 2], f->d)));
	return ((s[0] > bound) & (s[1] > bound) & (s[2] > bound)) |
		   ((s[0] < -bound) & (s[1] < -bound) & (s[2] < -bound));
}

/* Returns about 1 / x. Any result is valid, since it is only clamped to a fraction. */
#ifdef __CUDA_ARCH__
RB_HOST_DEVICE float
rb_over_f(float x)
{
	float y;

	asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
	return y;
}
#else
#define rb_over_f(x) (1 / (x))
#endif

#define RB_NEAR_NAME rb_near_f
#define RB_NEAR_FACE rb_near_face_f
#define RB_NEAR_FUNCTION RB_HOST_DEVICE
#define RB_NEAR_REAL float
#define RB_NEAR_MASK bool
#define RB_NEAR_ALL(x) ((float) (x))
#define RB_NEAR_MIN(x, y) fminf(x, y)
#define RB_NEAR_MAX(x, y) fmaxf(x, y)
#define RB_NEAR_LESS(x, y, a, b) ((x) < (y) ? (a) : (b))
#define RB_NEAR_ABS(x) fabsf(x)
#define RB_NEAR_GREATER(x, y) ((x) > (y))
#define RB_NEAR_OVER(x) rb_over_f(x)
#define RB_NEAR_FMA(a, b, c) fmaf(a, b, c)
#define RB_NEAR_EPS RB_EPS_F
#define RB_NEAR_HUGE 0x1p126
#define RB_NEAR_SQUARE_LEAST 0x1p-60
#define RB_NEAR_MOST_LEAST 0x1p-30
#define RB_NEAR_FLOOR 0x1p-120
#include "core/primitive/distance_simd.h"
#undef RB_NEAR_NAME
#undef RB_NEAR_FACE
#undef RB_NEAR_FUNCTION
#undef RB_NEAR_REAL
#undef RB_NEAR_MASK
#undef RB_NEAR_ALL
#undef RB_NEAR_MIN
#undef RB_NEAR_MAX
#undef RB_NEAR_LESS
#undef RB_NEAR_ABS
#undef RB_NEAR_GREATER
#undef RB_NEAR_OVER
#undef RB_NEAR_FMA
#undef RB_NEAR_EPS
#undef RB_NEAR_HUGE
#undef RB_NEAR_SQUARE_LEAST
#undef RB_NEAR_MOST_LEAST
#undef RB_NEAR_FLOOR

/* Limit of m up to which fourth powers stay finite */
#define RB_NEAR_MAX_M_F 0x1p20f

/*
 * Tests whether two faces of an even frame, with unit normals, are within a distance. Returns 0,
 * RB_WITHIN_OF or RB_UNSURE, consistent with rb_pair_within: a proof that they are near is not
 * sufficient if it is unknown whether they meet.
 */
RB_HOST_DEVICE int
rb_faces_f_within(const rb_face_f *red, const rb_face_f *blue, const rb_reach_f *reach)
{
	float size = fmaxf(red->m, blue->m);
	int meet = rb_faces_f_meet(red, blue);
	bool no, yes;

	if (meet == 1)
		return RB_WITHIN_OF(1);
	size = size <= RB_NEAR_MAX_M_F ? size : (float) INFINITY;
	rb_near_f(red->p, blue->p, &size, &reach->less, &reach->square, &no, &yes);
	return no ? 0 : yes && meet == 0 ? RB_WITHIN_OF(0) : RB_UNSURE;
}

#endif /* RB_PRIMITIVE_TRIANGLE_FLOAT_H */
