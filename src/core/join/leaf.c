/*
 * leaf.c
 *	  Joins a small red list with a small blue list in one thread: fine grid, candidates, cascade of
 *	  filters.
 *
 * The top grid (cpu_join.c) divides space into cells of a few thousand objects. Such a cell is
 * copied into two tiles that stay in the cache, with each object prepared once for the filters, and
 * gets a fine grid of its own: a two-level uniform grid as in Magalhaes et al., Fast exact parallel
 * 3D mesh intersection algorithm using only orientation predicates, 2017, and Menezes et al., Fast
 * Parallel Evaluation of Exact Geometric Predicates on GPUs, 2022. The stages
 *
 *        cells of the fine grid -> candidates -> float -> plane sides -> intervals -> exact
 *
 * process batches of several thousand pairs. Each stage appends the pairs that it cannot decide to
 * the input of the next, without branches on geometry. If there are many candidates, a k-DOP test
 * with the extents along four diagonals (kdop.h) rejects half of them together with the box test;
 * they are counted as decided by the float stage. The float stage decides all pairs except those
 * close to a tie. Only if some are left are the faces of a tile also prepared in double precision.
 * The double stage also proves zeros that are evident: a corner in the plane of a face that is flat
 * on an axis, four points that share a coordinate, and a common corner.
 */
#include "core/join/join.h"
#include "core/join/star_boxes.h"
#include "core/join/simd.h"
#include "core/primitive/triangle_float.h"
#include "core/primitive/dispatch.h"

#include <string.h>

#define MAX_INCIDENCES (16 * RB_TILE) /* maximum incidences of a side in the fine grid */
#define MAX_CELLS RB_SIZE(8192, 60)   /* maximum number of cells of the fine grid */
#define PAIRS RB_SIZE(8192, 20)       /* candidates per round of the cascade */
/* candidates per round for RB_HITS, where a round can save tests in the next */
#define HITS_PAIRS RB_SIZE(256, 3)
/* rows of a tile, rounded up since kernels read eight at a time */
#define ROWS ((RB_TILE + 15) / 8 * 8)
#define ROOM (PAIRS + RB_TILE + 16)
#define HITS RB_SIZE(4096, 5)        /* pairs written to the sink at a time */
#define SMALL_TESTS RB_SIZE(1024, 6) /* number of box tests up to which a grid does not pay */
#define BUCKETS RB_SIZE(256, 7)
/* number of faces whose preparation in double costs as much as one pair */
#define FACES_FROM 8
#define SORT_FROM RB_SIZE(64, 3) /* number of rows from which sorting pays */
#define STAR_FROM RB_SIZE(32, 1) /* tests per object from which a star is searched for */
#define STAR_DEPTH 4             /* maximum depth of stars within the remainder of other stars */

typedef struct rb_tile
{
	uint32_t n;
	uint32_t index[RB_TILE]; /* number of the object in its set */
	uint8_t starts[RB_TILE]; /* owner bits in the parent's cell */
	/* copy of the owner bits while `starts` refers to boxes of directions */
	uint8_t owner[RB_TILE];
	uint32_t row[RB_TILE];  /* set only for a self join of rows with several parts */
	uint8_t known[RB_TILE]; /* RB_HITS: 1 if no more information about the object is needed */
	double lo[RB_TILE][4] __attribute__((aligned(64)));
	double hi[RB_TILE][4] __attribute__((aligned(64)));
	bool has_small; /* true if `small` is valid; computed only for pairs */
	rb_float_face small[RB_TILE];
	bool has_slabs; /* true if the k-DOP extents are valid; computed only for many pairs */
	uint32_t slab_lo[RB_TILE];
	uint32_t slab_hi[RB_TILE];
	bool has_faces; /* true if `face` is valid; computed only for pairs that float leaves */
	rb_plane_face face[RB_TILE];
} rb_tile;

/* The contents of the fine grid's cells for one tile */
typedef struct rb_tile_grid
{
	uint32_t start[MAX_CELLS + 1];
	rb_range range[RB_TILE] __attribute__((aligned(64)));
	uint32_t entry[MAX_INCIDENCES]; /* local number, with the owner bits on top */
} rb_tile_grid;

struct rb_leaf
{
	rb_context *ctx;
	const rb_job *job;
	const rb_sink *sink;
	const rb_kernel *kernel;
	rb_exact_env env;
	uint32_t round; /* candidates per round of the cascade */
	double pad;     /* amount by which all boxes are enlarged (rb_pad_of) */
	bool boxes;     /* true if overlapping boxes decide the predicate */
	bool faces;     /* true if both sides are triangles: all vector stages apply */
	bool part;      /* true for a distance of triangles: the vector stages for distances apply */
	/* true in a self join in which the rows of the parts decide whether a pair counts */
	bool compares_rows;
	bool red_only;   /* true for RB_HITS of red: a matched red object needs no further tests */
	bool small;      /* true if a float stage precedes the double stages */
	bool slabs;      /* true if a k-DOP test precedes the float stage when there are many pairs */
	rb_frame frame;  /* frame of the float and k-DOP data */
	bool stars;      /* true if pairs that share only a corner or edge do not count */
	bool directions; /* true if the tiles' boxes are boxes of directions (star_boxes.h) */
	int star_depth;

	/* Statistics */
	uint64_t cells;
	uint64_t incidences;
	uint64_t box_tests;
	rb_boxes_met boxes_met;
	uint64_t candidates;
	uint64_t in_float;  /* pairs that entered the float filter */
	uint64_t in_double; /* pairs that entered the double filter */
	uint64_t exact;     /* pairs that needed an exact sign */
	uint64_t hits;
	double ms[RB_STAGES];
	double clock; /* end of the last timed stage, in ms */

