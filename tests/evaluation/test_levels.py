"""Levels of many classes at once are those of each, and bounds hold for every order inside bins."""

from itertools import permutations

import numpy as np
import pytest

from streamnb.evaluation.score_order import Levels, exact_areas, exact_levels


@pytest.mark.parametrize("n", [0, 1, 7, 400])
def test_areas_of_all_classes_are_those_of_each_to_the_bit(n):
    rng = np.random.default_rng(n)
    scores, weight = rng.normal(size=(n, 4)).round(1), rng.random(n)
    scores[:, 1], scores[scores == 0.0] = 2.0, rng.choice([0.0, -0.0])  # all tied; both zeros
    own, weight[::5] = rng.random((n, 4)) < [0.1, 0.5, 0.9, 0.0], 0.0
    each = [exact_levels(s, weight * o, weight * ~o).auc() for s, o in zip(scores.T, own.T, strict=True)]
    np.testing.assert_array_equal(exact_areas(scores, own, weight), each)


def test_errors_bound_every_order_inside_a_bin():
    rows = [(1.0, 0.0), (0.0, 1.0), (1.0, 0.0), (0.0, 1.0), (0.0, 1.0)]  # a bin of four, and one of a row
    bins = Levels(np.array([2.0, 0.0]), np.array([2.0, 1.0]), np.array([1.0, 0.0]), np.array([True, False]))
    for order in permutations(rows[:4]):
        own, rest = np.array([*order, rows[4]]).T
        levels = exact_levels(np.arange(5.0)[::-1], own, rest)
        assert abs(levels.auc() - bins.auc()) <= bins.auc_error() + 1e-12
        assert abs(levels.average_precision() - bins.average_precision()) <= bins.average_precision_error() + 1e-12


@pytest.mark.parametrize("unit", [1e-300, 2.0**-500, 1e150])
def test_areas_do_not_depend_on_the_unit_of_weights(unit):
    scores, own, weight = np.arange(8.0)[:, None] % 3, np.arange(8)[:, None] % 2 == 0, np.arange(1.0, 9.0)
    np.testing.assert_allclose(exact_areas(scores, own, weight * unit), exact_areas(scores, own, weight), rtol=1e-12)
