"""Corrections of naive Bayes: the bound of the first read, and the optimum under the constraint by a general solver."""

from dataclasses import replace

import numpy as np
from scipy.optimize import minimize

from streamnb.solving.generalized import Corrections, CorrectionTrainer, WholePenalties, bayes_weights
from streamnb.solving.objectives import Softmax
from tests.support import training

rng = np.random.default_rng(5)
Y = np.arange(60) % 3
BINS = np.column_stack([(Y + rng.integers(0, 2, 60)) % 3, rng.integers(0, 2, 60)])
X = np.column_stack([BINS[:, :1] == [0, 1, 2], BINS[:, 1:] == [0, 1]]).astype(float)
FIRSTS = np.array([0, 3, 5])


def test_corrections_are_the_optimum_under_their_constraint():
    data, l2 = training.scanned(X, Y, Softmax()), 0.3
    bayes = bayes_weights(data.sums, FIRSTS, 1.0, joint=True)
    data = replace(data, solved=Corrections(data.sums, bayes, FIRSTS))
    trainer = CorrectionTrainer(data, WholePenalties(l2, 0.0), 1e-9, 300)
    found = training.trained(trainer, X, Y)
    corrections, counts = found.weights - bayes, X.sum(axis=0)
    for group in (slice(0, 3), slice(3, 5)):
        np.testing.assert_allclose(counts[group] @ corrections[group], 0.0, atol=1e-12)

    def value(flat):
        b = flat.reshape(6, 3)
        scores = X @ (bayes + b)[:-1] + (bayes + b)[-1]
        losses = np.log(np.exp(scores - scores.max(axis=1, keepdims=True)).sum(axis=1)) + scores.max(axis=1)
        return (losses - scores[np.arange(60), Y]).sum() + 0.5 * l2 * (b**2).sum()

    def off(flat):
        b = flat.reshape(6, 3)
        return np.concatenate([counts[:3] @ b[:3], counts[3:] @ b[3:5]]) / 60

    theirs = minimize(
        value, np.zeros(18), method="SLSQP", constraints={"type": "eq", "fun": off}, options={"ftol": 1e-12}
    )
    np.testing.assert_allclose(value(corrections.reshape(-1)), theirs.fun, rtol=1e-8)
    np.testing.assert_allclose(corrections, theirs.x.reshape(6, 3), atol=1e-3)
    np.testing.assert_allclose(found.history["objective"][0], value(np.zeros(18)), rtol=1e-12)
    assert trainer.most() >= value(np.zeros(18))
