/*
 * sample.c
 *	  Samples rows of a table, for an estimate during planning.
 *
 * Reads one page from each of up to 128 ranges of pages, and some rows of each page. Rows that are
 * adjacent in a table are usually close together in space, too. Therefore, many pages give more
 * information than many rows. The choice of pages and rows depends only on the size of the table,
 * so that a statement gets the same plan again.
 *
 * Sampling raises no errors, waits for no lock on the table, and runs no code of other libraries:
 * values are read as they are stored in the page. Values that are stored in TOAST or are large are
 * not read, and rows that a join could not read are left out. The page is copied under its buffer
 * lock and read after the lock is released. No predicate lock is taken, as no row is returned.
 */
#include "pg/plan/plan.h"
#include "pg/read/read.h"

#include "access/detoast.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#define PAGES 128
#define ROWS 1536
/*
 * Prime and close to PAGES divided by the golden ratio, so that consecutively visited pages are far
 * apart
 */
#define STEP 79
/* Maximum bytes of one value, and of all values of a table; decoding takes time */
#define VALUE_BYTES ((Size) 32 << 10)
#define TABLE_BYTES ((Size) 256 << 10)

typedef struct sampler
{
	Relation rel;
	Snapshot snapshot;
	rb_kind kind; /* Kind that the join requires */
	rb_box_shape shape;
	rb_column geom;
	int width;
	rb_column coord[RB_MAX_WIDTH];
	rb_builder builder;
	Size bytes;     /* Bytes of values decoded so far */
	double normal;  /* Number of tuples on the pages that were visited */
	double looked;  /* Number of tuples examined */
	double taken;   /* Number of rows added to the sample */
	double unknown; /* Number of rows that a join would read but the sample did not */
} sampler;

/* ---- columns ---- */

/*
 * Finds the coordinate columns as the join does (columns.c), but missing or ambiguous columns raise
 * no error.
 */
static bool
find_coordinates(sampler *s, TupleDesc desc, rb_kind kind)
{
	for (int i = 0; i < rb_kind_width(kind); i++)
	{
		s->coord[i] = rb_column_find(desc, rb_coordinate_name(kind, i), NULL);
		if (s->coord[i].attno == 0 || !rb_is_number_type(s->coord[i].type))
			return false;
	}
	s->width = rb_kind_width(kind);
	rb_builder_set_kind(&s->builder, kind);
	return true;
}

static bool
use_geometry_column(sampler *s, rb_column column)
{
	if (column.attno == 0)
		return false;
	s->geom = column;
	s->shape = rb_shape_of(column.type, s->kind);
	return s->shape != RB_SHAPE_NONE;
}

static bool
find_columns(sampler *s, const char *geom_name)
{
	TupleDesc desc = RelationGetDescr(s->rel);

	if (geom_name != NULL)
		return use_geometry_column(s, rb_column_find(desc, geom_name, NULL));
	if (find_coordinates(s, desc, s->kind) ||
		(s->kind == RB_BOX3 && find_coordinates(s, desc, RB_BOX2)) ||
		use_geometry_column(s, rb_column_find(desc, "geom", NULL)))
		return true;
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		rb_column column = {att->attnum, InvalidOid};

		if (att->attisdropped)
			continue;
		column.type = getBaseType(att->atttypid);
		if (use_geometry_column(s, column))
			return true;
	}
	return false;
}

/* ---- rows ---- */

typedef enum taking
{
	TAKEN,
	NOTHING, /* No parts, or a row that raises an error in the join */
	UNKNOWN
} taking;

/*
 * Reserves memory for one more part. Returns NULL if the memory limit of the estimate is reached.
 */
static double *
next_part(sampler *s)
{
	rb_builder *b = &s->builder;
	rb_error error;

	if (rb_builder_reserve(b, 1, &error) != RB_OK)
		return NULL;
	return b->coords + (size_t) b->nparts * (size_t) b->width;
}

static taking
end_part(sampler *s, const double *x)
{
	int dims = rb_kind_dims(s->builder.kind);
	bool box = s->builder.kind == RB_BOX3 || s->builder.kind == RB_BOX2;

	if (!rb_all_finite(x, s->builder.width))
		return NOTHING;
	for (int i = 0; box && i < dims; i++)
		if (x[i] > x[dims + i])
			return NOTHING;
	s->builder.nparts++;
	return TAKEN;
}

