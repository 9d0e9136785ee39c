/*
 * simd_template.h
 *	  Implements simd.h. Each simd*.c file includes this file with its own name and instruction
 *	  set.
 *
 * Loops over the four lanes of a face are vectors of the compiler (two SSE2 operations or one of
 * AVX2): the three corners of a triangle are tested against a plane at once, without gathering.
 * With AVX-512, two faces or eight boxes are processed at once.
 *
 * Such loops end in a mask of bits by which lanes are selected. "#pragma omp simd" is not used: as
 * a reduction over bits, it makes gcc 12 execute 2.1 times the instructions in test_boxes_of_rows
 * (AVX2).
 */
#include "core/primitive/box.h"
#include "core/primitive/kdop.h"
#include "core/join/simd.h"

#include <string.h>

/* Suppress a warning about passing vectors to functions. All such functions are inlined. */
#pragma GCC diagnostic ignored "-Wpsabi"

typedef double v4 __attribute__((vector_size(32)));
typedef int64_t m4 __attribute__((vector_size(32)));

/* Loads four doubles from an address that is a multiple of 32. */
static inline __attribute__((always_inline)) v4
load_aligned4(const double *p)
{
	return *(const v4 *) __builtin_assume_aligned(p, 32);
}

/* Returns x in all four lanes. */
static inline __attribute__((always_inline)) v4
broadcast_double4(double x)
{
	return (v4){x, x, x, x};
}

/* Selects lanes by number from x, followed by y. */
#ifdef __clang__
#define SHUFFLE(lanes, x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#else
#define SHUFFLE(lanes, x, y, ...) __builtin_shuffle(x, y, (lanes){__VA_ARGS__})
#endif

#if defined(RB_AVX2) || defined(RB_AVX512)
#include <immintrin.h>

#define BITS4(mask) ((unsigned) _mm256_movemask_pd((__m256d) (mask)))
#define BITS2(mask) ((unsigned) _mm_movemask_pd((__m128d) (mask)))
#elif defined(__SSE2__)
#include <emmintrin.h>

typedef union rb_m4_halves
{
	m4 m;
	__m128d half[2];
} rb_m4_halves;

#define BITS2(mask) ((unsigned) _mm_movemask_pd((__m128d) (mask)))
#define BITS4(mask) sign_bits4((rb_m4_halves){(m4) (mask)}.half)

/* Returns the sign bits of four lanes, lane 0 in bit 0. */
static inline __attribute__((always_inline)) unsigned
sign_bits4(const __m128d half[2])
{
	return (unsigned) _mm_movemask_pd(half[0]) | (unsigned) _mm_movemask_pd(half[1]) << 2;
}
#else
#define BITS2(mask) ((unsigned) (((mask)[0] < 0) | ((mask)[1] < 0) << 1))
#define BITS4(mask) sign_bits4((m4) (mask))

/* Returns the sign bits. */
static inline __attribute__((always_inline)) unsigned
sign_bits4(m4 lane)
{
	return (lane[0] < 0) | (lane[1] < 0) << 1 | (lane[2] < 0) << 2 | (lane[3] < 0) << 3;
}
#endif

/* Lane-wise a < b ? a : b and a > b ? a : b, as the instructions define it */
#if defined(RB_AVX2) || defined(RB_AVX512)
#define MIN4(a, b) ((v4) _mm256_min_pd((__m256d) (a), (__m256d) (b)))
#define MAX4(a, b) ((v4) _mm256_max_pd((__m256d) (a), (__m256d) (b)))
#else
#define PICK4(mask, a, b) ((v4) (((mask) & (m4) (a)) | (~(mask) & (m4) (b))))
#define MIN4(a, b) PICK4((a) < (b), a, b)
#define MAX4(a, b) PICK4((a) > (b), a, b)
#endif

