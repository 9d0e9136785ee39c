/*
 * depth.c
 *	  Computes the depth of what two solids share: the least width across one of its own faces.
 *
 * The common part is divided into convex cells by the planes of faces. Each solid has a tree of
 * planes that divides space: a node divides its region by the plane of one of the faces in it, and
 * passes the pieces of the other faces to both sides. A side without faces is a leaf, and lies
 * inside or outside of the solid according to the node's face. (B. Naylor, J. Amanatides, W. Thibault:
 * Merging BSP trees yields polyhedral set operations, 1990.) The cells are found by passing the
 * common box of both solids down the red tree, and what arrives inside down the blue one:
 *
 *		faces -> trees							red, blue
 *		common box -> cells						convex, inside of both solids
 *		cells that share an area of a plane		-> connected parts
 *		corners of a part, planes of its faces	-> widths, the least of which is the part's depth
 *
 * Cells have interiors, so parts of the boundaries that only touch are no part of them. Corners of
 * cells that are not corners of the common part lie in it, and change no width. The faces on the
 * cells' facets are carried along, and clipped as the cells are; so a plane counts if an area of it
 * is part of the boundary.
 *
 * No coordinate is computed to decide a sign (depth_points.c).
 */
#include "core/solid/depth.h"

#include <math.h>

/* Child of a node that is a leaf */
#define OUTSIDE (-1)
#define INSIDE (-2)

/* ---- polygons ---- */

static void
free_depth_polygons(rb_context *ctx, rb_depth_polygons *p)
{
	rb_vec_free(ctx->memory, &p->at);
	rb_vec_free(ctx->memory, &p->corners);
}

/* Appends a copy of a polygon. */
static rb_status
copy_depth_polygon(rb_context *ctx, rb_depth_polygons *to, const rb_depth_polygons *from,
				   const rb_depth_polygon *g)
{
	rb_depth_polygon copy = *g;

	copy.first = to->corners.n;
	RB_TRY(rb_vec_reserve(ctx, &to->corners, g->n));
	memcpy(to->corners.at + to->corners.n, from->corners.at + g->first,
		   g->n * sizeof *to->corners.at);
	to->corners.n += g->n;
	return rb_vec_append(ctx, &to->at, copy);
}

/* ---- dividing polygons ---- */

/* Finds the point where an edge of a polygon meets a plane. */
static rb_status
cut_polygon(rb_depth_run *d, const rb_depth_polygon *g, uint32_t edge, uint32_t plane, bool facet,
			uint32_t *point)
{
	const rb_depth_cut cut = {rb_min(g->plane, edge), rb_max(g->plane, edge), 0};
	rb_depth_point p = {.plane = {plane, g->plane, edge}};

	/* Two facets of a cell share each edge. */
	for (size_t i = 0; facet && i < d->cuts.n; i++)
		if (d->cuts.at[i].a == cut.a && d->cuts.at[i].b == cut.b)
		{
			*point = d->cuts.at[i].point;
			return RB_OK;
		}
	if (edge >= EDGE_OF_FACE)
	{
		const double *t = d->planes.at[g->plane].t;
		const uint32_t k = edge - EDGE_OF_FACE;

		p.b = t + 3 * k;
		p.c = t + 3 * ((k + 1) % 3);
		p.plane[2] = RB_NO_PLANE;
	}
	RB_TRY(rb_depth_add_point(d, p, point));
	return facet ? rb_vec_append(d->ctx, &d->cuts, ((rb_depth_cut){cut.a, cut.b, *point})) : RB_OK;
}

/*
 * Divides a polygon by a plane, and appends the part on the negative side to to[0] and that on the
 * positive side to to[1], where these are not NULL. Returns in *where a bit for each side on which
 * the polygon has a part. A polygon in the plane is appended to neither.
 */
