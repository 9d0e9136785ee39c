/*
 * cavity.c
 *	  Recovers a region of a facet that the mesh lacks: removes the tetrahedra that cross it and
 *	  fills the cavity on both sides.
 *
 * Each of these tetrahedra has an edge that crosses the region, because the region's boundary edges
 * are edges of the mesh, which nothing can cross, and no vertex lies inside the region. The search
 * proceeds from a crossing edge to the tetrahedra around it and to their crossing edges. The
 * region's boundary divides the cavity's boundary into the faces with corners above and those with
 * corners below.
 *
 * The method follows Diazzi et al. and Si, Gaertner (recover.h).
 */
#include "mesh/recover.h"

/* A cavity may grow to MAX_GROWTH_FACTOR times its initial size plus MAX_EXTRA_TETS tetrahedra */
#define MAX_GROWTH_FACTOR 2
#define MAX_EXTRA_TETS 256

/* Position of a point relative to the region */
enum
{
	POSITION_UNKNOWN,
	POSITION_ON, /* a corner of the region */
	POSITION_ABOVE,
	POSITION_BELOW
};

typedef struct rb_crossing_edge
{
	uint32_t x, y; /* ends of an edge that crosses the region */
	uint32_t tet;  /* a tetrahedron with this edge */
} rb_crossing_edge;

struct rb_cavity_work
{
	uint8_t *place; /* position of each point; unknown for all points between two calls */
	size_t place_cap;
	uint32_t *placed; /* points with a known position */
	uint32_t nplaced;
	size_t placed_cap;
	uint32_t *tets; /* tetrahedra of the cavity, which are marked in the mesh */
	uint32_t ntets;
	size_t tets_cap;
	rb_crossing_edge *crossings;
	uint32_t ncrossings;
	size_t crossings_cap;
	rb_table tested; /* edges already tested for crossing */
	rb_table border; /* boundary edges of the region */
	uint32_t *faces; /* sheet faces of the region */
	uint32_t nfaces;
	size_t faces_cap;
	double (*box)[6]; /* bounding box of each face */
	size_t box_cap;
	uint32_t *new_tet[2]; /* mesh indices of the new tetrahedra of each half */
	size_t new_tet_cap[2];
	uint32_t *sheet_side; /* for each face of the region, the adjacent face of the upper half */
	size_t sheet_side_cap;
	rb_cavity_half half[2]; /* the half above the region and the half below */
};

rb_status
rb_cavity_open(rb_recovery *r, rb_cavity_work **work)
{
	void *block = NULL;
	rb_status status = rb_array(r->ctx, &block, 1, sizeof(rb_cavity_work));

	if (status == RB_OK)
		memset(block, 0, sizeof(rb_cavity_work));
	*work = block;
	return status;
}

void
rb_cavity_close(rb_recovery *r, rb_cavity_work **work)
{
	rb_memory *memory = r->ctx->memory;
	rb_cavity_work *w = *work;

	if (w == NULL)
		return;
	RB_FREE(memory, w->place);
	RB_FREE(memory, w->placed);
	RB_FREE(memory, w->tets);
	RB_FREE(memory, w->crossings);
	rb_table_free(memory, &w->tested);
	rb_table_free(memory, &w->border);
	RB_FREE(memory, w->faces);
	RB_FREE(memory, w->box);
	RB_FREE(memory, w->sheet_side);
	for (int side = 0; side < 2; side++)
	{
		RB_FREE(memory, w->new_tet[side]);
		rb_half_free(memory, &w->half[side]);
	}
	rb_free(memory, (void **) work);
}

/* ---- positions ---- */

/* Sets the position of a vertex relative to the facet, unless it is known. */
static rb_status
set_side_of_cavity_vertex(rb_recovery *r, rb_cavity_work *w, uint32_t v, uint8_t place)
{
	if (w->place[v] != POSITION_UNKNOWN)
		return RB_OK;
	w->place[v] = place;
	w->placed[w->nplaced++] = v;
	return RB_GROW(r->ctx, w->placed, w->placed_cap, (size_t) w->nplaced + 1);
}

