"""Evaluates all models of a grid on the same rows at once: on all of them, or against a reference."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments, memory, persistence, row_checks
from streamnb.evaluation.evaluation import Evaluation
from streamnb.evaluation.score_order import Histogram, Ranking
from streamnb.evaluation.tallied import DECISIONS, outputs_of_margins
from streamnb.evaluation.tallies import LOSSES, OUTCOMES, Decisions, Rows, losses_of, ratio
from streamnb.fits.statistic import Mergeable, added
from streamnb.kernels import judge, nested, ranks
from streamnb.kernels.lanes import LANES
from streamnb.problem.schemes import Scheme, TwoClasses, raw_scores
from streamnb.rows.row_blocks import Chunk, SparseRows
from streamnb.stats.row_means import RowMeans, WeightTable, pairs_of_state

CACHED_MARGINS = 1 << 16  # transposed at once


@dataclass(eq=False)
class GridDecisions(Mergeable):
    """`Decisions` of G models: arrays with an axis for the models before those of the classes."""

    _true: Annotated[WeightTable, added]
    _hit: Annotated[WeightTable, added]
    _predicted: Annotated[WeightTable, added]
    _table: Annotated[WeightTable, added]
    _right: Annotated[RowMeans, added]

    @classmethod
    def of(cls, n_points: int, n_classes: int, with_table: bool) -> Self:
        """Decisions without rows."""
        true, predicted = WeightTable.of_shape(n_classes), WeightTable.of_shape(n_points, n_classes)
        hit = WeightTable(memory.zeros(2, n_classes, n_points).transpose(0, 2, 1))  # models beside each other in memory
        table = WeightTable.of_shape(n_points if with_table else 0, n_classes, n_classes)
        return cls(true, hit, predicted, table, RowMeans.of_values(map(str, range(n_points))))

    def add(self, labels: np.ndarray, weight: np.ndarray, decided: np.ndarray) -> None:
        """Add rows with one label each and the decisions of the models, (n, G)."""
        self._true.add((labels,), weight)
        hit, right = self._hit.pairs.transpose(0, 2, 1), self._right.pairs[:, 0]
        judge.count_decisions(labels, weight, decided, hit, self._predicted.pairs, self._table.pairs, *right)

    @property
    def without_table(self) -> bool:
        return self._table.pairs.size == 0

    def add_each_once(self, labels: np.ndarray, decided: np.ndarray) -> None:
        """Add unweighted rows where no confusion matrix is kept."""
        n_points, n_classes = self._predicted.pairs.shape[1:]
        hit, predicted = np.zeros((2, n_classes, n_points), np.int32)
        judge.count_rows(labels, decided, hit, predicted)
        right = self._right.pairs[0, 0]  # sums of whole numbers are exact, here and below
        right += np.append(hit.sum(axis=0), len(labels))
        self._true.pairs[0] += np.bincount(labels, minlength=n_classes)
        self._hit.pairs[0] += hit.T
        self._predicted.pairs[0] += predicted.T

    def rates(self) -> tuple[np.ndarray, np.ndarray]:
        """The share of the weight decided correctly (G,), and the same of each class (G, K); NaN without weight."""
        right, lost = self._right.pairs[:, 0]
        return ratio(right[:-1] + lost[:-1], np.array(self._right.weight), np.nan), ratio(
            self._hit.sums, self._true.sums, np.nan
        )

    def of_point(self, point: int) -> Decisions:
        """The decisions of one model."""
        outcomes = self._hit.of(point), self._true.of(...), self._predicted.of(point)
        counts: dict[str, Any] = dict(zip(OUTCOMES, outcomes, strict=True))
        counts["table"] = None if self.without_table else self._table.of(point)
        return Decisions(counts, self._right.one(point, *Decisions.names))


@persistence.register
@dataclass(eq=False)
class GridEvaluation(Mergeable):
    """Evaluates G models on rows with one label each; merges with ``+`` as `Evaluation` does.

    Attributes
    ----------
    empty : Evaluation
        Of one model, without rows.
    n_points : int
        G.
    """

    empty: Evaluation
    n_points: int
    n_rows: Annotated[int, added] = 0
    total: Annotated[RowMeans, added] = field(default_factory=lambda: RowMeans.of_values(()))
    decisions: Annotated[GridDecisions | None, added] = None
    ranking: Annotated[Ranking | None, added] = None
    margin: Annotated[Ranking | None, added] = None
    losses: Annotated[list[RowMeans], added] = field(default_factory=list)

    @classmethod
    def of(cls, empty: Evaluation, n_points: int) -> Self:
        """The evaluation of no rows."""
        needs, grid = empty.needs, cls(empty, n_points)
        if needs & {"hits", "confusion"}:
            grid.decisions = GridDecisions.of(n_points, empty.n_classes, "confusion" in needs)
        if "ranking" in needs:
            grid.ranking = empty.ranking_of(n_points)
        if "margin" in needs:
            grid.margin = empty.ranking_of(n_points)
        if "probabilities" in needs:
            grid.losses = [RowMeans.of_values(LOSSES) for _ in range(n_points)]
        return grid

    def add_decided(self, decided: np.ndarray, labels: np.ndarray, weight: np.ndarray | None) -> None:
        """Add rows with the decisions of the models (n, G), possibly padded; without weights each row counts once."""
        assert self.decisions is not None
        if weight is None and self.decisions.without_table:
            self.n_rows += len(labels)
            self.total.pairs[0, 0, -1] += len(labels)
            self.decisions.add_each_once(labels, decided)
        else:
            weight = np.ones(len(labels)) if weight is None else weight
            self._count_rows(weight)
            self.decisions.add(labels, weight, decided)

    def _count_rows(self, weight: np.ndarray) -> None:
        self.n_rows += len(weight)
        self.total.add([], weight)

    def add(self, scheme: Scheme, margins: np.ndarray, labels: np.ndarray, weight: np.ndarray) -> None:
        """Add rows with their margins (n, R, G), possibly padded."""
        n = len(margins)
        self._count_rows(weight)
        if self.decisions is not None:
            self.decisions.add(labels, weight, scheme.decide(margins))
        for ranked, ranked_by in ((self.ranking, scheme.ranking), (self.margin, partial(raw_scores, scheme))):
            if ranked is not None:
                kept = weight > 0.0
                scores = self._scores(ranked_by, margins)
                width = scores.shape[1] * scores.shape[2]
                row_checks.check_scores(scores.reshape(-1, width), n, width)
                counted = (scores, labels, weight) if kept.all() else (scores[kept], labels[kept], weight[kept])
                ranked.add(*counted)
        for point, losses in enumerate(self.losses):
            log_proba = scheme.log_proba(np.ascontiguousarray(margins[:, :, point]))
            rows = Rows(labels, weight, log_proba=row_checks.check_log_proba(log_proba, n, log_proba.shape[1]))
            some = rows.with_weight()
            losses.add(losses_of(some), some.weight)

    def _scores(self, ranked_by: Any, margins: np.ndarray) -> np.ndarray:
        """The scores by which each model ranks rows, (n, columns, G)."""
        step = max(CACHED_MARGINS // margins[0].size, 1)
        parts = []
        for first in range(0, len(margins), step):
            few = margins[first : first + step, :, : self.n_points].swapaxes(1, 2)
            ranked = ranked_by(few.reshape(-1, margins.shape[1]))
            parts.append(np.ascontiguousarray(ranked.reshape(len(few), self.n_points, -1).swapaxes(1, 2)))
        return np.concatenate(parts)

    def of_point(self, point: int) -> Evaluation:
        """The evaluation of one model."""
        tallies: dict[str, Any] = {"total": self.total}
        kept = {"decisions": self.decisions, "ranking": self.ranking, "margin": self.margin}
        tallies |= {name: tally.of_point(point) for name, tally in kept.items() if tally is not None}
        if self.losses:
            tallies["losses"] = self.losses[point]
        return self.empty.with_tallies(self.n_rows, tallies)

    def _to_state(self) -> dict[str, Any]:
        return {"empty": self.empty, "n_points": self.n_points, **self.arrays()}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        empty, n_points = state["empty"], arguments.whole_number("n_points", state["n_points"])
        if not isinstance(empty, Evaluation) or len(state["losses"]) != n_points * ("probabilities" in empty.needs):
            raise ValueError("a grid of evaluations should have an empty evaluation and the losses of each model")
        if state["decisions"] is not None:  # checked before tables larger than the file are allocated
            pairs_of_state("predicted", state["decisions"]["_predicted"], (n_points, empty.n_classes))
        return cls.of(empty, n_points).of_arrays(
            {name: part for name, part in state.items() if name not in ("empty", "n_points")}
        )

    def accuracy_and_recall(self) -> tuple[np.ndarray, np.ndarray, None]:
        """Accuracy of all models (G,), and recall of each class (G, K), NaN for classes without rows; both exact."""
        assert self.decisions is not None
        return *self.decisions.rates(), None


@persistence.register
@dataclass(eq=False)
class EachEvaluation(Mergeable, persistence.Parameters):
    """Evaluates models one by one: for multi-label rows, and for pairs of classes."""

    each: Annotated[list[Evaluation], added]

    def add(self, scheme: Scheme, margins: np.ndarray, labels: Any, weight: np.ndarray) -> None:
        """Add rows with their margins (n, R, G), possibly padded."""
        for point, evaluation in enumerate(self.each):
            of_model = np.ascontiguousarray(margins[:, :, point])
            outputs = outputs_of_margins(scheme, of_model, evaluation.needs)
            if evaluation.needs & DECISIONS:
                outputs["predicted"] = scheme.decide(of_model)
            evaluation.add(labels, weight, **outputs)

    def of_point(self, point: int) -> Evaluation:
        """The evaluation of one model."""
        return self.each[point]


# ---- against a reference ---------------------------------------------------------------------------------------------


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
@dataclass(eq=False)
class ReferenceEvaluation(Mergeable):
    """Evaluates G models against a reference; merges with ``+`` as `Evaluation` does.

    A row of weights compares a class or label u with the reference r. Its margins should rank the rows of u above those
    of r; rows of neither, or of both, are skipped (section 7 of Shishkova 2016).

    Attributes
    ----------
    own : (R,) int
        Number of the class u of each row of weights.
    against : (R,) or (1,) int
        Number of its reference r, or of the common one; rows without labels have the number after the last class.
    either : bool
        True for two classes, which have the same pairs in either direction.
    classes : (K,) labels
    sizes : dict of int
        `n_models`, which is G, and `exact_rows` and `n_bins` as for `Evaluation`, for the rows of each pair of groups.
    nested : bool
        Each model adds features to the one before it, with the same weights: rows are given by `Steps` of scores.
    rankings : list
        One for each row of weights.
    """

    own: np.ndarray
    against: np.ndarray
    either: bool
    classes: np.ndarray
    sizes: dict[str, int]
    nested: bool
    rankings: Annotated[list[Any], added]

    @classmethod
    def of(
        cls, scheme: Scheme, classes: np.ndarray, n_points: int, exact_rows: int, n_bins: int, nested: bool = False
    ) -> Self:
        """The empty evaluation for a scheme with a reference, or for two classes."""
        own, against = (np.asarray(group, np.int64) for group in scheme.groups(slice(None)))
        sizes = {"n_models": n_points, "exact_rows": exact_rows, "n_bins": n_bins}
        return cls.of_groups(own, against, isinstance(scheme, TwoClasses), classes, sizes, nested)

    @classmethod
    def of_groups(
        cls,
        own: np.ndarray,
        against: np.ndarray,
        either: bool,
        classes: np.ndarray,
        sizes: dict[str, int],
        nested: bool = False,
    ) -> Self:
        """The evaluation of no rows."""
        kind = NestedRanking if nested else Ranking
        rankings: Any = [kind(1, multilabel=True, pairs=False, **sizes) for _ in own]
        return cls(own, against, either, classes, sizes, nested, rankings)

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
        references = {r: np.flatnonzero(bears[r]) for r in set(self.against.tolist())}
        for row, (u, r) in enumerate(np.broadcast(self.own, self.against)):
            own, reference = np.flatnonzero(bears[u]), references[r]
            if bears[r][own].any():
                own, reference = own[~bears[r][own]], reference[~bears[u][reference]]
            if len(own) or len(reference):
                yield ComparedRows(row, own, reference)

    def add_row(self, row: int, scores: "np.ndarray | Steps", sides: np.ndarray, weight: np.ndarray) -> None:
        """Add rows that a row of weights compares; scores (n, G), possibly padded, or the steps of nested models."""
        ranking = self.rankings[row]
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
        rankings = [ranking.of_points(first, stop) for ranking in self.rankings]
        return replace(self, sizes=self.sizes | {"n_models": stop - first}, nested=False, rankings=rankings)

    def ranking(self, row: int) -> Ranking:
        """The ranking by a row of weights."""
        return self.rankings[row]

    def of_all(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """`roc_auc` of all models, (G,), of each class (G, K), and `roc_auc_error` (G,)."""
        areas, errors = np.stack([ranking.areas() for ranking in self.rankings], axis=1)  # each (R, G)
        if all(ranking.is_exact for ranking in self.rankings):
            errors[:] = 0.0
        of_classes = np.full((areas.shape[1], len(self.classes)), np.nan)
        of_classes[:, slice(None) if self.either else self.own] = areas.T
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
        groups = {"own": self.own, "against": self.against, "either": self.either, "classes": self.classes}
        return {**groups, **self.sizes, "nested": self.nested, **self.arrays()}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        own, against = (persistence.array(name, state[name], ["i8"], (None,)) for name in ("own", "against"))
        classes = row_checks.check_labels(state["classes"], "classes")
        sizes = {name: arguments.whole_number(name, state[name]) for name in ("n_models", "exact_rows", "n_bins")}
        numbers = np.concatenate([own, against])
        if len(against) not in (1, len(own)) or not ((numbers >= 0) & (numbers <= len(classes))).all():
            raise ValueError("own and against should be numbers of classes, one of each for every row of weights")
        for name in ("either", "nested"):
            if not isinstance(state[name], bool):
                raise ValueError(f"{name} should be true or false, not {state[name]!r}")
        judged = cls.of_groups(own, against, state["either"], classes, sizes, state["nested"])
        return judged.of_arrays({"rankings": state["rankings"]})


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
