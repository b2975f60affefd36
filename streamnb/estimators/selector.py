"""FeatureSelector: the k best features by a criterion read off the statistics of one scan."""

import os
from contextlib import suppress
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import zarr
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from streamnb import _checks, persistence
from streamnb.cluster import check_dask
from streamnb.data import sources
from streamnb.data.chunk import Domain
from streamnb.estimators.base import ScanEstimator, learned
from streamnb.families import as_family
from streamnb.scanning import ScanPlan, checked
from streamnb.selecting import Criterion, FeatureRanking, as_criterion, rank_features
from streamnb.stats.class_stats import ClassStats, RowOptions


@persistence.register
class FeatureSelector(SelectorMixin, ScanEstimator):
    """Keep the k features that tell most of the class, found in one scan of data of any size.

    Parameters
    ----------
    by : str
        The criterion, a name as in `rank_features`, where all are described.
    k : int or "all"
        How many features to keep; of equal scores the first columns. "all" ranks, and keeps every feature.
    presence : {"above", "nonzero"}
        What counts as present for the criteria of presence: x > binarize, or x != 0.
    binarize : float
        Threshold of presence="above" and of the Bernoulli family.
    family, scheme, reference, smoothing
        As in `solve`, for by="score"; by="poisson_log_ratio" takes `smoothing` alone.

    Attributes
    ----------
    scores_ : (n_features,) float64
    ranking_ : (n_features,) int
        Features, the best first.
    pvalues_ : (n_features,) float64 or None
        Where the criterion has them: "chi2" and "f_classif".
    stats_ : ClassStats
        All that was kept of the data.
    n_features_in_ : int
    feature_names_in_ : (n_features,) str
        Only where X is a data frame with string column names.
    report_ : Report
        Rows, bytes, blocks and seconds of the last scan.

    Notes
    -----
    `k` may be changed after fitting (``set_params(k=...)``); a change of the criterion takes effect with the next
    fit. To try several criteria on one scan, or after a transform of the values, use `rank_features`.
    """

    def __init__(
        self,
        by: str = "chi2",
        k: Any = 10,
        *,
        presence: str = "above",
        binarize: float = 0.0,
        family: Any = "poisson",
        scheme: str = "joint",
        reference: Any = None,
        smoothing: float = 1.0,
    ):
        self.by = by
        self.k = k
        self.presence = presence
        self.binarize = binarize
        self.family = family
        self.scheme = scheme
        self.reference = reference
        self.smoothing = smoothing

    # ---- what is scanned ---------------------------------------------------------------------------------------------

    def _plan(self, classes: np.ndarray | None) -> ScanPlan:
        criterion = self._criterion()
        domain = Domain(f"{type(self).__name__}(by={self.by!r})", criterion.lowest, criterion.highest)
        options = RowOptions(binarize=self.binarize, centre=as_family(self.family).centre)
        return ScanPlan(tuple(sorted(criterion.moments)), options, classes, domain)

    def _check_params(self) -> None:
        self._criterion()
        self._n_kept(1)

    def _check_whole(self, stats: ClassStats) -> None:
        if self.k != "all" and self.k > stats.n_features:
            _checks.warn(f"k={self.k} is more than the {stats.n_features} features of X; all of them are kept")

    def _settle(self) -> None:
        _ = self._ranked

    def _options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("presence", "family", "scheme", "reference", "smoothing")}

    def _criterion(self) -> Criterion:
        return as_criterion(self.by, **self._options())

    def _n_kept(self, n_features: int) -> int:
        if isinstance(self.k, str):
            _checks.one_of("k", self.k, ["all"])
            return n_features
        return min(_checks.positive_integer("k", self.k), n_features)

    # ---- the ranking -------------------------------------------------------------------------------------------------

    @learned
    def _ranked(self) -> FeatureRanking:
        return rank_features(self.stats_, self.by, **self._options())

    @property
    def scores_(self) -> np.ndarray:
        return self._ranked.scores

    @property
    def ranking_(self) -> np.ndarray:
        return self._ranked.ranking

    @property
    def pvalues_(self) -> np.ndarray | None:
        return self._ranked.pvalues

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self, "stats_")
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.ranking_[: self._n_kept(self.n_features_in_)]] = True
        return mask

    # ---- selecting ---------------------------------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Reduce X to the selected features, in the order of the columns.

        Parameters
        ----------
        X : (n_rows, n_features)
            Anything that `fit` takes.

        Returns
        -------
        (n_rows, k)
            As scikit-learn's selectors return it, and lazy for Dask. Rows from Zarr, a path or a stream are read block
            by block into one NumPy array, or SciPy CSR where they are sparse.
        """
        check_is_fitted(self, "stats_")
        if sources.is_dask(X):
            return self._selected_lazily(sources.dask_array(X))
        if isinstance(X, (str, os.PathLike, zarr.Array, zarr.Group)) or sources.is_stream(X):
            return self._selected_by_blocks(X)
        return super().transform(X)

    def _selected_lazily(self, X: Any) -> Any:
        check_dask(X)
        if not np.isnan(X.shape[1]):
            _checks.check_n_features(X.shape[1], self.n_features_in_, type(self).__name__)
        kept = self.get_support(indices=True)
        return X.map_blocks(_columns_of, kept, dtype=X.dtype, chunks=(X.chunks[0], (len(kept),)), meta=X._meta)

    def _selected_by_blocks(self, X: Any) -> Any:
        kept, pieces = self.get_support(indices=True), []
        for block in sources.open_source(X, labelled=False).blocks():
            rows = checked(block)[0].to_matrix()
            _checks.check_n_features(rows.shape[1], self.n_features_in_, type(self).__name__)
            pieces.append(rows[:, kept])
        _checks.check_min_size(len(pieces), self.n_features_in_)
        return sp.vstack(pieces, format="csr") if sp.issparse(pieces[0]) else np.concatenate(pieces)

    # ---- the rest of the contract ------------------------------------------------------------------------------------

    def to_state(self) -> dict[str, Any]:
        return {**super().to_state(), "ranked": self._ranked}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        self = super().from_state(state)
        self._learned["_ranked"] = state["ranked"]
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        with suppress(TypeError, ValueError):  # wrong parameters are reported by fit
            tags.input_tags.positive_only = self._criterion().lowest >= 0.0
        return tags


def _columns_of(X: Any, kept: np.ndarray) -> Any:
    return X[:, kept]
