/*
 * volumes.c
 *	  Compares the volume of each region of a mesh with the volume enclosed by the triangles around
 *	  it.
 *
 * Volumes are sums of determinants of three corners. For each region, those of the mesh are added
 * and those of the surface subtracted, in exact accumulators (expansion.h). The result is the
 * exact difference.
 *
 * A region can end at the convex hull, on no facet. The patches around it are then bounded by rims:
 * segments of the surface, and subsegments of the mesh, whose vertices are rounded. The mesh's sum
 * includes the triangles between each rim's subsegments and the rim's first end, and so does the
 * surface's sum. Otherwise the difference would depend on the distance from the origin.
 */
#include "mesh/volumes.h"

#include "core/base/bucket.h"
#include "core/base/sort.h"
#include "mesh/facet_patches.h"
#include "mesh/flatness.h"
#include "mesh/tet.h"

/* Maximum distance of a point from its facet, in rounding errors of the largest coordinate */
#define FAR_ROUNDINGS 64.0

/*
 * Minimum area, as a fraction of the squared longest side, of a triangle whose normal is reliable
 */
#define MIN_AREA 0x1p-40

/* ---- arithmetic ---- */

/* Adds the product a b c to the sum. */
static void
add_product(rb_accumulator *sum, double a, double b, double c)
{
	double high, low;

	rb_two_product(a, b, &high, &low);
	rb_accumulator_add(sum, high, c);
	if (low != 0)
		rb_accumulator_add(sum, low, c);
}

/* Adds sign times the determinant of three points to the sum. */
static void
add_determinant(rb_accumulator *sum, double sign, const double *a, const double *b, const double *c)
{
	for (int i = 0; i < 3; i++)
	{
		const int j = (i + 1) % 3, k = (i + 2) % 3;

		add_product(sum, sign * a[i], b[j], c[k]);
		add_product(sum, -sign * a[i], b[k], c[j]);
	}
}

/* Returns the determinant of three points relative to a fourth, rounded. */
static double
determinant_about(const double *o, const double *a, const double *b, const double *c)
{
	double n[3], d[3];

	rb_face_normal(a, b, c, n);
	for (int k = 0; k < 3; k++)
		d[k] = a[k] - o[k];
	return rb_dot(n, d);
}

/* Computes the scale of coordinates and the limit of rounding. */
static rb_status
measure_points(rb_volume_comparison *c)
{
	double largest, extent;

	RB_TRY(rb_flat_measure(c->ctx, c->in->points, c->in->npoints, &largest, &extent));
	c->exponent = largest > 0 && largest < INFINITY ? -ilogb(largest) : 0;
	/* A larger power of two is not a double. */
	c->exponent = c->exponent > 1023 ? 1023 : c->exponent;
	c->scale = ldexp(1, c->exponent);
	c->rounds = FAR_ROUNDINGS * 0x1p-53 * (largest * c->scale);
	c->flat = rb_flat_height(largest * c->scale);
	return RB_OK;
}

/* ---- regions ---- */

/* Returns the index of a region, given its id. */
static uint32_t
region_number(const rb_volume_comparison *c, int64_t id)
{
	return (uint32_t) rb_ids_lower_bound(c->region_id, c->nregions, id);
}

/* Lists the regions of the mesh in ascending order. */
static rb_status
list_regions(rb_volume_comparison *c)
{
	const rb_volumes_input *in = c->in;

	for (uint32_t t = 0; t < in->ntets; t++)
	{
		uint32_t at;

		if (rb_patches_should_stop(c, t))
			return RB_STOPPED;
		if (t > 0 && in->region[t] == in->region[t - 1])
			continue;
		at = region_number(c, in->region[t]);
		if (at < c->nregions && c->region_id[at] == in->region[t])
			continue;
		RB_TRY(RB_GROW(c->ctx, c->region_id, c->ids_cap, (size_t) c->nregions + 1));
		memmove(c->region_id + at + 1, c->region_id + at,
				(c->nregions - at) * sizeof *c->region_id);
		c->region_id[at] = in->region[t];
		c->nregions++;
	}
	RB_TRY(RB_ALLOCATE(c->ctx, c->regions, (size_t) c->nregions + 1));
	memset(c->regions, 0, ((size_t) c->nregions + 1) * sizeof(rb_compared_region));
	return RB_OK;
}