/* Empties the cavity and makes room for positions of all points. */
static rb_status
begin_cavity(rb_recovery *r, rb_cavity_work *w)
{
	size_t had = w->place_cap;

	RB_TRY(RB_GROW(r->ctx, w->place, w->place_cap, (size_t) r->mesh.npoints + 1));
	if (w->place_cap > had)
		memset(w->place + had, POSITION_UNKNOWN, w->place_cap - had);
	RB_TRY(RB_GROW(r->ctx, w->placed, w->placed_cap, 1));
	w->nplaced = w->ntets = w->ncrossings = w->nfaces = 0;
	rb_table_empty(&w->tested);
	rb_table_empty(&w->border);
	return RB_OK;
}

/* Removes the marks and positions of the cavity. */
static void
clear_cavity(rb_recovery *r, rb_cavity_work *w)
{
	for (uint32_t i = 0; i < w->nplaced; i++)
		w->place[w->placed[i]] = POSITION_UNKNOWN;
	for (uint32_t i = 0; i < w->ntets; i++)
		r->mesh.bits[w->tets[i]] &= ~RB_MARK;
	w->nplaced = w->ntets = 0;
}

/* ---- the region ---- */

/* Copies the faces of a region and their boxes. */
static rb_status
load_region_of_cavity(rb_recovery *r, rb_cavity_work *w, const rb_sheet *sheet, uint32_t region)
{
	rb_status status = RB_OK;

	for (uint32_t f = 0; f < sheet->n && status == RB_OK; f++)
	{
		const rb_sheet_face *face = &sheet->faces[f];
		double *box;

		if (face->region != region)
			continue;
		status = RB_GROW(r->ctx, w->faces, w->faces_cap, (size_t) w->nfaces + 1);
		if (status == RB_OK)
			status = rb_array_grow(r->ctx, (void **) &w->box, &w->box_cap, (size_t) w->nfaces + 1,
								   6 * sizeof(double));
		if (status != RB_OK)
			return status;
		box = w->box[w->nfaces];
		w->faces[w->nfaces++] = f;
		for (int k = 0; k < 3; k++)
		{
			const double *a = rb_mesh_point(&r->mesh, face->v[0]);
			const double *b = rb_mesh_point(&r->mesh, face->v[1]);
			const double *c = rb_mesh_point(&r->mesh, face->v[2]);

			box[k] = fmin(a[k], fmin(b[k], c[k]));
			box[3 + k] = fmax(a[k], fmax(b[k], c[k]));
		}
		for (int i = 0; i < 3 && status == RB_OK; i++)
		{
			uint32_t beyond = face->n[i];

			status = set_side_of_cavity_vertex(r, w, face->v[i], POSITION_ON);
			if (status == RB_OK &&
				(beyond == RB_NONE || sheet->faces[beyond >> 2].region != region))
				status =
					rb_table_insert(r->ctx, &w->border, face->v[(i + 1) % 3], face->v[(i + 2) % 3],
									RB_NONE, f << 2 | (uint32_t) i, NULL, NULL);
		}
	}
	return status;
}

/* ---- crossing edges ---- */

/*
 * Returns 1 if edge xy crosses the region with x above, -1 if with y above, and 0 if it does not
 * cross.
 */
static int
crossing_side(rb_recovery *r, const rb_cavity_work *w, const rb_sheet *sheet, uint32_t x,
			  uint32_t y)
{
	rb_mesh *m = &r->mesh;
	const double *p = rb_mesh_point(m, x), *q = rb_mesh_point(m, y);
	double low[3], high[3];

	for (int k = 0; k < 3; k++)
	{
		low[k] = p[k] < q[k] ? p[k] : q[k];
		high[k] = p[k] < q[k] ? q[k] : p[k];
	}
	for (uint32_t i = 0; i < w->nfaces; i++)
	{
		const uint32_t *v = sheet->faces[w->faces[i]].v;
		const double *box = w->box[i];
		int sx, sy, side;

		if (box[0] > high[0] || box[3] < low[0] || box[1] > high[1] || box[4] < low[1] ||
			box[2] > high[2] || box[5] < low[2])
			continue;
		sx = rb_mesh_orient(m, v[0], v[1], v[2], x);
		if (sx == 0)
			continue;
		sy = rb_mesh_orient(m, v[0], v[1], v[2], y);
		if (sx == sy || sy == 0)
			continue;
		/* The line from below to above has each edge on its left. */
		side = sx > 0 ? 1 : -1;
		if (side * rb_mesh_orient(m, y, x, v[0], v[1]) < 0 ||
			side * rb_mesh_orient(m, y, x, v[1], v[2]) < 0 ||
			side * rb_mesh_orient(m, y, x, v[2], v[0]) < 0)
			continue;
		return sx;
	}
	return 0;
}

