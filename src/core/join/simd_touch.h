/*
 * simd_touch.h
 *	  Tests plane sides and closed intervals, where a common point is enough, for eight pairs at
 *	  once with AVX-512.
 *
 * The operations on the numbers are the same as in sides and intervals, which process one or two
 * pairs at a time. Zeros count as signs (simd.h, flat faces), and the results are
 * bit-identical. The pairs that single precision leaves undecided belong to many different
 * triangles and share nothing. A face is sixteen doubles, which are read four at a time and
 * transposed into lanes, as in simd_float.h.
 */
#ifndef RB_JOIN_SIMD_TOUCH_H
#define RB_JOIN_SIMD_TOUCH_H

#define TOUCH_LANES 8

typedef __m512d vd;
typedef unsigned md; /* a bit for each pair */

#define TOUCH_LESS(x, y) ((md) _mm512_cmp_pd_mask(x, y, _CMP_LT_OQ))
#define TOUCH_PICK(mask, x, y) _mm512_mask_blend_pd((__mmask8) (mask), y, x)

/* Words of rb_plane_face */
enum
{
	TOUCH_X = 0, /* coordinates of three corners, then of the normal */
	TOUCH_Y = 4,
	TOUCH_Z = 8,
	TOUCH_K = 12,
	TOUCH_E = 13,
	TOUCH_KE = 14,
	TOUCH_WORDS = 16
};

/* Loads four doubles of the two triangles at[i] and at[i + 4]. */
static inline __attribute__((always_inline)) vd
touch_row(const double *const *at, int word, int i)
{
	const __m512d v = _mm512_castpd256_pd512(_mm256_load_pd(at[i] + word));

	return _mm512_insertf64x4(v, _mm256_load_pd(at[i + 4] + word), 1);
}

/* Loads the prepared faces of eight pairs, one word of all of them per vector. */
static inline __attribute__((always_inline)) void
touch_load(const double *const *at, vd to[TOUCH_WORDS])
{
	const __m512i low = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
	const __m512i high = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);

	for (int word = 0; word < TOUCH_WORDS; word += 4)
	{
		const vd a = touch_row(at, word, 0), b = touch_row(at, word, 1);
		const vd c = touch_row(at, word, 2), d = touch_row(at, word, 3);
		const vd ab = _mm512_unpacklo_pd(a, b), cd = _mm512_unpacklo_pd(c, d);
		const vd ab1 = _mm512_unpackhi_pd(a, b), cd1 = _mm512_unpackhi_pd(c, d);

		to[word] = _mm512_permutex2var_pd(ab, low, cd);
		to[word + 1] = _mm512_permutex2var_pd(ab1, low, cd1);
		to[word + 2] = _mm512_permutex2var_pd(ab, high, cd);
		to[word + 3] = _mm512_permutex2var_pd(ab1, high, cd1);
	}
}

/* Whether each of three corners may be above a plane, and whether it may be below */
typedef struct touch_sides
{
	md above[3];
	md below[3];
} touch_sides;

/* Computes the sides of the corners of eight triangles against the planes of eight others. */
static inline __attribute__((always_inline)) void
touch_plane(const vd plane[TOUCH_WORDS], const vd of[TOUCH_WORDS], touch_sides *s)
{
	const vd bound = plane[TOUCH_KE] + plane[TOUCH_K] * of[TOUCH_E];

	for (int i = 0; i < 3; i++)
	{
		const vd d = (of[TOUCH_X + i] - plane[TOUCH_X]) * plane[TOUCH_X + 3] +
					 (of[TOUCH_Y + i] - plane[TOUCH_Y]) * plane[TOUCH_Y + 3] +
					 (of[TOUCH_Z + i] - plane[TOUCH_Z]) * plane[TOUCH_Z + 3];

		s->above[i] = 0xff ^ TOUCH_LESS(d, -bound);
		s->below[i] = 0xff ^ TOUCH_LESS(bound, d);
	}
}

/* Returns the pairs all of whose corners are proved to be strictly on one side of the plane. */
static inline md
touch_apart(const touch_sides *s)
{
	const md above = s->above[0] & s->above[1] & s->above[2];
	const md below = s->below[0] & s->below[1] & s->below[2];

	return (above & ~(s->below[0] | s->below[1] | s->below[2])) |
		   (below & ~(s->above[0] | s->above[1] | s->above[2]));
}

