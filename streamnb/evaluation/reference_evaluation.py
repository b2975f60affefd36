"""Evaluates classes or labels against a reference; rows of other classes are skipped."""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments, label_checks, persistence, row_checks
from streamnb.evaluation.score_order import Histogram, Ranking
from streamnb.evaluation.tallies import Tally, ratio, restored, state_of
from streamnb.kernels import nested, ranks
from streamnb.kernels.lanes import LANES
from streamnb.problem.schemes import Scheme, TwoClasses
from streamnb.rows.chunk import Chunk, SparseRows

OWN, REFERENCE = 1, 0  # the side of a row in the comparison of a class with its reference


class ComparedRows(NamedTuple):
    """The rows that a row of weights compares, as (n,) row numbers: those of its class and those of the reference.

    Rows of weights with the same rows of the reference share one array of them.
    """

    row: int
    own: np.ndarray
    reference: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        return np.concatenate([self.reference, self.own])

    @property
    def sides(self) -> np.ndarray:
        """The side of each of `rows`, (n, 1)."""
        return np.repeat(np.array([[REFERENCE], [OWN]], np.uint8), [len(self.reference), len(self.own)], axis=0)


@dataclass(eq=False)
class JudgedRows:
    """Rows of a block with labels (n,) or an indicator (n, K) and weights, judged by models of several grids.

    Their comparisons and their layout in memory are computed once.
    """

    rows: np.ndarray
    labels: Any
    weight: np.ndarray | None
    _compared: list[ComparedRows] | None = None
    _together: tuple[Chunk, SparseRows] | None = None

    @property
    def weights(self) -> np.ndarray:
        return np.ones(len(self.rows)) if self.weight is None else self.weight

    def together(self, chunk: Chunk) -> SparseRows:
        """These rows of a prepared block, contiguous in memory."""
        if self._together is None or self._together[0] is not chunk:
            self._together = chunk, chunk.together(self.rows)
        return self._together[1]

    def compared(self, evaluation: "ReferenceEvaluation") -> list[ComparedRows]:
        """The rows that each row of weights compares: the same for every evaluation that judges these rows."""
        if self._compared is None:
            self._compared = list(evaluation.compared(self.labels, self.weights))
        return self._compared


