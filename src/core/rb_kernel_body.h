/*
 * rb_kernel_body.h
 *	  The code behind rb_kernel.h; included by each kernel_*.c with its own name
 *	  and instruction set.  Loops over the four lanes of a face are vectors of the
 *	  compiler (two SSE2 operations or one of AVX2): the three corners of a triangle
 *	  go through a plane at once, and nothing is gathered.
 */
#include "rb_kernel.h"

/* vectors live in registers of inlined code only; how they would be passed is of no concern */
#pragma GCC diagnostic ignored "-Wpsabi"

typedef double v4 __attribute__((vector_size(32)));
typedef int64_t m4 __attribute__((vector_size(32)));

static inline __attribute__((always_inline)) v4
load4(const double *p)
{
	return *(const v4 *) __builtin_assume_aligned(p, 32);
}

static inline __attribute__((always_inline)) v4
all4(double x)
{
	return (v4) {x, x, x, x};
}

#ifdef __AVX__
#include <immintrin.h>

static inline __attribute__((always_inline)) unsigned
bits4(m4 mask)
{
	return (unsigned) _mm256_movemask_pd((__m256d) mask);
}
#elif defined(__SSE2__)
#include <emmintrin.h>

static inline __attribute__((always_inline)) unsigned
bits4(m4 mask)
{
	union
	{
		m4			m;
		__m128d		half[2];
	}			u = {mask};

	return (unsigned) _mm_movemask_pd(u.half[0]) | (unsigned) _mm_movemask_pd(u.half[1]) << 2;
}
#else
static inline __attribute__((always_inline)) unsigned
bits4(m4 mask)
{
	return (mask[0] & 1) | (mask[1] & 2) | (mask[2] & 4) | (mask[3] & 8);
}
#endif

static uint32_t
boxes(const double lo[3], const double hi[3], uint32_t starts, uint32_t red,
	  const rb_box_rows *rows, uint32_t first, uint32_t *out)
{
	const v4	lx = all4(lo[0]),
				ly = all4(lo[1]),
				lz = all4(lo[2]),
				hx = all4(hi[0]),
				hy = all4(hi[1]),
				hz = all4(hi[2]);
	const uint32_t missing = 7u & ~starts;
	uint32_t	k = 0;
	unsigned	keep = 0xfu << (first & 3);

	for (uint32_t i = first & ~3u; i < rows->n; i += 4)
	{
		m4			overlap = (load4(rows->lo[0] + i) <= hx) & (load4(rows->hi[0] + i) >= lx) &
			(load4(rows->lo[1] + i) <= hy) & (load4(rows->hi[1] + i) >= ly) &
			(load4(rows->lo[2] + i) <= hz) & (load4(rows->hi[2] + i) >= lz);
		unsigned	bits = bits4(overlap) & keep;

		keep = 0xf;
		while (bits != 0)
		{
			uint32_t	j = i + (uint32_t) __builtin_ctz(bits);

			/* written always, kept when the owner rule holds */
			out[k] = red << 16 | rows->local[j];
			k += (rows->starts[j] & missing) == missing;
			bits &= bits - 1;
		}
	}
	return k;
}

/* sides of the corners of face p against the plane of f, as in rb_sided */
static inline __attribute__((always_inline)) unsigned
plane_sides(const rb_face *f, const rb_face *p)
{
	v4			d = (load4(p->x) - all4(f->x[0])) * all4(f->x[3]) +
		(load4(p->y) - all4(f->y[0])) * all4(f->y[3]) +
		(load4(p->z) - all4(f->z[0])) * all4(f->z[3]);
	double		bound = f->k * (f->e + p->e) + RB_TINY;

	return (bits4(d > all4(bound)) & 7) | (bits4(d < all4(-bound)) & 7) << 3;
}

