"""(6.2) for one scalar a feature, against its definition: w = W(t(w)), found by halving."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import streamnb as snb
from streamnb.problem.penalties import Pull
from streamnb.problem.sides import Sides
from streamnb.solving.equations import Equations, Fitted

FAMILIES = {"poisson": snb.Poisson(), "bernoulli": snb.Bernoulli(), "gaussian": snb.Gaussian()}


def kinked(w):
    """r' of a penalty that is steep next to zero."""
    return -0.5 * np.sign(w) - 0.1 * w


PULLS = [
    Pull(),
    Pull(l1=0.7),
    Pull(l1=0.4, scored=True),
    Pull(l2=0.6),
    Pull(l1=0.3, l2=2.0),
    Pull(l1=0.2, slopes=((0.5, lambda w: -np.sign(w) * np.abs(w) ** 1.5),)),
]
SHAPE = (3, 5)
N_POS, N_NEG = np.array([[4.0], [9.0], [20.0]]), np.array([[6.0], [2.5], [11.0]])


def sides(pooled=False, alive=True, seed=0):
    """Means between 0.1 and 0.9, in the domain of all families."""
    rng = np.random.default_rng(seed)
    positive, negative = rng.uniform(0.1, 0.9, SHAPE) * N_POS, rng.uniform(0.1, 0.9, SHAPE) * N_NEG
    if pooled:
        positive = np.minimum(positive, 0.9 * (positive + negative).sum(axis=0) / (N_POS + N_NEG).sum())
        pooled_sums = (positive + negative).sum(axis=0, keepdims=True)
        return Sides(positive, N_POS, pooled_sums, (N_POS + N_NEG).sum(keepdims=True), np.full((3, 1), alive), True)
    return Sides(positive, N_POS, negative, N_NEG, np.full((3, 1), alive), False)


def equations(family="poisson", total=None, **options):
    return Equations.of(sides(**options), FAMILIES[family], np.linspace(0.5, 1.5, SHAPE[1]), total)