	uint32_t found;   /* candidates of this tile */
	uint32_t dropped; /* pairs that the k-DOP test rejected since the last round */
	uint32_t npairs;
	uint32_t nhit;
	uint32_t pair[ROOM];
	uint32_t yes[ROOM];
	rb_sided sided[ROOM];
	rb_sided undecided[ROOM];
	rb_pair hit[HITS];

	rb_box_rows rows;
	double row_box[6][ROWS] __attribute__((aligned(64)));
	uint32_t row_starts[ROWS] __attribute__((aligned(64)));
	uint32_t row_local[ROWS] __attribute__((aligned(64)));
	uint32_t row_slabs[2][ROWS] __attribute__((aligned(64)));
	rb_tile_grid red_grid;
	rb_tile_grid blue_grid;
	rb_tile red;
	rb_tile blue;
	/* Lists with a star's triangles first, then the others */
	uint32_t parted[STAR_DEPTH][2][RB_TILE];
};

rb_status
rb_leaf_create(rb_context *ctx, const rb_job *job, const rb_sink *sink, rb_leaf **leaf)
{
	const rb_kind red = job->red->kind, blue = (job->blue != NULL ? job->blue : job->red)->kind;
	rb_leaf *w;

	RB_TRY(RB_ALLOCATE(ctx, *leaf, 1));
	w = *leaf;
	memset(w, 0, offsetof(rb_leaf, pair));
	w->ctx = ctx;
	w->job = job;
	w->sink = sink;
	w->kernel = rb_kernel_best();
	w->env.filters = ctx->filters;
	w->env.exact = true;
	w->env.distance = job->distance;
	w->pad = rb_pad_of(job->predicate, job->distance);
	w->boxes = rb_boxes_decide(job->predicate, red, blue);
	w->faces = rb_faces_decide(job->predicate, red, blue);
	w->part = rb_faces_part(job->predicate, red, blue);
	w->small = w->faces && (~ctx->filters & (RB_FILTER_FLOAT | RB_FILTER_SIGNS)) == 0;
	w->round = sink->marks != NULL ? HITS_PAIRS : PAIRS;
	w->compares_rows = job->blue == NULL && job->red->row_of != NULL;
	w->slabs = w->small && !w->compares_rows; /* pairs that do not count are not candidates */
	w->stars = w->faces && job->predicate == RB_SELF_INTERSECT && job->blue == NULL;
	w->red_only = sink->marks != NULL && job->blue != NULL && job->of == RB_OF_RED;
	for (int a = 0; a < 3; a++)
	{
		w->rows.lo[a] = w->row_box[a];
		w->rows.hi[a] = w->row_box[3 + a];
	}
	w->rows.starts = w->row_starts;
	w->rows.local = w->row_local;
	w->rows.slab_lo = w->row_slabs[0];
	w->rows.slab_hi = w->row_slabs[1];
	return RB_OK;
}

void
rb_leaf_destroy(rb_context *ctx, rb_leaf *leaf)
{
	RB_FREE(ctx->memory, leaf);
}

void
rb_leaf_report(const rb_leaf *w, rb_stats *stats)
{
	stats->cells += w->cells;
	stats->box_tests += w->box_tests;
	stats->redundant_tests += w->boxes_met.overlaps - w->boxes_met.owned;
	stats->hits += w->hits;
	rb_stats_add_signs(stats, &w->env);
	stats->stage[RB_STAGE_GRID].count += w->incidences;
	stats->stage[RB_STAGE_CANDIDATES].count += w->candidates;
	stats->stage[RB_STAGE_FLOAT].count += w->in_float;
	stats->stage[RB_STAGE_DOUBLE].count += w->in_double;
	stats->stage[RB_STAGE_EXACT].count += w->exact;
	for (int s = 0; s < RB_STAGES; s++)
		stats->stage[s].ms += w->ms[s];
}

/* Charges the time since the last call to a stage. */
static inline void
charge_leaf_stage_time(rb_leaf *w, rb_stage stage)
{
	double now = rb_now_ms();

	w->ms[stage] += now - w->clock;
	w->clock = now;
}

rb_status
rb_leaf_flush(rb_leaf *w)
{
	rb_status status = RB_OK;

	if (w->nhit > 0)
		status = w->sink->put(w->sink->user, w->hit, w->nhit);
	w->nhit = 0;
	return status;
}

/* ---- tiles ---- */

/* Loads the boxes of a list into a tile and computes their bounds. */
static void
fill_leaf_tile(rb_tile *tile, const rb_leaf *w, const rb_set *o, rb_list list, double lo[3],
			   double hi[3])
{
	double all_lo[4], all_hi[4];

	tile->n = list.n;
	w->kernel->load(o->kind, o->coords, list.entry, 0, list.n, tile->lo, tile->hi);
	for (uint32_t i = 0; w->pad > 0 && i < list.n; i++)
		rb_kind_pad(o->kind, w->pad, tile->lo[i], tile->hi[i]);
	for (int a = 0; a < 4; a++)
	{
		all_lo[a] = HUGE_VAL;
		all_hi[a] = -HUGE_VAL;
	}
	for (uint32_t i = 0; i < list.n; i++)
	{
		tile->index[i] = list.entry[i] & RB_INDEX_MASK;
		tile->starts[i] = (uint8_t) (list.entry[i] >> RB_INDEX_BITS);
		if (w->compares_rows)
			tile->row[i] = o->row_of[tile->index[i]];
		for (int a = 0; a < 4; a++) /* four iterations make one vector operation */
		{
			all_lo[a] = tile->lo[i][a] < all_lo[a] ? tile->lo[i][a] : all_lo[a];
			all_hi[a] = tile->hi[i][a] > all_hi[a] ? tile->hi[i][a] : all_hi[a];
		}
	}
	memcpy(lo, all_lo, 3 * sizeof(double));
	memcpy(hi, all_hi, 3 * sizeof(double));
	tile->has_small = tile->has_slabs = tile->has_faces = false;
}

