"""Warns of columns of a table that alone nearly tell the label, as those do that were written down after it."""

from collections.abc import Iterable

import numpy as np
from scipy.special import xlogy

from streamnb.core.messages import warn
from streamnb.stats.class_stats import ClassStats

FEWEST = 100  # rows
LARGEST = 1 << 24  # cells of a table of classes and values
NEARLY = 0.02  # of the entropy of the label
BETWEEN = 0.2  # of the rows, in bins that lie between classes
PSEUDO_ROWS = 0.1


def warn_of_telling(stats: ClassStats, columns: Iterable[tuple[str, slice, bool]]) -> None:
    """Warn of columns with little left to tell of the label, by the sums of the indicators of their values.

    Parameters
    ----------
    stats : ClassStats
        Of rows with one label each.
    columns : iterable of (name, slice of indicators, whether these are bins)
    """
    if stats.n_rows < FEWEST or stats.multilabel or "sum" not in stats.tables:
        return
    table, n_classes = stats.table("sum"), len(stats.classes)
    rows_of_weight = stats.n_rows / stats.total_weight if stats.total_weight > 0.0 else 0.0
    told = [
        name
        for name, at, are_bins in columns
        if n_classes * (at.stop - at.start) <= LARGEST and _tells(table.value(at) * rows_of_weight, are_bins)
    ]
    if told:
        warn(
            f"each of the columns {told} almost alone tells the label; leave out what is not known before the label "
            "is, with snb.table(.., columns=)"
        )


def _tells(sums: np.ndarray, are_bins: bool) -> bool:
    """Whether the label follows from the value, by the sums of values in classes, (K, n_values).

    Each row is judged by the other rows that have its value, so that values of one row tell nothing. A bin in which one
    class follows another, of which there are K - 1 if the classes are intervals, does not count.
    """
    counts, shares = sums.sum(axis=0), sums.sum(axis=1) / max(sums.sum(), 1.0)
    others = np.maximum(sums - 1.0, 0.0) + PSEUDO_ROWS * shares[:, None]
    others /= np.maximum(counts - 1.0, 0.0) + PSEUDO_ROWS
    lost = -xlogy(sums, np.maximum(others, 1e-12)).sum(axis=0)
    entropy = _entropy(sums)
    if are_bins:
        rest = np.argsort(lost)[: len(lost) - np.count_nonzero(shares) + 1]
        if counts[rest].sum() < (1.0 - BETWEEN) * counts.sum():
            rest = np.arange(len(lost))
        sums, lost = sums[:, rest], lost[rest]
    left = _entropy(sums)
    return bool(entropy > 0.0 and left > entropy / 2.0 and lost.sum() < NEARLY * left * sums.sum())


def _entropy(sums: np.ndarray) -> float:
    """Of the label."""
    shares = sums.sum(axis=1) / max(sums.sum(), 1.0)
    return float(-xlogy(shares, shares).sum())
