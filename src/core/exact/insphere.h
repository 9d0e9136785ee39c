/*
 * insphere.h
 *	  Tests exactly whether a point lies inside the sphere through four others, quickly in easy
 *	  cases; for CPU and GPU.
 *
 *	  insphere(a, b, c, d, e): 1 if e lies inside the sphere through a, b, c, d, -1 if outside,
 *		  0 if on it, provided that orient3d(a, b, c, d) = 1; the opposite if it is -1. For four
 *		  coplanar points it is the sign of the same determinant: swapping two of the five
 *		  points changes it.
 *
 * The determinant has the rows (p - e, |p - e|^2) for p = a, b, c, d. With D the determinant of
 * three rows' differences, insphere is the sign of |a|^2 D(bcd) - |b|^2 D(cda) + |c|^2 D(dab) -
 * |d|^2 D(abc).
 *
 * The cascade is that of orient.h, with the same switches and counters:
 *
 *	  1. plain doubles with a coarse error bound		RB_FILTER_SIGNS
 *		 then, where the differences vary in size, with a finer one
 *	  2. 320-bit integers, zeros by equal coordinates	RB_EXACT_INTEGER
 *	  3. interval arithmetic in double					RB_FILTER_INTERVAL
 *	  4. GMP, on the host
 *
 * There is no step by expansions: a determinant of degree 5 needs more scratch memory than a device
 * has for a thread.
 *
 * Five points on one sphere are common in buildings with right angles. rb_insphere_ties decides
 * such ties by symbolic perturbation.
 */
#ifndef RB_EXACT_INSPHERE_H
#define RB_EXACT_INSPHERE_H

#include "core/exact/orient.h"
#include "core/exact/expansion.h"
#include "core/exact/integer.h"

/* ---- 320-bit integers ---- */

/*
 * Implements 320-bit integers with the operations that insphere needs: sums of products.
 *
 * Differences of coordinates are integers in a common unit, below 2^60 in magnitude. Then
 *
 *		p q - r s, a 2x2 minor					is below 2 * 2^120 = 2^121
 *		p m + q n + r o, a 3x3 minor			is below 3 * 2^181 < 2^183
 *		p^2 + q^2 + r^2, a squared length		is below 3 * 2^120 < 2^122
 *		the product of the last two				is below 2^305
 *		four such products						are below 2^307,
 *
 * so nothing overflows: minors have 128 and 192 bits, the sum has five words.
 */

#define RB_WIDE_WORDS 5

/* A 320-bit integer in two's complement, lowest word first */
typedef struct rb_wide
{
	uint64_t word[RB_WIDE_WORDS];
} rb_wide;

/* A 3x3 minor, high * 2^64 + low, below 2^183 in magnitude */
typedef struct rb_wide_minor
{
	rb_int128 high;
	uint64_t low;
} rb_wide_minor;

/*
 * Sets n[i] = p[i] - q[i] in a common unit, below 2^60 in magnitude. Returns false if there is no
 * such unit.
 *
 * Differences are computed exactly as two doubles. The unit depends on the size of the differences,
 * not of the coordinates, since real coordinates are far from the origin. high is a double below
 * 2^60 units, so at most 2^60 - 2^7, and low is at most half of its last place.
 */
RB_HOST_DEVICE bool
rb_wide_differences(int count, const double *const *p, const double *q, int64_t (*n)[3])
{
	double largest = 0, scale, unit;
	int i, axis;

	for (i = 0; i < count; i++)
		for (axis = 0; axis < 3; axis++)
			largest = rb_larger(largest, p[i][axis] - q[axis]);
	if (!rb_integer_unit(largest, &scale, &unit))
		return false;
	for (i = 0; i < count; i++)
		for (axis = 0; axis < 3; axis++)
		{
			double high, low;
			int64_t m;

			rb_two_sum(p[i][axis], -q[axis], &high, &low);
			if (!rb_integer_of(high, scale, unit, &n[i][axis]))
				return false;
			if (low == 0)
				continue;
			/*
			 * This also fails for a NaN, which coordinates near the largest double could produce.
			 */
			if (!(fabs(low) < fabs(high)) || !rb_integer_of(low, scale, unit, &m))
				return false;
			n[i][axis] += m;
		}
	return true;
}

