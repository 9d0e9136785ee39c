/*
 * delta_set.c
 *	  Builds a set from ranges ("cuts") of two other sets: cached rows, and new rows that replace
 *	  changed ones.
 *
 *        cached  |aaaaaaa|bbb|ccccccccccc|           new     |BB|dddd|
 *        delta   |aaaaaaa| BB|ccccccccccc|dddd|
 *
 * If one row of a table of millions has changed, materializing the coordinates costs as much as
 * copying them all, and a device that has a copy of the cached coordinates materializes them many
 * times faster. A delta set therefore has neither coordinates nor ids until they are needed: the
 * CPU backend materializes the coordinates before it joins, and the output of pairs needs the ids.
 * In every other respect a delta set is an ordinary set.
 *
 * A delta set belongs to one call, which may join it on several devices at once. A lock ensures
 * that one thread materializes its coordinates while others wait.
 */
#include "core/base/parallel.h"
#include "core/base/sort.h"
#include "core/set/set.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

/* Maximum number of steps of counting ids, which take a few milliseconds */
#define RB_MAX_COUNT_STEPS ((uint64_t) 1 << 22)
#define RB_GRAIN RB_SIZE((uint64_t) 1 << 15, 8) /* parts or rows that a thread copies at a time */

typedef struct cut_search
{
	const rb_cut *cuts;
	uint64_t at;
	bool rows; /* true to search for a row, false for a part */
} cut_search;

/*
 * Returns true if a cut of the delta set begins at or before the sought row or part, for a binary
 * search.
 */
static bool
does_cut_begin_at_or_before(size_t cut, const void *arg)
{
	const cut_search *s = arg;

	return (s->rows ? s->cuts[cut].row : s->cuts[cut].part) <= s->at;
}

/* Returns the number of the cut that contains a row or part. */
static uint32_t
find_cut_of_row_or_part(const rb_view *view, uint64_t at, bool rows)
{
	const cut_search search = {view->cuts, at, rows};

	return (uint32_t) rb_lower_bound(1, view->ncuts, does_cut_begin_at_or_before, &search) - 1;
}

/* Returns the set from which a cut comes: the new rows or the cached set. */
static inline const rb_set *
source_set_of_cut(const rb_view *view, const rb_cut *cut)
{
	return cut->fresh ? view->fresh : view->kept;
}

/*
 * Returns true if the ids are consecutive over all cuts, starting with `first`. The delta set needs
 * no array of ids then.
 */
static bool
are_cut_ids_consecutive(const rb_view *view, int64_t first)
{
	uint64_t wrong = 0;

	for (uint32_t c = 0; c < view->ncuts; c++)
	{
		const rb_cut *cut = &view->cuts[c];
		const rb_set *from = source_set_of_cut(view, cut);
		const uint32_t rows = cut[1].row - cut->row;

		if (rows == 0)
			continue;
		if (from->elsewhere && !from->composed_ids)
			return false;
		if (from->ids == NULL)
			wrong |= (uint64_t) from->first_id + cut->from_row - (uint64_t) first - cut->row;
		else
			for (uint32_t i = 0; i < rows; i++)
				wrong |= (uint64_t) from->ids[cut->from_row + i] - (uint64_t) first - cut->row - i;
		if (wrong != 0)
			return false;
	}
	return true;
}

int64_t
rb_view_id(const rb_view *view, uint32_t row)
{
	const rb_cut *cut = &view->cuts[find_cut_of_row_or_part(view, row, true)];
	const rb_set *from = source_set_of_cut(view, cut);
	const uint32_t at = cut->from_row + (row - cut->row);

	return from->ids != NULL ? from->ids[at] : (int64_t) ((uint64_t) from->first_id + at);
}

const rb_set *
rb_view_part(const rb_set *set, uint32_t *part)
{
	const rb_cut *cut = &set->view->cuts[find_cut_of_row_or_part(set->view, *part, false)];

	*part = cut->from_part + (*part - cut->part);
	return source_set_of_cut(set->view, cut);
}

/* Returns the first id of a delta set, or 0 if it is not known. */
static int64_t
first_id_of_cut(const rb_view *view)
{
	const rb_set *from = view->ncuts > 0 ? source_set_of_cut(view, &view->cuts[0]) : NULL;

	return from == NULL || (from->elsewhere && !from->composed_ids) ? 0 : rb_view_id(view, 0);
}

/*
 * Fills in the row of each part. This array is not deferred: it is used in many places, and most
 * sets have none.
 */
static void
fill_rows_of_delta_parts(const rb_view *view, uint32_t *to)
{
	for (uint32_t c = 0; c < view->ncuts; c++)
	{
		const rb_cut *cut = &view->cuts[c];
		const rb_set *from = source_set_of_cut(view, cut);

		for (uint32_t i = 0; i < cut[1].part - cut->part; i++)
		{
			const uint32_t part = cut->from_part + i;

			to[cut->part + i] =
				(from->row_of != NULL ? from->row_of[part] : part) - cut->from_row + cut->row;
		}
	}
}

