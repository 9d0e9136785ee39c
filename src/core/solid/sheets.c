/*
 * sheets.c
 *	  Finds the triangles that share an edge, and groups the triangles of a solid into sheets.
 *
 *				   c
 *				  /|\				the fan of ab: the triangles abc, bad, ...
 *				 / | \				as a circular list, in any order
 *				a--+--b
 *				 \ | /
 *				   d
 *
 * Edges are identified if their endpoints have equal coordinates. A hash table maps each edge to
 * its first side, and further sides are inserted into the circular list of that side. The threads
 * process rows independently, so the tables are small.
 *
 * Two triangles that share an edge either traverse it in opposite directions, or one of them is
 * turned over, and their normals point to different sides of the sheet. So a fact known about the
 * sides of one triangle extends to its whole sheet.
 */
#include "core/solid/solid.h"
#include "core/base/point_hash.h"
#include "core/base/parallel.h"
#include "core/primitive/segment.h"
#include "core/join/join.h"
#include "core/set/set.h"
#include "core/primitive/ray.h"
#include "core/base/sort.h"

/* ---- lists of pairs ---- */

/*
 * Collects pairs of parts from several threads and sorts them.
 */

void
rb_notes_open(rb_notes *notes, rb_context *ctx)
{
	*notes = (rb_notes){.ctx = ctx};
	pthread_mutex_init(&notes->lock, NULL);
}

void
rb_notes_close(rb_notes *notes)
{
	pthread_mutex_destroy(&notes->lock);
	RB_FREE(notes->ctx->memory, notes->at);
	notes->n = notes->cap = 0;
}

rb_status
rb_notes_add(rb_notes *notes, const rb_pair *pairs, size_t n)
{
	rb_status status;

	if (n == 0)
		return RB_OK;
	pthread_mutex_lock(&notes->lock);
	status = RB_GROW(notes->ctx, notes->at, notes->cap, notes->n + n);
	if (status == RB_OK)
	{
		memcpy(notes->at + notes->n, pairs, n * sizeof *pairs);
		notes->n += n;
	}
	pthread_mutex_unlock(&notes->lock);
	return status;
}

/* Rows of the red and blue parts, or NULL if a part is its own row */
typedef struct row_maps
{
	const uint32_t *red;
	const uint32_t *blue;
} row_maps;

/* Returns the rows of a pair of parts in a list of pairs as its sort key. */
static uint64_t
key_of_noted_rows(const void *element, const void *arg)
{
	const row_maps *of = arg;
	const rb_pair pair = *(const rb_pair *) element;
	const uint32_t red = rb_pair_red(pair);

	return (uint64_t) (of->red != NULL ? of->red[red] : red) << 32 |
		   (of->blue != NULL ? of->blue[pair.blue] : pair.blue);
}

rb_status
rb_notes_sort(rb_notes *notes, const uint32_t *red_of, const uint32_t *blue_of)
{
	const row_maps of = {red_of, blue_of};
	rb_pair *other = NULL;
	rb_status status;

	if (notes->n < 2)
		return RB_OK;
	RB_TRY(RB_ALLOCATE(notes->ctx, other, notes->cap));
	status = rb_radix_sort(notes->ctx, (void **) &notes->at, (void **) &other, notes->n,
						   sizeof *notes->at, 8, key_of_noted_rows, &of);
	RB_FREE(notes->ctx->memory, other);
	return status;
}

/* ---- fans ---- */

#define GRAIN RB_SIZE(16, 1)      /* Number of rows a thread takes at a time */
#define TRIANGLES_PER_CHECK 65536 /* Triangles between checks for cancellation */

/* Returns the corner that follows the start of a side by `more` corners in its triangle. */
static const double *
get_side_corner(const rb_fans *fans, uint32_t side, uint32_t more)
{
	return fans->set->coords + 3 * (size_t) (side - side % 3 + (side + more) % 3);
}

/*
 * Returns true if two triangle sides have the same ends, in either direction; they belong to one
 * fan.
 */
