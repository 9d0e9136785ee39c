/*
 * box_tree.c
 *	  Builds a tree of boxes; see box_tree.h.
 */
#include "core/base/base.h"
#include "core/base/sort.h"
#include "core/nearest/box_tree.h"
#include "core/set/set.h"

/* Parts or nodes of one piece of work, and between two polls for a stop */
#define GRAIN RB_SIZE(8192, 8)

typedef struct rb_tree_center
{
	double at[3];
	uint32_t part;
} rb_tree_center;

/* ---- ranks ---- */

/*
 * Computes ranks of rows by id, which break ties.
 *
 * Most id columns ascend, and then a row's rank is its number. Others are sorted by a radix
 * sort, which is stable for equal ids.
 */

#define CHECK_INTERVAL ((uint32_t) 1 << 16) /* rows between two polls; one or two milliseconds */

/* Maps ids to unsigned numbers with the order of the signed ids. */
static inline uint64_t
rank_key_of_id(const rb_set *set, uint32_t row)
{
	const uint64_t id =
		set->ids != NULL ? (uint64_t) set->ids[row] : (uint64_t) set->first_id + row;

	return id ^ (uint64_t) 1 << 63;
}

/* Returns true if the ids of a set ascend with its rows. */
static bool
do_ids_ascend(const rb_set *set)
{
	bool good = true;

	/* Consecutive ids ascend unless they wrap. */
	if (set->ids == NULL)
		return rank_key_of_id(set, 0) <= rank_key_of_id(set, set->nrows - 1);
	for (uint32_t i = 1; i < set->nrows && good; i++)
		good = set->ids[i] >= set->ids[i - 1];
	return good;
}

/* Returns the radix sort key of a row's id, by which rows are ranked. */
static uint64_t
rank_key_of_row(const void *row, const void *set)
{
	return rank_key_of_id(set, *(const uint32_t *) row);
}

rb_status
rb_ranks(rb_context *ctx, const rb_set *set, uint32_t **rank)
{
	const uint32_t n = set->nrows;
	uint32_t *order = NULL, *other = NULL;
	RB_FREE_AT_END(ctx->memory, &order, &other);

	*rank = NULL;
	if (do_ids_ascend(set))
		return RB_OK;
	RB_TRY(RB_ALLOCATE(ctx, order, n));
	RB_TRY(RB_ALLOCATE(ctx, other, n));
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	RB_TRY(rb_radix_sort(ctx, (void **) &order, (void **) &other, n, sizeof *order, 8,
						 rank_key_of_row, set));
	for (uint32_t i = 0; i < n; i++)
	{
		other[order[i]] = i;
		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
	}
	*rank = other;
	other = NULL; /* Now the caller's */
	return RB_OK;
}

/* ---- sorting ---- */

/* Returns the median of three numbers, an estimate of the median of all. */
static double
median_of_three_centers(double x, double y, double z)
{
	double least = x < y ? x : y, most = x < y ? y : x;

	return z < least ? least : z > most ? most : z;
}

/*
 * Partitions by C. A. R. Hoare's FIND. Afterward, no center before mid is larger on the axis than
 * one after it. Pivots are chosen pseudorandomly, so no input order is a worst case.
 */
static void
partition_centers(const rb_tree *tree, uint64_t from, uint64_t to, uint64_t mid, int axis)
{
	rb_tree_center *c = tree->centre;
	int64_t lo = (int64_t) from, hi = (int64_t) to - 1;
	uint64_t lot = from * 31 + to;
	uint32_t looks = 0;

	while (lo < hi)
	{
		int64_t i = lo, j = hi;
		double at[3], pivot;

		for (int k = 0; k < 3; k++)
		{
			lot = lot * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
			at[k] = c[lo + (int64_t) ((lot >> 33) % (uint64_t) (hi - lo + 1))].at[axis];
		}
		pivot = median_of_three_centers(at[0], at[1], at[2]);
		while (i <= j)
		{
			bool left = c[i].at[axis]<pivot, right = c[j].at[axis]> pivot;

			if (++looks % GRAIN == 0 && rb_should_stop(tree->ctx))
				return;
			if (!left && !right)
			{
				rb_tree_center other = c[i];

				c[i++] = c[j];
				c[j--] = other;
			}
			else
			{
				i += left;
				j -= right;
			}
		}
		if ((int64_t) mid <= j)
			hi = j;
		else if ((int64_t) mid >= i)
			lo = i;
		else
			return;
	}
}

