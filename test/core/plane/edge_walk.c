/*
 * edge_walk.c
 *	  Compares the edges that walks over the trees of rings find with tests of all pairs of edges, and
 *	  counts the boxes that the walks visit.
 */
#include "core/plane/plane.h"
#include "core/primitive/contact.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "build_polygons.h"
#include "fixtures.h"

#define MOST_POINTS 600

static rb_thread *team;

/* Two sets of polygons and their rings */
typedef struct sides
{
	const rb_set *set[2];
	rb_rings rings[2];
	const rb_rings *of[2];
} sides;

/* Finds the rings of two sets. */
static rb_status
open_sides(sides *s, const rb_set *red, const rb_set *blue)
{
	rb_status status;

	memset(s, 0, sizeof *s);
	s->set[0] = red;
	s->set[1] = blue;
	for (int side = 0; side < 2; side++)
		s->of[side] = &s->rings[side];
	status = rb_rings_open(&ctx, team, red, &s->rings[0]);
	return status == RB_OK ? rb_rings_open(&ctx, team, blue, &s->rings[1]) : status;
}

static void
close_sides(sides *s)
{
	for (int side = 0; side < 2; side++)
		rb_rings_close(ctx.memory, &s->rings[side]);
}

static void
free_room(rb_contact_room *room)
{
	rb_vec_free(ctx.memory, &room->contacts);
	rb_vec_free(ctx.memory, &room->turned);
	rb_vec_free(ctx.memory, &room->rings);
	rb_vec_free(ctx.memory, &room->others);
}

static int
compare_contacts(const void *a, const void *b)
{
	const rb_pair *x = a, *y = b;

	if (rb_pair_red(*x) != rb_pair_red(*y))
		return rb_pair_red(*x) < rb_pair_red(*y) ? -1 : 1;
	return (x->blue > y->blue) - (x->blue < y->blue);
}

/* Compares the contacts of two rows with those of all pairs of edges. Returns their number. */
static size_t
compare_rows(const sides *s, rb_contact_room *room, rb_pair rows)
{
	const rb_rings *red = s->of[0], *blue = s->of[1];
	size_t n = 0;

	CHECK(rb_edges_walk(&ctx, s->of, rows, room) == RB_OK, "%s", ctx.error.text);
	qsort(room->contacts.at, room->contacts.n, sizeof(rb_pair), compare_contacts);
	for (uint32_t i = red->row_start[rows.red]; i < red->row_start[rows.red + 1]; i++)
		for (uint32_t k = blue->row_start[rows.blue]; k < blue->row_start[rows.blue + 1]; k++)
		{
			const double *e = rb_edge(red, i), *h = rb_edge(blue, k);
			int contact;

			if (rb_is_mark(e) || rb_is_mark(h))
				continue;
			contact = rb_segments_contact2(&room->env, e, e + 2, h, h + 2);
			if (!RB_IS_YES(contact))
				continue;
			if (n < room->contacts.n)
			{
				const rb_pair p = room->contacts.at[n];

				CHECK(rb_pair_red(p) == i && p.blue == k &&
						  rb_pair_payload(p) == RB_PAYLOAD(contact),
					  "contact %zu is (%u, %u), not (%u, %u)", n, rb_pair_red(p), p.blue, i, k);
			}
			n++;
		}
	CHECK(n == room->contacts.n, "%zu contacts, not %zu", room->contacts.n, n);
	return n;
}

/* ---- random rings ---- */

/* How random rings are made */
typedef enum family
{
	LATTICE,  /* Points of a small lattice: equal edges, overlaps, common ends */
	CHAIN,    /* Each point is near the one before */
	SPREAD,   /* Each point is anywhere, so that nearly all rings are tangled */
	EXTREMES, /* Coordinates from the smallest to the largest doubles */
	FAMILIES
} family;

