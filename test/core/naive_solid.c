/*
 * naive_solid.c
 *	  Implements points, segments and solids on rationals (naive_solid.h).
 */
#include "check.h"
#include "naive_solid.h"

void
naive_point_init(naive_point *p)
{
	for (int i = 0; i < 3; i++)
		mpq_init(p->at[i]);
}

void
naive_point_clear(naive_point *p)
{
	for (int i = 0; i < 3; i++)
		mpq_clear(p->at[i]);
}

void
naive_point_set(naive_point *p, const double *from)
{
	for (int i = 0; i < 3; i++)
		mpq_set_d(p->at[i], from[i]);
}

void
naive_point_nudge(naive_point *p, unsigned bits)
{
	mpq_t e;

	mpq_init(e);
	for (unsigned i = 0; i < 3; i++)
	{
		mpq_set_ui(e, 1, 1);
		mpq_div_2exp(e, e, bits * (i + 1));
		mpq_add(p->at[i], p->at[i], e);
	}
	mpq_clear(e);
}

/* Computes r = b - a. */
static void
minus(naive_point *r, const naive_point *b, const naive_point *a)
{
	for (int i = 0; i < 3; i++)
		mpq_sub(r->at[i], b->at[i], a->at[i]);
}

static void
cross(naive_point *r, const naive_point *a, const naive_point *b)
{
	mpq_t t;

	mpq_init(t);
	for (int i = 0; i < 3; i++)
	{
		int u = (i + 1) % 3, v = (i + 2) % 3;

		mpq_mul(r->at[i], a->at[u], b->at[v]);
		mpq_mul(t, a->at[v], b->at[u]);
		mpq_sub(r->at[i], r->at[i], t);
	}
	mpq_clear(t);
}

static void
dot(mpq_t r, const naive_point *a, const naive_point *b)
{
	mpq_t t, sum;

	mpq_inits(t, sum, NULL);
	for (int i = 0; i < 3; i++)
	{
		mpq_mul(t, a->at[i], b->at[i]);
		mpq_add(sum, sum, t);
	}
	mpq_set(r, sum);
	mpq_clears(t, sum, NULL);
}

static bool
is_zero(const naive_point *p)
{
	return mpq_sgn(p->at[0]) == 0 && mpq_sgn(p->at[1]) == 0 && mpq_sgn(p->at[2]) == 0;
}

void
naive_point_between(naive_point *p, const double *a, const double *b, const mpq_t t)
{
	mpq_t x, y;

	mpq_inits(x, y, NULL);
	for (int i = 0; i < 3; i++)
	{
		mpq_set_d(x, a[i]);
		mpq_set_d(y, b[i]);
		mpq_sub(y, y, x);
		mpq_mul(y, y, t);
		mpq_add(p->at[i], x, y);
	}
	mpq_clears(x, y, NULL);
}

enum
{
	A,
	B,
	C,
	AB,
	BC,
	CA,
	N, /* Normal */
	WORK,
	MORE,
	POINTS
};

static void
triangle_init(naive_point *x, const double *t)
{
	for (int i = 0; i < POINTS; i++)
		naive_point_init(&x[i]);
	for (int i = 0; i < 3; i++)
		naive_point_set(&x[A + i], t + 3 * i);
	for (int i = 0; i < 3; i++)
		minus(&x[AB + i], &x[A + (i + 1) % 3], &x[A + i]);
	cross(&x[N], &x[AB], &x[BC]);
}

static void
triangle_clear(naive_point *x)
{
	for (int i = 0; i < POINTS; i++)
		naive_point_clear(&x[i]);
}

/*
 * Returns the sign of p relative to edge i, 1 on the inner side. If p is not in the plane, its
 * projection along some direction is used instead.
 */
static int
edge_sign(naive_point *x, const naive_point *p, int i)
{
	mpq_t d;
	int sign;

	mpq_init(d);
	minus(&x[WORK], p, &x[A + i]);
	cross(&x[MORE], &x[AB + i], &x[WORK]);
	dot(d, &x[MORE], &x[N]);
	sign = mpq_sgn(d);
	mpq_clear(d);
	return sign;
}

bool
naive_on(const naive_point *p, const double *t)
{
	naive_point x[POINTS];
	bool on = false;
	mpq_t d, e;

	triangle_init(x, t);
	mpq_inits(d, e, NULL);
	if (!is_zero(&x[N]))
	{
		minus(&x[WORK], p, &x[A]);
		dot(d, &x[WORK], &x[N]);
		on = mpq_sgn(d) == 0;
		for (int i = 0; i < 3 && on; i++)
			on = edge_sign(x, p, i) >= 0;
	}
	else
		for (int i = 0; i < 3 && !on; i++)
		{
			minus(&x[WORK], p, &x[A + i]);
			cross(&x[MORE], &x[AB + i], &x[WORK]);
			dot(d, &x[WORK], &x[AB + i]);
			dot(e, &x[AB + i], &x[AB + i]);
			on = is_zero(&x[MORE]) && mpq_sgn(d) >= 0 && mpq_cmp(d, e) <= 0 &&
				 (mpq_sgn(e) != 0 || is_zero(&x[WORK]));
		}
	mpq_clears(d, e, NULL);
	triangle_clear(x);
	return on;
}

