"""Matches the classes of two statistics by label."""

from dataclasses import replace
from typing import Any

import numpy as np

from streamnb.core import label_checks, messages
from streamnb.stats.sparse_tables import extended


def merged_classes(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the sorted union of two sets of labels of the same kind."""
    if len(a) and len(b) and label_checks.label_kind(a) != label_checks.label_kind(b):
        raise ValueError(
            f"labels are of two kinds, {label_checks.label_kind(a)} such as {a[0].item()!r} and "
            f"{label_checks.label_kind(b)} "
            f"such as {b[0].item()!r}; give all labels one kind (those of classes= and of earlier calls, too)"
        )
    if not len(a) or not len(b):
        return a if len(a) else b
    if a.dtype.kind != b.dtype.kind and max(_largest(a), _largest(b)) > 2**53:
        raise ValueError(
            f"y holds labels of dtype {b.dtype} and {a.dtype}, too large to be compared; give all one dtype"
        )
    return np.union1d(a, b)


def _largest(labels: np.ndarray) -> float:
    return float(np.abs(labels.astype(np.float64)).max()) if labels.dtype.kind in "iuf" else 0.0


def positions(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the index of each of the sorted `classes` in the sorted `labels`, -1 if it is missing."""
    if labels is classes:
        return np.arange(len(classes))
    if len(labels) == 0:
        return np.full(len(classes), -1)
    at = np.minimum(np.searchsorted(labels, classes), len(labels) - 1)
    return np.where(labels[at] == classes, at, -1)


def check_classes(a: Any, b: Any) -> None:
    """Raise an error if the listed classes of two statistics differ."""
    fixed = a.multilabel or (a.closed and b.closed)
    if fixed and not np.array_equal(a.classes, b.classes):
        lists = f"{messages.listed(a.classes)}, and {messages.listed(b.classes)}"
        raise ValueError(f"the statistics were scanned with different classes: {lists}; give both scans the same list")
    for closed, opened in ((a, b), (b, a)):
        if closed.closed and not np.isin(opened.classes[opened.rows > 0], closed.classes).all():
            strangers = opened.classes[~np.isin(opened.classes, closed.classes)]
            raise ValueError(f"label {strangers[0].item()!r} is not in classes={messages.listed(closed.classes)}")


def widened(stats: Any, n_labels: int) -> Any:
    """Return statistics as of an indicator with `n_labels` columns, no label being set in the added ones."""
    new = n_labels - len(stats.classes)
    if not stats.multilabel or stats.closed or new <= 0:
        return stats
    tables = {name: extended(table, new) for name, table in stats.tables.items()}
    rows = np.concatenate([stats.rows, np.zeros(new, np.int64)])
    folds = tuple(widened(fold, n_labels) for fold in stats.folds)
    overlaps = stats.overlaps and stats.overlaps.widened(n_labels)
    return replace(stats, classes=np.arange(n_labels), rows=rows, tables=tables, folds=folds, overlaps=overlaps)
