"""Counts of judged rows: decisions, label sets, losses."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import persistence
from streamnb.stats.row_means import RowMeans

_SURE = float(np.finfo(np.float64).eps)  # scikit-learn's log_loss clips probabilities to [eps, 1 - eps]
BINS = 15  # of probabilities, as in Guo et al. 2017


@dataclass(frozen=True, eq=False)
class Rows:
    """Checked rows with the outputs of a model.

    Single label: `labels` and `predicted` are class numbers (n,), -1 in `labels` for an unknown label.
    Multi-label: both are indicators, canonical CSR (n, K) of uint8.
    """

    labels: Any
    weight: np.ndarray
    predicted: Any = None
    ranking: np.ndarray | None = None
    log_proba: np.ndarray | None = None
    margin: np.ndarray | None = None
    bucket: np.ndarray | None = None  # of the group of each row, for intervals

    def known(self) -> "Rows":
        """The rows with a known label and positive weight."""
        kept = self.weight > 0.0
        if not sp.issparse(self.labels):
            kept &= self.labels >= 0
        return self if kept.all() else self.of(kept)

    def of(self, some: np.ndarray) -> "Rows":
        """Some of the rows."""
        return replace(self, **{name: part[some] for name, part in vars(self).items() if part is not None})

    @classmethod
    def joined(cls, blocks: "Sequence[Rows]") -> "Rows":
        """The rows of several blocks."""
        parts = {name: [vars(rows)[name] for rows in blocks] for name in vars(blocks[0])}
        return cls(**{name: _stacked(each) for name, each in parts.items() if each[0] is not None})

    @property
    def nbytes(self) -> int:
        parts = [part.data if sp.issparse(part) else part for part in vars(self).values() if part is not None]
        return sum(part.nbytes for part in parts)


def _stacked(parts: Sequence[Any]) -> Any:
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)


class Decisions:
    """Predicted classes against true ones.

    Attributes
    ----------
    hit, true, predicted : (K,)
        Weight of the correctly predicted rows of each class, of all its rows, and of all rows predicted as it.
    table : (K, K) or None
        Weight by true (rows) and predicted class.
    means : RowMeans
        `right`, the weight of correctly predicted rows; rows with an unknown label count as wrong.
    """

    names: Sequence[str] = ("right",)

    def __init__(self, n_classes: int, with_table: bool):
        self.hit, self.true, self.predicted = np.zeros((3, n_classes))
        self.table = np.zeros((n_classes, n_classes)) if with_table else None
        self.means = RowMeans(self.names)

    @classmethod
    def of(cls, hit: Any, true: Any, predicted: Any, table: Any, means: RowMeans) -> "Decisions":
        """An object with the given counts."""
        decisions = cls.__new__(cls)
        decisions.hit, decisions.true, decisions.predicted = hit, true, predicted
        decisions.table, decisions.means = table, means
        return decisions

    def add(self, rows: Rows) -> list[np.ndarray]:
        """Add rows with `predicted`; return the values of each row whose means are kept."""
        right = rows.labels == rows.predicted
        known = rows.known()
        self._count(rows.predicted[right], known.labels, rows.predicted, rows.weight[right], known.weight, rows.weight)
        self.means.add([right], rows.weight)
        if self.table is not None:
            np.add.at(self.table, (known.labels, known.predicted), known.weight)
        return [right]

    def _count(self, hit: Any, true: Any, predicted: Any, *weights: np.ndarray) -> None:
        """Add weights (m,) to the classes (m,) that were hit, true and predicted."""
        for counts, classes, weight in zip(
            (self.hit, self.true, self.predicted), (hit, true, predicted), weights, strict=True
        ):
            counts += np.bincount(classes, weights=weight, minlength=len(counts))

    def __add__(self, other: "Decisions") -> "Decisions":
        total = type(self)(len(self.hit), False)
        total.hit, total.true, total.predicted = (
            self.hit + other.hit,
            self.true + other.true,
            self.predicted + other.predicted,
        )
        total.table = None if self.table is None or other.table is None else self.table + other.table
        total.means = self.means + other.means
        return total

    def _to_state(self) -> list[Any]:
        return [self.hit, self.true, self.predicted, self.table, self.means._to_state()]

    def restore(self, state: list[Any]) -> None:
        """Fill an empty object from the state that `_to_state` returned."""
        *counts, table, means = state
        self.hit, self.true, self.predicted = (persistence.array("counts", c, ["f8"], self.hit.shape) for c in counts)
        if (table is None) != (self.table is None):
            raise ValueError("the table of decisions is missing, or there should be none")
        self.table = None if self.table is None else persistence.array("table", table, ["f8"], self.table.shape)
        self.means.restore(means)


class ConfusedPairs:
    """Weights of wrongly predicted rows by true and predicted class, of the pairs that occur; a tally that merges."""

    def __init__(self, n_classes: int):
        self._n_classes = n_classes
        self._pairs, self._count = np.zeros(0, np.int64), np.zeros(0)  # sorted; true class times n_classes + predicted
        self._waiting: list[tuple[np.ndarray, np.ndarray]] = []  # not merged yet

    def add(self, rows: Rows) -> None:
        """Add rows with `predicted`."""
        known = rows.known()
        wrong = known.labels != known.predicted
        pairs = known.labels[wrong] * self._n_classes + known.predicted[wrong]
        self._waiting.append(_summed(pairs, known.weight[wrong]))
        if sum(len(more) for more, _ in self._waiting) > len(self._pairs):
            self._merge()

    def _merge(self) -> None:
        pairs, count = zip((self._pairs, self._count), *self._waiting, strict=True)
        self._pairs, self._count = _summed(np.concatenate(pairs), np.concatenate(count))
        self._waiting = []

    def counts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """True class, predicted class and weight of each pair, (m,), in the order of classes."""
        self._merge()
        return *np.divmod(self._pairs, self._n_classes), self._count

    def __add__(self, other: "ConfusedPairs") -> "ConfusedPairs":
        total = ConfusedPairs(self._n_classes)
        for part in (self, other):
            part._merge()
            total._waiting.append((part._pairs, part._count))
        total._merge()
        return total

    def _to_state(self) -> list[np.ndarray]:
        self._merge()
        return [self._pairs, self._count]

    def restore(self, state: list[np.ndarray]) -> None:
        """Fill an empty object from the state that `_to_state` returned."""
        pairs, count = persistence.array("pairs", state[0], ["i8"], (None,)), state[1]
        persistence.array("count", count, ["f8"], pairs.shape)
        if len(pairs) and (pairs[0] < 0 or pairs[-1] >= self._n_classes**2 or (np.diff(pairs) <= 0).any()):
            raise ValueError("confused pairs should be of two classes, each pair once and in order")
        self._pairs, self._count = pairs, count


def _summed(pairs: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each pair once, sorted, with the sum of its counts."""
    each, at = np.unique(pairs, return_inverse=True)
    return each, np.bincount(at, count, minlength=len(each))


