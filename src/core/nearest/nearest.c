/*
 * nearest.c
 *	  Computes RB_NEAREST: finds for each red row its k nearest blue rows, in order.
 *
 *		a tree of blue's boxes                                        box_tree.c
 *			-> from near to far, for each red row: pairs of parts     nearest.c
 *			-> their distances: bounds in doubles, then exact order   nearest.c
 *			-> the k best rows so far, whose worst one is the bound   nearest.c
 *
 * All of this runs on the CPU, whatever the backend: the traversal of a tree depends on what was
 * found before, whereas a device needs the same work for thousands of threads at once.
 *
 * Blue's parts are in a tree. For a red row, they are visited from near to far by the gaps between
 * boxes (N. Roussopoulos, S. Kelley, F. Vincent: Nearest neighbor queries, 1995), and a branch is
 * skipped if its gap exceeds the distance of the worst of the k best rows so far. If the red row
 * has many parts, another tree is built of them, and gaps are measured to the nearest of its boxes;
 * the parts of that tree are visited for a blue part in the same way.
 *
 * The search has two rounds. The first one finds the rows that meet red, which requires only signs.
 * All of these are at the same distance, so a row is added if its rank is lower than that of the
 * last of the k rows, and a branch without such ranks is skipped. If the first round finds k rows,
 * these are the result. Otherwise all rows that meet red are known, and the second round finds the
 * others.
 *
 * Red rows are processed in the order of such a tree, so that the blue parts that one row needs are
 * in the CPU cache from the previous row.
 */
#include "core/join/join.h"
#include "core/base/parallel.h"
#include "core/set/set.h"
#include "core/base/base.h"
#include "core/nearest/box_tree.h"
#include "core/primitive/dispatch.h"

/*
 * ---- bounds and order of candidate pairs ----
 *
 * Most pairs are rejected or ordered by the first bounds, from the search for the nearest points in
 * doubles (distance.h, step 1). If two bounds overlap, the nearest doubles of both are computed
 * with double-double arithmetic, and if these may be equal, rational numbers decide. Two kinds of
 * ties are detected earlier: identical parts, and nearest points on a vertex or edge that two parts
 * share.
 *
 * Steps 1 and 2 fail if coordinates are too large or too small. Step 1 therefore uses coordinates
 * multiplied by a power of two. The resulting error in the last bit, 2^-1075, is far below the
 * bounds of step 1, 2^-45 times sizes above 2^-100.
 */

/* State shared by all candidates of one thread */
typedef struct rb_distance_state
{
	rb_context *ctx;
	const rb_set *red;
	const rb_set *blue;
	const uint32_t *rank; /* rank of blue's rows by id; NULL if ranks are row numbers */
	double scale;         /* a power of two, as in box_tree.h */
	rb_exact_env env;
	rb_feet last;      /* a recent near candidate, of which only g and square are used */
	uint32_t plane_of; /* red part for which planar, minor and size are valid, or UINT32_MAX */
	bool planar;       /* true if minor and size are those of the part's plane */
	double minor[3];
	double size[3];
	uint32_t labels;      /* last label assigned for this red row */
	uint32_t square_red;  /* red part of the pair in `square`, or UINT32_MAX */
	uint32_t square_blue; /* blue part of the pair in `square`, or UINT32_MAX */
	rb_square square;     /* cached exact distance of a pair, which is compared with many */
} rb_distance_state;

/*
 * A blue row, represented by the parts of both rows that are nearest so far. Bounds of the distance
 * exist in two forms: lo and hi from doubles, in scaled coordinates; and least and most, which
 * enclose the nearest double in unscaled coordinates and are computed on demand.
 */
typedef struct rb_candidate
{
	uint32_t red;
	uint32_t blue;
	uint32_t rank;
	uint32_t label; /* candidates with the same label are at the same distance; 0 if unlabeled */
	bool meets;     /* true if the parts meet; all bounds are 0 then */
	bool asked;     /* true if least, most, proved and guess are valid */
	bool proved;
	uint8_t guess[4]; /* probable nearest features: dim and at of red's, then of blue's */
	double lo;
	double hi;
	double least;
	double most;
} rb_candidate;

/* Returns the coordinates of a part. */
static const double *
part_of_candidate(const rb_set *set, uint32_t part)
{
	return set->coords + (size_t) part * (size_t) rb_kind_width(set->kind);
}

/* Sets the hulls of a candidate's parts, with the guess of their nearest features if known. */
static void
hulls_of_candidate(const rb_distance_state *a, const rb_candidate *c, rb_hulls *h)
{
	rb_pair_hulls(h, a->red->kind, a->blue->kind, part_of_candidate(a->red, c->red),
				  part_of_candidate(a->blue, c->blue));
	if (!c->asked)
		return;
	for (int side = 0; side < 2; side++)
	{
		h->guess[side].dim = c->guess[2 * side];
		h->guess[side].at = c->guess[2 * side + 1];
	}
}

