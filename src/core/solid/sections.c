/*
 * sections.c
 *	  Computes RB_SECTION: the sections of rows of triangles by planes.
 *
 *		a tree of the triangles' boxes							box_tree.c
 *			-> for each plane, the triangles that it cuts		sections.c
 *			-> for each row of these, nodes, cuts, rings		section_rings.c
 *			-> their order, sides and nearest doubles			section_points.c
 *			-> the area											sections.c
 *
 * All of this runs on the CPU, whatever the backend. A thread takes one plane at a time. It skips
 * boxes on one side of the plane, so that its work grows with the triangles near the plane.
 *
 * The points of a section are pairs of rows like any others, with the point as payload. They stay
 * together in the output: a lock is held while they are sent to the sink.
 */
#include "core/solid/sections.h"
#include "core/base/sort.h"
#include "core/primitive/ray.h"
#include "core/primitive/segment.h"
#include "core/set/set.h"
#include "core/exact/fractions.h"

/*
 * ---- the area of a section ----
 *
 * Let a triangle have the corner v on one side of the plane and p and q on the other, the heights h
 * above the plane times the length of the plane's normal n, and the normal N = (p - v) x (q - v),
 * turned outward. With a point o of the plane, twice the area between o and its cut is
 *
 *		|n| |h(v)| (v - o) . N / ((h(p) - h(v)) (h(q) - h(v)))
 *
 * because the cut is the vector n x N times |h(v)| over that denominator, and its plane has the
 * distance (v - o) . N / |N| from o. The sum of these terms over all triangles is twice the area.
 *
 * The sum is computed in double-double arithmetic with bounds first. If that does not decide, its
 * fractions are summed exactly (fractions.c). If |n| is rational, it is a factor of the numerators.
 * Otherwise the area is irrational, so it is never in the middle of two doubles, and enough words
 * of |n| decide.
 */

#define LEAST_WORDS 3
#define MOST_WORDS 48
#define INTERVAL 256 /* Triangles between checks for cancellation */

/* Terms of an area, as fractions */
typedef struct area_terms
{
	const rb_section *s;
	rb_number factor;
} area_terms;

/* Returns the corner of a triangle that is alone on its side of the plane, or -1 if none is. */
static int
lone_corner(const rb_section *s, uint32_t triangle)
{
	const int8_t *sign = s->sign + 3 * (size_t) triangle;

	if (s->inward[triangle] == RB_SECTION_FLAT)
		return -1;
	for (int k = 0; k < 3; k++)
		if ((sign[k] < 0) != (sign[(k + 1) % 3] < 0) && (sign[k] < 0) != (sign[(k + 2) % 3] < 0))
			return sign[k] == 0 ? -1 : k;
	return -1;
}

/* Returns corner k of a triangle. */
static const double *
corner_of_triangle(const rb_section *s, uint32_t triangle, int k)
{
	return s->points + 9 * (size_t) triangle + 3 * (k % 3);
}

/* Returns the term of a triangle, without the length of the plane's normal. */
static rb_bounded
bound_term(const rb_section *s, uint32_t triangle, int lone)
{
	const double *v = corner_of_triangle(s, triangle, lone);
	rb_bounded to[2][3], from[3], normal[3], height, rise[2], term;

	rb_bounded_vector(from, v, s->plane->point);
	for (int k = 0; k < 2; k++)
	{
		rb_bounded_vector(to[k], corner_of_triangle(s, triangle, lone + 1 + k), v);
		rise[k] = rb_bounded_dot(s->plane->rough, to[k]);
	}
	rb_bounded_cross(to[0], to[1], normal);
	height = rb_bounded_dot(s->plane->rough, from);
	if (s->sign[3 * (size_t) triangle + (size_t) lone] < 0)
		height = rb_bounded_minus(height);
	term = rb_bounded_div(rb_bounded_mul(height, rb_bounded_dot(from, normal)),
						  rb_bounded_mul(rise[0], rise[1]));
	return s->inward[triangle] == RB_SECTION_INWARD ? rb_bounded_minus(term) : term;
}

