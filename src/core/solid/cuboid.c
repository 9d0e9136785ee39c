/*
 * cuboid.c
 *	  Computes how much of each block of a block model is inside each solid.
 *
 *		blocks x triangles, by their boxes	-> triangles that may meet a block
 *		columns x solids, by their boxes	-> top of each column
 *		columns x triangles					-> triangles above or below the low corners in a column
 *		for each block and solid			-> side of the low corner; terms of the triangles
 *
 * A column consists of all blocks whose low corners have the same x and y: blocks of a regular
 * model are in few columns. The side of a low corner is the parity of the number of triangles above
 * it that the vertical line of its column passes through. The line is at (x + e, y + e^2), and the
 * corner at z + e^3, with an infinitesimal e (ray.h).
 *
 * All this is in local coordinates (rb_model_frame). If these are rotated, coordinates of triangles
 * are double-double numbers with a bound on their error, boxes are rounded outward, and signs that
 * the bounds do not decide are exact. The terms are explained in cuboid_clip.c.
 */
#include "core/solid/cuboid_clip.h"
#include "core/base/hash.h"
#include "core/base/parallel.h"
#include "core/base/sort.h"
#include "core/join/join.h"
#include "core/set/set.h"

#include <math.h>

#define GRAIN RB_SIZE(16, 1) /* Number of columns a thread takes at a time */
#define FILL_GRAIN \
	RB_SIZE(4096, 8)        /* Number of triangles or blocks that a thread prepares at a time */
#define PUT RB_SIZE(256, 3) /* Number of rows passed to the sink at a time */
#define CHECK_INTERVAL 1024 /* Steps between checks for cancellation */

_Static_assert(sizeof(rb_cuboid_share) == RB_CUBOID_WORDS * sizeof(uint64_t),
			   "the results of a block have RB_CUBOID_WORDS words");

/* A block in the order of columns */
typedef struct column_entry
{
	uint64_t key; /* Hash of x and y of the low corner */
	uint32_t block;
} column_entry;

typedef struct cuboids
{
	rb_context *ctx;
	const rb_set *blocks;
	const rb_set *solids;
	const rb_row_sink *sink;
	bool centered;
	rb_cuboid_space space;
	bool mirrored; /* True if local axes are a left-handed system, seen from those of the solids */
	rb_fans fans;
	uint32_t *used; /* Triangles with an area, of valid solids */
	uint32_t nused;
	double *box;       /* Box of each of these triangles: low, high */
	double *solid_box; /* Box of each solid */
	/* Box of each solid that has such triangles, while columns are joined with them */
	const double *closed_box;
	double *block_box; /* Box of each block */
	column_entry *entries;
	column_entry *spare;
	uint32_t nentries;
	uint32_t *start; /* Start of each column, with one extra entry at the end */
	uint32_t ncolumns;
	double *line; /* Box of the vertical line of each column */
	double *top;  /* Highest end of the solids whose boxes contain low corners of each column */
	pthread_mutex_t lock;
	rb_notes near;       /* Pairs of a block and an entry of `used` */
	rb_notes crossed;    /* Pairs of a column and an entry of `used` */
	size_t *near_start;  /* Start of each block in `near` */
	size_t *cross_start; /* Start of each column in `crossed` */
	int status;
} cuboids;

/* ---- triangles in local coordinates ---- */

/* Computes a local coordinate of a point, and adds to *error the bound on its error. */
static rb_double_double
find_local_coordinate(const rb_model_frame *frame, const double *p, int a, double *error)
{
	rb_bounded sum = rb_bounded_of(0);

	for (int k = 0; k < 3; k++)
	{
		const rb_bounded off = {rb_double_double_difference(p[k], frame->origin[k]), 0};
		const double r = frame->rotation[3 * a + k];
		rb_bounded x;

		/* Products by 0 and by powers of two are exact unless they underflow. */
		if (r == 0)
			continue;
		x = rb_bounded_mul(off, rb_bounded_of(r));
		if (fabs(r) == 1)
			x.error = 0;
		else
			x.error += RB_BOUNDED_UNDERFLOW;
		if (sum.x.high == 0 && sum.error == 0)
			sum = x;
		else
			sum = rb_bounded_add(sum, x);
	}
	*error =
		rb_max(*error, isfinite(sum.error) && isfinite(sum.x.high) ? 1.02 * sum.error : HUGE_VAL);
	return sum.x;
}