/*
 * Records the region on one side of a patch, which is valid only if it is the same all over the
 * patch.
 */
static void
record_side(rb_volume_comparison *c, uint32_t *side, uint32_t number)
{
	if (*side == RB_PATCH_UNSEEN)
		*side = number;
	if (*side == number)
		return;
	if (number < c->nregions)
		c->regions[number].unknown = true;
	if (*side < c->nregions)
		c->regions[*side].unknown = true;
	*side = RB_PATCH_MIXED;
}

/*
 * Records a face whose normal is unreliable, as its patch and region, to find regions whose surface
 * is only partly known.
 */
static rb_status
record_thin(rb_volume_comparison *c, uint32_t p, uint32_t number)
{
	RB_TRY(RB_GROW(c->ctx, c->thin, c->thin_cap, (size_t) c->nthin + 1));
	c->thin[c->nthin][0] = p;
	c->thin[c->nthin++][1] = number;
	return RB_OK;
}

/*
 * Marks the regions whose surface is only partly known. There are two cases. A region may end at
 * some faces of a patch and lie on both sides of its other faces. Or all faces of a patch at which
 * the region ends may be thin, so that the region was recorded on neither side of the patch.
 */
static void
mark_unknown_regions(rb_volume_comparison *c)
{
	for (uint32_t f = 0; f < c->in->nfaces; f++)
		if (c->face_patch[f] != RB_NONE)
			c->patches.at[c->face_patch[f]].nfaces++;
	for (uint32_t i = 0; i < c->patches.n; i++)
	{
		rb_facet_patch *of = &c->patches.at[i];

		if (of->nends > 0 && of->nends != of->nfaces)
		{
			record_side(c, &of->above, RB_PATCH_MIXED);
			record_side(c, &of->below, RB_PATCH_MIXED);
		}
	}
	for (uint32_t i = 0; i < c->nthin; i++)
	{
		const rb_facet_patch *of = &c->patches.at[c->thin[i][0]];

		if (of->above != c->thin[i][1] && of->below != c->thin[i][1])
			c->regions[c->thin[i][1]].unknown = true;
	}
}

/* Records a segment along which the patches around a region end at the hull. */
static rb_status
record_rim(rb_volume_comparison *c, uint32_t segment, uint32_t number, bool along)
{
	return rb_vec_append(c->ctx, &c->rims,
						 (rb_region_rim){.segment = segment, .region = number, .along = along});
}

/*
 * Closes the patches around a region along a face of the hull that is on no facet. For each edge of
 * the face that is a subsegment, adds the triangle between the edge and the first end of its
 * segment. If the edge begins or ends there, records a rim instead.
 */
static rb_status
add_hull_face(rb_volume_comparison *c, const uint32_t *w, uint32_t inside)
{
	const rb_volumes_input *in = c->in;
	rb_compared_region *r = &c->regions[inside];
	double o[3], p[3][3];

	RB_TRY(c->edges_listed ? RB_OK : rb_patches_list_mesh_edges(c));
	rb_patches_scale_point(c, in->surface_points, 0, o);
	for (int k = 0; k < 3; k++)
		rb_patches_scale_point(c, in->points, w[k], p[k]);
	r->volume += determinant_about(o, p[0], p[1], p[2]);
	for (uint32_t i = 0; i < 3; i++)
	{
		const uint32_t j = (i + 1) % 3, *piece = rb_table_get(&c->pieces, w[i], w[j], RB_NONE);
		uint32_t segment, end;
		double e[3];

		if (piece == NULL)
			continue;
		segment = in->edge_segment[*piece];
		end = in->segments[segment][0];
		if (end >= in->npoints) /* a fault that the list of segments has reported */
		{
			r->unknown = true;
			continue;
		}
		if (w[i] == end || w[j] == end)
		{
			RB_TRY(record_rim(c, segment, inside, w[i] == end));
			continue;
		}
		rb_patches_scale_point(c, in->points, end, e);
		add_determinant(&r->sum, 1, p[i], p[j], e);
	}
	return RB_OK;
}

/*
 * Adds face i of tetrahedron t, at which the region ends, to its sums; the corners run
 * counterclockwise from outside.
 */
