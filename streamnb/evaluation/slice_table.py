"""The table of the metrics of slices, the worst first, and the evaluation of one slice."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from scipy.special import ndtri

from streamnb.core import messages
from streamnb.core.frames import pandas_for
from streamnb.evaluation.slice_columns import Label
from streamnb.evaluation.slices import Slices
from streamnb.evaluation.tallied import Tallied, has, is_binary, kept

OTHER = "other"  # slices with few rows together
LESS_IS_BETTER = "log_loss", "brier", "hamming_loss"
COLUMNS = "column", "slice", "n_rows", "metric", "value", "low", "high", "whole", "gap"


def slice_of(judged: Tallied, column: str, value: Any) -> Any:
    """The evaluation of one slice.

    Parameters
    ----------
    column : str
        Name of one of the columns that `by` gave.
    value : str, number, bool or None
        Value of its rows; None for rows where it is missing, and for bins their name, such as ``"(18, 35]"``.

    Returns
    -------
    Evaluation
        Its ranking metrics come from histograms of 1,024 bins beyond 1,000 rows.

    Raises
    ------
    ValueError
        The evaluation was made without `by`, or there is no such column or slice: the message lists them.

    Examples
    --------
    >>> import streamnb as snb
    >>> judged = snb.evaluate([0, 1, 1, 0], [0, 1, 0, 0], by={"ward": ["A", "A", "B", "B"]})
    >>> judged.slice("ward", "B").accuracy()
    0.5
    """
    evaluations = {one.name: found for one, found in _slices(judged).each()}
    if column not in evaluations:
        raise ValueError(f"column={column!r} is none of those sliced by: {', '.join(map(repr, evaluations))}")
    if value not in evaluations[column]:
        known = messages.listed(np.array([*evaluations[column]], object))
        raise ValueError(f"value={value!r} is no slice of {column!r}; it should be one of {known}")
    return evaluations[column][value]


def slices(judged: Tallied) -> Any:
    """Metrics of each slice with intervals, as a data frame; the worst first.

    One row a slice and metric, with the columns

    - "column", "slice": name and value; None where it is missing, and "other" for slices of less than `min_rows` rows;
    - "n_rows", "metric", "value", and "low", "high", the ends of its interval;
    - "whole": the value of all rows together;
    - "gap": how far the slice is from that in standard errors of its own, below 0 where it is worse. A standard error
      is the half width of the interval over the quantile of its confidence, 1.96 for 95 %.

    Rows are sorted by "gap". Among many slices, some are two standard errors off by chance. Values that are undefined,
    as the ROC AUC of a slice with one class, are NaN and come last.

    Examples
    --------
    >>> import streamnb as snb
    >>> ward = ["A"] * 200 + ["B"] * 200
    >>> judged = snb.evaluate([0, 1] * 200, [0, 1] * 100 + [0, 0, 0, 1] * 50, by={"ward": ward})
    >>> print(judged.slices.query("metric == 'accuracy'").round(1).to_string(index=False))
    column slice  n_rows   metric  value  low  high  whole  gap
      ward     B     200 accuracy    0.8  0.7   0.8    0.9 -4.1
      ward     A     200 accuracy    1.0  1.0   1.0    0.9 26.0
    """
    found = []
    wholes = [(name, metric, options, _value(judged, metric, options)) for name, metric, options in _metrics(judged)]
    for column, evaluations in _slices(judged).each():
        for value, one in _pooled(evaluations, _slices(judged).slicing.min_rows):
            for name, metric, options, whole in wholes:
                numbers = _numbers(one, metric, options, whole)
                found.append((column.name, value, one.n_rows, name, *numbers[:3], whole, numbers[3]))
    found.sort(key=lambda row: np.inf if np.isnan(row[-1]) else row[-1])
    return pandas_for("slices").DataFrame(found, columns=COLUMNS)


def _slices(judged: Tallied) -> Slices:
    if not has(judged, "slices"):
        raise ValueError("this evaluation was made without slices; give by= where it is made")
    return kept(judged, "slices", "slices")


def _metrics(judged: Tallied) -> list[tuple[str, str, dict[str, Any]]]:
    """Names of the metrics that are kept, with their methods and options."""
    found: list[tuple[str, str, dict[str, Any]]] = []
    macro = {"average": "macro"}
    if has(judged, "decisions"):
        found.append(("accuracy", "accuracy", {}))
        if is_binary(judged):
            found += [(name, name, {}) for name in ("precision", "recall", "f_score")]
        else:
            found += [(f"{name}_macro", name, macro) for name in ("precision", "recall", "f_score")]
        if judged.multilabel:
            found.append(("hamming_loss", "hamming_loss", {}))
    if has(judged, "ranking") or has(judged, "margin"):
        found += [(name, name, {}) for name in ("roc_auc", "average_precision")]
    if has(judged, "losses"):
        found += [(name, name, {}) for name in ("log_loss", "brier")]
    return found


def _pooled(evaluations: dict[Label, Any], min_rows: int) -> Iterator[tuple[Label, Any]]:
    """The slices with enough rows, and last all others together."""
    few = [one for one in evaluations.values() if one.n_rows < min_rows]
    yield from ((value, one) for value, one in evaluations.items() if one.n_rows >= min_rows)
    if few:
        yield OTHER, reduce(add, few)


def _value(judged: Any, metric: str, options: dict[str, Any]) -> float:
    return float(getattr(judged, metric)(**options))


def _numbers(one: Any, metric: str, options: dict[str, Any], whole: float) -> tuple[float, float, float, float]:
    """The value of a metric in a slice, the ends of its interval, and the gap to the whole in standard errors."""
    value = _value(one, metric, options)
    if np.isnan(value):
        return value, np.nan, np.nan, np.nan
    low, high = one.interval(metric, **options)
    error = 0.5 * (high - low) / ndtri(0.5 + 0.5 * one.level)
    sign = -1.0 if metric in LESS_IS_BETTER else 1.0
    return value, low, high, sign * (value - whole) / error if error > 0.0 else np.nan