/* Computes the local coordinates of a range of triangles. */
static void
rotate_triangles_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	cuboids *w = arg;

	(void) me;
	for (uint64_t i = from; i < to; i++)
	{
		w->space.error[i] = 0;
		for (int k = 0; k < 9; k++)
			w->space.local[9 * i + (uint64_t) k] = find_local_coordinate(
				w->space.frame, w->solids->coords + 9 * i + k - k % 3, k % 3, &w->space.error[i]);
	}
}

/* Computes the box of a triangle, rounded outward. */
static void
find_box_of_triangle(const rb_cuboid_space *s, uint32_t triangle, double *box)
{
	if (s->local == NULL)
	{
		rb_kind_box(RB_TRIANGLE3, s->coords, triangle, box, box + 3);
		return;
	}
	for (int a = 0; a < 3; a++)
	{
		const rb_double_double *x = s->local + 9 * (size_t) triangle + a;
		const double error = s->error[triangle];
		const double low = rb_min(x[0].high, rb_min(x[3].high, x[6].high));
		const double high = rb_max(x[0].high, rb_max(x[3].high, x[6].high));
		/* The high parts are the coordinates rounded to nearest. */
		const double more = error + DBL_EPSILON * rb_max(fabs(low), fabs(high));

		box[a] = error < HUGE_VAL ? rb_max(low - more, -DBL_MAX) : -DBL_MAX;
		box[3 + a] = error < HUGE_VAL ? rb_min(high + more, DBL_MAX) : DBL_MAX;
	}
}

/* Computes the boxes of a range of used triangles. */
static void
find_triangle_boxes_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	cuboids *w = arg;

	(void) me;
	for (uint64_t i = from; i < to; i++)
		find_box_of_triangle(&w->space, w->used[i], w->box + 6 * i);
}

/* Computes the boxes of a range of blocks. */
static void
find_block_boxes_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	cuboids *w = arg;

	(void) me;
	for (uint64_t i = from; i < to; i++)
		rb_kind_box(w->blocks->kind, w->blocks->coords, (uint32_t) i, w->block_box + 6 * i,
					w->block_box + 6 * i + 3);
}

/* Returns true if the determinant of the rotation is negative. */
static bool
is_frame_mirrored(const rb_model_frame *frame)
{
	static const double zero[3] = {0, 0, 0};
	rb_number det;

	if (!frame->rotated)
		return false;
	rb_number_orient3d(&det, zero, frame->rotation, frame->rotation + 3, frame->rotation + 6);
	return det.sign < 0;
}

/* Prepares the triangles: which are used, their local coordinates, boxes of triangles and solids. */
static rb_status
prepare_triangles(cuboids *w, rb_thread *team)
{
	rb_context *ctx = w->ctx;
	const uint32_t n = w->solids->nparts;

	RB_TRY(RB_ALLOCATE(ctx, w->used, (size_t) n + 1));
	for (uint32_t i = 0; i < n; i++)
		if (w->fans.sheet[i] != RB_NO_SHEET)
			w->used[w->nused++] = i;
	if (w->space.frame->rotated)
	{
		RB_TRY(RB_ALLOCATE(ctx, w->space.error, (size_t) n + 1));
		RB_TRY(
			rb_array(ctx, (void **) &w->space.local, (size_t) n + 1, 9 * sizeof *w->space.local));
		RB_TRY(rb_loop(team, n, FILL_GRAIN, rotate_triangles_piece, w));
	}
	RB_TRY(rb_array(ctx, (void **) &w->box, (size_t) w->nused + 1, 6 * sizeof *w->box));
	RB_TRY(rb_array(ctx, (void **) &w->solid_box, (size_t) w->solids->nrows + 1,
					6 * sizeof *w->solid_box));
	RB_TRY(rb_loop(team, w->nused, FILL_GRAIN, find_triangle_boxes_piece, w));
	for (uint32_t row = 0; row < w->solids->nrows; row++)
		rb_box_empty(w->solid_box + 6 * (size_t) row, w->solid_box + 6 * (size_t) row + 3);
	for (uint32_t i = 0; i < w->nused; i++)
	{
		double *box = w->solid_box + 6 * (size_t) rb_row_of(w->solids, w->used[i]);

		if (rb_stop_due(ctx, i, FILL_GRAIN))
			return RB_STOPPED;
		rb_box_add(box, box + 3, w->box + 6 * (size_t) i, w->box + 6 * (size_t) i + 3);
	}
	return RB_OK;
}