/* Returns the axis of largest extent of the centers, or -1 if they coincide. */
static int
find_widest_axis_of_centers(const rb_tree *tree, uint64_t from, uint64_t to)
{
	double lo[3], hi[3], width = 0;
	int axis = -1;

	rb_box_empty(lo, hi);
	for (uint64_t i = from; i < to; i++)
	{
		if (i % GRAIN == 0 && rb_should_stop(tree->ctx))
			return -1;
		rb_box_add(lo, hi, tree->centre[i].at, tree->centre[i].at);
	}
	for (int a = 0; a < 3; a++)
		if (hi[a] - lo[a] > width)
		{
			width = hi[a] - lo[a];
			axis = a;
		}
	return axis;
}

/* Sorts parts by bisection. Each half consists of whole subtrees, all but the last of them full. */
static void
sort_parts_by_center(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_tree *tree = arg;
	uint64_t child = RB_TREE_FAN, children, mid;
	rb_group group;
	int axis;

	if (to - from <= RB_TREE_FAN)
		return;
	while (child * RB_TREE_FAN < to - from)
		child *= RB_TREE_FAN;
	children = (to - from + child - 1) / child;
	mid = from + children / 2 * child;
	axis = find_widest_axis_of_centers(tree, from, to);
	if (axis < 0)
		return;
	partition_centers(tree, from, to, mid, axis);
	if (rb_should_stop(tree->ctx))
		return;
	if (to - from <= GRAIN)
	{
		sort_parts_by_center(me, tree, from, mid);
		sort_parts_by_center(me, tree, mid, to);
		return;
	}
	rb_group_open(me, &group);
	rb_group_spawn(me, sort_parts_by_center, tree, mid, to);
	sort_parts_by_center(me, tree, from, mid);
	rb_group_wait(me);
}

/*
 * Sorts all parts of a large tree. Runs as the only piece of a loop, so that it may spawn tasks for
 * halves.
 */
static void
sort_all_parts_by_center(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	(void) from, (void) to;
	sort_parts_by_center(me, arg, 0, ((rb_tree *) arg)->count[0]);
}

/* ---- boxes ---- */

/* Computes the centers of a range of parts. */
static void
find_part_centers_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_tree *tree = arg;

	(void) me;
	for (uint64_t i = from; i < to; i++)
	{
		rb_tree_center *c = &tree->centre[i];
		double lo[3], hi[3];

		c->part = tree->list != NULL ? tree->list[i] : tree->begin + (uint32_t) i;
		rb_tree_box(tree->set, c->part, tree->scale, lo, hi);
		for (int a = 0; a < 3; a++)
			c->at[a] = 0.5 * lo[a] + 0.5 * hi[a];
	}
}

/* Fills leaf nodes with the boxes of their parts. */
static void
fill_leaf_boxes_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_tree *tree = arg;

	(void) me;
	for (uint64_t i = from; i < to; i++)
	{
		rb_tree_node *node = &tree->node[tree->first[1] + i];

		for (uint32_t c = 0; c < RB_TREE_FAN; c++)
		{
			const uint64_t at = i * RB_TREE_FAN + c;
			double lo[3] = {0}, hi[3] = {0};

			node->least[c] = 0;
			if (at < tree->count[0])
			{
				const uint32_t part = tree->centre[at].part;
				const uint32_t row = rb_row_of(tree->set, part);

				tree->part[at] = part;
				node->least[c] = tree->rank != NULL ? tree->rank[row] : row;
				rb_tree_box(tree->set, part, tree->scale, lo, hi);
			}
			for (int a = 0; a < 3; a++)
			{
				node->lo[a][c] = lo[a];
				node->hi[a][c] = hi[a];
			}
		}
	}
}

/* Computes the box of all children of a node. Returns their smallest rank. */
static uint32_t
bound_node_children(const rb_tree *tree, int level, uint32_t index, double lo[3], double hi[3])
{
	const rb_tree_node *node = &tree->node[tree->first[level] + index];
	const uint32_t n = tree->count[level - 1] - index * RB_TREE_FAN;
	uint32_t least = UINT32_MAX;

	rb_box_empty(lo, hi);
	for (uint32_t c = 0; c < RB_TREE_FAN && c < n; c++)
	{
		const double clo[3] = {node->lo[0][c], node->lo[1][c], node->lo[2][c]};
		const double chi[3] = {node->hi[0][c], node->hi[1][c], node->hi[2][c]};

		rb_box_add(lo, hi, clo, chi);
		least = node->least[c] < least ? node->least[c] : least;
	}
	return least;
}

