/*
 * gmsh.c
 *	  Writes a mesh in Gmsh's binary MSH 4.1 format: regions become volumes and facets become
 *	  surfaces, each with a physical group.
 *
 * Tags in this format are positive and have 31 bits. If all region ids fit, they are the tags;
 * otherwise tags count from 1 in ascending order of ids. Facet ids are treated likewise. The names
 * of the groups contain the ids in any case. All nodes belong to the first volume, which always
 * exists.
 */
#include "mesh/io/formats.h"

#include "core/base/sort.h"

#include <math.h>

#define TRIANGLE 2 /* Gmsh's element types */
#define TETRAHEDRON 4
#define GROUP_ROOM 256 /* upper bound of a group's size in all sections, in bytes */

/* Numbers of ids, which are given as an array */
#define RB_HASH id_table
#define RB_HASH_SLOT uint32_t
#define RB_HASH_KEY int64_t
#define RB_HASH_ARG const int64_t *
#define RB_HASH_OF(ids, wanted) rb_mix((uint64_t) (wanted))
#define RB_HASH_EQUAL(ids, slot, wanted) (ids[slot] == (wanted))
#define RB_HASH_KEY_OF(ids, slot) (ids[slot])
#define RB_HASH_NUMBERED
#include "core/base/hash.h"

/* Groups of the elements of one dimension */
typedef struct groups
{
	const int64_t *of; /* id of each element, or NULL if all are in group 1 */
	uint32_t n;        /* number of elements */
	uint32_t corners;
	const uint32_t *corner;
	int64_t *id; /* distinct ids, in ascending order */
	uint32_t nid;
	size_t id_cap;
	id_table table;  /* numbers of the ids */
	uint32_t *count; /* number of elements per group; later the next position */
	double (*box)[6];
	bool ids_are_tags;
} groups;

static int64_t
id_of(const groups *g, uint32_t i)
{
	return g->of == NULL ? 1 : g->of[i];
}

/* Returns the group of an element. */
static uint32_t
group_of(const groups *g, uint32_t i)
{
	return *id_table_find(&g->table, g->id, id_of(g, i));
}

static rb_status
find_groups(rb_context *ctx, groups *g, bool always)
{
	for (uint32_t i = 0; i < g->n; i++)
	{
		uint32_t *number;

		if (rb_stop_due(ctx, i, 65536))
			return RB_STOPPED;
		RB_TRY(id_table_reserve(ctx, &g->table, g->id, 1));
		number = id_table_find(&g->table, g->id, id_of(g, i));
		if (*number != RB_HASH_FREE)
			continue;
		RB_TRY(RB_GROW(ctx, g->id, g->id_cap, (size_t) g->nid + 1));
		g->id[g->nid] = id_of(g, i);
		*number = g->nid++;
		g->table.n++;
	}
	if (g->nid == 0 && always)
	{
		RB_TRY(RB_GROW(ctx, g->id, g->id_cap, 1));
		g->id[g->nid++] = 1;
	}
	RB_TRY(rb_sort_ids(ctx, g->id, g->nid));
	g->table.n = g->nid;
	RB_TRY(id_table_grow(ctx, &g->table, g->id, g->nid));
	g->ids_are_tags = g->nid == 0 || (g->id[0] > 0 && g->id[g->nid - 1] <= INT32_MAX);
	RB_TRY(RB_ALLOCATE(ctx, g->count, (size_t) g->nid + 1));
	return RB_ALLOCATE(ctx, g->box, (size_t) g->nid + 1);
}