static rb_status
divide_polygon(rb_depth_run *d, const rb_depth_polygons *from, const rb_depth_polygon *g,
			   uint32_t plane, bool facet, rb_depth_polygons *const to[2], unsigned *where)
{
	size_t first[2] = {0, 0};

	if (rb_stop_due(d->ctx, d->steps++, RB_DEPTH_CHECKS))
		return RB_STOPPED;
	rb_vec_clear(&d->sides);
	RB_TRY(rb_vec_reserve(d->ctx, &d->sides, g->n));
	*where = 0;
	for (size_t i = 0; i < g->n; i++)
	{
		const int side = rb_depth_side(d, from->corners.at[g->first + i].point, plane);

		d->sides.at[d->sides.n++] = side;
		*where |= side < 0 ? 1 : side > 0 ? 2 : 0;
	}
	for (int k = 0; k < 2; k++)
		if (to[k] != NULL)
			first[k] = to[k]->corners.n;
	for (size_t i = 0; i < g->n; i++)
	{
		const rb_depth_corner corner = from->corners.at[g->first + i];
		const int s = d->sides.at[i], t = d->sides.at[(i + 1) % g->n];
		rb_depth_corner cut = {0, plane};

		if (s * t < 0)
			RB_TRY(cut_polygon(d, g, corner.edge, plane, facet, &cut.point));
		for (int k = 0; k < 2; k++)
		{
			const int mine = k == 0 ? -1 : 1;
			rb_depth_corner c = corner;

			if (to[k] == NULL || (*where & 1u << k) == 0)
				continue;
			/* An edge along the plane, or one that replaces what is on the other side */
			if (s == 0 && t != mine && (facet || t == -mine))
				c.edge = plane;
			if (s == 0 || s == mine)
				RB_TRY(rb_vec_append(d->ctx, &to[k]->corners, c));
			if (s * t < 0)
			{
				cut.edge = s == mine ? plane : corner.edge;
				RB_TRY(rb_vec_append(d->ctx, &to[k]->corners, cut));
			}
		}
	}
	for (int k = 0; k < 2; k++)
		if (to[k] != NULL && (*where & 1u << k) != 0)
			RB_TRY(rb_vec_append(
				d->ctx, &to[k]->at,
				((rb_depth_polygon){g->plane, g->side, first[k], to[k]->corners.n - first[k]})));
	return RB_OK;
}

/* ---- trees ---- */

/* Appends the part of a triangle that is in the common box as a face. */
static rb_status
add_face(rb_depth_run *d, uint32_t plane, rb_depth_polygons *faces)
{
	const double *t = d->planes.at[plane].t;
	rb_depth_polygons part[2] = {{.at = {.n = 0}}, {.at = {.n = 0}}};
	rb_status status = RB_OK;
	rb_depth_polygon g = {plane, 0, 0, 3};
	unsigned where;
	bool any = true;
	int now = 0;

	for (uint32_t k = 0; k < 3 && status == RB_OK; k++)
	{
		rb_depth_corner c = {0, EDGE_OF_FACE + k};

		status = rb_depth_add_point(
			d, (rb_depth_point){.b = t + 3 * k, .plane = {plane, RB_NO_PLANE, RB_NO_PLANE}},
			&c.point);
		if (status == RB_OK)
			status = rb_vec_append(d->ctx, &part[0].corners, c);
	}
	if (status == RB_OK)
		status = rb_vec_append(d->ctx, &part[0].at, g);
	for (uint32_t k = 0; k < RB_ROOT_PLANES && status == RB_OK && any; k++)
	{
		rb_depth_polygons *to[2] = {&part[!now], NULL};

		rb_vec_clear(&to[0]->at);
		rb_vec_clear(&to[0]->corners);
		g = part[now].at.at[0];
		status = divide_polygon(d, &part[now], &g, k, false, to, &where);
		/*
		 * Keep a face in the plane: it meets the common box, so it is at the largest double, where
		 * the plane and the box coincide.
		 */
		any = where != 2;
		now = where == 0 ? now : !now;
	}
	if (status == RB_OK && any)
		status = copy_depth_polygon(d->ctx, faces, &part[now], &part[now].at.at[0]);
	for (int k = 0; k < 2; k++)
		free_depth_polygons(d->ctx, &part[k]);
	return status;
}

