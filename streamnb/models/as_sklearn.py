"""Exports a model as a fitted scikit-learn pipeline."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Binarizer, FunctionTransformer, LabelBinarizer, Normalizer, StandardScaler
from sklearn.svm import LinearSVC

from streamnb.encoding.plain_steps import RowStep
from streamnb.models.portable import PortableModel


def as_sklearn(model: PortableModel) -> Pipeline:
    """A pipeline: a transformer for each step, then a linear classifier, or one for each class or label.

    The classifier is a logistic regression where it gives the model's probabilities, else a `LinearSVC`, without any.
    """
    if model.encoding is not None:
        raise ValueError("columns are made of a table or of texts, which no transformer does; export, or save(path)")
    n = model.n_features_in_
    parts = [one for step in model.steps for one in _transformers(step, n)]
    names = [f"{type(one).__name__.lower()}{number}" for number, one in enumerate(parts)]
    pipeline = Pipeline([*zip(names, parts, strict=True), ("classifier", _classifier(model))])
    if model.feature_names_in_ is not None:
        first = pipeline.steps[0][1]
        first.feature_names_in_ = np.asarray(model.feature_names_in_, object)
    return pipeline


def _transformers(step: RowStep, n_features: int) -> list[Any]:
    """The transformers of a step, fitted for rows with so many features."""
    if step.columns is not None:
        raise ValueError(
            "Mixed takes other functions of some columns, which to_sklearn has no step for; export to .onnx"
        )
    if step.do in ("sums", "products"):
        raise ValueError(f"{step.do} of columns have no transformer of scikit-learn's; export to .onnx or .json")
    if step.do == "indicators":
        raise ValueError(
            "indicators of bins and categories are not those of scikit-learn's transformers; export to .onnx or .json"
        )
    return TRANSFORMERS[step.do](n_features, step.value)


def _fitted(transformer: Any, n_features: int) -> Any:
    transformer.n_features_in_ = n_features
    return transformer


def _scaler(n_features: int, factor: Any = None, shift: float | None = None) -> StandardScaler:
    """A scaler that computes (x - shift) * factor; None leaves out either."""
    scaler = _fitted(StandardScaler(with_mean=shift is not None, with_std=factor is not None), n_features)
    scaler.mean_ = None if shift is None else np.full(n_features, shift)
    scaler.scale_ = None if factor is None else np.broadcast_to(1.0 / np.asarray(factor), n_features).copy()
    scaler.n_samples_seen_ = 1
    return scaler


def _normalizer(norm: str, n_features: int, length: float) -> list[Any]:
    divided = _fitted(Normalizer(norm), n_features)
    return [divided] if length == 1.0 else [divided, _scaler(n_features, factor=length)]


TRANSFORMERS: dict[str, Callable[[int, Any], list[Any]]] = {  # by the name of a step: of a number of features
    "log1p": lambda n, _: [FunctionTransformer(np.log1p, accept_sparse=True)],
    "sqrt": lambda n, _: [FunctionTransformer(np.sqrt, accept_sparse=True)],
    "log": lambda n, _: [FunctionTransformer(np.log, accept_sparse=True)],
    "binary": lambda n, _: [FunctionTransformer(abs, accept_sparse=True), _fitted(Binarizer(threshold=0.0), n)],
    "l1": partial(_normalizer, "l1"),
    "l2": partial(_normalizer, "l2"),
    "scale": lambda n, factors: [_scaler(n, factor=factors)],
    "above": lambda n, value: [_fitted(Binarizer(threshold=value), n)],
    "distance": lambda n, value: [_scaler(n, shift=value), FunctionTransformer(abs)],
}


def _classifier(model: PortableModel) -> Any:
    coef = model.weights.T.toarray() if sp.issparse(model.weights) else np.ascontiguousarray(model.weights.T)
    classes, linear = model.classes_, LinearSVC if model.probabilities in (None, "reference") else LogisticRegression
    if not model.multilabel and model.probabilities != "ovr":
        two = len(classes) == 2
        rows = slice(1, None) if two else slice(None)
        return _linear(linear(), coef[rows] - coef[:1] if two else coef, model.intercept_[rows], classes)
    rest = OneVsRestClassifier(linear())
    pairs = zip(coef, model.intercept_, strict=True)
    rest.estimators_ = [_linear(linear(), w[None], b[None], np.array([0, 1])) for w, b in pairs]
    indicator = np.vstack([np.eye(len(classes), dtype=int), np.ones((1, len(classes)), int)])
    rest.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(indicator if model.multilabel else classes)
    rest.classes_ = rest.label_binarizer_.classes_
    rest.n_features_in_ = coef.shape[1]
    return rest


def _linear(fitted: Any, coef: np.ndarray, intercept: np.ndarray, classes: np.ndarray) -> Any:
    fitted.coef_, fitted.intercept_, fitted.classes_ = coef, intercept, classes
    fitted.n_features_in_, fitted.n_iter_ = coef.shape[1], np.array([0])
    return fitted
