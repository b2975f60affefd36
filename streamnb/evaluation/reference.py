"""Comparisons of each class with its reference: the rows of both, and the scores of nested models."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from streamnb.core import persistence, row_checks
from streamnb.evaluation.score_order import Histogram, Ranking
from streamnb.kernels import grid_scores
from streamnb.problem.schemes import Scheme, TwoClasses
from streamnb.rows.row_blocks import Chunk, SparseRows

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


@persistence.register
@dataclass(frozen=True)
class ReferenceGroups(persistence.Parameters):
    """The classes that rows of weights compare: margins should rank the rows of a class u above those of a reference r.

    Rows of neither, or of both, are skipped (section 7 of Shishkova 2016).

    Attributes
    ----------
    own : tuple of int
        Number of the class u of each row of weights.
    against : tuple of int
        Number of its reference r, or of the common one; rows without labels have the number after the last class.
    either : bool
        True for two classes, which have the same pairs in either direction.
    nested : bool
        Each model adds features to the one before it, with the same weights: rows are given by `Steps` of scores.
    """

    own: tuple[int, ...]
    against: tuple[int, ...]
    either: bool
    nested: bool = False

    @classmethod
    def of(cls, scheme: Scheme, nested: bool = False) -> Self:
        """The groups of a scheme with a reference, or of two classes."""
        own, against = (tuple(np.asarray(group).tolist()) for group in scheme.groups(slice(None)))
        return cls(own, against, isinstance(scheme, TwoClasses), nested)

    def compared(self, labels: Any, weight: np.ndarray, n_classes: int) -> Iterator[ComparedRows]:
        """For each row of weights, the rows with positive weight that are in exactly one of its two groups.

        Labels are (n,), or an indicator (n, K).
        """
        if sp.issparse(labels):
            bears = labels.toarray().astype(bool)
            bears = np.vstack([bears.T, ~bears.any(axis=1)])  # rows without labels have the last number
        else:
            bears = labels == np.arange(n_classes)[:, None]
        bears[:, weight == 0.0] = False
        references = {r: np.flatnonzero(bears[r]) for r in set(self.against)}
        for row, (u, r) in enumerate(np.broadcast(self.own, self.against)):
            own, reference = np.flatnonzero(bears[u]), references[r]
            if bears[r][own].any():
                own, reference = own[~bears[r][own]], reference[~bears[u][reference]]
            if len(own) or len(reference):
                yield ComparedRows(row, own, reference)

    def _check_loaded(self) -> None:
        if len(self.against) not in (1, len(self.own)) or min(self.own + self.against, default=0) < 0:
            raise ValueError("own and against should be numbers of classes, one of each for every row of weights")


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
        if self.weight is None:
            return np.ones(len(self.rows))
        return self.weight

    def together(self, chunk: Chunk) -> SparseRows:
        """These rows of a prepared block, contiguous in memory."""
        if self._together is None or self._together[0] is not chunk:
            self._together = chunk, chunk.together(self.rows)
        return self._together[1]

    def compared(self, judged: Any) -> list[ComparedRows]:
        """The rows that each row of weights compares: the same for every evaluation that judges these rows."""
        if self._compared is None:
            self._compared = list(judged.reference.compared(self.labels, self.weights, judged.n_classes))
        return self._compared


# ---- nested models ---------------------------------------------------------------------------------------------------


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
        whole = None
        if histogram is not None:
            whole = histogram.weights(weight)
        if histogram is None or whole is None or whole.dtype != np.int32:
            scores = row_checks.check_scores(steps.of_all(), len(weight), self._n_models)
            self.add(scores[:, None], labels, weight)
            return
        self.n_rows += len(weight)
        self._widen(histogram, steps.scores)
        shift, first = histogram.shift[0], histogram.first[0]
        n_used = 0
        if histogram.low[0] <= histogram.high[0]:
            n_used = int(histogram.high[0] >> shift) - first + 1
        bins, close = np.empty((2, len(weight)), np.int32), np.zeros(2 * (n_used + 2), np.int32)
        grid_scores.count(*steps, labels[:, 0], whole, shift, first, bins, close, histogram.table)

    def _fill(self, histogram: Histogram, scores: np.ndarray, groups: np.ndarray, weight: np.ndarray) -> None:
        self._widen(histogram, scores[:, :, : self._n_models])
        super()._fill(histogram, scores, groups, weight)

    def _widen(self, histogram: Histogram, scores: np.ndarray) -> None:
        """Widen the shared bins to cover these scores."""
        finite = np.isfinite(scores)
        if not finite.all():
            row_checks.check_scores(scores.reshape(-1), scores.size, 1)  # reports where a NaN is
            scores = scores[finite]
        low, high = scores.min(initial=np.inf), scores.max(initial=-np.inf)
        histogram.widen(np.full(self._n_models, low), np.full(self._n_models, high))
