"""What is left of all rows without those of a class, with all its digits however much the class outweighs it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from streamnb.stats.class_stats import ClassStats
from streamnb.stats.dense_tables import difference
from streamnb.stats.sparse_tables import AnyTable, alike

HEAVY = 128.0  # a side that is so many times the other takes away its digits where it is subtracted from both


def sums_outside(every: AnyTable, table: AnyTable, columns: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The sums of the one class of `every` without those of a list of cells: a difference of all their parts."""
    whole, own = every.pairs(columns, np.zeros_like(classes)), table.pairs(columns, classes)
    return difference(whole, own, every.rounded or table.rounded)[0]


def weight_outside(stats: ClassStats) -> np.ndarray:
    """The weight of all rows outside each class, (K,)."""
    table, every = stats.tables["weight"], stats.every

    def of_heavy(classes: np.ndarray) -> np.ndarray:
        column = np.zeros_like(classes)
        if every is None:
            return table.others(column, classes)
        return sums_outside(every.tables["weight"], table, column, classes)

    return rests(stats.total_weight, stats.weight, of_heavy)


def rests(count: float, counts: np.ndarray, of_heavy: Callable[[np.ndarray], Any]) -> np.ndarray:
    """Counts of all rows less those of each class, (K,); of classes that are nearly all as `of_heavy` says."""
    left = count - counts
    heavy = np.flatnonzero(counts > HEAVY * left)
    if heavy.size:
        left[heavy] = of_heavy(heavy)
    return left


def with_and_without(stats: ClassStats, label: int) -> ClassStats:
    """Two classes: the rows without the label of that number, and those with it."""
    assert stats.every is not None
    tables, here = {}, np.zeros(1, np.intp)
    for name, table in stats.tables.items():
        every, own = alike(stats.every.tables[name], table.take(np.array([label])))
        tables[name] = every.combined(own, here, here, -1.0).above(own)
    rows = np.array([stats.every.n_rows - stats.rows[label], stats.rows[label]])
    return ClassStats(np.array([False, True]), rows, tables, stats.n_features, stats.negatives, stats.options)
