/*
 * simd_float.h
 *	  Tests pairs of triangles in single precision, one pair per lane, with the result yes, no or
 *	  undecided.
 *
 * This does for 4, 8 or 16 pairs at once what triangle_float.h does for one pair in a thread of a
 * device. A triangle is 64 bytes in the frame of its tile. Its words are read four at a time and
 * transposed into lanes, and both planes and the intervals on their common line are tested without
 * a branch that depends on the geometry. All pairs except those close to a tie are decided here,
 * most of them for a third of the cost in double precision.
 *
 * The error bounds are those of triangle_float.h (e = 2^-24, m the largest magnitude of a
 * triangle's corners in the frame, ' for the other triangle), except for the plane. Here
 *
 *        s = ((n_0 p_0 + n_1 p_1) + n_2 p_2) + d
 *
 * has six roundings, three of products and three of sums, whereas a device has three. The products
 * are off by at most e |n|1 m' in total, the first and the second sum by as much each, and the last
 * sum by at most e |n|1 (m + m'). Together these errors are at most 4 e |n|1 (m + m'). The errors
 * of p, d and n increase the total to
 *
 *        (6 e |n|1 + 5 2^-53 |Q|1) (m + m')  <  k (m + m'),      k = 8 e |n|1 + 8 2^-53 |Q|1.
 *
 * All instruction sets round each operation alike, so their results are identical.
 */
#ifndef RB_JOIN_SIMD_FLOAT_H
#define RB_JOIN_SIMD_FLOAT_H

#include "core/primitive/triangle_float.h"

typedef float f4 __attribute__((vector_size(16)));

/* ---- lanes: vf has a float for each pair, mf a truth value for each pair ---- */

#ifdef RB_AVX512
#define FLOAT_LANES 16
typedef __m512 vf;
typedef __m512d vf_halves;
typedef __mmask16 mf;

#define FLOAT_ALL(x) _mm512_set1_ps(x)
#define FLOAT_GREATER(x, y) _mm512_cmp_ps_mask(x, y, _CMP_GT_OQ)
#define FLOAT_PICK(mask, x, y) _mm512_mask_blend_ps(mask, y, x)
#define FLOAT_BITS(mask) ((unsigned) (mask))
#define FLOAT_LOW(x, y) _mm512_unpacklo_ps(x, y)
#define FLOAT_HIGH(x, y) _mm512_unpackhi_ps(x, y)
#define FLOAT_LOW2(x, y) ((vf) _mm512_unpacklo_pd((vf_halves) (x), (vf_halves) (y)))
#define FLOAT_HIGH2(x, y) ((vf) _mm512_unpackhi_pd((vf_halves) (x), (vf_halves) (y)))

/* Loads four words of each of the pairs i, i + 4, i + 8 and i + 12. */
static inline __attribute__((always_inline)) vf
float_row(const float *const *at, int word, int i)
{
	__m512 v = _mm512_castps128_ps512(_mm_loadu_ps(at[i] + word));

	v = _mm512_insertf32x4(v, _mm_loadu_ps(at[i + 4] + word), 1);
	v = _mm512_insertf32x4(v, _mm_loadu_ps(at[i + 8] + word), 2);
	return _mm512_insertf32x4(v, _mm_loadu_ps(at[i + 12] + word), 3);
}
#else
#ifdef RB_AVX2
#define FLOAT_LANES 8
typedef float vf __attribute__((vector_size(32)));
typedef int32_t mf __attribute__((vector_size(32)));

#define FLOAT_ALL(x) ((vf){x, x, x, x, x, x, x, x})
#define FLOAT_PICK(mask, x, y) ((vf) _mm256_blendv_ps((__m256) (y), (__m256) (x), (__m256) (mask)))
#define FLOAT_BITS(mask) ((unsigned) _mm256_movemask_ps((__m256) (mask)))
#define FLOAT_LOW(x, y) ((vf) _mm256_unpacklo_ps((__m256) (x), (__m256) (y)))
#define FLOAT_HIGH(x, y) ((vf) _mm256_unpackhi_ps((__m256) (x), (__m256) (y)))
#define FLOAT_LOW2(x, y) ((vf) _mm256_unpacklo_pd((__m256d) (x), (__m256d) (y)))
#define FLOAT_HIGH2(x, y) ((vf) _mm256_unpackhi_pd((__m256d) (x), (__m256d) (y)))