/*
 * Tests edge xy of tetrahedron t for crossing, unless it was tested before, and records the result.
 */
static rb_status
test_edge_for_crossing_region(rb_recovery *r, rb_cavity_work *w, const rb_sheet *sheet, uint32_t x,
							  uint32_t y, uint32_t t)
{
	bool fresh;
	int above;

	if (x == RB_GHOST || y == RB_GHOST || w->place[x] == POSITION_ON || w->place[y] == POSITION_ON)
		return RB_OK;
	RB_TRY(rb_table_insert(r->ctx, &w->tested, x, y, RB_NONE, 0, NULL, &fresh));
	if (!fresh)
		return RB_OK;
	above = crossing_side(r, w, sheet, x, y);
	if (above == 0)
		return RB_OK;
	RB_TRY(set_side_of_cavity_vertex(r, w, x, above > 0 ? POSITION_ABOVE : POSITION_BELOW));
	RB_TRY(set_side_of_cavity_vertex(r, w, y, above > 0 ? POSITION_BELOW : POSITION_ABOVE));
	RB_TRY(RB_GROW(r->ctx, w->crossings, w->crossings_cap, (size_t) w->ncrossings + 1));
	w->crossings[w->ncrossings++] = (rb_crossing_edge){x, y, t};
	return RB_OK;
}

/* Finds the corners of t other than a and b, ordered so that a, b, *x, *y is positive. */
static void
get_crossing_tet_corners(const rb_tet *t, uint32_t a, uint32_t b, uint32_t *x, uint32_t *y)
{
	static const uint8_t third[4][4] = {{9, 2, 3, 1}, {3, 9, 0, 2}, {1, 3, 9, 0}, {2, 0, 1, 9}};
	uint32_t i = rb_tet_corner(t, a), j = rb_tet_corner(t, b);

	*x = third[i][j];
	*y = 6 - i - j - *x;
}

/* Adds a tetrahedron to the cavity around missing faces of a facet, and marks it. */
static rb_status
add_tet_to_facet_cavity(rb_recovery *r, rb_cavity_work *w, uint32_t t)
{
	RB_TRY(RB_GROW(r->ctx, w->tets, w->tets_cap, (size_t) w->ntets + 1));
	r->mesh.bits[t] |= RB_MARK;
	w->tets[w->ntets++] = t;
	return RB_OK;
}

/*
 * Finds the first crossing edges. At an edge on the region's boundary, a triangle of the region
 * enters one of the tetrahedra around the edge and leaves it across the opposite edge. *found is
 * false if there is no crossing, because the triangle lies on faces of the mesh or the edge is
 * missing.
 */
static rb_status
find_first(rb_recovery *r, rb_cavity_work *w, const rb_sheet *sheet, bool *found)
{
	rb_mesh *m = &r->mesh;

	*found = false;
	for (uint32_t i = 0; i < w->nfaces; i++)
		for (int k = 0; k < 3; k++)
		{
			const rb_sheet_face *face = &sheet->faces[w->faces[i]];
			uint32_t a = face->v[(k + 1) % 3], b = face->v[(k + 2) % 3], c = face->v[k];
			uint32_t start, t, hit;

			if (rb_table_get(&w->border, a, b, RB_NONE) == NULL)
				continue;
			if (!rb_mesh_find_edge(m, a, b, &start, &hit))
				return RB_OK;
			t = start;
			do
			{
				const rb_tet *tet = &m->tets[t];
				uint32_t x, y, vx, vy;

				get_crossing_tet_corners(tet, a, b, &x, &y);
				vx = tet->v[x];
				vy = tet->v[y];
				if (vx != RB_GHOST && vy != RB_GHOST && vx != c && vy != c &&
					rb_mesh_orient(m, a, b, vx, c) > 0 && rb_mesh_orient(m, a, b, c, vy) > 0)
				{
					RB_TRY(test_edge_for_crossing_region(r, w, sheet, vx, vy, t));
					break;
				}
				t = rb_face_tet(tet->n[x]);
			} while (t != start);
		}
	*found = w->ncrossings > 0;
	return RB_OK;
}

