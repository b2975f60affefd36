"""Prepares the rows of an estimator, for fits and for predictions: opens them, encodes columns and learns a step.

The estimators are classifiers, regressors and the feature selector.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
from sklearn.utils.validation import validate_data

from streamnb.core import arguments, memory, row_checks
from streamnb.core.messages import listed, warn
from streamnb.encoding.bins import BinEdges, TermColumns
from streamnb.encoding.bins import warn_of_beyond as warn_of_numbers_beyond
from streamnb.encoding.category_columns import CategoryColumns
from streamnb.encoding.encoding import Encoding
from streamnb.encoding.learning import (
    ChosenColumns,
    LearnsBins,
    StepsOfFolds,
    learned_by_fold,
    learned_levels,
    prepared,
    to_learn,
)
from streamnb.encoding.opening import opened, opened_for
from streamnb.encoding.table_encoding import TableEncoding
from streamnb.passes.contract import Reading, RunOptions
from streamnb.passes.run import run_reads
from streamnb.problem.family import Family
from streamnb.problem.mixed import Mixed
from streamnb.rows.keeping import Keeping
from streamnb.rows.labels import Labelled
from streamnb.rows.preparing import LearnedStep, QuantileNormal
from streamnb.rows.source import Source
from streamnb.rows.splits import Folding
from streamnb.rows.table_opening import ANY, COMPLETE, COUNTS, NONE, as_table
from streamnb.stats.columns import columns_of, with_encoding, without_absent

# saved attributes that describe the rows of a fit, and what is kept beside the model
OF_ROWS = (
    "feature_names_in_",
    "layer_",
    "encoding_",
    "label_",
    "meta_",
    "unknown_below_",
    "recalibrated_",
    "has_offset_",
)

ARRAYS_OF_SCAN = 3  # at least, of a number for each column of the rows, in a model of one scan
ARRAYS_OF_TRAINING = 10  # and in one of several reads: sums, weights and gradients
LEAST_ROWS = 20  # fewer may lie beyond the borders of bins by chance
NARROW = 1 << 16  # columns whose arrays take no more than a block of rows


@dataclass(frozen=True)
class StepRequest:
    """The step that the parameters of an estimator request.

    Attributes
    ----------
    who : str
        The name of the estimator, for messages.
    transform : Bins, "quantile_normal" or anything that is not learned
    coded : Family, optional
        A family with columns of category numbers.
    by_kinds : bool
        Whether columns are treated by their kinds, so that all tables are encoded.
    of_counts : bool
        Whether numbers that are no counts are to be encoded.
    """

    who: str
    transform: Any = None
    coded: Family | None = None
    by_kinds: bool = False
    of_counts: bool = False

    @property
    def learns(self) -> bool:
        """Whether a step has to be learned from numeric columns."""
        return self.coded is not None or to_learn(self.transform) is not None

    @property
    def frames_of_numbers(self) -> str:
        """Which tables of numbers are opened as they are, without an encoding; see `is_matrix`."""
        if self.by_kinds:
            return NONE
        if self.learns:
            return ANY
        return COUNTS if self.of_counts else COMPLETE

    @property
    def reads(self) -> bool:
        """Whether learning takes a read of the rows."""
        return self.learns

    def learned_by_fold(
        self, rows: Source, options: RunOptions, names: Any, folding: Folding | None
    ) -> Reading[StepsOfFolds]:
        """The steps of all rows and of the rows outside each fold, learned in one pass."""
        if self.coded is None or to_learn(self.transform) is not None:
            return learned_by_fold(self.transform, rows, options, self.who, folding)
        return learned_levels(self.coded.named(names).coded_columns, rows, options, self.who, folding)

    def description(self, names: Any, n_features: int) -> str | None:
        """The request in words, for rows with these columns; None where nothing is to be learned."""
        if to_learn(self.transform) is not None:
            return f"transform={self.transform!r}"
        if self.coded is None:
            return None
        return f"family=Categorical() of the columns {self.coded.named(names).coded_columns(n_features).tolist()}"

    def check(self, step: Any) -> None:
        """Raise where a step loaded from a file does not match the request."""
        request = to_learn(self.transform)
        kind: Any = type(None)
        if isinstance(request, LearnsBins):
            kind = BinEdges
        elif request is not None:
            kind = QuantileNormal
        elif self.coded is not None:
            kind = CategoryColumns
        if not isinstance(step, kind):
            given = type(step).__name__
            raise ValueError(f"transform={request!r} should come with what was learned for it, not {given}")
        if isinstance(request, LearnsBins):
            request.check_for(step.n_features)


@dataclass(frozen=True, eq=False)
class Preparation:
    """The preparation of rows, the same for the fit and for predictions.

    Attributes
    ----------
    encoding : Encoding, optional
        Turns raw rows, such as texts, into columns.
    layer : str, optional
        The layer of AnnData to read in place of X.
    label : str, optional
        The column of labels of a table of numbers.
    step : LearnedStep, optional
        The step applied to the columns: bins, the quantile-normal map, or indicators of categories.
    requested : str, optional
        The request that the step was learned for, in words.
    """

    encoding: Encoding | None = None
    layer: str | None = None
    label: str | None = None
    step: LearnedStep | None = None
    requested: str | None = None

    @property
    def has_units(self) -> bool:
        """Whether columns of the weights are numbers in units of their own, and not all words, levels or bins."""
        if self.step is not None:
            return False
        return self.encoding is None or any(kind != "multinomial" for kind, _ in self.encoding.kinds)

    def n_features(self, n_columns: int) -> int:
        """The number of features of X that became `n_columns` columns."""
        return n_columns if self.step is None else self.step.n_features

    def family(self, family: Family, names: Any) -> Family:
        """A family for the columns of the weights, with their names or numbers of categories where it needs them."""
        step = self.step
        if isinstance(step, CategoryColumns):
            return family.named(names).widened(step.firsts)
        known = self.encoding if step is None else None  # weights refer to its columns
        made = self.column_names(names)
        family = family.named(names if made is None else made, known and known.kinds)
        return family.widened(step.firsts) if isinstance(step, BinEdges) and family.coded else family

    def column_names(self, names: Any) -> np.ndarray | None:
        """Names of the columns of the weights, where bins or categories replace the features."""
        if not isinstance(self.step, BinEdges | CategoryColumns | TermColumns):
            return None
        names = [f"x{j}" for j in range(self.step.n_features)] if names is None else names
        return np.array(self.step.names(names), object)


# ---- rows of a fit, and of predictions -------------------------------------------------------------------------------


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Restore the estimator if a fit or refit fails; what was said of the probabilities before is dropped.

    The seconds of a new report are those of all that was done, not only of the reads.
    """
    before, began = dict(vars(estimator)), time.perf_counter()
    for name in ("unknown_below_", "recalibrated_"):
        estimator.__dict__.pop(name, None)
    try:
        yield
    except BaseException:  # including interrupts
        estimator.__dict__ = before
        raise
    report = vars(estimator).get("report_")
    if report is not before.get("report_"):
        estimator.report_ = replace(report, seconds=max(report.seconds, time.perf_counter() - began))


