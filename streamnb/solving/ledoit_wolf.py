"""The Ledoit-Wolf shrinkage of a covariance, from sums of fourth powers."""

from typing import Any

import numpy as np

from streamnb.stats.class_stats import ClassStats
from streamnb.stats.dense_tables import PooledTable
from streamnb.stats.second_moments import unpacked

LOST = 1e10  # ratio of the terms to the fourth powers about the mean at which digits no longer suffice


def fourth_powers(stats: ClassStats, together: bool = False) -> np.ndarray:
    """Return sums of ``w (x_i - m_i)^2 (x_j - m_j)^2`` about the mean m of each class, or of all rows, (K or 1, n, n).

    The statistics need the moments "sum" and "gram_sq".
    """
    table = stats.table("gram_sq")
    if isinstance(table, PooledTable):
        raise ValueError("shrinkage by Ledoit and Wolf needs products of each class; scan with pooled=False")
    sums, weight = (_long(stats.tables[name].dense()) for name in ("sum", "weight"))
    products = _long(table)
    if together:
        sums, weight, products = (part.sum(axis=0, keepdims=True) for part in (sums, weight, products))
    found = np.zeros((len(sums), stats.n_features, stats.n_features))
    for k in np.flatnonzero(weight[:, 0] > 0.0):
        found[k] = _about_mean(sums[k], weight[k, 0], unpacked(products[k]))
    return found


def _long(table: Any) -> np.ndarray:
    """Return sums in extended precision."""
    total = table.hi.astype(np.longdouble)
    return total if table.lo is None else total + table.lo.astype(np.longdouble).sum(axis=0)


def _about_mean(total: np.ndarray, weight: np.floating, products: np.ndarray) -> np.ndarray:
    n, mean = len(total), total / weight
    plain, mixed, squares = products[:n, :n], products[n:, :n], products[n:, n:]  # x_i x_j, x_i^2 x_j, x_i^2 x_j^2
    one_side = mean**2 * plain.diagonal()[:, None] - 2.0 * mean * mixed - 2.0 * np.outer(mean, mean**2) * total[:, None]
    both = 4.0 * np.outer(mean, mean) * plain + np.outer(mean**2, mean**2) * weight
    found = squares + one_side + one_side.T + both
    if (squares.diagonal() > LOST * found.diagonal())[found.diagonal() > 0.0].any():
        raise ValueError(
            "columns lie so far from 0, relative to their spread, that sums of fourth powers leave no digits for "
            "shrinkage by Ledoit and Wolf; subtract a constant from these columns, or give shrinkage as a number"
        )
    return np.maximum(found, 0.0).astype(np.float64)


def intensity(covariance: np.ndarray, fourth: np.ndarray, weight: float) -> float:
    """Return g of ``(1 - g) S + g (tr S / n) I`` with the least expected distance from the true covariance.

    ``g = min(b, d) / d``, ``d = |S - (tr S / n) I|^2``, ``b = sum_i |x_i x_i' - S|^2 / N^2`` of rows about their mean
    (Ledoit and Wolf 2004, A well-conditioned estimator for large-dimensional covariance matrices).
    """
    n = len(covariance)
    if n < 2 or weight <= 0.0:
        return 0.0
    squares = (covariance**2).sum()
    distance = squares - covariance.trace() ** 2 / n
    noise = min((fourth.sum() / weight - squares) / weight, distance)
    return float(noise / distance) if noise > 0.0 else 0.0


def drawn(covariance: np.ndarray, g: float) -> np.ndarray:
    """Return (1 - g) S + g (tr S / n) I."""
    return (1.0 - g) * covariance + g * covariance.trace() / len(covariance) * np.eye(len(covariance))


def shrunk(stats: ClassStats, covariances: np.ndarray, shrinkage: Any, together: bool = False) -> np.ndarray:
    """Shrink covariances of the classes (K, n, n), or of all rows `together` (1, n, n), as scikit-learn does.

    A number is g; "auto" computes g for columns scaled to variance 1; None and "empirical" do not shrink.
    """
    if shrinkage is None or shrinkage == "empirical":
        return covariances
    if shrinkage != "auto":
        return np.stack([drawn(own, shrinkage) for own in covariances])
    weights, found = stats.weight.sum(keepdims=True) if together else stats.weight, []
    for own, fourth, weight in zip(covariances, fourth_powers(stats, together), weights, strict=True):
        sizes = np.sqrt(np.maximum(own.diagonal(), 0.0))
        sizes[sizes == 0.0] = 1.0
        scales = np.outer(sizes, sizes)
        standard = own / scales
        found.append(drawn(standard, intensity(standard, fourth / scales**2, weight)) * scales)
    return np.stack(found)
