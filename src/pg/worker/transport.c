/*
 * transport.c
 *	  Transfers sets, meshes, aggregates and blocks of ids through the ring of a request.
 *
 * Each direction has one writer and one reader. Bytes pass through a ring with two counters: bytes
 * sent and bytes received. After all bytes of the sides have arrived, the same memory is a ring of
 * bytes in the other direction, or of blocks of ids as in parallel_queue.c: the word of a slot
 * gives the block it holds, or 0 if the slot may be filled again.
 *
 * The lengths of arrays are known before their first byte arrives, so the arrays are transferred
 * without any framing, one after another. If there are many bytes, the ring is divided into lanes,
 * and each lane transfers its part of every large array: one thread copies a few gigabytes per
 * second, and a device reads many times faster.
 *
 * Blocks are not compressed. Measured with 10^7 clustered boxes, differences between the sorted ids
 * of a block take 4.3 bytes a pair instead of 16, but encoding and decoding take 13 ns a pair and
 * sorting 100 ns, while copying 16 bytes takes 1.6 ns.
 *
 * A mesh under refinement passes through the ring and back each time that rb_refine asks for
 * rounds:
 *
 *	session							the ring						worker
 *	rb_sent_refining				->								allocates arrays of these lengths
 *	all arrays of rb_refining		->								runs the rounds
 *	allocates arrays				<-								rb_sent_refining
 *	the arrays that rounds change	<-								(then frees all of them)
 *
 * The session's mesh stays unchanged until the complete result has arrived: after any failure the
 * session can run these rounds itself.
 *
 * No function of PostgreSQL is called here, because threads use these functions.
 */
#include "pg/worker/protocol.h"

/*
 * Fraction 1/n of a lane that is published at once, so that both processes can copy at the same
 * time
 */
#define STEPS 8
#define ALIGNED 64 /* Alignment of a lane's part of an array: a cache line */
/* Size of the smallest array that is divided among the lanes, in bytes */
#define DIVIDED_FROM ((size_t) 64 << 10)

/* ---- sides ---- */

/* Describes the arrays of a set's rows. */
static void
announce_arrays_of_rows(rb_sent_rows *rows, const rb_set *set)
{
	rows->nparts = set->nparts;
	rows->nrows = set->nrows;
	rows->has_row_of = set->row_of != NULL;
	rows->has_ids = set->ids != NULL;
	rows->first_id = set->first_id;
}

void
rb_sent_side_of(rb_sent_side *sent, const rb_set *set, const rb_to_keep *keep)
{
	memset(sent, 0, sizeof *sent);
	sent->kind = set->kind;
	sent->nparts = set->nparts;
	sent->nrows = set->nrows;
	sent->skipped = set->skipped;
	sent->srid = set->srid;
	if (!set->elsewhere)
		announce_arrays_of_rows(&sent->rows, set);
	else if (set->view == NULL)
	{
		sent->from = RB_FROM_CACHED;
		sent->number = set->number;
	}
	else
	{
		sent->from = RB_FROM_DELTA;
		sent->number = set->view->kept->number;
		sent->ncuts = set->view->ncuts;
		announce_arrays_of_rows(&sent->rows, set->view->fresh);
	}
	if (keep != NULL)
		sent->keep = *keep;
}

int
rb_side_arrays(const rb_sent_side *sent, const rb_cut *cuts, const rb_set *rows, const void *card,
			   rb_bytes *arrays)
{
	const rb_sent_rows *r = &sent->rows;
	int n = 0;

	StaticAssertStmt(2 * RB_SIDE_ARRAYS + 1 <= RB_SENT_ARRAYS, "two sides, and numbers");
	if (sent->from == RB_FROM_DELTA)
		arrays[n++] = (rb_bytes){(char *) cuts, ((size_t) sent->ncuts + 1) * sizeof *cuts};
	if (sent->from != RB_FROM_CACHED)
	{
		arrays[n++] =
			(rb_bytes){(char *) rows->coords,
					   (size_t) r->nparts * (size_t) rb_kind_width(sent->kind) * sizeof(double)};
		if (r->has_row_of)
			arrays[n++] =
				(rb_bytes){(char *) rows->row_of, (size_t) r->nparts * sizeof *rows->row_of};
		if (r->has_ids)
			arrays[n++] = (rb_bytes){(char *) rows->ids, (size_t) r->nrows * sizeof *rows->ids};
	}
	if (sent->keep.card_bytes > 0)
		arrays[n++] = (rb_bytes){(char *) card, sent->keep.card_bytes};
	return n;
}