/* Computes the term of a triangle times the factor, as a fraction. */
static void
find_area_term(const void *arg, size_t triangle, rb_number *numerator, rb_number *denominator)
{
	const area_terms *a = arg;
	const rb_section *s = a->s;
	const int lone = lone_corner(s, (uint32_t) triangle);
	const double *v;
	rb_number from[3], normal[3], to[3], rise[2], height, product;

	if (lone < 0)
	{
		numerator->sign = numerator->n = numerator->low = 0;
		rb_number_of(denominator, 1);
		return;
	}
	v = corner_of_triangle(s, (uint32_t) triangle, lone);
	for (int k = 0; k < 2; k++)
	{
		const double *p = corner_of_triangle(s, (uint32_t) triangle, lone + 1 + k);

		for (int i = 0; i < 3; i++)
			rb_number_difference(&to[i], p[i], v[i]);
		rb_number_dot3(&rise[k], s->plane->normal, to);
	}
	rb_number_mul(denominator, &rise[0], &rise[1]);
	for (int i = 0; i < 3; i++)
		rb_number_difference(&from[i], v[i], s->plane->point[i]);
	rb_number_dot3(&height, s->plane->normal, from);
	height.sign = 1;
	rb_triangle_normal(normal, s->points + 9 * triangle);
	rb_number_dot3(&product, from, normal);
	rb_number_mul(&rise[0], &height, &product);
	rb_number_mul(numerator, &rise[0], &a->factor);
	if (s->inward[triangle] == RB_SECTION_INWARD)
		numerator->sign = -numerator->sign;
}

/* Computes the area in double-double arithmetic. Returns false if its rounding is not decided. */
static bool
round_rough_area(const rb_section *s, double *area)
{
	const rb_bounded *n = s->plane->rough;
	rb_bounded sum = rb_bounded_of(0);

	for (uint32_t i = 0; i < s->n; i++)
	{
		const int lone = lone_corner(s, i);

		if (lone >= 0)
			sum = rb_bounded_add(sum, bound_term(s, i, lone));
	}
	sum = rb_bounded_mul(
		rb_bounded_mul(sum, rb_bounded_of(0.5)),
		s->plane->axis >= 0 ? (rb_bounded){{fabs(n[s->plane->axis].x.high),
											n[s->plane->axis].x.high < 0 ? -n[s->plane->axis].x.low
																		 : n[s->plane->axis].x.low},
										   n[s->plane->axis].error}
							: rb_bounded_root(rb_bounded_dot(n, n)));
	return isfinite(sum.error) &&
		   rb_round_within(sum.x, 1.02 * sum.error + 0x1p-104 * fabs(sum.x.high), area);
}

/* Fails if a fraction has too many words to be summed. */
static rb_status
check_sizes(const rb_section *s, const area_terms *a)
{
	rb_number numerator, denominator;

	for (uint32_t i = 0; i < s->n; i++)
	{
		if (rb_stop_due(s->ctx, i, INTERVAL))
			return RB_STOPPED;
		find_area_term(a, i, &numerator, &denominator);
		if (numerator.n > RB_FRACTION_WORDS - MOST_WORDS || denominator.n > RB_FRACTION_WORDS)
			return rb_fail(s->ctx, RB_BAD_GEOMETRY, 0, 0,
						   "The coordinates of a section differ too much in size to compute its "
						   "area.");
	}
	return RB_OK;
}

/* Computes the area exactly. */
static rb_status
find_exact_area(const rb_section *s, double *area)
{
	area_terms a = {.s = s};
	const rb_fractions f = {s->n, find_area_term, &a};
	rb_number square, root, half;

	rb_number_of(&a.factor, 1);
	RB_TRY(check_sizes(s, &a));
	rb_number_of(&half, 0.5);
	rb_number_dot3(&square, s->plane->normal, s->plane->normal);
	if (rb_number_is_square(&root, &square))
	{
		rb_number_mul(&a.factor, &root, &half);
		return rb_fractions_round(s->ctx, &f, area);
	}
	for (int words = LEAST_WORDS;; words *= 2)
	{
		rb_number least = {.sign = 1, .n = 1, .word = {1}}, above;
		double high;

		rb_number_root(&root, &square, words);
		rb_number_truncate(&root, words);
		least.low = root.low + root.n - words;
		rb_number_add(&above, &root, &least);
		rb_number_mul(&a.factor, &root, &half);
		RB_TRY(rb_fractions_round(s->ctx, &f, area));
		rb_number_mul(&a.factor, &above, &half);
		RB_TRY(rb_fractions_round(s->ctx, &f, &high));
		if (*area == high || 2 * words > MOST_WORDS)
			return RB_OK;
	}
}

