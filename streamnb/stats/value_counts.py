"""Counts of values that share their leading bits, from which quantiles are computed."""

from dataclasses import dataclass, field, replace
from functools import partial
from operator import add
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from streamnb.core import memory, persistence, row_checks
from streamnb.passes.contract import Report
from streamnb.passes.statistic import Statistic
from streamnb.rows.boundary import checked
from streamnb.rows.row_blocks import Block, Chunk

N_CELLS = 4096  # most cells of a feature
MANY = 1 << 16  # features that are refused before they are counted where they take too much memory
BYTES_OF_FEATURE = 5000  # at least, however few values it has: the arrays of its counts, and of copies of them
ROUNDING = 1e-12  # of sums of weights, relative
_MAGNITUDE = np.int64(2**63 - 1)  # all bits of a float64 except the sign
_BELOW_ZERO = -2  # key of the largest number below 0; -1 would be negative zero
CURE = "use fewer features at a time, give a larger memory_limit, or use a machine with more memory"


class ValueCells(NamedTuple):
    """Values of one feature: a cell counts all float64 numbers that share their leading 64 - shift bits.

    Keys are integers in the order of the numbers. The shift is the smallest that leaves at most N_CELLS cells, and the
    cells of any parts of the values combine to those of all: they do not depend on the order of rows.
    """

    shift: int
    keys: np.ndarray  # (n_cells,) int64, ascending
    counts: np.ndarray  # (n_cells,) int64, or float64 where rows have weights

    def __add__(self, other: Any) -> "ValueCells":
        shift = max(self.shift, other.shift)
        keys = np.concatenate([self.keys >> (shift - self.shift), other.keys >> (shift - other.shift)])
        order = np.argsort(keys, kind="stable")
        return _fewer(shift, keys[order], np.concatenate([self.counts, other.counts])[order])

    def reaching(self, shares: np.ndarray) -> np.ndarray:
        """Return the number of the first cell up to which at least these shares of the values lie."""
        up_to = np.cumsum(self.counts)
        return np.searchsorted(up_to, up_to[-1] * shares * (1.0 - ROUNDING))

    def tops(self) -> np.ndarray:
        """Return the largest float64 number of each cell."""
        return _floats((self.keys + 1 << self.shift) - 1)

    def between(self) -> np.ndarray:
        """Return a threshold between each cell and the next, (n_cells - 1,), that also separates float32 values.

        It is the middle of the gap between the cells, or the largest number of the cell if there is no gap.
        """
        tops, next_ones = self.tops()[:-1], _floats(self.keys[1:] << self.shift)
        middle = tops / 2 + next_ones / 2
        return np.where((middle > tops) & (middle < next_ones), middle, tops)


NO_VALUES = ValueCells(0, np.zeros(0, np.int64), np.zeros(0, np.int64))


def _floats(integers: np.ndarray) -> np.ndarray:
    """Return the float64 numbers of integer keys; for negative zero the largest number below 0."""
    integers = np.where(integers == -1, _BELOW_ZERO, integers)
    return np.where(integers < 0, integers ^ _MAGNITUDE, integers).view(np.float64)


def cells_of(values: np.ndarray, shift: int = 0, copies: np.ndarray | None = None) -> ValueCells:
    """Return the cells of values (n,), each in so many copies, with at least this shift."""
    if not len(values):
        return NO_VALUES._replace(shift=shift)
    keys = _keys(values)
    keys >>= shift
    first, last = keys.min(), keys.max()
    if int(last) - int(first) <= 4 * len(keys) + N_CELLS:
        keys -= first
        counts = np.bincount(keys, copies).astype(np.int64)
        keys = np.flatnonzero(counts)
        return _fewer(shift, keys + first, counts[keys])
    if copies is not None:
        order = np.argsort(keys, kind="stable")
        return _fewer(shift, keys[order], copies[order])
    keys.sort()
    return _fewer(shift, keys, np.ones(len(keys), np.int64))


def counted_cells(values: np.ndarray, counts: np.ndarray) -> ValueCells:
    """Return the cells of values (n,) with the given counts."""
    keys = _keys(values)
    order = np.argsort(keys, kind="stable")
    return _fewer(0, keys[order], counts[order])


def _keys(values: np.ndarray) -> np.ndarray:
    """Return the integer keys of float64 numbers, in the same order."""
    keys = np.add(values, 0.0, dtype=np.float64).view(np.int64)  # makes -0.0 equal to 0.0
    if keys.min(initial=0) < 0:
        keys ^= (keys >> 63) & _MAGNITUDE  # negative numbers in ascending order
    return keys


def _fewer(shift: int, keys: np.ndarray, counts: np.ndarray) -> ValueCells:
    """Merge equal sorted keys, and coarsen them until there are at most N_CELLS."""
    while True:
        firsts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
        if len(firsts) < len(keys):
            keys, counts = keys[firsts], np.add.reduceat(counts, firsts)
        if len(keys) <= N_CELLS:
            return ValueCells(shift, keys, counts)
        shift, keys = shift + 1, keys >> 1