/* Loads four numbers from an unaligned address. */
static inline __attribute__((always_inline)) v4
load_unaligned4(const double *p)
{
	v4 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/*
 * Returns point k of an object, with 0 for a missing axis. The fourth lane of a 3D point is any
 * number of the object. Four numbers are loaded at once, but never beyond the end of the object:
 * its last point is loaded together with the number before it. An object has at least two points.
 */
static inline __attribute__((always_inline)) v4
load_point(const double *p, int points, int dims, int k)
{
	bool last = k == points - 1;
	v4 v = load_unaligned4(last ? p + points * dims - 4 : p + k * dims);

	if (dims == 2)
		return last ? (v4){v[2], v[3], 0, 0} : (v4){v[0], v[1], 0, 0};
	return last ? (v4){v[1], v[2], v[3], v[3]} : v;
}

/* Prefetch distance, in objects, since objects of a list lie anywhere in memory */
#define AHEAD 24

/* Computes the boxes of n objects with the given number of points and dimensions. */
static inline __attribute__((always_inline)) void
load_points(int points, int dims, const double *coords, const uint32_t *list, uint32_t first,
			uint32_t n, double (*lo)[4], double (*hi)[4])
{
	const int width = points * dims;

	for (uint32_t i = 0; i < n; i++)
	{
		size_t index = list != NULL ? list[i] & RB_INDEX_MASK : first + i;
		const double *p = coords + index * width;
		v4 min, max;

		if (list != NULL && i + AHEAD < n)
		{
			const double *ahead = coords + (size_t) (list[i + AHEAD] & RB_INDEX_MASK) * width;

			__builtin_prefetch(ahead);
			__builtin_prefetch(ahead + width - 1);
		}
		min = max = load_point(p, points, dims, 0);
		for (int k = 1; k < points; k++)
		{
			v4 x = load_point(p, points, dims, k);

			min = MIN4(min, x);
			max = MAX4(max, x);
		}
		*(v4 *) lo[i] = min;
		*(v4 *) hi[i] = max;
	}
}

/* Each shape has a loop in which its numbers of points and dimensions are constants. */
#define SHAPE(points, dims) ((points) << 2 | (dims))
#define LOAD(points, dims) load_points(points, dims, coords, list, first, n, lo, hi)

/* Loads the boxes of n objects of any kind that is joined. */
static void
load_boxes_of_objects(rb_kind kind, const double *coords, const uint32_t *list, uint32_t first,
					  uint32_t n, double (*lo)[4], double (*hi)[4])
{
	const int dims = rb_kind_dims(kind), points = rb_kind_points(kind);

	switch (SHAPE(points, dims))
	{
		case SHAPE(3, 3):
			LOAD(3, 3);
			break;
		case SHAPE(2, 3):
			LOAD(2, 3);
			break;
		case SHAPE(2, 2):
			LOAD(2, 2);
			break;
		default: /* RB_POINT3, which is never joined */
			for (uint32_t i = 0; i < n; i++)
				rb_kind_box(kind, coords, list != NULL ? list[i] & RB_INDEX_MASK : first + i, lo[i],
							hi[i]);
			break;
	}
}

typedef int32_t i4 __attribute__((vector_size(16)));

/* The parameters of rb_grid_cell for all axes */
typedef struct rb_map4
{
	v4 half_lo, scale, last;
} rb_map4;

/* Returns the cells of one corner of a box on all axes. */
static inline __attribute__((always_inline)) i4
cells_of_corner(const rb_map4 *map, const double *x)
{
	v4 t = (load_aligned4(x) * broadcast_double4(0.5) - map->half_lo) * map->scale;

	t = MAX4(t, broadcast_double4(0));
	t = MIN4(t, map->last);
	return __builtin_convertvector(t, i4);
}

/* Computes the range of grid cells that each box meets. */
static void
find_cells_of_boxes(const rb_grid *grid, const double (*lo)[4], const double (*hi)[4], uint32_t n,
					rb_range *out)
{
	const rb_map4 map = {{grid->half_lo[0], grid->half_lo[1], grid->half_lo[2], 0},
						 {grid->scale[0], grid->scale[1], grid->scale[2], 0},
						 {grid->n[0] - 1, grid->n[1] - 1, grid->n[2] - 1, 0}};

	for (uint32_t i = 0; i < n; i++)
	{
		*(i4 *) out[i].c0 = cells_of_corner(&map, lo[i]);
		*(i4 *) out[i].c1 = cells_of_corner(&map, hi[i]);
	}
}

/*
 * Appends the rows out of four whose bit is set. With AVX2 the rows are shuffled to the front and
 * always stored together, because the bits are hard to predict.
 */
#ifdef RB_AVX2
#define LANES(a, b, c, d)                                                                      \
	{                                                                                          \
		4 * a, 4 * a + 1, 4 * a + 2, 4 * a + 3, 4 * b, 4 * b + 1, 4 * b + 2, 4 * b + 3, 4 * c, \
			4 * c + 1, 4 * c + 2, 4 * c + 3, 4 * d, 4 * d + 1, 4 * d + 2, 4 * d + 3            \
	}

static const uint8_t front[16][16] __attribute__((aligned(16))) = {
	LANES(0, 0, 0, 0), LANES(0, 0, 0, 0), LANES(1, 0, 0, 0), LANES(0, 1, 0, 0),
	LANES(2, 0, 0, 0), LANES(0, 2, 0, 0), LANES(1, 2, 0, 0), LANES(0, 1, 2, 0),
	LANES(3, 0, 0, 0), LANES(0, 3, 0, 0), LANES(1, 3, 0, 0), LANES(0, 1, 3, 0),
	LANES(2, 3, 0, 0), LANES(0, 2, 3, 0), LANES(1, 2, 3, 0), LANES(0, 1, 2, 3)};

/* Appends those of four rows whose bits are set, each with the red number. Returns their number. */
static inline __attribute__((always_inline)) uint32_t
append_selected4(uint32_t *out, unsigned bits, uint32_t red, const uint32_t *local)
{
	__m128i rows = _mm_loadu_si128((const __m128i *) local);

	rows = _mm_shuffle_epi8(rows, _mm_load_si128((const __m128i *) front[bits]));
	_mm_storeu_si128((__m128i *) out, _mm_or_si128(rows, _mm_set1_epi32((int) red)));
	return (uint32_t) __builtin_popcount(bits);
}
#elif !defined(RB_AVX512)
/* Appends those of four rows whose bits are set, each with the red number. Returns their number. */
static inline __attribute__((always_inline)) uint32_t
append_selected4(uint32_t *out, unsigned bits, uint32_t red, const uint32_t *local)
{
	uint32_t k = 0;

	for (; bits != 0; bits &= bits - 1)
		out[k++] = red | local[__builtin_ctz(bits)];
	return k;
}
#endif

#ifndef RB_AVX512
typedef uint32_t u4 __attribute__((vector_size(16)));

/* Returns one bit for each of four 32-bit lanes that is true. */
static inline __attribute__((always_inline)) unsigned
bits_of4(i4 truth)
{
#if defined(RB_AVX2) || defined(__SSE2__)
	return (unsigned) _mm_movemask_ps((__m128) truth);
#else
	return (truth[0] & 1) | (truth[1] & 2) | (truth[2] & 4) | (truth[3] & 8);
#endif
}

/* Returns which of four rows have all required owner bits. */
static inline __attribute__((always_inline)) unsigned
owned_rows4(const uint32_t *starts, uint32_t need)
{
	const u4 needs = {need, need, need, need};

	return bits_of4((*(const u4 *) __builtin_assume_aligned(starts, 16) & needs) == needs);
}
#endif

#ifdef RB_AVX512
#define LE8(a, b) _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ)
#define APART 0x2a /* ~(a & b) & c */

/* Returns which of sixteen rows the k-DOP test does not reject. */
static inline __attribute__((always_inline)) unsigned
kdop_overlaps16(const rb_box_row *red, const rb_box_rows *rows, uint32_t i)
{
	const __m512i lo = _mm512_loadu_si512(rows->slab_lo + i);
	const __m512i hi = _mm512_loadu_si512(rows->slab_hi + i);
	const __m512i apart =
		_mm512_ternarylogic_epi32(_mm512_sub_epi32(hi, _mm512_set1_epi32((int) red->slab_lo)),
								  _mm512_sub_epi32(_mm512_set1_epi32((int) red->slab_hi), lo),
								  _mm512_set1_epi32((int) RB_KDOP_GUARDS_1), APART);

	return _mm512_testn_epi32_mask(apart, apart);
}

/* Returns which of eight rows the k-DOP test does not reject. */
static inline __attribute__((always_inline)) unsigned
kdop_overlaps8(const rb_box_row *red, const rb_box_rows *rows, uint32_t i)
{
	const __m256i lo = _mm256_loadu_si256((const __m256i *) (rows->slab_lo + i));
	const __m256i hi = _mm256_loadu_si256((const __m256i *) (rows->slab_hi + i));
	const __m256i apart =
		_mm256_ternarylogic_epi32(_mm256_sub_epi32(hi, _mm256_set1_epi32((int) red->slab_lo)),
								  _mm256_sub_epi32(_mm256_set1_epi32((int) red->slab_hi), lo),
								  _mm256_set1_epi32((int) RB_KDOP_GUARDS_1), APART);

	return _mm256_testn_epi32_mask(apart, apart);
}
#else
/* Returns which of four rows the k-DOP test does not reject. */
static inline __attribute__((always_inline)) unsigned
kdop_overlaps4(const rb_box_row *red, const rb_box_rows *rows, uint32_t i)
{
	const u4 lo = *(const u4 *) __builtin_assume_aligned(rows->slab_lo + i, 16);
	const u4 hi = *(const u4 *) __builtin_assume_aligned(rows->slab_hi + i, 16);
	const u4 guards = {RB_KDOP_GUARDS_1, RB_KDOP_GUARDS_1, RB_KDOP_GUARDS_1, RB_KDOP_GUARDS_1};
	const u4 left = (hi - red->slab_lo) & (red->slab_hi - lo) & guards;

	return bits_of4(left == guards);
}
#endif

/*
 * Appends the rows whose boxes overlap the red box, whose pairs this cell owns, and which the k-DOP
 * test does not reject if `slabs` is set.
 */
static inline __attribute__((always_inline)) uint32_t
select_overlapping_boxes(bool slabs, const rb_box_row *red, const rb_box_rows *rows, uint32_t first,
						 uint32_t end, uint32_t *out, rb_boxes_met *counts)
{
	const double *lo = red->lo, *hi = red->hi;
	/*
	 * The axes on which the red box does not start in this cell. A row must start in it on all of
	 * them.
	 */
	const uint32_t need = RB_STARTS_ALL & ~red->starts;
	/* Local copies are needed because the compiler cannot exclude that out overlaps the rows. */
	const double *row_lx = rows->lo[0], *row_ly = rows->lo[1], *row_lz = rows->lo[2];
	const double *row_hx = rows->hi[0], *row_hy = rows->hi[1], *row_hz = rows->hi[2];
	const uint32_t *row_starts = rows->starts, *row_local = rows->local;
	uint32_t all = 0, owned = 0;
	uint32_t k = 0;
#ifdef RB_AVX512
	const __m512d lx = _mm512_set1_pd(lo[0]), ly = _mm512_set1_pd(lo[1]),
				  lz = _mm512_set1_pd(lo[2]), hx = _mm512_set1_pd(hi[0]),
				  hy = _mm512_set1_pd(hi[1]), hz = _mm512_set1_pd(hi[2]);
	const __m512i tag = _mm512_set1_epi32((int) (red->local << 16)),
				  needs = _mm512_set1_epi32((int) need);
	unsigned keep = 0xffffu << (first & 7);
	uint32_t i = first & ~7u;

/* Compares eight rows with six independent comparisons. */
#define OVERLAP8(i)                                                                              \
	((unsigned) (LE8(_mm512_load_pd(row_lx + (i)), hx) & LE8(lx, _mm512_load_pd(row_hx + (i))) & \
				 LE8(_mm512_load_pd(row_ly + (i)), hy) & LE8(ly, _mm512_load_pd(row_hy + (i))) & \
				 LE8(_mm512_load_pd(row_lz + (i)), hz) & LE8(lz, _mm512_load_pd(row_hz + (i)))))

	for (; i + 8 < end; i += 16)
	{
		const __m512i local = _mm512_or_si512(_mm512_loadu_si512(row_local + i), tag);
		const __m512i missing = _mm512_andnot_si512(_mm512_loadu_si512(row_starts + i), needs);
		unsigned bits = (OVERLAP8(i) | OVERLAP8(i + 8) << 8) & keep;

		keep = 0xffff;
		all += (uint32_t) __builtin_popcount(bits);
		bits &= _mm512_testn_epi32_mask(missing, missing);
		if (slabs)
		{
			owned += (uint32_t) __builtin_popcount(bits);
			bits &= kdop_overlaps16(red, rows, i);
		}
		_mm512_storeu_si512(out + k, _mm512_maskz_compress_epi32((__mmask16) bits, local));
		k += (uint32_t) __builtin_popcount(bits);
	}
	if (i < end)
	{
		const __m256i local = _mm256_or_si256(_mm256_load_si256((const __m256i *) (row_local + i)),
											  _mm512_castsi512_si256(tag));
		const __m256i missing = _mm256_andnot_si256(
			_mm256_load_si256((const __m256i *) (row_starts + i)), _mm512_castsi512_si256(needs));
		unsigned bits = OVERLAP8(i) & keep;

		all += (uint32_t) __builtin_popcount(bits);
		bits &= _mm256_testn_epi32_mask(missing, missing);
		if (slabs)
		{
			owned += (uint32_t) __builtin_popcount(bits);
			bits &= kdop_overlaps8(red, rows, i);
		}
		_mm256_storeu_si256((__m256i *) (out + k),
							_mm256_maskz_compress_epi32((__mmask8) bits, local));
		k += (uint32_t) __builtin_popcount(bits);
	}
#else
	const v4 lx = broadcast_double4(lo[0]), ly = broadcast_double4(lo[1]),
			 lz = broadcast_double4(lo[2]), hx = broadcast_double4(hi[0]),
			 hy = broadcast_double4(hi[1]), hz = broadcast_double4(hi[2]);
	unsigned keep = 0xfu << (first & 3);

	for (uint32_t i = first & ~3u; i < end; i += 4)
	{
		m4 overlap = (load_aligned4(row_lx + i) <= hx) & (load_aligned4(row_hx + i) >= lx) &
					 (load_aligned4(row_ly + i) <= hy) & (load_aligned4(row_hy + i) >= ly) &
					 (load_aligned4(row_lz + i) <= hz) & (load_aligned4(row_hz + i) >= lz);
		unsigned bits = BITS4(overlap) & keep;

		keep = 0xf;
		all += (uint32_t) __builtin_popcount(bits);
		bits &= owned_rows4(row_starts + i, need);
		if (slabs)
		{
			owned += (uint32_t) __builtin_popcount(bits);
			bits &= kdop_overlaps4(red, rows, i);
		}
		k += append_selected4(out + k, bits, red->local << 16, row_local + i);
	}
#endif
	counts->overlaps += all;
	counts->owned += slabs ? owned : k;
	return k;
}

/*
 * Selects the boxes of `rows` from `first` to `end` that overlap the box `red`; returns their
 * number.
 */
static uint32_t
test_boxes_of_rows(const rb_box_row *red, const rb_box_rows *rows, uint32_t first, uint32_t end,
				   uint32_t *out, rb_boxes_met *counts)
{
	return rows->slabs ? select_overlapping_boxes(true, red, rows, first, end, out, counts)
					   : select_overlapping_boxes(false, red, rows, first, end, out, counts);
}

/*
 * True unless all corners are proved to be on one side. Bits 3 and 7, of the fourth lane, are
 * ignored.
 */
#define MIXED(s) (((s) &0x77) != 0x07 && ((s) &0x77) != 0x70)
#define MIXED4(s) MIXED(s), MIXED(s + 1), MIXED(s + 2), MIXED(s + 3)
#define MIXED16(s) MIXED4(s), MIXED4(s + 4), MIXED4(s + 8), MIXED4(s + 12)
#define MIXED64(s) MIXED16(s), MIXED16(s + 16), MIXED16(s + 32), MIXED16(s + 48)

static const uint8_t mixed[256] = {MIXED64(0), MIXED64(64), MIXED64(128), MIXED64(192)};

/*
 * A plane (n, a), tested against corners p for rb_sided. The operands of a plane or of a face stay
 * in registers while a run of pairs shares them.
 */
typedef struct rb_plane4
{
	v4 ax, ay, az, nx, ny, nz;
	double k;
	double ke;
	double margin;
} rb_plane4;

#define PLANE4(f)                                                                             \
	((rb_plane4){broadcast_double4((f)->x[0]), broadcast_double4((f)->y[0]),                  \
				 broadcast_double4((f)->z[0]), broadcast_double4((f)->x[3]),                  \
				 broadcast_double4((f)->y[3]), broadcast_double4((f)->z[3]), (f)->k, (f)->ke, \
				 (f)->margin})

/*
 * Returns the sides of three corners against a plane as in rb_sided. If `near`, *far has the sides
 * of corners that are beyond the margin, else all sides.
 */
static inline __attribute__((always_inline)) unsigned
plane_sides(bool near, const rb_plane4 *f, const v4 p[3], double e, unsigned *far)
{
	v4 d = (p[0] - f->ax) * f->nx + (p[1] - f->ay) * f->ny + (p[2] - f->az) * f->nz;
	double bound = f->ke + f->k * e;
	/* A NaN compares false on both sides, so the corner may be on either. */
	unsigned sides =
		0xff ^ (BITS4(d < broadcast_double4(-bound)) | BITS4(d > broadcast_double4(bound)) << 4);

	bound += f->margin;
	*far = near ? 0xff ^ (BITS4(d < broadcast_double4(-bound)) | BITS4(d > broadcast_double4(bound))
																	 << 4)
				: sides;
	return sides;
}

#ifdef RB_AVX512
/* Combines two pairs in one vector. The sides of the second pair are in the second byte. */
#define TWO(a, b) _mm512_insertf64x4(_mm512_castpd256_pd512((__m256d) (a)), (__m256d) (b), 1)

typedef struct rb_plane8
{
	__m512d ax, ay, az, nx, ny, nz, k, ke, margin;
} rb_plane8;

#define PLANE8(f, g)                                                                  \
	((rb_plane8){TWO((f)->ax, (g)->ax), TWO((f)->ay, (g)->ay), TWO((f)->az, (g)->az), \
				 TWO((f)->nx, (g)->nx), TWO((f)->ny, (g)->ny), TWO((f)->nz, (g)->nz), \
				 TWO(broadcast_double4((f)->k), broadcast_double4((g)->k)),           \
				 TWO(broadcast_double4((f)->ke), broadcast_double4((g)->ke)),         \
				 TWO(broadcast_double4((f)->margin), broadcast_double4((g)->margin))})

/* Returns the sides of two pairs' corners, given their determinants and error bounds. */
static inline __attribute__((always_inline)) unsigned
two_sides(__m512d d, __m512d bound)
{
	unsigned below = _mm512_cmp_pd_mask(d, -bound, _CMP_LT_OQ);
	unsigned above = _mm512_cmp_pd_mask(d, bound, _CMP_GT_OQ);

	return 0xffff ^
		   ((below & 0xf) | (below & 0xf0) << 4 | (above & 0xf) << 4 | (above & 0xf0) << 8);
}

/* Returns what plane_sides returns, for two pairs at once. */
static inline __attribute__((always_inline)) unsigned
two_plane_sides(bool near, const rb_plane8 *f, const __m512d p[3], __m512d e, unsigned *far)
{
	__m512d x = _mm512_mul_pd(_mm512_sub_pd(p[0], f->ax), f->nx);
	__m512d y = _mm512_mul_pd(_mm512_sub_pd(p[1], f->ay), f->ny);
	__m512d z = _mm512_mul_pd(_mm512_sub_pd(p[2], f->az), f->nz);
	__m512d d = _mm512_add_pd(_mm512_add_pd(x, y), z);
	__m512d bound = _mm512_add_pd(f->ke, _mm512_mul_pd(f->k, e));
	unsigned sides = two_sides(d, bound);

	*far = near ? two_sides(d, _mm512_add_pd(bound, f->margin)) : sides;
	return sides;
}
#endif

/*
 * Drops pairs that a plane separates. If `near`, drops only pairs that a plane separates by more
 * than the margin.
 */
static inline __attribute__((always_inline)) uint32_t
select_by_plane_sides(bool near, const rb_plane_face *red, const rb_plane_face *blue,
					  const uint32_t *pairs, uint32_t n, rb_sided *out)
{
	uint32_t kept = 0;
	uint32_t k = 0;
	unsigned far;

	/*
	 * Both loops append without branches, since the result of the plane test is hard to predict.
	 * Pairs of the same red triangle are adjacent.
	 */
	for (uint32_t i = 0; i < n;)
	{
		uint32_t r = pairs[i] >> 16;
		rb_plane4 f = PLANE4(red + r);

#ifdef RB_AVX512
		const rb_plane8 ff = PLANE8(&f, &f);

		for (; i + 1 < n && pairs[i] >> 16 == r && pairs[i + 1] >> 16 == r; i += 2)
		{
			const rb_plane_face *b = blue + (pairs[i] & 0xffff);
			const rb_plane_face *c = blue + (pairs[i + 1] & 0xffff);
			const __m512d p[3] = {TWO(load_aligned4(b->x), load_aligned4(c->x)),
								  TWO(load_aligned4(b->y), load_aligned4(c->y)),
								  TWO(load_aligned4(b->z), load_aligned4(c->z))};
			unsigned s = two_plane_sides(
				near, &ff, p, TWO(broadcast_double4(b->e), broadcast_double4(c->e)), &far);

			out[kept].pair = pairs[i];
			out[kept].blue_sides = (uint8_t) s;
			kept += mixed[far & 0xff];
			out[kept].pair = pairs[i + 1];
			out[kept].blue_sides = (uint8_t) (s >> 8);
			kept += mixed[far >> 8];
		}
#endif
		for (; i < n && pairs[i] >> 16 == r; i++)
		{
			const rb_plane_face *b = blue + (pairs[i] & 0xffff);
			const v4 p[3] = {load_aligned4(b->x), load_aligned4(b->y), load_aligned4(b->z)};
			unsigned s = plane_sides(near, &f, p, b->e, &far);

			out[kept].pair = pairs[i];
			out[kept].blue_sides = (uint8_t) s;
			kept += mixed[far];
		}
	}
	for (uint32_t i = 0; i < kept;)
	{
		uint32_t r = out[i].pair >> 16;
		const v4 p[3] = {load_aligned4(red[r].x), load_aligned4(red[r].y), load_aligned4(red[r].z)};
		double e = red[r].e;

#ifdef RB_AVX512
		const __m512d pp[3] = {TWO(p[0], p[0]), TWO(p[1], p[1]), TWO(p[2], p[2])};
		const __m512d ee = _mm512_set1_pd(e);

		for (; i + 1 < kept && out[i].pair >> 16 == r && out[i + 1].pair >> 16 == r; i += 2)
		{
			rb_sided a = out[i], b = out[i + 1];
			rb_plane4 f = PLANE4(blue + (a.pair & 0xffff));
			rb_plane4 g = PLANE4(blue + (b.pair & 0xffff));
			rb_plane8 fg = PLANE8(&f, &g);
			unsigned s = two_plane_sides(near, &fg, pp, ee, &far);

			a.red_sides = (uint8_t) s;
			out[k] = a;
			k += mixed[far & 0xff];
			b.red_sides = (uint8_t) (s >> 8);
			out[k] = b;
			k += mixed[far >> 8];
		}
#endif
		for (; i < kept && out[i].pair >> 16 == r; i++)
		{
			uint32_t pair = out[i].pair;
			rb_plane4 f = PLANE4(blue + (pair & 0xffff));
			unsigned s = plane_sides(near, &f, p, e, &far);

			out[k].pair = pair;
			out[k].blue_sides = out[i].blue_sides;
			out[k].red_sides = (uint8_t) s;
			k += mixed[far];
		}
	}
	return k;
}

/* Selects the pairs that plane sides cannot separate, for closed triangles. */
static uint32_t
test_sides(const rb_plane_face *red, const rb_plane_face *blue, const uint32_t *pairs, uint32_t n,
		   rb_sided *out)
{
	return select_by_plane_sides(false, red, blue, pairs, n, out);
}

/* Selects the pairs that no plane separates by more than the margin, for a distance. */
static uint32_t
sides_near(const rb_plane_face *red, const rb_plane_face *blue, const uint32_t *pairs, uint32_t n,
		   rb_sided *out)
{
	return select_by_plane_sides(true, red, blue, pairs, n, out);
}

/*
 * Table of the corner that is alone on its closed side of the other's plane, for three proved
 * signs, plus 4 if that is the negative side (triangle.h, rb_lone_corner). The entry is NONE if
 * all signs are zero.
 */
#define NONE 8
#define AT(bit) ((bit) >> 1)
#define ONE(bits) ((bits) == 1 || (bits) == 2 || (bits) == 4)
#define LONE(above, below)                                                                   \
	(ONE(above)                      ? AT(above)                                             \
	 : ONE(below)                    ? 4 | AT(below)                                         \
	 : (above) == 0 && (below) == 0  ? NONE                                                  \
	 : ONE(7 & ~((above) | (below))) ? ((above) != 0 ? 4 : 0) | AT(7 & ~((above) | (below))) \
									 : 0)
#define LONE8(b) \
	LONE(0, b), LONE(1, b), LONE(2, b), LONE(3, b), LONE(4, b), LONE(5, b), LONE(6, b), LONE(7, b)

static const uint8_t lone[64] = {LONE8(0), LONE8(1), LONE8(2), LONE8(3),
								 LONE8(4), LONE8(5), LONE8(6), LONE8(7)};

/* Returns the corner that is alone on its side of the plane, from the bits of both signs. */
static inline unsigned
lone_corner_of_sides(unsigned sides)
{
	return lone[(sides & 7) | (sides >> 1 & 070)];
}

/*
 * Table of the corners p, q, r of red and of blue in the order of the interval test: the lone
 * corner p comes first, and if it is on the negative side, the other triangle is reversed
 * (rb_intervals_overlap).
 */
#define NEXT(p) ((p) == 2 ? 0 : (p) + 1)
#define CORNERS(p, turn) (p), (turn) ? NEXT(NEXT(p)) : NEXT(p), (turn) ? NEXT(p) : NEXT(NEXT(p))
#define ORDER(r, b)                                      \
	{                                                    \
		CORNERS((r) &3, (b) &4), CORNERS((b) &3, (r) &4) \
	}
#define ORDER8(r)                                                                              \
	ORDER(r, 0), ORDER(r, 1), ORDER(r, 2), ORDER(r, 0), ORDER(r, 4), ORDER(r, 5), ORDER(r, 6), \
		ORDER(r, 4)

static const uint8_t order[64][6] = {ORDER8(0), ORDER8(1), ORDER8(2), ORDER8(0),
									 ORDER8(4), ORDER8(5), ORDER8(6), ORDER8(4)};

typedef double v2 __attribute__((vector_size(16)));
typedef int64_t m2 __attribute__((vector_size(16)));

/* A coordinate of two corners minus that of a third */
#define LESS(f, c, i, j, from) ((v2){(f)->c[i], (f)->c[j]} - (v2){from, from})
#define ALL2(x) ((v2){x, x})

/* The lanes, out of two, in which all three values are 0 */
#define ZEROS(x, y, z) (((v2) ((m2) (x) | (m2) (y) | (m2) (z))) == ALL2(0))

/*
 * Sorts pairs by whether the intervals of their triangles on the common line overlap: proved ones
 * go to yes, undecided ones to undecided.
 */
static inline __attribute__((always_inline)) uint32_t
select_by_intervals(bool near, bool closed, const rb_plane_face *red, const rb_plane_face *blue,
					const rb_sided *in, uint32_t n, uint32_t *yes, rb_sided *undecided,
					uint32_t *nundecided)
{
	const m2 second = {0, INT64_MIN};
	uint32_t hits = 0;
	uint32_t left = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		rb_sided pair = in[i];
		const rb_plane_face *r = red + (pair.pair >> 16);
		const rb_plane_face *b = blue + (pair.pair & 0xffff);
		const unsigned rs = pair.red_sides, bs = pair.blue_sides;
		const unsigned lone_r = lone_corner_of_sides(rs), lone_b = lone_corner_of_sides(bs);
		const uint8_t *o = order[(lone_r & 7) << 3 | (lone_b & 7)];
		/*
		 * True if all signs are known. If closed, zeros are allowed, but neither triangle may lie
		 * in the other's plane.
		 */
		unsigned known =
			closed ? !(((rs & rs >> 4) | (bs & bs >> 4)) & 7) & !((lone_r | lone_b) & NONE)
				   : rb_sides_proved(rs) & rb_sides_proved(bs);
		double e = r->e + b->e;
		double bound = 64 * RB_EPS * r->e * (e * e + 0x1p-1000) + RB_TINY;
		double x = r->x[o[0]], y = r->y[o[0]], z = r->z[o[0]];
		double vx = b->x[o[3]] - x, vy = b->y[o[3]] - y, vz = b->z[o[3]] - z;
		v2 ux = LESS(r, x, o[1], o[2], x), uy = LESS(r, y, o[1], o[2], y),
		   uz = LESS(r, z, o[1], o[2], z);
		v2 tx = LESS(b, x, o[4], o[5], x), ty = LESS(b, y, o[4], o[5], y),
		   tz = LESS(b, z, o[4], o[5], z);

		/*
		 * orient3d(p1, q1, p2, q2) and, with the sign reversed, orient3d(p1, r1, r2, p2): u . (v x
		 * t)
		 */
		v2 d = (ALL2(vy) * tz - ALL2(vz) * ty) * ux + (ALL2(vz) * tx - ALL2(vx) * tz) * uy +
			   (ALL2(vx) * ty - ALL2(vy) * tx) * uz;
		m2 above, below;
		unsigned no, sure;

		d = (v2) ((m2) d ^ second);
		above = d > ALL2(bound);
		below = d < ALL2(-bound);
		/*
		 * four points that share a coordinate are coplanar, so the ends of two intervals coincide
		 */
		if (closed)
			below |= ZEROS(ux, ALL2(vx), tx) | ZEROS(uy, ALL2(vy), ty) | ZEROS(uz, ALL2(vz), tz);
		no = known & (BITS2(above) != 0);
		sure = known & (BITS2(below) == 3);
		if (near) /* a plane may separate the two triangles */
		{
			no |= !(mixed[pair.blue_sides] & mixed[pair.red_sides]);
			sure &= !no;
			pair.apart = (uint8_t) no;
		}
		yes[hits] = pair.pair;
		hits += sure;
		undecided[left] = pair;
		left += near ? !sure : !(no | sure);
	}
	*nundecided = left;
	return hits;
}

