"""IncrementalClassifier: the base class of classifiers whose model follows from statistics that merge and subtract."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from operator import attrgetter
from typing import Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from streamnb.core import arguments, messages, persistence, row_checks
from streamnb.core.arguments import Bytes, PerRow, Rows
from streamnb.estimators.classifier import Classifier
from streamnb.estimators.parameters import learned
from streamnb.estimators.preparation import (
    OF_ROWS,
    adopt_columns,
    all_or_nothing,
    fitting,
    opened_to_add,
    opened_to_fit,
    restore_rows,
    shrink,
    state_of_rows,
    warn_of_beyond,
)
from streamnb.models.linear import LinearModel
from streamnb.passes.contract import Reading, Report, RunOptions
from streamnb.passes.run import run_reads
from streamnb.rows.source import Source
from streamnb.scanning.class_scan import ClassScan, run_scan, with_batches
from streamnb.stats.grouping import widened
from streamnb.stats.moment_sums import check_moments

_FITTED = "stats_", "report_", "decay_", "class_weight_", "forgotten_", *OF_ROWS


class IncrementalClassifier(Classifier):
    """A classifier whose model is solved from sums over the rows, to which rows can be added, and removed again.

    Attributes
    ----------
    class_weight_ : None, "balanced" or {label: weight}
        The class weight of the last `refit`.
    decay_ : float
        The product of all decays since the first call of `partial_fit`.
    forgotten_ : tuple of str or int
        Keys of the `forget` requests since the last fit.
    """

    _learned: dict[str, Any]  # a cache that predictions may fill without setting attributes
    _memory_limit: int | None = None  # of the last fit
    _n_threads: int | None = None  # of the last fit
    _statistics = "ClassStats"  # the class of the statistics
    _saved: tuple[str, ...] = ("params", "fitted", "step")  # parts of the state in a file
    _adds_rows = True  # also after the fit
    _gives_joint = False  # True where margins are joint log probabilities
    _keeps_batches = True  # False where statistics have no sums of parts of the rows
    _takes_indicator = False  # True where a row may have any number of labels
    _indicator_advice = "use snb.LinearNB, which has a model for each label"  # for the error message
    class_weight_: Any = None
    forgotten_: tuple[str | int, ...] = ()

    # ---- defined by a subclass ---------------------------------------------------------------------------------------

    def _task(self, classes: np.ndarray | None) -> ClassScan:
        """The scan that accumulates the statistics."""
        raise NotImplementedError

    @learned
    def _model(self) -> LinearModel:
        """The model that follows from the statistics."""
        raise NotImplementedError

    def _check_against(self, stats: Any) -> None:
        """Raise where parameters do not fit the data."""

    def _check_whole(self, stats: Any) -> None:
        """Raise where data are not enough for `fit`, though they may be for `partial_fit`."""

    def _warn(self) -> None:
        """Issue the warnings of `fit` about parameters, before the model is computed."""

    def _finish(self) -> None:
        """Compute everything that depends on parameters."""
        self._now("_model")

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
        keep: str = "auto",
        batch: PerRow = None,
    ) -> Self:
        """Fit in one scan.

        Parameters
        ----------
        X : (n_rows, n_features)
            NumPy, SciPy sparse, Dask array, Zarr array or CSR group, AnnData, a path or URL of one or of an .h5ad or
            svmlight file, rows opened by `svmlight`, `text` or `table`, or a stream of chunks. The path of a table, or
            a data frame with strings, dates or missing values, is opened by `table` with its defaults, and so are the
            other containers that it takes; strings, and the path of plain texts (".txt", a pattern, or a folder for
            each class), by `text`. The encoding of raw rows is kept as `encoding_`, and predictions then take raw rows.
        y : (n_rows,) or, for `LinearNB`, (n_rows, n_labels)
            Labels: an array, or the name of one in the group of X, or of a column of a table X, which is then not a
            feature. Streams contain their own. A 2-D y, dense or CSR, is an indicator of labels, each compared with the
            rest.
        sample_weight : (n_rows,), optional
            Counts as frequency.
        classes : array-like, optional
            All labels that may occur, now and in `partial_fit`; without it the set is open.
        moments : names, optional
            As in `scan`; None: "sum", "sum_sq", "nonzero" and "above". They are kept in `stats_` in addition to those
            that the parameters need, so that `refit` with another family, for instance, reads no data.
        progress : bool, optional
            Show a progress bar.
        n_threads : int, optional
            Threads that sum, and that solve for weights; as many as there are cores by default.
        memory_limit : int or str, optional
            Bytes that the tables of class sums may take, such as "4GB"; half of the free memory by default. See `scan`.
            Weights of sparse tables that would take more are computed for the columns in use.
        client : dask.distributed.Client or cluster, optional
            A cluster that reads and sums, as in `scan`; the active one by default.
        checkpoint : path, optional
            A file for the sums so far, from which an interrupted fit resumes; see `scan`.
        layer : str, optional
            The layer of AnnData to read in place of X, now and in predictions; kept as `layer_`. "raw" reads `raw`.
        keep : {"auto", "memory", "disk", "no"}
            Where to keep rows that are read more than once, for example to learn bins; as in `SoftmaxRegression.fit`.
        batch : (n_rows,), optional
            As in `scan`: `stats_` also keeps the sums of each batch, for ``markers(test=.., batch=True)``. The model is
            the same. Rows cannot be added or forgotten later, as they would have no batches.

        Raises
        ------
        ValueError, TypeError
            An argument or a value is wrong: the message names it.
        DataError
            Data cannot be read.
        MemoryError
            The tables would take more than `memory_limit`.
        """
        with fitting(self, progress, n_threads, memory_limit, client, keep, checkpoint) as options:
            run_reads(reads_to_fit(self, (X, y, sample_weight), options, classes, layer, moments, batch))
            self._finish()  # now, so that later changes of parameters wait for refit
        return self

    @available_if(attrgetter("_adds_rows"))
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
        """Add rows to those fitted before; the result is the same, to the last bit, as fitting all rows at once.

        With `classes`, a label that is not listed is an error, in this call and all later ones. Without it, unlike in
        scikit-learn, new labels may appear at any time; for a 2-D y as further columns at the right.

        New categories of a table, and of ``family="categorical"``, become columns, which takes an extra pass. Bins,
        ranks, the median that replaces missing numbers and the set of rare values stay those of the first rows, so that
        a fit to all rows may learn others.

        Parameters
        ----------
        X, y, classes, sample_weight, progress, n_threads
            As in `fit`.
        decay : float, 0 < decay <= 1
            Multiplies the weight of all rows fitted before, once per call, however many rows it adds. Numbers of rows,
            such as `stats_.n_rows`, do not change. A class with weight below 2^-500 counts as one without weight.
            `decay_` is the product so far, which is the current weight of rows of the first call.

        Raises
        ------
        ValueError
            An argument is wrong, or a table has new values and the estimator learned something for each column, such as
            `Bins` of the columns of a table. The model stays as it was.

        Warns
        -----
        StreamnbWarning
            Most numbers of a column lie beyond all bins, or all ranks, of the first rows; new values may not be rare in
            all rows; a column had one value before and cannot be added; or new categories have no column, as for
            `TreeNB` and for streams that can be read only once.
        """
        options = RunOptions(progress, n_threads, memory_limit, client)
        add_rows(self, (X, y, sample_weight), classes, decay, options)
        return self

    def _scan(
        self,
        rows: Source,
        classes: Any,
        first: bool,
        options: RunOptions,
        moments: tuple[str, ...] = (),
        batch: Any = None,
    ) -> Reading[tuple[Any, Report]]:
        """The statistics of rows, of the first ones or of further ones; parameters are checked already."""
        task = replace(self._task(classes), memory_limit=options.memory_limit)
        task = task.with_moments(moments if first else self.stats_.moments)  # further rows sum the same moments
        if batch is not None:
            task, rows = with_batches(task, rows, batch)
        stats, report = yield from run_scan(task, rows, options)
        if not first:
            row_checks.check_n_features(stats.n_features, self.stats_.n_features, type(self).__name__)
        check_labels(self, stats)
        if not first and self._takes_indicator and stats.multilabel and len(stats.classes) < len(self.classes_):
            raise ValueError(
                f"y has {len(stats.classes)} columns and {len(self.classes_)} before; give one for each label"
            )
        self._check_against(stats)
        return stats, report

    def _keep(self, stats: Any, report: Report, decay: float = 1.0) -> None:
        """Replace the statistics."""
        self.stats_, self.report_, self.decay_ = stats, report, decay
        adopt_columns(self)
        self.n_features_in_ = self._preparation.n_features(stats.n_features)
        self.classes_ = stats.classes
        self._learned = {}

    def _now(self, name: str) -> Any:
        """A learned value, for use in methods."""
        return getattr(type(self), name).of(self)

    @learned
    def _weighted(self) -> Any:
        """The statistics, reweighted by `class_weight_`."""
        if self.class_weight_ is None:
            return self.stats_
        stats = self.stats_
        return stats.reweighted(arguments.class_factors(self.class_weight_, stats.classes, stats.weight))

    def _fitted_model(self) -> LinearModel:
        check_is_fitted(self, "stats_")
        return self._now("_model")

    @learned
    def class_count_(self) -> np.ndarray:
        """Weight of each class, (K,)."""
        return self._weighted.weight

    @available_if(attrgetter("_gives_joint"))
    def predict_joint_log_proba(self, X: Rows, *, out: Any = None) -> Any:
        """Joint log probabilities ln P(y) + ln P(x | y), (n_rows, K), without terms that depend on the row alone."""
        model, rows = self._ready(X)
        return model.answer(rows, unchanged, len(self.classes_), np.dtype(np.float64), out)

    @available_if(attrgetter("_adds_rows"))
    def forget(self, X: Rows, y: PerRow = None, *, sample_weight: PerRow = None, key: str | int | None = None) -> Self:
        """Remove fitted rows from the model, exactly as if they had never been seen.

        Columns of a table that no remaining row has are removed, too; its bins and rare values stay as learned.

        Sums do not identify rows. An error is raised if the result is impossible: negative rows or weight of a class, a
        sum of squares below 0 or too small for the sum, more nonzero values than weight, sums without weight, and the
        like. Rows that were never fitted, or are removed twice, may go unnoticed if enough other rows remain. Give a
        `key` so that no request is applied twice.

        Parameters
        ----------
        X, y
            As in `fit`.
        sample_weight : (n_rows,) or float, optional
            The current weight of the rows. It is required once `partial_fit` was given a `decay`: 1.0 for rows of the
            last call, the product of the later decays for others. This is exact if decays are powers of 1/2; otherwise,
            subtract the statistics of the rows, multiplied by the same decays.
        key : str or int, optional
            A name for this request, such as "request 17". Keys are kept in `forgotten_`, in pickles and in saved files,
            until the next `fit`. A key that was used before is an error, whatever the rows, and nothing is changed.
            Requests without a key are not recorded.

        Raises
        ------
        ValueError
            The key was used before, or the result is impossible; the message names the class and the feature. The model
            stays as it was.
        """
        check_is_fitted(self, "stats_")
        forgotten = self.forgotten_ if key is None else with_key(self.forgotten_, key)
        check_forgotten_weight(self, sample_weight)
        with all_or_nothing(self):
            rows = self._opened(X, y, sample_weight)
            self._check_params()
            stats, report = run_reads(self._scan(rows, known_classes(self, None), False, RunOptions()))
            self._keep(self.stats_ - stats, report, self.decay_)
            shrink(self)
            self.forgotten_ = forgotten
        return self

    def refit(self, **options: Any) -> Self:
        """Change parameters of the constructor or the weights of the classes, without reading data.

        Parameters
        ----------
        **options
            Parameters of the constructor; those not named stay as they are. And:
        class_weight : None, "balanced" or {label: weight}
            Multiplies the weight of each row by that of its class, as if fitted with this ``sample_weight``.
            "balanced": the total weight divided by K N_y; labels not named have 1. It holds until the next `fit`, or a
            `refit` with another one, and is kept as `class_weight_`; `stats_` stays as scanned.

        Raises
        ------
        ValueError, TypeError
            An argument is wrong or needs another scan: the message names it, and the model stays as it was.
        """
        check_is_fitted(self, "stats_")
        with all_or_nothing(self):
            if "class_weight" in options:
                class_weight = options.pop("class_weight")
                if class_weight is not None and getattr(self.stats_, "multilabel", False):
                    raise ValueError(
                        f"class_weight={class_weight!r} is for one label a row; give the rows sample_weight in fit"
                    )
                self.class_weight_ = arguments.check_class_weight(class_weight, self.classes_)
            self.set_params(**options)
            self._check_params()
            self._check_against(self.stats_)
            self._learned = {}
            if self.class_weight_ is not None:
                row_checks.check_total_weight(self._weighted.weight.sum())
                self._check_whole(self._weighted)
            self._finish()
        return self

    # ---- files and tags ----------------------------------------------------------------------------------------------

    def _to_state(self) -> dict[str, Any]:
        return state_of(self)

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        return from_state(cls, state)

    def _check_loaded(self, state: dict[str, Any]) -> None:
        """Raise where parameters loaded from a file cannot have been used in the fit."""
        self._check_params()
        self._check_against(self.stats_)
        self._task(None)


# ---- shared with the feature selector --------------------------------------------------------------------------------


def reads_to_fit(
    estimator: Any,
    given: tuple[Any, Any, Any],
    options: RunOptions,
    classes: Any = None,
    layer: str | None = None,
    moments: Iterable[str] | None = (),
    batch: Any = None,
) -> Reading[None]:
    """Learn what is done to rows, if anything, and scan them; the estimator keeps the statistics."""
    listed = row_checks.check_classes(classes)
    if batch is not None and not estimator._keeps_batches:
        raise ValueError(f"batch={batch!r}: {type(estimator).__name__} keeps no sums of batches; use snb.LinearNB")
    estimator._check_params()
    rows = yield from opened_to_fit(estimator, given, options, layer)
    estimator._memory_limit, estimator._n_threads = options.memory_limit, options.n_threads
    stats, report = yield from estimator._scan(rows, listed, True, options, check_moments(moments), batch)
    estimator._check_whole(stats)
    for name in ("class_weight_", "forgotten_"):
        estimator.__dict__.pop(name, None)
    estimator._keep(stats, report)


def add_rows(estimator: Any, given: tuple[Any, Any, Any], classes: Any, decay: float, options: RunOptions) -> None:
    """Scan rows and add them to those fitted before, as `IncrementalClassifier.partial_fit` says."""
    decay = checked_decay(decay)
    first = not hasattr(estimator, "stats_")
    listed = known_classes(estimator, classes)
    with all_or_nothing(estimator):
        estimator._check_params()
        if first:
            rows = run_reads(opened_to_fit(estimator, given, options))
        else:
            rows = opened_to_add(estimator, *given, options)
            row_checks.check_labels_of_model(rows.label_names, estimator.classes_)
        stats, report = run_reads(estimator._scan(rows, listed, first, options))
        if not first:
            warn_of_beyond(estimator, stats)
            before = estimator.stats_ if decay == 1.0 else estimator.stats_ * decay
            stats = stats + (widened(before, len(stats.classes)) if estimator._takes_indicator else before)
        estimator._keep(stats, report, 1.0 if first else estimator.decay_ * decay)
        estimator._warn()


def checked_decay(decay: Any) -> float:
    """Return the factor of earlier rows as a number above 0 and up to 1."""
    decay = arguments.finite_number("decay", decay)
    if not 0.0 < decay <= 1.0:
        raise ValueError(f"decay={decay!r} should be above 0 and at most 1; 1 forgets nothing")
    return decay


def check_forgotten_weight(estimator: Any, sample_weight: Any) -> None:
    """Raise where rows to forget lack a weight, and earlier rows count less than when they came."""
    if sample_weight is None and estimator.decay_ != 1.0:
        raise ValueError(
            "sample_weight is not given, and partial_fit has weighed rows down by decay= since the first call; say "
            "what these rows count now, such as sample_weight=1.0 for those of the last call"
        )


def known_classes(estimator: Any, classes: Any) -> np.ndarray | None:
    """The closed set of labels for the next rows; None where it is open."""
    fitted = hasattr(estimator, "stats_")
    before = estimator.classes_ if fitted and estimator.stats_.closed else None
    if classes is None:
        return before
    if not fitted or not np.size(classes):
        return row_checks.check_classes(classes)
    listed = row_checks.check_labels(classes, "classes")
    arranged = np.asarray if getattr(estimator.stats_, "multilabel", False) else np.sort  # columns have an order
    repeated = np.unique(listed).size < listed.size
    if repeated or (before is not None and not np.array_equal(arranged(listed), arranged(before))):
        cure = "a label is listed twice; each should stand once" if repeated else "leave it out, or fit anew"
        raise ValueError(
            f"classes={messages.listed(listed)} is not the same as on last call to partial_fit, was: "
            f"{messages.listed(estimator.classes_)}; {cure}"
        )
    return row_checks.check_classes(listed) if before is None else before


def check_labels(estimator: Any, stats: Any) -> None:
    """Raise for an indicator of labels where each row should have one label."""
    if getattr(stats, "multilabel", False) and not estimator._takes_indicator:
        who, cure = type(estimator).__name__, estimator._indicator_advice
        raise ValueError(f"y is a 2-D indicator of labels; {who} takes one label a row: {cure}")


def with_key(used: tuple[str | int, ...], key: Any) -> tuple[str | int, ...]:
    """The keys of requests to forget rows, with one more; refuses what is no key, or was used before."""
    if isinstance(key, bool) or not isinstance(key, (str, int, np.integer)) or key == "":
        raise TypeError(f"key={key!r} should be the name of a request to forget rows, a str or an int")
    if key in used:
        raise ValueError(
            f"key={key!r} was forgotten before, as request {used.index(key) + 1} of {len(used)}; nothing is taken away "
            "twice: give rows that are to go as well a key of their own"
        )
    return (*used, key if isinstance(key, str) else int(key))


def state_of(estimator: Any) -> dict[str, Any]:
    """Parameters and statistics, for a file."""
    fitted = {
        "stats_": replace(estimator.stats_, encoding=None),
        "report_": asdict(estimator.report_),
        "decay_": estimator.decay_,
    }
    if getattr(estimator, "class_weight_", None) is not None:
        fitted["class_weight_"] = estimator.class_weight_
    if getattr(estimator, "forgotten_", ()):
        fitted["forgotten_"] = estimator.forgotten_
    fitted |= state_of_rows(estimator)
    step = {} if estimator._preparation.step is None else {"step": estimator._preparation.step}
    return {"params": estimator.get_params(deep=False), "fitted": fitted, **step}


def from_state(cls: Any, state: dict[str, Any]) -> Any:
    """The estimator from its saved state."""
    persistence.known(cls, state, *cls._saved)
    self, fitted = cls(**state["params"]), persistence.known(cls, state["fitted"], *_FITTED)
    stats, decay = fitted["stats_"], arguments.finite_number("decay_", fitted.get("decay_", 1.0), minimum=0.0)
    if type(stats).__name__ != cls._statistics or decay > 1.0:
        raise ValueError(f"stats_ are of type {type(stats).__name__}, decay_ is {decay}")
    restore_rows(self, fitted, self._step_request(), state.get("step"), stats.n_features)
    self._keep(stats, persistence.restored(Report, fitted["report_"]), decay)
    if "class_weight_" in fitted:
        self.class_weight_ = arguments.check_class_weight(fitted["class_weight_"], stats.classes)
    for key in fitted.get("forgotten_", ()):
        self.forgotten_ = with_key(getattr(self, "forgotten_", ()), key)
    self._check_loaded(state)
    return self


# ---- models of one scan ----------------------------------------------------------------------------------------------


def fitted_from(estimator: Any, stats: Any, report: Report, given: tuple[Any, Any, Any]) -> Any:
    """The estimator, fitted from existing statistics; `given` are X, y and weights, which are not read."""
    estimator._check_params()
    run_reads(opened_to_fit(estimator, given))  # to remember the names of columns
    estimator._check_against(stats)
    estimator._check_whole(stats)
    estimator._keep(stats, report)
    estimator._finish()
    return estimator


def is_complete(estimator: Any) -> bool:
    """Whether there are enough classes for a model."""
    return hasattr(estimator, "stats_") and (estimator.stats_.multilabel or len(estimator.classes_) > 1)


def check_complete(estimator: Any) -> None:
    """Raise where predictions wait for rows of a second class, or for the fit."""
    check_is_fitted(estimator, "stats_")
    if not is_complete(estimator):
        raise NotFittedError(
            f"{type(estimator).__name__} has seen one class only ({estimator.classes_.tolist()}); "
            "call partial_fit with rows of a second one before predicting"
        )


def check_two_classes(estimator: Any, stats: Any) -> None:
    """Raise where `fit` was given rows of one class only; warn where classes look like measured numbers."""
    if stats.multilabel:
        return
    seen = stats.classes[stats.weight > 0]
    if len(seen) < 2:
        beside = "" if len(seen) == len(stats.classes) else ", apart from classes of weight 0"
        raise ValueError(
            f"y holds one class only ({seen.tolist()}){beside}; {type(estimator).__name__} needs at least 2 classes "
            "(partial_fit accepts one class and waits for a second)"
        )
    row_checks.warn_of_measured(seen, len(seen), stats.n_rows)


def unchanged(margins: np.ndarray) -> np.ndarray:
    """Return margins as they are."""
    return margins
