"""Summing one run of blocks into a private table: the only place where statistics grow in place."""

from collections.abc import Iterable

import numpy as np

from streamnb import _checks
from streamnb.data.chunk import Chunk, Survey, transformed
from streamnb.kernels import accumulate
from streamnb.stats.class_stats import MOMENTS, ClassStats, RowOptions, merged_classes
from streamnb.stats.tables import Table

_KERNEL_MOMENT = dict(
    zip(MOMENTS, (accumulate.SUM, accumulate.SUM_SQ, accumulate.NONZERO, accumulate.ABOVE), strict=True)
)
_EXACT = 2.0**53  # integers below this are exact in float64


class Accumulator:
    """Class sums of the blocks given to `add`; `finish` turns them into statistics.

    Parameters
    ----------
    moments : names out of MOMENTS
    options : RowOptions
    classes : sorted labels, or None for an open set
    """

    def __init__(self, moments: Iterable[str], options: RowOptions, classes: np.ndarray | None):
        self._options = options
        self._labels = _LabelCodes(classes)
        self._sums: dict[str, _GrowingTable] = {name: _GrowingTable() for name in moments}
        self._weight = _GrowingTable()
        self._weight.pairs()
        self._rows = np.zeros(0, np.int64)
        self._negatives = 0
        self.n_features: int | None = None

    @property
    def nbytes(self) -> int:
        """Memory of the tables."""
        return sum(t.nbytes for t in self._sums.values())

    def add(self, chunk: Chunk, survey: Survey, y: np.ndarray, weight: np.ndarray | None) -> None:
        """Add one block of rows; y (n_rows,), weight (n_rows,) or None for 1 each."""
        n_rows, n_features = chunk.shape
        _checks.check_lengths(n_rows, len(y))
        if self.n_features is None:
            self.n_features = n_features
        _checks.check_n_features(n_features, self.n_features)
        if n_rows == 0:
            return
        chunk, survey = transformed(chunk, survey, self._options.transform, self._options.normalize)
        self._negatives += survey.negatives
        # The group of a row; today its class alone.
        codes = self._labels.codes(y, chunk.first_row)
        whole = weight is None or bool((weight == np.floor(weight)).all())
        weight = np.ones(n_rows) if weight is None else weight
        heaviest = float(weight.max())
        self._add_weights(codes, weight)
        for name, table in self._sums.items():
            table.grow(self._labels.n, n_features)
            largest = {"sum": survey.top, "sum_sq": survey.top**2}.get(name, 1.0)
            exact = whole and (survey.whole or name in ("nonzero", "above"))
            table.note(n_rows * heaviest * largest if exact else np.inf)
            threshold = self._options.binarize
            chunk.add_moment(codes, weight, _KERNEL_MOMENT[name], threshold, table.hi, table.lo)

    def _add_weights(self, codes: np.ndarray, weight: np.ndarray) -> None:
        n = self._labels.n
        self._weight.grow(n, 1)
        self._rows = np.concatenate([self._rows, np.zeros(n - len(self._rows), np.int64)])
        accumulate.add_weights(codes, weight, self._rows, self._weight.hi, self._weight.lo)

    def finish(self) -> ClassStats:
        """The statistics, classes sorted; the accumulator is spent."""
        n, n_features = self._labels.n, self.n_features or 0
        classes, order = self._labels.sorted()
        self._weight.grow(n, 1)
        self._rows = np.concatenate([self._rows, np.zeros(n - len(self._rows), np.int64)])
        weight = self._weight.table(n, 1)
        tables = {"weight": weight.take(order)}
        for name in list(self._sums):
            growing = self._sums.pop(name)  # one moment at a time is held twice
            growing.grow(n, n_features)
            table = growing.table(n, n_features)
            if name == "above" and self._options.binarize < 0.0:
                # The kernels count relative to an absent value, which lies above a negative threshold.
                every = np.arange(n)
                table = _spread(weight, n_features).combined(table, every, every, 1.0)
            tables[name] = table.take(order)
        rows, closed = self._rows[order], self._labels.closed
        return ClassStats(classes, rows, tables, n_features, self._negatives, self._options, closed)