/*
 * Returns the number of rows that the aggregate of a request describes, from which the lengths of
 * transferred arrays follow.
 */
static uint64
count_rows_to_transfer(const rb_request_args *asked)
{
	return asked->side[asked->job.of == RB_OF_BLUE ? asked->sides - 1 : 0].nrows;
}

int
rb_number_array(const rb_request_args *asked, const uint32_t *number, rb_bytes *array)
{
	if (!asked->has_number)
		return 0;
	*array = (rb_bytes){(char *) number, (size_t) count_rows_to_transfer(asked) * sizeof *number};
	return 1;
}

size_t
rb_bytes_left(const rb_bytes *arrays, int n)
{
	size_t left = 0;

	for (int i = 0; i < n; i++)
		left += arrays[i].left;
	return left;
}

/* ---- lanes ---- */

rb_lane
rb_lane_there(rb_request *request, uint32 lane)
{
	const size_t size = RB_SENT_BYTES / request->asked.lanes;

	return (rb_lane){&request->there[lane], request->ring.bytes + lane * size, size};
}

rb_lane
rb_lane_back(rb_request *request)
{
	return (rb_lane){&request->back, request->ring.bytes, RB_SENT_BYTES};
}

/* Returns true if an array of that size is sent through all lanes, not only through the first. */
static bool
are_bytes_divided_to_lanes(const rb_request_args *asked, size_t bytes)
{
	return asked->lanes > 1 && bytes >= DIVIDED_FROM;
}

uint32
rb_lanes_of(const rb_request_args *asked, const rb_bytes *arrays, int n)
{
	for (int i = 0; i < n; i++)
		if (are_bytes_divided_to_lanes(asked, arrays[i].left))
			return asked->lanes;
	return 1;
}

/* Returns the offset at which the part of a lane begins. */
static size_t
begin_of_lane_part(const rb_request_args *asked, uint32 lane, size_t bytes)
{
	if (!are_bytes_divided_to_lanes(asked, bytes))
		return lane == 0 ? 0 : bytes;
	return lane == asked->lanes ? bytes : bytes / asked->lanes / ALIGNED * ALIGNED * lane;
}

void
rb_lane_part(const rb_request_args *asked, uint32 lane, const rb_bytes *arrays, int n,
			 rb_bytes *part)
{
	for (int i = 0; i < n; i++)
	{
		const size_t from = begin_of_lane_part(asked, lane, arrays[i].left);

		part[i].at = arrays[i].at + from;
		part[i].left = begin_of_lane_part(asked, lane + 1, arrays[i].left) - from;
	}
}

/* Moves at most `most` bytes between arrays and the lane, from position `at` of the lane. */
static size_t
move_bytes_of_lane(const rb_lane *lane, rb_bytes *arrays, int n, uint64 at, size_t most,
				   bool into_ring)
{
	size_t moved = 0;

	most = Min(most, lane->size / STEPS);
	for (int i = 0; i < n; i++)
		while (arrays[i].left > 0 && moved < most)
		{
			size_t place = (size_t) ((at + moved) % lane->size);
			size_t step = Min(arrays[i].left, Min(most - moved, lane->size - place));

			if (into_ring)
				memcpy(lane->ring + place, arrays[i].at, step);
			else
				memcpy(arrays[i].at, lane->ring + place, step);
			arrays[i].at += step;
			arrays[i].left -= step;
			moved += step;
		}
	return moved;
}

size_t
rb_bytes_write(const rb_lane *lane, rb_bytes *arrays, int n)
{
	uint64 sent = lane->way->sent.n;
	size_t room = lane->size - (size_t) (sent - rb_acquire(&lane->way->received.n));
	size_t moved = move_bytes_of_lane(lane, arrays, n, sent, room, true);

	rb_release(&lane->way->sent.n, sent + moved);
	return moved;
}

size_t
rb_bytes_read(const rb_lane *lane, rb_bytes *arrays, int n)
{
	uint64 received = lane->way->received.n;
	size_t there = (size_t) (rb_acquire(&lane->way->sent.n) - received);
	size_t moved = move_bytes_of_lane(lane, arrays, n, received, there, false);

	rb_release(&lane->way->received.n, received + moved);
	return moved;
}

/* ---- replies ---- */