/* Returns an upper bound on the distance between any two points of the boxes of the parts. */
static double
find_most_candidate_distance(const rb_distance_state *a, uint32_t red, uint32_t blue)
{
	double lo[2][3], hi[2][3], square = 0;

	rb_tree_box(a->red, red, a->scale, lo[0], hi[0]);
	rb_tree_box(a->blue, blue, a->scale, lo[1], hi[1]);
	for (int k = 0; k < 3; k++)
	{
		double x = hi[0][k] - lo[1][k], y = hi[1][k] - lo[0][k];

		x = x > y ? x : y;
		square += x * x;
	}
	return sqrt(square) * (1 + 0x1p-46) + 0x1p-490;
}

/*
 * Computes the bounds of rb_square_bounds (distance.h), solved for D:
 *
 *		distance <= root(square) / (1 - 32 u) + 256 u M
 *		distance >= slab / root(square (1 + 32 u))
 *
 * with u = 2^-53 and a margin for the roundings of these lines. Returns false if the distance is
 * more than `most`.
 */
static bool
find_candidate_bounds(rb_distance_state *a, double most, rb_candidate *c)
{
	rb_hulls h;
	rb_local_hulls apart;
	rb_square_bounds clear = {.within = -1, .beyond = RB_INFINITY};
	rb_feet feet;
	double slab, root;

	c->lo = 0;
	hulls_of_candidate(a, c, &h);
	for (int i = 0; i < h.n[0] + h.n[1]; i++)
		for (int k = 0; k < 3; k++)
			h.corner[i][k] *= a->scale;
	if ((a->env.filters & RB_FILTER_SIGNS) == 0 || !rb_apart_init(&apart, &h))
	{
		c->hi = find_most_candidate_distance(a, c->red, c->blue);
		return true;
	}
	if (most < RB_INFINITY)
	{
		clear.beyond = most * most * (1 + 0x1p-48) + RB_APART_FLOOR;
		/*
		 * The slab that separates red from a recent near candidate separates it from most
		 * neighbors.
		 */
		if (rb_clear_beyond(&clear, &a->last, rb_slab(&apart, a->last.g)))
			return false;
	}
	if (rb_feet_find(&apart, &clear, &feet) == 0)
		return false;
	a->last = feet;
	root = sqrt(feet.square);
	c->hi = root * (1 + 0x1p-47) + 0x1p-45 * apart.size;
	slab = rb_slab(&apart, feet.g);
	if (slab > 0 && feet.square >= RB_APART_SQUARE)
		c->lo = slab / root * (1 - 0x1p-47);
	return true;
}

/*
 * Caches the plane of a red triangle: the minors of rb_orient3d_filter and their magnitudes, for
 * its error bound.
 */
static void
cache_plane_of_candidate(rb_distance_state *a, uint32_t red)
{
	const double *p = part_of_candidate(a->red, red);

	a->plane_of = red;
	a->planar = a->red->kind == RB_TRIANGLE3 && a->blue->kind == RB_TRIANGLE3 &&
				(a->env.filters & RB_FILTER_SIGNS) != 0;
	for (int k = 0; k < 3 && a->planar; k++)
	{
		const int i = (k + 1) % 3, j = (k + 2) % 3;
		const double ui = p[3 + i] - p[i], uj = p[3 + j] - p[j];
		const double vi = p[6 + i] - p[i], vj = p[6 + j] - p[j];

		a->minor[k] = ui * vj - uj * vi;
		a->size[k] = fabs(ui * vj) + fabs(uj * vi) + RB_BOUND_FLOOR;
	}
}

/*
 * Tests whether two parts with overlapping or nearly overlapping boxes meet. For two triangles,
 * first computes the signs of blue's vertices against red's plane, where these are certain.
 */
static bool
do_candidate_parts_meet(rb_distance_state *a, uint32_t red, uint32_t blue)
{
	const double *p = part_of_candidate(a->red, red), *b = part_of_candidate(a->blue, blue);
	int of_blue[3] = {RB_UNSURE, RB_UNSURE, RB_UNSURE};
	int of_red[3] = {RB_UNSURE, RB_UNSURE, RB_UNSURE};

	if (a->plane_of != red)
		cache_plane_of_candidate(a, red);
	if (!a->planar)
		return rb_pair_meets(&a->env, a->red->kind, a->blue->kind, p, b) == 1;
	for (int i = 0; i < 3; i++)
	{
		const double x = b[3 * i] - p[0], y = b[3 * i + 1] - p[1], z = b[3 * i + 2] - p[2];
		const double det = a->minor[0] * x + a->minor[1] * y + a->minor[2] * z;
		const double bound = RB_ORIENT3D_BOUND * (a->size[0] * fabs(x) + a->size[1] * fabs(y) +
												  a->size[2] * fabs(z) + RB_BOUND_FLOOR);

		of_blue[i] = det > bound ? 1 : -det > bound ? -1 : RB_UNSURE;
	}
	if (RB_ALL_SAME(of_blue) && of_blue[0] != RB_UNSURE)
		return false;
	return rb_triangle_triangle(&a->env, p, b, of_blue, of_red) == 1;
}

/* Initializes a candidate and returns true if its parts meet. */
static bool
do_candidates_meet(rb_distance_state *a, uint32_t red, uint32_t blue, rb_candidate *c)
{
	const uint32_t row = rb_row_of(a->blue, blue);

	*c = (rb_candidate){.red = red, .blue = blue, .rank = a->rank != NULL ? a->rank[row] : row};
	c->meets = do_candidate_parts_meet(a, red, blue);
	return c->meets;
}

