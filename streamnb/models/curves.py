"""Calibration by curves: what rises with the score of a class, and how often rows of such a score were of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logit

from streamnb.core import persistence
from streamnb.problem.schemes import Joint, Reference, Scheme

Knots = tuple[np.ndarray, np.ndarray]  # ascending scores and the probabilities there, straight lines between them


def is_softmax(scheme: Scheme) -> bool:
    """Whether the probabilities of a scheme come from the scores of all classes together."""
    return isinstance(scheme, Joint | Reference)


@persistence.register
@dataclass(frozen=True, eq=False)
class Curves(persistence.Parameters):
    """A curve for each class of a softmax, from its log-odds to its probability; else for each row of weights."""

    knots: list[Any]

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "Curves":
        knots = []
        for x, p in state["knots"]:
            x, p = persistence.array("knots", x, ["f8"], (None,)), persistence.array("knots", p, ["f8"], (len(x),))
            if not len(x) or not (np.diff(x) > 0.0).all() or not ((p > 0.0) & (p < 1.0)).all():
                raise ValueError("knots of a curve should be rising scores with probabilities inside (0, 1)")
            knots.append((x, p))
        return cls(knots)

    def check(self, scheme: Scheme, n_classes: int) -> "Curves":
        """Itself, where it goes with a scheme of so many classes."""
        wanted = n_classes if is_softmax(scheme) else scheme.n_rows(n_classes)
        if len(self.knots) != wanted:
            raise ValueError(f"there are {len(self.knots)} curves for {wanted} scores")
        return self

    def applied(self, scheme: Scheme, margins: np.ndarray) -> np.ndarray:
        """Margins (n, R) whose probabilities are those of the curves; of a softmax divided by their sum."""
        scores = scheme.ranking(margins) if is_softmax(scheme) else margins
        p = np.empty_like(scores)
        for k, (x, values) in enumerate(self.knots):
            p[:, k] = np.interp(scores[:, k], x, values)
        if not is_softmax(scheme):
            return logit(p)
        logs = np.log(p)
        if scheme.reference is None:
            return logs
        return np.delete(logs - logs[:, [scheme.reference]], scheme.reference, axis=1)