/*
 * Returns the 3x3 minor p m + q n + r o; the 2x2 minors m, n, o are below 2^121 and p, q, r below
 * 2^60.
 */
RB_HOST_DEVICE rb_wide_minor
rb_wide_minor_of(int64_t p, rb_int128 m, int64_t q, rb_int128 n, int64_t r, rb_int128 o)
{
	rb_int128 high = 0, low = 0;
	rb_wide_minor sum;

	rb_integer_add_product(m, p, &high, &low);
	rb_integer_add_product(n, q, &high, &low);
	rb_integer_add_product(o, r, &high, &low);
	sum.high = high + (low >> 64);
	sum.low = (uint64_t) low;
	return sum;
}

/* Returns the square of the length of a vector of three integers. */
RB_HOST_DEVICE rb_uint128
rb_wide_norm(const int64_t *n)
{
	return (rb_uint128) ((rb_int128) n[0] * n[0] + (rb_int128) n[1] * n[1] +
						 (rb_int128) n[2] * n[2]);
}

/* Adds norm * minor to the sum, or subtracts it. */
RB_HOST_DEVICE void
rb_wide_add_product(rb_wide *sum, rb_uint128 norm, rb_wide_minor minor, bool minus)
{
	bool below = minor.high < 0;
	/* the magnitude of the minor: x2, x1, x0 */
	rb_uint128 high = below ? ~(rb_uint128) minor.high + (minor.low == 0) : (rb_uint128) minor.high;
	uint64_t x0 = below ? -minor.low : minor.low;
	uint64_t x1 = (uint64_t) high, x2 = (uint64_t) (high >> 64);
	uint64_t y0 = (uint64_t) norm, y1 = (uint64_t) (norm >> 64);
	uint64_t flip = below != minus ? ~(uint64_t) 0 : 0;
	uint64_t product[RB_WIDE_WORDS];
	rb_uint128 t;
	int i;

	/* Multiply row by row: a product of words plus two words fits in 128 bits. */
	t = (rb_uint128) x0 * y0;
	product[0] = (uint64_t) t;
	t = (rb_uint128) x1 * y0 + (uint64_t) (t >> 64);
	product[1] = (uint64_t) t;
	t = (rb_uint128) x2 * y0 + (uint64_t) (t >> 64);
	product[2] = (uint64_t) t;
	product[3] = (uint64_t) (t >> 64);
	t = (rb_uint128) x0 * y1 + product[1];
	product[1] = (uint64_t) t;
	t = (rb_uint128) x1 * y1 + product[2] + (uint64_t) (t >> 64);
	product[2] = (uint64_t) t;
	t = (rb_uint128) x2 * y1 + product[3] + (uint64_t) (t >> 64);
	product[3] = (uint64_t) t;
	product[4] = (uint64_t) (t >> 64);

	/* -x = ~x + 1 */
	t = flip & 1;
	for (i = 0; i < RB_WIDE_WORDS; i++)
	{
		t += (rb_uint128) sum->word[i] + (product[i] ^ flip);
		sum->word[i] = (uint64_t) t;
		t >>= 64;
	}
}

/* Returns the sign of a 320-bit integer. */
RB_HOST_DEVICE int
rb_wide_sign(const rb_wide *x)
{
	uint64_t any = 0;
	int i;

	if (x->word[RB_WIDE_WORDS - 1] >> 63 != 0)
		return -1;
	for (i = 0; i < RB_WIDE_WORDS; i++)
		any |= x->word[i];
	return any != 0;
}

