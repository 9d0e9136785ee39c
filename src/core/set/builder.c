/*
 * builder.c
 *	  Collects rows into growing arrays and builds a set, one side of a join, from them.
 *
 *        coords   |part 0|part 1|part 2|part 3|...      width doubles each
 *        row_of   |  0   |  1   |  1   |  2   |...      only once a row has two parts
 *        ids      |row 0 |row 1 |row 2 |...             the user's id of the row
 *        face_of  |  0   |  1   |  1   |  3   |...      if wanted, once a face has two parts
 *
 * Most tables have one part per row, so row_of is not allocated until the first row with several
 * parts ends. It is then initialized for the earlier rows, where part i is row i.
 *
 * While rows are added, a face is numbered by its first part, and this number remains valid when
 * rows are grouped. Numbers are written up to `faced`; every later part is a face of its own.
 * rb_builder_finish renumbers the faces from 0 in each row, where the parts of a face are adjacent.
 *
 * Invariant between two calls: coords has room for coords_cap parts, of which nparts are filled,
 * and the parts in [0, row_start) belong to ended rows. A caller that finds a fault in a row
 * removes its parts by resetting nparts to row_start (or to its previous value) and lowering faced
 * accordingly.
 */
#include "core/base/base.h"
#include "core/base/bucket.h"
#include "core/set/set.h"
#include "core/primitive/reference_point.h"
#include "core/base/sort.h"

#include <string.h>

/* ---- rows with the same id ---- */

/*
 * Merges rows that have the same id into one row, for example the faces of a building.
 *
 *        rows        17: A B | 4: C | 17: D | 9: E
 *        objects     17: A B D | 4: C | 9: E
 *
 * In a join, parts belong to rows, so an object is a row with several parts, and only the builder
 * distinguishes objects from rows. The parts of a row must be adjacent. If they are not, a counting
 * sort by object moves them, which keeps their order within each object.
 */

/* Number of parts moved between two calls of should_stop: a few milliseconds */
#define RB_CHECK_INTERVAL_PARTS ((uint32_t) 1 << 16)

typedef struct grouping
{
	rb_builder *b;
	uint32_t *number; /* object of each row */
	uint32_t nobjects;
	uint32_t *next;    /* position of the next part of each object */
	uint32_t *row_of;  /* object of each part, ascending */
	double *coords;    /* parts sorted by object, or NULL if they are already in order */
	uint32_t *face_of; /* faces of the moved parts, or NULL if there are none */
} grouping;

/*
 * Returns the number of the object, the distinct value in the object column, to which the part's
 * row belongs.
 */
static inline uint32_t
object_of_grouped_part(const grouping *g, uint32_t part)
{
	return g->number[g->b->multi ? g->b->row_of[part] : part];
}

/*
 * Counts the parts of each object, computes the position of its first part, and returns true if the
 * parts are already in order.
 */
static bool
find_first_parts_of_objects(grouping *g)
{
	uint32_t last = 0;
	bool in_order = true;

	memset(g->next, 0, (size_t) g->nobjects * sizeof *g->next);
	for (uint32_t i = 0; i < g->b->nparts; i++)
	{
		uint32_t object = object_of_grouped_part(g, i);

		g->next[object]++;
		in_order &= object >= last;
		last = object;
	}
	rb_counts_to_starts(g->next, g->nobjects);
	return in_order;
}

/* Moves each part to its position within its object. */
static rb_status
move_parts_to_objects(grouping *g)
{
	size_t width = (size_t) g->b->width;

	for (uint32_t i = 0; i < g->b->nparts; i++)
	{
		uint32_t object = object_of_grouped_part(g, i);
		uint32_t to = g->next[object]++;

		g->row_of[to] = object;
		if (g->coords != NULL)
			memcpy(g->coords + to * width, g->b->coords + i * width, width * sizeof(double));
		if (g->face_of != NULL)
			g->face_of[to] = i < g->b->faced ? g->b->face_of[i] : i;
		if (i % RB_CHECK_INTERVAL_PARTS == RB_CHECK_INTERVAL_PARTS - 1 &&
			g->b->should_stop != NULL && g->b->should_stop())
			return RB_STOPPED;
	}
	return RB_OK;
}

