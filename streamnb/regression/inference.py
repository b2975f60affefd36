"""Standard errors, intervals and evidence of ridge regression, and what each feature adds to a prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats
from scipy.optimize import minimize_scalar

from streamnb.core import messages
from streamnb.core.arguments import Rows
from streamnb.core.frames import pandas_for
from streamnb.core.threads import one_thread
from streamnb.estimators.feature_tables import row_of
from streamnb.regression.systems import System

MOST_ROUNDING = 1e-6  # of degrees of freedom
GRID = np.linspace(-30.0, 30.0, 121)  # logs of strengths, relative to the mean eigenvalue, that are tried first


def evidence(system: System, strength: float) -> float:
    """Log probability of the targets, weights integrated out and the noise of each target at its most probable."""
    n = system.weight - (1.0 if system.intercept else 0.0)
    if n <= 0.0:
        raise ValueError(f"{system.weight:g} rows are too few for an evidence")
    if strength <= 0.0:
        return -np.inf
    inverse, log_determinant = system.inverse(strength)
    with one_thread():
        weights = inverse @ system.with_targets
    coefficients = system.coefficients(weights)
    # as a sum of squares, which cancels less than q - c'b
    left = system.squared_errors(coefficients, system.intercepts(coefficients)) + strength * (weights**2).sum(axis=0)
    noise = np.maximum(left, np.finfo(float).tiny) / n
    shrunk = log_determinant - len(weights) * np.log(strength)
    return float(-0.5 * (n * np.log(2.0 * np.pi * noise) + n + shrunk).sum())


def most_evident(system: System) -> float:
    """The strength with the largest evidence."""
    if not len(system.kept):
        return 1.0
    middle = np.log(np.diagonal(system.products).mean())

    def against(log: float) -> float:
        return -evidence(system, float(np.exp(middle + log)))

    costs = [against(log) for log in GRID]
    best = int(np.argmin(costs))
    if best in (0, len(GRID) - 1):
        side = "smallest, 0 in effect" if best == 0 else "largest: X hardly predicts y"
        messages.warn(f"alpha='evidence' takes the {side}; the evidence has no maximum in between")
    low, high = GRID[max(best - 1, 0)], GRID[min(best + 1, len(GRID) - 1)]
    return float(np.exp(middle + minimize_scalar(against, bounds=(low, high), method="bounded").x))


def summary_of(
    system: System, strength: float, fitted: tuple[np.ndarray, np.ndarray], names: list[str], confidence: float
) -> Any:
    """A data frame of weights with standard errors, t statistics, p-values and intervals.

    `fitted` are the weights (n_features, n_targets) and the intercepts (n_targets,).
    """
    pd, n_rows, n_targets = pandas_for("summary"), system.weight, system.sums.n_targets
    inverse, _ = system.inverse(strength)
    with one_thread():
        shrunk = inverse @ system.products
        covariance = shrunk @ inverse
    freedom = n_rows - float(np.trace(shrunk)) - (1.0 if system.intercept else 0.0)
    if freedom < MOST_ROUNDING:
        raise ValueError(f"{n_rows:g} rows are too few for the standard errors of {len(inverse)} weights")
    coefficients, intercepts = fitted
    noise = system.squared_errors(coefficients, intercepts) / freedom
    variances = np.full(system.n_features, np.nan)
    variances[system.kept] = np.diagonal(covariance) / system.scale**2
    means = system.means[system.kept] / system.scale
    of_intercept = 1.0 / n_rows + means @ covariance @ means if system.intercept else np.nan
    frames = []
    for k in range(n_targets):
        weights = np.append(intercepts[k], coefficients[:, k])
        errors = np.sqrt(noise[k] * np.append(of_intercept, variances))
        with np.errstate(invalid="ignore", divide="ignore"):
            t = weights / errors
        half = stats.t.ppf(0.5 + 0.5 * confidence, freedom) * errors
        columns = {"feature": ["(intercept)", *names], "weight": weights, "standard_error": errors, "t": t}
        columns |= {"p": 2.0 * stats.t.sf(np.abs(t), freedom), "lower": weights - half, "upper": weights + half}
        frames.append(pd.DataFrame(columns if n_targets == 1 else {"target": k, **columns}))
    return pd.concat(frames, ignore_index=True)


def explain(self: Any, X: Rows) -> Any:
    """Explain the prediction of one row by the contribution of each feature.

    Parameters
    ----------
    X : (1, n_features)
        One row, in any form that `predict` takes.

    Returns
    -------
    pandas.DataFrame
        With the columns "feature", "value", "weight" and "contribution" (and "target" where there are several);
        "(intercept)" first, then the largest contributions. They add up to the prediction.
    """
    pd, rows = pandas_for("explain"), self._opened(X)
    values, (weights, intercepts) = row_of(_values, rows, rows.n_features), self._weights
    names = np.array(["(intercept)", *(self._name_of(j) for j in range(len(weights)))], object)
    frames = []
    for k in range(weights.shape[1]):
        at = np.append(0, 1 + np.argsort(-np.abs(values * weights[:, k]), kind="stable"))
        columns = {"value": np.append(1.0, values)[at], "weight": np.append(intercepts[k], weights[:, k])[at]}
        frame = pd.DataFrame({"feature": names[at], **columns, "contribution": columns["value"] * columns["weight"]})
        frames.append(frame if weights.shape[1] == 1 else frame.assign(target=k))
    return pd.concat(frames, ignore_index=True)


def _values(chunk: Any, survey: Any) -> np.ndarray:
    matrix = chunk.to_matrix()
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix, np.float64)