class SetDecisions(Decisions):
    """Predicted sets of labels against true ones; the means are over rows, `right` for equal sets.

    A ratio with denominator 0 counts as 0, as in scikit-learn, except for Jaccard: two empty sets agree and count as 1.
    """

    names = ("right", "hamming", "jaccard", "precision", "recall", "f_score")

    def add(self, rows: Rows) -> list[np.ndarray]:
        true, predicted = rows.labels, rows.predicted
        hit = true.multiply(predicted).tocsr()
        self._count(
            *(part.indices for part in (hit, true, predicted)),
            *(np.repeat(rows.weight, np.diff(part.indptr)) for part in (hit, true, predicted)),
        )
        n_hit, n_true, n_predicted = (np.diff(part.indptr).astype(np.float64) for part in (hit, true, predicted))
        union = n_true + n_predicted - n_hit
        values = [
            n_hit == union,
            (union - n_hit) / true.shape[1],
            ratio(n_hit, union, 1.0),
            ratio(n_hit, n_predicted),
            ratio(n_hit, n_true),
            ratio(2.0 * n_hit, n_true + n_predicted),
        ]
        self.means.add(values, rows.weight)
        return values


def ratio(numerator: np.ndarray, denominator: np.ndarray, otherwise: float = 0.0) -> np.ndarray:
    """Quotients, `otherwise` where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.full(np.shape(numerator), otherwise), where=denominator != 0)


LOSSES = "log_loss", "brier"
RELIABILITY = tuple(f"{name} {number}" for number in range(BINS) for name in ("weight", "proba", "right"))


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


def add_reliability(means: RowMeans, found: tuple[np.ndarray, np.ndarray, np.ndarray], weight: np.ndarray) -> None:
    """Add weight, probability and correctness in each bin, of multi-label rows averaged over their labels."""
    bins, proba, right = found
    if bins.shape[1] == 1:
        means.add_cells(bins[:, 0], [np.ones(len(weight)), proba[:, 0], right[:, 0]], weight)
        return
    values = []
    for number in range(BINS):
        inside = bins == number
        values += [part.mean(axis=1) for part in (inside, inside * proba, inside & right)]
    means.add(values, weight)