/* Divides the faces of a branch at a new node, and appends the branches of its sides. */
static rb_status
divide_branch(rb_depth_run *d, rb_depth_tree *tree, const rb_depth_branch *b)
{
	const uint32_t plane = b->faces.at.at[b->faces.at.n / 2].plane;
	const double *t = d->planes.at[plane].t;
	const int32_t node = (int32_t) tree->nodes.n;
	rb_depth_branch side[2] = {{.parent = node, .side = 0}, {.parent = node, .side = 1}};
	rb_depth_polygons *const to[2] = {&side[0].faces, &side[1].faces};
	rb_depth_node n = {.plane = plane, .first = tree->on.at.n};
	rb_status status = RB_OK;

	for (size_t i = 0; i < b->faces.at.n && status == RB_OK; i++)
	{
		const rb_depth_polygon *g = &b->faces.at.at[i];
		const double *f = d->planes.at[g->plane].t;
		unsigned where = 0;

		for (int k = 0; k < 9 && g->plane != plane; k += 3)
		{
			const int s = rb_orient3d_at(&d->env, t, t + 3, t + 6, f + k);

			where |= s < 0 ? 1 : s > 0 ? 2 : 0;
		}
		if (where == 0)
			status = copy_depth_polygon(d->ctx, &tree->on, &b->faces, g);
		else if (where == 3)
			status = divide_polygon(d, &b->faces, g, plane, false, to, &where);
		else
			status = copy_depth_polygon(d->ctx, to[where - 1], &b->faces, g);
	}
	n.n = tree->on.at.n - n.first;
	for (int k = 0; k < 2; k++)
	{
		/* The normal points to the positive side. */
		n.child[k] = (k == 1) == d->planes.at[plane].inward ? INSIDE : OUTSIDE;
		if (status == RB_OK && side[k].faces.at.n > 0)
			status = rb_vec_append(d->ctx, &d->branches, side[k]);
		else
			free_depth_polygons(d->ctx, &side[k].faces);
		if (status != RB_OK)
		{
			for (int other = k; other < 2; other++)
				free_depth_polygons(d->ctx, &side[other].faces);
			return status;
		}
	}
	RB_TRY(rb_vec_append(d->ctx, &tree->nodes, n));
	if (b->parent >= 0)
		tree->nodes.at[b->parent].child[b->side] = node;
	else
		tree->root = node;
	return RB_OK;
}

/* Makes the tree of one solid from the planes of its faces. */
static rb_status
make_depth_tree(rb_depth_run *d, int side, uint32_t from, uint32_t to)
{
	rb_depth_tree *tree = &d->tree[side];
	rb_depth_branch all = {.parent = -1};
	rb_status status = RB_OK;

	/* The interiors meet in the common box, so a box without faces of this solid is inside it. */
	tree->root = INSIDE;
	for (uint32_t plane = from; plane < to && status == RB_OK; plane++)
		status = add_face(d, plane, &all.faces);
	if (status == RB_OK && all.faces.at.n > 0)
		status = rb_vec_append(d->ctx, &d->branches, all);
	if (status != RB_OK || all.faces.at.n == 0)
		free_depth_polygons(d->ctx, &all.faces);
	while (status == RB_OK && d->branches.n > 0)
	{
		rb_depth_branch b = d->branches.at[--d->branches.n];

		status = divide_branch(d, tree, &b);
		free_depth_polygons(d->ctx, &b.faces);
	}
	return status;
}

/* ---- cells ---- */

static void
free_cell(rb_context *ctx, rb_depth_cell *c)
{
	free_depth_polygons(ctx, &c->facets);
	free_depth_polygons(ctx, &c->on);
}

/* Makes the cell of the common box. */
static rb_status
make_box_cell(rb_depth_run *d, rb_depth_cell *c)
{
	/* Corner k has bit a set if it is on the high side along axis a. */
	uint32_t corner[8];

	for (uint32_t k = 0; k < 8; k++)
		RB_TRY(rb_depth_add_point(
			d, (rb_depth_point){.plane = {k & 1, 2 + (k >> 1 & 1), 4 + (k >> 2 & 1)}}, &corner[k]));
	for (uint32_t plane = 0; plane < RB_ROOT_PLANES; plane++)
	{
		const uint32_t axis = plane / 2, u = (axis + 1) % 3, v = (axis + 2) % 3, high = plane % 2;
		const rb_depth_polygon g = {plane, -1, c->facets.corners.n, 4};

		for (uint32_t i = 0; i < 4; i++)
		{
			/* Counterclockwise seen from outside: the low facet in the other direction */
			const uint32_t k = high ? i : 3 - i, from = high ? k : (k + 3) % 4;
			const uint32_t right = k == 1 || k == 2, up = k >= 2;
			/* The edge from corner 0 to 1 leads along u at the low end of v, and so on. */
			const uint32_t edge = from % 2 == 0 ? 2 * v + (from == 2) : 2 * u + (from == 1);

			RB_TRY(rb_vec_append(
				d->ctx, &c->facets.corners,
				((rb_depth_corner){corner[high << axis | right << u | up << v], edge})));
		}
		RB_TRY(rb_vec_append(d->ctx, &c->facets.at, g));
	}
	return RB_OK;
}