/*
 * Returns true if there are one or two corners that are not common, and they are proved to be on
 * one side.
 */
static inline __attribute__((always_inline)) bool
are_others_beside_plane(unsigned common, unsigned sides)
{
	const unsigned others = 7 & ~common;
	const unsigned above = sides & others, below = sides >> 4 & others;

	return (common != 0) & (others != 0) &
		   (((above == others) & (below == 0)) | ((above == 0) & (below == others)));
}

/* Returns the common corners: a bit for each of red's, then for each of blue's. */
static inline __attribute__((always_inline)) unsigned
common_corners_of_faces(const rb_plane_face *r, const rb_plane_face *b)
{
	const v4 x = load_aligned4(b->x), y = load_aligned4(b->y), z = load_aligned4(b->z);
	unsigned of_red = 0, of_blue = 0;

	for (int c = 0; c < 3; c++)
	{
		const m4 equal = (x == broadcast_double4(r->x[c])) & (y == broadcast_double4(r->y[c])) &
						 (z == broadcast_double4(r->z[c]));
		const unsigned bits = BITS4(equal) & 7;

		of_blue |= bits;
		of_red |= (unsigned) (bits != 0) << c;
	}
	return of_red | of_blue << 3;
}

/* Drops pairs of triangles that are proved to share only their common corners and edge. */
static uint32_t
drop_pairs_of_neighbors(const rb_plane_face *red, const rb_plane_face *blue, rb_sided *pairs,
						uint32_t n)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		const rb_sided pair = pairs[i];
		unsigned common = 0;

		/* A common corner is in both planes, so it cannot be proved to be off either. */
		if (!rb_sides_proved(pair.red_sides) && !rb_sides_proved(pair.blue_sides))
			common = common_corners_of_faces(red + (pair.pair >> 16), blue + (pair.pair & 0xffff));
		pairs[k] = pair;
		pairs[k].common = (uint8_t) common;
		k += !(are_others_beside_plane(common >> 3, pair.blue_sides) |
			   are_others_beside_plane(common & 7, pair.red_sides));
	}
	return k;
}

