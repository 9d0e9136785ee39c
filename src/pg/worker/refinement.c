/*
 * refinement.c
 *	  Transfers a mesh under refinement through the ring and back: a header, then the arrays in a
 *	  fixed order.
 *
 *	session							the ring						worker
 *	rb_sent_refining				->								allocates arrays of these lengths
 *	all arrays of rb_refining		->								runs the rounds
 *	allocates arrays				<-								rb_sent_refining
 *	the arrays that rounds change	<-								(then frees all of them)
 *
 * This is repeated each time that rb_refine asks for rounds. The session's mesh stays unchanged
 * until the complete result has arrived: after any failure the session can run these rounds itself.
 *
 * No function of PostgreSQL is called here, because threads use these functions.
 */
#include "pg/worker/protocol.h"

#include "core/base/base.h"

void
rb_sent_refining_of(rb_sent_refining *sent, const rb_refining *r)
{
	memset(sent, 0, sizeof *sent);
	sent->ncells = r->ncells;
	sent->nsites = r->nsites;
	sent->nfree = r->nfree;
	sent->nblocked = r->nblocked;
	sent->nsegments = r->mesh.nsegments;
	sent->nfacets = r->all_facets;
	sent->ncorners = r->mesh.facet_start[r->all_facets];
	sent->nregions = r->mesh.region_volume == NULL ? 0 : r->nregions;
	sent->nsizes = r->mesh.sizes == NULL ? 0 : r->options->nsizes;
	for (int i = 0; i < 3 && sent->nsizes > 0; i++)
	{
		sent->low[i] = r->sizes.low[i];
		sent->n[i] = r->sizes.n[i];
	}
	sent->cell = r->sizes.cell;
	sent->ratio = r->mesh.ratio;
	sent->volume = r->mesh.volume;
	sent->has_volumes = r->mesh.has_volumes;
	sent->keep_surface = r->mesh.keep_surface;
	sent->protect = r->protect;
	sent->done = r->done;
	sent->full = r->full;
	sent->max_points = r->options->max_points;
	sent->report = *r->report;
}

static uint64
size_cells(const rb_sent_refining *sent)
{
	return sent->nsizes == 0 ? 0
							 : (uint64) sent->n[0] * (uint64) sent->n[1] * (uint64) sent->n[2] + 1;
}

/* Lists the arrays that rounds change; they come first. */
static int
changed_arrays(const rb_sent_refining *sent, rb_refining *r, rb_bytes *arrays)
{
	int n = 0;

	arrays[n++] = (rb_bytes){(char *) r->mesh.cells, (size_t) sent->ncells * sizeof(rb_cell)};
	arrays[n++] = (rb_bytes){(char *) r->mesh.sites, (size_t) sent->nsites * sizeof(rb_site)};
	arrays[n++] = (rb_bytes){(char *) r->mesh.kind, sent->nsites};
	arrays[n++] = (rb_bytes){(char *) r->mesh.parent, (size_t) sent->nsites * sizeof(uint32_t)};
	arrays[n++] = (rb_bytes){(char *) r->free, (size_t) sent->nfree * sizeof(uint32_t)};
	arrays[n++] = (rb_bytes){(char *) r->blocked, (size_t) sent->nblocked * sizeof(rb_entry64)};
	return n;
}

int
rb_refining_arrays(const rb_sent_refining *sent, rb_refining *r, bool back, rb_bytes *arrays)
{
	int n = changed_arrays(sent, r, arrays);

	if (back)
		return n;
	arrays[n++] =
		(rb_bytes){(char *) r->mesh.segments, (size_t) sent->nsegments * sizeof(uint32_t[2])};
	arrays[n++] =
		(rb_bytes){(char *) r->mesh.segment_order, (size_t) sent->nsegments * sizeof(uint32_t)};
	arrays[n++] =
		(rb_bytes){(char *) r->mesh.facet_start, ((size_t) sent->nfacets + 1) * sizeof(uint32_t)};
	arrays[n++] =
		(rb_bytes){(char *) r->mesh.facet_corners, (size_t) sent->ncorners * sizeof(uint32_t)};
	arrays[n++] =
		(rb_bytes){(char *) r->mesh.region_volume, (size_t) sent->nregions * sizeof(double)};
	arrays[n++] = (rb_bytes){(char *) r->sizes_start, size_cells(sent) * sizeof(uint32_t)};
	arrays[n++] = (rb_bytes){(char *) r->sizes_points, 4 * (size_t) sent->nsizes * sizeof(double)};
	return n;
}

/* Allocates an array; even an empty one gets an address. */
static rb_status
alloc_array(rb_context *ctx, void *block, size_t n, size_t element)
{
	return rb_array(ctx, (void **) block, n + 1, element);
}

static rb_status
alloc_changed(rb_context *ctx, const rb_sent_refining *sent, rb_refining *r)
{
	rb_cells *m = &r->mesh;
	rb_status status = alloc_array(ctx, &m->cells, sent->ncells, sizeof(rb_cell));

	if (status == RB_OK)
		status = alloc_array(ctx, &m->sites, sent->nsites, sizeof(rb_site));
	if (status == RB_OK)
		status = alloc_array(ctx, &m->kind, sent->nsites, 1);
	if (status == RB_OK)
		status = alloc_array(ctx, &m->parent, sent->nsites, sizeof(uint32_t));
	if (status == RB_OK)
		status = alloc_array(ctx, &r->free, sent->nfree, sizeof(uint32_t));
	if (status == RB_OK)
		status = alloc_array(ctx, &r->blocked, sent->nblocked, sizeof(rb_entry64));
	r->ncells = sent->ncells;
	r->cells_cap = (size_t) sent->ncells + 1;
	r->nsites = sent->nsites;
	r->sites_cap = r->kind_cap = r->parent_cap = (size_t) sent->nsites + 1;
	r->nfree = sent->nfree;
	r->free_cap = (size_t) sent->nfree + 1;
	r->nblocked = sent->nblocked;
	r->blocked_cap = (size_t) sent->nblocked + 1;
	r->protect = sent->protect;
	r->done = sent->done;
	r->full = sent->full;
	return status;
}