/* Returns the pairs whose signs are all proved and not all zero. */
static inline md
touch_known(const touch_sides *s)
{
	md both = 0, any = 0;

	for (int i = 0; i < 3; i++)
	{
		both |= s->above[i] & s->below[i];
		any |= s->above[i] | s->below[i];
	}
	return any & ~both;
}

/* Returns the lanes in which exactly one of three masks is set. */
static inline md
touch_one(const md of[3])
{
	return (of[0] ^ of[1] ^ of[2]) & ~(of[0] & of[1] & of[2]);
}

/*
 * Stores the lone corner p and the two corners after it, and returns the pairs whose lone corner is
 * on the negative side.
 */
static inline __attribute__((always_inline)) md
touch_turn(const vd of[TOUCH_WORDS], const touch_sides *s, vd p[3], vd q[3], vd r[3])
{
	const md one_above = touch_one(s->above), one_below = touch_one(s->below) & ~one_above;
	const md other = ~(one_above | one_below);
	md is[2];

	for (int i = 0; i < 2; i++)
		is[i] = (one_above & s->above[i]) | (one_below & s->below[i]) |
				(other & ~(s->above[i] | s->below[i]));
	for (int a = 0; a < 3; a++)
	{
		const vd x = of[4 * a], y = of[4 * a + 1], z = of[4 * a + 2];

		p[a] = TOUCH_PICK(is[0], x, TOUCH_PICK(is[1], y, z));
		q[a] = TOUCH_PICK(is[0], y, TOUCH_PICK(is[1], z, x));
		r[a] = TOUCH_PICK(is[0], z, TOUCH_PICK(is[1], x, y));
	}
	return one_below | (other & (s->above[0] | s->above[1]));
}

/* Returns the determinant of the vectors v, t and u, rounded. */
static inline __attribute__((always_inline)) vd
touch_determinant(const vd v[3], const vd t[3], const vd u[3])
{
	return (v[1] * t[2] - v[2] * t[1]) * u[0] + (v[2] * t[0] - v[0] * t[2]) * u[1] +
		   (v[0] * t[1] - v[1] * t[0]) * u[2];
}

/* Returns the pairs whose four points share a coordinate and are therefore coplanar. */
static inline __attribute__((always_inline)) md
touch_flat(const vd v[3], const vd t[3], const vd u[3])
{
	md zero = 0;

	for (int a = 0; a < 3; a++)
		zero |= _mm512_cmp_pd_mask(_mm512_or_pd(_mm512_or_pd(v[a], t[a]), u[a]),
								   _mm512_setzero_pd(), _CMP_EQ_OQ);
	return zero;
}

/*
 * Decides for eight pairs whether the closed intervals of their triangles are proved to overlap or
 * to be disjoint, if all signs are known.
 */
static inline __attribute__((always_inline)) void
touch_intervals(const vd red[TOUCH_WORDS], const vd blue[TOUCH_WORDS], const touch_sides *of_red,
				const touch_sides *of_blue, md *yes, md *no)
{
	const vd e = red[TOUCH_E] + blue[TOUCH_E];
	const vd bound =
		_mm512_set1_pd(64 * RB_EPS) * red[TOUCH_E] * (e * e + _mm512_set1_pd(0x1p-1000)) +
		_mm512_set1_pd(RB_TINY);
	vd p1[3], q1[3], r1[3], p2[3], q2[3], r2[3], v[3], t[3], u[3], t2[3], u2[3], d1, d2;
	const md red_below = touch_turn(red, of_red, p1, q1, r1);
	const md blue_below = touch_turn(blue, of_blue, p2, q2, r2);

	for (int a = 0; a < 3; a++)
	{
		v[a] = p2[a] - p1[a];
		t[a] = TOUCH_PICK(red_below, r2[a], q2[a]) - p1[a];
		u[a] = TOUCH_PICK(blue_below, r1[a], q1[a]) - p1[a];
		t2[a] = TOUCH_PICK(red_below, q2[a], r2[a]) - p1[a];
		u2[a] = TOUCH_PICK(blue_below, q1[a], r1[a]) - p1[a];
	}
	d1 = touch_determinant(v, t, u);
	d2 = touch_determinant(v, t2, u2);
	*no = TOUCH_LESS(bound, d1) | TOUCH_LESS(d2, -bound);
	*yes = (TOUCH_LESS(d1, -bound) | touch_flat(v, t, u)) &
		   (TOUCH_LESS(bound, d2) | touch_flat(v, t2, u2));
}

