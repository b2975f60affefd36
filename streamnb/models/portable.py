"""A linear model in a few plain steps, saved without statistics and used by all exports.

This file imports only NumPy and light modules, so that a process that scores a few rows starts quickly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Annotated, Any, NoReturn

import numpy as np

from streamnb.core import persistence
from streamnb.core.arguments import Rows
from streamnb.encoding.plain_steps import RowStep
from streamnb.encoding.records import Row, TableRecords, TextRecords, Unusual, numbers_of, records_of
from streamnb.rows.table_columns import read_small

FEW = 1000  # rows up to which scoring does not use compiled kernels
LIGHT = 1 << 22  # bytes of weights up to which files with statistics have the model alone, too
DENSE = 1 << 28  # bytes up to which sparse weights are made dense
# types of columns whose values are Python's
SIMPLE = {"double", "float64", "bool", "string", "large_string", "object", "str", "date32[day]"}
SIMPLE |= {f"{sign}int{n}" for sign in ("", "u") for n in (8, 16, 32, 64)}
SIMPLE |= {f"{kind}[{unit}]" for kind in ("timestamp", "datetime64") for unit in ("s", "ms", "us", "ns")}
PROBABILITIES = "softmax", "sigmoid", "ovr", "reference"
RESIDUALS = "NoneType", "Residuals"  # classes of what intervals follow from


class _MadeOnUse:
    """A field whose object is made, and its class imported, when it is first asked for."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __set__(self, model: Any, value: Any) -> None:
        vars(model)[self._name] = value

    def __get__(self, model: Any, owner: Any = None) -> Any:
        if model is None:
            return None  # the default
        if isinstance(vars(model)[self._name], persistence.Unmade):
            vars(model)[self._name] = vars(model)[self._name].made()
        return vars(model)[self._name]