/* Gives each object the id of its first row and the face count of all its rows. */
static void
keep_first_ids_of_objects(grouping *g)
{
	uint32_t *faces = g->b->count_faces ? g->b->faces : NULL;
	uint32_t k = 0;

	for (uint32_t row = 0; row < g->b->nrows; row++)
	{
		const uint32_t object = g->number[row];

		if (faces != NULL)
			faces[object] = faces[row] + (object < k ? faces[object] : 0);
		if (object == k)
			g->b->ids[k++] = g->b->ids[row];
	}
	g->b->nrows = k;
}

/* Replaces an array of the builder by the one that grouping has made, and frees the old one. */
static void
replace_builder_array(rb_memory *memory, void **old, void **made)
{
	rb_free(memory, old);
	*old = *made;
	*made = NULL;
}

/* Groups the parts of each object, so that they are consecutive. */
static rb_status
group_parts_of_objects(grouping *g, rb_error *error)
{
	rb_builder *b = g->b;
	rb_memory *memory = b->memory;

	RB_TRY(rb_resize(memory, (void **) &g->next, g->nobjects * sizeof *g->next, error));
	RB_TRY(rb_resize(memory, (void **) &g->row_of, (size_t) b->nparts * sizeof *g->row_of, error));
	if (!find_first_parts_of_objects(g))
		RB_TRY(rb_resize(memory, (void **) &g->coords,
						 (size_t) b->nparts * (size_t) b->width * sizeof(double), error));
	if (g->coords != NULL && b->faced > 0)
		RB_TRY(rb_resize(memory, (void **) &g->face_of, (size_t) b->nparts * sizeof *g->face_of,
						 error));
	RB_TRY(move_parts_to_objects(g));
	keep_first_ids_of_objects(g);
	replace_builder_array(memory, (void **) &b->row_of, (void **) &g->row_of);
	b->row_of_cap = b->nparts;
	b->multi = true;
	if (g->coords != NULL)
	{
		replace_builder_array(memory, (void **) &b->coords, (void **) &g->coords);
		b->coords_cap = b->nparts;
	}
	if (g->face_of != NULL)
	{
		replace_builder_array(memory, (void **) &b->face_of, (void **) &g->face_of);
		b->face_of_cap = b->faced = b->nparts;
	}
	return RB_OK;
}

/* ---- rows of rejected objects ---- */

/* Returns true if a refused row has no id and therefore rejects no object. */
static bool
is_refused_without_id(const rb_refusal *r)
{
	return r->fault == RB_GEOMETRY_NULL_ID || r->fault == RB_GEOMETRY_NO_ID;
}

/* Stores the distinct ids of the rejected rows, sorted, and returns their number. */
static uint32_t
sort_rejected_ids(const rb_builder *b, int64_t *ids)
{
	uint32_t n = 0, different = 0;

	for (uint32_t i = 0; i < b->nrefused; i++)
		if (!is_refused_without_id(&b->refused[i]))
			ids[n++] = b->refused[i].id;
	(void) rb_sort_ids(NULL, ids, n);
	for (uint32_t i = 0; i < n; i++)
		if (i == 0 || ids[i] != ids[i - 1])
			ids[different++] = ids[i];
	return different;
}

/* Keeps only the first of the refused rows with the same id. `seen` has one byte per id. */
static void
keep_first_refusal_of_each_id(rb_builder *b, const int64_t *ids, uint32_t n, uint8_t *seen)
{
	uint32_t kept = 0;

	memset(seen, 0, n);
	for (uint32_t i = 0; i < b->nrefused; i++)
	{
		if (!is_refused_without_id(&b->refused[i]))
		{
			uint8_t *its = &seen[(uint32_t) rb_ids_lower_bound(ids, n, b->refused[i].id)];

			if (*its)
				continue;
			*its = 1;
		}
		b->refused[kept++] = b->refused[i];
	}
	b->nrefused = kept;
}

