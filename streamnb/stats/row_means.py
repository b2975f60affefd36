"""Weighted means over rows."""

from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any

import numpy as np

from streamnb.core import persistence
from streamnb.kernels.class_sums import SUM, add_dense_pairs, lost_of
from streamnb.kernels.exact import RESIDUE, add_rows
from streamnb.rows.chunk import frozen


class RowMeans:
    """Weighted means of some values of each row, or their sums by group, without error in (hi, lo) pairs."""

    def __init__(
        self, names: Iterable[str], hi: np.ndarray | None = None, lo: np.ndarray | None = None, n_groups: int = 1
    ):
        self._names = (*names, "weight")
        self._hi, self._lo = (np.zeros((n_groups, len(self._names))) if sums is None else sums for sums in (hi, lo))

    @property
    def weight(self) -> float:
        """Total weight of the rows."""
        return float(self._hi[0, -1] + self._lo[0, -1])

    def add(self, values: Sequence[np.ndarray], weight: np.ndarray, groups: np.ndarray | None = None) -> None:
        """Add rows; there are values (n,) for each name, and the number of each row's group, if there are several."""
        groups = np.zeros(len(weight), np.int64) if groups is None else groups
        _add([*values, np.ones(len(weight))], weight, groups, self._hi, self._lo)

    def add_cells(self, cells: np.ndarray, values: Sequence[np.ndarray], weight: np.ndarray) -> None:
        """Add rows with values (n,) in one cell each, and 0 in the others; names are those of cell after cell."""
        hi, lo = (sums[0, :-1].reshape(-1, len(values)) for sums in (self._hi, self._lo))  # in place
        _add(values, weight, cells, hi, lo)
        _add([np.ones(len(weight))], weight, np.zeros(len(weight), np.int64), self._hi[:, -1:], self._lo[:, -1:])

    @property
    def nbytes(self) -> int:
        return self._hi.nbytes + self._lo.nbytes

    def finish(self) -> "RowMeans":
        return self

    @property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """The sums, the weight last, and their rounding errors, to be updated in place."""
        return self._hi[0], self._lo[0]

    @property
    def sums(self) -> np.ndarray:
        """The sums of each group, the weight last, (groups, values + 1)."""
        return self._hi + self._lo

    def one(self, at: int, name: str) -> "RowMeans":
        """Return the mean of one value alone, under another name."""
        means = copy(self)
        means._names, means._hi, means._lo = (name, "weight"), self._hi[:, [at, -1]], self._lo[:, [at, -1]]
        return means

    def __add__(self, other: "RowMeans") -> "RowMeans":
        total = RowMeans(self._names[:-1], n_groups=len(self._hi))
        operands = (part.reshape(1, -1) for part in (self._hi, self._lo, other._hi, other._lo))
        a_hi, a_lo, b_hi, b_lo = map(frozen, operands)
        add_rows(a_hi[0], a_lo, b_hi[0], b_lo, 1.0, RESIDUE, total._hi.reshape(-1), total._lo.reshape(1, -1))
        return total

    def arrays(self) -> dict[str, Any]:
        return {"names": list(self._names[:-1]), "hi": self._hi, "lo": self._lo}

    def _to_state(self) -> list[np.ndarray]:
        return [self._hi, self._lo]

    def restore(self, state: list[np.ndarray]) -> None:
        """Restore the sums that `_to_state` returned."""
        self._hi, self._lo = (persistence.array("means", part, ["f8"], self._hi.shape) for part in state)

    def place(self, name: str) -> int:
        """The column of a value in the sums."""
        return self._names.index(name)

    def mean(self, name: str) -> float:
        """Return the mean, NaN if there is no weight."""
        at = self.place(name)
        return float(self._hi[0, at] + self._lo[0, at]) / self.weight if self.weight > 0.0 else np.nan


def _add(values: Sequence[np.ndarray], weight: np.ndarray, groups: np.ndarray, hi: np.ndarray, lo: np.ndarray) -> None:
    columns = frozen(np.column_stack(values))
    entries = np.arange(len(weight)), groups, weight
    add_dense_pairs(columns, *entries, SUM, 0.0, lost_of(columns.shape[1]), hi, lo[None])
