/*
 * distance_simd.h
 *	  Tests whether two triangles are within a distance D of each other, without branches, so that
 *	  many pairs are processed at once, one per SIMD lane.
 *
 * Included by code that provides the lanes: floats of a device (triangle_float.h), vectors of
 * doubles (simd_template.h). The method is that of distance.h: for any points found on both
 * triangles, the vector between them bounds the distance from above, and the slab normal to it
 * bounds the distance from below. Here all candidates for the nearest points are computed,
 * independently of each other; the bounds are valid however close the candidates are to the true
 * nearest points.
 *
 *		two edges		fractions s, t of both, after C. Ericson, Real-Time Collision
 *						Detection, 2004; arbitrary for parallel edges
 *		vertex, face	fractions s, t of two of the face's edges, clamped so that s, t >= 0
 *						and s + t <= 1; far from the face's interior the point is not the
 *						nearest one, but still a point of the face
 *
 * The nearest points of two disjoint triangles are of one of these two types. For the second type,
 * the slab is that of the face's plane: the caller has tested both planes before, so only the slab
 * of the nearest edges is tested here.
 *
 * Bounds. e is half an ulp of 1. P is a vertex, exact; p the stored value, |p - P| <= 1.001 e M on
 * each axis; M >= |p| for all vertices. The rounded value of a fraction is taken as its exact
 * value.
 *
 * From above: edges and differences of vertices are below 2 M and off by 4.01 e M. The difference
 * of two points on an edge or face, r + s u - t v, is off by three times that; by 8 e M for its
 * four roundings, whose results are at most 2 M up to a factor near 1; and by 2 e M where s + t
 * exceeds 1, which is possible by e from the rounding of 1 - s. That is 22.1 e M on each axis, 39 e
 * M in all. A computed square is off by a factor of 1 + 3.01 e. So with
 *
 *		most = (D - 64 e M) (1 - 16 e)
 *
 * square < most^2 proves that the distance is at most D; 5 of the 16 e account for roundings.
 *
 * From below: for any vector g = (x, y, z), g . p differs from g . P by 1.001 e |g|1 M and by 3.01
 * e |g|1 M for its roundings; the difference of two such values by twice that, and by 2.01 e |g|1 M
 * from its own rounding. So
 *
 *		rest = min g . a - max g . b - 12 e |g|1 M > 0	and
 *		rest^2 > D^2 (1 + 32 e) square + FLOOR
 *
 * prove that the distance is more than D; 8 of the 32 e account for roundings. The comparisons with
 * a floor keep underflow away from the bounds. If M is infinite or a value is NaN, nothing is
 * proved.
 *
 * The including file defines RB_NEAR_NAME, RB_NEAR_FUNCTION (storage class), RB_NEAR_REAL,
 * RB_NEAR_MASK (one bit per lane), RB_NEAR_GREATER(x, y) (such a mask), RB_NEAR_ALL(x) (a constant
 * in all lanes), RB_NEAR_MIN and RB_NEAR_MAX (of x and a number: the number if x is NaN),
 * RB_NEAR_LESS(x, y, a, b) (x < y ? a : b), RB_NEAR_ABS, RB_NEAR_OVER(x) (about 1 / x),
 * RB_NEAR_FMA(a, b, c) (a * b + c, rounded once or twice), RB_NEAR_EPS, RB_NEAR_SQUARE_LEAST,
 * RB_NEAR_MOST_LEAST and RB_NEAR_FLOOR.
 */
#ifdef __CUDA_ARCH__
#define RB_NEAR_UNROLL _Pragma("unroll")
#else
#define RB_NEAR_UNROLL
#endif

/* The vector between two points, and the product u . v */
#define RB_NEAR_BETWEEN(w, to, from) \
	((w)[0] = (to)[0] - (from)[0], (w)[1] = (to)[1] - (from)[1], (w)[2] = (to)[2] - (from)[2])
#define RB_NEAR_DOT(u, v) RB_NEAR_FMA((u)[2], (v)[2], RB_NEAR_FMA((u)[1], (v)[1], (u)[0] * (v)[0]))
/* Clamps to [0, 1], NaN included. */
#define RB_NEAR_CUT(x) RB_NEAR_MIN(RB_NEAR_MAX(x, RB_NEAR_ALL(0)), RB_NEAR_ALL(1))

/*
 * Lowers *least to the smallest squared distance between a vertex of `of` and its clamped
 * projection on the face.
 */
RB_NEAR_FUNCTION void
RB_NEAR_FACE(const RB_NEAR_REAL *face, const RB_NEAR_REAL *of, RB_NEAR_REAL *least)
{
	RB_NEAR_REAL u[3], v[3], uu, uv, vv, over;

	RB_NEAR_BETWEEN(u, face + 3, face);
	RB_NEAR_BETWEEN(v, face + 6, face);
	uu = RB_NEAR_DOT(u, u);
	uv = RB_NEAR_DOT(u, v);
	vv = RB_NEAR_DOT(v, v);
	over = RB_NEAR_OVER(uu * vv - uv * uv);
	RB_NEAR_UNROLL
	for (int j = 0; j < 3; j++)
	{
		RB_NEAR_REAL r[3], ur, vr, s, t, square;

		RB_NEAR_BETWEEN(r, of + 3 * j, face);
		ur = RB_NEAR_DOT(u, r);
		vr = RB_NEAR_DOT(v, r);
		s = (vv * ur - uv * vr) * over;
		t = (uu * vr - uv * ur) * over;
		s = RB_NEAR_CUT(s);
		t = RB_NEAR_MIN(RB_NEAR_MAX(t, RB_NEAR_ALL(0)), RB_NEAR_ALL(1) - s);
		for (int k = 0; k < 3; k++)
			r[k] = RB_NEAR_FMA(-t, v[k], RB_NEAR_FMA(-s, u[k], r[k]));
		square = RB_NEAR_DOT(r, r);
		*least = RB_NEAR_MIN(square, *least);
	}
}

