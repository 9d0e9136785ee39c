/*
 * simd_distance.h
 *	  Computes the double nearest to the distance of two triangles that do not meet, one pair per
 *	  lane. It is included by simd_template.h if vectors can select lanes at no cost; otherwise one
 *	  pair at a time is faster.
 *
 * As in distance.h, the search for the nearest features is not trusted. It proposes a corner,
 * edge or face of each triangle, double arithmetic proves that these are the nearest features, and
 * double-double sums (double_double.h) give the distance of the flats through them. A lane whose
 * proof fails, or whose bounds do not round to a common double, returns 0, and the caller uses the
 * slow method. The nearest double is unique, so the result does not depend on the method.
 *
 * The features differ from lane to lane, but the steps are the same for all. Both triangles are
 * rotated so that the features begin with their first corners a and b, and the sides are exchanged
 * if necessary so that red's feature has no fewer dimensions. With r = a - b, u from a to the next
 * corner, and v from b to the next:
 *
 *                        m           distance
 *        corners         r           |m|
 *        edge, corner    u x r       |m| / |u|
 *        edges           u x v       |m . r| / |m|
 *        face, corner    u x p       |m . r| / |m|           p: from a to the last corner
 *
 * Proof, in doubles. Let o = 2^-53, and let M be the largest difference between a corner and red's
 * first corner, on any axis. Differences of corners are below 2 M (1 + o) with an error of 2 o M.
 * Their dot products are below 12 M^2 with an error of 2^6 o M^2, and cross products are below 8
 * M^2 on each axis with an error of 2^5 o M^2. The dot product of a cross product and a difference
 * has an error of 2^9 o M^3. The difference of two products of dot products has an error of 2^13 o
 * M^4, and the sum of three such terms 2^15 o M^4. The latter also holds for the dot product of a
 * difference with (u . u) r - (u . r) u, which is below 48 M^3 on each axis with an error of 2^10 o
 * M^3. The tests require at least twice these bounds.
 *
 * Bracket. With e = 2^-106 the errors are those of rb_feet_flats, except for edge and corner: u x r
 * has an error of 96 e M^2 on each axis and 167 e M^2 in total. The distance, which is below 3.5 M,
 * therefore has an error of 167 e M (M / |u|), plus a relative error of 48 e from two lengths and a
 * quotient. The bound 2^-96 M (1 + M / |u|) is six times as large.
 */

#define APART_LEAST 0x1p-100
#define APART_MOST 0x1p100

typedef struct vtwo
{
	vn high, low;
} vtwo;

#define APART_INLINE static inline __attribute__((always_inline))

#ifdef RB_AVX512
typedef __mmask8 vmask;

#define APART_LESS(x, y) _mm512_cmp_pd_mask(x, y, _CMP_LT_OQ)
#define APART_PICK(mask, a, b) _mm512_mask_blend_pd(mask, b, a)
#define APART_SQRT(x) _mm512_sqrt_pd(x)
#else
typedef m4 vmask;

#define APART_LESS(x, y) ((x) < (y))
#define APART_PICK(mask, a, b) \
	((v4) _mm256_blendv_pd((__m256d) (b), (__m256d) (a), (__m256d) (mask)))
#define APART_SQRT(x) ((v4) _mm256_sqrt_pd((__m256d) (x)))
#endif

/* ---- double-double arithmetic: the steps of double_double.h ---- */

/* Returns a + b, exactly. */
APART_INLINE vtwo
two_sum(vn a, vn b)
{
	const vn s = a + b, t = s - a;

	return (vtwo){s, (a - (s - t)) + (b - t)};
}

/* Returns a + b, exactly; |a| >= |b| in each lane, or a is 0. */
APART_INLINE vtwo
two_sum_ordered(vn a, vn b)
{
	const vn s = a + b;

	return (vtwo){s, b - (s - a)};
}

#ifdef RB_AVX512
/* Returns a b, exactly, by one fused operation or by splitting both factors. */
APART_INLINE vtwo
two_product(vn a, vn b)
{
	const vn p = a * b;

	return (vtwo){p, _mm512_fmsub_pd(a, b, p)};
}
#else
APART_INLINE vtwo
two_product(vn a, vn b)
{
	const vn p = a * b, split = NEAR_ALL(0x1p27 + 1);
	const vn ah = split * a - (split * a - a), al = a - ah;
	const vn bh = split * b - (split * b - b), bl = b - bh;

	return (vtwo){p, al * bl - (((p - ah * bh) - al * bh) - ah * bl)};
}
#endif

