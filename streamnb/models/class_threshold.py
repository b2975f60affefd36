"""A decision rule with a threshold for one class: rows that score as much are of it, all others as without it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from streamnb.core import arguments, messages, persistence
from streamnb.problem.schemes import Scheme, TwoClasses, odds_of_classes
from streamnb.problem.score_logs import top_class


@persistence.register
@dataclass(frozen=True)
class ClassThreshold(persistence.Parameters):
    """Decides for one class wherever it scores `value` or more, and otherwise for the best of the other classes.

    Attributes
    ----------
    number : int
        Of the class.
    value : float
    odds : bool
        Of more than two classes, whether the score is the log-odds of its probability, and not `decision_function`.
    """

    number: int
    value: float
    odds: bool = False

    @classmethod
    def of(cls, threshold: Any, class_: Any, classes: np.ndarray, scheme: Scheme, odds: bool) -> Self:
        """A rule for the class of this name, or of a `Threshold` that knows its class; class 1 of two otherwise."""
        if hasattr(threshold, "class_"):
            threshold, class_ = float(threshold), threshold.class_ if class_ is None else class_
        if scheme.multilabel:
            raise ValueError("a threshold is for one label a row, not for an indicator of labels")
        if class_ is None and len(classes) != 2:
            raise ValueError(f"class_ is missing; it should be one of {messages.listed(classes)}")
        at = np.array([1]) if class_ is None else np.flatnonzero(classes == class_)
        if not at.size:
            raise ValueError(f"class_={class_!r} is not a class; it should be one of {messages.listed(classes)}")
        return cls(int(at[0]), _checked(threshold), odds and len(classes) > 2)

    def restored(self, classes: np.ndarray, scheme: Scheme) -> Self:
        """The loaded rule; raise an error if it does not fit the classes."""
        if not 0 <= self.number < len(classes) or (self.odds and not scheme.has_probabilities):
            raise ValueError(f"there is a threshold of class {self.number}, and there are {len(classes)} classes")
        return self.of(self.value, classes[self.number], classes, scheme, self.odds)

    def labels(self, classes: np.ndarray) -> np.ndarray:
        """All possible predictions, the classes."""
        return classes

    def decide(self, scheme: Scheme, margins: np.ndarray) -> np.ndarray:
        """The number of the class of each row, (n_rows,)."""
        if isinstance(scheme, TwoClasses):
            score = margins[:, 0] if self.number == 1 else -margins[:, 0]
            return np.where(score >= self.value, self.number, 1 - self.number)
        scores = scheme.class_scores(margins)
        score = odds_of_classes(scheme, margins)[:, self.number] if self.odds else scores[:, self.number]
        others = np.where(np.arange(scores.shape[1]) == self.number, -np.inf, scores)
        return np.where(score >= self.value, self.number, top_class(others))


def _checked(threshold: Any) -> float:
    """The threshold as a float; infinity decides for the class never, and minus infinity always."""
    infinite = isinstance(threshold, float) and np.isinf(threshold)
    return float(threshold) if infinite else arguments.finite_number("threshold", threshold)