bool
rb_expects_reply(const rb_request_args *asked)
{
	return asked->ask == RB_ASK_CARD || asked->ask == RB_ASK_IDS ||
		   (asked->ask == RB_ASK_JOIN &&
			(asked->job.answer == RB_COUNTS || asked->job.answer == RB_HITS ||
			 asked->job.answer == RB_GROUPS));
}

/* Returns true if the lengths of an aggregate are those of its rows or groups. */
static bool
is_received_aggregate_sound(const rb_request_args *asked, const rb_sent_reply *reply)
{
	const uint64 rows = count_rows_to_transfer(asked);
	const uint64 groups = asked->has_number ? asked->job.numbers : rows;

	if (asked->job.answer == RB_HITS)
		return reply->words == (rows + 31) / 32 && reply->starts == 0;
	if (asked->job.answer == RB_COUNTS)
		return reply->words == rows && reply->starts == 0;
	/* Without memory for groups, there are counts of rows or of groups. */
	return reply->starts == 0 ? reply->words == rows || reply->words == groups
							  : reply->words == 0 && reply->starts == groups + 1;
}

bool
rb_reply_is_sound(const rb_request_args *asked, const rb_sent_reply *reply, size_t bytes)
{
	if (!rb_expects_reply(asked))
		return false;
	if (asked->ask != RB_ASK_JOIN)
		return reply->bytes == bytes && reply->words == 0 && reply->starts == 0 &&
			   reply->members == 0;
	return reply->bytes == 0 && (reply->starts > 0 || reply->members == 0) &&
		   reply->members <= UINT64_MAX / sizeof(uint32_t) &&
		   is_received_aggregate_sound(asked, reply);
}

bool
rb_groups_are_sound(const rb_sent_reply *reply, const uint64_t *start)
{
	bool wrong = false;

	if (reply->starts == 0)
		return true;
	for (uint64 i = 1; i < reply->starts; i++)
		wrong |= start[i] < start[i - 1];
	return !wrong && start[0] == 0 && start[reply->starts - 1] == reply->members;
}

/* ---- blocks of ids ---- */

bool
rb_ids_write(rb_request *request, uint64 number, const rb_block *block)
{
	size_t slot = number % RB_SENT_BLOCKS;

	if (rb_acquire(&request->block[slot]) != 0)
		return false;
	request->pairs[slot] = (uint32) block->n;
	memcpy(request->ring.ids[slot].red, block->red, block->n * sizeof *block->red);
	memcpy(request->ring.ids[slot].blue, block->blue, block->n * sizeof *block->blue);
	if (block->payload != NULL)
		memcpy(request->ring.ids[slot].payload, block->payload,
			   block->n * block->words * sizeof *block->payload);
	rb_release(&request->block[slot], number + 1);
	return true;
}

bool
rb_ids_read(rb_request *request, uint64 number, rb_block *block)
{
	size_t slot = number % RB_SENT_BLOCKS;

	if (rb_acquire(&request->block[slot]) != number + 1)
		return false;
	block->red = request->ring.ids[slot].red;
	block->blue = request->ring.ids[slot].blue;
	block->words = (size_t) rb_payload_words(request->asked.job.predicate);
	block->payload = block->words > 0 ? request->ring.ids[slot].payload : NULL;
	block->n = request->pairs[slot];
	return true;
}

void
rb_ids_give_back(rb_request *request, uint64 number)
{
	rb_release(&request->block[number % RB_SENT_BLOCKS], 0);
}

/* ---- meshes ---- */

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

/*
 * Returns the length of the array of cell starts that is transferred for the sizing field of a
 * mesh: its cells and an end, or 0 without a field.
 */
static uint64
cells_of_sent_sizing_field(const rb_sent_refining *sent)
{
	return sent->nsizes == 0 ? 0
							 : (uint64) sent->n[0] * (uint64) sent->n[1] * (uint64) sent->n[2] + 1;
}

/* Lists the arrays of a transferred mesh that rounds change; they come first and are sent back. */
static int
list_arrays_to_send_back(const rb_sent_refining *sent, rb_refining *r, rb_bytes *arrays)
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
	int n = list_arrays_to_send_back(sent, r, arrays);

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
		(rb_bytes){(char *) r->mesh.planes, (size_t) sent->nfacets * sizeof(rb_facet_plane)};
	arrays[n++] =
		(rb_bytes){(char *) r->mesh.region_volume, (size_t) sent->nregions * sizeof(double)};
	arrays[n++] =
		(rb_bytes){(char *) r->sizes_start, cells_of_sent_sizing_field(sent) * sizeof(uint32_t)};
	arrays[n++] = (rb_bytes){(char *) r->sizes_points, 4 * (size_t) sent->nsizes * sizeof(double)};
	return n;
}

