"""Which L1 tau leaves how many features: looked up among breakpoints, or found by solving."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.problem.families import as_family
from streamnb.problem.schemes import as_scheme
from streamnb.solving.l1_grid import taus_from_data
from streamnb.solving.weight_problem import Problem

rng = np.random.default_rng(0)
Y = rng.integers(0, 3, 60)
X = rng.poisson(rng.gamma(1.0, 1.0, (3, 12))[Y]).astype(float)
STATS = snb.scan(X, Y)


def left(tau, scale=None, family="poisson", class_=None, scheme="joint"):
    """How many features have a weight at this tau."""
    coef = snb.solve(STATS, family, snb.L1(tau, scale), scheme=scheme)[0].coef_
    return np.count_nonzero(coef.any(axis=0) if class_ is None else coef[class_])


@pytest.mark.parametrize("class_", [None, 1])
@pytest.mark.parametrize("scale", [None, "score"])
@pytest.mark.parametrize("scheme", ["joint", "ovr"])
@pytest.mark.parametrize("family", ["poisson", "bernoulli", "gaussian", "multinomial"])
def test_no_smaller_tau_leaves_as_few(family, scheme, scale, class_):
    for k in (0, 5, 11):  # shares of one class sum to 1: the last two leave together
        tau = snb.tau_for(STATS, family, n_features=k, scale=scale, class_=class_, scheme=scheme)
        counts = [left(t, scale, family, class_, scheme) for t in (tau, tau * (1.0 - 1e-9))]
        assert counts[0] <= k < counts[1]


def test_all_features_are_left_at_zero():
    assert snb.tau_for(STATS, n_features=12) == snb.tau_for(STATS, n_features=100) == 0.0


def test_features_that_leave_together_are_told():
    copies = snb.scan(np.repeat(X[:, :2], 3, axis=1), Y)
    with pytest.warns(snb.StreamnbWarning, match="n_features=4: features leave together, tau=.* keeps 3"):
        tau = snb.tau_for(copies, n_features=4)
    assert tau == snb.tau_for(copies, n_features=3) == np.unique(snb.solve(copies).breakpoints())[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_features": -1}, "n_features=-1 should be a whole number of at least 0"),
        ({"n_features": 2.5}, "n_features=2.5 should be a whole number"),
        ({"n_features": 2, "scale": "z"}, "scale='z' is unknown"),
        ({"n_features": 2, "class_": 7}, "class_=7 has no row of weights of its own"),
        ({"n_features": 2, "class_": 1, "scheme": "ovo"}, "class_=1 .* under scheme='joint' or 'ovr'"),
        ({"n_features": 2, "family": snb.ChiSquared()}, "lack the moment 'log_sum'"),
    ],
)
def test_what_has_no_tau(options, message):
    with pytest.raises(ValueError, match=message):
        snb.tau_for(STATS, **options)


@pytest.mark.parametrize("scale", [None, "score"])
def test_a_grid_from_the_data_thins_features_out_geometrically(scale):
    problem = Problem(STATS, as_family("poisson"), as_scheme("joint", STATS.classes))
    taus = taus_from_data(problem, snb.L1(scale=scale, n_taus=4), 1)
    assert [left(tau, scale) for tau in taus] == [12, 5, 2, 1] and taus[0] == 0.0
    every = taus_from_data(problem, snb.L1(scale=scale, n_taus=100), 1)
    assert [left(tau, scale) for tau in every] == [*range(12, 0, -1)]


def test_taus_before_the_first_stand_where_it_leaves_out_many_features():
    """Between all features and the next number lies the best tau of texts; small grids and few features have no gap."""
    rng = np.random.default_rng(0)
    stats = snb.scan(rng.poisson(1.0, (60, 3000)), np.arange(60) % 3)
    for family in ("poisson", "multinomial"):
        taus = np.array([point["l1"] for point in snb.solve(stats, family, snb.L1(scale="score")).grid])
        assert 18 <= len(taus) <= 20 and taus[0] == 0.0  # features that leave together have one tau
        np.testing.assert_allclose(taus[1:4] / taus[4], [0.125, 0.25, 0.5])
        few = np.array([point["l1"] for point in snb.solve(stats, family, snb.L1(n_taus=5)).grid])
        assert len(few) == 5


def test_a_grid_for_coupled_features_is_about_right():
    problem = Problem(STATS, as_family("multinomial"), as_scheme("joint", STATS.classes))
    taus = taus_from_data(problem, snb.L1(n_taus=4), 1)
    counts = [left(tau, family="multinomial") for tau in taus]
    assert taus[0] == 0.0 and np.abs(np.subtract(counts, [12, 5, 2, 1])).max() <= 1