/* Returns a random coordinate after the coordinate before it. */
static double
random_coordinate(family f, double before)
{
	static const double extremes[] = {0, 0x1p-1074,       -0x1p-1074, 0x1p-1022, DBL_MAX,  -DBL_MAX,
									  1, 1 + DBL_EPSILON, 0x1p1023,   -0x1p1023, 0x1p-500, -3};

	switch (f)
	{
		case LATTICE:
			return check_below(6);
		case CHAIN:
			return before + random_unit() - 0.5;
		case SPREAD:
			return 4 * random_unit();
		default:
			return extremes[check_below((int) (sizeof extremes / sizeof *extremes))];
	}
}

/* Adds a ring of n random points, which may cross itself, without edges of length 0. */
static void
add_random_ring(family f, bool shell, uint32_t n)
{
	double xy[2 * MOST_POINTS] = {0};

	for (uint32_t i = 0; i < n; i++)
		do
			for (int a = 0; a < 2; a++)
				xy[2 * i + (uint32_t) a] =
					random_coordinate(f, i > 0 ? xy[2 * i - 2 + (uint32_t) a] : 0);
		while ((i > 0 && xy[2 * i] == xy[2 * i - 2] && xy[2 * i + 1] == xy[2 * i - 1]) ||
			   (i + 1 == n && xy[2 * i] == xy[0] && xy[2 * i + 1] == xy[1]));
	add_ring(shell, xy, n);
}

/* Builds rows with different numbers of rings and edges. */
static const rb_set *
build_random_rows(family f, int rows)
{
	/* The last run of a ring has one edge, some or all, on one to four levels. */
	static const uint32_t sizes[] = {3, 4, 7, 8, 9, 15, 16, 17, 63, 64, 65, 73, 130, 513, 600};

	for (int row = 0; row < rows; row++)
	{
		const int rings = check_below(8) == 0 ? 20 : 1 + check_below(3);

		for (int k = 0; k < rings; k++)
		{
			const int most = rings > 3 ? 7 : 11 + (check_below(6) == 0 ? 4 : 0);

			add_random_ring(f, k == 0 || check_below(3) == 0, sizes[check_below(most)]);
		}
		end_row(row);
	}
	return end_polygons();
}

/* Walks find the same edges as tests of all pairs, with holes, many rings and degenerate positions. */
static void
families_of_rings(void)
{
	rb_contact_room room = {.env = {.filters = RB_FILTER_ALL, .exact = true}};

	for (int f = 0; f < FAMILIES; f++)
	{
		size_t contacts = 0, tangles = 0;

		for (long i = 0; i < check_rounds(80); i++)
		{
			const rb_set *set[2] = {build_random_rows((family) f, 3),
									build_random_rows((family) f, 3)};
			sides s;

			CHECK(open_sides(&s, set[0], set[1]) == RB_OK, "%s", ctx.error.text);
			tangles += s.rings[0].ntangles + s.rings[1].ntangles;
			for (uint32_t p = 0; p < 9; p++)
				contacts += compare_rows(&s, &room, (rb_pair){p / 3, p % 3});
			close_sides(&s);
			/* Rows of one set, also a row with itself */
			CHECK(open_sides(&s, set[0], set[0]) == RB_OK, "%s", ctx.error.text);
			contacts += compare_rows(&s, &room, (rb_pair){0, 1});
			contacts += compare_rows(&s, &room, (rb_pair){2, 2});
			close_sides(&s);
			for (int side = 0; side < 2; side++)
				rb_set_release(&set[side]);
		}
		CHECK(contacts > 100, "%zu contacts in family %d", contacts, f);
		CHECK(tangles > 0 || f != SPREAD, "no tangled rings");
	}
	free_room(&room);
}

/* ---- numbers of visits ---- */

