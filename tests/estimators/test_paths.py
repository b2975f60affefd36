"""Paths of penalties: conditions of the optimum, scikit-learn's weights, and errors of models that are fitted anew."""

import numpy as np
import pytest
from sklearn.linear_model import enet_path

import streamnb as snb
from streamnb.estimators import chosen as paths
from streamnb.estimators.target_sums import System, held_out_errors
from streamnb.rows.splits import as_folding
from tests.estimators.test_target_sums import summed

rng = np.random.default_rng(1)
X = rng.normal(size=(120, 12)) @ (np.eye(12) + 0.5 * rng.normal(size=(12, 12)))
Y = X[:, :3] @ [2.0, -1.0, 0.5] + rng.normal(size=120)
CENTRED = X - X.mean(axis=0), Y - Y.mean()


@pytest.fixture(scope="module")
def system():
    return System(summed(X, Y, None))


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5, 0.05])
def test_weights_are_those_of_scikit_learn_and_optimal(system, l1_ratio):
    alphas = paths.alpha_grid(system, l1_ratio, 30)
    theirs = enet_path(*CENTRED, l1_ratio=l1_ratio, alphas=alphas, tol=1e-14, max_iter=100_000)[1]
    ours = paths.elastic_net(system, alphas, l1_ratio).weights[:, 0]
    np.testing.assert_allclose(ours, theirs, atol=1e-9)
    strengths = np.outer([l1_ratio, 1.0 - l1_ratio], alphas * 120)
    assert paths.missed_conditions(system.products, system.with_targets[:, 0], ours, *strengths).max() < 1e-12
    assert not ours[:, 0].any()
    assert ours[:, 1].any()
    every = paths.elastic_net(system, alphas, l1_ratio, n_further=len(alphas)).weights[:, 0]  # from no feature on
    np.testing.assert_allclose(every, theirs, atol=1e-9)
    solved = paths.elastic_net(system, alphas, l1_ratio, n_further=25).weights[:, 0]  # as further grids are
    np.testing.assert_allclose(solved, theirs, atol=1e-9)
    assert (np.diff(np.count_nonzero(solved[:, 5:], axis=0)) > 0).any()


def test_dependent_columns_share_their_weight_and_targets_do_not_meet():
    system = System(summed(np.hstack([X, X]), np.column_stack([Y, -3.0 * Y]), None))
    weights = paths.elastic_net(system, np.array([0.5, 0.05]), 0.5).weights
    np.testing.assert_allclose(weights[:12], weights[12:], atol=1e-6)
    one = System(summed(np.hstack([X, X]), Y, None))
    np.testing.assert_allclose(weights[:, :1], paths.elastic_net(one, np.array([0.5, 0.05]), 0.5).weights, atol=1e-12)


def test_points_that_have_not_converged_are_told(system, monkeypatch):
    monkeypatch.setattr(paths, "MOST_ITERATIONS", 1)
    monkeypatch.setattr(paths, "_polished", lambda products, right, weights, l1, l2: weights)
    alphas = np.array([0.1, 1e-3])
    with paths.quiet():
        path = paths.elastic_net(system, alphas, 1.0)
    with pytest.warns(snb.StreamnbWarning, match="alpha=0.001 has not converged"):
        path.warn(alphas[1:])


@pytest.mark.parametrize("wrong", [-0.1, 1.5, "l1", [], [0.5, 2.0], True, None])
def test_shares_outside_0_and_1_are_refused(wrong):
    with pytest.raises(ValueError, match="l1_ratio"):
        paths.check_l1_ratios(wrong)


def refitted(rows, y, used):
    design = np.column_stack([np.ones(len(rows)), rows[:, used]])
    return np.linalg.lstsq(design, y, rcond=None)[0]


def error(rows, y, used):
    return np.sum((y - np.column_stack([np.ones(len(rows)), rows[:, used]]) @ refitted(rows, y, used)) ** 2)


def test_each_step_takes_the_best_feature_and_refits_all():
    order, weights = paths.forward_path(System(summed(X, Y, None)), 6)
    used = []
    for step in range(6):
        best = min((j for j in range(12) if j not in used), key=lambda j: error(X, Y, [*used, j]))
        used.append(best)
        assert order[step] == best
        np.testing.assert_allclose(weights[used, 0, step + 1], refitted(X, Y, used)[1:], rtol=1e-9)
    assert weights.shape == (12, 1, 7)


def test_dependent_features_do_not_enter():
    order, _ = paths.forward_path(System(summed(np.hstack([X, X[:, :4] @ [[1.0], [2.0], [0.5], [1.0]]]), Y, None)), 13)
    assert len(order) == 12


def test_held_out_errors_are_those_of_models_without_the_fold():
    sums, folds = summed(X, Y, None, folding=as_folding(3)), snb.fold_numbers(120, 3)
    found = held_out_errors(sums, lambda system: paths.padded_path(system, 4), True, False, 1)
    assert found.shape == (1, 5, 3)
    for fold in range(3):
        rest, own = folds != fold, folds == fold
        order, _ = paths.forward_path(System(summed(X[rest], Y[rest], None)), 4)
        weights = refitted(X[rest], Y[rest], order)
        wanted = np.mean((Y[own] - weights[0] - X[own][:, order] @ weights[1:]) ** 2)
        assert found[0, 4, fold] == pytest.approx(wanted, rel=1e-9)
        assert found[0, 0, fold] == pytest.approx(np.mean((Y[own] - Y[rest].mean()) ** 2), rel=1e-12)