/*
 * Prepares the triangles of a tile in float coordinates relative to its frame, unless that is done.
 */
static void
prepare_float_faces_of_tile(rb_tile *tile, const rb_leaf *w, const rb_set *o)
{
	if (!tile->has_small)
		w->kernel->small_faces(o->coords, tile->index, tile->n, &w->frame, tile->small);
	tile->has_small = true;
}

/* Computes the k-DOPs of a tile's triangles from their float coordinates, unless that is done. */
static void
prepare_kdops_of_tile(rb_tile *tile, const rb_leaf *w, const rb_set *o)
{
	prepare_float_faces_of_tile(tile, w, o);
	if (!tile->has_slabs)
		w->kernel->slabs(tile->small, tile->n, tile->slab_lo, tile->slab_hi);
	tile->has_slabs = true;
}

/* Prepares the faces of a tile for the plane tests, once. */
static void
prepare_faces_of_tile(rb_tile *tile, const rb_leaf *w, const rb_set *o)
{
	if (tile->has_faces)
		return;
	tile->has_faces = true;
	if (w->faces)
		w->kernel->faces(o->coords, tile->index, tile->n, (const double(*)[4]) tile->lo,
						 (const double(*)[4]) tile->hi, tile->face);
	for (uint32_t i = 0; w->part && i < tile->n; i++)
		rb_face_init(&tile->face[i], o->coords + (size_t) tile->index[i] * 9, tile->lo[i],
					 tile->hi[i], w->job->distance);
}

/*
 * Initializes `known` when the tile is filled: it is 1 for objects about which no more information
 * is needed. In a self join, both objects of a pair may be needed.
 */
static void
init_finished_objects_of_tile(const rb_leaf *w, rb_tile *tile, const rb_set *o, rb_result_side of)
{
	const bool asked = w->job->blue == NULL || w->job->of == of;

	for (uint32_t i = 0; i < tile->n; i++)
		tile->known[i] = !asked || rb_is_marked(w->sink->marks, rb_row_of(o, tile->index[i]));
}

/* ---- fine grid ---- */

/* Returns how many cells of the leaf's fine grid a box enters. */
static inline uint64_t
count_cells_of_fine_range(const rb_range *r)
{
	return (uint64_t) (r->c1[0] - r->c0[0] + 1) * (r->c1[1] - r->c0[1] + 1) *
		   (r->c1[2] - r->c0[2] + 1);
}

/*
 * Counts the incidences of each cell in to->start and returns their number. If the result exceeds
 * MAX_INCIDENCES, counting has stopped early.
 */
static uint64_t
count_fine_grid_cells(rb_tile_grid *to, const rb_kernel *kernel, const rb_tile *tile,
					  const rb_grid *grid, uint32_t cells)
{
	const uint32_t nx = grid->n[0], ny = grid->n[1];
	uint64_t total = 0;

	memset(to->start, 0, (cells + 1) * sizeof(uint32_t));
	kernel->cells(grid, (const double(*)[4]) tile->lo, (const double(*)[4]) tile->hi, tile->n,
				  to->range);
	for (uint32_t i = 0; i < tile->n; i++)
	{
		const rb_range r = to->range[i];

		total += count_cells_of_fine_range(&r);
		if (total > MAX_INCIDENCES)
			break;
		for (uint32_t z = r.c0[2]; z <= r.c1[2]; z++)
			for (uint32_t y = r.c0[1]; y <= r.c1[1]; y++)
				for (uint32_t x = r.c0[0]; x <= r.c1[0]; x++)
					to->start[(z * ny + y) * nx + x]++;
	}
	return total;
}

/* Fills the cells: turns counts into ends, then writes backward, which leaves the starts. */
static void
fill_fine_grid_cells(rb_tile_grid *to, const rb_tile *tile, const rb_grid *grid, uint32_t cells)
{
	const uint32_t nx = grid->n[0], ny = grid->n[1];
	uint32_t sum = 0;

	for (uint32_t c = 0; c < cells; c++)
	{
		sum += to->start[c];
		to->start[c] = sum;
	}
	to->start[cells] = sum;
	for (uint32_t i = tile->n; i-- > 0;)
	{
		const rb_range r = to->range[i];
		const uint32_t own = tile->starts[i];

		for (uint32_t z = r.c0[2]; z <= r.c1[2]; z++)
			for (uint32_t y = r.c0[1]; y <= r.c1[1]; y++)
				for (uint32_t x = r.c0[0]; x <= r.c1[0]; x++)
				{
					uint32_t starts =
						own & ((x == r.c0[0]) | (y == r.c0[1]) << 1 | (z == r.c0[2]) << 2);

					to->entry[--to->start[(z * ny + y) * nx + x]] = i | starts << RB_INDEX_BITS;
				}
	}
}

/*
 * Samples the extents of only a few objects of a leaf tile, because there are many tiles and
 * planning must not cost more than it saves.
 */