/* Adds a row with a ring of n points around a circle. */
static void
add_circle(uint32_t n, double radius)
{
	double *xy = calloc(2 * (size_t) n, sizeof *xy);

	for (uint32_t i = 0; i < n; i++)
	{
		xy[2 * i] = radius * cos(6.283185307179586 * i / n);
		xy[2 * i + 1] = radius * sin(6.283185307179586 * i / n);
	}
	add_ring(true, xy, n);
	end_row(0);
	free(xy);
}

/* Adds a row with a band along a square spiral of a number of sides, which starts at (x, x). */
static void
add_spiral(uint32_t nsides, double x)
{
	const uint32_t n = 2 * nsides;
	double *xy = calloc(2 * (size_t) n, sizeof *xy), at[2] = {x, x};

	for (uint32_t i = 0; i < nsides; i++)
	{
		/* The inner border runs back along the outer one. */
		const uint32_t turn = i % 4;

		memcpy(xy + 2 * i, at, sizeof at);
		xy[2 * (n - 1 - i)] = at[0] + (turn == 0 || turn == 3 ? 0.25 : -0.25);
		xy[2 * (n - 1 - i) + 1] = at[1] + (turn < 2 ? 0.25 : -0.25);
		at[turn % 2] += (turn < 2 ? 1 : -1) * (double) (i / 2 + 1);
	}
	add_ring(true, xy, n);
	end_row(0);
	free(xy);
}

/* Returns the number of visits of a walk over the first rows of two sets, which it releases. */
static uint64_t
count_visits(const rb_set *red, const rb_set *blue, size_t *contacts)
{
	rb_contact_room room = {.env = {.filters = RB_FILTER_ALL, .exact = true}};
	sides s;
	uint64_t visited;

	CHECK(open_sides(&s, red, blue) == RB_OK, "%s", ctx.error.text);
	CHECK(rb_edges_walk(&ctx, s.of, (rb_pair){0, 0}, &room) == RB_OK, "%s", ctx.error.text);
	*contacts = room.contacts.n;
	visited = room.visited;
	free_room(&room);
	close_sides(&s);
	rb_set_release(&red);
	rb_set_release(&blue);
	return visited;
}

/* A small ring reaches the edges near it on a large one, in either order, in logarithmic time. */
static void
small_on_large(void)
{
	const uint32_t n = 1 << 17;

	for (int turned = 0; turned < 2; turned++)
		for (int i = 0; i < 200; i++)
		{
			const double angle = random_unit() * 6.28, r = i % 2 == 0 ? 1 : 0.9;
			const rb_set *set[2];
			size_t contacts;
			uint64_t visited;

			add_circle(n, 1);
			set[turned] = end_polygons();
			add_square(true, r * cos(angle) - 5e-5, r * sin(angle) - 5e-5, 1e-4);
			end_row(0);
			set[!turned] = end_polygons();
			visited = count_visits(set[0], set[1], &contacts);
			CHECK(i % 2 == 0 ? contacts >= 2 : contacts == 0, "%zu contacts", contacts);
			CHECK(visited < 100, "%d visits", (int) visited);
		}
}

/* Walks over two spirals, one of which runs along the other, take linear time. */
static void
spirals(void)
{
	for (uint32_t n = 100; n <= 12800; n *= 2)
	{
		const rb_set *set[2];
		size_t contacts;
		uint64_t visited;

		add_spiral(n, 0);
		set[0] = end_polygons();
		add_spiral(n, 0.125);
		set[1] = end_polygons();
		visited = count_visits(set[0], set[1], &contacts);
		CHECK(contacts > 0, "no contacts");
		CHECK(visited < 40 * (uint64_t) n, "%d visits for %u edges", (int) visited, 2 * n);
	}
}

/* ---- stops and memory ---- */

/* Adds a row with a comb of n teeth of length 1 along an axis. */
static void
add_comb(uint32_t n, uint32_t axis)
{
	double *xy = calloc(4 * (size_t) n + 4, sizeof *xy);

	for (uint32_t i = 0; i < 2 * n + 2; i++)
	{
		xy[2 * i + axis] = i < 2 * n ? 0.5 * i / n : i == 2 * n ? 1 : 0;
		xy[2 * i + !axis] = i < 2 * n ? (i % 2 == 0 ? 0 : 1) : -1;
	}
	add_ring(true, xy, 2 * n + 2);
	end_row(0);
	free(xy);
}