/* Removes the rows with the given sorted ids, and moves later parts forward to fill the gaps. */
static void
drop_rows_with_ids(rb_builder *b, const int64_t *ids, uint32_t n)
{
	const size_t width = (size_t) b->width;
	uint32_t part = 0, parts = 0, rows = 0, faced = 0;

	for (uint32_t row = 0; row < b->nrows; row++)
	{
		const uint32_t from = part, to = parts,
					   at = (uint32_t) rb_ids_lower_bound(ids, n, b->ids[row]);
		uint32_t some;

		do
			part++;
		while (b->multi && part < b->nparts && b->row_of[part] == row);
		if (at < n && ids[at] == b->ids[row])
			continue;
		some = part - from;
		memmove(b->coords + to * width, b->coords + from * width, some * width * sizeof *b->coords);
		for (uint32_t i = 0; i < some; i++)
		{
			if (b->multi)
				b->row_of[to + i] = rows;
			if (from + i < b->faced)
			{
				b->face_of[to + i] = b->face_of[from + i] - (from - to);
				faced = to + i + 1;
			}
		}
		if (b->count_faces)
			b->faces[rows] = b->faces[row];
		b->ids[rows++] = b->ids[row];
		parts += some;
	}
	/* Each part after the last face that has several parts is a face of its own. */
	b->faced = faced;
	b->nrows = rows;
	b->nparts = b->row_start = parts;
}

rb_status
rb_builder_drop_rejected(rb_builder *b, rb_error *error)
{
	int64_t *ids = NULL;
	uint8_t *seen = NULL;
	uint32_t n;
	RB_FREE_AT_END(b->memory, &ids, &seen);

	if (b->nrefused == 0)
		return RB_OK;
	RB_TRY(rb_resize(b->memory, (void **) &ids, b->nrefused * sizeof *ids, error));
	RB_TRY(rb_resize(b->memory, (void **) &seen, b->nrefused, error));
	n = sort_rejected_ids(b, ids);
	keep_first_refusal_of_each_id(b, ids, n, seen);
	drop_rows_with_ids(b, ids, n);
	return RB_OK;
}

rb_status
rb_builder_group(rb_builder *b, rb_error *error)
{
	grouping g = {.b = b};
	rb_status status;
	RB_FREE_AT_END(b->memory, &g.number, &g.next, &g.row_of, &g.coords, &g.face_of);

	if (b->nrows == 0)
		return RB_OK;
	status = rb_resize(b->memory, (void **) &g.number, (size_t) b->nrows * sizeof *g.number, error);
	if (status == RB_OK)
		status = rb_ids_number(b->memory, b->ids, b->nrows, b->should_stop, g.number, &g.nobjects,
							   error);
	if (status == RB_OK && g.nobjects < b->nrows)
		status = group_parts_of_objects(&g, error);
	if (status != RB_OK)
		error->status = status;
	return status;
}

/* ---- builder ---- */

/* Minimum capacity, in elements: less than a huge page, but enough for a small table */
#define RB_FIRST_CAP 1024

void
rb_builder_init(rb_builder *b, rb_memory *memory, rb_kind kind)
{
	memset(b, 0, sizeof *b);
	b->memory = memory;
	b->kind = kind;
	b->width = rb_kind_width(kind);
	b->face_tolerance = -1;
	b->face_share = 0;
}

void
rb_builder_free(rb_builder *b)
{
	if (b->memory != NULL)
	{
		RB_FREE(b->memory, b->coords);
		RB_FREE(b->memory, b->ids);
		RB_FREE(b->memory, b->row_of);
		RB_FREE(b->memory, b->faces);
		RB_FREE(b->memory, b->face_of);
		rb_free(b->memory, &b->face_corners);
		rb_free(b->memory, &b->face_mesh);
		rb_free(b->memory, &b->face_uses);
		RB_FREE(b->memory, b->refused);
	}
	rb_builder_init(b, b->memory, b->kind);
}