/* Moves pairs with a common corner, which meet, to yes, and returns their number. */
static uint32_t
accept_pairs_of_neighbors(const rb_plane_face *red, const rb_plane_face *blue, rb_sided *pairs,
						  uint32_t *n, uint32_t *yes)
{
	uint32_t hits = 0, left = 0;

	for (uint32_t i = 0; i < *n; i++)
	{
		const rb_sided pair = pairs[i];
		bool common =
			!rb_sides_proved(pair.red_sides) && !rb_sides_proved(pair.blue_sides) &&
			common_corners_of_faces(red + (pair.pair >> 16), blue + (pair.pair & 0xffff)) != 0;

		yes[hits] = pair.pair;
		hits += common;
		pairs[left] = pair;
		left += !common;
	}
	*n = left;
	return hits;
}

/* Runs the interval test on pairs; if `closed`, a common corner is a match, too. */
static uint32_t
test_intervals(bool closed, const rb_plane_face *red, const rb_plane_face *blue, const rb_sided *in,
			   uint32_t n, uint32_t *yes, rb_sided *undecided, uint32_t *nundecided)
{
	uint32_t hits;

	if (!closed)
		return select_by_intervals(false, false, red, blue, in, n, yes, undecided, nundecided);
	hits = select_by_intervals(false, true, red, blue, in, n, yes, undecided, nundecided);
	return hits + accept_pairs_of_neighbors(red, blue, undecided, nundecided, yes + hits);
}