static void
sample_leaf_tile(const rb_tile *tile, rb_sample *sample)
{
	uint32_t step = tile->n / RB_SIZE(16, 4) + 1;

	sample->n = 0;
	for (uint32_t i = step / 2; i < tile->n; i += step)
	{
		for (int a = 0; a < 3; a++)
			sample->extent[a][sample->n] = 0.5 * tile->hi[i][a] - 0.5 * tile->lo[i][a];
		sample->n++;
	}
	rb_sample_end(sample);
}

/* ---- cascade ---- */

/*
 * Returns true if the pair counts. In a self join, parts of one row are not tested against each
 * other; in a join within rows, only these are. In a star, the owner is determined by this cell of
 * the grid in space, not by the grid of directions.
 */
static inline bool
is_leaf_pair_counted(const rb_leaf *w, const rb_tile *red, const rb_tile *blue, uint32_t pair)
{
	const uint32_t r = pair >> 16, b = pair & 0xffff;

	if (w->directions && (red->owner[r] | blue->owner[b]) != 7)
		return false;
	return !w->compares_rows || (red->row[r] == blue->row[b]) == w->job->within_rows;
}

/* Returns the numbers of the two objects in their sets, in a self join the smaller one first. */
static inline rb_pair
pair_of_tile_objects(const rb_leaf *w, const rb_tile *red, const rb_tile *blue, uint32_t pair)
{
	rb_pair p = {red->index[pair >> 16], blue->index[pair & 0xffff]};

	return w->job->blue == NULL && p.red > p.blue ? (rb_pair){p.blue, p.red} : p;
}

/*
 * Returns true if, for RB_HITS, the pair gives no new information, because its rows are already
 * matched or are not requested. The tiles record what was known when they were filled and what has
 * been found since.
 */
static inline bool
is_leaf_pair_known(const rb_leaf *w, const rb_tile *red, const rb_tile *blue, uint32_t pair)
{
	return w->sink->marks != NULL && (red->known[pair >> 16] & blue->known[pair & 0xffff]);
}

/*
 * Marks the rows of a pair of the leaf's tiles as matched, and its objects so that no more pairs
 * of them are tested in this leaf.
 */
static inline void
mark_matched_pair_of_leaf(rb_leaf *w, rb_tile *red, rb_tile *blue, uint32_t pair)
{
	const rb_pair p = pair_of_tile_objects(w, red, blue, pair);

	rb_mark_pair(w->job, w->sink->marks, p.red, p.blue);
	if (w->job->of == RB_OF_BOTH || (w->job->of == RB_OF_RED && w->job->blue != NULL))
		red->known[pair >> 16] = 1;
	if (w->job->of == RB_OF_BOTH || (w->job->of == RB_OF_BLUE && w->job->blue != NULL))
		blue->known[pair & 0xffff] = 1;
}

/* Writes pairs for which the predicate holds, all with the same payload. */
static rb_status
write_matching_pairs(rb_leaf *w, rb_tile *red, rb_tile *blue, const uint32_t *pairs, uint32_t n,
					 unsigned payload)
{
	w->hits += n;
	if (w->sink->marks != NULL)
	{
		for (uint32_t i = 0; i < n; i++)
			if (!is_leaf_pair_known(w, red, blue, pairs[i]))
				mark_matched_pair_of_leaf(w, red, blue, pairs[i]);
		return RB_OK;
	}
	for (uint32_t i = 0; i < n; i++)
	{
		if (w->nhit == HITS)
			RB_TRY(rb_leaf_flush(w));
		w->hit[w->nhit] = pair_of_tile_objects(w, red, blue, pairs[i]);
		w->hit[w->nhit++].red |= payload << RB_PAYLOAD_SHIFT;
	}
	return RB_OK;
}

/* Turns bits of sides into signs; RB_UNSURE if both bits of a vertex are set. */
static inline void
signs_of_sides(unsigned sides, int s[3])
{
	for (int i = 0; i < 3; i++)
	{
		const int above = sides >> i & 1, below = sides >> (4 + i) & 1;

		s[i] = above & below ? RB_UNSURE : above - below;
	}
}

/* Decides pairs that the vector stages left undecided, starting from the signs that they proved. */
static rb_status
decide_undecided_leaf_pairs(rb_leaf *w, rb_tile *red, rb_tile *blue, uint32_t n)
{
	const rb_set *ro = w->job->red;
	const rb_set *bo = w->job->blue != NULL ? w->job->blue : ro;

	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t pair = w->undecided[i].pair;
		const rb_common common = {w->undecided[i].common & 7u, w->undecided[i].common >> 3 & 7u};
		uint64_t before = w->env.integer + w->env.expansion + w->env.gmp;
		int sb[3], sr[3];
		int answer;

		if (i % 128 == 0 && rb_should_stop(w->ctx))
			return RB_STOPPED;
		if (is_leaf_pair_known(w, red, blue, pair))
			continue;
		signs_of_sides(w->undecided[i].blue_sides, sb);
		signs_of_sides(w->undecided[i].red_sides, sr);
		answer = rb_faces_pair(
			&w->env, w->job->predicate, ro->coords + (size_t) red->index[pair >> 16] * 9,
			bo->coords + (size_t) blue->index[pair & 0xffff] * 9, common, sb, sr);
		w->exact += w->env.integer + w->env.expansion + w->env.gmp != before;
		if (RB_IS_YES(answer))
			RB_TRY(write_matching_pairs(w, red, blue, &pair, 1, RB_PAYLOAD(answer)));
	}
	return RB_OK;
}