/*
 * Collects all tetrahedra with a crossing edge; *clear is false if a constrained element is among
 * them.
 */
static rb_status
collect_crossing_tets(rb_recovery *r, rb_cavity_work *w, const rb_sheet *sheet, bool *clear)
{
	rb_mesh *m = &r->mesh;

	*clear = true;
	for (uint32_t i = 0; i < w->ncrossings; i++)
	{
		const rb_crossing_edge c = w->crossings[i];
		uint32_t t = c.tet;

		if ((i & 255) == 0 && rb_should_stop(r->ctx))
			return RB_STOPPED;
		if (rb_table_get(&r->piece_of, c.x, c.y, RB_NONE) != NULL)
		{
			*clear = false;
			return RB_OK;
		}
		do
		{
			const rb_tet *tet = &m->tets[t];
			uint32_t x, y;

			get_crossing_tet_corners(tet, c.x, c.y, &x, &y);
			if (tet->v[x] == RB_GHOST || (m->bits[t] & (RB_FACE_BIT(x) | RB_FACE_BIT(y))) != 0)
			{
				*clear = false;
				return RB_OK;
			}
			if ((m->bits[t] & RB_MARK) == 0)
			{
				const uint32_t *v = tet->v;

				RB_TRY(add_tet_to_facet_cavity(r, w, t));
				for (int j = 0; j < 4; j++)
					for (int k = j + 1; k < 4; k++)
						RB_TRY(test_edge_for_crossing_region(r, w, sheet, v[j], v[k], t));
			}
			t = rb_face_tet(m->tets[t].n[x]);
		} while (t != c.tet);
	}
	return RB_OK;
}

/* ---- two sides ---- */

/*
 * Determines the positions of cavity vertices without a crossing edge, by the plane of a face of
 * the region.
 */
static rb_status
locate_rest(rb_recovery *r, rb_cavity_work *w, const rb_sheet *sheet, bool *clear)
{
	*clear = true;
	for (uint32_t i = 0; i < w->ntets; i++)
		for (int k = 0; k < 4; k++)
		{
			uint32_t v = r->mesh.tets[w->tets[i]].v[k];
			const uint32_t *f = sheet->faces[w->faces[0]].v;
			int side;

			if (w->place[v] != POSITION_UNKNOWN)
				continue;
			side = rb_mesh_orient(&r->mesh, f[0], f[1], f[2], v);
			if (side == 0)
			{
				*clear = false;
				return RB_OK;
			}
			RB_TRY(set_side_of_cavity_vertex(r, w, v, side > 0 ? POSITION_ABOVE : POSITION_BELOW));
		}
	return RB_OK;
}

/* Adds a vertex to one half of the cavity, above or below the facet. */
static rb_status
append_half_point(rb_recovery *r, rb_cavity_half *half, uint32_t v)
{
	RB_TRY(RB_GROW(r->ctx, half->points, half->points_cap, (size_t) half->npoints + 1));
	half->points[half->npoints++] = v;
	return RB_OK;
}

/*
 * Assigns each face of the cavity's boundary to its side. *clear is false if a face has corners on
 * both sides, or only corners that are in the region.
 */