/* ---- triangles near a block ---- */

/*
 * Returns false if a triangle certainly does not meet the interior of a block, by their boxes and the
 * plane of the triangle.
 */
static bool
may_meet_block(const cuboids *w, uint32_t block, uint32_t used)
{
	const double *b = w->block_box + 6 * (size_t) block, *t = w->box + 6 * (size_t) used;
	const uint32_t triangle = w->used[used];
	double u[3], e[3], f[3], half[3], off = 0, reach = 0, edge = 0, extent = 0, rough = 0, slack;

	for (int a = 0; a < 3; a++)
	{
		double p[3];

		if (t[a] >= b[3 + a] || t[3 + a] <= b[a])
			return false;
		for (int k = 0; k < 3; k++)
			p[k] = rb_cuboid_corner(&w->space, triangle, k, a).x.high;
		half[a] = (b[3 + a] - b[a]) / 2;
		u[a] = p[0] - (b[a] + half[a]);
		e[a] = p[1] - p[0];
		f[a] = p[2] - p[0];
		edge = rb_max(edge, rb_max(fabs(e[a]), fabs(f[a])));
		extent = rb_max(extent, fabs(u[a]) + half[a]);
		rough =
			rb_max(rough, rb_max(fabs(b[a]), fabs(b[3 + a])) + rb_max(fabs(t[a]), fabs(t[3 + a])));
	}
	for (int a = 0; a < 3; a++)
	{
		const int i = (a + 1) % 3, j = (a + 2) % 3;
		const double n = e[i] * f[j] - e[j] * f[i];

		off += n * u[a];
		reach += fabs(n) * half[a];
	}
	/*
	 * With an error d of each coordinate, edges up to E and distances up to U, the errors of components
	 * of the normal are at most 4 E d + 2^-50 E^2, and those of both sums together 24 E U d + 12 E^2 d
	 * + 2^-47 E^2 U.
	 */
	rough = rough * 0x1p-51 + (w->space.local != NULL ? w->space.error[triangle] : 0);
	slack = 32 * rough * edge * (edge + extent) + 0x1p-46 * edge * edge * extent + DBL_MIN;
	return !(fabs(off) - reach > slack);
}

/* Receives pairs of a block and a used triangle whose boxes meet. */
static rb_status
receive_near_triangles(void *user, const rb_pair *pairs, size_t n)
{
	cuboids *w = user;
	rb_pair kept[PUT];
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
	{
		if (!may_meet_block(w, pairs[i].red, pairs[i].blue))
			continue;
		kept[k++] = pairs[i];
		if (k == PUT)
		{
			RB_TRY(rb_notes_add(&w->near, kept, k));
			k = 0;
		}
	}
	RB_TRY(rb_notes_add(&w->near, kept, k));
	return rb_should_stop(w->ctx) ? RB_STOPPED : RB_OK;
}

/* ---- columns ---- */

/* Prepares a block; returns false if it has no volume. */
static bool
open_block(const cuboids *w, uint32_t block, rb_cuboid *b)
{
	return rb_cuboid_open(b, &w->space, w->blocks->coords + 6 * (size_t) block, w->centered);
}

/* Returns true if the low corners of two blocks have the same x and y. */
static bool
are_in_one_column(const cuboids *w, uint32_t first, uint32_t second)
{
	rb_cuboid a, b;

	(void) open_block(w, first, &a);
	(void) open_block(w, second, &b);
	for (int k = 0; k < 2; k++)
	{
		const rb_bounded x = a.bound[RB_CUBOID_PLANE(k, 0)], y = b.bound[RB_CUBOID_PLANE(k, 0)];

		if (x.x.high != y.x.high || x.x.low != y.x.low || x.error != 0 || y.error != 0)
			return false;
	}
	return true;
}

/* Returns a hash of x and y of the low corner of a block. */
static uint64_t
hash_low_corner(const cuboids *w, uint32_t block)
{
	uint64_t hash = 0;
	rb_cuboid b;

	(void) open_block(w, block, &b);
	for (int k = 0; k < 2; k++)
	{
		const rb_double_double x = b.bound[RB_CUBOID_PLANE(k, 0)].x;
		const double part[2] = {x.high + 0.0, x.low + 0.0}; /* Adding 0.0 turns -0 to 0 */
		uint64_t bits[2];

		memcpy(bits, part, sizeof bits);
		hash = rb_mix(hash ^ bits[0]);
		hash = rb_mix(hash ^ bits[1]);
	}
	return hash;
}