/* Returns the sum of double-double numbers, as rb_double_double_add does. */
APART_INLINE vtwo
two_add(vtwo x, vtwo y)
{
	vtwo s = two_sum(x.high, y.high);
	const vtwo t = two_sum(x.low, y.low);

	s = two_sum_ordered(s.high, s.low + t.high);
	return two_sum_ordered(s.high, s.low + t.low);
}

/* Returns the difference of double-double numbers, as rb_double_double_sub does. */
APART_INLINE vtwo
two_sub(vtwo x, vtwo y)
{
	return two_add(x, (vtwo){-y.high, -y.low});
}

/* Returns the product of double-double numbers, as rb_double_double_mul does. */
APART_INLINE vtwo
two_mul(vtwo x, vtwo y)
{
	const vtwo p = two_product(x.high, y.high);

	return two_sum_ordered(p.high, p.low + (x.high * y.low + x.low * y.high));
}

/* Returns the quotient of double-double numbers, as rb_double_double_div does. */
APART_INLINE vtwo
two_div(vtwo x, vtwo y)
{
	const vn q = x.high / y.high;
	const vtwo back = two_mul(y, (vtwo){q, NEAR_ALL(0.0)});

	return two_sum_ordered(q, ((x.high - back.high) + (x.low - back.low)) / y.high);
}

/* Returns the square root of a double-double number, as rb_double_double_sqrt does. */
APART_INLINE vtwo
two_sqrt(vtwo x)
{
	const vn s = APART_SQRT(x.high);
	const vtwo p = two_product(s, s);

	return two_sum_ordered(s, (((x.high - p.high) - p.low) + x.low) / (s + s));
}

/* Returns the scalar product of two vectors. */
APART_INLINE vtwo
two_dot(const vtwo *x, const vtwo *y)
{
	return two_add(two_add(two_mul(x[0], y[0]), two_mul(x[1], y[1])), two_mul(x[2], y[2]));
}

/* Returns a in the lanes of the mask, b in the others. */
APART_INLINE vtwo
two_pick(vmask mask, vtwo a, vtwo b)
{
	return (vtwo){APART_PICK(mask, a.high, b.high), APART_PICK(mask, a.low, b.low)};
}

/* ---- the search ---- */

#define APART_DOT(x, y) ((x)[0] * (y)[0] + (x)[1] * (y)[1] + (x)[2] * (y)[2])
#define APART_CUT(x) RB_NEAR_MIN(RB_NEAR_MAX(x, NEAR_ALL(0.0)), NEAR_ALL(1.0))

/* The nearest features: the dimension of each, and the corner with which it begins */
typedef struct vfeet
{
	vn dim[2];
	vn at[2];
	vn size; /* M in the header comment */
} vfeet;

/*
 * Finds corners of `of` whose projection is inside the face, and updates the best feature if one is
 * nearer. `number` identifies the first corner.
 */
APART_INLINE void
apart_face(const vn *face, const vn *of, int number, vn *best, vn *which)
{
	vn u[3], v[3], uu, uv, vv, all;

	for (int k = 0; k < 3; k++)
	{
		u[k] = face[3 + k] - face[k];
		v[k] = face[6 + k] - face[k];
	}
	uu = APART_DOT(u, u);
	uv = APART_DOT(u, v);
	vv = APART_DOT(v, v);
	all = uu * vv - uv * uv;
	for (int j = 0; j < 3; j++)
	{
		vn r[3], n[3], ur, vr, s, t, square;

		for (int k = 0; k < 3; k++)
			r[k] = of[3 * j + k] - face[k];
		ur = APART_DOT(u, r);
		vr = APART_DOT(v, r);
		s = vv * ur - uv * vr;
		t = uu * vr - uv * ur;
		/* If the projection is outside the face, the distance is infinite. */
		square = RB_NEAR_MIN(RB_NEAR_MIN(s, t), all - (s + t));
		for (int k = 0; k < 3; k++)
			n[k] = all * r[k] - s * u[k] - t * v[k];
		square = APART_PICK(APART_LESS(NEAR_ALL(0.0), square), APART_DOT(n, n) / (all * all),
							NEAR_ALL(HUGE_VAL));
		*which = RB_NEAR_LESS(square, *best, NEAR_ALL((double) (number + j)), *which);
		*best = RB_NEAR_MIN(square, *best);
	}
}

