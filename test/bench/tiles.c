/*
 * tiles.c
 *	  Measures the costs of tiles that are computed from a sample: how many rows lie in several
 *	  tiles, and how balanced the tiles are.
 *
 *	  tiles [OPTION...] RED [BLUE [SX SY SZ]]
 *
 *	-n N,N,...	numbers of tiles (4,16,64,256,1024,4096)
 *	-s ROWS		sample size of each side (that of redblue_tiles)
 *	-p			also count pairs, and print the heaviest tile over the mean
 *	--row NAME	print a row of a table that begins with this name
 *	--head		print only the head of that table
 *	-d D		number of dimensions that rows fill, for the formula: 2 on the ground, or 3
 *
 * Objects are those of input.h. The formula is that of doc/scale.md: n tiles are n^(1/D) along each
 * of D axes, and a cut intersects a fraction e of all rows, so that there are (1 + (n^(1/D) - 1)
 * e)^D copies of a row. e is measured with 64 tiles. N^(1/D) e, for N rows, is printed after each
 * row; it does not depend on N if larger data is similar.
 */
#include "core/join/join.h"
#include "core/primitive/box.h"
#include "input.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NUMBERS 20

/* Tiles in the order of their tree: a part of them, and their bounding box */
typedef struct node
{
	double low[3];
	double high[3];
} node;

static rb_kd_tile *tile;
static node *tree; /* The children of i are 2 i and 2 i + 1 */
static int dims;
static uint64_t *rows;
static uint64_t *pairs;

static void
fail(const char *what)
{
	fprintf(stderr, "tiles: %s\n", what);
	exit(1);
}

static void
make_tree(uint32_t i, uint32_t from, uint32_t n)
{
	if (n == 1)
	{
		memcpy(tree[i].low, tile[from].low, sizeof(tree[i].low));
		memcpy(tree[i].high, tile[from].high, sizeof(tree[i].high));
		return;
	}
	make_tree(2 * i, from, n / 2);
	make_tree(2 * i + 1, from + n / 2, n - n / 2);
	for (int a = 0; a < 3; a++)
	{
		tree[i].low[a] = fmin(tree[2 * i].low[a], tree[2 * i + 1].low[a]);
		tree[i].high[a] = fmax(tree[2 * i].high[a], tree[2 * i + 1].high[a]);
	}
}

/* Counts each tile of this part that meets the box. */
static void
count(uint64_t *to, const double low[3], const double high[3], uint32_t i, uint32_t from,
	  uint32_t n)
{
	if (!rb_tile_meets(dims, low, high, tree[i].low, tree[i].high))
		return;
	if (n == 1)
	{
		to[from]++;
		return;
	}
	count(to, low, high, 2 * i, from, n / 2);
	count(to, low, high, 2 * i + 1, from + n / 2, n - n / 2);
}

typedef struct job
{
	const rb_set *side[2];
	uint32_t n;
} job;

/* A pair is represented by its reference point. */
static rb_status
put(void *user, const rb_pair *found, size_t n)
{
	const job *j = user;

	for (size_t i = 0; i < n; i++)
	{
		double low[2][3], high[3], at[3] = {0, 0, 0};

		rb_object_box(j->side[0], rb_pair_red(found[i]), 0, low[0], high);
		rb_object_box(j->side[1], found[i].blue, 0, low[1], high);
		for (int a = 0; a < dims; a++)
			at[a] = fmax(low[0][a], low[1][a]);
		count(pairs, at, at, 1, 0, j->n);
	}
	return RB_OK;
}

/* Returns the boxes of some rows, or of all. */
static rb_set
boxes_of(const rb_set *from, uint32_t n)
{
	rb_set s = {.kind = rb_kind_dims(from->kind) == 2 ? RB_BOX2 : RB_BOX3};
	double *x = malloc((size_t) (n < from->nparts ? n : from->nparts) * 6 * sizeof(double) + 1);

	s.nparts = s.nrows = n < from->nparts ? n : from->nparts;
	s.coords = x;
	for (uint32_t i = 0; i < s.nparts; i++)
	{
		const uint64_t first = (uint64_t) i * from->nparts / s.nparts;
		const uint64_t end = (uint64_t) (i + 1) * from->nparts / s.nparts;
		/* One row of each interval */
		const uint32_t row =
			(uint32_t) (first + (i * UINT64_C(0x9e3779b97f4a7c15) >> 20) % (end - first));
		double low[3], high[3];

		rb_object_box(from, row, 0, low, high);
		memcpy(x, low, (size_t) dims * sizeof(double));
		memcpy(x + dims, high, (size_t) dims * sizeof(double));
		x += 2 * dims;
	}
	return s;
}

static void
cut(const rb_set *red, const rb_set *blue, rb_memory *memory, uint32_t n, uint32_t sample)
{
	rb_set some[2] = {boxes_of(red, sample)};
	rb_kd_job job = {.sample = {&some[0], NULL}, .rows = {red->nrows, 0}, .n = n};
	rb_context ctx;

	rb_context_init(&ctx, memory);
	if (blue != NULL)
	{
		some[1] = boxes_of(blue, sample);
		job.sample[1] = &some[1];
		job.rows[1] = blue->nrows;
	}
	if (rb_kd_tiles(&ctx, &job, tile) != RB_OK)
		fail("no tiles");
	free((void *) some[0].coords);
	free((void *) some[1].coords);
}