static rb_status
add_face_to_sums(rb_volume_comparison *c, uint32_t t, uint32_t i, uint32_t inside, uint32_t outside)
{
	const rb_volumes_input *in = c->in;
	const uint32_t *v = in->tets[t];
	const uint32_t w[3] = {v[rb_face_corners[i][0]], v[rb_face_corners[i][1]],
						   v[rb_face_corners[i][2]]};
	const uint32_t *face = rb_table_get(&c->faces, w[0], w[1], w[2]);
	double p[3][3], o[3], n[3], long2;
	rb_facet_patch *of;
	bool up;

	if (face == NULL)
		return add_hull_face(c, w, inside);
	if (c->face_patch[*face] == RB_NONE)
	{
		c->regions[inside].unknown = true;
		return RB_OK;
	}
	of = &c->patches.at[c->face_patch[*face]];
	for (int k = 0; k < 3; k++)
		rb_patches_scale_point(c, in->points, w[k], p[k]);
	add_determinant(&c->regions[inside].sum, 1, p[0], p[1], p[2]);
	/* A face between two regions is visited from both sides. */
	of->nends += outside == RB_PATCH_NO_REGION || inside < outside;
	rb_face_normal(p[0], p[1], p[2], n);
	long2 = rb_face_long2(p[0], p[1], p[2]);
	if (rb_dot(n, n) <= MIN_AREA * MIN_AREA * long2 * long2)
		return record_thin(c, c->face_patch[*face], inside);
	rb_patches_scale_point(c, in->surface_points, in->triangles[of->first][0], o);
	/* A face between two regions is visited from both sides. */
	up = rb_dot(n, of->normal) > 0;
	if (outside == RB_PATCH_NO_REGION || inside < outside)
		of->won += (up ? 1 : -1) * determinant_about(o, p[0], p[1], p[2]);
	record_side(c, up ? &of->below : &of->above, inside);
	record_side(c, up ? &of->above : &of->below, outside);
	return RB_OK;
}

/* Adds each face at which a region of the mesh ends to the volume of that region. */
static rb_status
add_mesh_volumes(rb_volume_comparison *c)
{
	const rb_volumes_input *in = c->in;
	uint32_t inside = 0;

	for (uint32_t t = 0; t < in->ntets; t++)
	{
		if (rb_patches_should_stop(c, t))
			return RB_STOPPED;
		if (t == 0 || in->region[t] != in->region[t - 1])
			inside = region_number(c, in->region[t]);
		for (uint32_t i = 0; i < 4; i++)
		{
			const uint32_t beyond = in->neighbours[4 * (size_t) t + i];

			if (beyond == RB_NONE)
				RB_TRY(add_face_to_sums(c, t, i, inside, RB_PATCH_NO_REGION));
			else if (in->region[beyond] != in->region[t])
				RB_TRY(add_face_to_sums(c, t, i, inside, region_number(c, in->region[beyond])));
		}
	}
	return RB_OK;
}

/* Subtracts a triangle from a region; sign is 1 if the normal points out of the region. */
static void
subtract_triangle(rb_volume_comparison *c, uint32_t number, uint32_t t, double sign)
{
	double p[3][3], o[3];
	rb_compared_region *r;

	if (number >= c->nregions)
		return;
	r = &c->regions[number];
	if (c->triangle_turned[t])
		sign = -sign;
	rb_patches_get_triangle(c, t, p);
	add_determinant(&r->sum, -sign, p[0], p[1], p[2]);
	rb_patches_scale_point(c, c->in->surface_points, 0, o);
	r->volume += sign * determinant_about(o, p[0], p[1], p[2]);
}

/* Orders rims by segment. */
static int
order_of_rims(const void *a, const void *b, const void *arg)
{
	const uint32_t x = ((const rb_region_rim *) a)->segment,
				   y = ((const rb_region_rim *) b)->segment;

	(void) arg;
	return (x > y) - (x < y);
}

typedef struct rim_search
{
	const rb_region_rim *rims;
	uint32_t segment;
} rim_search;

/* Returns true if rim i is on a segment before the sought one, for a binary search. */
static inline bool
is_rim_before(size_t i, const void *arg)
{
	const rim_search *s = arg;

	return s->rims[i].segment < s->segment;
}

