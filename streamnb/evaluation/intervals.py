"""Intervals of the metrics of an `Evaluation`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from streamnb.evaluation import estimates, metrics, ranking_estimates
from streamnb.evaluation.estimates import (
    CalibrationEstimate,
    Estimate,
    effective_rows,
    filled_buckets,
    has_whole_weights,
    per_weight,
)
from streamnb.evaluation.tallied import Tallied, check_intervals
from streamnb.evaluation.tallies import BUCKETS

ONE_GROUP = (
    "groups has one group, or two or three that were hashed alike; an interval needs rows of several groups, the more "
    "the better"
)


def interval(judged: Tallied, metric: str, *args: Any, **options: Any) -> tuple[Any, Any]:
    """Interval of a metric, which holds its true value with the confidence that `interval=` named.

    "True" is the value of all rows like these: of the population that the rows, or groups, were drawn from. The model
    is what it is; how it would vary if it were trained again is not part of the interval.

    Parameters
    ----------
    metric : str
        The name of a method that is a metric, such as "roc_auc".
    *args, **options
        Those of the method, such as ``average=None`` for an interval of each class.

    Returns
    -------
    (low, high)
        Floats, or (K,) each with ``average=None``; NaN where the metric is undefined, and for classes without rows.

    Raises
    ------
    ValueError
        The evaluation was made without intervals, lacks what the metric needs, or has rows of one group only; or there
        is no metric of this name, which the message lists.

    Examples
    --------
    >>> import streamnb as snb
    >>> judged = snb.evaluate(["a", "b"] * 50, ["a", "b"] * 45 + ["b", "a"] * 5, interval=0.95)
    >>> low, high = judged.interval("accuracy")
    >>> round(low, 3), round(high, 3)
    (0.826, 0.945)
    """
    if metric not in ESTIMATES:
        listed = ", ".join(map(repr, sorted(ESTIMATES)))
        raise ValueError(f"there is no interval of {metric!r}; it should be one of {listed}")
    check_groups(judged)
    return interval_if_any(judged, metric, *args, **options)


def interval_if_any(judged: Tallied, metric: str, *args: Any, **options: Any) -> tuple[Any, Any]:
    """The same for tables: NaN where rows are of one group alone."""
    estimate = ESTIMATES[metric](judged, *args, **options)
    assert judged.level is not None
    return estimate.bounds(judged.level)


def check_groups(judged: Tallied) -> None:
    """Refuse intervals of rows of one group alone."""
    check_intervals(judged)
    if judged.is_grouped and filled_buckets(judged) == 1:
        raise ValueError(ONE_GROUP)


def rows_per_weight(judged: Tallied) -> float | None:
    """Equal rows for each unit of weight; None of rows in groups, and of weights that may be no counts."""
    if judged.level is None:
        if judged.weight == judged.n_rows:
            return 1.0
        return None
    if judged.is_grouped:
        return None
    return per_weight(judged)


def described(judged: Tallied) -> str:
    """What intervals are of, in words."""
    start = f"{100.0 * (judged.level or 0.0):g} % intervals of "
    if judged.is_grouped:
        n = filled_buckets(judged)
        if n == 1:
            return "no intervals: all rows are of one group"
        return start + (f"{n} groups" if n < BUCKETS // 8 else f"groups in {n} buckets")
    if has_whole_weights(judged):
        return start + "independent rows"
    return start + f"rows with fractional weights, as many as {effective_rows(judged):,.0f} of equal weight"


def _rate(kind: str) -> Callable[..., Estimate]:
    def of(judged: Tallied, average: str | None = "binary", **options: Any) -> Estimate:
        value = getattr(metrics, kind)(judged, average, **options)  # refuses what it does not take
        if average == "samples":
            return estimates.of_rows(judged, value, "decisions", kind)
        return estimates.rate(judged, kind, average, **options)

    return of


def _mean(name: str, tally: str, metric: Callable[..., float], judged: Tallied, **options: Any) -> Estimate:
    """The estimate of a metric that is the mean over rows of a value with this name in a tally."""
    return estimates.of_rows(judged, metric(judged, **options), tally, name)  # the metric refuses options


ESTIMATES: dict[str, Callable[..., Estimate | CalibrationEstimate]] = {
    "accuracy": partial(_mean, "right", "decisions", metrics.accuracy),
    "balanced_accuracy": estimates.balanced_accuracy,
    **{kind: _rate(kind) for kind in ("precision", "recall", "specificity", "f_score")},
    "matthews_corrcoef": estimates.matthews_corrcoef,
    "cohen_kappa": estimates.cohen_kappa,
    "hamming_loss": partial(_mean, "hamming", "decisions", metrics.hamming_loss),
    "jaccard": partial(_mean, "jaccard", "decisions", metrics.jaccard),
    "subset_accuracy": partial(_mean, "right", "decisions", metrics.subset_accuracy),
    "ranking_loss": partial(_mean, "ranking_loss", "ranking_loss", metrics.ranking_loss),
    "log_loss": partial(estimates.loss, name="log_loss"),
    "brier": partial(estimates.loss, name="brier"),
    "expected_calibration_error": estimates.expected_calibration_error,
    "roc_auc": ranking_estimates.roc_auc,
    "roc_auc_margin": ranking_estimates.roc_auc_margin,
    "average_precision": ranking_estimates.average_precision,
}