/* Decides by intervals which pairs are within the distance, and which remain undecided. */
static uint32_t
intervals_near(const rb_plane_face *red, const rb_plane_face *blue, const rb_sided *in, uint32_t n,
			   uint32_t *yes, rb_sided *undecided, uint32_t *nundecided)
{
	return select_by_intervals(true, false, red, blue, in, n, yes, undecided, nundecided);
}

/* ---- preparation of triangles ---- */

#define SUM3(x) ((x)[0] + (x)[1] + (x)[2])
#define SIZE4(x) ((v4) ((m4) (x) &INT64_MAX))
#define TURN4(x) SHUFFLE(m4, x, x, 1, 2, 0, 3) /* y, z, x */
#define BACK4(x) SHUFFLE(m4, x, x, 2, 0, 1, 3) /* z, x, y */

/* Computes what rb_face_init computes without a margin, with bit-identical results. */
static void
prepare_faces(const double *coords, const uint32_t *list, uint32_t n, const double (*lo)[4],
			  const double (*hi)[4], rb_plane_face *out)
{
	for (uint32_t i = 0; i < n; i++)
	{
		const double *p = coords + (size_t) (list[i] & RB_INDEX_MASK) * 9;
		const v4 a = load_point(p, 3, 3, 0), b = load_point(p, 3, 3, 1), c = load_point(p, 3, 3, 2);
		const v4 u = b - a, v = c - a, w = load_aligned4(hi[i]) - load_aligned4(lo[i]);
		const v4 left = TURN4(u) * BACK4(v), right = BACK4(u) * TURN4(v);
		const v4 normal = left - right, sizes = SIZE4(left) + SIZE4(right);
		const v4 ab = SHUFFLE(m4, a, b, 0, 4, 2, 6);
		const v4 ab1 = SHUFFLE(m4, a, b, 1, 5, 3, 7);
		const v4 cn = SHUFFLE(m4, c, normal, 0, 4, 2, 6);
		const v4 cn1 = SHUFFLE(m4, c, normal, 1, 5, 3, 7);
		const v4 zero = (v4) ((m4) u | (m4) v);
		const unsigned flat = BITS4(zero == broadcast_double4(0)) & 7;
		const double permanent = SUM3(sizes), widest = w[0] > w[1] ? w[0] : w[1];
		rb_plane_face *f = &out[i];

		*(v4 *) f->x = SHUFFLE(m4, ab, cn, 0, 1, 4, 5);
		*(v4 *) f->y = SHUFFLE(m4, ab1, cn1, 0, 1, 4, 5);
		*(v4 *) f->z = SHUFFLE(m4, ab, cn, 2, 3, 6, 7);
		rb_face_bounds(f, widest > w[2] ? widest : w[2], permanent);
		if (flat != 0)
			rb_face_flat(f, flat >= 4 ? 2 : flat >> 1, permanent);
	}
}