static inline __attribute__((always_inline)) vf
float_row(const float *const *at, int word, int i)
{
	__m256 v = _mm256_castps128_ps256(_mm_loadu_ps(at[i] + word));

	return (vf) _mm256_insertf128_ps(v, _mm_loadu_ps(at[i + 4] + word), 1);
}
#else
#define FLOAT_LANES 4
typedef f4 vf;
typedef int32_t mf __attribute__((vector_size(16)));

#define FLOAT_ALL(x) ((vf){x, x, x, x})
#define FLOAT_PICK(mask, x, y) ((vf) (((mask) & (mf) (x)) | (~(mask) & (mf) (y))))
#define FLOAT_LOW(x, y) SHUFFLE(mf, x, y, 0, 4, 1, 5)
#define FLOAT_HIGH(x, y) SHUFFLE(mf, x, y, 2, 6, 3, 7)
#define FLOAT_LOW2(x, y) SHUFFLE(mf, x, y, 0, 1, 4, 5)
#define FLOAT_HIGH2(x, y) SHUFFLE(mf, x, y, 2, 3, 6, 7)
#ifdef __SSE2__
#define FLOAT_BITS(mask) ((unsigned) _mm_movemask_ps((__m128) (mask)))
#else
#define FLOAT_BITS(mask) \
	((unsigned) (((mask)[0] & 1) | ((mask)[1] & 2) | ((mask)[2] & 4) | ((mask)[3] & 8)))
#endif

static inline __attribute__((always_inline)) vf
float_row(const float *const *at, int word, int i)
{
	vf v;

	memcpy(&v, at[i] + word, sizeof(v));
	return v;
}
#endif
#define FLOAT_GREATER(x, y) ((mf) ((x) > (y)))
#endif

/*
 * Loads four words of each pair, one word per vector, by transposing a 4 x 4 matrix within each
 * group of four pairs.
 */
static inline __attribute__((always_inline)) void
float_words(const float *const *at, int word, vf *to)
{
	const vf a = float_row(at, word, 0), b = float_row(at, word, 1);
	const vf c = float_row(at, word, 2), d = float_row(at, word, 3);
	const vf ab = FLOAT_LOW(a, b), cd = FLOAT_LOW(c, d);
	const vf ab2 = FLOAT_HIGH(a, b), cd2 = FLOAT_HIGH(c, d);

	to[0] = FLOAT_LOW2(ab, cd);
	to[1] = FLOAT_HIGH2(ab, cd);
	to[2] = FLOAT_LOW2(ab2, cd2);
	to[3] = FLOAT_HIGH2(ab2, cd2);
}

/* ---- preparation of triangles ---- */

/* Converts the triangles of a list to float faces in the frame, with their error bounds. */
static void
prepare_float_faces(const double *coords, const uint32_t *list, uint32_t n, const rb_frame *frame,
					rb_float_face *out)
{
	const v4 origin = {frame->origin[0], frame->origin[1], frame->origin[2], 0};
	const v4 scale = {frame->scale[0], frame->scale[1], frame->scale[2], 0};

	for (uint32_t i = 0; i < n; i++)
	{
		const double *p = coords + (size_t) (list[i] & RB_INDEX_MASK) * 9;
		const v4 a = load_point(p, 3, 3, 0), b = load_point(p, 3, 3, 1), c = load_point(p, 3, 3, 2);
		const v4 u = (b - a) * scale, v = (c - a) * scale;
		const v4 left = TURN4(u) * BACK4(v), right = BACK4(u) * TURN4(v);
		const v4 at = (a - origin) * scale;
		const v4 next = (b - origin) * scale, last = (c - origin) * scale;
		const v4 most = MAX4(MAX4(SIZE4(at), SIZE4(next)), SIZE4(last));
		const f4 normal = __builtin_convertvector(left - right, f4);
		const v4 rounded = __builtin_convertvector(normal, v4);
		const v4 permanent = SIZE4(left) + SIZE4(right), d = rounded * at;
		const f4 p0 = __builtin_convertvector(at, f4), p1 = __builtin_convertvector(next, f4);
		const f4 p2 = __builtin_convertvector(last, f4);
		const double most_xy = most[0] > most[1] ? most[0] : most[1];
		const double m = most_xy > most[2] ? most_xy : most[2];
		const double k =
			8 * RB_EPS_F * (SUM3(SIZE4(rounded)) + 0x1p-90) + 8 * RB_EPS * SUM3(permanent);
		rb_float_face *f = &out[i];

		/* Each store starts after the three numbers before it and overwrites the fourth. */
		memcpy(f->p, &p0, sizeof(p0));
		memcpy(f->p + 3, &p1, sizeof(p1));
		memcpy(f->p + 6, &p2, sizeof(p2));
		f->m = (float) m;
		f->k = (float) k;
		if (!(f->m <= RB_MAX_M_F))
			f->k = f->m = HUGE_VALF;
		memcpy(f->n, &normal, sizeof(normal));
		f->n[3] = -(float) SUM3(d);
	}
}