/* Finds the nearest features of triangles that do not meet, one pair per lane, by doubles. */
APART_INLINE void
apart_search(const vn *red, const vn *blue, vfeet *f)
{
	const vn zero = NEAR_ALL(0.0), one = NEAR_ALL(1.0), two = NEAR_ALL(2.0), three = NEAR_ALL(3.0);
	vn v[3][3], vv[3], over_vv[3];
	vn best = NEAR_ALL(HUGE_VAL), which = zero, fraction[2] = {zero, zero};
	vmask face;

	f->size = zero;
	for (int i = 0; i < 9; i++)
	{
		f->size = RB_NEAR_MAX(RB_NEAR_ABS(red[i] - red[i % 3]), f->size);
		f->size = RB_NEAR_MAX(RB_NEAR_ABS(blue[i] - red[i % 3]), f->size);
	}
	for (int j = 0; j < 3; j++)
	{
		for (int k = 0; k < 3; k++)
			v[j][k] = blue[(3 * j + 3) % 9 + k] - blue[3 * j + k];
		vv[j] = APART_DOT(v[j], v[j]);
		over_vv[j] = one / vv[j];
	}
	for (int i = 0; i < 3; i++)
	{
		vn u[3], uu, over_uu;

		for (int k = 0; k < 3; k++)
			u[k] = red[(3 * i + 3) % 9 + k] - red[3 * i + k];
		uu = APART_DOT(u, u);
		over_uu = one / uu;
		for (int j = 0; j < 3; j++)
		{
			vn r[3], uv, ur, vr, s, t, square;
			vmask less;

			for (int k = 0; k < 3; k++)
				r[k] = red[3 * i + k] - blue[3 * j + k];
			uv = APART_DOT(u, v[j]);
			ur = APART_DOT(u, r);
			vr = APART_DOT(v[j], r);
			s = (uv * vr - ur * vv[j]) / (uu * vv[j] - uv * uv);
			s = APART_CUT(s);
			t = (uv * s + vr) * over_vv[j];
			t = APART_CUT(t);
			s = (uv * t - ur) * over_uu;
			s = APART_CUT(s);
			for (int k = 0; k < 3; k++)
				r[k] = r[k] + s * u[k] - t * v[j][k];
			square = APART_DOT(r, r);
			less = APART_LESS(square, best);
			which = APART_PICK(less, NEAR_ALL((double) (3 * i + j)), which);
			fraction[0] = APART_PICK(less, s, fraction[0]);
			fraction[1] = APART_PICK(less, t, fraction[1]);
			best = RB_NEAR_MIN(square, best);
		}
	}
	/*
	 * Numbers 9 to 11 mean a corner of blue and red's face, 12 to 14 a corner of red and blue's
	 * face.
	 */
	apart_face(red, blue, 9, &best, &which);
	apart_face(blue, red, 12, &best, &which);

	face = APART_LESS(NEAR_ALL(8.5), which);
	f->at[0] = APART_PICK(APART_LESS(NEAR_ALL(2.5), which), one, zero) +
			   APART_PICK(APART_LESS(NEAR_ALL(5.5), which), one, zero);
	f->at[1] = which - three * f->at[0];
	for (int side = 0; side < 2; side++)
	{
		/* The end of an edge is a corner. */
		const vmask end = APART_LESS(fraction[side], one);

		f->dim[side] =
			APART_PICK(APART_LESS(zero, fraction[side]), APART_PICK(end, one, zero), zero);
		f->at[side] = APART_PICK(end, f->at[side], f->at[side] + one);
		f->at[side] = APART_PICK(APART_LESS(f->at[side], NEAR_ALL(2.5)), f->at[side], zero);
	}
	{
		const vmask other = APART_LESS(NEAR_ALL(11.5), which);

		f->dim[0] = APART_PICK(face, APART_PICK(other, zero, two), f->dim[0]);
		f->dim[1] = APART_PICK(face, APART_PICK(other, two, zero), f->dim[1]);
		f->at[0] = APART_PICK(face, APART_PICK(other, which - NEAR_ALL(12.0), zero), f->at[0]);
		f->at[1] = APART_PICK(face, APART_PICK(other, zero, which - NEAR_ALL(9.0)), f->at[1]);
	}
}

