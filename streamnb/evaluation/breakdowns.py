"""Breaks an evaluation down into data frames: by class, by pairs of confused classes, and by slices of the rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from scipy.special import ndtri

from streamnb.core import arguments, messages
from streamnb.core.frames import pandas_for
from streamnb.evaluation import metrics
from streamnb.evaluation.intervals import interval_if_any
from streamnb.evaluation.slices import Label, Slices
from streamnb.evaluation.tallied import Tallied, check_single, decisions, has, is_binary, kept, kinds_of
from streamnb.evaluation.tallies import ratio

RATES = {"precision": "precision", "recall": "recall", "f1-score": "f_score"}
OTHER = "other"  # slices with few rows together
LESS_IS_BETTER = "log_loss", "brier", "hamming_loss"
SLICED = {  # metrics without an average, by what is kept
    "label sets": ["hamming_loss"],
    "order": ["roc_auc", "average_precision"],
    "losses": ["log_loss", "brier"],
}
COLUMNS = "column", "slice", "n_rows", "metric", "value", "low", "high", "whole", "gap"


def report(judged: Tallied, *, worst: int | None = None) -> Any:
    """Precision, recall, F1 and support of each class, and their averages.

    The numbers are those of scikit-learn's ``classification_report(y_true, y_pred, output_dict=True)``.

    Parameters
    ----------
    worst : int, optional
        Only that many classes, those with the lowest F1, the lowest first; of equal ones those with the most rows. By
        default all classes that occur, true or predicted, in the order of `classes`.

    Returns
    -------
    pandas.DataFrame
        Indexed by class, with the columns "precision", "recall", "f1-score" and "support", the weight of the rows of
        the class. Below the classes are "accuracy", "macro avg" and "weighted avg"; for multi-label rows "micro avg",
        "macro avg", "weighted avg" and "samples avg". Averages are over all classes, whatever `worst` is.
        An evaluation made with ``interval=`` has intervals, too: "precision low", "precision high" and so on.

    Raises
    ------
    ValueError
        The evaluation has no decisions, or `worst` is no whole number above 0.

    Notes
    -----
    Accuracy stands in each of the three columns, where scikit-learn's data frame has it: for rows of one class each, it
    is precision, recall and F1 of all classes together.

    Examples
    --------
    >>> import streamnb as snb
    >>> judged = snb.evaluate(["cat", "dog", "dog", "eel"], ["cat", "dog", "cat", "eel"])
    >>> print(judged.report().round(2))
                  precision  recall  f1-score  support
    cat                0.50    1.00      0.67      1.0
    dog                1.00    0.50      0.67      2.0
    eel                1.00    1.00      1.00      1.0
    accuracy           0.75    0.75      0.75      4.0
    macro avg          0.83    0.83      0.78      4.0
    weighted avg       0.88    0.75      0.75      4.0
    """
    tally, classes = decisions(judged), _shown(judged, worst)
    averages = ["micro", "macro", "weighted", *(["samples"] if judged.multilabel else [])]
    columns: dict[str, Any] = {}
    for name, metric in RATES.items():
        of_classes = _with_interval(judged, metric, average=None)
        of_averages = [_with_interval(judged, metric, average=average) for average in averages]
        if not judged.multilabel:  # the micro average
            of_averages[0] = _with_interval(judged, "accuracy")
        for k, end in enumerate(("", " low", " high")[: len(of_classes)]):
            columns[name + end] = np.concatenate([of_classes[k][classes], [average[k] for average in of_averages]])
    columns["support"] = np.concatenate([tally.true[classes], np.full(len(averages), tally.true.sum())])
    first, *others = (f"{average} avg" for average in averages)
    names = [*judged.classes[classes].tolist(), first if judged.multilabel else "accuracy", *others]
    return pandas_for("report").DataFrame(columns, index=names)


def _with_interval(judged: Tallied, metric: str, **options: Any) -> tuple[Any, ...]:
    """The value of a metric, and the ends of its interval where intervals are kept."""
    value = getattr(metrics, metric)(judged, **options)
    if judged.level is None:
        return (value,)
    return (value, *interval_if_any(judged, metric, **options))


def _shown(judged: Tallied, worst: int | None) -> np.ndarray:
    """Numbers of the classes that are shown."""
    classes = np.flatnonzero(metrics.occurring(judged))
    if worst is None:
        return classes
    worst, weight = arguments.positive_integer("worst", worst), decisions(judged).true
    return classes[np.lexsort((-weight[classes], metrics.f_score(judged, None)[classes]))[:worst]]


def confused_pairs(judged: Tallied, n: int = 20) -> Any:
    """The `n` pairs of a true and a predicted class with the most wrongly predicted rows.

    Parameters
    ----------
    n : int

    Returns
    -------
    pandas.DataFrame
        The columns "true", "predicted", "count", the weight of the rows, and "share", of all rows of the true class.
        The most frequent first; of equal ones in the order of `classes`.

    Raises
    ------
    ValueError
        The evaluation has no decisions, or `n` is no whole number above 0; rows are multi-label.

    Notes
    -----
    Up to 1,000 classes they are read off the confusion matrix. Beyond, `evaluate` counts only the pairs that occur:
    16 bytes each, and at most as many as there are wrong rows.

    Examples
    --------
    >>> import streamnb as snb
    >>> judged = snb.evaluate(["cat", "dog", "dog", "eel"], ["cat", "cat", "cat", "dog"])
    >>> print(judged.confused_pairs(1))
      true predicted  count  share
    0  dog       cat    2.0    1.0
    """
    check_single(judged, "confused_pairs")
    n = arguments.positive_integer("n", n)
    if has(judged, "confused"):
        true, predicted, count = kept(judged, "confused", "confused").counts()
    else:
        table = decisions(judged, "confusion").table
        assert table is not None
        true, predicted = np.nonzero(table * ~np.eye(len(table), dtype=bool))
        count = table[true, predicted]
    most = np.argsort(-count, kind="stable")[:n]  # pairs are in the order of classes
    share = ratio(count, decisions(judged).true[true])
    names = judged.classes[true[most]], judged.classes[predicted[most]]
    columns = dict(zip(("true", "predicted", "count", "share"), (*names, count[most], share[most]), strict=True))
    return pandas_for("confused_pairs").DataFrame(columns)


# ---- slices ----------------------------------------------------------------------------------------------------------


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
    evaluations = {sliced.name: of_column for sliced, of_column in _slices(judged).each()}
    if column not in evaluations:
        raise ValueError(f"column={column!r} is none of those sliced by: {', '.join(map(repr, evaluations))}")
    if value not in evaluations[column]:
        known = messages.listed([*evaluations[column]])
        raise ValueError(f"value={value!r} is no slice of {column!r}; it should be one of {known}")
    return _alike(judged, evaluations[column][value])


def slices(judged: Tallied) -> Any:
    """Metrics of each slice with intervals, as a data frame; the worst first.

    One row a slice and metric, with the columns

    - "column", "slice": name and value; None where it is missing, and "other" for several slices of less than
      `min_rows` rows where others have more;
    - "n_rows", "metric", "value", and "low", "high", the ends of its interval;
    - "whole": the value of all rows together;
    - "gap": how far the slice is from that in standard errors of its own, below 0 where it is worse. A standard error
      is the half width of the interval over the quantile of its confidence, 1.96 for 95 %.

    Rows are sorted by "gap". Among many slices, some are two standard errors off by chance. Values that are undefined,
    as the ROC AUC of a slice with one class, are NaN and come last, and so are intervals of a slice whose rows are of
    one group.

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
    rows = []
    wholes = [(name, metric, options, _value(judged, metric, options)) for name, metric, options in _metrics(judged)]
    for column, evaluations in _slices(judged).each():
        for value, of_slice in pooled(evaluations, _slices(judged).slicing.min_rows):
            evaluation = _alike(judged, of_slice)
            for name, metric, options, whole in wholes:
                numbers = _numbers(evaluation, metric, options, whole)
                rows.append((column.name, value, evaluation.n_rows, name, *numbers[:3], whole, numbers[3]))
    return worst_first(rows)


