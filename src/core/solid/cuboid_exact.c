/*
 * cuboid_exact.c
 *	  Rounds how much of a cuboid is inside a solid if double-double sums leave that undecided.
 *
 * Local coordinates are sums of products of doubles. Let them be integers, times a power of two. Each
 * point of a polygon is a fraction: its denominator is the difference of two corners' coordinates
 * where an edge meets a plane, or a component of the normal on a line of the cuboid. A term contains
 * the former at most twice, and the latter once. So with D the product of all these denominators, the
 * former squared, and K the middle of two doubles times 6, or times 6 volumes of the cuboid, the sign of
 *
 *		(sum of all terms - K) D
 *
 * is that of an integer, which is found from its residues (residue.h). The sum is at most 6 volumes.
 */
#include "core/solid/cuboid_exact.h"
#include "core/exact/nearest_double.h"
#include "core/exact/residue.h"

/* ---- comparison with the middle of two doubles ---- */

typedef struct cuboid_comparison
{
	const rb_cuboid *b;
	const rb_cuboid_polygons *polygons;
	bool inside;     /* Side of the low corner */
	bool fraction;   /* True to compare the fraction, false for the volume */
	rb_number whole; /* Volume of the cuboid */
	int shift[2];    /* Coordinates and rotation, times these powers of two, are integers */
	/* The sum of both: local coordinates times this power are integers */
	int places;
	uint64_t bits; /* Bits of D; then of the whole integer */
	bool negative; /* True if D is negative */
	/* The current comparison */
	rb_number middle; /* K */
	int more;         /* K times this power of two, and that of three coordinates, is an integer */
} cuboid_comparison;

/* Raises *shift to the binary places of n doubles. */
static void
raise_places(int *shift, const double *x, int n)
{
	for (int i = 0; i < n; i++)
		*shift = rb_max(*shift, rb_double_places(x[i]));
}

/* Marks the denominators of a polygon: bit 3 k + a of edges, bit a of lines. */
static void
list_denominators(const rb_cuboid_polygon *p, unsigned *edges, unsigned *lines)
{
	*edges = *lines = 0;
	for (int i = 0; i < p->n; i++)
	{
		const rb_cuboid_point *q = &p->at[i];
		unsigned axes = 0;

		for (int k = 0; k < 6; k++)
			axes |= (unsigned) (q->fixed >> k & 1) << k / 2;
		if (q->kind == RB_CUBOID_EDGE)
			*edges |= axes << 3 * q->of;
		else if (q->kind == RB_CUBOID_LINE)
			*lines |= 7 & ~axes;
	}
}

/* Counts the bits of the denominators of a polygon. */
static void
count_bits_of_polygon(cuboid_comparison *c, const rb_cuboid_polygon *p)
{
	unsigned edges, lines;
	rb_number x;

	list_denominators(p, &edges, &lines);
	for (int i = 0; i < 9; i++)
		if (edges >> i & 1)
		{
			rb_cuboid_number_of_edge(&x, c->b, p->triangle, i / 3, (i / 3 + 1) % 3, i % 3);
			c->bits += 2 * (uint64_t) (rb_number_bits(&x) + c->places);
		}
	for (int a = 0; a < 3; a++)
		if (lines >> a & 1)
		{
			rb_cuboid_number_of_normal(&x, c->b, p->triangle, a);
			c->bits += (uint64_t) (rb_number_bits(&x) + 2 * c->places);
			c->negative = c->negative != (x.sign < 0);
		}
}

/* Prepares all comparisons. */
static rb_status
open_cuboid_comparison(rb_context *ctx, cuboid_comparison *c)
{
	const rb_cuboid *b = c->b;
	rb_number size, x;

	rb_number_of(&c->whole, 1);
	for (int a = 0; a < 3; a++)
	{
		rb_number_copy(&x, &c->whole);
		rb_cuboid_number_of_plane(&size, b, RB_CUBOID_PLANE(a, 1));
		rb_cuboid_number_of_plane(&c->whole, b, RB_CUBOID_PLANE(a, 0));
		rb_number_sub(&size, &size, &c->whole);
		rb_number_mul(&c->whole, &x, &size);
	}
	if (b->space->local != NULL)
	{
		raise_places(&c->shift[0], b->space->frame->origin, 3);
		raise_places(&c->shift[1], b->space->frame->rotation, 9);
	}
	for (size_t i = 0; i < c->polygons->n; i++)
		raise_places(&c->shift[0], b->space->coords + 9 * (size_t) c->polygons->at[i].triangle, 9);
	c->places = c->shift[0] + c->shift[1];
	raise_places(&c->places, b->box, 6);
	c->places += b->centered;
	c->shift[0] = c->places - c->shift[1];
	for (size_t i = 0; i < c->polygons->n; i++)
	{
		if (rb_stop_due(ctx, i, 1024))
			return RB_STOPPED;
		count_bits_of_polygon(c, &c->polygons->at[i]);
	}
	return RB_OK;
}

