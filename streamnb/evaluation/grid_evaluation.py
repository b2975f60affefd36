"""Evaluates all models of a grid on the same rows at once."""

from functools import partial
from typing import Any, Self

import numpy as np

from streamnb.core import arguments, persistence, row_checks
from streamnb.evaluation.evaluation import Evaluation
from streamnb.evaluation.tallies import LOSSES, OUTCOMES, Decisions, Rows, Tally, losses_of, ratio
from streamnb.kernels import judge
from streamnb.problem.schemes import Scheme, raw_scores
from streamnb.stats.row_means import RowMeans, WeightTable, pairs_of_state

CACHED_MARGINS = 1 << 16  # transposed at once


@persistence.register
class GridEvaluation(Tally):
    """Evaluates G models on rows with one label each; merges with ``+`` as `Evaluation` does.

    Parameters
    ----------
    new : callable
        Returns an empty `Evaluation`.
    n_points : int
        G.
    """

    parts = "n_rows", "total", "decisions", "ranking", "margin", "losses"

    def __init__(self, new: Any, n_points: int):
        self._empty, self._n_points = empty, n_points = new(), n_points
        needs = empty.needs
        self.n_rows, self.total = 0, RowMeans(())
        of_decisions = needs & {"hits", "confusion"}
        self.decisions = GridDecisions(n_points, empty.n_classes, "confusion" in needs) if of_decisions else None
        self.ranking, self.margin = (
            empty.ranking_of(n_points) if name in needs else None for name in ("ranking", "margin")
        )
        self.losses = [RowMeans(LOSSES) for _ in range(n_points)] if "probabilities" in needs else []

    def add_decided(self, decided: np.ndarray, labels: np.ndarray, weight: np.ndarray | None) -> None:
        """Add rows with the decisions of the models (n, G), possibly padded; without weights each row counts once."""
        assert self.decisions is not None
        if weight is None and self.decisions.without_table:
            self.n_rows += len(labels)
            self.total.pairs[0][-1] += len(labels)
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
            few = margins[first : first + step, :, : self._n_points].swapaxes(1, 2)
            ranked = ranked_by(few.reshape(-1, margins.shape[1]))
            parts.append(np.ascontiguousarray(ranked.reshape(len(few), self._n_points, -1).swapaxes(1, 2)))
        return np.concatenate(parts)

    def of_point(self, point: int) -> Evaluation:
        """The evaluation of one model."""
        tallies: dict[str, Any] = {"total": self.total}
        kept = {"decisions": self.decisions, "ranking": self.ranking, "margin": self.margin}
        tallies |= {name: tally.of_point(point) for name, tally in kept.items() if tally is not None}
        if self.losses:
            tallies["losses"] = self.losses[point]
        return self._empty.with_tallies(self.n_rows, tallies)

    def _to_state(self) -> dict[str, Any]:
        return {"empty": self._empty, "n_points": self._n_points, **super()._to_state()}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        empty, n_points = state["empty"], arguments.whole_number("n_points", state["n_points"])
        if not isinstance(empty, Evaluation) or len(state["losses"]) != n_points * ("probabilities" in empty.needs):
            raise ValueError("a grid of evaluations should have an empty evaluation and the losses of each model")
        if state["decisions"] is not None:  # checked before tables larger than the file are allocated
            pairs_of_state("predicted", state["decisions"]["_predicted"], (n_points, empty.n_classes))
        grid = cls(lambda: empty, n_points)
        grid.restore({name: state[name] for name in cls.parts})
        return grid

    def accuracy_and_recall(self) -> tuple[np.ndarray, np.ndarray, None]:
        """Accuracy of all models (G,), and recall of each class (G, K), NaN for classes without rows; both exact."""
        assert self.decisions is not None
        return *self.decisions.rates(), None