/* Returns the first rim that is not on an earlier segment. */
static uint32_t
first_rim(const rb_volume_comparison *c, uint32_t segment)
{
	const rim_search wanted = {c->rims.at, segment};

	return (uint32_t) rb_lower_bound(0, c->rims.n, is_rim_before, &wanted);
}

/* Closes the patches of the surface along the rims. */
static rb_status
subtract_rims(rb_volume_comparison *c)
{
	const rb_volumes_input *in = c->in;

	if (c->rims.n == 0 || in->piece_segment == NULL)
		return RB_OK; /* The segments of the surface are not divided. */
	RB_TRY(rb_sort(c->ctx, c->rims.at, c->rims.n, sizeof *c->rims.at, order_of_rims, NULL));
	for (uint32_t i = 0; i < in->npieces; i++)
	{
		const uint32_t segment = in->piece_segment[i], *ends = in->segments[segment];
		double p[2][3], e[2][3], d[3], n[3];
		uint32_t from;
		bool along;

		if (rb_patches_should_stop(c, i))
			return RB_STOPPED;
		from = first_rim(c, segment);
		if (from == c->rims.n || c->rims.at[from].segment != segment)
			continue;
		for (int k = 0; k < 2; k++)
		{
			rb_patches_scale_point(c, in->surface_points, in->pieces[i][k], p[k]);
			rb_patches_scale_point(c, in->surface_points, ends[k], e[k]);
		}
		for (int k = 0; k < 3; k++)
		{
			d[k] = p[1][k] - p[0][k];
			n[k] = e[1][k] - e[0][k];
		}
		along = rb_dot(d, n) > 0;
		for (; from < c->rims.n && c->rims.at[from].segment == segment; from++)
			add_determinant(&c->regions[c->rims.at[from].region].sum,
							c->rims.at[from].along == along ? -1 : 1, p[0], p[1], e[0]);
	}
	return RB_OK;
}

/* Subtracts the volumes inside the surface from those of the mesh. */
static rb_status
subtract_surface(rb_volume_comparison *c)
{
	for (uint32_t t = 0; t < c->in->ntriangles; t++)
	{
		const rb_facet_patch *of = &c->patches.at[c->triangle_patch[t]];

		if (rb_patches_should_stop(c, t))
			return RB_STOPPED;
		if (of->below == of->above)
			continue;
		subtract_triangle(c, of->below, t, 1);
		subtract_triangle(c, of->above, t, -1);
	}
	return subtract_rims(c);
}

/* Adds the volume by which a patch may differ to the limit of a region. */
static void
add_limit(rb_volume_comparison *c, uint32_t number, uint32_t p)
{
	const rb_facet_patch *of = &c->patches.at[p];
	double thick;
	rb_compared_region *r;

	if (number >= c->nregions)
		return;
	r = &c->regions[number];
	/*
	 * Six times the area times a thickness: the height of bends that rounding explains or the
	 * tolerance of the facet, plus the distance of points on both sides.
	 */
	thick = fmax(fmin(of->high - of->low, c->flat), rb_patches_get_tolerance(c, of->facet));
	r->limit += 6 * of->area * (thick + 2 * c->rounds);
	if (r->worst == RB_NONE || fabs(of->won) > fabs(c->patches.at[r->worst].won))
		r->worst = p;
	r->unknown |= c->unknown[of->facet] != 0;
}

/* Computes the limits of all regions. */
static void
make_limits(rb_volume_comparison *c)
{
	for (uint32_t r = 0; r < c->nregions; r++)
		c->regions[r].worst = RB_NONE;
	for (uint32_t p = 0; p < c->patches.n; p++)
		if (c->patches.at[p].below != c->patches.at[p].above)
		{
			add_limit(c, c->patches.at[p].below, p);
			add_limit(c, c->patches.at[p].above, p);
		}
}

/* ---- faults ---- */

/* Reports a patch if its faces do not tile it. */
static rb_status
report_area(rb_volume_comparison *c, const rb_facet_patch *of, rb_volumes_report report, void *arg)
{
	const double unit = ldexp(1, -c->exponent);
	rb_volumes_fault fault = {.kind = RB_VOLUMES_AREA,
							  .point = RB_NONE,
							  .facet = of->facet,
							  .amount = of->more / 2 * unit * unit,
							  .limit = of->most / 2 * unit * unit,
							  .volume = of->area * unit * unit};

	if (fabs(of->more) <= of->most)
		return RB_OK;
	memcpy(fault.at, c->in->surface_points + 3 * (size_t) c->in->triangles[of->first][0],
		   sizeof fault.at);
	return report(arg, &fault);
}

