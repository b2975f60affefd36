"""Bins: encodes each value as the bin that it lies in; bins are learned in one pass."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from streamnb.core import arguments, persistence, row_checks
from streamnb.core.arguments import Bytes, PerRow, Rows
from streamnb.encoding.bins import STRATEGIES, BinEdges, check_edges
from streamnb.encoding.learning import LearnsBins, counted_values, matrix, prepared
from streamnb.estimators.preparation import check_features, loaded_names
from streamnb.fits.passes import StatisticTask
from streamnb.passes.contract import RunOptions
from streamnb.passes.run import run
from streamnb.rows.opening import opened
from streamnb.rows.source import Source
from streamnb.stats.value_counts import ValueCounts


@persistence.register
class Bins(LearnsBins, TransformerMixin, BaseEstimator):
    """One column for each bin of each feature: 1 where the value lies in the bin, else 0.

    Followed by `LinearNB("bernoulli")` this is naive Bayes with a histogram of each feature in each class, which makes
    no assumption about the shape of distributions.

    Parameters
    ----------
    n_bins : int
        Bins of each feature, at least 2. A feature with no more distinct values has one bin per value.
    strategy : {"quantile", "uniform"}
        Bins of about equal numbers of rows, or of equal width between the smallest and the largest value.
    edges : list of numbers, or a list for each feature, optional
        Inner borders, ascending, in place of learned ones: m of them make m + 1 bins.
    missing : {"auto"} or bool
        Whether a feature has one more bin, the last, for missing values (NaN): "auto" where `fit` has seen any; True
        in every feature, False in none. NaN in a feature without such a bin is refused.

    Attributes
    ----------
    edges_ : list of (n_edges,) float64
        Inner borders of the bins of each feature; bin i holds values above border i - 1 and up to border i.
    precision_ : (n_features,) float64
        Largest relative error of a learned quantile, which is never below the true one; 0 where it is exact.
    missing_ : (n_features,) bool
        Which features have a bin for missing values.
    n_features_in_ : int
    feature_names_in_ : (n_features,) str
        Only where X is a data frame with string column names.
    report_ : Report
        Rows, bytes, blocks and seconds of the scan.

    Notes
    -----
    One pass counts the values of each feature in cells of values that agree in their leading bits, with so few bits
    that at most 4,096 cells remain. Counts add up and are the same for any order of rows, threads and workers. A
    quantile is the true one, ``np.quantile(x, q, method="inverted_cdf")``, rounded up to the last number of its cell.
    It is exact for a feature with at most 4,096 distinct values; for others its relative error is below 2 b / 4,096,
    where b is the number of powers of two, of either sign, that the values span. The border lies half way to the next
    values, so that a value stays in its bin when it is stored in another precision. Up to 64 kB per feature are needed.

    Examples
    --------
    >>> import streamnb as snb
    >>> bins = snb.Bins(n_bins=2).fit([[1.0], [2.0], [3.0], [4.0]])
    >>> bins.get_feature_names_out().tolist()
    ['x0 in (-inf, 2.5]', 'x0 in (2.5, inf)']
    >>> bins.transform([[2.0], [3.0]]).toarray()
    array([[1., 0.],
           [0., 1.]])
    """

    def __init__(self, n_bins: int = 16, strategy: str = "quantile", *, edges: Any = None, missing: Any = "auto"):
        self.n_bins = n_bins
        self.strategy = strategy
        self.edges = edges
        self.missing = missing

    def fit(
        self,
        X: Rows,
        y: PerRow = None,
        *,
        progress: bool | None = None,
        n_threads: int | None = None,
        memory_limit: Bytes = None,
        client: Any = None,
        checkpoint: Any = None,
    ) -> Self:
        """Learn the borders of the bins in one pass.

        Parameters
        ----------
        X : (n_rows, n_features)
            Anything that `scan` takes, including a stream of chunks; dense rows may contain NaN.
        y : ignored
        progress, n_threads, memory_limit, client, checkpoint
            As in `scan`.

        Raises
        ------
        ValueError, TypeError
            A parameter or a value is wrong: the message names it.
        DataError
            Data cannot be read.
        MemoryError
            The counts would take more than `memory_limit`.
        """
        self._check_params()
        options = RunOptions(progress, n_threads, memory_limit, client, checkpoint)
        rows = opened(X, labelled=False, look=partial(check_features, self, reset=True))
        total, report = run(StatisticTask(counted_values(options)), rows, options)
        counts = total.whole()
        self._bins = self.learned(counts)
        exact = self.edges is not None or self.strategy == "uniform"
        shifts = [0 if exact else cells.shift for cells in counts.features]
        self.precision_ = np.array([2.0 ** (shift - 52) if shift else 0.0 for shift in shifts])
        self.n_features_in_, self.report_ = counts.n_features, report
        return self

    def learned(self, counts: ValueCounts) -> BinEdges:
        """The borders, from counts of values; checks parameters and values."""
        self._check_params()
        learned = BinEdges.learned(counts, self.n_bins, self.strategy, self.missing)
        if not self.missing and counts.missing.any():
            column = int(np.argmax(counts.missing > 0))
            raise ValueError(
                f"X has {counts.missing[column]} NaN in column {column}, and missing=False leaves no bin for them; "
                "take missing='auto' (Input X contains NaN.)"
            )
        given = check_edges(self.edges, counts.n_features)
        return learned if given is None else BinEdges(given.edges, learned.missing)

    def check_for(self, n_features: int) -> None:
        """Raise where parameters do not fit this number of features."""
        self._check_params()
        check_edges(self.edges, n_features)

    def _check_params(self) -> None:
        arguments.positive_integer("n_bins", self.n_bins, 2)
        arguments.one_of("strategy", self.strategy, STRATEGIES)
        if not isinstance(self.missing, bool | np.bool_):
            arguments.one_of("missing", self.missing, ["auto", True, False])

    def _opened(self, X: Any, *beside: Any) -> Source:
        """Rows with the fitted columns; `beside` are their labels and weights."""
        check_is_fitted(self, "_bins")
        rows = opened(X, *beside, labelled=False, look=partial(check_features, self))
        row_checks.check_n_features(rows.n_features, self.n_features_in_, type(self).__name__)
        return rows

    @property
    def edges_(self) -> list[np.ndarray]:
        """Inner borders of the bins of each feature."""
        return self._bins.edges

    @property
    def missing_(self) -> np.ndarray:
        """Which features have a bin for missing values."""
        return self._bins.missing

    def transform(self, X: Rows) -> Any:
        """The bins of rows.

        Parameters
        ----------
        X : (n_rows, n_features)
            Anything that `fit` takes.

        Returns
        -------
        (n_rows, n_columns) SciPy CSR
            float64, with n_features ones in each row; for Dask a lazy array of such blocks.
        """
        rows = self._opened(X)
        return matrix(self._bins, rows)

    def rows(self, X: Rows, y: PerRow = None, sample_weight: PerRow = None) -> Source:
        """Rows whose columns are bins, computed as the rows are read; an X for scans, fits and predictions.

        `transform` returns a matrix of all rows. This method bins each block when it is read, from stores, streams and
        Dask arrays of any size, and again in each pass.

        Parameters
        ----------
        X, y, sample_weight
            As in `scan`; give y and weights here, with the rows.

        Examples
        --------
        >>> import streamnb as snb
        >>> X, y = [[1.0], [2.0], [3.0], [9.0]], [0, 1, 1, 0]  # or a store
        >>> bins = snb.Bins(n_bins=4).fit(X)
        >>> snb.LinearNB("bernoulli").fit(bins.rows(X, y)).predict(bins.rows([[2.5], [8.0]])).tolist()
        [1, 0]
        """
        rows = self._opened(X, y, sample_weight)
        return prepared(self._bins, rows)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns, such as "x3 in (509, 733]" and "x3 is missing"."""
        check_is_fitted(self, "_bins")
        return np.array(self._bins.names(_check_feature_names_in(self, input_features)), object)

    def save(self, path: Any) -> None:
        """Write to one file, no pickle; read it with `snb.load`."""
        check_is_fitted(self, "_bins")
        persistence.save(path, self)

    def _to_state(self) -> dict[str, Any]:
        names = getattr(self, "feature_names_in_", None)
        if not hasattr(self, "_bins"):  # a parameter of a classifier, which keeps what it learned for it
            return {"params": self.get_params(), "bins": None}
        return {"params": self.get_params(), "bins": self._bins, "precision": self.precision_, "names": names}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        persistence.known(cls, state, "params", "bins", "precision", "names")
        self, bins = cls(**state["params"]), state["bins"]
        if bins is None:
            self._check_params()
            check_edges(self.edges, len(self.edges) if np.ndim(self.edges) > 1 else 1)
            return self
        if not isinstance(bins, BinEdges):
            raise ValueError(f"bins are of type {type(bins).__name__}")
        self._bins, self.n_features_in_ = bins, len(bins.edges)
        self.check_for(self.n_features_in_)
        self.precision_ = persistence.array("precision", state["precision"], ["f8"], (len(bins.edges),))
        if state["names"] is not None:
            self.feature_names_in_ = loaded_names(state["names"], self.n_features_in_)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags
