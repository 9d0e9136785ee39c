/*
 * cell_lists.c
 *	  Computes the bounding box and a sample of a list of objects, and selects the objects of a set
 *	  that reach into a region.
 */
#include "core/join/cpu_join.h"
#include "core/primitive/reference_point.h"

#include <string.h>

typedef struct rb_bounds
{
	rb_cpu *c;
	const rb_set *o;
	rb_list list;
	double *lo; /* bounds found by all parts of the loop so far */
	double *hi;
} rb_bounds;

static void
bounds_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_bounds *b = arg;
	double lo[3], hi[3];
	rb_batch_boxes box;

	(void) me;
	rb_box_empty(lo, hi);
	for (uint64_t i = from; i < to && rb_cpu_going(b->c); i += box.n)
	{
		rb_batch_load(b->c, b->o, b->list.entry + i, 0, (uint32_t) (to - i), &box);
		for (uint32_t k = 0; k < box.n; k++)
			rb_box_add(lo, hi, box.lo[k], box.hi[k]);
	}
	pthread_mutex_lock(&b->c->lock);
	rb_box_add(b->lo, b->hi, lo, hi);
	pthread_mutex_unlock(&b->c->lock);
}

void
rb_list_bounds(rb_thread *me, rb_cpu *c, const rb_set *o, rb_list list, double lo[3], double hi[3])
{
	rb_bounds b = {c, o, list, lo, hi};

	rb_box_empty(lo, hi);
	rb_loop(me, list.n, RB_GRAIN, bounds_piece, &b);
}

static void
points_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	rb_bounds *b = arg;
	const double *x = b->o->coords;
	const int dims = rb_kind_dims(b->o->kind);
	double lo[12], hi[12];
	uint64_t i = from;

	(void) me;
	for (int k = 0; k < 12; k++)
	{
		lo[k] = HUGE_VAL;
		hi[k] = -HUGE_VAL;
	}
	if (!rb_cpu_going(b->c))
		return;
	for (; i + 12 <= to; i += 12)
		for (int k = 0; k < 12; k++)
		{
			lo[k] = x[i + k] < lo[k] ? x[i + k] : lo[k];
			hi[k] = x[i + k] > hi[k] ? x[i + k] : hi[k];
		}
	for (int k = 0; i < to; i++, k++)
	{
		lo[k] = x[i] < lo[k] ? x[i] : lo[k];
		hi[k] = x[i] > hi[k] ? x[i] : hi[k];
	}
	pthread_mutex_lock(&b->c->lock);
	for (int k = 0; k < 12; k++)
	{
		int a = k % dims;

		b->lo[a] = lo[k] < b->lo[a] ? lo[k] : b->lo[a];
		b->hi[a] = hi[k] > b->hi[a] ? hi[k] : b->hi[a];
	}
	pthread_mutex_unlock(&b->c->lock);
}

/*
 * The box of all objects is the box of all points, so the points of an object need not be known.
 * Twelve numbers at a time are four points in space or six in the plane.
 */
void
rb_set_bounds(rb_thread *me, rb_cpu *c, const rb_set *o, double lo[3], double hi[3])
{
	rb_bounds b = {c, o, {NULL, 0}, lo, hi};

	rb_box_empty(lo, hi);
	rb_loop(me, (uint64_t) o->nparts * (uint64_t) rb_kind_width(o->kind), (uint64_t) RB_GRAIN * 12,
			points_piece, &b);
	if (rb_kind_dims(o->kind) == 2)
		lo[2] = hi[2] = 0;
	rb_kind_pad(o->kind, c->pad, lo, hi);
}

/*
 * The list, or the whole set if it has no entries, is divided into intervals of equal length, and
 * one object is chosen from each at random. Tables are often periodic, and with a fixed step the
 * sample might contain only one phase.
 */