/* ---- residues of the terms ---- */

/* A triangle, a cuboid and a polygon modulo a prime, in coordinates w (cuboid_clip.c) */
typedef struct residue_polygon
{
	uint64_t corner[3][3];
	uint64_t w[RB_CUBOID_POINTS][3];
} residue_polygon;

/* Computes the residue of the coordinate of a plane. */
static uint64_t
residue_of_plane(const cuboid_comparison *c, const rb_prime *m, int plane)
{
	const rb_cuboid *b = c->b;
	const int a = plane / 2, high = plane % 2;
	uint64_t x, half;

	if (!b->centered)
		return rb_residue_of(m, b->box[3 * high + a], c->places);
	x = rb_residue_of(m, b->box[a], c->places);
	half = rb_residue_of(m, b->box[3 + a], c->places - 1);
	return high ? rb_residue_add(m, x, half) : rb_residue_sub(m, x, half);
}

/* Computes the residue of a local coordinate of a corner. */
static uint64_t
residue_of_corner(const cuboid_comparison *c, const rb_prime *m, uint32_t triangle, int corner,
				  int a)
{
	const rb_cuboid_space *s = c->b->space;
	const double *p = s->coords + 9 * (size_t) triangle + 3 * corner;
	uint64_t sum = 0;

	if (s->local == NULL)
		return rb_residue_of(m, p[a], c->places);
	for (int k = 0; k < 3; k++)
	{
		const uint64_t off = rb_residue_sub(m, rb_residue_of(m, p[k], c->shift[0]),
											rb_residue_of(m, s->frame->origin[k], c->shift[0]));

		sum = rb_residue_add(
			m, sum,
			rb_residue_mul(m, off, rb_residue_of(m, s->frame->rotation[3 * a + k], c->shift[1])));
	}
	return sum;
}

/* Multiplies a residue by a small number. */
static uint64_t
multiply_residue(const rb_prime *m, uint64_t x, uint64_t factor)
{
	return rb_residue_mul(m, x, rb_residue_mul(m, factor, m->square));
}

/*
 * Computes the points of a polygon, and multiplies *common by its denominators. Returns false if one
 * is 0 modulo the prime.
 */
