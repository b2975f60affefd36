"""How values vary within each class, where its rows have any: of many classes and features these are few places."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from streamnb.kernels import exact
from streamnb.rows.chunk import frozen
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.sparse_tables import AnyTable, SparseTable


class Scatter(NamedTuple):
    """Of a class of some weight: columns that are not all 0, and there the sums of w x and of w (x - class mean)^2."""

    weight: float
    columns: np.ndarray
    sums: np.ndarray
    scatter: np.ndarray


def scatters(stats: ClassStats) -> Iterator[Scatter]:
    """Those of each class that has weight, in their order."""
    sums, squares = stats.table("sum"), stats.table("sum_sq")
    weight, cells = stats.tables["weight"].dense(), _cells(squares)
    for k in map(int, np.flatnonzero(stats.weight > 0.0)):
        columns = cells(k)
        (s, s_lo), (q, q_lo) = (table.pairs(columns, np.full(len(columns), k)) for table in (sums, squares))
        (w,), (w_lo,) = weight.row(k)
        out = np.empty(len(columns))
        exact.scatter_about_mean(s, frozen(s_lo[0]), q, frozen(q_lo[0]), float(w), float(w_lo), out)
        yield Scatter(float(w), columns, s, out)


def _cells(table: AnyTable) -> Callable[[int], np.ndarray]:
    """What gives the columns of a class that are not 0, ascending."""
    if not isinstance(table, SparseTable):
        return lambda k: np.flatnonzero(table.hi[k])
    classes = table.classes_of()
    columns = table.columns_of()[np.argsort(classes, kind="stable")]
    ends = np.cumsum(np.bincount(classes, minlength=table.shape[0]))
    return lambda k: columns[ends[k - 1] if k else 0 : ends[k]]


def by_column(table: AnyTable) -> np.ndarray:
    """Sums rounded to float64, (n_columns, n_classes): the order in which cells lie."""
    if not isinstance(table, SparseTable):
        return np.ascontiguousarray(table.hi.T)
    out = np.zeros(table.shape[::-1])
    out[table.columns_of(), table.classes_of()] = table.hi
    return out
