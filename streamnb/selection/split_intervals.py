"""Means over the splits of cross-validation: intervals corrected for training sets that overlap, standard errors."""

from __future__ import annotations

import numpy as np
from scipy import stats

APPROXIMATE = "approximate: training sets overlap"


def split_interval(scores: np.ndarray, n_folds: int, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper end of an interval of the mean score over splits.

    Models of different splits have learned from much the same rows, so their scores vary together, and ``s^2 / J`` is
    too small a variance of the mean of J scores. With ``(1 / J + n_test / n_train) s^2`` (Nadeau and Bengio 2003) the
    interval is ``mean -+ t sqrt(..)``, t the quantile of Student's distribution with J - 1 degrees of freedom. It is
    approximate: no unbiased variance can be had from the splits.

    Parameters
    ----------
    scores : (.., J)
        NaN where a split has no score.
    n_folds : int
        Folds in one repeat, so that ``n_test / n_train = 1 / (n_folds - 1)``.
    level : float

    Returns
    -------
    low, high : (..)
        NaN with fewer than two scores.
    """
    scores = np.asarray(scores, np.float64)
    defined = ~np.isnan(scores)
    number = defined.sum(axis=-1)
    enough = np.maximum(number, 2)
    mean = np.where(defined, scores, 0.0).sum(axis=-1) / enough
    squares = np.where(defined, scores - mean[..., None], 0.0) ** 2
    variance = (1.0 / enough + 1.0 / max(n_folds - 1.0, 1.0)) * squares.sum(axis=-1) / (enough - 1.0)
    half = np.where(number > 1, stats.t.ppf(0.5 + level / 2.0, enough - 1.0) * np.sqrt(variance), np.nan)
    return mean - half, mean + half


def standard_error(scores: np.ndarray) -> float:
    """The standard error of the mean of scores, without those that are NaN; 0 for fewer than two."""
    scores = scores[~np.isnan(scores)]
    return float(scores.std(ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else 0.0