/*
 * Computes bounds lo and hi for two disjoint parts. Returns false if they are farther apart than
 * `most` (scaled).
 */
static bool
bound_candidate(rb_distance_state *a, uint32_t red, uint32_t blue, double most, rb_candidate *c)
{
	const uint32_t row = rb_row_of(a->blue, blue);

	*c = (rb_candidate){.red = red, .blue = blue, .rank = a->rank != NULL ? a->rank[row] : row};
	return find_candidate_bounds(a, most, c);
}

/* ---- exact comparison ---- */

/* Computes the bracket of a candidate's distance once, and caches the guessed features. */
static void
compute_candidate_bracket(rb_distance_state *a, rb_candidate *c)
{
	rb_hulls h;

	if (c->asked)
		return;
	hulls_of_candidate(a, c, &h);
	c->proved = rb_hulls_bracket(&a->env, &h, &c->least, &c->most);
	for (int side = 0; side < 2; side++)
	{
		c->guess[2 * side] = (uint8_t) h.guess[side].dim;
		c->guess[2 * side + 1] = (uint8_t) h.guess[side].at;
	}
	c->asked = true;
}

/* Returns true if the cached exact distance is that of the candidate. */
static bool
is_exact_square_cached(const rb_distance_state *a, const rb_candidate *c)
{
	return a->square_red == c->red && a->square_blue == c->blue;
}

/* Stores the exact squared distance of a candidate pair, with its parts. */
static void
cache_exact_square(rb_distance_state *a, const rb_candidate *c, const rb_hulls *h)
{
	rb_gmp_square_of(&a->square, h);
	a->square_red = c->red;
	a->square_blue = c->blue;
}

/*
 * Compares the distances of c and d exactly. If neither is cached, caches that of d, which is one
 * of the best rows.
 */
static int
order_candidates_exactly(rb_distance_state *a, const rb_candidate *c, const rb_candidate *d,
						 const rb_hulls h[2])
{
	a->env.gmp++;
	if (is_exact_square_cached(a, c))
		return rb_gmp_square_order(&a->square, &h[1]);
	if (!is_exact_square_cached(a, d))
		cache_exact_square(a, d, &h[1]);
	return -rb_gmp_square_order(&a->square, &h[0]);
}

/*
 * Labels two candidates as being at the same distance, so that this need not be computed again for
 * them or others with the label.
 */
static void
label_tied_candidates(rb_distance_state *a, rb_candidate *c, rb_candidate *d)
{
	uint32_t least = c->label == 0 || (d->label != 0 && d->label < c->label) ? d->label : c->label;

	if (least == 0)
		least = ++a->labels;
	c->label = d->label = least;
}

/*
 * Compares two disjoint pairs by cached bounds, doubles and shared features, and finally by
 * rational numbers.
 */
static int
compare_disjoint_candidates(rb_distance_state *a, rb_candidate *c, rb_candidate *d)
{
	const size_t bytes = (size_t) rb_kind_width(a->blue->kind) * sizeof(double);
	rb_hulls h[2];

	if (c->hi < d->lo)
		return -1;
	if (c->lo > d->hi)
		return 1;
	if (c->red == d->red && memcmp(part_of_candidate(a->blue, c->blue),
								   part_of_candidate(a->blue, d->blue), bytes) == 0)
		return 0;
	compute_candidate_bracket(a, c);
	compute_candidate_bracket(a, d);
	/* Rounding preserves the order. */
	if (c->most < d->least)
		return -1;
	if (c->least > d->most)
		return 1;
	hulls_of_candidate(a, c, &h[0]);
	hulls_of_candidate(a, d, &h[1]);
	if (c->proved && d->proved && rb_hulls_share_guess(&h[0], &h[1]))
		return 0;
	return order_candidates_exactly(a, c, d, h);
}

/* Returns the sign of the distance of c minus that of d. */
static int
compare_candidates(rb_distance_state *a, rb_candidate *c, rb_candidate *d)
{
	int sign;

	if (c->meets || d->meets)
		return d->meets - c->meets;
	if (c->label != 0 && c->label == d->label)
		return 0;
	sign = compare_disjoint_candidates(a, c, d);
	if (sign == 0)
		label_tied_candidates(a, c, d);
	return sign;
}

/*
 * Returns true if every point of one box is at least as far from the other box as the parts of c
 * are from each other. Exact; the boxes are in scaled coordinates.
 */
static bool
does_candidate_separate_boxes(rb_distance_state *a, const rb_candidate *c, const double lo[2][3],
							  const double hi[2][3])
{
	double from[2][3], to[2][3];
	rb_hulls h;

	if (!is_exact_square_cached(a, c))
	{
		hulls_of_candidate(a, c, &h);
		cache_exact_square(a, c, &h);
	}
	for (int side = 0; side < 2; side++)
		for (int k = 0; k < 3; k++)
		{
			from[side][k] = lo[side][k] / a->scale;
			to[side][k] = hi[side][k] / a->scale;
		}
	a->env.gmp++;
	return rb_gmp_square_separates(&a->square, from, to);
}

