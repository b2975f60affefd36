"""Means and variances of features by class, as data frames; tests that compare classes; drift between sets of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from streamnb.core import arguments
from streamnb.core.frames import pandas_for
from streamnb.stats.class_tests import tested
from streamnb.stats.columns import renamed

SHARE = "(share of rows)"


class Averages:
    """Statistics with means and variances by class, which can be compared."""

    __slots__ = ()
    n_features: int
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
        >>> stats.std(["x", "y"]).loc["cat"].round(3).to_dict()
        {'x': 2.0, 'y': 2.082}
        """
        return self.var(feature_names) ** 0.5

    def markers(
        self,
        n_features: int | None = 10,
        *,
        test: str = "t-test",
        batch: bool = False,
        corr: str = "benjamini-hochberg",
        tie_correct: bool = False,
        feature_names: Any = None,
    ) -> Any:
        """Test each class against the rest, feature by feature, as scanpy's `rank_genes_groups`; reads no data.

        Parameters
        ----------
        n_features : int or None
            The largest number of features per class; None for all.
        test : {"t-test", "t-test_overestim_var", "wilcoxon"}
            Welch's t-test; the same with the variance of the rest divided by the number of rows of the class, as if
            it had no more; or Wilcoxon's rank sums, for statistics with a histogram: ``scan(histogram="value",
            n_bins=..)`` of counts ranks them as they are, ``scan(histogram="bins", n_bins=..)`` of other values ranks
            all of a bin alike, apart from 0.
        batch : bool
            Compare rows of one batch alone, for statistics of ``scan(batch=..)`` or of folds, and average the batches.
        corr : {"benjamini-hochberg", "bonferroni"}
            How p-values are corrected for many features.
        tie_correct : bool
            Correct the variance of rank sums for ties, as SciPy does and scanpy does not by default.
        feature_names : (n_features,), optional
            Column numbers by default.

        Returns
        -------
        pandas.DataFrame
            As from ``sc.get.rank_genes_groups_df``: "group", "names", "scores" (t or z, the highest first),
            "logfoldchanges", "pvals" (two-sided) and "pvals_adj". Where nothing varies the score is 0 and p is 1. Fold
            changes are log2 of ``(expm1(mean) + 1e-9) / (expm1(mean of the rest) + 1e-9)``, which is for values that
            log1p was applied to; NaN where a mean is below 0, as of scaled values. Of "wilcoxon", ``attrs["error"]``
            is a bound of the error of scores by bins of several values.

        Raises
        ------
        ValueError
            There are too few rows in a class, or the statistics lack "sum", "sum_sq", a histogram or batches.

        Notes
        -----
        Differences of means of batches are averaged with weights ``n1 n2 / (n1 + n2)``, those of least squares with a
        constant for each batch (Cochran 1954); the variance is that of this average, and its degrees of freedom are
        Welch's and Satterthwaite's (1946). Sums of ranks are added with weights ``1 / (n + 1)`` (van Elteren 1960). A
        batch with too few rows of a class, or of the others, tells nothing of that class.

        Examples
        --------
        >>> import streamnb as snb
        >>> stats = snb.scan([[2, 0], [3, 1], [0, 4], [1, 5]], ["B", "B", "T", "T"])
        >>> stats.markers(1, feature_names=["CD79A", "CD3D"])[["group", "names", "scores"]].round(3).values.tolist()
        [['B', 'CD79A', 2.828], ['T', 'CD3D', 5.657]]
        """
        names = feature_names_of(feature_names, self.n_features)
        return tested(self, names, n_features, test, batch, corr, tie_correct)

    def drift(self, new: Any, n_features: int = 20, *, feature_names: Any = None) -> Any:
        """Return the features whose means differ most between these rows and others, by class; reads no data.

        Parameters
        ----------
        new : ClassStats
            Statistics of other rows with the same columns, scanned with the same options.
        n_features : int
            Maximum number of rows of the table.
        feature_names : (n_features,), optional
            Names of the columns of these rows; columns that only the other rows have keep their own names. Column
            numbers by default.

        Returns
        -------
        pandas.DataFrame
            With the columns "class", "feature", "old", "new" (means over the rows of the class) and "z", the largest
            absolute z first. z is the score statistic of "both have one mean" with its scale,
            ``(new - old) / sqrt(v (1 / N_old + 1 / N_new))`` with N the weights of the class and v the variance about
            the mean of all its rows, old and new: that of the rows where "sum_sq" was scanned, else that of presence,
            m (1 - m), or that of Poisson counts, m; z is too large for counts that vary more. If both sets come from
            one distribution, about 1 in 20 values lies beyond 2. "(share of rows)" is the share of all rows that the
            class has.

        Raises
        ------
        TypeError, ValueError
            `new` is not ClassStats, or has other columns, moments, classes or transforms.

        Examples
        --------
        >>> import numpy as np, streamnb as snb
        >>> old, new = snb.scan([[1.0, 5.0], [2.0, 5.0]], [0, 0]), snb.scan([[7.0, 5.0], [8.0, 5.0]], [0, 0])
        >>> old.drift(new)[["feature", "old", "new"]].to_dict("list")
        {'feature': [0], 'old': [1.5], 'new': [7.5]}
        """
        if not isinstance(new, type(self)):
            raise TypeError(
                f"new is of type {type(new).__name__}; it should be ClassStats, as snb.scan(X, y) returns them"
            )
        pd = pandas_for("drift")
        n_features = arguments.positive_integer("n_features", n_features)
        names = feature_names_of(feature_names, self.n_features)
        moved = sorted(_moved(self, new, n_features, names), key=lambda row: -abs(row[-1]))[:n_features]
        return pd.DataFrame(moved, columns=["class", "feature", "old", "new", "z"])

    def _by_class(self, values: np.ndarray, feature_names: Any) -> Any:
        pd = pandas_for("a table of averages")
        names = feature_names_of(feature_names, self.n_features)
        return pd.DataFrame(values, pd.Index(self.classes, name="class"), names)


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
    names = names if names is None else renamed(names, old.encoding, both.encoding)
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