/* Decides pairs one by one, from the filters to the exact sign, for kinds without vector stages. */
static rb_status
decide_leaf_pairs_one_by_one(rb_leaf *w, rb_tile *red, rb_tile *blue, uint32_t n)
{
	const rb_set *ro = w->job->red;
	const rb_set *bo = w->job->blue != NULL ? w->job->blue : ro;
	int rw = rb_kind_width(ro->kind), bw = rb_kind_width(bo->kind);

	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t pair = w->pair[i];
		uint64_t before = w->env.integer + w->env.expansion + w->env.gmp;
		int answer;

		/* The distance of very different numbers takes a millisecond. */
		if (i % 16 == 0 && rb_should_stop(w->ctx))
			return RB_STOPPED;
		if (is_leaf_pair_known(w, red, blue, pair))
			continue;
		answer = rb_pair_decide(&w->env, w->job->predicate, ro->kind, bo->kind,
								ro->coords + (size_t) red->index[pair >> 16] * rw,
								bo->coords + (size_t) blue->index[pair & 0xffff] * bw);
		w->exact += w->env.integer + w->env.expansion + w->env.gmp != before;
		if (RB_IS_YES(answer))
			RB_TRY(write_matching_pairs(w, red, blue, &pair, 1, RB_PAYLOAD(answer)));
	}
	return RB_OK;
}

/* Runs the vector stages for a distance. Undecided pairs stay in w->pair. */
static rb_status
filter_near_candidates(rb_leaf *w, rb_tile *red, rb_tile *blue, uint32_t *n)
{
	const rb_kernel *kernel = w->kernel;
	uint32_t left, nyes;

	left = kernel->sides_near(red->face, blue->face, w->pair, *n, w->sided);
	nyes =
		kernel->intervals_near(red->face, blue->face, w->sided, left, w->yes, w->undecided, &left);
	RB_TRY(write_matching_pairs(w, red, blue, w->yes, nyes, RB_PAYLOAD(RB_WITHIN_OF(1))));
	nyes = kernel->near(red->face, blue->face, w->undecided, &left, w->job->distance, w->yes);
	for (uint32_t i = 0; i < left; i++)
		w->pair[i] = w->undecided[i].pair;
	*n = left;
	return write_matching_pairs(w, red, blue, w->yes, nyes, RB_PAYLOAD(RB_WITHIN_OF(0)));
}

/* Decides the candidates collected so far. */
static rb_status
decide_leaf_candidates(rb_leaf *w, rb_tile *red, rb_tile *blue)
{
	uint32_t n = w->npairs;
	uint32_t nundecided = 0;
	uint32_t dropped = w->dropped;
	uint32_t nyes;
	rb_status status;

	charge_leaf_stage_time(w, RB_STAGE_CANDIDATES);
	w->npairs = w->dropped = 0;
	if (w->compares_rows || w->directions || w->sink->marks != NULL)
	{
		uint32_t k = 0;

		for (uint32_t i = 0; i < n; i++)
		{
			w->pair[k] = w->pair[i];
			k += is_leaf_pair_counted(w, red, blue, w->pair[i]) &&
				 !is_leaf_pair_known(w, red, blue, w->pair[i]);
		}
		n = k;
	}
	w->candidates += n + dropped;
	w->in_float += dropped;
	if (rb_should_stop(w->ctx))
		return RB_STOPPED;
	if (n == 0)
		return RB_OK;

	if (w->boxes)
		return write_matching_pairs(w, red, blue, w->pair, n, 0);
	if (w->small)
	{
		w->in_float += n;
		prepare_float_faces_of_tile(red, w, w->job->red);
		prepare_float_faces_of_tile(blue, w, rb_job_blue(w->job));
		nyes = w->kernel->small_pairs(red->small, blue->small, w->pair, n, w->yes, w->pair, &n);
		status = write_matching_pairs(w, red, blue, w->yes, nyes,
									  rb_payload_of_generic(w->job->predicate));
		charge_leaf_stage_time(w, RB_STAGE_FLOAT);
		if (status != RB_OK || n == 0)
			return status;
	}
	w->in_double += n;
	/* The few remaining pairs do not justify preparing all faces. */
	if (w->small && !(red->has_faces & blue->has_faces) && FACES_FROM * n < red->n + blue->n)
	{
		status = decide_leaf_pairs_one_by_one(w, red, blue, n);
		charge_leaf_stage_time(w, RB_STAGE_EXACT);
		return status;
	}
	if (w->faces || w->part)
	{
		prepare_faces_of_tile(red, w, w->job->red);
		prepare_faces_of_tile(blue, w, rb_job_blue(w->job));
	}
	if (w->part && (w->ctx->filters & RB_FILTER_SIGNS))
		RB_TRY(filter_near_candidates(w, red, blue, &n));
	if (!w->faces || !(w->ctx->filters & RB_FILTER_SIGNS))
	{
		status = decide_leaf_pairs_one_by_one(w, red, blue, n);
		charge_leaf_stage_time(w, RB_STAGE_DOUBLE);
		return status;
	}
	if (w->job->predicate == RB_MEET)
		nyes = w->kernel->touching(red->face, blue->face, w->pair, n, w->sided, w->yes,
								   w->undecided, &nundecided);
	else
	{
		n = w->kernel->sides(red->face, blue->face, w->pair, n, w->sided);
		if (w->job->predicate == RB_SELF_INTERSECT)
			n = w->kernel->neighbours(red->face, blue->face, w->sided, n);
		nyes = w->kernel->intervals(false, red->face, blue->face, w->sided, n, w->yes, w->undecided,
									&nundecided);
	}
	status =
		write_matching_pairs(w, red, blue, w->yes, nyes, rb_payload_of_generic(w->job->predicate));
	charge_leaf_stage_time(w, RB_STAGE_DOUBLE);
	if (status == RB_OK)
		status = decide_undecided_leaf_pairs(w, red, blue, nundecided);
	charge_leaf_stage_time(w, RB_STAGE_EXACT);
	return status;
}