static taking
sample_coordinates(sampler *s, HeapTuple tuple)
{
	double *to = next_part(s);

	if (to == NULL)
		return UNKNOWN;
	for (int i = 0; i < s->width; i++)
	{
		bool isnull;
		Datum value = heap_getattr(tuple, s->coord[i].attno, RelationGetDescr(s->rel), &isnull);

		if (isnull)
			return NOTHING;
		if (s->coord[i].type == NUMERICOID && VARATT_IS_EXTERNAL(DatumGetPointer(value)))
			return UNKNOWN;
		to[i] = rb_number_to_float8(value, s->coord[i].type, numeric_float8_no_overflow);
		if (s->coord[i].type == NUMERICOID && !rb_all_finite(&to[i], 1))
		{
			/*
			 * Charge a numeric outside the range of float8, because it may have many digits, which
			 * take time to read.
			 */
			s->bytes += VALUE_BYTES;
			return NOTHING;
		}
	}
	return end_part(s, to);
}

static taking
sample_box(sampler *s, Datum value)
{
	rb_box_value box;
	double *to;

	rb_box_read(s->shape, value, &box);
	if (box.dims != 2 && box.dims != 3)
		return NOTHING;
	if (s->builder.nrows == 0)
		rb_builder_set_kind(&s->builder, box.dims == 2 ? RB_BOX2 : RB_BOX3);
	if (box.dims != rb_kind_dims(s->builder.kind))
		return NOTHING;
	to = next_part(s);
	if (to == NULL)
		return UNKNOWN;
	memcpy(to, box.low, (size_t) box.dims * sizeof(double));
	memcpy(to + box.dims, box.high, (size_t) box.dims * sizeof(double));
	return end_part(s, to);
}

static rb_geometry_fault
read_geometry(sampler *s, const struct varlena *bytes)
{
	rb_geometry_info info;
	rb_error error;

	return rb_geometry_read_serialized(&s->builder, (const uint8_t *) VARDATA_ANY(bytes),
									   VARSIZE_ANY_EXHDR(bytes), &info, &error);
}

static taking
sample_geometry(sampler *s, Datum value)
{
	const struct varlena *bytes = PG_DETOAST_DATUM_PACKED(value);
	rb_geometry_fault fault = read_geometry(s, bytes);

	/* The first row determines the dimensions of boxes. */
	if (s->kind == RB_BOX3 && s->builder.nrows == 0 &&
		(fault == RB_GEOMETRY_NO_Z || fault == RB_GEOMETRY_Z))
	{
		rb_builder_set_kind(&s->builder, fault == RB_GEOMETRY_NO_Z ? RB_BOX2 : RB_BOX3);
		fault = read_geometry(s, bytes);
	}
	if (s->builder.any_leaf && s->builder.nrows == 0 && fault == RB_GEOMETRY_NO_Z)
	{
		s->builder.flat = true;
		rb_builder_drop_row(&s->builder);
		fault = read_geometry(s, bytes);
	}
	if (fault == RB_GEOMETRY_UNKNOWN || fault == RB_GEOMETRY_NO_MEMORY)
		return UNKNOWN;
	return fault == RB_GEOMETRY_OK && s->builder.nparts > s->builder.row_start ? TAKEN : NOTHING;
}

/* Reads a geometry or box. Values stored in TOAST, or large after decompression, are not read. */
static taking
sample_value(sampler *s, HeapTuple tuple)
{
	bool isnull;
	Datum value = heap_getattr(tuple, s->geom.attno, RelationGetDescr(s->rel), &isnull);
	Size bytes = sizeof(rb_box_value);

	if (isnull)
		return NOTHING;
	if (s->shape == RB_SHAPE_GEOMETRY || s->shape == RB_SHAPE_CUBE)
	{
		if (VARATT_IS_EXTERNAL(DatumGetPointer(value)))
			return UNKNOWN;
		bytes = toast_raw_datum_size(value);
		if (bytes > VALUE_BYTES)
			return UNKNOWN;
	}
	s->bytes += bytes;
	return s->shape == RB_SHAPE_GEOMETRY ? sample_geometry(s, value) : sample_box(s, value);
}

static void
sample_row(sampler *s, HeapTuple tuple)
{
	int64 id = ((int64) ItemPointerGetBlockNumber(&tuple->t_self) << 16) |
			   ItemPointerGetOffsetNumber(&tuple->t_self);
	taking taking = s->width > 0 ? sample_coordinates(s, tuple) : sample_value(s, tuple);
	rb_error error;

	if (taking == TAKEN && rb_builder_end_row(&s->builder, id, &error) != RB_OK)
		taking = UNKNOWN;
	if (taking != TAKEN)
		rb_builder_drop_row(&s->builder);
	s->taken += taking == TAKEN;
	s->unknown += taking == UNKNOWN;
}

/* ---- pages ---- */

/* Returns a pseudorandom number below n, which depends only on `place` and `seed`. */
static uint32
pick_index(uint32 place, uint32 seed, uint32 n)
{
	return hash_combine(murmurhash32(place), murmurhash32(seed)) % n;
}

