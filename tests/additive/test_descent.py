"""Additive models that are trained side by side: each at its own optimum, with the bits that it has alone."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from streamnb.additive import descent as term_descent
from streamnb.additive.descent import AdditiveTerms, LaneModel, TermDescent, TermRows
from streamnb.additive.losses import ClassLosses, NumberLosses
from streamnb.encoding.bins import CodedFeatures
from streamnb.problem.losses import TweedieLoss

RNG = np.random.default_rng(0)
CODES = np.stack([RNG.integers(0, 12, 400), RNG.integers(0, 5, 400)], axis=1).astype(np.int32)
CODES[:40, 1] = -1  # rows without a level of the second feature
COUNTS = np.concatenate([np.bincount(CODES[:, 0], minlength=12), np.bincount(CODES[40:, 1], minlength=5)])
CODED = CodedFeatures(np.array([0, 12, 17]), COUNTS.astype(float), np.array([True, False]), np.zeros(2, bool))
TERMS = AdditiveTerms(CODED, (3, 7), ((0, 1),))  # steps of 7 are no parts of those of 3 as they come


def rows_of(kind):
    columns = TERMS.columns()
    noise, means = RNG.integers(0, 6, 400), np.exp(np.sin(CODES[:, 0]) + 0.3 * CODES[:, 1])
    if isinstance(kind, int):
        targets = (CODES[:, 0] + CODES[:, 1] + noise) % kind
        losses = ClassLosses(np.arange(kind), np.bincount(targets).astype(float))
    else:
        y = {0.0: means - 3.0 + noise, 2.0: means * RNG.gamma(2.0, size=400)}.get(kind, RNG.poisson(means))
        losses, targets = (
            NumberLosses(TweedieLoss(kind, "log" if kind else "identity"), False, unit=1.7),
            y.astype(float),
        )
    places, weight = columns.places_of(CODES, columns.n_columns), RNG.uniform(0.5, 2.0, 400)
    return TermRows(columns, TERMS.layers, places, losses, targets, weight, RNG.integers(0, 3, 400))


def model_of(fold, l2, pair=1.0):
    variance = TERMS.factors(2.0) ** 2 / l2
    return LaneModel(fold, variance * np.where(np.repeat(TERMS.layers.terms, TERMS.layers.widths) < 2, 1.0, pair), None)


def brute_force(rows, model):
    """The scores of all rows at the optimum, by a general optimiser on the steps of all layers."""
    free = np.flatnonzero(model.variance)
    columns, losses, y = np.zeros((len(rows.weight), rows.columns.n_columns + 1)), rows.losses, rows.targets
    for of_term in rows.places:
        columns[np.arange(len(columns)), of_term] += 1.0
    steps = columns[:, :-1] @ TERMS.layers.parts.toarray()[:, free] * np.sqrt(model.variance[free])
    steps, n_classes = np.column_stack([steps, np.ones(len(steps))]), len(getattr(losses, "classes", ()))
    weight = rows.weight * (rows.fold != model.fold)

    def scores(theta):
        found = steps @ theta.reshape(steps.shape[1], rows.width)
        return np.column_stack([np.zeros(len(found)), found]) if n_classes == 2 else found

    def objective(theta):
        found, penalised = scores(theta), theta.reshape(steps.shape[1], rows.width)[:-1]
        if not n_classes:
            value = weight @ losses.loss.values(found[:, 0], y) / losses.unit + 0.5 * (penalised**2).sum()
            slopes = weight * losses.loss.slopes(found[:, 0], y) / losses.unit
            return value, steps.T @ slopes + np.append(penalised, 0.0)
        log_p = found - logsumexp(found, axis=1, keepdims=True)
        slopes = weight[:, None] * (np.exp(log_p) - np.eye(n_classes)[y])
        gradient = steps.T @ slopes[:, n_classes - rows.width :]
        gradient[:-1] += penalised
        value = -weight @ log_p[np.arange(len(found)), y] + 0.5 * (penalised**2).sum()
        return value, gradient.reshape(-1)

    options = {"maxiter": 5000, "maxfun": 10000, "ftol": 1e-15, "gtol": 1e-9}
    theta = minimize(objective, np.zeros(steps.shape[1] * rows.width), jac=True, method="L-BFGS-B", options=options).x
    return comparable(scores(theta), n_classes)


def comparable(scores, n_classes):
    """Scores of classes but for what all classes share."""
    return scores - scores[:, :1] if n_classes else scores


@pytest.mark.parametrize("kind", [2, 3, 0.0, 1.5])
def test_models_side_by_side_reach_the_optimum_of_each(kind, monkeypatch):
    monkeypatch.setattr(term_descent, "LEAST_STEP", 1e-14)
    monkeypatch.setattr(term_descent, "MOST_READS", 500)
    rows, models = rows_of(kind), [model_of(0, 1.0), model_of(1, 0.1), model_of(2, 5.0, pair=0.0)]
    descent = TermDescent(rows, models)
    together = descent.trained()
    for place, (model, weights) in enumerate(zip(models, together, strict=True)):
        scores = descent.scores[:, place * rows.width : (place + 1) * rows.width]
        scores = np.column_stack([np.zeros(len(scores)), scores]) if kind == 2 and isinstance(kind, int) else scores
        scores = comparable(scores, isinstance(kind, int))
        np.testing.assert_allclose(scores, brute_force(rows, model), atol=1e-4)
        alone = TermDescent(rows, [model]).trained()[0]
        np.testing.assert_array_equal(weights.weights, alone.weights)
        np.testing.assert_array_equal(weights.pulls, alone.pulls)
        again = TermDescent(rows, [LaneModel(model.fold, model.variance, weights)])
        again.trained()
        np.testing.assert_allclose(
            again.scores[:, : rows.width], rows.scores(again.weights)[:, : rows.width], atol=1e-9
        )
    assert (together[2].weights[17:-1] == 0.0).all()
    held_out = rows.held_out({model.fold: one.weights for model, one in zip(models, together, strict=True)})
    np.testing.assert_allclose(
        held_out[rows.fold == 1], descent.scores[rows.fold == 1, rows.width : 2 * rows.width], atol=1e-9
    )
