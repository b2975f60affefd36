"""Drift: features whose distribution differs between two sets of rows, from their statistics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from streamnb.core import arguments
from streamnb.core.frames import pandas_for

SHARE = "(share of rows)"


def drifts(old: Any, new: Any, n_features: int, feature_names: Any) -> Any:
    """Return a data frame of the largest drifts; see `ClassStats.drift`."""
    if not isinstance(new, type(old)):
        raise TypeError(f"new is of type {type(new).__name__}; it should be ClassStats, as snb.scan(X, y) returns them")
    pd = pandas_for("drift")
    n_features = arguments.positive_integer("n_features", n_features)
    names = feature_names_of(feature_names, old.n_features)
    moved = sorted(_moved(old, new, n_features, names), key=lambda one: -abs(one[-1]))[:n_features]
    return pd.DataFrame(moved, columns=["class", "feature", "old", "new", "z"])


def feature_names_of(given: Any, n_features: int) -> np.ndarray | None:
    """Return names of the features, checked; None if none were given."""
    if given is None:
        return None
    names = arguments.as_array("feature_names", given)
    if names.shape != (n_features,):
        raise ValueError(
            f"feature_names has shape {names.shape}; it should have one for each of the {n_features} features"
        )
    return names


def _moved(old: Any, new: Any, n: int, names: Any) -> Iterator[tuple[Any, ...]]:
    """Yield, for each class, its share of the rows and the n features with the largest drift."""
    old, new = (replace(stats, folds=(), folding=None) for stats in (old, new))
    both = old + new
    moment = next((name for name in ("sum", "above", "nonzero") if name in both.tables), None)
    if moment is None:
        raise ValueError(f"there are no means of features among the moments {list(both.moments)}; scan with 'sum'")
    sides = [both * 0.0 + old, both * 0.0 + new]  # both with all classes, in the same order
    before, after = ([stats.table(moment).value(), stats.weight] for stats in sides)
    totals = [stats.total_weight for stats in sides]
    variances = _variances(both, moment)
    for k, label in enumerate(both.classes.tolist()):
        counts = before[1][k], after[1][k]
        shares = [count / total for count, total in zip(counts, totals, strict=True)]
        share = sum(counts) / sum(totals)
        moved = float(_scores(np.diff(shares), share * (1.0 - share), totals)[0])
        if moved:
            yield label, SHARE, *map(float, shares), moved
        if min(counts) <= 0.0:
            continue
        means = before[0][k] / counts[0], after[0][k] / counts[1]
        z = _scores(means[1] - means[0], variances[k], counts)
        best = np.argsort(-abs(z), kind="stable")[:n]
        for j in best[z[best] != 0.0].tolist():
            yield label, j if names is None else names[j], *(float(mean[j]) for mean in means), float(z[j])


def _variances(both: Any, moment: str) -> np.ndarray:
    """Return the variance of each class and feature about its mean, (K, n_features)."""
    weight = np.maximum(both.weight, np.finfo(float).tiny)[:, None]
    if moment == "sum" and "sum_sq" in both.tables:
        return both.scatter() / weight
    means = both.table(moment).value() / weight
    if moment != "sum":
        return np.maximum(means * (1.0 - means), 0.0)
    if both.negatives:
        raise ValueError(
            "the rows hold negative values, and no sums of squares tell their variance; scan 'sum_sq', too"
        )
    return means


def _scores(moved: np.ndarray, variance: Any, weights: Any) -> np.ndarray:
    """Return the score statistic; 0 where nothing varies."""
    scale = np.sqrt(variance * (1.0 / weights[0] + 1.0 / weights[1]))
    return np.divide(moved, scale, out=np.zeros_like(moved), where=scale > 0.0)