/* Returns true if the counts of the header are within their limits. */
static bool
is_sound(const rb_sent_refining *sent)
{
	bool sound =
		sent->ncells <= RB_MAX_CELLS && sent->nsites < RB_DEAD - 8 && sent->nfree <= sent->ncells;

	for (int i = 0; i < 3 && sent->nsizes > 0; i++)
		sound &= sent->n[i] >= 1 && (uint64) sent->n[i] <= RB_MAX_CELLS;
	return sound && (sent->nsizes == 0 ||
					 (double) sent->n[0] * sent->n[1] * sent->n[2] <= (double) RB_MAX_CELLS);
}

rb_status
rb_refining_alloc(rb_context *ctx, const rb_sent_refining *sent, rb_refine_options *options,
				  rb_refine_report *report, rb_refining *r)
{
	rb_cells *m = &r->mesh;
	rb_status status;

	memset(r, 0, sizeof *r);
	memset(options, 0, sizeof *options);
	*report = sent->report;
	r->ctx = ctx;
	r->options = options;
	r->report = report;
	options->max_points = sent->max_points;
	options->nsizes = sent->nsizes;
	options->threads = ctx->threads;
	if (!is_sound(sent))
		return rb_fail(ctx, RB_UNSUPPORTED, 0, 0, "the request is inconsistent");
	status = alloc_changed(ctx, sent, r);
	if (status == RB_OK)
		status = alloc_array(ctx, &r->segments, sent->nsegments, sizeof(uint32_t[2]));
	if (status == RB_OK)
		status = alloc_array(ctx, &r->segment_order, sent->nsegments, sizeof(uint32_t));
	if (status == RB_OK)
		status = alloc_array(ctx, &r->facet_start, sent->nfacets, sizeof(uint32_t));
	if (status == RB_OK)
		status = alloc_array(ctx, &r->facet_corners, sent->ncorners, sizeof(uint32_t));
	if (status == RB_OK && sent->nregions > 0)
		status = alloc_array(ctx, &r->region_volume, sent->nregions, sizeof(double));
	if (status == RB_OK && sent->nsizes > 0)
		status = alloc_array(ctx, &r->sizes_start, size_cells(sent), sizeof(uint32_t));
	if (status == RB_OK && sent->nsizes > 0)
		status = alloc_array(ctx, &r->sizes_points, 4 * (size_t) sent->nsizes, sizeof(double));
	r->all_facets = sent->nfacets;
	r->nregions = sent->nregions;
	for (int i = 0; i < 3; i++)
	{
		r->sizes.low[i] = sent->low[i];
		r->sizes.n[i] = sent->n[i];
	}
	r->sizes.cell = sent->cell;
	r->sizes.start = r->sizes_start;
	r->sizes.points = r->sizes_points;
	m->segments = (const uint32_t(*)[2]) r->segments;
	m->segment_order = r->segment_order;
	m->nsegments = sent->nsegments;
	m->facet_start = r->facet_start;
	m->facet_corners = r->facet_corners;
	m->ratio = sent->ratio;
	m->volume = sent->volume;
	m->has_volumes = sent->has_volumes;
	m->region_volume = r->region_volume;
	m->sizes = sent->nsizes > 0 ? &r->sizes : NULL;
	m->keep_surface = sent->keep_surface;
	return status;
}

/*
 * Returns true if the lengths that a backend reads on the host match the header. Indices within
 * cells are not checked: only the device uses them, and invalid ones make it fail.
 */
bool
rb_refining_is_sound(const rb_sent_refining *sent, const rb_refining *r)
{
	return r->mesh.facet_start[sent->nfacets] == sent->ncorners &&
		   (sent->nsizes == 0 || r->sizes_start[size_cells(sent) - 1] == sent->nsizes);
}

rb_status
rb_refined_alloc(rb_context *ctx, const rb_sent_refining *sent, rb_refining *fresh)
{
	memset(fresh, 0, sizeof *fresh);
	fresh->ctx = ctx;
	if (!is_sound(sent))
		return rb_fail(ctx, RB_BAD_REPLY, 0, 0, NULL);
	return alloc_changed(ctx, sent, fresh);
}

#define SWAP(a, b)                     \
	do                                 \
	{                                  \
		const __typeof__(a) was = (a); \
                                       \
		(a) = (b);                     \
		(b) = was;                     \
	} while (0)

void
rb_refined_swap(const rb_sent_refining *sent, rb_refining *fresh, rb_refining *r)
{
	SWAP(r->mesh.cells, fresh->mesh.cells);
	SWAP(r->mesh.sites, fresh->mesh.sites);
	SWAP(r->mesh.kind, fresh->mesh.kind);
	SWAP(r->mesh.parent, fresh->mesh.parent);
	SWAP(r->free, fresh->free);
	SWAP(r->blocked, fresh->blocked);
	r->ncells = fresh->ncells;
	r->cells_cap = fresh->cells_cap;
	r->nsites = fresh->nsites;
	r->sites_cap = fresh->sites_cap;
	r->kind_cap = fresh->kind_cap;
	r->parent_cap = fresh->parent_cap;
	r->nfree = fresh->nfree;
	r->free_cap = fresh->free_cap;
	r->nblocked = fresh->nblocked;
	r->blocked_cap = fresh->blocked_cap;
	r->done = fresh->done;
	r->full = fresh->full;
	*r->report = sent->report;
}
