/*
 * delta_set.c
 *	  Tests delta sets (rb_view): cuts of a cached set and of new rows equal the set built by adding
 *	  the rows one by one.
 */
#include "fixtures.h"
#include "core/base/base.h"
#include "core/set/set.h"

#include <stdlib.h>
#include <string.h>

static rb_memory *memory;

/* Builds a set in which every `every`th row has three parts, and ids increase by `step`. */
static const rb_set *
make_rows(rb_kind kind, uint32_t n, uint32_t every, int64_t first, int64_t step)
{
	return build_rows(memory, &(row_series){kind, 4979, n, every, 3, first, step, 1});
}

/*
 * Finds the first part of a row by bisection, because it is called for each row of large sets:
 * parts ascend by row.
 */
static uint32_t
first_part(const rb_set *set, uint32_t row)
{
	uint32_t part = 0;
	uint32_t end = set->nparts;

	if (set->row_of == NULL)
		return row;
	while (part < end)
	{
		uint32_t mid = part + (end - part) / 2;

		if (set->row_of[mid] < row)
			part = mid + 1;
		else
			end = mid;
	}
	return part;
}

static int64_t
id_of(const rb_set *set, uint32_t row)
{
	return set->ids != NULL ? set->ids[row] : set->first_id + row;
}

/* Appends rows of a source as the next cut, and adds them one by one to the builder. */
static void
cut(rb_cut *cuts, uint32_t *n, const rb_set *from, bool fresh, uint32_t row, uint32_t rows,
	rb_builder *b)
{
	rb_error error;
	rb_cut *c = &cuts[*n];
	const size_t width = (size_t) rb_kind_width(from->kind);
	uint32_t part = first_part(from, row);

	if (rows == 0)
		return;
	c->fresh = fresh;
	c->from_row = row;
	c->from_part = part;
	c[1].row = c->row + rows;
	for (uint32_t i = row; i < row + rows; i++)
	{
		uint32_t end = first_part(from, i + 1);

		CHECK(rb_builder_reserve(b, end - part, &error) == RB_OK, "reserve");
		memcpy(b->coords + b->nparts * width, from->coords + part * width,
			   (end - part) * width * sizeof(double));
		b->nparts += end - part;
		part = end;
		CHECK(rb_builder_end_row(b, id_of(from, i), &error) == RB_OK, "end of row");
	}
	c[1].part = c->part + part - c->from_part;
	(*n)++;
}

static void
same(const rb_set *view, const rb_set *set, int threads)
{
	const size_t width = (size_t) rb_kind_width(set->kind);
	rb_context ctx;

	rb_context_init(&ctx, memory);
	ctx.threads = threads;
	CHECK(view->nrows == set->nrows && view->nparts == set->nparts && view->srid == 4979,
		  "%u rows, %u parts", view->nrows, view->nparts);
	for (uint32_t i = 0; i < view->nrows; i++)
		CHECK(rb_view_id(view->view, i) == id_of(set, i), "id of row %u", i);
	CHECK(view->coords == NULL || view->nparts == 0, "not put together before it is asked for");
	for (uint32_t i = 0; i < view->nparts; i++)
	{
		uint32_t part = i;
		const rb_set *from = rb_view_part(view, &part);

		CHECK(memcmp(from->coords + part * width, set->coords + i * width,
					 width * sizeof(double)) == 0,
			  "where part %u is", i);
	}
	CHECK(rb_set_materialize(&ctx, view) == RB_OK && rb_set_materialize_ids(&ctx, view) == RB_OK,
		  "put together");
	CHECK(rb_set_materialize(&ctx, view) == RB_OK && rb_set_materialize_ids(&ctx, view) == RB_OK,
		  "again");
	CHECK(memcmp(view->coords, set->coords, set->nparts * width * sizeof(double)) == 0,
		  "coordinates");
	CHECK((view->ids == NULL) == (set->ids == NULL) || set->nrows == 0, "counted up or not");
	for (uint32_t i = 0; i < view->nrows; i++)
		CHECK(id_of(view, i) == id_of(set, i), "id of row %u", i);
	CHECK(set->row_of == NULL || view->row_of != NULL, "rows of parts");
	for (uint32_t i = 0; i < view->nparts && view->row_of != NULL; i++)
		CHECK(view->row_of[i] == (set->row_of != NULL ? set->row_of[i] : i), "row of part %u", i);
}

