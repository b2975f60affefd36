"""Converts fitted models to portable ones: a few plain steps, and a column of weights for each class."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.encoding.bins import BinEdges
from streamnb.encoding.category_columns import CategoryColumns
from streamnb.encoding.learning import ChosenColumns
from streamnb.encoding.terms import TermColumns
from streamnb.models.linear import LinearModel, OddsModel, scaled
from streamnb.models.portable import PortableModel
from streamnb.models.steps import ColumnSums, Indicators, RowStep
from streamnb.models.tree import TreeColumns, TreeModel
from streamnb.problem.schemes import LabelReference, Scheme, TwoClasses
from streamnb.rows.preparing import TRANSFORMS

FUNCTIONS = {"above": "above", "log_sum": "log", "deviation": "distance"}  # of x whose sums these moments are
CERTAIN = (
    1e100  # the score, instead of infinity, of what no row of the fit has, or every row: formats hold numbers only
)
COLUMNS = 20_000  # indicators at most, as each is compared by itself
STEPS = type(None), BinEdges, CategoryColumns, ChosenColumns, TermColumns


def portable(model: LinearModel, step: Any, names: Any, shares: bool, **beside: Any) -> PortableModel:
    """Convert a model to a portable one; `shares` is true where its scores have probabilities.

    Raises
    ------
    ValueError, AttributeError
        The model needs something that a portable model has no step for; the message names it.
    """
    _check(model, step)
    scheme, weights, steps = model.scheme, scaled(model.weights, model.scale), list(_steps(model, step))
    if isinstance(step, TermColumns):
        weights = _with_sums(weights, step, steps)
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
    if model.options.learned is not None or not isinstance(step, STEPS):
        raise ValueError("what is learned of the distribution of columns (quantile_normal, maps=) is in no such file")
    if step is not None and step.n_columns > COLUMNS:
        raise ValueError(f"{step.n_columns:,} indicators are more than such a file holds, {COLUMNS:,}")
    if model.scheme.name == "ovo":
        raise ValueError("scheme='ovo' decides by votes of pairs, which no such file holds; take 'joint' or 'ovr'")
    if model.rule is not None:
        raise ValueError(
            "loss= and thresholds are no part of such a file, whose answer is the class of the highest score; take "
            "refit(loss=None, threshold=None, reject_label=None) or set_threshold(None), and decide by its "
            "probabilities"
        )
    if model.curves is not None:
        raise ValueError("isotonic calibration makes curves of scores, which no such file holds; take method='sigmoid'")
    if model.second is not None:
        raise ValueError("Beta features have two weights each, which no such file holds")
    stored = model.weights.data if sp.issparse(model.weights) else model.weights
    counts_impossible = isinstance(model, OddsModel) and model.counts_impossible
    if counts_impossible or not np.isfinite(stored).all():
        raise ValueError(
            "a feature that never occurs in a class has an infinite weight there, which no such file holds; fit with a "
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
    if isinstance(step, TermColumns):
        yield from _terms(step)
    elif step is not None:
        yield RowStep("indicators", _indicators(step))
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


def portable_terms(step: TermColumns, weights: np.ndarray) -> tuple[tuple[RowStep, ...], np.ndarray]:
    """The steps that make the columns of terms, and sums that these need, with their weights (n_columns, R)."""
    steps = list(_terms(step))
    return tuple(steps), _with_sums(weights, step, steps)


def _terms(step: TermColumns) -> Iterator[RowStep]:
    """The steps of an additive model: codes, the coarser steps of the features in pairs, and the cells of pairs."""
    taken, place_of = _codes(step)
    if taken is not None:
        yield RowStep("indicators", indicators_of_bins(taken))
    n_codes = int(step.firsts[-1]) if taken is None else taken.n_columns
    firsts: dict[int, int] = {}  # the first sum of each feature
    parts, products, n_sums = [np.zeros((0, 2), np.int64)], [np.zeros((0, 2), np.int64)], 0
    for features, sides in zip(step.features.tolist(), step.sides, strict=True):
        if features[1] < 0:
            continue
        places = []
        for feature, step_of in zip(features, sides, strict=True):
            width = int(step_of.max()) + 1
            if feature not in firsts:
                firsts[feature] = n_sums
                codes = place_of[step.firsts[feature] : step.firsts[feature + 1]]
                parts.append(np.stack([codes, n_sums + step_of.astype(np.int64)], axis=1))
                n_sums += width
            places.append(n_codes + firsts[feature] + np.arange(width))
        products.append(np.stack(np.meshgrid(*places, indexing="ij"), axis=-1).reshape(-1, 2))
    if n_sums:
        yield RowStep("sums", ColumnSums(n_codes, np.concatenate(parts)))
        yield RowStep("products", np.concatenate(products))


def _codes(step: TermColumns) -> tuple[BinEdges | None, np.ndarray]:
    """Bins with one for missing values in every feature, so that none is refused, and the places of codes in them."""
    if step.base is None:
        return None, np.arange(step.firsts[-1])
    taken = replace(step.base, missing=np.ones(step.base.n_features, bool))
    added = taken.firsts[1:][~step.base.missing] - 1
    return taken, np.delete(np.arange(taken.n_columns), added)


def _with_sums(weights: Any, step: TermColumns, steps: list[RowStep]) -> Any:
    """Weights of codes and products; with zeros for missing values that no row had, and for the sums of products."""
    place_of = _codes(step)[1]
    n_cells = len(weights) - len(place_of)
    width = step.n_features if step.base is not None else len(place_of)
    for row_step in steps:
        width = row_step.width(width)
    out = np.zeros((width, weights.shape[1]))
    out[place_of] = weights[: len(place_of)]
    out[width - n_cells :] = weights[len(place_of) :]
    return out


def _indicators(step: Any) -> Indicators:
    if not isinstance(step, ChosenColumns):
        return indicators_of_bins(step) if isinstance(step, BinEdges) else _levels(step)
    if step.step is not None:
        of_some = _indicators(step.step)
        return replace(of_some, feature=step.columns[of_some.feature])
    n = len(step.columns)
    return Indicators(step.columns, np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n, bool), np.ones(n, bool))


def indicators_of_bins(bins: BinEdges) -> Indicators:
    """A column for each bin, and one for missing values as the last of its feature."""
    low, high, missing = [], [], []
    for edges, gap in zip(bins.edges, bins.missing.tolist(), strict=True):
        low += [-np.inf, *edges, *[np.inf] * gap]
        high += [*edges, np.inf, *[np.inf] * gap]
        missing += [False] * (len(edges) + 1) + [True] * gap
    feature = np.repeat(np.arange(bins.n_features), np.diff(bins.firsts))
    n = len(feature)
    return Indicators(feature, np.array(low), np.array(high), np.array(missing), np.zeros(n, bool))


def _levels(levels: CategoryColumns) -> Indicators:
    """A column for each value v: the interval from the float before v, exclusive, to v."""
    values = dict(zip(levels.columns.tolist(), levels.values, strict=True))
    each = [values.get(j, np.zeros(1)) for j in range(levels.n_features)]
    feature, high = np.repeat(np.arange(len(each)), list(map(len, each))), np.concatenate(each)
    as_is = ~np.isin(feature, levels.columns)
    return Indicators(feature, np.nextafter(high, -np.inf), high, np.zeros(len(feature), bool), as_is)


def _probabilities(scheme: Scheme) -> str | None:
    if isinstance(scheme, LabelReference) and scheme.reference is not None:
        return "reference"
    if scheme.multilabel:
        return "sigmoid"
    return "ovr" if scheme.name == "ovr" else "softmax"