/*
 * Reports points far from their facets, facets that their faces do not tile, and regions whose
 * volumes differ.
 */
static rb_status
report_faults(rb_volume_comparison *c, rb_volumes_report report, void *arg)
{
	const double unit = ldexp(1, -c->exponent);

	for (uint32_t p = 0; p < c->patches.n; p++)
	{
		const rb_facet_patch *of = &c->patches.at[p];
		rb_volumes_fault fault = {.kind = RB_VOLUMES_FAR,
								  .point = of->far_point,
								  .facet = of->facet,
								  .amount = of->far * unit,
								  .limit = c->rounds * unit};

		if (of->far_point == RB_NONE || of->far <= c->rounds)
			continue;
		memcpy(fault.at, c->in->points + 3 * (size_t) of->far_point, sizeof fault.at);
		RB_TRY(report(arg, &fault));
	}
	for (uint32_t p = 0; p < c->patches.n; p++)
		RB_TRY(report_area(c, &c->patches.at[p], report, arg));
	for (uint32_t i = 0; i < c->nregions; i++)
	{
		const rb_compared_region *r = &c->regions[i];
		const double off = rb_patches_round_sum(&r->sum);
		rb_volumes_fault fault = {.kind = RB_VOLUMES_REGION,
								  .region = c->region_id[i],
								  .point = RB_NONE,
								  .amount = off / 6 * unit * unit * unit,
								  .limit = r->limit / 6 * unit * unit * unit,
								  .volume = r->volume / 6 * unit * unit * unit};

		if (r->unknown || r->worst == RB_NONE || fabs(off) <= r->limit)
			continue;
		fault.facet = c->patches.at[r->worst].facet;
		RB_TRY(report(arg, &fault));
	}
	return RB_OK;
}

/* ---- comparison ---- */

/* Frees the arrays of the comparison. */
static void
free_volume_comparison(rb_volume_comparison *c)
{
	rb_memory *memory = c->ctx->memory;

	rb_vec_free(memory, &c->patches);
	RB_FREE(memory, c->first_patch);
	RB_FREE(memory, c->triangle_patch);
	RB_FREE(memory, c->triangle_turned);
	RB_FREE(memory, c->face_patch);
	RB_FREE(memory, c->unknown);
	RB_FREE(memory, c->root);
	rb_table_free(memory, &c->sides);
	rb_table_free(memory, &c->pieces);
	rb_table_free(memory, &c->faces);
	RB_FREE(memory, c->region_id);
	RB_FREE(memory, c->regions);
	RB_FREE(memory, c->thin);
	rb_vec_free(memory, &c->rims);
}

/* Compares the volumes of mesh and surface by region. */
static rb_status
compare_volumes(rb_volume_comparison *c, rb_volumes_report report, void *arg)
{
	RB_TRY(measure_points(c));
	RB_TRY(rb_patches_compare(c));
	RB_TRY(list_regions(c));
	RB_TRY(add_mesh_volumes(c));
	mark_unknown_regions(c);
	make_limits(c);
	RB_TRY(subtract_surface(c));
	return report_faults(c, report, arg);
}

rb_status
rb_volumes_compare(rb_context *ctx, const rb_volumes_input *in, rb_volumes_report report, void *arg)
{
	rb_volume_comparison c = {.ctx = ctx, .in = in};
	rb_status status;

	if (in->ntets == 0 || in->ntriangles == 0)
		return RB_OK;
	status = compare_volumes(&c, report, arg);
	free_volume_comparison(&c);
	return status;
}

