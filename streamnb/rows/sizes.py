"""Sizes of the blocks and segments of rows that are read and sent at a time."""

BLOCK_BYTES = 6 << 20  # decoded values of one block: large enough for codecs, small compared with the tables of sums
BLOCK_ROWS = 1 << 17
SEGMENT_BYTES = 256 << 20  # of a range of rows that is one task: much longer than its set-up, much shorter than a scan


def rows_of_block(row_bytes: int) -> int:
    """The number of rows in a block, where each has so many bytes."""
    return min(max(BLOCK_BYTES // max(row_bytes, 1), 1), BLOCK_ROWS)