/* ---- the proof, and the distance ---- */

/* Rotates a triangle so that corner `at` comes first. */
APART_INLINE void
apart_turn(const vn *p, const vn *at, vn *to)
{
	const vmask first = APART_LESS(*at, NEAR_ALL(0.5)), second = APART_LESS(*at, NEAR_ALL(1.5));

	for (int i = 0; i < 9; i++)
		to[i] = APART_PICK(first, p[i], APART_PICK(second, p[(i + 3) % 9], p[(i + 6) % 9]));
}

/* Returns the nearest doubles, or 0 in lanes without a proof. */
APART_INLINE vn
apart_distance(const vn *red, const vn *blue, const vfeet *f)
{
	const vn zero = NEAR_ALL(0.0), one = NEAR_ALL(1.0), half = NEAR_ALL(0.5);
	const vn m2 = f->size * f->size, off2 = NEAR_ALL(0x1p-44) * m2;
	const vn off3 = NEAR_ALL(0x1p-42) * m2 * f->size, off4 = NEAR_ALL(0x1p-37) * m2 * m2;
	const vmask change = APART_LESS(f->dim[0], f->dim[1]);
	const vn dims = f->dim[0] + f->dim[1];
	const vmask corners = APART_LESS(dims, half), points = APART_LESS(dims, NEAR_ALL(1.5));
	const vmask edges = APART_LESS(half, f->dim[0] * f->dim[1]);
	vn turned[2][9], a[9], b[9], u[3], p[3], v[3], q[3], r[3], w[3], n[3];
	vn uu, ww, uw, ur, wr, s, t, all, inside, height, off, behind, proportion, error, lo, hi;
	vtwo uu2, m[3], x[3], y[3], z[3], length, above, below;

	apart_turn(red, &f->at[0], turned[0]);
	apart_turn(blue, &f->at[1], turned[1]);
	for (int i = 0; i < 9; i++)
	{
		a[i] = APART_PICK(change, turned[1][i], turned[0][i]);
		b[i] = APART_PICK(change, turned[0][i], turned[1][i]);
	}
	for (int k = 0; k < 3; k++)
	{
		/* Exact differences: u in x; p, v or r in y; r in z */
		z[k] = two_sum(a[k], -b[k]);
		x[k] = two_sum(a[3 + k], -a[k]);
		y[k] = two_sum(APART_PICK(edges, b[3 + k], a[6 + k]), -APART_PICK(edges, b[k], a[k]));
		r[k] = z[k].high;
		u[k] = x[k].high;
		w[k] = APART_PICK(edges, y[k].high, -y[k].high);
		p[k] = a[6 + k] - a[k];
		v[k] = b[3 + k] - b[k];
		q[k] = b[6 + k] - b[k];
	}

	/* Prove that the point nearest to the other flat is inside the feature. */
	uu = APART_DOT(u, u);
	ur = APART_DOT(u, r);
	ww = APART_DOT(w, w);
	uw = APART_DOT(u, w);
	wr = APART_DOT(w, r);
	s = uw * wr - ur * ww;
	t = uu * wr - uw * ur;
	all = uu * ww - uw * uw;
	inside =
		RB_NEAR_MIN(RB_NEAR_MIN(s, t), all - APART_PICK(edges, RB_NEAR_MAX(s, t), s + t)) - off4;
	inside = APART_PICK(points, RB_NEAR_MIN(-ur, uu + ur) - off2, inside);
	inside = APART_PICK(corners, one, inside);

	/* Prove that all other corners are behind the features. */
	for (int k = 0; k < 3; k++)
	{
		const int i = (k + 1) % 3, j = (k + 2) % 3;

		n[k] = u[i] * w[j] - u[j] * w[i];
	}
	height = APART_DOT(n, r);
	for (int k = 0; k < 3; k++)
	{
		n[k] = APART_PICK(APART_LESS(height, zero), -n[k], n[k]);
		n[k] = APART_PICK(points, APART_PICK(corners, r[k], uu * r[k] - ur * u[k]), n[k]);
	}
	off = APART_PICK(points, APART_PICK(corners, off2, off4), off3);
	behind = -APART_DOT(n, q);
	behind = APART_PICK(edges, behind, RB_NEAR_MIN(behind, -APART_DOT(n, v)));
	behind = APART_PICK(points | edges, RB_NEAR_MIN(behind, APART_DOT(n, p)), behind);
	behind = APART_PICK(points, behind, RB_NEAR_MIN(behind, RB_NEAR_ABS(height)));
	behind = APART_PICK(corners, RB_NEAR_MIN(behind, ur), behind) - off;

	/* Compute the distance of the flats. */
	for (int k = 0; k < 3; k++)
		y[k] = two_pick(edges, y[k], two_pick(points, z[k], y[k]));
	for (int k = 0; k < 3; k++)
	{
		const int i = (k + 1) % 3, j = (k + 2) % 3;

		m[k] = two_sub(two_mul(x[i], y[j]), two_mul(x[j], y[i]));
		m[k] = two_pick(corners, z[k], m[k]);
	}
	length = two_sqrt(two_dot(m, m));
	for (int k = 0; k < 3; k++)
	{
		y[k] = two_pick(points, x[k], m[k]);
		z[k] = two_pick(points, x[k], z[k]);
	}
	uu2 = two_dot(y, z); /* u . u or m . r */
	above = two_pick(points, length, uu2);
	below = two_sqrt(two_pick(points, uu2, (vtwo){one, zero}));
	below = two_pick(points, below, length);
	below = two_pick(corners, (vtwo){one, zero}, below);
	above = two_div(above, below);
	t = APART_PICK(APART_LESS(above.high, zero), -one, one);
	above.high *= t;
	above.low *= t;

	proportion = f->size / below.high;
	proportion = APART_PICK(points, APART_PICK(corners, zero, proportion),
							(proportion + proportion) * f->size);
	error = NEAR_ALL(0x1p-96) * f->size * (one + proportion);
	lo = above.high + (above.low - error);
	hi = above.high + (above.low + error);
	t = RB_NEAR_MIN(RB_NEAR_MIN(inside, behind), NEAR_ALL(APART_MOST) - f->size);
	t = RB_NEAR_MIN(t, f->size - NEAR_ALL(APART_LEAST));
	lo = APART_PICK(APART_LESS(zero, t), RB_NEAR_MAX(lo, zero), zero);
	return APART_PICK(APART_LESS(lo, hi), zero, lo);
}