/* ---- extents along the diagonals ---- */

#ifdef __SSE2__
#define MIN_F4(a, b) ((f4) _mm_min_ps((__m128) (a), (__m128) (b)))
#define MAX_F4(a, b) ((f4) _mm_max_ps((__m128) (a), (__m128) (b)))
#else
#define PICK_F4(mask, a, b) ((f4) (((mask) & (i4) (a)) | (~(mask) & (i4) (b))))
#define MIN_F4(a, b) PICK_F4((a) < (b), a, b)
#define MAX_F4(a, b) PICK_F4((a) > (b), a, b)
#endif
#define ALL_F4(x) ((f4){x, x, x, x})
#define TURNED(x, sign) ((f4) ((i4) ALL_F4(x) ^ (sign)))

/* Returns four levels as the bytes of a word. */
static inline __attribute__((always_inline)) uint32_t
float_levels(f4 x)
{
	const i4 level = __builtin_convertvector(MIN_F4(MAX_F4(x, ALL_F4(0)), ALL_F4(127)), i4);
#ifdef __SSE2__
	const __m128i halves = _mm_packs_epi32((__m128i) level, (__m128i) level);

	return (uint32_t) _mm_cvtsi128_si32(_mm_packus_epi16(halves, halves));
#else
	return (uint32_t) level[0] | (uint32_t) level[1] << 8 | (uint32_t) level[2] << 16 |
		   (uint32_t) level[3] << 24;
#endif
}

/* Computes the extents of float faces along the four diagonals, for the k-DOP test. */
static void
compute_kdops(const rb_float_face *faces, uint32_t n, uint32_t *lo, uint32_t *hi)
{
	/* x + y + z, x + y - z, x - y + z, -x + y + z */
	const i4 sign_x = {0, 0, 0, INT32_MIN}, sign_y = {0, 0, INT32_MIN, 0};
	const i4 sign_z = {0, INT32_MIN, 0, 0};
	const f4 scale = ALL_F4(RB_KDOP_DIAGONAL), middle = ALL_F4(64);

	for (uint32_t i = 0; i < n; i++)
	{
		const float *p = faces[i].p;
		const float error = faces[i].m * 0x1p-15f + 0x1p-10f;
		f4 least = ALL_F4(0), most = ALL_F4(0);

		for (int c = 0; c < 3; c++)
		{
			const f4 v = TURNED(p[3 * c], sign_x) + TURNED(p[3 * c + 1], sign_y) +
						 TURNED(p[3 * c + 2], sign_z);

			least = c == 0 ? v : MIN_F4(least, v);
			most = c == 0 ? v : MAX_F4(most, v);
		}
		lo[i] = float_levels(least * scale + middle - ALL_F4(error));
		hi[i] = float_levels(most * scale + middle + ALL_F4(error)) | RB_KDOP_GUARDS_1;
		if (!(faces[i].m <= RB_MAX_M_F))
		{
			lo[i] = 0;
			hi[i] = UINT32_MAX;
		}
	}
}

/* ---- pairs ---- */

/* One triangle of each pair */
typedef struct rb_lanes
{
	vf p[12]; /* corners; k in p[9] and m in p[10] */
	vf n[4];
} rb_lanes;

/* Loads the triangles at[], transposed to one vector per word. */
static inline __attribute__((always_inline)) void
float_load(const float *const *at, rb_lanes *to)
{
	for (int word = 0; word < 12; word += 4)
		float_words(at, word, to->p + word);
	float_words(at, 12, to->n);
}

/*
 * Loads one side of the pairs if it has at most two distinct triangles, the first and the last one,
 * else returns false. Pairs of the same red triangle are adjacent, so this is the usual case.
 */