/* Compares candidates in output order: by distance, then by rank. */
static int
order_candidates(rb_distance_state *a, rb_candidate *c, rb_candidate *d)
{
	int sign = compare_candidates(a, c, d);

	return sign != 0 ? sign : (c->rank > d->rank) - (c->rank < d->rank);
}

/* Returns true if a candidate is within the distance of the job. */
static bool
is_candidate_within(rb_distance_state *a, const rb_candidate *c, double distance)
{
	rb_hulls h;

	if (c->meets || distance == RB_INFINITY)
		return true;
	if (distance == 0)
		return false;
	/* The product has a rounding error or an underflow error of 2^-1075. */
	if (c->hi < distance * a->scale * (1 - 0x1p-50) - 0x1p-1000)
		return true;
	if (c->lo > distance * a->scale * (1 + 0x1p-50) + 0x1p-1000)
		return false;
	hulls_of_candidate(a, c, &h);
	return rb_hulls_against(&a->env, &h, distance) < 0;
}

/* Returns the double nearest to the distance. */
static double
candidate_distance(rb_distance_state *a, rb_candidate *c)
{
	rb_hulls h;

	if (c->meets)
		return 0;
	compute_candidate_bracket(a, c);
	if (c->least == c->most)
		return c->least;
	hulls_of_candidate(a, c, &h);
	a->env.gmp++;
	return rb_gmp_distance(&h, c->least, c->most);
}

/* ---- search ---- */

/* ---- the best rows so far ---- */

/*
 * Keeps the best k rows found so far in a heap with the worst at the top.
 *
 * Rows with several parts are offered more than once; only a nearer part changes the row's
 * candidate, which can then only sink in the heap. A row that was removed may be offered again with
 * a nearer part; it was worse than k rows before and must now be better than one of them.
 *
 * k may be a million, and each comparison may be one of rational numbers, so all loops poll for a
 * stop.
 */

/* A heap of candidates with the worst at the top */
typedef struct rb_best
{
	rb_distance_state *asker;
	rb_candidate *heap;
	uint32_t n;
	uint32_t cap;
	uint32_t k;
	uint32_t *place; /* position of each blue row in the heap, from 1; 0 if absent */
} rb_best;

/* Returns true if the heap holds k candidates, so that new ones must be better than the worst. */
static inline bool
rb_best_full(const rb_best *b)
{
	return b->n == b->k;
}

/* Returns the candidate of a blue row, or NULL. */
static inline const rb_candidate *
rb_best_of(const rb_best *b, uint32_t row)
{
	return b->place[row] == 0 ? NULL : &b->heap[b->place[row] - 1];
}

/* Allocates the heap positions of all blue rows. */
static rb_status
rb_best_init(rb_best *b, rb_distance_state *asker, uint32_t k)
{
	const uint32_t rows = asker->blue->nrows;

	b->asker = asker;
	b->k = k;
	RB_TRY(RB_ALLOCATE(asker->ctx, b->place, rows));
	memset(b->place, 0, (size_t) rows * sizeof *b->place);
	return RB_OK;
}

/* Frees the heap and the positions of blue rows in it. */
static void
rb_best_free(rb_best *b)
{
	RB_FREE(b->asker->ctx->memory, b->heap);
	RB_FREE(b->asker->ctx->memory, b->place);
}

/* Returns where the heap position of a candidate's blue row is stored: from 1, or 0 if absent. */
static uint32_t *
position_in_heap(const rb_best *b, const rb_candidate *c)
{
	return &b->place[rb_row_of(b->asker->blue, c->blue)];
}

/* Writes a candidate to index `at` of the heap, and notes the position of its row. */
static void
write_candidate_to_heap(rb_best *b, uint32_t at, const rb_candidate *c)
{
	b->heap[at] = *c;
	*position_in_heap(b, c) = at + 1;
}

/* Moves a candidate up from a free position of the heap. */
static void
move_candidate_up(rb_best *b, uint32_t at, rb_candidate *c)
{
	while (at > 0 && !rb_should_stop(b->asker->ctx))
	{
		const uint32_t above = (at - 1) / 2;

		if (order_candidates(b->asker, &b->heap[above], c) >= 0)
			break;
		write_candidate_to_heap(b, at, &b->heap[above]);
		at = above;
	}
	write_candidate_to_heap(b, at, c);
}

/* Moves a candidate down from a free position of the heap. */
static void
move_candidate_down(rb_best *b, uint32_t at, uint32_t n, rb_candidate *c)
{
	while (2 * (uint64_t) at + 1 < n && !rb_should_stop(b->asker->ctx))
	{
		uint32_t below = 2 * at + 1;

		if (below + 1 < n && order_candidates(b->asker, &b->heap[below], &b->heap[below + 1]) < 0)
			below++;
		if (order_candidates(b->asker, c, &b->heap[below]) >= 0)
			break;
		write_candidate_to_heap(b, at, &b->heap[below]);
		at = below;
	}
	write_candidate_to_heap(b, at, c);
}

/* Doubles the capacity of the heap, up to k. */
static rb_status
grow_heap_of_best(rb_best *b)
{
	const uint32_t twice = b->cap > 0 ? 2 * b->cap : 16;
	const uint32_t cap = twice < b->k ? twice : b->k;

	RB_TRY(RB_ALLOCATE(b->asker->ctx, b->heap, cap));
	b->cap = cap;
	return RB_OK;
}