/* Joins the boxes of all parts. */
static void
count_pairs(const rb_set *red, const rb_set *blue, rb_memory *memory, uint32_t n)
{
	rb_set all[2] = {boxes_of(red, UINT32_MAX), boxes_of(blue != NULL ? blue : red, UINT32_MAX)};
	job j = {{&all[0], &all[1]}, n};
	rb_job boxes = {.red = &all[0], .blue = blue != NULL ? &all[1] : NULL, .predicate = RB_MEET};
	rb_sink sink = {.put = put, .user = &j};
	rb_context ctx;

	rb_context_init(&ctx, memory);
	ctx.threads = 1;
	if (rb_backend_cpu.join(&ctx, &boxes, &sink) != RB_OK)
		fail("no join");
	free((void *) all[0].coords);
	free((void *) all[1].coords);
}

static void
count_rows(const rb_set *set, uint32_t n)
{
	for (uint32_t i = 0; i < set->nparts; i++)
	{
		double low[3], high[3];

		rb_object_box(set, i, 0, low, high);
		count(rows, low, high, 1, 0, n);
	}
}

typedef struct row
{
	uint32_t n;
	double copies;
	double most;     /* Largest number of rows of a tile, over the mean */
	double heaviest; /* Largest cost of a tile, over the mean; NAN if it was not measured */
} row;

static void
print_rows(const char *name, const row *r, int n, double all, double fills)
{
	double share = 0;

	/* The fraction comes from the line with 64 tiles, or else from the last one. */
	for (int k = 0; k < n && (k == 0 || r[k - 1].n != 64); k++)
		share = (pow(r[k].copies, 1 / fills) - 1) / (pow(r[k].n, 1 / fills) - 1);
	for (int k = 0; k < n; k++)
	{
		printf("| %s | %u | %.0f | %.4f | %.4f | %.2f |", k == 0 ? name : "", r[k].n, all / r[k].n,
			   r[k].copies, pow(1 + (pow(r[k].n, 1 / fills) - 1) * share, fills), r[k].most);
		if (isnan(r[k].heaviest))
			printf(" | %.3f |\n", share * pow(all, 1 / fills));
		else
			printf(" %.3f | %.3f |\n", r[k].heaviest, share * pow(all, 1 / fills));
	}
}

int
main(int argc, char **argv)
{
	static const double no_shift[3] = {0, 0, 0};
	uint32_t number[MOST_NUMBERS] = {4, 16, 64, 256, 1024, 4096};
	int numbers = 6, files = 0;
	uint32_t sample = 0;
	bool with_pairs = false;
	const char *name = "", *file[2] = {NULL, NULL};
	double shift[3] = {0, 0, 0}, fills = 3;
	row result[MOST_NUMBERS];
	rb_set red, blue;
	rb_memory *memory = rb_memory_create(UINT64_C(1) << 40);

	for (int i = 1; i < argc; i++)
	{
		if (strcmp(argv[i], "--head") == 0)
		{
			printf(
				"| | tiles | rows a tile | copies of a row | by the formula | most rows / mean | heaviest / mean | N^(1/D) e |\n"
				"|---|---:|---:|---:|---:|---:|---:|---:|\n");
			return 0;
		}
		else if (strcmp(argv[i], "-p") == 0)
			with_pairs = true;
		else if (strcmp(argv[i], "-s") == 0 && i + 1 < argc)
			sample = (uint32_t) atol(argv[++i]);
		else if (strcmp(argv[i], "-d") == 0 && i + 1 < argc)
			fills = atof(argv[++i]);
		else if (strcmp(argv[i], "--row") == 0 && i + 1 < argc)
			name = argv[++i];
		else if (strcmp(argv[i], "-n") == 0 && i + 1 < argc)
		{
			numbers = 0;
			for (char *s = strtok(argv[++i], ","); s != NULL && numbers < MOST_NUMBERS;
				 s = strtok(NULL, ","))
				number[numbers++] = (uint32_t) atol(s);
		}
		else if (files < 2)
			file[files++] = argv[i];
		else if (files < 5)
			shift[files++ - 2] = atof(argv[i]);
	}
	if (file[0] == NULL || memory == NULL)
		fail("which file?");
	if (!read_objects(file[0], RB_TRIANGLE3, no_shift, &red) ||
		(file[1] != NULL && !read_objects(file[1], RB_TRIANGLE3, shift, &blue)))
		return 1;
	dims = rb_kind_dims(red.kind);
	for (int k = 0; k < numbers; k++)
	{
		const uint32_t n = number[k];
		const double all = red.nrows + (file[1] != NULL ? (double) blue.nrows : 0);
		double sum = 0, most = 0, cost = 0, heaviest = 0;
		uint32_t look = sample != 0 ? sample : n * 1024 > 65536 ? n * 1024 : 65536;

		tile = calloc(n, sizeof(*tile));
		tree = calloc(4 * (size_t) n, sizeof(*tree));
		rows = calloc(n, sizeof(*rows));
		pairs = calloc(n, sizeof(*pairs));
		cut(&red, file[1] != NULL ? &blue : NULL, memory, n, look < 1 << 20 ? look : 1 << 20);
		make_tree(1, 0, n);
		count_rows(&red, n);
		if (file[1] != NULL)
			count_rows(&blue, n);
		if (with_pairs)
			count_pairs(&red, file[1] != NULL ? &blue : NULL, memory, n);
		for (uint32_t i = 0; i < n; i++)
		{
			const double one = (double) rows[i] + RB_TILE_PAIR_COST * (double) pairs[i];

			sum += (double) rows[i];
			most = fmax(most, (double) rows[i]);
			cost += one;
			heaviest = fmax(heaviest, one);
		}
		result[k] = (row){n, sum / all, most * n / sum, with_pairs ? heaviest * n / cost : NAN};
		free(tile);
		free(tree);
		free(rows);
		free(pairs);
	}
	print_rows(name, result, numbers, (double) red.nrows + (file[1] != NULL ? blue.nrows : 0),
			   fills);
	return 0;
}
