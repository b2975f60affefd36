"""Highest score, log-odds and log probabilities of a row's class scores."""

import numpy as np
from scipy.special import logit, logsumexp, softmax

from streamnb.kernels import judge

CACHED = 1 << 14  # numbers of a table that fits into the cache
_SOFTMAX = 1e-6  # tolerance of probabilities that are the softmax of the scores


def top_class(scores: np.ndarray) -> np.ndarray:
    """The first class with the highest score, along axis 1 of (n, K) or (n, K, G)."""
    if scores.ndim == 2:
        return scores.argmax(axis=1)
    top = np.empty((len(scores), scores.shape[2]), np.int64)
    judge.top_class(np.ascontiguousarray(scores), np.empty(scores.shape[2]), top)
    return top


def log_softmax(scores: np.ndarray) -> np.ndarray:
    """Scores less the logsumexp of their row, (n, K)."""
    logs, sums = np.empty(scores.shape), np.empty(len(scores))
    judge.below_top(np.ascontiguousarray(scores), logs)
    judge.row_sums(np.exp(logs), sums)
    logs -= np.log(sums)[:, None]
    return logs


def log_odds(scores: np.ndarray) -> np.ndarray:
    """s_y - logsumexp of the other scores, (n, K), without cancellation."""
    (n_rows, n_classes), scores = scores.shape, np.ascontiguousarray(scores)
    odds, step = np.empty(scores.shape), max(CACHED // n_classes, 1)
    for first in range(0, n_rows, step):
        some = slice(first, first + step)
        _fill_log_odds(scores[some], odds[some])
    return odds


def _fill_log_odds(scores: np.ndarray, odds: np.ndarray) -> None:
    """Write the log-odds of a few rows into `odds`."""
    top = top_class(scores)
    judge.below_top(scores, odds)
    mass = np.exp(odds)
    judge.others(mass, top)
    far = np.flatnonzero(mass[np.arange(len(top)), top] < 1e-290)  # too far below the highest for exp
    distant = odds[far]
    with np.errstate(divide="ignore"):
        odds -= np.log(mass, out=mass)
    if far.size:
        at = np.arange(len(far)), top[far]
        highest, distant[at] = distant[at], -np.inf
        odds[far, top[far]] = highest - logsumexp(distant, axis=1)


def odds_of(scores: np.ndarray, proba: np.ndarray) -> np.ndarray:
    """ln P / (1 - P) of each class, (n, K): from scores where their softmax is `proba`, which avoids rounding."""
    exact = (np.abs(softmax(scores, axis=1) - proba) <= _SOFTMAX).all(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        return np.where(exact, log_odds(scores), logit(proba))


def log_ratio(positive: np.ndarray, negative: np.ndarray) -> np.ndarray:
    """The difference of two logs; -inf where the positive one is -inf, even if both are."""
    return np.where(np.isneginf(positive), -np.inf, positive - np.where(np.isneginf(positive), 0.0, negative))
