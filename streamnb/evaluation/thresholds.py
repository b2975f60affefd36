"""Thresholds of a score: precision and recall at each, and the best one for what is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import beta

from streamnb.core import arguments
from streamnb.evaluation.metrics import class_number
from streamnb.evaluation.score_order import Levels
from streamnb.evaluation.tallied import Tallied, ranking
from streamnb.evaluation.tallies import ratio

DEMANDS = ("precision", "recall", "specificity")
BEST = {"precision": "recall", "recall": "precision", "specificity": "recall"}  # what is highest under the demand
MISTAKES = ("false_positive", "false_negative")
_ROUNDED = 1e-12  # rounding error of sums of shares


@dataclass(frozen=True)
class Threshold:
    """Rows that score `value` or more are assigned to a class; the rates that follow.

    Attributes
    ----------
    value : float
        ``float(threshold)`` returns it, and ``model.set_threshold(threshold)`` applies it.
    class_ : label
        The class to detect.
    precision, recall, specificity : float
        Shares of the rows that were judged.
    share : float
        Share of all rows at or above the threshold.
    cost : float or None
        Mean cost of a row, where `cost` was given.
    """

    value: float
    class_: Any
    precision: float
    recall: float
    specificity: float
    share: float
    cost: float | None = None

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        rates = f"precision {self.precision:.3g}, recall {self.recall:.3g}, specificity {self.specificity:.3g}"
        cost = ""
        if self.cost is not None:
            cost = f", {self.cost:.3g} a row"
        return f"{self.class_!r} from {self.value:.6g} on: {rates}, {100 * self.share:.3g} % of the rows{cost}"


@dataclass(frozen=True, eq=False)
class Cuts:
    """What comes of each threshold, from the highest, above all rows, to the lowest, below all of them.

    Attributes
    ----------
    values : (m + 1,)
    true, false : (m + 1,)
        Weight of the rows of the class, and of the others, at or above each.
    """

    values: np.ndarray
    true: np.ndarray
    false: np.ndarray

    @classmethod
    def of(cls, levels: Levels) -> Cuts:
        """The thresholds between levels, halfway where scores are known, so that rounding decides no row."""
        values = levels.thresholds.copy()
        upper, lower = values[:-1], values[1:]
        with np.errstate(invalid="ignore"):
            middle = lower + 0.5 * (upper - lower)
        between = ~levels.blurred[:-1] & np.isfinite(middle) & (middle > lower)
        upper[between] = middle[between]
        counts = (np.append(0.0, np.cumsum(weight)) for weight in (levels.positive, levels.negative))
        return cls(np.append(np.inf, values), *counts)

    @property
    def precision(self) -> np.ndarray:
        return ratio(self.true, self.true + self.false, np.nan)

    @property
    def recall(self) -> np.ndarray:
        return self.true / self.true[-1]

    @property
    def specificity(self) -> np.ndarray:
        return ratio(self.false[-1] - self.false, np.full(len(self.false), self.false[-1]), np.nan)

    @property
    def share(self) -> np.ndarray:
        return (self.true + self.false) / (self.true[-1] + self.false[-1])

    def cost(self, of_mistakes: tuple[float, float]) -> np.ndarray:
        """The mean cost of a row, given that of a false positive and of a false negative."""
        positive, negative = of_mistakes
        return (positive * self.false + negative * (self.true[-1] - self.true)) / (self.true[-1] + self.false[-1])

    def least(self, rate: str, confidence: float | None) -> np.ndarray:
        """A rate at each threshold, or its lower bound at this confidence (Clopper and Pearson 1934), one-sided."""
        if confidence is None:
            return getattr(self, rate)
        right = self.false[-1] - self.false if rate == "specificity" else self.true
        wrong = {"precision": self.false, "recall": self.true[-1] - self.true, "specificity": self.false}[rate]
        with np.errstate(invalid="ignore"):
            return np.where(right > 0.0, beta.ppf(1.0 - confidence, right, wrong + 1.0), 0.0)


def threshold(
    judged: Tallied,
    label: Any = None,
    *,
    precision: float | None = None,
    recall: float | None = None,
    specificity: float | None = None,
    share: float | None = None,
    cost: Mapping[str, float] | None = None,
    confidence: float | None = None,
) -> Threshold:
    """Find the best threshold on the score of a class for one requirement: ``threshold(precision=0.9)``.

    Give one of `precision`, `recall`, `specificity`, `share` and `cost`.

    Parameters
    ----------
    label : one of `classes`
        Class 1 of two unless given; required for more, one class against the rest.
    precision, specificity : float, optional
        Of the thresholds with at least this rate, the one with the highest recall.
    recall : float, optional
        Of the thresholds with at least this recall, the one with the highest precision.
    share : float, optional
        The lowest threshold that no more than this share of all rows reaches.
    cost : dict, optional
        ``{"false_positive": 1, "false_negative": 10}``: the threshold with the lowest mean cost.
    confidence : float, optional
        Require the lower bound of the rate at this confidence, not just the rate, to reach the requirement: with 0.95
        it also holds for new rows in 95 of 100 such samples. For `precision`, `recall` and `specificity`.

    Returns
    -------
    Threshold
        Its `value`, with the precision, recall and specificity there. The value is in the units by which rows were
        ranked: of `decision_function` for two classes, log-odds of the probability for more, and probabilities if
        `evaluate` was given `proba` alone. Where scores are kept in histograms, thresholds are edges of bins; counts
        there are exact.

    Raises
    ------
    ValueError, TypeError
        Not exactly one requirement is given; a rate is not between 0 and 1; more than two classes and no `label`; there
        are no rows of the class, or no others for `specificity`; or no threshold meets the requirement: the message
        says how close one comes.

    Notes
    -----
    The bound is that of Clopper and Pearson (1934) for the share of independent rows; weights count as numbers of rows.
    A threshold is chosen among many, and does best on the rows it was chosen on: judge it on others.

    Examples
    --------
    >>> import streamnb as snb
    >>> judged = snb.evaluate([0, 0, 1, 0, 1, 1], scores=[-2.0, -1.0, -0.5, 0.5, 1.0, 2.0])
    >>> judged.threshold(precision=0.9).value, judged.threshold(recall=1.0).value
    (0.75, -0.75)
    >>> print(judged.threshold(cost={"false_positive": 1, "false_negative": 10}))
    1 from -0.75 on: precision 0.75, recall 1, specificity 0.667, 66.7 % of the rows, 0.167 a row
    """
    demands: dict[str, Any] = {"precision": precision, "recall": recall, "specificity": specificity, "share": share}
    demands["cost"] = cost
    given = [name for name, value in demands.items() if value is not None]
    if len(given) != 1:
        what = "nothing is demanded"
        if given:
            what = f"{' and '.join(f'{name}=' for name in given)} exclude each other"
        raise ValueError(f"{what}; give one of precision=, recall=, specificity=, share= and cost=")
    name = given[0]
    demand: Any = (_costs if name == "cost" else partial(_check_rate, name))(demands[name])
    _check_confidence(confidence, name)
    k = class_number(judged, label, "threshold")
    cuts = _cuts(judged, k)
    if name == "cost":
        at = int(cuts.cost(demand).argmin())
    elif name == "share":
        at = int(np.flatnonzero(cuts.share <= demand + _ROUNDED)[-1])
    else:
        at = _best(cuts, name, demand, confidence)
    rates = [float(getattr(cuts, rate)[at]) for rate in (*DEMANDS, "share")]
    chosen = Threshold(float(cuts.values[at]), judged.classes[k].item(), *rates)
    if name != "cost":
        return chosen
    return replace(chosen, cost=float(cuts.cost(demand)[at]))


def precision_recall_curve(judged: Tallied, label: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Precision and recall, (m + 1,) each, at rising thresholds (m,), as scikit-learn's function of that name.

    The last precision is 1 and the last recall 0, without a threshold.

    Parameters
    ----------
    label : one of `classes`
        Class 1 of two unless given; required for more, one class against the rest.

    Raises
    ------
    ValueError
        There are more than two classes and no `label`, or the label is not a class; there are no rows of the class.

    Examples
    --------
    >>> import streamnb as snb
    >>> judged = snb.evaluate([0, 1, 0, 1], scores=[0.1, 0.2, 0.3, 0.4])
    >>> for values in judged.precision_recall_curve():
    ...     print(values.round(2).tolist())
    [0.5, 0.67, 0.5, 1.0, 1.0]
    [1.0, 1.0, 0.5, 0.5, 0.0]
    [0.1, 0.2, 0.3, 0.4]
    """
    k = class_number(judged, label, "precision_recall_curve")
    levels, cuts = ranking(judged).levels(k), _cuts(judged, k)
    return np.append(cuts.precision[:0:-1], 1.0), cuts.recall[::-1], levels.thresholds[::-1]


