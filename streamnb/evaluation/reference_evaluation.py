"""Classes or labels judged against a reference: whose rows stand above whose, those of others skipped."""

from collections.abc import Iterator
from copy import copy
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments, label_checks, persistence, row_checks
from streamnb.evaluation.decision_metrics import mean
from streamnb.evaluation.nested_ranking import NestedRanking, Steps
from streamnb.evaluation.score_order import Ranking
from streamnb.problem.schemes import Scheme, TwoClasses

OWN, REFERENCE, NEITHER = 1, 0, 2  # what a row is to a class


@persistence.register
class ReferenceEvaluation:
    """G models judged on some rows; merges with ``+`` as `Evaluation` does.

    A row of weights sets a class or label u against the reference r. Its margins rank the rows of u above those of r,
    or should; rows of neither, and of both, are not asked. (Section 7 of Shishkova 2016 judges so.)

    Parameters
    ----------
    own : (R,) int
        Number of the class u of each row of weights.
    against : (R,) or (1,) int
        That of its reference r, or of the one for all; rows without any label have the number after the last class.
    either : bool
        True of two classes: turned round, they have the same pairs.
    classes : (K,) labels
    n_points : int
        G.
    exact_rows, n_bins : int
        As for `Evaluation`, of the rows of each pair of groups.
    nested : bool
        Each model has the features of the one before it with the same weights: rows come with `Steps` of scores.
    """

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
        self._rankings: list[Any] = [self._new_ranking() for _ in own]

    def _new_ranking(self) -> Ranking:
        if self._nested:
            return NestedRanking(**self._sizes)
        return Ranking(1, multilabel=True, pairs=False, **self._sizes)

    @classmethod
    def of(
        cls, scheme: Scheme, classes: np.ndarray, n_points: int, exact_rows: int, n_bins: int, nested: bool = False
    ) -> Self:
        """Of a scheme with a reference, or of two classes."""
        own, against = (np.asarray(group, np.int64) for group in scheme.groups(slice(None)))
        return cls(own, against, isinstance(scheme, TwoClasses), classes, n_points, exact_rows, n_bins, nested)

    def add(self, scheme: Scheme, margins: np.ndarray, labels: Any, weight: np.ndarray) -> None:
        """Add rows with their margins (n, R, G), and room behind these; labels (n,) or an indicator (n, K)."""
        for row, asked, sides in self.asked(labels, weight):
            self.add_row(row, margins[asked, row], sides, weight[asked])

    def asked(self, labels: Any, weight: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """For each row of weights the rows of its two groups that have any weight, and the side of each, (n, 1)."""
        sides = self._sides(labels)
        sides[weight == 0.0] = NEITHER
        for row, of_row in enumerate(np.ascontiguousarray(sides.T)):
            asked = np.flatnonzero(of_row != NEITHER)
            if asked.size:
                yield row, asked, of_row[asked, None]

    def add_row(self, row: int, scores: "np.ndarray | Steps", sides: np.ndarray, weight: np.ndarray) -> None:
        """Add rows that `asked` gave for a row of weights; scores (n, G), and room behind these, or steps of nested."""
        ranking = self._rankings[row]
        if isinstance(scores, Steps):
            row_checks.check_scores(scores.scores[:, None], len(scores.scores), 1)
            ranking.add_steps(scores, sides, weight)
        else:
            row_checks.check_scores(scores, *scores.shape)
            ranking.add(scores[:, None], sides, weight)

    def _sides(self, labels: Any) -> np.ndarray:
        """What each row is to the class of each row of weights, (n, R) uint8."""
        if sp.issparse(labels):
            bears = labels.toarray().astype(bool)
            bears = np.column_stack([bears, ~bears.any(axis=1)])  # the rows without any label have the last number
            own, reference = bears[:, self._own], bears[:, self._against]
        else:
            own, reference = labels[:, None] == self._own, labels[:, None] == self._against
        return np.where(own == reference, NEITHER, np.where(own, OWN, REFERENCE)).astype(np.uint8)

    def __add__(self, other: "ReferenceEvaluation") -> "ReferenceEvaluation":
        total = copy(self)
        total.__dict__.pop("_areas", None)
        total._rankings = [mine + theirs for mine, theirs in zip(self._rankings, other._rankings, strict=True)]
        return total

    def of_point(self, point: int) -> "ReferenceEvaluation":
        """Those of one model."""
        one = copy(self)
        one.__dict__.pop("_areas", None)
        one._sizes, one._nested = self._sizes | {"n_models": 1}, False
        one._rankings = [ranking.of_model(point) for ranking in self._rankings]
        return one

    @cached_property
    def _areas(self) -> np.ndarray:
        """Of the first model, that of each row of weights, (R,)."""
        return np.array([ranking.auc(0) for ranking in self._rankings])

    def roc_auc(self, average: str | None = "macro") -> Any:
        """Probability that a row of u has a higher margin than one of r, ties counted half, of the first model.

        The mean over the classes that have both; ``average=None``: each class, (K,), NaN where undefined and for the
        reference. Of two classes both have the one there is.
        """
        if average is not None:
            return mean(self._areas[~np.isnan(self._areas)])
        values = np.full(len(self.classes), np.nan)
        values[slice(None) if self._either else self._own] = self._areas
        return values

    @property
    def roc_auc_error(self) -> float:
        """Bound on the error of `roc_auc`, the largest of any class; 0 while scores are kept one by one."""
        if all(ranking.is_exact for ranking in self._rankings):
            return 0.0
        errors = [ranking.auc_error(0) for ranking in self._rankings]
        return max((error for error in errors if not np.isnan(error)), default=np.nan)

    def to_state(self) -> dict[str, Any]:
        groups = {"own": self._own, "against": self._against, "either": self._either, "classes": self.classes}
        rankings = [ranking.to_state() for ranking in self._rankings]
        return {**groups, **self._sizes, "nested": self._nested, "rankings": rankings}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
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
        for ranking, of_row in zip(judged._rankings, state["rankings"], strict=True):
            ranking.restore(of_row)
        return judged