/* A walk over rings with many contacts stops soon, and so does the order of contacts. */
static void
stop_of_walks(void)
{
	rb_contact_room room = {.env = {.filters = RB_FILTER_ALL, .exact = true}};
	const rb_set *set[2];
	sides s;
	rb_plane_join w = {.ctx = &ctx};

	add_comb(500, 0);
	set[0] = end_polygons();
	add_comb(500, 1);
	set[1] = end_polygons();
	CHECK(open_sides(&s, set[0], set[1]) == RB_OK, "%s", ctx.error.text);
	w.side[0] = s.of[0];
	w.side[1] = s.of[1];
	CHECK(rb_contacts_find(&w, &room, (rb_pair){0, 0}) == RB_OK, "%s", ctx.error.text);
	CHECK(room.contacts.n > 200000, "%zu contacts", room.contacts.n);
	room.visited = 0;
	rb_context_stop(&ctx);
	CHECK(rb_edges_walk(&ctx, s.of, (rb_pair){0, 0}, &room) == RB_STOPPED, "not stopped");
	CHECK(room.visited <= 256, "%d visits after a stop", (int) room.visited);
	CHECK(rb_contacts_find(&w, &room, (rb_pair){0, 0}) == RB_STOPPED, "not stopped");
	CHECK(room.turned.n < 2000, "%zu contacts after a stop", room.turned.n);
	rb_context_init(&ctx, memory);
	free_room(&room);
	close_sides(&s);
	for (int side = 0; side < 2; side++)
		rb_set_release(&set[side]);
}

/* A walk that is refused memory fails, and leaves none behind. */
static void
little_memory(void)
{
	int refused = 0;
	rb_status status;
	size_t limit = 1 << 10;

	do
	{
		rb_contact_room room = {.env = {.filters = RB_FILTER_ALL, .exact = true}};
		rb_memory *little = rb_memory_create(limit);
		const rb_set *set[2];
		sides s;

		add_spiral(80, 0);
		set[0] = end_polygons();
		add_comb(40, 0);
		set[1] = end_polygons();
		rb_context_init(&ctx, little);
		status = open_sides(&s, set[0], set[1]);
		if (status == RB_OK)
			status = rb_edges_walk(&ctx, s.of, (rb_pair){0, 0}, &room);
		CHECK(status == RB_OK || status == RB_OVER_BUDGET, "%zu bytes: status %d", limit,
			  (int) status);
		free_room(&room);
		close_sides(&s);
		CHECK(rb_memory_used(little) == 0, "%zu bytes: memory is left", limit);
		rb_memory_destroy(little);
		rb_context_init(&ctx, memory);
		for (int side = 0; side < 2; side++)
			rb_set_release(&set[side]);
		refused += status != RB_OK;
		limit += limit / 7;
	} while (status != RB_OK && limit < 1u << 30);
	CHECK(status == RB_OK && refused > 5, "status %d after %d", (int) status, refused);
}

int
main(void)
{
	memory = rb_memory_create(UINT64_MAX);
	rb_context_init(&ctx, memory);
	rb_builder_init(&builder, memory, RB_EDGE2);
	CHECK(rb_team_open(&ctx, 1, &team) == RB_OK, "no team");
	CHECK_RUN(families_of_rings);
	CHECK_RUN(small_on_large);
	CHECK_RUN(spirals);
	CHECK_RUN(stop_of_walks);
	CHECK_RUN(little_memory);
	rb_team_close(&team);
	rb_builder_free(&builder);
	CHECK(rb_memory_used(memory) == 0, "left behind");
	rb_memory_destroy(memory);
	return check_done();
}