/* Computes the keys of a range of entries. */
static void
find_column_keys_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	cuboids *w = arg;

	(void) me;
	for (uint64_t i = from; i < to; i++)
		w->entries[i].key = hash_low_corner(w, w->entries[i].block);
}

/* Returns the key of an entry. */
static uint64_t
key_of_entry(const void *element, const void *arg)
{
	(void) arg;
	return ((const column_entry *) element)->key;
}

/* Computes the box that contains all solids. */
static void
find_box_of_solids(const cuboids *w, double low[3], double high[3])
{
	rb_box_empty(low, high);
	for (uint32_t row = 0; row < w->solids->nrows; row++)
		rb_box_add(low, high, w->solid_box + 6 * (size_t) row, w->solid_box + 6 * (size_t) row + 3);
}

/* Groups the blocks that meet the box of all solids by columns. */
static rb_status
group_blocks_by_columns(cuboids *w, rb_thread *team)
{
	rb_context *ctx = w->ctx;
	double low[3], high[3];

	find_box_of_solids(w, low, high);
	RB_TRY(RB_ALLOCATE(ctx, w->entries, (size_t) w->blocks->nparts + 1));
	RB_TRY(RB_ALLOCATE(ctx, w->spare, (size_t) w->blocks->nparts + 1));
	for (uint32_t i = 0; i < w->blocks->nparts; i++)
	{
		const double *box = w->block_box + 6 * (size_t) i;

		if (rb_boxes_overlap(box, box + 3, low, high))
			w->entries[w->nentries++].block = i;
	}
	RB_TRY(rb_loop(team, w->nentries, FILL_GRAIN, find_column_keys_piece, w));
	RB_TRY(rb_radix_sort(ctx, (void **) &w->entries, (void **) &w->spare, w->nentries,
						 sizeof *w->entries, 5, key_of_entry, NULL));
	RB_FREE(ctx->memory, w->spare);
	RB_TRY(RB_ALLOCATE(ctx, w->start, (size_t) w->nentries + 1));
	for (uint32_t i = 0; i < w->nentries; i++)
	{
		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		/* Blocks of equal hashes are nearly always in one column. */
		if (i == 0 || !are_in_one_column(w, w->entries[i].block, w->entries[i - 1].block))
			w->start[w->ncolumns++] = i;
	}
	w->start[w->ncolumns] = w->nentries;
	return RB_OK;
}

/* Bounds coordinate a of the low corner of a block by doubles. */
static void
bound_low_corner(const rb_cuboid *b, int a, double *low, double *high)
{
	const rb_bounded x = b->bound[RB_CUBOID_PLANE(a, 0)];

	*low = *high = x.x.high;
	if (x.x.low == 0 && x.error == 0)
		return;
	*low = rb_max(nextafter(*low, -HUGE_VAL), -DBL_MAX);
	*high = rb_min(nextafter(*high, HUGE_VAL), DBL_MAX);
}

/* Sets the lines of columns to the range of their low corners. */
static rb_status
set_lines_of_columns(cuboids *w)
{
	RB_TRY(rb_array(w->ctx, (void **) &w->line, (size_t) w->ncolumns + 1, 6 * sizeof *w->line));
	for (uint32_t c = 0; c < w->ncolumns; c++)
	{
		double *line = w->line + 6 * (size_t) c;

		if (rb_stop_due(w->ctx, c, CHECK_INTERVAL))
			return RB_STOPPED;
		for (uint32_t i = w->start[c]; i < w->start[c + 1]; i++)
		{
			rb_cuboid b;

			(void) open_block(w, w->entries[i].block, &b);
			for (int a = 0; a < 3; a++)
			{
				double low, high;

				bound_low_corner(&b, a, &low, &high);
				line[a] = i == w->start[c] ? low : rb_min(line[a], low);
				line[3 + a] = i == w->start[c] ? high : rb_max(line[3 + a], high);
			}
		}
	}
	return RB_OK;
}

/* Receives pairs of a column and a solid whose box may contain low corners of the column. */
static rb_status
receive_column_tops(void *user, const rb_pair *pairs, size_t n)
{
	cuboids *w = user;

	pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < n; i++)
	{
		const double top = w->closed_box[6 * (size_t) pairs[i].blue + 5];
		double *end = &w->top[pairs[i].red];

		*end = rb_max(*end, top);
	}
	pthread_mutex_unlock(&w->lock);
	return rb_should_stop(w->ctx) ? RB_STOPPED : RB_OK;
}