@contextmanager
def fitting(
    estimator: Any,
    progress: bool | None,
    n_threads: int | None,
    memory_limit: Any,
    client: Any,
    keep: str,
    checkpoint: Any = None,
) -> Iterator[RunOptions]:
    """The options of the reads of a fit, which keeps rows for further reads, and restores the estimator if it fails."""
    with all_or_nothing(estimator), Keeping(keep, memory_limit) as keeping:
        yield RunOptions(progress, n_threads, memory_limit, client, checkpoint, keeping)


def opened_as_given(estimator: Any, given: Any, layer: str | None = None, beside: Iterable[Any] = ()) -> Source:
    """Open X with its labels and weights, and remember column names; no step is learned yet.

    Groups and folds `beside` that are names of columns of X are no features.
    """
    numbers = estimator._step_request().frames_of_numbers
    rows = opened(*given, look=partial(remember_names, estimator), layer=layer, numbers=numbers, beside=beside)
    estimator._preparation = Preparation(rows.encoding, layer, rows.label)
    return rows


def check_width(rows: Source, n_arrays: int, options: RunOptions) -> None:
    """Refuse rows before they are read if `n_arrays` of one number for each of their columns take too much memory."""
    if rows.n_features is not None and rows.n_features > NARROW:
        what = f"a model of {rows.n_features:,} columns"
        cure = "give a larger memory_limit, or fewer columns (columns that no row has count, too)"
        memory.check(what, 8.0 * n_arrays * rows.n_features, options.memory_limit, cure)


def opened_to_read_again(
    estimator: Any, given: Any, options: RunOptions, layer: str | None = None, beside: Iterable[Any] = ()
) -> Source:
    """Open X as `opened_as_given` does, for several reads, between which rows are kept."""
    rows = options.kept(opened_as_given(estimator, given, layer, beside))
    rows.check_read_again(type(estimator).__name__)
    check_width(rows, ARRAYS_OF_TRAINING, options)
    return rows