@persistence.register
@dataclass(frozen=True, eq=False, repr=False)
class PortableModel(persistence.Saved):
    """A standalone linear model: steps, then scores ``x @ weights + intercept_``, of which the highest decides.

    ``model.save(path, stats=False)`` writes it and `load` returns it. Up to 1,000 rows in memory (numbers, texts or
    records of a table) are scored with NumPy alone, with the same bits; for more, and for rows of other kinds (stores,
    Dask), the rest of the package is imported.

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
    encoding: Any = _MadeOnUse()
    meta_: dict[Any, Any] | None = None
    reference: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in self.__dataclass_fields__}  # without what is made on use

    def __repr__(self) -> str:
        kept = self.weights.nnz if hasattr(self.weights, "nnz") else np.count_nonzero(self.weights)
        shape = f"{len(self.classes_):,} classes, {self.n_features_in_:,} features"
        return f"<PortableModel: {shape}; {kept:,} weights not zero>"

    # ---- predicting --------------------------------------------------------------------------------------------------

    def predict(self, X: Rows, *, out: Any = None) -> Any:
        """Return labels, (n_rows,), or a 0/1 indicator (n_rows, K) for multi-label, which may be written to `out`."""
        if self.multilabel:
            return self.answer(X, self._labels, len(self.classes_), np.dtype(np.int64), out)
        return self.answer(X, self._labels, None, self.classes_.dtype, out)

    def predict_proba(self, X: Rows, *, out: Any = None) -> Any:
        """Return class probabilities, (n_rows, K), or those of each label for multi-label."""
        self._check_probabilities()
        return self.answer(X, self._shares, len(self.classes_), np.dtype(np.float64), out)

    def decision_function(self, X: Rows, *, out: Any = None) -> Any:
        """Return scores, (n_rows, K) without the reference; (n_rows,) for two classes, positive for `classes_[1]`."""
        two = len(self.classes_) == 2 and not self.multilabel
        finish = _second_less_first if two else self._without_reference
        width = len(self.classes_) - (self.reference is not None)
        return self.answer(X, finish, None if two else width, np.dtype(np.float64), out)

    def answer(self, X: Any, finish: Callable, width: int | None, dtype: np.dtype, out: Any) -> Any:
        """Apply `finish` to the scores of rows, (n_rows,) or (n_rows, width), in the kind of X."""
        few = self._few(X) if out is None else None
        if few is not None:
            return finish(few)
        from streamnb.models.many_rows import answered  # compiled, and slow to import

        return answered(self, X, finish, width, dtype, out)

    def predict_one(self, record: Any) -> Any:
        """Return the label of a record, a dict, a row of an array or a text; as `predict_one` of estimators."""
        (found,) = self._labels(self.scores_of_one(record)).tolist()
        return dict(zip(self.classes_.tolist(), map(bool, found), strict=True)) if self.multilabel else found

    def predict_proba_one(self, record: Any) -> dict[Any, float]:
        """Return the probability of each class of a record, by its label."""
        self._check_probabilities()
        return dict(zip(self.classes_.tolist(), self._shares(self.scores_of_one(record))[0].tolist(), strict=True))

    def _check_probabilities(self) -> None:
        if self.probabilities is None:
            raise AttributeError("the model has no probabilities; calibrate(X, y) gives it some before it is saved")

    def scores_of_one(self, record: Any) -> np.ndarray:
        """Return the scores of a record, (1, K)."""
        try:
            return self.plain_scores(record)
        except Unusual:
            from streamnb.models.many_rows import answered

            return answered(self, [record], np.asarray, len(self.classes_), np.dtype(np.float64), None)

    def plain_scores(self, record: Any) -> np.ndarray:
        """Return the scores of a record, (1, K), by NumPy alone, or raise `Unusual`."""
        if self.records is not None:
            return self._scores_of_rows([self.records(record)])
        if self._is_raw:
            raise Unusual
        row = np.asarray(numbers_of(record, self.feature_names_in_, self.n_features_in_))
        if row.dtype.kind not in "biuf":
            raise Unusual
        return self._scores(row[None].astype(np.float64))

    @cached_property
    def records(self) -> TableRecords | TextRecords | None:
        """Return what encodes records in plain Python, if anything does."""
        return records_of(vars(self)["encoding"])

    @property
    def _is_raw(self) -> bool:
        return vars(self)["encoding"] is not None

    def _few(self, X: Any) -> np.ndarray | None:
        """Return the scores of a few rows in memory; None for other kinds of X."""
        if self._is_raw:
            rows = self._few_raw(X)
            return None if rows is None else self._scores_of_rows(rows)
        x = self._few_numbers(X)
        return None if x is None else self._scores(x)

    def _few_raw(self, X: Any) -> list[Row] | None:
        """Return a few texts, or records of a table, with their columns; None for others, which the encoding takes."""
        encode = self.records
        try:
            records = _as_records(X, encode.kinds) if isinstance(encode, TableRecords) else X
            if encode is None or not isinstance(records, list | tuple) or not 0 < len(records) <= FEW:
                return None
            return encode.rows(records)
        except (Unusual, ValueError):  # the latter of nanoseconds, which datetimes lack
            return None

    def _few_numbers(self, X: Any) -> np.ndarray | None:
        """Return a few rows of numbers in memory as an array; None for other kinds of X."""
        if isinstance(X, (str, bytes)) or not (hasattr(X, "shape") or isinstance(X, list)):
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
        return self._added(x)

    def _scores_of_rows(self, rows: list[Row]) -> np.ndarray:
        """Return the scores of rows of which the stored columns are known."""
        own_columns = all(step.keeps_zeros for step in self.steps)
        combine = all(step.do in ("sums", "products") for step in self.steps)
        scores = np.empty((len(rows), len(self.intercept_)))
        for at, (columns, values) in enumerate(rows):
            if values is None and combine:
                scores[at] = self._sum_of_ones(columns) + self.intercept_
            elif own_columns:
                x = (np.ones(len(columns)) if values is None else values.astype(np.float64))[None]
                for step in self.steps:
                    x = step.at(columns).of(x)
                scores[at] = self._sum(x[0], columns) + self.intercept_
            else:
                x = np.zeros((1, self.n_features_in_))
                x[0, columns] = 1.0 if values is None else values
                scores[at] = self._scores(x)[0]
        return scores

    def _sum_of_ones(self, columns: np.ndarray) -> np.ndarray:
        """Return the sums of the weights of a row of ones in these columns, and of their sums and products, (K,)."""
        if not self.steps:
            return self._sum(np.ones(len(columns)), columns)
        row = dict.fromkeys(columns.tolist(), 1.0)
        for step, width in zip(self.steps, self._widths, strict=True):
            row = step.of_ones(row, width)
        own = sorted(row)
        return self._sum(np.array([row[column] for column in own]), np.array(own, np.intp))

    @cached_property
    def _widths(self) -> list[int]:
        """Return the number of columns before each step."""
        widths = [self.n_features_in_]
        for step in self.steps[:-1]:
            widths.append(step.width(widths[-1]))
        return widths

    def _added(self, x: np.ndarray) -> np.ndarray:
        """Return the scores of prepared rows, whose terms are added in the order of columns as by compiled loops."""
        if len(x) <= x.shape[1] or hasattr(self.weights, "tocsc"):
            columns = (np.flatnonzero(row) for row in x)
            return np.array([self._sum(row[own], own) for row, own in zip(x, columns, strict=True)]) + self.intercept_
        scores = np.zeros((len(x), self.weights.shape[1]))
        for values, weights in zip(x.T, self.weights, strict=True):
            scores += values[:, None] * weights
        return scores + self.intercept_

    def _sum(self, values: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the sums of values times the weights of their columns, (K,)."""
        weights = self.weights[columns]
        terms = values[:, None] * (weights.toarray() if hasattr(weights, "toarray") else weights)
        return np.add.accumulate(terms)[-1] if len(terms) else np.zeros(self.weights.shape[1])

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

    @property
    def drift(self) -> NoReturn:
        """Not available, as sums of the training rows are not kept."""
        raise AttributeError(
            "a model saved with stats=False has no sums of the columns of its training rows, with which drift compares "
            "new rows; save it with its statistics, too, and load that file for drift"
        )

    # ---- files -------------------------------------------------------------------------------------------------------

    def export(
        self, path: Any, *, dialect: str | None = None, table: str = "rows", keep: Sequence[str] | None = None
    ) -> None:
        """Write the model to a file that other programs can predict with; see `export` of estimators."""
        writing = persistence.exports()
        writing.write(path, lambda: self, writing.scoring_of(dialect, table, keep))

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
        encoding = vars(self)["encoding"]
        unmade = persistence.class_name(encoding).endswith("Encoding") or encoding is None
        if not unmade and not hasattr(self.encoding, "encode"):
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


