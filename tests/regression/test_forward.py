"""Forward selection against trying every feature, with exact refits."""

import numpy as np
import pytest

from streamnb.regression.forward import forward_path, padded_path
from streamnb.regression.systems import System, held_out_errors
from streamnb.rows.splits import as_folding, fold_numbers
from tests.regression.test_penalty_paths import X, Y
from tests.regression.test_target_sums import summed


def refitted(rows, y, used):
    design = np.column_stack([np.ones(len(rows)), rows[:, used]])
    return np.linalg.lstsq(design, y, rcond=None)[0]


def error(rows, y, used):
    return np.sum((y - np.column_stack([np.ones(len(rows)), rows[:, used]]) @ refitted(rows, y, used)) ** 2)


def test_each_step_takes_the_best_feature_and_refits_all():
    order, weights = forward_path(System(summed(X, Y, None)), 6)
    used = []
    for step in range(6):
        best = min((j for j in range(12) if j not in used), key=lambda j: error(X, Y, [*used, j]))
        used.append(best)
        assert order[step] == best
        np.testing.assert_allclose(weights[used, 0, step + 1], refitted(X, Y, used)[1:], rtol=1e-9)
    assert weights.shape == (12, 1, 7)


def test_dependent_features_do_not_enter():
    order, _ = forward_path(System(summed(np.hstack([X, X[:, :4] @ [[1.0], [2.0], [0.5], [1.0]]]), Y, None)), 13)
    assert len(order) == 12


def test_held_out_errors_are_those_of_models_without_the_fold():
    sums, folds = summed(X, Y, None, folding=as_folding(3)), fold_numbers(120, 3)
    found = held_out_errors(sums, lambda system: padded_path(system, 4), True, False, 1)
    assert found.shape == (1, 5, 3)
    for fold in range(3):
        rest, own = folds != fold, folds == fold
        order, _ = forward_path(System(summed(X[rest], Y[rest], None)), 4)
        weights = refitted(X[rest], Y[rest], order)
        wanted = np.mean((Y[own] - weights[0] - X[own][:, order] @ weights[1:]) ** 2)
        assert found[0, 4, fold] == pytest.approx(wanted, rel=1e-9)
        assert found[0, 0, fold] == pytest.approx(np.mean((Y[own] - Y[rest].mean()) ** 2), rel=1e-12)
