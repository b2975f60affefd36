"""The tree of tree-augmented naive Bayes (Friedman, Geiger and Goldszmidt 1997), from sums of products.

Features are groups of indicator columns, at most one of which is 1 in a row: the bins of a number, the values of a
category, or the one column of presence. A feature is at level 0 if none of its columns is 1.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.special import chdtri, xlogy

from streamnb.core import messages
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.second_moments import diagonal, unpacked

GRID = 2.0**40  # informations are compared as multiples of 1 / GRID, as equal ones may differ in their last bits


def class_tables(stats: ClassStats) -> Iterator[tuple[float, np.ndarray]]:
    """Yield the weight of each class, and of its rows with both columns of each pair, (n_columns, n_columns)."""
    table = stats.table("gram_above").dense()
    for k, weight in enumerate(stats.weight.tolist()):
        yield weight, unpacked(table.value(slice(None), slice(k, k + 1))[0])


def presence(stats: ClassStats) -> np.ndarray:
    """Return the weight of the rows of each class with each column, (K, n_columns)."""
    return stats.table("gram_above").dense().value(diagonal(stats.n_features))


def presence_stats(stats: ClassStats) -> ClassStats:
    """Return the statistics of single columns, as a scan of "above" returns them."""
    above = stats.table("gram_above").dense().select(diagonal(stats.n_features))
    return replace(stats, tables={"weight": stats.tables["weight"], "above": above}, folds=(), folding=None)


def informations(stats: ClassStats, firsts: np.ndarray) -> np.ndarray:
    """Return I(i; j | y) = sum_aby p(a, b, y) ln[p(a, b, y) p(y) / (p(a, y) p(b, y))] in nats, (n, n).

    Feature j has the columns firsts[j] to firsts[j + 1]. With h(T) = sum T ln T over cells, the term of a class
    is h of the cells of both features, minus h of those of each, plus h of the whole class.
    """
    total = np.zeros((len(firsts) - 1,) * 2)
    for weight, both in class_tables(stats):
        if weight > 0.0:
            total += _of_class(weight, both, firsts[:-1])
    return np.maximum(0.5 * (total + total.T), 0.0) / stats.total_weight  # symmetric to the last bit


def _of_class(weight: float, both: np.ndarray, starts: np.ndarray) -> np.ndarray:
    both = both / weight
    alone, any_of_one = both.diagonal(), np.add.reduceat(both, starts, axis=0)
    any_of_both = np.add.reduceat(any_of_one, starts, axis=1)
    some = np.add.reduceat(alone, starts)
    # the other feature at level 0 and this one not; and both at level 0
    one_absent = np.add.reduceat(_h(alone - any_of_one), starts, axis=1)
    both_absent = _h(1.0 - some[:, None] - some + any_of_both)
    cells = np.add.reduceat(np.add.reduceat(_h(both), starts, axis=0), starts, axis=1)
    own = np.add.reduceat(_h(alone), starts) + _h(1.0 - some)
    return weight * (cells + one_absent + one_absent.T + both_absent - own[:, None] - own)


def _h(shares: np.ndarray) -> np.ndarray:
    shares = np.maximum(shares, 0.0)  # rounding may leave differences below 0
    return xlogy(shares, shares)


def beyond_chance(information: np.ndarray, weight: np.ndarray, levels: np.ndarray, level: float) -> np.ndarray:
    """Return informations, (n, n), with -1 for those that independent features may reach by chance.

    Of N rows, 2 N I(i; j | y) of features that are independent within K classes is chi-squared with
    K (L_i - 1) (L_j - 1) degrees of freedom as N grows (S. Kullback, Information Theory and Statistics, 1959), L their
    levels, and exceeds the bound by chance in the share `level` of all cases. `weight` (K,) is the weight of each
    class.
    """
    freedom = np.count_nonzero(weight) * np.multiply.outer(levels - 1, levels - 1)
    values, which = np.unique(freedom, return_inverse=True)
    bounds = np.where(values > 0, chdtri(np.maximum(values, 1), level), np.inf)[which].reshape(freedom.shape)
    return np.where(2.0 * weight.sum() * information > bounds, information, -1.0)


def check_weights(stats: ClassStats, levels: np.ndarray, level: float) -> None:
    """Warn if no two features could appear dependent, only because weights are so small."""
    most = np.log(np.minimum.outer(levels, levels))  # information one feature can have of another
    np.fill_diagonal(most, 0.0)

    def none(weight: np.ndarray) -> bool:
        return bool((beyond_chance(most, weight, levels, level) < 0.0).all())

    total, n_rows = stats.total_weight, stats.n_rows
    if total < n_rows and none(stats.weight) and not none(stats.weight * (n_rows / total)):
        messages.warn(
            f"the weights of {n_rows:,} rows add up to {total:.3g}, and weights count as rows: with so few no feature "
            "has a parent, and this is naive Bayes; give weights of about 1, or significance_level=None"
        )


def spanning_tree(information: np.ndarray) -> np.ndarray:
    """Return the parent of each feature in the maximum spanning tree, (n,); -1 for the first, the root.

    Prim's algorithm on informations rounded to multiples of 2^-40; the first of equal edges (i, j), i < j, wins.
    Edges below 0 are left out; there may then be several trees, each rooted at its first feature.
    """
    n = len(information)
    values = np.round(information * GRID)
    parents, best, edge = np.full(n, -1, np.int64), np.full(n, -np.inf), np.full(n, n * n)
    inside = np.zeros(n, bool)
    at, every = 0, np.arange(n)
    for _ in range(n - 1):
        inside[at] = True
        numbers = np.minimum(every, at) * n + np.maximum(every, at)
        better = ~inside & ((values[at] > best) | ((values[at] == best) & (numbers < edge)))
        parents[better], best[better], edge[better] = at, values[at][better], numbers[better]
        highest = np.flatnonzero(~inside & (best == best[~inside].max()))
        at = int(highest[np.argmin(edge[highest])])
    parents[best < 0.0] = -1
    return parents


def symmetrical_uncertainty(stats: ClassStats, firsts: np.ndarray) -> np.ndarray:
    """Return 2 (H(X) + H(Y) - H(X, Y)) / (H(X) + H(Y)) of each feature X, from presence by class, (n,).

    The same as `rank_features` for single columns; 0 if neither varies.
    """
    shares, weight = stats.above / stats.total_weight, stats.weight / stats.total_weight
    starts = firsts[:-1]
    absent = weight[:, None] - np.add.reduceat(shares, starts, axis=1)
    joint = -np.add.reduceat(_h(shares).sum(axis=0), starts) - _h(absent).sum(axis=0)
    own = -np.add.reduceat(_h(shares.sum(axis=0)), starts) - _h(absent.sum(axis=0))
    both = own - _h(weight).sum()
    return np.divide(2.0 * (both - joint), both, out=np.zeros(len(starts)), where=both > 0.0)