/*
 * Adds a candidate if it is better than the worst one and within the distance of the job, or
 * replaces the candidate of its row if it is nearer. Must not be called after a stop.
 */
static rb_status
rb_best_offer(rb_best *b, rb_candidate *c, double distance)
{
	rb_candidate *same = (rb_candidate *) rb_best_of(b, rb_row_of(b->asker->blue, c->blue));
	rb_candidate *worst = rb_best_full(b) ? &b->heap[0] : NULL;

	if (same != NULL)
	{
		if (compare_candidates(b->asker, c, same) < 0)
			move_candidate_down(b, (uint32_t) (same - b->heap), b->n, c);
		return RB_OK;
	}
	if (worst != NULL && order_candidates(b->asker, c, worst) >= 0)
		return RB_OK;
	if (!is_candidate_within(b->asker, c, distance))
		return RB_OK;
	if (worst != NULL)
	{
		*position_in_heap(b, worst) = 0;
		move_candidate_down(b, 0, b->n, c);
		return RB_OK;
	}
	if (b->n == b->cap)
		RB_TRY(grow_heap_of_best(b));
	move_candidate_up(b, b->n++, c);
	return RB_OK;
}

/* Sorts the heap, best first; it must be cleared afterward. */
static void
rb_best_sort(rb_best *b)
{
	for (uint32_t n = b->n; n > 1 && !rb_should_stop(b->asker->ctx); n--)
	{
		rb_candidate worst = b->heap[0], last = b->heap[n - 1];

		move_candidate_down(b, 0, n - 1, &last);
		b->heap[n - 1] = worst;
	}
}

/* Empties the heap before the next red row, and removes the positions of its rows. */
static void
rb_best_clear(rb_best *b)
{
	for (uint32_t i = 0; i < b->n; i++)
		*position_in_heap(b, &b->heap[i]) = 0;
	b->n = 0;
	b->asker->labels = 0;
}

/* ---- search ---- */

/* Red rows of one piece of work */
#define GRAIN RB_SIZE(64, 2)
/* Minimum number of blue parts at the worst distance for which tied branches are skipped */
#define TIES RB_SIZE(16, 2)
/* Pairs written to the sink at once, unless one row has more */
#define BATCH RB_SIZE(4096, 8)

typedef struct knn_worker
{
	rb_distance_state asker;
	rb_best best;
	rb_tree row;   /* tree of a red row's parts */
	bool touching; /* true in the first round */
	/* number of parts in this row's second round that may be as far away as the worst */
	uint32_t ties;
	rb_tie tie;
	uint32_t last; /* part of the last red row written, if it has only one, else UINT32_MAX */
	size_t nlast;  /* number of its pairs, the last ones of the batch */
	rb_pair *pair;
	uint64_t *payload;
	size_t n;
	size_t cap;
	uint64_t looks; /* pairs of parts compared */
	uint64_t boxes; /* boxes compared */
	double ms;
} knn_worker;

typedef struct nearest
{
	rb_context *ctx;
	const rb_job *job;
	const rb_row_sink *sink;
	double scale;
	const double *coords;
	uint64_t largest; /* bits of the largest coordinate */
	uint64_t least;   /* bits of the smallest nonzero coordinate */
	bool boxes;       /* true if scaled boxes are exact */
	uint32_t *rank;
	uint32_t *start; /* first part of each red row, and the end; NULL if each row has one part */
	uint32_t *order; /* first parts of all red rows, in processing order */
	rb_tree blue;
	knn_worker *worker;
	int threads;
	int status;  /* first status other than RB_OK */
	double most; /* scaled distance of the job, rounded up */
	uint64_t done;
} nearest;

/* ---- a single row ---- */

/*
 * Returns the scaled distance above which parts are not needed. `same` is the row's candidate so
 * far, or NULL.
 */
static double
most_useful_distance(const nearest *a, const knn_worker *w, const rb_candidate *same)
{
	double most = w->touching ? 0 : rb_best_full(&w->best) ? w->best.heap[0].hi : a->most;

	return same != NULL && same->hi < most ? same->hi : most;
}

/* Returns the lowest rank that is not needed: only rows of lower rank can improve the result. */
static uint32_t
least_useless_rank(const knn_worker *w)
{
	return w->touching && rb_best_full(&w->best) ? w->best.heap[0].rank : UINT32_MAX;
}

/*
 * Returns true if no pair of parts in two boxes is nearer than the worst candidate, by exact
 * arithmetic.
 */
static bool
is_box_beyond_worst(void *arg, const double lo[2][3], const double hi[2][3])
{
	knn_worker *w = arg;

	return does_candidate_separate_boxes(&w->asker, &w->best.heap[0], lo, hi);
}

/*
 * Sets the tie of a traversal. If many parts are as far away as the worst candidate, only rows of
 * lower rank are needed among them, so whole branches can be skipped. This requires exact
 * comparisons, which do not pay for a few parts.
 */
