"""Matches the classes of two statistics by label."""

from dataclasses import replace
from typing import Any

import numpy as np

from streamnb.core import messages, row_checks
from streamnb.stats.dense_tables import PooledTable
from streamnb.stats.sparse_tables import extended


def merged_classes(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the sorted union of two sets of labels of the same kind."""
    if len(a) and len(b) and row_checks.label_kind(a) != row_checks.label_kind(b):
        raise ValueError(
            f"labels are of two kinds, {row_checks.label_kind(a)} such as {a[0].item()!r} and "
            f"{row_checks.label_kind(b)} "
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


def check_alike(ours: Any, theirs: Any) -> None:
    """Raise an error if two statistics are not of the same columns, scanned in the same way."""
    if theirs.n_features != ours.n_features:
        raise ValueError(
            f"these statistics have {ours.n_features} features, the others {theirs.n_features}; scan the same columns "
            "of both"
        )
    for name in ("step", "transform", "scale", "normalize", "binarize", "centre", "columns"):
        one, two = getattr(ours.options, name), getattr(theirs.options, name)
        if one != two:
            cure = "; scan both with transform=stats.step" if name == "step" else ""
            raise ValueError(f"these statistics were scanned with {name}={one!r}, the others with {two!r}{cure}")
    if ours.tables.keys() != theirs.tables.keys():
        have, get = (sorted(set(stats.tables) - {"weight"}) for stats in (ours, theirs))
        raise ValueError(f"these statistics hold the moments {have}, the others {get}; scan both with the same")
    if pooled_names(ours) != pooled_names(theirs):
        raise ValueError("sums are pooled over the classes in one of the statistics alone; scan both alike")
    if ours.multilabel != theirs.multilabel:
        raise ValueError("one of the statistics is of an indicator of labels, the other of one label a row")
    if ours.folding != theirs.folding:
        raise ValueError(
            f"these statistics have the folds {ours.folding}, the others {theirs.folding}; scan both with the same"
        )
    check_classes(ours, theirs)


def pooled_names(stats: Any) -> tuple[str, ...]:
    """Return the names of the sums that are pooled over all classes."""
    return tuple(name for name, table in stats.tables.items() if isinstance(table, PooledTable))


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
