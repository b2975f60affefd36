"""Ranks pairs of features by what their cells add to an additive model of single features.

Y. Lou, R. Caruana, J. Gehrke, G. Hooker, Accurate intelligible models with pairwise interactions, KDD 2013 (FAST).
"""

from collections.abc import Iterator

import numpy as np

from streamnb.core.blas import one_thread

CELLS = 8  # steps of each feature of a pair
GRID = 2.0**-24  # slopes are rounded to multiples of this, so that their sums are exact in any order
ROWS_AT_ONCE = 1 << 13


def pair_gains(
    steps: np.ndarray, slopes: np.ndarray, curvature: np.ndarray, fold: np.ndarray, n_folds: int, l2: float
) -> np.ndarray:
    """The gains of all pairs by the rows outside each fold and, last, by all rows, (n_folds + 1, d, d).

    The gain of a pair is twice the drop of the objective after a Newton step in each of its cells, beyond that of steps
    in its rows and in its columns, and beyond what cells without an effect give by chance.

    Parameters
    ----------
    steps : (n_rows, d) ints
        The step of each feature; -1 for none.
    slopes, curvature : (n_rows, K)
        First and second derivatives of the losses in the scores of the model of single features, times row weights.
    fold : (n_rows,) ints
    n_folds : int
    l2 : float
        The penalty of a cell.
    """
    n_features = steps.shape[1]
    widths = steps.max(axis=0, initial=0) + 1
    firsts = np.concatenate([[0], np.cumsum(widths)])
    unit = float(np.abs(slopes).max(initial=0.0)) or 1.0
    gains = np.zeros((n_folds + 1, n_features, n_features))
    for k in range(slopes.shape[1]):
        sums = np.zeros((2, n_folds, firsts[-1], firsts[-1]))
        for number in range(n_folds):
            for rows, hot in _indicators(steps, firsts, np.flatnonzero(fold == number)):
                for total, values in zip(sums[:, number], (slopes, curvature), strict=True):
                    rounded = np.rint(values[rows, k] / (unit * GRID)) * GRID
                    with one_thread():
                        total += hot.T @ (hot * rounded[:, None])
        whole = sums.sum(axis=1)
        for number in range(n_folds + 1):
            first, second = whole if number == n_folds else whole - sums[:, number]
            gains[number] += _gains(first * unit, second * unit, firsts, l2)
    return gains


def _indicators(steps: np.ndarray, firsts: np.ndarray, rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Dense indicators of the steps of some rows at a time."""
    for some in np.split(rows, np.arange(ROWS_AT_ONCE, len(rows), ROWS_AT_ONCE)):
        hot = np.zeros((len(some), firsts[-1]))
        own = steps[some]
        row, feature = np.nonzero(own >= 0)
        hot[row, firsts[feature] + own[row, feature]] = 1.0
        yield some, hot


def _gains(first: np.ndarray, second: np.ndarray, firsts: np.ndarray, l2: float) -> np.ndarray:
    """The gain of each pair from the sums of slopes and curvatures in all cells, (d, d), 0 on the diagonal."""
    starts = firsts[:-1]

    def drop(G: np.ndarray, H: np.ndarray) -> np.ndarray:
        """Twice the drop of a Newton step less 1 by chance; 0 in cells without rows."""
        return np.where(H > 0.0, (G * G) / (H + l2) - H / (H + l2), 0.0)

    def of_pairs(values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(np.add.reduceat(values, starts, axis=0), starts, axis=1)

    cells = of_pairs(drop(first, second))
    by_row = np.add.reduceat(
        drop(np.add.reduceat(first, starts, axis=1), np.add.reduceat(second, starts, axis=1)), starts, axis=0
    )
    found = cells - by_row - by_row.T
    np.fill_diagonal(found, 0.0)
    return found


def best_pairs(gains: np.ndarray, number: int) -> list[tuple[int, int]]:
    """The pairs of the highest gains (d, d) above 0, best first, at most `number`."""
    i, j = np.triu_indices(len(gains), 1)
    found = gains[i, j]
    order = np.lexsort([j, i, -found])[:number]
    return [(int(i[one]), int(j[one])) for one in order if found[one] > 0.0]
