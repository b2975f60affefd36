"""A linear model in few plain steps: what is saved without statistics, and what all exports are made of.

This file imports nothing but NumPy and what is as light, so that a process that scores some rows starts at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from streamnb.core import persistence
from streamnb.core.types import Rows
from streamnb.models.steps import RowStep

FEW = 1000  # rows that are scored without compiled kernels
DENSE = 1 << 28  # bytes of weights that are laid out in full, where most are zero
PROBABILITIES = "softmax", "sigmoid", "ovr", "reference"


@persistence.register
@dataclass(frozen=True, eq=False, repr=False)
class PortableModel:
    """A linear model by itself: steps, then scores ``x @ weights + intercept_``, of which the highest decides.

    What ``model.save(path, stats=False)`` writes and `load` returns. Up to 1,000 rows in memory are scored by NumPy
    alone; for more, and for rows of other kinds (stores, Dask, texts), the rest of the package is imported.

    Attributes
    ----------
    classes_ : (K,) labels
    weights : (n_columns, K) float64
        Dense, or a SciPy array where most are zero and there are many.
    intercept_ : (K,)
        A score for each class or label; of two classes that of the first is 0, as that of a reference is.
    n_features_in_ : int
    feature_names_in_ : (n_features,) str or None
    steps : tuple of RowStep
        What is done to a row before it is scored.
    probabilities : {"softmax", "sigmoid", "ovr", "reference", None}
        Of scores: "sigmoid" of each label, "ovr" sigmoids divided by their sum; "reference" is as "sigmoid", but the
        label that the others are set against has one minus the highest of theirs.
    multilabel : bool
        True where `predict` answers with an indicator: a 1 for each label whose score is above 0.
    encoding : Encoding or None
        What makes columns of raw rows.
    meta_ : dict or None
        What `save` was given beside the model.
    reference : int or None
        The number of the label that the others are set against, which is never an answer: its column of weights is 0,
        its intercept -1, and `decision_function` leaves it out.

    Examples
    --------
    >>> import streamnb as snb
    >>> X, y = [[2, 0], [3, 1], [0, 4], [1, 5]], ["cat", "cat", "dog", "dog"]
    >>> snb.LinearNB("poisson").fit(X, y).save("light.snb", stats=False)
    >>> snb.load("light.snb").predict([[3, 0], [0, 3]]).tolist()
    ['cat', 'dog']
    """

    classes_: np.ndarray
    weights: Any
    intercept_: np.ndarray
    n_features_in_: int
    feature_names_in_: np.ndarray | None = None
    steps: tuple[RowStep, ...] = ()
    probabilities: str | None = None
    multilabel: bool = False
    encoding: Any = None
    meta_: Any = None
    reference: int | None = None

    def __repr__(self) -> str:
        kept = self.weights.nnz if hasattr(self.weights, "nnz") else np.count_nonzero(self.weights)
        shape = f"{len(self.classes_):,} classes, {self.n_features_in_:,} features"
        return f"<PortableModel: {shape}; {kept:,} weights not zero>"

    # ---- predicting --------------------------------------------------------------------------------------------------

    def predict(self, X: Rows, *, out: Any = None) -> Any:
        """Labels, (n_rows,), or of several labels a row a 0/1 indicator (n_rows, K); in kind, or block by block."""
        if self.multilabel:
            return self._answer(X, self._labels, len(self.classes_), np.dtype(np.int64), out)
        return self._answer(X, self._labels, None, self.classes_.dtype, out)

    def predict_proba(self, X: Rows, *, out: Any = None) -> Any:
        """Class probabilities, (n_rows, K); of several labels a row those of each."""
        if self.probabilities is None:
            raise AttributeError("the model has no probabilities; calibrate(X, y) gives it some before it is saved")
        return self._answer(X, self._shares, len(self.classes_), np.dtype(np.float64), out)

    def decision_function(self, X: Rows, *, out: Any = None) -> Any:
        """Scores: (n_rows,) for two classes, positive for `classes_[1]`; else (n_rows, K), without the reference."""
        two = len(self.classes_) == 2 and not self.multilabel
        finish = _second_less_first if two else self._without_reference
        width = len(self.classes_) - (self.reference is not None)
        return self._answer(X, finish, None if two else width, np.dtype(np.float64), out)

    def _answer(self, X: Any, finish: Callable, width: int | None, dtype: np.dtype, out: Any) -> Any:
        few = self._few(X) if out is None else None
        if few is not None:
            return finish(self._scores(few))
        from streamnb.models.many_rows import answered  # compiled, and slow to import

        return answered(self, X, finish, width, dtype, out)

    def _few(self, X: Any) -> np.ndarray | None:
        """Some rows of numbers in memory, None for others."""
        if self.encoding is not None or isinstance(X, (str, bytes)) or not (hasattr(X, "shape") or isinstance(X, list)):
            return None
        if type(X).__module__.partition(".")[0] not in ("numpy", "scipy", "builtins", "pandas"):
            return None
        if len(shape := np.shape(X)) != 2 or shape[0] > FEW:
            return None
        if hasattr(X, "columns") and self.feature_names_in_ is not None:
            _check_names(np.asarray(X.columns), self.feature_names_in_)
        x = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
        if x.dtype.kind not in "biuf":
            return None  # whose fault the door says
        if x.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {x.shape[1]} features, but the model is expecting {self.n_features_in_}")
        return x.astype(np.float64)

    def _scores(self, x: np.ndarray) -> np.ndarray:
        """Scores of the classes, (n_rows, K)."""
        gaps = self.steps[0].value.missing if self.steps and self.steps[0].do == "indicators" else np.zeros(0, bool)
        wrong = ~np.isfinite(x) if not gaps.any() else np.isinf(x)
        if wrong.any():
            row, column = (int(one) for one in np.argwhere(wrong)[0])
            raise ValueError(f"X has {x[row, column]} at row {row}, column {column}; values should be finite")
        for step in self.steps:
            x = step.of(x)
        return np.asarray(x @ self.weights) + self.intercept_

    def _labels(self, scores: np.ndarray) -> np.ndarray:
        return (scores > 0.0).astype(np.int64) if self.multilabel else self.classes_[scores.argmax(axis=1)]

    def _without_reference(self, scores: np.ndarray) -> np.ndarray:
        return scores if self.reference is None else np.delete(scores, self.reference, axis=1)

    def _shares(self, scores: np.ndarray) -> np.ndarray:
        if self.reference is not None:
            others = self._without_reference(scores)
            scores = np.insert(others, self.reference, -others.max(axis=1), axis=1)
        if self.probabilities == "softmax":
            shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        else:  # exp of what is never above 0
            shares = np.where(scores > 0.0, 1.0, np.exp(np.minimum(scores, 0.0))) / (1.0 + np.exp(-abs(scores)))
        return shares if self.probabilities in ("sigmoid", "reference") else shares / shares.sum(axis=1, keepdims=True)

    # ---- files -------------------------------------------------------------------------------------------------------

    def save(self, path: Any) -> None:
        """Write to one file: typed JSON and .npy in a zip, no pickle; read it with `snb.load`."""
        persistence.save(path, self)

    @cached_property
    def sparse_weights(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weights that are not zero, their rows, and where those of each class begin."""
        if hasattr(self.weights, "tocsc"):
            matrix = self.weights.tocsc()
            return matrix.data, matrix.indices, matrix.indptr
        classes, rows = np.nonzero(self.weights.T)
        return self.weights[rows, classes], rows, np.searchsorted(classes, np.arange(self.weights.shape[1] + 1))

    def _to_state(self) -> dict[str, Any]:
        state = {part.name: getattr(self, part.name) for part in fields(self)}
        if self.reference is None:
            del state["reference"]  # so that earlier versions read the file
        data, rows, ends = self.sparse_weights
        if hasattr(self.weights, "tocsc") or 2 * len(data) < self.weights.size:
            state["weights"] = [data, np.asarray(rows, np.int64), np.asarray(ends, np.int64), list(self.weights.shape)]
        names = self.feature_names_in_
        state["feature_names_in_"] = None if names is None else list(map(str, names))
        return state

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> PortableModel:
        persistence.known(cls, state, *(part.name for part in fields(cls)))
        array = persistence.array
        weights = _weights(state["weights"])
        classes = state["classes_"]
        n_columns, n_classes = weights.shape
        if not isinstance(classes, np.ndarray) or classes.shape != (n_classes,) or n_classes < 1:
            raise ValueError(f"there are weights for {n_classes} classes, and classes_={classes!r}")
        n_features, names = state["n_features_in_"], state["feature_names_in_"]
        width = n_features
        for step in persistence.typed(cls, {"steps": state["steps"]})["steps"]:
            width = step.width(width)
        if width != n_columns or (names is not None and len(names) != n_features):
            raise ValueError(f"{n_features} features become {width} columns, and there are weights for {n_columns}")
        if state["encoding"] is not None and not hasattr(state["encoding"], "encode"):
            raise ValueError(f"encoding={state['encoding']!r} makes no columns")
        if state["meta_"] is not None and not isinstance(state["meta_"], dict):
            raise ValueError(f"meta_={state['meta_']!r} should be a dict")
        if state["probabilities"] not in (None, *PROBABILITIES) or not persistence.is_a(bool, state["multilabel"]):
            raise ValueError(f"probabilities={state['probabilities']!r}, multilabel={state['multilabel']!r}")
        _check_reference(state, n_classes)
        return cls(
            **state
            | {
                "weights": weights,
                "intercept_": array("intercept_", state["intercept_"], ["f8"], (n_classes,)),
                "feature_names_in_": None if names is None else np.array(names, object),
            }
        )