/* Returns true if the moved vertical line of a column passes through a triangle. */
static bool
passes_through_triangle(rb_exact_env *env, const rb_cuboid *b, uint32_t triangle)
{
	int turn = 0;

	for (int k = 0; k < 3; k++)
	{
		int side = rb_cuboid_turn(env, b, triangle, k);

		/* Break a tie as rb_edge_tie does, for the edge from corner k to the next one. */
		if (side == 0)
			side = -rb_cuboid_order(b, triangle, k, (k + 1) % 3, 1);
		if (side == 0)
			side = rb_cuboid_order(b, triangle, k, (k + 1) % 3, 0);
		if (side == 0 || side * turn < 0)
			return false;
		turn = side;
	}
	return true;
}

/* Receives pairs of a column and a used triangle whose boxes meet. */
static rb_status
receive_crossed_triangles(void *user, const rb_pair *pairs, size_t n)
{
	cuboids *w = user;
	rb_exact_env env = {.filters = RB_FILTER_ALL, .exact = true};
	rb_pair kept[PUT];
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
	{
		rb_cuboid b;

		(void) open_block(w, w->entries[w->start[pairs[i].red]].block, &b);
		if (!passes_through_triangle(&env, &b, w->used[pairs[i].blue]))
			continue;
		kept[k++] = pairs[i];
		if (k == PUT)
		{
			RB_TRY(rb_notes_add(&w->crossed, kept, k));
			k = 0;
		}
	}
	RB_TRY(rb_notes_add(&w->crossed, kept, k));
	return rb_should_stop(w->ctx) ? RB_STOPPED : RB_OK;
}

/* Joins two arrays of boxes, as one step of the computation. */
static rb_status
join_boxes(cuboids *w, const rb_backend *backend, const double *red, uint32_t nred,
		   const double *blue, uint32_t nblue,
		   rb_status (*put)(void *user, const rb_pair *pairs, size_t n))
{
	const rb_set reds = {.kind = RB_BOX3, .nparts = nred, .nrows = nred, .coords = red};
	const rb_set blues = {.kind = RB_BOX3, .nparts = nblue, .nrows = nblue, .coords = blue};
	const rb_job job = {.red = &reds, .blue = &blues, .predicate = RB_MEET};
	const rb_sink sink = {.put = put, .user = w};

	return nred > 0 && nblue > 0 ? rb_join_step(w->ctx, backend, &job, &sink, RB_TILE) : RB_OK;
}

/* Raises the lines of columns to the solids whose boxes contain low corners. */
static rb_status
raise_lines_of_columns(cuboids *w, const rb_backend *backend)
{
	double *boxes = NULL;
	uint32_t n = 0;
	rb_status status;
	RB_FREE_AT_END(w->ctx->memory, &boxes);

	/* Rows without used triangles have empty boxes, which cannot be joined. */
	RB_TRY(rb_array(w->ctx, (void **) &boxes, (size_t) w->solids->nrows + 1, 6 * sizeof *boxes));
	for (uint32_t row = 0; row < w->solids->nrows; row++)
		if (w->solid_box[6 * (size_t) row] <= w->solid_box[6 * (size_t) row + 3])
			memcpy(boxes + 6 * (size_t) n++, w->solid_box + 6 * (size_t) row, 6 * sizeof *boxes);
	RB_TRY(RB_ALLOCATE(w->ctx, w->top, (size_t) w->ncolumns + 1));
	for (uint32_t c = 0; c < w->ncolumns; c++)
		w->top[c] = w->line[6 * (size_t) c + 2];
	w->closed_box = boxes;
	status = join_boxes(w, backend, w->line, w->ncolumns, boxes, n, receive_column_tops);
	for (uint32_t c = 0; c < w->ncolumns; c++)
		w->line[6 * (size_t) c + 5] = w->top[c];
	return status;
}

/* Stores the start of each red part in a sorted list of pairs, and the end of the list. */
static rb_status
find_starts_of_notes(rb_context *ctx, const rb_notes *notes, uint32_t n, size_t **start)
{
	size_t i = 0;

	RB_TRY(RB_ALLOCATE(ctx, *start, (size_t) n + 1));
	for (uint32_t red = 0; red <= n; red++)
	{
		if (rb_stop_due(ctx, red, 65536))
			return RB_STOPPED;
		while (i < notes->n && notes->at[i].red < red)
			i++;
		(*start)[red] = i;
	}
	return RB_OK;
}

