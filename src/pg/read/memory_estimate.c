/*
 * memory_estimate.c
 *	  Estimates how much memory a join will need, for the error that memory is insufficient.
 *
 * A user who raises redblue.memory_limit should have to do so only once. If the sides do not fit,
 * the error therefore states not the next allocation but all that the join will need, as far as it
 * can be estimated: for a side that was read, from its parts; for the side being read, from its
 * parts so far and the progress of reading; for a later side, from the size of its table. The join
 * itself needs memory for each part and for each thread.
 */
#include "pg/spill/spill.h"
#include "pg/read/read.h"

#include "access/table.h"
#include "optimizer/plancat.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

/*
 * Allowance for builders, which grow by a sixteenth if memory is scarce, and for the rounding of
 * blocks
 */
#define GROWTH 1.07

BlockNumber
rb_toast_blocks(Relation rel)
{
	BlockNumber blocks;
	Relation toast;

	if (!OidIsValid(rel->rd_rel->reltoastrelid))
		return 0;
	toast = table_open(rel->rd_rel->reltoastrelid, AccessShareLock);
	blocks = RelationGetNumberOfBlocks(toast);
	table_close(toast, AccessShareLock);
	return blocks;
}

/* Returns the number of rows of a table as the planner estimates it, or 0 if it is unknown. */
static double
estimate_rows_by_planner(const rb_source *source)
{
	BlockNumber pages;
	double tuples;
	double visible;

	if (source->rel == NULL || !OidIsValid(source->heap))
		return source->rows;
	estimate_rel_size(source->rel, NULL, &pages, &tuples, &visible);
	return tuples;
}

/*
 * Estimates the parts of a side that has not been read: one for each row, or, for geometries, as
 * many as fit in the table's bytes.
 */
static double
estimate_unread_parts(const rb_source *source)
{
	double rows = estimate_rows_by_planner(source);
	double bytes;

	if (source->kind == RB_BOX3 || !OidIsValid(source->heap))
		return rows;
	for (int i = 0;
		 rb_coordinate_columns(source->kind) > 0 && i < RelationGetDescr(source->rel)->natts; i++)
		if (strcmp(NameStr(TupleDescAttr(RelationGetDescr(source->rel), i)->attname),
				   rb_coordinate_name(source->kind, 0)) == 0)
			return rows;
	bytes =
		((double) RelationGetNumberOfBlocks(source->rel) + rb_toast_blocks(source->rel)) * BLCKSZ;
	return Max(rows, bytes / (rb_kind_width(source->kind) * sizeof(double)));
}

void
rb_need_next(rb_need *need, const rb_set *set, const rb_builder *builder, uint64 kept)
{
	const int i = need->read++;

	need->parts[i] = set != NULL ? set->nparts : builder->nparts + kept;
	need->rows[i] = set != NULL ? set->nrows : builder->nrows + kept;
	need->multi[i] = set != NULL ? set->row_of != NULL : builder->multi;
}

/* Returns the bytes of `parts` parts in `rows` rows. */
static double
bytes_of_unread_side(rb_kind kind, bool multi, double parts, double rows)
{
	return parts * (rb_kind_width(kind) * sizeof(double) + (multi ? sizeof(uint32) : 0)) +
		   rows * sizeof(int64);
}

/*
 * Returns the ratio of the whole side that is being read to what has been read so far. A single
 * process reads a table in page order; if several processes read it, the ratio is estimated from
 * the number of rows.
 */
static double
ratio_of_whole_side_to_read(const rb_source *source, const rb_so_far *so_far)
{
	double rows = estimate_rows_by_planner(source);

	if (so_far->share > 0)
		return 1 / so_far->share;
	if (rows > 0 && so_far->rows > 0)
		return Max(1, rows / (double) so_far->rows);
	/* Assume that half of the side has been read if nothing is known. */
	return 2;
}

uint64
rb_need_while_reading(const rb_need *need, const rb_builder *builder, const rb_so_far *so_far,
					  uint64 refused)
{
	/* Number of parts for which memory was refused, possibly all of one large geometry */
	double asked = ((double) refused - (double) rb_memory_used(builder->memory)) /
				   (rb_kind_width(builder->kind) * sizeof(double));
	double bytes = 0;
	double parts = 0;
	double last = 0; /* Parts of the side being read */

	for (int i = 0; i < need->n; i++)
	{
		const rb_source *source = &need->source[i];
		bool multi = false;
		double more;
		double rows;

		if (i < need->read)
		{
			more = (double) need->parts[i];
			rows = (double) need->rows[i];
			multi = need->multi[i];
		}
		else if (i == need->read)
		{
			double whole = ratio_of_whole_side_to_read(source, so_far);

			more = last = whole * Max(builder->nparts, Max(asked, builder->row_start));
			rows = whole * (double) so_far->rows;
			multi = builder->multi;
		}
		else
		{
			more = rows = estimate_unread_parts(source);
			if (more == 0)
				more = rows = last;
		}
		parts += more;
		bytes += bytes_of_unread_side(source->kind, multi, more, rows);
	}
	return (uint64) (GROWTH * bytes) + rb_need_of_join((uint64) parts);
}

/*
 * Estimates the memory for grouping rows, which builder.c and set.c allocate: the
 * parts twice, and for the ids their numbers, a hash table and their first rows.
 */
uint64
rb_need_to_group(const rb_builder *builder)
{
	double parts = bytes_of_unread_side(builder->kind, true, builder->nparts, 0);

	return rb_memory_used(builder->memory) + (uint64) (GROWTH * (parts + 32.0 * builder->nrows)) +
		   rb_need_of_join(builder->nparts);
}