/* Computes the double nearest to the area of the section of a closed surface. */
static rb_status
compute_section_area(rb_section *s, double *area)
{
	if (!round_rough_area(s, area))
		RB_TRY(find_exact_area(s, area));
	*area = rb_max(*area, 0x1p-1074);
	return RB_OK;
}

/* ---- sections of rows ---- */

/* Number of points from which a batch is sent to the sink */
#define BATCH RB_SIZE(4096, 8)
#define INTERVAL 256 /* Triangles between checks for cancellation */

typedef struct section_worker
{
	rb_section section;
	rb_section_plane plane;
	uint32_t *triangles; /* Triangles that the plane cuts */
	size_t triangles_cap;
	const struct sections *all;
	rb_pair rows; /* The current section */
	/* The batch */
	rb_pair *pair;
	size_t pair_cap;
	uint64_t *payload;
	size_t payload_cap;
	size_t npairs;
	uint64_t looks; /* Triangles compared with a plane */
	uint64_t boxes; /* Boxes compared with a plane */
	double ms;
} section_worker;

typedef struct sections
{
	rb_context *ctx;
	const rb_job *job;
	const rb_row_sink *sink;
	const uint32_t *bad;  /* Bitmap of rows that are closed but no solids */
	const uint32_t *open; /* Bitmap of rows that are not closed */
	rb_fans fans;         /* Fans of all other rows */
	uint32_t *part;       /* Part of each plane that has a normal */
	rb_tree tree;
	pthread_mutex_t lock; /* Protects the order of points in the sink */
	section_worker *worker;
	int threads;
	int status; /* First status other than RB_OK */
	uint64_t done;
} sections;

/* ---- output ---- */

/* Sends the batch of a thread to the sink, and empties it. */
static rb_status
send_points(sections *a, section_worker *w)
{
	const size_t n = w->npairs;
	rb_status status = RB_OK;

	w->npairs = 0;
	if (n == 0)
		return RB_OK;
	pthread_mutex_lock(&a->lock);
	status = a->sink->put(a->sink->user, w->pair, w->payload, n);
	pthread_mutex_unlock(&a->lock);
	return status;
}

/* Appends a record to the batch. */
static rb_status
append_record(section_worker *w, rb_section_mark mark, const double *value, int n)
{
	rb_context *ctx = w->all->ctx;
	uint64_t *words;

	RB_TRY(RB_GROW(ctx, w->pair, w->pair_cap, w->npairs + 1));
	RB_TRY(RB_GROW(ctx, w->payload, w->payload_cap, (w->npairs + 1) * RB_SECTION_WORDS));
	words = w->payload + w->npairs * RB_SECTION_WORDS;
	memset(words, 0, RB_SECTION_WORDS * sizeof *words);
	words[0] = mark;
	memcpy(words + 1, value, (size_t) n * sizeof *value);
	w->pair[w->npairs++] = w->rows;
	return RB_OK;
}

/* Appends a point of the current section to the batch. */
static rb_status
put_point(void *user, rb_section_mark mark, const rb_section_node *node)
{
	section_worker *w = user;
	double uv[2];

	if (!w->all->job->flat)
		return append_record(w, mark, node->at, 3);
	rb_section_flatten(&w->plane, node, uv);
	return append_record(w, mark, uv, 2);
}

/* ---- one section ---- */

