"""Steps in the duals of rows beside a general minimiser, and what they come to."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from streamnb.kernels.descent import ascend_rows

RNG = np.random.default_rng(4)
X, SQUARE, L2 = RNG.normal(size=(9, 3)).astype(np.float32), 0.5, 0.3
Y, WEIGHT = np.arange(9) % 4, np.append(RNG.random(8) + 0.5, 0.0)


def ascended(n_turns):
    weights, intercepts, duals = np.zeros((3, 8), np.float32), np.zeros(8), np.eye(4, dtype=np.float32)[Y]
    indices, indptr, gain = np.tile(np.arange(3), 9), np.arange(0, 28, 3), np.zeros(1)
    work = np.zeros(8, np.float32), np.zeros(4), np.zeros(4), gain
    order = np.arange(9)
    for _ in range(n_turns):
        ascend_rows(X.reshape(-1), indices, indptr, order, WEIGHT / L2, SQUARE, weights, intercepts, duals, *work)
    return weights[:, :4], intercepts[:4], duals, gain[0] * L2


def test_steps_come_to_the_optimum_whose_probabilities_are_the_duals():
    weights, intercepts, duals, _ = ascended(200)

    def loss(flat):
        w = flat.reshape(4, 4)
        scores = X @ w[:3] + w[3]
        fit = WEIGHT @ (logsumexp(scores, axis=1) - scores[np.arange(9), Y])
        return fit + 0.5 * L2 * ((w[:3] ** 2).sum() + (w[3] ** 2).sum() / SQUARE)

    best = minimize(loss, np.zeros(16), tol=1e-10)
    np.testing.assert_allclose(np.vstack([weights, intercepts]), best.x.reshape(4, 4), atol=3e-3)
    proba = softmax(X @ weights + intercepts, axis=1)
    np.testing.assert_allclose(duals[:-1], proba[:-1], atol=3e-3)
    assert duals[-1, Y[-1]] == 1.0  # a weight of 0 leaves a row out
    found = WEIGHT[:, None] * (np.eye(4)[Y] - duals) / L2
    np.testing.assert_allclose(weights, X.T @ found, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(intercepts, SQUARE * found.sum(axis=0), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("n_turns", [1, 5])
def test_the_gain_is_a_lower_bound(n_turns):
    def dual(duals, weights, intercepts):
        entropy = -WEIGHT @ np.where(duals > 0.0, duals * np.log(np.maximum(duals, 1e-30)), 0.0).sum(axis=1)
        return entropy - 0.5 * L2 * ((weights**2).sum() + (intercepts**2).sum() / SQUARE)

    weights, intercepts, duals, gain = ascended(n_turns)
    assert 0.0 < gain <= dual(duals, weights, intercepts) * (1.0 + 1e-4)
