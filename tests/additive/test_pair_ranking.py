"""Ranking pairs of features by what their cells add."""

import numpy as np

from streamnb.additive.choice import best_pairs, pair_gains


def rows(seed=0, n=4000, d=4):
    """Steps of features, and slopes and curvatures of a null model where features 1 and 2 act together."""
    rng = np.random.default_rng(seed)
    steps = rng.integers(0, 4, (n, d))
    y = (rng.random(n) < np.where((steps[:, 1] > 1) == (steps[:, 2] > 1), 0.8, 0.2)).astype(float)
    p = np.full(n, y.mean())
    return steps, (p - y)[:, None], (p * (1.0 - p))[:, None], rng.integers(0, 3, n)


def naive(steps, slopes, curvature, l2, i, j):
    def drop(keys):
        total = 0.0
        for key in np.unique(keys):
            some = keys == key
            G, H = slopes[some].sum(), curvature[some].sum()
            total += (G * G - H) / (H + l2)
        return total

    cells = steps[:, i] * 100 + steps[:, j]
    return drop(cells) - drop(steps[:, i]) - drop(steps[:, j])


def test_gains_are_those_of_a_loop_over_cells():
    steps, slopes, curvature, fold = rows()
    gains = pair_gains(steps, slopes, curvature, fold, 3, 2.0)
    for number in range(4):
        some = np.ones(len(steps), bool) if number == 3 else fold != number
        for i, j in ((0, 1), (1, 2), (2, 3)):
            expected = naive(steps[some], slopes[some, 0], curvature[some, 0], 2.0, i, j)
            np.testing.assert_allclose(gains[number, i, j], expected, rtol=1e-4, atol=1e-3)


def test_rows_without_a_step_are_left_out():
    steps, slopes, curvature, fold = rows()
    steps[:, 0] = -1
    gains = pair_gains(steps, slopes, curvature, fold, 3, 1.0)
    assert np.all(gains[:, 0] == 0.0)
    assert best_pairs(gains[3], 10)[0] == (1, 2)
