"""Evaluations class by class: the report of all classes, and the pairs of classes that are confused most."""

from __future__ import annotations

from typing import Any

import numpy as np

from streamnb.core import arguments
from streamnb.core.frames import pandas_for
from streamnb.evaluation import metrics
from streamnb.evaluation.intervals import interval
from streamnb.evaluation.tallied import Tallied, check_single, decisions, has, kept
from streamnb.evaluation.tallies import ratio

RATES = {"precision": "precision", "recall": "recall", "f1-score": "f_score"}


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
        if not judged.multilabel:  # the micro average, but for rows whose label is unknown
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
    return (value,) if judged.level is None else (value, *interval(judged, metric, **options))


def _shown(judged: Tallied, worst: int | None) -> np.ndarray:
    """Numbers of the classes that are shown."""
    tally = decisions(judged)
    occurs = np.full(judged.n_classes, True) if judged.multilabel else (tally.true > 0.0) | (tally.predicted > 0.0)
    classes = np.flatnonzero(occurs)
    if worst is None:
        return classes
    worst = arguments.positive_integer("worst", worst)
    return classes[np.lexsort((-tally.true[classes], metrics.f_score(judged, None)[classes]))[:worst]]


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
