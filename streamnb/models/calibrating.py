"""Calibration: the linear model whose probabilities fit labelled rows that it has not learned from."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import log_softmax

from streamnb.core import label_checks, memory, row_checks
from streamnb.models.at_hand import UnheldModel
from streamnb.models.linear import LinearModel
from streamnb.models.quadratic import QuadraticModel
from streamnb.problem.schemes import Joint, LabelReference, Reference
from streamnb.rows.boundary import checked
from streamnb.rows.source import Source
from streamnb.stats.grouping import LabelCodes
from streamnb.stats.matching import positions

RIDGE = 1e-2  # a bias is normal beforehand, of mean 0 and standard deviation 10; the largest score has a factor like it
MOST_STEPS = 100
CONVERGED = 1e-12  # what another step would take off the loss of a row


def calibrated(model: LinearModel, rows: Source) -> LinearModel:
    """The model with its scores scaled and shifted so that log loss on these rows is least.

    Scores of a softmax (joint, reference) have one factor, the inverse of a temperature, and a bias each; every other
    row of weights has a factor and a bias of its own. All of this is linear, so that a linear model it stays.
    """
    _check_model(model)
    if isinstance(model, QuadraticModel):
        raise ValueError("calibrate() is for linear scores; those of Gaussian(covariance='own') are quadratic")
    margins, targets, weight = _scored(model, rows)
    if isinstance(model.scheme, (Joint, Reference)):
        factor, bias = fit_softmax(model.scheme.class_scores(margins), targets, weight)
        if model.scheme.reference is not None:
            bias = np.delete(bias - bias[model.scheme.reference], model.scheme.reference)
        return _scaled(model, np.full(margins.shape[1], factor), bias)
    if margins.shape[1] == 1 and not model.scheme.multilabel:
        targets = targets[:, 1:]
    of_rows = [fit_platt(*each, weight) for each in zip(margins.T, targets.T, strict=True)]
    factors, biases = np.array(of_rows).T
    return _scaled(model, factors, biases)


def fit_softmax(scores: np.ndarray, targets: np.ndarray, weight: np.ndarray) -> tuple[float, np.ndarray]:
    """Factor t >= 0 and biases b, (K,), whose sum is 0, of least log loss of softmax(t scores + b), by Newton's method.

    ``min -sum_i w_i sum_k targets_ik ln softmax_k(t s_i + b) + RIDGE / 2 (t^2 max|s|^2 + |b|^2)``, Guo et al. 2017,
    "On calibration of modern neural networks", with a ridge that keeps all of it finite. Scores that rank the classes
    the wrong way round get t = 0, which leaves the shares of the classes.
    """
    scores = scores - scores.mean(axis=1, keepdims=True)
    scale = max(float(np.abs(scores).max()), np.finfo(np.float64).tiny)
    theta = _newton(scores / scale, targets, weight)
    if theta[0] < 0.0:
        theta = _newton(np.zeros_like(scores), targets, weight)
    return float(theta[0] / scale), theta[1:]


def fit_platt(margin: np.ndarray, target: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Factor and bias of a margin, whose sigmoid then is the probability of `target` (Platt 1999).

    His targets, (N+ + 1) / (N+ + 2) and 1 / (N- + 2), keep groups that a margin parts from probabilities 0 and 1.
    """
    on, off = weight @ target, weight @ (1.0 - target)
    smoothed = np.where(target > 0.0, (on + 1.0) / (on + 2.0), 1.0 / (off + 2.0))
    both = np.column_stack([np.zeros_like(margin), margin]), np.column_stack([1.0 - smoothed, smoothed])
    factor, bias = fit_softmax(*both, weight)
    return factor, bias[1] - bias[0]


