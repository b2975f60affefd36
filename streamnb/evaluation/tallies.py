"""Tallies that merge part by part, and those of decisions, label sets and losses."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments, persistence
from streamnb.stats.row_means import RowMeans, WeightTable, pairs_of_state, state_of_pairs, summed_by_key

_SURE = float(np.finfo(np.float64).eps)  # scikit-learn's log_loss clips probabilities to [eps, 1 - eps]
LARGEST_LOG_LOSS = -float(np.log(_SURE))
BINS = 15  # of probabilities, as in Guo et al. 2017


class Tally:
    """Sums over rows: a subclass names the attributes that add up, its `parts`, and says how rows are added.

    Parts are arrays, numbers, other tallies, lists and dicts of parts, or None where nothing is kept. From them follow
    merging and the state in files with its checks. Other attributes are settings, which tallies that merge share.
    """

    parts: ClassVar[tuple[str, ...]]

    def __add__(self, other: Self) -> Self:
        """The tally of the rows of both; neither is changed."""
        total = copy(self)
        vars(total).update(added(self._parts(), other._parts()))
        return total

    def _to_state(self) -> Any:
        return state_of(self._parts())

    def restore(self, state: Any) -> None:
        """Fill an empty tally from the state that `_to_state` returned; refuse parts of another type or shape."""
        vars(self).update(restored(type(self).__name__, self._parts(), state))

    def _parts(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.parts}


def added(a: Any, b: Any) -> Any:
    """The sum of two parts of tallies."""
    if isinstance(a, dict):
        return {name: added(part, b[name]) for name, part in a.items()}
    if isinstance(a, list):
        return [added(*pair) for pair in zip(a, b, strict=True)]
    return None if a is None or b is None else a + b


def state_of(part: Any) -> Any:
    """A part of a tally as files keep it."""
    if isinstance(part, dict):
        return {name: state_of(each) for name, each in part.items()}
    if isinstance(part, list):
        return [state_of(each) for each in part]
    return part._to_state() if hasattr(part, "_to_state") else part


def restored(name: str, empty: Any, state: Any) -> Any:
    """An empty part of a tally, filled from its state in a file."""
    if isinstance(empty, dict):
        if not isinstance(state, dict) or state.keys() != empty.keys():
            raise ValueError(f"{name} is {state!r:.100}; it should be a dict of {', '.join(empty)}")
        return {each: restored(each, part, state[each]) for each, part in empty.items()}
    if isinstance(empty, list):
        return [restored(name, part, each) for part, each in zip(empty, state, strict=True)]
    if (empty is None) != (state is None):
        raise ValueError(f"{name} is missing, or there should be none")
    if isinstance(empty, int):
        return arguments.whole_number(name, state)
    if isinstance(empty, np.ndarray):
        empty[...] = persistence.array(name, state, [empty.dtype.str[1:]], empty.shape)  # kernels need its layout
    elif empty is not None:
        empty.restore(state)
    return empty


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
        return self if kept.all() else self.of(kept)

    def of(self, some: np.ndarray) -> "Rows":
        """Some of the rows."""
        return replace(self, **{name: part[some] for name, part in vars(self).items() if part is not None})

    def outcomes(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The numbers of rows and of classes, (m,) each, that were hit, that are true, and that were predicted."""
        rows = np.arange(len(self.weight))
        if sp.issparse(self.labels):
            parts = self.labels.multiply(self.predicted).tocsr(), self.labels, self.predicted
            return [(np.repeat(rows, np.diff(part.indptr)), part.indices) for part in parts]
        hit = np.flatnonzero(self.labels == self.predicted)
        return [(hit, self.labels[hit]), (rows, self.labels), (rows, self.predicted)]

    @classmethod
    def joined(cls, blocks: "Sequence[Rows]") -> "Rows":
        """The rows of several blocks."""
        parts = {name: [vars(rows)[name] for rows in blocks] for name in vars(blocks[0])}
        return cls(**{name: stacked(each) for name, each in parts.items()})

    @property
    def nbytes(self) -> int:
        parts = [part.data if sp.issparse(part) else part for part in vars(self).values() if part is not None]
        return sum(part.nbytes for part in parts)


def stacked(parts: Sequence[Any]) -> Any:
    """Arrays or CSR arrays of rows in one; None if there are none."""
    if parts[0] is None or len(parts) == 1:
        return parts[0]
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)


OUTCOMES = "hit", "true", "predicted"


