"""The terms of additive models as tables of scores: at one resolution, and without what other terms explain.

B. Lengerich, S. Tan, C.-H. Chang, G. Hooker, R. Caruana, Purifying interaction effects with the functional ANOVA,
AISTATS 2020.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from streamnb.core import persistence
from streamnb.encoding.terms import TermColumns

ROUNDS = 100  # of moving means
TINY = 1e-12  # of the largest score; smaller means are rounding


@persistence.register
@dataclass(frozen=True, eq=False)
class TermTables(persistence.Parameters):
    """Counts, deviations and degrees of freedom of the terms of an additive model.

    Attributes
    ----------
    features : list of str
    counts : (n_columns,)
        The weight of the rows in each step or cell.
    std : (n_columns, R)
        Standard deviation of the scores over the models without each fold; NaN for pairs that few of them have.
    freedom : (n_terms,)
        Effective degrees of freedom.
    n_rows : int, optional
        Of the rows, which older files lack.
    """

    features: list[str]
    counts: Annotated[np.ndarray, "f8[n_columns]"]
    std: Annotated[np.ndarray, "f8[n_columns, R]"]
    freedom: Annotated[np.ndarray, "f8[n_terms]"]
    n_rows: int | None = None

    def check(self, columns: TermColumns, n_rows: int) -> None:
        """Raise where tables loaded from a file are not of these columns, or of as many rows of weights."""
        expected = columns.n_columns, n_rows
        if self.std.shape != expected or len(self.freedom) != len(columns.features):
            raise ValueError(f"terms should have counts and deviations of {expected} scores, and degrees of freedom")
        if len(self.features) != len(columns.firsts) - 1:
            raise ValueError(f"terms should have the names of {len(columns.firsts) - 1} features")


def of_terms(columns: TermColumns, values: np.ndarray, others: TermColumns) -> np.ndarray:
    """The values of columns, for the columns of other terms; 0 for those of terms that `columns` lack."""
    grid_of = {tuple(features): grid for grid, features in enumerate(columns.features.tolist())}
    out = np.zeros((others.n_columns, *values.shape[1:]))
    for features, first, width in zip(others.features.tolist(), others.starts.tolist(), others.widths, strict=False):
        if tuple(features) in grid_of:
            start = columns.starts[grid_of[tuple(features)]]
            out[first : first + width] = values[start : start + width]
    return out


def purified(
    columns: TermColumns, weights: np.ndarray, intercept: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The same scores of rows by terms whose means are 0: cells of pairs have none along either of their features.

    Means are weighted by `counts` (n_columns,) and move from pairs to features, and from features to the intercept.
    """
    weights, intercept = weights.copy(), intercept.copy()
    of_feature = {i: grid for grid, (i, j) in enumerate(columns.features.tolist()) if j < 0}
    enough = TINY * np.abs(weights).max(initial=0.0)
    for grid, (i, j) in enumerate(columns.features.tolist()):
        if j < 0:
            continue
        table, of_cells = cells_of(columns, weights, grid), cells_of(columns, counts[:, None], grid)[:, :, 0]
        along_first, along_second = _shares(of_cells, 1), _shares(of_cells, 0)
        means = np.zeros((table.shape[0], table.shape[2])), np.zeros(table.shape[1:])
        for _ in range(ROUNDS):
            of_first = np.einsum("ijk,ij->ik", table, along_first)
            table -= of_first[:, None]
            of_second = np.einsum("ijk,ij->jk", table, along_second)
            table -= of_second
            means[0][:] += of_first
            means[1][:] += of_second
            if max(np.abs(of_first).max(initial=0.0), np.abs(of_second).max(initial=0.0)) <= enough:
                break
        for feature, steps, mean in zip((i, j), columns.sides[grid], means, strict=True):
            first = columns.starts[of_feature[feature]]
            weights[first : first + len(steps)] += mean[steps]
        weights[columns.starts[grid] : columns.starts[grid + 1]] = table.reshape(-1, table.shape[2])
    for grid in of_feature.values():
        steps_of_grid = slice(columns.starts[grid], columns.starts[grid + 1])
        mean = _shares(counts[steps_of_grid], 0) @ weights[steps_of_grid]
        weights[steps_of_grid] -= mean
        intercept += mean
    return weights, intercept


def cells_of(columns: TermColumns, values: np.ndarray, grid: int) -> np.ndarray:
    """A copy of the values of a grid's columns by the steps of both features, (n_first, n_second, R)."""
    b = columns.sides[grid][1]
    n_second = int(b.max()) + 1 if len(b) else 1
    flat = values[columns.starts[grid] : columns.starts[grid + 1]]
    return flat.reshape(-1, n_second, values.shape[1]).copy()


def _shares(counts: np.ndarray, axis: int) -> np.ndarray:
    """Counts as shares of their sums along an axis; 0 without rows."""
    total = counts.sum(axis=axis, keepdims=True)
    return np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)


def importances(columns: TermColumns, weights: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The mean absolute score of each term over rows, and over classes, (n_terms,)."""
    size = np.abs(weights).mean(axis=1)
    sums = np.add.reduceat(size * counts, columns.starts[:-1])
    total = np.add.reduceat(counts, columns.starts[:-1])
    return np.divide(sums, total, out=np.zeros(len(sums)), where=total > 0)
