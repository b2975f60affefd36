"""Coordinates of training: weights there and back, and the gradient that goes with them."""

import numpy as np
import scipy.sparse as sp

from streamnb.training.coordinates import CentredFeatures, LayeredFeatures, LayeredSums
from streamnb.training.objectives import Softmax
from tests.support import training

rng = np.random.default_rng(3)
X, Y = rng.normal([0.0, 5.0, 0.0, -2.0], size=(30, 4)), np.arange(30) % 3
X[:, 2] = 0.0  # which no row has
SCALE = np.array([2.0, 0.5, 1.0, 3.0])
AT = CentredFeatures(training.scanned(X, Y, Softmax()).sums, SCALE)


def scores(weights, rows=X):
    return rows @ weights[:-1] + weights[-1]


def test_weights_for_rows_score_as_those_of_the_model_score_scaled_rows():
    point = rng.normal(size=(4, 3))
    model, raw = AT.of_model(point), AT.for_rows(point)
    assert model.shape == raw.shape == (5, 3) and not model[2].any() and not raw[2].any()
    np.testing.assert_allclose(scores(raw), scores(model, X * SCALE), rtol=1e-12)
    np.testing.assert_allclose(AT.from_model(model), point, rtol=1e-12)
    np.testing.assert_allclose(scores(raw).mean(axis=0), point[-1], rtol=1e-12)  # intercepts are scores of the means
    buffer = np.empty((4, 3))
    np.testing.assert_array_equal(AT.for_rows(point, buffer), raw)


def test_the_gradient_is_that_of_scores_by_these_coordinates():
    slopes, steps = rng.normal(size=(30, 3)), rng.normal(size=(4, 3))
    raw = np.vstack([X.T @ slopes, slopes.sum(axis=0)])
    change = (slopes * scores(AT.for_rows(steps))).sum()  # scores are linear in the point
    np.testing.assert_allclose((AT.gradient(raw.copy()) * steps).sum(), change, rtol=1e-12)


class TestLayeredFeatures:
    """Indicators of 6 fine steps, with weights of 2 coarse and of 6 fine ones."""

    steps = rng.integers(0, 6, 40)
    rows = np.eye(6)[steps]
    parts = sp.csr_array(np.hstack([np.repeat(np.eye(2), 3, axis=0), np.eye(6)]))
    factors = np.array([1.0, 1.0, 0.5, 0.5, 0.5, 0.0, 0.5, 0.5])
    sums = training.scanned(rows, np.arange(40) % 3, Softmax()).sums
    at = LayeredFeatures(LayeredSums.of(sums, parts), factors)

    def test_a_fine_step_has_the_sum_of_the_weights_of_its_layers(self):
        point = rng.normal(size=(9, 3))
        raw, layered = self.at.for_rows(point), self.rows @ self.parts.toarray() * self.factors
        np.testing.assert_allclose(raw[:-1], self.parts.toarray() @ (point[:-1] * self.factors[:, None]))
        centred = (layered - layered.mean(axis=0)) @ point[:-1] + point[-1]
        np.testing.assert_allclose(scores(raw, self.rows), centred, rtol=1e-12)
        np.testing.assert_array_equal(self.at.of_model(point), raw)

    def test_sums_are_those_of_coarse_and_fine_columns(self):
        layered = self.rows @ self.parts.toarray() * self.factors
        np.testing.assert_allclose(self.at.squares[:-1, 0], (layered**2).sum(axis=0))
        np.testing.assert_allclose(self.at.spread[:-1, 0], ((layered - layered.mean(axis=0)) ** 2).sum(axis=0))
        np.testing.assert_allclose(self.at.gathered(self.rows.sum(axis=0)), (self.rows @ self.parts).sum(axis=0))

    def test_the_gradient_is_that_of_scores_by_these_coordinates(self):
        slopes, steps = rng.normal(size=(40, 3)), rng.normal(size=(9, 3))
        raw = np.vstack([self.rows.T @ slopes, slopes.sum(axis=0)])
        change = (slopes * scores(self.at.for_rows(steps), self.rows)).sum()
        np.testing.assert_allclose((self.at.gradient(raw) * steps).sum(), change, rtol=1e-12)