static bool
are_sides_on_same_edge(const rb_fans *fans, uint32_t s, uint32_t t)
{
	const double *a = get_side_corner(fans, s, 0), *b = get_side_corner(fans, s, 1);
	const double *c = get_side_corner(fans, t, 0), *d = get_side_corner(fans, t, 1);

	return (rb_equal3(a, c) && rb_equal3(b, d)) || (rb_equal3(a, d) && rb_equal3(b, c));
}

/* Returns a hash that does not depend on the direction of the edge. */
static inline uint64_t
hash_edge_of_sheet(const rb_fans *fans, uint32_t side)
{
	return rb_mix(rb_hash_point(get_side_corner(fans, side, 0)) +
				  rb_hash_point(get_side_corner(fans, side, 1)));
}

/* Finds the first side of an edge */
#define RB_HASH edge_sides
#define RB_HASH_SLOT uint32_t
#define RB_HASH_KEY uint32_t
#define RB_HASH_ARG const rb_fans *
#define RB_HASH_OF(fans, side) hash_edge_of_sheet(fans, side)
#define RB_HASH_EQUAL(fans, slot, side) are_sides_on_same_edge(fans, slot, side)
#define RB_HASH_KEY_OF(fans, slot) (slot)
#include "core/base/hash.h"

/* Scratch memory of a thread for the current row */
typedef struct room
{
	edge_sides sides;
	uint32_t *stack;
	size_t stack_cap;
} room;

typedef struct search
{
	rb_context *ctx;
	rb_fans *fans;
	const uint32_t *bad;
	uint32_t *first; /* First triangle of each row, with one extra entry at the end */
	room *rooms;
	int status;
} search;

/* Links the triangle sides at each edge of a solid into a ring. */
static rb_status
link_sides_to_fans(search *s, room *r, uint32_t from, uint32_t to)
{
	rb_fans *fans = s->fans;
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};

	RB_TRY(edge_sides_reset(s->ctx, &r->sides, 3 * (size_t) (to - from) / 2));
	for (uint32_t i = from; i < to; i++)
	{
		const double *t = fans->set->coords + 9 * (size_t) i;

		if (i % 4096 == 0 && rb_should_stop(s->ctx))
			return RB_STOPPED;
		if (rb_projection_axis(&env, t, t + 3, t + 6) == -1)
			continue;
		fans->sheet[i] = i;
		for (uint32_t side = 3 * i; side < 3 * i + 3; side++)
		{
			uint32_t *first;

			RB_TRY(edge_sides_reserve(s->ctx, &r->sides, fans, 1));
			first = edge_sides_find(&r->sides, fans, side);
			if (*first == RB_HASH_FREE)
			{
				*first = fans->next[side] = side;
				r->sides.n++;
			}
			else
			{
				fans->next[side] = fans->next[*first];
				fans->next[*first] = side;
			}
		}
	}
	return RB_OK;
}

/* Assigns all triangles connected to the first one to its sheet. */
static void
assign_triangles_to_sheet(const search *s, uint32_t first, uint32_t *stack)
{
	rb_fans *fans = s->fans;
	uint8_t *seen = fans->inner;
	uint32_t n = 0, steps = 0;

	stack[n++] = first;
	seen[first] = 1;
	while (n > 0)
	{
		const uint32_t i = stack[--n];

		if (++steps % 4096 == 0 && rb_should_stop(s->ctx))
			return;
		for (uint32_t side = 3 * i; side < 3 * i + 3; side++)
		{
			const uint32_t other = fans->next[side], o = other / 3;

			if (other == side || fans->next[other] != side || seen[o])
				continue;
			seen[o] = 1;
			fans->sheet[o] = first;
			fans->turned[o] =
				fans->turned[i] ^ (uint8_t) rb_equal3(get_side_corner(fans, side, 0),
													  get_side_corner(fans, other, 0));
			stack[n++] = o;
		}
	}
}

