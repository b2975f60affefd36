"""CategoryCounters: target encoding of categories, out of fold for the rows of training."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from streamnb.core import arguments, messages, persistence, row_checks
from streamnb.core.arguments import Bytes, PerRow, Rows
from streamnb.encoding import counters
from streamnb.encoding.category_columns import warn_of_distinct
from streamnb.encoding.counters import CategoryCounts, Codes, CountedColumns, Counters, CountTask
from streamnb.encoding.opening import opened_as_categories
from streamnb.estimators.preparation import check_features, check_width, loaded_names
from streamnb.passes.answering import answer
from streamnb.passes.contract import RunOptions
from streamnb.passes.run import run
from streamnb.rows.keeping import Keeping
from streamnb.rows.opening import with_labels
from streamnb.rows.row_blocks import BLOCK_ROWS
from streamnb.rows.source import Source
from streamnb.scanning.class_scan import folding_of
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.moment_sums import check_moments

OOF = ("folds", "loo")
MOST_BITS = 40  # of buckets
MOMENTS = ("sum", "sum_sq")
COUNTED = 15  # numbers of a column with one value, by class and fold
DENSE = 3  # copies of a block of rows, dense
LOO = (
    "oof='loo' leaves each row out of its own counts, which reveals its class: among rows of one value, class 1 rows "
    "get a share lower by 1 / (n - 1 + sum of c) than the others, and a tree finds that; use oof='folds'"
)


@persistence.register
class CategoryCounters(TransformerMixin, BaseEstimator):
    """Target encoding: replaces categories by the class shares of the rows that have them.

    A value u of a column becomes a number for each class k,

    ``g_k(u) = (T(u, k) + c_k) / (sum_k T(u, k) + sum_k c_k)``,

    where T(u, k) is the weight of the rows of class k with that value. `transform` counts all rows of training.
    `fit_transform` encodes these rows themselves, each by the rows of other folds: codes that include a row's own class
    leak it, and a model trained on them would fail on new rows.

    Parameters
    ----------
    c : float, dict {label: float}, "prior", ("prior", float) or list of these
        Pseudo-counts of each class; ``("prior", s)`` is s times the class shares of the counted rows, as scikit-learn's
        ``TargetEncoder(smooth=s)``, and "prior" is the same with s = 1. A list makes columns for each entry.
    folds : int or (n_rows,) ints
        Number of folds, or the fold of each row of training, numbered from 0.
    pairs : bool or list of (int, int)
        Count pairs of columns as further columns after the others: all pairs, or those given by index.
    min_count : float
        Values with less weight in all rows are counted together, and unseen values get their code.
    hash_bits : int, optional
        Hash values into 2^hash_bits buckets per column: memory is bounded, and colliding values count as one.
    raw, log_odds : bool
        Add columns for the counts T(u, k), and for ``ln g_k / (1 - g_k)``.
    thresholds : list of floats, optional
        y is numeric then, and the columns are the shares of the rows with y above each threshold.
    oof : {"folds", "loo"}
        "loo" encodes each training row by all other rows, which leaks its class (a warning explains how).
    seed : int
        Seed of the folds, as in `scan`.

    Attributes
    ----------
    classes_ : (n_classes,) sorted labels, or with thresholds the numbers of the ranges between them
    n_values_ : (n_columns,) int
        Distinct values of each column, then of each pair.
    n_features_in_ : int
    feature_names_in_ : (n_features,) str
        Only where X is a table with string column names.
    report_ : Report
        Rows, bytes, blocks and seconds of the scan.

    Notes
    -----
    Values may be numbers, strings, dates and categoricals; NaN, None and NaT are one value, "missing". Strings are
    compared by 53 bits of a hash, and dates by their nanoseconds in UTC, whatever their type. The numbers of rows in
    different folds differ by at most one.

    More folds leak more: on values with eight rows each and a class that is pure noise, a tree that sees nothing else
    reaches an AUC far above .5 with ``oof="loo"`` (examples/counters.py). Ordered counts would depend on how rows are
    cut into blocks, and are not offered.

    Examples
    --------
    >>> import streamnb as snb
    >>> f, y = [["a"], ["a"], ["a"], ["b"], ["b"], ["c"]], [0, 1, 1, 0, 0, 1]
    >>> counters = snb.CategoryCounters(folds=[0, 1, 0, 1, 0, 1])
    >>> counters.fit_transform(f, y)[:, 1].round(2).tolist()
    [0.67, 0.5, 0.67, 0.33, 0.33, 0.5]
    >>> counters.transform([["a"], ["z"]]).round(2).tolist()
    [[0.4, 0.6], [0.5, 0.5]]
    >>> counters.get_feature_names_out().tolist()
    ['x0: P(0)', 'x0: P(1)']
    """

    def __init__(
        self,
        c: Any = 1.0,
        folds: Any = 5,
        pairs: Any = False,
        *,
        min_count: float = 1,
        hash_bits: int | None = None,
        raw: bool = False,
        log_odds: bool = False,
        thresholds: Any = None,
        oof: str = "folds",
        seed: int = 0,
    ):
        self.c = c
        self.folds = folds
        self.pairs = pairs
        self.min_count = min_count
        self.hash_bits = hash_bits
        self.raw = raw
        self.log_odds = log_odds
        self.thresholds = thresholds
        self.oof = oof
        self.seed = seed

    def fit(
        self,
        X: Rows,
        y: PerRow = None,
        sample_weight: PerRow = None,
        *,
        progress: bool | None = None,
        n_threads: int | None = None,
        memory_limit: Bytes = None,
        client: Any = None,
        checkpoint: Any = None,
    ) -> Self:
        """Count values by class and fold in one pass.

        Parameters
        ----------
        X : (n_rows, n_features)
            Anything that `scan` takes, tables of any kind, and arrays with strings, dates and missing values.
        y : (n_rows,) or str
            Labels, or numbers where `thresholds` are given. A string names a column of a table, which is no feature.
        sample_weight : (n_rows,), optional
        progress, n_threads, client, checkpoint
            As in `scan`.
        memory_limit : int or str, optional
            Bytes that the counts may take in each thread, such as "4GB"; half of the free memory by default. A value
            takes 8 bytes for each class and fold, and some 40 more; `hash_bits` bounds the number of values.

        Raises
        ------
        ValueError, TypeError
            A parameter or a value is wrong: the message names it.
        DataError
            Data cannot be read.
        MemoryError
            The counts would take more than `memory_limit`.
        """
        options = RunOptions(progress, n_threads, memory_limit, client, checkpoint)
        self._fit(*self._opened(X, y, sample_weight), options)
        return self

    def fit_transform(
        self, X: Rows, y: PerRow = None, sample_weight: PerRow = None, *, keep: str = "auto", **fit_params: Any
    ) -> np.ndarray:
        """Count, and return the codes of the same rows, each by the rows of other folds.

        Parameters
        ----------
        X, y, sample_weight, **fit_params
            As in `fit`; the rows are read twice, and should not be Dask arrays.
        keep : {"auto", "memory", "disk", "no"}
            Where rows stay for the second read, as in `SoftmaxRegression.fit`.

        Returns
        -------
        (n_rows, n_columns) float64
        """
        if self.oof == "loo":
            messages.warn(LOO)
            if sample_weight is not None:
                raise ValueError("sample_weight needs oof='folds': leaving one row out is for rows of weight 1")
        rows, ranges = self._opened(X, y, sample_weight)
        if rows.lazy:
            raise ValueError("X is in Dask; fit_transform takes rows in memory or in Zarr: fit(X, y), then transform")
        with Keeping(keep, fit_params.get("memory_limit")) as keeping:
            rows = keeping.kept(rows)
            rows.check_read_again("fit_transform")
            self._fit(rows, ranges, RunOptions(**fit_params, keeping=keeping))
            n_rows, n_classes = self.report_.rows, len(self.classes_)
            if self.oof == "loo":
                which = np.searchsorted(self.classes_, rows.whole_column(y if ranges is None else ranges, "y"))
                tables = np.stack([self._counters.table_without_row(k) for k in range(n_classes)])
            else:
                folding: Any = self.counts_.sums.folding
                given = np.asarray(self.folds) if folding.by == "given" else None
                which = folding.numbers(0, n_rows, given, 0)
                tables = np.stack([self._counters.table(fold) for fold in range(folding.n_folds)])
            return self._coded(rows, tables, which)

    def transform(self, X: Rows, *, without_fold: int | None = None) -> Any:
        """The codes of new rows, by all rows of training.

        Parameters
        ----------
        X : (n_rows, n_features)
            Anything that `fit` takes. Columns of tables are matched by their names, and others are ignored.
        without_fold : int, optional
            Leave the rows of this fold out of the counts, to encode that fold's rows for evaluation, with
            ``class_stats(without_fold=..)``.

        Returns
        -------
        (n_rows, n_columns) float64; for Dask a lazy array
        """
        check_is_fitted(self, "_counters")
        names = getattr(self, "feature_names_in_", None)
        how: Any = {"labelled": False, "look": partial(check_features, self), "names": names}
        rows = opened_as_categories(X, strings_too=self._strings_too, **how)
        row_checks.check_n_features(rows.n_features, self.n_features_in_, type(self).__name__)
        left = () if without_fold is None else (arguments.whole_number("without_fold", without_fold),)
        return self._coded(rows, self._counters.table(*left)[None], None)

    def class_stats(self, moments: Any = MOMENTS, *, without_fold: int | None = None) -> ClassStats:
        """The class sums of the codes that `fit_transform` returns, without reading the rows again.

        ``snb.solve(counters.class_stats(), "gaussian")`` is naive Bayes on counters from one pass.

        Parameters
        ----------
        moments : names
            As in `scan`.
        without_fold : int, optional
            For cross-validation: leave out the rows of this fold altogether, so that the codes of the others do not
            depend on their classes; ``transform(X_fold, without_fold=..)`` encodes these rows.
        """
        check_is_fitted(self, "_counters")
        n_folds = self.counts_.sums.n_folds
        if without_fold is not None and n_folds < 3:
            raise ValueError(
                f"without_fold={without_fold}: of {n_folds} folds none is left to count; use folds=3 or more"
            )
        return self._counters.class_stats(check_moments(moments), without_fold)

    @property
    def counts_(self) -> CategoryCounts:
        """The counts, which are all that is kept of the data."""
        return self._counters.counts

    @property
    def classes_(self) -> np.ndarray:
        """Sorted labels, or the numbers of the ranges of y."""
        return self.counts_.sums.classes

    @property
    def n_values_(self) -> np.ndarray:
        """The number of distinct values of each column, then of each pair."""
        return np.diff(self.counts_.starts)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns, such as "tailnum: P(late)" and "tailnum & dest: P(late)"."""
        check_is_fitted(self, "_counters")
        names = list(_check_feature_names_in(self, input_features))
        names += [f"{names[i]} & {names[j]}" for i, j in self._counters.columns.pairs]
        if self.thresholds is not None:
            of_class = [f"y > {number:g}" for number in self.thresholds]
        else:
            of_class = list(map(str, self.classes_.tolist()))
        of_prior = [f", c={c}" for c in self.c] if isinstance(self.c, list) else [""]
        codes = self._codes(self.classes_)
        return np.array([each for name in names for each in codes.names(name, of_class, of_prior)], object)

    # ---- details -----------------------------------------------------------------------------------------------------

    def _opened(self, X: Any, y: Any, weight: Any) -> tuple[Source, np.ndarray | None]:
        """The rows and, with thresholds, the range of each y."""
        self._check_params()
        ranges = None
        if self.thresholds is not None:
            X, y = with_labels(X, y)
            y = ranges = self._ranges(y)
        return opened_as_categories(X, y, weight, look=partial(check_features, self, reset=True)), ranges

    def _ranges(self, y: Any) -> np.ndarray:
        if y is None:
            raise ValueError(f"{row_checks.NO_LABELS}: give a number for each row")
        if isinstance(y, str):
            raise TypeError(f"y={y!r} names a column; with thresholds= it is the numbers themselves, one a row")
        numbers = arguments.as_array("y", y)
        if numbers.ndim != 1 or numbers.dtype.kind not in "buif":
            raise TypeError(
                f"y has shape {numbers.shape} and dtype {numbers.dtype}; with thresholds= it is a number a row"
            )
        gaps = np.flatnonzero(np.isnan(numbers.astype(np.float64)))
        if gaps.size:
            raise ValueError(f"y is missing at row {gaps[0]}; drop such rows (Input y contains NaN.)")
        return np.searchsorted(np.asarray(self.thresholds, np.float64), numbers)

    def _check_params(self) -> None:
        arguments.one_of("oof", self.oof, OOF)
        arguments.finite_number("min_count", self.min_count, minimum=0.0)
        arguments.whole_number("seed", self.seed)
        for name in ("raw", "log_odds"):
            arguments.one_of(name, getattr(self, name), [True, False])
        if self.hash_bits is not None and arguments.positive_integer("hash_bits", self.hash_bits) > MOST_BITS:
            raise ValueError(f"hash_bits={self.hash_bits} should be at most {MOST_BITS}")
        if self.thresholds is not None:
            edges = arguments.as_array("thresholds", self.thresholds)
            rises = edges.ndim == 1 and edges.size and edges.dtype.kind in "iuf" and np.isfinite(edges).all()
            if not rises or (np.diff(edges) <= 0).any():
                raise ValueError(f"thresholds={self.thresholds!r} should be finite numbers that rise")
        counters.check(self.c, above_zero=bool(self.log_odds))

    def _codes(self, classes: np.ndarray) -> Codes:
        priors = [counters.of_classes(c, classes) for c in counters.several(self.c)]
        return Codes(priors, bool(self.raw), bool(self.log_odds), self.thresholds is not None)

    def _columns(self, n_features: int | None) -> CountedColumns:
        pairs = self.pairs
        if isinstance(pairs, bool | np.bool_):
            if pairs and n_features is None:
                raise ValueError("pairs=True is for rows that say how many columns they have; name the pairs")
            named = list(combinations(range(n_features or 0), 2)) if pairs else []
        else:
            named = _named(pairs)
        return CountedColumns([list(pair) for pair in named], self.hash_bits or 0)

    def _fit(self, rows: Source, ranges: np.ndarray | None, options: RunOptions) -> None:
        check_width(rows, COUNTED + DENSE * min(rows.n_rows or 1, BLOCK_ROWS), options)
        classes = None if ranges is None else np.arange(len(self.thresholds) + 1)
        folding, rows = folding_of(rows, self.folds, None, 1, self.seed)
        assert folding is not None
        task = CountTask(self._columns(rows.n_features), classes, folding, options.memory_limit)
        counts, self.report_ = run(task, rows, options)
        n_given = len(counts.values) - len(task.columns.pairs)
        warn_of_distinct(list(map(len, counts.values[:n_given])), range(n_given), self.report_.rows)
        self._remember(counts, task.columns)

    _strings_too = True

    def _remember(self, counts: CategoryCounts, columns: CountedColumns) -> None:
        self._counters = Counters(counts, columns, self._codes(counts.sums.classes), float(self.min_count))
        self.n_features_in_ = len(counts.values) - len(columns.pairs)

    def _coded(self, rows: Source, tables: np.ndarray, which: np.ndarray | None) -> Any:
        function = partial(self._counters.applied, tables=tables, which=which)
        return answer(function, rows, self._counters.n_outputs, np.dtype(np.float64), missing=True)

    # ---- in files ----------------------------------------------------------------------------------------------------

    def save(self, path: Any) -> None:
        """Write to one file, no pickle; read it with `snb.load`."""
        check_is_fitted(self, "_counters")
        persistence.save(path, self)

    def _to_state(self) -> dict[str, Any]:
        params = {**self.get_params(), "c": counters._to_state(self.c)}
        del params["folds"]  # the split of rows is saved with the counts
        names = getattr(self, "feature_names_in_", None)
        return {
            "params": params,
            "counts": self.counts_,
            "columns": self._counters.columns,
            "names": names,
            "strings_too": self._strings_too,
        }

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        persistence.known(cls, state, "params", "counts", "columns", "names", "strings_too")
        counts, columns = state["counts"], state["columns"]
        of_types = isinstance(counts, CategoryCounts) and isinstance(columns, CountedColumns)
        if not of_types or counts.sums.folding is None:
            raise ValueError("counters lack the counts of their folds")
        params = {**state["params"], "c": counters._from_state(state["params"]["c"]), "folds": counts.sums.n_folds}
        self = cls(**params)
        self._check_params()
        self._remember(counts, columns)
        self._strings_too = state.get("strings_too", False)  # 0.3 and older know them by hashes
        if self._columns(self.n_features_in_) != columns:
            raise ValueError(f"the columns that were counted are not those of pairs={self.pairs!r}")
        if state["names"] is not None:
            self.feature_names_in_ = loaded_names(state["names"], self.n_features_in_)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags


def _named(pairs: Any) -> list[tuple[int, int]]:
    """Pairs of column indices."""
    if not isinstance(pairs, list | tuple) or not all(isinstance(p, list | tuple) and len(p) == 2 for p in pairs):
        raise TypeError(f"pairs={pairs!r} should be a bool, or a list of pairs of numbers of columns such as [(0, 2)]")
    return [(arguments.whole_number("pairs", i), arguments.whole_number("pairs", j)) for i, j in pairs]