/* ---- blocks ---- */

/* A triangle that the line of a column passes through */
typedef struct crossing
{
	uint32_t triangle;
	uint32_t solid;
	double low; /* Bounds on the height at which the line passes through the triangle */
	double high;
} crossing;

/* Memory of one thread */
typedef struct cuboid_desk
{
	cuboids *w;
	rb_exact_env env;
	RB_VEC(crossing) crossings; /* Crossings of the current column, by solid */
	rb_cuboid_polygons polygons;
	rb_pair rows[PUT];
	rb_cuboid_share shares[PUT];
	size_t n;
} cuboid_desk;

/* Sends the rows of the batch to the sink. */
static rb_status
send_shares(cuboid_desk *d)
{
	uint64_t payload[PUT * RB_CUBOID_WORDS];
	const size_t n = d->n;

	d->n = 0;
	memcpy(payload, d->shares, n * sizeof d->shares[0]);
	return n > 0 ? d->w->sink->put(d->w->sink->user, d->rows, payload, n) : RB_OK;
}

/* Bounds the height at which the line through the low corner of a block passes through a triangle. */
static void
bound_height_of_crossing(const rb_cuboid *b, crossing *c)
{
	rb_bounded u[3], e[3], f[3], n[3], z;

	for (int a = 0; a < 3; a++)
	{
		u[a] = rb_cuboid_corner(b->space, c->triangle, 0, a);
		e[a] = rb_bounded_sub(rb_cuboid_corner(b->space, c->triangle, 1, a), u[a]);
		f[a] = rb_bounded_sub(rb_cuboid_corner(b->space, c->triangle, 2, a), u[a]);
	}
	for (int a = 0; a < 3; a++)
	{
		const int i = (a + 1) % 3, j = (a + 2) % 3;

		n[a] = rb_bounded_sub(rb_bounded_mul(e[i], f[j]), rb_bounded_mul(e[j], f[i]));
		n[a].error += RB_BOUNDED_UNDERFLOW;
	}
	z = rb_bounded_add(rb_bounded_mul(n[0], rb_bounded_sub(b->bound[RB_CUBOID_PLANE(0, 0)], u[0])),
					   rb_bounded_mul(n[1], rb_bounded_sub(b->bound[RB_CUBOID_PLANE(1, 0)], u[1])));
	z.error += RB_BOUNDED_UNDERFLOW;
	z = rb_bounded_sub(u[2], rb_bounded_div(z, n[2]));
	z.error = 2 * z.error + DBL_EPSILON * fabs(z.x.high) + RB_BOUNDED_UNDERFLOW;
	c->low = -HUGE_VAL;
	c->high = HUGE_VAL;
	if (!(z.error < HUGE_VAL))
		return;
	c->low = z.x.high - z.error;
	c->high = z.x.high + z.error;
}

/* Returns true if the moved low corner of a block is below a triangle that its line passes through. */
static bool
is_below_crossing(cuboid_desk *d, const rb_cuboid *b, const crossing *c)
{
	const rb_bounded z = b->bound[RB_CUBOID_PLANE(2, 0)];
	const double more = DBL_EPSILON * fabs(z.x.high) + 2 * z.error;
	int side;

	if (z.x.high + more < c->low)
		return true;
	if (z.x.high - more > c->high)
		return false;
	side = rb_cuboid_side(&d->env, b, c->triangle);
	for (int a = 0; a < 3 && side == 0; a++)
		side = rb_cuboid_normal(&d->env, b, c->triangle, a);
	return side == -rb_cuboid_normal(&d->env, b, c->triangle, 2);
}

/* Returns true if the moved low corner of a block is in a solid that n crossings belong to. */
static bool
is_low_corner_inside(cuboid_desk *d, const rb_cuboid *b, uint32_t solid, const crossing *c,
					 size_t n)
{
	const double *box = d->w->solid_box + 6 * (size_t) solid;
	double low[3], high[3];
	bool inside = false;

	/*
	 * The line of the column reaches above each solid whose box may contain the low corner, but
	 * perhaps not above others.
	 */
	for (int a = 0; a < 3; a++)
		bound_low_corner(b, a, &low[a], &high[a]);
	if (!rb_boxes_overlap(low, high, box, box + 3))
		return false;
	for (size_t i = 0; i < n; i++)
		inside ^= is_below_crossing(d, b, &c[i]);
	return inside;
}

