/*
 * surfaces.c
 *	  Finds the faces of tetrahedra that bound their regions, and the tetrahedra on both sides of
 *	  the faces of facets.
 *
 * A face shared by two tetrahedra of one region does not bound it; any other face does. The rows of
 * a mesh contain neither neighbors nor the orientation of corners. Faces are therefore matched in a
 * hash table, and a predicate determines their outer side.
 */
#include "core/base/sort.h"
#include "core/exact/orient.h"
#include "mesh/formats.h"
#include "mesh/hash_table.h"
#include "mesh/tet.h"

#define CHECK_INTERVAL 4096 /* tetrahedra between two polls for a stop */

/* A tetrahedron with faces that bound its region, and a bit for each such face */
typedef struct open_tet
{
	int64_t region;
	uint32_t tet;
	uint32_t faces;
} open_tet;

/* Returns the region of a tetrahedron; all have region 1 if the mesh has no regions. */
static int64_t
region_of_surface_tet(const rb_mesh_rows *rows, uint32_t tet)
{
	return rows->region != NULL ? rows->region[tet] : 1;
}

/* Clears the bits of faces that two tetrahedra of one region share. */
static rb_status
clear_inner_faces(rb_context *ctx, const rb_mesh_rows *rows, rb_table *table, uint8_t *bits)
{
	for (uint32_t i = 0; i < rows->ntets; i++)
	{
		const uint32_t *tet = rows->tets[i];

		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		for (int f = 0; f < 4; f++)
		{
			const uint8_t *c = rb_face_corners[f];
			uint32_t *there;
			bool fresh;

			RB_TRY(rb_table_insert(ctx, table, tet[c[0]], tet[c[1]], tet[c[2]],
								   4 * i + (uint32_t) f, &there, &fresh));
			if (fresh || *there == RB_NONE)
				continue;
			if (region_of_surface_tet(rows, *there / 4) == region_of_surface_tet(rows, i))
			{
				bits[*there / 4] &= (uint8_t) ~(1u << *there % 4);
				bits[i] &= (uint8_t) ~(1u << f);
			}
			*there = RB_NONE;
		}
	}
	return RB_OK;
}

/* Orders tetrahedra by region. */
static int
by_region(const void *a, const void *b, const void *arg)
{
	const open_tet *x = a, *y = b;

	(void) arg;

	if (x->region != y->region)
		return x->region < y->region ? -1 : 1;
	return (x->tet > y->tet) - (x->tet < y->tet);
}

/* Appends the boundary faces of a tetrahedron, oriented outward. */
static uint64_t
append_faces(rb_exact_env *env, const rb_mesh_rows *rows, const open_tet *o, rb_surface_face *to)
{
	const uint32_t *tet = rows->tets[o->tet];
	const double *p[4];
	uint64_t n = 0;
	bool turned;

	for (int i = 0; i < 4; i++)
		p[i] = rows->points + 3 * (size_t) tet[i];
	turned = rb_orient3d_at(env, p[0], p[1], p[2], p[3]) > 0;
	for (int f = 0; f < 4; f++)
	{
		const uint8_t *c = rb_face_corners[f];

		if ((o->faces >> f & 1) == 0)
			continue;
		to[n].region = o->region;
		to[n].corner[0] = tet[c[0]];
		to[n].corner[1] = tet[c[turned ? 1 : 2]];
		to[n++].corner[2] = tet[c[turned ? 2 : 1]];
	}
	return n;
}

/* Lists the boundary faces of all regions. */
static rb_status
list_faces(rb_context *ctx, const rb_mesh_rows *rows, const uint8_t *bits, open_tet *open,
		   rb_surface_face *faces, uint64_t *n)
{
	rb_exact_env env = {.filters = ctx->filters, .exact = true};
	uint32_t nopen = 0;

	for (uint32_t i = 0; i < rows->ntets; i++)
		if (bits[i] != 0)
			open[nopen++] = (open_tet){region_of_surface_tet(rows, i), i, bits[i]};
	RB_TRY(rb_sort(ctx, open, nopen, sizeof *open, by_region, NULL));
	*n = 0;
	for (uint32_t i = 0; i < nopen; i++)
	{
		*n += append_faces(&env, rows, &open[i], faces + *n);
		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
	}
	return RB_OK;
}

