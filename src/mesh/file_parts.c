/*
 * file_parts.c
 *	  Appends bytes and text to the buffer of a mesh file, checks the corners of its elements, and
 *	  numbers the groups of elements.
 *
 * Tags of groups are positive and have 31 bits, as Gmsh and FEniCS need them. If all ids fit, they
 * are the tags; otherwise tags count from 1 in ascending order of ids.
 */
#include "mesh/file_parts.h"

#include "core/base/sort.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- bytes and text ---- */

rb_status
rb_file_reserve(rb_context *ctx, rb_buffer *b, uint64_t more)
{
	rb_status status;

	if (more <= b->cap - b->n)
		return RB_OK;
	if (more > SIZE_MAX - b->n)
		return rb_fail(ctx, RB_OVER_BUDGET, UINT64_MAX, rb_memory_limit(ctx->memory), NULL);
	status = RB_ALLOCATE(ctx, b->bytes, b->n + (size_t) more);
	if (status == RB_OK)
		b->cap = b->n + (size_t) more;
	return status;
}

void
rb_file_text(rb_buffer *b, const char *format, ...)
{
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf((char *) b->bytes + b->n, b->cap - b->n, format, list);
	va_end(list);
	if (n > 0 && (size_t) n < b->cap - b->n)
		b->n += (size_t) n;
}

/* ---- elements ---- */

rb_status
rb_file_check_corners(rb_context *ctx, const rb_mesh_rows *rows)
{
	uint32_t worst = 0;

	for (uint32_t i = 0; i < rows->ntets; i++)
	{
		for (int j = 0; j < 4; j++)
			worst = rows->tets[i][j] > worst ? rows->tets[i][j] : worst;
		if (rb_stop_due(ctx, i, 65536))
			return RB_STOPPED;
	}
	if (rows->ntets > 0 && worst >= rows->npoints)
		return rb_fail(ctx, RB_BAD_GEOMETRY, 0, 0,
					   "a corner of a tetrahedron is not a vertex of the mesh");
	worst = 0;
	for (uint32_t i = 0; i < rows->nfaces; i++)
	{
		for (int j = 0; j < 3; j++)
			worst = rows->faces[i][j] > worst ? rows->faces[i][j] : worst;
		if (rb_stop_due(ctx, i, 65536))
			return RB_STOPPED;
	}
	if (rows->nfaces > 0 && worst >= rows->npoints)
		return rb_fail(ctx, RB_BAD_GEOMETRY, 0, 0,
					   "a corner of a face is not a vertex of the mesh");
	return RB_OK;
}

rb_file_groups
rb_file_facet_groups(const rb_mesh_rows *rows)
{
	return (rb_file_groups){.word = "facet",
							.of = rows->facet_labels != NULL ? rows->facet_labels->of : rows->facet,
							.labels = rows->facet_labels,
							.n = rows->nfaces,
							.corners = 3,
							.corner = (const uint32_t *) rows->faces};
}

rb_file_groups
rb_file_region_groups(const rb_mesh_rows *rows)
{
	return (rb_file_groups){.word = "region",
							.of = rows->region_labels != NULL ? rows->region_labels->of
															  : rows->region,
							.labels = rows->region_labels,
							.n = rows->ntets,
							.corners = 4,
							.corner = (const uint32_t *) rows->tets};
}

rb_status
rb_file_groups_number(rb_context *ctx, rb_file_groups *g, bool always)
{
	for (uint32_t i = 0; i < g->n; i++)
	{
		const int64_t id = g->of == NULL ? 1 : g->of[i];
		uint32_t *number;

		if (rb_stop_due(ctx, i, 65536))
			return RB_STOPPED;
		if (g->labels != NULL && id == RB_MESH_NO_LABEL)
		{
			g->has_rest = true;
			continue;
		}
		RB_TRY(rb_file_ids_reserve(ctx, &g->table, g->id, 1));
		number = rb_file_ids_find(&g->table, g->id, id);
		if (*number != RB_HASH_FREE)
			continue;
		RB_TRY(RB_GROW(ctx, g->id, g->id_cap, (size_t) g->nid + 1));
		g->id[g->nid] = id;
		*number = g->nid++;
		g->table.n++;
	}
	if (g->nid == 0 && !g->has_rest && always)
	{
		RB_TRY(RB_GROW(ctx, g->id, g->id_cap, 1));
		g->id[g->nid++] = 1;
	}
	RB_TRY(rb_sort_ids(ctx, g->id, g->nid));
	g->table.n = g->nid;
	RB_TRY(rb_file_ids_grow(ctx, &g->table, g->id, g->nid));
	g->ids_are_tags =
		g->nid == 0 || (g->id[0] > 0 && g->id[g->nid - 1] <= INT32_MAX - (int64_t) g->has_rest);
	return RB_OK;
}

void
rb_file_groups_free(rb_memory *memory, rb_file_groups *g)
{
	RB_FREE(memory, g->id);
	rb_file_ids_free(memory, &g->table);
}

uint32_t
rb_file_group_tag(const rb_file_groups *g, uint32_t k)
{
	if (!g->ids_are_tags || g->nid == 0)
		return k + 1;
	return k < g->nid ? (uint32_t) g->id[k] : (uint32_t) g->id[k - 1] + 1;
}

const char *
rb_file_group_label(const rb_file_groups *g, uint32_t k)
{
	size_t i;

	if (g->labels == NULL)
		return NULL;
	if (k >= g->nid)
		return "no group";
	i = rb_ids_lower_bound(g->labels->id, g->labels->n, g->id[k]);
	return i < g->labels->n && g->labels->id[i] == g->id[k] ? g->labels->text[i] : NULL;
}

uint64_t
rb_file_groups_label_bytes(const rb_file_groups *g)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; g->labels != NULL && i < g->labels->n; i++)
		sum += strlen(g->labels->text[i]);
	return sum;
}
