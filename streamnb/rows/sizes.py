"""How many rows are read and sent at a time."""

BLOCK_BYTES = 6 << 20  # decoded values of one block: large slices for the codecs, small beside the tables
BLOCK_ROWS = 1 << 17
TEXT_BYTES = 2 << 20  # of a range of lines: what is made of it is of the size of a block
SEGMENT_BYTES = 256 << 20  # of a range of rows that is one task: long beside its set-up, short beside a scan