/*
 * Makes the set of a view. Its coordinates are charged although they are not materialized, so that
 * the memory a join may use does not depend on who materializes them.
 */
rb_status
rb_view_make(rb_memory *memory, const rb_view *view, uint64_t skipped, const rb_set **set,
			 rb_error *error)
{
	const rb_cut *end = &view->cuts[view->ncuts];
	rb_set s = *view->kept;
	rb_view *own = NULL;
	uint32_t *row_of = NULL;
	rb_status status;

	*set = NULL;
	if (view->kept->kind != view->fresh->kind)
	{
		*error = (rb_error){RB_UNSUPPORTED, 0, 0, ""};
		return RB_UNSUPPORTED;
	}
	s.nrows = end->row;
	s.nparts = end->part;
	s.skipped = skipped;
	s.coords = NULL;
	s.row_of = NULL;
	s.ids = NULL;
	s.number = 0;
	s.owner = NULL;
	s.composed_ids = false;
	status =
		rb_resize(memory, (void **) &own, sizeof *own + (view->ncuts + 1) * sizeof(rb_cut), error);
	if (status == RB_OK && !view->kept->elsewhere &&
		(view->kept->row_of != NULL || view->fresh->row_of != NULL))
		status = rb_resize(memory, (void **) &row_of, s.nparts * sizeof *row_of, error);
	if (status == RB_OK)
		status = rb_memory_charge(memory, rb_coords_bytes(&s), error);
	if (status == RB_OK)
	{
		*own = *view;
		own->counted = true;
		own->cuts = (rb_cut *) (own + 1);
		memcpy((rb_cut *) (own + 1), view->cuts, (view->ncuts + 1) * sizeof(rb_cut));
		if (row_of != NULL)
			fill_rows_of_delta_parts(view, row_of);
		s.row_of = row_of;
		s.view = own;
		s.first_id = first_id_of_cut(view);
		s.composed_ids = are_cut_ids_consecutive(view, s.first_id);
		status = rb_set_own(memory, &s, set, error);
		if (status != RB_OK)
			rb_memory_refund(memory, rb_coords_bytes(&s));
	}
	if (status != RB_OK)
	{
		RB_FREE(memory, row_of);
		RB_FREE(memory, own);
		return status;
	}
	rb_set_hold(view->kept);
	rb_set_hold(view->fresh);
	return RB_OK;
}

/* ---- materialization ---- */

typedef struct composition
{
	const rb_set *set;
	double *coords;
	int64_t *ids;
} composition;

/* Copies the coordinates of a range of parts from their sources. */
static void
copy_cut_coords_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const composition *c = arg;
	const rb_view *view = c->set->view;
	const size_t width = (size_t) rb_kind_width(c->set->kind);
	uint32_t k = find_cut_of_row_or_part(view, from, false);

	(void) me;
	while (from < to)
	{
		const rb_cut *cut = &view->cuts[k++];
		const uint64_t n = (cut[1].part < to ? cut[1].part : to) - from;

		if (cut[1].part <= from)
			continue;
		memcpy(c->coords + from * width,
			   source_set_of_cut(view, cut)->coords + (cut->from_part + (from - cut->part)) * width,
			   n * width * sizeof(double));
		from += n;
	}
}

/* Copies the ids of a range of rows from their sources. */
static void
copy_cut_ids_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const composition *c = arg;
	const rb_view *view = c->set->view;
	uint32_t k = find_cut_of_row_or_part(view, from, true);

	(void) me;
	while (from < to)
	{
		const rb_cut *cut = &view->cuts[k++];
		const rb_set *source = source_set_of_cut(view, cut);
		const uint64_t n = (cut[1].row < to ? cut[1].row : to) - from;
		const uint64_t at = cut->from_row + (from - cut->row);

		if (cut[1].row <= from)
			continue;
		if (source->ids != NULL)
			memcpy(c->ids + from, source->ids + at, n * sizeof *c->ids);
		else
			for (uint64_t i = 0; i < n; i++)
				c->ids[from + i] = (int64_t) ((uint64_t) source->first_id + at + i);
		from += n;
	}
}

/* Allocates an array of n elements and fills it on all threads. */
static rb_status
materialize_delta_array(rb_context *ctx, rb_memory *memory, void **array, uint64_t n,
						size_t element, rb_work work, composition *c)
{
	rb_error error;
	rb_status status = rb_resize(memory, array, n * element, &error);

	if (status != RB_OK)
		return rb_fail(ctx, error.status, error.need, error.limit, NULL);
	c->coords = *array;
	c->ids = *array;
	status = rb_team_loop(
		ctx, n / RB_GRAIN < (uint64_t) ctx->threads ? (int) (n / RB_GRAIN) + 1 : ctx->threads, n,
		RB_GRAIN, work, c);
	if (status != RB_OK)
		rb_free(memory, array);
	return status;
}

