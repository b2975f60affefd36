"""Weights and intercepts of every family but multinomial against the slow reference; grids, priors, edges."""

import itertools
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import streamnb as snb
from tests.support import reference as ref
from tests.support.problems import (
    FAMILIES,
    PENALTIES,
    SCHEMES,
    SEPARABLE,
    penalty_of,
    random_problem,
    scanned,
    small_problems,
    solved,
)


def assert_same_model(model, coef, intercept, *, rtol=1e-10, atol=1e-10):
    """Intercepts are sums over features, which may cancel: their tolerance is that of the weights."""
    np.testing.assert_allclose(model.coef_, coef, rtol=rtol, atol=atol)
    size = 1 + 10 * np.abs(coef).sum(axis=1)
    assert model.intercept_.shape == np.shape(intercept)
    assert (np.abs(model.intercept_ - intercept) <= rtol * (size + np.abs(intercept))).all()


# ----------------------------------------------------------------------------------------- without a penalty


@pytest.mark.parametrize("scheme", ["joint", "ovr"])
@pytest.mark.parametrize("family", FAMILIES)
@given(data=st.data())
def test_plain_weights_of_small_problems(family, scheme, data):
    problem = data.draw(small_problems(family))
    assert_same_model(solved(problem, scheme)[0], *ref.plain(problem, scheme))


@pytest.mark.parametrize("var_smoothing", [0.0, 1e-9, 0.1])
def test_var_smoothing_is_added_to_the_pooled_variance(var_smoothing):
    problem = random_problem("gaussian", 3, 0, var_smoothing=var_smoothing)
    problem = replace(problem, rows=np.array(problem.rows)[:, 1:])
    model = snb.solve(scanned(problem), snb.Gaussian(var_smoothing=var_smoothing))[0]
    assert_same_model(model, *ref.plain(problem, "joint"))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_feature_never_seen_has_no_weight(family):
    for scheme, n_classes in SCHEMES:
        problem = random_problem(family, n_classes, 1)
        if family in ("bernoulli", "multinomial"):  # their priors pull unequal classes unequally
            plain = ref.plain(problem, scheme)[0][:, 0]
            np.testing.assert_allclose(solved(problem, scheme)[0].coef_[:, 0], plain, rtol=1e-10, atol=1e-12)
        else:
            assert not solved(problem, scheme)[0].coef_[:, 0].any()
            assert not solved(problem, scheme, snb.L2(0.1))[0].coef_[:, 0].any()


# ------------------------------------------------------------------------------------------- with a penalty


def in_pairs(values):
    """Families, schemes and some values: of each two of them all pairs."""
    cells = itertools.product(enumerate(SEPARABLE), enumerate(SCHEMES), enumerate(values))
    return [
        (family, *scheme, v) for (i, family), (j, scheme), (k, v) in cells if (i + j + k) % min(len(values), 3) == 0
    ]