#ifdef RB_AVX512
#include "core/join/simd_touch.h"
#else
/*
 * Decides pairs that may share only a point of their boundaries; pairs of neighbors remain
 * undecided.
 */
static uint32_t
test_touching(const rb_plane_face *red, const rb_plane_face *blue, const uint32_t *pairs,
			  uint32_t n, rb_sided *room, uint32_t *yes, rb_sided *undecided, uint32_t *nundecided)
{
	return test_intervals(true, red, blue, room, test_sides(red, blue, pairs, n, room), yes,
						  undecided, nundecided);
}
#endif

#include "core/join/simd_float.h"

/* ---- distances, one pair per lane ---- */

#ifdef RB_AVX512
#define NEAR_LANES 8
#define NEAR_ALL(x) ((vn){x, x, x, x, x, x, x, x})
typedef __m512d vn;
typedef __mmask8 mn;

#define NEAR_BITS(mask) ((unsigned) (mask))
#define RB_NEAR_MIN(x, y) _mm512_min_pd(x, y)
#define RB_NEAR_MAX(x, y) _mm512_max_pd(x, y)
#define RB_NEAR_ABS(x) _mm512_abs_pd(x)
#define RB_NEAR_LESS(x, y, a, b) _mm512_mask_blend_pd(_mm512_cmp_pd_mask(x, y, _CMP_LT_OQ), b, a)
#define RB_NEAR_GREATER(x, y) _mm512_cmp_pd_mask(x, y, _CMP_GT_OQ)
#else
#define NEAR_LANES 4
#define NEAR_ALL(x) broadcast_double4(x)
typedef v4 vn;
typedef unsigned mn;

