"""Opens the rows of an estimator, and remembers column names and preparation; a failed fit changes nothing.

These functions become methods of estimators: of classifiers, and of the feature selector.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from streamnb.encoding.by_fold import StepsOfFolds
from streamnb.encoding.encoding import Encoding
from streamnb.encoding.opening import opened
from streamnb.estimators.preparation import Preparation, StepRequest
from streamnb.passes.options import RunOptions
from streamnb.rows.preparing import LearnedStep
from streamnb.rows.source import Source
from streamnb.rows.splits import Folding
from streamnb.rows.table_opening import ANY, COMPLETE, NONE

OF_ROWS = "feature_names_in_", "layer_", "encoding_", "meta_"  # saved attributes that describe the rows of a fit


@contextmanager
def all_or_nothing(self: Any) -> Iterator[None]:
    """Restore the estimator if a fit or refit fails."""
    before = dict(vars(self))
    try:
        yield
    except BaseException:  # including interrupts
        self.__dict__ = before
        raise


def opened_as_given(self: Any, given: Any, options: RunOptions | None = None, layer: str | None = None) -> Source:
    """Open X with its labels and weights, and remember column names; no step is learned yet."""
    numbers = NONE if self._by_kinds() else ANY if self._step_request().learns else COMPLETE
    rows = opened(*given, look=self._remember_names, layer=layer, numbers=numbers)
    self._preparation = Preparation(rows.encoding, layer)
    return rows


def opened_to_fit(self: Any, given: Any, options: RunOptions | None = None, layer: str | None = None) -> Source:
    """Open the rows, learn their step, remember it, and apply it."""
    rows, request, options = self._opened_as_given(given, options, layer), self._step_request(), options or RunOptions()
    rows = options.kept(rows) if request.reads else rows
    remember_step(self, request.learned(rows, options, names_of(self), *given[1:]))
    return self._preparation.applied(rows, *given[1:])


def learned_by_fold(self: Any, rows: Source, options: RunOptions, folding: Folding | None) -> StepsOfFolds:
    """The steps of all rows and of the rows outside each fold; the step of all rows is remembered."""
    steps = self._step_request().learned_by_fold(rows, options, names_of(self), folding)
    remember_step(self, steps.whole)
    return steps


def remember_step(self: Any, step: LearnedStep | None) -> None:
    """Remember a learned step and its request."""
    self._preparation = self._preparation.with_step(step, self._step_request(), names_of(self))


def with_step(self: Any, step: LearnedStep) -> Any:
    """A copy of the estimator with a step learned from other rows."""
    other = copy(self)
    remember_step(other, step)
    return other


def opened_as_fitted(self: Any, X: Any, *beside: Any, labelled: bool = True) -> Source:
    """Open rows to be scored, or to be added to the fit, with their labels and weights."""
    return self._preparation.opened(X, *beside, labelled=labelled, look=self._check_features)


def remember_names(self: Any, given: Any) -> None:
    """Remember the names of the fitted columns."""
    self._check_params()
    if hasattr(self, "feature_names_in_"):
        del self.feature_names_in_
    self._check_features(given, reset=True)


def check_features(self: Any, given: Any, *, reset: bool = False) -> None:
    """Remember or check column names of a source, or of an object with a shape."""
    if not isinstance(given, Source):
        if given is not None:
            validate_data(self, given, reset=reset, skip_check_array=True)
        return
    names: Any = given.feature_names
    if reset:
        self.feature_names_in_ = names
    elif given.names_last and not np.array_equal(names, getattr(self, "feature_names_in_", names)):
        raise ValueError(
            "X has other columns than the rows that were fitted; make it with their vocabulary, such as "
            "snb.text(.., vocabulary=rows.vocabulary)"
        )


def check_step(self: Any) -> None:
    """Raise where parameters request another step than the one applied in the fit."""
    if hasattr(self, "stats_"):
        step = self._preparation.step
        n_features = getattr(self, "n_features_in_", 0) if step is None else step.n_features
        self._preparation.check_request(self._step_request().description(names_of(self), n_features))


def state_of_rows(self: Any) -> dict[str, Any]:
    """The saved state of the rows of the fit: feature names, layer and encoding."""
    kept: dict[str, Any] = {}
    if hasattr(self, "feature_names_in_"):  # a list, as every entry of an array would be as wide as the longest name
        kept["feature_names_in_"] = list(map(str, self.feature_names_in_))
    beside = {"layer_": self.layer_, "encoding_": self.encoding_, "meta_": self.meta_}
    return kept | {name: value for name, value in beside.items() if value is not None}


def restore_rows(self: Any, fitted: dict[str, Any], request: StepRequest, step: Any, n_columns: int) -> None:
    """Restore this state and the learned step from a file, for a model of `n_columns` columns."""
    n_features = n_columns if step is None else step.n_features
    if "feature_names_in_" in fitted:
        self.feature_names_in_ = _loaded_names(fitted["feature_names_in_"], n_features)
    if "meta_" in fitted:
        self.meta_ = dict(fitted["meta_"])
    encoding, layer = fitted.get("encoding_"), fitted.get("layer_")
    if encoding is not None and (not isinstance(encoding, Encoding) or encoding.n_columns != n_features):
        raise ValueError(f"encoding_={encoding!r} should make {n_features} columns")
    kept = Preparation(encoding, None if layer is None else str(layer))
    self._preparation = kept.restored(request, step, n_columns, names_of(self))


def _loaded_names(names: Any, n_features: int) -> np.ndarray:
    """Column names from a file, one for each feature; older files have an array."""
    found = np.array(names, object)
    if found.shape != (n_features,) or not all(isinstance(name, str) for name in found.tolist()):
        raise ValueError(f"feature_names_in_ should be {n_features} names")
    return found


encoding = property(lambda self: self._preparation.encoding, doc="The encoding of the fitted raw rows as columns.")
layer = property(lambda self: self._preparation.layer, doc="The fitted layer of AnnData.")


def names_of(estimator: Any) -> Any:
    """Names of the fitted columns; None where they have none."""
    return getattr(estimator, "feature_names_in_", None)