/* Computes the number of elements and the bounding box of each group. */
static rb_status
measure_groups(rb_context *ctx, groups *g, const rb_mesh_rows *rows)
{
	for (uint32_t i = 0; i < g->nid; i++)
	{
		g->count[i] = 0;
		for (int j = 0; j < 3; j++)
		{
			g->box[i][j] = HUGE_VAL;
			g->box[i][j + 3] = -HUGE_VAL;
		}
	}
	for (uint32_t i = 0; i < g->n; i++)
	{
		uint32_t k = group_of(g, i);

		g->count[k]++;
		for (uint32_t c = 0; c < g->corners; c++)
			for (int j = 0; j < 3; j++)
			{
				double x =
					rows->points[3 * (size_t) g->corner[(size_t) g->corners * i + c] + (size_t) j];

				g->box[k][j] = fmin(g->box[k][j], x);
				g->box[k][j + 3] = fmax(g->box[k][j + 3], x);
			}
		if (i % 65536 == 65535 && rb_should_stop(ctx))
			return RB_STOPPED;
	}
	for (uint32_t i = 0; i < g->nid; i++)
		if (g->count[i] == 0)
			memset(g->box[i], 0, sizeof(g->box[i]));
	return RB_OK;
}

static uint32_t
tag_of(const groups *g, uint32_t k)
{
	return g->ids_are_tags ? (uint32_t) g->id[k] : k + 1;
}

static void
append_u64(rb_buffer *to, uint64_t x)
{
	rb_le64(to->bytes + to->n, x);
	to->n += 8;
}

static void
append_u32(rb_buffer *to, uint32_t x)
{
	rb_le32(to->bytes + to->n, x);
	to->n += 4;
}

static void
append_names(rb_buffer *to, const groups *g, int dimension, const char *word)
{
	for (uint32_t i = 0; i < g->nid; i++)
		rb_buffer_append_text(to, "%d %u \"%s %lld\"\n", dimension, tag_of(g, i), word,
							  (long long) g->id[i]);
}

/* Writes each entity with a physical group of the same tag, and without its boundary. */
static void
append_entities(rb_buffer *to, const groups *g)
{
	for (uint32_t i = 0; i < g->nid; i++)
	{
		append_u32(to, tag_of(g, i));
		for (int j = 0; j < 6; j++)
		{
			rb_le_double(to->bytes + to->n, g->box[i][j]);
			to->n += 8;
		}
		append_u64(to, 1);
		append_u32(to, tag_of(g, i));
		append_u64(to, 0);
	}
}

static rb_status
append_nodes(rb_context *ctx, rb_buffer *to, const rb_mesh_rows *rows, uint32_t volume)
{
	uint8_t *at;

	rb_buffer_append_text(to, "$Nodes\n");
	append_u64(to, rows->npoints > 0);
	append_u64(to, rows->npoints);
	append_u64(to, rows->npoints > 0);
	append_u64(to, rows->npoints);
	if (rows->npoints > 0)
	{
		append_u32(to, 3);
		append_u32(to, volume);
		append_u32(to, 0); /* the entity has no parametric coordinates */
		append_u64(to, rows->npoints);
	}
	at = to->bytes + to->n;
	for (uint32_t i = 0; i < rows->npoints; i++)
		at = rb_le64(at, (uint64_t) i + 1);
	if (rb_should_stop(ctx))
		return RB_STOPPED;
	for (uint32_t i = 0; i < rows->npoints; i++)
	{
		for (int j = 0; j < 3; j++)
			at = rb_le_double(at, rows->points[3 * (size_t) i + (size_t) j]);
		if (i % 65536 == 65535 && rb_should_stop(ctx))
			return RB_STOPPED;
	}
	to->n = (size_t) (at - to->bytes);
	rb_buffer_append_text(to, "\n$EndNodes\n");
	return RB_OK;
}