@persistence.register
@dataclass(frozen=True, eq=False, repr=False)
class PortableRegression(persistence.Saved):
    """A standalone regression: predictions are the scores of a `PortableModel`, or their exponentials.

    ``model.save(path, stats=False)`` writes it and `load` returns it. It accepts the same rows as a `PortableModel`,
    and imports as little for a few of them.

    Attributes
    ----------
    linear : PortableModel
        The model that scores rows, with a target in place of each class.
    power : float
        The variance is the mean to this power.
    link : {"identity", "log"}
        Predictions are the scores, or ``exp(scores)``.
    residuals_ : Residuals or None
        Residuals on held-out rows, from which ``predict(X, interval=0.9)`` derives its intervals.
    meta_ : dict or None
        Metadata given to `save`.

    Examples
    --------
    >>> import streamnb as snb
    >>> rows = [{"rooms": 1, "price": 2.0}, {"rooms": 2, "price": 4.0}, {"rooms": 3, "price": 6.0}]
    >>> snb.Ridge(alpha=0.0).fit(rows, "price").save("light.snb", stats=False)
    >>> snb.load("light.snb").predict([{"rooms": 4}, {"rooms": 5}]).round(6).tolist()
    [8.0, 10.0]
    """

    linear: PortableModel
    power: float
    link: str
    residuals_: Any = _MadeOnUse()
    meta_: dict[Any, Any] | None = None
    drift = PortableModel.drift

    def __repr__(self) -> str:
        return f"<PortableRegression: {self.linear.n_features_in_:,} features, link {self.link!r}>"

    @property
    def n_features_in_(self) -> int:
        """The number of features of a row."""
        return self.linear.n_features_in_

    def predict(self, X: Rows, *, offset: Any = None, interval: float | None = None, out: Any = None) -> Any:
        """Return predicted numbers, (n_rows,) or (n_rows, n_targets); with `interval` as `predict` of regressions.

        `offset`, (n_rows,), has the logarithms of exposures, as in `predict` of `PoissonRegressor`.
        """
        n_targets = len(self.linear.intercept_)
        finish, width = self._numbers, None if n_targets == 1 else n_targets
        if offset is not None:
            return self._exposed(np.asarray(self.predict(X)), np.asarray(offset), interval, out)
        if interval is not None:
            around = self._intervals(interval)
            finish, width = lambda scores: around(self._numbers(scores)), 3
        return self.linear.answer(X, finish, width, np.dtype(np.float64), out)

    def _intervals(self, interval: float) -> Callable[[np.ndarray], np.ndarray]:
        """Return what adds the ends of intervals to predictions."""
        if self.residuals_ is None:
            raise ValueError(
                f"interval={interval!r} needs residuals of held-out rows, and this model was saved without any: "
                "model.calibrate(X, y) of the regression that it was makes them; then save it again"
            )
        return self.residuals_.intervals(interval)

    def _exposed(self, predicted: np.ndarray, offset: np.ndarray, interval: float | None, out: Any) -> np.ndarray:
        """Return predictions for offsets of their rows."""
        if offset.shape != predicted.shape or offset.dtype.kind not in "iuf" or not np.isfinite(offset).all():
            raise ValueError(
                f"offset should be an array of {len(predicted):,} finite numbers, one for each row of X: the "
                "logarithms of exposures"
            )
        predicted = predicted * np.exp(offset) if self.link == "log" else predicted + offset
        if interval is not None:
            predicted = self._intervals(interval)(predicted)
        if out is not None:
            out[...] = predicted
            return out
        return predicted

    @property
    def evaluate(self) -> NoReturn:
        """Not available: the model that was saved can be judged."""
        raise AttributeError(
            "a regression that was saved with stats=False predicts, and does no more: evaluate the model that it was "
            "saved from"
        )

    score = evaluate

    def predict_one(self, record: Any) -> Any:
        """Return the number predicted for a record, or a list of those of all targets."""
        return self._numbers(self.linear.scores_of_one(record))[0].tolist()

    export = PortableModel.export

    def _numbers(self, scores: np.ndarray) -> np.ndarray:
        predicted = np.exp(scores) if self.link == "log" else scores
        return predicted[:, 0] if scores.shape[1] == 1 else predicted

    def _check_loaded(self) -> None:
        if self.link not in ("log", "identity") or persistence.class_name(vars(self)["residuals_"]) not in RESIDUALS:
            raise ValueError(f"link={self.link!r}, residuals_={vars(self)['residuals_']!r:.80}")