/* Allocates an array; even an empty one gets an address. */
static rb_status
allocate_received_array(rb_context *ctx, void *block, size_t n, size_t element)
{
	return rb_array(ctx, (void **) block, n + 1, element);
}

/* Allocates the arrays that a refinement changes. */
static rb_status
allocate_refined_arrays(rb_context *ctx, const rb_sent_refining *sent, rb_refining *r)
{
	rb_cells *m = &r->mesh;

	RB_TRY(allocate_received_array(ctx, &m->cells, sent->ncells, sizeof(rb_cell)));
	RB_TRY(allocate_received_array(ctx, &m->sites, sent->nsites, sizeof(rb_site)));
	RB_TRY(allocate_received_array(ctx, &m->kind, sent->nsites, 1));
	RB_TRY(allocate_received_array(ctx, &m->parent, sent->nsites, sizeof(uint32_t)));
	RB_TRY(allocate_received_array(ctx, &r->free, sent->nfree, sizeof(uint32_t)));
	RB_TRY(allocate_received_array(ctx, &r->blocked, sent->nblocked, sizeof(rb_entry64)));
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
	return RB_OK;
}

/* Returns true if the counts of the header are within their limits. */
static bool
are_mesh_counts_sound(const rb_sent_refining *sent)
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

	memset(r, 0, sizeof *r);
	memset(options, 0, sizeof *options);
	*report = sent->report;
	r->ctx = ctx;
	r->options = options;
	r->report = report;
	options->max_points = sent->max_points;
	options->nsizes = sent->nsizes;
	options->threads = ctx->threads;
	if (!are_mesh_counts_sound(sent))
		return rb_fail(ctx, RB_UNSUPPORTED, 0, 0, "the request is inconsistent");
	RB_TRY(allocate_refined_arrays(ctx, sent, r));
	RB_TRY(allocate_received_array(ctx, &r->segments, sent->nsegments, sizeof(uint32_t[2])));
	RB_TRY(allocate_received_array(ctx, &r->segment_order, sent->nsegments, sizeof(uint32_t)));
	RB_TRY(allocate_received_array(ctx, &r->facet_start, sent->nfacets, sizeof(uint32_t)));
	RB_TRY(allocate_received_array(ctx, &r->facet_corners, sent->ncorners, sizeof(uint32_t)));
	RB_TRY(allocate_received_array(ctx, &r->planes, sent->nfacets, sizeof(rb_facet_plane)));
	if (sent->nregions > 0)
		RB_TRY(allocate_received_array(ctx, &r->region_volume, sent->nregions, sizeof(double)));
	if (sent->nsizes > 0)
		RB_TRY(allocate_received_array(ctx, &r->sizes_start, cells_of_sent_sizing_field(sent),
									   sizeof(uint32_t)));
	if (sent->nsizes > 0)
		RB_TRY(allocate_received_array(ctx, &r->sizes_points, 4 * (size_t) sent->nsizes,
									   sizeof(double)));
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
	m->planes = r->planes;
	m->ratio = sent->ratio;
	m->volume = sent->volume;
	m->has_volumes = sent->has_volumes;
	m->region_volume = r->region_volume;
	m->sizes = sent->nsizes > 0 ? &r->sizes : NULL;
	m->keep_surface = sent->keep_surface;
	return RB_OK;
}

/*
 * Returns true if the lengths that a backend reads on the host match the header. Indices within
 * tetrahedra are not checked: only the device uses them, and invalid ones make it fail.
 */
bool
rb_refining_is_sound(const rb_sent_refining *sent, const rb_refining *r)
{
	return r->mesh.facet_start[sent->nfacets] == sent->ncorners &&
		   (sent->nsizes == 0 ||
			r->sizes_start[cells_of_sent_sizing_field(sent) - 1] == sent->nsizes);
}

rb_status
rb_refined_alloc(rb_context *ctx, const rb_sent_refining *sent, rb_refining *fresh)
{
	memset(fresh, 0, sizeof *fresh);
	fresh->ctx = ctx;
	if (!are_mesh_counts_sound(sent))
		return rb_fail(ctx, RB_BAD_REPLY, 0, 0, NULL);
	return allocate_refined_arrays(ctx, sent, fresh);
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
