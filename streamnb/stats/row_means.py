"""Weighted means over rows, and weights of rows by cell; their bits depend on no order of the rows."""

from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any

import numpy as np

from streamnb.core import memory, persistence
from streamnb.kernels.class_sums import SUM, add_dense_pairs, lost_of
from streamnb.kernels.exact import RESIDUE, add_rows
from streamnb.rows.row_blocks import frozen


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
        total._hi, total._lo = _merged(self._hi, self._lo, other._hi, other._lo)
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


class WeightTable:
    """Weights of rows by cell of a table, without error in (hi, lo) pairs; a tally that merges.

    Attributes
    ----------
    pairs : (2, ..)
        The weights and their rounding errors, which kernels update in place.
    """

    def __init__(self, *shape: int):
        self.pairs = memory.zeros(2, *shape)

    def add(self, cells: tuple[np.ndarray, ...], weight: np.ndarray) -> None:
        """Add rows in these cells, (n,) ints for each axis of the table."""
        hi, lo = self.pairs.reshape(2, -1, 1)  # in place
        _add([np.ones(len(weight))], weight, np.ravel_multi_index(cells, self.pairs.shape[1:]), hi, lo)

    @property
    def sums(self) -> np.ndarray:
        """The weight of each cell."""
        return self.pairs[0] + self.pairs[1]

    def of(self, part: Any) -> "WeightTable":
        """A copy of a part of the table."""
        some = WeightTable()
        some.pairs = np.stack([sums[part] for sums in self.pairs])
        return some

    def __add__(self, other: "WeightTable") -> "WeightTable":
        total = WeightTable()
        total.pairs = np.empty_like(self.pairs)  # whose layout kernels expect
        total.pairs[...] = _merged(*self.pairs, *other.pairs)
        return total

    def _to_state(self) -> Any:
        return state_of_pairs(self.pairs)

    def restore(self, state: Any) -> None:
        """Restore the weights that `_to_state` returned."""
        self.pairs[...] = pairs_of_state("weights", state, self.pairs.shape[1:])


def summed_by_key(keys: np.ndarray, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each key once, sorted, the place where it comes first, and the sum (2, m) of its weights (2, n)."""
    each, first, cells = np.unique(keys, return_index=True, return_inverse=True)
    weights = WeightTable(len(each))
    weights.add((np.tile(cells, 2),), pairs.reshape(-1))
    return each, first, weights.pairs


def state_of_pairs(pairs: np.ndarray) -> Any:
    """Sums as files keep them: alone where nothing was rounded, as in older files."""
    return list(pairs) if pairs[1].any() else pairs[0]


def pairs_of_state(name: str, state: Any, shape: tuple[int | None, ...]) -> np.ndarray:
    """Sums and rounding errors, (2, ..), from the state in a file."""
    hi, *lost = state if isinstance(state, list) else [state]
    hi = persistence.array(name, hi, ["f8"], shape)
    lo = persistence.array(name, lost[0], ["f8"], hi.shape) if lost else np.zeros_like(hi)
    return np.stack([hi, lo])


def _merged(a_hi: np.ndarray, a_lo: np.ndarray, b_hi: np.ndarray, b_lo: np.ndarray) -> np.ndarray:
    """The sum of two tables of pairs, (2, ..)."""
    total = np.zeros((2, *a_hi.shape))
    a_hi, a_lo, b_hi, b_lo = (frozen(np.ascontiguousarray(part).reshape(1, -1)) for part in (a_hi, a_lo, b_hi, b_lo))
    hi, lo = total.reshape(2, -1)
    add_rows(a_hi[0], a_lo, b_hi[0], b_lo, 1.0, RESIDUE, hi, lo[None])
    return total


def _add(values: Sequence[np.ndarray], weight: np.ndarray, groups: np.ndarray, hi: np.ndarray, lo: np.ndarray) -> None:
    columns = frozen(np.column_stack(values))
    entries = np.arange(len(weight)), groups, weight
    add_dense_pairs(columns, *entries, SUM, 0.0, lost_of(columns.shape[1]), hi, lo[None])
