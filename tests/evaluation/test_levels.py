"""What is read off the order of scores is what scikit-learn reads off it; bounds hold for every order inside bins."""

from itertools import permutations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from streamnb.evaluation.levels import Levels, exact_areas, exact_levels

SCORES = np.array([0.1, 0.4, 0.4, 0.8, 0.9, 0.2])
OWN = np.array([0.0, 1.0, 0.0, 2.0, 0.0, 0.0])
REST = np.array([1.0, 0.0, 2.0, 0.0, 0.5, 0.0])  # the last row weighs nothing


def test_levels_of_rows_are_scikit_learns():
    levels, truth, weight = exact_levels(SCORES, OWN, REST), OWN > 0.0, OWN + REST
    assert levels.auc() == pytest.approx(roc_auc_score(truth, SCORES, sample_weight=weight))
    assert levels.average_precision() == pytest.approx(average_precision_score(truth, SCORES, sample_weight=weight))
    assert levels.auc_error() == levels.average_precision_error() == 0.0
    kept = weight > 0.0
    for drop in (False, True):
        expected = roc_curve(truth[kept], SCORES[kept], sample_weight=weight[kept], drop_intermediate=drop)
        for found, right in zip(levels.roc_curve(drop), expected, strict=True):
            np.testing.assert_allclose(found, right)


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


def test_without_rows_of_both_kinds_there_is_nothing_to_read():
    levels = exact_levels(SCORES, OWN, np.zeros(6))
    assert not levels.defined and np.isnan([levels.auc_error(), levels.average_precision()]).all()


@pytest.mark.parametrize("unit", [1e-300, 2.0**-500, 1e150])
def test_areas_do_not_depend_on_the_unit_of_weights(unit):
    scores, own, weight = np.arange(8.0)[:, None] % 3, np.arange(8)[:, None] % 2 == 0, np.arange(1.0, 9.0)
    np.testing.assert_allclose(exact_areas(scores, own, weight * unit), exact_areas(scores, own, weight), rtol=1e-12)