@pytest.mark.parametrize(("family", "scheme", "n_classes", "penalty"), in_pairs(PENALTIES))
def test_penalised_weights_maximise_the_likelihood(family, scheme, n_classes, penalty):
    problem = random_problem(family, n_classes, 10)
    model = solved(problem, scheme, penalty_of(**PENALTIES[penalty]))[0]
    coef, intercept = ref.penalised(problem, scheme, **PENALTIES[penalty])
    assert_same_model(model, coef, intercept, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("scheme", ["joint", "ovr"])
@pytest.mark.parametrize("family", ["poisson", "bernoulli"])
@settings(max_examples=10)
@given(data=st.data())
def test_penalised_weights_of_small_problems(family, scheme, data):
    problem = data.draw(small_problems(family, max_classes=3))
    options = {
        "l1": data.draw(st.sampled_from([0.0, 0.125, 0.6, 2.1])),
        "l2": data.draw(st.sampled_from([0.01, 0.3, 10.0])),
        "scale": data.draw(st.sampled_from([None, "score"])),
    }
    model = solved(problem, scheme, penalty_of(**options))[0]
    assert_same_model(model, *ref.penalised(problem, scheme, **options), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("scheme", ["joint", "ovr"])
@settings(max_examples=25)
@given(data=st.data())
def test_closed_forms_of_the_gaussian_family(scheme, data):
    """Also where a feature is constant within the classes and its weights are of the order of 1e9."""
    problem = data.draw(small_problems("gaussian"))
    l1 = data.draw(st.sampled_from([0.0, 0.125, 0.6, 2.1]))
    l2 = data.draw(st.sampled_from([0.0, 1e-9, 0.01, 10.0]))
    coef = solved(problem, scheme, snb.L1(l1) + snb.L2(l2))[0].coef_
    for row, w in zip(ref.weight_rows(problem, scheme), coef, strict=True):
        plain, pull = ref.plain_row(row)[0], ref.zero_pull(row)
        width = 1 / row.plus.size + (0 if row.held else 1 / row.minus.size)
        flat = np.divide(width, problem.phi, out=np.zeros(problem.n), where=plain != 0)
        expected = (plain - np.sign(pull) * l1 * flat) / (1 + l2 * flat) * (np.abs(pull) > l1)
        np.testing.assert_allclose(w, expected, rtol=1e-10, atol=1e-13 * (1 + np.abs(plain).max()))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("offset", [1e4, 1e8])
def test_gaussian_decisions_do_not_depend_on_the_origin(n_classes, offset):
    rng = np.random.default_rng(0)
    x, y = rng.integers(-3, 4, (60, 3)).astype(float), np.arange(60) % n_classes
    for penalty in [None, snb.L1(0.5), snb.L2(3.0)]:
        near, far = (snb.solve(snb.scan(rows, y), "gaussian", penalty)[0] for rows in (x, x + offset))
        np.testing.assert_allclose(far.coef_, near.coef_, rtol=0, atol=1e-14 * offset)
        np.testing.assert_allclose(far.decision_function(x + offset), near.decision_function(x), atol=1e-13 * offset)


@pytest.mark.parametrize(("family", "scheme", "n_classes", "scale"), in_pairs([None, "score"]))
def test_l1_zeroes_a_feature_exactly_up_to_its_breakpoint(family, scheme, n_classes, scale):
    problem = random_problem(family, n_classes, 30)
    path = solved(problem, scheme, snb.L1(np.linspace(0, 6, 25), scale))
    for u, row in enumerate(ref.weight_rows(problem, scheme)):
        pull = np.abs(ref.zero_pull(row))
        for i, point in enumerate(path.grid):
            tau = ref.thresholds(row, point["l1"], scale)
            clear = np.abs(pull - tau) > 1e-12 * (pull + tau)
            np.testing.assert_array_equal((path[i].coef_[u] == 0)[clear], (pull <= tau)[clear])


@pytest.mark.parametrize("family", ["poisson", "bernoulli"])
def test_l1_zeroes_a_feature_at_its_breakpoint_too(family):
    # Six rows a class and a prior worth two (Bernoulli) or none (Poisson): all sums are exact, t* = 2.
    x, y = np.array([[1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0]]).T, np.repeat([1, 0], 6)
    path = snb.solve(snb.scan(x, y), family, snb.L1([2 - 1e-12, 2.0]), smoothing=float(family == "bernoulli"))
    assert path[0].coef_[0, 0] > 0
    assert path[1].coef_[0, 0] == 0
    assert list(path.n_features) == [1, 0]
    np.testing.assert_allclose(path[1].intercept_, 0, atol=1e-15)


# --------------------------------------------------------------------------------------- grids and counts


@pytest.mark.parametrize("scale", [None, "score"])
@pytest.mark.parametrize("scheme, n_classes", SCHEMES)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_grid_from_the_data_goes_from_all_features_to_one(family, scheme, n_classes, scale):
    problem = random_problem(family, n_classes, 60)
    path = solved(problem, scheme, snb.L1(scale=scale, n_taus=7))
    taus = [point["l1"] for point in path.grid]
    assert 2 <= len(path) <= 7
    assert (np.diff(taus) > 0).all()
    assert path.n_features[0] == (np.abs(ref.plain(problem, scheme)[0]) > 0).any(axis=0).sum()
    # A multinomial weight is never alone: frequencies that differ in one feature do not both sum to one.
    assert path.n_features[-1] == 1 or (family == "multinomial" and path.n_features[-1] in (2, 3))


# ------------------------------------------------------------------------------------------ classes, priors


@pytest.mark.parametrize("priors", [None, "uniform", [0.5, 0.3, 0.2]])
@pytest.mark.parametrize("scheme", ["joint", "ovr"])
@pytest.mark.parametrize("family", FAMILIES)
def test_priors_move_intercepts_alone(family, scheme, priors):
    problem = random_problem(family, 3, 0, priors=priors)
    model = solved(problem, scheme)[0]
    assert_same_model(model, *ref.plain(problem, scheme))
    data = random_problem(family, 3, 0)
    np.testing.assert_array_equal(model.coef_, solved(data, scheme)[0].coef_)


@pytest.mark.parametrize("penalty", [None, snb.L1([0.5, 1.0]), snb.L2([0.5, 1.0])])
@pytest.mark.parametrize("scheme", ["joint", "ovr"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_listed_class_without_rows(family, scheme, penalty):
    problem = random_problem(family, 3, 0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        path = solved(problem, scheme, penalty, classes=[0, 1, 2, 3])
        models = [path[i] for i in range(len(path))]
        coefs = [model.coef_ for model in models]
    assert [w.category for w in caught if issubclass(w.category, snb.StreamnbWarning)] == [snb.StreamnbWarning]
    x = np.vstack([problem.rows, np.zeros(problem.n), 100 * np.ones(problem.n)])
    for i, model in enumerate(models):
        assert coefs[i].shape == (4, problem.n)
        assert not coefs[i][3].any()
        assert model.intercept_[3] == -np.inf
        assert np.isfinite(coefs[i]).all() and np.isfinite(model.intercept_[:3]).all()
        assert 3 not in model.predict(x)
        np.testing.assert_array_equal(model.predict_proba(x)[:, 3], 0)
        np.testing.assert_allclose(model.predict_proba(x).sum(axis=1), 1)
    if penalty is None or family in ("gaussian", "poisson") or scheme == "ovr":
        without = solved(problem, scheme, penalty)
        probability = np.vstack([model.predict_proba(problem.rows)[:, :3] for model in models])
        expected = np.vstack([without[i].predict_proba(problem.rows) for i in range(len(without))])
        np.testing.assert_allclose(probability, expected, rtol=1e-9, atol=1e-12)


# -------------------------------------------------------------------------------- the edge of the domain


def edge_problem(family, n_classes):
    """Without smoothing, feature 0 has a mean at the edge of its domain, in some class."""
    problem = random_problem(family, n_classes, 3, smoothing=0.0)
    return replace(problem, rows=np.array(problem.rows)[:, 1:])


@pytest.mark.parametrize("scheme, n_classes", SCHEMES)
@pytest.mark.parametrize("family", ["poisson", "bernoulli", "multinomial"])
def test_means_at_the_edge_ask_for_smoothing_or_a_penalty(family, scheme, n_classes):
    problem = edge_problem(family, n_classes)
    with pytest.raises(ValueError, match=r"(?s)(smooth.*tau|tau.*smooth)"):
        _ = solved(problem, scheme)[0].coef_
    for options in [{"l1": 0.3}, {"l2": 0.3}, {"l1": 0.2, "scale": "score", "l2": 0.1}]:
        coef, intercept = ref.penalised(problem, scheme, **options)
        assert_same_model(solved(problem, scheme, penalty_of(**options))[0], coef, intercept, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("family", ["poisson", "bernoulli", "multinomial"])
def test_a_feature_never_seen_needs_no_smoothing_with_a_penalty(family):
    for scheme, n_classes in SCHEMES:
        problem = random_problem(family, n_classes, 3, smoothing=0.0)
        for options in [{"l1": 0.3}, {"l2": 0.3}, {"l1": 0.2, "l2": 0.1}]:
            coef = solved(problem, scheme, penalty_of(**options))[0].coef_
            assert np.isfinite(coef).all()
            assert not coef[:, 0].any()


def test_a_bernoulli_feature_always_seen_with_a_penalty_alone():
    x, y = np.array([[1, 1], [1, 1], [1, 0], [1, 0], [0, 0], [0, 1]]), [0, 0, 0, 1, 1, 1]
    problem = ref.Problem(x, y, "bernoulli", smoothing=0.0)
    for options in [{"l1": 0.3}, {"l2": 0.3}]:
        coef, intercept = ref.penalised(problem, "joint", **options)
        assert_same_model(solved(problem, "joint", penalty_of(**options))[0], coef, intercept, rtol=1e-6, atol=1e-6)