static bool
find_residues_of_points(const rb_prime *m, const rb_cuboid_polygon *p, const uint64_t size[3],
						residue_polygon *r, uint64_t *common)
{
	uint64_t edge[9], normal[3], e[3], f[3];
	unsigned edges, lines;

	list_denominators(p, &edges, &lines);
	for (int i = 0; i < 9; i++)
		if (edges >> i & 1)
		{
			const uint64_t x =
				rb_residue_sub(m, r->corner[(i / 3 + 1) % 3][i % 3], r->corner[i / 3][i % 3]);

			if (x == 0)
				return false;
			*common = rb_residue_mul(m, *common, rb_residue_mul(m, x, x));
			edge[i] = rb_residue_inverse(m, x);
		}
	for (int a = 0; a < 3; a++)
	{
		e[a] = rb_residue_sub(m, r->corner[1][a], r->corner[0][a]);
		f[a] = rb_residue_sub(m, r->corner[2][a], r->corner[0][a]);
	}
	for (int a = 0; a < 3; a++)
	{
		const int i = (a + 1) % 3, j = (a + 2) % 3;

		normal[a] = rb_residue_sub(m, rb_residue_mul(m, e[i], f[j]), rb_residue_mul(m, e[j], f[i]));
	}
	for (int a = 0; a < 3; a++)
		if (lines >> a & 1)
		{
			if (normal[a] == 0)
				return false;
			*common = rb_residue_mul(m, *common, normal[a]);
		}
	for (int i = 0; i < p->n; i++)
	{
		const rb_cuboid_point *q = &p->at[i];
		uint64_t *w = r->w[i];
		int axis = 0;

		memcpy(w, r->corner[q->kind == RB_CUBOID_LINE ? 0 : q->of], 3 * sizeof *w);
		if (q->kind == RB_CUBOID_CORNER)
			continue;
		if (q->kind == RB_CUBOID_EDGE)
		{
			const uint64_t *v = r->corner[(q->of + 1) % 3];
			uint64_t t, from[3];

			for (int k = 0; k < 6; k++)
				axis = q->fixed >> k & 1 ? k : axis;
			memcpy(from, w, sizeof from);
			t = rb_residue_sub(m, axis % 2 == 1 ? 0 : size[axis / 2], w[axis / 2]);
			t = rb_residue_mul(m, t, edge[3 * q->of + axis / 2]);
			for (int a = 0; a < 3; a++)
				w[a] = rb_residue_add(m, from[a],
									  rb_residue_mul(m, t, rb_residue_sub(m, v[a], from[a])));
		}
		else
		{
			uint64_t sum = 0;
			int free = 3;

			for (int k = 0; k < 6; k++)
				if (q->fixed >> k & 1)
				{
					const uint64_t at = k % 2 == 1 ? 0 : size[k / 2];

					sum = rb_residue_add(
						m, sum, rb_residue_mul(m, normal[k / 2], rb_residue_sub(m, at, w[k / 2])));
					w[k / 2] = at;
					free -= k / 2;
				}
			w[free] = rb_residue_sub(m, w[free],
									 rb_residue_mul(m, sum, rb_residue_inverse(m, normal[free])));
		}
	}
	return true;
}

/* Returns the residue of the terms of a polygon, before they are multiplied by `outward`. */
static uint64_t
find_residue_of_terms(const rb_prime *m, const rb_cuboid_polygon *p, const uint64_t size[3],
					  const residue_polygon *r)
{
	const unsigned low_x = 1u << RB_CUBOID_PLANE(0, 0), low_y = 1u << RB_CUBOID_PLANE(1, 0),
				   low_z = 1u << RB_CUBOID_PLANE(2, 0);
	const uint64_t *o = r->w[0];
	uint64_t sum = 0;

	for (int i = 1; i + 1 < p->n; i++)
	{
		const uint64_t *u = r->w[i], *v = r->w[i + 1];
		const uint64_t area = rb_residue_sub(
			m, rb_residue_mul(m, rb_residue_sub(m, u[0], o[0]), rb_residue_sub(m, v[1], o[1])),
			rb_residue_mul(m, rb_residue_sub(m, u[1], o[1]), rb_residue_sub(m, v[0], o[0])));

		sum = rb_residue_sub(
			m, sum,
			rb_residue_mul(m, area, rb_residue_add(m, o[2], rb_residue_add(m, u[2], v[2]))));
	}
	for (int i = 0; i < p->n; i++)
	{
		const int k = (i + 1) % p->n;
		const unsigned on = p->at[i].on, next = p->at[k].on;
		uint64_t term;

		if (!(on & next & low_z) || (on & next & low_y))
			continue;
		term = rb_residue_mul(m, rb_residue_sub(m, r->w[i][0], r->w[k][0]),
							  rb_residue_add(m, r->w[i][1], r->w[k][1]));
		term = rb_residue_mul(m, size[2], term);
		sum = rb_residue_add(m, sum, multiply_residue(m, term, 3));
		term = rb_residue_mul(m, size[2], size[1]);
		term = multiply_residue(m, term, 6);
		if ((on & low_y) && !(on & low_x))
			sum = rb_residue_sub(m, sum, rb_residue_mul(m, term, r->w[i][0]));
		if ((next & low_y) && !(next & low_x))
			sum = rb_residue_add(m, sum, rb_residue_mul(m, term, r->w[k][0]));
	}
	return sum;
}