void
rb_builder_clear(rb_builder *b)
{
	b->nparts = b->nrows = b->row_start = b->more_parts = b->faced = 0;
	b->skipped = b->outside = 0;
	b->multi = false;
}

void
rb_builder_drop_ended(rb_builder *b)
{
	const size_t width = (size_t) b->width;
	const uint32_t rest = b->nparts - b->row_start;

	if (rest > 0)
		memmove(b->coords, b->coords + b->row_start * width, rest * width * sizeof *b->coords);
	b->nparts = rest;
	b->nrows = b->row_start = b->faced = 0;
	b->multi = false;
}

void
rb_builder_trim(rb_builder *b)
{
	size_t coords = (size_t) b->nparts * (size_t) b->width * sizeof(double);

	rb_shrink(b->memory, (void **) &b->coords, coords);
	rb_shrink(b->memory, (void **) &b->ids, b->nrows * sizeof *b->ids);
	rb_shrink(b->memory, (void **) &b->row_of, b->nparts * sizeof *b->row_of);
	/* Small blocks are not shrunk, but their spare capacity is ignored. */
	b->coords_cap = b->coords_cap < b->nparts ? b->coords_cap : b->nparts;
	b->ids_cap = b->ids_cap < b->nrows ? b->ids_cap : b->nrows;
	b->row_of_cap = b->row_of_cap < b->nparts ? b->row_of_cap : b->nparts;
}

void
rb_builder_set_kind(rb_builder *b, rb_kind kind)
{
	int width = rb_kind_width(kind);

	b->coords_cap = b->coords_cap * (size_t) b->width / (size_t) width;
	b->kind = kind;
	b->width = width;
}

/*
 * Makes room for `need` elements. The block grows by half, which large blocks do by remapping. If
 * that exceeds the memory budget, it grows by a sixteenth, so that a budget that suffices for the
 * rows is enough.
 */
static rb_status
grow_builder_block(rb_builder *b, void **block, size_t *cap, size_t need, size_t element,
				   rb_error *error)
{
	size_t want = *cap + *cap / 2;
	rb_status status;

	if (want < RB_FIRST_CAP)
		want = RB_FIRST_CAP;
	if (want < need)
		want = need;
	status = rb_resize(b->memory, block, want * element, error);
	if (status == RB_OVER_BUDGET && want > need)
	{
		want = *cap + *cap / 16;
		if (want < need)
			want = need;
		status = rb_resize(b->memory, block, want * element, error);
	}
	if (status == RB_OK)
		*cap = want;
	return status;
}

rb_status
rb_builder_reserve(rb_builder *b, size_t more, rb_error *error)
{
	size_t need = (size_t) b->nparts + more;

	if (more <= RB_MAX_OBJECTS && need <= b->coords_cap)
		return RB_OK;
	if (more > RB_MAX_OBJECTS || need > RB_MAX_OBJECTS)
	{
		error->status = RB_TOO_MANY_OBJECTS;
		error->need = more > RB_MAX_OBJECTS ? more : need;
		error->limit = RB_MAX_OBJECTS;
		error->text[0] = '\0';
		return RB_TOO_MANY_OBJECTS;
	}
	return grow_builder_block(b, (void **) &b->coords, &b->coords_cap, need,
							  (size_t) b->width * sizeof(double), error);
}

/*
 * Makes room for `need` face numbers, and makes each part from `faced` to `end` - 1 a face of its
 * own.
 */
static rb_status
append_faces_of_single_parts(rb_builder *b, uint32_t end, uint32_t need, rb_error *error)
{
	if (need > b->face_of_cap)
	{
		RB_TRY(grow_builder_block(b, (void **) &b->face_of, &b->face_of_cap, need,
								  sizeof *b->face_of, error));
	}
	for (; b->faced < end; b->faced++)
		b->face_of[b->faced] = b->faced;
	return RB_OK;
}