static uint32_t
sides(const rb_face *red, const rb_face *blue, const uint32_t *pairs, uint32_t n, rb_sided *out)
{
	uint32_t	kept = 0;
	uint32_t	k = 0;

	/* two loops, each with a branch-free append: what a plane drops is hard to predict */
	for (uint32_t i = 0; i < n; i++)
	{
		unsigned	s = plane_sides(red + (pairs[i] >> 16), blue + (pairs[i] & 0xffff));

		out[kept].pair = pairs[i];
		out[kept].blue_sides = (uint16_t) s;
		kept += (s != 007) & (s != 070);
	}
	for (uint32_t i = 0; i < kept; i++)
	{
		uint32_t	pair = out[i].pair;
		unsigned	s = plane_sides(blue + (pair & 0xffff), red + (pair >> 16));

		out[k].pair = pair;
		out[k].blue_sides = out[i].blue_sides;
		out[k].red_sides = (uint16_t) s;
		k += (s != 007) & (s != 070);
	}
	return k;
}

/*
 * For the positive bits of three proved signs: the corner that is alone, and 4
 * when it is alone on the negative side (rb_triangle.h, rb_lone_corner).
 */
static const uint8_t lone[8] = {0, 0, 1, 6, 2, 5, 4, 0};

static const uint8_t next[3] = {1, 2, 0};

static uint32_t
intervals(const rb_face *red, const rb_face *blue, const rb_sided *in, uint32_t n,
		  uint32_t *yes, rb_sided *unsure, uint32_t *nunsure)
{
	uint32_t	hits = 0;
	uint32_t	doubtful = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		const rb_face *r = red + (in[i].pair >> 16);
		const rb_face *b = blue + (in[i].pair & 0xffff);
		unsigned	rs = in[i].red_sides;
		unsigned	bs = in[i].blue_sides;
		unsigned	known = ((rs | rs >> 3) & 7) == 7 && ((bs | bs >> 3) & 7) == 7;
		unsigned	lr = lone[rs & 7];
		unsigned	lb = lone[bs & 7];
		unsigned	p1 = lr & 3,
					p2 = lb & 3;
		unsigned	q1 = next[p1],
					q2 = next[p2];
		unsigned	r1 = 3 - p1 - q1,
					r2 = 3 - p2 - q2;
		unsigned	turn_blue = -(lr >> 2) & (q2 ^ r2);
		unsigned	turn_red = -(lb >> 2) & (q1 ^ r1);
		double		e = r->e + b->e;
		double		bound = 64 * RB_EPS * r->e * (e * e + 0x1p-1000) + RB_TINY;
		double		vx,
					vy,
					vz,
					tx,
					ty,
					tz,
					ux,
					uy,
					uz,
					d1,
					d2;
		bool		no,
					sure;

		q2 ^= turn_blue;
		r2 ^= turn_blue;
		q1 ^= turn_red;
		r1 ^= turn_red;
		vx = b->x[p2] - r->x[p1];
		vy = b->y[p2] - r->y[p1];
		vz = b->z[p2] - r->z[p1];

		/* d1 = orient3d(p1, q1, p2, q2) = (u x v) . t */
		tx = b->x[q2] - r->x[p1];
		ty = b->y[q2] - r->y[p1];
		tz = b->z[q2] - r->z[p1];
		ux = r->x[q1] - r->x[p1];
		uy = r->y[q1] - r->y[p1];
		uz = r->z[q1] - r->z[p1];
		d1 = (vy * tz - vz * ty) * ux + (vz * tx - vx * tz) * uy + (vx * ty - vy * tx) * uz;

		/* d2 = orient3d(p1, r1, r2, p2) = -(u x v) . t for the other two corners */
		tx = b->x[r2] - r->x[p1];
		ty = b->y[r2] - r->y[p1];
		tz = b->z[r2] - r->z[p1];
		ux = r->x[r1] - r->x[p1];
		uy = r->y[r1] - r->y[p1];
		uz = r->z[r1] - r->z[p1];
		d2 = (vz * ty - vy * tz) * ux + (vx * tz - vz * tx) * uy + (vy * tx - vx * ty) * uz;

		no = known & ((d1 > bound) | (d2 > bound));
		sure = known & (d1 < -bound) & (d2 < -bound);
		yes[hits] = in[i].pair;
		hits += sure;
		unsure[doubtful] = in[i];
		doubtful += !(no | sure);
	}
	*nunsure = doubtful;
	return hits;
}

const rb_kernel RB_KERNEL = {RB_KERNEL_NAME, boxes, sides, intervals};
