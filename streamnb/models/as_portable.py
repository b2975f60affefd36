"""Converts fitted models to portable ones: a few plain steps, and a column of weights for each class."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.encoding.plain_steps import RowStep
from streamnb.models.linear import LinearModel, OddsModel, scaled
from streamnb.models.portable import PortableModel
from streamnb.models.tree import TreeColumns, TreeModel
from streamnb.problem.schemes import LabelReference, Scheme, TwoClasses
from streamnb.rows.preparing import NO_PLAIN_FORM, TRANSFORMS

FUNCTIONS = {"above": "above", "log_sum": "log", "deviation": "distance"}  # of x whose sums these moments are
CERTAIN = (
    1e100  # the score, instead of infinity, of what no row of the fit has, or every row: formats hold numbers only
)
COLUMNS = 20_000  # indicators at most, as each is compared by itself


def portable(model: LinearModel, step: Any, names: Any, shares: bool, **beside: Any) -> PortableModel:
    """Convert a model to a portable one; `shares` is true where its scores have probabilities.

    Raises
    ------
    ValueError, AttributeError
        The model needs something that a portable model has no step for; the message names it.
    """
    _check(model, step)
    scheme, weights, steps = model.scheme, scaled(model.weights, model.scale), list(_steps(model, step))
    if step is not None:
        weights = step.plain_weights(weights)
    finite = np.clip(model.intercept_, -CERTAIN, CERTAIN)
    weights, intercept = _rows_of_classes(scheme, weights, finite)
    if step is not None:
        n_features = step.n_features
    else:
        n_features = model.columns.n_taken if isinstance(model, TreeModel) else model.n_features
    return PortableModel(
        classes_=model.classes_,
        weights=weights,
        intercept_=intercept,
        n_features_in_=n_features,
        feature_names_in_=names,
        steps=tuple(steps),
        probabilities=_probabilities(scheme) if shares else None,
        multilabel=scheme.multilabel,
        reference=scheme.reference if isinstance(scheme, LabelReference) else None,
        **beside,
    )


def _check(model: LinearModel, step: Any) -> None:
    """Refuse models that steps, weights and the highest score do not describe."""
    if model.options.learned is not None:
        raise ValueError(NO_PLAIN_FORM)
    if step is not None and step.n_columns > COLUMNS:
        raise ValueError(f"{step.n_columns:,} indicators are more than such a file holds, {COLUMNS:,}")
    if model.scheme.name == "ovo":
        raise ValueError("scheme='ovo' decides by votes of pairs, which such a file cannot hold; use 'joint' or 'ovr'")
    if model.rule is not None:
        raise ValueError(
            "loss= and thresholds are no part of such a file, whose answer is the class of the highest score; use "
            "refit(loss=None, threshold=None, reject_label=None) or set_threshold(None), and decide by its "
            "probabilities"
        )
    if model.curves is not None:
        raise ValueError("isotonic calibration bends scores, which such a file cannot hold; use method='sigmoid'")
    if model.second is not None:
        raise ValueError("Beta features have two weights each, which such a file cannot hold")
    stored = model.weights.data if sp.issparse(model.weights) else model.weights
    counts_impossible = isinstance(model, OddsModel) and model.counts_impossible
    if counts_impossible or not np.isfinite(stored).all():
        raise ValueError(
            "a feature that never occurs in a class has an infinite weight, which such a file cannot hold; fit with a "
            "positive alpha or smoothing, such as alpha=1e-9"
        )
    assert model.coef_ is not None  # quadratic models raise an error that explains why they have none


def _rows_of_classes(scheme: Scheme, weights: Any, intercept: np.ndarray) -> tuple[Any, np.ndarray]:
    """A column of weights and an intercept for each class; the weights of a reference class are 0."""
    if not isinstance(scheme, TwoClasses) and scheme.reference is None:
        return weights, intercept
    against = 0 if isinstance(scheme, TwoClasses) else scheme.reference
    # a reference label is never predicted; the score of a reference class is 0
    zero = -1.0 if isinstance(scheme, LabelReference) else 0.0
    intercept = np.insert(intercept, against, zero)
    if not sp.issparse(weights):
        return np.insert(weights, against, 0.0, axis=1), intercept
    weights = sp.csc_array(weights)
    parts = [weights[:, :against], sp.csc_array((weights.shape[0], 1)), weights[:, against:]]
    return sp.csc_array(sp.hstack(parts)), intercept


def _steps(model: LinearModel, step: Any) -> Iterator[RowStep]:
    """Yield the steps that a row goes through, in order."""
    options = model.options
    if step is not None:
        yield from step.plain()
    if isinstance(model, TreeModel):
        assert isinstance(model.columns, TreeColumns)
        yield from [] if model.binarize is None else [RowStep("above", model.binarize)]
        yield RowStep("products", model.columns.pairs.astype(np.int64))
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
        return "reference"
    if scheme.multilabel:
        return "sigmoid"
    return "ovr" if scheme.name == "ovr" else "softmax"