/* ---- candidates of one cell ---- */

/*
 * Rows sorted by where they start along one axis, in BUCKETS steps of a monotone map. For a box,
 * only rows from the first one that reaches its first bucket to the last one that starts in its
 * last bucket need to be tested; no other row can overlap it on that axis.
 */
typedef struct rb_sweep
{
	int axis;
	rb_grid grid;                /* BUCKETS cells along the axis */
	uint32_t start[BUCKETS + 1]; /* first row that starts in a bucket */
	uint32_t reach[BUCKETS];     /* first row that ends in this bucket or later */
} rb_sweep;

/* Returns the bucket of a leaf's fine grid along the sweep axis that contains the coordinate x. */
static inline uint32_t
bucket_of_coordinate(const rb_sweep *sweep, double x)
{
	return rb_grid_cell(&sweep->grid, sweep->axis, x);
}

/* Copies an entry of the tile into row j. */
static void
copy_tile_entry_to_row(rb_box_rows *rows, uint32_t j, const rb_tile *tile, uint32_t entry)
{
	uint32_t local = entry & RB_INDEX_MASK;

	for (int a = 0; a < 3; a++)
	{
		rows->lo[a][j] = tile->lo[local][a];
		rows->hi[a][j] = tile->hi[local][a];
	}
	rows->starts[j] = entry >> RB_INDEX_BITS;
	rows->local[j] = local;
	if (rows->slabs)
	{
		rows->slab_lo[j] = tile->slab_lo[local];
		rows->slab_hi[j] = tile->slab_hi[local];
	}
}

/*
 * Enables the k-DOP test for the rest of the tile. Preparing it costs as much as testing some
 * pairs, of which it then rejects half.
 */
static void
enable_kdop_test(rb_leaf *w, rb_tile *red, rb_tile *blue)
{
	rb_box_rows *rows = &w->rows;

	prepare_kdops_of_tile(red, w, w->job->red);
	prepare_kdops_of_tile(blue, w, rb_job_blue(w->job));
	rows->slabs = true;
	for (uint32_t j = 0; j < rows->n; j++)
	{
		rows->slab_lo[j] = blue->slab_lo[rows->local[j]];
		rows->slab_hi[j] = blue->slab_hi[rows->local[j]];
	}
}

/* Returns the axis on which the objects are shortest relative to the cell. */
static int
find_sweep_axis_of_leaf(const rb_sample *red, const rb_sample *blue, const double width[3])
{
	double share[3];
	int best = 0;

	for (int a = 0; a < 3; a++)
	{
		double sum = 0;

		for (uint32_t i = 0; i < red->n; i++)
			sum += red->extent[a][i];
		for (uint32_t i = 0; i < blue->n; i++)
			sum += blue->extent[a][i];
		share[a] = width[a] > 0 ? sum / width[a] : HUGE_VAL;
		if (share[a] < share[best])
			best = a;
	}
	return best;
}

/* Sorts the parts of a cell into buckets by the lower ends of their boxes. */
static void
sort_parts_of_fine_cell(rb_sweep *sweep, rb_box_rows *rows, const rb_tile *tile,
						const uint32_t *entry, uint32_t n)
{
	uint32_t furthest[BUCKETS]; /* last bucket that a box starting in this bucket reaches */
	uint32_t sum = 0;

	memset(sweep->start, 0, sizeof(sweep->start));
	memset(furthest, 0, sizeof(furthest));
	for (uint32_t j = 0; j < n; j++)
	{
		uint32_t local = entry[j] & RB_INDEX_MASK;
		uint32_t b = bucket_of_coordinate(sweep, tile->lo[local][sweep->axis]);
		uint32_t e = bucket_of_coordinate(sweep, tile->hi[local][sweep->axis]);

		sweep->start[b]++;
		furthest[b] = e > furthest[b] ? e : furthest[b];
	}
	for (int b = 0; b < BUCKETS; b++)
	{
		sum += sweep->start[b];
		sweep->start[b] = sum;
	}
	sweep->start[BUCKETS] = sum;
	for (uint32_t j = n; j-- > 0;)
	{
		uint32_t local = entry[j] & RB_INDEX_MASK;

		copy_tile_entry_to_row(
			rows, --sweep->start[bucket_of_coordinate(sweep, tile->lo[local][sweep->axis])], tile,
			entry[j]);
	}
	for (uint32_t b = 0, from = 0; b < BUCKETS; b++)
	{
		while (from < BUCKETS && furthest[from] < b)
			from++;
		sweep->reach[b] = from < BUCKETS ? sweep->start[from] : n;
	}
}

