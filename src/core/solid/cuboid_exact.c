/*
 * cuboid_exact.c
 *	  Rounds how much of a cuboid is inside a solid if double-double sums leave that undecided.
 *
 * The terms (cuboid_clip.c) are summed in numbers of growing length, until both ends of an interval around
 * the result round to the same double. A result in the middle of two doubles is never decided in this
 * way. So, once the ends round to adjacent doubles, the residue modulo one prime shows whether the
 * result is likely to be in their middle, and only then it is compared with the middle exactly.
 *
 * For this comparison, let local coordinates, which are sums of products of doubles, be integers times
 * a power of two. Each point of a polygon is a fraction: its denominator is the difference of two
 * corners' coordinates where an edge meets a plane, or a component of the normal on a line of the
 * cuboid. A term contains the former at most twice, and the latter once. So with D the product of all
 * these denominators, the former squared, and K the middle of two doubles times 6, or times 6 volumes
 * of the cuboid, the sign of
 *
 *		(sum of all terms - K) D
 *
 * is that of an integer, which is found from its residues (residue.h). The sum is at most 6 volumes.
 */
#include "core/solid/cuboid_clip.h"
#include "core/exact/fractions.h"
#include "core/exact/residue.h"

#include <math.h>

/* ---- comparison with the middle of two doubles ---- */