/*
 * Tests red and blue, three consecutive vertices each. `size` is M, `distance` is D or less, and
 * `beyond` is D^2 (1 + 32 e) or more. At most one of *no and *yes is true in a lane.
 */
RB_NEAR_FUNCTION void
RB_NEAR_NAME(const RB_NEAR_REAL *red, const RB_NEAR_REAL *blue, const RB_NEAR_REAL *size,
			 const RB_NEAR_REAL *distance, const RB_NEAR_REAL *beyond, RB_NEAR_MASK *no,
			 RB_NEAR_MASK *yes)
{
	RB_NEAR_REAL v[3][3], vv[3], over_vv[3], g[3], square, least, most, length, rest, from, to;

	RB_NEAR_UNROLL
	for (int j = 0; j < 3; j++)
	{
		RB_NEAR_BETWEEN(v[j], blue + (j < 2 ? 3 * j + 3 : 0), blue + 3 * j);
		vv[j] = RB_NEAR_DOT(v[j], v[j]);
		over_vv[j] = RB_NEAR_OVER(vv[j]);
	}
	g[0] = g[1] = g[2] = RB_NEAR_ALL(0);
	square = RB_NEAR_ALL(RB_NEAR_HUGE);
	RB_NEAR_UNROLL
	for (int i = 0; i < 3; i++)
	{
		RB_NEAR_REAL u[3], uu, over_uu;

		RB_NEAR_BETWEEN(u, red + (i < 2 ? 3 * i + 3 : 0), red + 3 * i);
		uu = RB_NEAR_DOT(u, u);
		over_uu = RB_NEAR_OVER(uu);
		RB_NEAR_UNROLL
		for (int j = 0; j < 3; j++)
		{
			RB_NEAR_REAL r[3], uv, ur, vr, s, t, d;

			RB_NEAR_BETWEEN(r, red + 3 * i, blue + 3 * j);
			uv = RB_NEAR_DOT(u, v[j]);
			ur = RB_NEAR_DOT(u, r);
			vr = RB_NEAR_DOT(v[j], r);
			s = (uv * vr - ur * vv[j]) * RB_NEAR_OVER(uu * vv[j] - uv * uv);
			s = RB_NEAR_CUT(s);
			t = RB_NEAR_FMA(uv, s, vr) * over_vv[j];
			t = RB_NEAR_CUT(t);
			s = (uv * t - ur) * over_uu;
			s = RB_NEAR_CUT(s);
			for (int k = 0; k < 3; k++)
				r[k] = RB_NEAR_FMA(-t, v[j][k], RB_NEAR_FMA(s, u[k], r[k]));
			d = RB_NEAR_DOT(r, r);
			for (int k = 0; k < 3; k++)
				g[k] = RB_NEAR_LESS(d, square, r[k], g[k]);
			square = RB_NEAR_MIN(d, square);
		}
	}

	/* the slab, from blue to red */
	from = to = RB_NEAR_ALL(0);
	RB_NEAR_UNROLL
	for (int i = 0; i < 3; i++)
	{
		RB_NEAR_REAL a = RB_NEAR_DOT(g, red + 3 * i), b = RB_NEAR_DOT(g, blue + 3 * i);

		to = i == 0 ? a : RB_NEAR_MIN(a, to);
		from = i == 0 ? b : RB_NEAR_MAX(b, from);
	}
	length = RB_NEAR_ABS(g[0]) + RB_NEAR_ABS(g[1]) + RB_NEAR_ABS(g[2]);
	rest = (to - from) - RB_NEAR_ALL(12 * RB_NEAR_EPS) * length * *size;
	*no = RB_NEAR_GREATER(rest, RB_NEAR_ALL(0.0)) &
		  RB_NEAR_GREATER(square, RB_NEAR_ALL(RB_NEAR_SQUARE_LEAST)) &
		  RB_NEAR_GREATER(rest * rest, RB_NEAR_FMA(*beyond, square, RB_NEAR_ALL(RB_NEAR_FLOOR)));

	least = square;
	RB_NEAR_FACE(red, blue, &least);
	RB_NEAR_FACE(blue, red, &least);
	most = (*distance - RB_NEAR_ALL(64 * RB_NEAR_EPS) * *size) * RB_NEAR_ALL(1 - 16 * RB_NEAR_EPS);
	*yes = RB_NEAR_GREATER(most, RB_NEAR_ALL(RB_NEAR_MOST_LEAST)) &
		   RB_NEAR_GREATER(most * most, least);
}

#undef RB_NEAR_UNROLL
#undef RB_NEAR_BETWEEN
#undef RB_NEAR_DOT
#undef RB_NEAR_CUT