/* Joins the red entries of a cell with its blue entries, or a list with itself if `same`. */
static rb_status
join_cell_of_fine_grid(rb_leaf *w, rb_tile *red, const uint32_t *re, uint32_t nr, rb_tile *blue,
					   const uint32_t *be, uint32_t nb, bool same, rb_sweep *sweep)
{
	rb_box_rows *rows = &w->rows;
	bool sorted = nb >= SORT_FROM;

	rows->n = nb;
	if (sorted)
		sort_parts_of_fine_cell(sweep, rows, blue, be, nb);
	else
		for (uint32_t j = 0; j < nb; j++)
			copy_tile_entry_to_row(rows, j, blue, be[j]);
	for (uint32_t j = nb; j % 8 != 0; j++)
		rows->lo[0][j] = HUGE_VAL; /* a box that overlaps nothing */

	for (uint32_t i = 0; i < nr; i++)
	{
		const uint32_t local = same ? rows->local[i] : re[i] & RB_INDEX_MASK;
		const uint32_t starts = same ? rows->starts[i] : re[i] >> RB_INDEX_BITS;
		const uint64_t owned = w->boxes_met.owned;
		uint32_t first = 0;
		uint32_t end = nb;
		uint32_t found, left;
		rb_box_row row;

		if (w->red_only && red->known[local])
			continue;
		if (sorted)
		{
			first = sweep->reach[bucket_of_coordinate(sweep, red->lo[local][sweep->axis])];
			end = sweep->start[bucket_of_coordinate(sweep, red->hi[local][sweep->axis]) + 1];
		}
		if (same) /* each unordered pair is tested at the row that comes first */
			first = i + 1;
		if (first >= end)
			continue;
		if (w->slabs && !w->directions && !rows->slabs && w->found > (red->n + blue->n) / 2)
			enable_kdop_test(w, red, blue);
		row = (rb_box_row){red->lo[local], red->hi[local],      starts,
						   local,          red->slab_lo[local], red->slab_hi[local]};
		left = w->kernel->boxes(&row, rows, first, end, w->pair + w->npairs, &w->boxes_met);
		found = (uint32_t) (w->boxes_met.owned - owned);
		w->npairs += left;
		w->dropped += found - left;
		w->found += found;
		w->box_tests += end - first;
		if (w->npairs >= w->round)
			RB_TRY(decide_leaf_candidates(w, red, blue));
	}
	return RB_OK;
}

/* ---- triangles around one corner ---- */

/* Moves the triangles of the star to the front of the list, and returns their number. */
static uint32_t
move_star_to_front(const rb_leaf *w, const rb_star *star, rb_list list, uint32_t *part)
{
	uint32_t first = 0, end = list.n;

	for (uint32_t i = 0; i < list.n; i++)
	{
		const uint32_t index = list.entry[i] & RB_INDEX_MASK;

		if (is_in_star(star, w->job->red->coords + (size_t) index * 9))
			part[first++] = list.entry[i];
		else
			part[--end] = list.entry[i];
	}
	return first;
}

/*
 * Replaces the boxes of the tile by boxes of directions. Faces are prepared before that, since they
 * need the original boxes.
 */
static void
replace_boxes_by_directions(rb_leaf *w, rb_tile *tile, const rb_star *star, double lo[3],
							double hi[3])
{
	const rb_set *o = w->job->red;

	if (w->small)
		prepare_float_faces_of_tile(tile, w, o);
	prepare_faces_of_tile(tile, w, o);
	memcpy(tile->owner, tile->starts, tile->n);
	memset(tile->starts, 7, tile->n);
	for (int a = 0; a < 3; a++)
	{
		lo[a] = HUGE_VAL;
		hi[a] = -HUGE_VAL;
	}
	for (uint32_t i = 0; i < tile->n; i++)
	{
		find_star_box(star, o->coords + (size_t) tile->index[i] * 9, tile->lo[i], tile->hi[i]);
		for (int a = 0; a < 3; a++)
		{
			lo[a] = tile->lo[i][a] < lo[a] ? tile->lo[i][a] : lo[a];
			hi[a] = tile->hi[i][a] > hi[a] ? tile->hi[i][a] : hi[a];
		}
	}
}

static rb_status join_lists_in_leaf(rb_leaf *w, rb_list red, rb_list blue, bool same,
									const double lo[3], const double hi[3], const rb_star *star);

/*
 * Joins triangles around a corner, all of whose boxes overlap, by their directions, and the rest as
 * usual. Returns false if no corner or edge has many triangles.
 */
static bool
join_triangles_of_star(rb_leaf *w, rb_list red, rb_list blue, bool same, const double lo[3],
					   const double hi[3], rb_status *status)
{
	uint32_t *part[2];
	rb_list in[2], out[2];
	rb_star star = {.corners = 0};

	if (w->star_depth == STAR_DEPTH || !find_star(w->job->red, red, blue, &star))
		return false;
	for (int side = 0; side < 2; side++)
	{
		const rb_list list = side == 0 ? red : blue;
		uint32_t n;

		part[side] = same ? w->parted[w->star_depth][0] : w->parted[w->star_depth][side];
		n = side == 1 && same ? in[0].n : move_star_to_front(w, &star, list, part[side]);
		in[side] = (rb_list){part[side], n};
		out[side] = (rb_list){part[side] + n, list.n - n};
	}
	w->star_depth++;
	*status = join_lists_in_leaf(w, in[0], in[1], same, lo, hi, &star);
	if (*status == RB_OK && out[1].n > 0)
		*status = join_lists_in_leaf(w, in[0], out[1], false, lo, hi, NULL);
	if (*status == RB_OK && out[0].n > 0)
	{
		if (same)
			*status = join_lists_in_leaf(w, out[0], out[0], true, lo, hi, NULL);
		else
			*status =
				join_lists_in_leaf(w, out[0], (rb_list){part[1], blue.n}, false, lo, hi, NULL);
	}
	w->star_depth--;
	return true;
}

/*
 * Returns true if the cells of the fine grid are so full that most of their pairs may be a star's.
 */
static bool
is_fine_grid_crowded(const rb_leaf *w, uint32_t cells, bool same)
{
	const uint32_t *red = w->red_grid.start;
	const uint32_t *blue = same ? red : w->blue_grid.start;
	uint64_t tests = 0;

	for (uint32_t c = 0; c < cells; c++)
		tests += (uint64_t) (red[c + 1] - red[c]) * (blue[c + 1] - blue[c]);
	return tests > (uint64_t) STAR_FROM * (w->red.n + (same ? 0 : w->blue.n));
}

