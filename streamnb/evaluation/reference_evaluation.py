"""Classes or labels judged against a reference: whose rows stand above whose, those of others skipped."""

from copy import copy
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments, label_checks, persistence, row_checks
from streamnb.evaluation.decision_metrics import mean
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
        As for `Evaluation`.
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
    ):
        self._own, self._against, self._either, self.classes = own, against, either, classes
        self._sizes: Any = {"exact_rows": exact_rows, "n_bins": n_bins, "n_models": n_points}
        self._ranking = Ranking(len(own), multilabel=True, pairs=False, skipping=True, **self._sizes)

    @classmethod
    def of(cls, scheme: Scheme, classes: np.ndarray, n_points: int, exact_rows: int, n_bins: int) -> Self:
        """Of a scheme with a reference, or of two classes."""
        own, against = (np.asarray(group, np.int64) for group in scheme.groups(slice(None)))
        return cls(own, against, isinstance(scheme, TwoClasses), classes, n_points, exact_rows, n_bins)

    def add(self, scheme: Scheme, margins: np.ndarray, labels: Any, weight: np.ndarray) -> None:
        """Add rows with their margins (n, R, G), and room behind these; labels (n,) or an indicator (n, K)."""
        sides = self._sides(labels)
        asked = (sides != NEITHER).any(axis=1) & (weight > 0.0)
        if not asked.all():
            margins, sides, weight = margins[asked], sides[asked], weight[asked]
        width = margins.shape[1] * margins.shape[2]
        row_checks.check_scores(margins.reshape(-1, width), len(margins), width)
        self._ranking.add(margins, sides, weight)

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
        total._ranking = self._ranking + other._ranking
        return total

    def of_point(self, point: int) -> "ReferenceEvaluation":
        """Those of one model."""
        one = copy(self)
        one.__dict__.pop("_areas", None)
        one._sizes, one._ranking = self._sizes | {"n_models": 1}, self._ranking.of_model(point)
        return one

    @cached_property
    def _areas(self) -> np.ndarray:
        """Of the first model, that of each row of weights, (R,)."""
        return np.array([self._ranking.auc(row) for row in range(len(self._own))])

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
        if self._ranking.is_exact:
            return 0.0
        errors = [self._ranking.auc_error(row) for row in range(len(self._own))]
        return max((error for error in errors if not np.isnan(error)), default=np.nan)

    def to_state(self) -> dict[str, Any]:
        groups = {"own": self._own, "against": self._against, "either": self._either, "classes": self.classes}
        return {**groups, **self._sizes, "ranking": self._ranking.to_state()}

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
        if not isinstance(state["either"], bool):
            raise ValueError(f"either should be true or false, not {state['either']!r}")
        judged = cls(own, against, state["either"], classes, n_models, exact_rows, n_bins)
        judged._ranking.restore(state["ranking"])
        return judged
