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
    """Weighted means of some values of each row, summed without error in (hi, lo) pairs."""

    def __init__(self, names: Iterable[str], hi: np.ndarray | None = None, lo: np.ndarray | None = None):
        self._names = (*names, "weight")
        self._hi, self._lo = (np.zeros((1, len(self._names))) if sums is None else sums for sums in (hi, lo))

    @property
    def weight(self) -> float:
        """Total weight of the rows."""
        return float(self._hi[0, -1] + self._lo[0, -1])

    def add(self, values: Sequence[np.ndarray], weight: np.ndarray) -> None:
        """Add rows; there are values (n,) for each name."""
        columns = frozen(np.column_stack([*values, np.ones(len(weight))]))
        entries = np.arange(len(weight)), np.zeros(len(weight), np.int64), weight
        add_dense_pairs(columns, *entries, SUM, 0.0, lost_of(columns.shape[1]), self._hi, self._lo[None])

    @property
    def nbytes(self) -> int:
        return self._hi.nbytes + self._lo.nbytes

    def finish(self) -> "RowMeans":
        return self

    @property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """The sums, the weight last, and their rounding errors, to be updated in place."""
        return self._hi[0], self._lo[0]

    def one(self, at: int, name: str) -> "RowMeans":
        """Return the mean of one value alone, under another name."""
        means = copy(self)
        means._names, means._hi, means._lo = (name, "weight"), self._hi[:, [at, -1]], self._lo[:, [at, -1]]
        return means

    def __add__(self, other: "RowMeans") -> "RowMeans":
        total = RowMeans(self._names[:-1])
        operands = map(frozen, (self._hi[0], self._lo, other._hi[0], other._lo))
        add_rows(*operands, 1.0, RESIDUE, total._hi[0], total._lo)
        return total

    def arrays(self) -> dict[str, Any]:
        return {"names": list(self._names[:-1]), "hi": self._hi, "lo": self._lo}

    def _to_state(self) -> list[np.ndarray]:
        return [self._hi, self._lo]

    def restore(self, state: list[np.ndarray]) -> None:
        """Restore the sums that `_to_state` returned."""
        self._hi, self._lo = (persistence.array("means", part, ["f8"], self._hi.shape) for part in state)

    def mean(self, name: str) -> float:
        """Return the mean, NaN if there is no weight."""
        at = self._names.index(name)
        return float(self._hi[0, at] + self._lo[0, at]) / self.weight if self.weight > 0.0 else np.nan
