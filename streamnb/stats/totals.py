"""Exact sums over all classes, and variation about the mean of all rows."""

from typing import Any

import numpy as np

from streamnb.kernels import class_sums
from streamnb.rows.row_blocks import Chunk, CSRChunk, DenseChunk, Entries, frozen
from streamnb.stats.tables import (
    AnyTable,
    PooledTable,
    SparseTable,
    Table,
    are_small,
    parts_of,
    renormalised,
    scatter_about_mean,
)

FEW = 1 << 20  # sums that NumPy may add, as far as its temporary arrays are small


def whole(table: AnyTable) -> Table:
    """Return the sums over all classes, (1, n_columns), of a table (n_classes, n_columns)."""
    if isinstance(table, PooledTable):
        return table
    n_classes, n_columns = table.shape
    chunks: list[Chunk]
    if isinstance(table, SparseTable):  # as one row, which stores a column once for each class
        places, ends = frozen(table.columns_of().astype(np.int32)), np.array([0, len(table.keys)])
        chunks = [CSRChunk(frozen(part), places, ends, n_columns, 0) for part in parts_of(table)]
    elif 0 < table.hi.size <= FEW and table.lo is None and not table.rounded and are_small(table.hi, n_classes):
        return Table(table.hi.sum(axis=0, keepdims=True))
    else:
        chunks = [DenseChunk(frozen(np.ascontiguousarray(part)), 0) for part in parts_of(table)]
    n_rows = chunks[0].shape[0]
    entries = Entries(np.arange(n_rows), np.zeros(n_rows, np.int64), np.ones(n_rows))
    hi, lo = np.zeros((1, n_columns)), np.zeros((3, 1, n_columns))
    for chunk in chunks:
        chunk.add_moment(entries, class_sums.SUM, 0.0, hi, lo)
    return renormalised(Table(hi, lo, table.rounded))


def spread_about_mean(stats: Any) -> np.ndarray:
    """Return the sum over all rows of w (x - mean)^2, (n_features,), without cancellation."""
    return scatter_about_mean(*(whole(stats.table(name)).row(0) for name in ("sum", "sum_sq", "weight")))


def deviations(stats: Any) -> np.ndarray:
    """Return the standard deviations of the columns over all rows, (n_features,); the sums include squares."""
    counted_once = stats if stats.every is None else stats.every
    return np.sqrt(spread_about_mean(counted_once) / counted_once.total_weight)


def by_column(table: AnyTable) -> np.ndarray:
    """Return the sums rounded to float64, (n_columns, n_classes), the order of sparse cells."""
    if not isinstance(table, SparseTable):
        return np.ascontiguousarray(table.hi.T)
    out = np.zeros(table.shape[::-1])
    out[table.columns_of(), table.classes_of()] = table.hi
    return out