/* ---- insphere ---- */

/*
 * Error bounds. A term of the expanded determinant is rounded at most 16 times on its way into the
 * sum (squared length: 2 differences, product, 2 sums: 5; 2x2 minor: 2 differences, product,
 * difference: 4; times a difference: 2; 2 sums; product; 2 sums). With e = 2^-53 the sum is off by
 * at most ((1 + e)^16 - 1) P, where P is the sum of the terms' magnitudes. 17 e outweighs that and
 * about twenty roundings of P.
 *
 * Let X, Y, Z be the sums of the four differences' magnitudes on each axis, and N that of the four
 * squared lengths. Every term of P occurs in the expansion of N X Y Z, so P is at most N X Y Z: the
 * coarse bound.
 *
 * Overflow: any sum of terms is below P, a 3x3 minor below X Y Z, a 2x2 minor below X Y, up to
 * rounding, and a square below N. X is doubled first to leave room for the roundings, and the
 * products are computed in that order: if the bound is finite, so are all other values; otherwise
 * it is infinite or NaN, and no comparison with it is true.
 *
 * Underflow: a difference is exact, a product is off by at most 2^-1075 times its later factors.
 * RB_BOUND_FLOOR, added to each factor of the bound, outweighs that; see orient.h.
 */
#define RB_INSPHERE_BOUND (17 * 0x1p-53)

/*
 * Decides insphere in doubles with the coarse bound (step 1). Returns -1, 1 or RB_UNSURE, never 0.
 */
RB_HOST_DEVICE int
rb_insphere_filter(const double *a, const double *b, const double *c, const double *d,
				   const double *e)
{
	double ax = a[0] - e[0], ay = a[1] - e[1], az = a[2] - e[2];
	double bx = b[0] - e[0], by = b[1] - e[1], bz = b[2] - e[2];
	double cx = c[0] - e[0], cy = c[1] - e[1], cz = c[2] - e[2];
	double dx = d[0] - e[0], dy = d[1] - e[1], dz = d[2] - e[2];
	double ab = ax * by - bx * ay, bc = bx * cy - cx * by, cd = cx * dy - dx * cy;
	double da = dx * ay - ax * dy, ac = ax * cy - cx * ay, bd = bx * dy - dx * by;
	double abc = az * bc - bz * ac + cz * ab, bcd = bz * cd - cz * bd + dz * bc;
	double cda = cz * da + dz * ac + az * cd, dab = dz * ab + az * bd + bz * da;
	double na = ax * ax + ay * ay + az * az, nb = bx * bx + by * by + bz * bz;
	double nc = cx * cx + cy * cy + cz * cz, nd = dx * dx + dy * dy + dz * dz;
	double det = (na * bcd - nb * cda) + (nc * dab - nd * abc);
	double x = (fabs(ax) + fabs(bx)) + (fabs(cx) + fabs(dx));
	double y = (fabs(ay) + fabs(by)) + (fabs(cy) + fabs(dy));
	double z = (fabs(az) + fabs(bz)) + (fabs(cz) + fabs(dz));
	double norm = (na + nb) + (nc + nd) + RB_BOUND_FLOOR;
	double minor = (2 * x * y + RB_BOUND_FLOOR) * z + RB_BOUND_FLOOR;
	double bound = RB_INSPHERE_BOUND / 2 * (norm * minor + RB_BOUND_FLOOR);

	/* Use one branch, which is nearly always taken, because the sign itself is unpredictable. */
	if (fabs(det) > bound)
		return (det > 0) - (det < 0);
	return RB_UNSURE;
}

/*
 * The finer bound uses P itself, which helps if one of the points is far away from the others.
 * Since that is rare, only rb_insphere_hard calls it.
 *
 * No product overflows if no difference is above 2^100. If some difference is at least 2^-102, an
 * underflowed value is off by 2^-1075, times at most three further differences and a few such
 * terms: below 2^-760. RB_INSPHERE_FLOOR outweighs that and is small compared to the determinants
 * of such points, 2^-510 and more. Other points are passed to the next step.
 */
