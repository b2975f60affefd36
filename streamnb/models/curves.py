"""Isotonic calibration curves from class scores to probabilities."""

from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from streamnb.core import persistence
from streamnb.problem.schemes import Joint, Reference, Scheme

Knots = tuple[np.ndarray, np.ndarray]  # ascending scores and their probabilities, interpolated linearly


def is_softmax(scheme: Scheme) -> bool:
    """Return whether the probabilities of a scheme are a softmax over the scores of all classes."""
    return isinstance(scheme, Joint | Reference)


@persistence.register
@dataclass(frozen=True, eq=False)
class Curves(persistence.Parameters):
    """A curve from log-odds to probability for each class of a softmax, else for each row of weights."""

    knots: list[Knots]

    def _check_loaded(self) -> None:
        for x, p in self.knots:
            persistence.array("knots", x, ["f8"], (None,))
            persistence.array("knots", p, ["f8"], x.shape)
            if not len(x) or not (np.diff(x) > 0.0).all() or not ((p > 0.0) & (p < 1.0)).all():
                raise ValueError("knots of a curve should be rising scores with probabilities inside (0, 1)")

    def check(self, scheme: Scheme, n_classes: int) -> "Curves":
        """Return self if the curves fit a scheme with so many classes; raise an error otherwise."""
        wanted = n_classes if is_softmax(scheme) else scheme.n_rows(n_classes)
        if len(self.knots) != wanted:
            raise ValueError(f"there are {len(self.knots)} curves for {wanted} scores")
        return self

    def applied(self, scheme: Scheme, margins: np.ndarray) -> np.ndarray:
        """Return margins (n, R) with the probabilities of the curves, normalised to sum to 1 for a softmax."""
        scores = scheme.ranking(margins) if is_softmax(scheme) else margins
        p = np.empty_like(scores)
        for k, (x, values) in enumerate(self.knots):
            p[:, k] = np.interp(scores[:, k], x, values)
        sure = np.isinf(scores)  # classes and labels that no row of the fit had, or every row
        if not is_softmax(scheme):
            return np.where(sure, scores, logit(p))
        logs = np.where(sure, scores, np.log(p))
        if scheme.reference is None:
            return logs
        return np.delete(logs - logs[:, [scheme.reference]], scheme.reference, axis=1)
