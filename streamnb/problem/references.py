"""The reference that labels of an indicator are compared with: one label, or the rows without any."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from streamnb.core import messages, persistence
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.sparse_tables import alike

OVERLAPS = ("refuse", "keep")  # treatments of rows that have both a label and the reference


@persistence.register
@dataclass(frozen=True, repr=False)
class Unlabelled(persistence.Parameters):
    """The rows of an indicator without any label, as a reference.

    Examples
    --------
    >>> import streamnb as snb
    >>> X, illness = [[5, 0], [4, 3], [0, 4], [1, 1], [0, 1]], [[1, 0], [1, 1], [0, 1], [0, 0], [0, 0]]
    >>> model = snb.LinearNB("poisson", scheme="reference", reference=snb.UNLABELLED).fit(X, illness)
    >>> model.predict([[6, 0], [0, 0]]).tolist()
    [[1, 1], [0, 0]]
    """

    def __repr__(self) -> str:
        return "snb.UNLABELLED"


UNLABELLED = Unlabelled()


def check_reference(scheme: str, reference: Any) -> None:
    """Refuse a reference under a scheme that does not use it."""
    if reference is not None and scheme != "reference":
        raise ValueError(f"reference={reference!r} goes with scheme='reference', not with scheme={scheme!r}")


def loaded_parameters(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters from a file, without a reference that the scheme does not use: versions up to 0.2 accepted one."""
    reference, scheme = params.get("reference"), params.get("scheme", "reference")
    if reference is None or scheme == "reference":
        return params
    messages.warn(f"the file has reference={reference!r} under scheme={scheme!r}, where it did nothing: it is left out")
    return {**params, "reference": None}


def reference_number(classes: np.ndarray, reference: Any, multilabel: bool) -> int | None:
    """The index of the reference class or label; None for the rows without any label."""
    if multilabel and isinstance(reference, Unlabelled):
        return None
    kind, also = ("label", ", or snb.UNLABELLED") if multilabel else ("class", "")
    at = _find(classes, reference)
    if at.size == 0:
        why = " (which is for a 2-D y)" if isinstance(reference, Unlabelled) else ""
        known = messages.listed(classes) + also
        raise ValueError(f"reference={reference!r}{why} is not a {kind}; it should be one of {known}")
    if multilabel and len(classes) == 1:
        raise ValueError(f"reference={reference!r} is the only label; there should be others to set against it")
    return int(at[0])


def _find(classes: np.ndarray, reference: Any) -> np.ndarray:
    """The index of the reference in an array of length 1, or 0 if there is none; True does not equal 1 here."""
    if reference is None or isinstance(reference, tuple) or not isinstance(reference, Hashable):
        return np.empty(0, np.intp)
    flag = isinstance(reference, (bool, np.bool_))
    alike = [label == reference and (not flag or isinstance(label, (bool, np.bool_))) for label in classes]
    return np.flatnonzero(alike)


def with_unlabelled(stats: ClassStats, moments: Iterable[str]) -> ClassStats:
    """Statistics of an indicator with the rows without any label as an additional last label."""
    if stats.unlabelled is None:
        raise ValueError(
            "stats were scanned by an earlier version, which did not keep the rows without any label apart, as "
            "reference=snb.UNLABELLED needs; scan the rows again"
        )
    tables = {}
    for name in dict.fromkeys(["weight", *moments]):
        labels, unlabelled = alike(stats.table(name), stats.unlabelled.table(name))
        tables[name] = labels.above(unlabelled)
    classes = np.array([*stats.classes.tolist(), UNLABELLED], object)
    rows = np.append(stats.rows, stats.unlabelled.rows)
    return replace(stats, classes=classes, rows=rows, tables=tables, folds=(), folding=None)


def two_labels(stats: ClassStats, negative: int, positive: int) -> ClassStats:
    """Statistics of two classes: the rows of one label, and those of another."""
    at = np.array([negative, positive])
    tables = {name: table.take(at) for name, table in stats.tables.items()}
    return ClassStats(np.array([False, True]), stats.rows[at], tables, stats.n_features, 0, stats.options)


def check_overlap(stats: ClassStats, reference: int, overlap: str) -> None:
    """Refuse rows that have the reference and another label, unless `overlap` keeps them on both sides."""
    if overlap == "keep":
        return
    name = stats.classes[reference].item()
    if stats.overlaps is None:
        raise ValueError(
            f"stats were scanned by an earlier version, which did not count the rows that bear a label and the "
            f"reference {name!r}; scan the rows again, or take overlap='keep', which lets them stand on both sides"
        )
    counts = stats.overlaps.with_label(reference)
    if counts.any():
        found = [
            f"{n:,} bear label {label!r} too" for label, n in zip(stats.classes.tolist(), counts, strict=True) if n
        ]
        shown = ", ".join(found[:5]) + (f", and so on for {len(found)} labels" if len(found) > 5 else "")
        raise ValueError(
            f"reference={name!r} overlaps other labels: of its rows {shown}; take the reference off these rows, or "
            "overlap='keep', which lets them stand on both sides"
        )


def check_added(stats: ClassStats, reference: Any, overlap: str) -> None:
    """Refuse such rows in statistics to be added; the reference may only come with later rows."""
    at = _find(stats.classes, reference)
    if stats.multilabel and at.size:
        check_overlap(stats, int(at[0]), overlap)