#ifdef RB_AVX512
/* Loads the red faces of a group of pairs if these are at most two faces, else returns false. */
static inline __attribute__((always_inline)) bool
float_load_two(const rb_float_face *faces, const uint32_t *pairs, rb_lanes *to)
{
	const __m512i number = _mm512_srli_epi32(_mm512_loadu_si512(pairs), 16);
	const uint32_t first = pairs[0] >> 16, last = pairs[FLOAT_LANES - 1] >> 16;
	const __mmask16 is_last = _mm512_cmpeq_epi32_mask(number, _mm512_set1_epi32((int) last));
	const __mmask16 is_first = _mm512_cmpeq_epi32_mask(number, _mm512_set1_epi32((int) first));
	const __m512 a = _mm512_load_ps(faces[first].p), b = _mm512_load_ps(faces[last].p);
	__m512i at = _mm512_maskz_set1_epi32(is_last, 16);

	if ((is_first | is_last) != 0xffff)
		return false;
	for (int word = 0; word < 16; word++)
	{
		vf *out = word < 12 ? &to->p[word] : &to->n[word - 12];

		*out = _mm512_permutex2var_ps(a, _mm512_add_epi32(at, _mm512_set1_epi32(word)), b);
	}
	return true;
}
#else
#define float_load_two(faces, pairs, to) false
#endif

/* Finds the corners that are proved to be above the plane, and those proved to be below it. */
static inline __attribute__((always_inline)) void
float_sides(const rb_lanes *plane, const rb_lanes *of, mf above[3], mf below[3])
{
	const vf bound = plane->p[9] * (plane->p[10] + of->p[10]) + FLOAT_ALL(0x1p-100f);

	for (int i = 0; i < 3; i++)
	{
		const vf s = plane->n[0] * of->p[3 * i] + plane->n[1] * of->p[3 * i + 1] +
					 plane->n[2] * of->p[3 * i + 2] + plane->n[3];

		above[i] = FLOAT_GREATER(s, bound);
		below[i] = FLOAT_GREATER(-bound, s);
	}
}

/*
 * Rotates a triangle whose signs are proved and not all equal, so that the corner that is alone on
 * its side comes first. The cyclic order does not change.
 */
static inline __attribute__((always_inline)) void
float_turn(const rb_lanes *of, const mf above[3], vf p[3], vf q[3], vf r[3])
{
	const mf first = (above[0] ^ above[1]) & (above[0] ^ above[2]);
	const mf second = (above[1] ^ above[0]) & (above[1] ^ above[2]);

	for (int a = 0; a < 3; a++)
	{
		const vf x = of->p[a], y = of->p[3 + a], z = of->p[6 + a];

		p[a] = FLOAT_PICK(first, x, FLOAT_PICK(second, y, z));
		q[a] = FLOAT_PICK(first, y, FLOAT_PICK(second, z, x));
		r[a] = FLOAT_PICK(first, z, FLOAT_PICK(second, x, y));
	}
}

/* Returns the lanes in which the lone corner is below the plane. */
static inline __attribute__((always_inline)) mf
float_two_above(const mf above[3])
{
	return (above[0] & above[1]) | (above[2] & (above[0] | above[1]));
}

/* Returns (v x t) . u. */
static inline __attribute__((always_inline)) vf
float_determinant(const vf v[3], const vf t[3], const vf u[3])
{
	return (v[1] * t[2] - v[2] * t[1]) * u[0] + (v[2] * t[0] - v[0] * t[2]) * u[1] +
		   (v[0] * t[1] - v[1] * t[0]) * u[2];
}

/*
 * Decides, for pairs with known signs, whether the intervals on the common line of the planes are
 * proved to overlap or proved to be disjoint.
 */
