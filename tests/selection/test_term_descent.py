"""Additive models that are trained side by side: each at its own optimum, with the bits that it has alone."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from streamnb.encoding.terms import CodedFeatures
from streamnb.selection import term_descent
from streamnb.selection.term_descent import LaneModel, TermDescent, TermRows
from streamnb.selection.term_layers import AdditiveTerms

RNG = np.random.default_rng(0)
CODES = np.stack([RNG.integers(0, 12, 400), RNG.integers(0, 5, 400)], axis=1).astype(np.int32)
CODES[:40, 1] = -1  # rows without a level of the second feature
COUNTS = np.concatenate([np.bincount(CODES[:, 0], minlength=12), np.bincount(CODES[40:, 1], minlength=5)])
CODED = CodedFeatures(np.array([0, 12, 17]), COUNTS.astype(float), np.array([True, False]), np.zeros(2, bool))
TERMS = AdditiveTerms(CODED, (3, 7), ((0, 1),))  # steps of 7 are no parts of those of 3 as they come


def rows_of(n_classes):
    columns, (parents, leaves) = TERMS.columns(), TERMS.layers.tree
    own = (CODES[:, 0] + CODES[:, 1] + RNG.integers(0, 6, 400)) % n_classes
    given = columns.places_of(CODES, columns.n_columns), own, n_classes
    return TermRows(columns, parents, leaves, *given, RNG.uniform(0.5, 2.0, 400), RNG.integers(0, 3, 400))


def model_of(fold, l2, pair=1.0):
    variance = TERMS.factors(2.0) ** 2 / l2
    return LaneModel(fold, variance * np.where(np.repeat(TERMS.layers.terms, TERMS.layers.widths) < 2, 1.0, pair), None)


def brute_force(rows, model):
    """The scores of all rows at the optimum, by a general optimiser on the steps of all layers."""
    free = np.flatnonzero(model.variance)
    columns = np.zeros((len(rows.own), len(rows.leaves) + 1))
    for of_term in rows.places:
        columns[np.arange(len(rows.own)), of_term] += 1.0
    steps = columns[:, :-1] @ TERMS.layers.parts.toarray()[:, free] * np.sqrt(model.variance[free])
    steps, n_classes = np.column_stack([steps, np.ones(len(steps))]), rows.n_classes
    weight = rows.weight * (rows.fold != model.fold)

    def scores(theta):
        found = steps @ theta.reshape(steps.shape[1], rows.width)
        return np.column_stack([np.zeros(len(found)), found]) if n_classes == 2 else found

    def objective(theta):
        found, penalised = scores(theta), theta.reshape(steps.shape[1], rows.width)[:-1]
        log_p = found - logsumexp(found, axis=1, keepdims=True)
        slopes = weight[:, None] * (np.exp(log_p) - np.eye(n_classes)[rows.own])
        gradient = steps.T @ slopes[:, n_classes - rows.width :]
        gradient[:-1] += penalised
        value = -weight @ log_p[np.arange(len(found)), rows.own] + 0.5 * (penalised**2).sum()
        return value, gradient.reshape(-1)

    options = {"maxiter": 5000, "maxfun": 10000, "ftol": 1e-15, "gtol": 1e-9}
    theta = minimize(objective, np.zeros(steps.shape[1] * rows.width), jac=True, method="L-BFGS-B", options=options).x
    found = scores(theta)
    return found - found[:, :1]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_models_side_by_side_reach_the_optimum_of_each(n_classes, monkeypatch):
    monkeypatch.setattr(term_descent, "LEAST_GAIN", 1e-14)
    monkeypatch.setattr(term_descent, "MOST_READS", 500)
    rows, models = rows_of(n_classes), [model_of(0, 1.0), model_of(1, 0.1), model_of(2, 5.0, pair=0.0)]
    descent = TermDescent(rows, models)
    together = descent.trained()
    for place, (model, weights) in enumerate(zip(models, together, strict=True)):
        scores = descent.scores[:, place * rows.width : (place + 1) * rows.width]
        scores = np.column_stack([np.zeros(len(scores)), scores]) if n_classes == 2 else scores
        np.testing.assert_allclose(scores - scores[:, :1], brute_force(rows, model), atol=1e-4)
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