def _newton(scores: np.ndarray, targets: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """(t, b) of least loss, from (0, 0), where every probability is the same and the loss is nearly quadratic."""

    def loss(theta: np.ndarray) -> float:
        logs = log_softmax(theta[0] * scores + theta[1:], axis=1)
        return float(-(weight @ (targets * logs).sum(axis=1)) + RIDGE / 2 * (theta @ theta))

    theta = np.zeros(1 + scores.shape[1])
    now = loss(theta)
    for _ in range(MOST_STEPS):
        gradient, hessian = _derivatives(theta, scores, targets, weight)
        step = np.linalg.solve(hessian, gradient)
        if gradient @ step <= CONVERGED * weight.sum():
            break
        while (then := loss(theta - step)) > now and np.abs(step).max() > CONVERGED:
            step = step / 2.0
        theta, now = theta - step, then
    return theta


def _derivatives(
    theta: np.ndarray, scores: np.ndarray, targets: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    p = np.exp(log_softmax(theta[0] * scores + theta[1:], axis=1))
    over = weight[:, None] * (p - targets)
    gradient = np.append((over * scores).sum(), over.sum(axis=0)) + RIDGE * theta
    weighted = weight[:, None] * p
    by_t = weighted * (scores - (p * scores).sum(axis=1, keepdims=True))
    hessian = RIDGE * np.eye(len(theta))
    hessian[0, 0] += (by_t * scores).sum()
    hessian[0, 1:] = hessian[1:, 0] = by_t.sum(axis=0)
    hessian[1:, 1:] += np.diag(weighted.sum(axis=0)) - weighted.T @ p
    return gradient, hessian


def _scaled(model: LinearModel, factors: np.ndarray, biases: np.ndarray) -> LinearModel:
    """The model whose margins are those of this one times `factors`, (R,), plus `biases`."""
    sparse, second = sp.issparse(model.weights), model.second
    return replace(
        model,
        weights=sp.csr_array(model.weights @ sp.diags_array(factors)) if sparse else model.weights * factors,
        intercept_=model.intercept_ * factors + biases,
        second=None if second is None else second * factors,
    )


def _check_model(model: LinearModel) -> None:
    if not model.scheme.has_probabilities:
        raise ValueError("scheme='ovo' has no probabilities to calibrate; take 'joint', 'ovr' or 'reference'")
    if isinstance(model.scheme, LabelReference):
        raise ValueError("labels against a reference are not calibrated; a 2-D y is with scheme='joint'")
    if isinstance(model, UnheldModel):
        raise MemoryError("calibrate scales the weights, and these are too many to be held; take a sparser penalty")
    if not np.isfinite(model.intercept_).all():
        raise ValueError("the model has a class without rows, whose probability is 0 whatever the scores; fit without")


def _scored(model: LinearModel, rows: Source) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Margins (n_rows, R), who is what (n_rows, K) and weights (n_rows,) of all rows, in order."""
    if rows.lazy:
        raise TypeError("X is in Dask; thousands of rows are enough to calibrate by: give X.compute() and y.compute()")
    n_classes = len(model.classes_)
    if rows.n_rows is not None:
        n_bytes, limit = 8 * rows.n_rows * 6 * n_classes, memory.allowed(None)
        if n_bytes > limit:
            memory.refuse("scores of the rows to calibrate by", n_bytes, limit, "take fewer rows: thousands are enough")
    margins, targets, weights = [], [], []
    for block in rows.blocks():
        chunk, survey = checked(block)
        margins.append(model.margins(chunk, survey))
        targets.append(_targets(model, label_checks.check_y(block.y), chunk.first_row))
        weights.append(np.ones(chunk.shape[0]) if block.weight is None else np.asarray(block.weight, np.float64))
    if not margins:
        raise ValueError("X has no rows; to calibrate, give rows of at least 2 classes")
    target, weight = np.concatenate(targets), np.concatenate(weights)
    row_checks.check_total_weight(weight.sum())
    total = weight @ target
    if model.scheme.multilabel:
        lacking = (total == 0.0) | (total == weight.sum())
        if lacking.any():
            label = model.classes_[lacking.argmax()].item()
            raise ValueError(f"y has label {label!r} on all rows or on none; to calibrate, give rows of both kinds")
    elif np.count_nonzero(total) < 2:
        seen = model.classes_[total > 0.0].tolist()
        raise ValueError(f"y holds one class only ({seen}); to calibrate, give rows of at least 2 classes")
    return np.concatenate(margins), target, weight


def _targets(model: LinearModel, y: Any, first_row: int) -> np.ndarray:
    classes = model.classes_
    if sp.issparse(y) != model.scheme.multilabel:
        raise ValueError("y should be as in fit: one label a row, or an indicator of labels")
    if model.scheme.multilabel:
        if y.shape[1] != len(classes):
            raise ValueError(f"y has {y.shape[1]} columns; the model has {len(classes)} labels")
        return y.toarray().astype(np.float64)
    codes = LabelCodes(classes).codes_of(y)
    if codes is None:
        row = int(np.argmin(positions(classes, y)))
        raise ValueError(f"y has the label {y[row].item()!r} at row {first_row + row}, which the model does not know")
    return (codes[:, None] == np.arange(len(classes))).astype(np.float64)
