"""Scores rows of any kind and number with a portable model, in compiled loops."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.encoding.learning import prepared
from streamnb.encoding.opening import opened_for
from streamnb.encoding.plain_steps import RowStep
from streamnb.models.linear import LinearModel
from streamnb.models.tree import PairColumns, TreeModel
from streamnb.problem.schemes import Joint
from streamnb.rows.preparing import NORMS, TRANSFORMS, FeatureScale, RowOptions

# moments whose functions of x the weights of steps multiply
MOMENTS = {"above": "above", "log": "log_sum", "distance": "deviation"}


def answered(model: Any, X: Any, finish: Callable, width: int | None, dtype: np.dtype, out: Any) -> Any:
    """Apply `finish` to the scores of rows of any kind by a `PortableModel`, in the kind of X."""
    rows = opened_for(model.encoding, X, labelled=False, names=model.feature_names_in_)
    steps = list(model.steps)
    while steps and steps[0].do in ("indicators", "sums"):
        rows = prepared(steps.pop(0).value, rows)
    weights = (
        sp.csr_array(model.weights) if sp.issparse(model.weights) else model.weights
    )  # in the layout of the kernels
    if steps and steps[-1].do == "products":
        above = next((float(step.value) for step in steps if step.do == "above"), None)
        columns = PairColumns(weights.shape[0] - len(steps[-1].value), steps[-1].value)
        tree = TreeModel(model.classes_, weights, model.intercept_, Joint(), columns=columns, binarize=above)
        return tree.answer(rows, finish, width, dtype, out)
    # every class has a column of weights, so that scores are margins
    moments = {MOMENTS[step.do]: step.columns for step in steps if step.do in MOMENTS} or {"sum": None}
    linear = LinearModel(model.classes_, weights, model.intercept_, Joint(), _options(steps), moments)
    return linear.answer(rows, finish, width, dtype, out)


def _options(steps: list[RowStep]) -> RowOptions:
    """Return row options of the steps before the scaling of features, the factors, and the final normalisation."""
    of_values = [step for step in steps if step.do not in MOMENTS]
    at = next((n for n, step in enumerate(of_values) if step.do == "scale"), len(of_values))
    before, after = of_values[:at], of_values[at + 1 :]
    thresholds = {step.do: float(step.value) for step in steps if step.do in ("above", "distance")}
    return RowOptions(
        tuple(_named(step) for step in before) or None,
        after[0].do if after else None,
        thresholds.get("above", 0.0),
        thresholds.get("distance", 0.0),
        FeatureScale(of_values[at].value) if at < len(of_values) else None,
    )


def _named(step: RowStep) -> str:
    if step.do in TRANSFORMS:
        return step.do
    assert step.do in NORMS
    return step.do if step.value == 1.0 else f"{step.do}:{step.value!r}"