/* Finds the sheets of one solid. */
static rb_status
find_sheets_of_row(search *s, room *r, uint32_t from, uint32_t to)
{
	rb_fans *fans = s->fans;

	RB_TRY(link_sides_to_fans(s, r, from, to));
	RB_TRY(RB_RENEW(s->ctx, r->stack, r->stack_cap, to - from));
	for (uint32_t i = from; i < to; i++)
	{
		if (fans->sheet[i] == i && !fans->inner[i])
			assign_triangles_to_sheet(s, i, r->stack);
		if (i % 4096 == 0 && rb_should_stop(s->ctx))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* Finds the sheets of a range of solids. */
static void
find_sheets_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	search *s = arg;

	for (uint64_t row = from; row < to && !rb_should_stop(s->ctx); row++)
	{
		rb_status status = RB_OK;

		if (!rb_is_marked(s->bad, (uint32_t) row))
			status = find_sheets_of_row(s, &s->rooms[rb_thread_number(me)], s->first[row],
										s->first[row + 1]);
		rb_keep_failure(&s->status, status);
	}
}

/*
 * Returns the z of a triangle's lowest vertex. The triangle of a sheet for which this z is largest
 * represents the sheet: an upward ray from there meets few triangles.
 */
static double
lowest_z_of_triangle(const double *t)
{
	return rb_min(t[2], rb_min(t[5], t[8]));
}

/*
 * For each sheet, finds the triangle whose lowest vertex is highest. Few triangles of the solid are
 * above it. It is vertical only if all triangles of the sheet are. Rays that run along vertical
 * triangles are the most expensive ones.
 */
static rb_status
find_top_triangles(const rb_context *ctx, const rb_fans *fans, uint32_t *top)
{
	const double *t = fans->set->coords;

	for (uint32_t i = 0; i < fans->set->nparts; i++)
	{
		const uint32_t sheet = fans->sheet[i];

		if (rb_stop_due(ctx, i, TRIANGLES_PER_CHECK))
			return RB_STOPPED;
		if (sheet == i)
			top[i] = i;
		else if (sheet != RB_NO_SHEET && lowest_z_of_triangle(t + 9 * (size_t) i) >
											 lowest_z_of_triangle(t + 9 * (size_t) top[sheet]))
			top[sheet] = i;
	}
	return RB_OK;
}

/* Lists the sheets in row order. */
static rb_status
list_sheets(search *s, uint32_t *top)
{
	rb_fans *fans = s->fans;

	RB_TRY(find_top_triangles(s->ctx, fans, top));
	for (uint32_t i = 0; i < fans->set->nparts; i++)
		fans->nsheets += fans->sheet[i] == i;
	RB_TRY(RB_ALLOCATE(s->ctx, fans->sheets, fans->nsheets + 1));
	RB_TRY(RB_ALLOCATE(s->ctx, fans->tops, fans->nsheets + 1));
	fans->nsheets = 0;
	for (uint32_t row = 0; row < fans->set->nrows; row++)
	{
		fans->start[row] = fans->nsheets;
		for (uint32_t i = s->first[row]; i < s->first[row + 1]; i++)
		{
			if (rb_stop_due(s->ctx, i, TRIANGLES_PER_CHECK))
				return RB_STOPPED;
			if (fans->sheet[i] == i)
			{
				fans->sheets[fans->nsheets] = i;
				fans->tops[fans->nsheets++] = top[i];
			}
		}
	}
	fans->start[fans->set->nrows] = fans->nsheets;
	memset(fans->inner, 0, fans->set->nparts);
	return RB_OK;
}

/* Finds the sheets of all solids on several threads. */
static rb_status
find_sheets_of_solids(search *s)
{
	rb_thread *me;
	uint32_t threads;
	rb_status status;

	RB_TRY(rb_team_open(s->ctx, rb_threads_for(s->ctx, s->fans->set->nrows, GRAIN), &me));
	threads = (uint32_t) rb_team_threads(me);
	status = RB_ALLOCATE(s->ctx, s->rooms, threads);
	if (status == RB_OK)
	{
		memset(s->rooms, 0, threads * sizeof *s->rooms);
		status = rb_loop(me, s->fans->set->nrows, GRAIN, find_sheets_piece, s);
		for (uint32_t i = 0; i < threads; i++)
		{
			edge_sides_free(s->ctx->memory, &s->rooms[i].sides);
			RB_FREE(s->ctx->memory, s->rooms[i].stack);
		}
		RB_FREE(s->ctx->memory, s->rooms);
	}
	rb_team_close(&me);
	return rb_loop_failure(s->status, status);
}

rb_status
rb_fans_find(rb_context *ctx, const rb_set *set, const uint32_t *bad, rb_fans *fans)
{
	const size_t n = (size_t) set->nparts + 1, rows = (size_t) set->nrows + 1;
	search s = {.ctx = ctx, .fans = fans, .bad = bad};
	uint32_t *top = NULL;
	RB_FREE_AT_END(ctx->memory, &top, &s.first);

	*fans = (rb_fans){.set = set};
	RB_TRY(rb_array(ctx, (void **) &fans->next, n, 3 * sizeof(uint32_t)));
	RB_TRY(RB_ALLOCATE(ctx, fans->sheet, n));
	RB_TRY(RB_ALLOCATE(ctx, fans->turned, n));
	RB_TRY(RB_ALLOCATE(ctx, fans->inner, n));
	RB_TRY(RB_ALLOCATE(ctx, fans->start, rows));
	RB_TRY(RB_ALLOCATE(ctx, s.first, rows));
	memset(fans->sheet, 0xff, n * sizeof(uint32_t));
	memset(fans->turned, 0, n);
	/* `inner` serves as the visited flag until its final values are computed. */
	memset(fans->inner, 0, n);
	RB_TRY(rb_row_starts(ctx, set, s.first));
	RB_TRY(find_sheets_of_solids(&s));
	RB_TRY(RB_ALLOCATE(ctx, top, n));
	return list_sheets(&s, top);
}

void
rb_fans_free(rb_memory *memory, rb_fans *fans)
{
	RB_FREE(memory, fans->next);
	RB_FREE(memory, fans->sheet);
	RB_FREE(memory, fans->turned);
	RB_FREE(memory, fans->sheets);
	RB_FREE(memory, fans->tops);
	RB_FREE(memory, fans->start);
	RB_FREE(memory, fans->inner);
}

/* ---- sides of sheets and solids ---- */

/*
 * Determines which side of a solid a sheet lies on, and which side of a sheet its own solid lies
 * on.
 *
 * Both questions are answered for one point of each sheet, near the centroid c of one of its
 * triangles abc:
 *
 *		q = c + d v,		with an infinitesimal d > 0.
 *
 * To find the side of the triangle on which its own solid lies, v is the normal, so q is off the
 * triangle. To find the side of another solid on which the sheet lies, v is b - a, so q is on the
 * triangle. The other solid may touch the triangle at isolated points, even at c, but not along a
 * segment from c to q. In either case q is on no triangle of the solid being tested. Therefore q
 * can be perturbed further by (e, e^2), with e infinitesimal relative to d, without changing the
 * result. After that, the upward ray from q meets no edge.
 *
 * The position of q relative to an edge pq in the xy projection, and relative to the plane through
 * p with the normal m, is given by the first nonzero value in the respective column:
 *
 *		(q - p) x (3 c - 3 p)		m . (3 c - 3 p)
 *		(q - p) x v					m . v
 *		as in ray.h
 *
 * The second column needs no third row, because a point in the plane of a triangle and above or
 * below that triangle would be on the triangle. The first row is evaluated with interval arithmetic
 * before it is evaluated exactly. The candidate triangles above q are found by a box join: each ray
 * contributes a box that extends from an interval around c upward, and each triangle contributes
 * its bounding box.
 */

#define BATCH RB_SIZE(256, 3) /* Number of pairs appended at a time */

typedef struct ray_start
{
	const double *t;
	bool own;
	double low[3]; /* Bounds on the centroid */
	double high[3];
	bool exact;          /* The fields below are valid */
	rb_number centre[3]; /* Centroid times three */
	rb_number move[3];
} ray_start;

/* State of a join of rays with triangles */
typedef struct cast
{
	rb_context *ctx;
	const rb_fans *from;
	const uint32_t *triangle;
	const rb_fans *solids;
	bool own;
	rb_notes above; /* Pairs of a ray and a triangle above its start */
} cast;

/*
 * Sets the start of an upward ray to the centroid of a triangle, bounded by intervals. With `own`,
 * the triangle belongs to the solid that the ray tests.
 */
static void
begin_ray_from_sheet(ray_start *b, const double *t, bool own)
{
	b->t = t;
	b->own = own;
	b->exact = false;
	rb_triangle_centre(t, b->low, b->high);
}

/* Computes the start of a ray and its direction exactly. */
static void
compute_exact_ray_from_sheet(ray_start *b)
{
	rb_number x;

	b->exact = true;
	for (int a = 0; a < 3; a++)
	{
		rb_number_of(&b->centre[a], b->t[a]);
		for (int k = 3; k < 9; k += 3)
		{
			rb_number_of(&x, b->t[k + a]);
			rb_number_add(&b->centre[a], &b->centre[a], &x);
		}
	}
	if (b->own)
		rb_triangle_normal(b->move, b->t);
	else
		for (int a = 0; a < 3; a++)
			rb_number_difference(&b->move[a], b->t[3 + a], b->t[a]);
}

/* Computes one coordinate of 3 c - 3 p, where c is the centroid. */
static void
exact_offset_of_sheet_ray(rb_number *r, const ray_start *b, const double *p, int axis)
{
	rb_number x;

	rb_number_of(&x, p[axis]);
	rb_number_copy(r, &b->centre[axis]);
	for (int i = 0; i < 3; i++)
		rb_number_sub(r, r, &x);
}

/*
 * Returns an interval of the offset of a ray's start, the centroid of a triangle of a sheet, from
 * point p on one axis.
 */
static rb_interval
interval_offset_of_sheet_ray(const ray_start *b, const double *p, int axis)
{
	const rb_interval c = {.lo = b->low[axis], .hi = b->high[axis]};

	return rb_interval_sub(c, rb_interval_of(p[axis]));
}

/*
 * Returns the side of the edge pq on which the point lies in the xy projection: 1 for left, -1 for
 * right.
 */
static int
edge_side_of_sheet_ray(ray_start *b, const double *p, const double *q)
{
	rb_number u, v, x, y, det;
	int sign = rb_interval_sign(rb_interval_det2(
		rb_interval_difference(q[0], p[0]), rb_interval_difference(q[1], p[1]),
		interval_offset_of_sheet_ray(b, p, 0), interval_offset_of_sheet_ray(b, p, 1)));

	if (sign != RB_UNSURE && sign != 0)
		return sign;
	if (!b->exact)
		compute_exact_ray_from_sheet(b);
	rb_number_difference(&u, q[0], p[0]);
	rb_number_difference(&v, q[1], p[1]);
	exact_offset_of_sheet_ray(&x, b, p, 0);
	exact_offset_of_sheet_ray(&y, b, p, 1);
	rb_number_det2(&det, &u, &v, &x, &y);
	if (det.sign == 0)
		rb_number_det2(&det, &u, &v, &b->move[0], &b->move[1]);
	return det.sign != 0 ? det.sign : rb_edge_tie(p, q);
}

/* Returns the side of a triangle's plane by intervals, or RB_UNSURE. */
static int
interval_side_of_sheet_ray(const ray_start *b, const double *t)
{
	rb_interval u[3], v[3], w[3], det = {.lo = 0, .hi = 0};

	for (int a = 0; a < 3; a++)
	{
		u[a] = rb_interval_difference(t[3 + a], t[a]);
		v[a] = rb_interval_difference(t[6 + a], t[a]);
		w[a] = interval_offset_of_sheet_ray(b, t, a);
	}
	for (int a = 0; a < 3; a++)
	{
		const int i = (a + 1) % 3, j = (a + 2) % 3;

		det = rb_interval_add(det, rb_interval_mul(rb_interval_det2(u[i], u[j], v[i], v[j]), w[a]));
	}
	return rb_interval_sign(det);
}

/* Computes the dot product of a and b. */
static void
dot_exact_vectors_of_sheet_ray(rb_number *sum, const rb_number a[3], const rb_number b[3])
{
	rb_number x;

	rb_number_mul(sum, &a[0], &b[0]);
	for (int axis = 1; axis < 3; axis++)
	{
		rb_number_mul(&x, &a[axis], &b[axis]);
		rb_number_add(sum, sum, &x);
	}
}

/* Returns the side of a triangle's plane on which a ray starts. */
static int
plane_side_of_sheet_ray(ray_start *b, const double *t)
{
	rb_number normal[3], w[3], det;
	int sign = interval_side_of_sheet_ray(b, t);

	if (sign != RB_UNSURE && sign != 0)
		return sign;
	if (!b->exact)
		compute_exact_ray_from_sheet(b);
	rb_triangle_normal(normal, t);
	for (int axis = 0; axis < 3; axis++)
		exact_offset_of_sheet_ray(&w[axis], b, t, axis);
	dot_exact_vectors_of_sheet_ray(&det, normal, w);
	if (det.sign == 0)
		dot_exact_vectors_of_sheet_ray(&det, normal, b->move);
	return det.sign;
}

/* Returns true if triangle t is above the start of the ray. */
static bool
is_triangle_above_sheet_ray(ray_start *b, const double *t)
{
	const int turn = edge_side_of_sheet_ray(b, t, t + 3);

	return turn != 0 && edge_side_of_sheet_ray(b, t + 3, t + 6) == turn &&
		   edge_side_of_sheet_ray(b, t + 6, t) == turn && plane_side_of_sheet_ray(b, t) == -turn;
}

/* ---- ray join ---- */

/* Collects the triangles above the starts of the rays from sheets, from pairs of boxes. */
static rb_status
collect_triangles_above_sheets(void *user, const rb_pair *pairs, size_t n)
{
	cast *c = user;
	const rb_set *from = c->from->set, *solids = c->solids->set;
	rb_pair found[BATCH];
	size_t nfound = 0;
	ray_start b = {.t = NULL};

	for (size_t i = 0; i < n; i++)
	{
		const uint32_t ray = rb_pair_red(pairs[i]), t = c->triangle[ray], other = pairs[i].blue;
		const double *at = from->coords + 9 * (size_t) t;

		if (i % BATCH == 0 && rb_should_stop(c->ctx))
			return RB_STOPPED;
		if (c->solids->sheet[other] == RB_NO_SHEET ||
			(c->own && rb_row_of(from, t) != rb_row_of(solids, other)))
			continue;
		if (b.t != at)
			begin_ray_from_sheet(&b, at, c->own);
		if (!is_triangle_above_sheet_ray(&b, solids->coords + 9 * (size_t) other))
			continue;
		found[nfound++] = (rb_pair){ray, other};
		if (nfound == BATCH)
		{
			RB_TRY(rb_notes_add(&c->above, found, nfound));
			nfound = 0;
		}
	}
	return rb_notes_add(&c->above, found, nfound);
}

/* Computes the boxes of all triangles and their maximum z. */
static rb_status
compute_boxes_of_triangles(rb_context *ctx, const rb_set *set, double **boxes, double *top)
{
	RB_TRY(rb_array(ctx, (void **) boxes, set->nparts, 6 * sizeof(double)));
	*top = -HUGE_VAL;
	for (uint32_t i = 0; i < set->nparts; i++)
	{
		const double *t = set->coords + 9 * (size_t) i;
		double *box = *boxes + 6 * (size_t) i;

		for (int a = 0; a < 3; a++)
		{
			box[a] = rb_min(t[a], rb_min(t[3 + a], t[6 + a]));
			box[3 + a] = rb_max(t[a], rb_max(t[3 + a], t[6 + a]));
		}
		*top = rb_max(*top, box[5]);
		if (i % 65536 == 0 && rb_should_stop(ctx))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* Computes the boxes of the rays from n sheets up to the given height. */
static rb_status
compute_boxes_of_sheet_rays(const cast *c, uint32_t n, double top, double **boxes)
{
	ray_start b;

	RB_TRY(rb_array(c->ctx, (void **) boxes, n, 6 * sizeof(double)));
	for (uint32_t i = 0; i < n; i++)
	{
		double *box = *boxes + 6 * (size_t) i;

		begin_ray_from_sheet(&b, c->from->set->coords + 9 * (size_t) c->triangle[i], c->own);
		for (int a = 0; a < 3; a++)
		{
			box[a] = b.low[a];
			box[3 + a] = b.high[a];
		}
		box[5] = rb_max(box[5], top);
		if (i % 65536 == 0 && rb_should_stop(c->ctx))
			return RB_STOPPED;
	}
	return RB_OK;
}

/*
 * Appends a pair for each sheet and row with an odd number of triangles above the start of the
 * sheet's ray.
 */
static rb_status
append_sheets_inside_rows(cast *c, rb_notes *inside)
{
	const rb_set *solids = c->solids->set;
	const rb_pair *p;

	RB_TRY(rb_notes_sort(&c->above, NULL, solids->row_of));
	p = c->above.at;
	for (size_t i = 0, j; i < c->above.n; i = j)
	{
		j = i + 1;
		while (j < c->above.n && p[j].red == p[i].red &&
			   rb_row_of(solids, p[j].blue) == rb_row_of(solids, p[i].blue))
			j++;
		if ((j - i) % 2 == 1)
			RB_TRY(rb_notes_add(inside, &p[i], 1));
	}
	return RB_OK;
}

rb_status
rb_sheet_points_locate(rb_context *ctx, const rb_backend *backend, const rb_fans *from,
					   const uint32_t *triangle, uint32_t n, const rb_fans *solids, bool own,
					   rb_notes *inside)
{
	cast c = {.ctx = ctx, .from = from, .triangle = triangle, .solids = solids, .own = own};
	double *rays = NULL, *boxes = NULL, top;
	rb_status status;

	if (n == 0 || solids->set->nparts == 0)
		return RB_OK;
	rb_notes_open(&c.above, ctx);
	status = compute_boxes_of_triangles(ctx, solids->set, &boxes, &top);
	if (status == RB_OK)
		status = compute_boxes_of_sheet_rays(&c, n, top, &rays);
	if (status == RB_OK)
	{
		const rb_set red = {.kind = RB_BOX3, .nparts = n, .nrows = n, .coords = rays};
		const rb_set blue = {.kind = RB_BOX3,
							 .nparts = solids->set->nparts,
							 .nrows = solids->set->nparts,
							 .coords = boxes};
		const rb_job job = {.red = &red, .blue = &blue, .predicate = RB_MEET};
		const rb_sink sink = {.put = collect_triangles_above_sheets, .user = &c};

		status = rb_join_step(ctx, backend, &job, &sink, RB_TILE);
	}
	RB_FREE(ctx->memory, rays);
	RB_FREE(ctx->memory, boxes);
	if (status == RB_OK)
		status = append_sheets_inside_rows(&c, inside);
	rb_notes_close(&c.above);
	return status;
}

rb_status
rb_fans_find_inner(rb_context *ctx, const rb_backend *backend, rb_fans *fans, const uint8_t *rows)
{
	uint32_t *some = NULL, n = 0;
	rb_notes inside;
	rb_status status;

	RB_TRY(RB_ALLOCATE(ctx, some, (size_t) fans->nsheets + 1));
	for (uint32_t i = 0; i < fans->nsheets; i++)
		if (rows == NULL || rows[rb_row_of(fans->set, fans->sheets[i])])
		{
			some[n++] = fans->tops[i];
			fans->inner[fans->sheets[i]] = fans->turned[fans->tops[i]];
		}
	rb_notes_open(&inside, ctx);
	status = rb_sheet_points_locate(ctx, backend, fans, some, n, fans, true, &inside);
	for (size_t i = 0; i < inside.n; i++)
		fans->inner[fans->sheet[some[inside.at[i].red]]] ^= 1;
	rb_notes_close(&inside);
	RB_FREE(ctx->memory, some);
	return status;
}

/* ---- a single point ---- */

bool
rb_sheet_point_is_inside(const double *t, const rb_fans *solid, const rb_tree *tree)
{
	double lo[3], hi[3], top[3], square;
	bool inside = false;
	uint32_t part;
	ray_start b;
	rb_walk w;

	begin_ray_from_sheet(&b, t, false);
	rb_tree_bounds(tree, lo, top);
	for (int a = 0; a < 3; a++)
	{
		lo[a] = b.low[a] * tree->scale;
		hi[a] = b.high[a] * tree->scale;
	}
	hi[2] = rb_max(hi[2], top[2]);
	rb_walk_begin(&w, tree, NULL, lo, hi);
	while (rb_walk_next(&w, 0, UINT32_MAX, &part, &square))
		if (solid->sheet[part] != RB_NO_SHEET)
			inside ^= is_triangle_above_sheet_ray(&b, solid->set->coords + 9 * (size_t) part);
	return inside;
}