static inline __attribute__((always_inline)) void
float_intervals(const rb_lanes *red, const rb_lanes *blue, const mf red_above[3],
				const mf blue_above[3], mf *yes, mf *no)
{
	const mf red_below = float_two_above(red_above), blue_below = float_two_above(blue_above);
	const vf sum = red->p[10] + blue->p[10];
	const vf bound =
		FLOAT_ALL((float) (144 * RB_EPS_F)) * (sum * sum) * red->p[10] + FLOAT_ALL(0x1p-100f);
	vf p1[3], q1[3], r1[3], p2[3], q2[3], r2[3], v[3], t[3], u[3], t2[3], u2[3], d1, d2;

	float_turn(red, red_above, p1, q1, r1);
	float_turn(blue, blue_above, p2, q2, r2);
	for (int a = 0; a < 3; a++)
	{
		/* If the lone corner is below the other's plane, the other triangle is reversed. */
		const vf near1 = FLOAT_PICK(blue_below, r1[a], q1[a]);
		const vf far1 = FLOAT_PICK(blue_below, q1[a], r1[a]);
		const vf near2 = FLOAT_PICK(red_below, r2[a], q2[a]);
		const vf far2 = FLOAT_PICK(red_below, q2[a], r2[a]);

		v[a] = p2[a] - p1[a];
		t[a] = near2 - p1[a];
		u[a] = near1 - p1[a];
		t2[a] = far2 - p1[a];
		u2[a] = far1 - p1[a];
	}
	/* orient3d(p1, q1, p2, q2) and, with the sign reversed, orient3d(p1, r1, r2, p2) */
	d1 = float_determinant(v, t, u);
	d2 = float_determinant(v, t2, u2);
	*no = FLOAT_GREATER(d1, bound) | FLOAT_GREATER(-bound, d2);
	*yes = FLOAT_GREATER(-bound, d1) & FLOAT_GREATER(d2, bound);
}

/* Appends the pairs of the lanes whose bits are set, and returns their number. */
static inline __attribute__((always_inline)) uint32_t
float_append(uint32_t *out, unsigned bits, const uint32_t *pairs)
{
#ifdef RB_AVX512
	const __m512i all = _mm512_loadu_si512(pairs);

	_mm512_storeu_si512(out, _mm512_maskz_compress_epi32((__mmask16) bits, all));
	return (uint32_t) __builtin_popcount(bits);
#else
	uint32_t k = 0;

	for (int i = 0; i < FLOAT_LANES; i += 4)
		k += append_selected4(out + k, bits >> i & 15, 0, pairs + i);
	return k;
#endif
}

/* Tests pairs of float faces by plane sides and intervals. Returns the number of proved pairs. */
static uint32_t
test_float_pairs(const rb_float_face *red, const rb_float_face *blue, const uint32_t *pairs,
				 uint32_t n, uint32_t *yes, uint32_t *undecided, uint32_t *nundecided)
{
	uint32_t hits = 0, left = 0;

	for (uint32_t i = 0; i < n; i += FLOAT_LANES)
	{
		const float *r[FLOAT_LANES], *b[FLOAT_LANES]; /* faces, word by word */
		uint32_t last[FLOAT_LANES];
		const uint32_t *pair = pairs + i;
		unsigned lanes = (1u << FLOAT_LANES) - 1, compute_distances;
		mf above[2][3], below[2][3], known, sure, no;
		rb_lanes of_red, of_blue;

		if (n - i < FLOAT_LANES)
		{
			lanes = (1u << (n - i)) - 1;
			for (uint32_t k = 0; k < FLOAT_LANES; k++)
				last[k] = pair[k < n - i ? k : 0];
			pair = last;
		}
		for (int k = 0; k < FLOAT_LANES; k++)
			b[k] = (const float *) (blue + (pair[k] & 0xffff));
		float_load(b, &of_blue);
		if (!float_load_two(red, pair, &of_red))
		{
			for (int k = 0; k < FLOAT_LANES; k++)
				r[k] = (const float *) (red + (pair[k] >> 16));
			float_load(r, &of_red);
		}
		float_sides(&of_blue, &of_red, above[0], below[0]);
		float_sides(&of_red, &of_blue, above[1], below[1]);
		compute_distances = FLOAT_BITS(
			(above[0][0] & above[0][1] & above[0][2]) | (below[0][0] & below[0][1] & below[0][2]) |
			(above[1][0] & above[1][1] & above[1][2]) | (below[1][0] & below[1][1] & below[1][2]));
		lanes &= ~compute_distances;
		if (lanes == 0)
			continue;
		known = (above[0][0] | below[0][0]) & (above[0][1] | below[0][1]) &
				(above[0][2] | below[0][2]) & (above[1][0] | below[1][0]) &
				(above[1][1] | below[1][1]) & (above[1][2] | below[1][2]);
		float_intervals(&of_red, &of_blue, above[0], above[1], &sure, &no);
		sure &= known;
		no &= known;
		hits += float_append(yes + hits, FLOAT_BITS(sure) & lanes, pair);
		left += float_append(undecided + left, ~FLOAT_BITS(sure | no) & lanes, pair);
	}
	*nundecided = left;
	return hits;
}

#endif /* RB_JOIN_SIMD_FLOAT_H */