static void
count_ids(const rb_set *view, const rb_set *set)
{
	rb_error error;
	uint32_t counted = 0, distinct = 0;
	bool known;
	int64_t *ids = malloc((set->nrows + 1) * sizeof *ids);

	for (uint32_t i = 0; i < set->nrows; i++)
		ids[i] = id_of(set, i);
	CHECK(rb_ids_number(memory, ids, set->nrows, NULL, NULL, &distinct, &error) == RB_OK, "count");
	CHECK(rb_view_count_ids(memory, view, &known, &counted, &error) == RB_OK && known &&
			  counted == distinct,
		  "%u different ids, not %u", counted, distinct);
	free(ids);
}

/* Tests a remote cached set, which has only counts and consecutive ids. */
static void
elsewhere(const rb_view *what, const rb_set *set)
{
	const rb_set *kept = what->kept;
	const rb_set counts = {.kind = kept->kind,
						   .nparts = kept->nparts,
						   .nrows = kept->nrows,
						   .first_id = kept->first_id,
						   .srid = kept->srid,
						   .composed_ids = kept->ids == NULL,
						   .elsewhere = true,
						   .number = 7};
	const rb_view there = {&counts, what->fresh, what->cuts, what->ncuts, false};
	const uint64_t before = rb_memory_used(memory);
	const rb_set *view;
	rb_error error;

	CHECK(rb_view_make(memory, &there, 5, &view, &error) == RB_OK, "a view");
	CHECK(view->elsewhere && view->number == 0 && view->view->kept->number == 7, "elsewhere");
	CHECK(view->nrows == set->nrows && view->nparts == set->nparts && view->srid == 4979 &&
			  view->skipped == 5,
		  "%u rows, %u parts", view->nrows, view->nparts);
	CHECK(view->coords == NULL && view->row_of == NULL && view->ids == NULL, "no arrays");
	if (view->composed_ids)
		for (uint32_t i = 0; i < view->nrows; i++)
			CHECK(view->first_id + i == id_of(set, i), "id of row %u", i);
	else
		CHECK(set->ids != NULL || kept->ids != NULL, "ids that count up are known");
	rb_set_release(&view);
	CHECK(rb_memory_used(memory) == before, "gone");
}

/*
 * Tests cached rows [0, a), some new rows, cached rows [b, c), the other new rows, and cached rows
 * [d, end).
 */
static void
one(const rb_set *kept, const rb_set *fresh, const uint32_t at[4], uint32_t split, int threads)
{
	rb_cut cuts[8];
	rb_view what = {kept, fresh, cuts, 0, false};
	const rb_set *view, *set;
	rb_builder b;
	rb_error error;

	memset(cuts, 0, sizeof cuts);
	rb_builder_init(&b, memory, kept->kind);
	cut(cuts, &what.ncuts, kept, false, 0, at[0], &b);
	cut(cuts, &what.ncuts, fresh, true, 0, split, &b);
	cut(cuts, &what.ncuts, kept, false, at[1], at[2] - at[1], &b);
	cut(cuts, &what.ncuts, fresh, true, split, fresh->nrows - split, &b);
	cut(cuts, &what.ncuts, kept, false, at[3], kept->nrows - at[3], &b);
	b.srid = 4979;
	CHECK(rb_builder_finish(&b, &set, &error) == RB_OK, "finish");
	CHECK(rb_view_make(memory, &what, 5, &view, &error) == RB_OK, "a view");
	CHECK(view->skipped == 5, "rows without a part");
	if (rb_set_ids_ascend(kept))
		count_ids(view, set);
	elsewhere(&what, set);
	same(view, set, threads);
	rb_set_release(&view);
	rb_set_release(&set);
}