static rb_status
split_boundary(rb_recovery *r, rb_cavity_work *w, const rb_sheet *sheet, bool *clear)
{
	rb_mesh *m = &r->mesh;

	*clear = true;
	for (int side = 0; side < 2; side++)
		w->half[side].nbases = w->half[side].npoints = 0;
	for (uint32_t i = 0; i < w->nplaced; i++)
	{
		uint32_t v = w->placed[i];

		if (w->place[v] != POSITION_BELOW)
			RB_TRY(append_half_point(r, &w->half[0], v));
		if (w->place[v] != POSITION_ABOVE)
			RB_TRY(append_half_point(r, &w->half[1], v));
	}
	for (uint32_t i = 0; i < w->ntets; i++)
	{
		uint32_t t = w->tets[i];
		const rb_tet *tet = &m->tets[t];

		for (uint32_t k = 0; k < 4; k++)
		{
			const uint8_t *f = rb_face_corners[k];
			uint32_t beyond = rb_face_tet(tet->n[k]);
			bool above = false, below = false, fixed;

			if ((m->bits[beyond] & RB_MARK) != 0)
			{
				/* No constrained face may be inside. */
				if ((m->bits[t] & RB_FACE_BIT(k)) != 0)
				{
					*clear = false;
					return RB_OK;
				}
				continue;
			}
			for (int j = 0; j < 3; j++)
			{
				above = above || w->place[tet->v[f[j]]] == POSITION_ABOVE;
				below = below || w->place[tet->v[f[j]]] == POSITION_BELOW;
			}
			if (above == below)
			{
				*clear = false;
				return RB_OK;
			}
			fixed = (m->bits[t] & RB_FACE_BIT(k)) != 0 || rb_tet_ghost(&m->tets[beyond]);
			/*
			 * Seen from its tetrahedron the face is clockwise; reversed, its inside is on the
			 * positive side.
			 */
			RB_TRY(rb_half_base(r, &w->half[above ? 0 : 1], tet->v[f[0]], tet->v[f[2]],
								tet->v[f[1]], tet->n[k], RB_NONE, fixed));
		}
	}
	for (uint32_t i = 0; i < w->nfaces; i++)
	{
		const uint32_t *v = sheet->faces[w->faces[i]].v;

		RB_TRY(rb_half_base(r, &w->half[0], v[0], v[1], v[2], RB_NONE, i, true));
		RB_TRY(rb_half_base(r, &w->half[1], v[0], v[2], v[1], RB_NONE, i, true));
	}
	return RB_OK;
}

/*
 * Adds the tetrahedra behind some faces of one side to the cavity. *clear is false if one reaches
 * the other side or is outside the hull.
 */
static rb_status
add_behind(rb_recovery *r, rb_cavity_work *w, int side, bool *clear)
{
	const rb_cavity_half *half = &w->half[side];
	uint8_t here = side == 0 ? POSITION_ABOVE : POSITION_BELOW;

	*clear = true;
	for (uint32_t i = 0; i < half->nbehind; i++)
	{
		rb_tet_face outside = half->bases[half->behind[i]].outside;
		uint32_t t = rb_face_tet(outside);
		uint32_t v = r->mesh.tets[t].v[rb_face_corner(outside)];

		if ((r->mesh.bits[t] & RB_MARK) != 0)
			continue;
		if (v == RB_GHOST ||
			(w->place[v] != POSITION_UNKNOWN && w->place[v] != here && w->place[v] != POSITION_ON))
		{
			*clear = false;
			return RB_OK;
		}
		RB_TRY(set_side_of_cavity_vertex(r, w, v, here));
		RB_TRY(add_tet_to_facet_cavity(r, w, t));
	}
	return RB_OK;
}

/*
 * Finds the polyhedron faces of a filled side for which the vertex behind the face is inside the
 * circumsphere of the tetrahedron in front of it.
 */
static rb_status
find_cavity_faces_not_delaunay(rb_recovery *r, rb_cavity_half *half)
{
	rb_mesh *m = &r->mesh;

	for (uint32_t i = 0; i < half->given; i++)
	{
		const rb_base *b = &half->bases[i];
		const uint32_t *v = half->tets[b->inside >> 2];
		uint32_t apex;

		if (b->constrained)
			continue;
		apex = m->tets[rb_face_tet(b->outside)].v[rb_face_corner(b->outside)];
		if (apex != RB_GHOST && rb_mesh_insphere(m, v[0], v[1], v[2], v[3], apex) > 0)
			RB_TRY(rb_half_behind(r, half, i));
	}
	return RB_OK;
}

/* ---- insertion into the mesh ---- */