#define RB_INSPHERE_FLOOR 0x1p-740
#define RB_INSPHERE_SMALLEST 0x1p-200 /* limits of the sum of squared lengths */
#define RB_INSPHERE_LARGEST 0x1p200

/* Returns the difference of two products and sets *size to the sum of their magnitudes. */
RB_HOST_DEVICE double
rb_insphere_minor2(double p, double q, double *size)
{
	*size = fabs(p) + fabs(q);
	return p - q;
}

/*
 * Decides insphere in doubles with the finer bound (step 1). Returns -1, 1 or RB_UNSURE, never 0.
 */
RB_HOST_DEVICE int
rb_insphere_filter_fine(const double *a, const double *b, const double *c, const double *d,
						const double *e)
{
	double ax = a[0] - e[0], ay = a[1] - e[1], az = a[2] - e[2];
	double bx = b[0] - e[0], by = b[1] - e[1], bz = b[2] - e[2];
	double cx = c[0] - e[0], cy = c[1] - e[1], cz = c[2] - e[2];
	double dx = d[0] - e[0], dy = d[1] - e[1], dz = d[2] - e[2];
	double na = ax * ax + ay * ay + az * az, nb = bx * bx + by * by + bz * bz;
	double nc = cx * cx + cy * cy + cz * cz, nd = dx * dx + dy * dy + dz * dz;
	double norm = (na + nb) + (nc + nd);
	double pab, pbc, pcd, pda, pac, pbd, det, size;
	double ab = rb_insphere_minor2(ax * by, bx * ay, &pab);
	double bc = rb_insphere_minor2(bx * cy, cx * by, &pbc);
	double cd = rb_insphere_minor2(cx * dy, dx * cy, &pcd);
	double da = rb_insphere_minor2(dx * ay, ax * dy, &pda);
	double ac = rb_insphere_minor2(ax * cy, cx * ay, &pac);
	double bd = rb_insphere_minor2(bx * dy, dx * by, &pbd);

	if (!(norm >= RB_INSPHERE_SMALLEST && norm <= RB_INSPHERE_LARGEST))
		return RB_UNSURE;
	det = (na * (bz * cd - cz * bd + dz * bc) - nb * (cz * da + dz * ac + az * cd)) +
		  (nc * (dz * ab + az * bd + bz * da) - nd * (az * bc - bz * ac + cz * ab));
	az = fabs(az);
	bz = fabs(bz);
	cz = fabs(cz);
	dz = fabs(dz);
	size = (na * (bz * pcd + cz * pbd + dz * pbc) + nb * (cz * pda + dz * pac + az * pcd)) +
		   (nc * (dz * pab + az * pbd + bz * pda) + nd * (az * pbc + bz * pac + cz * pab));
	if (fabs(det) > RB_INSPHERE_BOUND * size + RB_INSPHERE_FLOOR)
		return (det > 0) - (det < 0);
	return RB_UNSURE;
}

/*
 * Returns true if two of the five points are equal, or if all five have the same coordinate on some
 * axis.
 */
RB_HOST_DEVICE bool
rb_insphere_flat(const double *a, const double *b, const double *c, const double *d,
				 const double *e)
{
	int i;

	for (i = 0; i < 3; i++)
		if (a[i] == e[i] && b[i] == e[i] && c[i] == e[i] && d[i] == e[i])
			return true;
	return rb_equal3(a, b) || rb_equal3(a, c) || rb_equal3(a, d) || rb_equal3(a, e) ||
		   rb_equal3(b, c) || rb_equal3(b, d) || rb_equal3(b, e) || rb_equal3(c, d) ||
		   rb_equal3(c, e) || rb_equal3(d, e);
}