typedef struct cuboid_comparison
{
	const rb_cuboid *b;
	const rb_cuboid_polygons *polygons;
	bool inside;     /* Side of the low corner */
	bool fraction;   /* True to compare the fraction, false for the volume */
	rb_number whole; /* Volume of the cuboid */
	int shift[2];    /* Coordinates and rotation times 2^shift are integers */
	/* Sum of both shifts: local coordinates times 2^places are integers */
	int places;
	uint64_t bits; /* Bits of D; then of the whole integer */
	bool negative; /* True if D is negative */
	/* The current comparison */
	rb_number middle; /* K */
	int more;         /* K times 2^(3 places + more) is an integer */
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

/* Sets the middle of two doubles with which a result is compared, and counts all bits. */
static void
set_middle_of_comparison(cuboid_comparison *c, double low, double high)
{
	rb_number x, y;
	int bits;

	rb_number_of(&x, low);
	if (high <= DBL_MAX)
		rb_number_of(&y, high);
	else
		rb_number_of_parts(&y, 1, 1024);
	rb_number_add(&x, &x, &y);
	rb_number_of(&y, 3);
	rb_number_mul(&c->middle, &x, &y);
	if (c->fraction)
	{
		rb_number_copy(&x, &c->middle);
		rb_number_mul(&c->middle, &x, &c->whole);
	}
	c->more = rb_max(0, rb_number_places(&c->middle) - 3 * c->places);
	/* 6 volumes are below 2^3 volumes, and the difference below twice the larger number. */
	bits = rb_max(rb_number_bits(&c->whole) + 3, rb_number_bits(&c->middle)) + 1;
	c->bits += (uint64_t) (bits + 3 * c->places + c->more);
}

/* Compares a result with the middle of two doubles. */
static rb_status
compare_cuboid_result(rb_context *ctx, const void *arg, double low, double high, int *sign)
{
	cuboid_comparison c = *(const cuboid_comparison *) arg;

	set_middle_of_comparison(&c, low, high);
	RB_TRY(rb_integer_sign(ctx, c.bits, find_residue_of_comparison, &c, sign));
	if (c.negative)
		*sign = -*sign;
	return RB_OK;
}

/* Sets *likely to false if a result is known not to be in the middle of two doubles. */
static rb_status
may_be_in_middle(rb_context *ctx, const cuboid_comparison *of, double low, double high,
				 bool *likely)
{
	cuboid_comparison c = *of;

	set_middle_of_comparison(&c, low, high);
	return rb_integer_may_be_zero(ctx, find_residue_of_comparison, &c, likely);
}

/* ---- sums in longer numbers ---- */

#define LEAST_WORDS 3
#define TEST_WORDS 6 /* Words from which a result may be in the middle of two doubles */
#define MOST_WORDS RB_SIZE(96, 12)
/*
 * Let e be the error of a coordinate and a size, and D the largest size plus 4 e. Coordinates are from
 * 0 to the size. The error of a difference is at most 2 e, that of twice an area 8 e D, and that of its
 * product with the sum of three heights 3 D 8 e D + 2 D^2 3 e = 30 e D^2. The error of the other terms
 * is at most 3 D 6 e D + 3 e 2 D^2 = 24 e D^2, and 18 e D^2.
 */
#define TERM_ERROR 32

_Static_assert(3 * (MOST_WORDS + 3) + 4 <= RB_NUMBER_WORDS,
			   "room for a product of three truncated coordinates");

/* A sum of terms, whose coordinates w (cuboid_clip.c) are multiples of 2^(64 low) */
typedef struct long_sum
{
	const rb_cuboid *b;
	int low;
	rb_number size[3];
	rb_number sum;
	uint64_t terms;
} long_sum;

/* Adds the product of two numbers and a factor to the sum. */
static void
add_long_term(long_sum *s, int factor, const rb_number *x, const rb_number *y)
{
	rb_number p, q;

	rb_number_of(&q, factor);
	rb_number_mul(&p, &q, x);
	rb_number_mul(&q, &p, y);
	rb_number_add(&s->sum, &s->sum, &q);
	s->terms++;
}

/* Sets r to a / b, truncated. */
static void
divide_to_low(rb_number *r, const rb_number *a, const rb_number *b, int low)
{
	const int words = a->low + a->n - (b->low + b->n) + 1 - low;

	r->sign = r->n = r->low = 0;
	if (a->sign == 0 || words <= 0)
		return;
	rb_number_div(r, a, b, words);
	rb_number_truncate_at(r, low);
}

/* Computes the coordinate w (cuboid_clip.c) of a plane. */
static void
find_long_place(rb_number *r, const rb_cuboid *b, int plane)
{
	rb_number low;

	rb_number_of(r, 0);
	if (plane % 2 == 1)
		return;
	rb_cuboid_number_of_plane(r, b, plane + 1);
	rb_cuboid_number_of_plane(&low, b, plane);
	rb_number_sub(r, r, &low);
}

/* Computes coordinate w (cuboid_clip.c) of a corner of a triangle. */
static void
find_long_corner(rb_number *r, const rb_cuboid *b, uint32_t triangle, int corner, int a)
{
	rb_number x;

	rb_cuboid_number_of_plane(r, b, RB_CUBOID_PLANE(a, 1));
	rb_cuboid_number_of_corner(&x, b->space, triangle, corner, a);
	rb_number_sub(r, r, &x);
}

/* Computes coordinate w of a point where an edge meets a plane. */
static void
find_long_point_of_edge(rb_number *r, const long_sum *s, uint32_t triangle, int corner, int plane,
						int a)
{
	rb_number from, off, along, top;

	find_long_place(&from, s->b, plane);
	find_long_corner(&off, s->b, triangle, corner, plane / 2);
	rb_number_sub(&from, &from, &off);
	/* Both edges are differences of coordinates, which have the opposite sign of those of w. */
	rb_cuboid_number_of_edge(&along, s->b, triangle, corner, (corner + 1) % 3, a);
	rb_number_mul(&top, &from, &along);
	rb_cuboid_number_of_edge(&along, s->b, triangle, corner, (corner + 1) % 3, plane / 2);
	divide_to_low(r, &top, &along, s->low);
	find_long_corner(&off, s->b, triangle, corner, a);
	rb_number_truncate_at(&off, s->low);
	rb_number_add(r, r, &off);
}

/* Computes coordinate w of the point where the plane of the triangle meets two planes. */
static void
find_long_point_of_line(rb_number *r, const long_sum *s, uint32_t triangle, unsigned fixed, int a)
{
	rb_number sum, off, normal, product;

	rb_number_of(&sum, 0);
	for (int k = 0; k < 6; k++)
		if (fixed >> k & 1)
		{
			find_long_place(&off, s->b, k);
			find_long_corner(&product, s->b, triangle, 0, k / 2);
			rb_number_sub(&off, &off, &product);
			rb_cuboid_number_of_normal(&normal, s->b, triangle, k / 2);
			rb_number_mul(&product, &off, &normal);
			rb_number_add(&sum, &sum, &product);
		}
	rb_cuboid_number_of_normal(&normal, s->b, triangle, a);
	divide_to_low(&product, &sum, &normal, s->low);
	find_long_corner(r, s->b, triangle, 0, a);
	rb_number_truncate_at(r, s->low);
	rb_number_sub(r, r, &product);
}

/* Computes a corner of a polygon. */
static void
find_long_point(rb_number w[3], const long_sum *s, uint32_t triangle, const rb_cuboid_point *p)
{
	for (int a = 0; a < 3; a++)
	{
		int first = 0;

		for (int k = 5; k >= 0; k--)
			first = p->fixed >> k & 1 ? k : first;
		if (p->on >> RB_CUBOID_PLANE(a, 1) & 1)
			rb_number_of(&w[a], 0);
		else if (p->on >> RB_CUBOID_PLANE(a, 0) & 1)
			rb_number_copy(&w[a], &s->size[a]);
		else if (p->kind == RB_CUBOID_EDGE)
			find_long_point_of_edge(&w[a], s, triangle, p->of, first, a);
		else if (p->kind == RB_CUBOID_LINE)
			find_long_point_of_line(&w[a], s, triangle, p->fixed, a);
		else
		{
			find_long_corner(&w[a], s->b, triangle, p->of, a);
			rb_number_truncate_at(&w[a], s->low);
		}
	}
}

/* Adds the term of a triangle of a polygon. */
static void
add_long_area(long_sum *s, int outward, const rb_number o[3], const rb_number u[3],
			  const rb_number v[3])
{
	rb_number d[4], area, height;

	for (int k = 0; k < 4; k++)
		rb_number_sub(&d[k], &(k < 2 ? u : v)[k % 2], &o[k % 2]);
	rb_number_det2(&area, &d[0], &d[1], &d[2], &d[3]);
	rb_number_add(&height, &o[2], &u[2]);
	rb_number_add(&height, &height, &v[2]);
	add_long_term(s, -outward, &area, &height);
}

/* Adds the terms of the segment from p to q, if it is in the low face across z. */
static void
add_long_segment(long_sum *s, int outward, const rb_cuboid_point *p, const rb_number u[3],
				 const rb_cuboid_point *q, const rb_number v[3])
{
	const unsigned low_x = 1u << RB_CUBOID_PLANE(0, 0), low_y = 1u << RB_CUBOID_PLANE(1, 0),
				   low_z = 1u << RB_CUBOID_PLANE(2, 0);
	rb_number x, y, product;

	if (!(p->on & q->on & low_z) || (p->on & q->on & low_y))
		return;
	rb_number_sub(&x, &u[0], &v[0]);
	rb_number_add(&y, &u[1], &v[1]);
	rb_number_mul(&product, &s->size[2], &x);
	add_long_term(s, 3 * outward, &product, &y);
	rb_number_mul(&product, &s->size[2], &s->size[1]);
	if ((p->on & low_y) && !(p->on & low_x))
		add_long_term(s, -6 * outward, &product, &u[0]);
	if ((q->on & low_y) && !(q->on & low_x))
		add_long_term(s, 6 * outward, &product, &v[0]);
}

/* Adds the terms of a polygon. */
static void
add_long_polygon(long_sum *s, const rb_cuboid_polygon *p)
{
	rb_number first[3], other[2][3];

	find_long_point(first, s, p->triangle, &p->at[0]);
	for (int i = 1; i < p->n; i++)
	{
		const rb_number *before = i == 1 ? first : other[(i - 1) % 2];

		find_long_point(other[i % 2], s, p->triangle, &p->at[i]);
		if (i > 1)
			add_long_area(s, p->outward, first, before, other[i % 2]);
		add_long_segment(s, p->outward, &p->at[i - 1], before, &p->at[i], other[i % 2]);
	}
	add_long_segment(s, p->outward, &p->at[p->n - 1], other[(p->n - 1) % 2], &p->at[0], first);
}

/* Bounds six times the volume inside by sums of coordinates that are truncated to `words` words. */
static rb_status
bound_sum(rb_context *ctx, const cuboid_comparison *c, int words, rb_number bound[2])
{
	long_sum s = {.b = c->b};
	rb_number most, x, error;

	most.sign = most.n = most.low = 0;
	for (int a = 0; a < 3; a++)
	{
		find_long_place(&s.size[a], c->b, RB_CUBOID_PLANE(a, 0));
		if (rb_number_compare(&s.size[a], &most) > 0)
			rb_number_copy(&most, &s.size[a]);
	}
	s.low = most.low + most.n - words;
	for (int a = 0; a < 3; a++)
		rb_number_truncate_at(&s.size[a], s.low);
	if (c->inside)
	{
		rb_number_of(&x, 6);
		rb_number_mul(&s.sum, &c->whole, &x);
	}
	for (size_t i = 0; i < c->polygons->n; i++)
	{
		if (rb_stop_due(ctx, i, 16))
			return RB_STOPPED;
		add_long_polygon(&s, &c->polygons->at[i]);
	}
	/* Coordinates are two truncated numbers each. */
	rb_number_of_parts(&error, 8, 64 * s.low);
	rb_number_truncate(&most, 2);
	rb_number_add(&most, &most, &error);
	rb_number_of_parts(&x, 1, 64 * (most.low + most.n - 2) + 1);
	rb_number_add(&most, &most, &x);
	rb_number_of_parts(&error, 2 * TERM_ERROR * s.terms, 64 * s.low);
	rb_number_mul(&x, &error, &most);
	rb_number_mul(&error, &x, &most);
	rb_number_sub(&bound[0], &s.sum, &error);
	rb_number_add(&bound[1], &s.sum, &error);
	return RB_OK;
}

/*
 * Decides a result if both ends of its range round to the same double, or if it is likely to be in the
 * middle of two.
 */
static rb_status
decide_cuboid_result(rb_context *ctx, const cuboid_comparison *c, int words, double low,
					 double high, double *result, bool *decided)
{
	bool likely;

	*result = low;
	*decided = low == high;
	if (*decided || words < TEST_WORDS)
		return RB_OK;
	if (nextafter(low, HUGE_VAL) == high)
	{
		RB_TRY(may_be_in_middle(ctx, c, low, high, &likely));
		*decided = likely;
		if (likely)
			return rb_nearest_double(ctx, compare_cuboid_result, c, low, high, result);
	}
	*decided = words == MOST_WORDS;
	if (!*decided)
		return RB_OK;
	/* The ends may have been rounded beyond the result. */
	return rb_nearest_double(ctx, compare_cuboid_result, c, nextafter(rb_min(low, DBL_MAX), 0),
							 nextafter(high, HUGE_VAL), result);
}

rb_status
rb_cuboid_round_exactly(rb_context *ctx, const rb_cuboid *b, const rb_cuboid_polygons *polygons,
						bool inside, rb_cuboid_share *share)
{
	cuboid_comparison c = {.b = b, .polygons = polygons, .inside = inside};
	double *const result[2] = {&share->volume, &share->fraction};
	bool decided[2] = {false, false};
	rb_number bound[2], below[2];

	RB_TRY(open_cuboid_comparison(ctx, &c));
	rb_number_of(&below[0], 6);
	rb_number_mul(&below[1], &below[0], &c.whole);
	for (int words = LEAST_WORDS; !decided[0] || !decided[1]; words *= 2)
	{
		RB_TRY(bound_sum(ctx, &c, words, bound));
		for (int k = 0; k < 2; k++)
		{
			c.fraction = k == 1;
			if (!decided[k])
				RB_TRY(decide_cuboid_result(
					ctx, &c, words, rb_max(rb_number_round_quotient(&bound[0], &below[k]), 0),
					rb_max(rb_number_round_quotient(&bound[1], &below[k]), 0), result[k],
					&decided[k]));
		}
	}
	share->volume = rb_max(share->volume, 0x1p-1074);
	share->fraction = rb_max(share->fraction, 0x1p-1074);
	return RB_OK;
}
