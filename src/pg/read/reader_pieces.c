/*
 * reader_pieces.c
 *	  Divides a table into pieces, each of which one process reads at a time.
 *
 * A piece is a run of consecutive pages, or a slice of one page if the rows of a page have much
 * TOAST data. Pieces are small enough that each process gets several, so that all processes end at
 * about the same time.
 */
#include "pg/read/reader_queue.h"

#define RB_PIECE_BLOCKS 32
#define RB_PIECES_PER_PROCESS 8
/* Average number of TOAST pages per page above which pages are read in slices */
#define RB_SLICE_BLOCKS 32
#define RB_MAX_SLICES 64

void
rb_pieces_cut(rb_reading *reading, BlockNumber nblocks, BlockNumber toast_blocks, int workers)
{
	BlockNumber share = nblocks / ((BlockNumber) (workers + 1) * RB_PIECES_PER_PROCESS);

	reading->nblocks = nblocks;
	reading->slices = Min(Max(toast_blocks / Max(nblocks, 1) / RB_SLICE_BLOCKS, 1), RB_MAX_SLICES);
	if (nblocks > UINT32_MAX / 2 / RB_MAX_SLICES)
		reading->slices = 1;
	reading->piece_blocks = reading->slices > 1 ? 1 : Min(Max(share, 1), RB_PIECE_BLOCKS);
	reading->npieces = reading->slices > 1 ? nblocks * reading->slices
										   : nblocks / reading->piece_blocks +
												 (nblocks % reading->piece_blocks > 0);
}

BlockNumber
rb_piece_first_block(const rb_reading *reading, uint32 piece)
{
	return piece / reading->slices * reading->piece_blocks;
}

bool
rb_piece_read(rb_heap *heap, const rb_reading *reading, uint32 piece, BlockNumber block, int at)
{
	BlockNumber end = Min(reading->nblocks, rb_piece_first_block(reading, piece) +
												(BlockNumber) reading->piece_blocks);

	for (; block < end; block++)
	{
		if (!rb_heap_page(heap, block, at, (int) (piece % reading->slices), (int) reading->slices))
			return false;
		at = 0;
	}
	return true;
}

bool
rb_piece_read_apart(rb_heap *heap, const rb_reading *reading, uint32 piece)
{
	bool whole;

	rb_receiver_set_apart(heap->receiver, true);
	whole = rb_piece_read(heap, reading, piece, rb_piece_first_block(reading, piece), 0);
	rb_receiver_set_apart(heap->receiver, false);
	return whole;
}