def cost_curve(judged: Tallied, cost: Mapping[str, float], label: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """The mean cost of a row at each threshold, and the falling thresholds, (m + 1,) each, the first infinity.

    Parameters
    ----------
    cost : dict
        ``{"false_positive": 1, "false_negative": 10}``.
    label : one of `classes`
        Class 1 of two unless given; required for more, one class against the rest.

    Raises
    ------
    ValueError, TypeError
        The costs are not two numbers from 0 on; otherwise as `precision_recall_curve`.

    Examples
    --------
    >>> import streamnb as snb
    >>> judged = snb.evaluate([0, 1, 0, 1], scores=[0.0, 1.0, 2.0, 3.0])
    >>> costs, thresholds = judged.cost_curve({"false_positive": 1, "false_negative": 2})
    >>> costs.tolist(), thresholds.tolist()
    ([1.0, 0.5, 0.75, 0.25, 0.5], [inf, 2.5, 1.5, 0.5, 0.0])
    """
    costs = _costs(cost)
    cuts = _cuts(judged, class_number(judged, label, "cost_curve"))
    return cuts.cost(costs), cuts.values


def _cuts(judged: Tallied, k: int) -> Cuts:
    """The thresholds of a class; refuse one without rows."""
    levels = ranking(judged).levels(k)
    if not levels.positive.any():
        raise ValueError(f"no row of {judged.classes[k].item()!r} was judged, so it has no recall")
    return Cuts.of(levels)


def _check_rate(name: str, rate: Any) -> float:
    if not 0.0 < arguments.finite_number(name, rate) <= 1.0:
        raise ValueError(f"{name}={rate!r} should be above 0 and at most 1, such as 0.9")
    return float(rate)


def _check_confidence(confidence: Any, name: str) -> None:
    if confidence is None:
        return
    if name not in DEMANDS:
        raise ValueError(f"confidence={confidence!r} needs precision=, recall= or specificity=, not {name}=")
    if not 0.0 < arguments.finite_number("confidence", confidence) < 1.0:
        raise ValueError(f"confidence={confidence!r} should be between 0 and 1, such as 0.95")


def _costs(cost: Any) -> tuple[float, float]:
    """The costs of a false positive and of a false negative, checked."""
    if not isinstance(cost, Mapping) or {*cost} != {*MISTAKES}:
        raise ValueError(f"cost={cost!r} should be a dict such as {{'false_positive': 1, 'false_negative': 10}}")
    positive, negative = (arguments.finite_number(f"cost[{name!r}]", cost[name], minimum=0.0) for name in MISTAKES)
    return positive, negative


def _best(cuts: Cuts, name: str, demand: float, confidence: float | None) -> int:
    """The number of the best threshold that reaches a demand."""
    reached = cuts.least(name, confidence)
    fits = reached >= demand - _ROUNDED
    if not fits.any():
        if np.isnan(reached).all():
            raise ValueError(f"{name}={demand!r} is not reached at any threshold: all rows are of the class")
        known = np.where(np.isnan(reached), -np.inf, reached)
        most = int(known.argmax())
        bound = ""
        if confidence is not None:
            bound = f", with confidence {confidence:g}"
        raise ValueError(
            f"{name}={demand!r} is not reached at any threshold{bound}: the highest is {known[most]:.4g}, from "
            f"{cuts.values[most]:.6g} on, with {BEST[name]} {getattr(cuts, BEST[name])[most]:.4g}"
        )
    worth = np.where(fits, getattr(cuts, BEST[name]), -np.inf)
    # of equal ones the highest, which takes the fewest rows
    return int(np.flatnonzero(worth >= np.nanmax(worth) - _ROUNDED)[0])