/* Appends the facet on a plane to one part of a divided cell, whose other facets are complete. */
static rb_status
close_cell(rb_depth_run *d, rb_depth_polygons *facets, uint32_t plane, int side)
{
	rb_depth_polygon g = {plane, side, facets->corners.n, 0};
	size_t at = 0;

	rb_vec_clear(&d->rim);
	for (size_t i = 0; i < facets->at.n; i++)
	{
		const rb_depth_polygon *f = &facets->at.at[i];

		for (size_t k = 0; k < f->n; k++)
			if (facets->corners.at[f->first + k].edge == plane)
				RB_TRY(rb_vec_append(
					d->ctx, &d->rim,
					((rb_depth_rim){facets->corners.at[f->first + (k + 1) % f->n].point,
									facets->corners.at[f->first + k].point, f->plane})));
	}
	for (size_t n = 0; n < d->rim.n; n++)
	{
		size_t next = 0;

		RB_TRY(rb_vec_append(d->ctx, &facets->corners,
							 ((rb_depth_corner){d->rim.at[at].from, d->rim.at[at].plane})));
		while (next < d->rim.n && d->rim.at[next].from != d->rim.at[at].to)
			next++;
		if (next == d->rim.n)
			break;
		at = next;
		g.n++;
	}
	if (g.n != d->rim.n || g.n < 3)
		return rb_fail(d->ctx, RB_BAD_GEOMETRY, 0, 0, "A cell is not closed.");
	return rb_vec_append(d->ctx, &facets->at, g);
}

/*
 * Appends, to the faces of a cell, the parts of faces in the plane of a node that are on its
 * facets.
 */
static rb_status
add_faces_of_node(rb_depth_run *d, const rb_depth_tree *tree, const rb_depth_node *n,
				  rb_depth_cell *c)
{
	rb_depth_polygons part[2] = {{.at = {.n = 0}}, {.at = {.n = 0}}};
	rb_status status = RB_OK;

	for (size_t i = n->first; i < n->first + n->n && status == RB_OK; i++)
	{
		bool any = true;
		int now = 0;

		for (int k = 0; k < 2; k++)
		{
			rb_vec_clear(&part[k].at);
			rb_vec_clear(&part[k].corners);
		}
		status = copy_depth_polygon(d->ctx, &part[0], &tree->on, &tree->on.at.at[i]);
		for (size_t k = 0; k < c->facets.at.n && any && status == RB_OK; k++)
		{
			const rb_depth_polygon *f = &c->facets.at.at[k];
			const rb_depth_polygon g = part[now].at.at[0];
			rb_depth_polygons *to[2] = {NULL, NULL};
			unsigned where;

			to[f->side > 0] = &part[!now];
			status = divide_polygon(d, &part[now], &g, f->plane, false, to, &where);
			any = where == 0 || (where & (f->side > 0 ? 2 : 1)) != 0;
			if (where == 0 || !any)
				continue;
			rb_vec_clear(&part[now].at);
			rb_vec_clear(&part[now].corners);
			now = !now;
		}
		if (status == RB_OK && any)
			status = copy_depth_polygon(d->ctx, &c->on, &part[now], &part[now].at.at[0]);
	}
	for (int k = 0; k < 2; k++)
		free_depth_polygons(d->ctx, &part[k]);
	return status;
}