def opened_to_fit(
    estimator: Any, given: Any, options: RunOptions | None = None, layer: str | None = None, beside: Iterable[Any] = ()
) -> Reading[Source]:
    """Open the rows, learn their step, remember it, and apply it."""
    rows, options = opened_as_given(estimator, given, layer, beside), options or RunOptions()
    check_width(rows, ARRAYS_OF_SCAN, options)
    if not estimator._step_request().reads:
        remember_step(estimator, None)
        return rows
    rows = options.kept(rows)
    steps = yield from steps_of_folds(estimator, rows, options, None)
    return prepared(steps.whole, rows)


def steps_of_folds(estimator: Any, rows: Source, options: RunOptions, folding: Folding | None) -> Reading[StepsOfFolds]:
    """The steps of all rows and of the rows outside each fold; the step of all rows is remembered."""
    steps = yield from estimator._step_request().learned_by_fold(rows, options, names_of(estimator), folding)
    remember_step(estimator, steps.whole)
    return steps


def remember_step(estimator: Any, step: LearnedStep | None) -> None:
    """Remember a learned step and its request in words."""
    requested = estimator._step_request().description(names_of(estimator), 0 if step is None else step.n_features)
    estimator._preparation = replace(estimator._preparation, step=step, requested=requested)


def with_step(estimator: Any, step: LearnedStep) -> Any:
    """A copy of the estimator with a step learned from other rows."""
    other = copy(estimator)
    remember_step(other, step)
    return other


def opened_as_fitted(estimator: Any, X: Any, *beside: Any, labelled: bool = True) -> Source:
    """Open rows to be scored, or to be added to the fit, with their labels and weights."""
    return prepared(estimator._preparation.step, opened_columns(estimator, X, *beside, labelled=labelled))


def opened_columns(estimator: Any, X: Any, *beside: Any, labelled: Labelled = True) -> Source:
    """The same before the learned step."""
    known, look = estimator._preparation, partial(check_features, estimator)
    how = {"look": look, "layer": known.layer, "names": names_of(estimator), "label": known.label}
    return opened_for(known.encoding, X, *beside, labelled=labelled, **how)


def opened_to_add(estimator: Any, X: Any, y: Any, sample_weight: Any, options: RunOptions) -> Source:
    """Open rows to be added to the fit, which has columns for their values then."""
    X, step = grown(estimator, X, options), estimator._preparation.step
    if not isinstance(step, CategoryColumns) or _is_numbered(estimator):
        return opened_as_fitted(estimator, X, y, sample_weight)
    rows = opened_columns(estimator, X, y, sample_weight)
    if not rows.read_once:
        learning = learned_levels(lambda _: step.columns, rows, options, type(estimator).__name__, None)
        more = cast(CategoryColumns, run_reads(learning).whole)
        row_checks.check_n_features(more.n_features, step.n_features, type(estimator).__name__)
        _use_categories(estimator, step.joined(more))
    return prepared(estimator._preparation.step, rows)


def _use_categories(estimator: Any, step: CategoryColumns) -> None:
    """Change the columns of a fitted model to those of another step for the same features."""
    sources = step.sources(cast(CategoryColumns, estimator._preparation.step))
    if not np.array_equal(sources, np.arange(estimator.stats_.n_features)):
        estimator.stats_ = replace(estimator.stats_, encoding=None).with_columns(sources)
        remember_step(estimator, step)
        adopt_columns(estimator)


def _is_numbered(estimator: Any) -> bool:
    """Whether something was given or summed for each of the columns of the weights."""
    return vars(estimator).get("feature_weight") is not None or estimator.stats_.has_fixed_columns


def grown(estimator: Any, X: Any, options: RunOptions) -> Any:
    """Add columns to a fitted model for values that only further rows of a table have; return these rows, opened.

    Sums of rows so far are 0 in these columns.
    """
    encoding = estimator._preparation.encoding
    if not isinstance(encoding, TableEncoding):
        return X
    X = as_table(X, named=True)
    if isinstance(X, Source) or not encoding.takes(X):
        return X
    tables = encoding.tables_of(X)
    use_encoding(estimator, encoding.grown(tables, options, estimator.stats_.knows_ones))
    return tables


