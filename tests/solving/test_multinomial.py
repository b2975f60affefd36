"""Multinomial weights under a penalty: against brute force, and against the stationarity conditions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import streamnb as snb
from tests.support import reference as ref
from tests.support.problems import PENALTIES, SCHEMES, penalty_of, random_problem, small_problems, solved


def multinomial_problem(n_classes, seed, **options):
    return random_problem("multinomial", n_classes, seed, **options)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("scheme, n_classes", SCHEMES)
def test_penalised_weights_maximise_the_likelihood(scheme, n_classes, penalty):
    for seed in range(2):
        problem = multinomial_problem(n_classes, 10 + seed)
        model = solved(problem, scheme, penalty_of(**PENALTIES[penalty]))[0]
        coef, intercept = ref.penalised(problem, scheme, **PENALTIES[penalty])
        np.testing.assert_allclose(model.coef_, coef, rtol=1e-6, atol=2e-6)
        np.testing.assert_allclose(model.intercept_, intercept, rtol=1e-12, atol=1e-12)


# ---------------------------------------------------------------------------------- stationarity conditions


def held_residuals(row, w, tau, l2):
    """S - t = L p with p = p_0 exp(w), one L: the largest violation among features, relative to their sizes."""
    total, pooled = row.plus.total, row.minus.frequency
    on = w != 0
    pull = tau * np.sign(w) + l2 * w
    if not on.any():
        return one_point(((total - tau) / pooled).max(), ((total + tau) / pooled).min())
    p = pooled * np.exp(w)
    heaviest = np.flatnonzero(on)[np.argmax(p[on])]
    scale = (total[heaviest] - pull[heaviest]) / p[heaviest]
    off = np.abs(total - scale * pooled) - tau
    return max(
        abs(p.sum() - 1),
        np.abs(w - np.log(np.maximum(total - pull, 1e-300) / (scale * pooled)))[on].max(),
        (off / total)[~on].max(initial=0.0),
    )


def two_sided_residuals(row, w, tau, l2):
    """S_+ - t = L_+ p_+ and S_- + t = L_- p_- with L_+ = S_+. - T, L_- = S_-. + T, T = sum t."""
    plus, minus = row.plus.total, row.minus.total
    both = (plus + minus) / (plus + minus).sum()
    unpulled = plus - plus.sum() * both
    on = w != 0
    pull = tau * np.sign(w) + l2 * w
    if not on.any():
        return one_point(((-tau - unpulled) / both).max(), ((tau - unpulled) / both).min())
    heaviest = np.flatnonzero(on)[np.argmax(both[on])]
    odds = np.exp(w[heaviest]) * (minus + pull)[heaviest] / (plus - pull)[heaviest]
    left = (plus.sum() + minus.sum()) / (1 + odds)
    right = left * odds
    pulled = plus.sum() - left
    zero = (right * plus - left * minus) / (left + right)
    ratio = np.log(np.maximum(plus - pull, 1e-300) / left) - np.log(np.maximum(minus + pull, 1e-300) / right)
    return max(
        abs(pulled - np.where(on, pull, zero).sum()) / (left + right),
        np.abs(w - ratio)[on].max(),
        ((np.abs(zero) - tau) / (plus + minus))[~on].max(initial=0.0),
    )


def one_point(low, high):
    """All weights are 0: is there a single scalar that allows it?"""
    return max(0.0, (low - high) / max(abs(low), abs(high), 1e-300))


def residuals(row, w, l1, l2, scale):
    measure = held_residuals if row.held else two_sided_residuals
    return measure(row, w, ref.thresholds(row, l1, scale), l2)


@pytest.mark.parametrize("scale", [None, "score"])
@pytest.mark.parametrize("scheme, n_classes", SCHEMES)
def test_weights_satisfy_the_stationarity_conditions(scheme, n_classes, scale):
    problem = multinomial_problem(n_classes, 20 if scale else 21)
    path = solved(problem, scheme, snb.L1([0.0, 0.2, 1.0, 5.0, 25.0], scale) + snb.L2([0.0, 1e-4, 0.3, 100.0]))
    rows = ref.weight_rows(problem, scheme)
    for i, point in enumerate(path.grid):
        for row, w in zip(rows, path[i].coef_, strict=True):
            assert residuals(row, w, point["l1"], point["l2"], scale) <= 1e-10, point


@pytest.mark.parametrize("scheme", ["joint", "ovr"])
@settings(max_examples=60)
@given(data=st.data())
def test_stationarity_in_small_problems(scheme, data):
    problem = data.draw(small_problems("multinomial"))
    l1 = data.draw(st.sampled_from([0.0, 0.125, 0.6, 2.1]))
    l2 = data.draw(st.sampled_from([0.0, 0.01, 0.3, 10.0]))
    scale = data.draw(st.sampled_from([None, "score"]))
    coef = solved(problem, scheme, snb.L1(l1, scale) + snb.L2(l2))[0].coef_
    for row, w in zip(ref.weight_rows(problem, scheme), coef, strict=True):
        assert residuals(row, w, l1, l2, scale) <= 1e-9


@pytest.mark.parametrize("scheme, n_classes", SCHEMES)
def test_l1_zeros_are_exact(scheme, n_classes):
    problem = multinomial_problem(n_classes, 30)
    path = solved(problem, scheme, snb.L1(np.geomspace(0.05, 50, 30)))
    for i in range(len(path)):
        weights = np.abs(path[i].coef_)
        assert ((weights == 0) | (weights > 1e-13)).all()
    assert path.n_features[0] == problem.n


@pytest.mark.parametrize("scheme, n_classes", SCHEMES)
def test_everything_vanishes_before_the_largest_breakpoint(scheme, n_classes):
    problem = multinomial_problem(n_classes, 40)
    largest = max(
        np.abs(row.plus.total - row.plus.total.sum() * pooled_frequency(row)).max()
        for row in ref.weight_rows(problem, scheme)
    )
    path = solved(problem, scheme, snb.L1([largest, 2 * largest, 1e6 * largest]))
    assert not path.n_features.any()
    assert not path[1].coef_.any()
    odds = [row.log_odds for row in ref.weight_rows(problem, scheme)]
    np.testing.assert_allclose(path[1].intercept_, odds, rtol=1e-12)


def pooled_frequency(row):
    pooled = row.minus.total if row.held else row.plus.total + row.minus.total
    return pooled / pooled.sum()


@pytest.mark.parametrize("scheme, n_classes", SCHEMES)
def test_l2_beside_l1_leaves_nothing_where_l1_alone_leaves_nothing(scheme, n_classes):
    taus = np.geomspace(0.5, 200.0, 12)
    for seed in range(2):
        problem = multinomial_problem(n_classes, seed)
        alone, both = (solved(problem, scheme, penalty) for penalty in (snb.L1(taus), snb.L1(taus) + snb.L2(2.0)))
        none = np.array([~model.coef_.any(axis=1) for model in alone])
        assert none.any() and not none.all()
        assert (none == [~model.coef_.any(axis=1) for model in both]).all()


@pytest.mark.parametrize("scheme, n_classes", SCHEMES)
def test_a_vanishing_penalty_leaves_the_plain_weights(scheme, n_classes):
    problem = multinomial_problem(n_classes, 60)
    coef, _ = ref.plain(problem, scheme)
    for penalty in [snb.L1(1e-12), snb.L2(1e-12), snb.L1(1e-12, "score") + snb.L2(1e-12), snb.L1(0.0), snb.L2(0.0)]:
        np.testing.assert_allclose(solved(problem, scheme, penalty)[0].coef_, coef, rtol=1e-9, atol=1e-9)


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