/* Replaces the tetrahedra of the cavity by those of both halves. */
static rb_status
replace_cavity_tets(rb_recovery *r, rb_cavity_work *w)
{
	rb_mesh *m = &r->mesh;

	RB_TRY(rb_mesh_reserve(m, w->half[0].ntets + w->half[1].ntets));
	RB_TRY(rb_mesh_reserve_journal(m, w->ntets + w->half[0].ntets + w->half[1].ntets));
	for (int side = 0; side < 2; side++)
		RB_TRY(RB_GROW(r->ctx, w->new_tet[side], w->new_tet_cap[side], w->half[side].ntets));
	RB_TRY(RB_GROW(r->ctx, w->sheet_side, w->sheet_side_cap, w->nfaces));
	for (uint32_t i = 0; i < w->ntets; i++)
		rb_mesh_drop_tet(m, w->tets[i]);
	w->ntets = 0;
	r->carved = true;
	for (int side = 0; side < 2; side++)
	{
		const rb_cavity_half *half = &w->half[side];

		for (uint32_t i = 0; i < half->ntets; i++)
		{
			const uint32_t *v = half->tets[i];
			uint32_t t = rb_mesh_new_tet(m, v[0], v[1], v[2], v[3]);

			w->new_tet[side][i] = t;
			m->bits[t] |= RB_MADE;
			for (int k = 0; k < 4; k++)
				m->tet_of[v[k]] = t;
		}
		for (uint32_t i = 0; i < half->nbases; i++)
		{
			const rb_base *b = &half->bases[i];
			rb_tet_face face = rb_face_of(w->new_tet[side][b->inside >> 2], b->inside & 3);
			rb_tet_face other;

			if (b->sheet != RB_NONE)
			{
				m->bits[rb_face_tet(face)] |= RB_FACE_BIT(rb_face_corner(face));
				if (side == 0)
				{
					w->sheet_side[b->sheet] = face;
					continue;
				}
				other = w->sheet_side[b->sheet];
			}
			else if (i < half->given)
			{
				other = b->outside;
				if ((m->bits[rb_face_tet(other)] & RB_FACE_BIT(rb_face_corner(other))) != 0)
					m->bits[rb_face_tet(face)] |= RB_FACE_BIT(rb_face_corner(face));
			}
			else
				other = rb_face_of(w->new_tet[side][b->behind >> 2], b->behind & 3);
			rb_mesh_link(m, face, other);
		}
		m->recent = w->new_tet[side][0];
	}
	return RB_OK;
}

rb_status
rb_cavity_recover(rb_recovery *r, rb_cavity_work *w, const rb_sheet *sheet, uint32_t region,
				  bool *done)
{
	bool go_on;
	uint32_t first;
	rb_status status = begin_cavity(r, w);

	*done = false;
	if (status == RB_OK)
		status = load_region_of_cavity(r, w, sheet, region);
	if (status == RB_OK)
		status = find_first(r, w, sheet, &go_on);
	if (status == RB_OK && go_on)
		status = collect_crossing_tets(r, w, sheet, &go_on);
	if (status == RB_OK && go_on)
		status = locate_rest(r, w, sheet, &go_on);
	/* Repeat with a larger cavity as long as tetrahedra behind its faces must be removed, too. */
	first = w->ntets;
	while (status == RB_OK && go_on && !*done)
	{
		bool filled = true;

		if (rb_should_stop(r->ctx))
		{
			status = RB_STOPPED;
			break;
		}
		/* The cavity has grown too large; a Steiner point inside the region is better. */
		if (w->ntets > MAX_GROWTH_FACTOR * first + MAX_EXTRA_TETS)
			break;
		status = split_boundary(r, w, sheet, &go_on);
		for (int side = 0; side < 2 && status == RB_OK && go_on && filled; side++)
		{
			rb_filled how;

			status = rb_half_fill(r, &w->half[side], &how);
			if (status == RB_OK && how == RB_FILLED)
				status = find_cavity_faces_not_delaunay(r, &w->half[side]);
			if (status != RB_OK || (how == RB_FILLED && w->half[side].nbehind == 0))
				continue;
			filled = go_on = false;
			if (w->half[side].nbehind > 0)
				status = add_behind(r, w, side, &go_on);
		}
		if (status == RB_OK && go_on && filled)
		{
			status = replace_cavity_tets(r, w);
			*done = status == RB_OK;
		}
	}
	clear_cavity(r, w);
	return status;
}