@persistence.register
class EachEvaluation(Tally):
    """Evaluates models one by one: for multi-label rows, and for pairs of classes."""

    parts = ("_each",)

    def __init__(self, new: Any, n_points: int):
        self._each = [new() for _ in range(n_points)]

    def add(self, scheme: Scheme, margins: np.ndarray, labels: Any, weight: np.ndarray) -> None:
        """Add rows with their margins (n, R, G), possibly padded."""
        needed = {
            name: function
            for name, function, needs in (
                ("predicted", scheme.decide, {"hits", "confusion", "multilabel"}),
                ("ranking", scheme.ranking, {"ranking"}),
                ("margin", partial(raw_scores, scheme), {"margin"}),
                ("log_proba", scheme.log_proba, {"probabilities"}),
            )
            if needs & self._each[0].needs
        }
        for point, evaluation in enumerate(self._each):
            of_model = np.ascontiguousarray(margins[:, :, point])
            evaluation.add(labels, weight, **{name: function(of_model) for name, function in needed.items()})

    def of_point(self, point: int) -> Evaluation:
        """The evaluation of one model."""
        return self._each[point]

    def _to_state(self) -> dict[str, Any]:
        return {"each": self._each}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        each = state["each"]
        if not persistence.is_a(list[Evaluation], each):
            raise ValueError("a grid of evaluations should be a list of them")
        remaining = iter(each)
        return cls(lambda: next(remaining), len(each))


class GridDecisions(Tally):
    """`Decisions` of G models: arrays with an axis for the models before those of the classes."""

    parts = "_true", "_hit", "_predicted", "_table", "_right"

    def __init__(self, n_points: int, n_classes: int, with_table: bool):
        self._true, self._predicted = WeightTable(n_classes), WeightTable(n_points, n_classes)
        self._hit = WeightTable(n_classes, n_points)
        self._hit.pairs = self._hit.pairs.transpose(0, 2, 1)  # models beside each other in memory
        self._table = WeightTable(n_points if with_table else 0, n_classes, n_classes)
        self._right = RowMeans(map(str, range(n_points)))

    def add(self, labels: np.ndarray, weight: np.ndarray, decided: np.ndarray) -> None:
        """Add rows with one label each and the decisions of the models, (n, G)."""
        self._true.add((labels,), weight)
        hit, right = self._hit.pairs.transpose(0, 2, 1), self._right.pairs
        judge.count_decisions(labels, weight, decided, hit, self._predicted.pairs, self._table.pairs, *right)

    @property
    def without_table(self) -> bool:
        return self._table.pairs.size == 0

    def add_each_once(self, labels: np.ndarray, decided: np.ndarray) -> None:
        """Add unweighted rows where no confusion matrix is kept."""
        n_points, n_classes = self._predicted.pairs.shape[1:]
        hit, predicted = np.zeros((2, n_classes, n_points), np.int32)
        judge.count_rows(labels, decided, hit, predicted)
        sums, _ = self._right.pairs
        sums += np.append(hit.sum(axis=0), len(labels))  # whole numbers: the sum is exact, here and below
        self._true.pairs[0] += np.bincount(labels, minlength=n_classes)
        self._hit.pairs[0] += hit.T
        self._predicted.pairs[0] += predicted.T

    def rates(self) -> tuple[np.ndarray, np.ndarray]:
        """The share of the weight decided correctly (G,), and the same of each class (G, K); NaN without weight."""
        right, lost = self._right.pairs
        return ratio(right[:-1] + lost[:-1], np.array(self._right.weight), np.nan), ratio(
            self._hit.sums, self._true.sums, np.nan
        )

    def of_point(self, point: int) -> Decisions:
        """The decisions of one model."""
        counts = self._hit.of(point), self._true.of(...), self._predicted.of(point)
        decisions = Decisions(len(self._true.sums), False)
        decisions.counts |= dict(zip(OUTCOMES, counts, strict=True))
        decisions.counts["table"] = None if self.without_table else self._table.of(point)
        decisions.means = self._right.one(point, *Decisions.names)
        return decisions