rb_status
rb_builder_one_face(rb_builder *b, uint32_t from, rb_error *error)
{
	if (b->faced > from)
		b->faced = from;
	RB_TRY(append_faces_of_single_parts(b, from, b->nparts, error));
	for (; b->faced < b->nparts; b->faced++)
		b->face_of[b->faced] = from;
	return RB_OK;
}

bool
rb_builder_is_outside(const rb_builder *b)
{
	const int dims = rb_kind_dims(b->kind);
	double lo[3], hi[3];

	if (b->tile.dims == 0 || b->nparts == b->row_start)
		return false;
	rb_parts_box(b->kind, b->coords, b->row_start, b->nparts, lo, hi);
	for (int a = 0; a < dims; a++)
		hi[a] = rb_reach_up(hi[a], b->distance);
	return !rb_tile_meets(dims, lo, hi, b->tile.low, b->tile.high);
}

rb_status
rb_builder_end_row(rb_builder *b, int64_t id, rb_error *error)
{
	uint32_t parts = b->nparts - b->row_start;
	uint32_t faces = parts - b->more_parts;

	b->more_parts = 0;
	if (parts == 0)
	{
		b->skipped++;
		return RB_OK;
	}
	if (b->tile.dims != 0 && rb_builder_is_outside(b))
	{
		rb_builder_drop_row(b);
		b->outside++;
		return RB_OK;
	}
	if (b->nrows >= b->ids_cap)
	{
		RB_TRY(grow_builder_block(b, (void **) &b->ids, &b->ids_cap, (size_t) b->nrows + 1,
								  sizeof *b->ids, error));
	}
	if (b->multi || parts > 1)
	{
		if (b->nparts > b->row_of_cap)
		{
			RB_TRY(grow_builder_block(b, (void **) &b->row_of, &b->row_of_cap, b->nparts,
									  sizeof *b->row_of, error));
		}
		/* Part i was row i so far. */
		if (!b->multi)
			for (uint32_t i = 0; i < b->row_start; i++)
				b->row_of[i] = i;
		b->multi = true;
		for (uint32_t i = b->row_start; i < b->nparts; i++)
			b->row_of[i] = b->nrows;
	}
	if (b->count_faces && b->nrows >= b->faces_cap)
	{
		RB_TRY(grow_builder_block(b, (void **) &b->faces, &b->faces_cap, (size_t) b->nrows + 1,
								  sizeof *b->faces, error));
	}
	if (b->count_faces)
		b->faces[b->nrows] = faces;
	b->ids[b->nrows++] = id;
	b->row_start = b->nparts;
	return RB_OK;
}

rb_status
rb_builder_reject(rb_builder *b, const rb_refusal *refusal, rb_error *error)
{
	rb_builder_drop_row(b);
	if (b->nrefused >= b->refused_cap)
	{
		size_t cap = b->refused_cap + b->refused_cap / 2 + 16;
		RB_TRY(rb_resize(b->memory, (void **) &b->refused, cap * sizeof *b->refused, error));
		b->refused_cap = cap;
	}
	b->refused[b->nrefused++] = *refusal;
	return RB_OK;
}

/*
 * Appends rows to the builder one by one, because each may lie outside the tile and then be
 * dropped.
 */
static rb_status
append_rows_of_tile_to_builder(rb_builder *b, const double *coords, uint32_t nparts,
							   const int64_t *ids, const uint32_t *ends, uint32_t nrows,
							   rb_error *error)
{
	const size_t width = (size_t) b->width;
	uint32_t from = 0;
	rb_status status = RB_OK;

	for (uint32_t i = 0; i <= nrows && status == RB_OK; i++)
	{
		/* The parts after the last ended row belong to the row under construction. */
		const uint32_t end = i == nrows ? nparts : ends == NULL ? i + 1 : ends[i];

		status = rb_builder_reserve(b, end - from, error);
		if (status != RB_OK)
			break;
		if (end > from)
			memcpy(b->coords + b->nparts * width, coords + from * width,
				   (end - from) * width * sizeof(double));
		b->nparts += end - from;
		from = end;
		if (i < nrows)
			status = rb_builder_end_row(b, ids[i], error);
	}
	return status;
}