static const rb_tie *
set_tie_of_search(const nearest *a, knn_worker *w)
{
	const rb_candidate *worst = &w->best.heap[0];
	double least;

	w->tie.from = RB_INFINITY;
	if (w->touching || !a->boxes || !rb_best_full(&w->best))
		return &w->tie;
	least = worst->lo * worst->lo * (1 - 0x1p-40);
	w->tie.after = worst->rank;
	w->tie.from = w->ties >= TIES && least > 0x1p-900 ? least : RB_INFINITY;
	return &w->tie;
}

/* Offers a pair of parts to the best ones of the current row. */
static rb_status
offer_pair_to_best(const nearest *a, knn_worker *w, uint32_t red, uint32_t blue,
				   const rb_candidate *same)
{
	const bool full = rb_best_full(&w->best);

	rb_candidate c;
	bool good;

	w->looks++;
	if (w->touching)
		good = do_candidates_meet(&w->asker, red, blue, &c);
	else
		good = bound_candidate(&w->asker, red, blue, most_useful_distance(a, w, same), &c);
	w->ties += good && full && !w->touching && c.hi >= w->best.heap[0].lo;
	return good ? rb_best_offer(&w->best, &c, a->job->distance) : RB_OK;
}

/* Offers a part of blue to all parts of a red row. */
static rb_status
offer_part_to_red_row(const nearest *a, knn_worker *w, uint32_t first, uint32_t parts,
					  uint32_t blue)
{
	const uint32_t row = rb_row_of(a->job->blue, blue);
	const rb_candidate *same = rb_best_of(&w->best, row);
	rb_status status = RB_OK;
	double lo[3], hi[3], square;
	uint32_t red;
	rb_walk walk;

	if (same != NULL && same->meets)
		return RB_OK;
	if (parts == 1)
		return offer_pair_to_best(a, w, first, blue, same);
	rb_tree_box(a->job->blue, blue, a->scale, lo, hi);
	rb_walk_begin(&walk, &w->row, NULL, lo, hi);
	while (status == RB_OK && rb_walk_next(&walk, rb_tree_reach(most_useful_distance(a, w, same)),
										   UINT32_MAX, &red, &square))
	{
		status = offer_pair_to_best(a, w, red, blue, same);
		same = rb_best_of(&w->best, row);
		if (same != NULL && same->meets)
			break;
	}
	w->boxes += walk.boxes;
	return status;
}

/* Sends the batch of pairs and distances of one thread to the sink, and empties it. */
static rb_status
send_neighbors(const nearest *a, knn_worker *w)
{
	const size_t n = w->n;

	w->n = 0;
	return n > 0 ? a->sink->put(a->sink->user, w->pair, w->payload, n) : RB_OK;
}

/* Writes the best rows of a red row to the batch. */
static rb_status
write_best_rows(const nearest *a, knn_worker *w, uint32_t row)
{
	rb_status status = RB_OK;
	double distance = 0;

	w->nlast = w->best.n;
	rb_best_sort(&w->best);
	if (w->n + w->best.n > w->cap)
		status = send_neighbors(a, w);
	if (status == RB_OK && w->best.n > w->cap)
	{
		const size_t cap = w->best.n > BATCH ? w->best.n : BATCH;

		w->cap = 0;
		status = RB_ALLOCATE(a->ctx, w->pair, cap);
		if (status == RB_OK)
			status = RB_ALLOCATE(a->ctx, w->payload, cap);
		if (status == RB_OK)
			w->cap = cap;
	}
	for (uint32_t i = 0; i < w->best.n && status == RB_OK; i++)
	{
		/* Candidates at the same distance have the same double. */
		if (i == 0 || w->best.heap[i].label == 0 ||
			w->best.heap[i].label != w->best.heap[i - 1].label)
			distance = candidate_distance(&w->asker, &w->best.heap[i]);

		w->pair[w->n] = (rb_pair){row, rb_row_of(a->job->blue, w->best.heap[i].blue)};
		memcpy(&w->payload[w->n++], &distance, sizeof distance);
		if (rb_should_stop(a->ctx))
			status = RB_STOPPED;
	}
	rb_best_clear(&w->best);
	return status;
}

/* Returns true if two red parts have the same coordinates, so that they have the same neighbors. */
static bool
are_red_parts_equal(const rb_set *set, uint32_t a, uint32_t b)
{
	const size_t width = (size_t) rb_kind_width(set->kind);

	return memcmp(set->coords + a * width, set->coords + b * width, width * sizeof(double)) == 0;
}

/* Writes the pairs of the last row again, for a row with an identical part. */
static rb_status
repeat_neighbors_of_last(const nearest *a, knn_worker *w, uint32_t row)
{
	const size_t n = w->nlast;
	size_t from = w->n - n;
	rb_status status = RB_OK;

	/* The old pairs stay in place after a flush. */
	if (w->n + n > w->cap)
		status = send_neighbors(a, w);
	for (size_t i = 0; i < n && status == RB_OK; i++, from++)
	{
		w->pair[w->n] = (rb_pair){row, w->pair[from].blue};
		w->payload[w->n++] = w->payload[from];
	}
	if (status == RB_OK && rb_should_stop(a->ctx))
		status = RB_STOPPED;
	return status;
}