/* Divides a cell at a node into the parts on its negative and its positive side. */
static rb_status
divide_cell(rb_depth_run *d, const rb_depth_node *n, const rb_depth_cell *c, rb_depth_cell part[2])
{
	rb_depth_polygons *const facets[2] = {&part[0].facets, &part[1].facets};
	rb_depth_polygons *const on[2] = {&part[0].on, &part[1].on};
	unsigned where;

	rb_vec_clear(&d->cuts);
	for (size_t i = 0; i < c->facets.at.n; i++)
		RB_TRY(divide_polygon(d, &c->facets, &c->facets.at.at[i], n->plane, true, facets, &where));
	for (size_t i = 0; i < c->on.at.n; i++)
		RB_TRY(divide_polygon(d, &c->on, &c->on.at.at[i], n->plane, false, on, &where));
	for (int k = 0; k < 2; k++)
		RB_TRY(close_cell(d, facets[k], n->plane, k == 0 ? -1 : 1));
	return RB_OK;
}

/* Finds on which sides of a plane a cell has points, and whether one of its facets is in it. */
static rb_status
locate_cell(rb_depth_run *d, const rb_depth_cell *c, uint32_t plane, unsigned *where, bool *on)
{
	*where = 0;
	*on = false;
	for (size_t i = 0; i < c->facets.at.n; i++)
	{
		const rb_depth_polygon *f = &c->facets.at.at[i];
		unsigned sides = 0;

		if (rb_stop_due(d->ctx, d->steps++, RB_DEPTH_CHECKS))
			return RB_STOPPED;
		for (size_t k = 0; k < f->n; k++)
		{
			const int s = rb_depth_side(d, c->facets.corners.at[f->first + k].point, plane);

			sides |= s < 0 ? 1 : s > 0 ? 2 : 0;
		}
		*where |= sides;
		*on = *on || sides == 0;
	}
	return RB_OK;
}

/* Keeps a cell that is inside both solids. */
static rb_status
keep_cell(rb_depth_run *d, const rb_depth_cell *c)
{
	for (size_t i = 0; i < c->facets.at.n; i++)
	{
		RB_TRY(copy_depth_polygon(d->ctx, &d->facets, &c->facets, &c->facets.at.at[i]));
		RB_TRY(rb_vec_append(d->ctx, &d->cell_of, d->ncells));
	}
	for (size_t i = 0; i < c->on.at.n; i++)
	{
		RB_TRY(rb_vec_append(d->ctx, &d->face_cell, d->ncells));
		RB_TRY(rb_vec_append(d->ctx, &d->face_plane, c->on.at.at[i].plane));
	}
	d->ncells++;
	return RB_OK;
}

/*
 * Passes a cell to the next node. Sets *gone to true if the cell no longer exists because it was
 * divided, kept or dropped.
 */
static rb_status
pass_cell(rb_depth_run *d, rb_depth_cell *c, bool *gone)
{
	const rb_depth_tree *tree = &d->tree[c->tree];
	rb_depth_cell part[2] = {{.tree = c->tree}, {.tree = c->tree}};
	rb_status status = RB_OK;
	const rb_depth_node *n;
	unsigned where;
	bool on;

	*gone = c->node == OUTSIDE || (c->node == INSIDE && c->tree == 1);
	if (*gone)
		return c->node == OUTSIDE ? RB_OK : keep_cell(d, c);
	if (c->node == INSIDE)
	{
		c->tree = 1;
		c->node = d->tree[1].root;
		return RB_OK;
	}
	n = &tree->nodes.at[c->node];
	RB_TRY(locate_cell(d, c, n->plane, &where, &on));
	if (where != 3)
	{
		c->node = n->child[where == 2];
		return on ? add_faces_of_node(d, tree, n, c) : RB_OK;
	}
	*gone = true;
	status = divide_cell(d, n, c, part);
	for (int k = 0; k < 2; k++)
	{
		part[k].node = n->child[k];
		if (status == RB_OK && part[k].node != OUTSIDE)
			status = add_faces_of_node(d, tree, n, &part[k]);
		if (status == RB_OK && part[k].node != OUTSIDE)
			status = rb_vec_append(d->ctx, &d->cells, part[k]);
		else
			free_cell(d->ctx, &part[k]);
		if (status != RB_OK)
		{
			for (int other = k; other < 2; other++)
				free_cell(d->ctx, &part[other]);
			break;
		}
	}
	return status;
}

