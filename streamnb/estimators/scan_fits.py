"""Fits estimators by one scan, from whose statistics all of their attributes follow.

These functions become methods of estimators: of classifiers, and of the feature selector. Everything learned follows
from `stats_`, so that rows may come in any parts and any order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from streamnb.core import arguments, messages, persistence, row_checks
from streamnb.core.arguments import Bytes, PerRow, Rows
from streamnb.estimators.preparation import (
    OF_ROWS,
    adopt_columns,
    all_or_nothing,
    fitting,
    opened_to_add,
    opened_to_fit,
    restore_rows,
    state_of_rows,
    warn_of_beyond,
)
from streamnb.passes.contract import Report, RunOptions
from streamnb.rows.source import Source
from streamnb.scanning.class_scan import run_scan, with_batches
from streamnb.stats.grouping import widened
from streamnb.stats.moment_sums import check_moments

_FITTED = "stats_", "report_", "decay_", "class_weight_", "forgotten_", *OF_ROWS


def fit(
    self: Any,
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
) -> Any:
    """Fit in one scan.

    Parameters
    ----------
    X : (n_rows, n_features)
        NumPy, SciPy sparse, Dask array, Zarr array or CSR group, AnnData, a path or URL of one or of an .h5ad or
        svmlight file, rows opened by `svmlight`, `text` or `table`, or a stream of chunks. The path of a table, or a
        data frame with strings, dates or missing values, is opened by `table` with its defaults, and so are the other
        containers that it takes; strings, and the path
        of plain texts (".txt", a pattern, or a folder for each class), by `text`. The encoding of raw rows is kept as
        `encoding_`, and predictions then take raw rows.
    y : (n_rows,) or, for `LinearNB`, (n_rows, n_labels)
        Labels: an array, or the name of one in the group of X, or of a column of a table X, which is then not a
        feature. Streams bring their own. A 2-D y, dense or CSR, is an
        indicator of labels, each of which is compared with the rest.
    sample_weight : (n_rows,), optional
        Counts as frequency.
    classes : array-like, optional
        All labels that may occur, now and in `partial_fit`; without it the set is open.
    moments : names, optional
        As in `scan`; None: "sum", "sum_sq", "nonzero" and "above". They are kept in `stats_` in addition to those that
        the parameters need, so that `refit` with another family, for instance, reads no data.
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
        Where rows stay that are read more than once, for example to learn bins; as in `SoftmaxRegression.fit`.
    batch : (n_rows,), optional
        As in `scan`: `stats_` also keeps the sums of each batch, for ``markers(test=.., batch=True)``. The model is the
        same. Rows that are added or forgotten later are scanned without batches, and refused.

    Raises
    ------
    ValueError, TypeError
        An argument or a value is wrong: the message names it.
    DataError
        Data cannot be read.
    MemoryError
        The tables would take more than `memory_limit`.
    """
    listed = row_checks.check_classes(classes)
    if batch is not None and not self._keeps_batches:
        raise ValueError(f"batch={batch!r}: {type(self).__name__} keeps no sums of batches; take snb.LinearNB")
    with fitting(self, progress, n_threads, memory_limit, client, keep, checkpoint) as options:
        self._check_params()
        rows = opened_to_fit(self, (X, y, sample_weight), options, layer)
        self._memory_limit, self._n_threads = options.memory_limit, n_threads
        stats, report = self._scan(rows, listed, True, options, check_moments(moments), batch)
        self._check_whole(stats)
        for name in ("class_weight_", "forgotten_"):
            self.__dict__.pop(name, None)
        self._keep(stats, report)
        self._finish()  # now, so that later changes of parameters wait for refit
    return self


def partial_fit(
    self: Any,
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
) -> Any:
    """Add rows to those fitted before: the same result, to the last bit, as fitting all rows at once.

    With `classes`, a label that is not listed is an error, in this call and all later ones. Without it, unlike in
    scikit-learn, new labels may appear at any time; for a 2-D y as further columns at the right.

    New values of the categories of a table, and of ``family="categorical"``, become columns, which takes a pass of
    their own. Bins, ranks, the median of missing numbers and the values that count as rare stay those of the first
    rows, so that a fit of all rows may learn others.

    Parameters
    ----------
    X, y, classes, sample_weight, progress, n_threads
        As in `fit`.
    decay : float, 0 < decay <= 1
        Multiplies the weight of all rows fitted before, once per call, however many rows it adds. Numbers of rows, such
        as `stats_.n_rows`, do not change. A class with weight below 2^-500 counts as one without weight. `decay_` is
        the product so far, which is the current weight of rows of the first call.

    Raises
    ------
    ValueError
        An argument is wrong, or a table has new values and the estimator learned something for each column, such as
        `Bins` of the columns of a table. The model stays as it was.

    Warns
    -----
    StreamnbWarning
        Most numbers of a column lie beyond all bins, or all ranks, of the first rows; new values may not be rare in all
        rows; a column had one value before and cannot be added; or new categories have no column, as for `TreeNB` and
        for streams that can be read only once.
    """
    decay = checked_decay(decay)
    first = not hasattr(self, "stats_")
    listed = known_classes(self, classes)
    options = RunOptions(progress, n_threads, memory_limit, client)
    with all_or_nothing(self):
        self._check_params()
        if first:
            rows = opened_to_fit(self, (X, y, sample_weight), options)
        else:
            rows = opened_to_add(self, X, y, sample_weight, options)
            row_checks.check_labels_of_model(rows.label_names, self.classes_)
        stats, report = self._scan(rows, listed, first, options)
        if not first:
            warn_of_beyond(self, stats)
            before = self.stats_ if decay == 1.0 else self.stats_ * decay
            stats = stats + (widened(before, len(stats.classes)) if self._takes_indicator else before)
        self._keep(stats, report, 1.0 if first else self.decay_ * decay)
        self._warn()
    return self


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


def known_classes(self: Any, classes: Any) -> np.ndarray | None:
    """The closed set of labels for the next rows; None where it is open."""
    fitted = hasattr(self, "stats_")
    before = self.classes_ if fitted and self.stats_.closed else None
    if classes is None:
        return before
    if not fitted or not np.size(classes):
        return row_checks.check_classes(classes)
    listed = row_checks.check_labels(classes, "classes")
    arranged = np.asarray if getattr(self.stats_, "multilabel", False) else np.sort  # columns have an order
    repeated = np.unique(listed).size < listed.size
    if repeated or (before is not None and not np.array_equal(arranged(listed), arranged(before))):
        cure = "a label is listed twice; each should stand once" if repeated else "leave it out, or fit anew"
        raise ValueError(
            f"classes={messages.listed(listed)} is not the same as on last call to partial_fit, was: "
            f"{messages.listed(self.classes_)}; {cure}"
        )
    return row_checks.check_classes(listed) if before is None else before


def scan(
    self: Any,
    rows: Source,
    classes: Any,
    first: bool,
    options: RunOptions,
    moments: tuple[str, ...] = (),
    batch: Any = None,
) -> tuple[Any, Report]:
    """The statistics of rows, of the first ones or of further ones; parameters are checked already."""
    task = replace(self._task(classes), memory_limit=options.memory_limit)
    task = task.with_moments(moments if first else self.stats_.moments)  # further rows sum the same moments
    if batch is not None:
        task, rows = with_batches(task, rows, batch)
    stats, report = run_scan(task, rows, options)
    if not first:
        row_checks.check_n_features(stats.n_features, self.stats_.n_features, type(self).__name__)
    check_labels(self, stats)
    if not first and self._takes_indicator and stats.multilabel and len(stats.classes) < len(self.classes_):
        raise ValueError(f"y has {len(stats.classes)} columns and {len(self.classes_)} before; give one for each label")
    self._check_against(stats)
    return stats, report


def check_labels(self: Any, stats: Any) -> None:
    """Raise for an indicator of labels where each row should have one label."""
    if getattr(stats, "multilabel", False) and not self._takes_indicator:
        who, cure = type(self).__name__, self._indicator_advice
        raise ValueError(f"y is a 2-D indicator of labels; {who} takes one label a row: {cure}")


def keep(self: Any, stats: Any, report: Report, decay: float = 1.0) -> None:
    """Replace the statistics."""
    self.stats_, self.report_, self.decay_ = stats, report, decay
    adopt_columns(self)
    self.n_features_in_ = self._preparation.n_features(stats.n_features)
    self.classes_ = stats.classes
    self._learned = {}


def now(self: Any, name: str) -> Any:
    """A learned value, for use in methods."""
    return getattr(type(self), name).of(self)


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


def to_state(self: Any) -> dict[str, Any]:
    """Parameters and statistics, for a file."""
    fitted = {"stats_": replace(self.stats_, encoding=None), "report_": asdict(self.report_), "decay_": self.decay_}
    if getattr(self, "class_weight_", None) is not None:
        fitted["class_weight_"] = self.class_weight_
    if getattr(self, "forgotten_", ()):
        fitted["forgotten_"] = self.forgotten_
    fitted |= state_of_rows(self)
    step = {} if self._preparation.step is None else {"step": self._preparation.step}
    return {"params": self.get_params(deep=False), "fitted": fitted, **step}


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