static void
cuts_everywhere(void)
{
	static const uint32_t every[][2] = {{0, 0}, {3, 0}, {0, 2}, {3, 1}};

	for (int e = 0; e < 4; e++)
		for (int64_t step = -1; step < 3; step++)
		{
			const rb_set *kept = make_rows(RB_SEGMENT3, 24, every[e][0], 100, step);
			const rb_set *fresh[3] = {make_rows(RB_SEGMENT3, 0, 0, 0, 1),
									  make_rows(RB_SEGMENT3, 9, every[e][1], 110, 1),
									  make_rows(RB_SEGMENT3, 6, every[e][1], 124, 1)};

			for (uint32_t a = 0; a <= 24; a += 4)
				for (uint32_t b = a; b <= 24; b += 5)
					for (uint32_t c = b; c <= 24; c += 7)
						for (int f = 0; f < 3; f++)
						{
							const uint32_t at[4] = {a, b, c, c + (24 - c) / 2};

							one(kept, fresh[f], at, fresh[f]->nrows / 3, f + 1);
							one(kept, fresh[f], at, 0, 1);
						}
			for (int f = 0; f < 3; f++)
				rb_set_release(&fresh[f]);
			rb_set_release(&kept);
		}
	CHECK(rb_memory_used(memory) == 0, "memory left");
}

/* Tests sets so large that several threads copy. */
static void
many_threads(void)
{
	const rb_set *kept = make_rows(RB_BOX2, 200000, 7, 0, 1);
	const rb_set *fresh = make_rows(RB_BOX2, 90000, 5, 500000, 3);
	const uint32_t at[4] = {70000, 80001, 120000, 120003};

	one(kept, fresh, at, 45000, 4);
	rb_set_release(&kept);
	rb_set_release(&fresh);
	CHECK(rb_memory_used(memory) == 0, "memory left");
}

/* Tests that coordinates count as memory before they exist, and only once. */
static void
budget(void)
{
	const rb_set *kept = make_rows(RB_TRIANGLE3, 20000, 0, 0, 1);
	const rb_set *fresh = make_rows(RB_TRIANGLE3, 1, 0, 7, 1);
	rb_cut cuts[3] = {{0, 0, 0, 0, false}, {19999, 19999, 0, 0, true}, {20000, 20000, 0, 0, false}};
	rb_view what = {kept, fresh, cuts, 2, false};
	const uint64_t before = rb_memory_used(memory);
	const uint64_t bytes = 20000 * 72;
	const rb_set *view;
	rb_context ctx;
	rb_error error;

	CHECK(rb_view_make(memory, &what, 0, &view, &error) == RB_OK, "a view");
	CHECK(rb_memory_used(memory) >= before + bytes &&
			  rb_memory_used(memory) < before + bytes + 4096,
		  "counted");
	rb_memory_set_limit(memory, before);
	rb_context_init(&ctx, memory);
	CHECK(rb_set_materialize(&ctx, view) == RB_OVER_BUDGET && view->coords == NULL, "no room");
	rb_memory_set_limit(memory, before + bytes - 100);
	rb_set_release(&view);
	CHECK(rb_memory_used(memory) == before, "gone");
	CHECK(rb_view_make(memory, &what, 0, &view, &error) == RB_OVER_BUDGET && view == NULL,
		  "no room for a view");
	CHECK(rb_memory_used(memory) == before, "as it was");
	rb_memory_set_limit(memory, (uint64_t) 1 << 30);
	rb_set_release(&kept);
	rb_set_release(&fresh);
	CHECK(rb_memory_used(memory) == 0, "memory left");
}

/* Tests that a delta set that is cached itself no longer needs the sets it was made of. */
static void
kept_itself(void)
{
	const rb_set *kept = make_rows(RB_TRIANGLE3, 2000, 0, 0, 1);
	const rb_set *fresh = make_rows(RB_TRIANGLE3, 1, 0, 7, 1);
	const double kept_at_1 = kept->coords[9];
	rb_cut cuts[3] = {{0, 0, 0, 0, false}, {1999, 1999, 0, 0, true}, {2000, 2000, 0, 0, false}};
	rb_view what = {kept, fresh, cuts, 2, false};
	rb_cache *cache = rb_cache_create((uint64_t) 1 << 20);
	const rb_set *view;
	rb_context ctx;
	rb_error error;

	CHECK(rb_view_make(memory, &what, 0, &view, &error) == RB_OK, "a view");
	rb_set_release(&kept);
	rb_set_release(&fresh);
	rb_context_init(&ctx, memory);
	CHECK(rb_set_materialize(&ctx, view) == RB_OK && rb_set_materialize_ids(&ctx, view) == RB_OK,
		  "put together");
	CHECK(rb_cache_put(cache, "k", 1, view, "c", 1, &error) == RB_OK, "put");
	CHECK(rb_memory_used(memory) == 0 && view->view == NULL && view->number > 0, "moved");
	CHECK(view->ids[1999] == 7 && view->ids[3] == 3 && view->coords[9] == kept_at_1, "its rows");
	rb_set_release(&view);
	rb_cache_destroy(cache);
}