def _check_names(given: np.ndarray, fitted: np.ndarray) -> None:
    """Raise an error for a data frame whose columns are not those of the fit, in the same order."""
    if not np.array_equal(given, fitted):
        absent = [name for name in fitted if name not in given]
        what = f"has no column {absent[0]!r}" if absent else "has them in another order, or has others as well"
        raise ValueError(f"X should have the columns that were fitted; it {what}")


def _as_records(X: Any, kinds: Mapping[str, str | None]) -> Any:
    """Return a dict as a list of one, and tables and small files whose values are those of Python as records."""
    if isinstance(X, Mapping):
        return [X]
    if isinstance(X, str | PathLike):
        X = read_small(X, kinds, FEW)
    names = [*kinds]
    package = type(X).__module__.partition(".")[0]
    if package == "pandas" and hasattr(X, "columns"):
        types = dict(zip(X.columns, map(str, X.dtypes), strict=True))
    elif package == "pyarrow" and hasattr(X, "num_columns"):
        types = {field.name: str(field.type) for field in X.schema}
    else:
        return X
    if len(X) > FEW or len(types) < X.shape[1] or not {types.get(name) for name in names} <= SIMPLE:
        return None
    if package == "pandas":
        return X[names].to_dict("records")
    columns = X.select(names).columns  # whose nanoseconds are no datetimes
    times = [one.cast("timestamp[us]") if str(one.type) == "timestamp[ns]" else one for one in columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*(one.to_pylist() for one in times), strict=True)]


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
