"""From class scores to probabilities and decisions: calibration curves, thresholds, losses and rejection."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.special import logit

from streamnb.core import arguments, messages, persistence, row_checks
from streamnb.problem.schemes import Joint, Reference, Scheme, TwoClasses, odds_of_classes, probabilities, top_class

_ROUNDED = 1e-12  # rounding error of sums of shares
Knots = tuple[np.ndarray, np.ndarray]  # ascending scores and their probabilities, interpolated linearly


@persistence.register
@dataclass(frozen=True, slots=True, eq=False)
class DecisionRule(persistence.Parameters):
    """A rule for decisions other than the most probable class.

    Attributes
    ----------
    loss : (K, K) float64 or None
        L[y, s], the cost of deciding s if y is true.
    threshold : float or None
        Rows with a largest probability below it are rejected; with a loss, rows with a least expected loss above it.
    reject_label : label or None
        The prediction for a rejected row.
    possible : (K,) bool or None
        The classes that may be predicted, those that have rows; None for all.
    """

    loss: np.ndarray | None
    threshold: float | None
    reject_label: Any
    possible: np.ndarray | None = None

    @classmethod
    def of(cls, loss: Any, threshold: Any, reject_label: Any) -> DecisionRule | None:
        """Make a rule, checked as far as possible without classes; None for the most probable class."""
        loss = None if loss is None else _square(loss)
        if threshold is None:
            if reject_label is not None:
                raise ValueError(f"reject_label={reject_label!r} needs threshold=, which is not given")
            return None if loss is None else cls(loss, None, None)
        threshold = arguments.finite_number("threshold", threshold)
        if loss is None and not 0.0 < threshold < 1.0:
            raise ValueError(
                f"threshold={threshold:g} should be between 0 and 1: rows whose largest probability is below it are "
                "rejected (with loss= it is an expected loss)"
            )
        if reject_label is None:
            raise ValueError(
                f"threshold={threshold:g} needs reject_label=, what predict returns for a row that is rejected"
            )
        label = row_checks.check_labels([reject_label], "reject_label")[0].item()
        return cls(
            loss, threshold, int(label) if isinstance(label, float) else label
        )  # a label 2.0 would turn the others into floats

    def checked(self, classes: np.ndarray, scheme: Scheme, possible: np.ndarray) -> Self:
        """Return the rule for these classes (K,) and scheme; raise an error if it does not fit them."""
        what = "threshold" if self.loss is None else "loss"
        if scheme.multilabel:
            raise ValueError(f"{what}= is for one label a row, not for an indicator of labels")
        if not scheme.has_probabilities:
            raise ValueError(f"{what}= needs class probabilities, which scheme={scheme.name!r} has none of")
        if self.loss is not None and len(self.loss) != len(classes):
            raise ValueError(
                f"loss has shape {self.loss.shape} for {len(classes)} classes; it should be "
                f"({len(classes)}, {len(classes)}), in the order {messages.listed(classes)}"
            )
        if self.reject_label is not None:
            self._check_reject_label(classes)
        return replace(self, possible=None if possible.all() else possible)

    def restored(self, classes: np.ndarray, scheme: Scheme) -> Self:
        """Return the loaded rule; raise an error if it does not fit the classes."""
        possible = np.ones(len(classes), bool)
        if self.possible is not None:
            possible = persistence.array("possible", self.possible, ["b1"], possible.shape)
        if self.of(self.loss, self.threshold, self.reject_label) is None:
            raise ValueError("there is a rule without a loss or a threshold")
        return self.checked(classes, scheme, possible)

    def _check_reject_label(self, classes: np.ndarray) -> None:
        kind, given = row_checks.label_kind(classes), row_checks.label_kind(np.array([self.reject_label]))
        if given != kind and (kind, given) != ("bools", "numbers"):
            right = "a number" if kind in ("numbers", "bools") else "a string"
            raise ValueError(f"reject_label={self.reject_label!r} should be {right}, for the classes are {kind}")
        if self.reject_label in classes.tolist():
            raise ValueError(f"reject_label={self.reject_label!r} is a class; it should be another label")

    def labels(self, classes: np.ndarray) -> np.ndarray:
        """Return all possible predictions: the classes, and last the label of rejected rows."""
        return classes if self.reject_label is None else np.append(classes, self.reject_label)

    def decide(self, scheme: Scheme, margins: np.ndarray) -> np.ndarray:
        """Return the number of the prediction for each row, -1 if it is rejected, (n_rows,).

        It is argmin_s sum_y L[y, s] P(y | x) among the classes that have rows, the first of equal losses.
        """
        shares = probabilities(scheme, margins)
        if self.loss is None:
            decided, rejected = scheme.decide(margins), shares.max(axis=1) < (self.threshold or 0.0)
        else:
            expected = shares @ self.loss
            if self.possible is not None:
                expected[:, ~self.possible] = np.inf
            # scores give the same decision, and separate classes whose probabilities round to 1
            decided = scheme.decide(margins) if _is_zero_one(self.loss) else expected.argmin(axis=1)
            limit = np.inf if self.threshold is None else self.threshold
            rejected = expected.min(axis=1) > limit
        return np.where(rejected, -1, decided)


def _square(loss: Any) -> np.ndarray:
    try:
        given = np.array(loss, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"loss={loss!r} should be a square array of numbers: {error}") from error
    if given.ndim != 2 or given.shape[0] != given.shape[1]:
        raise ValueError(
            f"loss has shape {given.shape}; it should be (n_classes, n_classes), loss[y, s] being what it costs to "
            "decide s where y is true"
        )
    if not np.isfinite(given).all():
        y, s = np.argwhere(~np.isfinite(given))[0]
        raise ValueError(f"loss[{y}, {s}]={given[y, s]} should be finite")
    return given


def _is_zero_one(loss: np.ndarray) -> bool:
    """Return whether all mistakes cost the same, and more than correct decisions."""
    right = np.eye(len(loss), dtype=bool)
    mistakes, rights = loss[~right], loss[right]
    return bool(mistakes.size and np.ptp(mistakes) == 0.0 and np.ptp(rights) == 0.0 and mistakes[0] > rights[0])


def balancing_shift(
    scores: Any,
    y_true: Any,
    *,
    sample_weight: Any = None,
    specificity: float | None = None,
    sensitivity: float | None = None,
    youden: bool = False,
) -> float:
    """Return the shift of the intercept of two classes that balances sensitivity and specificity on given rows.

    Sensitivity is the share of the rows of the second class (in sorted order) with ``scores + shift > 0``,
    specificity the share of the rows of the first class without. Alternatively, one of the two is prescribed.

    Parameters
    ----------
    scores : (n_rows,)
        `decision_function` of rows that the model was not fitted on.
    y_true : (n_rows,)
        Their labels, of two classes.
    sample_weight : (n_rows,), optional
    specificity, sensitivity : float, optional
        Between 0 and 1: among the shifts with at least this rate, choose those with the highest other rate.
    youden : bool
        Maximise Youden's J = sensitivity + specificity - 1 (1950).

    Returns
    -------
    float
        For ``model.shifted(shift)`` or ``refit(intercept_shift=shift)``. If several are equally good, the middle of
        their interval.

    Raises
    ------
    ValueError, TypeError
        The scores are not one finite number a row, or the labels are not of two classes with some weight; a rate is
        not between 0 and 1; more than one criterion is given.

    Examples
    --------
    >>> import streamnb as snb
    >>> model = snb.LinearNB("poisson").fit([[2], [3], [0], [1]], ["ill", "ill", "well", "well"])
    >>> X_val, y_val = [[2], [1], [1], [0]], ["ill", "ill", "well", "well"]
    >>> shift = snb.balancing_shift(model.decision_function(X_val), y_val)
    >>> model.refit(intercept_shift=shift).predict([[4], [0]]).tolist()
    ['ill', 'well']
    """
    _check_wishes(specificity, sensitivity, youden)
    margins = np.asarray(scores)
    if margins.dtype.kind not in "iuf" or margins.ndim != 1:
        raise ValueError(
            f"scores has shape {margins.shape} and dtype {margins.dtype}; it should be (n_rows,) numbers, as "
            "decision_function gives for two classes"
        )
    if not np.isfinite(margins).all():
        raise ValueError(f"scores has {margins[~np.isfinite(margins)][0]}; they should be finite")
    labels = row_checks.check_labels(y_true, "y_true")
    row_checks.check_lengths(len(margins), len(labels), "y_true")
    weight = np.ones(len(margins)) if sample_weight is None else row_checks.check_weights(sample_weight)
    row_checks.check_lengths(len(margins), len(weight), "sample_weight")
    margins, labels, weight = margins[weight > 0], labels[weight > 0], weight[weight > 0]
    classes = np.unique(labels)
    if len(classes) != 2:
        raise ValueError(f"y_true has the labels {messages.listed(classes)}; balancing is between rows of two classes")
    levels, at = np.unique(margins, return_inverse=True)
    positive = labels == classes[1]
    missed, right = (np.bincount(at, weight * side) / weight[side].sum() for side in (positive, ~positive))
    sensitive, specific = 1.0 - np.append(0.0, np.cumsum(missed)), np.append(0.0, np.cumsum(right))
    if specificity is not None or sensitivity is not None or youden:
        # with one border above all scores and one below: no other may reach the rate that is wanted
        worth = sensitive + specific if youden else sensitive if specificity is not None else specific
        constrained, wanted = (specific, specificity) if specificity is not None else (sensitive, sensitivity or 0.0)
        worth = np.where(constrained >= wanted - _ROUNDED, worth, -np.inf)
        edges = np.concatenate([[levels[0] - 1.0], levels, [levels[-1] + 1.0]])
        best = np.flatnonzero(worth >= worth.max() - _ROUNDED)
    else:
        if len(levels) == 1:
            return -float(levels[0])  # all rows have the same score: put them on the boundary
        gap = np.abs(sensitive - specific)[1:-1]  # for borders from each level up to the next
        edges = levels
        best = np.flatnonzero(gap <= gap.min() + _ROUNDED)
    last = best[np.argmax(np.append(np.diff(best) > 1, True))]  # the last of the first run of adjacent ones
    low, high = float(edges[best[0]]), float(edges[last + 1])
    middle = low + (high - low) / 2.0
    return -(middle if middle < high else low)


def _check_wishes(specificity: Any, sensitivity: Any, youden: Any) -> None:
    arguments.one_of("youden", youden, [False, True])
    for name, rate in (("specificity", specificity), ("sensitivity", sensitivity)):
        if rate is not None and not 0.0 < arguments.finite_number(name, rate) < 1.0:
            raise ValueError(f"{name}={rate!r} should be between 0 and 1, such as 0.95")
    if (specificity is not None) + (sensitivity is not None) + youden > 1:
        raise ValueError("specificity=, sensitivity= and youden= exclude each other; give one of them")


@persistence.register
@dataclass(frozen=True)
class ClassThreshold(persistence.Parameters):
    """Predicts one class wherever it scores `value` or more, and otherwise the best of the other classes.

    Attributes
    ----------
    number : int
        Of the class.
    value : float
    odds : bool
        With more than two classes: whether scores are the log-odds of the probability, instead of `decision_function`.
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

    def check(self, scheme: Scheme, n_classes: int) -> Curves:
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