/*
 * Returns 1 if the ray crosses the triangle, 0 if it does not, and -1 if this direction cannot
 * decide.
 */
static int
ray_crosses(const naive_point *p, const naive_point *direction, const double *t)
{
	naive_point x[POINTS];
	mpq_t d, e;
	int answer = 0;

	triangle_init(x, t);
	mpq_inits(d, e, NULL);
	if (!is_zero(&x[N]))
	{
		minus(&x[WORK], &x[A], p);
		dot(e, &x[WORK], &x[N]);
		dot(d, direction, &x[N]);
		if (mpq_sgn(d) == 0)
			answer = mpq_sgn(e) == 0 ? -1 : 0;
		else
		{
			mpq_div(e, e, d);
			if (mpq_sgn(e) > 0)
			{
				naive_point at;

				naive_point_init(&at);
				answer = 1;
				for (int i = 0; i < 3; i++)
				{
					mpq_mul(at.at[i], direction->at[i], e);
					mpq_add(at.at[i], at.at[i], p->at[i]);
				}
				for (int i = 0; i < 3 && answer != 0; i++)
				{
					int s = edge_sign(x, &at, i);

					answer = s < 0 ? 0 : s == 0 ? -1 : answer;
				}
				naive_point_clear(&at);
			}
		}
	}
	mpq_clears(d, e, NULL);
	triangle_clear(x);
	return answer;
}

int
naive_side(const naive_point *p, const double *triangles, int n)
{
	naive_point direction;
	int parity = -1;

	for (int i = 0; i < n; i++)
		if (naive_on(p, triangles + 9 * i))
			return 0;
	naive_point_init(&direction);
	while (parity < 0)
	{
		parity = 0;
		for (int i = 0; i < 3; i++)
			mpq_set_si(direction.at[i], check_below(20001) - 10000, 1);
		if (is_zero(&direction))
			parity = -1;
		for (int i = 0; i < n && parity >= 0; i++)
		{
			int crosses = ray_crosses(p, &direction, triangles + 9 * i);

			parity = crosses < 0 ? -1 : parity ^ crosses;
		}
	}
	naive_point_clear(&direction);
	return parity ? 1 : -1;
}

bool
naive_below(const naive_point *p, const double *t)
{
	naive_point up;
	bool below;

	naive_point_init(&up);
	mpq_set_ui(up.at[2], 1, 1);
	below = ray_crosses(p, &up, t) == 1;
	naive_point_clear(&up);
	return below;
}

/*
 * Computes the parameter of p on the line through a and b, which must differ. Returns false if p is
 * not on the line.
 */
static bool
parameter(mpq_t t, const naive_point *a, const naive_point *ab, const naive_point *p)
{
	naive_point ap, out;
	mpq_t d;
	bool on;

	mpq_init(d);
	naive_point_init(&ap);
	naive_point_init(&out);
	minus(&ap, p, a);
	cross(&out, &ap, ab);
	on = is_zero(&out);
	dot(t, &ap, ab);
	dot(d, ab, ab);
	mpq_div(t, t, d);
	naive_point_clear(&ap);
	naive_point_clear(&out);
	mpq_clear(d);
	return on;
}

int
naive_events(const double *a, const double *b, const double *t, mpq_t *events)
{
	naive_point x[POINTS], pa, pb, ab, n;
	mpq_t d, e;
	int found = 0;

	triangle_init(x, t);
	mpq_inits(d, e, NULL);
	naive_point_init(&pa);
	naive_point_init(&pb);
	naive_point_init(&ab);
	naive_point_init(&n);
	naive_point_set(&pa, a);
	naive_point_set(&pb, b);
	minus(&ab, &pb, &pa);
	if (!is_zero(&ab))
		for (int i = 0; i < 7; i++)
		{
			/* A vertex on the line; the line through an edge; the plane */
			bool met = false;

			if (i < 3)
				met = parameter(e, &pa, &ab, &x[A + i]);
			else
			{
				/*
				 * The plane spanned by edge i - 3 and the cross product of both directions, or the
				 * plane of the triangle
				 */
				int k = i < 6 ? i - 3 : 0;

				if (i < 6)
				{
					cross(&x[WORK], &ab, &x[AB + k]);
					cross(&n, &x[WORK], &x[AB + k]);
				}
				else
					for (int j = 0; j < 3; j++)
						mpq_set(n.at[j], x[N].at[j]);
				dot(d, &ab, &n);
				if (mpq_sgn(d) != 0)
				{
					minus(&x[WORK], &x[A + k], &pa);
					dot(e, &x[WORK], &n);
					mpq_div(e, e, d);
					met = true;
				}
			}
			if (met && mpq_sgn(e) >= 0 && mpq_cmp_ui(e, 1, 1) <= 0)
			{
				mpq_init(events[found]);
				mpq_set(events[found++], e);
			}
		}
	mpq_clears(d, e, NULL);
	naive_point_clear(&pa);
	naive_point_clear(&pb);
	naive_point_clear(&ab);
	naive_point_clear(&n);
	triangle_clear(x);
	return found;
}