/* Computes the doubles nearest to the distances of pairs of triangles, lane by lane. */
static void
compute_distances(const double *red, const double *blue, const rb_pair *pairs, uint32_t n,
				  double *distance)
{
	for (uint32_t first = 0; first < n; first += NEAR_LANES)
	{
		const uint32_t lanes = n - first < NEAR_LANES ? n - first : NEAR_LANES;
		double c[18][NEAR_LANES] __attribute__((aligned(64)));
		double found[NEAR_LANES] __attribute__((aligned(64)));
		vn r[9], b[9];
		vfeet f;

		for (uint32_t i = 0; i < NEAR_LANES; i++)
		{
			const rb_pair pair = pairs[first + (i < lanes ? i : 0)];
			const double *of_red = red + 9 * (size_t) pair.red;
			const double *of_blue = blue + 9 * (size_t) pair.blue;

			for (int k = 0; k < 9; k++)
			{
				c[k][i] = of_red[k];
				c[9 + k][i] = of_blue[k];
			}
		}
		for (int k = 0; k < 9; k++)
		{
			r[k] = *(const vn *) c[k];
			b[k] = *(const vn *) c[9 + k];
		}
		apart_search(r, b, &f);
		*(vn *) found = apart_distance(r, b, &f);
		memcpy(distance + first, found, lanes * sizeof(double));
	}
}