/* Computes the residue of the integer whose sign is wanted. */
static rb_status
find_residue_of_comparison(rb_context *ctx, const void *arg, const rb_prime *m, uint64_t *residue,
						   bool *usable)
{
	const cuboid_comparison *c = arg;
	uint64_t high[3], size[3], sum = 0, common = m->one;

	*usable = true;
	for (int a = 0; a < 3; a++)
	{
		high[a] = residue_of_plane(c, m, RB_CUBOID_PLANE(a, 1));
		size[a] = rb_residue_sub(m, high[a], residue_of_plane(c, m, RB_CUBOID_PLANE(a, 0)));
	}
	if (c->inside)
		sum =
			multiply_residue(m, rb_residue_mul(m, size[0], rb_residue_mul(m, size[1], size[2])), 6);
	for (size_t i = 0; i < c->polygons->n; i++)
	{
		const rb_cuboid_polygon *p = &c->polygons->at[i];
		residue_polygon r;
		uint64_t terms;

		if (rb_stop_due(ctx, i, 1024))
			return RB_STOPPED;
		for (int k = 0; k < 9; k++)
			r.corner[k / 3][k % 3] =
				rb_residue_sub(m, high[k % 3], residue_of_corner(c, m, p->triangle, k / 3, k % 3));
		*usable = find_residues_of_points(m, p, size, &r, &common);
		if (!*usable)
			return RB_OK;
		terms = find_residue_of_terms(m, p, size, &r);
		sum = p->outward > 0 ? rb_residue_add(m, sum, terms) : rb_residue_sub(m, sum, terms);
	}
	sum = rb_residue_mul(m, sum, rb_residue_of(m, 1, c->more));
	*residue = rb_residue_mul(
		m, common,
		rb_residue_sub(m, sum, rb_residue_of_number(m, &c->middle, 3 * c->places + c->more)));
	return RB_OK;
}

/* Compares a result with the middle of two doubles. */
static rb_status
compare_cuboid_result(rb_context *ctx, const void *arg, double low, double high, int *sign)
{
	cuboid_comparison c = *(const cuboid_comparison *) arg;
	rb_number x, y;
	int bits;

	rb_number_of(&x, low);
	if (high <= DBL_MAX)
		rb_number_of(&y, high);
	else
		rb_number_of_parts(&y, 1, 1024);
	rb_number_add(&x, &x, &y);
	rb_number_of(&y, 3);
	rb_number_mul(&c.middle, &x, &y);
	if (c.fraction)
	{
		rb_number_copy(&x, &c.middle);
		rb_number_mul(&c.middle, &x, &c.whole);
	}
	c.more = rb_max(0, rb_number_places(&c.middle) - 3 * c.places);
	/* 6 volumes are below 2^3 volumes, and the difference below twice the larger number. */
	bits = rb_max(rb_number_bits(&c.whole) + 3, rb_number_bits(&c.middle)) + 1;
	c.bits += (uint64_t) (bits + 3 * c.places + c.more);
	RB_TRY(rb_integer_sign(ctx, c.bits, find_residue_of_comparison, &c, sign));
	if (c.negative)
		*sign = -*sign;
	return RB_OK;
}

/* Bounds a result by doubles, between 0 and a largest one. */
static void
bound_result(rb_bounded x, double most, double *low, double *high)
{
	const double error = 2 * x.error;

	*low = 0;
	*high = most;
	if (!(error < x.x.high))
		return;
	*low = nextafter(x.x.high - error, 0);
	*high = rb_min(nextafter(x.x.high + error, HUGE_VAL), most);
}

rb_status
rb_cuboid_round_exactly(rb_context *ctx, const rb_cuboid *b, const rb_cuboid_polygons *polygons,
						bool inside, const rb_cuboid_results *known, rb_cuboid_share *share)
{
	cuboid_comparison c = {.b = b, .polygons = polygons, .inside = inside};
	double low, high;

	RB_TRY(open_cuboid_comparison(ctx, &c));
	high = rb_number_round(&c.whole);
	bound_result(known->volume, high > DBL_MAX ? high : nextafter(high, HUGE_VAL), &low, &high);
	RB_TRY(rb_nearest_double(ctx, compare_cuboid_result, &c, low, high, &share->volume));
	c.fraction = true;
	bound_result(known->fraction, 1, &low, &high);
	RB_TRY(rb_nearest_double(ctx, compare_cuboid_result, &c, low, high, &share->fraction));
	share->volume = rb_max(share->volume, 0x1p-1074);
	share->fraction = rb_max(share->fraction, 0x1p-1074);
	return RB_OK;
}
