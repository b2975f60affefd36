"""Families that are linear in a function of the feature: their laws and errors."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import digamma, polygamma

import streamnb as snb
from streamnb.problem.families import inverse_digamma

FAMILIES = {
    "gamma": snb.Gamma(dispersion="ml"),
    "inverse gaussian": snb.InverseGaussian(dispersion="ml"),
    "laplace": snb.Laplace(-0.5),
    "chi-squared": snb.ChiSquared(),
}
each_family = pytest.mark.parametrize("family", [pytest.param(v, id=k) for k, v in FAMILIES.items()])


def draw(family, seed=0, n_rows=60, n_classes=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    size = rng.uniform(0.5, 4.0, (n_classes, 4))[y]
    if isinstance(family, snb.Laplace):
        x = family.centre + rng.laplace(0.0, size)
        return np.where(rng.random(x.shape) < 0.5, x, 0.0), y
    return rng.gamma(size), y


@given(st.floats(-12.0, 3.0))
def test_the_shape_of_gamma_solves_its_equation(exponent):
    """ln k - psi(k) = s, the left side by Binet's integral, for shapes from 1e-3 to 1e12."""
    s = 10.0**exponent
    k = 1.0 / float(snb.Gamma().most_likely(np.array([s]))[0])
    rest = quad(lambda t: 2.0 * t / ((t * t + k * k) * np.expm1(2.0 * np.pi * t)), 0.0, 6.0, points=[min(k, 1.0)])[0]
    np.testing.assert_allclose(0.5 / k + rest, s, rtol=1e-8)


@given(st.floats(-1e6, 200.0))
def test_inverse_digamma(value):
    """psi(x) = value to the rounding of x."""
    x = float(inverse_digamma(np.array([value]))[0])
    assert abs(digamma(x) - value) <= 1e-15 * (x * polygamma(1, x) + abs(value))


@each_family
def test_features_without_spread_get_the_floor_not_infinity(family):
    x, y = draw(family)
    x[:, 1] = 1.0 + (y == 2)
    model = snb.LinearNB(family).fit(x, y)
    assert np.isfinite(model.coef_).all() and np.isfinite(model.predict_proba(x)).all()


@pytest.mark.parametrize("family", [snb.Gamma(dispersion="ml"), snb.InverseGaussian(dispersion="ml")], ids=repr)
def test_dispersion_of_scaled_columns(family):
    """idf multiplies columns: the same model as of columns that were multiplied before."""
    x, y = draw(family)
    ours = family.dispersion(snb.scan(x, y, moments=family.moments), np.full(4, 3.0))
    theirs = family.dispersion(snb.scan(3.0 * x, y, moments=family.moments), None)
    np.testing.assert_allclose(ours, theirs, rtol=1e-10)


def test_statistics_from_before_there_was_a_centre_load(tmp_path):
    """And models from when presence was the only function of x."""
    x, y = draw(snb.Laplace(0.0))
    stats_ = snb.scan(x, y, binarize=0.5)
    state = stats_._to_state()
    assert snb.ClassStats._from_state(state | {"options": state["options"]._to_state()[:3]}).options == stats_.options
    for family, binarize in (("bernoulli", 0.5), ("gaussian", None)):
        model = snb.solve(stats_, family)[0]
        state = model._to_state()
        del state["moments"]
        old = snb.LinearModel._from_state(state | {"binarize": binarize, "options": state["options"]._to_state()[:3]})
        assert np.array_equal(old.decision_function(x), model.decision_function(x))


# ----------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("bad", [0.0, -2.0])
@pytest.mark.parametrize("family", [f for f in FAMILIES.values() if not isinstance(f, snb.Laplace)], ids=repr)
def test_values_without_a_logarithm_are_named(family, bad):
    """By row and column in a fit, also where they are absent; by feature and class from statistics."""
    x, y = draw(family)
    x[11, 2] = bad
    for rows in (x, sp.csr_array(x)):
        with pytest.raises(ValueError, match=r"(?s)row 11, column 2" if bad else r"0\.0 at row 11, column 2.*above 0"):
            snb.LinearNB(family).fit(rows, y)
    if not bad:
        with pytest.raises(ValueError, match=rf"above 0, but feature 2 has others in class {y[11]}.*NaN"):
            snb.solve(snb.scan(x, y, moments=family.moments), family)


def test_zeros_are_told_of_pearson():
    x, y = draw(snb.Gamma())
    x[3, 1] = 0.0
    with pytest.raises(ValueError, match="dispersion='pearson'"):
        snb.solve(snb.scan(x, y, moments=["sum", "log_sum"]), snb.Gamma(dispersion="ml"))
    with pytest.raises(ValueError, match=r"'moment' is unknown.*'ml'"):
        snb.Gamma(dispersion="moment")
    assert snb.LinearNB("gamma").fit(x, y).score(x, y) > 0.3


def test_the_centre_of_the_family_is_that_of_the_scan():
    x, y = draw(snb.Laplace())
    with pytest.raises(ValueError, match=r"centre=0; use scan\(\.\.\., centre=2\)"):
        snb.solve(snb.scan(x, y, moments="deviation"), snb.Laplace(2.0))
    model = snb.LinearNB(snb.Laplace(1.0)).fit(x, y)
    with pytest.raises(ValueError, match=r"centre=2\.0 is applied in the scan, which had 1\.0"):
        model.refit(family=snb.Laplace(2.0))
    ranking = snb.FeatureSelector("score", 2, family=snb.Laplace(1.0)).fit(x, y)
    assert ranking.get_support().sum() == 2


@pytest.mark.parametrize("family", ["laplace", "chi_squared"])
def test_idf_is_refused_where_x_itself_is_not_weighted(family):
    x, y = draw(snb.ChiSquared())
    with pytest.raises(ValueError, match="idf=True means nothing"):
        snb.LinearNB(family, idf=True).fit(x, y)
