/*
 * group_parts.c
 *	  Merges rows that have the same id into one row, for example the faces of a building.
 *
 *        rows        17: A B | 4: C | 17: D | 9: E
 *        objects     17: A B D | 4: C | 9: E
 *
 * In a join, parts belong to rows, so an object is a row with several parts, and only the builder
 * distinguishes objects from rows. The parts of a row must be adjacent. If they are not, a counting
 * sort by object moves them, which keeps their order within each object.
 */
#include "core/base/sort.h"
#include "core/set/set.h"

#include <string.h>

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

static inline uint32_t
object_of(const grouping *g, uint32_t part)
{
	return g->number[g->b->multi ? g->b->row_of[part] : part];
}

/*
 * Computes the position of the first part of each object from the numbers of their parts, and
 * returns true if the parts are already in order.
 */
static bool
find_places(grouping *g)
{
	uint32_t before = 0;
	uint32_t last = 0;
	bool in_order = true;

	memset(g->next, 0, (size_t) g->nobjects * sizeof *g->next);
	for (uint32_t i = 0; i < g->b->nparts; i++)
	{
		uint32_t object = object_of(g, i);

		g->next[object]++;
		in_order &= object >= last;
		last = object;
	}
	for (uint32_t k = 0; k < g->nobjects; k++)
	{
		uint32_t n = g->next[k];

		g->next[k] = before;
		before += n;
	}
	return in_order;
}

static rb_status
move_parts(grouping *g)
{
	size_t width = (size_t) g->b->width;

	for (uint32_t i = 0; i < g->b->nparts; i++)
	{
		uint32_t object = object_of(g, i);
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
keep_first_ids(grouping *g)
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

static void
swap_blocks(rb_memory *memory, void **old, void **made)
{
	rb_free(memory, old);
	*old = *made;
	*made = NULL;
}

static rb_status
group_parts(grouping *g, rb_error *error)
{
	rb_builder *b = g->b;
	rb_memory *memory = b->memory;
	rb_status status = rb_resize(memory, (void **) &g->next, g->nobjects * sizeof *g->next, error);

	if (status == RB_OK)
		status =
			rb_resize(memory, (void **) &g->row_of, (size_t) b->nparts * sizeof *g->row_of, error);
	if (status == RB_OK && !find_places(g))
		status = rb_resize(memory, (void **) &g->coords,
						   (size_t) b->nparts * (size_t) b->width * sizeof(double), error);
	if (status == RB_OK && g->coords != NULL && b->faced > 0)
		status = rb_resize(memory, (void **) &g->face_of, (size_t) b->nparts * sizeof *g->face_of,
						   error);
	if (status == RB_OK)
		status = move_parts(g);
	if (status != RB_OK)
		return status;
	keep_first_ids(g);
	swap_blocks(memory, (void **) &b->row_of, (void **) &g->row_of);
	b->row_of_cap = b->nparts;
	b->multi = true;
	if (g->coords != NULL)
	{
		swap_blocks(memory, (void **) &b->coords, (void **) &g->coords);
		b->coords_cap = b->nparts;
	}
	if (g->face_of != NULL)
	{
		swap_blocks(memory, (void **) &b->face_of, (void **) &g->face_of);
		b->face_of_cap = b->faced = b->nparts;
	}
	return RB_OK;
}

/* ---- rows of rejected objects ---- */

static bool
has_no_id(const rb_refusal *r)
{
	return r->fault == RB_GEOMETRY_NULL_ID || r->fault == RB_GEOMETRY_NO_ID;
}

/* Stores the distinct ids of the rejected rows, sorted, and returns their number. */
static uint32_t
sort_refused(const rb_builder *b, int64_t *ids)
{
	uint32_t n = 0, different = 0;

	for (uint32_t i = 0; i < b->nrefused; i++)
		if (!has_no_id(&b->refused[i]))
			ids[n++] = b->refused[i].id;
	(void) rb_sort_ids(NULL, ids, n);
	for (uint32_t i = 0; i < n; i++)
		if (i == 0 || ids[i] != ids[i - 1])
			ids[different++] = ids[i];
	return different;
}

/* Keeps the first rejected row of each id. `seen` has a byte for each id. */
static void
keep_first_refused(rb_builder *b, const int64_t *ids, uint32_t n, uint8_t *seen)
{
	uint32_t kept = 0;

	memset(seen, 0, n);
	for (uint32_t i = 0; i < b->nrefused; i++)
	{
		if (!has_no_id(&b->refused[i]))
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
drop_rows(rb_builder *b, const int64_t *ids, uint32_t n)
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
	rb_status status;

	if (b->nrefused == 0)
		return RB_OK;
	status = rb_resize(b->memory, (void **) &ids, b->nrefused * sizeof *ids, error);
	if (status == RB_OK)
		status = rb_resize(b->memory, (void **) &seen, b->nrefused, error);
	if (status == RB_OK)
	{
		const uint32_t n = sort_refused(b, ids);

		keep_first_refused(b, ids, n, seen);
		drop_rows(b, ids, n);
	}
	RB_FREE(b->memory, ids);
	RB_FREE(b->memory, seen);
	return status;
}

rb_status
rb_builder_group(rb_builder *b, rb_error *error)
{
	grouping g = {.b = b};
	rb_status status;

	if (b->nrows == 0)
		return RB_OK;
	status = rb_resize(b->memory, (void **) &g.number, (size_t) b->nrows * sizeof *g.number, error);
	if (status == RB_OK)
		status = rb_ids_number(b->memory, b->ids, b->nrows, b->should_stop, g.number, &g.nobjects,
							   error);
	if (status == RB_OK && g.nobjects < b->nrows)
		status = group_parts(&g, error);
	RB_FREE(b->memory, g.number);
	RB_FREE(b->memory, g.next);
	RB_FREE(b->memory, g.row_of);
	RB_FREE(b->memory, g.coords);
	RB_FREE(b->memory, g.face_of);
	if (status != RB_OK)
		error->status = status;
	return status;
}