/* Returns how the normal of a triangle is turned. */
static rb_section_normal
normal_of_triangle(const sections *a, rb_section *s, uint32_t triangle, bool open)
{
	if (!open)
		return a->fans.sheet[triangle] == RB_NO_SHEET ? RB_SECTION_FLAT
			   : rb_points_inward(&a->fans, triangle) ? RB_SECTION_INWARD
													  : RB_SECTION_OUTWARD;
	return rb_normal_tie(&s->env, a->job->red->coords + 9 * (size_t) triangle) == 0
			   ? RB_SECTION_FLAT
			   : RB_SECTION_OUTWARD;
}

/* Computes the section of one row, of which the plane cuts n triangles. */
static rb_status
compute_section(sections *a, section_worker *w, const uint32_t *triangle, uint32_t n)
{
	rb_section *s = &w->section;
	const rb_section_writer to = {put_point, w};
	const bool open = rb_is_marked(a->open, w->rows.red);
	double area = 0;

	s->n = n;
	RB_TRY(RB_GROW(a->ctx, s->points, s->points_cap, 9 * (size_t) n));
	RB_TRY(RB_GROW(a->ctx, s->sign, s->sign_cap, 3 * (size_t) n));
	RB_TRY(RB_GROW(a->ctx, s->inward, s->inward_cap, n));
	for (uint32_t i = 0; i < n; i++)
	{
		const double *t = a->job->red->coords + 9 * (size_t) triangle[i];

		memcpy(s->points + 9 * (size_t) i, t, 9 * sizeof *t);
		for (int k = 0; k < 3; k++)
			s->sign[3 * (size_t) i + (size_t) k] = (int8_t) rb_section_sign(&w->plane, t + 3 * k);
		s->inward[i] = (uint8_t) normal_of_triangle(a, s, triangle[i], open);
		if (rb_stop_due(a->ctx, i, INTERVAL))
			return RB_STOPPED;
	}
	RB_TRY(open ? rb_section_lines(s, &to) : rb_section_polygons(s, &to));
	if (s->ncuts == 0)
		return RB_OK;
	if (!open)
		RB_TRY(compute_section_area(s, &area));
	RB_TRY(append_record(w, RB_SECTION_END, &area, 1));
	return w->npairs >= BATCH ? send_points(a, w) : RB_OK;
}

/* ---- one plane ---- */

/* Adds a triangle to those of the current plane if the plane cuts it. */
static rb_status
look_at_triangle(sections *a, section_worker *w, uint32_t triangle, size_t *n)
{
	const double *t = a->job->red->coords + 9 * (size_t) triangle;
	const uint32_t row = rb_row_of(a->job->red, triangle);
	int below = 0;

	if (rb_is_marked(a->bad, row))
		return RB_OK;
	w->looks++;
	for (int k = 0; k < 3; k++)
		below += rb_section_sign(&w->plane, t + 3 * k) < 0;
	if (below == 0 || below == 3)
		return RB_OK;
	RB_TRY(RB_GROW(a->ctx, w->triangles, w->triangles_cap, *n + 1));
	w->triangles[(*n)++] = triangle;
	return RB_OK;
}

/* Finds the triangles that the current plane cuts, by the tree. */
static rb_status
find_cut_triangles(sections *a, section_worker *w, size_t *n)
{
	const rb_tree *tree = &a->tree;
	struct
	{
		uint32_t index;
		int level;
	} step[3 * RB_TREE_LEVELS + 2] = {{0, tree->top}};
	int steps = 1;

	*n = 0;
	while (steps > 0)
	{
		const uint32_t index = step[--steps].index, child = index * RB_TREE_FAN;
		const int level = step[steps].level;
		const rb_tree_node *node;

		if (rb_should_stop(a->ctx))
			return RB_STOPPED;
		if (level == 0)
		{
			RB_TRY(look_at_triangle(a, w, tree->part[index], n));
			continue;
		}
		node = &tree->node[tree->first[level] + index];
		for (uint32_t c = 0; c < RB_TREE_FAN && child + c < tree->count[level - 1]; c++)
		{
			const double lo[3] = {node->lo[0][c], node->lo[1][c], node->lo[2][c]};
			const double hi[3] = {node->hi[0][c], node->hi[1][c], node->hi[2][c]};

			w->boxes++;
			if (!rb_section_may_cut_box(&w->plane, lo, hi))
				continue;
			step[steps].index = child + c;
			step[steps++].level = level - 1;
		}
	}
	return rb_sort_numbers(a->ctx, w->triangles, *n);
}

