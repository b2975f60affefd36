"""Sorted scores, kept one by one or in mergeable histograms, and the metrics computed from them."""

from copy import copy
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from streamnb.core import arguments, memory, persistence
from streamnb.kernels import ranks
from streamnb.passes.statistic import state_of
from streamnb.rows.row_blocks import stacked
from streamnb.stats.row_means import pairs_of_state, state_of_pairs

ScoredRows = tuple[np.ndarray, np.ndarray, np.ndarray]  # scores, labels, weight
CACHED_SCORES = 1 << 20  # counted at once, a few columns at a time
MOST = 1 << 31  # largest sum of weights that are counted as whole numbers
MODELS_AT_ONCE = 32  # their histograms stay in the cache


@dataclass(frozen=True, eq=False)
class Levels:
    """One class against others, by score from the highest: distinct scores, or bins whose rows count as tied.

    Attributes
    ----------
    positive, negative : (m,)
        Weight of the rows of the class, and of the others, at each level; one of the two is above 0.
    thresholds : (m,)
        The lowest score of the rows at this level or above.
    blurred : (m,) bool
        Whether the level may hold different scores.
    """

    positive: np.ndarray
    negative: np.ndarray
    thresholds: np.ndarray
    blurred: np.ndarray

    @property
    def defined(self) -> bool:
        """True if there are rows of the class and others."""
        return bool(self.positive.any() and self.negative.any())

    def auc(self) -> float:
        """Area under the ROC curve: probability that a row of the class scores above another, ties counted half."""
        return float(areas(np.column_stack([self.negative[::-1], self.positive[::-1]])[None])[0, 0])

    def auc_error(self) -> float:
        """Bound on the error of `auc`: pairs that share a bin are each off by at most a half.

        ``1/2 sum_b p_b n_b / (P N)`` over the bins b that may hold different scores, p positive and n negative weight.
        """
        if not self.defined:
            return np.nan
        return float(0.5 * (self.positive * self.negative) @ self.blurred / (self.positive.sum() * self.negative.sum()))

    def average_precision(self) -> float:
        """Mean precision over positive rows: ``sum_l p_l T_l / (T_l + F_l) / P``, T and F the sums down to level l."""
        if not self.defined:
            return np.nan
        hits = np.cumsum(self.positive)
        value = self.positive @ (hits / (hits + np.cumsum(self.negative))) / hits[-1]
        return min(float(value), 1.0)  # rounding may exceed it

    def average_precision_error(self) -> float:
        """Bound on the error of `average_precision`, from the best and the worst order inside bins.

        With weights T of positive and F of negative rows above a bin of weights p and n, the precision of a row in it
        is at most ``(T + p) / (T + p + F)``: positive rows first, tied. A row whose positive weight ends at t has at
        least ``t / (t + F + n)``, and a sum of these over any cut of p into rows is at least their integral,
        ``p - (F + n) ln((T + p + F + n) / (T + F + n))``.
        """
        if not self.defined:
            return np.nan
        after, others = np.cumsum(self.positive), np.cumsum(self.negative)
        before, others_before = after - self.positive, others - self.negative
        tied = self.positive * after / (after + others)
        best = self.positive * after / np.maximum(after + others_before, np.finfo(float).tiny)
        with np.errstate(divide="ignore", invalid="ignore"):
            lost = others * np.log1p(self.positive / (before + others))
        worst = self.positive - np.where(others > 0.0, lost, 0.0)
        return float(max((best - tied) @ self.blurred, (tied - worst) @ self.blurred, 0.0) / after[-1])

    def roc_curve(self, drop_intermediate: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """False and true positive rates from (0, 0) on, and thresholds from infinity on; NaN rates where undefined."""
        false, true, thresholds = np.cumsum(self.negative), np.cumsum(self.positive), self.thresholds
        if drop_intermediate and len(true) > 2:
            corner = np.ones(len(true), bool)  # points on a straight line are redundant
            corner[1:-1] = (np.diff(false, 2) != 0) | (np.diff(true, 2) != 0)
            false, true, thresholds = false[corner], true[corner], thresholds[corner]
        false, true = (np.append(0.0, x / x[-1]) if x.any() else np.full(len(x) + 1, np.nan) for x in (false, true))
        return false, true, np.append(np.inf, thresholds)


def areas(table: np.ndarray) -> np.ndarray:
    """`auc` and `auc_error` of columns of bins, (2, columns).

    The table (columns, bins, 2) has the weight of negative and of positive rows by rising score; the outermost bins of
    a column hold one score each.
    """
    found = np.empty((2, len(table)))
    ranks.areas(table, found)
    return found


def exact_areas(scores: np.ndarray, positive: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """`auc` of each column of scores (n, k), where positive (n, k) says which rows are of its class.

    The bits are those of `exact_levels`, which takes ten times as long for a few hundred rows.
    """
    falling = np.negative(scores.T, order="C")  # one layout, for one form of the kernel
    weight = np.ldexp(weight, -np.frexp(weight.max(initial=0.0))[1])  # about 1, as products of tiny weights underflow
    alike = weight.min(initial=np.inf) >= weight.max(initial=0.0)  # so that the order of ties does not matter
    order = np.argsort(falling, axis=1, kind="quicksort" if alike else "stable")
    falling.sort(axis=1)
    ranks.areas_of_rows(falling, order, positive, weight, found := np.empty(len(order)))
    return found


def exact_levels(scores: np.ndarray, positive: np.ndarray, negative: np.ndarray) -> Levels:
    """Levels of rows (n,) with their weights as positive and as negative rows."""
    kept = positive + negative > 0.0
    scores, positive, negative = scores[kept], positive[kept], negative[kept]
    thresholds, level = np.unique(-scores, return_inverse=True)
    positive, negative = (np.bincount(level, weights=w, minlength=len(thresholds)) for w in (positive, negative))
    return Levels(positive, negative, -thresholds, np.zeros(len(positive), bool))


# ---- scores in histograms, and all scores ----------------------------------------------------------------------------


class Histogram:
    """Weights of groups of rows by bins of the score, with a grid of bins for each column of scores.

    Bins are 2^s keys wide (see `kernels.ranks`) and begin at multiples of that, with the smallest s for which all
    finite scores so far lie in `n_bins` bins. Narrower bins merge exactly into wider ones, so a histogram depends only
    on the rows, not on their order or blocks. Infinities have bins of their own.

    `table` (n_columns, n_bins + 2, n_groups) is int32 while weights are whole and their sum is small. Then it is
    float64 and twice as wide: the weights of all groups, and their rounding errors.
    """

    def __init__(self, n_columns: int, n_groups: int, n_bins: int):
        self.n_bins = n_bins
        self.low = np.full(n_columns, _keys(np.inf))  # keys of the smallest and the largest finite score: none yet
        self.high = np.full(n_columns, _keys(-np.inf))
        self.shift = np.zeros(n_columns, np.int64)
        self.table = memory.zeros(n_columns, n_bins + 2, n_groups, dtype=np.int32)
        self._counted = 0.0  # total weight, while weights are whole numbers

    @property
    def first(self) -> np.ndarray:
        """Number of the lowest bin of each column, counted from score 0."""
        return np.where(self.low <= self.high, self.low >> self.shift, 0)

    def add(self, scores: np.ndarray, groups: np.ndarray, weight: np.ndarray) -> None:
        """Count rows with scores (n, m, models or more) without NaN, m columns for each model.

        Weight is (n,), groups are (n, m).
        """
        n_rows, m, width = scores.shape
        weight, buffers = self.weights(weight), self.buffers(m, width)
        step = max(CACHED_SCORES // (m * width), 1)
        for start in range(0, n_rows, step):
            rows = slice(start, start + step)
            ranks.count_scores(scores[rows], groups[rows], weight[rows], self.bounds, self.table, buffers)

    def weights(self, weight: np.ndarray) -> np.ndarray:
        """The weights in the dtype of the table: int32 while weights are whole numbers with a small enough sum."""
        if self.table.dtype == np.int32:
            self._counted += weight.sum()
            if self._counted < MOST and ((whole := weight.astype(np.int32)) == weight).all():
                return whole
            self.table, self._counted = _in_pairs(self.table), np.inf
        return weight

    def counts(self, columns: Any = slice(None)) -> np.ndarray:
        """The weights in the bins of some columns, float64."""
        table = self.table[columns]
        if table.dtype == np.int32:
            return table.astype(np.float64)
        weights, errors = np.split(table, 2, axis=-1)
        return weights + errors

    @property
    def bounds(self) -> tuple[np.ndarray, ...]:
        """The arguments by which kernels widen the bins, in place."""
        return self.low, self.high, self.shift

    def buffers(self, m: int, width: int) -> tuple[np.ndarray, ...]:
        """The scratch arrays of `kernels.ranks` for rows of scores (m, width)."""
        n_columns, *of_column = self.table.shape
        keys, grid = np.empty((2, n_columns), np.int64), np.empty((2, m, n_columns // m), np.int64)
        bins = np.empty(MODELS_AT_ONCE, np.int64)
        return np.empty((2, m * width)), keys, grid, np.empty(of_column, self.table.dtype), bins

    def __add__(self, other: "Histogram") -> "Histogram":
        counted = self._counted + other._counted
        whole = counted < MOST and self.table.dtype == other.table.dtype
        total = self.of_columns(slice(None))
        tables = [
            one.table if whole or one.table.dtype == np.float64 else _in_pairs(one.table) for one in (self, other)
        ]
        total.table = tables[0].copy()
        total._counted = counted if total.table.dtype == np.int32 else np.inf
        total._cover(other.low, other.high)
        ranks.merge(tables[1], other.first, other.shift, total.first, total.shift, total.table)
        return total

    def of_columns(self, columns: slice) -> "Histogram":
        """The histogram of some columns, with the same table."""
        some = copy(self)
        some.low, some.high, some.shift = (bounds[columns].copy() for bounds in self.bounds)
        some.table = self.table[columns]
        return some

    def joined(self, tables: list[np.ndarray]) -> "Histogram":
        """One column that merges `tables` (n_bins + 2, 2), each counted in the bins of one column of this histogram."""
        one = Histogram(1, 2, self.n_bins)
        one.table = _in_pairs(one.table)
        one._cover(self.low.min(keepdims=True), self.high.max(keepdims=True))
        for k, table in enumerate(tables):
            ranks.merge(_in_pairs(table[None]), self.first[[k]], self.shift[[k]], one.first, one.shift, one.table)
        return one

    def widen(self, low: np.ndarray, high: np.ndarray) -> None:
        """Widen the bins to cover scores from `low` to `high`."""
        self._cover(_keys(low), _keys(high))

    def _cover(self, low: np.ndarray, high: np.ndarray) -> None:
        """Widen the bins to cover keys from `low` to `high`."""
        spare = np.empty(self.table.shape[1:], self.table.dtype)
        ranks.make_room(low, high, *self.bounds, spare, self.table)

    def arrays(self) -> list[Any]:
        """As of `Mergeable`."""
        table = self.table if self.table.dtype == np.float64 else _in_pairs(self.table)
        return [self.low, self.high, self.shift, state_of_pairs(np.stack(np.split(table, 2, axis=-1)))]

    def of_arrays(self, arrays: list[Any]) -> "Histogram":
        """As of `Mergeable`; refuses rows outside the bins of the scores."""
        found, (*ends, table) = copy(self), arrays
        low, high, shift = (persistence.array("bins", end, ["i8"], self.low.shape).copy() for end in ends)
        found.low, found.high, found.shift = low, high, shift
        pairs = pairs_of_state("histogram", table, self.table.shape)
        found.table, found._counted = np.concatenate(pairs, axis=-1), np.inf
        keys = np.concatenate([low, high])
        known = (keys >= -_LAST).all() and (keys <= _LAST).all() and (shift >= 0).all() and (shift < 63).all()
        n_used = np.where(low <= high, (high >> shift) - found.first + 1, 0)
        beyond = np.arange(self.n_bins) >= n_used[:, None]
        if not known or (n_used > self.n_bins).any() or found.table[:, 1:-1][beyond].any():
            raise ValueError("the bins of a histogram should hold the scores, and no other rows")
        return found

    def edges(self, column: int) -> tuple[np.ndarray, np.ndarray]:
        """The lower and the upper edge of each bin of a column."""
        shift = int(self.shift[column])
        bins = int(self.first[column]) + np.arange(self.n_bins + 1)
        # there are no scores beyond the keys of numbers: such a bin is empty and its edge is infinity
        edges = _scores(np.clip(bins, -_LAST >> shift, _LAST >> shift) << shift)
        lower, upper = (np.concatenate([[-np.inf], ends, [np.inf]]) for ends in (edges[:-1], edges[1:]))
        return lower, upper

    def tops(self, column: int) -> np.ndarray:
        """The largest score that each bin of a column may hold."""
        upper = self.edges(column)[1]
        upper[1:-1] = np.nextafter(upper[1:-1], -np.inf)
        return upper

    def levels(self, column: int, positive: np.ndarray, negative: np.ndarray, negate: bool) -> Levels:
        """Levels of two histograms (n_bins + 2,) of a column; by falling score, or by rising with `negate`."""
        lower, _ = self.edges(column)
        thresholds = -self.tops(column) if negate else lower  # rows at the upper edge are in the next bin
        blurred = np.ones(len(positive), bool)
        blurred[[0, -1]] = False
        filled = np.flatnonzero(positive + negative > 0.0)
        if not negate:
            filled = filled[::-1]
        return Levels(positive[filled], negative[filled], thresholds[filled], blurred[filled])


def _in_pairs(table: np.ndarray) -> np.ndarray:
    """A table of weights as one of weights and rounding errors, of which there are none."""
    return np.concatenate([table, np.zeros_like(table)], axis=-1, dtype=np.float64)


def _keys(scores: Any) -> Any:
    """The key of each score, as in `kernels.ranks.key`."""
    scores = np.asarray(scores, np.float64)
    keys = (1.0 + np.abs(scores)).view(np.int64) - ranks.KEY_OF_ONE
    return np.where(scores < 0.0, -keys, keys)


_LAST = int(_keys(np.inf))


def _scores(keys: np.ndarray) -> np.ndarray:
    """The score of each key."""
    return np.sign(keys) * ((np.abs(keys) + ranks.KEY_OF_ONE).view(np.float64) - 1.0)


class Ranking:
    """Scores of rows, column k for class k (K = 2: one column, for class 1), with labels and weights.

    Up to `exact_rows` rows, scores are kept as they are; beyond that, in a `Histogram`. Only the total number of rows
    decides which.

    Parameters
    ----------
    multilabel : bool
        Labels are an indicator (n, K) of uint8, not class numbers (n,).
    n_models : int
        Number of models that rank the same rows, each with its own columns.
    pairs : bool
        Keep a histogram for each pair of classes, so that `levels` can compare two classes.
    """

    def __init__(
        self, n_classes: int, *, multilabel: bool, pairs: bool, exact_rows: int, n_bins: int, n_models: int = 1
    ):
        self._multilabel, self._binary = multilabel, n_classes == 2 and not multilabel
        self._classes = np.array([1]) if self._binary else np.arange(n_classes)
        self._pairs, self.exact_rows, self.n_bins = pairs, exact_rows, n_bins
        self._n_groups = n_classes if pairs else 2
        self._n_models = n_models
        self.n_rows = 0
        self._blocks: list[ScoredRows] = []
        self._histogram: Histogram | None = None
        self._exact_areas: np.ndarray | None = None  # by class, of the rows so far: several metrics ask for them

    @property
    def _n_columns(self) -> int:
        return self._n_models * len(self._classes)

    @property
    def is_exact(self) -> bool:
        """True while scores are kept one by one."""
        return self._histogram is None

    def add(self, scores: np.ndarray, labels: np.ndarray, weight: np.ndarray) -> None:
        """Add rows: scores (n, columns, models or more) float64 without NaN, labels in range, positive weights (n,)."""
        histogram = self.counting(len(weight))
        self.n_rows += len(weight)
        self._exact_areas = None
        if histogram is None:  # copies, since the caller may reuse its buffers
            by_model = scores[:, :, : self._n_models].swapaxes(1, 2).reshape(len(weight), self._n_columns)
            self._blocks.append((by_model.copy(), labels.copy(), weight.copy()))
        else:
            self._fill(histogram, scores, self.groups(labels), weight)

    def counting(self, n_rows: int) -> Histogram | None:
        """The histogram that the next n_rows are counted in; None while rows are kept one by one."""
        if self.is_exact and self.n_rows + n_rows <= self.exact_rows:
            return None
        return self._spill()

    def __add__(self, other: "Ranking") -> "Ranking":
        total = copy(self)
        total.n_rows += other.n_rows
        total._exact_areas = None
        total._blocks = self._blocks + other._blocks
        histograms = [part._histogram for part in (self, other) if part._histogram is not None]
        if len(histograms) == 1:
            histograms.append(self._empty())  # so that the sum is a copy, which may take more rows
        total._histogram = reduce(add, histograms) if histograms else None
        if histograms or total.n_rows > self.exact_rows:
            total._spill()
        return total

    def _spill(self) -> Histogram:
        """Move the rows kept one by one into the histogram."""
        if self._histogram is None:
            self._histogram = self._empty()
        for scores, labels, weight in self._blocks:
            by_column = scores.reshape(len(weight), self._n_models, len(self._classes)).swapaxes(1, 2)
            self._fill(self._histogram, np.ascontiguousarray(by_column), self.groups(labels), weight)
        self._blocks = []
        return self._histogram

    def _fill(self, histogram: Histogram, scores: np.ndarray, groups: np.ndarray, weight: np.ndarray) -> None:
        """Count rows as `Histogram.add` does."""
        histogram.add(scores, groups, weight)

    @property
    def shape(self) -> tuple[int, int]:
        """Columns and groups of the histogram."""
        return self._n_columns, self._n_groups

    def _empty(self) -> Histogram:
        return Histogram(*self.shape, self.n_bins)

    def of_models(self, first: int, stop: int) -> "Ranking":
        """The ranking of neighbouring models."""
        columns = slice(first * len(self._classes), stop * len(self._classes))
        some = Ranking.__new__(Ranking)
        some.__dict__.update(self.__dict__, _n_models=stop - first, _exact_areas=None)
        some._blocks = [(scores[:, columns], labels, weight) for scores, labels, weight in self._blocks]
        some._histogram = None if self._histogram is None else self._histogram.of_columns(columns)
        return some

    def arrays(self) -> dict[str, Any]:
        """As of `Mergeable`."""
        blocks = [list(self._rows())] if self._blocks else []
        return {"n_rows": self.n_rows, "blocks": blocks, "histogram": state_of(self._histogram)}

    def of_arrays(self, arrays: dict[str, Any]) -> "Ranking":
        """As of `Mergeable`."""
        found, of_histogram = copy(self), arrays["histogram"]
        found.n_rows = arguments.whole_number("n_rows", arrays["n_rows"])
        found._blocks = [self._checked(*block) for block in arrays["blocks"]]
        if of_histogram is not None:
            shape = self.shape[0], self.n_bins + 2, self.shape[1]
            pairs_of_state("histogram", of_histogram[-1], shape)  # before allocating
            found._histogram = self._empty().of_arrays(of_histogram)
        return found

    def _checked(self, scores: Any, labels: Any, weight: Any) -> ScoredRows:
        n_rows, array = len(persistence.array("weight", weight, ["f8"], (None,))), persistence.array
        array("scores", scores, ["f8"], (n_rows, self._n_columns))
        if self._multilabel:
            array("labels", labels, ["u1"], (n_rows, len(self._classes)))
        else:
            array("labels", labels, ["i8"], (n_rows,))
        highest = 1
        if not self._multilabel:
            highest = max(int(self._classes[-1]), 1)
        if np.isnan(scores).any() or not ((labels >= 0) & (labels <= highest)).all() or not (weight > 0.0).all():
            raise ValueError("ranked rows should have scores, labels of a class and weights above 0")
        return scores, labels, weight

    def groups(self, labels: np.ndarray) -> np.ndarray:
        """The group of histograms that each score of a row is counted in, (n, columns)."""
        if self._multilabel:
            return labels
        if self._pairs:
            numbers = labels.astype(np.uint8 if self._n_groups <= 256 else np.int64)
            return np.repeat(numbers[:, None], len(self._classes), axis=1)
        return (labels[:, None] == self._classes).view(np.uint8)

    def auc(self, class_: int) -> float:
        """`auc` of `levels`; a histogram gives it without computing thresholds."""
        if self._histogram is not None:
            return float(self._areas(class_)[0])
        if self._exact_areas is None:
            self._exact_areas = self._areas_of_rows()
        return float(self._exact_areas[class_])

    def auc_error(self, class_: int) -> float:
        """`auc_error` of `levels`, likewise."""
        if self._histogram is None:
            return self.levels(class_).auc_error()
        return float(self._areas(class_)[1])

    def _areas_of_rows(self) -> np.ndarray:
        """`auc` of each class, by rows kept one by one."""
        scores, labels, weight = self._rows()
        if self._multilabel:
            return exact_areas(scores, labels == 1, weight)
        if self._binary:
            return exact_areas(np.hstack([-scores, scores]), labels[:, None] == np.arange(2), weight)
        return exact_areas(scores, labels[:, None] == self._classes, weight)

    def _rows(self) -> ScoredRows:
        """The rows kept one by one, in one block."""
        if not self._blocks:
            labels = np.zeros((0, len(self._classes)), np.uint8) if self._multilabel else np.zeros(0, np.int64)
            return np.zeros((0, self._n_columns)), labels, np.zeros(0)
        scores, labels, weight = map(stacked, zip(*self._blocks, strict=True))
        if weight.min(initial=np.inf) < weight.max(initial=0.0):
            order = np.argsort(weight, kind="stable")  # tied rows are added up in this order, whatever that of blocks
            scores, labels, weight = scores[order], labels[order], weight[order]
        self._blocks = [(scores, labels, weight)]
        return self._blocks[0]

    def _areas(self, class_: int) -> np.ndarray:
        assert self._histogram is not None
        column = 0 if self._binary else class_  # two classes have the same pairs in either direction
        table = self._histogram.counts(slice(column, column + 1))
        if self._pairs:
            table = np.column_stack(self._binned(column, class_, None)[::-1])[None]
        return areas(table)[:, 0]

    def areas(self) -> np.ndarray:
        """`auc` and `auc_error` of each model for a single label, (2, models)."""
        if self._histogram is None:
            each = [self.of_models(model, model + 1).levels(0) for model in range(self._n_models)]
            return np.array([[one.auc() for one in each], [one.auc_error() for one in each]])
        return areas(self._histogram.counts())

    def levels(self, class_: int, versus: int | None = None) -> Levels:
        """One class against all others, or against one other (`pairs`), by the scores of the class.

        The first of two classes is ranked by minus the score.
        """
        negate = self._binary and class_ == 0
        column = 0
        if not self._binary:
            column = class_
        if self._histogram is not None:
            positive, negative = self._binned(column, class_, versus)
            return self._histogram.levels(column, positive, negative, negate)
        scores, labels, weight = self._rows()
        positive = labels[:, column] == 1 if self._multilabel else labels == class_
        negative = ~positive if versus is None else labels == versus
        scores = -scores[:, column] if negate else scores[:, column]
        return exact_levels(scores, weight * positive, weight * negative)

    def all_levels(self) -> Levels:
        """Every class against all others by its own scores, in one ranking of all scores (micro-average)."""
        if self._binary:
            return self.levels(1)
        if self._histogram is not None:
            one = self._histogram.joined([np.column_stack(self._binned(k, k, None)) for k in self._classes])
            positive, negative = one.counts(0).T
            return one.levels(0, positive, negative, False)
        scores, labels, weight = self._rows()
        positive = weight[:, None] * (labels if self._multilabel else labels[:, None] == self._classes)
        return exact_levels(scores.reshape(-1), positive.reshape(-1), (weight[:, None] - positive).reshape(-1))

    def _binned(self, column: int, class_: int, versus: int | None) -> tuple[np.ndarray, np.ndarray]:
        assert self._histogram is not None
        table = self._histogram.counts(column)
        if not self._pairs:
            positive = 1
            if self._binary and class_ == 0:
                positive = 0
            return table[:, positive], table[:, 1 - positive]
        negative = np.delete(table, class_, axis=1).sum(axis=1) if versus is None else table[:, versus]
        return table[:, class_], negative
