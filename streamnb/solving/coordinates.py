"""Maps weights between the coordinates of training and those of rows and models."""

from copy import copy

import numpy as np

from streamnb.solving.descent import pieces
from streamnb.solving.objectives import Objective, RowSums
from streamnb.solving.reading import power_above


class CentredFeatures:
    """Weights of scaled and centred features, which are independent of the intercept.

    There is a row of weights for each feature that any row of data has, then one of intercepts. The data themselves
    are not centred: their scores use the intercept b = b' - W m. Centring alone saves most of the reads where all
    features are positive.

    Parameters
    ----------
    sums : RowSums
        Sums of all features from the scan.
    scale : (n_features,), optional
        Factors of the features (idf).
    used : ints, optional
        Indices of the features that are trained.

    Attributes
    ----------
    sums : RowSums, of these features
    kept : (n_used + 1,) ints, indices of these rows among the weights of all features
    factors : (n_used + 1, 1), factors of the features; 1 for the intercepts
    means : (n_used, 1)
    squares, spread : (n_used + 1, 1), sums of squares of scaled features, and about their means
    """

    def __init__(self, sums: RowSums, scale: np.ndarray | None = None, used: np.ndarray | None = None):
        used = np.flatnonzero(sums.squares > 0.0) if used is None else used
        self._n_all = len(sums.squares) + 1
        self.kept = np.append(used, self._n_all - 1)
        self.sums = sums = sums.of_features(used)
        self.factors = np.append(np.ones(len(used)) if scale is None else scale[used], 1.0)[:, None]
        self.means = sums.whole[:, None] / sums.weight * self.factors[:-1]
        self.squares = np.append(sums.squares, sums.weight)[:, None] * self.factors**2
        self.spread = np.append(sums.spread, sums.weight)[:, None] * self.factors**2

    def places(self, columns: np.ndarray) -> np.ndarray:
        """The indices of the weights of some columns of rows, and last that of the intercepts."""
        return np.flatnonzero(np.isin(self.kept, np.append(columns, self._n_all - 1)))

    def of_columns(self, columns: np.ndarray) -> "CentredFeatures":
        """The same for rows that have only these columns, ascending."""
        places, few = self.places(columns), copy(self)
        few._n_all = len(columns) + 1
        few.kept = np.searchsorted(np.append(columns, self._n_all - 1), self.kept[places])
        few.sums = self.sums.of_features(places[:-1])
        few.factors, few.squares, few.spread = self.factors[places], self.squares[places], self.spread[places]
        few.means = self.means[places[:-1]]
        return few

    def of_all(self, values: np.ndarray) -> np.ndarray:
        """Values of all features, 0 for those that no row has."""
        if len(values) == self._n_all:
            return values
        out = np.zeros((self._n_all, *values.shape[1:]))
        out[self.kept] = values
        return out

    def rounding(self, objective: Objective, most: float) -> np.ndarray:
        """Powers of two above the sums of a read for each feature of rows, if the objective is at most `most`."""
        return self.of_all(power_above(objective.bounds(self.sums, most)))

    def for_rows(self, point: np.ndarray) -> np.ndarray:
        """Weights of all features for rows that are neither scaled nor centred."""
        weights = point * self.factors
        weights[-1] -= self._at_means(point)
        return self.of_all(weights)

    def apart_for_rows(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same weights, which are those of the point where features are not scaled, and the intercepts."""
        if len(point) == self._n_all and (self.factors == 1.0).all():
            return point[:-1], point[-1] - self._at_means(point)
        weights = self.for_rows(point)
        return weights[:-1], weights[-1]

    def of_model(self, point: np.ndarray) -> np.ndarray:
        """Weights of all features for rows that are scaled but not centred."""
        weights = point.copy()
        weights[-1] -= self._at_means(point)
        return self.of_all(weights)

    def from_model(self, weights: np.ndarray) -> np.ndarray:
        """The inverse of `of_model`."""
        return self._about_means(weights[self.kept])

    def _about_means(self, point: np.ndarray) -> np.ndarray:
        point[-1] += self._at_means(point)
        return point

    def gradient(self, of_rows: np.ndarray) -> np.ndarray:
        """The gradient of a loss in these coordinates, from the gradient that a read returned."""
        gradient = of_rows if len(self.kept) == len(of_rows) else of_rows[self.kept]
        for rows in pieces(len(gradient) - 1):
            gradient[rows] = gradient[rows] * self.factors[rows] - self.means[rows] * gradient[-1]
        return gradient

    def _at_means(self, weights: np.ndarray) -> np.ndarray:
        """Scores at the means of all features, without the intercepts."""
        return np.einsum("i,ij->j", self.means[:, 0], weights[:-1])
