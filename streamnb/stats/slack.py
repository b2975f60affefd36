"""The distance of class sums from their upper bound, to full precision however small it is."""

from typing import Any

import numpy as np

from streamnb.stats.class_stats import ClassStats
from streamnb.stats.dense_tables import Parts, difference


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