/* Searches the k nearest blue rows of a red row and sends them. */
static rb_status
search_nearest_of_row(rb_thread *me, const nearest *a, knn_worker *w, uint32_t row)
{
	const rb_set *red = a->job->red;
	const uint32_t first = a->start != NULL ? a->start[row] : row;
	const uint32_t parts = a->start != NULL ? a->start[row + 1] - first : 1;
	rb_status status = RB_OK;
	double lo[3], hi[3], square;
	uint32_t blue;
	rb_walk walk;

	if (parts == 1 && w->last != UINT32_MAX && are_red_parts_equal(red, w->last, first))
		return repeat_neighbors_of_last(a, w, row);
	w->ties = 0;
	w->last = parts == 1 ? first : UINT32_MAX;
	if (parts > 1)
	{
		status = rb_tree_build(me, a->ctx, &w->row, red, first, parts, a->scale, NULL, UINT32_MAX);
		if (status == RB_OK)
			rb_tree_bounds(&w->row, lo, hi);
	}
	else
		rb_tree_box(red, first, a->scale, lo, hi);
	for (int round = 0; round < 2 && status == RB_OK; round++)
	{
		w->touching = round == 0;
		/* Stop if k rows meet red, or if only rows that meet red are wanted. */
		if (round == 1 && (rb_best_full(&w->best) || a->job->distance == 0))
			break;
		rb_walk_begin(&walk, &a->blue, parts > 1 ? &w->row : NULL, lo, hi);
		walk.tie = parts > 1 ? NULL : set_tie_of_search(a, w);
		while (status == RB_OK &&
			   rb_walk_next(&walk, rb_tree_reach(most_useful_distance(a, w, NULL)),
							least_useless_rank(w), &blue, &square))
		{
			status = offer_part_to_red_row(a, w, first, parts, blue);
			if (walk.tie != NULL)
				(void) set_tie_of_search(a, w);
		}
		w->boxes += walk.boxes;
	}
	if (status == RB_OK && rb_should_stop(a->ctx))
		status = RB_STOPPED;
	return status == RB_OK ? write_best_rows(a, w, row) : status;
}

/* ---- all rows ---- */

/* Searches the nearest rows of a range of red rows. */
static void
search_nearest_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	nearest *a = arg;
	knn_worker *w = &a->worker[rb_thread_number(me)];
	const double began = rb_now_ms();

	for (uint64_t i = from; i < to && rb_load(&a->status) == RB_OK; i++)
		rb_keep_failure(&a->status,
						search_nearest_of_row(me, a, w, rb_row_of(a->job->red, a->order[i])));
	w->ms += rb_now_ms() - began;
	rb_progress(a->ctx, RB_STAGE_CANDIDATES, rb_add(&a->done, to - from) + (to - from),
				a->job->red->nrows);
}

/*
 * Finds the largest and the smallest nonzero coordinate. Positive doubles are ordered like their
 * bits.
 */
static void
find_coordinate_extremes_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	nearest *a = arg;
	double largest = 0, least = RB_INFINITY;
	uint64_t bits, known;

	(void) me;
	for (uint64_t i = from; i < to; i++)
	{
		const double x = fabs(a->coords[i]);

		largest = x > largest ? x : largest;
		least = x > 0 && x < least ? x : least;
	}
	memcpy(&bits, &least, sizeof bits);
	known = rb_load(&a->least);
	while (known > bits && !rb_store_if(&a->least, &known, bits))
		;
	memcpy(&bits, &largest, sizeof bits);
	known = rb_load(&a->largest);
	while (known < bits && !rb_store_if(&a->largest, &known, bits))
		;
}

/* Computes the power of two that maps the largest coordinate to between 1/2 and 1, if possible. */
static rb_status
find_coordinate_scale(rb_thread *me, nearest *a)
{
	const rb_set *sides[2] = {a->job->red, a->job->blue};
	rb_status status = RB_OK;
	double largest, least;

	a->least = UINT64_MAX;
	for (int side = 0; side < 2 && status == RB_OK; side++)
	{
		const uint64_t width = (uint64_t) rb_kind_width(sides[side]->kind);

		a->coords = sides[side]->coords;
		status = rb_loop(me, sides[side]->nparts * width, (uint64_t) 1 << 16,
						 find_coordinate_extremes_piece, a);
	}
	memcpy(&largest, &a->largest, sizeof largest);
	memcpy(&least, &a->least, sizeof least);
	a->scale = rb_tree_scale(largest);
	a->boxes = least * a->scale >= 0x1p-1022;
	a->most = a->job->distance * a->scale * (1 + 0x1p-50) + 0x1p-1000;
	if (a->job->distance == 0)
		a->most = 0;
	return status;
}

/*
 * Orders the red rows along the box tree's curve, so that consecutive searches are near each other.
 */
static rb_status
order_red_rows(rb_thread *me, nearest *a)
{
	const rb_set *red = a->job->red;

	RB_TRY(RB_ALLOCATE(a->ctx, a->order, red->nrows));
	for (uint32_t row = 0; row < red->nrows; row++)
	{
		a->order[row] = a->start != NULL ? a->start[row] : row;
		if (row % (1 << 20) == 0 && rb_should_stop(a->ctx))
			return RB_STOPPED;
	}
	return rb_tree_order(me, a->ctx, red, a->scale, a->order, red->nrows);
}