void
rb_volumes_of_plc(const rb_plc *plc, const rb_tets *tets, rb_volumes_input *in)
{
	*in = (rb_volumes_input){.npoints = tets->npoints,
							 .ntets = tets->ntets,
							 .nfaces = tets->nfaces,
							 .nedges = tets->nedges,
							 .nsegments = tets->nsegments,
							 .points = tets->points,
							 .kind = tets->kind,
							 .parent = tets->parent,
							 .tets = (const uint32_t(*)[4]) tets->tets,
							 .neighbours = tets->neighbours,
							 .region = tets->region,
							 .faces = (const uint32_t(*)[3]) tets->faces,
							 .face_facet = tets->face_facet,
							 .edges = (const uint32_t(*)[2]) tets->edges,
							 .edge_segment = tets->edge_segment,
							 .segments = (const uint32_t(*)[2]) tets->segments,
							 .surface_npoints = plc->npoints,
							 .ntriangles = plc->ntriangles,
							 .nfacets = plc->nfacets,
							 .npieces = tets->nsegments,
							 .surface_points = plc->points,
							 .triangles = plc->triangles,
							 .facet_of = plc->facet_of,
							 .tolerance = plc->tolerance,
							 .pieces = (const uint32_t(*)[2]) tets->segments};
}

rb_status
rb_volumes_copy_surface(rb_context *ctx, const rb_tets *tets, rb_volumes_surface *before)
{
	rb_buckets faces = {0};
	uint32_t nfacets = 0;
	rb_status status;

	*before = (rb_volumes_surface){
		.npoints = tets->npoints, .ntriangles = tets->nfaces, .npieces = tets->nedges};
	for (uint32_t f = 0; f < tets->nfaces; f++)
		nfacets = tets->face_facet[f] >= nfacets ? tets->face_facet[f] + 1 : nfacets;
	before->nfacets = nfacets;
	status =
		rb_buckets_build(ctx, &faces, tets->nfaces, nfacets, rb_bucket_in_array, tets->face_facet);
	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, before->triangles, (size_t) tets->nfaces + 1);
	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, before->facet_of, (size_t) tets->nfaces + 1);
	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, before->pieces, (size_t) tets->nedges + 1);
	if (status == RB_OK)
		status = RB_ALLOCATE(ctx, before->piece_segment, (size_t) tets->nedges + 1);
	if (status == RB_OK)
	{
		for (uint32_t i = 0; i < tets->nfaces; i++)
		{
			memcpy(before->triangles[i], tets->faces[faces.member[i]], sizeof before->triangles[i]);
			before->facet_of[i] = tets->face_facet[faces.member[i]];
		}
		memcpy(before->pieces, tets->edges, tets->nedges * sizeof *before->pieces);
		memcpy(before->piece_segment, tets->edge_segment,
			   tets->nedges * sizeof *before->piece_segment);
	}
	else
		rb_volumes_surface_free(ctx->memory, before);
	rb_buckets_free(ctx->memory, &faces);
	return status;
}

void
rb_volumes_of_surface(const rb_volumes_surface *before, const rb_tets *tets, rb_volumes_input *in)
{
	const rb_plc surface = {.npoints = before->npoints,
							.ntriangles = before->ntriangles,
							.nfacets = before->nfacets,
							.points = tets->points,
							.triangles = (const uint32_t(*)[3]) before->triangles,
							.facet_of = before->facet_of};

	rb_volumes_of_plc(&surface, tets, in);
	in->npieces = before->npieces;
	in->pieces = (const uint32_t(*)[2]) before->pieces;
	in->piece_segment = before->piece_segment;
}

/* Writes the first fault to the flaw and ends the comparison. */
static rb_status
write_first_volume_fault(void *arg, const rb_volumes_fault *fault)
{
	rb_flaw *flaw = arg;
	static const rb_flaw_kind kinds[] = {[RB_VOLUMES_FAR] = RB_FLAW_OFF_FACET,
										 [RB_VOLUMES_AREA] = RB_FLAW_NOT_RECOVERED,
										 [RB_VOLUMES_REGION] = RB_FLAW_VOLUME};

	flaw->kind = kinds[fault->kind];
	flaw->a = fault->facet;
	flaw->b = fault->point;
	flaw->region = fault->region;
	flaw->amount = fault->amount;
	flaw->limit = fault->limit;
	flaw->volume = fault->volume;
	memcpy(flaw->at, fault->at, sizeof flaw->at);
	return RB_BAD_PLC;
}

rb_status
rb_volumes_check(rb_context *ctx, const rb_volumes_input *in, rb_flaw *flaw)
{
	rb_status status = rb_volumes_compare(ctx, in, write_first_volume_fault, flaw);

	return status == RB_BAD_PLC ? rb_fail(ctx, RB_BAD_PLC, flaw->a, flaw->b, NULL) : status;
}