def halved(equation, pull, threshold, t_star):
    """The weight at the pull between the threshold and t* where t = threshold + what the penalty asks at W(t)."""
    side = np.sign(t_star)
    low, high = np.abs(threshold), np.abs(t_star)
    for _ in range(200):
        middle = 0.5 * (low + high)
        w = equation.weight(side * middle)
        short = np.abs(threshold) + np.abs(pull.of_weights(w)) > middle
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return equation.weight(side * 0.5 * (low + high))


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_w_falls_from_the_plain_weight_to_zero_at_t_star(family, pooled):
    e = equations(family, pooled=pooled)
    scalar = e.scalar()
    plain = (e.family.link(e.m_positive) - e.family.link(e.m_negative)) / e.phi
    np.testing.assert_allclose(scalar.weight(np.zeros(SHAPE)), plain)
    assert (np.sign(plain) == np.sign(e.t_star)).all()
    along = np.array([scalar.weight(share * e.t_star) * np.sign(e.t_star) for share in np.linspace(0.0, 1.0, 9)])
    assert (np.diff(along, axis=0) < 0.0).all()
    np.testing.assert_allclose(along[-1], 0.0, atol=1e-12)
    for (mean,) in scalar.moved(e.t_star):
        np.testing.assert_allclose(mean, np.broadcast_to(e.pooled, SHAPE))


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("pull", PULLS, ids=lambda pull: f"l1={pull.l1}, l2={pull.l2}, {len(pull.slopes)} slopes")
@pytest.mark.parametrize("family", FAMILIES)
def test_solutions_are_those_found_by_halving(family, pull, pooled):
    e = equations(family, pooled=pooled)
    weights, shifts = e.solved(pull)
    threshold = pull.thresholds(e.sd)
    active = np.abs(e.t_star) > threshold
    np.testing.assert_array_equal(e.active(pull), active)
    np.testing.assert_array_equal(weights != 0.0, active)
    assert active.any() and (shifts[~active] == 0.0).all()
    found = halved(e.scalar(), pull, threshold, e.t_star)
    np.testing.assert_allclose(weights[active], found[active], rtol=1e-9)
    t = np.sign(e.t_star) * threshold + pull.of_weights(weights)  # w = W(t(w)), and c at the means there
    (positive,), (negative,) = e.scalar().moved(t)
    change = (e.family.cumulant(negative) - e.family.cumulant(positive)) / e.phi
    np.testing.assert_allclose(shifts[active], change[active], rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(e.pulls(pull), np.where(active, t, e.t_star), rtol=1e-9)


@settings(max_examples=10)
@given(st.integers(0, 99), st.floats(0.0, 3.0), st.floats(1e-3, 1e3))
def test_the_equation_holds_whatever_the_taus(seed, l1, l2):
    e, pull = equations(seed=seed), Pull(l1=l1, l2=l2)
    w, _ = e.solved(pull)
    active = w != 0.0
    there = e.scalar().weight(np.sign(e.t_star) * l1 + l2 * w)
    np.testing.assert_allclose(w[active], there[active], rtol=1e-7, atol=1e-9)


def test_a_kink_at_zero_leaves_features_out():
    e, pull = equations(), Pull(slopes=((2.0, kinked),))
    np.testing.assert_array_equal(e.active(pull), np.abs(e.t_star) > 1.0)  # 2.0 times r' next to zero
    assert 0 < np.count_nonzero(e.solved(pull)[0]) < e.n_weights


def test_breakpoints_are_score_statistics():
    e, (s, n) = equations("bernoulli"), (sides(), N_POS + N_NEG)
    t_star = (s.positive * N_NEG - s.negative * N_POS) / n
    pooled = (s.positive + s.negative) / n
    variance = e.phi * pooled * (1.0 - pooled) * N_POS * N_NEG / n
    np.testing.assert_allclose(e.breakpoints(False), np.abs(t_star))
    np.testing.assert_allclose(e.breakpoints(True), np.abs(t_star) / np.sqrt(variance))
    tau = e.breakpoints(False)[1, 2]
    assert e.solved(Pull(l1=tau))[0][1, 2] == 0.0 != e.solved(Pull(l1=tau * (1 - 1e-12)))[0][1, 2]


def test_features_are_ranked_by_weight_by_score_and_by_likelihood():
    e, s = equations(), sides()
    np.testing.assert_allclose(e.merit("weight"), np.abs(e.solved(Pull())[0]))
    np.testing.assert_array_equal(e.merit("score"), e.breakpoints(True))
    pooled = (s.positive + s.negative) / (N_POS + N_NEG)
    apart = s.positive * np.log(s.positive / N_POS) + s.negative * np.log(s.negative / N_NEG)
    np.testing.assert_allclose(
        e.merit("likelihood"), (apart - (s.positive + s.negative) * np.log(pooled)) / e.phi, rtol=1e-9
    )


def test_sides_without_weight_and_equal_sides_have_no_weights():
    dead = equations(alive=False)
    assert not dead.t_star.any() and not dead.solved(Pull(l2=1.0))[0].any() and not dead.breakpoints(True).any()
    s = sides()
    equal = Sides(s.positive, N_POS, s.positive / N_POS * N_NEG, N_NEG, s.alive, False)
    assert not Equations.of(equal, snb.Poisson(), np.ones(SHAPE[1]), None).solved(Pull())[0].any()


@pytest.mark.parametrize("pull", [Pull(), Pull(l1=0.5), Pull(l2=1.0)])
def test_a_mean_at_the_edge_of_its_domain_needs_a_pull(pull):
    s = sides()
    never = Sides(np.zeros(SHAPE), N_POS, s.negative, N_NEG, s.alive, False)
    e = Equations.of(never, snb.Poisson(), np.ones(SHAPE[1]), None)
    if pull.none:
        with pytest.raises(ValueError, match=r"family='poisson': a feature never or always occurs.*smoothing > 0"):
            e.solved(pull)
    else:
        assert (e.solved(pull)[0] <= 0.0).all() and np.isfinite(e.solved(pull)[0]).all()


def test_some_equations_and_lists_of_them():
    e = equations()
    some, t = e.by_feature(np.array([3, 1])), np.full((2, 3), 0.1)
    np.testing.assert_array_equal(some.weight(t), e.scalar().weight(np.full(SHAPE, 0.1))[:, [3, 1]].T)
    every, nothing = e.scalar(), np.zeros(SHAPE)
    twice = type(every).joined([every, every])
    np.testing.assert_array_equal(twice.t_star, np.tile(e.t_star, (2, 1)))
    np.testing.assert_array_equal(twice.only(np.array([4])).t_star, e.t_star[[1]])
    slope = (every.weight(nothing + 1e-6) - every.weight(nothing - 1e-6)) / 2e-6
    np.testing.assert_allclose(every.steepness(nothing), -slope, rtol=1e-6)


def test_differences_of_fitted_parameters_take_no_penalty():
    first = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]])
    fitted = Fitted(first, np.array([[0.0, 0.0, 1.0], [5.0, 0.0, 0.0]]), first + 1.0)
    assert fitted.n_weights == 6
    np.testing.assert_array_equal(fitted.active(Pull()), [[True, False, True], [True, False, True]])
    np.testing.assert_array_equal(Fitted(first, None, first).active(Pull()), first != 0.0)
    part = fitted.take(np.array([2, 0]), slice(0, 1))
    np.testing.assert_array_equal(part.solved(Pull()), [[[2.0, 1.0]], [[3.0, 2.0]]])
    assert part.second.tolist() == [[1.0, 0.0]]
    with pytest.raises(ValueError, match="have no breakpoints"):
        fitted.breakpoints(False)
