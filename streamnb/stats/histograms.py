"""Histograms of features by class, and the grids of their bins."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from streamnb.core import arguments, memory, persistence
from streamnb.kernels import class_sums, table_sums
from streamnb.rows.boundary import Survey
from streamnb.rows.row_blocks import Chunk, CSRChunk, Entries, frozen
from streamnb.stats.moment_sums import GrowingTable
from streamnb.stats.tables import Table, parts_of, renormalised

MODES = ("value", "bins")
N_BINS = 64  # of a feature, by default
DIGITS = 52  # bits of a bin number, which float64 holds exactly
FINEST = -1000  # the exponent of the narrowest bins, whose scale is still a float64
MOST = 2**31 - 1  # bins of all features together, whose indices are int32
_GRID: dict[str, Any] = {"mode": str, "n_bins": int, "low": "f8[n_features]", "high": "f8[n_features]"}  # in files
CURE = "use fewer bins (n_bins) or features, give a larger memory_limit, or use a machine with more memory"


@dataclass(frozen=True, eq=False, repr=False)
class Grid:
    """The bins of each feature: a pure function of its smallest and largest value, however rows are divided.

    In mode "value", bin v holds the whole number v. In mode "bins", bin i is the half-open interval from i 2^e to
    (i + 1) 2^e, with the smallest e for which all values lie in `n_bins` adjacent bins. Possible edges are fixed
    beforehand; the rows decide only how often adjacent bins are merged. The grids of any parts of the rows therefore
    combine to the grid of all rows.
    """

    mode: str
    n_bins: int = N_BINS
    low: np.ndarray = field(default_factory=partial(np.zeros, 0))  # (n_features,) smallest value, inf if there is none
    high: np.ndarray = field(default_factory=partial(np.zeros, 0))  # both empty before the first row

    def __post_init__(self) -> None:
        arguments.one_of("histogram", self.mode, MODES)
        # negative and positive values are never in one bin, however wide it is
        fewest = 2 if self.mode == "bins" else 1
        object.__setattr__(self, "n_bins", arguments.positive_integer("n_bins", self.n_bins, fewest))

    def __repr__(self) -> str:
        return f"Grid({self.mode!r}, n_bins={self.n_bins})"

    def of(self, n_features: int) -> "Grid":
        """Return self; before the first row, a grid with an empty range for each feature."""
        if len(self.low):
            return self
        return Grid(self.mode, self.n_bins, np.full(n_features, np.inf), np.full(n_features, -np.inf))

    def __or__(self, other: "Grid") -> "Grid":
        """Return the grid of the values of both; self if it covers them."""
        if (self.mode, self.n_bins) != (other.mode, other.n_bins):
            ours, theirs = (f"histogram={g.mode!r} and n_bins={g.n_bins}" for g in (self, other))
            raise ValueError(f"these statistics were scanned with {ours}, the others with {theirs}; scan both alike")
        if (self.low <= other.low).all() and (self.high >= other.high).all():
            return self
        return Grid(self.mode, self.n_bins, np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    @cached_property
    def exponents(self) -> np.ndarray:
        """(n_features,) int64: bins are 2^exponent wide."""
        if self.mode == "value":
            return np.zeros(len(self.low), np.int64)
        seen = self.low <= self.high
        low, high = np.where(seen, self.low, 0.0), np.where(seen, self.high, 0.0)
        e = np.maximum(_exponents(np.maximum(np.abs(low), np.abs(high))) - DIGITS, FINEST)
        e = np.maximum(_exponents((high - low) / self.n_bins) - 2, e)  # a smaller exponent would not suffice
        while (wide := _number(high, e) - _number(low, e) >= self.n_bins).any():
            e = e + wide
        return e

    @cached_property
    def firsts(self) -> np.ndarray:
        """(n_features,) int64: the number i of the first bin."""
        low = np.where(self.low <= self.high, self.low, 0.0) if self.mode == "bins" else np.zeros(len(self.low))
        return _number(low, self.exponents)

    @cached_property
    def scale(self) -> np.ndarray:
        return np.ldexp(1.0, -self.exponents)

    @cached_property
    def shift(self) -> np.ndarray:
        """Offsets from bin numbers to columns of the table of all bins, (n_features,) float64."""
        return (self.n_bins * np.arange(len(self.firsts)) - self.firsts).astype(np.float64)

    @property
    def edges(self) -> np.ndarray:
        """Edges of the bins, (n_features, n_bins + 1)."""
        return np.ldexp((self.firsts[:, None] + np.arange(self.n_bins + 1)).astype(np.float64), self.exponents[:, None])

    def columns_in(self, coarser: "Grid") -> np.ndarray:
        """Return the column of each bin in a grid of a wider range, (n_features * n_bins,)."""
        joined = np.clip(coarser.exponents - self.exponents, 0, 63)[:, None]
        places = (self.firsts[:, None] + np.arange(self.n_bins) >> joined) - coarser.firsts[:, None]
        # bins outside the range of the coarser grid are empty
        return (np.clip(places, 0, self.n_bins - 1) + self.n_bins * np.arange(len(places))[:, None]).reshape(-1)

    def columns_of_zero(self) -> np.ndarray:
        """Return the bin that contains 0 for each feature; any bin if 0 is out of range."""
        return np.clip(-self.firsts, 0, self.n_bins - 1) + self.n_bins * np.arange(len(self.firsts))

    def seen(self, chunk: Chunk, survey: Survey) -> "Grid":
        """Return the grid of one block of rows; raise an error for values that have no bin."""
        if self.mode == "value":
            self._check_values(chunk, survey)
            bounds = np.zeros(chunk.shape[1])
            return Grid(self.mode, self.n_bins, bounds, bounds + (self.n_bins - 1))
        if isinstance(chunk, CSRChunk):
            low, high = np.full(chunk.shape[1], np.inf), np.full(chunk.shape[1], -np.inf)
            count = np.zeros(chunk.shape[1], np.int64)
            table_sums.stored_range(chunk.data, chunk.indices, low, high, count)
            absent = count < chunk.shape[0]
            low[absent], high[absent] = np.minimum(low[absent], 0.0), np.maximum(high[absent], 0.0)
        else:
            low, high = (end(axis=0).astype(np.float64) for end in (chunk.values.min, chunk.values.max))
        return Grid(self.mode, self.n_bins, low, high)

    def bins(self, chunk: Chunk) -> CSRChunk:
        """Return the bins of the stored values, as rows with a 1 in the columns of their bins."""
        numbers = np.floor(chunk.scaled(self.scale).stored)
        shift = self.shift[chunk.indices] if isinstance(chunk, CSRChunk) else np.tile(self.shift, chunk.shape[0])
        width, places = len(self.firsts) * self.n_bins, numbers + shift
        places[~((places >= 0.0) & (places < width))] = 0.0  # only if values changed: see `kernels.table_sums`
        places, ones = places.astype(np.int32), np.ones(len(numbers), np.uint8)
        return CSRChunk(frozen(ones), frozen(places), chunk.row_ends, width, chunk.first_row, ones=True)

    def _check_values(self, chunk: Chunk, survey: Survey) -> None:
        if survey.whole and not survey.negatives and survey.top < self.n_bins:
            return
        stored = chunk.stored
        for wrong, cure in (
            (stored != np.floor(stored), "use histogram='bins' for values that are no whole numbers"),
            (stored < 0, "use histogram='bins' for values below 0"),
            (stored >= self.n_bins, f"give n_bins={int(survey.top) + 1} or more, or use histogram='bins'"),
        ):
            if wrong.any():
                position = int(np.argmax(wrong))
                row, column = chunk.locate(position)
                raise ValueError(
                    f"histogram='value' with n_bins={self.n_bins} takes the whole numbers from 0 to {self.n_bins - 1}, "
                    f"but X has {float(stored[position]):.15g} at row {row}, column {column}; {cure}"
                )


def _exponents(size: np.ndarray) -> np.ndarray:
    """Return the binary exponent of positive numbers, rounded up; a low one for 0."""
    return np.where(size > 0.0, np.frexp(size)[1].astype(np.int64), FINEST)


def _number(x: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """Return the number of the bin of x, counted from 0."""
    return np.floor(x * np.ldexp(1.0, -exponents)).astype(np.int64)


def check_histogram(histogram: str | None, n_bins: int | None) -> Grid | None:
    """Return the grid for the `histogram` argument of `scan`, before any rows."""
    if histogram is None and n_bins is not None:
        raise ValueError(f"n_bins={n_bins!r} is for histograms; give histogram='value' or 'bins', or leave it out")
    return None if histogram is None else Grid(histogram, N_BINS if n_bins is None else n_bins)


def bytes_of(grid: Grid | None, n_groups: int, n_features: int) -> int:
    """Return the bytes of histograms with whole weights."""
    return 0 if grid is None else 8 * n_groups * n_features * grid.n_bins


def check_fits(grid: Grid, n_groups: int, n_features: int, limit: int | None) -> None:
    """Raise an error if the histograms would be too large."""
    needed = bytes_of(grid, n_groups, n_features)
    if needed > memory.allowed(limit) or n_features * grid.n_bins > MOST:
        what = f"histograms of {n_features:,} features in {grid.n_bins:,} bins and {n_groups:,} classes and folds"
        memory.refuse(what, needed, memory.allowed(limit), CURE)


@persistence.register
@dataclass(frozen=True, slots=True, eq=False)
class Histograms(Table):
    """Weights (n_classes, n_features * n_bins) of the rows of each class by the bin of each feature.

    A table like those of sums; to combine two, both are first converted to the grid of all their values.
    """

    grid: Grid = Grid("bins")

    @property
    def counts(self) -> np.ndarray:
        """H[j, bin, y], (n_features, n_bins, n_classes)."""
        return self.value().reshape(len(self.hi), -1, self.grid.n_bins).transpose(1, 2, 0)

    @property
    def edges(self) -> np.ndarray:
        """Edges of the bins, (n_features, n_bins + 1)."""
        return self.grid.edges

    def counts_of(self, features: slice) -> np.ndarray:
        """Return the counts of some features, (n_bins, n_classes, n_features)."""
        n_bins = self.grid.n_bins
        some = self.value(slice(features.start * n_bins, features.stop * n_bins))
        return some.reshape(len(self.hi), -1, n_bins).transpose(2, 0, 1)

    def on(self, grid: Grid) -> "Histograms":
        """Return the same weights on a grid of a wider range."""
        if grid is self.grid:
            return self
        hi, lo = np.zeros_like(self.hi), np.zeros((3, *self.hi.shape))
        _add_in(self.grid.columns_in(grid), parts_of(self), hi, lo)
        table = renormalised(Table(hi, lo, self.rounded))
        return Histograms(table.hi, table.lo, table.rounded, grid)

    def combined(self, other: Any, rows: np.ndarray, other_rows: np.ndarray, sign: float) -> Any:
        grid = self.grid | other.grid
        return Table.combined(self.on(grid), other.on(grid), rows, other_rows, sign)

    def _to_state(self) -> dict[str, Any]:
        grid = {name: getattr(self.grid, name) for name in _GRID}
        state = super(Histograms, self)._to_state()
        del state["grid"]
        return state | grid

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        lengths: dict[str, int] = {}
        of_grid = [persistence.part(state, name, kind, lengths) for name, kind in _GRID.items()]
        sums = {name: part for name, part in state.items() if name not in _GRID}
        return super(Histograms, cls)._from_state({**sums, "grid": Grid(*of_grid)})

    def _check_loaded(self) -> None:
        n_features, n_bins = len(self.grid.low), self.grid.n_bins
        if n_features * n_bins != self.hi.shape[1] or np.isnan([self.grid.low, self.grid.high]).any():
            raise ValueError(f"histograms {self.hi.shape} do not fit ranges of {n_features} features in {n_bins} bins")


def _add_in(columns: np.ndarray, parts: Sequence[np.ndarray], hi: np.ndarray, lo: np.ndarray | None) -> bool:
    """Add sums (n_classes, n), in parts, to columns (n,) of (hi, lo); return whether a second low part is in use.

    Without `lo` the sums are whole numbers in one part.
    """
    if lo is None:
        for of_class, sums in zip(hi, parts[0], strict=False):
            of_class += np.bincount(columns, sums, len(of_class)).astype(hi.dtype)
        return False
    n_classes, n = parts[0].shape
    places, ends = np.tile(columns.astype(np.int32), n_classes), np.arange(n_classes + 1) * n
    entries = Entries(np.arange(n_classes), np.arange(n_classes), np.ones(n_classes))
    rows = [CSRChunk(frozen(part.reshape(-1)), frozen(places), frozen(ends), hi.shape[1], 0) for part in parts]
    return any([row.add_moment(entries, class_sums.SUM, 0.0, hi, lo) for row in rows])


def found_in(tables: Any) -> Histograms:
    """Return the histograms among the tables of statistics."""
    if "histogram" not in tables:
        raise ValueError(
            "these statistics hold no histogram; scan(histogram='value', n_bins=..) keeps one of whole numbers, "
            "scan(histogram='bins') one of any values"
        )
    return tables["histogram"]


class HistogramSums:
    """Accumulates histograms block by block: dense tables that move to a wider grid when values fall outside.

    For sparse rows only the stored values are counted; the remaining weight is added to the bin of 0 at the end.
    """

    def __init__(self, grid: Grid, limit: int | None):
        self._grid, self._limit = grid, limit
        self._bins, self._stored, self._of_sparse = GrowingTable(), GrowingTable(), GrowingTable()
        self._of_sparse.note(np.inf)

    def add(self, chunk: Chunk, survey: Survey, entries: Entries, n_groups: int, weight: float) -> None:
        """Add a block of rows; arguments as those of `MomentSums.add`."""
        n_features = chunk.shape[1]
        if n_groups > len(self._bins.hi):
            check_fits(self._grid, n_groups, n_features, self._limit)
        self._bins.note(weight)
        self._bins.grow(n_groups, n_features * self._grid.n_bins)
        self._move(self._grid.of(n_features) | self._grid.seen(chunk, survey))
        hi, lo = self._bins.hi, self._bins.lo
        scale, shift = self._grid.scale, self._grid.shift
        if lo is not None:
            self._bins.spilled |= self._grid.bins(chunk).add_moment(entries, class_sums.NONZERO, 0.0, hi, lo)
        elif isinstance(chunk, CSRChunk):
            table_sums.add_csr(chunk.data, chunk.indices, chunk.indptr, *entries, scale, shift, hi)
        else:
            table_sums.add_dense(chunk.values, *entries, scale, shift, np.empty(n_features, np.int32), hi)
        if isinstance(chunk, CSRChunk):
            self._note_stored(chunk, entries, n_groups, weight)

    def _move(self, grid: Grid) -> None:
        """Continue with a grid of a wider range."""
        if grid is self._grid:
            return
        hi, lo = self._bins.hi, self._bins.lo
        had_rows = len(self._grid.low) > 0
        if had_rows and ((grid.exponents != self._grid.exponents) | (grid.firsts != self._grid.firsts)).any():
            self._bins.hi, self._bins.lo = np.zeros_like(hi), None if lo is None else np.zeros_like(lo)
            parts = [hi, *([] if lo is None else lo)]
            self._bins.spilled |= _add_in(self._grid.columns_in(grid), parts, self._bins.hi, self._bins.lo)
        self._grid = grid

    def _note_stored(self, chunk: CSRChunk, entries: Entries, n_groups: int, weight: float) -> None:
        stored, rows = self._stored, self._of_sparse
        stored.note(weight)
        stored.grow(n_groups, chunk.shape[1])
        ones = chunk.with_values(np.ones(len(chunk.data), np.uint8))
        stored.spilled |= ones.add_moment(entries, class_sums.NONZERO, 0.0, stored.hi, stored.lo)
        rows.grow(n_groups, 1)
        rows.add_weights(entries.codes, entries.weight)

    def _add_absent(self, n_groups: int, n_features: int) -> None:
        groups, bins = np.arange(n_groups), self._bins
        for table, width in ((self._stored, n_features), (self._of_sparse, 1)):
            table.grow(n_groups, width)
        weight = self._of_sparse.table(groups, 1).select(np.zeros(n_features, np.intp))
        absent = weight.plus(self._stored.table(groups, n_features), -1.0)
        bins.spilled |= _add_in(self._grid.columns_of_zero(), parts_of(absent), bins.hi, bins.lo)

    def take(self, order: np.ndarray, n_features: int) -> Histograms:
        """Return the histograms of all groups in this order, and drop them here."""
        grid = self._grid.of(n_features)
        self._bins.grow(len(order), n_features * grid.n_bins)
        if len(self._stored.hi):
            self._add_absent(len(order), n_features)
        table = self._bins.table(order, n_features * grid.n_bins)
        return Histograms(table.hi, table.lo, table.rounded, grid)
