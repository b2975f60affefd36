"""What a linear model does to a row, in few steps that other programs know: what all exports are made of."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import label_checks
from streamnb.encoding.bins import BinEdges
from streamnb.models.linear import LinearModel
from streamnb.problem.schemes import LabelReference, Scheme, TwoClasses
from streamnb.rows.preparing import TRANSFORMS

FUNCTIONS = {"above": "above", "log_sum": "log", "deviation": "distance"}  # of moments that are no sums of x itself


@dataclass(frozen=True)
class RowStep:
    """One step of preparing a row.

    Attributes
    ----------
    do : {"binary", "log1p", "sqrt", "l1", "l2", "scale", "bins", "above", "log", "distance"}
        [x != 0]; ln(1 + x); the root; the row divided by its length, that of zeros by 1, times `value`; columns times
        `value` each; an indicator of each bin of each feature, `value` being BinEdges; [x > value]; ln x; |x - value|.
    columns : (m,) int, optional
        Those that it is done to; all by default.
    """

    do: str
    value: Any = None
    columns: np.ndarray | None = None


@dataclass(frozen=True)
class Portable:
    """Steps, then scores ``x @ weights + intercept``, a column for each class; the first of the highest is the answer.

    Attributes
    ----------
    weights : (n_columns, K), dense or CSR
    probabilities : {"softmax", "sigmoid", "ovr", None}
        Of scores: "sigmoid" of each label, "ovr" sigmoids divided by their sum.
    multilabel : bool
        The answer is a 1 for each label whose score is above 0, and a 0 for the others.
    """

    classes: list[Any]
    n_features: int
    names: list[str] | None
    steps: tuple[RowStep, ...]
    weights: Any
    intercept: np.ndarray
    probabilities: str | None
    multilabel: bool


def portable(model: LinearModel, step: Any, names: Any, shares: bool) -> Portable:
    """The model in this form; `shares` where its scores have probabilities.

    Raises
    ------
    ValueError
        It does what the form has no step for: the message names it.
    """
    _check(model, step)
    weights, intercept = _rows_of_classes(model.scheme, len(model.classes_), _weights(model), model.intercept_)
    return Portable(
        classes=model.classes_.tolist(),
        n_features=model.n_features if step is None else step.n_features,
        names=None if names is None else list(map(str, names)),
        steps=tuple(_steps(model, step)),
        weights=weights,
        intercept=intercept,
        probabilities=_probabilities(model.scheme) if shares else None,
        multilabel=model.scheme.multilabel,
    )


def _check(model: LinearModel, step: Any) -> None:
    """Refuse what is not said by steps, weights and the highest score."""
    if step is not None and not isinstance(step, BinEdges):
        raise ValueError("transform='quantile_normal' is learned from the rows, and no export holds it")
    if model.scheme.name == "ovo":
        raise ValueError("scheme='ovo' decides by votes of pairs, which no export holds; take 'joint', 'ovr' or so")
    if model.rule is not None:
        raise ValueError(
            "loss= and threshold= are no part of an export, which answers with the class of the highest score; "
            "export refit(loss=None, threshold=None, reject_label=None), and decide by its probabilities"
        )
    if model.curves is not None:
        raise ValueError("isotonic calibration makes curves of scores, which no export holds; take method='sigmoid'")
    if model.second is not None:
        raise ValueError("Beta features have two weights each, which no export holds")
    label_checks.check_labels(model.classes_, "classes")
    assert model.coef_ is not None  # quadratic scores say why they have none


def _weights(model: LinearModel) -> Any:
    """Weights of what the steps end with, (n_columns, R)."""
    if model.scale is None:
        return model.weights
    return sp.diags_array(model.scale) @ model.weights


def _rows_of_classes(scheme: Scheme, n_classes: int, weights: Any, intercept: np.ndarray) -> tuple[Any, np.ndarray]:
    """A column of weights and an intercept for each class: 0 for one that the others are set against."""
    if not isinstance(scheme, TwoClasses) and scheme.reference is None:
        return weights, intercept
    against = 0 if isinstance(scheme, TwoClasses) else scheme.reference
    # a label that is the reference is never an answer, the score of a class that is one is 0
    zero = -1.0 if isinstance(scheme, LabelReference) else 0.0
    if sp.issparse(weights):
        weights = sp.csc_array(weights)
        parts = [weights[:, :against], sp.csc_array((weights.shape[0], 1)), weights[:, against:]]
        return sp.csr_array(sp.hstack(parts)), np.insert(intercept, against, zero)
    return np.insert(weights, against, 0.0, axis=1), np.insert(intercept, against, zero)


def _steps(model: LinearModel, step: BinEdges | None) -> Any:
    """Yield what is done to a row, in order."""
    options = model.options
    if step is not None:
        yield RowStep("bins", step)
    for one in options.steps:
        norm, _, length = one.partition(":")
        yield RowStep(one) if one in TRANSFORMS else RowStep(norm, float(length or 1.0))
    if options.scale is not None:
        yield RowStep("scale", options.scale.values)
    if options.normalize is not None:
        yield RowStep(options.normalize, 1.0)
    for moment, columns in model.moments.items():
        if moment != "sum":
            value = {"above": options.binarize, "deviation": options.centre}.get(moment)
            yield RowStep(FUNCTIONS[moment], value, columns)


def _probabilities(scheme: Scheme) -> str | None:
    if isinstance(scheme, LabelReference) and scheme.reference is not None:
        return None  # the reference's is one minus the highest of the others'
    if scheme.multilabel:
        return "sigmoid"
    return "ovr" if scheme.name == "ovr" else "softmax"
