"""How values vary within each class, where its rows have any: of many classes and features these are few places."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

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
    weight, cells = stats.tables["weight"].dense(), _cells(squares, sums)
    for k in map(int, np.flatnonzero(stats.weight > 0.0)):
        columns, (q, q_lo), (s, s_lo) = cells(k)
        (w,), (w_lo,) = weight.row(k)
        out = np.empty(len(columns))
        exact.scatter_about_mean(s, frozen(s_lo[0]), q, frozen(q_lo[0]), float(w), float(w_lo), out)
        yield Scatter(float(w), columns, s, out)


def _cells(table: AnyTable, other: AnyTable) -> Callable[[int], tuple[np.ndarray, Any, Any]]:
    """What gives the columns of a class that are not 0, ascending, and the parts of both tables there."""
    if not isinstance(table, SparseTable):
        return lambda k: _parts(np.flatnonzero(table.hi[k]), k, table, other)
    classes = table.classes_of()
    order = np.argsort(classes, kind="stable")
    ends = np.append(0, np.cumsum(np.bincount(classes, minlength=table.shape[0])))
    if isinstance(other, SparseTable) and np.array_equal(table.keys, other.keys):
        return lambda k: _at(order[ends[k] : ends[k + 1]], table, other)
    columns = table.columns_of()[order]
    return lambda k: _parts(columns[ends[k] : ends[k + 1]], k, table, other)


def _parts(columns: np.ndarray, k: int, *tables: AnyTable) -> tuple:
    classes = np.full(len(columns), k)
    return columns, *(table.pairs(columns, classes) for table in tables)


def _at(cells: np.ndarray, *tables: SparseTable) -> tuple:
    low = (np.zeros((1, len(cells))) if table.lo is None else table.lo[:1, cells] for table in tables)
    return tables[0].columns_of(cells), *((frozen(table.hi[cells]), lo) for table, lo in zip(tables, low, strict=True))


def by_column(table: AnyTable) -> np.ndarray:
    """Sums rounded to float64, (n_columns, n_classes): the order in which cells lie."""
    if not isinstance(table, SparseTable):
        return np.ascontiguousarray(table.hi.T)
    out = np.zeros(table.shape[::-1])
    out[table.columns_of(), table.classes_of()] = table.hi
    return out
