"""Averages: means and variances of features by class, as data frames, and tests that compare classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from streamnb.core.frames import pandas_for
from streamnb.stats.drift import Drifts, feature_names_of


class Averages(Drifts):
    """Statistics with means and variances by class."""

    __slots__ = ()
    classes: Any
    weight: Any
    table: Any
    scatter: Any

    def mean(self, feature_names: Any = None) -> Any:
        """Return the mean of each feature over the rows of each class, as a data frame; reads no data.

        Parameters
        ----------
        feature_names : (n_features,), optional
            Names of the columns; their numbers by default. A fitted model has them as `feature_names_in_`.

        Returns
        -------
        pandas.DataFrame
            Rows are classes, columns features; NaN for a class without rows. Weights count as frequency.

        Examples
        --------
        >>> import streamnb as snb
        >>> stats = snb.scan([[2, 0], [3, 1], [0, 4]], ["cat", "cat", "dog"])
        >>> stats.mean(["x", "y"]).loc["cat"].to_dict()
        {'x': 2.5, 'y': 0.5}
        """
        with np.errstate(invalid="ignore"):
            return self._by_class(self.table("sum").value() / self.weight[:, None], feature_names)

    def var(self, feature_names: Any = None) -> Any:
        """Return the variance of each feature over the rows of each class, as a data frame; reads no data.

        Parameters
        ----------
        feature_names : (n_features,), optional
            As in `mean`.

        Returns
        -------
        pandas.DataFrame
            The sum of (x - mean)^2, without cancellation, divided by N - 1 as in pandas and scanpy; N is the number of
            rows, or their weight, which counts as frequency. NaN where N is 1 or less.

        Examples
        --------
        >>> import streamnb as snb
        >>> stats = snb.scan([[2, 0], [3, 1], [0, 4]], ["cat", "cat", "dog"])
        >>> stats.var(["x", "y"]).loc["cat"].to_dict()
        {'x': 0.5, 'y': 0.5}
        """
        others = self.weight - 1.0
        others[others <= 0.0] = np.nan
        return self._by_class(self.scatter() / others[:, None], feature_names)

    def std(self, feature_names: Any = None) -> Any:
        """Return the standard deviation of each feature over the rows of each class: the square root of `var`.

        Parameters
        ----------
        feature_names : (n_features,), optional
            As in `mean`.

        Returns
        -------
        pandas.DataFrame
            As from `var`.

        Examples
        --------
        >>> import streamnb as snb
        >>> stats = snb.scan([[2, 0], [4, 1], [6, 4]], ["cat", "cat", "cat"])
        >>> stats.std().loc["cat", 0]
        2.0
        """
        return self.var(feature_names) ** 0.5

    def _by_class(self, values: np.ndarray, feature_names: Any) -> Any:
        pd = pandas_for("a table of averages")
        names = feature_names_of(feature_names, self.n_features)
        return pd.DataFrame(values, pd.Index(self.classes, name="class"), names)