#define NEAR_BITS(mask) (mask)
#define RB_NEAR_MIN(x, y) MIN4(x, y)
#define RB_NEAR_MAX(x, y) MAX4(x, y)
#define RB_NEAR_ABS(x) ((v4) ((m4) (x) &INT64_MAX))
#ifdef RB_AVX2
#define RB_NEAR_LESS(x, y, a, b) \
	((v4) _mm256_blendv_pd((__m256d) (b), (__m256d) (a), (__m256d) ((x) < (y))))
#else
#define RB_NEAR_LESS(x, y, a, b) PICK4((x) < (y), a, b)
#endif
#define RB_NEAR_GREATER(x, y) BITS4((x) > (y))
#endif

#define RB_NEAR_NAME near_lanes
#define RB_NEAR_FACE near_face
#define RB_NEAR_FUNCTION static inline __attribute__((always_inline))
#define RB_NEAR_REAL vn
#define RB_NEAR_MASK mn
#define RB_NEAR_ALL(x) NEAR_ALL(x)
#define RB_NEAR_OVER(x) (NEAR_ALL(1.0) / (x))
#define RB_NEAR_FMA(a, b, c) ((a) * (b) + (c))
#define RB_NEAR_EPS RB_EPS
#define RB_NEAR_HUGE HUGE_VAL
#define RB_NEAR_SQUARE_LEAST 0x1p-400
#define RB_NEAR_MOST_LEAST 0x1p-200
#define RB_NEAR_FLOOR 0x1p-1000
#include "core/primitive/distance_simd.h"