/* Computes the sections of all rows by one plane. */
static rb_status
cut_rows_by_plane(sections *a, section_worker *w, uint32_t plane)
{
	const rb_set *planes = a->job->blue;
	size_t n;

	(void) rb_section_plane_set(&w->plane, planes->kind,
								planes->coords +
									(size_t) a->part[plane] * (size_t) rb_kind_width(planes->kind));
	RB_TRY(find_cut_triangles(a, w, &n));
	for (size_t i = 0, k; i < n; i = k)
	{
		const uint32_t row = rb_row_of(a->job->red, w->triangles[i]);

		for (k = i; k < n && rb_row_of(a->job->red, w->triangles[k]) == row; k++)
			;
		w->rows = (rb_pair){row, plane};
		RB_TRY(compute_section(a, w, w->triangles + i, (uint32_t) (k - i)));
	}
	return RB_OK;
}

/* Computes the sections by a range of planes. */
static void
cut_rows_piece(rb_thread *me, void *arg, uint64_t from, uint64_t to)
{
	sections *a = arg;
	section_worker *w = &a->worker[rb_thread_number(me)];
	const double began = rb_now_ms();

	for (uint64_t i = from; i < to && rb_load(&a->status) == RB_OK; i++)
		rb_keep_failure(&a->status, cut_rows_by_plane(a, w, (uint32_t) i));
	w->ms += rb_now_ms() - began;
	rb_progress(a->ctx, RB_STAGE_CANDIDATES, rb_add(&a->done, to - from) + (to - from),
				a->job->blue->nrows);
}

/* ---- all planes ---- */

/* Fails because a row of planes has no plane. */
static rb_status
refuse_plane(const sections *a, uint32_t row)
{
	const rb_set *planes = a->job->blue;
	const int64_t id =
		planes->ids != NULL ? planes->ids[row] : (int64_t) ((uint64_t) planes->first_id + row);

	return rb_fail(a->ctx, RB_BAD_PLANE, (uint64_t) id, 0,
				   planes->kind == RB_TRIANGLE3 ? "Its points are on one line."
												: "Its normal is 0.");
}

/* Finds for each plane its first part that has a normal. */
static rb_status
find_planes(sections *a)
{
	const rb_set *planes = a->job->blue;
	rb_exact_env env = {.filters = a->ctx->filters, .exact = true};
	uint32_t part = 0;

	RB_TRY(RB_ALLOCATE(a->ctx, a->part, planes->nrows));
	for (uint32_t row = 0; row < planes->nrows; row++)
	{
		bool found = false;

		for (; part < planes->nparts && rb_row_of(planes, part) == row; part++)
		{
			const double *p = planes->coords + (size_t) part * (size_t) rb_kind_width(planes->kind);

			if (!found && (planes->kind == RB_TRIANGLE3 ? rb_normal_tie(&env, p) != 0
														: p[3] != 0 || p[4] != 0 || p[5] != 0))
			{
				a->part[row] = part;
				found = true;
			}
		}
		if (!found)
			return refuse_plane(a, row);
		if (rb_stop_due(a->ctx, row, INTERVAL))
			return RB_STOPPED;
	}
	return RB_OK;
}

/* Allocates the state of each thread. */
static rb_status
build_section_workers(sections *a, int threads)
{
	RB_TRY(RB_ALLOCATE(a->ctx, a->worker, (size_t) threads));
	a->threads = threads;
	for (int t = 0; t < threads; t++)
	{
		section_worker *w = &a->worker[t];

		memset(w, 0, sizeof *w);
		w->all = a;
		w->section.ctx = a->ctx;
		w->section.env = (rb_exact_env){.filters = a->ctx->filters, .exact = true};
		w->section.plane = &w->plane;
	}
	return RB_OK;
}

