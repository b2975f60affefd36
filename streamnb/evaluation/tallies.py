"""What is counted of judged rows, of their decisions, label sets and losses, and of how much they vary."""

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self, TypeVar

import numpy as np
import scipy.sparse as sp

from streamnb.core import memory, persistence
from streamnb.evaluation.score_order import Histogram
from streamnb.kernels.decisions import count_decisions, count_rows
from streamnb.kernels.row_values import scattered_bits
from streamnb.passes.statistic import Mergeable, added
from streamnb.rows.row_blocks import row_hashes, stacked
from streamnb.stats.row_means import RowMeans, WeightTable, pairs_of_state, state_of_pairs, summed_by_key

_SURE = float(np.finfo(np.float64).eps)  # scikit-learn's log_loss clips probabilities to [eps, 1 - eps]
LARGEST_LOG_LOSS = -float(np.log(_SURE))
R = TypeVar("R")
BINS = 15  # of probabilities, as in Guo et al. 2017


@dataclass(frozen=True, eq=False)
class Rows:
    """Checked rows with the outputs of a model.

    Single label: `labels` and `predicted` are class numbers (n,).
    Multi-label: both are indicators, canonical CSR (n, K) of uint8.
    """

    labels: Any
    weight: np.ndarray
    predicted: Any = None
    ranking: np.ndarray | None = None
    log_proba: np.ndarray | None = None
    margin: np.ndarray | None = None
    bucket: np.ndarray | None = None  # of the group of each row, for intervals

    def with_weight(self) -> "Rows":
        """The rows of positive weight."""
        kept = self.weight > 0.0
        if kept.all():
            return self
        return some_of(self, kept)

    def outcomes(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The numbers of rows and of classes, (m,) each, that were hit, that are true, and that were predicted."""
        rows = np.arange(len(self.weight))
        if sp.issparse(self.labels):
            parts = self.labels.multiply(self.predicted).tocsr(), self.labels, self.predicted
            return [(np.repeat(rows, np.diff(part.indptr)), part.indices) for part in parts]
        hit = np.flatnonzero(self.labels == self.predicted)
        return [(hit, self.labels[hit]), (rows, self.labels), (rows, self.predicted)]


def some_of(rows: R, some: np.ndarray) -> R:
    """Some rows of a dataclass whose fields have an entry for each row, or are None."""
    parts = {name: part[some] for name, part in vars(rows).items() if part is not None}
    return replace(rows, **parts)  # type: ignore[type-var]


def joined_rows(blocks: Sequence[R]) -> R:
    """The rows of several such blocks as one."""
    parts = {name: stacked([vars(rows)[name] for rows in blocks]) for name in vars(blocks[0])}
    return type(blocks[0])(**parts)


OUTCOMES = "hit", "true", "predicted"


OF_SETS = "right", "hamming", "jaccard", "precision", "recall", "f_score"


@dataclass(eq=False)
class Decisions(Mergeable):
    """Predicted classes, or sets of labels, against true ones, by bucket: of groups of rows, or of several models.

    Attributes
    ----------
    counts : dict of WeightTable
        "hit", "true" and "predicted", (K,), or (buckets, K): the weight of the correctly predicted rows of each class,
        of all its rows, which several models share, and of all rows predicted as it. "table", (K, K), or (models, K,
        K): the weight by true (rows) and predicted class, or None.
    of_sets : RowMeans or None
        The means `OF_SETS` over multi-label rows, of which `right` is the share of equal sets. A ratio with denominator
        0 counts as 0, as in scikit-learn, except for Jaccard: two empty sets agree and count as 1.
    """

    counts: Annotated[dict[str, Any], added]
    of_sets: Annotated[RowMeans | None, added]

    @classmethod
    def of_classes(
        cls, n_classes: int, with_table: bool = False, n_models: int = 1, n_buckets: int = 1, n_powers: int = 0
    ) -> Self:
        """Decisions without rows; of sets of labels, means with `n_powers`, as those of `RowMeans`."""
        n_parts = n_models * n_buckets
        of_parts = () if n_parts == 1 else (n_parts,)
        counts: dict[str, Any] = {name: WeightTable.of_shape(*of_parts, n_classes) for name in OUTCOMES}
        of_sets = counts["table"] = None
        if n_powers:
            of_sets = RowMeans.of_values(OF_SETS, n_parts, n_powers)
        elif n_models > 1:
            counts["true"] = WeightTable.of_shape(n_classes)
            counts["hit"] = WeightTable(memory.zeros(2, n_classes, n_models).transpose(0, 2, 1))  # models side by side
        if with_table:
            of_models = of_parts if n_models > 1 else ()
            counts["table"] = WeightTable.of_shape(*of_models, n_classes, n_classes)
        return cls(counts, of_sets)

    def add(self, rows: Rows) -> None:
        """Add rows with `predicted`: the class (n,), or those of several models (n, models or more), or sets."""
        if self.of_sets is not None:
            self._add_sets(rows)
            return
        labels, weight = np.array(rows.labels), np.array(rows.weight)
        decided = np.ascontiguousarray(rows.predicted if rows.predicted.ndim == 2 else rows.predicted[:, None])
        hit, predicted, table = self._by_model(rows.bucket is not None)
        cells: tuple[np.ndarray, ...] = (labels,)
        if rows.bucket is not None:  # the classes of a bucket are counted as classes of their own
            if self.counts["table"] is not None:
                self.counts["table"].add((labels, rows.predicted), weight)
            cells, first = (rows.bucket, labels), rows.bucket * self.n_classes
            labels, decided = labels + first, decided + first[:, None]
        self.counts["true"].add(cells, weight)
        count_decisions(labels, weight, decided, hit, predicted, table)

    def add_each_once(self, labels: np.ndarray, decided: np.ndarray) -> None:
        """Add unweighted rows with the decisions of the models, where no confusion matrix is kept."""
        hit, predicted, _ = self._by_model(False)
        counted, decisions = np.zeros((2, *hit.shape[1:]), np.int32)
        count_rows(labels, decided, counted, decisions)
        hit[0] += counted  # sums of whole numbers are exact, here and below
        predicted[0] += decisions.T
        self.counts["true"].pairs[0] += np.bincount(labels, minlength=self.n_classes)

    def _by_model(self, by_bucket: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Hits (2, K, models), predicted classes (2, models, K) and the table, as kernels count them."""
        hit, predicted, table = self.counts["hit"].pairs, self.counts["predicted"].pairs, self.counts["table"]
        n_models = 1
        if not by_bucket:
            n_models = hit[0].size // self.n_classes
        cells = np.zeros((2, 0, 1, 1))
        if table is not None and not by_bucket:
            cells = table.pairs.reshape(2, n_models, self.n_classes, self.n_classes)
        by_class = hit.reshape(2, n_models, -1).transpose(0, 2, 1)
        return by_class, predicted.reshape(2, n_models, -1), cells

    def _add_sets(self, rows: Rows) -> None:
        """Add rows with sets of labels."""
        outcomes, n_rows = rows.outcomes(), len(rows.weight)
        for name, (some, classes) in zip(OUTCOMES, outcomes, strict=True):
            cells = (classes,) if rows.bucket is None else (rows.bucket[some], classes)
            self.counts[name].add(cells, rows.weight[some])
        n_hit, n_true, n_predicted = (np.bincount(each, minlength=n_rows).astype(np.float64) for each, _ in outcomes)
        union = n_true + n_predicted - n_hit
        values = [
            n_hit == union,
            (union - n_hit) / rows.labels.shape[1],
            ratio(n_hit, union, 1.0),
            ratio(n_hit, n_predicted),
            ratio(n_hit, n_true),
            ratio(2.0 * n_hit, n_true + n_predicted),
        ]
        assert self.of_sets is not None
        self.of_sets.add(values, rows.weight, rows.bucket)

    @property
    def n_classes(self) -> int:
        return self.counts["true"].pairs.shape[-1]

    @property
    def means(self) -> RowMeans:
        """Means over rows by bucket: `OF_SETS` of sets of labels, "right" of others."""
        if self.of_sets is not None:
            return self.of_sets
        parts = (self.counts[name].pairs.reshape(2, -1, self.n_classes) for name in ("hit", "true"))
        right, weight = ([math.fsum(pairs[:, bucket].flat) for bucket in range(pairs.shape[1])] for pairs in parts)
        pairs = np.zeros((2, len(right), 2))
        pairs[0] = np.column_stack([right, weight])
        return RowMeans(pairs, ("right",))

    @property
    def hit(self) -> np.ndarray:
        """Weight of the correctly predicted rows of each class, (K,)."""
        return self.by_bucket("hit").sum(axis=0)

    @property
    def true(self) -> np.ndarray:
        """Weight of the rows of each class, (K,)."""
        return self.by_bucket("true").sum(axis=0)

    @property
    def predicted(self) -> np.ndarray:
        """Weight of the rows that were predicted as each class, (K,)."""
        return self.by_bucket("predicted").sum(axis=0)

    def by_bucket(self, outcome: str) -> np.ndarray:
        """The weights of an outcome by bucket, of which there may be one, and by class."""
        return self.counts[outcome].sums.reshape(-1, self.n_classes)

    @property
    def table(self) -> np.ndarray | None:
        """Weight by true and predicted class, (K, K), if it is kept."""
        if self.counts["table"] is None:
            return None
        return self.counts["table"].sums

    @property
    def missed(self) -> np.ndarray:
        """Weight of the rows of each class that were predicted as another, (K,)."""
        return self.true - self.hit

    @property
    def wrong(self) -> np.ndarray:
        """Weight of the rows that were wrongly predicted as each class, (K,)."""
        return self.predicted - self.hit

    def of_model(self, model: int) -> Self:
        """The decisions of one of several models."""
        counts = dict(self.counts)
        for name in counts:
            if counts[name] is not None and (name != "true" or self.of_sets is not None):
                counts[name] = counts[name].of(model)
        of_sets = None
        if self.of_sets is not None:
            of_sets = self.of_sets.of(slice(model, model + 1))
        return replace(self, counts=counts, of_sets=of_sets)

    def arrays(self) -> list[Any]:
        counts, means = super().arrays().values()
        return [*counts.values(), means]

    def of_arrays(self, arrays: list[Any]) -> Self:
        *counts, means = arrays
        of_sets = None if self.of_sets is None else means  # files of version 0.3 have the mean "right" of other rows
        return super().of_arrays({"counts": dict(zip(self.counts, counts, strict=True)), "of_sets": of_sets})


class ConfusedPairs:
    """Weights of wrongly predicted rows by true and predicted class, of the pairs that occur; a tally that merges."""

    def __init__(self, n_classes: int):
        self._n_classes = n_classes
        self._pairs, self._count = np.zeros(0, np.int64), np.zeros((2, 0))  # sorted; true class * n_classes + predicted
        self._waiting: list[tuple[np.ndarray, np.ndarray]] = []  # not merged yet

    def add(self, rows: Rows) -> None:
        """Add rows with `predicted`."""
        known = rows.with_weight()
        wrong = known.labels != known.predicted
        pairs = known.labels[wrong] * self._n_classes + known.predicted[wrong]
        weight = known.weight[wrong]
        self._waiting.append(_summed(pairs, np.stack([weight, np.zeros_like(weight)])))
        if sum(len(more) for more, _ in self._waiting) > len(self._pairs):
            self._merge()

    def _merge(self) -> None:
        pairs, count = zip((self._pairs, self._count), *self._waiting, strict=True)
        self._pairs, self._count = _summed(np.concatenate(pairs), np.concatenate(count, axis=1))
        self._waiting = []

    def counts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """True class, predicted class and weight of each pair, (m,), in the order of classes."""
        self._merge()
        return *np.divmod(self._pairs, self._n_classes), self._count.sum(axis=0)

    def __add__(self, other: "ConfusedPairs") -> "ConfusedPairs":
        total = ConfusedPairs(self._n_classes)
        for part in (self, other):
            part._merge()
            total._waiting.append((part._pairs, part._count))
        total._merge()
        return total

    def arrays(self) -> list[Any]:
        """As of `Mergeable`."""
        self._merge()
        return [self._pairs, state_of_pairs(self._count)]

    def of_arrays(self, arrays: list[Any]) -> "ConfusedPairs":
        """As of `Mergeable`."""
        pairs = persistence.array("pairs", arrays[0], ["i8"], (None,))
        count = pairs_of_state("count", arrays[1], pairs.shape)
        if len(pairs) and (pairs[0] < 0 or pairs[-1] >= self._n_classes**2 or (np.diff(pairs) <= 0).any()):
            raise ValueError("confused pairs should be of two classes, each pair once and in order")
        found = ConfusedPairs(self._n_classes)
        found._pairs, found._count = pairs, count
        return found


def _summed(pairs: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each pair once, sorted, with the sum of its counts."""
    each, _, sums = summed_by_key(pairs, count)
    return each, sums


def ratio(numerator: np.ndarray, denominator: np.ndarray, otherwise: float = 0.0) -> np.ndarray:
    """Quotients, `otherwise` where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.full(np.shape(numerator), otherwise), where=denominator != 0)


LOSSES = "log_loss", "brier"
RELIABILITY = "proba", "right"


def losses_of(rows: Rows) -> list[np.ndarray]:
    """The `LOSSES` of each row, from `log_proba`; all rows have known labels."""
    assert rows.log_proba is not None
    proba = np.exp(rows.log_proba)
    low, high = np.log(_SURE), np.log1p(-_SURE)
    if sp.issparse(rows.labels):  # the mean over labels of two-class problems
        on = rows.labels.toarray().astype(bool)
        with np.errstate(divide="ignore"):
            of_truth = np.where(on, rows.log_proba, np.log1p(-proba))
        return [-np.clip(of_truth, low, high).mean(axis=1), np.square(on - proba).mean(axis=1)]
    row = np.arange(len(rows.labels))
    log_loss = -np.clip(rows.log_proba[row, rows.labels], low, high)
    proba[row, rows.labels] -= 1.0
    return [log_loss, np.square(proba).sum(axis=1) * (0.5 if proba.shape[1] == 2 else 1.0)]


def reliability_of(rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bin, probability and correctness of each prediction of a row, each (n, m), in bins of equal width.

    Of the likeliest class of each row, m = 1; multi-label: of every label.
    """
    assert rows.log_proba is not None
    if sp.issparse(rows.labels):
        proba, right = np.exp(rows.log_proba), rows.labels.toarray().astype(bool)
    else:
        likeliest = rows.log_proba.argmax(axis=1)
        proba, right = np.exp(rows.log_proba.max(axis=1))[:, None], (likeliest == rows.labels)[:, None]
    return np.minimum((proba * BINS).astype(np.int64), BINS - 1), proba, right


def add_reliability(means: RowMeans, predictions: tuple[np.ndarray, np.ndarray, np.ndarray], rows: Rows) -> None:
    """Add probability and correctness in each bin, by bucket, of multi-label rows averaged over their labels.

    Where the means have a third value, it is the square of correctness less probability.
    """
    bins, proba, right = predictions
    n_labels = bins.shape[1]
    cells = bins if rows.bucket is None else rows.bucket[:, None] * BINS + bins
    values = [proba.ravel(), right.ravel()]
    if len(means.names) > len(values):
        values.append(np.square(values[1] - values[0]))
    means.add(values, np.repeat(rows.weight / n_labels, n_labels), cells.ravel())


# ---- how much rows vary ----------------------------------------------------------------------------------------------


BUCKETS = 256  # of groups; with fewer groups, nearly each has a bucket of its own
SAMPLED = 1 << 17  # scores of all rows of the sample, about
LEAST_SAMPLED = 2000  # rows of it, of many classes
CELLS = 1 << 21  # of all histograms of buckets of one ranking: 8 MiB, 32 MiB with fractional weights
BUCKET_BINS = 32, 256  # of these histograms, at least and at most
NO_LIMIT = np.uint64(2**64 - 1)

RowParts = Mapping[str, Any]  # of rows: arrays (n,) or (n, K), or CSR (n, K)


WEIGHTS = "squared", "fractional"


def add_weights(means: RowMeans, weight: np.ndarray) -> None:
    """Add weights of rows: their squares, and which are not whole."""
    if (weight == 1.0).all():  # as one row
        means.add([np.ones(1), np.zeros(1)], np.array([float(len(weight))]))
    else:
        means.add([weight, weight % 1.0 != 0.0], weight)


def sample_of_rows(n_classes: int, parts: Sequence[str], most_rows: int, multilabel: bool) -> "ContentSample":
    """A sample without rows, of these parts of rows, to know how values of a row for several classes vary together."""
    labels = sp.csr_array((0, n_classes), dtype=np.uint8) if multilabel else np.zeros(0, np.int64)
    empty = {"labels": labels} | dict.fromkeys(parts, np.zeros((0, n_classes)))
    if "predicted" in parts:
        empty["predicted"] = labels
    return ContentSample(max(min(most_rows, SAMPLED // n_classes), LEAST_SAMPLED), empty)


def scores_by_bucket(n_columns: int, n_groups: int) -> Histogram:
    """A histogram of scores by group of labels in each bucket of rows, without rows."""
    n_bins = int(np.clip(CELLS // (n_columns * n_groups * BUCKETS), *BUCKET_BINS))
    return Histogram(n_columns, n_groups * BUCKETS, n_bins)


BIN_PAIRS = np.triu_indices(BINS)


def excess_products(bins: np.ndarray, proba: np.ndarray, right: np.ndarray) -> list[np.ndarray]:
    """Products, for pairs of bins, of correctness less probability of each row, averaged over its labels."""
    row = np.arange(len(bins))[:, None] * BINS
    sums = np.bincount((row + bins).ravel(), (right - proba).ravel(), len(bins) * BINS)
    excess = sums.reshape(-1, BINS) / bins.shape[1]
    return [excess[:, a] * excess[:, b] for a, b in zip(*BIN_PAIRS, strict=True)]


# ---- a sample of rows ------------------------------------------------------------------------------------------------


class ContentSample:
    """The rows whose contents have the `size` lowest hashes, each with the weight of all rows that are alike.

    Every distinct row is drawn with the same probability, and all are kept while they are at most `size`.

    Parameters
    ----------
    size : int
    empty : dict of arrays or CSR, (0, ..)
        Names, dtypes and widths of the parts of a row.

    Attributes
    ----------
    parts : dict of arrays or CSR, (m, ..)
        The distinct rows, in the order of their hashes once `prune` was called.
    """

    def __init__(self, size: int, empty: RowParts):
        self.size, self.parts = size, dict(empty)
        self._pairs, self._key, self._limit = np.zeros((2, 0)), np.zeros(0, np.uint64), NO_LIMIT

    def add(self, parts: RowParts, weight: np.ndarray) -> None:
        """Add rows with their weights (n,); there may be none, as of a block without known labels."""
        if not len(weight):
            return
        key = _keys(parts)
        low = key <= self._enough(key)
        pairs = np.stack([weight[low], np.zeros(low.sum())])
        self._append({name: part[low] for name, part in parts.items()}, pairs, key[low])

    @property
    def weight(self) -> np.ndarray:
        """Of the distinct rows, (m,)."""
        return self._pairs.sum(axis=0)

    def _enough(self, key: np.ndarray) -> np.uint64:
        """A limit above all hashes of the sample: the present one, or a lower one if many new rows are below it."""
        share = 2.0 * self.size / max(len(key), 1)
        if share >= 0.5 or self._limit < NO_LIMIT:
            return self._limit
        likely = np.uint64(share * 2.0**64)
        if len(np.unique(key[key <= likely])) >= self.size:
            return likely
        return self._limit

    def _append(self, parts: RowParts, pairs: np.ndarray, key: np.ndarray) -> None:
        self.parts = {name: stacked([part, parts[name]]) for name, part in self.parts.items()}
        self._pairs, self._key = np.append(self._pairs, pairs, axis=1), np.append(self._key, key)
        if len(self._key) > 2 * self.size:
            self.prune()

    def prune(self) -> Self:
        """Join rows that are alike, and keep those with the lowest hashes."""
        key, first, pairs = summed_by_key(self._key, self._pairs)
        first = first[: self.size]
        if len(key) >= self.size:
            self._limit = key[self.size - 1]
        self.parts = {name: part[first] for name, part in self.parts.items()}
        self._pairs, self._key = pairs[:, : self.size], key[: self.size]
        return self

    def scaled_sum(self, values: np.ndarray, weight: float) -> float:
        """The sum over all rows, of this total weight, of values (m,) that are known for the sample, once pruned."""
        of_sample = self.weight
        return float(of_sample @ values * weight / max(of_sample.sum(), 1e-300))

    def __add__(self, other: "ContentSample") -> "ContentSample":
        total = ContentSample(self.size, {name: part[:0] for name, part in self.parts.items()})
        total._limit = min(self._limit, other._limit)
        for sample in (self, other):
            low = sample._key <= total._limit
            parts = {name: part[low] for name, part in sample.parts.items()}
            total._append(parts, sample._pairs[:, low], sample._key[low])
        return total.prune()

    def arrays(self) -> dict[str, Any]:
        """As of `Mergeable`."""
        self.prune()
        parts = {
            name: [part.indices, part.indptr, part.shape[1]] if sp.issparse(part) else part
            for name, part in self.parts.items()
        }
        limit = np.array([self._limit]).view(np.int64)
        return {"limit": limit, "key": self._key.view(np.int64), "weight": state_of_pairs(self._pairs), "parts": parts}

    def of_arrays(self, arrays: dict[str, Any]) -> Self:
        """As of `Mergeable`."""
        found = copy(self)
        found._pairs = pairs_of_state("weight", arrays["weight"], (None,))
        n_rows = found._pairs.shape[1]
        found._key = persistence.array("key", arrays["key"], ["i8"], (n_rows,)).view(np.uint64)
        found._limit = persistence.array("limit", arrays["limit"], ["i8"], (1,)).view(np.uint64)[0]
        if n_rows or arrays["parts"]:  # older files of no rows have no parts
            parts = arrays["parts"]
            found.parts = {name: _restored(name, part, n_rows, parts[name]) for name, part in self.parts.items()}
        return found


def _restored(name: str, empty: Any, n_rows: int, state: Any) -> Any:
    """A part of rows with the dtype and the width of the empty part, from its state."""
    if not sp.issparse(empty):
        return persistence.array(name, state, [empty.dtype.str[1:]], (n_rows, *empty.shape[1:]))
    indices, indptr, n_labels = state
    for numbers in indices, indptr:
        persistence.array(name, numbers, ["i4", "i8"], (None,))
    part = sp.csr_array((np.ones(len(indices), empty.dtype), indices, indptr), (n_rows, n_labels))
    part.check_format()
    if n_labels != empty.shape[1]:
        raise ValueError(f"{name} has {n_labels} columns; it should have {empty.shape[1]}")
    return part


def _keys(parts: RowParts) -> np.ndarray:
    """A hash of the content of each row, of its bits alone."""
    total, seed = np.zeros(1, np.uint64), 0
    for _, part in sorted(parts.items()):
        total = total + row_hashes(part, seed)
        seed += part.shape[1] if part.ndim > 1 else 1
    return scattered_bits(total)
