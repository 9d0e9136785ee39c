/*
 * kdop.h
 *	  Computes the k-DOP of a triangle, its extents along seven directions, packed into two words
 *	  for each end.
 *
 * Two triangles of a volume mesh whose boxes overlap are apart more often than not, and half of
 * these pairs can be rejected by four more directions: the diagonals of the cell. (Convex hulls
 * with fixed directions, k-DOPs: J. Klosowski, M. Held, J. Mitchell, H. Sowizral, K. Zikan:
 * Efficient Collision Detection Using Bounding Volume Hierarchies of k-DOPs, 1998.)
 *
 * An extent is two small integers, the levels between which it lies in the cell's frame
 * (triangle_float.h); values far outside the cell are clamped. The levels of a triangle are fields
 * of a word, and above each field is a guard bit, which is set in the word of the upper ends. If
 * subtracting the lower ends of one triangle from the upper ends of the other leaves all guards
 * set, no upper end is below a lower end: two subtractions compare three or four directions at
 * once, both ways.
 *
 *		word 0		x, y, z: 9 bits and a guard each
 *		word 1		x + y + z, x + y - z, x - y + z, -x + y + z: 7 bits and a guard each
 *
 * The test never rejects a pair that meets: along each direction, a common point of two triangles
 * lies between the exact ends of both. The map to levels is monotone, and the levels are rounded
 * outward by more than all preceding errors: of a coordinate in the frame at most 1.001 e m (e =
 * 2^-24, m the largest magnitude of the triangle's floats), of a sum of three 9 e m in all, which
 * is less than 2^-15 m levels; and of the arithmetic of levels, less than 2^-13 of a level if not
 * clamped.
 *
 * For distances, the extents of both triangles are padded by half the distance times the length of
 * the direction.
 */
#ifndef RB_PRIMITIVE_KDOP_H
#define RB_PRIMITIVE_KDOP_H

#include "core/primitive/triangle_float.h"

typedef struct rb_kdop
{
	uint32_t lo[2];
	uint32_t hi[2]; /* upper ends, with guard bits */
} rb_kdop;

#define RB_KDOP_GUARDS_0 0x20080200u
#define RB_KDOP_GUARDS_1 0x80808080u

/*
 * Levels per unit of the frame, in which the cell is one to two units wide and a diagonal three
 * times that
 */
#define RB_KDOP_AXIS 256.0f
#define RB_KDOP_DIAGONAL 32.0f

/* Writes the fields of an extent; least and most are in units of the frame. */
RB_HOST_DEVICE void
rb_kdop_write_extent(rb_kdop *s, int word, int shift, float scale, float last, float least,
					 float most, float more)
{
	const float middle = 0.5f * (last + 1);
	const float lo = fminf(fmaxf(least * scale + middle - more, 0), last);
	const float hi = fminf(fmaxf(most * scale + middle + more, 0), last);

	s->lo[word] |= (uint32_t) (int32_t) lo << shift;
	s->hi[word] |= (uint32_t) (int32_t) hi << shift;
}

/*
 * Computes the k-DOP of a face. half is half of the distance of the predicate, 0 for intersection.
 */
RB_HOST_DEVICE void
rb_kdop_init(rb_kdop *s, const rb_face_f *f, float half)
{
	const float *p = f->p;
	const float error = f->m * 0x1p-15f + 0x1p-10f;

	s->lo[0] = s->lo[1] = 0;
	s->hi[0] = RB_KDOP_GUARDS_0;
	s->hi[1] = RB_KDOP_GUARDS_1;
	if (!(f->m <= RB_MAX_M_F))
	{
		s->hi[0] = RB_KDOP_GUARDS_0 | (RB_KDOP_GUARDS_0 - (RB_KDOP_GUARDS_0 >> 9));
		s->hi[1] = RB_KDOP_GUARDS_1 | (RB_KDOP_GUARDS_1 - (RB_KDOP_GUARDS_1 >> 7));
		return;
	}
	for (int a = 0; a < 3; a++)
		rb_kdop_write_extent(
			s, 0, 10 * a, RB_KDOP_AXIS, 511, fminf(p[a], fminf(p[3 + a], p[6 + a])),
			fmaxf(p[a], fmaxf(p[3 + a], p[6 + a])), error + half * (RB_KDOP_AXIS * 1.001f));
	for (int d = 0; d < 4; d++)
	{
		/* axis with a minus sign, or 3 if none */
		const int minus = d == 0 ? 3 : 3 - d;
		float v[3];

		for (int i = 0; i < 3; i++)
			v[i] = (minus == 0 ? -p[3 * i] : p[3 * i]) +
				   (minus == 1 ? -p[3 * i + 1] : p[3 * i + 1]) +
				   (minus == 2 ? -p[3 * i + 2] : p[3 * i + 2]);
		rb_kdop_write_extent(s, 1, 8 * d, RB_KDOP_DIAGONAL, 127, fminf(v[0], fminf(v[1], v[2])),
							 fmaxf(v[0], fmaxf(v[1], v[2])),
							 error + half * (RB_KDOP_DIAGONAL * 1.7337f));
	}
}

#endif /* RB_PRIMITIVE_KDOP_H */
