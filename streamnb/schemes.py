"""How K classes become rows of weights, and what the scores of a row mean.

A row of weights sets a positive side against a negative one. The negative side is the other class or all other
classes, pulled as much as the positive one, or (joint) the pooled model, held fixed.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, log_expit, log_softmax, logsumexp

from streamnb import _checks

Prior = tuple[Any, float]  # pseudo-sum, pseudo-count


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """Smoothed sums S and counts N of both sides: sums (R, n_columns), counts (R, 1) or (1, 1).

    `alive` (R, 1) is False in rows where a side has no weight at all: their weights are zero.
    `pooled` is True where the negative side is the pooled model.
    """

    positive: np.ndarray
    n_positive: np.ndarray
    negative: np.ndarray
    n_negative: np.ndarray
    alive: np.ndarray
    pooled: bool


class Scheme:
    """Rows of weights for K classes."""

    name: ClassVar[str]

    def n_rows(self, n_classes: int) -> int:
        """R, the rows of coef_."""
        return n_classes

    def positive_classes(self, rows: slice) -> slice:
        """The classes on the positive sides of some rows of coef_."""
        return rows

    def sides(
        self, sums: np.ndarray, total: np.ndarray, counts: np.ndarray, seen: np.ndarray, prior: Prior, classes: slice
    ) -> Sides:
        """Form the sides, each smoothed once.

        Parameters
        ----------
        sums, total : (R, n_columns), (n_columns,)
            Raw sums of the positive classes, and of all.
        counts, seen : (K,), (K,) bool
            Raw counts of all classes, and which have any weight.
        prior : pseudo-sum, pseudo-count
        classes : slice
            The positive classes, R of them.
        """
        raise NotImplementedError

    def intercepts(self, log_priors: np.ndarray) -> np.ndarray:
        """What the class priors (K,), in logs, add to each row, (R,)."""
        raise NotImplementedError

    def class_scores(self, margins: np.ndarray) -> np.ndarray:
        """From the margins of the rows (n, R) to the scores of `decision_function`."""
        return margins

    def decide(self, margins: np.ndarray) -> np.ndarray:
        """Number of the class for each row of data."""
        return margins.argmax(axis=1)

    def log_proba(self, margins: np.ndarray) -> np.ndarray:
        """Logs of the class probabilities, (n, K)."""
        raise NotImplementedError


class Joint(Scheme):
    """K generative scores, argmax; weights are deviations from the pooled model."""

    name = "joint"

    def sides(self, sums, total, counts, seen, prior, classes):
        pseudo_sum, pseudo_count = prior
        n_seen = np.count_nonzero(seen)
        positive, n_positive = sums + pseudo_sum, counts[classes, None] + pseudo_count
        pooled = (total + n_seen * pseudo_sum)[None, :], np.array([[counts.sum() + n_seen * pseudo_count]])
        return Sides(positive, n_positive, *pooled, seen[classes, None], True)

    def intercepts(self, log_priors):
        return log_priors

    def log_proba(self, margins):
        return log_softmax(margins, axis=1)


class OneVsRest(Scheme):
    """Each class against the sum of all others."""

    name = "ovr"

    def sides(self, sums, total, counts, seen, prior, classes):
        return _against_rest(sums, total, counts, seen, prior, classes)

    def intercepts(self, log_priors):
        others = np.where(np.eye(len(log_priors), dtype=bool), -np.inf, log_priors)
        return _log_ratio(log_priors, logsumexp(others, axis=1))

    def log_proba(self, margins):
        logs = log_expit(margins)
        return logs - logsumexp(logs, axis=1, keepdims=True)


class TwoClasses(Scheme):
    """The second class against the first: what every scheme comes to where K = 2."""

    name = "two classes"

    def n_rows(self, n_classes):
        return 1

    def positive_classes(self, rows):
        return slice(1, 2)

    def sides(self, sums, total, counts, seen, prior, classes):
        return _against_rest(sums, total, counts, seen, prior, classes)

    def intercepts(self, log_priors):
        return _log_ratio(log_priors[1:], log_priors[:1])

    def class_scores(self, margins):
        return margins[:, 0]

    def decide(self, margins):
        return (margins[:, 0] > 0).astype(np.intp)

    def log_proba(self, margins):
        return log_expit(np.hstack([-margins, margins]))


SCHEMES: dict[str, type[Scheme]] = {s.name: s for s in (Joint, OneVsRest)}


def as_scheme(name: Any, n_classes: int) -> Scheme:
    """The scheme of that name, or the one for two classes."""
    _checks.one_of("scheme", name, SCHEMES)
    return TwoClasses() if n_classes == 2 else SCHEMES[name]()


def probabilities(scheme: Scheme, margins: np.ndarray) -> np.ndarray:
    """Class probabilities, (n, K)."""
    if isinstance(scheme, TwoClasses):
        return expit(np.hstack([-margins, margins]))
    return np.exp(scheme.log_proba(margins))


def _against_rest(sums, total, counts, seen, prior, classes) -> Sides:
    pseudo_sum, pseudo_count = prior
    n_positive = counts[classes, None]
    rest, n_rest = total - sums, counts.sum() - n_positive
    others_seen = np.count_nonzero(seen) - seen[classes] > 0
    alive = (seen[classes] & others_seen)[:, None]
    smoothed = sums + pseudo_sum, n_positive + pseudo_count, rest + pseudo_sum, n_rest + pseudo_count
    return Sides(*smoothed, alive, False)


def _log_ratio(positive: np.ndarray, negative: np.ndarray) -> np.ndarray:
    # -inf where the positive side is empty, whatever the other side
    return np.where(np.isneginf(positive), -np.inf, positive - np.where(np.isneginf(positive), 0.0, negative))
