"""Sums of other rows than those of a class, to full precision: all outside it, unions, and distances from a bound."""

from collections.abc import Callable
from typing import Any

import numpy as np

from streamnb.stats.class_stats import ClassStats
from streamnb.stats.tables import AnyTable, Parts, alike, difference

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
    tables = {}
    for name, table in stats.tables.items():
        every, own = alike(stats.every.tables[name], table.take(np.array([label])))
        tables[name] = every.plus(own, -1.0).above(own)
    rows = np.array([stats.every.n_rows - stats.rows[label], stats.rows[label]])
    return ClassStats(np.array([False, True]), rows, tables, stats.n_features, stats.negatives, stats.options)


def unions(stats: ClassStats, members: np.ndarray) -> ClassStats:
    """Return the statistics of an indicator whose labels are sets of classes.

    Parameters
    ----------
    stats : ClassStats
        Statistics of rows with one label each.
    members : (n_labels, K) bool
        The classes of each label.

    Returns
    -------
    ClassStats
        The statistics of rows with the indicator ``members[:, y].T``; its labels are numbers.
    """
    moments = ("weight", *stats.moments)
    rows, every = members @ stats.rows, np.ones((1, len(stats.classes)), bool)
    about: dict[str, Any] = {"n_features": stats.n_features, "options": stats.options, "negatives": stats.negatives}
    whole = ClassStats(
        np.zeros(1, np.int64),
        np.array([stats.n_rows]),
        {name: _summed(stats.tables[name], every) for name in moments},
        **about,
    )
    tables = {name: _summed(stats.tables[name], members) for name in moments}
    return ClassStats(np.arange(len(members)), rows, tables, every=whole, closed=True, **about)


def _summed(table: Any, members: np.ndarray) -> Any:
    """Sum the rows of a table over each set of members, as exactly as the table is."""
    sizes, at = members.sum(axis=1), np.argsort(~members, axis=1, kind="stable")
    missing, every = np.full(len(members), -1), np.arange(len(members))
    out = table.combined(table, missing, np.where(sizes > 0, at[:, 0], -1), 1.0)
    for n in range(1, int(sizes.max(initial=0))):
        out = out.combined(table, every, np.where(sizes > n, at[:, n], -1), 1.0)
    return out


class Slack:
    """`highest` times the weight of rows, minus their sum of some features, computed from all parts of both.

    `columns` (n_columns,) are the numbers of the features.
    """

    def __init__(self, stats: ClassStats, moment: str, highest: float, columns: np.ndarray):
        self._table, self._full = stats.table(moment), stats.tables["weight"].dense().times(highest)
        self._rounded = self._table.rounded or self._full.rounded
        self._columns, self._classes = columns, np.arange(len(stats.classes))
        self._every = None if stats.every is None else Slack(stats.every, moment, highest, columns)

    def sums(self, classes: Any = slice(None)) -> np.ndarray:
        """Return the slack of some classes, (n_classes, n_columns)."""
        classes, n = self._classes[classes], len(self._columns)
        return self.of_cells(np.tile(np.arange(n), len(classes)), np.repeat(classes, n)).reshape(-1, n)

    def of_cells(self, places: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """Return the slack of a list of cells, given by places among the columns and classes."""
        return self._parts(places, classes)[0]

    def outside(self, places: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """Return the slack of all rows outside a class, for a list of places among the columns and classes."""
        if self._every is not None:
            every = self._every._parts(places, np.zeros_like(classes))
            return difference(every, self._parts(places, classes), self._rounded)[0]
        sums = np.zeros(len(places))
        for k in self._classes:  # none is negative, so that a sum keeps the digits that a difference would lose
            sums += np.where(classes == k, 0.0, self.of_cells(places, np.full(len(places), k)))
        return sums

    @property
    def total(self) -> np.ndarray:
        """The slack of all rows, (n_columns,)."""
        return (self._every or self).sums().sum(axis=0)

    def _parts(self, places: np.ndarray, classes: np.ndarray) -> Parts:
        full = self._full.pairs(np.zeros_like(classes), classes)
        return difference(full, self._table.pairs(self._columns[places], classes), self._rounded)
