"""Rows of a block: as many as fit, at least one."""

import pytest

from streamnb.rows import row_blocks


@pytest.mark.parametrize(("row_bytes", "n_rows"), [(0, 1 << 17), (8, 1 << 17), (6 << 10, 1 << 10), (7 << 20, 1)])
def test_rows_of_a_block(row_bytes, n_rows):
    assert row_blocks.rows_of_block(row_bytes) == n_rows
