"""All rows except those of one class, to full precision even if the class outweighs the others."""

from collections.abc import Callable
from typing import Any

import numpy as np

from streamnb.stats.class_stats import ClassStats
from streamnb.stats.dense_tables import difference
from streamnb.stats.sparse_tables import AnyTable, alike

HEAVY = 128.0  # ratio of two sides from which on subtracting the larger from the total loses digits of the smaller


def sums_outside(every: AnyTable, table: AnyTable, columns: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Subtract the sums of a list of cells from those of all rows, `every`, using all their parts."""
    whole, own = every.pairs(columns, np.zeros_like(classes)), table.pairs(columns, classes)
    return difference(whole, own, every.rounded or table.rounded)[0]


def weight_outside(stats: ClassStats) -> np.ndarray:
    """Return the weight of all rows outside each class, (K,)."""
    table, every = stats.tables["weight"], stats.every

    def of_heavy(classes: np.ndarray) -> np.ndarray:
        column = np.zeros_like(classes)
        if every is None:
            return table.others(column, classes)
        return sums_outside(every.tables["weight"], table, column, classes)

    return complements(stats.total_weight, stats.weight, of_heavy)


def complements(count: float, counts: np.ndarray, of_heavy: Callable[[np.ndarray], Any]) -> np.ndarray:
    """Subtract the count of each class from the total, (K,); `of_heavy` does so for classes that dominate it."""
    left = count - counts
    heavy = np.flatnonzero(counts > HEAVY * left)
    if heavy.size:
        left[heavy] = of_heavy(heavy)
    return left


def with_and_without(stats: ClassStats, label: int) -> ClassStats:
    """Return statistics of two classes: the rows without the label of that number, and those with it."""
    assert stats.every is not None
    tables, here = {}, np.zeros(1, np.intp)
    for name, table in stats.tables.items():
        every, own = alike(stats.every.tables[name], table.take(np.array([label])))
        tables[name] = every.combined(own, here, here, -1.0).above(own)
    rows = np.array([stats.every.n_rows - stats.rows[label], stats.rows[label]])
    return ClassStats(np.array([False, True]), rows, tables, stats.n_features, stats.negatives, stats.options)