uint32_t
rb_sample_boxes(const rb_cpu *c, const rb_set *o, rb_list list, double lo[RB_SAMPLE][3],
				double hi[RB_SAMPLE][3])
{
	uint32_t step = list.n / RB_SAMPLE + 1;
	uint32_t random = 1;
	uint32_t n = 0;

	for (uint64_t from = 0; from < list.n; from += step)
	{
		uint64_t i;

		random = random * 1664525 + 1013904223;
		i = from + ((uint64_t) random * step >> 32);
		if (i < list.n)
		{
			rb_object_box(o, list.entry != NULL ? list.entry[i] & RB_INDEX_MASK : (uint32_t) i,
						  c->pad, lo[n], hi[n]);
			n++;
		}
	}
	return n;
}

typedef struct rb_selection
{
	rb_cpu *c;
	const rb_set *o;
	const double *lo; /* the region */
	const double *hi;
	const rb_occupancy *other;
	const rb_occupancy *own;
	uint32_t *entry;
	uint32_t *kept; /* number of selected objects of each chunk of RB_GRAIN objects */
} rb_selection;

static void
select_chunk(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const rb_selection *s = arg;
	rb_cpu *c = s->c;
	const rb_box *share = &c->job->share;
	/* a self join without a partition takes all objects */
	const bool all = c->self && share->dims == 0;
	uint32_t k = (uint32_t) from;
	rb_batch_boxes box;
	rb_range range[RB_BATCH] __attribute__((aligned(32)));

	(void) me;
	for (uint64_t i = from; i < to && all; i++)
		s->entry[k++] = (uint32_t) i | RB_STARTS_ALL << RB_INDEX_BITS;
	for (uint64_t i = from; i < to && !all && rb_cpu_going(c); i += box.n)
	{
		rb_batch_load(c, s->o, NULL, (uint32_t) i, (uint32_t) (to - i), &box);
		if (s->other != NULL)
			rb_batch_cells(c, &s->other->grid, &box, range);
		for (uint32_t j = 0; j < box.n; j++)
		{
			bool in = rb_boxes_overlap(box.lo[j], box.hi[j], s->lo, s->hi);
			uint32_t starts = RB_STARTS_ALL;

			if (in && share->dims != 0)
				in = rb_partition_meets(share, box.lo[j], box.hi[j], &starts);
			if (in && s->other != NULL)
				in = rb_occupancy_holds(s->other, &range[j]);
			if (in && s->own != NULL)
				rb_occupancy_mark(s->own, &range[j]);
			s->entry[k] = (uint32_t) (i + j) | starts << RB_INDEX_BITS;
			k += in;
		}
	}
	s->kept[from / RB_GRAIN] = k - (uint32_t) from;
}

/* Each chunk of RB_GRAIN objects fills its own range of the list. The ranges are then compacted. */
rb_status
rb_select_objects(rb_thread *me, rb_cpu *c, const rb_set *o, const double lo[3], const double hi[3],
				  const rb_occupancy *other, const rb_occupancy *own, uint32_t **entry, uint32_t *n)
{
	uint32_t chunks = o->nparts / RB_GRAIN + 1;
	rb_selection s = {c, o, lo, hi, other, own, NULL, NULL};
	uint32_t total = 0;
	rb_status status;

	status = RB_ALLOCATE(c->ctx, *entry, o->nparts);
	s.entry = *entry;
	if (status == RB_OK)
		status = RB_ALLOCATE(c->ctx, s.kept, chunks);
	if (status == RB_OK)
	{
		memset(s.kept, 0, chunks * sizeof(uint32_t));
		status = rb_loop(me, o->nparts, RB_GRAIN, select_chunk, &s);
	}
	for (uint32_t chunk = 0; chunk < chunks && status == RB_OK; chunk++)
	{
		memmove(s.entry + total, s.entry + (size_t) chunk * RB_GRAIN,
				s.kept[chunk] * sizeof(uint32_t));
		total += s.kept[chunk];
	}
	RB_FREE(c->ctx->memory, s.kept);
	*n = total;
	return status;
}