def _check_names(given: np.ndarray, fitted: np.ndarray) -> None:
    """Refuse a data frame whose columns are not those of the fit, in their order."""
    if not np.array_equal(given, fitted):
        absent = [name for name in fitted if name not in given]
        what = f"has no column {absent[0]!r}" if absent else "has them in another order, or others beside"
        raise ValueError(f"X should have the columns that were fitted; it {what}")


def _check_reference(state: dict[str, Any], n_classes: int) -> None:
    """Refuse a reference that is no label or has the probabilities of other models, and these without one."""
    reference, probabilities = state.get("reference"), state["probabilities"]
    if reference is None and probabilities != "reference":
        return
    known = type(reference) is int and 0 <= reference < n_classes and n_classes > 1
    if not known or not state["multilabel"] or probabilities not in (None, "reference"):
        raise ValueError(f"reference={reference!r} of {n_classes} labels, probabilities={state['probabilities']!r}")


def _second_less_first(scores: np.ndarray) -> np.ndarray:
    return scores[:, 1] - scores[:, 0]


def _weights(saved: Any) -> Any:
    """Weights as they were saved; laid out in full where that takes little."""
    if isinstance(saved, np.ndarray):
        return persistence.array("weights", saved, ["f8"], (None, None))
    data, rows, ends, shape = saved
    if not persistence.is_a(list[int], shape) or len(shape) != 2 or min(shape) < 0:
        raise ValueError(f"weights have the shape {shape!r}")
    persistence.array("data", data, ["f8"], (None,))
    persistence.array("rows", rows, ["i8"], data.shape)
    persistence.array("ends", ends, ["i8"], (shape[1] + 1,))
    if not np.isin(rows, range(shape[0])).all() or ends[0] != 0 or ends[-1] != len(data) or (np.diff(ends) < 0).any():
        raise ValueError("weights have places that are none")
    if 8 * shape[0] * shape[1] <= DENSE:
        weights = np.zeros(shape)
        weights[rows, np.repeat(np.arange(shape[1]), np.diff(ends))] = data
        return weights
    from scipy.sparse import csc_array

    return csc_array((data, rows, ends), shape=shape)