class Decisions(Tally):
    """Predicted classes against true ones.

    Attributes
    ----------
    counts : dict of WeightTable
        "hit", "true" and "predicted", (K,): the weight of the correctly predicted rows of each class, of all its rows,
        and of all rows predicted as it. "table", (K, K): the weight by true (rows) and predicted class, or None.
    means : RowMeans
        `right`, the weight of correctly predicted rows.
    """

    names: Sequence[str] = ("right",)
    parts = "counts", "means"

    def __init__(self, n_classes: int, with_table: bool):
        self.counts: dict[str, Any] = {name: WeightTable(n_classes) for name in OUTCOMES}
        self.counts["table"] = WeightTable(n_classes, n_classes) if with_table else None
        self.means = RowMeans(self.names)

    def add(self, rows: Rows) -> list[np.ndarray]:
        """Add rows with `predicted`; return the values of each row whose means are kept."""
        self._count(rows.outcomes(), rows.weight)
        right = rows.labels == rows.predicted
        self.means.add([right], rows.weight)
        if self.counts["table"] is not None:
            known = rows.with_weight()
            self.counts["table"].add((known.labels, known.predicted), known.weight)
        return [right]

    @property
    def hit(self) -> np.ndarray:
        """Weight of the correctly predicted rows of each class, (K,)."""
        return self.counts["hit"].sums

    @property
    def true(self) -> np.ndarray:
        """Weight of the rows of each class, (K,)."""
        return self.counts["true"].sums

    @property
    def predicted(self) -> np.ndarray:
        """Weight of the rows that were predicted as each class, (K,)."""
        return self.counts["predicted"].sums

    @property
    def table(self) -> np.ndarray | None:
        """Weight by true and predicted class, (K, K), if it is kept."""
        return None if self.counts["table"] is None else self.counts["table"].sums

    @property
    def missed(self) -> np.ndarray:
        """Weight of the rows of each class that were predicted as another, (K,)."""
        return self.true - self.hit

    @property
    def wrong(self) -> np.ndarray:
        """Weight of the rows that were wrongly predicted as each class, (K,)."""
        return self.predicted - self.hit

    def _count(self, outcomes: list[tuple[np.ndarray, np.ndarray]], weight: np.ndarray) -> None:
        for name, (rows, classes) in zip(OUTCOMES, outcomes, strict=True):
            self.counts[name].add((classes,), weight[rows])

    def _to_state(self) -> list[Any]:
        counts, means = super()._to_state().values()
        return [*counts.values(), means]

    def restore(self, state: list[Any]) -> None:
        *counts, means = state
        super().restore({"counts": dict(zip(self.counts, counts, strict=True)), "means": means})


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

    def _to_state(self) -> list[Any]:
        self._merge()
        return [self._pairs, state_of_pairs(self._count)]

    def restore(self, state: list[Any]) -> None:
        """Fill an empty object from the state that `_to_state` returned."""
        pairs = persistence.array("pairs", state[0], ["i8"], (None,))
        count = pairs_of_state("count", state[1], pairs.shape)
        if len(pairs) and (pairs[0] < 0 or pairs[-1] >= self._n_classes**2 or (np.diff(pairs) <= 0).any()):
            raise ValueError("confused pairs should be of two classes, each pair once and in order")
        self._pairs, self._count = pairs, count


def _summed(pairs: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each pair once, sorted, with the sum of its counts."""
    each, _, sums = summed_by_key(pairs, count)
    return each, sums


class SetDecisions(Decisions):
    """Predicted sets of labels against true ones; the means are over rows, `right` for equal sets.

    A ratio with denominator 0 counts as 0, as in scikit-learn, except for Jaccard: two empty sets agree and count as 1.
    """

    names = ("right", "hamming", "jaccard", "precision", "recall", "f_score")

    def add(self, rows: Rows) -> list[np.ndarray]:
        outcomes, n_rows = rows.outcomes(), len(rows.weight)
        self._count(outcomes, rows.weight)
        n_hit, n_true, n_predicted = (np.bincount(each, minlength=n_rows).astype(np.float64) for each, _ in outcomes)
        union = n_true + n_predicted - n_hit
        values = [
            n_hit == union,
            (union - n_hit) / len(self.true),
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


def add_reliability(
    means: RowMeans, predictions: tuple[np.ndarray, np.ndarray, np.ndarray], weight: np.ndarray
) -> None:
    """Add weight, probability and correctness in each bin, of multi-label rows averaged over their labels."""
    bins, proba, right = predictions
    if bins.shape[1] == 1:
        means.add_cells(bins[:, 0], [np.ones(len(weight)), proba[:, 0], right[:, 0]], weight)
        return
    values = []
    for number in range(BINS):
        inside = bins == number
        values += [part.mean(axis=1) for part in (inside, inside * proba, inside & right)]
    means.add(values, weight)