/* Builds the tree of triangles and computes the sections by all planes. */
static rb_status
cut_rows_by_all(rb_thread *me, sections *a)
{
	const rb_job *job = a->job;
	const double began = rb_now_ms();
	rb_status status;

	a->ctx->stats.threads = rb_team_threads(me);
	rb_progress(a->ctx, RB_STAGE_GRID, 0, 0);
	status = rb_tree_build(me, a->ctx, &a->tree, job->red, 0, job->red->nparts, 1, NULL,
						   job->red->nrows);
	a->ctx->stats.stage[RB_STAGE_GRID].count += job->red->nparts;
	a->ctx->stats.stage[RB_STAGE_GRID].ms += rb_now_ms() - began;
	if (status == RB_OK)
		status = build_section_workers(a, rb_team_threads(me));
	if (status == RB_OK)
	{
		rb_progress(a->ctx, RB_STAGE_CANDIDATES, 0, job->blue->nrows);
		status = rb_loop(me, job->blue->nrows, 1, cut_rows_piece, a);
		status = rb_loop_failure(a->status, status);
	}
	for (int t = 0; t < a->threads && status == RB_OK; t++)
		status = send_points(a, &a->worker[t]);
	return status;
}

/* Adds the statistics of all threads to those of the context, and frees their memory. */
static void
close_section_workers(sections *a)
{
	rb_stats *stats = &a->ctx->stats;

	for (int t = 0; t < a->threads; t++)
	{
		section_worker *w = &a->worker[t];
		const rb_exact_env *env = &w->section.env;

		stats->stage[RB_STAGE_CANDIDATES].count += w->looks;
		stats->stage[RB_STAGE_CANDIDATES].ms += w->ms / a->threads;
		stats->box_tests += w->boxes;
		rb_stats_add_signs(stats, env);
		stats->stage[RB_STAGE_EXACT].count += env->integer + env->expansion + env->gmp;
		rb_section_free(a->ctx->memory, &w->section);
		RB_FREE(a->ctx->memory, w->triangles);
		RB_FREE(a->ctx->memory, w->pair);
		RB_FREE(a->ctx->memory, w->payload);
	}
}

/* Finds the fans of all closed rows, and the sides of their triangles. */
static rb_status
find_sides_of_solids(sections *a, const rb_backend *backend, uint32_t *bad, const uint32_t *open)
{
	const uint32_t words = a->job->red->nrows / 32 + 1;
	uint32_t *others = NULL;
	rb_status status;
	RB_FREE_AT_END(a->ctx->memory, &others);

	RB_TRY(RB_ALLOCATE(a->ctx, others, words));
	for (uint32_t i = 0; i < words; i++)
		others[i] = bad[i] | open[i];
	status = rb_fans_find(a->ctx, a->job->red, others, &a->fans);
	return status == RB_OK ? rb_fans_find_inner(a->ctx, backend, &a->fans, NULL) : status;
}

rb_status
rb_compose_sections(rb_context *ctx, const rb_backend *backend, const rb_job *job,
					const rb_row_sink *sink)
{
	sections a = {.ctx = ctx, .job = job, .sink = sink};
	uint32_t *bad = NULL, *open = NULL;
	rb_thread *me;
	rb_status status;
	RB_FREE_AT_END(ctx->memory, &bad, &open, &a.part, &a.worker);

	if (job->red->nparts == 0 || job->blue->nparts == 0)
		return RB_OK;
	RB_TRY(rb_set_materialize_ids(ctx, job->blue));
	RB_TRY(find_planes(&a));
	RB_TRY(rb_solids_sort(ctx, backend, job->red, job->skip_bad, RB_SOLID_OF_FIRST, &bad, &open));
	a.bad = bad;
	a.open = open;
	status = find_sides_of_solids(&a, backend, bad, open);
	if (status == RB_OK)
		status = rb_team_open(ctx, rb_threads_for(ctx, job->blue->nrows, 1), &me);
	if (status == RB_OK)
	{
		pthread_mutex_init(&a.lock, NULL);
		status = cut_rows_by_all(me, &a);
		close_section_workers(&a);
		pthread_mutex_destroy(&a.lock);
		rb_tree_free(ctx, &a.tree);
		rb_team_close(&me);
	}
	rb_fans_free(ctx->memory, &a.fans);
	return ctx->error.status != RB_OK ? ctx->error.status : status;
}
