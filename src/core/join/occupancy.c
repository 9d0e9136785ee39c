/*
 * occupancy.c
 *	  Marks the cells of the smaller set if it is sparse compared to the other one and that pays
 *	  (occupancy.h).
 */
#include "core/join/cpu_join.h"

#include <string.h>

#define BITMAP_CELLS RB_SIZE((double) (1 << 21), 4000.0)
#define BITMAP_COST 0.05 /* cost of marking a cell for an object, in box tests */

/* Returns the cells that a box reaches into. */
static inline rb_range
range_of(const rb_grid *grid, const double lo[3], const double hi[3])
{
	rb_range r = {{0}, {0}};

	for (int a = 0; a < 3; a++)
	{
		r.c0[a] = rb_grid_cell(grid, a, lo[a]);
		r.c1[a] = rb_grid_cell(grid, a, hi[a]);
	}
	return r;
}

typedef struct rb_marking
{
	rb_cpu *c;
	const rb_set *o;
	const double *lo; /* the region */
	const double *hi;
	const rb_occupancy *bitmap;
	uint64_t step;
} rb_marking;

static void
mark_objects(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	const rb_marking *m = arg;

	(void) me;
	for (uint64_t i = from * m->step; i < to * m->step && i < m->o->nparts && rb_cpu_going(m->c);
		 i += m->step)
	{
		double lo[3], hi[3];

		rb_object_box(m->o, (uint32_t) i, m->c->pad, lo, hi);
		if (rb_boxes_overlap(lo, hi, m->lo, m->hi))
		{
			rb_range r = range_of(&m->bitmap->grid, lo, hi);

			rb_occupancy_mark(m->bitmap, &r);
		}
	}
}

/* Marks the cells of every step-th object that reaches into the region. */
static void
occupancy_fill(rb_thread *me, rb_cpu *c, const rb_set *o, const double lo[3], const double hi[3],
			   uint32_t step, const rb_occupancy *bitmap)
{
	rb_marking m = {c, o, lo, hi, bitmap, step};

	rb_loop(me, (uint64_t) o->nparts / step + 1, RB_GRAIN, mark_objects, &m);
}

/*
 * A bitmap pays if a sample of the larger set shows that two thirds of it would be dropped. Then
 * bitmap[0] is built for the smaller set, `few`, and bitmap[1] is left empty, to be marked with the
 * remaining objects of the larger set. A first test, with every 16th object, ends this early if
 * both sets are dense.
 */
rb_status
rb_occupancy_build(rb_thread *me, rb_cpu *c, const rb_set *few, const rb_set *many,
				   const double lo[3], const double hi[3], rb_occupancy bitmap[2])
{
	const rb_plan plan = {BITMAP_COST, 0, BITMAP_CELLS};
	const rb_list all[2] = {{NULL, few->nparts}, {NULL, many->nparts}};
	rb_sample sample[2];
	double slo[RB_SAMPLE][3], shi[RB_SAMPLE][3], width[3];
	uint32_t n[3];
	size_t words;
	rb_status status = RB_OK;

	for (int a = 0; a < 3; a++)
	{
		width[a] = 0.5 * hi[a] - 0.5 * lo[a];
		width[a] = width[a] > 0 ? width[a] : 0;
	}
	for (int s = 0; s < 2; s++)
	{
		sample[s].n = rb_sample_boxes(c, s == 0 ? few : many, all[s], slo, shi);
		for (uint32_t i = 0; i < sample[s].n; i++)
			for (int a = 0; a < 3; a++)
				sample[s].extent[a][i] = 0.5 * shi[i][a] - 0.5 * slo[i][a];
		rb_sample_end(&sample[s]);
	}
	rb_plan_grid(&plan, &sample[0], few->nparts, &sample[1], many->nparts, width, n);
	for (int k = 0; k < 2; k++)
		rb_grid_init(&bitmap[k].grid, lo, hi, n);
	words = rb_occupancy_words(&bitmap[0].grid);
	for (int k = 0; k < 2 && status == RB_OK; k++)
		status = RB_ALLOCATE(c->ctx, bitmap[k].word, words);
	if (status != RB_OK)
		return status;
	for (int k = 0; k < 2; k++)
		memset(bitmap[k].word, 0, words * sizeof(uint64_t));

	for (int look = 0; look < 2; look++)
	{
		uint32_t tested = 0, held = 0;

		occupancy_fill(me, c, few, lo, hi, look == 0 ? 16 : 1, &bitmap[0]);
		for (uint32_t i = 0; i < sample[1].n; i++)
			if (rb_boxes_overlap(slo[i], shi[i], lo, hi))
			{
				rb_range r = range_of(&bitmap[0].grid, slo[i], shi[i]);

				tested++;
				held += rb_occupancy_holds(&bitmap[0], &r);
			}
		if (held * (look == 0 ? 4 : 3) > tested)
		{
			for (int k = 0; k < 2; k++)
				RB_FREE(c->ctx->memory, bitmap[k].word);
			break;
		}
	}
	return RB_OK;
}