typedef struct tree_level
{
	rb_tree *tree;
	int level;
} tree_level;

/* Fills the nodes of a level with the boxes of their children. */
static void
fill_inner_boxes_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const tree_level *l = arg;
	rb_tree *tree = l->tree;

	(void) me;
	for (uint64_t i = from; i < to; i++)
	{
		rb_tree_node *node = &tree->node[tree->first[l->level] + i];

		for (uint32_t c = 0; c < RB_TREE_FAN; c++)
		{
			const uint64_t below = i * RB_TREE_FAN + c;
			double lo[3] = {0}, hi[3] = {0};

			node->least[c] = 0;
			if (below < tree->count[l->level - 1])
				node->least[c] = bound_node_children(tree, l->level - 1, (uint32_t) below, lo, hi);
			for (int a = 0; a < 3; a++)
			{
				node->lo[a][c] = lo[a];
				node->hi[a][c] = hi[a];
			}
		}
	}
}

/* ---- identical parts ---- */

/*
 * Returns the rank by id of the row of a part in the box tree, which decides among rows at the
 * same distance.
 */
static uint32_t
rank_of_tree_part(const rb_tree *tree, uint32_t part)
{
	const uint32_t row = rb_row_of(tree->set, part);

	return tree->rank != NULL ? tree->rank[row] : row;
}

/* Orders identical parts by the ranks of their rows, so that the lowest ones are kept. */
static int
by_rank_of_part(const void *a, const void *b, const void *tree)
{
	const uint32_t x = rank_of_tree_part(tree, ((const rb_tree_center *) a)->part);
	const uint32_t y = rank_of_tree_part(tree, ((const rb_tree_center *) b)->part);

	return (x > y) - (x < y);
}

/* Returns true if two parts have equal coordinates. */
static bool
are_parts_identical(const rb_tree *tree, const rb_tree_center *a, const rb_tree_center *b)
{
	const size_t width = (size_t) rb_kind_width(tree->set->kind);
	const double *coords = tree->set->coords;

	/* Compare centers first, since coordinates are scattered in memory. */
	if (a->at[0] != b->at[0] || a->at[1] != b->at[1] || a->at[2] != b->at[2])
		return false;
	return memcmp(coords + a->part * width, coords + b->part * width, width * sizeof(double)) == 0;
}

/*
 * Removes surplus identical parts, which the sorting made adjacent. All of them are at the same
 * distance from any query, so at most `same` rows of them are needed.
 */
static rb_status
drop_identical_parts(rb_tree *tree, uint32_t same)
{
	rb_tree_center *c = tree->centre;
	const uint32_t n = tree->count[0];
	uint32_t kept = 0;

	for (uint32_t from = 0, end; from < n; from = end)
	{
		uint32_t rows = 0, last = UINT32_MAX;

		for (end = from + 1; end < n && are_parts_identical(tree, &c[from], &c[end]); end++)
			;
		if (end - from > same)
			RB_TRY(rb_sort(tree->ctx, c + from, end - from, sizeof *c, by_rank_of_part, tree));
		for (uint32_t i = from; i < end; i++)
		{
			const uint32_t row = rb_row_of(tree->set, c[i].part);

			rows += end - from > same && row != last;
			last = row;
			if (rows <= same)
				c[kept++] = c[i];
		}
		if (from / GRAIN != end / GRAIN && rb_should_stop(tree->ctx))
			return RB_STOPPED;
	}
	tree->count[0] = kept;
	return RB_OK;
}

/* ---- construction ---- */

/* Runs a loop; a small one on this thread alone, without a lock. */
static rb_status
run_tree_loop(rb_thread *me, const rb_tree *tree, uint64_t n, rb_work work, void *arg)
{
	if (n > GRAIN)
		return rb_loop(me, n, GRAIN, work, arg);
	work(me, arg, 0, n);
	return rb_should_stop(tree->ctx) ? RB_STOPPED : RB_OK;
}