@dataclass(eq=False)
class ValueCounts(Statistic):
    """The cells and the number of missing values of each feature; weights are numbers of copies."""

    features: Annotated[tuple[ValueCells, ...], add] = ()
    missing: Annotated[np.ndarray, np.add] = field(default_factory=partial(np.zeros, 0, np.int64))  # (n_features,)
    low: Annotated[np.ndarray, np.minimum] = field(default_factory=partial(np.zeros, 0))
    high: Annotated[np.ndarray, np.maximum] = field(default_factory=partial(np.zeros, 0))
    lowest: np.ndarray | None = None  # the smallest values, also those of rows of weight 0, if there are any
    memory_limit: int | None = None
    title = "bins"

    @property
    def n_features(self) -> int:
        return len(self.features)

    def __add__(self, other: Self) -> Self:
        if not self.features or not other.features:  # one has no rows
            return self if self.features else other
        features = tuple(a + b for a, b in zip(self.features, other.features, strict=True))
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return replace(self, features=features, missing=self.missing + other.missing, low=low, high=high)

    def of_feature(self, j: int) -> Self:
        """Return the counts of a feature alone."""
        own = slice(j, j + 1)
        missing, low, high = self.missing[own], self.low[own], self.high[own]
        return replace(self, features=self.features[own], missing=missing, low=low, high=high)

    def scaled(self, factor: float) -> Self:
        """Return the counts multiplied by a factor."""
        features = tuple(cells._replace(counts=cells.counts * factor) for cells in self.features)
        return replace(self, features=features, missing=self.missing * factor)

    def beside(self, absent: Self) -> Self:
        """Return the same with what a step has to take of rows of weight 0: missing and small values."""
        return replace(self, missing=self.missing + absent.missing, lowest=np.minimum(self.low, absent.low))

    def add_block(self, block: Block) -> None:
        self.add_rows(checked(block, missing=True)[0], block.weight)

    def add_rows(self, chunk: Chunk, copies: np.ndarray | None = None) -> None:
        """Add a block of rows, each in so many copies; values may be NaN."""
        n_rows, n_features = chunk.shape
        what = f"the values of {n_features:,} features, counted"
        if self.features:
            row_checks.check_n_features(n_features, self.n_features)
        elif n_features > MANY:
            memory.check(what, BYTES_OF_FEATURE * n_features, self.memory_limit, CURE)
        if not n_rows:
            return
        shifts = [cells.shift for cells in self.features] or [0] * n_features
        features, missing = [], np.zeros(n_features, np.int64)
        low, high = np.full(n_features, np.inf), np.full(n_features, -np.inf)
        for j, (values, own, n_zeros) in enumerate(_columns(chunk, copies)):
            gaps, known = np.isnan(values), values
            if gaps.any():
                missing[j] = np.count_nonzero(gaps) if own is None else own[gaps].sum()
                known, own = values[~gaps], None if own is None else own[~gaps]
            cells = cells_of(known, shifts[j], own)
            if n_zeros:
                cells = cells + ValueCells(0, np.zeros(1, np.int64), np.array([n_zeros]))
                known = np.append(known, 0.0)
            if len(known):
                low[j], high[j] = known.min(), known.max()
            features.append(cells)
        both = self + ValueCounts(tuple(features), missing, low, high)
        self.features, self.missing, self.low, self.high = both.features, both.missing, both.low, both.high
        memory.check(what, self.nbytes, self.memory_limit, CURE)

    def ended(self, report: Report) -> Self:
        row_checks.check_min_size(report.rows, self.n_features or 1)
        return self

    def about(self) -> dict[str, str]:
        return {}

    def arrays(self) -> dict[str, Any]:
        n_cells = np.array([len(cells.keys) for cells in self.features], np.int64)
        joined = {
            name: np.concatenate([np.zeros(0, np.int64), *(getattr(cells, name) for cells in self.features)])
            for name in ("keys", "counts")
        }
        shifts = np.array([cells.shift for cells in self.features], np.int64)
        sides = {"missing": self.missing, "low": self.low, "high": self.high}
        return {"n_cells": n_cells, "shifts": shifts, **joined, **sides}

    def of_arrays(self, arrays: Any) -> Self:
        of_cells, of_features = "i8[n_cells]", "i8[n_features]"
        forms = {"n_cells": of_features, "shifts": of_features, "keys": of_cells, "counts": of_cells}
        forms |= {"missing": of_features, "low": "f8[n_features]", "high": "f8[n_features]"}
        n_cells, shifts, keys, counts, missing, low, high = persistence.parts(ValueCounts, arrays, **forms)
        if (shifts < 0).any() or (shifts > 63).any():
            raise ValueError("shifts should be from 0 to 63")
        keys, counts = (persistence.pieces("n_cells", each, n_cells) for each in (keys, counts))
        features = tuple(map(ValueCells, shifts.tolist(), keys, counts))
        return replace(self, features=features, missing=missing, low=low, high=high)


def _columns(chunk: Chunk, copies: np.ndarray | None) -> Any:
    """Yield the stored values of each feature, their copies, and the number of its other values, which are 0."""
    X: Any = chunk.to_matrix()
    if not sp.issparse(X):
        for column in np.ascontiguousarray(X.T):
            yield column, copies, 0
        return
    X, n_rows = X.tocsc(), chunk.shape[0] if copies is None else int(copies.sum())
    for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        own = None if copies is None else copies[X.indices[start:stop]]
        yield X.data[start:stop], own, n_rows - int(stop - start if own is None else own.sum())
