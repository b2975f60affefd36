"""FeatureSelector: the k best features by a criterion from one scan, or by a search."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from streamnb.core import arguments, messages, persistence, row_checks
from streamnb.core.arguments import Bytes, PerRow, Rows
from streamnb.core.guesses import available_if
from streamnb.encoding.opening import opened_for
from streamnb.estimators import incremental, preparation
from streamnb.estimators.parameters import learned
from streamnb.estimators.preparation import Preparation, StepRequest, fitting
from streamnb.passes.answering import answer
from streamnb.passes.contract import Reading, Report, RunOptions
from streamnb.passes.run import run_reads
from streamnb.problem.families import as_family
from streamnb.rows.boundary import Domain
from streamnb.rows.opening import with_labels
from streamnb.rows.preparing import RowOptions
from streamnb.rows.row_blocks import Chunk
from streamnb.rows.source import Source
from streamnb.scanning.class_scan import ClassScan, folding_of, run_scan
from streamnb.selection.criteria import Criterion, blind
from streamnb.selection.feature_ranking import FeatureRanking, FeatureSearch, searched, with_weight
from streamnb.selection.features import SEARCHES, as_search, first_criterion, rank_features
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.histograms import check_histogram


def _adds_up(selector: FeatureSelector) -> bool:
    """Whether rows may come in parts; a search reads all of them together, twice."""
    return not isinstance(selector.by, FeatureSearch) and selector.by not in [*SEARCHES]


@persistence.register
class FeatureSelector(SelectorMixin, BaseEstimator):
    """Select the k features that are most informative about the class, in one or two scans of data of any size.

    Parameters
    ----------
    by : str or search
        A criterion, by its name in `rank_features`, which describes all of them. Criteria of presence cannot
        distinguish the values {1, 2} from {3, 4, 5}, which are all present. Or a search, by name or as an object with
        its own parameters, such as ``snb.FCBF(delta=0.05)``: "fcbf", "sfs", "iwss", "backward", "exhaustive",
        "relief", "trees". A search reads the rows a second time, so that X must be readable twice.
    k : int, "all" or "auto"
        How many features to keep; ties go to the first columns. "all" ranks and keeps every feature. "auto": as many as
        a search chooses; "fcbf" and "iwss" never keep more than that.
    values : {"presence", "value", "bins"}
        What the criteria of presence and "chi2" distinguish: whether x is present; "value": the whole numbers 0, 1, ..,
        n_bins - 1; "bins": bins of any values. The last two keep a histogram, see `scan`.
    n_bins : int
        Values or bins of each feature.
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
        Features, best first.
    pvalues_ : (n_features,) float64 or None
        For the criteria "chi2" and "f_classif".
    chosen_ : (n_chosen,) int or None
        The features that a search keeps, in its order.
    curve_ : (n_steps, n_folds) float64 or None
        For a search that judges models: the accuracy with 1, 2, .. features on the rows of each fold.
    stats_ : ClassStats
        The statistics, which are all that is kept of the data.
    n_features_in_ : int
    feature_names_in_ : (n_features,) str
        Only where X is a data frame with string column names.
    report_ : Report
        Rows, bytes, blocks and seconds of the last scan.
    meta_ : dict or None
        The metadata saved with the ranking.

    Notes
    -----
    `k` may be changed after fitting (``set_params(k=...)``); a change of the criterion takes effect with the next
    fit. To try several criteria on one scan, or after a transform of the values, use `rank_features`.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = snb.FeatureSelector(by="f_classif", k=2).fit(X, y)
    >>> selector.get_support().tolist(), selector.transform(X).shape
    ([False, False, True, True], (150, 2))
    """

    def __init__(
        self,
        by: Any = "chi2",
        k: Any = 10,
        *,
        values: str = "presence",
        n_bins: int = 64,
        presence: str = "above",
        binarize: float = 0.0,
        family: Any = "poisson",
        scheme: str = "joint",
        reference: Any = None,
        smoothing: float = 1.0,
    ):
        self.by = by
        self.k = k
        self.values = values
        self.n_bins = n_bins
        self.presence = presence
        self.binarize = binarize
        self.family = family
        self.scheme = scheme
        self.reference = reference
        self.smoothing = smoothing

    def _step_request(self) -> StepRequest:
        return StepRequest(type(self).__name__)

    def _check_against(self, stats: ClassStats) -> None:
        """Parameters fit any data."""

    def _check_loaded(self, state: dict[str, Any]) -> None:
        self._check_params()
        self._task(None)

    def _warn(self) -> None:
        """There are no warnings about parameters."""

    # ---- what is scanned ---------------------------------------------------------------------------------------------

    _preparation = Preparation()
    _memory_limit = None
    _statistics = "ClassStats"
    _saved = "params", "fitted", "step", "ranked"
    _keeps_batches = False
    _takes_indicator = False
    _indicator_advice = "use snb.LinearNB, which has a model for each label"
    meta_ = None
    encoding_ = preparation.encoding
    label_ = preparation.label
    layer_ = preparation.layer

    def _opened(self, X: Any, *beside: Any, labelled: bool = True) -> Source:
        return preparation.opened_as_fitted(self, X, *beside, labelled=labelled)

    _keep = incremental.IncrementalClassifier._keep
    _now = incremental.IncrementalClassifier._now

    def fit(
        self,
        X: Rows,
        y: PerRow = None,
        sample_weight: PerRow = None,
        *,
        classes: Any = None,
        moments: Iterable[str] | None = (),
        progress: bool | None = None,
        n_threads: int | None = None,
        memory_limit: Bytes = None,
        client: Any = None,
        checkpoint: Any = None,
        layer: str | None = None,
        keep: str = "auto",
        batch: None = None,
    ) -> Self:
        """Rank the features in one scan; a search may read a sample of the rows, or score them, after it.

        Parameters
        ----------
        X, y, sample_weight, classes, moments, progress, n_threads, memory_limit, client, checkpoint, layer, keep
            As for `LinearNB.fit`.
        batch : None
            The sums of batches are not kept.

        Raises
        ------
        ValueError, TypeError, DataError, MemoryError
            As for `LinearNB.fit`; or X can be read only once, and the search reads it again.
        """
        with fitting(self, progress, n_threads, memory_limit, client, keep, checkpoint) as options:
            run_reads(incremental.reads_to_fit(self, (X, y, sample_weight), options, classes, layer, moments, batch))
            self._now("_ranked")  # now, so that later changes of parameters wait for the next fit
        return self

    def _task(self, classes: np.ndarray | None) -> ClassScan:
        criterion, search = self._criterion(), self._search()
        needs = [criterion] if search is None else search.needs(criterion)
        lowest, highest = max(part.lowest for part in needs), min(part.highest for part in needs)
        domain = Domain(f"{type(self).__name__}(by={self.by!r})", lowest, highest)
        options = RowOptions(binarize=self.binarize, centre=as_family(self.family).centre)
        grid = None if self.values == "presence" else check_histogram(self.values, self.n_bins)
        moments = {moment for part in needs for moment in part.moments}
        return ClassScan(tuple(sorted(moments)), options, classes, domain, grid=grid)

    def _scan(
        self,
        rows: Source,
        classes: Any,
        first: bool,
        options: RunOptions,
        moments: tuple[str, ...] = (),
        batch: None = None,
    ) -> Reading[tuple[Any, Report]]:
        search, task = self._search(), replace(self._task(classes), memory_limit=options.memory_limit)
        task = task.with_moments(moments if first else self.stats_.moments)
        if search is not None:
            rows = options.kept(rows)
            rows.check_read_again(f"{type(self).__name__}(by={search.name!r})")
            if search.n_folds is not None:
                folding, rows = folding_of(rows, search.n_folds, None, 1, getattr(search, "seed", 0))
                task = replace(task, folding=folding)
        stats, report = yield from run_scan(task, rows, options)
        if not first:
            row_checks.check_n_features(stats.n_features, self.stats_.n_features, type(self).__name__)
        incremental.check_labels(self, stats)
        if search is not None:
            with_weight(stats)
            self._beside = search.read(stats, self._criterion(), rows, replace(options, checkpoint=None))
        return stats, report

    def _check_params(self) -> None:
        self._criterion()
        self._n_kept(1)
        arguments.positive_integer("n_bins", self.n_bins)
        if (search := self._search()) is not None:
            search.check(self._criterion())

    def _check_whole(self, stats: ClassStats) -> None:
        if not isinstance(self.k, str) and self.k > stats.n_features:
            messages.warn(f"k={self.k} is more than the {stats.n_features} features of X; all of them are kept")
        if blind(stats, self._criterion()):
            seen = f"above binarize={self.binarize:g}" if self.presence == "above" else "not 0"
            messages.warn(
                f"no feature varies by presence, which by={self.by!r} goes by: each is {seen} in all rows, or in none, "
                "so that all score alike; of numbers give values='bins'"
            )

    def _options(self) -> dict[str, Any]:
        names = "values", "presence", "family", "scheme", "reference", "smoothing"
        return {name: getattr(self, name) for name in names}

    def _criterion(self) -> Criterion:
        return first_criterion(self.by, **self._options())

    def _search(self) -> FeatureSearch | None:
        search = as_search(self.by)
        return None if search is None else search.with_k(self.k)

    def _n_kept(self, n_features: int, chosen: np.ndarray | None = None) -> int:
        n_chosen = n_features if chosen is None else len(chosen)
        if isinstance(self.k, str):
            search = as_search(self.by)
            arguments.one_of("k", self.k, ["all", "auto"] if search is not None and search.keeps else ["all"])
            return n_chosen if self.k == "auto" else n_features
        return min(arguments.positive_integer("k", self.k), n_chosen)

    # ---- the ranking -------------------------------------------------------------------------------------------------

    @learned
    def _ranked(self) -> FeatureRanking:
        search = self._search()
        if search is None:
            return rank_features(self.stats_, self.by, **self._options())
        return searched(self.stats_, search, self._criterion(), self.__dict__.pop("_beside"))

    @property
    def scores_(self) -> np.ndarray:
        """The score of each feature."""
        return self._ranked.scores

    @property
    def ranking_(self) -> np.ndarray:
        """Features, best first."""
        return self._ranked.ranking

    @property
    def pvalues_(self) -> np.ndarray | None:
        """The p-value of each feature for the criteria "chi2" and "f_classif"."""
        return self._ranked.pvalues

    @property
    def chosen_(self) -> np.ndarray | None:
        """The features that a search keeps, in its order."""
        return self._ranked.chosen

    @property
    def curve_(self) -> np.ndarray | None:
        """The accuracy of a search with 1, 2, .. features on the rows of each fold."""
        return self._ranked.curve

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self, "stats_")
        mask = np.zeros(self.n_features_in_, dtype=bool)
        ranked = self._now("_ranked")
        mask[ranked.ranking[: self._n_kept(self.n_features_in_, ranked.chosen)]] = True
        return mask

    # ---- selecting ---------------------------------------------------------------------------------------------------

    @available_if(_adds_up)
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        decay: float = 1.0,
        **options: Any,
    ) -> Self:
        """Add rows to those fitted before, as `LinearNB.partial_fit` does; not available for a search."""
        incremental.add_rows(self, (X, y, sample_weight), classes, decay, RunOptions(**options))
        return self

    def fit_transform(self, X: Rows, y: PerRow = None, **options: Any) -> Any:
        """Fit, then reduce X to the selected features; arguments as for `fit`."""
        X, y = with_labels(X, y)
        return super().fit_transform(X, y, **options)

    def transform(self, X: Rows) -> Any:
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
        rows = opened_for(self.encoding_, X, labelled=False, layer=self.layer_, names=preparation.names_of(self))
        if rows.in_memory:
            return super().transform(rows.given if hasattr(X, "iloc") else X)
        row_checks.check_n_features(rows.n_features, self.n_features_in_, type(self).__name__)
        kept = self.get_support(indices=True)
        return answer(partial(self._kept_of, kept), rows, len(kept), None, join=_joined)

    def _kept_of(self, kept: np.ndarray, chunk: Chunk, survey: Any) -> Any:
        row_checks.check_n_features(chunk.shape[1], self.n_features_in_, type(self).__name__)
        return chunk.to_matrix()[:, kept]

    # ---- the rest of the contract ------------------------------------------------------------------------------------

    def save(self, path: Any) -> None:
        """Write parameters and statistics to one file, no pickle; read it with `snb.load`."""
        check_is_fitted(self, "stats_")
        persistence.save(path, self)

    def _to_state(self) -> dict[str, Any]:
        return {**incremental.state_of(self), "ranked": self._now("_ranked")}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        self = incremental.from_state(cls, state)
        ranked = state["ranked"]
        if not isinstance(ranked, FeatureRanking) or len(ranked.scores) != self.n_features_in_:
            raise ValueError(f"the ranking should be of {self.n_features_in_} features")
        self._learned["_ranked"] = ranked
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        with suppress(TypeError, ValueError):  # wrong parameters are reported by fit
            tags.input_tags.positive_only = self._criterion().lowest >= 0.0
        return tags


def _joined(pieces: list[Any]) -> Any:
    return sp.vstack(pieces, format="csr") if sp.issparse(pieces[0]) else np.concatenate(pieces)