/* Allocates the heap, the exact state and the batch of each thread. */
static rb_status
build_search_workers(nearest *a, int threads)
{
	const rb_job *job = a->job;
	const uint32_t k = job->nearest < job->blue->nrows ? job->nearest : job->blue->nrows;
	rb_status status = RB_OK;

	RB_TRY(RB_ALLOCATE(a->ctx, a->worker, (size_t) threads));
	for (int t = 0; t < threads && status == RB_OK; t++)
	{
		memset(&a->worker[t], 0, sizeof a->worker[t]);
		a->threads = t + 1;
		a->worker[t].asker = (rb_distance_state){
			.ctx = a->ctx,
			.red = job->red,
			.blue = job->blue,
			.rank = a->rank,
			.scale = a->scale,
			.plane_of = UINT32_MAX,
			.square_red = UINT32_MAX,
			.square_blue = UINT32_MAX,
			.env = {.filters = a->ctx->filters, .exact = true, .distance = job->distance}};
		a->worker[t].last = UINT32_MAX;
		a->worker[t].tie.parts = is_box_beyond_worst;
		a->worker[t].tie.user = &a->worker[t];
		status = rb_best_init(&a->worker[t].best, &a->worker[t].asker, k);
	}
	return status;
}

/* Adds the statistics of all threads to those of the context. */
static void
add_search_statistics(const nearest *a)
{
	rb_stats *stats = &a->ctx->stats;

	for (int t = 0; t < a->threads; t++)
	{
		const knn_worker *w = &a->worker[t];

		stats->stage[RB_STAGE_CANDIDATES].count += w->looks;
		stats->stage[RB_STAGE_CANDIDATES].ms += w->ms / a->threads;
		stats->box_tests += w->boxes;
		rb_stats_add_signs(stats, &w->asker.env);
		stats->stage[RB_STAGE_EXACT].count +=
			w->asker.env.integer + w->asker.env.expansion + w->asker.env.gmp;
	}
}

/* Builds the tree of blue parts and searches the nearest rows of all red rows. */
static rb_status
search_nearest_of_all(rb_thread *me, nearest *a)
{
	const rb_job *job = a->job;
	const double began = rb_now_ms();
	rb_status status;

	a->ctx->stats.threads = rb_team_threads(me);
	rb_progress(a->ctx, RB_STAGE_GRID, 0, 0);
	status = find_coordinate_scale(me, a);
	if (status == RB_OK)
		status = rb_ranks(a->ctx, job->blue, &a->rank);
	if (status == RB_OK)
		status = rb_row_starts_if_several(a->ctx, job->red, &a->start);
	if (status == RB_OK)
		status = order_red_rows(me, a);
	if (status == RB_OK)
		status = rb_tree_build(me, a->ctx, &a->blue, job->blue, 0, job->blue->nparts, a->scale,
							   a->rank, job->nearest);
	a->ctx->stats.stage[RB_STAGE_GRID].count += job->blue->nparts;
	a->ctx->stats.stage[RB_STAGE_GRID].ms += rb_now_ms() - began;
	if (status == RB_OK)
		status = build_search_workers(a, rb_team_threads(me));
	if (status == RB_OK)
	{
		rb_progress(a->ctx, RB_STAGE_CANDIDATES, 0, job->red->nrows);
		status = rb_loop(me, job->red->nrows, GRAIN, search_nearest_piece, a);
		status = rb_loop_failure(a->status, status);
	}
	for (int t = 0; t < a->threads && status == RB_OK; t++)
		status = send_neighbors(a, &a->worker[t]);
	return status;
}

/* Returns the number of threads; one suffices for a small job. */
static int
threads_for_search(const rb_context *ctx, const rb_job *job)
{
	const int rows = rb_threads_for(ctx, job->red->nrows, GRAIN);
	const int parts = rb_threads_for(ctx, (uint64_t) job->red->nparts + job->blue->nparts, BATCH);

	return rows > parts ? rows : parts;
}

rb_status
rb_compose_nearest(rb_context *ctx, const rb_backend *backend, const rb_job *job,
				   const rb_row_sink *sink)
{
	nearest a = {.ctx = ctx, .job = job, .sink = sink};
	rb_thread *me;
	rb_status status;
	RB_FREE_AT_END(ctx->memory, &a.worker, &a.start, &a.order, &a.rank);

	(void) backend;
	if (job->red->nparts == 0 || job->blue->nparts == 0)
		return RB_OK;
	RB_TRY(rb_set_materialize_ids(ctx, job->blue));
	RB_TRY(rb_team_open(ctx, threads_for_search(ctx, job), &me));
	status = search_nearest_of_all(me, &a);
	add_search_statistics(&a);
	for (int t = 0; t < a.threads; t++)
	{
		knn_worker *w = &a.worker[t];

		rb_best_free(&w->best);
		rb_tree_free(ctx, &w->row);
		RB_FREE(ctx->memory, w->pair);
		RB_FREE(ctx->memory, w->payload);
	}
	rb_tree_free(ctx, &a.blue);
	rb_team_close(&me);
	return ctx->error.status != RB_OK ? ctx->error.status : status;
}