rb_status
rb_builder_append(rb_builder *b, const double *coords, uint32_t nparts, const int64_t *ids,
				  const uint32_t *ends, uint32_t nrows, rb_error *error)
{
	uint32_t start = b->nparts;

	if (nparts == 0 && nrows == 0)
		return RB_OK;
	if (b->tile.dims != 0)
		return append_rows_of_tile_to_builder(b, coords, nparts, ids, ends, nrows, error);
	RB_TRY(rb_builder_reserve(b, nparts, error));
	if (nparts > 0)
		memcpy(b->coords + (size_t) start * (size_t) b->width, coords,
			   (size_t) nparts * (size_t) b->width * sizeof(double));
	/* If all rows, new and old, have one part each, only the ids remain to be copied. */
	if (ends == NULL && !b->multi && b->row_start == start && nrows == nparts)
	{
		if ((size_t) b->nrows + nrows > b->ids_cap)
		{
			RB_TRY(grow_builder_block(b, (void **) &b->ids, &b->ids_cap, (size_t) b->nrows + nrows,
									  sizeof *b->ids, error));
		}
		memcpy(b->ids + b->nrows, ids, (size_t) nrows * sizeof *ids);
		b->nrows += nrows;
		b->nparts += nparts;
		b->row_start = b->nparts;
		return RB_OK;
	}
	for (uint32_t i = 0; i < nrows; i++)
	{
		b->nparts = start + (ends == NULL ? i + 1 : ends[i]);
		RB_TRY(rb_builder_end_row(b, ids[i], error));
	}
	b->nparts = start + nparts;
	return RB_OK;
}

/* Returns true if the ids are consecutive, as from a sequence. They need no array then. */
static bool
are_built_ids_consecutive(const rb_builder *b)
{
	uint64_t wrong = 0;

	for (uint32_t i = 0; i < b->nrows; i++)
		wrong |= (uint64_t) b->ids[i] - (uint64_t) b->ids[0] - i;
	return wrong == 0;
}

/*
 * Renumbers the faces of a builder's parts in place. A face has the number of its first part
 * before, and a number from 0 within its row afterwards.
 */
static void
number_faces_of_built_rows(rb_builder *b)
{
	uint32_t first = 0; /* previous number of the current face */

	for (uint32_t i = 0; i < b->row_start; i++)
	{
		const bool new_row = i == 0 || !b->multi || b->row_of[i] != b->row_of[i - 1];
		const uint32_t face = b->face_of[i];

		b->face_of[i] = new_row ? 0 : b->face_of[i - 1] + (face != first);
		first = face;
	}
}

rb_status
rb_builder_finish(rb_builder *b, const rb_set **set, rb_error *error)
{
	rb_set s = {.kind = b->kind,
				.nparts = b->row_start,
				.nrows = b->nrows,
				.coords = b->coords,
				.row_of = b->multi ? b->row_of : NULL,
				.faces = b->faces,
				.skipped = b->skipped,
				.srid = b->srid};
	const bool counted = are_built_ids_consecutive(b);

	if (b->faced > b->row_start)
		b->faced = b->row_start;
	if (b->faced > 0)
	{
		RB_TRY(append_faces_of_single_parts(b, b->row_start, b->row_start, error));
		s.face_of = b->face_of;
	}
	if (counted)
		s.first_id = b->nrows > 0 ? b->ids[0] : 0;
	else
		s.ids = b->ids;
	RB_TRY(rb_set_own(b->memory, &s, set, error));
	if (b->faced > 0)
	{
		number_faces_of_built_rows(b);
		b->face_of = NULL;
	}
	b->coords = NULL;
	b->faces = NULL;
	if (!counted)
		b->ids = NULL;
	if (b->multi)
		b->row_of = NULL;
	rb_builder_free(b);
	return RB_OK;
}