@persistence.register
class ReferenceEvaluation(Tally):
    """Evaluates G models against a reference; merges with ``+`` as `Evaluation` does.

    A row of weights compares a class or label u with the reference r. Its margins should rank the rows of u above those
    of r; rows of neither, or of both, are skipped (section 7 of Shishkova 2016).

    Parameters
    ----------
    own : (R,) int
        Number of the class u of each row of weights.
    against : (R,) or (1,) int
        Number of its reference r, or of the common one; rows without labels have the number after the last class.
    either : bool
        True for two classes, which have the same pairs in either direction.
    classes : (K,) labels
    n_points : int
        G.
    exact_rows, n_bins : int
        As for `Evaluation`, for the rows of each pair of groups.
    nested : bool
        Each model adds features to the one before it, with the same weights: rows are given by `Steps` of scores.
    """

    parts = ("_rankings",)

    def __init__(
        self,
        own: np.ndarray,
        against: np.ndarray,
        either: bool,
        classes: np.ndarray,
        n_points: int,
        exact_rows: int,
        n_bins: int,
        nested: bool = False,
    ):
        self._own, self._against, self._either, self.classes = own, against, either, classes
        self._sizes: Any = {"exact_rows": exact_rows, "n_bins": n_bins, "n_models": n_points}
        self._nested = nested
        kind = NestedRanking if nested else Ranking
        self._rankings: list[Any] = [kind(1, multilabel=True, pairs=False, **self._sizes) for _ in own]

    @classmethod
    def of(
        cls, scheme: Scheme, classes: np.ndarray, n_points: int, exact_rows: int, n_bins: int, nested: bool = False
    ) -> Self:
        """The empty evaluation for a scheme with a reference, or for two classes."""
        own, against = (np.asarray(group, np.int64) for group in scheme.groups(slice(None)))
        return cls(own, against, isinstance(scheme, TwoClasses), classes, n_points, exact_rows, n_bins, nested)

    def add(self, scheme: Scheme, margins: np.ndarray, labels: Any, weight: np.ndarray) -> None:
        """Add rows with their margins (n, R, G), possibly padded; labels (n,) or an indicator (n, K)."""
        for one in self.compared(labels, weight):
            rows = one.rows
            self.add_row(one.row, margins[rows, one.row], one.sides, weight[rows])

    def compared(self, labels: Any, weight: np.ndarray) -> Iterator[ComparedRows]:
        """For each row of weights, the rows with positive weight that are in exactly one of its two groups."""
        if sp.issparse(labels):
            bears = labels.toarray().astype(bool)
            bears = np.vstack([bears.T, ~bears.any(axis=1)])  # rows without labels have the last number
        else:
            bears = labels == np.arange(len(self.classes))[:, None]
        bears[:, weight == 0.0] = False
        references = {r: np.flatnonzero(bears[r]) for r in set(self._against.tolist())}
        for row, (u, r) in enumerate(np.broadcast(self._own, self._against)):
            own, reference = np.flatnonzero(bears[u]), references[r]
            if bears[r][own].any():
                own, reference = own[~bears[r][own]], reference[~bears[u][reference]]
            if len(own) or len(reference):
                yield ComparedRows(row, own, reference)

    def add_row(self, row: int, scores: "np.ndarray | Steps", sides: np.ndarray, weight: np.ndarray) -> None:
        """Add rows that a row of weights compares; scores (n, G), possibly padded, or the steps of nested models."""
        ranking = self._rankings[row]
        if isinstance(scores, Steps):
            ranking.add_steps(scores, sides, weight)
        else:
            row_checks.check_scores(scores, *scores.shape)
            ranking.add(scores[:, None], sides, weight)

    def of_point(self, point: int) -> "ReferenceEvaluation":
        """The evaluation of one model."""
        return self.of_points(point, point + 1)

    def of_points(self, first: int, stop: int) -> "ReferenceEvaluation":
        """The evaluation of neighbouring models."""
        some = copy(self)
        some._sizes, some._nested = self._sizes | {"n_models": stop - first}, False
        some._rankings = [ranking.of_points(first, stop) for ranking in self._rankings]
        return some

    def ranking(self, row: int) -> Ranking:
        """The ranking by a row of weights."""
        return self._rankings[row]

    def of_all(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """`roc_auc` of all models, (G,), of each class (G, K), and `roc_auc_error` (G,)."""
        areas, errors = np.stack([ranking.areas() for ranking in self._rankings], axis=1)  # each (R, G)
        if all(ranking.is_exact for ranking in self._rankings):
            errors[:] = 0.0
        of_classes = np.full((areas.shape[1], len(self.classes)), np.nan)
        of_classes[:, slice(None) if self._either else self._own] = areas.T
        n_defined = (~np.isnan(areas)).sum(axis=0)
        means = ratio(np.nansum(areas, axis=0), n_defined, np.nan)
        return means, of_classes, np.fmax.reduce(errors, axis=0)

    def roc_auc(self, average: str | None = "macro") -> Any:
        """Probability that a row of u has a higher margin than one of r, ties counted half, of the first model.

        Mean over the classes that have both kinds of rows; ``average=None``: each class, (K,), NaN where undefined and
        for the reference. Two classes share one value.
        """
        means, of_classes, _ = self.of_all()
        return means[0] if average is not None else of_classes[0]

    @property
    def roc_auc_error(self) -> float:
        """Bound on the error of `roc_auc`, the largest of any class; 0 while scores are kept one by one."""
        return self.of_all()[2][0]

    def _to_state(self) -> dict[str, Any]:
        groups = {"own": self._own, "against": self._against, "either": self._either, "classes": self.classes}
        return {**groups, **self._sizes, "nested": self._nested, "rankings": state_of(self._rankings)}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        own, against = (persistence.array(name, state[name], ["i8"], (None,)) for name in ("own", "against"))
        classes = label_checks.check_labels(state["classes"], "classes")
        n_models, exact_rows, n_bins = (
            arguments.whole_number(n, state[n]) for n in ("n_models", "exact_rows", "n_bins")
        )
        numbers = np.concatenate([own, against])
        if len(against) not in (1, len(own)) or not ((numbers >= 0) & (numbers <= len(classes))).all():
            raise ValueError("own and against should be numbers of classes, one of each for every row of weights")
        for name in ("either", "nested"):
            if not isinstance(state[name], bool):
                raise ValueError(f"{name} should be true or false, not {state[name]!r}")
        judged = cls(own, against, state["either"], classes, n_models, exact_rows, n_bins, state["nested"])
        judged._rankings = restored("rankings", judged._rankings, state["rankings"])
        return judged


class Steps(NamedTuple):
    """Changes of the scores of rows over G models: row rows[t] has scores[t] from a model on.

    The steps of model g end at ends[g] and begin where those of the previous model end; model 0 has one for every row.
    """

    ends: np.ndarray
    rows: np.ndarray
    scores: np.ndarray

    def of_all(self) -> np.ndarray:
        """All scores, (n, G)."""
        scores = np.empty((self.ends[0], len(self.ends)))
        for model, (begin, end) in enumerate(pairwise([0, *self.ends.tolist()])):
            scores[:, model] = scores[:, max(model - 1, 0)]
            scores[self.rows[begin:end], model] = self.scores[begin:end]
        return scores


class NestedRanking(Ranking):
    """One column of scores for each of G nested models, as a `Ranking` of one label.

    The histograms share one grid of bins, so that a row whose score a model leaves unchanged stays in its bin.
    """

    def add_steps(self, steps: Steps, labels: np.ndarray, weight: np.ndarray) -> None:
        """Add rows with these scores; labels (n, 1), positive weights (n,)."""
        histogram = self.counting(len(weight))
        whole = None if histogram is None else histogram.weights(weight)
        if histogram is None or whole is None or whole.dtype != np.int32:
            scores = row_checks.check_scores(steps.of_all(), len(weight), self._n_models)
            self.add(scores[:, None], labels, weight)
            return
        self.n_rows += len(weight)
        self._widen(histogram, steps.scores)
        shift, first = histogram.shift[0], histogram.first[0]
        n_used = int(histogram.high[0] >> shift) - first + 1 if histogram.low[0] <= histogram.high[0] else 0
        bins, close = np.empty((2, len(weight)), np.int32), np.zeros(2 * (n_used + 2), np.int32)
        nested.count(*steps, labels[:, 0], whole, shift, first, bins, close, histogram.table)

    def _fill(self, histogram: Histogram, scores: np.ndarray, groups: np.ndarray, weight: np.ndarray) -> None:
        self._widen(histogram, scores[:, :, : self._n_models])
        super()._fill(histogram, scores, groups, weight)

    def _widen(self, histogram: Histogram, scores: np.ndarray) -> None:
        """Widen the shared bins to cover these scores."""
        flat = np.ascontiguousarray(scores).reshape(-1)
        whole, low, high = len(flat) - len(flat) % LANES, np.empty((2, LANES)), np.empty((2, LANES))
        rest = np.resize(flat[whole:], (int(whole < len(flat)), LANES))
        parts = flat[:whole].reshape(-1, LANES), rest
        for part, least, most in zip(parts, low, high, strict=True):
            if ranks.extremes(part, least, most):
                row_checks.check_scores(flat, len(flat), 1)  # reports where a NaN is
        histogram.widen(np.full(self._n_models, low.min()), np.full(self._n_models, high.max()))