/* Joins two lists. `star` is the star that all their triangles belong to, or NULL. */
static rb_status
join_lists_in_leaf(rb_leaf *w, rb_list red, rb_list blue, bool same, const double lo[3],
				   const double hi[3], const rb_star *star)
{
	const rb_plan plan = {20, 0, MAX_CELLS};
	rb_tile *rt = &w->red;
	rb_tile *bt = same ? rt : &w->blue;
	rb_tile_grid *rg = &w->red_grid;
	rb_tile_grid *bg = same ? rg : &w->blue_grid;
	double rlo[3], rhi[3], blo[3], bhi[3], width[3];
	uint32_t n[3] = {1, 1, 1};
	uint32_t cells = 1;
	uint64_t total = 0;
	bool fits;
	rb_grid grid;
	rb_sweep sweep;
	rb_status status = RB_OK;

	w->clock = rb_now_ms();
	w->found = 0;
	w->rows.slabs = false;
	w->directions = false;
	fill_leaf_tile(rt, w, w->job->red, red, rlo, rhi);
	if (same)
	{
		memcpy(blo, rlo, sizeof(blo));
		memcpy(bhi, rhi, sizeof(bhi));
	}
	else
		fill_leaf_tile(bt, w, rb_job_blue(w->job), blue, blo, bhi);

	if (w->sink->marks != NULL)
	{
		init_finished_objects_of_tile(w, rt, w->job->red, RB_OF_RED);
		if (!same)
			init_finished_objects_of_tile(w, bt, rb_job_blue(w->job), RB_OF_BLUE);
	}

	/* The grid covers the region common to both lists within the cell. */
	for (int a = 0; a < 3; a++)
	{
		rlo[a] = rlo[a] > blo[a] ? rlo[a] : blo[a];
		rlo[a] = rlo[a] > lo[a] ? rlo[a] : lo[a];
		rhi[a] = rhi[a] < bhi[a] ? rhi[a] : bhi[a];
		rhi[a] = rhi[a] < hi[a] ? rhi[a] : hi[a];
	}
	if (w->small)
		rb_frame_of_cell(&w->frame, rlo, rhi, n, (const uint32_t[3]){0, 0, 0});
	if (star != NULL)
	{
		w->directions = true;
		replace_boxes_by_directions(w, rt, star, rlo, rhi);
		if (!same)
			replace_boxes_by_directions(w, bt, star, blo, bhi);
		for (int a = 0; a < 3 && !same; a++)
		{
			rlo[a] = rlo[a] > blo[a] ? rlo[a] : blo[a];
			rhi[a] = rhi[a] < bhi[a] ? rhi[a] : bhi[a];
		}
	}
	for (int a = 0; a < 3; a++)
	{
		width[a] = 0.5 * rhi[a] - 0.5 * rlo[a];
		width[a] = width[a] > 0 ? width[a] : 0;
	}
	sweep.axis = 0;
	if ((uint64_t) rt->n * bt->n > SMALL_TESTS)
	{
		rb_sample sample[2];
		const rb_sample *other = same ? sample : sample + 1;

		sample_leaf_tile(rt, &sample[0]);
		if (!same)
			sample_leaf_tile(bt, &sample[1]);
		rb_plan_grid(&plan, sample, rt->n, other, bt->n, width, n);
		sweep.axis = find_sweep_axis_of_leaf(sample, other, width);
	}
	rb_grid_init(&sweep.grid, rlo, rhi, (const uint32_t[3]){BUCKETS, BUCKETS, BUCKETS});
	for (;;)
	{
		rb_grid_init(&grid, rlo, rhi, n);
		cells = grid.n[0] * grid.n[1] * grid.n[2];
		total = count_fine_grid_cells(rg, w->kernel, rt, &grid, cells);
		fits = total <= MAX_INCIDENCES;
		if (!same && fits)
		{
			uint64_t more = count_fine_grid_cells(bg, w->kernel, bt, &grid, cells);

			fits = more <= MAX_INCIDENCES;
			total += more;
		}
		if (fits) /* always true with one cell */
			break;
		for (int a = 0; a < 3; a++) /* the sample was not representative: use a coarser grid */
			n[a] = (grid.n[a] + 1) / 2;
	}
	fill_fine_grid_cells(rg, rt, &grid, cells);
	if (!same)
		fill_fine_grid_cells(bg, bt, &grid, cells);
	w->cells += cells;
	w->incidences += total;
	charge_leaf_stage_time(w, RB_STAGE_GRID);
	if (w->stars && star == NULL && is_fine_grid_crowded(w, cells, same) &&
		join_triangles_of_star(w, red, blue, same, lo, hi, &status))
		return status;

	for (uint32_t c = 0; c < cells && status == RB_OK; c++)
	{
		uint32_t nr = rg->start[c + 1] - rg->start[c];
		uint32_t nb = bg->start[c + 1] - bg->start[c];

		if (nr > 0 && nb > 0)
			status = join_cell_of_fine_grid(w, rt, rg->entry + rg->start[c], nr, bt,
											bg->entry + bg->start[c], nb, same, &sweep);
	}
	if (status == RB_OK)
		status = decide_leaf_candidates(w, rt, bt);
	return status;
}

rb_status
rb_leaf_join(rb_leaf *w, rb_list red, rb_list blue, bool same, const double lo[3],
			 const double hi[3])
{
	return join_lists_in_leaf(w, red, blue, same, lo, hi, NULL);
}
