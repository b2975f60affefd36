"""Exact sums over all classes, and variation about the mean of all rows."""

from functools import reduce
from typing import Any

import numpy as np

from streamnb.kernels import cell_sums, class_sums
from streamnb.rows.row_blocks import frozen
from streamnb.stats.dense_tables import PooledTable, Table, are_small, parts_of, renormalised, scatter_about_mean
from streamnb.stats.sparse_tables import AnyTable, SparseTable

FEW = 1 << 20  # sums that NumPy may add, as far as its temporary arrays are small


def whole(table: AnyTable) -> Table:
    """Return the sums over all classes, (1, n_columns), of a table (n_classes, n_columns)."""
    if isinstance(table, PooledTable):
        return table
    if isinstance(table, SparseTable):
        return _of_cells(table)
    n_classes, n_columns = table.shape
    if 0 < table.hi.size <= FEW and table.lo is None and not table.rounded and are_small(table.hi, n_classes):
        return Table(table.hi.sum(axis=0, keepdims=True))
    hi, lo = np.zeros((1, n_columns)), np.zeros((3, 1, n_columns))
    entries = np.arange(n_classes), np.zeros(n_classes, np.int64), np.ones(n_classes)
    lost = class_sums.lost_of(n_columns)
    for part in parts_of(table):
        class_sums.add_dense_pairs(frozen(np.ascontiguousarray(part)), *entries, class_sums.SUM, 0.0, lost, hi, lo)
    return renormalised(Table(hi, lo, table.rounded))


def _of_cells(table: SparseTable) -> Table:
    """Return the same for sparse cells, which are sorted by column; each part is summed exactly."""
    columns = table.columns_of()
    firsts = np.flatnonzero(np.diff(columns, prepend=-1))
    there, ends, ones = columns[firsts], np.append(firsts, len(columns)), np.ones(len(columns))

    def of_part(part: np.ndarray) -> Table:
        hi, lo = np.zeros((1, table.shape[1])), np.zeros((3, 1, table.shape[1]))
        sums, low = np.empty(len(there)), np.zeros((3, len(there)))
        cell_sums.sum_cells(part, ones, ends, class_sums.SUM, 0.0, sums, low)
        hi[0, there], lo[:, 0, there] = sums, low
        return Table(hi, lo, table.rounded)

    return reduce(Table.plus, map(of_part, parts_of(table)))


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
