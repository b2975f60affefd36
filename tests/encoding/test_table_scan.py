"""What one pass learns of the columns of a table."""

import numpy as np
import pandas as pd
import pytest

from streamnb.encoding.table_encoding import rows_of
from streamnb.encoding.table_scan import LevelCounts, TableScan
from streamnb.passes.options import RunOptions
from streamnb.passes.run import run
from streamnb.rows.table_columns import LEVEL, MEASURE, ColumnPart
from streamnb.rows.table_opening import open_tables

FRAME = pd.DataFrame({"s": ["a", "b", None, "a"], "i": [3, 1, 3, 2], "x": [0.5, np.nan, 2.5, -1.0]})
PARTS = ColumnPart(("s",), LEVEL), ColumnPart(("i",), MEASURE), ColumnPart(("x",), MEASURE), ColumnPart(("i",), LEVEL)

KINDS = {"s": "category", "i": "number", "x": "number"}


def scanned(most=9, limit=None):
    rows = rows_of(open_tables(FRAME, (), 1), KINDS, {}, None, None, 1)
    return run(TableScan(PARTS, most, limit), rows, RunOptions(False, 1))[0]


def test_values_are_counted():
    counts = scanned()
    levels, whole, real, numbers = counts.of_parts
    assert dict(levels.counts) == {"a": 2, "b": 1} and levels.missing == 1 and counts.n_rows == 4
    assert dict(numbers.counts) == {"3": 2, "1": 1, "2": 1}
    assert whole.features[0].counts.tolist() == [1, 1, 2] and (whole.low[0], whole.high[0]) == (1.0, 3.0)
    assert real.missing.tolist() == [1] and real.features[0].tops()[0] == -1.0


def test_a_column_of_more_values_than_are_counted_keeps_none():
    full = LevelCounts({"a": 1, "b": 1}, 0, 1)
    assert full.full and not full.counts and (LevelCounts({"a": 1}, 2, 1) + LevelCounts({"b": 1}, 1, 1)).full
    assert (full + LevelCounts({"a": 1}, 0, 1)).full and scanned(2).of_parts[3].full
    with pytest.raises(MemoryError, match="the values of 4 columns, counted"):
        scanned(limit=10)