rb_status
rb_mesh_surface(rb_context *ctx, const rb_mesh_rows *rows, rb_surface_face **faces, uint64_t *n)
{
	rb_table table = {0};
	uint8_t *bits = NULL;
	open_tet *open = NULL;
	uint64_t most = 0, nopen = 0;
	rb_status status;

	*faces = NULL;
	*n = 0;
	if (rows->ntets > UINT32_MAX / 4 - 1)
		return rb_fail(ctx, RB_TOO_MANY_OBJECTS, rows->ntets, UINT32_MAX / 4 - 1, NULL);
	status = RB_ALLOCATE(ctx, bits, (size_t) rows->ntets + 1);
	if (status == RB_OK)
	{
		memset(bits, 15, rows->ntets);
		status = rb_table_expect(ctx, &table, 2 * (uint64_t) rows->ntets);
	}
	if (status == RB_OK)
		status = clear_inner_faces(ctx, rows, &table, bits);
	rb_table_free(ctx->memory, &table);
	for (uint32_t i = 0; i < rows->ntets && status == RB_OK; i++)
	{
		most += (uint64_t) __builtin_popcount(bits[i]);
		nopen += bits[i] != 0;
	}
	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, open, nopen + 1);
	if (status == RB_OK)
		status = rb_array(ctx, (void **) faces, most + 1, sizeof **faces);
	if (status == RB_OK)
		status = list_faces(ctx, rows, bits, open, *faces, n);
	RB_FREE(ctx->memory, bits);
	RB_FREE(ctx->memory, open);
	return status;
}

/* ---- sides of faces ---- */

/* Fills a table with the number of each face; of equal faces, with the first number. */
static rb_status
number_faces(rb_context *ctx, const rb_mesh_rows *rows, rb_table *table)
{
	RB_TRY(rb_table_expect(ctx, table, rows->nfaces));
	for (uint32_t i = 0; i < rows->nfaces; i++)
	{
		const uint32_t *v = rows->faces[i];

		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		RB_TRY(rb_table_insert(ctx, table, v[0], v[1], v[2], i, NULL, NULL));
	}
	return RB_OK;
}

/* Finds the sides of all faces in the table, and copies them to equal faces. */
static rb_status
find_sides(rb_context *ctx, const rb_mesh_rows *rows, const rb_table *table, uint32_t (*sides)[2])
{
	for (uint32_t i = 0; i < rows->ntets; i++)
	{
		const uint32_t *tet = rows->tets[i];

		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
		for (uint32_t f = 0; f < 4; f++)
		{
			const uint8_t *c = rb_face_corners[f];
			const uint32_t *face = rb_table_get(table, tet[c[0]], tet[c[1]], tet[c[2]]);

			if (face != NULL && sides[*face][0] == RB_NONE)
				sides[*face][0] = 4 * i + f;
			else if (face != NULL)
				sides[*face][1] = 4 * i + f;
		}
	}
	for (uint32_t i = 0; i < rows->nfaces; i++)
	{
		const uint32_t *v = rows->faces[i];
		const uint32_t first = *rb_table_get(table, v[0], v[1], v[2]);

		if (first != i)
			memcpy(sides[i], sides[first], sizeof sides[i]);
		if (rb_stop_due(ctx, i, CHECK_INTERVAL))
			return RB_STOPPED;
	}
	return RB_OK;
}

rb_status
rb_mesh_face_sides(rb_context *ctx, const rb_mesh_rows *rows, uint32_t (*sides)[2])
{
	rb_table table = {0};
	rb_status status;

	if (rows->ntets > UINT32_MAX / 4 - 1)
		return rb_fail(ctx, RB_TOO_MANY_OBJECTS, rows->ntets, UINT32_MAX / 4 - 1, NULL);
	memset(sides, 0xff, (size_t) rows->nfaces * sizeof *sides);
	status = number_faces(ctx, rows, &table);
	if (status == RB_OK)
		status = find_sides(ctx, rows, &table, sides);
	rb_table_free(ctx->memory, &table);
	return status;
}
