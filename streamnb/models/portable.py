"""A linear model in a few plain steps, saved without statistics and used by all exports.

This file imports only NumPy and light modules, so that a process that scores a few rows starts quickly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from streamnb.core import persistence
from streamnb.core.arguments import Rows
from streamnb.models.steps import RowStep

FEW = 1000  # rows up to which scoring does not use compiled kernels
DENSE = 1 << 28  # bytes up to which sparse weights are made dense
PROBABILITIES = "softmax", "sigmoid", "ovr", "reference"


@persistence.register
@dataclass(frozen=True, eq=False, repr=False)
class PortableModel(persistence.Saved):
    """A standalone linear model: steps, then scores ``x @ weights + intercept_``; the highest score decides.

    ``model.save(path, stats=False)`` writes it and `load` returns it. Up to 1,000 rows in memory are scored by NumPy
    alone; for more, and for rows of other kinds (stores, Dask, texts), the rest of the package is imported.

    Attributes
    ----------
    classes_ : (K,) labels
    weights : (n_columns, K) float64
        Dense, or a SciPy sparse array if there are many and most are zero.
    intercept_ : (K,)
        One for each class or label; the first of two classes and a reference have 0.
    n_features_in_ : int
    feature_names_in_ : (n_features,) str or None
    steps : tuple of RowStep
        The steps applied to a row before it is scored.
    probabilities : {"softmax", "sigmoid", "ovr", "reference", None}
        How probabilities follow from scores: "sigmoid" for each label; "ovr" divides sigmoids by their sum;
        "reference" is "sigmoid", but the reference label gets one minus the highest of the others.
    multilabel : bool
        True if `predict` returns an indicator: a 1 for each label with a score above 0.
    encoding : Encoding or None
        The encoding that turns raw rows into columns.
    meta_ : dict or None
        Metadata given to `save`.
    reference : int or None
        The number of the reference label, which is never predicted: its column of weights is 0, its intercept -1,
        and `decision_function` leaves it out.

    Examples
    --------
    >>> import streamnb as snb
    >>> X, y = [[2, 0], [3, 1], [0, 4], [1, 5]], ["cat", "cat", "dog", "dog"]
    >>> snb.LinearNB("poisson").fit(X, y).save("light.snb", stats=False)
    >>> snb.load("light.snb").predict([[3, 0], [0, 3]]).tolist()
    ['cat', 'dog']
    """

    classes_: Annotated[np.ndarray, "[K]"]
    weights: Any
    intercept_: Annotated[np.ndarray, "f8[K]"]
    n_features_in_: int
    feature_names_in_: np.ndarray | None = None
    steps: tuple[RowStep, ...] = ()
    probabilities: str | None = None
    multilabel: bool = False
    encoding: Any = None
    meta_: dict[Any, Any] | None = None
    reference: int | None = None

    def __repr__(self) -> str:
        kept = self.weights.nnz if hasattr(self.weights, "nnz") else np.count_nonzero(self.weights)
        shape = f"{len(self.classes_):,} classes, {self.n_features_in_:,} features"
        return f"<PortableModel: {shape}; {kept:,} weights not zero>"

    # ---- predicting --------------------------------------------------------------------------------------------------

    def predict(self, X: Rows, *, out: Any = None) -> Any:
        """Return labels, (n_rows,), or a 0/1 indicator (n_rows, K) for multi-label; in the kind of X, or into `out`."""
        if self.multilabel:
            return self._answer(X, self._labels, len(self.classes_), np.dtype(np.int64), out)
        return self._answer(X, self._labels, None, self.classes_.dtype, out)

    def predict_proba(self, X: Rows, *, out: Any = None) -> Any:
        """Return class probabilities, (n_rows, K), or those of each label for multi-label."""
        if self.probabilities is None:
            raise AttributeError("the model has no probabilities; calibrate(X, y) gives it some before it is saved")
        return self._answer(X, self._shares, len(self.classes_), np.dtype(np.float64), out)

    def decision_function(self, X: Rows, *, out: Any = None) -> Any:
        """Return scores, (n_rows, K) without the reference; (n_rows,) for two classes, positive for `classes_[1]`."""
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
        """Return a few rows of numbers in memory as an array; None for other kinds of X."""
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
            return None  # the general path raises the error
        if x.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {x.shape[1]} features, but the model is expecting {self.n_features_in_}")
        return x.astype(np.float64)

    def _scores(self, x: np.ndarray) -> np.ndarray:
        """Return the scores of the classes, (n_rows, K)."""
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
        else:  # exp of nonpositive numbers only
            shares = np.where(scores > 0.0, 1.0, np.exp(np.minimum(scores, 0.0))) / (1.0 + np.exp(-abs(scores)))
        return shares if self.probabilities in ("sigmoid", "reference") else shares / shares.sum(axis=1, keepdims=True)

    # ---- files -------------------------------------------------------------------------------------------------------

    @cached_property
    def sparse_weights(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return nonzero weights, their rows, and the offsets of the classes."""
        if hasattr(self.weights, "tocsc"):
            matrix = self.weights.tocsc()
            return matrix.data, matrix.indices, matrix.indptr
        classes, rows = np.nonzero(self.weights.T)
        return self.weights[rows, classes], rows, np.searchsorted(classes, np.arange(self.weights.shape[1] + 1))

    def _to_state(self) -> dict[str, Any]:
        state = super()._to_state()
        if self.reference is None:
            del state["reference"]  # so that earlier versions can read the file
        data, rows, ends = self.sparse_weights
        if hasattr(self.weights, "tocsc") or 2 * len(data) < self.weights.size:
            state["weights"] = [data, np.asarray(rows, np.int64), np.asarray(ends, np.int64), list(self.weights.shape)]
        names = self.feature_names_in_
        state["feature_names_in_"] = None if names is None else list(map(str, names))
        return state

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> PortableModel:
        names = state["feature_names_in_"]
        names = None if names is None else np.array(names, object)
        return super()._from_state({**state, "weights": _weights(state["weights"]), "feature_names_in_": names})

    def _check_loaded(self) -> None:
        n_columns, n_classes = self.weights.shape
        if len(self.classes_) != n_classes or n_classes < 1:
            raise ValueError(f"there are weights for {n_classes} classes, and classes_={self.classes_!r}")
        n_features, names = self.n_features_in_, self.feature_names_in_
        width = n_features
        for step in self.steps:
            width = step.width(width)
        if width != n_columns or (names is not None and len(names) != n_features):
            raise ValueError(f"{n_features} features become {width} columns, and there are weights for {n_columns}")
        if self.encoding is not None and not hasattr(self.encoding, "encode"):
            raise ValueError(f"encoding={self.encoding!r} makes no columns")
        if self.probabilities not in (None, *PROBABILITIES):
            raise ValueError(f"probabilities={self.probabilities!r}, multilabel={self.multilabel!r}")
        self._check_reference()

    def _check_reference(self) -> None:
        """Raise an error for a reference that is not a label or does not match `probabilities`."""
        if self.reference is None and self.probabilities != "reference":
            return
        n_classes = len(self.classes_)
        known = self.reference is not None and 0 <= self.reference < n_classes and n_classes > 1
        if not known or not self.multilabel or self.probabilities not in (None, "reference"):
            raise ValueError(
                f"reference={self.reference!r} of {n_classes} labels, probabilities={self.probabilities!r}"
            )


def _check_names(given: np.ndarray, fitted: np.ndarray) -> None:
    """Raise an error for a data frame whose columns are not those of the fit, in the same order."""
    if not np.array_equal(given, fitted):
        absent = [name for name in fitted if name not in given]
        what = f"has no column {absent[0]!r}" if absent else "has them in another order, or has others as well"
        raise ValueError(f"X should have the columns that were fitted; it {what}")


def _second_less_first(scores: np.ndarray) -> np.ndarray:
    return scores[:, 1] - scores[:, 0]


def _weights(saved: Any) -> Any:
    """Return saved weights, dense if that takes little memory."""
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
