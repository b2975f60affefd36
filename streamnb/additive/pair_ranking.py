"""Ranks pairs of features by what their cells add to an additive model of single features.

Y. Lou, R. Caruana, J. Gehrke, G. Hooker, Accurate intelligible models with pairwise interactions, KDD 2013 (FAST).
"""

from itertools import combinations_with_replacement

import numpy as np

from streamnb.core.threads import one_thread

CELLS = 8  # steps of each feature of a pair
GRID = 2.0**-24  # slopes are rounded to multiples of this, so that their sums are exact in any order
ROWS_AT_ONCE = 1 << 11
FEATURES_AT_ONCE = 32  # so that sums of cells take a few megabytes


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
    unit = float(np.abs(slopes).max(initial=0.0)) or 1.0
    gains = np.zeros((n_folds + 1, n_features, n_features))
    blocks = [np.arange(a, min(a + FEATURES_AT_ONCE, n_features)) for a in range(0, n_features, FEATURES_AT_ONCE)]
    for one, other in combinations_with_replacement(blocks, 2):
        hot, beside = StepIndicators(steps[:, one]), StepIndicators(steps[:, other])
        for k in range(slopes.shape[1]):
            sums = np.zeros((2, n_folds, hot.starts[-1], beside.starts[-1]))
            for number in range(n_folds):
                within = np.flatnonzero(fold == number)
                for rows in np.split(within, np.arange(ROWS_AT_ONCE, len(within), ROWS_AT_ONCE)):
                    of_one, of_other = hot.of_rows(rows), beside.of_rows(rows)
                    for total, values in zip(sums[:, number], (slopes, curvature), strict=True):
                        rounded = np.rint(values[rows, k] / (unit * GRID)) * GRID
                        with one_thread():
                            total += of_one.T @ (of_other * rounded[:, None])
            whole = sums.sum(axis=1)
            for number in range(n_folds + 1):
                first, second = whole if number == n_folds else whole - sums[:, number]
                gains[number][np.ix_(one, other)] += _gains(first * unit, second * unit, hot.starts, beside.starts, l2)
    for of_fold in gains:
        upper = np.triu(of_fold, 1)
        of_fold[:] = upper + upper.T
    return gains


class StepIndicators:
    """Dense indicators of the steps of some features, of some rows at a time.

    Attributes
    ----------
    starts : (n_features + 1,) ints
        The first column of each feature, then the number of columns.
    """

    def __init__(self, steps: np.ndarray):
        self._steps = steps
        self.starts = np.concatenate([[0], np.cumsum(steps.max(axis=0, initial=0) + 1)])

    def of_rows(self, rows: np.ndarray) -> np.ndarray:
        """The indicators of these rows, (n_rows, n_columns)."""
        hot, own = np.zeros((len(rows), self.starts[-1])), self._steps[rows]
        row, feature = np.nonzero(own >= 0)
        hot[row, self.starts[feature] + own[row, feature]] = 1.0
        return hot


def _gains(first: np.ndarray, second: np.ndarray, rows: np.ndarray, columns: np.ndarray, l2: float) -> np.ndarray:
    """The gain of each pair of two blocks of features, from the sums of slopes and curvatures in all cells.

    `rows` and `columns` are the first cells of the features of both blocks.
    """

    def drop(G: np.ndarray, H: np.ndarray) -> np.ndarray:
        """Twice the drop of a Newton step less 1 by chance; 0 in cells without rows."""
        return np.where(H > 0.0, (G * G) / (H + l2) - H / (H + l2), 0.0)

    def by_rows(values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values, rows[:-1], axis=0)

    def by_columns(values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values, columns[:-1], axis=1)

    cells = by_columns(by_rows(drop(first, second)))
    alone = by_rows(drop(by_columns(first), by_columns(second)))
    return cells - alone - by_columns(drop(by_rows(first), by_rows(second)))


def best_pairs(gains: np.ndarray, number: int) -> list[tuple[int, int]]:
    """The pairs of the highest gains (d, d) above 0, best first, at most `number`."""
    i, j = np.triu_indices(len(gains), 1)
    found = gains[i, j]
    order = np.lexsort([j, i, -found])[:number]
    return [(int(i[one]), int(j[one])) for one in order if found[one] > 0.0]