def worst_first(rows: Iterable[tuple[Any, ...]]) -> Any:
    """A data frame of the metrics of slices, by their last column, "gap"."""
    rows = sorted(rows, key=lambda row: np.inf if np.isnan(row[-1]) else row[-1])
    return pandas_for("slices").DataFrame(rows, columns=COLUMNS)


def _alike(judged: Any, of_slice: Any) -> Any:
    """The evaluation of a slice, with metrics of the same class of two."""
    return of_slice.with_positive(judged.classes[judged.positive].item() if is_binary(judged) else None)


def _slices(judged: Tallied) -> Slices:
    if not has(judged, "slices"):
        raise ValueError("this evaluation was made without slices; give by= where it is made")
    return kept(judged, "slices", "slices")


def _metrics(judged: Tallied) -> list[tuple[str, str, dict[str, Any]]]:
    """Names of the metrics that are kept, with their methods and options."""
    rates = "precision", "recall", "f_score"
    if is_binary(judged):
        of_classes: list[tuple[str, str, dict[str, Any]]] = [(name, name, {}) for name in rates]
    else:
        of_classes = [(f"{name}_macro", name, {"average": "macro"}) for name in rates]
    kinds = kinds_of(judged)
    metrics_of: dict[str, list[tuple[str, str, dict[str, Any]]]] = {
        "decisions": [("accuracy", "accuracy", {}), *of_classes],
        **{kind: [(name, name, {}) for name in names] for kind, names in SLICED.items()},
    }
    return [metric for kind, of_kind in metrics_of.items() if kind in kinds for metric in of_kind]


def pooled(evaluations: dict[Label, Any], min_rows: int) -> Iterator[tuple[Label, Any]]:
    """The slices with enough rows, and last all others together, unless there is a single one, or none has enough."""
    few = {value: one for value, one in evaluations.items() if one.n_rows < min_rows}
    yield from ((value, one) for value, one in evaluations.items() if value not in few)
    if len(few) in (1, len(evaluations)):
        yield from few.items()
    elif few:
        yield OTHER, reduce(add, few.values())


def _value(judged: Any, metric: str, options: dict[str, Any]) -> float:
    return float(getattr(judged, metric)(**options))


def _numbers(one: Any, metric: str, options: dict[str, Any], whole: float) -> tuple[float, float, float, float]:
    """The value of a metric in a slice, the ends of its interval, and the gap to the whole in standard errors."""
    value = _value(one, metric, options)
    if np.isnan(value):
        return value, np.nan, np.nan, np.nan
    low, high = interval_if_any(one, metric, **options)
    error = 0.5 * (high - low) / ndtri(0.5 + 0.5 * one.level)
    sign = 1.0
    if metric in LESS_IS_BETTER:
        sign = -1.0
    return value, low, high, sign * (value - whole) / error if error > 0.0 else np.nan