/*
 * Chooses some tuples of the page in the buffer that are visible to the snapshot, and returns their
 * number.
 */
static int
choose_tuples(sampler *s, Buffer buffer, BlockNumber block, uint32 seed, int wanted,
			  OffsetNumber *chosen)
{
	Page page = BufferGetPage(buffer);
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	OffsetNumber normal[MaxHeapTuplesPerPage];
	uint32 n = 0;
	uint32 k;
	int seen = 0;

	for (OffsetNumber i = FirstOffsetNumber; i <= last; i++)
		if (ItemIdIsNormal(PageGetItemId(page, i)) && n < MaxHeapTuplesPerPage)
			normal[n++] = i;
	k = Min(n, (uint32) wanted);
	for (uint32 i = 0; i < k; i++)
	{
		uint32 from = i * n / k;
		OffsetNumber offset = normal[from + pick_index(block, seed + i, (i + 1) * n / k - from)];
		ItemId item = PageGetItemId(page, offset);
		HeapTupleData tuple;

		tuple.t_tableOid = RelationGetRelid(s->rel);
		tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
		tuple.t_len = ItemIdGetLength(item);
		ItemPointerSet(&tuple.t_self, block, offset);
		if (HeapTupleSatisfiesVisibility(&tuple, s->snapshot, buffer))
			chosen[seen++] = offset;
	}
	s->normal += n;
	s->looked += k;
	return seen;
}

static void
sample_page(sampler *s, BlockNumber block, uint32 seed, int wanted)
{
	PGAlignedBlock copy;
	OffsetNumber chosen[MaxHeapTuplesPerPage];
	int n;
	Buffer buffer;

	CHECK_FOR_INTERRUPTS();
	buffer = ReadBuffer(s->rel, block);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	n = choose_tuples(s, buffer, block, seed, wanted, chosen);
	memcpy(copy.data, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
	for (int i = 0; i < n; i++)
	{
		ItemId item = PageGetItemId((Page) copy.data, chosen[i]);
		HeapTupleData tuple;

		tuple.t_tableOid = RelationGetRelid(s->rel);
		tuple.t_data = (HeapTupleHeader) PageGetItem((Page) copy.data, item);
		tuple.t_len = ItemIdGetLength(item);
		ItemPointerSet(&tuple.t_self, block, chosen[i]);
		sample_row(s, &tuple);
	}
}

/* Samples the pages and returns their number. */
static uint32
sample_pages(sampler *s, BlockNumber blocks, uint32 seed)
{
	uint32 pages = Min(blocks, PAGES);
	int wanted = (int) ((ROWS + pages - 1) / pages);
	uint32 visited = 0;

	/* STEP is a prime, so this visits each range once, unless STEP divides the number of ranges. */
	for (uint32 i = 0; i < pages && s->bytes < TABLE_BYTES; i++, visited++)
	{
		uint32 stretch = pages % STEP == 0 ? i : i * STEP % pages;
		BlockNumber from = (BlockNumber) ((uint64) stretch * blocks / pages);
		BlockNumber end = (BlockNumber) ((uint64) (stretch + 1) * blocks / pages);

		sample_page(s, from + pick_index(stretch, seed, end - from), seed, wanted);
	}
	return visited;
}

bool
rb_sample_rows(Relation rel, rb_kind kind, const char *geom_name, uint32 seed, rb_memory *memory,
			   rb_sampled *sampled)
{
	BlockNumber blocks = RelationGetNumberOfBlocks(rel);
	sampler s;
	uint32 pages;
	rb_error error;

	memset(&s, 0, sizeof s);
	s.rel = rel;
	s.snapshot = GetActiveSnapshot();
	s.kind = kind;
	rb_builder_init(&s.builder, memory, kind);
	s.builder.any_leaf = sampled->any_leaf;
	s.builder.flat = sampled->flat;
	s.builder.tile = sampled->tile;
	s.builder.distance = sampled->distance;
	/* The future contents of an empty table are unknown. */
	if (blocks == 0 || !find_columns(&s, geom_name))
		return false;
	pages = sample_pages(&s, blocks, seed);
	if (s.unknown > s.taken)
		return false;
	sampled->rows = s.looked > 0 ? s.normal / pages * blocks * (s.taken + s.unknown) / s.looked : 0;
	if (s.builder.outside > 0)
		sampled->rows *= s.builder.nrows / (s.builder.nrows + (double) s.builder.outside);
	sampled->flat = s.builder.flat;
	sampled->all = pages == blocks && s.looked == s.normal && s.unknown == 0;
	return rb_builder_finish(&s.builder, &sampled->set, &error) == RB_OK;
}