/* Appends a row to the batch. */
static rb_status
append_share(cuboid_desk *d, uint32_t block, uint32_t solid, rb_cuboid_share share)
{
	d->rows[d->n] = (rb_pair){rb_row_of(d->w->blocks, block), solid};
	d->shares[d->n++] = share;
	return d->n == PUT ? send_shares(d) : RB_OK;
}

/* Measures the part of a block in a solid. n triangles of the solid may meet the block. */
static rb_status
measure_block_in_solid(cuboid_desk *d, const rb_cuboid *b, uint32_t block, uint32_t solid,
					   const rb_pair *near, size_t n, bool inside)
{
	const cuboids *w = d->w;
	rb_cuboid_sum sum = {.terms = 0};
	rb_cuboid_share share;

	rb_vec_clear(&d->polygons);
	for (size_t i = 0; i < n; i++)
	{
		rb_cuboid_polygon p = {.triangle = w->used[near[i].blue]};

		if (rb_stop_due(w->ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		p.outward = rb_points_inward(&w->fans, p.triangle) != w->mirrored ? -1 : 1;
		if (rb_cuboid_clip(&d->env, b, &p, &sum))
			RB_TRY(rb_vec_append(w->ctx, &d->polygons, p));
	}
	if (d->polygons.n == 0 && !inside)
		return RB_OK;
	if (d->polygons.n == 0)
		rb_cuboid_measure_whole(b, &share);
	else if (!rb_cuboid_round(b, &sum, inside, &share))
		RB_TRY(rb_cuboid_round_exactly(w->ctx, b, &d->polygons, inside, &share));
	return append_share(d, block, solid, share);
}

/* Measures the parts of a block in all solids. */
static rb_status
measure_block(cuboid_desk *d, uint32_t block)
{
	const cuboids *w = d->w;
	const rb_pair *near = w->near.at + w->near_start[block];
	const size_t n = w->near_start[block + 1] - w->near_start[block];
	size_t i = 0, k = 0;
	rb_cuboid b;

	if ((n == 0 && d->crossings.n == 0) || !open_block(w, block, &b))
		return RB_OK;
	while (i < n || k < d->crossings.n)
	{
		const uint32_t first = i < n ? rb_row_of(w->solids, w->used[near[i].blue]) : UINT32_MAX;
		const uint32_t second = k < d->crossings.n ? d->crossings.at[k].solid : UINT32_MAX;
		const uint32_t solid = rb_min(first, second);
		size_t end = i, last = k;
		bool inside;

		if (rb_stop_due(w->ctx, i + k, CHECK_INTERVAL))
			return RB_STOPPED;
		while (end < n && rb_row_of(w->solids, w->used[near[end].blue]) == solid)
			end++;
		while (last < d->crossings.n && d->crossings.at[last].solid == solid)
			last++;
		inside = is_low_corner_inside(d, &b, solid, d->crossings.at + k, last - k);
		RB_TRY(measure_block_in_solid(d, &b, block, solid, near + i, end - i, inside));
		i = end;
		k = last;
	}
	return RB_OK;
}

/* Measures the blocks of a column. */
static rb_status
measure_column(cuboid_desk *d, uint32_t column)
{
	const cuboids *w = d->w;
	rb_cuboid b;

	(void) open_block(w, w->entries[w->start[column]].block, &b);
	rb_vec_clear(&d->crossings);
	for (size_t i = w->cross_start[column]; i < w->cross_start[column + 1]; i++)
	{
		crossing c = {.triangle = w->used[w->crossed.at[i].blue]};

		c.solid = rb_row_of(w->solids, c.triangle);
		bound_height_of_crossing(&b, &c);
		RB_TRY(rb_vec_append(w->ctx, &d->crossings, c));
	}
	for (uint32_t i = w->start[column]; i < w->start[column + 1]; i++)
	{
		if (rb_load(&w->status) != RB_OK || rb_stop_due(w->ctx, i, 64))
			return RB_STOPPED;
		RB_TRY(measure_block(d, w->entries[i].block));
	}
	return RB_OK;
}

/* Measures a range of columns. */
static void
measure_columns_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	cuboids *w = arg;
	cuboid_desk d = {.w = w, .env = {.filters = RB_FILTER_ALL, .exact = true}};
	rb_status status = RB_OK;

	(void) me;
	for (uint64_t c = from; c < to && status == RB_OK; c++)
		status = rb_should_stop(w->ctx) ? RB_STOPPED : measure_column(&d, (uint32_t) c);
	if (status == RB_OK)
		status = send_shares(&d);
	rb_vec_free(w->ctx->memory, &d.crossings);
	rb_vec_free(w->ctx->memory, &d.polygons);
	rb_keep_failure(&w->status, status);
}

/* ---- all blocks ---- */

/* Prepares triangles, blocks and columns on the threads of a team. */
static rb_status
prepare_cuboids(cuboids *w)
{
	rb_context *ctx = w->ctx;
	rb_thread *team;
	rb_status status;

	RB_TRY(rb_array(ctx, (void **) &w->block_box, (size_t) w->blocks->nparts + 1,
					6 * sizeof *w->block_box));
	RB_TRY(rb_team_open(
		ctx, rb_threads_for(ctx, (uint64_t) w->blocks->nparts + w->solids->nparts, FILL_GRAIN),
		&team));
	status = prepare_triangles(w, team);
	if (status == RB_OK)
		status = rb_loop(team, w->blocks->nparts, FILL_GRAIN, find_block_boxes_piece, w);
	if (status == RB_OK)
		status = group_blocks_by_columns(w, team);
	rb_team_close(&team);
	return status;
}

/* Finds the triangles near blocks and on the lines of columns, and measures all blocks. */
static rb_status
measure_cuboids(cuboids *w, const rb_backend *backend)
{
	rb_context *ctx = w->ctx;
	rb_status status;

	RB_TRY(rb_fans_find_inner(ctx, backend, &w->fans, NULL));
	RB_TRY(prepare_cuboids(w));
	RB_TRY(join_boxes(w, backend, w->block_box, w->blocks->nparts, w->box, w->nused,
					  receive_near_triangles));
	RB_TRY(rb_notes_sort(&w->near, NULL, NULL));
	RB_TRY(find_starts_of_notes(ctx, &w->near, w->blocks->nparts, &w->near_start));
	RB_TRY(set_lines_of_columns(w));
	RB_TRY(raise_lines_of_columns(w, backend));
	RB_TRY(
		join_boxes(w, backend, w->line, w->ncolumns, w->box, w->nused, receive_crossed_triangles));
	RB_TRY(rb_notes_sort(&w->crossed, NULL, NULL));
	RB_TRY(find_starts_of_notes(ctx, &w->crossed, w->ncolumns, &w->cross_start));
	status = rb_team_loop(ctx, rb_threads_for(ctx, w->ncolumns, GRAIN), w->ncolumns, GRAIN,
						  measure_columns_piece, w);
	return rb_loop_failure(w->status, status);
}

rb_status
rb_compose_cuboids(rb_context *ctx, const rb_backend *backend, const rb_job *job,
				   const rb_row_sink *sink)
{
	cuboids w = {.ctx = ctx,
				 .blocks = job->red,
				 .solids = job->blue,
				 .sink = sink,
				 .centered = job->red->kind == RB_CUBOID3,
				 .space = {.frame = &job->frame, .coords = job->blue->coords},
				 .mirrored = is_frame_mirrored(&job->frame)};
	uint32_t *bad = NULL;
	rb_status status;
	RB_FREE_AT_END(ctx->memory, &w.space.local, &w.space.error, &w.used, &w.box, &w.solid_box,
				   &w.block_box, &w.entries, &w.spare, &w.start, &w.line, &w.top, &w.near_start,
				   &w.cross_start, &bad);

	RB_TRY(rb_solids_check(ctx, backend, job->blue, job->skip_bad, RB_SOLID_OF_SOLIDS, &bad));
	pthread_mutex_init(&w.lock, NULL);
	rb_notes_open(&w.near, ctx);
	rb_notes_open(&w.crossed, ctx);
	status = rb_fans_find(ctx, job->blue, bad, &w.fans);
	if (status == RB_OK)
		status = measure_cuboids(&w, backend);
	rb_notes_close(&w.near);
	rb_notes_close(&w.crossed);
	pthread_mutex_destroy(&w.lock);
	rb_fans_free(ctx->memory, &w.fans);
	return status;
}
