"""What all estimators have in common: one scan, statistics, and scikit-learn's contract on top."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from streamnb.core import arguments, label_checks, messages, persistence, row_checks
from streamnb.core.types import Bytes, PerRow, Rows
from streamnb.encoding.encoding import Encoding
from streamnb.encoding.opening import opened, opened_for
from streamnb.passes.options import RunOptions
from streamnb.passes.report import Report
from streamnb.rows.source import Source
from streamnb.scanning.class_scan import ClassScan, run_scan
from streamnb.stats.matching import widened
from streamnb.stats.moments import check_moments

OF_ROWS = "feature_names_in_", "layer_", "encoding_", "meta_"  # saved of the rows of a fit, and beside it
_FITTED = "stats_", "report_", "decay_", "class_weight_", "forgotten_", *OF_ROWS  # and of all of it


class Parameter:
    """A constructor parameter that is no attribute: scikit-learn takes whatever has `transform` for a transformer."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        raise AttributeError(f"{self._name!r} is a parameter, not a method; read it from get_params()")

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)[self._name] = value


class RowsEstimator(BaseEstimator):
    """What reads rows of any kind: column names are remembered, and a fit that fails changes nothing."""

    layer_: str | None = None  # of AnnData, that was fitted
    encoding_: Encoding | None = None  # of raw rows, that were fitted
    meta_: dict[str, Any] | None = None  # what `save` was given beside the model

    def _check_params(self) -> None:
        """Refuse parameters that are wrong whatever the data."""

    def _by_kinds(self) -> bool:
        """Whether columns go by their kinds, so that a table in memory is taken as one."""
        return False

    def _take_layer(self, layer: str | None) -> None:
        """Remember the layer of AnnData that is fitted."""
        self.__dict__.pop("layer_", None)
        if layer is not None:
            self.layer_ = layer

    def _opened(self, X: Any, *beside: Any, fresh: bool = False, labelled: bool = True, run: Any = None) -> Source:
        """Rows to fit, the first of all if `fresh`, or to predict; `run` is how a pass over them is run."""
        look = self._remember_names if fresh else self._check_features
        if not fresh:
            return opened_for(self.encoding_, X, *beside, labelled=labelled, look=look, layer=self.layer_)
        rows = opened(X, *beside, labelled=labelled, look=look, layer=self.layer_, frames=self._by_kinds())
        self._take_encoding(rows.encoding)
        return rows

    def _take_encoding(self, encoding: Encoding | None) -> None:
        """Remember what made columns of the rows that are fitted."""
        self.__dict__.pop("encoding_", None)
        if encoding is not None:
            self.encoding_ = encoding

    def _kept_of_rows(self) -> dict[str, Any]:
        """What a file keeps of the rows of the fit: names of features, the layer, and what made columns of them."""
        names = {"feature_names_in_": kept_names(self.feature_names_in_)} if hasattr(self, "feature_names_in_") else {}
        return names | {name: vars(self)[name] for name in OF_ROWS[1:] if name in vars(self)}

    def _restore_of_rows(self, fitted: dict[str, Any]) -> None:
        """Take that out of a file."""
        if "feature_names_in_" in fitted:
            self.feature_names_in_ = loaded_names(fitted["feature_names_in_"], self.n_features_in_)
        if "layer_" in fitted:
            self.layer_ = str(fitted["layer_"])
        if "meta_" in fitted:
            self.meta_ = dict(fitted["meta_"])
        if "encoding_" in fitted:
            self.encoding_ = fitted["encoding_"]
            if not isinstance(self.encoding_, Encoding) or self.encoding_.n_columns != self.n_features_in_:
                raise ValueError(f"encoding_={self.encoding_!r} should make {self.n_features_in_} columns")

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """A fit or refit that fails changes nothing."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:  # an interrupt, too
            self.__dict__ = before
            raise

    def _remember_names(self, given: Any) -> None:
        self._check_params()
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._check_features(given, reset=True)

    def _check_features(self, given: Any, *, reset: bool = False) -> None:
        """Let scikit-learn remember or compare the column names, where X has a shape to look at."""
        look_at_names(self, given, reset)


def look_at_names(estimator: Any, given: Any, reset: bool) -> None:
    """Remember or compare names of columns; those of a source, or of what has a shape to look at."""
    if not isinstance(given, Source):
        if given is not None:
            validate_data(estimator, given, reset=reset, skip_check_array=True)
        return
    names: Any = given.feature_names
    if reset:
        estimator.feature_names_in_ = names
    elif given.names_last and not np.array_equal(names, getattr(estimator, "feature_names_in_", names)):
        raise ValueError(
            "X has other columns than the rows that were fitted; make it with their vocabulary, such as "
            "snb.text(.., vocabulary=rows.vocabulary)"
        )


def kept_names(names: np.ndarray) -> list[str]:
    """Column names as a file keeps them: an array of them would be as wide as the longest."""
    return list(map(str, names))


def loaded_names(names: Any, n_features: int) -> np.ndarray:
    """Column names out of a file, one for each feature; older files have an array of them."""
    found = np.array(names, object)
    if found.shape != (n_features,) or not all(isinstance(name, str) for name in found.tolist()):
        raise ValueError(f"feature_names_in_ should be {n_features} names")
    return found


class ScanEstimator(RowsEstimator):
    """The scikit-learn contract around statistics: a subclass says what to scan, and what follows from it.

    Everything learned follows from `stats_`, so that rows may come in any parts and any order.
    """

    _learned: dict[str, Any]  # predicting fills it, and sets no attribute
    _memory_limit: int | None = None  # of the last fit
    _n_threads: int | None = None  # that too
    _statistics = "ClassStats"  # the class of what a scan leaves
    _takes_indicator = False  # True where a row may bear any number of labels
    _of_indicators = "take snb.LinearNB, which has a model for each label"  # what to do with one, where it is refused

    # ---- what a subclass says ----------------------------------------------------------------------------------------

    def _task(self, classes: np.ndarray | None) -> ClassScan:
        """What to accumulate."""
        raise NotImplementedError

    def _check_whole(self, stats: Any) -> None:
        """Refuse data that `fit` cannot do with, though `partial_fit` might."""

    def _check_against(self, stats: Any) -> None:
        """Refuse parameters that do not go with the data."""

    # ---- fitting -----------------------------------------------------------------------------------------------------

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
    ) -> Self:
        """Fit in one scan.

        Parameters
        ----------
        X : (n_rows, n_features)
            NumPy, SciPy sparse, Dask array, Zarr array or CSR group, AnnData, a path to one or to an .h5ad or svmlight
            file, rows that `svmlight`, `text` or `table` opened, or a stream of chunks. The path of a table becomes
            what `table` makes of it by default; strings, and the path of plain texts (".txt", a pattern or a folder for
            each class), become what `text` makes of them by default. How columns
            were made of raw rows is kept as `encoding_`, and predictions take raw rows then.
        y : (n_rows,) or, for `LinearNB`, (n_rows, n_labels)
            Labels: an array, or the name of one in the group of X, or of a column of a pandas or Dask data frame X,
            which is no feature then: predict from frames without it. Streams bring their own. A 2-D y, dense or CSR,
            is an indicator of labels: each is set against the rest.
        sample_weight : (n_rows,), optional
            Counts as frequency.
        classes : array-like, optional
            All labels that may occur, now and in `partial_fit`; without it the set is open.
        moments : names, optional
            As in `scan`; None: "sum", "sum_sq", "nonzero" and "above". Kept in `stats_` beside what the parameters
            need, so that `refit` with others, such as another family, reads no data.
        progress : bool, optional
            Show a progress bar.
        n_threads : int, optional
            Threads that sum, and that solve for weights; as many as there are cores by default.
        memory_limit : int or str, optional
            Bytes that the tables of class sums may take, such as "4GB"; half of the free memory by default. See `scan`.
            Weights of sparse tables that would take more are computed for the columns at hand.
        client : dask.distributed.Client or cluster, optional
            A cluster that reads and sums, as in `scan`; the active one by default.
        checkpoint : path, optional
            A file that keeps what is summed, so that a fit that was broken off goes on from there; see `scan`.
        layer : str, optional
            The layer of AnnData that is read in place of its X, now and in predictions; kept as `layer_`.

        Raises
        ------
        ValueError, TypeError
            An argument or a value is wrong: the message names it.
        DataError
            Data cannot be read.
        MemoryError
            The tables would take more than `memory_limit`.
        """
        listed = label_checks.check_classes(classes)
        options = RunOptions(progress, n_threads, memory_limit, client, checkpoint)
        with self._all_or_nothing():
            self._check_params()
            self._take_layer(layer)
            rows = self._opened(X, y, sample_weight, fresh=True, run=options)
            self._memory_limit, self._n_threads = options.memory_limit, n_threads
            stats, report = self._scan(rows, listed, True, options, check_moments(moments))
            self._check_whole(stats)
            for name in ("class_weight_", "forgotten_"):
                self.__dict__.pop(name, None)
            self._keep(stats, report)
            self._settle()  # now, so that later changes of parameters wait for refit
        return self

    def partial_fit(
        self,
        X: Rows,
        y: PerRow = None,
        classes: Any = None,
        sample_weight: PerRow = None,
        *,
        decay: float = 1.0,
        progress: bool | None = None,
        n_threads: int | None = None,
        memory_limit: Bytes = None,
        client: Any = None,
    ) -> Self:
        """Add rows to those fitted before: the same result, to the last bit, as fitting all rows at once.

        With `classes` a label that is not listed is refused, in this call and all that follow. Without it, unlike
        in scikit-learn, new labels may appear at any time; those of a 2-D y as further columns at the right.

        Parameters
        ----------
        X, y, classes, sample_weight, progress, n_threads
            As in `fit`.
        decay : float, 0 < decay <= 1
            What all rows fitted before count from now on, times what they counted: once a call, however many rows it
            brings. Numbers of rows, such as `stats_.n_rows`, stay as they are, and a class whose weight has fallen
            below 2^-500 is as one that has none. `decay_` is the product so far, what rows of the first call count.
        """
        decay = arguments.finite_number("decay", decay)
        if not 0.0 < decay <= 1.0:
            raise ValueError(f"decay={decay!r} should be above 0 and at most 1; 1 forgets nothing")
        first = not hasattr(self, "stats_")
        listed = self._known(classes)
        options = RunOptions(progress, n_threads, memory_limit, client)
        with self._all_or_nothing():
            self._check_params()
            rows = self._opened(X, y, sample_weight, fresh=first, run=options)
            if not first:
                label_checks.check_labels_of_model(rows.label_names, self.classes_)
            stats, report = self._scan(rows, listed, first, options)
            self._check_added(stats)
            if not first:
                before = self.stats_ if decay == 1.0 else self.stats_ * decay
                stats = stats + (widened(before, len(stats.classes)) if self._takes_indicator else before)
            self._keep(stats, report, 1.0 if first else self.decay_ * decay)
            self._warn()
        return self

    def _check_added(self, stats: Any) -> None:
        """Refuse rows that no model can be made of, before they are added."""

    def _restore(self, state: dict[str, Any]) -> None:
        """Take out of a file what is learned before the scan."""

    def _known(self, classes: Any) -> np.ndarray | None:
        """The closed set of labels for the next rows, None where it is open."""
        fitted = hasattr(self, "stats_")
        before = self.classes_ if fitted and self.stats_.closed else None
        if classes is None:
            return before
        if not fitted or not np.size(classes):
            return label_checks.check_classes(classes)
        listed = label_checks.check_labels(classes, "classes")
        arranged = np.asarray if getattr(self.stats_, "multilabel", False) else np.sort  # columns have an order
        repeated = np.unique(listed).size < listed.size
        if repeated or (before is not None and not np.array_equal(arranged(listed), arranged(before))):
            cure = "a label is listed twice; each should stand once" if repeated else "leave it out, or fit anew"
            raise ValueError(
                f"classes={messages.listed(listed)} is not the same as on last call to partial_fit, was: "
                f"{messages.listed(self.classes_)}; {cure}"
            )
        return label_checks.check_classes(listed) if before is None else before

    def _scan(
        self, rows: Source, classes: Any, first: bool, options: RunOptions, moments: tuple[str, ...] = ()
    ) -> tuple[Any, Report]:
        self._check_params()
        task = replace(self._task(classes), memory_limit=options.memory_limit)
        task = task.with_moments(moments if first else self.stats_.moments)  # rows to come bring what is there
        stats, report = run_scan(task, rows, options)
        if not first:
            row_checks.check_n_features(stats.n_features, self.stats_.n_features, type(self).__name__)
        self._check_labels(stats)
        if not first and self._takes_indicator and stats.multilabel and len(stats.classes) < len(self.classes_):
            raise ValueError(
                f"y has {len(stats.classes)} columns and {len(self.classes_)} before; give one for each label"
            )
        self._check_against(stats)
        return stats, report

    def _check_labels(self, stats: Any) -> None:
        """Refuse an indicator of labels where a row should have one."""
        if getattr(stats, "multilabel", False) and not self._takes_indicator:
            who, cure = type(self).__name__, self._of_indicators
            raise ValueError(f"y is a 2-D indicator of labels; {who} takes one label a row: {cure}")

    def _keep(self, stats: Any, report: Report, decay: float = 1.0) -> None:
        self.stats_, self.report_, self.decay_ = stats, report, decay
        self.n_features_in_ = stats.n_features
        self.classes_ = stats.classes
        self._learned = {}

    def _settle(self) -> None:
        """Compute what depends on parameters."""

    def _warn(self) -> None:
        """Say of the parameters what `fit` says of them, where the model is not made yet."""

    def _now(self, name: str) -> Any:
        """Something learned, for a method to go on with."""
        return getattr(type(self), name).of(self)

    # ---- saving ------------------------------------------------------------------------------------------------------

    def save(self, path: Any) -> None:
        """Write parameters and statistics to one file, no pickle; read it with `snb.load`."""
        check_is_fitted(self, "stats_")
        persistence.save(path, self)

    def to_state(self) -> dict[str, Any]:
        fitted = {"stats_": self.stats_, "report_": asdict(self.report_), "decay_": self.decay_}
        if getattr(self, "class_weight_", None) is not None:
            fitted["class_weight_"] = self.class_weight_
        fitted |= self._kept_of_rows()
        return {"params": self.get_params(deep=False), "fitted": fitted}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        self, fitted = cls(**state["params"]), persistence.known(cls, state["fitted"], *_FITTED)
        stats, decay = fitted["stats_"], arguments.finite_number("decay_", fitted.get("decay_", 1.0), minimum=0.0)
        if type(stats).__name__ != cls._statistics or decay > 1.0:
            raise ValueError(f"stats_ are of type {type(stats).__name__}, decay_ is {decay}")
        self._restore(state)
        self._keep(stats, Report.from_state(fitted["report_"]), decay)
        if "class_weight_" in fitted:
            self.class_weight_ = arguments.check_class_weight(fitted["class_weight_"], stats.classes)
        self._restore_of_rows(fitted)
        self._check_loaded(state)
        return self

    def _check_loaded(self, state: dict[str, Any]) -> None:
        """Refuse parameters that were none of such a fit."""
        self._check_params()
        self._check_against(self.stats_)
        self._task(None)