/*
 * Decides insphere by 320-bit integers (step 2), or returns RB_UNSURE if there is no common unit.
 * All axes share a unit, because squared lengths mix them. The section on 320-bit integers proves
 * that nothing overflows.
 */
RB_HOST_DEVICE int
rb_insphere_integer(const double *a, const double *b, const double *c, const double *d,
					const double *e)
{
	const double *p[4];
	int64_t n[4][3];
	rb_int128 ab, bc, cd, da, ac, bd;
	rb_wide sum = {{0, 0, 0, 0, 0}};

	p[0] = a;
	p[1] = b;
	p[2] = c;
	p[3] = d;
	if (!rb_wide_differences(4, p, e, n))
		return RB_UNSURE;
	ab = rb_integer_det2(n[0][0], n[0][1], n[1][0], n[1][1]);
	bc = rb_integer_det2(n[1][0], n[1][1], n[2][0], n[2][1]);
	cd = rb_integer_det2(n[2][0], n[2][1], n[3][0], n[3][1]);
	da = rb_integer_det2(n[3][0], n[3][1], n[0][0], n[0][1]);
	ac = rb_integer_det2(n[0][0], n[0][1], n[2][0], n[2][1]);
	bd = rb_integer_det2(n[1][0], n[1][1], n[3][0], n[3][1]);
	rb_wide_add_product(&sum, rb_wide_norm(n[0]),
						rb_wide_minor_of(n[1][2], cd, -n[2][2], bd, n[3][2], bc), false);
	rb_wide_add_product(&sum, rb_wide_norm(n[1]),
						rb_wide_minor_of(n[2][2], da, n[3][2], ac, n[0][2], cd), true);
	rb_wide_add_product(&sum, rb_wide_norm(n[2]),
						rb_wide_minor_of(n[3][2], ab, n[0][2], bd, n[1][2], da), false);
	rb_wide_add_product(&sum, rb_wide_norm(n[3]),
						rb_wide_minor_of(n[0][2], bc, -n[1][2], ac, n[2][2], ab), true);
	return rb_wide_sign(&sum);
}

/*
 * Computes |u|^2 times the determinant of the rows f, g, h; not inlined, because interval products
 * are long.
 */
RB_HOST_DEVICE_CALL rb_interval
rb_insphere_interval_term(const rb_interval *u, const rb_interval *f, const rb_interval *g,
						  const rb_interval *h)
{
	rb_interval minor[3];

	minor[0] = rb_interval_det2(f[1], f[2], g[1], g[2]);
	minor[1] = rb_interval_det2(f[2], f[0], g[2], g[0]);
	minor[2] = rb_interval_det2(f[0], f[1], g[0], g[1]);
	return rb_interval_mul(rb_interval_dot3(u, u), rb_interval_dot3(minor, h));
}

/* Returns the sign of insphere by interval arithmetic, or RB_UNSURE. */
RB_HOST_DEVICE int
rb_insphere_interval(const double *a, const double *b, const double *c, const double *d,
					 const double *e)
{
	rb_interval u[4][3];
	int i;

	for (i = 0; i < 3; i++)
	{
		u[0][i] = rb_interval_difference(a[i], e[i]);
		u[1][i] = rb_interval_difference(b[i], e[i]);
		u[2][i] = rb_interval_difference(c[i], e[i]);
		u[3][i] = rb_interval_difference(d[i], e[i]);
	}
	return rb_interval_sign(
		rb_interval_add(rb_interval_sub(rb_insphere_interval_term(u[0], u[1], u[2], u[3]),
										rb_insphere_interval_term(u[1], u[2], u[3], u[0])),
						rb_interval_sub(rb_insphere_interval_term(u[2], u[3], u[0], u[1]),
										rb_insphere_interval_term(u[3], u[0], u[1], u[2]))));
}

/*
 * Decides insphere by the finer bound and steps 2 to 4; out of line, because these are large and
 * rarely needed.
 */
