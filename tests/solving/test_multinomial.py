"""Multinomial weights under a penalty, against brute force; `test_spread_weights` has their equations."""

import numpy as np
import pytest

import streamnb as snb
from tests.support import reference as ref
from tests.support.problems import PENALTIES, SCHEMES, penalty_of, random_problem, solved


def multinomial_problem(n_classes, seed, **options):
    return random_problem("multinomial", n_classes, seed, **options)


@pytest.mark.parametrize(
    ("scheme", "n_classes", "penalty"),
    [(*scheme, kind) for i, scheme in enumerate(SCHEMES) for j, kind in enumerate(PENALTIES) if (i + j) % 2],
)
def test_penalised_weights_maximise_the_likelihood(scheme, n_classes, penalty):
    problem = multinomial_problem(n_classes, 10)
    model = solved(problem, scheme, penalty_of(**PENALTIES[penalty]))[0]
    coef, intercept = ref.penalised(problem, scheme, **PENALTIES[penalty])
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-6, atol=2e-6)
    np.testing.assert_allclose(model.intercept_, intercept, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("scheme, n_classes", SCHEMES)
def test_l2_beside_l1_leaves_nothing_where_l1_alone_leaves_nothing(scheme, n_classes):
    taus = np.geomspace(0.5, 200.0, 12)
    for seed in range(2):
        problem = multinomial_problem(n_classes, seed)
        alone, both = (solved(problem, scheme, penalty) for penalty in (snb.L1(taus), snb.L1(taus) + snb.L2(2.0)))
        none = np.array([~model.coef_.any(axis=1) for model in alone])
        assert none.any() and not none.all()
        assert (none == [~model.coef_.any(axis=1) for model in both]).all()


def test_roots_converge_where_one_feature_has_nearly_all_counts():
    x, y = np.array([[0, 0], [0, 0], [0, 0], [0, 2]]), [0, 1, 2, 0]
    stats = snb.scan(x, y, sample_weight=[0.25, 0.25, 0.25, 2.0])
    model = snb.solve(stats, "multinomial", snb.L1(0.125) + snb.L2(10.0), smoothing=0.25)[0]
    pooled = (stats.sum + 0.25).sum(axis=0) / (stats.sum + 0.25).sum()
    np.testing.assert_allclose((pooled * np.exp(model.coef_)).sum(axis=1), 1.0, rtol=1e-14)


@pytest.mark.parametrize("scale", [None, "score"])
@pytest.mark.parametrize("scheme, n_classes", [("joint", 2), ("joint", 4), ("ovr", 4)])
def test_the_grid_from_the_data_leaves_about_as_many_features_as_are_wanted(scheme, n_classes, scale):
    rng = np.random.default_rng(3)
    rates = rng.gamma(0.4, 2.0, 300) * rng.gamma(8.0, 1 / 8.0, (n_classes, 300))
    y = rng.integers(0, n_classes, 400)
    stats = snb.scan(rng.poisson(rates[y]), y)
    one, three = (
        snb.solve(stats, "multinomial", snb.L1(None, scale, n_taus=9), scheme=scheme, n_threads=n) for n in (1, 3)
    )
    assert one.grid == three.grid
    wanted = np.geomspace(300, 1, 9)[:7]  # of the last few features some leave together
    assert (np.abs(one.n_features[:7] - wanted) <= 2 + 0.1 * wanted).all()
    assert 1 <= one.n_features[-1] <= 3