/* Appends pairs with their sides as rb_sided entries. */
static inline __attribute__((always_inline)) uint32_t
touch_append(rb_sided *out, md bits, __m256i pairs, const touch_sides *of_red,
			 const touch_sides *of_blue)
{
	__m512i v = _mm512_cvtepu32_epi64(pairs);

	for (int i = 0; i < 3; i++)
	{
		v = _mm512_mask_or_epi64(v, (__mmask8) of_blue->above[i], v,
								 _mm512_set1_epi64(INT64_C(1) << (32 + i)));
		v = _mm512_mask_or_epi64(v, (__mmask8) of_blue->below[i], v,
								 _mm512_set1_epi64(INT64_C(1) << (36 + i)));
		v = _mm512_mask_or_epi64(v, (__mmask8) of_red->above[i], v,
								 _mm512_set1_epi64(INT64_C(1) << (40 + i)));
		v = _mm512_mask_or_epi64(v, (__mmask8) of_red->below[i], v,
								 _mm512_set1_epi64(INT64_C(1) << (44 + i)));
	}
	_mm512_storeu_si512(out, _mm512_maskz_compress_epi64((__mmask8) bits, v));
	return (uint32_t) __builtin_popcount(bits);
}

/* Tests pairs of triangles for a common point by plane sides and closed intervals. */
static uint32_t
test_touching(const rb_plane_face *red, const rb_plane_face *blue, const uint32_t *pairs,
			  uint32_t n, rb_sided *room, uint32_t *yes, rb_sided *undecided, uint32_t *nundecided)
{
	uint32_t hits = 0, left = 0;

	(void) room;
	for (uint32_t i = 0; i < n; i += TOUCH_LANES)
	{
		const double *r[TOUCH_LANES], *b[TOUCH_LANES]; /* faces, word by word */
		uint32_t pair[TOUCH_LANES] __attribute__((aligned(32)));
		md lanes = 0xff, known, sure, no;
		touch_sides of_red, of_blue;
		vd red_face[TOUCH_WORDS], blue_face[TOUCH_WORDS];
		__m256i all;

		if (n - i < TOUCH_LANES)
			lanes = (1u << (n - i)) - 1;
		for (uint32_t k = 0; k < TOUCH_LANES; k++)
		{
			pair[k] = pairs[lanes >> k & 1 ? i + k : i];
			r[k] = (const double *) (red + (pair[k] >> 16));
			b[k] = (const double *) (blue + (pair[k] & 0xffff));
		}
		touch_load(r, red_face);
		touch_load(b, blue_face);
		touch_plane(red_face, blue_face, &of_blue);
		touch_plane(blue_face, red_face, &of_red);
		lanes &= ~(touch_apart(&of_blue) | touch_apart(&of_red));
		if (lanes == 0)
			continue;
		known = touch_known(&of_red) & touch_known(&of_blue);
		touch_intervals(red_face, blue_face, &of_red, &of_blue, &sure, &no);
		no &= known;
		sure &= known & ~no;
		all = _mm256_load_si256((const __m256i *) pair);
		_mm256_storeu_si256((__m256i *) (yes + hits),
							_mm256_maskz_compress_epi32((__mmask8) (sure & lanes), all));
		hits += (uint32_t) __builtin_popcount(sure & lanes);
		if (lanes & ~(sure | no))
			left += touch_append(undecided + left, lanes & ~(sure | no), all, &of_red, &of_blue);
	}
	*nundecided = left;
	return hits + accept_pairs_of_neighbors(red, blue, undecided, nundecided, yes + hits);
}

#endif /* RB_JOIN_SIMD_TOUCH_H */