RB_HOST_DEVICE_CALL int
rb_insphere_hard(rb_exact_env *env, const double *a, const double *b, const double *c,
				 const double *d, const double *e)
{
	int sign;

	if ((env->filters & RB_FILTER_SIGNS) != 0)
	{
		sign = rb_insphere_filter_fine(a, b, c, d, e);
		if (sign != RB_UNSURE)
			return sign;
	}
	if (RB_WANTS_EXACT(env) && (env->filters & RB_EXACT_INTEGER) != 0)
	{
		sign = rb_insphere_integer(a, b, c, d, e);
		if (sign != RB_UNSURE)
		{
			env->integer++;
			return sign;
		}
		if (rb_insphere_flat(a, b, c, d, e))
			return 0;
	}
	if ((env->filters & RB_FILTER_INTERVAL) != 0)
	{
		sign = rb_insphere_interval(a, b, c, d, e);
		if (sign != RB_UNSURE)
			return sign;
	}
	if (!RB_WANTS_EXACT(env))
		return RB_UNSURE;
#if !defined(__CUDA_ARCH__) && !defined(RB_NO_GMP)
	env->gmp++;
	return rb_gmp_insphere(a, b, c, d, e);
#elif defined(RB_DEVICE_ASKS)
	return rb_device_asks(env, a, b, c, d, e);
#else
	return RB_UNSURE;
#endif
}

/*
 * Returns the exact sign of insphere. Returns RB_UNSURE if the filters do not decide and env->exact
 * is false or, on the device, if only GMP could decide.
 */
RB_HOST_DEVICE int
rb_insphere_at(rb_exact_env *env, const double *a, const double *b, const double *c,
			   const double *d, const double *e)
{
	if ((env->filters & RB_FILTER_SIGNS) != 0)
	{
		int sign = rb_insphere_filter(a, b, c, d, e);

		if (sign != RB_UNSURE)
			return sign;
	}
	return rb_insphere_hard(env, a, b, c, d, e);
}

/* ---- ties ---- */

/*
 * Returns the sign of the symbolically perturbed insphere of five cospherical points p with
 * distinct numbers v below UINT32_MAX. It is never 0, except for five coplanar points, and swapping
 * two of the points together with their numbers changes the sign. Returns RB_UNSURE where
 * rb_orient3d_at does.
 *
 * Insphere tests whether e, lifted to the paraboloid, lies below the hyperplane through a, b, c and
 * d. For five cospherical points the determinant is 0, so point i is lifted by an additional e(i),
 * where e(i) is infinitesimal and e(j) is infinitesimal relative to e(i) for j < i. The coefficient
 * of e(i) in the determinant is the orient3d of the other four points; for a, b, c or d with e in
 * its place, and for e itself with the opposite sign. The point with the largest number therefore
 * decides, and if its coefficient is zero, the next one does.
 *
 * H. Edelsbrunner, E. P. Muecke: Simulation of Simplicity, 1990. Here only the lifted coordinate is
 * perturbed, so that orient3d is unchanged: 0 for four coplanar points.
 */
RB_HOST_DEVICE_CALL int
rb_insphere_ties(rb_exact_env *env, const double *const *p, const uint32_t *v)
{
	uint32_t below = UINT32_MAX; /* points with numbers from here on are done */

	for (;;)
	{
		int next = -1;
		int sign, i;

		for (i = 0; i < 5; i++)
			if (v[i] < below && (next < 0 || v[i] > v[next]))
				next = i;
		if (next < 0)
			return 0;
		sign = rb_orient3d_at(env, p[next == 0 ? 4 : 0], p[next == 1 ? 4 : 1], p[next == 2 ? 4 : 2],
							  p[next == 3 ? 4 : 3]);
		if (sign != 0)
			return next == 4 && sign != RB_UNSURE ? -sign : sign;
		below = v[next];
	}
}

#endif /* RB_EXACT_INSPHERE_H */