/* Allocates and fills the coordinates of a delta set. */
static rb_status
materialize_delta_coords(rb_context *ctx, const rb_set *set)
{
	composition c = {set, NULL, NULL};
	void *coords = NULL;

	if (set->coords != NULL)
		return RB_OK;
	rb_view_uncount(rb_set_memory(set), set);
	RB_TRY(materialize_delta_array(ctx, rb_set_memory(set), &coords, set->nparts,
								   (size_t) rb_kind_width(set->kind) * sizeof(double),
								   copy_cut_coords_piece, &c));
	rb_set_writable(set)->coords = coords;
	return RB_OK;
}

rb_status
rb_set_materialize(rb_context *ctx, const rb_set *set)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	const struct timespec nap = {0, 1000000};
	rb_status status;

	if (set->view == NULL)
		return RB_OK;
	while (pthread_mutex_trylock(&lock) != 0)
	{
		if (rb_should_stop(ctx))
			return RB_STOPPED;
		nanosleep(&nap, NULL);
	}
	status = materialize_delta_coords(ctx, set);
	pthread_mutex_unlock(&lock);
	return status;
}

rb_status
rb_set_materialize_ids(rb_context *ctx, const rb_set *set)
{
	composition c = {set, NULL, NULL};
	void *ids = NULL;

	if (set->view == NULL || set->composed_ids)
		return RB_OK;
	RB_TRY(materialize_delta_array(ctx, rb_set_memory(set), &ids, set->nrows, sizeof(int64_t),
								   copy_cut_ids_piece, &c));
	rb_set_writable(set)->ids = ids;
	rb_set_writable(set)->composed_ids = true;
	return RB_OK;
}

/* ---- distinct ids ---- */

/*
 * Returns the id of a row of the cached set or of the new rows, whether ids are stored or
 * consecutive.
 */
static inline int64_t
id_of_delta_source_row(const rb_set *set, uint32_t row)
{
	return set->ids != NULL ? set->ids[row] : (int64_t) ((uint64_t) set->first_id + row);
}

typedef struct id_search
{
	const rb_set *set;
	int64_t id;
} id_search;

/* Returns true if the row's id is less than the sought one, for a binary search. */
static bool
is_id_of_delta_source_smaller(size_t row, const void *arg)
{
	const id_search *s = arg;

	return id_of_delta_source_row(s->set, (uint32_t) row) < s->id;
}

/*
 * Returns true if a row with this id is in the cuts that a delta set takes from its cached set,
 * whose ids ascend.
 */
static bool
is_id_in_cached_rows(const rb_view *view, int64_t id)
{
	const rb_set *kept = view->kept;
	const id_search search = {kept, id};
	const uint32_t low =
		(uint32_t) rb_lower_bound(0, kept->nrows, is_id_of_delta_source_smaller, &search);

	if (low == kept->nrows || id_of_delta_source_row(kept, low) != id)
		return false;
	for (uint32_t c = 0; c < view->ncuts; c++)
	{
		const rb_cut *cut = &view->cuts[c];

		if (!cut->fresh && cut->from_row <= low && low - cut->from_row < cut[1].row - cut->row)
			return true;
	}
	return false;
}

bool
rb_set_ids_ascend(const rb_set *set)
{
	if (set->ids == NULL) /* consecutive ids ascend unless they wrap around */
		return set->nrows == 0 || set->first_id <= INT64_MAX - (int64_t) set->nrows;
	for (uint32_t i = 1; i < set->nrows; i++)
		if (set->ids[i] <= set->ids[i - 1])
			return false;
	return true;
}

rb_status
rb_view_count_ids(rb_memory *memory, const rb_set *set, bool *known, uint32_t *distinct,
				  rb_error *error)
{
	const rb_view *view = set->view;
	const uint32_t n = view->fresh->nrows;
	int64_t *ids = NULL;

	*known = (uint64_t) n * view->ncuts <= RB_MAX_COUNT_STEPS;
	if (!*known)
		return RB_OK;
	RB_TRY(rb_resize(memory, (void **) &ids, (n + 1) * sizeof *ids, error));
	for (uint32_t i = 0; i < n; i++)
		ids[i] = id_of_delta_source_row(view->fresh, i);
	(void) rb_sort_ids(NULL, ids, n);
	*distinct = set->nrows - n;
	for (uint32_t i = 0; i < n; i++)
		if ((i == 0 || ids[i] != ids[i - 1]) && !is_id_in_cached_rows(view, ids[i]))
			(*distinct)++;
	RB_FREE(memory, ids);
	return RB_OK;
}