def shrink(estimator: Any) -> None:
    """Remove columns of values from a fitted model that no row has any more."""
    step = estimator._preparation.step
    if isinstance(step, CategoryColumns) and not _is_numbered(estimator):
        _use_categories(estimator, step.without_absent(estimator.stats_.column_weights()[0]))
    if not _has_fixed_columns(estimator):
        estimator.stats_ = without_absent(estimator.stats_)
        estimator.n_features_in_ = estimator.stats_.n_features
        adopt_columns(estimator)


def warn_of_beyond(estimator: Any, stats: Any) -> None:
    """Warn where values of further rows, by these sums, have no effect, or numbers are mostly beyond those learned."""
    encoding, step = estimator._preparation.encoding, estimator._preparation.step
    if step is not None:
        _warn_of_step(estimator, step, stats)
    few = stats.n_rows < LEAST_ROWS
    if isinstance(encoding, TableEncoding) and not few and not _has_fixed_columns(estimator):
        encoding.warn_of_beyond(estimator.stats_.column_weights()[0], stats.column_weights()[0])


def _warn_of_step(estimator: Any, step: LearnedStep, stats: Any) -> None:
    known = names_of(estimator)
    names = np.array([f"x{j}" for j in range(step.n_features)] if known is None else known, object)
    applied: LearnedStep | None = step
    if isinstance(step, ChosenColumns):
        names, applied = names[step.columns], step.step
    (before, _), (weights, total) = estimator.stats_.column_weights(), stats.column_weights()
    given = getattr(estimator._step_request().transform, "edges", None)
    few = stats.n_rows < LEAST_ROWS
    if isinstance(applied, BinEdges) and given is None and not few:
        warn_of_numbers_beyond(names[applied.mostly_beyond(before, weights)].tolist())
    elif isinstance(applied, CategoryColumns):
        new = applied.new(weights, total)
        if new.any():
            each = ", ".join(f"{new[j]:,g} of {names[j]!r}" for j in np.flatnonzero(new))
            warn(f"X has categories that the first rows lacked, which have no effect: {each}, in {total:,g} rows")
    elif isinstance(applied, QuantileNormal) and not few and not stats.options.by_length:
        beyond = names[applied.mostly_beyond(stats)].tolist()
        if beyond:
            warn(
                f"X: most numbers of {beyond} lie beyond all numbers of the first rows, from which the ranks of "
                "transform='quantile_normal' were learned; fit all rows to learn others"
            )


def _has_fixed_columns(estimator: Any) -> bool:
    """Whether the columns of a table cannot change, as something was learned of them or parameters number them."""
    family = vars(estimator).get("family")
    by_number = isinstance(family, Mixed) and family.by_number
    return by_number or estimator._preparation.step is not None or _is_numbered(estimator)


def use_encoding(estimator: Any, encoding: TableEncoding) -> None:
    """Change the columns of a fitted model to those of another encoding of the same table."""
    sources = encoding.sources(estimator._preparation.encoding)
    if _has_fixed_columns(estimator):
        if not np.array_equal(sources, np.arange(estimator.n_features_in_)):
            raise ValueError(
                f"X adds the columns {listed(encoding.column_names[sources < 0])}, and {type(estimator).__name__} has "
                "learned, or was given, something for each of the columns before; fit all rows at once"
            )
        return
    estimator.stats_ = with_encoding(estimator.stats_, encoding)
    estimator.n_features_in_ = encoding.n_columns
    adopt_columns(estimator)


def adopt_columns(estimator: Any) -> None:
    """Give statistics the columns of a fitted model; where they have columns already, these are those of the model."""
    preparation, known = estimator._preparation, estimator.stats_.encoding
    if known is None or preparation.step is not None:
        known = columns_of(preparation.encoding, names_of(estimator), preparation.step)
        estimator.stats_ = replace(estimator.stats_, encoding=known)
    elif isinstance(known, TableEncoding):
        estimator._preparation = replace(preparation, encoding=known)
        estimator.feature_names_in_ = known.column_names


def remember_names(estimator: Any, given: Any) -> None:
    """Remember the names of the fitted columns."""
    estimator._check_params()
    if hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    check_features(estimator, given, reset=True)


def check_features(estimator: Any, given: Any, *, reset: bool = False) -> None:
    """Remember or check column names of a source, or of an object with a shape."""
    if not isinstance(given, Source):
        if given is not None:
            validate_data(estimator, given, reset=reset, skip_check_array=True)
        return
    names: Any = given.feature_names
    if reset:
        estimator.feature_names_in_ = names
    elif given.names_last and not np.array_equal(names, getattr(estimator, "feature_names_in_", names)):
        raise ValueError(
            "X has other columns than the rows that were fitted; give the table itself, a frame or a path, or make X "
            "with their vocabulary, such as snb.text(.., vocabulary=rows.vocabulary)"
        )


