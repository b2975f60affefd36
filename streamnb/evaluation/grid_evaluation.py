"""Evaluates all models of a grid on the same rows at once."""

from copy import copy
from functools import partial
from typing import Any, Self

import numpy as np

from streamnb.core import arguments, persistence, row_checks
from streamnb.evaluation.evaluation import Evaluation
from streamnb.evaluation.tallies import LOSSES, Decisions, Rows, losses_of, ratio
from streamnb.kernels import judge
from streamnb.problem.schemes import Scheme, raw_scores
from streamnb.stats.row_means import RowMeans

CACHED_MARGINS = 1 << 16  # transposed at once
TALLIES = "total", "decisions", "ranking", "margin"


@persistence.register
class GridEvaluation:
    """Evaluates G models on rows with one label each; merges with ``+`` as `Evaluation` does.

    Parameters
    ----------
    new : callable
        Returns an empty `Evaluation`.
    n_points : int
        G.
    """

    def __init__(self, new: Any, n_points: int):
        self._empty, self._n_points = new(), n_points
        self.n_rows = 0
        K, needs = self._empty.n_classes, self._empty.needs
        self._tallies: dict[str, Any] = {"total": RowMeans(())}  # those that are needed, out of TALLIES
        if needs & {"hits", "confusion"}:
            self._tallies["decisions"] = GridDecisions(n_points, K, "confusion" in needs)
        self._tallies |= {name: self._empty.ranking_of(n_points) for name in ("ranking", "margin") if name in needs}
        self._losses = [RowMeans(LOSSES) for _ in range(n_points)] if "probabilities" in needs else []

    def add_decided(self, decided: np.ndarray, labels: np.ndarray, weight: np.ndarray | None) -> None:
        """Add rows with the decisions of the models (n, G), possibly padded; without weights each row counts once."""
        decisions: GridDecisions = self._tallies["decisions"]
        if weight is None and decisions.without_table:
            self.n_rows += len(labels)
            self._tallies["total"].pairs[0][-1] += len(labels)
            decisions.add_each_once(labels, decided)
        else:
            weight = np.ones(len(labels)) if weight is None else weight
            self._count_rows(weight)
            decisions.add(labels, weight, decided)

    def _count_rows(self, weight: np.ndarray) -> None:
        self.n_rows += len(weight)
        self._tallies["total"].add([], weight)

    def add(self, scheme: Scheme, margins: np.ndarray, labels: np.ndarray, weight: np.ndarray) -> None:
        """Add rows with their margins (n, R, G), possibly padded."""
        n = len(margins)
        self._count_rows(weight)
        if "decisions" in self._tallies:
            self._tallies["decisions"].add(labels, weight, scheme.decide(margins))
        for name, ranked_by in (("ranking", scheme.ranking), ("margin", partial(raw_scores, scheme))):
            if name in self._tallies:
                kept = weight > 0.0
                scores = self._scores(ranked_by, margins)
                width = scores.shape[1] * scores.shape[2]
                row_checks.check_scores(scores.reshape(-1, width), n, width)
                rows = (scores, labels, weight) if kept.all() else (scores[kept], labels[kept], weight[kept])
                self._tallies[name].add(*rows)
        for point, losses in enumerate(self._losses):
            log_proba = scheme.log_proba(np.ascontiguousarray(margins[:, :, point]))
            known = Rows(labels, weight, log_proba=row_checks.check_log_proba(log_proba, n, log_proba.shape[1])).known()
            losses.add(losses_of(known), known.weight)

    def _scores(self, ranked_by: Any, margins: np.ndarray) -> np.ndarray:
        """The scores by which each model ranks rows, (n, columns, G)."""
        step = max(CACHED_MARGINS // margins[0].size, 1)
        parts = []
        for first in range(0, len(margins), step):
            some = margins[first : first + step, :, : self._n_points].swapaxes(1, 2)
            ranked = ranked_by(some.reshape(-1, margins.shape[1]))
            parts.append(np.ascontiguousarray(ranked.reshape(len(some), self._n_points, -1).swapaxes(1, 2)))
        return np.concatenate(parts)

    def __add__(self, other: "GridEvaluation") -> "GridEvaluation":
        total = copy(self)
        total.n_rows += other.n_rows
        total._tallies = {name: own + other._tallies[name] for name, own in self._tallies.items()}
        total._losses = [a + b for a, b in zip(self._losses, other._losses, strict=True)]
        return total

    def of_point(self, point: int) -> Evaluation:
        """The evaluation of one model."""
        tallies = {name: own if name == "total" else own.of_point(point) for name, own in self._tallies.items()}
        if self._losses:
            tallies["losses"] = self._losses[point]
        return self._empty.with_tallies(self.n_rows, tallies)

    def _to_state(self) -> dict[str, Any]:
        return {
            "empty": self._empty,
            "n_points": self._n_points,
            "n_rows": self.n_rows,
            **{name: self._tallies[name]._to_state() if name in self._tallies else None for name in TALLIES},
            "losses": [losses._to_state() for losses in self._losses],
        }

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        empty, n_points = state["empty"], arguments.whole_number("n_points", state["n_points"])
        if not isinstance(empty, Evaluation) or len(state["losses"]) != n_points * ("probabilities" in empty.needs):
            raise ValueError("a grid of evaluations should have an empty evaluation and the losses of each model")
        if state["decisions"] is not None:  # checked before tables larger than the file are allocated
            persistence.array("predicted", state["decisions"]["_predicted"], ["f8"], (n_points, empty.n_classes))
        grid = cls(lambda: empty, n_points)
        grid.n_rows = arguments.whole_number("n_rows", state["n_rows"])
        for name in TALLIES:
            if (name in grid._tallies) == (state[name] is None):
                raise ValueError(f"{name} of a grid of evaluations are missing, or there should be none")
        for name, tally in grid._tallies.items():
            tally.restore(state[name])
        for losses, kept in zip(grid._losses, state["losses"], strict=True):
            losses.restore(kept)
        return grid

    def accuracy_and_recall(self) -> tuple[np.ndarray, np.ndarray, None]:
        """Accuracy of all models (G,), and recall of each class (G, K), NaN for classes without rows; both exact."""
        return *self._tallies["decisions"].rates(), None


@persistence.register
class EachEvaluation:
    """Evaluates models one by one: for multi-label rows, and for pairs of classes."""

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
            own = np.ascontiguousarray(margins[:, :, point])
            evaluation.add(labels, weight, **{name: function(own) for name, function in needed.items()})

    def __add__(self, other: "EachEvaluation") -> "EachEvaluation":
        total = copy(self)
        total._each = [a + b for a, b in zip(self._each, other._each, strict=True)]
        return total

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


class GridDecisions:
    """`Decisions` of G models: arrays with an axis for the models before those of the classes."""

    def __init__(self, n_points: int, n_classes: int, with_table: bool):
        self._true = np.zeros(n_classes)
        self._hit, self._predicted = np.zeros((n_classes, n_points)).T, np.zeros((n_points, n_classes))
        self._table = np.zeros((n_points if with_table else 0, n_classes, n_classes))
        self._right = RowMeans(map(str, range(n_points)))

    def add(self, labels: np.ndarray, weight: np.ndarray, decided: np.ndarray) -> None:
        """Add rows with one label each and the decisions of the models, (n, G)."""
        self._true += np.bincount(labels, weights=weight, minlength=len(self._true))
        judge.count_decisions(labels, weight, decided, self._hit.T, self._predicted, self._table, *self._right.pairs)

    @property
    def without_table(self) -> bool:
        return len(self._table) == 0

    def add_each_once(self, labels: np.ndarray, decided: np.ndarray) -> None:
        """Add unweighted rows where no confusion matrix is kept."""
        hit, predicted = np.zeros((2, *self._hit.T.shape), np.int32)
        judge.count_rows(labels, decided, hit, predicted)
        sums, _ = self._right.pairs
        sums += np.append(hit.sum(axis=0), len(labels))  # whole numbers: the sum is exact
        self._true += np.bincount(labels, minlength=len(self._true))
        self._hit += hit.T
        self._predicted += predicted.T

    def __add__(self, other: Any) -> "GridDecisions":
        total = copy(self)
        for name, own in vars(self).items():
            setattr(total, name, own + getattr(other, name))
        return total

    def _to_state(self) -> dict[str, Any]:
        return {name: part._to_state() if isinstance(part, RowMeans) else part for name, part in vars(self).items()}

    def restore(self, state: dict[str, Any]) -> None:
        """Fill an empty object from the state that `_to_state` returned."""
        for name, part in vars(self).items():
            if isinstance(part, RowMeans):
                part.restore(state[name])
            else:
                part[...] = persistence.array(name, state[name], ["f8"], part.shape)  # in the layout for kernels

    def rates(self) -> tuple[np.ndarray, np.ndarray]:
        """The share of the weight decided correctly (G,), and the same of each class (G, K); NaN without weight."""
        right, lost = self._right.pairs
        return ratio(right[:-1] + lost[:-1], np.array(self._right.weight), np.nan), ratio(self._hit, self._true, np.nan)

    def of_point(self, point: int) -> Decisions:
        """The decisions of one model."""
        table = self._table[point] if len(self._table) else None
        return Decisions.of(
            self._hit[point], self._true, self._predicted[point], table, self._right.one(point, *Decisions.names)
        )