/* Finds all cells inside both solids. */
static rb_status
find_depth_cells(rb_depth_run *d)
{
	rb_depth_cell box = {.tree = 0, .node = d->tree[0].root};
	rb_status status = make_box_cell(d, &box);

	if (status == RB_OK)
		status = rb_vec_append(d->ctx, &d->cells, box);
	if (status != RB_OK)
		free_cell(d->ctx, &box);
	while (status == RB_OK && d->cells.n > 0)
	{
		rb_depth_cell c = d->cells.at[--d->cells.n];
		bool gone = false;

		while (status == RB_OK && !gone)
			status = pass_cell(d, &c, &gone);
		free_cell(d->ctx, &c);
	}
	return status;
}

/* ---- the depth of a pair ---- */

/*
 * Makes the planes of a box that is larger than the common box by one step in each direction,
 * except where the common box reaches the largest double.
 */
static rb_status
make_planes_of_box(rb_depth_run *d, const double *low, const double *high)
{
	for (int k = 0; k < RB_ROOT_PLANES; k++)
	{
		const int axis = k / 2, up = k % 2;
		double *t = d->box[k];

		for (int i = 0; i < 3; i++)
			t[3 * i + axis] = up ? rb_min(nextafter(high[axis], HUGE_VAL), DBL_MAX)
								 : rb_max(nextafter(low[axis], -HUGE_VAL), -DBL_MAX);
		/* The normal points away from the box. */
		t[3 * (up ? 1 : 2) + (axis + 1) % 3] = 1;
		t[3 * (up ? 2 : 1) + (axis + 2) % 3] = 1;
		RB_TRY(rb_depth_add_plane(d, t, false));
	}
	return RB_OK;
}

/* Computes the depth. */
static rb_status
run_depth(rb_depth_run *d, const rb_depth_faces faces[2], const double *low, const double *high,
		  double *depth)
{
	uint32_t start[3];

	RB_TRY(make_planes_of_box(d, low, high));
	for (int side = 0; side < 2; side++)
	{
		start[side] = (uint32_t) d->planes.n;
		for (size_t i = 0; i < faces[side].at.n; i++)
			RB_TRY(
				rb_depth_add_plane(d, faces[side].at.at[i].triangle, faces[side].at.at[i].inward));
	}
	start[2] = (uint32_t) d->planes.n;
	for (int side = 0; side < 2; side++)
		RB_TRY(make_depth_tree(d, side, start[side], start[side + 1]));
	RB_TRY(find_depth_cells(d));
	return rb_depth_largest(d, depth);
}

rb_status
rb_overlap_depth(rb_context *ctx, const rb_depth_faces faces[2], const double *low,
				 const double *high, double *depth)
{
	rb_depth_run d = {.ctx = ctx, .env = {.filters = RB_FILTER_ALL, .exact = true}};
	rb_status status;

	memcpy(d.origin, low, sizeof d.origin);
	*depth = 0;
	status = run_depth(&d, faces, low, high, depth);
	/* The interiors meet. */
	*depth = rb_max(*depth, 0x1p-1074);
	for (size_t i = 0; i < d.branches.n; i++)
		free_depth_polygons(ctx, &d.branches.at[i].faces);
	for (size_t i = 0; i < d.cells.n; i++)
		free_cell(ctx, &d.cells.at[i]);
	for (int side = 0; side < 2; side++)
	{
		rb_vec_free(ctx->memory, &d.tree[side].nodes);
		free_depth_polygons(ctx, &d.tree[side].on);
	}
	free_depth_polygons(ctx, &d.facets);
	rb_vec_free(ctx->memory, &d.planes);
	rb_vec_free(ctx->memory, &d.points);
	rb_vec_free(ctx->memory, &d.branches);
	rb_vec_free(ctx->memory, &d.cells);
	rb_vec_free(ctx->memory, &d.cuts);
	rb_vec_free(ctx->memory, &d.rim);
	rb_vec_free(ctx->memory, &d.sides);
	rb_vec_free(ctx->memory, &d.cell_of);
	rb_vec_free(ctx->memory, &d.face_cell);
	rb_vec_free(ctx->memory, &d.face_plane);
	return status;
}