/* Writes one block per group; each element is written directly to its final position. */
static rb_status
append_elements(rb_context *ctx, rb_buffer *to, groups *g, int dimension, int type, uint64_t first)
{
	size_t record = 8 * ((size_t) g->corners + 1), base = to->n;
	uint32_t sum = 0;

	for (uint32_t i = 0; i < g->nid; i++)
	{
		uint32_t count = g->count[i];

		if (count == 0)
			continue;
		append_u32(to, (uint32_t) dimension);
		append_u32(to, tag_of(g, i));
		append_u32(to, (uint32_t) type);
		append_u64(to, count);
		to->n += count * record;
		/* The position of an element must account for the blocks before it and their headers. */
		g->count[i] = sum;
		sum += count;
	}
	for (uint32_t i = 0; i < g->n; i++)
	{
		uint32_t k = group_of(g, i), at = g->count[k]++;
		uint8_t *p = to->bytes + base + at * record + 20 * ((size_t) k + 1);

		p = rb_le64(p, first + at);
		for (uint32_t c = 0; c < g->corners; c++)
			p = rb_le64(p, (uint64_t) g->corner[(size_t) g->corners * i + c] + 1);
		if (i % 65536 == 65535 && rb_should_stop(ctx))
			return RB_STOPPED;
	}
	return RB_OK;
}

uint64_t
rb_mesh_gmsh_bytes(const rb_mesh_rows *rows, uint64_t regions, uint64_t facets)
{
	return 1024 + 32 * (uint64_t) rows->npoints + 40 * (uint64_t) rows->ntets +
		   32 * (uint64_t) rows->nfaces + GROUP_ROOM * (regions + facets + 1);
}

static rb_status
write_all(rb_context *ctx, const rb_mesh_rows *rows, groups *facets, groups *regions, rb_buffer *to)
{
	uint64_t elements = (uint64_t) rows->ntets + rows->nfaces;

	RB_TRY(find_groups(ctx, facets, false));
	RB_TRY(find_groups(ctx, regions, true));
	RB_TRY(measure_groups(ctx, facets, rows));
	RB_TRY(measure_groups(ctx, regions, rows));
	RB_TRY(rb_buffer_reserve(ctx, to, rb_mesh_gmsh_bytes(rows, regions->nid, facets->nid)));
	rb_buffer_append_text(to, "$MeshFormat\n4.1 1 8\n");
	append_u32(to, 1);
	rb_buffer_append_text(to, "\n$EndMeshFormat\n$PhysicalNames\n%u\n", facets->nid + regions->nid);
	append_names(to, facets, 2, "facet");
	append_names(to, regions, 3, "region");
	rb_buffer_append_text(to, "$EndPhysicalNames\n$Entities\n");
	append_u64(to, 0);
	append_u64(to, 0);
	append_u64(to, facets->nid);
	append_u64(to, regions->nid);
	append_entities(to, facets);
	append_entities(to, regions);
	rb_buffer_append_text(to, "\n$EndEntities\n");
	RB_TRY(append_nodes(ctx, to, rows, tag_of(regions, 0)));
	rb_buffer_append_text(to, "$Elements\n");
	append_u64(to, facets->nid + (rows->ntets > 0 ? regions->nid : 0));
	append_u64(to, elements);
	append_u64(to, elements > 0);
	append_u64(to, elements);
	RB_TRY(append_elements(ctx, to, facets, 2, TRIANGLE, 1));
	RB_TRY(append_elements(ctx, to, regions, 3, TETRAHEDRON, (uint64_t) rows->nfaces + 1));
	rb_buffer_append_text(to, "\n$EndElements\n");
	return RB_OK;
}

rb_status
rb_mesh_gmsh(rb_context *ctx, const rb_mesh_rows *rows, rb_buffer *to)
{
	groups both[2] = {{.of = rows->facet,
					   .n = rows->nfaces,
					   .corners = 3,
					   .corner = (const uint32_t *) rows->faces},
					  {.of = rows->region,
					   .n = rows->ntets,
					   .corners = 4,
					   .corner = (const uint32_t *) rows->tets}};
	size_t start = to->n;
	rb_status status = rb_mesh_rows_check(ctx, rows);

	if (status == RB_OK)
		status = write_all(ctx, rows, &both[0], &both[1], to);
	for (int i = 0; i < 2; i++)
	{
		RB_FREE(ctx->memory, both[i].id);
		id_table_free(ctx->memory, &both[i].table);
		RB_FREE(ctx->memory, both[i].count);
		RB_FREE(ctx->memory, both[i].box);
	}
	if (status != RB_OK)
		to->n = start;
	return status;
}