/* Maximum magnitude for which the square of a square stays finite */
#define NEAR_SIZE_MOST 0x1p100

/* Loads the corners relative to red's first corner, which rounds each difference once. */
static inline __attribute__((always_inline)) void
load_corners_of_near_pairs(const rb_plane_face *red, const rb_plane_face *blue,
						   const rb_sided *pairs, vn *r, vn *b, vn *size)
{
	double c[18][NEAR_LANES] __attribute__((aligned(64)));

	for (int i = 0; i < NEAR_LANES; i++)
		for (int side = 0; side < 2; side++)
		{
			const rb_plane_face *f =
				side == 0 ? red + (pairs[i].pair >> 16) : blue + (pairs[i].pair & 0xffff);

			for (int k = 0; k < 3; k++)
			{
				c[9 * side + 3 * k][i] = f->x[k];
				c[9 * side + 3 * k + 1][i] = f->y[k];
				c[9 * side + 3 * k + 2][i] = f->z[k];
			}
		}
	*size = NEAR_ALL(0.0);
	for (int k = 0; k < 9; k++)
	{
		const vn origin = *(const vn *) c[k % 3];

		r[k] = *(const vn *) c[k] - origin;
		b[k] = *(const vn *) c[9 + k] - origin;
	}
	for (int k = 0; k < 9; k++)
	{
		*size = RB_NEAR_MAX(RB_NEAR_ABS(r[k]), *size);
		*size = RB_NEAR_MAX(RB_NEAR_ABS(b[k]), *size);
	}
	*size = RB_NEAR_LESS(NEAR_ALL(NEAR_SIZE_MOST), *size, NEAR_ALL(HUGE_VAL), *size);
}

/* Drops pairs farther apart than the distance, and moves those proved to be within it to yes. */
static uint32_t
test_within(const rb_plane_face *red, const rb_plane_face *blue, rb_sided *pairs, uint32_t *n,
			double distance, uint32_t *yes)
{
	const double square = distance * distance * (1 + 40 * RB_EPS) + 0x1p-1000;
	const vn distances = NEAR_ALL(distance), squares = NEAR_ALL(square);
	uint32_t hits = 0, left = 0;

	for (uint32_t i = 0; i < *n; i += NEAR_LANES)
	{
		const uint32_t lanes = *n - i < NEAR_LANES ? *n - i : NEAR_LANES;
		rb_sided p[NEAR_LANES];
		vn r[9], b[9], size;
		mn far, within;

		for (uint32_t k = 0; k < NEAR_LANES; k++)
			p[k] = pairs[i + (k < lanes ? k : 0)];
		load_corners_of_near_pairs(red, blue, p, r, b, &size);
		near_lanes(r, b, &size, &distances, &squares, &far, &within);
		for (uint32_t k = 0; k < lanes; k++)
		{
			const unsigned sure = NEAR_BITS(within) >> k & p[k].apart;

			yes[hits] = p[k].pair;
			hits += sure;
			pairs[left] = p[k];
			left += !(sure | (NEAR_BITS(far) >> k & 1));
		}
	}
	*n = left;
	return hits;
}

#if defined(RB_AVX2) || defined(RB_AVX512)
#include "core/join/simd_distance.h"
#else
#define compute_distances NULL
#endif

const rb_kernel RB_KERNEL = {
	RB_KERNEL_NAME,      load_boxes_of_objects, find_cells_of_boxes,     test_boxes_of_rows,
	prepare_float_faces, compute_kdops,         test_float_pairs,        prepare_faces,
	test_sides,          test_intervals,        test_touching,           sides_near,
	intervals_near,      test_within,           drop_pairs_of_neighbors, compute_distances};