/*
 * Tests caching a delta set in place of the set it was made of, which only it still holds and which
 * must be evicted for it.
 */
static void
kept_instead(void)
{
	const rb_set *kept = make_rows(RB_TRIANGLE3, 2000, 0, 0, 1);
	const rb_set *fresh = make_rows(RB_TRIANGLE3, 1, 0, 7, 1);
	rb_cut cuts[3] = {{0, 0, 0, 0, false}, {1999, 1999, 0, 0, true}, {2000, 2000, 0, 0, false}};
	rb_cache *cache = rb_cache_create((uint64_t) 1 << 18); /* Room for one of them */
	const rb_set *held;
	const rb_set *view;
	rb_context ctx;
	rb_error error;

	CHECK(rb_cache_put(cache, "k", 1, kept, "c", 1, &error) == RB_OK, "put");
	{
		rb_view what = {kept, fresh, cuts, 2, false};

		CHECK(rb_view_make(memory, &what, 0, &view, &error) == RB_OK, "a view");
	}
	held = kept;
	rb_set_release(&fresh);
	rb_context_init(&ctx, memory);
	CHECK(rb_set_materialize(&ctx, view) == RB_OK && rb_set_materialize_ids(&ctx, view) == RB_OK,
		  "put together");
	CHECK(rb_cache_put(cache, "k", 1, view, "d", 1, &error) == RB_OVER_BUDGET, "another holds it");
	CHECK(rb_cache_find(cache, "k", 1) != NULL && rb_cache_find(cache, "k", 1)->set == kept &&
			  view->view != NULL,
		  "as it was");
	rb_set_release(&held);
	CHECK(rb_cache_put(cache, "k", 1, view, "d", 1, &error) == RB_OK, "there is room");
	CHECK(rb_cache_find(cache, "k", 1)->set == view && view->view == NULL, "instead");
	rb_set_release(&view);
	rb_cache_destroy(cache);
	CHECK(rb_memory_used(memory) == 0, "memory left");
}

/* Tests that a join of a delta set is that of the same rows. */
static void
joined(void)
{
	const rb_set *kept = make_rows(RB_BOX2, 300, 4, 0, 1);
	const rb_set *fresh = make_rows(RB_BOX2, 20, 3, 100, 1);
	rb_cut cuts[3] = {{0, 0, 0, 0, false}, {100, 0, 0, 0, true}, {120, 0, 0, 0, false}};
	rb_view what = {kept, fresh, cuts, 2, false};
	const rb_set *view;
	rb_error error;
	int64_t sum[2] = {0, 0};
	size_t n[2] = {0, 0};

	cuts[1].part = first_part(kept, 100);
	cuts[2].part = cuts[1].part + fresh->nparts;
	CHECK(rb_view_make(memory, &what, 0, &view, &error) == RB_OK, "a view");
	for (int k = 0; k < 2; k++)
	{
		rb_job job = {.red = view};
		rb_context ctx;
		rb_stream *stream;
		rb_block block;
		rb_status status;

		rb_context_init(&ctx, memory);
		CHECK(rb_stream_open(&ctx, &rb_backend_cpu, &job, &stream) == RB_OK, "open");
		while ((status = rb_stream_next(stream, 10, &block)) == RB_OK)
			for (size_t i = 0; i < block.n; i++)
			{
				n[k]++;
				sum[k] += block.red[i] * 1000 + block.blue[i];
			}
		CHECK(status == RB_END, "end");
		rb_stream_close(stream);
	}
	CHECK(n[0] > 100 && n[0] == n[1] && sum[0] == sum[1], "%zu and %zu pairs", n[0], n[1]);
	rb_set_release(&view);
	rb_set_release(&kept);
	rb_set_release(&fresh);
	CHECK(rb_memory_used(memory) == 0, "memory left");
}

int
main(void)
{
	memory = rb_memory_create((uint64_t) 1 << 30);
	CHECK_RUN(cuts_everywhere);
	CHECK_RUN(many_threads);
	CHECK_RUN(budget);
	CHECK_RUN(kept_itself);
	CHECK_RUN(kept_instead);
	CHECK_RUN(joined);
	rb_memory_destroy(memory);
	rb_memory_trim(0);
	return check_done();
}