/* Allocates the arrays of a tree, with room for a larger tree. */
static rb_status
reserve_tree_arrays(rb_context *ctx, rb_tree *tree)
{
	const uint32_t n = tree->count[0];

	if (n > tree->cap)
	{
		/*
		 * Reserve extra room, so that building trees of many rows one after another rarely
		 * reallocates.
		 */
		const size_t cap = tree->cap > 0 ? (size_t) n + n / 2 : n;

		tree->cap = 0;
		RB_TRY(RB_ALLOCATE(ctx, tree->part, cap));
		/* room for n / 4 + n / 16 + ... nodes, each term rounded up */
		RB_TRY(RB_ALLOCATE(ctx, tree->node, cap / 3 + RB_TREE_LEVELS));
		tree->cap = (uint32_t) cap;
	}
	/* Small trees share one array of centers; large ones allocate it temporarily. */
	return tree->centre == NULL || n > GRAIN ? RB_ALLOCATE(ctx, tree->centre, n > GRAIN ? n : GRAIN)
											 : RB_OK;
}

/* Computes and sorts the centers of all parts. */
static rb_status
sort_part_centers(rb_thread *me, rb_tree *tree)
{
	const uint32_t n = tree->count[0];
	rb_status status = run_tree_loop(me, tree, n, find_part_centers_piece, tree);

	if (status == RB_OK && n > GRAIN)
		status = rb_loop(me, 1, 1, sort_all_parts_by_center, tree);
	else if (status == RB_OK)
		sort_parts_by_center(me, tree, 0, n);
	return status;
}

rb_status
rb_tree_order(rb_thread *me, rb_context *ctx, const rb_set *set, double scale, uint32_t *parts,
			  uint32_t n)
{
	rb_tree tree = {.ctx = ctx, .set = set, .scale = scale, .list = parts, .count = {n}};
	RB_FREE_AT_END(ctx->memory, &tree.centre);

	RB_TRY(RB_ALLOCATE(ctx, tree.centre, n));
	RB_TRY(sort_part_centers(me, &tree));
	for (uint32_t i = 0; i < n; i++)
	{
		parts[i] = tree.centre[i].part;
		if (i % GRAIN == 0 && rb_should_stop(ctx))
			return RB_STOPPED;
	}
	return RB_OK;
}

rb_status
rb_tree_build(rb_thread *me, rb_context *ctx, rb_tree *tree, const rb_set *set, uint32_t first,
			  uint32_t n, double scale, const uint32_t *rank, uint32_t same)
{
	uint32_t nodes = 0;
	rb_status status;

	tree->ctx = ctx;
	tree->set = set;
	tree->list = NULL;
	tree->begin = first;
	tree->scale = scale;
	tree->rank = rank;
	tree->count[0] = n;
	RB_TRY(reserve_tree_arrays(ctx, tree));
	RB_TRY(sort_part_centers(me, tree));
	if (same < n)
		RB_TRY(drop_identical_parts(tree, same));

	tree->top = 0;
	do
	{
		const uint32_t below = tree->count[tree->top++];

		tree->first[tree->top] = nodes;
		tree->count[tree->top] = below / RB_TREE_FAN + (below % RB_TREE_FAN != 0);
		nodes += tree->count[tree->top];
	} while (tree->count[tree->top] > 1);

	status = run_tree_loop(me, tree, tree->count[1], fill_leaf_boxes_piece, tree);
	for (int k = 2; k <= tree->top && status == RB_OK; k++)
	{
		tree_level l = {tree, k};

		status = run_tree_loop(me, tree, tree->count[k], fill_inner_boxes_piece, &l);
	}
	if (n > GRAIN)
		RB_FREE(ctx->memory, tree->centre);
	return status;
}

void
rb_tree_free(rb_context *ctx, rb_tree *tree)
{
	RB_FREE(ctx->memory, tree->part);
	RB_FREE(ctx->memory, tree->node);
	RB_FREE(ctx->memory, tree->centre);
	tree->cap = 0;
}

void
rb_tree_bounds(const rb_tree *tree, double lo[3], double hi[3])
{
	(void) bound_node_children(tree, tree->top, 0, lo, hi);
}

double
rb_tree_gap(const rb_tree *tree, const double lo[3], const double hi[3], double reach,
			uint64_t *boxes)
{
	double least = HUGE_VAL;
	rb_walk w;
	uint32_t part;
	double square;

	rb_walk_begin(&w, tree, NULL, lo, hi);
	while (least > 0 && rb_walk_next(&w, reach, UINT32_MAX, &part, &square))
	{
		least = square;
		/* Gaps that are not smaller by more than the margin of rb_tree_reach need not be found. */
		reach = least * (1 - 0x1p-50);
	}
	*boxes += w.boxes;
	return least;
}