class _LabelCodes:
    """Labels to codes 0, 1, ..: in sorted order where the set is closed, else in order of appearance."""

    def __init__(self, classes: np.ndarray | None):
        self.closed = classes is not None
        self._sorted = np.zeros(0, np.int64) if classes is None else classes
        self._codes = np.arange(len(self._sorted))

    @property
    def n(self) -> int:
        return len(self._sorted)

    def codes(self, y: np.ndarray, first_row: int) -> np.ndarray:
        codes = self._lookup(y)
        if codes is None:
            self._extend(y, first_row)
            codes = self._lookup(y)
            assert codes is not None
        return codes

    def _lookup(self, y: np.ndarray) -> np.ndarray | None:
        if self.n == 0 or _checks.label_kind(y) != _checks.label_kind(self._sorted):
            return None
        at = np.minimum(np.searchsorted(self._sorted, y), self.n - 1)
        return self._codes[at] if (self._sorted[at] == y).all() else None

    def _extend(self, y: np.ndarray, first_row: int) -> None:
        classes = merged_classes(self._sorted, np.unique(y))
        new = ~np.isin(classes, self._sorted) if self.n else np.ones(len(classes), bool)
        if self.closed:
            row = int(np.flatnonzero(np.isin(y, classes[new]))[0])
            raise ValueError(
                f"y has the label {y[row].item()!r} at row {first_row + row}, not in classes={self._sorted.tolist()}: "
                "list it there, or leave classes out"
            )
        codes = np.empty(len(classes), np.int64)
        codes[~new] = self._codes
        codes[new] = self.n + np.arange(np.count_nonzero(new))
        self._sorted, self._codes = classes, codes

    def sorted(self) -> tuple[np.ndarray, np.ndarray]:
        return self._sorted, self._codes


class _GrowingTable:
    """Sums that grow with the number of classes; pairs from the first block that plain sums would round."""

    def __init__(self) -> None:
        self.hi = np.zeros((0, 0))
        self.lo: np.ndarray | None = None
        self._bound = 0.0  # no sum so far is larger

    @property
    def nbytes(self) -> int:
        return self.hi.nbytes + (0 if self.lo is None else self.lo.nbytes)

    def grow(self, n_classes: int, n_columns: int) -> None:
        if n_classes <= self.hi.shape[0]:
            return
        # Few classes are new after the first blocks; doubling keeps copies rare, untouched zeros cost nothing.
        room = n_classes if not len(self.hi) else max(n_classes, 2 * len(self.hi))
        self.hi = _enlarged(self.hi, room, n_columns)
        if self.lo is not None:
            self.lo = _enlarged(self.lo, room, n_columns)

    def note(self, growth: float) -> None:
        """Expect sums to grow by at most this much; inf where a plain sum would round."""
        self._bound += growth
        if self._bound >= _EXACT:
            self.pairs()

    def pairs(self) -> None:
        if self.lo is None:
            self.lo = np.zeros(self.hi.shape)

    def table(self, n_classes: int, n_columns: int) -> Table:
        if n_classes == 0:
            return Table(np.zeros((0, n_columns)))
        lo = self.lo if self.lo is not None and self.lo.any() else None
        return Table(self.hi[:n_classes], None if lo is None else lo[:n_classes])


def _enlarged(old: np.ndarray, n_rows: int, n_columns: int) -> np.ndarray:
    new = np.zeros((n_rows, n_columns))
    if old.size:
        new[: len(old)] = old
    return new


def _spread(weight: Table, n_columns: int) -> Table:
    lo = None if weight.lo is None else np.repeat(weight.lo, n_columns, axis=1)
    return Table(np.repeat(weight.hi, n_columns, axis=1), lo)