def check_step(estimator: Any) -> None:
    """Raise where parameters request another step than the one applied in the fit."""
    if not hasattr(estimator, "stats_"):
        return
    step, applied = estimator._preparation.step, estimator._preparation.requested
    n_features = getattr(estimator, "n_features_in_", 0) if step is None else step.n_features
    requested = estimator._step_request().description(names_of(estimator), n_features)
    if requested != applied:
        raise ValueError(
            f"{requested or 'transform=None'}: what is done to rows is learned before the scan, which had "
            f"{applied or 'none such'}; use fit"
        )


def state_of_rows(estimator: Any) -> dict[str, Any]:
    """The saved state of the rows of the fit: feature names, layer and encoding."""
    kept: dict[str, Any] = {}
    if hasattr(
        estimator, "feature_names_in_"
    ):  # a list, as every entry of an array would be as wide as the longest name
        kept["feature_names_in_"] = list(map(str, estimator.feature_names_in_))
    beside = {name: getattr(estimator, name, None) for name in OF_ROWS[1:]}
    return kept | {name: value for name, value in beside.items() if value is not None}


def restore_rows(estimator: Any, fitted: dict[str, Any], request: StepRequest, step: Any, n_columns: int) -> None:
    """Restore this state and the learned step from a file, for a model of `n_columns` columns."""
    n_features = n_columns if step is None else step.n_features
    if "feature_names_in_" in fitted:
        estimator.feature_names_in_ = loaded_names(fitted["feature_names_in_"], n_features)
    if "meta_" in fitted:
        estimator.meta_ = dict(fitted["meta_"])
    for name in {"recalibrated_", "has_offset_"} & fitted.keys():
        known = {"has_offset_": [True, str(fitted[name])]}.get(name, [True])  # or the name of the column
        setattr(estimator, name, arguments.one_of(name, fitted[name], known))
    if "unknown_below_" in fitted:
        estimator.unknown_below_ = arguments.share("unknown_below_", fitted["unknown_below_"])
    encoding, layer, label = (fitted.get(name) for name in ("encoding_", "layer_", "label_"))
    if encoding is not None and (not isinstance(encoding, Encoding) or encoding.n_columns != n_features):
        raise ValueError(f"encoding_={encoding!r} should make {n_features} columns")
    request.check(step)
    if step is not None and step.n_columns != n_columns:
        raise ValueError(f"the step makes {step.n_columns} columns, and the model is of {n_columns}")
    requested = request.description(names_of(estimator), 0 if step is None else step.n_features)
    layer, label = (None if name is None else str(name) for name in (layer, label))
    estimator._preparation = Preparation(encoding, layer, label, step, requested)


def loaded_names(names: Any, n_features: int) -> np.ndarray:
    """Column names from a file, a list or an array, one for each feature."""
    loaded = np.array(names, object)
    if loaded.shape != (n_features,) or not all(isinstance(name, str) for name in loaded.tolist()):
        raise ValueError(f"feature_names_in_ should be {n_features} names")
    return loaded


encoding = property(lambda self: self._preparation.encoding, doc="The encoding of the fitted raw rows as columns.")
label = property(lambda self: self._preparation.label, doc="The column of labels of the fitted table of numbers.")
layer = property(lambda self: self._preparation.layer, doc="The fitted layer of AnnData.")


def names_of(estimator: Any) -> Any:
    """Names of the fitted columns; None where they have none."""
    return getattr(estimator, "feature_names_in_", None)


def names_of_columns(estimator: Any) -> Any:
    """Names of the columns of the weights; None where they have none."""
    return getattr(estimator, "column_names_", getattr(estimator, "feature_names_in_", None))


def check_coded(family: Family, transform: Any, normalize: Any, idf: Any) -> None:
    """Raise for options that have no meaning for category numbers or their indicators."""
    if not family.coded:
        return
    steps = {"normalize": normalize or None, "idf": idf or None, "transform": transform}
    if isinstance(transform, LearnsBins) and family.members == (family,):
        del steps["transform"]
    for name, value in steps.items():
        if value is not None:
            also = ", or of Categorical() alone Bins" if name == "transform" else ""
            raise ValueError(
                f"{name}={value!r} is nothing for the categories of family={family!r}; it should be "
                f"{'False' if name == 'idf' else 'None'}{also}"
            )
