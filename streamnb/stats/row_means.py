"""Weighted means over rows, and weights of rows by cell; their bits depend on no order of the rows."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

import numpy as np

from streamnb.core import memory, persistence
from streamnb.kernels.class_sums import add_means
from streamnb.kernels.exact import RESIDUE, add_rows
from streamnb.passes.statistic import Mergeable
from streamnb.rows.row_blocks import frozen


def _merged(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The sum of two tables of pairs, (2, ..)."""
    a_hi, a_lo, b_hi, b_lo = (frozen(np.ascontiguousarray(part).reshape(1, -1)) for part in (*a, *b))
    hi, lo = np.zeros((2, a_hi.size))
    add_rows(a_hi[0], a_lo, b_hi[0], b_lo, 1.0, RESIDUE, hi, lo[None])
    total = np.empty_like(a)  # whose layout kernels expect
    total[...] = np.reshape([hi, lo], a.shape)
    return total


@dataclass(eq=False)
class WeightTable(Mergeable):
    """Weights of rows by cell of a table, without error in (hi, lo) pairs.

    Attributes
    ----------
    pairs : (2, ..)
        The weights and their rounding errors, which kernels update in place.
    """

    pairs: Annotated[np.ndarray, _merged]

    @classmethod
    def of_shape(cls, *shape: int) -> Self:
        """A table of this shape without rows."""
        return cls(memory.zeros(2, *shape))

    def add(self, cells: tuple[np.ndarray, ...], weight: np.ndarray) -> None:
        """Add rows in these cells, (n,) ints for each axis of the table."""
        hi, lo = self.pairs.reshape(2, -1, 1)  # in place
        add_means(np.ones((len(weight), 1)), np.ravel_multi_index(cells, self.pairs.shape[1:]), weight, hi, lo)

    @property
    def sums(self) -> np.ndarray:
        """The weight of each cell."""
        return self.pairs[0] + self.pairs[1]

    def of(self, part: Any) -> Self:
        """A copy of a part of the table."""
        return replace(self, pairs=np.stack([sums[part] for sums in self.pairs]))

    def arrays(self) -> Any:
        return state_of_pairs(self.pairs)

    def of_arrays(self, arrays: Any) -> Self:
        pairs = np.empty_like(self.pairs)  # whose layout kernels expect
        pairs[...] = pairs_of_state("weights", arrays, pairs.shape[1:])
        return replace(self, pairs=pairs)


@dataclass(eq=False)
class RowMeans(WeightTable):
    """Weighted means of some values of each row, and their sums by group, without error in (hi, lo) pairs.

    Attributes
    ----------
    pairs : (2, n_groups, n_powers * n_values + 1)
        The sums of the values, of their squares and so on, the weight last, and their rounding errors.
    names : tuple of str
        Of the values.
    n_powers : int
        2 where sums of squares are kept too, 3 with those of cubes.
    """

    names: tuple[str, ...]
    n_powers: int = 1

    @classmethod
    def of_values(cls, names: Iterable[str], n_groups: int = 1, n_powers: int = 1) -> Self:
        """Means of values of these names, without rows."""
        names = tuple(names)
        return cls(np.zeros((2, n_groups, n_powers * len(names) + 1)), names, n_powers)

    @property
    def weight(self) -> float:
        """Total weight of the rows, rounded once: the same for any groups."""
        return math.fsum(self.pairs[:, :, -1].ravel())

    def add(self, values: Sequence[np.ndarray], weight: np.ndarray, groups: np.ndarray | None = None) -> None:
        """Add rows; there are values (n,) for each name, and the number of each row's group, if there are several."""
        groups = np.zeros(len(weight), np.int64) if groups is None else groups
        columns = np.empty((len(weight), self.pairs.shape[2]))
        for column, value in enumerate(values):
            columns[:, column] = value
        n_values = len(self.names)
        for column in range(n_values, self.n_powers * n_values):
            np.multiply(columns[:, column - n_values], columns[:, column % n_values], out=columns[:, column])
        columns[:, -1] = 1.0
        add_means(columns, groups, weight, *self.pairs)

    def one(self, at: int, name: str) -> Self:
        """Return the mean of one value alone, under another name."""
        return replace(self, pairs=self.pairs[:, :, [at, -1]], names=(name,))

    def place(self, name: str, power: int = 1) -> int:
        """The column of a value, or of its power, in the sums."""
        return (power - 1) * len(self.names) + self.names.index(name)

    def mean(self, name: str, power: int = 1) -> float:
        """Return the mean of a value, or of its power, over the rows of all groups; NaN if there is no weight."""
        total = math.fsum(self.pairs[:, :, self.place(name, power)].ravel())
        return total / self.weight if self.weight > 0.0 else np.nan


def summed_by_key(keys: np.ndarray, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each key once, sorted, the place where it comes first, and the sum (2, m) of its weights (2, n)."""
    each, first, cells = np.unique(keys, return_index=True, return_inverse=True)
    weights = WeightTable.of_shape(len(each))
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
